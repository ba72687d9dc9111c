/* Waiting until agents that serve somebody else are free (ad_session_options.wait_s). Agents keep
 * those who wait in the order in which they came. A controller asks one agent after the other, in
 * the same order as all others do, and keeps those that it has got: so two that wait for several
 * agents each cannot wait for each other. */
#ifndef AD_CONTROL_TURN_H
#define AD_CONTROL_TURN_H

#include "control/remote.h"

struct ad_turn_wait {
    const struct ad_session_options *options;
    int64_t begun_ns; /* CLOCK_MONOTONIC; 0: it does not wait yet */
};

/* After an agent has answered a request with an error, which *err has: ADAPS_OK, a moment later,
 * when the request is to be made again, since the agent is busy and may be waited for. Else the
 * error's status, or ADAPS_EAGENT: another of the n agents is lost meanwhile, or the time is over;
 * ADAPS_ECANCELLED: by options->interrupt. */
AD_MUST_CHECK enum adaps_status ad_turn_wait(struct ad_turn_wait *turn, struct ad_remote *asked,
                                             struct ad_remote *remotes, int n,
                                             struct adaps_error *err);

/* The order in which agents are asked: by what is the same for all controllers. */
void ad_turn_order(const struct ad_remote *remotes, int n, int *order);

#endif
