/* onnx/skeleton: what is left of a model without its large tensors is what protobuf makes of the
 * whole, and hostile files are refused. */
#include "base/protobuf.h"
#include "support/model_builder.h"
#include "onnx/skeleton.h"
#include "support/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define LARGE (AD_ONNX_STORED_BYTES + 4)

/* --- writing the wire format --- */

struct wire {
    uint8_t *bytes;
    size_t size, room;
};

static void put(struct wire *w, const void *bytes, size_t size)
{
    if (w->size + size > w->room) {
        w->room = 2 * (w->size + size);
        w->bytes = realloc(w->bytes, w->room);
        ck_assert_ptr_nonnull(w->bytes);
    }
    if (size)
        memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
}

/* In at least n bytes. */
static void put_varint(struct wire *w, uint64_t value, int n)
{
    for (int i = 0; i < n || value > 0; i++) {
        uint64_t rest = value >> 7;
        uint8_t byte = (uint8_t)((value & 0x7f) | (rest > 0 || i + 1 < n ? 0x80 : 0));
        put(w, &byte, 1);
        value = rest;
    }
}

static void put_bytes(struct wire *w, uint32_t field, const void *bytes, size_t size)
{
    put_varint(w, (uint64_t)field << 3 | 2, 1);
    put_varint(w, size, 1);
    put(w, bytes, size);
}

static void put_number(struct wire *w, uint32_t field, uint64_t value)
{
    put_varint(w, (uint64_t)field << 3, 1);
    put_varint(w, value, 1);
}

/* A message as a field; it is released. */
static void put_message(struct wire *w, uint32_t field, struct wire *message)
{
    put_bytes(w, field, message->bytes, message->size);
    free(message->bytes);
    *message = (struct wire){NULL, 0, 0};
}

/* raw_data: floats `first`, first + 1, ... */
static void put_raw(struct wire *tensor, size_t bytes, float first)
{
    float *data = malloc(bytes + 4);
    ck_assert_ptr_nonnull(data);
    for (size_t i = 0; i < bytes / 4; i++)
        data[i] = first + (float)i;
    put_bytes(tensor, 9, data, bytes);
    free(data);
}

/* dims, FLOAT, name */
static struct wire tensor_of(uint64_t count)
{
    struct wire t = {NULL, 0, 0};
    put_number(&t, 1, count);
    put_number(&t, 2, 1);
    put_bytes(&t, 8, "w", 1);
    return t;
}

/* The model of this graph, which is released. */
static struct wire model_of(struct wire *graph)
{
    struct wire m = {NULL, 0, 0}, set = {NULL, 0, 0};
    put_number(&m, 1, 7);
    put_number(&set, 2, 13);
    put_message(&m, 8, &set);
    put_message(&m, 7, graph);
    return m;
}

static struct wire model_of_tensor(struct wire *tensor)
{
    struct wire g = {NULL, 0, 0};
    put_message(&g, 5, tensor);
    return model_of(&g);
}

static struct wire model_of_attribute(struct wire *attribute)
{
    struct wire g = {NULL, 0, 0}, node = {NULL, 0, 0};
    put_bytes(&node, 2, "y", 1);
    put_bytes(&node, 4, "Constant", 8);
    put_message(&node, 5, attribute);
    put_message(&g, 1, &node);
    return model_of(&g);
}

/* --- checks --- */

static const Onnx__TensorProto *tensor_in(const Onnx__ModelProto *model)
{
    return model->graph->n_initializer ? model->graph->initializer[0]
                                       : model->graph->node[0]->attribute[0]->t;
}

