/* Shared by the files of plan/ only. */
#ifndef AD_PLAN_INTERNAL_H
#define AD_PLAN_INTERNAL_H

#include "plan/plan.h"

/* What a plan file may hold: far beyond any network that runs on small computers, and small enough
 * that a hostile file cannot make a reader spend minutes or gigabytes. */
#define AD_PLAN_MAX_OPS 100000
#define AD_PLAN_MAX_VALUES 300000
#define AD_PLAN_MAX_WEIGHTS 300000
#define AD_PLAN_MAX_ENDS 1024 /* network inputs, outputs */
#define AD_PLAN_MAX_STEPS 1000000
#define AD_PLAN_MAX_TASKS 1000000
#define AD_PLAN_MAX_OPERANDS 4000000 /* of the tasks of one device, parameters included */

/* ADAPS_EINPUT names the count that is beyond its limit. */
AD_MUST_CHECK enum adaps_status ad_plan_check_graph_limits(size_t ops, size_t values,
                                                           size_t weights, size_t inputs,
                                                           size_t outputs, struct adaps_error *err);

/* The slices that a device's programs of all turns take: those of its tasks' weights and biases,
 * and the constants that they read, each (weight, row0, row1) once, in this order. Digests are not
 * filled. The graph and the tasks must have been verified. items is the caller's (ad_free).
 * ADAPS_EINPUT beyond the limits. */
AD_MUST_CHECK enum adaps_status ad_slices_find(const struct ad_graph *graph,
                                               const struct ad_schedule *first,
                                               const struct ad_stream *stream, int device,
                                               struct ad_slices *out, struct adaps_error *err);

/* An empty plan with room for the slices of ndevices. NULL without memory. Free: adaps_plan_free.
 */
struct adaps_plan *ad_plan_alloc(int ndevices);

/* The plan of a spare; not the graph, which is another plan's. */
void ad_spare_free(struct ad_spare *spare);

/* The spares of `plan` with the addresses and keys of another cluster of the same devices: an array
 * of plan->nspares. What they have besides is borrowed; ad_spares_drop() frees either what is
 * new of them, or all that is not in the new ones. */
AD_MUST_CHECK enum adaps_status ad_spares_readdress(const struct adaps_plan *plan,
                                                    const struct ad_cluster *cluster,
                                                    struct ad_spare **out, struct adaps_error *err);
void ad_spares_drop(struct ad_spare *spares, int count);

/* The last step of making a plan: its digest, once, of everything else in it. */
AD_MUST_CHECK enum adaps_status ad_plan_seal(struct adaps_plan *plan, struct adaps_error *err);

#endif
