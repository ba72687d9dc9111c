/* Measured traces: of real agents over loopback, every step in order; of agents that lie. */
#include "support/agents_fixture.h"
#include "base/mem.h"
#include "control/session_internal.h"
#include "support/plan_fixture.h"
#include "report/predict.h"
#include "report/report.h"
#include "support/run_suite.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const struct ad_session_options usual = {.deadline_s = 60};
static struct ad_testbed testbed;

static void start_three(void)
{
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 3, NULL);
}

static void stop_bed(void)
{
    ad_testbed_fini(&testbed);
}

static struct ad_session *open_session(struct adaps_plan **plan)
{
    struct ad_session *session = NULL;
    struct adaps_error err = {0};
    ad_testbed_address(&testbed, plan);
    ad_testbed_push(*plan);
    enum adaps_status status = ad_session_open(*plan, &usual, &session, &err);
    ck_assert_msg(status == ADAPS_OK, "open: %s", err.message);
    return session;
}

static void run_traced(struct ad_session *session, const struct adaps_plan *plan,
                       struct ad_trace *trace, struct ad_run_stats *stats)
{
    struct adaps_error err = {0};
    struct ad_tensor *inputs = ad_testbed_inputs(plan, 1);
    struct ad_tensor *outputs = ad_calloc((size_t)plan->graph->noutputs, sizeof *outputs);
    stats->trace = trace;
    enum adaps_status status = ad_session_run(session, inputs, outputs, stats, &err);
    ck_assert_msg(status == ADAPS_OK, "run: %s", err.message);
    ad_testbed_tensors_free(outputs, plan->graph->noutputs);
    ad_testbed_tensors_free(inputs, plan->graph->ninputs);
}

/* Every step, in order, one after the other, within the inference; nothing is received before it
 * was handed over. The agents have this machine's clock: their offsets are 0. */
static void check_trace(const struct adaps_plan *plan, const struct ad_trace *trace,
                        const struct ad_run_stats *stats)
{
    int64_t sent[4096];
    ck_assert_int_eq(trace->ndevices, plan->cluster.ndevices);
    for (int d = 0; d < trace->ndevices; d++) {
        const struct ad_device_trace *device = &trace->devices[d];
        const struct ad_program *program = &plan->schedule.programs[d];
        ck_assert_int_eq(device->nsteps, program->nsteps);
        if (program->nsteps == 0)
            continue;
        ck_assert_int_gt(device->uncertainty_ns, 0);
        ck_assert_msg(llabs(device->offset_ns) <= device->uncertainty_ns,
                      "device %d: %lld ns off, %lld at most", d, (long long)device->offset_ns,
                      (long long)device->uncertainty_ns);
        int64_t last = device->begin_ns;
        for (int i = 0; i < program->nsteps; i++) {
            const struct ad_step_times *step = &device->steps[i];
            ck_assert_int_ge(step->start_ns, last);
            ck_assert_int_ge(step->end_ns, step->start_ns);
            last = step->end_ns;
            ck_assert(step->mark_ns >= step->start_ns && step->mark_ns <= step->end_ns);
            if (program->steps[i].kind == AD_STEP_SEND) {
                ck_assert(step->left_ns == AD_TRACE_UNKNOWN || step->left_ns >= step->mark_ns);
                ck_assert_uint_lt(program->steps[i].tag, 4096);
                sent[program->steps[i].tag] = step->mark_ns - device->uncertainty_ns;
            } else {
                ck_assert(step->left_ns == AD_TRACE_UNKNOWN);
            }
        }
        ck_assert_int_ge(device->end_ns, last);
    }
    const struct ad_device_trace *source = &trace->devices[plan->cluster.source];
    ck_assert_int_eq(source->begin_ns, 0);
    ck_assert_int_eq(source->end_ns, stats->latency_ns);
    for (int d = 0; d < trace->ndevices; d++)
        for (int i = 0; i < trace->devices[d].nsteps; i++) {
            const struct ad_step *step = &plan->schedule.programs[d].steps[i];
            if (step->kind == AD_STEP_RECV)
                ck_assert_int_gt(trace->devices[d].steps[i].mark_ns +
                                     trace->devices[d].uncertainty_ns,
                                 sent[step->tag]);
        }
}

static json_t *json_of(const struct adaps_plan *plan, const struct ad_trace *trace)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct adaps_error err = {0};
    enum adaps_status status =
        trace ? ad_report_measured_trace(plan, trace, out, &err) : ad_report_trace(plan, out, &err);
    ck_assert_msg(status == ADAPS_OK, "%s", err.message);
    fclose(out);
    json_t *root = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(root);
    free(text);
    return root;
}

static const char *text_of(const json_t *event, const char *key)
{
    return json_string_value(json_object_get(event, key));
}

