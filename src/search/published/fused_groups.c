#include "search/published/fused_groups.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

#define MOST_OPS 64           /* of a group */
#define LEAST_OPS 8           /* that a group may have however many devices there are */
#define OPS_TIMES_DEVICES 512 /* of a group: longer ones take too long to look at */

/* The best groups of all ops before `end`, the last of them of a scheme. */
struct prefix {
    double seconds;        /* INFINITY: there are none */
    int from;              /* where the last group begins */
    enum ad_scheme before; /* the scheme of the group before it */
};

struct programme {
    const struct ad_fused_model *model;
    struct ad_fused_walk walk;
    struct prefix *prefix; /* [end * AD_SCHEMES + scheme] */
    /* [(end % window * AD_SCHEMES + scheme) * nops + op]: the schemes of all ops before */
    uint8_t *path;
    int window;
};

int ad_fused_longest(const struct ad_fused_model *model)
{
    int longest = OPS_TIMES_DEVICES / (model->sharing > 0 ? model->sharing : 1);
    return longest > MOST_OPS ? MOST_OPS : longest < LEAST_OPS ? LEAST_OPS : longest;
}

static int longest_of(const struct ad_fused_model *model, enum ad_scheme scheme)
{
    return scheme == AD_SCHEME_SOURCE || scheme == AD_SCHEME_CHANNELS ? 1 : ad_fused_longest(model);
}

double ad_fused_space(const struct ad_fused_model *model)
{
    double space = 0;
    for (int i = 0; i < model->graph->nops; i++) {
        int ways = 0;
        for (enum ad_scheme s = 0; s < AD_SCHEMES; s++)
            if (ad_fused_possible(model, i, s))
                ways += longest_of(model, s) > 1 ? 2 : 1;
        space += log10(ways);
    }
    return space;
}

static struct prefix *prefix_at(const struct programme *p, int end, enum ad_scheme scheme)
{
    return &p->prefix[(size_t)end * AD_SCHEMES + (size_t)scheme];
}

static uint8_t *path_at(const struct programme *p, int end, enum ad_scheme scheme)
{
    size_t at = (size_t)(end % p->window) * AD_SCHEMES + (size_t)scheme;
    return &p->path[at * (size_t)p->model->graph->nops];
}

/* The walk's group after the best groups before it. */
static void try_before(struct programme *p, double computing, struct prefix *best)
{
    int first = p->walk.first;
    for (enum ad_scheme s = 0; s < AD_SCHEMES; s++) {
        double before = prefix_at(p, first, s)->seconds + computing;
        if (before >= best->seconds)
            continue;
        before += ad_fused_walk_exchange(&p->walk, path_at(p, first, s));
        if (before < best->seconds)
            *best = (struct prefix){before, first, s};
    }
}

/* Growing a group never makes what it computes less, so one that computes for longer than the best
 * so far is the last to be looked at. */
static void solve_at(struct programme *p, int end, enum ad_scheme scheme)
{
    struct prefix *best = prefix_at(p, end, scheme);
    int longest = longest_of(p->model, scheme);
    *best = (struct prefix){.seconds = INFINITY};
    ad_fused_walk_begin(&p->walk, scheme, end);
    for (int i = end - 1; i >= 0 && end - i <= longest; i--) {
        if (!ad_fused_possible(p->model, i, scheme))
            break;
        ad_fused_walk_step(&p->walk);
        double computing = ad_fused_walk_seconds(&p->walk);
        if (computing >= best->seconds)
            break;
        try_before(p, computing, best);
    }
    if (best->seconds == INFINITY)
        return;
    uint8_t *path = path_at(p, end, scheme);
    memcpy(path, path_at(p, best->from, best->before), (size_t)best->from);
    memset(&path[best->from], (int)scheme, (size_t)(end - best->from));
}

static void trace_back(const struct programme *p, enum ad_scheme scheme,
                       struct ad_fused_group *groups, int *count)
{
    int n = 0;
    for (int end = p->model->graph->nops; end > 0; n++) {
        const struct prefix *at = prefix_at(p, end, scheme);
        groups[n] = (struct ad_fused_group){end, scheme};
        end = at->from;
        scheme = at->before;
    }
    for (int i = 0; i < n / 2; i++) {
        struct ad_fused_group swap = groups[i];
        groups[i] = groups[n - 1 - i];
        groups[n - 1 - i] = swap;
    }
    *count = n;
}

static enum adaps_status programme_init(struct programme *p, const struct ad_fused_model *model,
                                        struct adaps_error *err)
{
    size_t nops = (size_t)model->graph->nops;
    *p = (struct programme){.model = model, .window = ad_fused_longest(model) + 1};
    size_t paths = (size_t)p->window * AD_SCHEMES * nops;
    p->prefix = ad_calloc((nops + 1) * AD_SCHEMES, sizeof *p->prefix);
    p->path = ad_calloc(paths, sizeof *p->path);
    if (!p->prefix || !p->path)
        return ad_error_memory(err, "fused groups", paths);
    return ad_fused_walk_init(&p->walk, model, err);
}

static void programme_fini(struct programme *p)
{
    ad_fused_walk_fini(&p->walk);
    ad_free(p->prefix);
    ad_free(p->path);
}

