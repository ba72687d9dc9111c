/* Streams: how the inferences of a plan follow each other.
 *
 * Several are in flight at a time. A device always executes the next step of the oldest one that
 * can go on: one that waits for a message lets later ones pass.
 *
 * Each inference has buffers of its own on a device, or, where memory is short, a device has
 * buffers for some of those in flight only (ad_program.buffered), and they take turns in the order
 * of their numbers: what comes for a later one is kept as a message until then. The oldest one in
 * flight always has buffers, so none waits for ever. A source that has nothing more to do than to
 * take in the answer has that in other buffers, for each in flight: the tail of its program.
 *
 * Inferences are dealt to the turns of the stream: schedules of the whole network, on which other
 * devices may compute. In a stream of replicas each turn is a device of its own; in a pipeline
 * there is one turn, whose devices have layers that follow each other.
 *
 * The interval of a stream, one over its rate, is that of its steady state: at least what any
 * device, port or shared medium does for an inference on average and, where the number in flight is
 * what bounds it, about the latency divided by that: tails run on after the next inference began.
 */
#ifndef AD_SCHEDULE_STREAM_H
#define AD_SCHEDULE_STREAM_H

#include "schedule/schedule.h"

#define AD_STREAM_FRAMES 24  /* in flight, at most */
#define AD_STREAM_BUFFERED 2 /* of them that a device has buffers for, in searches */
#define AD_STREAM_DEALS 64   /* the longest deal */

struct ad_stream {
    int frames;                 /* in flight, at most; >= 1 */
    int nturns;                 /* >= 1 */
    struct ad_schedule *others; /* of turns 1 to nturns - 1 */
    int *deal;                  /* inference i (from 0) takes turn deal[i % ndeal] */
    int ndeal;                  /* 0: all take turn 0 */
    int64_t interval_ns;        /* predicted, ad_stream_simulate(); 0: not known */
    int64_t latency_ns;         /* likewise: from the beginning of an inference to its end */
};

/* One turn, one inference at a time, nothing known. */
#define AD_STREAM_ONE ((struct ad_stream){.frames = 1, .nturns = 1})

void ad_stream_fini(struct ad_stream *stream);

/* The schedule of a turn; first: that of turn 0. */
static inline const struct ad_schedule *ad_stream_turn(const struct ad_stream *stream,
                                                       const struct ad_schedule *first, int turn)
{
    return turn == 0 ? first : &stream->others[turn - 1];
}

/* The turn of inference i, from 0. */
static inline int ad_stream_deal(const struct ad_stream *stream, uint32_t i)
{
    return stream->ndeal > 0 ? stream->deal[i % (uint32_t)stream->ndeal] : 0;
}

/* How many inferences must be in flight for a stream of one turn whose latency and largest load are
 * these, so that the load decides. */
int ad_stream_frames(int64_t latency_ns, int64_t interval_ns);

/* How many of the inferences of a deal take a turn; without a deal, 1 of 1. */
int ad_stream_share(const struct ad_stream *stream, int turn);

/* How many inferences of a turn can be in flight at the same time. */
int ad_stream_most(const struct ad_stream *stream, int turn);

/* How many of them the device has buffers for at a time. */
int ad_stream_buffered(const struct ad_stream *stream, const struct ad_schedule *first, int turn,
                       int device);

/* The most inferences of a turn that any device has buffers for at a time. */
int ad_stream_most_buffered(const struct ad_stream *stream, const struct ad_schedule *first);

/* Buffers for n inferences at a time on every device; 0: for all in flight. */
void ad_schedule_buffer(struct ad_schedule *schedule, int n);

/* The most devices that compute on one inference. */
int ad_stream_sharing(const struct ad_stream *stream, const struct ad_schedule *first);

/* The first step of a program's tail: from there on a source only takes in answers and computes
 * nothing more. As many as there are steps: there is none. */
int ad_program_tail(const struct ad_graph *graph, const struct ad_program *program, bool source);

/* The same of a turn's program, where the tail has buffers of its own: none where there are buffers
 * for all in flight. */
