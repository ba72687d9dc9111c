/* Loop nests over strided operands: copies, arithmetic, activations. */
#include "exec/kernels/kernels.h"
#include "exec/kernels/rows.h"

#include <string.h>

#define UNIT 8192 /* elements of one piece of work */

static void row_copy(const struct ad_row *r, int64_t n)
{
    if (r->so == 1 && r->sa == 1) {
        memcpy(r->out, r->a, (size_t)n * sizeof *r->out);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        r->out[i * r->so] = r->a[i * r->sa];
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
        row.out = e->out + offset[0];
        row.a = e->a + offset[1];
        row.b = e->b ? e->b + offset[2] : NULL;
        if (e->kind == AD_ELEMENTWISE_COPY)
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
