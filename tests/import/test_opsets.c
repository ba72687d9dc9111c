/* ir/import: what opsets 18 to 24 added, each form against what ONNX says of it. */
#include "support/import_checks.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- AveragePool with dilations (19) --- */

/* A window by axis: depth, height, width. */
struct pool {
    int rank;
    int64_t in[3], k[3], s[3], d[3], lo[3], hi[3];
    bool ceil_mode, count_pad;
};

static int64_t output_size(const struct pool *p, int i)
{
    int64_t room = p->in[i] + p->lo[i] + p->hi[i] - p->d[i] * (p->k[i] - 1) - 1;
    int64_t out = room / p->s[i] + 1;
    bool more = p->ceil_mode && room % p->s[i] != 0 && out * p->s[i] < p->in[i] + p->lo[i];
    return out + more;
}

static double average_at(const struct pool *p, const float *x, const int64_t at[3])
{
    double sum = 0, count = 0;
    for (int64_t t = 0; t < p->k[0] * p->k[1] * p->k[2]; t++) {
        const int64_t tap[] = {t / p->k[2] / p->k[1], t / p->k[2] % p->k[1], t % p->k[2]};
        int64_t from = 0;
        bool inside = true, counts = true;
        for (int i = 0; i < 3; i++) {
            int64_t pos = at[i] * p->s[i] - p->lo[i] + tap[i] * p->d[i];
            inside = inside && pos >= 0 && pos < p->in[i];
            counts = counts && pos < p->in[i] + p->hi[i];
            from = from * p->in[i] + pos;
        }
        sum += inside ? (double)x[from] : 0;
        count += p->count_pad ? counts : inside;
    }
    return sum / count;
}

/* The numbers of the last rank - 2 axes; `twice`: those of the beginnings and of the ends. */
static const int64_t *axes_of(const struct pool *p, const int64_t *a, const int64_t *twice,
                              int64_t to[9])
{
    int n = p->rank - 2;
    for (int i = 0; i < n; i++) {
        to[i] = a[3 - n + i];
        to[n + i] = twice ? twice[3 - n + i] : 0;
    }
    to[twice ? 2 * n : n] = -9;
    return to;
}

/* x (channels times the pool's input) -> y, padded by hand as the last numbers say. */
static void build_pool(struct mb *mb, const struct pool *p)
{
    int64_t list[9], dims[] = {1, 2, -9, -9, -9, -9};
    memcpy(dims + 2, axes_of(p, p->in, NULL, list), (size_t)(p->rank - 2) * sizeof *dims);
    mb_init(mb, 19);
    mb_input(mb, "x", dims);
    Onnx__NodeProto *node = mb_node(mb, "AveragePool", "x", "y");
    mb_ints(mb, node, "kernel_shape", axes_of(p, p->k, NULL, list));
    mb_ints(mb, node, "strides", axes_of(p, p->s, NULL, list));
    mb_ints(mb, node, "dilations", axes_of(p, p->d, NULL, list));
    mb_ints(mb, node, "pads", axes_of(p, p->lo, p->hi, list));
    mb_int(mb, node, "ceil_mode", p->ceil_mode);
    mb_int(mb, node, "count_include_pad", p->count_pad);
    mb_output(mb, "y");
}

static const struct {
    int rank;
    int64_t in[3], k[3], s[3], d[3], lo[3], hi[3];
} pools[] = {
    {3, {1, 1, 11}, {1, 1, 3}, {1, 1, 2}, {1, 1, 3}, {0, 0, 0}, {0, 0, 1}},
    {4, {1, 9, 8}, {1, 3, 2}, {1, 1, 1}, {1, 2, 3}, {0, 0, 0}, {0, 0, 0}},
    {4, {1, 9, 8}, {1, 3, 2}, {1, 2, 3}, {1, 2, 2}, {0, 2, 1}, {0, 1, 0}},
    {4, {1, 7, 10}, {1, 1, 3}, {1, 3, 2}, {1, 5, 2}, {0, 0, 3}, {0, 0, 2}},
    {5, {6, 7, 5}, {2, 3, 2}, {1, 2, 1}, {3, 2, 1}, {1, 0, 1}, {2, 1, 0}},
};

