/* What integers that a run computes from shapes can be at most: so large are the buffers of values
 * that take their shape from them. Interval arithmetic, element by element. */
#include "import/internal.h"

#include <string.h>

#define MOST_ELEMENTS 64 /* shapes are short */

static struct ad_bound *new_bounds(struct ad_draft *draft, int64_t count)
{
    return ad_arena_alloc(&draft->arena, (size_t)count + 1, sizeof(struct ad_bound));
}

/* Of a constant, each is what it is. */
static const struct ad_bound *of_constant(struct ad_draft *draft, int value)
{
    const struct ad_onnx_tensor *t;
    int64_t count = draft->values[value].elements;
    if (ad_draft_tensor(draft, value, &t, NULL) != ADAPS_OK || t->is_float ||
        t->count != (size_t)count)
        return NULL;
    struct ad_bound *bounds = new_bounds(draft, count);
    for (int64_t i = 0; bounds && i < count; i++)
        bounds[i] = (struct ad_bound){t->i[i], t->i[i]};
    return bounds;
}

const struct ad_bound *ad_draft_bounds(struct ad_draft *draft, int value)
{
    struct ad_draft_value *v = &draft->values[value];
    if (!v->bounds && v->constant && v->elements <= MOST_ELEMENTS)
        v->bounds = of_constant(draft, value);
    return v->bounds;
}

/* --- the same elements elsewhere --- */

static int64_t place_of(const struct ad_draft_value *v, const int64_t *index)
{
    int64_t at = 0;
    for (int d = 0; d < v->rank; d++)
        at = at * v->dims[d] + index[d];
    return at;
}

/* The element of a value that is broadcast, for the one at `index` of a result of this rank. */
static int64_t place_beside(const struct ad_draft_value *v, int rank, const int64_t *index)
{
    int64_t of_v[AD_MAX_RANK];
    for (int d = 0; d < v->rank; d++)
        of_v[d] = v->dims[d] == 1 ? 0 : index[rank - v->rank + d];
    return place_of(v, of_v);
}

/* Element `index` of a GATHER, by its constant indices; -1: they are not known, or outside. */
static int64_t gathered(struct ad_draft *d, const struct ad_draft_op *op, const int64_t *index)
{
    const struct ad_draft_value *x = &d->values[op->inputs[0]], *by = &d->values[op->inputs[1]];
    const struct ad_bound *bounds = ad_draft_bounds(d, op->inputs[1]);
    int64_t of_x[AD_MAX_RANK] = {0};
    int axis = (int)op->whole.ints[0];
    if (!bounds)
        return -1;
    const struct ad_bound *one = &bounds[place_of(by, index + axis)];
    int64_t at = one->least + (one->least < 0 ? x->dims[axis] : 0);
    if (one->least != one->most || at < 0 || at >= x->dims[axis])
        return -1;
    for (int k = 0; k < x->rank; k++)
        of_x[k] = k < axis ? index[k] : k == axis ? at : index[k + by->rank - 1];
    return place_of(x, of_x);
}

/* The element of *input that stands at `index` of the result, number i of it; -1: not known. */
static int64_t source_of(struct ad_draft *d, const struct ad_draft_op *op, int64_t i,
                         const int64_t *index, int *input)
{
    const struct ad_draft_value *x = &d->values[op->inputs[0]];
    const int64_t *ints = op->whole.ints;
    int64_t at[AD_MAX_RANK], count;
    memcpy(at, index, sizeof at);
    switch (op->whole.kind) {
    case AD_WHOLE_CONCAT:
        for (; at[ints[0]] >= d->values[op->inputs[*input]].dims[ints[0]]; ++*input)
            at[ints[0]] -= d->values[op->inputs[*input]].dims[ints[0]];
        return place_of(&d->values[op->inputs[*input]], at);
    case AD_WHOLE_SLICE:
        for (int k = 0, n = op->whole.nints / 4; k < n; k++) {
            ad_whole_slice(&op->whole, k, x->dims[ints[k]], &at[ints[k]], &count);
            at[ints[k]] += index[ints[k]] * ints[3 * n + k];
        }
        return place_of(x, at);
    case AD_WHOLE_TRANSPOSE:
        for (int k = 0; k < x->rank; k++)
            at[ints[k]] = index[k];
        return place_of(x, at);
    case AD_WHOLE_GATHER:
        return gathered(d, op, index);
    case AD_WHOLE_EXPAND:
        return place_beside(x, d->values[op->output].rank, index);
    default: /* another shape, or another type */
        return i;
    }
}

