/* Strategy `halp`, after N. Li, A. Iosifidis and Q. Zhang, "Distributed Deep Learning Inference
 * Acceleration using Seamless Collaboration in Edge Computing" (ICC 2022), and the prototype of
 * Z. Dong et al., "Design and Prototyping Distributed CNN Inference Acceleration in Edge Computing"
 * (2022).
 *
 * Modelled: a host, which has the input, and two helpers. Each layer's rows are divided into three
 * zones; the host's lies between those of its helpers and covers what they would need of each
 * other, so helpers exchange with the host only, and never with each other. Every device computes
 * the rows that others wait for first and sends them while it computes the rest. The helpers' zones
 * are in proportion to their speeds. What has no rows to divide runs on the host.
 *
 * Interpreted:
 * - The size of the host's zone: 0, 1/8, ... 8/8 of what its speed would give it, but at least what
 *   the helpers need of each other, found from the last layer to the first; the best is kept.
 * - Layer by layer, boundaries first, is the graph's order with early rows. The order in which
 *   boundaries of a layer go before the rest of the one before is tried, too.
 * - Where there are other than three devices, the helpers are the fastest one, two, three, seven,
 *   fifteen ... of them, or all. With one there are two zones. Of three and more half lie on each
 *   side of the host; neighbours on one side then exchange through the host, in the graph's order.
 *   The best one by the clocks is kept.
 * - With columns as the only allowed dimension, columns take the place of rows.
 * - Where a helper would need something of another one all the same (a layer that reads all rows,
 *   columns after rows), everything goes through the host. */
#include "search/published/halp.h"
#include "base/mem.h"
#include "ir/winograd.h"
#include "search/context.h"

#include <math.h>

#define ZONES 8 /* parts of the host's share by speed that are tried, and none of it */

/* Rows, or columns: [lo, hi). */
struct span {
    int32_t lo, hi;
};

struct halp {
    const struct ad_context *context;
    struct ad_eval eval;
    int nplaces, host;          /* on the line of devices from the top; the host's place */
    int device[AD_MAX_DEVICES]; /* by place */
    struct ad_layout line;      /* of the places */
    struct span *reach; /* [op]: of its output, what the zone of the host has to reach: lo at most,
                           hi at least */
    struct ad_region regions[AD_MAX_DEVICES]; /* scratch, by place */
    struct ad_assignment *best;               /* borrowed */
    struct ad_score score;                    /* of it */
    int tried;
};

/* The host in the middle, its helpers by speed in turn above and below it. */
static void line_up(struct halp *h, int helpers)
{
    const int *order = h->context->order;
    int above = (helpers + 1) / 2;
    h->nplaces = helpers + 1;
    h->host = above;
    h->device[above] = order[0];
    for (int k = 0; k < helpers; k++)
        h->device[k % 2 == 0 ? above - 1 - k / 2 : above + 1 + k / 2] = order[k + 1];
}

static struct span span_of(struct ad_region r, enum ad_dim dim)
{
    return dim == AD_DIM_H ? (struct span){r.h0, r.h1} : (struct span){r.w0, r.w1};
}

/* Cuts by weight; the host's zone is widened to what it has to reach, on lines of the op's grid. */
static void cut(struct halp *h, int op, enum ad_dim dim, const double *weight)
{
    const struct ad_graph *graph = h->context->problem->graph;
    const struct ad_op *o = &graph->ops[op];
    int32_t size = ad_dim_extent(&graph->values[o->output], dim);
    int32_t grid =
        (int32_t)(dim == AD_DIM_H ? ad_winograd_grid(o->winograd, o->window.kh, o->window.dh)
                                  : ad_winograd_grid(o->winograd, o->window.kw, o->window.dw));
    int *cuts = ad_layout_cuts(&h->line, op);
    ad_cuts_proportional(weight, h->nplaces, cuts);
    struct span zone = {ad_cut_row(cuts[h->host], size), ad_cut_row(cuts[h->host + 1], size)};
    zone.lo = ad_min32(zone.lo, h->reach[op].lo);
    zone.hi = ad_max32(zone.hi, h->reach[op].hi);
    zone.lo -= zone.lo % grid;
    zone.hi = ad_min32(size, (zone.hi + grid - 1) / grid * grid);
    int lo = ad_row_cut(zone.lo, size), hi = ad_row_cut(zone.hi, size);
    for (int k = 0; k <= h->nplaces; k++)
        cuts[k] = k <= h->host ? (cuts[k] < lo ? cuts[k] : lo) : (cuts[k] > hi ? cuts[k] : hi);
    if (h->host > 0)
        cuts[h->host] = lo;
    if (h->host + 1 < h->nplaces)
        cuts[h->host + 1] = hi;
}

/* What the helpers' parts of an op read of the ops before it. */
static void widen_producers(struct halp *h, int op)
{
    const struct ad_graph *graph = h->context->problem->graph;
    const struct ad_op *o = &graph->ops[op];
    for (int k = 0; k < o->ninputs; k++) {
        int producer = graph->values[o->inputs[k]].producer;
        enum ad_dim dim = producer < 0 ? AD_DIM_WHOLE : ad_context_bands(h->context, producer);
        if (dim == AD_DIM_WHOLE)
            continue;
        for (int place = 0; place < h->nplaces; place++) {
            struct ad_region need = ad_need(graph, o, k, h->regions[place]);
            struct span *reach = &h->reach[producer], rows = span_of(need, dim);
            if (place == h->host || ad_region_empty(need))
                continue;
            if (place < h->host)
                reach->hi = ad_max32(reach->hi, rows.hi);
            else
                reach->lo = ad_min32(reach->lo, rows.lo);
        }
    }
}

