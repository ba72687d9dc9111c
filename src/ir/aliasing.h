/* Concatenations without copies: an input lies where it belongs in the result, and its producer
 * writes it there. The rule is here alone: the engine's buffers and the memory of a schedule follow
 * it per device (schedule/aliasing.h), what concatenations cost in general (ad_alias_mark()). */
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
 * in its result; NULL: all may. (Those of flat tensors and those with an activation never do.) An
 * input of several concatenations lies in the last of them. The result of a concatenation whose
 * inputs are neighbours in a longer one lies in that, too. A root has no root. */
void ad_alias_place(const struct ad_graph *graph, const bool *joins, const bool *movable,
                    struct ad_alias *aliases);

/* Sets `aliased` of the graph's ops. To be called once, when the graph is complete. */
AD_MUST_CHECK enum adaps_status ad_alias_mark(struct ad_graph *graph, struct adaps_error *err);

#endif