/* --- arithmetic; false: beyond 64 bits, or not known --- */

static bool product(const struct ad_bound *a, const struct ad_bound *b, struct ad_bound *out)
{
    int64_t p[4];
    if (__builtin_mul_overflow(a->least, b->least, &p[0]) ||
        __builtin_mul_overflow(a->least, b->most, &p[1]) ||
        __builtin_mul_overflow(a->most, b->least, &p[2]) ||
        __builtin_mul_overflow(a->most, b->most, &p[3]))
        return false;
    *out = (struct ad_bound){p[0], p[0]};
    for (int i = 1; i < 4; i++) {
        out->least = p[i] < out->least ? p[i] : out->least;
        out->most = p[i] > out->most ? p[i] : out->most;
    }
    return true;
}

/* Towards 0, by numbers above 0. */
static bool quotient(const struct ad_bound *a, const struct ad_bound *b, struct ad_bound *out)
{
    if (b->least <= 0)
        return false;
    out->least = a->least / (a->least < 0 ? b->least : b->most);
    out->most = a->most / (a->most < 0 ? b->most : b->least);
    return true;
}

static struct ad_bound equal(const struct ad_bound *a, const struct ad_bound *b)
{
    bool never = a->most < b->least || b->most < a->least;
    bool always = a->least == a->most && b->least == b->most && a->least == b->least;
    return (struct ad_bound){always, !never};
}

static bool arithmetic(enum ad_whole_kind kind, const struct ad_bound *const *in,
                       struct ad_bound *out)
{
    const struct ad_bound *a = in[0], *b = in[1], *c = in[2];
    switch (kind) {
    case AD_WHOLE_ADD:
        return !__builtin_add_overflow(a->least, b->least, &out->least) &&
               !__builtin_add_overflow(a->most, b->most, &out->most);
    case AD_WHOLE_SUB:
        return !__builtin_sub_overflow(a->least, b->most, &out->least) &&
               !__builtin_sub_overflow(a->most, b->least, &out->most);
    case AD_WHOLE_MUL:
        return product(a, b, out);
    case AD_WHOLE_DIV:
        return quotient(a, b, out);
    case AD_WHOLE_MIN:
        out->least = a->least < b->least ? a->least : b->least;
        out->most = a->most < b->most ? a->most : b->most;
        return true;
    case AD_WHOLE_MAX:
        out->least = a->least > b->least ? a->least : b->least;
        out->most = a->most > b->most ? a->most : b->most;
        return true;
    case AD_WHOLE_EQUAL:
        *out = equal(a, b);
        return true;
    default: /* WHERE */
        out->least = a->least == 1 || (a->most == 1 && b->least < c->least) ? b->least : c->least;
        out->most = a->least == 1 || (a->most == 1 && b->most > c->most) ? b->most : c->most;
        return true;
    }
}

/* --- by operator --- */

enum form { UNKNOWN, MOVEMENT, ARITHMETIC };

