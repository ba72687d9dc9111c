/* adaps bench --refine: step 3 of procedure 1 of R. Hadidi et al. (IEEE IoT Journal 2020). A plan
 * is run as a stream, each device's computing is measured, the devices' speeds are corrected by it,
 * and the plan is made again, until the corrections are small or the plan stays the same. */
#include "cli/bench.h"
#include "base/clock.h"
#include "io/tensor_io.h"
#include "report/json.h"

#include <math.h>
#include <string.h>

#define SETTLED 0.02 /* corrections below this are none */
#define WARM 3       /* inferences for each in flight that do not count */

/* What a stream of one plan measures, per inference. */
struct stream_run {
    const struct ad_refinement *refinement;
    const struct adaps_plan *plan;
    struct ad_session *session;
    struct ad_tensor *inputs, *outputs;
    struct ad_device_stats *devices;
    int64_t first_ns, last_ns; /* answers that count */
};

/* Seconds that the plan says a device computes in an inference. */
static double predicted_compute(const struct adaps_plan *plan, int device)
{
    const struct ad_program *program = &plan->schedule.programs[device];
    int64_t ns = 0;
    for (int i = 0; i < program->nsteps; i++)
        if (program->steps[i].kind == AD_STEP_COMPUTE)
            ns += program->steps[i].end_ns - program->steps[i].start_ns;
    return (double)ns * 1e-9;
}

static enum adaps_status take_answer(struct stream_run *r, struct ad_refine_round *round,
                                     int64_t number, struct adaps_error *err)
{
    struct ad_run_stats stats = {.devices = r->devices};
    int64_t warm = WARM * (int64_t)r->plan->stream.frames;
    enum adaps_status status = ad_session_finish(r->session, r->outputs, &stats, err);
    for (int i = 0; i < r->plan->graph->noutputs; i++)
        ad_tensor_fini(&r->outputs[i]);
    if (status != ADAPS_OK || number < warm)
        return status;
    r->last_ns = ad_clock_ns();
    if (number == warm)
        r->first_ns = r->last_ns;
    for (int d = 0; d < r->plan->cluster.ndevices; d++) {
        round->devices[d].measured_s += (double)r->devices[d].compute_ns * 1e-9;
        round->devices[d].there_s += (double)r->devices[d].total_ns * 1e-9;
    }
    return ADAPS_OK;
}

/* As many in flight as the plan says; the sums of round->devices become means. */
static enum adaps_status run_stream(struct stream_run *r, struct ad_refine_round *round,
                                    struct adaps_error *err)
{
    const struct adaps_plan *plan = r->plan;
    int64_t runs = r->refinement->options->runs, begun = 0;
    int64_t all = WARM * (int64_t)plan->stream.frames + runs;
    enum adaps_status status = ADAPS_OK;
    for (int64_t i = 0; i < all && status == ADAPS_OK; i++) {
        for (; begun < all && begun < i + plan->stream.frames && status == ADAPS_OK; begun++)
            status = ad_session_begin(r->session, r->inputs, err);
        if (status == ADAPS_OK)
            status = take_answer(r, round, i, err);
    }
    if (status != ADAPS_OK)
        return status;
    round->measured_per_s = 1e9 * (double)(runs - 1) / (double)(r->last_ns - r->first_ns);
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        round->devices[d].measured_s /= (double)runs;
        round->devices[d].there_s /= (double)runs;
    }
    return ADAPS_OK;
}

