#include "exec/kernels/depthwise.h"
#include "exec/kernels/wide.h"

#include "base/mem.h"

/* Packed: for each of `multiplier` output channels of an input channel [bias or tap][input
 * channel].
 */
bool ad_depthwise_packed(int64_t channels, int64_t multiplier, int64_t taps, size_t *floats)
{
    return ad_size_mul((size_t)(taps + 1), (size_t)channels, floats) &&
           ad_size_mul(*floats, (size_t)multiplier, floats);
}

void ad_depthwise_pack(float *packed, int64_t channels, int64_t multiplier, int64_t taps,
                       const float *kernel, const float *bias)
{
    for (int64_t k = 0; k < multiplier; k++)
        for (int64_t t = -1; t < taps; t++)
            for (int64_t c = 0; c < channels; c++) {
                int64_t row = c * multiplier + k;
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
    for (int64_t x = x0; x < x1; x++) {
        struct ad_wide_depthwise job = {.taps = taps,
                                        .ntaps = find_taps(d, n, y, x, taps),
                                        .channels = d->in.c,
                                        .bias = d->packed,
                                        .lo = d->clamp_min,
                                        .hi = d->clamp_max,
                                        .out_step = d->multiplier};
        job.out = d->out.data + n * d->out.sn + y * d->out.sh + x * d->out.sw;
        for (int64_t k = 0; k < d->multiplier; k++, job.bias += all, job.out++) {
            kernels->depthwise(&job);
            for (int64_t t = 0; t < job.ntaps; t++)
                taps[t].w += all;
        }
    }
}

void ad_depthwise_run(const struct ad_depthwise *d, struct pthreadpool *pool)
{
    ad_strips_run(&d->out, run_strip, d, pool);
}
