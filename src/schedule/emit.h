/* Emits steps: writes them at the end of the devices' programs. Internal to schedule/. */
#ifndef AD_SCHEDULE_EMIT_H
#define AD_SCHEDULE_EMIT_H

#include "schedule/transfers.h"

struct ad_emitter {
    struct ad_lowering_context *c;
    struct ad_transfers *messages;  /* borrowed: in the order of the tags */
    struct ad_timed_program *timed; /* by device: what the clocks need of the programs */
    int *ntasks;                    /* by device */
    int64_t bytes;                  /* sent */
    int *last;                      /* [from * ndevices + to]: the last message queued, or -1 */
    bool out_of_memory;             /* something could not be emitted */
    struct ad_schedule *schedule;   /* the programs in full; NULL: not wanted */
    size_t *task_room, *step_room;  /* by device: of the schedule's */
};

/* On failure there is nothing to free. */
AD_MUST_CHECK bool ad_emitter_init(struct ad_emitter *out, struct ad_lowering_context *c);
void ad_emitter_fini(struct ad_emitter *e);

/* Begins new programs with these messages. schedule: nullable; its arrays are used again. */
void ad_emitter_start(struct ad_emitter *e, struct ad_transfers *messages,
                      struct ad_schedule *schedule);

/* Room in the schedule, which is wanted, for all messages and at most so many tasks by device. To
 * be called before anything is emitted. False without memory. */
AD_MUST_CHECK bool ad_emitter_reserve(struct ad_emitter *e, const int *ntasks);

/* Messages between two devices are received in the order in which they were queued. */
static inline void ad_emitter_queue(struct ad_emitter *e, size_t t)
{
    struct ad_transfer *m = &e->messages->list[t];
    int *last = &e->last[ad_lowering_at(e->c, m->from, m->to)];
    m->previous = *last;
    *last = (int)t;
}

/* SEND of message t. */
void ad_emit_send(struct ad_emitter *e, size_t t);

/* RECV of message t, after all that were queued before it between the same two devices. */
void ad_emit_receive(struct ad_emitter *e, size_t t);

/* A task that takes so long. */
void ad_emit_task(struct ad_emitter *e, int op, int device, const struct ad_region *region,
                  int64_t ns);

#endif
