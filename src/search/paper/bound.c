/* A certificate for the paper's score: Lagrangian relaxation between neighbouring cuts.
 *
 * Two kinds of constraints tie the starts and ends (the sides) of one layer together:
 *   t_comp is at least t_d of every device, and at least t_comp of the balanced sizes
 *                                            multipliers lambda >= 0, summing to 1 per layer
 *   a size is at most hi                     multipliers price >= 0
 * Without them a side depends only on the same side in the neighbouring layers: eqs 6 and 7 charge
 * starts by starts and ends by ends, and eq 9 is linear. So what remains is one programme over
 * layers and positions for each of the 2 (D - 1) sides inside, each linear in layers x positions
 * (two running minima per layer). Its value is a lower bound for any multipliers. Floors of eq 4
 * are paid by one tick per layer. Where an interval might lie outside of what is needed of it (tiny
 * sizes), a side is charged for min((own start - need start)+, the shortest need), likewise at the
 * end, which is never more than eqs 6 and 7 charge.
 *
 * The multipliers climb along subgradients with Adam's step (a running mean over a running scale,
 * Kingma and Ba 2015), projected; the step falls geometrically. The positions averaged on the way,
 * made allowed and polished, are good layouts: they improve the answer. */
#include "search/paper/pairs.h"
#include "base/round.h"

#include <math.h>
#include <string.h>

#define STEP_FIRST 0.2 /* of a row's ticks (price), of 1 / devices (lambda) */
#define STEP_LAST 1e-3 /* of the first */
#define MEAN_KEPT 0.9  /* of Adam */
#define SCALE_KEPT 0.99
#define AVERAGE 0.05 /* weight of the newest positions in the average */
#define TRY_EVERY 20 /* iterations between layouts made from positions */
#define POLISH_ROUNDS 4
#define GAP_ENOUGH 1e-6

struct prices {
    double *lambda;  /* [layer * (ndevices + 1) + device]; last: of the balanced sizes */
    double *surplus; /* [layer * ndevices + device]: ticks per row above hi */
};

struct climb {
    struct ad_paper_bound *bound;
    const struct ad_paper_model *m;
    struct ad_paper_result *best;
    struct ad_paper_interval *at, *trial; /* positions of the relaxation; a layout */
    double *starts, *ends;                /* averages */
    int *shortest;                        /* [layer * ndevices + device]: rows charged at most */
    double *scale;                        /* [layer]: ticks that a row is about */
    double *floors;                       /* [layer]: ticks that the floor of eq 4 may take */
    struct prices now, top, mean, square; /* top: of the best bound; mean, square: Adam's */
    double *work;                         /* one side's positions, twice */
    size_t n;
};

static void side_range(const struct ad_paper_model *m, int layer, int side, int *first, int *last)
{
    const struct ad_paper_window *w = &m->window[ad_paper_at(m, layer, side / 2)];
    *first = side % 2 ? w->emin : w->smin;
    *last = side % 2 ? w->emax : w->smax;
}

static double *lambdas(const struct ad_paper_model *m, const struct prices *p, int layer)
{
    return &p->lambda[(size_t)layer * (size_t)(m->ndevices + 1)];
}

/* Ticks per row of a side, from all prices. */
static double slope(const struct climb *c, const struct prices *p, int layer, int side)
{
    const struct ad_paper_model *m = c->m;
    int d = side / 2;
    size_t i = ad_paper_at(m, layer, d);
    double size = lambdas(m, p, layer)[d] * m->comp[i] + p->surplus[i];
    if (side % 2)
        return size + (d + 1 < m->ndevices ? (double)(m->overlap[i] + m->overlap[i + 1]) : 0);
    return -size - (d > 0 ? (double)(m->overlap[i - 1] + m->overlap[i]) : 0);
}

/* The relaxed eq 6 or 7: rows that are fetched at least when the side is at y of layer - 1 and at x
 * of layer. */