int ad_stream_tail(const struct ad_graph *graph, const struct ad_stream *stream,
                   const struct ad_schedule *first, int turn, int device, bool source);

/* Steps before the tail, and the tail: the same tasks, which are all before it. */
struct ad_program ad_program_head(const struct ad_program *program, int tail);
struct ad_program ad_program_rest(const struct ad_program *program, int tail);

/* Bytes that each device needs: the weights of all its turns once, and the buffers of the
 * inferences that can be in flight, or the messages for those that have none. memory: by device,
 * filled; weights: what of it are weights, or NULL. */
AD_MUST_CHECK enum adaps_status ad_stream_memory(const struct ad_graph *graph,
                                                 const struct ad_cluster *cluster,
                                                 const struct ad_schedule *first,
                                                 const struct ad_stream *stream, int64_t *memory,
                                                 int64_t *weights, struct adaps_error *err);

/* Fills interval_ns and latency_ns: the clocks of ad_schedule_simulate(), with the rule above,
 * until the stream is steady. The source always has a next input. */
AD_MUST_CHECK enum adaps_status ad_stream_simulate(const struct ad_graph *graph,
                                                   const struct ad_cluster *cluster,
                                                   const struct ad_schedule *first,
                                                   struct ad_stream *stream,
                                                   struct adaps_error *err);

/* A step as it is executed in a stream's steady state. */
struct ad_stream_event {
    int frame, turn, device, step; /* inferences are counted from 0 */
    int64_t start_ns, end_ns;      /* SEND: on the wire, as struct ad_step says; RECV: decoding */
};

struct ad_stream_events {
    struct ad_stream_event *items; /* by start; the caller's (ad_free) */
    size_t count;
    int64_t start_ns, end_ns; /* a time in which the stream is steady */
};

/* What the devices do in so many intervals of the steady state, which must be known
 * (ad_stream_simulate()); at most AD_STREAM_DEALS of them. Steps that began before or end after are
 * in it, too. */
AD_MUST_CHECK enum adaps_status
ad_stream_record(const struct ad_graph *graph, const struct ad_cluster *cluster,
                 const struct ad_schedule *first, const struct ad_stream *stream, int intervals,
                 struct ad_stream_events *out, struct adaps_error *err);

/* Checks what a stranger's plan says of a stream: its numbers, and every other turn as
 * ad_schedule_verify() does. ADAPS_EINPUT. */
AD_MUST_CHECK enum adaps_status ad_stream_verify(const struct ad_graph *graph,
                                                 const struct ad_stream *stream, int ndevices,
                                                 int source, struct adaps_error *err);

/* What an inference makes a cluster do, ns. */
struct ad_loads {
    int64_t device[AD_MAX_DEVICES]; /* computing, and the processor's part in messages */
    int64_t up[AD_MAX_DEVICES], down[AD_MAX_DEVICES], medium; /* of the ports, or of the medium */
    int64_t computing[AD_MAX_DEVICES];                        /* tasks alone */
    int64_t network[AD_MAX_DEVICES]; /* sending and receiving, on a medium, too */
    uint64_t in_use;                 /* bit d: device d has steps, or is the source */
};

/* Of one schedule. */
AD_MUST_CHECK enum adaps_status ad_schedule_loads(const struct ad_graph *graph,
                                                  const struct ad_cluster *cluster,
                                                  const struct ad_schedule *schedule,
                                                  struct ad_loads *out, struct adaps_error *err);

/* Of a stream, in the mean over its deal. */
AD_MUST_CHECK enum adaps_status ad_stream_loads(const struct ad_graph *graph,
                                                const struct ad_cluster *cluster,
                                                const struct ad_schedule *first,
                                                const struct ad_stream *stream,
                                                struct ad_loads *out, struct adaps_error *err);

/* The largest of them. */
int64_t ad_loads_most(const struct ad_loads *loads);

/* The shortest interval that there can be with this largest load: with as many in flight as can be,
 * an inference takes its latency all the same. */
static inline int64_t ad_stream_least(int64_t latency_ns, int64_t load_ns)
{
    int64_t each = latency_ns / AD_STREAM_FRAMES;
    return load_ns > each ? load_ns : each;
}

#endif