/* Loop: pools, each with and without ceil_mode and count_include_pad. */
START_TEST(dilated_averages)
{
    for (int form = 0; form < 4; form++) {
        struct mb mb;
        struct ad_tensor x;
        struct pool p = {.rank = pools[_i].rank, .ceil_mode = form & 1, .count_pad = form & 2};
        memcpy(p.in, pools[_i].in, sizeof p.in);
        memcpy(p.k, pools[_i].k, sizeof p.k);
        memcpy(p.s, pools[_i].s, sizeof p.s);
        memcpy(p.d, pools[_i].d, sizeof p.d);
        memcpy(p.lo, pools[_i].lo, sizeof p.lo);
        memcpy(p.hi, pools[_i].hi, sizeof p.hi);
        build_pool(&mb, &p);
        struct ad_graph *graph = import_ok(&mb);
        struct ad_tensor y = run_random(graph, &x);
        size_t in = (size_t)(p.in[0] * p.in[1] * p.in[2]), k = 0;
        const int64_t out[] = {output_size(&p, 0), output_size(&p, 1), output_size(&p, 2)};
        ck_assert_uint_eq(y.count, (size_t)(2 * out[0] * out[1] * out[2]));
        for (size_t c = 0; c < 2; c++)
            for (int64_t o = 0; o < out[0] * out[1] * out[2]; o++) {
                const int64_t at[] = {o / out[2] / out[1], o / out[2] % out[1], o % out[2]};
                assert_near(y.data[k++], average_at(&p, x.data + c * in, at));
            }
        done(&mb, graph, &x, &y);
    }
}
END_TEST

START_TEST(average_of_padding)
{
    struct mb mb;
    const struct pool p = {
        .rank = 4,
        .in = {1, 3, 3},
        .k = {1, 2, 2},
        .s = {1, 1, 1},
        .d = {1, 5, 1},
        .lo = {0, 4, 0},
        .hi = {0, 4, 0},
    };
    build_pool(&mb, &p); /* rows -4 and 1, ..., -1 and 4: the last of these is in the padding */
    import_refused(&mb, "(AveragePool): a window lies wholly in the padding");
}
END_TEST

/* --- Resize (18, 19) --- */

/* Where output i of n comes from: half_pixel, and the middles of input and output meet. */
static double symmetric_at(int64_t i, int64_t in, int64_t n, double scale)
{
    double adjustment = (double)n / (scale * (double)in);
    return (double)in / 2 * (1 - adjustment) + ((double)i + 0.5) / scale - 0.5;
}

static double linear_at(const float *x, int64_t height, int64_t width, double h, double w)
{
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        double top = floor(h) + k / 2, left = floor(w) + k % 2;
        double weight = (1 - fabs(h - top)) * (1 - fabs(w - left));
        int64_t row = (int64_t)fmin(fmax(top, 0), (double)height - 1);
        int64_t column = (int64_t)fmin(fmax(left, 0), (double)width - 1);
        sum += weight * (double)x[row * width + column];
    }
    return sum;
}

static const struct {
    float scale[2];
    int64_t out[2];
    const char *coordinates;
} resizes[] = {
    {{0.6f, 0.8f}, {3, 5}, "half_pixel_symmetric"}, /* 5 x 7: 3 and 5.6 */
    {{1.3f, 2}, {6, 14}, "half_pixel_symmetric"},
    {{2, 3}, {10, 21}, "half_pixel"}, /* the filter of antialias is for what becomes smaller */
    {{1, 1.5f}, {5, 10}, "half_pixel_symmetric"},
};

/* Loop: resizes. */
START_TEST(resized_linearly)
{
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 19);
    mb_input(&mb, "x", MB_DIMS(1, 2, 5, 7));
    mb_weights(&mb, "scales", MB_DIMS(2), resizes[_i].scale);
    Onnx__NodeProto *node = mb_node(&mb, "Resize", "x,,scales", "y");
    mb_ints(&mb, node, "axes", MB_DIMS(2, 3));
    mb_string(&mb, node, "mode", "linear");
    mb_string(&mb, node, "coordinate_transformation_mode", resizes[_i].coordinates);
    mb_int(&mb, node, "antialias", strcmp(resizes[_i].coordinates, "half_pixel") == 0);
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    struct ad_tensor y = run_random(graph, &x);
    int64_t n = resizes[_i].out[0], m = resizes[_i].out[1];
    ck_assert_uint_eq(y.count, (size_t)(2 * n * m));
    for (int64_t k = 0; k < 2 * n * m; k++) {
        double h = symmetric_at(k / m % n, 5, n, (double)resizes[_i].scale[0]);
        double w = symmetric_at(k % m, 7, m, (double)resizes[_i].scale[1]);
        assert_near(y.data[k], linear_at(x.data + k / (n * m) * 35, 5, 7, h, w));
    }
    done(&mb, graph, &x, &y);
}
END_TEST

