/* Operators that only re-label or move elements, Concat, Softmax. */
#include "import/internal.h"

#include <inttypes.h>
#include <string.h>

#define MAX_REPEATS 256 /* of a Tile along an axis, at run time */

enum adaps_status ad_import_identity(struct ad_node *node, struct adaps_error *err)
{
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        ad_node_set(node, node->inputs[0]);
    return status;
}

enum adaps_status ad_import_dropout(struct ad_node *node, struct adaps_error *err)
{
    const struct ad_onnx_tensor *training, *ratio;
    enum adaps_status status = ad_node_arity(node, 1, 3, err);
    if (status == ADAPS_OK && ad_node_has(node, 2)) {
        bool drops = true; /* PyTorch's Swin is exported in training mode with nothing to drop */
        status = ad_node_ints(node, 2, "training_mode", &training, err);
        if (status == ADAPS_OK && ad_node_has(node, 1)) {
            status = ad_node_floats(node, 1, "ratio", &ratio, err);
            drops = status == ADAPS_OK && (ratio->count != 1 || ratio->f[0] != 0);
        }
        if (status == ADAPS_OK && drops && (training->count != 1 || training->i[0] != 0))
            return ad_node_fail(node, err, "training_mode is not supported");
    }
    if (status == ADAPS_OK)
        ad_node_set(node, node->inputs[0]);
    return status;
}

/* Output 0 is input 0 with other dims. */
static enum adaps_status relabel(struct ad_node *node, int rank, const int64_t *dims,
                                 struct adaps_error *err)
{
    int out;
    enum adaps_status status = ad_draft_reshape(node, node->inputs[0], rank, dims, &out, err);
    if (status == ADAPS_OK)
        ad_node_set(node, out);
    return status;
}

