/* What is done to the floats before they are rounded: batch normalisations into the convolutions
 * before them, and channels scaled between two layers. */
#include "quantise/quantise.h"

#include <math.h>
#include <string.h>

#define FLOAT ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT

static bool is(const Onnx__NodeProto *node, const char *type)
{
    return node && strcmp(node->op_type, type) == 0;
}

/* Weights and bias of a convolution. */
struct filters {
    struct ad_onnx_tensor w, b; /* b: a number for each output channel */
    size_t rows, row;           /* output channels; weights of each */
};

static void filters_fini(struct filters *f)
{
    ad_onnx_tensor_fini(&f->w);
    ad_onnx_tensor_fini(&f->b);
}

/* *has false: they are not constants. */
static enum adaps_status read_filters(const struct ad_edit *edit, const Onnx__NodeProto *conv,
                                      struct filters *f, bool *has, struct adaps_error *err)
{
    const Onnx__TensorProto *w = conv->n_input > 1 ? ad_edit_constant(edit, conv->input[1]) : NULL;
    bool biased = conv->n_input > 2 && *conv->input[2];
    const Onnx__TensorProto *b = biased ? ad_edit_constant(edit, conv->input[2]) : NULL;
    memset(f, 0, sizeof *f);
    *has = w && (b || !biased);
    if (!*has)
        return ADAPS_OK;
    enum adaps_status status = ad_edit_floats(edit, w, &f->w, err);
    if (status == ADAPS_OK && b)
        status = ad_edit_floats(edit, b, &f->b, err);
    if (status == ADAPS_OK && f->w.rank > 0) {
        f->rows = (size_t)f->w.dims[0];
        f->row = f->rows ? f->w.count / f->rows : 0;
    }
    if (status == ADAPS_OK && !b) {
        f->b.is_float = true;
        f->b.f = ad_calloc(f->rows + 1, sizeof *f->b.f);
        f->b.count = f->rows;
        if (!f->b.f)
            status = ad_error_memory(err, conv->name, f->rows * sizeof *f->b.f);
    }
    *has = status == ADAPS_OK && f->b.count == f->rows && f->rows > 0;
    if (!*has)
        filters_fini(f);
    return status;
}

/* New constants for a convolution, which reads them from now on. */
static enum adaps_status write_filters(struct ad_edit *edit, Onnx__NodeProto *conv,
                                       const struct filters *f, const char *suffix,
                                       struct adaps_error *err)
{
    const int64_t rows = (int64_t)f->rows;
    char *w = ad_edit_name(edit, conv->input[1], suffix);
    char *b = ad_edit_name(edit, conv->output[0], suffix);
    char **inputs = ad_arena_alloc(&edit->arena, 3, sizeof *inputs);
    if (!w || !b || !inputs)
        return ad_error_memory(err, conv->name, 0);
    enum adaps_status status =
        ad_edit_add_constant(edit, w, FLOAT, f->w.rank, f->w.dims, f->w.f, f->w.count, err);
    if (status == ADAPS_OK)
        status = ad_edit_add_constant(edit, b, FLOAT, 1, &rows, f->b.f, f->rows, err);
    inputs[0] = conv->input[0];
    inputs[1] = w;
    inputs[2] = b;
    conv->input = inputs;
    conv->n_input = 3;
    return status;
}

/* A copy in the place of a node, which may be changed. */
static Onnx__NodeProto *own_copy(struct ad_edit *edit, const Onnx__NodeProto *node)
{
    Onnx__NodeProto *copy = ad_arena_alloc(&edit->arena, 1, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *node;
    for (size_t i = 0; i < edit->nnodes; i++)
        if (edit->nodes[i] == node)
            edit->nodes[i] = copy;
    return copy;
}

static void drop_node(struct ad_edit *edit, const Onnx__NodeProto *node)
{
    size_t n = 0;
    for (size_t i = 0; i < edit->nnodes; i++)
        if (edit->nodes[i] != node)
            edit->nodes[n++] = edit->nodes[i];
    edit->nnodes = n;
}

/* --- batch normalisation --- */

static enum adaps_status fold_into(struct ad_edit *edit, Onnx__NodeProto *conv,
                                   const Onnx__NodeProto *norm, struct adaps_error *err)
{
    struct filters f;
    struct ad_onnx_tensor by[4] = {{0}}; /* scale, shift, mean, variance */
    float epsilon = 1e-5f;
    bool has;
    enum adaps_status status = ad_onnx_attr_float(norm, "epsilon", 1e-5f, &epsilon, err);
    if (status == ADAPS_OK)
        status = read_filters(edit, conv, &f, &has, err);
    if (status != ADAPS_OK || !has)
        return status;
    for (int k = 0; k < 4 && status == ADAPS_OK && has; k++) {
        const Onnx__TensorProto *t =
            norm->n_input == 5 ? ad_edit_constant(edit, norm->input[k + 1]) : NULL;
        has = t != NULL;
        if (has)
            status = ad_edit_floats(edit, t, &by[k], err);
        has = has && status == ADAPS_OK && by[k].count == f.rows;
    }
    for (size_t r = 0; r < f.rows && status == ADAPS_OK && has; r++) {
        double s = (double)by[0].f[r] / sqrt((double)by[3].f[r] + (double)epsilon);
        for (size_t i = 0; i < f.row; i++)
            f.w.f[r * f.row + i] = (float)(s * (double)f.w.f[r * f.row + i]);
        f.b.f[r] = (float)(((double)f.b.f[r] - (double)by[2].f[r]) * s + (double)by[1].f[r]);
    }
    if (status == ADAPS_OK && has) {
        Onnx__NodeProto *folded = own_copy(edit, conv);
        status = folded ? write_filters(edit, folded, &f, "_folded", err)
                        : ad_error_memory(err, conv->name, sizeof *conv);
        if (folded)
            folded->output = norm->output;
        drop_node(edit, norm);
    }
    filters_fini(&f);
    for (int k = 0; k < 4; k++)
        ad_onnx_tensor_fini(&by[k]);
    return status;
}

enum adaps_status ad_quantise_fold(struct ad_edit *edit, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (size_t i = 0; i < edit->nnodes && status == ADAPS_OK; i++) {
        Onnx__NodeProto *conv = edit->nodes[i];
        Onnx__NodeProto *norm =
            is(conv, "Conv") ? ad_quantise_sole_reader(edit, conv->output[0]) : NULL;
        if (is(norm, "BatchNormalization") && norm->n_output == 1)
            status = fold_into(edit, conv, norm, err);
    }
    return status;
}

/* --- equalisation --- */

static float largest(const float *numbers, size_t n, size_t step)
{
    float most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(numbers[i * step]));
    return most;
}

