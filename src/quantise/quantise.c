#include "quantise/quantise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_OPSET 13 /* from which on scales may lie along an axis */
#define MOST_BIAS 0x1p30

/* --- which nodes --- */

struct kind {
    const char *type;
    bool weighted, moves;
};

static const struct kind kinds[] = {
    {"Add", false, false},         {"AveragePool", false, false},
    {"Clip", false, false},        {"Concat", false, false},
    {"Conv", true, false},         {"ConvTranspose", true, false},
    {"DepthToSpace", false, true}, {"Flatten", false, true},
    {"Gemm", true, false},         {"GlobalAveragePool", false, false},
    {"HardSigmoid", false, false}, {"HardSwish", false, false},
    {"LeakyRelu", false, false},   {"MatMul", true, false},
    {"MaxPool", false, true},      {"Mul", false, false},
    {"Relu", false, false},        {"Reshape", false, true},
    {"Resize", false, false},      {"Sigmoid", false, false},
    {"SpaceToDepth", false, true}, {"Squeeze", false, true},
    {"Tanh", false, false},        {"Transpose", false, true},
    {"Unsqueeze", false, true},
};

static const struct kind *kind_of(const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(node->op_type, kinds[i].type) == 0)
            return &kinds[i];
    return NULL;
}

/* How many of a node's inputs are tensors that become bytes; the others are parameters. */
static size_t operands_of(const Onnx__NodeProto *node)
{
    bool two = strcmp(node->op_type, "Add") == 0 || strcmp(node->op_type, "Mul") == 0;
    return strcmp(node->op_type, "Concat") == 0 ? node->n_input : two ? 2 : 1;
}

static struct ad_quantised_node *node_of(const struct ad_quantiser *q, const Onnx__NodeProto *node)
{
    for (size_t i = 0; node && i < q->count; i++)
        if (q->nodes[i].node == node)
            return &q->nodes[i];
    return NULL;
}

/* The node of floats that makes a tensor, before an activation that it takes. */
static struct ad_quantised_node *maker_of(const struct ad_quantiser *q, const char *tensor)
{
    for (size_t i = 0; i < q->count; i++)
        if (strcmp(q->nodes[i].result, tensor) == 0)
            return &q->nodes[i];
    return NULL;
}

static bool is_reshaped_product(const Onnx__NodeProto *node)
{
    float alpha = 1, beta = 1;
    int64_t transposed = 0;
    return ad_onnx_attr_float(node, "alpha", 1, &alpha, NULL) != ADAPS_OK || alpha != 1 ||
           ad_onnx_attr_float(node, "beta", 1, &beta, NULL) != ADAPS_OK || beta != 1 ||
           ad_onnx_attr_int(node, "transA", 0, &transposed, NULL) != ADAPS_OK || transposed != 0;
}

/* Whether weights and bias are constants in rows by output channel; the axis of these. */
static bool takes_weights(const struct ad_quantiser *q, const Onnx__NodeProto *node, int64_t *axis)
{
    const Onnx__TensorProto *w =
        node->n_input > 1 ? ad_edit_constant(&q->edit, node->input[1]) : NULL;
    bool blocks = strcmp(node->op_type, "ConvTranspose") == 0;
    bool conv = blocks || strcmp(node->op_type, "Conv") == 0;
    bool gemm = strcmp(node->op_type, "Gemm") == 0;
    int64_t transposed = 0, groups = 1;
    if (!w || w->data_type != ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT ||
        (conv ? w->n_dims < 3 : w->n_dims != 2) || (gemm && is_reshaped_product(node)))
        return false;
    if (gemm && ad_onnx_attr_int(node, "transB", 0, &transposed, NULL) != ADAPS_OK)
        return false;
    if (blocks && ad_onnx_attr_int(node, "group", 1, &groups, NULL) != ADAPS_OK)
        return false;
    *axis = (conv && !blocks) || transposed ? 0 : 1;
    if (node->n_input < 3 || !*node->input[2])
        return true;
    const Onnx__TensorProto *b = ad_edit_constant(&q->edit, node->input[2]);
    return b && b->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT && b->n_dims == 1 &&
           groups >= 1 && b->dims[0] / groups == w->dims[*axis] && b->dims[0] % groups == 0;
}

