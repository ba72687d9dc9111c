/* What an agent does now, and has done since its start, as WELCOME tells it. */
#ifndef AD_WIRE_LIVE_H
#define AD_WIRE_LIVE_H

#include "base/digest.h"
#include "base/durations.h"
#include "wire/wire.pb-c.h"

/* Peers of all sessions, by name; those that come later share the last place. */
#define AD_LIVE_LINKS 32

enum ad_live_doing {
    AD_LIVE_IDLE, /* no inference is under way */
    AD_LIVE_COMPUTING,
    AD_LIVE_MOVING, /* sending a message, or taking one that is there */
    AD_LIVE_WAITING /* for a message */
};

/* How inferences fail. */
enum ad_live_error {
    AD_LIVE_INPUT,     /* a plan or an input that cannot be */
    AD_LIVE_AGENT,     /* a peer or the network failed, or was too slow */
    AD_LIVE_INTERNAL,  /* memory, files */
    AD_LIVE_CANCELLED, /* stopped by the controller, or by the end of its session */
    AD_LIVE_GIVEN_UP,  /* another one in flight failed */
    AD_LIVE_ERRORS
};

/* "idle", "computing", "moving", "waiting". */
const char *ad_live_doing_name(enum ad_live_doing doing);

/* "input", "agent", "internal", "cancelled", "given_up". */
const char *ad_live_error_name(enum ad_live_error error);

struct ad_live_link_seen {
    char name[64]; /* as it was told: from a controller */
    uint64_t bytes_sent, messages_sent, bytes_received, messages_received;
};

struct ad_live_seen {
    int64_t now_ns; /* by the agent's clock, CLOCK_MONOTONIC */
    uint64_t begun, done, failed, sessions, errors[AD_LIVE_ERRORS];
    int64_t compute_ns, waiting_ns; /* of steps and waits that have ended */
    double busy;                    /* 0 to 1, of the latest ten seconds */
    struct ad_durations_seen durations;
    enum ad_live_doing doing;
    int step, steps;
    char layer[128];    /* being computed; "" when none is */
    int64_t session_ns; /* age of the session; -1: none is open */
    uint64_t cache_bytes;
    char plan[128]; /* the model's name; "" without a plan */
    struct ad_digest digest;
    int64_t latency_ns, interval_ns; /* predicted; 0: not known */
    struct ad_live_link_seen controller, links[AD_LIVE_LINKS];
    int nlinks;
};
/* A message that borrows from `seen`. */
struct ad_live_message {
    Adaps__Wire__Live all;
    Adaps__Wire__LiveLink controller, links[AD_LIVE_LINKS], *list[AD_LIVE_LINKS];
};
void ad_live_describe(struct ad_live_seen *seen, struct ad_live_message *out);

/* What a message of a stranger says: texts are cut, lists are, numbers are held to what they can
 * be. Texts keep their control characters. */
void ad_live_read(const Adaps__Wire__Live *message, struct ad_live_seen *out);

#endif
