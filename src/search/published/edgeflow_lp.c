/* The linear programme of one layer (edgeflow.c says what it models), solved by GLPK's simplex.
 *
 * Over the cuts b[1 .. n-1], the time T, and for every input in bands and device the rows u, v
 * fetched from the left and the right neighbour:
 *
 *   minimise T, so that  b[d] <= b[d+1]                                  with b[0] = 0, b[n] = rows
 *   T >= row_s[d] (b[d+1] - b[d]) + sum over inputs of
 *          bands: u left_s + v right_s      whole elsewhere: stride (b[d+1] - b[d]) from_s
 *   u[d] >= owned[d] - (stride b[d] - lead)          v[d] >= stride b[d+1] + tail - owned[d+1]
 *
 * where left_s, right_s and from_s are seconds per row over the links. No u at the upper edge and
 * no v at the lower: there is nothing beyond. What is fetched has a small price in the objective,
 * too: of equal optima the one with less traffic is taken. Of those with equal traffic it is the
 * one with the lower cuts, which have a smaller price: else the solver's last bits would decide, as
 * they would if its cuts were not rounded coarsely. */
#include "search/published/edgeflow.h"
#include "base/mem.h"
#include "base/round.h"

#include <glpk.h>
#include <math.h>

#define TRAFFIC_PRICE 1e-4
#define CUT_PRICE 1e-5 /* of the first cut, and more for each after it */
#define LINK_UNIT 0.01
#define PART_OF_ROW 16384     /* cuts are rounded to such parts: the solver errs by millionths */
#define MOST_ITERATIONS 10000 /* tens are usual */

static double row_link_s(const struct ad_edgeflow_layer *layer, const struct ad_edgeflow_input *in,
                         int from, int to)
{
    return in->row_bytes / layer->bandwidth[from * layer->ndevices + to];
}

static bool fetches_left(const struct ad_edgeflow_input *in, int d)
{
    return in->owned && d > 0 && in->owned[d] > 0;
}

static bool fetches_right(const struct ad_edgeflow_input *in, int d, int n)
{
    return in->owned && d + 1 < n && in->owned[d + 1] < in->owned[n];
}

double ad_edgeflow_bytes(const struct ad_edgeflow_layer *layer, int d, double lo, double hi)
{
    double bytes = 0;
    int n = layer->ndevices;
    for (int k = 0; hi > lo && k < layer->ninputs; k++) {
        const struct ad_edgeflow_input *in = &layer->inputs[k];
        if (!in->owned && in->at != d)
            bytes += in->stride * (hi - lo) * in->row_bytes;
        if (fetches_left(in, d))
            bytes += fmax(0, in->owned[d] - (in->stride * lo - in->lead)) * in->row_bytes;
        if (fetches_right(in, d, n))
            bytes += fmax(0, in->stride * hi + in->tail - in->owned[d + 1]) * in->row_bytes;
    }
    return bytes;
}

double ad_edgeflow_seconds(const struct ad_edgeflow_layer *layer, int d, double lo, double hi)
{
    double seconds = layer->row_s[d] * (hi - lo);
    int n = layer->ndevices;
    if (hi <= lo)
        return 0;
    for (int k = 0; k < layer->ninputs; k++) {
        const struct ad_edgeflow_input *in = &layer->inputs[k];
        if (!in->owned && in->at != d)
            seconds += in->stride * (hi - lo) * row_link_s(layer, in, in->at, d);
        if (fetches_left(in, d))
            seconds += fmax(0, in->owned[d] - (in->stride * lo - in->lead)) *
                       row_link_s(layer, in, d - 1, d);
        if (fetches_right(in, d, n))
            seconds += fmax(0, in->stride * hi + in->tail - in->owned[d + 1]) *
                       row_link_s(layer, in, d + 1, d);
    }
    return seconds;
}

/* The programme being written. GLPK counts from 1; entry 0 of index and value is unused. Times are
 * in units of `unit` seconds and cuts in units of all rows, which keeps the coefficients near 1. */
struct programme {
    glp_prob *lp;
    const struct ad_edgeflow_layer *layer;
    double unit;
    int *index;
    double *value;
    int filled;
};

static int cut_column(int d)
{
    return d + 1; /* columns 1 .. n + 1 are b[0 .. n] */
}

static int time_column(const struct programme *p)
{
    return p->layer->ndevices + 2;
}

static void put(struct programme *p, int column, double value)
{
    for (int i = 1; i <= p->filled; i++)
        if (p->index[i] == column) {
            p->value[i] += value;
            return;
        }
    p->index[++p->filled] = column;
    p->value[p->filled] = value;
}

/* Ends the row that was put: sum >= bound. */
static void end_row(struct programme *p, double bound)
{
    int row = glp_add_rows(p->lp, 1);
    glp_set_row_bnds(p->lp, row, GLP_LO, bound, 0);
    glp_set_mat_row(p->lp, row, p->filled, p->index, p->value);
    p->filled = 0;
}

/* A column for fetched rows (in units of all rows); its price and its share of the time. */
static int fetch_column(struct programme *p, double row_s)
{
    int column = glp_add_cols(p->lp, 1);
    glp_set_col_bnds(p->lp, column, GLP_LO, 0, 0);
    glp_set_obj_coef(p->lp, column, TRAFFIC_PRICE * row_s * p->layer->rows / p->unit);
    return column;
}

