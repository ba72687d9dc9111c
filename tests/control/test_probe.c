/* Timing operators: the engine's times on this machine, and PROFILE requests on a real agent, those
 * of strangers too. */
#include "support/agents_fixture.h"
#include "base/clock.h"
#include "exec/agent/profile.h"
#include "control/probe.h"
#include "control/session_internal.h"
#include "support/random_graph.h"
#include "support/run_suite.h"
#include "support/sanitized.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct adaps_error err;

/* Time to measure in, for at least two passes after the first. */
static double budget(double seconds)
{
    return is_emulated() ? 20 * seconds : seconds;
}

/* 3x3 convolutions 32x32x16, pooled, and a dense layer. */
static struct ad_graph *build(int64_t channels)
{
    struct ad_builder b;
    struct ad_graph *graph;
    ad_build_init(&b, 5);
    int64_t features[2] = {1, 16 * 16 * channels};
    int x = ad_build_input(&b, 1, 32, 32, channels);
    for (int i = 0; i < 3; i++)
        x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, channels);
    int64_t dims[4] = {1, channels, 1, 1};
    x = ad_build_binary(&b, AD_OP_MUL, x, ad_build_constant(&b, 4, dims));
    x = ad_build_pool(&b, AD_OP_MAXPOOL, x, ad_window_square(2, 2, 1, 0, 0));
    ad_build_output(&b, ad_build_fc(&b, ad_build_reshape(&b, x, 2, features, true), 10));
    ck_assert_msg(ad_build_finish(&b, &graph, &err) == ADAPS_OK, "%s", err.message);
    ad_graph_drop_weights(graph);
    return graph;
}

/* Every op whole, then the first in bands. */
static int list_tasks(const struct ad_graph *graph, struct ad_task *tasks)
{
    int n = 0;
    for (int i = 0; i < graph->nops; i++)
        tasks[n++] = (struct ad_task){i, ad_region_whole(&graph->values[graph->ops[i].output])};
    for (int32_t rows = 16; rows >= 2; rows /= 2)
        tasks[n++] = (struct ad_task){0, {4, 4 + rows, 0, 32, 0, 16}};
    return n;
}