enum adaps_status ad_import_reshape(struct ad_node *node, struct adaps_error *err)
{
    const struct ad_onnx_tensor *shape;
    int64_t allow_zero, dims[AD_MAX_RANK] = {0};
    enum adaps_status status = ad_node_arity(node, 2, 2, err);
    if (status == ADAPS_OK)
        status = ad_node_ints(node, 1, "shape", &shape, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "allowzero", 0, &allow_zero, err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_value *in = ad_node_input(node, 0);
    if (shape->count > AD_MAX_RANK)
        return ad_node_fail(node, err, "a shape of rank %zu: at most %d is supported", shape->count,
                            AD_MAX_RANK);
    int rank = (int)shape->count, open = -1;
    int64_t known = 1;
    for (int i = 0; i < rank; i++) {
        dims[i] = shape->i[i];
        if (dims[i] == 0 && !allow_zero) {
            if (i >= in->rank)
                return ad_node_fail(node, err,
                                    "dimension %d is to be copied from an input of rank "
                                    "%d",
                                    i, in->rank);
            dims[i] = in->dims[i];
        }
        if (dims[i] == -1 && open < 0) {
            open = i;
            continue;
        }
        if (dims[i] < 0 || dims[i] > INT32_MAX || (known > 0 && dims[i] > INT32_MAX / known))
            return ad_node_fail(node, err, "dimension %d of the shape is %" PRId64, i, dims[i]);
        known *= dims[i];
    }
    if (open >= 0 && known > 0 && in->elements % known == 0)
        dims[open] = in->elements / known;
    if (open >= 0 ? dims[open] < 0 : known != in->elements) {
        char wanted[128];
        return ad_node_fail(node, err, "%" PRId64 " elements do not fit the shape %s", in->elements,
                            ad_dims_format(rank, dims, wanted, sizeof wanted));
    }
    return relabel(node, rank, dims, err);
}

enum adaps_status ad_import_flatten(struct ad_node *node, struct adaps_error *err)
{
    int64_t axis;
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "axis", 1, &axis, err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_value *in = ad_node_input(node, 0);
    if (axis < -in->rank || axis > in->rank)
        return ad_node_fail(node, err, "axis %" PRId64 " of a value of rank %d", axis, in->rank);
    if (axis < 0)
        axis += in->rank;
    int64_t dims[] = {1, 1};
    for (int i = 0; i < in->rank; i++)
        dims[i >= axis] *= in->dims[i];
    return relabel(node, 2, dims, err);
}

/* The axes of Squeeze and Unsqueeze: input 1 from opset 13 on, an attribute before. *given is false
 * when there are none. */
static enum adaps_status read_axes(struct ad_node *node, const int64_t **axes, size_t *count,
                                   bool *given, struct adaps_error *err)
{
    *axes = NULL;
    *count = 0;
    *given = false;
    enum adaps_status status = ad_node_arity(node, 1, node->opset < 13 ? 1 : 2, err);
    if (status == ADAPS_OK && node->opset < 13) {
        *given = ad_onnx_attribute(node->proto, "axes") != NULL;
        return ad_node_prefix(node, ad_onnx_attr_ints(node->proto, "axes", axes, count, err), err);
    }
    if (status != ADAPS_OK || !ad_node_has(node, 1))
        return status;
    const struct ad_onnx_tensor *t;
    status = ad_node_ints(node, 1, "axes", &t, err);
    if (status == ADAPS_OK) {
        *given = true;
        *axes = t->i;
        *count = t->count;
    }
    return status;
}

/* A bit for each axis in the list, for a result of rank `rank`. */
static enum adaps_status axes_mask(struct ad_node *node, const int64_t *axes, size_t count,
                                   int rank, unsigned *mask, struct adaps_error *err)
{
    *mask = 0;
    for (size_t i = 0; i < count; i++) {
        int axis;
        enum adaps_status status = ad_node_axis(node, axes[i], rank, &axis, err);
        if (status != ADAPS_OK)
            return status;
        if (*mask >> axis & 1)
            return ad_node_fail(node, err, "axis %d is named twice", axis);
        *mask |= 1u << axis;
    }
    return ADAPS_OK;
}

enum adaps_status ad_import_squeeze(struct ad_node *node, struct adaps_error *err)
{
    const int64_t *axes;
    size_t count;
    bool given;
    unsigned mask;
    enum adaps_status status = read_axes(node, &axes, &count, &given, err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_value *in = ad_node_input(node, 0);
    status = axes_mask(node, axes, count, in->rank, &mask, err);
    if (status != ADAPS_OK)
        return status;
    int64_t dims[AD_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < in->rank; i++) {
        bool drop = given ? mask >> i & 1 : in->dims[i] == 1;
        if (drop && in->dims[i] != 1)
            return ad_node_fail(node, err, "dimension %d is %" PRId64 ", not 1", i, in->dims[i]);
        if (!drop)
            dims[rank++] = in->dims[i];
    }
    return relabel(node, rank, dims, err);
}

enum adaps_status ad_import_unsqueeze(struct ad_node *node, struct adaps_error *err)
{
    const int64_t *axes;
    size_t count;
    bool given;
    unsigned mask;
    enum adaps_status status = read_axes(node, &axes, &count, &given, err);
    if (status != ADAPS_OK)
        return status;
    if (!given)
        return ad_node_fail(node, err, "it has no axes");
    const struct ad_draft_value *in = ad_node_input(node, 0);
    if (count > AD_MAX_RANK || in->rank + (int)count > AD_MAX_RANK)
        return ad_node_fail(node, err, "%zu axes more than rank %d: at most rank %d is supported",
                            count, in->rank, AD_MAX_RANK);
    int rank = in->rank + (int)count, next = 0;
    status = axes_mask(node, axes, count, rank, &mask, err);
    if (status != ADAPS_OK)
        return status;
    int64_t dims[AD_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i] = mask >> i & 1 ? 1 : in->dims[next++];
    return relabel(node, rank, dims, err);
}

enum adaps_status ad_import_transpose(struct ad_node *node, struct adaps_error *err)
{
    const int64_t *items;
    size_t count;
    unsigned mask;
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status =
            ad_node_prefix(node, ad_onnx_attr_ints(node->proto, "perm", &items, &count, err), err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_value *in = ad_node_input(node, 0);
    int32_t perm[AD_MAX_RANK] = {0};
    for (int i = 0; i < in->rank; i++)
        perm[i] = in->rank - 1 - i;
    if (ad_onnx_attribute(node->proto, "perm")) {
        if (count != (size_t)in->rank)
            return ad_node_fail(node, err, "perm has %zu numbers for rank %d", count, in->rank);
        status = axes_mask(node, items, count, in->rank, &mask, err);
        if (status != ADAPS_OK)
            return status;
        for (int i = 0; i < in->rank; i++)
            perm[i] = (int32_t)(items[i] < 0 ? items[i] + in->rank : items[i]);
    }
    int out;
    status = in->constant ? ad_fold_transpose(node, node->inputs[0], perm, &out, err)
                          : ad_draft_transpose(node, node->inputs[0], perm, &out, err);
    if (status == ADAPS_OK)
        ad_node_set(node, out);
    return status;
}

static enum adaps_status concat_dims(struct ad_node *node, int axis, int64_t *dims,
                                     struct adaps_error *err)
{
    const struct ad_draft_value *first = ad_node_input(node, 0);
    memcpy(dims, first->dims, sizeof first->dims);
    for (int k = 1; k < node->ninputs; k++) {
        const struct ad_draft_value *v = ad_node_input(node, k);
        bool fits = v->rank == first->rank;
        for (int i = 0; fits && i < v->rank; i++)
            fits = i == axis || v->dims[i] == first->dims[i];
        if (!fits) {
            char x[128], y[128];
            return ad_node_fail(node, err, "operands '%s' (%s) and '%s' (%s) differ beyond axis %d",
                                first->name, ad_dims_format(first->rank, first->dims, x, sizeof x),
                                v->name, ad_dims_format(v->rank, v->dims, y, sizeof y), axis);
        }
        if (v->dims[axis] > INT32_MAX - dims[axis])
            return ad_node_fail(node, err, "the result has more than 2^31 elements");
        dims[axis] += v->dims[axis];
    }
    return ADAPS_OK;
}

/* Inputs of no elements (only constants may be such) add nothing. */
static void drop_empty(struct ad_node *node, int axis)
{
    int count = 0;
    for (int k = 0; k < node->ninputs; k++)
        if (ad_node_input(node, k)->dims[axis] > 0)
            node->inputs[count++] = node->inputs[k];
    node->ninputs = count;
}

enum adaps_status ad_import_concat(struct ad_node *node, struct adaps_error *err)
{
    int64_t axis, dims[AD_MAX_RANK];
    int at;
    enum adaps_status status = ad_node_arity(node, node->ninputs, INT32_MAX, err);
    if (status == ADAPS_OK && node->ninputs == 0)
        return ad_node_fail(node, err, "it has no inputs");
    if (status == ADAPS_OK && !ad_onnx_attribute(node->proto, "axis"))
        return ad_node_fail(node, err, "attribute 'axis' is missing");
    if (status == ADAPS_OK)
        status = ad_node_int(node, "axis", 0, &axis, err);
    if (status == ADAPS_OK)
        status = ad_node_axis(node, axis, ad_node_input(node, 0)->rank, &at, err);
    if (status == ADAPS_OK)
        status = concat_dims(node, at, dims, err);
    if (status != ADAPS_OK)
        return status;
    bool folds = true;
    for (int k = 0; k < node->ninputs; k++)
        folds = folds && ad_node_constant(node, k);
    if (folds)
        return ad_fold_concat(node, at, err);
    for (int k = 0; k < node->ninputs; k++)
        if (ad_node_constant(node, k)) {
            const struct ad_onnx_tensor *t;
            status = ad_node_floats(node, k, "operand", &t, err);
            if (status != ADAPS_OK)
                return status;
        }
    drop_empty(node, at);
    if (node->ninputs == 1) {
        ad_node_set(node, node->inputs[0]);
        return ADAPS_OK;
    }
    struct ad_draft_op *op;
    status = ad_draft_op(node, AD_D_CONCAT, node->ninputs, node->inputs,
                         ad_node_input(node, 0)->rank, dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->axis = at;
    ad_node_set(node, op->output);
    return ADAPS_OK;
}

/* A value joined with itself, `times` times. */
static enum adaps_status repeat(struct ad_node *node, int axis, int64_t times, int *value,
                                struct adaps_error *err)
{
    struct ad_draft_value in = node->draft->values[*value];
    int *copies = ad_arena_alloc(&node->draft->arena, (size_t)times, sizeof *copies);
    struct ad_draft_op *op;
    if (!copies)
        return ad_error_memory(err, "operands", (size_t)times * sizeof *copies);
    for (int64_t i = 0; i < times; i++)
        copies[i] = *value;
    in.dims[axis] *= times;
    enum adaps_status status =
        ad_draft_op(node, AD_D_CONCAT, (int)times, copies, in.rank, in.dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->axis = axis;
    *value = op->output;
    return ADAPS_OK;
}

enum adaps_status ad_import_tile(struct ad_node *node, struct adaps_error *err)
{
    const struct ad_onnx_tensor *repeats;
    enum adaps_status status = ad_node_arity(node, 2, 2, err);
    if (status == ADAPS_OK)
        status = ad_node_ints(node, 1, "repeats", &repeats, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_value in = *ad_node_input(node, 0);
    int value = node->inputs[0];
    if (repeats->count != (size_t)in.rank)
        return ad_node_fail(node, err, "%zu repeats for rank %d", repeats->count, in.rank);
    for (int i = 0; i < in.rank; i++)
        if (repeats->i[i] < 1 || (repeats->i[i] > MAX_REPEATS && !in.constant) ||
            repeats->i[i] > INT32_MAX)
            return ad_node_fail(node, err, "%" PRId64 " times along axis %d: 1 to %d are supported",
                                repeats->i[i], i, MAX_REPEATS);
    if (in.constant)
        status = ad_fold_tile(node, value, repeats->i, &value, err);
    for (int i = 0; i < in.rank && status == ADAPS_OK && !in.constant; i++)
        if (repeats->i[i] > 1)
            status = repeat(node, i, repeats->i[i], &value, err);
    if (status == ADAPS_OK)
        ad_node_set(node, value);
    return status;
}

enum adaps_status ad_import_softmax(struct ad_node *node, struct adaps_error *err)
{
    int64_t axis;
    int at = 0;
    bool flatten = node->opset < 13;
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "axis", flatten ? 1 : -1, &axis, err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_value *in = ad_node_input(node, 0);
    int64_t dims[AD_MAX_RANK];
    memcpy(dims, in->dims, sizeof dims);
    int rank = in->rank, value = node->inputs[0];
    if (flatten && axis == rank)
        return ad_node_fail(node, err, "axis %" PRId64 " of a value of rank %d", axis, rank);
    if (rank > 0)
        status = ad_node_axis(node, axis, rank, &at, err);
    if (status != ADAPS_OK)
        return status;
    /* Neither the last dim nor channels of a feature map: transposed, so that it is the last. */
    bool moved = !flatten && rank > 0 && at != rank - 1 && !(rank == 4 && at == 1);
    int32_t perm[AD_MAX_RANK] = {0};
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    if (moved) {
        perm[at] = rank - 1;
        perm[rank - 1] = at;
        status = ad_draft_transpose(node, value, perm, &value, err);
        if (status != ADAPS_OK)
            return status;
        memcpy(dims, node->draft->values[value].dims, sizeof dims);
    }
    struct ad_draft_op *op;
    status = ad_draft_op(node, AD_D_SOFTMAX, 1, &value, rank, dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->axis = moved ? rank - 1 : at;
    op->flatten = flatten;
    value = op->output;
    if (moved)
        status = ad_draft_transpose(node, value, perm, &value, err);
    if (status == ADAPS_OK)
        ad_node_set(node, value);
    return status;
}

/* SpaceToDepth and DepthToSpace: a feature map and a block that fits. */
static enum adaps_status read_block(struct ad_node *node, int64_t *block, struct adaps_error *err)
{
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    if (status == ADAPS_OK && !ad_onnx_attribute(node->proto, "blocksize"))
        return ad_node_fail(node, err, "attribute 'blocksize' is missing");
    if (status == ADAPS_OK)
        status = ad_node_int(node, "blocksize", 1, block, err);
    if (status != ADAPS_OK)
        return status;
    if (ad_node_input(node, 0)->rank != 4)
        return ad_node_fail(node, err, "its input is of rank %d: only rank 4 is supported",
                            ad_node_input(node, 0)->rank);
    if (*block < 1 || *block > AD_MAX_BLOCK)
        return ad_node_fail(node, err, "blocksize %" PRId64 ": 1 to %d are supported", *block,
                            AD_MAX_BLOCK);
    return ADAPS_OK;
}

enum adaps_status ad_import_depth_to_space(struct ad_node *node, struct adaps_error *err)
{
    int64_t block;
    char mode[8];
    enum adaps_status status = read_block(node, &block, err);
    if (status == ADAPS_OK)
        status = ad_node_prefix(
            node, ad_onnx_attr_string(node->proto, "mode", "DCR", mode, sizeof mode, err), err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_value *in = ad_node_input(node, 0);
    bool major = strcmp(mode, "CRD") == 0;
    if (!major && strcmp(mode, "DCR") != 0)
        return ad_node_fail(node, err, "mode '%s' is unknown", mode);
    if (in->dims[1] % (block * block) != 0)
        return ad_node_fail(
            node, err, "%" PRId64 " channels are no multiple of blocks of %" PRId64 "x%" PRId64,
            in->dims[1], block, block);
    if (block == 1) {
        ad_node_set(node, node->inputs[0]);
        return ADAPS_OK;
    }
    int64_t dims[] = {in->dims[0], in->dims[1] / (block * block), in->dims[2] * block,
                      in->dims[3] * block};
    struct ad_draft_op *op;
    status = ad_draft_op(node, AD_D_DEPTH_TO_SPACE, 1, node->inputs, 4, dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->block = (int32_t)block;
    op->channel_major = major;
    ad_node_set(node, op->output);
    return ADAPS_OK;
}

enum adaps_status ad_import_space_to_depth(struct ad_node *node, struct adaps_error *err)
{
    int64_t block;
    enum adaps_status status = read_block(node, &block, err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_value *in = ad_node_input(node, 0);
    if (in->dims[2] % block != 0 || in->dims[3] % block != 0)
        return ad_node_fail(node, err,
                            "blocksize %" PRId64 " does not divide height %" PRId64
                            " and width %" PRId64,
                            block, in->dims[2], in->dims[3]);
    if (block == 1) {
        ad_node_set(node, node->inputs[0]);
        return ADAPS_OK;
    }
    int64_t dims[] = {in->dims[0], in->dims[1] * block * block, in->dims[2] / block,
                      in->dims[3] / block};
    struct ad_draft_op *op;
    status = ad_draft_op(node, AD_D_SPACE_TO_DEPTH, 1, node->inputs, 4, dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    op->block = (int32_t)block;
    ad_node_set(node, op->output);
    return ADAPS_OK;
}
