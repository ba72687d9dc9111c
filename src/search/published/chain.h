/* Chains: groups of ops that follow each other, each whole on a device of its own, for streams. */
#ifndef AD_SEARCH_PUBLISHED_CHAIN_H
#define AD_SEARCH_PUBLISHED_CHAIN_H

#include "search/context.h"

/* Stage k computes ops [end[k - 1], end[k]) on device[k]. */
struct ad_chain {
    int nstages;
    int device[AD_MAX_DEVICES], end[AD_MAX_DEVICES];
};

/* The best chains for any set of devices. */
struct ad_chains;

/* What a stage's memory is taken to hold besides weights: so many of its largest value, in all the
 * inferences that are in flight. */
#define AD_CHAIN_BUFFERS 4

/* Finds them; buffers: AD_CHAIN_BUFFERS, or more or fewer. ADAPS_EINTERNAL without memory. Free
 * with ad_chains_free(), NULL is fine. */
AD_MUST_CHECK enum adaps_status ad_chains_new(const struct ad_context *context, int buffers,
                                              struct ad_chains **out, struct adaps_error *err);
void ad_chains_free(struct ad_chains *chains);

/* The chain with the shortest interval on some or all of the devices in use. False: there is none
 * within their memory. */
bool ad_chains_best(const struct ad_chains *chains, const bool *use, struct ad_chain *out);

/* Devices of the same class take the same time and have the same memory: which one is of no
 * matter. Classes are numbered from 0; the source is one of its own. */
int ad_chains_classes(const struct ad_chains *chains);
int ad_chains_class(const struct ad_chains *chains, int device);

/* How many devices a class has. */
int ad_chains_count(const struct ad_chains *chains, int class);

/* Where stages may begin and end: ops, ascending, from 0 to nops, by position 0 to positions. */
int ad_chains_positions(const struct ad_chains *chains);
int ad_chains_position(const struct ad_chains *chains, int position);

/* loads[q], for q above p: seconds that a stage between these positions takes of a device of the
 * class, or of its port, in an inference; INFINITY: it lacks memory. */
void ad_chains_loads(const struct ad_chains *chains, int class, int p, double *loads);

/* Seconds that ops [i, j) take a device of the class to compute. */
double ad_chains_seconds(const struct ad_chains *chains, int class, int i, int j);

/* Bytes of values made before op i and read from it on; i = nops: of the network's outputs. */
double ad_chains_crossing(const struct ad_chains *chains, int i);

/* Bytes a second through the port of a device of the class, and the bytes of its memory, which may
 * be INFINITY. */
double ad_chains_bandwidth(const struct ad_chains *chains, int class);
double ad_chains_memory(const struct ad_chains *chains, int class);

/* Everything whole on the devices of the chain's stages. */
void ad_chain_layout(const struct ad_context *context, const struct ad_chain *chain,
                     struct ad_layout *layout);

#endif
