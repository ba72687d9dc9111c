#include "split/rules.h"

#include <string.h>

struct ad_part ad_part_whole(const struct ad_tensor_facts *t)
{
    struct ad_part part = {{{0, 1}, {0, 1}, {0, 1}}};
    for (int axis = 0; axis < AD_PART_AXES && axis < t->rank; axis++)
        part.along[axis].hi = t->dims[axis];
    return part;
}

bool ad_part_same(const struct ad_part *a, const struct ad_part *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

bool ad_part_is_whole(const struct ad_part *part, const struct ad_tensor_facts *t)
{
    struct ad_part whole = ad_part_whole(t);
    return ad_part_same(part, &whole);
}

/* How a part of the output follows from parts of the inputs. */
enum rule {
    NONE,
    POINTWISE,   /* element by element, broadcast */
    ALONG_ROWS,  /* rows stay rows, all of the others is needed; further inputs are whole */
    CONCAT,      /* like these, of all inputs */
    WINDOW,      /* of rows */
    BY_CHANNELS, /* channels stay channels: a global pool */
    WEIGHTS      /* output channels take rows or columns of weights: see weights_axis() */
};

static const struct {
    const char *type;
    enum rule rule;
} rules[] = {
    {"Abs", POINTWISE},
    {"Add", POINTWISE},
    {"AveragePool", WINDOW},
    {"BatchNormalization", ALONG_ROWS},
    {"Cast", POINTWISE},
    {"Ceil", POINTWISE},
    {"Celu", POINTWISE},
    {"Clip", POINTWISE},
    {"Concat", CONCAT},
    {"Conv", WINDOW},
    {"Div", POINTWISE},
    {"Dropout", POINTWISE},
    {"Elu", POINTWISE},
    {"Erf", POINTWISE},
    {"Exp", POINTWISE},
    {"Floor", POINTWISE},
    {"Gelu", POINTWISE},
    {"Gemm", WEIGHTS},
    {"GlobalAveragePool", BY_CHANNELS},
    {"GlobalMaxPool", BY_CHANNELS},
    {"HardSigmoid", POINTWISE},
    {"HardSwish", POINTWISE},
    {"Identity", POINTWISE},
    {"LRN", ALONG_ROWS},
    {"LeakyRelu", POINTWISE},
    {"Log", POINTWISE},
    {"MatMul", WEIGHTS},
    {"Max", POINTWISE},
    {"MaxPool", WINDOW},
    {"Mean", POINTWISE},
    {"Min", POINTWISE},
    {"Mish", POINTWISE},
    {"Mul", POINTWISE},
    {"Neg", POINTWISE},
    {"PRelu", POINTWISE},
    {"Pow", POINTWISE},
    {"Reciprocal", POINTWISE},
    {"Relu", POINTWISE},
    {"Selu", POINTWISE},
    {"Sigmoid", POINTWISE},
    {"Softmax", ALONG_ROWS},
    {"Softplus", POINTWISE},
    {"Softsign", POINTWISE},
    {"Sqrt", POINTWISE},
    {"Sub", POINTWISE},
    {"Sum", POINTWISE},
    {"Swish", POINTWISE},
    {"Tanh", POINTWISE},
    {"ThresholdedRelu", POINTWISE},
    {"Where", POINTWISE},
};

static enum rule rule_of(const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].type, node->op_type) == 0)
            return rules[i].rule;
    return NONE;
}

static int64_t int_of(const Onnx__NodeProto *node, const char *name, int64_t fallback)
{
    int64_t value;
    return ad_onnx_attr_int(node, name, fallback, &value, NULL) == ADAPS_OK ? value : fallback;
}

static const struct ad_tensor_facts *tensor(const struct ad_import_facts *facts, const char *name)
{
    return *name ? ad_import_tensor(facts, name) : NULL;
}

/* --- windows --- */

struct window {
    int64_t k[2], s[2], d[2], lo[2], hi[2]; /* of rows and columns; hi with what ceil_mode adds */
};

static void read_list(const Onnx__NodeProto *node, const char *name, size_t want, int64_t *out,
                      int64_t fallback)
{
    const int64_t *items;
    size_t count;
    bool there = ad_onnx_attr_ints(node, name, &items, &count, NULL) == ADAPS_OK && count == want;
    for (size_t i = 0; i < want; i++)
        out[i] = there ? items[i] : fallback;
}

