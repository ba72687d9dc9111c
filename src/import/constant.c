/* Constants, and operators folded on constants: what exporters use to compute shapes. */
#include "import/internal.h"

#include <inttypes.h>
#include <string.h>

enum adaps_status ad_fold_tensor(struct ad_node *node, int rank, const int64_t *dims, bool is_float,
                                 struct ad_onnx_tensor *out, struct adaps_error *err)
{
    memset(out, 0, sizeof *out);
    if (rank > AD_MAX_RANK)
        return ad_node_fail(node, err, "a result of rank %d: at most %d is supported", rank,
                            AD_MAX_RANK);
    int64_t count = 1;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0 || (dims[i] > 0 && count > INT32_MAX / dims[i]))
            return ad_node_fail(node, err, "dimension %d of the result is %" PRId64, i, dims[i]);
        count *= dims[i];
        out->dims[i] = dims[i];
    }
    if (count > node->draft->fold_left)
        return ad_node_fail(node, err,
                            "a constant of %" PRId64 " elements is too large to compute "
                            "on import",
                            count);
    node->draft->fold_left -= count;
    out->rank = rank;
    out->count = (size_t)count;
    out->is_float = is_float;
    size_t bytes = (size_t)count * (is_float ? sizeof *out->f : sizeof *out->i);
    void *data = ad_alloc_aligned(bytes);
    if (!data)
        return ad_error_memory(err, "constant", bytes);
    memset(data, 0, bytes);
    if (is_float)
        out->f = data;
    else
        out->i = data;
    return ADAPS_OK;
}

enum adaps_status ad_draft_number(struct ad_node *node, float value, int *out,
                                  struct adaps_error *err)
{
    struct ad_onnx_tensor t;
    enum adaps_status status = ad_fold_tensor(node, 0, NULL, true, &t, err);
    if (status != ADAPS_OK)
        return status;
    t.f[0] = value;
    return ad_draft_constant(node, &t, out, err);
}

/* Element `to` of out = element `from` of in; both of one type. */
static void copy_element(struct ad_onnx_tensor *out, size_t to, const struct ad_onnx_tensor *in,
                         size_t from)
{
    if (out->is_float)
        out->f[to] = in->f[from];
    else
        out->i[to] = in->i[from];
}

/* A list attribute of Constant (value_ints, value_floats) or one number of it. */
static enum adaps_status constant_list(struct ad_node *node, const Onnx__AttributeProto *attr,
                                       bool is_float, bool list, struct adaps_error *err)
{
    struct ad_onnx_tensor t;
    int64_t count = list ? (int64_t)(is_float ? attr->n_floats : attr->n_ints) : 1;
    enum adaps_status status = ad_fold_tensor(node, list, &count, is_float, &t, err);
    if (status != ADAPS_OK)
        return status;
    for (int64_t k = 0; k < count; k++) {
        if (is_float)
            t.f[k] = list ? attr->floats[k] : attr->f;
        else
            t.i[k] = list ? attr->ints[k] : attr->i;
    }
    return ad_node_fold(node, &t, err);
}

enum adaps_status ad_import_constant(struct ad_node *node, struct adaps_error *err)
{
    enum adaps_status status = ad_node_arity(node, 0, 0, err);
    if (status != ADAPS_OK)
        return status;
    for (size_t i = 0; i < node->proto->n_attribute; i++) {
        const Onnx__AttributeProto *attr = node->proto->attribute[i];
        const char *name = attr->name ? attr->name : "";
        if (strcmp(name, "value") == 0 && attr->t) {
            int value;
            status = ad_draft_stored(node, attr->t, &value, err);
            if (status == ADAPS_OK)
                ad_node_set(node, value);
            return status;
        }
        if (strcmp(name, "value_float") == 0)
            return constant_list(node, attr, true, false, err);
        if (strcmp(name, "value_int") == 0)
            return constant_list(node, attr, false, false, err);
        if (strcmp(name, "value_floats") == 0)
            return constant_list(node, attr, true, true, err);
        if (strcmp(name, "value_ints") == 0)
            return constant_list(node, attr, false, true, err);
    }
    return ad_node_fail(node, err, "only tensors, numbers and lists of numbers are supported");
}

