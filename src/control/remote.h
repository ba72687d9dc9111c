/* The controller's connection to one agent. One thread. */
#ifndef AD_CONTROL_REMOTE_H
#define AD_CONTROL_REMOTE_H

#include "base/deadline.h"
#include "control/session.h"
#include "wire/socket.h"
#include "wire/wire.h"
#include "plan/plan.h"

/* An agent that does not answer pings for this long is lost: pings have a connection of their own,
 * where they wait for nothing that is large. Where the way there and back is longer than half a
 * second it may take so much more; after this process was stopped (base/deadline.h), when the
 * network may have to come back first, AD_WAKE_NS. */
#define AD_PATIENCE_NS ((int64_t)1600 * 1000000)
#define AD_WAKE_NS ((int64_t)10 * 1000000000)
#define AD_PING_NS AD_LOOK_NS

#define AD_CLOCK_KEPT 16 /* samples of the other clock: what pings of 1.6 s bring */

/* The agent's clock, read between two readings of this side's. */
struct ad_clock_sample {
    int64_t asked_ns, clock_ns, answered_ns;
};

struct ad_remote {
    int device; /* index in the plan */
    char name[64], address[128];
    char key[AD_KEY_BYTES]; /* of the agent, or "" */
    void *socket, *monitor;
    void *pings;  /* another socket to the same agent, for PING and PONG only */
    size_t most;  /* the largest part of an answer, bytes */
    size_t done;  /* and the largest body of DONE */
    int fd;       /* of the connection that answers come by; -1 before the first */
    bool health;  /* is asked for in HELLO */
    bool up;      /* the handshake has succeeded */
    bool refused; /* a connection was closed before that */
    bool lost;    /* for good; why: */
    char cause[200];
    enum ad_agent_trouble trouble; /* what that is, of connections that never stood */
    uint16_t protocol;             /* of a message that could not be read; 0: none, or no head */
    int64_t welcomed_ns;           /* CLOCK_REALTIME: when WELCOME came */
    uint32_t requests;             /* number of the latest request: tag of its answer */
    uint64_t answered; /* bit (tag modulo 64): of the latest requests, those that were answered */
    uint64_t session;
    uint32_t busy;     /* of the latest error: it serves others, so many come before; 0: not that */
    uint64_t instance; /* of the agent's process; 0: it does not say */
    bool heard;        /* it has answered a ping, and must go on doing so: */
    struct ad_deadline patience; /* left until it is lost */
    int64_t last_ping_ns;
    uint32_t npings, timed; /* number of the latest ping, and of one that is timed; 0 = none */
    int64_t timed_ns;       /* when that was sent */
    uint32_t ponged;        /* number of the latest ping that was answered */
    int64_t rtt_ns;         /* there and back, of the latest that was timed */
    struct ad_clock_sample
        clocks[AD_CLOCK_KEPT]; /* of the latest, by nclocks modulo their number */
    uint32_t nclocks;
    uint32_t inference; /* of the latest PONG, and where it was: */
    int step;
    bool finished;
    struct ad_wire_message message, pong; /* the latest received */
};

struct ad_remote_options {
    void *context;
    const struct ad_keys *keys;
    size_t most; /* of a part of an answer, bytes; 0: AD_ANSWER_BYTES */
    bool health; /* HELLO asks for the health of the agent's machine */
};

/* Enough for every answer but outputs and traces. */
#define AD_ANSWER_BYTES ((size_t)1 << 20)

/* A ZeroMQ context, when there can be the threads that it starts: else it would abort. ADAPS_EAGENT
 * says how many there can be; ADAPS_EINTERNAL. */
AD_MUST_CHECK enum adaps_status ad_remote_context(void **out, struct adaps_error *err);

/* Finds the address of the device and starts connecting. ADAPS_EUSAGE: no address, or keys that do
 * not go together; ADAPS_EAGENT: the name is not known, or not within the deadline;
 * ADAPS_EINTERNAL. After a failure fini is still right. */
AD_MUST_CHECK enum adaps_status ad_remote_init(struct ad_remote *remote, int index,
                                               const struct ad_device *device,
                                               const struct ad_remote_options *options,
                                               struct ad_deadline *deadline,
                                               struct adaps_error *err);
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

