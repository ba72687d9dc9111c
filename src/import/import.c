/* ONNX model -> typed graph: names and order (names.c), one function per operator (operators.c),
 * then simplify.c and lower.c. */
#include "import/operators.h"
#include "base/protobuf.h"

#include <stdio.h>
#include <string.h>

#define FOLD_ELEMENTS (1 << 22) /* constant folding of a model without weights */

/* Every attribute is one that some version of the operator has. */
static enum adaps_status check_attributes(const struct ad_node *node,
                                          const struct ad_onnx_operator *row,
                                          struct adaps_error *err)
{
    for (size_t i = 0; i < node->proto->n_attribute; i++) {
        const char *name = node->proto->attribute[i]->name;
        if (!name || !ad_onnx_operator_has(row, name))
            return ad_node_fail(node, err, "no version of the operator has an attribute '%s'",
                                name ? name : "");
    }
    return ADAPS_OK;
}

/* Checks that inputs which ONNX requires to be of one type are of one float type. */
static enum adaps_status check_types(const struct ad_node *node, const struct ad_onnx_operator *row,
                                     const int32_t *types, struct adaps_error *err)
{
    int first = -1;
    char a[24], b[24];
    for (int k = 0; k < node->ninputs; k++) {
        if (!(row->same >> (k < 31 ? k : 31) & 1) || !ad_onnx_type_is_float(types[k]))
            continue;
        if (first >= 0 && types[k] != types[first])
            return ad_node_fail(node, err,
                                "its inputs '%s' and '%s' are of types %s and %s: they must be of "
                                "one type",
                                node->proto->input[first], node->proto->input[k],
                                ad_onnx_type_name(types[first], a, sizeof a),
                                ad_onnx_type_name(types[k], b, sizeof b));
        first = first < 0 ? k : first;
    }
    return ADAPS_OK;
}

/* Whether the node's operator has a form of its own for what it reads. */
static bool takes(const struct ad_onnx_operator *row, const struct ad_node *node)
{
    bool typed = ad_node_is_typed(node), open = ad_node_is_open(node);
    switch (row->takes) {
    case AD_TAKES_FLOATS:
        return !typed && !open;
    case AD_TAKES_OPEN:
        return !typed;
    case AD_TAKES_KNOWN:
        return !open;
    case AD_TAKES_ANY:
        break;
    }
    return true;
}

/* Gives the node's outputs their type, but for those that have one. */
static void set_types(const struct ad_node *node, const struct ad_onnx_operator *row,
                      const int32_t *types)
{
    int32_t type = ad_onnx_operator_result(row, node->proto, types, node->ninputs);
    const struct ad_draft *d = node->draft;
    for (size_t k = 0; k < node->proto->n_output; k++) {
        const char *key = node->proto->output[k];
        struct ad_name *name = *key ? ad_names_find(&node->draft->names, key) : NULL;
        if (name && !name->type)
            name->type = type;
        bool computed = name && name->value >= 0 && !d->values[name->value].constant;
        if (computed && d->values[name->value].type != ADAPS_FLOAT32)
            name->type = (int32_t)d->values[name->value].type;
    }
}

/* Fills node->inputs, and their types, from names. Nodes come in order, so that what has no value
 * yet is an output which its operator does not give. */
static enum adaps_status resolve_inputs(struct ad_node *node, int32_t *types,
                                        struct adaps_error *err)
{
    const struct ad_draft *d = node->draft;
    node->ninputs = (int)node->proto->n_input;
    for (int k = 0; k < node->ninputs; k++) {
        const char *key = node->proto->input[k];
        const struct ad_name *name = *key ? ad_names_find(&d->names, key) : NULL;
        node->inputs[k] = name ? name->value : -1;
        types[k] = name ? name->type : 0;
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
    const struct ad_onnx_operator *row = ad_onnx_operator_of(proto->op_type);
    if (!row)
        return ad_node_fail(&node, err, "this operator is not supported");
    if (node.opset < row->since)
        return ad_node_fail(&node, err, "its form of opset %d is not supported: %d or later is",
                            (int)node.opset, row->since);
    if (proto->n_input > INT32_MAX / 2)
        return ad_node_fail(&node, err, "%zu inputs", proto->n_input);
    node.inputs = ad_arena_alloc(&d->arena, proto->n_input + 1, sizeof *node.inputs);
    int32_t *types = ad_arena_alloc(&d->arena, proto->n_input + 1, sizeof *types);
    if (!node.inputs || !types)
        return ad_error_memory(err, "inputs", proto->n_input * sizeof *node.inputs);
    node.types = types;
    enum adaps_status status = check_attributes(&node, row, err);
    if (status == ADAPS_OK)
        status = resolve_inputs(&node, types, err);
    if (status == ADAPS_OK)
        status = check_types(&node, row, types, err);
    size_t first = d->nops;
    if (status == ADAPS_OK)
        status = takes(row, &node)            ? row->import(&node, err)
                 : ad_node_moves_bytes(&node) ? ad_import_moved_bytes(&node, row->import, err)
                                              : ad_import_whole(&node, err);
    ad_node_drop(&node);
    if (status == ADAPS_OK)
        set_types(&node, row, types);
    return status == ADAPS_OK ? ad_node_turn(&node, first, err) : status;
}

/* The first output that is computed, or else the first input; -1: there is none. */
static int first_computed(const struct ad_draft *d)
{
    for (size_t i = 0; i < d->proto->n_output; i++) {
        const struct ad_name *name = ad_names_find(&d->names, d->proto->output[i]->name);
        if (name && name->value >= 0 && !d->values[name->value].constant)
            return name->value;
    }
    return d->ninputs > 0 ? d->inputs[0] : -1;
}

/* An output that is a constant. */
static enum adaps_status add_constant(struct ad_draft *d, struct ad_node *node, int32_t type,
                                      int *value, struct adaps_error *err)
{
    int beside = first_computed(d);
    if (beside < 0)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: the output '%s' is a constant, and the network has no input",
                            d->model->path, node->name);
    if (d->values[*value].file_type == 0)
        d->values[*value].file_type = type;
    return ad_draft_copy_constant(node, *value, beside, value, err);
}

