/* adaps: one convolutional network, several small computers, the same bits.
 *
 * The public interface, and the only installed header. docs/library.md shows how it is used.
 *
 *   plan      a model compiled for devices: adaps_plan_compile(), or a file of one
 *   session   a place where a plan runs: the agents of its devices, or this process
 *   result    what an inference has answered
 *   stream    a session with several inferences in flight
 *
 * Functions that can fail return enum adaps_status and take a nullable, caller-owned struct
 * adaps_error last. What a call makes is the caller's when it returns ADAPS_OK, and else there is
 * nothing to free. Freeing and closing take NULL.
 *
 * Structs that may grow begin with struct_size, which the caller sets to sizeof the struct before
 * every call that takes it. One of an earlier release is smaller: fields that it does not have
 * count as zero. One of a later release is larger: what this library does not know of it must be
 * zero. Anything else is ADAPS_EUSAGE. A field that is zero means the default.
 *
 * Threads: there is no global state. Different plans and sessions may be used from different
 * threads at the same time; of one object, what its functions say. The library installs no signal
 * handlers, and its own threads take no signals. */
#ifndef ADAPS_H
#define ADAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The shared library exports what is declared here, and nothing else. */
#pragma GCC visibility push(default)

/* Results of functions and, but for the last, exit codes of the command line. */
enum adaps_status {
    ADAPS_OK = 0,         /* done */
    ADAPS_NO = 1,         /* the answer is no: verification failed, no feasible plan, not yet */
    ADAPS_EUSAGE = 2,     /* the call itself is wrong */
    ADAPS_EINPUT = 3,     /* a bad input: model, plan, devices file, tensor, picture */
    ADAPS_EAGENT = 4,     /* an agent or the network failed */
    ADAPS_EINTERNAL = 5,  /* a defect of adaps, or no memory */
    ADAPS_ECANCELLED = 6, /* adaps_session_cancel() */
};

/* What went wrong, for a person: names file, node, device, the values and the rule. */
struct adaps_error {
    enum adaps_status status;
    char message[1024];
};

/* The version as "MAJOR.MINOR.PATCH". Static storage. Any thread. */
const char *adaps_version(void);

/* --- tensors --- */

/* Types of a tensor's elements, numbered as in ONNX' TensorProto.DataType. A bool is one byte, 0 or
 * 1. */
enum adaps_type {
    ADAPS_FLOAT32 = 1,
    ADAPS_UINT8 = 2,
    ADAPS_INT8 = 3,
    ADAPS_INT32 = 6,
    ADAPS_INT64 = 7,
    ADAPS_BOOL = 9,
};

#define ADAPS_MAX_RANK 8

/* What a network takes or gives: dims in ONNX order (NCHW for pictures). */
struct adaps_tensor_info {
    size_t struct_size;
    const char *name; /* the plan's */
    enum adaps_type type;
    int rank;
    int64_t dims[ADAPS_MAX_RANK];
    bool open; /* dims are the most that they can be: the answer has the true ones */
};

/* Elements in memory, dense and in ONNX order. Those of an array have all the same struct_size. */
struct adaps_tensor {
    size_t struct_size;
    const char *name; /* of the input or output; NULL: by the place in the array */
    enum adaps_type type;
    int rank;
    int64_t dims[ADAPS_MAX_RANK];
    void *data;   /* of an input, only read */
    size_t bytes; /* of data */
};

/* --- what a caller wants to hear --- */

/* How far it is: "plan" counts passes, "push" bytes. Called from the thread of the call that it
 * belongs to, from streams also from theirs. May not call functions of the same object. */
typedef void adaps_progress_fn(void *user, const char *what, uint64_t done, uint64_t total);

/* Something worth telling that is no error; without a callback nobody is told. The same threads. */
enum adaps_log_level {
    ADAPS_LOG_INFO = 1,   /* what was planned, pushed and opened */
    ADAPS_LOG_WARNING = 2 /* an agent is lost, and it goes on without */
};
typedef void adaps_log_fn(void *user, enum adaps_log_level level, const char *message);

/* --- plans --- */

/* A model compiled for a cluster: programs per device, weights by digest, predicted timeline.
 * Immutable: all functions that take it const may be called from any threads at the same time. */
