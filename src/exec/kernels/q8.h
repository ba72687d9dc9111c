/* Values of one byte, as quantised networks have them: a byte stands for (byte - zero) * scale. All
 * sums are of integers and exact, so they have no order; what is rounded afterwards is written down
 * in docs/numerics.md. Every processor has the same bits. */
#ifndef AD_EXEC_KERNELS_Q8_H
#define AD_EXEC_KERNELS_Q8_H

#include "exec/kernels/kernels.h"

/* A part of a buffer: n x h x w x c bytes, channels adjacent; strides in bytes. Bytes of int8 are
 * their bit patterns. */
struct ad_q8_view {
    uint8_t *data;
    int64_t n, h, w, c;
    int64_t sn, sh, sw;
};

/* What bytes stand for. */
struct ad_q8 {
    bool is_signed; /* int8, else uint8 */
    int32_t zero;   /* of that type */
    float scale;    /* finite, above 0 */
};

static inline int32_t ad_q8_least(bool is_signed)
{
    return is_signed ? INT8_MIN : 0;
}

static inline int32_t ad_q8_most(bool is_signed)
{
    return is_signed ? INT8_MAX : UINT8_MAX;
}

/* The number that a byte is. */
static inline int32_t ad_q8_number(bool is_signed, uint8_t byte)
{
    return is_signed ? (int8_t)byte : byte;
}

/* float32(scale_x * scale_w / scale_y), from left to right, each operation rounded: what a sum is
 * multiplied by. */
float ad_q8_multiplier(float scale_x, float scale_w, float scale_y);

/* Half to even, then + zero, then within [lo, hi]; x is not a NaN. lo and hi are numbers of a byte.
 */
static inline int32_t ad_q8_round(float x, int32_t zero, int32_t lo, int32_t hi)
{
    const float shift = 0x1.8p23f;
    float least = (float)(lo - zero), most = (float)(hi - zero);
    x = x > least ? x : least;
    x = x < most ? x : most;
    return (int32_t)((x + shift) - shift) + zero;
}

/* What becomes of exact sums. */
enum ad_q8_result {
    AD_Q8_BYTES,  /* round(float32(sum) * multiplier) + zero, limited to [lo, hi] */
    AD_Q8_SUMS,   /* int32, as they are */
    AD_Q8_FLOATS, /* float32(sum) * multiplier + bias, limited to [clamp_min, clamp_max] */
};

/* A part of a buffer of any of these; strides in elements. */
struct ad_q8_out {
    enum ad_q8_result result;
    void *data;
    int64_t n, h, w, c;
    int64_t sn, sh, sw;
    int32_t zero, lo, hi;       /* of bytes: numbers of the type */
    float clamp_min, clamp_max; /* of floats */
};

static inline size_t ad_q8_bytes(enum ad_q8_result result)
{
    return result == AD_Q8_BYTES ? 1 : 4;
}

/* All of a view as bytes that stand for `q`, unlimited. */
struct ad_q8_out ad_q8_out_bytes(const struct ad_q8_view *view, const struct ad_q8 *q);

#endif
