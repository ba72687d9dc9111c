/* adaps simulate: who is busy, who waits, and for what. */
#include "report/simulation.h"
#include "base/units.h"
#include "report/figures.h"
#include "report/json.h"
#include "report/report.h"
#include "report/stream.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdlib.h>

#define SHOWN_STEPS 12 /* of the critical path; the JSON has all */

/* Of the makespan, in percent. */
static double percent(const struct adaps_plan *plan, int64_t ns)
{
    int64_t all = plan->schedule.makespan_ns;
    return all > 0 ? 100 * (double)ns / (double)all : 0;
}

/* Neither computing nor waiting for data: before its first step, after its last, copying. */
static int64_t idle_ns(const struct adaps_plan *plan, const struct ad_figures *figures, int d)
{
    int64_t idle =
        plan->schedule.makespan_ns - plan->schedule.busy_ns[d] - figures->devices[d].wait_ns;
    return idle > 0 ? idle : 0;
}

static enum adaps_status print_devices(const struct adaps_plan *plan,
                                       const struct ad_figures *figures,
                                       const struct ad_energy_figures *energy, FILE *out,
                                       struct adaps_error *err)
{
    static const struct ad_column columns[] = {
        {"device", false, true},  {"busy", true, false},   {"%", true, false},
        {"waiting", true, false}, {"%", true, false},      {"idle", true, false},
        {"%", true, false},       {"energy", true, false}, /* where that is known */
    };
    struct ad_table table;
    size_t ncolumns = sizeof columns / sizeof *columns;
    ad_table_init(&table, columns, energy->all_pj >= 0 ? ncolumns : ncolumns - 1);
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        const int64_t times[] = {plan->schedule.busy_ns[d], figures->devices[d].wait_ns,
                                 idle_ns(plan, figures, d)};
        ad_table_cell(&table, "%s", plan->cluster.devices[d].name);
        for (int i = 0; i < 3; i++) {
            char text[32];
            ad_table_cell(&table, "%s", ad_format_ns((double)times[i], text, sizeof text));
            ad_table_cell(&table, "%.1f", percent(plan, times[i]));
        }
        if (energy->all_pj >= 0) {
            char joules[32];
            ad_table_cell(&table, "%s",
                          ad_format_pj((double)energy->device_pj[d], joules, sizeof joules));
        }
    }
    enum adaps_status status = ad_table_print(&table, out, err);
    ad_table_fini(&table);
    return status;
}

static enum adaps_status print_links(const struct adaps_plan *plan,
                                     const struct ad_simulation *simulation, FILE *out,
                                     struct adaps_error *err)
{
    static const struct ad_column columns[] = {
        {"from", false, true},  {"to", false, true},       {"bandwidth", true, false},
        {"bytes", true, false}, {"messages", true, false}, {"busy", true, false},
        {"%", true, false},
    };
    struct ad_table table;
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < simulation->nlinks; i++) {
        const struct ad_link_use *use = &simulation->links[i];
        const struct ad_link *link =
            &plan->cluster.links[use->from * plan->cluster.ndevices + use->to];
        char text[32];
        ad_table_cell(&table, "%s", plan->cluster.devices[use->from].name);
        ad_table_cell(&table, "%s", plan->cluster.devices[use->to].name);
        ad_table_cell(&table, "%s", ad_format_rate(link->bandwidth, text, sizeof text));
        ad_table_cell(&table, "%s", ad_format_bytes((double)use->bytes, text, sizeof text));
        ad_table_cell(&table, "%" PRId64, use->messages);
        ad_table_cell(&table, "%s", ad_format_ns((double)use->busy_ns, text, sizeof text));
        ad_table_cell(&table, "%.1f", percent(plan, use->busy_ns));
    }
    enum adaps_status status = ad_table_print(&table, out, err);
    ad_table_fini(&table);
    return status;
}

