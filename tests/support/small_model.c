/* small_model KIND FILE.onnx: writes a network for the shell tests.
 *
 *   several  inputs of several types and ranks, levels (N x 3 x 4 x 4, uint8), vector (N x 5) and
 *            scalar; the outputs are these inputs, in the same order
 *   alone    of a row of 2^20 numbers the softmax and the sum, which one thread computes each
 *   shared   the negative of such a row, which threads share
 *   finder   a detector in the form of YOLOv8, of 2 classes, for pictures of 64 x 32 (width x
 * height): each cell of 8 x 8 pixels is a candidate, and says itself what it is. Of its first
 *            pixel, R, G and B are the middle's x and y and the width, of the second one the height
 *            and the scores of the classes; 255 is the whole picture, or a score of 1
 *
 *   decoder  what makes maps larger: of N x 4 x 12 x 12 a ConvTranspose in two groups with a Relu,
 * a linear Resize, a Conv, a Resize to the nearest, a Conv; nodes are named by their types
 *
 * and, of pictures of 64 x 64 pixels, whose answers can be told beforehand:
 *
 *   detector    as YOLOv8's exporter writes it. Classes 'red' and 'blue sky'; a cell of 8, 16 or 32
 *               pixels is a box of its size whose score is how much more red than green, or blue
 *               than green, it has in the mean: half of that for 8 pixels
 *   masks       the same with masks: the pixels, in groups of 4 x 4, that are more red or more blue
 *   classifier  the means of red, green and blue, times 8; names are in its metadata
 *   segmenter   red, green and blue of each pixel as scores of three classes */
