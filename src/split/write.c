/* The files of a split. */
#include "split/split.h"
#include "base/file.h"
#include "base/protobuf.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAST_IR 4 /* of models whose initializers need not be inputs, too */

/* One file while it is written. */
struct writer {
    const struct ad_split *split;
    const char *folder, *key;
    struct ad_arena arena; /* of the messages but the numbers */
    uint8_t **numbers;     /* of the constants; to be freed */
    size_t nnumbers;
    struct adaps_error *err;
};

static enum adaps_status no_memory(const struct writer *w)
{
    return ad_error_memory(w->err, w->key, 0);
}

static const Onnx__TensorProto *find_initializer(const struct writer *w, const char *name)
{
    const Onnx__GraphProto *graph = w->split->model->proto->graph;
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (strcmp(graph->initializer[i]->name, name) == 0)
            return graph->initializer[i];
    return NULL;
}

/* --- constants --- */

static void put_bits(uint8_t *to, uint64_t bits, size_t width)
{
    for (size_t b = 0; b < width; b++)
        to[b] = (uint8_t)(bits >> 8 * b);
}

/* The bytes of a constant that nodes of the model make. */
static enum adaps_status folded_bytes(struct writer *w, const struct ad_tensor_facts *t,
                                      int32_t type, uint8_t **out, size_t *size)
{
    const struct ad_onnx_tensor *from = &t->folded;
    size_t width = ad_onnx_type_bytes(type);
    bool single = type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    char text[24];
    if (from->f && !single && type != ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE)
        return ad_error_set(w->err, ADAPS_EINPUT,
                            "%s: '%s' is computed when the model is read, of type %s: only float32 "
                            "and double are supported there",
                            w->split->model->path, t->name,
                            ad_onnx_type_name(type, text, sizeof text));
    *size = from->count * width;
    *out = ad_calloc(*size, 1);
    if (!*out)
        return ad_error_memory(w->err, t->name, *size);
    for (size_t k = 0; k < from->count; k++) {
        uint64_t bits = from->i ? (uint64_t)from->i[k] : 0;
        uint32_t word;
        double number = from->f ? (double)from->f[k] : 0;
        if (from->f && single) {
            memcpy(&word, &from->f[k], sizeof word);
            bits = word;
        } else if (from->f) {
            memcpy(&bits, &number, sizeof bits);
        }
        put_bits(*out + k * width, bits, width);
    }
    return ADAPS_OK;
}

/* What a part keeps of the bytes of the whole, moved to their beginning. */
static size_t keep_part(uint8_t *bytes, const struct ad_split_tensor *constant, size_t width)
{
    const struct ad_tensor_facts *t = constant->of;
    size_t outer = 1, used = 0;
    for (int axis = 0; axis < AD_PART_AXES && axis < t->rank; axis++) {
        size_t inner = width, dim = (size_t)t->dims[axis];
        struct ad_stretch span = constant->part.along[axis];
        size_t kept = (size_t)(span.hi - span.lo);
        for (int i = axis + 1; i < t->rank; i++)
            inner *= (size_t)t->dims[i];
        for (size_t o = 0; o < outer; o++)
            memmove(bytes + o * kept * inner, bytes + (o * dim + (size_t)span.lo) * inner,
                    kept * inner);
        outer *= kept;
        used = outer * inner;
    }
    return t->rank == 0 ? width : used;
}

static int64_t dim_of(const struct ad_split_tensor *tensor, int axis)
{
    const struct ad_stretch *along = tensor->part.along;
    return axis < AD_PART_AXES ? along[axis].hi - along[axis].lo : tensor->of->dims[axis];
}

static enum adaps_status put_constant(struct writer *w, const struct ad_split_tensor *constant,
                                      Onnx__TensorProto *out)
{
    const struct ad_tensor_facts *t = constant->of;
    const Onnx__TensorProto *stored =
        t->folded.f || t->folded.i ? NULL : find_initializer(w, t->name);
    int32_t type = stored        ? stored->data_type
                   : t->type     ? t->type
                   : t->folded.f ? ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT
                                 : ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
    uint8_t *bytes = NULL;
    size_t size = 0;
    enum adaps_status status =
        stored ? ad_onnx_tensor_bytes(w->split->model, stored, &bytes, &size, w->err)
               : folded_bytes(w, t, type, &bytes, &size);
    if (status != ADAPS_OK)
        return status;
    w->numbers[w->nnumbers++] = bytes;
    onnx__tensor_proto__init(out);
    out->name = ad_protobuf_borrow(constant->name);
    out->has_data_type = 1;
    out->data_type = type;
    out->dims = ad_arena_alloc(&w->arena, (size_t)t->rank + 1, sizeof *out->dims);
    if (!out->dims)
        return no_memory(w);
    for (int i = 0; i < t->rank; i++)
        out->dims[out->n_dims++] = dim_of(constant, i);
    out->has_raw_data = 1;
    out->raw_data.data = bytes;
    out->raw_data.len = size > 0 ? keep_part(bytes, constant, ad_onnx_type_bytes(type)) : 0;
    return ADAPS_OK;
}

