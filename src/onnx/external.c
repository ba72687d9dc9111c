#include "onnx/external.h"
#include "base/mem.h"
#include "onnx/skeleton.h"

#include <inttypes.h>
#include <string.h>

#define MAX_FILES 256

static bool is_external(const Onnx__TensorProto *t)
{
    return t->n_external_data > 0 ||
           t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

static const char *entry(const Onnx__TensorProto *t, const char *key)
{
    for (size_t i = 0; i < t->n_external_data; i++) {
        const Onnx__StringStringEntryProto *e = t->external_data[i];
        if (e->key && strcmp(e->key, key) == 0)
            return e->value ? e->value : "";
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
static bool read_number(const Onnx__TensorProto *t, const char *key, uint64_t fallback,
                        uint64_t *out)
{
    const char *text = entry(t, key);
    *out = text ? 0 : fallback;
    if (text && !*text)
        return false;
    for (; text && *text; text++)
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(*out, 10u, out) ||
            __builtin_add_overflow(*out, (uint64_t)(*text - '0'), out))
            return false;
    return true;
}

/* The file of this name, opened once. */
static enum adaps_status file_of(struct ad_onnx_model *model, const Onnx__TensorProto *t,
                                 const char *location, struct ad_onnx_file **out,
                                 struct adaps_error *err)
{
    for (size_t i = 0; i < model->nexternals; i++)
        if (strcmp(model->externals[i].location, location) == 0) {
            *out = model->externals[i].file;
            return ADAPS_OK;
        }
    if (model->nexternals == MAX_FILES)
        return fail(model, t, "the model names more than 256 files, among them", location, err);
    if (!ad_grow(&model->externals, model->nexternals, &model->externals_room,
                 sizeof *model->externals))
        return ad_error_memory(err, location, 0);
    enum adaps_status status = ad_onnx_file_beside(model->file, location, out, err);
    if (status == ADAPS_EINPUT)
        ad_error_prefix(err, "%s: tensor '%s': external data: ", model->path,
                        t->name ? t->name : "");
    if (status == ADAPS_OK)
        model->externals[model->nexternals++] = (struct ad_onnx_external){location, *out};
    return status;
}

static enum adaps_status find(struct ad_onnx_model *model, Onnx__TensorProto *t, size_t *room,
                              struct adaps_error *err)
{
    const char *location = entry(t, "location");
    struct ad_onnx_range range = {0};
    uint64_t length;
    if (!location)
        return fail(model, t, "it has no", "location", err);
    if (t->has_raw_data || t->has_stored)
        return fail(model, t, "the tensor has data of its own beside those in", location, err);
    if (!read_number(t, "offset", 0, &range.offset))
        return fail(model, t, "its offset is no number:", entry(t, "offset"), err);
    enum adaps_status status = file_of(model, t, location, &range.file, err);
    if (status != ADAPS_OK)
        return status;
    size_t size = ad_onnx_file_size(range.file);
    if (range.offset > size)
        return fail(model, t, "its offset lies behind the end of", location, err);
    if (!read_number(t, "length", size - range.offset, &length))
        return fail(model, t, "its length is no number:", entry(t, "length"), err);
    if (length > size - range.offset)
        return fail(model, t, "its bytes end behind the end of", location, err);
    range.size = (size_t)length;
    if (!ad_grow(&model->stored, model->nstored, room, sizeof *model->stored))
        return ad_error_memory(err, location, 0);
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
