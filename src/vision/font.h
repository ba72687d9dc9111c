/* A small font of 5 x 7 points. */
#ifndef AD_VISION_FONT_H
#define AD_VISION_FONT_H

#include <stdint.h>

#define AD_FONT_WIDTH 5
#define AD_FONT_HEIGHT 7

/* Rows from the top; bit 4 is the left column. Characters outside of ASCII get a question mark. */
const uint8_t *ad_font_glyph(unsigned char character);

#endif
