/* Programmes over the intervals of one device throughout the chain, all others left alone: exact
 * for any price per size. */
#ifndef AD_SEARCH_PAPER_PAIRS_H
#define AD_SEARCH_PAPER_PAIRS_H

#include "search/paper/model.h"

/* The intervals [s, e) of one device at one layer: cell [(s - s0) * ne + (e - e0)]. */
struct ad_paper_grid {
    int s0, e0, ns, ne;
    double *ahead; /* cost of all later layers and of what they fetch of this one */
    double *past;  /* cost of all earlier layers and of what this one fetches; may be NULL */
    double *price; /* [size]: what a size costs; INFINITY: not allowed. hi + 1 entries */
    int hi;
};

struct ad_paper_pairs {
    const struct ad_paper_model *m;
    struct ad_paper_grid *grids; /* [layer * ndevices + device] */
    int longest;                 /* ns or ne of any grid, at most */
    size_t cells;                /* of all grids */
    double *scratch, *charged;   /* one grid twice; one row */
    int *starts, *ends;          /* needs of one grid */
    struct ad_arena arena;
};

/* Starts and ends at most `reach` - 1 rows from the balanced ones, all prices 0. with_past: with
 * past tables, too. */
AD_MUST_CHECK enum adaps_status ad_paper_pairs_init(struct ad_paper_pairs *out,
                                                    const struct ad_paper_model *m, int reach,
                                                    bool with_past, struct adaps_error *err);
void ad_paper_pairs_fini(struct ad_paper_pairs *pairs);

static inline struct ad_paper_grid *ad_paper_grid(const struct ad_paper_pairs *p, int layer,
                                                  int device)
{
    return &p->grids[ad_paper_at(p->m, layer, device)];
}

/* Eq 9's part of one device, price of its size included; INFINITY when the size is not allowed. */
double ad_paper_pair_cost(const struct ad_paper_pairs *p, int layer, int device, int s, int e);

/* Fills ahead of all layers of a device; past of `layer` from layer - 1. */
void ad_paper_pairs_back(struct ad_paper_pairs *p, int device);
void ad_paper_pairs_on(struct ad_paper_pairs *p, int layer, int device);

/* The best intervals of a device by its ahead tables into cuts; their cost. */
double ad_paper_pairs_follow(const struct ad_paper_pairs *p, int device,
                             struct ad_paper_interval *cuts);

#endif
