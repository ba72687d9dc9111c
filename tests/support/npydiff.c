/* npydiff A.npy B.npy [TOLERANCE]: compares two arrays for the shell tests. Prints the largest
 * absolute difference as a fraction of B's range; exit 0 when it is at most TOLERANCE (default 0)
 * and the shapes agree up to dimensions of 1, else 1; 2 when a file cannot be read. */
#include "io/npy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The next dimension that is not 1, or -1. */
static int64_t next_dim(const struct ad_tensor *t, int *i)
{
    while (*i < t->rank && t->dims[*i] == 1)
        (*i)++;
    return *i < t->rank ? t->dims[(*i)++] : -1;
}

static bool same_shape(const struct ad_tensor *a, const struct ad_tensor *b)
{
    int64_t dim;
    int i = 0, k = 0;
    do {
        dim = next_dim(a, &i);
        if (dim != next_dim(b, &k))
            return false;
    } while (dim >= 0);
    return true;
}

int main(int argc, char **argv)
{
    struct ad_tensor a, b;
    struct adaps_error err = {0};
    double tolerance = argc > 3 ? atof(argv[3]) : 0;
    if (argc < 3 || ad_npy_load(argv[1], ADAPS_FLOAT32, &a, &err) != ADAPS_OK ||
        ad_npy_load(argv[2], ADAPS_FLOAT32, &b, &err) != ADAPS_OK) {
        fprintf(stderr, "npydiff: %s\n", argc < 3 ? "two files expected" : err.message);
        return 2;
    }
    if (!same_shape(&a, &b)) {
        printf("the shapes differ\n");
        return 1;
    }
    double low = INFINITY, high = -INFINITY, worst = 0;
    for (size_t i = 0; i < b.count; i++) {
        double delta = fabs((double)a.data[i] - (double)b.data[i]);
        worst = isnan(delta) || delta > worst ? (isnan(delta) ? INFINITY : delta) : worst;
        low = fmin(low, (double)b.data[i]);
        high = fmax(high, (double)b.data[i]);
    }
    double part = worst == 0 ? 0 : worst / (high > low ? high - low : 1);
    printf("%.3g of the range\n", part);
    ad_tensor_fini(&a);
    ad_tensor_fini(&b);
    return part <= tolerance ? 0 : 1;
}
