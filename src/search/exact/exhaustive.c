/* Strategy `exhaustive`: the best of all layouts, for small instances.
 *
 * The space is all that struct ad_layout can say. For each op: whole on one device; or split along
 * h, w or c (where --dims and the operator allow it) with a boundary between neighbouring devices
 * at every row, column or channel, devices without a share included, pinned or derived; or split
 * along h into a grid, for every `across`; or, one pixel, computed by each that reads it. For each
 * op: early or not. For all together: every order of tasks; no hub, or each device as the hub;
 * inputs and early ops in any number of chunks; pictures as bytes or not; one encoding for
 * everything else that links carry. Devices keep their order: bands are never permuted. Not in the
 * space are arbitrary overlaps between devices (strategy adaps): here only what later ops read
 * overlaps.
 *
 * Of layouts with the same schedule only one is tried. An op that can be split along h or w is
 * never taken as whole: all its rows for one device are the same regions, and leave it open whether
 * the ops before it are derived.
 *
 * Whatever gives an op the same regions is one choice (choices.c): a pin where a reader wants an
 * exchange in any case; a dimension, grid or cut that makes no difference; derived regions that
 * pins could give. Given the first rule, nothing else of an op matters to those before it.
 *
 * The rest of a layout is varied only where it makes a difference:
 * - early, for an op of which some device sends at most half of what it computes, with cores
 *   (AD_ORDER_CORES) for any op that is sent and read;
 * - orders that cut ops into pieces, with early ops; without any, the order of what is ready;
 * - chunks of bands, in these orders, when one of the early ops is sent by a device that sends more
 *   than half of what it computes;
 * - a hub, when there are messages and three devices or more; then the order is the graph's;
 * - pictures as bytes, when there are messages of inputs; chunks of inputs then, too, but not in
 * the graph's order.
 *
 * What is left is lowered and simulated as it is, so the answer is exact for every objective, cap
 * and memory limit. An instance is refused when it may have more than DEFAULT_LIMIT layouts, or
 * more than the problem's evaluations. The number compared is an upper bound: which ops send early,
 * and which derived regions are new, is only known during the enumeration. Strategy auto ends with
 * the same enumeration under the same limit, so it is never worse. */
#include "search/exact/exhaustive.h"
#include "base/round.h"
#include "base/clock.h"
#include "search/exact/choices.h"
#include "search/layout_regions.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define DEFAULT_LIMIT 500000
#define MAX_LIMIT 1000000000

struct walk {
    struct ad_eval *eval;
    struct ad_best *best;
    const struct ad_choices *choices;
    struct ad_layout layout;
    struct ad_assignment rows;
    bool *exchange;
    enum ad_order last; /* orders up to this one */
    int64_t messages;   /* of the layout at hand, without a hub */
    int *early;         /* ops whose early flag matters in the layout at hand */
    uint64_t large;     /* those of early[] of which a device sends more than half, as bits */
    enum adaps_status status;
};

static const struct ad_search_problem *problem_of(const struct walk *w)
{
    return w->eval->context->problem;
}

static bool going_on(const struct walk *w)
{
    int64_t deadline = problem_of(w)->deadline_ns;
    return w->status == ADAPS_OK && (deadline == 0 || ad_clock_ns() < deadline);
}

/* The elements of an op that a program computes; it is in one piece. */
static int64_t computed(const struct ad_program *program, int op)
{
    for (int t = 0; t < program->ntasks; t++)
        if (program->tasks[t].op == op)
            return ad_region_elements(program->tasks[t].region);
    return 0;
}

static bool is_read(const struct ad_graph *graph, int value)
{
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            if (graph->ops[i].inputs[k] == value)
                return true;
    return false;
}

/* For which of the ops that a device sends early makes a difference. */
enum early {
    EARLY_HALF,  /* to that device: it sends at most half */
    EARLY_READ,  /* to those who read it */
    EARLY_CHUNKS /* with chunks: to all */
};

