#include "support/model_builder.h"

#include <stdlib.h>
#include <string.h>

#define END (-9)
#define ROOM 64 /* of every list of a model at first */

static void *make(struct mb *mb, size_t count, size_t size)
{
    void *p = ad_arena_alloc(&mb->arena, count, size);
    if (!p)
        abort();
    return p;
}

static char *copy(struct mb *mb, const char *text)
{
    char *p = ad_arena_strdup(&mb->arena, text);
    if (!p)
        abort();
    return p;
}

static size_t length(const int64_t *list)
{
    size_t n = 0;
    while (list[n] != END)
        n++;
    return n;
}

static int64_t *copy_list(struct mb *mb, const int64_t *list, size_t *count)
{
    *count = length(list);
    int64_t *p = make(mb, *count + 1, sizeof *p);
    memcpy(p, list, *count * sizeof *p);
    return p;
}

/* Appends to one of the model's lists, which have ROOM places, then twice as many as they are long.
 */
#define APPEND(mb, list, count, item)                                                              \
    do {                                                                                           \
        if (!(list))                                                                               \
            (list) = make(mb, ROOM, sizeof *(list));                                               \
        if ((count) >= ROOM && ((count) & ((count)-1)) == 0) {                                     \
            void *old = (list);                                                                    \
            (list) = make(mb, 2 * (count), sizeof *(list));                                        \
            memcpy((list), old, (count) * sizeof *(list));                                         \
        }                                                                                          \
        (list)[(count)++] = (item);                                                                \
    } while (0)

void mb_init(struct mb *mb, int64_t opset)
{
    memset(mb, 0, sizeof *mb);
    mb->rng.state = 1;
    mb->proto = make(mb, 1, sizeof *mb->proto);
    onnx__model_proto__init(mb->proto);
    mb->proto->has_ir_version = 1;
    mb->proto->ir_version = 7;
    Onnx__OperatorSetIdProto *set = make(mb, 1, sizeof *set);
    onnx__operator_set_id_proto__init(set);
    set->has_version = 1;
    set->version = opset;
    APPEND(mb, mb->proto->opset_import, mb->proto->n_opset_import, set);
    mb->proto->graph = make(mb, 1, sizeof *mb->proto->graph);
    onnx__graph_proto__init(mb->proto->graph);
    mb->proto->graph->name = copy(mb, "test");
    mb->model.proto = mb->proto;
    mb->model.path = copy(mb, "test.onnx");
    mb->model.opset = opset;
}

void mb_fini(struct mb *mb)
{
    ad_arena_fini(&mb->arena);
}

static Onnx__ValueInfoProto *value_info(struct mb *mb, const char *name)
{
    Onnx__ValueInfoProto *info = make(mb, 1, sizeof *info);
    onnx__value_info_proto__init(info);
    info->name = copy(mb, name);
    return info;
}

Onnx__ValueInfoProto *mb_input(struct mb *mb, const char *name, const int64_t *dims)
{
    Onnx__ValueInfoProto *info = value_info(mb, name);
    info->type = make(mb, 1, sizeof *info->type);
    onnx__type_proto__init(info->type);
    info->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    Onnx__TypeProto__Tensor *tensor = make(mb, 1, sizeof *tensor);
    onnx__type_proto__tensor__init(tensor);
    info->type->tensor_type = tensor;
    tensor->has_elem_type = 1;
    tensor->elem_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    tensor->shape = make(mb, 1, sizeof *tensor->shape);
    onnx__tensor_shape_proto__init(tensor->shape);
    for (size_t i = 0; i < length(dims); i++) {
        Onnx__TensorShapeProto__Dimension *dim = make(mb, 1, sizeof *dim);
        onnx__tensor_shape_proto__dimension__init(dim);
        if (dims[i] == 0) {
            dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
            dim->dim_param = copy(mb, "N");
        } else {
            dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
            dim->dim_value = dims[i];
        }
        APPEND(mb, tensor->shape->dim, tensor->shape->n_dim, dim);
    }
    APPEND(mb, mb->proto->graph->input, mb->proto->graph->n_input, info);
    return info;
}

void mb_output(struct mb *mb, const char *name)
{
    APPEND(mb, mb->proto->graph->output, mb->proto->graph->n_output, value_info(mb, name));
}

static char **split(struct mb *mb, const char *text, size_t *count)
{
    char **list = make(mb, ROOM, sizeof *list);
    char *rest = copy(mb, text), *item;
    *count = 0;
    if (!*text)
        return list;
    while ((item = strsep(&rest, ",")))
        list[(*count)++] = item;
    return list;
}

Onnx__NodeProto *mb_node(struct mb *mb, const char *type, const char *inputs, const char *outputs)
{
    Onnx__NodeProto *node = make(mb, 1, sizeof *node);
    onnx__node_proto__init(node);
    node->op_type = copy(mb, type);
    node->input = split(mb, inputs, &node->n_input);
    node->output = split(mb, outputs, &node->n_output);
    APPEND(mb, mb->proto->graph->node, mb->proto->graph->n_node, node);
    return node;
}

static Onnx__AttributeProto *attribute(struct mb *mb, Onnx__NodeProto *node, const char *name,
                                       Onnx__AttributeProto__AttributeType type)
{
    Onnx__AttributeProto *attr = make(mb, 1, sizeof *attr);
    onnx__attribute_proto__init(attr);
    attr->name = copy(mb, name);
    attr->has_type = 1;
    attr->type = type;
    APPEND(mb, node->attribute, node->n_attribute, attr);
    return attr;
}

