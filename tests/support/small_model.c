/* small_model KIND FILE.onnx: writes a network for the shell tests.
 *
 *   several  inputs of several types and ranks, levels (N x 3 x 4 x 4, uint8), vector (N x 5) and
 *            scalar; the outputs are these inputs, in the same order
 *   alone    of a row of 2^20 numbers the softmax and the sum, which one thread computes each
 *   shared   the negative of such a row, which threads share
 *   finder   a detector in the form of YOLOv8, of 2 classes, for pictures of 64 x 32 (width x
 * height): each cell of 8 x 8 pixels is a candidate, and says itself what it is. Of its first
 * pixel, R, G and B are the middle's x and y and the width, of the second one the height and the
 *            scores of the classes; 255 is the whole picture, or a score of 1 */
#include "support/model_builder.h"

#include <stdio.h>
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

int main(int argc, char **argv)
{
    struct mb mb;
    size_t size;
    const char *kind = argc == 3 ? argv[1] : "";
    mb_init(&mb, 11);
    if (strcmp(kind, "several") == 0) {
        make_several(&mb);
    } else if (strcmp(kind, "alone") == 0) {
        make_alone(&mb);
    } else if (strcmp(kind, "shared") == 0) {
        make_shared(&mb);
    } else if (strcmp(kind, "finder") == 0) {
        make_finder(&mb);
    } else {
        fputs("usage: small_model several|alone|shared|finder FILE.onnx\n", stderr);
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
