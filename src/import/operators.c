/* The operators that are imported, in alphabetical order. */
#include "import/operators.h"

#include <stdlib.h>
#include <string.h>

#define ALL (~0u) /* of as many inputs as there are */

static const struct ad_onnx_operator operators[] = {
    {"Abs", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"Add", ad_import_arithmetic, 6, "axis broadcast consumed_inputs", 0x3, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"And", ad_import_comparison, 7, "axis broadcast", 0, AD_RESULT_BOOL, AD_TAKES_FLOATS},
    {"ArgMax", ad_import_whole, 1, "axis keepdims select_last_index", 0, AD_RESULT_INT64,
     AD_TAKES_ANY},
    {"ArgMin", ad_import_whole, 1, "axis keepdims select_last_index", 0, AD_RESULT_INT64,
     AD_TAKES_ANY},
    {"AveragePool", ad_import_averagepool, 1,
     "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"BatchNormalization", ad_import_batchnorm, 6,
     "consumed_inputs epsilon is_test momentum spatial training_mode", 0x6, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"BitwiseAnd", ad_import_whole, 18, "", 0x3, AD_RESULT_FIRST, AD_TAKES_ANY},
    {"BitwiseOr", ad_import_whole, 18, "", 0x3, AD_RESULT_FIRST, AD_TAKES_ANY},
    {"BitwiseXor", ad_import_whole, 18, "", 0x3, AD_RESULT_FIRST, AD_TAKES_ANY},
    {"Cast", ad_import_cast, 6, "round_mode saturate to", 0, AD_RESULT_STATED, AD_TAKES_ANY},
    {"Ceil", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"Celu", ad_import_function, 12, "alpha", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"Clip", ad_import_clip, 6, "consumed_inputs max min", 0x7, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"Compress", ad_import_whole, 9, "axis", 0, AD_RESULT_FIRST, AD_TAKES_ANY},
    {"Concat", ad_import_concat, 4, "axis", ALL, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Constant", ad_import_constant, 1,
     "sparse_value value value_float value_floats value_int value_ints value_string value_strings",
     0, AD_RESULT_STATED, AD_TAKES_FLOATS},
    {"ConstantOfShape", ad_import_constant_of_shape, 6, "value", 0, AD_RESULT_STATED,
     AD_TAKES_FLOATS},
    {"Conv", ad_import_conv, 1, "auto_pad dilations group kernel_shape pads strides", 0x7,
     AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"ConvInteger", ad_import_whole, 10, "auto_pad dilations group kernel_shape pads strides", 0,
     AD_RESULT_INT32, AD_TAKES_ANY},
    {"ConvTranspose", ad_import_conv_transpose, 1,
     "auto_pad dilations group kernel_shape output_padding output_shape pads strides", 0x7,
     AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"CumSum", ad_import_whole, 11, "exclusive reverse", 0, AD_RESULT_FIRST, AD_TAKES_ANY},
    {"DepthToSpace", ad_import_depth_to_space, 1, "blocksize mode", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"DequantizeLinear", ad_import_dequantize, 10, "axis block_size output_dtype", 0,
     AD_RESULT_SECOND, AD_TAKES_ANY},
    {"Div", ad_import_arithmetic, 6, "axis broadcast consumed_inputs", 0x3, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"Dropout", ad_import_dropout, 6, "consumed_inputs is_test ratio seed", 0, AD_RESULT_FIRST,
     AD_TAKES_ANY},
    {"DynamicQuantizeLinear", ad_import_whole, 11, "", 0, AD_RESULT_FIRST, AD_TAKES_ANY},
    {"Elu", ad_import_function, 6, "alpha consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"Equal", ad_import_comparison, 7, "axis broadcast", 0x3, AD_RESULT_BOOL, AD_TAKES_FLOATS},
    {"Erf", ad_import_function, 9, "", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"Exp", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"Expand", ad_import_expand, 8, "", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Flatten", ad_import_flatten, 1, "axis", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Floor", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"Gather", ad_import_gather, 1, "axis", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"GatherElements", ad_import_whole, 11, "axis", 0, AD_RESULT_FIRST, AD_TAKES_ANY},
    {"GatherND", ad_import_whole, 11, "batch_dims", 0, AD_RESULT_FIRST, AD_TAKES_ANY},
    {"Gelu", ad_import_gelu, 20, "approximate", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"Gemm", ad_import_gemm, 6, "alpha beta broadcast transA transB", 0x7, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"GlobalAveragePool", ad_import_gap, 1, "", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"GlobalMaxPool", ad_import_maxpool, 1, "", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Greater", ad_import_comparison, 7, "axis broadcast", 0x3, AD_RESULT_BOOL, AD_TAKES_FLOATS},
    {"GreaterOrEqual", ad_import_comparison, 7, "", 0x3, AD_RESULT_BOOL, AD_TAKES_FLOATS},
    {"GroupNormalization", ad_import_group_norm, 18, "epsilon num_groups stash_type", 0x7,
     AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"HardSigmoid", ad_import_function, 6, "alpha beta consumed_inputs", 0, AD_RESULT_FIRST,
     AD_TAKES_OPEN},
    {"HardSwish", ad_import_function, 14, "", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"Identity", ad_import_identity, 1, "", 0, AD_RESULT_FIRST, AD_TAKES_ANY},
    {"If", ad_import_if, 1, "else_branch then_branch", 0, AD_RESULT_STATED, AD_TAKES_ANY},
    {"InstanceNormalization", ad_import_instance_norm, 6, "consumed_inputs epsilon", 0x7,
     AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"IsInf", ad_import_whole, 10, "detect_negative detect_positive", 0, AD_RESULT_BOOL,
     AD_TAKES_ANY},
    {"IsNaN", ad_import_whole, 9, "", 0, AD_RESULT_BOOL, AD_TAKES_ANY},
    {"LRN", ad_import_lrn, 1, "alpha beta bias size", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"LayerNormalization", ad_import_layer_norm, 17, "axis epsilon stash_type", 0x7,
     AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"LeakyRelu", ad_import_function, 6, "alpha consumed_inputs", 0, AD_RESULT_FIRST,
     AD_TAKES_OPEN},
    {"Less", ad_import_comparison, 7, "axis broadcast", 0x3, AD_RESULT_BOOL, AD_TAKES_FLOATS},
    {"LessOrEqual", ad_import_comparison, 7, "", 0x3, AD_RESULT_BOOL, AD_TAKES_FLOATS},
    {"Log", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"LogSoftmax", ad_import_log_softmax, 1, "axis", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"LpNormalization", ad_import_lp_norm, 1, "axis p", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"MatMul", ad_import_matmul, 1, "", 0x3, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"MatMulInteger", ad_import_whole, 10, "", 0, AD_RESULT_INT32, AD_TAKES_ANY},
    {"Max", ad_import_variadic, 6, "consumed_inputs", ALL, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"MaxPool", ad_import_maxpool, 1,
     "auto_pad ceil_mode dilations kernel_shape pads storage_order strides", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"Mean", ad_import_variadic, 6, "consumed_inputs", ALL, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Min", ad_import_variadic, 6, "consumed_inputs", ALL, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Mish", ad_import_function, 18, "", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"Mod", ad_import_mod, 10, "fmod", 0x3, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Mul", ad_import_arithmetic, 6, "axis broadcast consumed_inputs", 0x3, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"Neg", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"NonMaxSuppression", ad_import_whole, 10, "center_point_box", 0x3, AD_RESULT_INT64,
     AD_TAKES_ANY},
    {"NonZero", ad_import_nonzero, 9, "", 0, AD_RESULT_INT64, AD_TAKES_FLOATS},
    {"Not", ad_import_not, 1, "", 0, AD_RESULT_BOOL, AD_TAKES_FLOATS},
    {"OneHot", ad_import_whole, 9, "axis", 0, AD_RESULT_THIRD, AD_TAKES_ANY},
    {"Or", ad_import_comparison, 7, "axis broadcast", 0, AD_RESULT_BOOL, AD_TAKES_FLOATS},
    {"PRelu", ad_import_prelu, 6, "consumed_inputs", 0x3, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Pad", ad_import_pad, 6, "mode paddings pads value", 0x5, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Pow", ad_import_pow, 6, "axis broadcast", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"QuantizeLinear", ad_import_whole, 10, "axis block_size output_dtype precision saturate", 0,
     AD_RESULT_THIRD, AD_TAKES_ANY},
    {"RMSNormalization", ad_import_rms_norm, 23, "axis epsilon stash_type", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"Range", ad_import_range, 11, "", 0x7, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Reciprocal", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"ReduceL1", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"ReduceL2", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"ReduceLogSum", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"ReduceLogSumExp", ad_import_log_sum_exp, 1, "axes keepdims noop_with_empty_axes", 0,
     AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"ReduceMax", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"ReduceMean", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"ReduceMin", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"ReduceProd", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"ReduceSum", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"ReduceSumSquare", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0,
     AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Relu", ad_import_relu, 1, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"Reshape", ad_import_reshape, 5, "allowzero consumed_inputs shape", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"Resize", ad_import_resize, 10,
     "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside "
     "extrapolation_value keep_aspect_ratio_policy mode nearest_mode",
     0, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"ReverseSequence", ad_import_whole, 10, "batch_axis time_axis", 0, AD_RESULT_FIRST,
     AD_TAKES_ANY},
    {"Round", ad_import_whole, 11, "", 0, AD_RESULT_FIRST, AD_TAKES_ANY},
    {"ScatterElements", ad_import_whole, 11, "axis reduction", 0x5, AD_RESULT_FIRST, AD_TAKES_ANY},
    {"ScatterND", ad_import_whole, 11, "reduction", 0x5, AD_RESULT_FIRST, AD_TAKES_ANY},
    {"Selu", ad_import_function, 6, "alpha consumed_inputs gamma", 0, AD_RESULT_FIRST,
     AD_TAKES_OPEN},
    {"Shape", ad_import_shape, 1, "end start", 0, AD_RESULT_INT64, AD_TAKES_KNOWN},
    {"Sigmoid", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"Sign", ad_import_whole, 9, "", 0, AD_RESULT_FIRST, AD_TAKES_ANY},
    {"Size", ad_import_size, 1, "", 0, AD_RESULT_INT64, AD_TAKES_KNOWN},
    {"Slice", ad_import_slice, 1, "axes ends starts", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Softmax", ad_import_softmax, 1, "axis", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Softplus", ad_import_function, 1, "", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"Softsign", ad_import_function, 1, "", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"SpaceToDepth", ad_import_space_to_depth, 1, "blocksize", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Split", ad_import_split, 2, "axis num_outputs split", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Sqrt", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"Squeeze", ad_import_squeeze, 1, "axes", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Sub", ad_import_arithmetic, 6, "axis broadcast consumed_inputs", 0x3, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"Sum", ad_import_variadic, 6, "consumed_inputs", ALL, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Swish", ad_import_swish, 24, "alpha", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"Tanh", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"ThresholdedRelu", ad_import_function, 10, "alpha", 0, AD_RESULT_FIRST, AD_TAKES_OPEN},
    {"Tile", ad_import_tile, 6, "", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"TopK", ad_import_whole, 1, "axis k largest sorted", 0, AD_RESULT_FIRST, AD_TAKES_ANY},
    {"Transpose", ad_import_transpose, 1, "perm", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Trilu", ad_import_whole, 14, "upper", 0, AD_RESULT_FIRST, AD_TAKES_ANY},
    {"Unique", ad_import_whole, 11, "axis sorted", 0, AD_RESULT_FIRST, AD_TAKES_ANY},
    {"Unsqueeze", ad_import_unsqueeze, 1, "axes", 0, AD_RESULT_FIRST, AD_TAKES_FLOATS},
    {"Upsample", ad_import_resize, 7, "height_scale mode scales width_scale", 0, AD_RESULT_FIRST,
     AD_TAKES_FLOATS},
    {"Where", ad_import_where, 9, "", 0x6, AD_RESULT_SECOND, AD_TAKES_FLOATS},
    {"Xor", ad_import_comparison, 7, "axis broadcast", 0, AD_RESULT_BOOL, AD_TAKES_FLOATS},
};

static int compare_rows(const void *key, const void *row)
{
    return strcmp(key, ((const struct ad_onnx_operator *)row)->type);
}

const struct ad_onnx_operator *ad_onnx_operator_of(const char *type)
{
    return bsearch(type, operators, sizeof operators / sizeof *operators, sizeof *operators,
                   compare_rows);
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
