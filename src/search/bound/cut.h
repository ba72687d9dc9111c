/* The smallest cut of a graph with two ends, and the flow through it. */
#ifndef AD_SEARCH_BOUND_CUT_H
#define AD_SEARCH_BOUND_CUT_H

#include "base/error.h"
#include "base/mem.h"

enum { AD_CUT_HERE, AD_CUT_AWAY, AD_CUT_FIRST_NODE }; /* the ends, and the first other node */

struct ad_cut_arc {
    int to, next;
    double capacity, room;
};

struct ad_cut_net {
    struct ad_cut_arc *arcs; /* in pairs, there and back */
    size_t narcs, room;
    int nnodes;
    int *first, *next, *level, *queue; /* by node */
};

/* A graph without arcs; false without memory. Free with ad_cut_fini(), also after a failure. */
AD_MUST_CHECK bool ad_cut_init(struct ad_cut_net *out, int nnodes);
void ad_cut_fini(struct ad_cut_net *net);

/* Adds the arc net->arcs[net->narcs] and the one back, which has no capacity; false without memory.
 * Capacities are whole numbers or infinite, and may be changed before each ad_cut_smallest(). */
AD_MUST_CHECK bool ad_cut_arc(struct ad_cut_net *net, int from, int to, double capacity);

/* The smallest cut, which must be below 2^52: exact. Every path must have a finite arc. */
double ad_cut_smallest(struct ad_cut_net *net);

#endif
