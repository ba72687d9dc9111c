/* Streams: how many inferences can be in flight, what they make devices and links do, and their
 * steady state, which is held against what follows from the loads alone. */
#include "schedule/stream.h"
#include "support/plan_fixture.h"
#include "support/run_suite.h"
#include "support/search_fixture.h"

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

START_TEST(in_flight_by_turn)
{
    int deal[] = {0, 1, 0, 2, 0};
    struct ad_stream s = {.frames = 3, .nturns = 3, .deal = deal, .ndeal = 5};
    ck_assert_int_eq(ad_stream_most(&s, 0), 2);
    ck_assert_int_eq(ad_stream_most(&s, 1), 1);
    s.frames = 2;
    ck_assert_int_eq(ad_stream_most(&s, 0), 2); /* the last and the first */
    s.frames = 7;                               /* a whole deal and two more */
    ck_assert_int_eq(ad_stream_most(&s, 0), 5);
    ck_assert_int_eq(ad_stream_most(&s, 2), 2);
    s.frames = 10;
    ck_assert_int_eq(ad_stream_most(&s, 0), 6);
    s.ndeal = 0;
    ck_assert_int_eq(ad_stream_most(&s, 0), 10);
    s.ndeal = 5;
    const int turns[] = {0, 1, 0, 2, 0, 0, 1};
    for (uint32_t i = 0; i < 7; i++)
        ck_assert_int_eq(ad_stream_deal(&s, i), turns[i]);
}
END_TEST

/* The sum of what a device's steps take can't be less than what it computes; a message occupies
 * both of its ports. */
