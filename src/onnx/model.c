/* Reading of model files: protobuf-c sees them without the large tensors (skeleton.c), and what
 * protobuf cannot express is checked. */
#include "onnx/model.h"
#include "base/mem.h"
#include "base/protobuf.h"
#include "onnx/external.h"
#include "onnx/skeleton.h"

#include <inttypes.h>
#include <string.h>

#define MIN_IR 3
#define MAX_IR 12

static const char not_a_model[] = "not an ONNX model";

static bool is_default_domain(const char *domain)
{
    return !domain || !*domain || strcmp(domain, "ai.onnx") == 0;
}

static enum adaps_status check_versions(struct ad_onnx_model *model, struct adaps_error *err)
{
    const Onnx__ModelProto *proto = model->proto;
    const char *path = model->path;
    if (!proto->has_ir_version || proto->ir_version < MIN_IR || proto->ir_version > MAX_IR)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: ONNX IR version %" PRId64 ": versions %d to %d are supported",
                            path, proto->has_ir_version ? proto->ir_version : 0, MIN_IR, MAX_IR);
    bool found = false;
    for (size_t i = 0; i < proto->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *set = proto->opset_import[i];
        if (!is_default_domain(set->domain))
            continue;
        if (found && set->version != model->opset)
            return ad_error_set(err, ADAPS_EINPUT,
                                "%s: imports opsets %" PRId64 " and %" PRId64
                                " of the default domain",
                                path, model->opset, set->version);
        found = true;
        model->opset = set->version;
    }
    if (!found)
        return ad_error_set(err, ADAPS_EINPUT, "%s: imports no opset of the default domain", path);
    if (model->opset < AD_ONNX_MIN_OPSET || model->opset > AD_ONNX_MAX_OPSET)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: opset %" PRId64 ": opsets %d to %d are supported", path,
                            model->opset, AD_ONNX_MIN_OPSET, AD_ONNX_MAX_OPSET);
    return ADAPS_OK;
}

/* A node without a name gets one, by which messages tell it from others: Conv_3. */
static enum adaps_status name_node(Onnx__NodeProto *node, size_t index, struct adaps_error *err)
{
    if (node->name && *node->name)
        return ADAPS_OK;
    char *name = ad_asprintf("%s_%zu", node->op_type, index);
    if (!name)
        return ad_error_memory(err, "names", strlen(node->op_type));
    if (node->name != protobuf_c_empty_string)
        ad_free(node->name);
    node->name = name; /* freed with the message */
    return ADAPS_OK;
}

/* Which fields of an attribute hold a value, as a mask of AttributeType. */
static unsigned fields_of(const Onnx__AttributeProto *a)
{
    unsigned fields = 0;
    fields |= a->has_f ? 1u << ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT : 0;
    fields |= a->has_i ? 1u << ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT : 0;
    fields |= a->has_s ? 1u << ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING : 0;
    fields |= a->t ? 1u << ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR : 0;
    fields |= a->g ? 1u << ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH : 0;
    fields |= a->n_floats ? 1u << ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS : 0;
    fields |= a->n_ints ? 1u << ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS : 0;
    fields |= a->n_strings ? 1u << ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS : 0;
    return fields;
}

/* The bit of a type in such a mask; 0 for numbers that are no type. */
static unsigned type_bit(Onnx__AttributeProto__AttributeType type)
{
    int64_t number = (int64_t)type; /* as the file has it: any */
    return number > 0 && number < 32 ? 1u << number : 0;
}

/* Every attribute has a name of its own and one value, of the type that it states. A field left out
 * is a value of 0, an empty list or text. */
