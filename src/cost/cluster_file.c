/* Reads devices files (adaps-devices(5)). */
#include "cost/board.h"
#include "cost/cluster.h"
#include "cost/ini_file.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define Z85_LETTERS                                                                                \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:+=^!/*?&<>()[]{}@%$#"

static bool is_name(const char *text, size_t room)
{
    size_t n = strlen(text);
    return n >= 1 && n < room && text[0] != '.' && text[0] != '-' &&
           strspn(text, NAME_LETTERS) == n;
}

/* "link" or "link ...". */
static bool is_link(const char *section)
{
    return strcmp(section, "link") == 0 || strncmp(section, "link ", 5) == 0;
}

bool ad_cluster_may_name(const char *text)
{
    return is_name(text, sizeof((struct ad_device *)0)->name) && !is_link(text);
}

/* "shapes NAME": measured operators of a device. */
static bool is_shapes(const char *section)
{
    return strncmp(section, "shapes ", 7) == 0;
}

struct file {
    struct ad_ini ini;
    int *device_of; /* by section; -1 for links */
    struct ad_cluster *cluster;
    int ndevices;
};

static enum adaps_status count_devices(struct file *file, struct adaps_error *err)
{
    struct ad_ini *ini = &file->ini;
    file->device_of = ad_calloc(ini->nsections + 1, sizeof *file->device_of);
    if (!file->device_of)
        return ad_error_memory(err, "devices file", ini->nsections);
    for (size_t s = 0; s < ini->nsections; s++) {
        const char *name = ini->sections[s].name;
        file->device_of[s] = -1;
        if (is_link(name) || is_shapes(name))
            continue;
        if (!is_name(name, sizeof file->cluster->devices->name))
            return ad_ini_refuse_section(ini, (int)s, err,
                                         "neither [link], [link A B], [shapes A] nor the name of a "
                                         "device: 1 to 63 letters, digits, '.', '_', '-'");
        if (file->ndevices == AD_MAX_DEVICES)
            return ad_ini_refuse_section(ini, (int)s, err, "more than %d devices", AD_MAX_DEVICES);
        file->device_of[s] = file->ndevices++;
    }
    if (file->ndevices == 0)
        return ad_error_set(err, ADAPS_EINPUT, "%s: no device: a section [NAME] is wanted for each",
                            ini->path);
    return ADAPS_OK;
}

static enum adaps_status set_text(const struct ad_ini *ini, const struct ad_ini_entry *entry,
                                  char *out, size_t room, struct adaps_error *err)
{
    if (strlen(entry->value) >= room)
        return ad_ini_refuse(ini, entry, err, "longer than %zu bytes", room - 1);
    snprintf(out, room, "%s", entry->value);
    return ADAPS_OK;
}

static enum adaps_status set_address(struct file *file, const struct ad_ini_entry *entry,
                                     struct ad_device *device, struct adaps_error *err)
{
    const char *value = entry->value;
    bool tcp = strncmp(value, "tcp://", 6) == 0, ipc = strncmp(value, "ipc://", 6) == 0;
    const char *colon = strrchr(value, ':');
    int64_t port;
    if (!(tcp && colon > value + 6 && ad_parse_int(colon + 1, 1, 65535, &port)) &&
        !(ipc && value[6]))
        return ad_ini_refuse(&file->ini, entry, err,
                             "tcp://HOST:PORT (port 1 to 65535) or ipc://PATH is wanted");
    for (int i = 0; i < file->cluster->ndevices; i++)
        if (strcmp(file->cluster->devices[i].address, value) == 0)
            return ad_ini_refuse(&file->ini, entry, err, "also the address of %s",
                                 file->cluster->devices[i].name);
    return set_text(&file->ini, entry, device->address, sizeof device->address, err);
}

/* How ssh reaches the device, which only pairing asks (pair/target.h). */
static enum adaps_status set_ssh(const struct ad_ini *ini, const struct ad_ini_entry *entry,
                                 struct ad_device *device, struct adaps_error *err)
{
    const char *value = entry->value;
    if (!value[0] || value[0] == '-' || strspn(value, NAME_LETTERS "@:[]%") != strlen(value))
        return ad_ini_refuse(ini, entry, err, "[USER@]HOST[:PORT] is wanted");
    return set_text(ini, entry, device->ssh, sizeof device->ssh, err);
}

