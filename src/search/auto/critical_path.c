#include "search/auto/critical_path.h"

#include <string.h>

void ad_critical_path_fini(struct ad_critical_path *path)
{
    ad_free(path->ops);
    ad_free(path->sent);
    ad_free(path->exchanged);
    *path = (struct ad_critical_path){0};
}

static bool make_room(struct ad_critical_path *path, const struct ad_graph *graph, size_t messages)
{
    while (path->sent_room <= messages)
        if (!ad_grow(&path->sent, path->sent_room, &path->sent_room, sizeof *path->sent))
            return false;
    if (!path->exchanged)
        path->exchanged = ad_calloc((size_t)graph->nops, sizeof *path->exchanged);
    return path->exchanged != NULL;
}

static bool index_sends(struct ad_critical_path *path, const struct ad_graph *graph,
                        const struct ad_schedule *schedule)
{
    if (!make_room(path, graph, (size_t)schedule->messages))
        return false;
    memset(path->exchanged, 0, (size_t)graph->nops * sizeof *path->exchanged);
    for (int d = 0; d < schedule->ndevices; d++)
        for (int i = 0; i < schedule->programs[d].nsteps; i++) {
            const struct ad_step *step = &schedule->programs[d].steps[i];
            int p = step->kind == AD_STEP_SEND ? graph->values[step->value].producer : -1;
            if (step->kind == AD_STEP_SEND)
                path->sent[step->tag] = (struct ad_sent){d, i};
            if (p >= 0)
                path->exchanged[p] = true;
        }
    return true;
}

static bool add(struct ad_critical_path *path, int op, int device)
{
    const struct ad_critical_op *last = path->count > 0 ? &path->ops[path->count - 1] : NULL;
    if (op < 0 || (last && last->op == op && last->device == device))
        return true;
    if (!ad_grow(&path->ops, path->count, &path->room, sizeof *path->ops))
        return false;
    path->ops[path->count++] = (struct ad_critical_op){op, device};
    return true;
}

static bool walk_back(struct ad_critical_path *path, const struct ad_graph *graph,
                      const struct ad_schedule *schedule, struct ad_sent at)
{
    bool room = true;
    for (; at.step >= 0 && room; at.step--) {
        const struct ad_program *p = &schedule->programs[at.device];
        const struct ad_step *step = &p->steps[at.step];
        for (int t = step->ntasks; step->kind == AD_STEP_COMPUTE && t-- > 0 && room;)
            room = add(path, p->tasks[step->first_task + t].op, at.device);
        if (step->kind == AD_STEP_RECV && step->end_ns > step->start_ns) {
            at = path->sent[step->tag];
            room = add(path, graph->values[step->value].producer, at.device);
        }
    }
    return room;
}

enum adaps_status ad_critical_path_find(struct ad_critical_path *path, const struct ad_graph *graph,
                                        const struct ad_schedule *schedule, int source,
                                        struct adaps_error *err)
{
    struct ad_sent end = {source, schedule->programs[source].nsteps - 1};
    path->count = 0;
    if (index_sends(path, graph, schedule) && walk_back(path, graph, schedule, end))
        return ADAPS_OK;
    return ad_error_memory(err, "search", (size_t)schedule->messages);
}
