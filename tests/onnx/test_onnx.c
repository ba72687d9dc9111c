/* onnx/: loading, truncated and garbage files, tensors of every type, attributes. */
#include "base/file.h"
#include "support/model_builder.h"
#include "onnx/model.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Conv (with every kind of attribute) and Relu. */
static void build_small(struct mb *mb)
{
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(1, 2, 5, 5));
    mb_weights(mb, "w", MB_DIMS(3, 2, 3, 3), NULL);
    Onnx__NodeProto *conv = mb_node(mb, "Conv", "x,w", "c");
    mb_ints(mb, conv, "pads", MB_DIMS(1, 1, 1, 1));
    mb_int(mb, conv, "group", 1);
    mb_string(mb, conv, "auto_pad", "NOTSET");
    mb_float(mb, conv, "unused", 0.5f);
    mb_node(mb, "Relu", "c", "y");
    mb_output(mb, "y");
}

static enum adaps_status parse(const struct mb *mb, struct ad_onnx_model **model,
                               struct adaps_error *err)
{
    size_t size;
    uint8_t *bytes = mb_pack(mb, &size);
    enum adaps_status status = ad_onnx_parse(bytes, size, "m.onnx", model, err);
    ad_free(bytes);
    return status;
}

static void assert_refused(const struct mb *mb, const char *reason)
{
    struct adaps_error err;
    struct ad_onnx_model *model;
    ck_assert_int_eq(parse(mb, &model, &err), ADAPS_EINPUT);
    ck_assert_ptr_null(model);
    ck_assert_msg(strncmp(err.message, "m.onnx: ", 8) == 0 && strstr(err.message, reason),
                  "'%s' lacks '%s'", err.message, reason);
}

START_TEST(loads_from_a_file)
{
    struct mb mb;
    struct adaps_error err;
    struct ad_onnx_model *model;
    size_t size;
    build_small(&mb);
    uint8_t *bytes = mb_pack(&mb, &size);
    char path[] = "test_onnx_XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(ad_file_replace(path, bytes, size, &err), ADAPS_OK);
    ck_assert_msg(ad_onnx_load(path, &model, &err) == ADAPS_OK, "%s", err.message);
    struct ad_digest digest = ad_digest_of(bytes, size);
    ck_assert(ad_digest_equal(&digest, &model->digest));
    ck_assert_int_eq(model->opset, 13);
    ck_assert_str_eq(model->path, path);
    ck_assert_uint_eq(model->proto->graph->n_node, 2);
    ad_onnx_free(model);

    ck_assert_int_eq(truncate(path, 0), 0);
    ck_assert_int_eq(ad_onnx_load(path, &model, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "not an ONNX model: the file is empty"));
    unlink(path);
    ck_assert_int_eq(ad_onnx_load(path, &model, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, path));
    ck_assert_int_eq(ad_onnx_load(".", &model, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "not a regular file"));
    ad_free(bytes);
    mb_fini(&mb);
}
END_TEST

/* Cut at every length, in a block of exactly that size so that a sanitizer sees each step beyond.
 */
START_TEST(truncated_anywhere)
{
    struct mb mb;
    size_t size;
    build_small(&mb);
    uint8_t *bytes = mb_pack(&mb, &size);
    for (size_t n = 0; n < size; n++) {
        struct adaps_error err = {.status = ADAPS_OK};
        struct ad_onnx_model *model;
        uint8_t *cut = malloc(n ? n : 1);
        ck_assert_ptr_nonnull(cut);
        memcpy(cut, bytes, n);
        enum adaps_status status = ad_onnx_parse(cut, n, "cut.onnx", &model, &err);
        if (status != ADAPS_OK) /* some cuts between fields leave a model */
            ck_assert_msg(status == ADAPS_EINPUT && strncmp(err.message, "cut.onnx: ", 10) == 0,
                          "%zu: %s", n, err.message);
        ad_onnx_free(model);
        free(cut);
    }
    ad_free(bytes);
    mb_fini(&mb);
}
END_TEST

