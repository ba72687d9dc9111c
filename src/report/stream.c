#include "report/stream.h"
#include "base/units.h"
#include "report/json.h"
#include "report/report.h"
#include "report/text.h"

json_t *ad_report_stream_add(json_t *object, const struct adaps_plan *plan)
{
    const struct ad_stream *stream = &plan->stream;
    bool known = stream->interval_ns > 0;
    json_t *interval = known ? ad_report_json_ms(stream->interval_ns) : json_null();
    json_t *latency = known ? ad_report_json_ms(stream->latency_ns) : json_null();
    json_t *rate = known ? json_real(1e9 / (double)stream->interval_ns) : json_null();
    object = ad_report_json_set(object, "interval_ms", interval);
    object = ad_report_json_set(object, "throughput_per_s", rate);
    object = ad_report_json_set(object, "frames_in_flight", json_integer(stream->frames));
    object = ad_report_json_set(object, "frames_buffered",
                                json_integer(ad_stream_most_buffered(stream, &plan->schedule)));
    return ad_report_json_set(object, "stream_latency_ms", latency);
}

const char *ad_report_stream_text(const struct adaps_plan *plan, char text[AD_STREAM_TEXT])
{
    const struct ad_stream *stream = &plan->stream;
    char apart[32], each[32], buffers[64] = "";
    int buffered = ad_stream_most_buffered(stream, &plan->schedule);
    int all = 0;
    for (int t = 0; t < stream->nturns; t++)
        all = ad_stream_most(stream, t) > all ? ad_stream_most(stream, t) : all;
    if (buffered < all)
        snprintf(buffers, sizeof buffers, ", with buffers for %d on a device", buffered);
    snprintf(text, AD_STREAM_TEXT, "%.4g answers a second, %s apart; %d in flight%s, %s each",
             1e9 / (double)stream->interval_ns,
             ad_format_ns((double)stream->interval_ns, apart, sizeof apart), stream->frames,
             buffers, ad_format_ns((double)stream->latency_ns, each, sizeof each));
    return text;
}

static double part(const struct adaps_plan *plan, int64_t ns)
{
    return plan->stream.interval_ns > 0 ? (double)ns / (double)plan->stream.interval_ns : 0;
}

json_t *ad_report_stream_loads(const struct adaps_plan *plan)
{
    struct ad_loads loads;
    if (ad_stream_loads(plan->graph, &plan->cluster, &plan->schedule, &plan->stream, &loads,
                        NULL) != ADAPS_OK)
        return NULL;
    json_t *list = json_array();
    for (int d = 0; d < plan->cluster.ndevices; d++)
        list = ad_report_json_append(
            list,
            json_pack("{so sf sf sf}", "name", ad_report_json_text(plan->cluster.devices[d].name),
                      "compute", part(plan, loads.device[d]), "sends", part(plan, loads.up[d]),
                      "receives", part(plan, loads.down[d])));
    return list;
}

static enum adaps_status print_loads(const struct adaps_plan *plan, const struct ad_loads *loads,
                                     FILE *out, struct adaps_error *err)
{
    static const struct ad_column columns[] = {{"device", false, true},
                                               {"computes", true, false},
                                               {"sends", true, false},
                                               {"receives", true, false}};
    struct ad_table table;
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        ad_table_cell(&table, "%s", plan->cluster.devices[d].name);
        ad_table_cell(&table, "%.0f %%", 100 * part(plan, loads->device[d]));
        ad_table_cell(&table, "%.0f %%", 100 * part(plan, loads->up[d]));
        ad_table_cell(&table, "%.0f %%", 100 * part(plan, loads->down[d]));
    }
    enum adaps_status status = ad_table_print(&table, out, err);
    ad_table_fini(&table);
    if (status == ADAPS_OK && plan->cluster.shared_medium)
        fprintf(out, "the shared medium is busy for %.0f %% of the time\n",
                100 * part(plan, loads->medium));
    return status;
}

enum adaps_status ad_report_stream(const struct adaps_plan *plan, FILE *out,
                                   struct adaps_error *err)
{
    const struct ad_stream *stream = &plan->stream;
    struct ad_loads loads;
    char text[AD_STREAM_TEXT];
    if (stream->interval_ns <= 0)
        return ADAPS_OK;
    enum adaps_status status =
        ad_stream_loads(plan->graph, &plan->cluster, &plan->schedule, stream, &loads, err);
    if (status != ADAPS_OK)
        return status;
    fprintf(out, "\na stream: %s\n", ad_report_stream_text(plan, text));
    return print_loads(plan, &loads, out, err);
}
