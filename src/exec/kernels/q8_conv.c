/* Convolutions of bytes in tiles of pixels x panels of channels. */
#include "exec/kernels/q8_conv.h"
#include "exec/kernels/choice.h"
#include "exec/kernels/q8_pack.h"

#include <string.h>

#define CHUNK 8  /* tiles of a unit of work, at most */
#define SLACK 64 /* bytes that may be written beyond a gathered row, which starts a line */
#define ROOM ((AD_Q8_DEPTH + 2 * SLACK) * 2) /* bytes of a tile's gathered rows */

const struct ad_q8_conv_kernel *ad_q8_conv_kernel(void)
{
    switch (ad_choose_q8(ad_processor())) {
#if defined(__x86_64__)
    case AD_Q8_AVX512_VNNI:
        return &ad_q8_conv_avx512;
    case AD_Q8_AVX_VNNI:
        return &ad_q8_conv_avxvnni;
    case AD_Q8_AVX2:
        return &ad_q8_conv_avx2;
#elif defined(__aarch64__)
    case AD_Q8_NEON_DOT:
        return &ad_q8_conv_dot;
    case AD_Q8_NEON:
        return &ad_q8_conv_neon;
#endif
    default:
        return &ad_q8_conv_base;
    }
}

struct work {
    const struct ad_q8_conv *conv;
    const struct ad_q8_conv_kernel *kernel;
    struct ad_q8_panels all;
    int64_t row, used;     /* bytes of a gathered row: with what may be written beyond, without */
    int64_t pixels, tiles; /* of the output */
    int64_t chunk, chunks; /* tiles of a unit; units of a slice */
    int64_t deal, slices;  /* groups of a slice or, of one group, panels of a slice; slices */
    uint8_t flip, zero;    /* of inputs as the kernel takes them, after the flip */
    bool direct;           /* inputs are read where they lie */
    bool dense;            /* taps of a row of the window are one after the other */
    const uint8_t *end;    /* of the input */
};

/* The pixels of a tile. */
struct pixels {
    int rows;
    int64_t n[AD_Q8_ROWS], y[AD_Q8_ROWS], x[AD_Q8_ROWS];
    void *out[AD_Q8_ROWS];
};

/* The inputs of a tile for one group: gathered, or where they lie. */
struct inputs {
    const void *in[AD_Q8_ROWS];
    int32_t sums[AD_Q8_ROWS];
    char room[ROOM] __attribute__((aligned(64)));
};

static void find_pixels(const struct work *work, int64_t first, int64_t end, struct pixels *p)
{
    const struct ad_q8_out *out = &work->conv->out;
    size_t size = ad_q8_bytes(out->result);
    int64_t row = first / out->w, x = first % out->w, n = row / out->h, y = row % out->h;
    p->rows = (int)(end - first);
    for (int m = 0; m < p->rows; m++) {
        p->n[m] = n;
        p->y[m] = y;
        p->x[m] = x;
        p->out[m] = (char *)out->data + (size_t)(n * out->sn + y * out->sh + x * out->sw) * size;
        if (++x == out->w) {
            x = 0;
            if (++y == out->h) {
                y = 0;
                n++;
            }
        }
    }
}

/* --- gathering --- */

static void *fill(const struct work *work, void *to, int64_t n)
{
    if (work->kernel->wide == 1)
        return (char *)memset(to, work->zero, (size_t)n) + n;
    int16_t *y = to;
    for (int64_t i = 0; i < n; i++)
        y[i] = work->zero;
    return y + n;
}

/* `rows` runs of n inputs. */
static void *take(const struct work *work, void *to, const uint8_t *from, int64_t step,
                  int64_t rows, int64_t n)
{
    int64_t room = work->end - (from + (rows - 1) * step);
    work->kernel->take(to, from, step, rows, n, room, work->flip);
    return (char *)to + rows * n * work->kernel->wide;
}

