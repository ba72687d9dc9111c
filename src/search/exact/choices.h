/* What each op of a small instance may look like; for exhaustive.c. */
#ifndef AD_SEARCH_EXACT_CHOICES_H
#define AD_SEARCH_EXACT_CHOICES_H

#include "search/context.h"

/* The layouts of one op that do not depend on its readers, one for each way of giving regions of
 * its output to the devices. */
struct ad_choices {
    size_t count;
    bool derivable; /* may also be computed as its readers need it: derived, or AD_DIM_EACH */
    struct ad_op_layout *ops;  /* [choice] */
    int *cuts;                 /* [choice * (ndevices + 1) + d] */
    struct ad_region *regions; /* [choice * ndevices + d] */
};

/* The choices of all ops, caller's to free, and log10 of an upper bound of how many layouts they
 * make, hubs, orders and early sends included. *out is NULL when there are clearly more than
 * `limit`; then the bound is cruder. ADAPS_EINTERNAL without memory. */
AD_MUST_CHECK enum adaps_status ad_choices_make(const struct ad_context *context, int64_t limit,
                                                struct ad_choices **out, double *space_log10,
                                                struct adaps_error *err);
void ad_choices_free(struct ad_choices *choices, int nops);

/* Whether a hub can be of use: with three devices or more. With two the messages are the same as
 * without; some may only be received earlier in a program, which makes nothing sooner. */
static inline bool ad_choices_hubs(const struct ad_context *context)
{
    return context->problem->cluster->ndevices > 2;
}

#endif
