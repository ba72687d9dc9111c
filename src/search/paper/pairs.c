/* Programmes over the intervals of one device. Eqs 6 and 7 charge starts by starts and ends by
 * ends, or the whole need where that lies outside of what the device has: the lesser of both sums.
 * So going from layer to layer takes two passes over the cells, one per side, each with running
 * minima, and one for the whole needs, which do not depend on the layer before. */
#include "search/paper/pairs.h"

#include <math.h>

static bool grid_init(struct ad_paper_pairs *p, int layer, int device, int reach, bool with_past)
{
    const struct ad_paper_window *w = &p->m->window[ad_paper_at(p->m, layer, device)];
    struct ad_paper_grid *g = ad_paper_grid(p, layer, device);
    g->s0 = ad_paper_max(w->smin, w->smax - reach + 1);
    g->e0 = w->emin;
    g->ns = w->smax - g->s0 + 1;
    g->ne = ad_paper_min(w->emax - w->emin + 1, reach);
    g->hi = w->hi;
    size_t cells = (size_t)g->ns * (size_t)g->ne;
    g->ahead = ad_arena_alloc(&p->arena, cells, sizeof *g->ahead);
    g->past = with_past ? ad_arena_alloc(&p->arena, cells, sizeof *g->past) : NULL;
    g->price = ad_arena_alloc(&p->arena, (size_t)g->hi + 1, sizeof *g->price);
    p->cells += cells;
    p->longest = ad_paper_max(p->longest, ad_paper_max(g->ns, g->ne));
    return g->ahead && g->price && (g->past || !with_past);
}

enum adaps_status ad_paper_pairs_init(struct ad_paper_pairs *out, const struct ad_paper_model *m,
                                      int reach, bool with_past, struct adaps_error *err)
{
    *out = (struct ad_paper_pairs){.m = m};
    size_t n = (size_t)m->nlayers * (size_t)m->ndevices, longest;
    out->grids = ad_arena_alloc(&out->arena, n, sizeof *out->grids);
    bool room = out->grids;
    for (int l = 0; l < m->nlayers; l++)
        for (int d = 0; d < m->ndevices && room; d++)
            room = grid_init(out, l, d, reach, with_past);
    longest = (size_t)out->longest;
    out->scratch = ad_arena_alloc(&out->arena, 2 * longest, longest * sizeof(double));
    out->charged = ad_arena_alloc(&out->arena, longest, sizeof(double));
    out->starts = ad_arena_alloc(&out->arena, longest, sizeof(int));
    out->ends = ad_arena_alloc(&out->arena, longest, sizeof(int));
    if (room && out->scratch && out->charged && out->starts && out->ends)
        return ADAPS_OK;
    ad_paper_pairs_fini(out);
    return ad_error_memory(err, "intervals of the devices", n * sizeof *out->grids);
}

void ad_paper_pairs_fini(struct ad_paper_pairs *pairs)
{
    ad_arena_fini(&pairs->arena);
    *pairs = (struct ad_paper_pairs){0};
}

/* Eq 9 per row of overlap, counted from the balanced cuts, which both neighbours know. */
static void overlap_prices(const struct ad_paper_model *m, int layer, int device, double *front,
                           double *back)
{
    const int64_t *price = &m->overlap[ad_paper_at(m, layer, device)];
    *front = device > 0 ? (double)(price[-1] + price[0]) : 0;
    *back = device + 1 < m->ndevices ? (double)(price[0] + price[1]) : 0;
}

double ad_paper_pair_cost(const struct ad_paper_pairs *p, int layer, int device, int s, int e)
{
    const struct ad_paper_window *w = &p->m->window[ad_paper_at(p->m, layer, device)];
    const struct ad_paper_grid *g = ad_paper_grid(p, layer, device);
    double front, back;
    if (e - s > g->hi)
        return INFINITY;
    overlap_prices(p->m, layer, device, &front, &back);
    return front * (w->smax - s) + back * (e - w->emin) + g->price[e - s];
}

static void fill_needs(struct ad_paper_pairs *p, int layer, const struct ad_paper_grid *g)
{
    for (int x = 0; x < g->ns; x++)
        p->starts[x] = ad_paper_need_start(p->m, layer, g->s0 + x);
    for (int x = 0; x < g->ne; x++)
        p->ends[x] = ad_paper_need_end(p->m, layer, g->e0 + x);
}

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

/* to[y] = least over x of from[x] + price * (y0 + y - starts[x])+; entries `step` apart. The x
 * whose need starts at y or after it are free: the larger ones. */
static void spread_starts(struct ad_paper_pairs *p, const double *from, int nx, double *to, int y0,
                          int ny, int step, double price)
{
    double least = INFINITY;
    int k = nx - 1;
    for (int x = 0; x < nx; x++) {
        double g = from[x * step] - price * p->starts[x];
        p->charged[x] = x > 0 ? lesser(p->charged[x - 1], g) : g;
    }
    for (int y = ny - 1; y >= 0; y--) {
        for (; k >= 0 && p->starts[k] >= y0 + y; k--)
            least = lesser(least, from[k * step]);
        to[y * step] = k >= 0 ? lesser(least, p->charged[k] + price * (y0 + y)) : least;
    }
}

