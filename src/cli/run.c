/* adaps run: inferences on the agents, or in this process alone. */
#include "base/clock.h"
#include "base/stats.h"
#include "cli/metrics_option.h"
#include "cli/run_internal.h"
#include "io/tensor_io.h"
#include "model_weights.h"
#include "report/json.h"
#include "report/text.h"

#include <math.h>
#include <string.h>

/* One being computed, one begun by devices that are done with it, one on its way. */
#define SPARE_IN_FLIGHT 2 /* beyond those of the plan: on the way to the source and back */

static enum adaps_status open_names(struct ad_runner *r, struct adaps_error *err)
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

static enum adaps_status init(struct ad_runner *r, const struct ad_run_command *options,
                              struct adaps_error *err)
{
    memset(r, 0, sizeof *r);
    r->options = options;
    enum adaps_status status =
        ad_deployment_init(&r->deployment, &ad_command_run, options->plan, &options->shared,
                           options->local                        ? AD_PLACE_HERE
                           : options->failover || options->adapt ? AD_PLACE_AGENTS
                                                                 : AD_PLACE_ANY,
                           err);
    if (status != ADAPS_OK)
        return status;
    r->graph = r->deployment.plan->graph;
    if (options->ninputs % r->graph->ninputs != 0)
        return ad_error_set(err, ADAPS_EUSAGE,
                            "the network has %d inputs: %d files are not a multiple of that",
                            r->graph->ninputs, options->ninputs);
    if (options->failover || options->adapt)
        status = ad_failover_check(r->deployment.plan,
                                   options->failover ? "failover" : "adaptation", err);
    if (status != ADAPS_OK)
        return status;
    r->ninferences = options->ninputs / r->graph->ninputs;
    r->in_flight = options->in_flight > 0 ? options->in_flight
                                          : r->deployment.plan->stream.frames + SPARE_IN_FLIGHT;
    size_t ndevices = (size_t)r->deployment.plan->cluster.ndevices;
    r->inputs = ad_calloc((size_t)r->graph->ninputs, sizeof *r->inputs);
    r->outputs = ad_calloc((size_t)r->graph->noutputs, sizeof *r->outputs);
    r->stats = ad_calloc(ndevices, sizeof *r->stats);
    r->sum = ad_calloc(ndevices, sizeof *r->sum);
    r->walls = ad_calloc((size_t)r->ninferences, sizeof *r->walls);
    r->runs = options->shared.json ? json_array() : NULL;
    r->error = NAN;
    if (!r->deployment.here && ad_plan_lossy(r->deployment.plan)) {
        r->first = ad_calloc((size_t)r->graph->noutputs, sizeof *r->first);
        if (!r->first)
            return ad_error_memory(err, "run", (size_t)r->graph->noutputs);
    }
    if (!r->inputs || !r->outputs || !r->stats || !r->sum || !r->walls)
        return ad_error_memory(err, "run", ndevices);
    return open_names(r, err);
}

static void clear_inputs(struct ad_runner *r)
{
    for (int i = 0; r->inputs && i < r->graph->ninputs; i++)
        ad_tensor_fini(&r->inputs[i]);
}

static void clear_tensors(struct ad_runner *r)
{
    clear_inputs(r);
    for (int i = 0; r->outputs && i < r->graph->noutputs; i++)
        ad_tensor_fini(&r->outputs[i]);
}

