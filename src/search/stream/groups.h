/* Chains whose stages are groups of devices, each of which computes the whole stage of some of the
 * inferences: where memory does not hold the network, but more than a part of it. */
#ifndef AD_SEARCH_STREAM_GROUPS_H
#define AD_SEARCH_STREAM_GROUPS_H

#include "search/published/chain.h"

/* One chain for each way through the groups, at most `room` of them; *count: how many. None: no
 * chain fits. ADAPS_EINTERNAL without memory. */
AD_MUST_CHECK enum adaps_status ad_groups_chains(const struct ad_context *context,
                                                 const struct ad_chains *chains, int room,
                                                 struct ad_chain *out, int *count,
                                                 struct adaps_error *err);

#endif
