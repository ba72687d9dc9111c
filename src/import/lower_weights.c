/* Parameters in the order in which the graph's operators read them. */
#include "base/convert.h"
#include "import/lower_internal.h"

#include <string.h>

/* One without numbers. */
static int add_weight(struct ad_draft_lowering *l, const char *name, int64_t rows,
                      int64_t row_elements)
{
    char *copy = ad_arena_strdup(&l->graph->arena, name);
    if (!copy || !ad_grow(&l->weights, l->nweights, &l->weights_capacity, sizeof *l->weights)) {
        ad_error_memory(l->err, name, sizeof *l->weights);
        return -1;
    }
    l->weights[l->nweights] =
        (struct ad_weight){.name = copy, .rows = rows, .row_elements = row_elements};
    return (int)l->nweights++;
}

int ad_lower_weight(struct ad_draft_lowering *l, const char *name, int64_t rows,
                    int64_t row_elements, float **data)
{
    size_t bytes;
    if (!ad_size_mul((size_t)rows, (size_t)row_elements, &bytes) ||
        !ad_size_mul(bytes, sizeof(float), &bytes))
        bytes = SIZE_MAX;
    int w = add_weight(l, name, rows, row_elements);
    if (w < 0)
        return -1;
    *data = l->weights[w].data = ad_alloc_aligned(bytes);
    if (!*data) {
        ad_error_memory(l->err, name, bytes);
        return -1;
    }
    return w;
}

static const float *floats_of(struct ad_draft_lowering *l, int value)
{
    const struct ad_onnx_tensor *t;
    return ad_draft_tensor(l->draft, value, &t, l->err) == ADAPS_OK ? t->f : NULL;
}

/* A weight made of a constant of the draft: at once when that is in memory, else when it is first
 * read. */
static int lower_recipe(struct ad_draft_lowering *l, const struct ad_draft_op *op,
                        struct ad_recipe *recipe)
{
    int value = op->weight;
    const struct ad_draft_value *v = &l->draft->values[value];
    const struct ad_const *k = v->constant;
    if (ad_lower_is_quantised(l, op))
        return ad_lower_quantised_weight(l, op, recipe);
    bool stored = k->proto && ad_onnx_tensor_stored(l->draft->model, k->proto, &recipe->stored);
    float *to;
    if (stored && !k->tensor.f) {
        int w = add_weight(l, v->name, recipe->rows, ad_recipe_row(recipe));
        if (w >= 0 && !(l->weights[w].recipe = ad_recipe_copy(recipe))) {
            ad_error_memory(l->err, v->name, sizeof *recipe);
            return -1;
        }
        return w;
    }
    recipe->numbers = floats_of(l, value);
    int w = recipe->numbers ? ad_lower_weight(l, v->name, recipe->rows, ad_recipe_row(recipe), &to)
                            : -1;
    if (w >= 0 && ad_recipe_read(recipe, 0, recipe->rows, to, l->err) != ADAPS_OK)
        return -1;
    return w;
}

int ad_lower_filters(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    const struct ad_draft_value *v = &l->draft->values[op->weight];
    if (op->weight_transposed) /* a matrix */
        return ad_lower_matrix(l, op, v->dims[0], 1, 1);
    int64_t channels = v->dims[1], depth = v->rank == 5 ? v->dims[2] : 1;
    int64_t taps = v->dims[v->rank - 2] * v->dims[v->rank - 1];
    struct ad_recipe recipe = {.rows = op->rows,
                               .outer = taps,
                               .middle = depth,
                               .inner = channels,
                               .row_step = taps * depth * channels,
                               .outer_step = 1,
                               .middle_step = taps,
                               .inner_step = taps * depth,
                               .scale = op->scale};
    return lower_recipe(l, op, &recipe);
}

/* Of the filters of a CONV_TRANSPOSE, the tap at place `at` of so many that stand `d` apart; -1
 * where there is none. */
