/* What moves between devices, by op, and the memo of it. Internal to schedule/.
 *
 * What routing finds for an op depends only on the regions that it is assigned, on what the readers
 * of its output compute, and on how messages travel. So the last few answers for each op are kept,
 * and found again by that. (What a hub passes on is an exception that router.c reports.) */
#ifndef AD_SCHEDULE_ROUTES_H
#define AD_SCHEDULE_ROUTES_H

#include "schedule/memo.h"
#include "schedule/transfers.h"

/* Of one op's output: what is computed of it, and the messages with it. */
struct ad_route {
    bool valid;              /* it may be found again */
    uint64_t stamp;          /* the same only for equal answers */
    uint64_t computed_stamp; /* the same only when the same is computed */
    int hub, band_chunks;    /* from here to readers: the key */
    uint64_t encodings;
    struct ad_region *assigned; /* by device */
    uint64_t *readers;          /* by reader of the output: its computed_stamp */
    struct ad_region *computed; /* by device: what of `assigned` somebody wants */
    struct ad_region *reads;    /* [input * ndevices + device]: what computing that reads */
    int64_t *band_ns;           /* by device: what computing all of it takes; -1: not asked yet */
    int64_t *edge_ns;           /* likewise: what is sent of it (estimate.c) */
    struct ad_transfers sends;  /* in the order of the tags */
};

struct ad_op_routes {
    struct ad_route kept[AD_KEPT];
    struct ad_recent recent;
    struct ad_route *now; /* of the assignment being lowered */
};

/* The messages with the network's inputs. */
struct ad_input_route {
    bool valid, u8;
    uint64_t stamp, encodings;
    int hub, input_chunks;
    uint64_t *readers; /* of all inputs, one after the other */
    struct ad_transfers sends;
};

struct ad_routes {
    struct ad_lowering_context *c;
    struct ad_op_routes *ops;
    struct ad_input_route inputs_kept[AD_KEPT];
    struct ad_recent inputs_recent;
    struct ad_input_route *inputs; /* of the assignment being lowered */
    struct ad_transfers all;       /* in the order of the tags, once collected */
    int *first_message;            /* by op: of all */
};

/* On failure there is nothing to free. */
AD_MUST_CHECK bool ad_routes_init(struct ad_routes *out, struct ad_lowering_context *c);
void ad_routes_fini(struct ad_routes *r);

/* Makes the kept route of the op as it is assigned and read now its present one; else a fresh one,
 * not valid, that computes what is assigned and has no messages. The routes of its readers are
 * known. */
struct ad_route *ad_routes_find(struct ad_routes *r, int op, const struct ad_region *assigned);

/* A fresh route of the op is complete: stamps it. certain: it depends on nothing but its key. */
void ad_routes_keep(struct ad_routes *r, int op, struct ad_route *route, bool certain);

/* The same for the network's inputs. */
struct ad_input_route *ad_routes_find_inputs(struct ad_routes *r);
void ad_routes_keep_inputs(struct ad_routes *r, struct ad_input_route *route, bool certain);

/* Fills `all` and first_message. False without memory. */
AD_MUST_CHECK bool ad_routes_collect(struct ad_routes *r);

/* What a device computes of an op; until the op is routed, what it is assigned. */
static inline struct ad_region *ad_computed_at(const struct ad_routes *r, int op, int device)
{
    return &r->ops[op].now->computed[device];
}

/* The messages of a value; of a network input those of all inputs; NULL of a constant. */
static inline const struct ad_transfers *ad_messages_of(const struct ad_routes *r, int value)
{
    int p = r->c->graph->values[value].producer;
    if (p >= 0)
        return &r->ops[p].now->sends;
    return ad_value_constant(r->c->graph, value) ? NULL : &r->inputs->sends;
}

#endif
