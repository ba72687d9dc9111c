/* What an agent tells of what it does: durations against sums by hand, the share of time, and the
 * counters of real agents against what their sessions report. */
#include "base/clock.h"
#include "base/durations.h"
#include "base/rng.h"
#include "exec/agent/live.h"
#include "support/agents_fixture.h"
#include "support/plan_fixture.h"
#include "support/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS ((int64_t)1000000)
#define SECOND (1000 * MS)

/* --- durations --- */

START_TEST(buckets)
{
    struct ad_durations durations = {0};
    struct ad_durations_seen seen;
    ck_assert_int_eq(ad_duration_bound(0), MS / 2);
    ck_assert_int_eq(ad_duration_bound(1), MS);
    ck_assert_int_eq(ad_duration_bound(AD_DURATION_BOUNDS - 1), 32768 * MS);
    ad_durations_look(&durations, &seen);
    ck_assert_uint_eq(seen.count, 0);
    ck_assert_int_eq(seen.p50_ns, 0);
    ck_assert_int_eq(seen.recent, 0);
    int64_t sum = 0;
    for (int i = 0; i < AD_DURATION_BOUNDS; i++) { /* a bound is its bucket's, one more is not */
        ad_durations_add(&durations, ad_duration_bound(i));
        ad_durations_add(&durations, ad_duration_bound(i) + 1);
        sum += 2 * ad_duration_bound(i) + 1;
    }
    ad_durations_add(&durations, -5);
    ad_durations_look(&durations, &seen);
    ck_assert_uint_eq(seen.count, 2 * AD_DURATION_BOUNDS + 1);
    ck_assert_int_eq(seen.sum_ns, sum);
    ck_assert_uint_eq(seen.buckets[0], 2);
    for (int i = 1; i < AD_DURATION_BOUNDS; i++)
        ck_assert_uint_eq(seen.buckets[i], 2);
    ck_assert_uint_eq(seen.buckets[AD_DURATION_BOUNDS], 1);
}
END_TEST

