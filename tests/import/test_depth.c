/* ir/lower_depth: networks over N x C x D x H x W against plain loops over the file's numbers, and
 * the same bits when their maps are split. */
#include "support/import_checks.h"
#include "exec/engine/engine.h"
#include "ir/weight.h"
#include "support/plan_fixture.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

#define CASES 40

/* By axis: depth, height, width. */
struct window {
    int k[3], s[3], d[3], lo[3], hi[3], extra[3];
};

static int pick(struct mb *mb, int lo, int hi)
{
    return lo + (int)ad_rng_below(&mb->rng, (uint32_t)(hi - lo + 1));
}

static struct window random_window(struct mb *mb, bool pool)
{
    struct window w;
    for (int i = 0; i < 3; i++) {
        w.k[i] = pick(mb, 1, 3);
        w.s[i] = pick(mb, 1, 3);
        w.d[i] = pool ? 1 : pick(mb, 1, 2);
        w.lo[i] = pick(mb, 0, w.k[i] - 1);
        w.hi[i] = pick(mb, 0, w.k[i] - 1);
        w.extra[i] = pick(mb, 0, w.s[i] - 1);
    }
    return w;
}

static void set_window(struct mb *mb, Onnx__NodeProto *node, const struct window *w)
{
    mb_ints(mb, node, "strides", MB_DIMS(w->s[0], w->s[1], w->s[2]));
    mb_ints(mb, node, "pads", MB_DIMS(w->lo[0], w->lo[1], w->lo[2], w->hi[0], w->hi[1], w->hi[2]));
    if (w->d[0] * w->d[1] * w->d[2] > 1)
        mb_ints(mb, node, "dilations", MB_DIMS(w->d[0], w->d[1], w->d[2]));
}

/* Element (n, c, z, y, x) of a tensor of rank 5; 0 outside. */
static double at(const struct ad_tensor *t, int64_t n, int64_t c, int64_t z, int64_t y, int64_t x)
{
    const int64_t *d = t->dims;
    if (z < 0 || y < 0 || x < 0 || z >= d[2] || y >= d[3] || x >= d[4])
        return 0;
    return (double)t->data[(((n * d[1] + c) * d[2] + z) * d[3] + y) * d[4] + x];
}

/* What stands at output (n, o, p) of each operator; p by axis. */
typedef double value_fn(const struct ad_tensor *x, const float *w, const struct window *v,
                        int64_t groups, int64_t rows, int64_t n, int64_t o, const int64_t p[3]);

static double conv_value(const struct ad_tensor *x, const float *w, const struct window *v,
                         int64_t groups, int64_t rows, int64_t n, int64_t o, const int64_t p[3])
{
    int64_t per = x->dims[1] / groups, first = o / (rows / groups) * per;
    double sum = 0;
    for (int64_t c = 0; c < per; c++)
        for (int i = 0; i < v->k[0]; i++)
            for (int j = 0; j < v->k[1]; j++)
                for (int k = 0; k < v->k[2]; k++)
                    sum += at(x, n, first + c, p[0] * v->s[0] - v->lo[0] + i * v->d[0],
                              p[1] * v->s[1] - v->lo[1] + j * v->d[1],
                              p[2] * v->s[2] - v->lo[2] + k * v->d[2]) *
                           (double)w[(((o * per + c) * v->k[0] + i) * v->k[1] + j) * v->k[2] + k];
    return sum;
}

/* The input that reaches output p by tap i of an axis; -1 for none. */
static int64_t source(const struct window *v, int axis, int64_t p, int i)
{
    int64_t from = p + v->lo[axis] - i * v->d[axis];
    return from < 0 || from % v->s[axis] ? -1 : from / v->s[axis];
}

static double transposed_value(const struct ad_tensor *x, const float *w, const struct window *v,
                               int64_t groups, int64_t rows, int64_t n, int64_t o,
                               const int64_t p[3])
{
    int64_t per = x->dims[1] / groups, outs = rows / groups, first = o / outs * per;
    double sum = 0;
    for (int64_t c = 0; c < per; c++)
        for (int i = 0; i < v->k[0]; i++)
            for (int j = 0; j < v->k[1]; j++)
                for (int k = 0; k < v->k[2]; k++) {
                    int64_t tap =
                        ((((first + c) * outs + o % outs) * v->k[0] + i) * v->k[1] + j) * v->k[2] +
                        k;
                    sum += at(x, n, first + c, source(v, 0, p[0], i), source(v, 1, p[1], j),
                              source(v, 2, p[2], k)) *
                           (double)w[tap];
                }
    return sum;
}