/* The tensor is the same as in what protobuf makes of the whole file. Releases the model. */
static void check_same(struct wire *w, bool stored)
{
    struct adaps_error err = {0};
    struct ad_onnx_model *model;
    struct ad_onnx_tensor a, b;
    ProtobufCMessage *whole;
    ck_assert_msg(ad_onnx_parse(w->bytes, w->size, "m.onnx", &model, &err) == ADAPS_OK, "%s",
                  err.message);
    struct ad_digest digest = ad_digest_of(w->bytes, w->size);
    ck_assert(ad_digest_equal(&digest, &model->digest));
    ck_assert_int_eq(
        ad_protobuf_unpack(&onnx__model_proto__descriptor, w->bytes, w->size, SIZE_MAX, &whole),
        AD_PROTOBUF_OK);
    const Onnx__TensorProto *want = tensor_in((const Onnx__ModelProto *)whole);
    const Onnx__TensorProto *have = tensor_in(model->proto);
    ck_assert_int_eq(have->has_stored, stored);
    struct adaps_error why = {0};
    enum adaps_status status = ad_onnx_tensor_decode(NULL, want, "w", &a, &err);
    ck_assert_int_eq(ad_onnx_tensor_decode(model, have, "w", &b, &why), status);
    if (status == ADAPS_OK) {
        ck_assert_uint_eq(a.count, b.count);
        ck_assert_mem_eq(a.f, b.f, a.count * sizeof *a.f);
    } else {
        ck_assert_str_eq(err.message, why.message);
    }
    ad_onnx_tensor_fini(&a);
    ad_onnx_tensor_fini(&b);
    ad_protobuf_free(whole);
    ad_onnx_free(model);
    free(w->bytes);
}

static void check_refused(const struct wire *w, const char *reason)
{
    struct adaps_error err = {0};
    struct ad_onnx_model *model;
    ck_assert_int_eq(ad_onnx_parse(w->bytes, w->size, "m.onnx", &model, &err), ADAPS_EINPUT);
    ck_assert_ptr_null(model);
    ck_assert_msg(strncmp(err.message, "m.onnx: ", 8) == 0 && strstr(err.message, reason),
                  "'%s' lacks '%s'", err.message, reason);
}

START_TEST(small_models_stay_as_they_are)
{
    struct mb mb;
    size_t size;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, 2, 5, 5));
    mb_weights(&mb, "w", MB_DIMS(3, 2, 3, 3), NULL);
    mb_ints(&mb, mb_node(&mb, "Conv", "x,w", "y"), "pads", MB_DIMS(1, 1, 1, 1));
    mb_output(&mb, "y");
    uint8_t *bytes = mb_pack(&mb, &size);
    struct ad_onnx_file *file;
    struct ad_onnx_skeleton skeleton;
    ck_assert_int_eq(ad_onnx_file_copy(bytes, size, "m", &file, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_onnx_skeleton_read(file, &skeleton, NULL), ADAPS_OK);
    ck_assert_uint_eq(skeleton.size, size);
    ck_assert_mem_eq(skeleton.bytes, bytes, size);
    ck_assert_uint_eq(skeleton.nranges, 0);
    ad_onnx_skeleton_fini(&skeleton);
    ad_onnx_file_unref(file);
    ad_free(bytes);
    mb_fini(&mb);
}
END_TEST

START_TEST(large_tensors_stay_in_the_file)
{
    for (size_t count = LARGE / 4 - 2; count < LARGE / 4 + 2; count++) {
        struct wire t = tensor_of(count);
        put_raw(&t, 4 * count, 1);
        put_bytes(&t, 12, "a field behind it", 17);
        struct wire m = model_of_tensor(&t);
        check_same(&m, 4 * count > AD_ONNX_STORED_BYTES);
    }
    struct wire t = tensor_of(LARGE / 4), a = {NULL, 0, 0};
    put_raw(&t, LARGE, 1);
    put_bytes(&a, 1, "value", 5);
    put_message(&a, 5, &t);
    struct wire m = model_of_attribute(&a);
    check_same(&m, true);
    t = tensor_of(LARGE / 4); /* too few bytes */
    put_raw(&t, LARGE - 1, 1);
    m = model_of_tensor(&t);
    check_same(&m, true);
}
END_TEST

/* Tags and lengths on both sides of the end of the reader's buffer. */
START_TEST(buffers_end_anywhere)
{
    for (size_t pad = 0; pad < 40; pad++) {
        char *text = calloc(1, 262144);
        struct wire t = {NULL, 0, 0}, g = {NULL, 0, 0};
        ck_assert_ptr_nonnull(text);
        put_bytes(&g, 10, text, 262144 - 50 + pad); /* doc_string */
        put_number(&t, 1, 100000);
        put_number(&t, 2, 1);
        put_raw(&t, 400000, 3);
        put_bytes(&t, 8, "w", 1);
        put_message(&g, 5, &t);
        put_bytes(&g, 2, "name", 4);
        struct wire m = model_of(&g);
        check_same(&m, true);
        free(text);
    }
}
END_TEST

