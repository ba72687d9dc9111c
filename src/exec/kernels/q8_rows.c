/* Operators on bytes, cut into rows; and rows in the 128-bit registers that all processors have. */
#include "exec/kernels/q8_rows.h"
#include "exec/kernels/choice.h"
#include "exec/kernels/rows.h"
#include "exec/kernels/softmax.h"

#define LANES 4
#define KERNELS ad_q8_rows_any
#include "exec/kernels/q8_rows_tile.h"

const struct ad_q8_row_kernels *ad_q8_row_kernels(void)
{
#if defined(__x86_64__)
    int lanes = ad_choose_wide_lanes(ad_processor());
    if (lanes >= 16)
        return &ad_q8_rows_avx512;
    if (lanes >= 8)
        return &ad_q8_rows_avx2;
#endif
    return &ad_q8_rows_any;
}

static uint8_t flip_of(bool is_signed)
{
    return is_signed ? 0x80 : 0;
}

/* What ad_strips_run() cuts. */
static struct ad_view strips_of(int64_t n, int64_t h, int64_t w, int64_t c)
{
    return (struct ad_view){.n = n, .h = h, .w = w, .c = c};
}

static struct ad_view strips(const struct ad_q8_view *v)
{
    return strips_of(v->n, v->h, v->w, v->c);
}

static struct ad_view out_strips(const struct ad_q8_out *out)
{
    return strips_of(out->n, out->h, out->w, out->c);
}

static uint8_t *pixel_of(const struct ad_q8_view *v, int64_t n, int64_t y, int64_t x)
{
    return v->data + n * v->sn + y * v->sh + x * v->sw;
}

static void *out_pixel(const struct ad_q8_out *out, int64_t n, int64_t y, int64_t x)
{
    return (char *)out->data +
           (size_t)(n * out->sn + y * out->sh + x * out->sw) * ad_q8_bytes(out->result);
}

/* --- tables --- */

void ad_q8_table_make(uint8_t table[256], const struct ad_q8 *in, const struct ad_q8 *out,
                      const struct ad_activation *function)
{
    float x[256];
    uint8_t byte[256];
    const uint8_t in_zero = (uint8_t)in->zero, out_zero = (uint8_t)out->zero;
    for (int i = 0; i < 256; i++)
        byte[i] = (uint8_t)i;
    struct ad_q8_float_row row = {.floats = x,
                                  .bytes = byte,
                                  .flip = flip_of(in->is_signed),
                                  .scale = &in->scale,
                                  .zero = &in_zero};
    ad_q8_row_kernels()->dequantise(&row, 256);
    if (function->kind != AD_ELEMENTWISE_COPY) {
        struct ad_row floats = ad_row_of(function);
        floats.a = floats.out = x;
        ad_rows()(function->kind, &floats, 256);
    }
    row = (struct ad_q8_float_row){.floats = x,
                                   .bytes = table,
                                   .flip = flip_of(out->is_signed),
                                   .scale = &out->scale,
                                   .zero = &out_zero,
                                   .lo = ad_q8_least(out->is_signed),
                                   .hi = ad_q8_most(out->is_signed)};
    ad_q8_row_kernels()->quantise(&row, 256);
}

static void map_row(uint8_t *out, const uint8_t *in, const uint8_t *table, int64_t n)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t from, to = 0;
        memcpy(&from, in + i, sizeof from);
#pragma GCC unroll 8
        for (int k = 0; k < 64; k += 8)
            to |= (uint64_t)table[from >> k & 255] << k;
        memcpy(out + i, &to, sizeof to);
    }
    for (; i < n; i++)
        out[i] = table[in[i]];
}

static void map_strip(const void *self, int64_t n, int64_t y, int64_t x0, int64_t x1)
{
    const struct ad_q8_map *m = self;
    bool dense = m->in.sw == m->in.c && m->out.sw == m->out.c;
    int64_t step = dense ? x1 - x0 : 1;
    for (int64_t x = x0; x < x1; x += step) {
        const uint8_t *in = pixel_of(&m->in, n, y, x);
        uint8_t *out = pixel_of(&m->out, n, y, x);
        if (m->table)
            map_row(out, in, m->table, step * m->out.c);
        else if (out != in)
            memcpy(out, in, (size_t)(step * m->out.c));
    }
}