START_TEST(here)
{
    struct ad_task tasks[32];
    struct ad_graph *graph = build(16);
    struct adaps_plan *plan;
    struct ad_profile_times times;
    int n = list_tasks(graph, tasks);
    ck_assert_int_eq(ad_plan_of_tasks(graph, tasks, n, 1, &plan, &err), ADAPS_OK);
    struct ad_profile_options options = {.speed = 1, .budget_ns = (int64_t)(budget(0.02) * 1e9)};
    ck_assert_msg(ad_profile_run(plan, &options, &times, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_int_ge(times.passes, 2);
    ck_assert_double_eq(times.speed, 1);
    ck_assert_uint_gt(times.bytes, 3 * 9 * 16 * 16 * sizeof(float));
    ck_assert_uint_lt(times.bytes, 2 << 20);
    for (int i = 0; i < n; i++)
        ck_assert_msg(times.seconds[i] > 0 && times.seconds[i] < 1, "task %d", i);
    ck_assert(times.pass_s > 0 && isfinite(times.feed_s) && isfinite(times.fetch_s));
    for (int e = 0; e < AD_ENCODINGS; e++)
        ck_assert_int_eq(times.encoding.encode[e] > 1e6 && times.encoding.decode[e] > 1e6,
                         e > AD_ENCODING_U8);
    ad_profile_times_fini(&times);
    atomic_int cancel = 1;
    options.cancel = &cancel;
    ck_assert_int_eq(ad_profile_run(plan, &options, &times, &err), ADAPS_EAGENT);
    ad_profile_times_fini(&times);
    adaps_plan_free(plan);
}
END_TEST

/* What is read without being computed counts, too, and nothing is taken beyond the limit. */
START_TEST(memory)
{
    const uint64_t value = 32 * 32 * 64 * sizeof(float), weights = 9 * 64 * 64 * sizeof(float);
    struct ad_graph *graph = build(64);
    struct ad_task task = {2, ad_region_whole(&graph->values[graph->ops[2].output])};
    struct adaps_plan *plan;
    struct ad_profile_times times;
    struct ad_profile_options options = {.speed = 1};
    ck_assert_int_eq(graph->ops[2].kind, AD_OP_CONV);
    ck_assert_int_eq(ad_plan_of_tasks(graph, &task, 1, 1, &plan, &err), ADAPS_OK);
    ck_assert_int_eq(ad_profile_run(plan, &options, &times, &err), ADAPS_OK);
    uint64_t bytes = times.bytes;
    ad_profile_times_fini(&times);
    /* input of the network, and room to fill it from; input and output of the op */
    ck_assert_uint_ge(bytes, 4 * value + 2 * weights);
    ck_assert_uint_le(bytes, 5 * value + 3 * weights);
    options.memory = bytes - 1;
    ck_assert_int_eq(ad_profile_run(plan, &options, &times, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, "of memory"), "%s", err.message);
    ad_profile_times_fini(&times);
    options.memory = bytes;
    ck_assert_int_eq(ad_profile_run(plan, &options, &times, &err), ADAPS_OK);
    ad_profile_times_fini(&times);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(no_memory)
{
    struct ad_task tasks[32];
    struct ad_graph *graph = build(16);
    struct adaps_plan *plan = NULL;
    struct ad_profile_times times;
    int count = list_tasks(graph, tasks), n = 0;
    enum adaps_status status = ADAPS_EINTERNAL;
    while (status != ADAPS_OK && ++n < 1000) {
        ad_mem_fail_after(n);
        status = plan ? ADAPS_OK : ad_plan_of_tasks(graph, tasks, count, 1, &plan, &err);
        if (status == ADAPS_OK) {
            struct ad_profile_options options = {.speed = 1};
            status = ad_profile_run(plan, &options, &times, &err);
            ad_profile_times_fini(&times);
        }
        ad_mem_fail_after(0);
    }
    ck_assert_int_eq(status, ADAPS_OK);
    ck_assert_int_gt(n, 10);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(refused_tasks)
{
    static const struct ad_task bad[] = {
        {-1, {0, 32, 0, 32, 0, 16}}, {99, {0, 32, 0, 32, 0, 16}}, {0, {0, 33, 0, 32, 0, 16}},
        {0, {0, 0, 0, 32, 0, 16}},   {0, {-1, 4, 0, 32, 0, 16}},  {0, {3, 4, 5, 6, 0, 16}},
    };
    struct ad_graph *graph = build(16);
    struct adaps_plan *plan;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(ad_plan_of_tasks(graph, &bad[i], 1, 1, &plan, &err), ADAPS_EINPUT);
        ck_assert_ptr_nonnull(strstr(err.message, "task 0"));
    }
    struct ad_task good = {0, {0, 32, 0, 32, 0, 16}};
    ck_assert_int_eq(ad_plan_of_tasks(graph, &good, 0, 1, &plan, &err), ADAPS_EINPUT);
    ck_assert_int_eq(ad_plan_of_tasks(graph, &good, 1, 0, &plan, &err), ADAPS_EINPUT);
    ck_assert_int_eq(ad_plan_of_tasks(graph, &good, 1, 65, &plan, &err), ADAPS_EINPUT);
    ad_graph_free(graph);
}
END_TEST

START_TEST(graph_alone)
{
    struct ad_graph *graph = build(16), *again;
    void *data;
    size_t size;
    ck_assert_int_eq(ad_plan_pack_graph(graph, &data, &size, &err), ADAPS_OK);
    ck_assert_int_eq(ad_plan_unpack_graph_alone(data, size, &again, &err), ADAPS_OK);
    ck_assert_int_eq(again->nops, graph->nops);
    ad_graph_free(again);
    for (size_t cut = 0; cut < size; cut += 7)
        if (ad_plan_unpack_graph_alone(data, cut, &again, &err) == ADAPS_OK)
            ck_abort_msg("%zu of %zu bytes are a graph", cut, size);
    ad_free(data);
    ad_graph_free(graph);
}
END_TEST

/* --- on an agent --- */

static struct ad_testbed testbed;

static struct ad_device device_of_bed(void)
{
    struct ad_device device = {.name = "agent0", .speed = 1, .threads = 1};
    snprintf(device.address, sizeof device.address, "%s", testbed.address[0]);
    return device;
}

static const struct ad_session_options usual = {.deadline_s = 30};

static struct ad_probe *open_probe(struct ad_agent_status *status)
{
    struct ad_probe *probe;
    struct ad_device device = device_of_bed();
    ck_assert_msg(ad_probe_open(&device, &usual, &probe, status, &err) == ADAPS_OK, "%s",
                  err.message);
    return probe;
}

static void times_on_agent(const struct ad_graph *graph, double *seconds, double *speed)
{
    struct ad_task tasks[32];
    struct ad_agent_status status;
    struct ad_probe_times times;
    int n = list_tasks(graph, tasks);
    struct ad_probe *probe = open_probe(&status);
    for (int i = 0; i < 2; i++)
        ck_assert_msg(ad_probe_run(probe, graph, tasks, n, 1, budget(0.5), seconds, &times, &err) ==
                          ADAPS_OK,
                      "%s", err.message);
    ck_assert_int_ge(times.passes, 2);
    ck_assert_msg(ad_probe_run(probe, graph, tasks, n, 1, -1, seconds, &times, &err) == ADAPS_OK,
                  "%s", err.message);
    *speed = times.speed;
    ad_probe_close(probe);
}

START_TEST(on_an_agent)
{
    struct ad_graph *graph = build(64);
    double full[32], slow[32], speed;
    struct ad_agent_options options = {.speed = 0.3, .threads = 1};
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 1, NULL);
    times_on_agent(graph, full, &speed);
    ck_assert_double_eq(speed, 1);
    ad_testbed_fini(&testbed);
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 1, &options);
    /* 0.3. On a busy machine others may take so much time that nothing is left to wait for: not
     * each time. */
    for (int i = 0; i < 20 && (i == 0 || speed >= 0.7); i++)
        times_on_agent(graph, slow, &speed);
    ad_testbed_fini(&testbed);
    ck_assert_msg(speed > 0.03 && speed < 0.7, "%g", speed);
    ad_graph_free(graph);
}
END_TEST

#define LONG_NS ((int64_t)20000000000)

static void connect_to(struct ad_remote *remote, void *context, const struct ad_device *device)
{
    struct ad_keys keys = {.present = false};
    struct ad_remote_options options = {.context = context, .keys = &keys};
    struct ad_deadline deadline;
    Adaps__Wire__Welcome *welcome;
    ad_deadline_set(&deadline, LONG_NS);
    ck_assert_int_eq(ad_remote_init(remote, 0, device, &options, &deadline, &err), ADAPS_OK);
    ck_assert_int_eq(ad_remote_hello(remote, &deadline, &welcome, &err), ADAPS_OK);
    ad_protobuf_free(&welcome->base);
}

static void expect_refusal(struct ad_remote *remote, const Adaps__Wire__Profile *m,
                           const char *says)
{
    struct ad_deadline deadline;
    remote->session = 17;
    ck_assert_int_eq(ad_remote_send(remote, AD_FRAME_PROFILE, 0, &m->base, NULL, 0, &err),
                     ADAPS_OK);
    ad_deadline_set(&deadline, LONG_NS);
    ck_assert_int_ne(ad_remote_await(remote, AD_FRAME_PROFILED, &deadline, AD_WAIT_ANSWER, &err),
                     ADAPS_OK);
    ck_assert_msg(strstr(err.message, says), "'%s' instead of '%s'", err.message, says);
}

START_TEST(hostile_requests)
{
    struct ad_graph *graph = build(16), *huge = build(16);
    struct ad_device device;
    struct ad_remote remote;
    struct ad_deadline deadline;
    Adaps__Wire__Profile m = ADAPS__WIRE__PROFILE__INIT;
    Adaps__Wire__Part part = ADAPS__WIRE__PART__INIT, *list[1] = {&part};
    void *bytes, *many;
    size_t size, many_size;
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 1, NULL);
    device = device_of_bed();
    void *context = zmq_ctx_new();
    connect_to(&remote, context, &device);
    ck_assert_int_eq(ad_plan_pack_graph(graph, &bytes, &size, &err), ADAPS_OK);
    m.graph.data = bytes;
    m.graph.len = size;
    m.threads = 1;
    m.parts = list;
    part.h1 = part.w1 = 32;
    part.c1 = 16;
    expect_refusal(&remote, &m, "0 parts");
    m.n_parts = 1;
    m.budget_ms = 4000000000u;
    expect_refusal(&remote, &m, "to measure: at most");
    m.budget_ms = 10;
    m.threads = 4000000000u;
    expect_refusal(&remote, &m, "65 threads");
    m.threads = 1;
    part.op = -7;
    expect_refusal(&remote, &m, "op -7");
    part.op = 0;
    part.h1 = 1 << 30;
    expect_refusal(&remote, &m, "cannot be computed alone");
    part.h1 = 32;
    m.graph.len = size / 2;
    expect_refusal(&remote, &m, "agent0");
    m.graph.len = 0;
    expect_refusal(&remote, &m, "agent0");
    /* More memory than there is: a dense layer of 6.5 GB of weights. */
    for (int i = 0; i < huge->nops; i++)
        if (huge->ops[i].kind == AD_OP_FC) {
            huge->weights[huge->ops[i].weight].rows = 400000;
            huge->weights[huge->ops[i].bias].rows = 400000;
            huge->values[huge->ops[i].output].box.c = 400000;
            huge->values[huge->ops[i].output].dims[1] = 400000;
            part.op = i;
        }
    ck_assert_int_eq(ad_plan_pack_graph(huge, &many, &many_size, &err), ADAPS_OK);
    m.graph.data = many;
    m.graph.len = many_size;
    part.h1 = part.w1 = 1;
    part.c1 = 400000;
    if ((double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) < 24e9)
        expect_refusal(&remote, &m, "of memory");
    /* It still serves. */
    m.graph.data = bytes;
    m.graph.len = size;
    part = (Adaps__Wire__Part)ADAPS__WIRE__PART__INIT;
    part.h1 = part.w1 = 32;
    part.c1 = 16;
    remote.session = 18;
    ck_assert_int_eq(ad_remote_send(&remote, AD_FRAME_PROFILE, 0, &m.base, NULL, 0, &err),
                     ADAPS_OK);
    ad_deadline_set(&deadline, LONG_NS);
    ck_assert_msg(ad_remote_await(&remote, AD_FRAME_PROFILED, &deadline, AD_WAIT_ANSWER, &err) ==
                      ADAPS_OK,
                  "%s", err.message);
    ad_remote_fini(&remote);
    zmq_ctx_term(context);
    ad_testbed_fini(&testbed);
    ad_free(bytes);
    ad_free(many);
    ad_graph_free(graph);
    ad_graph_free(huge);
}
END_TEST