static bool has_constant_operand(const struct ad_quantiser *q, const Onnx__NodeProto *node)
{
    for (size_t k = 0; k < operands_of(node) && k < node->n_input; k++)
        if (ad_edit_constant(&q->edit, node->input[k]))
            return true;
    return false;
}

/* An activation that a node takes: the limits of what it makes. */
static const Onnx__NodeProto *activation_after(const struct ad_quantiser *q,
                                               const Onnx__NodeProto *node)
{
    const Onnx__NodeProto *next = ad_quantise_sole_reader(&q->edit, node->output[0]);
    bool limits =
        next && (strcmp(next->op_type, "Relu") == 0 || strcmp(next->op_type, "Clip") == 0);
    return limits ? next : NULL;
}

/* Whether what a node makes is elements of what it reads. */
static bool only_moves(const struct kind *kind, const Onnx__NodeProto *node)
{
    char mode[16] = "";
    if (strcmp(node->op_type, "Resize") != 0)
        return kind->moves;
    return ad_onnx_attr_string(node, "mode", "nearest", mode, sizeof mode, NULL) == ADAPS_OK &&
           strcmp(mode, "nearest") == 0;
}

static bool is_kept(const struct ad_quantiser *q, const char *name)
{
    for (size_t i = 0; i < q->options.nkeep; i++)
        if (strcmp(q->options.keep[i], name) == 0)
            return true;
    return false;
}

static enum adaps_status add_node(struct ad_quantiser *q, const Onnx__NodeProto *node,
                                  struct adaps_error *err)
{
    const struct kind *kind = kind_of(node);
    struct ad_quantised_node new = {.node = node, .name = node->name, .type = node->op_type};
    if (!kind || node->n_output != 1 || (node->domain && *node->domain))
        return ADAPS_OK;
    if (kind->weighted ? !takes_weights(q, node, &new.axis) : has_constant_operand(q, node))
        return ADAPS_OK;
    new.weighted = kind->weighted;
    new.moves = only_moves(kind, node);
    const Onnx__NodeProto *after = new.moves ? NULL : activation_after(q, node);
    new.result = after ? after->output[0] : node->output[0];
    new.floats = is_kept(q, node->name);
    if (!ad_grow(&q->nodes, q->count, &q->room, sizeof *q->nodes))
        return ad_error_memory(err, "nodes", q->count * sizeof *q->nodes);
    q->nodes[q->count++] = new;
    return ADAPS_OK;
}

/* Whether a node is the activation that one before it takes. */
static bool is_taken(const struct ad_quantiser *q, const Onnx__NodeProto *node)
{
    return q->count > 0 && maker_of(q, node->output[0]) != NULL;
}

static enum adaps_status check_kept(const struct ad_quantiser *q, struct adaps_error *err)
{
    for (size_t i = 0; i < q->options.nkeep; i++) {
        bool found = false;
        for (size_t k = 0; k < q->edit.nnodes && !found; k++)
            found =
                q->edit.nodes[k]->name && strcmp(q->edit.nodes[k]->name, q->options.keep[i]) == 0;
        if (!found)
            return ad_error_set(err, ADAPS_EINPUT,
                                "%s: no node is called '%s', which is to stay "
                                "one of floats",
                                q->edit.model->path, q->options.keep[i]);
    }
    return ADAPS_OK;
}

/* --- which tensors --- */

/* Whether some quantised node reads a tensor as an operand. */
static bool is_wanted(const struct ad_quantiser *q, const char *tensor)
{
    for (size_t i = 0; i < q->count; i++) {
        const Onnx__NodeProto *node = q->nodes[i].node;
        for (size_t k = 0; k < operands_of(node) && k < node->n_input && !q->nodes[i].floats; k++)
            if (strcmp(node->input[k], tensor) == 0)
                return true;
    }
    return false;
}

/* Nodes without weights are quantised only between others that are: what nobody reads as bytes, or
 * moves what is floats, stays floats. */
