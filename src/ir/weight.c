#include "ir/weight.h"

#include <string.h>

#define SCRATCH_BYTES ((size_t)256 << 10)
#define STRIPS 16 /* of interleaved rows that are sorted into place together */

/* --- recipes --- */

static int64_t blocks_of(const struct ad_recipe *recipe)
{
    return recipe->blocks > 1 ? recipe->blocks : 1;
}

struct ad_recipe *ad_recipe_copy(const struct ad_recipe *recipe)
{
    struct ad_recipe *copy = ad_calloc(1, sizeof *copy);
    double *scale = NULL;
    size_t scales = (size_t)(recipe->rows / blocks_of(recipe));
    if (copy && recipe->scale) {
        scale = ad_realloc(NULL, scales, sizeof *scale);
        if (!scale) {
            ad_free(copy);
            return NULL;
        }
        memcpy(scale, recipe->scale, scales * sizeof *scale);
    }
    if (!copy)
        return NULL;
    *copy = *recipe;
    copy->scale = scale;
    ad_onnx_file_ref(copy->stored.file);
    return copy;
}

void ad_recipe_free(struct ad_recipe *recipe)
{
    if (!recipe)
        return;
    ad_onnx_file_unref(recipe->stored.file);
    ad_free((double *)recipe->scale);
    ad_free(recipe);
}

/* Elements [first, first + count) of the tensor. */
static enum adaps_status read_tensor(const struct ad_recipe *r, int64_t first, int64_t count,
                                     float *to, struct adaps_error *err)
{
    if (!r->numbers)
        return ad_onnx_stored_read(&r->stored, (size_t)first, (size_t)count, to, err);
    memcpy(to, r->numbers + first, (size_t)count * sizeof *to);
    return ADAPS_OK;
}

/* A row of the weight from the tensor's; returns where the next one goes. */
static float *place_row(const struct ad_recipe *r, const float *from, float *to)
{
    for (int64_t a = 0; a < r->outer; a++)
        for (int64_t m = 0; m < r->middle; m++)
            for (int64_t b = 0; b < r->inner; b++)
                *to++ = from[a * r->outer_step + m * r->middle_step + b * r->inner_step];
    return to;
}

/* Rows [r0, r1) that lie one after the other, whose elements may have to change places. */
static enum adaps_status read_rows(const struct ad_recipe *r, int64_t r0, int64_t r1, float *to,
                                   struct adaps_error *err)
{
    int64_t row = ad_recipe_row(r), most = (int64_t)(SCRATCH_BYTES / sizeof *to) / row;
    enum adaps_status status = ADAPS_OK;
    if (r->middle == 1 &&
        ((r->outer == 1 && r->inner_step == 1) || (r->inner == 1 && r->outer_step == 1)))
        return read_tensor(r, r0 * row, (r1 - r0) * row, to, err);
    most = most < 1 ? 1 : most < r1 - r0 ? most : r1 - r0;
    float *scratch = ad_realloc(NULL, (size_t)(most * row), sizeof *scratch);
    if (!scratch)
        return ad_error_memory(err, "weights", (size_t)(most * row) * sizeof *scratch);
    for (int64_t first = r0; first < r1 && status == ADAPS_OK; first += most) {
        int64_t n = most < r1 - first ? most : r1 - first;
        status = read_tensor(r, first * row, n * row, scratch, err);
        for (int64_t o = 0; o < n && status == ADAPS_OK; o++)
            to = place_row(r, scratch + o * row, to);
    }
    ad_free(scratch);
    return status;
}

/* The same of a block, from element `first` of each row on: what lies between its elements is read,
 * too. */
static enum adaps_status read_parts(const struct ad_recipe *r, int64_t first, int64_t r0,
                                    int64_t r1, float *to, struct adaps_error *err)
{
    int64_t span = (r->outer - 1) * r->outer_step + (r->middle - 1) * r->middle_step +
                   (r->inner - 1) * r->inner_step + 1;
    enum adaps_status status = ADAPS_OK;
    float *scratch = ad_realloc(NULL, (size_t)span, sizeof *scratch);
    if (!scratch)
        return ad_error_memory(err, "weights", (size_t)span * sizeof *scratch);
    for (int64_t o = r0; o < r1 && status == ADAPS_OK; o++) {
        status = read_tensor(r, o * r->row_step + first, span, scratch, err);
        if (status == ADAPS_OK)
            to = place_row(r, scratch, to);
    }
    ad_free(scratch);
    return status;
}

/* Interleaved rows: strips of one element of each row, from element `first` on. */
static enum adaps_status read_strips(const struct ad_recipe *r, int64_t first, int64_t r0,
                                     int64_t r1, float *to, struct adaps_error *err)
{
    int64_t row = ad_recipe_row(r), n = r1 - r0, place[STRIPS];
    enum adaps_status status = ADAPS_OK;
    float *scratch = ad_realloc(NULL, (size_t)n * STRIPS, sizeof *scratch);
    if (!scratch)
        return ad_error_memory(err, "weights", (size_t)n * STRIPS * sizeof *scratch);
    for (int64_t i = 0, count; i < row && status == ADAPS_OK; i += count) {
        for (count = 0; count < STRIPS && i + count < row && status == ADAPS_OK; count++) {
            int64_t b = (i + count) / r->outer, a = (i + count) % r->outer; /* the file's order */
            place[count] = a * r->inner + b;
            status = read_tensor(r, first + a * r->outer_step + b * r->inner_step + r0, n,
                                 scratch + count * n, err);
        }
        for (int64_t o = 0; o < n && status == ADAPS_OK; o++)
            for (int64_t k = 0; k < count; k++)
                to[o * row + place[k]] = scratch[k * n + o];
    }
    ad_free(scratch);
    return status;
}

