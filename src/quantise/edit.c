#include "quantise/edit.h"
#include "base/file.h"
#include "base/protobuf.h"

#include <string.h>

#define LEAST_IR 4 /* of models whose constants need not be inputs, too */

static enum adaps_status no_memory(const struct ad_edit *edit, struct adaps_error *err)
{
    return ad_error_memory(err, edit->model->path, 0);
}

static enum adaps_status append(const struct ad_edit *edit, void *list, size_t *count, size_t *room,
                                void *item, struct adaps_error *err)
{
    void ***items = list;
    if (!item || !ad_grow(items, *count, room, sizeof(void *)))
        return no_memory(edit, err);
    (*items)[(*count)++] = item;
    return ADAPS_OK;
}

/* The tensor of a Constant node under the name of its output; NULL: it is none. */
static enum adaps_status constant_of(struct ad_edit *edit, const Onnx__NodeProto *node,
                                     Onnx__TensorProto **out, struct adaps_error *err)
{
    const Onnx__AttributeProto *value =
        strcmp(node->op_type, "Constant") == 0 ? ad_onnx_attribute(node, "value") : NULL;
    *out = NULL;
    if (!value || !value->t)
        return ADAPS_OK;
    *out = ad_arena_alloc(&edit->arena, 1, sizeof **out);
    if (!*out)
        return no_memory(edit, err);
    **out = *value->t;
    (*out)->name = node->output[0];
    return ADAPS_OK;
}

enum adaps_status ad_edit_init(struct ad_edit *edit, struct ad_onnx_model *model,
                               struct adaps_error *err)
{
    Onnx__GraphProto *graph = model->proto->graph;
    enum adaps_status status = ADAPS_OK;
    *edit = (struct ad_edit){.model = model, .before = *graph};
    for (size_t i = 0; i < graph->n_node && status == ADAPS_OK; i++) {
        Onnx__TensorProto *constant;
        status = constant_of(edit, graph->node[i], &constant, err);
        if (status == ADAPS_OK)
            status = constant ? append(edit, &edit->constants, &edit->nconstants,
                                       &edit->constants_room, constant, err)
                              : append(edit, &edit->nodes, &edit->nnodes, &edit->nodes_room,
                                       graph->node[i], err);
    }
    for (size_t i = 0; i < graph->n_initializer && status == ADAPS_OK; i++)
        status = append(edit, &edit->constants, &edit->nconstants, &edit->constants_room,
                        graph->initializer[i], err);
    for (size_t i = 0; i < graph->n_output && status == ADAPS_OK; i++)
        status = append(edit, &edit->outputs, &edit->noutputs, &edit->outputs_room,
                        graph->output[i], err);
    if (status != ADAPS_OK)
        ad_edit_fini(edit);
    return status;
}

void ad_edit_fini(struct ad_edit *edit)
{
    if (edit->model)
        *edit->model->proto->graph = edit->before;
    ad_free(edit->nodes);
    ad_free(edit->constants);
    ad_free(edit->outputs);
    ad_arena_fini(&edit->arena);
    *edit = (struct ad_edit){.model = NULL};
}

void ad_edit_apply(struct ad_edit *edit)
{
    Onnx__GraphProto *graph = edit->model->proto->graph;
    graph->node = edit->nodes;
    graph->n_node = edit->nnodes;
    graph->initializer = edit->constants;
    graph->n_initializer = edit->nconstants;
    graph->output = edit->outputs;
    graph->n_output = edit->noutputs;
}

void ad_edit_cut(struct ad_edit *edit, size_t nnodes, size_t nconstants, size_t noutputs)
{
    edit->nnodes = nnodes;
    edit->nconstants = nconstants;
    edit->noutputs = noutputs;
}

const Onnx__TensorProto *ad_edit_constant(const struct ad_edit *edit, const char *name)
{
    for (size_t i = 0; i < edit->nconstants; i++)
        if (edit->constants[i]->name && strcmp(edit->constants[i]->name, name) == 0)
            return edit->constants[i];
    return NULL;
}

enum adaps_status ad_edit_floats(const struct ad_edit *edit, const Onnx__TensorProto *constant,
                                 struct ad_onnx_tensor *out, struct adaps_error *err)
{
    const char *name = constant->name && *constant->name ? constant->name : "a constant";
    enum adaps_status status = ad_onnx_tensor_decode(edit->model, constant, name, out, err);
    if (status == ADAPS_OK && !out->is_float) {
        ad_onnx_tensor_fini(out);
        status = ad_error_set(err, ADAPS_EINPUT, "'%s' has no floats", name);
    }
    if (status == ADAPS_EINPUT)
        ad_error_prefix(err, "%s: ", edit->model->path);
    return status;
}

