/* ir/import: windows, folding, fusion and constants, against numbers computed here. */
#include "support/import_checks.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

/* --- convolution --- */

/* Element o, h, w of an ungrouped stride 1 convolution padded by `pad`, image n. */
static double conv_at(const struct ad_tensor *x, const Onnx__TensorProto *w, int64_t pad, int64_t n,
                      int64_t o, int64_t oh, int64_t ow)
{
    int64_t channels = x->dims[1], height = x->dims[2], width = x->dims[3];
    int64_t kh = w->dims[2], kw = w->dims[3];
    double sum = 0;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t i = 0; i < kh; i++)
            for (int64_t j = 0; j < kw; j++) {
                int64_t h = oh - pad + i, v = ow - pad + j;
                if (h >= 0 && h < height && v >= 0 && v < width)
                    sum += (double)x->data[((n * channels + c) * height + h) * width + v] *
                           (double)floats(w)[((o * channels + c) * kh + i) * kw + j];
            }
    return sum;
}

START_TEST(conv_bn_relu_is_one_op)
{
    static const float variance[] = {0.5f, 1, 2, 4};
    for (int with_bias = 0; with_bias < 2; with_bias++) {
        struct mb mb;
        struct ad_tensor x;
        mb_init(&mb, 13);
        mb_input(&mb, "x", MB_DIMS(2, 3, 6, 5));
        Onnx__TensorProto *w = mb_weights(&mb, "w", MB_DIMS(4, 3, 3, 3), NULL);
        Onnx__TensorProto *b = mb_weights(&mb, "b", MB_DIMS(4), NULL);
        Onnx__TensorProto *scale = mb_weights(&mb, "scale", MB_DIMS(4), NULL);
        Onnx__TensorProto *shift = mb_weights(&mb, "shift", MB_DIMS(4), NULL);
        Onnx__TensorProto *mean = mb_weights(&mb, "mean", MB_DIMS(4), NULL);
        mb_weights(&mb, "var", MB_DIMS(4), variance);
        Onnx__NodeProto *conv = mb_node(&mb, "Conv", with_bias ? "x,w,b" : "x,w", "c");
        conv->name = "c1";
        mb_ints(&mb, conv, "pads", MB_DIMS(1, 1, 1, 1));
        mb_float(&mb, mb_node(&mb, "BatchNormalization", "c,scale,shift,mean,var", "n"), "epsilon",
                 0.01f);
        mb_node(&mb, "Relu", "n", "y");
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        assert_kinds(graph, "Conv");
        ck_assert_str_eq(graph->ops[0].type, "Conv+Relu");
        ck_assert_str_eq(graph->ops[0].name, "c1");
        ck_assert_str_eq(graph->values[graph->outputs[0]].name, "y");
        ck_assert(graph->ops[0].clamp_min == 0 && graph->ops[0].clamp_max == INFINITY);
        struct ad_tensor y = run_random(graph, &x);
        for (int64_t n = 0; n < 2; n++)
            for (int64_t o = 0; o < 4; o++)
                for (int64_t h = 0; h < 6; h++)
                    for (int64_t v = 0; v < 5; v++) {
                        double c = conv_at(&x, w, 1, n, o, h, v);
                        c += with_bias ? (double)floats(b)[o] : 0;
                        c = (c - (double)floats(mean)[o]) / sqrt((double)variance[o] + 0.01) *
                                (double)floats(scale)[o] +
                            (double)floats(shift)[o];
                        assert_near(y.data[((n * 4 + o) * 6 + h) * 5 + v], c > 0 ? c : 0);
                    }
        done(&mb, graph, &x, &y);
    }
}
END_TEST

/* BN(x) of a value of any rank, alone: y = (x - mean) / sqrt(var + eps) * scale + shift. */
START_TEST(batchnorm_alone)
{
    static const struct {
        int64_t dims[5];
        const char *kinds;
    } cases[] = {{{2, 3, 4, 5, -9}, "Conv"}, {{2, 3, 4, -9}, "Mul,Add"}, {{2, 3, -9}, "Mul,Add"}};
    for (size_t i = 0; i < 3; i++) {
        struct mb mb;
        struct ad_tensor x;
        static const float var[] = {1, 2, 3};
        mb_init(&mb, 9);
        mb_input(&mb, "x", cases[i].dims);
        Onnx__TensorProto *s = mb_weights(&mb, "s", MB_DIMS(3), NULL);
        Onnx__TensorProto *b = mb_weights(&mb, "b", MB_DIMS(3), NULL);
        Onnx__TensorProto *m = mb_weights(&mb, "m", MB_DIMS(3), NULL);
        mb_weights(&mb, "v", MB_DIMS(3), var);
        mb_node(&mb, "BatchNormalization", "x,s,b,m,v", "n");
        mb_node(&mb, "Relu", "n", "y");
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        assert_kinds(graph, cases[i].kinds);
        struct ad_tensor y = run_random(graph, &x);
        size_t inner = x.count / 6;
        for (size_t k = 0; k < x.count; k++) {
            size_t c = k / inner % 3;
            double want = ((double)x.data[k] - (double)floats(m)[c]) /
                              sqrt((double)var[c] + (double)1e-5f) * (double)floats(s)[c] +
                          (double)floats(b)[c];
            assert_near(y.data[k], want > 0 ? want : 0);
        }
        done(&mb, graph, &x, &y);
    }
}
END_TEST