/* The window of a node between these two maps, with all padding explicit. */
static struct window window_of(const Onnx__NodeProto *node, const struct ad_import_facts *facts)
{
    const struct ad_tensor_facts *in = tensor(facts, node->input[0]);
    const struct ad_tensor_facts *out = tensor(facts, node->output[0]);
    struct window w;
    int64_t pads[4];
    char mode[32];
    read_list(node, "kernel_shape", 2, w.k, 1);
    read_list(node, "strides", 2, w.s, 1);
    read_list(node, "dilations", 2, w.d, 1);
    read_list(node, "pads", 4, pads, 0);
    if (strcmp(node->op_type, "Conv") == 0) /* kernel_shape may be left out */
        memcpy(w.k, tensor(facts, node->input[1])->dims + 2, sizeof w.k);
    if (ad_onnx_attr_string(node, "auto_pad", "NOTSET", mode, sizeof mode, NULL) != ADAPS_OK)
        strcpy(mode, "NOTSET");
    for (int i = 0; i < 2; i++) {
        int64_t all = (out->dims[2 + i] - 1) * w.s[i] + w.d[i] * (w.k[i] - 1) + 1 - in->dims[2 + i];
        all = all > 0 ? all : 0;
        w.lo[i] = strcmp(mode, "SAME_UPPER") == 0   ? all / 2
                  : strcmp(mode, "SAME_LOWER") == 0 ? all - all / 2
                  : strcmp(mode, "NOTSET") == 0     ? pads[i]
                                                    : 0;
        w.hi[i] = all > w.lo[i] ? all - w.lo[i] : 0; /* what the last window reaches */
    }
    return w;
}

static struct ad_stretch span_of(const struct window *w, int axis, int64_t lo, int64_t hi)
{
    return (struct ad_stretch){lo * w->s[axis] - w->lo[axis], (hi - 1) * w->s[axis] - w->lo[axis] +
                                                                  w->d[axis] * (w->k[axis] - 1) +
                                                                  1};
}

/* --- which axis --- */

/* Of a product: the axis of its weights (input 1) that is the output's channels; -1: there is none
 * that can be divided. */
static int weights_axis(const Onnx__NodeProto *node, const struct ad_import_facts *facts)
{
    const struct ad_tensor_facts *w = node->n_input > 1 ? tensor(facts, node->input[1]) : NULL;
    const struct ad_tensor_facts *out = tensor(facts, node->output[0]);
    if (!w || !w->constant || w->rank != 2 || out->rank != 2)
        return -1;
    return strcmp(node->op_type, "Gemm") == 0 && int_of(node, "transB", 0) ? 0 : 1;
}

/* Where the output's axis is in an operand that is broadcast from the right; -1: nowhere, or the
 * operand has one element there. */
static int operand_axis(const struct ad_tensor_facts *in, const struct ad_tensor_facts *out,
                        int axis)
{
    int at = axis - (out->rank - in->rank);
    return at >= 0 && in->dims[at] > 1 ? at : -1;
}

/* Broadcasting from the right, as all opsets since 7 have it, of operands that can be divided. */
static bool broadcasts(const Onnx__NodeProto *node, const struct ad_import_facts *facts, int axis)
{
    const struct ad_tensor_facts *out = tensor(facts, node->output[0]);
    if (ad_onnx_attribute(node, "broadcast"))
        return false;
    for (size_t k = 0; k < node->n_input; k++) {
        const struct ad_tensor_facts *in = tensor(facts, node->input[k]);
        int at = in && in->rank <= out->rank ? operand_axis(in, out, axis) : -1;
        if (in && (in->rank > out->rank || (at >= 0 && at != axis && !in->constant)))
            return false;
    }
    return true;
}

static bool over_all_but_rows(const Onnx__NodeProto *node, const struct ad_onnx_model *model,
                              const struct ad_tensor_facts *in)
{
    if (strcmp(node->op_type, "Softmax") != 0)
        return true;
    int64_t axis = int_of(node, "axis", model->opset < 13 ? 1 : -1);
    axis += axis < 0 ? in->rank : 0;
    return model->opset >= 13 && axis != AD_ROWS;
}

static bool divides_rows(const struct ad_onnx_model *model, const Onnx__NodeProto *node,
                         const struct ad_import_facts *facts, enum rule rule)
{
    const struct ad_tensor_facts *in = tensor(facts, node->input[0]);
    const struct ad_tensor_facts *out = tensor(facts, node->output[0]);
    int64_t axis = int_of(node, "axis", 0);
    if (!in || in->constant || out->rank != 4 || out->dims[AD_ROWS] < 2)
        return false;
    switch (rule) {
    case POINTWISE:
        return broadcasts(node, facts, AD_ROWS);
    case ALONG_ROWS:
        return over_all_but_rows(node, model, in);
    case CONCAT:
        return axis + (axis < 0 ? out->rank : 0) != AD_ROWS;
    case WINDOW:
        /* padding beyond what is declared does not count in a mean */
        return in->rank == 4 &&
               !(int_of(node, "count_include_pad", 0) && int_of(node, "ceil_mode", 0));
    default:
        return false;
    }
}

