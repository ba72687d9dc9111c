/* Windows (eqs 1-3), costs (eqs 4-12) and the size of the space of the paper's problem. */
#include "search/paper/model.h"

#include <math.h>
#include <string.h>

#define MAX_TICKS 9007199254740992.0 /* 2^53: whole numbers are exact as doubles */

static enum adaps_status check_devices(const struct ad_paper_problem *p, struct adaps_error *err)
{
    if (p->nlayers < 1 || p->ndevices < 1 || p->ndevices > AD_PAPER_DEVICES)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%d layers on %d devices: 1 layer or more and 1 to %d devices wanted",
                            p->nlayers, p->ndevices, AD_PAPER_DEVICES);
    if (!(p->threshold >= 0 && p->threshold <= 1))
        return ad_error_set(err, ADAPS_EINPUT, "threshold %g: 0 to 1 wanted", p->threshold);
    for (int d = 0; d < p->ndevices; d++)
        if (!(p->speed[d] > 0) || !(p->bandwidth[d] > 0) || !isfinite(p->speed[d]))
            return ad_error_set(err, ADAPS_EINPUT, "device %d: speed %g, bandwidth %g: must be > 0",
                                d, p->speed[d], p->bandwidth[d]);
    return ADAPS_OK;
}

static enum adaps_status check_layer(const struct ad_paper_problem *p, int layer,
                                     struct adaps_error *err)
{
    const struct ad_paper_layer *l = &p->layers[layer];
    if (l->out_size < (l->given ? 1 : p->ndevices) || l->out_size > AD_PAPER_ROWS)
        return ad_error_set(err, ADAPS_EINPUT, "layer %d: %d rows: %d (the devices) to %d wanted",
                            layer, l->out_size, p->ndevices, AD_PAPER_ROWS);
    if (l->kernel < 1 || l->stride < 1 || l->pad < 0)
        return ad_error_set(err, ADAPS_EINPUT,
                            "layer %d: kernel %d, stride %d, pad %d: must be >= 1, >= 1, >= 0",
                            layer, l->kernel, l->stride, l->pad);
    int at = 0;
    for (int d = 0; l->given && d < p->ndevices; d++) {
        if (l->given[d].s < 0 || l->given[d].s > at || l->given[d].e < l->given[d].s ||
            (d > 0 && l->given[d].s < l->given[d - 1].s))
            return ad_error_set(err, ADAPS_EINPUT, "layer %d: intervals with gaps are given",
                                layer);
        at = ad_paper_max(at, l->given[d].e);
    }
    if (l->given && at != l->out_size)
        return ad_error_set(err, ADAPS_EINPUT, "layer %d: %d of %d rows are given", layer, at,
                            l->out_size);
    if (!(l->work >= 0) || !(l->bytes >= 0))
        return ad_error_set(err, ADAPS_EINPUT, "layer %d: work %g, bytes %g: must be >= 0", layer,
                            l->work, l->bytes);
    return ADAPS_OK;
}

/* Eq 1 and the sizes of eq 3. */
static void size_window(const struct ad_paper_model *m, int layer, struct ad_paper_window *w)
{
    const struct ad_paper_problem *p = m->problem;
    double sum = 0;
    int out = p->layers[layer].out_size, most = out - (m->ndevices - 1); /* eq 2 */
    for (int d = 0; d < m->ndevices; d++)
        sum += p->speed[d];
    for (int d = 0; d < m->ndevices; d++) {
        double share = out * (p->speed[d] / sum);
        w[d].lo = ad_paper_min(ad_paper_max((int)floor(share + 1e-9), 1), most);
        double rows = p->around ? share : most - w[d].lo;
        int more = ad_paper_min((int)floor(rows * p->threshold + 1e-9), most - w[d].lo);
        if (more < 1 && p->threshold > 0 && w[d].lo < most)
            more = 1;
        w[d].hi = w[d].lo + more;
    }
}

/* The time (rows / speed) in which the devices can do all rows, none less than its lo. */
static double balanced_time(const struct ad_paper_model *m, int layer,
                            const struct ad_paper_window *w)
{
    const double *speed = m->problem->speed;
    int sizes[AD_PAPER_DEVICES], left = m->problem->layers[layer].out_size;
    double slowest = 0;
    for (int d = 0; d < m->ndevices; d++) {
        left -= sizes[d] = w[d].lo;
        slowest = fmax(slowest, sizes[d] / speed[d]);
    }
    for (; left > 0; left--) {
        int next = 0;
        for (int d = 1; d < m->ndevices; d++)
            if ((sizes[d] + 1) / speed[d] < (sizes[next] + 1) / speed[next])
                next = d;
        sizes[next]++;
        slowest = fmax(slowest, sizes[next] / speed[next]);
    }
    return slowest;
}

/* The balanced sizes: done in the least time; within that, the cuts are as near as possible to
 * those of the exact shares, so that cuts of layers of different sizes lie side by side. */
