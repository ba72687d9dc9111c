/* Plans that divide the early layers by tiles and the later ones by channels, with sums in blocks.
 */
#ifndef AD_SEARCH_PUBLISHED_DEEPERTHINGS_H
#define AD_SEARCH_PUBLISHED_DEEPERTHINGS_H

#include "search/result.h"

/* The best of them with parts in proportion to weight[0 .. ndevices), which are not all 0; ahead:
 * tasks may run, and rows be sent, before their turn. strategy: for messages. result->graph is the
 * graph of the plan where sums are in blocks. ADAPS_NO as ad_search_result_build(). */
AD_MUST_CHECK enum adaps_status ad_channels_plan(const struct ad_search_problem *problem,
                                                 const char *strategy, const double *weight,
                                                 bool ahead, struct ad_search_result *result,
                                                 struct adaps_error *err);

/* Strategy `deeperthings`: equal parts. */
AD_MUST_CHECK enum adaps_status ad_deeperthings_plan(const struct ad_search_problem *problem,
                                                     struct ad_search_result *result,
                                                     struct adaps_error *err);

#endif
