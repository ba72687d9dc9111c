#include "ir/winograd.h"
#include "ir/operators.h"

/* The numbers of a block stay in the L2 cache, unless it has so few tiles then that the weights,
 * which are read once for each block, come from memory too often. */
#define BLOCK_BYTES (1 << 19)
#define BLOCK_LEAST 56

bool ad_op_may_winograd(const struct ad_op *op)
{
    const struct ad_window *w = &op->window;
    bool three = w->kh == 3 || w->kw == 3;
    return op->kind == AD_OP_CONV && op->groups == 1 && three && (w->kh == 3 || w->kh == 1) &&
           (w->kw == 3 || w->kw == 1) && w->sh == 1 && w->sw == 1 && w->dh == 1 && w->dw == 1 &&
           w->pt < w->kh && w->pb < w->kh && w->pl < w->kw && w->pr < w->kw;
}

struct ad_winograd_shape ad_winograd_shape_of(const struct ad_graph *graph, const struct ad_op *op)
{
    return (struct ad_winograd_shape){op->winograd, op->window.kh, op->window.kw,
                                      graph->values[op->inputs[0]].box.c,
                                      graph->values[op->output].box.c};
}

int ad_winograd_products(const struct ad_winograd_shape *s)
{
    return ad_winograd_inputs(s->m, s->kh) * ad_winograd_inputs(s->m, s->kw);
}

int64_t ad_winograd_block(const struct ad_winograd_shape *s)
{
    int64_t channels = s->inputs + s->outputs;
    int64_t tiles = BLOCK_BYTES / (int64_t)sizeof(float) / ad_winograd_products(s) / channels;
    return tiles > BLOCK_LEAST ? tiles : BLOCK_LEAST;
}

/* Tiles along an axis; one more where a band begins within one. */
static int64_t tiles_along(int64_t size, int tile)
{
    return tile == 1 ? size : size / tile + 2;
}

bool ad_winograd_scratch(const struct ad_winograd_shape *s, int64_t n, int64_t rows,
                         int64_t columns, int threads, size_t *floats)
{
    int64_t down = tiles_along(rows, ad_winograd_tile(s->m, s->kh));
    int64_t across = tiles_along(columns, ad_winograd_tile(s->m, s->kw));
    size_t most = (size_t)ad_winograd_block(s) * (size_t)threads, tiles;
    if (!ad_size_mul((size_t)n, (size_t)down, &tiles) ||
        !ad_size_mul(tiles, (size_t)across, &tiles))
        return false;
    return ad_size_mul(tiles < most ? tiles : most, (size_t)ad_winograd_products(s), floats) &&
           ad_size_mul(*floats, (size_t)(s->inputs + s->outputs), floats);
}