static bool matters(const struct walk *w, const struct ad_program *program,
                    const struct ad_step *send, int op, enum early which)
{
    if (which == EARLY_HALF)
        return 2 * ad_region_elements(send->region) <= computed(program, op);
    return which == EARLY_CHUNKS || is_read(problem_of(w)->graph, send->value);
}

/* Adds the ops to w->early that a device sends and for which early makes a difference. schedule: in
 * graph order, without early ops. */
static int add_early(struct walk *w, const struct ad_schedule *schedule, enum early which,
                     int count)
{
    const struct ad_graph *graph = problem_of(w)->graph;
    for (int d = 0; d < schedule->ndevices; d++)
        for (int i = 0; i < schedule->programs[d].nsteps; i++) {
            const struct ad_step *step = &schedule->programs[d].steps[i];
            int op = step->kind == AD_STEP_SEND ? graph->values[step->value].producer : -1;
            if (op < 0 || w->exchange[op] || !matters(w, &schedule->programs[d], step, op, which))
                continue;
            w->exchange[op] = true; /* found */
            w->early[count++] = op;
        }
    return count;
}

/* Which of w->early[0 .. count) are sent by a device that sends more than half. */
static uint64_t find_large(const struct walk *w, const struct ad_schedule *schedule, int count)
{
    const struct ad_graph *graph = problem_of(w)->graph;
    uint64_t large = 0;
    for (int d = 0; d < schedule->ndevices; d++)
        for (int i = 0; i < schedule->programs[d].nsteps; i++) {
            const struct ad_step *step = &schedule->programs[d].steps[i];
            int op = step->kind == AD_STEP_SEND ? graph->values[step->value].producer : -1;
            for (int k = 0; k < count && op >= 0; k++)
                if (w->early[k] == op && !matters(w, &schedule->programs[d], step, op, EARLY_HALF))
                    large |= 1ull << k;
        }
    return large;
}

static int64_t count_inputs(const struct walk *w, const struct ad_schedule *schedule)
{
    const struct ad_value *values = problem_of(w)->graph->values;
    int64_t count = 0;
    for (int d = 0; d < schedule->ndevices; d++)
        for (int i = 0; i < schedule->programs[d].nsteps; i++) {
            const struct ad_step *step = &schedule->programs[d].steps[i];
            count += step->kind == AD_STEP_SEND && values[step->value].producer < 0;
        }
    return count;
}

/* The layout, with an order of tasks and every set of `count` ops as early that makes a difference
 * there. */
static void try_order(struct walk *w, enum ad_order order, int count)
{
    /* Without early ops the later orders are that of what is ready, which cuts no ops. */
    uint64_t first = order > AD_ORDER_READY, end = order == AD_ORDER_READY ? 1 : 1ull << count;
    w->layout.order = order;
    for (uint64_t set = first; set < end && going_on(w); set++) {
        if (w->layout.band_chunks > 1 && (set & w->large) == 0)
            continue; /* as in one */
        for (int k = 0; k < count; k++)
            w->layout.ops[w->early[k]].early = set >> k & 1;
        w->status = ad_eval_try(w->eval, &w->layout, w->best, NULL);
    }
    for (int k = 0; k < count; k++)
        w->layout.ops[w->early[k]].early = false;
    w->layout.order = AD_ORDER_GRAPH;
}

/* An order that cuts ops into pieces, with every number of chunks. */
static void try_chunks(struct walk *w, enum ad_order order, int count, int all)
{
    try_order(w, order, count);
    for (w->layout.band_chunks = 2; w->layout.band_chunks <= AD_MAX_CHUNKS; w->layout.band_chunks++)
        if (w->large != 0)
            try_order(w, order, all);
    w->layout.band_chunks = 1;
}

/* The layout through a hub or none, in all orders; how many messages there are, of them of inputs.
 */
