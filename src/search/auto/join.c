/* A layout in which half of the devices share all of the work is a local optimum: one more device
 * pays only with a thin band of all layers up to where it stops, and every single step on the way
 * there is a loss. So these layouts are tried as a whole. */
#include "search/auto/join.h"

#define SHARES 5

/* Of the share that joining devices would have by speed. */
static const double shares[SHARES] = {1, 0.7, 0.5, 0.35, 0.2};

static bool bands(const struct ad_op_layout *op)
{
    return op->dim == AD_DIM_H || op->dim == AD_DIM_W;
}

/* The devices that have a band of no op, the fastest first; how many. */
static int idle_devices(const struct ad_context *context, const struct ad_layout *layout, int *idle)
{
    int count = 0;
    for (int k = 0; k < layout->ndevices; k++) {
        int d = context->order[k];
        bool busy = false;
        for (int i = 0; i < layout->nops && !busy; i++) {
            const int *cuts = ad_layout_cuts(layout, i);
            busy =
                layout->ops[i].dim == AD_DIM_WHOLE ? layout->ops[i].at == d : cuts[d + 1] > cuts[d];
        }
        if (!busy)
            idle[count++] = d;
    }
    return count;
}

/* The same layout, but `count` devices join up to op `end`. */
static void join(const struct ad_context *context, const struct ad_layout *from, const int *idle,
                 int count, int end, double share, struct ad_layout *out)
{
    ad_layout_copy(from, out);
    for (int i = 0; i < end; i++) {
        double weight[AD_MAX_DEVICES], speed = 0;
        int *cuts = ad_layout_cuts(out, i);
        if (!bands(&out->ops[i]))
            continue;
        for (int d = 0; d < out->ndevices; d++)
            speed += cuts[d + 1] > cuts[d] ? context->speed[d] : 0;
        for (int d = 0; d < out->ndevices; d++)
            weight[d] = cuts[d + 1] - cuts[d];
        for (int k = 0; k < count && speed > 0; k++)
            weight[idle[k]] = share * context->speed[idle[k]] / speed * AD_CUT_UNITS;
        ad_cuts_proportional(weight, out->ndevices, cuts);
    }
}

/* Evaluates a layout in which devices have joined and offers it to *best, unless it turns out to be
 * the old one (what is between pins follows from them). */
static enum adaps_status try_joined(struct ad_eval *eval, const struct ad_layout *layout,
                                    const struct ad_score *before, struct ad_best *best)
{
    struct ad_score score;
    enum adaps_status status = ad_eval_score(eval, layout, NULL, &score);
    if (status != ADAPS_OK || (score.makespan_ns == before->makespan_ns &&
                               score.messages == before->messages && score.bytes == before->bytes))
        return status;
    ad_best_offer(best, layout, &score);
    return status;
}

/* Tries all ends and shares with `count` idle devices. */
static enum adaps_status try_ends(struct ad_eval *eval, const struct ad_best *from, const int *idle,
                                  int count, struct ad_layout *trial, struct ad_best *best)
{
    const struct ad_graph *graph = eval->context->problem->graph;
    enum adaps_status status = ADAPS_OK;
    for (int end = 1; end <= trial->nops; end++) {
        int32_t rows = graph->values[graph->ops[end - 1].output].box.h;
        bool changes = end == trial->nops || graph->values[graph->ops[end].output].box.h != rows;
        for (int s = 0;
             s < SHARES && changes && !ad_eval_late(eval) && bands(&from->layout.ops[end - 1]);
             s++) {
            join(eval->context, &from->layout, idle, count, end, shares[s], trial);
            if ((status = try_joined(eval, trial, &from->score, best)) != ADAPS_OK)
                return status;
        }
    }
    return status;
}

enum adaps_status ad_join_search(struct ad_eval *eval, const struct ad_best *from,
                                 struct ad_best *best)
{
    struct ad_layout trial;
    int idle[AD_MAX_DEVICES], count = idle_devices(eval->context, &from->layout, idle);
    if (count == 0)
        return ADAPS_OK;
    enum adaps_status status =
        ad_layout_init(&trial, from->layout.nops, from->layout.ndevices, eval->err);
    for (int n = 1; n <= count && status == ADAPS_OK; n *= 2)
        status = try_ends(eval, from, idle, n, &trial, best);
    ad_layout_fini(&trial);
    return status;
}
