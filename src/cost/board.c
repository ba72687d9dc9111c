#include "cost/board.h"
#include "base/file.h"
#include "base/units.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef ADAPS_DATADIR
#define ADAPS_DATADIR "/usr/local/share/adaps"
#endif

/* Rates as the files give them: GFLOP/s (two per multiply-accumulate) where there are weights,
 * millions of elements per second elsewhere. */
static const struct {
    const char *key;
    double unit;
} rate_keys[AD_COST_CLASSES] = {
    [AD_COST_CONV] = {"conv", 1e9 / 2},
    [AD_COST_WINOGRAD] = {"winograd", 1e9 / 2},
    [AD_COST_GROUPED] = {"grouped", 1e9 / 2},
    [AD_COST_DEPTHWISE] = {"depthwise", 1e9 / 2},
    [AD_COST_FC] = {"fc", 1e9 / 2},
    [AD_COST_POOL] = {"pool", 1e6},
    [AD_COST_ELEMENTWISE] = {"elementwise", 1e6},
    [AD_COST_COPY] = {"copy", 1e6},
    [AD_COST_INT8_CONV] = {"int8_conv", 1e9 / 2},
    [AD_COST_INT8_DEPTHWISE] = {"int8_depthwise", 1e9 / 2},
    [AD_COST_INT8_FC] = {"int8_fc", 1e9 / 2},
};

struct ad_cost_table ad_board_x86(void)
{
    struct ad_cost_table table = {
        .rate = {[AD_COST_CONV] = 67e9,
                 [AD_COST_GROUPED] = 20e9,
                 [AD_COST_DEPTHWISE] = 25e9,
                 [AD_COST_FC] = 16e9,
                 [AD_COST_POOL] = 6e9,
                 [AD_COST_ELEMENTWISE] = 3e9,
                 [AD_COST_COPY] = 3e9},
        .constant_s = 2e-6,
        .memory_bw = 12e9,
        .source = "built in; one core of a 2023 AVX512 server; not measured on this machine",
    };
    return table;
}

double ad_board_rate(const struct ad_cost_table *table, enum ad_cost_class class, const char **key)
{
    if (key)
        *key = rate_keys[class].key;
    return table->rate[class] / rate_keys[class].unit;
}

static enum adaps_status read_time(const struct ad_ini *ini, const struct ad_ini_entry *entry,
                                   double *out, struct adaps_error *err)
{
    double seconds;
    if (!ad_parse_time(entry->value, &seconds) || seconds > 1)
        return ad_ini_refuse(ini, entry, err, "a time up to 1s is wanted, such as 5us");
    *out = seconds;
    return ADAPS_OK;
}

/* Millions of elements per second. */
static enum adaps_status read_elements(const struct ad_ini *ini, const struct ad_ini_entry *entry,
                                       double *out, struct adaps_error *err)
{
    double rate;
    if (!ad_parse_double(entry->value, 1e-6, 1e9, &rate))
        return ad_ini_refuse(ini, entry, err, "a number of Melements/s in [1e-6, 1e9] is wanted");
    *out = rate * 1e6;
    return ADAPS_OK;
}

static enum adaps_status read_bandwidth(const struct ad_ini *ini, const struct ad_ini_entry *entry,
                                        double *out, struct adaps_error *err)
{
    double rate;
    if (!ad_parse_rate(entry->value, &rate) || rate < 1e3 || rate > 1e15)
        return ad_ini_refuse(ini, entry, err,
                             "a rate in [1kB/s, 1e6GB/s] is wanted, such as 8GB/s");
    *out = rate;
    return ADAPS_OK;
}

/* The power that a key stands for, or NULL. */
static int32_t *power_of(struct ad_power *power, const char *key)
{
    if (strcmp(key, "idle_watts") == 0)
        return &power->idle_mw;
    if (strcmp(key, "core_watts") == 0)
        return &power->core_mw;
    return strcmp(key, "network_watts") == 0 ? &power->network_mw : NULL;
}

static enum adaps_status read_power(const struct ad_ini *ini, const struct ad_ini_entry *entry,
                                    int32_t *out, struct adaps_error *err)
{
    double watts;
    if (!ad_parse_double(entry->value, 1e-3, 1e4, &watts))
        return ad_ini_refuse(ini, entry, err, "a number of watts in [0.001, 10000] is wanted");
    *out = (int32_t)lround(watts * 1000);
    return ADAPS_OK;
}

/* The rate that NAME_encode or NAME_decode stands for, NAME being an encoding that takes time; or
 * NULL. */
