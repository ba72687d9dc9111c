/* The search of the paper's problem: a first guess, relaxations, then the tree. */
#include "search/paper/model.h"

#include <math.h>

#define POLISH_ROUNDS 8

/* The first guess (5.6): sizes by speed, no overlap. */
static void guess(const struct ad_paper_model *m, struct ad_paper_result *best)
{
    const struct ad_paper_problem *p = m->problem;
    double ends[AD_PAPER_DEVICES], starts[AD_PAPER_DEVICES], sum = 0;
    for (int d = 0; d < m->ndevices; d++)
        sum += p->speed[d];
    for (int l = 0; l < m->nlayers; l++) {
        double upto = 0;
        for (int d = 0; d < m->ndevices; d++) {
            starts[d] = upto / sum * p->layers[l].out_size;
            upto += p->speed[d];
            ends[d] = upto / sum * p->layers[l].out_size;
        }
        ad_paper_repair(m, l, starts, ends, &best->cuts[ad_paper_at(m, l, 0)]);
    }
    best->score = ad_paper_score(m, best->cuts);
    best->visited++;
}

static void finish(struct ad_paper_result *r, double bound)
{
    r->bound = r->proven ? (double)r->score : fmin(fmax(bound, 0), (double)r->score);
    r->gap = r->score > 0 ? ((double)r->score - r->bound) / (double)r->score : 0;
}

/* Scores are whole. */
static bool reached(const struct ad_paper_result *r, double bound)
{
    return ceil(bound - 1e-9 * fabs(bound)) >= (double)r->score;
}

static enum adaps_status search(const struct ad_paper_model *m, struct ad_paper_result *out,
                                struct adaps_error *err)
{
    const struct ad_paper_problem *p = m->problem;
    struct ad_paper_bound bound;
    if (p->iterations > 0 || p->node_limit == 0)
        guess(m, out);
    enum adaps_status status = ad_paper_bound_init(&bound, m, out, err);
    if (status != ADAPS_OK)
        return status;
    double value = bound.value;
    if (p->iterations > 0 && !ad_paper_late(m))
        status = ad_paper_polish(m, out->cuts, out, POLISH_ROUNDS, err);
    if (status == ADAPS_OK && p->iterations > 0 && !reached(out, value) && !ad_paper_late(m))
        status = ad_paper_levels(m, out, &value, err);
    out->proven = reached(out, value);
    if (status == ADAPS_OK && !out->proven && p->node_limit > 0 && !ad_paper_late(m))
        status = ad_paper_tree(m, &bound, out, err);
    finish(out, value);
    ad_paper_bound_fini(&bound);
    return status;
}

enum adaps_status ad_paper_search(const struct ad_paper_problem *problem,
                                  struct ad_paper_result *out, struct adaps_error *err)
{
    struct ad_paper_model m;
    enum adaps_status status = ad_paper_model_init(&m, problem, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_paper_result_init(out, &m, err);
    if (status == ADAPS_OK) {
        out->space_log10 = ad_paper_space(&m);
        status = search(&m, out, err);
    }
    if (status != ADAPS_OK)
        ad_paper_result_fini(out);
    ad_paper_model_fini(&m);
    return status;
}
