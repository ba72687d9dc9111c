/* Chrome trace JSON (Perfetto, chrome://tracing): one process per device, with a thread for its
 * program and one for each direction of its link. Times in microseconds. Predicted and measured
 * have the same shape. */
#include "report/json.h"
#include "report/messages.h"
#include "report/report.h"
#include "report/text.h"

enum { TID_COMPUTE, TID_UPLINK, TID_DOWNLINK, TIDS };

static bool add(json_t *events, json_t *event)
{
    return json_array_append_new(events, event) == 0;
}

static bool add_names(json_t *events, const struct adaps_plan *plan, int device)
{
    static const char *const names[TIDS] = {"compute", "uplink", "downlink"};
    if (!add(events,
             json_pack("{ss ss si s{so}}", "name", "process_name", "ph", "M", "pid", device, "args",
                       "name", ad_report_json_text(plan->cluster.devices[device].name))))
        return false;
    for (int tid = 0; tid < TIDS; tid++)
        if (!add(events, json_pack("{ss ss si si s{ss}}", "name", "thread_name", "ph", "M", "pid",
                                   device, "tid", tid, "args", "name", names[tid])))
            return false;
    return true;
}

/* A complete event. args is taken over. */
static json_t *event(const char *name, const char *category, int pid, int tid, int64_t start_ns,
                     int64_t end_ns, json_t *args)
{
    return json_pack("{so ss ss si si sf sf so}", "name", ad_report_json_text(name), "cat",
                     category, "ph", "X", "pid", pid, "tid", tid, "ts", (double)start_ns / 1e3,
                     "dur", (double)(end_ns - start_ns) / 1e3, "args", args);
}

/* trace NULL: predicted times. */
static bool add_steps(json_t *events, const struct adaps_plan *plan, const struct ad_trace *trace,
                      int device)
{
    const struct ad_program *program = &plan->schedule.programs[device];
    char text[512];
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        bool compute = step->kind == AD_STEP_COMPUTE;
        int64_t start = step->start_ns, end = step->end_ns;
        if (trace) {
            const struct ad_step_times *times = &trace->devices[device].steps[i];
            start = times->start_ns;
            end = compute ? times->end_ns : times->mark_ns;
            start = start > 0 ? start : 0; /* it waited before the inference began */
            end = end > start ? end : start;
        }
        if (step->kind == AD_STEP_SEND || (!compute && end == start))
            continue; /* sends are on the links; a receive that did not wait takes no time */
        ad_report_step(plan, device, i, text, sizeof text);
        if (!add(events, event(text, compute ? "compute" : "wait", device, TID_COMPUTE, start, end,
                               json_pack("{si si}", "step", i, "tasks", step->ntasks))))
            return false;
    }
    return true;
}

static json_t *us(int64_t ns)
{
    return ns == AD_TRACE_UNKNOWN ? json_null() : json_real((double)ns / 1e3);
}

/* handed_us: when the sender's program handed it over, to be sent in its turn. left_us: when the
 * sender's kernel had it. arrival_by_us: when the receiver had it, or asked for it and found it
 * there. */
static json_t *message_args(const struct ad_message *m, const struct ad_trace *trace)
{
    if (!trace)
        return json_pack("{sI sI}", "bytes", (json_int_t)m->bytes, "tag", (json_int_t)m->tag);
    const struct ad_step_times *sent = &trace->devices[m->from].steps[m->send_step];
    const struct ad_step_times *taken = &trace->devices[m->to].steps[m->recv_step];
    return json_pack("{sI sI sb so so so}", "bytes", (json_int_t)m->bytes, "tag",
                     (json_int_t)m->tag, "timed", (int)m->timed, "handed_us", us(sent->mark_ns),
                     "left_us", us(sent->left_ns), "arrival_by_us", us(taken->mark_ns));
}

static bool add_messages(json_t *events, const struct adaps_plan *plan,
                         const struct ad_messages *messages, const struct ad_trace *trace)
{
    char text[512];
    for (size_t i = 0; i < messages->count; i++) {
        const struct ad_message *m = &messages->items[i];
        for (int direction = 0; direction < 2; direction++) {
            bool up = direction == 0;
            int device = up ? m->from : m->to;
            int64_t start = up ? m->start_ns : m->end_ns - m->wire_ns;
            ad_report_step(plan, device, up ? m->send_step : m->recv_step, text, sizeof text);
            if (!add(events, event(text, "message", device, up ? TID_UPLINK : TID_DOWNLINK, start,
                                   start + m->wire_ns, message_args(m, trace))))
                return false;
        }
    }
    return true;
}

/* How each device's clock relates to the source's. */
static json_t *clocks_json(const struct adaps_plan *plan, const struct ad_trace *trace)
{
    json_t *list = json_array();
    for (int d = 0; d < trace->ndevices; d++) {
        const struct ad_device_trace *device = &trace->devices[d];
        if (device->nsteps > 0)
            list = ad_report_json_append(
                list, json_pack("{si so so so so so}", "pid", d, "device",
                                ad_report_json_text(plan->cluster.devices[d].name), "offset_us",
                                us(device->offset_ns), "uncertainty_us", us(device->uncertainty_ns),
                                "begin_us", us(device->begin_ns), "end_us", us(device->end_ns)));
    }
    return list;
}

static json_t *head_json(const struct adaps_plan *plan, const struct ad_trace *trace)
{
    json_t *predicted = ad_report_json_ms(plan->schedule.makespan_ns);
    if (!trace)
        return json_pack("{ss so}", "times", "predicted", "predicted_ms", predicted);
    const struct ad_device_trace *source = &trace->devices[plan->cluster.source];
    return json_pack("{ss so so so}", "times", "measured", "predicted_ms", predicted, "latency_ms",
                     ad_report_json_ms(source->end_ns - source->begin_ns), "clocks",
                     clocks_json(plan, trace));
}

static enum adaps_status print(const struct adaps_plan *plan, const struct ad_trace *trace,
                               FILE *out, struct adaps_error *err)
{
    struct ad_messages messages;
    enum adaps_status status = ad_messages_init(&messages, plan, err);
    if (status != ADAPS_OK)
        return status;
    if (trace)
        status = ad_messages_measure(&messages, plan, trace, err);
    if (status != ADAPS_OK) {
        ad_messages_fini(&messages);
        return status;
    }
    json_t *events = json_array();
    bool ok = events != NULL;
    for (int d = 0; d < plan->cluster.ndevices && ok; d++)
        ok = add_names(events, plan, d) && add_steps(events, plan, trace, d);
    ok = ok && add_messages(events, plan, &messages, trace);
    ad_messages_fini(&messages);
    if (!ok) {
        json_decref(events);
        events = NULL;
    }
    json_t *root = events ? json_pack("{so ss so}", "traceEvents", events, "displayTimeUnit", "ms",
                                      "otherData", head_json(plan, trace))
                          : NULL;
    return ad_report_json_print(root, out, err);
}

enum adaps_status ad_report_trace(const struct adaps_plan *plan, FILE *out, struct adaps_error *err)
{
    return print(plan, NULL, out, err);
}

enum adaps_status ad_report_measured_trace(const struct adaps_plan *plan,
                                           const struct ad_trace *trace, FILE *out,
                                           struct adaps_error *err)
{
    return print(plan, trace, out, err);
}
