/* Values, constants and ops of a draft, and what every operator's import needs. */
#include "import/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DROP_ELEMENTS                                                                              \
    ((size_t)1 << 16) /* so large a constant is dropped, and read again when needed */

enum adaps_status ad_node_fail(const struct ad_node *node, struct adaps_error *err, const char *fmt,
                               ...)
{
    char reason[700];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(reason, sizeof reason, fmt, ap);
    va_end(ap);
    const char *path = node->draft->model->path;
    if (!node->type) /* inputs and initializers, which belong to no node */
        return ad_error_set(err, ADAPS_EINPUT, "%s: %s", path, reason);
    return ad_error_set(err, ADAPS_EINPUT, "%s: node '%s' (%s): %s", path, node->name, node->type,
                        reason);
}

enum adaps_status ad_node_prefix(const struct ad_node *node, enum adaps_status status,
                                 struct adaps_error *err)
{
    if (status == ADAPS_EINPUT)
        ad_error_prefix(err, "%s: ", node->draft->model->path);
    return status;
}

enum adaps_status ad_node_int(const struct ad_node *node, const char *name, int64_t fallback,
                              int64_t *out, struct adaps_error *err)
{
    return ad_node_prefix(node, ad_onnx_attr_int(node->proto, name, fallback, out, err), err);
}

enum adaps_status ad_node_float(const struct ad_node *node, const char *name, float fallback,
                                float *out, struct adaps_error *err)
{
    return ad_node_prefix(node, ad_onnx_attr_float(node->proto, name, fallback, out, err), err);
}

static enum adaps_status add_value(struct ad_node *node, const char *name, int rank,
                                   const int64_t *dims, bool may_be_empty, int *out,
                                   struct adaps_error *err)
{
    struct ad_draft *d = node->draft;
    if (rank < 0 || rank > AD_MAX_RANK)
        return ad_node_fail(node, err, "'%s' has rank %d: at most %d is supported", name, rank,
                            AD_MAX_RANK);
    int64_t elements = 1;
    for (int i = 0; i < rank; i++) {
        bool zero = may_be_empty && dims[i] == 0;
        if (!zero && (dims[i] < 1 || (elements > 0 && dims[i] > INT32_MAX / elements)))
            return ad_node_fail(
                node, err,
                "'%s' has dimension %d = %" PRId64
                ": each must be at least 1, and all together less than 2^31 elements",
                name, i, dims[i]);
        elements *= dims[i];
    }
    struct ad_draft_value value = {
        .name = name, .rank = rank, .elements = elements, .type = ADAPS_FLOAT32};
    if (rank > 0) /* before growing: dims may be those of another value */
        memcpy(value.dims, dims, (size_t)rank * sizeof *dims);
    if (d->nvalues >= INT32_MAX ||
        !ad_grow(&d->values, d->nvalues, &d->values_capacity, sizeof *d->values))
        return ad_error_memory(err, "values", d->nvalues * sizeof *d->values);
    d->values[d->nvalues] = value;
    *out = (int)d->nvalues++;
    return ADAPS_OK;
}

enum adaps_status ad_draft_value(struct ad_node *node, const char *name, int rank,
                                 const int64_t *dims, int *out, struct adaps_error *err)
{
    return add_value(node, name, rank, dims, false, out, err);
}

enum adaps_status ad_draft_leaf(struct ad_node *node, const char *name, int rank,
                                const int64_t *dims, struct ad_const *constant, int *out,
                                struct adaps_error *err)
{
    enum adaps_status status = add_value(node, name, rank, dims, constant != NULL, out, err);
    if (status == ADAPS_OK)
        node->draft->values[*out].constant = constant;
    return status;
}

