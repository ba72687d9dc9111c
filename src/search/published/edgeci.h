/* EdgeCI's auction and programme; for edgeci.c and its tests. */
#ifndef AD_SEARCH_PUBLISHED_EDGECI_H
#define AD_SEARCH_PUBLISHED_EDGECI_H

#include "search/context.h"

/* Equal parts of the rows that are auctioned. */
#define AD_LOTS 64

/* What a device bids with. */
struct ad_bidder {
    double lot_s;     /* seconds to compute a lot of the whole network, */
    double lot_bytes; /* and bytes that it receives and sends for it */
    double bandwidth; /* of these, a second */
    double delay_s;   /* before it has its first lot */
    int most;         /* lots that its memory holds */
};

/* Seconds after which a bidder with so many lots is done with them. */
double ad_bidder_seconds(const struct ad_bidder *bidder, int lots);

/* Each lot goes to the one who would be done soonest with it and those it has, ties to the lower
 * index. Lots that nobody has the memory for go to bidder `last`. lots: how many each gets. */
void ad_auction(const struct ad_bidder *bidders, int count, int last, int *lots);

/* Blocks of ops that follow each other in the graph's order. */
struct ad_edgeci {
    const struct ad_context *context;
    int lots[AD_MAX_DEVICES];
    int nplaces, *place; /* where a block may begin: ops, ascending; the last is nops */
    double *block_s; /* [begin * (nplaces + 1) + end]: seconds of ops [place[begin], place[end]) as
                        one fused block */
    bool *ends;      /* [place]: a block ends there in the best of all */
    double total_s;  /* of all blocks of that */
};

/* The auction, what blocks take, and the best blocks. Free with ad_edgeci_fini(), on failure, too.
 */
AD_MUST_CHECK enum adaps_status
ad_edgeci_init(struct ad_edgeci *out, const struct ad_context *context, struct adaps_error *err);
void ad_edgeci_fini(struct ad_edgeci *edgeci);

#endif
