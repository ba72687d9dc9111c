/* Chunks: bands that are sent whole, or nearly, in several messages (struct ad_assignment), so that
 * the first is on its way while the rest is computed. Internal to schedule/. */
#ifndef AD_SCHEDULE_CHUNKS_H
#define AD_SCHEDULE_CHUNKS_H

#include "schedule/transfers.h"

/* What of a band is computed before the rest, one chunk after another. */
struct ad_chunks {
    int count;                                /* of the chunks, but for the last one */
    struct ad_region upto[AD_MAX_CHUNKS - 1]; /* the band up to the end of each chunk */
};

/* A band in about n chunks, of its rows or, if it has one only, its channels; fewer where parts of
 * it may not be computed alone. */
void ad_chunks_cut(const struct ad_graph *graph, const struct ad_op *op, struct ad_region band,
                   int n, struct ad_chunks *out);

/* One more chunk, up to this row or channel; not if that is no more than the last one, if the band
 * is cut the other way, or if what the end cuts may not be computed alone. */
void ad_chunks_add(const struct ad_graph *graph, const struct ad_op *op, struct ad_region band,
                   bool channels, int32_t end, struct ad_chunks *out);

/* How many chunks follow the first one that holds the piece. */
int ad_chunks_ahead(const struct ad_chunks *chunks, struct ad_region piece);

/* Cuts the messages of op's output that are more than half of what their sender computes (bands: by
 * device) into one per chunk, of n. False without memory. */
AD_MUST_CHECK bool ad_chunks_send(const struct ad_graph *graph, const struct ad_op *op,
                                  const struct ad_region *bands, int n, struct ad_transfers *sends);

/* Cuts the messages with inputs into n of about as many rows each. False without memory. */
AD_MUST_CHECK bool ad_chunks_feed(int n, struct ad_transfers *inputs);

#endif