static void prune(struct ad_quantiser *q)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < q->count; i++) {
            struct ad_quantised_node *n = &q->nodes[i];
            const struct ad_quantised_node *from = maker_of(q, n->node->input[0]);
            if (n->floats || n->weighted)
                continue;
            n->floats = !is_wanted(q, n->result) || (n->moves && (!from || from->floats));
            changed = changed || n->floats;
        }
    }
}

static int find_tensor(const struct ad_quantiser *q, const char *name)
{
    for (size_t i = 0; i < q->ntensors; i++)
        if (strcmp(q->tensors[i].name, name) == 0)
            return (int)i;
    return -1;
}

static enum adaps_status add_tensor(struct ad_quantiser *q, const char *name,
                                    struct adaps_error *err)
{
    if (find_tensor(q, name) >= 0)
        return ADAPS_OK;
    if (!ad_grow(&q->tensors, q->ntensors, &q->tensors_room, sizeof *q->tensors))
        return ad_error_memory(err, "tensors", q->ntensors * sizeof *q->tensors);
    q->tensors[q->ntensors++] =
        (struct ad_quantised_tensor){.name = name, .from = -1, .seen = {.least = 1}};
    return ADAPS_OK;
}

/* All that quantised nodes may read; nodes may still become ones of floats. */
static enum adaps_status find_tensors(struct ad_quantiser *q, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (size_t i = 0; i < q->count; i++) {
        const Onnx__NodeProto *node = q->nodes[i].node;
        for (size_t k = 0; k < operands_of(node) && k < node->n_input && status == ADAPS_OK; k++)
            if (!q->nodes[i].floats)
                status = add_tensor(q, node->input[k], err);
    }
    for (size_t i = 0; i < q->count && status == ADAPS_OK; i++) {
        int to = q->nodes[i].moves ? find_tensor(q, q->nodes[i].result) : -1;
        if (to >= 0 && !q->nodes[i].floats)
            q->tensors[to].from = find_tensor(q, q->nodes[i].node->input[0]);
    }
    return status;
}

/* --- */

static enum adaps_status keep_base(struct ad_quantiser *q, struct adaps_error *err)
{
    q->nbase = q->edit.nnodes;
    q->nconstants = q->edit.nconstants;
    q->noutputs = q->edit.noutputs;
    q->base = ad_calloc(q->nbase + 1, sizeof *q->base);
    if (!q->base)
        return ad_error_memory(err, "nodes", q->nbase * sizeof *q->base);
    memcpy(q->base, q->edit.nodes, q->nbase * sizeof *q->base);
    return ADAPS_OK;
}

enum adaps_status ad_quantiser_init(struct ad_quantiser *q, struct ad_onnx_model *model,
                                    const struct ad_quantiser_options *options,
                                    struct adaps_error *err)
{
    *q = (struct ad_quantiser){.options = *options};
    if (model->opset < LEAST_OPSET)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: opset %d: from %d on a model can say that each output channel has "
                            "a scale of its own",
                            model->path, (int)model->opset, LEAST_OPSET);
    enum adaps_status status = ad_edit_init(&q->edit, model, err);
    if (status == ADAPS_OK)
        status = check_kept(q, err);
    if (status == ADAPS_OK)
        status = ad_quantise_fold(&q->edit, err);
    if (status == ADAPS_OK && options->equalise)
        status = ad_quantise_equalise(&q->edit, err);
    for (size_t i = 0; i < q->edit.nnodes && status == ADAPS_OK; i++)
        if (!is_taken(q, q->edit.nodes[i]))
            status = add_node(q, q->edit.nodes[i], err);
    if (status == ADAPS_OK)
        status = keep_base(q, err);
    prune(q);
    if (status == ADAPS_OK)
        status = find_tensors(q, err);
    if (status == ADAPS_OK && q->ntensors == 0)
        status = ad_error_set(err, ADAPS_EINPUT, "%s: no node is left that can be quantised",
                              model->path);
    if (status != ADAPS_OK)
        ad_quantiser_fini(q);
    return status;
}

