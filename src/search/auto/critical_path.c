#include "search/auto/critical_path.h"

#include <string.h>

void ad_critical_path_fini(struct ad_critical_path *critical_path)
{
    ad_free(critical_path->ops);
    ad_free(critical_path->sent);
    ad_free(critical_path->exchanged);
    *critical_path = (struct ad_critical_path){0};
}

static bool make_room(struct ad_critical_path *f, const struct ad_graph *graph, size_t messages)
{
    while (f->sent_room <= messages)
        if (!ad_grow(&f->sent, f->sent_room, &f->sent_room, sizeof *f->sent))
            return false;
    if (!f->exchanged)
        f->exchanged = ad_calloc((size_t)graph->nops, sizeof *f->exchanged);
    return f->exchanged != NULL;
}

static bool index_sends(struct ad_critical_path *f, const struct ad_graph *graph,
                        const struct ad_schedule *schedule)
{
    if (!make_room(f, graph, (size_t)schedule->messages))
        return false;
    memset(f->exchanged, 0, (size_t)graph->nops * sizeof *f->exchanged);
    for (int d = 0; d < schedule->ndevices; d++)
        for (int i = 0; i < schedule->programs[d].nsteps; i++) {
            const struct ad_step *step = &schedule->programs[d].steps[i];
            int p = step->kind == AD_STEP_SEND ? graph->values[step->value].producer : -1;
            if (step->kind == AD_STEP_SEND)
                f->sent[step->tag] = (struct ad_sent){d, i};
            if (p >= 0)
                f->exchanged[p] = true;
        }
    return true;
}

static bool add(struct ad_critical_path *f, int op, int device)
{
    const struct ad_critical_op *last = f->count > 0 ? &f->ops[f->count - 1] : NULL;
    if (op < 0 || (last && last->op == op && last->device == device))
        return true;
    if (!ad_grow(&f->ops, f->count, &f->room, sizeof *f->ops))
        return false;
    f->ops[f->count++] = (struct ad_critical_op){op, device};
    return true;
}

static bool walk_back(struct ad_critical_path *f, const struct ad_graph *graph,
                      const struct ad_schedule *schedule, struct ad_sent at)
{
    bool room = true;
    for (; at.step >= 0 && room; at.step--) {
        const struct ad_program *p = &schedule->programs[at.device];
        const struct ad_step *step = &p->steps[at.step];
        for (int t = step->ntasks; step->kind == AD_STEP_COMPUTE && t-- > 0 && room;)
            room = add(f, p->tasks[step->first_task + t].op, at.device);
        if (step->kind == AD_STEP_RECV && step->end_ns > step->start_ns) {
            at = f->sent[step->tag];
            room = add(f, graph->values[step->value].producer, at.device);
        }
    }
    return room;
}

enum adaps_status ad_critical_path_find(struct ad_critical_path *f, const struct ad_graph *graph,
                                        const struct ad_schedule *schedule, int source,
                                        struct adaps_error *err)
{
    struct ad_sent end = {source, schedule->programs[source].nsteps - 1};
    f->count = 0;
    if (index_sends(f, graph, schedule) && walk_back(f, graph, schedule, end))
        return ADAPS_OK;
    return ad_error_memory(err, "search", (size_t)schedule->messages);
}