struct adaps_plan;

/* How to compile. */
struct adaps_plan_options {
    size_t struct_size;
    const char *model;      /* ONNX file (required), or what messages call: */
    const void *model_data; /* a model in memory, which is copied; then `model` is nullable. Who
                               loads the plan from a file says where the model is */
    size_t model_size;
    const char *devices;  /* devices file; NULL: this machine alone, without agents */
    const char *strategy; /* "auto" (default), "single", "edgeflow", ... */
    double bandwidth;     /* bytes per second on every link, instead of the devices file's */
    double latency;       /* seconds on every link; used when has_latency */
    bool has_latency;     /* a latency of 0 is a value */
    double threshold;     /* search window 0..1 (ADaPS eq 3); 0 without has_threshold: 0.15 */
    bool has_threshold;   /* a threshold of 0 is a value */
    bool gather_type3; /* edgeflow, bbgrap, adaps: layers that mix dimensions whole on one device */
    bool conv_direct;  /* no convolution by Winograd's algorithm */
    bool spares;       /* with a plan for the loss of each agent: for sessions with failover */
    adaps_progress_fn *progress; /* nullable */
    void *progress_user;
    adaps_log_fn *log; /* nullable */
    void *log_user;
};

/* Compiles; may take seconds. ADAPS_EINPUT: the model or devices file; ADAPS_NO: infeasible;
 * ADAPS_EUSAGE: the options. Any thread. */
enum adaps_status adaps_plan_compile(const struct adaps_plan_options *options,
                                     struct adaps_plan **out, struct adaps_error *err);

/* Reads and writes plan files (adaps-plan(5)). Writing replaces the file atomically. Any thread. */
enum adaps_status adaps_plan_load(const char *path, struct adaps_plan **out,
                                  struct adaps_error *err);
enum adaps_status adaps_plan_save(const struct adaps_plan *plan, const char *path,
                                  struct adaps_error *err);

/* Nobody may use the plan any more: no thread, no session. */
void adaps_plan_free(struct adaps_plan *plan);

/* How many inputs and outputs the network has; one of them, from 0. ADAPS_EUSAGE: there is none
 * with this number. Any thread. */
int adaps_plan_inputs(const struct adaps_plan *plan);
int adaps_plan_outputs(const struct adaps_plan *plan);
enum adaps_status adaps_plan_input(const struct adaps_plan *plan, int index,
                                   struct adaps_tensor_info *info, struct adaps_error *err);
enum adaps_status adaps_plan_output(const struct adaps_plan *plan, int index,
                                    struct adaps_tensor_info *info, struct adaps_error *err);

/* Predicted latency of one inference in nanoseconds, by the simulated clocks. Any thread. */
int64_t adaps_plan_predicted_ns(const struct adaps_plan *plan);

/* --- sessions --- */

/* A place where a plan runs: the agents of its devices, or this process alone. */
struct adaps_session;

/* What became of a device or link that has become slower or faster, for longer than noise lasts, in
 * a session that adapts. Times are nanoseconds. */
struct adaps_adaptation {
    size_t struct_size;
    const char *device; /* by its name in the plan, as is */
    const char *to;     /* NULL, or it is the link from `device` to this one */
    double factor;      /* its speed, as a factor of what the plan in use says */
    double before;      /* what that had been */
    int64_t inference;  /* answers of the session when it was found */
    bool taken;         /* the session goes on with another plan; else that would not gain enough,
                           or the agents did not take it */
    int64_t old_ns, new_ns; /* an inference by the plan in use and by the other one, both predicted
                               for what devices and links are now */
    int64_t left;           /* inferences in which the other one had to pay off */
    int64_t cost_ns;        /* predicted: pushing, opening, and the pause */
    int64_t plan_ns;        /* planning took, while the session went on; and if it was taken: */
    int64_t push_ns, open_ns;
    uint64_t push_bytes;
};

/* Gets each, which is only there during the call. Called from the threads of adaps_log_fn; may not
 * call functions of the session or its stream. */
typedef void adaps_adaptation_fn(void *user, const struct adaps_adaptation *adaptation);

