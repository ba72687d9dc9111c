/* The lowering of transposed convolutions, slices, padding, resizing, shuffles and reductions. */
#include "import/lower_internal.h"

#include <string.h>

/* A transposed convolution is a convolution whose outputs are whole blocks of pixels, cropped:
 * output stride * i + r is the sum over j of tap stride * j + r of the kernel times input i - j.
 * This is one axis of it: `taps` values of j, the first of which reaches `lead` rows before the
 * first output that is kept. */
struct transposed {
    int64_t taps, lead, crop, blocks;
};

static struct transposed transposed_axis(int64_t k, int64_t s, int64_t d, int64_t crop, int64_t in,
                                         int64_t out)
{
    struct transposed t = {.taps = (d * (k - 1) + s) / s};
    int64_t skipped = crop / s < t.taps - 1 ? crop / s : t.taps - 1;
    t.lead = t.taps - 1 - skipped;
    t.crop = crop - skipped * s;
    t.blocks = (out + t.crop + s - 1) / s;
    int64_t least = in + t.lead - t.taps + 1; /* without padding at the end */
    t.blocks = t.blocks < least ? least : t.blocks;
    return t;
}

/* The axes of a transposed convolution, with the weights that all depths share. */
struct blocks {
    struct transposed d, h, w;
    bool major; /* the outputs of a group lie together; else those of a place in the block */
    int weight, bias;
};

/* A block of depths from the maps that reach it (all of them in rank 4): value `out`. */
static bool add_blocks(struct ad_draft_lowering *l, const struct ad_draft_op *op,
                       const struct blocks *b, int from, int out)
{
    const struct ad_window *w = &op->window;
    const struct ad_box in = l->values[from].box;
    const struct ad_draft_op bare = ad_lower_bare(op);
    const int64_t dims[4] = {in.n, l->values[out].box.c * w->sh * w->sw, b->h.blocks, b->w.blocks};
    int wide = ad_lower_value(l, l->values[out].name, ":blocks", 4, dims, AD_NHWC);
    bool bytes = ad_value_is_quantised(&l->values[out]); /* limited before they move: no pass */
    if (wide >= 0)
        ad_lower_quantise_as(l, wide, out);
    struct ad_op *conv = wide < 0 ? NULL
                                  : ad_lower_op(l, bytes ? op : &bare, AD_OP_CONV, op->name,
                                                op->type, 1, &from, wide);
    if (!conv)
        return false;
    int32_t below = (int32_t)(b->h.blocks - in.h - b->h.lead + b->h.taps - 1);
    int32_t right = (int32_t)(b->w.blocks - in.w - b->w.lead + b->w.taps - 1);
    conv->window =
        (struct ad_window){(int32_t)b->h.taps, (int32_t)b->w.taps, 1,     1,     1,     1,
                           (int32_t)b->h.lead, (int32_t)b->w.lead, below, right, below, right};
    conv->weight = b->weight;
    conv->bias = b->bias;
    struct ad_op *space =
        ad_lower_op(l, bytes ? &bare : op, AD_OP_DEPTH_TO_SPACE, op->name, op->type, 1, &wide, out);
    if (!space)
        return false;
    space->groups = 1;
    space->channel_major = b->major;
    space->window = (struct ad_window){
        .sh = w->sh, .sw = w->sw, .pt = (int32_t)b->h.crop, .pl = (int32_t)b->w.crop};
    return true;
}

/* For each block of depths: the input's depths that reach it, a transposed convolution of the maps,
 * and the depths of all blocks put together and cropped. */
static bool blocks_of_depth(struct ad_draft_lowering *l, const struct ad_draft_op *op,
                            const struct blocks *b, int from)
{
    const struct ad_draft_value in = l->draft->values[op->inputs[0]];
    const struct ad_draft_value out = l->draft->values[op->output];
    int64_t c = in.dims[1], sd = op->depth.s, groups = op->groups;
    const int64_t dims[4] = {in.dims[0], op->rows * sd, out.dims[3], out.dims[4]};
    int64_t all_dims[4] = {in.dims[0], op->rows * sd * b->d.blocks, out.dims[3], out.dims[4]};
    int *parts = ad_lower_indices(l, b->d.blocks);
    if (!parts)
        return false;
    for (int64_t i = 0; i < b->d.blocks; i++) {
        int taps = ad_lower_channels(l, out.name, from, (i - b->d.lead) * c, b->d.taps * c);
        if (taps >= 0 && groups > 1)
            taps = ad_lower_swap(l, out.name, taps, b->d.taps, groups, c / groups);
        int one = taps < 0 ? -1 : ad_lower_value(l, out.name, ":block", 4, dims, AD_NHWC);
        if (one < 0 || !add_blocks(l, op, b, taps, one))
            return false;
        parts[i] = b->major ? ad_lower_swap(l, out.name, one, op->rows, sd, 1) : one;
        if (parts[i] < 0)
            return false;
    }
    int all = ad_lower_value(l, out.name, ":depths", 4, all_dims, AD_NHWC);
    if (all < 0 || !ad_lower_join(l, NULL, op->type, parts, b->d.blocks, all))
        return false;
    int cropped = ad_lower_channels(l, out.name, all, b->d.crop * op->rows, out.dims[2] * op->rows);
    int result = cropped < 0 ? -1 : ad_lower_result(l, op->output, AD_NHWC);
    return result >= 0 && ad_lower_reshape(l, cropped, result) >= 0;
}

