#include "search/given/layout_file.h"
#include "ir/partial.h"
#include "ir/picture.h"
#include "search/given/json_file.h"
#include "search/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const char *path; /* with the turn, where there are several */
    const struct ad_graph *graph;
    const struct ad_cluster *cluster;
    int device[AD_MAX_DEVICES]; /* by place in the file's lists */
    bool *listed;               /* by op */
    struct ad_assignment *to;
    struct adaps_error *err;
};

/* One entry of "layouts". */
struct entry {
    const struct reader *reader;
    size_t index;
    int op;
    const json_t *json;
};

static enum adaps_status entry_fail(const struct entry *entry, const char *fmt, ...)
    AD_PRINTF(2, 3);
static enum adaps_status entry_fail(const struct entry *entry, const char *fmt, ...)
{
    struct reader const *r = entry->reader;
    char what[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return ad_error_set(r->err, ADAPS_EINPUT, "%s: layouts[%zu]%s%s%s: %s", r->path, entry->index,
                        entry->op >= 0 ? " (" : "",
                        entry->op >= 0 ? r->graph->ops[entry->op].name : "",
                        entry->op >= 0 ? ")" : "", what);
}

static const struct ad_value *output_of(const struct entry *entry)
{
    const struct ad_graph *graph = entry->reader->graph;
    return &graph->values[graph->ops[entry->op].output];
}

/* Names and their devices: the file's list of "devices", of names or of objects with a name, as
 * plan prints them. Every device of the cluster is in it, once. */
static enum adaps_status read_devices(struct reader *r, const json_t *list)
{
    int n = r->cluster->ndevices;
    bool seen[AD_MAX_DEVICES] = {false};
    for (int d = 0; d < n; d++)
        r->device[d] = d;
    if (!list)
        return ADAPS_OK;
    if (!json_is_array(list) || json_array_size(list) != (size_t)n)
        return ad_error_set(r->err, ADAPS_EINPUT,
                            "%s: devices: an array of the %d devices of the devices file is "
                            "wanted, not %s of %zu",
                            r->path, n, ad_json_kind(list), json_array_size(list));
    for (int i = 0; i < n; i++) {
        const json_t *item = json_array_get(list, (size_t)i);
        const json_t *text = json_is_object(item) ? json_object_get(item, "name") : item;
        if (!json_is_string(text))
            return ad_error_set(r->err, ADAPS_EINPUT, "%s: devices[%d]: a name is wanted", r->path,
                                i);
        int d = ad_cluster_find(r->cluster, json_string_value(text));
        if (d < 0 || seen[d])
            return ad_error_set(r->err, ADAPS_EINPUT, "%s: devices[%d]: '%s' is %s", r->path, i,
                                json_string_value(text),
                                d < 0 ? "not in the devices file" : "there twice");
        seen[d] = true;
        r->device[i] = d;
    }
    return ADAPS_OK;
}

static enum adaps_status read_device(const struct reader *r, const char *what, const json_t *json,
                                     int *device)
{
    *device = json_is_string(json) ? ad_cluster_find(r->cluster, json_string_value(json)) : -1;
    if (*device >= 0)
        return ADAPS_OK;
    return ad_error_set(r->err, ADAPS_EINPUT, "%s: %s: %s%s%s is no device of the devices file",
                        r->path, what, json_is_string(json) ? "'" : "",
                        json_is_string(json) ? json_string_value(json) : ad_json_kind(json),
                        json_is_string(json) ? "'" : "");
}

static enum adaps_status read_chunks(const struct reader *r, const char *key, const json_t *json,
                                     int *chunks)
{
    if (!json)
        return ADAPS_OK;
    if (!json_is_integer(json) || json_integer_value(json) < 0 ||
        json_integer_value(json) > AD_MAX_CHUNKS)
        return ad_error_set(r->err, ADAPS_EINPUT, "%s: schedule: %s: 0 to %d is wanted", r->path,
                            key, AD_MAX_CHUNKS);
    *chunks = (int)json_integer_value(json);
    return ADAPS_OK;
}

static enum adaps_status read_order(const struct reader *r, const json_t *json)
{
    r->to->order = AD_ORDER_READY;
    for (int i = 0; !json && i < r->graph->nops; i++)
        if (r->to->early[i])
            r->to->order = AD_ORDER_PIECES;
    if (!json)
        return ADAPS_OK;
    for (int i = 0; i < AD_ORDERS; i++)
        if (json_is_string(json) &&
            strcmp(json_string_value(json), ad_order_name((enum ad_order)i)) == 0) {
            r->to->order = (enum ad_order)i;
            return ADAPS_OK;
        }
    return ad_error_set(r->err, ADAPS_EINPUT,
                        "%s: schedule: order: graph, ready, pieces, edges or cores is wanted",
                        r->path);
}

/* Pictures travel as bytes unless the file says otherwise. */
static enum adaps_status read_input(const struct reader *r, const json_t *json)
{
    bool f32 = json_is_string(json) && strcmp(json_string_value(json), "f32") == 0;
    bool u8 = json_is_string(json) && strcmp(json_string_value(json), "u8") == 0;
    if (json && !f32 && !u8)
        return ad_error_set(r->err, ADAPS_EINPUT, "%s: schedule: input: u8 or f32 is wanted",
                            r->path);
    r->to->u8 = !f32 && ad_picture_any(r->graph);
    return ADAPS_OK;
}

static enum adaps_status read_encoding(const struct reader *r, const json_t *json)
{
    int from, to;
    const json_t *name = json_object_get(json, "encoding");
    enum adaps_status status =
        read_device(r, "schedule: encodings: from", json_object_get(json, "from"), &from);
    if (status == ADAPS_OK)
        status = read_device(r, "schedule: encodings: to", json_object_get(json, "to"), &to);
    if (status != ADAPS_OK)
        return status;
    for (int e = 0; e < AD_ENCODINGS; e++)
        if (e != AD_ENCODING_U8 && json_is_string(name) &&
            strcmp(json_string_value(name), ad_encoding_name((enum ad_encoding)e)) == 0) {
            r->to->encoding[from * r->cluster->ndevices + to] = (uint8_t)e;
            return ADAPS_OK;
        }
    return ad_error_set(r->err, ADAPS_EINPUT,
                        "%s: schedule: encodings: encoding: f32, f16, zfp or lz4 is wanted",
                        r->path);
}

static enum adaps_status read_schedule(const struct reader *r, const json_t *json)
{
    if (json && !json_is_object(json))
        return ad_error_set(r->err, ADAPS_EINPUT, "%s: schedule: an object is wanted, not %s",
                            r->path, ad_json_kind(json));
    const json_t *hub = json_object_get(json, "hub");
    const json_t *encodings = json_object_get(json, "encodings");
    enum adaps_status status = read_order(r, json_object_get(json, "order"));
    if (status == ADAPS_OK)
        status = read_input(r, json_object_get(json, "input"));
    if (status == ADAPS_OK)
        status = read_chunks(r, "input_chunks", json_object_get(json, "input_chunks"),
                             &r->to->input_chunks);
    if (status == ADAPS_OK)
        status = read_chunks(r, "band_chunks", json_object_get(json, "band_chunks"),
                             &r->to->band_chunks);
    if (status == ADAPS_OK && hub && !json_is_null(hub))
        status = read_device(r, "schedule: hub", hub, &r->to->hub);
    if (status == ADAPS_OK && encodings && !json_is_array(encodings))
        status = ad_error_set(r->err, ADAPS_EINPUT,
                              "%s: schedule: encodings: an array is wanted, not %s", r->path,
                              ad_json_kind(encodings));
    for (size_t i = 0; i < json_array_size(encodings) && status == ADAPS_OK; i++)
        status = read_encoding(r, json_array_get(encodings, i));
    return status;
}

/* The op of an entry. Entries of the same name are the ops of that name, in their order. */
static enum adaps_status find_op(const struct reader *r, struct entry *entry)
{
    const json_t *name = json_object_get(entry->json, "op");
    if (!json_is_string(name))
        return entry_fail(entry, "op: a name is wanted; this is %s", ad_json_kind(name));
    bool known = false;
    for (int i = 0; i < r->graph->nops; i++) {
        if (strcmp(r->graph->ops[i].name, json_string_value(name)) != 0)
            continue;
        known = true;
        if (r->listed[i])
            continue;
        r->listed[i] = true;
        entry->op = i;
        return ADAPS_OK;
    }
    return entry_fail(entry,
                      known ? "'%s' is there twice"
                            : "the model has no operator '%s' (adaps inspect lists them)",
                      json_string_value(name));
}

/* [h0, h1, w0, w1, c0, c1] or null. */
static enum adaps_status read_box(const struct entry *entry, const char *key, size_t k,
                                  const json_t *json, struct ad_region *out)
{
    int32_t bounds[6];
    struct ad_region whole = ad_region_whole(output_of(entry));
    *out = ad_region_none();
    if (json_is_null(json))
        return ADAPS_OK;
    if (!json_is_array(json) || json_array_size(json) != 6)
        return entry_fail(entry, "%s[%zu]: null or [h0, h1, w0, w1, c0, c1] is wanted", key, k);
    for (size_t i = 0; i < 6; i++) {
        const json_t *bound = json_array_get(json, i);
        if (!json_is_integer(bound) || json_integer_value(bound) < 0 ||
            json_integer_value(bound) > INT32_MAX)
            return entry_fail(entry, "%s[%zu]: six integers from 0 are wanted", key, k);
        bounds[i] = (int32_t)json_integer_value(bound);
    }
    *out = (struct ad_region){bounds[0], bounds[1], bounds[2], bounds[3], bounds[4], bounds[5]};
    if (ad_region_empty(*out))
        return entry_fail(entry, "%s[%zu] is empty: null says that", key, k);
    if (!ad_region_contains(whole, *out))
        return entry_fail(entry, "%s[%zu] is outside of the output, which is [0, %d, 0, %d, 0, %d]",
                          key, k, whole.h1, whole.w1, whole.c1);
    return ADAPS_OK;
}

/* Regions as they stand: only such as an operator may compute alone. */
static enum adaps_status read_regions(const struct entry *entry, const char *key,
                                      const json_t *json)
{
    const struct reader *r = entry->reader;
    const struct ad_op *op = &r->graph->ops[entry->op];
    int n = r->cluster->ndevices;
    if (!json_is_array(json) || json_array_size(json) != (size_t)n)
        return entry_fail(entry, "%s: an array with an entry for each of %d devices is wanted", key,
                          n);
    for (int i = 0; i < n; i++) {
        struct ad_region box;
        enum adaps_status status =
            read_box(entry, key, (size_t)i, json_array_get(json, (size_t)i), &box);
        if (status != ADAPS_OK)
            return status;
        struct ad_region allowed = ad_region_allow(r->graph, op, box);
        if (!ad_region_allowed(r->graph, op, box))
            return entry_fail(entry,
                              "%s[%d]: a %s cannot compute this part alone; the next larger one "
                              "is [%d, %d, %d, %d, %d, %d]",
                              key, i, op->type, allowed.h0, allowed.h1, allowed.w0, allowed.w1,
                              allowed.c0, allowed.c1);
        *ad_assigned(r->to, entry->op, r->device[i]) = box;
    }
    return ADAPS_OK;
}

static enum adaps_status read_dim(const struct entry *entry, const json_t *json, enum ad_dim *dim)
{
    static const char *const names[] = {[AD_DIM_H] = "h", [AD_DIM_W] = "w", [AD_DIM_C] = "c"};
    *dim = AD_DIM_H;
    for (int i = AD_DIM_H; i <= AD_DIM_C; i++)
        if (json_is_string(json) && strcmp(json_string_value(json), names[i]) == 0) {
            *dim = (enum ad_dim)i;
            return ADAPS_OK;
        }
    return json ? entry_fail(entry, "dim: h, w or c is wanted") : ADAPS_OK;
}

/* "cuts": the rows (columns, channels) between one device and the next; bands grow to what the
 * operator may compute alone. */
static enum adaps_status read_cuts(const struct entry *entry, const json_t *json)
{
    const struct reader *r = entry->reader;
    const struct ad_op *op = &r->graph->ops[entry->op];
    const struct ad_value *value = output_of(entry);
    int n = r->cluster->ndevices;
    enum ad_dim dim;
    enum adaps_status status = read_dim(entry, json_object_get(entry->json, "dim"), &dim);
    if (status != ADAPS_OK)
        return status;
    int32_t size = ad_dim_extent(value, dim), at = 0;
    if (!json_is_array(json) || json_array_size(json) != (size_t)n - 1)
        return entry_fail(entry, "cuts: %d ascending numbers are wanted, one less than devices",
                          n - 1);
    for (int i = 0; i < n; i++) {
        const json_t *cut = json_array_get(json, (size_t)i);
        bool last = i == n - 1;
        if (!last && (!json_is_integer(cut) || json_integer_value(cut) < at ||
                      json_integer_value(cut) > size))
            return entry_fail(entry, "cuts[%d]: an integer from %d to %d is wanted", i, at, size);
        int32_t next = last ? size : (int32_t)json_integer_value(cut);
        struct ad_region band = ad_dim_slab(value, dim, at, next);
        *ad_assigned(r->to, entry->op, r->device[i]) =
            ad_region_empty(band) ? band : ad_region_allow(r->graph, op, band);
        at = next;
    }
    return ADAPS_OK;
}

static enum adaps_status read_where(const struct entry *entry)
{
    const struct reader *r = entry->reader;
    const json_t *device = json_object_get(entry->json, "device");
    const json_t *cuts = json_object_get(entry->json, "cuts");
    const json_t *assigned = json_object_get(entry->json, "assigned");
    const json_t *regions = json_object_get(entry->json, "regions");
    int ways = (device != NULL) + (cuts != NULL) + (assigned || regions);
    if (ways != 1)
        return entry_fail(entry, "%s: one of device, cuts and regions is wanted",
                          ways == 0 ? "it does not say where" : "it says where in several ways");
    if (assigned || regions)
        return read_regions(entry, assigned ? "assigned" : "regions",
                            assigned ? assigned : regions);
    if (cuts)
        return read_cuts(entry, cuts);
    int d = json_is_string(device) ? ad_cluster_find(r->cluster, json_string_value(device)) : -1;
    if (d < 0)
        return entry_fail(entry, "device: %s is no device of the devices file",
                          json_is_string(device) ? json_string_value(device)
                                                 : ad_json_kind(device));
    *ad_assigned(r->to, entry->op, d) = ad_region_whole(output_of(entry));
    return ADAPS_OK;
}

static enum adaps_status read_entry(const struct reader *r, size_t index, const json_t *json)
{
    struct entry entry = {.reader = r, .index = index, .op = -1, .json = json};
    const json_t *early = json_object_get(json, "early");
    if (!json_is_object(json))
        return entry_fail(&entry, "an object is wanted, not %s", ad_json_kind(json));
    enum adaps_status status = find_op(r, &entry);
    if (status != ADAPS_OK)
        return status;
    if (early && !json_is_boolean(early))
        return entry_fail(&entry, "early: true or false is wanted");
    r->to->early[entry.op] = json_is_true(early);
    return read_where(&entry);
}

/* What an op reads is added to what is wanted of ops that are not listed. */
static void want_inputs(const struct reader *r, int i)
{
    const struct ad_op *op = &r->graph->ops[i];
    for (int k = 0; k < op->ninputs; k++) {
        int p = r->graph->values[op->inputs[k]].producer;
        for (int d = 0; d < r->cluster->ndevices && p >= 0 && !r->listed[p]; d++) {
            struct ad_region *wanted = ad_assigned(r->to, p, d);
            *wanted = ad_region_hull(*wanted, ad_need(r->graph, op, k, *ad_assigned(r->to, i, d)));
        }
    }
}

/* Ops that are not listed: each device computes what its own later ops read, the source the
 * network's outputs. */
static void derive_others(const struct reader *r)
{
    const struct ad_graph *graph = r->graph;
    for (int i = 0; i < graph->noutputs; i++) {
        int p = graph->values[graph->outputs[i]].producer;
        if (p >= 0 && !r->listed[p])
            *ad_assigned(r->to, p, r->cluster->source) =
                ad_region_whole(&graph->values[graph->outputs[i]]);
    }
    for (int i = graph->nops - 1; i >= 0; i--) {
        for (int d = 0; d < r->cluster->ndevices && !r->listed[i]; d++) {
            struct ad_region *mine = ad_assigned(r->to, i, d);
            if (!ad_region_empty(*mine))
                *mine = ad_region_allow(graph, &graph->ops[i], *mine);
        }
        want_inputs(r, i);
    }
}

static enum adaps_status read_file(struct reader *r, const json_t *root, const json_t *turn)
{
    const json_t *layouts = json_object_get(turn, "layouts");
    enum adaps_status status = read_devices(r, json_object_get(root, "devices"));
    if (status == ADAPS_OK && !json_is_array(layouts))
        status = ad_error_set(r->err, ADAPS_EINPUT, "%s: layouts: an array is wanted; this is %s",
                              r->path, ad_json_kind(layouts));
    for (size_t i = 0; i < json_array_size(layouts) && status == ADAPS_OK; i++)
        status = read_entry(r, i, json_array_get(layouts, i));
    if (status == ADAPS_OK)
        status = read_schedule(r, json_object_get(turn, "schedule"));
    if (status == ADAPS_OK)
        derive_others(r);
    return status;
}

/* What has "layouts" and "schedule" of a turn: an entry of "turns", or the whole file. */
static const json_t *turn_of(const struct ad_layout_file *file, int turn)
{
    return file->nturns > 1 ? json_array_get(json_object_get(file->json, "turns"), (size_t)turn)
                            : file->json;
}

/* "found.json", "found.json: turns[1]". */
static void name_turn(const struct ad_layout_file *file, int turn, char *text, size_t size)
{
    if (file->nturns > 1)
        snprintf(text, size, "%s: turns[%d]", file->path, turn);
    else
        snprintf(text, size, "%s", file->path);
}

enum adaps_status ad_layout_file_deal(const struct ad_layout_file *file, int *deal, int *ndeal,
                                      struct adaps_error *err)
{
    const json_t *list = json_object_get(file->json, "deal");
    size_t count = json_array_size(list);
    uint64_t dealt = 0;
    *ndeal = 0;
    if (file->nturns == 1)
        return ADAPS_OK;
    if (!json_is_array(list) || count == 0 || count > AD_STREAM_DEALS)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: deal: an array of 1 to %d turns is wanted, not %s of %zu",
                            file->path, AD_STREAM_DEALS, ad_json_kind(list), count);
    for (size_t i = 0; i < count; i++) {
        const json_t *turn = json_array_get(list, i);
        if (!json_is_integer(turn) || json_integer_value(turn) < 0 ||
            json_integer_value(turn) >= file->nturns)
            return ad_error_set(err, ADAPS_EINPUT,
                                "%s: deal[%zu]: the number of a turn is wanted, 0 to %d",
                                file->path, i, file->nturns - 1);
        deal[i] = (int)json_integer_value(turn);
        dealt |= UINT64_C(1) << deal[i];
    }
    for (int t = 0; t < file->nturns; t++)
        if (!(dealt >> t & 1))
            return ad_error_set(err, ADAPS_EINPUT, "%s: deal: no inference takes turns[%d]",
                                file->path, t);
    *ndeal = (int)count;
    return ADAPS_OK;
}

