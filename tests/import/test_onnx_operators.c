/* The table of ONNX operators (import/operators.c): what it says of each is what the importer and
 * the region rules do. Each version that it says is imported has a form here, and so has each form
 * that it says is refused. */
#include "fusion/region.h"
#include "fusion/rules.h"
#include "import/operators.h"
#include "ir/partial.h"
#include "support/import_checks.h"
#include "support/operator_models.h"
#include "support/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define LAST AD_ONNX_MAX_OPSET

#define FORM(type_, from_, to_, inputs_, attributes_, ...)                                         \
    {                                                                                              \
        .type = type_, .from = from_, .to = to_, .inputs = inputs_, .attributes = attributes_,     \
        __VA_ARGS__                                                                                \
    }

static const struct operator_form forms[] = {
    FORM("Abs", 6, LAST, "x", NULL),
    FORM("Add", 6, LAST, "x x", NULL),
    FORM("And", 7, LAST, "x x", NULL),
    FORM("ArgMax", 1, LAST, "x", "axis=1"),
    FORM("ArgMin", 1, LAST, "x", "axis=1"),
    FORM("AveragePool", 1, LAST, "x", "kernel_shape=3,3 pads=1,1,1,1"),
    FORM("AveragePool", 19, LAST, "x:1.3.3.3", "kernel_shape=2,2 dilations=5,1 pads=4,0,4,0",
         .refused = "windows that lie wholly in the padding",
         .why = "a window lies wholly in the padding"),
    FORM("BatchNormalization", 6, LAST, "x w:8 w:8 w:8 f:8=1,2,3,4,5,6,7,8", NULL),
    FORM("BatchNormalization", 14, LAST, "x w:8 w:8 w:8 f:8=1,2,3,4,5,6,7,8", "training_mode=1",
         .refused = "training_mode 1", .why = "training_mode"),
    FORM("BatchNormalization", 7, 8, "x w:8.12.10 w:8.12.10 w:8.12.10 w:8.12.10", "spatial=0",
         .refused = "spatial 0 with parameters for each element", .why = "spatial 0"),
    FORM("BatchNormalization", 6, LAST, "x x:8 x:8 x:8 x:8", NULL,
         .refused = "parameters computed at run time", .why = "must be a constant"),
    FORM("BitwiseAnd", 18, LAST, "x x", NULL),
    FORM("BitwiseOr", 18, LAST, "x x", NULL),
    FORM("BitwiseXor", 18, LAST, "x x", NULL),
    FORM("Cast", 6, LAST, "x", "to=6"),
    FORM("Cast", 6, LAST, "x", "to=8", .refused = "to strings", .why = "to string"),
    FORM("Ceil", 6, LAST, "x", NULL),
    FORM("Celu", 12, LAST, "x", "alpha=1.5"),
    FORM("Clip", 6, 10, "x", "min=0.0 max=6.0"),
    FORM("Clip", 11, LAST, "x f:s=0 f:s=6", NULL, .typed = "x"),
    FORM("Compress", 9, LAST, "x x:8/9", "axis=1"),
    FORM("Concat", 4, LAST, "x x", "axis=1"),
    FORM("Constant", 1, LAST, "", "tensor"),
    FORM("Constant", 12, LAST, "", "value_string=word", .refused = "strings and sparse tensors",
         .why = "only tensors, numbers"),
    FORM("ConstantOfShape", 9, LAST, "i:1=1", NULL),
    FORM("Conv", 1, LAST, "x w:4.8.3.3", "kernel_shape=3,3 pads=1,1,1,1"),
    FORM("Conv", 1, LAST, "x x:4.8.3.3", "kernel_shape=3,3",
         .refused = "weights computed at run time", .why = "must be a constant"),
    FORM("ConvInteger", 10, LAST, "x x:4.8.3.3", NULL),
    FORM("ConvInteger", 10, LAST, "x/2 x:4.8.3.3/2", "auto_pad=SAME_UPPER",
         .refused = "auto_pad SAME_UPPER and SAME_LOWER", .why = "auto_pad"),
    FORM("ConvTranspose", 1, LAST, "x w:8.4.4.4", "kernel_shape=4,4 strides=2,2 pads=1,1,1,1"),
    FORM("ConvTranspose", 1, LAST, "x x:8.4.4.4", "kernel_shape=4,4",
         .refused = "weights computed at run time", .why = "must be a constant"),
    FORM("CumSum", 11, LAST, "x i:s=1", NULL),
    FORM("CumSum", 11, LAST, "x x:1/7", NULL, .refused = "an axis computed at run time",
         .why = "must be a constant"),
    FORM("DepthToSpace", 1, LAST, "x", "blocksize=2"),
    FORM("DequantizeLinear", 10, LAST, "x f:s=1", NULL),
    FORM("Div", 6, LAST, "x x", NULL),
    FORM("Dropout", 6, LAST, "x", NULL),
    FORM("DynamicQuantizeLinear", 11, LAST, "x", NULL),
    FORM("Elu", 6, LAST, "x", NULL),
    FORM("Equal", 7, LAST, "x x", NULL),
    FORM("Erf", 9, LAST, "x", NULL),
    FORM("Exp", 6, LAST, "x", NULL),
    FORM("Expand", 8, LAST, "x i:4=1,8,12,10", NULL),
    FORM("Flatten", 1, LAST, "x", "axis=1"),
    FORM("Floor", 6, LAST, "x", NULL),
    FORM("Gather", 1, LAST, "x i:2=1,3", "axis=1"),
    FORM("GatherElements", 11, LAST, "x x:1.8.12.10/7", "axis=1"),
    FORM("GatherND", 11, LAST, "x x:1.1/7", NULL),
    FORM("Gelu", 20, LAST, "x", NULL),
    FORM("Gemm", 6, LAST, "x:1.8 w:8.5 w:5", NULL),
    FORM("GlobalAveragePool", 1, LAST, "x", NULL),
    FORM("GlobalMaxPool", 1, LAST, "x", NULL),
    FORM("Greater", 7, LAST, "x x", NULL),
    FORM("GreaterOrEqual", 12, LAST, "x x", NULL),
    FORM("GroupNormalization", 18, 20, "x w:4 w:4", "num_groups=4"),
    FORM("GroupNormalization", 21, LAST, "x w:8 w:8", "num_groups=4"),
    FORM("HardSigmoid", 6, LAST, "x", NULL),
    FORM("HardSwish", 14, LAST, "x", NULL),
    FORM("Identity", 1, LAST, "x", NULL),
    FORM("If", 1, LAST, "i:s=1 +", "sub"),
    FORM("If", 1, LAST, "x:1/9 +", "sub", .refused = "a condition computed at run time",
         .why = "must be a constant"),
    FORM("InstanceNormalization", 6, LAST, "x w:8 w:8", NULL),
    FORM("IsInf", 10, LAST, "x", NULL),
    FORM("IsNaN", 9, LAST, "x", NULL),
    FORM("LRN", 1, LAST, "x", "size=3"),
    FORM("LayerNormalization", 17, LAST, "x w:8 w:8", "axis=-1 last"),
    FORM("LeakyRelu", 6, LAST, "x", NULL),
    FORM("Less", 7, LAST, "x x", NULL),
    FORM("LessOrEqual", 12, LAST, "x x", NULL),
    FORM("Log", 6, LAST, "x", NULL),
    FORM("LogSoftmax", 1, LAST, "x", "axis=1"),
    FORM("LpNormalization", 1, LAST, "x", "axis=1 p=2"),
    FORM("LpNormalization", 1, LAST, "x", "axis=1 p=3", .refused = "p other than 1 and 2",
         .why = "1 and 2 are supported"),
    FORM("MatMul", 1, LAST, "x:1.8 w:8.5", NULL, .typed = "x:4.8 x:8.5"),
    FORM("MatMulInteger", 10, LAST, "x:4.8 x:8.3", NULL),
    FORM("Max", 6, LAST, "x x", NULL),
    FORM("MaxPool", 1, LAST, "x", "kernel_shape=3,3 pads=1,1,1,1"),
    FORM("MaxPool", 8, LAST, "x", "kernel_shape=3,3 storage_order=1", .refused = "storage_order 1",
         .why = "storage_order 1"),
    FORM("MaxPool", 8, LAST, "x", "kernel_shape=3,3", .outputs = "y,z", .refused = "output Indices",
         .why = "output 1"),
    FORM("Mean", 6, LAST, "x x", NULL),
    FORM("Min", 6, LAST, "x x", NULL),
    FORM("Mish", 18, LAST, "x", NULL),
    FORM("Mod", 10, LAST, "x x", "fmod=1"),
    FORM("Mul", 6, LAST, "x x", NULL),
    FORM("Neg", 6, LAST, "x", NULL),
    FORM("NonMaxSuppression", 10, LAST, "x:1.6.4 x:1.2.6 i:s=3", NULL),
    FORM("NonZero", 9, LAST, "x", NULL),
    FORM("Not", 1, LAST, "x", NULL),
    FORM("OneHot", 9, LAST, "x i:s=4 f:2=0,1", NULL),
    FORM("Or", 7, LAST, "x x", NULL),
    FORM("PRelu", 6, 6, "x w:8", NULL),
    FORM("PRelu", 7, LAST, "x w:8.1.1", NULL),
    FORM("Pad", 6, 10, "x", "pads=0,0,1,1,0,0,1,1"),
    FORM("Pad", 11, LAST, "x i:8=0,0,1,1,0,0,1,1", NULL),
    FORM("Pow", 7, LAST, "x x", NULL),
    FORM("QuantizeLinear", 10, LAST, "x f:s=1", NULL),
    FORM("RMSNormalization", 23, LAST, "x w:8", "axis=-1 last"),
    FORM("Range", 11, LAST, "f:s=0 f:s=4 f:s=1", NULL),
    FORM("Reciprocal", 6, LAST, "x", NULL),
    FORM("ReduceL1", 1, 17, "x", "axes=1,"),
    FORM("ReduceL1", 18, LAST, "x i:1=1", NULL),
    FORM("ReduceL2", 1, 17, "x", "axes=1,"),
    FORM("ReduceL2", 18, LAST, "x i:1=1", NULL),
    FORM("ReduceLogSum", 1, 17, "x", "axes=1,"),
    FORM("ReduceLogSum", 18, LAST, "x i:1=1", NULL),
    FORM("ReduceLogSumExp", 1, 17, "x", "axes=1,"),
    FORM("ReduceLogSumExp", 18, LAST, "x i:1=1", NULL),
    FORM("ReduceMax", 1, 17, "x", "axes=1,"),
    FORM("ReduceMax", 18, LAST, "x i:1=1", NULL),
    FORM("ReduceMean", 1, 17, "x", "axes=1,"),
    FORM("ReduceMean", 18, LAST, "x i:1=1", NULL),
    FORM("ReduceMin", 1, 17, "x", "axes=1,"),
    FORM("ReduceMin", 18, LAST, "x i:1=1", NULL),
    FORM("ReduceProd", 1, 17, "x", "axes=1,"),
    FORM("ReduceProd", 18, LAST, "x i:1=1", NULL),
    FORM("ReduceSum", 1, 12, "x", "axes=1,"),
    FORM("ReduceSum", 13, LAST, "x i:1=1", NULL),
    FORM("ReduceSumSquare", 1, 17, "x", "axes=1,"),
    FORM("ReduceSumSquare", 18, LAST, "x i:1=1", NULL),
    FORM("Relu", 1, LAST, "x", NULL),
    FORM("Reshape", 5, LAST, "x i:4=1,4,2,120", NULL),
    FORM("Reshape", 5, LAST, "x x:4/7", NULL, .refused = "a shape that is not computed from shapes",
         .why = "nothing says how large"),
    FORM("Resize", 10, 10, "x f:4=1,1,2,2", "mode=linear"),
    FORM("Resize", 11, 12, "x w:1 f:4=1,1,2,2", "mode=linear"),
    FORM("Resize", 13, LAST, "x - f:4=1,1,2,2", "mode=linear"),
    FORM("Resize", 18, LAST, "x - - i:4=1,8,6,5", "mode=linear antialias=1",
         .refused = "antialias where a dimension becomes smaller", .why = "antialias"),
    FORM("Resize", 11, LAST, "x f:8=0,0,0,0,1,1,1,1 f:4=1,1,2,2",
         "mode=linear coordinate_transformation_mode=tf_crop_and_resize",
         .refused = "coordinate_transformation_mode tf_crop_and_resize",
         .why = "tf_crop_and_resize"),
    FORM("ReverseSequence", 10, LAST, "x x:8/7", "batch_axis=1 time_axis=0"),
    FORM("Round", 11, LAST, "x", NULL),
    FORM("ScatterElements", 11, LAST, "x x:1.8.12.10/7 x", "axis=1"),
    FORM("ScatterND", 11, LAST, "x x:1.1/7 x", NULL),
    FORM("Selu", 6, LAST, "x", NULL),
    FORM("Shape", 1, LAST, "x", NULL),
    FORM("Sigmoid", 6, LAST, "x", NULL),
    FORM("Sign", 9, LAST, "x", NULL),
    FORM("Size", 1, LAST, "x", NULL),
    FORM("Slice", 1, 9, "x", "starts=2, ends=9, axes=2,"),
    FORM("Slice", 10, LAST, "x i:1=2 i:1=9 i:1=2", NULL),
    FORM("Softmax", 1, LAST, "x", "axis=1"),
    FORM("Softplus", 1, LAST, "x", NULL),
    FORM("Softsign", 1, LAST, "x", NULL),
    FORM("SpaceToDepth", 1, LAST, "x", "blocksize=2"),
    FORM("Split", 2, 12, "x", "axis=1 split=4,4", .outputs = "y,z"),
    FORM("Split", 13, LAST, "x i:2=4,4", "axis=1", .outputs = "y,z"),
    FORM("Sqrt", 6, LAST, "x", NULL),
    FORM("Squeeze", 1, 12, "x", "axes=0,"),
    FORM("Squeeze", 13, LAST, "x i:1=0", NULL),
    FORM("Sub", 6, LAST, "x x", NULL),
    FORM("Sum", 6, LAST, "x x", NULL),
    FORM("Swish", 24, LAST, "x", NULL),
    FORM("Tanh", 6, LAST, "x", NULL),
    FORM("ThresholdedRelu", 10, LAST, "x", NULL),
    FORM("Tile", 6, LAST, "x i:4=1,1,2,1", NULL),
    FORM("TopK", 1, 9, "x", "axis=1 k=3", .outputs = "y,z"),
    FORM("TopK", 10, LAST, "x i:1=3", "axis=1", .outputs = "y,z"),
    FORM("TopK", 10, LAST, "x x:1/7", "axis=1", .outputs = "y,z",
         .refused = "a K that is not computed from shapes", .why = "nothing says how large"),
    FORM("Transpose", 1, LAST, "x", "perm=0,1,3,2"),
    FORM("Trilu", 14, LAST, "x", NULL),
    FORM("Unique", 11, LAST, "x", NULL),
    FORM("Unique", 11, LAST, "x", "axis=1"),
    FORM("Unsqueeze", 1, 12, "x", "axes=0,"),
    FORM("Unsqueeze", 13, LAST, "x i:1=0", NULL),
    FORM("Upsample", 7, 8, "x", "scales=1.0,1.0,2.0,2.0 mode=nearest"),
    FORM("Upsample", 9, LAST, "x f:4=1,1,2,2", "mode=nearest"),
    FORM("Where", 9, LAST, "x/9 x x", NULL),
    FORM("Xor", 7, LAST, "x x", NULL),
};

