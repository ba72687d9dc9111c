/* What it takes to score layouts of a problem's network, or of the same with sums in blocks
 * (ir/partial.h). */
#ifndef AD_SEARCH_TRIAL_H
#define AD_SEARCH_TRIAL_H

#include "search/eval.h"

struct ad_trial {
    struct ad_search_problem problem;
    struct ad_graph *graph; /* owned; NULL: the problem's own */
    struct ad_blocks blocks;
    struct ad_context context;
    struct ad_eval eval;
    struct ad_layout layout;
};

/* graph: with sums in blocks, which the trial owns from now on, also on failure; NULL: the
 * problem's. Free with ad_trial_fini(), on failure, too. The trial must stay where it is. */
AD_MUST_CHECK enum adaps_status ad_trial_init(struct ad_trial *out,
                                              const struct ad_search_problem *problem,
                                              struct ad_graph *graph, struct adaps_error *err);
void ad_trial_fini(struct ad_trial *trial);

/* The trial's graph, which is the caller's from now on; NULL: the problem's own. */
struct ad_graph *ad_trial_take_graph(struct ad_trial *trial);

#endif
