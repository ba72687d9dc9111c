/* Parameters of quantised operators, in the order in which they read them (ir/quantised.h). */
#include "import/lower_internal.h"
#include "ir/quantised.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool ad_lower_is_quantised(const struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    return l->draft->values[op->inputs[0]].scale > 0;
}

/* Files have whole numbers times the scale, rounded to a float, which is off by a part in 2^24. */
bool ad_lower_whole_bias(double bias, float input, float weight, int32_t *out)
{
    double whole = bias / ((double)input * (double)weight), near = rint(whole);
    if (!(near >= INT32_MIN && near <= INT32_MAX) ||
        !(fabs(whole - near) <= fmax(0x1p-6, fabs(near) * 0x1p-22)))
        return false;
    *out = (int32_t)near;
    return true;
}

/* The bytes of a constant of int8 or uint8; the caller's. NULL with the error filled. */
static uint8_t *bytes_of(struct ad_draft_lowering *l, int value, size_t *count)
{
    const struct ad_draft_value *v = &l->draft->values[value];
    const struct ad_const *k = v->constant;
    const struct ad_onnx_tensor *t;
    uint8_t *bytes;
    if (k->proto && !k->tensor.i)
        return ad_onnx_tensor_bytes(l->draft->model, k->proto, &bytes, count, l->err) == ADAPS_OK
                   ? bytes
                   : NULL;
    if (ad_draft_tensor(l->draft, value, &t, l->err) != ADAPS_OK)
        return NULL;
    *count = t->count;
    bytes = ad_alloc_aligned(t->count);
    if (!bytes)
        ad_error_memory(l->err, v->name, t->count);
    for (size_t i = 0; bytes && i < t->count; i++)
        bytes[i] = (uint8_t)t->i[i];
    return bytes;
}

int ad_lower_quantised_weight(struct ad_draft_lowering *l, const struct ad_draft_op *op,
                              const struct ad_recipe *recipe)
{
    const struct ad_draft_value *v = &l->draft->values[op->weight];
    const struct ad_dequantised *from = v->constant->dequantised;
    /* weights are int8: of uint8 ones, 128 less */
    const uint8_t flip = from->type == ADAPS_UINT8 ? 0x80 : 0;
    int64_t row = ad_quantised_words(ad_recipe_row(recipe));
    size_t count;
    uint8_t *bytes = bytes_of(l, from->x, &count);
    float *data;
    int w = bytes ? ad_lower_weight(l, v->name, recipe->rows, row, &data) : -1;
    for (int64_t o = 0; o < recipe->rows && w >= 0; o++) {
        uint8_t *to = (uint8_t *)(data + o * row);
        memset(to + ad_recipe_row(recipe), 0,
               (size_t)(row * (int64_t)sizeof *data - ad_recipe_row(recipe)));
        for (int64_t a = 0; a < recipe->outer; a++)
            for (int64_t m = 0; m < recipe->middle; m++)
                for (int64_t b = 0; b < recipe->inner; b++)
                    *to++ = bytes[o * recipe->row_step + a * recipe->outer_step +
                                  m * recipe->middle_step + b * recipe->inner_step] ^
                            flip;
    }
    ad_free(bytes);
    return w;
}

int ad_lower_quantised_blocks(struct ad_draft_lowering *l, const struct ad_draft_op *op,
                              const struct ad_block_taps *taps, bool major)
{
    const struct ad_draft_value *v = &l->draft->values[op->weight];
    const struct ad_dequantised *from = v->constant->dequantised;
    const uint8_t flip = from->type == ADAPS_UINT8 ? 0x80 : 0;
    int64_t rows = op->rows * ad_lower_places(op), elements = ad_lower_block_row(l, op, taps);
    int64_t words = ad_quantised_words(elements);
    size_t count;
    uint8_t *bytes = bytes_of(l, from->x, &count);
    float *data;
    int64_t *at = ad_arena_alloc(&l->draft->arena, (size_t)elements, sizeof *at);
    if (!at)
        ad_error_memory(l->err, v->name, (size_t)elements * sizeof *at);
    int w = bytes && at ? ad_lower_weight(l, v->name, rows, words, &data) : -1;
    for (int64_t i = 0; i < rows && w >= 0; i++) {
        uint8_t *to = (uint8_t *)(data + i * words);
        int64_t o = ad_lower_block_taps(l, op, taps, major, i, at);
        const uint8_t zero = (uint8_t)from->zero[o % from->count]; /* stands for 0 */
        memset(to, 0, (size_t)words * sizeof *data);
        for (int64_t k = 0; k < elements; k++)
            to[k] = (at[k] < 0 ? zero : bytes[at[k]]) ^ flip;
    }
    ad_free(bytes);
    return w;
}

int ad_lower_quantised_rows(struct ad_draft_lowering *l, const struct ad_draft_op *op,
                            int64_t places, bool major)
{
    const struct ad_draft_value *values = l->draft->values;
    const struct ad_dequantised *from = values[op->weight].constant->dequantised;
    const int32_t flip = from->type == ADAPS_UINT8 ? 128 : 0;
    size_t size = strlen(op->name) + sizeof ":rows";
    char *name = ad_arena_alloc(&l->draft->arena, size, 1);
    float *data;
    if (!name) {
        ad_error_memory(l->err, op->name, size);
        return -1;
    }
    snprintf(name, size, "%s:rows", op->name);
    int w = ad_lower_weight(l, name, op->rows * places, AD_QUANTISED_ROW_WORDS, &data);
    for (int64_t i = 0; i < op->rows * places && w >= 0; i++) {
        int64_t o = major ? i / places : i % op->rows, k = o % from->count;
        struct ad_quantised_row row = {.scale = from->scale[k],
                                       .zero = (int32_t)from->zero[k] - flip};
        ad_lower_whole_bias(op->bias ? op->bias[o] : 0, values[op->inputs[0]].scale, row.scale,
                            &row.bias);
        memcpy(data + i * AD_QUANTISED_ROW_WORDS, &row, sizeof row);
    }
    return w;
}

int ad_lower_quantised_constant(struct ad_draft_lowering *l, int value, int rank,
                                enum ad_format format)
{
    const struct ad_draft_value *v = &l->draft->values[value];
    int64_t d[4] = {1, 1, 1, 1}, words = ad_quantised_words(v->elements);
    size_t count;
    uint8_t *bytes = bytes_of(l, value, &count);
    float *data;
    int w = bytes ? ad_lower_weight(l, v->name, 1, words, &data) : -1;
    if (w >= 0) {
        uint8_t *to = (uint8_t *)data;
        memset(data, 0, (size_t)words * sizeof *data);
        for (int i = 0; i < v->rank && format == AD_NHWC; i++)
            d[rank - v->rank + i] = v->dims[i];
        int64_t hw = format == AD_NHWC ? d[2] * d[3] : v->elements;
        for (int64_t n = 0, at = 0; n < d[0]; n++)
            for (int64_t c = 0; c < d[1]; c++)
                for (int64_t p = 0; p < hw; p++)
                    to[(n * hw + p) * d[1] + c] = bytes[at++];
    }
    ad_free(bytes);
    return w;
}