#include "support/model_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void make_several(struct mb *mb)
{
    Onnx__ValueInfoProto *levels = mb_input(mb, "levels", MB_DIMS(0, 3, 4, 4));
    levels->type->tensor_type->elem_type = ONNX__TENSOR_PROTO__DATA_TYPE__UINT8;
    mb_input(mb, "vector", MB_DIMS(0, 5));
    mb_input(mb, "scalar", MB_SCALAR);
    mb_int(mb, mb_node(mb, "Cast", "levels", "floats"), "to", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    mb_node(mb, "Abs", "floats", "levels_out"); /* none is negative */
    mb_node(mb, "Identity", "vector", "vector_out");
    mb_node(mb, "Identity", "scalar", "scalar_out");
    mb_output(mb, "levels_out");
    mb_output(mb, "vector_out");
    mb_output(mb, "scalar_out");
}

static void make_alone(struct mb *mb)
{
    mb_input(mb, "row", MB_DIMS(0, 1 << 20));
    mb_node(mb, "Softmax", "row", "softmax");
    mb_node(mb, "ReduceSum", "row", "sum");
    mb_output(mb, "softmax");
    mb_output(mb, "sum");
}

static void make_shared(struct mb *mb)
{
    mb_input(mb, "row", MB_DIMS(0, 1 << 20));
    mb_node(mb, "Neg", "row", "negative");
    mb_output(mb, "negative");
}

static void make_finder(struct mb *mb)
{
    static const float whole[] = {64, 32, 64, 32, 1, 1};
    float weights[6 * 3 * 8 * 8] = {0};
    for (int field = 0; field < 6; field++) /* channel field % 3 of pixel field / 3 */
        weights[(field * 3 + field % 3) * 64 + field / 3] = whole[field];
    mb_input(mb, "images", MB_DIMS(0, 3, 32, 64));
    mb_weights(mb, "weights", MB_DIMS(6, 3, 8, 8), weights);
    mb_ints(mb, mb_node(mb, "Conv", "images,weights", "cells"), "strides", MB_DIMS(8, 8));
    mb_shape(mb, "shape", MB_DIMS(1, 6, 32));
    mb_node(mb, "Reshape", "cells,shape", "output0");
    mb_output(mb, "output0");
}

#define SIDE 64

static void add_metadata(struct mb *mb, char *key, char *value)
{
    Onnx__ModelProto *model = mb->proto;
    size_t n = model->n_metadata_props++;
    Onnx__StringStringEntryProto **list = ad_arena_alloc(&mb->arena, n + 1, sizeof *list);
    Onnx__StringStringEntryProto *entry = ad_arena_alloc(&mb->arena, 1, sizeof *entry);
    if (!list || !entry)
        abort();
    for (size_t i = 0; i < n; i++)
        list[i] = model->metadata_props[i];
    onnx__string_string_entry_proto__init(entry);
    entry->key = key;
    entry->value = value;
    list[n] = entry;
    model->metadata_props = list;
}

/* Scores of the cells of one stride, 1 x 2 x cells, called `out`. */
static void add_scores(struct mb *mb, int stride, float share, const char *out)
{
    char pooled[16], scored[16], clipped[16], weights[16], inputs[64];
    const float rows[6] = {share, -share, 0, 0, -share, share};
    snprintf(pooled, sizeof pooled, "pooled%d", stride);
    snprintf(scored, sizeof scored, "scored%d", stride);
    snprintf(clipped, sizeof clipped, "clipped%d", stride);
    snprintf(weights, sizeof weights, "weights%d", stride);
    Onnx__NodeProto *pool = mb_node(mb, "AveragePool", "images", pooled);
    mb_ints(mb, pool, "kernel_shape", MB_DIMS(stride, stride));
    mb_ints(mb, pool, "strides", MB_DIMS(stride, stride));
    mb_weights(mb, weights, MB_DIMS(2, 3, 1, 1), rows);
    snprintf(inputs, sizeof inputs, "%s,%s", pooled, weights);
    mb_node(mb, "Conv", inputs, scored);
    mb_node(mb, "Relu", scored, clipped);
    snprintf(weights, sizeof weights, "shape%d", stride);
    mb_shape(mb, weights, MB_DIMS(1, 2, (SIDE / stride) * (SIDE / stride)));
    snprintf(inputs, sizeof inputs, "%s,%s", clipped, weights);
    mb_node(mb, "Reshape", inputs, out);
}

#define CELLS 84 /* of all three strides */

/* Boxes of the cells: their middles and their size. */
static void add_boxes(struct mb *mb)
{
    float boxes[4][CELLS];
    int at = 0;
    for (int stride = 8; stride <= 32; stride *= 2)
        for (int y = 0; y < SIDE / stride; y++)
            for (int x = 0; x < SIDE / stride; x++, at++) {
                boxes[0][at] = ((float)x + 0.5f) * (float)stride;
                boxes[1][at] = ((float)y + 0.5f) * (float)stride;
                boxes[2][at] = boxes[3][at] = (float)stride;
            }
    mb_weights(mb, "boxes", MB_DIMS(1, 4, CELLS), boxes[0]);
}

static void make_detector(struct mb *mb, bool masks)
{
    mb_input(mb, "images", MB_DIMS(1, 3, SIDE, SIDE));
    add_scores(mb, 8, 0.5f, "scores8");
    add_scores(mb, 16, 1, "scores16");
    add_scores(mb, 32, 1, "scores32");
    Onnx__NodeProto *all = mb_node(mb, "Concat", "scores8,scores16,scores32", "scores");
    mb_int(mb, all, "axis", 2);
    add_boxes(mb);
    if (masks) { /* one prototype, how much a pixel is not green; its coefficient is 1 */
        float ones[CELLS];
        for (int i = 0; i < CELLS; i++)
            ones[i] = 1;
        mb_weights(mb, "coefficients", MB_DIMS(1, 1, CELLS), ones);
        mb_weights(mb, "colours", MB_DIMS(1, 3, 1, 1), (const float[]){1, -1, 1});
        mb_weights(mb, "bias", MB_DIMS(1), (const float[]){-0.5f});
        Onnx__NodeProto *pool = mb_node(mb, "AveragePool", "images", "groups");
        mb_ints(mb, pool, "kernel_shape", MB_DIMS(4, 4));
        mb_ints(mb, pool, "strides", MB_DIMS(4, 4));
        mb_node(mb, "Conv", "groups,colours,bias", "output1");
    }
    all = mb_node(mb, "Concat", masks ? "boxes,scores,coefficients" : "boxes,scores", "output0");
    mb_int(mb, all, "axis", 1);
    mb_output(mb, "output0");
    if (masks)
        mb_output(mb, "output1");
    add_metadata(mb, "task", masks ? "segment" : "detect");
    add_metadata(mb, "names", "{0: 'red', 1: 'blue sky'}");
}

static void make_classifier(struct mb *mb)
{
    mb_input(mb, "images", MB_DIMS(1, 3, SIDE, SIDE));
    mb_weights(mb, "eight", MB_DIMS(3, 3, 1, 1), (const float[]){8, 0, 0, 0, 8, 0, 0, 0, 8});
    mb_node(mb, "GlobalAveragePool", "images", "means");
    mb_node(mb, "Conv", "means,eight", "scaled");
    mb_node(mb, "Flatten", "scaled", "logits");
    mb_output(mb, "logits");
    add_metadata(mb, "adaps.labels", "red,green,blue");
}

static void make_segmenter(struct mb *mb)
{
    mb_input(mb, "images", MB_DIMS(1, 3, SIDE, SIDE));
    mb_node(mb, "Relu", "images", "scores");
    mb_output(mb, "scores");
}

static void make_decoder(struct mb *mb)
{
    static const float scales[] = {1, 1, 2, 2}, bias[] = {.5f, -.25f, 1, 0, -.75f, .125f};
    float weights[4 * 3 * 3 * 3];
    for (int i = 0; i < 4 * 3 * 3 * 3; i++)
        weights[i] = (float)(i * 37 % 41 - 20) / 20;
    mb_input(mb, "x", MB_DIMS(1, 4, 12, 12));
    mb_weights(mb, "up_w", MB_DIMS(4, 3, 3, 3), weights);
    mb_weights(mb, "up_b", MB_DIMS(6), bias);
    mb_weights(mb, "mix_w", MB_DIMS(3, 6, 1, 1), weights);
    mb_weights(mb, "end_w", MB_DIMS(3, 3, 1, 1), weights);
    mb_weights(mb, "scales", MB_DIMS(4), scales);
    Onnx__NodeProto *up = mb_node(mb, "ConvTranspose", "x,up_w,up_b", "up");
    mb_int(mb, up, "group", 2);
    mb_ints(mb, up, "strides", MB_DIMS(2, 2));
    mb_node(mb, "Relu", "up", "limited");
    mb_string(mb, mb_node(mb, "Resize", "limited,,scales", "smooth"), "mode", "linear");
    mb_node(mb, "Conv", "smooth,mix_w", "mixed");
    mb_node(mb, "Resize", "mixed,,scales", "blocks");
    mb_node(mb, "Conv", "blocks,end_w", "y");
    mb_output(mb, "y");
}

int main(int argc, char **argv)
{
    struct mb mb;
    size_t size;
    const char *kind = argc == 3 ? argv[1] : "";
    mb_init(&mb, strcmp(kind, "decoder") == 0 ? 13 : 11);
    if (strcmp(kind, "several") == 0) {
        make_several(&mb);
    } else if (strcmp(kind, "alone") == 0) {
        make_alone(&mb);
    } else if (strcmp(kind, "shared") == 0) {
        make_shared(&mb);
    } else if (strcmp(kind, "finder") == 0) {
        make_finder(&mb);
    } else if (strcmp(kind, "decoder") == 0) {
        make_decoder(&mb);
    } else if (strcmp(kind, "detector") == 0 || strcmp(kind, "masks") == 0) {
        make_detector(&mb, strcmp(kind, "masks") == 0);
    } else if (strcmp(kind, "classifier") == 0) {
        make_classifier(&mb);
    } else if (strcmp(kind, "segmenter") == 0) {
        make_segmenter(&mb);
    } else {
        fputs("usage: small_model several|alone|shared|finder|decoder|detector|masks|classifier|"
              "segmenter FILE.onnx\n",
              stderr);
        mb_fini(&mb);
        return 2;
    }
    uint8_t *bytes = mb_pack(&mb, &size);
    FILE *file = fopen(argv[2], "wbe");
    bool good = file && fwrite(bytes, 1, size, file) == size;
    if (!file || fclose(file) != 0 || !good) {
        perror(argv[2]);
        return 3;
    }
    ad_free(bytes);
    mb_fini(&mb);
    return 0;
}
