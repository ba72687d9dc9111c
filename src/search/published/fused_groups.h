/* Plans of fused groups: runs of ops in the graph's order, each shared in one way, that devices
 * compute without an exchange within the run. Of values that a later group reads, or the network
 * returns, devices compute disjoint parts, and of all others whatever their parts need: the overlap
 * is computed more than once. Groups of AD_SCHEME_SOURCE and AD_SCHEME_CHANNELS have one op.
 *
 * In a network with branches a group may end anywhere, also within a branch; a value that is read
 * in its own group and later, too, is exchanged within the group. */
#ifndef AD_SEARCH_PUBLISHED_FUSED_GROUPS_H
#define AD_SEARCH_PUBLISHED_FUSED_GROUPS_H

#include "search/eval.h"
#include "search/published/fused_model.h"

/* Ops [the end of the group before, end). */
struct ad_fused_group {
    int end;
    enum ad_scheme scheme;
};

/* The groups with the shortest sum of computing and exchanges, by dynamic programming over the ends
 * of groups and their schemes, from the first op to the last. Exact where each op reads only the
 * one before; with branches, earlier groups are those that are best for the ops before,
 * and all on the source is taken if it takes less. Groups have
 * at most as many ops as ad_fused_longest() says. groups: room for nops; *seconds: what they take.
 */
AD_MUST_CHECK enum adaps_status ad_fused_best(const struct ad_fused_model *model,
                                              struct ad_fused_group *groups, int *count,
                                              double *seconds, struct adaps_error *err);
int ad_fused_longest(const struct ad_fused_model *model);

/* log10 of how many plans there are at most: of each op its scheme, and whether a group ends. */
double ad_fused_space(const struct ad_fused_model *model);

/* What given groups take; INFINITY when an op cannot be shared so. */
AD_MUST_CHECK enum adaps_status ad_fused_seconds(const struct ad_fused_model *model,
                                                 const struct ad_fused_group *groups, int count,
                                                 double *seconds, struct adaps_error *err);

/* Their layout, but for its head. */
void ad_fused_lay(const struct ad_fused_model *model, const struct ad_fused_group *groups,
                  int count, struct ad_layout *layout);

/* Tries the layout of the best groups, and sets eval->space_log10. */
AD_MUST_CHECK enum adaps_status
ad_fused_try(struct ad_eval *eval, const struct ad_fused_options *options, struct ad_best *best);

#endif
