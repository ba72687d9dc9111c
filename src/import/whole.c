/* Operators that run whole on one device (ir/whole.h): what has no other form, and every operator
 * on integers, booleans, and values whose length only the run knows. */
#include "import/whole_form.h"

#include <inttypes.h>
#include <string.h>

#define LONGEST INT32_MAX /* what ONNX means by "as many as there are" */

/* --- one function per shape of attributes; f->inputs are those of the node --- */

typedef enum adaps_status fill_fn(struct ad_form *f);

static enum adaps_status fill_plain(struct ad_form *f)
{
    return ad_form_finish(f, 0);
}

static enum adaps_status fill_cast(struct ad_form *f)
{
    int64_t to;
    char buf[24];
    enum adaps_status status = ad_node_int(f->node, "to", 0, &to, f->err);
    if (status != ADAPS_OK)
        return status;
    f->to = to > 0 && to <= INT32_MAX ? ad_run_time_type((int32_t)to) : 0;
    if (f->to == 0)
        return ad_node_fail(
            f->node, f->err, "to %s at run time is not supported",
            ad_onnx_type_name(to > INT32_MAX || to < 0 ? -1 : (int32_t)to, buf, sizeof buf));
    return ad_form_finish(f, 0);
}

/* Sum: one addition after the other. */
static enum adaps_status fill_sum(struct ad_form *f)
{
    int pair[2] = {f->inputs[0], -1};
    const int *inputs = f->inputs;
    int n = f->ninputs;
    if (n == 1) {
        ad_node_set(f->node, inputs[0]);
        return ADAPS_OK;
    }
    enum adaps_status status = ADAPS_OK;
    for (int k = 1; k < n && status == ADAPS_OK; k++) {
        pair[1] = inputs[k];
        f->inputs = pair;
        f->ninputs = 2;
        status = ad_form_emit(f, &pair[0]);
    }
    if (status == ADAPS_OK)
        ad_node_set(f->node, pair[0]);
    return status;
}

