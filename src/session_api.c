/* The public interface (adaps.h) of sessions: on the agents of the plan, or in this process. */
#include "exec/engine/engine.h"
#include "ir/weight.h"
#include "control/session.h"
#include "pipeline.h"

#include <math.h>
#include <string.h>

struct adaps_session {
    const struct adaps_plan *plan; /* the caller's */
    struct ad_session *agents;     /* NULL when local */
    struct adaps_plan *single; /* local: the plan for one device, with weights unless `plan` has */
    struct ad_engine *engine;
};

static enum adaps_status open_local(struct adaps_session *session, const char *model,
                                    struct adaps_error *err)
{
    const struct adaps_plan *holder = session->plan;
    enum adaps_status status = ad_plan_single(session->plan, &session->single, err);
    if (status == ADAPS_OK && !ad_weights_attached(holder->graph)) {
        status = ad_pipeline_weights(session->single, model, err);
        holder = session->single;
    }
    if (status != ADAPS_OK)
        return status;
    struct ad_engine_options options = {0};
    struct ad_weight_source source = ad_weights_of_plan(holder);
    status = ad_engine_new(session->single, &options, &source, &session->engine, err);
    ad_graph_drop_weights(session->single->graph); /* packed */
    return status;
}

struct loader {
    const char *model;
};

static enum adaps_status attach(void *self, struct adaps_plan *plan, struct adaps_error *err)
{
    const struct loader *loader = self;
    return ad_pipeline_weights(plan, loader->model, err);
}

/* A plan of the same bytes whose graph may be given weights: the caller's is const. */
static enum adaps_status copy_plan(const struct adaps_plan *plan, struct adaps_plan **out,
                                   struct adaps_error *err)
{
    void *data;
    size_t size;
    enum adaps_status status = ad_plan_pack(plan, &data, &size, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_plan_unpack(data, size, plan->plan_path ? plan->plan_path : "plan", out, err);
    ad_free(data);
    if (status == ADAPS_OK && plan->plan_path &&
        !((*out)->plan_path = ad_strdup(plan->plan_path))) {
        adaps_plan_free(*out);
        status = ad_error_memory(err, "plan", strlen(plan->plan_path) + 1);
    }
    return status;
}

static enum adaps_status open_agents(struct adaps_session *session, const char *model,
                                     double deadline_s, struct adaps_error *err)
{
    const struct adaps_plan *plan = session->plan;
    struct ad_session_options options = {.deadline_s = deadline_s};
    struct loader loader = {.model = model};
    struct ad_weight_loader weights = {.attach = attach, .self = &loader};
    struct adaps_plan *copy = NULL;
    struct ad_push_report *reports = ad_calloc((size_t)plan->cluster.ndevices, sizeof *reports);
    if (!reports)
        return ad_error_memory(err, "push", (size_t)plan->cluster.ndevices * sizeof *reports);
    enum adaps_status status = ADAPS_OK;
    if (!ad_weights_attached(plan->graph))
        status = copy_plan(plan, &copy, err);
    if (status == ADAPS_OK) /* with weights attached, a push changes nothing in the plan */
        status = ad_push(copy ? copy : (struct adaps_plan *)plan, &options, &weights, reports, err);
    adaps_plan_free(copy);
    ad_free(reports);
    if (status == ADAPS_OK)
        status = ad_session_open(plan, &options, &session->agents, err);
    return status;
}

enum adaps_status adaps_session_open(const struct adaps_plan *plan, const char *model, bool local,
                                     double deadline_s, struct adaps_session **out,
                                     struct adaps_error *err)
{
    if (!plan || !out)
        return ad_error_set(err, ADAPS_EUSAGE, "a plan and a place for the session are required");
    if (!isfinite(deadline_s) || deadline_s < 0)
        return ad_error_set(err, ADAPS_EUSAGE, "deadline %g: seconds, 0 or more, are wanted",
                            deadline_s);
    if (plan->graph->ninputs != 1)
        return ad_error_set(err, ADAPS_EUSAGE,
                            "the network has %d inputs, a session of this interface feeds one",
                            plan->graph->ninputs);
    struct adaps_session *session = ad_calloc(1, sizeof *session);
    if (!session)
        return ad_error_memory(err, "session", sizeof *session);
    session->plan = plan;
    enum adaps_status status =
        local ? open_local(session, model, err) : open_agents(session, model, deadline_s, err);
    if (status != ADAPS_OK) {
        adaps_session_close(session);
        return status;
    }
    *out = session;
    return ADAPS_OK;
}

static enum adaps_status run_local(struct adaps_session *session, const float *input, float *output,
                                   struct adaps_error *err)
{
    static const struct ad_transport nowhere; /* one device has nobody to talk to */
    ad_engine_feed(session->engine, 0, input);
    for (int i = 0; i < session->single->schedule.programs[0].nsteps; i++) {
        enum adaps_status status = ad_engine_step(session->engine, i, &nowhere, err);
        if (status != ADAPS_OK)
            return status;
    }
    ad_engine_fetch(session->engine, 0, output);
    return ADAPS_OK;
}

static enum adaps_status run_agents(struct adaps_session *session, const float *input,
                                    float *output, size_t output_elements, struct adaps_error *err)
{
    const struct ad_graph *graph = session->plan->graph;
    const struct ad_value *in = &graph->values[graph->inputs[0]];
    struct ad_tensor tensor = {.rank = in->rank,
                               .count = adaps_plan_input_elements(session->plan),
                               .data = (float *)input};
    memcpy(tensor.dims, in->dims, sizeof tensor.dims);
    struct ad_tensor *outputs = ad_calloc((size_t)graph->noutputs, sizeof *outputs);
    if (!outputs)
        return ad_error_memory(err, "outputs", (size_t)graph->noutputs * sizeof *outputs);
    enum adaps_status status = ad_session_run(session->agents, &tensor, outputs, NULL, err);
    if (status == ADAPS_OK) {
        memcpy(output, outputs[0].data, output_elements * sizeof(float));
        for (int i = 0; i < graph->noutputs; i++)
            ad_tensor_fini(&outputs[i]);
    }
    ad_free(outputs);
    return status;
}

enum adaps_status adaps_session_run(struct adaps_session *session, const float *input,
                                    size_t input_elements, float *output, size_t output_elements,
                                    struct adaps_error *err)
{
    if (!session || !input || !output)
        return ad_error_set(err, ADAPS_EUSAGE, "a session, an input and an output are required");
    size_t in = adaps_plan_input_elements(session->plan);
    size_t out = adaps_plan_output_elements(session->plan);
    if (input_elements != in || output_elements != out)
        return ad_error_set(err, ADAPS_EINPUT,
                            "input of %zu and output of %zu elements: the network has %zu and %zu",
                            input_elements, output_elements, in, out);
    return session->engine ? run_local(session, input, output, err)
                           : run_agents(session, input, output, output_elements, err);
}

void adaps_session_close(struct adaps_session *session)
{
    if (!session)
        return;
    ad_session_close(session->agents);
    ad_engine_free(session->engine);
    adaps_plan_free(session->single);
    ad_free(session);
}
