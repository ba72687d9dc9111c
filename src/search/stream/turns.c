#include "search/stream/turns.h"
#include "base/mem.h"
#include "base/round.h"
#include "search/stream/fit.h"

#include <glpk.h>
#include <math.h>
#include <string.h>

#define LEAST_SHARE 0.02      /* less is none */
#define MOST_ITERATIONS 10000 /* tens are usual */
#define LATER 1.003           /* a deal this much above the best one is taken if it is shorter */
#define RESOURCES (3 * AD_MAX_DEVICES + 2) /* of which inferences take something */

void ad_turns_fini(struct ad_turns *turns)
{
    for (int t = 0; t < turns->count; t++) {
        ad_assignment_fini(&turns->items[t].assignment);
        ad_schedule_fini(&turns->items[t].schedule);
    }
    ad_free(turns->items);
    turns->items = NULL;
    turns->count = 0;
}

static enum adaps_status make_turn(const struct ad_search_problem *p,
                                   const struct ad_assignment *assignment, struct ad_turn *out,
                                   struct adaps_error *err)
{
    *out = (struct ad_turn){.share = 0};
    enum adaps_status status =
        ad_assignment_init(&out->assignment, p->graph->nops, p->cluster->ndevices, err);
    if (status != ADAPS_OK)
        return status;
    ad_assignment_copy(assignment, &out->assignment);
    if (p->in_order)
        ad_assignment_put_in_order(&out->assignment);
    status = ad_schedule_build(p->graph, p->cluster, &out->assignment, &out->schedule, err);
    if (status == ADAPS_OK)
        status = ad_schedule_loads(p->graph, p->cluster, &out->schedule, &out->loads, err);
    return status == ADAPS_OK ? ad_stream_room(p, &out->schedule, &out->most, err) : status;
}

enum adaps_status ad_turns_add(struct ad_turns *turns, const struct ad_assignment *assignment)
{
    const struct ad_search_problem *p = turns->problem;
    if (!ad_grow(&turns->items, (size_t)turns->count, &turns->room, sizeof *turns->items))
        return ad_error_memory(turns->err, "turns", (size_t)turns->count);
    struct ad_turn *turn = &turns->items[turns->count];
    enum adaps_status status = make_turn(p, assignment, turn, turns->err);
    bool late = p->latency_cap_ns > 0 && turn->schedule.makespan_ns > p->latency_cap_ns;
    if (status == ADAPS_OK && !late && ad_stream_fits(p, &turn->schedule)) {
        turns->count++;
        return ADAPS_OK;
    }
    ad_assignment_fini(&turn->assignment);
    ad_schedule_fini(&turn->schedule);
    return status;
}

int64_t ad_turn_interval(const struct ad_turn *turn)
{
    int64_t load = ad_loads_most(&turn->loads), each = turn->schedule.makespan_ns / turn->most;
    return load > each ? load : each;
}

/* --- shares --- */

/* The loads in a row: devices, uplinks, downlinks, the medium, places in flight. */
static int64_t load_of(const struct ad_turn *turn, int resource)
{
    const struct ad_loads *loads = &turn->loads;
    int d = resource % AD_MAX_DEVICES;
    if (resource == RESOURCES - 1)
        return turn->schedule.makespan_ns / AD_STREAM_FRAMES;
    switch (resource / AD_MAX_DEVICES) {
    case 0:
        return loads->device[d];
    case 1:
        return loads->up[d];
    case 2:
        return loads->down[d];
    default:
        return loads->medium;
    }
}

/* Columns: the shares, then the interval. Rows: their sum; for each resource, its load. Loads are
 * in units of the largest one. */
