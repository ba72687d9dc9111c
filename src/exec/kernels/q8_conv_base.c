/* Convolutions of bytes in the 128-bit registers of SSE2, or whatever the compiler has: 6 pixels x
 * 8 channels. Inputs and weights are int16, whose products and sums of two are exact in int32. */
#define LANES 4
#define ROWS 6
#define VECTORS 2
#define WIDE 2
#if defined(__x86_64__)
#define DOT(acc, x, w) ((acc) + (sums)_mm_madd_epi16((__m128i)(x), (__m128i)(w)))
#else
#define DOT(acc, x, w) two_products(acc, (ints)(x), (ints)(w))
#endif
#include "exec/kernels/q8_lanes.h"

#if !defined(__x86_64__)
static inline sums two_products(sums acc, ints x, ints w)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "the first of two int16 is taken to be the lower half"
#endif
    ints low = (ints)((sums)x << 16) >> 16, high = x >> 16;
    return acc + (sums)(low * ((ints)((sums)w << 16) >> 16)) + (sums)(high * (w >> 16));
}
#endif

#include "exec/kernels/q8_conv_tile.h"
#include "exec/kernels/q8_conv_two.h"

const struct ad_q8_conv_kernel ad_q8_conv_base = TABLE;
