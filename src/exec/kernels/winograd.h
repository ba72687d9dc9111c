/* Convolutions by Winograd's minimal filtering (ir/winograd.h), in tiles of output pixels.
 *
 * An output element is made in this order: the tile's inputs are transformed (its columns, then its
 * rows) and multiplied by the transformed weights; the products are added up over the input
 * channels, from zero, with fused multiply-adds; these sums are transformed back (columns, then
 * rows); then come the bias and `add`. With m = 4 the transforms are those of the points 0, 3/4,
 * -3/4, 3/2, -3/2 and infinity: their coefficients are exact in float32, and they round less than
 * the usual 0, 1, -1, 2, -2 (docs/numerics.md). */
#ifndef AD_EXEC_KERNELS_WINOGRAD_H
#define AD_EXEC_KERNELS_WINOGRAD_H

#include "exec/kernels/kernels.h"
#include "ir/winograd.h"

struct ad_winograd {
    struct ad_winograd_shape shape; /* its outputs are the channels of `out` */
    struct ad_view in, out;         /* in.h = 0 (and data NULL): only padding is read */
    struct ad_view add;             /* as out: added before clamping; data NULL: nothing */
    int32_t top, left;              /* padding before what the outputs from there on read */
    int32_t above, before;          /* rows and columns between a line of the grid and `out` */
    const float *packed;            /* ad_winograd_pack() */
    float *scratch;                 /* ad_winograd_scratch() floats, */
    int threads;                    /* for so many threads */
    float clamp_min, clamp_max;
    struct ad_activation then; /* of the clamped sums, while they are in the cache */
};

/* Floats that the weights take packed. False on overflow. */
bool ad_winograd_packed(const struct ad_winograd_shape *shape, size_t *floats);

/* Packs output channels [first, first + n); first is a multiple of ad_conv_panel(), as n is unless
 * they are the last. kernel: n x taps x inputs; bias: n or NULL. */
void ad_winograd_pack(float *packed, const struct ad_winograd_shape *shape, int64_t first,
                      int64_t n, const float *kernel, const float *bias);

void ad_winograd_run(const struct ad_winograd *w, struct pthreadpool *pool);

#endif
