/* An archive: layouts none of which is as good as another one in every objective and better in
 * some. It is bounded: where there are too many, one goes that others are close to. */
#ifndef AD_SEARCH_PARETO_ARCHIVE_H
#define AD_SEARCH_PARETO_ARCHIVE_H

#include "search/eval.h"

#define AD_ARCHIVE 48 /* layouts, at most */

/* Which objectives count. */
struct ad_pareto_objectives {
    enum ad_objective list[AD_OBJECTIVES];
    int count;
};

/* Whether a is nowhere worse than b, and somewhere better. figure: by objective, less is better. */
bool ad_pareto_dominates(const struct ad_pareto_objectives *objectives, const int64_t *a,
                         const int64_t *b);

/* Whether they are equal in all that counts. */
bool ad_pareto_equal(const struct ad_pareto_objectives *objectives, const int64_t *a,
                     const int64_t *b);

/* Which of `count` figures, none of which dominates another, has to go: the one with the smallest
 * distance between its neighbours, over all objectives (the crowding distance of NSGA-II); never
 * one that is the best in an objective, if there is another one. Ties: the last. */
int ad_pareto_most_crowded(const struct ad_pareto_objectives *objectives,
                           const int64_t *const *figure, int count);

struct ad_archive {
    const struct ad_pareto_objectives *objectives; /* borrowed */
    struct ad_best best[AD_ARCHIVE + 1];           /* valid ones first */
    int count;
};

AD_MUST_CHECK enum adaps_status ad_archive_init(struct ad_archive *out,
                                                const struct ad_pareto_objectives *objectives,
                                                const struct ad_context *context,
                                                struct adaps_error *err);
void ad_archive_fini(struct ad_archive *archive);

/* Takes a copy of a layout that is within memory and caps, unless one that is there is as good;
 * those that are worse go. For ad_eval_observer.see: data is the archive. */
void ad_archive_see(void *data, const struct ad_layout *layout, const struct ad_score *score);

#endif
