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

struct ad_marks *ad_marks_new(int nsteps)
{
    struct ad_marks *marks = ad_calloc(1, sizeof *marks + 2 * (size_t)nsteps * sizeof marks->ns[0]);
    if (!marks)
        return NULL;
    atomic_init(&marks->references, 1);
    marks->nsteps = nsteps;
    return marks;
}

void ad_marks_ref(struct ad_marks *marks)
{
    atomic_fetch_add(&marks->references, 1);
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

void ad_marks_leave(struct ad_marks *marks, int step)
{
    ad_marks_set(marks, marks->nsteps + step);
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
