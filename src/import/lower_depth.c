/* Operators on values of rank 5, N x C x D x H x W, composed of operators on maps. Such a value is
 * a map whose channels are (D, C), one depth after the other, so a window of depths is a run of
 * channels. A convolution makes each output depth from the channels of its taps, with the same
 * weights; a maximum over depth is the maximum of several maps; a mean over depth is a convolution
 * of one pixel whose groups are the channels. */
#include "import/lower_internal.h"

#include <stdio.h>
#include <string.h>

/* A value like `like` with so many channels and this size. */
static int map_value(struct ad_draft_lowering *l, const char *name, const char *what,
                     struct ad_box like, int64_t channels)
{
    const int64_t dims[4] = {like.n, channels, like.h, like.w};
    return ad_lower_value(l, name, what, 4, dims, AD_NHWC);
}

int ad_lower_channels(struct ad_draft_lowering *l, const char *name, int from, int64_t first,
                      int64_t count)
{
    const struct ad_box box = l->values[from].box;
    if (first == 0 && count == box.c)
        return from;
    char what[48];
    snprintf(what, sizeof what, ":channels%jd", (intmax_t)first);
    int out = map_value(l, name, what, box, count);
    struct ad_op *slice =
        out < 0 ? NULL
                : ad_lower_op(l, NULL, AD_OP_RESAMPLE, l->values[out].name, "Slice", 1, &from, out);
    if (!slice)
        return -1;
    slice->resampling = (struct ad_resampling){
        .method = AD_METHOD_FLOOR,
        .edge = AD_EDGE_FILL,
        .axis = {ad_in_place, ad_in_place, {1, first, 1}},
    };
    return out;
}

int ad_lower_swap(struct ad_draft_lowering *l, const char *name, int from, int64_t a, int64_t b,
                  int64_t c)
{
    static const int32_t perm[] = {0, 1, 2, 4, 3, 5};
    const struct ad_box box = l->values[from].box;
    if (a == 1 || b == 1)
        return from;
    int out = map_value(l, name, ":order", box, box.c);
    struct ad_op *permute = out < 0 ? NULL
                                    : ad_lower_op(l, NULL, AD_OP_PERMUTE, l->values[out].name,
                                                  "Transpose", 1, &from, out);
    if (!permute)
        return -1;
    const int64_t view[] = {box.n, box.h, box.w, a, b, c};
    permute->view_rank = 6;
    memcpy(permute->view_dims, view, sizeof view);
    memcpy(permute->perm, perm, sizeof perm);
    return out;
}

bool ad_lower_join(struct ad_draft_lowering *l, const struct ad_draft_op *op, const char *type,
                   const int *parts, int64_t count, int out)
{
    struct ad_op *join = ad_lower_op(l, op, AD_OP_CONCAT, op ? op->name : l->values[out].name, type,
                                     (int)count, parts, out);
    if (join) {
        join->window = (struct ad_window){0};
        join->groups = 1;
    }
    return join;
}

/* The depths that output depth o reads, as channels of a map in the order (depth, channel); with
 * groups (group, depth, channel of the group). */
static int depth_taps(struct ad_draft_lowering *l, const struct ad_draft_op *op, int from,
                      int64_t o)
{
    const struct ad_depth *d = &op->depth;
    const char *name = l->draft->values[op->output].name;
    int64_t c = l->draft->values[op->inputs[0]].dims[1], first = o * d->s - d->front;
    int taps = -1;
    if (d->d == 1 || d->k == 1) {
        taps = ad_lower_channels(l, name, from, first * c, d->k * c);
    } else {
        int *parts = ad_lower_indices(l, d->k);
        if (!parts)
            return -1;
        for (int64_t t = 0; t < d->k; t++)
            if ((parts[t] = ad_lower_channels(l, name, from, (first + t * d->d) * c, c)) < 0)
                return -1;
        taps = map_value(l, name, ":taps", l->values[from].box, d->k * c);
        if (taps >= 0 && !ad_lower_join(l, NULL, op->type, parts, d->k, taps))
            return -1;
    }
    return taps < 0 ? -1 : ad_lower_swap(l, name, taps, d->k, op->groups, c / op->groups);
}

bool ad_lower_conv_depth(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    const struct ad_draft_value out = l->draft->values[op->output];
    const int64_t dims[4] = {out.dims[0], op->rows, out.dims[3], out.dims[4]};
    int64_t depth = out.dims[2];
    int *parts = ad_lower_indices(l, depth);
    int from = parts ? ad_lower_get(l, op->inputs[0], AD_NHWC) : -1;
    int weight = from < 0 ? -1 : ad_lower_filters(l, op);
    int bias =
        weight >= 0 && op->bias ? ad_lower_rows(l, op->name, ":bias", op->rows, op->bias, 0) : -1;
    if (weight < 0 || (op->bias && bias < 0))
        return false;
    for (int64_t o = 0; o < depth; o++) {
        char what[32];
        snprintf(what, sizeof what, ":depth%jd", (intmax_t)o);
        int taps = depth_taps(l, op, from, o);
        parts[o] = taps < 0     ? -1
                   : depth == 1 ? ad_lower_result(l, op->output, AD_NHWC)
                                : ad_lower_value(l, out.name, what, 4, dims, AD_NHWC);
        struct ad_op *conv = parts[o] < 0 ? NULL
                                          : ad_lower_op(l, op, AD_OP_CONV, l->values[parts[o]].name,
                                                        op->type, 1, &taps, parts[o]);
        if (!conv)
            return false;
        conv->weight = weight;
        conv->bias = bias;
    }
    int result = depth == 1 ? parts[0] : ad_lower_result(l, op->output, AD_NHWC);
    return result >= 0 && (depth == 1 || ad_lower_join(l, NULL, op->type, parts, depth, result));
}