void ad_quantiser_fini(struct ad_quantiser *q)
{
    for (size_t i = 0; i < q->ntensors; i++)
        ad_seen_fini(&q->tensors[i].seen);
    ad_free(q->tensors);
    ad_free(q->nodes);
    ad_free(q->base);
    ad_edit_fini(&q->edit);
    *q = (struct ad_quantiser){.count = 0};
}

/* Back to floats. */
static void restore(struct ad_quantiser *q)
{
    memcpy(q->edit.nodes, q->base, q->nbase * sizeof *q->base);
    ad_edit_cut(&q->edit, q->nbase, q->nconstants, q->noutputs);
}

enum adaps_status ad_quantiser_show(struct ad_quantiser *q, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    restore(q);
    for (size_t i = 0; i < q->ntensors && status == ADAPS_OK; i++)
        status = ad_edit_add_output(&q->edit, q->tensors[i].name, err);
    for (size_t i = 0; i < q->count && status == ADAPS_OK; i++)
        status = ad_edit_add_output(&q->edit, q->nodes[i].result, err);
    ad_edit_apply(&q->edit);
    return status;
}

void ad_quantiser_decide(struct ad_quantiser *q)
{
    for (size_t i = 0; i < q->ntensors; i++)
        if (q->tensors[i].from < 0)
            ad_range_find(&q->tensors[i].seen, q->options.method, q->options.share,
                          &q->tensors[i].scale, &q->tensors[i].zero);
    for (size_t i = 0; i < q->ntensors; i++) {
        int from = (int)i;
        while (q->tensors[from].from >= 0)
            from = q->tensors[from].from;
        q->tensors[i].scale = q->tensors[from].scale;
        q->tensors[i].zero = q->tensors[from].zero;
    }
}

/* --- the quantised model --- */

/* Scale and zero point as constants, and a pair of nodes. */
static enum adaps_status add_rounding(struct ad_quantiser *q, const struct ad_quantised_tensor *t,
                                      struct adaps_error *err)
{
    struct ad_edit *e = &q->edit;
    char *scale = ad_edit_name(e, t->name, "_scale"), *zero = ad_edit_name(e, t->name, "_zero");
    char *bytes = ad_edit_name(e, t->name, "_quantized");
    char *back = ad_edit_name(e, t->name, "_dequantized");
    if (!scale || !zero || !bytes || !back)
        return ad_error_memory(err, t->name, 0);
    const char *down[] = {t->name, scale, zero}, *up[] = {bytes, scale, zero};
    enum adaps_status status = ad_edit_add_constant(e, scale, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT,
                                                    0, NULL, &t->scale, 1, err);
    if (status == ADAPS_OK)
        status = ad_edit_add_constant(e, zero, ONNX__TENSOR_PROTO__DATA_TYPE__UINT8, 0, NULL,
                                      &t->zero, 1, err);
    if (status == ADAPS_OK)
        status = ad_edit_add_node(e, "QuantizeLinear", bytes, down, 3, bytes, -1, err);
    return status == ADAPS_OK ? ad_edit_add_node(e, "DequantizeLinear", back, up, 3, back, -1, err)
                              : status;
}

/* A tensor of integers with a scale for each index along an axis, zero points of 0, and the node
 * that makes floats of it. *out: these. */
static enum adaps_status add_rows(struct ad_quantiser *q, const char *name, int32_t type, int rank,
                                  const int64_t *dims, const void *data, size_t count,
                                  const float *scales, size_t rows, int64_t axis, const char **out,
                                  struct adaps_error *err)
{
    struct ad_edit *e = &q->edit;
    char *scale = ad_edit_name(e, name, "_scale"), *zero = ad_edit_name(e, name, "_zero");
    char *stored = ad_edit_name(e, name, "_quantized");
    char *back = ad_edit_name(e, name, "_dequantized");
    void *zeros = ad_calloc(rows + 1, sizeof(int32_t));
    const int64_t length = (int64_t)rows;
    enum adaps_status status = scale && zero && stored && back && zeros
                                   ? ADAPS_OK
                                   : ad_error_memory(err, name, rows * sizeof(int32_t));
    const char *inputs[] = {stored, scale, zero};
    if (status == ADAPS_OK)
        status = ad_edit_add_constant(e, stored, type, rank, dims, data, count, err);
    if (status == ADAPS_OK)
        status = ad_edit_add_constant(e, scale, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, 1, &length,
                                      scales, rows, err);
    if (status == ADAPS_OK)
        status = ad_edit_add_constant(e, zero, type, 1, &length, zeros, rows, err);
    if (status == ADAPS_OK)
        status = ad_edit_add_node(e, "DequantizeLinear", back, inputs, 3, back, axis, err);
    ad_free(zeros);
    *out = back;
    return status;
}