/* 3 x 6 to 7 x 9 or thereabouts. */
START_TEST(aspect_ratio)
{
    static const struct {
        const char *policy, *dims;
        int64_t height, width;
        double scale;
    } policies[] = {
        {"not_larger", "1x2x5x9", 5, 9, 1.5}, /* 4.5 is rounded up */
        {"not_smaller", "1x2x7x14", 7, 14, 7.0 / 3},
    };
    for (int i = 0; i < 2; i++)
        for (int axes = 0; axes < 2; axes++) {
            struct mb mb;
            struct ad_tensor x;
            mb_init(&mb, 18);
            mb_input(&mb, "x", MB_DIMS(1, 2, 3, 6));
            mb_shape(&mb, "sizes", axes ? MB_DIMS(9, 7) : MB_DIMS(7, 9));
            Onnx__NodeProto *node = mb_node(&mb, "Resize", "x,,,sizes", "y");
            mb_ints(&mb, node, "axes", axes ? MB_DIMS(-1, -2) : MB_DIMS(2, 3));
            mb_string(&mb, node, "coordinate_transformation_mode", "asymmetric");
            mb_string(&mb, node, "nearest_mode", "floor");
            mb_string(&mb, node, "keep_aspect_ratio_policy", policies[i].policy);
            mb_output(&mb, "y");
            struct ad_graph *graph = import_ok(&mb);
            assert_dims(graph, graph->outputs[0], policies[i].dims);
            struct ad_tensor y = run_random(graph, &x);
            int64_t n = policies[i].height, m = policies[i].width;
            for (int64_t k = 0; k < 2 * n * m; k++) {
                int64_t h = (int64_t)floor((double)(k / m % n) / policies[i].scale + 1e-9);
                int64_t w = (int64_t)floor((double)(k % m) / policies[i].scale + 1e-9);
                ck_assert(y.data[k] == x.data[k / (n * m) * 18 + h * 6 + w]);
            }
            done(&mb, graph, &x, &y);
        }
}
END_TEST

/* Of all axes, the batch and the channels, too, which stay: so does everything. */
START_TEST(aspect_ratio_of_all)
{
    struct mb mb;
    mb_init(&mb, 18);
    mb_input(&mb, "x", MB_DIMS(1, 2, 3, 6));
    mb_shape(&mb, "sizes", MB_DIMS(1, 2, 7, 9));
    Onnx__NodeProto *node = mb_node(&mb, "Resize", "x,,,sizes", "y");
    mb_string(&mb, node, "keep_aspect_ratio_policy", "not_larger");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_dims(graph, graph->outputs[0], "1x2x3x6");
    done(&mb, graph, NULL, NULL);
}
END_TEST

/* --- Split (18), Pad (19) --- */

START_TEST(uneven_split)
{
    static const int order[] = {6, 3, 4, 5, 0, 1, 2};
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 18);
    mb_input(&mb, "x", MB_DIMS(1, 7));
    Onnx__NodeProto *node = mb_node(&mb, "Split", "x", "a,b,c"); /* 3, 3 and 1 */
    mb_int(&mb, node, "axis", 1);
    mb_int(&mb, node, "num_outputs", 3);
    mb_int(&mb, mb_node(&mb, "Concat", "c,b,a", "y"), "axis", 1);
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    struct ad_tensor y = run_random(graph, &x);
    ck_assert_uint_eq(y.count, 7);
    for (int k = 0; k < 7; k++)
        ck_assert(y.data[k] == x.data[order[k]]);
    done(&mb, graph, &x, &y);
}
END_TEST

/* The pads of axes 3 and 2; the value beyond one end is that of the other. */
START_TEST(wrapped_padding)
{
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 19);
    mb_input(&mb, "x", MB_DIMS(1, 2, 3, 4));
    mb_shape(&mb, "pads", MB_DIMS(1, 4, 5, 0));
    mb_shape(&mb, "axes", MB_DIMS(3, -2));
    mb_string(&mb, mb_node(&mb, "Pad", "x,pads,,axes", "y"), "mode", "wrap");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_dims(graph, graph->outputs[0], "1x2x7x10");
    struct ad_tensor y = run_random(graph, &x);
    for (int k = 0; k < 140; k++) {
        int h = (k / 10 % 7 + 6 - 4) % 3, w = (k % 10 + 4 - 1) % 4;
        ck_assert(y.data[k] == x.data[k / 70 * 12 + h * 4 + w]);
    }
    done(&mb, graph, &x, &y);
}
END_TEST

