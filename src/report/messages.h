/* The messages of a plan: SEND and RECV steps paired by tag. */
#ifndef AD_REPORT_MESSAGES_H
#define AD_REPORT_MESSAGES_H

#include "control/trace.h"

struct ad_message {
    uint32_t tag;
    int from, send_step, to, recv_step; /* devices, and the steps in their programs */
    int value;
    struct ad_region region;
    int64_t bytes;
    int64_t start_ns, end_ns; /* from its first byte on the uplink to its last on the downlink */
    int64_t wire_ns; /* on the uplink for so long from its start, on the downlink up to its end */
    bool timed;      /* measured: its receiver waited for it, so its end is known */
};

struct ad_messages {
    struct ad_message *items; /* by tag */
    size_t count;
};

/* Messages without a partner, which no verified plan has, are left out. */
AD_MUST_CHECK enum adaps_status
ad_messages_init(struct ad_messages *out, const struct adaps_plan *plan, struct adaps_error *err);
void ad_messages_fini(struct ad_messages *messages);

/* Replaces predicted by measured times. A message ends when it has arrived. It starts when it has
 * been handed over and those before it have left the uplink, each as long after its start as the
 * plan says. When its receiver did not wait for it, only bounds of its end are known; then it is
 * taken to need as long as the plan says. */
AD_MUST_CHECK enum adaps_status ad_messages_measure(struct ad_messages *messages,
                                                    const struct adaps_plan *plan,
                                                    const struct ad_trace *trace,
                                                    struct adaps_error *err);

/* Makes predicted times comparable with those: messages end when they have arrived, latency
 * included. */
void ad_messages_arrive(struct ad_messages *messages, const struct adaps_plan *plan);

/* The message with this tag, or NULL. */
const struct ad_message *ad_messages_find(const struct ad_messages *messages, uint32_t tag);

#endif