START_TEST(the_last_raw_data_count)
{
    static const size_t sizes[] = {0, 8, LARGE, LARGE + 400};
    for (int i = 0; i < 4 * 4 * 4; i++) {
        size_t s[] = {sizes[i % 4], sizes[i / 4 % 4], sizes[i / 16]};
        struct wire t = tensor_of(s[2] / 4);
        for (int k = 0; k < 3; k++)
            put_raw(&t, s[k], (float)(100 * k));
        struct wire m = model_of_tensor(&t);
        check_same(&m, s[2] > AD_ONNX_STORED_BYTES);
    }
}
END_TEST

/* Attributes with two tensors, which protobuf merges. */
START_TEST(merged_tensors)
{
    static const size_t sizes[] = {0, 8, LARGE};
    for (int i = 0; i < 9; i++) {
        size_t first = sizes[i % 3], second = sizes[i / 3];
        struct wire a = {NULL, 0, 0}, t = tensor_of(1), u = {NULL, 0, 0};
        put_raw(&t, first, 0);
        put_number(&u, 1, second / 4);
        if (second)
            put_raw(&u, second, 500);
        put_bytes(&a, 1, "value", 5);
        put_message(&a, 5, &t);
        put_message(&a, 5, &u);
        struct wire m = model_of_attribute(&a);
        if (first == LARGE) {
            check_refused(&m, "a second tensor");
            free(m.bytes);
        } else {
            check_same(&m, second == LARGE);
        }
    }
}
END_TEST

/* Our own field in a file means nothing. */
START_TEST(forged_fields)
{
    for (int i = 0; i < 4; i++) {
        struct wire t = tensor_of(2);
        put_raw(&t, 8, 3);
        if (i == 0)
            put_number(&t, 1000, 0);
        else if (i == 1)
            put_bytes(&t, 1000, "x", 1);
        else
            put_varint(&t, 1000 << 3 | (i == 2 ? 1 : 5), 1), put(&t, "12345678", i == 2 ? 8 : 4);
        struct wire m = model_of_tensor(&t);
        struct ad_onnx_model *model;
        struct ad_onnx_tensor out;
        struct adaps_error err = {0};
        ck_assert_msg(ad_onnx_parse(m.bytes, m.size, "m", &model, &err) == ADAPS_OK, "%s",
                      err.message);
        ck_assert(!tensor_in(model->proto)->has_stored);
        ck_assert_int_eq(ad_onnx_tensor_decode(model, tensor_in(model->proto), "w", &out, &err),
                         ADAPS_OK);
        ck_assert(out.count == 2 && out.f[0] == 3 && out.f[1] == 4);
        ad_onnx_tensor_fini(&out);
        ad_onnx_free(model);
        free(m.bytes);
    }
    Onnx__TensorProto forged = ONNX__TENSOR_PROTO__INIT; /* where the scan does not look */
    struct ad_onnx_tensor out;
    struct adaps_error err;
    struct ad_onnx_model model = {.nstored = 0};
    forged.has_data_type = 1;
    forged.data_type = 1;
    forged.has_stored = 1;
    forged.stored = 5;
    ck_assert_int_eq(ad_onnx_tensor_decode(&model, &forged, "f", &out, &err), ADAPS_EINPUT);
    ck_assert_int_eq(ad_onnx_tensor_decode(NULL, &forged, "f", &out, &err), ADAPS_EINPUT);
}
END_TEST

/* Lengths that take more bytes than they need are as good as others, up to protobuf-c's five. */
START_TEST(long_lengths)
{
    for (int n = 1; n <= 10; n++) {
        struct wire t = tensor_of(LARGE / 4), g = {NULL, 0, 0};
        put_raw(&t, LARGE, 1);
        put_varint(&g, 5 << 3 | 2, 1);
        put_varint(&g, t.size, n);
        put(&g, t.bytes, t.size);
        free(t.bytes);
        struct wire m = model_of(&g);
        if (n <= 5) {
            check_same(&m, true);
        } else {
            check_refused(&m, "malformed or truncated");
            free(m.bytes);
        }
    }
}
END_TEST