void ad_q8_map_run(const struct ad_q8_map *m, struct pthreadpool *pool)
{
    const struct ad_view view = strips(&m->out);
    ad_strips_run(&view, map_strip, m, pool);
}

/* --- arithmetic --- */

struct binary {
    const struct ad_q8_binary *b;
    struct ad_q8_binary_row row;
    void (*run)(const struct ad_q8_binary_row *row, int64_t n);
};

static const uint8_t *repeated(const struct ad_q8_view *v, int64_t n, int64_t y, int64_t x)
{
    return pixel_of(v, v->n > 1 ? n : 0, v->h > 1 ? y : 0, v->w > 1 ? x : 0);
}

static void binary_strip(const void *self, int64_t n, int64_t y, int64_t x0, int64_t x1)
{
    const struct binary *all = self;
    const struct ad_q8_binary *b = all->b;
    struct ad_q8_binary_row row = all->row;
    bool dense = b->a.c == b->out.c && b->a.sw == b->out.c && b->b.c == b->out.c &&
                 b->b.sw == b->out.c && b->out.sw == b->out.c && b->a.w == b->out.w &&
                 b->b.w == b->out.w;
    int64_t step = dense ? x1 - x0 : 1;
    for (int64_t x = x0; x < x1; x += step) {
        row.a = repeated(&b->a, n, y, x);
        row.b = repeated(&b->b, n, y, x);
        row.out = pixel_of(&b->out, n, y, x);
        all->run(&row, step * b->out.c);
    }
}

void ad_q8_binary_run(const struct ad_q8_binary *b, struct pthreadpool *pool)
{
    const struct ad_q8_row_kernels *kernels = ad_q8_row_kernels();
    const struct ad_q8 *a_is = &b->a_is, *b_is = &b->b_is, *out = &b->out_is;
    struct binary all = {.b = b, .run = b->multiply ? kernels->multiply : kernels->add};
    all.row = (struct ad_q8_binary_row){.sa = b->a.c > 1 || b->out.c == 1,
                                        .sb = b->b.c > 1 || b->out.c == 1,
                                        .flip_a = flip_of(a_is->is_signed),
                                        .flip_b = flip_of(b_is->is_signed),
                                        .zero_a = a_is->zero,
                                        .zero_b = b_is->zero,
                                        .lo = (float)b->lo,
                                        .hi = (float)b->hi};
    if (b->multiply) {
        all.row.scale_a = ad_q8_multiplier(a_is->scale, b_is->scale, out->scale);
        all.row.fixed = (float)out->zero;
    } else {
        float first, second;
        all.row.scale_a = a_is->scale / out->scale;
        all.row.scale_b = b_is->scale / out->scale;
        first = all.row.scale_a * (float)a_is->zero;
        second = all.row.scale_b * (float)b_is->zero;
        first = first + second;
        all.row.fixed = (float)out->zero - first;
    }
    const struct ad_view view = strips(&b->out);
    ad_strips_run(&view, binary_strip, &all, pool);
}

static void sum_strip(const void *self, int64_t n, int64_t y, int64_t x0, int64_t x1)
{
    const struct ad_q8_sum *s = self;
    const struct ad_q8_row_kernels *kernels = ad_q8_row_kernels();
    const float one = 1;
    struct ad_q8_sum_row row = {.multiplier = s->multiplier ? s->multiplier : &one,
                                .step = s->multiplier != NULL,
                                .how = &s->out};
    for (int64_t x = x0; x < x1; x++) {
        row.a = out_pixel(&s->a, n, y, x);
        row.b = out_pixel(&s->b, n, y, x);
        row.out = out_pixel(&s->out, n, y, x);
        kernels->finish(&row, s->out.c);
    }
}

void ad_q8_sum_run(const struct ad_q8_sum *s, struct pthreadpool *pool)
{
    const struct ad_view view = out_strips(&s->out);
    ad_strips_run(&view, sum_strip, s, pool);
}

