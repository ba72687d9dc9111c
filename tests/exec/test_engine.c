/* The engine against the naive interpreter, and split over devices against whole, bit for bit. */
#include "exec/engine/internal.h"
#include "fusion/region.h"
#include "support/plan_fixture.h"
#include "support/random_graph.h"
#include "support/reference.h"
#include "support/run_suite.h"
#include "support/sanitized.h"
#include "search/strategies/search.h"

#include <check.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- plans from assignments --- */

static int cut_point(struct ad_rng *rng, int64_t size)
{
    return (int)ad_rng_below(rng, (uint32_t)size + 1);
}

/* The part of device d of D when [0, size) is cut at sorted points. */
static void cut_axis(const int *cuts, int d, int ndevices, int64_t size, int32_t *lo, int32_t *hi)
{
    *lo = d == 0 ? 0 : cuts[d - 1];
    *hi = d == ndevices - 1 ? (int32_t)size : cuts[d];
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void random_cuts(struct ad_rng *rng, int64_t size, int n, int *cuts)
{
    for (int i = 0; i < n; i++)
        cuts[i] = cut_point(rng, size);
    qsort(cuts, (size_t)n, sizeof *cuts, ascending);
}

/* What each device computes of one op: whole somewhere, everywhere, or cut along h, w, c, h and w.
 */
static void assign_op(const struct ad_graph *graph, int index, struct ad_assignment *a,
                      struct ad_rng *rng)
{
    const struct ad_op *op = &graph->ops[index];
    struct ad_region whole = ad_region_whole(&graph->values[op->output]);
    int n = a->ndevices, cuts[8], mode = (int)ad_rng_below(rng, 12);
    int alone = (int)ad_rng_below(rng, (uint32_t)n);
    for (int d = 0; d < n; d++)
        *ad_assigned(a, index, d) = d == alone || mode == 0 ? whole : ad_region_none();
    if (mode <= 1)
        return;
    int64_t size = mode < 6 ? whole.h1 : mode < 8 ? whole.w1 : mode < 10 ? whole.c1 : whole.h1;
    int parts = mode >= 10 && n == 4 ? 2 : n;
    random_cuts(rng, size, parts - 1, cuts);
    int column = cut_point(rng, whole.w1);
    for (int d = 0; d < n; d++) {
        struct ad_region r = whole;
        if (mode < 6)
            cut_axis(cuts, d, n, size, &r.h0, &r.h1);
        else if (mode < 8)
            cut_axis(cuts, d, n, size, &r.w0, &r.w1);
        else if (mode < 10)
            cut_axis(cuts, d, n, size, &r.c0, &r.c1);
        else
            cut_axis(cuts, d % parts, parts, size, &r.h0, &r.h1);
        if (mode >= 10 && n == 4)
            cut_axis(&column, d / parts, 2, whole.w1, &r.w0, &r.w1);
        if (ad_region_empty(r))
            r = ad_region_none();
        *ad_assigned(a, index, d) = ad_region_allow(graph, op, r);
    }
}

/* Takes over the graph and the cluster. */
static struct adaps_plan *plan_of(struct ad_graph *graph, struct ad_cluster *cluster,
                                  struct ad_search_result *result)
{
    const struct ad_provenance provenance = {
        .model_path = "model.onnx", .strategy = "test", .u8 = result->u8};
    struct adaps_plan *plan = NULL;
    struct adaps_error err = {0};
    ck_assert_msg(ad_schedule_build(graph, cluster, &result->assignment, &result->schedule, &err) ==
                      ADAPS_OK,
                  "%s", err.message);
    ck_assert_msg(ad_schedule_verify(graph, &result->schedule, cluster->source, &err) == ADAPS_OK,
                  "%s", err.message);
    ck_assert_msg(ad_plan_make(graph, cluster, &result->schedule, &provenance, &plan, &err) ==
                      ADAPS_OK,
                  "%s", err.message);
    ad_assignment_fini(&result->assignment);
    return plan;
}

/* A plan of graph (taken over) on ndevices, every other link of this encoding; rng NULL: all on
 * device 0. */
static struct adaps_plan *make_encoded(struct ad_graph *graph, int ndevices, struct ad_rng *rng,
                                       enum ad_encoding encoding)
{
    struct ad_cluster cluster;
    struct ad_search_result result = {0};
    struct adaps_error err = {0};
    ck_assert_int_eq(ad_cluster_init(&cluster, ndevices, &err), ADAPS_OK);
    for (int d = 0; d < ndevices; d++)
        snprintf(cluster.devices[d].name, sizeof cluster.devices[d].name, "dev%d", d);
    ck_assert_int_eq(ad_assignment_init(&result.assignment, graph->nops, ndevices, &err), ADAPS_OK);
    result.assignment.u8 = rng && ad_rng_below(rng, 2) == 0 && ad_picture_any(graph);
    result.assignment.order = rng ? (enum ad_order)ad_rng_below(rng, 4) : AD_ORDER_GRAPH;
    result.assignment.input_chunks = rng ? (int)ad_rng_below(rng, AD_MAX_CHUNKS + 1) : 0;
    result.assignment.band_chunks = rng ? (int)ad_rng_below(rng, AD_MAX_CHUNKS + 1) : 0;
    for (int i = 0; i < ndevices * ndevices && rng && encoding != AD_ENCODING_F32; i++)
        result.assignment.encoding[i] = ad_rng_below(rng, 2) ? encoding : AD_ENCODING_F32;
    for (int i = 0; i < graph->nops; i++) {
        result.assignment.early[i] = rng && ad_rng_below(rng, 2) == 0;
        if (rng)
            assign_op(graph, i, &result.assignment, rng);
        else
            *ad_assigned(&result.assignment, i, 0) =
                ad_region_whole(&graph->values[graph->ops[i].output]);
    }
    return plan_of(graph, &cluster, &result);
}

static struct adaps_plan *make_plan(struct ad_graph *graph, int ndevices, struct ad_rng *rng)
{
    return make_encoded(graph, ndevices, rng, AD_ENCODING_F32);
}

static struct ad_graph *random_graph(uint64_t seed, const struct ad_random_graph_options *options)
{
    struct ad_graph *graph = NULL;
    struct adaps_error err = {0};
    ck_assert_msg(ad_random_graph(seed, options, &graph, &err) == ADAPS_OK, "seed %llu: %s",
                  (unsigned long long)seed, err.message);
    return graph;
}

static void random_inputs(const struct ad_graph *graph, uint64_t seed, struct ad_tensor *inputs)
{
    struct ad_rng rng = {seed};
    for (int i = 0; i < graph->ninputs; i++) {
        const struct ad_value *v = &graph->values[graph->inputs[i]];
        ck_assert_int_eq(ad_tensor_init(&inputs[i], v->rank, v->dims, NULL), ADAPS_OK);
        for (size_t k = 0; k < inputs[i].count; k++) /* every other time a picture */
            inputs[i].data[k] =
                seed % 2 ? (float)ad_rng_below(&rng, 256) / 255.0f : ad_rng_float(&rng);
    }
}

static void free_tensors(struct ad_tensor *tensors, int n)
{
    for (int i = 0; i < n; i++)
        ad_tensor_fini(&tensors[i]);
}

static void run_plan(const struct adaps_plan *plan, int threads, const struct ad_tensor *inputs,
                     struct ad_tensor *outputs)
{
    struct adaps_error err = {0};
    ck_assert_msg(ad_fixture_infer(plan, plan->graph, threads, inputs, outputs, &err) == ADAPS_OK,
                  "%s", err.message);
}

static void check_close(const struct ad_tensor *got, const struct ad_tensor *want, uint64_t seed)
{
    double most = 0, worst = 0;
    ck_assert_uint_eq(got->count, want->count);
    for (size_t i = 0; i < want->count; i++) {
        double d = fabs((double)got->data[i] - (double)want->data[i]);
        most = fmax(most, fabs((double)want->data[i]));
        worst = d <= worst ? worst : d; /* NaN stays */
    }
    ck_assert_msg(worst <= 1e-5 * most, "seed %llu: off by %g of %g", (unsigned long long)seed,
                  worst, most);
}

/* The bits are the same with 2 and 4 threads. */
static void check_threads(const struct adaps_plan *plan, const struct ad_tensor *inputs,
                          const struct ad_tensor *want, uint64_t seed)
{
    struct ad_tensor got[16];
    for (int threads = 2; threads <= 4; threads += 2) {
        run_plan(plan, threads, inputs, got);
        for (int i = 0; i < plan->graph->noutputs; i++)
            ck_assert_msg(ad_tensor_compare(want[i].data, got[i].data, want[i].count).differ == 0,
                          "seed %llu, output %d: other bits with %d threads",
                          (unsigned long long)seed, i, threads);
        free_tensors(got, plan->graph->noutputs);
    }
}

/* Whole on one device against the interpreter. Takes the graph over. */
static void check_whole(struct ad_graph *graph, uint64_t seed)
{
    struct ad_tensor inputs[4], got[16], want[16];
    struct adaps_error err = {0};
    struct adaps_plan *plan = make_plan(graph, 1, NULL);
    int n = graph->noutputs < 16 ? graph->noutputs : 16;
    ck_assert_int_eq(graph->noutputs, n);
    random_inputs(graph, seed, inputs);
    ck_assert_msg(ad_reference_run(graph, inputs, want, &err) == ADAPS_OK, "%s", err.message);
    run_plan(plan, 1, inputs, got);
    for (int i = 0; i < n; i++)
        check_close(&got[i], &want[i], seed);
    check_threads(plan, inputs, got, seed);
    free_tensors(inputs, graph->ninputs);
    free_tensors(got, n);
    free_tensors(want, n);
    adaps_plan_free(plan);
}

/* Almost all elements are those of the reference, and none is more than a step of a byte away. */
static void check_bytes(struct ad_graph *graph, uint64_t seed)
{
    const double step = 0.1 * 1.001; /* the largest scale */
    struct ad_tensor inputs[4], got[16], want[16];
    struct adaps_error err = {0};
    struct adaps_plan *plan = make_plan(graph, 1, NULL);
    size_t differ = 0, all = 0;
    random_inputs(graph, seed, inputs);
    ck_assert_msg(ad_reference_run(graph, inputs, want, &err) == ADAPS_OK, "%s", err.message);
    run_plan(plan, 1, inputs, got);
    for (int k = 0; k < graph->noutputs; k++)
        for (size_t i = 0; i < want[k].count; i++, all++) {
            double d = fabs((double)got[k].data[i] - (double)want[k].data[i]);
            ck_assert_msg(d <= step, "seed %llu: %g, not %g", (unsigned long long)seed,
                          (double)got[k].data[i], (double)want[k].data[i]);
            differ += d > 1e-4;
        }
    ck_assert_msg(differ <= 2 + all / 100, "seed %llu: %zu of %zu", (unsigned long long)seed,
                  differ, all);
    check_threads(plan, inputs, got, seed);
    free_tensors(inputs, graph->ninputs);
    free_tensors(got, graph->noutputs);
    free_tensors(want, graph->noutputs);
    adaps_plan_free(plan);
}

static struct ad_random_graph_options options_of(uint64_t seed)
{
    return (struct ad_random_graph_options){
        .ops = 4 + (int)(seed % 9),
        .max_hw = seed % 5 == 0 ? 9 : 17,
        .max_c = seed % 3 == 0   ? 40
                 : seed % 3 == 1 ? 12
                                 : 20,
        .batch = seed % 7 == 0 ? 2 : 1,
        .chain = seed % 4 == 0,
        .spatial = seed % 6 == 0,
        .outputs = seed % 11 == 0,
        .wild = seed % 5 == 1,
        .quantised = seed % 4 == 3,
    };
}

START_TEST(test_whole)
{
    for (uint64_t seed = 0; seed < (uint64_t)sampled(150); seed++) {
        struct ad_random_graph_options o = options_of(seed);
        o.quantised = false;
        check_whole(random_graph(seed, &o), seed);
    }
}
END_TEST

/* One operator on bytes: what the same operator on floats makes, rounded, is at most a step away
 * (docs/numerics.md). */
START_TEST(test_bytes)
{
    for (uint64_t seed = 0; seed < (uint64_t)sampled(200); seed++) {
        struct ad_random_graph_options o = options_of(seed);
        o.ops = 1;
        o.spatial = o.quantised = true;
        o.outputs = false;
        check_bytes(random_graph(seed, &o), seed);
    }
}
END_TEST

/* The same answers by two plans of a network, which are freed. */
static void check_same(struct adaps_plan *whole, struct adaps_plan *split, int threads,
                       uint64_t seed)
{
    const struct ad_graph *graph = whole->graph;
    struct ad_tensor inputs[4], a[16], b[16];
    random_inputs(graph, seed + 1, inputs);
    run_plan(whole, 1, inputs, a);
    run_plan(split, threads, inputs, b);
    for (int i = 0; i < graph->noutputs; i++) {
        struct ad_difference d = ad_tensor_compare(a[i].data, b[i].data, a[i].count);
        ck_assert_msg(d.differ == 0, "seed %llu, output %d: %zu of %zu differ, by %g",
                      (unsigned long long)seed, i, d.differ, d.elements, d.max_abs_diff);
    }
    free_tensors(inputs, graph->ninputs);
    free_tensors(a, graph->noutputs);
    free_tensors(b, graph->noutputs);
    adaps_plan_free(whole);
    adaps_plan_free(split);
}

/* One graph on 2-4 devices in a random split, bit for bit as on one. */
static void check_split(uint64_t seed, int threads)
{
    struct ad_random_graph_options o = options_of(seed);
    struct ad_rng rng = {seed * 77 + 5};
    int ndevices = 2 + (int)ad_rng_below(&rng, 3);
    struct adaps_plan *whole = make_plan(random_graph(seed, &o), 1, NULL);
    check_same(whole,
               make_encoded(random_graph(seed, &o), ndevices, &rng,
                            seed % 2 ? AD_ENCODING_LZ4 : AD_ENCODING_F32),
               threads, seed);
}

static bool same_bits(const struct ad_tensor *a, const struct ad_tensor *b)
{
    return ad_tensor_compare(a->data, b->data, a->count).differ == 0;
}

/* Sums in blocks: the answer is near that of the same graph without, that of quantised ops the
 * same, and it is the same bits however the ops are split. */
START_TEST(test_partial_sums)
{
    int folds = 0, byte_folds = 0;
    for (uint64_t seed = 300 * (uint64_t)_i; seed < 300 * (uint64_t)_i + 150; seed++) {
        struct ad_random_graph_options o = options_of(seed);
        struct ad_tensor inputs[4], plain[16], blocks[16];
        struct ad_rng rng = {seed * 77 + 5};
        struct adaps_plan *whole = make_plan(random_graph(seed, &o), 1, NULL);
        random_inputs(whole->graph, seed, inputs);
        run_plan(whole, 1, inputs, plain);
        int noutputs = whole->graph->noutputs;
        adaps_plan_free(whole);
        o.partial = seed % 2 ? 4 : 16;
        struct ad_graph *graph = random_graph(seed, &o);
        for (int i = 0; i < graph->nops; i++) {
            folds += graph->ops[i].kind == AD_OP_FOLD;
            byte_folds += graph->ops[i].kind == AD_OP_FOLD && graph->ops[i].weight >= 0;
        }
        whole = make_plan(graph, 1, NULL);
        run_plan(whole, 1, inputs, blocks);
        for (int i = 0; i < noutputs; i++)
            if (o.quantised)
                ck_assert_msg(same_bits(&blocks[i], &plain[i]), "seed %llu: bytes differ",
                              (unsigned long long)seed);
            else
                check_close(&blocks[i], &plain[i], seed);
        free_tensors(inputs, whole->graph->ninputs);
        free_tensors(plain, noutputs);
        free_tensors(blocks, noutputs);
        check_same(whole, make_plan(random_graph(seed, &o), 2 + (int)(seed % 3), &rng), 1, seed);
    }
    ck_assert_int_gt(folds, 200);
    ck_assert_int_gt(byte_folds, 20);
}
END_TEST

/* Some links of a lossy encoding: the same bits whoever runs when, near those of one device. */
static void check_rounded(uint64_t seed, enum ad_encoding encoding, size_t *differ)
{
    struct ad_random_graph_options o = options_of(seed);
    o.quantised = false; /* a byte that is rounded the other way is far away */
    struct ad_rng rng = {seed * 77 + 5};
    o.wild = false;
    struct ad_graph *graph = random_graph(seed, &o);
    struct adaps_plan *whole = make_plan(random_graph(seed, &o), 1, NULL);
    struct adaps_plan *split = make_encoded(graph, 3, &rng, encoding);
    struct ad_tensor inputs[4], a[16], b[16], c[16];
    random_inputs(graph, seed + 1, inputs);
    run_plan(whole, 1, inputs, a);
    run_plan(split, 1, inputs, b);
    run_plan(split, 2, inputs, c);
    for (int i = 0; i < graph->noutputs; i++) {
        struct ad_difference d = ad_tensor_compare(a[i].data, b[i].data, a[i].count);
        double most = 0;
        for (size_t k = 0; k < a[i].count; k++)
            most = fmax(most, fabs((double)a[i].data[k]));
        *differ += d.differ;
        ck_assert_msg(d.max_abs_diff <= 0.01 * most, "seed %llu, output %d: off by %g of %g",
                      (unsigned long long)seed, i, d.max_abs_diff, most);
        ck_assert_uint_eq(ad_tensor_compare(b[i].data, c[i].data, b[i].count).differ, 0);
    }
    free_tensors(inputs, graph->ninputs);
    free_tensors(a, graph->noutputs);
    free_tensors(b, graph->noutputs);
    free_tensors(c, graph->noutputs);
    adaps_plan_free(whole);
    adaps_plan_free(split);
}

START_TEST(test_rounded)
{
    size_t differ = 0;
    for (uint64_t seed = 0; seed < (uint64_t)sampled(60); seed++)
        check_rounded(seed, _i ? AD_ENCODING_ZFP : AD_ENCODING_F16, &differ);
    ck_assert_uint_gt(differ, 0);
}
END_TEST

START_TEST(test_split)
{
    for (uint64_t seed = 100 * (uint64_t)_i; seed < 100 * (uint64_t)_i + 100; seed++)
        check_split(seed, 1);
}
END_TEST

START_TEST(test_split_threads)
{
    for (uint64_t seed = 5000; seed < 5020; seed++)
        check_split(seed, 2 + 2 * _i);
}
END_TEST

/* --- every kind by hand --- */

static struct ad_graph *finish(struct ad_builder *b, int output)
{
    struct ad_graph *graph = NULL;
    struct adaps_error err = {0};
    ad_build_output(b, output);
    ck_assert_msg(ad_build_finish(b, &graph, &err) == ADAPS_OK, "%s", err.message);
    return graph;
}

static struct ad_op *last_op(struct ad_builder *b)
{
    return &b->graph->ops[b->graph->nops - 1];
}

/* Plain values: numpy broadcasting, softmax over rows, concat of features. */
static struct ad_graph *plain_graph(int which)
{
    struct ad_builder b;
    int64_t cube[3] = {2, 15, 6}, vector[1] = {6}, column[3] = {2, 1, 6}, matrix[2] = {2, 90};
    ad_build_init(&b, 9);
    int x = ad_build_input(&b, 2, 3, 5, 6), v = -1;
    int plain = ad_build_reshape(&b, x, 3, cube, true);
    switch (which) {
    case 0:
        v = ad_build_binary(&b, AD_OP_MUL, plain, ad_build_constant(&b, 1, vector));
        v = ad_build_binary(&b, AD_OP_ADD, ad_build_constant(&b, 3, column), v);
        break;
    case 1:
        v = ad_build_softmax(&b, plain);
        break;
    case 2: {
        int parts[3] = {ad_build_reshape(&b, x, 2, matrix, true), 0, 0};
        parts[1] = ad_build_fc(&b, parts[0], 7);
        parts[2] = ad_build_fc(&b, x, 33);
        v = ad_build_softmax(&b, ad_build_concat(&b, parts, 3));
        break;
    }
    case 3:
        v = ad_build_binary(&b, AD_OP_ADD, ad_build_permute(&b, x), ad_build_permute(&b, x));
        last_op(&b)->clamp_min = -0.25f;
        break;
    default:
        v = ad_build_lrn(&b, ad_build_clamp(&b, x, -0.5f, 0.5f), 5);
        last_op(&b)->lrn_beta = which == 4 ? 0.75f : which == 5 ? 0.5f : 0.6f;
        last_op(&b)->clamp_max = 0.4f;
    }
    return finish(&b, v);
}

START_TEST(test_kinds)
{
    check_whole(plain_graph(_i), 3);
}
END_TEST

/* An empty clamp range, which XNNPACK does not take; and a convolution of nothing but padding. */
START_TEST(test_odd_convolutions)
{
    for (int which = 0; which < 4; which++) {
        struct ad_builder b;
        ad_build_init(&b, 4);
        int x = ad_build_input(&b, 1 + which % 2, 6, 5, 4);
        struct ad_window w = ad_window_square(3, 1, 1, 1, 1);
        if (which >= 2) { /* stride 40 from pad 7: one window, wholly in front of the input */
            w = ad_window_square(3, 40, 2, 7, 0);
        }
        int v = ad_build_conv(&b, x, w, 1 + which % 2, 6);
        if (which < 2)
            last_op(&b)->clamp_min = last_op(&b)->clamp_max = 0.5f;
        check_whole(finish(&b, v), 8);
    }
}
END_TEST

/* --- the engine's own interface --- */

static struct ad_engine *new_engine(struct adaps_plan *plan, struct ad_engine_options options)
{
    struct ad_weight_source weights = ad_weights_of_graph(plan->graph);
    struct ad_engine *engine = NULL;
    struct adaps_error err = {0};
    ck_assert_msg(ad_engine_new(plan, &options, &weights, &engine, &err) == ADAPS_OK, "%s",
                  err.message);
    return engine;
}

/* A transport with a fixed slot per tag. */
#define SLOTS 256
#define SLOT_BYTES 65536
struct slots {
    char data[SLOTS][SLOT_BYTES];
    size_t size[SLOTS]; /* 0: empty */
};

static enum adaps_status slot_send(void *self, const struct ad_step *step,
                                   const struct ad_span_list *spans, struct adaps_error *err)
{
    struct slots *slots = self;
    (void)err;
    ad_spans_gather(spans, slots->data[step->tag]);
    slots->size[step->tag] = ad_spans_bytes(spans);
    return ADAPS_OK;
}

static enum adaps_status slot_recv(void *self, const struct ad_step *step,
                                   const struct ad_span_list *forms, int nforms, int *form,
                                   struct adaps_error *err)
{
    struct slots *slots = self;
    (void)err;
    if (slots->size[step->tag] == 0)
        return ADAPS_NO;
    *form = ad_spans_form(forms, nforms, slots->size[step->tag]);
    ck_assert(ad_spans_take_size(&forms[*form], slots->size[step->tag]));
    ad_spans_take(&forms[*form], slots->data[step->tag], slots->size[step->tag]);
    slots->size[step->tag] = 0;
    return ADAPS_OK;
}

/* One inference on all engines by turns. */
static void infer(const struct adaps_plan *plan, struct ad_engine **engines, struct slots *slots)
{
    struct ad_transport transport = {slot_send, slot_recv, slots};
    int next[8] = {0}, left = plan->cluster.ndevices;
    while (left > 0) {
        left = 0;
        for (int d = 0; d < plan->cluster.ndevices; d++) {
            if (next[d] == plan->schedule.programs[d].nsteps)
                continue;
            enum adaps_status status = ad_engine_step(engines[d], next[d], &transport, NULL);
            ck_assert(status == ADAPS_OK || status == ADAPS_NO);
            next[d] += status == ADAPS_OK;
            left++;
        }
    }
}

START_TEST(test_steady_state_allocates_nothing)
{
    struct slots *slots = calloc(1, sizeof *slots);
    for (uint64_t seed = 20; seed < 30; seed++) {
        struct ad_rng rng = {seed};
        struct ad_random_graph_options o = {.ops = 10, .max_hw = 14, .max_c = 12};
        static const enum ad_encoding encodings[] = {AD_ENCODING_F32, AD_ENCODING_F16,
                                                     AD_ENCODING_LZ4, AD_ENCODING_ZFP};
        struct adaps_plan *plan =
            make_encoded(random_graph(seed, &o), 3, &rng, encodings[seed % 4]);
        struct ad_engine *engines[3];
        struct ad_tensor inputs[4], first, second;
        random_inputs(plan->graph, seed, inputs);
        const struct ad_value *v = &plan->graph->values[plan->graph->outputs[0]];
        ck_assert_int_eq(ad_tensor_init(&first, v->rank, v->dims, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_tensor_init(&second, v->rank, v->dims, NULL), ADAPS_OK);
        for (int d = 0; d < 3; d++)
            engines[d] =
                new_engine(plan, (struct ad_engine_options){.device = d, .threads = 1 << _i});
        ad_engine_feed(engines[0], 0, inputs[0].data);
        infer(plan, engines, slots);
        ad_engine_fetch(engines[0], 0, first.data);

        size_t before = mallinfo2().uordblks;
        ad_mem_fail_after(1); /* whatever is asked for now fails */
        ad_engine_feed(engines[0], 0, inputs[0].data);
        infer(plan, engines, slots);
        ad_engine_fetch(engines[0], 0, second.data);
        ad_mem_fail_after(0);
        ck_assert_uint_eq(mallinfo2().uordblks, before);
        ck_assert_uint_eq(ad_tensor_compare(first.data, second.data, first.count).differ, 0);

        for (int i = 0; i < plan->schedule.programs[0].nsteps; i++) {
            int64_t start, end;
            ad_engine_times(engines[0], i, &start, &end);
            ck_assert(start > 0 && end >= start);
        }
        for (int d = 0; d < 3; d++)
            ad_engine_free(engines[d]);
        ad_tensor_fini(&first);
        ad_tensor_fini(&second);
        free_tensors(inputs, plan->graph->ninputs);
        adaps_plan_free(plan);
    }
    free(slots);
}
END_TEST

/* One inference of a plan for one device. */
static void infer_alone(struct adaps_plan *plan, size_t slice_bytes, const struct ad_tensor *inputs,
                        struct ad_tensor *out, size_t *weight_bytes)
{
    struct ad_engine *engine =
        new_engine(plan, (struct ad_engine_options){.slice_bytes = slice_bytes, .threads = 1});
    const struct ad_value *v = &plan->graph->values[plan->graph->outputs[0]];
    ck_assert_int_eq(ad_tensor_init(out, v->rank, v->dims, NULL), ADAPS_OK);
    for (int i = 0; i < plan->graph->ninputs; i++)
        ad_engine_feed(engine, i, inputs[i].data);
    infer(plan, &engine, NULL);
    ad_engine_fetch(engine, 0, out->data);
    *weight_bytes = ad_engine_weight_bytes(engine);
    ad_engine_free(engine);
}

/* However many channels are computed at a time, by whichever kernels: the bits are those of all at
 * once, and nothing is packed twice. */
START_TEST(test_slices)
{
    static const size_t sizes[] = {1, 3000, 20000};
    ad_processor_limit_lanes(_i * 8);
    for (uint64_t seed = 40; seed < 80; seed++) {
        struct ad_random_graph_options o = {.ops = 8, .max_hw = 12, .max_c = 90};
        struct adaps_plan *plan = make_plan(random_graph(seed, &o), 1, NULL);
        struct ad_tensor inputs[4], all, sliced;
        size_t bytes, least;
        random_inputs(plan->graph, seed, inputs);
        infer_alone(plan, (size_t)1 << 30, inputs, &all, &least);
        for (int k = 0; k < 3; k++) {
            infer_alone(plan, sizes[k], inputs, &sliced, &bytes);
            ck_assert_msg(ad_tensor_compare(all.data, sliced.data, all.count).differ == 0,
                          "seed %llu, slices of %zu bytes", (unsigned long long)seed, sizes[k]);
            ck_assert_uint_lt(bytes, 2 * least);
            ad_tensor_fini(&sliced);
        }
        ad_tensor_fini(&all);
        free_tensors(inputs, plan->graph->ninputs);
        adaps_plan_free(plan);
    }
    ad_processor_limit_lanes(16);
}
END_TEST

/* Blocks with an addition after the last convolution: of the block's input, or of another
 * convolution of it; both have further readers in one of them. Their windows are of those that are
 * computed by our own convolutions wherever there are any. */
static struct ad_graph *residual_graph(int which)
{
    struct ad_builder b;
    ad_build_init(&b, 6);
    int x = ad_build_input(&b, 1 + which % 2, 9, 7, 24);
    int v = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 40);
    last_op(&b)->clamp_min = 0;
    v = ad_build_conv(&b, v, ad_window_square(3, 1, 1, 1, 1), 1, 24);
    int sum = ad_build_binary(&b, AD_OP_ADD, which < 2 ? v : x, which < 2 ? x : v);
    last_op(&b)->clamp_min = 0;
    if (which % 3 == 1) {
        last_op(&b)->function = AD_FN_LEAKY_RELU;
        last_op(&b)->alpha = 0.1f;
    }
    int left = ad_build_conv(&b, sum, ad_window_square(3, 2, 1, 1, 1), 1, 33);
    int right = ad_build_conv(&b, sum, ad_window_square(3, 2, 1, 1, 1), 1, 33);
    int end = ad_build_binary(&b, AD_OP_ADD, left, right);
    if (which == 3)
        end = ad_build_binary(&b, AD_OP_MUL, end, right);
    return finish(&b, end);
}

/* Additions that convolutions do on their way out, against those of tasks in steps of their own. */
START_TEST(test_residuals)
{
    struct adaps_plan *whole = make_plan(residual_graph(_i), 1, NULL), *apart = NULL;
    const struct ad_program *program = &whole->schedule.programs[0];
    struct ad_tensor inputs[1], a, b;
    size_t bytes;
    bool fused[16] = {false};
    int nfused = 0;
    ck_assert_int_lt(program->ntasks, 16);
    ck_assert_int_eq(
        ad_plan_of_tasks(residual_graph(_i), program->tasks, program->ntasks, 1, &apart, NULL),
        ADAPS_OK);
    struct ad_program *steps = &apart->schedule.programs[0];
    ck_assert_int_eq(steps->nsteps, steps->ntasks - 2); /* an addition with what it adds to */
    for (steps->nsteps = 0; steps->nsteps < steps->ntasks; steps->nsteps++)
        steps->steps[steps->nsteps] =
            (struct ad_step){.kind = AD_STEP_COMPUTE, .first_task = steps->nsteps, .ntasks = 1};
    ck_assert_int_eq(ad_residuals_find(apart->graph, steps, fused, NULL), ADAPS_OK);
    for (int i = 0; i < 16; i++)
        nfused += fused[i];
    ck_assert_int_eq(nfused, 0); /* not across steps */
    ck_assert_int_eq(ad_residuals_find(whole->graph, &whole->schedule.programs[0], fused, NULL),
                     ADAPS_OK);
    for (int i = 0; i < 16; i++)
        nfused += fused[i];
    ck_assert_int_eq(nfused, ad_conv_able() ? (_i == 3 ? 1 : 2) : 0);
    random_inputs(whole->graph, 5, inputs);
    infer_alone(whole, 0, inputs, &a, &bytes);
    infer_alone(apart, 0, inputs, &b, &bytes);
    ck_assert_uint_eq(ad_tensor_compare(a.data, b.data, a.count).differ, 0);
    free_tensors(inputs, 1);
    ad_tensor_fini(&a);
    ad_tensor_fini(&b);
    adaps_plan_free(whole);
    adaps_plan_free(apart);
    check_whole(residual_graph(_i), 5);
}
END_TEST

/* Dense layers of so many rows: with a function, of other rows added, and of a few features. */
static struct ad_graph *rows_graph(int64_t rows)
{
    struct ad_builder b;
    ad_build_init(&b, 12);
    int x = ad_build_input(&b, rows, 3, 2, 11);
    int v = ad_build_fc(&b, x, 70);
    last_op(&b)->function = AD_FN_GELU;
    v = ad_build_fc(&b, v, 45);
    v = ad_build_binary(&b, AD_OP_ADD, ad_build_fc(&b, x, 45), v);
    last_op(&b)->clamp_min = -1;
    return finish(&b, ad_build_softmax(&b, ad_build_fc(&b, v, 5)));
}

/* By devices of which each has some of the features. */
START_TEST(test_dense_rows)
{
    static const int limits[] = {16, 8, 0}, rows[] = {7, 8, 13, 40};
    ad_processor_limit_lanes(limits[_i]);
    for (int k = 0; k < 4; k++) {
        check_whole(rows_graph(rows[k]), 5);
        for (uint64_t seed = 1; seed < 8; seed++) {
            struct ad_rng rng = {seed};
            struct adaps_plan *whole = make_plan(rows_graph(rows[k]), 1, NULL);
            check_same(whole, make_plan(rows_graph(rows[k]), 2 + (int)(seed % 3), &rng), 1, seed);
        }
    }
    ad_processor_limit_lanes(16);
}
END_TEST

/* Layers of many rows and of few that have the same weights, which they pack each in its way. */
START_TEST(test_rows_share_weights)
{
    struct ad_builder b;
    ad_build_init(&b, 12);
    int few = ad_build_input(&b, 3, 1, 1, 30), many = ad_build_input(&b, 20, 1, 1, 30);
    ad_build_output(&b, ad_build_fc(&b, few, 24));
    struct ad_op first = *last_op(&b);
    int v = ad_build_fc(&b, many, 24);
    last_op(&b)->weight = first.weight;
    last_op(&b)->bias = first.bias;
    check_whole(finish(&b, v), 4);
}
END_TEST

/* Those that are ours, in vectors of any width. */
START_TEST(test_widths_of_dense_rows)
{
    struct ad_tensor inputs[1], a, b;
    struct adaps_plan *plan = make_plan(rows_graph(20), 1, NULL);
    random_inputs(plan->graph, 5, inputs);
    run_plan(plan, 1, inputs, &a);
    if (ad_choose_conv_lanes(ad_processor()) == 16) {
        ad_processor_limit_lanes(8);
        run_plan(plan, 1, inputs, &b);
        ck_assert_uint_eq(ad_tensor_compare(a.data, b.data, a.count).differ, 0);
        ad_processor_limit_lanes(16);
        ad_tensor_fini(&b);
    }
    free_tensors(inputs, 1);
    ad_tensor_fini(&a);
    adaps_plan_free(plan);
}
END_TEST

/* XNNPACK's convolutions, which are whole the same as in parts on other processors. */
START_TEST(test_split_without_ours)
{
    ad_processor_limit_lanes(0);
    for (uint64_t seed = 7000; seed < 7000 + (uint64_t)sampled(50); seed++)
        check_split(seed, 1);
    ad_processor_limit_lanes(16);
}
END_TEST

/* Of blocks two pixels wide and any height, of as many channels as vectors take, and a few. */
START_TEST(test_pixel_shuffles)
{
    for (int height = 1; height <= 3; height++)
        for (int channels = 3; channels <= 9; channels++) {
            struct ad_builder b;
            ad_build_init(&b, 8);
            int x = ad_build_input(&b, 2, 3, 4, height * 2 * channels);
            check_whole(finish(&b, ad_build_depth_to_space(&b, x, height, 2, true, false)), 3);
        }
}
END_TEST

START_TEST(test_cancel)
{
    atomic_int cancel = 0;
    struct ad_random_graph_options o = {.ops = 6};
    struct adaps_plan *plan = make_plan(random_graph(3, &o), 1, NULL);
    struct ad_engine *engine =
        new_engine(plan, (struct ad_engine_options){.cancel = &cancel, .speed = 1e-9});
    struct ad_tensor inputs[4];
    struct adaps_error err = {0};
    random_inputs(plan->graph, 1, inputs);
    cancel = 1; /* else the slow device would sleep for what feeding takes */
    ad_engine_feed(engine, 0, inputs[0].data);
    ck_assert_int_eq(ad_engine_step(engine, 0, NULL, &err), ADAPS_EAGENT);
    ck_assert(strstr(err.message, "cancelled"));
    ad_engine_free(engine);
    free_tensors(inputs, plan->graph->ninputs);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(test_deadlock_is_named)
{
    struct ad_random_graph_options o = {.ops = 6, .spatial = true};
    struct ad_rng rng = {1};
    struct adaps_plan *plan = make_plan(random_graph(3, &o), 2, &rng);
    struct ad_tensor inputs[4], outputs[4];
    struct adaps_error err = {0};
    int changed = 0;
    random_inputs(plan->graph, 1, inputs);
    for (int i = 0; i < plan->schedule.programs[1].nsteps && !changed; i++)
        if (plan->schedule.programs[1].steps[i].kind == AD_STEP_RECV) {
            plan->schedule.programs[1].steps[i].tag = 100000;
            changed = 1;
        }
    ck_assert_int_eq(changed, 1);
    ck_assert_int_eq(ad_fixture_infer(plan, plan->graph, 1, inputs, outputs, &err),
                     ADAPS_EINTERNAL);
    ck_assert_msg(strstr(err.message, "deadlock: device dev") != NULL, "%s", err.message);
    free_tensors(inputs, plan->graph->ninputs);
    adaps_plan_free(plan);
}
END_TEST

static void feed_all(struct ad_engine *engine, const struct ad_graph *graph,
                     const struct ad_tensor *inputs)
{
    for (int i = 0; i < graph->ninputs; i++)
        ad_engine_feed(engine, i, inputs[i].data);
}

static void run_steps(struct ad_engine *engine, int from, int to)
{
    struct adaps_error err;
    for (int i = from; i < to; i++)
        ck_assert_int_eq(ad_engine_step(engine, i, NULL, &err), ADAPS_OK);
}

/* Its outputs are those of one device for these inputs. */
static void check_fetched(struct ad_engine *engine, const struct adaps_plan *plan,
                          const struct ad_tensor *inputs)
{
    const struct ad_graph *graph = plan->graph;
    struct ad_tensor want[8];
    struct adaps_error err;
    ck_assert_int_le(graph->noutputs, 8);
    ck_assert_int_eq(ad_fixture_infer(plan, graph, 1, inputs, want, &err), ADAPS_OK);
    for (int i = 0; i < graph->noutputs; i++) {
        float *have = calloc(want[i].count, sizeof *have);
        ck_assert_ptr_nonnull(have);
        ad_engine_fetch(engine, i, have);
        ck_assert_mem_eq(have, want[i].data, want[i].count * sizeof *have);
        free(have);
    }
    free_tensors(want, graph->noutputs);
}

/* An engine beside another one: an inference in each, step about, and the weights once. */
START_TEST(test_beside)
{
    struct adaps_plan *plan = make_plan(random_graph((uint64_t)_i + 40, NULL), 1, NULL);
    const struct ad_graph *graph = plan->graph;
    struct ad_engine *first = new_engine(plan, (struct ad_engine_options){.threads = 1 + _i % 2});
    struct ad_engine *second = new_engine(plan, (struct ad_engine_options){.beside = first});
    struct ad_tensor one[8], two[8];
    int nsteps = plan->schedule.programs[0].nsteps;
    ck_assert_int_le(graph->ninputs, 8);
    ck_assert(ad_engine_weight_bytes(second) <= ad_engine_weight_bytes(first));
    ck_assert_uint_eq(ad_engine_arena_bytes(second), ad_engine_arena_bytes(first));
    random_inputs(graph, 1, one);
    random_inputs(graph, 2, two);
    feed_all(first, graph, one);
    feed_all(second, graph, two);
    for (int i = 0; i < nsteps; i++) {
        run_steps(first, i, i + 1);
        run_steps(second, i, i + 1);
    }
    check_fetched(first, plan, one);
    check_fetched(second, plan, two);
    ad_engine_free(second);
    feed_all(first, graph, two); /* which goes on alone */
    run_steps(first, 0, nsteps);
    check_fetched(first, plan, two);
    ad_engine_free(first);
    free_tensors(one, graph->ninputs);
    free_tensors(two, graph->ninputs);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(test_bad_requests)
{
    struct ad_random_graph_options o = {.ops = 4};
    struct adaps_plan *plan = make_plan(random_graph(3, &o), 1, NULL);
    struct ad_weight_source weights = ad_weights_of_graph(plan->graph);
    struct ad_engine_options options = {.device = 1};
    struct ad_engine *engine;
    struct ad_tensor inputs[4], outputs[4];
    struct adaps_error err = {0};
    ck_assert_int_eq(ad_engine_new(plan, &options, &weights, &engine, &err), ADAPS_EUSAGE);
    random_inputs(plan->graph, 1, inputs);
    inputs[0].dims[1]++;
    ck_assert_int_eq(ad_fixture_infer(plan, plan->graph, 1, inputs, outputs, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, "has shape") != NULL, "%s", err.message);
    inputs[0].dims[1]--;
    ad_graph_drop_weights(plan->graph);
    ck_assert_int_eq(ad_fixture_infer(plan, plan->graph, 1, inputs, outputs, &err),
                     ADAPS_EINTERNAL);
    ck_assert_msg(strstr(err.message, "is not attached") != NULL, "%s", err.message);
    free_tensors(inputs, plan->graph->ninputs);
    adaps_plan_free(plan);
}
END_TEST

/* Each allocation of the creation fails in turn, XNNPACK's too. */
START_TEST(test_allocation_failures)
{
    struct ad_random_graph_options o = {.ops = 8, .max_hw = 8, .max_c = 6};
    struct ad_rng rng = {2};
    struct adaps_plan *plan = make_plan(random_graph(7, &o), 2, &rng);
    struct ad_weight_source weights = ad_weights_of_graph(plan->graph);
    enum adaps_status status = ADAPS_EINTERNAL;
    ad_engine_free(new_engine(plan, (struct ad_engine_options){0}));
    long n = 1;
    for (; status != ADAPS_OK; n++) {
        struct ad_engine_options options = {.device = 0};
        struct ad_engine *engine = NULL;
        struct adaps_error err = {0};
        ad_mem_fail_after(n);
        status = ad_engine_new(plan, &options, &weights, &engine, &err);
        ad_mem_fail_after(0);
        ck_assert(status == ADAPS_OK || status == ADAPS_EINTERNAL);
        ck_assert((status == ADAPS_OK) == (engine != NULL));
        ck_assert(status == ADAPS_OK || err.message[0] != '\0');
        ad_engine_free(engine);
    }
    ck_assert_int_gt(n, 10);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(test_sizes)
{
    struct ad_builder b;
    ad_build_init(&b, 1);
    int v = ad_build_input(&b, 1, 32, 32, 8);
    for (int i = 0; i < 10; i++)
        v = ad_build_conv(&b, v, ad_window_square(3, 1, 1, 1, 1), 1, 8);
    struct adaps_plan *plan = make_plan(finish(&b, v), 1, NULL);
    struct ad_engine *engine = new_engine(plan, (struct ad_engine_options){0});
    size_t value = 32 * 32 * 8 * sizeof(float);
    ck_assert_uint_ge(ad_engine_arena_bytes(engine), 2 * value);
    ck_assert_uint_lt(ad_engine_arena_bytes(engine), 2 * value + 1024); /* a chain needs two */
    ck_assert_uint_ge(ad_engine_weight_bytes(engine), 10 * 8 * 9 * 8 * sizeof(float));
    ad_engine_free(engine);
    adaps_plan_free(plan);
}
END_TEST

/* Layers of 16 channels each, that read what all before them have made; the concatenations are of
 * the latest and all before it, or of all the parts. */
static struct ad_graph *dense_graph(bool nested)
{
    struct ad_builder b;
    int parts[5], x;
    ad_build_init(&b, 2);
    parts[0] = x =
        ad_build_conv(&b, ad_build_input(&b, 1, 32, 24, 3), ad_window_square(3, 1, 1, 1, 1), 1, 16);
    for (int i = 1; i < 5; i++) {
        parts[i] = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 16);
        int pair[2] = {x, parts[i]};
        x = nested ? ad_build_concat(&b, pair, 2) : ad_build_concat(&b, parts, i + 1);
    }
    return finish(&b, ad_build_conv(&b, x, ad_window_square(1, 1, 1, 0, 0), 1, 4));
}

/* The memory of a device as planned: the numbers of its weights and of what lies in its arena. */
static size_t planned_arena(const struct adaps_plan *plan, int device)
{
    size_t weights = 0;
    const struct ad_slices *slices = &plan->slices[device];
    for (int i = 0; i < slices->count; i++)
        weights += ad_slice_bytes(plan, &slices->items[i]);
    return (size_t)plan->schedule.memory[device] - weights;
}

/* What a plan does not count, as it does not know who computes it: the copies that the task with
 * the largest ones makes for XNNPACK. */
static size_t most_scratch(const struct adaps_plan *plan, int device)
{
    const struct ad_program *program = &plan->schedule.programs[device];
    struct ad_buffer *buffers = calloc((size_t)plan->graph->nvalues, sizeof *buffers);
    struct adaps_error err = {0};
    size_t most = 0;
    int nticks;
    ck_assert_ptr_nonnull(buffers);
    ck_assert_int_eq(ad_buffers_find(plan->graph, program, device == plan->cluster.source,
                                     device == plan->cluster.source, NULL, NULL, buffers, &nticks,
                                     &err),
                     ADAPS_OK);
    for (int t = 0; t < program->ntasks; t++) {
        struct ad_scratch scratch;
        ck_assert_int_eq(
            ad_task_scratch(plan->graph, buffers, &program->tasks[t], 1, &scratch, &err), ADAPS_OK);
        if (scratch.in_bytes + scratch.out_bytes > most)
            most = scratch.in_bytes + scratch.out_bytes;
    }
    free(buffers);
    return most;
}

/* What is taken and what is planned differ by alignment, slack and those copies. */
static void check_planned(struct adaps_plan *plan, int device)
{
    struct ad_engine *engine =
        new_engine(plan, (struct ad_engine_options){.device = device, .threads = 1});
    size_t have = ad_engine_arena_bytes(engine), planned = planned_arena(plan, device);
    ck_assert_msg(have + 1024 >= planned && have <= planned + 1024 + most_scratch(plan, device),
                  "device %d: %zu bytes planned, %zu taken", device, planned, have);
    ad_engine_free(engine);
}

/* The plan takes no time for concatenations, for which the engine has nothing to do. */
static void check_concats_free(const struct adaps_plan *plan)
{
    const struct ad_graph *graph = plan->graph;
    int concats = 0;
    for (int i = 0; i < graph->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        const struct ad_box *box = &graph->values[op->output].box;
        struct ad_work work = ad_cost_work(graph, op, box->h * box->w * box->c, 0, 0);
        bool concat = op->kind == AD_OP_CONCAT;
        concats += concat;
        ck_assert_int_eq(op->aliased, concat ? box->c : 0);
        ck_assert_int_eq(ad_cost_seconds(&plan->cluster.devices[0], &work) == 0, concat);
    }
    ck_assert_int_eq(concats, 4);
}

/* All layers lie in the last concatenation: with the input there is nothing else, as planned, and a
 * message of one of them is read from there. With our convolutions, and with XNNPACK's. */
START_TEST(test_concats)
{
    bool nested = _i % 2 == 0;
    ad_processor_limit_lanes(_i < 2 ? 16 : 0);
    struct adaps_plan *plan = make_plan(dense_graph(nested), 1, NULL);
    struct ad_engine *engine = new_engine(plan, (struct ad_engine_options){0});
    size_t pixels = 32 * 24 * sizeof(float);
    ck_assert_uint_ge(ad_engine_arena_bytes(engine), pixels * (5 * 16 + 3));
    ck_assert_uint_lt(ad_engine_arena_bytes(engine), pixels * (5 * 16 + 4) + 1024);
    ck_assert_uint_eq(planned_arena(plan, 0), pixels * (5 * 16 + 4));
    check_concats_free(plan);
    ad_engine_free(engine);
    adaps_plan_free(plan);
    check_whole(dense_graph(nested), 6);
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct ad_rng rng = {seed};
        struct adaps_plan *whole = make_plan(dense_graph(nested), 1, NULL);
        struct adaps_plan *split = make_plan(dense_graph(nested), 2 + (int)(seed % 3), &rng);
        for (int d = 0; d < split->cluster.ndevices; d++)
            check_planned(split, d);
        check_same(whole, split, 1, seed);
    }
    ad_processor_limit_lanes(16);
}
END_TEST

/* Four 3x3 convolutions in two bands. */
static struct adaps_plan *banded_plan(bool early)
{
    struct ad_builder b;
    struct ad_cluster cluster;
    struct ad_search_result result = {0};
    ad_build_init(&b, 1);
    int v = ad_build_input(&b, 1, 32, 24, 16);
    for (int i = 0; i < 4; i++)
        v = ad_build_conv(&b, v, ad_window_square(3, 1, 1, 1, 1), 1, 16);
    struct ad_graph *graph = finish(&b, v);
    ck_assert_int_eq(ad_cluster_init(&cluster, 2, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_assignment_init(&result.assignment, graph->nops, 2, NULL), ADAPS_OK);
    for (int i = 0; i < graph->nops; i++) {
        result.assignment.early[i] = early;
        for (int d = 0; d < 2; d++)
            *ad_assigned(&result.assignment, i, d) =
                (struct ad_region){16 * d, 16 * (d + 1), 0, 24, 0, 16};
    }
    return plan_of(graph, &cluster, &result);
}

/* What an operator of XNNPACK takes that has hardly any weights. */
static size_t operator_bytes(void)
{
    static float in[1 + AD_XNN_SLACK], out[1 + AD_XNN_SLACK], weight;
    const struct ad_xnn_fc fc = {.io = {.in = in,
                                        .out = out,
                                        .in_stride = 1,
                                        .out_stride = 1,
                                        .clamp_min = -INFINITY,
                                        .clamp_max = INFINITY},
                                 .rows = 1,
                                 .in_channels = 1,
                                 .out_channels = 1,
                                 .kernel = &weight};
    struct ad_xnn_op *op;
    size_t bytes = 0;
    ck_assert_int_eq(ad_xnn_fc_new(&fc, &op, &bytes, NULL), ADAPS_OK);
    ad_xnn_free(op);
    return bytes;
}

/* Parts of one op hold its packed weights once, and the answer is the same to the bit. */
START_TEST(test_parts_share_weights)
{
    ad_processor_limit_lanes(_i ? 16 : 0);
    struct adaps_plan *plans[2] = {banded_plan(false), banded_plan(true)};
    struct ad_tensor input, answers[2];
    size_t bytes[2];
    random_inputs(plans[0]->graph, 7, &input);
    for (int k = 0; k < 2; k++) {
        struct ad_engine *engine = new_engine(plans[k], (struct ad_engine_options){0});
        bytes[k] = ad_engine_weight_bytes(engine);
        ad_engine_free(engine);
        run_plan(plans[k], 1, &input, &answers[k]);
    }
    ck_assert_int_gt(plans[1]->schedule.programs[0].ntasks, plans[0]->schedule.programs[0].ntasks);
    /* Three more parts, each with a pixel of padding and pointers to the nine taps of the pixels
     * that fill its last tile, of 16 at most. 9216 bytes of weights would have been packed for
     * each. */
    size_t part = operator_bytes() + 128 + 15 * 9 * sizeof(void *);
    ck_assert_uint_gt(bytes[0], 4 * 9216);
    ck_assert_uint_lt(3 * (part - operator_bytes()), 9216); /* so that one packed again is found */
    ck_assert_uint_le(bytes[1], bytes[0] + 3 * part);
    ck_assert_uint_eq(ad_tensor_compare(answers[0].data, answers[1].data, answers[0].count).differ,
                      0);
    ad_tensor_fini(&input);
    free_tensors(answers, 2);
    adaps_plan_free(plans[0]);
    adaps_plan_free(plans[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine");
    TCase *answers = tcase_create("answers"), *interface = tcase_create("interface");
    tcase_set_timeout(answers, 300);
    tcase_add_test(answers, test_whole);
    tcase_add_test(answers, test_bytes);
    tcase_add_loop_test(answers, test_kinds, 0, 7);
    tcase_add_test(answers, test_odd_convolutions);
    tcase_add_test(answers, test_pixel_shuffles);
    tcase_add_loop_test(answers, test_split, 0, sampled(4));
    tcase_add_loop_test(answers, test_split_threads, 0, sampled(2));
    tcase_add_loop_test(answers, test_rounded, 0, 2);
    tcase_add_loop_test(answers, test_partial_sums, 0, sampled(2));
    tcase_add_test(answers, test_split_without_ours);
    tcase_add_loop_test(answers, test_slices, 0, 3);
    tcase_add_loop_test(answers, test_residuals, 0, 4);
    tcase_add_loop_test(answers, test_dense_rows, 0, 3);
    tcase_add_test(answers, test_rows_share_weights);
    tcase_add_test(answers, test_widths_of_dense_rows);
    tcase_set_timeout(interface, 120);
    tcase_add_loop_test(interface, test_steady_state_allocates_nothing, 0, 3);
    tcase_add_test(interface, test_cancel);
    tcase_add_test(interface, test_deadlock_is_named);
    tcase_add_loop_test(interface, test_beside, 0, 8);
    tcase_add_test(interface, test_bad_requests);
    tcase_add_test(interface, test_allocation_failures);
    tcase_add_test(interface, test_sizes);
    tcase_add_loop_test(interface, test_concats, 0, 4);
    tcase_add_loop_test(interface, test_parts_share_weights, 0, 2);
    suite_add_tcase(suite, answers);
    suite_add_tcase(suite, interface);
    return run_suite(suite);
}
