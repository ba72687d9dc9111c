/* ONNX model -> typed graph: shapes inferred, batch normalisation folded, activations fused, no-ops
 * dropped, constants folded, layout chosen (NHWC for feature maps). */
#ifndef AD_IMPORT_IMPORT_H
#define AD_IMPORT_IMPORT_H

#include "ir/graph.h"
#include "onnx/model.h"

/* A run-time input to be bound as a constant before import (tests pass parameters this way). */
struct ad_binding {
    const char *input;
    const struct ad_onnx_tensor *tensor; /* any supported element type */
};

/* The size of a symbolic dimension of the network's inputs, by its name in the file; a dimension
 * without size and name is called INPUT:AXIS, for example "data:0". */
struct ad_dim_binding {
    const char *name;
    size_t length; /* of the name, which need not end there */
    int64_t size;  /* at least 1 */
};
#define AD_MAX_DIM_BINDINGS 32
struct ad_dim_bindings {
    struct ad_dim_binding items[AD_MAX_DIM_BINDINGS];
    size_t count;
};

#define AD_ASSUMED 256

/* Options may be NULL. Requires a loaded model, which may be freed after: the graph shares only the
 * model's file with it, which it keeps open for the weights that are still there (ir/weight.h).
 * *out is the caller's (ad_graph_free); it satisfies ad_graph_verify(graph, true).
 * Weight digests are filled. ADAPS_EINPUT names operator and node of whatever is not supported.
 *
 * Symbolic dimensions get their sizes from `dims`, else from the input of the same name of `like`,
 * else 1. A name in `dims` that the model does not have is ADAPS_EUSAGE, unless dims_used is given:
 * its elements become true for the names that the model has. */
struct ad_import_options {
    const struct ad_binding *bindings;
    size_t nbindings;
    const struct ad_dim_bindings *dims; /* NULL: none */
    bool *dims_used;
    const struct ad_graph *like; /* the graph of a plan of this model, or NULL */
    char *assumed; /* AD_ASSUMED bytes for the names of the symbolic dimensions that became 1
                    * because they have no size, without the batch; or NULL */
};
AD_MUST_CHECK enum adaps_status ad_ir_import(struct ad_onnx_model *model,
                                             const struct ad_import_options *options,
                                             struct ad_graph **out, struct adaps_error *err);

#endif
