/* Strategies: all valid, auto never slower than the others, the same every time, memory limits
 * hard. */
#include "support/run_suite.h"
#include "support/sanitized.h"
#include "search/auto/patterns.h"
#include "search/auto/subset.h"
#include "search/auto/templates.h"
#include "search/layout_regions.h"
#include "support/search_fixture.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void random_problem_of(struct problem *p, uint64_t seed, int ops, int max_hw)
{
    struct ad_random_graph_options options = {.ops = ops,
                                              .max_hw = max_hw,
                                              .max_c = 24,
                                              .outputs = seed % 4 == 0,
                                              .wild = seed % 9 == 0,
                                              .chain = seed % 5 == 0};
    struct adaps_error err = {0};
    struct ad_rng rng = {seed ^ 0x5eed};
    ck_assert_msg(ad_random_graph(seed, &options, &p->graph, &err) == ADAPS_OK, "%s", err.message);
    int n = 1 + (int)ad_rng_below(&rng, 5);
    ad_fixture_devices(&p->cluster, n);
    /* Slow devices and quick links for some, so that sharing pays for small graphs. */
    double slow = ad_rng_below(&rng, 2) ? 1e-3 : 1;
    for (int d = 0; d < n; d++) {
        p->cluster.devices[d].table.message_s = seed % 3 == 1 ? 1e-5 * d : 0;
        p->cluster.devices[d].table.message_bw = seed % 3 == 1 ? 1e8 / (d + 1) : 0;
        p->cluster.devices[d].table.feed_rate = seed % 5 == 2 ? 1e8 / (d + 1) : 0;
        p->cluster.devices[d].table.fetch_rate = seed % 5 == 2 ? 1e7 * (d + 1) : 0;
    }
    for (int d = 0; d < n; d++)
        p->cluster.devices[d].speed = slow * (1 + ad_rng_below(&rng, 20)) / 10;
    for (int i = 0; i < n * n; i++)
        p->cluster.links[i] =
            (struct ad_link){1e6 * (1 + ad_rng_below(&rng, 200)), 1e-6 * ad_rng_below(&rng, 300)};
    p->cluster.devices[0].source = false;
    p->cluster.source = (int)ad_rng_below(&rng, (uint32_t)n);
    p->cluster.devices[p->cluster.source].source = true;
    ad_fixture_fill(p);
    p->problem.evaluations = 400;
    p->problem.threshold = ad_rng_below(&rng, 5) * 0.25;
    uint32_t dims = ad_rng_below(&rng, 8); /* mostly all */
    p->problem.split_h = dims != 1;
    p->problem.split_w = dims != 2;
    p->problem.split_c = dims != 3;
}

static void random_problem(struct problem *p, uint64_t seed)
{
    random_problem_of(p, seed, 3 + (int)(seed % 8), 40);
}

/* The hull of what a device computes of an op. */
static struct ad_region computed(const struct ad_program *program, int op)
{
    struct ad_region all = ad_region_none();
    for (int t = 0; t < program->ntasks; t++)
        if (program->tasks[t].op == op)
            all = ad_region_hull(all, program->tasks[t].region);
    return all;
}

/* Devices share nothing along a dimension that is forbidden. */
static void check_dims(const struct problem *p, const struct ad_search_result *r)
{
    for (int d = 0; d < r->schedule.ndevices; d++)
        for (int t = 0; t < r->schedule.programs[d].ntasks; t++) {
            int op = r->schedule.programs[d].tasks[t].op;
            struct ad_region mine = computed(&r->schedule.programs[d], op);
            struct ad_region whole = ad_region_whole(&p->graph->values[p->graph->ops[op].output]);
            if (!p->problem.split_c && whole.h1 == 1 && whole.w1 == 1)
                ck_assert(ad_region_equal(whole, mine));
            if (!p->problem.split_w && !p->problem.split_h && !p->problem.split_c)
                ck_assert(ad_region_equal(whole, mine));
        }
}

static void check_never_slower(const struct problem *p, uint64_t seed)
{
    struct ad_search_result best, other;
    ad_fixture_run(p, "auto", &best);
    ck_assert_int_ge(best.visited, 1);
    ck_assert(best.seconds >= 0 && best.space_log10 >= 0);
    check_dims(p, &best);
    ck_assert_msg(best.lower_bound_ns <= best.schedule.makespan_ns,
                  "seed %" PRIu64 ": bound %" PRId64 ", auto %" PRId64, seed, best.lower_bound_ns,
                  best.schedule.makespan_ns);
    for (const struct ad_strategy *s = &ad_strategies[1]; s->name && !s->small; s++) {
        ad_fixture_run(p, s->name, &other);
        ck_assert_msg(best.schedule.makespan_ns <= other.schedule.makespan_ns,
                      "seed %" PRIu64 ": auto %" PRId64 ", %s %" PRId64, seed,
                      best.schedule.makespan_ns, s->name, other.schedule.makespan_ns);
        ad_search_result_fini(&other);
    }
    ad_search_result_fini(&best);
}