#define NFORMS (sizeof forms / sizeof *forms)

static const enum adaps_type types[] = {ADAPS_FLOAT32, ADAPS_UINT8, ADAPS_INT8,
                                        ADAPS_INT32,   ADAPS_INT64, ADAPS_BOOL};

/* The form that is imported in an opset; NULL: there is none. */
static const struct operator_form *form_of(const struct ad_onnx_operator *row, int opset)
{
    for (size_t i = 0; i < NFORMS; i++)
        if (!forms[i].refused && strcmp(forms[i].type, row->type) == 0 && opset >= forms[i].from &&
            opset <= forms[i].to)
            return &forms[i];
    return NULL;
}

/* A type that the table says the operator takes, float32 if it does. */
static int32_t type_of(const struct ad_onnx_operator *row)
{
    unsigned taken = ad_onnx_operator_types(row);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (taken & AD_TYPE_BIT(types[i]))
            return (int32_t)types[i];
    return 0;
}

static enum adaps_status import(const struct operator_form *form, int opset, int32_t type,
                                bool typed, struct ad_graph **graph, struct adaps_error *err)
{
    struct mb mb;
    struct operator_form own = *form;
    if (typed && form->typed)
        own.inputs = form->typed;
    build_operator(&mb, &own, opset, type);
    enum adaps_status status = ad_ir_import(&mb.model, NULL, graph, err);
    mb_fini(&mb);
    return status;
}