/* Several turns with layouts of their own; else 1. */
static enum adaps_status count_turns(struct ad_layout_file *file, struct adaps_error *err)
{
    const json_t *turns = json_object_get(file->json, "turns");
    size_t count = json_array_size(turns), own = 0;
    for (size_t t = 0; t < count; t++)
        own += json_object_get(json_array_get(turns, t), "layouts") != NULL;
    file->nturns = own > 1 ? (int)count : 1;
    if (count > AD_STREAM_DEALS)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: turns: %zu are too many; at most %d are possible", file->path,
                            count, AD_STREAM_DEALS);
    return ADAPS_OK;
}

/* Notes the operators that the layouts of all turns name. */
static enum adaps_status list_ops(struct ad_layout_file *file, struct adaps_error *err)
{
    size_t room = 0;
    for (int t = 0; t < file->nturns; t++)
        room += json_array_size(json_object_get(turn_of(file, t), "layouts"));
    file->ops = ad_calloc(room, sizeof *file->ops);
    if (!file->ops)
        return ad_error_memory(err, "layout", room);
    for (int t = 0; t < file->nturns; t++) {
        const json_t *layouts = json_object_get(turn_of(file, t), "layouts");
        for (size_t i = 0; i < json_array_size(layouts); i++) {
            const json_t *name = json_object_get(json_array_get(layouts, i), "op");
            if (json_is_string(name))
                file->ops[file->nops++] = json_string_value(name);
        }
    }
    return ADAPS_OK;
}

