/* The public interface (adaps.h) of sessions: on the agents of the plan, or in this process. */
#include "failover.h"
#include "model_weights.h"

#include <math.h>
#include <string.h>

struct adaps_session {
    const struct adaps_plan *plan; /* the caller's */
    struct ad_failover *agents;    /* one of these two */
    struct ad_local_run *local;
    struct ad_tensor input, *outputs; /* outputs: room for all of the network's */
};

static enum adaps_status open_agents(struct adaps_session *session, const char *model,
                                     double deadline_s, struct adaps_error *err)
{
    const struct adaps_plan *plan = session->plan;
    struct ad_session_options options = {.deadline_s = deadline_s};
    struct ad_model_weights weights;
    struct ad_push_report *reports = ad_calloc((size_t)plan->cluster.ndevices, sizeof *reports);
    if (!reports)
        return ad_error_memory(err, "push", (size_t)plan->cluster.ndevices * sizeof *reports);
    ad_model_weights_init(&weights, plan, model);
    const struct ad_weight_source source = ad_model_weights_source(&weights);
    enum adaps_status status = ad_push(plan, &options, &source, reports, err);
    ad_model_weights_fini(&weights);
    ad_free(reports);
    if (status == ADAPS_OK)
        status = ad_failover_open(plan, &(struct ad_failover_options){.session = &options},
                                  &session->agents, err);
    return status;
}

/* Room for the input and the outputs of an inference. */
static enum adaps_status make_tensors(struct adaps_session *session, struct adaps_error *err)
{
    const struct ad_graph *graph = session->plan->graph;
    const struct ad_value *in = &graph->values[graph->inputs[0]];
    session->outputs = ad_calloc((size_t)graph->noutputs, sizeof *session->outputs);
    if (!session->outputs)
        return ad_error_memory(err, "outputs", (size_t)graph->noutputs * sizeof *session->outputs);
    return ad_tensor_init(&session->input, in->rank, in->dims, err);
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
    enum adaps_status status = make_tensors(session, err);
    if (status == ADAPS_OK)
        status = local ? ad_model_local_run(plan, model, 0, &session->local, err)
                       : open_agents(session, model, deadline_s, err);
    if (status != ADAPS_OK) {
        adaps_session_close(session);
        return status;
    }
    *out = session;
    return ADAPS_OK;
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
    struct ad_tensor *outputs = session->outputs;
    memcpy(session->input.data, input, in * sizeof *input);
    enum adaps_status status =
        session->local ? ad_local_run_infer(session->local, &session->input, outputs, err)
                       : ad_failover_begin(session->agents, &session->input, err);
    if (status == ADAPS_OK && !session->local)
        status = ad_failover_finish(session->agents, outputs, NULL, err);
    if (status != ADAPS_OK)
        return status;
    memcpy(output, outputs[0].data, out * sizeof *output);
    for (int i = 0; i < session->plan->graph->noutputs; i++)
        ad_tensor_fini(&outputs[i]);
    return ADAPS_OK;
}

enum adaps_status adaps_session_failover(struct adaps_session *session, const char *model,
                                         struct adaps_error *err)
{
    if (!session)
        return ad_error_set(err, ADAPS_EUSAGE, "a session is required");
    return session->local ? ADAPS_OK : ad_failover_enable(session->agents, model, err);
}

int adaps_session_recoveries(const struct adaps_session *session)
{
    int count = 0;
    if (session && session->agents)
        ad_failover_recoveries(session->agents, &count);
    return count;
}

void adaps_session_close(struct adaps_session *session)
{
    if (!session)
        return;
    ad_failover_close(session->agents);
    ad_local_run_free(session->local);
    ad_tensor_fini(&session->input);
    ad_free(session->outputs);
    ad_free(session);
}
