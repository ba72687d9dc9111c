/* Parameters in the order in which the graph's operators want them. */
#include "ir/lower_priv.h"

#include <string.h>

#define BLOCK 16 /* rows of a matrix that are transposed together */

int ad_lower_weight(struct ad_lowering *l, const char *name, int64_t rows, int64_t row_elements,
                    float **data)
{
    size_t bytes;
    if (!ad_size_mul((size_t)rows, (size_t)row_elements, &bytes) ||
        !ad_size_mul(bytes, sizeof(float), &bytes))
        bytes = SIZE_MAX;
    char *copy = ad_arena_strdup(&l->graph->arena, name);
    if (!copy || !ad_grow(&l->weights, l->nweights, &l->weights_capacity, sizeof *l->weights) ||
        !(*data = ad_alloc_aligned(bytes))) {
        ad_error_memory(l->err, name, bytes);
        return -1;
    }
    l->weights[l->nweights] =
        (struct ad_weight){.name = copy, .rows = rows, .row_elements = row_elements, .data = *data};
    return (int)l->nweights++;
}

static const float *floats_of(struct ad_lowering *l, int value)
{
    const struct ad_onnx_tensor *t;
    return ad_draft_tensor(l->draft, value, &t, l->err) == ADAPS_OK ? t->f : NULL;
}

int ad_lower_filters(struct ad_lowering *l, const struct ad_draft_op *op)
{
    const float *from = floats_of(l, op->weight);
    const struct ad_draft_value *v = &l->draft->values[op->weight];
    int64_t depth = v->dims[1], taps = v->dims[2] * v->dims[3];
    float *to;
    int w = from ? ad_lower_weight(l, v->name, op->rows, depth * taps, &to) : -1;
    if (w < 0)
        return -1;
    for (int64_t o = 0; o < op->rows; o++)
        for (int64_t i = 0; i < depth; i++)
            for (int64_t t = 0; t < taps; t++) {
                float x = *from++;
                to[(o * taps + t) * depth + i] = op->scale ? (float)((double)x * op->scale[o]) : x;
            }
    return w;
}

int ad_lower_matrix(struct ad_lowering *l, const struct ad_draft_op *op, int64_t c, int64_t hw)
{
    const float *from = floats_of(l, op->weight);
    const struct ad_draft_value *v = &l->draft->values[op->weight];
    int64_t rows = op->rows, columns = c * hw;
    int64_t row_step = op->weight_transposed ? 1 : columns;
    int64_t column_step = op->weight_transposed ? rows : 1;
    float *to;
    int w = from ? ad_lower_weight(l, v->name, rows, columns, &to) : -1;
    if (w < 0)
        return -1;
    for (int64_t block = 0; block < rows; block += BLOCK) {
        int64_t end = block + BLOCK < rows ? block + BLOCK : rows;
        for (int64_t p = 0; p < hw; p++)
            for (int64_t i = 0; i < c; i++)
                for (int64_t o = block; o < end; o++) {
                    float x = from[o * row_step + (i * hw + p) * column_step];
                    to[o * columns + p * c + i] = op->scale ? (float)((double)x * op->scale[o]) : x;
                }
    }
    return w;
}

int ad_lower_rows(struct ad_lowering *l, const char *name, const char *suffix, int64_t rows,
                  const double *numbers, double fallback)
{
    size_t size = strlen(name) + strlen(suffix) + 1;
    char *full = ad_arena_alloc(&l->draft->arena, size, 1);
    float *to;
    if (!full) {
        ad_error_memory(l->err, name, size);
        return -1;
    }
    memcpy(full, name, strlen(name));
    memcpy(full + strlen(name), suffix, strlen(suffix));
    int w = ad_lower_weight(l, full, rows, 1, &to);
    for (int64_t i = 0; w >= 0 && i < rows; i++)
        to[i] = (float)(numbers ? numbers[i] : fallback);
    return w;
}

int ad_lower_constant(struct ad_lowering *l, int value, int rank, enum ad_format format)
{
    const struct ad_draft_value *v = &l->draft->values[value];
    const float *from = floats_of(l, value);
    int64_t d[4] = {1, 1, 1, 1};
    float *to;
    int w = from ? ad_lower_weight(l, v->name, 1, v->elements, &to) : -1;
    if (w < 0)
        return -1;
    if (format == AD_PLAIN) {
        memcpy(to, from, (size_t)v->elements * sizeof *to);
        return w;
    }
    for (int i = 0; i < v->rank; i++)
        d[rank - v->rank + i] = v->dims[i];
    int64_t hw = d[2] * d[3];
    for (int64_t n = 0; n < d[0]; n++)
        for (int64_t c = 0; c < d[1]; c++)
            for (int64_t p = 0; p < hw; p++)
                to[(n * hw + p) * d[1] + c] = *from++;
    return w;
}