/* The maximum, or with rows = 1 the mean, with rows = 2 that which counts the padding. */
static double pool_value(const struct ad_tensor *x, const float *w, const struct window *v,
                         int64_t groups, int64_t rows, int64_t n, int64_t o, const int64_t p[3])
{
    double sum = 0, most = -INFINITY, count = 0;
    (void)w, (void)groups;
    for (int i = 0; i < v->k[0]; i++)
        for (int j = 0; j < v->k[1]; j++)
            for (int k = 0; k < v->k[2]; k++) {
                int64_t z = p[0] * v->s[0] - v->lo[0] + i, y = p[1] * v->s[1] - v->lo[1] + j;
                int64_t q = p[2] * v->s[2] - v->lo[2] + k;
                bool inside = z >= 0 && y >= 0 && q >= 0 && z < x->dims[2] && y < x->dims[3] &&
                              q < x->dims[4];
                count += inside || rows == 2;
                sum += at(x, n, o, z, y, q);
                most = inside ? fmax(most, at(x, n, o, z, y, q)) : most;
            }
    return rows == 0 ? most : sum / count;
}

static void compare(const struct ad_tensor *x, const struct ad_tensor *y, value_fn *value,
                    const float *w, const struct window *v, int64_t groups, int64_t rows)
{
    const int64_t *d = y->dims;
    const float *got = y->data;
    int64_t p[3];
    for (int64_t n = 0; n < d[0]; n++)
        for (int64_t o = 0; o < d[1]; o++)
            for (p[0] = 0; p[0] < d[2]; p[0]++)
                for (p[1] = 0; p[1] < d[3]; p[1]++)
                    for (p[2] = 0; p[2] < d[4]; p[2]++)
                        assert_near(*got++, value(x, w, v, groups, rows, n, o, p));
}

/* The engine on one device and in bands on two and three: the reference's numbers, the same bits.
 */
static void run_split(const struct ad_graph *graph, const struct ad_tensor *inputs,
                      const struct ad_tensor *want)
{
    struct ad_tensor one, split;
    for (int n = 1; n <= 3; n++) {
        struct ad_cluster cluster;
        struct ad_graph *copy = NULL;
        struct adaps_error err = {0};
        ck_assert_int_eq(ad_graph_copy(graph, &copy, NULL), ADAPS_OK);
        for (int i = 0; i < graph->nweights; i++) {
            const struct ad_weight *w = &graph->weights[i];
            size_t bytes = (size_t)(w->rows * w->row_elements) * sizeof(float);
            copy->weights[i].data = ad_alloc_aligned(bytes);
            ck_assert_int_eq(ad_weight_read(w, 0, w->rows, copy->weights[i].data, NULL), ADAPS_OK);
        }
        ad_fixture_cluster(&cluster, n);
        struct adaps_plan *plan = ad_fixture_make(copy, &cluster, n == 1 ? "single" : "edgeflow");
        struct ad_tensor *to = n == 1 ? &one : &split;
        ck_assert_msg(ad_fixture_infer(plan, plan->graph, 1, inputs, to, &err) == ADAPS_OK, "%s",
                      err.message);
        for (size_t i = 0; i < want->count; i++)
            assert_near(to->data[i], (double)want->data[i]);
        if (n > 1) {
            ck_assert_uint_eq(ad_tensor_compare(one.data, split.data, one.count).differ, 0);
            ad_tensor_fini(&split);
        }
        adaps_plan_free(plan);
    }
    ad_tensor_fini(&one);
}

