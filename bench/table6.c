/* bench/table6: Table 6 of the ADaPS paper beside ours (bench/papers/table6.h). */
#include "papers/table6.h"

int main(void)
{
    return bench_table6();
}
