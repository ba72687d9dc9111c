/* Shared by the files of the controller's session. */
#ifndef AD_NET_SESSION_PRIV_H
#define AD_NET_SESSION_PRIV_H

#include "net/remote.h"
#include "net/session.h"

struct ad_session {
    const struct adaps_plan *plan;
    void *context;
    int64_t deadline_ns; /* how long, not when */
    uint64_t id;
    struct ad_remote *remotes; /* the agents that have a program */
    int nremotes;
    int source;         /* index in remotes */
    uint32_t inference; /* of the latest run, from 1 */
    bool broken;        /* can only be closed */
    size_t input_bytes, output_bytes;
};

/* What each agent said in this inference. */
enum ad_reply {
    AD_REPLY_NONE,
    AD_REPLY_DONE,
    AD_REPLY_FAILED, /* with err and step */
    AD_REPLY_ABORTED /* with step */
};
struct ad_outcome {
    enum ad_reply reply;
    int step;
    struct adaps_error err;
};

/* After an inference went wrong: stops the other agents, finds out where everybody was, and says
 * who is to blame: a lost agent first, then the first that failed, else the deadline. `outcomes` is
 * by remote. Returns the status; the session is broken. */
enum adaps_status ad_session_post_mortem(struct ad_session *session, struct ad_outcome *outcomes,
                                         struct adaps_error *err);

#endif
