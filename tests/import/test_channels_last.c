/* ir/import: matrix products of every shape, and maps whose channels come last. */
#include "support/import_checks.h"
#include "support/run_suite.h"

#include <check.h>
#include <string.h>

/* --- MatMul --- */

static int rank_of(const int64_t *dims)
{
    int rank = 0;
    while (dims[rank] != -9)
        rank++;
    return rank;
}

/* The dim so many places before the last; 1 where there is none. */
static int64_t dim_from_end(const int64_t *dims, int i)
{
    int rank = rank_of(dims);
    return i < rank ? dims[rank - 1 - i] : 1;
}

/* Where the matrix number `index` of the result's `batch` begins in an operand, by numpy's rule. */
static int64_t matrix_at(const int64_t *dims, const int64_t *batch, int64_t index)
{
    int64_t at = 0, step = dim_from_end(dims, 0) * dim_from_end(dims, 1);
    for (int i = 0; i < 4; i++) {
        int64_t has = dim_from_end(dims, i + 2);
        at += has == 1 ? 0 : index % batch[i] * step;
        index /= batch[i];
        step *= has;
    }
    return at;
}

static void check_product(const int64_t *adims, const int64_t *bdims, const float *a,
                          const float *b, const struct ad_tensor *y)
{
    int64_t m = dim_from_end(adims, 1), k = dim_from_end(adims, 0), n = dim_from_end(bdims, 0);
    int64_t batch[4], count = 1;
    for (int i = 0; i < 4; i++) {
        int64_t p = dim_from_end(adims, i + 2), q = dim_from_end(bdims, i + 2);
        batch[i] = p > q ? p : q;
        count *= batch[i];
    }
    ck_assert_uint_eq(y->count, (size_t)(count * m * n));
    for (int64_t i = 0; i < count * m * n; i++) {
        const float *row = a + matrix_at(adims, batch, i / (m * n)) + i / n % m * k;
        const float *column = b + matrix_at(bdims, batch, i / (m * n)) + i % n;
        double sum = 0;
        for (int64_t j = 0; j < k; j++)
            sum += (double)row[j] * (double)column[j * n];
        assert_near(y->data[i], sum);
    }
}

/* Loop: which operands are constants: the right one, the left one, none. */
START_TEST(products)
{
    static const struct {
        int64_t a[8], b[8];
        bool left; /* the left one may be a constant, too */
        const char *kinds;
    } cases[] = {
        {{3, 4, -9}, {4, 5, -9}, true, "FC"},
        {{2, 3, 4, -9}, {4, 5, -9}, false, "Reshape,FC,Reshape"},
        {{1, 6, 7, 4, -9}, {4, 5, -9}, false, NULL},
        {{2, 6, 7, 4, -9}, {1, 4, 5, -9}, false, NULL},
        {{2, 3, 4, -9}, {2, 4, 5, -9}, false, NULL},
        {{2, 3, 4, 6, -9}, {3, 6, 5, -9}, false, NULL},
        {{2, 3, 4, 6, -9}, {2, 3, 6, 5, -9}, false, NULL},
        {{1, 4, 6, -9}, {3, 6, 5, -9}, false, NULL},
        {{4, 6, -9}, {2, 3, 6, 5, -9}, true, NULL},
        {{4, 6, -9}, {3, 6, 5, -9}, true, NULL},
        {{1, 1, 4, 6, -9}, {3, 6, 5, -9}, false, NULL},
        {{1, 4, 6, -9}, {6, 5, -9}, false, NULL},
    };
    int matmuls = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mb mb;
        struct ad_tensor x[2] = {{0}};
        Onnx__TensorProto *a = NULL, *b = NULL;
        if (_i == 1 && !cases[i].left)
            continue;
        mb_init(&mb, 13);
        if (_i == 1)
            a = mb_weights(&mb, "a", cases[i].a, NULL);
        else
            mb_input(&mb, "a", cases[i].a);
        if (_i == 0)
            b = mb_weights(&mb, "b", cases[i].b, NULL);
        else
            mb_input(&mb, "b", cases[i].b);
        mb_node(&mb, "MatMul", "a,b", "y");
        mb_output(&mb, "y");
        struct ad_graph *graph = import_ok(&mb);
        if (_i == 0 && cases[i].kinds)
            assert_kinds(graph, cases[i].kinds);
        for (int k = 0; _i == 2 && k < graph->nops; k++)
            matmuls += graph->ops[k].kind == AD_OP_MATMUL;
        struct ad_tensor y = run_random(graph, x);
        check_product(cases[i].a, cases[i].b, a ? floats(a) : x[0].data,
                      b   ? floats(b)
                      : a ? x[0].data
                          : x[1].data,
                      &y);
        if (_i == 2)
            ad_tensor_fini(&x[1]);
        done(&mb, graph, &x[0], &y);
    }
    ck_assert_int_eq(matmuls, _i == 2 ? 10 : 0); /* all but where matrices are repeated otherwise */
}
END_TEST