/* 8 graphs each, so that a failure names its neighbourhood and a fork costs little. */
START_TEST(auto_is_never_slower)
{
    for (uint64_t seed = (uint64_t)_i * 8; seed < (uint64_t)_i * 8 + 8; seed++) {
        struct problem p;
        random_problem(&p, seed);
        check_never_slower(&p, seed);
        ad_fixture_fini(&p);
    }
}
END_TEST

/* 25 x 80 small graphs, with little improvement: what the others find must be there before it. */
START_TEST(auto_is_never_slower_on_small_graphs)
{
    for (uint64_t k = 0; k < 80; k++) {
        struct problem p;
        uint64_t seed = 10000 + (uint64_t)_i * 80 + k;
        random_problem_of(&p, seed, 2 + (int)(seed % 4), 14);
        p.problem.evaluations = 10;
        check_never_slower(&p, seed);
        ad_fixture_fini(&p);
    }
}
END_TEST

static bool same_programs(const struct ad_schedule *a, const struct ad_schedule *b)
{
    bool same = a->ndevices == b->ndevices && a->makespan_ns == b->makespan_ns;
    for (int d = 0; same && d < a->ndevices; d++) {
        const struct ad_program *x = &a->programs[d], *y = &b->programs[d];
        same = x->nsteps == y->nsteps && x->ntasks == y->ntasks;
        for (int i = 0; same && i < x->nsteps; i++)
            same = x->steps[i].kind == y->steps[i].kind && x->steps[i].tag == y->steps[i].tag &&
                   x->steps[i].start_ns == y->steps[i].start_ns &&
                   ad_region_equal(x->steps[i].region, y->steps[i].region);
        for (int t = 0; same && t < x->ntasks; t++)
            same = x->tasks[t].op == y->tasks[t].op &&
                   ad_region_equal(x->tasks[t].region, y->tasks[t].region);
    }
    return same;
}

START_TEST(same_plan_every_time)
{
    struct problem p;
    struct ad_search_result a, b;
    random_problem(&p, (uint64_t)_i + 1000);
    for (const struct ad_strategy *s = ad_strategies; s->name && !s->small; s++) {
        ad_fixture_run(&p, s->name, &a);
        ad_fixture_run(&p, s->name, &b);
        ck_assert_int_eq(a.visited, b.visited);
        ck_assert_str_eq(a.note, b.note);
        ck_assert_double_eq(a.space_log10, b.space_log10);
        ck_assert_msg(same_programs(&a.schedule, &b.schedule), "%s", s->name);
        ad_search_result_fini(&a);
        ad_search_result_fini(&b);
    }
    ad_fixture_fini(&p);
}
END_TEST

static const enum ad_encoding any_lossy[] = {AD_ENCODING_F32, AD_ENCODING_F32, AD_ENCODING_F16,
                                             AD_ENCODING_ZFP};

/* A few ops of the layout changed at random, within what the context allows. */
static void scramble(const struct ad_context *context, struct ad_layout *layout, struct ad_rng *rng)
{
    uint32_t nops = (uint32_t)layout->nops, n = (uint32_t)layout->ndevices;
    int first = (int)ad_rng_below(rng, nops), count = 1 + (int)ad_rng_below(rng, nops);
    layout->hub = ad_rng_below(rng, 6) ? -1 : (int)ad_rng_below(rng, n);
    layout->u8 = context->u8 && ad_rng_below(rng, 2);
    layout->input_chunks = (int)ad_rng_below(rng, AD_MAX_CHUNKS + 1);
    layout->band_chunks = (int)ad_rng_below(rng, AD_MAX_CHUNKS + 1);
    layout->order = (enum ad_order)ad_rng_below(rng, AD_ORDERS);
    layout->encoding = any_lossy[ad_rng_below(rng, 4)];
    for (int i = first; i < layout->nops && i < first + count; i++) {
        double weight[AD_MAX_DEVICES];
        enum ad_dim dim = (enum ad_dim)ad_rng_below(rng, AD_DIMS);
        layout->ops[i] = (struct ad_op_layout){.dim = context->can[i][dim] ? dim : AD_DIM_WHOLE,
                                               .pinned = ad_rng_below(rng, 2),
                                               .early = ad_rng_below(rng, 2),
                                               .at = (int)ad_rng_below(rng, n),
                                               .across = 1 + (int)ad_rng_below(rng, 2)};
        for (uint32_t d = 0; d < n; d++)
            weight[d] = ad_rng_below(rng, 4);
        ad_cuts_proportional(weight, (int)n, ad_layout_cuts(layout, i));
    }
}

static void check_score(const struct problem *p, const struct ad_assignment *a,
                        const struct ad_schedule *score, uint64_t seed)
{
    struct ad_schedule plain;
    struct adaps_error err;
    ck_assert_msg(ad_schedule_build(p->graph, &p->cluster, a, &plain, &err) == ADAPS_OK,
                  "seed %" PRIu64 ": %s", seed, err.message);
    ck_assert_msg(same_programs(&plain, score), "seed %" PRIu64, seed);
    ck_assert_int_eq(plain.bytes, score->bytes);
    ck_assert_int_eq(plain.messages, score->messages);
    for (int d = 0; d < plain.ndevices; d++) {
        ck_assert_int_eq(plain.busy_ns[d], score->busy_ns[d]);
        ck_assert_int_eq(plain.memory[d], score->memory[d]);
    }
    ad_schedule_fini(&plain);
}