static int64_t tap_at(int64_t at, int64_t d, int64_t count)
{
    return at % d == 0 && at / d < count ? at / d : -1;
}

/* Which numbers of the filters, those of one output and one place (depth p, row r, column q of its
 * block). */
static void find_taps(const struct ad_draft_op *op, const struct ad_draft_value *v, int64_t o,
                      const int64_t place[3], const struct ad_block_taps *t, int64_t *at)
{
    const struct ad_window *w = &op->window;
    bool deep = v->rank == 5;
    int64_t kd = deep ? v->dims[2] : 1, kh = v->dims[v->rank - 2], kw = v->dims[v->rank - 1];
    int64_t per_group = v->dims[1], channels = v->dims[0] / op->groups;
    int64_t first = o / per_group * channels, volume = kd * kh * kw;
    for (int64_t i = 0; i < t->h; i++)
        for (int64_t k = 0; k < t->w; k++)
            for (int64_t m = 0; m < t->d; m++) {
                int64_t y = tap_at(w->sh * (t->h - 1 - i) + place[1], w->dh, kh);
                int64_t x = tap_at(w->sw * (t->w - 1 - k) + place[2], w->dw, kw);
                int64_t z =
                    deep ? tap_at(op->depth.s * (t->d - 1 - m) + place[0], op->depth.d, kd) : 0;
                bool there = x >= 0 && y >= 0 && z >= 0;
                for (int64_t c = 0; c < channels; c++)
                    *at++ = there ? ((first + c) * per_group + o % per_group) * volume +
                                        (z * kh + y) * kw + x
                                  : -1;
            }
}

int64_t ad_lower_places(const struct ad_draft_op *op)
{
    return (int64_t)op->window.sh * op->window.sw * (op->depth.k ? op->depth.s : 1);
}

int64_t ad_lower_block_row(const struct ad_draft_lowering *l, const struct ad_draft_op *op,
                           const struct ad_block_taps *taps)
{
    return taps->h * taps->w * taps->d * (l->draft->values[op->weight].dims[0] / op->groups);
}

int64_t ad_lower_block_taps(const struct ad_draft_lowering *l, const struct ad_draft_op *op,
                            const struct ad_block_taps *taps, bool major, int64_t row, int64_t *at)
{
    int64_t sd = op->depth.k ? op->depth.s : 1, sw = op->window.sw, places = ad_lower_places(op);
    int64_t map = places / sd; /* places of a depth */
    int64_t o = major ? row / places : row % op->rows, k = row / op->rows;
    if (major) /* by output, depth, pixel */
        k = row % places % map * sd + row % places / map;
    const int64_t place[3] = {k % sd, k / sd / sw, k / sd % sw};
    find_taps(op, &l->draft->values[op->weight], o, place, taps, at);
    return o;
}

int ad_lower_transposed(struct ad_draft_lowering *l, const struct ad_draft_op *op,
                        const struct ad_block_taps *taps, bool major)
{
    const char *name = l->draft->values[op->weight].name;
    if (ad_lower_is_quantised(l, op))
        return ad_lower_quantised_blocks(l, op, taps, major);
    int64_t rows = op->rows * ad_lower_places(op), elements = ad_lower_block_row(l, op, taps);
    int64_t *at = ad_arena_alloc(&l->draft->arena, (size_t)elements, sizeof *at);
    const float *from = floats_of(l, op->weight);
    float *to;
    if (!at) {
        ad_error_memory(l->err, name, (size_t)elements * sizeof *at);
        return -1;
    }
    int weight = from ? ad_lower_weight(l, name, rows, elements, &to) : -1;
    for (int64_t i = 0; i < rows && weight >= 0; i++) {
        int64_t o = ad_lower_block_taps(l, op, taps, major, i, at);
        double scale = op->scale ? op->scale[o] : 1;
        for (int64_t k = 0; k < elements; k++)
            *to++ = at[k] < 0 ? 0 : (float)(scale * (double)from[at[k]]);
    }
    return weight;
}

