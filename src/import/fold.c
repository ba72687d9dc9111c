/* The operators that exporters write to compute shapes, on constants. On what is computed at run
 * time they run whole on one device (whole.c). */
#include "import/whole_form.h"

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

static bool is_set(const struct ad_onnx_tensor *t, size_t i)
{
    return t->is_float ? t->f[i] != 0 : t->i[i] != 0;
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

/* Whether at least one of the first `count` inputs is computed at run time. */
static bool is_computed(const struct ad_node *node, int count)
{
    bool any = false;
    for (int k = 0; k < count; k++)
        any = any || (ad_node_has(node, k) && !ad_node_constant(node, k));
    return any;
}

enum adaps_status ad_import_comparison(struct ad_node *node, struct adaps_error *err)
{
    if (is_computed(node, 2))
        return ad_import_whole(node, err);
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
    if (is_computed(node, 1))
        return ad_import_whole(node, err);
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

static double negative(double x)
{
    return -x;
}

static double reciprocal(double x)
{
    return 1 / x;
}

typedef double real_function(double x);

/* NULL where the type is none of a function that folds. */
static real_function *function_of_constant(const char *type)
{
    static const struct {
        const char *type;
        real_function *compute;
    } functions[] = {
        {"Abs", fabs},    {"Ceil", ceil}, {"Erf", erf},      {"Exp", exp},
        {"Floor", floor}, {"Log", log},   {"Neg", negative}, {"Reciprocal", reciprocal},
        {"Sqrt", sqrt},   {"Tanh", tanh}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(type, functions[i].type) == 0)
            return functions[i].compute;
    return NULL;
}

bool ad_folds_constant(const char *type)
{
    return function_of_constant(type) != NULL;
}

/* Of floats, and the negative of integers. */
enum adaps_status ad_import_constant_unary(struct ad_node *node, struct adaps_error *err)
{
    struct ad_onnx_tensor t;
    real_function *compute = function_of_constant(node->type);
    enum adaps_status status = operands(node, 1, &t, err);
    if (status == ADAPS_OK && !t.is_float && strcmp(node->type, "Neg") != 0)
        status = ad_node_fail(node, err, "its operand is of integers");
    for (size_t i = 0; status == ADAPS_OK && i < t.count; i++) {
        if (t.is_float)
            t.f[i] = (float)compute((double)t.f[i]);
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
    struct ad_onnx_tensor in[3] = {0}, t = {0};
    if (is_computed(node, 3))
        return ad_import_whole(node, err);
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

/* Of constant integers; the sign of the result is that of the divisor. */
enum adaps_status ad_import_mod(struct ad_node *node, struct adaps_error *err)
{
    if (is_computed(node, 2))
        return ad_import_whole(node, err);
    struct ad_onnx_tensor in[2];
    int64_t fmod;
    enum adaps_status status = operands(node, 2, in, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "fmod", 0, &fmod, err);
    if (status == ADAPS_OK && (in[0].is_float || in[1].is_float || fmod != 0))
        status = ad_node_fail(node, err, "only integers without fmod are supported");
    for (size_t i = 0; status == ADAPS_OK && i < in[0].count; i++) {
        int64_t by = in[1].i[i], rest;
        if (by == 0)
            status = ad_node_fail(node, err, "a division by zero");
        rest = by == 0 || by == -1 ? 0 : in[0].i[i] % by;
        in[0].i[i] = rest != 0 && (rest < 0) != (by < 0) ? rest + by : rest;
    }
    ad_onnx_tensor_fini(&in[1]);
    if (status == ADAPS_OK)
        return ad_node_fold(node, &in[0], err);
    ad_onnx_tensor_fini(&in[0]);
    return status;
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
    int64_t n = status == ADAPS_OK && count > 0 ? (int64_t)count : 0;
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

/* The indices of what is not 0, a column for each (what PyTorch makes of arange before opset 11).
 */
enum adaps_status ad_import_nonzero(struct ad_node *node, struct adaps_error *err)
{
    if (is_computed(node, 1))
        return ad_import_whole(node, err);
    struct ad_onnx_tensor in, t = {0};
    int64_t dims[2] = {0};
    enum adaps_status status = operands(node, 1, &in, err);
    if (status == ADAPS_OK) {
        dims[0] = in.rank;
        for (size_t i = 0; i < in.count; i++)
            dims[1] += is_set(&in, i);
        status = ad_fold_tensor(node, 2, dims, false, &t, err);
    }
    int64_t column = 0;
    for (size_t i = 0; status == ADAPS_OK && i < in.count; i++) {
        int64_t rest = (int64_t)i;
        for (int k = in.rank - 1; k >= 0 && is_set(&in, i); k--) {
            t.i[k * dims[1] + column] = rest % in.dims[k];
            rest /= in.dims[k];
        }
        column += is_set(&in, i);
    }
    free_operands(1, &in);
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

/* (x - zero) * scale, each along its axis: constants, as the weights of quantised models are. */
enum adaps_status ad_import_dequantize(struct ad_node *node, struct adaps_error *err)
{
    const struct ad_onnx_tensor *scale, *zero = NULL;
    int64_t axis, block;
    bool is_float;
    int at = 0;
    if (is_computed(node, 3))
        return ad_import_whole(node, err);
    enum adaps_status status = ad_node_arity(node, 2, 3, err);
    if (status == ADAPS_OK)
        status = ad_draft_check(node->draft, node->inputs[0], &is_float, err);
    if (status == ADAPS_OK && is_float)
        status = ad_node_fail(node, err, "input 0 (x), '%s', is not of an integer type",
                              ad_node_input(node, 0)->name);
    if (status == ADAPS_OK)
        status = ad_node_floats(node, 1, "x_scale", &scale, err);
    if (status == ADAPS_OK && ad_node_has(node, 2))
        status = ad_node_ints(node, 2, "x_zero_point", &zero, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "axis", 1, &axis, err);
    if (status == ADAPS_OK)
        status = ad_node_int(node, "block_size", 0, &block, err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_draft_value in = *ad_node_input(node, 0);
    bool one = scale->count == 1;
    if (!one)
        status = ad_node_axis(node, axis, in.rank, &at, err);
    if (status == ADAPS_OK && (block != 0 || (!one && scale->count != (size_t)in.dims[at]) ||
                               (zero && zero->count != scale->count)))
        status = ad_node_fail(node, err, "%zu scales, %zu zero points, blocks of %" PRId64,
                              scale->count, zero ? zero->count : 0, block);
    if (status != ADAPS_OK)
        return status;
    float *scales = ad_arena_alloc(&node->draft->arena, scale->count, sizeof *scales);
    int64_t *zeros = ad_arena_alloc(&node->draft->arena, scale->count, sizeof *zeros);
    if (!scales || !zeros)
        return ad_error_memory(err, "scales", scale->count * sizeof *zeros);
    memcpy(scales, scale->f, scale->count * sizeof *scales);
    for (size_t i = 0; i < scale->count; i++)
        zeros[i] = zero ? zero->i[i] : 0;
    const struct ad_dequantised from = {
        .x = node->inputs[0],
        .type = ad_run_time_type(in.file_type ? in.file_type : node->types[0]),
        .axis = at,
        .count = (int64_t)scale->count,
        .scale = scales,
        .zero = zeros};
    int out;
    status = ad_draft_dequantised(node, &from, &out, err);
    if (status == ADAPS_OK)
        ad_node_set(node, out);
    return status;
}
