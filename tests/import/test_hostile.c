/* Files that are made to take time or memory: far more operators, names, numbers or elements than
 * bytes. `adaps inspect` refuses each within the limits of inspected.h. The others that are like
 * these are fine, and take no more. */
#include "base/mem.h"
#include "support/inspected.h"
#include "support/model_builder.h"
#include "support/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOO_MUCH "would take more than"
#define FINE NULL

/* --- models --- */

/* `count` nodes, each of the one before it; the first of x, the last y. `more`: their other inputs.
 */
static void chain(struct mb *mb, const char *type, const char *more, int count)
{
    for (int i = 0; i < count; i++) {
        char inputs[128], output[32];
        snprintf(output, sizeof output, "v%d", i - 1);
        snprintf(inputs, sizeof inputs, "%s%s", i == 0 ? "x" : output, more);
        snprintf(output, sizeof output, "v%d", i);
        mb_node(mb, type, inputs, i == count - 1 ? "y" : output);
    }
}

/* A node that reads `value` `count` times. */
static void wide(struct mb *mb, const char *type, const char *value, int count)
{
    Onnx__NodeProto *node = mb_node(mb, type, value, "y");
    node->input = ad_arena_alloc(&mb->arena, (size_t)count, sizeof *node->input);
    ck_assert_ptr_nonnull(node->input);
    node->n_input = (size_t)count;
    for (int i = 0; i < count; i++)
        node->input[i] = (char *)value;
    if (strcmp(type, "Concat") == 0)
        mb_int(mb, node, "axis", 1);
}

/* A tensor of zeros of this type in the file, one element after the other. */
static void zeros(struct mb *mb, const char *name, const int64_t *dims, int type, size_t bytes)
{
    Onnx__TensorProto *t = mb_weights(mb, name, MB_DIMS(1), NULL);
    for (t->n_dims = 0; dims[t->n_dims] != -9; t->n_dims++)
        ;
    t->dims = ad_arena_alloc(&mb->arena, t->n_dims, sizeof *t->dims);
    memcpy(t->dims, dims, t->n_dims * sizeof *t->dims);
    t->data_type = type;
    t->raw_data.data = ad_arena_alloc(&mb->arena, bytes, 1);
    t->raw_data.len = bytes;
    ck_assert_ptr_nonnull(t->raw_data.data);
}

static void normalise(struct mb *mb, int channels, int count)
{
    mb_input(mb, "x", MB_DIMS(1, channels, 1, 1));
    zeros(mb, "s", MB_DIMS(channels), 1, sizeof(float) * (size_t)channels);
    chain(mb, "BatchNormalization", ",s,s,s,s", count);
}

static void normalisations(struct mb *mb)
{
    normalise(mb, 1000000, 200);
}

static void small_normalisations(struct mb *mb)
{
    normalise(mb, 1000, 20000);
}

static void few_normalisations(struct mb *mb)
{
    normalise(mb, 1000, 100);
}

static void many_functions(struct mb *mb)
{
    mb_input(mb, "x", MB_DIMS(1, 3, 4, 4));
    chain(mb, "Abs", "", 100000);
}

static void many_constants(struct mb *mb)
{
    mb_input(mb, "x", MB_DIMS(1, 3, 4, 4));
    for (int i = 0; i < 150000; i++) {
        char name[32];
        snprintf(name, sizeof name, "c%d", i);
        mb_float(mb, mb_node(mb, "Constant", "", name), "value_float", 1);
    }
    mb_node(mb, "Add", "x,c149999", "y");
}

static void wide_sum(struct mb *mb)
{
    mb_input(mb, "x", MB_DIMS(1, 1, 2, 2));
    wide(mb, "Sum", "x", 500000);
}

static void wide_concat(struct mb *mb)
{
    mb_input(mb, "x", MB_DIMS(1, 1, 2, 2));
    wide(mb, "Concat", "x", 200000);
}

static void doubled(struct mb *mb)
{
    mb_input(mb, "x", MB_DIMS(1, 3, 4, 4));
    mb_weights(mb, "c0", MB_DIMS(1), NULL);
    for (int i = 0; i < 60; i++) {
        char inputs[64], output[32];
        snprintf(inputs, sizeof inputs, "c%d,c%d", i, i);
        snprintf(output, sizeof output, "c%d", i + 1);
        mb_int(mb, mb_node(mb, "Concat", inputs, output), "axis", 0);
    }
    mb_node(mb, "Add", "x,c60", "y");
}

