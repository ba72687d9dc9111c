/* Convolutions in tiles of pixels x panels of channels. */
#include "exec/conv.h"
#include "exec/conv_kernel.h"

#include "base/mem.h"

#include <string.h>

#define CHUNK 8 /* tiles of a unit of work, at most */

/* --- the processor --- */

static int most_lanes = 16;

void ad_conv_limit_lanes(int lanes)
{
    most_lanes = lanes;
}

static const struct ad_conv_kernel *find_kernel(void)
{
#if defined(__x86_64__)
    if (most_lanes >= 16 && __builtin_cpu_supports("avx512f"))
        return &ad_conv_avx512;
    if (most_lanes >= 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &ad_conv_fma3;
#endif
    return NULL;
}

bool ad_conv_able(void)
{
    return find_kernel() != NULL;
}

int64_t ad_conv_panel(void)
{
    const struct ad_conv_kernel *kernel = find_kernel();
    return kernel ? 2 * kernel->lanes : 1;
}

int64_t ad_conv_slice(int64_t depth, int64_t taps, size_t bytes)
{
    int64_t panel = ad_conv_panel();
    size_t each = (size_t)panel * (size_t)(depth * taps + 1) * sizeof(float);
    return bytes > each ? (int64_t)(bytes / each) * panel : panel;
}

/* --- packed weights --- */

/* The last panel may be half as wide. */
static int64_t panel_width(const struct ad_conv_kernel *kernel, int64_t left)
{
    return left > kernel->lanes ? 2 * kernel->lanes : kernel->lanes;
}

/* Behind the panels are zeros, for pixels in the padding. */
bool ad_conv_packed(int64_t channels, int64_t depth, int64_t taps, size_t *floats)
{
    int64_t lanes = ad_conv_panel() / 2;
    size_t rows;
    return ad_size_mul((size_t)depth, (size_t)taps, &rows) && ad_size_add(rows, 1, &rows) &&
           ad_size_mul((size_t)((channels + lanes - 1) / lanes * lanes), rows, floats) &&
           ad_size_add(*floats, (size_t)depth, floats);
}

void ad_conv_pack(float *packed, int64_t channels, int64_t depth, int64_t taps, int64_t first,
                  int64_t n, const float *kernel, const float *bias)
{
    const struct ad_conv_kernel *k = find_kernel();
    int64_t row = depth * taps;
    for (int64_t c = 0; c < n; c += 2 * k->lanes) {
        int64_t width = panel_width(k, channels - first - c);
        int64_t used = n - c < width ? n - c : width;
        float *to = packed + (first + c) * (row + 1);
        memset(to, 0, (size_t)(width * (row + 1)) * sizeof *to);
        for (int64_t i = 0; i < used; i++) {
            const float *from = kernel + (c + i) * row;
            to[i] = bias ? bias[c + i] : 0.0f;
            for (int64_t j = 0; j < row; j++)
                to[(j + 1) * width + i] = from[j];
        }
    }
    if (first + n == channels) {
        size_t all;
        if (ad_conv_packed(channels, depth, taps, &all))
            memset(packed + all - depth, 0, (size_t)depth * sizeof *packed);
    }
}

/* --- running --- */

struct work {
    const struct ad_conv *conv;
    const struct ad_conv_kernel *kernel;
    int64_t pixels, tiles; /* of the output */
    int64_t chunk, chunks; /* tiles of a unit; units of a slice */
    int64_t slice;         /* conv->slice or, for many threads, less */
    const float *zeros;
};

/* The pixels of a tile. */
struct pixels {
    int rows;
    int64_t offset[AD_CONV_ROWS];             /* of the first tap, from in.data */
    int64_t y[AD_CONV_ROWS], x[AD_CONV_ROWS]; /* of the first tap */
    float *out[AD_CONV_ROWS];
    const float *add[AD_CONV_ROWS];
    bool inside; /* all taps of all pixels lie in the input */
};

static void find_pixels(const struct work *work, int64_t first, int64_t end, struct pixels *p)
{
    const struct ad_conv *conv = work->conv;
    const struct ad_view *in = &conv->in, *out = &conv->out, *add = &conv->add;
    const struct ad_window *w = &conv->window;
    int64_t x = first % out->w, y = first / out->w % out->h, n = first / out->w / out->h;
    p->rows = (int)(end - first);
    p->inside = true;
    for (int m = 0; m < p->rows; m++) {
        p->y[m] = y * w->sh - conv->top;
        p->x[m] = x * w->sw - conv->left;
        p->offset[m] = n * in->sn + p->y[m] * in->sh + p->x[m] * in->sw;
        p->out[m] = out->data + n * out->sn + y * out->sh + x * out->sw;
        p->add[m] = add->data ? add->data + n * add->sn + y * add->sh + x * add->sw : NULL;
        p->inside &= p->y[m] >= 0 && p->y[m] + (w->kh - 1) * w->dh < in->h && p->x[m] >= 0 &&
                     p->x[m] + (w->kw - 1) * w->dw < in->w;
        if (++x == out->w) {
            x = 0;
            if (++y == out->h) {
                y = 0;
                n++;
            }
        }
    }
}

/* Where each tap finds its input. */
static void find_taps(const struct work *work, const struct pixels *p, const float **taps)
{
    const struct ad_conv *conv = work->conv;
    const struct ad_view *in = &conv->in;
    const struct ad_window *w = &conv->window;
    for (int64_t i = 0; i < w->kh; i++)
        for (int64_t j = 0; j < w->kw; j++, taps += AD_CONV_ROWS) {
            int64_t dy = i * w->dh, dx = j * w->dw, step = dy * in->sh + dx * in->sw;
            if (p->inside) {
                for (int m = 0; m < p->rows; m++)
                    taps[m] = in->data + p->offset[m] + step;
                continue;
            }
            for (int m = 0; m < p->rows; m++) {
                int64_t y = p->y[m] + dy, x = p->x[m] + dx;
                bool there = y >= 0 && y < in->h && x >= 0 && x < in->w;
                taps[m] = there ? in->data + p->offset[m] + step : work->zeros;
            }
        }
}

#define AHEAD_TILES 4 /* the last of a slice fetch the next one's weights */

/* What comes from memory for the first time is fetched while something else is computed: one line
 * per tap and channel of a job, which takes 14 clocks. The weights of the next slice, or of the
 * next convolution: each of the last tiles fetches its part of the panel in the same place. */
static bool weights_ahead(const struct work *work, int64_t tile, int64_t c0, int64_t c,
                          struct ad_conv_job *job)
{
    const struct ad_conv *conv = work->conv;
    int64_t row = job->taps * job->depth + 1, width = 2 * work->kernel->lanes;
    int64_t tiles = work->tiles < AHEAD_TILES ? work->tiles : AHEAD_TILES;
    int64_t part = tile - (work->tiles - tiles), step = width / tiles;
    int64_t at = (c - c0) * row + part * row * step, end = conv->ahead_floats;
    const float *from = conv->ahead;
    if (c0 + work->slice < conv->out.c) {
        from = conv->packed + (c0 + work->slice) * row;
        end = (conv->out.c - c0 - work->slice) * row;
    }
    if (part < 0 || !from || at + row * step > end)
        return false;
    job->ahead = from + at;
    job->ahead_step = step;
    return true;
}

/* The input of the next tile, in the window's last row: `pixels` is this tile's. */
static bool input_ahead(const struct work *work, const struct pixels *pixels,
                        struct ad_conv_job *job)
{
    const struct ad_conv *conv = work->conv;
    const struct ad_view *in = &conv->in;
    const struct ad_window *w = &conv->window;
    int64_t steps = job->taps * job->depth, count = pixels->rows * w->sw * in->sw;
    int64_t at = pixels->offset[pixels->rows - 1] + (w->kh - 1) * w->dh * in->sh +
                 ((w->kw - 1) * w->dw + w->sw) * in->sw;
    int64_t end = (in->n - 1) * in->sn + (in->h - 1) * in->sh + (in->w - 1) * in->sw + in->c;
    int64_t step = (count + steps - 1) / steps;
    if (!in->data || at < 0 || at + steps * step > end)
        return false;
    job->ahead = in->data + at;
    job->ahead_step = step;
    return true;
}

static void look_ahead(const struct work *work, const struct pixels *pixels, int64_t tile,
                       int64_t c0, int64_t c, struct ad_conv_job *job)
{
    if (weights_ahead(work, tile, c0, c, job) || (c == c0 && input_ahead(work, pixels, job)))
        return;
    job->ahead = job->weights;
    job->ahead_step = 0;
}

/* One tile, all channels of a slice. */
static void run_tile(const struct work *work, int64_t tile, int64_t c0, int64_t c1)
{
    const struct ad_conv *conv = work->conv;
    const float *taps[AD_CONV_TAPS * AD_CONV_ROWS];
    struct pixels p;
    find_pixels(work, work->pixels * tile / work->tiles, work->pixels * (tile + 1) / work->tiles,
                &p);
    find_taps(work, &p, taps);
    struct ad_conv_job job = {.in = taps,
                              .taps = (int64_t)conv->window.kh * conv->window.kw,
                              .depth = conv->in.c,
                              .out = p.out,
                              .add = conv->add.data ? p.add : NULL,
                              .lo = conv->clamp_min,
                              .hi = conv->clamp_max};
    for (int64_t c = c0, width; c < c1; c += width) {
        width = panel_width(work->kernel, conv->out.c - c);
        job.weights = conv->packed + c * (job.taps * job.depth + 1);
        job.c0 = c;
        job.channels = conv->out.c - c;
        look_ahead(work, &p, tile, c0, c, &job);
        work->kernel->tile[p.rows - 1][width / work->kernel->lanes - 1](&job);
    }
}

static void run_unit(void *self, size_t unit)
{
    const struct work *work = self;
    int64_t slice = (int64_t)unit / work->chunks;
    int64_t first = (int64_t)unit % work->chunks * work->chunk;
    int64_t end = first + work->chunk < work->tiles ? first + work->chunk : work->tiles;
    int64_t c0 = slice * work->slice, c1 = c0 + work->slice;
    c1 = c1 < work->conv->out.c ? c1 : work->conv->out.c;
    for (int64_t tile = first; tile < end; tile++)
        run_tile(work, tile, c0, c1);
}

static int64_t count_units(struct work *work)
{
    work->chunks = (work->tiles + work->chunk - 1) / work->chunk;
    return work->chunks * ((work->conv->out.c + work->slice - 1) / work->slice);
}

/* As many tiles and channels to a unit as leave enough units for all threads: first fewer tiles,
 * then fewer channels. Units go through the tiles of a slice before those of the next, and threads
 * begin at units far apart, so that each reads weights that the others do not. */
static int64_t cut_units(struct work *work, int threads)
{
    int64_t panel = 2 * work->kernel->lanes;
    int64_t wanted = threads > 1 ? (int64_t)AD_UNITS_PER_THREAD * threads : 1, units;
    work->chunk = CHUNK;
    work->slice = (work->conv->out.c + panel - 1) / panel * panel;
    if (work->slice > work->conv->slice)
        work->slice = work->conv->slice;
    while ((units = count_units(work)) < wanted && (work->chunk > 1 || work->slice > panel)) {
        if (work->chunk > 1)
            work->chunk /= 2;
        else
            work->slice = (work->slice / panel + 1) / 2 * panel;
    }
    return units;
}

void ad_conv_run(const struct ad_conv *conv, struct pthreadpool *pool)
{
    const struct ad_view *out = &conv->out;
    struct work work = {.conv = conv, .kernel = find_kernel(), .pixels = out->n * out->h * out->w};
    size_t all;
    if (work.pixels == 0 || out->c == 0 ||
        !ad_conv_packed(out->c, conv->in.c, (int64_t)conv->window.kh * conv->window.kw, &all))
        return;
    work.tiles = (work.pixels + work.kernel->rows - 1) / work.kernel->rows;
    work.zeros = conv->packed + all - conv->in.c;
    ad_pool_run(pool, run_unit, &work, (size_t)cut_units(&work, ad_pool_threads(pool)));
}

void ad_conv_look_ahead(struct ad_conv *conv, const struct ad_conv *next)
{
    int64_t channels = next->slice < next->out.c ? next->slice : next->out.c;
    conv->ahead = next->packed;
    conv->ahead_floats = channels * ((int64_t)next->window.kh * next->window.kw * next->in.c + 1);
}
