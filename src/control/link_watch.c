#include "control/link_watch.h"

#include <math.h>

#define MATTERS 0.02 /* of the plan's latency */
#define LARGE 0.5    /* of the link's longest message */
#define CLOCKS 0.2   /* of a message's time may be the clocks' uncertainty */

struct ad_planned_message {
    int from, to;
    size_t sent, taken; /* indices in struct ad_moves */
    double wire_ns;     /* on the uplink */
    double latency_ns;
    double planned_ns; /* from its first byte to its arrival, as the plan has it */
    double alone_ns;   /* if nothing else were on its way */
};

struct ad_link_watch {
    int ndevices;
    double least_ns;                     /* what matters */
    struct ad_planned_message *messages; /* in the order of devices and their steps */
    size_t count;
    double *slower, *faster, *longest; /* by link: the least ratios, to planned_ns and alone_ns;
                                          the longest alone_ns */
};

size_t ad_moves_count(const struct ad_program *program)
{
    size_t n = 0;
    for (int i = 0; i < program->nsteps; i++)
        n += program->steps[i].kind != AD_STEP_COMPUTE;
    return n;
}

/* The index of the RECV with this tag; the plan is verified, so there is one. */
static size_t find_taken(const struct ad_program *program, uint32_t tag)
{
    size_t at = 0;
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        if (step->kind == AD_STEP_RECV && step->tag == tag)
            break;
        at += step->kind != AD_STEP_COMPUTE;
    }
    return at;
}

static struct ad_planned_message describe(const struct adaps_plan *plan, int from, size_t sent,
                                          const struct ad_step *step)
{
    const struct ad_link *link = &plan->cluster.links[from * plan->cluster.ndevices + step->peer];
    int64_t bytes = ad_step_bytes(plan->graph, step);
    struct ad_planned_message m = {.from = from, .to = step->peer, .sent = sent};
    m.taken = find_taken(&plan->schedule.programs[step->peer], step->tag);
    m.wire_ns = (double)ad_schedule_wire_ns(&plan->cluster, from, step->peer, bytes);
    m.latency_ns = 1e9 * link->latency;
    m.alone_ns = m.wire_ns + m.latency_ns;
    m.planned_ns = (double)(step->end_ns - step->start_ns) + m.latency_ns;
    return m;
}

static void list_messages(const struct adaps_plan *plan, struct ad_link_watch *t)
{
    int n = t->ndevices;
    for (int d = 0; d < n; d++) {
        const struct ad_program *program = &plan->schedule.programs[d];
        size_t at = 0;
        for (int i = 0; i < program->nsteps; i++) {
            const struct ad_step *step = &program->steps[i];
            if (step->kind == AD_STEP_SEND) {
                struct ad_planned_message *m = &t->messages[t->count++];
                *m = describe(plan, d, at, step);
                double *longest = &t->longest[d * n + m->to];
                *longest = fmax(*longest, m->alone_ns);
            }
            at += step->kind != AD_STEP_COMPUTE;
        }
    }
}

enum adaps_status ad_link_watch_new(const struct adaps_plan *plan, struct ad_link_watch **out,
                                    struct adaps_error *err)
{
    size_t n = (size_t)plan->cluster.ndevices, messages = 1;
    if (plan->stream.frames > 1 || plan->stream.nturns > 1)
        return ad_error_set(err, ADAPS_NO, "the plan computes several inferences at a time");
    struct ad_link_watch *t = ad_calloc(1, sizeof *t);
    if (!t)
        return ad_error_memory(err, "links", sizeof *t);
    for (size_t d = 0; d < n; d++)
        messages += ad_moves_count(&plan->schedule.programs[d]);
    t->ndevices = (int)n;
    t->least_ns = MATTERS * (double)plan->schedule.makespan_ns;
    t->messages = ad_calloc(messages, sizeof *t->messages);
    t->slower = ad_calloc(n * n, sizeof *t->slower);
    t->faster = ad_calloc(n * n, sizeof *t->faster);
    t->longest = ad_calloc(n * n, sizeof *t->longest);
    if (!t->messages || !t->slower || !t->faster || !t->longest) {
        ad_link_watch_free(t);
        return ad_error_memory(err, "links", messages * sizeof *t->messages);
    }
    list_messages(plan, t);
    *out = t;
    return ADAPS_OK;
}

void ad_link_watch_free(struct ad_link_watch *t)
{
    if (!t)
        return;
    ad_free(t->messages);
    ad_free(t->slower);
    ad_free(t->faster);
    ad_free(t->longest);
    ad_free(t);
}

/* A time of a device on the controller's clock. */
static double at(const struct ad_moves *moves, const struct ad_clock *clock, size_t i)
{
    return (double)moves->begin_ns - clock->offset_ns + (double)moves->ns[i];
}

/* What a message took: at least, since its port was free at the latest; at most, since it was
 * handed over. */
static void judge(struct ad_link_watch *t, const struct ad_planned_message *m, double uncertainty,
                  double least, double most)
{
    int link = m->from * t->ndevices + m->to;
    if (uncertainty > CLOCKS * m->alone_ns || m->alone_ns < LARGE * t->longest[link] ||
        fmax(most, m->planned_ns) < t->least_ns)
        return;
    t->slower[link] = fmin(t->slower[link], fmax(least, 1) / m->planned_ns);
    t->faster[link] = fmin(t->faster[link], fmax(most, 1) / m->alone_ns);
}

void ad_link_watch_measure(struct ad_link_watch *t, const struct ad_moves *moves,
                           const struct ad_clock *clocks, double *ratios)
{
    double left = -INFINITY; /* when the port was free again, at the latest */
    int links = t->ndevices * t->ndevices;
    for (int i = 0; i < links; i++)
        t->slower[i] = t->faster[i] = INFINITY;
    for (size_t i = 0; i < t->count; i++) {
        const struct ad_planned_message *m = &t->messages[i];
        const struct ad_moves *from = &moves[m->from], *to = &moves[m->to];
        if (i == 0 || m[-1].from != m->from)
            left = -INFINITY;
        if (from->count <= m->sent || to->count <= m->taken)
            continue;
        double handed = at(from, &clocks[m->from], m->sent);
        double start = fmax(handed, left);
        left = start + m->wire_ns;
        if (to->ns[m->taken] == 0)
            continue;
        double arrival = at(to, &clocks[m->to], m->taken);
        judge(t, m, clocks[m->from].uncertainty_ns + clocks[m->to].uncertainty_ns, arrival - start,
              arrival - handed);
        left = fmax(left, arrival - m->latency_ns);
    }
    for (int i = 0; i < links; i++)
        ratios[i] = isinf(t->slower[i]) ? 0
                    : t->slower[i] > 1  ? t->slower[i]
                    : t->faster[i] < 1  ? t->faster[i]
                                        : 1;
}
