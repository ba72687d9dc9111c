/* Path analysis (ADaPS 4.2): the graph cut into single-entry, single-exit sub-blocks, and the
 * classification of operators (ADaPS Table 2). */
#ifndef AD_BLOCKS_BLOCKS_H
#define AD_BLOCKS_BLOCKS_H

#include "ir/operators.h"

/* Type 1: weights, padding or stride (space-to-depth too): an output depends on neighbouring
 * inputs. Type 2: elementwise (LRN too: it reads across channels only). Type 3: changes dims or
 * aggregates across them (Softmax, resizing, slices and padding too). */
static inline int ad_op_type(const struct ad_op *op)
{
    return ad_operator_of(op->kind)->type;
}

/* A chain of ops, in order; ops of the range need not be neighbours in the graph's order. Entry is
 * the first op, exit the last. A block ends at an op whose output has several consumers (or is a
 * network output), and before an op with several inputs that are not constants, as section 4.2
 * says. */
struct ad_block {
    int *ops;
    int nops;
};

struct ad_blocks {
    struct ad_arena arena;
    struct ad_block *blocks;
    int nblocks;
    int *block_of; /* by op */
};

/* Every op is in exactly one block; blocks are ordered by their first op. ADAPS_EINTERNAL without
 * memory; then *out is empty. */
AD_MUST_CHECK enum adaps_status ad_blocks_find(const struct ad_graph *graph, struct ad_blocks *out,
                                               struct adaps_error *err);
void ad_blocks_fini(struct ad_blocks *blocks);

/* Ops at which all paths from the inputs to the outputs meet: after computing op i nothing but its
 * output is still wanted, by an op or as a network output. cut[i] is set for these (nops entries).
 * Segments between cuts are where a planner may change its layout freely. */
void ad_blocks_cuts(const struct ad_graph *graph, bool *cut);

/* Consumers of a value: how many op inputs read it, plus one if it is a network output. */
int ad_value_uses(const struct ad_graph *graph, int value);

#endif
