/* An assignment becomes programs, in two passes: backwards over the ops, what moves from whom to
 * whom (router.h); forwards, the tasks, in the graph's order (graph_order.h) or in another
 * (order.h). */
#include "schedule/lowering.h"

#include <string.h>

enum adaps_status ad_lowering_init(struct ad_step_lowering *out, const struct ad_graph *graph,
                                   const struct ad_cluster *cluster, struct ad_clocks *clocks,
                                   bool reused, struct adaps_error *err)
{
    struct ad_lowering_context *c = &out->context;
    memset(out, 0, sizeof *out);
    enum adaps_status status = ad_lowering_context_init(c, graph, cluster, clocks, reused, err);
    if (status != ADAPS_OK)
        return status;
    if (ad_routes_init(&out->routes, c) && ad_router_init(&out->router, c, &out->routes) &&
        ad_estimate_init(&out->estimate, c, &out->routes) && ad_emitter_init(&out->emitter, c) &&
        ad_graph_order_init(&out->graph_order, c, &out->routes, &out->emitter)) {
        ad_task_order_init(&out->task_order, c, &out->routes, &out->emitter);
        return ADAPS_OK;
    }
    ad_lowering_fini(out);
    return ad_error_memory(err, "lowering", (size_t)graph->nops * (size_t)cluster->ndevices);
}

void ad_lowering_fini(struct ad_step_lowering *l)
{
    ad_task_order_fini(&l->task_order);
    ad_graph_order_fini(&l->graph_order);
    ad_emitter_fini(&l->emitter);
    ad_router_fini(&l->router);
    ad_routes_fini(&l->routes);
    ad_lowering_context_fini(&l->context);
}

enum adaps_status ad_lowering_start(struct ad_step_lowering *l,
                                    const struct ad_assignment *assignment)
{
    ad_lowering_context_take(&l->context, assignment);
    return ad_router_run(&l->router, assignment->region);
}

enum adaps_status ad_lowering_finish(struct ad_step_lowering *l, int64_t limit_ns,
                                     struct ad_schedule *schedule)
{
    struct ad_lowering_context *c = &l->context;
    struct ad_emitter *e = &l->emitter;
    bool in_graph_order = c->order == AD_ORDER_GRAPH || c->hub >= 0;
    ad_emitter_start(e, &l->routes.all, schedule);
    bool room = in_graph_order ? ad_graph_order_run(&l->graph_order)
                               : ad_task_order_run(&l->task_order, limit_ns);
    if (!room || e->out_of_memory)
        return ad_error_memory(c->err, "programs", l->routes.all.count);
    l->over = !in_graph_order && l->task_order.over;
    if (schedule) {
        schedule->messages = (int64_t)l->routes.all.count;
        schedule->bytes = e->bytes;
    }
    return ADAPS_OK;
}

enum adaps_status ad_lowering_run(struct ad_step_lowering *l,
                                  const struct ad_assignment *assignment,
                                  struct ad_schedule *schedule)
{
    enum adaps_status status = ad_lowering_start(l, assignment);
    return status == ADAPS_OK ? ad_lowering_finish(l, INT64_MAX, schedule) : status;
}

static enum adaps_status lower_once(const struct ad_graph *graph, const struct ad_cluster *cluster,
                                    const struct ad_assignment *assignment, struct ad_schedule *out,
                                    struct adaps_error *err)
{
    struct ad_step_lowering l;
    struct ad_clocks clocks;
    if (!ad_clocks_init(&clocks, graph, cluster, false))
        return ad_error_memory(err, "lowering", (size_t)graph->nops);
    enum adaps_status status = ad_lowering_init(&l, graph, cluster, &clocks, false, err);
    if (status == ADAPS_OK) {
        status = ad_lowering_run(&l, assignment, out);
        ad_lowering_fini(&l);
    }
    ad_clocks_fini(&clocks);
    return status;
}

enum adaps_status ad_schedule_build(const struct ad_graph *graph, const struct ad_cluster *cluster,
                                    const struct ad_assignment *assignment, struct ad_schedule *out,
                                    struct adaps_error *err)
{
    memset(out, 0, sizeof *out);
    enum adaps_status status = ad_assignment_check(graph, cluster, assignment, err);
    if (status == ADAPS_OK)
        status = lower_once(graph, cluster, assignment, out, err);
    if (status == ADAPS_OK)
        status = ad_schedule_memory(graph, cluster, out, err);
    if (status == ADAPS_OK)
        status = ad_schedule_simulate(graph, cluster, out, err);
    if (status != ADAPS_OK)
        ad_schedule_fini(out);
    return status;
}
