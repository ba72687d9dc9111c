/* Pictures into networks and answers back on pictures: letterbox, names, suppression, masks, maps
 * of classes, classifiers, drawing. */
#include "base/rng.h"
#include "support/run_suite.h"
#include "vision/draw.h"
#include "vision/suppress.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct ad_value the_value;
static int the_index;
static const char *metadata[5];

static struct ad_graph graph_of(int64_t a, int64_t b, int64_t c)
{
    the_value =
        (struct ad_value){.name = "x", .type = ADAPS_FLOAT32, .rank = 4, .dims = {1, a, b, c}};
    memset(metadata, 0, sizeof metadata);
    return (struct ad_graph){.values = &the_value,
                             .inputs = &the_index,
                             .ninputs = 1,
                             .outputs = &the_index,
                             .noutputs = 1,
                             .metadata = metadata};
}

static struct ad_letterbox box_of(int64_t a, int64_t b, int64_t c, enum ad_fit fit)
{
    struct ad_letterbox box;
    struct ad_graph graph = graph_of(a, b, c);
    ck_assert_int_eq(ad_letterbox_init(&box, &graph, NULL, NULL), ADAPS_OK);
    box.fit = fit;
    return box;
}

static void random_picture(uint8_t *rgb, int width, int height, uint64_t seed)
{
    struct ad_rng rng = {seed};
    for (int i = 0; i < width * height * 3; i++)
        rgb[i] = (uint8_t)(ad_rng_next(&rng) >> 56);
}

/* The byte that a point of the input gets, by the definition, before rounding; 114 outside. */
static double sample(const uint8_t *rgb, int width, int height, const struct ad_placement *place,
                     int x, int y, int c)
{
    double u = (x + 0.5 - (double)place->left) / (double)place->scale_x - 0.5;
    double v = (y + 0.5 - (double)place->top) / (double)place->scale_y - 0.5;
    if (u < -0.5 || v < -0.5 || u > width - 0.5 || v > height - 0.5)
        return 114;
    u = fmin(fmax(u, 0), width - 1);
    v = fmin(fmax(v, 0), height - 1);
    double sum = 0;
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 2; i++) {
            int px = (int)u + i < width ? (int)u + i : width - 1;
            int py = (int)v + j < height ? (int)v + j : height - 1;
            double weight =
                (i ? u - floor(u) : 1 - (u - floor(u))) * (j ? v - floor(v) : 1 - (v - floor(v)));
            sum += weight * rgb[(py * width + px) * 3 + c];
        }
    return sum;
}

static const int sizes[][2] = {{64, 48}, {97, 31}, {31, 97}, {20, 11}, {1, 1}, {200, 3}};

START_TEST(letterbox_samples)
{
    int width = sizes[_i / AD_FIT_COUNT][0], height = sizes[_i / AD_FIT_COUNT][1];
    struct ad_letterbox box = box_of(3, 48, 64, (enum ad_fit)(_i % AD_FIT_COUNT));
    static uint8_t rgb[200 * 200 * 3];
    random_picture(rgb, width, height, (uint64_t)_i);
    struct ad_tensor tensor = {0};
    ck_assert_int_eq(ad_letterbox_fill(&box, rgb, width, height, &tensor, NULL), ADAPS_OK);
    struct ad_placement place = ad_letterbox_place(&box, width, height);
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < 48; y++)
            for (int x = 0; x < 64; x++) {
                double byte = (double)tensor.data[(c * 48 + y) * 64 + x] * 255;
                double wanted = sample(rgb, width, height, &place, x, y, c);
                ck_assert_msg(fabs(byte - wanted) < 0.8, "%d %d %d: %g, not %g", c, y, x, byte,
                              wanted);
            }
    ad_tensor_fini(&tensor);
}
END_TEST