START_TEST(shared_results_are_not_fused)
{
    struct mb mb;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2, 4, 4));
    mb_weights(&mb, "w", MB_DIMS(2, 2, 1, 1), NULL);
    mb_node(&mb, "Conv", "x,w", "c");
    mb_node(&mb, "Relu", "c", "r");
    mb_node(&mb, "Add", "r,c", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_kinds(graph, "Conv,Unary,Add");
    done(&mb, graph, NULL, NULL);

    mb_init(&mb, 13); /* the result before the activation is an output, too */
    mb_input(&mb, "x", MB_DIMS(1, 2, 4, 4));
    mb_weights(&mb, "w", MB_DIMS(2, 2, 1, 1), NULL);
    mb_node(&mb, "Conv", "x,w", "c");
    mb_node(&mb, "Relu", "c", "r");
    mb_output(&mb, "r");
    mb_output(&mb, "c");
    graph = import_ok(&mb);
    assert_kinds(graph, "Conv,Unary");
    ck_assert_str_eq(graph->values[graph->outputs[1]].name, "c");
    done(&mb, graph, NULL, NULL);
}
END_TEST

START_TEST(clip_in_its_forms)
{
    static const struct {
        int64_t opset;
        float lo, hi, want_lo, want_hi;
        bool has_lo, has_hi;
    } cases[] = {
        {6, 0, 6, 0, 6, true, true},
        {11, 0, 6, 0, 6, true, true},
        {13, -1, 0, -1, INFINITY, true, false},
        {13, 0, 3, -INFINITY, 3, false, true},
        {13, 5, 2, 2, 2, true, true}, /* bounds that cross: max wins */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mb mb;
        mb_init(&mb, cases[i].opset);
        mb_input(&mb, "x", MB_DIMS(1, 3, 4, 4));
        mb_node(&mb, "MaxPool", "x", "p");
        mb_ints(&mb, mb.proto->graph->node[0], "kernel_shape", MB_DIMS(2, 2));
        if (cases[i].opset < 11) {
            Onnx__NodeProto *clip = mb_node(&mb, "Clip", "p", "y");
            mb_float(&mb, clip, "min", cases[i].lo);
            mb_float(&mb, clip, "max", cases[i].hi);
        } else {
            mb_weights(&mb, "lo", MB_SCALAR, &cases[i].lo);
            mb_weights(&mb, "hi", MB_SCALAR, &cases[i].hi);
            mb_node(&mb, "Clip", cases[i].has_lo ? cases[i].has_hi ? "p,lo,hi" : "p,lo" : "p,,hi",
                    "y");
        }
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        assert_kinds(graph, "MaxPool");
        ck_assert(graph->ops[0].clamp_min == cases[i].want_lo);
        ck_assert(graph->ops[0].clamp_max == cases[i].want_hi);
        done(&mb, graph, NULL, NULL);
    }
}
END_TEST

START_TEST(two_clamps_become_one)
{
    struct mb mb;
    struct ad_tensor x;
    static const float lo = -0.5f, hi = 0.25f;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(2, 40));
    mb_weights(&mb, "lo", MB_SCALAR, &lo);
    mb_weights(&mb, "hi", MB_SCALAR, &hi);
    mb_node(&mb, "Clip", "x,lo,hi", "c");
    mb_shape(&mb, "shape", MB_DIMS(4, 20));
    mb_node(&mb, "Reshape", "c,shape", "r");
    mb_node(&mb, "Relu", "r", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_kinds(graph, "Unary,Reshape"); /* the activation moves before the reshape */
    struct ad_tensor y = run_random(graph, &x);
    for (int i = 0; i < 80; i++)
        ck_assert(y.data[i] == (x.data[i] < 0 ? 0 : x.data[i] > hi ? hi : x.data[i]));
    done(&mb, graph, &x, &y);
}
END_TEST

START_TEST(conv_and_addend)
{
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2, 3, 3));
    Onnx__TensorProto *w = mb_weights(&mb, "w", MB_DIMS(4, 2, 1, 1), NULL);
    Onnx__TensorProto *c = mb_weights(&mb, "c", MB_DIMS(4, 1, 1), NULL);
    mb_weights(&mb, "row", MB_DIMS(3), NULL); /* along the width: no bias */
    mb_node(&mb, "Conv", "x,w", "m");
    mb_node(&mb, "Add", "m,c", "y");
    mb_node(&mb, "Add", "m2,row", "z");
    mb_node(&mb, "Conv", "x,w", "m2");
    mb_output(&mb, "y");
    mb_output(&mb, "z");
    struct ad_graph *graph = import_ok(&mb);
    assert_kinds(graph, "Conv,Conv,Add"); /* and the nodes were out of order */
    struct ad_tensor y = run_random(graph, &x);
    for (int o = 0; o < 4; o++)
        for (int k = 0; k < 9; k++)
            assert_near(y.data[o * 9 + k],
                        conv_at(&x, w, 0, 0, o, k / 3, k % 3) + (double)floats(c)[o]);
    done(&mb, graph, &x, &y);
}
END_TEST

