#include "exec/kernels/depthwise.h"
#include "exec/kernels/choice.h"
#include "exec/kernels/depthwise_kernel.h"
#include "exec/kernels/rows.h"
#include "exec/kernels/wide.h"

#include "base/mem.h"

#include <string.h>

/* --- the function after it --- */

/* Of so many channels, from the first of out on, of pixels [x0, x1) of a row. */
static void activate(const struct ad_depthwise *d, float *out, int64_t x0, int64_t x1,
                     int64_t channels)
{
    const struct ad_activation *then = &d->then;
    struct ad_row row = ad_row_of(then);
    ad_row_kernel *run = ad_rows();
    int64_t together = d->out.sw == channels ? x1 - x0 : 1;
    if (then->kind == AD_ELEMENTWISE_COPY)
        return;
    for (int64_t x = x0; x < x1; x += together) {
        row.a = row.out = out + x * d->out.sw;
        run(then->kind, &row, together * channels);
    }
}

/* --- pixel by pixel --- */

/* Packed: for each of `multiplier` output channels of an input channel [bias or tap][input
 * channel]. */
static void pack_wide(const struct ad_depthwise *d, int64_t channels, float *packed,
                      const float *kernel, const float *bias)
{
    int64_t taps = (int64_t)d->window.kh * d->window.kw;
    for (int64_t k = 0; k < d->multiplier; k++)
        for (int64_t t = -1; t < taps; t++)
            for (int64_t c = 0; c < channels; c++) {
                int64_t row = c * d->multiplier + k;
                float zero_or_bias = bias ? bias[row] : 0.0f;
                *packed++ = t < 0 ? zero_or_bias : kernel[row * taps + t];
            }
}

/* The taps of an output pixel that lie in the input, with the weights of the first channels. */
static int64_t find_taps(const struct ad_depthwise *d, int64_t n, int64_t y, int64_t x,
                         struct ad_wide_tap *taps)
{
    const struct ad_window *w = &d->window;
    int64_t count = 0;
    y = y * w->sh - d->top;
    x = x * w->sw - d->left;
    for (int64_t i = 0; i < w->kh; i++)
        for (int64_t j = 0; j < w->kw; j++) {
            int64_t iy = y + i * w->dh, ix = x + j * w->dw;
            if (iy < 0 || iy >= d->in.h || ix < 0 || ix >= d->in.w)
                continue;
            taps[count].x = d->in.data + n * d->in.sn + iy * d->in.sh + ix * d->in.sw;
            taps[count++].w = d->packed + (i * w->kw + j + 1) * d->in.c;
        }
    return count;
}

static void run_strip(const void *self, int64_t n, int64_t y, int64_t x0, int64_t x1)
{
    const struct ad_depthwise *d = self;
    const struct ad_wide_kernels *kernels = ad_wide();
    struct ad_wide_tap taps[AD_DEPTHWISE_TAPS];
    int64_t all = ((int64_t)d->window.kh * d->window.kw + 1) * d->in.c;
    float *row = d->out.data + n * d->out.sn + y * d->out.sh;
    for (int64_t x = x0; x < x1; x++) {
        struct ad_wide_depthwise job = {.taps = taps,
                                        .ntaps = find_taps(d, n, y, x, taps),
                                        .channels = d->in.c,
                                        .bias = d->packed,
                                        .lo = d->clamp_min,
                                        .hi = d->clamp_max,
                                        .out = row + x * d->out.sw,
                                        .out_step = d->multiplier};
        for (int64_t k = 0; k < d->multiplier; k++, job.bias += all, job.out++) {
            kernels->depthwise(&job);
            for (int64_t t = 0; t < job.ntaps; t++)
                taps[t].w += all;
        }
    }
    activate(d, row, x0, x1, d->out.c);
}

/* --- tiles --- */

bool ad_depthwise_able(int64_t columns, int64_t stride, int64_t dilation)
{
    return columns % 2 == 1 && columns >= 3 && columns < 3 + 2 * AD_DEPTHWISE_WIDTHS &&
           (stride == 1 || stride == 2) && dilation == 1;
}