/* Imports, as the table says; of a constant the output of the network is a copy, beside the input,
 * which is no operator of the file's. NULL then. */
static struct ad_graph *import_form(const struct ad_onnx_operator *row, int opset)
{
    const struct operator_form *form = form_of(row, opset);
    struct adaps_error err = {0};
    struct ad_graph *graph;
    ck_assert_msg(form, "%s: nothing here has the form of opset %d", row->type, opset);
    enum adaps_status status = import(form, opset, type_of(row), false, &graph, &err);
    if (row->runs == AD_RUNS_NOT) {
        if (status != ADAPS_OK) {
            ck_assert_msg(strstr(err.message, "a constant, and the network has no input"), "%s: %s",
                          row->type, err.message);
            return NULL;
        }
        const struct ad_op *last = &graph->ops[graph->nops - 1];
        ck_assert_int_le(graph->nops, 4); /* one may turn the input to floats in their order */
        ck_assert_int_eq(last->kind, AD_OP_WHOLE);
        ck_assert_int_eq(last->whole.kind, AD_WHOLE_WHERE);
        ad_graph_free(graph);
        return NULL;
    }
    ck_assert_msg(status == ADAPS_OK, "%s, opset %d: %s", row->type, opset, err.message);
    return graph;
}

START_TEST(versions)
{
    int previous, version;
    char *end;
    const struct ad_onnx_operator *row;
    for (size_t i = 0; (row = ad_onnx_operator_at(i)); i++) {
        previous = version = 0;
        for (const char *at = row->versions; *at; at = end + (*end == ' ')) {
            version = (int)strtol(at, &end, 10);
            ck_assert_msg(version > previous && version <= LAST, "%s: %s", row->type,
                          row->versions);
            previous = version;
            if (version >= row->since) {
                ad_graph_free(import_form(row, version));
                continue;
            }
            struct adaps_error err;
            struct ad_graph *graph;
            ck_assert_int_eq(import(form_of(row, LAST), version, 1, false, &graph, &err),
                             ADAPS_EINPUT);
            ck_assert_msg(strstr(err.message, "its form of opset"), "%s", err.message);
        }
        ck_assert_msg(version >= row->since, "%s: no version is imported", row->type);
        ad_graph_free(import_form(row, LAST));
    }
}
END_TEST

