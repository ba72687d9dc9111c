/* small_model KIND FILE.onnx: writes a network for the shell tests.
 *
 *   several  inputs of several types and ranks, levels (N x 3 x 4 x 4, uint8), vector (N x 5) and
 *            scalar; the outputs are these inputs, in the same order
 *   alone    of a row of 2^20 numbers the softmax and the sum, which one thread computes each
 *   shared   the negative of such a row, which threads share */
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
    } else {
        fputs("usage: small_model several|alone|shared FILE.onnx\n", stderr);
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