/* Few channels take the narrower vectors, which have the same bits. */
static const struct ad_depthwise_kernel *find_kernel(int64_t channels)
{
    int lanes = ad_choose_conv_lanes(ad_processor());
#if defined(__x86_64__)
    if (lanes == 16 && channels >= 16)
        return &ad_depthwise_avx512;
    if (lanes >= 8)
        return &ad_depthwise_fma3;
#else
    (void)lanes, (void)channels;
#endif
    return NULL;
}

/* The first channel of a vector: the last one overlaps the one before it. */
static int64_t first_channel(int64_t channels, int64_t lanes, int64_t block)
{
    int64_t c = block * lanes;
    return c + lanes <= channels || channels < lanes ? c : channels - lanes;
}

static int64_t count_blocks(int64_t channels, int64_t lanes)
{
    return (channels + lanes - 1) / lanes;
}

/* Packed: [vector of channels][bias or tap][channel]. */
static void pack_tiles(const struct ad_depthwise *d, int64_t channels, float *packed,
                       const float *kernel, const float *bias)
{
    int64_t taps = (int64_t)d->window.kh * d->window.kw, lanes = find_kernel(channels)->lanes;
    for (int64_t block = 0; block < count_blocks(channels, lanes); block++) {
        int64_t first = first_channel(channels, lanes, block);
        for (int64_t t = -1; t < taps; t++)
            for (int64_t c = first; c < first + lanes; c++) {
                float zero_or_bias = bias && c < channels ? bias[c] : 0.0f;
                *packed++ = t < 0 || c >= channels ? zero_or_bias : kernel[c * taps + t];
            }
    }
}

bool ad_depthwise_packed(const struct ad_depthwise *d, int64_t channels, size_t *floats)
{
    size_t taps = (size_t)d->window.kh * (size_t)d->window.kw;
    if (d->tiled) {
        int64_t lanes = find_kernel(channels)->lanes;
        channels = count_blocks(channels, lanes) * lanes;
    }
    return ad_size_mul(taps + 1, (size_t)channels, floats) &&
           ad_size_mul(*floats, (size_t)d->multiplier, floats);
}

void ad_depthwise_pack(const struct ad_depthwise *d, int64_t channels, float *packed,
                       const float *kernel, const float *bias)
{
    if (d->tiled)
        pack_tiles(d, channels, packed, kernel, bias);
    else
        pack_wide(d, channels, packed, kernel, bias);
}

#define CHANNELS 64 /* at a time: of a few lines of each pixel no part is fetched twice */
#define BAND ((int64_t)128 << 10) /* bytes of output that a unit of work makes, about */

struct work {
    const struct ad_depthwise *d;
    const struct ad_depthwise_kernel *kernel;
    int64_t blocks, slices; /* vectors of channels; units of a band */
    int64_t band, bands;    /* rows of a unit; units of an image */
};

