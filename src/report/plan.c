/* adaps plan: what was chosen, what it costs, and why. */
#include "base/units.h"
#include "control/recovery.h"
#include "report/figures.h"
#include "report/report.h"
#include "report/stream.h"
#include "report/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* "pi5-a alone would take 20.1 ms: 1.63 times as long" */
static void print_single(const struct adaps_plan *plan, FILE *out)
{
    char time[32], name[64];
    if (plan->single_device < 0) {
        fprintf(out,
                "  best single device   none: no device has the memory for the whole network\n");
        return;
    }
    double ratio = plan->schedule.makespan_ns > 0
                       ? (double)plan->single_ns / (double)plan->schedule.makespan_ns
                       : 1;
    fprintf(out, "  best single device   %s on %s alone: %.2f times the plan's latency\n",
            ad_format_ns((double)plan->single_ns, time, sizeof time),
            ad_text_clean(plan->cluster.devices[plan->single_device].name, name, sizeof name),
            ratio);
}

static void print_bound(const struct adaps_plan *plan, FILE *out)
{
    char time[32];
    if (plan->lower_bound_ns > 0)
        fprintf(out, "  lower bound          %s: no plan at all answers sooner\n",
                ad_format_ns((double)plan->lower_bound_ns, time, sizeof time));
}

/* The part of the latency that is neither computing nor messages, where the source's table knows
 * it. */
static void print_ends(const struct adaps_plan *plan, FILE *out)
{
    const struct ad_device *source = &plan->cluster.devices[plan->cluster.source];
    double feed_s = ad_cost_feed_seconds(plan->graph, source);
    double fetch_s = ad_cost_fetch_seconds(plan->graph, source);
    char feed[32], fetch[32];
    if (feed_s + fetch_s > 0)
        fprintf(out, "  of that at the ends  %s to put inputs in, %s to take outputs out\n",
                ad_format_ns(feed_s * 1e9, feed, sizeof feed),
                ad_format_ns(fetch_s * 1e9, fetch, sizeof fetch));
}

/* 10^14.2; small spaces in full. */
static void print_search(const struct adaps_plan *plan, FILE *out)
{
    char space[32];
    if (plan->space_log10 < 6)
        snprintf(space, sizeof space, "%.0f", pow(10, plan->space_log10));
    else
        snprintf(space, sizeof space, "10^%.1f", plan->space_log10);
    fprintf(out, "  search               %s layouts, %" PRId64 " visited, ", space, plan->visited);
    if (isfinite(plan->search_s))
        fprintf(out, "%.2f s, ", plan->search_s);
    fprintf(out, "threshold %g%s\n", plan->threshold,
            plan->gather_type3 ? ", type 3 gathered" : "");
}

