/* The state of lowering, shared by route.c (which messages), lower.c (which steps) and score.c.
 * Internal to schedule/. */
#ifndef AD_SCHEDULE_LOWERING_H
#define AD_SCHEDULE_LOWERING_H

#include "schedule/clocks.h"
#include "schedule/internal.h"
#include "schedule/pieces.h"

/* One message. `before` is the op whose task at `to` wants it first; nops for network outputs. */
struct ad_transfer {
    int value;
    int slot; /* of its SEND: 2p + 1 behind producer p (-1: network inputs), 2i in front of op i */
    int from, to, before;
    int chunk, chunks; /* of an input or a band that is sent in several messages: which of how
                          many; 0, 1 of what goes in one */
    struct ad_region region;
    enum ad_encoding encoding;
    int64_t bytes;            /* on the wire */
    int64_t copy_ns, wire_ns; /* the former with encoding */
    int64_t decode_ns;
    int64_t sending_ns, receiving_ns; /* of the processors while it travels */
    int previous; /* the message before this one between the same two devices, -1 for none */
    bool sent;
    bool received;
};

struct ad_transfers {
    struct ad_transfer *list;
    size_t count, room;
};

/* What routing one op's output found, and for what: it depends on nothing else (without a hub). */
struct ad_routed {
    bool valid;
    uint64_t stamp;          /* the same only for equal answers */
    uint64_t computed_stamp; /* the same only when the same is computed */
    int hub, band_chunks;
    uint64_t encodings;
    struct ad_region *assigned; /* by device: the key, with what the readers compute */
    uint64_t *readers;          /* by reader of the output: its computed_stamp */
    struct ad_region *computed; /* by device: assigned, pruned */
    struct ad_region *reads;    /* [input * ndevices + device]: what computing that reads */
    int64_t *band_ns;           /* by device: what all of its band takes; -1: not asked yet */
    int64_t *edge_ns;           /* by device, likewise: what is sent of it (estimate.c) */
    struct ad_transfers sends;  /* in the order of the tags */
};

struct ad_route_memo {
    struct ad_routed kept[AD_KEPT];
    struct ad_recent recent;
    struct ad_routed *now; /* of the assignment being lowered */
};

/* The same for the network's inputs. */
struct ad_fed {
    bool valid, u8;
    uint64_t stamp, encodings;
    int hub, input_chunks;
    uint64_t *readers; /* of all inputs, one after the other */
    struct ad_transfers sends;
};

/* Who reads a value: an op, first as this input. */
struct ad_reader {
    int op, input;
};

/* A piece while an order is made. */
struct ad_taking {
    const struct ad_piece *piece;
    int64_t ready; /* when the last of what it waits for was there */
    int waits;     /* for so many items */
};

/* What the run reads of an op. */
struct ad_op_now {
    const struct ad_cut *cut;
    const int *links; /* the block of struct ad_dependencies */
    int first_piece, first_message;
};

/* What order.c and pieces.c keep between runs, and need in one. */
struct ad_orders {
    bool surveyed;
    int64_t *rank; /* by op: ns from its start to the end on the source alone */
    int *added;    /* by op: the addition that reads its output; -1: none */
    const struct ad_piece *latest[AD_MAX_DEVICES]; /* that the device took; NULL: none */
    struct ad_op_pieces *ops;
    uint64_t *key;                /* scratch */
    struct ad_steps *input_steps; /* [value * ndevices + device], of network inputs */
    int64_t scatter;              /* how long the inputs take on their way */
    struct ad_taking *pieces;     /* of all ops */
    size_t pieces_room;
    struct ad_op_now *now;                 /* by op */
    struct ad_dependency_lists link_parts; /* scratch */
    struct ad_ints left;                   /* by message: unfinished pieces */
    struct ad_ints *open;                  /* by device: pieces that may be taken */
    int best[AD_MAX_DEVICES];              /* the one it should take next: its place in open[] */
    int64_t start[AD_MAX_DEVICES];         /* and when that can start; INT64_MAX: none is open */
    uint64_t changed;                      /* bit d: device d has to choose again */
    int64_t clock[AD_MAX_DEVICES];
    struct ad_ports ports;
    int64_t rest[AD_MAX_DEVICES]; /* ns of the pieces that are not taken */
};

/* When a band of an op is computed on a device, its edges are, and messages with the rest of the
 * op's output have come. */
struct ad_moment {
    int64_t done, edge, come;
};

/* What estimate.c needs in a run. */
struct ad_estimate {
    struct ad_moment *at;                 /* [op * ndevices + device] */
    struct ad_moment fed[AD_MAX_DEVICES]; /* of the network's inputs */
    int64_t clock[AD_MAX_DEVICES];
    struct ad_ports ports;
};