/* The agent answers a ping that comes after a request with a large graph before it has read that:
 * 20,000 operators, and then a part that is none. */
START_TEST(large_requests_delay_no_ping)
{
    enum { MANY = 20000 };
    struct ad_builder b;
    struct ad_graph *graph;
    struct ad_device device;
    struct ad_remote remote;
    struct ad_deadline deadline;
    Adaps__Wire__Profile m = ADAPS__WIRE__PROFILE__INIT;
    Adaps__Wire__Part part = ADAPS__WIRE__PART__INIT, *list[1] = {&part};
    void *bytes;
    ad_build_init(&b, 5);
    int x = ad_build_input(&b, 1, 1, 1, 1);
    for (int i = 0; i < MANY; i++)
        x = ad_build_function(&b, x, AD_FN_NEG);
    ad_build_output(&b, x);
    ck_assert_msg(ad_build_finish(&b, &graph, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_int_eq(ad_plan_pack_graph(graph, &bytes, &m.graph.len, &err), ADAPS_OK);
    m.graph.data = bytes;
    m.n_parts = 1;
    m.parts = list;
    m.threads = 1;
    m.budget_ms = 10;
    part.op = -7;
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 1, NULL);
    device = device_of_bed();
    void *context = zmq_ctx_new();
    connect_to(&remote, context, &device);
    remote.session = 17;
    ck_assert_int_eq(ad_remote_send(&remote, AD_FRAME_PROFILE, 0, &m.base, NULL, 0, &err),
                     ADAPS_OK);
    ck_assert_int_eq(ad_remote_send(&remote, AD_FRAME_PING, 0, NULL, NULL, 0, &err), ADAPS_OK);
    ad_deadline_set(&deadline, LONG_NS);
    ck_assert_msg(ad_remote_await(&remote, AD_FRAME_PONG, &deadline, AD_WAIT_ANSWER, &err) ==
                      ADAPS_OK,
                  "%s", err.message);
    ck_assert_int_ne(ad_remote_await(&remote, AD_FRAME_PROFILED, &deadline, AD_WAIT_ANSWER, &err),
                     ADAPS_OK);
    ck_assert_msg(strstr(err.message, "op -7"), "%s", err.message);
    ad_remote_fini(&remote);
    zmq_ctx_term(context);
    ad_testbed_fini(&testbed);
    ad_free(bytes);
    ad_graph_free(graph);
}
END_TEST

/* --- agents that lie --- */

struct answer {
    Adaps__Wire__Profiled body;
    double seconds[3];
};

static void refused(const struct answer *answer, const char *word)
{
    double seconds[3];
    struct ad_probe_times times;
    ck_assert_int_eq(ad_probe_take(&answer->body, 3, seconds, &times, &err), ADAPS_EAGENT);
    ck_assert_msg(strstr(err.message, word), "'%s' does not say '%s'", err.message, word);
}

START_TEST(lies_are_named)
{
    static const size_t reals[] = {
        offsetof(Adaps__Wire__Profiled, pass_s), offsetof(Adaps__Wire__Profiled, speed),
        offsetof(Adaps__Wire__Profiled, feed_s), offsetof(Adaps__Wire__Profiled, fetch_s),
        offsetof(Adaps__Wire__Profiled, spread),
    };
    static const double bad[] = {-1e-9, 1001, NAN, INFINITY, -INFINITY};
    struct answer good = {ADAPS__WIRE__PROFILED__INIT, {1e-3, 0, 2e-3}}, a;
    double seconds[3];
    struct ad_probe_times times;
    good.body.n_seconds = 3;
    good.body.passes = 7;
    good.body.pass_s = 3e-3;
    good.body.speed = 0.5;
    good.body.seconds = good.seconds;
    ck_assert_int_eq(ad_probe_take(&good.body, 3, seconds, &times, &err), ADAPS_OK);
    ck_assert(times.passes == 7 && times.pass_s == 3e-3 && seconds[2] == 2e-3);
    ck_assert(times.encoding.encode[AD_ENCODING_F16] == 0);
    double rates[] = {0, 0, 3e9}, wrong[] = {0, 0, NAN};
    good.body.n_encode = good.body.n_decode = 3;
    good.body.encode = good.body.decode = rates;
    ck_assert_int_eq(ad_probe_take(&good.body, 3, seconds, &times, &err), ADAPS_OK);
    ck_assert(times.encoding.encode[AD_ENCODING_F16] == 3e9);
    good.body.decode = wrong;
    ck_assert_int_eq(ad_probe_take(&good.body, 3, seconds, &times, &err), ADAPS_EAGENT);
    good.body.decode = rates;
    ck_assert_int_eq(ad_probe_take(&good.body, 2, seconds, &times, &err), ADAPS_EAGENT);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        for (size_t k = 0; k < sizeof reals / sizeof *reals; k++) {
            a = good;
            memcpy((char *)&a.body + reals[k], &bad[i], sizeof bad[i]);
            refused(&a, "times that are none");
        }
        a = good;
        a.body.seconds = a.seconds;
        a.seconds[1] = bad[i];
        refused(&a, "task 1 takes");
    }
    a = good;
    a.body.passes = 0;
    refused(&a, "0 passes");
    a.body.passes = 0x80000001u;
    refused(&a, "2147483649 passes");
}
END_TEST

