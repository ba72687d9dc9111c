/* Local improvement of a layout of the paper's problem.
 *
 * Once t_comp of every layer is given, it only limits sizes, and devices no longer depend on each
 * other: each device's best intervals throughout the chain follow exactly (pairs.c).
 *
 * So the search is over the times t_comp. For one layer, with the costs of all intervals before it
 * and after it known, every time that some device can have is tried, with all devices free to move
 * in all layers. This goes on layer by layer until nothing improves. */
#include "search/paper/pairs.h"

#include <math.h>
#include <string.h>

#define REACH 64                /* rows before the balanced start, after the balanced end */
#define CELLS ((size_t)1 << 21) /* of all tables of a kind; bounds the reach */

struct polish {
    const struct ad_paper_model *m;
    struct ad_paper_pairs pairs;
    int64_t *limit; /* [layer]: t_comp */
    double *least;  /* [device * width + size]: least cost with at most that size */
    size_t width;
};

/* The largest size of a device within a time. */
static int most_rows(const struct ad_paper_model *m, int layer, int device, int64_t limit)
{
    double row = m->comp[ad_paper_at(m, layer, device)];
    int hi = m->window[ad_paper_at(m, layer, device)].hi;
    int most = row > 0 ? (int)fmin(((double)limit + 1) / row, hi) : hi;
    while (most > 0 && ad_paper_time(m, layer, device, most) > limit)
        most--;
    return most;
}

static void set_limit(struct polish *p, int layer, int64_t limit)
{
    p->limit[layer] = limit;
    for (int d = 0; d < p->m->ndevices; d++) {
        struct ad_paper_grid *g = ad_paper_grid(&p->pairs, layer, d);
        int most = most_rows(p->m, layer, d, limit);
        for (int size = 0; size <= g->hi; size++)
            g->price[size] = size <= most ? 0 : INFINITY;
    }
}

/* least[size] of a device at a layer, whatever the layer's limit. */
static void least_by_size(struct polish *p, int layer, int device)
{
    struct ad_paper_grid *g = ad_paper_grid(&p->pairs, layer, device);
    double *least = &p->least[(size_t)device * p->width];
    for (int size = 0; size <= g->hi; size++)
        least[size] = INFINITY;
    memset(g->price, 0, ((size_t)g->hi + 1) * sizeof *g->price);
    for (int a = 0; a < g->ns; a++)
        for (int b = 0; b < g->ne && g->e0 + b - g->s0 - a <= g->hi; b++) {
            int s = g->s0 + a, e = g->e0 + b, i = a * g->ne + b;
            double cost =
                g->ahead[i] + g->past[i] + ad_paper_pair_cost(&p->pairs, layer, device, s, e);
            least[e - s] = fmin(least[e - s], cost);
        }
    for (int size = 1; size <= g->hi; size++)
        least[size] = fmin(least[size], least[size - 1]);
}

/* Sets t_comp of the layer to the best; *best: the cost of everything. True when that is a gain. */
static bool choose_limit(struct polish *p, int layer, double *best)
{
    const struct ad_paper_model *m = p->m;
    double least = INFINITY;
    int64_t chosen = p->limit[layer];
    for (int d = 0; d < m->ndevices; d++)
        least_by_size(p, layer, d);
    for (int d = 0; d < m->ndevices; d++) {
        const struct ad_paper_window *w = &m->window[ad_paper_at(m, layer, d)];
        for (int size = w->emin - w->smax; size <= w->hi; size++) {
            int64_t limit = ad_paper_time(m, layer, d, size);
            double cost = (double)limit;
            if (limit < m->least[layer])
                continue;
            for (int k = 0; k < m->ndevices; k++)
                cost += p->least[(size_t)k * p->width + (size_t)most_rows(m, layer, k, limit)];
            if (cost < least) {
                least = cost;
                chosen = limit;
            }
        }
    }
    set_limit(p, layer, chosen);
    for (int l = 0; l < m->nlayers; l++)
        least += l == layer ? 0 : (double)p->limit[l];
    bool gain = least < *best - 0.5;
    *best = fmin(least, *best);
    return gain;
}

