/* One definition after the other, of every kind of operator that runs whole: hence the length of
 * the file. */
#include "support/naive_whole.h"
#include "ir/graph.h"

#include <math.h>
#include <string.h>

/* A number of any type. */
struct number {
    bool is_float;
    float f;
    int64_t i;
};

static struct number get(const struct ad_array *a, int64_t at)
{
    switch (a->type) {
    case ADAPS_FLOAT32:
        return (struct number){true, ((const float *)a->data)[at], 0};
    case ADAPS_INT32:
        return (struct number){.i = ((const int32_t *)a->data)[at]};
    case ADAPS_INT64:
        return (struct number){.i = ((const int64_t *)a->data)[at]};
    case ADAPS_INT8:
        return (struct number){.i = ((const int8_t *)a->data)[at]};
    default:
        return (struct number){.i = ((const uint8_t *)a->data)[at]};
    }
}

static void put(struct ad_array *a, int64_t at, struct number x)
{
    switch (a->type) {
    case ADAPS_FLOAT32:
        ((float *)a->data)[at] = isnan(x.f) ? NAN : x.f;
        break;
    case ADAPS_INT32:
        ((int32_t *)a->data)[at] = (int32_t)x.i;
        break;
    case ADAPS_INT64:
        ((int64_t *)a->data)[at] = x.i;
        break;
    default:
        ((uint8_t *)a->data)[at] = (uint8_t)x.i;
    }
}

static void copy(struct ad_array *out, int64_t to, const struct ad_array *in, int64_t from)
{
    size_t size = ad_type_bytes(out->type);
    memcpy((char *)out->data + (size_t)to * size, (const char *)in->data + (size_t)from * size,
           size);
}

static struct number integer(int64_t i)
{
    return (struct number){.i = i};
}

static struct number real(float f)
{
    return (struct number){true, f, 0};
}

/* Where an element stands, and back. */
static void indices_of(const struct ad_array *a, int64_t at, int64_t *index)
{
    for (int d = a->rank - 1; d >= 0; d--) {
        index[d] = a->dims[d] > 0 ? at % a->dims[d] : 0;
        at /= a->dims[d] > 0 ? a->dims[d] : 1;
    }
}

static int64_t place_of(const struct ad_array *a, const int64_t *index)
{
    int64_t at = 0;
    for (int d = 0; d < a->rank; d++)
        at = at * a->dims[d] + index[d];
    return at;
}

/* The element of an operand that is broadcast to the one at `index` of the result. */
static int64_t place_beside(const struct ad_array *a, const struct ad_array *out,
                            const int64_t *index)
{
    int64_t of_a[AD_MAX_RANK];
    for (int d = 0; d < a->rank; d++)
        of_a[d] = a->dims[d] == 1 ? 0 : index[out->rank - a->rank + d];
    return place_of(a, of_a);
}

/* --- arithmetic --- */

static int compare(struct number a, struct number b) /* 2: not at all */
{
    if (a.is_float)
        return a.f < b.f ? -1 : a.f > b.f ? 1 : a.f == b.f ? 0 : 2;
    return a.i < b.i ? -1 : a.i > b.i;
}

static struct number add(struct number a, struct number b)
{
    return a.is_float ? real(a.f + b.f) : integer((int64_t)((uint64_t)a.i + (uint64_t)b.i));
}

static struct number multiply(struct number a, struct number b)
{
    return a.is_float ? real(a.f * b.f) : integer((int64_t)((uint64_t)a.i * (uint64_t)b.i));
}

static struct number extreme(struct number a, struct number b, int wanted)
{
    int order = compare(a, b);
    return order == 2 ? real(NAN) : order == -wanted ? b : a;
}

static struct number minus(struct number a)
{
    return a.is_float ? real(-a.f) : integer((int64_t)(0 - (uint64_t)a.i));
}

static struct number divided(struct number a, struct number b)
{
    if (a.is_float)
        return real(a.f / b.f);
    if (b.i == 0)
        return integer(0);
    return a.i == INT64_MIN && b.i == -1 ? a : integer(a.i / b.i);
}

static struct number modulo(struct number a, struct number b, bool of_dividend)
{
    if (a.is_float)
        return real(fmodf(a.f, b.f));
    if (b.i == 0 || b.i == -1)
        return integer(0);
    int64_t r = a.i % b.i;
    if (!of_dividend)
        while (r != 0 && (r < 0) != (b.i < 0))
            r += b.i;
    return integer(r);
}

static struct number binary(const struct ad_whole *op, struct number a, struct number b)
{
    int order = compare(a, b);
    switch (op->kind) {
    case AD_WHOLE_ADD:
        return add(a, b);
    case AD_WHOLE_SUB:
        return add(a, minus(b));
    case AD_WHOLE_MUL:
        return multiply(a, b);
    case AD_WHOLE_DIV:
        return divided(a, b);
    case AD_WHOLE_MOD:
        return modulo(a, b, op->ints[0]);
    case AD_WHOLE_MIN:
        return extreme(a, b, -1);
    case AD_WHOLE_MAX:
        return extreme(a, b, 1);
    case AD_WHOLE_EQUAL:
        return integer(order == 0);
    case AD_WHOLE_LESS:
        return integer(order == -1);
    case AD_WHOLE_LESS_EQUAL:
        return integer(order == -1 || order == 0);
    case AD_WHOLE_GREATER:
        return integer(order == 1);
    case AD_WHOLE_GREATER_EQUAL:
        return integer(order == 1 || order == 0);
    case AD_WHOLE_AND:
        return integer(a.i && b.i);
    case AD_WHOLE_OR:
        return integer(a.i || b.i);
    case AD_WHOLE_XOR:
        return integer(!a.i != !b.i);
    default: /* BITWISE */
        return integer(op->ints[0] == 0 ? a.i & b.i : op->ints[0] == 1 ? a.i | b.i : a.i ^ b.i);
    }
}

