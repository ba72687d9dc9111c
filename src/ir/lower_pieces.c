/* Lowering of what becomes blocks of pixels, slices, padding, resizing, shuffles and reductions. */
#include "ir/lower_priv.h"

#include <string.h>

/* A transposed convolution is a convolution whose outputs are whole blocks of pixels, cropped: what
 * reaches output stride * i + r are taps stride * j + r of the kernel, of the inputs i - j. One for
 * one axis: `taps` of them, of which the first reaches `lead` rows before output 0 of what is kept.
 */
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
    int64_t least = in + t.lead - t.taps + 1; /* without padding behind */
    t.blocks = t.blocks < least ? least : t.blocks;
    return t;
}

bool ad_lower_conv_transpose(struct ad_lowering *l, const struct ad_draft_op *op)
{
    const struct ad_draft_value in = l->draft->values[op->inputs[0]];
    const struct ad_draft_value out = l->draft->values[op->output];
    const struct ad_window *w = &op->window;
    struct transposed h = transposed_axis(w->kh, w->sh, w->dh, w->pt, in.dims[2], out.dims[2]);
    struct transposed v = transposed_axis(w->kw, w->sw, w->dw, w->pl, in.dims[3], out.dims[3]);
    int64_t places = (int64_t)w->sh * w->sw;
    int64_t dims[4] = {in.dims[0], op->rows * places, h.blocks, v.blocks};
    bool major = op->groups > 1; /* groups want their outputs together; else pixels do */
    struct ad_draft_op plain = *op;
    plain.function = AD_FN_NONE;
    plain.clamp_min = -INFINITY;
    plain.clamp_max = INFINITY;
    int from = ad_lower_get(l, op->inputs[0], AD_NHWC);
    int wide = from < 0 ? -1 : ad_lower_value(l, out.name, ":blocks", 4, dims, AD_NHWC);
    struct ad_op *conv =
        wide < 0 ? NULL : ad_lower_op(l, &plain, AD_OP_CONV, op->name, op->type, 1, &from, wide);
    if (!conv)
        return false;
    int32_t behind_h = (int32_t)(h.blocks - in.dims[2] - h.lead + h.taps - 1);
    int32_t behind_v = (int32_t)(v.blocks - in.dims[3] - v.lead + v.taps - 1);
    conv->window = (struct ad_window){
        (int32_t)h.taps, (int32_t)v.taps, 1,        1,        1,        1,
        (int32_t)h.lead, (int32_t)v.lead, behind_h, behind_v, behind_h, behind_v};
    int weight = ad_lower_transposed(l, op, h.taps, v.taps, major);
    int bias = op->bias && weight >= 0 ? ad_lower_repeated(l, op, places, major) : -1;
    int result =
        weight < 0 || (op->bias && bias < 0) ? -1 : ad_lower_result(l, op->output, AD_NHWC);
    conv = &l->ops[l->nops - 1];
    conv->weight = weight;
    conv->bias = bias;
    struct ad_op *space =
        result < 0 ? NULL
                   : ad_lower_op(l, op, AD_OP_DEPTH_TO_SPACE, op->name, op->type, 1, &wide, result);
    if (!space)
        return false;
    space->groups = 1;
    space->channel_major = major;
    space->window =
        (struct ad_window){.sh = w->sh, .sw = w->sw, .pt = (int32_t)h.crop, .pl = (int32_t)v.crop};
    return true;
}

bool ad_lower_depth_to_space(struct ad_lowering *l, const struct ad_draft_op *op)
{
    struct ad_op *space = ad_lower_simple(l, op, AD_OP_DEPTH_TO_SPACE, AD_NHWC);
    if (space) {
        space->window = (struct ad_window){.sh = op->block, .sw = op->block};
        space->block = 0;
    }
    return space;
}

bool ad_lower_shuffle(struct ad_lowering *l, const struct ad_draft_op *op)
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
static struct ad_op *add_resample(struct ad_lowering *l, const struct ad_draft_op *op, int in,
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
        r->resampling.axis[i] =
            axes[i] < 0 ? (struct ad_positions){1, 0, 1} : op->positions[axes[i]];
    return r;
}

static bool positions_move(const struct ad_lowering *l, const struct ad_draft_op *op, int i)
{
    const struct ad_positions *p = &op->positions[i];
    const struct ad_draft_value *values = l->draft->values;
    return values[op->inputs[0]].dims[i] != values[op->output].dims[i] || p->start != 0 ||
           p->step != p->unit;
}

/* Dim i of `from`, PLAIN, which has these dims: seen as the columns of a map of as many rows as
 * there are elements before it, and of channels behind it. */
static int resample_dim(struct ad_lowering *l, const struct ad_draft_op *op, int from, int rank,
                        int64_t *dims, int i, bool last, int to)
{
    static const int columns[3] = {-1, 0, -1};
    struct ad_draft_op one = *op;
    const char *name = l->values[to].name;
    int64_t map[4] = {1, 1, 1, dims[i]};
    for (int k = 0; k < rank; k++)
        map[k < i ? 2 : 1] *= k == i ? 1 : dims[k];
    int wide = ad_lower_value(l, name, ":map", 4, map, AD_NHWC);
    if (wide < 0 || ad_lower_reshape(l, from, wide) < 0)
        return -1;
    dims[i] = map[3] = l->draft->values[op->output].dims[i];
    int done = ad_lower_value(l, name, ":resampled", 4, map, AD_NHWC);
    one.positions[0] = op->positions[i];
    if (!last) {
        one.function = AD_FN_NONE;
        one.clamp_min = -INFINITY;
        one.clamp_max = INFINITY;
    }
    return done >= 0 && add_resample(l, &one, wide, done, columns) ? done : -1;
}

/* Rank 4 without a change of the batch as it is; else dim by dim. */
bool ad_lower_resample(struct ad_lowering *l, const struct ad_draft_op *op)
{
    static const int nhwc[3] = {2, 3, 1};
    const struct ad_draft_value d = l->draft->values[op->inputs[0]];
    bool mixes = op->method >= AD_METHOD_LINEAR;
    if (d.rank == 4 && !positions_move(l, op, 0) && !(mixes && positions_move(l, op, 1))) {
        int in = ad_lower_get(l, op->inputs[0], AD_NHWC);
        int out = in < 0 ? -1 : ad_lower_result(l, op->output, AD_NHWC);
        return out >= 0 && add_resample(l, op, in, out, nhwc);
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
bool ad_lower_pad(struct ad_lowering *l, const struct ad_draft_op *op)
{
    static const int nhwc[3] = {2, 3, 1};
    struct ad_draft_op pad = *op;
    for (int i = 0; i < 4; i++)
        pad.positions[i] = (struct ad_positions){1, 0, 1};
    pad.positions[2].start = -op->window.pt;
    pad.positions[3].start = -op->window.pl;
    int in = ad_lower_get(l, op->inputs[0], AD_NHWC);
    int out = in < 0 ? -1 : ad_lower_result(l, op->output, AD_NHWC);
    return out >= 0 && add_resample(l, &pad, in, out, nhwc);
}

bool ad_lower_reduce(struct ad_lowering *l, const struct ad_draft_op *op)
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
