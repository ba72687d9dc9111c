/* A sharper relaxation of the paper's problem than that of bound.c, by devices instead of
 * sides.
 *
 * Times of a layer fall on levels: the times of all allowed sizes of all devices. t_comp rises from
 * the balanced one by the step of each level that some device reaches. Let every device pay for the
 * levels that it reaches, with shares >= 0 that add up to the step: then all devices together pay
 * at most what t_comp really rises, and depend on each other no longer. Each is a programme over
 * its intervals (pairs.c), with limits of sizes, floors and whole rows as they are. The sum
 * of their costs and of the balanced t_comps is a lower bound. Linear shares are the relaxation by
 * sides; here each level may have its own, which matters where a device's next row is a large step.
 *
 * The shares climb as the multipliers there do (Adam's step, projected onto the simplex). */
#include "search/paper/pairs.h"
#include "base/round.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORK 4.0e7 /* cells, over all iterations */
#define CELLS ((size_t)1 << 22)
#define ITERATIONS_MIN 20
#define STEP_FIRST 0.5 /* of equal shares */
#define STEP_LAST 2e-2 /* of the first */
#define MEAN_KEPT 0.9
#define SCALE_KEPT 0.98
#define TRIES 6 /* layouts made and polished on the way */
#define POLISH_ROUNDS 4

struct levels {
    int count;
    int64_t *time; /* ascending, above the balanced t_comp */
    double *share; /* [level * ndevices + device], of the step */
    double *mean, *square;
};

struct climb {
    const struct ad_paper_model *m;
    struct ad_paper_pairs pairs;
    struct levels *levels; /* [layer] */
    struct ad_paper_interval *at;
    double *starts, *ends; /* averages */
};

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool find_levels(struct climb *c, int layer)
{
    const struct ad_paper_model *m = c->m;
    struct levels *v = &c->levels[layer];
    struct ad_arena *arena = &c->pairs.arena;
    size_t room = 0, n = (size_t)m->ndevices;
    for (int d = 0; d < m->ndevices; d++)
        room += (size_t)m->window[ad_paper_at(m, layer, d)].hi + 1;
    v->time = ad_arena_alloc(arena, room, sizeof *v->time);
    if (!v->time)
        return false;
    for (int d = 0; d < m->ndevices; d++)
        for (int size = 1; size <= m->window[ad_paper_at(m, layer, d)].hi; size++)
            if (ad_paper_time(m, layer, d, size) > m->least[layer])
                v->time[v->count++] = ad_paper_time(m, layer, d, size);
    qsort(v->time, (size_t)v->count, sizeof *v->time, compare_times);
    int kept = 0;
    for (int k = 0; k < v->count; k++)
        if (kept == 0 || v->time[k] > v->time[kept - 1])
            v->time[kept++] = v->time[k];
    v->count = kept;
    v->share = ad_arena_alloc(arena, (size_t)kept * n, sizeof *v->share);
    v->mean = ad_arena_alloc(arena, (size_t)kept * n, sizeof *v->mean);
    v->square = ad_arena_alloc(arena, (size_t)kept * n, sizeof *v->square);
    if (!v->share || !v->mean || !v->square)
        return false;
    for (int k = 0; k < kept; k++)
        for (size_t d = 0; d < n; d++)
            v->share[(size_t)k * n + d] = 1.0 / m->ndevices;
    return true;
}

/* What sizes cost a device: the shares of all levels that it reaches. */
static void set_prices(struct climb *c, int layer, int device)
{
    const struct ad_paper_model *m = c->m;
    const struct levels *v = &c->levels[layer];
    struct ad_paper_grid *g = ad_paper_grid(&c->pairs, layer, device);
    double paid = 0;
    int k = 0;
    for (int size = 0; size <= g->hi; size++) {
        int64_t time = ad_paper_time(m, layer, device, size);
        for (; k < v->count && v->time[k] <= time; k++) {
            int64_t below = k > 0 ? v->time[k - 1] : m->least[layer];
            paid += v->share[(size_t)k * (size_t)m->ndevices + (size_t)device] *
                    (double)(v->time[k] - below);
        }
        g->price[size] = paid;
    }
}

static double relax(struct climb *c)
{
    const struct ad_paper_model *m = c->m;
    double total = 0;
    for (int l = 0; l < m->nlayers; l++)
        total += (double)m->least[l];
    for (int d = 0; d < m->ndevices; d++) {
        for (int l = 0; l < m->nlayers; l++)
            set_prices(c, l, d);
        ad_paper_pairs_back(&c->pairs, d);
        total += ad_paper_pairs_follow(&c->pairs, d, c->at);
    }
    return total;
}

