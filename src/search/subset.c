#include "search/subset.h"

/* The devices that take part: old[k] is the k-th one's index in the whole cluster, ascending. */
struct subset {
    int n;
    int old[AD_MAX_DEVICES];
    struct ad_cluster cluster;
};

static enum adaps_status choose(const struct ad_context *t, int n, struct subset *out,
                                struct adaps_error *err)
{
    const struct ad_cluster *all = t->problem->cluster;
    bool use[AD_MAX_DEVICES] = {false};
    out->n = 0;
    for (int k = 0; k < n; k++)
        use[t->order[k]] = true;
    for (int d = 0; d < all->ndevices; d++)
        if (use[d])
            out->old[out->n++] = d;
    enum adaps_status status = ad_cluster_init(&out->cluster, n, err);
    for (int a = 0; a < n && status == ADAPS_OK; a++) {
        out->cluster.devices[a] = all->devices[out->old[a]];
        if (out->old[a] == all->source)
            out->cluster.source = a;
        for (int b = 0; b < n; b++)
            out->cluster.links[a * n + b] = all->links[out->old[a] * all->ndevices + out->old[b]];
    }
    out->cluster.shared_medium = all->shared_medium;
    return status;
}

/* The same layout in the whole cluster: those who do not take part have nothing. */
static void widen(const struct subset *s, const struct ad_layout *from, struct ad_layout *to)
{
    ad_layout_copy_head(from, to);
    to->hub = from->hub < 0 ? -1 : s->old[from->hub];
    for (int i = 0; i < from->nops; i++) {
        const int *cuts = ad_layout_cuts(from, i);
        int *wide = ad_layout_cuts(to, i);
        to->ops[i] = from->ops[i];
        to->ops[i].at = s->old[from->ops[i].at];
        for (int d = 0, k = 0; d <= to->ndevices; d++) {
            wide[d] = cuts[k];
            if (k < s->n && s->old[k] == d)
                k++;
        }
    }
}

/* The search in the subset; its best into *layout, of the whole cluster. */
static enum adaps_status search_half(struct ad_eval *eval, ad_search_fn *search,
                                     const struct subset *s, struct ad_layout *layout, bool *found)
{
    struct ad_search_problem problem = *eval->context->problem;
    struct ad_context context;
    struct ad_eval half;
    struct ad_best best;
    problem.cluster = &s->cluster;
    enum adaps_status status = ad_context_init(&context, &problem, eval->err);
    if (status != ADAPS_OK)
        return status;
    status = ad_eval_init(&half, &context, eval->err);
    if (status != ADAPS_OK) {
        ad_context_fini(&context);
        return status;
    }
    half.cap_ns = eval->cap_ns;
    half.share = eval->share * AD_SUBSET_SHARE;
    half.part = true;
    half.rival_ns = eval->start_ns;
    status = ad_best_init(&best, &context, eval->err);
    if (status == ADAPS_OK)
        status = search(&half, &best);
    *found = status == ADAPS_OK && best.valid;
    if (*found)
        widen(s, &best.layout, layout);
    eval->half_share = half.share / eval->share;
    eval->visited += half.visited;
    eval->guessed += half.guessed;
    ad_best_fini(&best);
    ad_eval_fini(&half);
    ad_context_fini(&context);
    return status;
}

enum adaps_status ad_subset_search(struct ad_eval *eval, ad_search_fn *search, struct ad_best *best)
{
    const struct ad_context *t = eval->context;
    struct subset subset = {.n = 0};
    struct ad_layout layout;
    int all = t->problem->cluster->ndevices, half = ad_subset_devices(all);
    bool found = false;
    if (half < 2) {
        if (!eval->part)
            eval->half_share = 0;
        return ADAPS_OK;
    }
    enum adaps_status status = ad_layout_init(&layout, t->problem->graph->nops, all, eval->err);
    if (status != ADAPS_OK)
        return status;
    status = choose(t, half, &subset, eval->err);
    if (status == ADAPS_OK)
        status = search_half(eval, search, &subset, &layout, &found);
    if (found)
        status = ad_eval_try(eval, &layout, best, NULL);
    ad_cluster_fini(&subset.cluster);
    ad_layout_fini(&layout);
    return status;
}
