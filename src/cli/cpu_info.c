#include "cli/cpu_info.h"
#include "exec/kernels/choice.h"

#include <string.h>

#define INDENT 4
#define WIDTH 80

/* Words in lines of at most WIDTH characters. */
static void print_wrapped(FILE *out, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t word = strcspn(text, " ");
        if (column == 0 || column + 1 + word > WIDTH)
            column =
                (size_t)fprintf(out, "%s%*s%.*s", column ? "\n" : "", INDENT, "", (int)word, text) -
                (column ? 1 : 0);
        else
            column += (size_t)fprintf(out, " %.*s", (int)word, text);
        text += word + strspn(text + word, " ");
    }
    fputc('\n', out);
}

void ad_cli_cpu_info(FILE *out)
{
    struct ad_kernel_facts facts;
    ad_kernel_facts_find(ad_processor(), &facts);
    fprintf(out, "Processor:     %s\n", facts.processor[0] ? facts.processor : "not known");
    fprintf(out, "Instructions:  %s\n",
            facts.instructions[0] ? facts.instructions : "none that matter here");
    fprintf(out, "XNNPACK:       %s, kernels for %s: %s\n\n", facts.xnnpack,
            facts.xnnpack_kernels[0] ? facts.xnnpack_kernels : "this processor", facts.xnnpack_why);
    fprintf(out, "%-29s %-13s %-20s %s\n", "work", "kernels", "instructions", "floats");
    for (int i = 0; i < facts.nrows; i++) {
        const struct ad_kernel_row *row = &facts.rows[i];
        char floats[12] = "-";
        if (row->floats > 0)
            snprintf(floats, sizeof floats, "%d", row->floats);
        fprintf(out, "%-29s %-13s %-20s %6s\n", row->work, row->kernels,
                row->instructions[0] ? row->instructions : "-", floats);
        print_wrapped(out, row->why);
    }
}
