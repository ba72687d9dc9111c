/* Chrome trace JSON (Perfetto, chrome://tracing): one process per device, with a thread for its
 * program and one for each direction of its link. Times in microseconds. */
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

static bool add_steps(json_t *events, const struct adaps_plan *plan, int device)
{
    const struct ad_program *program = &plan->schedule.programs[device];
    char text[512];
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        bool compute = step->kind == AD_STEP_COMPUTE;
        if (step->kind == AD_STEP_SEND || (!compute && step->end_ns == step->start_ns))
            continue; /* sends are on the links; a receive that did not wait takes no time */
        ad_report_step(plan, device, i, text, sizeof text);
        if (!add(events,
                 event(text, compute ? "compute" : "wait", device, TID_COMPUTE, step->start_ns,
                       step->end_ns, json_pack("{si si}", "step", i, "tasks", step->ntasks))))
            return false;
    }
    return true;
}

static bool add_messages(json_t *events, const struct adaps_plan *plan,
                         const struct ad_messages *messages)
{
    char text[512];
    for (size_t i = 0; i < messages->count; i++) {
        const struct ad_message *m = &messages->items[i];
        for (int direction = 0; direction < 2; direction++) {
            bool up = direction == 0;
            int device = up ? m->from : m->to;
            ad_report_step(plan, device, up ? m->send_step : m->recv_step, text, sizeof text);
            if (!add(events, event(text, "message", device, up ? TID_UPLINK : TID_DOWNLINK,
                                   m->start_ns, m->end_ns,
                                   json_pack("{sI sI}", "bytes", (json_int_t)m->bytes, "tag",
                                             (json_int_t)m->tag))))
                return false;
        }
    }
    return true;
}

enum adaps_status ad_report_trace(const struct adaps_plan *plan, FILE *out, struct adaps_error *err)
{
    struct ad_messages messages;
    enum adaps_status status = ad_messages_init(&messages, plan, err);
    if (status != ADAPS_OK)
        return status;
    json_t *events = json_array();
    bool ok = events != NULL;
    for (int d = 0; d < plan->cluster.ndevices && ok; d++)
        ok = add_names(events, plan, d) && add_steps(events, plan, d);
    ok = ok && add_messages(events, plan, &messages);
    ad_messages_fini(&messages);
    if (!ok) {
        json_decref(events);
        events = NULL;
    }
    json_t *root =
        events ? json_pack("{so ss}", "traceEvents", events, "displayTimeUnit", "ms") : NULL;
    return ad_report_json_print(root, out, err);
}
