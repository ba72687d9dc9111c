/* Going on without a lost agent: the plan for the devices that are left has the bits of the first
 * one, and a stream on real agents has all its answers. */
#include "base/mem.h"
#include "cost/algorithm.h"
#include "exec/agent/cache.h"
#include "failover.h"
#include "ir/partial.h"
#include "spare_plan.h"
#include "support/agents_fixture.h"
#include "support/plan_fixture.h"
#include "support/random_graph.h"
#include "support/run_floats.h"
#include "support/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ad_testbed testbed;

static void start_four(void)
{
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 4, NULL);
}

static void start_none(void)
{
    ad_testbed_init(&testbed);
}

static void stop_bed(void)
{
    ad_testbed_fini(&testbed);
}

/* Without device `out`. */
static struct adaps_plan *spare_of(const struct adaps_plan *first, int out, int *device_of)
{
    bool gone[AD_MAX_DEVICES] = {false};
    struct adaps_plan *spare = NULL;
    struct adaps_error err = {0};
    gone[out] = true;
    ck_assert_msg(ad_spare_plan(first, &first->cluster, first->graph, gone, &ad_spare_hurry, &spare,
                                device_of, &err) == ADAPS_OK,
                  "%s", err.message);
    return spare;
}

/* Its answer has the bits of the single device's. */
static void check_bits(const struct adaps_plan *first, const struct adaps_plan *spare)
{
    struct ad_tensor *inputs = ad_testbed_inputs(first, 2);
    size_t n = (size_t)first->graph->noutputs;
    struct ad_tensor *outputs = ad_calloc(n, sizeof *outputs);
    struct adaps_error err = {0};
    ck_assert_msg(ad_fixture_infer(spare, first->graph, 1, inputs, outputs, &err) == ADAPS_OK, "%s",
                  err.message);
    ad_testbed_check_outputs(first, 2, outputs);
    ad_testbed_tensors_free(inputs, first->graph->ninputs);
}

START_TEST(random_networks)
{
    int checked = 0;
    for (uint64_t seed = 0; seed < 24; seed++) {
        struct adaps_plan *first = ad_fixture_plan(seed);
        for (int out = 0; out < first->cluster.ndevices; out++) {
            int device_of[AD_MAX_DEVICES];
            if (out == first->cluster.source)
                continue;
            struct adaps_plan *spare = spare_of(first, out, device_of);
            ck_assert_int_eq(spare->cluster.ndevices, first->cluster.ndevices - 1);
            for (int d = 0; d < spare->cluster.ndevices; d++) {
                ck_assert_int_ne(device_of[d], out);
                ck_assert_str_eq(spare->cluster.devices[d].name,
                                 first->cluster.devices[device_of[d]].name);
            }
            ck_assert_int_eq(device_of[spare->cluster.source], first->cluster.source);
            check_bits(first, spare);
            adaps_plan_free(spare);
            checked++;
        }
        adaps_plan_free(first);
    }
    ck_assert_int_gt(checked, 20);
}
END_TEST

