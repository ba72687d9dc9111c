#include "exec/agent/outgoing.h"
#include "base/mem.h"

#include <stdatomic.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define HAND_OVER(address) __tsan_release(address)
#define TAKE_OVER(address) __tsan_acquire(address)
#else
#define HAND_OVER(address) ((void)(address))
#define TAKE_OVER(address) ((void)(address))
#endif

struct ad_unsent {
    atomic_int references;
    _Atomic int64_t bytes[];
};

struct outgoing {
    struct ad_sent_notice to;
    size_t size;
    _Alignas(64) uint8_t data[];
};

struct ad_unsent *ad_unsent_new(int n)
{
    struct ad_unsent *unsent = ad_calloc(1, sizeof *unsent + (size_t)n * sizeof unsent->bytes[0]);
    if (unsent)
        atomic_init(&unsent->references, 1);
    return unsent;
}

void ad_unsent_unref(struct ad_unsent *unsent)
{
    if (unsent && atomic_fetch_sub(&unsent->references, 1) == 1)
        ad_free(unsent);
}

void ad_unsent_add(struct ad_unsent *unsent, int peer, int64_t bytes)
{
    atomic_fetch_add(&unsent->bytes[peer], bytes);
}

int64_t ad_unsent_bytes(const struct ad_unsent *unsent, int peer)
{
    return atomic_load_explicit(&unsent->bytes[peer], memory_order_relaxed);
}

static void finish(struct outgoing *message, bool left)
{
    const struct ad_sent_notice *to = &message->to;
    if (left && to->timestamps)
        ad_timestamps_leave(to->timestamps, to->step);
    if (to->unsent)
        ad_unsent_add(to->unsent, to->peer, -(int64_t)message->size);
    ad_timestamps_unref(to->timestamps);
    ad_unsent_unref(to->unsent);
    ad_free(message);
}

/* Called by ZeroMQ, in any thread. */
static void has_left(void *data, void *hint)
{
    TAKE_OVER(data);
    finish(hint, true);
}

bool ad_outgoing_new(const struct ad_sent_notice *to, size_t size, zmq_msg_t *out)
{
    size_t room;
    struct outgoing *message =
        ad_size_add(sizeof *message, size, &room) ? ad_alloc_aligned(room) : NULL;
    if (!message)
        return false;
    message->to = *to;
    message->size = size;
    if (to->timestamps)
        ad_timestamps_ref(to->timestamps);
    if (to->unsent)
        atomic_fetch_add(&to->unsent->references, 1);
    if (zmq_msg_init_data(out, message->data, size, has_left, message) == 0)
        return true;
    finish(message, false);
    return false;
}

void ad_outgoing_filled(zmq_msg_t *message)
{
    HAND_OVER(zmq_msg_data(message));
}
