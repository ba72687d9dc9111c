#include "vision/draw.h"
#include "vision/font.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TEXT 96 /* bytes of a label, cut to this */

/* A colour from the circle of hues; neighbours in number are far apart on it. */
void ad_class_colour(int class, uint8_t rgb[3])
{
    uint32_t hue = ((uint32_t) class * 618 + 80) % 1000 * 6; /* golden section of 1000 */
    uint32_t part = hue % 1000 * 255 / 1000;
    uint8_t up = (uint8_t)part, down = (uint8_t)(255 - part);
    const uint8_t hues[6][3] = {{255, up, 0},   {down, 255, 0}, {0, 255, up},
                                {0, down, 255}, {up, 0, 255},   {255, 0, down}};
    memcpy(rgb, hues[hue / 1000], 3);
}

static int clamp(int x, int most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

/* Pixels x0..x1-1, y0..y1-1, as far as they are in the picture. */
static void fill(const struct ad_canvas *canvas, int x0, int y0, int x1, int y1,
                 const uint8_t rgb[3])
{
    x0 = clamp(x0, canvas->width);
    x1 = clamp(x1, canvas->width);
    y0 = clamp(y0, canvas->height);
    y1 = clamp(y1, canvas->height);
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++)
            memcpy(canvas->rgb + ((size_t)y * (size_t)canvas->width + (size_t)x) * 3, rgb, 3);
}

static void mix(uint8_t *pixel, const uint8_t rgb[3])
{
    for (int c = 0; c < 3; c++)
        pixel[c] = (uint8_t)((pixel[c] + rgb[c]) / 2);
}

/* How many pixels a line is wide, and a point of a letter. */
static int scale_of(const struct ad_canvas *canvas)
{
    return 1 + (canvas->width < canvas->height ? canvas->width : canvas->height) / 400;
}

/* Text on its colour, its upper left corner at x, y, moved into the picture where it would stick
 * out. */
static void draw_text(const struct ad_canvas *canvas, int x, int y, const char *text,
                      const uint8_t rgb[3])
{
    int s = scale_of(canvas), length = (int)strlen(text);
    int width = (length * (AD_FONT_WIDTH + 1) + 1) * s, height = (AD_FONT_HEIGHT + 2) * s;
    static const uint8_t black[3] = {0, 0, 0}, white[3] = {255, 255, 255};
    bool bright = rgb[0] * 77 + rgb[1] * 150 + rgb[2] * 29 > 128 * 256;
    x = clamp(x, canvas->width > width ? canvas->width - width : 0);
    y = clamp(y, canvas->height > height ? canvas->height - height : 0);
    fill(canvas, x, y, x + width, y + height, rgb);
    for (int i = 0; i < length; i++) {
        const uint8_t *glyph = ad_font_glyph((unsigned char)text[i]);
        for (int row = 0; row < AD_FONT_HEIGHT; row++)
            for (int column = 0; column < AD_FONT_WIDTH; column++) {
                if (!(glyph[row] >> (AD_FONT_WIDTH - 1 - column) & 1))
                    continue;
                int left = x + (i * (AD_FONT_WIDTH + 1) + 1 + column) * s;
                int top = y + (row + 1) * s;
                fill(canvas, left, top, left + s, top + s, bright ? black : white);
            }
    }
}

/* "NAME 87%"; characters of several bytes become one question mark. */
static void label_of(const struct ad_labels *labels, int class, float score, char text[TEXT])
{
    char number[16], name[TEXT - 8];
    size_t n = 0;
    const char *from = ad_labels_name(labels, class, number, sizeof number);
    for (; *from && n + 1 < sizeof name; from++)
        if (((unsigned char)*from & 0xc0) != 0x80)
            name[n++] = *from;
    name[n] = '\0';
    float percent = score * 100;
    snprintf(text, TEXT, "%s %d%%", name,
             percent >= 0 && percent <= 100 ? (int)lroundf(percent) : 100);
}

/* The nearest pixel border. */
static int pixel_of(float x)
{
    return (int)lroundf(x < -1e6f ? -1e6f : x > 1e6f ? 1e6f : x);
}

