#include "report/messages.h"
#include "report/figures.h"

#include <stdlib.h>

static int compare_tags(const void *a, const void *b)
{
    const struct ad_message *x = a, *y = b;
    return (x->tag > y->tag) - (x->tag < y->tag);
}

const struct ad_message *ad_messages_find(const struct ad_messages *messages, uint32_t tag)
{
    struct ad_message key = {.tag = tag};
    return bsearch(&key, messages->items, messages->count, sizeof key, compare_tags);
}

static void collect_sends(const struct adaps_plan *plan, struct ad_messages *out)
{
    for (int d = 0; d < plan->cluster.ndevices; d++)
        for (int i = 0; i < plan->schedule.programs[d].nsteps; i++) {
            const struct ad_step *step = &plan->schedule.programs[d].steps[i];
            if (step->kind != AD_STEP_SEND)
                continue;
            out->items[out->count++] = (struct ad_message){
                .tag = step->tag,
                .from = d,
                .send_step = i,
                .to = step->peer,
                .recv_step = -1,
                .value = step->value,
                .region = step->region,
                .bytes = ad_step_bytes(plan->graph, step),
                .start_ns = step->start_ns,
                .end_ns = step->end_ns,
            };
        }
    qsort(out->items, out->count, sizeof *out->items, compare_tags);
}

static void match_receives(const struct adaps_plan *plan, struct ad_messages *out)
{
    size_t kept = 0;
    for (int d = 0; d < plan->cluster.ndevices; d++)
        for (int i = 0; i < plan->schedule.programs[d].nsteps; i++) {
            const struct ad_step *step = &plan->schedule.programs[d].steps[i];
            if (step->kind != AD_STEP_RECV)
                continue;
            struct ad_message *message = (struct ad_message *)ad_messages_find(out, step->tag);
            if (message && message->to == d)
                message->recv_step = i;
        }
    for (size_t i = 0; i < out->count; i++)
        if (out->items[i].recv_step >= 0)
            out->items[kept++] = out->items[i];
    out->count = kept;
}

enum adaps_status ad_messages_init(struct ad_messages *out, const struct adaps_plan *plan,
                                   struct adaps_error *err)
{
    size_t steps = 1;
    for (int d = 0; d < plan->cluster.ndevices; d++)
        steps += (size_t)plan->schedule.programs[d].nsteps;
    *out = (struct ad_messages){.items = ad_calloc(steps, sizeof *out->items)};
    if (!out->items)
        return ad_error_memory(err, "messages", steps * sizeof *out->items);
    collect_sends(plan, out);
    match_receives(plan, out);
    return ADAPS_OK;
}

void ad_messages_fini(struct ad_messages *messages)
{
    ad_free(messages->items);
    *messages = (struct ad_messages){0};
}