static enum adaps_status measure(const struct ad_refinement *refinement,
                                 const struct adaps_plan *plan, struct ad_refine_round *round,
                                 struct adaps_error *err)
{
    const struct ad_graph *graph = plan->graph;
    struct stream_run r = {.refinement = refinement, .plan = plan};
    r.inputs = ad_calloc((size_t)graph->ninputs, sizeof *r.inputs);
    r.outputs = ad_calloc((size_t)graph->noutputs, sizeof *r.outputs);
    r.devices = ad_calloc((size_t)plan->cluster.ndevices, sizeof *r.devices);
    enum adaps_status status = r.inputs && r.outputs && r.devices
                                   ? ADAPS_OK
                                   : ad_error_memory(err, "stream", sizeof *r.inputs);
    for (int i = 0; i < graph->ninputs && status == ADAPS_OK; i++)
        status = ad_tensor_io_random(graph, i, refinement->options->passes.seed, &r.inputs[i], err);
    if (status == ADAPS_OK)
        status = ad_session_open(plan, &refinement->options->session, &r.session, err);
    if (status == ADAPS_OK)
        status = run_stream(&r, round, err);
    ad_session_close(r.session);
    for (int i = 0; r.inputs && i < graph->ninputs; i++)
        ad_tensor_fini(&r.inputs[i]);
    ad_free(r.inputs);
    ad_free(r.outputs);
    ad_free(r.devices);
    return status;
}

/* What is known before a plan is run. */
static void begin_round(const struct adaps_plan *plan, const double *corrections,
                        struct ad_refine_round *round)
{
    *round = (struct ad_refine_round){
        .predicted_per_s = 1e9 / (double)plan->stream.interval_ns,
    };
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        round->devices[d].correction = corrections[d];
        round->devices[d].predicted_s = predicted_compute(plan, d);
    }
}

/* Corrections by what the round measured. Whether some are worth a new plan. */
static bool correct(const struct ad_refine_round *round, int ndevices, double *corrections)
{
    bool worth = false;
    for (int d = 0; d < ndevices; d++) {
        const struct ad_refine_device *device = &round->devices[d];
        if (!(device->predicted_s > 0) || !(device->measured_s > 0))
            continue;
        double ratio = device->predicted_s / device->measured_s;
        worth = worth || fabs(log(ratio)) > SETTLED;
        corrections[d] *= ratio;
    }
    return worth;
}

/* Whether both plans compute the same parts on the same devices. */
static bool same_parts(const struct adaps_plan *a, const struct adaps_plan *b)
{
    size_t n = (size_t)a->graph->nops * (size_t)a->cluster.ndevices;
    return a->graph->nops == b->graph->nops && memcmp(a->assignment->region, b->assignment->region,
                                                      n * sizeof *a->assignment->region) == 0;
}

/* Plans and measures a round. *last: the plan of the round before, nullable, becomes this one's. */
static enum adaps_status try_round(struct ad_refinement *refinement, double *corrections,
                                   struct adaps_plan **last, bool *again, struct adaps_error *err)
{
    struct ad_pipeline_options passes = refinement->options->passes;
    struct ad_refine_round *round = &refinement->rounds[refinement->count];
    struct adaps_plan *plan = NULL;
    passes.strategy = refinement->options->strategies[0].strategy;
    passes.corrections = corrections;
    enum adaps_status status = ad_pipeline_compile(&passes, &plan, err);
    *again = false;
    if (status != ADAPS_OK)
        return status;
    for (int d = 0; d < plan->cluster.ndevices; d++)
        snprintf(refinement->names[d], sizeof refinement->names[d], "%s",
                 plan->cluster.devices[d].name);
    refinement->ndevices = plan->cluster.ndevices;
    begin_round(plan, corrections, round);
    if (plan->stream.nturns > 1)
        status = ad_error_set(err, ADAPS_NO,
                              "strategy %s: a plan of %d turns cannot be refined, only one in "
                              "which all inferences take the same way",
                              passes.strategy, plan->stream.nturns);
    if (status == ADAPS_OK)
        status = ad_bench_push(refinement->options, plan, err);
    if (status == ADAPS_OK)
        status = measure(refinement, plan, round, err);
    if (status == ADAPS_OK) {
        refinement->count++;
        *again = correct(round, refinement->ndevices, corrections) &&
                 !(*last && same_parts(*last, plan));
    }
    adaps_plan_free(*last);
    *last = plan;
    return status;
}

