/* adaps bench: strategies of one model on the same agents, in turns. bench.c (options), bench_run.c
 * (measuring), bench_report.c (table, JSON, TSV), bench_refine.c (a plan corrected by what it
 * measures).
 */
#ifndef AD_CLI_BENCH_H
#define AD_CLI_BENCH_H

#include "base/stats.h"
#include "cli/cli.h"
#include "control/session.h"
#include "model_weights.h"
#include "pipeline.h"
#include "report/predict.h"

#define AD_BENCH_INPUTS 4 /* different random inputs, in turns */
#define AD_BENCH_MOST_ROUNDS 1000
#define AD_BENCH_MOST_RUNS 1000 /* of a round */

/* An entry of the comparison: a strategy's plan; the same with nothing ahead, "NAME+late"; with
 * messages that may be rounded, "NAME+lossy"; or "local", one device in this process, without
 * agents. */
struct ad_bench_choice {
    char name[40];
    const char *strategy; /* in ad_strategies */
    bool late, lossy, local;
};

struct ad_bench_options {
    struct ad_pipeline_options passes;  /* strategy unused; seed: of everything random */
    struct ad_bench_choice *strategies; /* no two names equal */
    int nstrategies;
    int reference; /* index of the strategy that the others are compared with */
    int single;    /* index of the best device alone, -1: it is not measured */
    struct ad_session_options session;
    int64_t rounds;          /* at most; 0 = as many as fit into seconds */
    double seconds;          /* no round begins later; 0 = no limit */
    int64_t runs;            /* inferences per strategy and round that count */
    int64_t threads;         /* of the single-device answer; 0 = the plan's */
    const char *counters;    /* command that prints what the links have carried, or NULL */
    const char *when_pushed; /* command to run before anything is measured, or NULL */
    bool predict;            /* trace the inferences */
    bool refine;             /* correct a plan by what it measures, instead of comparing */
    bool wall; /* times from sending the input to having the answer, by this side's clock */
};

/* What was measured of an entry. */
struct ad_bench_entry {
    const struct ad_bench_choice *choice;
    struct adaps_plan *plan; /* NULL: it has none, error says why */
    char error[sizeof((struct adaps_error *)0)->message];
    double *latency_ms; /* of every inference that counts */
    size_t count;
    double *round_ms;                 /* mean of a round, by round */
    double sent_bytes, sent_messages; /* payload that the agents sent, added up */
    double wire_bytes;                /* by the counters, added up */
    struct ad_tensor *expected;       /* as struct ad_bench's; owned if sums are in blocks */
    uint64_t elements, differ;        /* of all answers against the single-device answer */
    struct ad_predict predict;        /* with options->predict */
};

struct ad_bench {
    const struct ad_bench_options *options;
    struct ad_bench_entry *entries;      /* by strategy */
    size_t rounds, room;                 /* done, and what there is room for */
    char first_difference[200];          /* "" when no element differs */
    struct ad_local_run *local;          /* the single-device answer; kept for "local" */
    struct ad_tensor *inputs, *expected; /* [input set * ninputs + i], [... * noutputs + i] */
    int ninputs, noutputs;
    void (*progress)(void *self, const char *what, size_t round); /* may be NULL */
    void *progress_self;
};

/* Plans, pushes, measures. A strategy without a feasible plan is an entry, not a failure; ADAPS_NO
 * when none has one. ADAPS_EAGENT names strategy and agent. */
AD_MUST_CHECK enum adaps_status ad_bench_run(struct ad_bench *bench,
                                             const struct ad_bench_options *options,
                                             struct adaps_error *err);
void ad_bench_fini(struct ad_bench *bench);

/* Pushes a plan whose graph has its weights. */
AD_MUST_CHECK enum adaps_status ad_bench_push(const struct ad_bench_options *options,
                                              const struct adaps_plan *plan,
                                              struct adaps_error *err);

/* --- adaps bench --refine (bench_refine.c) --- */

/* Per inference of a stream. */
struct ad_refine_device {
    double correction;              /* times the devices file's speed */
    double predicted_s, measured_s; /* of computing */
    double there_s;                 /* from its first step to its last */
};

struct ad_refine_round {
    double predicted_per_s, measured_per_s; /* answers */
    struct ad_refine_device devices[AD_MAX_DEVICES];
};

struct ad_refinement {
    const struct ad_bench_options *options;
    struct ad_refine_round *rounds;
    size_t count, best; /* rounds done; that of the highest measured rate */
    int ndevices;
    char names[AD_MAX_DEVICES][64];
};

/* Rounds of planning with the first strategy, running and correcting; options->rounds at most, of
 * options->runs inferences. ADAPS_NO: no plan, or one of several turns. Free with
 * ad_bench_refine_fini(), also after an error. */
AD_MUST_CHECK enum adaps_status ad_bench_refine(struct ad_refinement *out,
                                                const struct ad_bench_options *options,
                                                struct adaps_error *err);
void ad_bench_refine_fini(struct ad_refinement *refinement);
AD_MUST_CHECK enum adaps_status ad_bench_refine_print(const struct ad_refinement *refinement,
                                                      FILE *out, struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_bench_refine_print_json(const struct ad_refinement *refinement,
                                                           FILE *out, struct adaps_error *err);

/* Median over the inferences, ms. */
double ad_bench_latency_ms(const struct ad_bench *bench, int entry);

/* Time of one strategy over another's: median over the rounds, 95 % interval. NANs when one of them
 * has no plan, or without memory. */
struct ad_interval ad_bench_ratio(const struct ad_bench *bench, int entry, int to);

/* Devices that compute something. */
int ad_bench_devices_used(const struct adaps_plan *plan);

AD_MUST_CHECK enum adaps_status ad_bench_print(const struct ad_bench *bench, FILE *out,
                                               struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_bench_print_json(const struct ad_bench *bench, FILE *out,
                                                    struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_bench_print_tsv(const struct ad_bench *bench, FILE *out,
                                                   struct adaps_error *err);

#endif
