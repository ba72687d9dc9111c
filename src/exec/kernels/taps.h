/* Windows of pooling along one axis, of floats and of bytes alike. */
#ifndef AD_EXEC_KERNELS_TAPS_H
#define AD_EXEC_KERNELS_TAPS_H

#include <stdint.h>

/* Where a window starts, the taps [from, to) of it that lie in the input, and how many lie in the
 * declared padding, too. */
struct ad_along {
    int64_t start, from, to, declared;
};

/* k taps, d apart, of an input of `size` elements that is padded up to `end`. Starts are never
 * before the padding. */
static inline struct ad_along ad_taps_along(int64_t start, int64_t k, int64_t d, int64_t size,
                                            int64_t end)
{
    struct ad_along a = {start, 0, k, start + k < end ? k : end - start};
    if (start < 0)
        a.from = (-start + d - 1) / d;
    if (start + (k - 1) * d >= size)
        a.to = (size - start + d - 1) / d;
    return a;
}

#endif
