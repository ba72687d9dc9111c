#include "exec/kernels/resample.h"
#include "exec/kernels/vec.h"
#include "exec/kernels/wide.h"

#include "base/mem.h"

#include <string.h>

#define SHORT 32 /* floats that take longer to call memcpy() for than to copy */

struct ad_adjacent ad_resample_adjacent(const struct ad_resampling *how, int64_t size, int64_t c0,
                                        int64_t channels)
{
    const struct ad_positions *p = &how->axis[AD_ALONG_C];
    if (p->step != 1 || p->unit != 1)
        return (struct ad_adjacent){0, 0};
    int64_t first = -p->start - c0, end = size - p->start - c0;
    first = first < 0 ? 0 : first > channels ? channels : first;
    end = end < first ? first : end > channels ? channels : end;
    return (struct ad_adjacent){first, end - first};
}

/* What the pixels of a row have in common. */
struct line {
    const struct ad_resample *r;
    const struct ad_wide_kernels *kernels;
    struct ad_adjacent run;
    struct ad_taps y;
    int64_t first;         /* of the input's channels, what the run begins with */
    const float *input[4]; /* column 0 of its rows that are taken */
};

static void mix_channels(const struct line *l, const struct ad_taps *x, float *out)
{
    struct ad_wide_mix m;
    m.rows = l->y.count;
    m.columns = x->count;
    m.channels = l->run.count;
    m.out = out;
    for (int k = 0; k < x->count; k++) {
        int64_t offset = (x->at[k] - l->r->in_w0) * l->r->in.sw + l->first;
        for (int i = 0; i < l->y.count; i++)
            m.at[i][k] = l->input[i] + offset;
    }
    memcpy(m.row_weight, l->y.weight, sizeof m.row_weight);
    memcpy(m.column_weight, x->weight, sizeof m.column_weight);
    l->kernels->mix(&m);
}

/* n adjacent channels. */
static void copy_channels(float *out, const float *in, int64_t n)
{
    if (n > SHORT) {
        memcpy(out, in, (size_t)n * sizeof *out);
        return;
    }
    int64_t c = 0;
    for (; c + 4 <= n; c += 4)
        ad_v4_store(out + c, ad_v4_load(in + c));
    for (; c < n; c++)
        out[c] = in[c];
}

/* One channel that is not adjacent. Methods with weights keep channels in place, so that this is a
 * copy. */
static float lone_channel(const struct ad_resample *r, const float *pixel, int64_t c)
{
    struct ad_taps taps = ad_resample_taps(&r->how, AD_ALONG_C, r->size[AD_ALONG_C], r->c0 + c);
    return taps.count == 0 ? r->how.fill : pixel[taps.at[0] - r->in_c0];
}

static void pixel(const struct line *l, const struct ad_taps *x, float *out)
{
    const struct ad_resample *r = l->r;
    struct ad_adjacent run = l->run;
    if (l->y.count == 0 || x->count == 0) {
        for (int64_t c = 0; c < r->out.c; c++)
            out[c] = r->how.fill;
        return;
    }
    const float *corner = l->input[0] + (x->at[0] - r->in_w0) * r->in.sw;
    for (int64_t c = 0; c < run.first; c++)
        out[c] = lone_channel(r, corner, c);
    for (int64_t c = run.first + run.count; c < r->out.c; c++)
        out[c] = lone_channel(r, corner, c);
    if (run.count == 0)
        return;
    if (l->y.count == 1 && x->count == 1)
        copy_channels(out + run.first, corner + l->first, run.count);
    else
        mix_channels(l, x, out + run.first);
}

/* Of a part that takes nothing of the input, though some of its rows, columns or channels alone
 * would. */
static void fill_strip(const struct ad_resample *r, float *out, int64_t pixels)
{
    for (int64_t k = 0; k < pixels; k++, out += r->out.sw)
        for (int64_t c = 0; c < r->out.c; c++)
            out[c] = r->how.fill;
}

static void resample_strip(const void *self, int64_t image, int64_t row, int64_t x0, int64_t x1)
{
    const struct ad_resample *r = self;
    float *out = r->out.data + image * r->out.sn + row * r->out.sh + x0 * r->out.sw;
    if (!r->in.data) {
        fill_strip(r, out, x1 - x0);
        return;
    }
    struct line line = {
        .r = r,
        .kernels = ad_wide(),
        .run = ad_resample_adjacent(&r->how, r->size[AD_ALONG_C], r->c0, r->out.c),
        .y = ad_resample_taps(&r->how, AD_ALONG_H, r->size[AD_ALONG_H], r->h0 + row)};
    line.first = r->c0 + line.run.first + r->how.axis[AD_ALONG_C].start - r->in_c0;
    for (int i = 0; i < line.y.count; i++)
        line.input[i] = r->in.data + image * r->in.sn + (line.y.at[i] - r->in_h0) * r->in.sh;
    for (int64_t k = x0; k < x1; k++, out += r->out.sw)
        pixel(&line, &r->columns[k], out);
}

enum adaps_status ad_resample_init(struct ad_resample *r, struct adaps_error *err)
{
    r->columns = ad_calloc((size_t)r->out.w, sizeof *r->columns);
    if (!r->columns)
        return ad_error_memory(err, "resampling", (size_t)r->out.w * sizeof *r->columns);
    for (int64_t k = 0; k < r->out.w; k++)
        r->columns[k] = ad_resample_taps(&r->how, AD_ALONG_W, r->size[AD_ALONG_W], r->w0 + k);
    return ADAPS_OK;
}

void ad_resample_fini(struct ad_resample *r)
{
    ad_free(r->columns);
    r->columns = NULL;
}

void ad_resample_run(const struct ad_resample *r, struct pthreadpool *pool)
{
    ad_strips_run(&r->out, resample_strip, r, pool);
}
