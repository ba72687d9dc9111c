/* A plan on its agents that goes on without an agent that is lost: the devices that are left get a
 * plan of their own (a spare of the plan, or one made then: spare_plan.h) and what they lack, and
 * the inferences that were in flight are done again. Answers come in order, each once, with the
 * same bits. The source cannot be replaced: it has the inputs and gives the answers. And, when it
 * is adapted, one that goes on with another plan when devices or links have become slower or faster
 * (adapt.h): between two inferences, so that nothing is done again. One thread. */
#ifndef AD_FAILOVER_H
#define AD_FAILOVER_H

#include "adapt.h"
#include "control/recovery.h"
#include "control/session.h"

struct ad_failover;

/* Where the plan for those that are left came from. */
enum ad_recovery_plan {
    AD_RECOVERY_NEW,   /* made then */
    AD_RECOVERY_SPARE, /* one of the first plan's spares */
    AD_RECOVERY_FIRST  /* the first plan itself: all that it needs are there again */
};

/* How the loss of agents was mended. Times are nanoseconds. */
struct ad_recovery {
    bool lost[AD_MAX_DEVICES];     /* by device of the first plan */
    bool returned[AD_MAX_DEVICES]; /* had been lost before, and are used again */
    enum ad_recovery_plan plan;
    int64_t inference; /* of the stream, from 1, that could not be finished */
    int64_t detect_ns; /* from the beginning of the wait for its answer until the loss was known */
    int64_t plan_ns, push_ns, open_ns; /* planning; sending what is missing; the new session */
    int64_t repeat_ns;                 /* until all that were in flight have been answered */
    int repeated;                      /* so many */
    uint64_t push_bytes;
    int64_t total_ns;                  /* all of this, and the end of the old session */
    int64_t latency_ns;                /* of an inference, by the new plan */
    struct ad_recovery_time predicted; /* with what planning took, and the slowness so far */
    bool done;                         /* all is known */
};

struct ad_failover_options {
    bool enabled;      /* else a lost agent is an error, as of a session */
    bool adapt;        /* to devices and links that drift */
    int64_t horizon;   /* then: inferences in which another plan must pay off; 0: the stream's */
    int64_t stream;    /* and how many inferences it has in all */
    const char *model; /* file of the weights; NULL: where the plan says */
    const struct ad_session_options *session;
};

/* Whether a plan can have failover or adaptation, which `what` names. ADAPS_EUSAGE: a lossy plan.
 */
AD_MUST_CHECK enum adaps_status ad_failover_check(const struct adaps_plan *plan, const char *what,
                                                  struct adaps_error *err);

/* Opens a session of a plan that has been pushed. All is borrowed. When failover is enabled, or
 * the plan is to be adapted, the model is opened now, since there will be no time for it later, and
 * when it is to be adapted, agents that the plan has no work for are asked whether they are there.
 * Errors are those of ad_session_open() and ad_model_weights_open(); ADAPS_EUSAGE: a lossy plan,
 * whose answers depend on its devices. */
AD_MUST_CHECK enum adaps_status ad_failover_open(const struct adaps_plan *plan,
                                                 const struct ad_failover_options *options,
                                                 struct ad_failover **out, struct adaps_error *err);

/* Enables it later, with no inference in flight. Errors as above. */
AD_MUST_CHECK enum adaps_status ad_failover_enable(struct ad_failover *failover, const char *model,
                                                   struct adaps_error *err);

/* As ad_session_begin() and ad_session_finish(), but when an agent is lost they return after all
 * has been mended. ADAPS_EAGENT: that was not possible; says why. After ADAPS_ECANCELLED (the
 * session's interrupt) nothing is in flight, and the next inference begins in a new session. stats
 * are by device of the first plan, zero for those that have nothing to do. */
AD_MUST_CHECK enum adaps_status ad_failover_begin(struct ad_failover *failover,
                                                  const struct ad_tensor *inputs,
                                                  struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_failover_finish(struct ad_failover *failover,
                                                   struct ad_tensor *outputs,
                                                   struct ad_run_stats *stats,
                                                   struct adaps_error *err);

/* The session, for what needs no failover. */
struct ad_session *ad_failover_session(struct ad_failover *failover);

/* What was mended so far, in order; the last may not be done. */
const struct ad_recovery *ad_failover_recoveries(const struct ad_failover *failover, int *count);

/* What was adapted so far, and what was not worth it, in order; the last may not be done. */
const struct ad_adaptation *ad_failover_adaptations(const struct ad_failover *failover, int *count);

/* How many inferences the agents work on at a time by the plan in use. */
int ad_failover_frames(const struct ad_failover *failover);
void ad_failover_close(struct ad_failover *failover);

#endif
