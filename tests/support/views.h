/* Operands of kernels for tests: random numbers in rooms of their own, strided views of them. */
#ifndef TEST_SUPPORT_VIEWS_H
#define TEST_SUPPORT_VIEWS_H

#include "base/rng.h"
#include "exec/kernels/kernels.h"

#include <check.h>
#include <stdlib.h>

/* In [-0.5, 0.5); free() them. A sanitizer sees what is read beyond. */
static inline float *ad_random_floats(struct ad_rng *rng, size_t n)
{
    float *data = malloc((n ? n : 1) * sizeof *data);
    ck_assert_ptr_nonnull(data);
    for (size_t i = 0; i < n; i++)
        data[i] = ad_rng_float(rng) - 0.5f;
    return data;
}

/* gap: floats between pixels, rows and images that are nobody's. */
static inline struct ad_view ad_gapped_view(float *data, int64_t n, int64_t h, int64_t w, int64_t c,
                                            int64_t gap)
{
    struct ad_view v = {.data = data, .n = n, .h = h, .w = w, .c = c, .sw = c + gap};
    v.sh = w * v.sw + gap;
    v.sn = h * v.sh + gap;
    return v;
}

static inline int32_t ad_up_to(struct ad_rng *rng, int32_t least, int32_t most)
{
    return least + (int32_t)ad_rng_below(rng, (uint32_t)(most - least + 1));
}

#endif
