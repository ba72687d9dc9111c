/* Writes the seeds of the fuzz targets: make_corpus FOLDER makes FOLDER/onnx, plan, devices, npy,
 * frame, traced, profiled and profile. Every seed is a valid input (checked here), small, and
 * reaches code that the others do not. Crashers that were found are in the corpus beside them,
 * under telling names. */
#include "base/file.h"
#include "io/npy.h"
#include "cost/board.h"
#include "import/import.h"
#include "support/model_builder.h"
#include "wire/frame.h"
#include "wire/wire.pb-c.h"
#include "ir/partial.h"
#include "pipeline.h"
#include "spare_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *root;

static void insist(enum adaps_status status, const struct adaps_error *err, const char *what)
{
    if (status == ADAPS_OK)
        return;
    fprintf(stderr, "make_corpus: %s: %s\n", what, err->message);
    exit(1);
}

static void save(const char *target, const char *name, const void *data, size_t size)
{
    struct adaps_error err = {0};
    char *folder = ad_asprintf("%s/%s", root, target);
    char *path = ad_asprintf("%s/%s/%s", root, target, name);
    if (!folder || !path)
        exit(1);
    insist(ad_file_mkdirs(folder, &err), &err, name);
    insist(ad_file_replace(path, data, size, &err), &err, name);
    ad_free(folder);
    ad_free(path);
}

/* --- networks --- */

static void classifier(struct mb *mb)
{
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(0, 2, 8, 8));
    mb_weights(mb, "w", MB_DIMS(4, 2, 3, 3), NULL);
    mb_weights(mb, "wb", MB_DIMS(4), NULL);
    Onnx__NodeProto *conv = mb_node(mb, "Conv", "x,w,wb", "c");
    mb_ints(mb, conv, "pads", MB_DIMS(1, 0, 1, 2));
    mb_ints(mb, conv, "strides", MB_DIMS(1, 1));
    mb_ints(mb, conv, "kernel_shape", MB_DIMS(3, 3));
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"scale", "shift", "mean", "var"};
        static const float values[] = {1, 2, 0.5f, 3};
        mb_weights(mb, names[i], MB_DIMS(4), values);
    }
    Onnx__NodeProto *bn = mb_node(mb, "BatchNormalization", "c,scale,shift,mean,var", "n");
    mb_float(mb, bn, "epsilon", 1e-5f);
    mb_node(mb, "Relu", "n", "r");
    Onnx__NodeProto *pool = mb_node(mb, "MaxPool", "r", "p");
    mb_ints(mb, pool, "kernel_shape", MB_DIMS(2, 2));
    mb_ints(mb, pool, "strides", MB_DIMS(2, 2));
    mb_node(mb, "Flatten", "p", "f");
    mb_weights(mb, "g", MB_DIMS(5, 64), NULL);
    mb_weights(mb, "gb", MB_DIMS(5), NULL);
    Onnx__NodeProto *gemm = mb_node(mb, "Gemm", "f,g,gb", "l");
    mb_int(mb, gemm, "transB", 1);
    mb_float(mb, gemm, "alpha", 1);
    Onnx__NodeProto *softmax = mb_node(mb, "Softmax", "l", "y");
    mb_int(mb, softmax, "axis", -1);
    mb_output(mb, "y");
}

static void residual(struct mb *mb)
{
    mb_init(mb, 11);
    mb_input(mb, "x", MB_DIMS(1, 4, 9, 7));
    mb_weights(mb, "dw", MB_DIMS(4, 1, 3, 3), NULL);
    Onnx__NodeProto *conv = mb_node(mb, "Conv", "x,dw", "a");
    mb_int(mb, conv, "group", 4);
    mb_string(mb, conv, "auto_pad", "SAME_UPPER");
    mb_weights(mb, "low", MB_SCALAR, (const float[]){0});
    mb_weights(mb, "high", MB_SCALAR, (const float[]){6});
    mb_node(mb, "Clip", "a,low,high", "b");
    mb_node(mb, "GlobalAveragePool", "b", "s");
    mb_weights(mb, "pw", MB_DIMS(4, 4, 1, 1), NULL);
    mb_node(mb, "Conv", "s,pw", "t");
    mb_node(mb, "Mul", "b,t", "m");
    mb_node(mb, "Add", "m,x", "y");
    mb_output(mb, "y");
}

static void branches(struct mb *mb)
{
    mb_init(mb, 12);
    mb_input(mb, "x", MB_DIMS(1, 3, 10, 10));
    Onnx__NodeProto *lrn = mb_node(mb, "LRN", "x", "n");
    mb_int(mb, lrn, "size", 3);
    mb_weights(mb, "w1", MB_DIMS(4, 3, 1, 7), NULL);
    Onnx__NodeProto *left = mb_node(mb, "Conv", "n,w1", "a");
    mb_ints(mb, left, "pads", MB_DIMS(0, 3, 0, 3));
    mb_ints(mb, left, "strides", MB_DIMS(2, 2));
    Onnx__NodeProto *pool = mb_node(mb, "AveragePool", "n", "p");
    mb_ints(mb, pool, "kernel_shape", MB_DIMS(3, 3));
    mb_ints(mb, pool, "strides", MB_DIMS(2, 2));
    mb_ints(mb, pool, "pads", MB_DIMS(0, 0, 1, 1));
    mb_int(mb, pool, "ceil_mode", 1);
    mb_int(mb, pool, "count_include_pad", 1);
    mb_weights(mb, "w2", MB_DIMS(2, 3, 3, 3), NULL);
    Onnx__NodeProto *right = mb_node(mb, "Conv", "p,w2", "b");
    mb_ints(mb, right, "dilations", MB_DIMS(2, 1));
    mb_ints(mb, right, "pads", MB_DIMS(2, 1, 2, 1));
    Onnx__NodeProto *concat = mb_node(mb, "Concat", "a,b,a", "y");
    mb_int(mb, concat, "axis", 1);
    mb_output(mb, "y");
    mb_output(mb, "p");
}

