/* Masks as pixels of the picture. */
#ifndef AD_VISION_MASK_H
#define AD_VISION_MASK_H

#include "vision/detection.h"
#include "vision/letterbox.h"

/* Which pixels of a row of the picture are inside of the detection's box and mask: `row` has a byte
 * (0 or 1) for each of the picture's columns. The map is scaled bilinearly at half pixels. */
void ad_mask_row(const struct ad_detection *detection, const struct ad_placement *placement, int y,
                 uint8_t *row);

/* The mask as COCO writes it: lengths of runs down the columns, from the left, outside and inside
 * in turn, outside first; and their compressed text. Caller frees *text; *area counts the pixels.
 * ADAPS_EINTERNAL: no memory. */
AD_MUST_CHECK enum adaps_status ad_mask_rle(const struct ad_detection *detection,
                                            const struct ad_placement *placement, char **text,
                                            int64_t *area, struct adaps_error *err);

#endif