static enum adaps_status set_source(struct file *file, const struct ad_ini_entry *entry,
                                    struct ad_device *device, bool *chosen, struct adaps_error *err)
{
    bool yes = strcmp(entry->value, "yes") == 0;
    if (!yes && strcmp(entry->value, "no") != 0)
        return ad_ini_refuse(&file->ini, entry, err, "yes or no is wanted");
    if (!yes)
        return ADAPS_OK;
    struct ad_cluster *cluster = file->cluster;
    if (*chosen)
        return ad_ini_refuse(&file->ini, entry, err, "%s is the source already",
                             cluster->devices[cluster->source].name);
    *chosen = true;
    cluster->devices[0].source = false;
    device->source = true;
    cluster->source = (int)(device - cluster->devices);
    return ADAPS_OK;
}

static enum adaps_status set_device(struct file *file, const struct ad_ini_entry *entry,
                                    struct ad_device *device, bool *chosen, struct adaps_error *err)
{
    const struct ad_ini *ini = &file->ini;
    const char *key = entry->key, *value = entry->value;
    enum adaps_status status = ADAPS_OK;
    int64_t number;
    if (strcmp(key, "board") == 0)
        return ADAPS_OK; /* load_boards() */
    if (strcmp(key, "address") == 0)
        return set_address(file, entry, device, err);
    if (strcmp(key, "ssh") == 0)
        return set_ssh(ini, entry, device, err);
    if (strcmp(key, "source") == 0)
        return set_source(file, entry, device, chosen, err);
    if (strcmp(key, "key") == 0) {
        if (strlen(value) != 40 || strspn(value, Z85_LETTERS) != 40)
            return ad_ini_refuse(ini, entry, err,
                                 "a CURVE public key is wanted, 40 letters of Z85");
        return set_text(ini, entry, device->key, sizeof device->key, err);
    }
    if (strcmp(key, "memory") == 0) {
        if (!ad_parse_size(value, &device->memory) || device->memory > INT64_MAX)
            status = ad_ini_refuse(ini, entry, err,
                                   "a size is wanted, such as 4GiB or 512MB; 0 is unlimited");
    } else if (strcmp(key, "threads") == 0) {
        if (ad_parse_int(value, 1, 64, &number))
            device->threads = (int)number;
        else
            status = ad_ini_refuse(ini, entry, err, "an integer from 1 to 64 is wanted");
    } else if (strcmp(key, "speed") == 0) {
        if (!ad_parse_double(value, 1e-6, 1000, &device->speed))
            status = ad_ini_refuse(ini, entry, err, "a number in [0.000001, 1000] is wanted");
    } else if (!ad_board_entry(ini, entry, &device->table, &status, err)) {
        status = ad_ini_refuse(ini, entry, err, "unknown key");
    }
    return status;
}

/* The threads of a device whose board says how many its rates are of: by default that many. The
 * rates are taken to grow with threads up to the board's. */
static void take_threads(struct file *file, int section, struct ad_device *device)
{
    struct ad_cost_table *table = &device->table;
    int64_t threads = table->threads;
    if (table->threads == 0)
        return;
    for (size_t i = 0; i < file->ini.nentries; i++) {
        const struct ad_ini_entry *entry = &file->ini.entries[i];
        if (entry->section == section && strcmp(entry->key, "threads") == 0 &&
            !ad_parse_int(entry->value, 1, 64, &threads))
            return; /* set_device() refuses it */
    }
    device->threads = (int)threads;
    for (int class = 0; class < AD_COST_CLASSES && threads < table->threads; class ++)
        table->rate[class] *= (double)threads / table->threads;
}

/* First the boards, so that cost keys of the section override them wherever they stand. */
static enum adaps_status load_boards(struct file *file, struct adaps_error *err)
{
    struct ad_ini *ini = &file->ini;
    for (size_t s = 0; s < ini->nsections; s++)
        if (file->device_of[s] >= 0) {
            struct ad_device *device = &file->cluster->devices[file->device_of[s]];
            snprintf(device->name, sizeof device->name, "%s", ini->sections[s].name);
            snprintf(device->board, sizeof device->board, "x86");
        }
    for (size_t i = 0; i < ini->nentries; i++) {
        const struct ad_ini_entry *entry = &ini->entries[i];
        int d = file->device_of[entry->section];
        if (d < 0 || strcmp(entry->key, "board") != 0)
            continue;
        struct ad_device *device = &file->cluster->devices[d];
        if (!is_name(entry->value, sizeof device->board))
            return ad_ini_refuse(ini, entry, err,
                                 "a name is wanted: 1 to 63 letters, digits, '.', '_', '-'");
        snprintf(device->board, sizeof device->board, "%s", entry->value);
        enum adaps_status status = ad_board_load(ini->path, entry->value, &device->table, err);
        if (status == ADAPS_OK) {
            ad_cluster_take_shapes(file->cluster, d, device->table.shapes);
            take_threads(file, entry->section, device);
        }
        if (status != ADAPS_OK)
            return status == ADAPS_EINPUT
                       ? ad_error_prefix(err, "%s:%d: [%s] board = %s: ", ini->path, entry->line,
                                         ini->sections[entry->section].name, entry->value)
                       : status;
    }
    return ADAPS_OK;
}