char *ad_edit_name(struct ad_edit *edit, const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    char *name = ad_arena_alloc(&edit->arena, n + m + 1, 1);
    if (name) {
        memcpy(name, a, n);
        memcpy(name + n, b, m + 1);
    }
    return name;
}

enum adaps_status ad_edit_add_constant(struct ad_edit *edit, const char *name, int32_t type,
                                       int rank, const int64_t *dims, const void *data,
                                       size_t count, struct adaps_error *err)
{
    size_t bytes = count * ad_onnx_type_bytes(type);
    Onnx__TensorProto *t = ad_arena_alloc(&edit->arena, 1, sizeof *t);
    if (!t)
        return no_memory(edit, err);
    onnx__tensor_proto__init(t);
    t->name = ad_arena_strdup(&edit->arena, name);
    t->dims = ad_arena_alloc(&edit->arena, (size_t)rank + 1, sizeof *t->dims);
    t->raw_data.data = ad_arena_alloc(&edit->arena, bytes + 1, 1);
    if (!t->name || !t->dims || !t->raw_data.data)
        return no_memory(edit, err);
    if (rank > 0)
        memcpy(t->dims, dims, (size_t)rank * sizeof *dims);
    t->n_dims = (size_t)rank;
    t->has_data_type = true;
    t->data_type = type;
    t->has_raw_data = true;
    t->raw_data.len = bytes;
    memcpy(t->raw_data.data, data, bytes);
    return append(edit, &edit->constants, &edit->nconstants, &edit->constants_room, t, err);
}

static bool put_names(struct ad_edit *edit, const char *const *names, size_t n, char ***out,
                      size_t *count)
{
    *out = ad_arena_alloc(&edit->arena, n + 1, sizeof **out);
    for (size_t i = 0; *out && i < n; i++) {
        (*out)[i] = ad_arena_strdup(&edit->arena, names[i]);
        if (!(*out)[i])
            return false;
    }
    *count = n;
    return *out != NULL;
}

enum adaps_status ad_edit_add_node(struct ad_edit *edit, const char *type, const char *name,
                                   const char *const *inputs, size_t ninputs, const char *output,
                                   int64_t axis, struct adaps_error *err)
{
    Onnx__NodeProto *node = ad_arena_alloc(&edit->arena, 1, sizeof *node);
    Onnx__AttributeProto *attribute = ad_arena_alloc(&edit->arena, 1, sizeof *attribute);
    if (!node || !attribute)
        return no_memory(edit, err);
    onnx__node_proto__init(node);
    node->op_type = ad_arena_strdup(&edit->arena, type);
    node->name = ad_arena_strdup(&edit->arena, name);
    if (!node->op_type || !node->name ||
        !put_names(edit, inputs, ninputs, &node->input, &node->n_input) ||
        !put_names(edit, &output, 1, &node->output, &node->n_output))
        return no_memory(edit, err);
    if (axis >= 0) {
        onnx__attribute_proto__init(attribute);
        attribute->name = ad_arena_strdup(&edit->arena, "axis");
        attribute->has_type = attribute->has_i = true;
        attribute->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        attribute->i = axis;
        node->attribute = ad_arena_alloc(&edit->arena, 1, sizeof *node->attribute);
        if (!attribute->name || !node->attribute)
            return no_memory(edit, err);
        node->attribute[node->n_attribute++] = attribute;
    }
    return append(edit, &edit->nodes, &edit->nnodes, &edit->nodes_room, node, err);
}

enum adaps_status ad_edit_copy_node(struct ad_edit *edit, const Onnx__NodeProto *node,
                                    Onnx__NodeProto **out, struct adaps_error *err)
{
    Onnx__NodeProto *copy = ad_arena_alloc(&edit->arena, 1, sizeof *copy);
    if (!copy)
        return no_memory(edit, err);
    *copy = *node;
    if (!put_names(edit, (const char *const *)node->input, node->n_input, &copy->input,
                   &copy->n_input) ||
        !put_names(edit, (const char *const *)node->output, node->n_output, &copy->output,
                   &copy->n_output))
        return no_memory(edit, err);
    *out = copy;
    return append(edit, &edit->nodes, &edit->nnodes, &edit->nodes_room, copy, err);
}

enum adaps_status ad_edit_add_output(struct ad_edit *edit, const char *name,
                                     struct adaps_error *err)
{
    Onnx__ValueInfoProto *info = ad_arena_alloc(&edit->arena, 1, sizeof *info);
    Onnx__TypeProto *type = ad_arena_alloc(&edit->arena, 1, sizeof *type);
    Onnx__TypeProto__Tensor *of = ad_arena_alloc(&edit->arena, 1, sizeof *of);
    if (!info || !type || !of)
        return no_memory(edit, err);
    onnx__value_info_proto__init(info);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(of);
    info->name = ad_arena_strdup(&edit->arena, name);
    info->type = type;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = of;
    of->has_elem_type = true;
    of->elem_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    if (!info->name)
        return no_memory(edit, err);
    return append(edit, &edit->outputs, &edit->noutputs, &edit->outputs_room, info, err);
}