START_TEST(too_many_products)
{
    struct mb mb;
    mb_init(&mb, 13);
    mb_input(&mb, "a", MB_DIMS(2, 1, 512, 512));
    mb_input(&mb, "b", MB_DIMS(1, 2, 512, 512));
    mb_node(&mb, "MatMul", "a,b", "y");
    mb_output(&mb, "y");
    import_refused(&mb, "536870912 products of operands that are computed at run time");
}
END_TEST

/* --- channels last --- */

/* Both models' answers to the same random input; they are freed. */
static void assert_same(struct mb *one, struct mb *two, const char *kinds)
{
    struct ad_tensor x, z;
    struct ad_graph *a = import_ok(one), *b = import_ok(two);
    assert_kinds(a, kinds);
    assert_kinds(b, kinds);
    struct ad_tensor p = run_random(a, &x), q = run_random(b, &z);
    ck_assert_uint_eq(p.count, q.count);
    for (size_t i = 0; i < p.count; i++)
        assert_near(p.data[i], (double)q.data[i]);
    done(one, a, &x, &p);
    done(two, b, &z, &q);
}

static void transpose(struct mb *mb, const char *in, const char *out, const int64_t *perm)
{
    mb_ints(mb, mb_node(mb, "Transpose", in, out), "perm", perm);
}

#define TO_LAST MB_DIMS(0, 2, 3, 1)
#define TO_FIRST MB_DIMS(0, 3, 1, 2)

/* Transposed where the model has channels last, else as it is. */
static void turn(struct mb *mb, bool last, const char *in, const char *out, const int64_t *perm)
{
    if (last)
        transpose(mb, in, out, perm);
    else
        mb_node(mb, "Identity", in, out);
}

/* The same matrix with its rows as columns. */
static void transposed_weights(struct mb *mb, const char *name, const int64_t *dims,
                               const float *from, int64_t rows, int64_t columns)
{
    float to[256];
    ck_assert_int_le(rows * columns, 256);
    for (int64_t i = 0; i < rows * columns; i++)
        to[i] = from[i % rows * columns + i / rows];
    mb_weights(mb, name, dims, to);
}

/* A block of ConvNeXt: normalised over channels, two dense layers per pixel, scaled, added. With
 * `last`, as PyTorch's permute() has it. */
static void convnext_block(struct mb *mb, bool last)
{
    static const float eps = 1e-6f;
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(1, 6, 7, 5));
    mb_weights(mb, "eps", MB_SCALAR, &eps);
    const float *w1 = floats(mb_floats(mb, "", MB_DIMS(6, 8), NULL));
    const float *w2 = floats(mb_floats(mb, "", MB_DIMS(8, 6), NULL));
    mb_weights(mb, "scale", last ? MB_DIMS(6) : MB_DIMS(6, 1, 1), NULL);
    mb_weights(mb, "shift", last ? MB_DIMS(8) : MB_DIMS(1, 8, 1, 1), NULL);
    turn(mb, last, "x", "v", TO_LAST);
    if (last) {
        mb_weights(mb, "w1", MB_DIMS(6, 8), w1);
        mb_weights(mb, "w2", MB_DIMS(8, 6), w2);
    } else {
        transposed_weights(mb, "w1", MB_DIMS(8, 6, 1, 1), w1, 6, 8);
        transposed_weights(mb, "w2", MB_DIMS(6, 8, 1, 1), w2, 8, 6);
    }
    const int64_t *axes = last ? MB_DIMS(-1) : MB_DIMS(1);
    mb_ints(mb, mb_node(mb, "ReduceMean", "v", "mean"), "axes", axes);
    mb_node(mb, "Sub", "v,mean", "c");
    mb_node(mb, "Mul", "c,c", "square");
    mb_ints(mb, mb_node(mb, "ReduceMean", "square", "variance"), "axes", axes);
    mb_node(mb, "Add", "variance,eps", "more");
    mb_node(mb, "Sqrt", "more", "spread");
    mb_node(mb, "Div", "c,spread", "n");
    mb_node(mb, "Mul", "n,scale", "scaled");
    mb_node(mb, last ? "MatMul" : "Conv", "scaled,w1", "h");
    mb_node(mb, "Add", "h,shift", "shifted");
    mb_node(mb, "Relu", "shifted", "a");
    mb_node(mb, last ? "MatMul" : "Conv", "a,w2", "o");
    turn(mb, last, "o", "p", TO_FIRST);
    mb_node(mb, "Add", "x,p", "y");
    mb_output(mb, "y");
}