/* Three convolutions: by Winograd's algorithm, in blocks of input channels, and neither. */
static struct ad_graph *special_graph(void)
{
    struct ad_builder b;
    struct ad_graph *graph, *partial;
    struct adaps_error err = {0};
    ad_build_init(&b, 5);
    int x = ad_build_input(&b, 1, 24, 24, 8);
    x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 16);
    x = ad_build_conv(&b, x, ad_window_square(1, 1, 1, 0, 0), 1, 16);
    x = ad_build_conv(&b, x, ad_window_square(5, 1, 1, 2, 2), 1, 8);
    ad_build_output(&b, x);
    ck_assert_msg(ad_build_finish(&b, &graph, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_int_gt(ad_algorithms_all(graph), 0);
    int32_t *blocks = ad_calloc((size_t)graph->nops, sizeof *blocks);
    for (int i = 0; i < graph->nops; i++)
        blocks[i] = graph->ops[i].window.kh == 1 ? ad_partial_blocks(graph, i, 4) : 1;
    ck_assert_int_eq(ad_graph_partial(graph, blocks, &partial, &err), ADAPS_OK);
    ad_free(blocks);
    ck_assert_int_eq(ad_partial_replace(&graph, partial, &err), ADAPS_OK);
    ck_assert(ad_graph_is_partial(graph));
    return graph;
}

/* In bands, so that all devices have all weights. */
static struct adaps_plan *special_plan(int n)
{
    struct ad_cluster cluster;
    ad_fixture_cluster(&cluster, n);
    return ad_fixture_make(special_graph(), &cluster, "edgeflow");
}

/* For a stream: each device has some layers, and others when one is lost. */
static struct adaps_plan *chain_plan(int n)
{
    struct ad_cluster cluster;
    struct adaps_error err = {0};
    ad_fixture_cluster(&cluster, n);
    struct adaps_plan *plan = ad_fixture_make_stream(special_graph(), &cluster, "pipeline");
    const struct ad_spare_effort little = {.evaluations = 200};
    ck_assert_msg(ad_spare_plans(plan, &little, &err) == ADAPS_OK, "%s", err.message);
    return plan;
}

/* The first device that needs weights for a spare that it does not need for the plan. */
static int learner_of(const struct adaps_plan *plan)
{
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        struct ad_slices all;
        ck_assert_int_eq(ad_plan_all_slices(plan, d, &all, NULL), ADAPS_OK);
        int count = all.count;
        ad_free(all.items);
        if (ad_plan_works(plan, d) && count > plan->slices[d].count)
            return d;
    }
    ck_abort_msg("no spare needs more than the plan");
}

START_TEST(algorithms_stay)
{
    int device_of[AD_MAX_DEVICES], winograd = 0, partial = 0;
    struct adaps_plan *first = special_plan(3), *spare = spare_of(first, 2, device_of);
    ck_assert_int_eq(spare->graph->nops, first->graph->nops);
    for (int i = 0; i < first->graph->nops; i++) {
        const struct ad_op *a = &first->graph->ops[i], *b = &spare->graph->ops[i];
        ck_assert_int_eq(a->winograd, b->winograd);
        ck_assert_int_eq(a->partial, b->partial);
        winograd += a->winograd > 0;
        partial += a->partial > 1;
    }
    ck_assert_int_gt(winograd, 0);
    ck_assert_int_gt(partial, 0);
    check_bits(first, spare);
    adaps_plan_free(spare);
    adaps_plan_free(first);
}
END_TEST

/* --- on agents --- */

static const struct ad_session_options usual = {.deadline_s = 60};

static struct ad_failover *open_failover(const struct adaps_plan *plan)
{
    const struct ad_failover_options options = {.enabled = true, .session = &usual};
    struct ad_failover *failover = NULL;
    struct adaps_error err = {0};
    ck_assert_msg(ad_failover_open(plan, &options, &failover, &err) == ADAPS_OK, "%s", err.message);
    return failover;
}

static void begin(struct ad_failover *failover, const struct adaps_plan *plan, uint64_t seed)
{
    struct ad_tensor *inputs = ad_testbed_inputs(plan, seed);
    struct adaps_error err = {0};
    ck_assert_msg(ad_failover_begin(failover, inputs, &err) == ADAPS_OK, "%s", err.message);
    ad_testbed_tensors_free(inputs, plan->graph->ninputs);
}

static void finish(struct ad_failover *failover, const struct adaps_plan *plan, uint64_t seed)
{
    struct ad_device_stats devices[AD_MAX_DEVICES];
    struct ad_run_stats stats = {.devices = devices};
    struct ad_tensor *output = ad_calloc(1, sizeof *output);
    struct adaps_error err = {0};
    ck_assert_msg(ad_failover_finish(failover, output, &stats, &err) == ADAPS_OK, "%s",
                  err.message);
    ck_assert_int_gt(stats.latency_ns, 0);
    ad_testbed_check_outputs(plan, seed, output);
}