/* The event of `events` with the same name, lane and kind. */
static const json_t *find_event(const json_t *events, const json_t *wanted)
{
    const json_t *event;
    size_t i;
    json_array_foreach(events, i, event)
    {
        if (json_equal(json_object_get(event, "pid"), json_object_get(wanted, "pid")) &&
            json_equal(json_object_get(event, "tid"), json_object_get(wanted, "tid")) &&
            strcmp(text_of(event, "name"), text_of(wanted, "name")) == 0)
            return event;
    }
    return NULL;
}

/* The predicted trace's computing and messages are in the measured one under the same names, and
 * what stands in one lane does not overlap. */
static void check_json(const struct adaps_plan *plan, const struct ad_trace *trace)
{
    json_t *measured = json_of(plan, trace), *predicted = json_of(plan, NULL);
    const json_t *events = json_object_get(measured, "traceEvents"), *event, *other;
    size_t i, k, clocks = 0;
    json_array_foreach(json_object_get(predicted, "traceEvents"), i, event)
    {
        const char *category = text_of(event, "cat");
        if (category && strcmp(category, "wait") != 0)
            ck_assert_msg(find_event(events, event) != NULL, "no '%s'", text_of(event, "name"));
    }
    json_array_foreach(events, i, event)
    {
        double start = json_number_value(json_object_get(event, "ts"));
        double end = start + json_number_value(json_object_get(event, "dur"));
        if (strcmp(text_of(event, "ph"), "X") != 0)
            continue;
        ck_assert(end >= start);
        json_array_foreach(events, k, other)
        {
            double t = json_number_value(json_object_get(other, "ts"));
            if (k != i && strcmp(text_of(other, "ph"), "X") == 0 && t > start + 0.002 &&
                t < end - 0.002 &&
                json_equal(json_object_get(event, "pid"), json_object_get(other, "pid")) &&
                json_equal(json_object_get(event, "tid"), json_object_get(other, "tid")))
                ck_abort_msg("'%s' and '%s' overlap", text_of(event, "name"),
                             text_of(other, "name"));
        }
    }
    const json_t *head = json_object_get(measured, "otherData");
    ck_assert_str_eq(text_of(head, "times"), "measured");
    json_array_foreach(json_object_get(head, "clocks"), i, event)
    {
        ck_assert(json_number_value(json_object_get(event, "uncertainty_us")) > 0);
        clocks++;
    }
    for (int d = 0; d < plan->cluster.ndevices; d++)
        clocks -= plan->schedule.programs[d].nsteps > 0;
    ck_assert_uint_eq(clocks, 0);
    json_decref(measured);
    json_decref(predicted);
}

START_TEST(every_step_is_there)
{
    struct adaps_plan *plan = _i == 0 ? ad_fixture_banded(3) : ad_testbed_heavy_plan(3, 4, 64, 16);
    struct ad_session *session = open_session(&plan);
    struct adaps_error err;
    for (int k = 0; k < 5; k++) {
        struct ad_trace trace;
        struct ad_run_stats stats = {0};
        ck_assert_int_eq(ad_trace_init(&trace, plan, &err), ADAPS_OK);
        run_traced(session, plan, &trace, &stats);
        check_trace(plan, &trace, &stats);
        check_json(plan, &trace);
        ad_trace_fini(&trace);
        ad_testbed_check_run(session, plan, (uint64_t)k); /* without, and the bits are the same */
    }
    ad_session_close(session);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(only_what_was_asked_for)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    struct ad_session *session = open_session(&plan);
    struct ad_trace trace;
    struct adaps_error err;
    ck_assert_int_eq(ad_trace_init(&trace, plan, &err), ADAPS_OK);
    ck_assert_int_eq(ad_session_fetch_trace(session, &trace, &err), ADAPS_EAGENT);
    ck_assert_ptr_nonnull(strstr(err.message, "not traced"));
    ad_testbed_check_run(session, plan, 1);
    ck_assert_int_eq(ad_session_fetch_trace(session, &trace, &err), ADAPS_EAGENT);
    ck_assert_msg(strstr(err.message, "not traced") && strstr(err.message, "dev0"), "%s",
                  err.message);
    ad_testbed_check_run(session, plan, 2); /* nothing is broken by asking */
    ad_trace_fini(&trace);
    ad_session_close(session);
    adaps_plan_free(plan);
}
END_TEST

/* --- agents that lie --- */

/* A right answer of device 1. */
struct answer {
    Adaps__Wire__Trace body;
    int64_t start[512], mark[512], end[512], left[512];
};

