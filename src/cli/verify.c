/* adaps verify: the agents' answer against the single-device answer, bit for bit; of a lossy plan,
 * within a fraction of the output's range; or against another network's answer, such as that of
 * floats which a network of bytes was made from. */
#include "base/units.h"
#include "cli/deployment.h"
#include "report/json.h"
#include "io/samples.h"
#include "io/tensor_io.h"
#include "model_weights.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

struct verify_options {
    struct ad_run_options shared;
    const char *plan, *against;
    char **inputs;
    int ninputs;
    int64_t seed, runs;
    double tolerance, snr_floor;
    bool resize;
};

#define DEFAULT_TOLERANCE 0.01

struct verifier {
    const struct verify_options *options;
    struct ad_deployment deployment;
    struct ad_deployment reference; /* whose network is the single device's: of --against */
    const struct ad_graph *graph;
    struct ad_samples samples; /* of a folder: an answer for each */
    struct ad_session *session;
    struct ad_tensor *inputs, *outputs; /* of the current inference */
    struct ad_tensor *expected;         /* [run * noutputs + output] */
    struct ad_difference total;
    bool lossy;
    int64_t runs;
    double error; /* of all outputs: the largest difference as a fraction of the output's range */
    double signal, noise;   /* sums of squares over all answers */
    int64_t ranked, agreed; /* rows of classes, and those whose largest is the same */
    char first[160];        /* where the first element differs, "" when none does */
    int64_t latency_ns;
};

/* As many answers as the options say, or one for each sample, or one; of a stream enough to have
 * several in flight, and every turn among them. */
static int64_t count_runs(const struct verifier *v)
{
    const struct ad_stream *stream = &v->deployment.plan->stream;
    int64_t runs = stream->frames > 1 ? 2 * stream->frames : 1;
    if (v->options->runs > 0)
        return v->options->runs;
    if (v->samples.count)
        return (int64_t)v->samples.count;
    return runs > stream->ndeal ? runs : stream->ndeal;
}

/* Run k's inputs: the k-th sample, in turn; the files; or numbers in [0, 1) from seed + k. */
static enum adaps_status load_inputs(struct verifier *v, int64_t k, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; status == ADAPS_OK && i < v->graph->ninputs; i++) {
        ad_tensor_fini(&v->inputs[i]);
        if (v->samples.count)
            status = ad_tensor_io_load(v->graph, i, v->samples.paths[k % (int64_t)v->samples.count],
                                       v->options->resize, &v->inputs[i], err);
        else if (v->options->ninputs)
            status = ad_tensor_io_load(v->graph, i, v->options->inputs[i], v->options->resize,
                                       &v->inputs[i], err);
        else
            status = ad_tensor_io_random(v->graph, i, (uint64_t)(v->options->seed + k),
                                         &v->inputs[i], err);
    }
    return status;
}

static bool like(const struct ad_graph *a, const int *as, int count, const struct ad_graph *b,
                 const int *bs, int other)
{
    for (int i = 0; i < count && i < other; i++) {
        const struct ad_value *x = &a->values[as[i]], *y = &b->values[bs[i]];
        if (x->rank != y->rank || memcmp(x->dims, y->dims, (size_t)x->rank * sizeof *x->dims) != 0)
            return false;
    }
    return count == other;
}

