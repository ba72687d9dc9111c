#include "exec/kernels/q8_resample.h"
#include "exec/kernels/resample.h"
#include "exec/kernels/q8_rows_kernel.h"

#include "base/mem.h"
#include "fusion/rules.h"

#include <string.h>

/* What the pixels of a row have in common. */
struct line {
    const struct ad_q8_resample *r;
    struct ad_adjacent run;
    struct ad_taps y;
    int64_t first;           /* of the input's channels, what the run begins with */
    const uint8_t *input[4]; /* column 0 of its rows that are taken */
    uint8_t fill;
    bool plain; /* bytes stand for the same before and after */
    struct ad_q8_mix_row mix;
};

/* --- weights --- */

/* Where output i stands, rounded step by step as ONNX Runtime does, which divides by a scale. */
static float coordinate(const struct ad_q8_resample *r, int axis, int64_t i)
{
    const struct ad_positions *p = &r->how.axis[axis];
    double step = (double)p->step, start = (double)p->start, unit = (double)p->unit;
    float scale = (float)(unit / step), x = (float)i;
    if (2 * start == step - unit) { /* half a pixel */
        x = (x + 0.5f) / scale;
        return x - 0.5f;
    }
    if (start == 0 && step * (double)r->outputs[axis] == unit * (double)r->size[axis])
        return x / scale;
    return (float)((step * (double)i + start) / unit);
}

/* Two elements around x, the first of `t`. The last element is taken twice, by halves. */
static void weigh_two(struct ad_taps *t, float x, int64_t size)
{
    float after = x - (float)t->at[0];
    int32_t last = (int32_t)size - 1;
    if (t->count == 0) /* outside, where there are no elements */
        return;
    if (x >= (float)last || t->at[0] == last) {
        *t = (struct ad_taps){.count = 2, .at = {last, last}, .weight = {0.5f, 0.5f}};
        return;
    }
    if (t->count == 1 || t->at[0] == t->at[1]) {
        *t = (struct ad_taps){.count = 1, .at = {t->at[0]}, .weight = {1}};
        return;
    }
    after = after < 0 ? 0 : after > 1 ? 1 : after;
    t->weight[0] = 1 - after;
    t->weight[1] = after;
}