/* A detector's end: boxes of their own number, classes, integers that come in. */
static void detector(struct mb *mb)
{
    mb_init(mb, 17);
    mb_input(mb, "x", MB_DIMS(1, 3, 6, 6));
    mb_input(mb, "i", MB_DIMS(1, 4))->type->tensor_type->elem_type = 7;
    mb_weights(mb, "w", MB_DIMS(6, 3, 3, 3), NULL);
    mb_node(mb, "Conv", "x,w", "c");
    mb_shape(mb, "rows", MB_DIMS(1, 6, 16));
    mb_node(mb, "Reshape", "c,rows", "p");
    mb_ints(mb, mb_node(mb, "Transpose", "p", "t"), "perm", MB_DIMS(0, 2, 1));
    mb_shape(mb, "first", MB_DIMS(0));
    mb_shape(mb, "four", MB_DIMS(4));
    mb_shape(mb, "six", MB_DIMS(6));
    mb_shape(mb, "one", MB_DIMS(1));
    mb_shape(mb, "two", MB_DIMS(2));
    mb_node(mb, "Slice", "t,first,four,two", "boxes");
    mb_node(mb, "Slice", "p,four,six,one", "scores");
    mb_weights(mb, "overlap", MB_DIMS(1), (const float[]){0.5f});
    mb_weights(mb, "least", MB_DIMS(1), (const float[]){0.1f});
    mb_node(mb, "NonMaxSuppression", "boxes,scores,four,overlap,least", "selected");
    mb_int(mb, mb_node(mb, "Gather", "selected,two", "which"), "axis", 1);
    mb_node(mb, "Squeeze", "boxes,first", "all");
    mb_node(mb, "Gather", "all,which", "kept");
    mb_node(mb, "Sigmoid", "kept", "y");
    mb_node(mb, "TopK", "scores,four", "best,index");
    mb_int(mb, mb_node(mb, "Cast", "index", "number"), "to", 6);
    mb_node(mb, "ArgMax", "c", "class");
    mb_node(mb, "Add", "i,i", "twice");
    mb_node(mb, "Greater", "twice,i", "more");
    mb_node(mb, "Where", "more,i,twice", "less");
    mb_weights(mb, "scale", MB_SCALAR, (const float[]){0.02f});
    mb_node(mb, "QuantizeLinear", "best,scale", "small");
    mb_output(mb, "y");
    mb_output(mb, "number");
    mb_output(mb, "class");
    mb_output(mb, "less");
    mb_output(mb, "more");
    mb_output(mb, "small");
}

/* The arithmetic with shapes that exporters leave behind. */
static void shapes(struct mb *mb)
{
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(0, 4, 3, 2));
    mb_node(mb, "Shape", "x", "s");
    mb_shape(mb, "zero", MB_DIMS(0));
    Onnx__NodeProto *gather = mb_node(mb, "Gather", "s,zero", "batch");
    mb_int(mb, gather, "axis", 0);
    mb_shape(mb, "one", MB_DIMS(1));
    mb_shape(mb, "three", MB_DIMS(3));
    mb_node(mb, "Slice", "s,one,three,zero", "rest");
    mb_shape(mb, "minus", MB_DIMS(-1));
    Onnx__NodeProto *concat = mb_node(mb, "Concat", "batch,minus,rest", "to");
    mb_int(mb, concat, "axis", 0);
    mb_node(mb, "Reshape", "x,to", "r");
    Onnx__NodeProto *perm = mb_node(mb, "Transpose", "r", "t");
    mb_ints(mb, perm, "perm", MB_DIMS(0, 2, 3, 1));
    mb_node(mb, "Unsqueeze", "t,zero", "u");
    mb_node(mb, "Squeeze", "u,zero", "q");
    Onnx__NodeProto *full = mb_node(mb, "ConstantOfShape", "three", "ones");
    mb_attr_tensor(mb, full, "value", mb_integers(mb, "v", MB_DIMS(1), (const int64_t[]){1}));
    Onnx__NodeProto *cast = mb_node(mb, "Cast", "ones", "onesf");
    mb_int(mb, cast, "to", 1);
    Onnx__NodeProto *mean = mb_node(mb, "ReduceMean", "q", "m");
    mb_ints(mb, mean, "axes", MB_DIMS(2, 3));
    mb_node(mb, "Mul", "q,m", "h");
    mb_node(mb, "Identity", "onesf", "unused");
    mb_node(mb, "Add", "h,m", "y");
    mb_output(mb, "y");
}