/* One row of a pixel's window, of which the first tap is in column ix; `line`: column 0. */
static void *gather_row(const struct work *work, void *to, const uint8_t *line, int64_t ix)
{
    const struct ad_q8_conv *conv = work->conv;
    const struct ad_window *w = &conv->window;
    int64_t depth = conv->shape.depth;
    int64_t before = ix < 0 ? (-ix + w->dw - 1) / w->dw : 0;
    int64_t end = conv->in.w > ix ? (conv->in.w - ix + w->dw - 1) / w->dw : 0;
    end = end < w->kw ? end : w->kw;
    before = before < end ? before : end < 0 ? 0 : end;
    if (before > 0)
        to = fill(work, to, before * depth);
    if (before < end)
        to = take(work, to, line + (ix + before * w->dw) * conv->in.sw, w->dw * conv->in.sw,
                  end - before, depth);
    return end < w->kw ? fill(work, to, (w->kw - end) * depth) : to;
}

static void gather_pixel(const struct work *work, const struct pixels *p, int m, int64_t group,
                         char *to)
{
    const struct ad_q8_conv *conv = work->conv;
    const struct ad_q8_view *in = &conv->in;
    const struct ad_window *w = &conv->window;
    int64_t depth = conv->shape.depth, iy = p->y[m] * w->sh - conv->top;
    int64_t ix = p->x[m] * w->sw - conv->left;
    const uint8_t *image = in->data ? in->data + p->n[m] * in->sn + group * depth : NULL;
    void *end = to;
    if (work->dense && ix >= 0 && ix + w->kw <= in->w && iy >= 0 &&
        iy + (w->kh - 1) * w->dh < in->h)
        end =
            take(work, end, image + iy * in->sh + ix * depth, w->dh * in->sh, w->kh, w->kw * depth);
    else
        for (int64_t i = 0; i < w->kh; i++, iy += w->dh)
            end = iy >= 0 && iy < in->h ? gather_row(work, end, image + iy * in->sh, ix)
                                        : fill(work, end, w->kw * depth);
    for (char *rest = end; rest < to + work->used; rest++)
        *rest = 0;
}

static int32_t add_up(const struct work *work, const void *in)
{
    int64_t n = work->conv->shape.taps * work->conv->shape.depth;
    int32_t sum = 0;
    if (work->kernel->wide == 2)
        for (int64_t i = 0; i < n; i++)
            sum += ((const int16_t *)in)[i];
    else if (work->kernel->is_signed)
        for (int64_t i = 0; i < n; i++)
            sum += ((const int8_t *)in)[i];
    else
        for (int64_t i = 0; i < n; i++)
            sum += ((const uint8_t *)in)[i];
    return sum;
}

static void gather(const struct work *work, const struct pixels *p, int64_t group,
                   struct inputs *inputs)
{
    const struct ad_q8_conv *conv = work->conv;
    const struct ad_q8_view *in = &conv->in;
    for (int m = 0; m < p->rows; m++) {
        if (work->direct) {
            inputs->in[m] = in->data + p->n[m] * in->sn + p->y[m] * conv->window.sh * in->sh +
                            p->x[m] * conv->window.sw * in->sw + group * conv->shape.depth;
        } else {
            inputs->in[m] = inputs->room + m * work->row;
            gather_pixel(work, p, m, group, inputs->room + m * work->row);
        }
        if (conv->asymmetric)
            inputs->sums[m] = add_up(work, inputs->in[m]);
    }
}

/* --- running --- */

/* Panels [first, end) of a group at a tile. */
static void run_panels(const struct work *work, const struct pixels *p, int64_t group,
                       int64_t first, int64_t end, struct inputs *inputs)
{
    const struct ad_q8_conv *conv = work->conv;
    const struct ad_q8_shape *s = &conv->shape;
    struct ad_q8_conv_job job = {.in = inputs->in,
                                 .steps = work->all.steps,
                                 .sums = conv->asymmetric ? inputs->sums : NULL,
                                 .out = p->out,
                                 .how = &conv->out};
    gather(work, p, group, inputs);
    for (int64_t i = first; i < end; i++) {
        struct ad_q8_panel panel = ad_q8_panel(&work->all, group, i);
        job.panel = (const char *)conv->packed + panel.at;
        job.c0 = group * s->outputs + panel.first;
        job.channels = s->outputs - panel.first;
        work->kernel->tile[p->rows - 1][panel.vectors - 1](&job);
    }
}

