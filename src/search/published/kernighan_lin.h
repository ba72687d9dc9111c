/* Moves and swaps in the manner of Kernighan and Lin between all parts of a work graph at once,
 * with hard limits of memory: algorithms 1 and 2 of de Oliveira and Borin (work_graph.h). */
#ifndef AD_SEARCH_PUBLISHED_KERNIGHAN_LIN_H
#define AD_SEARCH_PUBLISHED_KERNIGHAN_LIN_H

#include "search/published/work_state.h"

struct ad_kl_options {
    enum ad_work_objective objective;
    const bool *fixed; /* by vertex: stays where it is; NULL: none */
    uint64_t seed;     /* of the devices that are tried at random */
    int patience;      /* an epoch ends after so many operations without a better partitioning;
                          0: when every vertex is locked, as in the paper */
    int rounds; /* how often it begins again from the best, with some vertices elsewhere; 0 in the
                   paper */
    /* Whether a vertex may go to a device as things are; NULL: always. */
    bool (*allows)(const void *data, const int *part, int v, int to);
    const void *data;
};

struct ad_kl_effort {
    int epochs;
    int64_t operations; /* moves and swaps made, those taken back included */
};

/* Improves part until no epoch does, and never makes it worse. Of a start beyond the memory limits
 * the excess becomes less first. *effort (nullable) is added to. */
AD_MUST_CHECK enum adaps_status ad_kl_improve(const struct ad_work_graph *graph,
                                              const struct ad_kl_options *options, int *part,
                                              struct ad_kl_effort *effort, struct adaps_error *err);

#endif
