/* Messages of Frigate's detector: headers of all sorts, tensors in every order and type, rows. */
#include "base/mem.h"
#include "base/rng.h"
#include "serve/frigate.h"
#include "support/run_suite.h"

#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum adaps_status parse(const char *text, struct ad_frigate_request *out,
                               struct adaps_error *err)
{
    char *copy = malloc(strlen(text) + 1); /* without the end of the string */
    memcpy(copy, text, strlen(text));
    enum adaps_status status = ad_frigate_parse(copy, strlen(text), out, err);
    free(copy);
    return status;
}

START_TEST(test_headers)
{
    struct ad_frigate_request r;
    ck_assert_int_eq(parse("{\"shape\": [1, 320, 640, 3], \"dtype\": \"uint8\", \"model_type\": "
                           "\"yologeneric\"}",
                           &r, NULL),
                     ADAPS_OK);
    ck_assert_int_eq(r.kind, AD_FRIGATE_TENSOR);
    ck_assert(r.bytes);
    ck_assert_int_eq(r.dims[0], 1);
    ck_assert_int_eq(r.dims[1], 320);
    ck_assert_int_eq(r.dims[2], 640);
    ck_assert_int_eq(r.dims[3], 3);
    ck_assert_int_eq(parse("{\"shape\": [1, 3, 2, 2], \"dtype\": \"float32\"}", &r, NULL),
                     ADAPS_OK);
    ck_assert(!r.bytes);
    ck_assert_int_eq(parse("{\"model_request\": true, \"model_name\": \"a.onnx\"}", &r, NULL),
                     ADAPS_OK);
    ck_assert_int_eq(r.kind, AD_FRIGATE_MODEL_REQUEST);
    ck_assert_str_eq(r.model, "a.onnx");
    ck_assert_int_eq(parse("{\"model_data\": true, \"model_name\": \"a.onnx\"}", &r, NULL),
                     ADAPS_OK);
    ck_assert_int_eq(r.kind, AD_FRIGATE_MODEL_DATA);

    char text[700] = "{\"model_request\": true, \"model_name\": \"";
    memset(text + strlen(text), 'n', 400);
    strcat(text, "\"}"); /* the rest of the array is zero */
    ck_assert_int_eq(parse(text, &r, NULL), ADAPS_OK);
    ck_assert_uint_eq(strlen(r.model), sizeof r.model - 1);
}
END_TEST

/* Every change of a byte of a good header, and every beginning of it: an answer, and no harm. */
START_TEST(test_damaged_headers)
{
    static const char *const good[] = {
        "{\"shape\": [1, 32, 64, 3], \"dtype\": \"uint8\", \"model_type\": \"yolox\"}",
        "{\"model_data\": true, \"model_name\": \"a.onnx\"}"};
    for (size_t g = 0; g < 2; g++)
        for (size_t i = 0; i < strlen(good[g]); i++)
            for (int byte = 0; byte < 256; byte += byte < 127 ? 1 : 8) {
                char text[200];
                struct ad_frigate_request r;
                struct adaps_error err = {0};
                size_t size = byte == 0 ? i : strlen(good[g]);
                strcpy(text, good[g]);
                text[i] = (char)byte;
                enum adaps_status status = ad_frigate_parse(text, size, &r, &err);
                ck_assert(status == ADAPS_OK || status == ADAPS_EINPUT);
                ck_assert(status == ADAPS_OK || err.message[0] != '\0');
                ck_assert(byte != 0 || status != ADAPS_OK);
            }
}
END_TEST

/* Numbers of values that tell where they come from. */
static struct ad_letterbox network(int channels, bool last, bool bgr)
{
    struct ad_letterbox box = {.width = 3,
                               .height = 2,
                               .channels_last = last,
                               .bgr = bgr,
                               .type = ADAPS_FLOAT32,
                               .rank = 4,
                               .dims = {1, channels, 2, 3},
                               .levels = {.channels = channels}};
    if (last)
        memcpy(box.dims, (int64_t[]){1, 2, 3, channels}, sizeof(int64_t) * 4);
    for (int c = 0; c < channels; c++)
        for (int byte = 0; byte < 256; byte++)
            box.levels.level[c][byte] = (float)(1000 * (c + 1) + byte);
    return box;
}

static size_t at(bool last, int channels, int c, int i)
{
    return (size_t)(last ? i * channels + c : c * 6 + i);
}

/* _i: 1 channels last in the request, 2 in the network, 4 blue first, 8 floats, 16 grey. */
START_TEST(test_tensors)
{
    bool last = _i & 1, network_last = _i & 2, bgr = _i & 4, floats = _i & 8;
    int channels = _i & 16 ? 1 : 3;
    const struct ad_letterbox box = network(channels, network_last, bgr);
    struct ad_frigate_request r = {.bytes = !floats};
    struct ad_tensor tensor = {0};
    struct ad_rng rng = {(uint64_t)_i};
    size_t count = (size_t)channels * 6, size = count * (floats ? 4 : 1);
    uint8_t *data = malloc(size + 1), *moved = data + (floats ? 1 : 0); /* not aligned */
    float numbers[18];
    memcpy(r.dims, last ? (int64_t[]){1, 2, 3, channels} : (int64_t[]){1, channels, 2, 3},
           sizeof r.dims);
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < count; i++) {
            moved[i] = (uint8_t)ad_rng_next(&rng);
            numbers[i] = ad_rng_float(&rng);
        }
        if (floats)
            memcpy(moved, numbers, size);
        ck_assert_int_eq(ad_frigate_fill(&r, moved, size, &box, &tensor, NULL), ADAPS_OK);
        ck_assert_uint_eq(tensor.count, count);
        for (int c = 0; c < channels; c++)
            for (int i = 0; i < 6; i++) {
                int source = bgr && !floats && channels == 3 ? 2 - c : c;
                size_t from = at(last, channels, source, i);
                float wanted = floats ? numbers[from] : (float)(1000 * (c + 1) + moved[from]);
                ck_assert(tensor.data[at(network_last, channels, c, i)] == wanted);
            }
    }
    free(data);
    ad_tensor_fini(&tensor);
}
END_TEST

