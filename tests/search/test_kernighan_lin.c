/* Work graphs: costs and gains against their definition, and the moves against all partitionings of
 * small graphs. */
#include "base/mem.h"
#include "base/rng.h"
#include "search/published/kernighan_lin.h"
#include "support/run_suite.h"

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MOST 24 /* vertices */
#define DEVICES 5

/* A random graph whose edges go to later vertices. */
struct instance {
    struct ad_work_graph graph;
    int64_t memory[MOST], bytes[MOST], shared[3], limit[DEVICES];
    double work[MOST], rate[DEVICES], bandwidth[DEVICES * DEVICES];
    int group[MOST], first[MOST + 1], readers[MOST * MOST], part[MOST];
};

static void make(struct instance *x, uint64_t seed, int n, int ndevices)
{
    struct ad_rng rng = {seed};
    int edges = 0;
    int64_t all = 0;
    memset(x, 0, sizeof *x);
    for (int v = 0; v < n; v++) {
        x->memory[v] = 1 + ad_rng_below(&rng, 20);
        x->bytes[v] = ad_rng_below(&rng, 50);
        x->work[v] = ad_rng_below(&rng, 30);
        x->group[v] = (int)ad_rng_below(&rng, 4) - 1;
        x->first[v] = edges;
        for (int r = v + 1; r < n; r++)
            if (ad_rng_below(&rng, 3) == 0)
                x->readers[edges++] = r;
        all += x->memory[v];
    }
    x->first[n] = edges;
    for (int g = 0; g < 3; g++)
        all += x->shared[g] = ad_rng_below(&rng, 15);
    for (int d = 0; d < ndevices; d++) {
        x->limit[d] = all / ndevices + 20 + ad_rng_below(&rng, 30);
        x->rate[d] = 1 + ad_rng_below(&rng, 3);
        for (int q = 0; q < d; q++)
            x->bandwidth[d * ndevices + q] = x->bandwidth[q * ndevices + d] =
                1 + ad_rng_below(&rng, 4);
    }
    for (int v = 0; v < n; v++)
        x->part[v] = (int)ad_rng_below(&rng, (uint32_t)ndevices);
    x->graph = (struct ad_work_graph){n,        3,        ndevices,    x->memory,  x->bytes,
                                      x->work,  x->group, x->first,    x->readers, x->shared,
                                      x->limit, x->rate,  x->bandwidth};
}

/* Whether v has a reader on device d. */
static bool reads(const struct instance *x, const int *part, int v, int d)
{
    for (int i = x->first[v]; i < x->first[v + 1]; i++)
        if (part[x->readers[i]] == d)
            return true;
    return false;
}

static int64_t between(const struct instance *x, const int *part, int a, int b)
{
    int64_t sum = 0;
    for (int v = 0; v < x->graph.nvertices; v++)
        if ((part[v] == a && reads(x, part, v, b)) || (part[v] == b && reads(x, part, v, a)))
            sum += x->bytes[v];
    return sum;
}

static double load(const struct instance *x, const int *part, int d)
{
    double sum = 0;
    for (int v = 0; v < x->graph.nvertices; v++)
        sum += part[v] == d ? x->work[v] : 0;
    return sum;
}

static int64_t memory(const struct instance *x, const int *part, int d)
{
    int64_t sum = 0;
    for (int g = -1; g < 3; g++) {
        bool some = false;
        for (int v = 0; v < x->graph.nvertices; v++)
            if (part[v] == d && x->group[v] == g) {
                sum += x->memory[v];
                some = true;
            }
        sum += some && g >= 0 ? x->shared[g] : 0;
    }
    return sum;
}

/* By definition. */
static struct ad_work_cost cost_of(const struct instance *x, const int *part)
{
    struct ad_work_cost out = {0};
    int n = x->graph.ndevices;
    for (int d = 0; d < n; d++) {
        int64_t used = memory(x, part, d);
        out.excess += used > x->limit[d] ? used - x->limit[d] : 0;
        out.seconds = fmax(out.seconds, load(x, part, d) / x->rate[d]);
        for (int q = 0; q < d; q++) {
            int64_t bytes = between(x, part, d, q);
            out.bytes += bytes;
            out.seconds = fmax(out.seconds, (double)bytes / x->bandwidth[d * n + q]);
        }
    }
    return out;
}

