/* Floats of a picture to bytes and back (ir/picture.h). */
#ifndef AD_EXEC_KERNELS_PICTURE_H
#define AD_EXEC_KERNELS_PICTURE_H

#include "exec/kernels/kernels.h"
#include "ir/picture.h"

/* view->n * h * w * c bytes in this order; c0: the view's first channel. False when an element is
 * not, bit for bit, one of its channel's levels: bytes is undefined then. */
bool ad_pixels_encode(const struct ad_picture *levels, const struct ad_view *view, int64_t c0,
                      uint8_t *bytes);
void ad_pixels_decode(const struct ad_picture *levels, const uint8_t *bytes,
                      const struct ad_view *view, int64_t c0);

/* The same of bytes in the order of a tensor (NCHW), all channels. */
void ad_pixels_spread(const struct ad_picture *levels, const uint8_t *bytes,
                      const struct ad_view *view);

#endif