START_TEST(test_wrong_tensors)
{
    const struct ad_letterbox box = network(3, false, false);
    static const uint8_t data[200];
    static const struct {
        int64_t dims[4];
        size_t size;
    } bad[] = {{{1, 3, 2, 3}, 17}, {{1, 3, 2, 3}, 19}, {{1, 3, 2, 3}, 0}, {{1, 3, 3, 2}, 18},
               {{2, 3, 2, 3}, 36}, {{1, 1, 2, 3}, 6},  {{1, 2, 3, 1}, 6}, {{3, 3, 2, 1}, 18},
               {{1, 3, 2, 4}, 24}, {{1, 2, 3, 4}, 24}, {{1, 3, 1, 6}, 18}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ad_frigate_request r = {.bytes = true};
        struct ad_tensor tensor = {0};
        struct adaps_error err = {0};
        memcpy(r.dims, bad[i].dims, sizeof r.dims);
        ck_assert_int_eq(ad_frigate_fill(&r, data, bad[i].size, &box, &tensor, &err), ADAPS_EINPUT);
        ck_assert_ptr_nonnull(strstr(err.message, "the picture "));
        ck_assert_ptr_null(tensor.data);
    }
    struct ad_frigate_request r = {.dims = {1, 3, 2, 3}, .bytes = true};
    struct ad_tensor tensor = {0};
    ad_mem_fail_after(1);
    ck_assert_int_eq(ad_frigate_fill(&r, data, 18, &box, &tensor, NULL), ADAPS_EINTERNAL);
    ad_mem_fail_after(0);
    ck_assert_uint_eq(ad_frigate_most_bytes(&box), (size_t)32 << 20);
    const struct ad_letterbox large = {.width = 4096, .height = 4096, .levels.channels = 3};
    ck_assert_uint_eq(ad_frigate_most_bytes(&large), (size_t)4096 * 4096 * 3 * 4);
}
END_TEST

/* Fewer than 20, as many, more. */
START_TEST(test_rows)
{
    struct ad_letterbox box = {.width = 100, .height = 50};
    struct ad_detection items[25] = {{0}};
    for (int n = 0; n <= 25; n += 5) {
        struct ad_detections found = {.items = items, .count = n};
        float rows[AD_FRIGATE_ROWS][AD_FRIGATE_FIELDS];
        memset(rows, 0xff, sizeof rows);
        for (int i = 0; i < n; i++)
            items[i] = (struct ad_detection){.x0 = (float)i,
                                             .y0 = (float)i + 1,
                                             .x1 = (float)i + 10,
                                             .y1 = (float)i + 20,
                                             .score = 1 - 0.01f * (float)i,
                                             .class = 79 - i};
        ad_frigate_rows(&found, &box, rows);
        for (int i = 0; i < AD_FRIGATE_ROWS; i++) {
            const float some[] = {79 - (float)i,  1 - 0.01f * (float)i, ((float)i + 1) / 50,
                                  (float)i / 100, ((float)i + 20) / 50, ((float)i + 10) / 100};
            for (int k = 0; k < AD_FRIGATE_FIELDS; k++)
                ck_assert(rows[i][k] == (i < n ? some[k] : 0));
        }
    }
}
END_TEST

START_TEST(test_answers)
{
    char *text = ad_frigate_header(NULL);
    ck_assert_str_eq(text, "{\"shape\":[20,6],\"dtype\":\"float32\"}");
    free(text);
    text = ad_frigate_header("it \"is\" wrong");
    ck_assert_str_eq(text, "{\"shape\":[20,6],\"dtype\":\"float32\",\"error\":\"it \\\"is\\\" "
                           "wrong\"}");
    free(text);
    struct ad_frigate_request r = {.kind = AD_FRIGATE_MODEL_REQUEST};
    text = ad_frigate_model_answer(&r);
    ck_assert_str_eq(text, "{\"model_available\":true,\"model_loaded\":true}");
    free(text);
    r.kind = AD_FRIGATE_MODEL_DATA;
    text = ad_frigate_model_answer(&r);
    ck_assert_ptr_nonnull(strstr(text, "\"model_saved\":false,\"model_loaded\":false"));
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frigate");
    TCase *tc = tcase_create("frigate");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_headers);
    tcase_add_test(tc, test_damaged_headers);
    tcase_add_loop_test(tc, test_tensors, 0, 32);
    tcase_add_test(tc, test_wrong_tensors);
    tcase_add_test(tc, test_rows);
    tcase_add_test(tc, test_answers);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
