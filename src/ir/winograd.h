/* Winograd's minimal filtering F(m x m, 3 x 3), by Lavin and Gray (arXiv:1509.09308): which
 * convolutions can be computed so, and what that takes. How it is done is
 * exec/kernels/winograd.h's.
 *
 * Along an axis with three taps the outputs are computed in tiles of m, on a grid that begins at
 * output 0 of the whole. With dilation d a tile takes every d-th output, d tiles are interleaved
 * between two lines of the grid, which are m * d apart. Whoever computes an output computes all
 * between the lines around it, so that its bits do not depend on the region. */
#ifndef AD_IR_WINOGRAD_H
#define AD_IR_WINOGRAD_H

#include "ir/graph.h"

#define AD_WINOGRAD_LARGEST 4 /* m is 2 or this */
#define AD_WINOGRAD_TAPS (AD_WINOGRAD_LARGEST + 2)
#define AD_WINOGRAD_PRODUCTS (AD_WINOGRAD_TAPS * AD_WINOGRAD_TAPS)

struct ad_winograd_shape {
    int m, kh, kw; /* 3x3, 3x1 or 1x3 taps */
    int dh, dw;    /* dilation; 1 along an axis of one tap */
    int64_t inputs, outputs;
};

/* Dense convolutions of 3x3, 3x1 or 1x3 taps without stride, whose outputs (rows x columns) fill
 * the grid once at least where they are dilated. */
bool ad_op_may_winograd(const struct ad_op *op, int m, int64_t rows, int64_t columns);

/* Outputs of a tile along an axis of so many taps. */
static inline int ad_winograd_tile(int m, int taps)
{
    return taps == 3 && m > 0 ? m : 1;
}

/* From a line of the grid to the next. */
static inline int64_t ad_winograd_grid(int m, int taps, int dilation)
{
    return taps == 3 && m > 0 ? (int64_t)m * dilation : 1;
}

/* Tiles of `size` outputs from a line of the grid on. */
static inline int64_t ad_winograd_tiles(int m, int taps, int dilation, int64_t size)
{
    int64_t grid = ad_winograd_grid(m, taps, dilation);
    return (size + grid - 1) / grid * (grid / ad_winograd_tile(m, taps));
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

/* Times as many numbers as the weights are before their transform. */
double ad_winograd_growth(const struct ad_winograd_shape *shape);

/* Tiles that a thread computes at the same time. */
int64_t ad_winograd_block(const struct ad_winograd_shape *shape);

/* Floats that the tiles which are computed at the same time take, of an output of n images with so
 * many rows and columns. False on overflow. */
bool ad_winograd_scratch(const struct ad_winograd_shape *shape, int64_t n, int64_t rows,
                         int64_t columns, int threads, size_t *floats);

#endif
