/* Links between agents, timed by messages that go there and back in sessions like any other. What a
 * device waits for is told by the agents themselves, so the controller's own way to them, and
 * copying what is sent, are no part of it:
 *
 *   wait(small there, small back) + sending it = 2 latencies
 *   wait(large there, small back) = that + large / bandwidth there
 *   wait(large there, large back) = that + large / bandwidth back + copying it there
 *
 * And what messages take of the processors while they travel, of two sizes, by what computing takes
 * longer meanwhile: a device sends one message then and receives another. */
#include "base/clock.h"
#include "base/stats.h"
#include "net/probe.h"

#include <math.h>
#include <string.h>

#define SMALL_ROWS 1
#define FIRST_ROWS 16  /* 16 KiB: to get an idea */
#define MOST_ROWS 2048 /* 2 MiB */
#define LEAST_ROWS 128 /* 128 KiB */
#define MOST_RUNS 31
#define MESSAGE_S 0.03 /* a large message should take so long */
#define PING_S 0.004   /* and one to compute behind, of which there are */
#define PINGS 12
#define LEAST_WORK_S 0.0005 /* that takes at least so long, */
#define MOST_WORK 4096      /* in so many tasks at most */

struct links {
    const struct ad_device *a, *b;
    const struct ad_session_options *options;
    struct ad_link guess;
};

/* Seconds of one ping: waiting at a; copying at either side; computing. */
enum { WAIT, SEND_A, SEND_B, WORK_A, WORK_B, QUANTITIES };

