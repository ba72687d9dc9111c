/* The messages of a plan: SEND and RECV steps paired by tag. */
#ifndef AD_REPORT_MESSAGES_H
#define AD_REPORT_MESSAGES_H

#include "net/trace.h"

struct ad_message {
    uint32_t tag;
    int from, send_step, to, recv_step; /* devices, and the steps in their programs */
    int value;
    struct ad_region region;
    int64_t bytes;
    int64_t start_ns, end_ns; /* predicted: while it occupies both links */
    bool timed;               /* measured: somebody waited for it, so that its end is known */
};

struct ad_messages {
    struct ad_message *items; /* by tag */
    size_t count;
};

/* Messages without a partner, which no verified plan has, are left out. */
AD_MUST_CHECK enum adaps_status
ad_messages_init(struct ad_messages *out, const struct adaps_plan *plan, struct adaps_error *err);
void ad_messages_fini(struct ad_messages *messages);

/* Replaces predicted by measured times: a message ends when it is there, and starts when it has
 * been handed over and those that ended before it have left both links free. Where nobody waited
 * for it, only bounds of its end are known: it is taken to need what the plan says. */
AD_MUST_CHECK enum adaps_status ad_messages_measure(struct ad_messages *messages,
                                                    const struct adaps_plan *plan,
                                                    const struct ad_trace *trace,
                                                    struct adaps_error *err);

/* The same estimate from predicted times, to be compared with it: here, too, messages end when they
 * are there, latency included. */
AD_MUST_CHECK enum adaps_status ad_messages_arrive(struct ad_messages *messages,
                                                   const struct adaps_plan *plan,
                                                   struct adaps_error *err);

/* The message with this tag, or NULL. */
const struct ad_message *ad_messages_find(const struct ad_messages *messages, uint32_t tag);

#endif
