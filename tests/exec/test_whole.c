/* Operators that run whole: the examples of ONNX' documentation, and the rules of adaps where ONNX
 * has none: NaN, integers that wrap around, what is empty, and indices that are nowhere. */
#include "exec/kernels/whole.h"
#include "ir/graph.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIST(...) __VA_ARGS__
#define COUNT(type, ...) (int)(sizeof((type[]){__VA_ARGS__}) / sizeof(type))
#define ARRAY(T, type_, dims_, ...)                                                                \
    ((struct ad_array){.type = type_,                                                              \
                       .rank = COUNT(int64_t, dims_),                                              \
                       .dims = {dims_},                                                            \
                       .data = (T[]){__VA_ARGS__}})
#define F32(dims_, ...) ARRAY(float, ADAPS_FLOAT32, LIST(dims_), __VA_ARGS__)
#define I64(dims_, ...) ARRAY(int64_t, ADAPS_INT64, LIST(dims_), __VA_ARGS__)
#define I32(dims_, ...) ARRAY(int32_t, ADAPS_INT32, LIST(dims_), __VA_ARGS__)
#define U8(dims_, ...) ARRAY(uint8_t, ADAPS_UINT8, LIST(dims_), __VA_ARGS__)
#define I8(dims_, ...) ARRAY(int8_t, ADAPS_INT8, LIST(dims_), __VA_ARGS__)
#define BOOLS(dims_, ...) ARRAY(uint8_t, ADAPS_BOOL, LIST(dims_), __VA_ARGS__)

/* One number. */
#define SCALAR(T, type_, x) ((struct ad_array){.type = type_, .data = (T[]){x}})
#define F32_SCALAR(x) SCALAR(float, ADAPS_FLOAT32, x)
#define I64_SCALAR(x) SCALAR(int64_t, ADAPS_INT64, x)
#define U8_SCALAR(x) SCALAR(uint8_t, ADAPS_UINT8, x)

/* No elements: a dimension is 0. */
#define F32_EMPTY(...) F32(LIST(__VA_ARGS__), 0)
#define I64_EMPTY(...) I64(LIST(__VA_ARGS__), 0)

#define INTS(...) .ints = (int64_t[]){__VA_ARGS__}, .nints = COUNT(int64_t, __VA_ARGS__)
#define FLOATS(...) .floats = (float[]){__VA_ARGS__}, .nfloats = COUNT(float, __VA_ARGS__)

/* The result of an operator: its inputs, its kind and its attributes. */
#define RUN(inputs, kind_, ...)                                                                    \
    run(&(struct ad_whole){.kind = kind_, __VA_ARGS__}, (struct ad_array[]){inputs},               \
        COUNT(struct ad_array, inputs), NULL)

/* What is wrong with it. */
#define MESSAGE(inputs, kind_, ...)                                                                \
    message(&(struct ad_whole){.kind = kind_, __VA_ARGS__}, (struct ad_array[]){inputs},           \
            COUNT(struct ad_array, inputs))

/* Until the next one. */
static const struct ad_array *run(const struct ad_whole *op, const struct ad_array *inputs, int n,
                                  struct adaps_error *err)
{
    static struct ad_array out;
    struct adaps_error own = {0};
    free(out.data);
    out.data = NULL;
    ck_assert_msg(ad_whole_infer(op, inputs, n, &out, &own) == ADAPS_OK, "%s", own.message);
    int64_t room = ad_array_elements(&out);
    out.data = malloc((size_t)room * ad_type_bytes(out.type) + 1);
    enum adaps_status status = ad_whole_run(op, inputs, n, room, &out, err ? err : &own);
    if (err)
        ck_assert_int_eq(status, ADAPS_EINPUT);
    else
        ck_assert_msg(status == ADAPS_OK, "%s: %s", ad_whole_name(op->kind), own.message);
    return &out;
}

static const char *message(const struct ad_whole *op, const struct ad_array *inputs, int n)
{
    static struct adaps_error err;
    run(op, inputs, n, &err);
    return err.message;
}

/* The same type, dims and bits, but 0 is -0. */
static void is(const struct ad_array *got, struct ad_array want)
{
    char a[200], b[200];
    ck_assert_str_eq(ad_type_name(got->type), ad_type_name(want.type));
    ck_assert_str_eq(ad_dims_format(got->rank, got->dims, a, sizeof a),
                     ad_dims_format(want.rank, want.dims, b, sizeof b));
    ck_assert(!got->open);
    size_t size = ad_type_bytes(want.type);
    for (int64_t i = 0; i < ad_array_elements(&want); i++) {
        const char *x = (const char *)got->data + (size_t)i * size;
        const char *y = (const char *)want.data + (size_t)i * size;
        if (want.type == ADAPS_FLOAT32) {
            float f, g;
            memcpy(&f, x, sizeof f);
            memcpy(&g, y, sizeof g);
            ck_assert_msg(f == g || memcmp(x, y, size) == 0, "element %d is %a, not %a", (int)i,
                          (double)f, (double)g);
        } else {
            ck_assert_msg(memcmp(x, y, size) == 0, "element %d differs, from %d", (int)i, *x);
        }
    }
}