enum adaps_status ad_import_constant_of_shape(struct ad_node *node, struct adaps_error *err)
{
    const struct ad_onnx_tensor *shape;
    struct ad_onnx_tensor fill = {0}, t;
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = ad_node_ints(node, 0, "shape", &shape, err);
    if (status != ADAPS_OK)
        return status;
    const Onnx__AttributeProto *attr = ad_onnx_attribute(node->proto, "value");
    if (attr && attr->t) {
        status = ad_onnx_tensor_decode(node->draft->model, attr->t, "value", &fill, err);
        if (status != ADAPS_OK)
            return ad_node_prefix(node, status, err);
        if (fill.count != 1) {
            ad_onnx_tensor_fini(&fill);
            return ad_node_fail(node, err, "attribute 'value' is not one number");
        }
    }
    int rank = shape->count > AD_MAX_RANK ? AD_MAX_RANK + 1 : (int)shape->count;
    status = ad_fold_tensor(node, rank, shape->i, !fill.count || fill.is_float, &t, err);
    for (size_t k = 0; status == ADAPS_OK && fill.count && k < t.count; k++)
        copy_element(&t, k, &fill, 0);
    ad_onnx_tensor_fini(&fill);
    return status == ADAPS_OK ? ad_node_fold(node, &t, err) : status;
}

enum adaps_status ad_import_shape(struct ad_node *node, struct adaps_error *err)
{
    int64_t start, end;
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_value in = *ad_node_input(node, 0);
    status = ad_node_int(node, "start", 0, &start, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "end", in.rank, &end, err);
    if (status != ADAPS_OK)
        return status;
    start = start < -in.rank ? 0 : start < 0 ? start + in.rank : start;
    end = end < -in.rank ? 0 : end < 0 ? end + in.rank : end > in.rank ? in.rank : end;
    int64_t count = end > start ? end - start : 0;
    struct ad_onnx_tensor t;
    status = ad_fold_tensor(node, 1, &count, false, &t, err);
    if (status != ADAPS_OK)
        return status;
    for (int64_t k = 0; k < count; k++)
        t.i[k] = in.dims[start + k];
    return ad_node_fold(node, &t, err);
}

/* Input k as a constant of any type. */
static enum adaps_status need_constant(struct ad_node *node, int k,
                                       const struct ad_onnx_tensor **out, struct adaps_error *err)
{
    if (!ad_node_constant(node, k))
        return ad_node_fail(node, err,
                            "input %d, '%s', is computed at run time: it is supported "
                            "for constants only",
                            k, ad_node_input(node, k)->name);
    return ad_draft_tensor(node->draft, node->inputs[k], out, err);
}

static int64_t dims_product(const int64_t *dims, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++)
        n *= dims[i];
    return n;
}

/* Of input 0, computed at run time, with the dims of the result. */
static enum adaps_status gather_computed(struct ad_node *node, int axis,
                                         const struct ad_onnx_tensor *indices, int rank,
                                         const int64_t *dims, struct adaps_error *err)
{
    int64_t length = ad_node_input(node, 0)->dims[axis];
    struct ad_arena *arena = &node->draft->arena;
    int64_t *list = ad_arena_alloc(arena, indices->count + 1, sizeof *list);
    int out;
    if (!list)
        return ad_error_memory(err, "indices", indices->count * sizeof *list);
    if (rank > AD_MAX_RANK)
        return ad_node_fail(node, err, "a result of rank %d: at most %d is supported", rank,
                            AD_MAX_RANK);
    for (size_t k = 0; k < indices->count; k++)
        list[k] = indices->i[k] < 0 ? indices->i[k] + length : indices->i[k];
    enum adaps_status status =
        ad_draft_gather(node, node->inputs[0], axis, list, indices->count, &out, err);
    if (status == ADAPS_OK)
        status = ad_draft_reshape(node, out, rank, dims, &out, err);
    if (status == ADAPS_OK)
        ad_node_set(node, out);
    return status;
}

