#include "exec/agent/live.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define SECOND_NS ((int64_t)1000000000)

/* Of counters that one thread alone changes, and that need no order among themselves. */
#define GET(counter) atomic_load_explicit(&(counter), memory_order_relaxed)
#define SET(counter, value) atomic_store_explicit(&(counter), value, memory_order_relaxed)
#define ADD(counter, value) SET(counter, GET(counter) + (value))

void ad_live_init(struct ad_live *live)
{
    memset(live, 0, sizeof *live);
    live->start_ns = ad_clock_ns();
    live->op = -1;
    snprintf(live->controller.name, sizeof live->controller.name, "controller");
    pthread_mutex_init(&live->mutex, NULL);
}

void ad_live_fini(struct ad_live *live)
{
    pthread_mutex_destroy(&live->mutex);
}

/* --- counting --- */

void ad_live_set_plan(struct ad_live *live, const struct adaps_plan *plan)
{
    pthread_mutex_lock(&live->mutex);
    live->plan = plan;
    SET(live->op, -1);
    pthread_mutex_unlock(&live->mutex);
}

struct ad_live_link *ad_live_link(struct ad_live *live, const char *peer)
{
    int i = 0;
    pthread_mutex_lock(&live->mutex);
    while (i < live->nlinks &&
           strncmp(live->links[i].name, peer, sizeof live->links[i].name - 1) != 0)
        i++;
    if (i == AD_LIVE_LINKS) {
        i = AD_LIVE_LINKS - 1;
        snprintf(live->links[i].name, sizeof live->links[i].name, "others");
    } else if (i == live->nlinks) {
        snprintf(live->links[i].name, sizeof live->links[i].name, "%s", peer);
        live->nlinks++;
    }
    pthread_mutex_unlock(&live->mutex);
    return &live->links[i];
}

void ad_live_begin(struct ad_live *live)
{
    ADD(live->begun, 1);
}

void ad_live_step(struct ad_live *live, enum ad_live_doing doing, int step, int steps)
{
    SET(live->doing, (int)doing);
    SET(live->step, step);
    SET(live->steps, steps);
    if (doing == AD_LIVE_COMPUTING)
        SET(live->since_ns, ad_clock_ns());
}

/* Adds a time of computing to the seconds in which it was. */
static void add_to_slots(struct ad_live *live, int64_t start_ns, int64_t end_ns)
{
    int64_t oldest_ns = end_ns - AD_LIVE_SECONDS * SECOND_NS;
    for (int64_t at = start_ns > oldest_ns ? start_ns : oldest_ns; at < end_ns;) {
        int64_t second = at / SECOND_NS, until = (second + 1) * SECOND_NS;
        until = until < end_ns ? until : end_ns;
        int slot = (int)(second % AD_LIVE_SLOTS);
        if (GET(live->slots[slot].second) != second) {
            SET(live->slots[slot].busy_ns, 0);
            SET(live->slots[slot].second, second);
        }
        ADD(live->slots[slot].busy_ns, until - at);
        at = until;
    }
}

void ad_live_computed(struct ad_live *live, int64_t start_ns, int64_t end_ns)
{
    SET(live->since_ns, 0);
    ADD(live->compute_ns, end_ns - start_ns);
    add_to_slots(live, start_ns, end_ns);
}

void ad_live_wait(struct ad_live *live)
{
    SET(live->doing, (int)AD_LIVE_WAITING);
}

void ad_live_waited(struct ad_live *live, int64_t ns)
{
    ADD(live->waiting_ns, ns);
}

void ad_live_rest(struct ad_live *live)
{
    SET(live->since_ns, 0);
    SET(live->op, -1);
    SET(live->step, 0);
    SET(live->steps, 0);
    SET(live->doing, (int)AD_LIVE_IDLE);
}

void ad_live_done(struct ad_live *live, int64_t latency_ns)
{
    ADD(live->done, 1);
    if (latency_ns >= 0)
        ad_durations_add(&live->durations, latency_ns);
}

void ad_live_failed(struct ad_live *live, enum ad_live_error error)
{
    ADD(live->failed[error], 1);
}

