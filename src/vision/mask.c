#include "vision/mask.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The neighbours of a point along one axis of the map, within what there is of it, and how near the
 * second one is. */
static void find_neighbours(float point, int first, int count, int *from, int *to, float *part)
{
    float at = point - (float)first;
    at = at < 0 ? 0 : at > (float)(count - 1) ? (float)(count - 1) : at;
    *from = (int)at;
    *to = *from + 1 < count ? *from + 1 : *from;
    *part = at - (float)*from;
}

/* The first pixel whose middle is not before x. */
static int first_pixel(float x, int size)
{
    float at = ceilf(x - 0.5f);
    return at < 0 ? 0 : at > (float)size ? size : (int)at;
}

void ad_mask_row(const struct ad_detection *detection, const struct ad_placement *placement, int y,
                 uint8_t *row)
{
    const struct ad_mask *mask = detection->mask;
    memset(row, 0, (size_t)placement->width);
    if (!mask || y < first_pixel(detection->y0, placement->height) ||
        y >= first_pixel(detection->y1, placement->height))
        return;
    int up, down, left, right;
    float v, u;
    float map_y = (((float)y + 0.5f) * placement->scale_y + placement->top) / mask->step_y - 0.5f;
    find_neighbours(map_y, mask->y0, mask->height, &up, &down, &v);
    const float *upper = mask->logits + (size_t)up * (size_t)mask->width;
    const float *lower = mask->logits + (size_t)down * (size_t)mask->width;
    int end = first_pixel(detection->x1, placement->width);
    for (int x = first_pixel(detection->x0, placement->width); x < end; x++) {
        float map_x =
            (((float)x + 0.5f) * placement->scale_x + placement->left) / mask->step_x - 0.5f;
        find_neighbours(map_x, mask->x0, mask->width, &left, &right, &u);
        float above = upper[left] + (upper[right] - upper[left]) * u;
        float below = lower[left] + (lower[right] - lower[left]) * u;
        row[x] = above + (below - above) * v > 0;
    }
}

/* Lengths of runs, and their text. */
struct runs {
    uint32_t *lengths;
    size_t count, capacity;
};

static bool end_run(struct runs *runs, uint32_t length)
{
    if (!ad_grow(&runs->lengths, runs->count, &runs->capacity, sizeof *runs->lengths))
        return false;
    runs->lengths[runs->count++] = length;
    return true;
}

/* As rleToString() of COCO's mask API: groups of five bits, the lowest first, a sixth for "more",
 * from character 48 on; from the fourth length on the difference from the one before the last. */
static char *write_text(const struct runs *runs)
{
    char *text = ad_calloc(runs->count * 7 + 1, 1);
    size_t n = 0;
    for (size_t i = 0; text && i < runs->count; i++) {
        int64_t x = runs->lengths[i];
        if (i > 2)
            x -= runs->lengths[i - 2];
        bool more = true;
        while (more) {
            int bits = (int)(x & 31);
            x >>= 5;
            more = bits & 16 ? x != -1 : x != 0;
            text[n++] = (char)((more ? bits | 32 : bits) + 48);
        }
    }
    return text;
}

/* The box's part of the picture, `columns` pixels from x0 on: down each column in turn. */
static bool find_runs(const uint8_t *pixels, int x0, int columns, const struct ad_placement *size,
                      struct runs *runs, int64_t *area)
{
    uint32_t length = (uint32_t)x0 * (uint32_t)size->height; /* all before the box is outside */
    uint8_t inside = 0;
    *area = 0;
    for (int x = 0; x < columns; x++)
        for (int y = 0; y < size->height; y++) {
            uint8_t pixel = pixels[(size_t)y * (size_t)columns + (size_t)x];
            *area += pixel;
            if (pixel != inside) {
                if (!end_run(runs, length))
                    return false;
                inside = pixel;
                length = 0;
            }
            length++;
        }
    uint32_t rest = (uint32_t)(size->width - x0 - columns) * (uint32_t)size->height;
    if (inside && rest > 0) {
        if (!end_run(runs, length))
            return false;
        length = 0;
    }
    return end_run(runs, length + rest);
}

enum adaps_status ad_mask_rle(const struct ad_detection *detection,
                              const struct ad_placement *placement, char **text, int64_t *area,
                              struct adaps_error *err)
{
    int x0 = first_pixel(detection->x0, placement->width);
    int x1 = first_pixel(detection->x1, placement->width);
    size_t columns = x1 > x0 ? (size_t)(x1 - x0) : 0;
    struct runs runs = {0};
    uint8_t *pixels = ad_calloc((size_t)placement->height, columns);
    uint8_t *row = ad_calloc((size_t)placement->width, 1);
    *text = NULL;
    if (pixels && row) {
        for (int y = 0; y < placement->height; y++) {
            ad_mask_row(detection, placement, y, row);
            if (columns > 0)
                memcpy(pixels + (size_t)y * columns, row + x0, columns);
        }
        if (find_runs(pixels, x0, (int)columns, placement, &runs, area))
            *text = write_text(&runs);
    }
    ad_free(pixels);
    ad_free(row);
    ad_free(runs.lengths);
    return *text ? ADAPS_OK : ad_error_memory(err, "mask", (size_t)placement->height * columns);
}