struct adaps_session_options {
    size_t struct_size;
    const char *model; /* file of the weights; NULL: where the plan says. A plan that was just
                          compiled keeps its model open, which must not change until then */
    bool local;        /* in this process, on one device, without agents */
    bool failover;     /* goes on when an agent is lost, see below */
    int threads;       /* of a local session, for computing; 0: as many as the plan's device has */
    double deadline;   /* seconds, bounds every wait for agents; 0: 30 */
    const char *key_file;        /* this side's keys (adaps-keygen(1)); NULL: the default place */
    const char *devices;         /* of adaps_session_open_file() */
    const char *strategy;        /* likewise */
    adaps_progress_fn *progress; /* nullable */
    void *progress_user;
    adaps_log_fn *log; /* nullable */
    void *log_user;
    bool adapt;      /* goes on with another plan when devices or links drift, see below */
    int64_t horizon; /* then: inferences in which another plan must gain what it costs; 0: 10000 */
    adaps_adaptation_fn *adaptation; /* nullable */
    void *adaptation_user;
    double wait; /* seconds that an agent which serves another controller is waited for, in line; 0:
                    that is an error. `log` gets the name of that controller */
};

/* Opens the plan on its agents, pushing what they lack, or in this process; so a plan for one
 * device without an address, too. The plan must outlive the session. options: nullable.
 * ADAPS_EINPUT: the model; ADAPS_EAGENT names the agent; ADAPS_EUSAGE: the options, or failover or
 * adaptation of a lossy plan. Any thread.
 *
 * With failover, when an agent is lost, the session goes on with the others: they get a plan of
 * their own (one that the plan has for it, or a new one) and what they lack, and the inferences
 * that were in flight are done again, with the same bits. The source's agent cannot be replaced:
 * that, and losing too many, is ADAPS_EAGENT of the inference. An agent that has come back is used
 * again after the next loss. The model must not change while the session lasts.
 *
 * A session that adapts holds what agents and links take against the plan. When one has been slower
 * or faster than noise for a while, a thread plans for what they are now, and if that gains more
 * than it costs, the session goes on with the new plan between two inferences, with the same bits.
 * Here, too, the model must not change. In this process neither does anything. */
enum adaps_status adaps_session_open(const struct adaps_plan *plan,
                                     const struct adaps_session_options *options,
                                     struct adaps_session **out, struct adaps_error *err);

/* The same from a file, which belongs to the session. A plan (adaps-plan(5)) runs on its agents, or
 * on those that `devices` has for the plan's devices. A model is compiled, for the devices file and
 * with the strategy of the options (with spares if it has failover), or, without a devices file,
 * for this process. Errors also as of adaps_plan_load() and adaps_plan_compile(). Any thread. */
enum adaps_status adaps_session_open_file(const char *path,
                                          const struct adaps_session_options *options,
                                          struct adaps_session **out, struct adaps_error *err);

/* The plan that was opened, as long as the session. Any thread. */
const struct adaps_plan *adaps_session_plan(const struct adaps_session *session);

/* No thread may use the session any more, and its streams are closed. Takes a second at most. */
void adaps_session_close(struct adaps_session *session);

/* One inference; blocks. Each input of the network once, by name or by place: of the network's
 * shape (a missing first dimension of 1 is allowed) and of any type; values are converted to the
 * network's type where that is exact. outputs: those that are wanted, by name or by place. data is
 * room for `bytes`, 64-byte alignment is not needed; type, rank, dims and bytes are set to what was
 * answered. An output whose type is set on call must be of that type.
 *
 * ADAPS_EINPUT: an input of another shape, or with a value that its type does not have; too little
 * room. ADAPS_EUSAGE: an input is missing or unknown, a stream is open, or an earlier inference
 * failed. ADAPS_EAGENT: after it the session can only be closed. ADAPS_ECANCELLED: the session can
 * be used further. After any error the outputs' memory is undefined. Any thread; a second call
 * waits until the first is done. */
enum adaps_status adaps_session_run(struct adaps_session *session,
                                    const struct adaps_tensor *inputs, int ninputs,
                                    struct adaps_tensor *outputs, int noutputs,
                                    struct adaps_error *err);

/* The same with all outputs in memory of their own, which is not copied once more: *out is the
 * caller's (adaps_result_free()). */