static void try_orders(struct walk *w, int64_t *messages, int64_t *inputs)
{
    const struct ad_search_problem *p = problem_of(w);
    const struct ad_schedule *schedule;
    ad_layout_regions(p->graph, p->cluster->source, &w->layout, w->exchange, &w->rows);
    w->status = ad_scorer_run(w->eval->scorer, &w->rows, false, &schedule);
    if (w->status != ADAPS_OK)
        return;
    memset(w->exchange, 0, (size_t)p->graph->nops * sizeof *w->exchange);
    int senders = add_early(w, schedule, EARLY_HALF, 0);
    int count = add_early(w, schedule, EARLY_READ, senders); /* AD_ORDER_CORES */
    int all = add_early(w, schedule, EARLY_CHUNKS, count);
    w->large = find_large(w, schedule, all);
    *inputs = count_inputs(w, schedule);
    *messages = schedule->messages;
    try_order(w, AD_ORDER_GRAPH, senders);
    int chunks = *inputs > 0 ? AD_MAX_CHUNKS : 1;
    for (enum ad_order order = AD_ORDER_READY; order <= w->last && w->layout.hub < 0; order++)
        for (w->layout.input_chunks = 1; w->layout.input_chunks <= chunks; w->layout.input_chunks++)
            if (order == AD_ORDER_READY)
                try_order(w, order, senders);
            else
                try_chunks(w, order, order == AD_ORDER_CORES ? count : senders, all);
    w->layout.input_chunks = 1;
}

static void try_hubs(struct walk *w, int64_t *inputs)
{
    int64_t messages = 0, ignored;
    w->layout.hub = -1;
    if (going_on(w))
        try_orders(w, &messages, inputs);
    w->messages = messages;
    if (messages == 0 || !ad_choices_hubs(w->eval->context))
        return;
    for (int d = 0; d < w->layout.ndevices && going_on(w); d++) {
        w->layout.hub = d;
        try_orders(w, &ignored, &ignored);
    }
}

/* The layout as it is, and with pictures as bytes where that makes a difference. */
static void try_u8(struct walk *w)
{
    int64_t inputs = 0;
    w->layout.u8 = false;
    try_hubs(w, &inputs);
    w->layout.u8 = w->eval->context->u8;
    if (w->layout.u8 && inputs > 0)
        try_hubs(w, &inputs);
}

/* The layout in all forms of the head, with every allowed encoding. */
static void try_encodings(struct walk *w)
{
    w->layout.encoding = AD_ENCODING_F32;
    try_u8(w);
    for (unsigned e = 0; e < AD_ENCODINGS && w->messages > 0; e++)
        if (problem_of(w)->encodings & AD_ENCODINGS_LOSSY & AD_ENCODING_BIT(e)) {
            w->layout.encoding = (enum ad_encoding)e;
            try_u8(w);
        }
}

/* Derives the op's regions from those of later ops; false when a reader wants them pinned, or when
 * they are those of a choice. */
static bool derive(struct walk *w, int op)
{
    const struct ad_choices *choices = &w->choices[op];
    size_t n = (size_t)w->layout.ndevices;
    enum ad_dim dim = ad_context_bands(w->eval->context, op);
    w->layout.ops[op] = (struct ad_op_layout){.dim = dim != AD_DIM_WHOLE ? dim : AD_DIM_EACH};
    ad_layout_regions(problem_of(w)->graph, problem_of(w)->cluster->source, &w->layout, w->exchange,
                      &w->rows);
    const struct ad_region *mine = ad_assigned(&w->rows, op, 0);
    bool new = dim == AD_DIM_WHOLE || !w->exchange[op];
    for (size_t k = 0; new &&k < choices->count; k++)
        new = memcmp(mine, &choices->regions[k * n], n * sizeof *mine) != 0;
    return new;
}

