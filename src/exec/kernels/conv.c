/* Convolutions in tiles of pixels x panels of channels. */
#include "exec/kernels/conv.h"
#include "exec/kernels/choice.h"
#include "exec/kernels/conv_kernel.h"
#include "exec/kernels/rows.h"

#include "base/mem.h"

#include <string.h>

#define CHUNK 8 /* tiles of a unit of work, at most */

/* Rows of a window, and floats of a row, that are copied where they reach into the pads at the
 * sides: those of pictures. Taps are looked up one by one where they have more channels. */
#define COPIES 7
#define COPY 32

/* --- the processor --- */

const struct ad_conv_kernel *ad_conv_kernel(void)
{
    const struct ad_processor *p = ad_processor();
#if defined(__x86_64__)
    int lanes = ad_choose_conv_lanes(p);
    if (lanes == 16)
        return &ad_conv_avx512;
    if (lanes == 8)
        return &ad_conv_fma3;
#elif defined(__aarch64__)
    if (p->instructions & AD_HAS_NEON_FMA)
        return &ad_conv_neon;
#else
    (void)p;
#endif
    return &ad_conv_base;
}

bool ad_conv_able(void)
{
    return ad_choose_conv_lanes(ad_processor()) > 0;
}

int64_t ad_conv_panel(void)
{
    return 2 * ad_conv_kernel()->lanes;
}

struct ad_conv_blocks ad_conv_blocks(int64_t groups, int64_t inputs, int64_t outputs, int64_t taps)
{
    const struct ad_conv_kernel *kernel = ad_conv_kernel();
    if (groups > 1 && ad_conv_is_narrow(kernel->lanes, inputs, outputs))
        return (struct ad_conv_blocks){true, 1, groups * outputs, inputs, taps};
    return (struct ad_conv_blocks){false, groups, outputs, inputs, taps};
}

/* --- packed weights --- */

/* The last panel of a block may be half as wide; all of narrow groups are. */
static int64_t panel_width(const struct ad_conv_kernel *kernel, const struct ad_conv_blocks *b,
                           int64_t left)
{
    return left > kernel->lanes && !b->narrow ? 2 * kernel->lanes : kernel->lanes;
}

/* Floats of an output channel. */
static int64_t row_floats(const struct ad_conv_blocks *b)
{
    return b->depth * b->taps + 1;
}

int64_t ad_conv_at(const struct ad_conv_blocks *b, int64_t channel, int64_t *width)
{
    const struct ad_conv_kernel *kernel = ad_conv_kernel();
    int64_t first = channel / ad_conv_panel() * ad_conv_panel();
    *width = panel_width(kernel, b, b->channels - first);
    if (b->narrow)
        first = channel / *width * *width;
    return first * row_floats(b) + channel - first;
}

static int64_t block_floats(const struct ad_conv_kernel *kernel, const struct ad_conv_blocks *b)
{
    return (b->channels + kernel->lanes - 1) / kernel->lanes * kernel->lanes * row_floats(b);
}

/* After the blocks come zeros, which are read for pixels in the padding: as many as a pixel or a
 * row of the window. */
static int64_t zeros(const struct ad_conv_blocks *b)
{
    int64_t pixel = b->narrow ? b->channels : b->blocks * b->depth, row = b->depth * b->taps;
    return pixel > row ? pixel : row;
}

int64_t ad_conv_slice(const struct ad_conv_blocks *blocks, size_t bytes)
{
    int64_t panel = ad_conv_panel();
    size_t each = (size_t)(panel * row_floats(blocks)) * sizeof(float);
    return bytes > each ? (int64_t)(bytes / each) * panel : panel;
}

bool ad_conv_packed(const struct ad_conv_blocks *b, size_t *floats)
{
    size_t lanes = (size_t)ad_conv_panel() / 2, rows, pixel;
    size_t channels = ((size_t)b->channels + lanes - 1) / lanes * lanes;
    return ad_size_mul((size_t)b->depth, (size_t)b->taps, &rows) && ad_size_add(rows, 1, &rows) &&
           ad_size_mul(channels, rows, floats) && ad_size_mul(*floats, (size_t)b->blocks, floats) &&
           ad_size_mul((size_t)b->blocks, (size_t)b->depth, &pixel) &&
           ad_size_add(*floats, (size_t)zeros(b), floats);
}