/* No agent writes lines into the devices file that comes of what it says. */
START_TEST(words_of_strangers)
{
    Adaps__Wire__Welcome welcome = ADAPS__WIRE__WELCOME__INIT;
    struct ad_agent_status status;
    char machine[200];
    memset(machine, 'x', sizeof machine);
    machine[sizeof machine - 1] = '\0';
    welcome.name = "a\x7f";
    welcome.version = "\t1";
    welcome.cpu = "Cortex\n[evil]\r\x1b[2J";
    welcome.machine = machine;
    memset(&status, 'x', sizeof status);
    ad_remote_status(&welcome, &status);
    ck_assert_str_eq(status.name, "a?");
    ck_assert_str_eq(status.version, "?1");
    ck_assert_str_eq(status.cpu, "Cortex?[evil]??[2J");
    ck_assert_uint_eq(strlen(status.machine), sizeof status.machine - 1);
    ck_assert_int_eq(status.kernels.nrows, 0); /* an older agent says nothing of them */

    Adaps__Wire__Kernels kernels = ADAPS__WIRE__KERNELS__INIT;
    Adaps__Wire__Kernel row = ADAPS__WIRE__KERNEL__INIT, *rows[1000];
    for (int i = 0; i < 1000; i++)
        rows[i] = &row;
    welcome.kernels = &kernels;
    kernels.processor = machine;
    kernels.xnnpack_why = "\x1b[2J";
    row.work = machine;
    row.kernels = "ad\naps";
    row.floats = 4294967295u;
    row.why = machine;
    kernels.rows = rows;
    kernels.n_rows = 1000;
    ad_remote_status(&welcome, &status);
    ck_assert_int_eq(status.kernels.nrows, AD_KERNEL_ROWS);
    ck_assert_uint_eq(strlen(status.kernels.processor), sizeof status.kernels.processor - 1);
    ck_assert_str_eq(status.kernels.xnnpack_why, "?[2J");
    ck_assert_str_eq(status.kernels.instructions, "");
    for (int i = 0; i < AD_KERNEL_ROWS; i++) {
        const struct ad_kernel_row *got = &status.kernels.rows[i];
        ck_assert_uint_eq(strlen(got->work), sizeof got->work - 1);
        ck_assert_str_eq(got->kernels, "ad?aps");
        ck_assert_int_eq(got->floats, 0);
        ck_assert_uint_eq(strlen(got->why), sizeof machine - 1);
    }
}
END_TEST