/* What all ops but WHOLE read: floats, and of known dims, but for functions of single elements. */
static enum adaps_status need_floats(const struct ad_node *node, int value, bool open,
                                     struct adaps_error *err)
{
    const struct ad_draft_value *v = &node->draft->values[value];
    if (v->constant || (v->type == ADAPS_FLOAT32 && (open || !v->open)))
        return ADAPS_OK;
    return ad_node_fail(node, err, "its input '%s', %s%s, is not supported here", v->name,
                        ad_type_name(v->type),
                        v->open ? " of a length that only the run knows" : "");
}

enum adaps_status ad_draft_op(struct ad_node *node, enum ad_draft_kind kind, int ninputs,
                              const int *inputs, int rank, const int64_t *dims,
                              struct ad_draft_op **out, struct adaps_error *err)
{
    struct ad_draft *d = node->draft;
    int output;
    enum adaps_status status = ADAPS_OK;
    bool open = kind == AD_D_UNARY && d->values[inputs[0]].open;
    for (int k = 0; k < ninputs && kind != AD_D_WHOLE && status == ADAPS_OK; k++)
        status = need_floats(node, inputs[k], open, err);
    if (status == ADAPS_OK)
        status = ad_draft_value(node, node->proto->output[0], rank, dims, &output, err);
    if (status != ADAPS_OK)
        return status;
    d->values[output].open = open;
    struct ad_draft_op *op = ad_arena_alloc(&d->arena, 1, sizeof *op);
    int *copy = ad_arena_alloc(&d->arena, (size_t)ninputs, sizeof *copy);
    if (!op || !copy || !ad_grow(&d->ops, d->nops, &d->ops_capacity, sizeof(struct ad_draft_op *)))
        return ad_error_memory(err, "operators", sizeof *op);
    memcpy(copy, inputs, (size_t)ninputs * sizeof *copy);
    *op = (struct ad_draft_op){.kind = kind,
                               .node = d->node,
                               .name = node->name,
                               .type = node->type,
                               .ninputs = ninputs,
                               .inputs = copy,
                               .output = output,
                               .groups = 1,
                               .clamp_min = -INFINITY,
                               .clamp_max = INFINITY,
                               .weight = -1};
    d->ops[d->nops++] = op;
    d->values[output].producer = op;
    *out = op;
    return ADAPS_OK;
}

/* A new constant value for output 0; a tensor that comes with it is taken over. */
static enum adaps_status add_constant(struct ad_node *node, struct ad_const constant, int rank,
                                      const int64_t *dims, int *out, struct adaps_error *err)
{
    struct ad_draft *d = node->draft;
    struct ad_const *k = ad_arena_alloc(&d->arena, 1, sizeof *k);
    if (!k) {
        ad_onnx_tensor_fini(&constant.tensor);
        return ad_error_memory(err, "constants", sizeof *k);
    }
    *k = constant;
    k->next = d->constants;
    d->constants = k;
    return ad_draft_leaf(node, node->proto->output[0], rank, dims, k, out, err);
}

enum adaps_status ad_draft_dequantised(struct ad_node *node, const struct ad_dequantised *from,
                                       int *out, struct adaps_error *err)
{
    struct ad_dequantised *kept = ad_arena_alloc(&node->draft->arena, 1, sizeof *kept);
    int64_t dims[AD_MAX_RANK];
    if (!kept)
        return ad_error_memory(err, "constants", sizeof *kept);
    *kept = *from;
    memcpy(dims, node->draft->values[from->x].dims, sizeof dims);
    return add_constant(node, (struct ad_const){.dequantised = kept},
                        node->draft->values[from->x].rank, dims, out, err);
}

enum adaps_status ad_draft_stored(struct ad_node *node, const Onnx__TensorProto *proto, int *out,
                                  struct adaps_error *err)
{
    bool unused;
    int rank = proto->n_dims > AD_MAX_RANK ? AD_MAX_RANK + 1 : (int)proto->n_dims;
    enum adaps_status status =
        add_constant(node, (struct ad_const){.proto = proto}, rank, proto->dims, out, err);
    return status == ADAPS_OK ? ad_draft_check(node->draft, *out, &unused, err) : status;
}