void ad_conv_pack(float *packed, const struct ad_conv_blocks *blocks, int64_t block, int64_t first,
                  int64_t n, const float *kernel, const float *bias)
{
    const struct ad_conv_kernel *k = ad_conv_kernel();
    int64_t row = row_floats(blocks) - 1;
    float *to = packed + block * block_floats(k, blocks) + first * (row + 1);
    for (int64_t c = 0, width; c < n; c += width, to += width * (row + 1)) {
        width = panel_width(k, blocks, blocks->channels - first - c);
        int64_t used = n - c < width ? n - c : width;
        memset(to, 0, (size_t)(width * (row + 1)) * sizeof *to);
        for (int64_t i = 0; i < used; i++) {
            const float *from = kernel + (c + i) * row;
            to[i] = bias ? bias[c + i] : 0.0f;
            for (int64_t j = 0; j < row; j++)
                to[(j + 1) * width + i] = from[j];
        }
    }
    if (block + 1 == blocks->blocks && first + n == blocks->channels)
        memset(to, 0, (size_t)zeros(blocks) * sizeof *to);
}

/* --- running --- */

struct work {
    const struct ad_conv *conv;
    const struct ad_conv_kernel *kernel;
    ad_row_kernel *activate;
    int64_t pixels, tiles;  /* of the output */
    int64_t chunk, chunks;  /* tiles of a unit; units of a slice */
    int64_t slice;          /* channels: conv->slice or, for many threads, less */
    int64_t blocks, slices; /* blocks of a slice, or slices of a block: one of them is 1 */
    int64_t row, block;     /* floats of packed weights: of a channel, of a block */
    int64_t ahead;          /* floats between what is fetched of the next tile's input */
    bool rows;              /* taps of a row of the window may be one after the other */
    const float *zeros;
};

/* What a unit computes: channels [c0, c1) of blocks [b0, b1). */
struct slice {
    int64_t b0, b1, c0, c1;
};

/* Of neighbours in a row of the output, the first. */
struct neighbours {
    int64_t n, y, x;
    int count; /* of a tile's */
};

/* The pixels of a tile. */
struct pixels {
    int rows;
    struct neighbours first;
    int64_t offset[AD_CONV_ROWS]; /* of the first tap, from in.data */
    float *out[AD_CONV_ROWS];
    const float *add[AD_CONV_ROWS];
    bool inside[2]; /* all taps of all pixels lie in the input's height, in its width */
};

static struct neighbours first_neighbours(const struct work *work, int64_t pixel, int pixels)
{
    const struct ad_view *out = &work->conv->out;
    int64_t row = pixel / out->w, x = pixel - row * out->w, count = out->w - x;
    return (struct neighbours){.n = out->n == 1 ? 0 : row / out->h,
                               .y = out->n == 1 ? row : row % out->h,
                               .x = x,
                               .count = count < pixels ? (int)count : pixels};
}

/* `left` pixels of the tile are in later rows. */
static void next_neighbours(const struct work *work, struct neighbours *r, int left)
{
    const struct ad_view *out = &work->conv->out;
    r->x = 0;
    r->count = out->w < left ? (int)out->w : left;
    if (++r->y == out->h) {
        r->y = 0;
        r->n++;
    }
}

static void find_pixels(const struct work *work, int64_t first, int64_t end, struct pixels *p)
{
    const struct ad_conv *conv = work->conv;
    const struct ad_view *in = &conv->in, *out = &conv->out, *add = &conv->add;
    const struct ad_window *w = &conv->window;
    int64_t high = (w->kh - 1) * w->dh, wide = (w->kw - 1) * w->dw, step = w->sw * in->sw;
    p->rows = (int)(end - first);
    p->first = first_neighbours(work, first, p->rows);
    p->inside[0] = p->inside[1] = true;
    struct neighbours r = p->first;
    for (int m = 0; m < p->rows; m += r.count, next_neighbours(work, &r, p->rows - m)) {
        int64_t y = r.y * w->sh - conv->top, x = r.x * w->sw - conv->left;
        int64_t offset = r.n * in->sn + y * in->sh + x * in->sw;
        float *to = out->data + r.n * out->sn + r.y * out->sh + r.x * out->sw;
        for (int k = m; k < m + r.count; k++, offset += step, to += out->sw) {
            p->offset[k] = offset;
            p->out[k] = to;
        }
        if (add->data) {
            const float *from = add->data + r.n * add->sn + r.y * add->sh + r.x * add->sw;
            for (int k = m; k < m + r.count; k++, from += add->sw)
                p->add[k] = from;
        }
        p->inside[0] &= y >= 0 && y + high < in->h;
        p->inside[1] &= x >= 0 && x + (r.count - 1) * w->sw + wide < in->w;
    }
}

