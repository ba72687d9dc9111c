/* Pieces: how the bands of an op are cut for an order other than the graph's, and what waits for
 * what. All of it is remembered per op: a search lowers thousands of assignments that differ in a
 * few ops. Internal to schedule/.
 *
 * A piece is a part of what a device computes of an op. With AD_ORDER_PIECES the boundary of an
 * early op's band, which others wait for, is a piece of its own (an edge), and so is whatever this
 * boundary takes of the ops before it on the same device, back to the last exchange or to where it
 * is more than half of the band: the boundary goes ahead through a whole fused range. Otherwise all
 * of the band is one piece.
 *
 * Inputs may come in parts (struct ad_assignment): the first ops' bands are cut where the parts
 * that are there end, so that computing starts with the first part.
 *
 * Bands that early ops send in chunks (struct ad_assignment) are cut at the ends of these, and so
 * are those before them on the same device, back to the last exchange: what the first chunk takes
 * comes before what the second does.
 *
 * With AD_ORDER_CORES bands are also cut where rows begin that need a message of an early op, and
 * so are those that read them, until what needs no message (the core) hides its way. */
#ifndef AD_SCHEDULE_PIECES_H
#define AD_SCHEDULE_PIECES_H

#include "schedule/schedule.h"

struct ad_step_lowering;

/* --- what is remembered --- */

#define AD_KEPT 4

/* The places of answers, the one used last first. */
struct ad_recent {
    uint8_t place[AD_KEPT];
};

/* Of `kept` places; and what follows from the use of one. */
void ad_recent_init(struct ad_recent *out);
static inline int ad_recent_oldest(const struct ad_recent *r, int kept)
{
    return r->place[kept - 1];
}
void ad_recent_use(struct ad_recent *r, int place);

/* Finds the last few answers to a question about one op again, by the numbers on which the answer
 * depends. Answers have stamps, the same only for equal answers: a stamp in the key of another
 * answer stands for all that the first one says. */
struct ad_memo {
    int nwords;              /* of a key */
    uint64_t *keys;          /* [place * nwords] */
    uint64_t stamp[AD_KEPT]; /* by place; 0: nothing there */
    struct ad_recent recent;
};

AD_MUST_CHECK bool ad_memo_init(struct ad_memo *out, struct ad_arena *arena, int nwords);

/* The place of the answer with this key, or -1. */
static inline int ad_memo_find(struct ad_memo *memo, const uint64_t *key)
{
    for (int i = 0; i < AD_KEPT; i++) {
        int place = memo->recent.place[i], n = 0;
        const uint64_t *kept = &memo->keys[place * memo->nwords];
        while (n < memo->nwords && kept[n] == key[n])
            n++;
        if (n < memo->nwords || memo->stamp[place] == 0)
            continue;
        if (i > 0)
            ad_recent_use(&memo->recent, place);
        return place;
    }
    return -1;
}

/* A place for an answer (of the first `kept`), forgotten from now on; ad_memo_keep() once it is
 * complete. */
int ad_memo_place(struct ad_memo *memo, int kept);
void ad_memo_keep(struct ad_memo *memo, int place, const uint64_t *key, uint64_t stamp);

/* A growing array. */
struct ad_ints {
    int *list;
    size_t count, room;
};

/* --- the answers --- */

#define AD_MAX_EDGES 2 /* boundaries of one band that go ahead */

/* Disjoint. */
struct ad_edges {
    int count;
    struct ad_region box[AD_MAX_EDGES];
};

/* What an edge reads of an input that the same device computes. */
struct ad_handed {
    int device, input;
    struct ad_region box;
};

/* What of a band is computed before the rest, one chunk after another; each holds the one before
 * it, all begin where the band does. */
struct ad_chunks {
    int count; /* of the chunks, but for the last one */
    struct ad_region upto[AD_MAX_CHUNKS - 1];
};