/* Likewise for ends, with (ends[x] - y0 - y)+; free are the smaller ones. step = 1. */
static void spread_ends(struct ad_paper_pairs *p, const double *from, int nx, double *to, int y0,
                        int ny, double price)
{
    double least = INFINITY;
    int k = 0;
    for (int x = nx - 1; x >= 0; x--) {
        double g = from[x] + price * p->ends[x];
        p->charged[x] = x + 1 < nx ? lesser(p->charged[x + 1], g) : g;
    }
    for (int y = 0; y < ny; y++) {
        for (; k < nx && p->ends[k] <= y0 + y; k++)
            least = lesser(least, from[k]);
        to[y] = k < nx ? lesser(least, p->charged[k] - price * (y0 + y)) : least;
    }
}

/* Rows that cell (x, z) reads of the layer before; the needs are filled in. */
static int needed(const struct ad_paper_pairs *p, int x, int z)
{
    return ad_paper_max(0, p->ends[z] - p->starts[x]);
}

/* All costs of a grid's cells, their own included, into p->scratch: base + own. */
static void add_own(struct ad_paper_pairs *p, int layer, int device, const double *base)
{
    const struct ad_paper_window *w = &p->m->window[ad_paper_at(p->m, layer, device)];
    const struct ad_paper_grid *g = ad_paper_grid(p, layer, device);
    double front, back;
    overlap_prices(p->m, layer, device, &front, &back);
    for (int a = 0; a < g->ns; a++) {
        int size = g->e0 - (g->s0 + a), n = ad_paper_min(g->ne, g->hi - size + 1);
        double start = front * (w->smax - g->s0 - a);
        for (int b = 0; b < g->ne; b++)
            p->scratch[a * g->ne + b] =
                b < n ? base[a * g->ne + b] + start + back * b + g->price[size + b] : INFINITY;
    }
}

void ad_paper_pairs_back(struct ad_paper_pairs *p, int device)
{
    const struct ad_paper_model *m = p->m;
    double *half = p->scratch + (size_t)p->longest * (size_t)p->longest;
    for (int layer = m->nlayers - 1; layer > 0; layer--) {
        const struct ad_paper_grid *g = ad_paper_grid(p, layer, device);
        const struct ad_paper_grid *to = ad_paper_grid(p, layer - 1, device);
        double price = (double)m->data[ad_paper_at(m, layer - 1, device)], whole = INFINITY;
        fill_needs(p, layer, g);
        add_own(p, layer, device, g->ahead);
        for (int x = 0; x < g->ns; x++)
            for (int z = 0; z < g->ne; z++)
                whole = lesser(whole, p->scratch[x * g->ne + z] + price * needed(p, x, z));
        /* half holds to->ns rows of g->ne: each column is spread over the starts */
        for (int b = 0; b < g->ne; b++)
            spread_starts(p, p->scratch + b, g->ns, half + b, to->s0, to->ns, g->ne, price);
        for (int a = 0; a < to->ns; a++)
            spread_ends(p, half + (size_t)a * (size_t)g->ne, g->ne,
                        to->ahead + (size_t)a * (size_t)to->ne, to->e0, to->ne, price);
        for (int i = 0; i < to->ns * to->ne; i++)
            to->ahead[i] = lesser(to->ahead[i], whole);
    }
}

void ad_paper_pairs_on(struct ad_paper_pairs *p, int layer, int device)
{
    const struct ad_paper_grid *g = ad_paper_grid(p, layer, device);
    const struct ad_paper_grid *from = ad_paper_grid(p, layer - 1, device);
    double price = (double)p->m->data[ad_paper_at(p->m, layer - 1, device)], whole = INFINITY;
    double *half = p->scratch + (size_t)p->longest * (size_t)p->longest;
    fill_needs(p, layer, g);
    add_own(p, layer - 1, device, from->past);
    for (int i = 0; i < from->ns * from->ne; i++)
        whole = lesser(whole, p->scratch[i]);
    for (int x = 0; x < g->ns; x++)
        for (int b = 0; b < from->ne; b++) {
            double least = INFINITY;
            for (int a = 0; a < from->ns; a++) {
                int rows = ad_paper_max(0, from->s0 + a - p->starts[x]);
                least = lesser(least, p->scratch[a * from->ne + b] + price * rows);
            }
            half[x * from->ne + b] = least;
        }
    for (int x = 0; x < g->ns; x++)
        for (int z = 0; z < g->ne; z++) {
            double least = whole + price * needed(p, x, z);
            for (int b = 0; b < from->ne; b++) {
                int rows = ad_paper_max(0, p->ends[z] - from->e0 - b);
                least = lesser(least, half[x * from->ne + b] + price * rows);
            }
            g->past[x * g->ne + z] = least;
        }
}

double ad_paper_pairs_follow(const struct ad_paper_pairs *p, int device,
                             struct ad_paper_interval *cuts)
{
    const struct ad_paper_model *m = p->m;
    double total = 0;
    for (int l = 0; l < m->nlayers; l++) {
        const struct ad_paper_grid *g = ad_paper_grid(p, l, device);
        double least = INFINITY;
        struct ad_paper_interval best = {g->s0 + g->ns - 1, g->e0};
        for (int a = 0; a < g->ns; a++) {
            int s = g->s0 + a;
            for (int b = 0; b < g->ne && g->e0 + b - s <= g->hi; b++) {
                struct ad_paper_interval next = {s, g->e0 + b};
                double cost = g->ahead[a * g->ne + b] + ad_paper_pair_cost(p, l, device, s, next.e);
                if (l > 0)
                    cost += (double)ad_paper_fetch(m, l - 1, device,
                                                   cuts[ad_paper_at(m, l - 1, device)], next);
                if (cost < least) {
                    least = cost;
                    best = next;
                }
            }
        }
        cuts[ad_paper_at(m, l, device)] = best;
        if (l == 0)
            total = least;
    }
    return total;
}
