/* Winograd convolutions: blocks of tiles, each in three passes. First the inputs of its
 * tiles are transformed into factors; then come the products, one for each number of a transformed
 * tile, which are 1x1 convolutions of as many pixels as there are tiles; then their sums are
 * transformed into outputs. */
#include "exec/kernels/winograd.h"
#include "exec/kernels/conv.h"
#include "exec/kernels/conv_kernel.h"
#include "exec/kernels/rows.h"

#include "base/mem.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define PACK_INPUTS 16 /* input channels transformed at the same time */

/* --- shapes --- */

/* The weights of each product. */
static struct ad_conv_blocks blocks_of(const struct ad_winograd_shape *s)
{
    return ad_conv_blocks(1, s->inputs, s->outputs, 1);
}

/* Floats of the weights of one product. */
static int64_t product_floats(const struct ad_winograd_shape *s)
{
    int64_t lanes = ad_conv_panel() / 2;
    return (s->outputs + lanes - 1) / lanes * lanes * (s->inputs + 1);
}

/* Packed weights: of each product; the bias; zeros for pixels in the padding. */
bool ad_winograd_packed(const struct ad_winograd_shape *s, size_t *floats)
{
    struct ad_conv_blocks blocks = blocks_of(s);
    return ad_conv_packed(&blocks, floats) && /* more than product_floats() */
           ad_size_mul(*floats, (size_t)ad_winograd_products(s), floats) &&
           ad_size_add(*floats, (size_t)s->outputs, floats) &&
           ad_size_add(*floats, (size_t)s->inputs, floats);
}

/* --- packing --- */

/* An axis of weights: three become m + 2, in double precision. `from` and `to` are of
 * PACK_INPUTS channels each, `step` of them apart. */
static void transform_line(int m, double (*w)[PACK_INPUTS], int step)
{
    static const double p = 0.75, q = 1.5;
    const double fp = 2 * p * p * (p * p - q * q), fq = 2 * q * q * (q * q - p * p);
    for (int c = 0; c < PACK_INPUTS; c++) {
        double a = w[0][c], b = w[step][c], d = w[2 * step][c];
        if (m == 2) {
            w[step][c] = (a + b + d) / 2;
            w[2 * step][c] = (a - b + d) / 2;
            w[3 * step][c] = d;
            continue;
        }
        w[0][c] = a / (p * p * q * q);
        w[step][c] = (a + p * b + p * p * d) / fp;
        w[2 * step][c] = (a - p * b + p * p * d) / fp;
        w[3 * step][c] = (a + q * b + q * q * d) / fq;
        w[4 * step][c] = (a - q * b + q * q * d) / fq;
        w[5 * step][c] = d;
    }
}

/* The transformed weights of an output channel, for PACK_INPUTS input channels from c on. */
static void transform_weights(const struct ad_winograd_shape *s, const float *kernel, int64_t c,
                              double (*w)[PACK_INPUTS])
{
    int rows = ad_winograd_inputs(s->m, s->kh), columns = ad_winograd_inputs(s->m, s->kw);
    memset(w, 0, AD_WINOGRAD_PRODUCTS * sizeof *w);
    for (int i = 0; i < s->kh; i++)
        for (int j = 0; j < s->kw; j++)
            for (int64_t k = 0; k < PACK_INPUTS && c + k < s->inputs; k++)
                w[i * columns + j][k] = kernel[(i * s->kw + j) * s->inputs + c + k];
    for (int j = 0; j < s->kw && s->kh == 3; j++)
        transform_line(s->m, w + j, columns);
    for (int i = 0; i < rows && s->kw == 3; i++)
        transform_line(s->m, w + i * columns, 1);
}

void ad_winograd_pack(float *packed, const struct ad_winograd_shape *s, int64_t first, int64_t n,
                      const float *kernel, const float *bias)
{
    struct ad_conv_blocks blocks = blocks_of(s);
    int64_t each = product_floats(s), row = s->inputs * s->kh * s->kw;
    int count = ad_winograd_products(s);
    float *biases = packed + count * each;
    double w[AD_WINOGRAD_PRODUCTS][PACK_INPUTS];
    if (first == 0)
        memset(packed, 0, (size_t)(count * each + s->outputs + s->inputs) * sizeof *packed);
    for (int64_t o = 0; o < n; o++) {
        int64_t width, at = ad_conv_at(&blocks, first + o, &width);
        biases[first + o] = bias ? bias[o] : 0.0f;
        for (int64_t c = 0; c < s->inputs; c += PACK_INPUTS) {
            transform_weights(s, kernel + o * row, c, w);
            for (int p = 0; p < count; p++) {
                float *to = packed + p * each + at + (c + 1) * width;
                for (int64_t k = 0; k < PACK_INPUTS && c + k < s->inputs; k++)
                    to[k * width] = (float)w[p][k];
            }
        }
    }
}

/* --- running --- */

/* Tiles [first, end) of all, and where their factors and sums lie. */
struct block {
    int64_t first, end;
    float *factors, *sums;
};

