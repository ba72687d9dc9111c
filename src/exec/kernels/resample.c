#include "exec/kernels/resample.h"
#include "exec/kernels/vec.h"

#include "base/mem.h"

#include <string.h>

/* Channels [first, first + count) of a pixel, which are adjacent in the input, too; the others are
 * looked up one by one. */
struct run {
    int64_t first, count;
};

static struct run run_of(const struct ad_resample *r)
{
    const struct ad_positions *p = &r->how.axis[AD_ALONG_C];
    if (p->step != 1 || p->unit != 1)
        return (struct run){0, 0};
    int64_t first = -p->start - r->c0, end = r->size[AD_ALONG_C] - p->start - r->c0;
    first = first < 0 ? 0 : first > r->out.c ? r->out.c : first;
    end = end < first ? first : end > r->out.c ? r->out.c : end;
    return (struct run){first, end - first};
}

/* Pointers to the elements that a pixel takes, and their weights: row by row. */
struct mix {
    int rows, columns;
    const float *at[4][4];
    float row_weight[4], column_weight[4];
};

static struct mix mix_of(const struct ad_resample *r, const float *image, const struct ad_taps *y,
                         const struct ad_taps *x)
{
    struct mix m = {.rows = y->count, .columns = x->count};
    for (int i = 0; i < y->count; i++)
        for (int k = 0; k < x->count; k++)
            m.at[i][k] =
                image + (y->at[i] - r->in_h0) * r->in.sh + (x->at[k] - r->in_w0) * r->in.sw;
    memcpy(m.row_weight, y->weight, sizeof m.row_weight);
    memcpy(m.column_weight, x->weight, sizeof m.column_weight);
    return m;
}

static inline __attribute__((always_inline)) ad_v4 mixed(const struct mix *m, int rows, int columns,
                                                         int64_t c, int64_t lanes)
{
    ad_v4 sum = {0, 0, 0, 0};
    for (int i = 0; i < rows; i++) {
        ad_v4 line = {0, 0, 0, 0};
        for (int k = 0; k < columns; k++) {
            const float *p = m->at[i][k] + c;
            ad_v4 x = lanes == 4 ? ad_v4_load(p) : ad_v4_load_n(p, lanes);
            ad_v4 term = x * m->column_weight[k];
            line = k == 0 ? term : line + term;
        }
        line = line * m->row_weight[i];
        sum = i == 0 ? line : sum + line;
    }
    return sum;
}

static inline __attribute__((always_inline)) void mix_channels(const struct mix *m, int rows,
                                                               int columns, float *out, int64_t n)
{
    int64_t c = 0;
    for (; c + 4 <= n; c += 4)
        ad_v4_store(out + c, mixed(m, rows, columns, c, 4));
    if (c < n)
        ad_v4_store_n(out + c, mixed(m, rows, columns, c, n - c), n - c);
}

/* The pixel's adjacent channels: element i of each pointer of `m` becomes out[i]. */
static void run_channels(const struct mix *m, float *out, int64_t n)
{
    if (m->rows == 1 && m->columns == 1)
        memcpy(out, m->at[0][0], (size_t)n * sizeof *out);
    else if (m->rows == 2 && m->columns == 2)
        mix_channels(m, 2, 2, out, n);
    else
        mix_channels(m, m->rows, m->columns, out, n);
}

/* One channel that is not adjacent. Methods with weights keep channels in place, so that this is a
 * copy. */
static float lone_channel(const struct ad_resample *r, const struct mix *m, int64_t c)
{
    struct ad_taps taps = ad_resample_taps(&r->how, AD_ALONG_C, r->size[AD_ALONG_C], r->c0 + c);
    return taps.count == 0 ? r->how.fill : m->at[0][0][taps.at[0] - r->in_c0];
}

static void pixel(const struct ad_resample *r, const float *image, const struct ad_taps *y,
                  const struct ad_taps *x, struct run run, float *out)
{
    if (y->count == 0 || x->count == 0) {
        for (int64_t c = 0; c < r->out.c; c++)
            out[c] = r->how.fill;
        return;
    }
    struct mix m = mix_of(r, image, y, x);
    for (int64_t c = 0; c < run.first; c++)
        out[c] = lone_channel(r, &m, c);
    for (int64_t c = run.first + run.count; c < r->out.c; c++)
        out[c] = lone_channel(r, &m, c);
    if (run.count == 0)
        return;
    int64_t offset = r->c0 + run.first + r->how.axis[AD_ALONG_C].start - r->in_c0;
    for (int i = 0; i < m.rows; i++)
        for (int k = 0; k < m.columns; k++)
            m.at[i][k] += offset;
    run_channels(&m, out + run.first, run.count);
}

static void resample_strip(const void *self, int64_t image, int64_t row, int64_t x0, int64_t x1)
{
    const struct ad_resample *r = self;
    float *out = r->out.data + image * r->out.sn + row * r->out.sh + x0 * r->out.sw;
    const float *in = r->in.data + image * r->in.sn;
    struct run run = run_of(r);
    struct ad_taps y = ad_resample_taps(&r->how, AD_ALONG_H, r->size[AD_ALONG_H], r->h0 + row);
    for (int64_t k = x0; k < x1; k++, out += r->out.sw)
        pixel(r, in, &y, &r->columns[k], run, out);
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
