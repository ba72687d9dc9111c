/* Between exec/kernels/q8_conv.c and its inner loops, one file for each instruction set. */
#ifndef AD_EXEC_KERNELS_Q8_CONV_KERNEL_H
#define AD_EXEC_KERNELS_Q8_CONV_KERNEL_H

#include "exec/kernels/q8.h"

#define AD_Q8_ROWS 12   /* pixels of a tile, at most */
#define AD_Q8_VECTORS 4 /* vectors of sums of a panel, at most */

/* One panel of output channels at some pixels. A panel begins with four numbers of each channel, a
 * row of each: what the sum begins with (int32), the weights' zero (int32), multiplier and bias of
 * floats. Then come the weights: for each step, `deep` of every channel. */
struct ad_q8_conv_job {
    const void *const *in; /* by pixel: steps * deep inputs */
    int64_t steps;
    const void *panel;
    const int32_t *sums;  /* by pixel, of its inputs; NULL: the weights' zeros are 0 */
    void *const *out;     /* by pixel: where channel 0 is stored */
    int64_t c0, channels; /* c0 and the following are stored, at most the panel's width */
    const struct ad_q8_out *how;
};
typedef void ad_q8_conv_function(const struct ad_q8_conv_job *job);

/* Copies `rows` runs of n inputs, `step` apart, one after the other, each input ^ flip; as int16
 * where `wide` is 2. From the last run `room` bytes may be read, and 64 written beyond the end. */
typedef void ad_q8_take_function(void *to, const uint8_t *from, int64_t step, int64_t rows,
                                 int64_t n, int64_t room, uint8_t flip);

struct ad_q8_conv_kernel {
    int lanes, vectors;      /* of a vector; of a panel, at most */
    int rows[AD_Q8_VECTORS]; /* pixels of a tile, by the vectors of a panel - 1 */
    int deep, wide;          /* inputs of a step; bytes of each */
    bool is_signed;          /* inputs are int8, else uint8; weights are int8 */
    ad_q8_take_function *take;
    ad_q8_conv_function *tile[AD_Q8_ROWS][AD_Q8_VECTORS]; /* by pixels - 1 and vectors - 1 */
};

/* That of this processor. */
const struct ad_q8_conv_kernel *ad_q8_conv_kernel(void);

extern const struct ad_q8_conv_kernel ad_q8_conv_base;
#if defined(__x86_64__)
extern const struct ad_q8_conv_kernel ad_q8_conv_avx512, ad_q8_conv_avxvnni, ad_q8_conv_avx2;
#elif defined(__aarch64__)
extern const struct ad_q8_conv_kernel ad_q8_conv_neon, ad_q8_conv_dot;
#endif

#endif
