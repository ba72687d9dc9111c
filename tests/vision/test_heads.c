/* Heads: which kind outputs are, and the boxes of made-up answers against plain formulas. */
#include "base/rng.h"
#include "support/run_suite.h"
#include "vision/mask.h"
#include "vision/suppress.h"
#include "vision/vision.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 64    /* of the network's input */
#define CELLS 84   /* 8 x 8, 4 x 4, 2 x 2: strides 8, 16, 32 */
#define MOST_OUT 4 /* outputs */

static struct ad_value values[1 + MOST_OUT];
static int the_input = 0, the_outputs[MOST_OUT] = {1, 2, 3, 4};
static const char *metadata[9];
static struct ad_graph graph;
static struct ad_tensor answers[MOST_OUT];

static void set_value(int i, const char *name, int rank, const int64_t *dims)
{
    values[i] = (struct ad_value){.name = name, .type = ADAPS_FLOAT32, .rank = rank};
    memcpy(values[i].dims, dims, (size_t)rank * sizeof *dims);
}

/* A network with a square input and no outputs yet. */
static void begin_graph(void)
{
    memset(metadata, 0, sizeof metadata);
    set_value(0, "images", 4, (int64_t[]){1, 3, SIDE, SIDE});
    graph = (struct ad_graph){.values = values,
                              .inputs = &the_input,
                              .ninputs = 1,
                              .outputs = the_outputs,
                              .metadata = metadata};
}

/* Adds an output, and an answer of zeros. */
#define OUTPUT(name, ...)                                                                          \
    add_output(name, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})
static float *add_output(const char *name, size_t rank, const int64_t *dims)
{
    int i = graph.noutputs++;
    set_value(1 + i, name, (int)rank, dims);
    ad_tensor_fini(&answers[i]);
    ck_assert_int_eq(ad_tensor_init(&answers[i], (int)rank, dims, NULL), ADAPS_OK);
    return answers[i].data;
}

static void tear_down(void)
{
    for (int i = 0; i < MOST_OUT; i++)
        ad_tensor_fini(&answers[i]);
}

static struct ad_vision open_as(enum ad_vision_task task, const char *preset)
{
    struct ad_vision vision;
    struct adaps_error err = {0};
    const struct ad_vision_options options = {.task = task,
                                              .preset = preset ? ad_preset_find(preset) : NULL};
    ck_assert_msg(ad_vision_init(&vision, &graph, &options, &err) == ADAPS_OK, "%s", err.message);
    return vision;
}

static void refuse(enum ad_vision_task task, const char *preset, const char *why)
{
    struct ad_vision vision;
    struct adaps_error err = {0};
    const struct ad_vision_options options = {.task = task,
                                              .preset = preset ? ad_preset_find(preset) : NULL};
    ck_assert_int_eq(ad_vision_init(&vision, &graph, &options, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, why) != NULL, "'%s' lacks '%s'", err.message, why);
}

static void ultralytics(const char *task, const char *names)
{
    metadata[0] = "task";
    metadata[1] = task;
    metadata[2] = "names";
    metadata[3] = names;
}

/* What a picture of the input's own size gives. */
static struct ad_detections decode(const struct ad_vision *vision, double confidence)
{
    struct ad_detections found = {0};
    struct adaps_error err = {0};
    const struct ad_placement place = ad_letterbox_place(&vision->input, SIDE, SIDE);
    const struct ad_decoding options = {.confidence = confidence, .iou = 0.45, .most = 300};
    enum adaps_status status =
        ad_head_decode(&vision->head, answers, &place, &options, &found, &err);
    ck_assert_msg(status == ADAPS_OK, "%s", err.message);
    return found;
}

static void check_box(const struct ad_detection *one, int class, double score, double x0, double y0,
                      double x1, double y1)
{
    ck_assert_int_eq(one->class, class);
    ck_assert_double_eq_tol((double)one->score, score, 1e-6);
    ck_assert_double_eq_tol((double)one->x0, x0, 1e-4);
    ck_assert_double_eq_tol((double)one->y0, y0, 1e-4);
    ck_assert_double_eq_tol((double)one->x1, x1, 1e-4);
    ck_assert_double_eq_tol((double)one->y1, y1, 1e-4);
}

