#include "control/counts.h"
#include "base/machine.h"
#include "control/session.h"
#include "metrics/process.h"

#include <stdio.h>
#include <string.h>

#define GET(counter) atomic_load_explicit(&(counter), memory_order_relaxed)
#define ADD(counter, value) atomic_fetch_add_explicit(&(counter), value, memory_order_relaxed)
#define S(ns) ((double)(ns) / 1e9)

/* --- counting --- */

/* The entry of a device of that name; NULL: there is no room for one more. */
static struct ad_device_counts *find_device(struct ad_session_counts *counts, const char *name)
{
    int n = GET(counts->ndevices);
    for (int i = 0; i < n; i++)
        if (strcmp(counts->devices[i].name, name) == 0)
            return &counts->devices[i];
    if (n == AD_MAX_DEVICES)
        return NULL;
    struct ad_device_counts *device = &counts->devices[n];
    snprintf(device->name, sizeof device->name, "%s", name);
    atomic_store_explicit(&counts->ndevices, n + 1, memory_order_release);
    return device;
}

void ad_counts_open(struct ad_session_counts *counts, const struct adaps_plan *plan)
{
    if (!counts)
        return;
    ADD(counts->sessions, 1);
    ADD(counts->open, 1);
    atomic_store(&counts->latency_ns,
                 plan->stream.frames > 1 ? plan->stream.latency_ns : plan->schedule.makespan_ns);
    atomic_store(&counts->interval_ns, plan->stream.interval_ns);
}

void ad_counts_close(struct ad_session_counts *counts)
{
    if (counts)
        ADD(counts->open, -1);
}

void ad_counts_begin(struct ad_session_counts *counts)
{
    if (counts)
        ADD(counts->begun, 1);
}

void ad_counts_done(struct ad_session_counts *counts, const struct adaps_plan *plan,
                    int64_t latency_ns, int64_t wall_ns, const struct ad_device_stats *devices)
{
    if (!counts)
        return;
    ADD(counts->done, 1);
    ad_durations_add(&counts->latency, latency_ns);
    ad_durations_add(&counts->wall, wall_ns);
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        struct ad_device_counts *device =
            ad_plan_works(plan, d) ? find_device(counts, plan->cluster.devices[d].name) : NULL;
        if (!device)
            continue;
        ADD(device->compute_ns, devices[d].compute_ns);
        ADD(device->bytes_sent, devices[d].bytes_sent);
        ADD(device->messages_sent, devices[d].messages_sent);
    }
}

void ad_counts_failed(struct ad_session_counts *counts, int inferences, enum adaps_status why)
{
    uint64_t n = (uint64_t)inferences;
    if (!counts)
        return;
    if (why == ADAPS_ECANCELLED)
        ADD(counts->cancelled, n);
    else if (why == ADAPS_EINPUT || why == ADAPS_EUSAGE)
        ADD(counts->input, n);
    else if (why == ADAPS_EINTERNAL)
        ADD(counts->internal, n);
    else
        ADD(counts->agent, n);
}

/* --- writing --- */

static void write_inferences(struct ad_session_counts *counts, struct ad_exposition *out)
{
    const struct {
        const char *kind;
        uint64_t count;
    } errors[] = {{"input", GET(counts->input)},
                  {"agent", GET(counts->agent)},
                  {"internal", GET(counts->internal)},
                  {"cancelled", GET(counts->cancelled)}};
    struct ad_durations_seen seen;
    ad_exposition_single(out, "adaps_inferences_begun", AD_METRIC_COUNTER,
                         "Inferences that were begun.", (double)GET(counts->begun));
    ad_exposition_single(out, "adaps_inferences", AD_METRIC_COUNTER,
                         "Inferences that were answered.", (double)GET(counts->done));
    ad_exposition_family(out, "adaps_inference_errors", AD_METRIC_COUNTER,
                         "Inferences that failed, by kind of error.");
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        const char *const labels[] = {"kind", errors[i].kind, NULL};
        ad_exposition_number(out, labels, (double)errors[i].count);
    }
    ad_durations_look(&counts->latency, &seen);
    ad_exposition_family(out, "adaps_inference_duration_seconds", AD_METRIC_HISTOGRAM,
                         "From inputs to outputs, at the source.");
    ad_exposition_durations(out, &seen);
    ad_durations_look(&counts->wall, &seen);
    ad_exposition_family(out, "adaps_answer_duration_seconds", AD_METRIC_HISTOGRAM,
                         "From sending the inputs until the answer is here, with the wait for "
                         "inferences before it.");
    ad_exposition_durations(out, &seen);
}

static void write_devices(struct ad_session_counts *counts, struct ad_exposition *out)
{
    static const struct {
        const char *name, *help;
    } families[] = {{"adaps_device_compute_seconds", "Time that devices spent computing."},
                    {"adaps_device_transmit_bytes", "Payload that devices sent to others."},
                    {"adaps_device_transmit_messages", "Messages that devices sent to others."}};
    int n = atomic_load_explicit(&counts->ndevices, memory_order_acquire);
    for (int f = 0; f < 3; f++) {
        ad_exposition_family(out, families[f].name, AD_METRIC_COUNTER, families[f].help);
        for (int d = 0; d < n; d++) {
            struct ad_device_counts *device = &counts->devices[d];
            const char *const labels[] = {"device", device->name, NULL};
            ad_exposition_number(out, labels,
                                 f == 0   ? S(GET(device->compute_ns))
                                 : f == 1 ? (double)GET(device->bytes_sent)
                                          : (double)GET(device->messages_sent));
        }
    }
}

void ad_counts_write(void *self, struct ad_exposition *out)
{
    struct ad_session_counts *counts = self;
    struct ad_machine machine;
    int64_t latency_ns = atomic_load(&counts->latency_ns);
    int64_t interval_ns = atomic_load(&counts->interval_ns);
    ad_machine_look(&machine);
    ad_exposition_process(out, machine.kind, NULL);
    write_inferences(counts, out);
    ad_exposition_single(out, "adaps_sessions", AD_METRIC_COUNTER, "Sessions that were opened.",
                         (double)GET(counts->sessions));
    ad_exposition_single(out, "adaps_session_open", AD_METRIC_GAUGE, "Whether there is a session.",
                         GET(counts->open) > 0);
    if (latency_ns > 0)
        ad_exposition_single(out, "adaps_predicted_latency_seconds", AD_METRIC_GAUGE,
                             "What the plan says an inference takes.", S(latency_ns));
    if (interval_ns > 0)
        ad_exposition_single(out, "adaps_predicted_interval_seconds", AD_METRIC_GAUGE,
                             "What the plan says lies between two answers of a stream.",
                             S(interval_ns));
    write_devices(counts, out);
}
