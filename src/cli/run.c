/* adaps run: inferences on the agents, or in this process alone. */
#include "base/clock.h"
#include "base/stats.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/deployment.h"
#include "report/json.h"
#include "io/tensor_io.h"
#include "model_weights.h"
#include "report/report.h"
#include "report/text.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>

/* One being computed, one begun by devices that are done with it, one on its way. */
#define DEFAULT_IN_FLIGHT 3

struct run_options {
    struct ad_run_options shared;
    const char *plan, *output;
    const char *trace; /* file, or NULL */
    char **inputs;
    int ninputs, threads;
    int in_flight; /* inferences at a time, on agents */
    bool local, resize;
};

/* One command's work. */
struct runner {
    const struct run_options *options;
    struct ad_deployment deployment;
    const struct ad_graph *graph;
    struct ad_local_run *local; /* --local */
    struct ad_session *session; /* otherwise; opened when the first input has been read */
    struct ad_answer_names names;
    struct ad_tensor *inputs, *outputs;  /* of the current inference */
    struct ad_device_stats *stats, *sum; /* by device: the latest, and added up */
    int64_t latency_ns, wall_ns;         /* added up */
    double *walls;                       /* by inference, ms */
    int64_t begin_ns, end_ns;            /* of all inferences */
    struct ad_trace trace;               /* of the last inference */
    struct ad_tensor *first;             /* of a lossy plan: the first answer */
    double error;                        /* and how far it is from the exact one; NAN: not known */
    int ninferences, done;
    json_t *runs;
};

static double mean_ms(const struct runner *r, int64_t ns)
{
    return r->done ? (double)ns / r->done / 1e6 : 0;
}

/* Bytes that a device's program sends, by the plan. */
static double planned_bytes(const struct adaps_plan *plan, int device)
{
    const struct ad_program *program = &plan->schedule.programs[device];
    double bytes = 0;
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        if (step->kind == AD_STEP_SEND)
            bytes += (double)ad_step_bytes(plan->graph, step);
    }
    return bytes;
}

static enum adaps_status open_names(struct runner *r, struct adaps_error *err)
{
    if (!r->options->output)
        return ADAPS_OK;
    enum adaps_status status =
        ad_answer_names_init(&r->names, r->options->output, r->ninferences, err);
    for (int i = 0; status == ADAPS_OK && i < r->ninferences; i++)
        for (int k = 0; status == ADAPS_OK && k < r->graph->noutputs; k++) {
            char *name = ad_answer_name(&r->names, r->graph, i,
                                        r->options->inputs[i * r->graph->ninputs], k);
            status = name ? ad_tensor_io_check_save(r->graph, k, name, err)
                          : ad_error_memory(err, "file name", 0);
            ad_free(name);
        }
    return status;
}

static enum adaps_status init(struct runner *r, const struct run_options *options,
                              struct adaps_error *err)
{
    memset(r, 0, sizeof *r);
    r->options = options;
    enum adaps_status status =
        ad_deployment_init(&r->deployment, options->plan, &options->shared, err);
    if (status != ADAPS_OK)
        return status;
    r->graph = r->deployment.plan->graph;
    if (options->ninputs % r->graph->ninputs != 0)
        return ad_error_set(err, ADAPS_EUSAGE,
                            "the network has %d inputs: %d files are not a multiple of that",
                            r->graph->ninputs, options->ninputs);
    r->ninferences = options->ninputs / r->graph->ninputs;
    size_t ndevices = (size_t)r->deployment.plan->cluster.ndevices;
    r->inputs = ad_calloc((size_t)r->graph->ninputs, sizeof *r->inputs);
    r->outputs = ad_calloc((size_t)r->graph->noutputs, sizeof *r->outputs);
    r->stats = ad_calloc(ndevices, sizeof *r->stats);
    r->sum = ad_calloc(ndevices, sizeof *r->sum);
    r->walls = ad_calloc((size_t)r->ninferences, sizeof *r->walls);
    r->runs = options->shared.json ? json_array() : NULL;
    r->error = NAN;
    if (!options->local && ad_plan_lossy(r->deployment.plan)) {
        r->first = ad_calloc((size_t)r->graph->noutputs, sizeof *r->first);
        if (!r->first)
            return ad_error_memory(err, "run", (size_t)r->graph->noutputs);
    }
    if (!r->inputs || !r->outputs || !r->stats || !r->sum || !r->walls)
        return ad_error_memory(err, "run", ndevices);
    return open_names(r, err);
}

