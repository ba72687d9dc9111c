/* The plan: a schedule with everything needed to run it, as one file (plan.proto, adaps-plan(5)).
 */
#ifndef AD_PLAN_PLAN_H
#define AD_PLAN_PLAN_H

#include "schedule/energy.h"

/* The head of a plan file: magic, version (32 bits, little-endian), BLAKE2b-256 of the message. */
#define AD_PLAN_MAGIC "ADAPSPLN"
#define AD_PLAN_VERSION 8
#define AD_PLAN_HEAD_BYTES (8 + 4 + AD_DIGEST_BYTES)
#define AD_PLAN_MAX_BYTES ((size_t)64 << 20)

/* Rows [row0, row1) of a weight, as a content-addressed blob of float32. */
struct ad_slice {
    int weight;
    int64_t row0, row1;
    struct ad_digest digest;
};

struct ad_slices {
    struct ad_slice *items;
    int count;
};

struct adaps_plan;

/* A plan for the loss of one device: of those that are left, in their order. Its graph is that of
 * the plan that it belongs to. */
struct ad_spare {
    int lost;
    struct adaps_plan *plan;
};

/* Immutable: nobody writes to a plan that was made or loaded, so that it always is what its digest
 * says. What needs other addresses is another plan (ad_plan_readdress()). */
struct adaps_plan {
    struct ad_graph *graph; /* with its weights attached when the plan was just compiled, else not:
                               then their numbers come from elsewhere (plan/weight_source.h) */
    struct ad_cluster cluster;
    struct ad_schedule schedule; /* of the stream's first turn; memory: what the stream takes */
    struct ad_stream stream;     /* how inferences follow each other */
    struct ad_slices *slices;    /* by device; no duplicates; in order of weight, row0 */
    struct ad_spare *spares;     /* by who is lost, ascending; no part of what the digest is of */
    int nspares;
    char *model_path; /* where the model was, relative to the plan file or absolute */
    char *plan_path;  /* where this was loaded from, or NULL */
    struct ad_digest model_digest;
    struct ad_digest digest; /* ad_plan_digest(): the plan's identity on the agents */
    char strategy[32];
    double threshold;
    bool gather_type3;
    int64_t single_ns; /* best single device; 0 and -1 when none has the memory */
    int single_device;
    int64_t visited;
    double space_log10;
    double search_s;        /* seconds of the search that has just made it; no file has it: NAN */
    int64_t lower_bound_ns; /* no plan answers sooner; 0 = not known */
    char note[256];
    struct ad_assignment *assignment; /* what the search chose, by turn, for adaps-json(5); no file
                                         has it: NULL */
    int nassignments;
};

/* Where a plan comes from: the model, and how the search found the schedule. Strings are borrowed.
 */
struct ad_provenance {
    const char *model_path; /* absolute */
    struct ad_digest model_digest;
    const char *strategy;
    double threshold;  /* the window (ADaPS eq 3) */
    bool gather_type3; /* see struct ad_search_problem */
    bool u8;           /* pictures may travel as bytes: single devices are timed so, too */
    int64_t visited;
    double space_log10, search_s;
    int64_t lower_bound_ns;         /* no plan answers sooner; 0 = not known */
    const char *note;               /* nullable */
    const struct ad_graph *numbers; /* nullable: a graph with the same weights, attached; then those
                                       of the plan's graph need not be */
    struct ad_stream *stream; /* nullable: one inference at a time. Its contents are taken over with
                                 the schedule */
};

/* Takes over graph (whose weights must be attached, here or in provenance->numbers: slices are
 * digested here; they stay attached)
 * and the contents of cluster and schedule; on failure they stay the caller's. Finds the best
 * single device by the same clocks. */
AD_MUST_CHECK enum adaps_status ad_plan_make(struct ad_graph *graph, struct ad_cluster *cluster,
                                             struct ad_schedule *schedule,
                                             const struct ad_provenance *provenance,
                                             struct adaps_plan **out, struct adaps_error *err);

/* Adds a spare, whose graph is a copy of the plan's: takes it over, on success only. Losses come in
 * ascending order. */
AD_MUST_CHECK enum adaps_status ad_plan_add_spare(struct adaps_plan *plan, int lost,
                                                  struct adaps_plan *spare,
                                                  struct adaps_error *err);

/* The spare that can be used without the devices that are out, by device of the plan: nobody that
 * it gives work to is. NULL: none, or nobody is out. *device_of: as from ad_cluster_without(). */
const struct ad_spare *ad_plan_spare(const struct adaps_plan *plan, const bool *out,
                                     int *device_of);

/* The spare for the loss of a device, or NULL; and which of its devices is one of the plan's, which
 * is not the one that is lost. */
const struct ad_spare *ad_plan_spare_of(const struct adaps_plan *plan, int lost);
int ad_spare_device(const struct ad_spare *spare, int device);

/* A plan's identity: the digest of a packed plan without its head's own digest, and without where
 * the model was. */
struct ad_digest ad_plan_digest(const void *data, size_t size);

/* Bytes of a plan file, header included; *data is the caller's (ad_free). The same plan gives the
 * same bytes, after a load too. ad_plan_pack() is without spares: what agents get, and what the
 * digest is of. ADAPS_EINPUT: more than AD_PLAN_MAX_BYTES, or other limits of the format. */