/* Where tap (i, j) of a tile that reads pads, too, finds its input. */
static void find_padded(const struct work *work, const struct pixels *p, int64_t i, int64_t j,
                        const float **taps)
{
    const struct ad_conv *conv = work->conv;
    const struct ad_view *in = &conv->in;
    const struct ad_window *w = &conv->window;
    int64_t dy = i * w->dh, dx = j * w->dw, step = dy * in->sh + dx * in->sw;
    struct neighbours r = p->first;
    bool any = false;
    for (int m = 0; m < p->rows; m += r.count, next_neighbours(work, &r, p->rows - m)) {
        int64_t y = r.y * w->sh - conv->top + dy, x = r.x * w->sw - conv->left + dx;
        int64_t last = x + (r.count - 1) * w->sw;
        int from = m, end = m + r.count; /* those that are there */
        if (y < 0 || y >= in->h)
            end = m;
        for (; end > m && last >= in->w; last -= w->sw)
            end--;
        for (; from < end && x < 0; x += w->sw)
            from++;
        for (int k = m; k < from; k++)
            taps[k] = work->zeros;
        for (int k = from; k < end; k++)
            taps[k] = in->data + p->offset[k] + step;
        for (int k = end; k < m + r.count; k++)
            taps[k] = work->zeros;
        any = any || from < end;
    }
    if (!any)
        taps[0] = NULL;
}

/* Where row i of the window begins for pixels of which some read pads at the sides: these in a copy
 * with the zeros. */
static void find_copies(const struct work *work, const struct pixels *p, int64_t i,
                        const float **taps, float (*copies)[COPY])
{
    const struct ad_conv *conv = work->conv;
    const struct ad_view *in = &conv->in;
    const struct ad_window *w = &conv->window;
    int64_t dy = i * w->dh, depth = in->sw;
    struct neighbours r = p->first;
    bool any = false;
    for (int m = 0; m < p->rows; m += r.count, next_neighbours(work, &r, p->rows - m)) {
        int64_t y = r.y * w->sh - conv->top + dy, x = r.x * w->sw - conv->left;
        bool there = y >= 0 && y < in->h;
        any = any || there;
        for (int k = m; k < m + r.count; k++, x += w->sw) {
            int64_t from = x < 0 ? -x : 0, end = in->w - x < w->kw ? in->w - x : w->kw;
            taps[k] = there ? in->data + p->offset[k] + dy * in->sh : work->zeros;
            if (!there || end - from == w->kw)
                continue;
            memset(copies[k], 0, (size_t)(w->kw * depth) * sizeof(float));
            if (from < end)
                memcpy(copies[k] + from * depth, taps[k] + from * depth,
                       (size_t)((end - from) * depth) * sizeof(float));
            taps[k] = copies[k];
        }
    }
    if (!any)
        taps[0] = NULL;
}

/* Where each tap finds its input; or only the first tap of each row of the window, if the others
 * follow it in memory. Returns how many of the window's columns are looked up. */
static int64_t find_taps(const struct work *work, const struct pixels *p, const float **taps,
                         float (*copies)[AD_CONV_ROWS][COPY])
{
    const struct ad_view *in = &work->conv->in;
    const struct ad_window *w = &work->conv->window;
    int64_t columns = work->rows && p->inside[1] ? 1 : w->kw;
    if (work->rows && !p->inside[1] && w->kh <= COPIES && w->kw * in->sw <= COPY) {
        for (int64_t i = 0; i < w->kh; i++, taps += AD_CONV_ROWS)
            find_copies(work, p, i, taps, copies[i]);
        return 1;
    }
    for (int64_t i = 0; i < w->kh; i++)
        for (int64_t j = 0; j < columns; j++, taps += AD_CONV_ROWS) {
            const float *from = in->data + i * w->dh * in->sh + j * w->dw * in->sw;
            if (p->inside[0] && p->inside[1])
                for (int m = 0; m < p->rows; m++)
                    taps[m] = from + p->offset[m];
            else
                find_padded(work, p, i, j, taps);
        }
    return columns;
}

