/* Operators that run whole: the dims that are inferred, what is refused, and that the dims of open
 * values are the most that there can be. */
#include "ir/graph.h"
#include "support/random_whole.h"
#include "support/run_suite.h"
#include "support/sanitized.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct ad_array array_of(enum adaps_type type, int rank, const int64_t *dims)
{
    struct ad_array array = {.type = type, .rank = rank};
    memcpy(array.dims, dims, (size_t)rank * sizeof *dims);
    return array;
}
#define COUNT(type, ...) (int)(sizeof((type[]){__VA_ARGS__}) / sizeof(type))
#define DIMS(...)                                                                                  \
    COUNT(int64_t, __VA_ARGS__), (int64_t[])                                                       \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define F32(...) array_of(ADAPS_FLOAT32, DIMS(__VA_ARGS__))
#define I64(...) array_of(ADAPS_INT64, DIMS(__VA_ARGS__))
#define U8(...) array_of(ADAPS_UINT8, DIMS(__VA_ARGS__))
#define BOOLS(...) array_of(ADAPS_BOOL, DIMS(__VA_ARGS__))
#define SCALAR(t) ((struct ad_array){.type = t})

static struct ad_array open_of(struct ad_array array)
{
    array.open = true;
    return array;
}

/* Of inputs and attributes, which are lists in brackets. */
#define LIST(...) __VA_ARGS__
#define INFER(kind_, inputs_, ints_)                                                               \
    infer(&(struct ad_whole){.kind = kind_,                                                        \
                             .ints = (int64_t[]){ints_},                                           \
                             .nints = COUNT(int64_t, ints_)},                                      \
          (struct ad_array[]){inputs_}, COUNT(struct ad_array, inputs_))
#define INFER_PLAIN(kind_, inputs_)                                                                \
    infer(&(struct ad_whole){.kind = kind_}, (struct ad_array[]){inputs_},                         \
          COUNT(struct ad_array, inputs_))

/* "int64 open 2x3", or the rule that is broken. */
static const char *infer(const struct ad_whole *op, const struct ad_array *inputs, int n)
{
    static char text[1200];
    char dims[200];
    int data = 0;
    struct ad_array out = {.data = &data};
    struct adaps_error err = {0};
    enum adaps_status status = ad_whole_infer(op, inputs, n, &out, &err);
    if (status == ADAPS_OK)
        snprintf(text, sizeof text, "%s%s %s", ad_type_name(out.type), out.open ? " open" : "",
                 ad_dims_format(out.rank, out.dims, dims, sizeof dims));
    else
        snprintf(text, sizeof text, "%s", err.message);
    ck_assert(status == ADAPS_OK || status == ADAPS_EINPUT);
    ck_assert_ptr_eq(out.data, status == ADAPS_OK ? &data : out.data);
    return text;
}
#define IS(call, want) ck_assert_str_eq(call, want)