static void clear_inputs(struct runner *r)
{
    for (int i = 0; r->inputs && i < r->graph->ninputs; i++)
        ad_tensor_fini(&r->inputs[i]);
}

static void clear_tensors(struct runner *r)
{
    clear_inputs(r);
    for (int i = 0; r->outputs && i < r->graph->noutputs; i++)
        ad_tensor_fini(&r->outputs[i]);
}

static void fini(struct runner *r)
{
    if (r->session)
        ad_session_close(r->session);
    clear_tensors(r);
    for (int i = 0; r->first && i < r->graph->noutputs; i++)
        ad_tensor_fini(&r->first[i]);
    ad_free(r->first);
    ad_local_run_free(r->local);
    ad_free(r->inputs);
    ad_free(r->outputs);
    ad_free(r->stats);
    ad_free(r->sum);
    ad_free(r->walls);
    ad_trace_fini(&r->trace);
    json_decref(r->runs);
    ad_deployment_fini(&r->deployment);
}

/* Makes ready, once, what the inferences run on. */
static enum adaps_status open_place(struct runner *r, struct adaps_error *err)
{
    const struct run_options *o = r->options;
    if (o->local)
        return r->local ? ADAPS_OK
                        : ad_model_local_run(r->deployment.plan, o->shared.model, o->threads,
                                             &r->local, err);
    if (r->session)
        return ADAPS_OK;
    enum adaps_status status = ad_deployment_push(&r->deployment, err);
    if (status == ADAPS_OK)
        status = ad_session_open(r->deployment.plan, &r->deployment.session, &r->session, err);
    return status;
}

static bool traced(const struct runner *r, int inference)
{
    return r->options->trace && inference + 1 == r->ninferences;
}

/* Whether an inference may be in flight with others. A traced one runs alone. */
static bool streams(const struct runner *r, int inference)
{
    return !r->options->local && !traced(r, inference);
}

/* The answer and its times: of the oldest in flight, or of one that runs now. */
static enum adaps_status take_answer(struct runner *r, int inference, struct ad_run_stats *stats,
                                     struct adaps_error *err)
{
    if (streams(r, inference))
        return ad_session_finish(r->session, r->outputs, stats, err);
    enum adaps_status status = ADAPS_OK;
    if (r->options->local) {
        int64_t start, end;
        status = ad_local_run_infer(r->local, r->inputs, r->outputs, err);
        ad_local_run_times(r->local, &start, &end);
        stats->latency_ns = stats->wall_ns = end - start;
        if (status == ADAPS_OK && traced(r, inference))
            status = ad_trace_of_local_run(r->local, &r->trace, err);
        return status;
    }
    status = ad_trace_init(&r->trace, r->deployment.plan, err);
    stats->trace = &r->trace;
    return status == ADAPS_OK ? ad_session_run(r->session, r->inputs, r->outputs, stats, err)
                              : status;
}

static void add_up(struct runner *r, const struct ad_run_stats *stats)
{
    r->end_ns = ad_clock_ns();
    r->latency_ns += stats->latency_ns;
    r->wall_ns += stats->wall_ns;
    r->walls[r->done++] = (double)stats->wall_ns / 1e6;
    for (int d = 0; d < r->deployment.plan->cluster.ndevices; d++) {
        r->sum[d].compute_ns += r->stats[d].compute_ns;
        r->sum[d].wait_ns += r->stats[d].wait_ns;
        r->sum[d].total_ns += r->stats[d].total_ns;
        r->sum[d].bytes_sent += r->stats[d].bytes_sent;
        r->sum[d].messages_sent += r->stats[d].messages_sent;
    }
}

