/* Who reads which value. */
#ifndef AD_IR_READERS_H
#define AD_IR_READERS_H

#include "ir/graph.h"

/* An op, and the first of its inputs that is the value. */
struct ad_reader {
    int op, input;
};

/* The readers of value v are list[first[v]] to list[first[v + 1] - 1]: each op once, ascending. */
struct ad_readers {
    int *first;
    struct ad_reader *list;
};

/* False without memory; then there is nothing to free. */
AD_MUST_CHECK bool ad_readers_init(struct ad_readers *out, const struct ad_graph *graph);
void ad_readers_fini(struct ad_readers *readers);

static inline int ad_readers_count(const struct ad_readers *readers, int value)
{
    return readers->first[value + 1] - readers->first[value];
}

/* Whether no input before k is the same value. */
static inline bool ad_input_first(const struct ad_op *op, int k)
{
    for (int i = 0; i < k; i++)
        if (op->inputs[i] == op->inputs[k])
            return false;
    return true;
}

#endif