START_TEST(flipped_bytes)
{
    struct mb mb;
    size_t size;
    build_small(&mb);
    uint8_t *bytes = mb_pack(&mb, &size);
    struct ad_rng rng = {7};
    for (int round = 0; round < 4000; round++) {
        struct adaps_error err;
        struct ad_onnx_model *model;
        size_t at = ad_rng_below(&rng, (uint32_t)size);
        uint8_t old = bytes[at];
        bytes[at] = (uint8_t)ad_rng_next(&rng);
        enum adaps_status status = ad_onnx_parse(bytes, size, "flip.onnx", &model, &err);
        ck_assert(status == ADAPS_OK || status == ADAPS_EINPUT);
        ad_onnx_free(model);
        bytes[at] = old;
    }
    ad_free(bytes);
    mb_fini(&mb);
}
END_TEST

START_TEST(garbage)
{
    struct adaps_error err;
    struct ad_onnx_model *model;
    ck_assert_int_eq(ad_onnx_parse("<html>hello</html>", 18, "page", &model, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "page: not an ONNX model"));
}
END_TEST

/* A graph in an attribute of a node of a graph in ..., deep enough for a recursive parser to die.
 */
START_TEST(nested_too_deep)
{
    enum { DEPTH = 20000 };
    size_t room = (size_t)DEPTH * 3 * 6 + 64, at = room;
    uint8_t *bytes = malloc(room);
    static const uint8_t tags[] = {7 << 3 | 2, 1 << 3 | 2, 5 << 3 | 2, 6 << 3 | 2};
    ck_assert_ptr_nonnull(bytes);
    for (int i = DEPTH * 3; i >= 0; i--) { /* from the inside out: length before, tag before that */
        size_t length = room - at;
        uint8_t varint[5];
        int n = 0;
        do
            varint[n++] = (uint8_t)((length & 0x7f) | (length > 0x7f ? 0x80 : 0));
        while (length >>= 7);
        at -= (size_t)n;
        memcpy(bytes + at, varint, (size_t)n);
        bytes[--at] = i == 0 ? tags[0] : tags[1 + (i - 1) % 3];
    }
    struct adaps_error err;
    struct ad_onnx_model *model;
    ck_assert_int_eq(ad_onnx_parse(bytes + at, room - at, "deep.onnx", &model, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, "nested more than"), "%s", err.message);
    free(bytes);
}
END_TEST

/* Two bytes a node: a file that asks for far more memory than it is long. */
START_TEST(amplification)
{
    size_t nodes = 3000000, size = 2 * nodes;
    uint8_t *bytes = malloc(size + 16), *p = bytes;
    ck_assert_ptr_nonnull(bytes);
    *p++ = 7 << 3 | 2;
    for (size_t rest = size;; rest >>= 7) {
        *p++ = (uint8_t)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
        if (rest <= 0x7f)
            break;
    }
    for (size_t i = 0; i < nodes; i++) {
        *p++ = 1 << 3 | 2;
        *p++ = 0;
    }
    struct adaps_error err;
    struct ad_onnx_model *model;
    size_t total = (size_t)(p - bytes);
    ck_assert_int_eq(ad_onnx_parse(bytes, total, "bomb.onnx", &model, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, "of memory"), "%s", err.message);
    free(bytes);
}
END_TEST

START_TEST(what_protobuf_cannot_check)
{
    struct mb mb;
    struct adaps_error err;
    struct ad_onnx_model *model;
    build_small(&mb);
    ck_assert_msg(parse(&mb, &model, &err) == ADAPS_OK, "%s", err.message);
    ad_onnx_free(model);
    Onnx__ModelProto *m = mb.proto;

    m->ir_version = 2;
    assert_refused(&mb, "IR version 2");
    m->ir_version = 13;
    assert_refused(&mb, "IR version 13: versions 3 to 12 are supported");
    m->ir_version = 7;
    m->opset_import[0]->version = 0;
    assert_refused(&mb, "opset 0: opsets 1 to 24");
    m->opset_import[0]->version = 25;
    assert_refused(&mb, "opset 25: opsets 1 to 24 are supported");
    m->opset_import[0]->version = 13;
    m->n_opset_import = 0;
    assert_refused(&mb, "no opset of the default domain");
    m->n_opset_import = 1;
    m->graph->node[1]->domain = "com.microsoft";
    assert_refused(&mb, "node 'Relu_1' (Relu): operators of the domain 'com.microsoft'");
    m->graph->node[1]->domain = "ai.onnx";
    m->graph->node[1]->op_type = "";
    assert_refused(&mb, "node 1 '' has no operator type");
    m->graph->node[1]->op_type = "Relu";
    Onnx__GraphProto *graph = m->graph;
    m->graph = NULL;
    assert_refused(&mb, "holds no graph");
    m->graph = graph;
    ck_assert_int_eq(parse(&mb, &model, &err), ADAPS_OK);
    ad_onnx_free(model);
    mb_fini(&mb);
}
END_TEST

