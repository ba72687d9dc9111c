/* The growing graph of a zoo network and its memory; see zoo_graph.h. */
#include "zoo_graph.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { IR_VERSION = 7, OPSET = 13 };

/* One allocation of the network; all are freed together. */
struct zoo_piece {
    struct zoo_piece *next;
    max_align_t data[];
};

void zoo_die(const char *node, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "zoo: %s: ", node);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort();
}

static void *checked(void *p)
{
    if (!p)
        zoo_die("builder", "out of memory");
    return p;
}

void *zoo_take(struct zoo *z, size_t n, size_t size)
{
    size_t bytes;
    struct zoo_piece *p;

    if (__builtin_mul_overflow(n, size, &bytes) ||
        __builtin_add_overflow(bytes, sizeof(*p), &bytes))
        zoo_die("builder", "size overflow");
    p = checked(calloc(1, bytes));
    p->next = z->pieces;
    z->pieces = p;
    return p->data;
}

static char *copy(struct zoo *z, const char *s)
{
    size_t n = strlen(s) + 1;

    return memcpy(zoo_take(z, n, 1), s, n);
}

char *zoo_print(struct zoo *z, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof(text))
        zoo_die(fmt, "name too long");
    return copy(z, text);
}

/* Room for one more element in an array of n; doubles at powers of two. */
static void *grow(void *array, size_t n, size_t size)
{
    if (n & (n - 1))
        return array;
    return checked(reallocarray(array, n ? 2 * n : 1, size));
}

struct zoo_shape zoo_get(const struct zoo *z, zoo_value x)
{
    if (x < 0 || (size_t)x >= z->nvalues)
        zoo_die("builder", "value %d does not exist", x);
    return z->values[x];
}

zoo_value zoo_add_value(struct zoo *z, const char *name, int c, int h, int w, double power)
{
    z->values = grow(z->values, z->nvalues, sizeof(*z->values));
    z->values[z->nvalues] = (struct zoo_shape){copy(z, name), c, h, w, power, 0};
    return (zoo_value)z->nvalues++;
}

char *zoo_add_tensor(struct zoo *z, const char *name, int rank, const int dims[], double mean,
                     double sd)
{
    Onnx__TensorProto *t = zoo_take(z, 1, sizeof(*t));
    size_t count = 1;

    onnx__tensor_proto__init(t);
    t->n_dims = (size_t)rank;
    t->dims = zoo_take(z, (size_t)rank, sizeof(*t->dims));
    for (int i = 0; i < rank; i++) {
        t->dims[i] = dims[i];
        if (__builtin_mul_overflow(count, (size_t)dims[i], &count))
            zoo_die(name, "size overflow");
    }
    t->has_data_type = 1;
    t->data_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    t->name = copy(z, name);
    t->has_raw_data = 1;
    if (__builtin_mul_overflow(count, sizeof(float), &t->raw_data.len))
        zoo_die(name, "size overflow");
    z->tensors = grow(z->tensors, z->ntensors, sizeof(*z->tensors));
    z->fills = grow(z->fills, z->ntensors, sizeof(*z->fills));
    z->tensors[z->ntensors] = t;
    z->fills[z->ntensors] = (struct zoo_fill){zoo_fill_key(z->options.seed, name), mean, sd, count};
    z->ntensors++;
    return t->name;
}

char *zoo_add_vector(struct zoo *z, const char *name, const char *part, int n, double mean,
                     double sd)
{
    return zoo_add_tensor(z, zoo_print(z, "%s.%s", name, part), 1, &n, mean, sd);
}

Onnx__NodeProto *zoo_add_node(struct zoo *z, const char *op, const char *name, int nin,
                              char *const inputs[])
{
    Onnx__NodeProto *n = zoo_take(z, 1, sizeof(*n));

    onnx__node_proto__init(n);
    n->op_type = copy(z, op);
    n->name = copy(z, name);
    n->n_input = (size_t)nin;
    n->input = zoo_take(z, (size_t)nin, sizeof(*n->input));
    for (int i = 0; i < nin; i++)
        n->input[i] = inputs[i];
    n->n_output = 1;
    n->output = zoo_take(z, 1, sizeof(*n->output));
    n->output[0] = n->name;
    z->nodes = grow(z->nodes, z->nnodes, sizeof(*z->nodes));
    z->nodes[z->nnodes++] = n;
    return n;
}

Onnx__NodeProto *zoo_add_unary(struct zoo *z, const char *op, zoo_value x)
{
    char *inputs[] = {zoo_get(z, x).name};

    return zoo_add_node(z, op, zoo_print(z, "%s_%zu", op, z->nnodes), 1, inputs);
}

static Onnx__AttributeProto *add_attribute(struct zoo *z, Onnx__NodeProto *n, const char *name,
                                           Onnx__AttributeProto__AttributeType type)
{
    Onnx__AttributeProto *a = zoo_take(z, 1, sizeof(*a));
    Onnx__AttributeProto **list = zoo_take(z, n->n_attribute + 1, sizeof(*list));

    onnx__attribute_proto__init(a);
    a->name = copy(z, name);
    a->has_type = 1;
    a->type = type;
    if (n->n_attribute)
        memcpy(list, n->attribute, n->n_attribute * sizeof(*list));
    list[n->n_attribute++] = a;
    n->attribute = list;
    return a;
}