START_TEST(dense_layers_per_pixel)
{
    struct mb one, two;
    convnext_block(&one, true);
    convnext_block(&two, false);
    assert_same(&one, &two, "Reduce,Sub,Mul,Reduce,Add,Div,Mul,Conv,Conv,Add");
}
END_TEST

/* LayerNormalization as an operator of its own. */
START_TEST(normalised_channels)
{
    struct mb mb;
    mb_init(&mb, 17);
    mb_input(&mb, "x", MB_DIMS(1, 6, 4, 5));
    mb_weights(&mb, "s", MB_DIMS(6), NULL);
    mb_weights(&mb, "b", MB_DIMS(6), NULL);
    transpose(&mb, "x", "v", TO_LAST);
    mb_node(&mb, "LayerNormalization", "v,s,b", "n");
    transpose(&mb, "n", "y", TO_FIRST);
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_kinds(graph, "Reduce,Sub,Mul,Reduce,Add,Div,Mul,Add");
    done(&mb, graph, NULL, NULL);
}
END_TEST

/* As TensorFlow's exporters write it: a picture with channels last, padding, slices, joins, a mean
 * over all pixels that gates them, channels that sum to one. */
static void tensorflow(struct mb *mb, bool last)
{
    static const float half = 0.5f;
    const int64_t *pads = last ? MB_DIMS(0, 1, 1, 0, 0, 2, 1, 0) : MB_DIMS(0, 0, 1, 1, 0, 0, 2, 1);
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(1, 3, 9, 8));
    mb_weights(mb, "half", MB_SCALAR, &half);
    mb_weights(mb, "w", MB_DIMS(4, 3, 3, 3), NULL);
    mb_weights(mb, "mean", last ? MB_DIMS(3) : MB_DIMS(3, 1, 1), NULL);
    mb_shape(mb, "pads", pads);
    mb_shape(mb, "ends", MB_DIMS(3));
    mb_shape(mb, "from", MB_DIMS(1));
    mb_shape(mb, "axis", last ? MB_DIMS(3) : MB_DIMS(1));
    mb_node(mb, "Identity", "x", "x1");
    turn(mb, last, "x1", "v", TO_LAST);
    mb_node(mb, "Sub", "v,mean", "centred");
    mb_node(mb, "Mul", "centred,half", "scaled");
    mb_node(mb, "Pad", "scaled,pads", "padded");
    turn(mb, last, "padded", "map", TO_FIRST);
    mb_node(mb, "Conv", "map,w", "c");
    turn(mb, last, "c", "d", TO_LAST);
    mb_node(mb, "Sigmoid", "d", "e");
    mb_ints(mb, mb_node(mb, "ReduceMean", "e", "pooled"), "axes",
            last ? MB_DIMS(1, 2) : MB_DIMS(2, 3));
    mb_node(mb, "Mul", "e,pooled", "gated");
    mb_node(mb, "Slice", "gated,from,ends,axis", "some");
    mb_int(mb, mb_node(mb, "Concat", "some,gated", "both"), "axis", last ? 3 : 1);
    mb_int(mb, mb_node(mb, "Softmax", "both", "soft"), "axis", last ? -1 : 1);
    turn(mb, last, "soft", "y", TO_FIRST);
    mb_output(mb, "y");
}

START_TEST(nothing_is_left_of_transposes)
{
    struct mb one, two;
    tensorflow(&one, true);
    tensorflow(&two, false);
    assert_same(&one, &two,
                "Sub,Mul,Conv,AveragePool,GlobalAveragePool,Mul,Resample,Concat,Softmax");
}
END_TEST