/* Keys' cubic convolution, t after the second of four elements. */
static void weigh_four(struct ad_taps *taps, float a, float t)
{
    float u = 1 - t, before = t + 1, after = 2 - t, *w = taps->weight;
    w[0] = ((a * before - 5 * a) * before + 8 * a) * before - 4 * a;
    w[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    w[2] = ((a + 2) * u - (a + 3)) * u * u + 1;
    w[3] = ((a * after - 5 * a) * after + 8 * a) * after - 4 * a;
}

/* As ad_resample_taps(), with weights in float32. */
static struct ad_taps taps_of(const struct ad_q8_resample *r, int axis, int64_t i)
{
    const struct ad_positions *p = &r->how.axis[axis];
    struct ad_taps taps = ad_resample_taps(&r->how, axis, r->size[axis], i);
    if (r->how.method == AD_METHOD_LINEAR) {
        weigh_two(&taps, ad_positions_same(p) ? (float)i : coordinate(r, axis, i), r->size[axis]);
    } else if (r->how.method == AD_METHOD_CUBIC && taps.count == 4 && !r->how.exclude_outside) {
        float x = coordinate(r, axis, i);
        int64_t from = ad_floor_div(p->step * i + p->start, p->unit);
        float after = x - (float)from;
        if (after >= 0 && after < 1)
            weigh_four(&taps, r->how.cubic, after);
    }
    return taps;
}

/* --- pixels --- */

static uint8_t fill_of(const struct ad_q8_resample *r)
{
    const struct ad_q8 *is = &r->out_is;
    return (uint8_t)ad_q8_round(r->how.fill / is->scale, is->zero, ad_q8_least(is->is_signed),
                                ad_q8_most(is->is_signed));
}

/* n adjacent channels of the mean of what is taken. */
static void mix_channels(struct line *l, const struct ad_taps *x, int64_t first, int64_t n,
                         uint8_t *out)
{
    struct ad_q8_mix_row *m = &l->mix;
    m->rows = l->y.count;
    m->columns = x->count;
    m->channels = n;
    m->out = out;
    for (int k = 0; k < x->count; k++) {
        int64_t offset = (x->at[k] - l->r->in_w0) * l->r->in.sw + first;
        for (int i = 0; i < l->y.count; i++)
            m->at[i][k] = l->input[i] + offset;
    }
    memcpy(m->row_weight, l->y.weight, sizeof m->row_weight);
    memcpy(m->column_weight, x->weight, sizeof m->column_weight);
    ad_q8_row_kernels()->mix(m);
}

static void take_channels(struct line *l, const struct ad_taps *x, int64_t first, int64_t n,
                          uint8_t *out)
{
    if (l->plain && l->y.count == 1 && x->count == 1)
        memcpy(out, l->input[0] + (x->at[0] - l->r->in_w0) * l->r->in.sw + first, (size_t)n);
    else if (n > 0)
        mix_channels(l, x, first, n, out);
}

/* Channels that are not adjacent in the input. */
static void lone_channels(struct line *l, const struct ad_taps *x, int64_t first, int64_t end,
                          uint8_t *out)
{
    const struct ad_q8_resample *r = l->r;
    for (int64_t c = first; c < end; c++) {
        struct ad_taps taps = ad_resample_taps(&r->how, AD_ALONG_C, r->size[AD_ALONG_C], r->c0 + c);
        if (taps.count == 0)
            out[c] = l->fill;
        else
            take_channels(l, x, taps.at[0] - r->in_c0, 1, out + c);
    }
}

static void pixel(struct line *l, const struct ad_taps *x, uint8_t *out)
{
    const struct ad_q8_resample *r = l->r;
    struct ad_adjacent run = l->run;
    if (!r->in.data || l->y.count == 0 || x->count == 0) {
        memset(out, l->fill, (size_t)r->out.c);
        return;
    }
    lone_channels(l, x, 0, run.first, out);
    lone_channels(l, x, run.first + run.count, r->out.c, out);
    take_channels(l, x, l->first, run.count, out + run.first);
}

static void resample_strip(const void *self, int64_t image, int64_t row, int64_t x0, int64_t x1)
{
    const struct ad_q8_resample *r = self;
    const struct ad_q8 *in = &r->in_is, *to = &r->out_is;
    uint8_t *out = r->out.data + image * r->out.sn + row * r->out.sh + x0 * r->out.sw;
    struct line line = {.r = r,
                        .run = ad_resample_adjacent(&r->how, r->size[AD_ALONG_C], r->c0, r->out.c),
                        .y = taps_of(r, AD_ALONG_H, r->h0 + row),
                        .fill = fill_of(r),
                        .plain = in->is_signed == to->is_signed && in->zero == to->zero &&
                                 in->scale == to->scale,
                        .mix = {.at_once = r->how.method == AD_METHOD_LINEAR,
                                .flip = in->is_signed ? 0x80 : 0,
                                .zero = in->zero,
                                .scale = in->scale,
                                .out_scale = to->scale,
                                .out_zero = to->zero,
                                .lo = ad_q8_least(to->is_signed),
                                .hi = ad_q8_most(to->is_signed)}};
    line.first = r->c0 + line.run.first + r->how.axis[AD_ALONG_C].start - r->in_c0;
    if (r->in.data)
        for (int i = 0; i < line.y.count; i++)
            line.input[i] = r->in.data + image * r->in.sn + (line.y.at[i] - r->in_h0) * r->in.sh;
    for (int64_t k = x0; k < x1; k++, out += r->out.sw)
        pixel(&line, &r->columns[k], out);
}

enum adaps_status ad_q8_resample_init(struct ad_q8_resample *r, struct adaps_error *err)
{
    r->columns = ad_calloc((size_t)r->out.w, sizeof *r->columns);
    if (!r->columns)
        return ad_error_memory(err, "resampling", (size_t)r->out.w * sizeof *r->columns);
    for (int64_t k = 0; k < r->out.w; k++)
        r->columns[k] = taps_of(r, AD_ALONG_W, r->w0 + k);
    return ADAPS_OK;
}

void ad_q8_resample_fini(struct ad_q8_resample *r)
{
    ad_free(r->columns);
    r->columns = NULL;
}

void ad_q8_resample_run(const struct ad_q8_resample *r, struct pthreadpool *pool)
{
    const struct ad_view view = {.n = r->out.n, .h = r->out.h, .w = r->out.w, .c = r->out.c};
    ad_strips_run(&view, resample_strip, r, pool);
}