enum adaps_status ad_draft_constant(struct ad_node *node, struct ad_onnx_tensor *tensor, int *out,
                                    struct adaps_error *err)
{
    struct ad_onnx_tensor taken = *tensor;
    memset(tensor, 0, sizeof *tensor);
    return add_constant(node, (struct ad_const){.tensor = taken}, taken.rank, taken.dims, out, err);
}

void ad_node_set_output(struct ad_node *node, size_t k, int value)
{
    struct ad_name *name = ad_names_find(&node->draft->names, node->proto->output[k]);
    struct ad_draft_value *v = &node->draft->values[value];
    if (!name)
        return;
    name->value = value;
    if (k > 0 && v->name == node->proto->output[0])
        v->name = name->key;
}

void ad_node_set(struct ad_node *node, int value)
{
    ad_node_set_output(node, 0, value);
}

enum adaps_status ad_node_fold(struct ad_node *node, struct ad_onnx_tensor *tensor,
                               struct adaps_error *err)
{
    int value;
    enum adaps_status status = ad_draft_constant(node, tensor, &value, err);
    if (status == ADAPS_OK)
        ad_node_set(node, value);
    return status;
}

/* The file's own bytes, when they are in memory, float32 in this machine's order and suitably
 * aligned. */
static bool borrow(struct ad_const *k)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const Onnx__TensorProto *proto = k->proto;
    if (proto->data_type != ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT || proto->has_stored ||
        k->tensor.count == 0)
        return false;
    if (!proto->has_raw_data)
        k->tensor.f = proto->float_data;
    else if ((uintptr_t)proto->raw_data.data % _Alignof(float) == 0)
        k->tensor.f = (float *)(void *)proto->raw_data.data;
    return k->borrowed = k->tensor.f != NULL;
#else
    (void)k;
    return false;
#endif
}

/* Whether a constant has many numbers, decoded from what stays there. */
static bool can_drop(const struct ad_const *c)
{
    return (c->proto || c->dequantised) && !c->borrowed && c->tensor.count >= DROP_ELEMENTS &&
           (c->tensor.f || c->tensor.i);
}

static void drop(struct ad_const *c)
{
    ad_free(c->tensor.f);
    ad_free(c->tensor.i);
    c->tensor.f = NULL;
    c->tensor.i = NULL;
    c->dropped = true;
}

void ad_draft_drop(struct ad_draft *draft, int value)
{
    struct ad_const *c = draft->values[value].constant;
    if (can_drop(c))
        drop(c);
}

/* The numbers of a dequantised constant. */
static enum adaps_status dequantise(struct ad_draft *draft, int value, struct ad_const *k,
                                    struct adaps_error *err)
{
    const struct ad_dequantised *from = k->dequantised;
    const struct ad_draft_value v = draft->values[value];
    const int64_t *dims = draft->values[from->x].dims;
    const struct ad_onnx_tensor *x;
    enum adaps_status status = ad_draft_tensor(draft, from->x, &x, err);
    if (status != ADAPS_OK)
        return status;
    size_t inner = 1, count = x->count;
    for (int i = from->axis + 1; i < draft->values[from->x].rank; i++)
        inner *= (size_t)dims[i];
    float *f = ad_alloc_aligned(count * sizeof *f);
    if (!f)
        return ad_error_memory(err, v.name, count * sizeof *f);
    for (size_t i = 0; i < count; i++) {
        size_t at = from->count == 1 ? 0 : i / inner % (size_t)from->count;
        f[i] = (float)(x->i[i] - from->zero[at]) * from->scale[at];
    }
    ad_draft_drop(draft, from->x); /* eight times the bytes in the file */
    k->tensor.rank = v.rank;
    memcpy(k->tensor.dims, v.dims, sizeof k->tensor.dims);
    k->tensor.count = count;
    k->tensor.f = f;
    return ADAPS_OK;
}

