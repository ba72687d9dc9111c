#include "support/search_fixture.h"

#include <check.h>
#include <stdio.h>

void ad_fixture_devices(struct ad_cluster *c, int n)
{
    ck_assert_int_eq(ad_cluster_init(c, n, NULL), ADAPS_OK);
    for (int d = 0; d < n; d++)
        snprintf(c->devices[d].name, sizeof c->devices[d].name, "dev%d", d);
}

void ad_fixture_fill(struct problem *p)
{
    struct adaps_error err = {0};
    ck_assert_msg(ad_blocks_find(p->graph, &p->blocks, &err) == ADAPS_OK, "%s", err.message);
    p->problem = (struct ad_search_problem){.graph = p->graph,
                                            .blocks = &p->blocks,
                                            .cluster = &p->cluster,
                                            .threshold = 0.15,
                                            .split_h = true,
                                            .split_w = true,
                                            .split_c = true};
}

void ad_fixture_fini(struct problem *p)
{
    ad_blocks_fini(&p->blocks);
    ad_cluster_fini(&p->cluster);
    ad_graph_free(p->graph);
}

struct ad_graph *ad_fixture_random_graph(uint64_t seed)
{
    struct ad_random_graph_options options = {.ops = 3 + (int)(seed % 9),
                                              .max_hw = seed % 3 == 0 ? 40 : 18,
                                              .max_c = 20,
                                              .batch = seed % 13 == 0 ? 2 : 1,
                                              .outputs = seed % 4 == 0,
                                              .wild = seed % 9 == 0,
                                              .spatial = seed % 7 == 0,
                                              .chain = seed % 5 == 0};
    struct ad_graph *graph;
    struct adaps_error err = {0};
    ck_assert_msg(ad_random_graph(seed, &options, &graph, &err) == ADAPS_OK, "%s", err.message);
    return graph;
}

void ad_fixture_random(struct problem *p, uint64_t seed)
{
    struct ad_rng rng = {seed ^ 0xba5e};
    p->graph = ad_fixture_random_graph(seed);
    int n = 1 + (int)ad_rng_below(&rng, 5);
    ad_fixture_devices(&p->cluster, n);
    double slow = ad_rng_below(&rng, 2) ? 1e-3 : 1;
    for (int d = 0; d < n; d++) {
        p->cluster.devices[d].speed = slow * (1 + ad_rng_below(&rng, 20)) / 10;
        p->cluster.devices[d].table.constant_s = 1e-6 * ad_rng_below(&rng, 10);
    }
    for (int i = 0; i < n * n; i++)
        p->cluster.links[i] =
            (struct ad_link){1e6 * (1 + ad_rng_below(&rng, 200)), 1e-6 * ad_rng_below(&rng, 300)};
    p->cluster.devices[0].source = false;
    p->cluster.source = (int)ad_rng_below(&rng, (uint32_t)n);
    p->cluster.devices[p->cluster.source].source = true;
    p->cluster.shared_medium = ad_rng_below(&rng, 4) == 0;
    ad_fixture_fill(p);
}

void ad_fixture_small(struct problem *p, int ndevices)
{
    struct ad_builder b;
    struct adaps_error err = {0};
    int64_t flat[2] = {1, 32 * 32 * 16};
    ad_build_init(&b, 9);
    int x = ad_build_input(&b, 1, 64, 64, 3);
    for (int i = 0; i < 4; i++) {
        x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 16);
        if (i == 1)
            x = ad_build_pool(&b, AD_OP_MAXPOOL, x, ad_window_square(2, 2, 1, 0, 0));
    }
    x = ad_build_reshape(&b, x, 2, flat, true);
    x = ad_build_fc(&b, x, 40);
    ad_build_output(&b, ad_build_softmax(&b, x));
    ck_assert_msg(ad_build_finish(&b, &p->graph, &err) == ADAPS_OK, "%s", err.message);
    ad_fixture_devices(&p->cluster, ndevices);
    for (int d = 0; d < ndevices; d++)
        p->cluster.devices[d].speed = d == 0 ? 0.02 : 0.01;
    ad_fixture_fill(p);
}

void ad_fixture_run(const struct problem *p, const char *name, struct ad_search_result *r)
{
    struct adaps_error err = {0};
    const struct ad_strategy *strategy = ad_strategy_find(name);
    ck_assert_msg(strategy != NULL, "%s", name);
    ck_assert_msg(ad_search_run(strategy, &p->problem, r, &err) == ADAPS_OK, "%s: %s", name,
                  err.message);
    ck_assert_msg(ad_schedule_verify(ad_search_result_graph(&p->problem, r), &r->schedule,
                                     p->cluster.source, &err) == ADAPS_OK,
                  "%s: %s", name, err.message);
}

void ad_fixture_without_memory(const struct problem *p, const char *name)
{
    struct ad_search_result r;
    enum adaps_status status = ADAPS_EINTERNAL;
    for (long n = 1; status != ADAPS_OK; n += n < 400 ? 1 : 97) {
        struct adaps_error err = {0};
        ad_mem_fail_after(n);
        status = ad_search_run(ad_strategy_find(name), &p->problem, &r, &err);
        ad_mem_fail_after(0);
        ck_assert_msg(status == ADAPS_OK || status == ADAPS_EINTERNAL, "%s", err.message);
    }
    ad_search_result_fini(&r);
}

struct ad_region ad_fixture_task_region(const struct ad_schedule *s, int op, int device)
{
    const struct ad_program *p = &s->programs[device];
    struct ad_region r = ad_region_none();
    for (int t = 0; t < p->ntasks; t++)
        if (p->tasks[t].op == op)
            r = ad_region_hull(r, p->tasks[t].region);
    return r;
}

bool ad_fixture_overlaps(const struct ad_schedule *s, int op)
{
    for (int a = 0; a < s->ndevices; a++)
        for (int b = 0; b < a; b++)
            if (!ad_region_empty(ad_region_intersect(ad_fixture_task_region(s, op, a),
                                                     ad_fixture_task_region(s, op, b))))
                return true;
    return false;
}

void ad_fixture_chain(struct problem *p, int n, int k, int ndevices, const int32_t *cut,
                      struct ad_assignment *a)
{
    struct ad_builder b;
    struct adaps_error err = {0};
    ad_build_init(&b, 3);
    int x = ad_build_input(&b, 1, 8, 8, 4);
    for (int i = 0; i < n; i++)
        x = ad_build_conv(&b, x, ad_window_square(k, 1, 1, k / 2, k / 2), 1, 4);
    ad_build_output(&b, x);
    ck_assert_msg(ad_build_finish(&b, &p->graph, &err) == ADAPS_OK, "%s", err.message);
    ad_fixture_devices(&p->cluster, ndevices);
    for (int d = 0; d < ndevices; d++) {
        p->cluster.devices[d].table.rate[AD_COST_CONV] = 1.28e8; /* 1x1: a row is 1 us */
        p->cluster.devices[d].table.memory_bw = 1e9;
        p->cluster.devices[d].table.constant_s = 1e-6;
    }
    ad_cluster_override_links(&p->cluster, 1e8, 0);
    ck_assert_int_eq(ad_assignment_init(a, n, ndevices, NULL), ADAPS_OK);
    for (int i = 0; i < n; i++)
        for (int d = 0; d < ndevices; d++)
            *ad_assigned(a, i, d) = (struct ad_region){cut[d], cut[d + 1], 0, 8, 0, 4};
    ad_fixture_fill(p);
}