void mb_int(struct mb *mb, Onnx__NodeProto *node, const char *name, int64_t value)
{
    Onnx__AttributeProto *a = attribute(mb, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    a->has_i = 1;
    a->i = value;
}

void mb_float(struct mb *mb, Onnx__NodeProto *node, const char *name, float value)
{
    Onnx__AttributeProto *a =
        attribute(mb, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    a->has_f = 1;
    a->f = value;
}

void mb_string(struct mb *mb, Onnx__NodeProto *node, const char *name, const char *value)
{
    Onnx__AttributeProto *a =
        attribute(mb, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    a->has_s = 1;
    a->s.data = (uint8_t *)copy(mb, value);
    a->s.len = strlen(value);
}

void mb_ints(struct mb *mb, Onnx__NodeProto *node, const char *name, const int64_t *list)
{
    Onnx__AttributeProto *a =
        attribute(mb, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    a->ints = copy_list(mb, list, &a->n_ints);
}

void mb_attr_tensor(struct mb *mb, Onnx__NodeProto *node, const char *name,
                    Onnx__TensorProto *tensor)
{
    attribute(mb, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR)->t = tensor;
}

void mb_branch_begin(struct mb *mb)
{
    if (mb->depth == (int)(sizeof mb->outer / sizeof *mb->outer))
        abort();
    mb->outer[mb->depth++] = mb->proto->graph;
    mb->proto->graph = make(mb, 1, sizeof *mb->proto->graph);
    onnx__graph_proto__init(mb->proto->graph);
}

void mb_branch_end(struct mb *mb, Onnx__NodeProto *node, const char *name, const char *output)
{
    Onnx__GraphProto *branch = mb->proto->graph;
    mb_output(mb, output);
    mb->proto->graph = mb->outer[--mb->depth];
    attribute(mb, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH)->g = branch;
}

static Onnx__TensorProto *tensor_of(struct mb *mb, const char *name, const int64_t *dims,
                                    int32_t type, size_t *count)
{
    Onnx__TensorProto *tensor = make(mb, 1, sizeof *tensor);
    onnx__tensor_proto__init(tensor);
    tensor->name = copy(mb, name);
    tensor->dims = copy_list(mb, dims, &tensor->n_dims);
    tensor->has_data_type = 1;
    tensor->data_type = type;
    *count = 1;
    for (size_t i = 0; i < tensor->n_dims; i++)
        *count *= (size_t)dims[i];
    return tensor;
}

Onnx__TensorProto *mb_floats(struct mb *mb, const char *name, const int64_t *dims,
                             const float *data)
{
    size_t count;
    Onnx__TensorProto *t = tensor_of(mb, name, dims, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, &count);
    float *f = make(mb, count, sizeof *f);
    for (size_t i = 0; i < count; i++)
        f[i] = data ? data[i] : ad_rng_float(&mb->rng);
    t->has_raw_data = 1;
    t->raw_data.data = (uint8_t *)f;
    t->raw_data.len = count * sizeof *f;
    return t;
}

Onnx__TensorProto *mb_integers(struct mb *mb, const char *name, const int64_t *dims,
                               const int64_t *data)
{
    size_t count;
    Onnx__TensorProto *t = tensor_of(mb, name, dims, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, &count);
    t->int64_data = make(mb, count + 1, sizeof *t->int64_data);
    memcpy(t->int64_data, data, count * sizeof *data);
    t->n_int64_data = count;
    return t;
}

Onnx__TensorProto *mb_typed(struct mb *mb, const char *name, const int64_t *dims, int32_t type,
                            const int64_t *data)
{
    size_t count, unit = type == ONNX__TENSOR_PROTO__DATA_TYPE__INT32 ? 4 : 1;
    Onnx__TensorProto *t = tensor_of(mb, name, dims, type, &count);
    t->has_raw_data = true;
    t->raw_data.len = count * unit;
    t->raw_data.data = make(mb, count * unit + 1, 1);
    for (size_t i = 0; i < count; i++) { /* little-endian */
        int32_t number = (int32_t)data[i];
        memcpy(t->raw_data.data + i * unit, &number, unit);
    }
    APPEND(mb, mb->proto->graph->initializer, mb->proto->graph->n_initializer, t);
    return t;
}

Onnx__TensorProto *mb_weights(struct mb *mb, const char *name, const int64_t *dims,
                              const float *data)
{
    Onnx__TensorProto *t = mb_floats(mb, name, dims, data);
    APPEND(mb, mb->proto->graph->initializer, mb->proto->graph->n_initializer, t);
    return t;
}

Onnx__TensorProto *mb_shape(struct mb *mb, const char *name, const int64_t *list)
{
    int64_t dims[] = {(int64_t)length(list), END};
    Onnx__TensorProto *t = mb_integers(mb, name, dims, list);
    APPEND(mb, mb->proto->graph->initializer, mb->proto->graph->n_initializer, t);
    return t;
}

uint8_t *mb_pack(const struct mb *mb, size_t *size)
{
    *size = onnx__model_proto__get_packed_size(mb->proto);
    uint8_t *bytes = ad_calloc(*size, 1);
    if (!bytes)
        abort();
    onnx__model_proto__pack(mb->proto, bytes);
    return bytes;
}
