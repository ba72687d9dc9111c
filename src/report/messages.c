#include "report/messages.h"
#include "report/figures.h"

#include <stdlib.h>

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int compare_tags(const void *a, const void *b)
{
    const struct ad_message *x = a, *y = b;
    return (x->tag > y->tag) - (x->tag < y->tag);
}

static struct ad_message *find(const struct ad_messages *messages, uint32_t tag)
{
    struct ad_message key = {.tag = tag};
    return bsearch(&key, messages->items, messages->count, sizeof key, compare_tags);
}

const struct ad_message *ad_messages_find(const struct ad_messages *messages, uint32_t tag)
{
    return find(messages, tag);
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
            struct ad_message *m = &out->items[out->count - 1];
            m->wire_ns = min(ad_schedule_wire_ns(&plan->cluster, d, m->to, m->bytes),
                             m->end_ns - m->start_ns);
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
            struct ad_message *message = find(out, step->tag);
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

/* A message that nobody waited for arrives after it was handed over, after those before it on the
 * same way, after it had left, and at its end at the latest. */
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

/* Messages leave their sender, or use the shared medium, one after the other in this order. Each
 * starts when it has been handed over and has a port, and has it for as long as the plan says,
 * unless it or one after it arrived sooner. by_ns: room for a number of each message. */
static void pass_uplinks(const struct ad_messages *messages, struct ad_message *const *order,
                         bool shared, int64_t *by_ns)
{
    int64_t left = INT64_MIN, by = INT64_MAX;
    for (size_t i = messages->count; i-- > 0;) {
        bool last = i + 1 == messages->count || (!shared && order[i + 1]->from != order[i]->from);
        by_ns[i] = by = min(last ? INT64_MAX : by, order[i]->end_ns);
    }
    for (size_t i = 0; i < messages->count; i++) {
        struct ad_message *m = order[i];
        if (i == 0 || (!shared && order[i - 1]->from != m->from))
            left = INT64_MIN;
        m->start_ns = min(m->start_ns > left ? m->start_ns : left, by_ns[i]);
        m->wire_ns = min(m->wire_ns, by_ns[i] - m->start_ns);
        left = m->start_ns + m->wire_ns;
    }
}

/* They reach their receiver in the order of their ends. */
static void pass_downlinks(const struct ad_messages *messages, struct ad_message *const *order)
{
    int64_t came[AD_MAX_DEVICES];
    for (int d = 0; d < AD_MAX_DEVICES; d++)
        came[d] = INT64_MIN;
    for (size_t i = 0; i < messages->count; i++) {
        struct ad_message *m = order[i];
        if (m->end_ns - m->wire_ns < came[m->to])
            m->wire_ns = m->end_ns - came[m->to];
        came[m->to] = m->end_ns;
    }
}

enum adaps_status ad_messages_measure(struct ad_messages *messages, const struct adaps_plan *plan,
                                      const struct ad_trace *trace, struct adaps_error *err)
{
    bool shared = plan->cluster.shared_medium;
    struct ad_message **order = ad_calloc(messages->count, sizeof(*order));
    int64_t *by_ns = ad_calloc(messages->count, sizeof *by_ns);
    if (!order || !by_ns) {
        ad_free(order);
        ad_free(by_ns);
        return ad_error_memory(err, "messages", messages->count * (sizeof(*order) + sizeof *by_ns));
    }
    for (size_t i = 0; i < messages->count; i++) {
        struct ad_message *m = order[i] = &messages->items[i];
        const struct ad_step_times *sent = &trace->devices[m->from].steps[m->send_step];
        const struct ad_step_times *taken = &trace->devices[m->to].steps[m->recv_step];
        m->timed = taken->mark_ns > taken->start_ns;
        m->start_ns = sent->mark_ns;
        m->end_ns = taken->mark_ns;
        if (m->end_ns < m->start_ns) /* the clocks' uncertainty */
            m->start_ns = m->end_ns;
    }
    guess_ends(messages, order, plan, trace);
    if (shared)
        qsort(order, messages->count, sizeof(*order), compare_ends);
    pass_uplinks(messages, order, shared, by_ns);
    qsort(order, messages->count, sizeof(*order), compare_ends);
    pass_downlinks(messages, order);
    ad_free(order);
    ad_free(by_ns);
    return ADAPS_OK;
}

void ad_messages_arrive(struct ad_messages *messages, const struct adaps_plan *plan)
{
    for (size_t i = 0; i < messages->count; i++) {
        double latency = 1e9 * link_of(plan, &messages->items[i])->latency;
        messages->items[i].end_ns += latency < 1e15 ? (int64_t)latency : INT64_C(1000000000000000);
    }
}

void ad_messages_fini(struct ad_messages *messages)
{
    ad_free(messages->items);
    *messages = (struct ad_messages){0};
}