/* An input with channels last is one as it lies in memory: its Transpose moves nothing. The output
 * stays as the file has it. */
START_TEST(pictures_with_channels_last)
{
    struct mb mb;
    struct ad_tensor x;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 6, 5, 3));
    Onnx__TensorProto *mean = mb_weights(&mb, "mean", MB_DIMS(3), NULL);
    Onnx__TensorProto *w = mb_weights(&mb, "w", MB_DIMS(2, 3, 1, 1), NULL);
    mb_node(&mb, "Sub", "x,mean", "centred");
    transpose(&mb, "centred", "map", TO_FIRST);
    mb_node(&mb, "Conv", "map,w", "c");
    transpose(&mb, "c", "d", TO_LAST);
    mb_node(&mb, "Relu", "d", "y");
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_kinds(graph, "Reshape,Sub,Conv,Reshape");
    assert_dims(graph, graph->inputs[0], "1x6x5x3");
    assert_dims(graph, graph->outputs[0], "1x6x5x2");
    ck_assert_str_eq(graph->values[graph->inputs[0]].name, "x");
    ck_assert_str_eq(graph->values[graph->outputs[0]].name, "y");
    struct ad_tensor y = run_random(graph, &x);
    for (int i = 0; i < 60; i++) {
        double sum = 0;
        for (int c = 0; c < 3; c++)
            sum += ((double)x.data[i / 2 * 3 + c] - (double)floats(mean)[c]) *
                   (double)floats(w)[i % 2 * 3 + c];
        assert_near(y.data[i], sum > 0 ? sum : 0);
    }
    done(&mb, graph, &x, &y);
}
END_TEST

/* --- rank 5 with dim 2 last --- */

#define ANCHORS 3
#define NUMBERS 7 /* for each anchor and pixel: 2 of a centre, 2 of a size, 3 scores */
#define ROWS 4
#define COLUMNS 5

/* What a detector makes of its last map: for each anchor and pixel a centre on a grid, a size by
 * anchors, scores; a row for each box. `way`: how the file slices, and what its constants repeat.
 */
static void boxes_by_anchors(struct mb *mb, int way, const float *grid, const float *anchors)
{
    static const float two = 2, eight = 8;
    bool full = way == 0;
    float repeated[ANCHORS * ROWS * COLUMNS * 2];
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(1, ANCHORS * NUMBERS, ROWS, COLUMNS));
    mb_shape(mb, "five", MB_DIMS(1, ANCHORS, NUMBERS, ROWS, COLUMNS));
    mb_shape(mb, "parts", MB_DIMS(2, 2, NUMBERS - 4));
    mb_shape(mb, "last", MB_DIMS(4));
    mb_shape(mb, "n0", MB_DIMS(0));
    mb_shape(mb, "n2", MB_DIMS(2));
    mb_shape(mb, "n4", MB_DIMS(4));
    mb_shape(mb, "n7", MB_DIMS(NUMBERS));
    mb_shape(mb, "rows", MB_DIMS(1, ANCHORS * ROWS * COLUMNS, NUMBERS));
    mb_weights(mb, "two", MB_SCALAR, &two);
    mb_weights(mb, "stride", MB_SCALAR, &eight);
    for (int i = 0; i < ANCHORS * ROWS * COLUMNS * 2; i++)
        repeated[i] = anchors[i / (ROWS * COLUMNS * 2) * 2 + i % 2];
    mb_weights(mb, "grid", MB_DIMS(1, 1, ROWS, COLUMNS, 2), grid);
    mb_weights(mb, "anchors",
               full ? MB_DIMS(1, ANCHORS, ROWS, COLUMNS, 2) : MB_DIMS(ANCHORS, 1, 1, 2),
               full ? repeated : anchors);
    mb_node(mb, "Mul", "x,two", "u");
    mb_node(mb, "Reshape", "u,five", "v");
    transpose(mb, "v", "t", MB_DIMS(0, 1, 3, 4, 2));
    mb_node(mb, "Relu", "t", "s");
    if (full) {
        mb_int(mb, mb_node(mb, "Split", "s,parts", "xy,wh,scores"), "axis", 4);
    } else {
        mb_node(mb, "Slice", "s,n0,n2,last", "xy");
        mb_node(mb, "Slice", "s,n2,n4,last", "wh");
        mb_node(mb, "Slice", "s,n4,n7,last", "scores");
    }
    mb_node(mb, "Mul", "xy,two", "xy2");
    mb_node(mb, "Add", "xy2,grid", "corner");
    mb_node(mb, "Mul", "corner,stride", "centre");
    mb_node(mb, "Mul", "wh,wh", "wh2");
    mb_node(mb, "Mul", "wh2,anchors", "size");
    mb_int(mb, mb_node(mb, "Concat", "centre,size,scores", "all"), "axis", way == 2 ? -1 : 4);
    mb_node(mb, "Reshape", "all,rows", "y");
    mb_output(mb, "y");
}

