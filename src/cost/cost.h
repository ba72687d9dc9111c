/* Time and memory of one operator on a region, from extents alone (the geometry is fusion/'s). */
#ifndef AD_COST_COST_H
#define AD_COST_COST_H

#include "cost/cluster.h"
#include "cost/shape.h"

enum ad_cost_class ad_cost_class_of(const struct ad_graph *graph, const struct ad_op *op);

/* Multiply-accumulates of the whole op (0 where there are neither weights nor matrices). */
int64_t ad_cost_macs(const struct ad_graph *graph, const struct ad_op *op);

/* What computing a part of an op takes. */
struct ad_work {
    enum ad_cost_class class;
    double units; /* MACs, or elements (pool: window taps x outputs) */
    double bytes; /* input + weights + output bytes touched */
    double after; /* elementwise units of a fused function, a pass over the output afterwards */
    const struct ad_graph *graph; /* borrowed; op NULL: only the above is known */
    const struct ad_op *op;
    struct ad_shape_part part;
};

/* out_elements, in_elements: of the part, all images; weight_rows: of the slice. */
struct ad_work ad_cost_work(const struct ad_graph *graph, const struct ad_op *op,
                            int64_t out_elements, int64_t in_elements, int64_t weight_rows);

/* The class by whose rate devices are compared for this graph: most of its multiply-accumulates are
 * of floats (CONV), or of quantised values: then the class that has most of these. */
enum ad_cost_class ad_cost_main_class(const struct ad_graph *graph);

/* A device's rate of a class, or of the one that stands in for it, times its speed. */
double ad_cost_speed(const struct ad_device *device, enum ad_cost_class class);

/* The devices' numbers: the source, then the others by falling speed; ties: the lower one first. */
void ad_cost_order(const struct ad_cluster *cluster, enum ad_cost_class class, int *order);

/* Whether two devices take the same time for any op. */
bool ad_cost_same(const struct ad_device *a, const struct ad_device *b);

/* Seconds: constant + max(units / (rate * speed), bytes / (memory_bw * speed)), plus after /
 * (elementwise rate * speed). Where the table has measured shapes: the time of this very shape, or
 * one interpolated from the shapes of its class, if there are any, plus the same for `after`. 0 for
 * concatenations that copy nothing. */
double ad_cost_seconds(const struct ad_device *device, const struct ad_work *work);

/* Seconds that the source takes to put all network inputs in before its first step, and to take the
 * outputs out after its last. */
double ad_cost_feed_seconds(const struct ad_graph *graph, const struct ad_device *source);
double ad_cost_fetch_seconds(const struct ad_graph *graph, const struct ad_device *source);

/* Encoding, or decoding, so many bytes of float32. */
double ad_cost_encode_seconds(const struct ad_device *device, enum ad_encoding encoding,
                              bool decode, int64_t bytes);

#endif