START_TEST(letterbox_places)
{
    struct ad_letterbox box = box_of(3, 64, 64, AD_FIT_LETTERBOX);
    struct ad_placement place = ad_letterbox_place(&box, 128, 96);
    ck_assert(place.scale_x == 0.5f && place.scale_y == 0.5f);
    ck_assert(place.left == 0 && place.top == 8);
    ck_assert(ad_placement_x(&place, 10) == 20 && ad_placement_y(&place, 10) == 4);
    place = ad_letterbox_place(&box, 128, 98); /* 49 rows: 7 above, 8 below */
    ck_assert(place.top == 7);
    box.fit = AD_FIT_CORNER;
    place = ad_letterbox_place(&box, 128, 96);
    ck_assert(place.left == 0 && place.top == 0);
    box.fit = AD_FIT_STRETCH;
    place = ad_letterbox_place(&box, 128, 32);
    ck_assert(place.scale_x == 0.5f && place.scale_y == 2);
    box.fit = AD_FIT_CROP;
    place = ad_letterbox_place(&box, 192, 128);
    ck_assert(place.scale_x == 0.5f && place.left == -16 && place.top == 0);
    box = box_of(3, 56, 56, AD_FIT_CENTRE);
    place = ad_letterbox_place(&box, 128, 128);
    ck_assert(place.scale_x == 0.5f && place.left == -4 && place.top == -4);
}
END_TEST

/* A picture of the input's size keeps its bytes, in every order of channels. */
START_TEST(letterbox_orders)
{
    uint8_t rgb[4 * 2 * 3];
    random_picture(rgb, 4, 2, 5);
    struct ad_letterbox box = box_of(2, 4, 3, AD_FIT_LETTERBOX);
    ck_assert(box.channels_last && box.width == 4 && box.height == 2);
    struct ad_tensor tensor = {0};
    ck_assert_int_eq(ad_letterbox_fill(&box, rgb, 4, 2, &tensor, NULL), ADAPS_OK);
    for (int i = 0; i < 24; i++)
        ck_assert(tensor.data[i] == (float)rgb[i] / 255.0f);
    box.bgr = true;
    ck_assert_int_eq(ad_letterbox_fill(&box, rgb, 4, 2, &tensor, NULL), ADAPS_OK);
    for (int i = 0; i < 24; i++)
        ck_assert(tensor.data[i] == (float)rgb[i / 3 * 3 + 2 - i % 3] / 255.0f);
    ad_tensor_fini(&tensor);
    box.bgr = false;
    box.type = ADAPS_UINT8;
    ck_assert_int_eq(ad_letterbox_fill(&box, rgb, 4, 2, &tensor, NULL), ADAPS_OK);
    ck_assert_int_eq(tensor.type, ADAPS_UINT8);
    ck_assert_mem_eq(tensor.data, rgb, sizeof rgb);
    ad_tensor_fini(&tensor);
    box = box_of(1, 2, 4, AD_FIT_LETTERBOX);
    const struct ad_normalisation how = {.bytes = true, .mean = {100}, .std = {2}};
    ad_letterbox_normalise(&box, &how);
    ck_assert_int_eq(ad_letterbox_fill(&box, rgb, 4, 2, &tensor, NULL), ADAPS_OK);
    for (int i = 0; i < 8; i++) {
        int grey = (rgb[i * 3] * 77 + rgb[i * 3 + 1] * 150 + rgb[i * 3 + 2] * 29) >> 8;
        ck_assert(tensor.data[i] == ((float)grey - 100) / 2);
    }
    ad_tensor_fini(&tensor);
}
END_TEST

START_TEST(letterbox_metadata)
{
    struct ad_graph graph = graph_of(3, 8, 8);
    const struct ad_normalisation how = {.mean = {0.5f, 0.5f, 0.5f}, .std = {0.25f, 0.25f, 0.25f}};
    struct ad_letterbox box;
    ck_assert_int_eq(ad_letterbox_init(&box, &graph, &how, NULL), ADAPS_OK);
    ck_assert(box.levels.level[1][255] == 2);
    metadata[0] = "adaps.std"; /* the model knows better */
    metadata[1] = "0.5";
    ck_assert_int_eq(ad_letterbox_init(&box, &graph, &how, NULL), ADAPS_OK);
    ck_assert(box.levels.level[1][255] == 2 && box.levels.level[1][0] == 0);
    metadata[1] = "0";
    ck_assert_int_eq(ad_letterbox_init(&box, &graph, &how, NULL), ADAPS_EINPUT);
}
END_TEST