static bool write_programme(glp_prob *lp, const struct ad_turns *turns, const bool *use,
                            double unit)
{
    int n = turns->count;
    int *index = ad_calloc((size_t)n + 2, sizeof *index);
    double *value = ad_calloc((size_t)n + 2, sizeof *value);
    bool room = index && value;
    glp_set_obj_dir(lp, GLP_MIN);
    glp_add_cols(lp, n + 1);
    for (int t = 0; t < n; t++)
        glp_set_col_bnds(lp, t + 1, use[t] ? GLP_LO : GLP_FX, 0, 0);
    glp_set_col_bnds(lp, n + 1, GLP_LO, 0, 0);
    glp_set_obj_coef(lp, n + 1, 1);
    for (int r = -1; room && r < RESOURCES; r++) {
        int count = 0;
        for (int t = 0; t < n; t++) {
            double load = r < 0 ? 1 : (double)load_of(&turns->items[t], r) / unit;
            if (load <= 0)
                continue;
            index[++count] = t + 1;
            value[count] = load;
        }
        if (count == 0)
            continue;
        if (r >= 0) {
            index[++count] = n + 1;
            value[count] = -1;
        }
        int row = glp_add_rows(lp, 1);
        glp_set_row_bnds(lp, row, r < 0 ? GLP_FX : GLP_UP, r < 0, r < 0);
        glp_set_mat_row(lp, row, count, index, value);
    }
    ad_free(index);
    ad_free(value);
    return room;
}

enum adaps_status ad_turns_mix(struct ad_turns *turns, const bool *use, double *interval_ns)
{
    double unit = 1;
    for (int t = 0; t < turns->count; t++)
        unit = fmax(unit, (double)ad_turn_interval(&turns->items[t]));
    glp_prob *lp = glp_create_prob();
    glp_smcp options;
    glp_init_smcp(&options);
    options.msg_lev = GLP_MSG_OFF;
    options.it_lim = MOST_ITERATIONS;
    bool room = write_programme(lp, turns, use, unit);
    bool solved = room && glp_simplex(lp, &options) == 0 && glp_get_status(lp) == GLP_OPT;
    for (int t = 0; t < turns->count; t++) {
        double share = solved ? ad_round_coarse(glp_get_col_prim(lp, t + 1)) : 0;
        turns->items[t].share = share >= LEAST_SHARE ? share : 0;
    }
    *interval_ns =
        solved ? ad_round_coarse(glp_get_col_prim(lp, turns->count + 1)) * unit : INFINITY;
    glp_delete_prob(lp);
    return room ? ADAPS_OK : ad_error_memory(turns->err, "turns", (size_t)turns->count);
}

/* --- deals --- */

/* So many of `length` inferences as the shares say: rounded down, then one more where most is
 * missing. */
static void count_deal(const struct ad_turns *turns, int length, int *counts)
{
    int left = length;
    double sum = 0;
    for (int t = 0; t < turns->count; t++)
        sum += turns->items[t].share;
    for (int t = 0; t < turns->count; t++) {
        counts[t] = (int)(turns->items[t].share / sum * length + 1e-9);
        left -= counts[t];
    }
    for (; left > 0; left--) {
        int most = 0;
        double missing = -1;
        for (int t = 0; t < turns->count; t++) {
            double m = turns->items[t].share / sum * length - counts[t];
            if (turns->items[t].share > 0 && m > missing) {
                missing = m;
                most = t;
            }
        }
        counts[most]++;
    }
}

/* The largest load of a deal, per inference. */
static double deal_interval(const struct ad_turns *turns, const int *counts, int length)
{
    double most = 0;
    for (int r = 0; r < RESOURCES; r++) {
        double sum = 0;
        for (int t = 0; t < turns->count; t++)
            sum += counts[t] * (double)load_of(&turns->items[t], r);
        most = fmax(most, sum / length);
    }
    return most;
}

/* The shortest deal that is about as good as any. counts: of `count` turns. */
static int choose_length(const struct ad_turns *turns, int *counts)
{
    double best = INFINITY;
    for (int length = 1; length <= AD_STREAM_DEALS; length++) {
        count_deal(turns, length, counts);
        best = fmin(best, deal_interval(turns, counts, length));
    }
    for (int length = 1;; length++) {
        count_deal(turns, length, counts);
        if (deal_interval(turns, counts, length) <= LATER * best)
            return length;
    }
}

/* Spreads each turn evenly over the deal: always the one that is furthest behind its share. */
static void spread(const int *counts, const int *number, int nturns, int length, int *deal)
{
    for (int i = 0; i < length; i++) {
        int64_t furthest = INT64_MIN;
        int turn = 0;
        for (int t = 0; t < nturns; t++) {
            int64_t given = 0;
            for (int k = 0; k < i; k++)
                given += deal[k] == number[t];
            int64_t behind = (int64_t)counts[t] * (i + 1) - given * length;
            if (counts[t] > 0 && behind > furthest) {
                furthest = behind;
                turn = t;
            }
        }
        deal[i] = number[turn];
    }
}

