/* Changes of a cluster that was read: more devices, other numbers of threads. */
#include "cost/board.h"
#include "cost/cluster.h"
#include "cost/shape.h"

#include <stdio.h>
#include <string.h>

enum adaps_status ad_cluster_add(struct ad_cluster *cluster, const char *devices_path,
                                 const char *name, const char *board, struct adaps_error *err)
{
    struct ad_cluster grown;
    int n = cluster->ndevices;
    enum adaps_status status = ad_cluster_init(&grown, n + 1, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_device *added = &grown.devices[n];
    if (n > 0) {
        grown.common = cluster->common;
        grown.source = cluster->source;
        grown.shared_medium = cluster->shared_medium;
    }
    for (int d = 0; d < n; d++)
        ad_cluster_set_device(&grown, d, &cluster->devices[d]);
    for (int a = 0; a <= n; a++)
        for (int b = 0; b <= n; b++)
            grown.links[a * (n + 1) + b] =
                a < n && b < n ? cluster->links[a * n + b] : grown.common;
    snprintf(added->name, sizeof added->name, "%s", name);
    snprintf(added->board, sizeof added->board, "%s", board);
    status = ad_board_load(devices_path, board, &added->table, err);
    if (status != ADAPS_OK) {
        ad_cluster_fini(&grown);
        return status;
    }
    ad_cluster_take_shapes(&grown, n, added->table.shapes);
    added->threads = added->table.threads > 0 ? added->table.threads : 1;
    ad_cluster_fini(cluster);
    *cluster = grown;
    return ADAPS_OK;
}

/* The measured shapes, all times multiplied. */
static enum adaps_status scale_shapes(struct ad_cluster *cluster, int d, double factor,
                                      struct adaps_error *err)
{
    const struct ad_shapes *from = cluster->shapes[d];
    struct ad_shapes *to = ad_shapes_new();
    enum adaps_status status = to ? ADAPS_OK : ad_error_memory(err, "shapes", 0);
    for (size_t i = 0; i < ad_shapes_count(from) && status == ADAPS_OK; i++) {
        struct ad_shape_time time = *ad_shapes_item(from, i);
        for (int k = 0; k < time.npoints; k++)
            time.points[k].seconds *= factor;
        status = ad_shapes_add(to, &time, err);
    }
    if (status == ADAPS_OK)
        status = ad_shapes_finish(to, err);
    if (status == ADAPS_OK)
        ad_cluster_take_shapes(cluster, d, to);
    else
        ad_shapes_unref(to);
    return status;
}

enum adaps_status ad_cluster_use_threads(struct ad_cluster *cluster, int d, int threads,
                                         struct adaps_error *err)
{
    struct ad_device *device = &cluster->devices[d];
    int most = device->table.threads > 0 ? device->table.threads : device->threads;
    int had = device->threads < most ? device->threads : most;
    int has = threads < most ? threads : most;
    device->threads = threads;
    if (has == had)
        return ADAPS_OK;
    for (int class = 0; class < AD_COST_CLASSES; class ++)
        device->table.rate[class] *= (double)has / had;
    return cluster->shapes[d] ? scale_shapes(cluster, d, (double)had / has, err) : ADAPS_OK;
}
