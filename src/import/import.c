/* ONNX model -> typed graph: names and order (import_names.c), one function per operator, then
 * simplify.c and lower.c. */
#include "import/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLD_ELEMENTS (1 << 22) /* constant folding of a model without weights */

struct operator_row {
    const char *type;
    ad_import_fn *import;
    int since; /* the first opset in which the operator is what `import` reads */
};

static const struct operator_row operators[] = {
    {"Abs", ad_import_function, 6},
    {"Add", ad_import_arithmetic, 6},
    {"And", ad_import_comparison, 7},
    {"AveragePool", ad_import_averagepool, 1},
    {"BatchNormalization", ad_import_batchnorm, 6},
    {"Cast", ad_import_cast, 6},
    {"Ceil", ad_import_function, 6},
    {"Celu", ad_import_function, 12},
    {"Clip", ad_import_clip, 6},
    {"Concat", ad_import_concat, 4},
    {"Constant", ad_import_constant, 1},
    {"ConstantOfShape", ad_import_constant_of_shape, 6},
    {"Conv", ad_import_conv, 1},
    {"ConvTranspose", ad_import_conv_transpose, 1},
    {"DepthToSpace", ad_import_depth_to_space, 1},
    {"Div", ad_import_arithmetic, 6},
    {"Dropout", ad_import_dropout, 6},
    {"Elu", ad_import_function, 6},
    {"Equal", ad_import_comparison, 7},
    {"Erf", ad_import_function, 9},
    {"Exp", ad_import_function, 6},
    {"Expand", ad_import_expand, 8},
    {"Flatten", ad_import_flatten, 1},
    {"Floor", ad_import_function, 6},
    {"Gather", ad_import_gather, 1},
    {"Gelu", ad_import_gelu, 20},
    {"Gemm", ad_import_gemm, 6},
    {"GlobalAveragePool", ad_import_gap, 1},
    {"GlobalMaxPool", ad_import_maxpool, 1},
    {"Greater", ad_import_comparison, 7},
    {"GreaterOrEqual", ad_import_comparison, 7},
    {"GroupNormalization", ad_import_group_norm, 18},
    {"HardSigmoid", ad_import_function, 6},
    {"HardSwish", ad_import_function, 14},
    {"Identity", ad_import_identity, 1},
    {"If", ad_import_if, 1},
    {"InstanceNormalization", ad_import_instance_norm, 6},
    {"LRN", ad_import_lrn, 1},
    {"LayerNormalization", ad_import_layer_norm, 17},
    {"LeakyRelu", ad_import_function, 6},
    {"Less", ad_import_comparison, 7},
    {"LessOrEqual", ad_import_comparison, 7},
    {"Log", ad_import_function, 6},
    {"LogSoftmax", ad_import_log_softmax, 1},
    {"LpNormalization", ad_import_lp_norm, 1},
    {"MatMul", ad_import_matmul, 1},
    {"Max", ad_import_variadic, 6},
    {"MaxPool", ad_import_maxpool, 1},
    {"Mean", ad_import_variadic, 6},
    {"Min", ad_import_variadic, 6},
    {"Mish", ad_import_function, 18},
    {"Mod", ad_import_mod, 10},
    {"Mul", ad_import_arithmetic, 6},
    {"Neg", ad_import_function, 6},
    {"NonZero", ad_import_nonzero, 9},
    {"Not", ad_import_not, 1},
    {"Or", ad_import_comparison, 7},
    {"PRelu", ad_import_prelu, 6},
    {"Pad", ad_import_pad, 6},
    {"Pow", ad_import_pow, 6},
    {"Range", ad_import_range, 11},
    {"Reciprocal", ad_import_function, 6},
    {"ReduceL1", ad_import_reduce, 1},
    {"ReduceL2", ad_import_reduce, 1},
    {"ReduceLogSum", ad_import_reduce, 1},
    {"ReduceLogSumExp", ad_import_log_sum_exp, 1},
    {"ReduceMax", ad_import_reduce, 1},
    {"ReduceMean", ad_import_reduce, 1},
    {"ReduceMin", ad_import_reduce, 1},
    {"ReduceProd", ad_import_reduce, 1},
    {"ReduceSum", ad_import_reduce, 1},
    {"ReduceSumSquare", ad_import_reduce, 1},
    {"Relu", ad_import_relu, 1},
    {"Reshape", ad_import_reshape, 5},
    {"Resize", ad_import_resize, 10},
    {"Selu", ad_import_function, 6},
    {"Shape", ad_import_shape, 1},
    {"Sigmoid", ad_import_function, 6},
    {"Size", ad_import_size, 1},
    {"Slice", ad_import_slice, 1},
    {"Softmax", ad_import_softmax, 1},
    {"Softplus", ad_import_function, 1},
    {"Softsign", ad_import_function, 1},
    {"SpaceToDepth", ad_import_space_to_depth, 1},
    {"Split", ad_import_split, 2},
    {"Sqrt", ad_import_function, 6},
    {"Squeeze", ad_import_squeeze, 1},
    {"Sub", ad_import_arithmetic, 6},
    {"Sum", ad_import_variadic, 6},
    {"Tanh", ad_import_function, 6},
    {"ThresholdedRelu", ad_import_function, 10},
    {"Tile", ad_import_tile, 6},
    {"Transpose", ad_import_transpose, 1},
    {"Unsqueeze", ad_import_unsqueeze, 1},
    {"Upsample", ad_import_resize, 7},
    {"Where", ad_import_where, 9},
    {"Xor", ad_import_comparison, 7},
};

