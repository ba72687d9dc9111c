/* The Pareto front: its archive; no plan of it is beaten, by another one of it, by any strategy's
 * or by a random one; its ends are what auto finds for each objective. */
#include "schedule/energy.h"
#include "search/layout_regions.h"
#include "search/pareto/pareto.h"
#include "support/run_suite.h"
#include "support/sanitized.h"
#include "support/search_fixture.h"

#include <check.h>
#include <inttypes.h>
#include <string.h>

#define RANDOM (SANITIZED ? 100 : 1000) /* plans */

static const struct ad_pareto_objectives all_five = {{AD_OBJECTIVE_LATENCY, AD_OBJECTIVE_THROUGHPUT,
                                                      AD_OBJECTIVE_MEMORY, AD_OBJECTIVE_ENERGY,
                                                      AD_OBJECTIVE_TRAFFIC},
                                                     5};
static const struct ad_pareto_objectives four = {
    {AD_OBJECTIVE_LATENCY, AD_OBJECTIVE_THROUGHPUT, AD_OBJECTIVE_MEMORY, AD_OBJECTIVE_ENERGY}, 4};
static const struct ad_pareto_objectives two = {{AD_OBJECTIVE_ENERGY, AD_OBJECTIVE_LATENCY}, 2};

/* --- the archive --- */

/* Figures of latency and energy. */
static void figures(int64_t *figure, int64_t latency, int64_t energy)
{
    memset(figure, 0, AD_OBJECTIVES * sizeof *figure);
    figure[AD_OBJECTIVE_LATENCY] = latency;
    figure[AD_OBJECTIVE_ENERGY] = energy;
}