/* Text in lines of at most `width` columns; all but the first begin with `indent` spaces. */
static void print_wrapped(FILE *out, const char *text, size_t indent, size_t width)
{
    size_t column = indent;
    for (bool first = true; *text; first = false) {
        size_t n = strcspn(text, " ");
        if (!first && width > 0 && column + 1 + n > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", (int)n, text);
        column += n;
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_stream(const struct adaps_plan *plan, FILE *out)
{
    char text[AD_STREAM_TEXT];
    if (plan->stream.frames > 1 && plan->stream.interval_ns > 0)
        fprintf(out, "  predicted stream     %s\n", ad_report_stream_text(plan, text));
}

static void print_algorithms(const struct adaps_plan *plan, FILE *out)
{
    int all, winograd;
    ad_figures_convolutions(plan->graph, &all, &winograd);
    if (winograd > 0)
        fprintf(out, "  Winograd             %d of %d convolutions\n", winograd, all);
}

/* "without pi4-b       80.1 ms; in use 0.6 s to 2.1 s after the loss" */
static enum adaps_status print_spares(const struct adaps_plan *plan, FILE *out,
                                      struct adaps_error *err)
{
    for (int i = 0; i < plan->nspares; i++) {
        const struct ad_spare *spare = &plan->spares[i];
        struct ad_recovery_time time;
        char name[64], latency[32], least[32], most[32];
        enum adaps_status status = ad_recovery_of_spare(plan, spare, &time, err);
        if (status != ADAPS_OK)
            return status;
        ad_text_clean(plan->cluster.devices[spare->lost].name, name, sizeof name);
        fprintf(out, "  without %-12s %s predicted; a stream goes on %s to %s after the loss\n",
                name,
                ad_format_ns((double)spare->plan->schedule.makespan_ns, latency, sizeof latency),
                ad_format_ns((double)time.least_ns, least, sizeof least),
                ad_format_ns((double)time.most_ns, most, sizeof most));
    }
    return ADAPS_OK;
}

static void print_energy(const struct ad_energy_figures *energy, FILE *out)
{
    char joules[32];
    if (energy->all_pj >= 0)
        fprintf(out, "  energy               %s per inference\n",
                ad_format_pj((double)energy->all_pj, joules, sizeof joules));
}

/* How many devices compute something in any turn. */
static int devices_used(const struct adaps_plan *plan)
{
    int used = 0;
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        bool computes = false;
        for (int t = 0; t < plan->stream.nturns && !computes; t++)
            computes = ad_plan_turn(plan, t)->programs[d].ntasks > 0;
        used += computes;
    }
    return used;
}

static enum adaps_status print_head(const struct adaps_plan *plan,
                                    const struct ad_energy_figures *energy, FILE *out,
                                    struct adaps_error *err)
{
    char model[256], strategy[64], time[32], bytes[32], note[512];
    const struct ad_schedule *schedule = &plan->schedule;
    fprintf(out, "%s on %d of %d device%s\n",
            ad_text_clean(ad_figures_base_name(plan->model_path), model, sizeof model),
            devices_used(plan), plan->cluster.ndevices, plan->cluster.ndevices == 1 ? "" : "s");
    fprintf(out, "  strategy             %s\n",
            ad_text_clean(plan->strategy, strategy, sizeof strategy));
    fprintf(out, "  predicted latency    %s\n",
            ad_format_ns((double)schedule->makespan_ns, time, sizeof time));
    print_stream(plan, out);
    print_ends(plan, out);
    print_bound(plan, out);
    print_single(plan, out);
    fprintf(out, "  moved per inference  %s in %" PRId64 " message%s\n",
            ad_format_bytes((double)schedule->bytes, bytes, sizeof bytes), schedule->messages,
            schedule->messages == 1 ? "" : "s");
    print_energy(energy, out);
    print_algorithms(plan, out);
    if (ad_plan_lossy(plan))
        fputs("  answer               rounded on the way (below), not that of one device alone\n",
              out);
    print_search(plan, out);
    enum adaps_status status = print_spares(plan, out, err);
    if (plan->note[0]) {
        size_t width = ad_text_width(out);
        fputs("  why                  ", out);
        print_wrapped(out, ad_text_clean(plan->note, note, sizeof note), 23, width ? width : 100);
    }
    fputc('\n', out);
    return status;
}

static const struct ad_column device_columns[] = {
    {"device", false, true},  {"board", false, true},  {"MACs", true, false},
    {"busy", true, false},    {"memory", true, false}, {"of", true, false},
    {"weights", true, false}, {"sends", true, false},  {"receives", true, false},
    {"energy", true, false}, /* of plans of one turn whose energy is known */
};

static bool shows_energy(const struct adaps_plan *plan, const struct ad_energy_figures *energy)
{
    return plan->stream.nturns == 1 && energy->all_pj >= 0;
}

static void device_row(const struct adaps_plan *plan, const struct ad_figures *figures,
                       const struct ad_energy_figures *energy, int d, struct ad_table *table)
{
    const struct ad_device *device = &plan->cluster.devices[d];
    const struct ad_device_figures *own = &figures->devices[d];
    char text[32];
    ad_table_cell(table, "%s%s", device->name, d == plan->cluster.source ? " *" : "");
    ad_table_cell(table, "%s", device->board[0] ? device->board : "-");
    ad_table_cell(table, "%.1f %%", own->share * 100);
    ad_table_cell(table, "%s", ad_format_ns((double)plan->schedule.busy_ns[d], text, sizeof text));
    ad_table_cell(table, "%s",
                  ad_format_bytes((double)plan->schedule.memory[d], text, sizeof text));
    ad_table_cell(table, "%s",
                  device->memory ? ad_format_bytes((double)device->memory, text, sizeof text)
                                 : "-");
    ad_table_cell(table, "%s", ad_format_bytes((double)own->weight_bytes, text, sizeof text));
    ad_table_cell(table, "%s", ad_format_bytes((double)own->sent_bytes, text, sizeof text));
    ad_table_cell(table, "%s", ad_format_bytes((double)own->received_bytes, text, sizeof text));
    if (shows_energy(plan, energy))
        ad_table_cell(table, "%s", ad_format_pj((double)energy->device_pj[d], text, sizeof text));
}

/* What links carry in which encoding, if in any but float32 and u8. */
static enum adaps_status print_links(const struct adaps_plan *plan, FILE *out,
                                     struct adaps_error *err)
{
    static const struct ad_column columns[] = {{"from", false, true},
                                               {"to", false, true},
                                               {"as", false, false},
                                               {"messages", true, false},
                                               {"bytes", true, false}};
    struct ad_link_figures *links;
    struct ad_table table;
    size_t count;
    bool encoded = false;
    char text[32];
    enum adaps_status status = ad_figures_links(plan, &links, &count, err);
    if (status != ADAPS_OK)
        return status;
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        encoded = encoded || links[i].encoding > AD_ENCODING_U8;
        ad_table_cell(&table, "%s", plan->cluster.devices[links[i].from].name);
        ad_table_cell(&table, "%s", plan->cluster.devices[links[i].to].name);
        ad_table_cell(&table, "%s", ad_encoding_name(links[i].encoding));
        ad_table_cell(&table, "%" PRId64, links[i].messages);
        ad_table_cell(&table, "%s", ad_format_bytes((double)links[i].bytes, text, sizeof text));
    }
    if (encoded) {
        fputc('\n', out);
        status = ad_table_print(&table, out, err);
    }
    ad_table_fini(&table);
    ad_free(links);
    return status;
}

/* What the devices do in an inference. */
static enum adaps_status print_devices(const struct adaps_plan *plan,
                                       const struct ad_figures *figures,
                                       const struct ad_energy_figures *energy, FILE *out,
                                       struct adaps_error *err)
{
    struct ad_table table;
    size_t ncolumns = sizeof device_columns / sizeof *device_columns;
    ad_table_init(&table, device_columns, shows_energy(plan, energy) ? ncolumns : ncolumns - 1);
    double shares = 0;
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        device_row(plan, figures, energy, d, &table);
        shares += figures->devices[d].share;
    }
    enum adaps_status status = ad_table_print(&table, out, err);
    ad_table_fini(&table);
    if (status != ADAPS_OK)
        return status;
    fputs("* the source: the input starts and the result ends there\n", out);
    if (shares > 1.0005)
        fprintf(out, "recomputed halos add %.1f %% to the network's MACs\n", (shares - 1) * 100);
    return print_links(plan, out, err);
}

