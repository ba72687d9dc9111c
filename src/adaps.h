/* adaps: one convolutional network, several small computers, the same bits.
 *
 * The public interface, and the only installed header. Every function that can fail returns
 * enum adaps_status and takes a nullable, caller-owned struct adaps_error last. Nothing here is
 * global: different plans and clusters may be used from different threads at the same time; one
 * object from one thread at a time. */
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

/* Results of functions and exit codes of the command line. */
enum adaps_status {
    ADAPS_OK = 0,        /* done */
    ADAPS_NO = 1,        /* the answer is no: verification failed, no feasible plan */
    ADAPS_EUSAGE = 2,    /* the call itself is wrong */
    ADAPS_EINPUT = 3,    /* a bad input: model, plan, devices file, tensor, picture */
    ADAPS_EAGENT = 4,    /* an agent or the network failed */
    ADAPS_EINTERNAL = 5, /* a defect of adaps, or no memory */
};

/* What went wrong, for a person: names file, node, device, the values and the rule. */
struct adaps_error {
    enum adaps_status status;
    char message[1024];
};

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

/* The version as "MAJOR.MINOR.PATCH". Static storage. */
const char *adaps_version(void);

/* A model compiled for a cluster: programs per device, weights by digest, predicted timeline. */
struct adaps_plan;

/* How to compile. Zero-initialise, then set what you need; a zero field means the default. */
struct adaps_plan_options {
    const char *model;    /* ONNX file (required) */
    const char *devices;  /* devices file (required) */
    const char *strategy; /* "auto" (default), "single", "edgeflow", ... */
    double bandwidth;     /* bytes per second on every link, instead of the devices file's */
    double latency;       /* seconds on every link; used when has_latency */
    bool has_latency;     /* a latency of 0 is a value */
    double threshold;     /* search window 0..1 (ADaPS eq 3); 0 without has_threshold: 0.15 */
    bool has_threshold;   /* a threshold of 0 is a value */
    bool gather_type3; /* edgeflow, bbgrap, adaps: layers that mix dimensions whole on one device */
    bool conv_direct;  /* no convolution by Winograd's algorithm */
    bool spares;       /* with a plan for the loss of each agent: adaps_session_failover() */
};

/* Compiles. On ADAPS_OK *out is the caller's, to be freed with adaps_plan_free().
 * ADAPS_EINPUT: the model or devices file; ADAPS_NO: infeasible; ADAPS_EUSAGE: the options. */
enum adaps_status adaps_plan_compile(const struct adaps_plan_options *options,
                                     struct adaps_plan **out, struct adaps_error *err);

/* Reads and writes plan files (adaps-plan(5)). Writing replaces the file atomically. */
enum adaps_status adaps_plan_load(const char *path, struct adaps_plan **out,
                                  struct adaps_error *err);
enum adaps_status adaps_plan_save(const struct adaps_plan *plan, const char *path,
                                  struct adaps_error *err);
void adaps_plan_free(struct adaps_plan *plan);

/* Elements of the network's first input and of its first output (float32, ONNX order, NCHW). */
size_t adaps_plan_input_elements(const struct adaps_plan *plan);
size_t adaps_plan_output_elements(const struct adaps_plan *plan);

/* Predicted latency of one inference in nanoseconds, by the simulated clocks. */
int64_t adaps_plan_predicted_ns(const struct adaps_plan *plan);

/* A place where the plan runs: the agents of the devices file, or this process alone. */
struct adaps_session;

/* Opens the plan on its agents (pushing what they lack), or, when local is true, in this process on
 * one device without agents. The model file is read for the weights: where the plan says, or at
 * `model` when that is not NULL; a plan that was just compiled keeps its model file open, which
 * must not change until then. The plan must outlive the session. deadline_s bounds every wait;
 * 0 means 30 s. ADAPS_EAGENT names the agent. */
enum adaps_status adaps_session_open(const struct adaps_plan *plan, const char *model, bool local,
                                     double deadline_s, struct adaps_session **out,
                                     struct adaps_error *err);

/* One inference; blocks. input and output are float32 arrays in ONNX order with exactly
 * adaps_plan_input_elements() and adaps_plan_output_elements() elements, else ADAPS_EINPUT. */
enum adaps_status adaps_session_run(struct adaps_session *session, const float *input,
                                    size_t input_elements, float *output, size_t output_elements,
                                    struct adaps_error *err);

/* From now on, when an agent is lost, the session goes on with the others: they get a plan of their
 * own (one that the plan has for it, see `spares` above, or a new one) and what they lack, and the
 * inference is done again, with the same bits. The source's agent
 * cannot be replaced: that, and losing too many, is ADAPS_EAGENT from adaps_session_run(). An agent
 * that has come back is used again after the next loss. The model is opened here, and must not
 * change while the session lasts; `model` as for opening the session, only needed during this call.
 * A local session has no agents to lose. ADAPS_EINPUT: the model; ADAPS_EUSAGE: a lossy plan. */
enum adaps_status adaps_session_failover(struct adaps_session *session, const char *model,
                                         struct adaps_error *err);

/* How often the session has gone on without an agent. */
int adaps_session_recoveries(const struct adaps_session *session);
void adaps_session_close(struct adaps_session *session);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
