#include "exec/engine/local_run.h"
#include "base/clock.h"
#include "ir/ends.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What one SEND left for its RECV. */
struct message {
    uint32_t tag;
    char *data; /* NULL: not sent yet, or received */
    size_t size;
};

struct ad_local_run {
    const struct adaps_plan *plan;
    struct adaps_plan *single;  /* owned: the plan, of ad_local_run_single() */
    struct ad_engine **engines; /* by device */
    int *next;                  /* the step a device is at */
    atomic_int cancel;          /* non-zero: engines stop between two tasks */
    int64_t start_ns, end_ns;   /* of the latest inference */
    struct message *messages;   /* by tag, ascending */
    size_t nmessages;
};

/* --- messages --- */

static int by_tag(const void *a, const void *b)
{
    const struct message *x = a, *y = b;
    return (x->tag > y->tag) - (x->tag < y->tag);
}

static struct message *find_message(struct ad_local_run *run, uint32_t tag)
{
    struct message key = {.tag = tag};
    if (run->nmessages == 0)
        return NULL;
    return bsearch(&key, run->messages, run->nmessages, sizeof *run->messages, by_tag);
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

static enum adaps_status list_messages(struct ad_local_run *run, struct adaps_error *err)
{
    size_t count = 0;
    for (int d = 0; d < run->plan->cluster.ndevices; d++)
        count += (size_t)run->plan->schedule.programs[d].nsteps;
    run->messages = ad_calloc(count, sizeof *run->messages);
    if (!run->messages)
        return ad_error_memory(err, "messages", count * sizeof *run->messages);
    for (int d = 0; d < run->plan->cluster.ndevices; d++) {
        const struct ad_program *program = &run->plan->schedule.programs[d];
        for (int i = 0; i < program->nsteps; i++)
            if (program->steps[i].kind == AD_STEP_SEND)
                run->messages[run->nmessages++].tag = program->steps[i].tag;
    }
    qsort(run->messages, run->nmessages, sizeof *run->messages, by_tag);
    return ADAPS_OK;
}

/* --- creation --- */

static int default_threads(const struct ad_device *device)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores >= 1 && device->threads > cores ? (int)cores : device->threads;
}

static enum adaps_status start(struct ad_local_run *run, int threads,
                               const struct ad_weight_source *weights, struct adaps_error *err)
{
    size_t ndevices = (size_t)run->plan->cluster.ndevices;
    run->engines = ad_calloc(ndevices, sizeof *run->engines);
    run->next = ad_calloc(ndevices, sizeof *run->next);
    if (!run->engines || !run->next)
        return ad_error_memory(err, "engines", ndevices * sizeof *run->engines);
    enum adaps_status status = list_messages(run, err);
    for (int d = 0; d < (int)ndevices && status == ADAPS_OK; d++) {
        struct ad_engine_options options = {
            .device = d,
            .cancel = &run->cancel,
            .threads = threads ? threads : default_threads(&run->plan->cluster.devices[d])};
        status = ad_engine_new(run->plan, &options, weights, &run->engines[d], err);
    }
    return status;
}

/* Takes over `single`, on failure too. */
static enum adaps_status make(const struct adaps_plan *plan, struct adaps_plan *single, int threads,
                              const struct ad_weight_source *weights, struct ad_local_run **out,
                              struct adaps_error *err)
{
    struct ad_local_run *run = ad_calloc(1, sizeof *run);
    if (!run) {
        adaps_plan_free(single);
        return ad_error_memory(err, "local run", sizeof *run);
    }
    run->plan = plan;
    run->single = single;
    enum adaps_status status = start(run, threads, weights, err);
    if (status == ADAPS_OK)
        *out = run;
    else
        ad_local_run_free(run);
    return status;
}

enum adaps_status ad_local_run_new(const struct adaps_plan *plan, int threads,
                                   const struct ad_weight_source *weights,
                                   struct ad_local_run **out, struct adaps_error *err)
{
    return make(plan, NULL, threads, weights, out, err);
}

enum adaps_status ad_local_run_single(const struct adaps_plan *plan, int threads,
                                      const struct ad_weight_source *weights,
                                      struct ad_local_run **out, struct adaps_error *err)
{
    struct adaps_plan *single;
    enum adaps_status status = ad_plan_single(plan, &single, err);
    return status == ADAPS_OK ? make(single, single, threads, weights, out, err) : status;
}

static void drop_messages(struct ad_local_run *run)
{
    for (size_t i = 0; i < run->nmessages; i++) {
        ad_free(run->messages[i].data);
        run->messages[i].data = NULL;
    }
}

void ad_local_run_free(struct ad_local_run *run)
{
    if (!run)
        return;
    for (int d = 0; run->engines && d < run->plan->cluster.ndevices; d++)
        ad_engine_free(run->engines[d]);
    drop_messages(run);
    ad_free(run->engines);
    ad_free(run->next);
    ad_free(run->messages);
    adaps_plan_free(run->single);
    ad_free(run);
}

/* --- inferences --- */

/* Runs a device until its end or until it waits. */
static enum adaps_status advance(struct ad_local_run *run, int device, bool *progress,
                                 struct adaps_error *err)
{
    struct ad_transport transport = {send_message, recv_message, run};
    const struct ad_program *program = &run->plan->schedule.programs[device];
    while (run->next[device] < program->nsteps) {
        enum adaps_status status =
            ad_engine_step(run->engines[device], run->next[device], &transport, err);
        if (status == ADAPS_NO)
            return ADAPS_OK;
        if (status != ADAPS_OK) {
            ad_error_prefix(err, "device %s, step %d: ", run->plan->cluster.devices[device].name,
                            run->next[device]);
            return status;
        }
        run->next[device]++;
        *progress = true;
    }
    return ADAPS_OK;
}