static void check_forecast(const struct ad_schedule *score, const struct ad_forecast *forecast)
{
    uint64_t computing = 0;
    for (int d = 0; d < score->ndevices; d++)
        computing |= (uint64_t)(score->programs[d].ntasks > 0) << d;
    ck_assert(!forecast->over);
    ck_assert_int_eq(forecast->makespan_ns, score->makespan_ns);
    ck_assert_int_eq(forecast->bytes, score->bytes);
    ck_assert_int_eq(forecast->messages, score->messages);
    ck_assert_uint_eq(forecast->computing, computing);
}

/* Forecasts within limits, before the one without; guesses go by the estimate. */
static void check_limits(struct ad_scorer *scorer, const struct ad_assignment *a)
{
    struct ad_forecast forecast;
    const struct ad_schedule *score;
    struct ad_limits slow = {1, INT64_MAX}, guess = {INT64_MAX, 0};
    ck_assert_int_eq(ad_scorer_run(scorer, a, false, &score), ADAPS_OK);
    int64_t estimate = ad_scorer_estimate(scorer);
    ck_assert_int_eq(estimate < 0, a->hub >= 0 || a->order == AD_ORDER_GRAPH);
    for (int more = -1; more <= 0 && estimate > 0; more++) {
        guess.estimate_ns = estimate + more;
        ck_assert_int_eq(ad_scorer_clock(scorer, a, guess, &forecast), ADAPS_OK);
        ck_assert_int_eq(forecast.over, forecast.guessed);
        ck_assert(more < 0 ? forecast.guessed || forecast.makespan_ns > 0 : !forecast.guessed);
    }
    ck_assert_int_eq(ad_scorer_clock(scorer, a, slow, &forecast), ADAPS_OK);
}

/* A layout that differs in a few ops from the one before, or is an earlier one again, has the
 * regions that it has by itself. */
