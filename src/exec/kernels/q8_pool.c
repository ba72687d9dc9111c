/* Pools of bytes. */
#include "exec/kernels/q8_rows.h"
#include "exec/kernels/q8_rows_kernel.h"
#include "exec/kernels/taps.h"

float ad_q8_average(const struct ad_q8 *in, const struct ad_q8 *out, int64_t count)
{
    float all = out->scale * (float)count;
    return in->scale / all;
}

/* The average of the whole map is one of exact sums, however it is written. */
static bool is_global(const struct ad_q8_pooling *p)
{
    const struct ad_window *w = &p->window;
    return w->kh == p->size_h && w->kw == p->size_w && w->pt == 0 && w->pl == 0 &&
           w->real_pb == 0 && w->real_pr == 0;
}

static void pool_strip(const void *self, int64_t n, int64_t row, int64_t x0, int64_t x1)
{
    const struct ad_q8_pooling *p = self;
    const struct ad_q8_row_kernels *kernels = ad_q8_row_kernels();
    const struct ad_window *w = &p->window;
    struct ad_along y = ad_taps_along((p->h0 + row) * w->sh - w->pt, w->kh, w->dh, p->size_h,
                                      p->size_h + w->real_pb);
    const uint8_t *line =
        p->in.data + n * p->in.sn + (y.start + y.from * w->dh - p->in_h0) * p->in.sh;
    size_t size = ad_q8_bytes(p->out.result);
    struct ad_q8_pool_row job = {.rows = y.to - y.from,
                                 .row_step = w->dh * p->in.sh,
                                 .column_step = w->dw * p->in.sw,
                                 .channels = p->out.c,
                                 .flip = p->in_is.is_signed ? 0x80 : 0,
                                 .zero = p->in_is.zero,
                                 .scale = p->in_is.scale,
                                 .out_scale = p->out_is.scale,
                                 .out_flip = p->out_is.is_signed ? 0x80 : 0,
                                 .how = &p->out};
    bool exact = p->out.result == AD_Q8_SUMS || is_global(p);
    for (int64_t i = x0; i < x1; i++) {
        struct ad_along x = ad_taps_along((p->w0 + i) * w->sw - w->pl, w->kw, w->dw, p->size_w,
                                          p->size_w + w->real_pr);
        job.out =
            (char *)p->out.data + (size_t)(n * p->out.sn + row * p->out.sh + i * p->out.sw) * size;
        job.first = line + (x.start + x.from * w->dw - p->in_w0) * p->in.sw;
        job.columns = x.to - x.from;
        if (!p->average) {
            kernels->most(&job);
            continue;
        }
        int64_t taken = job.rows * job.columns;
        int64_t count = p->count_include_pad ? y.declared * x.declared : taken;
        if (!exact) {
            job.count = (float)count;
            kernels->mean(&job);
            continue;
        }
        job.begin = (int32_t)(-taken * (p->in_is.zero + job.flip));
        job.multiplier = ad_q8_average(&p->in_is, &p->out_is, count);
        kernels->sum(&job);
    }
}

void ad_q8_pooling_run(const struct ad_q8_pooling *p, struct pthreadpool *pool)
{
    const struct ad_view view = {.n = p->out.n, .h = p->out.h, .w = p->out.w, .c = p->out.c};
    ad_strips_run(&view, pool_strip, p, pool);
}