/* --- floats --- */

struct floats {
    const struct ad_q8_floats *q;
    uint8_t zero;
    void (*run)(const struct ad_q8_float_row *row, int64_t n);
};

#define CHANNELS 256 /* at a time, where each has a scale of its own */

static void float_strip(const void *self, int64_t n, int64_t y, int64_t x0, int64_t x1)
{
    static const uint8_t none[CHANNELS];
    const struct floats *f = self;
    const struct ad_q8_floats *q = f->q;
    struct ad_q8_float_row row = {.flip = flip_of(q->is.is_signed),
                                  .step = q->scales != NULL,
                                  .lo = ad_q8_least(q->is.is_signed),
                                  .hi = ad_q8_most(q->is.is_signed)};
    bool dense = !q->scales && q->bytes.sw == q->bytes.c && q->floats.sw == q->floats.c;
    int64_t step = dense ? x1 - x0 : 1, all = step * q->bytes.c;
    int64_t most = q->scales && !q->zeros ? CHANNELS : all;
    for (int64_t x = x0; x < x1; x += step)
        for (int64_t c = 0; c < all; c += most) {
            row.floats =
                q->floats.data + n * q->floats.sn + y * q->floats.sh + x * q->floats.sw + c;
            row.bytes = pixel_of(&q->bytes, n, y, x) + c;
            row.scale = q->scales ? q->scales + c : &q->is.scale;
            row.zero = !q->scales ? &f->zero : q->zeros ? q->zeros + c : none;
            f->run(&row, all - c < most ? all - c : most);
        }
}

static void run_floats(const struct ad_q8_floats *q, struct pthreadpool *pool,
                       void (*run)(const struct ad_q8_float_row *row, int64_t n))
{
    const struct floats all = {.q = q, .zero = (uint8_t)q->is.zero, .run = run};
    const struct ad_view view = strips(&q->bytes);
    ad_strips_run(&view, float_strip, &all, pool);
}

void ad_q8_quantise_run(const struct ad_q8_floats *q, struct pthreadpool *pool)
{
    run_floats(q, pool, ad_q8_row_kernels()->quantise);
}

void ad_q8_dequantise_run(const struct ad_q8_floats *q, struct pthreadpool *pool)
{
    run_floats(q, pool, ad_q8_row_kernels()->dequantise);
}

static ad_softmax_kernel *softmax_kernel(void)
{
    const struct ad_softmax_width *w = ad_softmax_widths;
    while (w[1].run && w[1].lanes <= ad_choose_wide_lanes(ad_processor()))
        w++;
    return w->run;
}

static void softmax_strip(const void *self, int64_t n, int64_t y, int64_t x0, int64_t x1)
{
    const struct ad_q8_softmax *s = self;
    const struct ad_q8_row_kernels *kernels = ad_q8_row_kernels();
    const uint8_t in_zero = (uint8_t)s->in_is.zero, out_zero = (uint8_t)s->out_is.zero;
    float room[AD_Q8_SOFTMAX];
    for (int64_t x = x0; x < x1; x++) {
        struct ad_q8_float_row row = {.floats = room,
                                      .bytes = pixel_of(&s->in, n, y, x),
                                      .flip = flip_of(s->in_is.is_signed),
                                      .scale = &s->in_is.scale,
                                      .zero = &in_zero};
        kernels->dequantise(&row, s->in.c);
        softmax_kernel()(room, room, s->in.c);
        row = (struct ad_q8_float_row){.floats = room,
                                       .bytes = pixel_of(&s->out, n, y, x),
                                       .flip = flip_of(s->out_is.is_signed),
                                       .scale = &s->out_is.scale,
                                       .zero = &out_zero,
                                       .lo = ad_q8_least(s->out_is.is_signed),
                                       .hi = ad_q8_most(s->out_is.is_signed)};
        kernels->quantise(&row, s->in.c);
    }
}

void ad_q8_softmax_run(const struct ad_q8_softmax *s, struct pthreadpool *pool)
{
    const struct ad_view view = strips(&s->in);
    ad_strips_run(&view, softmax_strip, s, pool);
}