/* A factor per channel, as ConvNeXt scales its blocks, and one for all; not one along the width. */
START_TEST(conv_and_factors)
{
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2, 3, 3));
    Onnx__TensorProto *w = mb_weights(&mb, "w", MB_DIMS(4, 2, 1, 1), NULL);
    Onnx__TensorProto *bias = mb_weights(&mb, "b", MB_DIMS(4), NULL);
    Onnx__TensorProto *c = mb_weights(&mb, "c", MB_DIMS(4, 1, 1), NULL);
    Onnx__TensorProto *one = mb_weights(&mb, "one", MB_DIMS(1), NULL);
    mb_weights(&mb, "row", MB_DIMS(3), NULL);
    mb_node(&mb, "Conv", "x,w,b", "m");
    mb_node(&mb, "Mul", "c,m", "s");
    mb_node(&mb, "Mul", "s,one", "y");
    mb_node(&mb, "Conv", "x,w", "m2");
    mb_node(&mb, "Mul", "m2,row", "z");
    mb_output(&mb, "y");
    mb_output(&mb, "z");
    struct ad_graph *graph = import_ok(&mb);
    assert_kinds(graph, "Conv,Conv,Mul");
    ck_assert_str_eq(graph->ops[0].type, "Conv+Mul+Mul");
    struct ad_tensor y = run_random(graph, &x);
    for (int o = 0; o < 4; o++)
        for (int k = 0; k < 9; k++)
            assert_near(y.data[o * 9 + k],
                        (conv_at(&x, w, 0, 0, o, k / 3, k % 3) + (double)floats(bias)[o]) *
                            (double)floats(c)[o] * (double)floats(one)[0]);
    done(&mb, graph, &x, &y);
}
END_TEST

/* --- windows --- */

