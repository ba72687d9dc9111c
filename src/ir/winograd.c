#include "ir/winograd.h"
#include "ir/operators.h"

/* The numbers of a block stay in the L2 cache, unless it has so few tiles then that the weights,
 * which are read once for each block, come from memory too often. */
#define BLOCK_BYTES (1 << 19)
#define BLOCK_LEAST 56

bool ad_op_may_winograd(const struct ad_op *op, int m, int64_t rows, int64_t columns)
{
    const struct ad_window *w = &op->window;
    return (m == 2 || m == AD_WINOGRAD_LARGEST) && ad_op_is_conv(op) && op->groups == 1 &&
           (w->kh == 3 || w->kw == 3) && (w->kh == 3 || w->kh == 1) && (w->kw == 3 || w->kw == 1) &&
           w->sh == 1 && w->sw == 1 && (w->dh == 1 || ad_winograd_grid(m, w->kh, w->dh) <= rows) &&
           (w->dw == 1 || ad_winograd_grid(m, w->kw, w->dw) <= columns);
}

struct ad_winograd_shape ad_winograd_shape_of(const struct ad_graph *graph, const struct ad_op *op)
{
    const struct ad_window *w = &op->window;
    return (struct ad_winograd_shape){.m = op->winograd,
                                      .kh = w->kh,
                                      .kw = w->kw,
                                      .dh = w->kh == 3 ? w->dh : 1,
                                      .dw = w->kw == 3 ? w->dw : 1,
                                      .inputs = graph->values[op->inputs[0]].box.c,
                                      .outputs = graph->values[op->output].box.c};
}

int ad_winograd_products(const struct ad_winograd_shape *s)
{
    return ad_winograd_inputs(s->m, s->kh) * ad_winograd_inputs(s->m, s->kw);
}

double ad_winograd_growth(const struct ad_winograd_shape *s)
{
    return (double)ad_winograd_products(s) / (s->kh * s->kw);
}

int64_t ad_winograd_block(const struct ad_winograd_shape *s)
{
    int64_t channels = s->inputs + s->outputs;
    int64_t tiles = BLOCK_BYTES / (int64_t)sizeof(float) / ad_winograd_products(s) / channels;
    return tiles > BLOCK_LEAST ? tiles : BLOCK_LEAST;
}

/* Tiles along an axis of a band that begins just before a line of the grid. */
static int64_t tiles_along(int64_t size, int m, int taps, int dilation)
{
    int64_t begun = ad_winograd_grid(m, taps, dilation) - 1;
    return ad_winograd_tiles(m, taps, dilation, size + begun);
}

bool ad_winograd_scratch(const struct ad_winograd_shape *s, int64_t n, int64_t rows,
                         int64_t columns, int threads, size_t *floats)
{
    int64_t down = tiles_along(rows, s->m, s->kh, s->dh);
    int64_t across = tiles_along(columns, s->m, s->kw, s->dw);
    size_t most = (size_t)ad_winograd_block(s) * (size_t)threads, tiles;
    if (!ad_size_mul((size_t)n, (size_t)down, &tiles) ||
        !ad_size_mul(tiles, (size_t)across, &tiles))
        return false;
    return ad_size_mul(tiles < most ? tiles : most, (size_t)ad_winograd_products(s), floats) &&
           ad_size_mul(*floats, (size_t)(s->inputs + s->outputs), floats);
}