/* The first device that is not done, or -1. */
static int waiting_device(const struct ad_local_run *run)
{
    for (int d = 0; d < run->plan->cluster.ndevices; d++)
        if (run->next[d] < run->plan->schedule.programs[d].nsteps)
            return d;
    return -1;
}

static enum adaps_status run_all(struct ad_local_run *run, struct adaps_error *err)
{
    int stuck;
    while ((stuck = waiting_device(run)) >= 0) {
        bool progress = false;
        for (int d = 0; d < run->plan->cluster.ndevices; d++) {
            enum adaps_status status = advance(run, d, &progress, err);
            if (status != ADAPS_OK)
                return status;
        }
        if (!progress) {
            const struct ad_step *step =
                &run->plan->schedule.programs[stuck].steps[run->next[stuck]];
            return ad_error_set(
                err, ADAPS_EINTERNAL,
                "deadlock: device %s, step %d waits for tag %" PRIu32 " from device %d",
                run->plan->cluster.devices[stuck].name, run->next[stuck], step->tag, step->peer);
        }
    }
    return ADAPS_OK;
}

/* The words of a value, in which any but float32 travels; the caller's. NULL: no memory. */
static float *words_of(const struct ad_value *value, struct adaps_error *err)
{
    size_t bytes = ad_end_words(value) * sizeof(float);
    float *words = ad_alloc_aligned(bytes);
    if (!words)
        (void)ad_error_memory(err, value->name, bytes);
    return words;
}

static enum adaps_status feed(struct ad_local_run *run, int i, const struct ad_tensor *input,
                              struct adaps_error *err)
{
    const struct ad_value *value = &run->plan->graph->values[run->plan->graph->inputs[i]];
    struct ad_engine *engine = run->engines[run->plan->cluster.source];
    if (ad_value_is_float(value)) {
        ad_engine_feed(engine, i, input->data);
        return ADAPS_OK;
    }
    float *words = words_of(value, err);
    if (!words)
        return ADAPS_EINTERNAL;
    ad_end_put(value, input, words);
    ad_engine_feed(engine, i, words);
    ad_free(words);
    return ADAPS_OK;
}

static enum adaps_status fetch(struct ad_local_run *run, int i, struct ad_tensor *output,
                               struct adaps_error *err)
{
    const struct ad_value *value = &run->plan->graph->values[run->plan->graph->outputs[i]];
    struct ad_engine *engine = run->engines[run->plan->cluster.source];
    enum adaps_status status;
    if (ad_value_is_float(value)) {
        status = ad_tensor_init(output, value->rank, value->dims, err);
        if (status == ADAPS_OK)
            ad_engine_fetch(engine, i, output->data);
        return status;
    }
    float *words = words_of(value, err);
    if (!words)
        return ADAPS_EINTERNAL;
    ad_engine_fetch(engine, i, words);
    status = ad_end_take(value, words, output, err);
    ad_free(words);
    return status;
}

static enum adaps_status fetch_outputs(struct ad_local_run *run, struct ad_tensor *outputs,
                                       struct adaps_error *err)
{
    for (int i = 0; i < run->plan->graph->noutputs; i++) {
        enum adaps_status status = fetch(run, i, &outputs[i], err);
        if (status != ADAPS_OK) {
            while (i-- > 0)
                ad_tensor_fini(&outputs[i]);
            return status;
        }
    }
    return ADAPS_OK;
}

enum adaps_status ad_local_run_infer(struct ad_local_run *run, const struct ad_tensor *inputs,
                                     struct ad_tensor *outputs, struct adaps_error *err)
{
    const struct ad_graph *graph = run->plan->graph;
    memset(outputs, 0, sizeof *outputs * (size_t)graph->noutputs);
    enum adaps_status status = ad_ends_check_inputs(graph, inputs, err);
    if (status != ADAPS_OK)
        return status;
    memset(run->next, 0, sizeof *run->next * (size_t)run->plan->cluster.ndevices);
    run->start_ns = ad_clock_ns();
    for (int i = 0; i < graph->ninputs && status == ADAPS_OK; i++)
        status = feed(run, i, &inputs[i], err);
    if (status == ADAPS_OK)
        status = run_all(run, err);
    if (status != ADAPS_OK && run->cancel)
        status = ad_error_set(err, ADAPS_ECANCELLED, "the inference was cancelled");
    if (status == ADAPS_OK)
        status = fetch_outputs(run, outputs, err);
    run->end_ns = ad_clock_ns();
    drop_messages(run); /* what an inference that failed left */
    return status;
}

void ad_local_run_cancel(struct ad_local_run *run, bool cancel)
{
    run->cancel = cancel;
}

/* --- what it is and was --- */

const struct adaps_plan *ad_local_run_plan(const struct ad_local_run *run)
{
    return run->plan;
}

void ad_local_run_times(const struct ad_local_run *run, int64_t *start_ns, int64_t *end_ns)
{
    *start_ns = run->start_ns;
    *end_ns = run->end_ns;
}

void ad_local_run_step_times(const struct ad_local_run *run, int device, int step,
                             int64_t *start_ns, int64_t *end_ns)
{
    ad_engine_times(run->engines[device], step, start_ns, end_ns);
}