static void make_answer(const struct adaps_plan *plan, struct answer *out)
{
    size_t n = (size_t)plan->schedule.programs[1].nsteps;
    ck_assert_uint_ge(n, 3);
    ck_assert_uint_le(n, 512);
    adaps__wire__trace__init(&out->body);
    out->body.n_start = out->body.n_mark = out->body.n_end = out->body.n_left = n;
    out->body.start = out->start;
    out->body.mark = out->mark;
    out->body.end = out->end;
    out->body.left = out->left;
    out->body.begin_ns = 5000;
    out->body.latency_ns = 1000 * (int64_t)n;
    for (size_t i = 0; i < n; i++) {
        out->start[i] = 1000 * (int64_t)i;
        out->mark[i] = 1000 * (int64_t)i + 300;
        out->end[i] = 1000 * (int64_t)i + 900;
        out->left[i] = -1;
    }
}

static void refused(const struct adaps_plan *plan, const struct answer *answer, const char *word)
{
    struct ad_trace trace;
    struct adaps_error err = {0};
    ck_assert_int_eq(ad_trace_init(&trace, plan, &err), ADAPS_OK);
    ck_assert_int_eq(ad_trace_take(plan, 1, &answer->body, &trace.devices[1], &err), ADAPS_EAGENT);
    ck_assert_msg(strstr(err.message, word), "'%s' does not say '%s'", err.message, word);
    ad_trace_fini(&trace);
}

static int step_of(const struct adaps_plan *plan, enum ad_step_kind kind)
{
    const struct ad_program *program = &plan->schedule.programs[1];
    for (int i = 1; i < program->nsteps; i++)
        if (program->steps[i].kind == kind)
            return i;
    ck_abort_msg("no such step");
    return -1;
}

START_TEST(lies_are_named)
{
    struct adaps_plan *plan = ad_fixture_banded(3);
    struct answer a;
    struct ad_trace trace;
    struct adaps_error err = {0};
    int send = step_of(plan, AD_STEP_SEND), recv = step_of(plan, AD_STEP_RECV);
    int last = plan->schedule.programs[1].nsteps - 1;
    make_answer(plan, &a);
    ck_assert_int_eq(ad_trace_init(&trace, plan, &err), ADAPS_OK);
    ck_assert_int_eq(ad_trace_take(plan, 1, &a.body, &trace.devices[1], &err), ADAPS_OK);
    ck_assert(trace.devices[1].steps[send].left_ns == AD_TRACE_UNKNOWN);
    ck_assert_int_eq(trace.devices[1].steps[recv].end_ns, 1000 * recv + 900);
    a.left[send] = 1000 * send + 4000; /* it may leave long after the step */
    ck_assert_int_eq(ad_trace_take(plan, 1, &a.body, &trace.devices[1], &err), ADAPS_OK);
    ck_assert_int_eq(trace.devices[1].steps[send].left_ns, 1000 * send + 4000);

    /* Clocks that do not go together. */
    trace.devices[1].offset_ns = -INT64_MAX;
    ck_assert_int_eq(ad_trace_align(&trace, 0, &err), ADAPS_EAGENT);
    trace.devices[1].offset_ns = 0;
    trace.devices[0].begin_ns = INT64_MAX;
    trace.devices[0].offset_ns = -10;
    ck_assert_int_eq(ad_trace_align(&trace, 0, &err), ADAPS_EAGENT);
    ad_trace_fini(&trace);

    make_answer(plan, &a);
    a.body.n_mark--;
    refused(plan, &a, "times for");
    make_answer(plan, &a);
    a.body.n_start = a.body.n_mark = a.body.n_end = a.body.n_left = 0;
    refused(plan, &a, "0, 0, 0 and 0 times");
    make_answer(plan, &a);
    a.body.begin_ns = -1;
    refused(plan, &a, "began at -1");
    make_answer(plan, &a);
    a.start[0] = -1;
    refused(plan, &a, "step 0 starts at -1");
    make_answer(plan, &a);
    a.start[2] = a.end[1] - 1;
    refused(plan, &a, "step 2 starts");
    make_answer(plan, &a);
    a.end[1] = a.mark[1] - 1;
    refused(plan, &a, "step 1 ends");
    make_answer(plan, &a);
    a.end[last] = INT64_MAX;
    refused(plan, &a, "ends");
    make_answer(plan, &a);
    a.mark[recv] = a.end[recv] + 1;
    refused(plan, &a, "ends");
    make_answer(plan, &a);
    a.mark[recv] = -1;
    refused(plan, &a, "is marked at -1");
    make_answer(plan, &a);
    a.left[send] = a.mark[send] - 1;
    refused(plan, &a, "has left");
    make_answer(plan, &a);
    a.left[send] = INT64_MAX;
    refused(plan, &a, "has left");
    make_answer(plan, &a);
    a.left[recv] = a.end[recv];
    refused(plan, &a, "has left");
    make_answer(plan, &a);
    a.body.latency_ns = a.end[last] - 1;
    refused(plan, &a, "impossible");
    make_answer(plan, &a);
    a.body.latency_ns = INT64_MAX;
    refused(plan, &a, "impossible");
    adaps_plan_free(plan);
}
END_TEST

