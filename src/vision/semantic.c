#include "vision/semantic.h"
#include "vision/element.h"

#include <math.h>
#include <string.h>

/* The answer's map: where a class' score of a point stands. */
struct map {
    const struct ad_tensor *tensor;
    int width, height, classes;
    size_t step_x, step_y, step_class;
    float point_x, point_y; /* pixels of the network's input that a point stands for */
};

static enum adaps_status open_map(struct map *map, const struct ad_head *head,
                                  const struct ad_tensor *tensor, struct adaps_error *err)
{
    int rank = tensor->rank;
    bool last = head->channels_last && rank == 4;
    int at = rank - 2 - last; /* of the height */
    char shape[128];
    if (rank < 3 || rank > 4 || tensor->dims[0] != 1 || tensor->dims[at] < 1 ||
        tensor->dims[at + 1] < 1 || (rank == 4 && tensor->dims[last ? 3 : 1] != head->classes))
        return ad_error_set(err, ADAPS_EINPUT, "the answer of shape %s is no map of %d classes",
                            ad_dims_format(rank, tensor->dims, shape, sizeof shape), head->classes);
    *map = (struct map){.tensor = tensor,
                        .height = (int)tensor->dims[at],
                        .width = (int)tensor->dims[at + 1],
                        .classes = head->classes};
    map->step_x = last ? (size_t)map->classes : 1;
    map->step_y = map->step_x * (size_t)map->width;
    map->step_class = last ? 1 : map->step_y * (size_t)map->height;
    map->point_x = (float)head->width / (float)map->width;
    map->point_y = (float)head->height / (float)map->height;
    return ADAPS_OK;
}

/* Where pixel i of the picture lies on the map's axis of n points. */
static double on_map(int i, float scale, float start, float point, int n)
{
    double at = ((i + 0.5) * (double)scale + (double)start) / (double)point - 0.5;
    return at < 0 ? 0 : at > n - 1 ? n - 1 : at;
}

static enum adaps_status read_numbers(const struct map *map, const struct ad_placement *placement,
                                      struct ad_class_map *out, struct adaps_error *err)
{
    for (int y = 0; y < out->height; y++)
        for (int x = 0; x < out->width; x++) {
            double u = on_map(x, placement->scale_x, placement->left, map->point_x, map->width);
            double v = on_map(y, placement->scale_y, placement->top, map->point_y, map->height);
            size_t at = (size_t)(v + 0.5) * map->step_y + (size_t)(u + 0.5) * map->step_x;
            double class = nearbyint(ad_element(map->tensor, at));
            if (!(class >= 0 && class <= UINT16_MAX))
                return ad_error_set(err, ADAPS_EINPUT,
                                    "the answer's element %zu is no class number: %g", at,
                                    ad_element(map->tensor, at));
            out->class_of[(size_t)y * (size_t)out->width + (size_t)x] = (uint16_t) class;
            out->classes = (int)class >= out->classes ? (int)class + 1 : out->classes;
        }
    return ADAPS_OK;
}

/* Scores of a class along a row of the picture against the best so far. */
static void contend(const struct map *map, const struct ad_placement *placement, int class, int y,
                    float *best, uint16_t *row)
{
    double v = on_map(y, placement->scale_y, placement->top, map->point_y, map->height);
    size_t up = (size_t)v, down = up + 1 < (size_t)map->height ? up + 1 : up;
    size_t plane = (size_t) class * map->step_class;
    for (int x = 0; x < placement->width; x++) {
        double u = on_map(x, placement->scale_x, placement->left, map->point_x, map->width);
        size_t left = (size_t)u, right = left + 1 < (size_t)map->width ? left + 1 : left;
        size_t upper = plane + up * map->step_y, lower = plane + down * map->step_y;
        double a = ad_element(map->tensor, upper + left * map->step_x);
        double b = ad_element(map->tensor, upper + right * map->step_x);
        double c = ad_element(map->tensor, lower + left * map->step_x);
        double d = ad_element(map->tensor, lower + right * map->step_x);
        double above = a + (b - a) * (u - (double)left), below = c + (d - c) * (u - (double)left);
        float score = (float)(above + (below - above) * (v - (double)up));
        if (score > best[x]) {
            best[x] = score;
            row[x] = (uint16_t) class;
        }
    }
}

enum adaps_status ad_class_map_decode(const struct ad_head *head, const struct ad_tensor *outputs,
                                      const struct ad_placement *placement,
                                      struct ad_class_map *out, struct adaps_error *err)
{
    struct map map = {0};
    memset(out, 0, sizeof *out);
    enum adaps_status status = open_map(&map, head, &outputs[head->main], err);
    if (status != ADAPS_OK)
        return status;
    out->width = placement->width;
    out->height = placement->height;
    out->classes = map.classes > 1 ? map.classes : 1;
    size_t pixels = (size_t)out->width * (size_t)out->height;
    out->class_of = ad_calloc(pixels, sizeof *out->class_of);
    float *best = ad_calloc((size_t)out->width, sizeof *best);
    if (!out->class_of || !best)
        status = ad_error_memory(err, "map of classes", pixels * sizeof *out->class_of);
    else if (map.classes <= 1)
        status = read_numbers(&map, placement, out, err);
    else
        for (int y = 0; y < out->height; y++) {
            for (int x = 0; x < out->width; x++)
                best[x] = -INFINITY;
            for (int class = 0; class < map.classes; class ++)
                contend(&map, placement, class, y, best,
                        out->class_of + (size_t)y * (size_t)out->width);
        }
    ad_free(best);
    if (status != ADAPS_OK)
        ad_class_map_fini(out);
    return status;
}

void ad_class_map_fini(struct ad_class_map *map)
{
    ad_free(map->class_of);
    memset(map, 0, sizeof *map);
}