enum adaps_status ad_draft_check(struct ad_draft *draft, int value, bool *is_float,
                                 struct adaps_error *err)
{
    struct ad_draft_value *v = &draft->values[value];
    struct ad_const *k = v->constant;
    if (k->proto && !k->checked) {
        enum adaps_status status =
            ad_onnx_tensor_check(draft->model, k->proto, v->name, &k->tensor, err);
        if (status == ADAPS_EINPUT)
            ad_error_prefix(err, "%s: ", draft->model->path);
        if (status != ADAPS_OK)
            return status;
        k->checked = true;
        draft->fold_left += 2 * v->elements;
    }
    *is_float = k->dequantised || (k->given ? k->given->is_float : k->tensor.is_float);
    return ADAPS_OK;
}

enum adaps_status ad_draft_tensor(struct ad_draft *draft, int value,
                                  const struct ad_onnx_tensor **out, struct adaps_error *err)
{
    struct ad_draft_value *v = &draft->values[value];
    struct ad_const *k = v->constant;
    bool is_float;
    enum adaps_status status = ad_draft_check(draft, value, &is_float, err);
    if (status == ADAPS_OK && k->proto && !k->tensor.f && !k->tensor.i && !borrow(k)) {
        status = ad_onnx_tensor_decode(draft->model, k->proto, v->name, &k->tensor, err);
        k->checked = status == ADAPS_OK;
        if (status == ADAPS_EINPUT)
            ad_error_prefix(err, "%s: ", draft->model->path);
    }
    if (status == ADAPS_OK && k->dequantised && !k->tensor.f) {
        k->tensor.is_float = true;
        status = dequantise(draft, value, k, err);
    }
    *out = k->given ? k->given : &k->tensor;
    return status;
}

void ad_node_drop(struct ad_node *node)
{
    for (int k = 0; k < node->ninputs; k++) {
        struct ad_const *c = ad_node_constant(node, k) ? ad_node_input(node, k)->constant : NULL;
        if (c && !c->dropped && can_drop(c))
            drop(c);
    }
}

/* Input k as a constant, else an error naming `what`. */
static enum adaps_status constant_input(struct ad_node *node, int k, const char *what,
                                        bool is_float, struct adaps_error *err)
{
    bool has_floats;
    if (!ad_node_has(node, k))
        return ad_node_fail(node, err, "input %d (%s) is missing", k, what);
    if (!ad_node_constant(node, k))
        return ad_node_fail(node, err,
                            "input %d (%s), '%s', must be a constant: computing it at "
                            "run time is not supported",
                            k, what, ad_node_input(node, k)->name);
    enum adaps_status status = ad_draft_check(node->draft, node->inputs[k], &has_floats, err);
    if (status == ADAPS_OK && has_floats != is_float)
        return ad_node_fail(node, err, "input %d (%s), '%s', is not of %s type", k, what,
                            ad_node_input(node, k)->name, is_float ? "a float" : "an integer");
    return status;
}

static enum adaps_status constant_tensor(struct ad_node *node, int k, const char *what,
                                         bool is_float, const struct ad_onnx_tensor **out,
                                         struct adaps_error *err)
{
    enum adaps_status status = constant_input(node, k, what, is_float, err);
    return status == ADAPS_OK ? ad_draft_tensor(node->draft, node->inputs[k], out, err) : status;
}

enum adaps_status ad_node_ints(struct ad_node *node, int k, const char *what,
                               const struct ad_onnx_tensor **out, struct adaps_error *err)
{
    return constant_tensor(node, k, what, false, out, err);
}

enum adaps_status ad_node_floats(struct ad_node *node, int k, const char *what,
                                 const struct ad_onnx_tensor **out, struct adaps_error *err)
{
    return constant_tensor(node, k, what, true, out, err);
}

enum adaps_status ad_node_float_weight(struct ad_node *node, int k, const char *what,
                                       struct adaps_error *err)
{
    return constant_input(node, k, what, true, err);
}