/* --- the model --- */

static Onnx__ValueInfoProto *new_info(struct writer *w, const struct ad_split_tensor *tensor)
{
    size_t rank = (size_t)tensor->of->rank;
    Onnx__ValueInfoProto *info = ad_arena_alloc(&w->arena, 1, sizeof *info);
    Onnx__TypeProto *type = ad_arena_alloc(&w->arena, 1, sizeof *type);
    Onnx__TypeProto__Tensor *of = ad_arena_alloc(&w->arena, 1, sizeof *of);
    Onnx__TensorShapeProto *shape = ad_arena_alloc(&w->arena, 1, sizeof *shape);
    Onnx__TensorShapeProto__Dimension *dims = ad_arena_alloc(&w->arena, rank + 1, sizeof *dims);
    if (!info || !type || !of || !shape || !dims)
        return NULL;
    onnx__value_info_proto__init(info);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(of);
    onnx__tensor_shape_proto__init(shape);
    info->name = ad_protobuf_borrow(tensor->name);
    info->type = type;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = of;
    of->has_elem_type = 1;
    of->elem_type = tensor->of->type ? tensor->of->type : ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    of->shape = shape;
    shape->dim = ad_arena_alloc(&w->arena, rank + 1, sizeof *shape->dim);
    if (!shape->dim)
        return NULL;
    for (size_t i = 0; i < rank; i++) {
        onnx__tensor_shape_proto__dimension__init(&dims[i]);
        dims[i].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        dims[i].dim_value = dim_of(tensor, (int)i);
        shape->dim[shape->n_dim++] = &dims[i];
    }
    return info;
}

static bool put_infos(struct writer *w, const struct ad_split_tensor *tensors, size_t count,
                      Onnx__ValueInfoProto ***out, size_t *n)
{
    *out = ad_arena_alloc(&w->arena, count + 1, sizeof **out);
    for (size_t i = 0; *out && i < count; i++)
        if (!((*out)[(*n)++] = new_info(w, &tensors[i])))
            return false;
    return *out != NULL;
}

static enum adaps_status put_graph(struct writer *w, const struct ad_sub_model *m,
                                   Onnx__GraphProto *graph)
{
    onnx__graph_proto__init(graph);
    graph->name = ad_protobuf_borrow(w->key);
    graph->n_node = m->nnodes;
    graph->node = m->nodes;
    if (!put_infos(w, m->inputs, m->ninputs, &graph->input, &graph->n_input) ||
        !put_infos(w, m->outputs, m->noutputs, &graph->output, &graph->n_output))
        return no_memory(w);
    Onnx__TensorProto *constants = ad_arena_alloc(&w->arena, m->nconstants + 1, sizeof *constants);
    graph->initializer = ad_arena_alloc(&w->arena, m->nconstants + 1, sizeof *graph->initializer);
    w->numbers = ad_calloc(m->nconstants + 1, sizeof *w->numbers);
    if (!constants || !graph->initializer || !w->numbers)
        return no_memory(w);
    enum adaps_status status = ADAPS_OK;
    for (size_t i = 0; i < m->nconstants && status == ADAPS_OK; i++) {
        status = put_constant(w, &m->constants[i], &constants[i]);
        graph->initializer[graph->n_initializer++] = &constants[i];
    }
    return status;
}

static enum adaps_status write_bytes(struct writer *w, const char *name, const char *ending,
                                     const void *bytes, size_t size)
{
    char *path = ad_asprintf("%s/%s%s", w->folder, name, ending);
    if (!path)
        return no_memory(w);
    enum adaps_status status = ad_file_replace(path, bytes, size, w->err);
    ad_free(path);
    return status;
}

static enum adaps_status write_model(struct writer *w, const struct ad_sub_model *m)
{
    const Onnx__ModelProto *whole = w->split->model->proto;
    Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
    Onnx__GraphProto graph;
    enum adaps_status status = put_graph(w, m, &graph);
    if (status != ADAPS_OK)
        return status;
    model.has_ir_version = 1;
    model.ir_version = whole->ir_version > LEAST_IR ? whole->ir_version : LEAST_IR;
    model.n_opset_import = whole->n_opset_import;
    model.opset_import = whole->opset_import;
    model.producer_name = ad_protobuf_borrow("adaps split");
    model.graph = &graph;
    size_t size = onnx__model_proto__get_packed_size(&model);
    if (size >= (size_t)INT32_MAX)
        return ad_error_set(w->err, ADAPS_EINPUT,
                            "%s: the sub-model of key '%s' would have %zu bytes: an ONNX file may "
                            "have 2 GB",
                            w->split->model->path, w->key, size);
    uint8_t *bytes = ad_calloc(size, 1);
    if (!bytes)
        return ad_error_memory(w->err, w->key, size);
    onnx__model_proto__pack(&model, bytes);
    status = write_bytes(w, w->key, ".onnx", bytes, size);
    ad_free(bytes);
    return status;
}