/* Everything on the source instead, if that takes less, as it may in networks with branches. */
static enum adaps_status prefer_source(const struct ad_fused_model *model,
                                       struct ad_fused_group *groups, int *count, double *seconds,
                                       struct adaps_error *err)
{
    int nops = model->graph->nops;
    double alone = 0;
    struct ad_fused_group *all = ad_calloc((size_t)nops, sizeof *all);
    if (!all)
        return ad_error_memory(err, "fused groups", (size_t)nops * sizeof *all);
    for (int i = 0; i < nops; i++)
        all[i] = (struct ad_fused_group){i + 1, AD_SCHEME_SOURCE};
    enum adaps_status status = ad_fused_seconds(model, all, nops, &alone, err);
    if (status == ADAPS_OK && alone < *seconds) {
        memcpy(groups, all, (size_t)nops * sizeof *all);
        *count = nops;
        *seconds = alone;
    }
    ad_free(all);
    return status;
}

enum adaps_status ad_fused_best(const struct ad_fused_model *model, struct ad_fused_group *groups,
                                int *count, double *seconds, struct adaps_error *err)
{
    struct programme p;
    int nops = model->graph->nops;
    enum ad_scheme last = AD_SCHEME_SOURCE;
    enum adaps_status status = programme_init(&p, model, err);
    *count = 0;
    *seconds = INFINITY;
    if (status != ADAPS_OK)
        goto out;
    for (enum ad_scheme s = 0; s < AD_SCHEMES; s++)
        prefix_at(&p, 0, s)->seconds = s == AD_SCHEME_SOURCE ? 0 : INFINITY;
    for (int end = 1; end <= nops; end++)
        for (enum ad_scheme s = 0; s < AD_SCHEMES; s++)
            solve_at(&p, end, s);
    ad_fused_walk_begin(&p.walk, AD_SCHEME_SOURCE, nops + 1);
    for (enum ad_scheme s = 0; s < AD_SCHEMES; s++) {
        double all = prefix_at(&p, nops, s)->seconds;
        if (all < *seconds)
            all += ad_fused_walk_exchange(&p.walk, path_at(&p, nops, s));
        if (all < *seconds) {
            *seconds = all;
            last = s;
        }
    }
    trace_back(&p, last, groups, count);
    status = prefer_source(model, groups, count, seconds, err);
out:
    programme_fini(&p);
    return status;
}

enum adaps_status ad_fused_seconds(const struct ad_fused_model *model,
                                   const struct ad_fused_group *groups, int count, double *seconds,
                                   struct adaps_error *err)
{
    struct ad_fused_walk walk;
    size_t nops = (size_t)model->graph->nops;
    uint8_t *scheme_of = ad_calloc(nops + 1, sizeof *scheme_of);
    *seconds = 0;
    if (!scheme_of)
        return ad_error_memory(err, "fused groups", nops);
    enum adaps_status status = ad_fused_walk_init(&walk, model, err);
    for (int g = 0, first = 0; status == ADAPS_OK && g < count; first = groups[g++].end) {
        ad_fused_walk_begin(&walk, groups[g].scheme, groups[g].end);
        for (int i = groups[g].end - 1; i >= first; i--) {
            scheme_of[i] = (uint8_t)groups[g].scheme;
            if (ad_fused_possible(model, i, groups[g].scheme))
                ad_fused_walk_step(&walk);
            else
                *seconds = INFINITY;
        }
        if (*seconds == INFINITY)
            break;
        *seconds += ad_fused_walk_seconds(&walk);
        *seconds += ad_fused_walk_exchange(&walk, scheme_of);
    }
    if (status == ADAPS_OK && *seconds < INFINITY) {
        ad_fused_walk_begin(&walk, AD_SCHEME_SOURCE, model->graph->nops + 1);
        *seconds += ad_fused_walk_exchange(&walk, scheme_of);
    }
    ad_fused_walk_fini(&walk);
    ad_free(scheme_of);
    return status;
}

void ad_fused_lay(const struct ad_fused_model *model, const struct ad_fused_group *groups,
                  int count, struct ad_layout *layout)
{
    for (int g = 0, i = 0; g < count; g++)
        for (; i < groups[g].end; i++) {
            layout->ops[i] = ad_fused_op_layout(model, i, groups[g].scheme, groups[g].end);
            memcpy(ad_layout_cuts(layout, i), model->cuts,
                   ((size_t)model->ndevices + 1) * sizeof *model->cuts);
        }
}

enum adaps_status ad_fused_try(struct ad_eval *eval, const struct ad_fused_options *options,
                               struct ad_best *best)
{
    const struct ad_search_problem *p = eval->context->problem;
    struct ad_fused_model model = {0};
    struct ad_layout layout = {0};
    double seconds;
    int count;
    struct ad_fused_group *groups = ad_calloc((size_t)p->graph->nops, sizeof *groups);
    if (!groups)
        return ad_error_memory(eval->err, "fused groups", (size_t)p->graph->nops);
    enum adaps_status status = ad_fused_model_init(&model, options, eval->err);
    if (status == ADAPS_OK)
        status = ad_fused_best(&model, groups, &count, &seconds, eval->err);
    if (status == ADAPS_OK)
        status = ad_layout_init(&layout, p->graph->nops, p->cluster->ndevices, eval->err);
    if (status == ADAPS_OK) {
        layout.hub = options->through_source ? p->cluster->source : -1;
        ad_fused_lay(&model, groups, count, &layout);
        eval->space_log10 = ad_fused_space(&model);
        status = ad_eval_try(eval, &layout, best, NULL);
    }
    ad_layout_fini(&layout);
    ad_fused_model_fini(&model);
    ad_free(groups);
    return status;
}