/* Whether all inputs but the first are constants. */
static bool constant_after(const Onnx__NodeProto *node, const struct ad_import_facts *facts)
{
    for (size_t k = 1; k < node->n_input; k++)
        if (!tensor(facts, node->input[k]) || !tensor(facts, node->input[k])->constant)
            return false;
    return true;
}

static bool divides_channels(const Onnx__NodeProto *node, const struct ad_import_facts *facts,
                             enum rule rule)
{
    const struct ad_tensor_facts *out = tensor(facts, node->output[0]);
    if ((out->rank != 2 && out->rank != 4) || out->dims[AD_CHANNELS] < 2)
        return false;
    for (int i = AD_ROWS; i < out->rank; i++)
        if (out->dims[i] != 1)
            return false;
    switch (rule) {
    case POINTWISE:
        return broadcasts(node, facts, AD_CHANNELS);
    case BY_CHANNELS:
        return true;
    case ALONG_ROWS:
        return strcmp(node->op_type, "BatchNormalization") == 0 && constant_after(node, facts);
    case WINDOW:
        return strcmp(node->op_type, "Conv") == 0 && int_of(node, "group", 1) == 1 &&
               tensor(facts, node->input[1])->constant;
    case WEIGHTS:
        return weights_axis(node, facts) >= 0;
    default:
        return false;
    }
}

/* Whether every row of the output reads some row of the input. */
static bool reads_all_along(const Onnx__NodeProto *node, const struct ad_import_facts *facts)
{
    struct window w = window_of(node, facts);
    int64_t height = tensor(facts, node->input[0])->dims[AD_ROWS];
    int64_t rows = tensor(facts, node->output[0])->dims[AD_ROWS];
    struct ad_stretch first = span_of(&w, 0, 0, 1), last = span_of(&w, 0, rows - 1, rows);
    return first.hi > 0 && last.lo < height;
}

int ad_split_axis(const struct ad_onnx_model *model, const Onnx__NodeProto *node,
                  const struct ad_import_facts *facts)
{
    enum rule rule = rule_of(node);
    for (size_t k = 1; k < node->n_output; k++)
        if (*node->output[k] && ad_import_tensor(facts, node->output[k]))
            return 0;
    if (rule == NONE || node->n_input < 1 || !tensor(facts, node->output[0]))
        return 0;
    int axis = divides_rows(model, node, facts, rule) ? AD_ROWS
               : divides_channels(node, facts, rule)  ? AD_CHANNELS
                                                      : 0;
    if (axis == AD_ROWS && rule == WINDOW && !reads_all_along(node, facts))
        return 0;
    return axis;
}

/* --- what a part reads --- */

bool ad_split_part(const Onnx__NodeProto *node, const struct ad_import_facts *facts, int axis,
                   int64_t lo, int64_t hi, struct ad_node_part *out)
{
    enum rule rule = rule_of(node);
    const struct ad_tensor_facts *result = tensor(facts, node->output[0]);
    out->window = false;
    for (size_t k = 0; k < node->n_input; k++) {
        const struct ad_tensor_facts *in = tensor(facts, node->input[k]);
        if (!in)
            continue;
        out->reads[k] = ad_part_whole(in);
        int at = rule == POINTWISE ? operand_axis(in, result, axis) : -1;
        if (at >= 0)
            out->reads[k].along[at] = (struct ad_stretch){lo, hi};
        else if ((rule == ALONG_ROWS && k == 0) || rule == CONCAT ||
                 (rule == BY_CHANNELS && k == 0))
            out->reads[k].along[axis] = (struct ad_stretch){lo, hi};
        else if (rule == WEIGHTS && k == 1)
            out->reads[k].along[weights_axis(node, facts)] = (struct ad_stretch){lo, hi};
        else if (rule == WEIGHTS && k == 2 && in->dims[in->rank - 1] == result->dims[1])
            out->reads[k].along[in->rank - 1] = (struct ad_stretch){lo, hi};
        else if ((rule == WINDOW || rule == ALONG_ROWS) && axis == AD_CHANNELS && k > 0)
            out->reads[k].along[0] = (struct ad_stretch){lo, hi};
    }
    if (rule != WINDOW || axis != AD_ROWS)
        return true;
    struct window w = window_of(node, facts);
    struct ad_stretch rows = span_of(&w, 0, lo, hi);
    int64_t height = tensor(facts, node->input[0])->dims[AD_ROWS];
    out->window = true;
    out->pads[0] = rows.lo < 0 ? -rows.lo : 0;
    out->pads[1] = w.lo[1];
    out->pads[2] = rows.hi > height ? rows.hi - height : 0;
    out->pads[3] = w.hi[1];
    rows.lo = rows.lo > 0 ? rows.lo : 0;
    rows.hi = rows.hi < height ? rows.hi : height;
    out->reads[0].along[AD_ROWS] = rows;
    return rows.lo < rows.hi;
}