static void fini(struct ad_runner *r)
{
    ad_failover_close(r->agents);
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
static enum adaps_status open_place(struct ad_runner *r, struct adaps_error *err)
{
    const struct ad_run_command *o = r->options;
    if (r->deployment.here)
        return r->local ? ADAPS_OK
                        : ad_model_local_run(r->deployment.plan, r->deployment.model, o->threads,
                                             &r->local, err);
    if (r->agents)
        return ADAPS_OK;
    const struct ad_failover_options options = {.enabled = o->failover,
                                                .adapt = o->adapt,
                                                .horizon = o->horizon,
                                                .stream = r->ninferences,
                                                .model = r->deployment.model,
                                                .session = &r->deployment.session};
    enum adaps_status status = ad_deployment_push(&r->deployment, err);
    if (status == ADAPS_OK)
        status = ad_failover_open(r->deployment.plan, &options, &r->agents, err);
    return status;
}

static bool traced(const struct ad_runner *r, int inference)
{
    return r->options->trace && inference + 1 == r->ninferences;
}

/* Whether an inference may be in flight with others. A traced one runs alone. */
static bool streams(const struct ad_runner *r, int inference)
{
    return !r->deployment.here && !traced(r, inference);
}

/* The answer and its times: of the oldest in flight, or of one that runs now. */
static enum adaps_status take_answer(struct ad_runner *r, int inference, struct ad_run_stats *stats,
                                     struct adaps_error *err)
{
    if (streams(r, inference))
        return ad_failover_finish(r->agents, r->outputs, stats, err);
    enum adaps_status status = ADAPS_OK;
    if (r->deployment.here) {
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
    return status == ADAPS_OK
               ? ad_session_run(ad_failover_session(r->agents), r->inputs, r->outputs, stats, err)
               : status;
}

static void add_up(struct ad_runner *r, const struct ad_run_stats *stats)
{
    r->end_ns = ad_clock_ns();
    r->latency_ns += stats->latency_ns;
    r->wall_ns += stats->wall_ns;
    r->walls[r->done++] = (double)stats->wall_ns / 1e6;
    if (r->done == r->in_flight)
        r->steady_ns = r->end_ns;
    for (int d = 0; d < r->deployment.plan->cluster.ndevices; d++) {
        r->sum[d].compute_ns += r->stats[d].compute_ns;
        r->sum[d].wait_ns += r->stats[d].wait_ns;
        r->sum[d].total_ns += r->stats[d].total_ns;
        r->sum[d].bytes_sent += r->stats[d].bytes_sent;
        r->sum[d].messages_sent += r->stats[d].messages_sent;
    }
}

/* Writes the files, or prints; keeps what --json will say. */
static enum adaps_status deliver(struct ad_runner *r, int inference, char **files,
                                 int64_t latency_ns, struct adaps_error *err)
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

static char **files_of(const struct ad_runner *r, int inference)
{
    return r->options->inputs + (size_t)inference * (size_t)r->graph->ninputs;
}

static enum adaps_status load(struct ad_runner *r, int inference, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; status == ADAPS_OK && i < r->graph->ninputs; i++)
        status = ad_tensor_io_load(r->graph, i, files_of(r, inference)[i], r->options->resize,
                                   &r->inputs[i], err);
    return status;
}

/* Reads the inputs of an inference, and sends them. */
static enum adaps_status begin(struct ad_runner *r, int inference, struct adaps_error *err)
{
    enum adaps_status status = load(r, inference, err);
    if (status == ADAPS_OK)
        status = open_place(r, err);
    if (inference == 0)
        r->begin_ns = ad_clock_ns();
    if (status == ADAPS_OK && streams(r, inference)) {
        status = ad_failover_begin(r->agents, r->inputs, err);
        clear_inputs(r);
    }
    return status;
}

static enum adaps_status finish(struct ad_runner *r, int inference, struct adaps_error *err)
{
    struct ad_run_stats stats = {.devices = r->stats};
    enum adaps_status status = take_answer(r, inference, &stats, err);
    ad_run_print_recoveries(r);
    ad_run_print_adaptations(r);
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

/* How many inferences may be in flight: more, when another plan in use has more. */
static int most_in_flight(const struct ad_runner *r)
{
    int most = r->agents ? ad_failover_frames(r->agents) + SPARE_IN_FLIGHT : 0;
    return r->options->in_flight > 0 || most < r->in_flight ? r->in_flight : most;
}

/* Runs all inferences in the order of their inputs, several in flight. When one cannot begin, those
 * before it still deliver their answers. */
static enum adaps_status infer_all(struct ad_runner *r, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK, begun = ADAPS_OK;
    struct adaps_error why = {0};
    int next = 0;
    for (int i = 0; status == ADAPS_OK && i < r->ninferences; i++) {
        while (begun == ADAPS_OK && next < r->ninferences &&
               (next == i || (next - i < most_in_flight(r) && streams(r, next))))
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
 * largest difference as a fraction of the output's range. */
static enum adaps_status find_error(struct ad_runner *r, struct adaps_error *err)
{
    enum adaps_status status =
        ad_model_local_run(r->deployment.plan, r->deployment.model, 0, &r->local, err);
    if (status == ADAPS_OK)
        status = load(r, 0, err);
    if (status == ADAPS_OK)
        status = ad_local_run_infer(r->local, r->inputs, r->outputs, err);
    for (int i = 0; status == ADAPS_OK && i < r->graph->noutputs; i++) {
        const struct ad_tensor *exact = &r->outputs[i];
        struct ad_difference d = ad_tensor_difference(exact, &r->first[i]);
        double error = ad_tensor_error(d.max_abs_diff, ad_tensor_span(exact));
        r->error = fmax(r->error, error); /* NAN at first */
    }
    clear_tensors(r);
    return status;
}

/* Prints that error. That it is not known, as when the model is gone, does not fail the run: the
 * answers are there. */
static void tell_error(struct ad_runner *r)
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

/* As ad_cli_fail(), but what the options got wrong says so as usage errors do. */
static int fail(const struct adaps_error *err)
{
    return err->status == ADAPS_EUSAGE ? ad_cli_usage(&ad_command_run, "%s", err->message)
                                       : ad_cli_fail(&ad_command_run, err);
}

static int run_all(const struct ad_run_command *options)
{
    struct ad_runner runner;
    struct adaps_error err = {0};
    enum adaps_status status = init(&runner, options, &err);
    if (status == ADAPS_OK)
        status = infer_all(&runner, &err);
    ad_stats_sort(runner.walls, (size_t)runner.done);
    if (status == ADAPS_OK && options->trace)
        status = ad_cli_write_file(options->trace, ad_run_print_trace, &runner, &err);
    if (status == ADAPS_OK && !options->shared.json)
        status = ad_run_print_times(&runner, &err);
    if (status == ADAPS_OK && runner.first)
        tell_error(&runner);
    int code;
    if (status != ADAPS_OK)
        code = fail(&err);
    else
        code = options->shared.json ? ad_run_print_json(&runner)
                                    : ad_cli_close_stdout(&ad_command_run);
    fini(&runner);
    return code;
}

static int run_run(int argc, char **argv)
{
    struct ad_run_command options = {.in_flight = 0};
    struct ad_operands operands;
    int code = ad_options_parse(&ad_command_run, argc, argv, &options, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count < 2)
        return ad_cli_usage(&ad_command_run, "PLAN or MODEL and at least one INPUT expected");
    if (options.threads && !options.local)
        return ad_cli_usage(&ad_command_run, "--threads goes with --local; agents have their own");
    if (options.local && options.shared.devices)
        return ad_cli_usage(&ad_command_run, "--devices and --local exclude each other");
    if (options.failover && (options.local || options.trace))
        return ad_cli_usage(&ad_command_run, "--failover goes with neither --local nor --trace");
    if (options.adapt && (options.local || options.trace))
        return ad_cli_usage(&ad_command_run, "--adapt goes with neither --local nor --trace");
    if (options.horizon && !options.adapt)
        return ad_cli_usage(&ad_command_run, "--horizon goes with --adapt");
    if (options.trace && strcmp(options.trace, "-") == 0)
        return ad_cli_usage(&ad_command_run, "--trace -: the name of a file expected; the answers "
                                             "are on the standard output");
    options.plan = operands.items[0];
    options.inputs = operands.items + 1;
    options.ninputs = operands.count - 1;
    return run_all(&options);
}

static const struct ad_option options_table[] = {
    AD_OPT_TEXT('o', "output", "FILE", struct ad_run_command, output,
                "write the answer here (.png .jpg .jpeg .bmp .ppm .pgm .npy .pb);\n"
                "for several inputs a folder, or a name with %d in it"),
    AD_OPT_FLAG(0, "local", struct ad_run_command, local,
                "run in this process, on one device, without agents"),
    AD_OPT_INT("threads", "N", struct ad_run_command, threads, 1, 64, "compute threads of --local"),
    AD_OPT_INT("in-flight", "N", struct ad_run_command, in_flight, 1, AD_FLIGHTS_MOST,
               "inferences of a stream at a time, 1 to 32 (default: two more than\n"
               "the plan has in flight)"),
    AD_OPT_FLAG(0, "failover", struct ad_run_command, failover,
                "when an agent is lost, go on with the others; the source cannot be\n"
                "replaced"),
    AD_OPT_FLAG(0, "adapt", struct ad_run_command, adapt,
                "when devices or links become slower or faster than planned, go on\n"
                "with another plan, if it gains more than it costs"),
    AD_OPT_INT("horizon", "N", struct ad_run_command, horizon, 1, 1000000000,
               "inferences in which --adapt must gain (default: the rest of the\n"
               "stream)"),
    AD_OPT_FLAG(0, "resize", struct ad_run_command, resize,
                "scale pictures to the size that the network takes"),
    AD_OPT_TEXT(0, "trace", "FILE", struct ad_run_command, trace,
                "write the measured times of the last inference's steps, as a\n"
                "Chrome trace (Perfetto)"),
    AD_OPT_GROUP(ad_run_option_rows, struct ad_run_command, shared),
    AD_OPT_GROUP(ad_metrics_option_rows, struct ad_run_command, shared.session),
    AD_OPT_END,
};

const struct ad_command ad_command_run = {
    .name = "run",
    .arguments = "[OPTION...] PLAN|MODEL INPUT...",
    .summary = "Run one inference or a stream of them, on the agents or in this process.",
    .options = options_table,
    .run = run_run,
};