/* Writes the files, or prints; keeps what --json will say. */
static enum adaps_status deliver(struct runner *r, int inference, char **files, int64_t latency_ns,
                                 struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    json_t *outputs = r->options->shared.json ? json_array() : NULL;
    if (!r->options->output && !outputs && r->ninferences > 1) {
        char clean[256];
        printf("%s\n", ad_text_clean(files[0], clean, sizeof clean));
    }
    for (int k = 0; status == ADAPS_OK && k < r->graph->noutputs; k++) {
        json_t *answer = outputs ? ad_answer_json(r->graph, k, &r->outputs[k]) : NULL;
        if (r->options->output) {
            char *name = ad_answer_name(&r->names, r->graph, inference, files[0], k);
            status = name ? ad_tensor_io_save(r->graph, k, name, &r->outputs[k], err)
                          : ad_error_memory(err, "file name", 0);
            if (answer && name)
                json_object_set_new(answer, "file", ad_report_json_text(name));
            ad_free(name);
        } else if (!outputs) {
            ad_answer_print(r->graph, k, &r->outputs[k], stdout);
        }
        if (r->options->shared.json)
            outputs = ad_report_json_append(outputs, answer);
    }
    fflush(stdout); /* a stream's reader wants each answer when it is there */
    if (!r->options->shared.json)
        return status;
    json_t *inputs = json_array();
    for (int i = 0; i < r->graph->ninputs; i++)
        inputs = ad_report_json_append(inputs, ad_report_json_text(files[i]));
    r->runs =
        ad_report_json_append(r->runs, json_pack("{s:o, s:f, s:o}", "inputs", inputs, "latency_ms",
                                                 (double)latency_ns / 1e6, "outputs", outputs));
    return status;
}

static char **files_of(const struct runner *r, int inference)
{
    return r->options->inputs + (size_t)inference * (size_t)r->graph->ninputs;
}

static enum adaps_status load(struct runner *r, int inference, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; status == ADAPS_OK && i < r->graph->ninputs; i++)
        status = ad_tensor_io_load(r->graph, i, files_of(r, inference)[i], r->options->resize,
                                   &r->inputs[i], err);
    return status;
}

/* Reads the inputs of an inference, and sends them. */
static enum adaps_status begin(struct runner *r, int inference, struct adaps_error *err)
{
    enum adaps_status status = load(r, inference, err);
    if (status == ADAPS_OK)
        status = open_place(r, err);
    if (inference == 0)
        r->begin_ns = ad_clock_ns();
    if (status == ADAPS_OK && streams(r, inference)) {
        status = ad_session_begin(r->session, r->inputs, err);
        clear_inputs(r);
    }
    return status;
}

static enum adaps_status finish(struct runner *r, int inference, struct adaps_error *err)
{
    struct ad_run_stats stats = {.devices = r->stats};
    enum adaps_status status = take_answer(r, inference, &stats, err);
    if (status == ADAPS_OK) {
        add_up(r, &stats);
        status = deliver(r, inference, files_of(r, inference), stats.latency_ns, err);
        for (int i = 0; i < r->graph->noutputs && r->first && inference == 0; i++) {
            r->first[i] = r->outputs[i];
            r->outputs[i] = (struct ad_tensor){0};
        }
    }
    clear_tensors(r);
    return status;
}

/* Runs all inferences in the order of their inputs, several in flight. When one cannot begin, those
 * before it still deliver their answers. */
static enum adaps_status infer_all(struct runner *r, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK, begun = ADAPS_OK;
    struct adaps_error why = {0};
    int next = 0;
    for (int i = 0; status == ADAPS_OK && i < r->ninferences; i++) {
        while (begun == ADAPS_OK && next < r->ninferences &&
               (next == i || (next - i < r->options->in_flight && streams(r, next))))
            begun = begin(r, next++, &why);
        if (begun != ADAPS_OK && i + 1 == next) { /* the one that could not begin */
            *err = why;
            return begun;
        }
        status = finish(r, i, err);
    }
    return status;
}

/* The first answer of a lossy plan against the exact one, of one device in this process: the
 * largest difference as a part of the output's range. */