static double *encoding_rate(struct ad_encoding_rates *rates, const char *key)
{
    for (int e = AD_ENCODING_U8 + 1; e < AD_ENCODINGS; e++) {
        const char *name = ad_encoding_name((enum ad_encoding)e);
        size_t n = strlen(name);
        if (strncmp(key, name, n) != 0)
            continue;
        if (strcmp(key + n, "_encode") == 0)
            return &rates->encode[e];
        if (strcmp(key + n, "_decode") == 0)
            return &rates->decode[e];
    }
    return NULL;
}

bool ad_board_entry(const struct ad_ini *ini, const struct ad_ini_entry *entry,
                    struct ad_cost_table *table, enum adaps_status *status, struct adaps_error *err)
{
    *status = ADAPS_OK;
    for (int class = 0; class < AD_COST_CLASSES; class ++) {
        double value;
        if (strcmp(entry->key, rate_keys[class].key) != 0)
            continue;
        if (ad_parse_double(entry->value, 1e-6, 1e9, &value))
            table->rate[class] = value * rate_keys[class].unit;
        else
            *status = ad_ini_refuse(ini, entry, err, "a number of %s in [1e-6, 1e9] is wanted",
                                    rate_keys[class].unit == 1e6 ? "Melements/s" : "GFLOP/s");
        return true;
    }
    if (strcmp(entry->key, "constant") == 0) {
        *status = read_time(ini, entry, &table->constant_s, err);
        return true;
    }
    if (strcmp(entry->key, "tile") == 0) {
        int64_t pixels;
        if (ad_parse_int(entry->value, 1, 64, &pixels))
            table->tile = (int)pixels;
        else
            *status = ad_ini_refuse(ini, entry, err, "an integer from 1 to 64 is wanted");
        return true;
    }
    if (strcmp(entry->key, "memory_bandwidth") == 0) {
        *status = read_bandwidth(ini, entry, &table->memory_bw, err);
        return true;
    }
    if (strcmp(entry->key, "message") == 0) {
        *status = read_time(ini, entry, &table->message_s, err);
        return true;
    }
    if (strcmp(entry->key, "message_bandwidth") == 0) {
        *status = read_bandwidth(ini, entry, &table->message_bw, err);
        return true;
    }
    if (strcmp(entry->key, "feed") == 0) {
        *status = read_elements(ini, entry, &table->feed_rate, err);
        return true;
    }
    if (strcmp(entry->key, "fetch") == 0) {
        *status = read_elements(ini, entry, &table->fetch_rate, err);
        return true;
    }
    int32_t *power = power_of(&table->power, entry->key);
    if (power) {
        *status = read_power(ini, entry, power, err);
        return true;
    }
    double *rate = encoding_rate(&table->encoding, entry->key);
    if (rate)
        *status = read_bandwidth(ini, entry, rate, err);
    return rate != NULL;
}

enum adaps_status ad_board_shape(const struct ad_ini *ini, const struct ad_ini_entry *entry,
                                 struct ad_shapes *shapes, struct adaps_error *err)
{
    struct ad_shape_time time = {.npoints = 0};
    if (!ad_shape_parse(entry->key, &time.shape))
        return ad_ini_refuse(ini, entry, err,
                             "the shape of an operator is wanted, such as "
                             "'conv 3x3/2 112x112x32 -> 56x56x64'");
    if (!ad_shape_parse_points(entry->value, &time) || !ad_shape_time_valid(&time))
        return ad_ini_refuse(
            ini, entry, err,
            "1 to %d times of ROWS rows are wanted, ascending, at most the shape's, "
            "such as 14:60us 56:235us",
            AD_SHAPE_POINTS);
    enum adaps_status status = ad_shapes_add(shapes, &time, err);
    return status == ADAPS_EINPUT
               ? ad_ini_refuse(ini, entry, err, "more than %d shapes", AD_SHAPES_MAX)
               : status;
}

/* An entry of the section [cost]. */
static enum adaps_status read_cost(const struct ad_ini *ini, const struct ad_ini_entry *entry,
                                   struct ad_cost_table *table, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    if (strcmp(entry->key, "source") == 0) {
        if (strlen(entry->value) >= sizeof table->source)
            return ad_ini_refuse(ini, entry, err, "longer than %zu bytes",
                                 sizeof table->source - 1);
        snprintf(table->source, sizeof table->source, "%s", entry->value);
    } else if (strcmp(entry->key, "threads") == 0) {
        int64_t threads;
        if (!ad_parse_int(entry->value, 1, 64, &threads))
            return ad_ini_refuse(ini, entry, err, "an integer from 1 to 64 is wanted");
        table->threads = (int)threads;
    } else if (!ad_board_entry(ini, entry, table, &status, err)) {
        status = ad_ini_refuse(ini, entry, err, "unknown key");
    }
    return status;
}

