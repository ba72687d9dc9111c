/* Random operators that run whole (ir/whole.h), for property tests. */
#ifndef TESTS_RANDOM_WHOLE_H
#define TESTS_RANDOM_WHOLE_H

#include "base/rng.h"
#include "ir/whole.h"

#define AD_RANDOM_WHOLE_INPUTS 4

/* op.ints and op.floats point into it: it is not copied. */
struct ad_random_whole {
    struct ad_whole op;
    int64_t ints[AD_WHOLE_MOST_INTS];
    float floats[AD_WHOLE_MOST_FLOATS];
    struct ad_array in[AD_RANDOM_WHOLE_INPUTS]; /* small dims, 0 among them; no data; not open */
    int n;
};

/* An operator of a kind that fits its inputs, mostly. */
void ad_random_whole(struct ad_random_whole *whole, enum ad_whole_kind kind, struct ad_rng *rng);

/* Of a number type, or of bool, too. */
enum adaps_type ad_random_type(struct ad_rng *rng, bool with_bool);

#endif
