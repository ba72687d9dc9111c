/* The messages of a plan: SEND and RECV steps paired by tag. */
#ifndef AD_REPORT_MESSAGES_H
#define AD_REPORT_MESSAGES_H

#include "plan/plan.h"

struct ad_message {
    uint32_t tag;
    int from, send_step, to, recv_step; /* devices, and the steps in their programs */
    int value;
    struct ad_region region;
    int64_t bytes;
    int64_t start_ns, end_ns; /* predicted: while it occupies both links */
};

struct ad_messages {
    struct ad_message *items; /* by tag */
    size_t count;
};

/* Messages without a partner, which no verified plan has, are left out. */
AD_MUST_CHECK enum adaps_status
ad_messages_init(struct ad_messages *out, const struct adaps_plan *plan, struct adaps_error *err);
void ad_messages_fini(struct ad_messages *messages);

/* The message with this tag, or NULL. */
const struct ad_message *ad_messages_find(const struct ad_messages *messages, uint32_t tag);

#endif