START_TEST(names)
{
    struct ad_labels labels;
    struct ad_graph graph = graph_of(3, 8, 8);
    char number[16];
    ck_assert_int_eq(ad_labels_coco(&labels, NULL), ADAPS_OK);
    ck_assert_int_eq(labels.count, 80);
    ck_assert_str_eq(labels.names[0], "person");
    ck_assert_str_eq(labels.names[79], "toothbrush");
    ck_assert_int_eq(ad_labels_find(&labels, "traffic light"), 9);
    ck_assert_int_eq(ad_labels_find(&labels, "17"), 17);
    ck_assert_int_eq(ad_labels_find(&labels, "unicorn"), -1);
    ck_assert_str_eq(ad_labels_name(&labels, 80, number, sizeof number), "80");
    ad_labels_fini(&labels);
    metadata[0] = "names";
    metadata[1] = "['a', 'b c']";
    ck_assert_int_eq(ad_labels_of_graph(&labels, &graph, NULL), ADAPS_OK);
    ck_assert_int_eq(labels.count, 2);
    ck_assert_str_eq(labels.names[1], "b c");
    ad_labels_fini(&labels);
    metadata[1] = "{7: 'a', 2: 'b'}"; /* any order, with gaps */
    ck_assert_int_eq(ad_labels_of_graph(&labels, &graph, NULL), ADAPS_OK);
    ck_assert_int_eq(labels.count, 8);
    ck_assert_str_eq(ad_labels_name(&labels, 7, number, sizeof number), "a");
    ck_assert_str_eq(ad_labels_name(&labels, 3, number, sizeof number), "3");
    ad_labels_fini(&labels);
    static const char *const bad[] = {"{0: 'a'",      "{0 'a'}", "{-1: 'a'}", "{0: a}", "['a' 'b']",
                                      "{70000: 'a'}", "['a",     "{",         "["};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        metadata[1] = bad[i];
        ck_assert_msg(ad_labels_of_graph(&labels, &graph, NULL) == ADAPS_EINPUT, "%s", bad[i]);
    }
    metadata[0] = "adaps.labels";
    metadata[1] = "x,,z";
    ck_assert_int_eq(ad_labels_of_graph(&labels, &graph, NULL), ADAPS_OK);
    ck_assert_int_eq(labels.count, 3);
    ck_assert_str_eq(labels.names[2], "z");
    ad_labels_fini(&labels);

    char path[] = "test_pictures.XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "cat\r\nbig dog\nowl", 16), 16);
    close(fd);
    ck_assert_int_eq(ad_labels_load(&labels, path, NULL), ADAPS_OK);
    unlink(path);
    ck_assert_int_eq(labels.count, 3);
    ck_assert_str_eq(labels.names[0], "cat");
    ck_assert_str_eq(labels.names[1], "big dog");
    ad_labels_fini(&labels);
    ck_assert_int_eq(ad_labels_load(&labels, path, NULL), ADAPS_EINPUT);
}
END_TEST

START_TEST(overlaps)
{
    const struct ad_detection a = {.x1 = 10, .y1 = 10}, b = {.x0 = 5, .x1 = 15, .y1 = 10},
                              far = {.x0 = 10, .x1 = 20, .y1 = 10}, none = {.x0 = 3, .x1 = 3};
    ck_assert_double_eq_tol(ad_box_iou(&a, &b), 50.0 / 150, 1e-12);
    ck_assert(ad_box_iou(&a, &a) == 1);
    ck_assert(ad_box_iou(&a, &far) == 0);
    ck_assert(ad_box_iou(&none, &none) == 0);
    struct ad_detection items[] = {
        {.x1 = 10, .y1 = 10, .score = 0.5f, .candidate = 3},
        {.x1 = 10, .y1 = 10, .score = NAN, .candidate = 4},
        {.x1 = 10, .y1 = 10, .score = 0.5f, .candidate = 1, .class = 2},
        {.x1 = 10, .y1 = 10, .score = 0.5f, .candidate = 2},
    };
    struct ad_detections found = {.items = items, .count = 4};
    ad_suppress(&found, 0.45, 300);
    ck_assert_int_eq(found.count, 2);
    ck_assert_int_eq(found.items[0].candidate, 1);
    ck_assert_int_eq(found.items[1].candidate, 2);
}
END_TEST

/* Decodes COCO's text of runs, by its definition. */
static int read_runs(const char *text, int64_t *runs)
{
    int n = 0;
    while (*text) {
        int64_t x = 0;
        int shift = 0, c;
        do {
            c = *text++ - 48;
            x |= (int64_t)(c & 31) << shift;
            shift += 5;
        } while (c & 32);
        if (c & 16)
            x |= -((int64_t)1 << shift);
        runs[n] = n > 2 ? x + runs[n - 2] : x;
        n++;
    }
    return n;
}

