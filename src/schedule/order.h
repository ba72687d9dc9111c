/* Tasks out of the graph's order: list scheduling. Internal to schedule/.
 *
 * While a device waits for rows of one branch it computes another, and what other devices wait for
 * comes first; which when is decided on clocks like the simulator's. What is taken are pieces of
 * the ops' bands (pieces.h). */
#ifndef AD_SCHEDULE_ORDER_H
#define AD_SCHEDULE_ORDER_H

#include "schedule/emit.h"
#include "schedule/pieces.h"

/* A piece while an order is made. */
struct ad_piece_state {
    const struct ad_piece *piece;
    int64_t ready; /* when the last of what it waits for was there */
    int waits;     /* for so many items */
};

/* What is read of an op while an order is made. */
struct ad_op_state {
    const struct ad_cut *cut;
    const int *block; /* of struct ad_dependencies */
    int first_piece, first_message;
};

struct ad_task_order {
    struct ad_lowering_context *c;
    struct ad_routes *routes;
    struct ad_emitter *emitter;
    bool prepared;           /* what follows up to ops is there */
    struct ad_pieces pieces; /* of the ops' bands */
    int64_t *rank;           /* by op: ns from its start to the end on the source alone */
    int *added;              /* by op: the addition that reads its output; -1: none */
    struct ad_op_state *ops;
    struct ad_piece_state *list; /* the pieces of all ops */
    size_t room;
    struct ad_ints left;                           /* by message: unfinished pieces */
    struct ad_ints *open;                          /* by device: pieces that may be taken */
    const struct ad_piece *latest[AD_MAX_DEVICES]; /* that the device took; NULL: none */
    int best[AD_MAX_DEVICES];      /* the one it should take next: its place in open[] */
    int64_t start[AD_MAX_DEVICES]; /* and when that can start; INT64_MAX: none is open */
    uint64_t changed;              /* bit d: device d has to choose again */
    int64_t clock[AD_MAX_DEVICES];
    struct ad_ports ports;
    int64_t rest[AD_MAX_DEVICES]; /* ns of the pieces that are not taken */
    bool over;                    /* the last run went beyond its limit and did not end */
};

/* All are borrowed. The rest of the memory is taken by the first run. */
void ad_task_order_init(struct ad_task_order *out, struct ad_lowering_context *c,
                        struct ad_routes *routes, struct ad_emitter *emitter);
void ad_task_order_fini(struct ad_task_order *o);

/* Emits every piece once, and the messages; the emitter has started. Gives up, and sets `over`,
 * once it is sure to take longer than limit_ns. False without memory. */
AD_MUST_CHECK bool ad_task_order_run(struct ad_task_order *o, int64_t limit_ns);

#endif
