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

/* What a node of the file is for the graph. */
enum ad_node_role {
    AD_NODE_NOTHING, /* no output needs it, or what it makes is constant */
    AD_NODE_VIEW,    /* it passes on what it reads, under other dims or in another order */
    AD_NODE_COMPUTES
};

/* A tensor of the file. */
struct ad_tensor_facts {
    const char *name; /* the model's */
    int32_t type;     /* TensorProto.DataType; 0: not known */
    bool constant;
    int rank;
    int64_t dims[AD_MAX_RANK];
    struct ad_onnx_tensor folded; /* the numbers of a constant that nodes make, which is an output
                                     or read by some node that is not constant; its own dims do not
                                     count */
};

/* What is known of the file's nodes and tensors after an import. */
struct ad_import_facts {
    enum ad_node_role *roles; /* by node */
    size_t nnodes;
    int *order; /* the nodes that outputs need, each after those that it reads */
    size_t norder;
    struct ad_tensor_facts *tensors; /* outputs, and what the nodes that they need read and make, by
                                        name */
    size_t ntensors;
};
void ad_import_facts_fini(struct ad_import_facts *facts);
/* NULL when there is none of the name. */
const struct ad_tensor_facts *ad_import_tensor(const struct ad_import_facts *facts,
                                               const char *name);

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
    const char *const *standing; /* names of nodes that do not disappear in the op of another one,
                                  * as they would by default */
    size_t nstanding;
    char *assumed;     /* AD_ASSUMED bytes for the names of the symbolic dimensions that became 1
                        * because they have no size, without the batch; or NULL */
    const int *places; /* by node of the file: nodes of different places do not become one op, but
                        * where they have to; or NULL */
    struct ad_import_facts *facts; /* filled on success, then the caller's to free; or NULL. Then
                                    * ops know their nodes, too */
};
AD_MUST_CHECK enum adaps_status ad_ir_import(struct ad_onnx_model *model,
                                             const struct ad_import_options *options,
                                             struct ad_graph **out, struct adaps_error *err);

#endif