/* The sum of powers, by definition. */
static double sum_of(const struct instance *x, const int *part, const struct ad_work_state *s)
{
    double power = pow(2, s->squarings), sum = 0;
    int n = x->graph.ndevices;
    for (int d = 0; d < n; d++) {
        if (s->objective == AD_WORK_RATE)
            sum += pow(load(x, part, d) / x->rate[d] / s->unit, power);
        for (int q = 0; q < d; q++) {
            double bytes = (double)between(x, part, d, q);
            sum += s->objective == AD_WORK_BYTES
                       ? bytes
                       : pow(bytes / x->bandwidth[d * n + q] / s->unit, power);
        }
    }
    return sum;
}

static void expect_near(double a, double b, uint64_t seed, const char *what)
{
    ck_assert_msg(fabs(a - b) <= 1e-9 * (1 + fabs(a) + fabs(b)), "seed %" PRIu64 ": %s %g, not %g",
                  seed, what, a, b);
}

START_TEST(costs_are_as_defined)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct instance x;
        struct ad_work_cost cost;
        int64_t used[DEVICES];
        make(&x, seed, 1 + (int)(seed % MOST), 1 + (int)(seed % DEVICES));
        struct ad_work_cost want = cost_of(&x, x.part);
        ck_assert_int_eq(ad_work_measure(&x.graph, x.part, &cost, NULL), ADAPS_OK);
        ck_assert_int_eq(cost.excess, want.excess);
        ck_assert_int_eq(cost.bytes, want.bytes);
        expect_near(cost.seconds, want.seconds, seed, "seconds");
        ck_assert_int_eq(ad_work_memory(&x.graph, x.part, used, NULL), ADAPS_OK);
        for (int d = 0; d < x.graph.ndevices; d++)
            ck_assert_int_eq(used[d], memory(&x, x.part, d));
    }
}
END_TEST

static int64_t beyond(const struct ad_work_state *s, int d, int64_t used)
{
    return used > s->graph->limit[d] ? used - s->graph->limit[d] : 0;
}

/* By how much the excess over the devices' memory changes with a move, by what the state says of
 * it. */
static int64_t excess_change(const struct ad_work_state *s, int v, int device)
{
    int from = s->part[v];
    if (from == device)
        return 0;
    int64_t here = s->used[from], there = s->used[device];
    return beyond(s, from, here - ad_work_state_freed(s, v)) - beyond(s, from, here) +
           beyond(s, device, there + ad_work_state_need(s, v, device)) - beyond(s, device, there);
}

/* Every move of one state: what it would be worth is what it is worth. */
static void check_moves(struct instance *x, const struct ad_work_state *s, uint64_t seed)
{
    double sum = sum_of(x, x->part, s);
    int64_t excess = cost_of(x, x->part).excess;
    expect_near(ad_work_state_sum(s), sum, seed, "sum");
    for (int v = 0; v < x->graph.nvertices; v++) {
        struct ad_work_leaving leaving;
        int from = x->part[v];
        ad_work_state_leave(s, v, &leaving);
        for (int d = 0; d < x->graph.ndevices; d++) {
            x->part[v] = d;
            double gain = sum_of(x, x->part, s) - sum;
            expect_near(ad_work_state_gain(s, &leaving, d), gain, seed, "gain");
            ck_assert_int_eq(excess_change(s, v, d), cost_of(x, x->part).excess - excess);
        }
        x->part[v] = from;
    }
}

START_TEST(gains_are_as_defined)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct instance x;
        struct ad_work_state s;
        struct ad_rng rng = {seed};
        enum ad_work_objective objective = seed % 3 ? AD_WORK_RATE : AD_WORK_BYTES;
        make(&x, seed, 2 + (int)(seed % 12), 1 + (int)(seed % DEVICES));
        ck_assert_int_eq(ad_work_state_init(&s, &x.graph, objective, x.part, NULL), ADAPS_OK);
        ad_work_state_scale(&s, (int)(seed % 4));
        for (int i = 0; i < 6; i++) {
            int v = (int)ad_rng_below(&rng, (uint32_t)x.graph.nvertices);
            check_moves(&x, &s, seed);
            x.part[v] = (int)ad_rng_below(&rng, (uint32_t)x.graph.ndevices);
            ad_work_state_move(&s, v, x.part[v]);
        }
        struct ad_work_cost cost = cost_of(&x, x.part);
        expect_near(ad_work_state_longest(&s),
                    objective == AD_WORK_RATE ? cost.seconds : (double)cost.bytes, seed, "longest");
        ad_work_state_fini(&s);
    }
}
END_TEST

