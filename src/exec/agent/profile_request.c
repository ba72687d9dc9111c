#include "exec/agent/profile_request.h"
#include "exec/agent/profile.h"
#include "wire/wire.pb-c.h"

#include <inttypes.h>

static enum adaps_status take_parts(const Adaps__Wire__Profile *m, struct ad_task **out,
                                    struct adaps_error *err)
{
    if (m->n_parts < 1 || m->n_parts > AD_PROFILE_MAX_TASKS)
        return ad_error_set(err, ADAPS_EINPUT, "%zu parts to time: 1 to %d are possible",
                            m->n_parts, AD_PROFILE_MAX_TASKS);
    struct ad_task *tasks = ad_calloc(m->n_parts, sizeof *tasks);
    if (!tasks)
        return ad_error_memory(err, "profile", m->n_parts * sizeof *tasks);
    for (size_t i = 0; i < m->n_parts; i++) {
        const Adaps__Wire__Part *p = m->parts[i];
        tasks[i] = (struct ad_task){p->op, {p->h0, p->h1, p->w0, p->w1, p->c0, p->c1}};
    }
    *out = tasks;
    return ADAPS_OK;
}

enum adaps_status ad_profile_request_read(const Adaps__Wire__Profile *m,
                                          struct ad_profile_request *out, struct adaps_error *err)
{
    struct ad_graph *graph = NULL;
    struct ad_task *tasks = NULL;
    struct adaps_plan *plan = NULL;
    enum adaps_status status = ADAPS_OK;
    if (m->budget_ms > AD_PROFILE_MAX_S * 1000)
        status = ad_error_set(err, ADAPS_EINPUT, "%" PRIu32 " ms to measure: at most %d s",
                              m->budget_ms, AD_PROFILE_MAX_S);
    if (status == ADAPS_OK)
        status = take_parts(m, &tasks, err);
    if (status == ADAPS_OK)
        status = ad_plan_unpack_graph_alone(m->graph.data, m->graph.len, &graph, err);
    if (status == ADAPS_OK)
        status = ad_plan_of_tasks(graph, tasks, (int)m->n_parts,
                                  m->threads > 64 ? 65 : (int)m->threads, &plan, err);
    if (status == ADAPS_OK)
        graph = NULL; /* the plan's */
    if (status == ADAPS_OK) {
        out->tasks = plan;
        out->budget_ns = (int64_t)m->budget_ms * 1000000;
        plan = NULL;
    }
    adaps_plan_free(plan);
    ad_graph_free(graph);
    ad_free(tasks);
    return status;
}