/* Messages between agents have times, whatever these are on a busy machine. */
START_TEST(links)
{
    struct ad_cluster three;
    struct ad_link_times times;
    struct ad_message_times messages[3];
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 3, NULL);
    ck_assert_int_eq(ad_cluster_init(&three, 3, &err), ADAPS_OK);
    for (int d = 0; d < 3; d++) {
        three.devices[d] = device_of_bed();
        snprintf(three.devices[d].name, sizeof three.devices[d].name, "agent%d", d);
        snprintf(three.devices[d].address, sizeof three.devices[d].address, "%s",
                 testbed.address[d]);
    }
    const struct ad_device *a = &three.devices[0], *b = &three.devices[1];
    ck_assert_msg(ad_probe_links(a, b, &usual, 0.3, &times, &err) == ADAPS_OK, "%s", err.message);
    ck_assert(times.there.bandwidth > 1e5 && times.back.bandwidth > 1e5);
    ck_assert(isfinite(times.there.bandwidth) && isfinite(times.back.bandwidth));
    ck_assert(times.there.latency > 0 && times.there.latency < 1);
    ck_assert(times.copy[0] > 0 && times.copy[1] > 0);
    for (int i = 0; i < 9; i++)
        three.links[i] = times.there;
    ck_assert_msg(ad_probe_messages(&three, &usual, 0.3, messages, &err) == ADAPS_OK, "%s",
                  err.message);
    for (int d = 0; d < 3; d++) {
        ck_assert(messages[d].message_s > 0 && messages[d].message_s < 0.1);
        ck_assert(messages[d].byte_s >= 0 && messages[d].byte_s < 1e-3);
    }
    ad_testbed_kill(&testbed, 1);
    struct ad_session_options soon = {.deadline_s = 2};
    ck_assert_int_eq(ad_probe_links(a, b, &soon, 0.3, &times, &err), ADAPS_EAGENT);
    ck_assert_msg(strstr(err.message, "agent1"), "%s", err.message);
    ck_assert_int_eq(ad_probe_messages(&three, &soon, 0.3, messages, &err), ADAPS_EAGENT);
    ck_assert_msg(strstr(err.message, "agent1"), "%s", err.message);
    ad_cluster_fini(&three);
    ad_testbed_fini(&testbed);
}
END_TEST