static int compare_durations(const void *a, const void *b)
{
    const struct ad_critical *x = a, *y = b;
    int64_t p = x->end_ns - x->start_ns, q = y->end_ns - y->start_ns;
    if (p != q)
        return p < q ? 1 : -1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int compare_starts(const void *a, const void *b)
{
    const struct ad_critical *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* The longest steps of the critical path, in time order. Reorders the path. */
static enum adaps_status print_path(const struct adaps_plan *plan, struct ad_simulation *simulation,
                                    FILE *out, struct adaps_error *err)
{
    static const struct ad_column columns[] = {
        {"at", true, false},
        {"for", true, false},
        {"device", false, true},
        {"step", false, true},
    };
    size_t shown = simulation->npath < SHOWN_STEPS ? simulation->npath : SHOWN_STEPS;
    if (simulation->npath > 0) {
        qsort(simulation->path, simulation->npath, sizeof *simulation->path, compare_durations);
        qsort(simulation->path, shown, sizeof *simulation->path, compare_starts);
    }
    struct ad_table table;
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++) {
        const struct ad_critical *c = &simulation->path[i];
        char text[512];
        ad_table_cell(&table, "%s", ad_format_ns((double)c->start_ns, text, sizeof text));
        ad_table_cell(&table, "%s",
                      ad_format_ns((double)(c->end_ns - c->start_ns), text, sizeof text));
        ad_table_cell(&table, "%s", plan->cluster.devices[c->device].name);
        ad_table_cell(&table, "%s", ad_report_step(plan, c->device, c->step, text, sizeof text));
    }
    enum adaps_status status = ad_table_print(&table, out, err);
    ad_table_fini(&table);
    if (status == ADAPS_OK && shown < simulation->npath)
        fprintf(out, "and %zu shorter ones\n", simulation->npath - shown);
    return status;
}

static enum adaps_status init_all(const struct adaps_plan *plan, struct ad_figures *figures,
                                  struct ad_energy_figures *energy,
                                  struct ad_simulation *simulation, struct adaps_error *err)
{
    enum adaps_status status = ad_plan_energy(plan, energy, err);
    if (status == ADAPS_OK)
        status = ad_figures_init(figures, plan, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_simulation_init(simulation, plan, err);
    if (status != ADAPS_OK)
        ad_figures_fini(figures);
    return status;
}

enum adaps_status ad_report_simulation(const struct adaps_plan *plan, FILE *out,
                                       struct adaps_error *err)
{
    struct ad_figures figures;
    struct ad_energy_figures energy;
    struct ad_simulation simulation;
    enum adaps_status status = init_all(plan, &figures, &energy, &simulation, err);
    if (status != ADAPS_OK)
        return status;
    char total[32], compute[32], transfer[32], joules[32];
    fprintf(out, "latency %s by the simulated clocks\n",
            ad_format_ns((double)plan->schedule.makespan_ns, total, sizeof total));
    if (energy.all_pj >= 0)
        fprintf(out, "energy %s per inference\n",
                ad_format_pj((double)energy.all_pj, joules, sizeof joules));
    fputc('\n', out);
    status = print_devices(plan, &figures, &energy, out, err);
    if (status == ADAPS_OK && simulation.nlinks > 0) {
        fputc('\n', out);
        status = print_links(plan, &simulation, out, err);
    }
    if (status == ADAPS_OK) {
        fprintf(out, "\ncritical path: %s of computing and %s of transfers\n",
                ad_format_ns((double)simulation.compute_ns, compute, sizeof compute),
                ad_format_ns((double)simulation.transfer_ns, transfer, sizeof transfer));
        status = print_path(plan, &simulation, out, err);
    }
    if (status == ADAPS_OK)
        status = ad_report_stream(plan, out, err);
    ad_simulation_fini(&simulation);
    ad_figures_fini(&figures);
    return status == ADAPS_OK ? ad_text_finish(out, err) : status;
}

static json_t *devices_json(const struct adaps_plan *plan, const struct ad_figures *figures,
                            const struct ad_energy_figures *energy)
{
    json_t *list = json_array();
    for (int d = 0; d < plan->cluster.ndevices; d++)
        list = ad_report_json_append(
            list, json_pack("{so so so so so}", "name",
                            ad_report_json_text(plan->cluster.devices[d].name), "busy_ms",
                            ad_report_json_ms(plan->schedule.busy_ns[d]), "wait_ms",
                            ad_report_json_ms(figures->devices[d].wait_ns), "idle_ms",
                            ad_report_json_ms(idle_ns(plan, figures, d)), "energy_j",
                            ad_report_json_joules(energy->device_pj[d])));
    return list;
}

static json_t *links_json(const struct adaps_plan *plan, const struct ad_simulation *simulation)
{
    json_t *list = json_array();
    for (size_t i = 0; i < simulation->nlinks; i++) {
        const struct ad_link_use *use = &simulation->links[i];
        list = ad_report_json_append(
            list, json_pack("{so so sI sI so}", "from",
                            ad_report_json_text(plan->cluster.devices[use->from].name), "to",
                            ad_report_json_text(plan->cluster.devices[use->to].name), "bytes",
                            (json_int_t)use->bytes, "messages", (json_int_t)use->messages,
                            "busy_ms", ad_report_json_ms(use->busy_ns)));
    }
    return list;
}

static json_t *path_json(const struct adaps_plan *plan, const struct ad_simulation *simulation)
{
    json_t *list = json_array();
    for (size_t i = 0; i < simulation->npath; i++) {
        const struct ad_critical *c = &simulation->path[i];
        char text[512];
        list = ad_report_json_append(
            list, json_pack("{so si so so ss}", "device",
                            ad_report_json_text(plan->cluster.devices[c->device].name), "step",
                            c->step, "start_ms", ad_report_json_ms(c->start_ns), "end_ms",
                            ad_report_json_ms(c->end_ns), "what",
                            ad_report_step(plan, c->device, c->step, text, sizeof text)));
    }
    return list;
}

enum adaps_status ad_report_simulation_json(const struct adaps_plan *plan, FILE *out,
                                            struct adaps_error *err)
{
    struct ad_figures figures;
    struct ad_energy_figures energy;
    struct ad_simulation simulation;
    enum adaps_status status = init_all(plan, &figures, &energy, &simulation, err);
    if (status != ADAPS_OK)
        return status;
    json_t *root = json_pack(
        "{so so so so so so so}", "predicted_ms", ad_report_json_ms(plan->schedule.makespan_ns),
        "energy_j", ad_report_json_joules(energy.all_pj), "critical_compute_ms",
        ad_report_json_ms(simulation.compute_ns), "critical_transfer_ms",
        ad_report_json_ms(simulation.transfer_ns), "devices", devices_json(plan, &figures, &energy),
        "links", links_json(plan, &simulation), "critical", path_json(plan, &simulation));
    ad_simulation_fini(&simulation);
    ad_figures_fini(&figures);
    root = ad_report_stream_add(root, plan);
    root = ad_report_json_set(root, "stream_loads", ad_report_stream_loads(plan));
    return ad_report_json_print(root, out, err);
}
