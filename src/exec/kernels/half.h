/* float32 to IEEE 754 binary16 and back: arrays, which need not be aligned beyond their type. The
 * same bits on every processor. */
#ifndef AD_EXEC_KERNELS_HALF_H
#define AD_EXEC_KERNELS_HALF_H

#include <stddef.h>
#include <stdint.h>

#define AD_HALF_LANES 4 /* elements at a time */

/* To the nearest, ties to even. Finite numbers beyond the largest one (65504) become that, not
 * infinite: an infinity would spread over the answer. NaNs stay NaNs (quiet, without payload). */
void ad_half_encode(const float *from, uint16_t *to, size_t count);

/* Exact. */
void ad_half_decode(const uint16_t *from, float *to, size_t count);

#endif