START_TEST(dims_of_each_kind)
{
    struct ad_array f23 = F32(2, 3), f3 = F32(3), i64 = I64(4, 1);
    struct ad_whole cast = {.kind = AD_WHOLE_CAST, .to = ADAPS_BOOL};
    struct ad_whole clip = {.kind = AD_WHOLE_CLIP};
    IS(infer(&cast, &f23, 1), "bool 2x3");
    IS(INFER_PLAIN(AD_WHOLE_ADD, LIST(f23, f3)), "float32 2x3");
    IS(INFER_PLAIN(AD_WHOLE_LESS, LIST(F32(2, 1, 3), F32(4, 1))), "bool 2x4x3");
    IS(INFER_PLAIN(AD_WHOLE_MAX, LIST(F32(2, 1, 3), F32(4, 1), F32(0, 1, 1, 1))),
       "float32 0x2x4x3");
    IS(INFER_PLAIN(AD_WHOLE_WHERE, LIST(BOOLS(2, 1), I64(3), I64(1))), "int64 2x3");
    IS(infer(&clip, (struct ad_array[]){f23, F32(0), SCALAR(ADAPS_FLOAT32)}, 3), "float32 2x3");
    IS(INFER(AD_WHOLE_RESHAPE, f23, LIST(3, -1)), "float32 3x2");
    IS(INFER(AD_WHOLE_RESHAPE, LIST(F32(0, 2, 4)), LIST(0, -1)), "float32 0x8");
    IS(INFER(AD_WHOLE_RESHAPE, LIST(F32(0, 2)), LIST(0, 5)), "float32 0x5");
    IS(INFER(AD_WHOLE_RESHAPE, LIST(F32(0, 2)), LIST(3, -1)), "float32 3x0");
    IS(INFER(AD_WHOLE_UNSQUEEZE, f23, LIST(0, 3)), "float32 1x2x3x1");
    IS(INFER(AD_WHOLE_SQUEEZE, i64, LIST(1)), "int64 4");
    IS(INFER_PLAIN(AD_WHOLE_SQUEEZE, i64), "int64 4");
    IS(INFER(AD_WHOLE_FLATTEN, LIST(F32(2, 3, 4, 5)), LIST(2)), "float32 6x20");
    IS(INFER(AD_WHOLE_FLATTEN, LIST(F32(2, 3)), LIST(0)), "float32 1x6");
    IS(INFER(AD_WHOLE_TRANSPOSE, LIST(F32(2, 3, 4)), LIST(2, 0, 1)), "float32 4x2x3");
    IS(INFER(AD_WHOLE_CONCAT, LIST(F32(2, 3), F32(2, 0), F32(2, 4)), LIST(1)), "float32 2x7");
    IS(INFER(AD_WHOLE_SLICE, LIST(F32(20, 10, 5)), LIST(0, 1, 0, 0, 3, 10, 1, 1)),
       "float32 3x10x5");
    IS(INFER(AD_WHOLE_SLICE, LIST(F32(20)), LIST(0, 20, 0, -3)), "float32 7");
    IS(INFER(AD_WHOLE_SLICE, LIST(F32(20)), LIST(0, -1, INT64_MIN, INT64_MIN)), "float32 1");
    IS(INFER(AD_WHOLE_GATHER, LIST(F32(5, 6), I64(2, 3)), LIST(1)), "float32 5x2x3");
    IS(INFER(AD_WHOLE_GATHER, LIST(F32(5, 6), SCALAR(ADAPS_INT32)), LIST(0)), "float32 6");
    IS(INFER(AD_WHOLE_GATHER_ELEMENTS, LIST(F32(5, 6), I64(2, 9)), LIST(1)), "float32 2x9");
    IS(INFER(AD_WHOLE_GATHER_ND, LIST(F32(2, 5, 6), I64(2, 7, 1)), LIST(1)), "float32 2x7x6");
    IS(INFER(AD_WHOLE_SCATTER_ND, LIST(F32(5, 6), I64(3, 1), F32(3, 6)), LIST(4)), "float32 5x6");
    IS(INFER(AD_WHOLE_SCATTER_ELEMENTS, LIST(F32(5, 6), I64(3, 9), F32(3, 9)), LIST(1, 0)),
       "float32 5x6");
    IS(INFER(AD_WHOLE_TILE, f23, LIST(2, 0)), "float32 4x0");
    IS(INFER(AD_WHOLE_EXPAND, f3, LIST(2, 1)), "float32 2x3");
    IS(INFER(AD_WHOLE_PAD, f23, LIST(0, 1, -1, 0, 2)), "float32 3x4");
    IS(INFER(AD_WHOLE_TRILU, f23, LIST(1, -5)), "float32 2x3");
    IS(INFER(AD_WHOLE_REVERSE_SEQUENCE, LIST(F32(4, 3), I64(3)), LIST(1, 0)), "float32 4x3");
    IS(INFER(AD_WHOLE_ARG_MAX, f23, LIST(1, 1, 0)), "int64 2x1");
    IS(INFER(AD_WHOLE_ARG_MIN, f23, LIST(0, 0, 0)), "int64 3");
    IS(INFER(AD_WHOLE_TOPK_INDICES, f23, LIST(1, 300, 1)), "int64 2x3");
    IS(INFER(AD_WHOLE_CUM_SUM, f23, LIST(0, 1, 1)), "float32 2x3");
    IS(INFER(AD_WHOLE_REDUCE, f23, LIST(AD_REDUCE_MEAN, 0, 1)), "float32 2");
    IS(INFER(AD_WHOLE_REDUCE, f23, LIST(AD_REDUCE_SUM, 1)), "float32 1x1");
    IS(INFER(AD_WHOLE_SOFTMAX, f23, LIST(1)), "float32 2x3");
    IS(INFER(AD_WHOLE_ONE_HOT, LIST(f23, I64(2)), LIST(2, 7)), "int64 2x3x7");
    IS(INFER(AD_WHOLE_SHAPE, LIST(F32(2, 3, 4)), LIST(1, 3)), "int64 2");
    IS(INFER_PLAIN(AD_WHOLE_SIZE, f23), "int64 scalar");
    IS(INFER_PLAIN(AD_WHOLE_NON_ZERO, f23), "int64 open 2x6");
    IS(INFER(AD_WHOLE_COMPRESS, LIST(f23, BOOLS(2)), LIST(1)), "float32 open 2x2");
    IS(INFER(AD_WHOLE_COMPRESS, LIST(f23, BOOLS(9)), LIST(-1)), "float32 open 6");
    IS(INFER(AD_WHOLE_UNIQUE, f23, LIST(0, 1)), "float32 open 6");
    IS(INFER(AD_WHOLE_UNIQUE, f23, LIST(2, 1)), "int64 6");
    IS(INFER(AD_WHOLE_UNIQUE, f23, LIST(0, 1, 1)), "float32 open 2x3");
    IS(INFER(AD_WHOLE_UNIQUE, f23, LIST(2, 1, 1)), "int64 3");
    IS(INFER(AD_WHOLE_UNIQUE, f23, LIST(3, 1, 0)), "int64 open 2");
    IS(INFER_PLAIN(AD_WHOLE_MATMUL, LIST(F32(7, 1, 2, 3), F32(4, 3, 5))), "float32 7x4x2x5");
    IS(INFER_PLAIN(AD_WHOLE_MATMUL, LIST(f3, f3)), "float32 scalar");
    IS(INFER_PLAIN(AD_WHOLE_MATMUL_INTEGER, LIST(U8(2, 3), U8(3, 5), SCALAR(ADAPS_UINT8), U8(5))),
       "int32 2x5");
    IS(INFER(AD_WHOLE_CONV_INTEGER, LIST(U8(1, 4, 9, 8), U8(6, 2, 3, 1)),
             LIST(2, 2, 1, 1, 1, 1, 0, 1, 0)),
       "int32 1x6x5x8");
    IS(INFER_PLAIN(AD_WHOLE_DYNAMIC_SCALE, f23), "float32 scalar");
    IS(INFER_PLAIN(AD_WHOLE_DYNAMIC_ZERO, f23), "uint8 scalar");
}
END_TEST