static void run_unit(void *self, size_t unit)
{
    const struct work *work = self;
    const struct ad_q8_shape *s = &work->conv->shape;
    int64_t slice = (int64_t)unit / work->chunks,
            first = (int64_t)unit % work->chunks * work->chunk;
    int64_t end = first + work->chunk < work->tiles ? first + work->chunk : work->tiles;
    int64_t a = slice * work->deal, b = a + work->deal,
            most = s->groups > 1 ? s->groups : work->all.panels;
    struct inputs inputs;
    struct pixels p;
    b = b < most ? b : most;
    for (int64_t tile = first; tile < end; tile++) {
        find_pixels(work, work->pixels * tile / work->tiles,
                    work->pixels * (tile + 1) / work->tiles, &p);
        if (s->groups == 1)
            run_panels(work, &p, 0, a, b, &inputs);
        else
            for (int64_t group = a; group < b; group++)
                run_panels(work, &p, group, 0, work->all.panels, &inputs);
    }
}

/* As many tiles and panels to a unit as leave enough units for all threads: first fewer tiles, then
 * fewer panels. Units go through the tiles of a slice before those of the next. */
static int64_t cut_units(struct work *work, int threads)
{
    const struct ad_q8_conv *conv = work->conv;
    const struct ad_q8_shape *s = &conv->shape;
    int64_t wanted = threads > 1 ? (int64_t)AD_UNITS_PER_THREAD * threads : 1;
    int64_t panel = (int64_t)work->kernel->lanes * work->kernel->vectors;
    int64_t all = s->groups > 1 ? s->groups : work->all.panels;
    work->deal = conv->slice / (s->groups > 1 ? s->outputs : panel);
    work->deal = work->deal < 1 ? 1 : work->deal < all ? work->deal : all;
    work->chunk = CHUNK;
    for (;;) {
        work->chunks = (work->tiles + work->chunk - 1) / work->chunk;
        work->slices = (all + work->deal - 1) / work->deal;
        if (work->chunks * work->slices >= wanted || (work->chunk == 1 && work->deal == 1))
            return work->chunks * work->slices;
        if (work->chunk > 1)
            work->chunk /= 2;
        else
            work->deal = (work->deal + 1) / 2;
    }
}

/* Pixels of a tile: less where their gathered rows would not fit. */
static int tile_rows(const struct work *work)
{
    struct ad_q8_panel last = ad_q8_panel(&work->all, 0, work->all.panels - 1); /* the widest */
    int rows = work->kernel->rows[last.vectors - 1];
    int64_t fit = ROOM / work->row;
    return work->direct || fit >= rows ? rows : (int)fit;
}

void ad_q8_conv_run(const struct ad_q8_conv *conv, struct pthreadpool *pool)
{
    const struct ad_q8_conv_kernel *kernel = ad_q8_conv_kernel();
    const struct ad_q8_shape *s = &conv->shape;
    const struct ad_q8_out *out = &conv->out;
    struct work work = {.conv = conv,
                        .kernel = kernel,
                        .all = ad_q8_panels(kernel, s),
                        .pixels = out->n * out->h * out->w,
                        .flip = conv->in_signed == kernel->is_signed ? 0 : 0x80,
                        .zero = (uint8_t)ad_q8_kernel_zero(kernel, conv->in_signed, conv->in_zero)};
    if (work.pixels == 0 || out->c == 0)
        return;
    work.used = work.all.steps * kernel->deep * kernel->wide;
    work.row = (work.used + 2 * SLACK - 1) / SLACK * SLACK; /* rows start lines */
    work.direct = s->taps == 1 && kernel->wide == 1 && work.flip == 0 &&
                  s->depth % kernel->deep == 0 && conv->top == 0 && conv->left == 0 &&
                  (out->h - 1) * conv->window.sh < conv->in.h &&
                  (out->w - 1) * conv->window.sw < conv->in.w;
    work.dense = conv->window.dw == 1 && conv->in.sw == s->depth;
    if (conv->in.data)
        work.end = conv->in.data + (conv->in.n - 1) * conv->in.sn + (conv->in.h - 1) * conv->in.sh +
                   (conv->in.w - 1) * conv->in.sw + conv->in.c;
    int rows = tile_rows(&work);
    work.tiles = (work.pixels + rows - 1) / rows;
    ad_pool_run(pool, run_unit, &work, (size_t)cut_units(&work, ad_pool_threads(pool)));
}