static void from_shape(struct mb *mb)
{
    mb_input(mb, "x", MB_DIMS(1, 3, 4, 4));
    mb_shape(mb, "s", MB_DIMS(1 << 20, 1 << 20));
    mb_node(mb, "ConstantOfShape", "s", "c");
    mb_node(mb, "Add", "x,c", "y");
}

static void many_from_shape(struct mb *mb)
{
    mb_input(mb, "x", MB_DIMS(1, 1, 1000, 1000));
    mb_shape(mb, "s", MB_DIMS(1000, 1000));
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof name, "c%d", i);
        mb_node(mb, "ConstantOfShape", "s", name);
    }
    wide(mb, "Sum", "x", 1001);
    Onnx__GraphProto *graph = mb->proto->graph;
    Onnx__NodeProto *sum = graph->node[graph->n_node - 1];
    for (size_t i = 0; i < 1000; i++)
        sum->input[i + 1] = graph->node[i]->output[0];
}

static void expanded(struct mb *mb)
{
    mb_input(mb, "x", MB_DIMS(1, 3, 4, 4));
    mb_weights(mb, "c", MB_DIMS(1), NULL);
    mb_shape(mb, "s", MB_DIMS(1 << 20, 1 << 20));
    mb_node(mb, "Expand", "c,s", "d");
    mb_node(mb, "Add", "x,d", "y");
}

static void range(struct mb *mb)
{
    static const int64_t numbers[] = {0, (int64_t)1 << 40, 1};
    mb_input(mb, "x", MB_DIMS(1, 3, 4, 4));
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"from", "to", "by"};
        Onnx__TensorProto *t = mb_shape(mb, names[i], MB_DIMS(0));
        t->n_dims = 0;
        t->int64_data[0] = numbers[i];
    }
    mb_node(mb, "Range", "from,to,by", "r");
    mb_node(mb, "Reshape", "x,r", "y");
}

static void bytes_as_floats(struct mb *mb)
{
    mb_input(mb, "x", MB_DIMS(1, 4000));
    zeros(mb, "w", MB_DIMS(4000, 4000), 3, 16000000);
    mb_int(mb, mb_node(mb, "Cast", "w", "f"), "to", 1);
    mb_node(mb, "Gemm", "x,f", "y");
}

/* Layers of whole numbers with a million bytes of weights each, one after the other. */
static void many_bytes(struct mb *mb)
{
    char w[16], inputs[32], bytes[16], sums[16];
    mb_input(mb, "x", MB_DIMS(1, 1000));
    for (int i = 0; i < 20; i++) {
        snprintf(w, sizeof w, "w%d", i);
        snprintf(bytes, sizeof bytes, "b%d", i);
        snprintf(inputs, sizeof inputs, "%s,%s", bytes, w);
        zeros(mb, w, MB_DIMS(1000, 1000), 3, 1000000);
        mb_int(mb, mb_node(mb, "Cast", i == 0 ? "x" : sums, bytes), "to", 3);
        snprintf(sums, sizeof sums, "s%d", i);
        mb_node(mb, "MatMulInteger", inputs, i == 19 ? "y" : sums);
    }
}

static void halves_as_floats(struct mb *mb)
{
    mb_input(mb, "x", MB_DIMS(1, 4000));
    zeros(mb, "w", MB_DIMS(4000, 4000), 10, 32000000);
    mb_int(mb, mb_node(mb, "Cast", "w", "f"), "to", 1);
    mb_node(mb, "Gemm", "x,f", "y");
}

static void functions_of_weights(struct mb *mb)
{
    mb_input(mb, "x", MB_DIMS(1, 4000));
    zeros(mb, "w", MB_DIMS(4000, 4000), 1, 64000000);
    mb_node(mb, "Neg", "w", "a");
    mb_node(mb, "Abs", "a", "b");
    mb_node(mb, "Neg", "b", "c");
    mb_node(mb, "Gemm", "x,c", "y");
}

static void truths(struct mb *mb)
{
    mb_input(mb, "x", MB_DIMS(1, 1));
    zeros(mb, "w", MB_DIMS(1, 20000000), 9, 20000000);
    mb_node(mb, "Where", "w,x,x", "y");
}

