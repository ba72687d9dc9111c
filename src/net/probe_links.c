/* Links between agents, timed by messages that go there and back in sessions like any other. What a
 * device waits for is told by the agents themselves, so the controller's own way to them, and
 * copying what is sent, are no part of it:
 *
 *   wait(small there, small back) = 2 latencies
 *   wait(large there, small back) = that + large / bandwidth there
 *   wait(large there, large back) = that + large / bandwidth back + copying it there */
#include "base/clock.h"
#include "net/probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_ROWS 1
#define FIRST_ROWS 16  /* 16 KiB: to get an idea */
#define MOST_ROWS 2048 /* 2 MiB */
#define LEAST_ROWS 128 /* 128 KiB */
#define MOST_RUNS 9
#define MESSAGE_S 0.03 /* a large message should take so long */

struct links {
    const struct ad_device *a, *b;
    const struct ad_session_options *options;
    struct ad_link guess;
};

/* Seconds of one ping of each kind; the lower quartile of some runs. */
struct waited {
    double wait, send_a, send_b; /* waiting, copying at either side */
};

static int compare(const void *x, const void *y)
{
    double a = ((const struct waited *)x)->wait, b = ((const struct waited *)y)->wait;
    return (a > b) - (a < b);
}

static enum adaps_status run_once(struct ad_session *session, const struct adaps_plan *plan,
                                  int pings, struct waited *out, struct adaps_error *err)
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
    out->wait = (double)devices[0].wait_ns / n;
    out->send_a = (double)(devices[0].total_ns - devices[0].wait_ns - devices[0].compute_ns) / n;
    out->send_b = (double)(devices[1].total_ns - devices[1].wait_ns) / n;
    return ADAPS_OK;
}

static enum adaps_status time_pings(const struct links *l, const struct ad_ping *ping,
                                    double budget_s, struct waited *out, struct adaps_error *err)
{
    struct adaps_plan *plan;
    struct ad_push_report reports[2];
    struct ad_session *session = NULL;
    struct waited runs[MOST_RUNS];
    int n = 0;
    enum adaps_status status = ad_plan_of_pings(l->a, l->b, &l->guess, ping, &plan, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_push(plan, l->options, NULL, reports, err);
    if (status == ADAPS_OK)
        status = ad_session_open(plan, l->options, &session, err);
    if (status == ADAPS_OK)
        status = run_once(session, plan, ping->count, &runs[0], err); /* to warm up */
    int64_t until = ad_clock_ns() + (int64_t)(budget_s * 1e9);
    while (status == ADAPS_OK && n < MOST_RUNS && (n < 2 || ad_clock_ns() < until)) {
        status = run_once(session, plan, ping->count, &runs[n], err);
        n += status == ADAPS_OK;
    }
    ad_session_close(session);
    adaps_plan_free(plan);
    if (status != ADAPS_OK)
        return status;
    qsort(runs, (size_t)n, sizeof *runs, compare);
    *out = runs[n / 4];
    return ADAPS_OK;
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
    /* Slow links have much patience (net/session.c) until it is known better. */
    struct links l = {a, b, options, {.bandwidth = 1e5, .latency = 1e-3}};
    struct waited small, first, there, both;
    struct ad_ping ping = {16, SMALL_ROWS, SMALL_ROWS};
    enum adaps_status status = time_pings(&l, &ping, budget_s * 0.15, &small, err);
    ping = (struct ad_ping){8, FIRST_ROWS, SMALL_ROWS};
    if (status == ADAPS_OK)
        status = time_pings(&l, &ping, budget_s * 0.1, &first, err);
    if (status != ADAPS_OK)
        return status;
    int32_t rows = large_rows(first.wait - small.wait);
    l.guess.bandwidth =
        fmax(FIRST_ROWS * (double)AD_PING_ROW_BYTES / fmax(first.wait - small.wait, 1e-6) / 4, 1e4);
    ping = (struct ad_ping){4, rows, SMALL_ROWS};
    status = time_pings(&l, &ping, budget_s * 0.3, &there, err);
    ping = (struct ad_ping){4, rows, rows};
    if (status == ADAPS_OK)
        status = time_pings(&l, &ping, budget_s * 0.3, &both, err);
    if (status != ADAPS_OK)
        return status;
    double more = (double)(rows - SMALL_ROWS) * AD_PING_ROW_BYTES;
    double copy_b = fmax(both.send_b - there.send_b, 0);
    /* Differences of noisy times: no direction is taken to be ten times the other. */
    double extra_there = fmax(there.wait - small.wait, 1e-9);
    double extra_back = fmax(both.wait - there.wait - copy_b, extra_there / 10);
    double row_there = more / fmax(extra_there, extra_back / 10), row_back = more / extra_back;
    /* A ping of one row takes a little of the bandwidths, too. */
    double latency = (small.wait - AD_PING_ROW_BYTES * (1 / row_there + 1 / row_back)) / 2;
    out->there = (struct ad_link){row_there, fmax(latency, 1e-7)};
    out->back = (struct ad_link){row_back, fmax(latency, 1e-7)};
    out->copy_a = more / fmax(there.send_a - small.send_a, 1e-9);
    out->copy_b = more / fmax(copy_b, 1e-9);
    out->message_a = fmax(small.send_a, 0);
    out->message_b = fmax(small.send_b, 0);
    return ADAPS_OK;
}
