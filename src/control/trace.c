/* Traces: clock offsets of the agents and the times of their steps. */
#include "control/trace.h"
#include "base/clock.h"
#include "control/session_internal.h"
#include "exec/engine/local_run.h"

#include <inttypes.h>

/* Round trips in a row, before and after an inference: the shortest of them all counts. */
#define CLOCK_SAMPLES 8

/* No time of an inference is longer; keeps sums of what strangers send in range. */
#define LONGEST_NS INT64_C(1000000000000000)

enum adaps_status ad_trace_init(struct ad_trace *out, const struct adaps_plan *plan,
                                struct adaps_error *err)
{
    int n = plan->cluster.ndevices;
    *out = (struct ad_trace){.ndevices = n};
    out->devices = ad_calloc((size_t)n, sizeof *out->devices);
    for (int d = 0; out->devices && d < n; d++) {
        struct ad_device_trace *device = &out->devices[d];
        device->nsteps = plan->schedule.programs[d].nsteps;
        device->steps = ad_calloc((size_t)device->nsteps, sizeof *device->steps);
        if (!device->steps) {
            ad_trace_fini(out);
            break;
        }
    }
    return out->devices ? ADAPS_OK : ad_error_memory(err, "trace", (size_t)n);
}

void ad_trace_fini(struct ad_trace *trace)
{
    for (int d = 0; trace->devices && d < trace->ndevices; d++)
        ad_free(trace->devices[d].steps);
    ad_free(trace->devices);
    *trace = (struct ad_trace){0};
}

enum adaps_status ad_trace_of_local_run(const struct ad_local_run *run, struct ad_trace *out,
                                        struct adaps_error *err)
{
    int64_t begin, end;
    enum adaps_status status = ad_trace_init(out, ad_local_run_plan(run), err);
    if (status != ADAPS_OK)
        return status;
    ad_local_run_times(run, &begin, &end);
    for (int d = 0; d < out->ndevices; d++) {
        struct ad_device_trace *device = &out->devices[d];
        device->end_ns = end - begin;
        for (int i = 0; i < device->nsteps; i++) {
            struct ad_step_times *step = &device->steps[i];
            ad_local_run_step_times(run, d, i, &step->start_ns, &step->end_ns);
            step->start_ns -= begin;
            step->end_ns -= begin;
            step->mark_ns = step->end_ns;
            step->left_ns = AD_TRACE_UNKNOWN;
        }
    }
    return ADAPS_OK;
}

/* --- clocks --- */

/* One question of the agent's clock: when it was asked and answered here, and what it said. */
static enum adaps_status ask_clock(struct ad_session *session, struct ad_remote *remote,
                                   struct ad_clock_sample *out, struct adaps_error *err)
{
    ProtobufCMessage *body;
    struct ad_deadline deadline;
    ad_deadline_set(&deadline, session->deadline_ns);
    out->asked_ns = ad_clock_ns();
    enum adaps_status status = ad_remote_send(remote, AD_FRAME_CLOCK, 0, NULL, NULL, 0, err);
    if (status == ADAPS_OK)
        status = ad_remote_await(remote, AD_FRAME_TIME, &deadline, AD_WAIT_ANSWER, err);
    if (status != ADAPS_OK)
        return status;
    out->answered_ns = ad_clock_ns();
    status = ad_wire_message_body(&remote->message, &adaps__wire__time__descriptor, &body, err);
    if (status != ADAPS_OK)
        return ad_remote_blame(remote, err);
    out->clock_ns = ((const Adaps__Wire__Time *)body)->clock_ns;
    ad_protobuf_free(body);
    if (out->clock_ns >= 0)
        return ADAPS_OK;
    ad_error_set(err, ADAPS_EAGENT, "its clock shows %" PRId64 " ns", out->clock_ns);
    return ad_remote_blame(remote, err);
}

void ad_clock_estimate(const struct ad_clock_sample *samples, int n, int64_t *offset_ns,
                       int64_t *uncertainty_ns)
{
    const struct ad_clock_sample *best = &samples[0];
    for (int i = 1; i < n; i++)
        if (samples[i].answered_ns - samples[i].asked_ns < best->answered_ns - best->asked_ns)
            best = &samples[i];
    int64_t round_trip = best->answered_ns - best->asked_ns;
    *offset_ns = best->clock_ns - (best->asked_ns + round_trip / 2);
    *uncertainty_ns = (round_trip + 1) / 2;
}

enum adaps_status ad_session_clocks(struct ad_session *session, struct ad_trace *trace, bool again,
                                    struct adaps_error *err)
{
    struct ad_clock_sample samples[CLOCK_SAMPLES];
    for (int i = 0; i < session->nremotes; i++) {
        struct ad_remote *remote = &session->remotes[i];
        struct ad_device_trace *device = &trace->devices[remote->device];
        int64_t offset, uncertainty;
        for (int k = 0; k < CLOCK_SAMPLES; k++) {
            enum adaps_status status = ask_clock(session, remote, &samples[k], err);
            if (status != ADAPS_OK)
                return status;
        }
        ad_clock_estimate(samples, CLOCK_SAMPLES, &offset, &uncertainty);
        if (again && uncertainty >= device->uncertainty_ns)
            continue;
        device->offset_ns = offset;
        device->uncertainty_ns = uncertainty;
    }
    return ADAPS_OK;
}

/* --- steps --- */