/* Attributes where later opsets have inputs; a sub-graph that is not used. */
static void old_opset(struct mb *mb)
{
    mb_init(mb, 7);
    mb_input(mb, "x", MB_DIMS(1, 2, 5, 5));
    Onnx__NodeProto *pad = mb_node(mb, "Pad", "x", "a");
    mb_ints(mb, pad, "pads", MB_DIMS(0, 0, 1, 1, 0, 0, 0, 1));
    mb_weights(mb, "w", MB_DIMS(2, 2, 2, 2), NULL);
    mb_node(mb, "Conv", "a,w", "b");
    Onnx__NodeProto *clip = mb_node(mb, "Clip", "b", "c");
    mb_float(mb, clip, "min", -1);
    mb_float(mb, clip, "max", 1);
    mb_node(mb, "Dropout", "c", "d");
    Onnx__NodeProto *constant = mb_node(mb, "Constant", "", "k");
    mb_attr_tensor(mb, constant, "value", mb_floats(mb, "v", MB_DIMS(2, 1, 1), NULL));
    mb_node(mb, "Div", "k,k", "k2");
    mb_node(mb, "Sub", "k2,k", "k3");
    mb_node(mb, "Mul", "d,k3", "e");
    Onnx__NodeProto *flat = mb_node(mb, "Flatten", "e", "f");
    mb_int(mb, flat, "axis", 1);
    mb_weights(mb, "m", MB_DIMS(60, 3), NULL);
    mb_node(mb, "MatMul", "f,m", "g");
    mb_weights(mb, "bias", MB_DIMS(3), NULL);
    mb_node(mb, "Add", "g,bias", "y");
    mb_output(mb, "y");
}

/* A constant held as `type`, with bytes as they are in a file; the numbers do not matter. */
static void typed_weights(struct mb *mb, const char *name, const int64_t *dims, int32_t type,
                          size_t bytes)
{
    Onnx__TensorProto *tensor = mb_weights(mb, name, dims, NULL);
    tensor->data_type = type;
    tensor->raw_data.len = bytes;
    tensor->raw_data.data = ad_arena_alloc(&mb->arena, bytes, 1);
    if (!tensor->raw_data.data)
        exit(1);
    memset(tensor->raw_data.data, 0x34, bytes);
}

/* Every form of constant, and the longer forms of the dense layer. */
static void constants(struct mb *mb)
{
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(3, 4));
    typed_weights(mb, "half", MB_DIMS(4, 4), 10, 32);
    typed_weights(mb, "wide", MB_DIMS(4, 4, 2), 11, 256);
    typed_weights(mb, "bytes", MB_DIMS(4), 2, 4);
    mb_int(mb, mb_node(mb, "Cast", "half", "halff"), "to", 1);
    mb_node(mb, "Gemm", "x,halff", "a");
    Onnx__NodeProto *gemm = mb_node(mb, "Gemm", "x,halff,a", "b");
    mb_float(mb, gemm, "beta", 0.5f);
    mb_shape(mb, "flat", MB_DIMS(8, 4));
    mb_node(mb, "Reshape", "wide,flat", "w64");
    mb_int(mb, mb_node(mb, "Cast", "w64", "w"), "to", 1);
    Onnx__NodeProto *list = mb_node(mb, "Constant", "", "k");
    mb_ints(mb, list, "value_ints", MB_DIMS(1, 2, 3, 4));
    Onnx__NodeProto *one = mb_node(mb, "Constant", "", "one");
    mb_float(mb, one, "value_float", 2);
    Onnx__NodeProto *cast = mb_node(mb, "Cast", "bytes", "bytesf");
    mb_int(mb, cast, "to", 1);
    Onnx__NodeProto *cast2 = mb_node(mb, "Cast", "k", "kf");
    mb_int(mb, cast2, "to", 1);
    mb_node(mb, "Mul", "kf,one", "k2");
    mb_node(mb, "Add", "b,k2", "c");
    mb_node(mb, "Mul", "c,bytesf", "d");
    Onnx__NodeProto *last = mb_node(mb, "Gemm", "d,w,table", "y");
    mb_int(mb, last, "transB", 1);
    mb_float(mb, last, "alpha", 3);
    mb_weights(mb, "table", MB_DIMS(3, 8), NULL);
    Onnx__TensorProto *typed = mb_weights(mb, "scale", MB_DIMS(8), NULL);
    typed->has_raw_data = 0;
    typed->n_float_data = 8;
    typed->float_data = (float *)typed->raw_data.data;
    mb_node(mb, "BatchNormalization", "y,scale,scale,scale,var", "n");
    mb_weights(mb, "var", MB_DIMS(8), (const float[]){1, 1, 2, 2, 3, 3, 4, 4});
    mb_output(mb, "n");
}

/* Broadcasting by attributes, and batch normalisation without a convolution. */
static void opset_six(struct mb *mb)
{
    mb_init(mb, 6);
    mb_input(mb, "x", MB_DIMS(1, 3, 4, 4));
    for (int i = 0; i < 2; i++)
        mb_weights(mb, i ? "s" : "v", MB_DIMS(3), (const float[]){1, 2, 3});
    mb_node(mb, "BatchNormalization", "x,s,s,s,v", "n");
    Onnx__NodeProto *add = mb_node(mb, "Add", "n,s", "a");
    mb_int(mb, add, "broadcast", 1);
    mb_int(mb, add, "axis", 1);
    mb_node(mb, "Reshape", "a,to", "r");
    mb_shape(mb, "to", MB_DIMS(0, -1));
    mb_node(mb, "BatchNormalization", "r,s48,s48,s48,s48", "m");
    float ones[48];
    for (int i = 0; i < 48; i++)
        ones[i] = 1;
    mb_weights(mb, "s48", MB_DIMS(48), ones);
    mb_node(mb, "Mul", "m,r", "y");
    mb_output(mb, "y");
}

