/* What adaps run prints beside the answers: times, bytes, JSON. */
#include "base/units.h"
#include "cli/run_internal.h"
#include "exec/engine/local_run.h"
#include "report/json.h"
#include "report/report.h"
#include "report/text.h"

#include <math.h>
#include <sys/resource.h>

static double mean_ms(const struct ad_runner *r, int64_t ns)
{
    return r->done ? (double)ns / r->done / 1e6 : 0;
}

/* Bytes that a device's program sends. */
static double program_bytes(const struct adaps_plan *plan, const struct ad_program *program)
{
    double bytes = 0;
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        if (step->kind == AD_STEP_SEND)
            bytes += (double)ad_step_bytes(plan->graph, step);
    }
    return bytes;
}

/* What a device does for an inference by the plan, in the mean over its turns. */
static double planned_bytes(const struct adaps_plan *plan, int device)
{
    double bytes = 0;
    for (int t = 0; t < plan->stream.nturns; t++) {
        int of, share = ad_plan_share(plan, t, &of);
        bytes += program_bytes(plan, &ad_plan_turn(plan, t)->programs[device]) * share / of;
    }
    return bytes;
}

static double planned_busy_ns(const struct adaps_plan *plan, int device)
{
    double ns = 0;
    for (int t = 0; t < plan->stream.nturns; t++) {
        int of, share = ad_plan_share(plan, t, &of);
        ns += (double)ad_plan_turn(plan, t)->busy_ns[device] * share / of;
    }
    return ns;
}

/* The p-quantile of the sorted wall times, ms. */
static double percentile(const struct ad_runner *r, double p)
{
    int i = (int)ceil(p * r->done) - 1;
    return r->walls[i < 0 ? 0 : i];
}

/* Answers a second: of a long stream without the first ones, in which it fills. */
static double throughput(const struct ad_runner *r)
{
    bool filled = r->done >= 2 * r->in_flight;
    int64_t ns = r->end_ns - (filled ? r->steady_ns : r->begin_ns);
    int count = r->done - (filled ? r->in_flight : 0);
    return ns > 0 ? count * 1e9 / (double)ns : 0;
}

/* What the plan predicts; 0: nothing. */
static double predicted_throughput(const struct ad_runner *r)
{
    int64_t ns = r->deployment.plan->stream.interval_ns;
    return ns > 0 && !r->options->local ? 1e9 / (double)ns : 0;
}

/* "a, b": the names of devices. */
static const char *names_of(const struct ad_runner *r, const bool *which, char *buf, size_t size)
{
    const struct ad_cluster *cluster = &r->deployment.plan->cluster;
    size_t n = 0;
    *buf = '\0';
    for (int d = 0; d < cluster->ndevices && n < size; d++)
        if (which[d])
            n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "",
                                  cluster->devices[d].name);
    return buf;
}

/* What is said of where the plan came from; and in JSON. */
static const struct {
    const char *after, *key;
} plan_sources[] = {
    [AD_RECOVERY_NEW] = {"", "new"},
    [AD_RECOVERY_SPARE] = {" (spare)", "spare"},
    [AD_RECOVERY_FIRST] = {" (the first)", "first"},
};

static void print_recovery(const struct ad_runner *r, const struct ad_recovery *recovery)
{
    char lost[256], back[256], times[6][32], bytes[32], least[32], most[32];
    names_of(r, recovery->lost, lost, sizeof lost);
    names_of(r, recovery->returned, back, sizeof back);
    fprintf(stderr, "adaps run: inference %lld failed, lost: %s%s%s; recovered in %s ",
            (long long)recovery->inference, *lost ? lost : "no agent",
            *back ? "; used again: " : "", back,
            ad_format_ns((double)recovery->total_ns, times[0], 32));
    fprintf(
        stderr, "(detection %s, plan %s%s, push of %s %s, opening %s, %d inference%s again %s); ",
        ad_format_ns((double)recovery->detect_ns, times[1], 32),
        ad_format_ns((double)recovery->plan_ns, times[2], 32), plan_sources[recovery->plan].after,
        ad_format_bytes((double)recovery->push_bytes, bytes, sizeof bytes),
        ad_format_ns((double)recovery->push_ns, times[3], 32),
        ad_format_ns((double)recovery->open_ns, times[5], 32), recovery->repeated,
        recovery->repeated == 1 ? "" : "s",
        ad_format_ns((double)recovery->repeat_ns, times[4], 32));
    fprintf(stderr, "predicted %s to %s\n",
            ad_format_ns((double)recovery->predicted.least_ns, least, sizeof least),
            ad_format_ns((double)recovery->predicted.most_ns, most, sizeof most));
}