/* --- RMSNormalization (23), Swish (24) --- */

/* Loop: over the last dim with a scale for each; over all but the first two with one for each row;
 * the same with one number for all. */
START_TEST(root_mean_square)
{
    static const float scale[] = {0.5f, -1, 2, 3, 0.25f};
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 23);
    mb_input(&mb, "x", MB_DIMS(1, 3, 4, 5));
    mb_weights(&mb, "scale", _i == 0 ? MB_DIMS(5) : _i == 1 ? MB_DIMS(4, 1) : MB_SCALAR, scale);
    Onnx__NodeProto *node = mb_node(&mb, "RMSNormalization", "x,scale", "y");
    if (_i > 0)
        mb_int(&mb, node, "axis", 2);
    mb_float(&mb, node, "epsilon", 0.125f);
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    struct ad_tensor y = run_random(graph, &x);
    size_t row = _i == 0 ? 5 : 20;
    for (size_t k = 0; k < 60; k++) {
        double sum = 0;
        for (size_t i = 0; i < row; i++)
            sum += pow((double)x.data[k / row * row + i], 2);
        float factor = scale[_i == 0 ? k % 5 : _i == 1 ? k / 5 % 4 : 0];
        assert_near(y.data[k],
                    (double)x.data[k] / sqrt(sum / (double)row + 0.125) * (double)factor);
    }
    done(&mb, graph, &x, &y);
}
END_TEST

START_TEST(swish)
{
    static const float alphas[] = {1, 1.702f, -0.5f, 0};
    for (size_t i = 0; i < sizeof alphas / sizeof *alphas; i++) {
        struct mb mb;
        struct ad_tensor x;
        mb_init(&mb, 24);
        mb_input(&mb, "x", MB_DIMS(1, 3, 4, 5));
        Onnx__NodeProto *node = mb_node(&mb, "Swish", "x", "y");
        if (i > 0)
            mb_float(&mb, node, "alpha", alphas[i]);
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        struct ad_tensor y = run_random(graph, &x);
        for (size_t k = 0; k < 60; k++) {
            double v = (double)x.data[k];
            assert_near(y.data[k], v / (1 + exp(-(double)alphas[i] * v)));
        }
        done(&mb, graph, &x, &y);
    }
    struct mb mb;
    mb_init(&mb, 24);
    mb_input(&mb, "x", MB_DIMS(1, 3));
    mb_float(&mb, mb_node(&mb, "Swish", "x", "y"), "alpha", INFINITY);
    mb_output(&mb, "y");
    import_refused(&mb, "(Swish): alpha inf");
}
END_TEST

/* --- element types (23, 24) --- */

START_TEST(unread_types)
{
    static const char *const names[] = {"float8e4m3fn",   "float8e4m3fnuz", "float8e5m2",
                                        "float8e5m2fnuz", "uint4",          "int4",
                                        "float4e2m1",     "float8e8m0",     "type 25"};
    for (int i = 0; i < 9; i++) {
        struct mb mb;
        char reason[80];
        mb_init(&mb, 24);
        mb_input(&mb, "x", MB_DIMS(1, 3))->type->tensor_type->elem_type = 17 + i;
        mb_node(&mb, "Relu", "x", "y");
        mb_output(&mb, "y");
        snprintf(reason, sizeof reason, "input 'x' is of type %s: only floats", names[i]);
        import_refused(&mb, reason);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("opsets");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, dilated_averages, 0, (int)(sizeof pools / sizeof *pools));
    tcase_add_test(tc, average_of_padding);
    tcase_add_loop_test(tc, resized_linearly, 0, (int)(sizeof resizes / sizeof *resizes));
    tcase_add_test(tc, aspect_ratio);
    tcase_add_test(tc, aspect_ratio_of_all);
    tcase_add_test(tc, uneven_split);
    tcase_add_test(tc, wrapped_padding);
    tcase_add_loop_test(tc, root_mean_square, 0, 3);
    tcase_add_test(tc, swish);
    tcase_add_test(tc, unread_types);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
