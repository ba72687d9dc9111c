/* Loop nests over strided operands: copies, arithmetic, activations. */
#include "exec/kernels/kernels.h"
#include "exec/kernels/functions.h"

#define UNIT 8192 /* elements of one piece of work */

/* One run of n elements along the innermost dimension. */
struct row {
    float *out;
    const float *a, *b;
    int64_t so, sa, sb; /* strides */
    ad_v4 lo, hi, alpha, beta;
    ad_function_kernel *function;
};

/* clamp(alpha * x + beta, 0, 1) */
static inline ad_v4 hard_sigmoid(ad_v4 x, const struct row *r)
{
    return ad_v4_clamp(x * r->alpha + r->beta, ad_v4_all(0.0f), ad_v4_all(1.0f));
}

static inline __attribute__((always_inline)) ad_v4 combine(enum ad_elementwise_kind kind, ad_v4 a,
                                                           ad_v4 b, const struct row *r)
{
    switch (kind) {
    case AD_ELEMENTWISE_COPY:
    case AD_ELEMENTWISE_CLAMP:
    case AD_ELEMENTWISE_COUNT:
        break;
    case AD_ELEMENTWISE_ADD:
        a = a + b;
        break;
    case AD_ELEMENTWISE_SUB:
        a = a - b;
        break;
    case AD_ELEMENTWISE_MUL:
        a = a * b;
        break;
    case AD_ELEMENTWISE_DIV:
        a = a / b;
        break;
    case AD_ELEMENTWISE_MIN: /* NaN if either is */
        a = ad_v4_select((a < b) | (a != a), a, b);
        break;
    case AD_ELEMENTWISE_MAX:
        a = ad_v4_select((a > b) | (a != a), a, b);
        break;
    case AD_ELEMENTWISE_POW:
        a = ad_v4_pow(a, b);
        break;
    case AD_ELEMENTWISE_PRELU:
        a = ad_v4_select(a < ad_v4_all(0.0f), a * b, a);
        break;
    case AD_ELEMENTWISE_LEAKY_RELU:
        a = ad_v4_select(a < ad_v4_all(0.0f), a * r->alpha, a);
        break;
    case AD_ELEMENTWISE_SIGMOID:
        a = ad_v4_sigmoid(a);
        break;
    case AD_ELEMENTWISE_SILU:
        a = a * ad_v4_sigmoid(a);
        break;
    case AD_ELEMENTWISE_HARD_SIGMOID:
        a = hard_sigmoid(a, r);
        break;
    case AD_ELEMENTWISE_HARD_SWISH:
        a = a * hard_sigmoid(a, r);
        break;
    case AD_ELEMENTWISE_FUNCTION:
        a = r->function(a, r->alpha, r->beta);
        break;
    }
    return ad_v4_clamp(a, r->lo, r->hi);
}

static inline ad_v4 gather(const float *p, int64_t stride, int64_t n)
{
    ad_v4 v = {0, 0, 0, 0};
    for (int64_t i = 0; i < n; i++)
        v[i] = p[i * stride];
    return v;
}

/* Any strides; also the remainder of the fast loops. */
static inline __attribute__((always_inline)) void
row_any(enum ad_elementwise_kind kind, const struct row *r, int64_t from, int64_t n)
{
    for (int64_t i = from; i < n; i += 4) {
        int64_t lanes = n - i < 4 ? n - i : 4;
        ad_v4 a = gather(r->a + i * r->sa, r->sa, lanes);
        ad_v4 b = r->b ? gather(r->b + i * r->sb, r->sb, lanes) : a;
        ad_v4 y = combine(kind, a, b, r);
        for (int64_t k = 0; k < lanes; k++)
            r->out[(i + k) * r->so] = y[k];
    }
}

static inline __attribute__((always_inline)) void row_kind(enum ad_elementwise_kind kind,
                                                           const struct row *r, int64_t n)
{
    int64_t i = 0;
    bool unary = !ad_elementwise_is_binary(kind);
    if (r->so == 1 && r->sa == 1 && (unary || r->sb == 1)) {
        for (; i + 4 <= n; i += 4)
            ad_v4_store(r->out + i, combine(kind, ad_v4_load(r->a + i),
                                            unary ? r->lo : ad_v4_load(r->b + i), r));
    } else if (!unary && r->so == 1 && r->sa == 1 && r->sb == 0) {
        for (; i + 4 <= n; i += 4)
            ad_v4_store(r->out + i, combine(kind, ad_v4_load(r->a + i), ad_v4_all(*r->b), r));
    } else if (!unary && r->so == 1 && r->sa == 0 && r->sb == 1) {
        for (; i + 4 <= n; i += 4)
            ad_v4_store(r->out + i, combine(kind, ad_v4_all(*r->a), ad_v4_load(r->b + i), r));
    }
    row_any(kind, r, i, n);
}