START_TEST(regions_are_remembered)
{
    for (uint64_t seed = (uint64_t)_i * 8; seed < (uint64_t)_i * 8 + 8; seed++) {
        struct problem p;
        struct ad_context context;
        struct ad_layout layout, earlier;
        struct ad_assignment a, b;
        struct ad_rng rng = {seed ^ 0x4e40};
        random_problem(&p, seed);
        int nops = p.graph->nops, n = p.cluster.ndevices;
        bool *exchange = ad_calloc((size_t)nops, sizeof *exchange);
        struct ad_layout_memo *memo = ad_layout_memo_new(p.graph, p.cluster.source, n);
        ck_assert_ptr_nonnull(exchange);
        ck_assert_ptr_nonnull(memo);
        ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_layout_init(&layout, nops, n, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_layout_init(&earlier, nops, n, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_assignment_init(&a, nops, n, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_assignment_init(&b, nops, n, NULL), ADAPS_OK);
        for (int trial = 0; trial < 60; trial++) {
            if (trial % 4 == 3)
                ad_layout_copy(&earlier, &layout);
            else if (trial % 4 == 1)
                ad_layout_copy(&layout, &earlier);
            if (trial % 4 != 3)
                scramble(&context, &layout, &rng);
            ad_layout_regions(p.graph, p.cluster.source, &layout, exchange, &a);
            ad_layout_memo_regions(memo, &layout, &b);
            ck_assert_msg(ad_assignment_same(&a, &b), "seed %" PRIu64 ", trial %d", seed, trial);
        }
        ad_assignment_fini(&a);
        ad_assignment_fini(&b);
        ad_layout_fini(&layout);
        ad_layout_fini(&earlier);
        ad_context_fini(&context);
        ad_layout_memo_free(memo);
        ad_free(exchange);
        ad_fixture_fini(&p);
    }
}
END_TEST

/* What a scorer remembers of earlier layouts changes nothing. */
START_TEST(scores_are_schedules)
{
    for (uint64_t seed = (uint64_t)_i * 8; seed < (uint64_t)_i * 8 + 8; seed++) {
        struct problem p;
        struct ad_context context;
        struct ad_layout layout;
        struct ad_scorer *scorer;
        struct ad_assignment a;
        struct ad_rng rng = {seed ^ 0x5c0e};
        random_problem(&p, seed);
        size_t nops = (size_t)p.graph->nops;
        bool *exchange = ad_calloc(nops, sizeof *exchange);
        ck_assert_ptr_nonnull(exchange);
        ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_layout_init(&layout, p.graph->nops, p.cluster.ndevices, NULL),
                         ADAPS_OK);
        ck_assert_int_eq(ad_assignment_init(&a, p.graph->nops, p.cluster.ndevices, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_scorer_new(p.graph, &p.cluster, &scorer, NULL), ADAPS_OK);
        for (int trial = 0; trial < 24; trial++) {
            const struct ad_schedule *score;
            struct ad_forecast forecast;
            scramble(&context, &layout, &rng);
            ad_layout_regions(p.graph, p.cluster.source, &layout, exchange, &a);
            for (int i = 0; i < a.ndevices * a.ndevices; i++)
                if (ad_rng_below(&rng, 3) == 0)
                    a.encoding[i] = any_lossy[ad_rng_below(&rng, 4)];
            check_limits(scorer, &a);
            ck_assert_int_eq(ad_scorer_clock(scorer, &a, AD_NO_LIMITS, &forecast), ADAPS_OK);
            ck_assert_int_eq(ad_scorer_run(scorer, &a, true, &score), ADAPS_OK);
            check_score(&p, &a, score, seed);
            check_forecast(score, &forecast);
        }
        ad_scorer_free(scorer);
        ad_assignment_fini(&a);
        ad_layout_fini(&layout);
        ad_context_fini(&context);
        ad_free(exchange);
        ad_fixture_fini(&p);
    }
}
END_TEST

/* In the graph's order, too, no strategy answers sooner than auto. */
START_TEST(in_order_auto_is_first)
{
    for (uint64_t seed = (uint64_t)_i * 4; seed < (uint64_t)_i * 4 + 4; seed++) {
        struct problem p;
        struct ad_search_result best, r;
        random_problem(&p, seed + 5000);
        p.problem.in_order = true;
        p.problem.evaluations = 300;
        ad_fixture_run(&p, "auto", &best);
        for (const struct ad_strategy *s = ad_strategies + 1; s->name && !s->small; s++) {
            if (s->stream)
                continue;
            ad_fixture_run(&p, s->name, &r);
            ck_assert_msg(best.schedule.makespan_ns <= r.schedule.makespan_ns,
                          "seed %" PRIu64 ": auto %" PRId64 ", %s %" PRId64, seed,
                          best.schedule.makespan_ns, s->name, r.schedule.makespan_ns);
            ad_search_result_fini(&r);
        }
        ad_search_result_fini(&best);
        ad_fixture_fini(&p);
    }
}
END_TEST

/* An encoding that rounds less, and has more bytes. */
static enum ad_encoding milder(enum ad_encoding encoding)
{
    return encoding == AD_ENCODING_ZFP ? AD_ENCODING_F16 : AD_ENCODING_F32;
}

/* Fewer bytes: no strategy's answer comes later, auto's still before all others', and not later
 * with zfp than without; and no link is rounded with which the answer comes as soon as with a
 * milder encoding. */
START_TEST(encodings_pay)
{
    static int sooner, mixed, zfp;
    for (uint64_t seed = (uint64_t)_i * 8; seed < (uint64_t)_i * 8 + 8; seed++) {
        struct problem p;
        struct ad_search_result plain, half, lossy;
        int64_t best = INT64_MAX;
        random_problem(&p, seed + 3000);
        if (seed % 2) /* so that zfp pays now and then */
            ad_cluster_override_links(&p.cluster, p.cluster.devices[0].table.memory_bw / 4000, -1);
        for (const struct ad_strategy *s = ad_strategies; s->name && !s->small && !s->stream; s++) {
            p.problem.encodings = 0;
            ad_fixture_run(&p, s->name, &plain);
            p.problem.encodings = AD_ENCODING_BIT(AD_ENCODING_F16);
            ad_fixture_run(&p, s->name, &half);
            p.problem.encodings = AD_ENCODINGS_LOSSY;
            ad_fixture_run(&p, s->name, &lossy);
            int64_t ns = lossy.schedule.makespan_ns;
            best = s == ad_strategies ? ns : best; /* auto */
            ck_assert(s != ad_strategies || ns <= half.schedule.makespan_ns);
            ck_assert_msg(best <= ns, "seed %" PRIu64 ": auto %" PRId64 ", %s %" PRId64, seed, best,
                          s->name, ns);
            ck_assert_int_le(ns, plain.schedule.makespan_ns);
            sooner += ns < plain.schedule.makespan_ns;
            int links = p.cluster.ndevices * p.cluster.ndevices, rounded = 0;
            for (int i = 0; i < links; i++) {
                struct ad_schedule exact;
                uint8_t *link = &lossy.assignment.encoding[i], was = *link;
                for (; *link != AD_ENCODING_F32; *link = milder(*link)) {
                    if (*link == was)
                        continue;
                    ck_assert_int_eq(
                        ad_schedule_build(p.graph, &p.cluster, &lossy.assignment, &exact, NULL),
                        ADAPS_OK);
                    ck_assert_int_gt(exact.makespan_ns, ns);
                    ad_schedule_fini(&exact);
                }
                rounded += was != AD_ENCODING_F32;
                zfp += was == AD_ENCODING_ZFP;
                *link = was;
            }
            mixed += rounded > 0 && lossy.schedule.messages > rounded;
            ad_search_result_fini(&plain);
            ad_search_result_fini(&half);
            ad_search_result_fini(&lossy);
        }
        ad_fixture_fini(&p);
    }
    ck_assert_int_gt(sooner, 0);
    ck_assert_int_gt(mixed, 0);
    ck_assert_int_gt(zfp, 0);
}
END_TEST

static void run_within(struct problem *p, int64_t evaluations, int64_t time_limit_ns,
                       struct ad_search_result *r)
{
    p->problem.evaluations = evaluations;
    p->problem.time_limit_ns = time_limit_ns;
    ad_fixture_run(p, "auto", r);
}

/* Fewer evaluations: fewer layouts, the same ones every time. A time limit that is over at once
 * leaves the best single device; one that leaves time is used, but not beyond an effort. */
START_TEST(auto_keeps_to_its_budget)
{
    struct problem p;
    struct ad_search_result all, few, again, more, none, longer, once, single;
    ad_fixture_small(&p, 4);
    run_within(&p, 0, 0, &all);
    run_within(&p, 100, 0, &few);
    run_within(&p, 100, 0, &again);
    run_within(&p, 300, 0, &more);
    run_within(&p, 0, 1, &none);
    run_within(&p, 0, (int64_t)(20e9 * all.seconds), &longer);
    p.problem.effort = 1;
    run_within(&p, 0, INT64_MAX, &once);
    p.problem.effort = 0;
    ck_assert_int_lt(all.visited, longer.visited);
    ck_assert_int_le(longer.schedule.makespan_ns, all.schedule.makespan_ns);
    ck_assert_int_eq(once.visited, all.visited);
    ck_assert(same_programs(&once.schedule, &all.schedule));
    ck_assert_int_lt(few.visited, all.visited);
    ck_assert_int_lt(none.visited, few.visited);
    ck_assert_int_ge(few.visited, none.visited + 100);
    ck_assert_int_ge(more.visited, few.visited + 200);
    ck_assert_int_le(more.visited, few.visited + 4 * 200); /* in each of two clusters, and chunks */
    ck_assert_int_eq(few.visited, again.visited);
    ck_assert(same_programs(&few.schedule, &again.schedule));
    ck_assert_int_le(all.schedule.makespan_ns, few.schedule.makespan_ns);
    ck_assert_int_le(few.schedule.makespan_ns, none.schedule.makespan_ns);
    ad_fixture_run(&p, "single", &single);
    ck_assert_int_le(none.schedule.makespan_ns, single.schedule.makespan_ns);
    ad_search_result_fini(&single);
    ad_search_result_fini(&none);
    ad_search_result_fini(&all);
    ad_search_result_fini(&few);
    ad_search_result_fini(&more);
    ad_search_result_fini(&again);
    ad_search_result_fini(&longer);
    ad_search_result_fini(&once);
    ad_fixture_fini(&p);
}
END_TEST

/* Devices that are added may help, and never hurt: the search on the better part of them is a part
 * of the search on all, and is what it would be alone. */
START_TEST(more_devices_never_hurt)
{
    for (uint64_t seed = (uint64_t)_i * 10; seed < (uint64_t)_i * 10 + 10; seed++) {
        struct problem p;
        struct ad_context context;
        struct ad_search_result all, part;
        random_problem(&p, seed);
        int n = p.cluster.ndevices, k = ad_subset_devices(n);
        if (n >= 3) {
            ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
            ad_fixture_run(&p, "auto", &all);
            /* the same devices in the context's order: the source first, then by falling speed */
            struct ad_cluster few;
            ck_assert_int_eq(ad_cluster_init(&few, k, NULL), ADAPS_OK);
            int taken[8], m = 0;
            for (int d = 0; d < n; d++)
                for (int i = 0; i < k; i++)
                    if (context.order[i] == d)
                        taken[m++] = d;
            for (int a = 0; a < k; a++) {
                few.devices[a] = p.cluster.devices[taken[a]];
                few.source = taken[a] == p.cluster.source ? a : few.source;
                for (int b = 0; b < k; b++)
                    few.links[a * k + b] = p.cluster.links[taken[a] * n + taken[b]];
            }
            p.problem.cluster = &few;
            struct adaps_error err;
            ck_assert_msg(ad_search_run(ad_strategy_find("auto"), &p.problem, &part, &err) ==
                              ADAPS_OK,
                          "%s", err.message);
            ck_assert_msg(all.schedule.makespan_ns <= part.schedule.makespan_ns,
                          "seed %" PRIu64 ": %d devices %" PRId64 ", %d devices %" PRId64, seed, n,
                          all.schedule.makespan_ns, k, part.schedule.makespan_ns);
            ad_search_result_fini(&all);
            ad_search_result_fini(&part);
            ad_cluster_fini(&few);
            ad_context_fini(&context);
        }
        ad_fixture_fini(&p);
    }
}
END_TEST

/* Where boundaries are staggered, some ops have theirs before where shares put them, the others
 * after it: convolutions of several pixels against all others, or every second segment. */
START_TEST(boundaries_take_sides)
{
    struct problem p;
    struct ad_context context;
    struct ad_patterns patterns;
    ad_fixture_small(&p, 2);
    ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_patterns_init(&patterns, &context, NULL), ADAPS_OK);
    for (int i = 0; i < p.graph->nops; i++) {
        bool wide = p.graph->ops[i].kind == AD_OP_CONV; /* 3x3, all of them */
        int odd = context.segment[i] % 2;
        ck_assert_int_eq(ad_pattern_side(&patterns, AD_STAGGER_NONE, i), 0);
        ck_assert_int_eq(ad_pattern_side(&patterns, AD_STAGGER_WINDOWS, i), wide ? -1 : 1);
        ck_assert_int_eq(ad_pattern_side(&patterns, AD_STAGGER_REST, i), wide ? 1 : -1);
        ck_assert_int_eq(ad_pattern_side(&patterns, AD_STAGGER_SEGMENTS, i), odd ? -1 : 1);
    }
    ad_patterns_fini(&patterns);
    ad_context_fini(&context);
    ad_fixture_fini(&p);
}
END_TEST

/* Devices are ordered by the rate of what the network computes with. */
START_TEST(speeds_of_bytes)
{
    struct problem p;
    struct ad_context floats, bytes;
    ad_fixture_small(&p, 3);
    for (int d = 0; d < 3; d++) {
        p.cluster.devices[d].speed = 1;
        p.cluster.devices[d].table.rate[AD_COST_CONV] = 3e9 - d * 1e9;
        p.cluster.devices[d].table.rate[AD_COST_INT8_CONV] = d == 2 ? 9e9 : 0;
    }
    ck_assert_int_eq(ad_context_init(&floats, &p.problem, NULL), ADAPS_OK);
    ck_assert_int_eq(floats.fastest, 0);
    ck_assert_int_eq(floats.order[1], 1);
    for (int v = 0; v < p.graph->nvalues; v++) {
        p.graph->values[v].type = ADAPS_UINT8;
        p.graph->values[v].scale = 1;
    }
    ck_assert_int_eq(ad_context_init(&bytes, &p.problem, NULL), ADAPS_OK);
    ck_assert_int_eq(bytes.fastest, 2);
    ck_assert_int_eq(bytes.order[0], 0); /* the source */
    ck_assert_int_eq(bytes.order[1], 2);
    ck_assert(bytes.speed[2] == 9e9);
    ck_assert(bytes.speed[1] == 2e9); /* it has no rate of its own */
    ad_context_fini(&floats);
    ad_context_fini(&bytes);
    ad_fixture_fini(&p);
}
END_TEST

/* `ops` 3x3 convolutions on a map of `size` x `size`, and equal devices. */
static void make_chain(struct problem *p, int size, int ops, int ndevices)
{
    struct ad_builder b;
    struct adaps_error err = {0};
    ad_build_init(&b, 5);
    int x = ad_build_input(&b, 1, size, size, 16);
    for (int i = 0; i < ops; i++)
        x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 16);
    ad_build_output(&b, x);
    ck_assert_msg(ad_build_finish(&b, &p->graph, &err) == ADAPS_OK, "%s", err.message);
    ad_fixture_devices(&p->cluster, ndevices);
    for (int d = 0; d < ndevices; d++)
        p->cluster.devices[d].speed = 0.01;
    ad_fixture_fill(p);
}

