/* Resize and Upsample: an AD_D_RESAMPLE each, with positions along every dim. */
#include "import/internal.h"

#include <inttypes.h>
#include <string.h>

struct resize {
    enum ad_method method;
    enum {
        HALF_PIXEL,
        PYTORCH_HALF_PIXEL,
        ASYMMETRIC,
        ALIGN_CORNERS,
        TF_HALF_PIXEL,
        HALF_PIXEL_SYMMETRIC
    } coordinates;
    enum { STRETCH, NOT_LARGER, NOT_SMALLER } policy; /* of sizes */
    int64_t antialias;
    float cubic;
    bool exclude_outside;
};

/* What a dim is scaled by, p / q, and what becomes of it. */
struct scaling {
    int64_t p, q, out;
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
static bool ratio_of(float scale, int64_t in, struct scaling *to)
{
    int exponent;
    to->p = to->out;
    to->q = in;
    if ((float)((double)to->out / (double)in) == scale)
        return true;
    double mantissa = ldexp(frexp((double)scale, &exponent), 24);
    to->p = (int64_t)mantissa;
    to->q = 1;
    exponent -= 24;
    if (exponent < -40 || exponent > 16)
        return false;
    if (exponent < 0)
        to->q = (int64_t)1 << -exponent;
    else
        to->p <<= exponent;
    return true;
}

static struct ad_positions positions_of(const struct resize *r, int64_t in,
                                        const struct scaling *by)
{
    int64_t p = by->p, q = by->q, out = by->out;
    struct ad_positions at = {1, 0, 1};
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
    case HALF_PIXEL_SYMMETRIC: /* the same, but the middles meet: + in / 2 - out q / (2 p) */
        at = (struct ad_positions){2 * q, q - p + in * p - out * q, 2 * p};
        break;
    }
    int64_t divisor = divisor_of(divisor_of(at.step, at.start), at.unit);
    return (struct ad_positions){at.step / divisor, at.start / divisor, at.unit / divisor};
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
    static const char *const coordinates[] = {
        "half_pixel",           "pytorch_half_pixel",   "asymmetric", "align_corners",
        "tf_half_pixel_for_nn", "half_pixel_symmetric", NULL};
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
    static const char *const roundings[] = {"floor", "ceil", "round_prefer_floor",
                                            "round_prefer_ceil", NULL};
    int mode, where = ASYMMETRIC, rounding = AD_METHOD_FLOOR, policy = STRETCH;
    int64_t exclude = 0;
    enum adaps_status status = read_word(node, "mode", "nearest", modes, &mode, err);
    r->cubic = -0.75f;
    r->antialias = 0;
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
            status = ad_node_int(node, "antialias", 0, &r->antialias, err);
        if (status == ADAPS_OK)
            status = read_word(node, "keep_aspect_ratio_policy", "stretch", policies, &policy, err);
    }
    if (status != ADAPS_OK)
        return status;
    r->method = mode == 0   ? (enum ad_method)(AD_METHOD_FLOOR + rounding)
                : mode == 3 ? AD_METHOD_CUBIC
                            : AD_METHOD_LINEAR;
    r->coordinates = where;
    r->policy = policy;
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

/* Whether this axis is one of those that the sizes are of. */
static bool is_resized(const struct ad_node *node, int rank, int axis)
{
    const Onnx__AttributeProto *axes = ad_onnx_attribute(node->proto, "axes");
    for (size_t i = 0; axes && i < axes->n_ints; i++)
        if (axes->ints[i] == axis || axes->ints[i] == axis - rank)
            return true;
    return !axes || axes->n_ints == 0;
}

/* The dim whose size is the smallest or largest in proportion, which all the others follow. */
static int leading_dim(const struct ad_node *node, const struct ad_draft_value *in,
                       const int64_t *sizes, bool smallest)
{
    int best = -1;
    for (int i = 0; i < in->rank; i++) {
        if (!is_resized(node, in->rank, i))
            continue;
        int64_t a = best < 0 ? 0 : sizes[i] * in->dims[best];
        int64_t b = best < 0 ? 0 : sizes[best] * in->dims[i];
        if (best < 0 || (smallest ? a < b : a > b))
            best = i;
    }
    return best;
}