static struct number cast(struct number a, enum adaps_type to)
{
    if (to == ADAPS_BOOL)
        return integer(a.is_float ? a.f != 0 : a.i != 0);
    if (to == ADAPS_FLOAT32)
        return a.is_float ? a : real((float)a.i);
    if (!a.is_float)
        return a;
    double x = (double)a.f;
    if (to == ADAPS_INT64)
        return integer(isnan(x) || fabs(x) >= 0x1p63 ? INT64_MIN : (int64_t)x);
    return integer(isnan(x) || x >= 0x1p31 || x < -0x1p31 ? INT32_MIN : (int64_t)x);
}

static struct number unary(const struct ad_whole *op, const struct ad_array *in, int n,
                           struct number x)
{
    switch (op->kind) {
    case AD_WHOLE_CAST:
        return cast(x, op->to);
    case AD_WHOLE_NOT:
        return integer(!x.i);
    case AD_WHOLE_IS_NAN:
        return integer(isnan(x.f));
    case AD_WHOLE_IS_INF:
        return integer(isinf(x.f) && op->ints[x.f > 0]);
    case AD_WHOLE_ABS:
        return x.is_float ? real(fabsf(x.f)) : x.i < 0 ? minus(x) : x;
    case AD_WHOLE_NEG:
        return minus(x);
    case AD_WHOLE_SIGN:
        if (x.is_float)
            return real(isnan(x.f) ? NAN : (float)((x.f > 0) - (x.f < 0)));
        return integer((x.i > 0) - (x.i < 0));
    case AD_WHOLE_ROUND:
        return real(nearbyintf(x.f));
    default: /* CLIP */
        for (int i = 1; i < n; i++)
            if (ad_array_elements(&in[i]) == 1 && compare(x, get(&in[i], 0)) == (i == 1 ? -1 : 1))
                x = get(&in[i], 0);
        return x;
    }
}

/* --- the same elements elsewhere --- */

/* Index i of a slice. */
static int64_t slice_index(const struct ad_whole *op, int64_t axis, int64_t dim, int64_t i)
{
    int n = op->nints / 4;
    for (int k = 0; k < n; k++) {
        if (op->ints[k] != axis)
            continue;
        __int128 start = op->ints[n + k], step = op->ints[3 * n + k];
        start += start < 0 ? dim : 0;
        start = start < 0 ? 0 : start > dim ? dim : start;
        start = step < 0 && start > dim - 1 ? dim - 1 : start;
        return (int64_t)(start + step * i);
    }
    return i;
}

/* Index i of what is padded: walks there from the first element, and turns at the ends. */
static int64_t padded_index(const struct ad_whole *op, int rank, int d, int64_t dim, int64_t i)
{
    int64_t begin = op->ints[1 + d], end = op->ints[1 + rank + d], mode = op->ints[0];
    int64_t cut = begin < 0 ? -begin : 0, n = dim - cut + (end < 0 ? end : 0);
    int64_t k = i - (begin > 0 ? begin : 0), way = k < 0 ? -1 : 1, at = 0;
    if (mode == 0)
        return k < 0 || k >= n ? -1 : cut + k;
    for (int64_t steps = k < 0 ? -k : k; steps > 0; steps--) {
        if (at + way >= 0 && at + way < n)
            at += way;
        else if (mode == 1 && n > 1)
            way = -way, at += way;
        else if (mode == 3)
            at = way > 0 ? 0 : n - 1;
    }
    return cut + at;
}

/* The index that a negative one stands for. */
static int64_t from_end(const struct ad_array *indices, int64_t at, int64_t n)
{
    int64_t index = get(indices, at).i;
    return index < 0 ? index + n : index;
}

/* Where the tuple that belongs to `index` points to in x; what is after it is in `rest`. */
static int64_t place_of_tuple(const struct ad_array *x, const struct ad_array *indices, int batch,
                              const int64_t *index, const int64_t *rest)
{
    int64_t tuple[AD_MAX_RANK], at[AD_MAX_RANK];
    int size = (int)indices->dims[indices->rank - 1];
    memcpy(tuple, index, sizeof tuple);
    for (int d = 0; d < x->rank; d++) {
        tuple[indices->rank - 1] = d - batch;
        if (d < batch)
            at[d] = index[d];
        else if (d < batch + size)
            at[d] = from_end(indices, place_of(indices, tuple), x->dims[d]);
        else
            at[d] = rest[d - batch - size];
    }
    return place_of(x, at);
}

