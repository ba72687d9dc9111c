/* A partitioning of a work graph that changes vertex by vertex: what each device and link carries,
 * and what a change would be worth without adding everything up again. */
#ifndef AD_SEARCH_PUBLISHED_WORK_STATE_H
#define AD_SEARCH_PUBLISHED_WORK_STATE_H

#include "search/published/work_graph.h"

/* What is made small. The times of devices and links are added as powers, so that a change counts
 * where it touches one that is not the longest, too; high powers are next to their maximum. */
enum ad_work_objective {
    AD_WORK_RATE, /* the longest time of a device or link */
    AD_WORK_BYTES /* the bytes over all links */
};

struct ad_work_state {
    const struct ad_work_graph *graph;
    enum ad_work_objective objective;
    int *part;         /* by vertex; the state's own */
    int *source_first; /* [nvertices + 1]: where what a vertex reads begins */
    int *sources;
    int *at;        /* [vertex * ndevices + device]: readers there */
    uint64_t *mask; /* by vertex: the devices with readers */
    int *members;   /* [group * ndevices + device] */
    int64_t *link;  /* [device * ndevices + device]: bytes, both ways together; symmetric */
    int64_t used[AD_WORK_DEVICES]; /* memory */
    double load[AD_WORK_DEVICES];
    double unit;     /* seconds (or bytes) that count as 1 */
    double *of_byte; /* [device * ndevices + device]: units that a byte takes on the link */
    double of_work[AD_WORK_DEVICES]; /* likewise of a device */
    int squarings;                   /* the power is 2 to this */
};

/* The caller's (ad_work_state_fini), on failure, too. part: copied. */
AD_MUST_CHECK enum adaps_status ad_work_state_init(struct ad_work_state *out,
                                                   const struct ad_work_graph *graph,
                                                   enum ad_work_objective objective,
                                                   const int *part, struct adaps_error *err);
void ad_work_state_fini(struct ad_work_state *state);

/* Which power, relative to the longest time of now. */
void ad_work_state_scale(struct ad_work_state *state, int squarings);

/* The sum of powers, and the longest time (or the bytes). */
double ad_work_state_sum(const struct ad_work_state *state);
double ad_work_state_longest(const struct ad_work_state *state);

/* Bytes of memory that a vertex takes at a device, and that it sets free where it is. */
int64_t ad_work_state_need(const struct ad_work_state *state, int v, int device);
int64_t ad_work_state_freed(const struct ad_work_state *state, int v);

/* A vertex that may leave its device: what the links of that one lose by it. */
struct ad_work_leaving {
    int v, from;
    int64_t change[AD_WORK_DEVICES]; /* to the link of `from` and each device */
    uint64_t changed;
    double sum; /* of the changed links and the device, after minus before */
};
void ad_work_state_leave(const struct ad_work_state *state, int v, struct ad_work_leaving *out);

/* The change of the sum when it goes to another device. */
double ad_work_state_gain(const struct ad_work_state *state, const struct ad_work_leaving *leaving,
                          int to);

/* The devices that have what the vertex reads, its readers, or others that read the same. */
uint64_t ad_work_state_near(const struct ad_work_state *state, int v);

void ad_work_state_move(struct ad_work_state *state, int v, int to);

#endif