/* --- the moves --- */

static double wanted(const struct ad_work_cost *cost, enum ad_work_objective objective)
{
    return objective == AD_WORK_RATE ? cost->seconds : (double)cost->bytes;
}

/* The least of all partitionings within the memory; INFINITY: there is none. */
static double best_of_all(struct instance *x, enum ad_work_objective objective)
{
    int n = x->graph.nvertices, ndevices = x->graph.ndevices, part[MOST] = {0};
    double best = INFINITY;
    for (;;) {
        struct ad_work_cost cost = cost_of(x, part);
        if (cost.excess == 0)
            best = fmin(best, wanted(&cost, objective));
        int v = 0;
        while (v < n && ++part[v] == ndevices)
            part[v++] = 0;
        if (v == n)
            return best;
    }
}

/* The best of some starts, all of which are valid and no worse than where they began. */
static double best_of_starts(struct instance *x, enum ad_work_objective objective, uint64_t seed)
{
    double best = INFINITY;
    for (uint64_t k = 0; k < 16; k++) {
        const struct ad_kl_options options = {.objective = objective, .seed = k};
        int part[MOST];
        if (ad_work_random(&x->graph, NULL, seed * 100 + k, part, NULL) != ADAPS_OK)
            continue;
        struct ad_work_cost start = cost_of(x, part), end;
        ck_assert_int_eq(start.excess, 0);
        ck_assert_int_eq(ad_kl_improve(&x->graph, &options, part, NULL, NULL), ADAPS_OK);
        end = cost_of(x, part);
        ck_assert_int_eq(end.excess, 0);
        ck_assert_double_le(wanted(&end, objective), wanted(&start, objective));
        best = fmin(best, wanted(&end, objective));
    }
    return best;
}

START_TEST(moves_find_the_best_of_small_graphs)
{
    int found = 0, all = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct instance x;
        enum ad_work_objective objective = seed % 2 ? AD_WORK_RATE : AD_WORK_BYTES;
        make(&x, seed, 7, 3);
        double best = best_of_all(&x, objective), ours = best_of_starts(&x, objective, seed);
        ck_assert_msg(ours >= best * (1 - 1e-9), "seed %" PRIu64 ": %g is less than %g", seed, ours,
                      best);
        if (best == INFINITY)
            continue;
        all++;
        found += ours <= best * (1 + 1e-9);
        ck_assert_msg(ours <= best * 1.25 + 1e-9, "seed %" PRIu64 ": %g, not %g", seed, ours, best);
    }
    ck_assert_int_ge(all, 30);
    ck_assert_msg(found * 10 >= all * 9, "%d of %d", found, all);
}
END_TEST

/* More rounds begin with the same moves, and are better for some graphs. */
START_TEST(rounds_go_on_from_the_best)
{
    int better = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct instance x;
        double seconds[2];
        make(&x, seed, MOST, DEVICES);
        if (ad_work_random(&x.graph, NULL, seed, x.part, NULL) != ADAPS_OK)
            continue;
        for (int k = 0; k < 2; k++) {
            const struct ad_kl_options options = {.seed = seed, .rounds = 6 * k};
            struct ad_kl_effort effort = {0};
            int part[MOST];
            memcpy(part, x.part, sizeof part);
            ck_assert_int_eq(ad_kl_improve(&x.graph, &options, part, &effort, NULL), ADAPS_OK);
            ck_assert_int_gt(effort.operations, 0);
            struct ad_work_cost cost = cost_of(&x, part);
            ck_assert_int_eq(cost.excess, 0);
            seconds[k] = cost.seconds;
        }
        ck_assert_double_le(seconds[1], seconds[0]);
        better += seconds[1] < seconds[0];
    }
    ck_assert_int_ge(better, 5);
}
END_TEST

/* Everything on one device, which is too small for it. */
START_TEST(a_start_beyond_the_memory_comes_to_fit)
{
    int fitting = 0;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct instance x;
        const struct ad_kl_options options = {.seed = seed};
        int part[MOST] = {0}, some[MOST];
        make(&x, seed, MOST, 4);
        if (ad_work_random(&x.graph, NULL, seed, some, NULL) != ADAPS_OK)
            continue;
        ck_assert_int_gt(cost_of(&x, part).excess, 0);
        ck_assert_int_eq(ad_kl_improve(&x.graph, &options, part, NULL, NULL), ADAPS_OK);
        ck_assert_msg(cost_of(&x, part).excess == 0, "seed %" PRIu64, seed);
        fitting++;
    }
    ck_assert_int_ge(fitting, 30);
}
END_TEST