struct work {
    const struct ad_winograd *w;
    const struct ad_conv_kernel *kernel;
    struct ad_winograd_transform transform;
    ad_row_kernel *activate;
    struct ad_conv_blocks blocks;
    int products;
    int mh, mw;                 /* outputs of a tile, */
    int dh, dw;                 /* so far apart */
    int ph, pw;                 /* inputs of a tile */
    int64_t across, down;       /* tiles of an image */
    int64_t tiles, block_tiles; /* in all; of a block */
    const float *bias, *zeros;
    struct block block; /* that all threads work at, or none */
    atomic_llong next;  /* block of which nobody takes care yet */
    int64_t panels;     /* of output channels */
};

static int64_t block_size(const struct block *b)
{
    return b->end - b->first;
}

/* The first output of a tile along an axis, from a line of the grid. */
static int64_t first_output(int64_t tile, int m, int dilation)
{
    return tile / dilation * dilation * m + tile % dilation;
}

/* The image of a tile, and its first output, counted from the first of `out`. */
static void find_tile(const struct work *work, int64_t tile, int64_t *n, int64_t *y, int64_t *x)
{
    int64_t row = tile / work->across;
    *x = first_output(tile % work->across, work->mw, work->dw) - work->w->before;
    *y = first_output(row % work->down, work->mh, work->dh) - work->w->above;
    *n = row / work->down;
}

static void spread(const struct work *work, const struct block *b, int64_t tile)
{
    const struct ad_view *in = &work->w->in;
    const float *taps[AD_WINOGRAD_PRODUCTS], **at = taps;
    int64_t n, y, x;
    find_tile(work, tile, &n, &y, &x);
    y += work->w->above - work->w->top;
    x += work->w->before - work->w->left;
    for (int64_t i = y; i < y + (int64_t)work->ph * work->dh; i += work->dh)
        for (int64_t j = x; j < x + (int64_t)work->pw * work->dw; j += work->dw)
            *at++ = i >= 0 && i < in->h && j >= 0 && j < in->w
                        ? in->data + n * in->sn + i * in->sh + j * in->sw
                        : work->zeros;
    int64_t inputs = work->w->shape.inputs;
    struct ad_winograd_spread job = {.in = taps,
                                     .channels = inputs,
                                     .out = b->factors + (tile - b->first) * inputs,
                                     .step = block_size(b) * inputs};
    work->transform.spread(&job);
}

static void gather(const struct work *work, const struct block *b, int64_t tile)
{
    const struct ad_winograd *w = work->w;
    const struct ad_view *out = &w->out, *add = &w->add;
    float *to[AD_WINOGRAD_PRODUCTS] = {NULL};
    const float *addends[AD_WINOGRAD_PRODUCTS] = {NULL};
    int64_t n, y, x;
    find_tile(work, tile, &n, &y, &x);
    for (int i = 0; i < work->mh; i++)
        for (int j = 0; j < work->mw; j++) {
            int64_t at_y = y + (int64_t)i * work->dh, at_x = x + (int64_t)j * work->dw;
            if (at_y < 0 || at_y >= out->h || at_x < 0 || at_x >= out->w)
                continue;
            to[i * work->mw + j] = out->data + n * out->sn + at_y * out->sh + at_x * out->sw;
            if (add->data)
                addends[i * work->mw + j] =
                    add->data + n * add->sn + at_y * add->sh + at_x * add->sw;
        }
    struct ad_winograd_gather job = {.in = b->sums + (tile - b->first) * out->c,
                                     .step = block_size(b) * out->c,
                                     .bias = work->bias,
                                     .channels = out->c,
                                     .out = to,
                                     .add = add->data ? addends : NULL,
                                     .lo = w->clamp_min,
                                     .hi = w->clamp_max};
    work->transform.gather(&job);
    struct ad_row row = ad_row_of(&w->then);
    for (int i = 0; i < work->mh * work->mw && w->then.kind != AD_ELEMENTWISE_COPY; i++)
        if ((row.a = row.out = to[i]))
            work->activate(w->then.kind, &row, out->c);
}

/* One panel of one product. */
static void multiply(const struct work *work, const struct block *b, int64_t product, int64_t panel)
{
    const struct ad_winograd_shape *s = &work->w->shape;
    const struct ad_conv_kernel *kernel = work->kernel;
    int64_t width, c = panel * 2 * kernel->lanes, size = block_size(b);
    int64_t at = ad_conv_at(&work->blocks, c, &width), each = product_floats(s);
    int64_t all = work->products * each, begin = product * each + at;
    int64_t next = begin + width * (s->inputs + 1),
            parts = (size + kernel->rows - 1) / kernel->rows;
    const float *factors = b->factors + product * size * s->inputs, *in[AD_CONV_ROWS];
    float *out[AD_CONV_ROWS], *sums = b->sums + product * size * s->outputs;
    struct ad_conv_job job = {.in = in,
                              .taps = 1,
                              .depth = s->inputs,
                              .weights = work->w->packed + begin,
                              .out = out,
                              .c0 = c,
                              .channels = s->outputs - c,
                              .lo = -INFINITY,
                              .hi = INFINITY};
    for (int64_t part = 0; part < parts; part++) {
        int64_t first = size * part / parts, rows = size * (part + 1) / parts - first;
        for (int64_t r = 0; r < rows; r++) {
            in[r] = factors + (first + r) * s->inputs;
            out[r] = sums + (first + r) * s->outputs;
        }
        int64_t step = (width + parts - 1) / parts, ahead = next + part * step * s->inputs;
        bool there = ahead + step * s->inputs <= all; /* the next panel's weights */
        job.ahead = there ? work->w->packed + ahead : job.weights;
        job.ahead_step = there ? step : 0;
        kernel->tile[rows - 1][width / kernel->lanes - 1](&job);
    }
}