enum adaps_status ad_node_arity(const struct ad_node *node, int required, int hi,
                                struct adaps_error *err)
{
    if (node->proto->n_output < 1 || !*node->proto->output[0])
        return ad_node_fail(node, err, "it has no output");
    if (node->ninputs > hi)
        return ad_node_fail(node, err, "%d inputs, at most %d are supported", node->ninputs, hi);
    for (int k = 0; k < required; k++)
        if (!ad_node_has(node, k))
            return ad_node_fail(node, err, "input %d is missing", k);
    return ADAPS_OK;
}

enum adaps_status ad_node_data(const struct ad_node *node, int k, struct adaps_error *err)
{
    if (ad_node_constant(node, k))
        return ad_node_fail(node, err,
                            "input %d, '%s', is a constant: only folding of shapes and "
                            "simple arithmetic is supported",
                            k, ad_node_input(node, k)->name);
    return ADAPS_OK;
}

enum adaps_status ad_node_axis(const struct ad_node *node, int64_t axis, int rank, int *out,
                               struct adaps_error *err)
{
    if (axis < -rank || axis >= rank)
        return ad_node_fail(node, err, "axis %" PRId64 " of a value of rank %d", axis, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return ADAPS_OK;
}

static bool same_dims(const struct ad_draft_value *v, int rank, const int64_t *dims)
{
    return v->rank == rank &&
           (rank == 0 || memcmp(v->dims, dims, (size_t)rank * sizeof *dims) == 0);
}

enum adaps_status ad_draft_reshape(struct ad_node *node, int value, int rank, const int64_t *dims,
                                   int *out, struct adaps_error *err)
{
    struct ad_draft *d = node->draft;
    struct ad_const *constant = d->values[value].constant;
    enum adaps_status status;
    if (constant) {
        bool unused; /* checked under the value that has the file's name */
        status = ad_draft_check(d, value, &unused, err);
        if (status == ADAPS_OK)
            status = add_value(node, node->proto->output[0], rank, dims, true, out, err);
        if (status == ADAPS_OK)
            d->values[*out].constant = constant;
        return status;
    }
    struct ad_draft_op *before = d->values[value].producer, *op;
    if (before && before->kind == AD_D_RESHAPE)
        value = before->inputs[0];
    if (same_dims(&d->values[value], rank, dims)) {
        *out = value;
        return ADAPS_OK;
    }
    status = ad_draft_op(node, AD_D_RESHAPE, 1, &value, rank, dims, &op, err);
    if (status == ADAPS_OK)
        *out = op->output;
    return status;
}

enum adaps_status ad_draft_transpose(struct ad_node *node, int value, const int32_t *perm, int *out,
                                     struct adaps_error *err)
{
    struct ad_draft *d = node->draft;
    int rank = d->values[value].rank;
    int32_t composed[AD_MAX_RANK] = {0};
    memcpy(composed, perm, (size_t)rank * sizeof *perm);
    struct ad_draft_op *before = d->values[value].producer, *op;
    if (before && before->kind == AD_D_TRANSPOSE) {
        for (int i = 0; i < rank; i++)
            composed[i] = before->perm[perm[i]];
        value = before->inputs[0];
    }
    const int64_t *from = d->values[value].dims;
    int64_t dims[AD_MAX_RANK];
    int32_t last = -1;
    bool moves = false;
    for (int i = 0; i < rank; i++) {
        dims[i] = from[composed[i]];
        if (dims[i] == 1)
            continue;
        moves = moves || composed[i] < last;
        last = composed[i];
    }
    if (!moves) /* only dims of 1 change places: the elements stay in order */
        return ad_draft_reshape(node, value, rank, dims, out, err);
    enum adaps_status status = ad_draft_op(node, AD_D_TRANSPOSE, 1, &value, rank, dims, &op, err);
    if (status == ADAPS_OK) {
        memcpy(op->perm, composed, sizeof op->perm);
        *out = op->output;
    }
    return status;
}