static void long_shape(struct mb *mb)
{
    mb_input(mb, "x", MB_DIMS(1, 3, 4, 4));
    zeros(mb, "s", MB_DIMS(5000000), 2, 5000000);
    mb_node(mb, "Reshape", "x,s", "y");
}

static void sparse(struct mb *mb)
{
    mb_input(mb, "x", MB_DIMS(1, 3, 4, 4));
    mb_string(mb, mb_node(mb, "Constant", "", "c"), "sparse_value", "");
    mb_node(mb, "Add", "x,c", "y");
}

static void padded(struct mb *mb)
{
    mb_input(mb, "x", MB_DIMS(1, 3, 1, 1));
    mb_shape(mb, "p", MB_DIMS(0, 500000000, 0, 0, 0, 0, 0, 0));
    mb_node(mb, "Pad", "x,p", "y");
}

static void resized(struct mb *mb)
{
    mb_input(mb, "x", MB_DIMS(1, 3, 100, 100));
    mb_weights(mb, "s", MB_DIMS(4), (const float[]){1, 1, 3000, 3000});
    mb_node(mb, "Resize", "x,,s", "y");
}

static void transposed(struct mb *mb)
{
    mb_input(mb, "x", MB_DIMS(1, 3, 100, 100));
    mb_weights(mb, "w", MB_DIMS(3, 4, 3, 3), NULL);
    Onnx__NodeProto *node = mb_node(mb, "ConvTranspose", "x,w", "y");
    mb_ints(mb, node, "strides", MB_DIMS(64, 64));
    mb_ints(mb, node, "dilations", MB_DIMS(100000, 100000));
}

static const struct {
    const char *name;
    void (*make)(struct mb *mb);
    const char *reason; /* FINE: it is not refused */
} models[] = {
    {"200 normalisations of a million channels", normalisations, TOO_MUCH},
    {"20000 normalisations of 1000 channels", small_normalisations, TOO_MUCH},
    {"100 normalisations of 1000 channels", few_normalisations, FINE},
    {"100000 functions", many_functions, TOO_MUCH},
    {"150000 constants", many_constants, TOO_MUCH},
    {"a sum of 500000", wide_sum, TOO_MUCH},
    {"a concatenation of 200000", wide_concat, FINE},
    {"a constant doubled 60 times", doubled, "too large to compute on import"},
    {"a constant of 2^40 elements", from_shape, "of the result is 1048576"},
    {"1000 constants of a million elements", many_from_shape, "too large to compute on import"},
    {"a number expanded to 2^40", expanded, "of the result is 1048576"},
    {"a range of 2^40", range, "from 0 to 1.09951e+12 by 1"},
    {"16 million bytes as floats", bytes_as_floats, TOO_MUCH},
    {"20 million bytes of weights", many_bytes, FINE},
    {"16 million halves as floats", halves_as_floats, FINE},
    {"functions of 16 million weights", functions_of_weights, "too large to compute on import"},
    {"20 million truth values", truths, TOO_MUCH},
    {"a shape of 5 million bytes", long_shape, "at most 8 is supported"},
    {"a sparse constant", sparse, "only tensors, numbers and lists"},
    {"500 million channels of padding", padded, "padding of 500000000"},
    {"an image of 300000 x 300000", resized, "less than 2^31"},
    {"filters of 200001 x 200001", transposed, "its filters would have"},
};

static void *model_bytes(int i, size_t *size)
{
    struct mb mb;
    mb_init(&mb, 13);
    models[i].make(&mb);
    mb_output(&mb, "y");
    void *bytes = mb_pack(&mb, size);
    mb_fini(&mb);
    return bytes;
}

START_TEST(heavy_models)
{
    inspected_make(model_bytes, _i);
    inspected_file(models[_i].name, models[_i].reason ? 3 : 0, models[_i].reason);
}
END_TEST

/* --- bytes: a field again and again --- */