/* Writes numbers every `step` elements from `at` on. */
static void put(float *data, size_t at, size_t step, int n, const float *numbers)
{
    for (int i = 0; i < n; i++)
        data[at + (size_t)i * step] = numbers[i];
}
#define PUT(data, at, step, ...)                                                                   \
    put(data, at, step, sizeof((float[]){__VA_ARGS__}) / sizeof(float), (float[]){__VA_ARGS__})

START_TEST(yolov5)
{
    begin_graph();
    float *rows = OUTPUT("output0", 1, 3 * CELLS, 7);
    PUT(rows, 7 * 100, 1, 30, 20, 10, 8, 0.8f, 0.25f, 0.75f);
    PUT(rows, 7 * 101, 1, 30, 20, 10, 8, 0.2f, 1, 1);       /* the objectness is too low */
    PUT(rows, 7 * 102, 1, 30, 20, 10, 8, 0.5f, 0.3f, 0.4f); /* the product is */
    PUT(rows, 7 * 103, 1, 31, 20, 10, 8, 0.7f, 0, 0.75f);   /* covered by the first */
    PUT(rows, 7 * 104, 1, 31, 20, 10, 8, 0.7f, 0.75f, 0);   /* of another class */
    struct ad_vision vision = open_as(AD_VISION_DETECT, NULL);
    ck_assert_int_eq(vision.head.kind, AD_HEAD_YOLOV5);
    ck_assert_int_eq(vision.head.classes, 2);
    struct ad_detections found = decode(&vision, 0.25);
    ck_assert_int_eq(found.count, 2);
    check_box(&found.items[0], 1, (double)0.8f * (double)0.75f, 25, 16, 35, 24);
    check_box(&found.items[1], 0, (double)0.7f * (double)0.75f, 26, 16, 36, 24);
    ad_detections_fini(&found);
    ad_vision_fini(&vision);
}
END_TEST

START_TEST(yolov8)
{
    begin_graph();
    ultralytics("detect", "{0: 'cat', 1: \"dog's\", 2: 'l\\'eau'}");
    float *columns = OUTPUT("output0", 1, 7, CELLS);
    PUT(columns, 50, CELLS, 30, 20, 10, 8, 0.1f, 0.25f, 0.2f);
    PUT(columns, 83, CELLS, 60, 60, 20, 20, 0.9f, 0, 0.3f); /* sticks out of the picture */
    PUT(columns, 7, CELLS, 90, 90, 10, 10, 1, 0, 0);        /* is outside */
    PUT(columns, 8, CELLS, NAN, 20, 10, 8, 1, 0, 0);        /* is no box */
    struct ad_vision vision = open_as(AD_VISION_DETECT, NULL);
    ck_assert_int_eq(vision.head.kind, AD_HEAD_YOLOV8);
    ck_assert_int_eq(vision.labels.count, 3);
    ck_assert_str_eq(vision.labels.names[1], "dog's");
    ck_assert_str_eq(vision.labels.names[2], "l'eau");
    struct ad_detections found = decode(&vision, 0.25);
    ck_assert_int_eq(found.count, 2);
    check_box(&found.items[0], 0, (double)0.9f, 50, 50, 64, 64);
    check_box(&found.items[1], 1, 0.25, 25, 16, 35, 24);
    ad_detections_fini(&found);
    ad_vision_fini(&vision);
    ultralytics("obb", "{0: 'ship'}");
    refuse(AD_VISION_DETECT, NULL, "task = 'obb'");
    ultralytics("detect", "cat, dog");
    refuse(AD_VISION_DETECT, NULL, "names = 'cat, dog'");
}
END_TEST