#define AHEAD_TILES 4 /* so many tiles at the end of a slice fetch the next one's weights */

/* What comes from memory for the first time is fetched while something else is computed: one cache
 * line per tap and channel of a job. First the weights of the next slice, or of the next
 * convolution: each of the last tiles fetches its share of the panel in the same place. */
static bool weights_ahead(const struct work *work, int64_t tile, const struct slice *s, int64_t at,
                          int64_t width, struct ad_conv_job *job)
{
    const struct ad_conv *conv = work->conv;
    int64_t row = work->row, all = conv->blocks.blocks * work->block;
    int64_t tiles = work->tiles < AHEAD_TILES ? work->tiles : AHEAD_TILES;
    int64_t part = tile - (work->tiles - tiles);
    if (part < 0)
        return false;
    int64_t step = width / tiles;
    int64_t begin = s->b0 * work->block + s->c0 * row, next = (s->b1 - 1) * work->block;
    int64_t end = conv->ahead_floats;
    const float *from = conv->ahead;
    next += s->c1 < conv->blocks.channels ? s->c1 * row : work->block;
    at += part * (row - 1) * step - begin;
    if (next < all) {
        from = conv->packed + next;
        end = all - next;
    }
    if (!from || at + (row - 1) * step > end)
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
    int64_t steps = work->row - 1, step = work->ahead;
    int64_t at = pixels->offset[pixels->rows - 1] + (w->kh - 1) * w->dh * in->sh +
                 ((w->kw - 1) * w->dw + w->sw) * in->sw;
    int64_t end = (in->n - 1) * in->sn + (in->h - 1) * in->sh + (in->w - 1) * in->sw + in->c;
    if (!in->data || at < 0 || at + steps * step > end)
        return false;
    job->ahead = in->data + at;
    job->ahead_step = step;
    return true;
}

/* at: where the panel's weights lie. */
static void look_ahead(const struct work *work, const struct pixels *pixels, int64_t tile,
                       const struct slice *s, int64_t at, int64_t width, struct ad_conv_job *job)
{
    if (weights_ahead(work, tile, s, at, width, job) ||
        (at == s->b0 * work->block + s->c0 * work->row && input_ahead(work, pixels, job)))
        return;
    job->ahead = job->weights;
    job->ahead_step = 0;
}

/* The panels of one block, at the pixels of a tile. */
static void run_panels(const struct work *work, const struct pixels *p, int64_t tile,
                       const struct slice *s, int64_t block, struct ad_conv_job *job)
{
    const struct ad_conv *conv = work->conv;
    const struct ad_conv_blocks *b = &conv->blocks;
    const struct ad_conv_kernel *kernel = work->kernel;
    ad_conv_function *const *by_width = kernel->tile[p->rows - 1];
    int64_t at = block * work->block + s->c0 * work->row;
    job->first = block * b->depth;
    job->c0 = block * b->channels + s->c0;
    job->channels = b->channels - s->c0;
    for (int64_t c = s->c0, width; c < s->c1; c += width, at += width * work->row) {
        width = panel_width(kernel, b, job->channels);
        job->weights = conv->packed + at;
        look_ahead(work, p, tile, s, at, width, job);
        if (b->narrow) {
            job->first = c;
            kernel->narrow[p->rows - 1](job);
        } else {
            by_width[width > kernel->lanes](job);
        }
        job->c0 += width;
        job->channels -= width;
    }
}

/* The activation of a tile's channels of a slice; pixels that lie one after the other are one row.
 */
