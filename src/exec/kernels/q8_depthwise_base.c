/* Depthwise convolutions of bytes in the 128-bit registers of SSE2, or whatever the compiler has: 2
 * pixels x 16 channels, products of int16. */
#define LANES 4
#define PIXELS 2
#define IS_SIGNED false
#if defined(__x86_64__)
#define DEEP 2
#define WEIGHT 4
#define REGISTER __m128i
#define FLOATS __m128
#define OF(name) _mm_##name
#define DOT(acc, x, w) ((acc) + (sums)_mm_madd_epi16((REGISTER)(x), (REGISTER)load_sums(w)))
#else
#define DEEP 1
#define WEIGHT 2
#define DOT(acc, x, w) ((acc) + (x)*weights(w))
#endif
#include "exec/kernels/q8_lanes.h"

#if defined(__x86_64__)
#include "exec/kernels/q8_depthwise_x86.h"
#else
typedef int16_t short_lanes __attribute__((vector_size(2 * LANES)));

INLINE sums weights(const char *p)
{
    short_lanes w;
    memcpy(&w, p, sizeof w);
    return (sums) __builtin_convertvector(w, ints);
}

INLINE void mix(const bytes *x, sums v[4])
{
    few part[4];
    memcpy(part, x, sizeof part);
    for (int i = 0; i < 4; i++)
        v[i] = __builtin_convertvector(part[i], sums);
}

INLINE bytes join(const floats *x, const struct ad_q8_out *how)
{
    ints y[4];
    for (int v = 0; v < 4; v++)
        y[v] = rounded(x[v], how);
    few part[4];
    bytes all;
    for (int i = 0; i < 4; i++)
        part[i] = __builtin_convertvector(y[i], few);
    memcpy(&all, part, sizeof all);
    return all;
}
#endif

#include "exec/kernels/q8_depthwise_tile.h"

const struct ad_q8_depthwise_kernel ad_q8_depthwise_base = TABLE;
