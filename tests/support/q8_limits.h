/* The instruction sets that kernels of bytes are tried with: what is forbidden of this processor.
 */
#ifndef TEST_SUPPORT_Q8_LIMITS_H
#define TEST_SUPPORT_Q8_LIMITS_H

#include "exec/kernels/choice.h"

static const unsigned ad_q8_limits[] = {
    0,
    AD_HAS_AVX512_VNNI | AD_HAS_NEON_DOT,
    AD_HAS_AVX512_VNNI | AD_HAS_AVX_VNNI | AD_HAS_AVX512F,
    AD_HAS_AVX512_VNNI | AD_HAS_AVX_VNNI | AD_HAS_AVX512F | AD_HAS_AVX2 | AD_HAS_NEON_DOT |
        AD_HAS_NEON,
};
#define AD_Q8_LIMITS ((int)(sizeof ad_q8_limits / sizeof *ad_q8_limits))

#endif