/* One at a time; and who goes away in the midst of it leaves the agent free. */
START_TEST(busy_and_gone)
{
    struct ad_graph *graph = build(64);
    struct ad_device device;
    struct ad_remote first;
    struct ad_task tasks[32];
    struct ad_agent_status status;
    struct ad_probe_times times;
    Adaps__Wire__Profile m = ADAPS__WIRE__PROFILE__INIT;
    Adaps__Wire__Part part = ADAPS__WIRE__PART__INIT, *list[1] = {&part};
    double seconds[32];
    void *bytes;
    int n = list_tasks(graph, tasks);
    ad_testbed_init(&testbed);
    ad_testbed_start(&testbed, 1, NULL);
    device = device_of_bed();
    void *context = zmq_ctx_new();
    connect_to(&first, context, &device);
    ck_assert_int_eq(ad_plan_pack_graph(graph, &bytes, &m.graph.len, &err), ADAPS_OK);
    m.graph.data = bytes;
    m.n_parts = 1;
    m.parts = list;
    m.threads = 1;
    m.budget_ms = 100000;
    part.h1 = part.w1 = 32;
    part.c1 = 64;
    first.session = 19;
    ck_assert_int_eq(ad_remote_send(&first, AD_FRAME_PROFILE, 0, &m.base, NULL, 0, &err), ADAPS_OK);
    do { /* until it is at work */
        ck_assert_int_eq(ad_agent_query(&device, &usual, &status, &err), ADAPS_OK);
    } while (!status.busy);
    struct ad_probe *second = open_probe(&status);
    ck_assert_int_eq(ad_probe_run(second, graph, tasks, n, 1, 0.1, seconds, &times, &err),
                     ADAPS_EAGENT);
    ck_assert_msg(strstr(err.message, "busy"), "%s", err.message);
    ad_remote_fini(&first);
    zmq_ctx_term(context);
    do {
        ck_assert_int_eq(ad_agent_query(&device, &usual, &status, &err), ADAPS_OK);
    } while (status.busy);
    ck_assert_msg(ad_probe_run(second, graph, tasks, n, 1, 0.1, seconds, &times, &err) == ADAPS_OK,
                  "%s", err.message);
    ad_probe_close(second);
    ad_testbed_fini(&testbed);
    ad_free(bytes);
    ad_graph_free(graph);
}
END_TEST

