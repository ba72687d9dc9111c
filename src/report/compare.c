/* adaps plan --strategy all: the strategies side by side. */
#include "base/units.h"
#include "report/json.h"
#include "report/report.h"
#include "report/text.h"

#include <inttypes.h>

static const struct ad_column columns[] = {
    {"strategy", false, false}, {"latency", true, false}, {"interval", true, false},
    {"of best", true, false},   {"bytes", true, false},   {"messages", true, false},
    {"visited", true, false},   {"search", true, false},  {"memory per device", false, true},
};

/* What was to be short. */
static int64_t time_of(const struct ad_comparison *item)
{
    return item->by_interval ? item->interval_ns : item->predicted_ns;
}

static int64_t soonest(const struct ad_comparison *items, int count)
{
    int64_t best = -1;
    for (int i = 0; i < count; i++)
        if (!items[i].error[0] && (best < 0 || time_of(&items[i]) < best))
            best = time_of(&items[i]);
    return best;
}

static void memory_cell(const struct ad_comparison *item, const struct ad_cluster *cluster,
                        struct ad_table *table)
{
    char list[AD_MAX_DEVICES * 16] = "", bytes[32];
    size_t used = 0;
    for (int d = 0; d < cluster->ndevices && used < sizeof list; d++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", d ? ", " : "",
                                 ad_format_bytes((double)item->memory[d], bytes, sizeof bytes));
    ad_table_cell(table, "%s", list);
}

static void plan_row(const struct ad_comparison *item, const struct ad_cluster *cluster,
                     int64_t best, struct ad_table *table)
{
    char text[32];
    ad_table_cell(table, "%s", item->strategy);
    ad_table_cell(table, "%s", ad_format_ns((double)item->predicted_ns, text, sizeof text));
    ad_table_cell(table, "%s", ad_format_ns((double)item->interval_ns, text, sizeof text));
    ad_table_cell(table, "%.2f", best > 0 ? (double)time_of(item) / (double)best : 1.0);
    ad_table_cell(table, "%s", ad_format_bytes((double)item->bytes, text, sizeof text));
    ad_table_cell(table, "%" PRId64, item->messages);
    ad_table_cell(table, "%" PRId64, item->visited);
    ad_table_cell(table, "%s", ad_format_ns(item->search_s * 1e9, text, sizeof text));
    memory_cell(item, cluster, table);
}

enum adaps_status ad_report_compare(const struct ad_comparison *items, int count,
                                    const struct ad_cluster *cluster, FILE *out,
                                    struct adaps_error *err)
{
    struct ad_table table;
    int64_t best = soonest(items, count), bound = 0;
    char text[32], why[sizeof items->error];
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < count; i++)
        if (!items[i].error[0]) {
            plan_row(&items[i], cluster, best, &table);
            bound = items[i].lower_bound_ns;
        }
    enum adaps_status status = best >= 0 ? ad_table_print(&table, out, err) : ADAPS_OK;
    ad_table_fini(&table);
    if (status != ADAPS_OK)
        return status;
    if (bound > 0)
        fprintf(out, "no plan at all can answer sooner than %s\n",
                ad_format_ns((double)bound, text, sizeof text));
    for (int i = 0; i < count; i++)
        if (items[i].error[0])
            fprintf(out, "%s: %s\n", items[i].strategy,
                    ad_text_clean(items[i].error, why, sizeof why));
    return ad_text_finish(out, err);
}

static json_t *item_json(const struct ad_comparison *item, int ndevices)
{
    if (item->error[0])
        return json_pack("{ss so}", "strategy", item->strategy, "error",
                         ad_report_json_text(item->error));
    json_t *memory = json_array();
    for (int d = 0; d < ndevices && memory; d++)
        if (json_array_append_new(memory, json_integer(item->memory[d])) != 0) {
            json_decref(memory);
            memory = NULL;
        }
    return json_pack("{ss so so sI sI so sI sf so}", "strategy", item->strategy, "predicted_ms",
                     ad_report_json_ms(item->predicted_ns), "interval_ms",
                     ad_report_json_ms(item->interval_ns), "bytes", (json_int_t)item->bytes,
                     "messages", (json_int_t)item->messages, "memory_bytes", memory, "visited",
                     (json_int_t)item->visited, "search_s", item->search_s, "lower_bound_ms",
                     ad_report_json_ms(item->lower_bound_ns));
}

enum adaps_status ad_report_compare_json(const struct ad_comparison *items, int count,
                                         const struct ad_cluster *cluster, FILE *out,
                                         struct adaps_error *err)
{
    json_t *list = json_array();
    for (int i = 0; i < count && list; i++)
        if (json_array_append_new(list, item_json(&items[i], cluster->ndevices)) != 0) {
            json_decref(list);
            list = NULL;
        }
    return ad_report_json_print(json_pack("{so}", "strategies", list), out, err);
}