enum adaps_status ad_import_gather(struct ad_node *node, struct adaps_error *err)
{
    const struct ad_onnx_tensor *data, *indices;
    int64_t axis;
    int at;
    enum adaps_status status = ad_node_arity(node, 2, 2, err);
    if (status == ADAPS_OK && !ad_node_constant(node, 1))
        return ad_import_whole(node, err);
    if (status == ADAPS_OK)
        status = ad_node_ints(node, 1, "indices", &indices, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "axis", 0, &axis, err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_value *in = ad_node_input(node, 0), *by = ad_node_input(node, 1);
    status = ad_node_axis(node, axis, in->rank, &at, err);
    if (status != ADAPS_OK)
        return status;
    int64_t dims[2 * AD_MAX_RANK], outer = dims_product(in->dims, 0, at);
    int64_t inner = dims_product(in->dims, at + 1, in->rank), length = in->dims[at];
    memcpy(dims, in->dims, (size_t)at * sizeof *dims);
    memcpy(dims + at, by->dims, (size_t)by->rank * sizeof *dims);
    memcpy(dims + at + by->rank, in->dims + at + 1, (size_t)(in->rank - at - 1) * sizeof *dims);
    for (size_t k = 0; k < indices->count; k++)
        if (indices->i[k] < -length || indices->i[k] >= length)
            return ad_node_fail(node, err, "index %" PRId64 " into %" PRId64 " elements",
                                indices->i[k], length);
    if (!in->constant)
        return gather_computed(node, at, indices, in->rank - 1 + by->rank, dims, err);
    struct ad_onnx_tensor t;
    status = ad_draft_tensor(node->draft, node->inputs[0], &data, err);
    if (status == ADAPS_OK)
        status = ad_fold_tensor(node, in->rank - 1 + by->rank, dims, data->is_float, &t, err);
    if (status != ADAPS_OK)
        return status;
    size_t to = 0;
    for (int64_t o = 0; o < outer && t.count; o++)
        for (size_t k = 0; k < indices->count; k++) {
            int64_t from = indices->i[k] < 0 ? indices->i[k] + length : indices->i[k];
            for (int64_t i = 0; i < inner; i++)
                copy_element(&t, to++, data, (size_t)((o * length + from) * inner + i));
        }
    return ad_node_fold(node, &t, err);
}

/* Integer types that constants may become: numbers from lowest to below limit. */
static bool integer_range(int64_t type, double *lowest, double *limit)
{
    *limit = type == ONNX__TENSOR_PROTO__DATA_TYPE__INT64   ? 0x1p63
             : type == ONNX__TENSOR_PROTO__DATA_TYPE__INT32 ? 0x1p31
             : type == ONNX__TENSOR_PROTO__DATA_TYPE__INT8  ? 0x1p7
             : type == ONNX__TENSOR_PROTO__DATA_TYPE__UINT8 ? 0x1p8
                                                            : 0;
    *lowest = type == ONNX__TENSOR_PROTO__DATA_TYPE__UINT8 ? 0 : -*limit;
    return *limit > 0;
}

enum adaps_status ad_import_cast(struct ad_node *node, struct adaps_error *err)
{
    int64_t to;
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "to", 0, &to, err);
    if (status != ADAPS_OK)
        return status;
    char buf[24];
    const char *name =
        ad_onnx_type_name(to > INT32_MAX || to < 0 ? -1 : (int32_t)to, buf, sizeof buf);
    bool is_float = to > 0 && to <= INT32_MAX && ad_onnx_type_is_float((int32_t)to);
    if (!ad_node_constant(node, 0)) {     /* all floats are float32 at run time */
        bool same = to == node->types[0]; /* PyTorch's exporter casts what it quantises so */
        int floats = is_float ? ad_node_integral(node, 0) : -1;
        if (floats < 0 && !same && (!is_float || ad_node_is_typed(node)))
            return ad_import_whole(node, err);
        ad_node_set(node, floats < 0 ? node->inputs[0] : floats);
        return ADAPS_OK;
    }
    bool is_bool = to == ONNX__TENSOR_PROTO__DATA_TYPE__BOOL, was_float;
    status = ad_draft_check(node->draft, node->inputs[0], &was_float, err);
    if (status != ADAPS_OK)
        return status;
    if (is_float && was_float) { /* all floats are float32 */
        ad_node_set(node, node->inputs[0]);
        return ADAPS_OK;
    }
    double lowest = 0, limit = 0;
    if (!is_float && !is_bool && !integer_range(to, &lowest, &limit))
        return ad_node_fail(node, err, "to %s is not supported", name);
    const struct ad_onnx_tensor *in;
    struct ad_onnx_tensor t;
    struct ad_draft_value value = *ad_node_input(node, 0);
    status = need_constant(node, 0, &in, err);
    if (status == ADAPS_OK)
        status = ad_fold_tensor(node, value.rank, value.dims, is_float, &t, err);
    if (status != ADAPS_OK)
        return status;
    for (size_t k = 0; k < t.count; k++) {
        double v = in->is_float ? (double)in->f[k] : (double)in->i[k];
        bool exact = !in->is_float && to == ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
        if (!is_float && !is_bool && !exact && !(v >= lowest && v < limit)) {
            ad_onnx_tensor_fini(&t);
            return ad_node_fail(node, err, "%g does not fit %s", v, name);
        }
        if (is_float)
            t.f[k] = (float)v;
        else if (is_bool)
            t.i[k] = v != 0;
        else
            t.i[k] = in->is_float ? (int64_t)v : in->i[k];
    }
    return ad_node_fold(node, &t, err);
}