/* Rows that bound what device d fetches, then the row of its time. */
static void add_device(struct programme *p, int d, int *fetched)
{
    const struct ad_edgeflow_layer *layer = p->layer;
    double rows = layer->rows, per_row = layer->row_s[d], scale = rows / p->unit;
    int n = layer->ndevices;
    for (int k = 0; k < layer->ninputs; k++) {
        const struct ad_edgeflow_input *in = &layer->inputs[k];
        fetched[2 * k] = fetched[2 * k + 1] = 0;
        if (!in->owned && in->at != d)
            per_row += in->stride * row_link_s(layer, in, in->at, d);
        if (fetches_left(in, d)) {
            fetched[2 * k] = fetch_column(p, row_link_s(layer, in, d - 1, d));
            put(p, fetched[2 * k], 1);
            put(p, cut_column(d), in->stride);
            end_row(p, (in->owned[d] + in->lead) / rows);
        }
        if (fetches_right(in, d, n)) {
            fetched[2 * k + 1] = fetch_column(p, row_link_s(layer, in, d + 1, d));
            put(p, fetched[2 * k + 1], 1);
            put(p, cut_column(d + 1), -in->stride);
            end_row(p, (in->tail - in->owned[d + 1]) / rows);
        }
    }
    put(p, time_column(p), 1);
    put(p, cut_column(d + 1), -per_row * scale);
    put(p, cut_column(d), per_row * scale);
    for (int k = 0; k < layer->ninputs; k++) {
        const struct ad_edgeflow_input *in = &layer->inputs[k];
        if (fetched[2 * k])
            put(p, fetched[2 * k], -row_link_s(layer, in, d - 1, d) * scale);
        if (fetched[2 * k + 1])
            put(p, fetched[2 * k + 1], -row_link_s(layer, in, d + 1, d) * scale);
    }
    end_row(p, 0);
    put(p, cut_column(d + 1), 1);
    put(p, cut_column(d), -1);
    end_row(p, 0);
}

static void write_programme(struct programme *p, int *fetched)
{
    int n = p->layer->ndevices;
    glp_set_obj_dir(p->lp, GLP_MIN);
    glp_add_cols(p->lp, n + 2);
    for (int d = 0; d <= n; d++) {
        bool fixed = d == 0 || d == n;
        glp_set_col_bnds(p->lp, cut_column(d), fixed ? GLP_FX : GLP_DB, d == n ? 1 : 0, 1);
        glp_set_obj_coef(p->lp, cut_column(d), CUT_PRICE * (1 + (double)d / n));
    }
    glp_set_col_bnds(p->lp, time_column(p), GLP_LO, 0, 0);
    glp_set_obj_coef(p->lp, time_column(p), 1);
    for (int d = 0; d < n; d++)
        add_device(p, d, fetched);
}

/* The unit of time: what a fast device would take alone, or the slowest link for an input, if that
 * is more (where next to nothing is computed, the solver fails on numbers so far apart). */
static double unit_of(const struct ad_edgeflow_layer *layer)
{
    int n = layer->ndevices;
    double alone = layer->row_s[0], bandwidth = INFINITY, link = 0;
    for (int d = 1; d < n; d++)
        alone = fmin(alone, layer->row_s[d]);
    for (int i = 0; i < n * n; i++)
        if (i / n != i % n)
            bandwidth = fmin(bandwidth, layer->bandwidth[i]);
    for (int k = 0; k < layer->ninputs; k++)
        link = fmax(link, layer->inputs[k].row_bytes * layer->inputs[k].stride / bandwidth);
    return fmax(alone, LINK_UNIT * link) * layer->rows;
}

/* Cuts by the devices' speeds alone. With links a million times as slow as devices the solver fails
 * for numerical reasons; no plan that exchanges rows is any good there. */
static void cut_by_speed(const struct ad_edgeflow_layer *layer, double *cuts, double *seconds)
{
    double sum = 0;
    int n = layer->ndevices;
    for (int d = 0; d < n; d++)
        sum += 1 / layer->row_s[d];
    *seconds = cuts[0] = 0;
    for (int d = 0; d < n; d++) {
        cuts[d + 1] = d + 1 < n ? cuts[d] + layer->rows / (layer->row_s[d] * sum) : layer->rows;
        *seconds = fmax(*seconds, ad_edgeflow_seconds(layer, d, cuts[d], cuts[d + 1]));
    }
}

enum adaps_status ad_edgeflow_layer_solve(const struct ad_edgeflow_layer *layer, double *cuts,
                                          double *seconds, struct adaps_error *err)
{
    size_t room = 5 + 2 * (size_t)layer->ninputs;
    struct programme p = {
        .layer = layer,
        .unit = unit_of(layer),
        .index = ad_calloc(room, sizeof *p.index),
        .value = ad_calloc(room, sizeof *p.value),
    };
    int *fetched = ad_calloc(2 * (size_t)layer->ninputs, sizeof *fetched);
    enum adaps_status status = ADAPS_OK;
    if (!p.index || !p.value || !fetched) {
        status = ad_error_memory(err, "linear programme", room);
        goto out;
    }
    p.lp = glp_create_prob();
    write_programme(&p, fetched);
    glp_smcp options;
    glp_init_smcp(&options);
    options.msg_lev = GLP_MSG_OFF;
    options.it_lim = MOST_ITERATIONS;
    if (glp_simplex(p.lp, &options) == 0 && glp_get_status(p.lp) == GLP_OPT) {
        for (int d = 0; d <= layer->ndevices; d++)
            cuts[d] = rint(glp_get_col_prim(p.lp, cut_column(d)) * layer->rows * PART_OF_ROW) /
                      PART_OF_ROW;
        *seconds = ad_round_coarse(glp_get_col_prim(p.lp, time_column(&p)) * p.unit);
    } else {
        cut_by_speed(layer, cuts, seconds);
    }
    glp_delete_prob(p.lp);
    glp_free_env(); /* of this thread, which may end without another problem */
out:
    ad_free(p.index);
    ad_free(p.value);
    ad_free(fetched);
    return status;
}
