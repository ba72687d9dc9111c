/* On small instances the search is exact:
 *
 *   auto = the better of exhaustive and strategy adaps    any graph, devices, medium
 *   auto = the best of exhaustive, halp, dn2pciot         other objectives than latency
 *   exhaustive, tasks in graph order = the dynamic programme of dp_oracle.h
 *                                                         chains, two devices on a switch
 *
 * where exhaustive's space (head of src/search/exact/exhaustive.c) is all layouts, tasks in any of
 * the orders of enum ad_order. Strategy adaps has overlaps that no layout has, and competes with
 * auto's layout at the end when latency is the objective; so do, whatever the objective, the zones
 * of halp, which lie in another order than the devices, and the bands of dn2pciot, which may be of
 * channels where auto has none. */
#include "support/dp_oracle.h"
#include "support/run_suite.h"
#include "support/sanitized.h"
#include "search/bound/bound.h"
#include "search/bound/work.h"
#include "search/exact/exhaustive.h"
#include "search/published/deeperthings.h"
#include "support/search_fixture.h"

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE 60 /* instances of one fork */

/* 10^lo .. 10^hi, as if drawn from a logarithmic scale. */
static double spread(struct ad_rng *rng, int lo, int hi)
{
    double x = 1;
    int exponent = lo + (int)ad_rng_below(rng, (uint32_t)(hi - lo));
    for (int i = 0; i < abs(exponent); i++)
        x = exponent < 0 ? x / 10 : x * 10;
    return x * (1 + ad_rng_below(rng, 90) / 10.0);
}

static void random_devices(struct problem *p, struct ad_rng *rng, int n)
{
    ad_fixture_devices(&p->cluster, n);
    double slow = spread(rng, -5, -2);
    for (int d = 0; d < n; d++) {
        p->cluster.devices[d].speed =
            slow * (1 + ad_rng_below(rng, 12)) / 4 * (ad_rng_below(rng, 5) ? 1 : 50);
        p->cluster.devices[d].table.constant_s = 1e-6 * ad_rng_below(rng, 4) * ad_rng_below(rng, 8);
    }
    double rate = spread(rng, 6, 9), latency = 1e-6 * ad_rng_below(rng, 3) * ad_rng_below(rng, 30);
    bool bad = ad_rng_below(rng, 4) == 0; /* some links are hardly of use */
    for (int i = 0; i < n * n; i++)
        p->cluster.links[i] = (struct ad_link){rate * (1 + ad_rng_below(rng, 4)) /
                                                   (bad && ad_rng_below(rng, 3) == 0 ? 300 : 1),
                                               latency * (1 + ad_rng_below(rng, 2))};
    p->cluster.devices[0].source = false;
    p->cluster.source = (int)ad_rng_below(rng, (uint32_t)n);
    p->cluster.devices[p->cluster.source].source = true;
}

static void random_dims(struct problem *p, struct ad_rng *rng)
{
    uint32_t dims = ad_rng_below(rng, 12);
    p->problem.split_h = dims != 1;
    p->problem.split_w = dims != 2;
    p->problem.split_c = dims % 2 == 0;
}

/* A chain of a few ops and two devices. */
static void random_chain(struct problem *p, uint64_t seed)
{
    struct ad_rng rng = {seed ^ 0xc4a1};
    struct ad_random_graph_options options = {.ops = 1 + (int)(seed % 3),
                                              .max_hw = seed % 3 == 2 ? 6 : 9,
                                              .max_c = 16,
                                              .batch = seed % 11 == 0 ? 2 : 1,
                                              .wild = seed % 7 == 0,
                                              .spatial = seed % 4 != 0,
                                              .chain = true};
    struct adaps_error err = {0};
    ck_assert_msg(ad_random_graph(seed, &options, &p->graph, &err) == ADAPS_OK, "%s", err.message);
    random_devices(p, &rng, 2);
    ad_fixture_fill(p);
    random_dims(p, &rng);
}

/* Any graph of a few ops, one to four devices, switch or medium. */
static void random_small(struct problem *p, uint64_t seed)
{
    struct ad_rng rng = {seed ^ 0xdac5};
    int n = 1 + (int)ad_rng_below(&rng, 4);
    struct ad_random_graph_options options = {.ops = n >= 3 ? 1 : 2 + (int)(seed % 2),
                                              .max_hw = n >= 3 ? 5 : 6,
                                              .max_c = 12,
                                              .outputs = seed % 4 == 0,
                                              .wild = seed % 9 == 0,
                                              .spatial = seed % 3 != 0};
    struct adaps_error err = {0};
    ck_assert_msg(ad_random_graph(seed, &options, &p->graph, &err) == ADAPS_OK, "%s", err.message);
    random_devices(p, &rng, n);
    for (int d = 0; d < n && seed % 2; d++) { /* inputs and outputs that take their time */
        p->cluster.devices[d].table.feed_rate = 1e8 * (double)(1 + seed % 97);
        p->cluster.devices[d].table.fetch_rate = 1e8 * (double)(1 + seed % 89);
    }
    p->cluster.shared_medium = ad_rng_below(&rng, 4) == 0;
    ad_fixture_fill(p);
    random_dims(p, &rng);
}

