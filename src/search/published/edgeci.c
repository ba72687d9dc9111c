/* Strategy `edgeci`, after Y. Chen et al., "EdgeCI: Distributed Workload Assignment and Model
 * Partitioning for CNN Inference on Edge Clusters" (ACM Transactions on Internet Technology, 2024).
 *
 * Modelled: the rows are dealt to unequal devices in an auction, in which these bid by their speed,
 * memory and bandwidth; then a dynamic programme, from the first layer to the last, parts the
 * network into blocks of fused layers. Within a block every device computes all that its part of
 * the block's end needs, overlap included; between blocks devices exchange.
 *
 * Interpreted, as only the outline of the auction was at hand:
 * - What is auctioned are 64 equal parts of the rows of all layers together, one by one. A bid is
 *   the time at which the device would be done: computing its lots, and receiving the rows of the
 *   network's input and sending those of the last divided map that belong to them (the source has
 *   both). The lowest bid gets the lot. A device whose memory would not hold the weights of the
 *   divided layers, and its part of the two largest maps, does not bid.
 * - Parts lie in the order of the devices file. What has no rows to divide runs on the source.
 * - A block may end after any layer, in the graph's order; of very long networks after some. What
 *   is read after its block is exchanged. It takes as long as the last device, which fetches what
 *   it lacks through its own port and then computes; devices exchange directly.
 * - With columns as the only allowed dimension, columns take the place of rows. */
#include "search/published/edgeci.h"
#include "base/mem.h"
#include "search/published/published.h"
#include "search/published/ranges.h"

#include <math.h>

#define MOST_PLACES 256 /* where a block may begin; of a long network some */

/* --- the auction --- */

double ad_bidder_seconds(const struct ad_bidder *b, int lots)
{
    return lots == 0 ? 0 : b->delay_s + lots * (b->lot_s + b->lot_bytes / b->bandwidth);
}

void ad_auction(const struct ad_bidder *bidders, int count, int last, int *lots)
{
    for (int d = 0; d < count; d++)
        lots[d] = 0;
    for (int lot = 0; lot < AD_LOTS; lot++) {
        int winner = -1;
        double lowest = INFINITY;
        for (int d = 0; d < count; d++) {
            double bid = ad_bidder_seconds(&bidders[d], lots[d] + 1);
            if (lots[d] < bidders[d].most && bid < lowest) {
                winner = d;
                lowest = bid;
            }
        }
        lots[winner >= 0 ? winner : last]++;
    }
}

static double value_bytes(const struct ad_graph *graph, int value)
{
    return (double)ad_value_bytes(&graph->values[value]);
}

/* What is divided: its input's and its last map's bytes, its weights', and its two largest maps'.
 */
struct divided {
    double ends, weights, maps;
};

static struct divided survey(const struct ad_context *context)
{
    const struct ad_graph *graph = context->problem->graph;
    struct divided all = {0};
    double largest = 0, last = 0;
    for (int i = 0; i < graph->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        if (ad_context_bands(context, i) == AD_DIM_WHOLE)
            continue;
        last = value_bytes(graph, op->output);
        largest = fmax(largest, last);
        if (op->weight >= 0)
            all.weights += (double)graph->weights[op->weight].rows *
                           (double)graph->weights[op->weight].row_elements * sizeof(float);
    }
    all.ends = last;
    for (int i = 0; i < graph->ninputs; i++)
        all.ends += value_bytes(graph, graph->inputs[i]);
    all.maps = 2 * largest;
    return all;
}

static struct ad_bidder bidder_of(const struct ad_context *context, const struct divided *all,
                                  int d)
{
    const struct ad_search_problem *p = context->problem;
    const struct ad_cluster *cluster = p->cluster;
    const struct ad_device *device = &cluster->devices[d];
    const struct ad_link *link = &cluster->links[cluster->source * cluster->ndevices + d];
    bool source = d == cluster->source;
    struct ad_bidder b = {.bandwidth = source ? INFINITY : link->bandwidth,
                          .delay_s = source ? 0 : 2 * link->latency,
                          .lot_bytes = all->ends / AD_LOTS,
                          .most = AD_LOTS};
    for (int i = 0; i < p->graph->nops; i++)
        if (ad_context_bands(context, i) != AD_DIM_WHOLE)
            b.lot_s += ad_whole_op_seconds(p->graph, device, i) / AD_LOTS;
    double room = (double)device->memory - all->weights, lot = all->maps / AD_LOTS;
    if (device->memory > 0 && room < lot * AD_LOTS)
        b.most = room > 0 ? (int)(room / lot) : 0;
    return b;
}

static void hold_auction(struct ad_edgeci *e)
{
    const struct ad_cluster *cluster = e->context->problem->cluster;
    struct ad_bidder bidders[AD_MAX_DEVICES];
    struct divided all = survey(e->context);
    for (int d = 0; d < cluster->ndevices; d++)
        bidders[d] = bidder_of(e->context, &all, d);
    ad_auction(bidders, cluster->ndevices, cluster->source, e->lots);
}

/* --- blocks --- */

static double port(const struct ad_cluster *cluster, int to)
{
    double most = 0;
    for (int from = 0; from < cluster->ndevices; from++)
        if (from != to)
            most = fmax(most, cluster->links[from * cluster->ndevices + to].bandwidth);
    return most > 0 ? most : INFINITY;
}

/* When the last device has fetched what it lacks, and computed. */
static double last_done(const struct ad_ranges *ranges, const double *bandwidth)
{
    double last = 0;
    for (int d = 0; d < ranges->nplaces; d++)
        last = fmax(last, ranges->compute_s[d] +
                              (ranges->lacks[d] + ranges->exchanged[d]) / bandwidth[d]);
    return last;
}