static int ascending(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Of the latest ones only: the value at the nearest rank, found by sorting a copy. */
START_TEST(quantiles)
{
    struct ad_durations durations = {0};
    struct ad_durations_seen seen;
    static int64_t all[3 * AD_DURATIONS_RECENT], sorted[AD_DURATIONS_RECENT];
    struct ad_rng rng = {.state = 7};
    for (int n = 1; n <= 3 * AD_DURATIONS_RECENT; n++) {
        all[n - 1] = (int64_t)(ad_rng_next(&rng) % (uint64_t)SECOND);
        ad_durations_add(&durations, all[n - 1]);
        int recent = n < AD_DURATIONS_RECENT ? n : AD_DURATIONS_RECENT;
        memcpy(sorted, &all[n - recent], (size_t)recent * sizeof *sorted);
        qsort(sorted, (size_t)recent, sizeof *sorted, ascending);
        ad_durations_look(&durations, &seen);
        ck_assert_int_eq(seen.recent, recent);
        ck_assert_int_eq(seen.p50_ns, sorted[(recent + 1) / 2 - 1]);
        int rank = 0; /* the first of which at least 95 in 100 are not above */
        while (100 * (rank + 1) < 95 * recent)
            rank++;
        ck_assert_int_eq(seen.p95_ns, sorted[rank]);
    }
    ck_assert_uint_eq(seen.count, 3 * AD_DURATIONS_RECENT);
}
END_TEST

/* --- the share of time --- */

static void check_share(const struct ad_live *live, int64_t now_ns, double wanted)
{
    double share = ad_live_busy(live, now_ns);
    ck_assert_msg(share > wanted - 1e-9 && share < wanted + 1e-9, "%g instead of %g", share,
                  wanted);
}

START_TEST(busy)
{
    struct ad_live live;
    ad_live_init(&live);
    live.start_ns = 1000 * SECOND;
    check_share(&live, 1000 * SECOND, 0);
    check_share(&live, 1004 * SECOND, 0);
    ad_live_computed(&live, 1001 * SECOND, 1003 * SECOND + SECOND / 2); /* over three seconds */
    check_share(&live, 1004 * SECOND, 2.5 / 4);
    check_share(&live, 1008 * SECOND, 2.5 / 8);
    ad_live_computed(&live, 1008 * SECOND, 1008 * SECOND + SECOND / 4);
    ad_live_computed(&live, 1008 * SECOND + SECOND / 2, 1009 * SECOND);
    check_share(&live, 1009 * SECOND + SECOND / 2, 3.25 / 9.5);
    check_share(&live, 1012 * SECOND, 1.25 / 9); /* from 1003 on */
    check_share(&live, 1016 * SECOND, 0.75 / 9);
    check_share(&live, 1018 * SECOND, 0);
    check_share(&live, 1500 * SECOND, 0);
    ad_live_computed(&live, 1000 * SECOND, 1500 * SECOND); /* longer than what is kept */
    check_share(&live, 1500 * SECOND, 1);
    check_share(&live, 1504 * SECOND, 5.0 / 9);
    ad_live_fini(&live);
}
END_TEST

/* A step that goes on for long counts while it does. */
START_TEST(busy_now)
{
    struct ad_live live;
    struct ad_live_seen seen;
    ad_live_init(&live);
    live.start_ns = ad_clock_ns() - 100 * SECOND;
    ad_live_step(&live, AD_LIVE_COMPUTING, 3, 8);
    check_share(&live, live.since_ns, 0);
    check_share(&live, live.since_ns + 60 * SECOND, 1);
    ad_live_look(&live, &seen);
    ck_assert_int_eq(seen.doing, AD_LIVE_COMPUTING);
    ck_assert_int_eq(seen.step, 3);
    ck_assert_int_eq(seen.steps, 8);
    ad_live_rest(&live);
    check_share(&live, live.start_ns + 160 * SECOND, 0);
    ad_live_look(&live, &seen);
    ck_assert_int_eq(seen.doing, AD_LIVE_IDLE);
    ad_live_fini(&live);
}
END_TEST

/* --- links --- */

START_TEST(many_peers)
{
    struct ad_live live;
    struct ad_live_seen seen;
    char name[100];
    ad_live_init(&live);
    ck_assert_ptr_eq(ad_live_link(&live, "b"), ad_live_link(&live, "b"));
    for (int i = 0; i < 3 * AD_LIVE_LINKS; i++) {
        snprintf(name, sizeof name, "peer%d", i);
        ad_live_sent(ad_live_link(&live, name), 1);
        ad_live_received(ad_live_link(&live, name), 10);
    }
    ad_live_look(&live, &seen);
    ck_assert_int_eq(seen.nlinks, AD_LIVE_LINKS);
    ck_assert_str_eq(seen.links[0].name, "b");
    ck_assert_str_eq(seen.links[1].name, "peer0");
    ck_assert_uint_eq(seen.links[1].bytes_received, 10);
    ck_assert_str_eq(seen.links[AD_LIVE_LINKS - 1].name, "others");
    uint64_t bytes = 0, messages = 0;
    for (int i = 0; i < seen.nlinks; i++) {
        bytes += seen.links[i].bytes_sent + seen.links[i].bytes_received;
        messages += seen.links[i].messages_sent + seen.links[i].messages_received;
    }
    ck_assert_uint_eq(bytes, 33 * AD_LIVE_LINKS);
    ck_assert_uint_eq(messages, 6 * AD_LIVE_LINKS);
    memset(name, 'x', sizeof name - 1); /* longer than what is kept: one all the same */
    name[sizeof name - 1] = '\0';
    ad_live_fini(&live);
    ad_live_init(&live);
    ck_assert_ptr_eq(ad_live_link(&live, name), ad_live_link(&live, name));
    ad_live_fini(&live);
}
END_TEST

/* What a stranger tells. */
START_TEST(bad_messages)
{
    struct ad_live_seen seen;
    Adaps__Wire__Live message = ADAPS__WIRE__LIVE__INIT;
    Adaps__Wire__LiveLink link = ADAPS__WIRE__LIVE_LINK__INIT, *links[3 * AD_LIVE_LINKS];
    uint64_t numbers[100];
    uint8_t digest[7] = {1, 2, 3};
    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        numbers[i] = 1;
    for (size_t i = 0; i < 3 * AD_LIVE_LINKS; i++)
        links[i] = &link;
    link.name = message.plan = message.layer = text;
    message.errors = message.buckets = numbers;
    message.n_errors = message.n_buckets = sizeof numbers / sizeof *numbers;
    message.links = links;
    message.n_links = 3 * AD_LIVE_LINKS;
    message.doing = 99;
    message.busy = 7;
    message.recent = 1u << 31;
    message.p50_ns = message.compute_ns = message.session_ns = message.step = INT32_MIN;
    message.digest = (ProtobufCBinaryData){.len = sizeof digest, .data = digest};
    ad_live_read(&message, &seen);
    ck_assert_int_eq(seen.nlinks, AD_LIVE_LINKS);
    ck_assert_uint_eq(strlen(seen.plan), sizeof seen.plan - 1);
    ck_assert_uint_eq(strlen(seen.links[0].name), sizeof seen.links[0].name - 1);
    ck_assert_uint_eq(seen.failed, AD_LIVE_ERRORS);
    ck_assert_uint_eq(seen.durations.count, AD_DURATION_BUCKETS);
    ck_assert_int_eq(seen.doing, AD_LIVE_IDLE);
    ck_assert(seen.busy == 0);
    ck_assert_int_eq(seen.durations.recent, 0);
    ck_assert_int_eq(seen.durations.p50_ns, 0);
    ck_assert_int_eq(seen.compute_ns, 0);
    ck_assert_int_eq(seen.session_ns, -1);
    ck_assert_int_eq(seen.step, 0);
    ck_assert_int_eq(seen.digest.bytes[0], 0);
}
END_TEST

/* --- agents --- */

#define AGENTS 3
#define RUNS 5
static const struct ad_session_options usual = {.deadline_s = 60};
static struct ad_testbed testbed;

static void start(void)
{
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, AGENTS, NULL);
}