void zoo_set_int(struct zoo *z, Onnx__NodeProto *n, const char *name, int64_t v)
{
    Onnx__AttributeProto *a = add_attribute(z, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);

    a->has_i = 1;
    a->i = v;
}

void zoo_set_float(struct zoo *z, Onnx__NodeProto *n, const char *name, float v)
{
    Onnx__AttributeProto *a =
        add_attribute(z, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);

    a->has_f = 1;
    a->f = v;
}

void zoo_set_ints(struct zoo *z, Onnx__NodeProto *n, const char *name, size_t count, const int v[])
{
    Onnx__AttributeProto *a =
        add_attribute(z, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);

    a->n_ints = count;
    a->ints = zoo_take(z, count, sizeof(*a->ints));
    for (size_t i = 0; i < count; i++)
        a->ints[i] = v[i];
}

void zoo_set_floats(struct zoo *z, Onnx__NodeProto *n, const char *name, size_t count,
                    const float v[])
{
    Onnx__AttributeProto *a =
        add_attribute(z, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);

    a->n_floats = count;
    a->floats = zoo_take(z, count, sizeof(*a->floats));
    memcpy(a->floats, v, count * sizeof(*v));
}

void zoo_set_string(struct zoo *z, Onnx__NodeProto *n, const char *name, const char *v)
{
    Onnx__AttributeProto *a =
        add_attribute(z, n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);

    a->has_s = 1;
    a->s.len = strlen(v);
    a->s.data = (uint8_t *)copy(z, v);
}

struct zoo *zoo_new(const char *name, const struct zoo_options *options)
{
    struct zoo *z = checked(calloc(1, sizeof(*z)));

    z->options = *options;
    z->name = copy(z, name);
    z->input = -1;
    return z;
}

void zoo_free(struct zoo *z)
{
    if (!z)
        return;
    for (struct zoo_piece *p = z->pieces, *next; p; p = next) {
        next = p->next;
        free(p);
    }
    free(z->values);
    free(z->fills);
    free(z->tensors);
    free(z->nodes);
    free(z);
}

/* The declaration of an input or output of the graph. */
static Onnx__ValueInfoProto *declare(struct zoo *z, zoo_value x)
{
    struct zoo_shape v = zoo_get(z, x);
    int map[] = {1, v.c, v.h, v.w}, volume[] = {1, v.c, v.d, v.h, v.w};
    int *dims = v.d ? volume : map;
    size_t rank = v.d ? 5 : v.h ? 4 : 2;
    Onnx__ValueInfoProto *info = zoo_take(z, 1, sizeof(*info));
    Onnx__TypeProto *type = zoo_take(z, 1, sizeof(*type));
    Onnx__TypeProto__Tensor *tensor = zoo_take(z, 1, sizeof(*tensor));
    Onnx__TensorShapeProto *shape = zoo_take(z, 1, sizeof(*shape));

    onnx__value_info_proto__init(info);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(tensor);
    onnx__tensor_shape_proto__init(shape);
    info->name = v.name;
    info->type = type;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = tensor;
    tensor->has_elem_type = 1;
    tensor->elem_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    tensor->shape = shape;
    shape->n_dim = rank;
    shape->dim = zoo_take(z, rank, sizeof(*shape->dim));
    for (size_t i = 0; i < rank; i++) {
        shape->dim[i] = zoo_take(z, 1, sizeof(**shape->dim));
        onnx__tensor_shape_proto__dimension__init(shape->dim[i]);
        shape->dim[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        shape->dim[i]->dim_value = dims[i];
    }
    return info;
}

int zoo_write(struct zoo *z, FILE *out)
{
    Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
    Onnx__GraphProto graph = ONNX__GRAPH_PROTO__INIT;
    Onnx__OperatorSetIdProto opset = ONNX__OPERATOR_SET_ID_PROTO__INIT, *opsets = &opset;
    Onnx__ValueInfoProto *input = declare(z, z->input), *outputs[ZOO_MOST_OUTPUTS];

    for (size_t i = 0; i < z->ntensors; i++)
        z->tensors[i]->raw_data.data = (uint8_t *)&z->fills[i];
    graph.name = z->name;
    graph.n_node = z->nnodes;
    graph.node = z->nodes;
    graph.n_initializer = z->ntensors;
    graph.initializer = z->tensors;
    for (size_t i = 0; i < z->noutputs; i++)
        outputs[i] = declare(z, z->outputs[i]);
    graph.n_input = 1;
    graph.input = &input;
    graph.n_output = z->noutputs;
    graph.output = outputs;
    opset.domain = "";
    opset.has_version = 1;
    opset.version = OPSET;
    model.has_ir_version = 1;
    model.ir_version = IR_VERSION;
    model.producer_name = "adaps zoo";
    model.graph = &graph;
    model.n_opset_import = 1;
    model.opset_import = &opsets;
    return zoo_stream(&model, z->fills, z->ntensors, out);
}