/* What slices, resizes, spreads, reduces and normalises. */
static void pieces(struct mb *mb)
{
    mb_init(mb, 18);
    mb_input(mb, "x", MB_DIMS(1, 4, 6, 6));
    mb_weights(mb, "w", MB_DIMS(4, 2, 3, 3), NULL);
    mb_weights(mb, "v", MB_DIMS(4), NULL);
    mb_weights(mb, "scales", MB_DIMS(4), (const float[]){1, 1, 2, 0.5f});
    mb_shape(mb, "pads", MB_DIMS(0, 0, 1, 0, 0, 0, 0, 2));
    mb_shape(mb, "lengths", MB_DIMS(1, 3));
    mb_shape(mb, "first", MB_DIMS(0));
    mb_shape(mb, "last", MB_DIMS(-1));
    mb_shape(mb, "axis", MB_DIMS(1));
    mb_shape(mb, "list", MB_DIMS(2, 0, 1));
    Onnx__NodeProto *transposed = mb_node(mb, "ConvTranspose", "x,w,", "t");
    mb_ints(mb, transposed, "strides", MB_DIMS(2, 1));
    mb_ints(mb, transposed, "pads", MB_DIMS(1, 0, 0, 1));
    mb_int(mb, transposed, "group", 2);
    mb_node(mb, "InstanceNormalization", "t,v,v", "n");
    mb_string(mb, mb_node(mb, "Pad", "n,pads", "p"), "mode", "reflect");
    mb_string(mb, mb_node(mb, "Resize", "p,,scales", "r"), "mode", "linear");
    mb_int(mb, mb_node(mb, "Split", "r,lengths", "a,b"), "axis", 1);
    mb_int(mb, mb_node(mb, "Gather", "b,list", "c"), "axis", 1);
    mb_node(mb, "Slice", "c,first,last,axis", "d");
    mb_node(mb, "ReduceMax", "d,axis", "e");
    mb_node(mb, "Sub", "e,a", "f");
    mb_int(mb, mb_node(mb, "LogSoftmax", "f", "y"), "axis", 3);
    mb_output(mb, "y");
}

/* What opsets 18 to 24 added. */
static void opset_24(struct mb *mb)
{
    mb_init(mb, 24);
    mb->proto->ir_version = 12;
    mb_input(mb, "x", MB_DIMS(1, 4, 6, 6));
    mb_weights(mb, "scale", MB_DIMS(16, 1), NULL);
    mb_shape(mb, "pads", MB_DIMS(1, 2, 0, 1));
    mb_shape(mb, "axes", MB_DIMS(-1, 2));
    mb_shape(mb, "sizes", MB_DIMS(5, 8));
    mb_weights(mb, "scales", MB_DIMS(2), (const float[]){1.6f, 0.7f});
    Onnx__NodeProto *pool = mb_node(mb, "AveragePool", "x", "p");
    mb_ints(mb, pool, "kernel_shape", MB_DIMS(2, 3));
    mb_ints(mb, pool, "dilations", MB_DIMS(3, 1));
    mb_ints(mb, pool, "pads", MB_DIMS(1, 1, 2, 1));
    mb_float(mb, mb_node(mb, "Swish", "p", "s"), "alpha", 1.5f);
    mb_string(mb, mb_node(mb, "Pad", "s,pads,,axes", "w"), "mode", "wrap");
    Onnx__NodeProto *keep = mb_node(mb, "Resize", "w,,,sizes", "k");
    mb_ints(mb, keep, "axes", MB_DIMS(2, 3));
    mb_string(mb, keep, "keep_aspect_ratio_policy", "not_smaller");
    Onnx__NodeProto *middle = mb_node(mb, "Resize", "k,,scales", "m");
    mb_ints(mb, middle, "axes", MB_DIMS(2, 3));
    mb_string(mb, middle, "mode", "linear");
    mb_string(mb, middle, "coordinate_transformation_mode", "half_pixel_symmetric");
    Onnx__NodeProto *split = mb_node(mb, "Split", "m", "a,b,c");
    mb_int(mb, split, "axis", 3);
    mb_int(mb, split, "num_outputs", 3);
    mb_int(mb, mb_node(mb, "RMSNormalization", "a,scale", "y"), "axis", 2);
    mb_output(mb, "y");
}

/* Operators over a depth. */
static void volumes(struct mb *mb)
{
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(1, 2, 2, 5, 4));
    mb_weights(mb, "w", MB_DIMS(4, 1, 2, 3, 3), NULL);
    mb_weights(mb, "t", MB_DIMS(4, 1, 2, 2, 1), NULL);
    mb_weights(mb, "v", MB_DIMS(2), NULL);
    Onnx__NodeProto *conv = mb_node(mb, "Conv", "x,w", "c");
    mb_int(mb, conv, "group", 2);
    mb_ints(mb, conv, "pads", MB_DIMS(1, 1, 1, 0, 1, 1));
    Onnx__NodeProto *pool = mb_node(mb, "MaxPool", "c", "p");
    mb_ints(mb, pool, "kernel_shape", MB_DIMS(2, 2, 1));
    mb_ints(mb, pool, "strides", MB_DIMS(2, 1, 1));
    Onnx__NodeProto *transposed = mb_node(mb, "ConvTranspose", "p,t", "d");
    mb_ints(mb, transposed, "strides", MB_DIMS(2, 1, 1));
    mb_int(mb, transposed, "group", 2);
    mb_ints(mb, mb_node(mb, "AveragePool", "d", "a"), "kernel_shape", MB_DIMS(2, 1, 2));
    mb_int(mb, mb_node(mb, "Flatten", "a", "y"), "axis", 1);
    mb_output(mb, "y");
}

/* A branch that a constant condition takes. */
static void branch(struct mb *mb)
{
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(1, 3, 4, 4));
    mb_shape(mb, "axis", MB_DIMS(0));
    mb_node(mb, "Shape", "x", "shape");
    mb_node(mb, "Gather", "shape,axis", "size");
    mb_shape(mb, "one", MB_DIMS(1));
    mb_node(mb, "Equal", "size,one", "yes");
    Onnx__NodeProto *node = mb_node(mb, "If", "yes", "q");
    mb_branch_begin(mb);
    mb_node(mb, "Relu", "x", "r");
    mb_branch_end(mb, node, "then_branch", "r");
    mb_branch_begin(mb);
    mb_node(mb, "Neg", "x", "n");
    mb_branch_end(mb, node, "else_branch", "n");
    mb_node(mb, "Add", "q,x", "y");
    mb_output(mb, "y");
}