struct adaps_result;
enum adaps_status adaps_session_infer(struct adaps_session *session,
                                      const struct adaps_tensor *inputs, int ninputs,
                                      struct adaps_result **out, struct adaps_error *err);

/* Ends what is running and what is in flight, in agents and in this process: adaps_session_run(),
 * adaps_session_infer() and the results of streams are ADAPS_ECANCELLED soon, in this process
 * after the operator that is being computed, on agents within a second. The session can be used
 * further. Does nothing when nothing is running. Any thread, also while another one is in any other
 * function of the session but adaps_session_close(). */
void adaps_session_cancel(struct adaps_session *session);

/* How often the session has gone on without an agent. Any thread. */
int adaps_session_recoveries(const struct adaps_session *session);

/* --- results --- */

/* What an inference has answered. It may outlive its session and its plan. Any threads at the same
 * time, but for adaps_result_free(). */

/* ADAPS_OK, or why the inference has no outputs; *err says it once more. */
enum adaps_status adaps_result_status(const struct adaps_result *result, struct adaps_error *err);
int adaps_result_outputs(const struct adaps_result *result);

/* One output, from 0: its name and memory are the result's. ADAPS_EUSAGE: there is none. */
enum adaps_status adaps_result_output(const struct adaps_result *result, int index,
                                      struct adaps_tensor *out, struct adaps_error *err);
uint64_t adaps_result_tag(const struct adaps_result *result); /* of a stream; else 0 */

/* From when it was submitted, or the call began, until the answer was here. */
int64_t adaps_result_latency_ns(const struct adaps_result *result);
void adaps_result_free(struct adaps_result *result);

/* --- streams --- */

/* A session with several inferences in flight: agents begin the next one when they have done their
 * part of another, inputs travel meanwhile, and in this process the caller has its thread for
 * itself. Answers come in the order in which they were submitted, one for each. */
struct adaps_stream;

/* Gets each result, which is its to free, in the stream's own thread: what it takes holds up the
 * stream. It may submit only with `refuse`, and may not close. */
typedef void adaps_result_fn(void *user, struct adaps_result *result);

#define ADAPS_MOST_IN_FLIGHT 8

struct adaps_stream_options {
    size_t struct_size;
    int in_flight;             /* at most so many are submitted and not answered; 0: 3 */
    bool refuse;               /* submitting more is ADAPS_NO; else it waits */
    adaps_result_fn *callback; /* nullable: then results wait for adaps_stream_wait() */
    void *callback_user;
};

/* Opens the session's only stream. options: nullable. ADAPS_EUSAGE: it has one. Any thread. */
enum adaps_status adaps_stream_open(struct adaps_session *session,
                                    const struct adaps_stream_options *options,
                                    struct adaps_stream **out, struct adaps_error *err);

/* Begins an inference, with inputs as of adaps_session_run(), which are copied. tag: comes back
 * with the result. ADAPS_EINPUT, ADAPS_EUSAGE: the inputs; there will be no result. ADAPS_NO: too
 * many are in flight, with `refuse`. Any thread. */
enum adaps_status adaps_stream_submit(struct adaps_stream *stream,
                                      const struct adaps_tensor *inputs, int ninputs, uint64_t tag,
                                      struct adaps_error *err);

/* The next result, the caller's (adaps_result_free()), which may be that of an inference that
 * failed (adaps_result_status()). timeout: seconds; 0: does not wait; below 0: until there is one,
 * or nothing is in flight. ADAPS_NO: there is none. With a callback there never is one: below 0
 * waits until nothing is in flight and the callback has returned. Any thread but the callback's. */
enum adaps_status adaps_stream_wait(struct adaps_stream *stream, double timeout,
                                    struct adaps_result **out, struct adaps_error *err);

/* A descriptor that is readable while a result waits, for poll(2) and its like; only to be looked
 * at. The stream's. Any thread. */
int adaps_stream_fd(const struct adaps_stream *stream);

/* Ends what is in flight as adaps_session_cancel() does, and waits for that; frees results that
 * nobody took. A callback gets all of them first. No other thread may use the stream any more. */
void adaps_stream_close(struct adaps_stream *stream);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
