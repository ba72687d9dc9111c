/* Strategies for streams: the programme of chains against all chains, mixtures against all shares,
 * and auto against all others. */
#include "search/published/chain.h"
#include "search/stream/fit.h"
#include "search/stream/groups.h"
#include "search/stream/pack.h"
#include "search/stream/turns.h"
#include "support/run_suite.h"
#include "support/sanitized.h"
#include "support/search_fixture.h"

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The load of a chain, by its schedule; if that is below a limit, the interval of its stream. */
static int64_t chain_interval(const struct problem *p, struct ad_eval *eval,
                              const struct ad_chain *chain, int64_t limit)
{
    struct ad_layout layout;
    struct ad_schedule schedule;
    struct ad_loads loads;
    struct ad_stream stream = AD_STREAM_ONE;
    ck_assert_int_eq(ad_layout_init(&layout, p->graph->nops, p->cluster.ndevices, NULL), ADAPS_OK);
    ad_chain_layout(eval->context, chain, &layout);
    ad_eval_assign(eval, &layout);
    ck_assert_int_eq(ad_schedule_build(p->graph, &p->cluster, &eval->scratch, &schedule, NULL),
                     ADAPS_OK);
    ck_assert_int_eq(ad_schedule_loads(p->graph, &p->cluster, &schedule, &loads, NULL), ADAPS_OK);
    stream.interval_ns = ad_loads_most(&loads);
    if (stream.interval_ns < limit)
        ck_assert_int_eq(ad_stream_fit(&p->problem, &schedule, &stream, NULL), ADAPS_OK);
    ad_schedule_fini(&schedule);
    ad_layout_fini(&layout);
    return stream.interval_ns;
}

/* The shortest interval of all chains that go on with *chain, whose devices are taken. */
static void least_interval(const struct problem *p, struct ad_eval *eval, struct ad_chain *chain,
                           unsigned taken, int64_t *least)
{
    int k = chain->nstages, begin = k > 0 ? chain->end[k - 1] : 0;
    if (begin == p->graph->nops) {
        int64_t interval_ns = chain_interval(p, eval, chain, *least);
        *least = interval_ns < *least ? interval_ns : *least;
        return;
    }
    for (int d = 0; d < p->cluster.ndevices; d++)
        for (int end = begin + 1; end <= p->graph->nops && !(taken >> d & 1); end++) {
            chain->device[k] = d;
            chain->end[k] = end;
            chain->nstages = k + 1;
            least_interval(p, eval, chain, taken | 1u << d, least);
            chain->nstages = k;
        }
}

/* Strategy pipeline is within a tenth of the best of all chains, of any order of devices and by the
 * clocks: its programme looks at loads. */
START_TEST(chains_are_the_best)
{
    struct problem p;
    struct ad_context context;
    struct ad_eval eval;
    struct ad_search_result r;
    struct ad_chain chain = {.nstages = 0};
    ad_fixture_small(&p, 3);
    static const double speeds[][3] = {{1, 1, 1}, {1, .5, .25}, {.3, 1, 2}, {2, .1, .1}};
    for (int d = 0; d < 3; d++)
        p.cluster.devices[d].speed = speeds[_i % 4][d];
    ad_cluster_override_links(&p.cluster, _i < 4 ? 1e9 : 2e7, 1e-5);
    p.problem.objective = AD_OBJECTIVE_THROUGHPUT;
    ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_eval_init(&eval, &context, NULL), ADAPS_OK);
    int64_t least = INT64_MAX;
    least_interval(&p, &eval, &chain, 0, &least);
    ad_fixture_run(&p, "pipeline", &r);
    ck_assert_msg((double)r.stream.interval_ns <= 1.1 * (double)least,
                  "%" PRId64 " apart, the least is %" PRId64, r.stream.interval_ns, least);
    ad_search_result_fini(&r);
    ad_eval_fini(&eval);
    ad_context_fini(&context);
    ad_fixture_fini(&p);
}
END_TEST

