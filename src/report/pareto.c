/* adaps plan --pareto: the plans of a front side by side. */
#include "base/units.h"
#include "report/json.h"
#include "report/report.h"
#include "report/text.h"

#include <inttypes.h>

static const struct ad_column columns[] = {
    {"no", true, false},       {"strategy", false, false}, {"latency", true, false},
    {"interval", true, false}, {"memory", true, false},    {"energy", true, false},
    {"moved", true, false},    {"devices", false, true},
};

/* Whether the device computes something in any turn. */
static bool computes(const struct ad_search_result *result, int d)
{
    for (int t = 0; t < result->stream.nturns; t++)
        if (ad_stream_turn(&result->stream, &result->schedule, t)->programs[d].ntasks > 0)
            return true;
    return false;
}

static void devices_cell(const struct ad_search_result *result, const struct ad_cluster *cluster,
                         struct ad_table *table)
{
    char list[AD_MAX_DEVICES * sizeof cluster->devices->name];
    size_t used = 0;
    for (int d = 0; d < cluster->ndevices; d++)
        if (computes(result, d))
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                                     cluster->devices[d].name);
    ad_table_cell(table, "%s", used ? list : "-");
}

static void row(const struct ad_pareto_plan *plan, int number, const struct ad_cluster *cluster,
                struct ad_table *table)
{
    const int64_t *figure = plan->figure;
    char text[32];
    ad_table_cell(table, "%d", number);
    ad_table_cell(table, "%s", plan->strategy);
    ad_table_cell(table, "%s",
                  ad_format_ns((double)figure[AD_OBJECTIVE_LATENCY], text, sizeof text));
    ad_table_cell(table, "%s",
                  ad_format_ns((double)figure[AD_OBJECTIVE_THROUGHPUT], text, sizeof text));
    ad_table_cell(table, "%s",
                  ad_format_bytes((double)figure[AD_OBJECTIVE_MEMORY], text, sizeof text));
    ad_table_cell(table, "%s",
                  figure[AD_OBJECTIVE_ENERGY] >= 0
                      ? ad_format_pj((double)figure[AD_OBJECTIVE_ENERGY], text, sizeof text)
                      : "-");
    ad_table_cell(table, "%s",
                  ad_format_bytes((double)figure[AD_OBJECTIVE_TRAFFIC], text, sizeof text));
    devices_cell(&plan->result, cluster, table);
}

enum adaps_status ad_report_pareto(const struct ad_pareto *front, const struct ad_cluster *cluster,
                                   FILE *out, struct adaps_error *err)
{
    struct ad_table table;
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < front->count; i++)
        row(&front->plans[i], i + 1, cluster, &table);
    enum adaps_status status = ad_table_print(&table, out, err);
    ad_table_fini(&table);
    if (status != ADAPS_OK)
        return status;
    fprintf(out, "of %" PRId64 " layouts, by", front->visited);
    for (int i = 0; i < front->objectives.count; i++)
        fprintf(out, "%s %s", i > 0 ? "," : "", ad_objective_name(front->objectives.list[i]));
    fputc('\n', out);
    return ad_text_finish(out, err);
}

static json_t *devices_json(const struct ad_search_result *result, const struct ad_cluster *cluster)
{
    json_t *list = json_array();
    for (int d = 0; d < cluster->ndevices && list; d++)
        if (computes(result, d))
            list = ad_report_json_append(list, ad_report_json_text(cluster->devices[d].name));
    return list;
}

static json_t *memory_json(const struct ad_schedule *schedule)
{
    json_t *list = json_array();
    for (int d = 0; d < schedule->ndevices && list; d++)
        list = ad_report_json_append(list, json_integer(schedule->memory[d]));
    return list;
}

static json_t *plan_json(const struct ad_pareto_plan *plan, int number,
                         const struct ad_cluster *cluster, const char *file)
{
    const int64_t *figure = plan->figure;
    const struct ad_search_result *result = &plan->result;
    int64_t interval = figure[AD_OBJECTIVE_THROUGHPUT];
    json_t *objective = plan->objective == AD_OBJECTIVE_BALANCE
                            ? json_null()
                            : json_string(ad_objective_name(plan->objective));
    return json_pack(
        "{si ss so so so so si so sI so so sI sI so}", "number", number, "strategy", plan->strategy,
        "objective", objective, "predicted_ms", ad_report_json_ms(figure[AD_OBJECTIVE_LATENCY]),
        "interval_ms", ad_report_json_ms(interval), "throughput_per_s",
        interval > 0 ? json_real(1e9 / (double)interval) : json_null(), "frames_in_flight",
        result->stream.frames, "memory_bytes", memory_json(&result->schedule), "memory_most_bytes",
        (json_int_t)figure[AD_OBJECTIVE_MEMORY], "energy_j",
        ad_report_json_joules(figure[AD_OBJECTIVE_ENERGY]), "devices",
        devices_json(result, cluster), "mean_bytes", (json_int_t)figure[AD_OBJECTIVE_TRAFFIC],
        "messages", (json_int_t)result->schedule.messages, "file",
        file ? ad_report_json_text(file) : json_null());
}

enum adaps_status ad_report_pareto_json(const struct ad_pareto *front,
                                        const struct ad_cluster *cluster, char *const *files,
                                        FILE *out, struct adaps_error *err)
{
    json_t *objectives = json_array(), *plans = json_array();
    for (int i = 0; i < front->objectives.count && objectives; i++)
        objectives = ad_report_json_append(
            objectives, json_string(ad_objective_name(front->objectives.list[i])));
    for (int i = 0; i < front->count && plans; i++)
        plans = ad_report_json_append(
            plans, plan_json(&front->plans[i], i + 1, cluster, files ? files[i] : NULL));
    return ad_report_json_print(json_pack("{so so sI sf}", "objectives", objectives, "plans", plans,
                                          "visited", (json_int_t)front->visited, "search_s",
                                          front->seconds),
                                out, err);
}