/* What a part of value `out` reads of the network's first input. */
static struct ad_region read_of_input(const struct ad_graph *graph, int out, struct ad_region part)
{
    struct ad_region *at = ad_calloc((size_t)graph->nvalues, sizeof *at);
    ck_assert_ptr_nonnull(at);
    at[out] = part;
    for (int i = graph->nops - 1; i >= 0; i--) {
        const struct ad_op *op = &graph->ops[i];
        struct ad_region r = ad_region_allow(graph, op, at[op->output]);
        for (int k = 0; k < op->ninputs; k++)
            at[op->inputs[k]] = ad_region_hull(at[op->inputs[k]], ad_need(graph, op, k, r));
    }
    part = at[graph->inputs[0]];
    ad_free(at);
    return part;
}

static struct ad_run run_of(struct ad_region r, int along)
{
    return along == AD_ALONG_H   ? (struct ad_run){r.h0, r.h1}
           : along == AD_ALONG_W ? (struct ad_run){r.w0, r.w1}
                                 : (struct ad_run){r.c0, r.c1};
}

static void narrow(struct ad_region *r, int along, int32_t lo)
{
    int32_t *from = along == AD_ALONG_H ? &r->h0 : along == AD_ALONG_W ? &r->w0 : &r->c0;
    int32_t *to = along == AD_ALONG_H ? &r->h1 : along == AD_ALONG_W ? &r->w1 : &r->c1;
    *from = lo;
    *to = lo + 1;
}