/* A wait begins: what was not heard while nobody listened does not count. */
void ad_remote_listen(struct ad_remote *remote);

/* It has nothing to answer now, and gets something to do: a ping is due only after AD_PING_NS, and
 * its silence counts from here. */
void ad_remote_excuse(struct ad_remote *remote);

/* Sends a ping when one is due, and notices that too many went unanswered (then remote->lost).
 * Called after everything received was handled, at least every AD_LOOK_NS. */
void ad_remote_ping(struct ad_remote *remote);

/* What came in, without waiting: PONGs, monitor events, then one message. Stale answers are
 * dropped, a limited number at a time. ADAPS_OK: remote->message is an answer; ADAPS_NO: nothing
 * (remote->lost may have become true); ADAPS_EAGENT: the agent sent something invalid, or more than
 * such an answer may have. */
AD_MUST_CHECK enum adaps_status ad_remote_recv(struct ad_remote *remote, struct adaps_error *err);

/* Sleeps until something comes in from any of n agents, for AD_LOOK_NS or what is left of the
 * deadline. */
void ad_remotes_sleep(struct ad_remote *remotes, int n, const struct ad_deadline *deadline);

/* The same, or until the descriptor fd becomes readable; -1: none. */
void ad_remotes_sleep_or(struct ad_remote *remotes, int n, const struct ad_deadline *deadline,
                         int fd);

enum ad_remote_wait {
    AD_WAIT_ANSWER, /* the deadline is for the answer */
    AD_WAIT_MOVING  /* it begins anew when some of what was sent has arrived there */
};

/* Waits for an answer, which must be of the given type: then remote->message. Meanwhile the agent
 * must answer pings. An ERROR is returned with its status and message. All errors are blamed on the
 * agent. */
AD_MUST_CHECK enum adaps_status ad_remote_await(struct ad_remote *remote, int type,
                                                struct ad_deadline *deadline,
                                                enum ad_remote_wait how, struct adaps_error *err);

/* The same of several agents at a time: as soon as one has failed or is lost, all waits end.
 * take(self, remote, err), nullable, gets each answer. */
typedef enum adaps_status ad_remote_take_fn(void *self, struct ad_remote *remote,
                                            struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_remotes_await(struct ad_remote *remotes, int n, int type,
                                                 struct ad_deadline *deadline,
                                                 ad_remote_take_fn *take, void *self,
                                                 struct adaps_error *err);

/* The error that an ERROR message carries; *step when not NULL. */
enum adaps_status ad_remote_error(struct ad_wire_message *message, int *step,
                                  struct adaps_error *err);

/* HELLO and the WELCOME, which is the caller's (ad_protobuf_free), and the first PONG: connects. */
AD_MUST_CHECK enum adaps_status ad_remote_hello(struct ad_remote *remote,
                                                struct ad_deadline *deadline,
                                                Adaps__Wire__Welcome **out,
                                                struct adaps_error *err);

/* The same with the device and options of ad_remote_init(): an agent that is not at the device's
 * address, or another one is, is looked for by its key (control/found.h) and connected to anew,
 * which may take ten seconds more. remote->address then says where it is. */
AD_MUST_CHECK enum adaps_status
ad_remote_greet(struct ad_remote *remote, const struct ad_device *device,
                const struct ad_remote_options *options, struct ad_deadline *deadline,
                Adaps__Wire__Welcome **out, struct adaps_error *err);

/* There and back for a small message on a connection that stands. */
AD_MUST_CHECK enum adaps_status ad_remote_time(struct ad_remote *remote,
                                               struct ad_deadline *deadline, int64_t *rtt_ns,
                                               struct adaps_error *err);

/* What a WELCOME says, but for the round trip. Texts lose their control characters, and what is too
 * long of them. */
void ad_remote_status(const Adaps__Wire__Welcome *welcome, struct ad_agent_status *out);

/* deadline_s of the options as nanoseconds, with the default. */
int64_t ad_deadline_ns(double deadline_s);

#endif
