#include "exec/kernels/reduce.h"
#include "exec/kernels/vec.h"

#define LANES 4 /* accumulators of four numbers each */

static inline __attribute__((always_inline)) ad_v4 combine(enum ad_reduction how, ad_v4 a, ad_v4 x)
{
    switch (how) {
    case AD_REDUCE_MAX: /* NaN stays */
        return ad_v4_select((a > x) | (a != a), a, x);
    case AD_REDUCE_MIN:
        return ad_v4_select((a < x) | (a != a), a, x);
    case AD_REDUCE_PRODUCT:
        return a * x;
    default:
        return a + x;
    }
}

/* The neutral element. */
static float neutral(enum ad_reduction how)
{
    switch (how) {
    case AD_REDUCE_MAX:
        return -__builtin_inff();
    case AD_REDUCE_MIN:
        return __builtin_inff();
    case AD_REDUCE_PRODUCT:
        return 1;
    default:
        return 0;
    }
}

static inline __attribute__((always_inline)) float reduce(enum ad_reduction how, const float *x,
                                                          int64_t n)
{
    ad_v4 acc[LANES];
    int64_t i = 0;
#pragma GCC unroll 4
    for (int k = 0; k < LANES; k++)
        acc[k] = ad_v4_all(neutral(how));
    for (; i + 4 * LANES <= n; i += 4 * LANES)
#pragma GCC unroll 4
        for (int k = 0; k < LANES; k++)
            acc[k] = combine(how, acc[k], ad_v4_load(x + i + 4 * k));
#pragma GCC unroll 4
    for (int k = 0; k < LANES; k++) {
        if (i + 4 <= n) {
            acc[k] = combine(how, acc[k], ad_v4_load(x + i));
        } else if (i < n) {
            ad_v4 rest = ad_v4_all(neutral(how));
            for (int64_t j = 0; j < 4 && i + j < n; j++)
                rest[j] = x[i + j];
            acc[k] = combine(how, acc[k], rest);
        }
        i += 4;
    }
    ad_v4 all = combine(how, combine(how, acc[0], acc[1]), combine(how, acc[2], acc[3]));
    ad_v4 half = combine(how, all, (ad_v4){all[2], all[3], all[0], all[1]});
    ad_v4 one = combine(how, half, (ad_v4){half[1], half[0], half[3], half[2]});
    return how == AD_REDUCE_MEAN ? one[0] / (float)n : one[0];
}

static float reduce_any(enum ad_reduction how, const float *x, int64_t n)
{
    switch (how) { /* each with a loop of its own */
    case AD_REDUCE_MEAN:
        return reduce(AD_REDUCE_MEAN, x, n);
    case AD_REDUCE_MAX:
        return reduce(AD_REDUCE_MAX, x, n);
    case AD_REDUCE_MIN:
        return reduce(AD_REDUCE_MIN, x, n);
    case AD_REDUCE_PRODUCT:
        return reduce(AD_REDUCE_PRODUCT, x, n);
    default:
        return reduce(AD_REDUCE_SUM, x, n);
    }
}

static void reduce_strip(const void *self, int64_t image, int64_t y, int64_t x0, int64_t x1)
{
    const struct ad_reduce *r = self;
    const float *in = r->in.data + image * r->in.sn + y * r->in.sh + x0 * r->in.sw;
    float *out = r->out.data + image * r->out.sn + y * r->out.sh + x0 * r->out.sw;
    for (int64_t x = x0; x < x1; x++, in += r->in.sw, out += r->out.sw)
        *out = reduce_any(r->how, in, r->in.c);
}

void ad_reduce_run(const struct ad_reduce *r, struct pthreadpool *pool)
{
    ad_strips_run(&r->in, reduce_strip, r, pool);
}
