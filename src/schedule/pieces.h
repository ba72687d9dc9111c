/* Pieces: how the bands of an op are cut for an order other than the graph's, and what waits for
 * what. All of it is remembered per op (memo.h). Internal to schedule/.
 *
 * A piece is a part of what a device computes of an op. With AD_ORDER_PIECES the boundary of an
 * early op's band, which others wait for, is a piece of its own (an edge), and so is whatever this
 * boundary takes of the ops before it on the same device, back to the last exchange or to where it
 * is more than half of the band: the boundary goes ahead through a whole fused range (edges.h).
 * Otherwise all of the band is one piece.
 *
 * Inputs may come in chunks (struct ad_assignment): the first ops' bands are cut where the chunks
 * that are there end, so that computing starts with the first chunk (arrivals.h).
 *
 * Bands that early ops send in chunks are cut at the ends of these, and so are those before them on
 * the same device, back to the last exchange: what the first chunk takes comes before what the
 * second does.
 *
 * With AD_ORDER_CORES bands are also cut where the rows begin that need a message of an early op,
 * and so are the bands that read them, until computing what needs no message (the core) takes as
 * long as the message does (arrivals.h). */
#ifndef AD_SCHEDULE_PIECES_H
#define AD_SCHEDULE_PIECES_H

#include "schedule/chunks.h"
#include "schedule/ints.h"
#include "schedule/routes.h"

#define AD_MAX_EDGES 2 /* boundaries of one band that go ahead */

/* Disjoint. */
struct ad_edges {
    int count;
    struct ad_region box[AD_MAX_EDGES];
};

/* What an edge reads of an input that the same device computes. */
struct ad_edge_read {
    int device, input;
    struct ad_region box;
};

/* The edges and chunks of an op. */
struct ad_op_edges {
    struct ad_edges *by_device;
    struct ad_chunks *chunks; /* by device */
    bool any, chunked;        /* there are edges or chunks; there are chunks */
    struct ad_edge_read *reads;
    size_t nreads, room;
};

/* The rows up to which a value is there when another chunk of the inputs has come, ascending. */
struct ad_ready_rows {
    int count;
    int32_t row[AD_MAX_CHUNKS - 1];
};

/* The rows of a band that need no message that is still on its way; empty: not known, or all. */
struct ad_core {
    int32_t h0, h1;
    int64_t due; /* ns of computing that are still wanted to cover the messages; 0: enough */
};

struct ad_piece {
    int op, device;
    bool edge;
    int ahead; /* of the rest of its band: how many chunks follow that it is for; else 0 */
    int first_sent, nsent; /* of the cut's sent[]: the messages of which it is a part */
    int64_t ns;            /* on its device */
    struct ad_region region;
};

/* The pieces of an op, by device: list[first[d]] to list[first[d + 1] - 1]. */
struct ad_cut {
    int *first;
    struct ad_piece *list;
    size_t count, room;
    struct ad_region *reads; /* [piece * ninputs + input] */
    size_t reads_room;
    int64_t *band_ns;                 /* by device: all of the band at once; -1: not asked yet */
    struct ad_ready_rows *ready_rows; /* by device */
    bool has_ready_rows;
    struct ad_core *cores; /* by device */
    bool has_due_cores;
    struct ad_ints unfinished; /* by message of the op: of how many pieces it is */
    struct ad_ints sent;       /* the messages of which the pieces are parts, by piece */
};

/* What the pieces of an op wait for. The items of an input are the pieces of its producer, then the
 * messages of the value (of network inputs: all messages of inputs). In one block, as it is read a
 * lot; what is "at" is an index into it:
 *   [k]             at which the bounds of the first item of input k are (of a value's first input)
 *   [ninputs]       at which the bounds of the messages of the first piece are
 *   bounds of items: at which the pieces that read it begin; the next bound is their end
 *   bounds of pieces: at which the messages that it reads begin: pairs of input and message
 *   waits[piece]    for so many items, and edges */
struct ad_dependencies {
    int *block;
    size_t room;
    const int *waits;
};

/* The same before it is packed into a block. */
struct ad_dependency_lists {
    struct ad_ints waits;
    struct ad_ints item;                  /* by input: its first item */
    struct ad_ints first_target, targets; /* by item */
    struct ad_ints first_coming, coming;  /* by piece: pairs */
};

/* All about one op. */
struct ad_op_pieces {
    struct ad_memo edges_memo, cut_memo, dependencies_memo;
    struct ad_op_edges edges_kept[AD_KEPT];
    struct ad_cut cut_kept[AD_KEPT];
    struct ad_dependencies dependencies_kept[AD_KEPT];

    /* Of the assignment being lowered. */
    const struct ad_op_edges *edges; /* NULL: no edges */
    const struct ad_cut *cut;
    const struct ad_dependencies *dependencies;
    uint64_t edges_stamp, cut_stamp;
};

struct ad_pieces {
    struct ad_lowering_context *c;
    struct ad_routes *routes;
    struct ad_op_pieces *ops;
    struct ad_ready_rows *input_rows; /* [value * ndevices + device], of network inputs */
    int64_t scatter_ns;               /* how long the inputs take on their way */
    uint64_t *key;                    /* scratch: room for the longest */
    struct ad_dependency_lists lists; /* scratch */
};

/* Both are borrowed. On failure there is nothing to free. */
AD_MUST_CHECK bool ad_pieces_init(struct ad_pieces *out, struct ad_lowering_context *c,
                                  struct ad_routes *routes);
void ad_pieces_fini(struct ad_pieces *p);

#endif