/* Element i's index along the axis. */
static size_t index_along(const struct ad_onnx_tensor *t, int64_t axis, size_t i)
{
    size_t inner = 1;
    for (int d = (int)axis + 1; d < t->rank; d++)
        inner *= (size_t)t->dims[d];
    return i / inner % (size_t)t->dims[axis];
}

static enum adaps_status round_weights(struct ad_quantiser *q, const struct ad_quantised_node *n,
                                       const struct ad_onnx_tensor *w, float *scales, size_t rows,
                                       const char **out, struct adaps_error *err)
{
    int8_t *bytes = ad_calloc(w->count + 1, 1);
    if (!bytes)
        return ad_error_memory(err, n->name, w->count);
    for (size_t r = 0; r < rows; r++)
        scales[r] = 0;
    for (size_t i = 0; i < w->count; i++) {
        size_t r = index_along(w, n->axis, i);
        scales[r] = fmaxf(scales[r], fabsf(w->f[i]) / INT8_MAX);
    }
    for (size_t r = 0; r < rows; r++)
        scales[r] = isnormal(scales[r]) ? scales[r] : 1;
    for (size_t i = 0; i < w->count; i++)
        bytes[i] = (int8_t)lrintf(
            fminf(fmaxf(w->f[i] / scales[index_along(w, n->axis, i)], -INT8_MAX), INT8_MAX));
    char *name = ad_edit_name(&q->edit, n->node->output[0], "_weight");
    enum adaps_status status =
        name ? add_rows(q, name, ONNX__TENSOR_PROTO__DATA_TYPE__INT8, w->rank, w->dims, bytes,
                        w->count, scales, rows, n->axis, out, err)
             : ad_error_memory(err, n->name, 0);
    ad_free(bytes);
    return status;
}

/* In units of the input's scale times the weights', whose scales are those of a group. Weights
 * whose bias would not fit an int32 so get a larger scale. */
static enum adaps_status round_bias(struct ad_quantiser *q, const struct ad_quantised_node *n,
                                    const struct ad_onnx_tensor *bias, float input,
                                    const float *scales, size_t nscales, const char **out,
                                    struct adaps_error *err)
{
    size_t rows = bias->count;
    int32_t *words = ad_calloc(rows + 1, sizeof *words);
    float *units = ad_calloc(rows + 1, sizeof *units);
    char *name = ad_edit_name(&q->edit, n->node->output[0], "_bias");
    const int64_t length = (int64_t)rows;
    enum adaps_status status =
        words && units && name ? ADAPS_OK : ad_error_memory(err, n->name, rows * sizeof *words);
    for (size_t r = 0; r < rows && status == ADAPS_OK; r++) {
        units[r] = input * scales[r % nscales];
        double whole = rint((double)bias->f[r] / (double)units[r]);
        words[r] = (int32_t)fmin(fmax(whole, -MOST_BIAS), MOST_BIAS);
    }
    if (status == ADAPS_OK)
        status = add_rows(q, name, ONNX__TENSOR_PROTO__DATA_TYPE__INT32, 1, &length, words, rows,
                          units, rows, 0, out, err);
    ad_free(words);
    ad_free(units);
    return status;
}