START_TEST(dims_of_boxes_and_quantised)
{
    struct ad_array boxes = F32(2, 100, 4), scores = F32(2, 80, 100);
    struct ad_whole nms = {.kind = AD_WHOLE_NMS,
                           .ints = (int64_t[]){0, 10},
                           .nints = 2,
                           .floats = (float[]){0.5f, -INFINITY},
                           .nfloats = 2};
    IS(infer(&nms, (struct ad_array[]){boxes, scores}, 2), "int64 open 1600x3");
    IS(infer(&nms, (struct ad_array[]){boxes, F32(2, 80, 5)}, 2), "boxes of 2x100x4 and scores of "
                                                                  "2x80x5: n x m x 4, n x classes "
                                                                  "x m");
    nms.floats = (float[]){1.5f, 0};
    IS(infer(&nms, (struct ad_array[]){boxes, scores}, 2),
       "thresholds 1.5 of overlap and 0 of the score");
    struct ad_whole quantize = {
        .kind = AD_WHOLE_QUANTIZE, .to = ADAPS_INT8, .ints = (int64_t[]){1, 2}, .nints = 2};
    IS(infer(&quantize, (struct ad_array[]){F32(2, 5), F32(2, 3)}, 2), "int8 2x5");
    IS(infer(&quantize, (struct ad_array[]){F32(2, 5), F32(2, 2)}, 2),
       "scale or zero of 2x2 for 2x5, axis 1, blocks of 2");
    quantize.ints = (int64_t[]){1, 0};
    IS(infer(&quantize, (struct ad_array[]){F32(2, 5), F32(5), U8(5)}, 3),
       "a zero of type uint8 for int8");
    quantize.to = ADAPS_INT32;
    IS(infer(&quantize, (struct ad_array[]){F32(2, 5), F32(5)}, 2),
       "type int32: int8 or uint8 is needed");
    IS(INFER(AD_WHOLE_DEQUANTIZE, LIST(U8(2, 5), SCALAR(ADAPS_FLOAT32)), LIST(-1, 0)),
       "float32 2x5");
}
END_TEST

