/* What a controller's sessions have done, for its metrics: counted while they run, read by another
 * thread at any time. */
#ifndef AD_CONTROL_COUNTS_H
#define AD_CONTROL_COUNTS_H

#include "base/durations.h"
#include "metrics/exposition.h"
#include "plan/plan.h"

#include <pthread.h>

struct ad_run_stats;
struct ad_device_stats;

struct ad_device_counts {
    char name[64];
    atomic_int_least64_t compute_ns;
    atomic_uint_least64_t bytes_sent, messages_sent;
};

/* Zero-initialised is empty and usable. One thread counts at a time. */
struct ad_session_counts {
    atomic_uint_least64_t begun, done, sessions;
    atomic_uint_least64_t input, agent, internal, cancelled; /* how many inferences failed so */
    atomic_int open;
    atomic_int_least64_t latency_ns, interval_ns; /* predicted, of the latest plan; 0: not known */
    struct ad_durations latency;                  /* at the source: inputs there to outputs there */
    struct ad_durations wall;                     /* here: from the beginning to the answer */
    struct ad_device_counts devices[AD_MAX_DEVICES];
    atomic_int ndevices; /* those before have their names */
};

/* All may be NULL: nobody counts. */
void ad_counts_open(struct ad_session_counts *counts, const struct adaps_plan *plan);
void ad_counts_close(struct ad_session_counts *counts);
void ad_counts_begin(struct ad_session_counts *counts);
void ad_counts_done(struct ad_session_counts *counts, const struct adaps_plan *plan,
                    int64_t latency_ns, int64_t wall_ns, const struct ad_device_stats *devices);

/* So many inferences, all that were in flight, for this reason. */
void ad_counts_failed(struct ad_session_counts *counts, int inferences, enum adaps_status why);

/* An ad_metrics_write_fn of a struct ad_session_counts. The names are in adaps-run(1). */
void ad_counts_write(void *self, struct ad_exposition *out);

#endif