START_TEST(several_in_flight)
{
    struct adaps_plan *plan = special_plan(4);
    struct adaps_error err = {0};
    struct ad_tensor output;
    int count;
    ad_testbed_address(&testbed, &plan);
    ad_testbed_push(plan);
    struct ad_failover *failover = open_failover(plan);
    ck_assert_int_eq(ad_failover_finish(failover, &output, NULL, &err), ADAPS_EUSAGE);
    for (uint64_t seed = 1; seed <= 5; seed++)
        begin(failover, plan, seed);
    finish(failover, plan, 1);
    finish(failover, plan, 2);
    ad_failover_recoveries(failover, &count);
    ck_assert_int_eq(count, 0);
    ad_testbed_kill(&testbed, 2);
    for (uint64_t seed = 6; seed <= 9; seed++) /* some begin when it is not known yet */
        begin(failover, plan, seed);
    for (uint64_t seed = 3; seed <= 7; seed++)
        finish(failover, plan, seed);
    ad_testbed_kill(&testbed, 1);
    for (uint64_t seed = 10; seed <= 10 + AD_FLIGHTS_MOST - 3; seed++)
        begin(failover, plan, seed);
    struct ad_tensor *inputs = ad_testbed_inputs(plan, 1);
    ck_assert_int_eq(ad_failover_begin(failover, inputs, &err), ADAPS_EUSAGE);
    ad_testbed_tensors_free(inputs, 1);
    for (uint64_t seed = 8; seed <= 10 + AD_FLIGHTS_MOST - 3; seed++)
        finish(failover, plan, seed);
    const struct ad_recovery *recoveries = ad_failover_recoveries(failover, &count);
    ck_assert_int_eq(count, 2);
    for (int i = 0; i < 2; i++) {
        const struct ad_recovery *r = &recoveries[i];
        for (int d = 0; d < 4; d++) {
            ck_assert_int_eq(r->lost[d], d == 2 - i);
            ck_assert(!r->returned[d]);
        }
        ck_assert(r->done);
        ck_assert_int_gt(r->plan_ns, 0);
        ck_assert_int_eq(r->plan, AD_RECOVERY_NEW);
        ck_assert_uint_gt(r->push_bytes, 0);
        ck_assert_int_ge(r->total_ns,
                         r->detect_ns + r->plan_ns + r->push_ns + r->open_ns + r->repeat_ns);
        ck_assert_int_gt(r->predicted.most_ns, r->predicted.least_ns);
        ck_assert_int_gt(r->predicted.open_ns, 0);
    }
    ck_assert_int_ge(recoveries[0].inference, 3);
    ck_assert_int_le(recoveries[0].repeated, 7);
    ad_failover_close(failover);
    adaps_plan_free(plan);
}
END_TEST

/* The bytes of a plan, once for each of its agents: what a push sends beside weights. */
static uint64_t plan_bytes(const struct adaps_plan *plan)
{
    void *data;
    size_t size;
    uint64_t sum = 0;
    struct adaps_error err = {0};
    ck_assert_int_eq(ad_plan_pack(plan, &data, &size, &err), ADAPS_OK);
    ad_free(data);
    for (int d = 0; d < plan->cluster.ndevices; d++)
        sum += ad_plan_works(plan, d) ? size : 0;
    return sum;
}

/* A spare is taken for the loss that it is for, and no weights are sent then; a new plan is made
 * when another agent is lost, too. */