/* The network of --against must take and give tensors of the same sizes. */
static enum adaps_status init_reference(struct verifier *v, struct adaps_error *err)
{
    struct ad_run_options shared = v->options->shared;
    shared.model = NULL;
    enum adaps_status status = ad_deployment_init(&v->reference, &ad_command_verify,
                                                  v->options->against, &shared, AD_PLACE_HERE, err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_graph *a = v->graph, *b = v->reference.plan->graph;
    if (!like(a, a->inputs, a->ninputs, b, b->inputs, b->ninputs) ||
        !like(a, a->outputs, a->noutputs, b, b->outputs, b->noutputs))
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: its inputs and outputs have other sizes than those of %s",
                            v->options->against, v->options->plan);
    return ADAPS_OK;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static enum adaps_status init(struct verifier *v, const struct verify_options *options,
                              struct adaps_error *err)
{
    memset(v, 0, sizeof *v);
    v->options = options;
    enum adaps_status status = ad_deployment_init(&v->deployment, &ad_command_verify, options->plan,
                                                  &options->shared, AD_PLACE_AGENTS, err);
    if (status != ADAPS_OK)
        return status;
    v->graph = v->deployment.plan->graph;
    if (options->against)
        status = init_reference(v, err);
    if (status == ADAPS_OK && options->ninputs == 1 && is_folder(options->inputs[0]))
        status = ad_samples_find(&v->samples, options->inputs[0], err);
    if (status != ADAPS_OK)
        return status;
    v->runs = count_runs(v);
    v->lossy = ad_plan_lossy(v->deployment.plan);
    if (options->ninputs && options->ninputs != v->graph->ninputs)
        return ad_error_set(err, ADAPS_EUSAGE, "the network has %d inputs, not %d",
                            v->graph->ninputs, options->ninputs);
    size_t noutputs = (size_t)v->graph->noutputs;
    v->inputs = ad_calloc((size_t)v->graph->ninputs, sizeof *v->inputs);
    v->outputs = ad_calloc(noutputs, sizeof *v->outputs);
    v->expected = ad_calloc((size_t)v->runs * noutputs, sizeof *v->expected);
    if (!v->inputs || !v->outputs || !v->expected)
        return ad_error_memory(err, "verify", (size_t)v->runs * sizeof *v->expected);
    return ADAPS_OK;
}

static void fini(struct verifier *v)
{
    if (v->session)
        ad_session_close(v->session);
    for (int i = 0; v->inputs && i < v->graph->ninputs; i++)
        ad_tensor_fini(&v->inputs[i]);
    for (int64_t i = 0; v->expected && i < v->runs * v->graph->noutputs; i++)
        ad_tensor_fini(&v->expected[i]);
    ad_free(v->inputs);
    ad_free(v->outputs);
    ad_free(v->expected);
    ad_samples_fini(&v->samples);
    ad_deployment_fini(&v->reference);
    ad_deployment_fini(&v->deployment);
}

/* Computes the single-device answers before the agents run, so that neither slows the other down.
 */
static enum adaps_status run_local(struct verifier *v, struct adaps_error *err)
{
    const struct ad_deployment *from = v->options->against ? &v->reference : &v->deployment;
    struct ad_local_run *local = NULL;
    enum adaps_status status = ad_model_local_run(from->plan, from->model, 0, &local, err);
    if (status != ADAPS_OK)
        return status;
    for (int64_t k = 0; status == ADAPS_OK && k < v->runs; k++) {
        status = load_inputs(v, k, err);
        if (status == ADAPS_OK)
            status =
                ad_local_run_infer(local, v->inputs, &v->expected[k * v->graph->noutputs], err);
    }
    ad_local_run_free(local);
    return status;
}

/* Classes are all that an answer has beside its batch: 1000, or 1000 x 1 x 1. */
static void rank_classes(struct verifier *v, const struct ad_tensor *want,
                         const struct ad_tensor *have)
{
    size_t rows = want->rank > 1 ? (size_t)want->dims[0] : 1;
    if (rows == 0 || want->count < 2 * rows || want->count != have->count)
        return;
    size_t classes = want->count / rows;
    if (want->rank > 2 && (size_t)want->dims[1] != classes)
        return;
    for (size_t i = 0; i < rows; i++) {
        v->ranked++;
        v->agreed += ad_tensor_largest(want, i * classes, classes) ==
                     ad_tensor_largest(have, i * classes, classes);
    }
}

static void compare(struct verifier *v, int64_t run, int output)
{
    const struct ad_tensor *want = &v->expected[run * v->graph->noutputs + output];
    const struct ad_tensor *have = &v->outputs[output];
    struct ad_difference d = ad_tensor_difference(want, have);
    if (d.differ && !v->total.differ)
        snprintf(v->first, sizeof v->first, "run %jd, output '%.64s', element %zu: %.9g, not %.9g",
                 (intmax_t)run, v->graph->values[v->graph->outputs[output]].name, d.first,
                 d.first < have->count ? ad_tensor_number(have, d.first) : NAN,
                 d.first < want->count ? ad_tensor_number(want, d.first) : NAN);
    v->total.elements += d.elements;
    v->total.differ += d.differ;
    v->total.max_abs_diff = fmax(v->total.max_abs_diff, d.max_abs_diff);
    v->error = fmax(v->error, ad_tensor_error(d.max_abs_diff, ad_tensor_span(want)));
    ad_tensor_add_squares(want, have, &v->signal, &v->noise);
    if (output == 0)
        rank_classes(v, want, have);
}

/* With as many in flight as the plan has. */
static enum adaps_status run_agents(struct verifier *v, struct adaps_error *err)
{
    int in_flight = v->deployment.plan->stream.frames;
    enum adaps_status status = ad_deployment_push(&v->deployment, err);
    if (status == ADAPS_OK)
        status = ad_session_open(v->deployment.plan, &v->deployment.session, &v->session, err);
    for (int64_t k = 0, next = 0; status == ADAPS_OK && k < v->runs; k++) {
        struct ad_run_stats stats = {0};
        for (; next < v->runs && next - k < in_flight && status == ADAPS_OK; next++) {
            status = load_inputs(v, next, err);
            if (status == ADAPS_OK)
                status = ad_session_begin(v->session, v->inputs, err);
        }
        if (status == ADAPS_OK)
            status = ad_session_finish(v->session, v->outputs, &stats, err);
        if (status != ADAPS_OK)
            break;
        v->latency_ns += stats.latency_ns;
        for (int i = 0; i < v->graph->noutputs; i++) {
            compare(v, k, i);
            ad_tensor_fini(&v->outputs[i]);
        }
    }
    return status;
}

static json_t *against_json(const struct verifier *v)
{
    if (!v->options->against)
        return json_null();
    return json_pack("{s:o, s:o, s:o}", "snr_db",
                     ad_report_json_finite(ad_decibels(v->signal, v->noise)), "ranked",
                     json_integer(v->ranked), "agreed", json_integer(v->agreed));
}

static int print_json(const struct verifier *v, double latency_ns)
{
    return ad_cli_print_json(
        &ad_command_verify,
        json_pack("{s:I, s:I, s:o, s:o, s:b, s:o, s:f, s:f}", "elements",
                  (json_int_t)v->total.elements, "differ", (json_int_t)v->total.differ,
                  "max_abs_diff", ad_report_json_real(v->total.max_abs_diff), "error",
                  ad_report_json_real(v->error), "lossy", v->lossy, "against", against_json(v),
                  "latency_ms", latency_ns / 1e6, "predicted_ms",
                  (double)v->deployment.plan->schedule.makespan_ns / 1e6));
}

static void print_against(const struct verifier *v)
{
    printf("signal to noise: %.1f dB", ad_decibels(v->signal, v->noise));
    if (v->ranked)
        printf("; the same first class in %jd of %jd answers", (intmax_t)v->agreed,
               (intmax_t)v->ranked);
    printf("\n");
}

static int print(const struct verifier *v)
{
    double latency_ns = (double)v->latency_ns / (double)v->runs;
    char predicted[32], measured[32];
    if (v->options->shared.json)
        return print_json(v, latency_ns);
    printf("%zu of %zu elements differ, largest difference %g\n", v->total.differ,
           v->total.elements, v->total.max_abs_diff);
    if (v->options->against)
        print_against(v);
    else if (v->lossy)
        printf("error: %.3g %% of the output's range, by rounded messages; up to %.3g %% are "
               "accepted\n",
               v->error * 100, v->options->tolerance * 100);
    else if (v->first[0])
        fprintf(stderr, "first: %s\n", v->first);
    fprintf(
        stderr, "latency: predicted %s, measured %s\n",
        ad_format_ns((double)v->deployment.plan->schedule.makespan_ns, predicted, sizeof predicted),
        ad_format_ns(latency_ns, measured, sizeof measured));
    return ad_cli_close_stdout(&ad_command_verify);
}

static bool accepted(const struct verifier *v)
{
    if (v->options->against)
        return !(ad_decibels(v->signal, v->noise) < v->options->snr_floor);
    return v->lossy ? v->error <= v->options->tolerance : v->total.differ == 0;
}

static int verify_all(const struct verify_options *options)
{
    struct verifier verifier;
    struct adaps_error err = {0};
    enum adaps_status status = init(&verifier, options, &err);
    if (status == ADAPS_OK)
        status = run_local(&verifier, &err);
    if (status == ADAPS_OK)
        status = run_agents(&verifier, &err);
    int code;
    if (status == ADAPS_EUSAGE)
        code = ad_cli_usage(&ad_command_verify, "%s", err.message);
    else if (status != ADAPS_OK)
        code = ad_cli_fail(&ad_command_verify, &err);
    else
        code = print(&verifier);
    if (code == ADAPS_OK && !accepted(&verifier))
        code = ADAPS_NO;
    fini(&verifier);
    return code;
}

static int run_verify(int argc, char **argv)
{
    struct verify_options options = {
        .seed = 1, .tolerance = DEFAULT_TOLERANCE, .snr_floor = -INFINITY};
    struct ad_operands operands;
    int code = ad_options_parse(&ad_command_verify, argc, argv, &options, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count < 1)
        return ad_cli_usage(&ad_command_verify, "PLAN or MODEL expected");
    options.plan = operands.items[0];
    options.inputs = operands.items + 1;
    options.ninputs = operands.count - 1;
    if (options.snr_floor > -INFINITY && !options.against)
        return ad_cli_usage(&ad_command_verify, "--snr-floor is of answers --against another plan");
    return verify_all(&options);
}

#define VERIFY struct verify_options
static const struct ad_option options_table[] = {
    AD_OPT_INT64("seed", "N", VERIFY, seed, 0, INT64_MAX / 2,
                 "seed of the random input that is used without INPUT (default: 1)"),
    AD_OPT_INT64("runs", "N", VERIFY, runs, 1, 10000,
                 "compare this many answers; random inputs differ (default: 1, of a\n"
                 "stream as many as it takes to have all turns in flight)"),
    AD_OPT_REAL("tolerance", "F", VERIFY, tolerance, 0, 1,
                "of a lossy plan: the error that is accepted, as a fraction of the\n"
                "output's range (default: 0.01)"),
    AD_OPT_TEXT(0, "against", "PLAN", VERIFY, against,
                "compare with the answer of this plan's or model's network, such\n"
                "as the one of floats that a quantised one was made from"),
    AD_OPT_REAL("snr-floor", "DB", VERIFY, snr_floor, -1000, 1000,
                "of --against: the least signal-to-noise ratio that is accepted"),
    AD_OPT_FLAG(0, "resize", VERIFY, resize, "scale pictures to the size that the network takes"),
    AD_OPT_GROUP(ad_run_option_rows, VERIFY, shared),
    AD_OPT_END,
};

const struct ad_command ad_command_verify = {
    .name = "verify",
    .arguments = "[OPTION...] PLAN|MODEL [INPUT...]",
    .summary = "Compare the agents' answer with the single-device answer, bit for bit.",
    .options = options_table,
    .run = run_verify,
};
