/* Depthwise convolutions of bytes: tiles of neighbours in a row x blocks of channels. */
#include "exec/kernels/q8_depthwise.h"
#include "exec/kernels/choice.h"
#include "exec/kernels/q8_depthwise_kernel.h"

#include "base/mem.h"

#include <string.h>

#define FLIP 0x80 /* between uint8 and int8 of 128 less */
#define PARTS 3   /* int8 that add up to any difference of two bytes */
#define ROWS (PARTS * AD_Q8_DEPTHWISE_TAPS + 3) /* of a packed window, at most */
#define INPUTS (5 * ROWS)                       /* of a tile, at most */

static const struct ad_q8_depthwise_kernel *find_kernel(int64_t channels)
{
    switch (ad_choose_q8(ad_processor())) {
#if defined(__x86_64__)
    case AD_Q8_AVX512_VNNI:
        return channels <= 32 ? &ad_q8_depthwise_half : &ad_q8_depthwise_avx512;
    case AD_Q8_AVX_VNNI:
        return &ad_q8_depthwise_avxvnni;
    case AD_Q8_AVX2:
        return &ad_q8_depthwise_avx2;
#elif defined(__aarch64__)
    case AD_Q8_NEON_DOT:
        return &ad_q8_depthwise_dot;
    case AD_Q8_NEON:
        return &ad_q8_depthwise_neon;
#endif
    default:
        (void)channels;
        return &ad_q8_depthwise_base;
    }
}

/* --- packed weights --- */

/* Weights whose zeros are not 0 are sums of some int8, each with rows of the window of its own. */
static int64_t count_rows(const struct ad_q8_depthwise_kernel *k, const struct ad_q8_depthwise *d)
{
    return d->window.kh * (d->asymmetric && k->weight == k->deep ? PARTS : 1);
}

static int64_t count_groups(const struct ad_q8_depthwise_kernel *k, const struct ad_q8_depthwise *d)
{
    return (count_rows(k, d) + k->deep - 1) / k->deep;
}

static int64_t block_bytes(const struct ad_q8_depthwise_kernel *k, const struct ad_q8_depthwise *d)
{
    int64_t channels = 4 * (int64_t)k->lanes;
    return channels * (3 * (int64_t)sizeof(float) + count_groups(k, d) * d->window.kw * k->weight);
}

static int64_t count_blocks(const struct ad_q8_depthwise_kernel *k, const struct ad_q8_depthwise *d)
{
    int64_t block = 4 * (int64_t)k->lanes;
    return (d->in.c + block - 1) / block;
}

/* The last block ends with the last channel, if there are channels enough. */
static int64_t first_channel(const struct ad_q8_depthwise_kernel *k,
                             const struct ad_q8_depthwise *d, int64_t index)
{
    int64_t block = 4 * (int64_t)k->lanes, first = index * block;
    return first + block > d->in.c && d->in.c > block ? d->in.c - block : first;
}

bool ad_q8_depthwise_able(const struct ad_window *w)
{
    return (int64_t)w->kh * w->kw <= AD_Q8_DEPTHWISE_TAPS;
}

bool ad_q8_depthwise_packed(const struct ad_q8_depthwise *d, size_t *bytes)
{
    const struct ad_q8_depthwise_kernel *k = find_kernel(d->in.c);
    return ad_size_mul((size_t)count_blocks(k, d), (size_t)block_bytes(k, d), bytes) &&
           ad_size_add(*bytes, (size_t)d->in.c, bytes); /* a pad */
}

static int32_t number_of(const struct ad_q8_weights *w, int64_t channel, int64_t tap)
{
    int32_t zero = w->zeros ? ad_q8_number(w->is_signed, w->zeros[channel * w->zero_step]) : 0;
    return ad_q8_number(w->is_signed, w->data[channel * w->channel + tap * w->tap]) - zero;
}

