/* What a fused range of ops takes the devices that share it, by a plain model: the time of a part
 * of an op is its part of the time of the whole. For dynamic programmes over ranges, which are
 * looked at from their end backwards, op by op. */
#ifndef AD_SEARCH_PUBLISHED_RANGES_H
#define AD_SEARCH_PUBLISHED_RANGES_H

#include "search/context.h"

/* The devices are places, each with its part of the rows of every op that has rows to divide; what
 * has none is whole at one place. In a range an op whose output is read after it, by an op that is
 * whole, or as the network's output, is pinned: a place computes its band, and fetches what it
 * reads beyond. Of the others a place computes all that its later ops of the range read. That is
 * what a layout with the same cuts and pins makes of it. */
struct ad_ranges {
    const struct ad_context *context;
    const int *order; /* the ops in an order in which producers come first; borrowed */
    int *last; /* [op]: one after the place in that order of its last reader; nops + 1: a network
                  output */
    int nplaces, whole_at;   /* the place of what is not divided */
    int feed_at;             /* the place that has the network's inputs; -1: none of them */
    double *seconds;         /* [op * nplaces + place]: of the whole op */
    struct ad_region *bands; /* likewise: of its output */
    struct ad_region *wants; /* [value * nplaces + place]: what the range reads of it */
    bool *pinned;            /* [op]: read by an op of the range that is whole */
    int begin, end;          /* the range: from here to there in the order */
    /* Of the range, by place: */
    double compute_s[AD_MAX_DEVICES];
    double in[AD_MAX_DEVICES];        /* bytes read of what is made before the range, */
    double lacks[AD_MAX_DEVICES];     /* and what the place has no band of */
    double exchanged[AD_MAX_DEVICES]; /* bytes fetched within the range */
    double out[AD_MAX_DEVICES];       /* bytes of its bands that are read after it */
};

/* order: borrowed. weight: of each place's part; all parts in the order of the places. whole_at:
 * the place of what is not divided. Sets seconds to 0: the caller's to fill in. Free with
 * ad_ranges_fini(), on failure, too. */
AD_MUST_CHECK enum adaps_status ad_ranges_init(struct ad_ranges *out,
                                               const struct ad_context *context, const int *order,
                                               const double *weight, int nplaces, int whole_at,
                                               struct adaps_error *err);
void ad_ranges_fini(struct ad_ranges *ranges);

/* An empty range that ends before the op at `end` of the order. */
void ad_ranges_begin(struct ad_ranges *ranges, int end);

/* The range with the op before it. */
void ad_ranges_extend(struct ad_ranges *ranges);

/* Seconds that a device takes for the whole op by itself. */
double ad_whole_op_seconds(const struct ad_graph *graph, const struct ad_device *device, int op);

#endif
