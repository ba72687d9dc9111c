#include "search/given/mapping.h"
#include "search/given/json_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- keys --- */

static enum adaps_status key_fail(const struct ad_layer_mapping *m, const char *key,
                                  struct adaps_error *err, const char *fmt, ...) AD_PRINTF(4, 5);
static enum adaps_status key_fail(const struct ad_layer_mapping *m, const char *key,
                                  struct adaps_error *err, const char *fmt, ...)
{
    char what[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return ad_error_set(err, ADAPS_EINPUT, "%s: key '%s': %s", m->path, key, what);
}

/* "arm123": three cores. */
static enum adaps_status read_cores(const struct ad_layer_mapping *m, struct ad_mapping_key *key,
                                    const char *text, struct adaps_error *err)
{
    static const char *const kinds[] = {"arm", "cpu", "x86"};
    const char *digit = NULL;
    for (int i = 0; i < 3 && !digit; i++)
        if (strncmp(text, kinds[i], 3) == 0)
            digit = text + 3;
    if (strncmp(text, "gpu", 3) == 0)
        return key_fail(m, key->name, err,
                        "it is a GPU: adaps computes on processors (arm, cpu or x86 and the "
                        "numbers of cores)");
    if (!digit || !*digit || strspn(digit, "0123456789") != strlen(digit))
        return key_fail(m, key->name, err,
                        "after DEVICE_ arm, cpu or x86 and the numbers of cores are wanted, a "
                        "digit each, as in edge01_arm123");
    key->arm = text[0] == 'a';
    for (; *digit; digit++) {
        unsigned bit = 1u << (*digit - '0');
        if (key->cores & bit)
            return key_fail(m, key->name, err, "core %c is there twice", *digit);
        key->cores |= bit;
        key->ncores++;
    }
    return ADAPS_OK;
}

static enum adaps_status read_key(struct ad_layer_mapping *m, const char *name,
                                  const json_t *layers, struct adaps_error *err)
{
    const char *end = strchr(name, '_');
    if (m->nkeys == AD_MAX_KEYS)
        return key_fail(m, name, err, "more than %d keys", AD_MAX_KEYS);
    struct ad_mapping_key *key = &m->keys[m->nkeys++];
    *key = (struct ad_mapping_key){.name = name, .layers = layers};
    if (!end || end == name || (size_t)(end - name) >= sizeof key->device || strchr(name, '/'))
        return key_fail(m, name, err,
                        "DEVICE_armCORES is wanted, as in edge01_arm123: a name of at most %zu "
                        "letters, then '_'",
                        sizeof key->device - 1);
    memcpy(key->device, name, (size_t)(end - name));
    enum adaps_status status = read_cores(m, key, end + 1, err);
    if (status != ADAPS_OK)
        return status;
    if (!json_is_array(layers))
        return key_fail(m, name, err, "a list of layers is wanted, not %s", ad_json_kind(layers));
    for (size_t i = 0; i < json_array_size(layers); i++)
        if (!json_is_string(json_array_get(layers, i)))
            return key_fail(m, name, err, "layer %zu is %s, not a name", i,
                            ad_json_kind(json_array_get(layers, i)));
    return ADAPS_OK;
}

enum adaps_status ad_mapping_read(const char *path, struct ad_layer_mapping *out,
                                  struct adaps_error *err)
{
    *out = (struct ad_layer_mapping){.path = path};
    enum adaps_status status = ad_json_file_read(path, &out->json, err);
    if (status != ADAPS_OK)
        return status;
    for (void *at = json_object_iter(out->json); at && status == ADAPS_OK;
         at = json_object_iter_next(out->json, at))
        status = read_key(out, json_object_iter_key(at), json_object_iter_value(at), err);
    if (status == ADAPS_OK && out->nkeys == 0)
        status = ad_error_set(err, ADAPS_EINPUT, "%s: it has no keys", path);
    if (status != ADAPS_OK)
        ad_mapping_fini(out);
    return status;
}

void ad_mapping_fini(struct ad_layer_mapping *mapping)
{
    json_decref(mapping->json);
    ad_free(mapping->keys_of);
    ad_free(mapping->places);
    *mapping = (struct ad_layer_mapping){0};
}

/* --- layers --- */

/* A name that a layer may have, and its node. */
struct layer {
    const char *name;
    int node;
};

static int by_name(const void *a, const void *b)
{
    const struct layer *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->node > y->node) - (x->node < y->node);
}

static const struct layer *first_of(const struct layer *sorted, size_t count, const char *name)
{
    size_t lo = 0, hi = count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (strcmp(sorted[middle].name, name) < 0)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < count && strcmp(sorted[lo].name, name) == 0 ? &sorted[lo] : NULL;
}

struct layers {
    struct layer *names, *outputs; /* sorted */
    size_t count, noutputs;
};