/* What a plan from a stranger may say. */
START_TEST(refusals)
{
    struct ad_array f23 = F32(2, 3), many = F32(50000, 50000), far = F32(-1);
    struct ad_whole none = {.kind = AD_WHOLE_COUNT}, cast = {.kind = AD_WHOLE_CAST, .to = 4};
    struct ad_whole add = {.kind = AD_WHOLE_ADD, .to = ADAPS_INT8};
    struct ad_array deep = {.type = ADAPS_FLOAT32, .rank = 9}, odd = {.type = 5};
    struct ad_array wide = F32(1, 1, 1, 1, 1, 1, 1, 1), huge = F32(0, INT32_MAX, 2);
    IS(infer(&none, &f23, 1), "kind 66 is none");
    ck_assert_int_eq(AD_WHOLE_COUNT, 66);
    IS(infer(&cast, &f23, 1), "a cast to type 4, which is none");
    IS(infer(&add, (struct ad_array[]){f23, f23}, 2), "a type that it is made to: int8");
    IS(INFER_PLAIN(AD_WHOLE_ADD, f23), "1 inputs, not 2 to 2");
    IS(INFER_PLAIN(AD_WHOLE_NOT, f23), "input 0 of type float32");
    IS(INFER_PLAIN(AD_WHOLE_NOT, odd), "input 0 of type ?");
    IS(INFER_PLAIN(AD_WHOLE_ABS, deep), "input 0 of rank 9: at most 8 is supported");
    IS(INFER_PLAIN(AD_WHOLE_ABS, many), "an input of 50000x50000: more than 2147483647 elements");
    IS(INFER_PLAIN(AD_WHOLE_ABS, far), "an input of -1: more than 2147483647 elements");
    IS(INFER_PLAIN(AD_WHOLE_ABS, huge),
       "an input of 0x2147483647x2: more than 2147483647 elements");
    IS(INFER_PLAIN(AD_WHOLE_ADD, LIST(f23, I64(2, 3))), "input 1 of type int64 beside float32");
    IS(INFER_PLAIN(AD_WHOLE_ADD, LIST(f23, F32(4))), "2x3 beside 4: neither equal nor 1");
    IS(INFER_PLAIN(AD_WHOLE_ADD, LIST(F32(50000, 1), F32(1, 50000))),
       "a result of 50000x50000: more than 2147483647 elements");
    IS(INFER(AD_WHOLE_MOD, LIST(f23, f23), 0), "floats need fmod = 1");
    IS(INFER(AD_WHOLE_BITWISE, LIST(U8(1), U8(1)), 3), "the operation is 3, not in 0..2");
    IS(INFER_PLAIN(AD_WHOLE_WHERE, LIST(BOOLS(1), f23, U8(1))), "a choice of float32 and uint8");
    IS(INFER_PLAIN(AD_WHOLE_CLIP, LIST(f23, F32(2))), "limit 1 of 2: one number, or an empty list");
    IS(INFER(AD_WHOLE_RESHAPE, f23, LIST(-1, -1)), "new dimensions 0 and 1 are both -1");
    IS(INFER(AD_WHOLE_RESHAPE, f23, LIST(1, 1, 0)), "new dimension 2 is copied from a rank of 2");
    IS(INFER(AD_WHOLE_RESHAPE, f23, LIST(-2)), "new dimension 0 is -2");
    IS(INFER(AD_WHOLE_RESHAPE, f23, LIST(4, -1)), "6 elements do not make a multiple of 4");
    IS(INFER(AD_WHOLE_RESHAPE, f23, LIST(7)), "6 elements do not make 7");
    IS(INFER(AD_WHOLE_RESHAPE, f23, LIST(INT32_MAX, INT32_MAX, INT32_MAX)),
       "the product of the new dimensions is out of range");
    IS(INFER(AD_WHOLE_UNSQUEEZE, wide, 0), "a result of rank 9: at most 8 is supported");
    IS(INFER(AD_WHOLE_UNSQUEEZE, f23, LIST(1, 1)), "an axis is 1, not in 2..3");
    IS(INFER(AD_WHOLE_SQUEEZE, f23, 0), "dimension 0 is 2, not 1");
    IS(INFER_PLAIN(AD_WHOLE_SQUEEZE, LIST(open_of(f23))),
       "the axes are not given, and the dimensions known to a run only");
    IS(INFER(AD_WHOLE_FLATTEN, f23, 3), "the axis is 3, not in 0..2");
    IS(INFER(AD_WHOLE_TRANSPOSE, f23, 0), "a permutation of 1 dimensions of 2");
    IS(INFER(AD_WHOLE_TRANSPOSE, f23, LIST(1, 1)), "a permutation with dimension 1 twice");
    IS(INFER(AD_WHOLE_CONCAT, LIST(f23, F32(3, 3)), 1), "input 1 of 3x3 beside 2x3 along axis 1");
    IS(INFER(AD_WHOLE_CONCAT, LIST(f23, F32(3)), 0), "input 1 of 3 beside 2x3 along axis 0");
    IS(INFER(AD_WHOLE_SLICE, f23, LIST(0, 0, 1)), "3 attributes are not axes, starts, ends and "
                                                  "steps");
    IS(INFER(AD_WHOLE_SLICE, f23, LIST(0, 0, 1, 0)), "a step of 0 along axis 0");
    IS(INFER(AD_WHOLE_SLICE, f23, LIST(1, 1, 0, 0, 1, 1, 1, 1)), "axis 1 twice");
    IS(INFER(AD_WHOLE_GATHER, LIST(wide, F32(1)), 0), "input 1 of type float32");
    IS(INFER(AD_WHOLE_GATHER, LIST(wide, I64(1, 1)), 0), "a result of more than 8 dimensions");
    IS(INFER(AD_WHOLE_GATHER_ELEMENTS, LIST(f23, I64(3, 3)), 1), "3 indices along axis 0 of 2");
    IS(INFER(AD_WHOLE_GATHER_ND, LIST(f23, I64(3, 3)), 0), "tuples of 3 indices into 2 dimensions");
    IS(INFER(AD_WHOLE_GATHER_ND, LIST(f23, I64(3, 1)), 1),
       "3 batches of indices for 2 of the data");
    IS(INFER(AD_WHOLE_SCATTER_ND, LIST(f23, I64(4, 1), F32(4, 2)), 0),
       "updates of 4x2 are not a slice for each tuple of indices");
    IS(INFER(AD_WHOLE_SCATTER_ND, LIST(BOOLS(2), I64(4, 1), BOOLS(4)), 1),
       "a reduction of type bool");
    IS(INFER(AD_WHOLE_SCATTER_ELEMENTS, LIST(f23, I64(1, 1), F32(1, 2)), LIST(0, 0)),
       "updates of 1x2 are not one for each index");
    IS(INFER(AD_WHOLE_TILE, LIST(f23, I64(3)), LIST(1, 1)), "input 1 is not a list of 2");
    IS(INFER(AD_WHOLE_TILE, LIST(f23, open_of(I64(2))), LIST(1, 1)), "input 1 is not a list of 2");
    IS(INFER(AD_WHOLE_TILE, LIST(f23, F32(2)), LIST(1, 1)), "input 1 of type float32");
    IS(INFER(AD_WHOLE_PAD, LIST(f23, f23, I64(4)), LIST(0, 0, 0, 0, 0)),
       "the value to pad with is not one number");
    IS(INFER(AD_WHOLE_RESHAPE, LIST(f23, I64(1)), -1), "dimension 0 of the result is -1");
    IS(INFER(AD_WHOLE_RANGE, LIST(I64(1), I64(1), I64(1)), 9),
       "input 0 of rank 1: a number is needed");
    IS(INFER(AD_WHOLE_TILE, f23, LIST(1, -1)), "a repeat is -1, not in 0..2147483647");
    IS(INFER(AD_WHOLE_TILE, f23, LIST(INT32_MAX, 1)), "dimension 0 of the result is 4294967294");
    IS(INFER(AD_WHOLE_EXPAND, f23, LIST(-1)),
       "a dimension of the shape is -1, not in 0..2147483647");
    IS(INFER(AD_WHOLE_PAD, f23, LIST(0, 1, 1)), "2 pads of 2 dimensions");
    IS(INFER(AD_WHOLE_PAD, f23, LIST(0, -1, 0, -2, 0)), "dimension 0 of 2 is cut by 3");
    IS(INFER(AD_WHOLE_PAD, f23, LIST(1, -2, 0, 1, 0)), "dimension 0 has nothing to pad with");
    IS(INFER(AD_WHOLE_PAD, LIST(f23, F32(2)), LIST(0, 0, 0, 0, 0)),
       "the value to pad with is not one number");
    IS(INFER(AD_WHOLE_TRILU, LIST(F32(3)), LIST(0, 0)), "a triangle of rank 1");
    IS(INFER(AD_WHOLE_REVERSE_SEQUENCE, LIST(f23, I64(2)), LIST(1, 0)),
       "the lengths are not a list of one for each sequence");
    IS(INFER(AD_WHOLE_REVERSE_SEQUENCE, LIST(f23, I64(2)), LIST(0, 0)),
       "batch axis 0 and time axis 0 of rank 2: 0 and 1, or 1 and 0");
    IS(INFER(AD_WHOLE_ARG_MAX, LIST(F32(2, 0)), LIST(1, 0, 0)),
       "none of the elements of axis 1, which is empty");
    IS(INFER(AD_WHOLE_TOPK_INDICES, f23, LIST(1, -1, 1)), "k is -1, not in 0..9223372036854775807");
    IS(INFER(AD_WHOLE_CUM_SUM, f23, LIST(2, 0, 0)), "the axis is 2, not in 0..1");
    IS(INFER(AD_WHOLE_REDUCE, LIST(BOOLS(2)), LIST(AD_REDUCE_SUM, 0)),
       "of type bool there is only the least and the greatest");
    IS(INFER(AD_WHOLE_REDUCE, f23, LIST(5, 0)), "the reduction is 5, not in 0..4");
    IS(INFER(AD_WHOLE_REDUCE, f23, LIST(0, 0, 1, 0)), "an axis is 0, not in 2..1");
    IS(INFER(AD_WHOLE_ONE_HOT, LIST(f23, F32(3)), LIST(0, 5)), "the values are not a list of two");
    IS(INFER(AD_WHOLE_SHAPE, f23, LIST(1, 0)), "end is 0, not in 1..2");
    IS(INFER(AD_WHOLE_COMPRESS, LIST(f23, BOOLS(2, 1)), 0),
       "a condition of rank 2: a list is needed");
    IS(INFER(AD_WHOLE_UNIQUE, f23, LIST(4, 0)), "the output is 4, not in 0..3");
    IS(INFER(AD_WHOLE_UNIQUE, f23, LIST(0, 0, 2)), "the axis is 2, not in 0..1");
    IS(INFER_PLAIN(AD_WHOLE_MATMUL, LIST(f23, f23)), "2x3 times 2x3");
    IS(INFER_PLAIN(AD_WHOLE_MATMUL_INTEGER, LIST(U8(2, 3), U8(3, 5), U8(5))),
       "a zero of 5: one number, or 2");
    IS(INFER(AD_WHOLE_CONV_INTEGER, LIST(U8(1, 4, 9), U8(6, 2, 3)), LIST(3, 1, 1, 0, 0)),
       "1x4x9, filters of 6x2x3, 3 groups");
    IS(INFER(AD_WHOLE_CONV_INTEGER, LIST(U8(1, 4, 2), U8(6, 4, 3)), LIST(1, 1, 1, 0, 0)),
       "a window of 3 elements of 2");
    IS(INFER(AD_WHOLE_CONV_INTEGER, LIST(U8(1, 4, 2), U8(6, 4, 3)), LIST(1, 0, 1, 0, 0)),
       "a stride is 0, not in 1..2147483647");
    IS(INFER(AD_WHOLE_ABS, f23, 0), "1 integer attributes, not 0 to 0");
}
END_TEST