static enum adaps_status find_error(struct runner *r, struct adaps_error *err)
{
    enum adaps_status status =
        ad_model_local_run(r->deployment.plan, r->options->shared.model, 0, &r->local, err);
    if (status == ADAPS_OK)
        status = load(r, 0, err);
    if (status == ADAPS_OK)
        status = ad_local_run_infer(r->local, r->inputs, r->outputs, err);
    for (int i = 0; status == ADAPS_OK && i < r->graph->noutputs; i++) {
        const struct ad_tensor *exact = &r->outputs[i];
        struct ad_difference d = ad_tensor_compare(exact->data, r->first[i].data, exact->count);
        double error = ad_tensor_error(d.max_abs_diff, ad_tensor_range(exact->data, exact->count));
        r->error = fmax(r->error, error); /* NAN at first */
    }
    clear_tensors(r);
    return status;
}

/* Prints that error. That it is not known, as when the model is gone, does not fail the run: the
 * answers are there. */
static void tell_error(struct runner *r)
{
    struct adaps_error why = {0};
    enum adaps_status status = find_error(r, &why);
    if (r->options->shared.json)
        return;
    if (status == ADAPS_OK)
        fprintf(stderr, "error: %.3g %% of the output's range, by rounded messages%s\n",
                r->error * 100, r->done > 1 ? " (of the first answer)" : "");
    else
        fprintf(stderr, "error by rounded messages: not known: %s\n", why.message);
}

/* The p-quantile of the sorted wall times, ms. */
static double percentile(const struct runner *r, double p)
{
    int i = (int)ceil(p * r->done) - 1;
    return r->walls[i < 0 ? 0 : i];
}

static double throughput(const struct runner *r)
{
    return r->end_ns > r->begin_ns ? r->done * 1e9 / (double)(r->end_ns - r->begin_ns) : 0;
}

static enum adaps_status print_devices(const struct runner *r, struct adaps_error *err)
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
        ad_table_cell(&table, "%s", ad_format_ns((double)plan->schedule.busy_ns[d], buf[0], 32));
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

static void print_stream(const struct runner *r)
{
    if (r->done < 2)
        return;
    fprintf(stderr,
            "stream: %.4g inferences/s, %d in flight; from input to answer: median %.4g ms, ",
            throughput(r), r->options->local ? 1 : r->options->in_flight, percentile(r, 0.5));
    fprintf(stderr, "90 %% %.4g ms, 99 %% %.4g ms, longest %.4g ms\n", percentile(r, 0.9),
            percentile(r, 0.99), percentile(r, 1));
}

/* Prints the times, on stderr: stdout has the answers only. */
static enum adaps_status print_times(const struct runner *r, struct adaps_error *err)
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

static enum adaps_status print_trace(const void *self, FILE *out, struct adaps_error *err)
{
    const struct runner *r = self;
    return ad_report_measured_trace(r->local ? ad_local_run_plan(r->local) : r->deployment.plan,
                                    &r->trace, out, err);
}

/* Of this process: with --local, what the network takes. */
static json_int_t peak_memory(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (json_int_t)usage.ru_maxrss * 1024 : 0;
}

static int print_json(struct runner *r)
{
    const struct adaps_plan *plan = r->deployment.plan;
    json_t *devices = json_array();
    for (int d = 0; !r->options->local && d < plan->cluster.ndevices; d++)
        devices = ad_report_json_append(
            devices,
            json_pack("{s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "name",
                      ad_report_json_text(plan->cluster.devices[d].name), "predicted_compute_ms",
                      (double)plan->schedule.busy_ns[d] / 1e6, "compute_ms",
                      mean_ms(r, r->sum[d].compute_ns), "wait_ms", mean_ms(r, r->sum[d].wait_ns),
                      "total_ms", mean_ms(r, r->sum[d].total_ns), "predicted_bytes",
                      planned_bytes(plan, d), "bytes", (double)r->sum[d].bytes_sent / r->done,
                      "messages", (double)r->sum[d].messages_sent / r->done));
    json_t *root = json_pack(
        "{s:f, s:f, s:f, s:f, s:{s:f, s:f, s:f, s:f}, s:I, s:b, s:o, s:o, s:O}", "predicted_ms",
        (double)plan->schedule.makespan_ns / 1e6, "latency_ms", mean_ms(r, r->latency_ns),
        "wall_ms", mean_ms(r, r->wall_ns), "throughput_per_s", throughput(r), "wall_percentiles_ms",
        "p50", percentile(r, 0.5), "p90", percentile(r, 0.9), "p99", percentile(r, 0.99), "max",
        percentile(r, 1), "peak_memory_bytes", peak_memory(), "lossy", ad_plan_lossy(plan), "error",
        ad_report_json_number(r->error), "devices", devices, "runs", r->runs);
    return ad_cli_print_json(&ad_command_run, root);
}

