/* From layouts to steps to clocks.
 *
 * A strategy decides only one thing: the region of every op's output that each device computes (the
 * assignment). Regions of different devices may overlap: that is fusion with recomputed halos.
 * Lowering derives everything else: which rows move, from whom, when. */
#ifndef AD_SCHEDULE_SCHEDULE_H
#define AD_SCHEDULE_SCHEDULE_H

#include "cost/cost.h"
#include "fusion/region.h"
#include "ir/picture.h"

#define AD_MAX_CHUNKS 4

/* In which order a device takes its tasks. */
enum ad_order {
    AD_ORDER_GRAPH,  /* the order of the ops in the graph */
    AD_ORDER_READY,  /* what can start soonest; of these, the op with the longest way to the end */
    AD_ORDER_PIECES, /* likewise, but first what other devices wait for of early ops, with all that
                        this takes of the ops before them */
    AD_ORDER_EDGES,  /* likewise, and the rest of an op only after that */
    AD_ORDER_CORES,  /* as AD_ORDER_PIECES, and where an op reads messages of early ops, first the
                        rows that need none of them */
    AD_ORDERS
};

/* "graph", "ready", "pieces", "edges", "cores". */
const char *ad_order_name(enum ad_order order);

/* What each device computes, and how. Together the devices must cover every op's output that
 * anybody needs. Network inputs are whole at the source device, network outputs are gathered there.
 */
struct ad_assignment {
    int nops, ndevices;
    /* [op * ndevices + device]: of the op's output; empty: nothing. */
    struct ad_region *region;
    /* The device through which all that other devices exchange goes (a star without direct links,
     * as centralised methods have it); -1: none. */
    int hub;
    /* In which order a device takes its tasks; with a hub, that of the graph. */
    enum ad_order order;
    /* By op: the rows of its output that others wait for are computed and sent first, the rest
     * while they travel. */
    bool *early;
    /* Inputs that may be pictures travel as bytes (AD_ENCODING_U8); only where ad_picture_any(). */
    bool u8;
    /* [from * ndevices + to], enum ad_encoding: how the rest travels. With AD_ENCODING_LZ4 only
     * what may have many zeros, the rest as float32. */
    uint8_t *encoding;
    /* What goes to a device of an input goes in this many messages: rows from the top, the first of
     * all devices before the second of any, and tasks begin with those that are there. 0, 1: in
     * one; at most AD_MAX_CHUNKS. In the graph's order always in one. */
    int input_chunks;
    /* What a device sends of an early op that is more than half of what it computes goes in this
     * many messages: rows from the top or, of one row, channels; each is sent once it is computed,
     * the first to all before the second to any. 0, 1: in one; at most AD_MAX_CHUNKS. Only with
     * AD_ORDER_PIECES and the orders after it. */
    int band_chunks;
};

/* All empty, without a hub, nothing early, all messages as float32. */
AD_MUST_CHECK enum adaps_status ad_assignment_init(struct ad_assignment *out, int nops,
                                                   int ndevices, struct adaps_error *err);
void ad_assignment_fini(struct ad_assignment *assignment);

/* Of the same numbers of ops and devices. */
bool ad_assignment_same(const struct ad_assignment *a, const struct ad_assignment *b);
void ad_assignment_copy(const struct ad_assignment *from, struct ad_assignment *to);

/* The same regions in the graph's order, with nothing computed or sent early. */
void ad_assignment_put_in_order(struct ad_assignment *a);

/* All links of this encoding. */
void ad_assignment_encode(struct ad_assignment *a, enum ad_encoding encoding);

static inline struct ad_region *ad_assigned(struct ad_assignment *a, int op, int device)
{
    return &a->region[(size_t)op * (size_t)a->ndevices + (size_t)device];
}

/* One op on one region. */
struct ad_task {
    int op;
    struct ad_region region;
};

enum ad_step_kind {
    AD_STEP_COMPUTE, /* tasks [first_task, first_task + ntasks) in order, no exchange between them
                      */
    AD_STEP_SEND,    /* region of value to peer */
    AD_STEP_RECV     /* region of value from peer */
};

