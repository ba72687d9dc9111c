/* What all passes of lowering know: the graph and the cluster, who reads which value, and what the
 * assignment at hand asks for besides its regions. Internal to schedule/. */
#ifndef AD_SCHEDULE_CONTEXT_H
#define AD_SCHEDULE_CONTEXT_H

#include "ir/readers.h"
#include "schedule/clocks.h"
#include "schedule/internal.h"

struct ad_lowering_context {
    const struct ad_graph *graph;
    const struct ad_cluster *cluster;
    struct ad_clocks *clocks; /* borrowed: what tasks take */
    struct adaps_error *err;
    int ndevices, nops;
    bool reused; /* for many assignments: leave room to grow */
    int kept;    /* answers per question, at most AD_KEPT; 1 when not reused */
    struct ad_readers readers;
    struct ad_arena arena; /* of what is as large for every assignment */
    uint64_t stamps;       /* given so far (memo.h) */
    int64_t work;          /* done in all runs, see ad_scorer_work() */

    /* Of the assignment at hand (struct ad_assignment). */
    int hub;
    const bool *early; /* by op */
    bool u8;
    const uint8_t *encoding;
    uint64_t encodings; /* their hash */
    enum ad_order order;
    int input_chunks, band_chunks; /* at least 1 */
};

/* On failure there is nothing to free. */
AD_MUST_CHECK enum adaps_status ad_lowering_context_init(struct ad_lowering_context *out,
                                                         const struct ad_graph *graph,
                                                         const struct ad_cluster *cluster,
                                                         struct ad_clocks *clocks, bool reused,
                                                         struct adaps_error *err);
void ad_lowering_context_fini(struct ad_lowering_context *c);

/* Takes what the assignment asks for. Borrows its arrays until the next one. */
void ad_lowering_context_take(struct ad_lowering_context *c,
                              const struct ad_assignment *assignment);

/* Units of ad_scorer_work(). */
#define AD_WORK_PIECE 4      /* a task is emitted */
#define AD_WORK_MESSAGE 1    /* an end of a message is */
#define AD_WORK_ROUTE 18     /* an op is routed anew, by input: mostly it is cut anew, too */
#define AD_WORK_DEPENDENCY 1 /* something that a piece waits for is found anew */

/* The place of a row's and a device's entry in a table with a column per device. */
static inline size_t ad_lowering_at(const struct ad_lowering_context *c, int row, int device)
{
    return (size_t)row * (size_t)c->ndevices + (size_t)device;
}

static inline bool ad_regions_meet(struct ad_region a, struct ad_region b)
{
    return !ad_region_empty(ad_region_intersect(a, b));
}

#endif
