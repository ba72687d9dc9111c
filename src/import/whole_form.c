#include "import/whole_form.h"

#include <string.h>

/* --- types --- */

enum adaps_type ad_run_time_type(int32_t type)
{
    if (ad_onnx_type_is_float(type))
        return ADAPS_FLOAT32;
    return ad_type_bytes((enum adaps_type)type) > 0 ? (enum adaps_type)type : (enum adaps_type)0;
}

enum adaps_status ad_form_type_constant(const struct ad_form *f, int k)
{
    struct ad_node *node = f->node;
    struct ad_draft_value *v = &node->draft->values[f->inputs[k]];
    int32_t type = v->file_type;
    bool is_float;
    enum adaps_status status = ad_draft_check(node->draft, f->inputs[k], &is_float, f->err);
    if (status != ADAPS_OK)
        return status;
    for (int i = 0; i < node->ninputs && type == 0; i++)
        if (node->inputs[i] == f->inputs[k])
            type = node->types[i];
    char buf[24];
    v->type = type == 0 ? (is_float ? ADAPS_FLOAT32 : ADAPS_INT64) : ad_run_time_type(type);
    if (v->type == 0)
        return ad_node_fail(node, f->err, "its input '%s' is of type %s, which is not supported",
                            v->name, ad_onnx_type_name(type, buf, sizeof buf));
    return ADAPS_OK;
}

bool ad_node_is_typed(const struct ad_node *node)
{
    for (int k = 0; k < node->ninputs; k++)
        if (ad_node_has(node, k) && !ad_node_constant(node, k) &&
            ad_node_input(node, k)->type != ADAPS_FLOAT32)
            return true;
    return false;
}

bool ad_node_is_open(const struct ad_node *node)
{
    for (int k = 0; k < node->ninputs; k++)
        if (ad_node_has(node, k) && ad_node_input(node, k)->open)
            return true;
    return false;
}

/* --- putting it into the draft --- */

void ad_form_push(struct ad_form *f, int64_t number)
{
    if (f->nints < AD_FORM_MOST_INTS)
        f->ints[f->nints] = number;
    f->nints++;
}

void ad_form_push_float(struct ad_form *f, float number)
{
    f->floats[f->nfloats++] = number;
}

static enum adaps_status infer(const struct ad_form *f, struct ad_array *out)
{
    const struct ad_draft *d = f->node->draft;
    const struct ad_whole op = {f->kind, f->to, f->ints, f->nints, f->floats, f->nfloats};
    struct ad_array *arrays = ad_calloc((size_t)f->ninputs + 1, sizeof *arrays);
    struct adaps_error why;
    if (!arrays)
        return ad_error_memory(f->err, "operands", (size_t)f->ninputs * sizeof *arrays);
    enum adaps_status status = ADAPS_OK;
    for (int k = 0; k < f->ninputs && status == ADAPS_OK; k++) {
        if (d->values[f->inputs[k]].constant)
            status = ad_form_type_constant(f, k);
        const struct ad_draft_value *v = &d->values[f->inputs[k]];
        arrays[k] = (struct ad_array){.type = v->type, .rank = v->rank, .open = v->open};
        memcpy(arrays[k].dims, v->dims, sizeof v->dims);
    }
    if (status == ADAPS_OK && ad_whole_infer(&op, arrays, f->ninputs, out, &why) != ADAPS_OK)
        status = ad_node_fail(f->node, f->err, "%s", why.message);
    ad_free(arrays);
    return status;
}

enum adaps_status ad_form_emit(const struct ad_form *f, int *value)
{
    struct ad_draft *d = f->node->draft;
    struct ad_array result;
    struct ad_draft_op *op;
    bool computed = false;
    for (int k = 0; k < f->ninputs; k++) {
        if (f->inputs[k] < 0)
            return ad_node_fail(f->node, f->err, "input %d is missing", k);
        computed = computed || !d->values[f->inputs[k]].constant;
    }
    if (f->nints > AD_FORM_MOST_INTS || f->ninputs > AD_WHOLE_MOST_INPUTS)
        return ad_node_fail(f->node, f->err, "%d attributes and %d inputs are too many", f->nints,
                            f->ninputs);
    if (!computed)
        return ad_node_fail(f->node, f->err,
                            "all its inputs are constants: this operator is not computed on "
                            "import");
    enum adaps_status status = infer(f, &result);
    if (status == ADAPS_OK)
        status = ad_draft_op(f->node, AD_D_WHOLE, f->ninputs, f->inputs, result.rank, result.dims,
                             &op, f->err);
    if (status != ADAPS_OK)
        return status;
    int64_t *ints = ad_arena_alloc(&d->arena, (size_t)f->nints + 1, sizeof *ints);
    float *floats = ad_arena_alloc(&d->arena, (size_t)f->nfloats + 1, sizeof *floats);
    if (!ints || !floats)
        return ad_error_memory(f->err, "attributes", (size_t)f->nints * sizeof *ints);
    memcpy(ints, f->ints, (size_t)f->nints * sizeof *ints);
    memcpy(floats, f->floats, (size_t)f->nfloats * sizeof *floats);
    op->whole = (struct ad_whole){f->kind, f->to, ints, f->nints, floats, f->nfloats};
    d->values[op->output].type = result.type;
    d->values[op->output].open = result.open;
    *value = op->output;
    return ad_draft_find_bounds(d, op, f->err);
}