static const struct {
    const char *name;
    const char *path; /* the fields of messages that it lies in */
    const char *field;
    int size, count;
    const char *reason;
} fields[] = {
    {"empty nodes", "\x3a", "\x0a\x00", 2, 2000000, TOO_MUCH},
    {"empty initializers", "\x3a", "\x2a\x00", 2, 2000000, TOO_MUCH},
    {"empty inputs", "\x3a", "\x5a\x00", 2, 2000000, TOO_MUCH},
    {"empty outputs", "\x3a", "\x62\x00", 2, 2000000, TOO_MUCH},
    {"empty value infos", "\x3a", "\x6a\x00", 2, 2000000, TOO_MUCH},
    {"empty opset imports", "", "\x42\x00", 2, 2000000, TOO_MUCH},
    {"empty metadata", "", "\x72\x00", 2, 2000000, TOO_MUCH},
    {"empty attributes", "\x3a\x0a", "\x2a\x00", 2, 2000000, TOO_MUCH},
    {"empty input names", "\x3a\x0a", "\x0a\x00", 2, 5000000, TOO_MUCH},
    {"empty output names", "\x3a\x0a", "\x12\x00", 2, 5000000, TOO_MUCH},
    {"empty strings", "\x3a\x2a", "\x32\x00", 2, 5000000, TOO_MUCH},
    {"small integers", "\x3a\x2a", "\x38\x01", 2, 20000000, TOO_MUCH},
    {"packed integers", "\x3a\x2a\x3a", "\x01", 1, 50000000, TOO_MUCH},
    {"packed dims", "\x3a\x2a\x0a", "\x01", 1, 20000000, TOO_MUCH},
    {"strange fields", "", "\x70\x01", 2, 3000000, TOO_MUCH},
    {"groups", "", "\x9b\x06", 2, 1000000, "malformed"},
    {"a graph within the other", "\x3a\x0a\x2a", "\x32", 1, 100000, "malformed"},
};

/* Writes a varint before `at`; its first byte. */
static size_t put_length(uint8_t *bytes, size_t at, size_t value)
{
    uint8_t digits[10];
    size_t n = 0;
    do {
        digits[n++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    } while ((value >>= 7) > 0);
    memcpy(bytes + at - n, digits, n);
    return at - n;
}

static void *field_bytes(int i, size_t *size)
{
    size_t room = 64, body = (size_t)fields[i].size * (size_t)fields[i].count;
    uint8_t *bytes = ad_calloc(1, room + body);
    ck_assert_ptr_nonnull(bytes);
    for (int k = 0; k < fields[i].count; k++)
        memcpy(bytes + room + k * fields[i].size, fields[i].field, (size_t)fields[i].size);
    size_t at = room;
    for (size_t k = strlen(fields[i].path); k > 0; k--) {
        at = put_length(bytes, at, room + body - at);
        bytes[--at] = (uint8_t)fields[i].path[k - 1];
    }
    *size = room + body - at;
    memmove(bytes, bytes + at, *size);
    return bytes;
}

START_TEST(heavy_fields)
{
    inspected_make(field_bytes, _i);
    inspected_file(fields[_i].name, 3, fields[_i].reason);
}
END_TEST

/* --- the limit itself --- */

START_TEST(limited_memory)
{
    size_t taken;
    char *before = ad_calloc(1, 3000);
    ad_mem_limit(10000);
    ck_assert_ptr_null(ad_calloc(1, 10001));
    ck_assert_ptr_null(ad_calloc(SIZE_MAX / 2, 2));
    char *a = ad_calloc(1, 6000), *b = ad_alloc_aligned(3000);
    ck_assert(a && b);
    ck_assert_ptr_null(ad_realloc(a, 1, 8000));
    ck_assert_ptr_null(ad_asprintf("%2000d", 0));
    ad_free(b);
    a = ad_realloc(a, 1, 9000);
    ck_assert_ptr_nonnull(a);
    ad_free(before); /* its bytes count as well */
    before = ad_calloc(1, 3000);
    ck_assert_ptr_nonnull(before);
    ck_assert(ad_mem_limit_end(&taken));
    ck_assert_uint_ge(taken, 9000);
    ck_assert_uint_le(taken, 10000);
    b = ad_calloc(1, 100000);
    ck_assert_ptr_nonnull(b);
    ad_mem_limit(10000);
    ck_assert(!ad_mem_limit_end(NULL));
    ad_free(a);
    ad_free(b);
    ad_free(before);
}
END_TEST

int main(void)
{
    if (!inspected_begin())
        return EXIT_FAILURE;
    Suite *suite = suite_create("hostile");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, limited_memory);
    tcase_add_loop_test(tc, heavy_models, 0, sizeof models / sizeof *models);
    tcase_add_loop_test(tc, heavy_fields, 0, sizeof fields / sizeof *fields);
    suite_add_tcase(suite, tc);
    int status = run_suite(suite);
    inspected_end();
    return status;
}
