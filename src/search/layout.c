#include "search/layout.h"
#include "fusion/region.h"
#include "ir/winograd.h"

#include <math.h>
#include <string.h>

int32_t ad_dim_extent(const struct ad_value *value, enum ad_dim dim)
{
    struct ad_region whole = ad_region_whole(value);
    switch (dim) {
    case AD_DIM_H:
        return whole.h1;
    case AD_DIM_W:
        return whole.w1;
    case AD_DIM_C:
        return whole.c1;
    default:
        return 1;
    }
}

struct ad_region ad_dim_slab(const struct ad_value *value, enum ad_dim dim, int32_t lo, int32_t hi)
{
    struct ad_region r = ad_region_whole(value);
    if (dim == AD_DIM_H)
        r.h0 = lo, r.h1 = hi;
    else if (dim == AD_DIM_W)
        r.w0 = lo, r.w1 = hi;
    else if (dim == AD_DIM_C)
        r.c0 = lo, r.c1 = hi;
    return ad_region_empty(r) ? ad_region_none() : r;
}

enum adaps_status ad_layout_init(struct ad_layout *out, int nops, int ndevices,
                                 struct adaps_error *err)
{
    *out = (struct ad_layout){.nops = nops, .ndevices = ndevices, .hub = -1};
    size_t n = (size_t)nops, width = (size_t)ndevices + 1;
    out->ops = ad_calloc(n, sizeof *out->ops);
    out->cuts = ad_calloc(n * width, sizeof *out->cuts);
    if (!out->ops || !out->cuts) {
        ad_layout_fini(out);
        return ad_error_memory(err, "layout", n * width * sizeof *out->cuts);
    }
    for (int i = 0; i < nops; i++)
        for (int d = 1; d <= ndevices; d++)
            ad_layout_cuts(out, i)[d] = AD_CUT_UNITS;
    return ADAPS_OK;
}

void ad_layout_fini(struct ad_layout *layout)
{
    ad_free(layout->ops);
    ad_free(layout->cuts);
    *layout = (struct ad_layout){0};
}

void ad_layout_copy_head(const struct ad_layout *from, struct ad_layout *to)
{
    to->hub = from->hub;
    to->u8 = from->u8;
    to->order = from->order;
    to->input_chunks = from->input_chunks;
    to->band_chunks = from->band_chunks;
    to->encoding = from->encoding;
}

void ad_layout_copy(const struct ad_layout *from, struct ad_layout *to)
{
    size_t n = (size_t)from->nops;
    ad_layout_copy_head(from, to);
    memcpy(to->ops, from->ops, n * sizeof *to->ops);
    memcpy(to->cuts, from->cuts, n * (size_t)(from->ndevices + 1) * sizeof *to->cuts);
}

void ad_cuts_proportional(const double *weight, int ndevices, int *cuts)
{
    double sum = 0, upto = 0;
    for (int d = 0; d < ndevices; d++)
        sum += weight[d];
    cuts[0] = 0;
    for (int d = 0; d < ndevices; d++) {
        upto += weight[d];
        cuts[d + 1] = sum > 0 ? (int)lround(upto / sum * AD_CUT_UNITS) : AD_CUT_UNITS;
    }
    cuts[ndevices] = AD_CUT_UNITS;
}

bool ad_dim_splits(const struct ad_graph *graph, const struct ad_op *op, enum ad_dim dim)
{
    const struct ad_value *value = &graph->values[op->output];
    int32_t n = ad_dim_extent(value, dim);
    if (n < 2)
        return false;
    struct ad_region half = ad_region_allow(graph, op, ad_dim_slab(value, dim, 0, n / 2));
    return ad_region_elements(half) < ad_region_elements(ad_region_whole(value));
}

int32_t ad_cut_row(int cut, int32_t size)
{
    return (int32_t)(((int64_t)cut * size + AD_CUT_UNITS / 2) / AD_CUT_UNITS);
}

int ad_row_cut(int32_t row, int32_t size)
{
    return (int)(((int64_t)row * AD_CUT_UNITS + size / 2) / size);
}

/* The row (column, channel) of an op at which a cut lies: where Winograd's tiles are computed as a
 * whole anyway, the nearest line of their grid. */
static int32_t row_of(const struct ad_op *op, enum ad_dim dim, int cut, int32_t size)
{
    int64_t row = ad_cut_row(cut, size), grid = 1;
    if (dim == AD_DIM_H)
        grid = ad_winograd_grid(op->winograd, op->window.kh, op->window.dh);
    else if (dim == AD_DIM_W)
        grid = ad_winograd_grid(op->winograd, op->window.kw, op->window.dw);
    if (grid > 1 && row < size)
        row = (row + grid / 2) / grid * grid;
    return row < size ? (int32_t)row : size;
}

/* The tile of device d of a grid. */
static struct ad_region tile(const struct ad_op *op, const struct ad_value *value, const int *cuts,
                             int across, int d, int ndevices)
{
    int first = d - d % across;
    int32_t width = first + across < ndevices ? across : ndevices - first;
    struct ad_region whole = ad_region_whole(value), r = whole;
    r.h0 = row_of(op, AD_DIM_H, cuts[first], whole.h1);
    r.h1 = row_of(op, AD_DIM_H, cuts[first + width], whole.h1);
    r.w0 = (int32_t)((int64_t)whole.w1 * (d - first) / width);
    r.w1 = (int32_t)((int64_t)whole.w1 * (d - first + 1) / width);
    return ad_region_empty(r) ? ad_region_none() : r;
}

static void pin_regions(const struct ad_graph *graph, const struct ad_layout *layout, int i,
                        struct ad_region *out)
{
    const struct ad_op *op = &graph->ops[i];
    const struct ad_value *value = &graph->values[op->output];
    const int *cuts = ad_layout_cuts(layout, i);
    enum ad_dim dim = layout->ops[i].dim;
    int32_t size = ad_dim_extent(value, dim);
    int across = layout->ops[i].across;
    for (int d = 0; d < layout->ndevices; d++) {
        struct ad_region band = dim == AD_DIM_H && across > 1
                                    ? tile(op, value, cuts, across, d, layout->ndevices)
                                    : ad_dim_slab(value, dim, row_of(op, dim, cuts[d], size),
                                                  row_of(op, dim, cuts[d + 1], size));
        out[d] = ad_region_empty(band) ? band : ad_region_allow(graph, op, band);
    }
}

void ad_layout_op_regions(const struct ad_graph *graph, const struct ad_layout *layout, int i,
                          bool derived, struct ad_region *regions)
{
    const struct ad_op *op = &graph->ops[i];
    for (int d = 0; d < layout->ndevices && layout->ops[i].dim == AD_DIM_WHOLE; d++)
        regions[d] =
            d == layout->ops[i].at ? ad_region_whole(&graph->values[op->output]) : ad_region_none();
    for (int d = 0; d < layout->ndevices && derived; d++)
        if (!ad_region_empty(regions[d]))
            regions[d] = ad_region_allow(graph, op, regions[d]);
    if (layout->ops[i].dim != AD_DIM_WHOLE && !derived)
        pin_regions(graph, layout, i, regions);
}
