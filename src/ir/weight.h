/* The numbers of a weight: in memory, or made from the model's file each time some of its rows are
 * asked for. Networks have hundreds of megabytes of weights, which are never needed all at once. */
#ifndef AD_IR_WEIGHT_H
#define AD_IR_WEIGHT_H

#include "ir/graph.h"
#include "onnx/model.h"

/* How a weight is made of a tensor: its element (o, a, m, b), in this order in memory, is the
 * tensor's element o * row_step + a * outer_step + m * middle_step + b * inner_step, times
 * scale[o]. Either the rows lie one after the other in the tensor, or they are interleaved:
 * row_step = 1, middle = 1, the others multiples of rows.
 *
 * With `blocks` above 1 (ir/partial.h) the rows o are there once for each block, and those of block
 * k hold elements k * inner on of the last dimension, which has blocks * inner. */
struct ad_recipe {
    int64_t rows, outer, middle, inner;
    int64_t blocks; /* 0: as 1 */
    int64_t row_step, outer_step, middle_step, inner_step;
    const double *scale;  /* one per o; NULL: 1 */
    const float *numbers; /* the tensor; NULL: it is in the file */
    struct ad_onnx_stored stored;
};

/* Elements of a row. */
static inline int64_t ad_recipe_row(const struct ad_recipe *recipe)
{
    return recipe->outer * recipe->middle * recipe->inner;
}

/* A copy for a weight of a graph, which keeps the file (not `numbers`, which must be NULL). NULL
 * without memory. */
struct ad_recipe *ad_recipe_copy(const struct ad_recipe *recipe);
void ad_recipe_free(struct ad_recipe *recipe); /* NULL is fine */

/* Rows [r0, r1), of outer * middle * inner floats each, to `to`. ADAPS_EINPUT: the file could not
 * be read, or has changed. */
AD_MUST_CHECK enum adaps_status ad_recipe_read(const struct ad_recipe *recipe, int64_t r0,
                                               int64_t r1, float *to, struct adaps_error *err);

/* Rows that are to be read at a time so that they take no more than AD_WEIGHT_BYTES, at least 1. */
#define AD_WEIGHT_BYTES ((int64_t)32 << 20)
int64_t ad_weight_rows_at_a_time(const struct ad_weight *weight);

/* Rows [r0, r1) of a weight, of row_elements floats each, to `to`. Thread-safe. ADAPS_EINTERNAL:
 * the weight has no data ("is not attached"); ADAPS_EINPUT as ad_recipe_read(). */
AD_MUST_CHECK enum adaps_status ad_weight_read(const struct ad_weight *weight, int64_t r0,
                                               int64_t r1, float *to, struct adaps_error *err);

/* The digest of these rows' bytes. */
AD_MUST_CHECK enum adaps_status ad_weight_digest(const struct ad_weight *weight, int64_t r0,
                                                 int64_t r1, struct ad_digest *out,
                                                 struct adaps_error *err);

/* Whether the numbers can be had; those of all weights of a graph. */
bool ad_weight_attached(const struct ad_weight *weight);
bool ad_weights_attached(const struct ad_graph *graph);

/* Moves the numbers of one weight to another of the same shape, which loses its own. */
void ad_weight_move(struct ad_weight *from, struct ad_weight *to);

#endif