/* Which element of the first input stands at `o` of the result; -1: none. */
static int64_t source_of(const struct ad_whole *op, const struct ad_array *in,
                         const struct ad_array *out, int64_t place, const int64_t *o)
{
    const struct ad_array *x = &in[0];
    int64_t at[AD_MAX_RANK];
    memcpy(at, o, sizeof at);
    switch (op->kind) {
    case AD_WHOLE_TRANSPOSE:
        for (int d = 0; d < x->rank; d++)
            at[op->ints[d]] = o[d];
        break;
    case AD_WHOLE_SLICE:
        for (int d = 0; d < x->rank; d++)
            at[d] = slice_index(op, d, x->dims[d], o[d]);
        break;
    case AD_WHOLE_GATHER:
        for (int d = 0; d < x->rank; d++)
            at[d] = d < op->ints[0] ? o[d] : o[d + in[1].rank - 1 < 0 ? 0 : d + in[1].rank - 1];
        at[op->ints[0]] = from_end(&in[1], place_of(&in[1], o + op->ints[0]), x->dims[op->ints[0]]);
        break;
    case AD_WHOLE_GATHER_ELEMENTS:
        at[op->ints[0]] = from_end(&in[1], place, x->dims[op->ints[0]]);
        break;
    case AD_WHOLE_GATHER_ND:
        return place_of_tuple(x, &in[1], (int)op->ints[0], o, o + in[1].rank - 1);
    case AD_WHOLE_TILE:
        for (int d = 0; d < x->rank; d++)
            at[d] = o[d] % x->dims[d];
        break;
    case AD_WHOLE_EXPAND:
        return place_beside(x, out, o);
    case AD_WHOLE_PAD:
        for (int d = 0; d < x->rank; d++)
            if ((at[d] = padded_index(op, x->rank, d, x->dims[d], o[d])) < 0)
                return -1;
        break;
    case AD_WHOLE_TRILU: {
        int64_t right = o[x->rank - 1] - o[x->rank - 2];
        return (op->ints[0] ? right >= op->ints[1] : right <= op->ints[1]) ? place : -1;
    }
    case AD_WHOLE_REVERSE_SEQUENCE: {
        int64_t length = get(&in[1], o[op->ints[0]]).i, t = o[op->ints[1]];
        at[op->ints[1]] = t < length ? length - 1 - t : t;
        break;
    }
    default: /* another shape */
        return place;
    }
    return place_of(x, at);
}

static void move(const struct ad_whole *op, const struct ad_array *in, int n, struct ad_array *out)
{
    int64_t o[AD_MAX_RANK] = {0};
    for (int64_t i = 0; i < ad_array_elements(out); i++) {
        indices_of(out, i, o);
        int64_t from = source_of(op, in, out, i, o);
        if (from >= 0)
            copy(out, i, &in[0], from);
        else if (op->kind == AD_WHOLE_PAD && n > 1)
            copy(out, i, &in[1], 0);
        else
            put(out, i, (struct number){0});
    }
}

static void concat(const struct ad_whole *op, const struct ad_array *in, struct ad_array *out)
{
    int64_t o[AD_MAX_RANK] = {0}, axis = op->ints[0];
    for (int64_t i = 0; i < ad_array_elements(out); i++) {
        indices_of(out, i, o);
        int k = 0;
        for (; o[axis] >= in[k].dims[axis]; k++)
            o[axis] -= in[k].dims[axis];
        copy(out, i, &in[k], place_of(&in[k], o));
    }
}

static void scatter(const struct ad_whole *op, const struct ad_array *in, struct ad_array *out)
{
    const struct ad_array *x = &in[0], *updates = &in[2];
    int64_t u[AD_MAX_RANK] = {0}, how = op->ints[op->nints - 1];
    for (int64_t i = 0; i < ad_array_elements(x); i++)
        copy(out, i, x, i);
    for (int64_t i = 0; i < ad_array_elements(updates); i++) {
        int64_t at;
        indices_of(updates, i, u);
        if (op->kind == AD_WHOLE_SCATTER_ND) {
            at = place_of_tuple(x, &in[1], 0, u, u + in[1].rank - 1);
        } else {
            u[op->ints[0]] = from_end(&in[1], i, x->dims[op->ints[0]]);
            at = place_of(x, u);
        }
        struct number a = get(out, at), b = get(updates, i);
        if (how == 0)
            copy(out, at, updates, i);
        else
            put(out, at,
                how == 1   ? add(a, b)
                : how == 2 ? multiply(a, b)
                           : extreme(a, b, how == 3 ? 1 : -1));
    }
}

/* --- along an axis --- */

/* Whether a comes before b, NaN above all numbers. */
static bool before(struct number a, struct number b, bool largest)
{
    bool nan_a = a.is_float && isnan(a.f), nan_b = b.is_float && isnan(b.f);
    if (nan_a || nan_b)
        return nan_a != nan_b && nan_a == largest;
    return compare(a, b) == (largest ? 1 : -1);
}

static void arg(const struct ad_whole *op, const struct ad_array *x, struct ad_array *out)
{
    int axis = (int)op->ints[0];
    int64_t at[AD_MAX_RANK] = {0}, o[AD_MAX_RANK] = {0};
    for (int64_t i = 0; i < ad_array_elements(out); i++) {
        int64_t best = 0;
        indices_of(out, i, o);
        for (int d = 0, from = 0; d < x->rank; d++, from++) {
            at[d] = d == axis ? 0 : o[from];
            from -= d == axis && !op->ints[1];
        }
        for (int64_t k = 1; k < x->dims[axis]; k++) {
            at[axis] = best;
            struct number a = get(x, place_of(x, at));
            at[axis] = k;
            struct number b = get(x, place_of(x, at));
            bool nan = b.is_float && isnan(b.f), nan_a = a.is_float && isnan(a.f);
            bool first = nan ? !nan_a : !nan_a && before(b, a, op->kind == AD_WHOLE_ARG_MAX);
            bool same = nan ? nan_a : compare(a, b) == 0;
            if (first || (same && op->ints[2]))
                best = k;
        }
        put(out, i, integer(best));
    }
}

