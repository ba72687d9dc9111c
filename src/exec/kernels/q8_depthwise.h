/* Depthwise convolutions of bytes, an output channel for each input channel (several are groups of
 * exec/kernels/q8_conv.h with one input). Sums are exact, as there. */
#ifndef AD_EXEC_KERNELS_Q8_DEPTHWISE_H
#define AD_EXEC_KERNELS_Q8_DEPTHWISE_H

#include "exec/kernels/q8_conv.h"

#define AD_Q8_DEPTHWISE_TAPS 1024 /* kh * kw, at most */

struct ad_q8_depthwise {
    struct ad_q8_view in; /* in.h = 0 (and data NULL): only padding is read; in.c = out.c */
    bool in_signed;
    int32_t in_zero;
    struct ad_q8_out out;
    struct ad_window window;
    int32_t top, left;  /* padding */
    bool asymmetric;    /* as in struct ad_q8_conv; costs three times as much */
    const void *packed; /* ad_q8_depthwise_pack() */
};

/* Whether it is no larger than AD_Q8_DEPTHWISE_TAPS. */
bool ad_q8_depthwise_able(const struct ad_window *window);

/* Bytes that the weights of in.c channels take packed. False on overflow. */
bool ad_q8_depthwise_packed(const struct ad_q8_depthwise *d, size_t *bytes);

/* Packs all channels. `input` of the weights does not matter. */
void ad_q8_depthwise_pack(void *packed, const struct ad_q8_depthwise *d,
                          const struct ad_q8_weights *weights);

void ad_q8_depthwise_run(const struct ad_q8_depthwise *d, struct pthreadpool *pool);

#endif