enum adaps_status ad_bench_refine(struct ad_refinement *out, const struct ad_bench_options *options,
                                  struct adaps_error *err)
{
    double corrections[AD_MAX_DEVICES];
    size_t most = (size_t)options->rounds;
    struct adaps_plan *last = NULL;
    bool again = true;
    *out = (struct ad_refinement){.options = options};
    for (int d = 0; d < AD_MAX_DEVICES; d++)
        corrections[d] = 1;
    out->rounds = ad_calloc(most, sizeof *out->rounds);
    if (!out->rounds)
        return ad_error_memory(err, "rounds", most * sizeof *out->rounds);
    enum adaps_status status = ADAPS_OK;
    while (status == ADAPS_OK && again && out->count < most)
        status = try_round(out, corrections, &last, &again, err);
    adaps_plan_free(last);
    for (size_t i = 1; i < out->count; i++)
        if (out->rounds[i].measured_per_s > out->rounds[out->best].measured_per_s)
            out->best = i;
    return status;
}

void ad_bench_refine_fini(struct ad_refinement *refinement)
{
    ad_free(refinement->rounds);
    *refinement = (struct ad_refinement){0};
}

/* By Little's law the time that an inference is at a device, times their rate, is how many are
 * there at the same time: its queue, the one in work included. */
enum adaps_status ad_bench_refine_print(const struct ad_refinement *refinement, FILE *out,
                                        struct adaps_error *err)
{
    for (size_t i = 0; i < refinement->count; i++) {
        const struct ad_refine_round *round = &refinement->rounds[i];
        fprintf(out, "round %zu%s: %.4g answers/s predicted, %.4g measured\n", i + 1,
                i == refinement->best ? " (best)" : "", round->predicted_per_s,
                round->measured_per_s);
        fprintf(out, "  %-16s %12s %12s %8s %8s %8s\n", "device", "predicted ms", "measured ms",
                "busy", "queue", "speed");
        for (int d = 0; d < refinement->ndevices; d++)
            fprintf(out, "  %-16s %12.3f %12.3f %7.0f%% %8.2f %8.3f\n", refinement->names[d],
                    1e3 * round->devices[d].predicted_s, 1e3 * round->devices[d].measured_s,
                    100 * round->devices[d].measured_s * round->measured_per_s,
                    round->devices[d].there_s * round->measured_per_s,
                    round->devices[d].correction);
    }
    return ferror(out) ? ad_error_set(err, ADAPS_EINTERNAL, "cannot write") : ADAPS_OK;
}

static json_t *device_json(const struct ad_refinement *refinement, int d,
                           const struct ad_refine_round *round)
{
    const struct ad_refine_device *device = &round->devices[d];
    return json_pack("{so sf sf sf sf sf}", "name", ad_report_json_text(refinement->names[d]),
                     "predicted_ms", 1e3 * device->predicted_s, "measured_ms",
                     1e3 * device->measured_s, "busy", device->measured_s * round->measured_per_s,
                     "queue", device->there_s * round->measured_per_s, "correction",
                     device->correction);
}

enum adaps_status ad_bench_refine_print_json(const struct ad_refinement *refinement, FILE *out,
                                             struct adaps_error *err)
{
    json_t *rounds = json_array();
    for (size_t i = 0; i < refinement->count && rounds; i++) {
        const struct ad_refine_round *round = &refinement->rounds[i];
        json_t *devices = json_array();
        for (int d = 0; d < refinement->ndevices && devices; d++)
            devices = ad_report_json_append(devices, device_json(refinement, d, round));
        rounds = ad_report_json_append(
            rounds, json_pack("{sf sf so}", "predicted_per_s", round->predicted_per_s,
                              "measured_per_s", round->measured_per_s, "devices", devices));
    }
    return ad_report_json_print(json_pack("{ss sI so}", "strategy",
                                          refinement->options->strategies[0].strategy, "best",
                                          (json_int_t)refinement->best, "rounds", rounds),
                                out, err);
}
