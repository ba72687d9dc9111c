/* Slices, splits, padding and resizing: one AD_D_RESAMPLE each, with positions along every dim. */
#include "import/internal.h"

#include <inttypes.h>
#include <string.h>

#define MAX_PADDING (1 << 20)
#define MAX_RUNS 64 /* pieces of one Gather */

/* A RESAMPLE of `value` with these dims; its positions are those of the input until they are set.
 * NULL in *out: dims and positions are to be the same, there is nothing to do. */
static enum adaps_status resample(struct ad_node *node, int value, const int64_t *dims,
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
    enum adaps_status status = resample(node, value, slice->count, positions, &op, err);
    *out = op ? op->output : value;
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
        status = resample(node, value, dims, positions, &op, err);
    if (status == ADAPS_OK)
        ad_node_set(node, op ? op->output : value);
    return status;
}

/* --- Pad --- */

enum adaps_status ad_draft_pad(struct ad_node *node, const char *mode, float value,
                               const int64_t *pads, struct adaps_error *err)
{
    static const char *const modes[] = {"constant", "edge", "reflect"};
    static const enum ad_edge edges[] = {AD_EDGE_FILL, AD_EDGE_REPEAT, AD_EDGE_REFLECT};
    struct ad_draft_value in = *ad_node_input(node, 0);
    struct ad_positions positions[AD_MAX_RANK];
    int64_t dims[AD_MAX_RANK];
    int edge = 0;
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
    enum adaps_status status = resample(node, node->inputs[0], dims, positions, &op, err);
    if (status != ADAPS_OK)
        return status;
    if (op) {
        op->edge = edges[edge];
        op->fill = value + 0.0f; /* -0 as +0: a plan file does not tell them apart */
    }
    ad_node_set(node, op ? op->output : node->inputs[0]);
    return ADAPS_OK;
}

/* --- Resize, Upsample --- */

struct resize {
    enum ad_method method;
    enum { HALF_PIXEL, PYTORCH_HALF_PIXEL, ASYMMETRIC, ALIGN_CORNERS, TF_HALF_PIXEL } coordinates;
    float cubic;
    bool exclude_outside;
};