/* Whatever the way there takes of the round trip, the true offset is within the uncertainty; the
 * shortest round trip counts. */
START_TEST(offsets)
{
    const int64_t truth = 123456789;
    for (int64_t there = 0; there <= 100; there += 10) {
        struct ad_clock_sample samples[3] = {{1000, 0, 4000}, {5000, 0, 5100}, {6000, 0, 6500}};
        int64_t offset, uncertainty;
        samples[0].clock_ns = truth + 1000;
        samples[1].clock_ns = truth + 5000 + there;
        samples[2].clock_ns = truth + 6500;
        ad_clock_estimate(samples, 3, &offset, &uncertainty);
        ck_assert_int_eq(uncertainty, 50);
        ck_assert_int_le(llabs(offset - truth), uncertainty);
    }
}
END_TEST

/* A trace of a run that went as predicted. */
static void pretend(const struct adaps_plan *plan, struct ad_trace *trace)
{
    ck_assert_int_eq(ad_trace_init(trace, plan, NULL), ADAPS_OK);
    for (int d = 0; d < trace->ndevices; d++)
        for (int i = 0; i < trace->devices[d].nsteps; i++) {
            const struct ad_step *step = &plan->schedule.programs[d].steps[i];
            struct ad_step_times *times = &trace->devices[d].steps[i];
            *times = (struct ad_step_times){step->start_ns, step->end_ns, step->end_ns,
                                            AD_TRACE_UNKNOWN};
            if (step->kind == AD_STEP_SEND)
                times->mark_ns = times->end_ns = step->start_ns;
        }
    trace->devices[plan->cluster.source].end_ns = plan->schedule.makespan_ns;
}

static json_t *prediction(struct ad_predict *predict)
{
    char *text = NULL;
    size_t size = 0;
    struct adaps_error err = {0};
    FILE *out = open_memstream(&text, &size);
    ck_assert_int_eq(ad_report_predict_json(predict, out, &err), ADAPS_OK);
    ck_assert_int_eq(ad_report_predict(predict, out, &err), ADAPS_OK);
    ck_assert_int_eq(ad_report_predict_tsv(predict, out, &err), ADAPS_OK);
    fclose(out);
    json_t *root = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
    ck_assert_ptr_nonnull(root);
    free(text);
    return root;
}

static double error_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(json_object_get(object, key), "error_percent"));
}

/* What went as predicted errs nowhere; one step that takes 7 ms more, in most runs, is named. */
START_TEST(the_step_that_errs)
{
    struct adaps_plan *plan = ad_fixture_banded(3);
    struct ad_predict predict;
    struct ad_trace trace;
    int step = step_of(plan, AD_STEP_COMPUTE);
    const json_t *item;
    size_t i;
    for (int late = 0; late < 2; late++) {
        ck_assert_int_eq(ad_predict_init(&predict, plan, 3, NULL), ADAPS_OK);
        for (int run = 0; run < 3; run++) {
            pretend(plan, &trace);
            if (late && run != 1) {
                trace.devices[1].steps[step].end_ns += 7000000;
                trace.devices[1].steps[step].mark_ns += 7000000;
            }
            ck_assert_int_eq(ad_predict_add(&predict, &trace, NULL), ADAPS_OK);
            ad_trace_fini(&trace);
        }
        json_t *root = prediction(&predict);
        ck_assert(error_of(root, "latency") == 0);
        json_array_foreach(json_object_get(root, "devices"), i, item)
        {
            ck_assert((error_of(item, "busy") != 0) == (late && i == 1));
            ck_assert(error_of(item, "end") == 0);
        }
        ck_assert_uint_gt(json_array_size(json_object_get(root, "links")), 0);
        const json_t *worst = json_array_get(json_object_get(root, "steps"), 0);
        if (late) {
            ck_assert_str_eq(text_of(worst, "device"), plan->cluster.devices[1].name);
            ck_assert_int_eq(json_integer_value(json_object_get(worst, "step")), step);
            ck_assert_int_eq(strncmp(text_of(worst, "what"), "COMPUTE ", 8), 0);
        }
        json_decref(root);
        ad_predict_fini(&predict);
    }
    adaps_plan_free(plan);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace");
    TCase *agents = tcase_create("agents"), *alone = tcase_create("alone");
    tcase_set_timeout(agents, 120);
    tcase_add_checked_fixture(agents, start_three, stop_bed);
    tcase_add_loop_test(agents, every_step_is_there, 0, 2);
    tcase_add_test(agents, only_what_was_asked_for);
    tcase_add_test(alone, lies_are_named);
    tcase_add_test(alone, offsets);
    tcase_add_test(alone, the_step_that_errs);
    suite_add_tcase(suite, agents);
    suite_add_tcase(suite, alone);
    return run_suite(suite);
}
