/* Work graphs: what is to be computed as vertices, which devices of little memory share. What goes
 * with a vertex's output goes once to each device that has a reader of it; what the vertices of a
 * group share (a layer's weights) lies once on each device that has one of them. After F. M. C. de
 * Oliveira and E. Borin, "Partitioning Convolutional Neural Networks to Maximize the Inference Rate
 * on Constrained IoT Devices" (Future Internet 2019), sections 2.2 and 2.3. */
#ifndef AD_SEARCH_PUBLISHED_WORK_GRAPH_H
#define AD_SEARCH_PUBLISHED_WORK_GRAPH_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Devices are bits of a word. */
#define AD_WORK_DEVICES 64

/* The arrays are the caller's. */
struct ad_work_graph {
    int nvertices, ngroups, ndevices;
    const int64_t *memory;   /* by vertex: bytes of its own */
    const int64_t *bytes;    /* of its output */
    const double *work;      /* FLOP, or whatever rate counts */
    const int *group;        /* -1: none */
    const int *first;        /* [nvertices + 1]: where a vertex's readers begin */
    const int *readers;      /* vertices, each once for a vertex, not itself */
    const int64_t *shared;   /* by group: bytes */
    const int64_t *limit;    /* by device: bytes of memory */
    const double *rate;      /* by device: work a second */
    const double *bandwidth; /* [device * ndevices + device]: bytes a second of the link between
                                two, both ways together; symmetric */
};

/* Of a partitioning: part[v] is the device of a vertex. */
struct ad_work_cost {
    int64_t excess; /* bytes beyond what devices have, over all devices */
    double seconds; /* of the device or link that takes longest: 1 / seconds is the inference rate
                       (eqs 1 to 3) */
    int64_t bytes;  /* over all links */
};

/* By definition, from nothing. ADAPS_EINTERNAL without memory. */
AD_MUST_CHECK enum adaps_status ad_work_measure(const struct ad_work_graph *graph, const int *part,
                                                struct ad_work_cost *out, struct adaps_error *err);

/* Bytes by device. */
AD_MUST_CHECK enum adaps_status ad_work_memory(const struct ad_work_graph *graph, const int *part,
                                               int64_t *memory, struct adaps_error *err);

/* A random partitioning within the memory; vertices with fixed[v] (nullable) stay where they are.
 * ADAPS_NO: none was found in many attempts; then part is the last one's, in which what found no
 * room is where there was most. */
AD_MUST_CHECK enum adaps_status ad_work_random(const struct ad_work_graph *graph, const bool *fixed,
                                               uint64_t seed, int *part, struct adaps_error *err);

#endif