START_TEST(elementwise_examples)
{
    is(RUN(LIST(F32(LIST(3), 1, 2, 3), F32(LIST(3), 3, 2, 1)), AD_WHOLE_SUB),
       F32(LIST(3), -2, 0, 2));
    is(RUN(LIST(F32(LIST(2), 3, 4), F32(LIST(2), 1, 2)), AD_WHOLE_DIV), F32(LIST(2), 3, 2));
    is(RUN(LIST(F32(LIST(3), 3, 2, 1), F32(LIST(3), 1, 4, 4), F32(LIST(3), 2, 5, 3)), AD_WHOLE_MAX),
       F32(LIST(3), 3, 5, 4));
    is(RUN(LIST(F32(LIST(3), 3, 2, 1)), AD_WHOLE_MAX), F32(LIST(3), 3, 2, 1));
    is(RUN(LIST(I8(LIST(3), 3, 2, 1), I8(LIST(3), 1, 4, 4)), AD_WHOLE_MIN), I8(LIST(3), 1, 2, 1));
    is(RUN(LIST(I8(LIST(6), -4, 7, 5, 4, -7, 8), I8(LIST(6), 2, -3, 8, -2, 3, 5)), AD_WHOLE_MOD,
           INTS(0)),
       I8(LIST(6), 0, -2, 5, 0, 2, 3));
    is(RUN(LIST(I64(LIST(6), -4, 7, 5, 4, -7, 8), I64(LIST(6), 2, -3, 8, -2, 3, 5)), AD_WHOLE_MOD,
           INTS(1)),
       I64(LIST(6), 0, 1, 5, 0, -1, 3));
    is(RUN(LIST(F32(LIST(3), 1, 2, 3), F32(LIST(3), 4, 5, 6)), AD_WHOLE_POW),
       F32(LIST(3), 1, 32, 729));
    is(RUN(LIST(F32(LIST(3), 1, 2, 3), F32_SCALAR(2)), AD_WHOLE_POW), F32(LIST(3), 1, 4, 9));
    is(RUN(LIST(F32(LIST(2, 3), 1, 2, 3, 4, 5, 6), F32(LIST(3), 1, 2, 3)), AD_WHOLE_POW),
       F32(LIST(2, 3), 1, 4, 27, 4, 25, 216));
    is(RUN(LIST(F32(LIST(3), 1, 2, 3), I64(LIST(3), 4, 5, 6)), AD_WHOLE_POW),
       F32(LIST(3), 1, 32, 729));
    is(RUN(LIST(I64(LIST(3), 1, 2, 3), F32(LIST(3), 4, 5, 6)), AD_WHOLE_POW),
       I64(LIST(3), 1, 32, 729));
    is(RUN(LIST(I32(LIST(3), 1, 2, 3), I32(LIST(3), 4, 5, 6)), AD_WHOLE_POW),
       I32(LIST(3), 1, 32, 729));
    is(RUN(LIST(BOOLS(LIST(3, 4), 1, 1, 1, 1, 1, 0, 1, 0, 0, 1, 1, 1),
                BOOLS(LIST(3, 4), 1, 1, 1, 1, 1, 0, 1, 0, 0, 1, 1, 0)),
           AD_WHOLE_XOR),
       BOOLS(LIST(3, 4), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1));

    is(RUN(LIST(BOOLS(LIST(2, 2), 1, 0, 1, 1), I64(LIST(2, 2), 1, 2, 3, 4),
                I64(LIST(2, 2), 9, 8, 7, 6)),
           AD_WHOLE_WHERE),
       I64(LIST(2, 2), 1, 8, 3, 4));
    is(RUN(LIST(F32(LIST(6), -1.2f, NAN, INFINITY, 2.8f, -INFINITY, INFINITY)), AD_WHOLE_IS_INF,
           INTS(1, 1)),
       BOOLS(LIST(6), 0, 0, 1, 0, 1, 1));
    is(RUN(LIST(F32(LIST(6), -1.7f, NAN, INFINITY, 3.6f, -INFINITY, INFINITY)), AD_WHOLE_IS_INF,
           INTS(0, 1)),
       BOOLS(LIST(6), 0, 0, 1, 0, 0, 1));
    is(RUN(LIST(F32(LIST(4), 3, NAN, 4, NAN)), AD_WHOLE_IS_NAN), BOOLS(LIST(4), 0, 1, 0, 1));
    is(RUN(LIST(F32(LIST(11), -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5)), AD_WHOLE_SIGN),
       F32(LIST(11), -1, -1, -1, -1, -1, 0, 1, 1, 1, 1, 1));
    is(RUN(LIST(F32(LIST(15), 0.1f, 0.5f, 0.9f, 1.2f, 1.5f, 1.8f, 2.3f, 2.5f, 2.7f, -1.1f, -1.5f,
                    -1.9f, -2.2f, -2.5f, -2.8f)),
           AD_WHOLE_ROUND),
       F32(LIST(15), 0, 0, 1, 1, 2, 2, 2, 2, 3, -1, -2, -2, -2, -2, -3));
    is(RUN(LIST(F32(LIST(3), -2, 0, 2), F32_SCALAR(-1), F32_SCALAR(1)), AD_WHOLE_CLIP),
       F32(LIST(3), -1, 0, 1));
    is(RUN(LIST(F32(LIST(3), -1, 0, 1), F32_EMPTY(0), F32_EMPTY(0)), AD_WHOLE_CLIP),
       F32(LIST(3), -1, 0, 1));
    is(RUN(LIST(F32(LIST(2), -4, 2)), AD_WHOLE_NEG), F32(LIST(2), 4, -2));
    is(RUN(LIST(BOOLS(LIST(3, 4), 1, 1, 1, 1, 1, 0, 1, 0, 0, 1, 1, 1)), AD_WHOLE_NOT),
       BOOLS(LIST(3, 4), 0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0));
}
END_TEST

