#include "exec/pixels.h"

#include <string.h>

static uint32_t bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

/* The levels are one byte's step apart, so the nearest one is found by rounding. */
static bool find_level(const float *level, float scale, float x, uint8_t *byte)
{
    float at = (x - level[0]) * scale + 0.5f;
    if (!(at >= 0 && at < 256)) /* NaN too */
        return false;
    *byte = (uint8_t)at;
    return bits(level[*byte]) == bits(x);
}

bool ad_pixels_encode(const struct ad_levels *levels, const struct ad_view *v, int64_t c0,
                      uint8_t *bytes)
{
    float scale[3];
    for (int c = 0; c < levels->channels; c++)
        scale[c] = 255.0f / (levels->level[c][255] - levels->level[c][0]);
    for (int64_t n = 0; n < v->n; n++)
        for (int64_t h = 0; h < v->h; h++)
            for (int64_t w = 0; w < v->w; w++) {
                const float *pixel = v->data + n * v->sn + h * v->sh + w * v->sw;
                for (int64_t c = 0; c < v->c; c++)
                    if (!find_level(levels->level[c0 + c], scale[c0 + c], pixel[c], bytes++))
                        return false;
            }
    return true;
}

void ad_pixels_decode(const struct ad_levels *levels, const uint8_t *bytes, const struct ad_view *v,
                      int64_t c0)
{
    for (int64_t n = 0; n < v->n; n++)
        for (int64_t h = 0; h < v->h; h++)
            for (int64_t w = 0; w < v->w; w++) {
                float *pixel = v->data + n * v->sn + h * v->sh + w * v->sw;
                for (int64_t c = 0; c < v->c; c++)
                    pixel[c] = levels->level[c0 + c][*bytes++];
            }
}
