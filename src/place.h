/* Where a plan runs, as the public interface has it: its agents, with failover and adaptation when
 * these are asked for, or this process. Inferences begin and finish in one order. One thread at a time, but for
 * what says any. */
#ifndef AD_PLACE_H
#define AD_PLACE_H

#include "failover.h"

struct ad_place;

struct ad_place_options {
    const char *model; /* file of the weights; NULL: where the plan says */
    bool local, failover, adapt;
    int64_t horizon;                 /* with adapt: above 0 */
    adaps_adaptation_fn *adaptation; /* nullable */
    void *adaptation_self;
    int threads;                       /* of a local one; 0: the plan's */
    struct ad_session_options session; /* its interrupt is not used */
    adaps_log_fn *log;                 /* nullable */
    void *log_self;
};

/* Pushes the plan and opens it, or makes an engine here. The plan is borrowed. ADAPS_EINPUT: the
 * model; ADAPS_EAGENT names the agent; ADAPS_EUSAGE: failover or
 * adaptation of a lossy plan. */
AD_MUST_CHECK enum adaps_status ad_place_open(const struct adaps_plan *plan,
                                              const struct ad_place_options *options,
                                              struct ad_place **out, struct adaps_error *err);
void ad_place_close(struct ad_place *place); /* NULL is fine */

/* The inputs, in the network's order and shapes, are borrowed until their inference is finished. At
 * most AD_FLIGHTS_MOST. Errors as ad_failover_begin(). */
AD_MUST_CHECK enum adaps_status
ad_place_begin(struct ad_place *place, const struct ad_tensor *inputs, struct adaps_error *err);

/* The oldest; outputs: initialised here, the caller's to free. ADAPS_NO: woken, nothing has
 * changed. Other failures of agents, and ADAPS_ECANCELLED, are those of all that has begun, which
 * is given up; of a local inference they are its own. */
AD_MUST_CHECK enum adaps_status ad_place_finish(struct ad_place *place, struct ad_tensor *outputs,
                                                struct adaps_error *err);

/* Whether a failure is that of all that has begun. */
bool ad_place_fails_as_one(const struct ad_place *place, enum adaps_status status);

/* Any thread. Finishing returns ADAPS_NO soon, once; ADAPS_ECANCELLED, until it is reset. */
void ad_place_wake(struct ad_place *place);
void ad_place_cancel(struct ad_place *place);
void ad_place_reset(struct ad_place *place);

/* Any thread. */
int ad_place_recoveries(const struct ad_place *place);

#endif