static enum adaps_status layers_init(struct layers *out, const Onnx__GraphProto *graph,
                                     struct adaps_error *err)
{
    *out = (struct layers){.names = ad_calloc(graph->n_node, sizeof *out->names),
                           .outputs = ad_calloc(graph->n_node, sizeof *out->outputs)};
    if (!out->names || !out->outputs) {
        ad_free(out->names);
        ad_free(out->outputs);
        return ad_error_memory(err, "layers", graph->n_node * sizeof *out->names);
    }
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__NodeProto *node = graph->node[i];
        out->names[out->count++] = (struct layer){node->name, (int)i};
        if (node->n_output > 0 && *node->output[0])
            out->outputs[out->noutputs++] = (struct layer){node->output[0], (int)i};
    }
    if (out->count > 0)
        qsort(out->names, out->count, sizeof *out->names, by_name);
    if (out->noutputs > 0)
        qsort(out->outputs, out->noutputs, sizeof *out->outputs, by_name);
    return ADAPS_OK;
}

static enum adaps_status find_layer(const struct ad_layer_mapping *m, const struct layers *layers,
                                    const struct ad_mapping_key *key, const char *name, int *node,
                                    struct adaps_error *err)
{
    const struct layer *found = first_of(layers->names, layers->count, name);
    if (found && found + 1 < layers->names + layers->count && strcmp(found[1].name, name) == 0)
        return key_fail(m, key->name, err, "several nodes of the model are called '%s'", name);
    if (!found)
        found = first_of(layers->outputs, layers->noutputs, name);
    if (!found)
        return key_fail(m, key->name, err, "the model has no layer '%s'", name);
    *node = found->node;
    return ADAPS_OK;
}

static enum adaps_status resolve_key(struct ad_layer_mapping *m, int k, const struct layers *layers,
                                     struct adaps_error *err)
{
    const struct ad_mapping_key *key = &m->keys[k];
    for (size_t i = 0; i < json_array_size(key->layers); i++) {
        const char *name = json_string_value(json_array_get(key->layers, i));
        int node = 0;
        enum adaps_status status = find_layer(m, layers, key, name, &node, err);
        if (status != ADAPS_OK)
            return status;
        if (m->keys_of[node] >> k & 1)
            return key_fail(m, key->name, err, "layer '%s' is there twice", name);
        m->keys_of[node] |= UINT64_C(1) << k;
    }
    return ADAPS_OK;
}

static int by_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Numbers for the sets of keys. */
static enum adaps_status number_places(struct ad_layer_mapping *m, struct adaps_error *err)
{
    uint64_t *sets = ad_calloc(m->nnodes, sizeof *sets);
    if (!sets)
        return ad_error_memory(err, "places", m->nnodes * sizeof *sets);
    if (m->nnodes > 0) {
        memcpy(sets, m->keys_of, m->nnodes * sizeof *sets);
        qsort(sets, m->nnodes, sizeof *sets, by_keys);
    }
    for (size_t i = 0; i < m->nnodes; i++) {
        size_t lo = 0, hi = m->nnodes;
        while (lo < hi) {
            size_t middle = lo + (hi - lo) / 2;
            if (sets[middle] < m->keys_of[i])
                lo = middle + 1;
            else
                hi = middle;
        }
        m->places[i] = (int)lo;
    }
    ad_free(sets);
    return ADAPS_OK;
}

enum adaps_status ad_mapping_resolve(struct ad_layer_mapping *m, const struct ad_onnx_model *model,
                                     struct adaps_error *err)
{
    struct layers layers;
    enum adaps_status status = layers_init(&layers, model->proto->graph, err);
    if (status != ADAPS_OK)
        return status;
    m->nnodes = model->proto->graph->n_node;
    m->keys_of = ad_calloc(m->nnodes, sizeof *m->keys_of);
    m->places = ad_calloc(m->nnodes, sizeof *m->places);
    if (!m->keys_of || !m->places)
        status = ad_error_memory(err, "mapping", m->nnodes * sizeof *m->keys_of);
    for (int k = 0; k < m->nkeys && status == ADAPS_OK; k++)
        status = resolve_key(m, k, &layers, err);
    if (status == ADAPS_OK)
        status = number_places(m, err);
    ad_free(layers.names);
    ad_free(layers.outputs);
    return status;
}

#define NAMED 5 /* missing layers that a message names */

enum adaps_status ad_mapping_check(const struct ad_layer_mapping *m,
                                   const struct ad_onnx_model *model,
                                   const struct ad_import_facts *facts, struct adaps_error *err)
{
    char list[400] = "";
    size_t missing = 0, used = 0;
    for (size_t i = 0; i < m->nnodes; i++) {
        if (m->keys_of[i] || facts->roles[i] == AD_NODE_NOTHING)
            continue;
        const Onnx__NodeProto *node = model->proto->graph->node[i];
        if (missing < NAMED && used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s'%s' (%s)",
                                     missing ? ", " : "", node->name, node->op_type);
        missing++;
    }
    if (missing == 0)
        return ADAPS_OK;
    if (missing > NAMED && used < sizeof list)
        snprintf(list + used, sizeof list - used, " and %zu more", missing - NAMED);
    return ad_error_set(err, ADAPS_EINPUT, "%s: no key has the layer%s %s", m->path,
                        missing == 1 ? "" : "s", list);
}
