/* Strategy dn2pciot: the ops as a work graph and back, memory limits, its two objectives, and a
 * start that is given. */
#include "fusion/region.h"
#include "search/eval.h"
#include "search/published/work_ops.h"
#include "support/run_suite.h"
#include "support/search_fixture.h"

#include <check.h>
#include <inttypes.h>
#include <string.h>

static int *random_part(const struct ad_work_ops *ops, uint64_t seed)
{
    struct ad_rng rng = {seed};
    int *part = ad_calloc((size_t)ops->graph.nvertices, sizeof *part);
    ck_assert(part != NULL);
    for (int v = 0; v < ops->graph.nvertices; v++)
        part[v] = (int)ad_rng_below(&rng, (uint32_t)ops->graph.ndevices);
    return part;
}

static int count(const struct ad_work_ops *ops, const int *part, int op, int d)
{
    int n = 0;
    for (int v = ops->first[op]; v < ops->first[op + 1]; v++)
        n += part[v] == d;
    return n;
}

/* The devices of each op's bands ascend, as many bands on each as before; what is fixed is on the
 * source. */
static void check_sorted(const struct ad_work_ops *ops, const int *before, const int *after)
{
    for (int i = 0; i < ops->context->problem->graph->nops; i++) {
        for (int v = ops->first[i] + 1; v < ops->first[i + 1]; v++)
            ck_assert_int_le(after[v - 1], after[v]);
        for (int d = 0; d < ops->graph.ndevices; d++)
            ck_assert_int_eq(count(ops, before, i, d), count(ops, after, i, d));
    }
    for (int v = 0; v < ops->graph.nvertices; v++)
        if (ops->fixed[v])
            ck_assert_int_eq(after[v], ops->context->problem->cluster->source);
}

/* A partitioning becomes a layout, that an assignment, and that the partitioning again. Random
 * graphs have ops that are computed in larger pieces than bands: of these only the order counts. */
START_TEST(ops_become_vertices_and_back)
{
    for (uint64_t seed = (uint64_t)_i * 20; seed < (uint64_t)_i * 20 + 20; seed++) {
        struct problem p;
        struct ad_context context;
        struct ad_eval eval;
        struct ad_work_ops ops;
        struct ad_layout layout;
        bool regular = seed % 2 == 0;
        if (regular)
            ad_fixture_small(&p, 2 + (int)(seed % 3));
        else
            ad_fixture_random(&p, seed);
        ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_eval_init(&eval, &context, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_work_ops_init(&ops, &context, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_layout_init(&layout, p.graph->nops, p.cluster.ndevices, NULL),
                         ADAPS_OK);
        int *part = random_part(&ops, seed), *before = random_part(&ops, seed),
            *again = random_part(&ops, seed + 1);
        ad_work_ops_sort(&ops, part);
        check_sorted(&ops, before, part);
        for (int v = 0; v < ops.graph.nvertices; v++)
            ck_assert(ad_work_ops_allows(&ops, part, v, part[v]));
        ad_work_ops_layout(&ops, part, &layout);
        ad_eval_assign(&eval, &layout);
        ad_work_ops_of(&ops, &eval.scratch, again);
        check_sorted(&ops, again, again);
        for (int v = 0; regular && v < ops.graph.nvertices; v++)
            ck_assert_msg(part[v] == again[v], "seed %" PRIu64 ", op %d", seed, ops.op[v]);
        ad_free(part);
        ad_free(before);
        ad_free(again);
        ad_layout_fini(&layout);
        ad_work_ops_fini(&ops);
        ad_eval_fini(&eval);
        ad_context_fini(&context);
        ad_fixture_fini(&p);
    }
}
END_TEST

/* What a vertex reads, by the regions of its band. */
START_TEST(edges_are_what_bands_read)
{
    struct problem p;
    struct ad_context context;
    struct ad_work_ops ops;
    ad_fixture_small(&p, 3);
    ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_work_ops_init(&ops, &context, NULL), ADAPS_OK);
    /* 16 bands of 4 rows: the second convolution's band 5 reads bands 4, 5 and 6 of the first. */
    ck_assert_int_eq(ops.first[1] - ops.first[0], 16);
    ck_assert_int_eq(ops.dim[0], AD_DIM_H);
    for (int k = 0; k < 16; k++) {
        int from = ops.first[0] + k, readers = ops.graph.first[from + 1] - ops.graph.first[from];
        ck_assert_int_eq(readers, k == 0 || k == 15 ? 2 : 3);
        for (int i = 0; i < readers; i++)
            ck_assert_int_eq(ops.graph.readers[ops.graph.first[from] + i],
                             ops.first[1] + (k > 0 ? k - 1 : 0) + i);
        ck_assert_int_eq(ops.graph.bytes[from], 4 * 64 * 16 * 4);
    }
    ck_assert_int_eq(ops.graph.shared[1], 3 * 3 * 16 * 16 * 4);
    ad_work_ops_fini(&ops);
    ad_context_fini(&context);
    ad_fixture_fini(&p);
}
END_TEST

static void limit_all(struct problem *p, uint64_t bytes)
{
    for (int d = 0; d < p->cluster.ndevices; d++)
        p->cluster.devices[d].memory = bytes;
}

static int64_t most_memory(const struct ad_search_result *r)
{
    int64_t most = 0;
    for (int d = 0; d < r->schedule.ndevices; d++)
        most = r->schedule.memory[d] > most ? r->schedule.memory[d] : most;
    return most;
}

