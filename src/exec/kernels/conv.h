/* Convolutions by our own loops, on x86 with fused multiply-adds (AVX2 or AVX-512): XNNPACK's tiles
 * leave a third of these processors unused, and of narrow groups nine tenths. On some ARM cores
 * they share the work with XNNPACK's. Elsewhere ad_conv_able() is false.
 *
 * Output channels lie in panels of packed weights; as many panels as fit a part of the L2 cache (a
 * slice) are computed at all pixels before the next are. Neither tile nor slice changes a bit: see
 * exec/kernels/conv_tile.h. Operands are strided views; pads are zeros that nobody stores. */
#ifndef AD_EXEC_KERNELS_CONV_H
#define AD_EXEC_KERNELS_CONV_H

#include "exec/kernels/kernels.h"

#define AD_CONV_TAPS 256 /* larger windows are XNNPACK's */

/* Weights: blocks of output channels, one after the other. A block is a group; but narrow groups of
 * as many inputs as outputs are one block together, of which several fill a vector. */
struct ad_conv_blocks {
    bool narrow;
    int64_t blocks, channels; /* output channels of each */
    int64_t depth, taps;      /* inputs of an output channel; of the window */
};

struct ad_conv {
    struct ad_view in, out; /* in.h = 0 (and data NULL): only padding is read */
    struct ad_view add;     /* as out: added before clamping; data NULL: nothing */
    struct ad_window window;
    int32_t top, left; /* padding */
    bool padded;       /* some window of the whole layer reads padding */
    struct ad_conv_blocks blocks;
    const float *packed; /* ad_conv_pack() */
    const float *ahead;  /* what the next convolution will read first; NULL: nothing is known */
    int64_t ahead_floats;
    int64_t slice; /* output channels computed at a time: a multiple of ad_conv_panel() */
    float clamp_min, clamp_max;
    struct ad_activation then; /* of the clamped sums, while they are in the cache */
};

/* Whether any convolution of this processor is to be run by them: exec/kernels/choice.h says which.
 * Without fused multiply-adds they still run, with the same bits, but slowly. */
bool ad_conv_able(void);

/* Channels of a panel. */
int64_t ad_conv_panel(void);

struct ad_conv_blocks ad_conv_blocks(int64_t groups, int64_t inputs, int64_t outputs, int64_t taps);

/* Where the bias of an output channel of a block lies in the block's packed weights; the k-th of
 * its weights lies (k + 1) * *width floats later. */
int64_t ad_conv_at(const struct ad_conv_blocks *blocks, int64_t channel, int64_t *width);

/* Channels of a block whose weights take at most `bytes`, one panel at least. */
int64_t ad_conv_slice(const struct ad_conv_blocks *blocks, size_t bytes);

/* Floats that the weights take packed. False on overflow. */
bool ad_conv_packed(const struct ad_conv_blocks *blocks, size_t *floats);

/* Packs output channels [first, first + n) of a block; first is a multiple of ad_conv_panel(), as n
 * is unless they are the last. kernel: n x taps x depth; bias: n or NULL. */
void ad_conv_pack(float *packed, const struct ad_conv_blocks *blocks, int64_t block, int64_t first,
                  int64_t n, const float *kernel, const float *bias);

/* conv will fetch the first weights of `next` into the cache while it computes. */
void ad_conv_look_ahead(struct ad_conv *conv, const struct ad_conv *next);

void ad_conv_run(const struct ad_conv *conv, struct pthreadpool *pool);

#endif
