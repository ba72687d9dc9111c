/* The arrays of bench/papers/defer: the messages of an inference, and weights. */
#include "base/mem.h"
#include "base/rng.h"
#include "defer.h"
#include "exec/engine/engine.h"
#include "ir/weight.h"

#include <string.h>

#define MOST_MESSAGES 4096

/* Messages by tag, in memory. */
struct post {
    float *data[MOST_MESSAGES];
    size_t bytes[MOST_MESSAGES];
    struct coded *sum;
};

static enum adaps_status send_message(void *self, const struct ad_step *step,
                                      const struct ad_span_list *spans, struct adaps_error *err)
{
    struct post *post = self;
    size_t bytes = ad_spans_bytes(spans);
    if (step->tag >= MOST_MESSAGES)
        return ad_error_set(err, ADAPS_EINTERNAL, "more messages than %d", MOST_MESSAGES);
    post->data[step->tag] = ad_calloc(bytes, 1);
    if (!post->data[step->tag])
        return ad_error_memory(err, "message", bytes);
    post->bytes[step->tag] = bytes;
    ad_spans_gather(spans, post->data[step->tag]);
    codecs_add(post->data[step->tag], bytes / sizeof(float), post->sum);
    return ADAPS_OK;
}

static enum adaps_status recv_message(void *self, const struct ad_step *step,
                                      const struct ad_span_list *forms, int nforms, int *form,
                                      struct adaps_error *err)
{
    struct post *post = self;
    if (step->tag >= MOST_MESSAGES)
        return ad_error_set(err, ADAPS_EINTERNAL, "more messages than %d", MOST_MESSAGES);
    if (!post->data[step->tag])
        return ADAPS_NO;
    *form = ad_spans_form(forms, nforms, post->bytes[step->tag]);
    ad_spans_take(&forms[*form], post->data[step->tag], post->bytes[step->tag]);
    ad_free(post->data[step->tag]);
    post->data[step->tag] = NULL;
    return ADAPS_OK;
}

/* Random levels of a picture into an input of the source's engine. */
static void feed(const struct adaps_plan *plan, struct ad_engine *engine, int input)
{
    size_t count = (size_t)ad_box_elements(plan->graph->values[plan->graph->inputs[input]].box);
    float *data = ad_calloc(count, sizeof *data);
    struct ad_rng rng = {1};
    struct adaps_error err;
    if (!data) {
        ad_error_memory(&err, "input", count * sizeof *data);
        defer_fail("", &err);
    }
    for (size_t i = 0; i < count; i++)
        data[i] = (float)ad_rng_below(&rng, 256) / 255;
    ad_engine_feed(engine, input, data);
    ad_free(data);
}

/* Runs each device until it waits, in turns, until all are done. */
static void run(const struct adaps_plan *plan, struct ad_engine **engines, struct post *post)
{
    const struct ad_transport transport = {send_message, recv_message, post};
    int next[AD_MAX_DEVICES] = {0};
    struct adaps_error err;
    for (bool progress = true; progress;) {
        progress = false;
        for (int d = 0; d < plan->cluster.ndevices; d++)
            while (next[d] < plan->schedule.programs[d].nsteps) {
                enum adaps_status status = ad_engine_step(engines[d], next[d], &transport, &err);
                if (status == ADAPS_NO)
                    break;
                if (status != ADAPS_OK)
                    defer_fail("", &err);
                next[d]++;
                progress = true;
            }
    }
}

void defer_messages(const struct adaps_plan *plan, struct coded *sum)
{
    static struct post post;
    struct ad_engine *engines[AD_MAX_DEVICES] = {NULL};
    struct ad_weight_source weights = ad_weights_of_graph(plan->graph);
    struct adaps_error err;
    memset(&post, 0, sizeof post);
    post.sum = sum;
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        const struct ad_engine_options options = {.device = d, .threads = 1};
        if (ad_engine_new(plan, &options, &weights, &engines[d], &err) != ADAPS_OK)
            defer_fail("", &err);
    }
    for (int i = 0; i < plan->graph->ninputs; i++)
        feed(plan, engines[plan->cluster.source], i);
    run(plan, engines, &post);
    for (int d = 0; d < plan->cluster.ndevices; d++)
        ad_engine_free(engines[d]);
}

void defer_weights(const struct adaps_plan *plan, bool source, struct coded *sum)
{
    struct adaps_error err;
    for (int d = 0; d < plan->cluster.ndevices; d++)
        for (int i = 0; (source || d != plan->cluster.source) && i < plan->slices[d].count; i++) {
            const struct ad_slice *slice = &plan->slices[d].items[i];
            const struct ad_weight *weight = &plan->graph->weights[slice->weight];
            size_t count = (size_t)((slice->row1 - slice->row0) * weight->row_elements);
            float *data = ad_calloc(count, sizeof *data);
            if (!data) {
                ad_error_memory(&err, "weight", count * sizeof *data);
                defer_fail("", &err);
            }
            if (ad_weight_read(weight, slice->row0, slice->row1, data, &err) != ADAPS_OK)
                defer_fail("", &err);
            codecs_add(data, count, sum);
            ad_free(data);
        }
}