/* The dense layer's weights, 2.6 MB, are more than a device has; nor can one have nothing. */
START_TEST(memory_limits_are_kept)
{
    static const char *const words = "on every device one would fit";
    struct problem p;
    struct ad_search_result r;
    struct adaps_error err;
    ad_fixture_small(&p, 4);
    p.problem.objective = AD_OBJECTIVE_THROUGHPUT;
    limit_all(&p, 1900000);
    ck_assert_int_eq(ad_search_run(ad_strategy_find("single"), &p.problem, &r, &err), ADAPS_NO);
    ad_fixture_run(&p, "dn2pciot", &r);
    ck_assert_int_le(most_memory(&r), 1900000);
    ad_search_result_fini(&r);
    limit_all(&p, 100000);
    ck_assert_int_eq(ad_search_run(ad_strategy_find("dn2pciot"), &p.problem, &r, &err), ADAPS_NO);
    const char *at = strstr(err.message, "; with ");
    ck_assert_msg(at && strstr(at, words), "%s", err.message);
    int64_t least = strtoll(at + strlen("; with "), NULL, 10);
    ck_assert_int_gt(least, 100000);
    limit_all(&p, (uint64_t)least);
    ad_fixture_run(&p, "dn2pciot", &r); /* with the memory that was named there is a plan */
    ck_assert_int_le(most_memory(&r), least);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* For the throughput devices share the work; for the least traffic the source has it all, until
 * it lacks the memory. */
START_TEST(objectives_differ)
{
    struct problem p;
    struct ad_search_result quick, quiet, divided, best;
    ad_fixture_small(&p, 3);
    p.problem.objective = AD_OBJECTIVE_THROUGHPUT;
    ad_fixture_run(&p, "dn2pciot", &quick);
    ck_assert_int_gt(quick.stream.frames, 1);
    ck_assert_int_gt(quick.schedule.bytes, 0);
    p.problem.objective = AD_OBJECTIVE_TRAFFIC;
    p.problem.latency_cap_ns = INT64_C(1000000000000);
    ad_fixture_run(&p, "dn2pciot", &quiet);
    ck_assert_int_eq(quiet.schedule.bytes, 0);
    ck_assert_int_eq(quiet.stream.frames, 1);
    limit_all(&p, 1900000);
    ad_fixture_run(&p, "dn2pciot", &divided);
    ad_fixture_run(&p, "auto", &best);
    ck_assert_int_gt(divided.schedule.bytes, 0);
    ck_assert_int_lt(divided.schedule.bytes, quick.schedule.bytes);
    ck_assert_int_le(best.schedule.bytes, divided.schedule.bytes);
    ad_search_result_fini(&quick);
    ad_search_result_fini(&quiet);
    ad_search_result_fini(&divided);
    ad_search_result_fini(&best);
    ad_fixture_fini(&p);
}
END_TEST

/* Auto's streams are at least as quick, but for the 2 % for which it prefers replicas. */
START_TEST(auto_is_no_slower)
{
    for (uint64_t seed = (uint64_t)_i * 4; seed < (uint64_t)_i * 4 + 4; seed++) {
        struct problem p;
        struct ad_search_result ours, best;
        ad_fixture_random(&p, seed + 300);
        p.problem.objective = AD_OBJECTIVE_THROUGHPUT;
        p.problem.evaluations = 200;
        ad_fixture_run(&p, "dn2pciot", &ours);
        ad_fixture_run(&p, "auto", &best);
        ck_assert_msg((double)best.stream.interval_ns <= 1.0201 * (double)ours.stream.interval_ns,
                      "seed %" PRIu64 ": %" PRId64 ", dn2pciot %" PRId64, seed,
                      best.stream.interval_ns, ours.stream.interval_ns);
        ad_search_result_fini(&ours);
        ad_search_result_fini(&best);
        ad_fixture_fini(&p);
    }
}
END_TEST

/* From a plan the search begins there: it is at least as good, and looks at little else. */
START_TEST(a_start_can_be_given)
{
    struct problem p;
    struct ad_search_result bands, after, alone;
    ad_fixture_small(&p, 3);
    p.problem.objective = AD_OBJECTIVE_THROUGHPUT;
    ad_fixture_run(&p, "bbgrap", &bands);
    ad_fixture_run(&p, "dn2pciot", &alone);
    p.problem.from = &bands.assignment;
    ad_fixture_run(&p, "dn2pciot", &after);
    ck_assert_int_lt(after.stream.interval_ns, bands.stream.interval_ns);
    ck_assert_int_lt(after.visited, alone.visited);
    p.problem.from = NULL;
    struct ad_assignment from = alone.assignment;
    p.problem.from = &from;
    ad_search_result_fini(&after);
    ad_fixture_run(&p, "dn2pciot", &after);
    ck_assert_int_le(after.stream.interval_ns, alone.stream.interval_ns);
    ad_search_result_fini(&bands);
    ad_search_result_fini(&alone);
    ad_search_result_fini(&after);
    ad_fixture_fini(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dn2pciot");
    TCase *tcase = tcase_create("dn2pciot");
    tcase_set_timeout(tcase, 240);
    tcase_add_loop_test(tcase, ops_become_vertices_and_back, 0, 4);
    tcase_add_test(tcase, edges_are_what_bands_read);
    tcase_add_test(tcase, memory_limits_are_kept);
    tcase_add_test(tcase, objectives_differ);
    tcase_add_loop_test(tcase, auto_is_no_slower, 0, 3);
    tcase_add_test(tcase, a_start_can_be_given);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