/* Every kind has a row, and takes no fewer inputs or attributes than it reads. */
START_TEST(too_few_of_anything)
{
    for (int kind = 0; kind < AD_WHOLE_COUNT; kind++) {
        struct ad_whole op = {.kind = kind};
        struct ad_array out;
        struct adaps_error err = {0};
        ck_assert_str_ne(ad_whole_name(kind), "?");
        ck_assert_int_eq(ad_whole_infer(&op, NULL, 0, &out, &err), ADAPS_EINPUT);
        ck_assert_str_ne(err.message, "");
        op.nfloats = -1;
        ck_assert_int_eq(ad_whole_infer(&op, &out, -1, &out, NULL), ADAPS_EINPUT);
    }
    ck_assert_str_eq(ad_whole_name(AD_WHOLE_NMS), "NonMaxSuppression");
    ck_assert_str_eq(ad_whole_name(AD_WHOLE_COUNT), "?");
    ck_assert_str_eq(ad_whole_name(-1), "?");
}
END_TEST

static void print_case(const struct ad_random_whole *w)
{
    char dims[200];
    printf("%s (kind %d), attributes", ad_whole_name(w->op.kind), (int)w->op.kind);
    for (int i = 0; i < w->op.nints; i++)
        printf(" %lld", (long long)w->ints[i]);
    for (int i = 0; i < w->n; i++)
        printf("; %s %s%s", ad_type_name(w->in[i].type),
               ad_dims_format(w->in[i].rank, w->in[i].dims, dims, sizeof dims),
               w->in[i].open ? " open" : "");
    printf("\n");
}