/* 1 MB at 100 MB/s there and 50 MB/s back, copied at 1 GB/s; 1 ms of latency. Told by threads with
 * cores of their own, then by some that have the core back when their message has left. */
START_TEST(what_trips_say)
{
    const double there_s = 0.01, back_s = 0.02, copy_s = 0.001;
    struct ad_trip_times small = {{0.002, 0.002}, {0, 0}}, there = small, both;
    struct ad_link_times t;
    there.wait[0] += there_s;
    there.send[0] += copy_s;
    both = there;
    both.wait[0] += back_s + copy_s;
    both.send[1] += copy_s;
    if (_i == 1) {
        there.send[0] = there_s + copy_s;
        there.wait[0] = small.wait[0];
        both.send[0] = there.send[0];
        both.wait[0] = there.wait[0] + back_s + copy_s;
        both.send[1] = back_s + copy_s;
    }
    ad_probe_link_times(&small, &there, &both, 0, 1e6, &t);
    double unseen = _i == 1 ? copy_s : 0; /* it counts as the link's time */
    ck_assert_double_eq_tol(t.there.bandwidth, 1e6 / (there_s + unseen), 1);
    ck_assert_double_eq_tol(t.back.bandwidth, 1e6 / (back_s + unseen), 1);
    ck_assert_double_eq_tol(t.there.latency, 0.001, 1e-9);
    ck_assert_double_eq_tol(t.back.latency, 0.001, 1e-9);
    for (int i = 0; i < 2; i++)
        if (_i == 0)
            ck_assert_double_eq_tol(t.copy[i], 1e9, 1e3);
        else
            ck_assert_double_gt(t.copy[i], 1e12);
}
END_TEST

/* Times that contradict each other: no direction is ten times the other, nothing is negative. */
START_TEST(noisy_trips)
{
    const struct ad_trip_times small = {{0.002, 0.002}, {0, 0}};
    const struct ad_trip_times there = {{0.012, 0.012}, {0, 0}}, both = {{0.011, 0.011}, {0, 0}};
    struct ad_link_times t;
    ad_probe_link_times(&small, &there, &both, 1e3, 1e6, &t);
    ck_assert_double_eq_tol(t.there.bandwidth, 999e3 / 0.01, 1);
    ck_assert_double_eq_tol(t.back.bandwidth, 999e3 / 0.001, 10);
    ck_assert_double_gt(t.there.latency, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("probe");
    TCase *c = tcase_create("profile");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, here);
    tcase_add_loop_test(c, what_trips_say, 0, 2);
    tcase_add_test(c, noisy_trips);
    tcase_add_test(c, memory);
    tcase_add_test(c, no_memory);
    tcase_add_test(c, refused_tasks);
    tcase_add_test(c, graph_alone);
    tcase_add_test(c, on_an_agent);
    tcase_add_test(c, hostile_requests);
    tcase_add_test(c, large_requests_delay_no_ping);
    tcase_add_test(c, lies_are_named);
    tcase_add_test(c, words_of_strangers);
    tcase_add_test(c, links);
    tcase_add_test(c, busy_and_gone);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