/* The edges and chunks of an op. */
struct ad_edged {
    struct ad_edges *by_device;
    struct ad_chunks *chunks; /* by device */
    bool any, chunked;        /* there are such; there are chunks */
    struct ad_handed *handed; /* to the ops before it */
    size_t nhanded, room;
};

/* Rows behind which a value that comes in parts can be read: more rows, later. */
struct ad_steps {
    int count;
    int32_t row[AD_MAX_CHUNKS - 1];
};

/* The rows of a band that need no message that is still on its way; empty: not known, or all. */
struct ad_core {
    int32_t h0, h1;
    int64_t due; /* ns of computing that are wanted behind it; 0: enough */
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
    int64_t *band_ns;          /* by device: all of the band at once */
    struct ad_steps *steps;    /* by device */
    bool stepped;              /* there are steps */
    struct ad_core *cores;     /* by device */
    bool cored;                /* there are cores that are due */
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

/* All about one op. */
struct ad_op_pieces {
    struct ad_memo edged_memo, cut_memo, links_memo;
    struct ad_edged edged_kept[AD_KEPT];
    struct ad_cut cut_kept[AD_KEPT];
    struct ad_dependencies links_kept[AD_KEPT];
    const struct ad_edged *edged;        /* of the assignment being lowered; NULL: no edges */
    const struct ad_cut *cut;            /* likewise */
    const struct ad_dependencies *links; /* likewise */
    uint64_t edged_stamp, cut_stamp;
};

/* Room for what is remembered of all ops. False without memory. */
AD_MUST_CHECK bool ad_pieces_init(struct ad_step_lowering *l);
void ad_pieces_fini(struct ad_step_lowering *l);

/* --- chunks.c --- */

/* A band in about n chunks, of its rows or, if it has one only, its channels; fewer where parts of
 * it may not be computed alone. */
void ad_chunks_cut(const struct ad_graph *graph, const struct ad_op *op, struct ad_region band,
                   int n, struct ad_chunks *out);

/* What of op's band the chunks of its readers on the same device take, whose edged is known. */
void ad_chunks_hand(struct ad_step_lowering *l, int op, int device, struct ad_chunks *out);

/* How many chunks follow the first one that holds the piece. */
int ad_chunks_ahead(const struct ad_chunks *chunks, struct ad_region piece);

struct ad_transfers;

/* Cuts the messages of op's output that are more than half of what their sender computes into one
 * per chunk, of n. False without memory. */
AD_MUST_CHECK bool ad_chunks_send(struct ad_step_lowering *l, int op, int n,
                                  struct ad_transfers *sends);

/* --- pieces.c --- */

/* Fills edged, cut and links of all ops for the assignment, whose messages are known. False without
 * memory. */
AD_MUST_CHECK bool ad_pieces_cut(struct ad_step_lowering *l);

/* What links are made of, before they are packed. */
struct ad_dependency_lists {
    struct ad_ints waits;
    struct ad_ints item;                  /* by input: its first item */
    struct ad_ints first_target, targets; /* by item */
    struct ad_ints first_coming, coming;  /* by piece: pairs */
};

/* links.c: op's links; its cut and those of the ops before it are there. */
AD_MUST_CHECK bool ad_links_find(struct ad_step_lowering *l, int op);
void ad_dependency_lists_fini(struct ad_dependency_lists *parts);

/* False without memory. */
AD_MUST_CHECK static inline bool ad_ints_add(struct ad_ints *ints, int number)
{
    if (ints->count == ints->room &&
        !ad_grow(&ints->list, ints->count, &ints->room, sizeof *ints->list))
        return false;
    ints->list[ints->count++] = number;
    return true;
}

void ad_ints_fini(struct ad_ints *ints);

/* Whether no input before k is the same value. */
static inline bool ad_input_first(const struct ad_op *op, int k)
{
    for (int i = 0; i < k; i++)
        if (op->inputs[i] == op->inputs[k])
            return false;
    return true;
}

static inline bool ad_regions_meet(struct ad_region a, struct ad_region b)
{
    return !ad_region_empty(ad_region_intersect(a, b));
}

#endif
