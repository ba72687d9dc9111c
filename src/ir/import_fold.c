/* Operators that are supported for constants only: what exporters write to compute shapes. */
#include "ir/import_priv.h"

#include <inttypes.h>
#include <string.h>

/* All inputs as constants, `count` of them, stretched to what they have in common; the caller frees
 * them, also after a failure. */
static enum adaps_status operands(struct ad_node *node, int count, struct ad_onnx_tensor *out,
                                  struct adaps_error *err)
{
    struct ad_draft_value all = {.rank = 0};
    memset(out, 0, (size_t)count * sizeof *out);
    enum adaps_status status = ad_node_arity(node, count, count, err);
    for (int k = 0; k < count && status == ADAPS_OK; k++) {
        struct ad_draft_value v = *ad_node_input(node, k), together = {.rank = 0};
        if (!v.constant)
            return ad_node_fail(node, err,
                                "input %d, '%s', is computed at run time: it is supported for "
                                "constants only",
                                k, v.name);
        if (!ad_broadcast_dims(&all, &v, &together.rank, together.dims))
            return ad_node_fail(node, err, "input %d, '%s', does not fit the others", k, v.name);
        all = together;
    }
    for (int k = 0; k < count && status == ADAPS_OK; k++)
        status = ad_fold_stretched(node, node->inputs[k], all.rank, all.dims, &out[k], err);
    return status;
}

static void free_operands(int count, struct ad_onnx_tensor *tensors)
{
    for (int k = 0; k < count; k++)
        ad_onnx_tensor_fini(&tensors[k]);
}

/* -1, 0, 1; 2 with a NaN. */
static int order(const struct ad_onnx_tensor *a, const struct ad_onnx_tensor *b, size_t i)
{
    if (a->is_float)
        return a->f[i] < b->f[i] ? -1 : a->f[i] > b->f[i] ? 1 : a->f[i] == b->f[i] ? 0 : 2;
    return a->i[i] < b->i[i] ? -1 : a->i[i] > b->i[i];
}

static bool holds(const char *type, int order, bool a, bool b)
{
    if (strcmp(type, "Equal") == 0)
        return order == 0;
    if (strcmp(type, "Less") == 0)
        return order == -1;
    if (strcmp(type, "LessOrEqual") == 0)
        return order == -1 || order == 0;
    if (strcmp(type, "Greater") == 0)
        return order == 1;
    if (strcmp(type, "GreaterOrEqual") == 0)
        return order == 1 || order == 0;
    return strcmp(type, "And") == 0 ? a && b : strcmp(type, "Or") == 0 ? a || b : a != b;
}

enum adaps_status ad_import_comparison(struct ad_node *node, struct adaps_error *err)
{
    struct ad_onnx_tensor in[2], t = {0};
    enum adaps_status status = operands(node, 2, in, err);
    if (status == ADAPS_OK && in[0].is_float != in[1].is_float)
        status = ad_node_fail(node, err, "its operands differ in type");
    if (status == ADAPS_OK)
        status = ad_fold_tensor(node, in[0].rank, in[0].dims, false, &t, err);
    for (size_t i = 0; status == ADAPS_OK && i < t.count; i++)
        t.i[i] = holds(node->type, order(&in[0], &in[1], i), !in[0].is_float && in[0].i[i],
                       !in[1].is_float && in[1].i[i]);
    free_operands(2, in);
    return status == ADAPS_OK ? ad_node_fold(node, &t, err) : status;
}

enum adaps_status ad_import_not(struct ad_node *node, struct adaps_error *err)
{
    struct ad_onnx_tensor t;
    enum adaps_status status = operands(node, 1, &t, err);
    if (status == ADAPS_OK && t.is_float)
        status = ad_node_fail(node, err, "its operand is no boolean");
    for (size_t i = 0; status == ADAPS_OK && i < t.count; i++)
        t.i[i] = !t.i[i];
    if (status == ADAPS_OK)
        return ad_node_fold(node, &t, err);
    free_operands(1, &t);
    return status;
}

