/* Plans of random graphs for tests. Failures end the test through Check. */
#ifndef TESTS_PLAN_FIXTURE_H
#define TESTS_PLAN_FIXTURE_H

#include "exec/engine/local_run.h"

/* ndevices devices dev0, dev1, ... of unequal speed, dev0 the source; 100 MB/s links, 10 us
 * latency; no memory limits. */
void ad_fixture_cluster(struct ad_cluster *out, int ndevices);

/* A random graph of the seed. */
struct ad_graph *ad_fixture_graph(uint64_t seed);

/* The graph of the seed on 1..4 devices by a strategy that the seed chooses. The weight data is
 * attached. Free with adaps_plan_free(). */
struct adaps_plan *ad_fixture_plan(uint64_t seed);

/* A plan that certainly has messages: a chain of convolutions in bands on `ndevices` devices. */
struct adaps_plan *ad_fixture_banded(int ndevices);

/* One inference of all devices of a plan in this process (exec/engine/local_run.h), with the
 * weights of a graph. */
enum adaps_status ad_fixture_infer(const struct adaps_plan *plan, const struct ad_graph *weights,
                                   int threads, const struct ad_tensor *inputs,
                                   struct ad_tensor *outputs, struct adaps_error *err);

/* Takes over the graph. */
struct adaps_plan *ad_fixture_make(struct ad_graph *graph, struct ad_cluster *cluster,
                                   const char *strategy);

/* The same for the throughput. */
struct adaps_plan *ad_fixture_make_stream(struct ad_graph *graph, struct ad_cluster *cluster,
                                          const char *strategy);

/* Devices have buffers for n inferences of a turn at a time; 0: for all in flight. */
void ad_fixture_buffer(struct adaps_plan *plan, int n);

#endif