/* A section of shapes: they are added to the board's, or replace them. */
static enum adaps_status load_shapes(struct file *file, int section, struct adaps_error *err)
{
    struct ad_ini *ini = &file->ini;
    int d = ad_cluster_find(file->cluster, ini->sections[section].name + strlen("shapes "));
    if (d < 0)
        return ad_ini_refuse_section(ini, section, err, "there is no device %s",
                                     ini->sections[section].name + strlen("shapes "));
    struct ad_shapes *shapes = ad_shapes_new();
    enum adaps_status status = shapes ? ADAPS_OK : ad_error_memory(err, "shapes", sizeof file->ini);
    for (size_t i = 0; i < ad_shapes_count(file->cluster->shapes[d]) && status == ADAPS_OK; i++)
        status = ad_shapes_add(shapes, ad_shapes_item(file->cluster->shapes[d], i), err);
    for (size_t i = 0; i < ini->nentries && status == ADAPS_OK; i++)
        if (ini->entries[i].section == section)
            status = ad_board_shape(ini, &ini->entries[i], shapes, err);
    if (status == ADAPS_OK)
        status = ad_shapes_finish(shapes, err);
    if (status == ADAPS_OK)
        ad_cluster_take_shapes(file->cluster, d, shapes);
    else
        ad_shapes_unref(shapes);
    return status;
}

static enum adaps_status load_devices(struct file *file, struct adaps_error *err)
{
    bool source_chosen = false;
    enum adaps_status status = load_boards(file, err);
    for (size_t i = 0; i < file->ini.nentries && status == ADAPS_OK; i++) {
        const struct ad_ini_entry *entry = &file->ini.entries[i];
        int d = file->device_of[entry->section];
        if (d >= 0)
            status = set_device(file, entry, &file->cluster->devices[d], &source_chosen, err);
    }
    for (size_t s = 0; s < file->ini.nsections && status == ADAPS_OK; s++)
        if (is_shapes(file->ini.sections[s].name))
            status = load_shapes(file, (int)s, err);
    return status;
}

/* key: that of the entry, without "_back" if it ends so. */
static enum adaps_status set_link(const struct ad_ini *ini, const struct ad_ini_entry *entry,
                                  const char *key, struct ad_link *link, struct adaps_error *err)
{
    if (strcmp(key, "bandwidth") == 0) {
        double rate;
        if (!ad_parse_rate(entry->value, &rate))
            return ad_ini_refuse(
                ini, entry, err,
                "a rate of at least 8bit is wanted, such as 100mbit or 12.5MB/s (of "
                "two devices without a link: what the way through others carries)");
        link->bandwidth = rate;
    } else if (strcmp(key, "latency") == 0) {
        double seconds;
        if (!ad_parse_time(entry->value, &seconds) || seconds > 3600)
            return ad_ini_refuse(ini, entry, err, "a time is wanted, such as 0.3ms");
        link->latency = seconds;
    } else {
        return ad_ini_refuse(ini, entry, err, "%s",
                             strcmp(entry->key, "medium") == 0
                                 ? "belongs to [link]: all links have one medium"
                                 : "unknown key; a link has bandwidth and latency, a pair also "
                                   "bandwidth_back and latency_back");
    }
    return ADAPS_OK;
}

/* An entry of [link]: the default of all links, and what they run over. */
static enum adaps_status set_common(const struct ad_ini *ini, const struct ad_ini_entry *entry,
                                    struct ad_cluster *cluster, struct ad_link *link,
                                    struct adaps_error *err)
{
    if (strcmp(entry->key, "medium") != 0)
        return set_link(ini, entry, entry->key, link, err);
    cluster->shared_medium = strcmp(entry->value, "shared") == 0;
    if (!cluster->shared_medium && strcmp(entry->value, "switch") != 0)
        return ad_ini_refuse(ini, entry, err, "shared or switch is wanted");
    return ADAPS_OK;
}

