/* bench/functions: elements per second of each function, in one thread's cache, at each width of
 * vectors that this processor has; the best of ROUNDS. */
#include "base/clock.h"
#include "exec/kernels/choice.h"
#include "exec/kernels/rows.h"

#include <math.h>
#include <stdio.h>

#define N 4096 /* elements: what they are read from and written to fits the first cache */
#define ROUNDS 50
#define TIMES 20

static const struct {
    const char *name;
    enum ad_elementwise_kind kind;
    enum ad_function function;
} functions[] = {
    {"sigmoid", AD_ELEMENTWISE_SIGMOID, AD_FN_NONE},
    {"silu", AD_ELEMENTWISE_SILU, AD_FN_NONE},
    {"hard swish", AD_ELEMENTWISE_HARD_SWISH, AD_FN_NONE},
    {"tanh", AD_ELEMENTWISE_FUNCTION, AD_FN_TANH},
    {"exp", AD_ELEMENTWISE_FUNCTION, AD_FN_EXP},
    {"log", AD_ELEMENTWISE_FUNCTION, AD_FN_LOG},
    {"elu", AD_ELEMENTWISE_FUNCTION, AD_FN_ELU},
    {"softplus", AD_ELEMENTWISE_FUNCTION, AD_FN_SOFTPLUS},
    {"mish", AD_ELEMENTWISE_FUNCTION, AD_FN_MISH},
    {"gelu", AD_ELEMENTWISE_FUNCTION, AD_FN_GELU},
    {"gelu with tanh", AD_ELEMENTWISE_FUNCTION, AD_FN_GELU_TANH},
    {"erf", AD_ELEMENTWISE_FUNCTION, AD_FN_ERF},
    {"power", AD_ELEMENTWISE_POW, AD_FN_NONE},
};

/* 10^9 elements a second. */
static double rate(ad_row_kernel *run, enum ad_elementwise_kind kind, const struct ad_row *row)
{
    int64_t best = INT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t start = ad_clock_ns();
        for (int i = 0; i < TIMES; i++)
            run(kind, row, N);
        int64_t took = ad_clock_ns() - start;
        best = took < best ? took : best;
    }
    return (double)N * TIMES / (double)best;
}

int main(void)
{
    static float x[N], y[N], power[N];
    int lanes = ad_choose_wide_lanes(ad_processor());
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 2000) / 150 + 1e-3f;
        power[i] = 1.5f;
    }
    printf("%-16s", "G elements/s");
    for (const struct ad_row_width *w = ad_row_widths; w->run && w->lanes <= lanes; w++)
        printf(" %4d lanes", w->lanes);
    printf("\n");
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        const struct ad_row row = {.out = y,
                                   .a = x,
                                   .b = power,
                                   .so = 1,
                                   .sa = 1,
                                   .sb = 1,
                                   .lo = -INFINITY,
                                   .hi = INFINITY,
                                   .alpha = 1.0f / 6,
                                   .beta = 0.5f,
                                   .function = functions[k].function};
        printf("%-16s", functions[k].name);
        for (const struct ad_row_width *w = ad_row_widths; w->run && w->lanes <= lanes; w++)
            printf(" %10.3g", rate(w->run, functions[k].kind, &row));
        printf("\n");
    }
    return 0;
}