/* The zones of all ops into the eval's assignment. share: of the host's speed. */
static void lay(struct halp *h, double share)
{
    const struct ad_context *context = h->context;
    const struct ad_graph *graph = context->problem->graph;
    struct ad_assignment *a = &h->eval.scratch;
    double weight[AD_MAX_DEVICES];
    for (int place = 0; place < h->nplaces; place++)
        weight[place] =
            context->speed[h->device[place]] * (place == h->host ? fmax(share, 1e-9) : 1);
    for (int i = 0; i < graph->nops; i++)
        h->reach[i] = (struct span){INT32_MAX, 0};
    for (int i = graph->nops - 1; i >= 0; i--) {
        enum ad_dim dim = ad_context_bands(context, i);
        h->line.ops[i] = (struct ad_op_layout){.dim = dim, .pinned = true, .at = h->host};
        if (dim != AD_DIM_WHOLE)
            cut(h, i, dim, weight);
        ad_layout_op_regions(graph, &h->line, i, false, h->regions);
        if (dim != AD_DIM_WHOLE)
            widen_producers(h, i);
        for (int d = 0; d < a->ndevices; d++)
            *ad_assigned(a, i, d) = ad_region_none();
        for (int place = 0; place < h->nplaces; place++)
            *ad_assigned(a, i, h->device[place]) = h->regions[place];
        a->early[i] = true;
    }
}

/* Whether helpers exchange with each other. */
static enum adaps_status look_for_direct(struct halp *h, bool *direct)
{
    const struct ad_schedule *schedule;
    int host = h->device[h->host];
    *direct = false;
    enum adaps_status status = ad_scorer_run(h->eval.scorer, &h->eval.scratch, false, &schedule);
    for (int d = 0; status == ADAPS_OK && d < schedule->ndevices; d++)
        for (int i = 0; i < schedule->programs[d].nsteps; i++) {
            const struct ad_step *step = &schedule->programs[d].steps[i];
            *direct = *direct || (step->kind == AD_STEP_SEND && d != host && step->peer != host);
        }
    return status;
}

/* Scores the eval's assignment and keeps the best. */
static enum adaps_status try(struct halp *h, enum ad_order order, int hub)
{
    struct ad_assignment *a = &h->eval.scratch;
    struct ad_score score;
    a->order = order;
    a->hub = hub;
    enum adaps_status status = ad_eval_score_assigned(&h->eval, &h->line, NULL, &score);
    if (status == ADAPS_OK && (h->tried++ == 0 || ad_score_better(&score, &h->score))) {
        ad_assignment_copy(a, h->best);
        h->score = score;
    }
    return status;
}

/* The zones in the eval's assignment, in all orders that they may have. */
static enum adaps_status try_orders(struct halp *h)
{
    bool direct = h->nplaces > 3;
    h->eval.scratch.order = AD_ORDER_GRAPH;
    h->eval.scratch.hub = -1;
    enum adaps_status status = direct ? ADAPS_OK : look_for_direct(h, &direct);
    if (status == ADAPS_OK)
        status = try(h, AD_ORDER_GRAPH, direct ? h->device[h->host] : -1);
    return status == ADAPS_OK && !direct ? try(h, AD_ORDER_EDGES, -1) : status;
}

static enum adaps_status try_helpers(struct halp *h, int helpers)
{
    line_up(h, helpers);
    enum adaps_status status =
        ad_layout_init(&h->line, h->context->problem->graph->nops, h->nplaces, h->eval.err);
    for (int zone = 0; zone <= ZONES && status == ADAPS_OK; zone++) {
        if (h->tried > 0 && ad_eval_late(&h->eval))
            break;
        lay(h, (double)zone / ZONES);
        status = try_orders(h);
    }
    ad_layout_fini(&h->line);
    return status;
}

/* One, two, three, seven ... helpers, and all. */
static enum adaps_status search(struct halp *h)
{
    int all = h->context->problem->cluster->ndevices - 1;
    if (all > 0)
        ad_assignment_encode(&h->eval.scratch, h->context->encoding);
    enum adaps_status status = try_helpers(h, all);
    if (status == ADAPS_OK && all > 2)
        status = try_helpers(h, 2);
    for (int helpers = 1; helpers < all && status == ADAPS_OK; helpers = 2 * helpers + 1)
        status = try_helpers(h, helpers);
    return status;
}

static enum adaps_status plan(struct halp *h, struct ad_search_result *result)
{
    const struct ad_search_problem *p = h->context->problem;
    h->best = &result->assignment;
    h->reach = ad_calloc((size_t)p->graph->nops, sizeof *h->reach);
    if (!h->reach)
        return ad_error_memory(h->eval.err, "zones", (size_t)p->graph->nops * sizeof *h->reach);
    enum adaps_status status =
        ad_assignment_init(&result->assignment, p->graph->nops, p->cluster->ndevices, h->eval.err);
    if (status == ADAPS_OK)
        status = search(h);
    if (status == ADAPS_OK)
        status = ad_search_result_build(&h->eval, "halp", result);
    if (status == ADAPS_OK)
        ad_search_result_note(&h->eval, result);
    result->visited = ad_eval_visited(&h->eval);
    result->space_log10 = log10(h->tried + 1);
    return status;
}

enum adaps_status ad_halp_plan(const struct ad_search_problem *problem,
                               struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_context context;
    struct halp h = {.context = &context};
    enum adaps_status status = ad_context_init(&context, problem, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_eval_init(&h.eval, &context, err);
    if (status == ADAPS_OK)
        status = plan(&h, result);
    ad_free(h.reach);
    ad_eval_fini(&h.eval);
    ad_context_fini(&context);
    return status;
}
