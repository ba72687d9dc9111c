/* Partial sums: convolutions and dense layers that add their input channels in blocks, so that
 * devices which have some of the channels can each compute a part of every output (the filter and
 * input splitting of R. Hadidi et al., IEEE IoT Journal 2020, sections 4.1 and 4.2).
 *
 * Sums of floats depend on their order, so the order is a part of the graph. An op of `blocks`
 * blocks becomes a convolution of as many groups: group b reads the b-th of `blocks` equal parts of
 * the input channels and computes all output channels from these alone, each from zero (the first
 * one from the bias). FOLDs then add neighbours until one block is left: a binary tree, whose last
 * FOLD has the op's function and clamp. Whoever computes a part of this graph, or all of it, gets
 * the same bits; a device that has the blocks below a node of the tree sends one map.
 *
 * Sums of quantised values (ir/quantised.h) have no order: there the answer is the op's own. */
#ifndef AD_IR_PARTIAL_H
#define AD_IR_PARTIAL_H

#include "ir/graph.h"

#define AD_PARTIAL_MOST 64 /* blocks */

/* The blocks that so many devices share: the least power of two that is at least twice as many, or
 * AD_PARTIAL_MOST. */
int32_t ad_partial_shared(int ndevices);

/* The most blocks, a power of two up to `most`, that the op's input channels can be added in; 1
 * when they can't: the op is no dense convolution or dense layer, has an odd number of channels, or
 * shares its weights with other ops. */
int32_t ad_partial_blocks(const struct ad_graph *graph, int op, int32_t most);

/* A copy of the graph in which op i is added in blocks[i] blocks (ad_partial_blocks(); 0 or 1: as
 * it is). Values and weights keep their numbers, new values come after them. The weights have no
 * numbers, and those of the changed ops no digest, before ad_partial_replace(). */
AD_MUST_CHECK enum adaps_status ad_graph_partial(const struct ad_graph *graph,
                                                 const int32_t *blocks, struct ad_graph **out,
                                                 struct adaps_error *err);

/* The same changes as in `like`, which is such a copy. Ops are found by their weights; where a
 * graph has no such ops, ADAPS_EINPUT. */
AD_MUST_CHECK enum adaps_status ad_graph_partial_like(const struct ad_graph *graph,
                                                      const struct ad_graph *like,
                                                      struct ad_graph **out,
                                                      struct adaps_error *err);

/* Moves the weights' numbers from *graph to `partial`, which is such a copy of it, in the order in
 * which the changed ops read them; frees *graph, which becomes `partial`, also after an error.
 * Errors are those of reading the numbers. */
AD_MUST_CHECK enum adaps_status
ad_partial_replace(struct ad_graph **graph, struct ad_graph *partial, struct adaps_error *err);

/* Whether ops of the graph are added in blocks. */
bool ad_graph_is_partial(const struct ad_graph *graph);

#endif
