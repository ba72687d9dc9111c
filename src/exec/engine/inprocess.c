/* All devices of a plan in one thread: engines take turns, messages wait in memory. */
#include "exec/engine/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What one SEND left for its RECV. */
struct message {
    uint32_t tag;
    char *data; /* NULL: not sent yet, or received */
    size_t size;
};

struct machine {
    const struct adaps_plan *plan;
    struct ad_engine **engines; /* by device */
    int *next;                  /* the step a device is at */
    struct message *messages;   /* by tag, ascending */
    size_t nmessages;
};

/* --- messages --- */

static int by_tag(const void *a, const void *b)
{
    const struct message *x = a, *y = b;
    return (x->tag > y->tag) - (x->tag < y->tag);
}

static struct message *find_message(struct machine *m, uint32_t tag)
{
    struct message key = {.tag = tag};
    if (m->nmessages == 0)
        return NULL;
    return bsearch(&key, m->messages, m->nmessages, sizeof *m->messages, by_tag);
}

static enum adaps_status send_message(void *self, const struct ad_step *step,
                                      const struct ad_span_list *spans, struct adaps_error *err)
{
    struct message *message = find_message(self, step->tag);
    if (!message || message->data)
        return ad_error_set(err, ADAPS_EINTERNAL, "tag %" PRIu32 " is sent twice", step->tag);
    message->size = ad_spans_bytes(spans);
    message->data = ad_calloc(message->size, 1);
    if (!message->data)
        return ad_error_memory(err, "message", message->size);
    ad_spans_gather(spans, message->data);
    return ADAPS_OK;
}

static enum adaps_status recv_message(void *self, const struct ad_step *step,
                                      const struct ad_span_list *forms, int nforms, int *form,
                                      struct adaps_error *err)
{
    struct message *message = find_message(self, step->tag);
    if (!message || !message->data)
        return ADAPS_NO;
    *form = ad_spans_form(forms, nforms, message->size);
    if (!ad_spans_take_size(&forms[*form], message->size))
        return ad_error_set(err, ADAPS_EINTERNAL, "tag %" PRIu32 ": %zu bytes sent, %zu expected",
                            step->tag, message->size, ad_spans_bytes(&forms[*form]));
    ad_spans_take(&forms[*form], message->data, message->size);
    ad_free(message->data);
    message->data = NULL;
    return ADAPS_OK;
}

static enum adaps_status list_messages(struct machine *m, struct adaps_error *err)
{
    size_t count = 0;
    for (int d = 0; d < m->plan->cluster.ndevices; d++)
        count += (size_t)m->plan->schedule.programs[d].nsteps;
    m->messages = ad_calloc(count, sizeof *m->messages);
    if (!m->messages)
        return ad_error_memory(err, "messages", count * sizeof *m->messages);
    for (int d = 0; d < m->plan->cluster.ndevices; d++) {
        const struct ad_program *program = &m->plan->schedule.programs[d];
        for (int i = 0; i < program->nsteps; i++)
            if (program->steps[i].kind == AD_STEP_SEND)
                m->messages[m->nmessages++].tag = program->steps[i].tag;
    }
    qsort(m->messages, m->nmessages, sizeof *m->messages, by_tag);
    return ADAPS_OK;
}

/* --- the machine --- */

static enum adaps_status start(struct machine *m, int threads, struct adaps_error *err)
{
    size_t ndevices = (size_t)m->plan->cluster.ndevices;
    struct ad_weight_source weights = ad_weights_of_plan(m->plan);
    m->engines = ad_calloc(ndevices, sizeof *m->engines);
    m->next = ad_calloc(ndevices, sizeof *m->next);
    if (!m->engines || !m->next)
        return ad_error_memory(err, "engines", ndevices * sizeof *m->engines);
    enum adaps_status status = list_messages(m, err);
    for (int d = 0; d < (int)ndevices && status == ADAPS_OK; d++) {
        struct ad_engine_options options = {.device = d, .threads = threads};
        status = ad_engine_new(m->plan, &options, &weights, &m->engines[d], err);
    }
    return status;
}