/* The best template; layout: ad_layout_fini(). */
static void best_template(const struct problem *p, struct ad_layout *layout)
{
    struct ad_context context;
    struct ad_eval eval;
    struct ad_elite_pool pool;
    struct ad_best best;
    ck_assert_int_eq(ad_context_init(&context, &p->problem, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_eval_init(&eval, &context, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_elite_pool_init(&pool, &context, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_best_init(&best, &context, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_templates_search(&eval, &pool, &best), ADAPS_OK);
    ck_assert(best.valid);
    *layout = best.layout;
    ad_elite_pool_fini(&pool);
    ad_eval_fini(&eval);
    ad_context_fini(&context);
}

static int source_rows(const struct problem *p, const struct ad_layout *layout, int op)
{
    int32_t height = p->graph->values[p->graph->ops[op].output].box.h;
    const int *cuts = ad_layout_cuts(layout, op);
    ck_assert_int_eq(layout->ops[op].dim, AD_DIM_H);
    return ad_cut_row(cuts[1], height) - ad_cut_row(cuts[0], height);
}

/* The result goes to the source, so of the last ops of one height that computes more and more. */
START_TEST(shares_taper)
{
    struct problem p;
    struct ad_layout layout;
    make_chain(&p, 32, 12, 3);
    ad_cluster_override_links(&p.cluster, 8e6, 1e-4);
    best_template(&p, &layout);
    for (int i = 10; i < 12; i++)
        ck_assert_int_gt(source_rows(&p, &layout, i), source_rows(&p, &layout, i - 1));
    ad_layout_fini(&layout);
    ad_fixture_fini(&p);
}
END_TEST

/* How far the ops of a height are: from nothing to all of their work, whatever lies between. */
START_TEST(groups_get_done)
{
    for (uint64_t seed = (uint64_t)_i * 10; seed < (uint64_t)_i * 10 + 10; seed++) {
        struct problem p;
        struct ad_context context;
        struct ad_patterns patterns;
        double last[AD_MAX_GROUPS] = {0}, work[AD_MAX_GROUPS] = {0};
        random_problem(&p, seed);
        ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_patterns_init(&patterns, &context, NULL), ADAPS_OK);
        for (int i = 0; i < p.graph->nops; i++)
            work[patterns.group[i]] += patterns.work[i];
        for (int i = 0; i < p.graph->nops; i++) {
            int g = patterns.group[i];
            if (work[g] > 0)
                ck_assert_double_eq_tol(patterns.done[i] - last[g], patterns.work[i] / work[g],
                                        1e-9);
            last[g] = patterns.done[i];
        }
        for (int g = 0; g < patterns.ngroups; g++)
            ck_assert_double_eq_tol(last[g], 1, 1e-9);
        ad_patterns_fini(&patterns);
        ad_context_fini(&context);
        ad_fixture_fini(&p);
    }
}
END_TEST

/* How many layouts each strategy looks at. A change of the search shows here: say so in the commit.
 */
START_TEST(pinned_node_counts)
{
    static const struct {
        int devices;
        const char *strategy;
        int64_t visited;
    } counts[] = {
        {1, "single", 1}, {2, "single", 2}, {4, "single", 4},   {4, "edgeflow", 1},
        {2, "adaps", 4},  {4, "bbgrap", 1}, {2, "auto", 25503}, {4, "auto", 55922},
    };
    struct problem p;
    struct ad_search_result r;
    ad_fixture_small(&p, counts[_i].devices);
    ad_fixture_run(&p, counts[_i].strategy, &r);
    ck_assert_msg(r.visited == counts[_i].visited,
                  "%s, %d devices: %" PRId64 " layouts, not %" PRId64, counts[_i].strategy,
                  counts[_i].devices, r.visited, counts[_i].visited);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* With slow devices and good links all help; then one whose link is bad is left out, and said so.
 */
START_TEST(devices_are_left_out)
{
    struct problem p;
    struct ad_search_result r;
    ad_fixture_small(&p, 3);
    ad_fixture_run(&p, "auto", &r);
    for (int d = 0; d < 3; d++)
        ck_assert_int_gt(r.schedule.programs[d].ntasks, 0);
    int64_t all = r.schedule.makespan_ns;
    ad_search_result_fini(&r);
    for (int d = 0; d < 2; d++)
        p.cluster.links[d * 3 + 2] = p.cluster.links[2 * 3 + d] = (struct ad_link){1e4, 0.1};
    ad_fixture_run(&p, "auto", &r);
    ck_assert_int_eq(r.schedule.programs[2].ntasks, 0);
    ck_assert_int_gt(r.schedule.programs[1].ntasks, 0);
    ck_assert_int_gt(r.schedule.makespan_ns, all);
    ck_assert_msg(strstr(r.note, "left out: dev2 (with it"), "%s", r.note);
    ad_search_result_fini(&r);
    ad_fixture_run(&p, "single", &r);
    ck_assert_int_eq(r.schedule.messages, 0); /* the source, which is the fastest */
    ck_assert_int_eq(r.schedule.programs[0].ntasks, p.graph->nops);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* A source that is far slower than another device hands everything over. */
START_TEST(single_may_be_another_device)
{
    struct problem p;
    struct ad_search_result r;
    ad_fixture_small(&p, 2);
    p.cluster.devices[0].speed = 0.0005;
    ad_fixture_run(&p, "single", &r);
    ck_assert_int_eq(r.schedule.programs[0].ntasks, 0);
    ck_assert_int_eq(r.schedule.programs[1].ntasks, p.graph->nops);
    ck_assert_int_eq(r.schedule.messages, 2);
    ad_search_result_fini(&r);
    /* It does not fit there: the slow one must do it. */
    p.cluster.devices[1].memory = 1000;
    ad_fixture_run(&p, "single", &r);
    ck_assert_int_eq(r.schedule.programs[0].ntasks, p.graph->nops);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

START_TEST(edgeflow_is_proportional)
{
    struct problem p;
    struct ad_search_result r;
    ad_fixture_small(&p, 3); /* speeds 2 : 1 : 1 */
    ad_cluster_override_links(&p.cluster, 1e12, 0);
    ad_fixture_run(&p, "edgeflow", &r);
    struct ad_region want[3] = {
        {0, 32, 0, 64, 0, 16}, {32, 48, 0, 64, 0, 16}, {48, 64, 0, 64, 0, 16}};
    for (int d = 0; d < 3; d++)
        ck_assert(ad_region_equal(*ad_assigned(&r.assignment, 0, d), want[d]));
    for (int i = 5; i < 8; i++) /* reshape, dense, softmax: whole on the fastest */
        ck_assert(!ad_region_empty(*ad_assigned(&r.assignment, i, 0)) &&
                  ad_region_empty(*ad_assigned(&r.assignment, i, 1)));
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

static void set_memory(struct problem *p, int64_t bytes)
{
    for (int d = 0; d < p->cluster.ndevices; d++)
        p->cluster.devices[d].memory = (uint64_t)bytes;
}

/* Too little memory everywhere: the answer is no, with names, numbers and what would do; and that
 * much does do. */
START_TEST(memory_is_a_hard_limit)
{
    const struct ad_strategy *strategy = &ad_strategies[_i];
    struct problem p;
    struct ad_search_result r;
    struct adaps_error err = {0};
    int64_t would_do = 0;
    ad_fixture_small(&p, 3);
    set_memory(&p, 100000);
    ck_assert_int_eq(ad_search_run(strategy, &p.problem, &r, &err), ADAPS_NO);
    ck_assert_ptr_null(r.assignment.region);
    ck_assert_msg(strstr(err.message, "dev") && strstr(err.message, "has 100 kB"), "%s",
                  err.message);
    const char *number = strstr(err.message, "; with ");
    ck_assert_ptr_nonnull(number);
    ck_assert_int_eq(sscanf(number, "; with %" SCNd64, &would_do), 1);
    ck_assert_int_gt(would_do, 100000);
    set_memory(&p, would_do);
    ad_fixture_run(&p, strategy->name, &r);
    for (int d = 0; d < 3; d++)
        ck_assert_int_le(r.schedule.memory[d], would_do);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* The dense layer (2.6 MB) fits on no device, but on all of them by parts. */
START_TEST(dense_layer_is_spread)
{
    struct problem p;
    struct ad_search_result r;
    struct adaps_error err = {0};
    ad_fixture_small(&p, 4);
    set_memory(&p, 2000000);
    ck_assert_int_eq(ad_search_run(ad_strategy_find("single"), &p.problem, &r, &err), ADAPS_NO);
    ad_fixture_run(&p, "auto", &r);
    for (int d = 0; d < 4; d++)
        ck_assert_int_le(r.schedule.memory[d], 2000000);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

START_TEST(table)
{
    bool small = false;
    ck_assert_str_eq(ad_strategies[0].name, "auto");
    ck_assert_ptr_null(ad_strategy_find("best"));
    for (const struct ad_strategy *s = ad_strategies; s->name; s++) {
        ck_assert_ptr_eq(ad_strategy_find(s->name), s);
        ck_assert_int_gt(strlen(s->summary), 10);
        ck_assert(!small || s->small); /* at the end */
        small = s->small;
    }
}
END_TEST

START_TEST(no_memory)
{
    struct problem p;
    ad_fixture_small(&p, 2);
    for (const struct ad_strategy *s = ad_strategies; s->name && !s->small; s++) {
        struct ad_search_result r;
        enum adaps_status status = ADAPS_EINTERNAL;
        long n = 1;
        for (; status != ADAPS_OK && n < 200000; n += 1 + n / 12) { /* all of the early ones */
            struct adaps_error err = {0};
            ad_mem_fail_after(n);
            status = ad_search_run(s, &p.problem, &r, &err);
            ad_mem_fail_after(0);
            ck_assert_msg(status == ADAPS_OK || status == ADAPS_EINTERNAL, "%s", err.message);
        }
        ck_assert_int_gt(n, 10);
        ck_assert_int_eq(status, ADAPS_OK);
        ad_search_result_fini(&r);
    }
    ad_fixture_fini(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("search");
    TCase *c = tcase_create("search"), *templates = tcase_create("templates");
    tcase_set_timeout(c, 240);
    tcase_add_test(c, table);
    tcase_add_loop_test(c, more_devices_never_hurt, 0, sampled(12));
    tcase_add_loop_test(c, auto_is_never_slower, 0, sampled(26));
    tcase_add_loop_test(c, auto_is_never_slower_on_small_graphs, 0, sampled(25));
    tcase_add_loop_test(c, same_plan_every_time, 0, sampled(8));
    tcase_add_loop_test(c, regions_are_remembered, 0, 20);
    tcase_add_loop_test(c, scores_are_schedules, 0, sampled(20));
    tcase_add_loop_test(c, in_order_auto_is_first, 0, sampled(3));
    tcase_add_loop_test(c, encodings_pay, 0, 4);
    tcase_add_test(c, auto_keeps_to_its_budget);
    tcase_add_test(c, boundaries_take_sides);
    tcase_add_loop_test(c, pinned_node_counts, 0, 8);
    tcase_add_test(c, devices_are_left_out);
    tcase_add_test(c, single_may_be_another_device);
    tcase_add_test(c, edgeflow_is_proportional);
    int strategies = 0;
    while (ad_strategies[strategies].name && !ad_strategies[strategies].small)
        strategies++;
    tcase_add_loop_test(c, memory_is_a_hard_limit, 0, strategies);
    tcase_add_test(c, dense_layer_is_spread);
    tcase_add_test(c, speeds_of_bytes);
    tcase_add_test(c, no_memory);
    suite_add_tcase(suite, c);
    tcase_add_test(templates, shares_taper);
    tcase_add_loop_test(templates, groups_get_done, 0, sampled(10));
    suite_add_tcase(suite, templates);
    return run_suite(suite);
}