/* All entries; *shapes becomes the caller's also on failure, NULL when there are none. */
static enum adaps_status read_entries(const struct ad_ini *ini, struct ad_cost_table *table,
                                      struct ad_shapes **shapes, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (size_t i = 0; i < ini->nentries && status == ADAPS_OK; i++) {
        const struct ad_ini_entry *entry = &ini->entries[i];
        if (strcmp(ini->sections[entry->section].name, "cost") == 0) {
            status = read_cost(ini, entry, table, err);
            continue;
        }
        if (!*shapes)
            *shapes = ad_shapes_new();
        status = *shapes ? ad_board_shape(ini, entry, *shapes, err)
                         : ad_error_memory(err, "shapes", sizeof *table);
    }
    return status == ADAPS_OK && *shapes ? ad_shapes_finish(*shapes, err) : status;
}

static enum adaps_status read_board(const char *path, struct ad_cost_table *out,
                                    struct adaps_error *err)
{
    struct ad_ini ini;
    enum adaps_status status = ad_ini_read(path, &ini, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_cost_table table = {.source = ""};
    struct ad_shapes *shapes = NULL;
    for (size_t s = 0; s < ini.nsections && status == ADAPS_OK; s++)
        if (strcmp(ini.sections[s].name, "cost") != 0 &&
            strcmp(ini.sections[s].name, "shapes") != 0)
            status = ad_ini_refuse_section(&ini, (int)s, err,
                                           "unknown section; a board file has [cost] and [shapes]");
    if (status == ADAPS_OK)
        status = read_entries(&ini, &table, &shapes, err);
    for (int class = 0; class < AD_COST_CLASSES && status == ADAPS_OK; class ++)
        if (table.rate[class] <= 0 && (int)ad_cost_stand_in((enum ad_cost_class) class) == class)
            status = ad_error_set(err, ADAPS_EINPUT, "%s: [cost]: the key %s is missing", path,
                                  rate_keys[class].key);
    if (status == ADAPS_OK && table.memory_bw <= 0)
        status = ad_error_set(err, ADAPS_EINPUT, "%s: [cost]: the key memory_bandwidth is missing",
                              path);
    ad_ini_fini(&ini);
    table.shapes = shapes;
    if (status == ADAPS_OK)
        *out = table;
    else
        ad_shapes_unref(shapes);
    return status;
}

/* The table in this folder as seen from base_file, if it is there (*found). */
static enum adaps_status load_from(const char *base_file, const char *folder, const char *name,
                                   struct ad_cost_table *out, bool *found, struct adaps_error *err)
{
    char *relative = ad_asprintf("%s/%s.conf", folder, name);
    char *path = relative ? ad_file_relative_to(base_file, relative) : NULL;
    ad_free(relative);
    if (!path)
        return ad_error_memory(err, "board path", strlen(name));
    *found = access(path, F_OK) == 0;
    enum adaps_status status = *found ? read_board(path, out, err) : ADAPS_OK;
    ad_free(path);
    return status;
}

enum adaps_status ad_board_load(const char *devices_path, const char *name,
                                struct ad_cost_table *out, struct adaps_error *err)
{
    char *program = ad_file_program();
    if (!program)
        return ad_error_memory(err, "board path", strlen(name));
    const struct {
        const char *base_file, *folder;
    } places[] = {
        {devices_path, "boards"},           {devices_path, "devices/boards"},
        {program, "devices/boards"}, /* a checkout's */
        {program, "../share/adaps/boards"}, {program, ADAPS_DATADIR "/boards"},
    };
    bool found = false;
    enum adaps_status status = ADAPS_OK;
    for (size_t i = 0; i < sizeof places / sizeof *places && !found && status == ADAPS_OK; i++)
        status = load_from(places[i].base_file, places[i].folder, name, out, &found, err);
    ad_free(program);
    if (found || status != ADAPS_OK)
        return status;
    if (strcmp(name, "x86") == 0) {
        *out = ad_board_x86();
        return ADAPS_OK;
    }
    return ad_error_set(err, ADAPS_EINPUT,
                        "%s: no board %s: %s.conf is neither in boards/ nor devices/boards/ beside "
                        "this file, nor in devices/boards/ or ../share/adaps/boards/ beside the "
                        "program, nor in %s/boards",
                        devices_path, name, name, ADAPS_DATADIR);
}