START_TEST(dominance)
{
    int64_t a[AD_OBJECTIVES], b[AD_OBJECTIVES];
    static const struct {
        int64_t a[2], b[2];
        bool dominates, equal;
    } cases[] = {
        {{1, 1}, {2, 2}, true, false}, {{1, 2}, {1, 3}, true, false},
        {{2, 1}, {3, 1}, true, false}, {{1, 3}, {2, 2}, false, false},
        {{2, 2}, {2, 2}, false, true}, {{2, 2}, {1, 1}, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        figures(a, cases[i].a[0], cases[i].a[1]);
        figures(b, cases[i].b[0], cases[i].b[1]);
        a[AD_OBJECTIVE_MEMORY] = 9; /* does not count */
        ck_assert_int_eq(ad_pareto_dominates(&two, a, b), cases[i].dominates);
        ck_assert_int_eq(ad_pareto_equal(&two, a, b), cases[i].equal);
    }
}
END_TEST

/* Of a chain the one between the closest neighbours; never an end. */
START_TEST(the_most_crowded)
{
    int64_t of[5][AD_OBJECTIVES];
    const int64_t *list[5];
    static const int64_t chain[5][2] = {{0, 100}, {50, 50}, {55, 45}, {60, 40}, {100, 0}};
    for (int i = 0; i < 5; i++) {
        figures(of[i], chain[i][0], chain[i][1]);
        list[i] = of[i];
    }
    ck_assert_int_eq(ad_pareto_most_crowded(&two, list, 5), 2);
    ck_assert_int_eq(ad_pareto_most_crowded(&two, list, 2), 1); /* both are ends: the last */
    list[0] = of[2];
    list[1] = of[0];
    list[2] = of[4];
    ck_assert_int_eq(ad_pareto_most_crowded(&two, list, 3), 0);
}
END_TEST

/* Thousands of layouts with random figures: those that stay are not dominated by any that was seen,
 * unless by one that had to go, and there are never too many. */
START_TEST(archive_is_bounded)
{
    struct problem p;
    struct ad_context context;
    struct ad_archive archive;
    struct ad_layout layout;
    struct ad_rng rng = {5};
    int64_t least[2] = {INT64_MAX, INT64_MAX};
    ad_fixture_small(&p, 2);
    ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_archive_init(&archive, &two, &context, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_layout_init(&layout, p.graph->nops, 2, NULL), ADAPS_OK);
    for (int i = 0; i < 5000; i++) {
        struct ad_score score = {.excess_bytes = 0};
        int64_t x = ad_rng_below(&rng, 100000);
        figures(score.figure, x, 100000 - x + ad_rng_below(&rng, 1000));
        score.excess_bytes = i % 10 == 0; /* these must not get in */
        score.over_cap_ns = i % 10 == 1;
        ad_archive_see(&archive, &layout, &score);
        ck_assert_int_le(archive.count, AD_ARCHIVE);
        for (int k = 0; k < 2 && i % 10 > 1; k++) {
            int64_t figure = score.figure[two.list[k]];
            least[k] = figure < least[k] ? figure : least[k];
        }
    }
    ck_assert_int_eq(archive.count, AD_ARCHIVE);
    for (int i = 0; i < archive.count; i++) {
        ck_assert(archive.best[i].valid && archive.best[i].score.excess_bytes == 0);
        ck_assert(archive.best[i].score.over_cap_ns == 0);
        for (int k = 0; k < archive.count; k++)
            ck_assert(i == k || !ad_pareto_dominates(&two, archive.best[k].score.figure,
                                                     archive.best[i].score.figure));
    }
    for (int k = 0; k < 2; k++) {
        int64_t found = INT64_MAX;
        for (int i = 0; i < archive.count; i++)
            if (archive.best[i].score.figure[two.list[k]] < found)
                found = archive.best[i].score.figure[two.list[k]];
        ck_assert_int_eq(found, least[k]);
    }
    ad_layout_fini(&layout);
    ad_archive_fini(&archive);
    ad_context_fini(&context);
    ad_fixture_fini(&p);
}
END_TEST

/* --- the front --- */

/* A source with little power, and two others. */
static void fill(struct problem *p)
{
    static const struct ad_power power[] = {{1500, 1000, 200}, {2700, 900, 300}, {600, 500, 300}};
    ad_fixture_small(p, 3);
    for (int d = 0; d < 3; d++)
        p->cluster.devices[d].table.power = power[d];
    p->cluster.devices[2].speed = 0.006;
    p->problem.evaluations = SANITIZED ? 200 : 2000;
    p->problem.seed = 3;
}

static void run_front(const struct problem *p, const struct ad_pareto_objectives *objectives,
                      struct ad_pareto *out)
{
    struct adaps_error err = {0};
    ck_assert_msg(ad_pareto_search(&p->problem, objectives, out, &err) == ADAPS_OK, "%s",
                  err.message);
    ck_assert_int_ge(out->count, 1);
    ck_assert_int_le(out->count, AD_PARETO_PLANS);
}

static void ck_none_beaten(const struct ad_pareto *front, const int64_t *figure, const char *who)
{
    for (int i = 0; i < front->count; i++)
        ck_assert_msg(!ad_pareto_dominates(&front->objectives, figure, front->plans[i].figure),
                      "plan %d of %s is dominated by %s", i + 1, front->plans[i].strategy, who);
}

/* What the clocks say of a plan of the front by itself. */
static void ck_true_figures(const struct problem *p, const struct ad_pareto_plan *plan)
{
    const struct ad_search_result *r = &plan->result;
    const struct ad_graph *graph = ad_search_result_graph(&p->problem, r);
    struct ad_energy_figures energy;
    struct ad_stream again = r->stream;
    int64_t most = 0, makespan = r->schedule.makespan_ns;
    ck_assert_int_eq(ad_schedule_verify(graph, &r->schedule, p->cluster.source, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_stream_simulate(graph, &p->cluster, &r->schedule, &again, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_energy_figures(graph, &p->cluster, &r->schedule, &again, &energy, NULL),
                     ADAPS_OK);
    for (int d = 0; d < p->cluster.ndevices; d++)
        most = r->schedule.memory[d] > most ? r->schedule.memory[d] : most;
    ck_assert_int_eq(plan->figure[AD_OBJECTIVE_LATENCY], makespan);
    ck_assert_int_eq(plan->figure[AD_OBJECTIVE_THROUGHPUT], again.interval_ns);
    ck_assert_int_eq(plan->figure[AD_OBJECTIVE_MEMORY], most);
    ck_assert_int_eq(plan->figure[AD_OBJECTIVE_ENERGY], energy.all_pj);
}

/* The least figure of an objective. */
static int64_t end_of(const struct ad_pareto *front, enum ad_objective o)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < front->count; i++)
        if (front->plans[i].figure[o] < least)
            least = front->plans[i].figure[o];
    return least;
}

static const struct ad_pareto_objectives *const lists[] = {&two, &four, &all_five};

START_TEST(none_is_beaten_by_another)
{
    struct problem p;
    struct ad_pareto front;
    fill(&p);
    run_front(&p, lists[_i], &front);
    for (int i = 0; i < front.count; i++) {
        ck_none_beaten(&front, front.plans[i].figure, "another one");
        for (int k = 0; k < i; k++)
            ck_assert(
                !ad_pareto_equal(&front.objectives, front.plans[i].figure, front.plans[k].figure));
        enum ad_objective first = front.objectives.list[0];
        ck_assert(i == 0 || front.plans[i - 1].figure[first] <= front.plans[i].figure[first]);
        ck_true_figures(&p, &front.plans[i]);
    }
    ad_pareto_fini(&front);
    ad_fixture_fini(&p);
}
END_TEST

START_TEST(ends_are_those_of_auto)
{
    struct problem p;
    struct ad_pareto front;
    fill(&p);
    run_front(&p, lists[_i], &front);
    for (int i = 0; i < front.objectives.count; i++) {
        enum ad_objective o = front.objectives.list[i];
        struct ad_search_result r;
        int64_t figure[AD_OBJECTIVES];
        p.problem.objective = o;
        ad_fixture_run(&p, "auto", &r);
        ck_assert_int_eq(ad_search_figures(&p.problem, &r, figure, NULL), ADAPS_OK);
        ck_assert_msg(end_of(&front, o) == figure[o], "%s: %" PRId64 ", auto %" PRId64,
                      ad_objective_name(o), end_of(&front, o), figure[o]);
        ad_search_result_fini(&r);
    }
    ad_pareto_fini(&front);
    ad_fixture_fini(&p);
}
END_TEST

START_TEST(no_strategy_beats_one)
{
    struct problem p;
    struct ad_pareto front;
    struct adaps_error err = {0};
    fill(&p);
    run_front(&p, lists[_i], &front);
    for (int i = 0; i < front.objectives.count; i++)
        for (const struct ad_strategy *s = ad_strategies; s->name && !s->small; s++) {
            struct ad_search_result r;
            int64_t figure[AD_OBJECTIVES];
            if (s->stream && lists[_i] == &two)
                continue; /* streams are for the throughput */
            p.problem.objective = front.objectives.list[i];
            enum adaps_status status = ad_search_run(s, &p.problem, &r, &err);
            if (status == ADAPS_NO && p.problem.objective == AD_OBJECTIVE_TRAFFIC)
                continue; /* later than the best single device */
            ck_assert_msg(status == ADAPS_OK, "%s", err.message);
            ck_assert_int_eq(ad_search_figures(&p.problem, &r, figure, NULL), ADAPS_OK);
            ck_none_beaten(&front, figure, s->name);
            ad_search_result_fini(&r);
        }
    ad_pareto_fini(&front);
    ad_fixture_fini(&p);
}
END_TEST

/* Random cuts of what may be split, in runs, and random ways to send. */
static void random_layout(const struct ad_context *context, struct ad_rng *rng,
                          struct ad_layout *layout)
{
    int n = layout->ndevices;
    for (int i = 0; i < layout->nops; i++) {
        struct ad_op_layout *op = &layout->ops[i];
        int *cuts = ad_layout_cuts(layout, i);
        enum ad_dim dim = (enum ad_dim)ad_rng_below(rng, AD_DIM_C + 1);
        op->dim = context->can[i][dim] ? dim : AD_DIM_WHOLE;
        op->pinned = op->dim == AD_DIM_WHOLE || ad_rng_below(rng, 2);
        op->early = ad_rng_below(rng, 2);
        op->at = ad_rng_below(rng, 2) ? 0 : (int)ad_rng_below(rng, (uint32_t)n);
        op->across = 0;
        cuts[0] = 0;
        cuts[n] = AD_CUT_UNITS;
        for (int d = 1; d < n; d++)
            cuts[d] =
                cuts[d - 1] + (int)ad_rng_below(rng, (uint32_t)(AD_CUT_UNITS - cuts[d - 1]) + 1);
    }
    layout->ops[layout->nops - 1].pinned = true;
    layout->hub = -1;
    layout->u8 = context->u8;
    layout->order = (enum ad_order)ad_rng_below(rng, AD_ORDERS);
    layout->input_chunks = 1 + (int)ad_rng_below(rng, 3);
    layout->band_chunks = 1;
}

START_TEST(no_random_plan_beats_one)
{
    struct problem p;
    struct ad_pareto front;
    struct ad_context context;
    struct ad_eval eval;
    struct ad_layout layout;
    struct ad_rng rng = {17};
    struct adaps_error err = {0};
    int shared = 0;
    fill(&p);
    run_front(&p, &all_five, &front);
    p.problem.objective = AD_OBJECTIVE_MEMORY; /* then channels may be split, too */
    ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_eval_init(&eval, &context, &err), ADAPS_OK);
    ck_assert_int_eq(ad_layout_init(&layout, p.graph->nops, 3, NULL), ADAPS_OK);
    for (int i = 0; i < RANDOM; i++) {
        struct ad_search_result r = {.stream = AD_STREAM_ONE};
        int64_t figure[AD_OBJECTIVES];
        random_layout(&context, &rng, &layout);
        ad_eval_assign(&eval, &layout);
        ck_assert_msg(ad_schedule_build(p.graph, &p.cluster, &eval.scratch, &r.schedule, &err) ==
                          ADAPS_OK,
                      "%s", err.message);
        ck_assert_int_eq(ad_stream_simulate(p.graph, &p.cluster, &r.schedule, &r.stream, &err),
                         ADAPS_OK);
        ck_assert_int_eq(ad_search_figures(&p.problem, &r, figure, NULL), ADAPS_OK);
        ck_none_beaten(&front, figure, "a random plan");
        shared += r.schedule.messages > 0;
        ad_search_result_fini(&r);
    }
    ck_assert_int_gt(shared, RANDOM / 2);
    ad_layout_fini(&layout);
    ad_eval_fini(&eval);
    ad_context_fini(&context);
    ad_pareto_fini(&front);
    ad_fixture_fini(&p);
}
END_TEST