static void activate(const struct work *work, const struct pixels *p, const struct slice *s)
{
    const struct ad_conv *conv = work->conv;
    const struct ad_activation *then = &conv->then;
    int64_t first = s->b0 * conv->blocks.channels + s->c0;
    int64_t channels = (s->b1 - 1) * conv->blocks.channels + s->c1 - first;
    struct ad_row row = ad_row_of(then);
    for (int m = 0, next; m < p->rows; m = next) {
        next = m + 1;
        while (next < p->rows && p->out[next] == p->out[m] + (next - m) * channels)
            next++;
        row.a = row.out = p->out[m] + first;
        work->activate(then->kind, &row, (next - m) * channels);
    }
}

/* One tile, all channels of a slice. */
static void run_tile(const struct work *work, int64_t tile, const struct slice *s)
{
    const struct ad_conv *conv = work->conv;
    const float *taps[AD_CONV_TAPS * AD_CONV_ROWS];
    float copies[COPIES][AD_CONV_ROWS][COPY];
    struct pixels p;
    find_pixels(work, work->pixels * tile / work->tiles, work->pixels * (tile + 1) / work->tiles,
                &p);
    int64_t columns = find_taps(work, &p, taps, copies);
    struct ad_conv_job job = {.in = taps,
                              .taps = conv->window.kh * columns,
                              .depth = conv->blocks.depth * (conv->window.kw / columns),
                              .out = p.out,
                              .add = conv->add.data ? p.add : NULL,
                              .lo = conv->clamp_min,
                              .hi = conv->clamp_max,
                              .padded = conv->padded};
    for (int64_t block = s->b0; block < s->b1; block++)
        run_panels(work, &p, tile, s, block, &job);
    if (conv->then.kind != AD_ELEMENTWISE_COPY)
        activate(work, &p, s);
}

static void run_unit(void *self, size_t unit)
{
    const struct work *work = self;
    const struct ad_conv_blocks *b = &work->conv->blocks;
    int64_t slice = (int64_t)unit / work->chunks;
    int64_t first = (int64_t)unit % work->chunks * work->chunk;
    int64_t end = first + work->chunk < work->tiles ? first + work->chunk : work->tiles;
    struct slice s = {.b0 = slice / work->slices * work->blocks,
                      .c0 = slice % work->slices * work->slice};
    s.b1 = s.b0 + work->blocks < b->blocks ? s.b0 + work->blocks : b->blocks;
    s.c1 = s.c0 + work->slice < b->channels ? s.c0 + work->slice : b->channels;
    for (int64_t tile = first; tile < end; tile++)
        run_tile(work, tile, &s);
}

/* Units of work->chunk tiles and work->slice channels. */
static int64_t count_units(struct work *work)
{
    const struct ad_conv_blocks *b = &work->conv->blocks;
    work->chunks = (work->tiles + work->chunk - 1) / work->chunk;
    work->blocks = work->slice > b->channels ? work->slice / b->channels : 1;
    work->slices = (b->channels + work->slice - 1) / work->slice;
    return work->chunks * work->slices * ((b->blocks + work->blocks - 1) / work->blocks);
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
    const struct ad_conv_kernel *kernel = ad_conv_kernel();
    const struct ad_conv_blocks *b = &conv->blocks;
    struct work work = {.conv = conv,
                        .kernel = kernel,
                        .activate = ad_rows(),
                        .pixels = out->n * out->h * out->w,
                        .row = row_floats(b),
                        .block = block_floats(kernel, b),
                        .rows = b->blocks == 1 && !b->narrow && conv->window.dw == 1 &&
                                conv->in.sw == b->depth};
    if (work.pixels == 0 || out->c == 0)
        return;
    work.tiles = (work.pixels + kernel->rows - 1) / kernel->rows;
    work.ahead = (kernel->rows * conv->window.sw * conv->in.sw + work.row - 2) / (work.row - 1);
    work.zeros = conv->packed + b->blocks * work.block;
    ad_pool_run(pool, run_unit, &work, (size_t)cut_units(&work, ad_pool_threads(pool)));
}

void ad_conv_look_ahead(struct ad_conv *conv, const struct ad_conv *next)
{
    const struct ad_conv_blocks *b = &next->blocks;
    int64_t all = b->blocks * block_floats(ad_conv_kernel(), b),
            slice = next->slice * row_floats(b);
    conv->ahead = next->packed;
    conv->ahead_floats = slice < all ? slice : all;
}