static void topk(const struct ad_whole *op, const struct ad_array *x, struct ad_array *out)
{
    int64_t at[AD_MAX_RANK] = {0}, axis = op->ints[0];
    for (int64_t i = 0; i < ad_array_elements(x); i++) { /* how many come before it? */
        int64_t rank = 0;
        indices_of(x, i, at);
        int64_t mine = at[axis];
        for (int64_t k = 0; k < x->dims[axis]; k++) {
            at[axis] = k;
            struct number a = get(x, place_of(x, at)), b = get(x, i);
            bool same = !before(a, b, true) && !before(b, a, true);
            rank += before(a, b, op->ints[2]) || (same && k < mine);
        }
        at[axis] = rank;
        if (rank < out->dims[axis])
            put(out, place_of(out, at), integer(mine));
    }
}

static void cum_sum(const struct ad_whole *op, const struct ad_array *x, struct ad_array *out)
{
    int64_t at[AD_MAX_RANK] = {0}, axis = op->ints[0];
    for (int64_t i = 0; i < ad_array_elements(x); i++) {
        indices_of(x, i, at);
        int64_t n = x->dims[axis], mine = op->ints[2] ? n - 1 - at[axis] : at[axis];
        struct number sum = {.is_float = x->type == ADAPS_FLOAT32};
        for (int64_t k = 0; k < mine + !op->ints[1]; k++) {
            at[axis] = op->ints[2] ? n - 1 - k : k;
            struct number next = get(x, place_of(x, at));
            sum = k == 0 && !op->ints[1] ? next : add(sum, next);
        }
        put(out, i, sum);
    }
}

static void reduce(const struct ad_whole *op, const struct ad_array *x, struct ad_array *out)
{
    static const int64_t lowest[] = {[ADAPS_INT8] = INT8_MIN,
                                     [ADAPS_INT32] = INT32_MIN,
                                     [ADAPS_INT64] = INT64_MIN,
                                     [ADAPS_BOOL] = 0};
    static const int64_t highest[] = {[ADAPS_UINT8] = UINT8_MAX,
                                      [ADAPS_INT8] = INT8_MAX,
                                      [ADAPS_INT32] = INT32_MAX,
                                      [ADAPS_INT64] = INT64_MAX,
                                      [ADAPS_BOOL] = 1};
    bool reduced[AD_MAX_RANK] = {false};
    for (int d = 0; d < x->rank && op->nints == 2; d++)
        reduced[d] = true;
    for (int i = 2; i < op->nints; i++)
        reduced[op->ints[i]] = true;
    for (int64_t i = 0; i < ad_array_elements(out); i++) {
        struct number sum = {.is_float = x->type == ADAPS_FLOAT32}, one;
        int64_t count = 0;
        if (op->ints[0] == AD_REDUCE_PRODUCT)
            sum.f = 1, sum.i = 1;
        if (op->ints[0] == AD_REDUCE_MAX)
            sum.f = -INFINITY, sum.i = lowest[x->type];
        if (op->ints[0] == AD_REDUCE_MIN)
            sum.f = INFINITY, sum.i = sum.is_float ? 0 : highest[x->type];
        for (int64_t k = 0; k < ad_array_elements(x); k++) {
            int64_t at[AD_MAX_RANK], o[AD_MAX_RANK] = {0};
            int rank = 0;
            indices_of(x, k, at);
            for (int d = 0; d < x->rank; d++)
                if (!reduced[d] || op->ints[1])
                    o[rank++] = reduced[d] ? 0 : at[d];
            if (place_of(out, o) != i)
                continue;
            one = get(x, k);
            count++;
            sum = op->ints[0] == AD_REDUCE_PRODUCT ? multiply(sum, one)
                  : op->ints[0] == AD_REDUCE_MAX   ? extreme(sum, one, 1)
                  : op->ints[0] == AD_REDUCE_MIN   ? extreme(sum, one, -1)
                                                   : add(sum, one);
        }
        if (op->ints[0] == AD_REDUCE_MEAN)
            sum = sum.is_float ? real(sum.f / (float)count) : divided(sum, integer(count));
        put(out, i, sum);
    }
}

static void one_hot(const struct ad_whole *op, const struct ad_array *in, struct ad_array *out)
{
    int64_t o[AD_MAX_RANK] = {0}, axis = op->ints[0];
    for (int64_t i = 0; i < ad_array_elements(out); i++) {
        indices_of(out, i, o);
        int64_t mine = o[axis], n = out->dims[axis];
        memmove(o + axis, o + axis + 1, (size_t)(out->rank - 1 - axis) * sizeof *o);
        struct number x = get(&in[0], place_of(&in[0], o));
        int64_t index = x.is_float ? cast(x, ADAPS_INT64).i : x.i;
        copy(out, i, &in[1], (index < 0 ? index + n : index) == mine);
    }
}

/* --- a length of their own --- */

static bool is_set(const struct ad_array *x, int64_t i)
{
    struct number number = get(x, i);
    return number.is_float ? number.f != 0 : number.i != 0;
}