static enum adaps_status check_attributes(const char *path, const Onnx__NodeProto *node,
                                          struct adaps_error *err)
{
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *a = node->attribute[i];
        unsigned fields = fields_of(a);
        bool typed = a->has_type && a->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED;
        const char *why = NULL;
        if (!a->name || !*a->name)
            why = "has no name";
        else if (ad_onnx_attribute(node, a->name) != a)
            why = "is given twice";
        else if (fields & (fields - 1))
            why = "holds values of several types";
        else if (typed && fields && fields != type_bit(a->type))
            why = "holds a value of another type than it states";
        if (why)
            return ad_error_set(err, ADAPS_EINPUT, "%s: node '%s' (%s): attribute %zu '%s' %s",
                                path, node->name, node->op_type, i, a->name ? a->name : "", why);
    }
    return ADAPS_OK;
}

static enum adaps_status check_node(const struct ad_onnx_model *model, Onnx__NodeProto *node,
                                    size_t index, struct adaps_error *err)
{
    if (!node->op_type || !*node->op_type)
        return ad_error_set(err, ADAPS_EINPUT, "%s: node %zu '%s' has no operator type",
                            model->path, index, node->name ? node->name : "");
    enum adaps_status status = name_node(node, index, err);
    if (status != ADAPS_OK)
        return status;
    if (node->n_output == 0)
        return ad_error_set(err, ADAPS_EINPUT, "%s: node '%s' (%s) has no output", model->path,
                            node->name, node->op_type);
    return check_attributes(model->path, node, err);
}

/* Operators on bytes that ONNX Runtime writes when it quantises a network. */
static bool is_of_microsoft(const Onnx__NodeProto *node)
{
    return strcmp(node->domain, "com.microsoft") == 0 &&
           (strncmp(node->op_type, "QLinear", 7) == 0 || strcmp(node->op_type, "QGemm") == 0 ||
            strcmp(node->op_type, "QuantizeLinear") == 0 ||
            strcmp(node->op_type, "DequantizeLinear") == 0);
}

/* The nodes of a graph, and of the graphs within them (the branches of an If; the skeleton limits
 * how deep they lie). A branch that is not taken may hold operators of other domains. */
static enum adaps_status check_nodes(const struct ad_onnx_model *model,
                                     const Onnx__GraphProto *graph, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (size_t i = 0; i < graph->n_node && status == ADAPS_OK; i++) {
        Onnx__NodeProto *node = graph->node[i];
        status = check_node(model, node, i, err);
        if (status == ADAPS_OK && graph == model->proto->graph &&
            !is_default_domain(node->domain) && !is_of_microsoft(node))
            return ad_error_set(
                err, ADAPS_EINPUT,
                "%s: node '%s' (%s): operators of the domain '%s' are not supported", model->path,
                node->name, node->op_type, node->domain);
        for (size_t k = 0; k < node->n_attribute && status == ADAPS_OK; k++)
            if (node->attribute[k]->g)
                status = check_nodes(model, node->attribute[k]->g, err);
    }
    return status;
}

/* Parses what is left of the file without its large tensors; what is known of them goes to model.
 */
static enum adaps_status unpack(struct ad_onnx_model *model, struct adaps_error *err)
{
    struct ad_onnx_skeleton skeleton;
    ProtobufCMessage *message = NULL;
    enum adaps_status status = ad_onnx_skeleton_read(model->file, &skeleton, err);
    if (status != ADAPS_OK)
        return status;
    status =
        ad_onnx_unpack(&onnx__model_proto__descriptor, skeleton.bytes, skeleton.size,
                       ad_onnx_file_size(model->file), model->path, not_a_model, &message, err);
    model->proto = (Onnx__ModelProto *)message;
    model->digest = skeleton.digest;
    model->stored = skeleton.ranges;
    model->nstored = skeleton.nranges;
    skeleton.ranges = NULL;
    ad_onnx_skeleton_fini(&skeleton);
    return status;
}

