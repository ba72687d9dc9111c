/* What ONNX says of an operator, whatever its version, as far as importing takes it. */
#ifndef AD_IMPORT_OPERATORS_H
#define AD_IMPORT_OPERATORS_H

#include "import/internal.h"
#include "ir/operators.h"

/* The element type of an operator's outputs: that of an input, a fixed one, or one that the node
 * states itself (an attribute, or the branch of an If). */
enum ad_result {
    AD_RESULT_FIRST,
    AD_RESULT_SECOND,
    AD_RESULT_THIRD,
    AD_RESULT_INT32,
    AD_RESULT_BOOL,
    AD_RESULT_INT64,
    AD_RESULT_STATED
};

/* What `import` reads of values computed at run time; of others the node becomes an operator that
 * runs whole (whole.c). */
enum ad_takes {
    AD_TAKES_FLOATS, /* float32 of known dims */
    AD_TAKES_OPEN,   /* float32 */
    AD_TAKES_KNOWN,  /* any type, of known dims */
    AD_TAKES_ANY
};

/* How an operator is executed. */
enum ad_runs {
    AD_RUNS_SPLIT, /* devices share it */
    AD_RUNS_WHOLE, /* on one device */
    AD_RUNS_NOT    /* it is a constant, which the importer computes */
};

/* What importing needs, then what people want to know (docs/operators.md): these facts hold of the
 * newest version, on a map N x C x H x W of float32 where `form` says no more. Tests compare them
 * with what is imported (tests/import/test_onnx_operators.c). */
struct ad_onnx_operator {
    const char *type;
    ad_import_fn *import;
    int since;              /* the first opset in which the operator is what `import` reads */
    const char *attributes; /* of all its versions, with spaces between them */
    unsigned same;          /* a bit per input: these are of one element type */
    enum ad_result result;
    enum ad_takes takes;
    const char *versions; /* the opsets that changed it, also those before `since` */
    enum ad_runs runs;
    enum ad_reach h, w, c; /* AD_RUNS_SPLIT: what a part of the result reads along each axis */
    bool sums;             /* devices may share its input channels, as partial sums */
    bool products;         /* sums of products: the bits are those of one kind of processor */
    bool numbers;          /* not of booleans, though others that run whole as it does are */
    const char *form;      /* the form that is meant; NULL: there is just one */
    const char *refuses;   /* forms that are refused, with "; " between them; NULL: none */
};

/* The row of an operator on bytes that stands for one on floats between DequantizeLinear and
 * QuantizeLinear (qlinear.c), which is not in this table; NULL: there is none. */
const struct ad_onnx_operator *ad_qlinear_operator_of(const char *type);

/* Whether a node only moves bytes that QuantizeLinear made; and its import, by what `import` does
 * with floats. */
bool ad_node_moves_bytes(const struct ad_node *node);
AD_MUST_CHECK enum adaps_status ad_import_moved_bytes(struct ad_node *node, ad_import_fn *import,
                                                      struct adaps_error *err);

/* Imports an operator on these values in the node's name, with these attributes. types: of the
 * values (TensorProto.DataType). *out: what becomes of its first output. */
AD_MUST_CHECK enum adaps_status ad_import_as(struct ad_node *node, const char *type,
                                             Onnx__AttributeProto **attributes, size_t nattributes,
                                             int ninputs, int *inputs, int32_t *types, int *out,
                                             struct adaps_error *err);

/* Rows in alphabetical order; NULL after the last one. */
const struct ad_onnx_operator *ad_onnx_operator_at(size_t index);

/* NULL: not supported. */
const struct ad_onnx_operator *ad_onnx_operator_of(const char *type);

/* Whether any version of the operator has an attribute of this name. */
bool ad_onnx_operator_has(const struct ad_onnx_operator *row, const char *attribute);

/* The types (AD_TYPE_BIT()) that its data may have when it is computed at run time. */
unsigned ad_onnx_operator_types(const struct ad_onnx_operator *row);

/* The element type (TensorProto.DataType) of a node's outputs, 0 when it is not known. inputs: the
 * types of its inputs, 0 likewise. */
int32_t ad_onnx_operator_result(const struct ad_onnx_operator *row, const Onnx__NodeProto *node,
                                const int32_t *inputs, int ninputs);

#endif