/* order: scratch. */
static enum adaps_status time_blocks(struct ad_edgeci *e, int *order, struct adaps_error *err)
{
    const struct ad_search_problem *p = e->context->problem;
    int n = p->cluster->ndevices;
    double weight[AD_MAX_DEVICES], bandwidth[AD_MAX_DEVICES];
    struct ad_ranges ranges;
    for (int i = 0; i < p->graph->nops; i++)
        order[i] = i;
    for (int d = 0; d < n; d++) {
        weight[d] = e->lots[d];
        bandwidth[d] = port(p->cluster, d);
    }
    enum adaps_status status =
        ad_ranges_init(&ranges, e->context, order, weight, n, p->cluster->source, err);
    for (int i = 0; i < p->graph->nops && status == ADAPS_OK; i++)
        for (int d = 0; d < n; d++)
            ranges.seconds[i * n + d] = ad_whole_op_seconds(p->graph, &p->cluster->devices[d], i);
    ranges.feed_at = p->cluster->source;
    for (int end = 1; end <= e->nplaces && status == ADAPS_OK; end++) {
        ad_ranges_begin(&ranges, e->place[end]);
        for (int begin = end - 1; begin >= 0; begin--) {
            while (ranges.begin > e->place[begin])
                ad_ranges_extend(&ranges);
            e->block_s[(size_t)begin * (size_t)(e->nplaces + 1) + (size_t)end] =
                last_done(&ranges, bandwidth);
        }
    }
    ad_ranges_fini(&ranges);
    return status;
}

/* best, from: [place], scratch: the least of all blocks up to there, and where the last begins. */
static void solve(struct ad_edgeci *e, double *best, int *from)
{
    best[0] = 0;
    for (int end = 1; end <= e->nplaces; end++) {
        best[end] = INFINITY;
        for (int begin = end - 1; begin >= 0; begin--) {
            double all =
                best[begin] + e->block_s[(size_t)begin * (size_t)(e->nplaces + 1) + (size_t)end];
            if (all < best[end]) {
                best[end] = all;
                from[end] = begin;
            }
        }
    }
    e->total_s = best[e->nplaces];
    for (int end = e->nplaces; end > 0; end = from[end])
        e->ends[end] = true;
}

static void choose_places(struct ad_edgeci *e)
{
    int nops = e->context->problem->graph->nops, step = nops / MOST_PLACES + 1;
    for (int i = step; i < nops; i += step)
        e->place[++e->nplaces] = i;
    if (nops > 0)
        e->place[++e->nplaces] = nops;
}

enum adaps_status ad_edgeci_init(struct ad_edgeci *out, const struct ad_context *context,
                                 struct adaps_error *err)
{
    size_t nops = (size_t)context->problem->graph->nops, width;
    *out = (struct ad_edgeci){.context = context};
    out->place = ad_calloc(nops + 1, sizeof *out->place);
    out->ends = ad_calloc(nops + 1, sizeof *out->ends);
    if (out->place)
        choose_places(out);
    width = (size_t)out->nplaces + 1;
    out->block_s = ad_calloc(width * width, sizeof *out->block_s);
    double *best = ad_calloc(width, sizeof *best);
    int *from = ad_calloc(nops + width, sizeof *from);
    enum adaps_status status = ADAPS_OK;
    if (!out->place || !out->ends || !out->block_s || !best || !from)
        status = ad_error_memory(err, "blocks", width * width * sizeof *out->block_s);
    if (status == ADAPS_OK) {
        hold_auction(out);
        status = time_blocks(out, from, err);
    }
    if (status == ADAPS_OK)
        solve(out, best, from);
    ad_free(best);
    ad_free(from);
    return status;
}

void ad_edgeci_fini(struct ad_edgeci *edgeci)
{
    ad_free(edgeci->place);
    ad_free(edgeci->ends);
    ad_free(edgeci->block_s);
    *edgeci = (struct ad_edgeci){0};
}

/* --- the strategy --- */

/* What is read after its block is pinned. */
static void lay(const struct ad_edgeci *e, struct ad_layout *layout)
{
    const struct ad_search_problem *p = e->context->problem;
    double weight[AD_MAX_DEVICES];
    for (int d = 0; d < layout->ndevices; d++)
        weight[d] = e->lots[d];
    for (int i = 0, begin = 0, place = 1; i < p->graph->nops; i++) {
        const struct ad_op *op = &p->graph->ops[i];
        for (; e->place[place] <= i; place++)
            begin = e->ends[place] ? e->place[place] : begin;
        layout->ops[i] =
            (struct ad_op_layout){.dim = ad_context_bands(e->context, i), .at = p->cluster->source};
        ad_cuts_proportional(weight, layout->ndevices, ad_layout_cuts(layout, i));
        for (int k = 0; k < op->ninputs; k++) {
            int producer = p->graph->values[op->inputs[k]].producer;
            if (producer >= 0 && producer < begin)
                layout->ops[producer].pinned = true;
        }
    }
}

enum adaps_status ad_edgeci_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_search_problem *p = eval->context->problem;
    struct ad_edgeci e;
    struct ad_layout layout = {0};
    enum adaps_status status = ad_edgeci_init(&e, eval->context, eval->err);
    if (status == ADAPS_OK)
        status = ad_layout_init(&layout, p->graph->nops, p->cluster->ndevices, eval->err);
    if (status == ADAPS_OK) {
        lay(&e, &layout);
        status = ad_eval_try(eval, &layout, best, NULL);
    }
    eval->space_log10 = e.nplaces * log10(2);
    ad_layout_fini(&layout);
    ad_edgeci_fini(&e);
    return status;
}