static int compare_rows(const void *key, const void *row)
{
    return strcmp(key, ((const struct operator_row *)row)->type);
}

static const struct operator_row *operator_of(const char *type)
{
    return bsearch(type, operators, sizeof operators / sizeof *operators, sizeof *operators,
                   compare_rows);
}

bool ad_ir_operator_known(const char *op_type)
{
    return operator_of(op_type) != NULL;
}

/* Operators of quantised models, in either way of writing them. */
static bool is_quantised(const char *type)
{
    static const char *const types[] = {
        "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv",
        "QLinearMatMul",  "ConvInteger",      "MatMulInteger"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

/* Casts make floats of integers, and shapes know no type. */
static bool reads_integers(const char *type)
{
    return strcmp(type, "Cast") == 0 || strcmp(type, "Shape") == 0 || strcmp(type, "Size") == 0;
}

static enum adaps_status refuse_integers(struct ad_node *node, const struct ad_name *name,
                                         struct adaps_error *err)
{
    char buf[24];
    return ad_node_fail(
        node, err,
        "its input '%s' is of type %s: only floats are supported, and integers that "
        "a Cast makes floats of",
        name->key, ad_onnx_type_name(name->integer, buf, sizeof buf));
}

/* Fills node->inputs from names. Nodes come in order, so that what has no value yet is an output
 * which its operator does not give. */
static enum adaps_status resolve_inputs(struct ad_node *node, struct adaps_error *err)
{
    const struct ad_draft *d = node->draft;
    node->ninputs = (int)node->proto->n_input;
    for (int k = 0; k < node->ninputs; k++) {
        const char *key = node->proto->input[k];
        const struct ad_name *name = *key ? ad_names_find(&d->names, key) : NULL;
        node->inputs[k] = name ? name->value : -1;
        if (name && name->integer && !reads_integers(node->type))
            return refuse_integers(node, name, err);
        if (!name || name->value >= 0)
            continue;
        const Onnx__NodeProto *maker = d->proto->node[name->node];
        return ad_node_fail(node, err,
                            "its input '%s' is output %d of node '%s' (%s), which is "
                            "not supported",
                            key, name->output, maker->name ? maker->name : "", maker->op_type);
    }
    return ADAPS_OK;
}

enum adaps_status ad_draft_node(struct ad_draft *d, const Onnx__NodeProto *proto, int index,
                                struct adaps_error *err)
{
    struct ad_node node = {.draft = d,
                           .proto = proto,
                           .opset = d->model->opset,
                           .type = proto->op_type,
                           .spatial = 2,
                           .name = proto->name};
    if (!node.name || !*node.name) {
        size_t size = strlen(proto->op_type) + 16;
        char *name = ad_arena_alloc(&d->arena, size, 1);
        if (!name)
            return ad_error_memory(err, "names", size);
        snprintf(name, size, "%s_%d", proto->op_type, index);
        node.name = name;
    }
    const struct operator_row *row = operator_of(proto->op_type);
    if (!row)
        return is_quantised(proto->op_type)
                   ? ad_node_fail(&node, err,
                                  "int8 models are not supported: that would take integer kernels "
                                  "with scales and zero points; the float32 model runs")
                   : ad_node_fail(&node, err, "this operator is not supported");
    if (node.opset < row->since)
        return ad_node_fail(&node, err, "its form of opset %d is not supported: %d or later is",
                            (int)node.opset, row->since);
    if (proto->n_input > INT32_MAX / 2)
        return ad_node_fail(&node, err, "%zu inputs", proto->n_input);
    node.inputs = ad_arena_alloc(&d->arena, proto->n_input + 1, sizeof *node.inputs);
    if (!node.inputs)
        return ad_error_memory(err, "inputs", proto->n_input * sizeof *node.inputs);
    enum adaps_status status = resolve_inputs(&node, err);
    size_t first = d->nops;
    if (status == ADAPS_OK)
        status = row->import(&node, err);
    ad_node_drop(&node);
    return status == ADAPS_OK ? ad_node_turn(&node, first, err) : status;
}

/* An output that is not the result of an op of its own (an input passed through, or a value under
 * a second name) becomes the output of a copy. */
static enum adaps_status add_output(struct ad_draft *d, const char *key, struct adaps_error *err)
{
    const struct ad_name *name = ad_names_find(&d->names, key);
    if (name->value < 0)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: the output '%s' is output %d of node '%s' (%s), which is not "
                            "supported",
                            d->model->path, key, name->output,
                            d->proto->node[name->node]->name ? d->proto->node[name->node]->name
                                                             : "",
                            d->proto->node[name->node]->op_type);
    int v = name->value;
    if (name->integer)
        return ad_error_set(
            err, ADAPS_EINPUT,
            "%s: the output '%s' is an input of integers: only floats are supported",
            d->model->path, key);
    if (d->values[v].constant)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: the output '%s' is a constant: it does not "
                            "depend on any input",
                            d->model->path, key);
    bool copy = !d->values[v].producer;
    for (int i = 0; i < d->noutputs; i++)
        copy = copy || d->outputs[i] == v;
    if (copy) {
        Onnx__NodeProto proto = ONNX__NODE_PROTO__INIT;
        char *outputs[] = {(char *)key};
        proto.n_output = 1;
        proto.output = outputs;
        struct ad_node node = {.draft = d, .proto = &proto, .name = key, .type = "Identity"};
        struct ad_draft_op *op;
        int64_t dims[AD_MAX_RANK];
        memcpy(dims, d->values[v].dims, sizeof dims);
        enum adaps_status status =
            ad_draft_op(&node, AD_D_UNARY, 1, &v, d->values[v].rank, dims, &op, err);
        if (status != ADAPS_OK)
            return status;
        v = op->output;
    }
    d->values[v].name = key;
    d->outputs[d->noutputs++] = v;
    return ADAPS_OK;
}