/* What row `row` of the packed window has of a number: all, where int16 are packed. */
static int32_t part_of(const struct ad_q8_depthwise_kernel *k, int32_t number, int64_t part)
{
    if (k->weight != k->deep)
        return number;
    for (; part > 0; part--)
        number -= number < INT8_MIN ? INT8_MIN : number > INT8_MAX ? INT8_MAX : number;
    return number < INT8_MIN ? INT8_MIN : number > INT8_MAX ? INT8_MAX : number;
}

/* Channel `channel` as lane `lane` of vector v of a block. */
static void pack_channel(const struct ad_q8_depthwise_kernel *k, const struct ad_q8_depthwise *d,
                         const struct ad_q8_weights *w, int64_t channel, char *block, int v,
                         int lane)
{
    int64_t lanes = k->lanes, at = v * lanes + lane, kh = d->window.kh, kw = d->window.kw;
    char *weights = block + 12 * 4 * lanes;
    int64_t sum = 0, each = k->weight / k->deep;
    for (int64_t row = 0; row < count_rows(k, d); row++)
        for (int64_t j = 0; j < kw; j++) {
            int32_t x = part_of(k, number_of(w, channel, row % kh * kw + j), row / kh);
            char *to = weights + (((row / k->deep * kw + j) * 4 + v) * lanes + lane) * k->weight +
                       row % k->deep * each;
            int16_t wide = (int16_t)x;
            int8_t byte = (int8_t)x;
            memcpy(to, each == 2 ? (void *)&wide : (void *)&byte, (size_t)each);
            sum += x;
        }
    int32_t zero = d->in_zero;
    if (d->in_signed != k->is_signed)
        zero += d->in_signed ? FLIP : -FLIP;
    int32_t begin = (int32_t)((w->bias ? w->bias[channel] : 0) - zero * sum);
    float multiplier = w->multiplier ? w->multiplier[channel * w->multiplier_step] : 1;
    float bias = w->float_bias ? w->float_bias[channel] : 0;
    memcpy(block + at * 4, &begin, 4);
    memcpy(block + (4 * lanes + at) * 4, &multiplier, 4);
    memcpy(block + (8 * lanes + at) * 4, &bias, 4);
}

void ad_q8_depthwise_pack(void *packed, const struct ad_q8_depthwise *d,
                          const struct ad_q8_weights *weights)
{
    const struct ad_q8_depthwise_kernel *k = find_kernel(d->in.c);
    int64_t blocks = count_blocks(k, d), bytes = block_bytes(k, d);
    memset(packed, 0, (size_t)(blocks * bytes));
    for (int64_t b = 0; b < blocks; b++)
        for (int i = 0; i < 4 * k->lanes; i++) {
            int64_t channel = first_channel(k, d, b) + i;
            if (channel < d->in.c)
                pack_channel(k, d, weights, channel, (char *)packed + b * bytes, i % 16 / 4,
                             i / 16 * 4 + i % 4);
        }
    memset((char *)packed + blocks * bytes, (uint8_t)d->in_zero, (size_t)d->in.c);
}

/* --- running --- */

struct work {
    const struct ad_q8_depthwise *d;
    const struct ad_q8_depthwise_kernel *kernel;
    ad_q8_depthwise_function *const *tiles; /* by pixels - 1; NULL: one pixel after the other */
    int64_t rows, blocks, block; /* of the window, filled up; of channels; bytes of a block */
    const uint8_t *pad;
};

/* A row of the output, and where column 0 of the rows that its windows read lies; NULL: padding. */
struct line {
    const struct work *work;
    int64_t n, y;
    const uint8_t *rows[ROWS];
};

static void find_line(struct line *line)
{
    const struct ad_q8_depthwise *d = line->work->d;
    const struct ad_window *w = &d->window;
    int64_t all = count_rows(line->work->kernel, d);
    for (int64_t i = 0; i < line->work->rows; i++) {
        int64_t iy = line->y * w->sh - d->top + i % w->kh * w->dh;
        bool there = i < all && iy >= 0 && iy < d->in.h && d->in.w > 0;
        line->rows[i] = there ? d->in.data + line->n * d->in.sn + iy * d->in.sh : NULL;
    }
}

