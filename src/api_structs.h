/* What the functions of adaps.h share: structs that may grow, and tensors. */
#ifndef AD_API_STRUCTS_H
#define AD_API_STRUCTS_H

#include "plan/plan.h"

/* Reads a caller's struct, which begins with struct_size, by the rule of adaps.h. size: of the
 * struct here; first: what it was in its first release. Fields that the caller's does not have are
 * zero. ADAPS_EUSAGE names the struct. Whoever adds fields to one leaves no gaps between them: what
 * is in a gap is undefined, and would count as a field that is not known. */
AD_MUST_CHECK enum adaps_status ad_struct_read(void *to, size_t size, size_t first,
                                               const void *from, const char *name,
                                               struct adaps_error *err);

/* Fills a caller's struct, whose struct_size stays: what it does not have is left out, what this
 * library does not know of it becomes zero. */
AD_MUST_CHECK enum adaps_status ad_struct_write(void *to, const void *from, size_t size,
                                                size_t first, const char *name,
                                                struct adaps_error *err);

/* The caller's arrays of struct adaps_tensor: element i, read. */
AD_MUST_CHECK enum adaps_status ad_api_tensor(const struct adaps_tensor *tensors, int i,
                                              struct adaps_tensor *out, struct adaps_error *err);

/* Input or output number i of the network. */
void ad_api_info(const struct ad_graph *graph, const int *values, int i,
                 struct adaps_tensor_info *out);

/* A network's inputs from a caller's tensors: as they are where they have the network's type and
 * are aligned, and copies of those that have not, or of all. */
struct ad_api_inputs {
    struct ad_tensor *tensors;
    bool *owned;
    int count;
};
/* ADAPS_EINPUT and ADAPS_EUSAGE as adaps_session_run(). On failure there is nothing to finish. */
AD_MUST_CHECK enum adaps_status ad_api_inputs_take(const struct ad_graph *graph,
                                                   const struct adaps_tensor *tensors, int n,
                                                   bool copy, struct ad_api_inputs *out,
                                                   struct adaps_error *err);
void ad_api_inputs_fini(struct ad_api_inputs *inputs);

/* The outputs that a caller's tensors want: before the inference they are checked, `wanted` gets
 * their numbers (of n); after it they get their elements. Errors as adaps_session_run(). */
AD_MUST_CHECK enum adaps_status ad_api_outputs_check(const struct ad_graph *graph,
                                                     const struct adaps_tensor *tensors, int n,
                                                     int *wanted, struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_api_outputs_give(const struct ad_graph *graph,
                                                    const struct ad_tensor *outputs,
                                                    const int *wanted, struct adaps_tensor *tensors,
                                                    int n, struct adaps_error *err);

/* An output of an answer, in place. */
void ad_api_output(const struct adaps_tensor_info *info, const struct ad_tensor *answer,
                   struct adaps_tensor *out);

#endif