static enum adaps_status import_outputs(struct ad_draft *d, struct adaps_error *err)
{
    size_t n = d->proto->n_output;
    if (n == 0 || n > 1024)
        return ad_error_set(err, ADAPS_EINPUT, "%s: %zu outputs: 1 to 1024 are supported",
                            d->model->path, n);
    d->outputs = ad_arena_alloc(&d->arena, n, sizeof *d->outputs);
    if (!d->outputs)
        return ad_error_memory(err, "outputs", n * sizeof *d->outputs);
    enum adaps_status status = ADAPS_OK;
    for (size_t i = 0; i < n && status == ADAPS_OK; i++)
        status = add_output(d, d->proto->output[i]->name, err);
    return status;
}

static void draft_fini(struct ad_draft *d)
{
    for (struct ad_const *k = d->constants; k; k = k->next) {
        if (k->borrowed)
            k->tensor.f = NULL;
        ad_onnx_tensor_fini(&k->tensor);
    }
    ad_free(d->values);
    ad_free(d->ops);
    ad_arena_fini(&d->arena);
}

/* Sizes that nobody gave may be why a model does not fit together. */
static void suggest_dims(const struct ad_draft *d, struct adaps_error *err)
{
    if (!err || !*d->assumed)
        return;
    const struct adaps_error why = *err;
    ad_error_set(err, why.status,
                 "%s; of the symbolic dimensions %s became 1: --dim NAME=N gives "
                 "another size",
                 why.message, d->assumed);
}

enum adaps_status ad_ir_import(struct ad_onnx_model *model, const struct ad_import_options *options,
                               struct ad_graph **out, struct adaps_error *err)
{
    *out = NULL;
    struct ad_draft draft = {.model = model,
                             .proto = model->proto->graph,
                             .pieces_left = AD_MAX_PIECES,
                             .fold_left = FOLD_ELEMENTS};
    int *order = NULL;
    size_t count = 0;
    if (model->memory_left)
        ad_mem_limit(model->memory_left);
    enum adaps_status status = ad_draft_register(&draft, options, err);
    if (status == ADAPS_OK)
        status = ad_draft_turn_inputs(&draft, err);
    if (status == ADAPS_OK)
        status = ad_draft_order(&draft, &order, &count, err);
    for (size_t i = 0; i < count && status == ADAPS_OK; i++)
        status = ad_draft_node(&draft, draft.proto->node[order[i]], order[i], err);
    if (status == ADAPS_OK)
        status = import_outputs(&draft, err);
    if (status == ADAPS_OK)
        status = ad_draft_simplify(&draft, err);
    if (status == ADAPS_OK)
        status = ad_draft_lower(&draft, out, err);
    if (status == ADAPS_EINPUT)
        suggest_dims(&draft, err);
    if (options && options->assumed)
        memcpy(options->assumed, draft.assumed, sizeof draft.assumed);
    ad_free(order);
    draft_fini(&draft);
    if (model->memory_left && ad_mem_limit_end(NULL) && status == ADAPS_EINTERNAL)
        status = ad_onnx_too_large(model->path, err);
    return status;
}
