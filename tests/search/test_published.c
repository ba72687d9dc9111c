/* The published strategies: what is typical of each, exchanges through a hub, the same bits as one
 * device alone; EdgeFlow's linear programme against enumeration. */
#include "exec/engine/engine.h"
#include "ir/partial.h"
#include "support/fused.h"
#include "support/plan_fixture.h"
#include "support/run_suite.h"
#include "support/sanitized.h"
#include "search/published/edgeflow.h"
#include "support/search_fixture.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Every message has the hub at one end. */
static void check_star(const struct ad_schedule *s, int hub)
{
    for (int d = 0; d < s->ndevices; d++)
        for (int i = 0; i < s->programs[d].nsteps; i++) {
            const struct ad_step *step = &s->programs[d].steps[i];
            ck_assert(step->kind == AD_STEP_COMPUTE || d == hub || step->peer == hub);
        }
}

/* --- the same bits --- */

static void random_inputs(const struct ad_graph *graph, uint64_t seed, struct ad_tensor *inputs)
{
    struct ad_rng rng = {seed};
    for (int i = 0; i < graph->ninputs; i++) {
        const struct ad_value *v = &graph->values[graph->inputs[i]];
        ck_assert_int_eq(ad_tensor_init(&inputs[i], v->rank, v->dims, NULL), ADAPS_OK);
        for (size_t k = 0; k < inputs[i].count; k++)
            inputs[i].data[k] = ad_rng_float(&rng);
    }
}

static void free_tensors(struct ad_tensor *tensors, int n)
{
    for (int i = 0; i < n; i++)
        ad_tensor_fini(&tensors[i]);
}

/* Runs the plan and the whole graph on one device of the plan's own; both must agree in every bit.
 */
