/* What run.c (inferences) and run_report.c (what is printed about them) share. */
#ifndef AD_CLI_RUN_INTERNAL_H
#define AD_CLI_RUN_INTERNAL_H

#include "cli/answer.h"
#include "cli/deployment.h"
#include "failover.h"

/* What the command line says. */
struct ad_run_command {
    struct ad_run_options shared;
    const char *plan, *output;
    const char *trace; /* file, or NULL */
    char **inputs;
    int ninputs, threads;
    int in_flight; /* inferences at a time, on agents; 0: as the plan has it */
    int horizon;   /* of adaptation; 0: the stream */
    bool local, resize, failover, adapt;
};

/* The work of one command. */
struct ad_runner {
    const struct ad_run_command *options;
    struct ad_deployment deployment;
    const struct ad_graph *graph;
    struct ad_local_run *local; /* --local */
    struct ad_failover *agents; /* otherwise; opened when the first input has been read */
    int told, told_adaptations; /* recoveries and adaptations of these that have been printed */
    struct ad_answer_names names;
    struct ad_tensor *inputs, *outputs;  /* of the current inference */
    struct ad_device_stats *stats, *sum; /* by device: the latest, and added up */
    int64_t latency_ns, wall_ns;         /* added up */
    double *walls;                       /* by inference, ms */
    int in_flight;                       /* inferences at a time */
    int64_t begin_ns, steady_ns, end_ns; /* of all; when the first so many were done */
    struct ad_trace trace;               /* of the last inference */
    struct ad_tensor *first;             /* of a lossy plan: the first answer */
    double error;                        /* and how far it is from the exact one; NAN: not known */
    int ninferences, done;
    json_t *runs;
};

/* Prints what is new of lost agents, a line each, on stderr; not with --json. Likewise of drifts.
 */
void ad_run_print_recoveries(struct ad_runner *r);
void ad_run_print_adaptations(struct ad_runner *r);

/* Of all: what --json says. */
json_t *ad_run_adaptations_json(const struct ad_runner *r);

/* Prints the times, on stderr: stdout has the answers only. */
AD_MUST_CHECK enum adaps_status ad_run_print_times(const struct ad_runner *r,
                                                   struct adaps_error *err);

/* Writes the trace of the last inference; an ad_cli_writer of a struct ad_runner. */
AD_MUST_CHECK enum adaps_status ad_run_print_trace(const void *self, FILE *out,
                                                   struct adaps_error *err);

/* Prints answers and times as JSON. Returns the exit code, having finished stdout. */
int ad_run_print_json(const struct ad_runner *r);

#endif