enum adaps_status ad_form_finish(const struct ad_form *f, size_t output)
{
    int value;
    enum adaps_status status = ad_form_emit(f, &value);
    if (status == ADAPS_OK && f->node->proto->n_output > output && *f->node->proto->output[output])
        ad_node_set_output(f->node, output, value);
    return status;
}

enum adaps_status ad_form_zero(const struct ad_form *f, enum adaps_type type, int *value)
{
    struct ad_onnx_tensor t;
    bool is_float = type == ADAPS_FLOAT32;
    enum adaps_status status = ad_fold_tensor(f->node, 0, NULL, is_float, &t, f->err);
    if (status != ADAPS_OK)
        return status;
    if (is_float)
        t.f[0] = 0;
    else
        t.i[0] = 0;
    status = ad_draft_constant(f->node, &t, value, f->err);
    if (status == ADAPS_OK)
        f->node->draft->values[*value].file_type = (int32_t)type;
    return status;
}

/* --- attributes --- */

const struct ad_draft_value *ad_form_input(const struct ad_form *f, int k)
{
    return ad_node_input(f->node, k);
}

enum adaps_status ad_form_attribute(struct ad_form *f, const char *name, int64_t fallback)
{
    int64_t number = fallback;
    enum adaps_status status = ad_node_int(f->node, name, fallback, &number, f->err);
    ad_form_push(f, number);
    return status;
}

enum adaps_status ad_form_axis(struct ad_form *f, const char *name, int64_t fallback, int rank)
{
    int64_t axis = fallback;
    int at = 0;
    enum adaps_status status = ad_node_int(f->node, name, fallback, &axis, f->err);
    if (status == ADAPS_OK)
        status = ad_node_axis(f->node, axis, rank, &at, f->err);
    ad_form_push(f, at);
    return status;
}

enum adaps_status ad_form_list(struct ad_form *f, int k, const char *name, const int64_t **items,
                               size_t *count)
{
    const struct ad_onnx_tensor *t;
    static const int64_t none;
    *items = NULL;
    *count = 0;
    if (k > 0 && ad_node_has(f->node, k)) {
        enum adaps_status status = ad_node_ints(f->node, k, name, &t, f->err);
        if (status == ADAPS_OK) {
            *items = t->count > 0 ? t->i : &none;
            *count = t->count;
        }
        return status;
    }
    if (!ad_onnx_attribute(f->node->proto, name))
        return ADAPS_OK;
    enum adaps_status status = ad_node_prefix(
        f->node, ad_onnx_attr_ints(f->node->proto, name, items, count, f->err), f->err);
    if (*count == 0)
        *items = &none;
    return status;
}

enum adaps_status ad_form_push_list(struct ad_form *f, int k, const char *name)
{
    const int64_t *items;
    size_t count;
    enum adaps_status status = ad_form_list(f, k, name, &items, &count);
    if (status == ADAPS_OK && !items)
        return ad_node_fail(f->node, f->err, "it has no %s", name);
    for (size_t i = 0; i < count && status == ADAPS_OK; i++)
        ad_form_push(f, items[i]);
    return status;
}

enum adaps_status ad_form_axes(struct ad_form *f, int k, int rank, bool *given)
{
    const int64_t *items;
    size_t count;
    bool chosen[2 * AD_MAX_RANK] = {false};
    enum adaps_status status = ad_form_list(f, k, "axes", &items, &count);
    *given = count > 0;
    for (size_t i = 0; i < count && status == ADAPS_OK; i++) {
        int at = 0;
        status = ad_node_axis(f->node, items[i], rank, &at, f->err);
        chosen[at] = status == ADAPS_OK;
    }
    for (int i = 0; i < rank && i < 2 * AD_MAX_RANK; i++)
        if (chosen[i])
            ad_form_push(f, i);
    return status;
}

enum adaps_status ad_form_number(struct ad_form *f, int k, const char *what, int64_t *out)
{
    const struct ad_onnx_tensor *t;
    enum adaps_status status = ad_node_ints(f->node, k, what, &t, f->err);
    if (status == ADAPS_OK && t->count != 1)
        return ad_node_fail(f->node, f->err, "input %d (%s) has %zu elements", k, what, t->count);
    if (status == ADAPS_OK)
        *out = t->i[0];
    return status;
}

enum adaps_status ad_form_float(struct ad_form *f, int k, const char *what, float *out)
{
    const struct ad_onnx_tensor *t;
    if (!ad_node_has(f->node, k))
        return ADAPS_OK;
    enum adaps_status status = ad_node_floats(f->node, k, what, &t, f->err);
    if (status == ADAPS_OK && t->count != 1)
        return ad_node_fail(f->node, f->err, "input %d (%s) has %zu elements", k, what, t->count);
    if (status == ADAPS_OK)
        *out = t->f[0];
    return status;
}

enum adaps_status ad_form_word(struct ad_form *f, const char *name, const char *fallback,
                               const char *const *words)
{
    char word[32];
    enum adaps_status status = ad_node_prefix(
        f->node, ad_onnx_attr_string(f->node->proto, name, fallback, word, sizeof word, f->err),
        f->err);
    for (int i = 0; status == ADAPS_OK && words[i]; i++)
        if (strcmp(word, words[i]) == 0) {
            ad_form_push(f, i);
            return ADAPS_OK;
        }
    return status == ADAPS_OK
               ? ad_node_fail(f->node, f->err, "its %s '%s' is not supported", name, word)
               : status;
}