enum adaps_status ad_layout_file_open(const char *path, struct ad_layout_file *out,
                                      struct adaps_error *err)
{
    *out = (struct ad_layout_file){.path = path, .nturns = 1};
    enum adaps_status status = ad_json_file_read(path, &out->json, err);
    if (status != ADAPS_OK)
        return status;
    status = count_turns(out, err);
    if (status == ADAPS_OK)
        status = list_ops(out, err);
    if (status != ADAPS_OK)
        ad_layout_file_fini(out);
    return status;
}

void ad_layout_file_fini(struct ad_layout_file *file)
{
    ad_free(file->ops);
    json_decref(file->json);
    *file = (struct ad_layout_file){0};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool ad_layout_file_missing(const struct ad_layout_file *file, const struct ad_graph *graph,
                            const char **names, size_t *count)
{
    size_t nops = (size_t)graph->nops;
    const char **have = ad_calloc(nops, sizeof *have);
    for (size_t i = 0; i < nops && have; i++)
        have[i] = graph->ops[i].name;
    if (have && nops > 0)
        qsort(have, nops, sizeof *have, by_name);
    for (size_t i = 0; i < file->nops && have; i++) {
        const char *name = file->ops[i];
        bool found = nops > 0 && bsearch(&name, have, nops, sizeof *have, by_name) != NULL;
        for (size_t k = 0; k < *count && !found; k++)
            found = strcmp(names[k], name) == 0;
        if (!found)
            names[(*count)++] = name;
    }
    ad_free(have);
    return have != NULL;
}

enum adaps_status ad_layout_file_blocks(const struct ad_layout_file *file,
                                        const struct ad_graph *graph, int32_t *blocks, bool *any,
                                        struct adaps_error *err)
{
    char where[512];
    const struct reader r = {.path = where, .graph = graph, .err = err};
    const json_t *layouts = json_object_get(turn_of(file, 0), "layouts");
    name_turn(file, 0, where, sizeof where);
    *any = false;
    for (size_t i = 0; i < json_array_size(layouts); i++) {
        const json_t *json = json_array_get(layouts, i),
                     *partial = json_object_get(json, "partial");
        struct entry entry = {.reader = &r, .index = i, .op = -1, .json = json};
        const json_t *name = json_object_get(json, "op");
        for (int k = 0; partial && json_is_string(name) && k < graph->nops; k++)
            if (strcmp(graph->ops[k].name, json_string_value(name)) == 0 && blocks[k] == 0) {
                entry.op = k;
                break;
            }
        if (entry.op < 0)
            continue; /* without, or not found, which ad_layout_file_read() says */
        int32_t most = ad_partial_blocks(graph, entry.op, AD_PARTIAL_MOST);
        json_int_t n = json_integer_value(partial);
        if (most == 1)
            return entry_fail(&entry, "partial: its input channels cannot be added in blocks");
        if (n < 2 || n > most || (n & (n - 1)) != 0)
            return entry_fail(&entry, "partial: a power of two from 2 to %d is wanted", (int)most);
        blocks[entry.op] = (int32_t)n;
        *any = true;
    }
    return ADAPS_OK;
}

enum adaps_status ad_layout_file_read(const struct ad_layout_file *file, int turn,
                                      const struct ad_graph *graph,
                                      const struct ad_cluster *cluster, struct ad_assignment *out,
                                      struct adaps_error *err)
{
    char where[512];
    struct reader r = {.path = where, .graph = graph, .cluster = cluster, .to = out, .err = err};
    name_turn(file, turn, where, sizeof where);
    enum adaps_status status = ad_assignment_init(out, graph->nops, cluster->ndevices, err);
    if (status != ADAPS_OK)
        return status;
    r.listed = ad_calloc((size_t)graph->nops, sizeof *r.listed);
    status = r.listed ? read_file(&r, file->json, turn_of(file, turn))
                      : ad_error_memory(err, "layout", (size_t)graph->nops);
    if (status != ADAPS_OK)
        ad_assignment_fini(out);
    ad_free(r.listed);
    return status;
}

/* A part of `wanted` that no device computes of op p; empty when there is none. */
static struct ad_region missing_of(const struct ad_assignment *a, int p, struct ad_region wanted)
{
    struct ad_region_set left = {0};
    struct ad_region gap = ad_region_none();
    bool room = ad_region_set_add(&left, wanted);
    for (int d = 0; d < a->ndevices && room; d++)
        room = ad_region_set_remove(&left, a->region[(size_t)p * (size_t)a->ndevices + (size_t)d]);
    if (room && left.count > 0)
        gap = left.boxes[0];
    ad_region_set_fini(&left);
    return gap;
}

static enum adaps_status refuse_gap(const char *path, const struct ad_graph *graph, int p,
                                    struct ad_region gap, const char *reader,
                                    struct adaps_error *err)
{
    char text[96];
    const struct ad_value *value = &graph->values[graph->ops[p].output];
    return ad_error_set(err, ADAPS_EINPUT, "%s: no device computes %s of %s, which %s reads", path,
                        ad_region_format(gap, ad_region_whole(value), text, sizeof text),
                        graph->ops[p].name, reader);
}

enum adaps_status ad_layout_file_explain(const struct ad_layout_file *file, int turn,
                                         const struct ad_graph *graph,
                                         const struct ad_cluster *cluster,
                                         const struct ad_assignment *a, enum adaps_status status,
                                         struct adaps_error *err)
{
    char path[512];
    name_turn(file, turn, path, sizeof path);
    for (int i = 0; i < graph->noutputs; i++) {
        const struct ad_value *value = &graph->values[graph->outputs[i]];
        struct ad_region gap = value->producer >= 0
                                   ? missing_of(a, value->producer, ad_region_whole(value))
                                   : ad_region_none();
        if (!ad_region_empty(gap))
            return refuse_gap(path, graph, value->producer, gap, "the network's output", err);
    }
    for (int i = graph->nops - 1; i >= 0; i--)
        for (int k = 0; k < graph->ops[i].ninputs; k++) {
            int p = graph->values[graph->ops[i].inputs[k]].producer;
            for (int d = 0; d < cluster->ndevices && p >= 0; d++) {
                struct ad_region mine = a->region[(size_t)i * (size_t)a->ndevices + (size_t)d];
                struct ad_region gap = missing_of(a, p, ad_need(graph, &graph->ops[i], k, mine));
                if (!ad_region_empty(gap))
                    return refuse_gap(path, graph, p, gap, graph->ops[i].name, err);
            }
        }
    return status;
}