void ad_live_sent(struct ad_live_link *link, uint64_t bytes)
{
    if (!link)
        return;
    ADD(link->bytes_sent, bytes);
    ADD(link->messages_sent, 1);
}

void ad_live_received(struct ad_live_link *link, uint64_t bytes)
{
    if (!link)
        return;
    ADD(link->bytes_received, bytes);
    ADD(link->messages_received, 1);
}

void ad_live_set_session(struct ad_live *live, bool open)
{
    if (open)
        ADD(live->sessions, 1);
    SET(live->session_ns, open ? ad_clock_ns() : 0);
}

/* --- reading --- */

double ad_live_busy(const struct ad_live *live, int64_t now_ns)
{
    int64_t first = now_ns / SECOND_NS - (AD_LIVE_SECONDS - 1), busy = 0;
    int64_t start_ns = first * SECOND_NS;
    start_ns = start_ns > live->start_ns ? start_ns : live->start_ns;
    for (int i = 0; i < AD_LIVE_SLOTS; i++) {
        int64_t ns = GET(live->slots[i].busy_ns);
        busy += GET(live->slots[i].second) >= first ? ns : 0;
    }
    int64_t since_ns = GET(live->since_ns);
    if (since_ns > 0 && now_ns > since_ns)
        busy += now_ns - (since_ns > start_ns ? since_ns : start_ns);
    double share = now_ns > start_ns ? (double)busy / (double)(now_ns - start_ns) : 0;
    return share < 1 ? share : 1;
}

static void look_at_link(const struct ad_live_link *link, struct ad_live_link_seen *out)
{
    snprintf(out->name, sizeof out->name, "%s", link->name);
    out->bytes_sent = GET(link->bytes_sent);
    out->messages_sent = GET(link->messages_sent);
    out->bytes_received = GET(link->bytes_received);
    out->messages_received = GET(link->messages_received);
}

/* The file's name without folders. */
static const char *model_name(const struct adaps_plan *plan)
{
    const char *slash = strrchr(plan->model_path, '/');
    return slash ? slash + 1 : plan->model_path;
}

/* Under the mutex. */
static void look_at_plan(const struct ad_live *live, struct ad_live_seen *out)
{
    const struct adaps_plan *plan = live->plan;
    int op = GET(live->op);
    if (!plan)
        return;
    snprintf(out->plan, sizeof out->plan, "%s", model_name(plan));
    out->digest = plan->digest;
    out->latency_ns =
        plan->stream.frames > 1 ? plan->stream.latency_ns : plan->schedule.makespan_ns;
    out->interval_ns = plan->stream.interval_ns;
    if (op >= 0 && op < plan->graph->nops)
        snprintf(out->layer, sizeof out->layer, "%s", plan->graph->ops[op].name);
}

void ad_live_look(struct ad_live *live, struct ad_live_seen *out)
{
    int64_t session_ns = GET(live->session_ns);
    memset(out, 0, sizeof *out);
    out->now_ns = ad_clock_ns();
    out->begun = GET(live->begun);
    out->done = GET(live->done);
    for (int i = 0; i < AD_LIVE_ERRORS; i++) {
        out->errors[i] = GET(live->failed[i]);
        out->failed += out->errors[i];
    }
    out->sessions = GET(live->sessions);
    out->compute_ns = GET(live->compute_ns);
    out->waiting_ns = GET(live->waiting_ns);
    out->busy = ad_live_busy(live, out->now_ns);
    ad_durations_look(&live->durations, &out->durations);
    out->doing = (enum ad_live_doing)GET(live->doing);
    out->step = GET(live->step);
    out->steps = GET(live->steps);
    out->session_ns = session_ns > 0 ? out->now_ns - session_ns : -1;
    out->cache_bytes = GET(live->cache_bytes);
    look_at_link(&live->controller, &out->controller);
    pthread_mutex_lock(&live->mutex);
    look_at_plan(live, out);
    out->nlinks = live->nlinks;
    for (int i = 0; i < live->nlinks; i++)
        look_at_link(&live->links[i], &out->links[i]);
    pthread_mutex_unlock(&live->mutex);
}