/* "COMPUTE", "SEND" or "RECV"; "unknown kind" of anything else. */
const char *ad_step_kind_name(enum ad_step_kind kind);

struct ad_step {
    enum ad_step_kind kind;
    int first_task, ntasks;
    int value, peer;
    enum ad_encoding encoding; /* of both ends of a message the same */
    struct ad_region region;
    uint32_t tag;             /* SEND and its RECV carry the same, unique in the plan, from 1 */
    int64_t start_ns, end_ns; /* predicted; SEND: from its first byte on the uplink to its last on
                                 the receiver's downlink; RECV: waiting */
};

/* Bytes of a SEND or RECV on the wire, all images, without frames. */
int64_t ad_step_bytes(const struct ad_graph *graph, const struct ad_step *step);

/* A device's program. Messages between two devices are sent and received in the same order. */
struct ad_program {
    struct ad_step *steps;
    int nsteps;
    struct ad_task *tasks;
    int ntasks;
    int buffered; /* in a stream: inferences that the device has buffers for at a time; 0: as many
                     as can be in flight */
};

struct ad_schedule {
    struct ad_arena arena;
    struct ad_program *programs; /* by device */
    int ndevices;
    int64_t makespan_ns; /* input at the source -> result at the source */
    int64_t *busy_ns;    /* by device: computing */
    int64_t *memory;     /* by device: bytes of weights + peak of live buffers (hulls, unpadded) */
    int64_t bytes;       /* sent per inference, over all devices */
    int64_t messages;
};

/* Lowers an assignment. A value goes from each holder to each device that needs it as early as
 * possible, one message per (value, from, to, box), the hull of all that the receiver's ops need
 * and it does not compute itself. What several have is cut among them: the holder of the largest
 * part of a missing box gives all it has of it, ties to the lower index. What nobody reads of a
 * computed region is not computed. Consecutive tasks without an exchange between them form one
 * COMPUTE step. With a hub, what devices exchange goes to the hub first, each part once, and from
 * there to all who want it, before the first op anywhere that reads the value: ordinary SENDs and
 * RECVs. Tags are 1 to the number of messages. Then simulates (below). ADAPS_EINTERNAL when the
 * assignment holds a region that is not allowed, or does not cover what is needed. On failure there
 * is nothing to free. */
AD_MUST_CHECK enum adaps_status ad_schedule_build(const struct ad_graph *graph,
                                                  const struct ad_cluster *cluster,
                                                  const struct ad_assignment *assignment,
                                                  struct ad_schedule *out, struct adaps_error *err);

/* For searches: the schedules of many assignments of one graph and cluster, one after another, in
 * the same memory, with what is remembered of earlier ones. The same numbers as
 * ad_schedule_build(), which stays the authority. */
struct ad_scorer;

/* Free with ad_scorer_free() (NULL is fine). err is kept for later errors. */
AD_MUST_CHECK enum adaps_status ad_scorer_new(const struct ad_graph *graph,
                                              const struct ad_cluster *cluster,
                                              struct ad_scorer **out, struct adaps_error *err);
void ad_scorer_free(struct ad_scorer *scorer);

/* From now on memory[] counts as many inferences in flight as a stream needs
 * (ad_stream_frames(), schedule/stream.h), with buffers for AD_STREAM_BUFFERED of them. */
void ad_scorer_stream(struct ad_scorer *scorer);

/* What the last schedule that ad_scorer_run() returned makes the cluster do (stream.h). */
struct ad_loads;
const struct ad_loads *ad_scorer_loads(const struct ad_scorer *scorer);

/* *out: the schedule, which is the scorer's and valid until the next call; its memory[] is filled
 * only with_memory. Does not check that regions are allowed. */
AD_MUST_CHECK enum adaps_status ad_scorer_run(struct ad_scorer *scorer,
                                              const struct ad_assignment *assignment,
                                              bool with_memory, const struct ad_schedule **out);

/* What an inference takes of the devices' energy, but for the time that idle power is multiplied by
 * (energy.h). */
struct ad_energy {
    int64_t work_pj; /* computing, sending and receiving, over all devices */
    int64_t idle_mw; /* of the devices in use */
    bool known;      /* the power of all devices in use is */
};

