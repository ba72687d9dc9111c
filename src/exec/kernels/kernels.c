/* Pooling and local response normalisation. */
#include "exec/kernels/kernels.h"
#include "exec/kernels/vec.h"
#include "exec/kernels/wide.h"

#include <math.h>

/* --- threads --- */

struct strips {
    ad_strip_function *run;
    const void *self;
    int64_t rows, columns, pieces; /* rows of an image; pieces of each row */
};

static void run_strip(void *self, size_t index)
{
    const struct strips *s = self;
    int64_t row = (int64_t)index / s->pieces, piece = (int64_t)index % s->pieces;
    s->run(s->self, row / s->rows, row % s->rows, s->columns * piece / s->pieces,
           s->columns * (piece + 1) / s->pieces);
}

void ad_strips_run(const struct ad_view *view, ad_strip_function *run, const void *self,
                   struct pthreadpool *pool)
{
    struct strips s = {run, self, view->h, view->w, 1};
    int64_t all = view->n * view->h, threads = ad_pool_threads(pool);
    int64_t wanted = threads > 1 ? AD_UNITS_PER_THREAD * threads : 1;
    if (all > 0 && all < wanted)
        s.pieces = (wanted + all - 1) / all;
    if (s.pieces > s.columns)
        s.pieces = s.columns;
    ad_pool_run(pool, run_strip, &s, (size_t)(all * s.pieces));
}

/* --- pooling --- */

/* Taps [*from, *to) of k, d apart, of the window that starts at `start`, lie in [0, size). */
static void clip(int64_t start, int64_t k, int64_t d, int64_t size, int64_t *from, int64_t *to)
{
    *from = start < 0 ? (-start + d - 1) / d : 0;
    *to = start + (k - 1) * d < size ? k : (size - start + d - 1) / d;
}

/* Elements of [start, start + k) that lie in [-pad, end). Starts are never before -pad. */
static int64_t declared(int64_t start, int64_t k, int64_t end)
{
    return start + k < end ? k : end - start;
}

static struct ad_wide_pool find_taps(const struct ad_pooling *p, int64_t image, int64_t oy,
                                     int64_t ox)
{
    const struct ad_window *w = &p->window;
    int64_t y = (p->h0 + oy) * w->sh - w->pt, x = (p->w0 + ox) * w->sw - w->pl;
    int64_t y0, y1, x0, x1;
    clip(y, w->kh, w->dh, p->size_h, &y0, &y1);
    clip(x, w->kw, w->dw, p->size_w, &x0, &x1);
    int64_t count = (y1 - y0) * (x1 - x0);
    if (p->count_include_pad)
        count =
            declared(y, w->kh, p->size_h + w->real_pb) * declared(x, w->kw, p->size_w + w->real_pr);
    return (struct ad_wide_pool){
        .first = p->in.data + image * p->in.sn + (y + y0 * w->dh - p->in_h0) * p->in.sh +
                 (x + x0 * w->dw - p->in_w0) * p->in.sw,
        .rows = y1 - y0,
        .columns = x1 - x0,
        .row_step = w->dh * p->in.sh,
        .column_step = w->dw * p->in.sw,
        .channels = p->out.c,
        .scale = p->average ? 1.0f / (float)count : 0,
        .lo = p->clamp_min,
        .hi = p->clamp_max,
    };
}

static void pool_strip(const void *self, int64_t image, int64_t y, int64_t x0, int64_t x1)
{
    const struct ad_pooling *p = self;
    const struct ad_wide_kernels *kernels = ad_wide();
    float *out = p->out.data + image * p->out.sn + y * p->out.sh + x0 * p->out.sw;
    for (int64_t x = x0; x < x1; x++, out += p->out.sw) {
        struct ad_wide_pool job = find_taps(p, image, y, x);
        job.out = out;
        kernels->pool(&job);
    }
}

void ad_pooling_run(const struct ad_pooling *p, struct pthreadpool *pool)
{
    ad_strips_run(&p->out, pool_strip, p, pool);
}

/* --- local response normalisation --- */

static inline float lrn_scale(const struct ad_lrn *l, float sum)
{
    float s = l->bias + l->alpha / (float)l->size * sum;
    if (l->beta == 0.75f) { /* s^0.75 = sqrt(s) * sqrt(sqrt(s)) */
        float root = sqrtf(s);
        return 1.0f / (root * sqrtf(root));
    }
    if (l->beta == 0.5f)
        return 1.0f / sqrtf(s);
    return powf(s, -l->beta);
}

/* in: channel in_c0 of one pixel; out: channel c0. */
static void lrn_pixel(const struct ad_lrn *l, const float *in, float *out)
{
    int64_t before = (l->size - 1) / 2, behind = l->size / 2;
    for (int64_t i = 0; i < l->out.c; i++) {
        int64_t c = l->c0 + i;
        int64_t lo = c - before > 0 ? c - before : 0;
        int64_t hi = c + behind < l->channels - 1 ? c + behind : l->channels - 1;
        float sum = 0;
        for (int64_t k = lo; k <= hi; k++)
            sum += in[k - l->in_c0] * in[k - l->in_c0];
        out[i] = in[c - l->in_c0] * lrn_scale(l, sum);
    }
}

static void lrn_strip(const void *self, int64_t image, int64_t y, int64_t x0, int64_t x1)
{
    const struct ad_lrn *l = self;
    const float *in = l->in.data + image * l->in.sn + y * l->in.sh + x0 * l->in.sw;
    float *out = l->out.data + image * l->out.sn + y * l->out.sh + x0 * l->out.sw;
    for (int64_t x = x0; x < x1; x++, in += l->in.sw, out += l->out.sw)
        lrn_pixel(l, in, out);
}

void ad_lrn_run(const struct ad_lrn *l, struct pthreadpool *pool)
{
    ad_strips_run(&l->out, lrn_strip, l, pool);
}
