/* Concatenations without copies: inputs lie where they belong in the result, and what makes them
 * writes there. The rule is here alone: the engine's buffers and the memory of a schedule follow it
 * per device (schedule/aliasing.h), what concatenations cost in general (ad_alias_mark()). */
#ifndef AD_IR_ALIASING_H
#define AD_IR_ALIASING_H

#include "ir/graph.h"

/* Where a value lies. */
struct ad_alias {
    int root;      /* the value of whose channels it is a part; -1: it has memory of its own */
    int64_t shift; /* the root's channel that channel 0 is; 0 without a root */
};

/* By value, whether it may lie in another one: it has pixels, is computed, and no op takes or makes
 * it as one row of floats. */
void ad_alias_movable(const struct ad_graph *graph, bool *movable);

/* Places all values. movable: by value. joins: by op, whether a concatenation may have its inputs
 * in its result (those of flat tensors, or with an activation, have not in any case); NULL: all. An
 * input of several lies in the last of them, and the result of one whose inputs lie in a row in a
 * longer one lies there, too. A root has no root. */
void ad_alias_place(const struct ad_graph *graph, const bool *joins, const bool *movable,
                    struct ad_alias *aliases);

/* Sets `placed` of the graph's ops. Once, when the graph is complete. */
AD_MUST_CHECK enum adaps_status ad_alias_mark(struct ad_graph *graph, struct adaps_error *err);

#endif