/* The archive finds plans that no strategy has; the same seed finds the same ones. */
START_TEST(the_seed_decides)
{
    struct problem p;
    struct ad_pareto front, again;
    int found = 0;
    fill(&p);
    run_front(&p, &two, &front);
    run_front(&p, &two, &again);
    ck_assert_int_eq(front.count, again.count);
    ck_assert_int_eq(front.visited, again.visited);
    for (int i = 0; i < front.count; i++) {
        ck_assert_mem_eq(front.plans[i].figure, again.plans[i].figure,
                         sizeof front.plans[i].figure);
        ck_assert_str_eq(front.plans[i].strategy, again.plans[i].strategy);
        found += front.plans[i].objective == AD_OBJECTIVE_BALANCE;
    }
    ck_assert_int_ge(found, 1);
    ad_pareto_fini(&front);
    ad_pareto_fini(&again);
    ad_fixture_fini(&p);
}
END_TEST

/* Replicas on the source and on a device that takes little: the source, which must be on, idles
 * less than when it waits for the other's answer, and does a part of the work for it. */
START_TEST(a_stream_may_take_less)
{
    struct problem p;
    struct ad_pareto front;
    struct ad_search_result r;
    int64_t figure[AD_OBJECTIVES];
    ad_fixture_small(&p, 2);
    p.cluster.devices[0].table.power = (struct ad_power){2000, 1000, 10};
    p.cluster.devices[1].table.power = (struct ad_power){100, 50, 10};
    p.problem.evaluations = 200;
    p.problem.objective = AD_OBJECTIVE_ENERGY;
    ad_fixture_run(&p, "auto", &r);
    ck_assert_int_eq(ad_search_figures(&p.problem, &r, figure, NULL), ADAPS_OK);
    ck_assert_int_eq(r.stream.frames, 1);
    run_front(&p, &four, &front);
    ck_assert_int_lt(end_of(&front, AD_OBJECTIVE_ENERGY), figure[AD_OBJECTIVE_ENERGY]);
    for (int i = 0; i < front.count; i++)
        ck_assert(front.plans[i].result.stream.frames > 1 ||
                  front.plans[i].figure[AD_OBJECTIVE_ENERGY] >= figure[AD_OBJECTIVE_ENERGY]);
    ad_pareto_fini(&front);
    run_front(&p, &two, &front);
    ck_assert_int_eq(end_of(&front, AD_OBJECTIVE_ENERGY), figure[AD_OBJECTIVE_ENERGY]);
    ad_pareto_fini(&front);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* Nobody has the memory. */
START_TEST(no_plan)
{
    struct problem p;
    struct ad_pareto front;
    struct adaps_error err = {0};
    fill(&p);
    for (int d = 0; d < 3; d++)
        p.cluster.devices[d].memory = 1000;
    ck_assert_int_eq(ad_pareto_search(&p.problem, &two, &front, &err), ADAPS_NO);
    ck_assert_msg(strstr(err.message, "no strategy has a plan: "), "%s", err.message);
    ad_fixture_fini(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pareto");
    TCase *c = tcase_create("pareto");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, dominance);
    tcase_add_test(c, the_most_crowded);
    tcase_add_test(c, archive_is_bounded);
    tcase_add_loop_test(c, none_is_beaten_by_another, 0, 3);
    tcase_add_loop_test(c, ends_are_those_of_auto, 0, SANITIZED ? 1 : 3);
    tcase_add_loop_test(c, no_strategy_beats_one, 0, SANITIZED ? 1 : 3);
    tcase_add_test(c, no_random_plan_beats_one);
    tcase_add_test(c, the_seed_decides);
    tcase_add_test(c, a_stream_may_take_less);
    tcase_add_test(c, no_plan);
    suite_add_tcase(s, c);
    return run_suite(s);
}
