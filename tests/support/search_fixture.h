/* Problems for tests of the search: a graph, devices, links; random ones from a seed, and one small
 * network by hand. */
#ifndef TESTS_SEARCH_FIXTURE_H
#define TESTS_SEARCH_FIXTURE_H

#include "support/random_graph.h"
#include "search/strategies/search.h"

struct problem {
    struct ad_graph *graph;
    struct ad_blocks blocks;
    struct ad_cluster cluster;
    struct ad_search_problem problem;
};

/* n equal devices dev0, dev1, ...; the first is the source. */
void ad_fixture_devices(struct ad_cluster *c, int n);

/* Fills in the rest once graph and cluster are there. */
void ad_fixture_fill(struct problem *p);
void ad_fixture_fini(struct problem *p);

/* The graph of ad_fixture_random(). */
struct ad_graph *ad_fixture_random_graph(uint64_t seed);

/* 1 to 5 unequal devices, any source, quick or slow links, every fourth on one medium. */
void ad_fixture_random(struct problem *p, uint64_t seed);

/* 64x64x3 through four 3x3 convolutions of 16, a pool after the second, a dense layer, softmax; the
 * source twice as fast as the others. */
void ad_fixture_small(struct problem *p, int ndevices);

/* 8x8x4 through `n` convolutions k x k that keep the size, in bands cut[0 .. ndevices]. A row is
 * 128 bytes: 128 ns to copy, 1280 on the wire, and of 1x1 1 us to compute; a task takes 1 us more.
 */
void ad_fixture_chain(struct problem *p, int n, int k, int ndevices, const int32_t *cut,
                      struct ad_assignment *a);

/* Runs a strategy, which must find a valid plan. */
void ad_fixture_run(const struct problem *p, const char *name, struct ad_search_result *r);

/* Runs a strategy until it has a plan, while each of its first allocations fails in turn, and of
 * the later ones some: there is an error whichever fails, and under a sanitizer nothing is lost. */
void ad_fixture_without_memory(const struct problem *p, const char *name);

/* What a device computes of an op: the hull of its tasks. */
struct ad_region ad_fixture_task_region(const struct ad_schedule *s, int op, int device);

/* Whether two devices compute some of an op both. */
bool ad_fixture_overlaps(const struct ad_schedule *s, int op);

#endif
