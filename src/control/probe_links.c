/* Links between agents, timed by messages that go there and back in sessions like any other. The
 * agents measure how long they wait, so neither the controller's own connections to them nor
 * copying what is sent count:
 *
 *   wait(small there, small back) + sending it = 2 latencies
 *   wait(large there, small back) = that + large / bandwidth there
 *   wait(large there, large back) = that + large / bandwidth back + copying it there
 *
 * Where threads of communication and computing share a core, the sender may have it back only when
 * the message has left. Then sending takes longer than waiting, and both together are the way.
 *
 * Messages also take time of the processors while they travel. That is measured, for two sizes, by
 * how much longer computing takes meanwhile: every device sends some messages and receives as many,
 * all at the same time. It computes in steps as short as those of plans, because a device that is
 * slowed down (exec/engine/throttle.h) sleeps most of the time, also when messages come. On devices
 * that share a machine (bench/testbed), this includes the time that the others' messages take. */
#include "base/clock.h"
#include "base/stats.h"
#include "control/probe.h"

#include <math.h>
#include <string.h>

#define SMALL_ROWS 1
#define FIRST_ROWS 16  /* 16 KiB: to get an idea */
#define MOST_ROWS 2048 /* 2 MiB */
#define LEAST_ROWS 128 /* 128 KiB */
#define MOST_RUNS 31
#define MESSAGE_S 0.03    /* a large message should take so long */
#define EXCHANGE_S 0.004  /* at most, of one that is exchanged while devices compute, */
#define EXCHANGE_ROWS 128 /* which is no larger than messages of plans */
#define EXCHANGES 12
#define LEAST_WORK_S 0.0002 /* computing takes at least so long, as between messages of plans, */
#define STEPS 4             /* in so many steps */
#define MOST_WORK 1024      /* of so many tasks at most */
#define BURST 3             /* messages that each sends at a time */
#define FEW_EXCHANGES 4     /* to see how long one takes */
#define TURNS 7             /* computing with messages and without, at most */
#define TURN_S 0.3          /* one of both takes so long at least */

struct links {
    const struct ad_device *a, *b;
    const struct ad_session_options *options;
    struct ad_link guess;
};

/* Seconds of one round trip, on each device: waiting, copying and handing over, computing. */
enum { WAIT, SEND, WORK, QUANTITIES };

static enum adaps_status run_once(struct ad_session *session, const struct adaps_plan *plan,
                                  int trips, double *out, struct adaps_error *err)
{
    struct ad_device_stats devices[AD_MAX_DEVICES];
    struct ad_run_stats stats = {.devices = devices};
    enum adaps_status status = ad_session_run_zeros(session, &stats, err);
    if (status != ADAPS_OK)
        return status;
    double n = (double)trips * 1e9;
    for (int d = 0; d < plan->cluster.ndevices; d++, out += QUANTITIES) {
        const struct ad_device_stats *s = &devices[d];
        out[WAIT] = (double)s->wait_ns / n;
        out[SEND] = (double)(s->total_ns - s->wait_ns - s->compute_ns) / n;
        out[WORK] = (double)s->compute_ns / n;
    }
    return ADAPS_OK;
}

/* Runs a plan of so many round trips again and again. out: [device * QUANTITIES + quantity], the
 * medians.
 */
static enum adaps_status time_plan(const struct adaps_plan *plan,
                                   const struct ad_session_options *options, int trips,
                                   double budget_s, double *out, struct adaps_error *err)
{
    size_t n = 0, size = (size_t)plan->cluster.ndevices * QUANTITIES;
    struct ad_push_report reports[AD_MAX_DEVICES];
    struct ad_session *session = NULL;
    double column[MOST_RUNS], *runs = ad_calloc(MOST_RUNS * size, sizeof *runs);
    if (!runs)
        return ad_error_memory(err, "pings", MOST_RUNS * size * sizeof *runs);
    enum adaps_status status = ad_push(plan, options, NULL, reports, err);
    if (status == ADAPS_OK)
        status = ad_session_open(plan, options, &session, err);
    if (status == ADAPS_OK)
        status = run_once(session, plan, trips, runs, err); /* to warm up */
    int64_t until = ad_clock_ns() + (int64_t)(budget_s * 1e9);
    while (status == ADAPS_OK && n < MOST_RUNS && (n < 2 || ad_clock_ns() < until)) {
        status = run_once(session, plan, trips, runs + n * size, err);
        n += status == ADAPS_OK;
    }
    for (size_t q = 0; q < size && status == ADAPS_OK; q++) {
        for (size_t i = 0; i < n; i++)
            column[i] = runs[i * size + q];
        ad_stats_sort(column, n);
        out[q] = column[n / 2];
    }
    ad_session_close(session);
    ad_free(runs);
    return status;
}

