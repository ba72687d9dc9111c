#include "exec/kernels/picture.h"

bool ad_pixels_encode(const struct ad_picture *levels, const struct ad_view *v, int64_t c0,
                      uint8_t *bytes)
{
    float scale[3];
    for (int c = 0; c < levels->channels; c++)
        scale[c] = ad_picture_scale(levels->level[c]);
    for (int64_t n = 0; n < v->n; n++)
        for (int64_t h = 0; h < v->h; h++)
            for (int64_t w = 0; w < v->w; w++) {
                const float *pixel = v->data + n * v->sn + h * v->sh + w * v->sw;
                for (int64_t c = 0; c < v->c; c++) {
                    bool equal;
                    *bytes++ =
                        ad_picture_find(levels->level[c0 + c], scale[c0 + c], pixel[c], &equal);
                    if (!equal)
                        return false;
                }
            }
    return true;
}

void ad_pixels_decode(const struct ad_picture *levels, const uint8_t *bytes,
                      const struct ad_view *v, int64_t c0)
{
    for (int64_t n = 0; n < v->n; n++)
        for (int64_t h = 0; h < v->h; h++)
            for (int64_t w = 0; w < v->w; w++) {
                float *pixel = v->data + n * v->sn + h * v->sh + w * v->sw;
                for (int64_t c = 0; c < v->c; c++)
                    pixel[c] = levels->level[c0 + c][*bytes++];
            }
}

void ad_pixels_spread(const struct ad_picture *levels, const uint8_t *bytes,
                      const struct ad_view *v)
{
    int64_t plane = v->h * v->w;
    for (int64_t n = 0; n < v->n; n++)
        for (int64_t h = 0; h < v->h; h++)
            for (int64_t w = 0; w < v->w; w++) {
                float *pixel = v->data + n * v->sn + h * v->sh + w * v->sw;
                const uint8_t *from = bytes + n * v->c * plane + h * v->w + w;
                for (int64_t c = 0; c < v->c; c++)
                    pixel[c] = levels->level[c][from[c * plane]];
            }
}