/* As many stages as devices, of equal numbers of ops, the source first. */
START_TEST(defer_counts_ops)
{
    struct problem p;
    struct ad_search_result r;
    ad_fixture_small(&p, 3);
    p.cluster.source = 1;
    for (int d = 0; d < 3; d++)
        p.cluster.devices[d].source = d == 1;
    ad_fixture_run(&p, "defer", &r);
    const int order[] = {1, 0, 2};
    for (int i = 0; i < p.graph->nops; i++)
        for (int k = 0; k < 3; k++) {
            bool mine = i >= p.graph->nops * k / 3 && i < p.graph->nops * (k + 1) / 3;
            ck_assert_int_eq(!ad_region_empty(*ad_assigned(&r.assignment, i, order[k])), mine);
        }
    ck_assert_int_gt(r.stream.frames, 1);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* The largest load of shares that need not add up. */
static double mixed_load(const struct ad_turns *turns, const double *share)
{
    double most = 0;
    for (int d = 0; d < AD_MAX_DEVICES; d++) {
        double device = 0, up = 0, down = 0;
        for (int t = 0; t < turns->count; t++) {
            device += share[t] * (double)turns->items[t].loads.device[d];
            up += share[t] * (double)turns->items[t].loads.up[d];
            down += share[t] * (double)turns->items[t].loads.down[d];
        }
        most = fmax(most, fmax(device, fmax(up, down)));
    }
    return most;
}

/* Three devices by themselves: no shares in steps of a hundredth are better. */
START_TEST(mixtures_are_the_best)
{
    struct problem p;
    struct ad_context context;
    struct ad_eval eval;
    struct ad_layout layout;
    ad_fixture_small(&p, 3);
    p.cluster.devices[2].speed = 0.3;
    ad_cluster_override_links(&p.cluster, _i == 0 ? 1e9 : 1e6, 1e-5);
    p.problem.objective = AD_OBJECTIVE_THROUGHPUT;
    ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_eval_init(&eval, &context, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_layout_init(&layout, p.graph->nops, 3, NULL), ADAPS_OK);
    struct ad_turns turns = {.problem = &p.problem};
    for (int d = 0; d < 3; d++) {
        const struct ad_chain alone = {1, {d}, {p.graph->nops}};
        ad_chain_layout(&context, &alone, &layout);
        ad_eval_assign(&eval, &layout);
        ck_assert_int_eq(ad_turns_add(&turns, &eval.scratch), ADAPS_OK);
    }
    double least = INFINITY, interval_ns, share[3], sum = 0;
    for (int a = 0; a <= 100; a++)
        for (int b = 0; a + b <= 100; b++)
            least = fmin(least,
                         mixed_load(&turns, (double[]){a / 100., b / 100., (100 - a - b) / 100.}));
    ck_assert_int_eq(ad_turns_mix(&turns, (bool[]){true, true, true}, &interval_ns), ADAPS_OK);
    for (int t = 0; t < 3; t++) {
        share[t] = turns.items[t].share;
        sum += share[t];
    }
    ck_assert_double_eq_tol(sum, 1, 0.03);
    ck_assert_double_le(interval_ns, least * (1 + 1e-6));
    ck_assert_double_le(mixed_load(&turns, share), interval_ns * 1.001);
    ck_assert_int_eq(ad_turns_mix(&turns, (bool[]){false, true, false}, &interval_ns), ADAPS_OK);
    ck_assert_double_eq_tol(turns.items[1].share, 1, 1e-6);
    ck_assert_double_eq(turns.items[0].share, 0);
    ad_turns_fini(&turns);
    ad_layout_fini(&layout);
    ad_eval_fini(&eval);
    ad_context_fini(&context);
    ad_fixture_fini(&p);
}
END_TEST

/* No other strategy's stream is quicker than auto's by more than what auto gives up for replicas;
 * all keep to the caps of the problem, or have no plan. */
static void check_first(const struct problem *p, const struct ad_search_result *best, uint64_t seed)
{
    const struct ad_search_problem *problem = &p->problem;
    struct ad_search_result r;
    ck_assert(problem->latency_cap_ns == 0 || best->stream.latency_ns <= problem->latency_cap_ns);
    for (const struct ad_strategy *s = ad_strategies + 1; s->name && !s->small; s++) {
        enum adaps_status status = ad_search_run(s, problem, &r, NULL);
        if (status == ADAPS_NO)
            continue;
        ck_assert_int_eq(status, ADAPS_OK);
        ck_assert_msg((double)best->stream.interval_ns <= 1.02 * (double)r.stream.interval_ns,
                      "seed %" PRIu64 ": auto %" PRId64 ", %s %" PRId64, seed,
                      best->stream.interval_ns, s->name, r.stream.interval_ns);
        ck_assert(problem->latency_cap_ns == 0 || r.stream.latency_ns <= problem->latency_cap_ns);
        ad_search_result_fini(&r);
    }
}

START_TEST(auto_is_first)
{
    for (uint64_t seed = (uint64_t)_i * 5; seed < (uint64_t)_i * 5 + 5; seed++) {
        struct problem p;
        struct ad_search_result best;
        ad_fixture_random(&p, seed + 6000);
        p.problem.evaluations = 600;
        p.problem.objective = AD_OBJECTIVE_THROUGHPUT;
        ad_fixture_run(&p, "auto", &best);
        check_first(&p, &best, seed);
        if (seed % 5 == 1) { /* messages that may be rounded make no stream slower */
            struct ad_search_result lossy;
            p.problem.encodings =
                AD_ENCODING_BIT(AD_ENCODING_ZFP) | AD_ENCODING_BIT(AD_ENCODING_F16);
            ad_fixture_run(&p, "auto", &lossy);
            ck_assert_int_le(lossy.stream.interval_ns, best.stream.interval_ns * 51 / 50);
            ad_search_result_fini(&lossy);
            p.problem.encodings = 0;
        }
        p.problem.latency_cap_ns = best.stream.latency_ns * 9 / 10;
        ad_search_result_fini(&best);
        if (seed % 3 == 0 && ad_search_run(ad_strategies, &p.problem, &best, NULL) == ADAPS_OK) {
            check_first(&p, &best, seed);
            ad_search_result_fini(&best);
        }
        ad_fixture_fini(&p);
    }
}
END_TEST

/* What auto's stream gives under the throughput it gives as a floor under the latency, too, but for
 * a little, and not later; a strategy that cannot has no plan. */
START_TEST(floors_are_kept)
{
    static const double parts[] = {0.3, 0.7, 0.98};
    for (uint64_t seed = (uint64_t)_i * 2; seed < (uint64_t)_i * 2 + 2; seed++) {
        struct problem p;
        struct ad_search_result quick, r;
        struct adaps_error err = {0};
        ad_fixture_random(&p, seed + 7000);
        p.problem.evaluations = 600;
        p.problem.objective = AD_OBJECTIVE_THROUGHPUT;
        ad_fixture_run(&p, "auto", &quick);
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            p.problem.objective = AD_OBJECTIVE_LATENCY;
            p.problem.interval_cap_ns = (int64_t)((double)quick.stream.interval_ns / parts[k]);
            for (const struct ad_strategy *s = ad_strategies; s->name && !s->small; s++) {
                if (s > ad_strategies && k != 1)
                    break;
                enum adaps_status status = ad_search_run(s, &p.problem, &r, &err);
                ck_assert_msg(status == ADAPS_OK || (status == ADAPS_NO && s != ad_strategies),
                              "seed %" PRIu64 ", %s: %s", seed, s->name, err.message);
                if (status == ADAPS_NO) {
                    ck_assert_msg(strstr(err.message, "answers a second"), "%s", err.message);
                    continue;
                }
                ck_assert_int_le(r.stream.interval_ns, p.problem.interval_cap_ns);
                if (s == ad_strategies)
                    ck_assert_int_le(r.stream.latency_ns, quick.stream.latency_ns);
                ad_search_result_fini(&r);
            }
        }
        p.problem.objective = AD_OBJECTIVE_THROUGHPUT;
        p.problem.interval_cap_ns = quick.stream.interval_ns / 2;
        ck_assert_int_eq(ad_search_run(ad_strategies, &p.problem, &r, &err), ADAPS_NO);
        ck_assert_msg(strstr(err.message, "answers a second"), "%s", err.message);
        ad_search_result_fini(&quick);
        ad_fixture_fini(&p);
    }
}
END_TEST