/* Those of the agents, if there are any. */
static const struct ad_recovery *recoveries_of(const struct ad_runner *r, int *count)
{
    *count = 0;
    return r->agents ? ad_failover_recoveries(r->agents, count) : NULL;
}

void ad_run_print_recoveries(struct ad_runner *r)
{
    int count;
    const struct ad_recovery *recoveries = recoveries_of(r, &count);
    for (; r->told < count && recoveries[r->told].done; r->told++)
        if (!r->options->shared.json)
            print_recovery(r, &recoveries[r->told]);
}

static json_t *names_json(const struct ad_runner *r, const bool *which)
{
    const struct ad_cluster *cluster = &r->deployment.plan->cluster;
    json_t *names = json_array();
    for (int d = 0; d < cluster->ndevices; d++)
        if (which[d])
            names = ad_report_json_append(names, ad_report_json_text(cluster->devices[d].name));
    return names;
}

static json_t *recoveries_json(const struct ad_runner *r)
{
    int count;
    const struct ad_recovery *recoveries = recoveries_of(r, &count);
    json_t *array = json_array();
    for (int i = 0; i < count; i++) {
        const struct ad_recovery *one = &recoveries[i];
        json_t *lost = names_json(r, one->lost), *returned = names_json(r, one->returned);
        array = ad_report_json_append(
            array,
            json_pack("{s:o, s:o, s:I, s:f, s:f, s:s, s:f, s:f, s:I, s:f, s:i, s:f, s:f, s:[f,f]}",
                      "lost", lost, "returned", returned, "inference", (json_int_t)one->inference,
                      "detection_ms", (double)one->detect_ns / 1e6, "plan_ms",
                      (double)one->plan_ns / 1e6, "plan", plan_sources[one->plan].key, "push_ms",
                      (double)one->push_ns / 1e6, "open_ms", (double)one->open_ns / 1e6,
                      "push_bytes", (json_int_t)one->push_bytes, "repeat_ms",
                      (double)one->repeat_ns / 1e6, "repeated", one->repeated, "total_ms",
                      (double)one->total_ns / 1e6, "latency_ms", (double)one->latency_ns / 1e6,
                      "predicted_ms", (double)one->predicted.least_ns / 1e6,
                      (double)one->predicted.most_ns / 1e6));
    }
    return array;
}

static enum adaps_status print_devices(const struct ad_runner *r, struct adaps_error *err)
{
    static const struct ad_column columns[] = {
        {"device", false, true},  {"compute predicted", true, false}, {"measured", true, false},
        {"waiting", true, false}, {"sent predicted", true, false},    {"sent", true, false},
    };
    const struct adaps_plan *plan = r->deployment.plan;
    struct ad_table table;
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        char buf[5][32];
        if (!ad_deployment_works(plan, d))
            continue;
        ad_table_cell(&table, "%s", plan->cluster.devices[d].name);
        ad_table_cell(&table, "%s", ad_format_ns(planned_busy_ns(plan, d), buf[0], 32));
        ad_table_cell(&table, "%s",
                      ad_format_ns((double)r->sum[d].compute_ns / r->done, buf[1], 32));
        ad_table_cell(&table, "%s", ad_format_ns((double)r->sum[d].wait_ns / r->done, buf[2], 32));
        ad_table_cell(&table, "%s", ad_format_bytes(planned_bytes(plan, d), buf[3], 32));
        ad_table_cell(&table, "%s",
                      ad_format_bytes((double)r->sum[d].bytes_sent / r->done, buf[4], 32));
    }
    enum adaps_status status = ad_table_print(&table, stderr, err);
    ad_table_fini(&table);
    return status;
}

