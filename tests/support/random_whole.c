#include "support/random_whole.h"
#include "ir/graph.h"

#include <string.h>

static int64_t up_to(struct ad_rng *rng, int64_t least, int64_t most)
{
    return least + (int64_t)ad_rng_below(rng, (uint32_t)(most - least + 1));
}

static bool one_in(struct ad_rng *rng, uint32_t n)
{
    return ad_rng_below(rng, n) == 0;
}

enum adaps_type ad_random_type(struct ad_rng *rng, bool with_bool)
{
    static const enum adaps_type types[] = {ADAPS_FLOAT32, ADAPS_INT32, ADAPS_INT64,
                                            ADAPS_UINT8,   ADAPS_INT8,  ADAPS_BOOL};
    return types[ad_rng_below(rng, with_bool ? 6 : 5)];
}

static int64_t random_dim(struct ad_rng *rng)
{
    return one_in(rng, 12) ? 0 : one_in(rng, 4) ? 1 : up_to(rng, 2, 5);
}

static void random_shape(struct ad_array *array, int least, int most, struct ad_rng *rng)
{
    array->rank = (int)up_to(rng, least, most);
    for (int d = 0; d < array->rank; d++)
        array->dims[d] = random_dim(rng);
}

/* A shape that can be broadcast to another one. */
static void narrow(struct ad_array *array, const struct ad_array *to, struct ad_rng *rng)
{
    int dropped = one_in(rng, 3) ? (int)up_to(rng, 0, to->rank) : 0;
    array->rank = to->rank - dropped;
    for (int d = 0; d < array->rank; d++)
        array->dims[d] = one_in(rng, 4) ? 1 : to->dims[d + dropped];
}

