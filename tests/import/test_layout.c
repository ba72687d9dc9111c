/* ir/import: products, elementwise operators and what moves elements: the right numbers in the
 * right places, with no more moving than needed. */
#include "support/import_checks.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

/* --- products --- */

/* Conv -> flatten (several ways) -> Gemm (both orders): no op between, and the right columns. */
START_TEST(product_of_a_feature_map)
{
    static const char *const ways[] = {"Flatten", "Reshape", "Dropout+Flatten+Relu"};
    for (int way = 0; way < 3; way++)
        for (int trans = 0; trans < 2; trans++) {
            struct mb mb;
            struct ad_tensor x;
            mb_init(&mb, 11);
            mb_input(&mb, "x", MB_DIMS(2, 3, 2, 4));
            Onnx__TensorProto *b = trans ? mb_weights(&mb, "b", MB_DIMS(5, 24), NULL)
                                         : mb_weights(&mb, "b", MB_DIMS(24, 5), NULL);
            Onnx__TensorProto *c = mb_weights(&mb, "c", MB_DIMS(1, 5), NULL);
            mb_shape(&mb, "shape", MB_DIMS(0, -1));
            mb_ints(&mb, mb_node(&mb, "MaxPool", "x", "p"), "kernel_shape", MB_DIMS(1, 1));
            mb_node(&mb, "Relu", "p", "r");
            if (way == 0)
                mb_node(&mb, "Flatten", "r", "f");
            else if (way == 1)
                mb_node(&mb, "Reshape", "r,shape", "f");
            else {
                mb_node(&mb, "Dropout", "r", "d");
                mb_node(&mb, "Flatten", "d", "g");
                mb_node(&mb, "Relu", "g", "f");
            }
            Onnx__NodeProto *gemm = mb_node(&mb, "Gemm", "f,b,c", "y");
            mb_int(&mb, gemm, "transB", trans);
            mb_float(&mb, gemm, "alpha", 0.5f);
            mb_float(&mb, gemm, "beta", 2);
            mb_output(&mb, "y");
            struct ad_graph *graph = import_ok(&mb);
            ck_assert_msg(graph->nops == 2, "%s: %d ops", ways[way], graph->nops);
            assert_kinds(graph, "Unary,FC");
            struct ad_tensor y = run_random(graph, &x);
            for (int n = 0; n < 2; n++)
                for (int o = 0; o < 5; o++) {
                    double sum = 0;
                    for (int k = 0; k < 24; k++)
                        sum += fmax(0, (double)x.data[n * 24 + k]) *
                               (double)floats(b)[trans ? o * 24 + k : k * 5 + o];
                    assert_near(y.data[n * 5 + o], 0.5 * sum + 2 * (double)floats(c)[o]);
                }
            done(&mb, graph, &x, &y);
        }
}
END_TEST

/* A reshape that mixes images is no Flatten. */
START_TEST(reshape_across_the_batch)
{
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(2, 3, 2, 2));
    mb_shape(&mb, "shape", MB_DIMS(1, -1));
    Onnx__TensorProto *b = mb_weights(&mb, "b", MB_DIMS(24, 3), NULL);
    mb_node(&mb, "Reshape", "x,shape", "r");
    mb_node(&mb, "MatMul", "r,b", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_kinds(graph, "Permute,FC");
    struct ad_tensor y = run_random(graph, &x);
    for (int o = 0; o < 3; o++) {
        double sum = 0;
        for (int k = 0; k < 24; k++)
            sum += (double)x.data[k] * (double)floats(b)[k * 3 + o];
        assert_near(y.data[o], sum);
    }
    done(&mb, graph, &x, &y);
}
END_TEST

