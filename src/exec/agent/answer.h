/* Answers to controllers: at once, or to a request that is remembered until there is one. */
#ifndef AD_EXEC_AGENT_ANSWER_H
#define AD_EXEC_AGENT_ANSWER_H

#include "exec/agent/live.h"
#include "wire/wire.h"

/* Where controllers send requests and get their answers. */
struct ad_answer_way {
    void *socket;
    struct ad_live_link *live; /* counts what goes out */
};

/* Sends an answer to the request with that head, by the agent's ROUTER socket. False: whoever asked
 * is gone. */
bool ad_answer(const struct ad_answer_way *router, zmq_msg_t *route, const struct ad_frame *request,
               int type, const ProtobufCMessage *body, const void *raw, size_t raw_size);
bool ad_answer_error(const struct ad_answer_way *router, zmq_msg_t *route,
                     const struct ad_frame *request, const struct adaps_error *err, int step);

/* The same, because others come before: so many. */
bool ad_answer_busy(const struct ad_answer_way *router, zmq_msg_t *route,
                    const struct ad_frame *request, const struct adaps_error *err, uint32_t before);

/* A request that is still to be answered. */
struct ad_pending {
    zmq_msg_t route;
    struct ad_frame frame;
    bool set;
};
void ad_pending_set(struct ad_pending *pending, struct ad_wire_message *message);
void ad_pending_clear(struct ad_pending *pending);
void ad_pending_move(struct ad_pending *from, struct ad_pending *to); /* `to` is not set before */

#endif
