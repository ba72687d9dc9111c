/* A small network that is made in memory, run on agents to compare what was predicted with what it
 * takes. */
#ifndef AD_TRIAL_H
#define AD_TRIAL_H

#include "control/session.h"

struct ad_trial_times {
    double predicted_s, measured_s; /* from the inputs to the answer, at the source */
    double predicted_compute_s, measured_compute_s; /* of the source */
};

/* Compiles the network for all devices of a cluster, each with a part in proportion to its speed,
 * pushes it, and runs it for about budget_s, at least three times. Measured is the lower quartile,
 * so that what happens now and then does not count. Errors are those of ad_push(),
 * ad_session_open() and ad_session_run(). */
AD_MUST_CHECK enum adaps_status ad_trial_run(const struct ad_cluster *cluster,
                                             const struct ad_session_options *options,
                                             double budget_s, struct ad_trial_times *out,
                                             struct adaps_error *err);

/* The network as the bytes of an ONNX file, the caller's (ad_free). */
AD_MUST_CHECK enum adaps_status ad_trial_network(void **data, size_t *size,
                                                 struct adaps_error *err);

#endif