START_TEST(windows)
{
    static const struct {
        const char *type, *auto_pad;
        int64_t size, kernel, stride, dilation, before, after, ceil_mode;
        int64_t out, want_before, want_after, want_real; /* 0 out: refused */
    } cases[] = {
        {"Conv", NULL, 7, 3, 2, 1, 1, 0, 0, 3, 1, 0, 0},
        {"Conv", NULL, 9, 3, 1, 2, 2, 2, 0, 9, 2, 2, 2},
        {"Conv", "SAME_UPPER", 6, 3, 2, 1, 0, 0, 0, 3, 0, 1, 1},
        {"Conv", "SAME_LOWER", 6, 3, 2, 1, 0, 0, 0, 3, 1, 0, 0},
        {"Conv", "SAME_UPPER", 5, 1, 2, 1, 0, 0, 0, 3, 0, 0, 0},
        {"Conv", "VALID", 6, 3, 2, 1, 0, 0, 0, 2, 0, 0, 0},
        {"Conv", NULL, 4, 1, 1, 1, 2, 2, 0, 8, 2, 2, 2}, /* windows in the padding: fine here */
        {"Conv", NULL, 3, 5, 1, 1, 0, 1, 0, 0, 0, 0, 0},
        {"MaxPool", NULL, 6, 3, 2, 1, 0, 0, 1, 3, 0, 1, 0},
        {"MaxPool", NULL, 6, 3, 2, 1, 0, 0, 0, 2, 0, 0, 0},
        {"MaxPool", NULL, 7, 3, 2, 2, 1, 1, 0, 3, 1, 1, 1},
        {"MaxPool", NULL, 4, 2, 3, 1, 1, 1, 1, 2, 1, 1, 1},
        {"MaxPool", NULL, 4, 2, 2, 1, 2, 2, 0, 0, 0, 0, 0}, /* a window without input */
        {"AveragePool", NULL, 6, 3, 2, 1, 1, 1, 1, 4, 1, 2, 1},
        {"AveragePool", NULL, 5, 2, 2, 1, 1, 0, 1, 3, 1, 0, 0}, /* starts beyond: left out */
        {"AveragePool", "SAME_UPPER", 5, 2, 2, 1, 0, 0, 0, 3, 0, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mb mb;
        bool conv = strcmp(cases[i].type, "Conv") == 0;
        int64_t k = cases[i].kernel;
        mb_init(&mb, 13);
        mb_input(&mb, "x", MB_DIMS(1, 1, cases[i].size, 40)); /* width: as many as fit */
        if (conv)
            mb_weights(&mb, "w", MB_DIMS(1, 1, k, 1), NULL);
        Onnx__NodeProto *node = mb_node(&mb, cases[i].type, conv ? "x,w" : "x", "y");
        mb_ints(&mb, node, "kernel_shape", MB_DIMS(k, 1));
        mb_ints(&mb, node, "strides", MB_DIMS(cases[i].stride, 1));
        mb_ints(&mb, node, "dilations", MB_DIMS(cases[i].dilation, 1));
        if (cases[i].auto_pad)
            mb_string(&mb, node, "auto_pad", cases[i].auto_pad);
        else
            mb_ints(&mb, node, "pads", MB_DIMS(cases[i].before, 0, cases[i].after, 0));
        if (!conv)
            mb_int(&mb, node, "ceil_mode", cases[i].ceil_mode);
        mb_output(&mb, "y");
        if (cases[i].out == 0) {
            import_refused(&mb, conv ? "does not fit" : "wholly in the padding");
            continue;
        }
        struct ad_graph *graph = import_ok(&mb);
        const struct ad_window *w = &graph->ops[0].window;
        ck_assert_int_eq(graph->values[graph->outputs[0]].dims[2], cases[i].out);
        ck_assert_int_eq(w->pt, cases[i].want_before);
        ck_assert_int_eq(w->pb, cases[i].want_after);
        ck_assert_int_eq(w->real_pb, cases[i].want_real);
        done(&mb, graph, NULL, NULL);
    }
}
END_TEST

/* Pad of zeros by 1 on top and 2 on the left, then `type`; the same as padding the data by hand. */
START_TEST(pad_before_a_window)
{
    static const struct {
        const char *type, *kinds;
    } cases[] = {{"Conv", "Conv"},
                 {"AveragePool", "AveragePool"},
                 {"MaxPool", "Resample,MaxPool"},
                 {"Relu", "Resample"}};
    for (size_t i = 0; i < 4; i++)
        for (int opset = 10; opset <= 11; opset++) {
            struct mb mb;
            struct ad_tensor x;
            mb_init(&mb, opset);
            mb_input(&mb, "x", MB_DIMS(1, 2, 4, 4));
            Onnx__NodeProto *pad;
            if (opset == 10) {
                pad = mb_node(&mb, "Pad", "x", "p");
                mb_ints(&mb, pad, "pads", MB_DIMS(0, 0, 1, 2, 0, 0, 0, 0));
            } else {
                mb_shape(&mb, "pads", MB_DIMS(0, 0, 1, 2, 0, 0, 0, 0));
                mb_node(&mb, "Pad", "x,pads", "p");
            }
            bool conv = strcmp(cases[i].type, "Conv") == 0;
            static const float ones[4 * 3 * 3] = {[4] = 1, [9 + 4] = 0, [18 + 4] = 0, [27 + 4] = 1};
            if (conv) /* picks the middle: channel k is channel k */
                mb_weights(&mb, "w", MB_DIMS(2, 2, 3, 3), ones);
            Onnx__NodeProto *node = mb_node(&mb, cases[i].type, conv ? "p,w" : "p", "y");
            if (strcmp(cases[i].type, "Relu") != 0)
                mb_ints(&mb, node, "kernel_shape", MB_DIMS(3, 3));
            mb_output(&mb, "y");
            struct ad_graph *graph = import_ok(&mb);
            assert_kinds(graph, cases[i].kinds);
            struct ad_tensor y = run_random(graph, &x);
            bool relu = strcmp(cases[i].type, "Relu") == 0;
            int64_t height = relu ? 5 : 3, width = relu ? 6 : 4;
            for (int64_t c = 0; c < 2; c++)
                for (int64_t h = 0; h < height; h++)
                    for (int64_t w = 0; w < width; w++) {
                        double sum = 0, most = -INFINITY, middle = 0;
                        for (int64_t k = 0; k < (relu ? 1 : 9); k++) {
                            int64_t r = h + k / 3 - 1, q = w + k % 3 - 2;
                            double v = r < 0 || q < 0 ? 0 : (double)x.data[(c * 4 + r) * 4 + q];
                            sum += v;
                            most = fmax(most, v);
                            middle = k == 4 ? v : middle;
                        }
                        double want = conv                                        ? middle
                                      : strcmp(cases[i].type, "AveragePool") == 0 ? sum / 9
                                      : relu                                      ? fmax(sum, 0)
                                                                                  : most;
                        assert_near(y.data[(c * height + h) * width + w], want);
                    }
            done(&mb, graph, &x, &y);
        }
}
END_TEST

/* A transposed convolution, by scattering, with its batch normalisation and activation taken in. */
START_TEST(transposed_convolution)
{
    static const struct {
        int64_t k, s, d, before, behind, extra, groups;
    } cases[] = {{2, 2, 1, 0, 0, 0, 1}, {4, 2, 1, 1, 1, 0, 1}, {3, 2, 1, 1, 1, 1, 2},
                 {5, 1, 1, 2, 1, 0, 1}, {3, 3, 2, 4, 0, 2, 1}, {1, 2, 1, 0, 0, 1, 4},
                 {7, 3, 1, 0, 5, 0, 2}, {3, 1, 1, 0, 0, 0, 4}};
    const int64_t in = 5, channels = 4, deep = 2;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t k = cases[i].k, s = cases[i].s, d = cases[i].d, groups = cases[i].groups;
        int64_t rows = deep * groups, first = cases[i].before;
        int64_t out = s * (in - 1) + cases[i].extra + d * (k - 1) + 1 - first - cases[i].behind;
        struct mb mb;
        struct ad_tensor x;
        mb_init(&mb, 11);
        mb_input(&mb, "x", MB_DIMS(2, channels, in, 1));
        const Onnx__TensorProto *w = mb_weights(&mb, "w", MB_DIMS(channels, deep, k, 1), NULL);
        const Onnx__TensorProto *b = mb_weights(&mb, "b", MB_DIMS(rows), NULL);
        Onnx__NodeProto *node = mb_node(&mb, "ConvTranspose", "x,w,b", "c");
        mb_ints(&mb, node, "strides", MB_DIMS(s, 1));
        mb_ints(&mb, node, "dilations", MB_DIMS(d, 1));
        mb_ints(&mb, node, "pads", MB_DIMS(first, 0, cases[i].behind, 0));
        mb_ints(&mb, node, "output_padding", MB_DIMS(cases[i].extra, 0));
        mb_int(&mb, node, "group", groups);
        const Onnx__TensorProto *scale = mb_weights(&mb, "scale", MB_DIMS(rows), NULL);
        float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, zeros[8] = {0};
        mb_weights(&mb, "zeros", MB_DIMS(rows), zeros);
        mb_weights(&mb, "ones", MB_DIMS(rows), ones);
        mb_float(&mb, mb_node(&mb, "BatchNormalization", "c,scale,zeros,zeros,ones", "n"),
                 "epsilon", 0);
        mb_node(&mb, "Relu", "n", "y");
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        assert_kinds(graph, "Conv,DepthToSpace");
        struct ad_tensor y = run_random(graph, &x);
        ck_assert_uint_eq(y.count, (size_t)(2 * rows * out));
        for (int64_t n = 0; n < 2; n++)
            for (int64_t o = 0; o < rows; o++)
                for (int64_t h = 0; h < out; h++) {
                    double sum = (double)floats(b)[o];
                    int64_t depth = channels / groups, c0 = o / deep * depth;
                    for (int64_t c = c0; c < c0 + depth; c++)
                        for (int64_t p = 0; p < in; p++)
                            for (int64_t t = 0; t < k; t++)
                                if (p * s + t * d - first == h)
                                    sum += (double)x.data[(n * channels + c) * in + p] *
                                           (double)floats(w)[(c * deep + o % deep) * k + t];
                    assert_near(y.data[(n * rows + o) * out + h],
                                fmax(0, sum * (double)floats(scale)[o]));
                }
        done(&mb, graph, &x, &y);
    }
}
END_TEST