bool ad_lower_conv_transpose(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    const struct ad_draft_value in = l->draft->values[op->inputs[0]];
    const struct ad_draft_value out = l->draft->values[op->output];
    const struct ad_window *w = &op->window;
    const struct ad_depth *d = &op->depth;
    int y = in.rank - 2, x = in.rank - 1;
    struct blocks b = {
        .d = d->k ? transposed_axis(d->k, d->s, d->d, d->front, in.dims[2], out.dims[2])
                  : (struct transposed){.taps = 1, .blocks = 1},
        .h = transposed_axis(w->kh, w->sh, w->dh, w->pt, in.dims[y], out.dims[y]),
        .w = transposed_axis(w->kw, w->sw, w->dw, w->pl, in.dims[x], out.dims[x]),
        .major = op->groups > 1,
        .bias = -1};
    const struct ad_block_taps taps = {b.d.taps, b.h.taps, b.w.taps};
    int from = ad_lower_get(l, op->inputs[0], AD_NHWC);
    b.weight = from < 0 ? -1 : ad_lower_transposed(l, op, &taps, b.major);
    bool bytes = ad_lower_is_quantised(l, op);
    if (b.weight >= 0 && bytes)
        b.bias = ad_lower_quantised_rows(l, op, ad_lower_places(op), b.major);
    else if (b.weight >= 0 && op->bias)
        b.bias = ad_lower_repeated(l, op, ad_lower_places(op), b.major);
    if (b.weight < 0 || ((op->bias || bytes) && b.bias < 0))
        return false;
    if (d->k)
        return blocks_of_depth(l, op, &b, from);
    int result = ad_lower_result(l, op->output, AD_NHWC);
    return result >= 0 && add_blocks(l, op, &b, from, result);
}

bool ad_lower_depth_to_space(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    struct ad_op *space = ad_lower_simple(l, op, AD_OP_DEPTH_TO_SPACE, AD_NHWC);
    if (space) {
        space->window = (struct ad_window){.sh = op->block, .sw = op->block};
        space->block = 0;
    }
    return space;
}

bool ad_lower_shuffle(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    static const int32_t perm[] = {0, 1, 2, 4, 3};
    struct ad_op *shuffle = ad_lower_simple(l, op, AD_OP_PERMUTE, AD_NHWC);
    if (!shuffle)
        return false;
    struct ad_box box = l->values[shuffle->output].box;
    const int64_t view[] = {box.n, box.h, box.w, op->block, box.c / op->block};
    shuffle->view_rank = 5;
    shuffle->block = 0;
    memcpy(shuffle->view_dims, view, sizeof view);
    memcpy(shuffle->perm, perm, sizeof perm);
    return true;
}

/* A RESAMPLE in the graph, of NHWC values; `axes` are the draft's dims along h, w, c, -1 for none.
 */
static struct ad_op *add_resample(struct ad_draft_lowering *l, const struct ad_draft_op *op, int in,
                                  int out, const int axes[3])
{
    struct ad_op *r = ad_lower_op(l, op, AD_OP_RESAMPLE, op->name, op->type, 1, &in, out);
    if (!r)
        return NULL;
    r->window = (struct ad_window){0};
    r->resampling = (struct ad_resampling){.method = op->method,
                                           .edge = op->edge,
                                           .fill = op->fill,
                                           .cubic = op->cubic,
                                           .exclude_outside = op->exclude_outside};
    for (int i = 0; i < 3; i++)
        r->resampling.axis[i] = axes[i] < 0 ? ad_in_place : op->positions[axes[i]];
    return r;
}

static bool positions_move(const struct ad_draft_lowering *l, const struct ad_draft_op *op, int i)
{
    const struct ad_positions *p = &op->positions[i];
    const struct ad_draft_value *values = l->draft->values;
    return values[op->inputs[0]].dims[i] != values[op->output].dims[i] || p->start != 0 ||
           p->step != p->unit;
}