/* "turn 1 of 2, of 3 in 5 inferences, 81.2 ms alone" */
static void print_turn(const struct adaps_plan *plan, int turn, FILE *out)
{
    char time[32];
    int of, share = ad_plan_share(plan, turn, &of);
    fprintf(out, "%sturn %d of %d: %d in %d inferences, each %s alone\n", turn > 0 ? "\n" : "",
            turn + 1, plan->stream.nturns, share, of,
            ad_format_ns((double)ad_plan_turn(plan, turn)->makespan_ns, time, sizeof time));
}

enum adaps_status ad_report_plan(const struct adaps_plan *plan, FILE *out, struct adaps_error *err)
{
    struct ad_energy_figures energy;
    enum adaps_status status = ad_plan_energy(plan, &energy, err);
    for (int t = 0; t < plan->stream.nturns && status == ADAPS_OK; t++) {
        const struct adaps_plan view = ad_plan_view(plan, t);
        struct ad_figures figures;
        status = ad_figures_init(&figures, &view, err);
        if (status != ADAPS_OK)
            return status;
        if (t == 0)
            status = print_head(plan, &energy, out, err);
        if (plan->stream.nturns > 1)
            print_turn(plan, t, out);
        if (status == ADAPS_OK)
            status = print_devices(&view, &figures, &energy, out, err);
        ad_figures_fini(&figures);
    }
    return status == ADAPS_OK ? ad_text_finish(out, err) : status;
}