static void stop(struct machine *m)
{
    for (int d = 0; m->engines && d < m->plan->cluster.ndevices; d++)
        ad_engine_free(m->engines[d]);
    for (size_t i = 0; i < m->nmessages; i++)
        ad_free(m->messages[i].data);
    ad_free(m->engines);
    ad_free(m->next);
    ad_free(m->messages);
}

/* Runs a device until its end or until it waits. */
static enum adaps_status advance(struct machine *m, int device, bool *progress,
                                 struct adaps_error *err)
{
    struct ad_transport transport = {send_message, recv_message, m};
    const struct ad_program *program = &m->plan->schedule.programs[device];
    while (m->next[device] < program->nsteps) {
        enum adaps_status status =
            ad_engine_step(m->engines[device], m->next[device], &transport, err);
        if (status == ADAPS_NO)
            return ADAPS_OK;
        if (status != ADAPS_OK) {
            ad_error_prefix(err, "device %s, step %d: ", m->plan->cluster.devices[device].name,
                            m->next[device]);
            return status;
        }
        m->next[device]++;
        *progress = true;
    }
    return ADAPS_OK;
}

/* The first device that is not done, or -1. */
static int waiting_device(const struct machine *m)
{
    for (int d = 0; d < m->plan->cluster.ndevices; d++)
        if (m->next[d] < m->plan->schedule.programs[d].nsteps)
            return d;
    return -1;
}

static enum adaps_status run(struct machine *m, struct adaps_error *err)
{
    int stuck;
    while ((stuck = waiting_device(m)) >= 0) {
        bool progress = false;
        for (int d = 0; d < m->plan->cluster.ndevices; d++) {
            enum adaps_status status = advance(m, d, &progress, err);
            if (status != ADAPS_OK)
                return status;
        }
        if (!progress) {
            const struct ad_step *step = &m->plan->schedule.programs[stuck].steps[m->next[stuck]];
            return ad_error_set(
                err, ADAPS_EINTERNAL,
                "deadlock: device %s, step %d waits for tag %" PRIu32 " from device %d",
                m->plan->cluster.devices[stuck].name, m->next[stuck], step->tag, step->peer);
        }
    }
    return ADAPS_OK;
}

static enum adaps_status check_inputs(const struct ad_graph *graph, const struct ad_tensor *inputs,
                                      struct adaps_error *err)
{
    for (int i = 0; i < graph->ninputs; i++) {
        const struct ad_value *value = &graph->values[graph->inputs[i]];
        size_t count = (size_t)ad_box_elements(value->box);
        if (inputs[i].count != count)
            return ad_error_set(err, ADAPS_EINPUT, "input '%s' has %zu elements, expected %zu",
                                value->name, inputs[i].count, count);
    }
    return ADAPS_OK;
}

static enum adaps_status fetch_outputs(struct machine *m, struct ad_tensor *outputs,
                                       struct adaps_error *err)
{
    const struct ad_graph *graph = m->plan->graph;
    for (int i = 0; i < graph->noutputs; i++) {
        const struct ad_value *value = &graph->values[graph->outputs[i]];
        enum adaps_status status = ad_tensor_init(&outputs[i], value->rank, value->dims, err);
        if (status != ADAPS_OK) {
            while (i-- > 0)
                ad_tensor_fini(&outputs[i]);
            return status;
        }
        ad_engine_fetch(m->engines[m->plan->cluster.source], i, outputs[i].data);
    }
    return ADAPS_OK;
}

enum adaps_status ad_exec_in_process(const struct adaps_plan *plan, int threads,
                                     const struct ad_tensor *inputs, struct ad_tensor *outputs,
                                     struct adaps_error *err)
{
    struct machine m = {.plan = plan};
    enum adaps_status status = check_inputs(plan->graph, inputs, err);
    if (status == ADAPS_OK)
        status = start(&m, threads, err);
    for (int i = 0; i < plan->graph->ninputs && status == ADAPS_OK; i++)
        ad_engine_feed(m.engines[plan->cluster.source], i, inputs[i].data);
    if (status == ADAPS_OK)
        status = run(&m, err);
    if (status == ADAPS_OK)
        status = fetch_outputs(&m, outputs, err);
    stop(&m);
    return status;
}
