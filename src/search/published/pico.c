/* Strategy `pico`, after X. Yang et al., "PICO: Pipeline Inference Framework for Versatile CNNs on
 * Diverse Mobile Devices" (IEEE Transactions on Mobile Computing, 2023).
 *
 * Modelled, in its three steps:
 * - The graph becomes a chain of pieces, each of which reads only the one before it, so that the
 *   largest redundancy of a piece (what is computed twice when its output is divided) is least
 *   (pico_pieces.c).
 * - For equal devices with the mean of the real ones' speeds, a dynamic programme parts the pieces
 *   into stages and gives each a number of devices, so that the longest stage is as short as can
 *   be. The devices of a stage divide the rows of its output, and compute all that their part needs
 *   of the stage, overlap included, without an exchange. A stage takes as long as the longest of
 *   its devices computes, and what all of them receive and send takes one port, one after the
 *   other.
 * - The real devices, the fastest first, go one by one to the stage with most work left for each
 *   place that it has free. Within a stage the parts are in proportion to speed. Several inferences
 *   are in flight, one in each stage.
 *
 * Interpreted:
 * - Its limit of the latency is not used: among pipelines with the same longest stage the one with
 *   the least sum is taken.
 * - A layer without rows to divide runs on the fastest device of its stage, and what it reads is
 *   exchanged there; so is the halo of a map that is also read by a later stage.
 * - Devices of neighbouring stages exchange directly, not through a leader of the stage.
 * - Stages of more than eight devices have 12, 16, 20 ... of them. Fewer devices than there are may
 *   be used: then the fastest.
 * - When the latency is the objective, the plan is the same: an inference goes through all stages,
 *   with nothing in flight beside it. */
#include "search/published/pico.h"
#include "base/mem.h"
#include "search/published/published.h"
#include "search/published/ranges.h"

#include <math.h>
#include <string.h>

#define MOST_PIECES                                                                                \
    128 /* that the programme looks at; more are put together                                      \
         */

/* What the search knows. */
struct search {
    const struct ad_context *context;
    struct ad_pico_pieces pieces;
    struct ad_pico pico;
    double *seconds; /* [op]: on a device of mean speed */
    double bandwidth;
    int places[MOST_PIECES]; /* by piece: where it ends in the order of the ops */
    int *stage_of;           /* [op] */
    bool member[AD_MAX_DEVICES][AD_MAX_DEVICES]; /* by stage and device */
    struct adaps_error *err;
};

/* --- the programme --- */

struct state {
    double period_s, sum_s;
    int begin, size; /* of the last stage */
};

static bool shorter(const struct state *a, const struct state *b)
{
    return a->period_s != b->period_s ? a->period_s < b->period_s : a->sum_s < b->sum_s;
}

/* The best pipeline of the pieces before `end` on at most `devices`; states: [piece * (ndevices +
 * 1) + devices]. */
static struct state best_pipeline(const struct ad_pico *p, const struct state *states, int end,
                                  int devices)
{
    struct state best = {INFINITY, INFINITY, 0, -1};
    for (int size = 0; size < p->nsizes && p->sizes[size] <= devices; size++)
        for (int begin = end - 1; begin >= 0; begin--) {
            double s = *ad_pico_stage_at(p, begin, end, size);
            const struct state *before = &states[(size_t)begin * (size_t)(p->ndevices + 1) +
                                                 (size_t)(devices - p->sizes[size])];
            struct state all = {fmax(before->period_s, s), before->sum_s + s, begin, size};
            if (shorter(&all, &best))
                best = all;
        }
    return best;
}

enum adaps_status ad_pico_solve(struct ad_pico *p, struct adaps_error *err)
{
    size_t width = (size_t)p->ndevices + 1, n = ((size_t)p->npieces + 1) * width;
    struct state *states = ad_calloc(n, sizeof *states);
    struct ad_pico_stage back[AD_MAX_DEVICES];
    if (!states)
        return ad_error_memory(err, "stages", n * sizeof *states);
    for (int end = 1; end <= p->npieces; end++)
        for (int devices = 0; devices <= p->ndevices; devices++)
            states[(size_t)end * width + (size_t)devices] = best_pipeline(p, states, end, devices);
    p->period_s = states[n - 1].period_s;
    p->nstages = 0;
    for (int end = p->npieces, left = p->ndevices; end > 0;) {
        const struct state *s = &states[(size_t)end * width + (size_t)left];
        back[p->nstages++] = (struct ad_pico_stage){s->begin, end, p->sizes[s->size]};
        left -= p->sizes[s->size];
        end = s->begin;
    }
    for (int k = 0; k < p->nstages; k++)
        p->stages[k] = back[p->nstages - 1 - k];
    ad_free(states);
    return ADAPS_OK;
}