static void non_zero(const struct ad_array *x, struct ad_array *out)
{
    int64_t at[AD_MAX_RANK], count = 0, found = 0;
    for (int64_t i = 0; i < ad_array_elements(x); i++)
        count += is_set(x, i);
    out->dims[1] = count;
    for (int64_t i = 0; i < ad_array_elements(x); i++) {
        indices_of(x, i, at);
        for (int d = 0; d < x->rank && is_set(x, i); d++)
            put(out, d * count + found, integer(at[d]));
        found += is_set(x, i);
    }
}

static void compress(const struct ad_whole *op, const struct ad_array *in, struct ad_array *out)
{
    struct ad_array x = in[0];
    int64_t at[AD_MAX_RANK], axis = op->ints[0], count = 0, to = 0;
    if (axis < 0) {
        x.dims[0] = ad_array_elements(&x);
        x.rank = 1;
        axis = 0;
    }
    for (int64_t k = 0; k < in[1].dims[0] && k < x.dims[axis]; k++)
        count += is_set(&in[1], k);
    out->dims[axis] = count;
    for (int64_t i = 0; i < ad_array_elements(&x); i++) {
        indices_of(&x, i, at);
        if (at[axis] < in[1].dims[0] && is_set(&in[1], at[axis]))
            copy(out, to++, &x, i);
    }
}

/* Elements i and k of what is flattened, or slices i and k along an axis: -1, 0, 1. */
static int unique_order(const struct ad_whole *op, const struct ad_array *x, int64_t i, int64_t k)
{
    int64_t at[AD_MAX_RANK] = {0}, axis = op->nints > 2 ? op->ints[2] : -1;
    for (int64_t e = 0; e < ad_array_elements(x); e++) {
        int64_t a = i, b = k;
        indices_of(x, e, at);
        if (axis >= 0 && at[axis] != 0)
            continue;
        if (axis >= 0) {
            at[axis] = i;
            a = place_of(x, at);
            at[axis] = k;
            b = place_of(x, at);
        }
        if (before(get(x, a), get(x, b), false))
            return -1;
        if (before(get(x, b), get(x, a), false))
            return 1;
        if (axis < 0)
            break;
    }
    return 0;
}

/* Whether it is the first of those that equal it. */
static bool unique_first(const struct ad_whole *op, const struct ad_array *x, int64_t i)
{
    for (int64_t k = 0; k < i; k++)
        if (unique_order(op, x, i, k) == 0)
            return false;
    return true;
}

/* Slice i of the input to `place`; without an axis an element. */
static void unique_copy(const struct ad_whole *op, const struct ad_array *x, int64_t i,
                        struct ad_array *out, int64_t place)
{
    int64_t at[AD_MAX_RANK] = {0};
    if (op->nints == 2) {
        copy(out, place, x, i);
        return;
    }
    for (int64_t e = 0; e < ad_array_elements(x); e++) {
        indices_of(x, e, at);
        if (at[op->ints[2]] != i)
            continue;
        at[op->ints[2]] = place;
        copy(out, place_of(out, at), x, e);
    }
}

static void unique(const struct ad_whole *op, const struct ad_array *x, struct ad_array *out)
{
    int64_t n = op->nints > 2 ? x->dims[op->ints[2]] : ad_array_elements(x), count = 0;
    for (int64_t i = 0; i < n; i++)
        count += unique_first(op, x, i);
    out->dims[op->nints > 2 && op->ints[0] == 0 ? op->ints[2] : 0] = op->ints[0] == 2 ? n : count;
    for (int64_t i = 0; i < n; i++) {
        int64_t place = 0, same = 0, first_of_i = i;
        bool first = unique_first(op, x, i);
        for (int64_t k = n - 1; k >= 0; k--) {
            bool equal = unique_order(op, x, k, i) == 0;
            same += equal;
            first_of_i = equal ? k : first_of_i;
        }
        for (int64_t k = 0; k < n; k++) /* groups before that of i */
            place += unique_first(op, x, k) &&
                     (op->ints[1] ? unique_order(op, x, k, i) < 0 : k < first_of_i);
        if (op->ints[0] == 2)
            put(out, i, integer(place));
        else if (first && op->ints[0] == 0)
            unique_copy(op, x, i, out, place);
        else if (first)
            put(out, place, integer(op->ints[0] == 1 ? i : same));
    }
}

/* The common part of two boxes by their union. */
static float overlap(const float *a, const float *b, bool center)
{
    float side[2], area[2] = {1, 1}, common, both;
    for (int d = 0; d < 2; d++) {
        float a0 = center ? a[d] - a[2 + d] / 2 : fminf(a[d], a[2 + d]);
        float a1 = center ? a[d] + a[2 + d] / 2 : fmaxf(a[d], a[2 + d]);
        float b0 = center ? b[d] - b[2 + d] / 2 : fminf(b[d], b[2 + d]);
        float b1 = center ? b[d] + b[2 + d] / 2 : fmaxf(b[d], b[2 + d]);
        side[d] = fminf(a1, b1) - fmaxf(a0, b0);
        area[0] *= a1 - a0;
        area[1] *= b1 - b0;
    }
    common = side[0] * side[1];
    both = area[0] + area[1] - common;
    return side[0] <= 0 || side[1] <= 0 || area[0] <= 0 || area[1] <= 0 ? -1 : common / both;
}