/* Shapes that are computed from lengths which the run finds. */
static void lengths(struct mb *mb)
{
    mb_init(mb, 17);
    mb_input(mb, "x", MB_DIMS(6));
    mb_shape(mb, "zero", MB_DIMS(0));
    mb_shape(mb, "one", MB_DIMS(1));
    mb_shape(mb, "most", MB_DIMS(9));
    mb_node(mb, "NonZero", "x", "found");
    mb_node(mb, "Shape", "found", "size");
    mb_node(mb, "Gather", "size,one", "n");
    mb_node(mb, "Sub", "most,n", "missing");
    mb_int(mb, mb_node(mb, "Concat", "n,one", "column"), "axis", 0);
    mb_node(mb, "Reshape", "found,column", "rows");
    mb_int(mb, mb_node(mb, "Concat", "zero,zero,missing,zero", "pads"), "axis", 0);
    mb_node(mb, "Pad", "rows,pads", "padded");
    mb_node(mb, "Slice", "x,zero,n", "sliced");
    mb_node(mb, "Tile", "sliced,n", "tiled");
    mb_node(mb, "TopK", "x,n", "best,which");
    mb_int(mb, mb_node(mb, "Unique", "rows", "unique"), "axis", 0);
    mb_node(mb, "ConstantOfShape", "n", "zeros");
    mb_output(mb, "padded");
    mb_output(mb, "tiled");
    mb_output(mb, "best");
    mb_output(mb, "unique");
    mb_output(mb, "zeros");
    mb_output(mb, "most");
}

/* Activations by name and spelled out, and both spellings of space-to-depth. */
static void activations(struct mb *mb)
{
    mb_init(mb, 14);
    mb_input(mb, "x", MB_DIMS(1, 2, 8, 4));
    mb_weights(mb, "w", MB_DIMS(2, 2, 3, 3), NULL);
    mb_weights(mb, "three", MB_SCALAR, (const float[]){3});
    mb_weights(mb, "six", MB_SCALAR, (const float[]){6});
    mb_weights(mb, "zero", MB_SCALAR, (const float[]){0});
    Onnx__NodeProto *conv = mb_node(mb, "Conv", "x,w", "c");
    mb_ints(mb, conv, "pads", MB_DIMS(1, 1, 1, 1));
    mb_float(mb, mb_node(mb, "LeakyRelu", "c", "l"), "alpha", 0.1f);
    mb_node(mb, "Add", "l,three", "a");
    mb_node(mb, "Clip", "a,zero,six", "b");
    mb_node(mb, "Mul", "l,b", "d");
    mb_node(mb, "Div", "d,six", "swish");
    mb_node(mb, "GlobalAveragePool", "swish", "g");
    mb_float(mb, mb_node(mb, "HardSigmoid", "g", "gate"), "alpha", 0.25f);
    mb_node(mb, "Mul", "swish,gate", "m");
    mb_node(mb, "Sub", "m,x", "s");
    mb_node(mb, "Sigmoid", "s", "i");
    mb_node(mb, "HardSwish", "i", "h");
    mb_int(mb, mb_node(mb, "SpaceToDepth", "h", "p"), "blocksize", 2);
    mb_shape(mb, "split", MB_DIMS(1, 8, 2, 2, 1, 2));
    mb_shape(mb, "joined", MB_DIMS(1, 32, 2, 1));
    mb_node(mb, "Reshape", "p,split", "q");
    mb_ints(mb, mb_node(mb, "Transpose", "q", "r"), "perm", MB_DIMS(0, 1, 3, 5, 2, 4));
    mb_node(mb, "Reshape", "r,joined", "y");
    mb_output(mb, "y");
}

/* --- plans --- */

static void make_cluster(struct ad_cluster *cluster, int ndevices)
{
    struct adaps_error err = {0};
    insist(ad_cluster_init(cluster, ndevices, &err), &err, "cluster");
    for (int i = 0; i < ndevices; i++) {
        struct ad_device *device = &cluster->devices[i];
        snprintf(device->name, sizeof device->name, "d%d", i);
        snprintf(device->board, sizeof device->board, "x86");
        snprintf(device->address, sizeof device->address, "tcp://127.0.0.1:557%d", i);
        device->table = ad_board_x86();
        device->speed = 0.001; /* so that tiny layers are worth sending */
        device->threads = 1;
        device->source = i == 0;
    }
    cluster->source = 0;
    ad_cluster_override_links(cluster, 1e9, 1e-6);
}

static void save_graph(const char *name, const struct ad_graph *graph)
{
    struct adaps_error err = {0};
    void *bytes;
    size_t size;
    insist(ad_plan_pack_graph(graph, &bytes, &size, &err), &err, name);
    save("profile", name, bytes, size);
    ad_free(bytes);
}

/* Gives device 0 measured times. */
static void measure(struct ad_cluster *cluster)
{
    struct adaps_error err = {0};
    struct ad_shape_time time;
    struct ad_shapes *shapes = ad_shapes_new();
    if (!shapes || !ad_shape_parse("conv 3x3 8x8x2 -> 8x8x4", &time.shape) ||
        !ad_shape_parse_points("1:90us 4:200us 8:390us", &time))
        exit(1);
    insist(ad_shapes_add(shapes, &time, &err), &err, "shape");
    insist(ad_shapes_finish(shapes, &err), &err, "shapes");
    ad_cluster_take_shapes(cluster, 0, shapes);
    cluster->devices[0].table.tile = 6;
}

