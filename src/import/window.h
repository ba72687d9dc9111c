/* Sliding windows as ONNX attributes have them: of convolutions and pools, over one, two or three
 * spatial dimensions. */
#ifndef AD_IMPORT_WINDOW_H
#define AD_IMPORT_WINDOW_H

#include "import/internal.h"

#define AD_MAX_WINDOW (1 << 20)

enum { AD_DEPTH, AD_HEIGHT, AD_WIDTH, AD_AXES };

/* By axis. Axes that the input does not have are windows of 1. Padding hi holds what ceil_mode and
 * auto_pad add, `declared` is without ceil_mode's. */
struct ad_window3 {
    int32_t k[AD_AXES], s[AD_AXES], d[AD_AXES];
    int32_t lo[AD_AXES], hi[AD_AXES], declared[AD_AXES];
};

/* "depth", "height", "width". */
extern const char *const ad_axis_names[AD_AXES];

/* The axis of the first spatial dimension: of one or two, the last two axes count. */
static inline int ad_first_axis(const struct ad_node *node)
{
    return node->spatial == 3 ? AD_DEPTH : AD_HEIGHT;
}

/* Size of this axis of a value of rank 4 or 5. */
static inline int64_t ad_axis_size(const struct ad_draft_value *v, int axis)
{
    return axis > AD_DEPTH ? v->dims[v->rank - AD_AXES + axis] : v->rank == 5 ? v->dims[2] : 1;
}

/* Numbers of an attribute by axis, each in lo..AD_MAX_WINDOW; `lo` for axes that the input does not
 * have, `fallback` when the attribute is absent (*present). */
AD_MUST_CHECK enum adaps_status ad_window_sizes(struct ad_node *node, const char *name, int64_t lo,
                                                int64_t fallback, int32_t out[AD_AXES],
                                                bool *present, struct adaps_error *err);

enum ad_auto_pad { AD_PAD_NOTSET, AD_PAD_SAME_UPPER, AD_PAD_SAME_LOWER, AD_PAD_VALID };

/* Strides, dilations, auto_pad and, where that is not set, pads. */
AD_MUST_CHECK enum adaps_status ad_window_read(struct ad_node *node, struct ad_window3 *w,
                                               enum ad_auto_pad *mode, struct adaps_error *err);

/* Everything of the window from the attributes but k, which is set. `extra` are the pads taken from
 * a Pad node; `in` is the value before those. out: the output's sizes. */
AD_MUST_CHECK enum adaps_status ad_window_complete(struct ad_node *node,
                                                   const struct ad_draft_value *in,
                                                   const struct ad_window *extra, bool ceil_mode,
                                                   struct ad_window3 *w, int64_t out[AD_AXES],
                                                   struct adaps_error *err);

/* A window of one pixel with these pads: above, left, below, right. */
static inline struct ad_window ad_window_pad(int32_t pt, int32_t pl, int32_t pb, int32_t pr)
{
    return (struct ad_window){1, 1, 1, 1, 1, 1, pt, pl, pb, pr, pb, pr};
}

/* Into the op, whose depth stays 0 for maps without. */
void ad_window_set(struct ad_draft_op *op, const struct ad_window3 *w, int rank);

/* Dims of the same rank as `in`, with these channels and sizes. */
void ad_window_dims(const struct ad_draft_value *in, int64_t channels, const int64_t out[AD_AXES],
                    int64_t dims[AD_MAX_RANK]);

/* Input 0 as a feature map of rank 4 or 5. Sequences (rank 3) become maps of one column. */
AD_MUST_CHECK enum adaps_status ad_node_map(struct ad_node *node, int *map,
                                            struct adaps_error *err);
/* Output 0 is this map, without its column where the input has none. */
AD_MUST_CHECK enum adaps_status ad_node_set_map(struct ad_node *node, int map,
                                                struct adaps_error *err);

/* Zero padding by a Pad node before a convolution or an average: *source is what that node pads,
 * and its pads come on top of the window's own. */
void ad_node_take_pad(struct ad_node *node, int *source, struct ad_window *pads);

/* A node of rank 5 becomes about so many operators of the graph: an error when the model has too
 * many of them. */
AD_MUST_CHECK enum adaps_status ad_node_pieces(struct ad_node *node, double count,
                                               struct adaps_error *err);

/* The same for a convolution with this window. */
AD_MUST_CHECK enum adaps_status ad_window_pieces(struct ad_node *node, const struct ad_window3 *w,
                                                 const int64_t out[AD_AXES],
                                                 struct adaps_error *err);

#endif
