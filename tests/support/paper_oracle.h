/* Oracles for the search of the paper's problem (search/paper/paper.h). Both find the least score;
 * ADAPS_NO with the number when a layer has, or (exhaustive) all layers together have, more layouts
 * than 10^7. The first enumerates every combination of layouts, the second goes layer by layer over
 * all pairs of layouts. bound = score. */
#ifndef TESTS_PAPER_ORACLE_H
#define TESTS_PAPER_ORACLE_H

#include "search/paper/model.h"

AD_MUST_CHECK enum adaps_status ad_paper_exhaustive(const struct ad_paper_problem *problem,
                                                    struct ad_paper_result *out,
                                                    struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_paper_dp(const struct ad_paper_problem *problem,
                                            struct ad_paper_result *out, struct adaps_error *err);

#endif