/* Floor, Ceil and Neg. */
enum adaps_status ad_import_constant_unary(struct ad_node *node, struct adaps_error *err)
{
    struct ad_onnx_tensor t;
    char kind = node->type[0];
    enum adaps_status status = operands(node, 1, &t, err);
    if (status == ADAPS_OK && !t.is_float && kind != 'N')
        status = ad_node_fail(node, err, "its operand is of integers");
    for (size_t i = 0; status == ADAPS_OK && i < t.count; i++) {
        if (t.is_float)
            t.f[i] = kind == 'N' ? -t.f[i] : kind == 'C' ? ceilf(t.f[i]) : floorf(t.f[i]);
        else
            t.i[i] = (int64_t) - (uint64_t)t.i[i];
    }
    if (status == ADAPS_OK)
        return ad_node_fold(node, &t, err);
    free_operands(1, &t);
    return status;
}

enum adaps_status ad_import_where(struct ad_node *node, struct adaps_error *err)
{
    struct ad_onnx_tensor in[3], t = {0};
    enum adaps_status status = operands(node, 3, in, err);
    if (status == ADAPS_OK && (in[0].is_float || in[1].is_float != in[2].is_float))
        status =
            ad_node_fail(node, err, "the condition is no boolean, or the others differ in type");
    if (status == ADAPS_OK)
        status = ad_fold_tensor(node, in[0].rank, in[0].dims, in[1].is_float, &t, err);
    for (size_t i = 0; status == ADAPS_OK && i < t.count; i++) {
        const struct ad_onnx_tensor *from = &in[in[0].i[i] ? 1 : 2];
        if (t.is_float)
            t.f[i] = from->f[i];
        else
            t.i[i] = from->i[i];
    }
    free_operands(3, in);
    return status == ADAPS_OK ? ad_node_fold(node, &t, err) : status;
}

/* start, start + delta, ... before limit. */
enum adaps_status ad_import_range(struct ad_node *node, struct adaps_error *err)
{
    struct ad_onnx_tensor in[3], t = {0};
    double v[3] = {0};
    enum adaps_status status = operands(node, 3, in, err);
    if (status == ADAPS_OK &&
        (in[0].count != 1 || in[0].is_float != in[1].is_float || in[0].is_float != in[2].is_float))
        status =
            ad_node_fail(node, err, "start, limit and delta are not three numbers of one type");
    for (int k = 0; k < 3 && status == ADAPS_OK; k++)
        v[k] = in[k].is_float ? (double)in[k].f[0] : (double)in[k].i[0];
    double count = status == ADAPS_OK ? ceil((v[1] - v[0]) / v[2]) : 0;
    if (status == ADAPS_OK && !(count < 0x1p31))
        status = ad_node_fail(node, err, "from %g to %g by %g", v[0], v[1], v[2]);
    int64_t n = count > 0 ? (int64_t)count : 0;
    if (status == ADAPS_OK)
        status = ad_fold_tensor(node, 1, &n, in[0].is_float, &t, err);
    for (int64_t i = 0; status == ADAPS_OK && i < n; i++) {
        if (t.is_float)
            t.f[i] = in[0].f[0] + (float)i * in[2].f[0];
        else
            t.i[i] = (int64_t)((uint64_t)in[0].i[0] + (uint64_t)i * (uint64_t)in[2].i[0]);
    }
    free_operands(3, in);
    return status == ADAPS_OK ? ad_node_fold(node, &t, err) : status;
}

enum adaps_status ad_import_size(struct ad_node *node, struct adaps_error *err)
{
    struct ad_onnx_tensor t;
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = ad_fold_tensor(node, 0, NULL, false, &t, err);
    if (status != ADAPS_OK)
        return status;
    t.i[0] = ad_node_input(node, 0)->elements;
    return ad_node_fold(node, &t, err);
}