static void stop(void)
{
    ad_testbed_fini(&testbed);
}

static void ask(const struct adaps_plan *plan, struct ad_agent_status *out)
{
    struct adaps_error err = {0};
    for (int i = 0; i < AGENTS; i++) {
        ck_assert_msg(ad_agent_query(&plan->cluster.devices[i], &usual, &out[i], &err) == ADAPS_OK,
                      "%s", err.message);
        ck_assert(out[i].tells);
    }
}

static const struct ad_live_link_seen *link_to(const struct ad_live_seen *live, const char *name)
{
    for (int i = 0; i < live->nlinks; i++)
        if (strcmp(live->links[i].name, name) == 0)
            return &live->links[i];
    return NULL;
}

/* What one sent, the other received; in all what the session says. */
static void check_links(const struct adaps_plan *plan, const struct ad_agent_status *agents,
                        const struct ad_device_stats *sum)
{
    for (int a = 0; a < AGENTS; a++) {
        uint64_t bytes = 0, messages = 0;
        for (int b = 0; b < AGENTS; b++) {
            const struct ad_live_link_seen *there =
                link_to(&agents[a].live, plan->cluster.devices[b].name);
            const struct ad_live_link_seen *here =
                link_to(&agents[b].live, plan->cluster.devices[a].name);
            ck_assert(!there == !here);
            if (!there)
                continue;
            ck_assert_uint_eq(there->bytes_sent, here->bytes_received);
            ck_assert_uint_eq(there->messages_sent, here->messages_received);
            bytes += there->bytes_sent;
            messages += there->messages_sent;
        }
        ck_assert_uint_eq(bytes, sum[a].bytes_sent);
        ck_assert_uint_eq(messages, sum[a].messages_sent);
        ck_assert_uint_gt(bytes, 0);
    }
}