/* Tensors that stay in the file: filters and matrices in both orders, in initializers and
 * attributes. */
static void stored(struct mb *mb)
{
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(1, 8, 4, 4));
    mb_weights(mb, "w", MB_DIMS(40, 8, 2, 2), NULL);
    mb_node(mb, "Conv", "x,w", "c");
    mb_node(mb, "Flatten", "c", "f");
    mb_weights(mb, "m", MB_DIMS(360, 3), NULL);
    mb_node(mb, "MatMul", "f,m", "y");
    Onnx__NodeProto *constant = mb_node(mb, "Constant", "", "k");
    mb_attr_tensor(mb, constant, "value", mb_floats(mb, "", MB_DIMS(3, 360), NULL));
    mb_int(mb, mb_node(mb, "Gemm", "f,k", "z"), "transB", 1);
    mb_output(mb, "y");
    mb_output(mb, "z");
}

enum extra { PLAIN, MEASURED, SPARES, BUFFERED, SUMS };
static const char *const extras[] = {NULL, "measured", "spares", "buffered", "sums"};

/* Every op that can be adds its input channels in blocks. */
static void add_in_blocks(const char *name, struct ad_graph **graph)
{
    struct adaps_error err = {0};
    struct ad_graph *partial = NULL;
    int nops = (*graph)->nops;
    int32_t *blocks = ad_calloc((size_t)nops, sizeof *blocks);
    for (int i = 0; blocks && i < nops; i++)
        blocks[i] = ad_partial_blocks(*graph, i, 4);
    insist(blocks ? ad_graph_partial(*graph, blocks, &partial, &err)
                  : ad_error_memory(&err, "blocks", (size_t)nops * sizeof *blocks),
           &err, name);
    insist(ad_partial_replace(graph, partial, &err), &err, name);
    ad_free(blocks);
}

static void make_plan(const char *name, struct ad_onnx_model *model, const char *strategy,
                      int ndevices, enum extra extra)
{
    struct adaps_error err = {0};
    struct ad_graph *graph = NULL;
    struct ad_blocks blocks = {0};
    struct ad_cluster cluster = {0};
    struct ad_search_result result = {0};
    struct adaps_plan *plan = NULL;
    void *bytes;
    size_t size;
    insist(ad_ir_import(model, NULL, &graph, &err), &err, name);
    if (ndevices == 1)
        save_graph(name, graph);
    if (extra == SUMS)
        add_in_blocks(name, &graph);
    insist(ad_blocks_find(graph, &blocks, &err), &err, name);
    make_cluster(&cluster, ndevices);
    if (extra == MEASURED) {
        measure(&cluster);
        ad_algorithms_all(graph);
    }
    const struct ad_search_problem problem = {.graph = graph,
                                              .blocks = &blocks,
                                              .cluster = &cluster,
                                              .threshold = 0.15,
                                              .split_h = true,
                                              .split_c = strcmp(strategy, "deeperthings") == 0};
    insist(ad_search_run(ad_strategy_find(strategy), &problem, &result, &err), &err, name);
    if (result.graph) {
        insist(ad_partial_replace(&graph, result.graph, &err), &err, name);
        result.graph = NULL;
    }
    result.seconds = 0; /* the same bytes every time */
    if (extra == BUFFERED)
        ad_schedule_buffer(&result.schedule, 1);
    const struct ad_provenance provenance =
        ad_pipeline_provenance(&result, "m.onnx", &model->digest, strategy, &problem);
    insist(ad_plan_make(graph, &cluster, &result.schedule, &provenance, &plan, &err), &err, name);
    if (extra == SPARES)
        insist(ad_spare_plans(plan, &(struct ad_spare_effort){0}, &err), &err, name);
    insist(ad_plan_pack_file(plan, &bytes, &size, &err), &err, name);
    char *file = ad_asprintf("%s-%s-%d", name, extra ? extras[extra] : strategy, ndevices);
    save("plan", file, (char *)bytes + AD_PLAN_HEAD_BYTES, size - AD_PLAN_HEAD_BYTES);
    ad_free(file);
    ad_free(bytes);
    adaps_plan_free(plan);
    ad_search_result_fini(&result);
    ad_cluster_fini(&cluster);
    ad_blocks_fini(&blocks);
}

/* Bytes: in QDQ form, and by nodes that read and make bytes. */
static void quantised(struct mb *mb)
{
    static const int64_t w[32] = {1, -7, 30, 127, -128, 5, 0, 11}, zeros[8], three = 3;
    static const float scales[] = {.25f, .5f, 1, 1, 1, 1, 1, 1}, half = .5f, one = 1;
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(1, 1, 6, 5));
    mb_weights(mb, "xs", MB_SCALAR, &half);
    mb_weights(mb, "ys", MB_SCALAR, &one);
    mb_typed(mb, "z", MB_SCALAR, ONNX__TENSOR_PROTO__DATA_TYPE__UINT8, &three);
    mb_typed(mb, "v", MB_DIMS(8, 1, 2, 2), ONNX__TENSOR_PROTO__DATA_TYPE__INT8, w);
    mb_typed(mb, "w", MB_DIMS(4, 8, 1, 1), ONNX__TENSOR_PROTO__DATA_TYPE__INT8, w);
    mb_weights(mb, "vs", MB_DIMS(8), scales);
    mb_typed(mb, "vz", MB_DIMS(8), ONNX__TENSOR_PROTO__DATA_TYPE__INT8, zeros);
    mb_weights(mb, "ws", MB_DIMS(4), scales);
    mb_typed(mb, "wz", MB_DIMS(4), ONNX__TENSOR_PROTO__DATA_TYPE__INT8, zeros);
    mb_node(mb, "QuantizeLinear", "x,xs,z", "xq");
    mb_node(mb, "QLinearConv", "xq,xs,z,v,vs,vz,ys,z", "bq");
    mb_node(mb, "QLinearConv", "bq,ys,z,w,ws,wz,ys,z", "cq");
    mb_node(mb, "DequantizeLinear", "cq,ys,z", "c");
    mb_node(mb, "Relu", "c", "r");
    mb_node(mb, "QuantizeLinear", "r,xs,z", "rq");
    mb_node(mb, "DequantizeLinear", "rq,xs,z", "rd");
    mb_node(mb, "Add", "rd,c", "s");
    mb_node(mb, "QuantizeLinear", "s,ys,z", "sq");
    mb_node(mb, "DequantizeLinear", "sq,ys,z", "y");
    mb_output(mb, "y");
}