/* --- what stages take --- */

static void choose_sizes(struct ad_pico *p)
{
    for (int n = 1; n <= p->ndevices; n += n < 8 ? 1 : 4)
        p->sizes[p->nsizes++] = n;
}

/* All stages of one size. */
static enum adaps_status time_stages(struct search *s, int size)
{
    struct ad_ranges ranges;
    struct ad_pico *p = &s->pico;
    double equal[AD_MAX_DEVICES];
    int nops = s->context->problem->graph->nops, n = p->sizes[size];
    for (int place = 0; place < n; place++)
        equal[place] = 1;
    enum adaps_status status =
        ad_ranges_init(&ranges, s->context, s->pieces.order, equal, n, 0, s->err);
    for (int i = 0; i < nops && status == ADAPS_OK; i++)
        for (int place = 0; place < n; place++)
            ranges.seconds[i * n + place] = s->seconds[i];
    for (int end = 1; end <= p->npieces && status == ADAPS_OK; end++) {
        ad_ranges_begin(&ranges, s->places[end - 1]);
        for (int begin = end - 1; begin >= 0; begin--) {
            double longest = 0, bytes = 0;
            while (ranges.begin > (begin > 0 ? s->places[begin - 1] : 0))
                ad_ranges_extend(&ranges);
            for (int place = 0; place < n; place++) {
                longest = fmax(longest, ranges.compute_s[place]);
                bytes += ranges.in[place] + ranges.exchanged[place] + ranges.out[place];
            }
            *ad_pico_stage_at(p, begin, end, size) = longest + bytes / s->bandwidth;
        }
    }
    ad_ranges_fini(&ranges);
    return status;
}

/* Means over the devices: of their speeds for each op, and of their ports. */
static enum adaps_status survey_devices(struct search *s)
{
    const struct ad_search_problem *problem = s->context->problem;
    const struct ad_cluster *cluster = problem->cluster;
    int n = cluster->ndevices, nops = problem->graph->nops;
    s->seconds = ad_calloc((size_t)nops, sizeof *s->seconds);
    s->stage_of = ad_calloc((size_t)nops, sizeof *s->stage_of);
    if (!s->seconds || !s->stage_of)
        return ad_error_memory(s->err, "stages", (size_t)nops * sizeof *s->seconds);
    for (int i = 0; i < nops; i++) {
        double speed = 0;
        for (int d = 0; d < n; d++)
            speed += 1 / ad_whole_op_seconds(problem->graph, &cluster->devices[d], i);
        s->seconds[i] = n / speed;
    }
    for (int a = 0; a < n; a++) {
        double port = 0;
        for (int b = 0; b < n; b++)
            port = a == b ? port : fmax(port, cluster->links[a * n + b].bandwidth);
        s->bandwidth += port / n;
    }
    s->bandwidth = n > 1 ? s->bandwidth : INFINITY;
    return ADAPS_OK;
}

/* Where pieces end in the order of the ops, some put together where there are many. */
static void place_pieces(struct search *s)
{
    const struct ad_pico_pieces *pieces = &s->pieces;
    int step = (pieces->count + MOST_PIECES - 1) / MOST_PIECES;
    for (int k = 0; k < pieces->count; k += step) {
        int last = k + step < pieces->count ? k + step - 1 : pieces->count - 1;
        s->places[s->pico.npieces++] = pieces->level_end[pieces->end[last] - 1];
    }
}