static void set_ints(struct ad_random_whole *w, int n, const int64_t *ints)
{
    memcpy(w->ints, ints, (size_t)n * sizeof *ints);
    w->op.nints = n;
}
#define INTS(w, ...)                                                                               \
    set_ints(w, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static void broadcast(struct ad_random_whole *w, enum adaps_type type, int n, struct ad_rng *rng)
{
    struct ad_array all = {0};
    random_shape(&all, 0, 4, rng);
    w->n = n;
    for (int i = 0; i < n; i++) {
        narrow(&w->in[i], &all, rng);
        w->in[i].type = type;
    }
}

static void elementwise(struct ad_random_whole *w, struct ad_rng *rng)
{
    enum adaps_type number = ad_random_type(rng, false);
    switch (w->op.kind) {
    case AD_WHOLE_POW:
        broadcast(w, number, 2, rng);
        w->in[1].type = ad_random_type(rng, false);
        return;
    case AD_WHOLE_MIN:
    case AD_WHOLE_MAX:
        broadcast(w, number, (int)up_to(rng, 1, AD_RANDOM_WHOLE_INPUTS), rng);
        return;
    case AD_WHOLE_MOD:
        broadcast(w, number, 2, rng);
        INTS(w, number == ADAPS_FLOAT32 || one_in(rng, 2));
        return;
    case AD_WHOLE_AND:
    case AD_WHOLE_OR:
    case AD_WHOLE_XOR:
        broadcast(w, ADAPS_BOOL, 2, rng);
        return;
    case AD_WHOLE_BITWISE:
        broadcast(w, number == ADAPS_FLOAT32 ? ADAPS_INT8 : number, 2, rng);
        INTS(w, up_to(rng, 0, 2));
        return;
    case AD_WHOLE_WHERE:
        broadcast(w, ad_random_type(rng, true), 3, rng);
        w->in[0].type = ADAPS_BOOL;
        return;
    case AD_WHOLE_EQUAL:
    case AD_WHOLE_LESS:
    case AD_WHOLE_LESS_EQUAL:
    case AD_WHOLE_GREATER:
    case AD_WHOLE_GREATER_EQUAL:
        broadcast(w, ad_random_type(rng, true), 2, rng);
        return;
    default:
        broadcast(w, number, 2, rng);
    }
}

static void of_one(struct ad_random_whole *w, struct ad_rng *rng)
{
    struct ad_array *x = &w->in[0];
    random_shape(x, 0, 4, rng);
    w->n = 1;
    x->type = ad_random_type(rng, false);
    switch (w->op.kind) {
    case AD_WHOLE_CAST:
        x->type = ad_random_type(rng, true);
        w->op.to = ad_random_type(rng, true);
        break;
    case AD_WHOLE_NOT:
        x->type = ADAPS_BOOL;
        break;
    case AD_WHOLE_IS_INF:
        INTS(w, one_in(rng, 2), one_in(rng, 2));
        x->type = ADAPS_FLOAT32;
        break;
    case AD_WHOLE_IS_NAN:
    case AD_WHOLE_ROUND:
    case AD_WHOLE_DYNAMIC_SCALE:
    case AD_WHOLE_DYNAMIC_ZERO:
        x->type = ADAPS_FLOAT32;
        break;
    case AD_WHOLE_FUNCTION:
        x->type = ADAPS_FLOAT32;
        INTS(w, up_to(rng, 0, AD_FN_COUNT - 1));
        memcpy(w->floats, (float[]){0.5f, 0.25f, -INFINITY, 2}, 4 * sizeof(float));
        w->op.nfloats = 4;
        break;
    case AD_WHOLE_CLIP:
        w->n = (int)up_to(rng, 1, 3);
        for (int i = 1; i < w->n; i++) {
            random_shape(&w->in[i], 0, 1, rng);
            w->in[i].dims[0] = w->in[i].dims[0] > 0;
            w->in[i].type = x->type;
        }
        break;
    case AD_WHOLE_SHAPE:
        INTS(w, up_to(rng, 0, x->rank), 0);
        w->ints[1] = up_to(rng, w->ints[0], x->rank);
        break;
    case AD_WHOLE_UNIQUE:
        INTS(w, up_to(rng, 0, 3), one_in(rng, 2));
        if (x->rank > 0 && one_in(rng, 2))
            w->ints[w->op.nints++] = up_to(rng, 0, x->rank - 1);
        break;
    default: /* of any type, without attributes */
        if (w->op.kind == AD_WHOLE_NON_ZERO || w->op.kind == AD_WHOLE_SIZE)
            x->type = ad_random_type(rng, true);
    }
}

/* Factors of a number, one of them perhaps as -1, and dims that are copied as 0. */
static void new_dims(struct ad_random_whole *w, struct ad_rng *rng)
{
    const struct ad_array *x = &w->in[0];
    int64_t left = ad_array_elements(x);
    for (int d = 0; d < 3; d++) {
        int64_t divisor = up_to(rng, 1, 6);
        if (left % divisor != 0)
            divisor = 1;
        left /= divisor;
        w->ints[w->op.nints++] = divisor;
    }
    w->ints[w->op.nints++] = one_in(rng, 2) ? -1 : left > 0 ? left : 1;
    if (one_in(rng, 3) && x->rank > 1) { /* the first stays, the rest is one */
        w->op.nints = 0;
        INTS(w, 0, -1);
    } else if (one_in(rng, 4) && x->rank > 0) { /* the last stays */
        w->op.nints = x->rank;
        for (int d = 0; d < x->rank; d++)
            w->ints[d] = d == 0 ? -1 : d == x->rank - 1 ? 0 : x->dims[d] > 0 ? x->dims[d] : 1;
    }
}

static void some_axes(struct ad_random_whole *w, int rank, struct ad_rng *rng)
{
    for (int d = 0; d < rank; d++)
        if (one_in(rng, 2))
            w->ints[w->op.nints++] = d;
}

static void slice(struct ad_random_whole *w, struct ad_rng *rng)
{
    static const int64_t far[] = {INT64_MAX, INT64_MIN, INT32_MAX, -INT32_MAX};
    some_axes(w, w->in[0].rank, rng);
    int n = w->op.nints;
    for (int i = 0; i < n; i++) {
        for (int k = 1; k < 3; k++)
            w->ints[k * n + i] = one_in(rng, 6) ? far[ad_rng_below(rng, 4)] : up_to(rng, -7, 7);
        w->ints[3 * n + i] = one_in(rng, 2) ? 1 : up_to(rng, -3, 3);
        if (one_in(rng, 8))
            w->ints[3 * n + i] = far[ad_rng_below(rng, 4)];
        if (w->ints[3 * n + i] == 0)
            w->ints[3 * n + i] = -1;
    }
    w->op.nints = 4 * n;
}

static void movement(struct ad_random_whole *w, struct ad_rng *rng)
{
    struct ad_array *x = &w->in[0];
    random_shape(x, 0, 4, rng);
    w->n = 1;
    x->type = ad_random_type(rng, true);
    switch (w->op.kind) {
    case AD_WHOLE_RESHAPE:
        new_dims(w, rng);
        break;
    case AD_WHOLE_UNSQUEEZE:
        for (int64_t axis = up_to(rng, 0, 1); axis <= x->rank + w->op.nints && w->op.nints < 4;
             axis += up_to(rng, 1, 2))
            w->ints[w->op.nints++] = axis;
        break;
    case AD_WHOLE_SQUEEZE:
        some_axes(w, x->rank, rng);
        for (int i = 0; i < w->op.nints; i++)
            x->dims[w->ints[i]] = 1;
        break;
    case AD_WHOLE_FLATTEN:
        INTS(w, up_to(rng, 0, x->rank));
        break;
    case AD_WHOLE_TRANSPOSE:
        w->op.nints = x->rank;
        for (int d = 0; d < x->rank; d++) {
            int64_t other = up_to(rng, 0, d);
            w->ints[d] = w->ints[other];
            w->ints[other] = d;
        }
        break;
    case AD_WHOLE_SLICE:
        slice(w, rng);
        break;
    case AD_WHOLE_TILE:
        w->op.nints = x->rank;
        for (int d = 0; d < x->rank; d++)
            w->ints[d] = up_to(rng, one_in(rng, 8) ? 0 : 1, 3);
        break;
    case AD_WHOLE_EXPAND: {
        struct ad_array to = *x;
        narrow(x, &to, rng);
        narrow(&w->in[1], &to, rng);
        set_ints(w, w->in[1].rank, w->in[1].dims);
        break;
    }
    case AD_WHOLE_PAD:
        INTS(w, up_to(rng, 0, 3));
        for (int d = 0; d < 2 * x->rank; d++)
            w->ints[w->op.nints++] = one_in(rng, 3) ? 0 : up_to(rng, -2, 7);
        if (one_in(rng, 2)) {
            w->in[w->n++].type = x->type;
        }
        break;
    default: /* TRILU */
        random_shape(x, 2, 4, rng);
        INTS(w, one_in(rng, 2), up_to(rng, -4, 4));
    }
}

static void concat(struct ad_random_whole *w, struct ad_rng *rng)
{
    enum adaps_type type = ad_random_type(rng, true);
    struct ad_array first = {.type = type};
    random_shape(&first, 1, 4, rng);
    INTS(w, up_to(rng, 0, first.rank - 1));
    w->n = (int)up_to(rng, 1, AD_RANDOM_WHOLE_INPUTS);
    for (int i = 0; i < w->n; i++) {
        w->in[i] = first;
        w->in[i].dims[w->ints[0]] = random_dim(rng);
    }
}

static void by_index(struct ad_random_whole *w, struct ad_rng *rng)
{
    struct ad_array *x = &w->in[0], *indices = &w->in[1], *updates = &w->in[2];
    int64_t axis, tuple = 0, batch = 0;
    random_shape(x, 1, 4, rng);
    x->type = ad_random_type(rng, true);
    axis = up_to(rng, 0, x->rank - 1);
    indices->type = one_in(rng, 2) ? ADAPS_INT32 : ADAPS_INT64;
    w->n = 2;
    switch (w->op.kind) {
    case AD_WHOLE_GATHER:
        random_shape(indices, 0, 3, rng);
        INTS(w, axis);
        break;
    case AD_WHOLE_GATHER_ELEMENTS:
    case AD_WHOLE_SCATTER_ELEMENTS:
        indices->rank = x->rank;
        for (int d = 0; d < x->rank; d++)
            indices->dims[d] = up_to(rng, 0, d == axis ? 5 : x->dims[d]);
        INTS(w, axis);
        break;
    case AD_WHOLE_REVERSE_SEQUENCE:
        random_shape(x, 2, 4, rng);
        indices->type = ADAPS_INT64;
        INTS(w, one_in(rng, 2), 0);
        w->ints[1] = 1 - w->ints[0];
        indices->rank = 1;
        indices->dims[0] = x->dims[w->ints[0]];
        break;
    default: /* by tuples */
        indices->type = ADAPS_INT64;
        random_shape(indices, 1, 3, rng);
        if (w->op.kind == AD_WHOLE_GATHER_ND)
            batch = up_to(rng, 0, (x->rank < indices->rank ? x->rank : indices->rank) - 1);
        memcpy(indices->dims, x->dims, (size_t)batch * sizeof *x->dims);
        tuple = up_to(rng, 1, x->rank - batch);
        indices->dims[indices->rank - 1] = tuple;
        INTS(w, batch);
    }
    if (w->op.kind == AD_WHOLE_SCATTER_ELEMENTS) {
        *updates = *indices;
    } else if (w->op.kind == AD_WHOLE_SCATTER_ND) {
        updates->rank = 0;
        for (int d = 0; d < indices->rank - 1; d++)
            updates->dims[updates->rank++] = indices->dims[d];
        for (int d = (int)tuple; d < x->rank; d++)
            updates->dims[updates->rank++] = x->dims[d];
    } else {
        return;
    }
    updates->type = x->type;
    w->n = 3;
    if (w->op.kind == AD_WHOLE_SCATTER_ELEMENTS)
        w->op.nints = 2;
    w->ints[w->op.nints - 1] = x->type == ADAPS_BOOL ? 0 : up_to(rng, 0, 4);
}

static void along_axis(struct ad_random_whole *w, struct ad_rng *rng)
{
    static const enum adaps_type summed[] = {ADAPS_FLOAT32, ADAPS_INT32, ADAPS_INT64};
    struct ad_array *x = &w->in[0];
    random_shape(x, 1, 4, rng);
    x->type = ad_random_type(rng, false);
    w->n = 1;
    int64_t axis = up_to(rng, 0, x->rank - 1);
    switch (w->op.kind) {
    case AD_WHOLE_TOPK_INDICES:
        INTS(w, axis, up_to(rng, 0, 7), one_in(rng, 2));
        break;
    case AD_WHOLE_CUM_SUM:
        x->type = summed[ad_rng_below(rng, 3)];
        INTS(w, axis, one_in(rng, 2), one_in(rng, 2));
        break;
    case AD_WHOLE_REDUCE:
        random_shape(x, 0, 4, rng);
        INTS(w, up_to(rng, 0, AD_REDUCE_COUNT - 1), one_in(rng, 2));
        some_axes(w, x->rank, rng);
        break;
    case AD_WHOLE_SOFTMAX:
        x->type = ADAPS_FLOAT32;
        INTS(w, axis);
        break;
    case AD_WHOLE_ONE_HOT:
        random_shape(x, 0, 3, rng);
        w->in[w->n++] =
            (struct ad_array){.type = ad_random_type(rng, true), .rank = 1, .dims = {2}};
        INTS(w, up_to(rng, 0, x->rank), up_to(rng, 0, 5));
        break;
    case AD_WHOLE_COMPRESS:
        w->in[w->n++] = (struct ad_array){.type = ADAPS_BOOL, .rank = 1, .dims = {random_dim(rng)}};
        INTS(w, up_to(rng, -1, x->rank - 1));
        break;
    default: /* ARG_MAX, ARG_MIN */
        INTS(w, axis, one_in(rng, 2), one_in(rng, 2));
    }
}

static void nms(struct ad_random_whole *w, struct ad_rng *rng)
{
    int64_t batches = up_to(rng, 0, 2), boxes = up_to(rng, 0, 9);
    w->in[0] = (struct ad_array){.type = ADAPS_FLOAT32, .rank = 3, .dims = {batches, boxes, 4}};
    w->in[1] = w->in[0];
    w->in[1].dims[1] = up_to(rng, 0, 3);
    w->in[1].dims[2] = boxes;
    w->n = 2;
    INTS(w, one_in(rng, 2), up_to(rng, 0, 9));
    w->floats[0] = (float)up_to(rng, 0, 10) / 10;
    w->floats[1] = one_in(rng, 2) ? -INFINITY : 0.25f;
    w->op.nfloats = 2;
}

static enum adaps_type byte_type(struct ad_rng *rng)
{
    return one_in(rng, 2) ? ADAPS_INT8 : ADAPS_UINT8;
}

static void quantised(struct ad_random_whole *w, struct ad_rng *rng)
{
    struct ad_array *x = &w->in[0], *scale = &w->in[1];
    random_shape(x, 1, 4, rng);
    int64_t axis = one_in(rng, 2) ? -1 : up_to(rng, 0, x->rank - 1);
    int64_t block = axis >= 0 && one_in(rng, 2) ? up_to(rng, 1, 3) : 0;
    scale->type = ADAPS_FLOAT32;
    if (block > 0) {
        memcpy(scale->dims, x->dims, sizeof x->dims);
        scale->rank = x->rank;
        scale->dims[axis] = (x->dims[axis] + block - 1) / block;
    } else if (axis >= 0) {
        scale->rank = 1;
        scale->dims[0] = x->dims[axis];
    }
    w->n = (int)up_to(rng, 2, 3);
    w->in[2] = *scale;
    if (w->op.kind == AD_WHOLE_QUANTIZE) {
        x->type = one_in(rng, 3) ? ADAPS_INT32 : ADAPS_FLOAT32;
        w->op.to = w->in[2].type = byte_type(rng);
    } else {
        x->type = w->in[2].type = one_in(rng, 3) ? ADAPS_INT32 : byte_type(rng);
    }
    INTS(w, axis, block);
}

static void product(struct ad_random_whole *w, struct ad_rng *rng)
{
    struct ad_array *a = &w->in[0], *b = &w->in[1], batches = {0};
    int64_t depth = random_dim(rng), rows = random_dim(rng), columns = random_dim(rng);
    random_shape(&batches, 0, 2, rng);
    narrow(a, &batches, rng);
    narrow(b, &batches, rng);
    if (a->rank > 0 || one_in(rng, 2))
        a->dims[a->rank++] = rows;
    else
        rows = 1;
    a->dims[a->rank++] = depth;
    b->dims[b->rank++] = depth;
    if (b->rank > 1 || one_in(rng, 2))
        b->dims[b->rank++] = columns;
    else
        columns = 1;
    w->n = 2;
    a->type = b->type = ad_random_type(rng, false);
    if (w->op.kind != AD_WHOLE_MATMUL_INTEGER)
        return;
    a->type = byte_type(rng);
    b->type = byte_type(rng);
    w->n = (int)up_to(rng, 2, 4);
    for (int i = 2; i < w->n; i++) {
        w->in[i].type = w->in[i - 2].type;
        w->in[i].rank = one_in(rng, 2);
        w->in[i].dims[0] = i == 2 ? rows : columns;
    }
}

static void convolution(struct ad_random_whole *w, struct ad_rng *rng)
{
    struct ad_array *x = &w->in[0], *f = &w->in[1];
    int spatial = (int)up_to(rng, 1, 3);
    int64_t groups = up_to(rng, 1, 2);
    x->type = byte_type(rng);
    f->type = byte_type(rng);
    x->rank = f->rank = 2 + spatial;
    f->dims[0] = groups * up_to(rng, 1, 3);
    f->dims[1] = up_to(rng, 1, 3);
    x->dims[0] = up_to(rng, 0, 2);
    x->dims[1] = groups * f->dims[1];
    w->ints[0] = groups;
    w->op.nints = 1 + 4 * spatial;
    for (int d = 0; d < spatial; d++) {
        x->dims[2 + d] = up_to(rng, 0, 9);
        f->dims[2 + d] = up_to(rng, 1, 3);
        w->ints[1 + d] = up_to(rng, 1, 3);
        w->ints[1 + spatial + d] = up_to(rng, 1, 2);
        w->ints[1 + 2 * spatial + d] = up_to(rng, 0, 4);
        w->ints[1 + 3 * spatial + d] = up_to(rng, 0, 4);
    }
    w->n = (int)up_to(rng, 2, 4);
    w->in[2].type = x->type;
    w->in[3].type = f->type;
    w->in[3].rank = one_in(rng, 2);
    w->in[3].dims[0] = f->dims[0];
}

static void range(struct ad_random_whole *w, struct ad_rng *rng)
{
    w->n = 3;
    w->in[0].type = one_in(rng, 2) ? ADAPS_INT32 : ADAPS_INT64;
    w->in[1].type = w->in[2].type = w->in[0].type;
    INTS(w, up_to(rng, 16, 20));
}

void ad_random_whole(struct ad_random_whole *w, enum ad_whole_kind kind, struct ad_rng *rng)
{
    memset(w, 0, sizeof *w);
    w->op = (struct ad_whole){.kind = kind, .ints = w->ints, .floats = w->floats};
    switch (kind) {
    case AD_WHOLE_ADD:
    case AD_WHOLE_SUB:
    case AD_WHOLE_MUL:
    case AD_WHOLE_DIV:
    case AD_WHOLE_MOD:
    case AD_WHOLE_POW:
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
        elementwise(w, rng);
        break;
    case AD_WHOLE_CAST:
    case AD_WHOLE_NOT:
    case AD_WHOLE_IS_NAN:
    case AD_WHOLE_IS_INF:
    case AD_WHOLE_ABS:
    case AD_WHOLE_NEG:
    case AD_WHOLE_SIGN:
    case AD_WHOLE_ROUND:
    case AD_WHOLE_CLIP:
    case AD_WHOLE_FUNCTION:
    case AD_WHOLE_SHAPE:
    case AD_WHOLE_SIZE:
    case AD_WHOLE_NON_ZERO:
    case AD_WHOLE_UNIQUE:
    case AD_WHOLE_DYNAMIC_SCALE:
    case AD_WHOLE_DYNAMIC_ZERO:
        of_one(w, rng);
        break;
    case AD_WHOLE_RESHAPE:
    case AD_WHOLE_UNSQUEEZE:
    case AD_WHOLE_SQUEEZE:
    case AD_WHOLE_FLATTEN:
    case AD_WHOLE_TRANSPOSE:
    case AD_WHOLE_SLICE:
    case AD_WHOLE_TILE:
    case AD_WHOLE_EXPAND:
    case AD_WHOLE_PAD:
    case AD_WHOLE_TRILU:
        movement(w, rng);
        break;
    case AD_WHOLE_CONCAT:
        concat(w, rng);
        break;
    case AD_WHOLE_GATHER:
    case AD_WHOLE_GATHER_ELEMENTS:
    case AD_WHOLE_GATHER_ND:
    case AD_WHOLE_SCATTER_ND:
    case AD_WHOLE_SCATTER_ELEMENTS:
    case AD_WHOLE_REVERSE_SEQUENCE:
        by_index(w, rng);
        break;
    case AD_WHOLE_ARG_MAX:
    case AD_WHOLE_ARG_MIN:
    case AD_WHOLE_TOPK_INDICES:
    case AD_WHOLE_CUM_SUM:
    case AD_WHOLE_REDUCE:
    case AD_WHOLE_SOFTMAX:
    case AD_WHOLE_ONE_HOT:
    case AD_WHOLE_COMPRESS:
        along_axis(w, rng);
        break;
    case AD_WHOLE_NMS:
        nms(w, rng);
        break;
    case AD_WHOLE_QUANTIZE:
    case AD_WHOLE_DEQUANTIZE:
        quantised(w, rng);
        break;
    case AD_WHOLE_MATMUL:
    case AD_WHOLE_MATMUL_INTEGER:
        product(w, rng);
        break;
    case AD_WHOLE_CONV_INTEGER:
        convolution(w, rng);
        break;
    case AD_WHOLE_RANGE:
        range(w, rng);
        break;
    case AD_WHOLE_COUNT:
        break;
    }
}