/* Chooses for the ops from `op` down to 0; all later ones are chosen. */
static void walk(struct walk *w, int op)
{
    if (op < 0) {
        try_encodings(w);
        return;
    }
    const struct ad_choices *choices = &w->choices[op];
    size_t width = (size_t)w->layout.ndevices + 1;
    for (size_t k = 0; k < choices->count && going_on(w); k++) {
        w->layout.ops[op] = choices->ops[k];
        memcpy(ad_layout_cuts(&w->layout, op), &choices->cuts[k * width],
               width * sizeof *choices->cuts);
        walk(w, op - 1);
    }
    if (choices->derivable && going_on(w) && derive(w, op))
        walk(w, op - 1);
}

static enum adaps_status enumerate(struct ad_eval *eval, struct ad_best *best,
                                   const struct ad_choices *choices, enum ad_order last)
{
    const struct ad_search_problem *p = eval->context->problem;
    int nops = p->graph->nops, n = p->cluster->ndevices;
    struct walk w = {.eval = eval, .best = best, .choices = choices, .last = last};
    w.exchange = ad_calloc((size_t)nops, sizeof *w.exchange);
    w.early = ad_calloc((size_t)nops, sizeof *w.early);
    w.status = w.exchange && w.early ? ad_layout_init(&w.layout, nops, n, eval->err)
                                     : ad_error_memory(eval->err, "search", (size_t)nops);
    if (w.status == ADAPS_OK)
        w.status = ad_assignment_init(&w.rows, nops, n, eval->err);
    if (w.status == ADAPS_OK)
        walk(&w, nops - 1);
    ad_assignment_fini(&w.rows);
    ad_layout_fini(&w.layout);
    ad_free(w.exchange);
    ad_free(w.early);
    return w.status;
}

static int64_t limit_of(const struct ad_search_problem *problem)
{
    int64_t limit = problem->evaluations > 0 ? problem->evaluations : DEFAULT_LIMIT;
    return limit < MAX_LIMIT ? limit : MAX_LIMIT;
}

enum adaps_status ad_exhaustive_orders(struct ad_eval *eval, struct ad_best *best,
                                       enum ad_order last, double *space_log10, bool *few)
{
    int64_t limit = limit_of(eval->context->problem);
    struct ad_choices *choices;
    enum adaps_status status =
        ad_choices_make(eval->context, limit, &choices, space_log10, eval->err);
    *few = status == ADAPS_OK && choices &&
           ad_round_coarse(*space_log10) <= ad_round_coarse(log10((double)limit));
    if (*few)
        status = enumerate(eval, best, choices, last);
    ad_choices_free(choices, eval->context->problem->graph->nops);
    return status;
}

enum adaps_status ad_exhaustive_if_small(struct ad_eval *eval, struct ad_best *best)
{
    double space_log10;
    bool few;
    return ad_exhaustive_orders(eval, best, AD_ORDER_CORES, &space_log10, &few);
}

enum adaps_status ad_exhaustive_search(struct ad_eval *eval, struct ad_best *best)
{
    int64_t limit = limit_of(eval->context->problem),
            deadline = eval->context->problem->deadline_ns;
    bool few;
    enum adaps_status status =
        ad_exhaustive_orders(eval, best, AD_ORDER_CORES, &eval->space_log10, &few);
    if (status == ADAPS_OK && few && deadline > 0 && ad_clock_ns() >= deadline)
        return ad_error_set(eval->err, ADAPS_NO,
                            "strategy exhaustive: the time limit ended it after %" PRId64
                            " of up to 10^%.1f layouts",
                            ad_eval_visited(eval), eval->space_log10);
    if (status != ADAPS_OK || few)
        return status;
    return ad_error_set(eval->err, ADAPS_NO,
                        "strategy exhaustive is for small networks: here are up to 10^%.1f "
                        "layouts, and it looks at no more than %" PRId64
                        " (--evaluations changes that)",
                        eval->space_log10, limit);
}