/* An entry of [link A B]: of both directions, or of that from B to A. What is said of one direction
 * alone counts wherever it stands. */
static enum adaps_status set_pair(const struct ad_ini *ini, const struct ad_ini_entry *entry,
                                  bool backward, struct ad_link *there, struct ad_link *back,
                                  struct adaps_error *err)
{
    bool is_back =
        strcmp(entry->key, "bandwidth_back") == 0 || strcmp(entry->key, "latency_back") == 0;
    if (is_back)
        return backward
                   ? set_link(ini, entry, entry->key[0] == 'b' ? "bandwidth" : "latency", back, err)
                   : ADAPS_OK;
    if (backward)
        return ADAPS_OK;
    enum adaps_status status = set_link(ini, entry, entry->key, there, err);
    return status == ADAPS_OK ? set_link(ini, entry, entry->key, back, err) : status;
}

/* The two devices of a section "link A B". */
static enum adaps_status link_ends(struct file *file, int section, int end[2],
                                   struct adaps_error *err)
{
    struct ad_ini *ini = &file->ini;
    char word[2][sizeof file->cluster->devices->name];
    int used = 0;
    if (sscanf(ini->sections[section].name, "link %63s %63s%n", word[0], word[1], &used) != 2 ||
        ini->sections[section].name[used])
        return ad_ini_refuse_section(ini, section, err, "[link] or [link A B] is wanted");
    for (int i = 0; i < 2; i++) {
        end[i] = ad_cluster_find(file->cluster, word[i]);
        if (end[i] < 0)
            return ad_ini_refuse_section(ini, section, err, "there is no device %s", word[i]);
    }
    if (end[0] == end[1])
        return ad_ini_refuse_section(ini, section, err, "a link joins two different devices");
    return ADAPS_OK;
}

static enum adaps_status load_links(struct file *file, struct adaps_error *err)
{
    struct ad_ini *ini = &file->ini;
    struct ad_cluster *cluster = file->cluster;
    size_t n = (size_t)cluster->ndevices;
    struct ad_link common = cluster->links[0];
    enum adaps_status status = ADAPS_OK;
    bool seen[AD_MAX_DEVICES][AD_MAX_DEVICES] = {{false}};
    for (size_t i = 0; i < ini->nentries && status == ADAPS_OK; i++)
        if (strcmp(ini->sections[ini->entries[i].section].name, "link") == 0)
            status = set_common(ini, &ini->entries[i], cluster, &common, err);
    cluster->common = common;
    for (size_t i = 0; i < n * n; i++)
        cluster->links[i] = common;
    for (size_t s = 0; s < ini->nsections && status == ADAPS_OK; s++) {
        int end[2] = {0, 0};
        if (strncmp(ini->sections[s].name, "link ", 5) != 0)
            continue;
        status = link_ends(file, (int)s, end, err);
        if (status == ADAPS_OK && seen[end[0]][end[1]])
            status = ad_ini_refuse_section(ini, (int)s, err, "this pair was given already");
        if (status != ADAPS_OK)
            break;
        seen[end[0]][end[1]] = seen[end[1]][end[0]] = true;
        struct ad_link there = common, back = common;
        for (size_t i = 0; i < 2 * ini->nentries && status == ADAPS_OK; i++) {
            const struct ad_ini_entry *entry = &ini->entries[i % ini->nentries];
            if (entry->section == (int)s)
                status = set_pair(ini, entry, i >= ini->nentries, &there, &back, err);
        }
        cluster->links[(size_t)end[0] * n + (size_t)end[1]] = there;
        cluster->links[(size_t)end[1] * n + (size_t)end[0]] = back;
    }
    return status;
}

enum adaps_status ad_cluster_load(const char *path, struct ad_cluster *out, struct adaps_error *err)
{
    struct file file = {.cluster = out};
    memset(out, 0, sizeof *out);
    enum adaps_status status = ad_ini_read(path, &file.ini, err);
    if (status != ADAPS_OK)
        return status;
    status = count_devices(&file, err);
    if (status == ADAPS_OK)
        status = ad_cluster_init(out, file.ndevices, err);
    if (status == ADAPS_OK)
        status = load_devices(&file, err);
    if (status == ADAPS_OK)
        status = load_links(&file, err);
    if (status != ADAPS_OK)
        ad_cluster_fini(out);
    ad_free(file.device_of);
    ad_ini_fini(&file.ini);
    return status;
}