/* Whether a pool also pools along height or width. */
static bool pools_maps(const struct ad_window *w)
{
    return w->kh > 1 || w->kw > 1 || w->sh > 1 || w->sw > 1 || w->pt + w->pb > 0 ||
           w->pl + w->pr > 0;
}

/* The pool of every depth's map: `from` itself, or a value of this name. */
static int pooled_maps(struct ad_draft_lowering *l, const struct ad_draft_op *op,
                       enum ad_op_kind kind, int from)
{
    const struct ad_draft_value *d = &l->draft->values[op->output];
    const struct ad_draft_op bare = ad_lower_bare(op);
    const struct ad_box size = {d->dims[0], d->dims[3], d->dims[4], 0};
    if (!pools_maps(&op->window))
        return from;
    int out = map_value(l, d->name, ":maps", size, l->values[from].box.c);
    return out >= 0 && ad_lower_op(l, &bare, kind, op->name, op->type, 1, &from, out) ? out : -1;
}

/* The largest of the depths that output depth o reads. */
static int largest_depth(struct ad_draft_lowering *l, const struct ad_draft_op *op,
                         const int *depths, int64_t count, int64_t o)
{
    const struct ad_depth *d = &op->depth;
    const char *name = l->draft->values[op->output].name;
    int most = -1;
    for (int64_t t = 0; t < d->k; t++) {
        int64_t at = o * d->s - d->front + t * d->d;
        if (at < 0 || at >= count)
            continue;
        const int pair[2] = {most, depths[at]};
        if (most >= 0) {
            const struct ad_box box = l->values[most].box;
            most = map_value(l, name, ":larger", box, box.c);
            if (most < 0 ||
                !ad_lower_op(l, NULL, AD_OP_MAX, l->values[most].name, op->type, 2, pair, most))
                return -1;
        } else {
            most = depths[at];
        }
    }
    if (most < 0)
        ad_error_set(l->err, ADAPS_EINPUT,
                     "%s: node '%s' (%s): a window lies in the padding of the depth alone",
                     l->draft->model->path, op->name, op->type);
    return most;
}

bool ad_lower_maxpool_depth(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    const struct ad_draft_value in = l->draft->values[op->inputs[0]];
    const struct ad_draft_value out = l->draft->values[op->output];
    int64_t c = in.dims[1], count = in.dims[2], depth = out.dims[2];
    int *depths = ad_lower_indices(l, count);
    int *parts = depths ? ad_lower_indices(l, depth) : NULL;
    int from = parts ? ad_lower_get(l, op->inputs[0], AD_NHWC) : -1;
    from = from < 0 ? -1 : pooled_maps(l, op, AD_OP_MAXPOOL, from);
    if (from < 0)
        return false;
    for (int64_t i = 0; i < count; i++)
        if ((depths[i] = ad_lower_channels(l, out.name, from, i * c, c)) < 0)
            return false;
    for (int64_t o = 0; o < depth; o++)
        if ((parts[o] = largest_depth(l, op, depths, count, o)) < 0)
            return false;
    int result = ad_lower_result(l, op->output, AD_NHWC);
    return result >= 0 && ad_lower_join(l, op, op->type, parts, depth, result);
}

bool ad_lower_lrn_depth(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    const struct ad_draft_value out = l->draft->values[op->output];
    int64_t c = out.dims[1], depth = out.dims[2];
    int *parts = ad_lower_indices(l, depth);
    int from = parts ? ad_lower_get(l, op->inputs[0], AD_NHWC) : -1;
    if (from < 0)
        return false;
    for (int64_t i = 0; i < depth; i++) {
        int in = ad_lower_channels(l, out.name, from, i * c, c);
        parts[i] = in < 0 ? -1 : map_value(l, out.name, ":normal", l->values[in].box, c);
        if (parts[i] < 0 || !ad_lower_op(l, op, AD_OP_LRN, op->name, op->type, 1, &in, parts[i]))
            return false;
    }
    int result = ad_lower_result(l, op->output, AD_NHWC);
    return result >= 0 && ad_lower_join(l, NULL, op->type, parts, depth, result);
}

