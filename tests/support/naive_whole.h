/* Operators that run whole by their definition: each element by itself, by its indices. */
#ifndef TESTS_NAIVE_WHOLE_H
#define TESTS_NAIVE_WHOLE_H

#include "ir/whole.h"

/* out has type and dims (the most, of kinds with a length of their own, which are set here) and
 * room for them. Indices are in range. False for kinds that are not here: FUNCTION, POW, SOFTMAX
 * and the two of DynamicQuantizeLinear. */
bool ad_naive_whole(const struct ad_whole *op, const struct ad_array *in, int n,
                    struct ad_array *out);

#endif