AD_MUST_CHECK enum adaps_status ad_plan_pack_file(const struct adaps_plan *plan, void **data,
                                                  size_t *size, struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_plan_pack(const struct adaps_plan *plan, void **data,
                                             size_t *size, struct adaps_error *err);

/* Parses, then verifies everything (ad_graph_verify, cluster values, ad_schedule_verify, slices
 * present for every task): a plan that loads can be executed without further checks of its indices
 * and sizes. `what` names it in messages. ADAPS_EINPUT says what is wrong with it. */
AD_MUST_CHECK enum adaps_status ad_plan_unpack(const void *data, size_t size, const char *what,
                                               struct adaps_plan **out, struct adaps_error *err);

/* Reads a plan file; the plan knows its path. */
AD_MUST_CHECK enum adaps_status ad_plan_load(const char *path, struct adaps_plan **out,
                                             struct adaps_error *err);

/* The same plan for other agents: its devices have the addresses and keys of the devices of the
 * same names in `cluster`; one that is not there keeps its own. Takes over plan, on success only.
 * ADAPS_EINPUT names a device that has work but is not in the cluster. */
AD_MUST_CHECK enum adaps_status ad_plan_readdress(struct adaps_plan *plan,
                                                  const struct ad_cluster *cluster,
                                                  struct adaps_plan **out, struct adaps_error *err);

/* A plan for a single device that computes the whole graph of `plan` (the reference answer):
 * device 0 of a cluster of one. Its weights have the numbers (indices) that they have in `plan`,
 * none are attached. Shares nothing with `plan`. */
AD_MUST_CHECK enum adaps_status ad_plan_single(const struct adaps_plan *plan,
                                               struct adaps_plan **out, struct adaps_error *err);

/* A plan whose only device computes these tasks, each a step of its own, in this order: for timing
 * them. An addition to what the task before it computes is in the step of that. Values that no task
 * computes are read as they are. Takes over graph, on success only. ADAPS_EINPUT names the task
 * that cannot be. */
AD_MUST_CHECK enum adaps_status ad_plan_of_tasks(struct ad_graph *graph,
                                                 const struct ad_task *tasks, int ntasks,
                                                 int threads, struct adaps_plan **out,
                                                 struct adaps_error *err);

/* A plan of two devices that only exchange messages, one at a time: `count` times rows_there rows
 * of 1 KiB from a to b, and rows_back (at most as many) back. link is what controllers expect. */
#define AD_LINK_PROBE_ROW_BYTES 1024
struct ad_round_trips {
    int count;
    int32_t rows_there, rows_back;
};
AD_MUST_CHECK enum adaps_status
ad_plan_of_round_trips(const struct ad_device *a, const struct ad_device *b,
                       const struct ad_link *link, const struct ad_round_trips *trips,
                       struct adaps_plan **out, struct adaps_error *err);

/* A plan in which all devices of a cluster (two at least) exchange messages at the same time:
 * `count` times each sends `burst` messages of so many rows of 1 KiB, one after the other to the
 * next devices, and receives as many from those before it. */
struct ad_exchange {
    int count;
    int32_t rows;
    int burst;
    int steps, work; /* each computes in so many steps of so many small tasks per exchange... */
    bool
        meanwhile; /* ... after sending, while messages travel; else all after the first exchange */
};
AD_MUST_CHECK enum adaps_status ad_plan_of_exchanges(const struct ad_cluster *cluster,
                                                     const struct ad_exchange *exchange,
                                                     struct adaps_plan **out,
                                                     struct adaps_error *err);

/* A graph alone as bytes (plan.proto), without weight data; and back, from an untrusted sender:
 * verified. */
AD_MUST_CHECK enum adaps_status ad_plan_pack_graph(const struct ad_graph *graph, void **data,
                                                   size_t *size, struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_plan_unpack_graph_alone(const void *data, size_t size,
                                                           struct ad_graph **out,
                                                           struct adaps_error *err);

/* By device, in any turn: which ones a device exchanges messages with, and to which it sends some.
 */
struct ad_peers {
    bool any[AD_MAX_DEVICES], sent_to[AD_MAX_DEVICES];
};
struct ad_peers ad_plan_peers(const struct adaps_plan *plan, int device);

/* The energy of an inference, of all devices and of each (schedule/energy.h). */
AD_MUST_CHECK enum adaps_status ad_plan_energy(const struct adaps_plan *plan,
                                               struct ad_energy_figures *out,
                                               struct adaps_error *err);

/* The schedule of a turn of the plan's stream. */
static inline const struct ad_schedule *ad_plan_turn(const struct adaps_plan *plan, int turn)
{
    return ad_stream_turn(&plan->stream, &plan->schedule, turn);
}

/* The plan as if a turn were its first: borrows everything, and must not be freed. */
struct adaps_plan ad_plan_view(const struct adaps_plan *plan, int turn);

/* How many of the inferences of a deal take a turn, and how many there are: 1 of 1 without a deal.
 */
int ad_plan_share(const struct adaps_plan *plan, int turn, int *of);

/* Whether a device has work in some turn. */
bool ad_plan_works(const struct adaps_plan *plan, int device);

/* Whether some message is rounded: the answer is not that of a single device. */
bool ad_plan_lossy(const struct adaps_plan *plan);

/* What a device needs for the plan and for its spares, each blob once, those of the plan first.
 * items is the caller's (ad_free). */
AD_MUST_CHECK enum adaps_status ad_plan_all_slices(const struct adaps_plan *plan, int device,
                                                   struct ad_slices *out, struct adaps_error *err);

/* The bytes of a slice's blob. */
uint64_t ad_slice_bytes(const struct adaps_plan *plan, const struct ad_slice *slice);

#endif