static enum adaps_status find_stages(struct search *s)
{
    struct ad_pico *p = &s->pico;
    enum adaps_status status = survey_devices(s);
    if (status == ADAPS_OK)
        status = ad_pico_pieces_find(s->context, s->seconds, &s->pieces, s->err);
    if (status != ADAPS_OK)
        return status;
    place_pieces(s);
    p->ndevices = s->context->problem->cluster->ndevices;
    choose_sizes(p);
    size_t n = ((size_t)p->npieces + 1) * ((size_t)p->npieces + 1) * (size_t)p->nsizes;
    p->stage_s = ad_calloc(n, sizeof *p->stage_s);
    if (!p->stage_s)
        return ad_error_memory(s->err, "stages", n * sizeof *p->stage_s);
    for (int size = 0; size < p->nsizes && status == ADAPS_OK; size++)
        status = time_stages(s, size);
    return status == ADAPS_OK ? ad_pico_solve(p, s->err) : status;
}

/* --- unequal devices --- */

/* Deals the devices to the stages. */
static void deal(struct search *s)
{
    const struct ad_context *context = s->context;
    const struct ad_pico *p = &s->pico;
    double left[AD_MAX_DEVICES] = {0}, mean = 0, work = 0;
    int room[AD_MAX_DEVICES], n = context->problem->cluster->ndevices, begin = 0;
    bool taken[AD_MAX_DEVICES] = {false};
    for (int k = 0; k < p->nstages; k++) {
        room[k] = p->stages[k].devices;
        for (; begin < s->places[p->stages[k].end - 1]; begin++) {
            left[k] += s->seconds[s->pieces.order[begin]];
            s->stage_of[s->pieces.order[begin]] = k;
        }
        work = fmax(work, left[k] / room[k]);
    }
    for (int d = 0; d < n; d++)
        mean += context->speed[d] / n;
    for (;;) {
        int device = -1, stage = -1;
        for (int d = 0; d < n; d++)
            if (!taken[d] && (device < 0 || context->speed[d] > context->speed[device]))
                device = d;
        for (int k = 0; k < p->nstages; k++)
            if (room[k] > 0 && (stage < 0 || left[k] / room[k] > left[stage] / room[stage]))
                stage = k;
        if (device < 0 || stage < 0)
            return;
        taken[device] = s->member[stage][device] = true;
        left[stage] -= context->speed[device] / mean * work; /* what it does in the longest stage */
        room[stage]--;
    }
}

static void lay(const struct search *s, struct ad_layout *layout)
{
    const struct ad_context *context = s->context;
    const struct ad_graph *graph = context->problem->graph;
    layout->u8 = context->u8;
    layout->encoding = context->encoding;
    for (int i = 0; i < graph->nops; i++) {
        int stage = s->stage_of[i], fastest = -1;
        double weight[AD_MAX_DEVICES];
        ad_context_weights(context, s->member[stage], weight);
        for (int d = 0; d < layout->ndevices; d++)
            if (s->member[stage][d] && (fastest < 0 || weight[d] > weight[fastest]))
                fastest = d;
        bool alone = s->pico.stages[stage].devices == 1;
        layout->ops[i] = (struct ad_op_layout){
            .dim = alone ? AD_DIM_WHOLE : ad_context_bands(context, i), .at = fastest};
        ad_cuts_proportional(weight, layout->ndevices, ad_layout_cuts(layout, i));
    }
    for (int i = 0; i < graph->nops; i++) /* what a later stage reads is pinned */
        for (int k = 0; k < graph->ops[i].ninputs; k++) {
            int producer = graph->values[graph->ops[i].inputs[k]].producer;
            if (producer >= 0 && s->stage_of[producer] != s->stage_of[i])
                layout->ops[producer].pinned = true;
        }
}

enum adaps_status ad_pico_search(struct ad_eval *eval, struct ad_best *best)
{
    const struct ad_search_problem *p = eval->context->problem;
    struct search *s = ad_calloc(1, sizeof *s);
    struct ad_layout layout = {0};
    if (!s)
        return ad_error_memory(eval->err, "pipeline", sizeof *s);
    s->context = eval->context;
    s->err = eval->err;
    enum adaps_status status = find_stages(s);
    if (status == ADAPS_OK)
        status = ad_layout_init(&layout, p->graph->nops, p->cluster->ndevices, eval->err);
    if (status == ADAPS_OK) {
        deal(s);
        lay(s, &layout);
        status = ad_eval_try(eval, &layout, best, NULL);
    }
    eval->space_log10 = 0;
    ad_layout_fini(&layout);
    ad_free(s->pico.stage_s);
    ad_pico_pieces_fini(&s->pieces);
    ad_free(s->seconds);
    ad_free(s->stage_of);
    ad_free(s);
    return status;
}