/* The weights of the second layer that read channel c of the first: `count` blocks of `taps`. */
struct readers {
    size_t first, count, taps, step;
};

static struct readers readers_of(const struct filters *second, size_t groups, size_t c)
{
    size_t depth = (size_t)second->w.dims[1], taps = second->row / depth;
    size_t outputs = second->rows / groups, group = c / depth;
    return (struct readers){.first = (group * outputs * depth + c % depth) * taps,
                            .count = outputs,
                            .taps = taps,
                            .step = second->row};
}

static void equalise(struct filters *first, struct filters *second, size_t groups)
{
    for (size_t c = 0; c < first->rows; c++) {
        struct readers r = readers_of(second, groups, c);
        float *row = first->w.f + c * first->row, most = 0;
        for (size_t o = 0; o < r.count; o++)
            most = fmaxf(most, largest(second->w.f + r.first + o * r.step, r.taps, 1));
        float here = largest(row, first->row, 1);
        if (here <= 0 || most <= 0)
            continue;
        float s = sqrtf(here / most);
        s = s < 0x1p-10f ? 0x1p-10f : s > 0x1p10f ? 0x1p10f : s;
        for (size_t i = 0; i < first->row; i++)
            row[i] /= s;
        first->b.f[c] /= s;
        for (size_t o = 0; o < r.count; o++)
            for (size_t i = 0; i < r.taps; i++)
                second->w.f[r.first + o * r.step + i] *= s;
    }
}

static enum adaps_status equalise_pair(struct ad_edit *edit, Onnx__NodeProto *conv,
                                       Onnx__NodeProto *next, struct adaps_error *err)
{
    struct filters a, b = {.rows = 0};
    bool has, other = false;
    int64_t groups = 1;
    enum adaps_status status = ad_onnx_attr_int(next, "group", 1, &groups, err);
    if (status == ADAPS_OK)
        status = read_filters(edit, conv, &a, &has, err);
    if (status != ADAPS_OK || !has)
        return status;
    status = read_filters(edit, next, &b, &other, err);
    bool fits = status == ADAPS_OK && other && b.w.rank >= 3 && groups > 0 &&
                b.rows % (size_t)groups == 0 && (size_t)b.w.dims[1] * (size_t)groups == a.rows;
    if (fits) {
        equalise(&a, &b, (size_t)groups);
        Onnx__NodeProto *first = own_copy(edit, conv), *second = own_copy(edit, next);
        status = first && second ? write_filters(edit, first, &a, "_equal", err)
                                 : ad_error_memory(err, conv->name, sizeof *conv);
        if (status == ADAPS_OK)
            status = write_filters(edit, second, &b, "_equal", err);
    }
    filters_fini(&a);
    if (other)
        filters_fini(&b);
    return status;
}

enum adaps_status ad_quantise_equalise(struct ad_edit *edit, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (size_t i = 0; i < edit->nnodes && status == ADAPS_OK; i++) {
        Onnx__NodeProto *conv = edit->nodes[i];
        Onnx__NodeProto *next =
            is(conv, "Conv") ? ad_quantise_sole_reader(edit, conv->output[0]) : NULL;
        if (is(next, "Relu"))
            next = ad_quantise_sole_reader(edit, next->output[0]);
        if (is(next, "Conv"))
            status = equalise_pair(edit, conv, next, err);
    }
    return status;
}
