/* Slices, splits and padding: one AD_D_RESAMPLE each, with positions along every dim. */
#include "import/internal.h"

#include <inttypes.h>
#include <string.h>

#define MAX_PADDING (1 << 20)
#define MAX_RUNS 64 /* pieces of one Gather */

enum adaps_status ad_draft_resample(struct ad_node *node, int value, const int64_t *dims,
                                    const struct ad_positions *positions, struct ad_draft_op **out,
                                    struct adaps_error *err)
{
    struct ad_draft_value in = node->draft->values[value];
    bool same = true;
    *out = NULL;
    for (int i = 0; i < in.rank; i++)
        same = same && dims[i] == in.dims[i] && positions[i].start == 0 &&
               (positions[i].step == positions[i].unit || in.dims[i] == 1);
    if (same)
        return ADAPS_OK;
    enum adaps_status status = ad_draft_op(node, AD_D_RESAMPLE, 1, &value, in.rank, dims, out, err);
    if (status == ADAPS_OK)
        memcpy((*out)->positions, positions, (size_t)in.rank * sizeof *positions);
    return status;
}

static void keep_positions(struct ad_positions *positions)
{
    for (int i = 0; i < AD_MAX_RANK; i++)
        positions[i] = ad_in_place;
}

/* --- Slice, Split, Gather, Expand --- */

enum adaps_status ad_draft_slice(struct ad_node *node, int value, const struct ad_slicing *slice,
                                 int *out, struct adaps_error *err)
{
    struct ad_positions positions[AD_MAX_RANK];
    struct ad_draft_op *op;
    for (int i = 0; i < AD_MAX_RANK; i++)
        positions[i] = (struct ad_positions){slice->step[i], slice->start[i], 1};
    enum adaps_status status = ad_draft_resample(node, value, slice->count, positions, &op, err);
    *out = op ? op->output : value;
    return status;
}

/* num_outputs says how many parts there are; it does not go with lengths. */
static enum adaps_status check_parts(struct ad_node *node, size_t parts, bool lengths,
                                     struct adaps_error *err)
{
    int64_t count;
    if (!ad_onnx_attribute(node->proto, "num_outputs"))
        return ADAPS_OK;
    enum adaps_status status = ad_node_int(node, "num_outputs", 0, &count, err);
    if (status == ADAPS_OK && lengths)
        return ad_node_fail(
            node, err, "it has both lengths and num_outputs %" PRId64 ": one of them is allowed",
            count);
    if (status == ADAPS_OK && count != (int64_t)parts)
        return ad_node_fail(node, err, "num_outputs %" PRId64 ", but it has %zu outputs", count,
                            parts);
    return status;
}

/* The lengths of a Split's parts: an attribute before opset 13, input 1 from then on, else as equal
 * as possible. */
static enum adaps_status split_lengths(struct ad_node *node, int64_t dim, int64_t *lengths,
                                       struct adaps_error *err)
{
    size_t parts = node->proto->n_output, count = 0;
    const int64_t *items = NULL;
    const struct ad_onnx_tensor *t;
    int64_t sum = 0, piece = (dim + (int64_t)parts - 1) / (int64_t)parts;
    enum adaps_status status = ADAPS_OK;
    if (node->opset < 13) {
        status =
            ad_node_prefix(node, ad_onnx_attr_ints(node->proto, "split", &items, &count, err), err);
    } else if (ad_node_has(node, 1)) {
        status = ad_node_ints(node, 1, "split", &t, err);
        if (status == ADAPS_OK) {
            items = t->i;
            count = t->count;
        }
    }
    if (status == ADAPS_OK)
        status = check_parts(node, parts, count > 0, err);
    if (status != ADAPS_OK)
        return status;
    if (count > 0 && count != parts)
        return ad_node_fail(node, err, "%zu lengths for %zu outputs", count, parts);
    for (size_t k = 0; k < parts; k++) {
        lengths[k] = count > 0 ? items[k] : k + 1 < parts ? piece : dim - sum;
        if (lengths[k] < 1 || lengths[k] > dim - sum)
            return ad_node_fail(node, err,
                                "part %zu of %" PRId64 " elements of a dimension of %" PRId64, k,
                                lengths[k], dim);
        sum += lengths[k];
    }
    return sum == dim
               ? ADAPS_OK
               : ad_node_fail(node, err, "parts of %" PRId64 " elements of %" PRId64, sum, dim);
}