/* The factors of a mean over depth: for channel c and output depth o one for each input depth. */
static int mean_weights(struct ad_draft_lowering *l, const struct ad_draft_op *op, int64_t channels,
                        int64_t count, int64_t depth)
{
    struct ad_depth d = op->depth;
    if (op->kind == AD_D_GAP)
        d = (struct ad_depth){.k = (int32_t)count, .s = 1};
    float *to;
    int weight = ad_lower_weight(l, op->name, channels * depth, count, &to);
    for (int64_t i = 0; i < channels * depth && weight >= 0; i++) {
        int64_t first = i % depth * d.s - d.front, end = first + d.k;
        int64_t lo = first > 0 ? first : 0, hi = end < count ? end : count;
        int64_t counted = hi - lo;
        if (op->count_include_pad)
            counted = (end < count + d.real_back ? end : count + d.real_back) - first;
        for (int64_t k = 0; k < count; k++)
            *to++ = k >= lo && k < hi ? (float)(1.0 / (double)counted) : 0;
    }
    return weight;
}

bool ad_lower_means_depth(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    const struct ad_draft_value in = l->draft->values[op->inputs[0]];
    const struct ad_draft_value out = l->draft->values[op->output];
    int64_t c = in.dims[1], count = in.dims[2], depth = out.dims[2];
    const struct ad_draft_op bare = ad_lower_bare(op);
    int from = ad_lower_get(l, op->inputs[0], AD_NHWC);
    if (from >= 0 && op->kind == AD_D_GAP) {
        int mean = map_value(l, out.name, ":maps", (struct ad_box){in.dims[0], 1, 1, 0}, c * count);
        from = mean >= 0 && ad_lower_gap(l, &bare, from, mean) ? mean : -1;
    } else if (from >= 0) {
        from = pooled_maps(l, op, AD_OP_AVGPOOL, from);
    }
    from = from < 0 ? -1 : ad_lower_swap(l, out.name, from, count, c, 1);
    int weight = from < 0 ? -1 : mean_weights(l, op, c, count, depth);
    bool swaps = c > 1 && depth > 1;
    int mean = weight < 0 ? -1
               : swaps    ? map_value(l, out.name, ":means", l->values[from].box, c * depth)
                          : ad_lower_result(l, op->output, AD_NHWC);
    struct ad_op *conv =
        mean < 0 ? NULL : ad_lower_op(l, op, AD_OP_CONV, op->name, op->type, 1, &from, mean);
    if (!conv)
        return false;
    conv->window = (struct ad_window){.kh = 1, .kw = 1, .sh = 1, .sw = 1, .dh = 1, .dw = 1};
    conv->groups = (int32_t)c;
    conv->count_include_pad = false;
    conv->weight = weight;
    if (!swaps)
        return true;
    int ordered = ad_lower_swap(l, out.name, mean, c, depth, 1);
    int result = ordered < 0 ? -1 : ad_lower_result(l, op->output, AD_NHWC);
    return result >= 0 && ad_lower_reshape(l, ordered, result) >= 0;
}

/* --- operands of elementwise ops --- */

/* The dims of an operand as rank 5, by leading dims of 1. */
static void wide_dims(const struct ad_draft_value *v, int64_t dims[5])
{
    for (int i = 0; i < 5; i++)
        dims[i] = i < 5 - v->rank ? 1 : v->dims[i - (5 - v->rank)];
}

bool ad_lower_fits_depth(const struct ad_draft_lowering *l, int operand, int out)
{
    const struct ad_draft_value *v = &l->draft->values[operand], *to = &l->draft->values[out];
    int64_t dims[5];
    wide_dims(v, dims);
    bool one = dims[1] == 1 && dims[2] == 1, same = dims[1] == to->dims[1];
    if (v->constant)
        return one ||
               v->elements / (dims[1] * dims[2]) * to->dims[1] * to->dims[2] <= l->draft->fold_left;
    bool repeats = same && dims[2] == 1 && to->dims[2] <= l->draft->pieces_left;
    return v->rank == 5 && (one || repeats || (same && dims[2] == to->dims[2]));
}

int ad_lower_operand_depth(struct ad_draft_lowering *l, int operand, int out)
{
    const struct ad_draft_value *v = &l->draft->values[operand], *to = &l->draft->values[out];
    int64_t dims[5], depth = to->dims[2];
    wide_dims(v, dims);
    bool one = dims[1] == 1 && dims[2] == 1;
    if (v->constant) {
        dims[1] = one ? 1 : to->dims[1];
        dims[2] = one ? 1 : depth;
        l->draft->fold_left -= dims[0] * dims[1] * dims[2] * dims[3] * dims[4];
        int weight = ad_lower_stretched(l, operand, dims);
        int value = weight < 0 ? -1 : ad_lower_value(l, v->name, ":maps", 5, dims, AD_NHWC);
        if (value >= 0)
            l->values[value].constant = weight;
        return value;
    }
    int from = ad_lower_get(l, operand, AD_NHWC);
    if (from < 0 || one || dims[2] == depth)
        return from;
    int *parts = ad_lower_indices(l, depth);
    if (!parts)
        return -1;
    l->draft->pieces_left -= (int)depth;
    for (int64_t i = 0; i < depth; i++)
        parts[i] = from;
    int repeated = map_value(l, v->name, ":repeated", l->values[from].box, dims[1] * depth);
    return repeated >= 0 && ad_lower_join(l, NULL, "Expand", parts, depth, repeated) ? repeated
                                                                                     : -1;
}
