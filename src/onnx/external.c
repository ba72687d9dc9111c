#include "onnx/external.h"
#include "base/mem.h"
#include "onnx/skeleton.h"

#include <limits.h>
#include <string.h>

#define MAX_FILES 256

static bool is_external(const Onnx__TensorProto *t)
{
    return t->n_external_data > 0 ||
           t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

/* The value of a key, or NULL. */
static const ProtobufCBinaryData *entry(const Onnx__TensorProto *t, const char *key)
{
    for (size_t i = 0; i < t->n_external_data; i++) {
        const Onnx__ExternalEntryProto *e = t->external_data[i];
        if (e->key && strcmp(e->key, key) == 0)
            return &e->value;
    }
    return NULL;
}

static enum adaps_status fail(const struct ad_onnx_model *model, const Onnx__TensorProto *t,
                              const char *why, const char *what, struct adaps_error *err)
{
    return ad_error_set(err, ADAPS_EINPUT, "%s: tensor '%s': external data: %s '%s'", model->path,
                        t->name ? t->name : "", why, what);
}

/* A decimal number; `fallback` when the key is not there. */
static enum adaps_status read_number(const struct ad_onnx_model *model, const Onnx__TensorProto *t,
                                     const char *key, uint64_t fallback, uint64_t *out,
                                     struct adaps_error *err)
{
    const ProtobufCBinaryData *text = entry(t, key);
    bool good = !text || text->len > 0;
    *out = text ? 0 : fallback;
    for (size_t i = 0; text && good && i < text->len; i++) {
        uint8_t c = text->data[i];
        good = c >= '0' && c <= '9' && !__builtin_mul_overflow(*out, 10u, out) &&
               !__builtin_add_overflow(*out, (uint64_t)(c - '0'), out);
    }
    if (good)
        return ADAPS_OK;
    return ad_error_set(err, ADAPS_EINPUT,
                        "%s: tensor '%s': external data: its %s is no number: '%.*s'", model->path,
                        t->name ? t->name : "", key, (int)(text->len < 64 ? text->len : 64),
                        (const char *)text->data);
}

/* Opens the file of this name, which becomes the model's on success. */
static enum adaps_status open_file(struct ad_onnx_model *model, const Onnx__TensorProto *t,
                                   char *location, struct adaps_error *err)
{
    struct ad_onnx_file *file;
    if (model->nexternals == MAX_FILES)
        return fail(model, t, "the model names more than 256 files, among them", location, err);
    if (!ad_grow(&model->externals, model->nexternals, &model->externals_room,
                 sizeof *model->externals))
        return ad_error_memory(err, location, 0);
    enum adaps_status status = ad_onnx_file_beside(model->file, location, &file, err);
    if (status == ADAPS_EINPUT)
        ad_error_prefix(err, "%s: tensor '%s': external data: ", model->path,
                        t->name ? t->name : "");
    if (status == ADAPS_OK)
        model->externals[model->nexternals++] = (struct ad_onnx_external){location, file};
    return status;
}

/* The tensor's `location` as text; *out is the caller's (ad_free). */
static enum adaps_status read_location(const struct ad_onnx_model *model,
                                       const Onnx__TensorProto *t, char **out,
                                       struct adaps_error *err)
{
    const ProtobufCBinaryData *name = entry(t, "location");
    if (!name)
        return fail(model, t, "it has no", "location", err);
    if (name->len >= PATH_MAX)
        return fail(model, t, "too long a path as", "location", err);
    *out = ad_asprintf("%.*s", (int)name->len, name->len ? (const char *)name->data : "");
    if (!*out)
        return ad_error_memory(err, "external data", name->len);
    if (strlen(*out) == name->len)
        return ADAPS_OK;
    enum adaps_status status = fail(model, t, "its location has a NUL after", *out, err);
    ad_free(*out);
    return status;
}

/* The file that the tensor names, opened once. Valid until the next one is opened. */
static enum adaps_status locate(struct ad_onnx_model *model, const Onnx__TensorProto *t,
                                const struct ad_onnx_external **out, struct adaps_error *err)
{
    char *location = NULL;
    enum adaps_status status = read_location(model, t, &location, err);
    if (status != ADAPS_OK)
        return status;
    size_t i = 0;
    while (i < model->nexternals && strcmp(model->externals[i].location, location) != 0)
        i++;
    if (t->has_raw_data || t->has_stored)
        status = fail(model, t, "the tensor has data of its own beside those in", location, err);
    else if (i == model->nexternals)
        status = open_file(model, t, location, err);
    if (status != ADAPS_OK || model->externals[i].location != location)
        ad_free(location);
    *out = status == ADAPS_OK ? &model->externals[i] : NULL;
    return status;
}

static enum adaps_status find(struct ad_onnx_model *model, Onnx__TensorProto *t, size_t *room,
                              struct adaps_error *err)
{
    struct ad_onnx_range range = {0};
    uint64_t length;
    const struct ad_onnx_external *external = NULL;
    enum adaps_status status = locate(model, t, &external, err);
    if (status == ADAPS_OK)
        status = read_number(model, t, "offset", 0, &range.offset, err);
    if (status != ADAPS_OK)
        return status;
    size_t size = ad_onnx_file_size(external->file);
    if (range.offset > size)
        return fail(model, t, "its offset lies behind the end of", external->location, err);
    status = read_number(model, t, "length", size - range.offset, &length, err);
    if (status != ADAPS_OK)
        return status;
    if (length > size - range.offset)
        return fail(model, t, "its bytes end behind the end of", external->location, err);
    range.file = external->file;
    range.size = (size_t)length;
    if (!ad_grow(&model->stored, model->nstored, room, sizeof *model->stored))
        return ad_error_memory(err, external->location, 0);
    model->stored[model->nstored] = range;
    t->has_stored = 1;
    t->stored = model->nstored++;
    return ADAPS_OK;
}

enum adaps_status ad_onnx_external_find(struct ad_onnx_model *model, struct adaps_error *err)
{
    const Onnx__GraphProto *graph = model->proto->graph;
    enum adaps_status status = ADAPS_OK;
    size_t room = model->nstored;
    for (size_t i = 0; i < graph->n_initializer && status == ADAPS_OK; i++)
        if (is_external(graph->initializer[i]))
            status = find(model, graph->initializer[i], &room, err);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_attribute && status == ADAPS_OK; k++) {
            Onnx__TensorProto *t = graph->node[i]->attribute[k]->t;
            if (t && is_external(t))
                status = find(model, t, &room, err);
        }
    return status;
}

void ad_onnx_external_fini(struct ad_onnx_external *external)
{
    ad_onnx_file_unref(external->file);
    ad_free(external->location);
}
