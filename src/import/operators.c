/* The operators that are imported, in alphabetical order. */
#include "import/operators.h"

#include <stdlib.h>
#include <string.h>

#define ALL (~0u) /* of as many inputs as there are */

static const struct ad_onnx_operator operators[] = {
    {"Abs", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN,
     .versions = "1 6 13"},
    {"Add", ad_import_arithmetic, 6, "axis broadcast consumed_inputs", 0x3, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 6 7 13 14"},
    {"And", ad_import_comparison, 7, "axis broadcast", 0, AD_RESULT_BOOL, AD_TAKES_FLOATS,
     .versions = "1 7", .runs = AD_RUNS_WHOLE},
    {"ArgMax", ad_import_whole, 1, "axis keepdims select_last_index", 0, AD_RESULT_INT64,
     AD_TAKES_ANY, .versions = "1 11 12 13", .runs = AD_RUNS_WHOLE},
    {"ArgMin", ad_import_whole, 1, "axis keepdims select_last_index", 0, AD_RESULT_INT64,
     AD_TAKES_ANY, .versions = "1 11 12 13", .runs = AD_RUNS_WHOLE},
    {"AveragePool", ad_import_averagepool, 1,
     "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 7 10 11 19 22", .h = AD_REACH_NEAR, .w = AD_REACH_NEAR,
     .refuses = "windows that lie wholly in the padding"},
    {"BatchNormalization", ad_import_batchnorm, 6,
     "consumed_inputs epsilon is_test momentum spatial training_mode", 0x6, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 6 7 9 14 15", .products = true,
     .refuses = "training_mode 1; spatial 0 with parameters for each element; parameters computed "
                "at run time"},
    {"BitwiseAnd", ad_import_whole, 18, "", 0x3, AD_RESULT_FIRST, AD_TAKES_ANY, .versions = "18",
     .runs = AD_RUNS_WHOLE},
    {"BitwiseOr", ad_import_whole, 18, "", 0x3, AD_RESULT_FIRST, AD_TAKES_ANY, .versions = "18",
     .runs = AD_RUNS_WHOLE},
    {"BitwiseXor", ad_import_whole, 18, "", 0x3, AD_RESULT_FIRST, AD_TAKES_ANY, .versions = "18",
     .runs = AD_RUNS_WHOLE},
    {"Cast", ad_import_cast, 6, "round_mode saturate to", 0, AD_RESULT_STATED, AD_TAKES_ANY,
     .versions = "1 6 9 13 19 21 23 24", .runs = AD_RUNS_WHOLE, .refuses = "to strings"},
    {"Ceil", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN,
     .versions = "1 6 13"},
    {"Celu", ad_import_function, 12, "alpha", 0, AD_RESULT_FIRST, AD_TAKES_OPEN, .versions = "12"},
    {"Clip", ad_import_clip, 6, "consumed_inputs max min", 0x7, AD_RESULT_FIRST, AD_TAKES_OPEN,
     .versions = "1 6 11 12 13"},
    {"Compress", ad_import_whole, 9, "axis", 0, AD_RESULT_FIRST, AD_TAKES_ANY, .versions = "9 11",
     .runs = AD_RUNS_WHOLE},
    {"Concat", ad_import_concat, 4, "axis", ALL, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 4 11 13", .c = AD_REACH_OTHER, .form = "of channels"},
    {"Constant", ad_import_constant, 1,
     "sparse_value value value_float value_floats value_int value_ints value_string value_strings",
     0, AD_RESULT_STATED, AD_TAKES_FLOATS, .versions = "1 9 11 12 13 19 21 23 24",
     .runs = AD_RUNS_NOT, .refuses = "strings and sparse tensors"},
    {"ConstantOfShape", ad_import_constant_of_shape, 6, "value", 0, AD_RESULT_STATED,
     AD_TAKES_FLOATS, .versions = "9 20 21 23 24", .runs = AD_RUNS_NOT},
    {"Conv", ad_import_conv, 1, "auto_pad dilations group kernel_shape pads strides", 0x7,
     AD_RESULT_FIRST, AD_TAKES_FLOATS, .versions = "1 11 22", .h = AD_REACH_NEAR,
     .w = AD_REACH_NEAR, .c = AD_REACH_ALL, .sums = true, .products = true,
     .refuses = "weights computed at run time"},
    {"ConvInteger", ad_import_conv_integer, 10,
     "auto_pad dilations group kernel_shape pads strides", 0, AD_RESULT_INT32, AD_TAKES_ANY,
     .versions = "10", .runs = AD_RUNS_WHOLE, .refuses = "auto_pad SAME_UPPER and SAME_LOWER"},
    {"ConvTranspose", ad_import_conv_transpose, 1,
     "auto_pad dilations group kernel_shape output_padding output_shape pads strides", 0x7,
     AD_RESULT_FIRST, AD_TAKES_FLOATS, .versions = "1 11 22", .h = AD_REACH_OTHER,
     .w = AD_REACH_OTHER, .c = AD_REACH_ALL, .sums = true, .products = true,
     .refuses = "weights computed at run time"},
    {"CumSum", ad_import_whole, 11, "exclusive reverse", 0, AD_RESULT_FIRST, AD_TAKES_ANY,
     .versions = "11 14", .runs = AD_RUNS_WHOLE, .refuses = "an axis computed at run time"},
    {"DepthToSpace", ad_import_depth_to_space, 1, "blocksize mode", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 11 13", .h = AD_REACH_OTHER, .w = AD_REACH_OTHER,
     .c = AD_REACH_OTHER},
    {"DequantizeLinear", ad_import_dequantize, 10, "axis block_size output_dtype", 0,
     AD_RESULT_SECOND, AD_TAKES_ANY, .versions = "10 13 19 21 23 24", .runs = AD_RUNS_WHOLE},
    {"Div", ad_import_arithmetic, 6, "axis broadcast consumed_inputs", 0x3, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 6 7 13 14"},
    {"Dropout", ad_import_dropout, 6, "consumed_inputs is_test ratio seed", 0, AD_RESULT_FIRST,
     AD_TAKES_ANY, .versions = "1 6 7 10 12 13 22"},
    {"DynamicQuantizeLinear", ad_import_whole, 11, "", 0, AD_RESULT_FIRST, AD_TAKES_ANY,
     .versions = "11", .runs = AD_RUNS_WHOLE},
    {"Elu", ad_import_function, 6, "alpha consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN,
     .versions = "1 6 22"},
    {"Equal", ad_import_comparison, 7, "axis broadcast", 0x3, AD_RESULT_BOOL, AD_TAKES_FLOATS,
     .versions = "1 7 11 13 19", .runs = AD_RUNS_WHOLE},
    {"Erf", ad_import_function, 9, "", 0, AD_RESULT_FIRST, AD_TAKES_OPEN, .versions = "9 13"},
    {"Exp", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN,
     .versions = "1 6 13"},
    {"Expand", ad_import_expand, 8, "", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS, .versions = "8 13",
     .form = "to the same dims"},
    {"Flatten", ad_import_flatten, 1, "axis", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 9 11 13 21 23 24", .runs = AD_RUNS_WHOLE, .form = "of a map"},
    {"Floor", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN,
     .versions = "1 6 13"},
    {"Gather", ad_import_gather, 1, "axis", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 11 13", .c = AD_REACH_OTHER, .form = "of channels"},
    {"GatherElements", ad_import_whole, 11, "axis", 0, AD_RESULT_FIRST, AD_TAKES_ANY,
     .versions = "11 13", .runs = AD_RUNS_WHOLE},
    {"GatherND", ad_import_whole, 11, "batch_dims", 0, AD_RESULT_FIRST, AD_TAKES_ANY,
     .versions = "11 12 13", .runs = AD_RUNS_WHOLE},
    {"Gelu", ad_import_gelu, 20, "approximate", 0, AD_RESULT_FIRST, AD_TAKES_OPEN,
     .versions = "20"},
    {"Gemm", ad_import_gemm, 6, "alpha beta broadcast transA transB", 0x7, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 6 7 9 11 13", .c = AD_REACH_ALL, .sums = true,
     .products = true, .form = "of features, the weights constant"},
    {"GlobalAveragePool", ad_import_gap, 1, "", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 22", .h = AD_REACH_ALL, .w = AD_REACH_ALL},
    {"GlobalMaxPool", ad_import_maxpool, 1, "", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 22", .h = AD_REACH_ALL, .w = AD_REACH_ALL},
    {"Greater", ad_import_comparison, 7, "axis broadcast", 0x3, AD_RESULT_BOOL, AD_TAKES_FLOATS,
     .versions = "1 7 9 13", .runs = AD_RUNS_WHOLE},
    {"GreaterOrEqual", ad_import_comparison, 7, "", 0x3, AD_RESULT_BOOL, AD_TAKES_FLOATS,
     .versions = "12 16", .runs = AD_RUNS_WHOLE},
    {"GroupNormalization", ad_import_group_norm, 18, "epsilon num_groups stash_type", 0x7,
     AD_RESULT_FIRST, AD_TAKES_FLOATS, .versions = "18 21", .runs = AD_RUNS_WHOLE},
    {"HardSigmoid", ad_import_function, 6, "alpha beta consumed_inputs", 0, AD_RESULT_FIRST,
     AD_TAKES_OPEN, .versions = "1 6 22"},
    {"HardSwish", ad_import_function, 14, "", 0, AD_RESULT_FIRST, AD_TAKES_OPEN,
     .versions = "14 22"},
    {"Identity", ad_import_identity, 1, "", 0, AD_RESULT_FIRST, AD_TAKES_ANY,
     .versions = "1 13 14 16 19 21 23 24"},
    {"If", ad_import_if, 1, "else_branch then_branch", 0, AD_RESULT_STATED, AD_TAKES_ANY,
     .versions = "1 11 13 16 19 21 23 24", .form = "as the branch that is taken, here an Identity",
     .refuses = "a condition computed at run time"},
    {"InstanceNormalization", ad_import_instance_norm, 6, "consumed_inputs epsilon", 0x7,
     AD_RESULT_FIRST, AD_TAKES_FLOATS, .versions = "1 6 22", .h = AD_REACH_ALL, .w = AD_REACH_ALL},
    {"IsInf", ad_import_whole, 10, "detect_negative detect_positive", 0, AD_RESULT_BOOL,
     AD_TAKES_ANY, .versions = "10 20", .runs = AD_RUNS_WHOLE},
    {"IsNaN", ad_import_whole, 9, "", 0, AD_RESULT_BOOL, AD_TAKES_ANY, .versions = "9 13 20",
     .runs = AD_RUNS_WHOLE},
    {"LRN", ad_import_lrn, 1, "alpha beta bias size", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 13", .c = AD_REACH_NEAR},
    {"LayerNormalization", ad_import_layer_norm, 17, "axis epsilon stash_type", 0x7,
     AD_RESULT_FIRST, AD_TAKES_FLOATS, .versions = "17", .c = AD_REACH_ALL,
     .form = "over channels, which come last"},
    {"LeakyRelu", ad_import_function, 6, "alpha consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN,
     .versions = "1 6 16"},
    {"Less", ad_import_comparison, 7, "axis broadcast", 0x3, AD_RESULT_BOOL, AD_TAKES_FLOATS,
     .versions = "1 7 9 13", .runs = AD_RUNS_WHOLE},
    {"LessOrEqual", ad_import_comparison, 7, "", 0x3, AD_RESULT_BOOL, AD_TAKES_FLOATS,
     .versions = "12 16", .runs = AD_RUNS_WHOLE},
    {"Log", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN,
     .versions = "1 6 13"},
    {"LogSoftmax", ad_import_log_softmax, 1, "axis", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 11 13", .c = AD_REACH_ALL, .form = "over channels"},
    {"LpNormalization", ad_import_lp_norm, 1, "axis p", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 22", .c = AD_REACH_ALL, .form = "over channels",
     .refuses = "p other than 1 and 2"},
    {"MatMul", ad_import_matmul, 1, "", 0x3, AD_RESULT_FIRST, AD_TAKES_FLOATS, .versions = "1 9 13",
     .c = AD_REACH_ALL, .sums = true, .products = true,
     .form = "of features, the second matrix constant"},
    {"MatMulInteger", ad_import_matmul_integer, 10, "", 0, AD_RESULT_INT32, AD_TAKES_ANY,
     .versions = "10", .runs = AD_RUNS_WHOLE},
    {"Max", ad_import_variadic, 6, "consumed_inputs", ALL, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 6 8 12 13"},
    {"MaxPool", ad_import_maxpool, 1,
     "auto_pad ceil_mode dilations kernel_shape pads storage_order strides", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 8 10 11 12 22", .h = AD_REACH_NEAR, .w = AD_REACH_NEAR,
     .refuses = "storage_order 1; output Indices"},
    {"Mean", ad_import_variadic, 6, "consumed_inputs", ALL, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 6 8 13"},
    {"Min", ad_import_variadic, 6, "consumed_inputs", ALL, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 6 8 12 13"},
    {"Mish", ad_import_function, 18, "", 0, AD_RESULT_FIRST, AD_TAKES_OPEN, .versions = "18 22"},
    {"Mod", ad_import_mod, 10, "fmod", 0x3, AD_RESULT_FIRST, AD_TAKES_FLOATS, .versions = "10 13",
     .runs = AD_RUNS_WHOLE},
    {"Mul", ad_import_arithmetic, 6, "axis broadcast consumed_inputs", 0x3, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 6 7 13 14"},
    {"Neg", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN,
     .versions = "1 6 13"},
    {"NonMaxSuppression", ad_import_whole, 10, "center_point_box", 0x3, AD_RESULT_INT64,
     AD_TAKES_ANY, .versions = "10 11", .runs = AD_RUNS_WHOLE},
    {"NonZero", ad_import_nonzero, 9, "", 0, AD_RESULT_INT64, AD_TAKES_FLOATS, .versions = "9 13",
     .runs = AD_RUNS_WHOLE},
    {"Not", ad_import_not, 1, "", 0, AD_RESULT_BOOL, AD_TAKES_FLOATS, .versions = "1",
     .runs = AD_RUNS_WHOLE},
    {"OneHot", ad_import_whole, 9, "axis", 0, AD_RESULT_THIRD, AD_TAKES_ANY, .versions = "9 11",
     .runs = AD_RUNS_WHOLE},
    {"Or", ad_import_comparison, 7, "axis broadcast", 0, AD_RESULT_BOOL, AD_TAKES_FLOATS,
     .versions = "1 7", .runs = AD_RUNS_WHOLE},
    {"PRelu", ad_import_prelu, 6, "consumed_inputs", 0x3, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 6 7 9 16"},
    {"Pad", ad_import_pad, 6, "mode paddings pads value", 0x5, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 2 11 13 18 19 21 23 24", .h = AD_REACH_OTHER, .w = AD_REACH_OTHER,
     .form = "around pixels"},
    {"Pow", ad_import_pow, 6, "axis broadcast", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 7 12 13 15"},
    {"QuantizeLinear", ad_import_whole, 10, "axis block_size output_dtype precision saturate", 0,
     AD_RESULT_THIRD, AD_TAKES_ANY, .versions = "10 13 19 21 23 24", .runs = AD_RUNS_WHOLE},
    {"RMSNormalization", ad_import_rms_norm, 23, "axis epsilon stash_type", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "23", .c = AD_REACH_ALL,
     .form = "over channels, which come last"},
    {"Range", ad_import_range, 11, "", 0x7, AD_RESULT_FIRST, AD_TAKES_FLOATS, .versions = "11",
     .runs = AD_RUNS_NOT, .form = "whole, where the run finds the limit"},
    {"Reciprocal", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN,
     .versions = "1 6 13"},
    {"ReduceL1", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 11 13 18", .c = AD_REACH_ALL, .form = "over channels"},
    {"ReduceL2", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 11 13 18", .c = AD_REACH_ALL, .form = "over channels"},
    {"ReduceLogSum", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 11 13 18", .c = AD_REACH_ALL, .form = "over channels"},
    {"ReduceLogSumExp", ad_import_log_sum_exp, 1, "axes keepdims noop_with_empty_axes", 0,
     AD_RESULT_FIRST, AD_TAKES_FLOATS, .versions = "1 11 13 18", .c = AD_REACH_ALL,
     .form = "over channels"},
    {"ReduceMax", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 11 12 13 18 20", .c = AD_REACH_ALL, .form = "over channels"},
    {"ReduceMean", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 11 13 18", .c = AD_REACH_ALL, .form = "over channels",
     .numbers = true},
    {"ReduceMin", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 11 12 13 18 20", .c = AD_REACH_ALL, .form = "over channels"},
    {"ReduceProd", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 11 13 18", .c = AD_REACH_ALL, .form = "over channels",
     .numbers = true},
    {"ReduceSum", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 11 13", .c = AD_REACH_ALL, .form = "over channels",
     .numbers = true},
    {"ReduceSumSquare", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0,
     AD_RESULT_FIRST, AD_TAKES_FLOATS, .versions = "1 11 13 18", .c = AD_REACH_ALL,
     .form = "over channels"},
    {"Relu", ad_import_relu, 1, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN,
     .versions = "1 6 13 14"},
    {"Reshape", ad_import_reshape, 5, "allowzero consumed_inputs shape", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 5 13 14 19 21 23 24", .runs = AD_RUNS_WHOLE,
     .form = "of a map", .refuses = "a shape that is not computed from shapes"},
    {"Resize", ad_import_resize, 10,
     "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside "
     "extrapolation_value keep_aspect_ratio_policy mode nearest_mode",
     0, AD_RESULT_FIRST, AD_TAKES_FLOATS, .versions = "10 11 13 18 19", .h = AD_REACH_OTHER,
     .w = AD_REACH_OTHER, .form = "of pixels",
     .refuses = "antialias where a dimension becomes smaller; coordinate_transformation_mode "
                "tf_crop_and_resize"},
    {"ReverseSequence", ad_import_whole, 10, "batch_axis time_axis", 0, AD_RESULT_FIRST,
     AD_TAKES_ANY, .versions = "10", .runs = AD_RUNS_WHOLE},
    {"Round", ad_import_whole, 11, "", 0, AD_RESULT_FIRST, AD_TAKES_ANY, .versions = "11 22",
     .runs = AD_RUNS_WHOLE},
    {"ScatterElements", ad_import_whole, 11, "axis reduction", 0x5, AD_RESULT_FIRST, AD_TAKES_ANY,
     .versions = "11 13 16 18", .runs = AD_RUNS_WHOLE},
    {"ScatterND", ad_import_whole, 11, "reduction", 0x5, AD_RESULT_FIRST, AD_TAKES_ANY,
     .versions = "11 13 16 18", .runs = AD_RUNS_WHOLE},
    {"Selu", ad_import_function, 6, "alpha consumed_inputs gamma", 0, AD_RESULT_FIRST,
     AD_TAKES_OPEN, .versions = "1 6 22"},
    {"Shape", ad_import_shape, 1, "end start", 0, AD_RESULT_INT64, AD_TAKES_KNOWN,
     .versions = "1 13 15 19 21 23 24", .runs = AD_RUNS_NOT},
    {"Sigmoid", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN,
     .versions = "1 6 13"},
    {"Sign", ad_import_whole, 9, "", 0, AD_RESULT_FIRST, AD_TAKES_ANY, .versions = "9 13",
     .runs = AD_RUNS_WHOLE},
    {"Size", ad_import_size, 1, "", 0, AD_RESULT_INT64, AD_TAKES_KNOWN,
     .versions = "1 13 19 21 23 24", .runs = AD_RUNS_NOT},
    {"Slice", ad_import_slice, 1, "axes ends starts", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 10 11 13", .h = AD_REACH_OTHER, .form = "of rows"},
    {"Softmax", ad_import_softmax, 1, "axis", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 11 13", .c = AD_REACH_WHOLE, .form = "over channels"},
    {"Softplus", ad_import_function, 1, "", 0, AD_RESULT_FIRST, AD_TAKES_OPEN, .versions = "1 22"},
    {"Softsign", ad_import_function, 1, "", 0, AD_RESULT_FIRST, AD_TAKES_OPEN, .versions = "1 22"},
    {"SpaceToDepth", ad_import_space_to_depth, 1, "blocksize", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 13", .h = AD_REACH_OTHER, .w = AD_REACH_OTHER, .c = AD_REACH_OTHER},
    {"Split", ad_import_split, 2, "axis num_outputs split", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 2 11 13 18", .c = AD_REACH_OTHER, .form = "of channels"},
    {"Sqrt", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN,
     .versions = "1 6 13"},
    {"Squeeze", ad_import_squeeze, 1, "axes", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 11 13 21 23 24", .runs = AD_RUNS_WHOLE, .form = "of a map"},
    {"Sub", ad_import_arithmetic, 6, "axis broadcast consumed_inputs", 0x3, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 6 7 13 14"},
    {"Sum", ad_import_variadic, 6, "consumed_inputs", ALL, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 6 8 13"},
    {"Swish", ad_import_swish, 24, "alpha", 0, AD_RESULT_FIRST, AD_TAKES_OPEN, .versions = "24"},
    {"Tanh", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN,
     .versions = "1 6 13"},
    {"ThresholdedRelu", ad_import_function, 10, "alpha", 0, AD_RESULT_FIRST, AD_TAKES_OPEN,
     .versions = "10 22"},
    {"Tile", ad_import_tile, 6, "", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS, .versions = "1 6 13",
     .runs = AD_RUNS_WHOLE, .form = "of rows"},
    {"TopK", ad_import_whole, 1, "axis k largest sorted", 0, AD_RESULT_FIRST, AD_TAKES_ANY,
     .versions = "1 10 11 24", .runs = AD_RUNS_WHOLE,
     .refuses = "a K that is not computed from shapes"},
    {"Transpose", ad_import_transpose, 1, "perm", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 13 21 23 24", .runs = AD_RUNS_WHOLE, .form = "of rows and columns"},
    {"Trilu", ad_import_whole, 14, "upper", 0, AD_RESULT_FIRST, AD_TAKES_ANY, .versions = "14",
     .runs = AD_RUNS_WHOLE},
    {"Unique", ad_import_whole, 11, "axis sorted", 0, AD_RESULT_FIRST, AD_TAKES_ANY,
     .versions = "11", .runs = AD_RUNS_WHOLE},
    {"Unsqueeze", ad_import_unsqueeze, 1, "axes", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS,
     .versions = "1 11 13 21 23 24", .runs = AD_RUNS_WHOLE, .form = "of a map"},
    {"Upsample", ad_import_resize, 7, "height_scale mode scales width_scale", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS, .versions = "1 7 9 10", .h = AD_REACH_OTHER, .w = AD_REACH_OTHER,
     .form = "of pixels"},
    {"Where", ad_import_where, 9, "", 0x6, AD_RESULT_SECOND, AD_TAKES_FLOATS, .versions = "9 16",
     .runs = AD_RUNS_WHOLE, .form = "its operands floats"},
    {"Xor", ad_import_comparison, 7, "axis broadcast", 0, AD_RESULT_BOOL, AD_TAKES_FLOATS,
     .versions = "1 7", .runs = AD_RUNS_WHOLE},
};

static int compare_rows(const void *key, const void *row)
{
    return strcmp(key, ((const struct ad_onnx_operator *)row)->type);
}

const struct ad_onnx_operator *ad_onnx_operator_at(size_t index)
{
    return index < sizeof operators / sizeof *operators ? &operators[index] : NULL;
}

const struct ad_onnx_operator *ad_onnx_operator_of(const char *type)
{
    const struct ad_onnx_operator *row = bsearch(
        type, operators, sizeof operators / sizeof *operators, sizeof *operators, compare_rows);
    return row ? row : ad_qlinear_operator_of(type);
}

bool ad_onnx_operator_has(const struct ad_onnx_operator *row, const char *attribute)
{
    size_t length = strlen(attribute);
    for (const char *at = row->attributes; *at;) {
        size_t n = strcspn(at, " ");
        if (n == length && memcmp(at, attribute, n) == 0)
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

unsigned ad_onnx_operator_types(const struct ad_onnx_operator *row)
{
    enum ad_whole_kind kind = ad_import_whole_kind(row->type);
    int data = row->result == AD_RESULT_SECOND && kind == AD_WHOLE_WHERE; /* after the condition */
    if (kind == AD_WHOLE_COUNT)
        return row->takes == AD_TAKES_ANY ? AD_TYPES_ANY : AD_TYPES_FLOAT;
    unsigned types = ad_whole_types(kind, data) & ~(row->numbers ? AD_TYPES_BOOL : 0);
    return types | (row->runs == AD_RUNS_SPLIT ? AD_TYPES_FLOAT : 0);
}

int32_t ad_onnx_operator_result(const struct ad_onnx_operator *row, const Onnx__NodeProto *node,
                                const int32_t *inputs, int ninputs)
{
    int64_t to;
    switch (row->result) {
    case AD_RESULT_FIRST:
        return ninputs > 0 ? inputs[0] : 0;
    case AD_RESULT_SECOND:
        return ninputs > 1 ? inputs[1] : 0;
    case AD_RESULT_THIRD:
        return ninputs > 2 ? inputs[2] : 0;
    case AD_RESULT_INT32:
        return ONNX__TENSOR_PROTO__DATA_TYPE__INT32;
    case AD_RESULT_BOOL:
        return ONNX__TENSOR_PROTO__DATA_TYPE__BOOL;
    case AD_RESULT_INT64:
        return ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
    case AD_RESULT_STATED:
        break;
    }
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->t)
            return node->attribute[i]->t->data_type;
    if (ad_onnx_attribute(node, "value_float") || ad_onnx_attribute(node, "value_floats"))
        return ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    if (ad_onnx_attribute(node, "value_int") || ad_onnx_attribute(node, "value_ints"))
        return ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
    if (strcmp(node->op_type, "ConstantOfShape") == 0)
        return ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    return ad_onnx_attr_int(node, "to", 0, &to, NULL) == ADAPS_OK ? (int32_t)to : 0;
}