/* false when there are too many layouts for exhaustive. The bound must be below the best. */
static bool run_exhaustive(const struct problem *p, struct ad_search_result *r)
{
    struct adaps_error err = {0};
    enum adaps_status status = ad_search_run(ad_strategy_find("exhaustive"), &p->problem, r, &err);
    if (status == ADAPS_NO && strstr(err.message, "is for small networks"))
        return false;
    ck_assert_msg(status == ADAPS_OK, "%s", err.message);
    ck_assert_msg(ad_schedule_verify(p->graph, &r->schedule, p->cluster.source, &err) == ADAPS_OK,
                  "%s", err.message);
    ck_assert_msg(r->lower_bound_ns <= r->schedule.makespan_ns,
                  "bound %" PRId64 " ns, exhaustive %" PRId64, r->lower_bound_ns,
                  r->schedule.makespan_ns);
    return true;
}

static int64_t makespan_of(const struct problem *p, const char *strategy)
{
    struct ad_search_result r;
    ad_fixture_run(p, strategy, &r);
    int64_t ns = r.schedule.makespan_ns;
    ad_search_result_fini(&r);
    return ns;
}

/* What strategy adaps comes to in auto: pictures as bytes where they may be. */
static int64_t overlaps_of(const struct problem *p)
{
    struct ad_search_result r;
    struct ad_schedule s;
    ad_fixture_run(p, "adaps", &r);
    r.assignment.u8 = ad_search_u8(&p->problem);
    ck_assert_int_eq(ad_schedule_build(p->graph, &p->cluster, &r.assignment, &s, NULL), ADAPS_OK);
    int64_t ns = s.makespan_ns;
    ad_schedule_fini(&s);
    ad_search_result_fini(&r);
    return ns;
}

/* The best of the plans that auto has of tiles and channels, which are not among the layouts that
 * are enumerated; INT64_MAX for one device. */
static int64_t channels_of(const struct problem *p)
{
    struct ad_context context;
    double equal[AD_MAX_DEVICES];
    int64_t best = INT64_MAX;
    if (p->cluster.ndevices < 2)
        return best;
    for (int d = 0; d < p->cluster.ndevices; d++)
        equal[d] = 1;
    ck_assert_int_eq(ad_context_init(&context, &p->problem, NULL), ADAPS_OK);
    for (int ahead = 0; ahead < 2; ahead++) {
        struct ad_search_result r = {0};
        ck_assert_int_eq(
            ad_channels_plan(&p->problem, "auto", ahead ? context.speed : equal, ahead, &r, NULL),
            ADAPS_OK);
        best = r.schedule.makespan_ns < best ? r.schedule.makespan_ns : best;
        ad_search_result_fini(&r);
    }
    ad_context_fini(&context);
    return best;
}

