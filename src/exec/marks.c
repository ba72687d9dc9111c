#include "exec/marks.h"
#include "base/clock.h"
#include "base/mem.h"

#include <stdatomic.h>

struct ad_marks {
    atomic_int references;
    int nsteps;
    /* By step, then by step again: when the message of a SEND had left; 1 if that of a RECV was
     * waited for. */
    _Atomic int64_t ns[];
};

/* A message's data, and which step's it is. */
struct letter {
    struct ad_marks *marks;
    int step;
    _Alignas(64) uint8_t data[];
};

struct ad_marks *ad_marks_new(int nsteps)
{
    struct ad_marks *marks = ad_calloc(1, sizeof *marks + 2 * (size_t)nsteps * sizeof marks->ns[0]);
    if (!marks)
        return NULL;
    atomic_init(&marks->references, 1);
    marks->nsteps = nsteps;
    return marks;
}

void ad_marks_unref(struct ad_marks *marks)
{
    if (marks && atomic_fetch_sub(&marks->references, 1) == 1)
        ad_free(marks);
}

void ad_marks_set(struct ad_marks *marks, int step)
{
    atomic_store_explicit(&marks->ns[step], ad_clock_ns(), memory_order_relaxed);
}

void ad_marks_found(struct ad_marks *marks, int step, bool waited)
{
    ad_marks_set(marks, step);
    if (waited)
        atomic_store_explicit(&marks->ns[marks->nsteps + step], 1, memory_order_relaxed);
}

int64_t ad_marks_get(const struct ad_marks *marks, int step)
{
    return atomic_load_explicit(&marks->ns[step], memory_order_relaxed);
}

int64_t ad_marks_left(const struct ad_marks *marks, int step)
{
    return ad_marks_get(marks, marks->nsteps + step);
}

bool ad_marks_waited(const struct ad_marks *marks, int step)
{
    return ad_marks_get(marks, marks->nsteps + step) != 0;
}

/* Called by ZeroMQ, in any thread. */
static void left(void *data, void *hint)
{
    struct letter *letter = hint;
    (void)data;
    ad_marks_set(letter->marks, letter->marks->nsteps + letter->step);
    ad_marks_unref(letter->marks);
    ad_free(letter);
}

bool ad_marks_message(struct ad_marks *marks, int step, size_t size, zmq_msg_t *out)
{
    size_t room;
    struct letter *letter =
        ad_size_add(sizeof *letter, size, &room) ? ad_alloc_aligned(room) : NULL;
    if (!letter)
        return false;
    *letter = (struct letter){.marks = marks, .step = step};
    atomic_fetch_add(&marks->references, 1);
    if (zmq_msg_init_data(out, letter->data, size, left, letter) == 0)
        return true;
    ad_marks_unref(marks);
    ad_free(letter);
    return false;
}