START_TEST(matmul_and_addend)
{
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(3, 4));
    Onnx__TensorProto *w = mb_weights(&mb, "w", MB_DIMS(5, 4), NULL);
    Onnx__TensorProto *c = mb_weights(&mb, "c", MB_DIMS(5), NULL);
    mb_node(&mb, "Transpose", "w", "wt"); /* as nn.Linear is exported */
    mb_node(&mb, "MatMul", "x,wt", "m");
    mb_node(&mb, "Add", "c,m", "a");
    mb_node(&mb, "Relu", "a", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_kinds(graph, "FC");
    ck_assert_str_eq(graph->ops[0].type, "MatMul+Add+Relu");
    struct ad_tensor y = run_random(graph, &x);
    for (int n = 0; n < 3; n++)
        for (int o = 0; o < 5; o++) {
            double sum = (double)floats(c)[o];
            for (int k = 0; k < 4; k++)
                sum += (double)x.data[n * 4 + k] * (double)floats(w)[o * 4 + k];
            assert_near(y.data[n * 5 + o], fmax(sum, 0));
        }
    done(&mb, graph, &x, &y);
}
END_TEST

/* --- elementwise, concat, softmax, transpose --- */

/* x (2x3x4x5) plus or times a constant of these dims, by numpy's rule or opset 6's axis. */
START_TEST(broadcasting)
{
    static const struct {
        int64_t dims[6];
        int64_t opset, axis;
        int64_t step[4]; /* of the constant per n, c, h, w */
    } cases[] = {
        {{-9}, 13, 0, {0, 0, 0, 0}},
        {{5, -9}, 13, 0, {0, 0, 0, 1}},
        {{3, 1, 1, -9}, 13, 0, {0, 1, 0, 0}},
        {{1, 3, 1, 1, -9}, 7, 0, {0, 1, 0, 0}},
        {{2, 1, 4, 1, -9}, 13, 0, {4, 0, 1, 0}},
        {{2, 3, 4, 5, -9}, 13, 0, {60, 20, 5, 1}},
        {{3, -9}, 6, 1, {0, 1, 0, 0}},
        {{3, 4, -9}, 6, 1, {0, 4, 1, 0}},
        {{4, 5, -9}, 6, 2, {0, 0, 5, 1}},
        {{-9}, 6, 0, {0, 0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int mul = 0; mul < 2; mul++) {
            struct mb mb;
            struct ad_tensor x;
            mb_init(&mb, cases[i].opset);
            mb_input(&mb, "x", MB_DIMS(2, 3, 4, 5));
            Onnx__TensorProto *b = mb_weights(&mb, "b", cases[i].dims, NULL);
            Onnx__NodeProto *node = mb_node(&mb, mul ? "Mul" : "Add", "x,b", "y");
            if (cases[i].opset < 7) {
                mb_int(&mb, node, "broadcast", 1);
                mb_int(&mb, node, "axis", cases[i].axis);
            }
            mb_output(&mb, "y");
            struct ad_graph *graph = import_ok(&mb);
            assert_kinds(graph, mul ? "Mul" : "Add");
            ck_assert_int_eq(graph->values[graph->outputs[0]].format, AD_NHWC);
            struct ad_tensor y = run_random(graph, &x);
            for (int64_t k = 0; k < 120; k++) {
                const int64_t *s = cases[i].step;
                int64_t at = k / 60 * s[0] + k / 20 % 3 * s[1] + k / 5 % 4 * s[2] + k % 5 * s[3];
                double p = (double)x.data[k], q = (double)floats(b)[at];
                assert_near(y.data[k], mul ? p * q : p + q);
            }
            done(&mb, graph, &x, &y);
        }
}
END_TEST

START_TEST(two_inputs_of_other_ranks)
{
    struct mb mb;
    struct ad_tensor in[2];
    mb_init(&mb, 13);
    mb_input(&mb, "a", MB_DIMS(1, 3, 2, 2));
    mb_input(&mb, "b", MB_DIMS(3, 1, 2));
    mb_node(&mb, "Mul", "a,b", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    ck_assert_int_eq(graph->ninputs, 2);
    struct ad_tensor y = run_random(graph, in);
    for (int k = 0; k < 12; k++)
        assert_near(y.data[k], (double)in[0].data[k] * (double)in[1].data[k / 4 * 2 + k % 2]);
    ad_tensor_fini(&in[1]);
    done(&mb, graph, &in[0], &y);
}
END_TEST

/* Concat of x, a constant and x along every axis of rank 4. */
START_TEST(concat_along_every_axis)
{
    for (int axis = 0; axis < 4; axis++) {
        struct mb mb;
        struct ad_tensor x;
        static const int64_t dims[] = {2, 3, 2, 2};
        mb_init(&mb, 13);
        mb_input(&mb, "x", MB_DIMS(2, 3, 2, 2));
        Onnx__TensorProto *k = mb_weights(&mb, "k", MB_DIMS(2, 3, 2, 2), NULL);
        mb_int(&mb, mb_node(&mb, "Concat", "x,k,x", "y"), "axis", axis - 4);
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        if (axis == 1)
            assert_kinds(graph, "Concat");
        struct ad_tensor y = run_random(graph, &x);
        int64_t inner = 1;
        for (int i = axis; i < 4; i++)
            inner *= dims[i];
        for (int64_t i = 0; i < 72; i++) {
            int64_t part = i / inner % 3, at = i / (3 * inner) * inner + i % inner;
            ck_assert(y.data[i] == (part == 1 ? floats(k)[at] : x.data[at]));
        }
        done(&mb, graph, &x, &y);
    }
}
END_TEST

START_TEST(softmax_before_and_after_opset_13)
{
    static const struct {
        int64_t opset, axis;
        const char *kinds;
    } cases[] = {{13, 1, "Softmax"},
                 {13, 3, "Permute,Softmax"},
                 {13, 2, NULL},
                 {11, 1, "Permute,Softmax"},
                 {11, 2, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mb mb;
        struct ad_tensor x;
        static const int64_t dims[] = {2, 3, 4, 5};
        mb_init(&mb, cases[i].opset);
        mb_input(&mb, "x", MB_DIMS(2, 3, 4, 5));
        mb_int(&mb, mb_node(&mb, "Softmax", "x", "y"), "axis", cases[i].axis);
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        if (cases[i].kinds)
            assert_kinds(graph, cases[i].kinds);
        struct ad_tensor y = run_random(graph, &x);
        int64_t inner = 1, length = 1;
        for (int k = (int)cases[i].axis; k < 4; k++)
            *(cases[i].opset < 13 || k == cases[i].axis ? &length : &inner) *= dims[k];
        for (int64_t k = 0; k < 120; k++) {
            double sum = 0;
            int64_t first = k / (inner * length) * inner * length + k % inner;
            for (int64_t j = 0; j < length; j++)
                sum += exp((double)x.data[first + j * inner]);
            assert_near(y.data[k], exp((double)x.data[k]) / sum);
        }
        done(&mb, graph, &x, &y);
    }
}
END_TEST

/* Every permutation of rank 4, as an output and before a convolution. */
START_TEST(every_transpose)
{
    static const int64_t dims[] = {2, 3, 4, 5};
    for (int code = 0; code < 256; code++) {
        int64_t p[] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6 & 3};
        if ((1 << p[0] | 1 << p[1] | 1 << p[2] | 1 << p[3]) != 15)
            continue;
        for (int conv = 0; conv < 2; conv++) {
            struct mb mb;
            struct ad_tensor x;
            static const float one = 1;
            int64_t c = dims[p[1]];
            mb_init(&mb, 13);
            mb_input(&mb, "x", MB_DIMS(2, 3, 4, 5));
            mb_ints(&mb, mb_node(&mb, "Transpose", "x", "t"), "perm",
                    MB_DIMS(p[0], p[1], p[2], p[3]));
            if (conv) {
                static const float ones[] = {1, 1, 1, 1, 1};
                mb_weights(&mb, "w", MB_DIMS(c, 1, 1, 1), ones);
                mb_int(&mb, mb_node(&mb, "Conv", "t,w", "y"), "group", c);
            } else {
                mb_weights(&mb, "one", MB_SCALAR, &one);
                mb_node(&mb, "Mul", "t,one", "y");
            }
            mb_output(&mb, "y");
            struct ad_graph *graph = import_ok(&mb);
            struct ad_tensor y = run_random(graph, &x);
            int64_t step[4], unit = 1, k = 0;
            for (int i = 3; i >= 0; unit *= dims[i--])
                for (int j = 0; j < 4; j++)
                    if (p[j] == i)
                        step[j] = unit;
            for (int64_t a = 0; a < dims[p[0]]; a++)
                for (int64_t b = 0; b < dims[p[1]]; b++)
                    for (int64_t d = 0; d < dims[p[2]]; d++)
                        for (int64_t e = 0; e < dims[p[3]]; e++)
                            ck_assert(
                                y.data[k++] ==
                                x.data[a * step[0] + b * step[1] + d * step[2] + e * step[3]]);
            done(&mb, graph, &x, &y);
        }
    }
}
END_TEST

/* Two transposes in a row, all pairs of rank 3: one PERMUTE at most. */
START_TEST(transposes_compose)
{
    static const int64_t perms[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                        {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int code = 0; code < 36; code++) {
        const int64_t *p = perms[code / 6], *q = perms[code % 6];
        static const int64_t dims[] = {2, 3, 4}, step[] = {12, 4, 1};
        struct mb mb;
        struct ad_tensor x;
        mb_init(&mb, 13);
        mb_input(&mb, "x", MB_DIMS(2, 3, 4));
        mb_ints(&mb, mb_node(&mb, "Transpose", "x", "t"), "perm", MB_DIMS(p[0], p[1], p[2]));
        mb_ints(&mb, mb_node(&mb, "Transpose", "t", "u"), "perm", MB_DIMS(q[0], q[1], q[2]));
        mb_node(&mb, "Relu", "u", "y");
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        bool none = p[q[0]] == 0 && p[q[1]] == 1;
        assert_kinds(graph, none ? "Unary" : "Permute,Unary");
        struct ad_tensor y = run_random(graph, &x);
        int64_t k = 0, a[3] = {p[q[0]], p[q[1]], p[q[2]]};
        for (int64_t i = 0; i < dims[a[0]]; i++)
            for (int64_t j = 0; j < dims[a[1]]; j++)
                for (int64_t l = 0; l < dims[a[2]]; l++) {
                    float v = x.data[i * step[a[0]] + j * step[a[1]] + l * step[a[2]]];
                    ck_assert(y.data[k++] == (v > 0 ? v : 0));
                }
        done(&mb, graph, &x, &y);
    }
}
END_TEST

/* The same with a reshape between them: one PERMUTE where its dims are parts of the others'. */
START_TEST(transposes_compose_across_a_reshape)
{
    static const int64_t perms[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                        {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const int64_t from[] = {4, 6, 2}, shapes[][3] = {{4, 6, 2}, {2, 6, 4}, {24, 2, 1},
                                                            {8, 3, 2}, {3, 4, 4}, {48, 1, 1}};
    for (int code = 0; code < 6 * 6 * 6; code++) {
        const int64_t *p = perms[code / 36], *q = perms[code / 6 % 6], *to = shapes[code % 6];
        struct mb mb;
        struct ad_tensor x;
        mb_init(&mb, 13);
        mb_input(&mb, "x", MB_DIMS(4, 6, 2));
        mb_shape(&mb, "shape", MB_DIMS(to[0], to[1], to[2]));
        mb_ints(&mb, mb_node(&mb, "Transpose", "x", "t"), "perm", MB_DIMS(p[0], p[1], p[2]));
        mb_node(&mb, "Reshape", "t,shape", "r");
        mb_ints(&mb, mb_node(&mb, "Transpose", "r", "u"), "perm", MB_DIMS(q[0], q[1], q[2]));
        mb_node(&mb, "Relu", "u", "y");
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        int permutes = 0;
        for (int i = 0; i < graph->nops; i++)
            permutes += graph->ops[i].kind == AD_OP_PERMUTE;
        bool identity = p[0] == 0 && p[1] == 1, moves = to[1] > 1;
        bool same = to[0] == from[p[0]] && to[1] == from[p[1]];
        ck_assert_int_le(permutes, identity || same || !moves ? 1 : 2);
        struct ad_tensor y = run_random(graph, &x);
        const int64_t step[] = {12, 2, 1}, wide[] = {to[1] * to[2], to[2], 1};
        int64_t k = 0;
        for (int64_t i = 0; i < to[q[0]]; i++)
            for (int64_t j = 0; j < to[q[1]]; j++)
                for (int64_t l = 0; l < to[q[2]]; l++) {
                    int64_t at = i * wide[q[0]] + j * wide[q[1]] + l * wide[q[2]];
                    int64_t c = at % from[p[2]], b = at / from[p[2]] % from[p[1]];
                    int64_t a = at / from[p[2]] / from[p[1]];
                    float v = x.data[a * step[p[0]] + b * step[p[1]] + c * step[p[2]]];
                    ck_assert(y.data[k++] == (v > 0 ? v : 0));
                }
        done(&mb, graph, &x, &y);
    }
}
END_TEST

/* The head of a detector: what a convolution makes, boxes first and then their numbers. */
START_TEST(a_function_moves_before_transposes)
{
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 6, 2, 3));
    static const float twos[] = {2, 2, 2, 2, 2, 2};
    mb_weights(&mb, "w", MB_DIMS(6, 1, 1, 1), twos);
    mb_shape(&mb, "shape", MB_DIMS(1, 3, 2, 2, 3));
    mb_int(&mb, mb_node(&mb, "Conv", "x,w", "c"), "group", 6);
    mb_node(&mb, "Reshape", "c,shape", "r");
    mb_ints(&mb, mb_node(&mb, "Transpose", "r", "t"), "perm", MB_DIMS(0, 1, 3, 4, 2));
    mb_node(&mb, "Sigmoid", "t", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_kinds(graph, "Conv,Permute");
    struct ad_tensor y = run_random(graph, &x);
    for (int64_t k = 0; k < 36; k++) { /* (box, row, column, number) */
        int64_t at = (k / 12 * 2 + k % 2) * 6 + k / 2 % 6;
        assert_near(y.data[k], 1 / (1 + exp(-2 * (double)x.data[at])));
    }
    done(&mb, graph, &x, &y);
}
END_TEST

START_TEST(mean_of_a_feature_map)
{
    for (int form = 0; form < 5; form++) {
        struct mb mb;
        struct ad_tensor x;
        mb_init(&mb, form == 3 ? 18 : 13);
        mb_input(&mb, "x", MB_DIMS(2, 3, 4, 5));
        mb_shape(&mb, "axes", MB_DIMS(-1, -2));
        Onnx__NodeProto *node = mb_node(&mb,
                                        form == 4 ? "AveragePool"
                                        : form    ? "ReduceMean"
                                                  : "GlobalAveragePool",
                                        form == 3 ? "x,axes" : "x", "m");
        if (form == 1 || form == 2)
            mb_ints(&mb, node, "axes", MB_DIMS(2, 3));
        if (form == 4)
            mb_ints(&mb, node, "kernel_shape", MB_DIMS(4, 5));
        else if (form)
            mb_int(&mb, node, "keepdims", form == 1);
        mb_node(&mb, "Flatten", "m", "y");
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        assert_kinds(graph, "AveragePool,GlobalAveragePool,Reshape");
        struct ad_tensor y = run_random(graph, &x);
        for (int k = 0; k < 6; k++) {
            double sum = 0;
            for (int i = 0; i < 20; i++)
                sum += (double)x.data[k * 20 + i];
            assert_near(y.data[k], sum / 20);
        }
        done(&mb, graph, &x, &y);
    }
}
END_TEST

START_TEST(global_max)
{
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 3, 4, 5));
    mb_node(&mb, "GlobalMaxPool", "x", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_kinds(graph, "MaxPool");
    struct ad_tensor y = run_random(graph, &x);
    for (int c = 0; c < 3; c++) {
        float most = x.data[c * 20];
        for (int i = 0; i < 20; i++)
            most = fmaxf(most, x.data[c * 20 + i]);
        ck_assert(y.data[c] == most);
    }
    done(&mb, graph, &x, &y);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import layout");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, product_of_a_feature_map);
    tcase_add_test(tc, reshape_across_the_batch);
    tcase_add_test(tc, matmul_and_addend);
    tcase_add_test(tc, broadcasting);
    tcase_add_test(tc, two_inputs_of_other_ranks);
    tcase_add_test(tc, concat_along_every_axis);
    tcase_add_test(tc, softmax_before_and_after_opset_13);
    tcase_add_test(tc, every_transpose);
    tcase_add_test(tc, transposes_compose);
    tcase_add_test(tc, transposes_compose_across_a_reshape);
    tcase_add_test(tc, a_function_moves_before_transposes);
    tcase_add_test(tc, mean_of_a_feature_map);
    tcase_add_test(tc, global_max);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