static void nms(const struct ad_whole *op, const struct ad_array *in, struct ad_array *out)
{
    int64_t m = in[1].dims[2], count = 0;
    for (int64_t k = 0; m > 0 && k < ad_array_elements(&in[1]) / m; k++) {
        const float *scores = (const float *)in[1].data + k * m;
        const float *boxes = (const float *)in[0].data + k / in[1].dims[1] * m * 4;
        int64_t begin = count;
        bool done[64] = {false};
        while (count - begin < op->ints[1]) {
            int64_t best = -1;
            for (int64_t i = 0; i < m; i++)
                if (!done[i] && (op->floats[1] == -INFINITY || scores[i] > op->floats[1]) &&
                    !isnan(scores[i]) && (best < 0 || scores[i] > scores[best]))
                    best = i;
            if (best < 0)
                break;
            done[best] = true;
            bool keep = true;
            for (int64_t i = begin; i < count; i++)
                keep = keep && !(overlap(boxes + 4 * best, boxes + 4 * get(out, 3 * i + 2).i,
                                         op->ints[0]) > op->floats[0]);
            if (!keep)
                continue;
            put(out, 3 * count, integer(k / in[1].dims[1]));
            put(out, 3 * count + 1, integer(k % in[1].dims[1]));
            put(out, 3 * count++ + 2, integer(best));
        }
    }
    out->dims[0] = count;
}

/* --- quantised --- */

static void quantize(const struct ad_whole *op, const struct ad_array *in, int n,
                     struct ad_array *out)
{
    int64_t at[AD_MAX_RANK], axis = op->ints[0];
    for (int64_t i = 0; i < ad_array_elements(out); i++) {
        indices_of(out, i, at);
        int64_t place = axis < 0 ? 0 : at[axis];
        if (op->ints[1] > 0) {
            at[axis] /= op->ints[1];
            place = place_of(&in[1], at);
        }
        int64_t zero = n > 2 ? get(&in[2], place).i : 0;
        struct number x = get(&in[0], i);
        float scale = get(&in[1], place).f;
        if (op->kind == AD_WHOLE_DEQUANTIZE) {
            put(out, i, real((float)(x.i - zero) * scale));
            continue;
        }
        double y = (double)nearbyintf((x.is_float ? x.f : (float)x.i) / scale) + (double)zero;
        double least = out->type == ADAPS_INT8 ? -128 : 0;
        y = isnan(y) ? least : fmin(fmax(y, least), least + 255);
        put(out, i, integer((int64_t)y));
    }
}

static int64_t less_zero(const struct ad_array *in, int n, int input, int64_t at, int64_t of_zero)
{
    int64_t zero = 0;
    if (n > input + 2)
        zero = get(&in[input + 2], ad_array_elements(&in[input + 2]) > 1 ? of_zero : 0).i;
    return get(&in[input], at).i - zero;
}

static void matmul(const struct ad_whole *op, const struct ad_array *in, int n,
                   struct ad_array *out)
{
    const struct ad_array *a = &in[0], *b = &in[1];
    struct ad_array of_a = *a, of_b = *b, full = *out; /* with both of the last dims */
    if (a->rank == 1)
        of_a = (struct ad_array){.rank = 2, .dims = {1, a->dims[0]}};
    if (b->rank == 1)
        of_b = (struct ad_array){.rank = 2, .dims = {b->dims[0], 1}};
    full.rank = of_a.rank > of_b.rank ? of_a.rank : of_b.rank;
    full.dims[full.rank - 2] = of_a.dims[of_a.rank - 2];
    full.dims[full.rank - 1] = of_b.dims[of_b.rank - 1];
    for (int64_t i = 0; i < ad_array_elements(out); i++) {
        int64_t o[AD_MAX_RANK] = {0};
        indices_of(&full, i, o);
        int64_t row = o[full.rank - 2], column = o[full.rank - 1];
        struct number sum = {.is_float = a->type == ADAPS_FLOAT32};
        for (int64_t k = 0; k < a->dims[a->rank - 1]; k++) {
            int64_t ia[AD_MAX_RANK], ib[AD_MAX_RANK];
            for (int d = 0; d < of_a.rank; d++)
                ia[d] = of_a.dims[d] == 1 ? 0 : o[full.rank - of_a.rank + d];
            for (int d = 0; d < of_b.rank; d++)
                ib[d] = of_b.dims[d] == 1 ? 0 : o[full.rank - of_b.rank + d];
            ia[of_a.rank - 1] = ib[of_b.rank - 2] = k;
            int64_t at = place_of(&of_a, ia), bt = place_of(&of_b, ib);
            if (op->kind == AD_WHOLE_MATMUL_INTEGER)
                sum.i += less_zero(in, n, 0, at, row) * less_zero(in, n, 1, bt, column);
            else if (sum.is_float)
                sum.f = fmaf(get(a, at).f, get(b, bt).f, sum.f);
            else
                sum = add(sum, multiply(get(a, at), get(b, bt)));
        }
        put(out, i, sum);
    }
}