/* --- Slice --- */

/* One axis, ONNX rules: negative positions count from the end, all are clipped to the dim. */
static enum adaps_status slice_axis(struct ad_node *node, int64_t dim, int64_t start, int64_t end,
                                    int64_t step, struct ad_slicing *s, int axis,
                                    struct adaps_error *err)
{
    if (step == 0 || step < -INT32_MAX || step > INT32_MAX)
        return ad_node_fail(node, err, "step %" PRId64 " along axis %d", step, axis);
    int64_t lo = step > 0 ? 0 : -1, hi = step > 0 ? dim : dim - 1;
    int64_t at = start < 0 && start >= -dim ? start + dim : start < 0 ? lo : start;
    int64_t to = end < 0 && end >= -dim ? end + dim : end < 0 ? lo : end;
    if (step < 0 && start < -dim)
        at = 0; /* the first element, as numpy clips it */
    at = at > hi ? hi : at;
    to = to > hi ? hi : to;
    int64_t distance = step > 0 ? to - at : at - to, stride = step > 0 ? step : -step;
    s->start[axis] = at;
    s->step[axis] = step;
    s->count[axis] = distance > 0 ? (distance + stride - 1) / stride : 0;
    return ADAPS_OK;
}

/* starts, ends, axes, steps: attributes before opset 10, inputs 1 to 4 from then on. */
static enum adaps_status slice_lists(struct ad_node *node, const int64_t *items[4],
                                     size_t counts[4], struct adaps_error *err)
{
    static const char *const names[] = {"starts", "ends", "axes", "steps"};
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; i < 4 && status == ADAPS_OK; i++) {
        items[i] = NULL;
        counts[i] = 0;
        if (node->opset < 10) {
            if (i < 3)
                status = ad_node_prefix(
                    node, ad_onnx_attr_ints(node->proto, names[i], &items[i], &counts[i], err),
                    err);
        } else if (i < 2 || ad_node_has(node, i + 1)) {
            const struct ad_onnx_tensor *t;
            status = ad_node_ints(node, i + 1, names[i], &t, err);
            if (status == ADAPS_OK) {
                items[i] = t->i;
                counts[i] = t->count;
            }
        }
        if (status == ADAPS_OK && (i == 1 || (i > 1 && items[i])) && counts[i] != counts[0])
            return ad_node_fail(node, err, "%zu starts, but %zu %s", counts[0], counts[i],
                                names[i]);
    }
    return status;
}

