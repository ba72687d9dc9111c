/* Pooling and local response normalisation. */
#include "exec/kernels/kernels.h"
#include "exec/kernels/vec.h"
#include "exec/kernels/wide.h"
#include "exec/kernels/taps.h"

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

static void pool_strip(const void *self, int64_t image, int64_t row, int64_t x0, int64_t x1)
{
    const struct ad_pooling *p = self;
    const struct ad_window *w = &p->window;
    const struct ad_wide_kernels *kernels = ad_wide();
    struct ad_along y = ad_taps_along((p->h0 + row) * w->sh - w->pt, w->kh, w->dh, p->size_h,
                                      p->size_h + w->real_pb);
    const float *line =
        p->in.data + image * p->in.sn + (y.start + y.from * w->dh - p->in_h0) * p->in.sh;
    struct ad_wide_pool job = {.rows = y.to - y.from,
                               .row_step = w->dh * p->in.sh,
                               .column_step = w->dw * p->in.sw,
                               .channels = p->out.c,
                               .lo = p->clamp_min,
                               .hi = p->clamp_max,
                               .out = p->out.data + image * p->out.sn + row * p->out.sh +
                                      x0 * p->out.sw};
    for (int64_t i = x0; i < x1; i++, job.out += p->out.sw) {
        struct ad_along x = ad_taps_along((p->w0 + i) * w->sw - w->pl, w->kw, w->dw, p->size_w,
                                          p->size_w + w->real_pr);
        job.first = line + (x.start + x.from * w->dw - p->in_w0) * p->in.sw;
        job.columns = x.to - x.from;
        if (p->average)
            job.scale = 1.0f / (float)(p->count_include_pad ? y.declared * x.declared
                                                            : job.rows * job.columns);
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