START_TEST(movement_examples)
{
    is(RUN(LIST(F32(LIST(2, 2), 1, 2, 3, 4), F32(LIST(2, 2), 5, 6, 7, 8)), AD_WHOLE_CONCAT,
           INTS(1)),
       F32(LIST(2, 4), 1, 2, 5, 6, 3, 4, 7, 8));
    is(RUN(LIST(F32(LIST(2, 2, 2), 1, 2, 3, 4, 5, 6, 7, 8),
                F32(LIST(2, 2, 2), 9, 10, 11, 12, 13, 14, 15, 16)),
           AD_WHOLE_CONCAT, INTS(2)),
       F32(LIST(2, 2, 4), 1, 2, 9, 10, 3, 4, 11, 12, 5, 6, 13, 14, 7, 8, 15, 16));
    is(RUN(LIST(F32(LIST(10), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9), I64(LIST(3), 0, -9, -10)),
           AD_WHOLE_GATHER, INTS(0)),
       F32(LIST(3), 0, 1, 0));
    is(RUN(LIST(F32(LIST(2, 2), 1, 2, 3, 4), I64(LIST(2, 2), 0, 0, 1, 0)), AD_WHOLE_GATHER_ELEMENTS,
           INTS(1)),
       F32(LIST(2, 2), 1, 1, 4, 3));
    is(RUN(LIST(F32(LIST(3, 3), 1, 2, 3, 4, 5, 6, 7, 8, 9), I64(LIST(2, 3), -1, -2, 0, -2, 0, 0)),
           AD_WHOLE_GATHER_ELEMENTS, INTS(0)),
       F32(LIST(2, 3), 7, 5, 3, 4, 2, 3));
    is(RUN(LIST(F32(LIST(2, 2, 2), 0, 1, 2, 3, 4, 5, 6, 7), I64(LIST(2, 1, 2), 0, 1, 1, 0)),
           AD_WHOLE_GATHER_ND, INTS(0)),
       F32(LIST(2, 1, 2), 2, 3, 4, 5));
    is(RUN(LIST(I32(LIST(2, 2, 2), 0, 1, 2, 3, 4, 5, 6, 7), I64(LIST(2, 1), 1, 0)),
           AD_WHOLE_GATHER_ND, INTS(1)),
       I32(LIST(2, 2), 2, 3, 4, 5));
    is(RUN(LIST(F32(LIST(3, 3), 0, 0, 0, 0, 0, 0, 0, 0, 0), I64(LIST(2, 3), 1, 0, 2, 0, 2, 1),
                F32(LIST(2, 3), 1, 1.1f, 1.2f, 2, 2.1f, 2.2f)),
           AD_WHOLE_SCATTER_ELEMENTS, INTS(0, 0)),
       F32(LIST(3, 3), 2, 1.1f, 0, 1, 0, 2.2f, 0, 2.1f, 1.2f));
    is(RUN(LIST(F32(LIST(1, 5), 1, 2, 3, 4, 5), I64(LIST(1, 2), 1, -3),
                F32(LIST(1, 2), 1.1f, 2.1f)),
           AD_WHOLE_SCATTER_ELEMENTS, INTS(1, 0)),
       F32(LIST(1, 5), 1, 1.1f, 2.1f, 4, 5));
    is(RUN(LIST(F32(LIST(1, 5), 1, 2, 3, 4, 5), I64(LIST(1, 2), 1, 1), F32(LIST(1, 2), 1.1f, 2.1f)),
           AD_WHOLE_SCATTER_ELEMENTS, INTS(1, 1)),
       F32(LIST(1, 5), 1, 5.2f, 3, 4, 5));
    is(RUN(LIST(F32(LIST(3, 1), 1, 2, 3)), AD_WHOLE_EXPAND, INTS(3, 4)),
       F32(LIST(3, 4), 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
    is(RUN(LIST(F32(LIST(2, 2), 0, 1, 2, 3)), AD_WHOLE_TILE, INTS(2, 2)),
       F32(LIST(4, 4), 0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3));
    is(RUN(LIST(I64(LIST(4, 5), 5, 0, 3, 3, 7, 9, 3, 5, 2, 4, 7, 6, 8, 8, 1, 6, 7, 7, 8, 1)),
           AD_WHOLE_TRILU, INTS(1, -1)),
       I64(LIST(4, 5), 5, 0, 3, 3, 7, 9, 3, 5, 2, 4, 0, 6, 8, 8, 1, 0, 0, 7, 8, 1));
    is(RUN(LIST(I64(LIST(4, 5), 5, 0, 3, 3, 7, 9, 3, 5, 2, 4, 7, 6, 8, 8, 1, 6, 7, 7, 8, 1)),
           AD_WHOLE_TRILU, INTS(0, 2)),
       I64(LIST(4, 5), 5, 0, 3, 0, 0, 9, 3, 5, 2, 0, 7, 6, 8, 8, 1, 6, 7, 7, 8, 1));
    is(RUN(LIST(I64(LIST(3, 1, 5), 5, 0, 3, 3, 7, 9, 3, 5, 2, 4, 7, 6, 8, 8, 1)), AD_WHOLE_TRILU,
           INTS(1, 1)),
       I64(LIST(3, 1, 5), 0, 0, 3, 3, 7, 0, 3, 5, 2, 4, 0, 6, 8, 8, 1));
    is(RUN(LIST(I64_EMPTY(3, 0, 5)), AD_WHOLE_TRILU, INTS(0, 6)), I64_EMPTY(3, 0, 5));
    is(RUN(LIST(F32(LIST(4, 4), 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
                I64(LIST(4), 4, 3, 2, 1)),
           AD_WHOLE_REVERSE_SEQUENCE, INTS(1, 0)),
       F32(LIST(4, 4), 3, 6, 9, 12, 2, 5, 8, 13, 1, 4, 10, 14, 0, 7, 11, 15));
    is(RUN(LIST(F32(LIST(4, 4), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                I64(LIST(4), 1, 2, 3, 4)),
           AD_WHOLE_REVERSE_SEQUENCE, INTS(0, 1)),
       F32(LIST(4, 4), 0, 1, 2, 3, 5, 4, 6, 7, 10, 9, 8, 11, 15, 14, 13, 12));
}
END_TEST

START_TEST(axis_examples)
{
    is(RUN(LIST(F32(LIST(2, 2), 2, 1, 3, 10)), AD_WHOLE_ARG_MAX, INTS(1, 0, 0)),
       I64(LIST(2), 0, 1));
    is(RUN(LIST(F32(LIST(2, 2), 2, 2, 3, 10)), AD_WHOLE_ARG_MAX, INTS(1, 1, 1)),
       I64(LIST(2, 1), 1, 1));
    is(RUN(LIST(F32(LIST(2, 2), 2, 1, 3, 10)), AD_WHOLE_ARG_MIN, INTS(0, 1, 0)),
       I64(LIST(1, 2), 0, 0));
    is(RUN(LIST(F32(LIST(3, 4), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)), AD_WHOLE_TOPK_INDICES,
           INTS(1, 3, 1)),
       I64(LIST(3, 3), 3, 2, 1, 3, 2, 1, 3, 2, 1));
    is(RUN(LIST(F32(LIST(3, 4), 0, 1, 2, 3, 4, 5, 6, 7, 11, 10, 9, 8)), AD_WHOLE_TOPK_INDICES,
           INTS(1, 3, 0)),
       I64(LIST(3, 3), 0, 1, 2, 0, 1, 2, 3, 2, 1));
    is(RUN(LIST(F32(LIST(5), 1, 2, 3, 4, 5)), AD_WHOLE_CUM_SUM, INTS(0, 1, 0)),
       F32(LIST(5), 0, 1, 3, 6, 10));
    is(RUN(LIST(F32(LIST(5), 1, 2, 3, 4, 5)), AD_WHOLE_CUM_SUM, INTS(0, 1, 1)),
       F32(LIST(5), 14, 12, 9, 5, 0));
    is(RUN(LIST(F32(LIST(2, 3), 1, 2, 3, 4, 5, 6)), AD_WHOLE_CUM_SUM, INTS(0, 0, 0)),
       F32(LIST(2, 3), 1, 2, 3, 5, 7, 9));
    is(RUN(LIST(F32(LIST(3, 2, 2), 5, 1, 20, 2, 30, 1, 40, 2, 55, 1, 60, 2)), AD_WHOLE_REDUCE,
           INTS(2, 0, 1)),
       F32(LIST(3, 2), 20, 2, 40, 2, 60, 2));
    is(RUN(LIST(F32(LIST(3, 2, 2), 5, 1, 20, 2, 30, 1, 40, 2, 55, 1, 60, 2)), AD_WHOLE_REDUCE,
           INTS(1, 1, 1)),
       F32(LIST(3, 1, 2), 12.5f, 1.5f, 35, 1.5f, 57.5f, 1.5f));
    is(RUN(LIST(F32(LIST(3, 2, 2), 5, 1, 20, 2, 30, 1, 40, 2, 55, 1, 60, 2)), AD_WHOLE_REDUCE,
           INTS(3, 1)),
       F32(LIST(1, 1, 1), 1));
    is(RUN(LIST(F32(LIST(3, 2, 2), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)), AD_WHOLE_REDUCE,
           INTS(4, 1)),
       F32(LIST(1, 1, 1), 479001600));
    is(RUN(LIST(F32(LIST(3, 2, 2), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)), AD_WHOLE_REDUCE,
           INTS(0, 0, 1)),
       F32(LIST(3, 2), 4, 6, 12, 14, 20, 22));
    is(RUN(LIST(F32(LIST(2, 3), 1, 2, 3, 4, 5, 6)), AD_WHOLE_SHAPE, INTS(0, 2)),
       I64(LIST(2), 2, 3));
    is(RUN(LIST(F32(LIST(2, 3), 1, 2, 3, 4, 5, 6)), AD_WHOLE_SIZE), I64_SCALAR(6));
    is(RUN(LIST(BOOLS(LIST(2, 2), 1, 0, 1, 1)), AD_WHOLE_NON_ZERO),
       I64(LIST(2, 3), 0, 1, 1, 0, 0, 1));
}
END_TEST

START_TEST(open_examples)
{
    is(RUN(LIST(F32(LIST(3, 2), 1, 2, 3, 4, 5, 6), BOOLS(LIST(3), 0, 1, 1)), AD_WHOLE_COMPRESS,
           INTS(0)),
       F32(LIST(2, 2), 3, 4, 5, 6));
    is(RUN(LIST(F32(LIST(3, 2), 1, 2, 3, 4, 5, 6), BOOLS(LIST(2), 0, 1)), AD_WHOLE_COMPRESS,
           INTS(1)),
       F32(LIST(3, 1), 2, 4, 6));
    is(RUN(LIST(F32(LIST(3, 2), 1, 2, 3, 4, 5, 6), BOOLS(LIST(5), 0, 1, 0, 0, 1)),
           AD_WHOLE_COMPRESS, INTS(-1)),
       F32(LIST(2), 2, 5));
    /* ONNX' example of rows, and its columns */
    is(RUN(LIST(F32(LIST(3, 3), 1, 0, 0, 1, 0, 0, 2, 3, 4)), AD_WHOLE_UNIQUE, INTS(0, 1, 0)),
       F32(LIST(2, 3), 1, 0, 0, 2, 3, 4));
    is(RUN(LIST(F32(LIST(3, 3), 1, 0, 0, 1, 0, 0, 2, 3, 4)), AD_WHOLE_UNIQUE, INTS(2, 1, 0)),
       I64(LIST(3), 0, 0, 1));
    is(RUN(LIST(F32(LIST(3, 3), 1, 0, 0, 1, 0, 0, 2, 3, 3)), AD_WHOLE_UNIQUE, INTS(0, 1, 1)),
       F32(LIST(3, 2), 0, 1, 0, 1, 3, 2));
    is(RUN(LIST(F32(LIST(3, 3), 1, 0, 0, 1, 0, 0, 2, 3, 3)), AD_WHOLE_UNIQUE, INTS(3, 0, 1)),
       I64(LIST(2), 1, 2));
    is(RUN(LIST(F32(LIST(6), 2, 1, 1, 3, 4, 3)), AD_WHOLE_UNIQUE, INTS(0, 1)),
       F32(LIST(4), 1, 2, 3, 4));
    is(RUN(LIST(F32(LIST(6), 2, 1, 1, 3, 4, 3)), AD_WHOLE_UNIQUE, INTS(1, 1)),
       I64(LIST(4), 1, 0, 3, 4));
    is(RUN(LIST(F32(LIST(6), 2, 1, 1, 3, 4, 3)), AD_WHOLE_UNIQUE, INTS(2, 1)),
       I64(LIST(6), 1, 0, 0, 2, 3, 2));
    is(RUN(LIST(F32(LIST(6), 2, 1, 1, 3, 4, 3)), AD_WHOLE_UNIQUE, INTS(3, 1)),
       I64(LIST(4), 2, 1, 2, 1));
    is(RUN(LIST(F32(LIST(6), 2, 1, 1, 3, 4, 3)), AD_WHOLE_UNIQUE, INTS(0, 0)),
       F32(LIST(4), 2, 1, 3, 4));
    is(RUN(LIST(F32(LIST(6), 2, 1, 1, 3, 4, 3)), AD_WHOLE_UNIQUE, INTS(2, 0)),
       I64(LIST(6), 0, 1, 1, 2, 3, 2));
}
END_TEST

START_TEST(quantised_examples)
{
    is(RUN(LIST(F32(LIST(6), 0, 2, 3, 1000, -254, -1000), F32_SCALAR(2), U8_SCALAR(128)),
           AD_WHOLE_QUANTIZE, .to = ADAPS_UINT8, INTS(-1, 0)),
       U8(LIST(6), 128, 129, 130, 255, 1, 0));
    is(RUN(LIST(U8(LIST(4), 0, 3, 128, 255), F32_SCALAR(2), U8_SCALAR(128)), AD_WHOLE_DEQUANTIZE,
           INTS(-1, 0)),
       F32(LIST(4), -256, -250, 0, 254));
    is(RUN(LIST(U8(LIST(1, 3, 3, 2), 3, 89, 34, 200, 74, 59, 5, 24, 24, 87, 32, 13, 245, 99, 4, 142,
                   121, 102),
                F32(LIST(3), 2, 4, 5), U8(LIST(3), 84, 24, 196)),
           AD_WHOLE_DEQUANTIZE, INTS(1, 0)),
       F32(LIST(1, 3, 3, 2), -162, 10, -100, 232, -20, -50, -76, 0, 0, 252, 32, -44, 245, -485,
           -960, -270, -375, -470));
    is(RUN(LIST(F32(LIST(6), 0, 2, -3, -2.5f, 1.34f, 0.5f)), AD_WHOLE_DYNAMIC_ZERO),
       U8_SCALAR(153));
    is(RUN(LIST(F32(LIST(6), -1, -2.1f, -1.3f, -2.5f, -3.34f, -4)), AD_WHOLE_DYNAMIC_ZERO),
       U8_SCALAR(255));
    is(RUN(LIST(F32(LIST(3, 4), 1, 2.1f, 1.3f, 2.5f, 3.34f, 4, 1.5f, 2.6f, 3.9f, 4, 3, 2.345f)),
           AD_WHOLE_DYNAMIC_ZERO),
       U8_SCALAR(0));
    is(RUN(LIST(U8(LIST(4, 3), 11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0),
                U8(LIST(3, 2), 1, 4, 2, 5, 3, 6), U8(LIST(1), 12), U8(LIST(1), 0)),
           AD_WHOLE_MATMUL_INTEGER),
       I32(LIST(4, 2), -38, -83, -44, -98, -50, -113, -56, -128));
    is(RUN(LIST(U8(LIST(1, 1, 3, 3), 2, 3, 4, 5, 6, 7, 8, 9, 10), U8(LIST(1, 1, 2, 2), 1, 1, 1, 1),
                U8_SCALAR(1)),
           AD_WHOLE_CONV_INTEGER, INTS(1, 1, 1, 1, 1, 0, 0, 0, 0)),
       I32(LIST(1, 1, 2, 2), 12, 16, 24, 28));
    is(RUN(LIST(U8(LIST(1, 1, 3, 3), 2, 3, 4, 5, 6, 7, 8, 9, 10), U8(LIST(1, 1, 2, 2), 1, 1, 1, 1),
                U8_SCALAR(1)),
           AD_WHOLE_CONV_INTEGER, INTS(1, 1, 1, 1, 1, 1, 1, 1, 1)),
       I32(LIST(1, 1, 4, 4), 1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9));
}
END_TEST

START_TEST(slices_and_pads)
{
    struct ad_array x = F32(LIST(2, 4), 1, 2, 3, 4, 5, 6, 7, 8);
    struct ad_array y = F32(LIST(3, 2), 1, 1.2f, 2.3f, 3.4f, 4.5f, 5.7f);
    is(RUN(x, AD_WHOLE_SLICE, INTS(0, 1, 1, 0, 2, 3, 1, 2)), F32(LIST(1, 2), 5, 7));
    is(RUN(x, AD_WHOLE_SLICE, INTS(0, 1, 0, 1, -1, 1000, 1, 1)), F32(LIST(1, 3), 2, 3, 4));
    is(RUN(x, AD_WHOLE_SLICE, INTS(1, -1, INT64_MIN, -2)), F32(LIST(2, 2), 4, 2, 8, 6));
    is(RUN(x, AD_WHOLE_SLICE, INTS(1, 3, 1, INT64_MIN)), F32(LIST(2, 1), 4, 8));
    is(RUN(x, AD_WHOLE_SLICE, INTS(1, 9, 20, 1)), F32_EMPTY(2, 0));
    is(RUN(y, AD_WHOLE_PAD, INTS(0, 0, 2, 0, 0)),
       F32(LIST(3, 4), 0, 0, 1, 1.2f, 0, 0, 2.3f, 3.4f, 0, 0, 4.5f, 5.7f));
    is(RUN(y, AD_WHOLE_PAD, INTS(1, 0, 2, 0, 0)),
       F32(LIST(3, 4), 1, 1.2f, 1, 1.2f, 2.3f, 3.4f, 2.3f, 3.4f, 4.5f, 5.7f, 4.5f, 5.7f));
    is(RUN(y, AD_WHOLE_PAD, INTS(2, 0, 2, 0, 0)),
       F32(LIST(3, 4), 1, 1, 1, 1.2f, 2.3f, 2.3f, 2.3f, 3.4f, 4.5f, 4.5f, 4.5f, 5.7f));
    is(RUN(y, AD_WHOLE_PAD, INTS(3, 2, 1, 1, 1)),
       F32(LIST(6, 4), 3.4f, 2.3f, 3.4f, 2.3f, 5.7f, 4.5f, 5.7f, 4.5f, 1.2f, 1, 1.2f, 1, 3.4f, 2.3f,
           3.4f, 2.3f, 5.7f, 4.5f, 5.7f, 4.5f, 1.2f, 1, 1.2f, 1));
    is(RUN(LIST(F32(LIST(2), 3, 4), F32_SCALAR(7)), AD_WHOLE_PAD, INTS(0, -1, 2)),
       F32(LIST(3), 4, 7, 7));
}
END_TEST

START_TEST(one_hot_and_softmax)
{
    is(RUN(LIST(I64(LIST(3), 1, -1, 5), U8(LIST(2), 9, 1)), AD_WHOLE_ONE_HOT, INTS(1, 4)),
       U8(LIST(3, 4), 9, 1, 9, 9, 9, 9, 9, 1, 9, 9, 9, 9));
    is(RUN(LIST(F32(LIST(2), 1.9f, NAN), BOOLS(LIST(2), 0, 1)), AD_WHOLE_ONE_HOT, INTS(0, 2)),
       BOOLS(LIST(2, 2), 0, 0, 1, 0));
    is(RUN(F32(LIST(2, 2), 3, 3, 3, -INFINITY), AD_WHOLE_SOFTMAX, INTS(1)),
       F32(LIST(2, 2), 0.5f, 0.5f, 1, 0));
    is(RUN(F32(LIST(2, 2), 3, 3, 3, -INFINITY), AD_WHOLE_SOFTMAX, INTS(0)),
       F32(LIST(2, 2), 0.5f, 1, 0.5f, 0));
}
END_TEST

/* Out of range is as on x86-64, whatever the processor. */
START_TEST(casts)
{
    struct ad_array x = F32(LIST(7), -1.9f, 300.7f, 3e9f, -1e20f, NAN, INFINITY, -0.0f);
    is(RUN(x, AD_WHOLE_CAST, .to = ADAPS_INT64),
       I64(LIST(7), -1, 300, 3000000000, INT64_MIN, INT64_MIN, INT64_MIN, 0));
    is(RUN(x, AD_WHOLE_CAST, .to = ADAPS_INT32),
       I32(LIST(7), -1, 300, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, 0));
    is(RUN(x, AD_WHOLE_CAST, .to = ADAPS_UINT8), U8(LIST(7), 255, 44, 0, 0, 0, 0, 0));
    is(RUN(x, AD_WHOLE_CAST, .to = ADAPS_INT8), I8(LIST(7), -1, 44, 0, 0, 0, 0, 0));
    is(RUN(x, AD_WHOLE_CAST, .to = ADAPS_BOOL), BOOLS(LIST(7), 1, 1, 1, 1, 1, 1, 0));
    is(RUN(I64(LIST(3), 16777217, 511, -1), AD_WHOLE_CAST, .to = ADAPS_FLOAT32),
       F32(LIST(3), 16777216, 511, -1));
    is(RUN(I64(LIST(3), 16777217, 511, -1), AD_WHOLE_CAST, .to = ADAPS_UINT8),
       U8(LIST(3), 1, 255, 255));
    is(RUN(BOOLS(LIST(2), 1, 0), AD_WHOLE_CAST, .to = ADAPS_FLOAT32), F32(LIST(2), 1, 0));
}
END_TEST

START_TEST(integers_wrap_around)
{
    struct ad_array low = I8(LIST(1), -128), one = I8(LIST(1), -1), none = I8(LIST(1), 0);
    is(RUN(LIST(U8(LIST(1), 200), U8(LIST(1), 100)), AD_WHOLE_ADD), U8(LIST(1), 44));
    is(RUN(LIST(U8(LIST(1), 1), U8(LIST(1), 2)), AD_WHOLE_SUB), U8(LIST(1), 255));
    is(RUN(LIST(I64(LIST(1), INT64_MAX), I64(LIST(1), 2)), AD_WHOLE_MUL), I64(LIST(1), -2));
    is(RUN(LIST(low, one), AD_WHOLE_DIV), low);
    is(RUN(LIST(low, none), AD_WHOLE_DIV), none);
    is(RUN(LIST(low, none), AD_WHOLE_MOD, INTS(0)), none);
    is(RUN(LIST(I32(LIST(2), -7, 7), I32(LIST(1), 2)), AD_WHOLE_DIV), I32(LIST(2), -3, 3));
    is(RUN(LIST(I64(LIST(1), INT64_MIN), I64(LIST(1), -1)), AD_WHOLE_DIV), I64(LIST(1), INT64_MIN));
    is(RUN(low, AD_WHOLE_ABS), low);
    is(RUN(low, AD_WHOLE_NEG), low);
    is(RUN(I32(LIST(2), INT32_MAX, 1), AD_WHOLE_REDUCE, INTS(AD_REDUCE_SUM, 0)),
       SCALAR(int32_t, ADAPS_INT32, INT32_MIN));
    is(RUN(I8(LIST(3), -128, -127, 1), AD_WHOLE_REDUCE, INTS(AD_REDUCE_MEAN, 0)),
       SCALAR(int8_t, ADAPS_INT8, -84));
    is(RUN(I32(LIST(2), INT32_MAX, 1), AD_WHOLE_CUM_SUM, INTS(0, 0, 0)),
       I32(LIST(2), INT32_MAX, INT32_MIN));
}
END_TEST

/* Powers of integers are exact where they are integers. */
START_TEST(powers)
{
    is(RUN(LIST(I32(LIST(4), 9, 10, 0, 1), F32_SCALAR(0.5f)), AD_WHOLE_POW),
       I32(LIST(4), 3, 3, 0, 1));
    is(RUN(LIST(I64(LIST(4), 3, 1, -1, 0), I32(LIST(1), -3)), AD_WHOLE_POW),
       I64(LIST(4), 0, 1, -1, 0));
    is(RUN(LIST(I8(LIST(2), 2, -2), I8(LIST(1), 7)), AD_WHOLE_POW), I8(LIST(2), -128, -128));
    is(RUN(LIST(U8(LIST(1), 2), F32(LIST(2), 1.5f, 8)), AD_WHOLE_POW), U8(LIST(2), 2, 0));
    is(RUN(LIST(F32(LIST(3), 2, -8, NAN), I64(LIST(3), -1, 3, 0)), AD_WHOLE_POW),
       F32(LIST(3), 0.5f, -512, 1));
}
END_TEST

/* Whatever NaN goes in, one comes out. */
START_TEST(one_kind_of_nan)
{
    struct ad_array x = F32(LIST(3), 1, -NAN, 3), one = F32_SCALAR(1), no = F32_SCALAR(-NAN);
    is(RUN(LIST(x, one), AD_WHOLE_ADD), F32(LIST(3), 2, NAN, 4));
    is(RUN(LIST(F32_SCALAR(INFINITY), F32_SCALAR(INFINITY)), AD_WHOLE_SUB), F32_SCALAR(NAN));
    is(RUN(LIST(F32_SCALAR(0), F32_SCALAR(0)), AD_WHOLE_DIV), F32_SCALAR(NAN));
    is(RUN(LIST(x, F32(LIST(3), 0, 2, 2)), AD_WHOLE_MOD, INTS(1)), F32(LIST(3), NAN, NAN, 1));
    is(RUN(LIST(x, one), AD_WHOLE_MIN), F32(LIST(3), 1, NAN, 1));
    is(RUN(LIST(one, x, one), AD_WHOLE_MAX), F32(LIST(3), 1, NAN, 3));
    is(RUN(no, AD_WHOLE_MAX), F32_SCALAR(NAN));
    is(RUN(LIST(x, x), AD_WHOLE_EQUAL), BOOLS(LIST(3), 1, 0, 1));
    is(RUN(LIST(x, one), AD_WHOLE_GREATER_EQUAL), BOOLS(LIST(3), 1, 0, 1));
    is(RUN(x, AD_WHOLE_SIGN), F32(LIST(3), 1, NAN, 1));
    is(RUN(x, AD_WHOLE_NEG), F32(LIST(3), -1, NAN, -3));
    is(RUN(x, AD_WHOLE_ROUND), F32(LIST(3), 1, NAN, 3));
    is(RUN(LIST(x, one, one), AD_WHOLE_CLIP), F32(LIST(3), 1, NAN, 1));
    is(RUN(LIST(x, F32_SCALAR(5), one), AD_WHOLE_CLIP), F32(LIST(3), 1, NAN, 1));
    is(RUN(x, AD_WHOLE_CUM_SUM, INTS(0, 0, 0)), F32(LIST(3), 1, NAN, NAN));
    for (int how = 0; how < AD_REDUCE_COUNT; how++)
        is(RUN(x, AD_WHOLE_REDUCE, INTS(how, 0)), F32_SCALAR(NAN));
    is(RUN(x, AD_WHOLE_ARG_MAX, INTS(0, 0, 0)), I64_SCALAR(1));
    is(RUN(x, AD_WHOLE_ARG_MIN, INTS(0, 0, 0)), I64_SCALAR(1));
    is(RUN(F32(LIST(3), NAN, 9, NAN), AD_WHOLE_ARG_MAX, INTS(0, 0, 1)), I64_SCALAR(2));
    is(RUN(x, AD_WHOLE_TOPK_INDICES, INTS(0, 3, 1)), I64(LIST(3), 1, 2, 0));
    is(RUN(x, AD_WHOLE_TOPK_INDICES, INTS(0, 3, 0)), I64(LIST(3), 0, 2, 1));
    is(RUN(F32(LIST(4), NAN, 0, -0.0f, -NAN), AD_WHOLE_UNIQUE, INTS(3, 1)), I64(LIST(2), 2, 2));
    is(RUN(x, AD_WHOLE_NON_ZERO), I64(LIST(1, 3), 0, 1, 2));
    is(RUN(LIST(x, one), AD_WHOLE_QUANTIZE, .to = ADAPS_INT8, INTS(-1, 0)),
       I8(LIST(3), 1, -128, 3));
    is(RUN(x, AD_WHOLE_DYNAMIC_SCALE), F32_SCALAR(NAN));
    is(RUN(x, AD_WHOLE_DYNAMIC_ZERO), U8_SCALAR(0));
    is(RUN(LIST(x, F32(LIST(3), 1, 1, 1)), AD_WHOLE_MATMUL), F32_SCALAR(NAN));
    is(RUN(LIST(x, I64(LIST(1), 0), F32(LIST(1), -NAN)), AD_WHOLE_SCATTER_ELEMENTS, INTS(0, 1)),
       F32(LIST(3), NAN, -NAN, 3));
}
END_TEST

/* Of equal elements the lower index is first; 0 equals -0. */
START_TEST(ties)
{
    struct ad_array x = F32(LIST(2, 3), 0, -0.0f, 0, 5, 7, 7);
    is(RUN(x, AD_WHOLE_TOPK_INDICES, INTS(1, 2, 1)), I64(LIST(2, 2), 0, 1, 1, 2));
    is(RUN(x, AD_WHOLE_TOPK_INDICES, INTS(1, 9, 0)), I64(LIST(2, 3), 0, 1, 2, 0, 1, 2));
    is(RUN(x, AD_WHOLE_TOPK_INDICES, INTS(0, 1, 1)), I64(LIST(1, 3), 1, 1, 1));
    is(RUN(x, AD_WHOLE_TOPK_INDICES, INTS(1, 0, 1)), I64_EMPTY(2, 0));
    is(RUN(x, AD_WHOLE_ARG_MAX, INTS(1, 0, 0)), I64(LIST(2), 0, 1));
    is(RUN(x, AD_WHOLE_ARG_MAX, INTS(1, 0, 1)), I64(LIST(2), 2, 2));
    is(RUN(F32(LIST(3), 1, -0.0f, 0), AD_WHOLE_UNIQUE, INTS(1, 1)), I64(LIST(2), 1, 0));
}
END_TEST

/* No boxes, as a run of a detector may find. */
START_TEST(nothing)
{
    struct ad_array boxes = F32_EMPTY(0, 4), ids = I64_EMPTY(0);
    is(RUN(LIST(boxes, F32(LIST(4), 1, 1, 2, 2)), AD_WHOLE_MUL), boxes);
    is(RUN(LIST(boxes, F32(LIST(1, 4), 1, 2, 3, 4)), AD_WHOLE_CONCAT, INTS(0)),
       F32(LIST(1, 4), 1, 2, 3, 4));
    is(RUN(LIST(F32(LIST(2, 4), 1, 2, 3, 4, 5, 6, 7, 8), ids), AD_WHOLE_GATHER, INTS(0)), boxes);
    is(RUN(LIST(F32(LIST(2), 1, 2), ids, F32_EMPTY(0)), AD_WHOLE_SCATTER_ELEMENTS, INTS(0, 0)),
       F32(LIST(2), 1, 2));
    is(RUN(boxes, AD_WHOLE_TRANSPOSE, INTS(1, 0)), F32_EMPTY(4, 0));
    is(RUN(boxes, AD_WHOLE_ARG_MAX, INTS(1, 0, 0)), I64_EMPTY(0));
    is(RUN(boxes, AD_WHOLE_TOPK_INDICES, INTS(0, 5, 1)), I64_EMPTY(0, 4));
    is(RUN(boxes, AD_WHOLE_NON_ZERO), I64_EMPTY(2, 0));
    is(RUN(F32(LIST(2), 0, -0.0f), AD_WHOLE_NON_ZERO), I64_EMPTY(1, 0));
    is(RUN(F32_SCALAR(3), AD_WHOLE_NON_ZERO), I64_EMPTY(0, 1));
    is(RUN(boxes, AD_WHOLE_UNIQUE, INTS(0, 1)), F32_EMPTY(0));
    is(RUN(boxes, AD_WHOLE_SHAPE, INTS(0, 2)), I64(LIST(2), 0, 4));
    is(RUN(boxes, AD_WHOLE_SIZE), I64_SCALAR(0));
    is(RUN(boxes, AD_WHOLE_SOFTMAX, INTS(1)), boxes);
    is(RUN(boxes, AD_WHOLE_PAD, INTS(0, 1, 0, 0, 0)), F32(LIST(1, 4), 0, 0, 0, 0));
    is(RUN(boxes, AD_WHOLE_REDUCE, INTS(AD_REDUCE_SUM, 0, 0)), F32(LIST(4), 0, 0, 0, 0));
    is(RUN(boxes, AD_WHOLE_REDUCE, INTS(AD_REDUCE_MAX, 0)), F32_SCALAR(-INFINITY));
    is(RUN(boxes, AD_WHOLE_REDUCE, INTS(AD_REDUCE_MIN, 0)), F32_SCALAR(INFINITY));
    is(RUN(boxes, AD_WHOLE_REDUCE, INTS(AD_REDUCE_PRODUCT, 0)), F32_SCALAR(1));
    is(RUN(boxes, AD_WHOLE_REDUCE, INTS(AD_REDUCE_MEAN, 0)), F32_SCALAR(NAN));
    is(RUN(ids, AD_WHOLE_REDUCE, INTS(AD_REDUCE_MEAN, 0)), I64_SCALAR(0));
    is(RUN(ids, AD_WHOLE_REDUCE, INTS(AD_REDUCE_MAX, 0)), I64_SCALAR(INT64_MIN));
    is(RUN(BOOLS(LIST(0), 0), AD_WHOLE_REDUCE, INTS(AD_REDUCE_MIN, 0)),
       SCALAR(uint8_t, ADAPS_BOOL, 1));
    is(RUN(LIST(F32_EMPTY(2, 0), F32_EMPTY(0, 1)), AD_WHOLE_MATMUL), F32(LIST(2, 1), 0, 0));
    is(RUN(F32_EMPTY(0), AD_WHOLE_DYNAMIC_SCALE), F32_SCALAR(1));
    is(RUN(F32(LIST(1), 0), AD_WHOLE_DYNAMIC_SCALE), F32_SCALAR(1));
}
END_TEST

/* Indices that come from the data. */
START_TEST(indices_outside)
{
    struct ad_array x = F32(LIST(3), 1, 2, 3);
    ck_assert_str_eq(MESSAGE(LIST(x, I64(LIST(2), 0, 3)), AD_WHOLE_GATHER, INTS(0)),
                     "index 3 is outside of a dimension of 3");
    ck_assert_str_eq(MESSAGE(LIST(x, I32(LIST(1), -4)), AD_WHOLE_GATHER_ELEMENTS, INTS(0)),
                     "index -4 is outside of a dimension of 3");
    ck_assert_str_eq(MESSAGE(LIST(x, I64(LIST(1, 1), INT64_MIN)), AD_WHOLE_GATHER_ND, INTS(0)),
                     "index -9223372036854775808 is outside of a dimension of 3");
    ck_assert_str_eq(MESSAGE(LIST(x, I64(LIST(1), INT64_MAX), F32(LIST(1), 0)),
                             AD_WHOLE_SCATTER_ELEMENTS, INTS(0, 0)),
                     "index 9223372036854775807 is outside of a dimension of 3");
    ck_assert_str_eq(
        MESSAGE(LIST(x, I64(LIST(1, 1), 7), F32(LIST(1), 0)), AD_WHOLE_SCATTER_ND, INTS(0)),
        "index 7 is outside of a dimension of 3");
    ck_assert_str_eq(MESSAGE(LIST(F32(LIST(1, 2), 1, 2), I64(LIST(1), 3)),
                             AD_WHOLE_REVERSE_SEQUENCE, INTS(0, 1)),
                     "a sequence of 3 in 2 steps");
}
END_TEST

/* --- boxes --- */

#define BOXES                                                                                      \
    0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, -0.1f, 1, 0.9f, 0, 10, 1, 11, 0, 10.1f, 1, 11.1f, 0, 100, 1,  \
        101
#define SCORES 0.9f, 0.75f, 0.6f, 0.95f, 0.5f, 0.3f

START_TEST(boxes)
{
    struct ad_array b = F32(LIST(1, 6, 4), BOXES), s = F32(LIST(1, 1, 6), SCORES);
    struct ad_array flipped = F32(LIST(1, 6, 4), 1, 1, 0, 0, 0, 0.1f, 1, 1.1f, 0, 0.9f, 1, -0.1f, 0,
                                  10, 1, 11, 1, 10.1f, 0, 11.1f, 1, 101, 0, 100);
    struct ad_array centered = F32(LIST(1, 6, 4), 0.5f, 0.5f, 1, 1, 0.5f, 0.6f, 1, 1, 0.5f, 0.4f, 1,
                                   1, 0.5f, 10.5f, 1, 1, 0.5f, 10.6f, 1, 1, 0.5f, 100.5f, 1, 1);
    struct ad_array three = I64(LIST(3, 3), 0, 0, 3, 0, 0, 0, 0, 0, 5);
    is(RUN(LIST(b, s), AD_WHOLE_NMS, INTS(0, 3), FLOATS(0.5f, 0)), three);
    is(RUN(LIST(flipped, s), AD_WHOLE_NMS, INTS(0, 3), FLOATS(0.5f, 0)), three);
    is(RUN(LIST(centered, s), AD_WHOLE_NMS, INTS(1, 3), FLOATS(0.5f, 0)), three);
    is(RUN(LIST(b, s), AD_WHOLE_NMS, INTS(0, 2), FLOATS(0.5f, 0)),
       I64(LIST(2, 3), 0, 0, 3, 0, 0, 0));
    is(RUN(LIST(b, s), AD_WHOLE_NMS, INTS(0, 9), FLOATS(0.5f, 0.4f)),
       I64(LIST(2, 3), 0, 0, 3, 0, 0, 0));
    is(RUN(LIST(b, s), AD_WHOLE_NMS, INTS(0, 9), FLOATS(1, 0.9f)), I64(LIST(1, 3), 0, 0, 3));
    is(RUN(LIST(b, s), AD_WHOLE_NMS, INTS(0, 0), FLOATS(0.5f, 0)), I64_EMPTY(0, 3));
    is(RUN(LIST(F32_EMPTY(1, 0, 4), F32_EMPTY(1, 2, 0)), AD_WHOLE_NMS, INTS(0, 9), FLOATS(0.5f, 0)),
       I64_EMPTY(0, 3));
}
END_TEST

START_TEST(boxes_of_classes_and_pictures)
{
    struct ad_array b = F32(LIST(2, 6, 4), BOXES, BOXES);
    struct ad_array s = F32(LIST(2, 2, 6), SCORES, SCORES, SCORES, SCORES);
    is(RUN(LIST(b, s), AD_WHOLE_NMS, INTS(0, 2), FLOATS(0.5f, 0)),
       I64(LIST(8, 3), 0, 0, 3, 0, 0, 0, 0, 1, 3, 0, 1, 0, 1, 0, 3, 1, 0, 0, 1, 1, 3, 1, 1, 0));
    /* equal scores: the lower index; NaN is no score, and without a threshold all others are */
    struct ad_array same = F32(LIST(1, 4, 4), 0, 0, 1, 1, 5, 5, 6, 6, 0, 0, 1, 1, 8, 8, 9, 9);
    is(RUN(LIST(same, F32(LIST(1, 1, 4), 0.5f, 0.5f, 0.5f, NAN)), AD_WHOLE_NMS, INTS(0, 9),
           FLOATS(0.5f, 0)),
       I64(LIST(2, 3), 0, 0, 0, 0, 0, 1));
    is(RUN(LIST(same, F32(LIST(1, 1, 4), -INFINITY, -1, -2, NAN)), AD_WHOLE_NMS, INTS(0, 9),
           FLOATS(0.5f, -INFINITY)),
       I64(LIST(2, 3), 0, 0, 1, 0, 0, 2));
    /* of overlap 1/3, a box without an area, and exactly the threshold */
    struct ad_array thirds = F32(LIST(1, 3, 4), 0, 0, 1, 1, 0, 0.5f, 1, 1.5f, 0, 0, 0, 1);
    is(RUN(LIST(thirds, F32(LIST(1, 1, 3), 3, 2, 1)), AD_WHOLE_NMS, INTS(0, 9),
           FLOATS(1 / 3.0f, 0)),
       I64(LIST(3, 3), 0, 0, 0, 0, 0, 1, 0, 0, 2));
    is(RUN(LIST(thirds, F32(LIST(1, 1, 3), 3, 2, 1)), AD_WHOLE_NMS, INTS(0, 9), FLOATS(0.33f, 0)),
       I64(LIST(2, 3), 0, 0, 0, 0, 0, 2));
}
END_TEST

/* --- quantised --- */

START_TEST(rounding_and_blocks)
{
    struct ad_array x = F32(LIST(6), 0.5f, 1.5f, -2.5f, 1e30f, -INFINITY, 126.6f);
    is(RUN(LIST(x, F32_SCALAR(1)), AD_WHOLE_QUANTIZE, .to = ADAPS_INT8, INTS(-1, 0)),
       I8(LIST(6), 0, 2, -2, 127, -128, 127));
    is(RUN(LIST(x, F32_SCALAR(1), U8_SCALAR(3)), AD_WHOLE_QUANTIZE, .to = ADAPS_UINT8, INTS(-1, 0)),
       U8(LIST(6), 3, 5, 1, 255, 0, 130));
    is(RUN(LIST(F32(LIST(1, 5), 1, 2, 3, 4, 5), F32(LIST(1, 3), 1, 2, 5)), AD_WHOLE_QUANTIZE,
           .to = ADAPS_UINT8, INTS(1, 2)),
       U8(LIST(1, 5), 1, 2, 2, 2, 1));
    is(RUN(LIST(I32(LIST(2), INT32_MIN, 7), F32(LIST(1), 0.5f), I32(LIST(1), 1)),
           AD_WHOLE_DEQUANTIZE, INTS(-1, 0)),
       F32(LIST(2), -0x1p30f, 3));
    is(RUN(LIST(I8(LIST(2, 2), 1, 2, 3, 4), F32(LIST(1, 2), 1, 10), I8(LIST(1, 2), 0, 1)),
           AD_WHOLE_DEQUANTIZE, INTS(0, 2)),
       F32(LIST(2, 2), 1, 10, 3, 30));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole");
    TCase *tc = tcase_create("whole");
    tcase_add_test(tc, elementwise_examples);
    tcase_add_test(tc, movement_examples);
    tcase_add_test(tc, axis_examples);
    tcase_add_test(tc, open_examples);
    tcase_add_test(tc, quantised_examples);
    tcase_add_test(tc, slices_and_pads);
    tcase_add_test(tc, one_hot_and_softmax);
    tcase_add_test(tc, casts);
    tcase_add_test(tc, integers_wrap_around);
    tcase_add_test(tc, powers);
    tcase_add_test(tc, one_kind_of_nan);
    tcase_add_test(tc, ties);
    tcase_add_test(tc, nothing);
    tcase_add_test(tc, indices_outside);
    tcase_add_test(tc, boxes);
    tcase_add_test(tc, boxes_of_classes_and_pictures);
    tcase_add_test(tc, rounding_and_blocks);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