/* What one row, column or channel in the middle of the result reads. */
static enum ad_reach reach_of(const struct ad_graph *graph, int along)
{
    int out = graph->outputs[0];
    const struct ad_value *result = &graph->values[out];
    const struct ad_op *last = &graph->ops[result->producer];
    struct ad_region part = ad_region_whole(result);
    struct ad_run full = run_of(ad_region_whole(&graph->values[graph->inputs[0]]), along);
    int32_t of = run_of(part, along).hi, middle = of / 2;
    narrow(&part, along, middle);
    struct ad_run made = run_of(ad_region_allow(graph, last, part), along);
    struct ad_run read = run_of(read_of_input(graph, out, part), along);
    if (made.hi - made.lo > 1)
        return AD_REACH_WHOLE;
    if (full.hi > 1 && read.lo == 0 && read.hi == full.hi)
        return AD_REACH_ALL;
    if (of != full.hi)
        return AD_REACH_OTHER;
    if (read.lo == middle && read.hi == middle + 1)
        return AD_REACH_SAME;
    return read.lo < middle && read.hi > middle + 1 ? AD_REACH_NEAR : AD_REACH_OTHER;
}

START_TEST(splits)
{
    const struct ad_onnx_operator *row;
    for (size_t i = 0; (row = ad_onnx_operator_at(i)); i++) {
        struct ad_graph *graph = import_form(row, LAST);
        bool whole = false, sums = false, products = false;
        if (!graph)
            continue;
        for (int k = 0; k < graph->nops; k++) {
            enum ad_op_kind kind = graph->ops[k].kind;
            whole |= !ad_op_splits(graph, &graph->ops[k]);
            sums |= ad_partial_blocks(graph, k, AD_PARTIAL_MOST) > 1;
            products |= ad_kind_has(kind, AD_FIELD_WEIGHT);
        }
        ck_assert_msg(whole == (row->runs == AD_RUNS_WHOLE), "%s: %s", row->type,
                      whole ? "it runs whole" : "it splits");
        ck_assert_msg(sums == row->sums, "%s: partial sums", row->type);
        ck_assert_msg(products == row->products, "%s: products", row->type);
        const enum ad_reach said[] = {row->h, row->w, row->c};
        for (int along = 0; along < AD_ALONG && !whole; along++) {
            enum ad_reach reach = reach_of(graph, along);
            ck_assert_msg(reach == said[along], "%s: along %c it is %d, not %d", row->type,
                          "hwc"[along], (int)reach, (int)said[along]);
        }
        ad_graph_free(graph);
    }
}
END_TEST