/* Random answers: all boxes that the definition leaves, in its order. */
START_TEST(yolov8_random)
{
    begin_graph();
    struct ad_rng rng = {(uint64_t)_i + 1};
    float *data = OUTPUT("output0", 1, 9, CELLS);
    for (int i = 0; i < 9 * CELLS; i++) {
        float x = (float)(ad_rng_next(&rng) >> 40) * 0x1p-24f;
        data[i] = i < 2 * CELLS ? x * SIDE : i < 4 * CELLS ? x * 40 : x;
    }
    struct ad_vision vision = open_as(AD_VISION_DETECT, "yolov8");
    struct ad_detections found = decode(&vision, 0.6);
    bool dropped[CELLS] = {false};
    int count = 0;
    for (;;) { /* the best that is left, then what it covers is dropped */
        int best = -1, best_class = 0;
        for (int i = 0; i < CELLS; i++)
            for (int c = 0; c < 5 && !dropped[i]; c++)
                if (data[(4 + c) * CELLS + i] >= 0.6f &&
                    (best < 0 ||
                     data[(4 + c) * CELLS + i] > data[(4 + best_class) * CELLS + best])) {
                    best = i;
                    best_class = c;
                }
        if (best < 0)
            break;
        double box[4] = {(double)data[best], (double)data[CELLS + best],
                         (double)data[2 * CELLS + best], (double)data[3 * CELLS + best]};
        ck_assert_int_lt(count, found.count);
        check_box(&found.items[count++], best_class, (double)data[(4 + best_class) * CELLS + best],
                  fmax(box[0] - box[2] / 2, 0), fmax(box[1] - box[3] / 2, 0),
                  fmin(box[0] + box[2] / 2, SIDE), fmin(box[1] + box[3] / 2, SIDE));
        dropped[best] = true;
        for (int i = 0; i < CELLS; i++) {
            int class = 0;
            for (int c = 1; c < 5; c++)
                class = data[(4 + c) * CELLS + i] > data[(4 + class) * CELLS + i] ? c : class;
            double w =
                fmin(box[0] + box[2] / 2, (double)data[i] + (double)data[2 * CELLS + i] / 2) -
                fmax(box[0] - box[2] / 2, (double)data[i] - (double)data[2 * CELLS + i] / 2);
            double h = fmin(box[1] + box[3] / 2,
                            (double)data[CELLS + i] + (double)data[3 * CELLS + i] / 2) -
                       fmax(box[1] - box[3] / 2,
                            (double)data[CELLS + i] - (double)data[3 * CELLS + i] / 2);
            double shared = fmax(w, 0) * fmax(h, 0);
            double all = box[2] * box[3] +
                         (double)data[2 * CELLS + i] * (double)data[3 * CELLS + i] - shared;
            if (class == best_class && shared / all > 0.45)
                dropped[i] = true;
        }
    }
    ck_assert_int_eq(count, found.count);
    ck_assert_int_gt(count, 20);
    ad_detections_fini(&found);
    ad_vision_fini(&vision);
}
END_TEST

START_TEST(pose)
{
    begin_graph();
    ultralytics("pose", "{0: 'person'}");
    metadata[4] = "kpt_shape";
    metadata[5] = "[2, 3]";
    float *columns = OUTPUT("output0", 1, 4 + 1 + 6, CELLS);
    PUT(columns, 9, CELLS, 30, 20, 10, 8, 0.5f, 26, 17, 0.9f, 33, 22, 0.1f);
    struct ad_vision vision = open_as(AD_VISION_DETECT, NULL);
    ck_assert_int_eq(vision.head.classes, 1);
    struct ad_detections found = decode(&vision, 0.25);
    ck_assert_int_eq(found.count, 1);
    ck_assert_int_eq(found.nkeypoints, 2);
    const float wanted[6] = {26, 17, 0.9f, 33, 22, 0.1f};
    ck_assert_mem_eq(found.items[0].keypoints, wanted, sizeof wanted);
    ad_detections_fini(&found);
    ad_vision_fini(&vision);
    metadata[5] = "17";
    refuse(AD_VISION_DETECT, NULL, "kpt_shape = '17'");
}
END_TEST

