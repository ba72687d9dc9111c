/* The most memory that a session takes on a device, found before anything of it is allocated: what
 * does not fit is refused by name, and not killed by the kernel later. */
#ifndef AD_EXEC_AGENT_CEILING_H
#define AD_EXEC_AGENT_CEILING_H

#include "plan/plan.h"

struct ad_ceiling {
    uint64_t planned; /* bytes that the planner counts: buffers and weights */
    uint64_t bytes;   /* with packing, scratch, messages, inputs and outputs, threads */
};
AD_MUST_CHECK enum adaps_status ad_ceiling_find(const struct adaps_plan *plan, int device,
                                                int threads, struct ad_ceiling *out,
                                                struct adaps_error *err);

/* Whether a session fits: the plan's need into what its devices file gives the device, all of it
 * into the `left` bytes that there are. ADAPS_EAGENT says which does not, with both numbers. */
AD_MUST_CHECK enum adaps_status ad_ceiling_check(const struct adaps_plan *plan, int device,
                                                 int threads, uint64_t left,
                                                 struct adaps_error *err);

#endif