static void check_bits(const struct adaps_plan *plan, const struct ad_graph *again,
                       const char *what, uint64_t seed)
{
    struct ad_tensor inputs[4], split[16], whole[16];
    struct adaps_plan *single = NULL;
    struct adaps_error err = {0};
    ck_assert_msg(ad_plan_single(plan, &single, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_msg(ad_plan_check_weights(single, again, &err) == ADAPS_OK, "%s", err.message);
    random_inputs(plan->graph, seed, inputs);
    ck_assert_msg(ad_fixture_infer(plan, plan->graph, 1, inputs, split, &err) == ADAPS_OK,
                  "%s, seed %ju: %s", what, (uintmax_t)seed, err.message);
    ck_assert_msg(ad_fixture_infer(single, again, 1, inputs, whole, &err) == ADAPS_OK, "%s",
                  err.message);
    for (int i = 0; i < plan->graph->noutputs; i++) {
        struct ad_difference d = ad_tensor_compare(split[i].data, whole[i].data, whole[i].count);
        ck_assert_msg(d.differ == 0 && d.elements > 0, "%s, seed %ju: %zu of %zu differ", what,
                      (uintmax_t)seed, d.differ, d.elements);
    }
    free_tensors(inputs, plan->graph->ninputs);
    free_tensors(split, plan->graph->noutputs);
    free_tensors(whole, plan->graph->noutputs);
    adaps_plan_free(single);
}

static void check_strategy_bits(const char *name, uint64_t seed)
{
    struct problem p;
    struct ad_search_result r;
    struct adaps_plan *plan = NULL;
    struct adaps_error err = {0};
    ad_fixture_random(&p, seed);
    ad_fixture_run(&p, name, &r);
    const struct ad_provenance provenance = {.model_path = "m.onnx", .strategy = name, .u8 = r.u8};
    struct ad_graph *again = ad_fixture_random_graph(seed), *partial;
    if (r.graph) {
        ck_assert_int_eq(ad_graph_partial_like(again, r.graph, &partial, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_partial_replace(&again, partial, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_partial_replace(&p.graph, r.graph, NULL), ADAPS_OK);
        r.graph = NULL;
    }
    ck_assert_msg(ad_plan_make(p.graph, &p.cluster, &r.schedule, &provenance, &plan, &err) ==
                      ADAPS_OK,
                  "%s", err.message);
    check_bits(plan, again, name, seed);
    ad_graph_free(again);
    adaps_plan_free(plan);
    ad_search_result_fini(&r);
    ad_blocks_fini(&p.blocks);
}

START_TEST(every_strategy_gives_the_same_bits)
{
    for (uint64_t seed = (uint64_t)_i * 10; seed < (uint64_t)_i * 10 + 10; seed++)
        for (const struct ad_strategy *s = ad_strategies; s->name && !s->small; s++)
            check_strategy_bits(s->name, seed);
}
END_TEST

/* --- hub --- */

/* Bands, columns, channels, grids or whole, cut anywhere. */
static void random_assignment(const struct ad_graph *graph, struct ad_rng *rng,
                              struct ad_assignment *a)
{
    for (int i = 0; i < graph->nops; i++) {
        struct ad_region whole = ad_region_whole(&graph->values[graph->ops[i].output]);
        int32_t lo = 0;
        uint32_t mode = ad_rng_below(rng, 5), at = ad_rng_below(rng, (uint32_t)a->ndevices);
        int32_t size = mode == 1 ? whole.w1 : mode == 2 ? whole.c1 : whole.h1;
        for (int d = 0; d < a->ndevices; d++) {
            struct ad_region r = whole;
            int32_t hi = d + 1 == a->ndevices
                             ? size
                             : lo + (int32_t)ad_rng_below(rng, (uint32_t)(size - lo) + 1);
            if (mode == 0)
                r = d == (int)at ? whole : ad_region_none();
            else if (mode == 1)
                r.w0 = lo, r.w1 = hi;
            else if (mode == 2)
                r.c0 = lo, r.c1 = hi;
            else
                r.h0 = lo, r.h1 = hi;
            lo = hi;
            *ad_assigned(a, i, d) =
                ad_region_allow(graph, &graph->ops[i], ad_region_empty(r) ? ad_region_none() : r);
        }
    }
}

/* What the hub receives of a value, it receives once, and has not computed. */
static void check_hub_receives_once(const struct ad_graph *graph, const struct ad_schedule *s,
                                    int hub)
{
    for (int v = 0; v < graph->nvalues; v++) {
        struct ad_region_set got = {0};
        int64_t elements = 0;
        if (graph->values[v].producer >= 0)
            ck_assert(
                ad_region_set_add(&got, ad_fixture_task_region(s, graph->values[v].producer, hub)));
        elements += ad_region_elements(ad_region_set_hull(&got));
        for (int i = 0; i < s->programs[hub].nsteps; i++) {
            const struct ad_step *step = &s->programs[hub].steps[i];
            if (step->kind != AD_STEP_RECV || step->value != v)
                continue;
            elements += ad_region_elements(step->region);
            ck_assert(ad_region_set_add(&got, step->region));
        }
        int64_t covered = 0;
        for (size_t i = 0; i < got.count; i++)
            covered += ad_region_elements(got.boxes[i]);
        ck_assert_int_eq(covered, elements);
        ad_region_set_fini(&got);
    }
}

START_TEST(hub_on_random_graphs)
{
    for (uint64_t seed = (uint64_t)_i * 40; seed < (uint64_t)_i * 40 + 40; seed++) {
        struct problem p;
        struct ad_search_result r = {0};
        struct adaps_plan *plan = NULL;
        struct adaps_error err = {0};
        struct ad_rng rng = {seed + 77};
        const struct ad_provenance provenance = {.model_path = "m", .strategy = "hub"};
        ad_fixture_random(&p, seed);
        int n = p.cluster.ndevices;
        ck_assert_int_eq(ad_assignment_init(&r.assignment, p.graph->nops, n, NULL), ADAPS_OK);
        ck_assert_int_eq(r.assignment.hub, -1);
        random_assignment(p.graph, &rng, &r.assignment);
        int hub = (int)ad_rng_below(&rng, (uint32_t)n);
        r.assignment.hub = hub;
        ck_assert_msg(ad_schedule_build(p.graph, &p.cluster, &r.assignment, &r.schedule, &err) ==
                          ADAPS_OK,
                      "seed %ju: %s", (uintmax_t)seed, err.message);
        ck_assert_msg(ad_schedule_verify(p.graph, &r.schedule, p.cluster.source, &err) == ADAPS_OK,
                      "seed %ju: %s", (uintmax_t)seed, err.message);
        check_star(&r.schedule, hub);
        check_hub_receives_once(p.graph, &r.schedule, hub);
        ck_assert_msg(ad_plan_make(p.graph, &p.cluster, &r.schedule, &provenance, &plan, &err) ==
                          ADAPS_OK,
                      "%s", err.message);
        struct ad_graph *again = ad_fixture_random_graph(seed);
        check_bits(plan, again, "hub", seed);
        ad_graph_free(again);
        adaps_plan_free(plan);
        ad_assignment_fini(&r.assignment);
        ad_blocks_fini(&p.blocks);
    }
}
END_TEST

struct hop {
    int from, to, op; /* -1: the input */
    int32_t h0, h1;
};

static bool sends(const struct ad_graph *graph, const struct ad_schedule *s, struct hop hop)
{
    int value = hop.op < 0 ? graph->inputs[0] : graph->ops[hop.op].output;
    for (int i = 0; i < s->programs[hop.from].nsteps; i++) {
        const struct ad_step *step = &s->programs[hop.from].steps[i];
        if (step->kind == AD_STEP_SEND && step->peer == hop.to && step->value == value &&
            step->region.h0 == hop.h0 && step->region.h1 == hop.h1)
            return true;
    }
    return false;
}

/* Between the convolutions device 1 (rows 3:6) lacks row 2, which the hub has, and row 6 of device
 * 2; device 2 lacks row 5 of device 1; the hub itself row 3 of device 1. */
START_TEST(hub_by_hand)
{
    static const struct hop want[] = {
        {0, 1, -1, 2, 7}, {0, 2, -1, 5, 8}, {1, 0, 0, 3, 4}, {1, 0, 0, 5, 6}, {2, 0, 0, 6, 7},
        {0, 1, 0, 2, 3},  {0, 1, 0, 6, 7},  {0, 2, 0, 5, 6}, {1, 0, 1, 3, 6}, {2, 0, 1, 6, 8}};
    int n = sizeof want / sizeof *want, rows = 0;
    struct problem p;
    struct ad_assignment a;
    struct ad_schedule s;
    struct adaps_error err = {0};
    ad_fixture_chain(&p, 2, 3, 3, (int32_t[]){0, 3, 6, 8}, &a);
    a.hub = 0;
    ck_assert_msg(ad_schedule_build(p.graph, &p.cluster, &a, &s, &err) == ADAPS_OK, "%s",
                  err.message);
    ck_assert_int_eq(ad_schedule_verify(p.graph, &s, 0, &err), ADAPS_OK);
    for (int i = 0; i < n; i++) {
        ck_assert_msg(sends(p.graph, &s, want[i]), "%d to %d, op %d, rows %d:%d", want[i].from,
                      want[i].to, want[i].op, want[i].h0, want[i].h1);
        rows += want[i].h1 - want[i].h0;
    }
    ck_assert_int_eq(s.messages, n);
    ck_assert_int_eq(s.bytes, rows * 128);
    ad_schedule_fini(&s);
    a.hub = 3;
    ck_assert_int_eq(ad_schedule_build(p.graph, &p.cluster, &a, &s, &err), ADAPS_EINTERNAL);
    ck_assert_msg(strstr(err.message, "hub 3"), "%s", err.message);
    ad_assignment_fini(&a);
    ad_fixture_fini(&p);
}
END_TEST

/* --- strategies --- */

START_TEST(layer_by_layer_outputs_do_not_overlap)
{
    static const char *const names[] = {"edgeflow", "bbgrap", "modnn", "coedge"};
    struct problem p;
    struct ad_search_result r;
    ad_fixture_small(&p, 4);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        ad_fixture_run(&p, names[k], &r);
        for (int i = 0; i < p.graph->nops; i++)
            ck_assert_msg(!ad_fixture_overlaps(&r.schedule, i), "%s, op %d", names[k], i);
        ad_search_result_fini(&r);
    }
    ad_fixture_fini(&p);
}
END_TEST

START_TEST(bbgrap_is_equal)
{
    struct problem p;
    struct ad_search_result r;
    ad_fixture_small(&p, 4);
    p.cluster.devices[3].speed = 1e-4; /* of no account */
    ad_fixture_run(&p, "bbgrap", &r);
    for (int d = 0; d < 4; d++) {
        struct ad_region first = ad_fixture_task_region(&r.schedule, 0, d);
        ck_assert_int_eq(first.h0, 16 * d);
        ck_assert_int_eq(first.h1, 16 * (d + 1));
        struct ad_region dense = ad_fixture_task_region(&r.schedule, 6, d);
        ck_assert_int_eq(dense.c1 - dense.c0, 10);
        ck_assert_int_eq(ad_region_empty(ad_fixture_task_region(&r.schedule, 5, d)),
                         d != p.cluster.source);
    }
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* A map wider than high: columns by speed, through the source. */
START_TEST(modnn_takes_the_longer_edge)
{
    struct problem p;
    struct ad_search_result r;
    struct ad_builder b;
    ad_build_init(&b, 1);
    int x = ad_build_input(&b, 1, 16, 40, 3);
    x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 8);
    ad_build_output(&b, ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 8));
    ck_assert_int_eq(ad_build_finish(&b, &p.graph, NULL), ADAPS_OK);
    ad_fixture_devices(&p.cluster, 3);
    p.cluster.devices[1].speed = 2;
    ad_fixture_fill(&p);
    ad_fixture_run(&p, "modnn", &r);
    static const int32_t cut[] = {0, 10, 30, 40};
    for (int i = 0; i < 2; i++)
        for (int d = 0; d < 3; d++)
            ck_assert(ad_region_equal(ad_fixture_task_region(&r.schedule, i, d),
                                      (struct ad_region){0, 16, cut[d], cut[d + 1], 0, 8}));
    ck_assert_int_eq(r.assignment.hub, p.cluster.source);
    check_star(&r.schedule, p.cluster.source);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* Speeds 8 : 4 : 1 and 20 rows: 12, 6 and 2 rows for a 1x1; the 7x7 has a halo of 3, so the last is
 * dropped there and its rows go to the others. */
START_TEST(coedge_drops_the_slow)
{
    struct problem p;
    struct ad_search_result r;
    struct ad_builder b;
    ad_build_init(&b, 1);
    int x = ad_build_input(&b, 1, 20, 20, 4);
    x = ad_build_conv(&b, x, ad_window_square(1, 1, 1, 0, 0), 1, 8);
    ad_build_output(&b, ad_build_conv(&b, x, ad_window_square(7, 1, 1, 3, 3), 1, 8));
    ck_assert_int_eq(ad_build_finish(&b, &p.graph, NULL), ADAPS_OK);
    ad_fixture_devices(&p.cluster, 3);
    for (int d = 0; d < 3; d++)
        p.cluster.devices[d].speed = d == 0 ? 8 : d == 1 ? 4 : 1;
    ad_fixture_fill(&p);
    ad_fixture_run(&p, "coedge", &r);
    static const int32_t rows[2][3] = {{12, 6, 2}, {13, 7, 0}};
    for (int i = 0; i < 2; i++)
        for (int d = 0; d < 3; d++) {
            struct ad_region got = ad_fixture_task_region(&r.schedule, i, d);
            ck_assert_msg(got.h1 - got.h0 == rows[i][d], "op %d, device %d: %d rows", i, d,
                          got.h1 - got.h0);
        }
    check_star(&r.schedule, p.cluster.source);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* Columns; what is exchanged is cut without overlap, what overlaps is not exchanged. */
START_TEST(deepslicing_groups)
{
    struct problem p;
    struct ad_search_result r;
    bool fused = false;
    ad_fixture_small(&p, 4);
    for (int i = 0; i < 16; i++)
        p.cluster.links[i].latency = 5e-3; /* few exchanges are better */
    ad_fixture_run(&p, "deepslicing", &r);
    check_star(&r.schedule, p.cluster.source);
    ck_assert_int_eq(r.visited, 4); /* 1, 2, 4 of 5 convolutions and pools, all in one */
    for (int i = 0; i < 5; i++) {
        fused = fused || ad_fixture_overlaps(&r.schedule, i);
        for (int d = 0; d < 4; d++) {
            struct ad_region got = ad_fixture_task_region(&r.schedule, i, d);
            ck_assert_int_eq(got.h1 - got.h0, i < 2 ? 64 : 32);
            ck_assert_int_gt(got.w1, got.w0);
        }
    }
    ck_assert(fused);
    for (int d = 0; d < 4; d++)
        for (int i = 0; i < r.schedule.programs[d].nsteps; i++) {
            const struct ad_step *step = &r.schedule.programs[d].steps[i];
            int producer =
                step->kind == AD_STEP_COMPUTE ? -1 : p.graph->values[step->value].producer;
            ck_assert(producer < 0 || !ad_fixture_overlaps(&r.schedule, producer));
        }
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* A 2 x 2 grid up to the last map; only the input and that map travel; the rest on the gateway. */
START_TEST(deepthings_tiles)
{
    struct problem p;
    struct ad_search_result r;
    ad_fixture_small(&p, 4);
    ad_fixture_run(&p, "deepthings", &r);
    for (int d = 0; d < 4; d++) {
        int32_t h = d / 2 * 16, w = d % 2 * 16;
        ck_assert(ad_region_equal(ad_fixture_task_region(&r.schedule, 4, d),
                                  (struct ad_region){h, h + 16, w, w + 16, 0, 16}));
        struct ad_region before = ad_fixture_task_region(&r.schedule, 3, d);
        ck_assert_int_eq(before.h1 - before.h0, 17); /* with its halo */
        ck_assert_int_eq(before.w1 - before.w0, 17);
        for (int i = 5; i < p.graph->nops; i++)
            ck_assert_int_eq(ad_region_empty(ad_fixture_task_region(&r.schedule, i, d)), d != 0);
    }
    ck_assert_int_eq(r.schedule.messages, 3 + 3);
    check_star(&r.schedule, 0);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* Three convolutions after each other whose weights outweigh their maps, so that no tiles are worth
 * it: by output, by input, by output. */
static void heavy_layers(struct problem *p, int ndevices)
{
    struct ad_builder b;
    struct adaps_error err = {0};
    ad_build_init(&b, 9);
    int x = ad_build_input(&b, 1, 4, 4, 256);
    for (int i = 0; i < 3; i++)
        x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 256);
    ad_build_output(&b, x);
    ck_assert_msg(ad_build_finish(&b, &p->graph, &err) == ADAPS_OK, "%s", err.message);
    ad_fixture_devices(&p->cluster, ndevices);
    ad_fixture_fill(p);
    ad_cluster_override_links(&p->cluster, 1e10, 0);
}

/* Elements of a value that a device receives. */
static int64_t received(const struct ad_schedule *s, int value, int device)
{
    int64_t elements = 0;
    for (int i = 0; i < s->programs[device].nsteps; i++) {
        const struct ad_step *step = &s->programs[device].steps[i];
        if (step->kind == AD_STEP_RECV && step->value == value)
            elements += ad_region_elements(step->region);
    }
    return elements;
}

/* The second layer reads only what the device made of the first; each device has the weights of its
 * own blocks, and sends one map of each sum but for its own rows. */
START_TEST(deeperthings_pairs)
{
    struct problem p;
    struct ad_search_result r;
    heavy_layers(&p, 4);
    ad_fixture_run(&p, "deeperthings", &r);
    ck_assert_ptr_nonnull(r.graph);
    const struct ad_graph *g = r.graph;
    static const enum ad_op_kind kinds[] = {AD_OP_CONV, AD_OP_CONV, AD_OP_FOLD,
                                            AD_OP_FOLD, AD_OP_FOLD, AD_OP_CONV};
    ck_assert_int_eq(g->nops, 6);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(g->ops[i].kind, kinds[i]);
    ck_assert_int_eq(g->ops[1].partial, 8);
    for (int d = 0; d < 4; d++) {
        struct ad_region first = ad_fixture_task_region(&r.schedule, 0, d),
                         sums = ad_fixture_task_region(&r.schedule, 1, d);
        ck_assert(ad_region_equal(first, (struct ad_region){0, 4, 0, 4, 64 * d, 64 * d + 64}));
        ck_assert(ad_region_equal(sums, (struct ad_region){0, 4, 0, 4, 512 * d, 512 * d + 512}));
        ck_assert_int_eq(received(&r.schedule, g->ops[0].output, d), 0);
        ck_assert_int_eq(received(&r.schedule, g->ops[1].output, d), 0);
        /* its row of the maps of three others */
        ck_assert_int_eq(received(&r.schedule, g->ops[2].output, d), 3 * 4 * 256);
        ck_assert_int_eq(received(&r.schedule, g->ops[4].output, d), 12 * 256);
    }
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* A layer that is longer than all others together is divided, the others are not; a dense layer
 * that no device can hold is divided even if links are slow. */
START_TEST(collaborative_divides)
{
    struct problem p;
    struct ad_search_result r;
    struct ad_builder b;
    struct adaps_error err = {0};
    ad_build_init(&b, 9);
    int x = ad_build_input(&b, 1, 16, 16, 4);
    x = ad_build_conv(&b, x, ad_window_square(1, 1, 1, 0, 0), 1, 64);
    x = ad_build_conv(&b, x, ad_window_square(5, 1, 1, 2, 2), 1, 64);
    x = ad_build_conv(&b, x, ad_window_square(1, 1, 1, 0, 0), 1, 4);
    x = ad_build_reshape(&b, x, 2, (int64_t[]){1, 1024}, true);
    ad_build_output(&b, ad_build_fc(&b, x, 2048));
    ck_assert_msg(ad_build_finish(&b, &p.graph, &err) == ADAPS_OK, "%s", err.message);
    ad_fixture_devices(&p.cluster, 6);
    ad_fixture_fill(&p);
    ad_cluster_override_links(&p.cluster, 1e11, 0);
    p.problem.objective = AD_OBJECTIVE_THROUGHPUT;
    for (int memory = 0; memory < 2; memory++) {
        int computing[2] = {0};
        for (int d = 0; d < 6; d++)
            p.cluster.devices[d].memory = memory ? 6 << 20 : 0; /* of 8 MiB for the dense layer */
        if (memory)
            ad_cluster_override_links(&p.cluster, 1e7, 0);
        ad_fixture_run(&p, "collaborative", &r);
        const struct ad_graph *g = ad_search_result_graph(&p.problem, &r);
        for (int i = 0; i < g->nops; i++)
            for (int d = 0; d < 6; d++)
                if (!ad_region_empty(ad_fixture_task_region(&r.schedule, i, d))) {
                    computing[0] += g->ops[i].window.kh == 5;
                    computing[1] += g->ops[i].kind == AD_OP_FC;
                }
        ck_assert_int_ge(computing[memory], 2);
        ck_assert_int_le(r.stream.interval_ns, r.schedule.makespan_ns);
        ad_search_result_fini(&r);
    }
    ad_fixture_fini(&p);
}
END_TEST

/* With quick links every layer is cut by speed. */
START_TEST(edgeflow_by_speed)
{
    struct problem p;
    struct ad_search_result r;
    ad_fixture_small(&p, 3); /* speeds 2 : 1 : 1 */
    ad_cluster_override_links(&p.cluster, 1e12, 0);
    ad_fixture_run(&p, "edgeflow", &r);
    static const int32_t cut[] = {0, 32, 48, 64};
    for (int d = 0; d < 3; d++) {
        struct ad_region got = ad_fixture_task_region(&r.schedule, 0, d);
        ck_assert_int_eq(got.h0, cut[d]);
        ck_assert_int_eq(got.h1, cut[d + 1]);
    }
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* --- EdgeFlow's programme --- */

#define LP_DEVICES 3
#define LP_GRID 8 /* points per row */

struct layer {
    struct ad_edgeflow_layer layer;
    struct ad_edgeflow_input inputs[2];
    double owned[2][LP_DEVICES + 1], row_s[LP_DEVICES];
    double bandwidth[LP_DEVICES * LP_DEVICES];
};

static double uniform(struct ad_rng *rng, double lo, double hi)
{
    return lo + (hi - lo) * (double)ad_rng_below(rng, 1000001) / 1e6;
}

static void random_layer(struct layer *l, uint64_t seed)
{
    struct ad_rng rng = {seed};
    l->layer = (struct ad_edgeflow_layer){.ndevices = LP_DEVICES,
                                          .rows = 3 + ad_rng_below(&rng, 8),
                                          .ninputs = 1 + (int)ad_rng_below(&rng, 2),
                                          .inputs = l->inputs,
                                          .row_s = l->row_s,
                                          .bandwidth = l->bandwidth};
    for (int d = 0; d < LP_DEVICES; d++)
        l->row_s[d] = uniform(&rng, 1e-4, 1e-3);
    for (int i = 0; i < LP_DEVICES * LP_DEVICES; i++)
        l->bandwidth[i] = uniform(&rng, 1e5, 1e7);
    for (int k = 0; k < l->layer.ninputs; k++) {
        struct ad_edgeflow_input *in = &l->inputs[k];
        double stride = 1 + ad_rng_below(&rng, 2), lead = ad_rng_below(&rng, 3);
        *in = (struct ad_edgeflow_input){.at = (int)ad_rng_below(&rng, LP_DEVICES),
                                         .stride = stride,
                                         .lead = lead,
                                         .tail = ad_rng_below(&rng, 3) - lead / 2,
                                         .row_bytes = uniform(&rng, 10, 4000)};
        double size = l->layer.rows * stride, a = floor(uniform(&rng, 0, size + 0.9)),
               b = floor(uniform(&rng, 0, size + 0.9));
        double owned[] = {0, fmin(a, b), fmax(a, b), size};
        memcpy(l->owned[k], owned, sizeof owned);
        in->owned = ad_rng_below(&rng, 4) ? l->owned[k] : NULL;
    }
}

/* When the last device is done. */
static double last_done(const struct layer *l, const double *cuts)
{
    double last = 0;
    for (int d = 0; d < LP_DEVICES; d++)
        last = fmax(last, ad_edgeflow_seconds(&l->layer, d, cuts[d], cuts[d + 1]));
    return last;
}

/* As the programme has it: a device without rows, too, pays for the halo of a part that is almost
 * none. */
static double relaxed_done(const struct layer *l, const double *cuts)
{
    double last = 0;
    for (int d = 0; d < LP_DEVICES; d++) {
        double tiny = 1e-9; /* rows */
        last = fmax(last,
                    ad_edgeflow_seconds(&l->layer, d, cuts[d], fmax(cuts[d + 1], cuts[d] + tiny)));
    }
    return last;
}

/* The optimum of all cuts at 1/LP_GRID rows, by enumeration. */
static double enumerate(const struct layer *l)
{
    int n = (int)(l->layer.rows * LP_GRID);
    double best = INFINITY;
    for (int a = 0; a <= n; a++)
        for (int b = a; b <= n; b++) {
            double cuts[] = {0, (double)a / LP_GRID, (double)b / LP_GRID, l->layer.rows};
            best = fmin(best, relaxed_done(l, cuts));
        }
    return best;
}

START_TEST(programme_against_enumeration)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct layer l;
        struct adaps_error err = {0};
        double cuts[LP_DEVICES + 1], seconds, steepest = 0;
        random_layer(&l, seed);
        ck_assert_msg(ad_edgeflow_layer_solve(&l.layer, cuts, &seconds, &err) == ADAPS_OK,
                      "seed %ju: %s", (uintmax_t)seed, err.message);
        ck_assert(cuts[0] == 0 && fabs(cuts[LP_DEVICES] - l.layer.rows) < 1e-9);
        for (int d = 0; d < LP_DEVICES; d++) {
            double slope = l.row_s[d];
            ck_assert(cuts[d + 1] >= cuts[d] - 1e-6);
            for (int k = 0; k < l.layer.ninputs; k++)
                slope += l.inputs[k].stride * l.inputs[k].row_bytes / 1e5;
            steepest = fmax(steepest, slope);
        }
        double grid = enumerate(&l);
        /* the optimum is no worse than any grid point, and a grid point is near it */
        ck_assert_msg(seconds <= grid * (1 + 1e-4), "seed %ju: %g s, enumerated %g s",
                      (uintmax_t)seed, seconds, grid);
        ck_assert_msg(seconds >= grid - 2 * steepest / LP_GRID, "seed %ju: %g s, enumerated %g s",
                      (uintmax_t)seed, seconds, grid);
        /* cuts are rounded to 1/16384 of a row */
        ck_assert_msg(fabs(relaxed_done(&l, cuts) - seconds) <= 1e-4 * seconds + steepest / 8192,
                      "seed %ju: %g s, but the cuts take %g s", (uintmax_t)seed, seconds,
                      relaxed_done(&l, cuts));
        ck_assert(last_done(&l, cuts) <= relaxed_done(&l, cuts) + 1e-9);
    }
}
END_TEST

/* An input whole on device 0, three equal devices: what the links cost decides. Links that take as
 * long per row as computing it: 1 : 1/2 : 1/2; and nothing for a device behind a link that takes a
 * thousand times as long. */
/* Links from a byte a second to ten terabytes, at a stone's throw or a second away: there is always
 * a plan. */
START_TEST(edgeflow_on_any_links)
{
    for (uint64_t seed = (uint64_t)_i * 20; seed < (uint64_t)_i * 20 + 20; seed++) {
        struct problem p;
        struct ad_search_result r;
        ad_fixture_random(&p, seed + 1000);
        ad_cluster_override_links(&p.cluster, pow(10, (double)(seed % 14)),
                                  pow(10, -(double)(seed % 9)));
        ad_fixture_run(&p, "edgeflow", &r);
        ad_search_result_fini(&r);
        ad_fixture_fini(&p);
    }
}
END_TEST

START_TEST(programme_weighs_links)
{
    struct layer l;
    double cuts[LP_DEVICES + 1], seconds;
    random_layer(&l, 1);
    l.layer.rows = 64;
    l.layer.ninputs = 1;
    l.inputs[0] = (struct ad_edgeflow_input){.at = 0, .stride = 1, .row_bytes = 1000};
    for (int d = 0; d < LP_DEVICES; d++)
        l.row_s[d] = 1e-3;
    for (int i = 0; i < LP_DEVICES * LP_DEVICES; i++)
        l.bandwidth[i] = 1e6;
    ck_assert_int_eq(ad_edgeflow_layer_solve(&l.layer, cuts, &seconds, NULL), ADAPS_OK);
    ck_assert_double_eq_tol(cuts[1], 32, 1e-6);
    ck_assert_double_eq_tol(cuts[2], 48, 1e-6);
    ck_assert_double_eq_tol(seconds, 32e-3, 1e-8);
    l.bandwidth[0 * LP_DEVICES + 2] = 1e3;
    ck_assert_int_eq(ad_edgeflow_layer_solve(&l.layer, cuts, &seconds, NULL), ADAPS_OK);
    ck_assert_double_gt(cuts[2], 63.9);
    ck_assert_double_lt(cuts[2], 64);
}
END_TEST

/* Two convolutions beside each other, joined: where the join of type 3 is computed, per reading. */
START_TEST(type_3_is_split_or_gathered)
{
    static const char *const names[] = {"edgeflow", "bbgrap", "adaps"};
    const char *name = names[_i / 2];
    bool gather = _i % 2;
    struct problem p;
    struct ad_search_result r;
    struct ad_builder b;
    int devices = 0;
    ad_build_init(&b, 4);
    int x = ad_build_input(&b, 1, 64, 64, 3), sides[2];
    for (int i = 0; i < 2; i++)
        sides[i] = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 16);
    x = ad_build_concat(&b, sides, 2);
    ad_build_output(&b, ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 16));
    ck_assert_int_eq(ad_build_finish(&b, &p.graph, NULL), ADAPS_OK);
    ad_fixture_devices(&p.cluster, 3);
    for (int d = 0; d < 3; d++)
        p.cluster.devices[d].speed = 0.001;
    ad_fixture_fill(&p);
    p.problem.gather_type3 = gather;
    ad_fixture_run(&p, name, &r);
    ck_assert_int_eq(p.graph->ops[2].kind, AD_OP_CONCAT);
    for (int d = 0; d < 3; d++) {
        devices += !ad_region_empty(ad_fixture_task_region(&r.schedule, 2, d));
        for (int i = 0; i < 4; i += i == 0 ? 1 : 2) /* the convolutions are split either way */
            ck_assert_msg(!ad_region_empty(ad_fixture_task_region(&r.schedule, i, d)), "%s, op %d",
                          name, i);
    }
    ck_assert_msg(devices == (gather ? 1 : 3), "%s: on %d devices", name, devices);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("baselines");
    TCase *c = tcase_create("baselines");
    tcase_set_timeout(c, 240);
    tcase_add_loop_test(c, every_strategy_gives_the_same_bits, 0, sampled(4));
    tcase_add_loop_test(c, hub_on_random_graphs, 0, sampled(4));
    tcase_add_test(c, hub_by_hand);
    tcase_add_test(c, layer_by_layer_outputs_do_not_overlap);
    tcase_add_test(c, bbgrap_is_equal);
    tcase_add_test(c, modnn_takes_the_longer_edge);
    tcase_add_test(c, coedge_drops_the_slow);
    tcase_add_test(c, deepslicing_groups);
    tcase_add_test(c, deepthings_tiles);
    tcase_add_test(c, deeperthings_pairs);
    tcase_add_test(c, collaborative_divides);
    tcase_add_test(c, edgeflow_by_speed);
    tcase_add_test(c, programme_against_enumeration);
    tcase_add_test(c, programme_weighs_links);
    tcase_add_loop_test(c, edgeflow_on_any_links, 0, sampled(14));
    tcase_add_loop_test(c, type_3_is_split_or_gathered, 0, sampled(6));
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