static void print_stream(const struct ad_runner *r)
{
    if (r->done < 2)
        return;
    double predicted = predicted_throughput(r);
    char as_predicted[48] = "";
    if (predicted > 0)
        snprintf(as_predicted, sizeof as_predicted, " (predicted %.4g)", predicted);
    fprintf(stderr,
            "stream: %.4g inferences/s%s, %d in flight; from input to answer: median %.4g ms, ",
            throughput(r), as_predicted, r->options->local ? 1 : r->in_flight, percentile(r, 0.5));
    fprintf(stderr, "90 %% %.4g ms, 99 %% %.4g ms, longest %.4g ms\n", percentile(r, 0.9),
            percentile(r, 0.99), percentile(r, 1));
}

enum adaps_status ad_run_print_times(const struct ad_runner *r, struct adaps_error *err)
{
    char measured[32], predicted[32], wall[32], bytes[32], of[48] = "";
    ad_format_ns((double)r->latency_ns / r->done, measured, sizeof measured);
    if (r->done > 1)
        snprintf(of, sizeof of, ", mean of %d inferences", r->done);
    if (r->options->local) {
        fprintf(stderr, "latency: measured %s in this process%s\n", measured, of);
        print_stream(r);
        return ADAPS_OK;
    }
    enum adaps_status status = print_devices(r, err);
    double sent = 0, messages = 0;
    for (int d = 0; d < r->deployment.plan->cluster.ndevices; d++) {
        sent += (double)r->sum[d].bytes_sent / r->done;
        messages += (double)r->sum[d].messages_sent / r->done;
    }
    fprintf(
        stderr, "latency: predicted %s, measured %s (%s with the way here and back)%s\n",
        ad_format_ns((double)r->deployment.plan->schedule.makespan_ns, predicted, sizeof predicted),
        measured, ad_format_ns((double)r->wall_ns / r->done, wall, sizeof wall), of);
    fprintf(stderr, "exchanged per inference: %s in %.0f messages\n",
            ad_format_bytes(sent, bytes, sizeof bytes), messages);
    print_stream(r);
    return status;
}

enum adaps_status ad_run_print_trace(const void *self, FILE *out, struct adaps_error *err)
{
    const struct ad_runner *r = self;
    return ad_report_measured_trace(r->local ? ad_local_run_plan(r->local) : r->deployment.plan,
                                    &r->trace, out, err);
}

/* Of this process: with --local, what the network takes. */
static json_int_t peak_memory(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (json_int_t)usage.ru_maxrss * 1024 : 0;
}

int ad_run_print_json(const struct ad_runner *r)
{
    const struct adaps_plan *plan = r->deployment.plan;
    json_t *devices = json_array();
    for (int d = 0; !r->options->local && d < plan->cluster.ndevices; d++)
        devices = ad_report_json_append(
            devices,
            json_pack("{s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "name",
                      ad_report_json_text(plan->cluster.devices[d].name), "predicted_compute_ms",
                      planned_busy_ns(plan, d) / 1e6, "compute_ms",
                      mean_ms(r, r->sum[d].compute_ns), "wait_ms", mean_ms(r, r->sum[d].wait_ns),
                      "total_ms", mean_ms(r, r->sum[d].total_ns), "predicted_bytes",
                      planned_bytes(plan, d), "bytes", (double)r->sum[d].bytes_sent / r->done,
                      "messages", (double)r->sum[d].messages_sent / r->done));
    json_t *root = json_pack(
        "{s:f, s:f, s:f, s:f, s:o, s:i, s:{s:f, s:f, s:f, s:f}, s:I, s:b, s:o, s:o, s:o, s:o, s:O}",
        "predicted_ms", (double)plan->schedule.makespan_ns / 1e6, "latency_ms",
        mean_ms(r, r->latency_ns), "wall_ms", mean_ms(r, r->wall_ns), "throughput_per_s",
        throughput(r), "predicted_throughput_per_s",
        predicted_throughput(r) > 0 ? json_real(predicted_throughput(r)) : json_null(), "in_flight",
        r->options->local ? 1 : r->in_flight, "wall_percentiles_ms", "p50", percentile(r, 0.5),
        "p90", percentile(r, 0.9), "p99", percentile(r, 0.99), "max", percentile(r, 1),
        "peak_memory_bytes", peak_memory(), "lossy", ad_plan_lossy(plan), "error",
        ad_report_json_number(r->error), "devices", devices, "recoveries", recoveries_json(r),
        "adaptations", ad_run_adaptations_json(r), "runs", r->runs);
    return ad_cli_print_json(&ad_command_run, root);
}
