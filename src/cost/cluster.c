/* The cluster as an object; cluster_file.c reads it. */
#include "cost/cluster.h"
#include "cost/board.h"
#include "cost/shape.h"

#include <string.h>

enum adaps_status ad_cluster_init(struct ad_cluster *out, int ndevices, struct adaps_error *err)
{
    memset(out, 0, sizeof *out);
    if (ndevices < 1 || ndevices > AD_MAX_DEVICES)
        return ad_error_set(err, ADAPS_EINPUT, "%d devices; 1 to %d are possible", ndevices,
                            AD_MAX_DEVICES);
    size_t n = (size_t)ndevices;
    out->devices = ad_calloc(n, sizeof *out->devices);
    out->links = ad_calloc(n * n, sizeof *out->links);
    out->shapes = ad_calloc(n, sizeof *out->shapes);
    out->ndevices = ndevices;
    if (!out->devices || !out->links || !out->shapes) {
        ad_cluster_fini(out);
        return ad_error_memory(err, "cluster", n * n * sizeof *out->links);
    }
    out->common = (struct ad_link){100e6 / 8, 0.3e-3};
    for (size_t i = 0; i < n * n; i++)
        out->links[i] = out->common;
    for (size_t i = 0; i < n; i++) {
        out->devices[i].speed = 1;
        out->devices[i].threads = 1;
        out->devices[i].table = ad_board_x86();
    }
    out->devices[0].source = true;
    return ADAPS_OK;
}

enum adaps_status ad_cluster_copy(const struct ad_cluster *from, struct ad_cluster *to,
                                  struct adaps_error *err)
{
    enum adaps_status status = ad_cluster_init(to, from->ndevices, err);
    if (status != ADAPS_OK)
        return status;
    size_t n = (size_t)from->ndevices;
    for (int d = 0; d < from->ndevices; d++)
        ad_cluster_set_device(to, d, &from->devices[d]);
    memcpy(to->links, from->links, n * n * sizeof *to->links);
    to->source = from->source;
    to->shared_medium = from->shared_medium;
    to->common = from->common;
    return ADAPS_OK;
}

enum adaps_status ad_cluster_without(const struct ad_cluster *from, const bool *out,
                                     struct ad_cluster *to, int *device_of, struct adaps_error *err)
{
    int n = 0;
    for (int d = 0; d < from->ndevices; d++)
        if (!out[d])
            device_of[n++] = d;
    enum adaps_status status = ad_cluster_init(to, n, err);
    if (status != ADAPS_OK)
        return status;
    to->shared_medium = from->shared_medium;
    to->common = from->common;
    for (int a = 0; a < n; a++) {
        ad_cluster_set_device(to, a, &from->devices[device_of[a]]);
        if (device_of[a] == from->source)
            to->source = a;
        for (int b = 0; b < n; b++)
            to->links[a * n + b] = from->links[device_of[a] * from->ndevices + device_of[b]];
    }
    return ADAPS_OK;
}

void ad_cluster_take_shapes(struct ad_cluster *cluster, int d, const struct ad_shapes *shapes)
{
    ad_shapes_unref(cluster->shapes[d]);
    cluster->shapes[d] = shapes;
    cluster->devices[d].table.shapes = shapes;
}

void ad_cluster_set_device(struct ad_cluster *cluster, int d, const struct ad_device *from)
{
    const struct ad_shapes *shapes = ad_shapes_ref(from->table.shapes);
    cluster->devices[d] = *from;
    ad_cluster_take_shapes(cluster, d, shapes);
}

void ad_cluster_override_links(struct ad_cluster *cluster, double bandwidth, double latency)
{
    size_t n = (size_t)cluster->ndevices;
    for (size_t i = 0; i < n * n; i++) {
        if (bandwidth >= 0)
            cluster->links[i].bandwidth = bandwidth;
        if (latency >= 0)
            cluster->links[i].latency = latency;
    }
}

enum adaps_status ad_cluster_check_power(const struct ad_cluster *cluster, struct adaps_error *err)
{
    for (int d = 0; d < cluster->ndevices; d++) {
        const struct ad_device *device = &cluster->devices[d];
        const struct ad_power *power = &device->table.power;
        if (!ad_power_known(power))
            return ad_error_set(err, ADAPS_EINPUT,
                                "the energy of '%s' is not known: %s is missing, in its section or "
                                "in the file of its board, %s",
                                device->name,
                                power->idle_mw <= 0   ? "idle_watts"
                                : power->core_mw <= 0 ? "core_watts"
                                                      : "network_watts",
                                device->board[0] ? device->board : "which it does not name");
    }
    return ADAPS_OK;
}

int ad_cluster_find(const struct ad_cluster *cluster, const char *name)
{
    for (int i = 0; i < cluster->ndevices; i++)
        if (strcmp(cluster->devices[i].name, name) == 0)
            return i;
    return -1;
}

void ad_cluster_fini(struct ad_cluster *cluster)
{
    for (int d = 0; cluster->shapes && d < cluster->ndevices; d++)
        ad_shapes_unref(cluster->shapes[d]);
    ad_free(cluster->shapes);
    ad_free(cluster->devices);
    ad_free(cluster->links);
    memset(cluster, 0, sizeof *cluster);
}
