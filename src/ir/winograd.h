/* Winograd's minimal filtering F(m x m, 3 x 3), by Lavin and Gray (arXiv:1509.09308): which
 * convolutions can be computed so, and what that takes. How it is done is
 * exec/kernels/winograd.h's.
 *
 * Along an axis with three taps the outputs are computed in tiles of m, which begin at output 0, m,
 * 2m, ... of the whole. Whoever computes an output computes all of its tile, so that its bits do
 * not depend on the region. */
#ifndef AD_IR_WINOGRAD_H
#define AD_IR_WINOGRAD_H

#include "ir/graph.h"

#define AD_WINOGRAD_LARGEST 4 /* m is 2 or this */
#define AD_WINOGRAD_TAPS (AD_WINOGRAD_LARGEST + 2)
#define AD_WINOGRAD_PRODUCTS (AD_WINOGRAD_TAPS * AD_WINOGRAD_TAPS)

struct ad_winograd_shape {
    int m, kh, kw; /* 3x3, 3x1 or 1x3 taps */
    int64_t inputs, outputs;
};

/* Dense convolutions of 3x3, 3x1 or 1x3 taps without stride or dilation, and without windows that
 * lie in the padding alone. */
bool ad_op_may_winograd(const struct ad_op *op);

/* m along an axis of so many taps: outputs that are computed together. */
static inline int ad_winograd_tile(int m, int taps)
{
    return taps == 3 && m > 0 ? m : 1;
}

/* Inputs that such a tile is made of, and numbers that they are transformed into. */
static inline int ad_winograd_inputs(int m, int taps)
{
    return taps == 3 ? m + 2 : 1;
}

/* Of a convolution whose op->winograd is not 0. */
struct ad_winograd_shape ad_winograd_shape_of(const struct ad_graph *graph, const struct ad_op *op);

/* Products of a tile, for each pair of input and output channel: at most AD_WINOGRAD_PRODUCTS. */
int ad_winograd_products(const struct ad_winograd_shape *shape);

/* Tiles that a thread computes at the same time. */
int64_t ad_winograd_block(const struct ad_winograd_shape *shape);

/* Floats that the tiles which are computed at the same time take, of an output of n images with so
 * many rows and columns. False on overflow. */
bool ad_winograd_scratch(const struct ad_winograd_shape *shape, int64_t n, int64_t rows,
                         int64_t columns, int threads, size_t *floats);

#endif
