/* The operators that are imported, in alphabetical order. */
#include "import/operators.h"

#include <stdlib.h>
#include <string.h>

#define ALL (~0u) /* of as many inputs as there are */

static const struct ad_onnx_operator operators[] = {
    {"Abs", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST},
    {"Add", ad_import_arithmetic, 6, "axis broadcast consumed_inputs", 0x3, AD_RESULT_FIRST},
    {"And", ad_import_comparison, 7, "axis broadcast", 0, AD_RESULT_BOOL},
    {"AveragePool", ad_import_averagepool, 1,
     "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides", 0,
     AD_RESULT_FIRST},
    {"BatchNormalization", ad_import_batchnorm, 6,
     "consumed_inputs epsilon is_test momentum spatial training_mode", 0x6, AD_RESULT_FIRST},
    {"Cast", ad_import_cast, 6, "round_mode saturate to", 0, AD_RESULT_STATED},
    {"Ceil", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST},
    {"Celu", ad_import_function, 12, "alpha", 0, AD_RESULT_FIRST},
    {"Clip", ad_import_clip, 6, "consumed_inputs max min", 0x7, AD_RESULT_FIRST},
    {"Concat", ad_import_concat, 4, "axis", ALL, AD_RESULT_FIRST},
    {"Constant", ad_import_constant, 1,
     "sparse_value value value_float value_floats value_int value_ints value_string value_strings",
     0, AD_RESULT_STATED},
    {"ConstantOfShape", ad_import_constant_of_shape, 6, "value", 0, AD_RESULT_STATED},
    {"Conv", ad_import_conv, 1, "auto_pad dilations group kernel_shape pads strides", 0x7,
     AD_RESULT_FIRST},
    {"ConvTranspose", ad_import_conv_transpose, 1,
     "auto_pad dilations group kernel_shape output_padding output_shape pads strides", 0x7,
     AD_RESULT_FIRST},
    {"DepthToSpace", ad_import_depth_to_space, 1, "blocksize mode", 0, AD_RESULT_FIRST},
    {"Div", ad_import_arithmetic, 6, "axis broadcast consumed_inputs", 0x3, AD_RESULT_FIRST},
    {"Dropout", ad_import_dropout, 6, "consumed_inputs is_test ratio seed", 0, AD_RESULT_FIRST},
    {"Elu", ad_import_function, 6, "alpha consumed_inputs", 0, AD_RESULT_FIRST},
    {"Equal", ad_import_comparison, 7, "axis broadcast", 0x3, AD_RESULT_BOOL},
    {"Erf", ad_import_function, 9, "", 0, AD_RESULT_FIRST},
    {"Exp", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST},
    {"Expand", ad_import_expand, 8, "", 0, AD_RESULT_FIRST},
    {"Flatten", ad_import_flatten, 1, "axis", 0, AD_RESULT_FIRST},
    {"Floor", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST},
    {"Gather", ad_import_gather, 1, "axis", 0, AD_RESULT_FIRST},
    {"Gelu", ad_import_gelu, 20, "approximate", 0, AD_RESULT_FIRST},
    {"Gemm", ad_import_gemm, 6, "alpha beta broadcast transA transB", 0x7, AD_RESULT_FIRST},
    {"GlobalAveragePool", ad_import_gap, 1, "", 0, AD_RESULT_FIRST},
    {"GlobalMaxPool", ad_import_maxpool, 1, "", 0, AD_RESULT_FIRST},
    {"Greater", ad_import_comparison, 7, "axis broadcast", 0x3, AD_RESULT_BOOL},
    {"GreaterOrEqual", ad_import_comparison, 7, "", 0x3, AD_RESULT_BOOL},
    {"GroupNormalization", ad_import_group_norm, 18, "epsilon num_groups stash_type", 0x7,
     AD_RESULT_FIRST},
    {"HardSigmoid", ad_import_function, 6, "alpha beta consumed_inputs", 0, AD_RESULT_FIRST},
    {"HardSwish", ad_import_function, 14, "", 0, AD_RESULT_FIRST},
    {"Identity", ad_import_identity, 1, "", 0, AD_RESULT_FIRST},
    {"If", ad_import_if, 1, "else_branch then_branch", 0, AD_RESULT_STATED},
    {"InstanceNormalization", ad_import_instance_norm, 6, "consumed_inputs epsilon", 0x7,
     AD_RESULT_FIRST},
    {"LRN", ad_import_lrn, 1, "alpha beta bias size", 0, AD_RESULT_FIRST},
    {"LayerNormalization", ad_import_layer_norm, 17, "axis epsilon stash_type", 0x7,
     AD_RESULT_FIRST},
    {"LeakyRelu", ad_import_function, 6, "alpha consumed_inputs", 0, AD_RESULT_FIRST},
    {"Less", ad_import_comparison, 7, "axis broadcast", 0x3, AD_RESULT_BOOL},
    {"LessOrEqual", ad_import_comparison, 7, "", 0x3, AD_RESULT_BOOL},
    {"Log", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST},
    {"LogSoftmax", ad_import_log_softmax, 1, "axis", 0, AD_RESULT_FIRST},
    {"LpNormalization", ad_import_lp_norm, 1, "axis p", 0, AD_RESULT_FIRST},
    {"MatMul", ad_import_matmul, 1, "", 0x3, AD_RESULT_FIRST},
    {"Max", ad_import_variadic, 6, "consumed_inputs", ALL, AD_RESULT_FIRST},
    {"MaxPool", ad_import_maxpool, 1,
     "auto_pad ceil_mode dilations kernel_shape pads storage_order strides", 0, AD_RESULT_FIRST},
    {"Mean", ad_import_variadic, 6, "consumed_inputs", ALL, AD_RESULT_FIRST},
    {"Min", ad_import_variadic, 6, "consumed_inputs", ALL, AD_RESULT_FIRST},
    {"Mish", ad_import_function, 18, "", 0, AD_RESULT_FIRST},
    {"Mod", ad_import_mod, 10, "fmod", 0x3, AD_RESULT_FIRST},
    {"Mul", ad_import_arithmetic, 6, "axis broadcast consumed_inputs", 0x3, AD_RESULT_FIRST},
    {"Neg", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST},
    {"NonZero", ad_import_nonzero, 9, "", 0, AD_RESULT_INT64},
    {"Not", ad_import_not, 1, "", 0, AD_RESULT_BOOL},
    {"Or", ad_import_comparison, 7, "axis broadcast", 0, AD_RESULT_BOOL},
    {"PRelu", ad_import_prelu, 6, "consumed_inputs", 0x3, AD_RESULT_FIRST},
    {"Pad", ad_import_pad, 6, "mode paddings pads value", 0x5, AD_RESULT_FIRST},
    {"Pow", ad_import_pow, 6, "axis broadcast", 0, AD_RESULT_FIRST},
    {"RMSNormalization", ad_import_rms_norm, 23, "axis epsilon stash_type", 0, AD_RESULT_FIRST},
    {"Range", ad_import_range, 11, "", 0x7, AD_RESULT_FIRST},
    {"Reciprocal", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST},
    {"ReduceL1", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST},
    {"ReduceL2", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST},
    {"ReduceLogSum", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST},
    {"ReduceLogSumExp", ad_import_log_sum_exp, 1, "axes keepdims noop_with_empty_axes", 0,
     AD_RESULT_FIRST},
    {"ReduceMax", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST},
    {"ReduceMean", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST},
    {"ReduceMin", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST},
    {"ReduceProd", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST},
    {"ReduceSum", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0, AD_RESULT_FIRST},
    {"ReduceSumSquare", ad_import_reduce, 1, "axes keepdims noop_with_empty_axes", 0,
     AD_RESULT_FIRST},
    {"Relu", ad_import_relu, 1, "consumed_inputs", 0, AD_RESULT_FIRST},
    {"Reshape", ad_import_reshape, 5, "allowzero consumed_inputs shape", 0, AD_RESULT_FIRST},
    {"Resize", ad_import_resize, 10,
     "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside "
     "extrapolation_value keep_aspect_ratio_policy mode nearest_mode",
     0, AD_RESULT_FIRST},
    {"Selu", ad_import_function, 6, "alpha consumed_inputs gamma", 0, AD_RESULT_FIRST},
    {"Shape", ad_import_shape, 1, "end start", 0, AD_RESULT_INT64},
    {"Sigmoid", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST},
    {"Size", ad_import_size, 1, "", 0, AD_RESULT_INT64},
    {"Slice", ad_import_slice, 1, "axes ends starts", 0, AD_RESULT_FIRST},
    {"Softmax", ad_import_softmax, 1, "axis", 0, AD_RESULT_FIRST},
    {"Softplus", ad_import_function, 1, "", 0, AD_RESULT_FIRST},
    {"Softsign", ad_import_function, 1, "", 0, AD_RESULT_FIRST},
    {"SpaceToDepth", ad_import_space_to_depth, 1, "blocksize", 0, AD_RESULT_FIRST},
    {"Split", ad_import_split, 2, "axis num_outputs split", 0, AD_RESULT_FIRST},
    {"Sqrt", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST},
    {"Squeeze", ad_import_squeeze, 1, "axes", 0, AD_RESULT_FIRST},
    {"Sub", ad_import_arithmetic, 6, "axis broadcast consumed_inputs", 0x3, AD_RESULT_FIRST},
    {"Sum", ad_import_variadic, 6, "consumed_inputs", ALL, AD_RESULT_FIRST},
    {"Swish", ad_import_swish, 24, "alpha", 0, AD_RESULT_FIRST},
    {"Tanh", ad_import_function, 6, "consumed_inputs", 0, AD_RESULT_FIRST},
    {"ThresholdedRelu", ad_import_function, 10, "alpha", 0, AD_RESULT_FIRST},
    {"Tile", ad_import_tile, 6, "", 0, AD_RESULT_FIRST},
    {"Transpose", ad_import_transpose, 1, "perm", 0, AD_RESULT_FIRST},
    {"Unsqueeze", ad_import_unsqueeze, 1, "axes", 0, AD_RESULT_FIRST},
    {"Upsample", ad_import_resize, 7, "height_scale mode scales width_scale", 0, AD_RESULT_FIRST},
    {"Where", ad_import_where, 9, "", 0x6, AD_RESULT_SECOND},
    {"Xor", ad_import_comparison, 7, "axis broadcast", 0, AD_RESULT_BOOL},
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