/* One row of vectors [b0, b1) of channels. */
static void run_row(const struct work *work, int64_t n, int64_t y, int64_t b0, int64_t b1)
{
    const struct ad_depthwise *d = work->d;
    const struct ad_window *w = &d->window;
    const struct ad_depthwise_kernel *kernel = work->kernel;
    int64_t lanes = kernel->lanes, all = ((int64_t)w->kh * w->kw + 1) * lanes;
    int64_t iy = y * w->sh - d->top, i0 = iy < 0 ? (-iy + w->dh - 1) / w->dh : 0;
    int64_t i1 = d->in.h > iy ? (d->in.h - iy + w->dh - 1) / w->dh : 0;
    bool partial = d->in.c < lanes;
    int64_t most = partial ? 1 : AD_DEPTHWISE_PIXELS, tiles = (d->out.w + most - 1) / most;
    i1 = i1 < w->kh ? i1 : w->kh;
    struct ad_depthwise_job job = {.row = w->dh * d->in.sh,
                                   .column = d->in.sw,
                                   .rows = i1 > i0 ? i1 - i0 : 0,
                                   .step = d->out.sw,
                                   .channels = d->in.c,
                                   .lo = d->clamp_min,
                                   .hi = d->clamp_max};
    for (int64_t t = 0, x, end; t < tiles; t++) {
        x = d->out.w * t / tiles;
        end = d->out.w * (t + 1) / tiles;
        int64_t ix = x * w->sw - d->left;
        int64_t at = n * d->in.sn + (iy + i0 * w->dh) * d->in.sh + ix * d->in.sw;
        float *out = d->out.data + n * d->out.sn + y * d->out.sh + x * d->out.sw;
        ad_depthwise_function *run = partial ? kernel->partial[w->kw / 2 - 1]
                                             : kernel->tile[w->kw / 2 - 1][w->sw - 1][end - x - 1];
        job.first = -ix;
        job.end = d->in.w - ix;
        for (int64_t block = b0; block < b1; block++) {
            int64_t c = first_channel(d->in.c, lanes, block);
            job.bias = d->packed + block * all;
            job.weights = job.bias + (i0 * w->kw + 1) * lanes;
            job.in = job.rows > 0 ? d->in.data + at + c : NULL;
            job.out = out + c;
            run(&job);
        }
    }
}

static void run_unit(void *self, size_t unit)
{
    const struct work *work = self;
    const struct ad_depthwise *d = work->d;
    int64_t lanes = work->kernel->lanes;
    int64_t slice = (int64_t)unit % work->slices, rest = (int64_t)unit / work->slices;
    int64_t b0 = work->blocks * slice / work->slices;
    int64_t b1 = work->blocks * (slice + 1) / work->slices;
    int64_t n = rest / work->bands, y0 = rest % work->bands * work->band;
    int64_t y1 = y0 + work->band < d->out.h ? y0 + work->band : d->out.h;
    int64_t c0 = b0 * lanes, c1 = b1 * lanes < d->out.c ? b1 * lanes : d->out.c;
    for (int64_t block = b0, next; block < b1; block = next) {
        next = block + CHANNELS / lanes < b1 ? block + CHANNELS / lanes : b1;
        for (int64_t y = y0; y < y1; y++)
            run_row(work, n, y, block, next);
    }
    for (int64_t y = y0; y < y1; y++)
        activate(d, d->out.data + n * d->out.sn + y * d->out.sh + c0, 0, d->out.w, c1 - c0);
}

/* Fewer rows, then fewer channels, until there are units for all threads. Of each slice two vectors
 * at least, since the last one overlaps the one before it. */
static int64_t cut_units(struct work *work, int threads)
{
    const struct ad_depthwise *d = work->d;
    int64_t wanted = threads > 1 ? (int64_t)AD_UNITS_PER_THREAD * threads : 1, units;
    int64_t row = d->out.w * d->out.c * (int64_t)sizeof(float);
    work->slices = 1;
    work->band = BAND / row > 1 ? BAND / row : 1;
    work->band = work->band < d->out.h ? work->band : d->out.h;
    for (;;) {
        work->bands = (d->out.h + work->band - 1) / work->band;
        units = d->out.n * work->bands * work->slices;
        if (units >= wanted || (work->band == 1 && work->slices * 4 > work->blocks))
            return units;
        if (work->band > 1)
            work->band = (work->band + 1) / 2;
        else
            work->slices *= 2;
    }
}

static void run_tiles(const struct ad_depthwise *d, struct pthreadpool *pool)
{
    const struct ad_depthwise_kernel *kernel = find_kernel(d->in.c);
    struct work work = {.d = d, .kernel = kernel, .blocks = count_blocks(d->in.c, kernel->lanes)};
    if (d->out.n * d->out.h * d->out.w * d->out.c > 0)
        ad_pool_run(pool, run_unit, &work, (size_t)cut_units(&work, ad_pool_threads(pool)));
}

void ad_depthwise_run(const struct ad_depthwise *d, struct pthreadpool *pool)
{
    if (d->tiled)
        run_tiles(d, pool);
    else
        ad_strips_run(&d->out, run_strip, d, pool);
}