/* y[n][i][j] = relu(x[n][3 - i][list[j]]) of rank 3: a slice backwards, a Gather in two pieces. */
START_TEST(pieces_of_other_ranks)
{
    static const int64_t list[] = {4, 2, 0, 1};
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(2, 4, 5));
    mb_shape(&mb, "last", MB_DIMS(-1));
    mb_shape(&mb, "first", MB_DIMS(-100));
    mb_shape(&mb, "axis", MB_DIMS(1));
    mb_shape(&mb, "list", MB_DIMS(4, 2, 0, -4));
    mb_node(&mb, "Slice", "x,last,first,axis,last", "s");
    mb_node(&mb, "Relu", "s", "r");
    mb_int(&mb, mb_node(&mb, "Gather", "r,list", "y"), "axis", 2);
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    struct ad_tensor y = run_random(graph, &x);
    ck_assert_uint_eq(y.count, 2 * 4 * 4);
    for (int n = 0; n < 2; n++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                ck_assert(y.data[(n * 4 + i) * 4 + j] ==
                          fmaxf(x.data[(n * 4 + 3 - i) * 5 + list[j]], 0));
    done(&mb, graph, &x, &y);
}
END_TEST

/* Outputs of one Split, also where nobody reads some of them. */
START_TEST(parts_of_a_split)
{
    for (int opset = 11; opset <= 13; opset += 2) {
        struct mb mb;
        struct ad_tensor x;
        mb_init(&mb, opset);
        mb_input(&mb, "x", MB_DIMS(1, 6, 2, 3));
        mb_shape(&mb, "lengths", MB_DIMS(1, 3, 2));
        Onnx__NodeProto *node =
            mb_node(&mb, "Split", opset < 13 ? "x" : "x,lengths", "first,second,third");
        mb_int(&mb, node, "axis", 1);
        if (opset < 13)
            mb_ints(&mb, node, "split", MB_DIMS(1, 3, 2));
        mb_int(&mb, mb_node(&mb, "Concat", "third,first", "y"), "axis", 1);
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        assert_kinds(graph, "Resample,Resample,Concat");
        struct ad_tensor y = run_random(graph, &x);
        for (int i = 0; i < 18; i++)
            ck_assert(y.data[i] == x.data[i < 12 ? 24 + i : i - 12]);
        done(&mb, graph, &x, &y);
    }
}
END_TEST