/* The inputs of a tile whose first pixel is x. Returns the number of their columns. */
static int64_t find_inputs(const struct line *line, int64_t x, int pixels, const uint8_t **in)
{
    const struct work *work = line->work;
    const struct ad_q8_depthwise *d = work->d;
    const struct ad_window *w = &d->window;
    int64_t columns = (pixels - 1) * w->sw + w->kw, first = x * w->sw - d->left;
    int64_t step = w->dw * d->in.sw;
    bool inside = first >= 0 && first + (columns - 1) * w->dw < d->in.w;
    for (int64_t i = 0; i < work->rows; i++, in += columns) {
        const uint8_t *row = line->rows[i];
        if (row && inside) {
            row += first * d->in.sw;
            for (int64_t j = 0; j < columns; j++)
                in[j] = row + j * step;
            continue;
        }
        for (int64_t j = 0, ix = first; j < columns; j++, ix += w->dw)
            in[j] = row && ix >= 0 && ix < d->in.w ? row + ix * d->in.sw : work->pad;
    }
    return columns;
}

static void run_tile(const struct line *line, int64_t x, int pixels)
{
    const struct work *work = line->work;
    const struct ad_q8_depthwise *d = work->d;
    const struct ad_q8_depthwise_kernel *k = work->kernel;
    size_t size = ad_q8_bytes(d->out.result);
    const uint8_t *in[INPUTS];
    void *out[AD_Q8_DEPTHWISE_PIXELS];
    struct ad_q8_depthwise_job job = {.in = in,
                                      .groups = work->rows / k->deep,
                                      .taps = d->window.kw,
                                      .flip = d->in_signed == k->is_signed ? 0 : FLIP,
                                      .out = out,
                                      .how = &d->out};
    job.columns = find_inputs(line, x, pixels, in);
    for (int m = 0; m < pixels; m++)
        out[m] = (char *)d->out.data +
                 (size_t)(line->n * d->out.sn + line->y * d->out.sh + (x + m) * d->out.sw) * size;
    ad_q8_depthwise_function *run = work->tiles ? work->tiles[pixels - 1] : k->any;
    for (int64_t b = 0; b < work->blocks; b++) {
        job.channel = first_channel(k, d, b);
        job.n = d->in.c - job.channel;
        job.block = (const char *)d->packed + b * work->block;
        run(&job);
    }
}

static void run_strip(const void *self, int64_t image, int64_t y, int64_t x0, int64_t x1)
{
    const struct work *work = self;
    int64_t most = work->tiles ? work->kernel->pixels : 1, tiles = (x1 - x0 + most - 1) / most;
    struct line line = {.work = work, .n = image, .y = y};
    find_line(&line);
    for (int64_t t = 0; t < tiles; t++) {
        int64_t x = x0 + (x1 - x0) * t / tiles, end = x0 + (x1 - x0) * (t + 1) / tiles;
        run_tile(&line, x, (int)(end - x));
    }
}

void ad_q8_depthwise_run(const struct ad_q8_depthwise *d, struct pthreadpool *pool)
{
    const struct ad_q8_depthwise_kernel *k = find_kernel(d->in.c);
    const struct ad_window *w = &d->window;
    struct work work = {.d = d,
                        .kernel = k,
                        .rows = count_groups(k, d) * k->deep,
                        .blocks = count_blocks(k, d),
                        .block = block_bytes(k, d)};
    work.pad = (const uint8_t *)d->packed + work.blocks * work.block;
    if ((w->kw == 3 || w->kw == 5) && w->dw == 1 && w->sw <= 2)
        work.tiles = k->tile[w->kw / 2 - 1][w->sw - 1];
    const struct ad_view view = {
        .n = d->out.n, .h = d->out.h, .w = d->out.w, .c = d->out.c}; /* to be cut into strips */
    if (d->out.n * d->out.h * d->out.w * d->out.c > 0)
        ad_strips_run(&view, run_strip, &work, pool);
}