static void row_copy(const struct row *r, int64_t n)
{
    if (r->so == 1 && r->sa == 1) {
        memcpy(r->out, r->a, (size_t)n * sizeof *r->out);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        r->out[i * r->so] = r->a[i * r->sa];
}

static void row_run(enum ad_elementwise_kind kind, const struct row *r, int64_t n)
{
    switch (kind) { /* each with a loop of its own */
    case AD_ELEMENTWISE_COPY:
        row_copy(r, n);
        break;
    case AD_ELEMENTWISE_CLAMP:
        row_kind(AD_ELEMENTWISE_CLAMP, r, n);
        break;
    case AD_ELEMENTWISE_ADD:
        row_kind(AD_ELEMENTWISE_ADD, r, n);
        break;
    case AD_ELEMENTWISE_SUB:
        row_kind(AD_ELEMENTWISE_SUB, r, n);
        break;
    case AD_ELEMENTWISE_MUL:
        row_kind(AD_ELEMENTWISE_MUL, r, n);
        break;
    case AD_ELEMENTWISE_DIV:
        row_kind(AD_ELEMENTWISE_DIV, r, n);
        break;
    case AD_ELEMENTWISE_MIN:
        row_kind(AD_ELEMENTWISE_MIN, r, n);
        break;
    case AD_ELEMENTWISE_MAX:
        row_kind(AD_ELEMENTWISE_MAX, r, n);
        break;
    case AD_ELEMENTWISE_POW:
        row_kind(AD_ELEMENTWISE_POW, r, n);
        break;
    case AD_ELEMENTWISE_PRELU:
        row_kind(AD_ELEMENTWISE_PRELU, r, n);
        break;
    case AD_ELEMENTWISE_LEAKY_RELU:
        row_kind(AD_ELEMENTWISE_LEAKY_RELU, r, n);
        break;
    case AD_ELEMENTWISE_SIGMOID:
        row_kind(AD_ELEMENTWISE_SIGMOID, r, n);
        break;
    case AD_ELEMENTWISE_SILU:
        row_kind(AD_ELEMENTWISE_SILU, r, n);
        break;
    case AD_ELEMENTWISE_HARD_SIGMOID:
        row_kind(AD_ELEMENTWISE_HARD_SIGMOID, r, n);
        break;
    case AD_ELEMENTWISE_HARD_SWISH:
        row_kind(AD_ELEMENTWISE_HARD_SWISH, r, n);
        break;
    case AD_ELEMENTWISE_FUNCTION:
        row_kind(AD_ELEMENTWISE_FUNCTION, r, n);
        break;
    case AD_ELEMENTWISE_COUNT:
        break;
    }
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
    struct row row = {.so = e->stride[0][last],
                      .sa = e->stride[1][last],
                      .sb = e->stride[2][last],
                      .lo = ad_v4_all(e->clamp_min),
                      .hi = ad_v4_all(e->clamp_max),
                      .alpha = ad_v4_all(e->alpha),
                      .beta = ad_v4_all(e->beta),
                      .function = ad_function_kernel_of(e->function)};
    for (int64_t r = first; r < end; r++) {
        row.out = e->out + offset[0];
        row.a = e->a + offset[1];
        row.b = e->b ? e->b + offset[2] : NULL;
        row_run(e->kind, &row, n);
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

void ad_elementwise_run(const struct ad_elementwise *e, struct pthreadpool *pool)
{
    struct cut cut = {.e = e, .rows = 1, .inner = e->count[e->rank - 1], .group = 1, .pieces = 1};
    for (int d = 0; d < e->rank - 1; d++)
        cut.rows *= e->count[d];
    if (cut.rows == 0 || cut.inner == 0)
        return;
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
                               .clamp_min = -__builtin_inff(),
                               .clamp_max = __builtin_inff()};
    set_strides(&e, 0, out);
    set_strides(&e, 1, a);
    if (b)
        set_strides(&e, 2, b);
    ad_elementwise_simplify(&e);
    return e;
}

static void swap(int64_t *a, int64_t *b)
{
    int64_t t = *a;
    *a = *b;
    *b = t;
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
