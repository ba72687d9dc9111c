/* Operators on bytes by their definitions (docs/numerics.md), one element at a time; they share no
 * code with the kernels. */
#ifndef TEST_SUPPORT_Q8_REFERENCE_H
#define TEST_SUPPORT_Q8_REFERENCE_H

#include "base/rng.h"
#include "exec/kernels/q8_conv.h"

/* Half to even, + zero, limited. */
int32_t ad_q8_reference_round(double x, int32_t zero, int32_t lo, int32_t hi);

/* A convolution and what it was packed from: weights in the order of output channels of all groups,
 * taps, inputs. `out` need not have data. */
struct ad_q8_reference {
    const struct ad_q8_conv *conv;
    const struct ad_q8_weights *weights;
};

/* The exact sum of an output. */
int64_t ad_q8_reference_sum(const struct ad_q8_reference *r, int64_t n, int64_t y, int64_t x,
                            int64_t c);

/* Stores what becomes of a sum of channel c. */
void ad_q8_reference_finish(const struct ad_q8_reference *r, int64_t sum, int64_t c, void *to);

/* Bytes of a kind: all random, the least, the most, one of these two at random. */
enum ad_q8_kind { AD_Q8_ANY, AD_Q8_LEAST, AD_Q8_MOST, AD_Q8_EXTREMES, AD_Q8_KINDS };
uint8_t *ad_q8_random(struct ad_rng *rng, size_t n, bool is_signed, enum ad_q8_kind kind);

/* gap: bytes between pixels, rows and images that are nobody's. */
struct ad_q8_view ad_q8_gapped(uint8_t *data, int64_t n, int64_t h, int64_t w, int64_t c,
                               int64_t gap);

#endif
