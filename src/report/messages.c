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

static const struct ad_link *link_of(const struct adaps_plan *plan, const struct ad_message *m)
{
    return &plan->cluster.links[m->from * plan->cluster.ndevices + m->to];
}

static int compare_ends(const void *a, const void *b)
{
    const struct ad_message *x = *(struct ad_message *const *)a;
    const struct ad_message *y = *(struct ad_message *const *)b;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return (x->tag > y->tag) - (x->tag < y->tag);
}

/* In the order of their steps. */
static int compare_sends(const void *a, const void *b)
{
    const struct ad_message *x = *(struct ad_message *const *)a;
    const struct ad_message *y = *(struct ad_message *const *)b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->send_step > y->send_step) - (x->send_step < y->send_step);
}

/* What nobody waited for is there some time after it was handed over and after what went the same
 * way before it, not before it had left, and at the latest at its end. */
static void guess_ends(const struct ad_messages *messages, struct ad_message **order,
                       const struct adaps_plan *plan, const struct ad_trace *trace)
{
    int64_t before[AD_MAX_DEVICES];
    qsort(order, messages->count, sizeof(*order), compare_sends);
    for (size_t i = 0; i < messages->count; i++) {
        struct ad_message *m = order[i];
        if (i == 0 || order[i - 1]->from != m->from)
            for (int d = 0; d < AD_MAX_DEVICES; d++)
                before[d] = INT64_MIN;
        int64_t start = m->start_ns > before[m->to] ? m->start_ns : before[m->to];
        const struct ad_link *link = link_of(plan, m);
        double ns = 1e9 * ((double)m->bytes / link->bandwidth + link->latency);
        int64_t left = trace->devices[m->from].steps[m->send_step].left_ns;
        if (!m->timed && (double)(m->end_ns - start) > ns) {
            int64_t guess = start + (int64_t)ns > left ? start + (int64_t)ns : left;
            m->end_ns = guess < m->end_ns ? guess : m->end_ns;
        }
        before[m->to] = m->end_ns;
    }
}

/* No message occupies its links before those that ended earlier have left them. */
static void queue(const struct ad_messages *messages, struct ad_message **order,
                  const struct adaps_plan *plan)
{
    int64_t up[AD_MAX_DEVICES], down[AD_MAX_DEVICES], medium = INT64_MIN;
    for (int d = 0; d < AD_MAX_DEVICES; d++)
        up[d] = down[d] = INT64_MIN;
    qsort(order, messages->count, sizeof(*order), compare_ends);
    for (size_t i = 0; i < messages->count; i++) {
        struct ad_message *m = order[i];
        int64_t unused = up[m->from] > down[m->to] ? up[m->from] : down[m->to];
        if (plan->cluster.shared_medium)
            unused = medium;
        m->start_ns = m->start_ns > unused ? m->start_ns : unused;
        up[m->from] = down[m->to] = medium = m->end_ns;
    }
}

static struct ad_message **list(const struct ad_messages *messages, struct adaps_error *err)
{
    struct ad_message **order = ad_calloc(messages->count, sizeof(*order));
    if (!order)
        ad_error_memory(err, "messages", messages->count * sizeof(*order));
    for (size_t i = 0; order && i < messages->count; i++)
        order[i] = &messages->items[i];
    return order;
}

enum adaps_status ad_messages_measure(struct ad_messages *messages, const struct adaps_plan *plan,
                                      const struct ad_trace *trace, struct adaps_error *err)
{
    struct ad_message **order = list(messages, err);
    if (!order)
        return ADAPS_EINTERNAL;
    for (size_t i = 0; i < messages->count; i++) {
        struct ad_message *m = &messages->items[i];
        const struct ad_step_times *sent = &trace->devices[m->from].steps[m->send_step];
        const struct ad_step_times *taken = &trace->devices[m->to].steps[m->recv_step];
        m->timed = taken->mark_ns > taken->start_ns;
        m->start_ns = sent->mark_ns;
        m->end_ns = taken->mark_ns;
        if (m->end_ns < m->start_ns) /* the clocks' uncertainty */
            m->start_ns = m->end_ns;
    }
    guess_ends(messages, order, plan, trace);
    queue(messages, order, plan);
    ad_free(order);
    return ADAPS_OK;
}

enum adaps_status ad_messages_arrive(struct ad_messages *messages, const struct adaps_plan *plan,
                                     struct adaps_error *err)
{
    struct ad_message **order = list(messages, err);
    if (!order)
        return ADAPS_EINTERNAL;
    for (size_t i = 0; i < messages->count; i++) {
        struct ad_message *m = &messages->items[i];
        double latency = 1e9 * link_of(plan, m)->latency;
        m->end_ns += latency < 1e15 ? (int64_t)latency : INT64_C(1000000000000000);
    }
    queue(messages, order, plan);
    ad_free(order);
    return ADAPS_OK;
}

void ad_messages_fini(struct ad_messages *messages)
{
    ad_free(messages->items);
    *messages = (struct ad_messages){0};
}
