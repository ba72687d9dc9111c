/* Where the numbers of a plan's weights come from. A plan file has their digests only; whoever
 * needs the numbers (engines, push) asks a source: the graph of the model, an agent's cache,
 * anything. */
#ifndef AD_PLAN_WEIGHT_SOURCE_H
#define AD_PLAN_WEIGHT_SOURCE_H

#include "plan/plan.h"

struct ad_weight_source {
    /* Copies rows [r0, r1) of slice->weight, which the slice has, to `to`. */
    enum adaps_status (*read)(const struct ad_weight_source *source, const struct ad_slice *slice,
                              int64_t r0, int64_t r1, float *to, struct adaps_error *err);
    const struct ad_graph *graph; /* of ad_weights_of_graph() */
    void *self;                   /* of other sources */
};

/* The weights that are attached to a graph, which must outlive the source: that of a plan which was
 * just made, or one for which ad_plan_check_weights() holds. Reading fails with ADAPS_EINTERNAL,
 * naming the weight, when it is not attached; with ADAPS_EINPUT when the model's file cannot be
 * read. */
struct ad_weight_source ad_weights_of_graph(const struct ad_graph *graph);

/* Whether the graph, freshly imported from a model file, has the weights that the plan was made
 * with, by their digests. ADAPS_EINPUT: the model is not the one that was planned. */
AD_MUST_CHECK enum adaps_status ad_plan_check_weights(const struct adaps_plan *plan,
                                                      const struct ad_graph *graph,
                                                      struct adaps_error *err);

/* Reads a slice's blob from its beginning to its end, in pieces. Plan and source are borrowed. */
struct ad_blob {
    const struct ad_weight_source *source;
    const struct ad_weight *weight;
    struct ad_slice slice;
    int64_t row; /* the next */
    float *rows; /* some of them: bytes [at, filled) are next */
    size_t at, filled;
};
AD_MUST_CHECK enum adaps_status ad_blob_init(struct ad_blob *blob, const struct adaps_plan *plan,
                                             const struct ad_weight_source *source,
                                             const struct ad_slice *slice, struct adaps_error *err);

/* The next `size` bytes, of which there must be so many. Errors are the source's. */
AD_MUST_CHECK enum adaps_status ad_blob_read(struct ad_blob *blob, void *to, size_t size,
                                             struct adaps_error *err);
void ad_blob_fini(struct ad_blob *blob);

#endif
