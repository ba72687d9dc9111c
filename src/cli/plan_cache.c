#include "cli/plan_cache.h"
#include "base/file.h"
#include "base/mem.h"
#include "cost/shape.h"
#include "onnx/model.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)1 << 20)
#define ENDING ".plan"
#define FILES_MOST 10000 /* looked at when there are too many */

/* --- what a plan is found by --- */

static void add_text(struct ad_digester *digester, const char *text)
{
    ad_digester_add(digester, text, strlen(text) + 1);
}

static void add_number(struct ad_digester *digester, double number)
{
    char text[40];
    snprintf(text, sizeof text, "%a", number);
    add_text(digester, text);
}

static enum adaps_status add_file(struct ad_digester *digester, const struct ad_onnx_file *file,
                                  struct adaps_error *err)
{
    size_t size = ad_onnx_file_size(file);
    void *piece = ad_calloc(1, PIECE_BYTES);
    enum adaps_status status = piece ? ADAPS_OK : ad_error_memory(err, "model", PIECE_BYTES);
    for (size_t at = 0; status == ADAPS_OK && at < size; at += PIECE_BYTES) {
        size_t n = size - at < PIECE_BYTES ? size - at : PIECE_BYTES;
        status = ad_onnx_file_read(file, at, piece, n, err);
        if (status == ADAPS_OK)
            ad_digester_add(digester, piece, n);
    }
    ad_free(piece);
    return status;
}

static enum adaps_status add_model(struct ad_digester *digester, const char *path,
                                   struct adaps_error *err)
{
    struct ad_onnx_model *model = NULL;
    char real[PATH_MAX];
    add_text(digester, realpath(path, real) ? real : path);
    enum adaps_status status = ad_onnx_load(path, &model, err);
    if (status != ADAPS_OK)
        return status;
    ad_digester_add(digester, model->digest.bytes, sizeof model->digest.bytes);
    for (size_t i = 0; status == ADAPS_OK && i < model->nexternals; i++) {
        add_text(digester, model->externals[i].location);
        status = add_file(digester, model->externals[i].file, err);
    }
    ad_onnx_free(model);
    return status;
}

static void add_shapes(struct ad_digester *digester, const struct ad_shapes *shapes)
{
    for (size_t i = 0; i < ad_shapes_count(shapes); i++) {
        const struct ad_shape_time *time = ad_shapes_item(shapes, i);
        ad_digester_add(digester, &time->shape, sizeof time->shape);
        for (int k = 0; k < time->npoints; k++) {
            add_number(digester, time->points[k].rows);
            add_number(digester, time->points[k].seconds);
        }
    }
    add_text(digester, "end of shapes");
}