static void draw_box(const struct ad_canvas *canvas, const struct ad_detection *one,
                     const uint8_t rgb[3])
{
    int s = scale_of(canvas), x0 = pixel_of(one->x0), y0 = pixel_of(one->y0);
    int x1 = pixel_of(one->x1), y1 = pixel_of(one->y1);
    fill(canvas, x0, y0, x1, y0 + s, rgb);
    fill(canvas, x0, y1 - s, x1, y1, rgb);
    fill(canvas, x0, y0, x0 + s, y1, rgb);
    fill(canvas, x1 - s, y0, x1, y1, rgb);
}

static void draw_mask(const struct ad_canvas *canvas, const struct ad_detection *one,
                      const struct ad_placement *placement, const uint8_t rgb[3], uint8_t *row)
{
    for (int y = 0; y < canvas->height; y++) {
        uint8_t *pixels = canvas->rgb + (size_t)y * (size_t)canvas->width * 3;
        ad_mask_row(one, placement, y, row);
        for (int x = 0; x < canvas->width; x++)
            if (row[x])
                mix(pixels + (size_t)x * 3, rgb);
    }
}

#define VISIBLE 0.5f /* least score of a keypoint that is drawn */

static void draw_keypoints(const struct ad_canvas *canvas, const struct ad_detection *one,
                           int count, const uint8_t rgb[3])
{
    int s = scale_of(canvas) + 1;
    for (int k = 0; k < count; k++) {
        const float *point = one->keypoints + (size_t)k * 3;
        int x = pixel_of(point[0]), y = pixel_of(point[1]);
        if (point[2] >= VISIBLE)
            fill(canvas, x - s, y - s, x + s, y + s, rgb);
    }
}

enum adaps_status ad_draw_detections(const struct ad_canvas *canvas,
                                     const struct ad_detections *detections,
                                     const struct ad_placement *placement,
                                     const struct ad_labels *labels, struct adaps_error *err)
{
    uint8_t rgb[3];
    char text[TEXT];
    uint8_t *row = ad_calloc((size_t)canvas->width, 1);
    if (!row)
        return ad_error_memory(err, "drawing", (size_t)canvas->width);
    /* the best last: on top */
    for (int i = detections->count - 1; i >= 0; i--) {
        ad_class_colour(detections->items[i].class, rgb);
        if (detections->items[i].mask)
            draw_mask(canvas, &detections->items[i], placement, rgb, row);
    }
    for (int i = detections->count - 1; i >= 0; i--) {
        const struct ad_detection *one = &detections->items[i];
        ad_class_colour(one->class, rgb);
        draw_box(canvas, one, rgb);
        if (one->keypoints)
            draw_keypoints(canvas, one, detections->nkeypoints, rgb);
    }
    for (int i = detections->count - 1; i >= 0; i--) {
        const struct ad_detection *one = &detections->items[i];
        ad_class_colour(one->class, rgb);
        label_of(labels, one->class, one->score, text);
        draw_text(canvas, pixel_of(one->x0),
                  pixel_of(one->y0) - (AD_FONT_HEIGHT + 2) * scale_of(canvas), text, rgb);
    }
    ad_free(row);
    return ADAPS_OK;
}

void ad_draw_class_map(const struct ad_canvas *canvas, const struct ad_class_map *map)
{
    size_t pixels = (size_t)canvas->width * (size_t)canvas->height;
    uint8_t rgb[3];
    for (size_t i = 0; i < pixels; i++)
        if (map->class_of[i] != 0) {
            ad_class_colour(map->class_of[i], rgb);
            mix(canvas->rgb + i * 3, rgb);
        }
}

void ad_draw_classes(const struct ad_canvas *canvas, const struct ad_class_score *scores, int count,
                     const struct ad_labels *labels)
{
    int line = (AD_FONT_HEIGHT + 3) * scale_of(canvas);
    uint8_t rgb[3];
    char text[TEXT];
    for (int i = 0; i < count; i++) {
        ad_class_colour(scores[i].class, rgb);
        label_of(labels, scores[i].class, scores[i].score, text);
        draw_text(canvas, 0, i * line, text, rgb);
    }
}