/* A thread takes one block after the other. */
static void run_blocks(void *self, size_t thread)
{
    struct work *work = self;
    const struct ad_winograd_shape *s = &work->w->shape;
    int64_t room = work->block_tiles * work->products;
    struct block b = {.factors =
                          work->w->scratch + (int64_t)thread * room * (s->inputs + s->outputs)};
    b.sums = b.factors + room * s->inputs;
    int64_t blocks = (work->tiles + work->block_tiles - 1) / work->block_tiles;
    for (;;) {
        int64_t i = atomic_fetch_add(&work->next, 1);
        if (i >= blocks)
            return;
        b.first = work->tiles * i / blocks;
        b.end = work->tiles * (i + 1) / blocks;
        for (int64_t tile = b.first; tile < b.end; tile++)
            spread(work, &b, tile);
        for (int64_t p = 0; p < work->products; p++)
            for (int64_t panel = 0; panel < work->panels; panel++)
                multiply(work, &b, p, panel);
        for (int64_t tile = b.first; tile < b.end; tile++)
            gather(work, &b, tile);
    }
}

/* All threads work at one block. */
static void spread_unit(void *self, size_t unit)
{
    struct work *work = self;
    spread(work, &work->block, work->block.first + (int64_t)unit);
}

static void multiply_unit(void *self, size_t unit)
{
    struct work *work = self;
    multiply(work, &work->block, (int64_t)unit / work->panels, (int64_t)unit % work->panels);
}

static void gather_unit(void *self, size_t unit)
{
    struct work *work = self;
    gather(work, &work->block, work->block.first + (int64_t)unit);
}

static void run_together(struct work *work, struct pthreadpool *pool)
{
    const struct ad_winograd_shape *s = &work->w->shape;
    int64_t most = work->block_tiles * work->w->threads;
    int64_t blocks = (work->tiles + most - 1) / most;
    for (int64_t i = 0; i < blocks; i++) {
        struct block *b = &work->block;
        b->first = work->tiles * i / blocks;
        b->end = work->tiles * (i + 1) / blocks;
        b->factors = work->w->scratch;
        b->sums = b->factors + block_size(b) * work->products * s->inputs;
        ad_pool_run(pool, spread_unit, work, (size_t)block_size(b));
        ad_pool_run(pool, multiply_unit, work, (size_t)(work->products * work->panels));
        ad_pool_run(pool, gather_unit, work, (size_t)block_size(b));
    }
}

void ad_winograd_run(const struct ad_winograd *w, struct pthreadpool *pool)
{
    const struct ad_winograd_shape *s = &w->shape;
    int64_t panel = ad_conv_panel();
    struct work work = {.w = w,
                        .kernel = ad_conv_kernel(),
                        .activate = ad_rows(),
                        .blocks = blocks_of(s),
                        .products = ad_winograd_products(s),
                        .mh = ad_winograd_tile(s->m, s->kh),
                        .mw = ad_winograd_tile(s->m, s->kw),
                        .dh = s->dh,
                        .dw = s->dw,
                        .ph = ad_winograd_inputs(s->m, s->kh),
                        .pw = ad_winograd_inputs(s->m, s->kw),
                        .block_tiles = ad_winograd_block(s),
                        .panels = (s->outputs + panel - 1) / panel};
    int window = s->kh == 1 ? 2 : s->kw == 1 ? 1 : 0;
    work.transform = work.kernel->winograd.of[s->m / 2 - 1][window];
    work.across = ad_winograd_tiles(s->m, s->kw, s->dw, w->before + w->out.w);
    work.down = ad_winograd_tiles(s->m, s->kh, s->dh, w->above + w->out.h);
    work.tiles = w->out.n * work.across * work.down;
    work.bias = w->packed + work.products * product_floats(s);
    work.zeros = work.bias + s->outputs;
    if (w->out.h == 0 || w->out.w == 0 || w->out.c == 0)
        return;
    int threads = ad_pool_threads(pool);
    threads = threads < w->threads ? threads : w->threads;
    if (work.block_tiles > work.tiles)
        work.block_tiles = work.tiles;
    if (threads == 1)
        run_blocks(&work, 0);
    else if (work.tiles >= AD_UNITS_PER_THREAD * threads * work.block_tiles)
        ad_pool_run(pool, run_blocks, &work, (size_t)threads);
    else
        run_together(&work, pool);
}