static int64_t divisor_of(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* The scale as p / q: out / in when the two agree in float's precision, else exactly the float. */
static bool ratio_of(float scale, int64_t in, int64_t out, int64_t *p, int64_t *q)
{
    int exponent;
    *p = out;
    *q = in;
    if (scale == 0 || (float)((double)out / (double)in) == scale)
        return true;
    double mantissa = ldexp(frexp((double)scale, &exponent), 24);
    *p = (int64_t)mantissa;
    *q = 1;
    exponent -= 24;
    if (exponent < -40 || exponent > 16)
        return false;
    if (exponent < 0)
        *q = (int64_t)1 << -exponent;
    else
        *p <<= exponent;
    return true;
}

/* scale 0: given by the sizes. */
static enum adaps_status positions_of(struct ad_node *node, const struct resize *r, float scale,
                                      int64_t in, int64_t out, struct ad_positions *positions,
                                      struct adaps_error *err)
{
    int64_t p, q;
    struct ad_positions at = {1, 0, 1};
    if (!ratio_of(scale, in, out, &p, &q))
        return ad_node_fail(node, err, "a scale of %g is out of range", (double)scale);
    switch (r->coordinates) {
    case HALF_PIXEL: /* (i + 1/2) q / p - 1/2 */
        at = (struct ad_positions){2 * q, q - p, 2 * p};
        break;
    case PYTORCH_HALF_PIXEL:
        at = out > 1 ? (struct ad_positions){2 * q, q - p, 2 * p} : (struct ad_positions){0, 0, 1};
        break;
    case ASYMMETRIC:
        at = (struct ad_positions){q, 0, p};
        break;
    case ALIGN_CORNERS:
        at = out > 1 ? (struct ad_positions){in - 1, 0, out - 1} : (struct ad_positions){0, 0, 1};
        break;
    case TF_HALF_PIXEL:
        at = (struct ad_positions){2 * q, q, 2 * p};
        break;
    }
    int64_t divisor = divisor_of(divisor_of(at.step, at.start), at.unit);
    *positions = (struct ad_positions){at.step / divisor, at.start / divisor, at.unit / divisor};
    return ADAPS_OK;
}

/* The index of an attribute's word in a list. */
static enum adaps_status read_word(struct ad_node *node, const char *name, const char *fallback,
                                   const char *const *words, int *out, struct adaps_error *err)
{
    char text[40];
    enum adaps_status status = ad_node_prefix(
        node, ad_onnx_attr_string(node->proto, name, fallback, text, sizeof text, err), err);
    if (status != ADAPS_OK)
        return status;
    for (int i = 0; words[i]; i++)
        if (strcmp(text, words[i]) == 0) {
            *out = i;
            return ADAPS_OK;
        }
    return ad_node_fail(node, err, "%s '%s' is not supported", name, text);
}

/* Before opset 11 positions count from the left, and rounding is down. */
static enum adaps_status read_resize(struct ad_node *node, struct resize *r,
                                     struct adaps_error *err)
{
    static const char *const modes[] = {"nearest", "linear", "bilinear", "cubic", NULL};
    static const char *const coordinates[] = {"half_pixel",    "pytorch_half_pixel",   "asymmetric",
                                              "align_corners", "tf_half_pixel_for_nn", NULL};
    static const char *const roundings[] = {"floor", "ceil", "round_prefer_floor",
                                            "round_prefer_ceil", NULL};
    int mode, where = ASYMMETRIC, rounding = AD_METHOD_FLOOR;
    int64_t antialias = 0, exclude = 0;
    enum adaps_status status = read_word(node, "mode", "nearest", modes, &mode, err);
    r->cubic = -0.75f;
    if (status == ADAPS_OK && node->opset >= 11) {
        status = read_word(node, "coordinate_transformation_mode", "half_pixel", coordinates,
                           &where, err);
        if (status == ADAPS_OK)
            status =
                read_word(node, "nearest_mode", "round_prefer_floor", roundings, &rounding, err);
        if (status == ADAPS_OK)
            status = ad_node_float(node, "cubic_coeff_a", -0.75f, &r->cubic, err);
        if (status == ADAPS_OK)
            status = ad_node_int(node, "exclude_outside", 0, &exclude, err);
        if (status == ADAPS_OK)
            status = ad_node_int(node, "antialias", 0, &antialias, err);
    }
    if (status != ADAPS_OK)
        return status;
    if (antialias != 0)
        return ad_node_fail(node, err, "antialias is not supported");
    r->method = mode == 0   ? (enum ad_method)(AD_METHOD_FLOOR + rounding)
                : mode == 3 ? AD_METHOD_CUBIC
                            : AD_METHOD_LINEAR;
    r->coordinates = where;
    r->exclude_outside = exclude != 0;
    return ADAPS_OK;
}

/* The scales or sizes of all dims from those of some: the others have scale 1. */
static enum adaps_status scatter_axes(struct ad_node *node, const struct ad_draft_value *in,
                                      const float **scales, const int64_t **sizes, size_t *count,
                                      struct adaps_error *err)
{
    const int64_t *axes;
    size_t naxes;
    float *all_scales = ad_arena_alloc(&node->draft->arena, AD_MAX_RANK, sizeof *all_scales);
    int64_t *all_sizes = ad_arena_alloc(&node->draft->arena, AD_MAX_RANK, sizeof *all_sizes);
    if (!all_scales || !all_sizes)
        return ad_error_memory(err, "sizes", AD_MAX_RANK * sizeof *all_sizes);
    enum adaps_status status =
        ad_node_prefix(node, ad_onnx_attr_ints(node->proto, "axes", &axes, &naxes, err), err);
    if (status == ADAPS_OK && (naxes != *count || naxes > (size_t)in->rank))
        return ad_node_fail(node, err, "%zu scales or sizes for %zu axes", *count, naxes);
    for (int i = 0; i < in->rank; i++) {
        all_scales[i] = 1;
        all_sizes[i] = in->dims[i];
    }
    unsigned named = 0;
    for (size_t i = 0; i < naxes && status == ADAPS_OK; i++) {
        int at = 0;
        status = ad_node_axis(node, axes[i], in->rank, &at, err);
        if (status == ADAPS_OK && (named >> at & 1))
            return ad_node_fail(node, err, "axis %d is named twice", at);
        named |= 1u << at;
        if (*scales)
            all_scales[at] = (*scales)[i];
        else
            all_sizes[at] = (*sizes)[i];
    }
    *scales = *scales ? all_scales : NULL;
    *sizes = *sizes ? all_sizes : NULL;
    *count = (size_t)in->rank;
    return status;
}

/* Whether there is an input k that is not empty: exporters write absent scales as empty ones. */
static bool given(const struct ad_node *node, int k)
{
    return ad_node_has(node, k) && ad_node_input(node, k)->elements > 0;
}

/* The scales or sizes of all dims; of those that are not given scale 1. *sizes: NULL when there are
 * scales. */
static enum adaps_status read_scales(struct ad_node *node, const struct ad_draft_value *in,
                                     const float **scales, const int64_t **sizes,
                                     struct adaps_error *err)
{
    const struct ad_onnx_tensor *t = NULL;
    const Onnx__AttributeProto *attr = NULL;
    size_t count = 0;
    enum adaps_status status = ADAPS_OK;
    bool upsample = strcmp(node->type, "Upsample") == 0;
    int at = upsample || node->opset < 11 ? 1 : 2;
    *scales = NULL;
    *sizes = NULL;
    if (upsample && node->opset < 9) {
        attr = ad_onnx_attribute(node->proto, "scales");
        if (attr) {
            *scales = attr->floats;
            count = attr->n_floats;
        }
    } else if (node->opset >= 11 && ad_node_has(node, 3)) {
        if (given(node, at))
            return ad_node_fail(node, err, "it has both scales and sizes: one of them is allowed");
        status = ad_node_ints(node, 3, "sizes", &t, err);
        if (status == ADAPS_OK) {
            *sizes = t->i;
            count = t->count;
        }
    } else if (ad_node_has(node, at)) {
        status = ad_node_floats(node, at, "scales", &t, err);
        if (status == ADAPS_OK) {
            *scales = t->f;
            count = t->count;
        }
    }
    if (status != ADAPS_OK)
        return status;
    if (ad_onnx_attribute(node->proto, "axes") && count > 0)
        status = scatter_axes(node, in, scales, sizes, &count, err);
    if (status != ADAPS_OK)
        return status;
    if (count != (size_t)in->rank || count == 0)
        return ad_node_fail(node, err, "%zu scales or sizes for an input of rank %d", count,
                            in->rank);
    return ADAPS_OK;
}

enum adaps_status ad_import_resize(struct ad_node *node, struct adaps_error *err)
{
    static const char *const policies[] = {"stretch", NULL};
    struct resize how;
    const float *scales;
    const int64_t *sizes;
    struct ad_positions positions[AD_MAX_RANK];
    int64_t dims[AD_MAX_RANK];
    int policy;
    enum adaps_status status = ad_node_arity(node, 1, node->opset < 11 ? 2 : 4, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    if (status == ADAPS_OK)
        status = read_resize(node, &how, err);
    if (status == ADAPS_OK)
        status = read_word(node, "keep_aspect_ratio_policy", "stretch", policies, &policy, err);
    struct ad_draft_value in =
        status == ADAPS_OK ? *ad_node_input(node, 0) : (struct ad_draft_value){.rank = 0};
    if (status == ADAPS_OK)
        status = read_scales(node, &in, &scales, &sizes, err);
    keep_positions(positions);
    for (int i = 0; i < in.rank && status == ADAPS_OK; i++) {
        float scale = scales ? scales[i] : 0;
        double length = scales ? floor((double)scale * (double)in.dims[i]) : (double)sizes[i];
        if (!(length >= 1 && length < 0x1p31) || (scales && !(scale > 0)))
            return ad_node_fail(node, err, "dimension %d of %" PRId64 " becomes %g", i, in.dims[i],
                                length);
        dims[i] = (int64_t)length;
        if (dims[i] != in.dims[i] || (scales && scale != 1))
            status = positions_of(node, &how, scale, in.dims[i], dims[i], &positions[i], err);
    }
    struct ad_draft_op *op = NULL;
    if (status == ADAPS_OK)
        status = resample(node, node->inputs[0], dims, positions, &op, err);
    if (status != ADAPS_OK)
        return status;
    if (op) {
        op->method = how.method;
        op->edge = AD_EDGE_REPEAT;
        op->cubic = how.cubic;
        op->exclude_outside = how.exclude_outside;
    }
    ad_node_set(node, op ? op->output : node->inputs[0]);
    return ADAPS_OK;
}