struct ad_step_lowering {
    const struct ad_graph *graph;
    const struct ad_cluster *cluster;
    int ndevices, nops, hub;
    bool reused;                   /* for many assignments: leave room to grow, remember routes */
    bool u8;                       /* of the assignment */
    const uint8_t *encoding;       /* likewise */
    uint64_t encodings;            /* their hash */
    enum ad_order order;           /* likewise */
    int input_chunks, band_chunks; /* likewise, at least 1 */
    struct ad_orders orders;
    struct ad_estimate estimate;
    struct ad_clocks *clocks;   /* borrowed: what tasks take */
    const bool *early;          /* by op */
    int *first_reader;          /* of value v: readers[first_reader[v]] .. first_reader[v + 1] */
    struct ad_reader *readers;  /* each op once, ascending */
    struct ad_region *needed;   /* of the value being routed, by device: hulls */
    int *first_use;             /* likewise: op that reads it first */
    struct ad_arena arena;      /* of the memo's fixed parts */
    struct ad_route_memo *memo; /* by op */
    struct ad_fed fed[AD_KEPT]; /* of the network's inputs */
    struct ad_fed *inputs;      /* of them, of the assignment being lowered */
    struct ad_recent recent_fed;
    uint64_t stamps;                             /* given so far */
    int *first_message;                          /* by op: of all */
    struct ad_transfers all;                     /* in the order of the tags */
    struct ad_region_set missing;                /* scratch */
    struct ad_transfers *into;                   /* where routing puts what it finds */
    bool asked_readers;                          /* what it found depends on more than its key */
    int kept;                                    /* answers per op: AD_KEPT, or 1 when not reused */
    int *last;                                   /* [from * ndevices + to]: the last message */
    size_t *start, *waiting;                     /* by op: the messages it waits for */
    size_t waiting_room, *task_room, *step_room; /* the latter by device */
    struct ad_beats *beats;       /* by device: what the clocks need of the programs */
    int *ntasks;                  /* by device */
    int64_t bytes;                /* sent */
    int64_t work;                 /* done in all runs, see ad_scorer_work() */
    bool out_of_memory;           /* something could not be emitted */
    int64_t limit;                /* ns; the programs need not be complete when they take longer */
    bool over;                    /* they do and are not */
    struct ad_schedule *schedule; /* the programs in full; NULL: not wanted */
    struct adaps_error *err;
};

/* Room for a graph and cluster. On failure there is nothing to free. */
AD_MUST_CHECK enum adaps_status ad_lowering_init(struct ad_step_lowering *out,
                                                 const struct ad_graph *graph,
                                                 const struct ad_cluster *cluster, bool reused,
                                                 struct adaps_error *err);
void ad_lowering_fini(struct ad_step_lowering *l);

/* All messages of an assignment into l->all, by op what is found into memo[op].now (route.c). */
AD_MUST_CHECK enum adaps_status ad_lowering_route(struct ad_step_lowering *l,
                                                  const struct ad_assignment *assignment);

/* About what the routed assignment takes, in ns (estimate.c): a fifth more or less. Without
 * a hub, and not in the graph's order. */
int64_t ad_lowering_estimate(struct ad_step_lowering *l);

/* Takes an assignment and routes it. */
AD_MUST_CHECK enum adaps_status ad_lowering_start(struct ad_step_lowering *l,
                                                  const struct ad_assignment *assignment);

/* Both: starts and makes the programs: their beats, and with a schedule their steps, in its arrays
 * if it has any. The regions must be allowed. */
AD_MUST_CHECK enum adaps_status ad_lowering_run(struct ad_step_lowering *l,
                                                const struct ad_assignment *assignment,
                                                struct ad_schedule *schedule);

/* The second half of that. */
AD_MUST_CHECK enum adaps_status ad_lowering_finish(struct ad_step_lowering *l,
                                                   struct ad_schedule *schedule);

/* Cuts the ops into the pieces that tasks out of graph order are (order.c), known from then on:
 * l->orders.ops[].cut. False without memory. */
AD_MUST_CHECK bool ad_lowering_prepare_order(struct ad_step_lowering *l);

/* The steps of all devices: every piece once. The programs have room. */
void ad_lowering_order(struct ad_step_lowering *l);
void ad_lowering_order_fini(struct ad_step_lowering *l);

/* --- lower.c: at the end of a device's program --- */

/* How messages of a value travel between two devices. */
enum ad_encoding ad_lowering_encoding(const struct ad_step_lowering *l, int value, int from,
                                      int to);

void ad_lowering_emit_message(struct ad_step_lowering *l, size_t t, enum ad_step_kind kind);

/* RECV of t, behind all earlier messages between the same two devices. */
void ad_lowering_emit_receive(struct ad_step_lowering *l, size_t t);
void ad_lowering_emit_task(struct ad_step_lowering *l, int op, int device,
                           const struct ad_region *region, int64_t ns);

/* Work, see ad_scorer_work(). */
#define AD_WORK_PIECE 4   /* a task is emitted */
#define AD_WORK_MESSAGE 1 /* an end of a message is */
#define AD_WORK_ROUTE 18  /* an op is routed anew, by input: mostly it is cut anew, too */
#define AD_WORK_LINK 1    /* something that a piece waits for is found anew */

/* What a device computes of an op; until the op is routed, what it is assigned. */
static inline struct ad_region *ad_computed_at(struct ad_step_lowering *l, int op, int device)
{
    return &l->memo[op].now->computed[device];
}

/* The messages of a value; of a network input those of all inputs; NULL of a constant. */
static inline const struct ad_transfers *ad_messages_of(const struct ad_step_lowering *l, int value)
{
    int p = l->graph->values[value].producer;
    if (p >= 0)
        return &l->memo[p].now->sends;
    return ad_value_constant(l->graph, value) ? NULL : &l->inputs->sends;
}

#endif