static enum adaps_status time_round_trips(const struct links *l, const struct ad_round_trips *trips,
                                          double budget_s, struct ad_trip_times *out,
                                          struct adaps_error *err)
{
    double times[2][QUANTITIES];
    struct adaps_plan *plan;
    enum adaps_status status = ad_plan_of_round_trips(l->a, l->b, &l->guess, trips, &plan, err);
    if (status != ADAPS_OK)
        return status;
    status = time_plan(plan, l->options, trips->count, budget_s, times[0], err);
    for (int i = 0; i < 2 && status == ADAPS_OK; i++) {
        out->wait[i] = times[i][WAIT];
        out->send[i] = times[i][SEND];
    }
    adaps_plan_free(plan);
    return status;
}

/* By how much longer a waits with a large message there than with a small one; *copy: what copying
 * it takes, 0 if that can't be told from the way. */
static double extra_there(const struct ad_trip_times *small, const struct ad_trip_times *large,
                          double *copy)
{
    double wait = large->wait[0] - small->wait[0];
    *copy = fmax(large->send[0] - small->send[0], 0);
    if (*copy < wait)
        return wait;
    wait += *copy;
    *copy = 0;
    return wait;
}

void ad_probe_link_times(const struct ad_trip_times *small, const struct ad_trip_times *there,
                         const struct ad_trip_times *both, double small_bytes, double large_bytes,
                         struct ad_link_times *out)
{
    double copy_a, more = large_bytes - small_bytes;
    double extra = fmax(extra_there(small, there, &copy_a), 1e-9);
    double back = both->wait[0] - there->wait[0];
    double copy_b = fmax(both->send[1] - there->send[1], 0);
    if (copy_b >= back / 2)
        copy_b = 0;
    /* Differences of noisy times: no direction is taken to be ten times the other. */
    back = fmax(back - copy_b, extra / 10);
    extra = fmax(extra, back / 10);
    /* A round trip of a small message takes a little of the bandwidths, too. What sending it takes
     * counts: it may have left by the end of that. */
    double trip_s = small->wait[0] + fmax(small->send[0], 0);
    double latency = fmax((trip_s - small_bytes * (extra + back) / more) / 2, 1e-7);
    *out = (struct ad_link_times){{more / extra, latency},
                                  {more / back, latency},
                                  {more / fmax(copy_a, 1e-9), more / fmax(copy_b, 1e-9)}};
}

/* Rows of a message that takes about MESSAGE_S, from what 16 KiB took. */
static int32_t large_rows(double extra_s)
{
    double rows = FIRST_ROWS * MESSAGE_S / fmax(extra_s, 1e-9);
    return (int32_t)fmax(LEAST_ROWS, fmin(rows, MOST_ROWS));
}

enum adaps_status ad_probe_links(const struct ad_device *a, const struct ad_device *b,
                                 const struct ad_session_options *options, double budget_s,
                                 struct ad_link_times *out, struct adaps_error *err)
{
    /* Slow links have much patience (control/session.c) until it is known better. */
    struct links l = {a, b, options, {.bandwidth = 1e5, .latency = 1e-3}};
    struct ad_trip_times small, first, there, both;
    struct ad_round_trips trips = {.count = 16, .rows_there = SMALL_ROWS, .rows_back = SMALL_ROWS};
    enum adaps_status status = time_round_trips(&l, &trips, budget_s * 0.15, &small, err);
    trips.count = 8;
    trips.rows_there = FIRST_ROWS;
    if (status == ADAPS_OK)
        status = time_round_trips(&l, &trips, budget_s * 0.1, &first, err);
    if (status != ADAPS_OK)
        return status;
    double copy, extra = extra_there(&small, &first, &copy);
    int32_t rows = large_rows(extra);
    l.guess.bandwidth =
        fmax(FIRST_ROWS * (double)AD_LINK_PROBE_ROW_BYTES / fmax(extra, 1e-6) / 4, 1e4);
    trips.count = 4;
    trips.rows_there = rows;
    status = time_round_trips(&l, &trips, budget_s * 0.375, &there, err);
    trips.rows_back = rows;
    if (status == ADAPS_OK)
        status = time_round_trips(&l, &trips, budget_s * 0.375, &both, err);
    if (status == ADAPS_OK)
        ad_probe_link_times(&small, &there, &both, SMALL_ROWS * (double)AD_LINK_PROBE_ROW_BYTES,
                            rows * (double)AD_LINK_PROBE_ROW_BYTES, out);
    return status;
}

/* --- what messages take of processors --- */

/* Exchanges that are timed, and what each came to: [device * QUANTITIES + quantity]. */
struct exchanges {
    const struct ad_cluster *cluster;
    const struct ad_session_options *options;
    double times[AD_MAX_DEVICES * QUANTITIES], busy[AD_MAX_DEVICES * QUANTITIES];
    double slower[AD_MAX_DEVICES]; /* seconds of an exchange */
    double send[AD_MAX_DEVICES];   /* handing a message over */
};