static void step_level(struct climb *c, int layer, int k, double length, int iteration)
{
    const struct ad_paper_model *m = c->m;
    struct levels *v = &c->levels[layer];
    size_t n = (size_t)m->ndevices, first = (size_t)k * n;
    double middle = 0;
    for (size_t d = 0; d < n; d++) {
        struct ad_paper_interval at = c->at[ad_paper_at(m, layer, (int)d)];
        middle += ad_paper_time(m, layer, (int)d, at.e - at.s) >= v->time[k] ? 1.0 / (double)n : 0;
    }
    for (size_t d = 0; d < n; d++) {
        struct ad_paper_interval at = c->at[ad_paper_at(m, layer, (int)d)];
        double reached = ad_paper_time(m, layer, (int)d, at.e - at.s) >= v->time[k];
        double up = ad_paper_direction(&v->mean[first + d], &v->square[first + d], reached - middle,
                                       MEAN_KEPT, SCALE_KEPT, iteration);
        v->share[first + d] += length * up;
    }
    ad_paper_onto_simplex(&v->share[first], m->ndevices);
}

static enum adaps_status try_average(struct climb *c, struct ad_paper_result *best,
                                     struct adaps_error *err)
{
    const struct ad_paper_model *m = c->m;
    size_t n = (size_t)m->nlayers * (size_t)m->ndevices;
    struct ad_paper_interval *cuts = ad_calloc(n, sizeof *cuts);
    if (!cuts)
        return ad_error_memory(err, "layouts", n * sizeof *cuts);
    for (int l = 0; l < m->nlayers; l++) {
        size_t i = ad_paper_at(m, l, 0);
        ad_paper_repair(m, l, &c->starts[i], &c->ends[i], &cuts[i]);
    }
    enum adaps_status status = ad_paper_polish(m, cuts, best, POLISH_ROUNDS, err);
    ad_free(cuts);
    return status;
}

static enum adaps_status climb(struct climb *c, struct ad_paper_result *best, double *bound,
                               struct adaps_error *err)
{
    const struct ad_paper_model *m = c->m;
    size_t n = (size_t)m->nlayers * (size_t)m->ndevices;
    int iterations = (int)fmin(WORK / (double)c->pairs.cells, m->problem->iterations);
    if (iterations < ITERATIONS_MIN)
        return ADAPS_OK;
    double length = STEP_FIRST / m->ndevices,
           fall = ad_round_coarse(pow(STEP_LAST, 1.0 / iterations));
    int every = (iterations + TRIES - 1) / TRIES;
    for (int k = 0; k < iterations && !ad_paper_late(m); k++, length *= fall) {
        *bound = fmax(*bound, relax(c));
        if ((double)best->score - *bound < 0.999)
            break;
        for (size_t i = 0; i < n; i++) {
            double weight = fmax(0.05, 1.0 / (k + 1));
            c->starts[i] += weight * (c->at[i].s - c->starts[i]);
            c->ends[i] += weight * (c->at[i].e - c->ends[i]);
        }
        if (k % every == every - 1) {
            enum adaps_status status = try_average(c, best, err);
            if (status != ADAPS_OK)
                return status;
        }
        for (int l = 0; l < m->nlayers; l++)
            for (int level = 0; level < c->levels[l].count; level++)
                step_level(c, l, level, length, k);
    }
    return ADAPS_OK;
}

enum adaps_status ad_paper_levels(const struct ad_paper_model *m, struct ad_paper_result *best,
                                  double *bound, struct adaps_error *err)
{
    struct climb c = {.m = m};
    size_t n = (size_t)m->nlayers * (size_t)m->ndevices, cells = 0;
    for (size_t i = 0; i < n; i++)
        cells += (size_t)(m->window[i].smax - m->window[i].smin + 1) *
                 (size_t)(m->window[i].emax - m->window[i].emin + 1);
    if (cells > CELLS)
        return ADAPS_OK;
    enum adaps_status status = ad_paper_pairs_init(&c.pairs, m, AD_PAPER_ROWS + 1, false, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_arena *arena = &c.pairs.arena;
    c.levels = ad_arena_alloc(arena, (size_t)m->nlayers, sizeof *c.levels);
    c.at = ad_arena_alloc(arena, n, sizeof *c.at);
    c.starts = ad_arena_alloc(arena, n, sizeof *c.starts);
    c.ends = ad_arena_alloc(arena, n, sizeof *c.ends);
    bool room = c.levels && c.at && c.starts && c.ends;
    for (int l = 0; l < m->nlayers && room; l++)
        room = find_levels(&c, l);
    status =
        room ? climb(&c, best, bound, err) : ad_error_memory(err, "lower bound", n * sizeof *c.at);
    ad_paper_pairs_fini(&c.pairs);
    return status;
}
