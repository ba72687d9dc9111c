/* The tile engine: executes one device's program of a plan, with XNNPACK (exec/kernels/xnn.c) and a
 * few kernels of our own. Only the transport blocks. Steps allocate nothing.
 *
 * Buffers: per value that the program touches, one buffer for the hull of all regions that it
 * computes, receives, sends or reads there: [n][h][w][c] dense over that hull. Buffers, scratch and
 * values share one arena, planned by liveness over the steps. Only WHOLE ops may take more memory
 * on the way (exec/kernels/whole.h). */
#ifndef AD_EXEC_ENGINE_ENGINE_H
#define AD_EXEC_ENGINE_ENGINE_H

#include "exec/kernels/span.h"
#include "plan/weight_source.h"

#include <stdatomic.h>

/* Moves messages between devices. send copies or sends before it returns. recv blocks until the
 * message with this tag from this peer is there, and fills the spans of that of its forms (1 or 2,
 * of different sizes) which takes the message's size (ad_spans_take_size()); *form is which. For
 * cooperative in-process use it may return ADAPS_NO, meaning "not there yet" (then ad_engine_step
 * is called again later). */
struct ad_transport {
    enum adaps_status (*send)(void *self, const struct ad_step *step,
                              const struct ad_span_list *spans, struct adaps_error *err);
    enum adaps_status (*recv)(void *self, const struct ad_step *step,
                              const struct ad_span_list *forms, int nforms, int *form,
                              struct adaps_error *err);
    void *self;
};

struct ad_engine;

/* Of a program (ad_program_tail(), schedule/stream.h): an inference whose buffers are wanted by the
 * next one takes in its answer in those of another engine. */
enum ad_engine_part { AD_ENGINE_WHOLE, AD_ENGINE_HEAD, AD_ENGINE_TAIL };

struct ad_engine_options {
    int device; /* index in the plan */
    int turn;   /* of the plan: whose program */
    enum ad_engine_part part;
    /* Another engine of this plan and device, which must outlive the new one, or NULL. The new one
     * has buffers of its own, and shares its threads and packed weights: only one of them may
     * execute a step at a time. threads and slice_bytes are those of the other. */
    struct ad_engine *beside;
    int threads;              /* compute threads; 0 = the plan's; 1 = no pool */
    const atomic_int *cancel; /* when it becomes non-zero the engine stops between tasks */
    atomic_int *op;           /* nullable: the op that is being computed; -1: none */
    size_t slice_bytes; /* packed weights of a convolution that are used at all pixels before the
                           next are: 0 = half of what a thread has of the
                           L2 cache, measured. Changes no bit */
    double speed;       /* emulated fraction of full speed (0,1]; 0 or 1 = off. Sleeps so that CPU
                           time / wall time of the compute steps, and of putting inputs in and
                           taking outputs out, is this fraction */
};

/* Creates operators (packing weights, one at a time; dense layers in parts), plans memory,
 * allocates. plan must outlive the engine; weights are read here only. ADAPS_EINPUT when XNNPACK
 * refuses an operator (named).
 */
AD_MUST_CHECK enum adaps_status ad_engine_new(const struct adaps_plan *plan,
                                              const struct ad_engine_options *options,
                                              const struct ad_weight_source *weights,
                                              struct ad_engine **out, struct adaps_error *err);
void ad_engine_free(struct ad_engine *engine);

/* Another emulated speed, between two inferences; engines beside each other have one. */
void ad_engine_set_speed(struct ad_engine *engine, double speed);

/* Only the source device is fed (not a tail) and read (not a head). Tensors are in ONNX order
 * (NCHW); input i of graph->inputs. The counts must be the value's. Called before step 0 / after
 * the last step. */
void ad_engine_feed(struct ad_engine *engine, int input, const float *data);
/* The same from a picture's bytes, in that order. Requires ad_picture_all() of the graph. */
void ad_engine_feed_bytes(struct ad_engine *engine, int input, const uint8_t *bytes);
void ad_engine_fetch(struct ad_engine *engine, int output, float *data);

/* Executes step i of its part, which begins with 0, one after the other. ADAPS_NO: transport not
 * ready (cooperative) — call again. ADAPS_EAGENT: transport failed; cancelled. */
AD_MUST_CHECK enum adaps_status ad_engine_step(struct ad_engine *engine, int i,
                                               const struct ad_transport *transport,
                                               struct adaps_error *err);

/* Measured wall time of the latest execution of step i: start (of a RECV: when it was first tried)
 * and end (CLOCK_MONOTONIC ns). */
void ad_engine_times(const struct ad_engine *engine, int i, int64_t *start_ns, int64_t *end_ns);

size_t ad_engine_arena_bytes(const struct ad_engine *engine);
size_t ad_engine_weight_bytes(const struct ad_engine *engine);

#endif
