#include "exec/kernels/q8_product.h"
#include "exec/kernels/q8_conv.h"
#include "exec/kernels/xnn.h"

#include "base/mem.h"

#define COLUMNS 64 /* that a unit of work packs */

struct work {
    const struct ad_q8_product *p;
    struct ad_q8_shape shape;
    size_t matrix;             /* bytes of a matrix b packed */
    int64_t parts;             /* units that pack a matrix */
    int64_t rows;              /* of a matrix a; all of them where b is one matrix */
    struct pthreadpool *inner; /* the threads that share a product */
};

/* Matrices of b. */
static int64_t matrices(const struct ad_q8_product *p)
{
    return p->one_b ? 1 : p->count;
}

static struct ad_q8_shape shape_of(const struct ad_q8_product *p)
{
    return (struct ad_q8_shape){.groups = 1, .outputs = p->columns, .taps = 1, .depth = p->depth};
}

bool ad_q8_product_scratch(const struct ad_q8_product *p, size_t *bytes)
{
    const struct ad_q8_shape shape = shape_of(p);
    return ad_q8_conv_packed(&shape, bytes) && ad_size_mul(*bytes, (size_t)matrices(p), bytes);
}

/* What a zero point is as a byte of its type. */
static uint8_t zero_byte(const struct ad_q8 *q)
{
    return (uint8_t)q->zero;
}

/* Some columns of one matrix. */
static void pack_unit(void *self, size_t unit)
{
    const struct work *work = self;
    const struct ad_q8_product *p = work->p;
    int64_t matrix = (int64_t)unit / work->parts, first = (int64_t)unit % work->parts * COLUMNS;
    int64_t n = p->columns - first < COLUMNS ? p->columns - first : COLUMNS;
    const uint8_t zero = zero_byte(&p->b_is);
    const struct ad_q8_weights columns = {.data = p->b + matrix * p->depth * p->columns + first,
                                          .channel = 1,
                                          .input = p->columns,
                                          .is_signed = p->b_is.is_signed,
                                          .zeros = &zero,
                                          .multiplier = &p->multiplier};
    ad_q8_conv_pack((char *)p->scratch + (size_t)matrix * work->matrix, &work->shape, 0, first, n,
                    &columns, &p->a_is);
}

static void multiply_unit(void *self, size_t unit)
{
    const struct work *work = self;
    const struct ad_q8_product *p = work->p;
    int64_t matrix = (int64_t)unit, columns = p->columns;
    int64_t in = work->rows * p->depth, out = work->rows * columns;
    struct ad_q8_conv conv = {
        .in = {.data = (uint8_t *)(uintptr_t)p->a + (p->one_a ? 0 : matrix * in),
               .n = 1,
               .h = 1,
               .w = work->rows,
               .c = p->depth,
               .sn = in,
               .sh = in,
               .sw = p->depth},
        .in_signed = p->a_is.is_signed,
        .in_zero = p->a_is.zero,
        .out = p->out,
        .window = {.kh = 1, .kw = 1, .sh = 1, .sw = 1, .dh = 1, .dw = 1},
        .shape = work->shape,
        .asymmetric = p->b_is.zero != (p->b_is.is_signed ? 0 : 128),
        .packed = (char *)p->scratch + (p->one_b ? 0 : (size_t)matrix * work->matrix),
        .slice = ad_q8_conv_slice(&work->shape, p->slice_bytes)};
    conv.out.data = (char *)p->out.data + (size_t)(matrix * out) * ad_q8_bytes(p->out.result);
    conv.out.n = conv.out.h = 1;
    conv.out.w = work->rows;
    conv.out.c = conv.out.sw = columns;
    conv.out.sn = conv.out.sh = out;
    ad_q8_conv_run(&conv, work->inner);
}

void ad_q8_product_run(const struct ad_q8_product *p, struct pthreadpool *pool)
{
    bool joined = p->one_b && !p->one_a; /* all rows are multiplied by one matrix */
    int64_t count = joined ? 1 : p->count;
    struct work work = {.p = p,
                        .shape = shape_of(p),
                        .parts = (p->columns + COLUMNS - 1) / COLUMNS,
                        .rows = joined ? p->rows * p->count : p->rows};
    (void)ad_q8_conv_packed(&work.shape, &work.matrix); /* as ad_q8_product_scratch() found */
    ad_pool_run(pool, pack_unit, &work, (size_t)(matrices(p) * work.parts));
    if (count >= (int64_t)AD_UNITS_PER_THREAD * ad_pool_threads(pool)) {
        ad_pool_run(pool, multiply_unit, &work, (size_t)count);
        return;
    }
    work.inner = pool; /* too few of them: threads share each */
    for (int64_t i = 0; i < count; i++)
        multiply_unit(&work, (size_t)i);
}