static void balance(const struct ad_paper_model *m, int layer, const struct ad_paper_window *w,
                    int *sizes)
{
    const double *speed = m->problem->speed;
    int n = m->ndevices, out = m->problem->layers[layer].out_size;
    int lo[AD_PAPER_DEVICES], most[AD_PAPER_DEVICES], los = 0, mosts = 0, at = 0;
    double time = balanced_time(m, layer, w), sum = 0, upto = 0;
    for (int d = 0; d < n; d++) {
        los += lo[d] = w[d].lo;
        mosts += most[d] = ad_paper_max(lo[d], (int)fmin(out, floor(time * speed[d] + 1e-9)));
        sum += speed[d];
    }
    if (los > out) /* many devices get their one row although their share is less */
        for (int d = los = 0; d < n; d++)
            los += lo[d] = 1;
    for (int d = 0; d < n; d++) {
        upto += speed[d];
        los -= lo[d];
        mosts -= most[d];
        int size = (int)lround(upto / sum * out) - at;
        size = ad_paper_min(ad_paper_max(size, lo[d]), most[d]);
        size = ad_paper_min(ad_paper_max(size, out - at - mosts), out - at - los);
        sizes[d] = size;
        at += size;
    }
}

/* The window of what cannot be chosen. */
static void given_window(const struct ad_paper_model *m, int layer, struct ad_paper_window *w)
{
    const struct ad_paper_interval *given = m->problem->layers[layer].given;
    for (int d = 0; d < m->ndevices; d++) {
        int size = given[d].e - given[d].s;
        w[d] = (struct ad_paper_window){.lo = size,
                                        .hi = size,
                                        .smin = given[d].s,
                                        .smax = given[d].s,
                                        .emin = given[d].e,
                                        .emax = given[d].e};
    }
}

/* Starts and ends: from the balanced ones outwards, as far as the size allows. */
static void position_window(const struct ad_paper_model *m, int layer, struct ad_paper_window *w)
{
    int n = m->ndevices, out = m->problem->layers[layer].out_size;
    int sizes[AD_PAPER_DEVICES];
    balance(m, layer, w, sizes);
    for (int d = 0, at = 0; d < n; at += sizes[d++]) {
        w[d].lo = ad_paper_min(w[d].lo, sizes[d]);
        w[d].hi = ad_paper_max(w[d].hi, sizes[d]);
        w[d].smax = at;
        w[d].emin = at + sizes[d];
        w[d].smin = ad_paper_max(0, w[d].emin - w[d].hi);
        w[d].emax = ad_paper_min(out, at + w[d].hi);
    }
    w[0].smin = 0;
    w[n - 1].emax = out;
    for (int d = 0; d < n; d++) {
        int64_t time = ad_paper_time(m, layer, d, sizes[d]);
        m->least[layer] = time > m->least[layer] ? time : m->least[layer];
    }
}

static enum adaps_status layer_costs(struct ad_paper_model *m, int layer, double *total,
                                     struct adaps_error *err)
{
    const struct ad_paper_problem *p = m->problem;
    const struct ad_paper_layer *l = &p->layers[layer];
    for (int d = 0; d < m->ndevices; d++) {
        size_t i = ad_paper_at(m, layer, d);
        double comp = l->work / p->speed[d], data = l->bytes / p->bandwidth[d];
        *total += (3 * (comp + 1) + (data + 1)) * l->out_size;
        if (!(*total < MAX_TICKS))
            return ad_error_set(err, ADAPS_EINPUT,
                                "layer %d: work %g, bytes %g: the score would exceed 2^53 ticks",
                                layer, l->work, l->bytes);
        m->comp[i] = comp;
        m->overlap[i] = llround(comp);
        m->data[i] = llround(data);
    }
    return ADAPS_OK;
}

enum adaps_status ad_paper_model_init(struct ad_paper_model *out,
                                      const struct ad_paper_problem *problem,
                                      struct adaps_error *err)
{
    double total = 0;
    *out = (struct ad_paper_model){
        .problem = problem, .nlayers = problem->nlayers, .ndevices = problem->ndevices};
    enum adaps_status status = check_devices(problem, err);
    if (status != ADAPS_OK)
        return status;
    size_t n = (size_t)out->nlayers * (size_t)out->ndevices;
    out->window = ad_arena_alloc(&out->arena, n, sizeof *out->window);
    out->comp = ad_arena_alloc(&out->arena, n, sizeof *out->comp);
    out->overlap = ad_arena_alloc(&out->arena, n, sizeof *out->overlap);
    out->data = ad_arena_alloc(&out->arena, n, sizeof *out->data);
    out->least = ad_arena_alloc(&out->arena, (size_t)out->nlayers, sizeof *out->least);
    if (!out->least || !out->window || !out->comp || !out->overlap || !out->data)
        status = ad_error_memory(err, "paper's problem", n * sizeof *out->window);
    for (int l = 0; l < out->nlayers && status == ADAPS_OK; l++) {
        status = check_layer(problem, l, err);
        if (status == ADAPS_OK)
            status = layer_costs(out, l, &total, err);
        if (status == ADAPS_OK && problem->layers[l].given)
            given_window(out, l, &out->window[ad_paper_at(out, l, 0)]);
        else if (status == ADAPS_OK) {
            size_window(out, l, &out->window[ad_paper_at(out, l, 0)]);
            position_window(out, l, &out->window[ad_paper_at(out, l, 0)]);
        }
    }
    if (status != ADAPS_OK)
        ad_paper_model_fini(out);
    return status;
}

