#include "cli/local_run.h"
#include "base/clock.h"
#include "pipeline.h"

#include <string.h>
#include <unistd.h>

static int default_threads(const struct adaps_plan *single)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = single->cluster.devices[0].threads;
    return cores >= 1 && threads > cores ? (int)cores : threads;
}

enum adaps_status ad_alone_init(struct ad_alone *alone, const struct adaps_plan *plan,
                                const char *model, int threads, struct adaps_error *err)
{
    memset(alone, 0, sizeof *alone);
    enum adaps_status status = ad_plan_single(plan, &alone->plan, err);
    if (status == ADAPS_OK)
        status = ad_pipeline_weights(alone->plan, model, err);
    if (status == ADAPS_OK) {
        struct ad_engine_options options = {
            .device = 0, .threads = threads ? threads : default_threads(alone->plan), .speed = 1};
        struct ad_weight_source source = ad_weights_of_plan(alone->plan);
        status = ad_engine_new(alone->plan, &options, &source, &alone->engine, err);
        ad_graph_drop_weights(alone->plan->graph); /* packed */
    }
    if (status != ADAPS_OK)
        ad_alone_fini(alone);
    return status;
}

/* A plan for one device has nobody to talk to. */
static enum adaps_status no_send(void *self, const struct ad_step *step,
                                 const struct ad_span_list *spans, struct adaps_error *err)
{
    (void)self, (void)spans;
    return ad_error_set(err, ADAPS_EINTERNAL, "a single-device plan sends value %d", step->value);
}

static enum adaps_status no_recv(void *self, const struct ad_step *step,
                                 const struct ad_span_list *forms, int nforms, int *form,
                                 struct adaps_error *err)
{
    (void)self, (void)forms, (void)nforms, (void)form;
    return ad_error_set(err, ADAPS_EINTERNAL, "a single-device plan receives value %d",
                        step->value);
}

enum adaps_status ad_alone_run(struct ad_alone *alone, const struct ad_tensor *inputs,
                               struct ad_tensor *outputs, int64_t *ns, struct adaps_error *err)
{
    const struct ad_graph *graph = alone->plan->graph;
    struct ad_transport transport = {no_send, no_recv, NULL};
    enum adaps_status status = ADAPS_OK;
    alone->begin_ns = ad_clock_ns();
    memset(outputs, 0, sizeof *outputs * (size_t)graph->noutputs);
    for (int i = 0; i < graph->ninputs; i++)
        ad_engine_feed(alone->engine, i, inputs[i].data);
    for (int i = 0; status == ADAPS_OK && i < alone->plan->schedule.programs[0].nsteps; i++)
        status = ad_engine_step(alone->engine, i, &transport, err);
    for (int i = 0; status == ADAPS_OK && i < graph->noutputs; i++) {
        const struct ad_value *value = &graph->values[graph->outputs[i]];
        status = ad_tensor_init(&outputs[i], value->rank, value->dims, err);
        if (status == ADAPS_OK)
            ad_engine_fetch(alone->engine, i, outputs[i].data);
    }
    alone->end_ns = ad_clock_ns();
    if (ns)
        *ns = alone->end_ns - alone->begin_ns;
    for (int i = 0; status != ADAPS_OK && i < graph->noutputs; i++)
        ad_tensor_fini(&outputs[i]);
    return status;
}

enum adaps_status ad_alone_trace(const struct ad_alone *alone, struct ad_trace *out,
                                 struct adaps_error *err)
{
    enum adaps_status status = ad_trace_init(out, alone->plan, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_device_trace *device = &out->devices[0];
    device->end_ns = alone->end_ns - alone->begin_ns;
    for (int i = 0; i < device->nsteps; i++) {
        struct ad_step_times *step = &device->steps[i];
        ad_engine_times(alone->engine, i, &step->start_ns, &step->end_ns);
        step->start_ns -= alone->begin_ns;
        step->end_ns -= alone->begin_ns;
        step->mark_ns = step->end_ns;
        step->left_ns = AD_TRACE_UNKNOWN;
    }
    return ADAPS_OK;
}

void ad_alone_fini(struct ad_alone *alone)
{
    ad_engine_free(alone->engine);
    adaps_plan_free(alone->plan);
    memset(alone, 0, sizeof *alone);
}