int ad_lower_repeated(struct ad_draft_lowering *l, const struct ad_draft_op *op, int64_t places,
                      bool major)
{
    float *to;
    int weight = ad_lower_weight(l, op->name, op->rows * places, 1, &to);
    for (int64_t i = 0; i < op->rows * places && weight >= 0; i++)
        to[i] = (float)op->bias[major ? i / places : i % op->rows];
    return weight;
}

int ad_lower_matrix(struct ad_draft_lowering *l, const struct ad_draft_op *op, int64_t c, int64_t d,
                    int64_t hw)
{
    int64_t step = op->weight_transposed ? op->rows : 1;
    struct ad_recipe recipe = {.rows = op->rows,
                               .outer = hw,
                               .middle = d,
                               .inner = c,
                               .row_step = op->weight_transposed ? 1 : c * d * hw,
                               .outer_step = step,
                               .middle_step = step * hw,
                               .inner_step = step * d * hw,
                               .scale = op->scale};
    return lower_recipe(l, op, &recipe);
}

int ad_lower_rows(struct ad_draft_lowering *l, const char *name, const char *suffix, int64_t rows,
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

/* Integers and booleans as their type has them, up to a whole word. */
static int lower_integers(struct ad_draft_lowering *l, const struct ad_draft_value *v,
                          const int64_t *from)
{
    struct ad_value as = {.type = v->type, .rank = v->rank, .format = AD_PLAIN};
    memcpy(as.dims, v->dims, sizeof as.dims);
    struct ad_box box = ad_box_of(&as);
    float *to;
    int w = ad_lower_weight(l, v->name, 1, ad_box_elements(box), &to);
    if (w < 0)
        return -1;
    memset(to, 0, (size_t)ad_box_elements(box) * sizeof *to);
    size_t good = ad_convert(ADAPS_INT64, from, v->type, to, (size_t)v->elements);
    if (good == (size_t)v->elements)
        return w;
    ad_error_set(l->err, ADAPS_EINPUT, "%s: constant '%s': element %zu, %jd, is no %s",
                 l->draft->model->path, v->name, good, (intmax_t)from[good], ad_type_name(v->type));
    return -1;
}

int ad_lower_constant(struct ad_draft_lowering *l, int value, int rank, enum ad_format format)
{
    const struct ad_draft_value *v = &l->draft->values[value];
    const struct ad_onnx_tensor *tensor;
    if (v->scale > 0)
        return ad_lower_quantised_constant(l, value, rank, format);
    if (v->type != ADAPS_FLOAT32) { /* decoded they are up to eight times as large */
        bool is = ad_draft_tensor(l->draft, value, &tensor, l->err) == ADAPS_OK;
        int integers = is ? lower_integers(l, v, tensor->i) : -1;
        ad_draft_drop(l->draft, value);
        return integers;
    }
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

int ad_lower_stretched(struct ad_draft_lowering *l, int value, const int64_t dims[5])
{
    const struct ad_draft_value *v = &l->draft->values[value];
    const float *from = floats_of(l, value);
    int64_t step[5] = {0}, size = 1;
    float *to;
    for (int i = v->rank - 1; i >= 0; i--) {
        step[i + 5 - v->rank] = v->dims[i] == 1 ? 0 : size;
        size *= v->dims[i];
    }
    int w =
        from ? ad_lower_weight(l, v->name, 1, dims[0] * dims[1] * dims[2] * dims[3] * dims[4], &to)
             : -1;
    for (int64_t n = 0; n < dims[0] && w >= 0; n++)
        for (int64_t y = 0; y < dims[3]; y++)
            for (int64_t x = 0; x < dims[4]; x++)
                for (int64_t k = 0; k < dims[2]; k++)
                    for (int64_t c = 0; c < dims[1]; c++)
                        *to++ = from[n * step[0] + c * step[1] + k * step[2] + y * step[3] +
                                     x * step[4]];
    return w;
}