START_TEST(loads_add_up)
{
    struct problem p;
    struct ad_search_result r;
    struct ad_loads loads;
    ad_fixture_random(&p, (uint64_t)_i + 4000);
    ad_fixture_run(&p, "edgeflow", &r);
    ck_assert_int_eq(ad_schedule_loads(p.graph, &p.cluster, &r.schedule, &loads, NULL), ADAPS_OK);
    int64_t up = 0, down = 0, most = loads.medium;
    for (int d = 0; d < p.cluster.ndevices; d++) {
        ck_assert_int_ge(loads.device[d], r.schedule.busy_ns[d]);
        up += loads.up[d];
        down += loads.down[d];
        most = loads.device[d] > most ? loads.device[d] : most;
        most = loads.up[d] > most ? loads.up[d] : most;
        most = loads.down[d] > most ? loads.down[d] : most;
    }
    ck_assert_int_eq(up, down);
    ck_assert_int_eq(up + loads.medium > 0, r.schedule.messages > 0);
    ck_assert(!p.cluster.shared_medium || up == 0);
    ck_assert(p.cluster.shared_medium || loads.medium == 0);
    ck_assert_int_eq(ad_loads_most(&loads), most);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* Of one device: one after the other. */
START_TEST(alone)
{
    struct problem p;
    struct ad_search_result r;
    ad_fixture_small(&p, 1);
    ad_fixture_run(&p, "single", &r);
    for (int frames = 1; frames <= 3; frames++) {
        struct ad_stream s = AD_STREAM_ONE;
        s.frames = frames;
        ck_assert_int_eq(ad_stream_simulate(p.graph, &p.cluster, &r.schedule, &s, NULL), ADAPS_OK);
        ck_assert_int_eq(s.interval_ns, r.schedule.makespan_ns);
        ck_assert_int_ge(s.latency_ns, r.schedule.makespan_ns - 16); /* a mean, rounded */
        ck_assert_int_le(s.latency_ns, r.schedule.makespan_ns);
    }
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* Whatever the schedule: answers are no nearer to each other than the largest load, nor than the
 * latency divided by those in flight; with one in flight on a device it takes the latency at most;
 * more in flight hardly ever slow a stream down, and bring it near to the largest load. */
START_TEST(steady_states)
{
    static int near, all;
    for (uint64_t seed = (uint64_t)_i * 10; seed < (uint64_t)_i * 10 + 10; seed++) {
        static const char *const strategies[] = {"edgeflow", "deepthings", "pipeline", "bbgrap"};
        struct problem p;
        struct ad_search_result r;
        struct ad_loads loads;
        ad_fixture_random(&p, seed + 5000);
        ad_fixture_run(&p, strategies[seed % 4], &r);
        ck_assert_int_eq(ad_schedule_loads(p.graph, &p.cluster, &r.schedule, &loads, NULL),
                         ADAPS_OK);
        int64_t load = ad_loads_most(&loads), before = INT64_MAX;
        for (int frames = 1; frames <= 16; frames *= 4) {
            struct ad_stream s = AD_STREAM_ONE;
            s.frames = frames;
            ck_assert_int_eq(ad_stream_simulate(p.graph, &p.cluster, &r.schedule, &s, NULL),
                             ADAPS_OK);
            ck_assert_msg(s.interval_ns >= load - load / 200,
                          "seed %" PRIu64 ", %d: %" PRId64 " apart, a load of %" PRId64, seed,
                          frames, s.interval_ns, load);
            ck_assert_int_ge(s.interval_ns * frames,
                             r.schedule.makespan_ns - r.schedule.makespan_ns / 50);
            ck_assert_int_ge(s.latency_ns, r.schedule.makespan_ns - r.schedule.makespan_ns / 50);
            ck_assert(frames > 1 || s.interval_ns <= r.schedule.makespan_ns + 16);
            ck_assert_msg((double)s.interval_ns <= 1.25 * (double)before,
                          "seed %" PRIu64 ", %d: %" PRId64 ", before %" PRId64, seed, frames,
                          s.interval_ns, before);
            before = s.interval_ns;
        }
        near += (double)before <= 1.02 * (double)load;
        all++;
        ad_search_result_fini(&r);
        ad_fixture_fini(&p);
    }
    if (_i == 3)
        ck_assert_msg(near * 10 >= all * 7, "%d of %d are near their largest load", near, all);
}
END_TEST

/* With buffers for fewer than are in flight: no stream stops, none is quicker than its loads, and
 * chains are about as quick as with buffers for all. Memory grows with the inferences that there
 * are buffers for, and with those in flight. */
START_TEST(buffers_for_some)
{
    for (uint64_t seed = (uint64_t)_i * 10; seed < (uint64_t)_i * 10 + 10; seed++) {
        static const char *const strategies[] = {"edgeflow", "deepthings", "pipeline", "bbgrap"};
        struct problem p;
        struct ad_search_result r;
        struct ad_loads loads;
        int64_t all_ns = 0, memory[AD_MAX_DEVICES], before[AD_MAX_DEVICES] = {0};
        ad_fixture_random(&p, seed + 5000);
        ad_fixture_run(&p, strategies[seed % 4], &r);
        ck_assert_int_eq(ad_schedule_loads(p.graph, &p.cluster, &r.schedule, &loads, NULL),
                         ADAPS_OK);
        int64_t load = ad_loads_most(&loads);
        for (int n = 8; n >= 1; n /= 2) { /* 8: all */
            struct ad_stream s = AD_STREAM_ONE;
            s.frames = 8;
            ad_schedule_buffer(&r.schedule, n);
            ck_assert_int_eq(ad_stream_simulate(p.graph, &p.cluster, &r.schedule, &s, NULL),
                             ADAPS_OK);
            ck_assert_int_ge(s.interval_ns, load - load / 200);
            ck_assert_int_le(s.interval_ns, r.schedule.makespan_ns + r.schedule.makespan_ns / 50);
            all_ns = n == 8 ? s.interval_ns : all_ns;
            if (seed % 4 == 2 && n > 1)
                ck_assert_msg((double)s.interval_ns <= 1.1 * (double)all_ns,
                              "seed %" PRIu64 ", buffers for %d: %" PRId64 ", for all %" PRId64,
                              seed, n, s.interval_ns, all_ns);
            ck_assert_int_eq(
                ad_stream_memory(p.graph, &p.cluster, &r.schedule, &s, memory, NULL, NULL),
                ADAPS_OK);
            for (int d = 0; d < p.cluster.ndevices; d++) {
                ck_assert(n == 8 || seed % 4 != 2 || memory[d] <= before[d]);
                before[d] = memory[d];
            }
        }
        struct ad_stream more = AD_STREAM_ONE;
        more.frames = 9;
        ck_assert_int_eq(
            ad_stream_memory(p.graph, &p.cluster, &r.schedule, &more, memory, NULL, NULL),
            ADAPS_OK);
        for (int d = 0; d < p.cluster.ndevices; d++)
            ck_assert_int_ge(memory[d], before[d]);
        ad_search_result_fini(&r);
        ad_fixture_fini(&p);
    }
}
END_TEST

/* A chain's source waits for the answer and computes nothing more; in bands it has a part of the
 * answer from before. */
START_TEST(tails)
{
    struct problem p;
    struct ad_search_result r;
    ad_fixture_small(&p, 2);
    ad_fixture_run(&p, "defer", &r);
    const struct ad_program *first = &r.schedule.programs[0];
    int tail = ad_program_tail(p.graph, first, true);
    ck_assert_int_gt(tail, 0);
    ck_assert_int_lt(tail, first->nsteps);
    struct ad_program rest = ad_program_rest(first, tail), head = ad_program_head(first, tail);
    ck_assert_int_eq(head.nsteps + rest.nsteps, first->nsteps);
    ck_assert_int_eq(rest.steps[0].kind, AD_STEP_RECV);
    ck_assert_int_eq(rest.steps[0].value, p.graph->outputs[0]);
    ck_assert_int_eq(ad_program_tail(p.graph, first, false), first->nsteps);
    ad_search_result_fini(&r);
    ad_fixture_run(&p, "edgeflow", &r);
    ck_assert_int_eq(ad_program_tail(p.graph, &r.schedule.programs[0], true),
                     r.schedule.programs[0].nsteps);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* Two equal devices in turns answer twice as often; each has the weights, and buffers for what it
 * has in flight. */
START_TEST(two_replicas)
{
    struct problem p;
    struct ad_search_result r;
    struct ad_stream one = AD_STREAM_ONE;
    int64_t memory[2];
    ad_fixture_small(&p, 2);
    p.cluster.devices[0].speed = p.cluster.devices[1].speed;
    ad_cluster_override_links(&p.cluster, 1e10, 0);
    ad_fixture_run(&p, "replicas", &r);
    ck_assert_int_eq(r.stream.nturns, 2);
    ck_assert_int_eq(r.stream.ndeal, 2);
    ck_assert_int_eq(ad_stream_simulate(p.graph, &p.cluster, &r.schedule, &one, NULL), ADAPS_OK);
    ck_assert_int_lt(r.stream.interval_ns, one.interval_ns * 52 / 100);
    ck_assert_int_eq(ad_stream_memory(p.graph, &p.cluster, &r.schedule, &one, memory, NULL, NULL),
                     ADAPS_OK);
    int64_t alone = memory[0], buffers = alone;
    one.frames = 2;
    ck_assert_int_eq(ad_stream_memory(p.graph, &p.cluster, &r.schedule, &one, memory, NULL, NULL),
                     ADAPS_OK);
    buffers = memory[0] - alone;
    ck_assert_int_gt(buffers, 0);
    for (int d = 0; d < 2; d++) {
        int most = ad_stream_most(&r.stream, d);
        ck_assert_int_ge(r.schedule.memory[d], alone - buffers + most * buffers);
    }
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* What is recorded of a steady stream: each device does one task at a time, takes as long for each
 * step as alone, and computes as much as the loads say. */
START_TEST(recorded)
{
    struct problem p;
    struct ad_search_result r;
    struct ad_loads loads;
    struct ad_stream s = AD_STREAM_ONE;
    struct ad_stream_events events;
    int64_t busy[AD_MAX_DEVICES] = {0}, last[AD_MAX_DEVICES] = {0};
    const int intervals = 8;
    ad_fixture_small(&p, 3);
    ad_fixture_run(&p, _i == 0 ? "edgeflow" : "modnn", &r);
    s.frames = 4;
    ck_assert_int_eq(ad_stream_simulate(p.graph, &p.cluster, &r.schedule, &s, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_schedule_loads(p.graph, &p.cluster, &r.schedule, &loads, NULL), ADAPS_OK);
    ck_assert_int_eq(
        ad_stream_record(p.graph, &p.cluster, &r.schedule, &s, intervals, &events, NULL), ADAPS_OK);
    ck_assert_int_eq(events.end_ns - events.start_ns, intervals * s.interval_ns);
    for (size_t i = 0; i < events.count; i++) {
        const struct ad_stream_event *e = &events.items[i];
        const struct ad_step *step = &r.schedule.programs[e->device].steps[e->step];
        ck_assert(e->end_ns > events.start_ns && e->start_ns < events.end_ns);
        ck_assert(i == 0 || events.items[i - 1].start_ns <= e->start_ns);
        if (step->kind != AD_STEP_COMPUTE)
            continue;
        ck_assert_int_eq(e->end_ns - e->start_ns, step->end_ns - step->start_ns);
        ck_assert_int_ge(e->start_ns, last[e->device]);
        last[e->device] = e->end_ns;
        busy[e->device] += (e->end_ns < events.end_ns ? e->end_ns : events.end_ns) -
                           (e->start_ns > events.start_ns ? e->start_ns : events.start_ns);
    }
    for (int d = 0; d < p.cluster.ndevices; d++)
        ck_assert_msg(llabs(busy[d] - intervals * loads.computing[d]) <= 2 * loads.computing[d],
                      "device %d: %" PRId64 " of %" PRId64 " times %d", d, busy[d],
                      loads.computing[d], intervals);
    ad_free(events.items);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

START_TEST(lies_about_streams)
{
    struct problem p;
    struct ad_search_result r;
    struct adaps_error err = {0};
    ad_fixture_small(&p, 2);
    ad_fixture_run(&p, "replicas", &r);
    struct ad_stream *s = &r.stream;
    ck_assert_int_eq(ad_stream_verify(p.graph, s, 2, 0, &err), ADAPS_OK);
    int frames = s->frames, first = s->deal[0], ndeal = s->ndeal;
    s->frames = 0;
    ck_assert_int_eq(ad_stream_verify(p.graph, s, 2, 0, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, "0 inferences in flight"), "%s", err.message);
    s->frames = frames;
    s->deal[0] = 2;
    ck_assert_int_eq(ad_stream_verify(p.graph, s, 2, 0, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, "takes turn 2 of 2"), "%s", err.message);
    s->deal[0] = first;
    s->ndeal = 0;
    ck_assert_int_eq(ad_stream_verify(p.graph, s, 2, 0, &err), ADAPS_EINPUT);
    s->ndeal = ndeal;
    struct ad_program *program = &s->others[0].programs[0];
    ck_assert_int_gt(program->nsteps, 0);
    program->steps[0].kind = AD_STEP_SEND;
    program->steps[0].peer = 7;
    ck_assert_int_eq(ad_stream_verify(p.graph, s, 2, 0, &err), ADAPS_EINPUT);
    ck_assert_msg(strncmp(err.message, "turn 1: ", 8) == 0, "%s", err.message);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stream");
    TCase *c = tcase_create("stream");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, in_flight_by_turn);
    tcase_add_loop_test(c, loads_add_up, 0, 20);
    tcase_add_test(c, alone);
    tcase_add_loop_test(c, steady_states, 0, 4);
    tcase_add_loop_test(c, buffers_for_some, 0, 4);
    tcase_add_test(c, tails);
    tcase_add_test(c, two_replicas);
    tcase_add_loop_test(c, recorded, 0, 2);
    tcase_add_test(c, lies_about_streams);
    suite_add_tcase(s, c);
    return run_suite(s);
}
