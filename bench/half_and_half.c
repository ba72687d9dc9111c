#include "half_and_half.h"

#include <stdio.h>

enum adaps_status bench_half_and_half_load(const char *path, struct ad_cluster *template,
                                           struct adaps_error *err)
{
    enum adaps_status status = ad_cluster_load(path, template, err);
    if (status != ADAPS_OK || template->ndevices >= 2)
        return status;
    ad_cluster_fini(template);
    return ad_error_set(err, ADAPS_EINPUT, "%s: two devices are wanted", path);
}

enum adaps_status bench_half_and_half(const struct ad_cluster *template, int count,
                                      double bytes_per_s, struct ad_cluster *out,
                                      struct adaps_error *err)
{
    enum adaps_status status = ad_cluster_init(out, count, err);
    for (int d = 0; d < count && status == ADAPS_OK; d++) {
        out->devices[d] = template->devices[d < count / 2 ? 0 : 1];
        out->devices[d].source = d == 0;
        snprintf(out->devices[d].name, sizeof out->devices[d].name, "dev%d", d);
    }
    if (status == ADAPS_OK) {
        out->source = 0;
        ad_cluster_override_links(out, bytes_per_s, template->links[1].latency);
    }
    return status;
}