START_TEST(convolutions)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct mb mb;
        struct ad_tensor x, y;
        mb_init(&mb, 13);
        mb.rng.state = seed;
        bool transposed = seed % 2;
        struct window v = random_window(&mb, false);
        int g = pick(&mb, 1, 2), in = g * pick(&mb, 1, 3), out = g * pick(&mb, 1, 3);
        mb_input(&mb, "x", MB_DIMS(1, in, pick(&mb, 5, 7), pick(&mb, 5, 9), pick(&mb, 5, 7)));
        Onnx__TensorProto *w =
            transposed ? mb_weights(&mb, "w", MB_DIMS(in, out / g, v.k[0], v.k[1], v.k[2]), NULL)
                       : mb_weights(&mb, "w", MB_DIMS(out, in / g, v.k[0], v.k[1], v.k[2]), NULL);
        Onnx__NodeProto *node = mb_node(&mb, transposed ? "ConvTranspose" : "Conv", "x,w", "y");
        set_window(&mb, node, &v);
        mb_int(&mb, node, "group", g);
        if (transposed)
            mb_ints(&mb, node, "output_padding", MB_DIMS(v.extra[0], v.extra[1], v.extra[2]));
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        y = run_random(graph, &x);
        ck_assert_int_eq(y.rank, 5);
        compare(&x, &y, transposed ? transposed_value : conv_value, floats(w), &v, g, out);
        if (seed % 4 < 2)
            run_split(graph, &x, &y);
        done(&mb, graph, &x, &y);
    }
}
END_TEST

START_TEST(pools)
{
    static const char *const types[] = {"MaxPool", "AveragePool", "AveragePool"};
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct mb mb;
        struct ad_tensor x, y;
        int kind = (int)(seed % 3);
        mb_init(&mb, 13);
        mb.rng.state = seed;
        struct window v = random_window(&mb, true);
        mb_input(&mb, "x", MB_DIMS(2, 3, pick(&mb, 4, 6), pick(&mb, 4, 8), pick(&mb, 4, 6)));
        Onnx__NodeProto *node = mb_node(&mb, types[kind], "x", "p");
        mb_ints(&mb, node, "kernel_shape", MB_DIMS(v.k[0], v.k[1], v.k[2]));
        set_window(&mb, node, &v);
        if (kind == 2)
            mb_int(&mb, node, "count_include_pad", 1);
        mb_node(&mb, "Identity", "p", "y");
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        y = run_random(graph, &x);
        compare(&x, &y, pool_value, NULL, &v, 1, kind);
        if (seed % 4 == 0 && v.k[0] > 1)
            run_split(graph, &x, &y);
        done(&mb, graph, &x, &y);
    }
}
END_TEST

/* Normalisation, activation, addition of constants and of values that have one depth, global pools:
 * on maps all along, up to the product that reads them in the file's order. */
START_TEST(chain)
{
    struct mb mb;
    struct ad_tensor inputs[1], y;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2, 4, 6, 5));
    Onnx__TensorProto *w = mb_weights(&mb, "w", MB_DIMS(3, 2, 1, 1, 1), NULL);
    Onnx__TensorProto *k = mb_weights(&mb, "k", MB_DIMS(3, 1, 1, 1), NULL);
    Onnx__TensorProto *m = mb_weights(&mb, "m", MB_DIMS(7, 3 * 4 * 6 * 5), NULL);
    mb_node(&mb, "Conv", "x,w", "c");
    mb_node(&mb, "Relu", "c", "r");
    mb_node(&mb, "GlobalMaxPool", "r", "g"); /* 1 x 3 x 1 x 1 x 1 */
    mb_node(&mb, "Mul", "r,g", "s");
    mb_node(&mb, "Add", "s,k", "a");
    mb_node(&mb, "Flatten", "a", "f");
    mb_int(&mb, mb_node(&mb, "Gemm", "f,m", "y"), "transB", 1);
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    for (int i = 0; i < graph->nops; i++) /* nothing but the input is put into another order */
        ck_assert(graph->ops[i].kind != AD_OP_PERMUTE || graph->ops[i].inputs[0] == 0);
    y = run_random(graph, inputs);
    double value[3][120], most[3] = {0};
    for (int o = 0; o < 3; o++)
        for (int i = 0; i < 120; i++) {
            double sum = 0;
            for (int c = 0; c < 2; c++)
                sum += (double)inputs[0].data[c * 120 + i] * (double)floats(w)[o * 2 + c];
            value[o][i] = fmax(sum, 0);
            most[o] = fmax(most[o], value[o][i]);
        }
    for (int j = 0; j < 7; j++) {
        double sum = 0;
        for (int o = 0; o < 3; o++)
            for (int i = 0; i < 120; i++)
                sum += (value[o][i] * most[o] + (double)floats(k)[o]) *
                       (double)floats(m)[j * 360 + o * 120 + i];
        ck_assert_msg(fabs((double)y.data[j] - sum) < 1e-4, "%d: %g instead of %g", j,
                      (double)y.data[j], sum);
    }
    run_split(graph, inputs, &y);
    done(&mb, graph, inputs, &y);
}
END_TEST

