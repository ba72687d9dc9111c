/* Measured times of all steps of one inference, on one clock. */
#ifndef AD_CONTROL_TRACE_H
#define AD_CONTROL_TRACE_H

#include "plan/plan.h"

#define AD_TRACE_UNKNOWN INT64_MIN

/* Times in ns since the inputs were at the source, by the source's clock. */
struct ad_step_times {
    int64_t start_ns, end_ns; /* SEND: copying and handing over; RECV: waiting and taking */
    int64_t mark_ns; /* RECV: when the message was there; the start, when the device looked, if it
                        had been there before. SEND: when it was handed over. COMPUTE: the end */
    int64_t left_ns; /* SEND: when it had left for the kernel, or AD_TRACE_UNKNOWN, as for others */
};

struct ad_device_trace {
    struct ad_step_times *steps; /* by step of the device's program */
    int nsteps;
    int64_t begin_ns, end_ns; /* of the program, copying inputs and outputs included; devices wait
                                 for messages before the inputs are there: times below 0 */
    int64_t offset_ns;        /* the device's clock minus the controller's, estimated */
    int64_t uncertainty_ns;   /* of that: half of the shortest round trip; 0 = the same clock */
};

struct ad_trace {
    struct ad_device_trace *devices; /* by device of the plan */
    int ndevices;
};

/* Room for the steps of all devices. */
AD_MUST_CHECK enum adaps_status ad_trace_init(struct ad_trace *out, const struct adaps_plan *plan,
                                              struct adaps_error *err);
void ad_trace_fini(struct ad_trace *trace);

/* That of the latest inference of a local run; *out is the caller's (ad_trace_fini). */
struct ad_local_run;
AD_MUST_CHECK enum adaps_status ad_trace_of_local_run(const struct ad_local_run *run,
                                                      struct ad_trace *out,
                                                      struct adaps_error *err);

#endif