/* Makes some inputs open, with larger dims; the size of tuples is never open. */
static void open_some(struct ad_random_whole *w, struct ad_rng *rng)
{
    for (int i = 0; i < w->n; i++) {
        w->in[i].open = ad_rng_below(rng, 2);
        int last = w->in[i].rank - 1;
        bool tuples = w->op.kind == AD_WHOLE_GATHER_ND || w->op.kind == AD_WHOLE_SCATTER_ND;
        for (int d = 0; d <= last && w->in[i].open; d++)
            if (!(tuples && i == 1 && d == last) && ad_rng_below(rng, 2))
                w->in[i].dims[d] += ad_rng_below(rng, 5);
    }
}

/* What true dims give is never more than what was inferred from the most, and just that where the
 * result is not open; and what can be computed from true dims is not refused before. */
START_TEST(open_dims_are_the_most)
{
    struct ad_rng rng = {(uint64_t)_i + 1};
    int fit = 0, closed = 0, rounds = sampled(4000);
    for (int round = 0; round < rounds; round++) {
        struct ad_random_whole w;
        struct ad_array truth, most;
        struct adaps_error err = {0};
        ad_random_whole(&w, _i, &rng);
        if (ad_whole_infer(&w.op, w.in, w.n, &truth, &err) != ADAPS_OK)
            continue;
        fit++;
        ck_assert(ad_whole_work(&w.op, w.in, w.n, &truth) >= 0);
        open_some(&w, &rng);
        if (ad_whole_infer(&w.op, w.in, w.n, &most, &err) != ADAPS_OK) {
            /* the dims themselves are needed */
            if (_i == AD_WHOLE_SQUEEZE && w.op.nints == 0 && w.in[0].open)
                continue;
            print_case(&w);
            ck_abort_msg("refused: %s", err.message);
        }
        closed += !most.open;
        bool holds = truth.rank == most.rank && truth.type == most.type;
        for (int d = 0; d < truth.rank && holds; d++)
            holds = most.open ? truth.dims[d] <= most.dims[d] : truth.dims[d] == most.dims[d];
        if (!holds) {
            char a[200], b[200];
            print_case(&w);
            ck_abort_msg("%s in truth, %s at most",
                         ad_dims_format(truth.rank, truth.dims, a, sizeof a),
                         ad_dims_format(most.rank, most.dims, b, sizeof b));
        }
    }
    ck_assert_msg(fit > rounds / 2, "%s: only %d of %d fit", ad_whole_name(_i), fit, rounds);
    bool own = _i == AD_WHOLE_NON_ZERO || _i == AD_WHOLE_NMS || _i == AD_WHOLE_COMPRESS ||
               _i == AD_WHOLE_RANGE;
    ck_assert(own ? closed == 0 : closed > 0);
}
END_TEST