static int fetched(const struct climb *c, int layer, int side, int y, int x)
{
    int rows =
        side % 2 ? ad_paper_need_end(c->m, layer, x) - y : y - ad_paper_need_start(c->m, layer, x);
    int most = c->shortest[ad_paper_at(c->m, layer, side / 2)];
    return rows < 0 ? 0 : rows > most ? most : rows;
}

/* enter[y] = least over x of data(y, x) + togo[x]. Seen from the free end of the positions (large x
 * for starts, small x for ends) x is free until its need reaches over y. */
static void enter_side(const struct climb *c, int layer, int side)
{
    const struct ad_paper_model *m = c->m;
    struct ad_paper_bound *b = c->bound;
    int first, last, yfirst, ylast, end = side % 2;
    side_range(m, layer, side, &first, &last);
    side_range(m, layer - 1, side, &yfirst, &ylast);
    const double *togo = ad_paper_togo(b, layer, side);
    double *enter = ad_paper_enter(b, layer, side);
    double price = (double)m->data[ad_paper_at(m, layer - 1, side / 2)];
    double most = price * c->shortest[ad_paper_at(m, layer, side / 2)];
    int n = last - first + 1;
    double *plain = c->work, *charged = c->work + n; /* minima from the far end up to each x */
    for (int k = 0; k < n; k++) {
        int x = end ? last - k : first + k;
        int need = end ? ad_paper_need_end(m, layer, x) : -ad_paper_need_start(m, layer, x);
        double t = togo[x - first], g = t + price * need;
        plain[k] = k > 0 ? fmin(plain[k - 1], t) : t;
        charged[k] = k > 0 ? fmin(charged[k - 1], g) : g;
    }
    double free_least = INFINITY;
    int k = n - 1; /* positions after k are free */
    for (int j = 0; j <= ylast - yfirst; j++) {
        int y = end ? yfirst + j : ylast - j;
        for (; k >= 0; k--) {
            int x = end ? last - k : first + k;
            int over =
                end ? ad_paper_need_end(m, layer, x) - y : y - ad_paper_need_start(m, layer, x);
            if (over > 0)
                break;
            free_least = fmin(free_least, togo[x - first]);
        }
        double least = free_least;
        if (k >= 0) {
            double own = charged[k] + (end ? -price * y : price * y);
            least = fmin(least, fmin(own, plain[k] + most));
        }
        enter[y - yfirst] = least;
    }
}

/* The part of a layer's relaxed cost that belongs to no side. Overlaps are counted from row 0 on
 * both of their sides, which cancels. */
static double constant(const struct climb *c, const struct prices *p, int layer)
{
    const struct ad_paper_model *m = c->m;
    double sum = lambdas(m, p, layer)[m->ndevices] * (double)m->least[layer] - c->floors[layer];
    for (int d = 0; d < m->ndevices; d++) {
        size_t i = ad_paper_at(m, layer, d);
        sum -= p->surplus[i] * m->window[i].hi;
    }
    return sum;
}

/* Runs all programmes; the relaxed cost of everything. */
static double relax(struct climb *c, const struct prices *p)
{
    const struct ad_paper_model *m = c->m;
    struct ad_paper_bound *b = c->bound;
    for (int l = m->nlayers - 1; l >= 0; l--) {
        bool last = l + 1 == m->nlayers;
        b->rest[l] = constant(c, p, l) + (last ? 0 : b->rest[l + 1]);
        b->least[l] = b->rest[l];
        for (int side = 0; side < 2 * m->ndevices; side++) {
            double *togo = ad_paper_togo(b, l, side), a = slope(c, p, l, side), least = INFINITY;
            const double *next = last ? NULL : ad_paper_enter(b, l + 1, side);
            int first, end;
            side_range(m, l, side, &first, &end);
            for (int x = first; x <= end; x++) {
                togo[x - first] = a * x + (next ? next[x - first] : 0);
                least = fmin(least, togo[x - first]);
            }
            b->least[l] += least;
            if (l > 0)
                enter_side(c, l, side);
        }
    }
    return b->least[0];
}