START_TEST(every_allocation_fails)
{
    struct mb mb;
    size_t size;
    build_small(&mb);
    uint8_t *bytes = mb_pack(&mb, &size);
    long n = 1;
    for (bool done = false; !done; n++) {
        struct adaps_error err;
        struct ad_onnx_model *model;
        ad_mem_fail_after(n);
        enum adaps_status status = ad_onnx_parse(bytes, size, "m.onnx", &model, &err);
        ad_mem_fail_after(0);
        ck_assert(status == ADAPS_OK || status == ADAPS_EINTERNAL);
        done = status == ADAPS_OK;
        ad_onnx_free(model);
    }
    ck_assert_int_gt(n, 20);
    ad_free(bytes);
    mb_fini(&mb);
}
END_TEST

/* --- tensors --- */

static Onnx__TensorProto raw(int32_t type, int64_t *count, const void *bytes, size_t size)
{
    Onnx__TensorProto t = ONNX__TENSOR_PROTO__INIT;
    t.n_dims = 1;
    t.dims = count;
    t.has_data_type = 1;
    t.data_type = type;
    t.has_raw_data = 1;
    t.raw_data.data = (uint8_t *)bytes;
    t.raw_data.len = size;
    return t;
}

START_TEST(raw_tensors_of_every_type)
{
    static const struct {
        int32_t type;
        uint8_t bytes[16];
        size_t size; /* of two elements */
        double want[2];
        bool is_float;
    } cases[] = {
        {1, {0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0}, 8, {1, -2.5}, true},
        {2, {3, 255}, 2, {3, 255}, false},
        {3, {3, 255}, 2, {3, -1}, false},
        {4, {1, 1, 0xff, 0xff}, 4, {257, 65535}, false},
        {5, {1, 1, 0xff, 0xff}, 4, {257, -1}, false},
        {6, {1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff}, 8, {1, -2}, false},
        {7,
         {5, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
         16,
         {5, -1},
         false},
        {9, {0, 2}, 2, {0, 1}, false},
        {10, {0, 0x3c, 0, 0xc1}, 4, {1, -2.5}, true},
        {10, {1, 0, 0, 0x7c}, 4, {0x1p-24, INFINITY}, true},
        {11, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0x04, 0xc0}, 16, {1, -2.5}, true},
        {12, {1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, 8, {1, 4294967295.0}, false},
        {16, {0x80, 0x3f, 0x20, 0xc0}, 4, {1, -2.5}, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t two = 2;
        struct adaps_error err;
        struct ad_onnx_tensor t;
        Onnx__TensorProto proto = raw(cases[i].type, &two, cases[i].bytes, cases[i].size);
        ck_assert_msg(ad_onnx_tensor_decode(NULL, &proto, "t", &t, &err) == ADAPS_OK, "%s",
                      err.message);
        ck_assert_uint_eq(t.count, 2);
        ck_assert_int_eq(t.is_float, cases[i].is_float);
        for (int k = 0; k < 2; k++)
            ck_assert(cases[i].want[k] == (t.is_float ? (double)t.f[k] : (double)t.i[k]));
        ad_onnx_tensor_fini(&t);
        proto.raw_data.len--;
        ck_assert_int_eq(ad_onnx_tensor_decode(NULL, &proto, "t", &t, &err), ADAPS_EINPUT);
        ck_assert_ptr_nonnull(strstr(err.message, "bytes of data for 2 elements"));
    }
}
END_TEST

START_TEST(typed_fields)
{
    struct adaps_error err;
    struct ad_onnx_tensor t;
    int64_t two = 2, longs[] = {-1, INT64_MAX};
    float floats[] = {1.5f, -2};
    double doubles[] = {0.25, 8};
    int32_t halves[] = {0x3c00, 0xc100};
    Onnx__TensorProto p = raw(1, &two, NULL, 0);
    p.has_raw_data = 0;
    p.float_data = floats;
    p.n_float_data = 2;
    ck_assert_int_eq(ad_onnx_tensor_decode(NULL, &p, "t", &t, &err), ADAPS_OK);
    ck_assert(t.f[0] == 1.5f && t.f[1] == -2);
    ad_onnx_tensor_fini(&t);
    p.n_float_data = 1;
    ck_assert_int_eq(ad_onnx_tensor_decode(NULL, &p, "t", &t, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "1 values for 2 elements of float32"));
    p.data_type = 11;
    p.double_data = doubles;
    p.n_double_data = 2;
    ck_assert_int_eq(ad_onnx_tensor_decode(NULL, &p, "t", &t, &err), ADAPS_OK);
    ck_assert(t.f[0] == 0.25f && t.f[1] == 8);
    ad_onnx_tensor_fini(&t);
    p.data_type = 10;
    p.int32_data = halves;
    p.n_int32_data = 2;
    ck_assert_int_eq(ad_onnx_tensor_decode(NULL, &p, "t", &t, &err), ADAPS_OK);
    ck_assert(t.f[0] == 1 && t.f[1] == -2.5f);
    ad_onnx_tensor_fini(&t);
    p.data_type = 7;
    p.int64_data = longs;
    p.n_int64_data = 2;
    ck_assert_int_eq(ad_onnx_tensor_decode(NULL, &p, "t", &t, &err), ADAPS_OK);
    ck_assert(t.i[0] == -1 && t.i[1] == INT64_MAX);
    ad_onnx_tensor_fini(&t);
}
END_TEST

START_TEST(bad_tensors)
{
    struct adaps_error err;
    struct ad_onnx_tensor t;
    int64_t dims[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    float one = 1;
    Onnx__TensorProto p = raw(1, dims, &one, sizeof one);
    p.n_dims = 9;
    ck_assert_int_eq(ad_onnx_tensor_decode(NULL, &p, "big", &t, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "'big': rank 9"));
    p.n_dims = 3;
    dims[1] = -4;
    ck_assert_int_eq(ad_onnx_tensor_decode(NULL, &p, "t", &t, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "dimension 1 is -4"));
    dims[0] = dims[1] = dims[2] = INT32_MAX; /* 2^93 elements */
    ck_assert_int_eq(ad_onnx_tensor_decode(NULL, &p, "t", &t, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "out of range"));
    p.n_dims = 1;
    dims[0] = INT32_MAX; /* 8 GB that are not there: refused before they are allocated */
    ck_assert_int_eq(ad_onnx_tensor_decode(NULL, &p, "t", &t, &err), ADAPS_EINPUT);
    dims[0] = 1;
    p.data_type = 8;
    ck_assert_int_eq(ad_onnx_tensor_decode(NULL, &p, "t", &t, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "type string is not supported"));
    p.data_type = 1;
    p.has_data_location = 1;
    p.data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    ck_assert_int_eq(ad_onnx_tensor_decode(NULL, &p, "t", &t, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "external data"));
    p.data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__DEFAULT;
    p.n_dims = 0; /* a scalar */
    ck_assert_int_eq(ad_onnx_tensor_decode(NULL, &p, "t", &t, &err), ADAPS_OK);
    ck_assert(t.rank == 0 && t.count == 1 && t.f[0] == 1);
    ad_onnx_tensor_fini(&t);
}
END_TEST

START_TEST(save_and_load)
{
    struct adaps_error err;
    struct ad_tensor a;
    struct ad_onnx_tensor b;
    int64_t dims[] = {2, 3};
    char path[] = "test_onnx_XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(ad_tensor_init(&a, 2, dims, &err), ADAPS_OK);
    for (int i = 0; i < 6; i++)
        a.data[i] = (float)i / 3;
    ck_assert_int_eq(ad_onnx_tensor_save(path, "a", &a, &err), ADAPS_OK);
    ck_assert_int_eq(ad_onnx_tensor_load(path, &b, &err), ADAPS_OK);
    ck_assert(b.rank == 2 && b.dims[0] == 2 && b.dims[1] == 3 && b.is_float);
    ck_assert_mem_eq(a.data, b.f, 6 * sizeof(float));
    ad_onnx_tensor_fini(&b);
    ck_assert_int_eq(ad_file_replace(path, "\xff\xff\xff", 3, &err), ADAPS_OK);
    ck_assert_int_eq(ad_onnx_tensor_load(path, &b, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "not an ONNX tensor"));
    ad_tensor_fini(&a);
    unlink(path);
}
END_TEST

START_TEST(attributes)
{
    struct mb mb;
    struct adaps_error err;
    int64_t i;
    float f;
    const int64_t *list;
    size_t count;
    char text[7];
    build_small(&mb);
    Onnx__NodeProto *conv = mb.proto->graph->node[0];
    conv->name = "c1";
    ck_assert_int_eq(ad_onnx_attr_int(conv, "group", 9, &i, &err), ADAPS_OK);
    ck_assert_int_eq(i, 1);
    ck_assert_int_eq(ad_onnx_attr_int(conv, "absent", 9, &i, &err), ADAPS_OK);
    ck_assert_int_eq(i, 9);
    ck_assert_int_eq(ad_onnx_attr_int(conv, "pads", 9, &i, &err), ADAPS_EINPUT);
    ck_assert_str_eq(err.message, "node 'c1' (Conv): attribute 'pads' is not an integer");
    ck_assert_int_eq(ad_onnx_attr_float(conv, "unused", 2, &f, &err), ADAPS_OK);
    ck_assert(f == 0.5f);
    ck_assert_int_eq(ad_onnx_attr_float(conv, "group", 2, &f, &err), ADAPS_EINPUT);
    ck_assert_int_eq(ad_onnx_attr_ints(conv, "pads", &list, &count, &err), ADAPS_OK);
    ck_assert(count == 4 && list[3] == 1);
    ck_assert_int_eq(ad_onnx_attr_ints(conv, "absent", &list, &count, &err), ADAPS_OK);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(ad_onnx_attr_ints(conv, "auto_pad", &list, &count, &err), ADAPS_EINPUT);
    ck_assert_int_eq(ad_onnx_attr_string(conv, "auto_pad", "", text, sizeof text, &err), ADAPS_OK);
    ck_assert_str_eq(text, "NOTSET");
    ck_assert_int_eq(ad_onnx_attr_string(conv, "auto_pad", "", text, 6, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "has 6 bytes, at most 5"));
    ck_assert_int_eq(ad_onnx_attr_string(conv, "x", "dflt", text, sizeof text, &err), ADAPS_OK);
    ck_assert_str_eq(text, "dflt");
    conv->attribute[1]->has_type = 0; /* as old exporters leave it */
    ck_assert_int_eq(ad_onnx_attr_int(conv, "group", 9, &i, &err), ADAPS_OK);
    ck_assert_int_eq(i, 1);
    ck_assert_int_eq(ad_onnx_attr_float(conv, "group", 2, &f, &err), ADAPS_EINPUT);
    mb_fini(&mb);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("onnx");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, loads_from_a_file);
    tcase_add_test(tc, truncated_anywhere);
    tcase_add_test(tc, flipped_bytes);
    tcase_add_test(tc, garbage);
    tcase_add_test(tc, nested_too_deep);
    tcase_add_test(tc, amplification);
    tcase_add_test(tc, what_protobuf_cannot_check);
    tcase_add_test(tc, every_allocation_fails);
    tcase_add_test(tc, raw_tensors_of_every_type);
    tcase_add_test(tc, typed_fields);
    tcase_add_test(tc, bad_tensors);
    tcase_add_test(tc, save_and_load);
    tcase_add_test(tc, attributes);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