/* Vertex 0 only goes to the last device; data: the graph. */
static bool to_the_last(const void *data, const int *part, int v, int to)
{
    const struct ad_work_graph *graph = data;
    (void)part;
    return v > 0 || to == graph->ndevices - 1;
}

START_TEST(what_is_fixed_or_not_allowed_stays)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct instance x;
        bool fixed[MOST] = {false};
        int part[MOST];
        make(&x, seed, 12, 4);
        fixed[3] = fixed[7] = true;
        x.part[3] = x.part[7] = 2;
        memcpy(part, x.part, sizeof part);
        const struct ad_kl_options options = {
            .fixed = fixed, .seed = seed, .allows = to_the_last, .data = &x.graph};
        ck_assert_int_eq(ad_kl_improve(&x.graph, &options, part, NULL, NULL), ADAPS_OK);
        ck_assert_int_eq(part[3], 2);
        ck_assert_int_eq(part[7], 2);
        ck_assert(part[0] == x.part[0] || part[0] == 3);
        if (ad_work_random(&x.graph, fixed, seed, part, NULL) == ADAPS_OK)
            ck_assert_int_eq(cost_of(&x, part).excess, 0);
        ck_assert_int_eq(part[3], 2);
        ck_assert_int_eq(part[7], 2);
    }
}
END_TEST

/* Two vertices of half a device each that talk to each other, each with one that it has nothing to
 * do with: no move fits, a swap does. */
START_TEST(swaps_do_what_memory_forbids_to_move)
{
    static const int64_t memory[] = {5, 5, 5, 5}, bytes[] = {9, 9, 0, 0}, shared[] = {0},
                         limit[] = {10, 10};
    static const double work[] = {0, 0, 0, 0}, rate[] = {1, 1}, bandwidth[] = {1, 1, 1, 1};
    static const int group[] = {-1, -1, -1, -1}, first[] = {0, 1, 2, 2, 2}, readers[] = {2, 3};
    const struct ad_work_graph graph = {4,     0,       2,      memory, bytes, work,     group,
                                        first, readers, shared, limit,  rate,  bandwidth};
    for (int objective = AD_WORK_RATE; objective <= AD_WORK_BYTES; objective++) {
        const struct ad_kl_options options = {.objective = (enum ad_work_objective)objective};
        struct ad_work_cost cost;
        int part[] = {0, 1, 1, 0};
        ck_assert_int_eq(ad_kl_improve(&graph, &options, part, NULL, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_work_measure(&graph, part, &cost, NULL), ADAPS_OK);
        ck_assert_int_eq(cost.bytes, 0);
        ck_assert_int_eq(cost.excess, 0);
    }
}
END_TEST

START_TEST(lack_of_memory_is_an_error)
{
    struct instance x;
    const struct ad_kl_options options = {.seed = 1};
    int failures = 0;
    make(&x, 3, 10, 3);
    for (long n = 1;; n++) {
        struct adaps_error err = {0};
        int part[MOST];
        memcpy(part, x.part, sizeof part);
        ad_mem_fail_after(n);
        enum adaps_status status = ad_kl_improve(&x.graph, &options, part, NULL, &err);
        ad_mem_fail_after(0);
        if (status == ADAPS_OK)
            break;
        ck_assert_int_eq(status, ADAPS_EINTERNAL);
        ck_assert_str_ne(err.message, "");
        failures++;
    }
    ck_assert_int_gt(failures, 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernighan_lin");
    TCase *tcase = tcase_create("kernighan_lin");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, costs_are_as_defined);
    tcase_add_test(tcase, gains_are_as_defined);
    tcase_add_test(tcase, moves_find_the_best_of_small_graphs);
    tcase_add_test(tcase, rounds_go_on_from_the_best);
    tcase_add_test(tcase, a_start_beyond_the_memory_comes_to_fit);
    tcase_add_test(tcase, what_is_fixed_or_not_allowed_stays);
    tcase_add_test(tcase, swaps_do_what_memory_forbids_to_move);
    tcase_add_test(tcase, lack_of_memory_is_an_error);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