/* The positions that relax() chose, into c->at. */
static void follow(struct climb *c)
{
    const struct ad_paper_model *m = c->m;
    for (int side = 0; side < 2 * m->ndevices; side++)
        for (int l = 0, y = 0; l < m->nlayers; l++) {
            int first, last, best = 0;
            const double *togo = ad_paper_togo(c->bound, l, side);
            double least = INFINITY;
            double price = l > 0 ? (double)m->data[ad_paper_at(m, l - 1, side / 2)] : 0;
            side_range(m, l, side, &first, &last);
            for (int x = first; x <= last; x++) {
                double cost = togo[x - first] + (l > 0 ? price * fetched(c, l, side, y, x) : 0);
                if (cost < least) {
                    least = cost;
                    best = x;
                }
            }
            struct ad_paper_interval *at = &c->at[ad_paper_at(m, l, side / 2)];
            *(side % 2 ? &at->e : &at->s) = y = best;
        }
}

/* A layout from positions, in c->trial; kept when it is better. */
static void try_positions(struct climb *c, const double *starts, const double *ends)
{
    const struct ad_paper_model *m = c->m;
    for (int l = 0; l < m->nlayers; l++) {
        size_t i = ad_paper_at(m, l, 0);
        ad_paper_repair(m, l, &starts[i], &ends[i], &c->trial[i]);
    }
    int64_t score = ad_paper_score(m, c->trial);
    c->best->visited++;
    if (score < c->best->score) {
        c->best->score = score;
        memcpy(c->best->cuts, c->trial, c->n * sizeof *c->trial);
    }
}

static void average(struct climb *c, double weight)
{
    for (size_t i = 0; i < c->n; i++) {
        c->starts[i] += weight * (c->at[i].s - c->starts[i]);
        c->ends[i] += weight * (c->at[i].e - c->ends[i]);
    }
}

void ad_paper_onto_simplex(double *x, int n)
{
    double sorted[AD_PAPER_DEVICES + 1], sum = 0, level = 0;
    memcpy(sorted, x, (size_t)n * sizeof *x);
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && sorted[k - 1] < sorted[k]; k--) {
            double t = sorted[k];
            sorted[k] = sorted[k - 1];
            sorted[k - 1] = t;
        }
    for (int k = 0; k < n; k++) {
        sum += sorted[k];
        if (sorted[k] - (sum - 1) / (k + 1) > 0)
            level = (sum - 1) / (k + 1);
    }
    for (int i = 0; i < n; i++)
        x[i] = fmax(0, x[i] - level);
}

double ad_paper_direction(double *mean, double *square, double gradient, double mean_kept,
                          double square_kept, int k)
{
    *mean = mean_kept * *mean + (1 - mean_kept) * gradient;
    *square = square_kept * *square + (1 - square_kept) * gradient * gradient;
    double scale = sqrt(*square / (1 - ad_round_coarse(pow(square_kept, k + 1))));
    return scale > 0 ? *mean / (1 - ad_round_coarse(pow(mean_kept, k + 1))) / scale : 0;
}

/* One step along the subgradient at the positions c->at. */
static void step(struct climb *c, double length, int k)
{
    const struct ad_paper_model *m = c->m;
    int n = m->ndevices;
    for (int l = 0; l < m->nlayers; l++) {
        double *lambda = lambdas(m, &c->now, l), *mean = lambdas(m, &c->mean, l);
        double *square = lambdas(m, &c->square, l), times[AD_PAPER_DEVICES + 1], middle;
        middle = times[n] = (double)m->least[l];
        for (int d = 0; d < n; d++) {
            size_t i = ad_paper_at(m, l, d);
            int size = c->at[i].e - c->at[i].s;
            middle += times[d] = m->comp[i] * size;
            double up = ad_paper_direction(&c->mean.surplus[i], &c->square.surplus[i],
                                           size - m->window[i].hi, MEAN_KEPT, SCALE_KEPT, k);
            c->now.surplus[i] = fmax(0, c->now.surplus[i] + length * c->scale[l] * up);
        }
        for (int d = 0; d <= n; d++)
            lambda[d] += length / n *
                         ad_paper_direction(&mean[d], &square[d], times[d] - middle / (n + 1),
                                            MEAN_KEPT, SCALE_KEPT, k);
        ad_paper_onto_simplex(lambda, n + 1);
    }
}

