#include "ir/operators.h"
#include "ir/check.h"

/* Operations of two operands, but for their names and what an element costs. */
#define BINARY(name_, short_name_, units_, ...)                                                    \
    {                                                                                              \
        .name = name_, .short_name = short_name_, .type = 2, .inputs = 2,                          \
        .class = AD_COST_ELEMENTWISE, .measure = AD_PER_OUTPUT, .units = units_,                   \
        .elementwise = true, .check = ad_check_binary, __VA_ARGS__                                 \
    }

const struct ad_operator ad_operators[AD_OP_COUNT] = {
    [AD_OP_CONV] = {.name = "Conv",
                    .short_name = "conv",
                    .type = 1,
                    .inputs = 1,
                    .fields = AD_FIELD_WINDOW | AD_FIELD_GROUPS | AD_FIELD_WEIGHT,
                    .h = AD_REACH_NEAR,
                    .w = AD_REACH_NEAR,
                    .c = AD_REACH_ALL,
                    .class = AD_COST_CONV,
                    .measure = AD_PER_MAC,
                    .units = 1,
                    .quantised = AD_QUANTISED_SUMMED,
                    .check = ad_check_conv},
    [AD_OP_MAXPOOL] = {.name = "MaxPool",
                       .short_name = "maxpool",
                       .type = 1,
                       .inputs = 1,
                       .fields = AD_FIELD_WINDOW,
                       .h = AD_REACH_NEAR,
                       .w = AD_REACH_NEAR,
                       .class = AD_COST_POOL,
                       .measure = AD_PER_TAP,
                       .units = 1,
                       .keeps_zeros = true,
                       .quantised = AD_QUANTISED_SAME,
                       .check = ad_check_pool},
    [AD_OP_AVGPOOL] = {.name = "AveragePool",
                       .short_name = "avgpool",
                       .type = 1,
                       .inputs = 1,
                       .fields = AD_FIELD_WINDOW | AD_FIELD_COUNT_PAD,
                       .h = AD_REACH_NEAR,
                       .w = AD_REACH_NEAR,
                       .class = AD_COST_POOL,
                       .measure = AD_PER_TAP,
                       .units = 1,
                       .quantised = AD_QUANTISED_EACH,
                       .check = ad_check_pool},
    /* Table 2's ReduceMean. */
    [AD_OP_GAP] = {.name = "GlobalAveragePool",
                   .short_name = "gap",
                   .type = 3,
                   .inputs = 1,
                   .h = AD_REACH_ALL,
                   .w = AD_REACH_ALL,
                   .class = AD_COST_POOL,
                   .measure = AD_PER_INPUT,
                   .units = 1,
                   .quantised = AD_QUANTISED_EACH,
                   .check = ad_check_gap},
    [AD_OP_FC] = {.name = "FC",
                  .short_name = "fc",
                  .type = 3,
                  .inputs = 1,
                  .fields = AD_FIELD_WEIGHT,
                  .h = AD_REACH_ALL,
                  .w = AD_REACH_ALL,
                  .c = AD_REACH_ALL,
                  .class = AD_COST_FC,
                  .measure = AD_PER_MAC,
                  .units = 1,
                  .quantised = AD_QUANTISED_SUMMED,
                  .check = ad_check_fc},
    [AD_OP_ADD] = BINARY("Add", "add", 1, .residual = true, .quantised = AD_QUANTISED_EACH),
    [AD_OP_MUL] = BINARY("Mul", "mul", 1, .quantised = AD_QUANTISED_EACH),
    [AD_OP_UNARY] = {.name = "Unary",
                     .short_name = "unary",
                     .type = 2,
                     .inputs = 1,
                     .class = AD_COST_ELEMENTWISE,
                     .measure = AD_PER_FUNCTION,
                     .units = 1,
                     .activation = true,
                     .quantised = AD_QUANTISED_EITHER,
                     .check = ad_check_unary},
    [AD_OP_CONCAT] = {.name = "Concat",
                      .short_name = "concat",
                      .type = 3,
                      .inputs = AD_VARIADIC,
                      .fields = AD_FIELD_ROWS,
                      .c = AD_REACH_OTHER,
                      .class = AD_COST_COPY,
                      .measure = AD_PER_OUTPUT,
                      .units = 1,
                      .in_place = true,
                      .keeps_zeros = true,
                      .quantised = AD_QUANTISED_EACH,
                      .check = ad_check_concat},
    /* Not in Table 2: it aggregates over all channels or features. An exponential and three passes.
     */
    [AD_OP_SOFTMAX] = {.name = "Softmax",
                       .short_name = "softmax",
                       .type = 3,
                       .inputs = 1,
                       .fields = AD_FIELD_ROWS,
                       .c = AD_REACH_WHOLE,
                       .class = AD_COST_ELEMENTWISE,
                       .measure = AD_PER_OUTPUT,
                       .units = 8,
                       .check = ad_check_softmax},
    /* Not in Table 2: it reads across channels only, so rows map one to one. A power and the
     * window. */
    [AD_OP_LRN] = {.name = "LRN",
                   .short_name = "lrn",
                   .type = 2,
                   .inputs = 1,
                   .fields = AD_FIELD_LRN,
                   .c = AD_REACH_NEAR,
                   .class = AD_COST_ELEMENTWISE,
                   .measure = AD_PER_LRN,
                   .units = 16,
                   .check = ad_check_lrn},
    /* Table 2's Flatten and Transpose. Only shuffles of channels are split. */
    [AD_OP_PERMUTE] = {.name = "Permute",
                       .short_name = "permute",
                       .type = 3,
                       .inputs = 1,
                       .fields = AD_FIELD_VIEW,
                       .c = AD_REACH_WHOLE,
                       .class = AD_COST_COPY,
                       .measure = AD_PER_OUTPUT,
                       .units = 1,
                       .rearranges = true,
                       .quantised = AD_QUANTISED_SAME,
                       .check = ad_check_permute},
    [AD_OP_RESHAPE] = {.name = "Reshape",
                       .short_name = "reshape",
                       .type = 3,
                       .inputs = 1,
                       .class = AD_COST_COPY,
                       .measure = AD_PER_OUTPUT,
                       .units = 1,
                       .rearranges = true,
                       .keeps_zeros = true,
                       .quantised = AD_QUANTISED_SAME,
                       .check = ad_check_reshape},
    [AD_OP_SUB] = BINARY("Sub", "sub", 1, .residual = false),
    [AD_OP_DIV] = BINARY("Div", "div", 1, .residual = false),
    /* Not in Table 2: a row reads the rows of its blocks. */
    [AD_OP_SPACE_TO_DEPTH] = {.name = "SpaceToDepth",
                              .short_name = "space-to-depth",
                              .type = 1,
                              .inputs = 1,
                              .fields = AD_FIELD_BLOCK | AD_FIELD_CHANNEL_MAJOR,
                              .h = AD_REACH_OTHER,
                              .w = AD_REACH_OTHER,
                              .c = AD_REACH_OTHER,
                              .class = AD_COST_COPY,
                              .measure = AD_PER_OUTPUT,
                              .units = 1,
                              .quantised = AD_QUANTISED_SAME,
                              .check = ad_check_space_to_depth},
    [AD_OP_MIN] = BINARY("Min", "min", 1, .residual = false),
    [AD_OP_MAX] = BINARY("Max", "max", 1, .residual = false),
    [AD_OP_POW] = BINARY("Pow", "pow", 40, .residual = false),
    [AD_OP_PRELU] = BINARY("PRelu", "prelu", 1, .residual = false),
    /* Not in Table 2, as the two below: they change dims. */
    [AD_OP_RESAMPLE] = {.name = "Resample",
                        .short_name = "resample",
                        .type = 3,
                        .inputs = 1,
                        .fields = AD_FIELD_RESAMPLING,
                        .h = AD_REACH_OTHER,
                        .w = AD_REACH_OTHER,
                        .c = AD_REACH_OTHER,
                        .class = AD_COST_COPY,
                        .measure = AD_PER_TAP,
                        .units = 1,
                        .quantised = AD_QUANTISED_EACH,
                        .check = ad_check_resample},
    [AD_OP_DEPTH_TO_SPACE] = {.name = "DepthToSpace",
                              .short_name = "depth-to-space",
                              .type = 3,
                              .inputs = 1,
                              .fields = AD_FIELD_BLOCKS | AD_FIELD_CHANNEL_MAJOR,
                              .h = AD_REACH_OTHER,
                              .w = AD_REACH_OTHER,
                              .c = AD_REACH_OTHER,
                              .class = AD_COST_COPY,
                              .measure = AD_PER_OUTPUT,
                              .units = 1,
                              .quantised = AD_QUANTISED_SAME,
                              .check = ad_check_depth_to_space},
    [AD_OP_REDUCE] = {.name = "Reduce",
                      .short_name = "reduce",
                      .type = 3,
                      .inputs = 1,
                      .fields = AD_FIELD_ROWS | AD_FIELD_REDUCTION,
                      .c = AD_REACH_ALL,
                      .class = AD_COST_POOL,
                      .measure = AD_PER_INPUT,
                      .units = 1,
                      .check = ad_check_reduce},
    /* Not in Table 2: sums of parts of the channels (ir/partial.h), so rows map one to one. */
    [AD_OP_FOLD] = {.name = "Fold",
                    .short_name = "fold",
                    .type = 2,
                    .inputs = 1,
                    .fields = AD_FIELD_CHANNELS | AD_FIELD_ROW_SCALES,
                    .c = AD_REACH_OTHER,
                    .class = AD_COST_ELEMENTWISE,
                    .measure = AD_PER_OUTPUT,
                    .units = 1,
                    .quantised = AD_QUANTISED_FOLDED,
                    .check = ad_check_fold},
    /* Not in Table 2: products of values, each element of all of a row and of a column. */
    [AD_OP_MATMUL] = {.name = "MatMul",
                      .short_name = "matmul",
                      .type = 3,
                      .inputs = 2,
                      .fields = AD_FIELD_ROWS,
                      .h = AD_REACH_ALL,
                      .w = AD_REACH_ALL,
                      .c = AD_REACH_ALL,
                      .class = AD_COST_CONV,
                      .measure = AD_PER_PRODUCT,
                      .units = 1,
                      .quantised = AD_QUANTISED_SUMMED,
                      .check = ad_check_matmul},
    /* Not in Table 2: what stands at a detector's end. */
    [AD_OP_WHOLE] = {.name = "Whole",
                     .short_name = "whole",
                     .type = 3,
                     .inputs = AD_VARIADIC,
                     .fields = AD_FIELD_WHOLE,
                     .h = AD_REACH_ALL,
                     .w = AD_REACH_ALL,
                     .c = AD_REACH_ALL,
                     .class = AD_COST_ELEMENTWISE,
                     .measure = AD_PER_WHOLE,
                     .units = 1,
                     .check = ad_check_whole},
};