/* Rows [r0, r1) of a block. */
static enum adaps_status read_block(const struct ad_recipe *r, int64_t block, int64_t r0,
                                    int64_t r1, float *to, struct adaps_error *err)
{
    int64_t row = ad_recipe_row(r), blocks = blocks_of(r);
    int64_t first = block * r->inner * r->inner_step;
    enum adaps_status status = r->row_step != row * blocks ? read_strips(r, first, r0, r1, to, err)
                               : blocks > 1                ? read_parts(r, first, r0, r1, to, err)
                                                           : read_rows(r, r0, r1, to, err);
    for (int64_t o = r0; o < r1 && r->scale && status == ADAPS_OK; o++, to += row)
        for (int64_t i = 0; i < row; i++)
            to[i] = (float)((double)to[i] * r->scale[o]);
    return status;
}

enum adaps_status ad_recipe_read(const struct ad_recipe *r, int64_t r0, int64_t r1, float *to,
                                 struct adaps_error *err)
{
    int64_t rows = r->rows / blocks_of(r); /* of a block */
    enum adaps_status status = ADAPS_OK;
    while (r0 < r1 && status == ADAPS_OK) {
        int64_t block = r0 / rows, end = (block + 1) * rows < r1 ? (block + 1) * rows : r1;
        status = read_block(r, block, r0 - block * rows, end - block * rows, to, err);
        to += (end - r0) * ad_recipe_row(r);
        r0 = end;
    }
    if (status == ADAPS_OK && !r->numbers)
        status = ad_onnx_file_check(r->stored.file, err);
    return status;
}

/* --- weights --- */

int64_t ad_weight_rows_at_a_time(const struct ad_weight *weight)
{
    int64_t rows = AD_WEIGHT_BYTES / (int64_t)sizeof(float) / weight->row_elements;
    return rows < 1 ? 1 : rows;
}

enum adaps_status ad_weight_read(const struct ad_weight *weight, int64_t r0, int64_t r1, float *to,
                                 struct adaps_error *err)
{
    if (weight->recipe)
        return ad_recipe_read(weight->recipe, r0, r1, to, err);
    if (!weight->data)
        return ad_error_set(err, ADAPS_EINTERNAL, "weight '%s' is not attached", weight->name);
    memcpy(to, weight->data + r0 * weight->row_elements,
           (size_t)((r1 - r0) * weight->row_elements) * sizeof *to);
    return ADAPS_OK;
}

enum adaps_status ad_weight_digest(const struct ad_weight *weight, int64_t r0, int64_t r1,
                                   struct ad_digest *out, struct adaps_error *err)
{
    struct ad_digester digester;
    size_t row = (size_t)weight->row_elements * sizeof(float);
    enum adaps_status status = ADAPS_OK;
    if (weight->data) {
        *out = ad_digest_of(weight->data + r0 * weight->row_elements, (size_t)(r1 - r0) * row);
        return ADAPS_OK;
    }
    /* half of the limit: the next digest's buffer need not fit where this one was */
    int64_t step = (ad_weight_rows_at_a_time(weight) + 1) / 2;
    step = step < r1 - r0 ? step : r1 - r0;
    float *rows = ad_alloc_aligned((size_t)step * row);
    if (!rows)
        return ad_error_memory(err, weight->name, (size_t)step * row);
    ad_digester_init(&digester);
    for (int64_t r = r0; r < r1 && status == ADAPS_OK; r += step) {
        int64_t end = step < r1 - r ? r + step : r1;
        status = ad_weight_read(weight, r, end, rows, err);
        if (status == ADAPS_OK)
            ad_digester_add(&digester, rows, (size_t)(end - r) * row);
    }
    ad_free(rows);
    *out = ad_digester_end(&digester);
    return status;
}

bool ad_weight_attached(const struct ad_weight *weight)
{
    return weight->data || weight->recipe;
}

bool ad_weights_attached(const struct ad_graph *graph)
{
    for (int i = 0; i < graph->nweights; i++)
        if (!ad_weight_attached(&graph->weights[i]))
            return false;
    return true;
}

void ad_weight_move(struct ad_weight *from, struct ad_weight *to)
{
    ad_free(to->data);
    ad_recipe_free(to->recipe);
    to->data = from->data;
    to->recipe = from->recipe;
    from->data = NULL;
    from->recipe = NULL;
}

void ad_graph_drop_weights(struct ad_graph *graph)
{
    struct ad_weight none = {0};
    for (int i = 0; i < graph->nweights; i++)
        ad_weight_move(&none, &graph->weights[i]);
}
