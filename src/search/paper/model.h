/* The paper's problem with its costs and windows worked out. */
#ifndef AD_SEARCH_PAPER_MODEL_H
#define AD_SEARCH_PAPER_MODEL_H

#include "base/clock.h"
#include "search/paper/paper.h"

/* Allowed sizes, starts and ends (all inclusive). The balanced interval is [smax, emin). */
struct ad_paper_window {
    int lo, hi, smin, smax, emin, emax;
};

struct ad_paper_model {
    const struct ad_paper_problem *problem;
    int nlayers, ndevices;
    struct ad_paper_window *window; /* [layer * ndevices + device] */
    double *comp;                   /* likewise: ticks of a row */
    int64_t *overlap;               /* likewise: rounded */
    int64_t *data;                  /* likewise: ticks to fetch a row of the layer's output */
    int64_t *least;                 /* [layer]: t_comp of the balanced sizes, the least there is */
    struct ad_arena arena;
};

AD_MUST_CHECK enum adaps_status ad_paper_model_init(struct ad_paper_model *out,
                                                    const struct ad_paper_problem *problem,
                                                    struct adaps_error *err);
void ad_paper_model_fini(struct ad_paper_model *model);

static inline size_t ad_paper_at(const struct ad_paper_model *m, int layer, int device)
{
    return (size_t)layer * (size_t)m->ndevices + (size_t)device;
}

static inline bool ad_paper_late(const struct ad_paper_model *m)
{
    return m->problem->deadline_ns > 0 && ad_clock_ns() >= m->problem->deadline_ns;
}

static inline int ad_paper_min(int a, int b)
{
    return a < b ? a : b;
}

static inline int ad_paper_max(int a, int b)
{
    return a > b ? a : b;
}

/* Rows of layer - 1 that rows [s, e) of layer read. layer > 0. */
static inline int ad_paper_need_start(const struct ad_paper_model *m, int layer, int s)
{
    const struct ad_paper_layer *l = &m->problem->layers[layer];
    int64_t at = (int64_t)s * l->stride - l->pad, size = l[-1].out_size;
    return (int)(at < 0 ? 0 : at > size ? size : at);
}

static inline int ad_paper_need_end(const struct ad_paper_model *m, int layer, int e)
{
    const struct ad_paper_layer *l = &m->problem->layers[layer];
    int64_t at = (int64_t)(e - 1) * l->stride - l->pad + l->kernel, size = l[-1].out_size;
    return (int)(at < 0 ? 0 : at > size ? size : at);
}

/* Eq 4. */
static inline int64_t ad_paper_time(const struct ad_paper_model *m, int layer, int device, int rows)
{
    return (int64_t)(m->comp[ad_paper_at(m, layer, device)] * rows);
}

/* Eqs 6 and 7, times 1 / BW_d: what device fetches of `layer`, of which it has `own`, for `next` of
 * the layer after it. */
int64_t ad_paper_fetch(const struct ad_paper_model *m, int layer, int device,
                       struct ad_paper_interval own, struct ad_paper_interval next);

/* t_comp + t_ov of a layer. */
int64_t ad_paper_layer_cost(const struct ad_paper_model *m, int layer,
                            const struct ad_paper_interval *cuts);

/* t_data between a layer and the one after it. */
int64_t ad_paper_data_cost(const struct ad_paper_model *m, int layer,
                           const struct ad_paper_interval *cuts,
                           const struct ad_paper_interval *next);

/* Eq 12 over the whole chain. */
int64_t ad_paper_score(const struct ad_paper_model *m, const struct ad_paper_interval *cuts);

/* The starts that a device may have, and the ends with a start. Inclusive. */
struct ad_paper_interval ad_paper_starts(const struct ad_paper_model *m, int layer, int device);
struct ad_paper_interval ad_paper_ends(const struct ad_paper_model *m, int layer, int device,
                                       int s);

/* The allowed layout nearest to wanted starts and ends, device by device. */
void ad_paper_repair(const struct ad_paper_model *m, int layer, const double *starts,
                     const double *ends, struct ad_paper_interval *cuts);

/* log10 of how many layouts a layer, and all layers together, have. */
double ad_paper_log10_count(const struct ad_paper_model *m, int layer);
double ad_paper_space(const struct ad_paper_model *m);

/* An empty result with room for the cuts. */
AD_MUST_CHECK enum adaps_status ad_paper_result_init(struct ad_paper_result *out,
                                                     const struct ad_paper_model *m,
                                                     struct adaps_error *err);

/* The relaxation (bound.c). A side is the start (2 * device) or the end (2 * device + 1) of a
 * device throughout the chain; its positions are those of its window. */
struct ad_paper_bound {
    const struct ad_paper_model *model;
    double value;  /* no layout of the window has a lower score */
    double *least; /* [layer]: the relaxed cost of layers >= layer, whatever is before them */
    double *rest;  /* [layer]: the part of it that belongs to no side */
    double *tables;
    size_t *togo_at, *enter_at; /* [layer * 2 * ndevices + side] */
    int iterations;             /* done */
    struct ad_arena arena;
};

/* By position - first of the side's window: the relaxed cost of this and all later layers for that
 * side at that position. */
static inline double *ad_paper_togo(const struct ad_paper_bound *b, int layer, int side)
{
    return &b->tables[b->togo_at[2 * ad_paper_at(b->model, layer, 0) + (size_t)side]];
}

/* By position at layer - 1: the least of data + togo over the positions at layer. layer > 0. */
static inline double *ad_paper_enter(const struct ad_paper_bound *b, int layer, int side)
{
    return &b->tables[b->enter_at[2 * ad_paper_at(b->model, layer, 0) + (size_t)side]];
}

/* Maximises the bound; meanwhile improves *best (a layout with its score), which must be valid on
 * entry. */
AD_MUST_CHECK enum adaps_status ad_paper_bound_init(struct ad_paper_bound *out,
                                                    const struct ad_paper_model *m,
                                                    struct ad_paper_result *best,
                                                    struct adaps_error *err);
void ad_paper_bound_fini(struct ad_paper_bound *bound);

/* The sharper relaxation by devices (levels.c): raises *bound, which is to be a bound
 * already, and improves *best. Does nothing where it would take too long. */
AD_MUST_CHECK enum adaps_status ad_paper_levels(const struct ad_paper_model *m,
                                                struct ad_paper_result *best, double *bound,
                                                struct adaps_error *err);

/* Of both: Adam's direction for one multiplier at iteration k (from 0), about 1 at most; Euclidean
 * projection of x[0..n) onto x >= 0, sum 1 (n <= AD_PAPER_DEVICES + 1). */
double ad_paper_direction(double *mean, double *square, double gradient, double mean_kept,
                          double square_kept, int k);
void ad_paper_onto_simplex(double *x, int n);

/* From the layout `start` to a local optimum, at most `rounds` times over all layers; kept in *best
 * when it is better (polish.c). */
AD_MUST_CHECK enum adaps_status ad_paper_polish(const struct ad_paper_model *m,
                                                const struct ad_paper_interval *start,
                                                struct ad_paper_result *best, int rounds,
                                                struct adaps_error *err);

/* The tree of 4.5 with alpha-beta (tree.c); improves *best. */
AD_MUST_CHECK enum adaps_status ad_paper_tree(const struct ad_paper_model *m,
                                              const struct ad_paper_bound *bound,
                                              struct ad_paper_result *best,
                                              struct adaps_error *err);

#endif
