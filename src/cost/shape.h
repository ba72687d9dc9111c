/* Measured times of single operators, in a cost table. They are exact for their own shape; the
 * times of other shapes of the class are interpolated from them. */
#ifndef AD_COST_SHAPE_H
#define AD_COST_SHAPE_H

#include "cost/cluster.h"
#include "ir/operators.h"

#define AD_SHAPE_TEXT 160     /* bytes of a shape's text */
#define AD_SHAPE_POINTS 8     /* of one shape */
#define AD_SHAPE_NO_TIME 1e-8 /* seconds: its time is part of that of the operator before it */
#define AD_SHAPES_MAX 4096    /* of one table */

/* What two operators must have in common to take the same time. Padding, alignment and values do
 * not count. All fields have 32 bits, without gaps: compared and hashed as bytes. */
struct ad_shape {
    enum ad_op_kind kind;
    int32_t function;               /* enum ad_function */
    int32_t kh, kw, sh, sw, dh, dw; /* 0 without a window */
    int32_t winograd;               /* convolutions: as struct ad_op has it; 0 elsewhere */
    int32_t groups;                 /* convolutions; 0 elsewhere */
    int32_t quantised;              /* 1: of quantised values, at either end */
    int32_t detail; /* CONCAT: operands; LRN: size; MATMUL: depth; SPACE_TO_DEPTH, DEPTH_TO_SPACE:
                       block; RESAMPLE: taps; elementwise with two operands: 1 when one is repeated;
                       WHOLE: operations for each word of the output; 0 elsewhere */
    int32_t n, ih, iw, ic, oh, ow,
        oc; /* of the first operand, or the larger of two, and of the output */
};

struct ad_shape ad_shape_of(const struct ad_graph *graph, const struct ad_op *op);

/* "conv 3x3/2 g32 +HardSwish 112x112x32 -> 56x56x32": kind; window, stride and dilation (~2);
 * Winograd's m (w4); q of quantised values; groups; detail (*4); function; images (n2) when there
 * are several; first operand and output as rows x columns x channels. Returns buf. */
char *ad_shape_format(const struct ad_shape *shape, char *buf, size_t size);

/* False when the text is not such a shape. */
bool ad_shape_parse(const char *text, struct ad_shape *out);

/* The class of an op of a kind; of convolutions with m of Winograd's algorithm or 0, in so many
 * groups, each of one input channel if depthwise. */
enum ad_cost_class ad_cost_class_of_kind(enum ad_op_kind kind, int winograd, int groups,
                                         bool depthwise, bool quantised);
enum ad_cost_class ad_shape_class(const struct ad_shape *shape);

/* Elementwise units per element: about how often arithmetic at the rate of memory could be done in
 * the time (bench/functions). */
double ad_function_units(enum ad_function function);

/* How many elements of the input an element of a RESAMPLE's output is made of: 1, 4 or 16. */
int ad_resampling_taps(const struct ad_op *op);

/* Multiply-accumulates, elements or taps of the whole, as ad_cost_work() counts them. Of Winograd's
 * algorithm: those of its products, and what its transforms take in the time of so many more. */
double ad_shape_units(const struct ad_shape *shape);

/* What the first `rows` rows of the output take, of all images and all channels. Ascending. */
struct ad_shape_point {
    int32_t rows;
    double seconds;
};
struct ad_shape_time {
    struct ad_shape shape;
    int npoints; /* 1..AD_SHAPE_POINTS */
    struct ad_shape_point points[AD_SHAPE_POINTS];
};

/* Whether there are 1 to AD_SHAPE_POINTS points of ascending rows, at most the shape's (of all
 * images), with times above zero, at most 1000 s. */
bool ad_shape_time_valid(const struct ad_shape_time *time);

/* "14:160us 56:640us". False when the text is no such list; the points may still be invalid. */
bool ad_shape_parse_points(const char *text, struct ad_shape_time *out);
char *ad_shape_format_points(const struct ad_shape_time *time, char *buf, size_t size);

/* --- tables of them --- */

/* Shared by reference; not changed any more after ad_shapes_finish(). */
struct ad_shapes;

/* NULL without memory. One reference, the caller's. */
struct ad_shapes *ad_shapes_new(void);
struct ad_shapes *ad_shapes_ref(const struct ad_shapes *shapes); /* NULL gives NULL */
void ad_shapes_unref(const struct ad_shapes *shapes);            /* NULL is fine */

/* Adds a valid time, or replaces that of the same shape. ADAPS_EINPUT: too many. Times are put in
 * order: more rows never take less, nor more per row (a band is never quicker than its
 * share of the whole; lower bounds on latency rely on that). */
AD_MUST_CHECK enum adaps_status
ad_shapes_add(struct ad_shapes *shapes, const struct ad_shape_time *time, struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_shapes_finish(struct ad_shapes *shapes, struct adaps_error *err);

size_t ad_shapes_count(const struct ad_shapes *shapes); /* NULL has none */
const struct ad_shape_time *ad_shapes_item(const struct ad_shapes *shapes, size_t i);

/* Whether two tables say the same in the same order, as those of two devices of one board do. */
bool ad_shapes_same(const struct ad_shapes *a, const struct ad_shapes *b);
const struct ad_shape_time *ad_shapes_find(const struct ad_shapes *shapes,
                                           const struct ad_shape *shape);

/* A part of an operator: `pixels` of all images (rows x columns), `channels` of the output. */
struct ad_shape_part {
    double pixels, channels;
};

/* Seconds that a part takes; < 0: the table says nothing about the class of this shape. constant:
 * what any operator takes at least; tile: pixels that a convolution computes at once. *exact: the
 * table has this very shape, its function included; otherwise the time is without the function. */
double ad_shapes_seconds(const struct ad_shapes *shapes, const struct ad_shape *shape,
                         struct ad_shape_part part, double constant, int tile, bool *exact);

#endif