/* Where no device has the memory for all weights, there are no replicas, but a chain. Every
 * inference in flight counts. */
START_TEST(memory_counts_frames)
{
    struct problem p;
    struct ad_search_result r;
    struct adaps_error err = {0};
    ad_fixture_small(&p, 4);
    p.problem.objective = AD_OBJECTIVE_THROUGHPUT;
    ad_fixture_run(&p, "pipeline", &r);
    int64_t most = 0;
    int frames = r.stream.frames;
    ck_assert_int_gt(frames, 1);
    for (int d = 0; d < 4; d++)
        most = r.schedule.memory[d] > most ? r.schedule.memory[d] : most;
    ad_search_result_fini(&r);
    for (int d = 0; d < 4; d++)
        p.cluster.devices[d].memory = (uint64_t)most - 1;
    ad_fixture_run(&p, "pipeline", &r);
    for (int d = 0; d < 4; d++)
        ck_assert_int_lt(r.schedule.memory[d], most);
    ad_search_result_fini(&r);
    for (int d = 0; d < 4; d++)
        p.cluster.devices[d].memory = 2500000; /* of 2.6 MB of weights */
    ck_assert_int_eq(ad_search_run(ad_strategy_find("replicas"), &p.problem, &r, &err), ADAPS_NO);
    ad_fixture_run(&p, "auto", &r);
    for (int d = 0; d < 4; d++)
        ck_assert_int_le(r.schedule.memory[d], 2500000);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* The largest rate of turns from `t` on without a common device, by trying all. */
static double best_rate(const struct ad_turns *turns, int t, uint64_t taken)
{
    if (t == turns->count)
        return 0;
    uint64_t devices = ad_turn_devices(&turns->items[t]);
    double without = best_rate(turns, t + 1, taken);
    if (devices & taken)
        return without;
    return fmax(without, 1e9 / (double)ad_turn_interval(&turns->items[t]) +
                             best_rate(turns, t + 1, taken | devices));
}

static void check_packs(const struct ad_turns *turns)
{
    struct ad_pack packs[AD_PACKS];
    int count = ad_turns_pack(turns, packs);
    ck_assert_int_gt(count, 0);
    ck_assert_double_eq_tol(packs[0].rate, best_rate(turns, 0, 0), 1e-6 * packs[0].rate);
    for (int i = 0; i < count; i++) {
        uint64_t taken = 0;
        double rate = 0;
        ck_assert(i == 0 || packs[i].rate <= packs[i - 1].rate);
        for (int k = 0; k < packs[i].count; k++) {
            const struct ad_turn *turn = &turns->items[packs[i].turn[k]];
            ck_assert_uint_eq(taken & ad_turn_devices(turn), 0);
            taken |= ad_turn_devices(turn);
            rate += 1e9 / (double)ad_turn_interval(turn);
        }
        ck_assert_double_eq_tol(rate, packs[i].rate, 1e-6 * rate);
    }
}

/* Chains through groups of devices: the same cuts, each device in one stage; mixed they are no
 * slower than the best chain. Sets of turns on devices of their own have the largest rates. */
START_TEST(groups_share_stages)
{
    struct problem p;
    struct ad_context context;
    struct ad_eval eval;
    struct ad_layout layout;
    struct ad_chains *chains;
    struct ad_chain ways[16], one;
    int count, stage_of[4] = {-1, -1, -1, -1};
    ad_fixture_small(&p, 4);
    ad_cluster_override_links(&p.cluster, 1e9, 1e-5);
    for (int d = 0; d < 4; d++)
        p.cluster.devices[d].memory = _i == 0 ? 0 : 2700000;
    p.problem.objective = AD_OBJECTIVE_THROUGHPUT;
    ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_eval_init(&eval, &context, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_layout_init(&layout, p.graph->nops, 4, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_chains_new(&context, 1, &chains, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_groups_chains(&context, chains, 16, ways, &count, NULL), ADAPS_OK);
    ck_assert_int_gt(count, 0);
    ck_assert(ad_chains_best(chains, (bool[]){true, true, true, true}, &one));
    struct ad_turns turns = {.problem = &p.problem};
    bool use[17] = {false};
    for (int w = 0; w < count; w++) {
        ck_assert_int_eq(ways[w].nstages, ways[0].nstages);
        ck_assert_int_eq(ways[w].end[ways[w].nstages - 1], p.graph->nops);
        for (int s = 0; s < ways[w].nstages; s++) {
            int d = ways[w].device[s];
            ck_assert_int_eq(ways[w].end[s], ways[0].end[s]);
            ck_assert(stage_of[d] < 0 || stage_of[d] == s);
            stage_of[d] = s;
        }
        ad_chain_layout(&context, &ways[w], &layout);
        ad_eval_assign(&eval, &layout);
        ck_assert_int_eq(ad_turns_add(&turns, &eval.scratch), ADAPS_OK);
        use[w] = true;
    }
    double interval_ns;
    ck_assert_int_eq(turns.count, count);
    ck_assert_int_eq(ad_turns_mix(&turns, use, &interval_ns), ADAPS_OK);
    ck_assert_double_le(interval_ns, 1.03 * (double)chain_interval(&p, &eval, &one, 0));
    check_packs(&turns);
    ad_turns_fini(&turns);
    ad_chains_free(chains);
    ad_layout_fini(&layout);
    ad_eval_fini(&eval);
    ad_context_fini(&context);
    ad_fixture_fini(&p);
}
END_TEST

/* A cap of the latency makes streams slower, a floor of the rate makes answers later. */
START_TEST(caps_and_floors)
{
    struct problem p;
    struct ad_search_result quick, soon, r;
    struct adaps_error err = {0};
    ad_fixture_small(&p, 3);
    ad_cluster_override_links(&p.cluster, 2e7, 1e-4);
    ad_fixture_run(&p, "auto", &soon);
    p.problem.objective = AD_OBJECTIVE_THROUGHPUT;
    ad_fixture_run(&p, "auto", &quick);
    ck_assert_int_lt(quick.stream.interval_ns, soon.stream.interval_ns);
    p.problem.latency_cap_ns = soon.schedule.makespan_ns * 21 / 20;
    ad_fixture_run(&p, "auto", &r);
    ck_assert_int_le(r.stream.latency_ns, p.problem.latency_cap_ns);
    ck_assert_int_ge(r.stream.interval_ns, quick.stream.interval_ns);
    ad_search_result_fini(&r);
    p.problem.objective = AD_OBJECTIVE_LATENCY;
    p.problem.latency_cap_ns = 0;
    p.problem.interval_cap_ns = (soon.stream.interval_ns + 4 * quick.stream.interval_ns) / 5;
    ad_fixture_run(&p, "auto", &r);
    ck_assert_int_ge(r.stream.latency_ns, soon.schedule.makespan_ns);
    ck_assert_int_le(r.stream.interval_ns, p.problem.interval_cap_ns);
    ad_search_result_fini(&r);
    p.problem.interval_cap_ns = 1;
    ck_assert_int_eq(ad_search_run(ad_strategy_find("auto"), &p.problem, &r, &err), ADAPS_NO);
    ck_assert_msg(strstr(err.message, "answers a second"), "%s", err.message);
    ad_search_result_fini(&quick);
    ad_search_result_fini(&soon);
    ad_fixture_fini(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("streams");
    TCase *c = tcase_create("streams");
    tcase_set_timeout(c, 300);
    tcase_add_loop_test(c, chains_are_the_best, 0, sampled(8));
    tcase_add_test(c, defer_counts_ops);
    tcase_add_loop_test(c, mixtures_are_the_best, 0, sampled(2));
    tcase_add_loop_test(c, auto_is_first, 0, sampled(4));
    tcase_add_loop_test(c, floors_are_kept, 0, sampled(2));
    tcase_add_test(c, memory_counts_frames);
    tcase_add_loop_test(c, groups_share_stages, 0, sampled(2));
    tcase_add_test(c, caps_and_floors);
    suite_add_tcase(s, c);
    return run_suite(s);
}