START_TEST(operators_that_do_nothing)
{
    struct mb mb;
    mb_init(&mb, 12);
    mb_input(&mb, "x", MB_DIMS(0, 2, 4, 4));
    mb_shape(&mb, "pads", MB_DIMS(0, 0, 0, 0, 0, 0, 0, 0));
    mb_shape(&mb, "same", MB_DIMS(0, -1, 4, 4));
    mb_weights(&mb, "w", MB_DIMS(2, 2, 1, 1), NULL);
    mb_node(&mb, "Identity", "x", "a");
    mb_node(&mb, "Dropout", "a", "b,mask");
    mb_node(&mb, "Pad", "b,pads", "c");
    mb_node(&mb, "Reshape", "c,same", "d");
    Onnx__NodeProto *pool = mb_node(&mb, "AveragePool", "d", "e");
    mb_ints(&mb, pool, "kernel_shape", MB_DIMS(1, 1));
    mb_ints(&mb, mb_node(&mb, "Transpose", "e", "f"), "perm", MB_DIMS(0, 2, 3, 1));
    mb_ints(&mb, mb_node(&mb, "Transpose", "f", "g"), "perm", MB_DIMS(0, 3, 1, 2));
    mb_node(&mb, "Conv", "g,w", "y");
    mb_node(&mb, "NonMaxSuppression", "g", "unused"); /* nobody asks for it */
    mb_node(&mb, "Identity", "y", "out");
    mb_output(&mb, "out");
    struct ad_graph *graph = import_ok(&mb);
    assert_kinds(graph, "Conv");
    ck_assert_int_eq(graph->ops[0].inputs[0], graph->inputs[0]);
    ck_assert_int_eq(graph->nvalues, 2);
    assert_dims(graph, graph->inputs[0], "1x2x4x4");
    ck_assert_str_eq(graph->values[graph->outputs[0]].name, "out");
    done(&mb, graph, NULL, NULL);
}
END_TEST

/* --- constants --- */

/* view(x.size(0), -1) as exporters write it, with casts, slices and arithmetic on the way. */
START_TEST(shape_arithmetic_folds)
{
    struct mb mb;
    int64_t zero = 0, minus = -1;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(2, 3, 4, 5));
    Onnx__TensorProto *w = mb_floats(&mb, "", MB_DIMS(60, 2), NULL);
    mb_attr_tensor(&mb, mb_node(&mb, "Constant", "", "w"), "value", w);
    mb_attr_tensor(&mb, mb_node(&mb, "Constant", "", "zero"), "value",
                   mb_integers(&mb, "", MB_SCALAR, &zero));
    mb_attr_tensor(&mb, mb_node(&mb, "Constant", "", "minus"), "value",
                   mb_integers(&mb, "", MB_DIMS(1), &minus));
    mb_shape(&mb, "at0", MB_DIMS(0));
    mb_shape(&mb, "at1", MB_DIMS(1));
    mb_node(&mb, "Shape", "x", "s");
    mb_node(&mb, "Gather", "s,zero", "n");
    mb_node(&mb, "Unsqueeze", "n,at0", "n1");
    mb_int(&mb, mb_node(&mb, "Cast", "n1", "n2"), "to", 1);
    mb_int(&mb, mb_node(&mb, "Cast", "n2", "n3"), "to", 7);
    mb_node(&mb, "Mul", "n3,at1", "n4");
    mb_int(&mb, mb_node(&mb, "Concat", "n4,minus", "to"), "axis", 0);
    mb_node(&mb, "Reshape", "x,to", "f");
    mb_node(&mb, "MatMul", "f,w", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_kinds(graph, "FC");
    assert_dims(graph, graph->outputs[0], "2x2");
    done(&mb, graph, NULL, NULL);
}
END_TEST