START_TEST(hostile_lengths)
{
    static const uint64_t lengths[] = {1, 5000, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
    for (int depth = 0; depth < 4; depth++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            /* model > graph > node > attribute > tensor: the innermost lies about its length */
            struct wire w = {NULL, 0, 0};
            static const uint32_t fields[] = {9, 5, 5, 1, 7};
            put_varint(&w, fields[depth] << 3 | 2, 1);
            put_varint(&w, lengths[i], 1);
            for (int k = depth + 1; k < 5; k++) {
                struct wire outer = {NULL, 0, 0};
                put_message(&outer, fields[k], &w);
                w = outer;
            }
            check_refused(&w, "malformed or truncated");
            free(w.bytes);
        }
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        {"\x80", 1},                                              /* a tag without an end, */
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12}, /* too long, */
        {"\x02\x00", 2},                                          /* of field 0, */
        {"\x3b", 1},                                              /* a group, */
        {"\x3e", 1},                                              /* a type that there is not, */
        {"\x3a\x80", 2},                                          /* a length without an end, */
        {"\x3d\x01\x02", 3},                                      /* cut numbers */
        {"\x39\x01\x02\x03\x04", 5},
        {"\x38\xff", 2},
        {"\x3a\x02\x2a\x01", 4}, /* a tensor that reaches beyond its graph */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire w = {(uint8_t *)(uintptr_t)cases[i].bytes, cases[i].size, 0};
        check_refused(&w, "malformed or truncated");
    }
}
END_TEST

/* Cut at every length, and every byte of what is around the data changed. */
START_TEST(damaged_anywhere)
{
    struct wire t = tensor_of(LARGE / 4), a = {NULL, 0, 0};
    put_raw(&t, LARGE, 1);
    put_bytes(&t, 12, "behind", 6);
    put_bytes(&a, 1, "value", 5);
    put_message(&a, 5, &t);
    struct wire m = model_of_attribute(&a);
    for (size_t n = 0; n < m.size; n++) {
        struct adaps_error err;
        struct ad_onnx_model *model;
        uint8_t *cut = malloc(n ? n : 1);
        ck_assert_ptr_nonnull(cut);
        memcpy(cut, m.bytes, n);
        enum adaps_status status = ad_onnx_parse(cut, n, "cut", &model, &err);
        ck_assert_int_eq(status, ADAPS_EINPUT);
        free(cut);
    }
    for (size_t at = 0; at < m.size; at += at == 80 ? m.size - 100 : 1)
        for (int value = 0; value < 256; value++) {
            struct adaps_error err;
            struct ad_onnx_model *model;
            struct ad_onnx_tensor out = {0};
            uint8_t old = m.bytes[at];
            m.bytes[at] = (uint8_t)value;
            enum adaps_status status = ad_onnx_parse(m.bytes, m.size, "flip", &model, &err);
            ck_assert(status == ADAPS_OK || status == ADAPS_EINPUT);
            if (status == ADAPS_OK && model->proto->graph->n_node == 1 &&
                model->proto->graph->node[0]->n_attribute == 1 &&
                model->proto->graph->node[0]->attribute[0]->t) {
                status = ad_onnx_tensor_decode(model, model->proto->graph->node[0]->attribute[0]->t,
                                               "t", &out, &err);
                ck_assert(status == ADAPS_OK || status == ADAPS_EINPUT);
                ad_onnx_tensor_fini(&out);
            }
            ad_onnx_free(model);
            m.bytes[at] = old;
        }
    free(m.bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("skeleton");
    TCase *tcase = tcase_create("skeleton");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, small_models_stay_as_they_are);
    tcase_add_test(tcase, large_tensors_stay_in_the_file);
    tcase_add_test(tcase, buffers_end_anywhere);
    tcase_add_test(tcase, the_last_raw_data_count);
    tcase_add_test(tcase, merged_tensors);
    tcase_add_test(tcase, forged_fields);
    tcase_add_test(tcase, long_lengths);
    tcase_add_test(tcase, hostile_lengths);
    tcase_add_test(tcase, damaged_anywhere);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