static enum form form_of(const struct ad_whole *op, int ninputs)
{
    switch (op->kind) {
    case AD_WHOLE_CAST:
        return op->to == ADAPS_INT64 || op->to == ADAPS_INT32 ? MOVEMENT : UNKNOWN;
    case AD_WHOLE_RESHAPE:
    case AD_WHOLE_SLICE:
    case AD_WHOLE_EXPAND:
        return ninputs == 1 ? MOVEMENT : UNKNOWN;
    case AD_WHOLE_UNSQUEEZE:
    case AD_WHOLE_SQUEEZE:
    case AD_WHOLE_FLATTEN:
    case AD_WHOLE_TRANSPOSE:
    case AD_WHOLE_CONCAT:
    case AD_WHOLE_GATHER:
        return MOVEMENT;
    case AD_WHOLE_MIN:
    case AD_WHOLE_MAX:
        return ninputs == 2 ? ARITHMETIC : UNKNOWN;
    case AD_WHOLE_ADD:
    case AD_WHOLE_SUB:
    case AD_WHOLE_MUL:
    case AD_WHOLE_DIV:
    case AD_WHOLE_EQUAL:
    case AD_WHOLE_WHERE:
        return ARITHMETIC;
    default:
        return UNKNOWN;
    }
}

/* Whether the type has all of them: else they wrap around. */
static bool within(const struct ad_bound *b, enum adaps_type type)
{
    return type != ADAPS_INT32 || (b->least >= INT32_MIN && b->most <= INT32_MAX);
}

static bool find(struct ad_draft *d, const struct ad_draft_op *op, enum form form,
                 struct ad_bound *out)
{
    const struct ad_draft_value *result = &d->values[op->output];
    int64_t index[AD_MAX_RANK] = {0};
    for (int64_t i = 0; i < result->elements; i++) {
        int64_t left = i;
        for (int k = result->rank - 1; k >= 0; left /= result->dims[k--])
            index[k] = left % result->dims[k];
        if (form == MOVEMENT) {
            int input = 0;
            int64_t from = source_of(d, op, i, index, &input);
            if (from < 0)
                return false;
            out[i] = d->values[op->inputs[input]].bounds[from];
        } else {
            const struct ad_bound *in[3] = {NULL};
            for (int k = 0; k < op->ninputs; k++) {
                const struct ad_draft_value *v = &d->values[op->inputs[k]];
                in[k] = &v->bounds[place_beside(v, result->rank, index)];
            }
            if (!arithmetic(op->whole.kind, in, &out[i]))
                return false;
        }
        if (!within(&out[i], result->type))
            return false;
    }
    return true;
}

/* Of a value's own dims, of which those of an open one may be less. */
static void figures(const struct ad_draft *d, const struct ad_draft_op *op, struct ad_bound *out)
{
    const struct ad_draft_value *x = &d->values[op->inputs[0]];
    bool shape = op->whole.kind == AD_WHOLE_SHAPE;
    int64_t count = shape ? d->values[op->output].elements : 1;
    for (int64_t i = 0; i < count; i++) {
        int64_t most = shape ? x->dims[op->whole.ints[0] + i] : x->elements;
        out[i] = (struct ad_bound){x->open ? 0 : most, most};
    }
}

enum adaps_status ad_draft_find_bounds(struct ad_draft *d, const struct ad_draft_op *op,
                                       struct adaps_error *err)
{
    struct ad_draft_value *result = &d->values[op->output];
    bool is_figure = op->whole.kind == AD_WHOLE_SHAPE || op->whole.kind == AD_WHOLE_SIZE;
    enum form form = form_of(&op->whole, op->ninputs);
    if (result->open || result->elements > MOST_ELEMENTS || (!is_figure && form == UNKNOWN) ||
        (result->type != ADAPS_INT64 && result->type != ADAPS_INT32 && result->type != ADAPS_BOOL))
        return ADAPS_OK;
    for (int k = 0; k < op->ninputs && !is_figure; k++)
        if (d->values[op->inputs[k]].open || !ad_draft_bounds(d, op->inputs[k]))
            return ADAPS_OK;
    struct ad_bound *bounds = new_bounds(d, result->elements);
    if (!bounds)
        return ad_error_memory(err, "bounds", (size_t)result->elements * sizeof *bounds);
    if (is_figure)
        figures(d, op, bounds);
    else if (!find(d, op, form, bounds))
        return ADAPS_OK;
    result->bounds = bounds;
    return ADAPS_OK;
}