/* Two prototypes, left half and upper half; the mask is their difference. */
START_TEST(masks)
{
    begin_graph();
    float *columns = OUTPUT("output0", 1, 4 + 1 + 2, CELLS);
    float *prototypes = OUTPUT("output1", 1, 2, 16, 16);
    PUT(columns, 9, CELLS, 32, 32, 64, 64, 0.5f, 1, -1);
    for (int i = 0; i < 256; i++) {
        prototypes[i] = i % 16 < 8;
        prototypes[256 + i] = i / 16 < 8;
    }
    struct ad_vision vision = open_as(AD_VISION_SEGMENT, NULL);
    ck_assert_int_eq(vision.head.coefficients, 2);
    struct ad_detections found = decode(&vision, 0.25);
    ck_assert_int_eq(found.count, 1);
    const struct ad_placement place = ad_letterbox_place(&vision.input, SIDE, SIDE);
    uint8_t row[SIDE];
    /* above 0 in the lower left quarter; between the quarters, scaled, it is 0 or above */
    ad_mask_row(&found.items[0], &place, 50, row);
    for (int x = 0; x < SIDE; x++)
        ck_assert_int_eq(row[x], x < 34); /* 1 at point 7, 0 at point 8, whose middle is at 34 */
    ad_mask_row(&found.items[0], &place, 10, row);
    for (int x = 0; x < SIDE; x++)
        ck_assert_int_eq(row[x], 0);
    ad_detections_fini(&found);
    ad_vision_fini(&vision);
}
END_TEST

START_TEST(end_to_end)
{
    begin_graph();
    float *rows = OUTPUT("output0", 1, 300, 6);
    PUT(rows, 0, 1, 10, 20, 30, 40, 0.5f, 3);
    PUT(rows, 6, 1, 10, 20, 30, 40, 0.9f, 3); /* the network has suppressed: both are meant */
    PUT(rows, 12, 1, 10, 20, 30, 40, 0.1f, 3);
    struct ad_vision vision = open_as(AD_VISION_DETECT, "yolov8");
    ck_assert_int_eq(vision.head.kind, AD_HEAD_ROWS);
    struct ad_detections found = decode(&vision, 0.25);
    ck_assert_int_eq(found.count, 2);
    check_box(&found.items[0], 3, (double)0.9f, 10, 20, 30, 40);
    check_box(&found.items[1], 3, 0.5, 10, 20, 30, 40);
    ad_detections_fini(&found);
    ad_vision_fini(&vision);
}
END_TEST

START_TEST(yolox)
{
    begin_graph();
    float *rows = OUTPUT("output", 1, CELLS, 7);
    /* row 64 + 5: stride 16, x 1, y 1 */
    PUT(rows, 7 * 69, 1, 0.5f, 0.25f, 0.1f, -0.2f, 0.8f, 0.9f, 0.3f);
    refuse(AD_VISION_DETECT, "ssd", "not those of a detector, preset ssd");
    struct ad_vision vision = open_as(AD_VISION_DETECT, "yolox");
    ck_assert_int_eq(vision.head.kind, AD_HEAD_YOLOX);
    ck_assert(vision.input.bgr);
    ck_assert_int_eq(vision.input.fit, AD_FIT_CORNER);
    ck_assert(vision.input.levels.level[2][255] == 255);
    struct ad_detections found = decode(&vision, 0.25);
    ck_assert_int_eq(found.count, 1);
    double w = exp((double)0.1f) * 16, h = exp((double)-0.2f) * 16;
    check_box(&found.items[0], 0, (double)0.8f * (double)0.9f, 24 - w / 2, 20 - h / 2, 24 + w / 2,
              20 + h / 2);
    ad_detections_fini(&found);
    ad_vision_fini(&vision);
}
END_TEST

START_TEST(nanodet)
{
    begin_graph();
    float *rows = OUTPUT("output", 1, CELLS, 2 + 4 * 8);
    float *row = rows + 34 * 9; /* stride 8, x 1, y 1 */
    row[1] = 0.75f;
    row[2 + 1] = 50;                      /* left: 1 */
    row[2 + 8 + 2] = row[2 + 8 + 4] = 50; /* up: 3 */
    row[2 + 16 + 2] = 50;                 /* right: 2 */
                                          /* down: all alike, 3.5 */
    struct ad_vision vision = open_as(AD_VISION_DETECT, "nanodet");
    struct ad_detections found = decode(&vision, 0.25);
    ck_assert_int_eq(found.count, 1);
    check_box(&found.items[0], 1, 0.75, (1.5 - 1) * 8, 0, (1.5 + 2) * 8, (1.5 + 3.5) * 8);
    ad_detections_fini(&found);
    ad_vision_fini(&vision);

    /* NanoDet-Plus has a fourth grid and cells' corners */
    begin_graph();
    row = OUTPUT("output", 1, CELLS + 1, 2 + 4 * 8) + 34 * 9;
    row[1] = 0.75f;
    row[2 + 0] = row[2 + 8] = row[2 + 16 + 2] = row[2 + 24 + 1] = 50;
    vision = open_as(AD_VISION_DETECT, "nanodet");
    found = decode(&vision, 0.25);
    ck_assert_int_eq(found.count, 1);
    check_box(&found.items[0], 1, 0.75, 8, 8, 24, 16);
    ad_detections_fini(&found);
    ad_vision_fini(&vision);
}
END_TEST

