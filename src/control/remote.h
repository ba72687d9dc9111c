/* The controller's connection to one agent. One thread. */
#ifndef AD_CONTROL_REMOTE_H
#define AD_CONTROL_REMOTE_H

#include "control/session.h"
#include "wire/socket.h"
#include "wire/wire.h"
#include "plan/plan.h"

/* Without a sign of life for this long while it owes one, an agent is lost. */
#define AD_PATIENCE_NS ((int64_t)800 * 1000000)
#define AD_PING_NS ((int64_t)100 * 1000000)

struct ad_remote {
    int device; /* index in the plan */
    char name[64], address[128];
    char key[AD_KEY_BYTES]; /* of the agent, or "" */
    void *socket, *monitor;
    bool up;      /* the handshake has succeeded */
    bool refused; /* a connection was closed before that */
    bool lost;    /* for good; why: */
    char cause[200];
    uint32_t requests; /* number of the latest request: tag of its answer */
    uint64_t answered; /* bit (tag modulo 64): of the latest requests, those that were answered */
    uint64_t session;
    int64_t patience_ns; /* AD_PATIENCE_NS or more where links are slow */
    int64_t ping_ns;     /* when the oldest unanswered ping was sent; 0 = none */
    int64_t last_ping_ns;
    uint32_t inference; /* of the latest PONG, and where it was: */
    int step;
    bool finished;
    struct ad_wire_message message; /* the latest received */
};

/* Starts connecting to the address of the device. ADAPS_EUSAGE: no address, or keys that do not go
 * together; ADAPS_EINTERNAL. After a failure fini is still right. */
AD_MUST_CHECK enum adaps_status ad_remote_init(struct ad_remote *remote, void *context, int index,
                                               const struct ad_device *device,
                                               const struct ad_keys *keys, struct adaps_error *err);
void ad_remote_fini(struct ad_remote *remote);

/* "agent 'NAME' (ADDRESS): " in front of the message; status unchanged. */
enum adaps_status ad_remote_blame(const struct ad_remote *remote, struct adaps_error *err);

/* The tag of a new request. */
uint32_t ad_remote_request(struct ad_remote *remote);

/* Whether the request with this tag, one of the latest 64, was answered. */
bool ad_remote_answered(const struct ad_remote *remote, uint32_t tag);

/* Sends a request; raw may be NULL. */
AD_MUST_CHECK enum adaps_status ad_remote_send(struct ad_remote *remote, int type,
                                               uint32_t inference, const ProtobufCMessage *body,
                                               const void *raw, size_t raw_size,
                                               struct adaps_error *err);

/* Sends a ping when one is due, and notices that too many went unanswered (then remote->lost).
 * Called after everything received was handled. */
void ad_remote_ping(struct ad_remote *remote, int64_t now);

/* What came in, without waiting: monitor events, then one message. PONGs and stale answers are
 * handled here. ADAPS_OK: remote->message is an answer; ADAPS_NO: nothing (remote->lost may have
 * become true); ADAPS_EAGENT: the agent sent something invalid. */
AD_MUST_CHECK enum adaps_status ad_remote_recv(struct ad_remote *remote, struct adaps_error *err);

/* Sleeps until something comes in from any of n agents or `until`. */
void ad_remotes_sleep(struct ad_remote *remotes, int n, int64_t until);

enum ad_remote_wait {
    AD_WAIT_PLAIN, /* only the deadline and a lost connection end it */
    AD_WAIT_PING   /* the agent must also answer pings */
};

/* Waits for an answer, which must be of the given type: then remote->message. An ERROR is
 * returned with its status and message. All errors are blamed on the agent. */
AD_MUST_CHECK enum adaps_status ad_remote_await(struct ad_remote *remote, int type,
                                                int64_t deadline, enum ad_remote_wait how,
                                                struct adaps_error *err);

/* The error that an ERROR message carries; *step when not NULL. */
enum adaps_status ad_remote_error(struct ad_wire_message *message, int *step,
                                  struct adaps_error *err);

/* HELLO and the WELCOME, which is the caller's (ad_protobuf_free): connects. */
AD_MUST_CHECK enum adaps_status ad_remote_hello(struct ad_remote *remote, int64_t deadline,
                                                Adaps__Wire__Welcome **out,
                                                struct adaps_error *err);

/* What a WELCOME says, but for the round trip. Texts lose their control characters, and what is too
 * long of them. */
void ad_remote_status(const Adaps__Wire__Welcome *welcome, struct ad_agent_status *out);

/* deadline_s of the options as nanoseconds, with the default. */
int64_t ad_deadline_ns(double deadline_s);

#endif
