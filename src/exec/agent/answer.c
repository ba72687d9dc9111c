#include "exec/agent/answer.h"

void ad_pending_set(struct ad_pending *pending, struct ad_wire_message *message)
{
    if (!pending->set)
        zmq_msg_init(&pending->route);
    zmq_msg_copy(&pending->route, &message->route);
    pending->frame = message->frame;
    pending->set = true;
}

void ad_pending_clear(struct ad_pending *pending)
{
    if (pending->set)
        zmq_msg_close(&pending->route);
    pending->set = false;
}

void ad_pending_move(struct ad_pending *from, struct ad_pending *to)
{
    zmq_msg_init(&to->route);
    zmq_msg_move(&to->route, &from->route);
    to->frame = from->frame;
    to->set = true;
    ad_pending_clear(from);
}

bool ad_answer(const struct ad_answer_way *router, zmq_msg_t *route, const struct ad_frame *request,
               int type, const ProtobufCMessage *body, const void *raw, size_t raw_size)
{
    struct ad_frame frame = {.type = (uint16_t)type,
                             .session = request->session,
                             .inference = request->inference,
                             .tag = request->tag};
    if (ad_wire_message_send(router->socket, route, &frame, body, raw, raw_size, NULL) != ADAPS_OK)
        return false;
    ad_live_sent(router->live, (body ? protobuf_c_message_get_packed_size(body) : 0) + raw_size);
    return true;
}

static bool answer_error(const struct ad_answer_way *router, zmq_msg_t *route,
                         const struct ad_frame *request, const struct adaps_error *err, int step,
                         uint32_t busy)
{
    Adaps__Wire__Error error = ADAPS__WIRE__ERROR__INIT;
    error.status = err->status;
    error.message = ad_protobuf_borrow(err->message);
    error.step = step;
    error.busy = busy;
    return ad_answer(router, route, request, AD_FRAME_ERROR, &error.base, NULL, 0);
}

bool ad_answer_error(const struct ad_answer_way *router, zmq_msg_t *route,
                     const struct ad_frame *request, const struct adaps_error *err, int step)
{
    return answer_error(router, route, request, err, step, 0);
}

bool ad_answer_busy(const struct ad_answer_way *router, zmq_msg_t *route,
                    const struct ad_frame *request, const struct adaps_error *err, uint32_t before)
{
    return answer_error(router, route, request, err, -1, before);
}