/* A mask's rows and its runs are the same pixels. */
START_TEST(mask_runs)
{
    struct ad_letterbox box = box_of(3, 32, 32, AD_FIT_LETTERBOX);
    struct ad_placement place = ad_letterbox_place(&box, 50, 40);
    struct ad_rng rng = {(uint64_t)_i + 9};
    float logits[64];
    for (int i = 0; i < 64; i++)
        logits[i] = (float)(ad_rng_next(&rng) >> 40) * 0x1p-23f - (_i == 0 ? -1 : _i == 1 ? 3 : 1);
    struct ad_mask mask = {.width = 8, .height = 8, .logits = logits, .step_x = 4, .step_y = 4};
    struct ad_detection one = {.x0 = 0, .y0 = 3, .x1 = _i == 0 ? 50 : 44, .y1 = 37, .mask = &mask};
    uint8_t pixels[40][50];
    int64_t area, sum = 0, runs[50 * 40], at = 0;
    char *text;
    for (int y = 0; y < 40; y++)
        ad_mask_row(&one, &place, y, pixels[y]);
    ck_assert_int_eq(ad_mask_rle(&one, &place, &text, &area, NULL), ADAPS_OK);
    int n = read_runs(text, runs);
    for (int i = 0; i < n; i++)
        for (int64_t k = 0; k < runs[i]; k++, at++) {
            ck_assert_int_eq(pixels[at % 40][at / 40], i % 2);
            sum += i % 2;
        }
    ck_assert_int_eq(at, 50 * 40);
    ck_assert_int_eq(area, sum);
    ck_assert(_i == 1 ? area == 0 : area > 0);
    ck_assert(_i != 0 || area == 50 * 34); /* all of the box */
    ad_free(text);
}
END_TEST

/* A tensor of these numbers, to be freed. */
static struct ad_tensor tensor_of(int rank, const int64_t *dims, const float *numbers)
{
    struct ad_tensor tensor;
    ck_assert_int_eq(ad_tensor_init(&tensor, rank, dims, NULL), ADAPS_OK);
    memcpy(tensor.data, numbers, tensor.count * sizeof *numbers);
    return tensor;
}

START_TEST(class_map)
{
    float scores[3 * 4] = {0, 1, 0, 0, /* class 0 */ 1, 0, 0, 0.5f, /* 1 */ 0, 0, 0.25f, 0.5f};
    struct ad_tensor tensor = tensor_of(4, (int64_t[]){1, 3, 2, 2}, scores);
    struct ad_head head = {.kind = AD_HEAD_MAP, .width = 8, .height = 8, .classes = 3};
    struct ad_letterbox box = box_of(3, 8, 8, AD_FIT_LETTERBOX);
    struct ad_placement place = ad_letterbox_place(&box, 8, 8);
    struct ad_class_map map;
    ck_assert_int_eq(ad_class_map_decode(&head, &tensor, &place, &map, NULL), ADAPS_OK);
    ck_assert_int_eq(map.class_of[0], 1);
    ck_assert_int_eq(map.class_of[7], 0);
    ck_assert_int_eq(map.class_of[7 * 8], 2);
    ck_assert_int_eq(map.class_of[7 * 8 + 7], 1); /* of equal ones the lower */
    /* from 1 to 0 between points 0 and 1: class 1 up to the middle */
    for (int x = 0; x < 8; x++)
        ck_assert_int_eq(map.class_of[x], x < 4);
    ad_class_map_fini(&map);

    float numbers[4] = {0, 7, 3.4f, 255};
    struct ad_tensor classes = tensor_of(3, (int64_t[]){1, 2, 2}, numbers);
    head.classes = 1;
    ck_assert_int_eq(ad_class_map_decode(&head, &classes, &place, &map, NULL), ADAPS_OK);
    ck_assert_int_eq(map.classes, 256);
    ck_assert_int_eq(map.class_of[3], 0);
    ck_assert_int_eq(map.class_of[4], 7);
    ck_assert_int_eq(map.class_of[4 * 8], 3);
    ck_assert_int_eq(map.class_of[63], 255);
    ad_class_map_fini(&map);
    classes.data[3] = 65536;
    ck_assert_int_eq(ad_class_map_decode(&head, &classes, &place, &map, NULL), ADAPS_EINPUT);
    head.classes = 5;
    ck_assert_int_eq(ad_class_map_decode(&head, &tensor, &place, &map, NULL), ADAPS_EINPUT);
    ad_tensor_fini(&tensor);
    ad_tensor_fini(&classes);
}
END_TEST