/* What a search wants to know of most schedules. */
struct ad_forecast {
    bool over;    /* it takes longer than the limit: nothing else is known */
    bool guessed; /* over, by the estimate alone */
    int64_t makespan_ns, bytes, messages;
    int64_t interval_ns; /* of a stream: the largest load, ad_schedule_loads() */
    uint64_t computing;  /* bit d: device d has tasks */
    struct ad_energy energy;
};

/* When to give up on an assignment, in ns; INT64_MAX: never. */
struct ad_limits {
    int64_t ns;          /* once some device's clock and the work that it has left are more */
    int64_t estimate_ns; /* once ad_scorer_estimate() says more: that takes a quarter of the time */
};
#define AD_NO_LIMITS ((struct ad_limits){INT64_MAX, INT64_MAX})

/* The same without the programs, several times as fast, and faster still for what is given up. Not
 * exact: what takes longer than limits.ns need not be given up, and in rare cases what takes no
 * longer is, since tasks are put in order on clocks that are an estimate (order.c). */
AD_MUST_CHECK enum adaps_status ad_scorer_clock(struct ad_scorer *scorer,
                                                const struct ad_assignment *assignment,
                                                struct ad_limits limits, struct ad_forecast *out);

/* A guess at the makespan of the last assignment that ad_scorer_run() took, by clocks of whole
 * bands (estimate.c): it may be off by a fifth, but tells most changes for the worse. -1: there is
 * none with a hub, or in the graph's order. */
int64_t ad_scorer_estimate(struct ad_scorer *scorer);

/* How much the scorer has done so far, in units of about 40 ns: a measure of time that is the same
 * on every machine. */
int64_t ad_scorer_work(const struct ad_scorer *scorer);

/* Fills start_ns, end_ns, busy_ns and makespan_ns: a clock per device (tasks in program order; the
 * source's begins when it has put the inputs in, and the outputs are taken out after its end), and
 * FIFO clocks of each device's uplink and downlink (one clock for all of them on a shared medium).
 * A message starts when its SEND step is reached and its sender's uplink is free, which it occupies
 * for bytes / bandwidth; the last of it leaves the switch at the end of that or, if its receiver's
 * downlink was not free in time, bytes / bandwidth after the messages before it there (in the order
 * in which they started), and arrives a latency later. Before that, SEND costs its device a copy at
 * memory bandwidth and the encoding; after it, what the cost table says of messages. RECV costs
 * what the table says, unless the device waits for the message as long anyway, and then decoding.
 * RECV starts after the former, so it ends later than it starts if it waited or decoded. */
AD_MUST_CHECK enum adaps_status ad_schedule_simulate(const struct ad_graph *graph,
                                                     const struct ad_cluster *cluster,
                                                     struct ad_schedule *schedule,
                                                     struct adaps_error *err);

/* The latest end of a step: at least the makespan, to which late messages may add, and 1. */
int64_t ad_schedule_end_ns(const struct ad_schedule *schedule, int ndevices);

/* How long a message of these bytes occupies each of the ports of two devices. */
int64_t ad_schedule_wire_ns(const struct ad_cluster *cluster, int from, int to, int64_t bytes);

/* What a task of a program takes its device. A COMPUTE step takes the sum of its tasks. */
int64_t ad_schedule_task_ns(const struct ad_graph *graph, const struct ad_cluster *cluster,
                            int device, const struct ad_task *task);

/* Checks programs from a stranger against a verified graph: indices, allowed regions, every task
 * executed once and in order, every read covered by what was computed or received before, SENDs and
 * RECVs paired by tag (1 to the number of messages) with equal value, region and encoding and in
 * the same order per pair of devices, AD_ENCODING_U8 for inputs only, no cyclic wait, network
 * outputs whole at `source`. ADAPS_EINPUT names device, step and rule. */
AD_MUST_CHECK enum adaps_status ad_schedule_verify(const struct ad_graph *graph,
                                                   const struct ad_schedule *schedule, int source,
                                                   struct adaps_error *err);
void ad_schedule_fini(struct ad_schedule *schedule);

#endif