void ad_paper_model_fini(struct ad_paper_model *model)
{
    ad_arena_fini(&model->arena);
    *model = (struct ad_paper_model){0};
}

int64_t ad_paper_fetch(const struct ad_paper_model *m, int layer, int device,
                       struct ad_paper_interval own, struct ad_paper_interval next)
{
    int s = ad_paper_need_start(m, layer + 1, next.s), e = ad_paper_need_end(m, layer + 1, next.e);
    int rows = 0;
    if (s >= e)
        return 0; /* reads padding only */
    if (s <= own.s)
        rows += ad_paper_min(own.s, e) - s; /* eq 6 */
    if (e >= own.e)
        rows += e - ad_paper_max(s, own.e); /* eq 7 */
    return m->data[ad_paper_at(m, layer, device)] * rows;
}

int64_t ad_paper_layer_cost(const struct ad_paper_model *m, int layer,
                            const struct ad_paper_interval *cuts)
{
    const int64_t *overlap = &m->overlap[ad_paper_at(m, layer, 0)];
    int64_t slowest = 0, sum = 0;
    for (int d = 0; d < m->ndevices; d++) {
        int64_t t = ad_paper_time(m, layer, d, cuts[d].e - cuts[d].s);
        slowest = t > slowest ? t : slowest;
        if (d > 0) /* eq 9: the rows count at both of their devices */
            sum += (overlap[d - 1] + overlap[d]) * (cuts[d - 1].e - cuts[d].s);
    }
    return slowest + sum;
}

int64_t ad_paper_data_cost(const struct ad_paper_model *m, int layer,
                           const struct ad_paper_interval *cuts,
                           const struct ad_paper_interval *next)
{
    int64_t sum = 0;
    for (int d = 0; d < m->ndevices; d++)
        sum += ad_paper_fetch(m, layer, d, cuts[d], next[d]);
    return sum;
}

int64_t ad_paper_score(const struct ad_paper_model *m, const struct ad_paper_interval *cuts)
{
    int64_t sum = 0;
    for (int l = 0; l < m->nlayers; l++) {
        const struct ad_paper_interval *here = &cuts[ad_paper_at(m, l, 0)];
        sum += ad_paper_layer_cost(m, l, here);
        if (l + 1 < m->nlayers)
            sum += ad_paper_data_cost(m, l, here, here + m->ndevices);
    }
    return sum;
}

struct ad_paper_interval ad_paper_starts(const struct ad_paper_model *m, int layer, int device)
{
    const struct ad_paper_window *w = &m->window[ad_paper_at(m, layer, device)];
    return (struct ad_paper_interval){w->smin, w->smax};
}

struct ad_paper_interval ad_paper_ends(const struct ad_paper_model *m, int layer, int device, int s)
{
    const struct ad_paper_window *w = &m->window[ad_paper_at(m, layer, device)];
    return (struct ad_paper_interval){w->emin, ad_paper_min(s + w->hi, w->emax)};
}

static int nearest(double x, struct ad_paper_interval range)
{
    long at = lround(x);
    return at < range.s ? range.s : at > range.e ? range.e : (int)at;
}

void ad_paper_repair(const struct ad_paper_model *m, int layer, const double *starts,
                     const double *ends, struct ad_paper_interval *cuts)
{
    for (int d = 0; d < m->ndevices; d++) {
        cuts[d].s = nearest(starts[d], ad_paper_starts(m, layer, d));
        cuts[d].e = nearest(ends[d], ad_paper_ends(m, layer, d, cuts[d].s));
    }
}

double ad_paper_log10_count(const struct ad_paper_model *m, int layer)
{
    double sum = 0;
    for (int d = 0; d < m->ndevices; d++) {
        struct ad_paper_interval starts = ad_paper_starts(m, layer, d);
        double pairs = 0;
        for (int s = starts.s; s <= starts.e; s++) {
            struct ad_paper_interval ends = ad_paper_ends(m, layer, d, s);
            pairs += ends.e - ends.s + 1;
        }
        sum += log10(pairs);
    }
    return sum;
}

double ad_paper_space(const struct ad_paper_model *m)
{
    double sum = 0;
    for (int l = 0; l < m->nlayers; l++)
        sum += ad_paper_log10_count(m, l);
    return sum;
}

enum adaps_status ad_paper_result_init(struct ad_paper_result *out, const struct ad_paper_model *m,
                                       struct adaps_error *err)
{
    size_t n = (size_t)m->nlayers * (size_t)m->ndevices;
    *out = (struct ad_paper_result){.score = INT64_MAX};
    out->cuts = ad_calloc(n, sizeof *out->cuts);
    if (!out->cuts)
        return ad_error_memory(err, "layouts", n * sizeof *out->cuts);
    return ADAPS_OK;
}

void ad_paper_result_fini(struct ad_paper_result *result)
{
    ad_free(result->cuts);
    *result = (struct ad_paper_result){0};
}
