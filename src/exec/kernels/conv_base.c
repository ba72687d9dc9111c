/* Convolution tiles of 2 pixels x 8 channels for processors without fused multiply-adds: slow, with
 * the same bits. A product of two floats is exact in a double; its sum with the third is rounded to
 * odd: where it is not exact, to the one of its two neighbours whose last bit is 1. Rounded once
 * more, to a float, it is what one rounding of the exact sum would give, since a double has more
 * than two bits more (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).
 */
#include "exec/kernels/vec.h"

#define LANES 4
#define ROWS 2
#define BROADCAST(p) ad_v4_all(*(p))
#define FMA(a, b, c) multiply_add(a, b, c)
#define MIN(a, b) ad_v4_select((a) < (b), a, b)
#define MAX(a, b) ad_v4_select((a) > (b), a, b)
#define PERMUTE(x, i) permute(x, i)

typedef double doubles __attribute__((vector_size(32)));
typedef int64_t longs __attribute__((vector_size(32)));

static inline ad_v4 multiply_add(ad_v4 a, ad_v4 b, ad_v4 c)
{
    doubles p = __builtin_convertvector(a, doubles) * __builtin_convertvector(b, doubles);
    doubles q = __builtin_convertvector(c, doubles), sum = p + q;
    doubles more = sum - p, error = (p - (sum - more)) + (q - more); /* NaN if sum is not finite */
    longs even = ~(longs)sum & 1, apart = (error < 0) ^ (sum < 0);
    longs step = ((error < 0) | (error > 0)) & -even & (apart | 1);
    return __builtin_convertvector((doubles)((longs)sum + step), ad_v4);
}

static inline ad_v4 permute(ad_v4 x, ad_m4 i)
{
    return (ad_v4){x[i[0]], x[i[1]], x[i[2]], x[i[3]]};
}

#include "exec/kernels/conv_tile.h"
#include "exec/kernels/winograd_tile.h"

TILE(1)
TILE(2)

const struct ad_conv_kernel ad_conv_base = {
    .lanes = LANES,
    .rows = ROWS,
    .tile = {TILES(1), TILES(2)},
    .narrow = {narrow_1, narrow_2},
    .winograd = TRANSFORMS,
};
