/* What adaps profile prints beside the devices file: tables and JSON. */
#include "base/stats.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/profile_internal.h"
#include "cost/board.h"
#include "report/json.h"
#include "report/text.h"

#include <math.h>

/* Speed relative to the first device: the median over the shapes that both have. */
static double relative_speed(const struct ad_profile_device *devices, int d)
{
    const struct ad_shapes *made = devices[0].made;
    size_t count = ad_shapes_count(made), n = 0;
    double *paces = ad_calloc(count + 1, sizeof *paces);
    for (size_t i = 0; paces && i < count; i++) {
        const struct ad_shape_time *a = ad_shapes_item(made, i);
        const struct ad_shape_time *b = ad_shapes_find(devices[d].made, &a->shape);
        if (b && a->points[a->npoints - 1].rows == b->points[b->npoints - 1].rows)
            paces[n++] = a->points[a->npoints - 1].seconds / b->points[b->npoints - 1].seconds;
    }
    double median = n ? ad_stats_median(paces, n) : NAN;
    ad_free(paces);
    return median;
}

static double worst_spread(const struct ad_profile_device *device)
{
    double worst = 0;
    for (int i = 0; i < device->nmodels; i++)
        worst = fmax(worst, device->models[i].spread);
    return worst;
}

static enum adaps_status print_devices(const struct ad_cluster *cluster,
                                       const struct ad_profile_device *devices,
                                       struct adaps_error *err)
{
    static const struct ad_column columns[] = {
        {"device", false, true}, {"processor", false, true}, {"threads", true, false},
        {"conv", true, false},   {"relative", true, false},  {"shapes", true, false},
        {"spread", true, false}, {"took", true, false},
    };
    struct ad_table table;
    char text[32];
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int d = 0; d < cluster->ndevices; d++) {
        const struct ad_profile_device *m = &devices[d];
        ad_table_cell(&table, "%s", cluster->devices[d].name);
        ad_table_cell(&table, "%s", m->status.cpu[0] ? m->status.cpu : m->status.machine);
        ad_table_cell(&table, "%d", m->threads);
        ad_table_cell(&table, "%.4g GFLOP/s", ad_board_rate(&m->table, AD_COST_CONV, NULL));
        ad_table_cell(&table, "%.3f", relative_speed(devices, d));
        ad_table_cell(&table, "%zu", m->count);
        ad_table_cell(&table, "%.1f %%", worst_spread(m) * 100);
        ad_table_cell(&table, "%s", ad_format_ns(m->seconds * 1e9, text, sizeof text));
    }
    enum adaps_status status = ad_table_print(&table, stdout, err);
    ad_table_fini(&table);
    return status;
}

static enum adaps_status print_links(const struct ad_cluster *cluster, struct adaps_error *err)
{
    static const struct ad_column columns[] = {
        {"from", false, true},
        {"to", false, true},
        {"bandwidth", true, false},
        {"latency", true, false},
    };
    struct ad_table table;
    char text[32];
    int n = cluster->ndevices;
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < n * n; i++) {
        if (i / n == i % n)
            continue;
        ad_table_cell(&table, "%s", cluster->devices[i / n].name);
        ad_table_cell(&table, "%s", cluster->devices[i % n].name);
        ad_table_cell(&table, "%s", ad_format_rate(cluster->links[i].bandwidth, text, sizeof text));
        ad_table_cell(&table, "%s",
                      ad_format_ns(cluster->links[i].latency * 1e9, text, sizeof text));
    }
    enum adaps_status status = ad_table_print(&table, stdout, err);
    ad_table_fini(&table);
    return status;
}

static json_t *device_json(const struct ad_cluster *cluster,
                           const struct ad_profile_device *devices, int d)
{
    const struct ad_profile_device *m = &devices[d];
    json_t *classes = json_object(), *models = json_array();
    for (int class = 0; class < AD_COST_CLASSES; class ++) {
        const char *key;
        double rate = ad_board_rate(&m->table, (enum ad_cost_class) class, &key);
        json_object_set_new(classes, key,
                            json_pack("{s:o, s:i, s:o}", "rate", ad_report_json_number(rate),
                                      "shapes", m->samples[class], "residual",
                                      ad_report_json_number(m->residual[class])));
    }
    for (int i = 0; i < m->nmodels; i++)
        models = ad_report_json_append(
            models,
            json_pack("{s:o, s:f, s:f, s:f, s:f, s:i}", "name",
                      ad_report_json_text(m->models[i].name), "pass_ms", m->models[i].pass_s * 1e3,
                      "spread", m->models[i].spread, "feed_ms", m->models[i].feed_s * 1e3,
                      "fetch_ms", m->models[i].fetch_s * 1e3, "passes", m->models[i].passes));
    return json_pack(
        "{s:o, s:o, s:s, s:i, s:f, s:o, s:f, s:o, s:f, s:o, s:f, s:f, s:i, s:f, s:f, s:I, s:f, "
        "s:o, "
        "s:o}",
        "name", ad_report_json_text(cluster->devices[d].name), "cpu",
        ad_report_json_text(m->status.cpu), "measured", m->when, "threads", m->threads, "load",
        m->status.load1, "temperature_c", ad_report_json_number(m->status.temperature_c),
        "emulated_speed", m->speed, "relative", ad_report_json_number(relative_speed(devices, d)),
        "message_us", m->table.message_s * 1e6, "message_bandwidth_gb_s",
        ad_report_json_number(m->table.message_bw > 0 ? m->table.message_bw / 1e9 : NAN),
        "constant_us", m->table.constant_s * 1e6, "memory_bandwidth_gb_s", m->table.memory_bw / 1e9,
        "tile", m->table.tile, "cold_weights_gb_s", m->cold_bw / 1e9, "slice_mib",
        m->slice_bytes / 1048576, "shapes", (json_int_t)m->count, "seconds", m->seconds, "classes",
        classes, "models", models);
}

enum adaps_status ad_profile_print(const struct ad_cluster *cluster,
                                   const struct ad_profile_device *devices, struct adaps_error *err)
{
    enum adaps_status status = print_devices(cluster, devices, err);
    if (status != ADAPS_OK || cluster->ndevices < 2)
        return status;
    putchar('\n');
    return print_links(cluster, err);
}

int ad_profile_print_json(const struct ad_cluster *cluster, const struct ad_profile_device *devices,
                          const bool *linked)
{
    json_t *list = json_array(), *links = json_array();
    int n = cluster->ndevices;
    for (int d = 0; d < n; d++)
        list = ad_report_json_append(list, device_json(cluster, devices, d));
    for (int i = 0; i < n * n; i++)
        if (i / n != i % n)
            links = ad_report_json_append(
                links, json_pack("{s:o, s:o, s:f, s:f, s:b}", "from",
                                 ad_report_json_text(cluster->devices[i / n].name), "to",
                                 ad_report_json_text(cluster->devices[i % n].name),
                                 "bandwidth_mbit", cluster->links[i].bandwidth * 8e-6, "latency_ms",
                                 cluster->links[i].latency * 1e3, "measured", (int)linked[i]));
    return ad_cli_print_json(&ad_command_profile,
                             json_pack("{s:o, s:o}", "devices", list, "links", links));
}
