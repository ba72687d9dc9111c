/* Quantised values: bytes of type int8 or uint8 that stand for (x - zero) * scale. Kinds that have
 * kernels for them read and make such values as they do floats, by the same geometry; the operator
 * table says which mixtures a kind takes (enum ad_quantised_rule). What they compute is in
 * docs/numerics.md: sums of products are exact, in int32 that wraps around, so no split changes a
 * bit.
 *
 * CONV and FC: the weight's rows are int8, up to a whole word of zeros; the bias, which they always
 * have, is a row of `struct ad_quantised_row` for each output channel. Clamps are real numbers, as
 * those of floats; so is the fill of a RESAMPLE.
 *
 * A CONV that adds its input channels in blocks (ir/partial.h) makes sums: of type int32, with the
 * scale of its input and no zero point. FOLDs add them; the last one has the rows of its output
 * channels as its weight, of which it takes the scales, and rounds as the CONV would have. */
#ifndef AD_IR_QUANTISED_H
#define AD_IR_QUANTISED_H

#include "ir/graph.h"

/* What an output channel has beside its weights. (w - zero) * scale is what a weight stands for;
 * bias is in units of the input's scale times this one. */
struct ad_quantised_row {
    int32_t bias;
    float scale; /* > 0 */
    int32_t zero;
};
#define AD_QUANTISED_ROW_WORDS 3

/* Products of any two bytes less their zeros whose sum always fits an int32: no MATMUL of quantised
 * values has longer sums. */
#define AD_QUANTISED_PRODUCTS 33025

/* Words that so many bytes take. */
static inline int64_t ad_quantised_words(int64_t bytes)
{
    return (bytes + 3) / 4;
}

/* Whether a value's type, scale and zero are those of bytes. */
bool ad_quantised_valid(const struct ad_value *value);

/* Whether they are those of sums. */
bool ad_sums_valid(const struct ad_value *value);

/* Whether the bytes of both stand for the same numbers. */
static inline bool ad_quantised_alike(const struct ad_value *a, const struct ad_value *b)
{
    return a->type == b->type && a->scale == b->scale && a->zero == b->zero;
}

/* Whether an op computes with quantised values: it reads or makes one. */
bool ad_op_is_quantised(const struct ad_graph *graph, const struct ad_op *op);

/* The lowest and the highest byte of a quantised value, after the op's clamps. */
void ad_quantised_limits(const struct ad_value *value, float clamp_min, float clamp_max,
                         int32_t *low, int32_t *high);

/* The byte that stands for a real number: x / scale rounded half to even, plus zero, saturated. */
int32_t ad_quantised_byte(const struct ad_value *value, float x);

#endif
