/* The data connections of a session: one per peer, used by the worker thread, and by its scheduler
 * if it sends to more than one. The device with the lower index listens at a free port, the other
 * connects; both introduce themselves with a JOIN frame that carries the session's number, which
 * nobody else knows. PAIR sockets take one peer only: a stranger never gets a message meant for it.
 * (Closing the port after the first would close its connection, too.) */
#ifndef AD_EXEC_AGENT_PEER_LINKS_H
#define AD_EXEC_AGENT_PEER_LINKS_H

#include "exec/engine/engine.h"
#include "exec/engine/timestamps.h"
#include "exec/agent/live.h"
#include "exec/agent/send_scheduler.h"
#include "wire/frame.h"
#include "wire/visitors.h"

#include <stdatomic.h>

struct ad_peer {
    int device;
    char name[64];
    char endpoint[300]; /* where to connect; "" until known, or when the peer connects */
    char key[AD_KEY_BYTES];
};

/* A message that came while another inference's was looked for. */
struct ad_early_message {
    struct ad_frame frame;
    zmq_msg_t payload;
};

struct ad_peer_link {
    struct ad_peer peer;
    bool listens;
    int port;                     /* when it listens */
    struct ad_visitors *visitors; /* when it listens: who has come by its port */
    void *socket, *monitor;
    bool joined;
    bool lost;                      /* joined and then disconnected */
    int fd;                         /* of its TCP connection, since it joined */
    int zmq_fd;                     /* readable when the socket is to be looked at */
    struct ad_live_link *live;      /* NULL: not counted */
    int connection;                 /* of the scheduler, if messages are sent to it; else -1 */
    struct ad_early_message *early; /* in the order in which they came */
    size_t nearly, early_room, early_most;
};

struct ad_peer_links {
    void *context;
    struct ad_live *live;   /* nullable: counts what is moved */
    struct ad_guard *guard; /* told of strangers who are dropped */
    const struct adaps_plan *plan;
    int device;
    uint64_t session;
    uint32_t inference, step; /* what is being done */
    uint32_t oldest;          /* the oldest inference that is not done here */
    bool waited;              /* the message of this step was looked for before */
    bool kept;                /* a message was put aside since the latest wait: whose inference has
                                 looked before may go on */
    int64_t deadline_ns;      /* CLOCK_MONOTONIC, of that */
    const atomic_int *cancel; /* non-zero ends every wait, when wake_fd becomes readable */
    int wake_fd;
    struct ad_peer_link *items;
    int count, nconnections;
    struct ad_send_scheduler *scheduler; /* NULL: messages go to one peer at most */
    uint64_t bytes_sent, messages_sent;  /* in this session */
    struct ad_timestamps *timestamps; /* borrowed, of this inference if it is traced; else NULL */
};

/* Makes the sockets for all peers of `device` and listens where it has to, at a free port of
 * `host`. peers: what the controller says of them; each one that is needed must be there. With
 * keys, every peer must have one. Fields of links up to wake_fd are the caller's to set.
 * ADAPS_EINPUT, ADAPS_EAGENT name the peer. Close after a failure, too. */
AD_MUST_CHECK enum adaps_status ad_peer_links_open(struct ad_peer_links *links, const char *host,
                                                   const struct ad_keys *keys,
                                                   const struct ad_peer *peers, int npeers,
                                                   struct adaps_error *err);

/* Connects to the listening peers at the endpoints given in `peers`, and waits until all have
 * joined. ADAPS_EAGENT names the peer that did not. */
AD_MUST_CHECK enum adaps_status ad_peer_links_join(struct ad_peer_links *links,
                                                   const struct ad_keys *keys,
                                                   const struct ad_peer *peers, int npeers,
                                                   struct adaps_error *err);
void ad_peer_links_close(struct ad_peer_links *links);

/* Moves the messages of the engine's steps, of the inference and step that links say. recv does not
 * wait: ADAPS_NO when the message is not there. With timestamps: when the message of a RECV was
 * found, when that of a SEND was handed over and had left. */
struct ad_transport ad_peer_links_transport(struct ad_peer_links *links);

/* Takes what the monitors tell: who is lost, and of strangers at the ports there are soon few again
 * (wire/visitors.h). To be called every now and then by who neither sends nor waits. */
void ad_peer_links_look(struct ad_peer_links *links);

/* Sleeps until something comes from one of these devices, until wake_fd is readable, which is read,
 * or until the deadline of links. wanted: by device. */
void ad_peer_links_wait(struct ad_peer_links *links, const bool *wanted);

#endif