/* The lengths of slices of up to so many elements: the most of all of them. */
START_TEST(most_of_slices)
{
    for (int64_t start = -6; start <= 6; start++)
        for (int64_t end = -6; end <= 6; end++)
            for (int64_t step = -3; step <= 3; step++)
                for (int64_t most = 0; most < 12 && step != 0; most++) {
                    struct ad_whole op = {.kind = AD_WHOLE_SLICE,
                                          .ints = (int64_t[]){0, start, end, step},
                                          .nints = 4};
                    struct ad_array in = open_of(F32(most)), out;
                    int64_t longest = 0, from, count;
                    for (int64_t dim = 0; dim <= most; dim++) {
                        ad_whole_slice(&op, 0, dim, &from, &count);
                        longest = count > longest ? count : longest;
                    }
                    ck_assert_int_eq(ad_whole_infer(&op, &in, 1, &out, NULL), ADAPS_OK);
                    ck_assert_int_eq(out.dims[0], longest);
                    ck_assert(out.open);
                }
}
END_TEST

/* Values of open ones that are closed all the same, and some that are not. */
START_TEST(what_stays_open)
{
    struct ad_array open = open_of(F32(300, 4)), ids = open_of(I64(300));
    IS(INFER(AD_WHOLE_SHAPE, open, LIST(0, 2)), "int64 2");
    IS(INFER_PLAIN(AD_WHOLE_SIZE, open), "int64 scalar");
    IS(INFER(AD_WHOLE_REDUCE, open, LIST(AD_REDUCE_MAX, 0)), "float32 scalar");
    IS(INFER(AD_WHOLE_REDUCE, open, LIST(AD_REDUCE_MAX, 1, 0, 1)), "float32 1x1");
    IS(INFER(AD_WHOLE_REDUCE, open, LIST(AD_REDUCE_MAX, 0, 1)), "float32 open 300");
    IS(INFER(AD_WHOLE_ARG_MAX, ids, LIST(0, 1, 0)), "int64 1");
    IS(INFER(AD_WHOLE_GATHER_ELEMENTS, LIST(open, I64(2, 2)), 0), "float32 2x2");
    IS(INFER(AD_WHOLE_GATHER, LIST(F32(9, 4), ids), 0), "float32 open 300x4");
    IS(INFER(AD_WHOLE_SCATTER_ELEMENTS, LIST(F32(9), ids, open_of(F32(300))), LIST(0, 0)),
       "float32 9");
    IS(INFER_PLAIN(AD_WHOLE_ADD, LIST(open, F32(4))), "float32 open 300x4");
    IS(INFER_PLAIN(AD_WHOLE_ADD, LIST(open, F32(7, 1))), "float32 open 7x4");
    IS(INFER(AD_WHOLE_CONCAT, LIST(open, F32(20, 3)), 0), "float32 open 320x3");
    IS(INFER(AD_WHOLE_RESHAPE, open, LIST(7, -1)), "float32 open 7x171");
    IS(INFER(AD_WHOLE_RESHAPE, LIST(open, I64(2)), LIST(7, 9)), "float32 open 7x9");
    IS(INFER(AD_WHOLE_TILE, LIST(F32(2, 3), I64(2)), LIST(2, 4)), "float32 open 4x12");
    IS(INFER(AD_WHOLE_EXPAND, LIST(F32(3), I64(2)), LIST(5, 8)), "float32 open 5x3");
    IS(INFER(AD_WHOLE_EXPAND, LIST(F32(1), I64(2)), LIST(5, 8)), "float32 open 5x8");
    IS(INFER(AD_WHOLE_PAD, LIST(F32(2, 3), F32(1), I64(4)), LIST(1, -9, 0, 2, 4)),
       "float32 open 0x7");
    IS(INFER(AD_WHOLE_SLICE, LIST(F32(20), I64(1), I64(1)), LIST(0, 2, 9, 2)), "float32 open 4");
    IS(INFER(AD_WHOLE_SLICE, LIST(F32(20), I64(1)), LIST(0, 2, 9, 2)), "float32 open 4");
    IS(INFER(AD_WHOLE_TOPK_INDICES, LIST(F32(20), I64(1)), LIST(0, 7, 1)), "int64 open 7");
    IS(INFER(AD_WHOLE_RANGE, LIST(SCALAR(ADAPS_INT32), SCALAR(ADAPS_INT32), SCALAR(ADAPS_INT32)),
             9),
       "int32 open 9");
    IS(INFER(AD_WHOLE_UNIQUE, ids, LIST(2, 0)), "int64 open 300");
    IS(INFER_PLAIN(AD_WHOLE_DYNAMIC_SCALE, open), "float32 scalar");
    IS(INFER_PLAIN(AD_WHOLE_ABS, LIST(open_of(SCALAR(ADAPS_INT8)))), "int8 scalar");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole");
    TCase *tc = tcase_create("whole");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, dims_of_each_kind);
    tcase_add_test(tc, dims_of_boxes_and_quantised);
    tcase_add_test(tc, refusals);
    tcase_add_test(tc, too_few_of_anything);
    tcase_add_loop_test(tc, open_dims_are_the_most, 0, AD_WHOLE_COUNT);
    tcase_add_test(tc, most_of_slices);
    tcase_add_test(tc, what_stays_open);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