/* The numbers of the turns in the stream, those first that more inferences take; how many. */
static int number_turns(const int *counts, int nturns, int *number)
{
    int used = 0;
    for (int t = 0; t < nturns; t++) {
        number[t] = 0;
        for (int k = 0; k < nturns; k++)
            number[t] += counts[k] > counts[t] || (counts[k] == counts[t] && k < t);
        used += counts[t] > 0;
    }
    return used;
}

/* Room in a result for so many turns: their schedules and assignments, and a deal. */
static enum adaps_status make_room(int count, struct ad_search_result *result,
                                   struct adaps_error *err)
{
    size_t more = (size_t)count - 1;
    struct ad_stream *stream = &result->stream;
    *stream = AD_STREAM_ONE;
    stream->deal = ad_calloc(AD_STREAM_DEALS, sizeof *stream->deal);
    stream->others = ad_calloc(more, sizeof *stream->others);
    result->others = ad_calloc(more, sizeof *result->others);
    if (!stream->deal || !stream->others || !result->others)
        return ad_error_memory(err, "stream", more * sizeof *stream->others);
    stream->nturns = count;
    result->nothers = (int)more;
    return ADAPS_OK;
}

/* Builds turn t of a result. */
static enum adaps_status build_turn(const struct ad_search_problem *p,
                                    const struct ad_assignment *a, int t,
                                    struct ad_search_result *result, struct adaps_error *err)
{
    struct ad_schedule *to = t == 0 ? &result->schedule : &result->stream.others[t - 1];
    struct ad_assignment *kept = t == 0 ? &result->assignment : &result->others[t - 1];
    enum adaps_status status = ad_schedule_build(p->graph, p->cluster, a, to, err);
    if (status == ADAPS_OK)
        status = ad_assignment_init(kept, a->nops, a->ndevices, err);
    if (status == ADAPS_OK)
        ad_assignment_copy(a, kept);
    return status;
}

static enum adaps_status make_stream(const struct ad_turns *turns, int *counts, int *number,
                                     struct ad_search_result *result)
{
    struct ad_stream *stream = &result->stream;
    int length = choose_length(turns, counts);
    int used = number_turns(counts, turns->count, number);
    enum adaps_status status = make_room(used, result, turns->err);
    for (int t = 0; t < turns->count && status == ADAPS_OK; t++)
        if (counts[t] > 0)
            status = build_turn(turns->problem, &turns->items[t].assignment, number[t], result,
                                turns->err);
    if (status == ADAPS_OK && used > 1) {
        spread(counts, number, turns->count, length, stream->deal);
        stream->ndeal = length;
    }
    if (status == ADAPS_OK)
        status = ad_stream_fit(turns->problem, &result->schedule, stream, turns->err);
    if (status == ADAPS_OK && !ad_stream_fits(turns->problem, &result->schedule))
        return ADAPS_NO;
    return status;
}

enum adaps_status ad_turns_stream(const struct ad_turns *turns, struct ad_search_result *result)
{
    int *counts = ad_calloc((size_t)turns->count, sizeof *counts);
    int *number = ad_calloc((size_t)turns->count, sizeof *number);
    enum adaps_status status = counts && number
                                   ? make_stream(turns, counts, number, result)
                                   : ad_error_memory(turns->err, "stream", (size_t)turns->count);
    ad_free(counts);
    ad_free(number);
    return status;
}

enum adaps_status ad_turns_given(const struct ad_search_problem *problem,
                                 const struct ad_assignment *given, int count, const int *deal,
                                 int ndeal, struct ad_search_result *result,
                                 struct adaps_error *err)
{
    enum adaps_status status = make_room(count, result, err);
    for (int t = 0; t < count && status == ADAPS_OK; t++)
        status = build_turn(problem, &given[t], t, result, err);
    if (status != ADAPS_OK)
        return status;
    memcpy(result->stream.deal, deal, (size_t)ndeal * sizeof *deal);
    result->stream.ndeal = ndeal;
    status = ad_stream_fit(problem, &result->schedule, &result->stream, err);
    if (status == ADAPS_OK && !ad_stream_fits(problem, &result->schedule))
        status = ad_error_set(
            err, ADAPS_NO, "a stream of these %d turns does not keep to the latency and the memory",
            count);
    return status;
}