/* What becomes of every dim, by sizes. */
static enum adaps_status scale_by_sizes(struct ad_node *node, const struct resize *how,
                                        const struct ad_draft_value *in, const int64_t *sizes,
                                        struct scaling *to, struct adaps_error *err)
{
    for (int i = 0; i < in->rank; i++) {
        if (sizes[i] < 1 || sizes[i] > INT32_MAX)
            return ad_node_fail(node, err, "dimension %d of %" PRId64 " becomes %" PRId64, i,
                                in->dims[i], sizes[i]);
        to[i] = (struct scaling){sizes[i], in->dims[i], sizes[i]};
    }
    if (how->policy == STRETCH)
        return ADAPS_OK;
    int lead = leading_dim(node, in, sizes, how->policy == NOT_LARGER);
    for (int i = 0; i < in->rank; i++) {
        if (!is_resized(node, in->rank, i))
            continue;
        int64_t p = sizes[lead], q = in->dims[lead];
        to[i] = (struct scaling){p, q, (2 * p * in->dims[i] + q) / (2 * q)};
        if (to[i].out < 1 || to[i].out > INT32_MAX)
            return ad_node_fail(node, err, "dimension %d of %" PRId64 " becomes %" PRId64, i,
                                in->dims[i], to[i].out);
    }
    return ADAPS_OK;
}

/* The same, by scales. */
static enum adaps_status scale_by_floats(struct ad_node *node, const struct ad_draft_value *in,
                                         const float *scales, struct scaling *to,
                                         struct adaps_error *err)
{
    for (int i = 0; i < in->rank; i++) {
        double length = floor((double)scales[i] * (double)in->dims[i]);
        if (!(length >= 1 && length < 0x1p31) || !(scales[i] > 0))
            return ad_node_fail(node, err, "dimension %d of %" PRId64 " becomes %g", i, in->dims[i],
                                length);
        to[i].out = (int64_t)length;
        if (!ratio_of(scales[i], in->dims[i], &to[i]))
            return ad_node_fail(node, err, "a scale of %g is out of range", (double)scales[i]);
    }
    return ADAPS_OK;
}

/* Positions along every dim. */
static enum adaps_status resize_positions(struct ad_node *node, const struct resize *how,
                                          const struct ad_draft_value *in, const struct scaling *by,
                                          struct ad_positions *positions, int64_t *dims,
                                          struct adaps_error *err)
{
    for (int i = 0; i < in->rank; i++) {
        dims[i] = by[i].out;
        positions[i] = ad_in_place;
        if (by[i].p == by[i].q)
            continue;
        positions[i] = positions_of(how, in->dims[i], &by[i]);
        if (how->antialias && by[i].p < by[i].q)
            return ad_node_fail(node, err,
                                "antialias %" PRId64 " is not supported where a dimension becomes "
                                "smaller: dimension %d of %" PRId64 " becomes %" PRId64,
                                how->antialias, i, in->dims[i], dims[i]);
    }
    return ADAPS_OK;
}

enum adaps_status ad_import_resize(struct ad_node *node, struct adaps_error *err)
{
    struct resize how;
    struct scaling by[AD_MAX_RANK];
    const float *scales;
    const int64_t *sizes;
    struct ad_positions positions[AD_MAX_RANK];
    int64_t dims[AD_MAX_RANK];
    enum adaps_status status = ad_node_arity(node, 1, node->opset < 11 ? 2 : 4, err);
    if (status == ADAPS_OK)
        status = ad_node_data(node, 0, err);
    if (status == ADAPS_OK)
        status = read_resize(node, &how, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_value in = *ad_node_input(node, 0);
    status = read_scales(node, &in, &scales, &sizes, err);
    if (status == ADAPS_OK)
        status = scales ? scale_by_floats(node, &in, scales, by, err)
                        : scale_by_sizes(node, &how, &in, sizes, by, err);
    if (status == ADAPS_OK)
        status = resize_positions(node, &how, &in, by, positions, dims, err);
    struct ad_draft_op *op = NULL;
    if (status == ADAPS_OK)
        status = ad_draft_resample(node, node->inputs[0], dims, positions, &op, err);
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