static enum adaps_status wrong(struct adaps_error *err, int step, const char *what, int64_t value,
                               int64_t least)
{
    return ad_error_set(err, ADAPS_EAGENT,
                        "its trace is impossible: step %d %s at %" PRId64 " ns, not before %" PRId64
                        " ns",
                        step, what, value, least);
}

/* Whether a time lies in [least, LONGEST_NS]. */
static bool within(int64_t ns, int64_t least)
{
    return ns >= least && ns <= LONGEST_NS;
}

/* Steps follow one another within the inference; their marks lie within them; messages leave when
 * they have been handed over, maybe later than that. */
static enum adaps_status take_steps(const struct ad_program *program,
                                    const Adaps__Wire__Trace *trace, struct ad_device_trace *out,
                                    struct adaps_error *err)
{
    int64_t last = 0;
    for (int i = 0; i < program->nsteps; i++) {
        int64_t start = trace->start[i], mark = trace->mark[i], end = trace->end[i];
        int64_t left = trace->left[i];
        if (!within(start, last))
            return wrong(err, i, "starts", start, last);
        if (!within(mark, start))
            return wrong(err, i, "is marked", mark, start);
        if (!within(end, mark))
            return wrong(err, i, "ends", end, mark);
        if (left != -1 && (program->steps[i].kind != AD_STEP_SEND || !within(left, mark)))
            return wrong(err, i, "has left", left, mark);
        out->steps[i] =
            (struct ad_step_times){start, end, mark, left < 0 ? AD_TRACE_UNKNOWN : left};
        last = end;
    }
    if (!within(trace->latency_ns, last))
        return ad_error_set(err, ADAPS_EAGENT,
                            "its trace is impossible: steps until %" PRId64
                            " ns in an inference of %" PRId64 " ns",
                            last, trace->latency_ns);
    out->begin_ns = trace->begin_ns;
    out->end_ns = trace->latency_ns;
    return ADAPS_OK;
}

enum adaps_status ad_trace_take(const struct adaps_plan *plan, int device,
                                const Adaps__Wire__Trace *trace, struct ad_device_trace *out,
                                struct adaps_error *err)
{
    const struct ad_program *program = &plan->schedule.programs[device];
    size_t n = (size_t)program->nsteps;
    if (trace->n_start != n || trace->n_mark != n || trace->n_end != n || trace->n_left != n)
        return ad_error_set(err, ADAPS_EAGENT,
                            "its trace has %zu, %zu, %zu and %zu times for %zu steps",
                            trace->n_start, trace->n_mark, trace->n_end, trace->n_left, n);
    if (trace->begin_ns < 0)
        return ad_error_set(err, ADAPS_EAGENT, "its inference began at %" PRId64 " ns",
                            trace->begin_ns);
    return take_steps(program, trace, out, err);
}

static enum adaps_status fetch(struct ad_session *session, struct ad_remote *remote,
                               struct ad_device_trace *out, struct adaps_error *err)
{
    ProtobufCMessage *body;
    struct ad_deadline deadline;
    ad_deadline_set(&deadline, session->deadline_ns);
    enum adaps_status status =
        ad_remote_send(remote, AD_FRAME_TRACE, session->inference, NULL, NULL, 0, err);
    if (status == ADAPS_OK)
        status = ad_remote_await(remote, AD_FRAME_TRACED, &deadline, AD_WAIT_ANSWER, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_wire_message_body(&remote->message, &adaps__wire__trace__descriptor, &body, err);
    if (status == ADAPS_OK) {
        status = ad_trace_take(session->plan, remote->device, (const Adaps__Wire__Trace *)body, out,
                               err);
        ad_protobuf_free(body);
    }
    return status == ADAPS_OK ? status : ad_remote_blame(remote, err);
}

enum adaps_status ad_trace_align(struct ad_trace *trace, int source, struct adaps_error *err)
{
    int64_t zero;
    const struct ad_device_trace *from = &trace->devices[source];
    if (__builtin_sub_overflow(from->begin_ns, from->offset_ns, &zero))
        return ad_error_set(err, ADAPS_EAGENT, "the source's clock is out of range");
    for (int d = 0; d < trace->ndevices; d++) {
        struct ad_device_trace *device = &trace->devices[d];
        int64_t shift;
        if (device->nsteps == 0)
            continue;
        if (__builtin_sub_overflow(device->begin_ns, device->offset_ns, &shift) ||
            __builtin_sub_overflow(shift, zero, &shift) || shift > LONGEST_NS ||
            shift < -LONGEST_NS)
            return ad_error_set(err, ADAPS_EAGENT, "the clocks of the agents do not go together");
        device->begin_ns = shift;
        device->end_ns += shift;
        for (int i = 0; i < device->nsteps; i++) {
            struct ad_step_times *step = &device->steps[i];
            step->start_ns += shift;
            step->end_ns += shift;
            step->mark_ns += shift;
            if (step->left_ns != AD_TRACE_UNKNOWN)
                step->left_ns += shift;
        }
    }
    return ADAPS_OK;
}

enum adaps_status ad_session_fetch_trace(struct ad_session *session, struct ad_trace *trace,
                                         struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; i < session->nremotes && status == ADAPS_OK; i++) {
        struct ad_remote *remote = &session->remotes[i];
        status = fetch(session, remote, &trace->devices[remote->device], err);
    }
    if (status == ADAPS_OK)
        status = ad_session_clocks(session, trace, true, err);
    if (status == ADAPS_OK)
        status = ad_trace_align(trace, session->plan->cluster.source, err);
    return status;
}
