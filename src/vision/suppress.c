#include "vision/suppress.h"

#include <math.h>
#include <stdlib.h>

static double area(double width, double height)
{
    return width > 0 && height > 0 ? width * height : 0;
}

double ad_box_iou(const struct ad_detection *a, const struct ad_detection *b)
{
    double x0 = fmax((double)a->x0, (double)b->x0), x1 = fmin((double)a->x1, (double)b->x1);
    double y0 = fmax((double)a->y0, (double)b->y0), y1 = fmin((double)a->y1, (double)b->y1);
    double shared = area(x1 - x0, y1 - y0);
    double all = area((double)a->x1 - (double)a->x0, (double)a->y1 - (double)a->y0) +
                 area((double)b->x1 - (double)b->x0, (double)b->y1 - (double)b->y0) - shared;
    return all > 0 ? shared / all : 0;
}

static int compare(const void *a, const void *b)
{
    const struct ad_detection *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->candidate < y->candidate ? -1 : x->candidate > y->candidate;
}

void ad_detections_sort(struct ad_detections *detections)
{
    int count = 0;
    for (int i = 0; i < detections->count; i++)
        if (!isnan(detections->items[i].score))
            detections->items[count++] = detections->items[i];
    detections->count = count;
    if (count > 0)
        qsort(detections->items, (size_t)count, sizeof *detections->items, compare);
}

static bool is_covered(const struct ad_detection *kept, int count, const struct ad_detection *one,
                       double iou)
{
    for (int i = 0; i < count; i++)
        if (kept[i].class == one->class && ad_box_iou(&kept[i], one) > iou)
            return true;
    return false;
}

void ad_suppress(struct ad_detections *detections, double iou, int most)
{
    ad_detections_sort(detections);
    struct ad_detection *items = detections->items;
    int count = 0;
    for (int i = 0; i < detections->count && count < most; i++)
        if (!is_covered(items, count, &items[i], iou))
            items[count++] = items[i];
    detections->count = count;
}
