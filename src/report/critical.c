/* Use of the links, and the critical path: walked backwards from the result, always to the step
 * that the current one had to wait for. */
#include "report/simulation.h"

#include <stdlib.h>

/* A walk in progress. To find the message that held a port, it has all messages by when they left
 * the sender's port (or the shared medium), and by when they left the receiver's. */
struct walk {
    const struct adaps_plan *plan;
    const struct ad_messages *messages;
    const struct ad_message **by_left, **by_end;
    struct ad_simulation *out;
    size_t room;
};

/* When a message left its sender's port, or its receiver's. */
static int64_t left_ns(const struct ad_message *m, bool receiver)
{
    return receiver ? m->end_ns : m->start_ns + m->wire_ns;
}

static int compare(const void *a, const void *b, bool receiver)
{
    const struct ad_message *x = *(const struct ad_message *const *)a;
    const struct ad_message *y = *(const struct ad_message *const *)b;
    int64_t p = left_ns(x, receiver), q = left_ns(y, receiver);
    return p != q ? (p > q) - (p < q) : (x->tag > y->tag) - (x->tag < y->tag);
}

static int compare_left(const void *a, const void *b)
{
    return compare(a, b, false);
}

static int compare_ends(const void *a, const void *b)
{
    return compare(a, b, true);
}

/* The message that left a port of m just when m could have it, so that m had waited for it; or
 * NULL. queued: its receiver's port, else its sender's. */
static const struct ad_message *port_holder(const struct walk *walk, const struct ad_message *m,
                                            bool queued)
{
    const struct ad_message **list = queued ? walk->by_end : walk->by_left;
    int64_t at = queued ? m->end_ns - m->wire_ns : m->start_ns;
    size_t lo = 0, hi = walk->messages->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (left_ns(list[mid], queued) < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < walk->messages->count && left_ns(list[lo], queued) == at; lo++) {
        const struct ad_message *other = list[lo];
        bool same = queued ? other->to == m->to : other->from == m->from;
        if ((walk->plan->cluster.shared_medium || same) && other->start_ns < m->start_ns)
            return other;
    }
    return NULL;
}

/* Times of a stranger's plan may add up to more than there is. */
static void lengthen(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = INT64_MAX;
}

static bool add(struct walk *walk, struct ad_critical part)
{
    struct ad_simulation *out = walk->out;
    const struct ad_program *p = &walk->plan->schedule.programs[part.device];
    if (!ad_grow(&out->path, out->npath, &walk->room, sizeof *out->path))
        return false;
    out->path[out->npath++] = part;
    bool computes = p->steps[part.step].kind == AD_STEP_COMPUTE;
    lengthen(computes ? &out->compute_ns : &out->transfer_ns, part.end_ns - part.start_ns);
    return true;
}

/* Adds a message and those that held its ports before it. Returns the earliest of them; the walk
 * goes on from the step before its SEND. NULL without memory. */
static const struct ad_message *walk_messages(struct walk *walk, const struct ad_message *m)
{
    /* it waited for its receiver's port, not for its sender's */
    bool queued = m->end_ns > left_ns(m, false);
    for (;;) {
        int64_t end_ns = left_ns(m, queued);
        if (!add(walk, (struct ad_critical){m->from, m->send_step, end_ns - m->wire_ns, end_ns}))
            return NULL;
        const struct ad_message *holder = port_holder(walk, m, queued);
        if (!holder)
            return m;
        /* one that held the sender's port may have waited for its own receiver's after that */
        queued = queued && holder->end_ns > left_ns(holder, false);
        m = holder;
    }
}

static bool walk_back(struct walk *walk)
{
    const struct ad_schedule *schedule = &walk->plan->schedule;
    int device = walk->plan->cluster.source;
    int step = schedule->programs[device].nsteps - 1;
    /* a verified plan has no cycle, but the times in a plan file may be anything */
    size_t left = 2 * walk->messages->count;
    for (int d = 0; d < schedule->ndevices; d++)
        left += (size_t)schedule->programs[d].nsteps;
    for (; step >= 0 && left > 0; left--) {
        const struct ad_step *s = &schedule->programs[device].steps[step];
        if (s->kind == AD_STEP_COMPUTE &&
            !add(walk, (struct ad_critical){device, step, s->start_ns, s->end_ns}))
            return false;
        const struct ad_message *m = NULL;
        if (s->kind == AD_STEP_RECV && s->end_ns > s->start_ns)
            m = ad_messages_find(walk->messages, s->tag);
        if (m) {
            m = walk_messages(walk, m);
            if (!m)
                return false;
            device = m->from;
            step = m->send_step;
        }
        step--;
    }
    struct ad_critical *path = walk->out->path;
    for (size_t i = 0, n = walk->out->npath; i < n / 2; i++) {
        struct ad_critical swap = path[i];
        path[i] = path[n - 1 - i];
        path[n - 1 - i] = swap;
    }
    return true;
}

static bool sum_links(struct ad_simulation *out, const struct ad_messages *messages, int ndevices)
{
    size_t n = (size_t)ndevices;
    out->links = ad_calloc(n * n, sizeof *out->links);
    if (!out->links)
        return false;
    for (size_t i = 0; i < messages->count; i++) {
        const struct ad_message *m = &messages->items[i];
        struct ad_link_use *use = &out->links[(size_t)m->from * n + (size_t)m->to];
        use->from = m->from;
        use->to = m->to;
        use->bytes += m->bytes;
        use->messages++;
        use->busy_ns += m->wire_ns;
    }
    for (size_t i = 0; i < n * n; i++)
        if (out->links[i].messages > 0)
            out->links[out->nlinks++] = out->links[i];
    return true;
}

enum adaps_status ad_simulation_init(struct ad_simulation *out, const struct adaps_plan *plan,
                                     struct adaps_error *err)
{
    struct ad_messages messages;
    *out = (struct ad_simulation){0};
    enum adaps_status status = ad_messages_init(&messages, plan, err);
    if (status != ADAPS_OK)
        return status;
    struct walk walk = {.plan = plan, .messages = &messages, .out = out};
    walk.by_left = ad_calloc(messages.count + 1, sizeof *walk.by_left);
    walk.by_end = ad_calloc(messages.count + 1, sizeof *walk.by_end);
    bool ok = walk.by_left && walk.by_end;
    if (ok) {
        for (size_t i = 0; i < messages.count; i++)
            walk.by_left[i] = walk.by_end[i] = &messages.items[i];
        qsort(walk.by_left, messages.count, sizeof *walk.by_left, compare_left);
        qsort(walk.by_end, messages.count, sizeof *walk.by_end, compare_ends);
        ok = walk_back(&walk) && sum_links(out, &messages, plan->cluster.ndevices);
    }
    if (!ok) {
        status = ad_error_memory(err, "simulation", messages.count * sizeof *walk.by_end);
        ad_simulation_fini(out);
    }
    ad_free(walk.by_left);
    ad_free(walk.by_end);
    ad_messages_fini(&messages);
    return status;
}

void ad_simulation_fini(struct ad_simulation *simulation)
{
    ad_free(simulation->path);
    ad_free(simulation->links);
    *simulation = (struct ad_simulation){0};
}