/* Dim i of `from`, PLAIN, which has these dims: seen as the columns of a map whose rows are the
 * dims before it, and whose channels are the dims after it. */
static int resample_dim(struct ad_draft_lowering *l, const struct ad_draft_op *op, int from,
                        int rank, int64_t *dims, int i, bool last, int to)
{
    static const int columns[3] = {-1, 0, -1};
    struct ad_draft_op one = last ? *op : ad_lower_bare(op);
    const char *name = l->values[to].name;
    int64_t map[4] = {1, 1, 1, dims[i]};
    for (int k = 0; k < rank; k++)
        map[k < i ? 2 : 1] *= k == i ? 1 : dims[k];
    int wide = ad_lower_value(l, name, ":map", 4, map, AD_NHWC);
    if (wide >= 0)
        ad_lower_quantise_as(l, wide, from);
    if (wide < 0 || ad_lower_reshape(l, from, wide) < 0)
        return -1;
    dims[i] = map[3] = l->draft->values[op->output].dims[i];
    int done = ad_lower_value(l, name, ":resampled", 4, map, AD_NHWC);
    if (done >= 0)
        ad_lower_quantise_as(l, done, wide);
    one.positions[0] = op->positions[i];
    return done >= 0 && add_resample(l, &one, wide, done, columns) ? done : -1;
}

/* In one step for rank 4 when the batch does not change, and for rank 5 when depths stay whole;
 * else dim by dim. */
bool ad_lower_resample(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    static const int nhwc[3] = {2, 3, 1}, dhw[3] = {3, 4, 2};
    const struct ad_draft_value d = l->draft->values[op->inputs[0]];
    bool mixes = op->method >= AD_METHOD_LINEAR;
    if (d.rank == 4 && !positions_move(l, op, 0) && !(mixes && positions_move(l, op, 1))) {
        int in = ad_lower_get(l, op->inputs[0], AD_NHWC);
        int out = in < 0 ? -1 : ad_lower_result(l, op->output, AD_NHWC);
        return out >= 0 && add_resample(l, op, in, out, nhwc);
    }
    const struct ad_positions *depth = &op->positions[2];
    if (d.rank == 5 && !mixes && !positions_move(l, op, 0) && !positions_move(l, op, 1) &&
        op->edge == AD_EDGE_FILL && depth->step == 1 && depth->unit == 1) {
        struct ad_draft_op maps = *op; /* depths are runs of channels */
        maps.positions[2].start *= d.dims[1];
        int in = ad_lower_get(l, op->inputs[0], AD_NHWC);
        int out = in < 0 ? -1 : ad_lower_result(l, op->output, AD_NHWC);
        return out >= 0 && add_resample(l, &maps, in, out, dhw);
    }
    int64_t dims[AD_MAX_RANK];
    memcpy(dims, d.dims, sizeof dims);
    int at = ad_lower_get(l, op->inputs[0], AD_PLAIN);
    int out = at < 0 ? -1 : ad_lower_result(l, op->output, AD_PLAIN);
    int left = 0;
    for (int i = 0; i < d.rank; i++)
        left += positions_move(l, op, i);
    for (int i = 0; i < d.rank && out >= 0 && at >= 0; i++)
        if (positions_move(l, op, i))
            at = resample_dim(l, op, at, d.rank, dims, i, --left == 0, out);
    return out >= 0 && at >= 0 && ad_lower_reshape(l, at, out) >= 0;
}

/* Zeros around the pixels that no window has taken over. */
bool ad_lower_pad(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    static const int nhwc[3] = {2, 3, 1};
    struct ad_draft_op pad = *op;
    for (int i = 0; i < 4; i++)
        pad.positions[i] = ad_in_place;
    pad.positions[2].start = -op->window.pt;
    pad.positions[3].start = -op->window.pl;
    int in = ad_lower_get(l, op->inputs[0], AD_NHWC);
    int out = in < 0 ? -1 : ad_lower_result(l, op->output, AD_NHWC);
    return out >= 0 && add_resample(l, &pad, in, out, nhwc);
}

bool ad_lower_reduce(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    bool channels = op->inner == 0;
    struct ad_op *reduce = ad_lower_simple(l, op, AD_OP_REDUCE, channels ? AD_NHWC : AD_PLAIN);
    if (!reduce)
        return false;
    reduce->window = (struct ad_window){0};
    reduce->reduction = op->reduction;
    if (!channels) {
        reduce->inner = op->inner;
        reduce->outer = l->draft->values[op->output].elements;
    }
    return true;
}
