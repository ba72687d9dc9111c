/* The simulated clusters of bench/search and bench/papers: half of the devices fast, half slow. */
#ifndef BENCH_HALF_AND_HALF_H
#define BENCH_HALF_AND_HALF_H

#include "cost/cluster.h"

/* Loads the devices file that such clusters are made of; it must have two devices. Free with
 * ad_cluster_fini(). ADAPS_EINPUT names the file. */
AD_MUST_CHECK enum adaps_status
bench_half_and_half_load(const char *path, struct ad_cluster *template, struct adaps_error *err);

/* `count` devices dev0, dev1, ...: the first half like the template's first device, the others like
 * its second, on links of this rate and of the template's latency. The first is the source. Free
 * with ad_cluster_fini(). */
AD_MUST_CHECK enum adaps_status bench_half_and_half(const struct ad_cluster *template, int count,
                                                    double bytes_per_s, struct ad_cluster *out,
                                                    struct adaps_error *err);

#endif