/* Each folding operator, seen through the shape that it gives to a Reshape of 24 elements. */
START_TEST(folded_shapes)
{
    static const struct {
        const char *type, *inputs; /* gives "s" */
        const char *want;
    } cases[] = {
        {"Slice", "list,i1,i3", "2x12"},
        {"Slice", "list,im3,im1,i0,i1", "2x12"},
        {"Slice", "list,i3,i0,i0,im1", "1x12x2"},
        {"Add", "half,i0", "2x12"},
        {"Sub", "shifted,i1", "2x12"},
        {"Div", "double,i2", "2x12"},
        {"Identity", "half", "2x12"},
        {"Gather", "list,pick", "2x12"},
        {"Squeeze", "row,i0", "2x12"},
        {"Reshape", "row,im1", "2x12"},
        {"Concat", "i2,tw", "2x12"},
        {"Min", "double,half", "2x12"},
        {"Max", "half,i2", "2x12"},
        {"Where", "less,a,b", "2x12"},
        {"Where", "notmore,b,a", "2x12"},
        {"Where", "same,a,b", "2x12"},
        {"Range", "two,fourteen,ten", "2x12"},
        {"Squeeze", "places,i0", "2x12"},
        {"Squeeze", "place,i1", "2x12"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mb mb;
        static const int64_t row[] = {2, 12};
        mb_init(&mb, 13);
        mb_input(&mb, "x", MB_DIMS(24));
        mb_shape(&mb, "list", MB_DIMS(7, 2, 12, 1));
        mb_shape(&mb, "half", MB_DIMS(2, 12));
        mb_shape(&mb, "shifted", MB_DIMS(3, 13));
        mb_shape(&mb, "double", MB_DIMS(4, 24));
        mb_shape(&mb, "pick", MB_DIMS(1, -2));
        mb_shape(&mb, "i0", MB_DIMS(0));
        mb_shape(&mb, "i1", MB_DIMS(1));
        mb_shape(&mb, "i2", MB_DIMS(2));
        mb_shape(&mb, "i3", MB_DIMS(3));
        mb_shape(&mb, "tw", MB_DIMS(12));
        mb_shape(&mb, "im1", MB_DIMS(-1));
        mb_shape(&mb, "im3", MB_DIMS(-3));
        mb_attr_tensor(&mb, mb_node(&mb, "Constant", "", "row"), "value",
                       mb_integers(&mb, "", MB_DIMS(1, 2), row));
        static const int64_t range[] = {2, 14, 10};
        mb_shape(&mb, "a", MB_DIMS(6, 12));
        mb_shape(&mb, "b", MB_DIMS(2, 5));
        mb_shape(&mb, "bounds", MB_DIMS(0, 5));
        mb_node(&mb, "Less", "i1,bounds", "less");
        mb_node(&mb, "Greater", "bounds,i1", "more");
        mb_node(&mb, "Not", "more", "notmore");
        mb_node(&mb, "Equal", "bounds,five", "same");
        mb_shape(&mb, "five", MB_DIMS(5));
        static const int64_t flags[39] = {[2] = 1, [12] = 7}, table[39] = {[2 * 13 + 12] = -1};
        mb_attr_tensor(&mb, mb_node(&mb, "Constant", "", "flags"), "value",
                       mb_integers(&mb, "", MB_DIMS(13), flags));
        mb_attr_tensor(&mb, mb_node(&mb, "Constant", "", "table"), "value",
                       mb_integers(&mb, "", MB_DIMS(3, 13), table));
        mb_node(&mb, "NonZero", "flags", "places");
        mb_node(&mb, "NonZero", "table", "place");
        mb_attr_tensor(&mb, mb_node(&mb, "Constant", "", "two"), "value",
                       mb_integers(&mb, "", MB_SCALAR, range));
        mb_attr_tensor(&mb, mb_node(&mb, "Constant", "", "fourteen"), "value",
                       mb_integers(&mb, "", MB_SCALAR, range + 1));
        mb_attr_tensor(&mb, mb_node(&mb, "Constant", "", "ten"), "value",
                       mb_integers(&mb, "", MB_SCALAR, range + 2));
        Onnx__NodeProto *node = mb_node(&mb, cases[i].type, cases[i].inputs, "s");
        if (strcmp(cases[i].type, "Concat") == 0)
            mb_int(&mb, node, "axis", 0);
        mb_node(&mb, "Reshape", "x,s", "y");
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        assert_dims(graph, graph->outputs[0], cases[i].want);
        done(&mb, graph, NULL, NULL);
    }
}
END_TEST

START_TEST(initializers_among_the_inputs)
{
    struct mb mb;
    mb_init(&mb, 8);
    mb_input(&mb, "w", MB_DIMS(2, 2, 1, 1)); /* IR 3, and before the data */
    mb_input(&mb, "x", MB_DIMS(1, 2, 3, 3));
    mb_weights(&mb, "w", MB_DIMS(2, 2, 1, 1), NULL);
    mb_node(&mb, "Conv", "x,w", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    ck_assert_int_eq(graph->ninputs, 1);
    ck_assert_str_eq(graph->values[graph->inputs[0]].name, "x");
    done(&mb, graph, NULL, NULL);
}
END_TEST

START_TEST(bindings)
{
    struct mb mb;
    struct adaps_error err;
    struct ad_graph *graph;
    float two[] = {2, 3};
    struct ad_onnx_tensor t = {.rank = 1, .dims = {2}, .count = 2, .is_float = true, .f = two};
    struct ad_binding binding = {"b", &t};
    struct ad_import_options options = {.bindings = &binding, .nbindings = 1};
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2));
    mb_input(&mb, "b", MB_DIMS(2));
    mb_node(&mb, "Add", "x,b", "y");
    mb_output(&mb, "y");
    ck_assert_int_eq(ad_ir_import(&mb.model, &options, &graph, &err), ADAPS_OK);
    ck_assert_int_eq(graph->ninputs, 1);
    ck_assert_int_eq(graph->nweights, 1);
    ck_assert_mem_eq(graph->weights[0].data, two, sizeof two);
    ad_graph_free(graph);
    binding.input = "q";
    ck_assert_int_eq(ad_ir_import(&mb.model, &options, &graph, &err), ADAPS_EINPUT);
    ck_assert_str_eq(err.message, "test.onnx: there is no input 'q' to bind");
    mb_fini(&mb);
}
END_TEST

/* A map of symbolic height and unnamed width, with a 3x3 window. */
static void build_symbolic(struct mb *mb)
{
    mb_init(mb, 13);
    Onnx__TensorShapeProto *shape =
        mb_input(mb, "x", MB_DIMS(1, 2, 1, 1))->type->tensor_type->shape;
    shape->dim[2]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    shape->dim[2]->dim_param = "height";
    shape->dim[3]->value_case = 0;
    mb_weights(mb, "w", MB_DIMS(3, 2, 3, 3), NULL);
    mb_node(mb, "Conv", "x,w", "y");
    mb_output(mb, "y");
}

