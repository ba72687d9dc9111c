#include "exec/kernels/product.h"
#include "exec/kernels/conv.h"
#include "exec/kernels/conv_kernel.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define CHUNK 8 /* tiles of a unit of work */

struct work {
    const struct ad_product *p;
    const struct ad_conv_kernel *kernel;
    struct ad_conv_blocks blocks; /* b's columns are the output channels of a convolution */
    int64_t panels, matrix;       /* of a matrix b; floats of it packed */
    int64_t rows, chunks;         /* of a unit; of a matrix a */
};

/* Matrices of b. */
static int64_t matrices(const struct ad_product *p)
{
    return p->one_b ? 1 : p->count;
}

static int64_t matrix_floats(const struct ad_product *p)
{
    int64_t lanes = ad_conv_panel() / 2;
    return (p->columns + lanes - 1) / lanes * lanes * (p->depth + 1);
}

bool ad_product_scratch(const struct ad_product *p, size_t *floats)
{
    struct ad_conv_blocks blocks = ad_conv_blocks(1, p->depth, p->columns, 1);
    return ad_conv_packed(&blocks, floats) && /* more than matrix_floats() */
           ad_size_mul(*floats, (size_t)matrices(p), floats);
}

/* A panel of one matrix: zeros to begin the sums with, then the rows of b. */
static void pack_unit(void *self, size_t unit)
{
    const struct work *work = self;
    const struct ad_product *p = work->p;
    int64_t matrix = (int64_t)unit / work->panels, width;
    int64_t first = (int64_t)unit % work->panels * 2 * work->kernel->lanes;
    int64_t at = ad_conv_at(&work->blocks, first, &width);
    int64_t used = p->columns - first < width ? p->columns - first : width;
    const float *from = p->b + matrix * p->depth * p->columns + first;
    float *to = p->scratch + matrix * work->matrix + at;
    memset(to, 0, (size_t)width * sizeof *to);
    for (int64_t k = 0; k < p->depth; k++, from += p->columns) {
        to += width;
        memcpy(to, from, (size_t)used * sizeof *to);
        for (int64_t i = used; i < width; i++)
            to[i] = 0;
    }
}

/* Some rows of a matrix a times a panel. */
static void multiply_unit(void *self, size_t unit)
{
    const struct work *work = self;
    const struct ad_product *p = work->p;
    const struct ad_conv_kernel *kernel = work->kernel;
    int64_t panel = (int64_t)unit % work->panels,
            chunk = (int64_t)unit / work->panels % work->chunks;
    int64_t matrix = (int64_t)unit / work->panels / work->chunks, width;
    int64_t first = panel * 2 * kernel->lanes, at = ad_conv_at(&work->blocks, first, &width);
    int64_t row = chunk * work->rows, end = row + work->rows < p->rows ? row + work->rows : p->rows;
    const float *a = p->a + (p->one_a ? 0 : matrix) * p->rows * p->depth, *in[AD_CONV_ROWS];
    const float *packed = p->scratch + (p->one_b ? 0 : matrix) * work->matrix + at;
    float *out = p->out + matrix * p->rows * p->columns, *to[AD_CONV_ROWS];
    struct ad_conv_job job = {.in = in,
                              .taps = 1,
                              .depth = p->depth,
                              .weights = packed,
                              .out = to,
                              .c0 = first,
                              .channels = p->columns - first,
                              .lo = -INFINITY,
                              .hi = INFINITY,
                              .ahead = packed};
    int64_t tiles = (end - row + kernel->rows - 1) / kernel->rows, rows = end - row;
    for (int64_t tile = 0; tile < tiles; tile++) {
        int64_t from = row + rows * tile / tiles, n = row + rows * (tile + 1) / tiles - from;
        for (int64_t m = 0; m < n; m++) {
            in[m] = a + (from + m) * p->depth;
            to[m] = out + (from + m) * p->columns;
        }
        kernel->tile[n - 1][width > kernel->lanes](&job);
    }
}

void ad_product_run(const struct ad_product *p, struct pthreadpool *pool)
{
    const struct ad_conv_kernel *kernel = ad_conv_kernel();
    int64_t panel = ad_conv_panel();
    struct work work = {.p = p,
                        .kernel = kernel,
                        .blocks = ad_conv_blocks(1, p->depth, p->columns, 1),
                        .panels = (p->columns + panel - 1) / panel,
                        .matrix = matrix_floats(p),
                        .rows = (int64_t)CHUNK * kernel->rows};
    work.chunks = (p->rows + work.rows - 1) / work.rows;
    ad_pool_run(pool, pack_unit, &work, (size_t)(matrices(p) * work.panels));
    ad_pool_run(pool, multiply_unit, &work, (size_t)(p->count * work.chunks * work.panels));
}
