/* Operators that run whole: between floats and the bytes that stand for them. */
#include "exec/kernels/whole_internal.h"

/* A row of elements and its scales and zeros: `step` apart, which is 0 where one is for all. */
struct row {
    const void *in;
    void *out;
    const float *scale;
    const void *zero; /* NULL: 0 */
    int64_t step;
};

/* How an array and its scales are cut into rows. Scales of an axis or of blocks along it. */
struct cut {
    struct ad_around a;
    int64_t block, blocks; /* block: indices along the axis that share scales */
    int64_t step;
};

static struct cut cut_of(const struct ad_whole_call *call)
{
    int64_t axis = call->op->ints[0], block = call->op->ints[1];
    struct cut cut = {{1, 1, ad_array_elements(call->out)}, 1, 1, 0};
    if (axis < 0)
        return cut;
    cut.a = ad_around_axis(call->out, (int)axis);
    cut.block = block > 0 ? block : 1;
    cut.blocks = (cut.a.n + cut.block - 1) / cut.block;
    cut.step = block > 0;
    if (block == 0 && cut.a.inner == 1) { /* scales lie as the elements do */
        cut.a.inner = cut.a.n;
        cut.a.n = cut.blocks = cut.step = 1;
    }
    return cut;
}

static void run_rows(const struct ad_whole_call *call,
                     void (*run)(const struct ad_whole_call *call, const struct row *row,
                                 int64_t n))
{
    struct cut cut = cut_of(call);
    const struct ad_array *zero = call->n > 2 ? &call->in[2] : NULL;
    size_t in_bytes = ad_type_bytes(call->in[0].type), out_bytes = ad_type_bytes(call->out->type);
    int64_t at = 0;
    for (int64_t o = 0; o < cut.a.outer; o++)
        for (int64_t k = 0; k < cut.a.n; k++, at += cut.a.inner) {
            bool blocked = call->op->ints[1] > 0;
            int64_t scale = (blocked ? o * cut.blocks : 0) + k / cut.block;
            scale *= blocked ? cut.a.inner : 1;
            struct row row = {.in = (const char *)call->in[0].data + (size_t)at * in_bytes,
                              .out = (char *)call->out->data + (size_t)at * out_bytes,
                              .scale = (const float *)call->in[1].data + scale,
                              .step = cut.step};
            if (zero)
                row.zero = (const char *)zero->data + (size_t)scale * ad_type_bytes(zero->type);
            run(call, &row, cut.a.inner);
        }
}

/* --- to bytes --- */

/* Half to even, as an addition rounds it; beyond this all are saturated, and NaN is the least. */
#define FAR 1024.0f
static inline int32_t round_near(float x)
{
    const float shift = 0x1.8p23f;
    x = x > -FAR ? x : -FAR;
    x = x < FAR ? x : FAR;
    return (int32_t)((x + shift) - shift);
}

#define QUANTIZE(IN, OUT, LEAST, MOST)                                                             \
    static void quantize_##IN##_##OUT(const struct row *r, int64_t n)                              \
    {                                                                                              \
        const IN *in = r->in;                                                                      \
        OUT *out = r->out;                                                                         \
        const OUT none = 0, *zero = r->zero ? r->zero : &none;                                     \
        int64_t zero_step = r->zero ? r->step : 0;                                                 \
        if (r->step == 0) {                                                                        \
            const float scale = *r->scale;                                                         \
            const int32_t z = *zero;                                                               \
            for (int64_t i = 0; i < n; i++) {                                                      \
                int32_t y = round_near((float)in[i] / scale) + z;                                  \
                out[i] = (OUT)(y < (LEAST) ? (LEAST) : y > (MOST) ? (MOST) : y);                   \
            }                                                                                      \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++) {                                                      \
                int32_t y = round_near((float)in[i] / r->scale[i]) + zero[i * zero_step];          \
                out[i] = (OUT)(y < (LEAST) ? (LEAST) : y > (MOST) ? (MOST) : y);                   \
            }                                                                                      \
        }                                                                                          \
    }
QUANTIZE(float, uint8_t, 0, UINT8_MAX)
QUANTIZE(float, int8_t, INT8_MIN, INT8_MAX)
QUANTIZE(int32_t, uint8_t, 0, UINT8_MAX)
QUANTIZE(int32_t, int8_t, INT8_MIN, INT8_MAX)

static void quantize_row(const struct ad_whole_call *call, const struct row *row, int64_t n)
{
    bool is_signed = call->out->type == ADAPS_INT8;
    if (call->in[0].type == ADAPS_FLOAT32)
        (is_signed ? quantize_float_int8_t : quantize_float_uint8_t)(row, n);
    else
        (is_signed ? quantize_int32_t_int8_t : quantize_int32_t_uint8_t)(row, n);
}

enum adaps_status ad_whole_run_quantize(const struct ad_whole_call *call)
{
    run_rows(call, quantize_row);
    return ADAPS_OK;
}

/* --- to floats --- */

/* The difference is exact before it is rounded to a float; 0 times infinity is the one NaN. */
#define DEQUANTIZE(IN, WIDE)                                                                       \
    static void dequantize_##IN(const struct row *r, int64_t n)                                    \
    {                                                                                              \
        const IN *in = r->in, none = 0, *zero = r->zero ? r->zero : &none;                         \
        int64_t zero_step = r->zero ? r->step : 0;                                                 \
        float *out = r->out;                                                                       \
        if (r->step == 0) {                                                                        \
            const float scale = *r->scale;                                                         \
            const WIDE z = *zero;                                                                  \
            for (int64_t i = 0; i < n; i++)                                                        \
                out[i] = ad_one_nan((float)((WIDE)in[i] - z) * scale);                             \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++)                                                        \
                out[i] = ad_one_nan((float)((WIDE)in[i] - zero[i * zero_step]) * r->scale[i]);     \
        }                                                                                          \
    }
DEQUANTIZE(uint8_t, int32_t)
DEQUANTIZE(int8_t, int32_t)
DEQUANTIZE(int32_t, int64_t)

static void dequantize_row(const struct ad_whole_call *call, const struct row *row, int64_t n)
{
    if (call->in[0].type == ADAPS_UINT8)
        dequantize_uint8_t(row, n);
    else if (call->in[0].type == ADAPS_INT8)
        dequantize_int8_t(row, n);
    else
        dequantize_int32_t(row, n);
}

enum adaps_status ad_whole_run_dequantize(const struct ad_whole_call *call)
{
    run_rows(call, dequantize_row);
    return ADAPS_OK;
}

/* --- a scale of what is there --- */

/* The range with 0 in it has 255 steps; where it is 0, the scale is 1. NaN makes the scale NaN. */
enum adaps_status ad_whole_run_dynamic(const struct ad_whole_call *call)
{
    const float *x = call->in[0].data;
    int64_t n = ad_array_elements(&call->in[0]);
    float least = 0, most = 0;
    for (int64_t i = 0; i < n; i++) {
        least = ad_least(least, x[i]);
        most = ad_greatest(most, x[i]);
    }
    float scale = least == most ? 1 : ad_one_nan((most - least) / 255);
    if (call->op->kind == AD_WHOLE_DYNAMIC_SCALE) {
        *(float *)call->out->data = scale;
        return ADAPS_OK;
    }
    float zero = rintf(-least / scale);
    *(uint8_t *)call->out->data = zero >= 0 ? zero <= UINT8_MAX ? (uint8_t)zero : UINT8_MAX : 0;
    return ADAPS_OK;
}