START_TEST(spares_are_used)
{
    struct adaps_plan *plan = chain_plan(4);
    struct adaps_error err = {0};
    struct ad_push_report reports[4];
    const struct ad_weight_source source = ad_weights_of_graph(plan->graph);
    int count, lost = plan->spares[0].lost, next = plan->spares[plan->nspares - 1].lost;
    learner_of(plan);
    ck_assert_int_gt(plan->nspares, 1);
    ad_testbed_address(&testbed, &plan);
    const struct ad_spare *spare = ad_plan_spare_of(plan, lost);
    ck_assert_int_eq(ad_push(plan, &usual, &source, reports, &err), ADAPS_OK);
    for (int d = 0; d < 4; d++) {
        struct ad_slices all;
        uint64_t bytes = 0;
        ck_assert_int_eq(ad_plan_all_slices(plan, d, &all, &err), ADAPS_OK);
        for (int i = 0; i < all.count; i++)
            bytes += ad_slice_bytes(plan, &all.items[i]);
        ck_assert_uint_eq(reports[d].weight_bytes_needed, bytes);
        ck_assert_uint_eq(reports[d].weight_bytes_sent, bytes);
        ck_assert_int_eq(reports[d].blobs_needed, all.count);
        ad_free(all.items);
    }
    ck_assert_uint_eq(ad_testbed_push(spare->plan), 0);
    struct ad_failover *failover = open_failover(plan);
    begin(failover, plan, 1);
    finish(failover, plan, 1);
    ad_testbed_kill(&testbed, lost);
    begin(failover, plan, 2);
    begin(failover, plan, 3);
    finish(failover, plan, 2);
    finish(failover, plan, 3);
    ad_testbed_kill(&testbed, next);
    begin(failover, plan, 4);
    finish(failover, plan, 4);
    const struct ad_recovery *r = ad_failover_recoveries(failover, &count);
    ck_assert_int_eq(count, 2);
    ck_assert_int_eq(r[0].plan, AD_RECOVERY_SPARE);
    ck_assert_int_eq(r[0].latency_ns, spare->plan->schedule.makespan_ns);
    ck_assert_uint_eq(r[0].push_bytes, plan_bytes(spare->plan));
    ck_assert_int_eq(r[1].plan, AD_RECOVERY_NEW);
    ad_failover_close(failover);
    adaps_plan_free(plan);
}
END_TEST

/* What the plan counts in an agent's cache. */
static uint64_t cache_of(const struct adaps_plan *plan, int device)
{
    uint64_t sum = 2 * ad_cache_cost(plan_bytes(plan));
    for (int i = 0; i < plan->slices[device].count; i++)
        sum += ad_cache_cost(ad_slice_bytes(plan, &plan->slices[device].items[i]));
    return sum;
}

