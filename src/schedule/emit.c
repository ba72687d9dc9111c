#include "schedule/emit.h"

#include <string.h>

/* --- room for the programs --- */

/* An array of at least `count` items that lives as long as the schedule, with what is in *items if
 * that has the room. */
static bool take_room(struct ad_emitter *e, void *items, size_t count, size_t size, size_t *room)
{
    void *fresh;
    if (*room >= count && *room > 0)
        return true;
    *room = e->c->reused ? count + count / 2 : count;
    fresh = ad_arena_alloc(&e->schedule->arena, *room, size);
    memcpy(items, &fresh, sizeof fresh);
    return fresh != NULL;
}

static bool make_arrays(struct ad_emitter *e)
{
    struct ad_schedule *s = e->schedule;
    size_t n = (size_t)e->c->ndevices;
    if (s->programs)
        return true;
    s->programs = ad_arena_alloc(&s->arena, n, sizeof *s->programs);
    s->busy_ns = ad_arena_alloc(&s->arena, n, sizeof *s->busy_ns);
    s->memory = ad_arena_alloc(&s->arena, n, sizeof *s->memory);
    s->ndevices = e->c->ndevices;
    return s->programs && s->busy_ns && s->memory;
}

bool ad_emitter_reserve(struct ad_emitter *e, const int *ntasks)
{
    struct ad_schedule *s = e->schedule;
    if (!make_arrays(e))
        return false;
    for (int d = 0; d < e->c->ndevices; d++)
        s->programs[d].nsteps = ntasks[d]; /* at most one COMPUTE step per task */
    for (size_t t = 0; t < e->messages->count; t++) {
        s->programs[e->messages->list[t].from].nsteps++;
        s->programs[e->messages->list[t].to].nsteps++;
    }
    for (int d = 0; d < e->c->ndevices; d++) {
        struct ad_program *p = &s->programs[d];
        if (!take_room(e, &p->tasks, (size_t)ntasks[d], sizeof *p->tasks, &e->task_room[d]) ||
            !take_room(e, &p->steps, (size_t)p->nsteps, sizeof *p->steps, &e->step_room[d]))
            return false;
        p->ntasks = p->nsteps = 0;
    }
    return true;
}

void ad_emitter_start(struct ad_emitter *e, struct ad_transfers *messages,
                      struct ad_schedule *schedule)
{
    size_t n = (size_t)e->c->ndevices;
    e->messages = messages;
    e->schedule = schedule;
    e->bytes = 0;
    e->out_of_memory = false;
    memset(e->ntasks, 0, n * sizeof *e->ntasks);
    memset(e->last, -1, n * n * sizeof *e->last);
    for (size_t d = 0; d < n; d++)
        e->timed[d].count = 0, e->timed[d].work_ns = 0;
}

/* --- steps --- */

static inline void add_timed(struct ad_emitter *e, int device, struct ad_timed_step step)
{
    struct ad_timed_program *p = &e->timed[device];
    if (p->count == p->room && !ad_grow(&p->list, p->count, &p->room, sizeof *p->list))
        e->out_of_memory = true;
    else
        p->list[p->count++] = step;
}

static void write_message(struct ad_emitter *e, size_t t, enum ad_step_kind kind)
{
    const struct ad_transfer *m = &e->messages->list[t];
    struct ad_program *p = &e->schedule->programs[kind == AD_STEP_SEND ? m->from : m->to];
    p->steps[p->nsteps++] = (struct ad_step){
        .kind = kind,
        .value = m->value,
        .peer = kind == AD_STEP_SEND ? m->to : m->from,
        .encoding = m->encoding,
        .region = m->region,
        .tag = (uint32_t)t + 1,
    };
}

void ad_emit_send(struct ad_emitter *e, size_t t)
{
    struct ad_transfer *m = &e->messages->list[t];
    e->c->work += AD_WORK_MESSAGE;
    e->bytes += m->bytes;
    m->sent = true;
    add_timed(e, m->from,
              (struct ad_timed_step){(int32_t)t + 1, m->to, m->copy_ns, m->wire_ns, m->sending_ns});
    if (e->schedule)
        write_message(e, t, AD_STEP_SEND);
}

static void emit_one_receive(struct ad_emitter *e, size_t t)
{
    struct ad_transfer *m = &e->messages->list[t];
    e->c->work += AD_WORK_MESSAGE;
    m->received = true;
    add_timed(e, m->to,
              (struct ad_timed_step){
                  .tag = -(int32_t)(t + 1), .ns = m->decode_ns, .overlapped_ns = m->receiving_ns});
    if (e->schedule)
        write_message(e, t, AD_STEP_RECV);
}

void ad_emit_receive(struct ad_emitter *e, size_t t)
{
    const struct ad_transfer *m = e->messages->list;
    while (!m[t].received) {
        size_t first = t;
        while (m[first].previous >= 0 && !m[m[first].previous].received)
            first = (size_t)m[first].previous;
        emit_one_receive(e, first);
    }
}

static void write_task(struct ad_emitter *e, int op, int device, struct ad_region region)
{
    struct ad_program *p = &e->schedule->programs[device];
    struct ad_step *last = p->nsteps > 0 ? &p->steps[p->nsteps - 1] : NULL;
    if (last && last->kind == AD_STEP_COMPUTE)
        last->ntasks++;
    else
        p->steps[p->nsteps++] = (struct ad_step){
            .kind = AD_STEP_COMPUTE, .first_task = p->ntasks, .ntasks = 1, .value = -1, .peer = -1};
    p->tasks[p->ntasks++] = (struct ad_task){op, region};
}

void ad_emit_task(struct ad_emitter *e, int op, int device, const struct ad_region *region,
                  int64_t ns)
{
    struct ad_timed_program *p = &e->timed[device];
    struct ad_timed_step *last = p->count > 0 ? &p->list[p->count - 1] : NULL;
    e->ntasks[device]++;
    e->c->work += AD_WORK_PIECE;
    p->work_ns = ad_clocks_plus(p->work_ns, ns);
    if (last && last->tag == 0)
        last->ns = ad_clocks_plus(last->ns, ns);
    else
        add_timed(e, device, (struct ad_timed_step){.ns = ns});
    if (e->schedule)
        write_task(e, op, device, *region);
}

bool ad_emitter_init(struct ad_emitter *out, struct ad_lowering_context *c)
{
    size_t n = (size_t)c->ndevices;
    *out = (struct ad_emitter){
        .c = c,
        .timed = ad_calloc(n, sizeof *out->timed),
        .ntasks = ad_calloc(n, sizeof *out->ntasks),
        .last = ad_calloc(n * n, sizeof *out->last),
        .task_room = ad_calloc(n, sizeof *out->task_room),
        .step_room = ad_calloc(n, sizeof *out->step_room),
    };
    if (out->timed && out->ntasks && out->last && out->task_room && out->step_room)
        return true;
    ad_emitter_fini(out);
    return false;
}

void ad_emitter_fini(struct ad_emitter *e)
{
    for (int d = 0; e->timed && d < e->c->ndevices; d++)
        ad_free(e->timed[d].list);
    ad_free(e->timed);
    ad_free(e->ntasks);
    ad_free(e->last);
    ad_free(e->task_room);
    ad_free(e->step_room);
    *e = (struct ad_emitter){0};
}