const char *ad_op_kind_name(enum ad_op_kind kind)
{
    return (unsigned)kind < AD_OP_COUNT ? ad_operators[kind].name : "?";
}

bool ad_op_is_depthwise(const struct ad_graph *graph, const struct ad_op *op)
{
    return ad_op_is_conv(op) && op->groups == graph->values[op->inputs[0]].box.c;
}

bool ad_op_shuffles_channels(const struct ad_graph *graph, const struct ad_op *op)
{
    const struct ad_value *in = &graph->values[op->inputs[0]];
    const struct ad_value *out = &graph->values[op->output];
    const int64_t pixels[] = {in->box.n, in->box.h, in->box.w};
    if (!ad_kind_has(op->kind, AD_FIELD_VIEW) || in->format != AD_NHWC || out->format != AD_NHWC ||
        !ad_same_box(in, out) || op->view_rank < 4)
        return false;
    for (int i = 0; i < 3; i++)
        if (op->perm[i] != i || op->view_dims[i] != pixels[i])
            return false;
    return true;
}

enum ad_cost_class ad_cost_stand_in(enum ad_cost_class class)
{
    switch (class) {
    case AD_COST_WINOGRAD:
    case AD_COST_INT8_CONV:
        return AD_COST_CONV;
    case AD_COST_INT8_DEPTHWISE:
        return AD_COST_DEPTHWISE;
    case AD_COST_INT8_FC:
        return AD_COST_FC;
    default:
        return class;
    }
}