START_TEST(types_at_run_time)
{
    const struct ad_onnx_operator *row;
    for (size_t i = 0; (row = ad_onnx_operator_at(i)); i++)
        for (size_t k = 0; k < sizeof types / sizeof *types && row->runs != AD_RUNS_NOT; k++) {
            struct adaps_error err = {0};
            struct ad_graph *graph;
            bool taken =
                import(form_of(row, LAST), LAST, (int32_t)types[k], true, &graph, &err) == ADAPS_OK;
            bool said = ad_onnx_operator_types(row) & AD_TYPE_BIT(types[k]);
            ck_assert_msg(taken == said, "%s of %s: the table says %d: %s", row->type,
                          ad_type_name(types[k]), said, err.message);
            ad_graph_free(graph);
        }
}
END_TEST

/* Whether a list with "; " between its entries has this one. */
static bool has_entry(const char *list, const char *entry)
{
    size_t length = strlen(entry);
    for (const char *at = list; at; at = strstr(at, "; ") ? strstr(at, "; ") + 2 : NULL)
        if (strncmp(at, entry, length) == 0 && (!at[length] || at[length] == ';'))
            return true;
    return false;
}

static size_t count_entries(const char *list)
{
    size_t count = list != NULL;
    for (const char *at = list; at && (at = strstr(at, "; ")); at += 2)
        count++;
    return count;
}

START_TEST(refusals)
{
    size_t said = 0, tried = 0;
    const struct ad_onnx_operator *row;
    for (size_t i = 0; (row = ad_onnx_operator_at(i)); i++)
        said += count_entries(row->refuses);
    for (size_t i = 0; i < NFORMS; i++) {
        const struct operator_form *form = &forms[i];
        row = ad_onnx_operator_of(form->type);
        ck_assert_msg(row, "%s is not in the table", form->type);
        if (!form->refused)
            continue;
        tried++;
        ck_assert_msg(has_entry(row->refuses, form->refused), "%s: the table does not say '%s'",
                      form->type, form->refused);
        for (int opset = form->from; opset <= form->to; opset++) {
            struct adaps_error err = {0};
            struct ad_graph *graph;
            ck_assert_msg(import(form, opset, 1, false, &graph, &err) == ADAPS_EINPUT,
                          "%s, opset %d, is not refused: %s", form->type, opset, form->refused);
            ck_assert_msg(strstr(err.message, form->why), "%s: '%s' lacks '%s'", form->type,
                          err.message, form->why);
        }
    }
    ck_assert_uint_eq(said, tried);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("onnx_operators");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, versions);
    tcase_add_test(tc, splits);
    tcase_add_test(tc, types_at_run_time);
    tcase_add_test(tc, refusals);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