/* Where a cache has only room for the plan's own weights, the spares' are left out. */
START_TEST(cache_without_room)
{
    struct adaps_plan *plan = chain_plan(4);
    struct adaps_error err = {0};
    struct ad_push_report reports[4];
    const struct ad_weight_source source = ad_weights_of_graph(plan->graph);
    int learner = learner_of(plan);
    uint64_t most = 0;
    for (int d = 0; d < 4; d++)
        most = cache_of(plan, d) > most ? cache_of(plan, d) : most;
    ad_testbed_start(&testbed, 4,
                     &(struct ad_agent_options){.cache_limit = most, .speed = 1, .threads = 1});
    ad_testbed_address(&testbed, &plan);
    ck_assert_msg(ad_push(plan, &usual, &source, reports, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_int_eq(reports[learner].blobs_needed, plan->slices[learner].count);
    struct ad_failover *failover = open_failover(plan);
    begin(failover, plan, 1);
    finish(failover, plan, 1);
    ad_failover_close(failover);
    adaps_plan_free(plan);
}
END_TEST

/* --- the public interface --- */

struct said {
    int warnings;
    char latest[512];
};

static void note(void *user, enum adaps_log_level level, const char *message)
{
    struct said *said = user;
    said->warnings += level == ADAPS_LOG_WARNING;
    snprintf(said->latest, sizeof said->latest, "%s", message);
}

START_TEST(public_sessions)
{
    struct said said = {0};
    struct adaps_plan *plan = special_plan(3);
    struct adaps_session *agents, *local;
    struct adaps_error err = {0};
    ad_testbed_address(&testbed, &plan);
    size_t in = input_elements(plan), out = output_elements(plan);
    struct ad_tensor *inputs = ad_testbed_inputs(plan, 3);
    float *a = ad_calloc(out, sizeof *a), *b = ad_calloc(out, sizeof *b);
    const struct adaps_session_options on_agents = {.struct_size = sizeof on_agents,
                                                    .failover = true,
                                                    .deadline = 60,
                                                    .log = note,
                                                    .log_user = &said};
    const struct adaps_session_options here = {
        .struct_size = sizeof here, .failover = true, .local = true};
    ck_assert_msg(adaps_session_open(plan, &on_agents, &agents, &err) == ADAPS_OK, "%s",
                  err.message);
    ck_assert_int_eq(adaps_session_open(plan, &here, &local, &err), ADAPS_OK);
    for (int i = 0; i < 4; i++) {
        if (i == 2)
            ad_testbed_kill(&testbed, 1);
        inputs[0].data[i] += 0.5f;
        ck_assert_msg(run_floats(agents, inputs[0].data, in, a, out, &err) == ADAPS_OK, "%s",
                      err.message);
        ck_assert_int_eq(run_floats(local, inputs[0].data, in, b, out, &err), ADAPS_OK);
        ck_assert_mem_eq(a, b, out * sizeof *a);
        ck_assert_int_eq(adaps_session_recoveries(agents), i >= 2);
    }
    ck_assert_int_eq(adaps_session_recoveries(local), 0);
    ck_assert_int_eq(said.warnings, 1);
    ck_assert_msg(strstr(said.latest, "lost: dev1; went on with another plan"), "%s", said.latest);
    ad_testbed_kill(&testbed, 0);
    ck_assert_int_eq(run_floats(agents, inputs[0].data, in, a, out, &err), ADAPS_EAGENT);
    ck_assert_msg(strstr(err.message, "is lost and cannot be replaced"), "%s", err.message);
    ck_assert_int_eq(run_floats(agents, inputs[0].data, in, a, out, &err), ADAPS_EUSAGE);
    adaps_session_close(agents);
    adaps_session_close(local);
    ad_testbed_tensors_free(inputs, 1);
    ad_free(a);
    ad_free(b);
    adaps_plan_free(plan);
}
END_TEST

/* Without failover it is as ever. */
START_TEST(not_asked_for)
{
    struct adaps_plan *plan = special_plan(3);
    const struct adaps_session_options there = {.struct_size = sizeof there, .deadline = 60};
    struct adaps_session *agents;
    struct adaps_error err = {0};
    ad_testbed_address(&testbed, &plan);
    size_t in = input_elements(plan), out = output_elements(plan);
    struct ad_tensor *inputs = ad_testbed_inputs(plan, 3);
    float *a = ad_calloc(out, sizeof *a);
    ck_assert_int_eq(adaps_session_open(plan, &there, &agents, &err), ADAPS_OK);
    ad_testbed_kill(&testbed, 1);
    ck_assert_int_eq(run_floats(agents, inputs[0].data, in, a, out, &err), ADAPS_EAGENT);
    ck_assert_msg(strstr(err.message, "was lost in inference 1"), "%s", err.message);
    adaps_session_close(agents);
    ad_testbed_tensors_free(inputs, 1);
    ad_free(a);
    adaps_plan_free(plan);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("failover");
    TCase *plans = tcase_create("plans"), *agents = tcase_create("agents");
    TCase *small = tcase_create("small");
    tcase_set_timeout(plans, 300);
    tcase_add_test(plans, random_networks);
    tcase_add_test(plans, algorithms_stay);
    tcase_add_checked_fixture(agents, start_four, stop_bed);
    tcase_set_timeout(agents, 300);
    tcase_add_test(agents, several_in_flight);
    tcase_add_test(agents, spares_are_used);
    tcase_add_test(agents, public_sessions);
    tcase_add_test(agents, not_asked_for);
    suite_add_tcase(suite, plans);
    tcase_add_checked_fixture(small, start_none, stop_bed);
    tcase_set_timeout(small, 300);
    tcase_add_test(small, cache_without_room);
    suite_add_tcase(suite, agents);
    suite_add_tcase(suite, small);
    return run_suite(suite);
}
