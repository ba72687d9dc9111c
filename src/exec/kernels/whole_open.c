/* Operators that run whole: whose results have a length that the data say. */
#include "exec/kernels/whole_internal.h"

#include <stdlib.h>

/* Whether element i differs from 0; NaN does. */
static bool is_set(const struct ad_array *x, int64_t i)
{
    switch (x->type) {
    case ADAPS_FLOAT32:
        return ((const float *)x->data)[i] != 0;
    case ADAPS_INT32:
        return ((const int32_t *)x->data)[i] != 0;
    case ADAPS_INT64:
        return ((const int64_t *)x->data)[i] != 0;
    case ADAPS_UINT8:
    case ADAPS_INT8:
    case ADAPS_BOOL:
        break;
    }
    return ((const uint8_t *)x->data)[i] != 0;
}

static int64_t count_set(const struct ad_array *x, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += is_set(x, i);
    return count;
}

enum adaps_status ad_whole_run_non_zero(const struct ad_whole_call *call)
{
    const struct ad_array *x = &call->in[0];
    int64_t n = ad_array_elements(x), count = count_set(x, n), found = 0;
    int64_t index[AD_MAX_RANK] = {0}, *out = call->out->data;
    enum adaps_status status = ad_whole_set_length(call, 1, count);
    if (status != ADAPS_OK)
        return status;
    int64_t row = x->rank > 0 ? x->dims[x->rank - 1] : 1;
    for (int64_t first = 0; first < n && found < count; first += row) {
        for (int64_t i = 0; i < row; i++)
            if (is_set(x, first + i)) {
                for (int d = 0; d < x->rank; d++)
                    out[d * count + found] = d == x->rank - 1 ? i : index[d];
                found++;
            }
        for (int d = x->rank - 2; d >= 0 && ++index[d] == x->dims[d]; d--)
            index[d] = 0;
    }
    return ADAPS_OK;
}

enum adaps_status ad_whole_run_compress(const struct ad_whole_call *call)
{
    const struct ad_array *x = &call->in[0], *condition = &call->in[1];
    int axis = (int)call->op->ints[0];
    struct ad_around a = {1, ad_array_elements(x), 1};
    if (axis >= 0)
        a = ad_around_axis(x, axis);
    int64_t n = condition->dims[0] < a.n ? condition->dims[0] : a.n;
    int64_t run = a.inner * (int64_t)ad_type_bytes(x->type);
    enum adaps_status status =
        ad_whole_set_length(call, axis < 0 ? 0 : axis, count_set(condition, n));
    if (status != ADAPS_OK || ad_array_elements(call->out) == 0)
        return status;
    char *to = call->out->data;
    for (int64_t o = 0; o < a.outer; o++)
        for (int64_t k = 0; k < n; k++)
            if (is_set(condition, k)) {
                memcpy(to, (const char *)x->data + (o * a.n + k) * run, (size_t)run);
                to += run;
            }
    return ADAPS_OK;
}

static int64_t integer_of(const struct ad_array *number)
{
    return number->type == ADAPS_INT32 ? *(const int32_t *)number->data
                                       : *(const int64_t *)number->data;
}

/* How many numbers from start to the limit, of those apart by delta. */
static int64_t range_length(int64_t start, int64_t limit, int64_t delta)
{
    uint64_t span = (uint64_t)(delta > 0 ? limit : start) - (uint64_t)(delta > 0 ? start : limit);
    uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    if (delta > 0 ? limit <= start : limit >= start)
        return 0;
    uint64_t length = (span - 1) / step + 1;
    return length < INT64_MAX ? (int64_t)length : INT64_MAX;
}

enum adaps_status ad_whole_run_range(const struct ad_whole_call *call)
{
    int64_t start = integer_of(&call->in[0]), limit = integer_of(&call->in[1]);
    int64_t delta = integer_of(&call->in[2]);
    if (delta == 0)
        return ad_error_set(call->err, ADAPS_EINPUT, "a range in steps of 0");
    int64_t length = range_length(start, limit, delta);
    if (length > call->op->ints[0])
        return ad_error_set(call->err, ADAPS_EINPUT, "a range of %lld numbers, of at most %lld",
                            (long long)length, (long long)call->op->ints[0]);
    enum adaps_status status = ad_whole_set_length(call, 0, length);
    for (int64_t i = 0; i < length && status == ADAPS_OK; i++) {
        uint64_t number = (uint64_t)start + (uint64_t)i * (uint64_t)delta;
        if (call->out->type == ADAPS_INT32)
            ((int32_t *)call->out->data)[i] = (int32_t)number;
        else
            ((int64_t *)call->out->data)[i] = (int64_t)number;
    }
    return status;
}

/* --- unique --- */