/* As ad_cli_fail(), but what the options got wrong says so as usage errors do. */
static int fail(const struct adaps_error *err)
{
    return err->status == ADAPS_EUSAGE ? ad_cli_usage(&ad_command_run, "%s", err->message)
                                       : ad_cli_fail(&ad_command_run, err);
}

static int run_all(const struct run_options *options)
{
    struct runner runner;
    struct adaps_error err = {0};
    enum adaps_status status = init(&runner, options, &err);
    if (status == ADAPS_OK)
        status = infer_all(&runner, &err);
    ad_stats_sort(runner.walls, (size_t)runner.done);
    if (status == ADAPS_OK && options->trace)
        status = ad_cli_write_file(options->trace, print_trace, &runner, &err);
    if (status == ADAPS_OK && !options->shared.json)
        status = print_times(&runner, &err);
    if (status == ADAPS_OK && runner.first)
        tell_error(&runner);
    int code;
    if (status != ADAPS_OK)
        code = fail(&err);
    else
        code = options->shared.json ? print_json(&runner) : ad_cli_close_stdout(&ad_command_run);
    fini(&runner);
    return code;
}

static int run_run(int argc, char **argv)
{
    struct run_options options = {.in_flight = DEFAULT_IN_FLIGHT};
    struct ad_operands operands;
    int code = ad_options_parse(&ad_command_run, argc, argv, &options, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count < 2)
        return ad_cli_usage(&ad_command_run, "PLAN and at least one INPUT expected");
    if (options.threads && !options.local)
        return ad_cli_usage(&ad_command_run, "--threads goes with --local; agents have their own");
    if (options.local && options.shared.devices)
        return ad_cli_usage(&ad_command_run, "--devices and --local exclude each other");
    if (options.trace && strcmp(options.trace, "-") == 0)
        return ad_cli_usage(&ad_command_run, "--trace -: the name of a file expected; the answers "
                                             "are on the standard output");
    options.plan = operands.items[0];
    options.inputs = operands.items + 1;
    options.ninputs = operands.count - 1;
    return run_all(&options);
}

static const struct ad_option options_table[] = {
    AD_OPT_TEXT('o', "output", "FILE", struct run_options, output,
                "write the answer here (.png .jpg .jpeg .bmp .ppm .pgm .npy .pb);\n"
                "for several inputs a folder, or a name with %d in it"),
    AD_OPT_FLAG(0, "local", struct run_options, local,
                "run in this process, on one device, without agents"),
    AD_OPT_INT("threads", "N", struct run_options, threads, 1, 64, "compute threads of --local"),
    AD_OPT_INT("in-flight", "N", struct run_options, in_flight, 1, AD_FLIGHTS_MOST,
               "inferences of a stream at a time, 1 to 8 (default: 3)"),
    AD_OPT_FLAG(0, "resize", struct run_options, resize,
                "scale pictures to the size that the network takes"),
    AD_OPT_TEXT(0, "trace", "FILE", struct run_options, trace,
                "write the measured times of the last inference's steps, as a\n"
                "Chrome trace (Perfetto)"),
    AD_OPT_GROUP(ad_run_option_rows, struct run_options, shared),
    AD_OPT_END,
};

const struct ad_command ad_command_run = {
    .name = "run",
    .arguments = "[OPTION...] PLAN INPUT...",
    .summary = "Run one inference or a stream of them, on the agents or in this process.",
    .options = options_table,
    .run = run_run,
};
