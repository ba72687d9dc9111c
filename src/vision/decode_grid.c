/* Heads whose boxes are told relative to the cells of grids. */
#include "vision/decode.h"

#include <math.h>

/* Goes through the cells of all grids in the order of the output's rows. */
struct cells {
    const struct ad_head *head;
    int grid, x, y;
};

static int cells_along(int size, int stride)
{
    return (size + stride - 1) / stride;
}

static int stride_of(const struct cells *cells)
{
    return cells->head->strides[cells->grid];
}

static void next_cell(struct cells *cells)
{
    if (++cells->x < cells_along(cells->head->width, stride_of(cells)))
        return;
    cells->x = 0;
    if (++cells->y < cells_along(cells->head->height, stride_of(cells)))
        return;
    cells->y = 0;
    cells->grid++;
}

static enum adaps_status open_cells(const struct ad_decoder *d, int64_t fields,
                                    struct ad_fields *out)
{
    int64_t cells = 0;
    for (int i = 0; i < d->head->nstrides; i++)
        cells += (int64_t)cells_along(d->head->width, d->head->strides[i]) *
                 cells_along(d->head->height, d->head->strides[i]);
    enum adaps_status status = ad_decoder_fields(d, d->head->main, false, fields, out);
    if (status == ADAPS_OK && out->rows != cells)
        status = ad_error_set(d->err, ADAPS_EINPUT, "output %d has %lld rows, not %lld",
                              d->head->main, (long long)out->rows, (long long)cells);
    return status;
}

enum adaps_status ad_decode_yolox(struct ad_decoder *d)
{
    struct ad_fields t;
    struct cells cells = {.head = d->head};
    enum adaps_status status = open_cells(d, 5 + d->head->classes, &t);
    for (int64_t i = 0; status == ADAPS_OK && i < t.rows; i++, next_cell(&cells)) {
        int class, stride = stride_of(&cells);
        double score = ad_field(&t, i, 4) * ad_best_class(&t, i, 5, d->head->classes, &class);
        if (!ad_decoder_wants(d, class, score))
            continue;
        struct ad_input_box box = ad_box_around(
            (ad_field(&t, i, 0) + cells.x) * stride, (ad_field(&t, i, 1) + cells.y) * stride,
            exp(ad_field(&t, i, 2)) * stride, exp(ad_field(&t, i, 3)) * stride);
        status = ad_decoder_add(d, box, class, score, i);
    }
    return status;
}

/* The mean of the bins 0, 1, ... by the softmax of their fields. */
static double mean_bin(const struct ad_fields *t, int64_t row, int64_t first, int bins)
{
    double most = -INFINITY, sum = 0, mean = 0;
    for (int i = 0; i < bins; i++)
        most = fmax(most, ad_field(t, row, first + i));
    for (int i = 0; i < bins; i++) {
        double weight = exp(ad_field(t, row, first + i) - most);
        sum += weight;
        mean += weight * i;
    }
    return mean / sum;
}

/* NanoDet has three grids and measures from the middle of a cell; NanoDet-Plus has four and
 * measures from its corner. */
enum adaps_status ad_decode_nanodet(struct ad_decoder *d)
{
    const struct ad_head *head = d->head;
    struct ad_fields t;
    struct cells cells = {.head = head};
    double middle = head->nstrides == 3 ? 0.5 : 0;
    enum adaps_status status = open_cells(d, head->classes + 4 * (int64_t)head->bins, &t);
    for (int64_t i = 0; status == ADAPS_OK && i < t.rows; i++, next_cell(&cells)) {
        int class, stride = stride_of(&cells);
        double score = ad_best_class(&t, i, 0, head->classes, &class), sides[4];
        if (!ad_decoder_wants(d, class, score))
            continue;
        for (int s = 0; s < 4; s++)
            sides[s] = mean_bin(&t, i, head->classes + (int64_t)s * head->bins, head->bins);
        double x = cells.x + middle, y = cells.y + middle;
        struct ad_input_box box = {(x - sides[0]) * stride, (y - sides[1]) * stride,
                                   (x + sides[2]) * stride, (y + sides[3]) * stride};
        status = ad_decoder_add(d, box, class, score, i);
    }
    return status;
}
