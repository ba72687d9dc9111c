/* WHOLE ops: the words of the engine's buffers as arrays for exec/kernels/whole.h, and back. */
#ifndef AD_EXEC_ENGINE_WHOLE_H
#define AD_EXEC_ENGINE_WHOLE_H

#include "exec/kernels/whole.h"
#include "ir/graph.h"

/* A value and where it lies, whole. */
struct ad_whole_operand {
    const struct ad_value *value;
    float *words;
};

/* One op; the lists have room for all inputs and belong to it. */
struct ad_whole_job {
    const struct ad_op *op;
    struct ad_whole_operand *inputs, output;
    struct ad_array *arrays;
};

/* Room for the inputs of an op, to be filled by the caller. */
AD_MUST_CHECK enum adaps_status ad_whole_job_init(struct ad_whole_job *call, const struct ad_op *op,
                                                  struct adaps_error *err);
void ad_whole_job_fini(struct ad_whole_job *call);

/* Computes the output. ADAPS_EINPUT: the numbers of an input do not fit the op, or true dims that
 * are none came from another device; named. */
AD_MUST_CHECK enum adaps_status ad_whole_job_run(const struct ad_whole_job *call,
                                                 struct adaps_error *err);

#endif