/* Weights and bias of a node, which reads them as integers from now on. */
static enum adaps_status add_weights(struct ad_quantiser *q, const struct ad_quantised_node *n,
                                     float input, const char **weight, const char **bias,
                                     struct adaps_error *err)
{
    struct ad_onnx_tensor w = {0}, b = {0};
    bool biased = n->node->n_input > 2 && *n->node->input[2];
    enum adaps_status status =
        ad_edit_floats(&q->edit, ad_edit_constant(&q->edit, n->node->input[1]), &w, err);
    if (status == ADAPS_OK && biased)
        status = ad_edit_floats(&q->edit, ad_edit_constant(&q->edit, n->node->input[2]), &b, err);
    size_t rows = status == ADAPS_OK ? (size_t)w.dims[n->axis] : 0;
    float *scales = ad_calloc(rows + 1, sizeof *scales);
    if (status == ADAPS_OK && !scales)
        status = ad_error_memory(err, n->name, rows * sizeof *scales);
    if (status == ADAPS_OK)
        status = round_weights(q, n, &w, scales, rows, weight, err);
    *bias = NULL;
    if (status == ADAPS_OK && biased)
        status = round_bias(q, n, &b, input, scales, rows, bias, err);
    ad_free(scales);
    ad_onnx_tensor_fini(&w);
    ad_onnx_tensor_fini(&b);
    return status;
}

/* The name of what a node reads: rounded, where the tensor is. Once rounded, all but the model's
 * outputs read it so. */
static enum adaps_status redirect(struct ad_quantiser *q, Onnx__NodeProto *node, size_t k,
                                  struct adaps_error *err)
{
    int t = find_tensor(q, node->input[k]);
    if (t < 0 || !is_wanted(q, node->input[k]))
        return ADAPS_OK;
    node->input[k] = ad_edit_name(&q->edit, node->input[k], "_dequantized");
    return node->input[k] ? ADAPS_OK : ad_error_memory(err, node->name, 0);
}

static enum adaps_status put_node(struct ad_quantiser *q, const Onnx__NodeProto *node,
                                  struct adaps_error *err)
{
    const struct ad_quantised_node *n = node_of(q, node);
    const char *weight = NULL, *bias = NULL;
    Onnx__NodeProto *copy;
    enum adaps_status status = ADAPS_OK;
    if (n && n->weighted && !n->floats)
        status = add_weights(q, n, q->tensors[find_tensor(q, node->input[0])].scale, &weight, &bias,
                             err);
    if (status == ADAPS_OK)
        status = ad_edit_copy_node(&q->edit, node, &copy, err);
    for (size_t k = 0; status == ADAPS_OK && k < node->n_input; k++) {
        const char *name = k == 1 ? weight : k == 2 ? bias : NULL;
        if (name)
            copy->input[k] = (char *)(uintptr_t)name;
        else
            status = redirect(q, copy, k, err);
    }
    for (size_t k = 0; k < node->n_output && status == ADAPS_OK; k++) {
        int t = find_tensor(q, node->output[k]);
        if (t >= 0 && is_wanted(q, node->output[k]))
            status = add_rounding(q, &q->tensors[t], err);
    }
    return status;
}

enum adaps_status ad_quantiser_apply(struct ad_quantiser *q, bool results, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    restore(q);
    prune(q);
    q->edit.nnodes = 0;
    for (size_t i = 0; i < q->ntensors && status == ADAPS_OK; i++) { /* the model's inputs */
        bool made = false;
        for (size_t k = 0; k < q->nbase && !made; k++)
            for (size_t o = 0; o < q->base[k]->n_output; o++)
                made = made || strcmp(q->base[k]->output[o], q->tensors[i].name) == 0;
        if (!made && is_wanted(q, q->tensors[i].name))
            status = add_rounding(q, &q->tensors[i], err);
    }
    for (size_t i = 0; i < q->nbase && status == ADAPS_OK; i++)
        status = put_node(q, q->base[i], err);
    for (size_t i = 0; i < q->count && results && status == ADAPS_OK; i++)
        status = ad_edit_add_output(&q->edit, q->nodes[i].result, err);
    ad_edit_apply(&q->edit);
    return status;
}

enum adaps_status ad_quantiser_write(struct ad_quantiser *q, const char *path,
                                     struct adaps_error *err)
{
    return ad_edit_write(&q->edit, path, err);
}