/* The parts of the model, but for its file, and whether they are those of one. */
static enum adaps_status read_model(struct ad_onnx_model *model, struct adaps_error *err)
{
    const char *path = model->path;
    if (ad_onnx_file_size(model->file) == 0)
        return ad_error_set(err, ADAPS_EINPUT, "%s: %s: the file is empty", path, not_a_model);
    enum adaps_status status = unpack(model, err);
    if (status == ADAPS_OK && !model->proto->graph)
        status = ad_error_set(err, ADAPS_EINPUT, "%s: %s: it holds no graph", path, not_a_model);
    if (status == ADAPS_OK)
        status = check_versions(model, err);
    if (status == ADAPS_OK)
        status = check_nodes(model, model->proto->graph, err);
    if (status == ADAPS_OK)
        status = ad_onnx_external_find(model, err);
    return status;
}

enum adaps_status ad_onnx_too_large(const char *path, size_t factor, struct adaps_error *err)
{
    return ad_error_set(
        err, ADAPS_EINPUT,
        "%s: reading it would take more than %zu times its size and %zu MiB of memory", path,
        factor, AD_ONNX_MEMORY >> 20);
}

static bool makes_floats(const struct ad_onnx_model *model)
{
    const Onnx__GraphProto *graph = model->proto ? model->proto->graph : NULL;
    for (size_t i = 0; graph && i < graph->n_node; i++)
        if (strcmp(graph->node[i]->op_type, "DequantizeLinear") == 0)
            return true;
    return false;
}

/* What of its memory is left for who makes something of the model. */
static void leave_memory(struct ad_onnx_model *model, size_t taken)
{
    size_t factor = makes_floats(model) ? AD_ONNX_FACTOR_BYTES : AD_ONNX_FACTOR;
    size_t memory = ad_protobuf_budget(ad_onnx_file_size(model->file), factor, AD_ONNX_MEMORY);
    for (size_t i = 0; i < model->nexternals; i++)
        memory = ad_protobuf_budget(ad_onnx_file_size(model->externals[i].file), factor, memory);
    model->memory_factor = factor;
    model->memory_left = memory - taken;
}

/* Takes the file over, also on failure. */
static enum adaps_status parse(struct ad_onnx_file *file, struct ad_onnx_model **out,
                               struct adaps_error *err)
{
    const char *path = ad_onnx_file_path(file);
    enum adaps_status status;
    struct ad_onnx_model *model = ad_calloc(1, sizeof *model);
    if (!model) {
        status = ad_error_memory(err, path, sizeof *model);
        ad_onnx_file_unref(file);
        return status;
    }
    model->file = file;
    model->path = path;
    size_t taken;
    ad_mem_limit(ad_protobuf_budget(ad_onnx_file_size(file), AD_ONNX_FACTOR, AD_ONNX_MEMORY));
    status = read_model(model, err);
    if (ad_mem_limit_end(&taken) && status == ADAPS_EINTERNAL)
        status = ad_onnx_too_large(path, AD_ONNX_FACTOR, err);
    if (status == ADAPS_OK) {
        leave_memory(model, taken);
        *out = model;
    } else {
        ad_onnx_free(model);
    }
    return status;
}

enum adaps_status ad_onnx_parse(const void *data, size_t size, const char *path,
                                struct ad_onnx_model **out, struct adaps_error *err)
{
    struct ad_onnx_file *file;
    *out = NULL;
    enum adaps_status status = ad_onnx_file_copy(data, size, path, &file, err);
    return status == ADAPS_OK ? parse(file, out, err) : status;
}

enum adaps_status ad_onnx_load(const char *path, struct ad_onnx_model **out,
                               struct adaps_error *err)
{
    struct ad_onnx_file *file;
    *out = NULL;
    enum adaps_status status = ad_onnx_file_open(path, &file, err);
    return status == ADAPS_OK ? parse(file, out, err) : status;
}

void ad_onnx_free(struct ad_onnx_model *model)
{
    if (!model)
        return;
    ad_protobuf_free((ProtobufCMessage *)model->proto);
    ad_free(model->stored);
    for (size_t i = 0; i < model->nexternals; i++)
        ad_onnx_external_fini(&model->externals[i]);
    ad_free(model->externals);
    ad_onnx_file_unref(model->file);
    ad_free(model);
}