START_TEST(ssd)
{
    begin_graph();
    metadata[0] = "adaps.labels";
    metadata[1] = "cat,dog";
    float *scores = OUTPUT("scores", 1, 5, 3), *boxes = OUTPUT("boxes", 1, 5, 4);
    PUT(boxes, 4, 1, 0.25f, 0.5f, 0.5f, 1);
    PUT(scores, 3, 1, 0.1f, 0.4f, 0.5f); /* both classes count */
    PUT(scores, 6, 1, 0.9f, 0.05f, 0.05f);
    struct ad_vision vision = open_as(AD_VISION_DETECT, NULL);
    ck_assert_int_eq(vision.head.kind, AD_HEAD_SSD);
    ck_assert(vision.head.background);
    struct ad_detections found = decode(&vision, 0.25);
    ck_assert_int_eq(found.count, 2);
    check_box(&found.items[0], 1, 0.5, 16, 32, 32, 64);
    check_box(&found.items[1], 0, (double)0.4f, 16, 32, 32, 64);
    ad_detections_fini(&found);
    /* the same in pixels */
    PUT(boxes, 4, 1, 16, 32, 32, 64);
    found = decode(&vision, 0.25);
    ck_assert_int_eq(found.count, 2);
    check_box(&found.items[0], 1, 0.5, 16, 32, 32, 64);
    ad_detections_fini(&found);
    ad_vision_fini(&vision);
}
END_TEST

START_TEST(selected)
{
    begin_graph();
    float *boxes = OUTPUT("boxes", 1, 5, 4), *scores = OUTPUT("scores", 1, 2, 5);
    float *rows = OUTPUT("selected", 2, 3);
    PUT(boxes, 12, 1, 10, 20, 30, 40);
    PUT(scores, 5 + 3, 1, 0.75f);
    PUT(scores, 3, 1, 0.5f);
    PUT(rows, 0, 1, 0, 1, 3, 0, 0, 3);
    struct ad_vision vision = open_as(AD_VISION_DETECT, NULL);
    ck_assert_int_eq(vision.head.kind, AD_HEAD_SELECTED);
    struct ad_detections found = decode(&vision, 0.25);
    ck_assert_int_eq(found.count, 2);
    check_box(&found.items[0], 1, 0.75, 10, 20, 30, 40);
    check_box(&found.items[1], 0, 0.5, 10, 20, 30, 40);
    ad_detections_fini(&found);
    vision.head.order = AD_BOXES_Y0X0Y1X1;
    found = decode(&vision, 0.25);
    check_box(&found.items[0], 1, 0.75, 20, 10, 40, 30);
    ad_detections_fini(&found);
    vision.head.order = AD_BOXES_CENTRE;
    found = decode(&vision, 0.25);
    check_box(&found.items[0], 1, 0.75, 0, 0, 25, 40);
    ad_detections_fini(&found);
    rows[2] = 5; /* a box that is not there */
    struct adaps_error err = {0};
    const struct ad_placement place = ad_letterbox_place(&vision.input, SIDE, SIDE);
    const struct ad_decoding options = {.confidence = 0.25, .iou = 0.45, .most = 300};
    ck_assert_int_eq(ad_head_decode(&vision.head, answers, &place, &options, &found, &err),
                     ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "box 5"));
    ad_vision_fini(&vision);
}
END_TEST

