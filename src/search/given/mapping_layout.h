/* From a mapping to assignments. */
#ifndef AD_SEARCH_GIVEN_MAPPING_LAYOUT_H
#define AD_SEARCH_GIVEN_MAPPING_LAYOUT_H

#include "schedule/schedule.h"
#include "search/given/mapping.h"

/* How fast a key's cores are at a class of operators, the network's main one
 * (ad_cost_main_class()), as a part of what its device does with all that keys name. */
double ad_mapping_key_speed(const struct ad_layer_mapping *mapping, int key,
                            enum ad_cost_class class, const struct ad_cluster *cluster);

/* The keys of an op: those of the nodes that it came from. ADAPS_EINPUT: they are of different
 * keys, though they are computed as one; names both. 0 where the op only changes a format. */
AD_MUST_CHECK enum adaps_status ad_mapping_op_keys(const struct ad_layer_mapping *mapping,
                                                   const struct ad_onnx_model *model,
                                                   const struct ad_import_facts *facts,
                                                   const struct ad_op *op, uint64_t *keys,
                                                   struct adaps_error *err);

/* The regions that a mapping says, by op: the device of its key; of several, bands of rows in
 * proportion to their speed, where there is one row only bands of channels, and what cannot be
 * divided whole on the fastest of them. Each comes in several assignments, which differ in order
 * and chunks: *out is the caller's, an array of *count (each ad_assignment_fini, then ad_free). */
AD_MUST_CHECK enum adaps_status
ad_mapping_assign(const struct ad_layer_mapping *mapping, const struct ad_onnx_model *model,
                  const struct ad_import_facts *facts, const struct ad_graph *graph,
                  const struct ad_cluster *cluster, bool u8, struct ad_assignment **out, int *count,
                  struct adaps_error *err);
void ad_mapping_assignments_free(struct ad_assignment *assignments, int count);

#endif