static void add_table(struct ad_digester *digester, const struct ad_cost_table *table)
{
    const double numbers[] = {
        table->constant_s,       table->memory_bw,  table->message_s,     table->message_bw,
        table->feed_rate,        table->fetch_rate, table->power.idle_mw, table->power.core_mw,
        table->power.network_mw, table->threads,    table->tile,
    };
    for (int i = 0; i < AD_COST_CLASSES; i++)
        add_number(digester, table->rate[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        add_number(digester, numbers[i]);
    for (int i = 0; i < AD_ENCODINGS; i++) {
        add_number(digester, table->encoding.encode[i]);
        add_number(digester, table->encoding.decode[i]);
    }
    add_text(digester, table->source);
    add_shapes(digester, table->shapes);
}

/* All but addresses and keys. */
static void add_cluster(struct ad_digester *digester, const struct ad_cluster *cluster)
{
    size_t n = (size_t)cluster->ndevices;
    for (size_t d = 0; d < n; d++) {
        const struct ad_device *device = &cluster->devices[d];
        add_text(digester, device->name);
        add_text(digester, device->board);
        add_number(digester, device->speed);
        add_number(digester, (double)device->memory);
        add_number(digester, device->threads);
        add_number(digester, device->source);
        add_table(digester, &device->table);
    }
    for (size_t i = 0; i < n * n; i++) {
        add_number(digester, cluster->links[i].bandwidth);
        add_number(digester, cluster->links[i].latency);
    }
    add_number(digester, cluster->source);
    add_number(digester, cluster->shared_medium);
}

static void add_dims(struct ad_digester *digester, const struct ad_dim_bindings *dims)
{
    for (size_t i = 0; i < dims->count; i++) {
        ad_digester_add(digester, dims->items[i].name, dims->items[i].length);
        add_text(digester, "=");
        add_number(digester, (double)dims->items[i].size);
    }
}

static enum adaps_status digest(const struct ad_pipeline_options *passes,
                                const struct ad_cluster *cluster, struct ad_digest *out,
                                struct adaps_error *err)
{
    struct ad_digester digester;
    ad_digester_init(&digester);
    add_text(&digester, adaps_version());
    add_number(&digester, AD_PLAN_VERSION);
    enum adaps_status status = add_model(&digester, passes->model, err);
    add_cluster(&digester, cluster);
    add_dims(&digester, &passes->dims);
    *out = ad_digester_end(&digester);
    return status;
}

/* --- the files --- */

static char *folder_path(void)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (xdg && *xdg)
        return ad_asprintf("%s/adaps/plans", xdg);
    return home && *home ? ad_asprintf("%s/.cache/adaps/plans", home) : NULL;
}

/* What is not a plan any more is like none: it is made again. Used plans stay longest. */
static void load(const char *path, const struct ad_cluster *cluster, struct adaps_plan **out)
{
    struct adaps_error damage; /* of nobody's interest */
    if (adaps_plan_load(path, out, &damage) != ADAPS_OK) {
        *out = NULL;
        return;
    }
    if (ad_plan_readdress(*out, cluster, out, &damage) != ADAPS_OK) {
        adaps_plan_free(*out);
        *out = NULL;
        return;
    }
    utimensat(AT_FDCWD, path, NULL, 0);
}

enum adaps_status ad_plan_cache_find(struct ad_plan_cache *cache,
                                     const struct ad_pipeline_options *passes,
                                     const struct ad_cluster *cluster, struct adaps_plan **out,
                                     struct adaps_error *err)
{
    struct ad_digest key;
    char hex[AD_DIGEST_HEX];
    char *folder = folder_path();
    cache->path = NULL;
    *out = NULL;
    enum adaps_status status = folder ? digest(passes, cluster, &key, err) : ADAPS_OK;
    if (folder && status == ADAPS_OK) {
        ad_digest_hex(&key, hex);
        cache->path = ad_asprintf("%s/%s" ENDING, folder, hex);
    }
    ad_free(folder);
    if (cache->path)
        load(cache->path, cluster, out);
    return status;
}

void ad_plan_cache_fini(struct ad_plan_cache *cache)
{
    ad_free(cache->path);
    cache->path = NULL;
}

struct kept_plan {
    char name[128];
    struct timespec used;
    uint64_t bytes;
};

static int by_age(const void *a, const void *b)
{
    const struct timespec *x = &((const struct kept_plan *)a)->used;
    const struct timespec *y = &((const struct kept_plan *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* The regular files of the folder. */
static struct kept_plan *list(DIR *folder, size_t *count, uint64_t *bytes)
{
    struct kept_plan *kept = NULL;
    size_t room = 0;
    struct dirent *entry;
    *count = 0;
    *bytes = 0;
    while (*count < FILES_MOST && (entry = readdir(folder))) {
        struct stat st;
        if (strlen(entry->d_name) >= sizeof kept->name ||
            fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode) || !ad_grow(&kept, *count, &room, sizeof *kept))
            continue;
        struct kept_plan *one = &kept[(*count)++];
        snprintf(one->name, sizeof one->name, "%s", entry->d_name);
        one->used = st.st_mtim;
        one->bytes = (uint64_t)st.st_size;
        *bytes += one->bytes;
    }
    return kept;
}

/* Removes what was not used for the longest time, as long as there is too much. */
static void forget(const char *path)
{
    size_t count;
    uint64_t bytes;
    DIR *folder = opendir(path);
    if (!folder)
        return;
    struct kept_plan *kept = list(folder, &count, &bytes);
    if (bytes > AD_PLAN_CACHE_BYTES)
        qsort(kept, count, sizeof *kept, by_age);
    for (size_t i = 0; i < count && bytes > AD_PLAN_CACHE_BYTES; i++) {
        unlinkat(dirfd(folder), kept[i].name, 0);
        bytes -= kept[i].bytes;
    }
    ad_free(kept);
    closedir(folder);
}

enum adaps_status ad_plan_cache_keep(const struct ad_plan_cache *cache,
                                     const struct adaps_plan *plan, struct adaps_error *err)
{
    if (!cache->path)
        return ADAPS_OK;
    char *folder = folder_path();
    enum adaps_status status =
        folder ? ad_file_mkdirs(folder, err) : ad_error_memory(err, cache->path, 0);
    if (status == ADAPS_OK)
        status = adaps_plan_save(plan, cache->path, err);
    if (status == ADAPS_OK)
        forget(folder);
    ad_free(folder);
    return status;
}