static void make_networks(void)
{
    static const struct {
        const char *name;
        void (*build)(struct mb *mb);
        bool planned;
    } nets[] = {
        {"classifier", classifier, true},   {"residual", residual, true},
        {"branches", branches, true},       {"shapes", shapes, false},
        {"old-opset", old_opset, false},    {"constants", constants, false},
        {"opset-six", opset_six, false},    {"opset-24", opset_24, false},
        {"activations", activations, true}, {"stored", stored, false},
        {"pieces", pieces, true},           {"volumes", volumes, true},
        {"branch", branch, false},          {"detector", detector, true},
        {"lengths", lengths, false},        {"quantised", quantised, true},
    };
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        struct mb mb;
        struct adaps_error err = {0};
        struct ad_onnx_model *model;
        size_t size;
        nets[i].build(&mb);
        uint8_t *bytes = mb_pack(&mb, &size);
        insist(ad_onnx_parse(bytes, size, nets[i].name, &model, &err), &err, nets[i].name);
        char *file = ad_asprintf("%s.onnx", nets[i].name);
        save("onnx", file, bytes, size);
        if (nets[i].planned) {
            make_plan(nets[i].name, model, "single", 1, PLAIN);
            make_plan(nets[i].name, model, "edgeflow", 2, PLAIN);
            make_plan(nets[i].name, model, "auto", 3, PLAIN);
            if (nets[i].build == classifier)
                make_plan(nets[i].name, model, "edgeflow", 2, MEASURED);
            if (nets[i].build == quantised)
                make_plan(nets[i].name, model, "edgeflow", 3, SUMS);
            if (nets[i].build == residual || nets[i].build == pieces) {
                make_plan(nets[i].name, model, "replicas", 3, PLAIN);
                make_plan(nets[i].name, model, "deeperthings", 3, PLAIN); /* sums in blocks */
                make_plan(nets[i].name, model, "auto", 3, SPARES);
                make_plan(nets[i].name, model, "pipeline", 3, BUFFERED);
            }
        } else {
            struct ad_graph *graph;
            insist(ad_ir_import(model, NULL, &graph, &err), &err, nets[i].name);
            ad_graph_free(graph);
        }
        ad_free(file);
        ad_onnx_free(model);
        ad_free(bytes);
        mb_fini(&mb);
    }
}

/* --- texts, arrays, messages --- */

static const char two_devices[] =
    "; two boards on a switch\n[link]\nbandwidth = 100mbit\nlatency = 0.3ms\n\n"
    "[pi5-a]\nboard = b\naddress = tcp://192.168.1.11:5570\nmemory = 4GiB\nthreads = 4\n"
    "source = yes\nkey = rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7\n\n"
    "[pi4-a]\nboard = x86\nspeed = 0.35\naddress = ipc:///run/a\nconv = 20\ngrouped=1\n"
    "depthwise: 5\nfc = 4\npool = 800\nelementwise = 700\ncopy = 600\nconstant = 7us\n"
    "memory_bandwidth = 3.5GB/s\n\n[link pi5-a pi4-a]\nlatency = 2ms\nbandwidth = 12.5MB/s\n";
static const char one_board[] =
    "# a board\n[cost]\nsource = data sheet: none\nconv = 70\ngrouped = 20\ndepthwise = 15\nfc = "
    "4\n"
    "pool = 900\nelementwise = 900\ncopy = 1.5e3\nconstant = 0.005ms\nmemory_bandwidth = 8GB/s\n";

static const char measured_device[] =
    "[link]\nmedium = shared\n[a]\nboard = b\n[b]\ntile = 6\n[link a b]\nbandwidth = 10mbit\n"
    "bandwidth_back = 20mbit\nlatency_back = 1ms\n[shapes b]\n"
    "conv 3x3/2~1x2 g2 +Sigmoid n2 8x8x4 -> 4x4x4 = 1:5us 4:20us 8:1ms\nfc 1x1x64 -> 1x1x9 = "
    "1:2us\n"
    "concat *2 8x8x4 -> 8x8x8 = 8:9us\n[shapes a]\nadd *1 8x8x4 -> 8x8x4 = 4:3us\n";
static const char measured_board[] =
    "[cost]\nconv = 70\ngrouped = 20\ndepthwise = 15\nfc = 4\npool = 900\nelementwise = 900\n"
    "copy = 1500\nconstant = 5us\nmemory_bandwidth = 8GB/s\ntile = 8\n[shapes]\n"
    "add *1 8x8x4 -> 8x8x4 = 8:4us\nmaxpool 2x2/2 8x8x4 -> 4x4x4 = 4:7us\n";

