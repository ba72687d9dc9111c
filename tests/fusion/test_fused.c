/* fusion/fused: the backward walk against propagation of single elements, on random graphs. */
#include "support/fused.h"
#include "support/naive_reads.h"
#include "support/random_graph.h"
#include "support/run_suite.h"

#include <check.h>
#include <string.h>

#define GRAPHS 600

static int below(struct ad_rng *rng, int64_t n)
{
    return (int)ad_rng_below(rng, (uint32_t)n);
}

static struct ad_graph *graph_of(int i)
{
    struct ad_random_graph_options options = {.ops = 3 + i % 10,
                                              .max_hw = 4 + i % 7,
                                              .max_c = 1 + i % 5,
                                              .chain = i % 3 == 0,
                                              .spatial = i % 4 == 0,
                                              .outputs = i % 5 == 0,
                                              .wild = i % 2 == 0};
    struct adaps_error err = {0};
    struct ad_graph *graph = NULL;
    enum adaps_status status = ad_random_graph((uint64_t)i, &options, &graph, &err);
    ck_assert_msg(status == ADAPS_OK, "graph %d: %s", i, err.message);
    return graph;
}

static void random_interval(struct ad_rng *rng, int64_t n, int32_t *lo, int32_t *hi)
{
    *lo = below(rng, n);
    *hi = *lo + 1 + below(rng, n - *lo);
}

static struct ad_region random_box(struct ad_rng *rng, const struct ad_value *value)
{
    struct ad_region r;
    random_interval(rng, value->box.h, &r.h0, &r.h1);
    random_interval(rng, value->box.w, &r.w0, &r.w1);
    random_interval(rng, value->box.c, &r.c0, &r.c1);
    return r;
}

/* Bounding boxes of the elements wanted of each value. */
struct wanted {
    const struct ad_op *op;
    struct ad_region *of_value;
};

static void want(void *self, int k, int h, int w, int c)
{
    struct wanted *wanted = self;
    struct ad_region *box = &wanted->of_value[wanted->op->inputs[k]];
    *box = ad_region_hull(*box, (struct ad_region){h, h + 1, w, w + 1, c, c + 1});
}

static void want_inputs(const struct ad_graph *graph, const struct ad_op *op, struct ad_region r,
                        struct ad_region *of_value)
{
    struct wanted wanted = {op, of_value};
    for (int h = r.h0; h < r.h1; h++)
        for (int w = r.w0; w < r.w1; w++)
            for (int c = r.c0; c < r.c1; c++)
                ad_naive_reads(graph, op, h, w, c, want, &wanted);
}

static const struct ad_region untouched = {-1, -2, -3, -4, -5, -6};

/* One range with random wishes; `regions` and `of_value` have room for all ops and values. */
static void check_range(const struct ad_graph *graph, int first, int last, struct ad_rng *rng,
                        struct ad_region *regions, struct ad_region *of_value)
{
    for (int i = 0; i < graph->nops; i++)
        regions[i] = untouched;
    for (int v = 0; v < graph->nvalues; v++)
        of_value[v] = ad_region_none();
    for (int i = first; i <= last; i++) {
        int output = graph->ops[i].output;
        regions[i] = ad_region_none();
        if (i == last || below(rng, 4) == 0)
            regions[i] = random_box(rng, &graph->values[output]);
        of_value[output] = regions[i];
    }
    ad_fused_backward(graph, first, last, regions);
    for (int i = last; i >= first; i--) {
        const struct ad_op *op = &graph->ops[i];
        struct ad_region r = regions[i], least = of_value[op->output];
        ck_assert_msg(ad_region_equal(r, ad_region_allow(graph, op, least)), "%s", op->name);
        if (ad_region_empty(least))
            continue;
        ck_assert(ad_region_contains(r, least));
        ck_assert(ad_naive_allowed(graph, op, r.h0, r.h1, r.w0, r.w1, r.c0, r.c1));
        want_inputs(graph, op, r, of_value);
    }
    for (int v = 0; v < graph->nvalues; v++) {
        int producer = graph->values[v].producer;
        bool within = producer >= first && producer <= last;
        ck_assert_msg(ad_region_equal(ad_fused_input(graph, first, last, regions, v),
                                      within ? ad_region_none() : of_value[v]),
                      "%s", graph->values[v].name);
    }
    for (int i = 0; i < graph->nops; i++)
        if (i < first || i > last)
            ck_assert_int_eq(memcmp(&regions[i], &untouched, sizeof untouched), 0);
}

START_TEST(test_backward)
{
    for (int i = 0; i < GRAPHS; i++) {
        struct ad_graph *graph = graph_of(i);
        struct ad_rng rng = {(uint64_t)i};
        struct ad_region *regions = ad_calloc((size_t)graph->nops, sizeof *regions);
        struct ad_region *of_value = ad_calloc((size_t)graph->nvalues, sizeof *of_value);
        check_range(graph, 0, graph->nops - 1, &rng, regions, of_value);
        for (int round = 0; round < 2; round++) {
            int first = below(&rng, graph->nops);
            check_range(graph, first, first + below(&rng, graph->nops - first), &rng, regions,
                        of_value);
        }
        ad_free(regions);
        ad_free(of_value);
        ad_graph_free(graph);
    }
}
END_TEST

