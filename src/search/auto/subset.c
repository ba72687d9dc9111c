#include "search/auto/subset.h"

enum adaps_status ad_subset_init(struct ad_subset *out, const struct ad_context *context, int n,
                                 struct adaps_error *err)
{
    const struct ad_cluster *all = context->problem->cluster;
    bool use[AD_MAX_DEVICES] = {false};
    int count = 0;
    *out = (struct ad_subset){.old = {0}};
    for (int k = 0; k < n; k++)
        use[context->order[k]] = true;
    for (int d = 0; d < all->ndevices; d++)
        if (use[d])
            out->old[count++] = d;
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

void ad_subset_fini(struct ad_subset *subset)
{
    ad_cluster_fini(&subset->cluster);
}

void ad_subset_widen(const struct ad_subset *subset, const struct ad_layout *from,
                     struct ad_layout *to)
{
    ad_layout_copy_head(from, to);
    to->hub = from->hub < 0 ? -1 : subset->old[from->hub];
    for (int i = 0; i < from->nops; i++) {
        const int *cuts = ad_layout_cuts(from, i);
        int *wide = ad_layout_cuts(to, i);
        to->ops[i] = from->ops[i];
        to->ops[i].at = subset->old[from->ops[i].at];
        for (int d = 0, k = 0; d <= to->ndevices; d++) {
            wide[d] = cuts[k];
            if (k < from->ndevices && subset->old[k] == d)
                k++;
        }
    }
}