/* --- the file --- */

/* Whether some node reads a name, or it is an output. */
static bool is_read(const struct ad_edit *edit, const char *name)
{
    for (size_t i = 0; i < edit->nnodes; i++)
        for (size_t k = 0; k < edit->nodes[i]->n_input; k++)
            if (strcmp(edit->nodes[i]->input[k], name) == 0)
                return true;
    for (size_t i = 0; i < edit->noutputs; i++)
        if (strcmp(edit->outputs[i]->name, name) == 0)
            return true;
    return false;
}

/* The constant with its bytes, which are the caller's. */
static enum adaps_status with_bytes(const struct ad_edit *edit, const Onnx__TensorProto *from,
                                    Onnx__TensorProto *to, uint8_t **bytes, struct adaps_error *err)
{
    size_t size;
    enum adaps_status status = ad_onnx_tensor_bytes(edit->model, from, bytes, &size, err);
    if (status != ADAPS_OK)
        return status;
    onnx__tensor_proto__init(to);
    to->name = from->name;
    to->n_dims = from->n_dims;
    to->dims = from->dims;
    to->has_data_type = true;
    to->data_type = from->data_type;
    to->has_raw_data = true;
    to->raw_data.len = size;
    to->raw_data.data = *bytes;
    return ADAPS_OK;
}

/* The inputs but for those that the file has numbers for, as old ones do. */
static Onnx__ValueInfoProto **true_inputs(const struct ad_edit *edit, size_t *count)
{
    const Onnx__GraphProto *file = &edit->before;
    Onnx__ValueInfoProto **out = ad_calloc(file->n_input + 1, sizeof *out);
    *count = 0;
    for (size_t i = 0; out && i < file->n_input; i++) {
        bool constant = false;
        for (size_t k = 0; k < file->n_initializer && !constant; k++)
            constant = strcmp(file->initializer[k]->name, file->input[i]->name) == 0;
        if (!constant)
            out[(*count)++] = file->input[i];
    }
    return out;
}

static enum adaps_status pack(const struct ad_edit *edit, const Onnx__ModelProto *model,
                              const char *path, struct adaps_error *err)
{
    size_t size = onnx__model_proto__get_packed_size(model);
    if (size >= (size_t)INT32_MAX)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: it would have %zu bytes: an ONNX file may have 2 GB", path, size);
    uint8_t *bytes = ad_alloc_aligned(size);
    if (!bytes)
        return no_memory(edit, err);
    onnx__model_proto__pack(model, bytes);
    enum adaps_status status = ad_file_replace(path, bytes, size, err);
    ad_free(bytes);
    return status;
}

enum adaps_status ad_edit_write(struct ad_edit *edit, const char *path, struct adaps_error *err)
{
    Onnx__ModelProto model = *edit->model->proto;
    Onnx__GraphProto graph = edit->before;
    Onnx__TensorProto *constants = ad_calloc(edit->nconstants + 1, sizeof *constants);
    Onnx__TensorProto **list = ad_calloc(edit->nconstants + 1, sizeof *list);
    uint8_t **bytes = ad_calloc(edit->nconstants + 1, sizeof *bytes);
    graph.input = true_inputs(edit, &graph.n_input);
    enum adaps_status status =
        constants && list && bytes && graph.input ? ADAPS_OK : no_memory(edit, err);
    size_t n = 0;
    for (size_t i = 0; i < edit->nconstants && status == ADAPS_OK; i++) {
        if (!is_read(edit, edit->constants[i]->name))
            continue;
        status = with_bytes(edit, edit->constants[i], &constants[n], &bytes[n], err);
        list[n] = &constants[n];
        n += status == ADAPS_OK;
    }
    graph.node = edit->nodes;
    graph.n_node = edit->nnodes;
    graph.initializer = list;
    graph.n_initializer = n;
    graph.output = edit->outputs;
    graph.n_output = edit->noutputs;
    model.graph = &graph;
    model.has_ir_version = true;
    model.ir_version = model.ir_version > LEAST_IR ? model.ir_version : LEAST_IR;
    model.producer_name = ad_protobuf_borrow("adaps quantize");
    if (status == ADAPS_OK)
        status = pack(edit, &model, path, err);
    for (size_t i = 0; i < n; i++)
        ad_free(bytes[i]);
    ad_free(graph.input);
    ad_free(bytes);
    ad_free(list);
    ad_free(constants);
    return status;
}