static enum adaps_status run_once(struct ad_session *session, const struct adaps_plan *plan,
                                  int pings, double *out, struct adaps_error *err)
{
    struct ad_device_stats devices[2];
    struct ad_run_stats stats = {.devices = devices};
    struct ad_tensor input, output;
    const struct ad_value *value = &plan->graph->values[plan->graph->inputs[0]];
    enum adaps_status status = ad_tensor_init(&input, value->rank, value->dims, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_session_run(session, &input, &output, &stats, err);
    ad_tensor_fini(&input);
    if (status != ADAPS_OK)
        return status;
    ad_tensor_fini(&output);
    double n = (double)pings * 1e9;
    for (int d = 0; d < 2; d++) {
        const struct ad_device_stats *s = &devices[d];
        out[SEND_A + d] = (double)(s->total_ns - s->wait_ns - s->compute_ns) / n;
        out[WORK_A + d] = (double)s->compute_ns / n;
    }
    out[WAIT] = (double)devices[0].wait_ns / n;
    return ADAPS_OK;
}

/* out: by quantity, the median of some runs. */
static enum adaps_status time_pings(const struct links *l, const struct ad_ping *ping,
                                    double budget_s, double *out, struct adaps_error *err)
{
    struct adaps_plan *plan;
    struct ad_push_report reports[2];
    struct ad_session *session = NULL;
    double run[QUANTITIES], runs[QUANTITIES][MOST_RUNS];
    size_t n = 0;
    enum adaps_status status = ad_plan_of_pings(l->a, l->b, &l->guess, ping, &plan, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_push(plan, l->options, NULL, reports, err);
    if (status == ADAPS_OK)
        status = ad_session_open(plan, l->options, &session, err);
    if (status == ADAPS_OK)
        status = run_once(session, plan, ping->count, run, err); /* to warm up */
    int64_t until = ad_clock_ns() + (int64_t)(budget_s * 1e9);
    while (status == ADAPS_OK && n < MOST_RUNS && (n < 2 || ad_clock_ns() < until)) {
        status = run_once(session, plan, ping->count, run, err);
        for (int q = 0; q < QUANTITIES && status == ADAPS_OK; q++)
            runs[q][n] = run[q];
        n += status == ADAPS_OK;
    }
    ad_session_close(session);
    adaps_plan_free(plan);
    if (status != ADAPS_OK)
        return status;
    for (int q = 0; q < QUANTITIES; q++) {
        ad_stats_sort(runs[q], n);
        out[q] = runs[q][n / 2];
    }
    return ADAPS_OK;
}

/* Rows of a message that takes about MESSAGE_S, from what 16 KiB took. */
static int32_t large_rows(double extra_s)
{
    double rows = FIRST_ROWS * MESSAGE_S / fmax(extra_s, 1e-9);
    return (int32_t)fmax(LEAST_ROWS, fmin(rows, MOST_ROWS));
}

/* By how much a ping of so many rows both ways slows down computing, at a and b, in seconds. */
static enum adaps_status time_behind(const struct links *l, int32_t rows, double wait_s,
                                     double budget_s, double *slower, struct adaps_error *err)
{
    struct ad_ping ping = {.count = PINGS, .rows_there = rows, .rows_back = rows, .work = 16};
    double quiet[QUANTITIES], busy[QUANTITIES];
    enum adaps_status status = time_pings(l, &ping, 0, quiet, err);
    if (status != ADAPS_OK)
        return status;
    double task_s = fmin(quiet[WORK_A], quiet[WORK_B]) / ping.work;
    double work = fmax(wait_s, LEAST_WORK_S) / fmax(task_s, 1e-9);
    ping.work = (int)fmin(fmax(work, 1), MOST_WORK);
    status = time_pings(l, &ping, budget_s / 2, quiet, err);
    ping.meanwhile = true;
    if (status == ADAPS_OK)
        status = time_pings(l, &ping, budget_s / 2, busy, err);
    for (int d = 0; d < 2 && status == ADAPS_OK; d++)
        slower[d] = busy[WORK_A + d] - quiet[WORK_A + d];
    return status;
}

/* What a message and a byte take of the processors: half of what a ping takes. small: a ping. */
static enum adaps_status find_behind(const struct links *l, const double *small, double budget_s,
                                     struct ad_link_times *out, struct adaps_error *err)
{
    double slower[2], large_slower[2],
        row_s = AD_PING_ROW_BYTES / out->there.bandwidth + AD_PING_ROW_BYTES / out->back.bandwidth;
    int32_t rows = (int32_t)fmax(4 * SMALL_ROWS, fmin(PING_S / row_s, MOST_ROWS));
    double bytes = (double)(rows - SMALL_ROWS) * AD_PING_ROW_BYTES;
    enum adaps_status status = time_behind(l, SMALL_ROWS, small[WAIT], budget_s * 0.4, slower, err);
    if (status == ADAPS_OK)
        status =
            time_behind(l, rows, small[WAIT] + rows * row_s, budget_s * 0.6, large_slower, err);
    for (int d = 0; d < 2 && status == ADAPS_OK; d++) {
        out->message_s[d] = fmax(slower[d], 0) / 2 + fmax(small[SEND_A + d], 0);
        out->byte_s[d] = fmax(large_slower[d] - fmax(slower[d], 0), 0) / (2 * bytes);
    }
    return status;
}

enum adaps_status ad_probe_links(const struct ad_device *a, const struct ad_device *b,
                                 const struct ad_session_options *options, double budget_s,
                                 struct ad_link_times *out, struct adaps_error *err)
{
    /* Slow links have much patience (net/session.c) until it is known better. */
    struct links l = {a, b, options, {.bandwidth = 1e5, .latency = 1e-3}};
    double small[QUANTITIES], first[QUANTITIES], there[QUANTITIES], both[QUANTITIES];
    struct ad_ping ping = {.count = 16, .rows_there = SMALL_ROWS, .rows_back = SMALL_ROWS};
    enum adaps_status status = time_pings(&l, &ping, budget_s * 0.06, small, err);
    ping.count = 8;
    ping.rows_there = FIRST_ROWS;
    if (status == ADAPS_OK)
        status = time_pings(&l, &ping, budget_s * 0.04, first, err);
    if (status != ADAPS_OK)
        return status;
    int32_t rows = large_rows(first[WAIT] - small[WAIT]);
    l.guess.bandwidth = fmax(
        FIRST_ROWS * (double)AD_PING_ROW_BYTES / fmax(first[WAIT] - small[WAIT], 1e-6) / 4, 1e4);
    ping.count = 4;
    ping.rows_there = rows;
    status = time_pings(&l, &ping, budget_s * 0.15, there, err);
    ping.rows_back = rows;
    if (status == ADAPS_OK)
        status = time_pings(&l, &ping, budget_s * 0.15, both, err);
    if (status != ADAPS_OK)
        return status;
    double more = (double)(rows - SMALL_ROWS) * AD_PING_ROW_BYTES;
    double copy_b = fmax(both[SEND_B] - there[SEND_B], 0);
    /* Differences of noisy times: no direction is taken to be ten times the other. */
    double extra_there = fmax(there[WAIT] - small[WAIT], 1e-9);
    double extra_back = fmax(both[WAIT] - there[WAIT] - copy_b, extra_there / 10);
    double row_there = more / fmax(extra_there, extra_back / 10), row_back = more / extra_back;
    /* A ping of one row takes a little of the bandwidths, too. What sending takes counts: where
     * threads of communication and computing share a core, the message has left by the end of it.
     */
    double ping_s = small[WAIT] + fmax(small[SEND_A], 0);
    double latency = (ping_s - AD_PING_ROW_BYTES * (1 / row_there + 1 / row_back)) / 2;
    out->there = (struct ad_link){row_there, fmax(latency, 1e-7)};
    out->back = (struct ad_link){row_back, fmax(latency, 1e-7)};
    out->copy[0] = more / fmax(there[SEND_A] - small[SEND_A], 1e-9);
    out->copy[1] = more / fmax(copy_b, 1e-9);
    return find_behind(&l, small, budget_s * 0.6, out, err);
}