/* Whole outputs in: whole values all the way, as far as they are read. And once more: no change. */
START_TEST(test_again)
{
    for (int i = 0; i < GRAPHS; i++) {
        struct ad_graph *graph = graph_of(i);
        struct ad_rng rng = {(uint64_t)i};
        size_t bytes = (size_t)graph->nops * sizeof(struct ad_region);
        struct ad_region *small = ad_calloc(1, bytes), *large = ad_calloc(1, bytes),
                         *again = ad_calloc(1, bytes);
        int last = graph->nops - 1;
        const struct ad_value *output = &graph->values[graph->ops[last].output];
        large[last] = random_box(&rng, output);
        small[last] = ad_region_intersect(large[last], random_box(&rng, output));
        ad_fused_backward(graph, 0, last, small);
        ad_fused_backward(graph, 0, last, large);
        memcpy(again, large, bytes);
        ad_fused_backward(graph, 0, last, again);
        for (int k = 0; k <= last; k++)
            ck_assert(ad_region_equal(again[k], large[k]));
        /* More wanted, more computed; only a tile grown to two pixels may lie elsewhere. */
        bool grown = false;
        for (int k = last; k >= 0 && !grown; k--) {
            grown = ad_region_pixels(small[k]) == 2;
            ck_assert(grown || ad_region_contains(large[k], small[k]));
        }
        ad_free(small);
        ad_free(large);
        ad_free(again);
        ad_graph_free(graph);
    }
}
END_TEST

/* Three 3x3 convolutions of stride 1, then a pool of stride 2: the pyramid of a row band. */
START_TEST(test_pyramid)
{
    struct ad_builder b;
    struct ad_graph *graph;
    ad_build_init(&b, 1);
    int v = ad_build_input(&b, 1, 16, 16, 3);
    for (int i = 0; i < 3; i++)
        v = ad_build_conv(&b, v, ad_window_square(3, 1, 1, 1, 1), 1, 4);
    ad_build_output(&b, ad_build_pool(&b, AD_OP_MAXPOOL, v, ad_window_square(2, 2, 1, 0, 0)));
    ck_assert_int_eq(ad_build_finish(&b, &graph, NULL), ADAPS_OK);
    struct ad_region r[4] = {{0}};
    r[3] = (struct ad_region){2, 4, 0, 8, 0, 4};
    ad_fused_backward(graph, 0, 3, r);
    ck_assert(ad_region_equal(r[2], (struct ad_region){4, 8, 0, 16, 0, 4}));
    ck_assert(ad_region_equal(r[1], (struct ad_region){3, 9, 0, 16, 0, 4}));
    ck_assert(ad_region_equal(r[0], (struct ad_region){2, 10, 0, 16, 0, 4}));
    ck_assert(
        ad_region_equal(ad_fused_input(graph, 0, 3, r, 0), (struct ad_region){1, 11, 0, 16, 0, 3}));
    ck_assert(ad_region_equal(ad_fused_input(graph, 2, 3, r, graph->ops[1].output), r[1]));
    ck_assert(ad_region_empty(ad_fused_input(graph, 0, 3, r, graph->ops[1].output)));
    ad_graph_free(graph);
}
END_TEST

/* x -> conv 3x3 -> + x: the block reads the hull of both ways. */
START_TEST(test_shortcut)
{
    struct ad_builder b;
    struct ad_graph *graph;
    ad_build_init(&b, 1);
    int x = ad_build_input(&b, 1, 9, 9, 4);
    int y = ad_build_conv(&b, x, ad_window_square(1, 1, 1, 0, 0), 2, 4);
    int z = ad_build_conv(&b, y, ad_window_square(3, 1, 1, 1, 1), 4, 4);
    ad_build_output(&b, ad_build_binary(&b, AD_OP_ADD, z, y));
    ck_assert_int_eq(ad_build_finish(&b, &graph, NULL), ADAPS_OK);
    struct ad_region r[3] = {{0}};
    r[2] = (struct ad_region){0, 3, 4, 9, 2, 3};
    ad_fused_backward(graph, 0, 2, r);
    ck_assert(ad_region_equal(r[1], r[2]));
    ck_assert(ad_region_equal(r[0], (struct ad_region){0, 4, 3, 9, 2, 4})); /* whole groups */
    ck_assert(
        ad_region_equal(ad_fused_input(graph, 0, 2, r, x), (struct ad_region){0, 4, 3, 9, 2, 4}));
    ad_graph_free(graph);
}
END_TEST

/* The generator itself: the same graph for a seed, and no crash at any failing allocation. */
START_TEST(test_generator)
{
    unsigned kinds = 0;
    for (int i = 0; i < GRAPHS; i++) {
        struct ad_graph *a = graph_of(i), *b = graph_of(i);
        ck_assert_int_eq(a->nops, b->nops);
        ck_assert_int_eq(a->nweights, b->nweights);
        for (int k = 0; k < a->nweights; k++)
            ck_assert(ad_digest_equal(&a->weights[k].digest, &b->weights[k].digest));
        for (int k = 0; k < a->nops; k++)
            kinds |= 1u << a->ops[k].kind;
        ad_graph_free(a);
        ad_graph_free(b);
    }
    ck_assert_uint_eq(kinds, (1u << AD_OP_COUNT) - 1);
    struct ad_graph *graph = NULL;
    for (long n = 1; !graph; n++) {
        ad_mem_fail_after(n);
        enum adaps_status status = ad_random_graph(3, NULL, &graph, NULL);
        ad_mem_fail_after(0);
        ck_assert_int_eq(status, graph ? ADAPS_OK : ADAPS_EINTERNAL);
    }
    ad_graph_free(graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fused");
    TCase *tests = tcase_create("fused");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_backward);
    tcase_add_test(tests, test_again);
    tcase_add_test(tests, test_pyramid);
    tcase_add_test(tests, test_shortcut);
    tcase_add_test(tests, test_generator);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