START_TEST(lists)
{
    begin_graph();
    float *count = OUTPUT("num_dets", 1, 1), *boxes = OUTPUT("det_boxes", 1, 9, 4);
    float *scores = OUTPUT("det_scores", 1, 9), *classes = OUTPUT("det_classes", 1, 9);
    count[0] = 2;
    for (int i = 0; i < 3; i++) {
        PUT(boxes, (size_t)i * 4, 1, 10, 20, 30, 40);
        scores[i] = 0.9f - (float)i * 0.1f;
        classes[i] = (float)i;
    }
    struct ad_vision vision = open_as(AD_VISION_DETECT, NULL);
    ck_assert_int_eq(vision.head.kind, AD_HEAD_LISTS);
    struct ad_detections found = decode(&vision, 0.25);
    ck_assert_int_eq(found.count, 2); /* the third does not count */
    check_box(&found.items[1], 1, (double)(0.9f - 0.1f), 10, 20, 30, 40);
    ad_detections_fini(&found);
    ad_vision_fini(&vision);
}
END_TEST

START_TEST(limits)
{
    begin_graph();
    float *columns = OUTPUT("output0", 1, 6, CELLS);
    for (int i = 0; i < 8; i++)
        PUT(columns, (size_t)i, CELLS, (float)i * 8, 4, 8, 8, 0.3f, i % 2 ? 0.9f : 0);
    struct ad_vision vision = open_as(AD_VISION_DETECT, NULL);
    struct ad_detections found = {0};
    const struct ad_placement place = ad_letterbox_place(&vision.input, SIDE, SIDE);
    const bool second[2] = {false, true};
    struct ad_decoding options = {.confidence = 0.25, .iou = 0.45, .most = 3};
    ck_assert_int_eq(ad_head_decode(&vision.head, answers, &place, &options, &found, NULL),
                     ADAPS_OK);
    ck_assert_int_eq(found.count, 3);
    ad_detections_fini(&found);
    options = (struct ad_decoding){
        .confidence = 0.25, .iou = 0.45, .most = 300, .classes = second, .nclasses = 2};
    ck_assert_int_eq(ad_head_decode(&vision.head, answers, &place, &options, &found, NULL),
                     ADAPS_OK);
    ck_assert_int_eq(found.count, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(found.items[i].class, 1);
    ad_detections_fini(&found);
    /* an answer of another shape */
    struct adaps_error err = {0};
    answers[0].dims[1] = 3;
    answers[0].dims[2] = 2 * CELLS;
    ck_assert_int_eq(ad_head_decode(&vision.head, answers, &place, &options, &found, &err),
                     ADAPS_EINPUT);
    ad_vision_fini(&vision);
}
END_TEST

START_TEST(refusals)
{
    begin_graph();
    OUTPUT("odd", 1, 11, 77);
    refuse(AD_VISION_DETECT, NULL, "'odd' 1x11x77");
    refuse(AD_VISION_CLASSIFY, NULL, "not those of a classifier");
    begin_graph();
    OUTPUT("flat", 1, 10);
    refuse(AD_VISION_DETECT, NULL, "'flat' 1x10");
    refuse(AD_VISION_SEGMENT, NULL, "not those of a segmenter");
    set_value(0, "images", 4, (int64_t[]){1, 4, SIDE, SIDE});
    refuse(AD_VISION_CLASSIFY, NULL, "takes no picture");
    graph.ninputs = 2;
    refuse(AD_VISION_CLASSIFY, NULL, "2 inputs");
    /* one class, three grids: YOLOX, by its preset alone */
    begin_graph();
    OUTPUT("output", 1, CELLS, 9);
    refuse(AD_VISION_DETECT, NULL, "--preset");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heads");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, tear_down);
    tcase_add_test(tests, yolov5);
    tcase_add_test(tests, yolov8);
    tcase_add_loop_test(tests, yolov8_random, 0, 10);
    tcase_add_test(tests, pose);
    tcase_add_test(tests, masks);
    tcase_add_test(tests, end_to_end);
    tcase_add_test(tests, yolox);
    tcase_add_test(tests, nanodet);
    tcase_add_test(tests, ssd);
    tcase_add_test(tests, selected);
    tcase_add_test(tests, lists);
    tcase_add_test(tests, limits);
    tcase_add_test(tests, refusals);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
