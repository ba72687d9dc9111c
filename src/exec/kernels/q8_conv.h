/* Convolutions and dense layers of bytes. Each output is bias + the sum of (x - zero of x) * (w -
 * zero of w), exactly; then what enum ad_q8_result says. All instruction sets have the same bits.
 *
 * The inputs of some pixels are gathered, one row for each; output channels lie in panels of packed
 * weights. As many panels as fit a part of the L2 cache (a slice) are computed at all pixels before
 * the next are. Operands are strided views of any part of a map; pads are the input's zero, which
 * nobody stores. A dense layer is a 1x1 convolution whose pixels are its rows; so is a product
 * of two computed matrices, whose second one is packed at each run. */
#ifndef AD_EXEC_KERNELS_Q8_CONV_H
#define AD_EXEC_KERNELS_Q8_CONV_H

#include "exec/kernels/q8.h"

/* Inputs of an output, taps * depth, at most: with 65793 sums of int8 weights could overflow
 * anyway. */
#define AD_Q8_DEPTH 65536

/* Weights: `groups` groups of `outputs` output channels, each of `taps` x `depth` inputs. */
struct ad_q8_shape {
    int64_t groups, outputs, taps, depth;
};

struct ad_q8_conv {
    struct ad_q8_view in; /* in.h = 0 (and data NULL): only padding is read */
    bool in_signed;
    int32_t in_zero;
    struct ad_q8_out out; /* out.c = groups * outputs */
    struct ad_window window;
    int32_t top, left; /* padding */
    struct ad_q8_shape shape;
    bool asymmetric;    /* some weight's zero point is not 0 (int8), not 128 (uint8) */
    const void *packed; /* ad_q8_conv_pack() */
    int64_t slice;      /* output channels computed at a time: ad_q8_conv_slice() */
};

/* Some output channels' weights. Strides in bytes: of an output channel, of a tap, of an input
 * channel (a matrix of inputs x outputs has {1, 0, outputs}). */
struct ad_q8_weights {
    const uint8_t *data;
    int64_t channel, tap, input;
    bool is_signed;
    const uint8_t *zeros;    /* as data: of each output channel, zero_step apart; NULL: all 0 */
    int64_t zero_step;       /* 0: one for all */
    const int32_t *bias;     /* of each output channel; NULL: 0 */
    const float *multiplier; /* of bytes and floats, multiplier_step apart; NULL: 1 */
    int64_t multiplier_step; /* 0: one for all */
    const float *float_bias; /* of floats; NULL: 0 */
};

/* Bytes that the weights take packed. False on overflow and beyond AD_Q8_DEPTH. */
bool ad_q8_conv_packed(const struct ad_q8_shape *shape, size_t *bytes);

/* Channels of a group whose weights take at most `bytes`, one panel at least. */
int64_t ad_q8_conv_slice(const struct ad_q8_shape *shape, size_t bytes);

/* Packs output channels [first, first + n) of a group, any of them; `in` is what x is. Room that no
 * channel fills (a panel's last) is cleared with a group's last channel. */
void ad_q8_conv_pack(void *packed, const struct ad_q8_shape *shape, int64_t group, int64_t first,
                     int64_t n, const struct ad_q8_weights *weights, const struct ad_q8 *in);

/* The largest that a sum of output channel i of the weights can become, with any input, or any of
 * its parts: it must not exceed INT32_MAX. Else the layer is to be refused. */
int64_t ad_q8_conv_reach(const struct ad_q8_shape *shape, const struct ad_q8_weights *weights,
                         int64_t i, const struct ad_q8 *in);

void ad_q8_conv_run(const struct ad_q8_conv *conv, struct pthreadpool *pool);

#endif