enum { VALUES, FIRST_INDICES, INVERSE, COUNTS };

/* Elements, or slices along an axis, in groups of equal ones. */
struct groups {
    const struct ad_array *x;
    struct ad_around a;      /* of one axis: `n` slices */
    struct ad_ranked *order; /* all: sorted, equal ones by index; equal keys are equal elements */
    struct ad_ranked *group; /* of each group: what it is sorted by, and where it begins in order */
    int64_t count;
};

static int compare_slices(const struct groups *g, int64_t i, int64_t k)
{
    for (int64_t o = 0; o < g->a.outer; o++)
        for (int64_t e = 0; e < g->a.inner; e++) {
            uint64_t a = ad_rank_key(g->x, (o * g->a.n + i) * g->a.inner + e);
            uint64_t b = ad_rank_key(g->x, (o * g->a.n + k) * g->a.inner + e);
            if (a != b)
                return a < b ? -1 : 1;
        }
    return 0;
}

static int by_slice(const void *a, const void *b, void *self)
{
    const struct ad_ranked *x = a, *y = b;
    int order = compare_slices(self, x->index, y->index);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

static void sort_elements(struct groups *g)
{
    for (int64_t i = 0; i < g->a.n; i++)
        g->order[i] = (struct ad_ranked){ad_rank_key(g->x, i), i};
    ad_heap_make(g->order, g->a.n, false);
    ad_heap_sort(g->order, g->a.n);
}

static void sort_slices(struct groups *g)
{
    for (int64_t i = 0; i < g->a.n; i++)
        g->order[i] = (struct ad_ranked){0, i};
    qsort_r(g->order, (size_t)g->a.n, sizeof *g->order, by_slice, g);
    for (int64_t i = 1; i < g->a.n; i++)
        g->order[i].key = g->order[i - 1].key +
                          (compare_slices(g, g->order[i - 1].index, g->order[i].index) != 0);
}

static void find_groups(struct groups *g, bool sorted)
{
    for (int64_t i = 0; i < g->a.n; i++)
        if (i == 0 || g->order[i].key != g->order[i - 1].key)
            g->group[g->count++] = (struct ad_ranked){0, i};
    for (int64_t k = 0; k < g->count; k++) /* by value, or as they come */
        g->group[k].key = (uint64_t)(sorted ? k : g->order[g->group[k].index].index);
    ad_heap_make(g->group, g->count, false);
    ad_heap_sort(g->group, g->count);
}

/* Slice `from` of the input becomes slice `to` of as many as there are groups. */
static void copy_slice(const struct groups *g, int64_t from, int64_t to, void *out)
{
    int64_t run = g->a.inner * (int64_t)ad_type_bytes(g->x->type);
    for (int64_t o = 0; o < g->a.outer && run > 0; o++)
        memcpy((char *)out + (o * g->count + to) * run,
               (const char *)g->x->data + (o * g->a.n + from) * run, (size_t)run);
}

static void write_groups(const struct groups *g, int64_t what, void *out)
{
    int64_t *numbers = out;
    for (int64_t k = 0; k < g->count; k++) {
        int64_t begin = g->group[k].index, end = begin + 1, first = g->order[begin].index;
        while (end < g->a.n && g->order[end].key == g->order[begin].key)
            end++;
        for (int64_t i = begin; i < end && what == INVERSE; i++)
            numbers[g->order[i].index] = k;
        if (what == VALUES)
            copy_slice(g, first, k, out);
        else if (what != INVERSE)
            numbers[k] = what == FIRST_INDICES ? first : end - begin;
    }
}

enum adaps_status ad_whole_run_unique(const struct ad_whole_call *call)
{
    const struct ad_array *x = &call->in[0];
    int64_t what = call->op->ints[0];
    int axis = call->op->nints > 2 ? (int)call->op->ints[2] : -1;
    struct groups g = {.x = x, .a = {1, ad_array_elements(x), 1}};
    if (axis >= 0)
        g.a = ad_around_axis(x, axis);
    struct ad_ranked *room = ad_calloc(2 * (size_t)g.a.n, sizeof *room);
    if (!room)
        return ad_error_memory(call->err, "unique elements", 2 * (size_t)g.a.n * sizeof *room);
    g.order = room;
    g.group = room + g.a.n;
    if (axis >= 0)
        sort_slices(&g);
    else
        sort_elements(&g);
    find_groups(&g, call->op->ints[1]);
    int d = axis >= 0 && what == VALUES ? axis : 0;
    enum adaps_status status = ad_whole_set_length(call, d, what == INVERSE ? g.a.n : g.count);
    if (status == ADAPS_OK)
        write_groups(&g, what, call->out->data);
    ad_free(room);
    return status;
}