static void convolution(const struct ad_whole *op, const struct ad_array *in, int n,
                        struct ad_array *out)
{
    const struct ad_array *x = &in[0], *w = &in[1];
    int spatial = x->rank - 2;
    for (int64_t i = 0; i < ad_array_elements(out); i++) {
        int64_t o[AD_MAX_RANK], sum = 0;
        indices_of(out, i, o);
        int64_t group = o[1] / (w->dims[0] / op->ints[0]);
        for (int64_t k = 0; k < ad_array_elements(w) / w->dims[0]; k++) {
            int64_t tap[AD_MAX_RANK], at[AD_MAX_RANK] = {o[0]};
            int64_t place = o[1] * (ad_array_elements(w) / w->dims[0]) + k;
            bool inside = true;
            indices_of(w, place, tap);
            at[1] = group * w->dims[1] + tap[1];
            for (int d = 0; d < spatial; d++) {
                at[2 + d] = o[2 + d] * op->ints[1 + d] + tap[2 + d] * op->ints[1 + spatial + d] -
                            op->ints[1 + 2 * spatial + d];
                inside = inside && at[2 + d] >= 0 && at[2 + d] < x->dims[2 + d];
            }
            if (inside)
                sum += less_zero(in, n, 0, place_of(x, at), 0) * less_zero(in, n, 1, place, o[1]);
        }
        put(out, i, integer(sum));
    }
}

static void elementwise(const struct ad_whole *op, const struct ad_array *in, int n,
                        struct ad_array *out)
{
    int64_t o[AD_MAX_RANK] = {0};
    for (int64_t i = 0; i < ad_array_elements(out); i++) {
        indices_of(out, i, o);
        struct number x = get(&in[0], place_beside(&in[0], out, o));
        if (op->kind == AD_WHOLE_WHERE) {
            const struct ad_array *from = &in[x.i ? 1 : 2];
            copy(out, i, from, place_beside(from, out, o));
            continue;
        }
        for (int k = 1; k < n; k++)
            x = binary(op, x, get(&in[k], place_beside(&in[k], out, o)));
        put(out, i, x);
    }
}

/* --- where the data say what attributes else do --- */

/* The attributes, with those numbers in their places; returns how many inputs are left. */
static int with_lists(const struct ad_whole *op, const struct ad_array *in, int n, int64_t *ints)
{
    int first = op->kind == AD_WHOLE_PAD ? 2 : 1, parts = op->nints / 4;
    bool lists = op->kind == AD_WHOLE_RESHAPE || op->kind == AD_WHOLE_TILE ||
                 op->kind == AD_WHOLE_EXPAND || op->kind == AD_WHOLE_PAD ||
                 op->kind == AD_WHOLE_SLICE || op->kind == AD_WHOLE_TOPK_INDICES;
    for (int k = 0; k < op->nints; k++)
        ints[k] = op->ints[k];
    for (int i = first; lists && i < n; i++)
        for (int64_t k = 0; k < in[i].dims[0]; k++) {
            int64_t at = op->kind == AD_WHOLE_SLICE ? i * parts + k
                         : op->kind == AD_WHOLE_PAD || op->kind == AD_WHOLE_TOPK_INDICES ? 1 + k
                                                                                         : k;
            ints[at] = get(&in[i], k).i;
        }
    return lists && n > first ? first : n;
}

/* How many indices of a dimension a slice takes, by walking. */
static int64_t slice_length(const struct ad_whole *op, int axis, int64_t dim)
{
    int n = op->nints / 4;
    for (int k = 0; k < n; k++) {
        if (op->ints[k] != axis)
            continue;
        __int128 end = op->ints[2 * n + k], step = op->ints[3 * n + k], length = 0;
        end += end < 0 ? dim : 0;
        for (__int128 i = slice_index(op, axis, dim, 0);
             i >= 0 && i < dim && (step > 0 ? i < end : i > end); i += step)
            length++;
        return (int64_t)length;
    }
    return dim;
}

static void reshaped(const struct ad_whole *op, const struct ad_array *x, struct ad_array *out)
{
    int64_t left = 1, others = 1; /* without the dims that are copied */
    for (int d = 0; d < x->rank; d++)
        left *= d < out->rank && op->ints[d] == 0 ? 1 : x->dims[d];
    for (int d = 0; d < out->rank; d++) {
        out->dims[d] = op->ints[d] == 0 ? x->dims[d] : op->ints[d];
        others *= op->ints[d] > 0 ? op->ints[d] : 1;
    }
    for (int d = 0; d < out->rank; d++)
        if (op->ints[d] == -1)
            out->dims[d] = left / others;
}

static void set_dims(const struct ad_whole *op, const struct ad_array *x, struct ad_array *out)
{
    int skipped = out->rank - x->rank;
    if (op->kind == AD_WHOLE_RESHAPE) {
        reshaped(op, x, out);
        return;
    }
    for (int d = 0; d < out->rank; d++) {
        int64_t dim = d < skipped ? 1 : x->dims[d - skipped];
        int64_t wanted = d + op->nints < out->rank ? 1 : op->ints[d + op->nints - out->rank];
        if (op->kind == AD_WHOLE_TILE)
            dim *= op->ints[d];
        else if (op->kind == AD_WHOLE_PAD)
            dim += op->ints[1 + d] + op->ints[1 + x->rank + d];
        else if (op->kind == AD_WHOLE_SLICE)
            dim = slice_length(op, d, dim);
        else if (op->kind == AD_WHOLE_EXPAND)
            dim = dim == 1 ? wanted : dim;
        else if (d == op->ints[0]) /* TOPK_INDICES */
            dim = dim < op->ints[1] ? dim : op->ints[1];
        out->dims[d] = dim;
    }
}

