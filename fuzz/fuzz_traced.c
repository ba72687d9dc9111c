/* Answers to TRACE: the times that an agent claims for the steps of its program. What is accepted
 * is in order, can be put on the other agents' clock, and becomes a trace and a prediction. */
#include "body.h"
#include "wire_mutate.h"
#include "control/session_internal.h"
#include "report/predict.h"
#include "report/report.h"

#include <jansson.h>
#include <math.h>

/* Three messages there and back, then a task: seven steps on device 0. Made once. */
static const struct adaps_plan *traced_plan(void)
{
    static struct adaps_plan *plan;
    struct adaps_error err = {0};
    struct ad_device a = {.name = "a", .speed = 1, .threads = 1}, b = a;
    struct ad_link link = {1e6, 1e-4};
    struct ad_round_trips trips = {.count = 3, .rows_there = 4, .rows_back = 2};
    b.name[0] = 'b';
    if (!plan)
        FUZZ_CHECK(ad_plan_of_round_trips(&a, &b, &link, &trips, &plan, &err) == ADAPS_OK, "%s",
                   err.message);
    return plan;
}

static void traced_in_order(const struct adaps_plan *plan, const struct ad_device_trace *trace)
{
    int64_t last = 0;
    for (int i = 0; i < trace->nsteps; i++) {
        const struct ad_step_times *t = &trace->steps[i];
        FUZZ_CHECK(t->start_ns >= last && t->mark_ns >= t->start_ns && t->end_ns >= t->mark_ns,
                   "step %d", i);
        FUZZ_CHECK(t->left_ns == AD_TRACE_UNKNOWN ||
                       (t->left_ns >= t->mark_ns &&
                        plan->schedule.programs[0].steps[i].kind == AD_STEP_SEND),
                   "step %d left", i);
        last = t->end_ns;
    }
    FUZZ_CHECK(trace->begin_ns >= 0 && trace->end_ns >= last, "the end");
}

/* Device 1 answers each message a millisecond after it is asked to, by device 0's clock. */
static void traced_partner(const struct ad_trace *trace)
{
    struct ad_device_trace *other = &trace->devices[1];
    other->begin_ns = trace->devices[0].begin_ns;
    for (int i = 0; i < other->nsteps; i++)
        other->steps[i] = (struct ad_step_times){i * 1000000, (i + 1) * 1000000,
                                                 i * 1000000 + 500000, AD_TRACE_UNKNOWN};
    other->end_ns = other->nsteps * 1000000;
}

static void traced_report(const char *name, enum adaps_status status, FILE *out, char **text,
                          bool json)
{
    FUZZ_CHECK(status == ADAPS_OK, "%s", name);
    FUZZ_CHECK(fclose(out) == 0, "%s", name);
    if (json) {
        json_error_t why;
        json_t *root = json_loads(*text, 0, &why);
        FUZZ_CHECK(root, "%s: line %d: %s", name, why.line, why.text);
        json_decref(root);
    } else {
        FUZZ_CHECK(!strstr(*text, "nan") && !strstr(*text, "inf\t") && !strstr(*text, "inf\n"),
                   "%s: %s", name, *text);
    }
    free(*text);
    *text = NULL;
}

static FILE *traced_open(char **text, size_t *size)
{
    FILE *out = open_memstream(text, size);
    FUZZ_CHECK(out, "no memory");
    return out;
}

static void traced_use(const struct adaps_plan *plan, const struct ad_trace *trace)
{
    struct adaps_error err = {0};
    struct ad_predict predict;
    char *text = NULL;
    size_t size;
    FILE *out = traced_open(&text, &size);
    traced_report("trace", ad_report_measured_trace(plan, trace, out, &err), out, &text, true);
    FUZZ_CHECK(ad_predict_init(&predict, plan, 2, &err) == ADAPS_OK, "%s", err.message);
    for (int i = 0; i < 2; i++)
        FUZZ_CHECK(ad_predict_add(&predict, trace, &err) == ADAPS_OK, "%s", err.message);
    out = traced_open(&text, &size);
    traced_report("json", ad_report_predict_json(&predict, out, &err), out, &text, true);
    out = traced_open(&text, &size);
    traced_report("tsv", ad_report_predict_tsv(&predict, out, &err), out, &text, false);
    out = traced_open(&text, &size);
    traced_report("text", ad_report_predict(&predict, out, &err), out, &text, false);
    ad_predict_fini(&predict);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct adaps_plan *plan = traced_plan();
    struct adaps_error err = {0};
    struct ad_trace trace;
    ProtobufCMessage *body =
        body_read(AD_FRAME_TRACED, &adaps__wire__trace__descriptor, data, size);
    if (!body)
        return 0;
    FUZZ_CHECK(ad_trace_init(&trace, plan, &err) == ADAPS_OK, "%s", err.message);
    enum adaps_status status =
        ad_trace_take(plan, 0, (const Adaps__Wire__Trace *)body, &trace.devices[0], &err);
    ad_protobuf_free(body);
    fuzz_check_answer(status, ADAPS_EAGENT, &err);
    if (status == ADAPS_OK) {
        traced_in_order(plan, &trace.devices[0]);
        traced_partner(&trace);
        trace.devices[0].offset_ns = size % 2 ? -1000 : 1000; /* clocks differ */
        status = ad_trace_align(&trace, (int)(size % 2), &err);
        fuzz_check_answer(status, ADAPS_EAGENT, &err);
    }
    if (status == ADAPS_OK) {
        traced_use(plan, &trace);
        fuzz_accepted++;
    }
    ad_trace_fini(&trace);
    return 0;
}

WIRE_MUTATOR(adaps__wire__trace__descriptor, 8)