static void make_texts(void)
{
    char measured[sizeof measured_device + sizeof measured_board];
    memcpy(measured, measured_device, sizeof measured_device);
    memcpy(measured + sizeof measured_device, measured_board, sizeof measured_board - 1);
    save("devices", "measured", measured, sizeof measured - 1);
    char both[sizeof two_devices + sizeof one_board];
    memcpy(both, two_devices, sizeof two_devices); /* with the NUL that divides them */
    memcpy(both + sizeof two_devices, one_board, sizeof one_board - 1);
    save("devices", "two-and-a-board", both, sizeof both - 1);
    static const char plain[] = "\xef\xbb\xbf[a]\r\n[b]\r\nsource = no\r\n[ link  a \t b ]\r\n";
    save("devices", "bom-crlf", plain, sizeof plain - 1);
    char many[4096] = "[link]\nbandwidth = 10mbit\n";
    for (int i = 0; i < AD_MAX_DEVICES; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "[d%d]\nspeed = %d\n", i, i + 1);
    save("devices", "sixty-four", many, strlen(many));
}

static void make_array(const char *name, int version, const char *dictionary, size_t data)
{
    unsigned char file[512] = "\x93NUMPY";
    size_t length = strlen(dictionary), start = version == 1 ? 10 : 12;
    file[6] = (unsigned char)version;
    file[8] = (unsigned char)length;
    memcpy(file + start, dictionary, length);
    for (size_t i = 0; i < data; i++)
        file[start + length + i] = (unsigned char)(37 * i);
    struct adaps_error err = {0};
    struct ad_tensor tensor;
    insist(ad_npy_parse(file, start + length + data, name, ADAPS_FLOAT32, &tensor, &err), &err,
           name);
    ad_tensor_fini(&tensor);
    save("npy", name, file, start + length + data);
}

static void make_arrays(void)
{
    make_array("f4", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);
    make_array("f2", 2, "{'descr': '<f2', 'fortran_order': False, 'shape': (5,), }", 10);
    make_array("f8", 3, "{\"shape\": (), \"fortran_order\": True, \"descr\": \"<f8\"}", 8);
    make_array("i8", 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2, 1), }", 16);
    make_array("u1", 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2, 2, 2)}", 16);
    make_array("empty", 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (0, 4)}", 0);
}

static void make_frames(void)
{
    static const char rows[] = "rows of a value";
    uint8_t bytes[AD_FRAME_BYTES + sizeof rows];
    struct ad_frame frame = {.type = AD_FRAME_DATA,
                             .session = 0x123456789abcdef0u,
                             .inference = 7,
                             .step = 3,
                             .tag = 12,
                             .length = sizeof rows,
                             .checksum = ad_frame_checksum(0, rows, sizeof rows)};
    ad_frame_encode(&frame, bytes);
    memcpy(bytes + AD_FRAME_BYTES, rows, sizeof rows);
    save("frame", "data", bytes, sizeof bytes);
    frame = (struct ad_frame){.type = AD_FRAME_PING, .tag = 1};
    ad_frame_encode(&frame, bytes);
    save("frame", "ping", bytes, AD_FRAME_BYTES);
}

/* --- answers of agents --- */

static void save_message(const char *target, const char *name, const ProtobufCMessage *message)
{
    uint8_t bytes[1024];
    size_t size = protobuf_c_message_get_packed_size(message);
    if (size > sizeof bytes)
        exit(1);
    protobuf_c_message_pack(message, bytes);
    save(target, name, bytes, size);
}

/* Seven steps, as fuzz_traced.c has them: three times SEND and RECV, then COMPUTE. */
static void make_traces(void)
{
    int64_t start[7], mark[7], end[7], left[7];
    Adaps__Wire__Trace trace = ADAPS__WIRE__TRACE__INIT;
    trace.begin_ns = 123456789;
    trace.latency_ns = 7100000;
    trace.n_start = trace.n_mark = trace.n_end = trace.n_left = 7;
    trace.start = start;
    trace.mark = mark;
    trace.end = end;
    trace.left = left;
    for (int i = 0; i < 7; i++) {
        start[i] = i * 1000000;
        mark[i] = i * 1000000 + 20000;
        end[i] = i * 1000000 + 900000;
        left[i] = i < 6 && i % 2 == 0 ? mark[i] + 5000 : -1;
    }
    save_message("traced", "messages-leave", &trace.base);
    for (int i = 0; i < 7; i++) {
        mark[i] = start[i]; /* all was there before */
        left[i] = -1;
    }
    save_message("traced", "nobody-waits", &trace.base);
    memset(start, 0, sizeof start);
    memset(mark, 0, sizeof mark);
    memset(end, 0, sizeof end);
    trace.latency_ns = 0;
    save_message("traced", "no-time-at-all", &trace.base);
}

static void make_times(void)
{
    double seconds[3] = {1e-3, 0.25, 0};
    Adaps__Wire__Profiled profiled = ADAPS__WIRE__PROFILED__INIT;
    profiled.n_seconds = 3;
    profiled.seconds = seconds;
    profiled.passes = 12;
    profiled.pass_s = 0.251;
    profiled.speed = 0.3;
    profiled.feed_s = 1e-4;
    profiled.fetch_s = 1e-5;
    profiled.bytes = 123456;
    profiled.spread = 0.02;
    save_message("profiled", "slow-agent", &profiled.base);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_corpus FOLDER\n");
        return 2;
    }
    root = argv[1];
    make_networks();
    make_texts();
    make_arrays();
    make_frames();
    make_traces();
    make_times();
    return 0;
}