static void copy_prices(const struct climb *c, const struct prices *from, struct prices *to)
{
    memcpy(to->lambda, from->lambda, (c->n + (size_t)c->m->nlayers) * sizeof(double));
    memcpy(to->surplus, from->surplus, c->n * sizeof(double));
}

static bool enough(const struct climb *c)
{
    double score = (double)c->best->score;
    return score - c->bound->value <= GAP_ENOUGH * score + 0.5;
}

static enum adaps_status climb(struct climb *c, struct adaps_error *err)
{
    int iterations = c->m->problem->iterations;
    double length = STEP_FIRST,
           fall = iterations > 0 ? ad_round_coarse(pow(STEP_LAST, 1.0 / iterations)) : 1;
    c->bound->value = -INFINITY;
    for (int k = 0; k < iterations && !enough(c) && !ad_paper_late(c->m); k++, length *= fall) {
        double value = relax(c, &c->now);
        c->bound->iterations++;
        if (value > c->bound->value) {
            c->bound->value = value;
            copy_prices(c, &c->now, &c->top);
        }
        follow(c);
        average(c, fmax(AVERAGE, 1.0 / (k + 1)));
        if (k % TRY_EVERY == 0) {
            try_positions(c, c->starts, c->ends);
            enum adaps_status status = ad_paper_polish(c->m, c->trial, c->best, POLISH_ROUNDS, err);
            if (status != ADAPS_OK)
                return status;
        }
        step(c, length, k);
    }
    c->bound->value = relax(c, &c->top); /* leaves the tables of the best bound */
    return ADAPS_OK;
}

/* Rows that a side (start or end) of an interval at layer > 0 is charged for at most: all of them
 * where each allowed interval's need meets each allowed own interval, else the shortest need. With
 * this limit, sides charged by themselves never cost more than eqs 6 and 7. */
static int charged_rows(const struct ad_paper_model *m, int layer, int device)
{
    const struct ad_paper_window *w = &m->window[ad_paper_at(m, layer, device)];
    const struct ad_paper_window *own = &m->window[ad_paper_at(m, layer - 1, device)];
    int shortest = m->problem->layers[layer - 1].out_size;
    int start = ad_paper_need_start(m, layer, w->smax), end = ad_paper_need_end(m, layer, w->emin);
    if (end >= own->smax && start <= own->emin && end > start)
        return shortest;
    for (int s = w->smin; s <= w->smax; s++) {
        int rows = ad_paper_need_end(m, layer, w->emin) - ad_paper_need_start(m, layer, s);
        shortest = ad_paper_min(shortest, ad_paper_max(rows, 0));
    }
    return shortest;
}

/* Starts from multipliers that make every layer cost its balanced t_comp. */
static void survey(struct climb *c)
{
    const struct ad_paper_model *m = c->m;
    for (int l = 0; l < m->nlayers; l++) {
        lambdas(m, &c->now, l)[m->ndevices] = 1;
        for (int d = 0; d < m->ndevices; d++) {
            size_t i = ad_paper_at(m, l, d);
            c->scale[l] += (m->comp[i] + (double)m->data[i]) / m->ndevices;
            if (m->comp[i] != floor(m->comp[i]))
                c->floors[l] = 1;
            if (l > 0)
                c->shortest[i] = charged_rows(m, l, d);
        }
    }
    copy_prices(c, &c->now, &c->top);
}