enum adaps_status ad_import_split(struct ad_node *node, struct adaps_error *err)
{
    int64_t axis, lengths[256];
    int at;
    size_t parts = node->proto->n_output;
    enum adaps_status status = ad_node_arity(node, 1, 2, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "axis", 0, &axis, err);
    if (status == ADAPS_OK)
        status = ad_node_axis(node, axis, ad_node_input(node, 0)->rank, &at, err);
    if (status != ADAPS_OK)
        return status;
    if (parts > sizeof lengths / sizeof *lengths)
        return ad_node_fail(node, err, "%zu outputs: at most 256 are supported", parts);
    struct ad_draft_value in = *ad_node_input(node, 0);
    status = split_lengths(node, in.dims[at], lengths, err);
    struct ad_slicing slice;
    for (int i = 0; i < AD_MAX_RANK; i++) {
        slice.start[i] = 0;
        slice.step[i] = 1;
        slice.count[i] = in.dims[i];
    }
    for (size_t k = 0; k < parts && status == ADAPS_OK; k++) {
        int out;
        slice.count[at] = lengths[k];
        status = in.constant ? ad_fold_slice(node, node->inputs[0], &slice, &out, err)
                             : ad_draft_slice(node, node->inputs[0], &slice, &out, err);
        slice.start[at] += lengths[k];
        if (status == ADAPS_OK)
            ad_node_set_output(node, k, out);
    }
    return status;
}

/* Indices [from, to) of a list go up or down by the same step: the end of the longest such run. */
static size_t run_end(const int64_t *indices, size_t from, size_t count)
{
    size_t end = from + 1;
    while (end < count &&
           (end < from + 2 || indices[end] - indices[end - 1] == indices[from + 1] - indices[from]))
        end++;
    return end;
}

/* The elements of a run-time value at these indices (not negative) along an axis: one slice for
 * each run of indices, and a concatenation where there are several. */