START_TEST(means)
{
    struct mb mb;
    struct ad_tensor x, y;
    float scale[3] = {2, 1, -1}, zero[3] = {0}, one[3] = {1, 1, 1};
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(2, 3, 4, 5, 6));
    mb_weights(&mb, "s", MB_DIMS(3), scale);
    mb_weights(&mb, "z", MB_DIMS(3), zero);
    mb_weights(&mb, "o", MB_DIMS(3), one);
    mb_float(&mb, mb_node(&mb, "BatchNormalization", "x,s,o,z,o", "b"), "epsilon", 0);
    mb_node(&mb, "GlobalAveragePool", "b", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    y = run_random(graph, &x);
    for (int i = 0; i < 6; i++) {
        double sum = 0;
        for (int k = 0; k < 120; k++)
            sum += (double)x.data[i * 120 + k];
        assert_near(y.data[i], sum / 120 * (double)scale[i % 3] + 1);
    }
    run_split(graph, &x, &y);
    done(&mb, graph, &x, &y);
}
END_TEST

/* Output depths share their weights: there is one copy of them, which is more than the tables that
 * XNNPACK, where it is used, has for each depth. */
START_TEST(weights_once)
{
    struct mb mb;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 64, 9, 6, 6));
    mb_weights(&mb, "w", MB_DIMS(16, 64, 3, 3, 3), NULL);
    mb_ints(&mb, mb_node(&mb, "Conv", "x,w", "y"), "pads", MB_DIMS(1, 1, 1, 1, 1, 1));
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    struct ad_cluster cluster;
    struct adaps_error err = {0};
    struct ad_engine *engine;
    ck_assert_int_eq(graph->nweights, 1);
    ad_fixture_cluster(&cluster, 1);
    struct adaps_plan *plan = ad_fixture_make(graph, &cluster, "single");
    struct ad_weight_source weights = ad_weights_of_graph(plan->graph);
    struct ad_engine_options options = {.device = 0, .threads = 1};
    ck_assert_msg(ad_engine_new(plan, &options, &weights, &engine, &err) == ADAPS_OK, "%s",
                  err.message);
    ck_assert_uint_lt(ad_engine_weight_bytes(engine), 2 * 16 * 64 * 27 * sizeof(float));
    ad_engine_free(engine);
    adaps_plan_free(plan);
    mb_fini(&mb);
}
END_TEST

START_TEST(refusals)
{
    struct mb mb;
    mb_init(&mb, 13); /* 40000 output depths */
    mb_input(&mb, "x", MB_DIMS(1, 1, 40000, 1, 1));
    mb_weights(&mb, "w", MB_DIMS(1, 1, 1, 1, 1), NULL);
    mb_node(&mb, "Conv", "x,w", "y");
    mb_output(&mb, "y");
    import_refused(&mb, "over its depth it becomes about 120001 operators");

    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 1, 3, 3, 3));
    Onnx__NodeProto *pool = mb_node(&mb, "MaxPool", "x", "y");
    mb_ints(&mb, pool, "kernel_shape", MB_DIMS(1, 1, 1));
    mb_ints(&mb, pool, "pads", MB_DIMS(1, 0, 0, 0, 0, 0));
    mb_output(&mb, "y");
    import_refused(&mb, "in the padding of the depth alone");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("depth");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, convolutions);
    tcase_add_test(tc, pools);
    tcase_add_test(tc, chain);
    tcase_add_test(tc, means);
    tcase_add_test(tc, weights_once);
    tcase_add_test(tc, refusals);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