START_TEST(symbolic_dimensions)
{
    struct mb mb;
    struct adaps_error err;
    struct ad_graph *graph, *again;
    struct ad_dim_bindings dims = {{{"height", 6, 5}, {"x:3=7", 3, 7}}, 2};
    struct ad_import_options options = {.dims = &dims};
    build_symbolic(&mb);
    ck_assert_int_eq(ad_ir_import(&mb.model, NULL, &graph, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, "of the symbolic dimensions 'height', 'x:3' became 1: "
                                      "--dim NAME=N gives another size"),
                  "%s", err.message);
    ck_assert_msg(ad_ir_import(&mb.model, &options, &graph, &err) == ADAPS_OK, "%s", err.message);
    const struct ad_value *x = &graph->values[graph->inputs[0]];
    ck_assert_int_eq(x->box.h, 5);
    ck_assert_int_eq(x->box.w, 7);
    ck_assert_int_eq(graph->values[graph->outputs[0]].box.w, 5);

    /* as in that graph; what is bound counts more */
    options = (struct ad_import_options){.like = graph};
    ck_assert_int_eq(ad_ir_import(&mb.model, &options, &again, &err), ADAPS_OK);
    ck_assert_int_eq(again->values[again->inputs[0]].box.h, 5);
    ad_graph_free(again);
    dims.count = 1;
    dims.items[0].size = 6;
    options.dims = &dims;
    ck_assert_int_eq(ad_ir_import(&mb.model, &options, &again, &err), ADAPS_OK);
    ck_assert_int_eq(again->values[again->inputs[0]].box.h, 6);
    ck_assert_int_eq(again->values[again->inputs[0]].box.w, 7);
    ad_graph_free(again);
    ad_graph_free(graph);
    mb_fini(&mb);
}
END_TEST

START_TEST(unknown_dimensions)
{
    struct mb mb;
    struct adaps_error err;
    struct ad_graph *graph;
    bool used[AD_MAX_DIM_BINDINGS] = {false};
    struct ad_dim_bindings dims = {{{"heigh", 5, 5}, {"height", 6, 9}, {"x:3", 3, 9}}, 3};
    struct ad_import_options options = {.dims = &dims};
    build_symbolic(&mb);
    ck_assert_int_eq(ad_ir_import(&mb.model, &options, &graph, &err), ADAPS_EUSAGE);
    ck_assert_str_eq(err.message, "test.onnx: no input has a symbolic dimension 'heigh': there are "
                                  "'height', 'x:3'");
    options.dims_used = used;
    ck_assert_int_eq(ad_ir_import(&mb.model, &options, &graph, &err), ADAPS_OK);
    ck_assert(!used[0] && used[1] && used[2]);
    ad_graph_free(graph);
    mb_fini(&mb);
}
END_TEST

START_TEST(outputs_of_every_kind)
{
    struct mb mb;
    Onnx__StringStringEntryProto entry = ONNX__STRING_STRING_ENTRY_PROTO__INIT, *list[] = {&entry};
    mb_init(&mb, 13);
    entry.key = "labels";
    entry.value = "a,b";
    mb.proto->metadata_props = list;
    mb.proto->n_metadata_props = 1;
    mb_input(&mb, "x", MB_DIMS(1, 2, 3, 3));
    mb_node(&mb, "Identity", "x", "same");
    mb_node(&mb, "Relu", "x", "r");
    mb_node(&mb, "Identity", "r", "r2");
    mb_output(&mb, "same");
    mb_output(&mb, "r");
    mb_output(&mb, "r2");
    struct ad_graph *graph = import_ok(&mb);
    static const char *const names[] = {"same", "r", "r2"};
    for (int i = 0; i < 3; i++)
        ck_assert_str_eq(graph->values[graph->outputs[i]].name, names[i]);
    ck_assert_str_eq(graph->values[graph->inputs[0]].name, "x");
    ck_assert_str_eq(ad_graph_metadata(graph, "labels"), "a,b");
    ck_assert_ptr_null(ad_graph_metadata(graph, "a,b"));
    done(&mb, graph, NULL, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, conv_bn_relu_is_one_op);
    tcase_add_test(tc, batchnorm_alone);
    tcase_add_test(tc, shared_results_are_not_fused);
    tcase_add_test(tc, clip_in_its_forms);
    tcase_add_test(tc, two_clamps_become_one);
    tcase_add_test(tc, windows);
    tcase_add_test(tc, pad_before_a_window);
    tcase_add_test(tc, transposed_convolution);
    tcase_add_test(tc, pieces_of_other_ranks);
    tcase_add_test(tc, parts_of_a_split);
    tcase_add_test(tc, operators_that_do_nothing);
    tcase_add_test(tc, conv_and_addend);
    tcase_add_test(tc, conv_and_factors);
    tcase_add_test(tc, shape_arithmetic_folds);
    tcase_add_test(tc, folded_shapes);
    tcase_add_test(tc, initializers_among_the_inputs);
    tcase_add_test(tc, bindings);
    tcase_add_test(tc, symbolic_dimensions);
    tcase_add_test(tc, unknown_dimensions);
    tcase_add_test(tc, outputs_of_every_kind);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
