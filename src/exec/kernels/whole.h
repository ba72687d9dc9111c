/* Computes the operators that run whole on one device (ir/whole.h). Plain and exact: the same bits
 * on every processor, whatever its vectors are, and one kind of NaN where something is computed;
 * one thread. To be called outside of ad_pool_run() (exec/kernels/xnn.h): denormals count, but in
 * FUNCTION, SOFTMAX, and POW and MATMUL of floats, which are the engine's kernels. */
#ifndef AD_EXEC_KERNELS_WHOLE_H
#define AD_EXEC_KERNELS_WHOLE_H

#include "ir/whole.h"

/* Computes `out` from inputs whose dims are the true ones (open is false). out->data has room for
 * `room` elements of its type and is not one of the inputs; out's type is known, its dims are set
 * here. Memory that it needs on the way it takes and gives back. ADAPS_EINPUT: an index outside of
 * its dimension, or dims that do not fit each other, named with their values; ADAPS_EINTERNAL: no
 * memory, or more elements than there is room for. */
AD_MUST_CHECK enum adaps_status ad_whole_run(const struct ad_whole *op,
                                             const struct ad_array *inputs, int ninputs,
                                             int64_t room, struct ad_array *out,
                                             struct adaps_error *err);

#endif