/* All layers in order; the costs before each are those of the times just chosen. */
static bool sweep(struct polish *p, double *best)
{
    bool gain = false;
    for (int d = 0; d < p->m->ndevices; d++)
        ad_paper_pairs_back(&p->pairs, d);
    for (int l = 0; l < p->m->nlayers; l++) {
        for (int d = 0; d < p->m->ndevices && l > 0; d++)
            ad_paper_pairs_on(&p->pairs, l, d);
        gain = choose_limit(p, l, best) || gain;
    }
    return gain;
}

static void extract(struct polish *p, struct ad_paper_interval *cuts)
{
    const struct ad_paper_model *m = p->m;
    double starts[AD_PAPER_DEVICES], ends[AD_PAPER_DEVICES];
    for (int d = 0; d < m->ndevices; d++) {
        ad_paper_pairs_back(&p->pairs, d);
        ad_paper_pairs_follow(&p->pairs, d, cuts);
    }
    for (int l = 0; l < m->nlayers; l++) {
        struct ad_paper_interval *here = &cuts[ad_paper_at(m, l, 0)];
        for (int d = 0; d < m->ndevices; d++) {
            starts[d] = here[d].s;
            ends[d] = here[d].e;
        }
        ad_paper_repair(m, l, starts, ends, here);
    }
}

static enum adaps_status prepare(struct polish *p, const struct ad_paper_interval *start,
                                 struct adaps_error *err)
{
    const struct ad_paper_model *m = p->m;
    size_t n = (size_t)m->nlayers * (size_t)m->ndevices;
    int reach = REACH, hi = 0;
    while (reach > 2 && n * (size_t)reach * (size_t)reach > CELLS)
        reach--;
    enum adaps_status status = ad_paper_pairs_init(&p->pairs, m, reach, true, err);
    if (status != ADAPS_OK)
        return status;
    for (size_t i = 0; i < n; i++)
        hi = ad_paper_max(hi, m->window[i].hi);
    p->width = (size_t)hi + 1;
    p->limit = ad_arena_alloc(&p->pairs.arena, (size_t)m->nlayers, sizeof *p->limit);
    p->least = ad_arena_alloc(&p->pairs.arena, p->width * (size_t)m->ndevices, sizeof *p->least);
    if (!p->limit || !p->least)
        return ad_error_memory(err, "local improvement", p->width * sizeof *p->least);
    for (int l = 0; l < m->nlayers; l++) {
        int64_t slowest = 0;
        for (int d = 0; d < m->ndevices; d++) {
            struct ad_paper_interval own = start[ad_paper_at(m, l, d)];
            int64_t time = ad_paper_time(m, l, d, own.e - own.s);
            slowest = time > slowest ? time : slowest;
        }
        set_limit(p, l, slowest);
    }
    return ADAPS_OK;
}

enum adaps_status ad_paper_polish(const struct ad_paper_model *m,
                                  const struct ad_paper_interval *start,
                                  struct ad_paper_result *best, int rounds, struct adaps_error *err)
{
    struct polish p = {.m = m};
    size_t n = (size_t)m->nlayers * (size_t)m->ndevices;
    struct ad_paper_interval *cuts = ad_calloc(n, sizeof *cuts);
    double reached = INFINITY;
    enum adaps_status status =
        cuts ? prepare(&p, start, err) : ad_error_memory(err, "layouts", n * sizeof *cuts);
    if (status == ADAPS_OK) {
        for (int k = 0; k < rounds && !ad_paper_late(m) && sweep(&p, &reached); k++)
            continue;
        extract(&p, cuts);
        best->visited++;
        int64_t score = ad_paper_score(m, cuts);
        if (score < best->score) {
            best->score = score;
            memcpy(best->cuts, cuts, n * sizeof *cuts);
        }
    }
    ad_free(cuts);
    ad_paper_pairs_fini(&p.pairs);
    return status;
}
