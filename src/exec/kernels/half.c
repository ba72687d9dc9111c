#include "exec/kernels/half.h"
#include "exec/kernels/instruction_set.h"

#include <string.h>

#define LANES AD_HALF_LANES

typedef float floats __attribute__((vector_size(4 * LANES)));
typedef uint32_t words __attribute__((vector_size(4 * LANES)));
typedef int32_t mask __attribute__((vector_size(4 * LANES)));
typedef uint16_t halves __attribute__((vector_size(2 * LANES)));

#define MANTISSA 13         /* bits that binary16 lacks */
#define REBIAS 0x38000000u  /* 127 - 15 in the place of a float's exponent */
#define NORMAL 0x38800000u  /* 2^-14: below are the subnormal numbers, multiples of 2^-24 */
#define LARGEST 0x477fe000u /* 65504 */
#define INFINITE 0x7f800000u
#define HALF 0x3f000000u /* 0.5, whose last bit is worth 2^-24 */

INLINE words all(uint32_t x)
{
    return (words){x, x, x, x};
}

INLINE words select(mask m, words yes, words no)
{
    return (yes & (words)m) | (no & ~(words)m);
}

INLINE halves encode(floats x)
{
    words bits = (words)x, u = bits & all(0x7fffffffu), sign = (bits >> 16) & all(0x8000u);
    mask tiny = u < all(NORMAL);
    words finite = select(u < all(LARGEST), u, all(LARGEST));
    words normal = (finite - all(REBIAS) + all((1u << (MANTISSA - 1)) - 1) +
                    ((finite >> MANTISSA) & all(1))) >>
                   MANTISSA;
    words small = (words)((floats)select(tiny, u, all(0)) + 0.5f) - all(HALF);
    words h = select(tiny, small, normal);
    h = select(u == all(INFINITE), all(0x7c00u), h);
    h = select(u > all(INFINITE), all(0x7e00u), h);
    return __builtin_convertvector(h | sign, halves);
}

INLINE floats decode(halves half)
{
    words bits = __builtin_convertvector(half, words);
    words sign = (bits & all(0x8000u)) << 16, h = bits & all(0x7fffu);
    words normal = (h << MANTISSA) + all(REBIAS);
    words small = (words)(__builtin_convertvector((mask)h, floats) * 0x1p-24f);
    words u = select(h < all(0x400u), small, normal);
    u = select(h >= all(0x7c00u), (h << MANTISSA) | all(INFINITE), u);
    return (floats)(u | sign);
}

/* Copies so many elements as one move. */
INLINE void copy(void *to, const void *from, size_t count, size_t element)
{
    if (count == LANES)
        memcpy(to, from, LANES * element);
    else
        memcpy(to, from, count * element);
}

void ad_half_encode(const float *from, uint16_t *to, size_t count)
{
    for (size_t i = 0; i < count; i += LANES) {
        size_t n = count - i < LANES ? count - i : LANES;
        floats x = {0};
        copy(&x, from + i, n, sizeof *from);
        halves h = encode(x);
        copy(to + i, &h, n, sizeof *to);
    }
}

void ad_half_decode(const uint16_t *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i += LANES) {
        size_t n = count - i < LANES ? count - i : LANES;
        halves h = {0};
        copy(&h, from + i, n, sizeof *from);
        floats x = decode(h);
        copy(to + i, &x, n, sizeof *to);
    }
}