enum adaps_status ad_draft_gather(struct ad_node *node, int value, int axis, const int64_t *indices,
                                  size_t count, int *out, struct adaps_error *err)
{
    struct ad_draft_value in = node->draft->values[value];
    struct ad_slicing slice;
    int parts[MAX_RUNS], n = 0;
    for (int i = 0; i < AD_MAX_RANK; i++) {
        slice.start[i] = 0;
        slice.step[i] = 1;
        slice.count[i] = in.dims[i];
    }
    for (size_t from = 0, end; from < count; from = end) {
        end = run_end(indices, from, count);
        if (n == MAX_RUNS)
            return ad_node_fail(node, err, "its indices are more than %d slices", MAX_RUNS);
        slice.start[axis] = indices[from];
        slice.count[axis] = (int64_t)(end - from);
        slice.step[axis] = end - from > 1 ? indices[from + 1] - indices[from] : 1;
        enum adaps_status status = ad_draft_slice(node, value, &slice, &parts[n++], err);
        if (status != ADAPS_OK)
            return status;
    }
    if (n == 0)
        return ad_node_fail(node, err, "it has no indices");
    *out = parts[0];
    if (n == 1)
        return ADAPS_OK;
    struct ad_draft_op *op;
    in.dims[axis] = (int64_t)count;
    enum adaps_status status = ad_draft_op(node, AD_D_CONCAT, n, parts, in.rank, in.dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->axis = axis;
    *out = op->output;
    return ADAPS_OK;
}

enum adaps_status ad_import_expand(struct ad_node *node, struct adaps_error *err)
{
    const struct ad_onnx_tensor *shape;
    struct ad_positions positions[AD_MAX_RANK];
    enum adaps_status status = ad_node_arity(node, 2, 2, err);
    if (status == ADAPS_OK)
        status = ad_node_ints(node, 1, "shape", &shape, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_value in = *ad_node_input(node, 0), to = {.rank = (int)shape->count};
    int rank, value = node->inputs[0];
    int64_t dims[AD_MAX_RANK], own[AD_MAX_RANK];
    if (shape->count > AD_MAX_RANK)
        return ad_node_fail(node, err, "a shape of rank %zu: at most %d is supported", shape->count,
                            AD_MAX_RANK);
    memcpy(to.dims, shape->i, shape->count * sizeof *to.dims);
    for (int i = 0; i < to.rank; i++)
        if (to.dims[i] < 1)
            return ad_node_fail(node, err, "dimension %d of the shape is %" PRId64, i, to.dims[i]);
    if (!ad_broadcast_dims(&in, &to, &rank, dims))
        return ad_node_fail(node, err, "the shape does not fit its input '%s'", in.name);
    if (in.constant)
        return ad_fold_expand(node, rank, dims, err);
    keep_positions(positions);
    for (int i = 0; i < rank; i++) {
        own[i] = i < rank - in.rank ? 1 : in.dims[i - (rank - in.rank)];
        if (own[i] != dims[i])
            positions[i].step = 0;
    }
    status = ad_draft_reshape(node, value, rank, own, &value, err);
    struct ad_draft_op *op = NULL;
    if (status == ADAPS_OK)
        status = ad_draft_resample(node, value, dims, positions, &op, err);
    if (status == ADAPS_OK)
        ad_node_set(node, op ? op->output : value);
    return status;
}

/* --- Pad --- */

/* Padding with what is at the other end: the elements by index, again and again. */
static enum adaps_status pad_around(struct ad_node *node, const int64_t *pads,
                                    struct adaps_error *err)
{
    int value = node->inputs[0];
    const struct ad_draft_value in = *ad_node_input(node, 0);
    for (int i = 0; i < in.rank; i++) {
        int64_t before = pads[i], after = pads[in.rank + i], dim = in.dims[i];
        int64_t count = before + dim + after;
        if (before == 0 && after == 0)
            continue;
        if (before < 0 || after < 0)
            return ad_node_fail(node, err,
                                "padding of %" PRId64 " and %" PRId64
                                " of dimension %d: mode 'wrap' takes away nothing",
                                before, after, i);
        int64_t *indices = ad_arena_alloc(&node->draft->arena, (size_t)count, sizeof *indices);
        if (!indices)
            return ad_error_memory(err, "indices", (size_t)count * sizeof *indices);
        for (int64_t k = 0; k < count; k++)
            indices[k] = (k + dim - before % dim) % dim;
        enum adaps_status status =
            ad_draft_gather(node, value, i, indices, (size_t)count, &value, err);
        if (status != ADAPS_OK)
            return status;
    }
    ad_node_set(node, value);
    return ADAPS_OK;
}

enum adaps_status ad_draft_pad(struct ad_node *node, const char *mode, float value,
                               const int64_t *pads, struct adaps_error *err)
{
    static const char *const modes[] = {"constant", "edge", "reflect"};
    static const enum ad_edge edges[] = {AD_EDGE_FILL, AD_EDGE_REPEAT, AD_EDGE_REFLECT};
    struct ad_draft_value in = *ad_node_input(node, 0);
    struct ad_positions positions[AD_MAX_RANK];
    int64_t dims[AD_MAX_RANK];
    int edge = 0;
    if (strcmp(mode, "wrap") == 0)
        return pad_around(node, pads, err);
    while (edge < 3 && strcmp(mode, modes[edge]) != 0)
        edge++;
    if (edge == 3)
        return ad_node_fail(node, err, "mode '%s' is not supported", mode);
    keep_positions(positions);
    for (int i = 0; i < in.rank; i++) {
        int64_t before = pads[i], behind = pads[in.rank + i];
        int64_t most = edges[edge] == AD_EDGE_REFLECT ? in.dims[i] - 1 : MAX_PADDING;
        if (before > most || behind > most || before < -in.dims[i] || behind < -in.dims[i])
            return ad_node_fail(node, err,
                                "padding of %" PRId64 " and %" PRId64 " around %" PRId64
                                " elements of dimension %d",
                                before, behind, in.dims[i], i);
        positions[i].start = -before;
        dims[i] = in.dims[i] + before + behind;
    }
    struct ad_draft_op *op;
    enum adaps_status status = ad_draft_resample(node, node->inputs[0], dims, positions, &op, err);
    if (status != ADAPS_OK)
        return status;
    if (op) {
        op->edge = edges[edge];
        op->fill = value + 0.0f; /* -0 as +0: a plan file does not tell them apart */
    }
    ad_node_set(node, op ? op->output : node->inputs[0]);
    return ADAPS_OK;
}
