/* ONNX model -> typed graph: shapes inferred, batch normalisation folded, activations fused, no-ops
 * dropped, constants folded, layout chosen (NHWC for feature maps). */
#ifndef AD_IR_IMPORT_H
#define AD_IR_IMPORT_H

#include "ir/graph.h"
#include "onnx/model.h"

/* A run-time input to be bound as a constant before import (tests pass parameters this way). */
struct ad_binding {
    const char *input;
    const struct ad_onnx_tensor *tensor; /* any supported element type */
};

/* Options may be NULL. Requires a loaded model, which may be freed after: the graph shares only the
 * model's file with it, which it keeps open for the weights that are still there (ir/weight.h).
 * *out is the caller's (ad_graph_free); it satisfies ad_graph_verify(graph, true).
 * Weight digests are filled. ADAPS_EINPUT names operator and node of whatever is not supported. */
struct ad_import_options {
    const struct ad_binding *bindings;
    size_t nbindings;
};
AD_MUST_CHECK enum adaps_status ad_ir_import(struct ad_onnx_model *model,
                                             const struct ad_import_options *options,
                                             struct ad_graph **out, struct adaps_error *err);

/* True when nodes of this ONNX operator are imported, in at least one form. */
bool ad_ir_operator_known(const char *op_type);

#endif