static void writer_fini(struct writer *w)
{
    for (size_t i = 0; i < w->nnumbers; i++)
        ad_free(w->numbers[i]);
    ad_free(w->numbers);
    ad_arena_fini(&w->arena);
}

/* --- messages between sub-models --- */

/* {KEY: {TENSOR: [number of a key, ...]}} */
static json_t *messages_json(const struct ad_split *split, bool sender)
{
    json_t *root = json_object();
    for (int k = 0; k < split->mapping->nkeys; k++)
        json_object_set_new(root, split->mapping->keys[k].name, json_object());
    for (size_t i = 0; i < split->nmessages; i++) {
        const struct ad_split_message *m = &split->messages[i];
        int mine = sender ? m->from : m->to, other = sender ? m->to : m->from;
        json_t *tensors = json_object_get(root, split->mapping->keys[mine].name);
        if (!json_object_get(tensors, m->name))
            json_object_set_new(tensors, m->name, json_array());
        if (json_array_append_new(json_object_get(tensors, m->name), json_integer(other)) != 0) {
            json_decref(root);
            return NULL;
        }
    }
    return root;
}

static enum adaps_status write_messages(struct writer *w, const char *name, bool sender)
{
    json_t *root = messages_json(w->split, sender);
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    enum adaps_status status =
        text ? write_bytes(w, name, ".json", text, strlen(text)) : no_memory(w);
    free(text);
    json_decref(root);
    return status;
}

/* --- the folder --- */

/* The path of file i: of the keys' models, then those of the messages. NULL without memory. */
static char *path_of(const struct ad_split *split, const char *folder, int i)
{
    int nkeys = split->mapping->nkeys;
    const char *name = i < nkeys    ? split->mapping->keys[i].name
                       : i == nkeys ? "sender"
                                    : "receiver";
    return ad_asprintf("%s/%s%s", folder, name, i < nkeys ? ".onnx" : ".json");
}

/* Refuses a file that cannot be written, or must not: nothing is written then. */
static enum adaps_status check_file(const struct ad_split *split, const char *path,
                                    struct adaps_error *err)
{
    struct stat there, model;
    if (stat(path, &there) != 0)
        return ADAPS_OK;
    if (S_ISDIR(there.st_mode))
        return ad_error_set(err, ADAPS_EINPUT, "%s: cannot be written: it is a folder", path);
    if (stat(split->model->path, &model) == 0 && model.st_dev == there.st_dev &&
        model.st_ino == there.st_ino)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: would be written over the model: choose another folder", path);
    return ADAPS_OK;
}

static enum adaps_status check_files(const struct ad_split *split, const char *folder,
                                     struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; i < split->mapping->nkeys + 2 && status == ADAPS_OK; i++) {
        char *path = path_of(split, folder, i);
        status = path ? check_file(split, path, err) : ad_error_memory(err, folder, strlen(folder));
        ad_free(path);
    }
    return status;
}

/* Takes back the first files. */
static void remove_files(const struct ad_split *split, const char *folder, int count)
{
    for (int i = 0; i < count; i++) {
        char *path = path_of(split, folder, i);
        if (path)
            unlink(path);
        ad_free(path);
    }
}

enum adaps_status ad_split_write(const struct ad_split *split, const char *folder,
                                 struct adaps_error *err)
{
    struct writer messages = {.split = split, .folder = folder, .key = "messages", .err = err};
    int written = 0;
    enum adaps_status status = ad_file_mkdirs(folder, err);
    if (status == ADAPS_OK)
        status = check_files(split, folder, err);
    for (int k = 0; k < split->mapping->nkeys && status == ADAPS_OK; k++) {
        struct writer w = {
            .split = split, .folder = folder, .key = split->mapping->keys[k].name, .err = err};
        status = write_model(&w, &split->models[k]);
        written += status == ADAPS_OK;
        writer_fini(&w);
    }
    if (status == ADAPS_OK) {
        status = write_messages(&messages, "sender", true);
        written += status == ADAPS_OK;
    }
    if (status == ADAPS_OK)
        status = write_messages(&messages, "receiver", false);
    if (status != ADAPS_OK)
        remove_files(split, folder, written);
    return status;
}
