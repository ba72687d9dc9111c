/* Loop nests over strided operands: copies, arithmetic, activations. */
#include "exec/kernels/kernels.h"
#include "exec/kernels/rows.h"
#include "exec/kernels/vec.h"

#include <string.h>

#define UNIT 8192 /* elements of one piece of work */

static void row_copy_bytes(const struct ad_row *r, int64_t n)
{
    uint8_t *out = (uint8_t *)r->out;
    const uint8_t *a = (const uint8_t *)r->a;
    if (r->so == 1 && r->sa == 1) {
        memcpy(out, a, (size_t)n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        out[i * r->so] = a[i * r->sa];
}

static void row_copy(const struct ad_row *r, int64_t n)
{
    if (r->so == 1 && r->sa == 1) {
        memcpy(r->out, r->a, (size_t)n * sizeof *r->out);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        r->out[i * r->so] = r->a[i * r->sa];
}

enum ad_elementwise_kind ad_elementwise_kind_of(enum ad_function function)
{
    static const enum ad_elementwise_kind kinds[] = {
        [AD_FN_NONE] = AD_ELEMENTWISE_CLAMP,
        [AD_FN_LEAKY_RELU] = AD_ELEMENTWISE_LEAKY_RELU,
        [AD_FN_SIGMOID] = AD_ELEMENTWISE_SIGMOID,
        [AD_FN_SILU] = AD_ELEMENTWISE_SILU,
        [AD_FN_HARD_SIGMOID] = AD_ELEMENTWISE_HARD_SIGMOID,
        [AD_FN_HARD_SWISH] = AD_ELEMENTWISE_HARD_SWISH,
    };
    return function < sizeof kinds / sizeof *kinds ? kinds[function] : AD_ELEMENTWISE_FUNCTION;
}

/* How the nest is cut into units of work: short rows in groups, long ones in pieces. */
struct cut {
    const struct ad_elementwise *e;
    int64_t rows, inner; /* iterations of all outer dimensions; of the innermost */
    int64_t group;       /* rows per unit, when pieces is 1 */
    int64_t pieces;      /* units per row */
};

static void run_unit(void *self, size_t unit)
{
    const struct cut *cut = self;
    const struct ad_elementwise *e = cut->e;
    int last = e->rank - 1;
    int64_t first = (int64_t)unit / cut->pieces * cut->group;
    int64_t end = first + cut->group < cut->rows ? first + cut->group : cut->rows;
    int64_t from = (int64_t)unit % cut->pieces * UNIT, n = cut->inner;
    if (cut->pieces > 1)
        n = n - from < UNIT ? n - from : UNIT;
    int64_t index[AD_ND_RANK], offset[3];
    for (int k = 0; k < 3; k++)
        offset[k] = last >= 0 ? from * e->stride[k][last] : 0;
    for (int64_t d = last - 1, rest = first; d >= 0; rest /= e->count[d], d--) {
        index[d] = rest % e->count[d];
        for (int k = 0; k < 3; k++)
            offset[k] += index[d] * e->stride[k][d];
    }
    ad_row_kernel *run = ad_rows();
    struct ad_row row = {.so = e->stride[0][last],
                         .sa = e->stride[1][last],
                         .sb = e->stride[2][last],
                         .lo = e->clamp_min,
                         .hi = e->clamp_max,
                         .alpha = e->alpha,
                         .beta = e->beta,
                         .function = e->function};
    for (int64_t r = first; r < end; r++) {
        row.out = ad_element_at(e->out, e->bytes, offset[0]);
        row.a = ad_element_at(e->a, e->bytes, offset[1]);
        row.b = e->b ? e->b + offset[2] : NULL;
        if (e->bytes)
            row_copy_bytes(&row, n);
        else if (e->kind == AD_ELEMENTWISE_COPY)
            row_copy(&row, n);
        else
            run(e->kind, &row, n);
        for (int d = last - 1; d >= 0; d--) { /* the next row */
            bool carry = ++index[d] == e->count[d];
            for (int k = 0; k < 3; k++)
                offset[k] += e->stride[k][d] * (carry ? 1 - e->count[d] : 1);
            if (!carry)
                break;
            index[d] = 0;
        }
    }
}

/* --- transpositions --- */

static void swap(int64_t *a, int64_t *b)
{
    int64_t t = *a;
    *a = *b;
    *b = t;
}

/* The two inner loops of a copy from columns to rows: out[i * out_step + j] = in[i + j * in_step].
 */
struct plane {
    int64_t rows, columns; /* of i, of j */
    int64_t out_step, in_step;
};

/* Of two vectors by turns: their first two elements, their last two. */
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)

/* Of two columns. */
static void copy_pairs(const struct plane *p, float *out, const float *in)
{
    const float *other = in + p->in_step;
    int64_t i = 0;
    for (; i + 4 <= p->rows; i += 4) {
        ad_v4 a = ad_v4_load(in + i), b = ad_v4_load(other + i);
        ad_v4_store(out + 2 * i, LOW(a, b));
        ad_v4_store(out + 2 * i + 4, HIGH(a, b));
    }
    for (; i < p->rows; i++) {
        out[2 * i] = in[i];
        out[2 * i + 1] = other[i];
    }
}

/* Two numbers, and the two that are so many further on. */
static ad_v4 load_pairs(const float *p, int64_t step)
{
    typedef int64_t pairs __attribute__((vector_size(16)));
    int64_t a, b;
    memcpy(&a, p, sizeof a);
    memcpy(&b, p + step, sizeof b);
    return (ad_v4)(pairs){a, b};
}

/* The reverse, of two rows. */
static void copy_from_pairs(const struct plane *p, float *out, const float *in)
{
    float *other = out + p->out_step;
    int64_t j = 0;
    for (; j + 4 <= p->columns; j += 4) {
        ad_v4 a = load_pairs(in + j * p->in_step, p->in_step);
        ad_v4 b = load_pairs(in + (j + 2) * p->in_step, p->in_step);
        ad_v4_store(out + j, __builtin_shufflevector(a, b, 0, 2, 4, 6));
        ad_v4_store(other + j, __builtin_shufflevector(a, b, 1, 3, 5, 7));
    }
    for (; j < p->columns; j++) {
        out[j] = in[j * p->in_step];
        other[j] = in[j * p->in_step + 1];
    }
}

static void copy_4x4(const struct plane *p, float *out, const float *in)
{
    ad_v4 a = ad_v4_load(in), b = ad_v4_load(in + p->in_step);
    ad_v4 c = ad_v4_load(in + 2 * p->in_step), d = ad_v4_load(in + 3 * p->in_step);
    ad_v4 ac = LOW(a, c), bd = LOW(b, d);
    ad_v4_store(out, LOW(ac, bd));
    ad_v4_store(out + p->out_step, HIGH(ac, bd));
    ac = HIGH(a, c);
    bd = HIGH(b, d);
    ad_v4_store(out + 2 * p->out_step, LOW(ac, bd));
    ad_v4_store(out + 3 * p->out_step, HIGH(ac, bd));
}

static void copy_plane(const struct plane *p, float *out, const float *in)
{
    int64_t rows = p->rows & ~INT64_C(3), columns = p->columns & ~INT64_C(3);
    if (p->columns == 2 && p->out_step == 2) {
        copy_pairs(p, out, in);
        return;
    }
    if (p->rows == 2) {
        copy_from_pairs(p, out, in);
        return;
    }
    for (int64_t i = 0; i < rows; i += 4)
        for (int64_t j = 0; j < columns; j += 4)
            copy_4x4(p, out + i * p->out_step + j, in + i + j * p->in_step);
    for (int64_t j = columns; j < p->columns; j++)
        for (int64_t i = 0; i < rows; i++)
            out[i * p->out_step + j] = in[i + j * p->in_step];
    for (int64_t i = rows; i < p->rows; i++)
        for (int64_t j = 0; j < p->columns; j++)
            out[i * p->out_step + j] = in[i + j * p->in_step];
}

static void move_dimension(struct ad_elementwise *e, int from, int to)
{
    for (int d = from; d < to; d++) {
        swap(&e->count[d], &e->count[d + 1]);
        for (int k = 0; k < 3; k++)
            swap(&e->stride[k][d], &e->stride[k][d + 1]);
    }
}

/* Whether a nest is such a copy; its two dimensions are then the last. */
static bool is_transposition(struct ad_elementwise *e)
{
    int row = -1, column = -1;
    for (int d = 0; d < e->rank && e->kind == AD_ELEMENTWISE_COPY && !e->bytes; d++) {
        if (e->count[d] > 1 && e->stride[1][d] == 1)
            row = d;
        if (e->count[d] > 1 && e->stride[0][d] == 1)
            column = d;
    }
    if (row < 0 || column < 0 || row == column)
        return false;
    move_dimension(e, row, e->rank - 1);
    move_dimension(e, column > row ? column - 1 : column, e->rank - 1);
    return true;
}

/* Planes of a nest, in units of several planes or of some rows of one. */
struct planes {
    const struct ad_elementwise *e;
    int64_t count, group, step,
        pieces; /* planes: all, of a unit; rows of a unit; units of a plane */
};

static void run_planes(void *self, size_t unit)
{
    const struct planes *all = self;
    const struct ad_elementwise *e = all->e;
    int last = e->rank - 1;
    int64_t first = (int64_t)unit / all->pieces * all->group;
    int64_t end = first + all->group < all->count ? first + all->group : all->count;
    int64_t row = (int64_t)unit % all->pieces * all->step, left = e->count[last - 1] - row;
    struct plane plane = {.rows = left < all->step ? left : all->step,
                          .columns = e->count[last],
                          .out_step = e->stride[0][last - 1],
                          .in_step = e->stride[1][last]};
    int64_t index[AD_ND_RANK], out = row * plane.out_step, in = row, rest = first;
    for (int d = last - 2; d >= 0; rest /= e->count[d], d--) {
        index[d] = d > 0 ? rest % e->count[d] : rest;
        out += index[d] * e->stride[0][d];
        in += index[d] * e->stride[1][d];
    }
    for (int64_t k = first; k < end; k++) {
        copy_plane(&plane, e->out + out, e->a + in);
        for (int d = last - 2; d >= 0; d--) { /* the next plane */
            bool carry = ++index[d] == e->count[d];
            out += e->stride[0][d] * (carry ? 1 - e->count[d] : 1);
            in += e->stride[1][d] * (carry ? 1 - e->count[d] : 1);
            if (!carry)
                break;
            index[d] = 0;
        }
    }
}

static void run_transposition(const struct ad_elementwise *e, struct pthreadpool *pool)
{
    int64_t rows = e->count[e->rank - 2], columns = e->count[e->rank - 1];
    struct planes all = {.e = e, .count = 1, .group = 1, .step = rows, .pieces = 1};
    for (int d = 0; d < e->rank - 2; d++)
        all.count *= e->count[d];
    if (columns >= UNIT / 4) {
        all.step = 4;
    } else if (rows * columns > UNIT) {
        all.step = UNIT / columns / 4 * 4;
    } else {
        all.group = UNIT / (rows * columns);
    }
    all.pieces = (rows + all.step - 1) / all.step;
    ad_pool_run(pool, run_planes, &all,
                (size_t)((all.count + all.group - 1) / all.group * all.pieces));
}

void ad_elementwise_run(const struct ad_elementwise *e, struct pthreadpool *pool)
{
    struct ad_elementwise copy = *e;
    struct cut cut = {.e = e, .rows = 1, .inner = e->count[e->rank - 1], .group = 1, .pieces = 1};
    for (int d = 0; d < e->rank - 1; d++)
        cut.rows *= e->count[d];
    if (cut.rows == 0 || cut.inner == 0)
        return;
    if (is_transposition(&copy)) {
        run_transposition(&copy, pool);
        return;
    }
    if (cut.inner > UNIT)
        cut.pieces = (cut.inner + UNIT - 1) / UNIT;
    else
        cut.group = UNIT / cut.inner;
    int64_t units = (cut.rows + cut.group - 1) / cut.group * cut.pieces;
    ad_pool_run(pool, run_unit, &cut, (size_t)units);
}

void ad_elementwise_simplify(struct ad_elementwise *e)
{
    int rank = 0;
    for (int d = 0; d < e->rank; d++) {
        if (e->count[d] == 1)
            continue;
        bool merge = rank > 0;
        for (int k = 0; k < 3 && merge; k++)
            merge = e->stride[k][rank - 1] == e->stride[k][d] * e->count[d];
        if (merge) {
            e->count[rank - 1] *= e->count[d];
        } else {
            e->count[rank] = e->count[d];
            rank++;
        }
        for (int k = 0; k < 3; k++)
            e->stride[k][rank - 1] = e->stride[k][d];
    }
    if (rank == 0) {
        e->count[0] = 1;
        for (int k = 0; k < 3; k++)
            e->stride[k][0] = 1;
        rank = 1;
    }
    e->rank = rank;
}

static void set_strides(struct ad_elementwise *e, int k, const struct ad_view *v)
{
    e->stride[k][0] = v->n == 1 ? 0 : v->sn;
    e->stride[k][1] = v->h == 1 ? 0 : v->sh;
    e->stride[k][2] = v->w == 1 ? 0 : v->sw;
    e->stride[k][3] = v->c == 1 ? 0 : 1;
}

struct ad_elementwise ad_elementwise_views(enum ad_elementwise_kind kind, const struct ad_view *out,
                                           const struct ad_view *a, const struct ad_view *b)
{
    struct ad_elementwise e = {.kind = kind,
                               .rank = 4,
                               .count = {out->n, out->h, out->w, out->c},
                               .out = out->data,
                               .a = a->data,
                               .b = b ? b->data : NULL,
                               .bytes = out->bytes,
                               .clamp_min = -__builtin_inff(),
                               .clamp_max = __builtin_inff()};
    set_strides(&e, 0, out);
    set_strides(&e, 1, a);
    if (b)
        set_strides(&e, 2, b);
    ad_elementwise_simplify(&e);
    return e;
}

/* Operand k in NCHW order, the other strided as the view; loops run n, h, w, c, or with few
 * channels n, h, c, w. */
static struct ad_elementwise nchw(const struct ad_view *v, int k)
{
    struct ad_elementwise e = {
        .kind = AD_ELEMENTWISE_COPY, .rank = 4, .count = {v->n, v->h, v->w, v->c}};
    int64_t plane = v->h * v->w;
    set_strides(&e, 1 - k, v);
    e.stride[k][0] = v->c * plane;
    e.stride[k][1] = v->w;
    e.stride[k][2] = 1;
    e.stride[k][3] = plane;
    if (v->c < v->w) {
        swap(&e.count[2], &e.count[3]);
        swap(&e.stride[0][2], &e.stride[0][3]);
        swap(&e.stride[1][2], &e.stride[1][3]);
    }
    return e;
}

struct ad_elementwise ad_elementwise_from_nchw(const struct ad_view *out, const float *data)
{
    struct ad_elementwise e = nchw(out, 1);
    e.out = out->data;
    e.a = data;
    ad_elementwise_simplify(&e);
    return e;
}

struct ad_elementwise ad_elementwise_to_nchw(float *data, const struct ad_view *in)
{
    struct ad_elementwise e = nchw(in, 0);
    e.out = data;
    e.a = in->data;
    ad_elementwise_simplify(&e);
    return e;
}

struct ad_elementwise ad_elementwise_permute(float *out, const float *in, int rank,
                                             const int64_t *view_dims, const int32_t *perm,
                                             bool merge)
{
    struct ad_elementwise e = {.kind = AD_ELEMENTWISE_COPY, .rank = rank, .out = out, .a = in};
    int64_t in_stride[AD_ND_RANK], stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        in_stride[i] = stride;
        stride *= view_dims[i];
    }
    stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        e.count[i] = view_dims[perm[i]];
        e.stride[0][i] = stride;
        e.stride[1][i] = in_stride[perm[i]];
        stride *= e.count[i];
    }
    if (merge)
        ad_elementwise_simplify(&e);
    return e;
}