static enum adaps_status time_exchange(struct exchanges *x, const struct ad_exchange *exchange,
                                       double budget_s, double *out, struct adaps_error *err)
{
    struct adaps_plan *plan;
    enum adaps_status status = ad_plan_of_exchanges(x->cluster, exchange, &plan, err);
    if (status != ADAPS_OK)
        return status;
    status = time_plan(plan, x->options, exchange->count, budget_s, out, err);
    adaps_plan_free(plan);
    return status;
}

/* By how much exchanges slow down computing, without messages and with them by turns, as machines
 * get quicker and slower by more than that: x->slower, medians. */
static enum adaps_status time_turns(struct exchanges *x, struct ad_exchange *exchange,
                                    double budget_s, struct adaps_error *err)
{
    double slower[AD_MAX_DEVICES][TURNS];
    int n = x->cluster->ndevices, turns = (int)fmin(fmax(budget_s / TURN_S, 1), TURNS), turn = 0;
    double each_s = budget_s / (2 * turns);
    int64_t until = ad_clock_ns() + (int64_t)(budget_s * 1e9);
    for (; turn < turns && (turn == 0 || ad_clock_ns() < until); turn++) {
        exchange->meanwhile = false;
        enum adaps_status status = time_exchange(x, exchange, each_s, x->times, err);
        exchange->meanwhile = true;
        if (status == ADAPS_OK)
            status = time_exchange(x, exchange, each_s, x->busy, err);
        if (status != ADAPS_OK)
            return status;
        for (int d = 0; d < n; d++)
            slower[d][turn] = x->busy[d * QUANTITIES + WORK] - x->times[d * QUANTITIES + WORK];
    }
    for (int d = 0; d < n; d++) {
        ad_stats_sort(slower[d], (size_t)turn);
        x->slower[d] = fmax(slower[d][turn / 2], 0);
    }
    return ADAPS_OK;
}

/* By how much an exchange of so many rows slows down computing: x->slower; x->send. */
static enum adaps_status time_meanwhile(struct exchanges *x, int32_t rows, double budget_s,
                                        struct adaps_error *err)
{
    struct ad_exchange exchange = {
        .count = FEW_EXCHANGES, .rows = rows, .burst = BURST, .steps = 1, .work = 16};
    int n = x->cluster->ndevices;
    double wait_s = INFINITY, task_s = INFINITY;
    enum adaps_status status = time_exchange(x, &exchange, 0, x->times, err);
    for (int d = 0; d < n && status == ADAPS_OK; d++) {
        const double *t = &x->times[d * QUANTITIES];
        wait_s = fmin(wait_s, t[WAIT] + t[SEND]); /* the last device waits for the messages only */
        task_s = fmin(task_s, t[WORK] / exchange.work);
        x->send[d] = fmax(t[SEND], 0);
    }
    if (status != ADAPS_OK)
        return status;
    exchange.count = EXCHANGES;
    exchange.steps = STEPS;
    exchange.work =
        (int)fmin(fmax(fmax(wait_s, LEAST_WORK_S) / fmax(STEPS * task_s, 1e-9), 1), MOST_WORK);
    return time_turns(x, &exchange, budget_s, err);
}

/* Of the slowest link, seconds for a row. */
static double row_seconds(const struct ad_cluster *cluster)
{
    double bandwidth = INFINITY;
    int n = cluster->ndevices;
    for (int i = 0; i < n * n; i++)
        if (i / n != i % n)
            bandwidth = fmin(bandwidth, cluster->links[i].bandwidth);
    return AD_LINK_PROBE_ROW_BYTES / bandwidth;
}

enum adaps_status ad_probe_messages(const struct ad_cluster *cluster,
                                    const struct ad_session_options *options, double budget_s,
                                    struct ad_message_times *out, struct adaps_error *err)
{
    struct exchanges *x = ad_calloc(1, sizeof *x);
    int32_t rows =
        (int32_t)fmax(4 * SMALL_ROWS, fmin(EXCHANGE_S / row_seconds(cluster), EXCHANGE_ROWS));
    double bytes = (double)(rows - SMALL_ROWS) * AD_LINK_PROBE_ROW_BYTES;
    if (!x)
        return ad_error_memory(err, "messages", sizeof *x);
    x->cluster = cluster;
    x->options = options;
    enum adaps_status status = time_meanwhile(x, SMALL_ROWS, budget_s * 0.4, err);
    for (int d = 0; d < cluster->ndevices; d++) {
        out[d].message_s = (x->slower[d] + x->send[d]) / (2 * BURST); /* half are received */
        out[d].byte_s = x->slower[d];
    }
    if (status == ADAPS_OK)
        status = time_meanwhile(x, rows, budget_s * 0.6, err);
    for (int d = 0; d < cluster->ndevices; d++)
        out[d].byte_s = fmax(x->slower[d] - out[d].byte_s, 0) / (2 * BURST * bytes);
    ad_free(x);
    return status;
}