static enum adaps_status fill_mod(struct ad_form *f)
{
    enum adaps_status status = ad_form_attribute(f, "fmod", 0);
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

static enum adaps_status fill_bitwise(struct ad_form *f)
{
    ad_form_push(f, f->node->type[7] == 'A'   ? 0
                    : f->node->type[7] == 'O' ? 1
                                              : 2); /* BitwiseAnd, Or, Xor */
    return ad_form_finish(f, 0);
}

static enum adaps_status fill_is_inf(struct ad_form *f)
{
    enum adaps_status status = ad_form_attribute(f, "detect_negative", 1);
    if (status == ADAPS_OK)
        status = ad_form_attribute(f, "detect_positive", 1);
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

/* One limit alone is the larger, or the smaller, of two numbers. */
static enum adaps_status fill_clip(struct ad_form *f)
{
    const struct ad_node *node = f->node;
    int inputs[3] = {node->inputs[0]}, n = 1;
    bool low = ad_node_has(node, 1), high = ad_node_has(node, 2);
    if (low)
        inputs[n++] = node->inputs[1];
    if (high)
        inputs[n++] = node->inputs[2];
    if (n == 2)
        f->kind = low ? AD_WHOLE_MAX : AD_WHOLE_MIN;
    f->inputs = inputs;
    f->ninputs = n;
    return ad_form_finish(f, 0);
}

static enum adaps_status fill_reshape(struct ad_form *f)
{
    int64_t allow_zero;
    enum adaps_status status = ad_node_int(f->node, "allowzero", 0, &allow_zero, f->err);
    if (status == ADAPS_OK && ad_form_computed(f, 1))
        return ad_form_reshape_to(f, 1);
    if (status == ADAPS_OK)
        status = ad_form_push_list(f, 1, "shape");
    for (int i = 0; i < f->nints && status == ADAPS_OK && allow_zero; i++)
        if (f->ints[i] == 0)
            return ad_node_fail(f->node, f->err, "a dimension of 0 is not supported");
    f->ninputs = 1;
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

static enum adaps_status fill_squeeze(struct ad_form *f)
{
    bool unsqueeze = f->kind == AD_WHOLE_UNSQUEEZE, given;
    const int64_t *items;
    size_t count;
    enum adaps_status status = ad_form_list(f, 1, "axes", &items, &count);
    int rank = ad_form_input(f, 0)->rank + (unsqueeze ? (int)(count > AD_MAX_RANK ? 0 : count) : 0);
    if (status == ADAPS_OK)
        status = ad_form_axes(f, 1, rank, &given);
    f->ninputs = 1;
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

static enum adaps_status fill_flatten(struct ad_form *f)
{
    int64_t axis;
    int rank = ad_form_input(f, 0)->rank;
    enum adaps_status status = ad_node_int(f->node, "axis", 1, &axis, f->err);
    if (status == ADAPS_OK && (axis < -rank || axis > rank))
        return ad_node_fail(f->node, f->err, "axis %" PRId64 " of a value of rank %d", axis, rank);
    ad_form_push(f, axis < 0 ? axis + rank : axis);
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

static enum adaps_status fill_transpose(struct ad_form *f)
{
    const int64_t *items;
    size_t count;
    int rank = ad_form_input(f, 0)->rank;
    enum adaps_status status = ad_form_list(f, 0, "perm", &items, &count);
    for (int i = 0; i < rank && status == ADAPS_OK && !items; i++)
        ad_form_push(f, rank - 1 - i);
    for (size_t i = 0; i < count && status == ADAPS_OK; i++)
        ad_form_push(f, items[i]);
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

/* An axis of the first input. */
static enum adaps_status fill_axis(struct ad_form *f)
{
    enum adaps_status status =
        ad_form_axis(f, "axis", f->kind == AD_WHOLE_SOFTMAX ? -1 : 0, ad_form_input(f, 0)->rank);
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

/* Without constants that have no elements. */
static enum adaps_status fill_concat(struct ad_form *f)
{
    int n = 0, *inputs = ad_arena_alloc(&f->node->draft->arena, (size_t)f->ninputs, sizeof *inputs);
    if (!inputs)
        return ad_error_memory(f->err, "inputs", (size_t)f->ninputs * sizeof *inputs);
    for (int k = 0; k < f->ninputs; k++)
        if (!ad_node_constant(f->node, k) || ad_form_input(f, k)->elements > 0)
            inputs[n++] = f->inputs[k];
    f->inputs = inputs;
    f->ninputs = n;
    return fill_axis(f);
}

/* n axes, n starts, n ends, n steps; a limit beyond any dim stays beyond it. */
static enum adaps_status fill_slice(struct ad_form *f)
{
    static const char *const names[] = {"axes", "starts", "ends", "steps"};
    static const int from[] = {3, 1, 2, 4};
    const int64_t *items[4];
    size_t counts[4], n;
    enum adaps_status status = ADAPS_OK;
    if (ad_form_computed(f, 1) || ad_form_computed(f, 2))
        return ad_form_slice_by(f);
    for (int i = 0; i < 4 && status == ADAPS_OK; i++)
        status =
            ad_form_list(f, f->node->opset < 10 ? 0 : from[i], names[i], &items[i], &counts[i]);
    if (status != ADAPS_OK)
        return status;
    n = counts[1];
    if (!items[1] || counts[2] != n || n > AD_MAX_RANK || (items[0] && counts[0] != n) ||
        (items[3] && counts[3] != n))
        return ad_node_fail(f->node, f->err, "%zu starts, %zu ends, %zu axes, %zu steps", counts[1],
                            counts[2], counts[0], counts[3]);
    for (size_t i = 0; i < n && status == ADAPS_OK; i++) {
        int axis = 0;
        status = ad_node_axis(f->node, items[0] ? items[0][i] : (int64_t)i,
                              ad_form_input(f, 0)->rank, &axis, f->err);
        ad_form_push(f, axis);
    }
    for (int i = 1; i < 4; i++)
        for (size_t k = 0; k < n; k++)
            ad_form_push(f, items[i] ? items[i][k] : 1);
    f->ninputs = 1;
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

/* A slice for each output. */
static enum adaps_status fill_split(struct ad_form *f)
{
    const int64_t *sizes;
    size_t count, n = f->node->proto->n_output;
    int64_t start = 0;
    enum adaps_status status = ad_form_list(f, 1, "split", &sizes, &count);
    if (status == ADAPS_OK)
        status = ad_form_axis(f, "axis", 0, ad_form_input(f, 0)->rank);
    if (status != ADAPS_OK)
        return status;
    int axis = (int)f->ints[0];
    int64_t length = ad_form_input(f, 0)->dims[axis], part = (length + (int64_t)n - 1) / (int64_t)n;
    if (ad_form_input(f, 0)->open)
        return ad_node_fail(f->node, f->err, "its input has a length that only the run knows");
    if (sizes && count != n)
        return ad_node_fail(f->node, f->err, "%zu sizes for %zu outputs", count, n);
    f->kind = AD_WHOLE_SLICE;
    f->ninputs = 1;
    for (size_t i = 0; i < n && status == ADAPS_OK; i++) {
        int64_t size = sizes ? sizes[i] : part;
        f->nints = 0;
        ad_form_push(f, axis);
        ad_form_push(f, start);
        ad_form_push(f, start + size);
        ad_form_push(f, 1);
        start += size;
        status = ad_form_finish(f, i);
    }
    return status;
}

static enum adaps_status fill_gather_nd(struct ad_form *f)
{
    enum adaps_status status = ad_form_attribute(f, "batch_dims", 0);
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

static enum adaps_status fill_scatter(struct ad_form *f)
{
    static const char *const words[] = {"none", "add", "mul", "max", "min", NULL};
    enum adaps_status status = ADAPS_OK;
    if (f->kind == AD_WHOLE_SCATTER_ELEMENTS)
        status = ad_form_axis(f, "axis", 0, ad_form_input(f, 0)->rank);
    if (status == ADAPS_OK)
        status = ad_form_word(f, "reduction", "none", words);
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

/* A value stretched to the shape that is input k. What exporters write for "as large as" is the
 * shape of another value: whether the elements of that one equal themselves chooses between twice
 * the same. */
static enum adaps_status fill_like(struct ad_form *f, int value, int k)
{
    const struct ad_draft *d = f->node->draft;
    int shape = f->node->inputs[k];
    const struct ad_draft_op *maker = d->values[shape].producer;
    const struct ad_draft_value *of = maker ? &d->values[maker->inputs[0]] : NULL;
    if (!maker || maker->kind != AD_D_WHOLE || maker->whole.kind != AD_WHOLE_SHAPE ||
        d->values[shape].dims[0] != of->rank)
        return ad_form_expand_to(f, value, k);
    const int like[] = {maker->inputs[0], maker->inputs[0]};
    int chosen[] = {-1, value, value};
    f->kind = AD_WHOLE_EQUAL;
    f->inputs = like;
    f->ninputs = 2;
    enum adaps_status status = ad_form_emit(f, &chosen[0]);
    f->kind = AD_WHOLE_WHERE;
    f->inputs = chosen;
    f->ninputs = 3;
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

/* A number, float32 0 unless the node has another one. */
static enum adaps_status fill_constant_of_shape(struct ad_form *f)
{
    const Onnx__AttributeProto *attribute = ad_onnx_attribute(f->node->proto, "value");
    int value;
    enum adaps_status status = attribute && attribute->t
                                   ? ad_draft_stored(f->node, attribute->t, &value, f->err)
                                   : ad_draft_number(f->node, 0, &value, f->err);
    if (status != ADAPS_OK)
        return status;
    if (attribute && attribute->t)
        f->node->draft->values[value].file_type = attribute->t->data_type;
    return f->node->draft->values[value].elements == 1
               ? fill_like(f, value, 0)
               : ad_node_fail(f->node, f->err, "attribute 'value' is not one number");
}

static enum adaps_status fill_expand(struct ad_form *f)
{
    if (!ad_node_constant(f->node, 1))
        return fill_like(f, f->node->inputs[0], 1);
    enum adaps_status status = ad_form_push_list(f, 1, "shape");
    f->ninputs = 1;
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

static enum adaps_status fill_tile(struct ad_form *f)
{
    if (ad_form_computed(f, 1))
        return ad_form_tile_by(f, 1);
    enum adaps_status status = ad_form_push_list(f, 1, "repeats");
    f->ninputs = 1;
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

static enum adaps_status fill_pad(struct ad_form *f)
{
    static const char *const words[] = {"constant", "reflect", "edge", "wrap", NULL};
    const int64_t *pads, *axes = NULL;
    size_t count, naxes = 0;
    int rank = ad_form_input(f, 0)->rank;
    int64_t around[2 * AD_MAX_RANK] = {0};
    enum adaps_status status = ad_form_word(f, "mode", "constant", words);
    if (status == ADAPS_OK && ad_form_computed(f, 1))
        return ad_form_pad_by(f, 1);
    if (status == ADAPS_OK)
        status = ad_form_list(f, f->node->opset < 11 ? 0 : 1, "pads", &pads, &count);
    if (status == ADAPS_OK && ad_node_has(f->node, 3))
        status = ad_form_list(f, 3, "axes", &axes, &naxes);
    if (status != ADAPS_OK)
        return status;
    naxes = axes ? naxes : (size_t)rank;
    if (!pads || count != 2 * naxes)
        return ad_node_fail(f->node, f->err, "%zu pads for %zu axes", count, naxes);
    for (size_t i = 0; i < naxes && status == ADAPS_OK; i++) {
        int at = 0;
        status = ad_node_axis(f->node, axes ? axes[i] : (int64_t)i, rank, &at, f->err);
        around[at] = pads[i];
        around[rank + at] = pads[naxes + i];
    }
    for (int i = 0; i < 2 * rank; i++)
        ad_form_push(f, around[i]);
    const int inputs[] = {f->node->inputs[0], ad_node_has(f->node, 2) ? f->node->inputs[2] : -1};
    f->inputs = inputs;
    f->ninputs = inputs[1] >= 0 ? 2 : 1;
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

static enum adaps_status fill_trilu(struct ad_form *f)
{
    int64_t k = 0;
    enum adaps_status status = ad_form_attribute(f, "upper", 1);
    if (status == ADAPS_OK && ad_node_has(f->node, 1))
        status = ad_form_number(f, 1, "k", &k);
    ad_form_push(f, k);
    f->ninputs = 1;
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

static enum adaps_status fill_reverse_sequence(struct ad_form *f)
{
    enum adaps_status status = ad_form_attribute(f, "batch_axis", 1);
    if (status == ADAPS_OK)
        status = ad_form_attribute(f, "time_axis", 0);
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

static enum adaps_status fill_arg(struct ad_form *f)
{
    enum adaps_status status = ad_form_axis(f, "axis", 0, ad_form_input(f, 0)->rank);
    if (status == ADAPS_OK)
        status = ad_form_attribute(f, "keepdims", 1);
    if (status == ADAPS_OK)
        status = ad_form_attribute(f, "select_last_index", 0);
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

/* The indices, and what stands there. */
static enum adaps_status fill_topk(struct ad_form *f)
{
    struct ad_node *node = f->node;
    int64_t k = 0, largest, sorted;
    bool computed = node->opset >= 10 && ad_form_computed(f, 1);
    int pair[2], by[2] = {node->inputs[0], -1};
    enum adaps_status status = ad_form_axis(f, "axis", -1, ad_form_input(f, 0)->rank);
    if (status == ADAPS_OK && !computed)
        status = node->opset < 10 ? ad_node_int(node, "k", 0, &k, f->err)
                                  : ad_form_number(f, 1, "K", &k);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "largest", 1, &largest, f->err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "sorted", 1, &sorted, f->err); /* any order will do then */
    if (status != ADAPS_OK)
        return status;
    if (!ad_form_input(f, 0)->open && k > ad_form_input(f, 0)->dims[f->ints[0]])
        return ad_node_fail(node, f->err, "%" PRId64 " of %" PRId64 " elements", k,
                            ad_form_input(f, 0)->dims[f->ints[0]]);
    if (computed)
        status = ad_form_most(f, 1, "K", &by[1]);
    else
        ad_form_push(f, k);
    ad_form_push(f, largest);
    f->inputs = by;
    f->ninputs = computed ? 2 : 1;
    pair[0] = node->inputs[0];
    if (status == ADAPS_OK)
        status = ad_form_emit(f, &pair[1]);
    if (status != ADAPS_OK)
        return status;
    if (node->proto->n_output > 1 && *node->proto->output[1])
        ad_node_set_output(node, 1, pair[1]);
    if (!*node->proto->output[0])
        return ADAPS_OK;
    f->kind = AD_WHOLE_GATHER_ELEMENTS;
    f->nints = 1;
    f->inputs = pair;
    f->ninputs = 2;
    return ad_form_finish(f, 0);
}

static enum adaps_status fill_cum_sum(struct ad_form *f)
{
    int64_t axis = 0;
    int at = 0;
    enum adaps_status status = ad_form_number(f, 1, "axis", &axis);
    if (status == ADAPS_OK)
        status = ad_node_axis(f->node, axis, ad_form_input(f, 0)->rank, &at, f->err);
    ad_form_push(f, at);
    if (status == ADAPS_OK)
        status = ad_form_attribute(f, "exclusive", 0);
    if (status == ADAPS_OK)
        status = ad_form_attribute(f, "reverse", 0);
    f->ninputs = 1;
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

/* ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd. */
static enum adaps_status fill_reduce(struct ad_form *f)
{
    static const struct {
        const char *type;
        enum ad_reduction how;
    } kinds[] = {{"ReduceSum", AD_REDUCE_SUM},
                 {"ReduceMean", AD_REDUCE_MEAN},
                 {"ReduceMax", AD_REDUCE_MAX},
                 {"ReduceMin", AD_REDUCE_MIN},
                 {"ReduceProd", AD_REDUCE_PRODUCT}};
    int64_t nothing = 0;
    bool given;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(f->node->type, kinds[i].type) == 0)
            ad_form_push(f, (int64_t)kinds[i].how);
    enum adaps_status status = ad_form_attribute(f, "keepdims", 1);
    if (status == ADAPS_OK)
        status = ad_form_axes(f, 1, ad_form_input(f, 0)->rank, &given);
    if (status == ADAPS_OK)
        status = ad_node_int(f->node, "noop_with_empty_axes", 0, &nothing, f->err);
    if (status == ADAPS_OK && nothing && !given) {
        ad_node_set(f->node, f->node->inputs[0]);
        return ADAPS_OK;
    }
    f->ninputs = 1;
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

static enum adaps_status fill_one_hot(struct ad_form *f)
{
    int64_t depth = 0;
    const int inputs[] = {f->node->inputs[0], f->node->inputs[2]};
    enum adaps_status status = ad_form_axis(f, "axis", -1, ad_form_input(f, 0)->rank + 1);
    if (status == ADAPS_OK) {
        const struct ad_onnx_tensor *t;
        bool is_float = false;
        if (ad_node_constant(f->node, 1))
            status = ad_draft_check(f->node->draft, f->node->inputs[1], &is_float, f->err);
        if (status == ADAPS_OK && is_float) {
            status = ad_node_floats(f->node, 1, "depth", &t, f->err);
            depth = status == ADAPS_OK && t->count == 1 ? (int64_t)t->f[0] : 0;
        } else if (status == ADAPS_OK) {
            status = ad_form_number(f, 1, "depth", &depth);
        }
    }
    ad_form_push(f, depth);
    f->inputs = inputs;
    f->ninputs = 2;
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

static enum adaps_status fill_shape(struct ad_form *f)
{
    int64_t start, end, rank = ad_form_input(f, 0)->rank;
    enum adaps_status status = ad_node_int(f->node, "start", 0, &start, f->err);
    if (status == ADAPS_OK)
        status = ad_node_int(f->node, "end", rank, &end, f->err);
    if (status != ADAPS_OK)
        return status;
    start = start < -rank ? 0 : start < 0 ? start + rank : start > rank ? rank : start;
    end = end < -rank ? 0 : end < 0 ? end + rank : end > rank ? rank : end;
    ad_form_push(f, start);
    ad_form_push(f, end < start ? start : end);
    return ad_form_finish(f, 0);
}

static enum adaps_status fill_nms(struct ad_form *f)
{
    int64_t most = 0;
    float overlap = 0, score = -INFINITY;
    enum adaps_status status = ad_form_attribute(f, "center_point_box", 0);
    if (status == ADAPS_OK && ad_node_has(f->node, 2))
        status = ad_form_number(f, 2, "max_output_boxes_per_class", &most);
    if (status == ADAPS_OK)
        status = ad_form_float(f, 3, "iou_threshold", &overlap);
    if (status == ADAPS_OK)
        status = ad_form_float(f, 4, "score_threshold", &score);
    if (status != ADAPS_OK)
        return status;
    ad_form_push(f, most < 0 ? 0 : most < LONGEST ? most : LONGEST);
    ad_form_push_float(f, overlap);
    ad_form_push_float(f, score);
    f->ninputs = 2;
    return ad_form_finish(f, 0);
}

static enum adaps_status fill_compress(struct ad_form *f)
{
    if (!ad_onnx_attribute(f->node->proto, "axis")) {
        ad_form_push(f, -1);
        return ad_form_finish(f, 0);
    }
    return fill_axis(f);
}

static enum adaps_status fill_unique(struct ad_form *f)
{
    int64_t sorted;
    enum adaps_status status = ad_node_int(f->node, "sorted", 1, &sorted, f->err);
    bool along = ad_onnx_attribute(f->node->proto, "axis") != NULL;
    for (size_t k = 0; k < f->node->proto->n_output && status == ADAPS_OK; k++) {
        if (!*f->node->proto->output[k])
            continue;
        f->nints = 0;
        ad_form_push(f, (int64_t)k);
        ad_form_push(f, sorted);
        if (along)
            status = ad_form_axis(f, "axis", 0, ad_form_input(f, 0)->rank);
        if (status == ADAPS_OK)
            status = ad_form_finish(f, k);
    }
    return status;
}

/* One scale for all, or one along an axis. */
static enum adaps_status push_scales(struct ad_form *f)
{
    const struct ad_draft_value *scale = ad_form_input(f, 1);
    int64_t block = 0;
    enum adaps_status status = ad_node_int(f->node, "block_size", 0, &block, f->err);
    if (status == ADAPS_OK && scale->elements == 1 && scale->rank <= 1) {
        ad_form_push(f, -1);
        ad_form_push(f, 0);
        return ADAPS_OK;
    }
    if (status == ADAPS_OK)
        status = ad_form_axis(f, "axis", 1, ad_form_input(f, 0)->rank);
    ad_form_push(f, block);
    return status;
}

static enum adaps_status fill_quantize(struct ad_form *f)
{
    int64_t to = 0;
    enum adaps_status status = push_scales(f);
    if (status == ADAPS_OK)
        status = ad_node_int(f->node, "output_dtype", 0, &to, f->err);
    if (status != ADAPS_OK)
        return status;
    f->to = ADAPS_UINT8;
    if (ad_node_has(f->node, 2)) {
        status = ad_node_constant(f->node, 2) ? ad_form_type_constant(f, 2) : ADAPS_OK;
        f->to = ad_form_input(f, 2)->type;
    } else if (to != 0) {
        f->to = to == ADAPS_INT8 || to == ADAPS_UINT8 ? (enum adaps_type)to : 0;
    }
    if (status == ADAPS_OK && f->to != ADAPS_UINT8 && f->to != ADAPS_INT8)
        return ad_node_fail(f->node, f->err, "only int8 and uint8 are supported");
    f->ninputs = ad_node_has(f->node, 2) ? 3 : 2;
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

static enum adaps_status fill_dequantize(struct ad_form *f)
{
    enum adaps_status status = push_scales(f);
    f->ninputs = ad_node_has(f->node, 2) ? 3 : 2;
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

static enum adaps_status fill_dynamic_quantize(struct ad_form *f)
{
    int all[3] = {f->node->inputs[0], -1, -1};
    f->ninputs = 1;
    enum adaps_status status = ad_form_emit(f, &all[1]);
    f->kind = AD_WHOLE_DYNAMIC_ZERO;
    if (status == ADAPS_OK)
        status = ad_form_emit(f, &all[2]);
    for (size_t k = 1; k < 3 && k < f->node->proto->n_output && status == ADAPS_OK; k++)
        if (*f->node->proto->output[k])
            ad_node_set_output(f->node, k, all[k]);
    f->kind = AD_WHOLE_QUANTIZE;
    f->to = ADAPS_UINT8;
    ad_form_push(f, -1);
    ad_form_push(f, 0);
    f->inputs = all;
    f->ninputs = 3;
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

/* The zero points that there are; one that is left out before one that is there is 0. */
static enum adaps_status with_zeros(struct ad_form *f, int inputs[4])
{
    struct ad_node *node = f->node;
    inputs[0] = node->inputs[0];
    inputs[1] = node->inputs[1];
    f->ninputs = ad_node_has(node, 3) ? 4 : ad_node_has(node, 2) ? 3 : 2;
    for (int k = 2; k < f->ninputs; k++) {
        if (ad_node_has(node, k)) {
            inputs[k] = node->inputs[k];
            continue;
        }
        enum adaps_status status = ad_form_zero(f, ad_form_input(f, k - 2)->type, &inputs[k]);
        if (status != ADAPS_OK)
            return status;
    }
    f->inputs = inputs;
    return ADAPS_OK;
}

static enum adaps_status fill_matmul_integer(struct ad_form *f)
{
    int inputs[4];
    enum adaps_status status = with_zeros(f, inputs);
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

/* The window of spatial dims as groups of equal length: strides, dilations, begins, ends. */
static enum adaps_status fill_conv_integer(struct ad_form *f)
{
    static const char *const words[] = {"NOTSET", "VALID", NULL};
    const struct ad_draft_value *w = ad_form_input(f, 1);
    int spatial = w->rank - 2, inputs[4];
    const int64_t *items;
    size_t count;
    enum adaps_status status = ad_form_word(f, "auto_pad", "NOTSET", words);
    f->nints = 0;
    if (status == ADAPS_OK)
        status = ad_form_attribute(f, "group", 1);
    for (int part = 0; part < 3 && status == ADAPS_OK; part++) {
        static const char *const names[] = {"strides", "dilations", "pads"};
        size_t wanted = (size_t)(spatial > 0 ? spatial : 0) * (part == 2 ? 2 : 1);
        status = ad_form_list(f, 0, names[part], &items, &count);
        if (status == ADAPS_OK && items && count != wanted)
            return ad_node_fail(f->node, f->err, "%zu %s for %d spatial dims", count, names[part],
                                spatial);
        for (size_t i = 0; i < wanted; i++)
            ad_form_push(f, items ? items[i] : part == 2 ? 0 : 1);
    }
    if (status == ADAPS_OK)
        status = with_zeros(f, inputs);
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

/* --- the table, by ONNX operator --- */

static const struct row {
    const char *type;
    enum ad_whole_kind kind;
    fill_fn *fill;
    int least, most; /* inputs */
} rows[] = {
    {"Abs", AD_WHOLE_ABS, fill_plain, 1, 1},
    {"Add", AD_WHOLE_ADD, fill_plain, 2, 2},
    {"And", AD_WHOLE_AND, fill_plain, 2, 2},
    {"ArgMax", AD_WHOLE_ARG_MAX, fill_arg, 1, 1},
    {"ArgMin", AD_WHOLE_ARG_MIN, fill_arg, 1, 1},
    {"BitwiseAnd", AD_WHOLE_BITWISE, fill_bitwise, 2, 2},
    {"BitwiseOr", AD_WHOLE_BITWISE, fill_bitwise, 2, 2},
    {"BitwiseXor", AD_WHOLE_BITWISE, fill_bitwise, 2, 2},
    {"Cast", AD_WHOLE_CAST, fill_cast, 1, 1},
    {"Clip", AD_WHOLE_CLIP, fill_clip, 1, 3},
    {"Compress", AD_WHOLE_COMPRESS, fill_compress, 2, 2},
    {"Concat", AD_WHOLE_CONCAT, fill_concat, 1, INT32_MAX},
    {"ConstantOfShape", AD_WHOLE_WHERE, fill_constant_of_shape, 1, 1},
    {"ConvInteger", AD_WHOLE_CONV_INTEGER, fill_conv_integer, 2, 4},
    {"CumSum", AD_WHOLE_CUM_SUM, fill_cum_sum, 2, 2},
    {"DequantizeLinear", AD_WHOLE_DEQUANTIZE, fill_dequantize, 2, 3},
    {"Div", AD_WHOLE_DIV, fill_plain, 2, 2},
    {"DynamicQuantizeLinear", AD_WHOLE_DYNAMIC_SCALE, fill_dynamic_quantize, 1, 1},
    {"Equal", AD_WHOLE_EQUAL, fill_plain, 2, 2},
    {"Expand", AD_WHOLE_EXPAND, fill_expand, 2, 2},
    {"Flatten", AD_WHOLE_FLATTEN, fill_flatten, 1, 1},
    {"Gather", AD_WHOLE_GATHER, fill_axis, 2, 2},
    {"GatherElements", AD_WHOLE_GATHER_ELEMENTS, fill_axis, 2, 2},
    {"GatherND", AD_WHOLE_GATHER_ND, fill_gather_nd, 2, 2},
    {"Greater", AD_WHOLE_GREATER, fill_plain, 2, 2},
    {"GreaterOrEqual", AD_WHOLE_GREATER_EQUAL, fill_plain, 2, 2},
    {"IsInf", AD_WHOLE_IS_INF, fill_is_inf, 1, 1},
    {"IsNaN", AD_WHOLE_IS_NAN, fill_plain, 1, 1},
    {"Less", AD_WHOLE_LESS, fill_plain, 2, 2},
    {"LessOrEqual", AD_WHOLE_LESS_EQUAL, fill_plain, 2, 2},
    {"MatMul", AD_WHOLE_MATMUL, fill_plain, 2, 2},
    {"MatMulInteger", AD_WHOLE_MATMUL_INTEGER, fill_matmul_integer, 2, 4},
    {"Max", AD_WHOLE_MAX, fill_plain, 1, INT32_MAX},
    {"Min", AD_WHOLE_MIN, fill_plain, 1, INT32_MAX},
    {"Mod", AD_WHOLE_MOD, fill_mod, 2, 2},
    {"Mul", AD_WHOLE_MUL, fill_plain, 2, 2},
    {"Neg", AD_WHOLE_NEG, fill_plain, 1, 1},
    {"NonMaxSuppression", AD_WHOLE_NMS, fill_nms, 2, 5},
    {"NonZero", AD_WHOLE_NON_ZERO, fill_plain, 1, 1},
    {"Not", AD_WHOLE_NOT, fill_plain, 1, 1},
    {"OneHot", AD_WHOLE_ONE_HOT, fill_one_hot, 3, 3},
    {"Or", AD_WHOLE_OR, fill_plain, 2, 2},
    {"Pad", AD_WHOLE_PAD, fill_pad, 1, 4},
    {"Pow", AD_WHOLE_POW, fill_plain, 2, 2},
    {"QuantizeLinear", AD_WHOLE_QUANTIZE, fill_quantize, 2, 3},
    {"ReduceMax", AD_WHOLE_REDUCE, fill_reduce, 1, 2},
    {"ReduceMean", AD_WHOLE_REDUCE, fill_reduce, 1, 2},
    {"ReduceMin", AD_WHOLE_REDUCE, fill_reduce, 1, 2},
    {"ReduceProd", AD_WHOLE_REDUCE, fill_reduce, 1, 2},
    {"ReduceSum", AD_WHOLE_REDUCE, fill_reduce, 1, 2},
    {"Range", AD_WHOLE_RANGE, ad_form_range, 3, 3},
    {"Reshape", AD_WHOLE_RESHAPE, fill_reshape, 2, 2},
    {"ReverseSequence", AD_WHOLE_REVERSE_SEQUENCE, fill_reverse_sequence, 2, 2},
    {"Round", AD_WHOLE_ROUND, fill_plain, 1, 1},
    {"ScatterElements", AD_WHOLE_SCATTER_ELEMENTS, fill_scatter, 3, 3},
    {"ScatterND", AD_WHOLE_SCATTER_ND, fill_scatter, 3, 3},
    {"Shape", AD_WHOLE_SHAPE, fill_shape, 1, 1},
    {"Sign", AD_WHOLE_SIGN, fill_plain, 1, 1},
    {"Size", AD_WHOLE_SIZE, fill_plain, 1, 1},
    {"Slice", AD_WHOLE_SLICE, fill_slice, 1, 5},
    {"Softmax", AD_WHOLE_SOFTMAX, fill_axis, 1, 1},
    {"Split", AD_WHOLE_SLICE, fill_split, 1, 2},
    {"Squeeze", AD_WHOLE_SQUEEZE, fill_squeeze, 1, 2},
    {"Sub", AD_WHOLE_SUB, fill_plain, 2, 2},
    {"Sum", AD_WHOLE_ADD, fill_sum, 1, INT32_MAX},
    {"Tile", AD_WHOLE_TILE, fill_tile, 2, 2},
    {"TopK", AD_WHOLE_TOPK_INDICES, fill_topk, 1, 2},
    {"Transpose", AD_WHOLE_TRANSPOSE, fill_transpose, 1, 1},
    {"Trilu", AD_WHOLE_TRILU, fill_trilu, 1, 2},
    {"Unique", AD_WHOLE_UNIQUE, fill_unique, 1, 1},
    {"Unsqueeze", AD_WHOLE_UNSQUEEZE, fill_squeeze, 1, 2},
    {"Where", AD_WHOLE_WHERE, fill_plain, 3, 3},
    {"Xor", AD_WHOLE_XOR, fill_plain, 2, 2},
};

static const struct row *row_of(const char *type)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].type, type) == 0)
            return &rows[i];
    return NULL;
}

enum ad_whole_kind ad_import_whole_kind(const char *type)
{
    const struct row *row = row_of(type);
    return row ? row->kind : AD_WHOLE_COUNT;
}

/* An operator that has only its form on floats of known dims. */
static enum adaps_status refuse(const struct ad_node *node, struct adaps_error *err)
{
    for (int k = 0; k < node->ninputs; k++) {
        if (!ad_node_has(node, k) || ad_node_constant(node, k))
            continue;
        const struct ad_draft_value *v = ad_node_input(node, k);
        if (v->type != ADAPS_FLOAT32)
            return ad_node_fail(node, err,
                                "its input '%s' is of type %s: only floats are supported here",
                                v->name, ad_type_name(v->type));
        if (v->open)
            return ad_node_fail(node, err,
                                "its input '%s' has a length that only the run knows, which is "
                                "not supported here",
                                v->name);
    }
    return ad_node_fail(node, err, "this operator is not supported at run time");
}

enum adaps_status ad_import_whole(struct ad_node *node, struct adaps_error *err)
{
    const struct row *row = row_of(node->type);
    if (!row)
        return refuse(node, err);
    struct ad_form form = {.node = node,
                           .kind = row->kind,
                           .inputs = node->inputs,
                           .ninputs = node->ninputs,
                           .err = err};
    enum adaps_status status = ad_node_arity(node, row->least, row->most, err);
    while (form.ninputs > 0 && !ad_node_has(node, form.ninputs - 1))
        form.ninputs--;
    return status == ADAPS_OK ? row->fill(&form) : status;
}
