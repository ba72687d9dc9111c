/* One layer of EdgeFlow's linear programme; for edgeflow.c and its tests. */
#ifndef AD_SEARCH_PUBLISHED_EDGEFLOW_H
#define AD_SEARCH_PUBLISHED_EDGEFLOW_H

#include "base/error.h"

/* An input of the layer as it lies: bands at owned[0 .. ndevices] (rows, ascending from 0 to the
 * size), or whole on device `at` (owned NULL). The output rows [a, b) read its rows
 * [stride a - lead, stride b + tail), cut off at its edges. */
struct ad_edgeflow_input {
    const double *owned;
    int at;
    double stride, lead, tail;
    double row_bytes;
};

/* Rows of one layer, cut in the order of the devices. */
struct ad_edgeflow_layer {
    int ndevices;
    double rows;
    int ninputs;
    const struct ad_edgeflow_input *inputs;
    const double *row_s;     /* by device: seconds to compute a row, above 0 */
    const double *bandwidth; /* bytes/s, from * ndevices + to */
};

/* Seconds in which device d has fetched its input and computed the rows [lo, hi): what the
 * programme takes for it. Nothing is fetched from oneself; 0 without rows. */
double ad_edgeflow_seconds(const struct ad_edgeflow_layer *layer, int d, double lo, double hi);

/* Bytes that it fetches for that. */
double ad_edgeflow_bytes(const struct ad_edgeflow_layer *layer, int d, double lo, double hi);

/* Solves the programme: cuts[0 .. ndevices] in rows, not rounded, for which the last device is done
 * soonest; *seconds is its optimum. By the devices' speeds alone where the solver gives up.
 * ADAPS_EINTERNAL without memory. */
AD_MUST_CHECK enum adaps_status ad_edgeflow_layer_solve(const struct ad_edgeflow_layer *layer,
                                                        double *cuts, double *seconds,
                                                        struct adaps_error *err);

#endif