static bool allocate_prices(struct climb *c, struct prices *p)
{
    struct ad_arena *arena = &c->bound->arena;
    p->lambda = ad_arena_alloc(arena, c->n + (size_t)c->m->nlayers, sizeof(double));
    p->surplus = ad_arena_alloc(arena, c->n, sizeof(double));
    return p->lambda && p->surplus;
}

/* The tables: every side of every layer as long as its window. */
static bool allocate_tables(struct climb *c)
{
    const struct ad_paper_model *m = c->m;
    struct ad_paper_bound *b = c->bound;
    size_t sides = 2 * (size_t)m->ndevices, total = 0, longest = 0;
    b->togo_at = ad_arena_alloc(&b->arena, (size_t)m->nlayers * sides, sizeof *b->togo_at);
    b->enter_at = ad_arena_alloc(&b->arena, (size_t)m->nlayers * sides, sizeof *b->enter_at);
    b->least = ad_arena_alloc(&b->arena, (size_t)m->nlayers, sizeof *b->least);
    b->rest = ad_arena_alloc(&b->arena, (size_t)m->nlayers, sizeof *b->rest);
    if (!b->togo_at || !b->enter_at || !b->least || !b->rest)
        return false;
    for (int l = 0; l < m->nlayers; l++)
        for (size_t side = 0; side < sides; side++) {
            int first, last;
            side_range(m, l, (int)side, &first, &last);
            size_t here = (size_t)l * sides + side, length = (size_t)(last - first) + 1;
            b->togo_at[here] = total;
            total += length;
            if (l + 1 < m->nlayers) {
                b->enter_at[here + sides] = total;
                total += length;
            }
            longest = length > longest ? length : longest;
        }
    b->tables = ad_arena_alloc(&b->arena, total, sizeof *b->tables);
    c->work = ad_arena_alloc(&b->arena, 2 * longest, sizeof *c->work);
    return b->tables && c->work;
}

static bool allocate(struct climb *c)
{
    struct ad_arena *arena = &c->bound->arena;
    size_t nlayers = (size_t)c->m->nlayers;
    c->at = ad_arena_alloc(arena, c->n, sizeof *c->at);
    c->trial = ad_arena_alloc(arena, c->n, sizeof *c->trial);
    c->starts = ad_arena_alloc(arena, c->n, sizeof *c->starts);
    c->ends = ad_arena_alloc(arena, c->n, sizeof *c->ends);
    c->shortest = ad_arena_alloc(arena, c->n, sizeof *c->shortest);
    c->scale = ad_arena_alloc(arena, nlayers, sizeof *c->scale);
    c->floors = ad_arena_alloc(arena, nlayers, sizeof *c->floors);
    return c->at && c->trial && c->starts && c->ends && c->shortest && c->scale && c->floors &&
           allocate_prices(c, &c->now) && allocate_prices(c, &c->top) &&
           allocate_prices(c, &c->mean) && allocate_prices(c, &c->square) && allocate_tables(c);
}

enum adaps_status ad_paper_bound_init(struct ad_paper_bound *out, const struct ad_paper_model *m,
                                      struct ad_paper_result *best, struct adaps_error *err)
{
    *out = (struct ad_paper_bound){.model = m};
    struct climb c = {.bound = out, .m = m, .best = best};
    c.n = (size_t)m->nlayers * (size_t)m->ndevices;
    if (!allocate(&c)) {
        ad_paper_bound_fini(out);
        return ad_error_memory(err, "lower bound", c.n * sizeof *c.at);
    }
    survey(&c);
    enum adaps_status status = climb(&c, err);
    if (status != ADAPS_OK)
        ad_paper_bound_fini(out);
    return status;
}

void ad_paper_bound_fini(struct ad_paper_bound *bound)
{
    ad_arena_fini(&bound->arena);
    *bound = (struct ad_paper_bound){0};
}