static enum adaps_status read_slice(struct ad_node *node, const struct ad_draft_value *in,
                                    struct ad_slicing *s, struct adaps_error *err)
{
    const int64_t *items[4];
    size_t counts[4];
    enum adaps_status status = slice_lists(node, items, counts, err);
    if (status != ADAPS_OK)
        return status;
    if (counts[0] > (size_t)in->rank)
        return ad_node_fail(node, err, "%zu starts for rank %d", counts[0], in->rank);
    for (int i = 0; i < in->rank; i++) {
        s->start[i] = 0;
        s->step[i] = 1;
        s->count[i] = in->dims[i];
    }
    for (size_t k = 0; k < counts[0]; k++) {
        int axis;
        status = ad_node_axis(node, items[2] ? items[2][k] : (int64_t)k, in->rank, &axis, err);
        if (status == ADAPS_OK)
            status = slice_axis(node, in->dims[axis], items[0][k], items[1][k],
                                items[3] ? items[3][k] : 1, s, axis, err);
        if (status != ADAPS_OK)
            return status;
    }
    return ADAPS_OK;
}

/* out[i...] = in[start + i * step ...] for every index of out, whose dims are given. `stride` are
 * the input's elements per step of each out dim, `base` the element of index 0. */
static void copy_strided(struct ad_onnx_tensor *out, const struct ad_onnx_tensor *in,
                         const int64_t *stride, int64_t base)
{
    int64_t index[AD_MAX_RANK] = {0}, from = base;
    for (size_t k = 0; k < out->count; k++) {
        copy_element(out, k, in, (size_t)from);
        for (int i = out->rank - 1; i >= 0; i--) {
            from += stride[i];
            if (++index[i] < out->dims[i])
                break;
            from -= stride[i] * out->dims[i];
            index[i] = 0;
        }
    }
}