START_TEST(counters)
{
    struct adaps_plan *plan = ad_fixture_banded(AGENTS);
    struct ad_agent_status agents[AGENTS];
    struct ad_device_stats devices[AGENTS], sum[AGENTS] = {{0}};
    struct ad_session *session = NULL;
    struct adaps_error err = {0};
    int64_t latency_ns = 0;
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    ask(plan, agents);
    ck_assert_uint_eq(agents[0].live.begun, 0);
    ck_assert_str_eq(agents[0].live.plan, "");
    ck_assert_int_eq(agents[0].live.session_ns, -1);
    ck_assert_msg(ad_session_open(plan, &usual, &session, &err) == ADAPS_OK, "%s", err.message);
    struct ad_tensor *inputs = ad_testbed_inputs(plan, 1);
    for (int i = 0; i < RUNS; i++) {
        struct ad_run_stats stats = {.devices = devices};
        struct ad_tensor outputs[8];
        ck_assert_int_le(plan->graph->noutputs, 8);
        ck_assert_int_eq(ad_session_run(session, inputs, outputs, &stats, &err), ADAPS_OK);
        latency_ns += stats.latency_ns;
        for (int k = 0; k < plan->graph->noutputs; k++)
            ad_tensor_fini(&outputs[k]);
        for (int d = 0; d < AGENTS; d++) {
            sum[d].compute_ns += devices[d].compute_ns;
            sum[d].bytes_sent += devices[d].bytes_sent;
            sum[d].messages_sent += devices[d].messages_sent;
        }
    }
    ask(plan, agents);
    for (int d = 0; d < AGENTS; d++) {
        const struct ad_live_seen *live = &agents[d].live;
        ck_assert_uint_eq(live->begun, RUNS);
        ck_assert_uint_eq(live->done, RUNS);
        ck_assert_uint_eq(live->failed, 0);
        ck_assert_uint_eq(live->sessions, 1);
        ck_assert_int_ge(live->session_ns, 0);
        ck_assert_int_eq(live->compute_ns, sum[d].compute_ns);
        ck_assert_int_eq(live->doing, AD_LIVE_IDLE);
        ck_assert(ad_digest_equal(&live->digest, &plan->digest));
        ck_assert_int_eq(live->latency_ns, plan->schedule.makespan_ns);
        bool source = d == plan->cluster.source;
        ck_assert_uint_eq(live->durations.count, source ? RUNS : 0);
        ck_assert_int_eq(live->durations.sum_ns, source ? latency_ns : 0);
        ck_assert_uint_gt(live->controller.bytes_received, 0);
        ck_assert_uint_ge(live->controller.messages_sent, RUNS);
    }
    check_links(plan, agents, sum);
    ad_session_close(session);
    ask(plan, agents);
    ck_assert_int_eq(agents[0].live.session_ns, -1);
    ad_testbed_tensors_free(inputs, plan->graph->ninputs);
    adaps_plan_free(plan);
}
END_TEST

/* One agent dies in an inference: the others count that they failed, and why. */
START_TEST(failures)
{
    struct adaps_plan *plan = ad_fixture_banded(AGENTS);
    struct ad_agent_status status;
    struct ad_session *session = NULL;
    struct ad_tensor outputs[8];
    struct adaps_error err = {0};
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    ck_assert_msg(ad_session_open(plan, &usual, &session, &err) == ADAPS_OK, "%s", err.message);
    struct ad_tensor *inputs = ad_testbed_inputs(plan, 1);
    int source = plan->cluster.source, other = source == AGENTS - 1 ? 0 : AGENTS - 1;
    ad_testbed_kill(&testbed, other);
    ck_assert_int_eq(ad_session_run(session, inputs, outputs, NULL, &err), ADAPS_EAGENT);
    ad_session_close(session);
    ck_assert_int_eq(ad_agent_query(&plan->cluster.devices[source], &usual, &status, &err),
                     ADAPS_OK);
    ck_assert_uint_eq(status.live.begun, status.live.failed + status.live.done);
    ck_assert_uint_eq(status.live.failed, status.live.begun);
    ck_assert_uint_eq(status.live.errors[AD_LIVE_AGENT] + status.live.errors[AD_LIVE_CANCELLED],
                      status.live.failed);
    ck_assert_uint_eq(status.live.durations.count, 0);
    ad_testbed_tensors_free(inputs, plan->graph->ninputs);
    adaps_plan_free(plan);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("live");
    TCase *numbers = tcase_create("numbers");
    tcase_add_test(numbers, buckets);
    tcase_add_test(numbers, quantiles);
    tcase_add_test(numbers, busy);
    tcase_add_test(numbers, busy_now);
    tcase_add_test(numbers, many_peers);
    tcase_add_test(numbers, bad_messages);
    suite_add_tcase(suite, numbers);
    TCase *agents = tcase_create("agents");
    tcase_set_timeout(agents, 300);
    tcase_add_checked_fixture(agents, start, stop);
    tcase_add_test(agents, counters);
    tcase_add_test(agents, failures);
    suite_add_tcase(suite, agents);
    return run_suite(suite);
}