static double box_number(const struct ad_tensor *x, const float *grid, const float *anchors, int a,
                         int pixel, int d)
{
    double v = (double)x->data[(a * NUMBERS + d) * ROWS * COLUMNS + pixel];
    v = v > 0 ? 2 * v : 0;
    return d < 2   ? (2 * v + (double)grid[pixel * 2 + d]) * 8
           : d < 4 ? v * v * (double)anchors[a * 2 + d - 2]
                   : v;
}

/* One permutation, by blocks; all else is on maps whose channels are the numbers, and the rows of
 * the result lie in memory as the map does. */
START_TEST(boxes)
{
    struct mb mb;
    struct ad_tensor x;
    float grid[ROWS * COLUMNS * 2], anchors[ANCHORS * 2];
    for (int i = 0; i < ROWS * COLUMNS * 2; i++)
        grid[i] = (float)(i % 2 ? i / 2 / COLUMNS : i / 2 % COLUMNS) - 0.5f;
    for (int i = 0; i < ANCHORS * 2; i++)
        anchors[i] = (float)(i + 2);
    boxes_by_anchors(&mb, _i, grid, anchors);
    struct ad_graph *graph = import_ok(&mb);
    assert_kinds(graph,
                 "Mul,Permute,Resample,Resample,Resample,Mul,Add,Mul,Mul,Mul,Concat,Reshape");
    assert_dims(graph, graph->ops[graph->nops - 2].output, "1x7x12x5");
    struct ad_tensor y = run_random(graph, &x);
    for (int a = 0, i = 0; a < ANCHORS; a++)
        for (int pixel = 0; pixel < ROWS * COLUMNS; pixel++)
            for (int d = 0; d < NUMBERS; d++)
                assert_near(y.data[i++], box_number(&x, grid, anchors, a, pixel, d));
    done(&mb, graph, &x, &y);
}
END_TEST

/* Operators that need the five dims have them: what is turned and what is not, by turns. */
START_TEST(boxes_of_five_dims)
{
    struct mb mb;
    struct ad_tensor x[2];
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2, 3, 4, 5));
    mb_input(&mb, "z", MB_DIMS(1, 2, 4, 5, 3));
    transpose(&mb, "x", "t", MB_DIMS(0, 1, 3, 4, 2));
    mb_node(&mb, "Mul", "t,z", "a");
    mb_int(&mb, mb_node(&mb, "Concat", "a,a", "b"), "axis", 2);
    transpose(&mb, "b", "y", MB_DIMS(0, 1, 4, 2, 3));
    mb_output(&mb, "y");
    struct ad_graph *graph = import_ok(&mb);
    assert_dims(graph, graph->outputs[0], "1x2x3x8x5");
    struct ad_tensor y = run_random(graph, x);
    for (int i = 0; i < 2 * 3 * 8 * 5; i++) {
        int a = i / 120, d = i / 40 % 3, h = i / 5 % 8 % 4, w = i % 5;
        assert_near(y.data[i], (double)x[0].data[((a * 3 + d) * 4 + h) * 5 + w] *
                                   (double)x[1].data[((a * 4 + h) * 5 + w) * 3 + d]);
    }
    ad_tensor_fini(&x[1]);
    done(&mb, graph, &x[0], &y);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import last");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, products, 0, 3);
    tcase_add_test(tc, too_many_products);
    tcase_add_test(tc, dense_layers_per_pixel);
    tcase_add_test(tc, normalised_channels);
    tcase_add_test(tc, nothing_is_left_of_transposes);
    tcase_add_test(tc, pictures_with_channels_last);
    tcase_add_loop_test(tc, boxes, 0, 3);
    tcase_add_test(tc, boxes_of_five_dims);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