static void range(const struct ad_array *in, struct ad_array *out)
{
    int64_t limit = get(&in[1], 0).i, step = get(&in[2], 0).i;
    out->dims[0] = 0;
    for (int64_t x = get(&in[0], 0).i; step > 0 ? x < limit : x > limit; x += step)
        put(out, out->dims[0]++, integer(x));
}

static bool compute(const struct ad_whole *op, const struct ad_array *in, int n,
                    struct ad_array *out);

bool ad_naive_whole(const struct ad_whole *op, const struct ad_array *in, int n,
                    struct ad_array *out)
{
    int64_t ints[AD_WHOLE_MOST_INTS];
    struct ad_whole given = *op;
    given.ints = ints;
    int left = with_lists(op, in, n, ints);
    if (left < n)
        set_dims(&given, &in[0], out);
    return compute(&given, in, left, out);
}

static bool compute(const struct ad_whole *op, const struct ad_array *in, int n,
                    struct ad_array *out)
{
    switch (op->kind) {
    case AD_WHOLE_ADD:
    case AD_WHOLE_SUB:
    case AD_WHOLE_MUL:
    case AD_WHOLE_DIV:
    case AD_WHOLE_MOD:
    case AD_WHOLE_MIN:
    case AD_WHOLE_MAX:
    case AD_WHOLE_EQUAL:
    case AD_WHOLE_LESS:
    case AD_WHOLE_LESS_EQUAL:
    case AD_WHOLE_GREATER:
    case AD_WHOLE_GREATER_EQUAL:
    case AD_WHOLE_AND:
    case AD_WHOLE_OR:
    case AD_WHOLE_XOR:
    case AD_WHOLE_BITWISE:
    case AD_WHOLE_WHERE:
        elementwise(op, in, n, out);
        return true;
    case AD_WHOLE_CAST:
    case AD_WHOLE_NOT:
    case AD_WHOLE_IS_NAN:
    case AD_WHOLE_IS_INF:
    case AD_WHOLE_ABS:
    case AD_WHOLE_NEG:
    case AD_WHOLE_SIGN:
    case AD_WHOLE_ROUND:
    case AD_WHOLE_CLIP:
        for (int64_t i = 0; i < ad_array_elements(out); i++)
            if (op->kind == AD_WHOLE_CAST && in[0].type == out->type && out->type != ADAPS_BOOL)
                copy(out, i, &in[0], i);
            else
                put(out, i, unary(op, in, n, get(&in[0], i)));
        return true;
    case AD_WHOLE_CONCAT:
        concat(op, in, out);
        return true;
    case AD_WHOLE_SCATTER_ND:
    case AD_WHOLE_SCATTER_ELEMENTS:
        scatter(op, in, out);
        return true;
    case AD_WHOLE_ARG_MAX:
    case AD_WHOLE_ARG_MIN:
        arg(op, &in[0], out);
        return true;
    case AD_WHOLE_TOPK_INDICES:
        topk(op, &in[0], out);
        return true;
    case AD_WHOLE_CUM_SUM:
        cum_sum(op, &in[0], out);
        return true;
    case AD_WHOLE_REDUCE:
        reduce(op, &in[0], out);
        return true;
    case AD_WHOLE_ONE_HOT:
        one_hot(op, in, out);
        return true;
    case AD_WHOLE_SHAPE:
        for (int64_t i = 0; i < out->dims[0]; i++)
            put(out, i, integer(in[0].dims[op->ints[0] + i]));
        return true;
    case AD_WHOLE_SIZE:
        put(out, 0, integer(ad_array_elements(&in[0])));
        return true;
    case AD_WHOLE_NON_ZERO:
        non_zero(&in[0], out);
        return true;
    case AD_WHOLE_NMS:
        nms(op, in, out);
        return true;
    case AD_WHOLE_RANGE:
        range(in, out);
        return true;
    case AD_WHOLE_COMPRESS:
        compress(op, in, out);
        return true;
    case AD_WHOLE_UNIQUE:
        unique(op, &in[0], out);
        return true;
    case AD_WHOLE_QUANTIZE:
    case AD_WHOLE_DEQUANTIZE:
        quantize(op, in, n, out);
        return true;
    case AD_WHOLE_MATMUL:
    case AD_WHOLE_MATMUL_INTEGER:
        matmul(op, in, n, out);
        return true;
    case AD_WHOLE_CONV_INTEGER:
        convolution(op, in, n, out);
        return true;
    case AD_WHOLE_POW:
    case AD_WHOLE_FUNCTION:
    case AD_WHOLE_SOFTMAX:
    case AD_WHOLE_DYNAMIC_SCALE:
    case AD_WHOLE_DYNAMIC_ZERO:
    case AD_WHOLE_COUNT:
        return false;
    case AD_WHOLE_RESHAPE:
    case AD_WHOLE_UNSQUEEZE:
    case AD_WHOLE_SQUEEZE:
    case AD_WHOLE_FLATTEN:
    case AD_WHOLE_TRANSPOSE:
    case AD_WHOLE_SLICE:
    case AD_WHOLE_GATHER:
    case AD_WHOLE_GATHER_ELEMENTS:
    case AD_WHOLE_GATHER_ND:
    case AD_WHOLE_TILE:
    case AD_WHOLE_EXPAND:
    case AD_WHOLE_PAD:
    case AD_WHOLE_TRILU:
    case AD_WHOLE_REVERSE_SEQUENCE:
        break;
    }
    move(op, in, n, out);
    return true;
}