enum adaps_status ad_import_slice(struct ad_node *node, struct adaps_error *err)
{
    struct ad_slicing s;
    enum adaps_status status = ad_node_arity(node, 1, node->opset < 10 ? 1 : 5, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_value in = *ad_node_input(node, 0);
    status = read_slice(node, &in, &s, err);
    if (status != ADAPS_OK)
        return status;
    bool whole = true;
    for (int i = 0; i < in.rank; i++)
        whole = whole && s.start[i] == 0 && s.count[i] == in.dims[i] &&
                (s.step[i] == 1 || in.dims[i] <= 1);
    if (whole) {
        ad_node_set(node, node->inputs[0]);
        return ADAPS_OK;
    }
    int out;
    status = in.constant ? ad_fold_slice(node, node->inputs[0], &s, &out, err)
                         : ad_draft_slice(node, node->inputs[0], &s, &out, err);
    if (status == ADAPS_OK)
        ad_node_set(node, out);
    return status;
}

/* Elements of `v` per step of each dim of a result of this rank: 0 where v is stretched. */
static void broadcast_strides(const struct ad_draft_value *v, int rank, int64_t *stride)
{
    for (int i = 0; i < rank; i++) {
        int k = i - (rank - v->rank);
        stride[i] = k < 0 || v->dims[k] == 1 ? 0 : dims_product(v->dims, k + 1, v->rank);
    }
}

enum adaps_status ad_fold_slice(struct ad_node *node, int value, const struct ad_slicing *s,
                                int *out, struct adaps_error *err)
{
    struct ad_draft_value in = node->draft->values[value];
    const struct ad_onnx_tensor *data;
    struct ad_onnx_tensor t;
    int64_t stride[AD_MAX_RANK], base = 0;
    enum adaps_status status = ad_draft_tensor(node->draft, value, &data, err);
    if (status == ADAPS_OK)
        status = ad_fold_tensor(node, in.rank, s->count, data->is_float, &t, err);
    if (status != ADAPS_OK)
        return status;
    for (int i = 0; i < in.rank; i++) {
        int64_t unit = dims_product(in.dims, i + 1, in.rank);
        stride[i] = s->step[i] * unit;
        base += s->start[i] * unit;
    }
    copy_strided(&t, data, stride, base);
    return ad_draft_constant(node, &t, out, err);
}

enum adaps_status ad_fold_stretched(struct ad_node *node, int value, int rank, const int64_t *dims,
                                    struct ad_onnx_tensor *out, struct adaps_error *err)
{
    struct ad_draft_value in = node->draft->values[value];
    const struct ad_onnx_tensor *data;
    int64_t stride[AD_MAX_RANK];
    enum adaps_status status = ad_draft_tensor(node->draft, value, &data, err);
    if (status == ADAPS_OK)
        status = ad_fold_tensor(node, rank, dims, data->is_float, out, err);
    if (status != ADAPS_OK)
        return status;
    broadcast_strides(&in, rank, stride);
    copy_strided(out, data, stride, 0);
    return ADAPS_OK;
}

enum adaps_status ad_fold_expand(struct ad_node *node, int rank, const int64_t *dims,
                                 struct adaps_error *err)
{
    struct ad_onnx_tensor t;
    enum adaps_status status = ad_fold_stretched(node, node->inputs[0], rank, dims, &t, err);
    return status == ADAPS_OK ? ad_node_fold(node, &t, err) : status;
}

enum adaps_status ad_fold_transpose(struct ad_node *node, int value, const int32_t *perm, int *out,
                                    struct adaps_error *err)
{
    struct ad_draft_value in = node->draft->values[value];
    const struct ad_onnx_tensor *data;
    struct ad_onnx_tensor t;
    int64_t dims[AD_MAX_RANK], stride[AD_MAX_RANK];
    for (int i = 0; i < in.rank; i++) {
        dims[i] = in.dims[perm[i]];
        stride[i] = dims_product(in.dims, perm[i] + 1, in.rank);
    }
    enum adaps_status status = ad_draft_tensor(node->draft, value, &data, err);
    if (status == ADAPS_OK)
        status = ad_fold_tensor(node, in.rank, dims, data->is_float, &t, err);
    if (status != ADAPS_OK)
        return status;
    copy_strided(&t, data, stride, 0);
    return ad_draft_constant(node, &t, out, err);
}

enum adaps_status ad_fold_tile(struct ad_node *node, int value, const int64_t *repeats, int *out,
                               struct adaps_error *err)
{
    struct ad_draft_value in = node->draft->values[value];
    const struct ad_onnx_tensor *data;
    struct ad_onnx_tensor t;
    int64_t dims[AD_MAX_RANK], index[AD_MAX_RANK] = {0};
    for (int i = 0; i < in.rank; i++)
        dims[i] = in.dims[i] * repeats[i];
    enum adaps_status status = ad_draft_tensor(node->draft, value, &data, err);
    if (status == ADAPS_OK)
        status = ad_fold_tensor(node, in.rank, dims, data->is_float, &t, err);
    if (status != ADAPS_OK)
        return status;
    for (size_t k = 0; k < t.count; k++) {
        int64_t from = 0;
        for (int i = 0; i < in.rank; i++)
            from = from * in.dims[i] + index[i] % in.dims[i];
        copy_element(&t, k, data, (size_t)from);
        for (int i = in.rank - 1; i >= 0 && ++index[i] == dims[i]; i--)
            index[i] = 0;
    }
    return ad_draft_constant(node, &t, out, err);
}

enum adaps_status ad_fold_concat(struct ad_node *node, int axis, struct adaps_error *err)
{
    const struct ad_onnx_tensor *first, *part;
    struct ad_onnx_tensor t;
    int64_t dims[AD_MAX_RANK];
    struct ad_draft_value in = *ad_node_input(node, 0);
    memcpy(dims, in.dims, sizeof dims);
    for (int k = 1; k < node->ninputs; k++)
        dims[axis] += ad_node_input(node, k)->dims[axis];
    enum adaps_status status = ad_draft_tensor(node->draft, node->inputs[0], &first, err);
    if (status == ADAPS_OK)
        status = ad_fold_tensor(node, in.rank, dims, first->is_float, &t, err);
    if (status != ADAPS_OK)
        return status;
    int64_t outer = dims_product(dims, 0, axis), inner = dims_product(dims, axis, in.rank), at = 0;
    for (int k = 0; k < node->ninputs; k++) {
        status = ad_draft_tensor(node->draft, node->inputs[k], &part, err);
        if (status == ADAPS_OK && part->is_float != t.is_float)
            status = ad_node_fail(node, err, "operands '%s' and '%s' differ in type", in.name,
                                  ad_node_input(node, k)->name);
        if (status != ADAPS_OK) {
            ad_onnx_tensor_fini(&t);
            return status;
        }
        int64_t length = dims_product(ad_node_input(node, k)->dims, axis, in.rank);
        for (int64_t o = 0; o < outer; o++)
            for (int64_t i = 0; i < length; i++)
                copy_element(&t, (size_t)(o * inner + at + i), part, (size_t)(o * length + i));
        at += length;
    }
    return ad_node_fold(node, &t, err);
}

/* --- arithmetic of two operands --- */

static bool power_int(int64_t a, int64_t b, int64_t *out)
{
    bool fits = true;
    *out = 1;
    for (; b > 0 && fits; b >>= 1) { /* a is squared as long as that is still wanted */
        if (b & 1)
            fits = !__builtin_mul_overflow(*out, a, out);
        if (b > 1)
            fits = fits && !__builtin_mul_overflow(a, a, &a);
    }
    return fits;
}

/* NULL, or why there is no such number. */
static const char *compute_int(enum ad_draft_kind kind, int64_t a, int64_t b, int64_t *out)
{
    bool fits = true;
    switch (kind) {
    case AD_D_ADD:
        fits = !__builtin_add_overflow(a, b, out);
        break;
    case AD_D_SUB:
        fits = !__builtin_sub_overflow(a, b, out);
        break;
    case AD_D_MUL:
        fits = !__builtin_mul_overflow(a, b, out);
        break;
    case AD_D_MIN:
        *out = a < b ? a : b;
        break;
    case AD_D_MAX:
        *out = a > b ? a : b;
        break;
    case AD_D_DIV:
        if (b == 0)
            return "an integer is divided by 0";
        fits = a != INT64_MIN || b != -1;
        *out = fits ? a / b : 0;
        break;
    case AD_D_POW:
        if (b < 0)
            return "an integer to a negative power is no integer";
        fits = power_int(a, b, out);
        break;
    default:
        return "it is supported for floats only, not for integers";
    }
    return fits ? NULL : "the result of two integers is no 64-bit integer";
}

static float compute_float(enum ad_draft_kind kind, float a, float b)
{
    switch (kind) {
    case AD_D_ADD:
        return a + b;
    case AD_D_SUB:
        return a - b;
    case AD_D_MUL:
        return a * b;
    case AD_D_MIN:
        return a < b || a != a ? a : b;
    case AD_D_MAX:
        return a > b || a != a ? a : b;
    case AD_D_POW:
        return powf(a, b);
    case AD_D_PRELU:
        return a < 0 ? a * b : a;
    default:
        return a / b;
    }
}

enum adaps_status ad_fold_arithmetic(struct ad_node *node, enum ad_draft_kind kind, int a, int b,
                                     int *out, struct adaps_error *err)
{
    struct ad_draft_value va = node->draft->values[a], vb = node->draft->values[b];
    struct ad_onnx_tensor x = {0}, y = {0};
    int rank;
    int64_t dims[AD_MAX_RANK];
    if (!ad_broadcast_dims(&va, &vb, &rank, dims))
        return ad_node_fail(node, err, "operands '%s' and '%s' do not fit each other", va.name,
                            vb.name);
    enum adaps_status status = ad_fold_stretched(node, a, rank, dims, &x, err);
    if (status == ADAPS_OK)
        status = ad_fold_stretched(node, b, rank, dims, &y, err);
    if (status == ADAPS_OK && x.is_float != y.is_float)
        status = ad_node_fail(node, err, "operands '%s' and '%s' differ in type", va.name, vb.name);
    for (size_t k = 0; k < x.count && status == ADAPS_OK; k++) {
        const char *why = NULL;
        if (x.is_float)
            x.f[k] = compute_float(kind, x.f[k], y.f[k]);
        else
            why = compute_int(kind, x.i[k], y.i[k], &x.i[k]);
        if (why)
            status = ad_node_fail(node, err, "%s", why);
    }
    ad_onnx_tensor_fini(&y);
    if (status == ADAPS_OK)
        return ad_draft_constant(node, &x, out, err);
    ad_onnx_tensor_fini(&x);
    return status;
}