/* The best of all layouts whose tasks are in graph order. */
static int64_t in_graph_order(const struct problem *p)
{
    struct ad_context context;
    struct ad_eval eval;
    struct ad_best best;
    double space_log10;
    bool few;
    ck_assert_int_eq(ad_context_init(&context, &p->problem, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_eval_init(&eval, &context, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_best_init(&best, &context, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_exhaustive_orders(&eval, &best, AD_ORDER_GRAPH, &space_log10, &few),
                     ADAPS_OK);
    ck_assert(few && best.valid);
    int64_t ns = best.score.makespan_ns;
    ad_best_fini(&best);
    ad_eval_fini(&eval);
    ad_context_fini(&context);
    return ns;
}

static bool is_shared(const struct ad_schedule *s)
{
    int devices = 0;
    for (int d = 0; d < s->ndevices; d++)
        devices += s->programs[d].ntasks > 0;
    return devices > 1;
}

static int64_t largest(const struct ad_schedule *s)
{
    int64_t most = 0;
    for (int d = 0; d < s->ndevices; d++)
        most = s->memory[d] > most ? s->memory[d] : most;
    return most;
}

/* What the objective makes small. */
static int64_t figure_of(const struct problem *p, const struct ad_schedule *s)
{
    return p->problem.objective == AD_OBJECTIVE_TRAFFIC  ? s->bytes
           : p->problem.objective == AD_OBJECTIVE_MEMORY ? largest(s)
                                                         : s->makespan_ns;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The same of a strategy; INT64_MAX: it has no plan. */
static int64_t figure_by(const struct problem *p, const char *strategy)
{
    struct ad_search_result r;
    struct adaps_error err = {0};
    if (p->cluster.ndevices < 2)
        return INT64_MAX;
    enum adaps_status status = ad_search_run(ad_strategy_find(strategy), &p->problem, &r, &err);
    if (status == ADAPS_NO)
        return INT64_MAX;
    ck_assert_msg(status == ADAPS_OK, "%s", err.message);
    int64_t figure = figure_of(p, &r.schedule);
    ad_search_result_fini(&r);
    return figure;
}

/* Of the strategies whose plans may be no layouts of auto's. */
static int64_t others_of(const struct problem *p)
{
    return least(figure_by(p, "halp"), figure_by(p, "dn2pciot"));
}

/* Auto is as good as the best of all layouts, or as adaps, channels, halp or dn2pciot where these
 * are better; not worse where maps may be divided by channels, as exhaustive does only where memory
 * is short. */
static void auto_is(const struct problem *p, uint64_t seed, int64_t best)
{
    int64_t mine = makespan_of(p, "auto"), other = overlaps_of(p), channels = channels_of(p);
    int64_t others = others_of(p);
    int64_t want = least(least(best, others), least(other, channels));
    ck_assert_msg(p->problem.split_c ? mine <= want : mine == want,
                  "seed %" PRIu64 ": auto %" PRId64 " ns, exhaustive %" PRId64 ", adaps %" PRId64
                  ", channels %" PRId64 ", others %" PRId64,
                  seed, mine, best, other, channels, others);
}

/* Of 11 x 60 chains at least 11 x 46 are small enough; and many of their best plans share the work,
 * or there would be little to find. */
START_TEST(exhaustive_is_dp_is_auto)
{
    int compared = 0, shared = 0;
    for (uint64_t seed = (uint64_t)_i * AT_ONCE; seed < (uint64_t)(_i + 1) * AT_ONCE; seed++) {
        struct problem p;
        struct ad_search_result all;
        struct ad_dp_answer dp;
        random_chain(&p, seed);
        if (run_exhaustive(&p, &all)) {
            int64_t best = all.schedule.makespan_ns;
            ck_assert(ad_dp_oracle(&p.problem, &dp));
            int64_t ordered = in_graph_order(&p);
            ck_assert_msg(ordered == dp.makespan_ns,
                          "seed %" PRIu64 ": exhaustive %" PRId64 " ns, DP %" PRId64, seed, ordered,
                          dp.makespan_ns);
            ck_assert_int_le(best, ordered);
            auto_is(&p, seed, best);
            compared++;
            shared += is_shared(&all.schedule);
            ad_search_result_fini(&all);
        }
        ad_fixture_fini(&p);
    }
    ck_assert_int_ge(compared, 42);
    ck_assert_int_ge(shared, 10);
}
END_TEST

START_TEST(exhaustive_is_auto)
{
    int compared = 0, shared = 0;
    for (uint64_t seed = (uint64_t)_i * AT_ONCE; seed < (uint64_t)(_i + 1) * AT_ONCE; seed++) {
        struct problem p;
        struct ad_search_result all;
        random_small(&p, seed);
        if (run_exhaustive(&p, &all)) {
            auto_is(&p, seed, all.schedule.makespan_ns);
            compared++;
            shared += is_shared(&all.schedule);
            ad_search_result_fini(&all);
        }
        ad_fixture_fini(&p);
    }
    ck_assert_int_ge(compared, AT_ONCE / 2);
    ck_assert_int_ge(shared, 3);
}
END_TEST

/* Links on which the inputs take about as long as all work takes the source, and others that are
 * much quicker. */
static void quick_others(struct problem *p, struct ad_rng *rng)
{
    int64_t alone, elements = 0;
    for (int i = 0; i < p->graph->ninputs; i++)
        elements += ad_region_elements(ad_region_whole(&p->graph->values[p->graph->inputs[i]]));
    ad_cluster_override_links(&p->cluster, 1, 0);
    ck_assert_int_eq(ad_search_bound(&p->problem, &alone, NULL), ADAPS_OK);
    double rate = 4e9 * (double)elements / (double)(alone + 1000);
    ad_cluster_override_links(&p->cluster, rate * (1 + ad_rng_below(rng, 40)) / 20, 0);
    for (int d = 0; d < p->cluster.ndevices; d++)
        p->cluster.devices[d].speed *= d == p->cluster.source ? 1 : 1000;
}

/* Without the rules of some kinds, the bound takes less for certain at every step. So it is lower,
 * up to the quality of the weights, and still below the best of all layouts. */
static void less_knowledge_is_lower(const struct problem *p, uint64_t unknown, int64_t bound,
                                    int64_t best)
{
    struct ad_bound_work all, less;
    int64_t without;
    ck_assert_int_eq(ad_bound_work_init(&all, &p->problem, 0, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_bound_work_init(&less, &p->problem, unknown, NULL), ADAPS_OK);
    for (int i = 0; i < p->graph->nops * all.n; i++)
        ck_assert(less.a[i] <= all.a[i]);
    for (int v = 0; v < p->graph->nvalues; v++)
        ck_assert(less.pixels[v] * less.depth[v] <= all.pixels[v] * all.depth[v]);
    for (int d = 0; d < all.n; d++)
        ck_assert(less.to[d] <= all.to[d] && less.from[d] <= all.from[d]);
    ck_assert_int_le(less.nsegments, all.nsegments);
    ck_assert_int_eq(ad_search_bound_without(&p->problem, unknown, &without, NULL), ADAPS_OK);
    ck_assert_msg(without <= bound + bound / 8 && without <= best,
                  "without %jx: bound %" PRId64 " ns, with them %" PRId64 ", best %" PRId64,
                  (uintmax_t)unknown, without, bound, best);
    ad_bound_work_fini(&all);
    ad_bound_work_fini(&less);
}

/* Each kind of the graph is one that the bound does not know, and then all are. */
static void unknown_kinds_lower_the_bound(const struct problem *p, int64_t bound, int64_t best)
{
    uint64_t kinds = 0;
    for (int i = 0; i < p->graph->nops; i++) {
        uint64_t kind = AD_BOUND_KIND(p->graph->ops[i].kind);
        if (!(kinds & kind))
            less_knowledge_is_lower(p, kind, bound, best);
        kinds |= kind;
    }
    less_knowledge_is_lower(p, kinds, bound, best);
}

/* Links from hopeless to free of charge, near and far, and such that bytes count: the bound is
 * below the best of all layouts, and now and then close to it. */
START_TEST(bound_is_below_exhaustive)
{
    int compared = 0, shared = 0, close = 0;
    for (uint64_t seed = (uint64_t)_i * AT_ONCE; seed < (uint64_t)(_i + 1) * AT_ONCE; seed++) {
        struct problem p;
        struct ad_search_result all;
        struct ad_rng rng = {seed ^ 0xb0d};
        if (seed % 2)
            random_chain(&p, seed + 7000);
        else
            random_small(&p, seed + 7000);
        p.cluster.shared_medium = ad_rng_below(&rng, 3) == 0;
        p.problem.encodings = seed % 3   ? 0
                              : seed % 2 ? AD_ENCODING_BIT(AD_ENCODING_F16)
                                         : AD_ENCODINGS_LOSSY;
        if (ad_rng_below(&rng, 2))
            quick_others(&p, &rng);
        else
            ad_cluster_override_links(&p.cluster, spread(&rng, 2, 12),
                                      ad_rng_below(&rng, 2) ? spread(&rng, -9, -2) : 0);
        if (run_exhaustive(&p, &all)) {
            bool split = is_shared(&all.schedule);
            compared++;
            shared += split;
            close += split && all.lower_bound_ns > all.schedule.makespan_ns * 3 / 4;
            unknown_kinds_lower_the_bound(&p, all.lower_bound_ns, all.schedule.makespan_ns);
            ad_search_result_fini(&all);
        }
        ad_fixture_fini(&p);
    }
    ck_assert_int_ge(compared, AT_ONCE / 2);
    ck_assert_int_ge(shared, 3);
    ck_assert_int_ge(close, 1);
}
END_TEST

/* Larger graphs than those that are enumerated: with batches, many channels and layers of large
 * weights, several outputs; up to eight devices, near and far, quick and slow, some alike. */
static void random_large(struct problem *p, uint64_t seed)
{
    struct ad_rng rng = {seed ^ 0x1a46e};
    int n = 2 + (int)ad_rng_below(&rng, 7);
    struct ad_random_graph_options options = {.ops = 2 + (int)(seed % 12),
                                              .max_hw = 24,
                                              .max_c = seed % 5 ? 24 : 96,
                                              .batch = seed % 7 == 0 ? 2 : 1,
                                              .outputs = seed % 3 == 0,
                                              .wild = seed % 4 == 0,
                                              .spatial = seed % 2 == 0};
    struct adaps_error err = {0};
    ck_assert_msg(ad_random_graph(seed, &options, &p->graph, &err) == ADAPS_OK, "%s", err.message);
    random_devices(p, &rng, n);
    for (int d = 1; d < n && seed % 3 == 0; d++)
        if (d != p->cluster.source)
            p->cluster.devices[d].speed = p->cluster.devices[d - 1].speed;
    p->cluster.shared_medium = ad_rng_below(&rng, 3) == 0;
    ad_fixture_fill(p);
    random_dims(p, &rng);
    p->problem.input_f32 = ad_rng_below(&rng, 2);
    p->problem.encodings = ad_rng_below(&rng, 2) ? AD_ENCODINGS_LOSSY : 0;
    double rate = spread(&rng, 3, 10);
    for (int i = 0; i < n * n; i++)
        p->cluster.links[i].bandwidth = rate * (1 + (seed % 2 ? ad_rng_below(&rng, 30) : 0));
}

/* The cluster without the devices that `without` has bits of. */
static void leave_out(const struct ad_cluster *from, unsigned without, struct ad_cluster *to)
{
    int kept[AD_MAX_DEVICES], n = 0;
    for (int d = 0; d < from->ndevices; d++)
        if (!(without >> d & 1) || d == from->source)
            kept[n++] = d;
    ck_assert_int_eq(ad_cluster_init(to, n, NULL), ADAPS_OK);
    to->shared_medium = from->shared_medium;
    for (int i = 0; i < n; i++) {
        ad_cluster_set_device(to, i, &from->devices[kept[i]]);
        if (kept[i] == from->source)
            to->source = i;
        for (int k = 0; k < n; k++)
            to->links[i * n + k] = from->links[kept[i] * from->ndevices + kept[k]];
    }
}

/* No device less makes the bound lower, not even by a nanosecond; many make it higher. */
START_TEST(bound_falls_with_devices)
{
    int compared = 0, higher = 0;
    for (uint64_t seed = (uint64_t)_i * AT_ONCE; seed < (uint64_t)(_i + 1) * AT_ONCE; seed++) {
        struct problem p;
        struct ad_rng rng = {seed ^ 0xfa11};
        random_large(&p, seed + 31000);
        int64_t all, fewer;
        ck_assert_int_eq(ad_search_bound(&p.problem, &all, NULL), ADAPS_OK);
        for (int i = 0; i < 6; i++) {
            struct ad_cluster cluster;
            struct ad_search_problem part = p.problem;
            unsigned without = i == 5 ? ~0u : ad_rng_below(&rng, 256);
            leave_out(&p.cluster, without, &cluster);
            part.cluster = &cluster;
            ck_assert_int_eq(ad_search_bound(&part, &fewer, NULL), ADAPS_OK);
            ck_assert_msg(fewer >= all,
                          "seed %ju without %x: bound %" PRId64 " ns, of all devices %" PRId64,
                          (uintmax_t)seed, without, fewer, all);
            compared++;
            higher += fewer > all;
            ad_cluster_fini(&cluster);
        }
        ad_fixture_fini(&p);
    }
    ck_assert_int_eq(compared, AT_ONCE * 6);
    ck_assert_int_ge(higher, AT_ONCE);
}
END_TEST

/* 1x1 convolution of 64 rows on a slow source beside a device of no time: bytes alone hinder it, on
 * the way there (many channels in), back (many out), or there and back on one medium. */
START_TEST(bound_is_close_on_slow_links)
{
    for (int i = 0; i < 4; i++) {
        struct problem p;
        struct ad_builder b;
        bool medium = i >= 2, into = i % 2 == 0;
        ad_build_init(&b, 1);
        int x = ad_build_input(&b, 1, 128, 4, into ? 64 : 4);
        x = ad_build_conv(&b, x, ad_window_square(1, 1, 1, 0, 0), 1, medium ? 64 : into ? 4 : 64);
        ad_build_output(&b, x);
        ck_assert_int_eq(ad_build_finish(&b, &p.graph, NULL), ADAPS_OK);
        ad_fixture_devices(&p.cluster, 2);
        for (int d = 0; d < 2; d++)
            p.cluster.devices[d].table.memory_bw = 1e15;
        p.cluster.devices[0].table.rate[AD_COST_CONV] = (into && medium ? 16 : 1) * 131072 / 1e-2;
        p.cluster.devices[1].table.rate[AD_COST_CONV] = 1e15;
        p.cluster.shared_medium = medium;
        ad_cluster_override_links(&p.cluster, 64 * 512 * 4 / 1e-2, 0);
        ad_fixture_fill(&p);
        struct ad_search_result r;
        ad_fixture_run(&p, "auto", &r);
        ck_assert(is_shared(&r.schedule));
        ck_assert_int_le(r.lower_bound_ns, r.schedule.makespan_ns);
        ck_assert_msg(r.lower_bound_ns > r.schedule.makespan_ns * 9 / 10,
                      "%d: bound %" PRId64 " ns, auto %" PRId64, i, r.lower_bound_ns,
                      r.schedule.makespan_ns);
        ad_search_result_fini(&r);
        ad_fixture_fini(&p);
    }
}
END_TEST

/* The best plan, unless the best single device is less than a third later. */
START_TEST(several_devices_are_worth_it)
{
    int together = 0, alone = 0;
    for (uint64_t seed = 5000; seed < 5000 + (uint64_t)sampled(AT_ONCE); seed++) {
        struct problem p;
        struct ad_search_result single, best, worth;
        random_small(&p, seed);
        ad_fixture_run(&p, "single", &single);
        ad_fixture_run(&p, "auto", &best);
        p.problem.worth = 1 / 3.;
        ad_fixture_run(&p, "auto", &worth);
        int64_t one = single.schedule.makespan_ns, all = best.schedule.makespan_ns;
        bool shares = 3 * one >= 4 * all;
        ck_assert_int_eq(worth.schedule.makespan_ns, shares ? all : one);
        together += shares;
        alone += one > all && !shares;
        ad_search_result_fini(&single);
        ad_search_result_fini(&best);
        ad_search_result_fini(&worth);
        ad_fixture_fini(&p);
    }
    ck_assert_int_gt(together, 0);
    ck_assert_int_gt(alone, 0);
}
END_TEST

/* Bytes, or the largest memory, within a cap that a plan has to work for. */
START_TEST(other_objectives)
{
    int compared = 0;
    for (uint64_t seed = 3000; seed < 3000 + (uint64_t)sampled(AT_ONCE); seed++) {
        struct problem p;
        struct ad_search_result all, best;
        random_small(&p, seed);
        if (run_exhaustive(&p, &all)) {
            p.problem.latency_cap_ns = all.schedule.makespan_ns * 11 / 10 + 1;
            p.problem.objective = seed % 2 ? AD_OBJECTIVE_TRAFFIC : AD_OBJECTIVE_MEMORY;
            ad_search_result_fini(&all);
            ck_assert(run_exhaustive(&p, &all));
            ad_fixture_run(&p, "auto", &best);
            int64_t mine = figure_of(&p, &best.schedule);
            int64_t want = least(figure_of(&p, &all.schedule), others_of(&p));
            ck_assert_msg(mine == want, "seed %" PRIu64 ": auto %" PRId64 " bytes, wanted %" PRId64,
                          seed, mine, want);
            ck_assert_int_le(all.schedule.makespan_ns, p.problem.latency_cap_ns);
            compared++;
            ad_search_result_fini(&all);
            ad_search_result_fini(&best);
        }
        ad_fixture_fini(&p);
    }
    ck_assert_int_ge(compared, sampled(AT_ONCE) / 2);
}
END_TEST

/* Chains that are too large to enumerate: the dynamic programme is below every strategy that keeps
 * to its order of tasks (but those that are no such layouts may be below it), and auto
 * is close to it. */
START_TEST(auto_is_close_on_larger_chains)
{
    double sum = 0;
    int count = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)sampled(40); seed++) {
        struct problem p;
        struct ad_dp_answer dp;
        struct ad_rng rng = {seed ^ 0x9};
        struct ad_random_graph_options options = {
            .ops = 5 + (int)(seed % 4), .max_hw = 18, .max_c = 16, .spatial = true, .chain = true};
        ck_assert_int_eq(ad_random_graph(seed, &options, &p.graph, NULL), ADAPS_OK);
        random_devices(&p, &rng, 2);
        ad_fixture_fill(&p);
        p.problem.split_c = false; /* of maps: the programme knows nothing of it */
        ck_assert(ad_dp_oracle(&p.problem, &dp));
        int64_t overlaps = overlaps_of(&p), mine = makespan_of(&p, "auto");
        int64_t others = least(overlaps, least(channels_of(&p), others_of(&p)));
        for (const struct ad_strategy *s = ad_strategies; s->name && !s->small; s++) {
            struct ad_search_result r;
            ad_fixture_run(&p, s->name, &r);
            int64_t ns = r.schedule.makespan_ns;
            bool ordered = r.assignment.order == AD_ORDER_GRAPH && strcmp(s->name, "deeperthings");
            ad_search_result_fini(&r);
            ck_assert_msg(!ordered || ns >= dp.makespan_ns || others <= ns,
                          "seed %" PRIu64 ": %s %" PRId64 " ns, DP %" PRId64, seed, s->name, ns,
                          dp.makespan_ns);
        }
        sum += log((double)mine / (double)dp.makespan_ns);
        count++;
        ad_fixture_fini(&p);
    }
    ck_assert_msg(exp(sum / count) < 1.05, "auto is %.3f of the DP", exp(sum / count));
}
END_TEST

/* --- whether it is the whole space --- */

static void random_op(struct ad_rng *rng, const struct ad_context *context,
                      struct ad_layout *layout, int i)
{
    int n = layout->ndevices, *cuts = ad_layout_cuts(layout, i);
    struct ad_op_layout *op = &layout->ops[i];
    *op = (struct ad_op_layout){.dim = (enum ad_dim)ad_rng_below(rng, AD_DIMS),
                                .pinned = ad_rng_below(rng, 2),
                                .early = ad_rng_below(rng, 2),
                                .at = (int)ad_rng_below(rng, (uint32_t)n)};
    if (!context->can[i][op->dim])
        op->dim = AD_DIM_WHOLE;
    if (op->dim == AD_DIM_H && context->problem->split_w && ad_rng_below(rng, 4) == 0)
        op->across = (int)ad_rng_below(rng, (uint32_t)n + 1);
    for (int d = 1; d < n; d++) { /* ascending, often at the edges */
        int cut = (int)ad_rng_below(rng, AD_CUT_UNITS * 5 / 4) - AD_CUT_UNITS / 8;
        cut = cut < 0 ? 0 : cut > AD_CUT_UNITS ? AD_CUT_UNITS : cut;
        int k = d;
        for (; k > 1 && cuts[k - 1] > cut; k--)
            cuts[k] = cuts[k - 1];
        cuts[k] = cut;
    }
}

/* Layouts drawn at random, any dims, cuts, pins, flags, grids and hubs: none is better than the
 * best of those that are enumerated, in any respect that counts. With two devices these are all
 * without a hub. */
START_TEST(no_layout_is_better)
{
    int compared = 0;
    for (uint64_t seed = (uint64_t)_i * AT_ONCE; seed < (uint64_t)(_i + 1) * AT_ONCE; seed++) {
        struct problem p;
        struct ad_context context;
        struct ad_eval eval;
        struct ad_best all, drawn;
        struct adaps_error err;
        struct ad_rng rng = {seed};
        random_small(&p, seed + 5000);
        p.problem.objective = (enum ad_objective)(seed % 3);
        p.problem.encodings = seed % 2 ? AD_ENCODINGS_LOSSY : 0;
        ck_assert_int_eq(ad_context_init(&context, &p.problem, &err), ADAPS_OK);
        ck_assert_int_eq(ad_eval_init(&eval, &context, &err), ADAPS_OK);
        ck_assert_int_eq(ad_best_init(&all, &context, &err), ADAPS_OK);
        ck_assert_int_eq(ad_best_init(&drawn, &context, &err), ADAPS_OK);
        bool few = ad_exhaustive_search(&eval, &all) == ADAPS_OK;
        compared += few;
        for (int k = 0; few && k < 400; k++) {
            struct ad_layout layout;
            ck_assert_int_eq(ad_layout_init(&layout, p.graph->nops, p.cluster.ndevices, &err),
                             ADAPS_OK);
            for (int i = 0; i < layout.nops; i++)
                random_op(&rng, &context, &layout, i);
            layout.u8 = context.u8 && ad_rng_below(&rng, 2);
            layout.order = (enum ad_order)ad_rng_below(&rng, AD_ORDERS);
            layout.input_chunks = (int)ad_rng_below(&rng, AD_MAX_CHUNKS + 1);
            layout.band_chunks = (int)ad_rng_below(&rng, AD_MAX_CHUNKS + 1);
            layout.hub = (int)ad_rng_below(&rng, (uint32_t)p.cluster.ndevices + 1) - 1;
            if (p.problem.encodings && ad_rng_below(&rng, 2))
                layout.encoding = ad_rng_below(&rng, 2) ? AD_ENCODING_F16 : AD_ENCODING_ZFP;
            ck_assert_msg(ad_eval_try(&eval, &layout, &drawn, NULL) == ADAPS_OK, "%s", err.message);
            ck_assert_msg(!ad_score_better(&drawn.score, &all.score),
                          "seed %" PRIu64 ", layout %d: %" PRId64 " ns, exhaustive %" PRId64, seed,
                          k, drawn.score.makespan_ns, all.score.makespan_ns);
            ad_layout_fini(&layout);
        }
        ad_best_fini(&all);
        ad_best_fini(&drawn);
        ad_eval_fini(&eval);
        ad_context_fini(&context);
        ad_fixture_fini(&p);
    }
    ck_assert_int_ge(compared, AT_ONCE / 2);
}
END_TEST

/* 8x8 through one 1x1 convolution, two devices: 9 cuts along h, of those along w the 7 that are not
 * the same, each early or not. */
START_TEST(counted_by_hand)
{
    struct problem p;
    struct ad_assignment a;
    struct ad_search_result r;
    ad_fixture_chain(&p, 1, 1, 2, (int32_t[]){0, 4, 8}, &a);
    ck_assert(run_exhaustive(&p, &r));
    ck_assert_double_eq_tol(r.space_log10, log10(16 * 2 * 49), 1e-6);
    /* all that device 1 computes, it sends: early is in vain but with chunks, of three numbers; two
     * orders, the second with its input in 1 to 4 chunks, if it gets any, and three with chunks */
    ck_assert_int_eq(r.visited, 15 * (5 + 3 * AD_MAX_CHUNKS * 3) + 2);
    ad_search_result_fini(&r);
    p.problem.split_w = false;
    ck_assert(run_exhaustive(&p, &r));
    ck_assert_int_eq(r.visited, 8 * (5 + 3 * AD_MAX_CHUNKS * 3) + 2);
    ad_search_result_fini(&r);
    ad_assignment_fini(&a);
    ad_fixture_fini(&p);
    /* two of them, rows only: 9 x 9, and where the first is derived it is as if it were pinned */
    ad_fixture_chain(&p, 2, 1, 2, (int32_t[]){0, 4, 8}, &a);
    p.problem.split_w = false;
    ck_assert(run_exhaustive(&p, &r));
    ck_assert_double_eq_tol(r.space_log10, log10(10 * 9 * 4 * 49), 1e-6);
    int layouts = 0;
    for (int k = 0; k <= 8; k++)
        for (int l = 0; l <= 8; l++) {
            /* of k rows for device 0, the other takes at most half, or the other way round */
            int early = l < k ? 2 * (k - l) <= k : l > k && 2 * (l - k) <= 8 - k;
            int inputs = k < 8 ? AD_MAX_CHUNKS : 1;
            /* early in three of the orders, and in one whatever is taken */
            layouts += 1 + early + inputs * (1 + 2 * early + (l != k));
            /* with chunks where one of the early ones is sent for the most part, in three orders */
            int sent = (l != k) + (l < 8), large = (l != k && !early) + (l < 8);
            layouts += inputs * 3 * 3 * ((1 << sent) - (1 << (sent - large)));
        }
    ck_assert_int_eq(r.visited, layouts);
    ad_search_result_fini(&r);
    ad_assignment_fini(&a);
    ad_fixture_fini(&p);
}
END_TEST

/* --- corners of the space, made so that the best is there --- */

/* 5x5 pixels to be computed: of four devices that take rows or columns one has 10, of three that
 * share four rows and one that has the fifth nobody more than 8. */
START_TEST(a_grid_is_best)
{
    struct problem p;
    struct ad_builder b;
    struct ad_search_result r;
    ad_build_init(&b, 1);
    int x = ad_build_input(&b, 1, 5, 5, 16);
    ad_build_output(&b, ad_build_conv(&b, x, ad_window_square(1, 1, 1, 0, 0), 1, 16));
    ck_assert_int_eq(ad_build_finish(&b, &p.graph, NULL), ADAPS_OK);
    ad_fixture_devices(&p.cluster, 4);
    for (int d = 0; d < 4; d++) {
        p.cluster.devices[d].speed = 1e-5;
        p.cluster.devices[d].table.memory_bw = 1e15;
    }
    ad_cluster_override_links(&p.cluster, 1e10, 0);
    ad_fixture_fill(&p);
    ck_assert(run_exhaustive(&p, &r));
    bool tiled = false;
    for (int d = 0; d < 4; d++) {
        struct ad_region region = *ad_assigned(&r.assignment, 0, d);
        tiled = tiled || (region.h1 - region.h0 < 5 && region.w1 - region.w0 < 5);
    }
    ck_assert(tiled);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* The quick device is reached through a third only. */
START_TEST(a_hub_is_best)
{
    struct problem p;
    struct ad_assignment a;
    struct ad_search_result r;
    ad_fixture_chain(&p, 1, 1, 3, (int32_t[]){0, 1, 2, 8}, &a);
    p.cluster.devices[1].speed = 100;
    for (int d = 0; d < 3; d++)
        p.cluster.devices[d].table.rate[AD_COST_CONV] = 1e6;
    p.cluster.links[0 * 3 + 1].bandwidth = p.cluster.links[1 * 3 + 0].bandwidth = 1e3;
    ck_assert(run_exhaustive(&p, &r));
    ck_assert_int_eq(r.assignment.hub, 2);
    ck_assert(!ad_region_empty(*ad_assigned(&r.assignment, 0, 1)));
    ad_search_result_fini(&r);
    ad_assignment_fini(&a);
    ad_fixture_fini(&p);
}
END_TEST

/* One pixel that all rows of the next op read and that is quickly made of little: both make it. */
START_TEST(a_derived_pixel_is_best)
{
    struct problem p;
    struct ad_builder b;
    struct ad_search_result r;
    ad_build_init(&b, 1);
    int x = ad_build_input(&b, 1, 6, 6, 64), gate = ad_build_input(&b, 1, 1, 1, 1);
    gate = ad_build_conv(&b, gate, ad_window_square(1, 1, 1, 0, 0), 1, 64);
    ad_build_output(&b, ad_build_binary(&b, AD_OP_MUL, x, gate));
    ck_assert_int_eq(ad_build_finish(&b, &p.graph, NULL), ADAPS_OK);
    ad_fixture_devices(&p.cluster, 2);
    for (int d = 0; d < 2; d++) {
        p.cluster.devices[d].speed = 1e-5;
        p.cluster.devices[d].table.rate[AD_COST_CONV] *= 1e4;
        p.cluster.devices[d].table.memory_bw = 1e15;
    }
    ad_cluster_override_links(&p.cluster, 1e6, 1e-3);
    ad_fixture_fill(&p);
    ck_assert(run_exhaustive(&p, &r));
    for (int d = 0; d < 2; d++) {
        struct ad_region region = *ad_assigned(&r.assignment, 0, d);
        ck_assert(region.c0 == 0 && region.c1 == 64);
    }
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* --- what is refused --- */

START_TEST(large_is_refused)
{
    struct problem p;
    struct ad_search_result r;
    struct adaps_error err = {0};
    const struct ad_strategy *strategy = ad_strategy_find("exhaustive");
    ad_fixture_small(&p, 4);
    ck_assert_int_eq(ad_search_run(strategy, &p.problem, &r, &err), ADAPS_NO);
    ck_assert_msg(strstr(err.message, "up to 10^") && strstr(err.message, "no more than 500000"),
                  "%s", err.message);
    ad_fixture_fini(&p);
    random_chain(&p, 4);
    p.problem.evaluations = 10;
    ck_assert_int_eq(ad_search_run(strategy, &p.problem, &r, &err), ADAPS_NO);
    ck_assert_msg(strstr(err.message, "no more than 10 "), "%s", err.message);
    p.problem.evaluations = 1000000;
    p.problem.time_limit_ns = 1;
    ck_assert_int_eq(ad_search_run(strategy, &p.problem, &r, &err), ADAPS_NO);
    ck_assert_msg(strstr(err.message, "time limit"), "%s", err.message);
    ad_fixture_fini(&p);
}
END_TEST

START_TEST(no_memory)
{
    const struct ad_strategy *strategy = ad_strategy_find("exhaustive");
    struct problem p;
    struct ad_search_result r;
    enum adaps_status status = ADAPS_EINTERNAL;
    random_chain(&p, 4);
    for (long n = 1; status != ADAPS_OK && n < 20000000; n += 1 + n / 12) {
        struct adaps_error err = {0};
        ad_mem_fail_after(n);
        status = ad_search_run(strategy, &p.problem, &r, &err);
        ad_mem_fail_after(0);
        ck_assert_msg(status == ADAPS_OK || status == ADAPS_EINTERNAL, "%s", err.message);
    }
    ck_assert_int_eq(status, ADAPS_OK);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exact");
    TCase *c = tcase_create("exact");
    tcase_set_timeout(c, 240);
    tcase_add_loop_test(c, exhaustive_is_dp_is_auto, 0, sampled(11));
    tcase_add_loop_test(c, exhaustive_is_auto, 0, sampled(5));
    tcase_add_loop_test(c, bound_is_below_exhaustive, 0, sampled(4));
    tcase_add_loop_test(c, bound_falls_with_devices, 0, sampled(4));
    tcase_add_test(c, bound_is_close_on_slow_links);
    tcase_add_test(c, other_objectives);
    tcase_add_test(c, several_devices_are_worth_it);
    tcase_add_test(c, auto_is_close_on_larger_chains);
    tcase_add_loop_test(c, no_layout_is_better, 0, sampled(3));
    tcase_add_test(c, counted_by_hand);
    tcase_add_test(c, a_grid_is_best);
    tcase_add_test(c, a_hub_is_best);
    tcase_add_test(c, a_derived_pixel_is_best);
    tcase_add_test(c, large_is_refused);
    tcase_add_test(c, no_memory);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