START_TEST(top_classes)
{
    float logits[4] = {1, 3, NAN, 3}, sure[4] = {0.25f, 0.5f, 0.25f, 0};
    struct ad_tensor tensor = tensor_of(2, (int64_t[]){1, 4}, logits);
    struct ad_head head = {.kind = AD_HEAD_CLASSES, .classes = 4};
    struct ad_class_score top[4];
    int count;
    ck_assert_int_eq(ad_top(&head, &tensor, 3, top, &count, NULL), ADAPS_OK);
    ck_assert_int_eq(count, 3);
    ck_assert_int_eq(top[0].class, 1);
    ck_assert_int_eq(top[1].class, 3);
    ck_assert_int_eq(top[2].class, 0);
    tensor.data[2] = 1;
    ck_assert_int_eq(ad_top(&head, &tensor, 4, top, &count, NULL), ADAPS_OK);
    ck_assert_double_eq_tol((double)top[0].score, exp(2.0) / (2 * exp(2.0) + 2), 1e-6);
    memcpy(tensor.data, sure, sizeof sure); /* probabilities stay what they are */
    ck_assert_int_eq(ad_top(&head, &tensor, 1, top, &count, NULL), ADAPS_OK);
    ck_assert_int_eq(count, 1);
    ck_assert(top[0].class == 1 && top[0].score == 0.5f);
    head.classes = 5;
    ck_assert_int_eq(ad_top(&head, &tensor, 1, top, &count, NULL), ADAPS_EINPUT);
    ad_tensor_fini(&tensor);
}
END_TEST

/* Nothing is drawn outside of the picture (ASan watches), and the box's border has its colour. */
START_TEST(drawing)
{
    static const int canvases[][2] = {{100, 80}, {9, 7}, {1, 1}};
    int width = canvases[_i][0], height = canvases[_i][1];
    uint8_t *rgb = calloc((size_t)width * (size_t)height, 3), colour[3];
    struct ad_canvas canvas = {rgb, width, height};
    struct ad_letterbox box = box_of(3, 32, 32, AD_FIT_LETTERBOX);
    struct ad_placement place = ad_letterbox_place(&box, width, height);
    const float points[6] = {50, 40, 0.9f, -1000, 1e9f, 1};
    float logits[4] = {1, 1, 1, 1};
    struct ad_mask mask = {.width = 2, .height = 2, .logits = logits, .step_x = 16, .step_y = 16};
    struct ad_detection items[] = {
        {.x0 = 20, .y0 = 30, .x1 = 60, .y1 = 70, .score = 0.87f, .class = 1},
        {.x0 = -5e9f, .y0 = -3, .x1 = 5e9f, .y1 = 500, .score = 1, .keypoints = points},
        {.x0 = 70, .y0 = 40, .x1 = 90, .y1 = 60, .score = 1, .class = 2, .mask = &mask},
    };
    struct ad_detections found = {.items = items, .count = 3, .nkeypoints = 2};
    struct ad_labels labels;
    ck_assert_int_eq(ad_labels_coco(&labels, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_draw_detections(&canvas, &found, &place, &labels, NULL), ADAPS_OK);
    if (_i == 0) {
        ad_class_colour(1, colour);
        ck_assert_mem_eq(rgb + (50 * 100 + 20) * 3, colour, 3); /* left border */
        ck_assert_mem_eq(rgb + (69 * 100 + 40) * 3, colour, 3); /* lower border */
        static const uint8_t black[3] = {0, 0, 0};
        ck_assert_mem_eq(rgb + (50 * 100 + 40) * 3, black, 3); /* inside */
        ad_class_colour(2, colour);
        for (int c = 0; c < 3; c++) /* the mask, half transparent */
            ck_assert_int_eq(rgb[(50 * 100 + 80) * 3 + c], colour[c] / 2);
    }
    const struct ad_class_score scores[2] = {{0, 0.5f}, {9, 0.25f}};
    ad_draw_classes(&canvas, scores, 2, &labels);
    ad_labels_fini(&labels);
    free(rgb);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pictures");
    TCase *tests = tcase_create("all");
    tcase_add_loop_test(tests, letterbox_samples, 0, AD_FIT_COUNT * 6);
    tcase_add_test(tests, letterbox_places);
    tcase_add_test(tests, letterbox_orders);
    tcase_add_test(tests, letterbox_metadata);
    tcase_add_test(tests, names);
    tcase_add_test(tests, overlaps);
    tcase_add_loop_test(tests, mask_runs, 0, 6);
    tcase_add_test(tests, class_map);
    tcase_add_test(tests, top_classes);
    tcase_add_loop_test(tests, drawing, 0, 3);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
