/* The ends of a network: its inputs and outputs as tensors of the caller's, in ONNX order, and as
 * the words in which such a value travels between controller, agents and engine: of an open value
 * with its true dims (ir/graph.h). */
#ifndef AD_IR_ENDS_H
#define AD_IR_ENDS_H

#include "ir/graph.h"

/* The true dims of a value that lies in these words: its own, or of an open value those after the
 * elements. ADAPS_EINPUT: they are not within the most that they may be. */
AD_MUST_CHECK enum adaps_status ad_end_dims(const struct ad_value *value, const float *words,
                                            int64_t *dims, struct adaps_error *err);

/* Whether dims are an input's. ADAPS_EINPUT says what they are and should be. */
AD_MUST_CHECK enum adaps_status ad_end_check_dims(const struct ad_value *value, int rank,
                                                  const int64_t *dims, struct adaps_error *err);

/* Whether a network's inputs are of its types and dims. ADAPS_EINPUT likewise. */
AD_MUST_CHECK enum adaps_status ad_ends_check_inputs(const struct ad_graph *graph,
                                                     const struct ad_tensor *inputs,
                                                     struct adaps_error *err);

/* Words of a value, as many as its box has. */
static inline size_t ad_end_words(const struct ad_value *value)
{
    return (size_t)ad_box_elements(value->box);
}

/* Puts a tensor that has been checked into the words. */
void ad_end_put(const struct ad_value *value, const struct ad_tensor *tensor, float *words);

/* A new tensor of the value that lies in these words; the caller's (ad_tensor_fini). ADAPS_EINPUT
 * as ad_end_dims(). */
AD_MUST_CHECK enum adaps_status ad_end_take(const struct ad_value *value, const float *words,
                                            struct ad_tensor *out, struct adaps_error *err);

#endif