/* An output that is not the result of an op of its own (a constant, an input passed through, or a
 * value under a second name) becomes the output of a copy. */
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
    bool copy = !d->values[v].producer;
    for (int i = 0; i < d->noutputs; i++)
        copy = copy || d->outputs[i] == v;
    if (copy) {
        Onnx__NodeProto proto = ONNX__NODE_PROTO__INIT;
        char *outputs[] = {ad_protobuf_borrow(key)};
        proto.n_output = 1;
        proto.output = outputs;
        struct ad_node node = {.draft = d, .proto = &proto, .name = key, .type = "Identity"};
        struct ad_draft_op *op;
        int64_t dims[AD_MAX_RANK];
        memcpy(dims, d->values[v].dims, sizeof dims);
        d->node = name->node;
        bool constant = d->values[v].constant;
        bool plain = !constant && d->values[v].type == ADAPS_FLOAT32 && !d->values[v].open;
        enum adaps_status status =
            constant ? add_constant(d, &node, name->type, &v, err)
            : plain  ? ad_draft_op(&node, AD_D_UNARY, 1, &v, d->values[v].rank, dims, &op, err)
                     : ad_draft_copy(&node, v, &v, err);
        if (status != ADAPS_OK)
            return status;
        v = plain ? op->output : v;
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
    ad_free(d->stands);
    ad_arena_fini(&d->arena);
}

/* An import may fail because of a size that was assumed: the message says which were. */
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
                             .node = -1,
                             .places = options ? options->places : NULL,
                             .fold_left = FOLD_ELEMENTS};
    struct ad_import_facts *facts = options ? options->facts : NULL;
    int *order = NULL;
    size_t count = 0;
    if (facts)
        *facts = (struct ad_import_facts){0};
    if (model->memory_left)
        ad_mem_limit(model->memory_left);
    enum adaps_status status = ad_draft_register(&draft, options, err);
    if (status == ADAPS_OK)
        status = ad_draft_turn_inputs(&draft, err);
    if (status == ADAPS_OK)
        status = ad_draft_order(&draft, &order, &count, err);
    if (status == ADAPS_OK && options && options->standing &&
        !(draft.stands = ad_facts_standing(&draft, options->standing, options->nstanding)))
        status = ad_error_memory(err, "nodes", draft.proto->n_node);
    if (status == ADAPS_OK && facts)
        status = ad_facts_init(&draft, facts, err);
    for (size_t i = 0; i < count && status == ADAPS_OK; i++) {
        size_t first = draft.nops;
        draft.node = order[i];
        status = ad_draft_node(&draft, draft.proto->node[order[i]], order[i], err);
        if (status == ADAPS_OK && facts)
            facts->roles[order[i]] = ad_facts_role(&draft, draft.proto->node[order[i]], first);
    }
    draft.node = -1;
    if (status == ADAPS_OK && facts)
        status = ad_facts_tensors(&draft, order, count, facts, err);
    if (status == ADAPS_OK)
        status = import_outputs(&draft, err);
    if (status == ADAPS_OK)
        status = ad_draft_simplify(&draft, err);
    if (status == ADAPS_OK)
        status = ad_draft_quantise(&draft, err);
    if (status == ADAPS_OK)
        status = ad_draft_lower(&draft, facts != NULL, out, err);
    if (status == ADAPS_EINPUT)
        suggest_dims(&draft, err);
    if (facts && status != ADAPS_OK)
        ad_import_facts_fini(facts);
    if (options && options->assumed)
        memcpy(options->assumed, draft.assumed, sizeof draft.assumed);
    ad_free(order);
    draft_fini(&draft);
    if (model->memory_left && ad_mem_limit_end(NULL) && status == ADAPS_EINTERNAL)
        status = ad_onnx_too_large(model->path, model->memory_factor, err);
    return status;
}
