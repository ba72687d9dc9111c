/* A deliberately naive interpreter of ad_graph: plain loops, double accumulation, no sharing of
 * code with the runtime. The oracle for the importer and for every kernel. */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include "ir/graph.h"

/* inputs: graph->ninputs tensors in ONNX order, of exactly the inputs' dims (else ADAPS_EINPUT).
 * outputs: graph->noutputs uninitialised tensors; on success the caller's (ad_tensor_fini), in ONNX
 * order; untouched or finished on failure. */
AD_MUST_CHECK enum adaps_status ad_reference_run(const struct ad_graph *graph,
                                                 const struct ad_tensor *inputs,
                                                 struct ad_tensor *outputs,
                                                 struct adaps_error *err);

/* Whether it knows how to compute a kind. */
bool ad_reference_has(enum ad_op_kind kind);

#endif
