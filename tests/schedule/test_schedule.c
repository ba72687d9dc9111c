/* Lowering, clocks and the verifier. */
#include "fusion/region.h"
#include "support/random_graph.h"
#include "support/run_suite.h"
#include "support/sanitized.h"
#include "schedule/schedule.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a test is about; tear_down() frees it. */
static struct fixture {
    struct ad_graph *graph;
    struct ad_cluster c;
    struct ad_assignment a;
    struct ad_schedule s;
} f;

static void tear_down(void)
{
    ad_schedule_fini(&f.s);
    ad_assignment_fini(&f.a);
    ad_cluster_fini(&f.c);
    ad_graph_free(f.graph);
    f = (struct fixture){0};
}

/* A cluster with round numbers: 1 GB/s memory, 1 us per op, 100 MB/s links, 10 us latency. */
static void make_cluster(struct ad_cluster *c, int ndevices, double conv_rate)
{
    ck_assert_int_eq(ad_cluster_init(c, ndevices, NULL), ADAPS_OK);
    for (int d = 0; d < ndevices; d++) {
        snprintf(c->devices[d].name, sizeof c->devices[d].name, "dev%d", d);
        for (int k = 0; k < AD_COST_CLASSES; k++)
            c->devices[d].table.rate[k] = conv_rate;
        c->devices[d].table.constant_s = 1e-6;
        c->devices[d].table.memory_bw = 1e9;
    }
    ad_cluster_override_links(c, 1e8, 10e-6);
}

static struct ad_graph *finish(struct ad_builder *b)
{
    struct ad_graph *graph;
    struct adaps_error err = {0};
    ck_assert_msg(ad_build_finish(b, &graph, &err) == ADAPS_OK, "%s", err.message);
    return graph;
}

/* 8x8x4 through `n` convolutions k x k that keep the size. */
static struct ad_graph *chain(int n, int k)
{
    struct ad_builder b;
    ad_build_init(&b, 3);
    int x = ad_build_input(&b, 1, 8, 8, 4);
    for (int i = 0; i < n; i++)
        x = ad_build_conv(&b, x, ad_window_square(k, 1, 1, k / 2, k / 2), 1, 4);
    ad_build_output(&b, x);
    return finish(&b);
}

static struct ad_region rows(int32_t h0, int32_t h1)
{
    return (struct ad_region){h0, h1, 0, 8, 0, 4};
}

/* The graph on so many devices of this rate, every op in bands of rows: cut[d] .. cut[d + 1]. */
static void set_up(struct ad_graph *graph, int ndevices, double conv_rate, const int32_t *cut)
{
    f.graph = graph;
    make_cluster(&f.c, ndevices, conv_rate);
    ck_assert_int_eq(ad_assignment_init(&f.a, graph->nops, ndevices, NULL), ADAPS_OK);
    for (int i = 0; i < graph->nops; i++)
        for (int d = 0; d < ndevices; d++)
            *ad_assigned(&f.a, i, d) = rows(cut[d], cut[d + 1]);
}

/* Builds the schedule, again if there is one. */
static void build(void)
{
    struct adaps_error err = {0};
    ad_schedule_fini(&f.s);
    ck_assert_msg(ad_schedule_build(f.graph, &f.c, &f.a, &f.s, &err) == ADAPS_OK, "%s",
                  err.message);
    ck_assert_msg(ad_schedule_verify(f.graph, &f.s, f.c.source, &err) == ADAPS_OK, "%s",
                  err.message);
}

/* What is wrong with the assignment. */
static struct adaps_error refusal(void)
{
    struct adaps_error err = {0};
    ad_schedule_fini(&f.s);
    ck_assert_int_eq(ad_schedule_build(f.graph, &f.c, &f.a, &f.s, &err), ADAPS_EINTERNAL);
    return err;
}

struct expected_step {
    enum ad_step_kind kind;
    int peer, value_of_op; /* op whose output moves; -1 the input */
    struct ad_region region;
    int64_t start_ns, end_ns;
};

static void expect(int device, const struct expected_step *want, int n)
{
    const struct ad_program *p = &f.s.programs[device];
    ck_assert_int_eq(p->nsteps, n);
    for (int i = 0; i < n; i++) {
        const struct ad_step *s = &p->steps[i];
        ck_assert_msg(s->kind == want[i].kind, "step %d: kind %d", i, s->kind);
        ck_assert_msg(s->start_ns == want[i].start_ns && s->end_ns == want[i].end_ns,
                      "step %d: %ld to %ld", i, (long)s->start_ns, (long)s->end_ns);
        if (s->kind == AD_STEP_COMPUTE) {
            ck_assert_int_eq(s->ntasks, 1);
            ck_assert(ad_region_equal(p->tasks[s->first_task].region, want[i].region));
            continue;
        }
        int value =
            want[i].value_of_op < 0 ? f.graph->inputs[0] : f.graph->ops[want[i].value_of_op].output;
        ck_assert_int_eq(s->peer, want[i].peer);
        ck_assert_int_eq(s->value, value);
        ck_assert_msg(ad_region_equal(s->region, want[i].region), "step %d: rows %d:%d", i,
                      s->region.h0, s->region.h1);
    }
}

/* Two 3x3 convolutions on two devices, the second at half speed. A row is 128 bytes: 128 ns to copy
 * (256 on the slow one), 1280 on the wire, and costs 32 x 36 MACs: 1 us (2 on the slow one). */
START_TEST(clocks_of_a_chain)
{
    set_up(chain(2, 3), 2, 1.152e9, (int32_t[]){0, 4, 8});
    f.c.devices[1].speed = 0.5;
    build();
    const struct expected_step fast[] = {
        {AD_STEP_SEND, 1, -1, rows(3, 8), 640, 7040}, /* 5 rows copied in 640 ns */
        {AD_STEP_COMPUTE, 0, 0, rows(0, 4), 640, 5640},
        {AD_STEP_SEND, 1, 0, rows(3, 4), 7040, 8320}, /* ready at 5768, but the uplink is busy */
        {AD_STEP_RECV, 1, 0, rows(4, 5), 5768, 37576},
        {AD_STEP_COMPUTE, 0, 1, rows(0, 4), 37576, 42576},
        {AD_STEP_RECV, 1, 1, rows(4, 8), 42576, 51440},
    };
    const struct expected_step slow[] = {
        {AD_STEP_RECV, 0, -1, rows(3, 8), 0, 17040},       /* 7040 + latency */
        {AD_STEP_COMPUTE, 0, 0, rows(4, 8), 17040, 26040}, /* 1 us + 4 x 2 us */
        {AD_STEP_SEND, 0, 0, rows(4, 5), 26296, 27576},
        {AD_STEP_RECV, 0, 0, rows(3, 4), 26296, 26296}, /* there since 18320 */
        {AD_STEP_COMPUTE, 0, 1, rows(4, 8), 26296, 35296},
        {AD_STEP_SEND, 0, 1, rows(4, 8), 36320, 41440},
    };
    expect(0, fast, 6);
    expect(1, slow, 6);
    ck_assert_int_eq(f.s.makespan_ns, 51440);
    ck_assert_int_eq(f.s.busy_ns[0], 10000);
    ck_assert_int_eq(f.s.busy_ns[1], 18000);
    ck_assert_int_eq(f.s.messages, 4);
    ck_assert_int_eq(f.s.bytes, (5 + 1 + 1 + 4) * 128);
}
END_TEST

/* The same where a message takes 1 us and 1 ns per byte of the processors, twice that of the slow
 * one: of its sender after it has left, of its receiver unless that waits. */
START_TEST(messages_take_processors)
{
    set_up(chain(2, 3), 2, 1.152e9, (int32_t[]){0, 4, 8});
    f.c.devices[1].speed = 0.5;
    for (int d = 0; d < 2; d++) {
        f.c.devices[d].table.message_s = 1e-6;
        f.c.devices[d].table.message_bw = 1e9;
    }
    build();
    const struct expected_step fast[] = {
        {AD_STEP_SEND, 1, -1, rows(3, 8), 640, 7040},
        {AD_STEP_COMPUTE, 0, 0, rows(0, 4), 2280, 7280},
        {AD_STEP_SEND, 1, 0, rows(3, 4), 7408, 8688},
        {AD_STEP_RECV, 1, 0, rows(4, 5), 9664, 37576}, /* 8536 + 1128: waited longer */
        {AD_STEP_COMPUTE, 0, 1, rows(0, 4), 37576, 42576},
        {AD_STEP_RECV, 1, 1, rows(4, 8), 44088, 55952},
    };
    const struct expected_step slow[] = {
        {AD_STEP_RECV, 0, -1, rows(3, 8), 3280, 17040},
        {AD_STEP_COMPUTE, 0, 0, rows(4, 8), 17040, 26040},
        {AD_STEP_SEND, 0, 0, rows(4, 5), 26296, 27576},
        {AD_STEP_RECV, 0, 0, rows(3, 4), 30808, 30808}, /* 28552 + 2256: there since 18688 */
        {AD_STEP_COMPUTE, 0, 1, rows(4, 8), 30808, 39808},
        {AD_STEP_SEND, 0, 1, rows(4, 8), 40832, 45952},
    };
    expect(0, fast, 6);
    expect(1, slow, 6);
    ck_assert_int_eq(f.s.makespan_ns, 55952);
    ck_assert_int_eq(f.s.busy_ns[1], 18000);
    ck_assert_int_eq(ad_schedule_simulate(f.graph, &f.c, &f.s, NULL), ADAPS_OK);
    ck_assert_int_eq(f.s.makespan_ns, 55952);
}
END_TEST

/* When the source first puts its inputs in and at the end takes the outputs out, everything starts
 * later by the former and ends later by both. */
START_TEST(ends_take_time)
{
    set_up(chain(2, 3), 2, 1.152e9, (int32_t[]){0, 4, 8});
    build();
    int64_t before = f.s.makespan_ns, start = f.s.programs[1].steps[1].start_ns;
    double elements = (double)ad_region_elements(ad_region_whole(&f.graph->values[0]));
    for (int d = 0; d < 2; d++) { /* the source's count */
        f.c.devices[d].table.feed_rate = (d + 1) * elements / 3e-6;
        f.c.devices[d].table.fetch_rate = (d + 1) * elements / 5e-6;
    }
    build();
    ck_assert_int_eq(f.s.programs[0].steps[0].start_ns, 3000 + 640);
    ck_assert_int_eq(f.s.programs[1].steps[1].start_ns, start + 3000);
    ck_assert_int_eq(f.s.makespan_ns, before + 3000 + 5000);
    ck_assert_int_eq(ad_schedule_simulate(f.graph, &f.c, &f.s, NULL), ADAPS_OK);
    ck_assert_int_eq(f.s.makespan_ns, before + 3000 + 5000);
}
END_TEST

/* clocks_of_a_chain where what goes back to the source is binary16: encoding takes 1 ns per byte of
 * float32 (twice that on the slow device), decoding as well, the wire half. */
START_TEST(encodings_take_time)
{
    set_up(chain(2, 3), 2, 1.152e9, (int32_t[]){0, 4, 8});
    f.c.devices[1].speed = 0.5;
    f.c.devices[0].table.encoding.decode[AD_ENCODING_F16] = 1e9;
    f.c.devices[1].table.encoding.encode[AD_ENCODING_F16] = 1e9;
    f.a.encoding[2] = AD_ENCODING_F16;
    build();
    const struct expected_step fast[] = {
        {AD_STEP_SEND, 1, -1, rows(3, 8), 640, 7040},
        {AD_STEP_COMPUTE, 0, 0, rows(0, 4), 640, 5640},
        {AD_STEP_SEND, 1, 0, rows(3, 4), 7040, 8320},
        {AD_STEP_RECV, 1, 0, rows(4, 5), 5768, 37320}, /* there at 37192 */
        {AD_STEP_COMPUTE, 0, 1, rows(0, 4), 37320, 42320},
        {AD_STEP_RECV, 1, 1, rows(4, 8), 42320, 50672},
    };
    const struct expected_step slow[] = {
        {AD_STEP_RECV, 0, -1, rows(3, 8), 0, 17040},
        {AD_STEP_COMPUTE, 0, 0, rows(4, 8), 17040, 26040},
        {AD_STEP_SEND, 0, 0, rows(4, 5), 26552, 27192}, /* copied and encoded in 256 ns each */
        {AD_STEP_RECV, 0, 0, rows(3, 4), 26552, 26552},
        {AD_STEP_COMPUTE, 0, 1, rows(4, 8), 26552, 35552},
        {AD_STEP_SEND, 0, 1, rows(4, 8), 37600, 40160},
    };
    expect(0, fast, 6);
    expect(1, slow, 6);
    ck_assert_int_eq(f.s.makespan_ns, 50672);
    ck_assert_int_eq(f.s.bytes, (5 + 1) * 128 + (1 + 4) * 64);
    ck_assert_int_eq(ad_schedule_simulate(f.graph, &f.c, &f.s, NULL), ADAPS_OK);
    ck_assert_int_eq(f.s.makespan_ns, 50672);
}
END_TEST

/* clocks_of_a_chain with the first convolution early: the row that the other device waits for is
 * computed and sent before the rest. One row alone is bound by memory: 1104 bytes, 1104 ns. */
START_TEST(early_rows_leave_first)
{
    set_up(chain(2, 3), 2, 1.152e9, (int32_t[]){0, 4, 8});
    f.c.devices[1].speed = 0.5;
    f.a.early[0] = f.a.early[1] =
        true; /* the second sends all that it computes: nothing to divide */
    build();
    const struct expected_step fast[] = {
        {AD_STEP_SEND, 1, -1, rows(3, 8), 640, 7040},
        {AD_STEP_COMPUTE, 0, 0, rows(3, 4), 640, 2744},
        {AD_STEP_SEND, 1, 0, rows(3, 4), 7040, 8320},
        {AD_STEP_COMPUTE, 0, 0, rows(0, 3), 2872, 6872},
        {AD_STEP_RECV, 1, 0, rows(4, 5), 6872, 31784},
        {AD_STEP_COMPUTE, 0, 1, rows(0, 4), 31784, 36784},
        {AD_STEP_RECV, 1, 1, rows(4, 8), 36784, 52648},
    };
    const struct expected_step slow[] = {
        {AD_STEP_RECV, 0, -1, rows(3, 8), 0, 17040},
        {AD_STEP_COMPUTE, 0, 0, rows(4, 5), 17040, 20248},
        {AD_STEP_SEND, 0, 0, rows(4, 5), 20504, 21784},
        {AD_STEP_COMPUTE, 0, 0, rows(5, 8), 20504, 27504},
        {AD_STEP_RECV, 0, 0, rows(3, 4), 27504, 27504},
        {AD_STEP_COMPUTE, 0, 1, rows(4, 8), 27504, 36504},
        {AD_STEP_SEND, 0, 1, rows(4, 8), 37528, 42648},
    };
    expect(0, fast, 7);
    expect(1, slow, 7);
    ck_assert_int_eq(f.s.makespan_ns, 52648);
    ck_assert_int_eq(f.s.busy_ns[0], 11104);
    ck_assert_int_eq(f.s.busy_ns[1], 19208);
    ck_assert_int_eq(f.s.bytes, (5 + 1 + 1 + 4) * 128);
}
END_TEST

/* Two convolutions, all on the device that is not the source, in two chunks: what the upper half of
 * the output takes of both, and its message, come before the rest, and the answer comes sooner. */
START_TEST(chunks_leave_one_by_one)
{
    const struct ad_task tasks[] = {
        {0, rows(0, 5)}, {1, rows(0, 4)}, {0, rows(5, 8)}, {1, rows(4, 8)}};
    int64_t makespan[2];
    set_up(chain(2, 3), 2, 1.152e9, (int32_t[]){0, 0, 8});
    f.a.order = AD_ORDER_PIECES;
    f.a.early[1] = true;
    for (int chunks = 1; chunks <= 2; chunks++) {
        f.a.band_chunks = chunks;
        build();
        const struct ad_program *p = &f.s.programs[1];
        ck_assert_int_eq(p->ntasks, 2 * chunks);
        ck_assert_int_eq(f.s.messages, 1 + chunks);
        for (int t = 0; chunks == 2 && t < 4; t++) {
            ck_assert_int_eq(p->tasks[t].op, tasks[t].op);
            ck_assert(ad_region_equal(p->tasks[t].region, tasks[t].region));
        }
        const struct ad_step *second = &p->steps[p->nsteps - 1];
        ck_assert(second->kind == AD_STEP_SEND);
        ck_assert(ad_region_equal(second->region, chunks == 2 ? rows(4, 8) : rows(0, 8)));
        makespan[chunks - 1] = f.s.makespan_ns;
    }
    ck_assert_int_lt(makespan[1], makespan[0]);
    f.a.band_chunks = AD_MAX_CHUNKS + 1;
    ck_assert_ptr_nonnull(strstr(refusal().message, "chunks"));
}
END_TEST

/* A residual block on three devices, of which the one in the middle has a boundary on either side:
 * each part of its addition comes right after the part of the convolution that it adds to. */
START_TEST(additions_follow_convolutions)
{
    struct ad_builder b;
    ad_build_init(&b, 3);
    int x = ad_build_input(&b, 1, 8, 8, 4);
    int y = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 4);
    y = ad_build_binary(&b, AD_OP_ADD, y, x);
    ad_build_output(&b, ad_build_conv(&b, y, ad_window_square(3, 1, 1, 1, 1), 1, 4));
    set_up(finish(&b), 3, 1.152e9, (int32_t[]){0, 1, 7, 8});
    f.a.order = AD_ORDER_PIECES;
    f.a.early[1] = true;
    build();
    const struct ad_program *p = &f.s.programs[1];
    int additions = 0;
    for (int t = 0; t < p->ntasks; t++) {
        if (p->tasks[t].op != 1)
            continue;
        additions++;
        ck_assert_int_gt(t, 0);
        ck_assert_int_eq(p->tasks[t - 1].op, 0);
        ck_assert(ad_region_equal(p->tasks[t - 1].region, p->tasks[t].region));
    }
    ck_assert_int_eq(additions, 3);
}
END_TEST

/* With AD_ORDER_CORES the rows of the second convolution that need nothing from the other device
 * come before the RECV, only the last one after it; without early ops all of them after. */
START_TEST(cores_go_first)
{
    set_up(chain(2, 3), 2, 1.152e9, (int32_t[]){0, 4, 8});
    f.a.order = AD_ORDER_CORES;
    for (int early = 0; early < 2; early++) {
        f.a.early[0] = early;
        build();
        const struct ad_program *p = &f.s.programs[0];
        int before = 0, behind = 0;
        bool received = false;
        for (int i = 0; i < p->nsteps; i++) {
            received = received || (p->steps[i].kind == AD_STEP_RECV &&
                                    p->steps[i].value == f.graph->ops[0].output);
            for (int t = p->steps[i].first_task; p->steps[i].kind == AD_STEP_COMPUTE &&
                                                 t < p->steps[i].first_task + p->steps[i].ntasks;
                 t++)
                if (p->tasks[t].op == 1)
                    *(received ? &behind : &before) +=
                        p->tasks[t].region.h1 - p->tasks[t].region.h0;
        }
        ck_assert_int_eq(before, early ? 3 : 0);
        ck_assert_int_eq(behind, early ? 1 : 4);
    }
}
END_TEST

/* A 1x1 convolution on three devices: both pieces of the input queue on the source's uplink, both
 * results on its downlink. A row costs 1 us, 128 bytes. */
START_TEST(ports_are_fifo)
{
    set_up(chain(1, 1), 3, 0.128e9, (int32_t[]){0, 2, 5, 8});
    f.c.links[0 * 3 + 2].latency = 7e-6;
    build();
    const struct expected_step source[] = {
        {AD_STEP_SEND, 1, -1, rows(2, 5), 384, 4224},
        {AD_STEP_SEND, 2, -1, rows(5, 8), 4224, 8064}, /* ready at 768 */
        {AD_STEP_COMPUTE, 0, 0, rows(0, 2), 768, 3768},
        {AD_STEP_RECV, 1, 0, rows(2, 5), 3768, 32448},
        {AD_STEP_RECV, 2, 0, rows(5, 8), 32448, 36288},
    };
    const struct expected_step first[] = {
        {AD_STEP_RECV, 0, -1, rows(2, 5), 0, 14224},
        {AD_STEP_COMPUTE, 0, 0, rows(2, 5), 14224, 18224},
        {AD_STEP_SEND, 0, 0, rows(2, 5), 18608, 22448},
    };
    const struct expected_step second[] = {
        {AD_STEP_RECV, 0, -1, rows(5, 8), 0, 15064},
        {AD_STEP_COMPUTE, 0, 0, rows(5, 8), 15064, 19064},
        {AD_STEP_SEND, 0, 0, rows(5, 8), 19448, 26288}, /* the downlink is busy up to 22448 */
    };
    expect(0, source, 5);
    expect(1, first, 3);
    expect(2, second, 3);
    ck_assert_int_eq(f.s.makespan_ns, 36288);
}
END_TEST

/* A message that waits for its receiver's port does not keep its sender from sending to others,
 * unless the medium is shared. Two send 8 rows to the source at the same time, and one of them
 * another row. */
START_TEST(switches_have_queues)
{
    static const int64_t leaves[2] = {11264, 21504},
                         there[2][3] = {{21264, 31504, 22544}, {21264, 31504, 32784}};
    struct ad_step steps[3][2] = {
        {{AD_STEP_RECV, .peer = 1, .tag = 1, .region = rows(0, 8)},
         {AD_STEP_RECV, .peer = 2, .tag = 2, .region = rows(0, 8)}},
        {{AD_STEP_SEND, .peer = 0, .tag = 1, .region = rows(0, 8)},
         {AD_STEP_RECV, .peer = 2, .tag = 3, .region = rows(0, 1)}},
        {{AD_STEP_SEND, .peer = 0, .tag = 2, .region = rows(0, 8)},
         {AD_STEP_SEND, .peer = 1, .tag = 3, .region = rows(0, 1)}},
    };
    struct ad_program programs[3] = {{.nsteps = 2}, {.nsteps = 2}, {.nsteps = 2}};
    int64_t busy[3];
    struct ad_schedule s = {.programs = programs, .ndevices = 3, .busy_ns = busy};
    f.graph = chain(1, 1);
    make_cluster(&f.c, 3, 1e9);
    f.c.shared_medium = _i == 1;
    for (int d = 0; d < 3; d++) {
        programs[d].steps = steps[d];
        for (int i = 0; i < 2; i++)
            steps[d][i].value = f.graph->inputs[0];
    }
    ck_assert_int_eq(ad_schedule_simulate(f.graph, &f.c, &s, NULL), ADAPS_OK);
    ck_assert_int_eq(steps[1][0].start_ns, 1024);
    ck_assert_int_eq(steps[1][0].end_ns, 11264);
    ck_assert_int_eq(steps[2][0].start_ns, _i == 0 ? 1024 : 11264);
    ck_assert_int_eq(steps[2][0].end_ns, 21504);
    ck_assert_int_eq(steps[2][1].start_ns, leaves[_i]);
    ck_assert_int_eq(steps[2][1].end_ns, leaves[_i] + 1280);
    ck_assert_int_eq(steps[0][0].end_ns, there[_i][0]);
    ck_assert_int_eq(steps[0][1].end_ns, there[_i][1]);
    ck_assert_int_eq(steps[1][1].end_ns, there[_i][2]);
}
END_TEST

/* What nobody reads is not computed: every device is assigned everything, and the source needs
 * nobody. */
START_TEST(unread_work_is_pruned)
{
    f.graph = chain(3, 3);
    make_cluster(&f.c, 3, 1e9);
    ck_assert_int_eq(ad_assignment_init(&f.a, 3, 3, NULL), ADAPS_OK);
    for (int i = 0; i < 9; i++)
        f.a.region[i] = rows(0, 8);
    build();
    ck_assert_int_eq(f.s.programs[0].nsteps, 1);
    ck_assert_int_eq(f.s.programs[0].steps[0].ntasks, 3);
    ck_assert_int_eq(f.s.programs[1].nsteps + f.s.programs[2].nsteps, 0);
    ck_assert_int_eq(f.s.messages, 0);
    ck_assert_int_eq(f.s.memory[1], 0);
    /* The last op is split: the first two shrink to what the halves read. */
    *ad_assigned(&f.a, 2, 0) = rows(0, 4);
    *ad_assigned(&f.a, 2, 1) = rows(4, 8);
    *ad_assigned(&f.a, 2, 2) = rows(0, 0);
    build();
    ck_assert(ad_region_equal(f.s.programs[0].tasks[1].region, rows(0, 5)));
    ck_assert(ad_region_equal(f.s.programs[0].tasks[0].region, rows(0, 6)));
    ck_assert(ad_region_equal(f.s.programs[1].tasks[1].region, rows(3, 8)));
    ck_assert(ad_region_equal(f.s.programs[1].tasks[0].region, rows(2, 8)));
    ck_assert_int_eq(f.s.messages, 2); /* input rows 1 to 8 there, the result back */
    ck_assert_int_eq(f.s.bytes, (7 + 4) * 128);
}
END_TEST

/* A value read by two ops is fetched once, and from the holder of the largest part. */
START_TEST(one_message_per_holder)
{
    struct ad_builder b;
    ad_build_init(&b, 5);
    int x = ad_build_input(&b, 1, 8, 8, 4);
    int y = ad_build_conv(&b, x, ad_window_square(1, 1, 1, 0, 0), 1, 4);
    int u = ad_build_conv(&b, y, ad_window_square(3, 1, 1, 1, 1), 1, 4);
    int v = ad_build_conv(&b, y, ad_window_square(5, 1, 1, 2, 2), 1, 4);
    ad_build_output(&b, ad_build_binary(&b, AD_OP_ADD, u, v));
    set_up(finish(&b), 3, 1e9, (int32_t[]){0, 8, 8, 8});
    /* y: rows 0-5 on dev1, 3-8 on dev2 (rows 3, 4 on both); the rest on the source. */
    *ad_assigned(&f.a, 0, 0) = rows(0, 0);
    *ad_assigned(&f.a, 0, 1) = rows(0, 5);
    *ad_assigned(&f.a, 0, 2) = rows(3, 8);
    build();
    ck_assert_int_eq(f.s.messages, 4);
    ck_assert_int_eq(f.s.bytes, (5 + 3 + 8) * 128); /* input and y: 5 rows and 3, rows 3, 4 once */
    /* Both holders have five rows of it: the lower index gives all it has. */
    ck_assert(ad_region_equal(f.s.programs[2].tasks[0].region, rows(5, 8)));
}
END_TEST

/* Row 3 is read by nobody (stride 2) and computed by nobody, but lies in the hull of what two
 * readers on one device want. */
START_TEST(gaps_nobody_reads)
{
    struct ad_builder b;
    ad_build_init(&b, 6);
    int x = ad_build_input(&b, 1, 8, 8, 4);
    int y = ad_build_conv(&b, x, ad_window_square(1, 1, 1, 0, 0), 1, 4);
    int u = ad_build_conv(&b, y, ad_window_square(1, 2, 1, 0, 0), 1, 4);
    int v = ad_build_conv(&b, y, ad_window_square(1, 2, 1, 0, 0), 1, 4);
    ad_build_output(&b, ad_build_binary(&b, AD_OP_ADD, u, v));
    f.graph = finish(&b);
    make_cluster(&f.c, 3, 1e9);
    ck_assert_int_eq(ad_assignment_init(&f.a, 4, 3, NULL), ADAPS_OK);
    *ad_assigned(&f.a, 0, 1) = (struct ad_region){4, 7, 0, 8, 0, 4};
    *ad_assigned(&f.a, 0, 2) = (struct ad_region){0, 3, 0, 8, 0, 4};
    *ad_assigned(&f.a, 1, 0) = *ad_assigned(&f.a, 2, 1) = (struct ad_region){0, 2, 0, 4, 0, 4};
    *ad_assigned(&f.a, 1, 1) = *ad_assigned(&f.a, 2, 0) = (struct ad_region){2, 4, 0, 4, 0, 4};
    *ad_assigned(&f.a, 3, 0) = (struct ad_region){0, 4, 0, 4, 0, 4};
    build();
    /* Input 4:7 and 0:3; y 0:3 and 4:7 to dev0, 0:3 to dev1; u and v back. The last column of y is
     * read by nobody either: 7 of 8 pixels in a row. */
    ck_assert_int_eq(f.s.messages, 7);
    ck_assert_int_eq(f.s.bytes, 16 * (5 * 3 * 7 + 2 * 2 * 4));
    /* Row 2 is read: its absence is an error. */
    *ad_assigned(&f.a, 0, 2) = (struct ad_region){0, 2, 0, 8, 0, 4};
    ck_assert_ptr_nonnull(strstr(refusal().message, "no device computes"));
}
END_TEST

/* Weights once, and the widest moment of the buffers. */
START_TEST(memory_of_a_chain)
{
    int64_t weights = 0;
    set_up(chain(3, 3), 1, 1e9, (int32_t[]){0, 8});
    build();
    for (int w = 0; w < f.graph->nweights; w++)
        weights += 4 * f.graph->weights[w].rows * f.graph->weights[w].row_elements;
    ck_assert_int_gt(weights, 0);
    /* an input and an output of 8x8x4 floats */
    ck_assert_int_eq(f.s.memory[0], weights + 2 * 1024);
}
END_TEST

START_TEST(bad_assignments)
{
    struct adaps_error err;
    set_up(chain(2, 3), 2, 1e9, (int32_t[]){0, 4, 8});
    *ad_assigned(&f.a, 0, 1) = rows(5, 8); /* row 4 of the first op is missing */
    err = refusal();
    ck_assert_msg(strstr(err.message, "4:5") && strstr(err.message, "no device computes"), "%s",
                  err.message);
    *ad_assigned(&f.a, 0, 1) = rows(4, 9);
    err = refusal();
    ck_assert_msg(strstr(err.message, "dev1 may not compute"), "%s", err.message);
    f.a.ndevices = 1;
    refusal();
}
END_TEST

/* --- random graphs, random assignments --- */

static struct ad_region random_slab(struct ad_rng *rng, const struct ad_value *v, int dim,
                                    int32_t lo, int32_t hi)
{
    struct ad_region r = ad_region_whole(v);
    int32_t *bound = dim == 0 ? &r.h0 : dim == 1 ? &r.w0 : &r.c0;
    int32_t size = bound[1];
    if (lo < hi && ad_rng_below(rng, 3) == 0) { /* overlap */
        lo -= (int32_t)ad_rng_below(rng, 3);
        hi += (int32_t)ad_rng_below(rng, 3);
    }
    bound[0] = lo < 0 ? 0 : lo;
    bound[1] = hi > size ? size : hi;
    return ad_region_empty(r) ? ad_region_none() : r;
}

/* Whole on one device, on some, or in bands along h, w or c. */
static void random_assignment(struct ad_rng *rng, const struct ad_graph *graph, int n,
                              struct ad_assignment *a)
{
    ck_assert_int_eq(ad_assignment_init(a, graph->nops, n, NULL), ADAPS_OK);
    for (int i = 0; i < graph->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        const struct ad_value *v = &graph->values[op->output];
        int form = (int)ad_rng_below(rng, 5);
        a->early[i] = ad_rng_below(rng, 2) == 0;
        int64_t sizes[3] = {v->box.h, v->box.w, v->box.c};
        int32_t at = 0, size = form < 3 ? (int32_t)sizes[form] : 0;
        uint32_t who = ad_rng_below(rng, (uint32_t)n);
        for (int d = 0; d < n; d++) {
            struct ad_region r = ad_region_none();
            if (form >= 3 && ((uint32_t)d == who || (form == 4 && ad_rng_below(rng, 2))))
                r = ad_region_whole(v);
            if (form < 3) {
                int32_t to =
                    d == n - 1 ? size : at + (int32_t)ad_rng_below(rng, (uint32_t)(size - at) + 1);
                r = random_slab(rng, v, form, at, to);
                at = to;
            }
            *ad_assigned(a, i, d) = ad_region_allow(graph, op, r);
        }
    }
}

static void random_cluster(struct ad_rng *rng, struct ad_cluster *c, int n)
{
    make_cluster(c, n, 1e9);
    for (int d = 0; d < n; d++) {
        c->devices[d].speed = 0.1 + ad_rng_below(rng, 30) / 10.0;
        c->devices[d].table.message_s = 1e-6 * ad_rng_below(rng, 20);
        c->devices[d].table.message_bw = 1e6 * ad_rng_below(rng, 1000);
        c->devices[d].table.feed_rate = 1e5 * ad_rng_below(rng, 1000);
        c->devices[d].table.fetch_rate = 1e5 * ad_rng_below(rng, 1000);
    }
    for (int i = 0; i < n * n; i++)
        c->links[i] =
            (struct ad_link){1e5 * (1 + ad_rng_below(rng, 1000)), 1e-6 * ad_rng_below(rng, 500)};
    c->devices[0].source = false;
    c->source = (int)ad_rng_below(rng, (uint32_t)n);
    c->devices[c->source].source = true;
}

static struct ad_graph *random_graph(uint64_t seed)
{
    struct ad_random_graph_options options = {.ops = 4 + (int)(seed % 14),
                                              .batch = seed % 5 == 0 ? 2 : 1,
                                              .outputs = seed % 3 == 0,
                                              .wild = seed % 7 == 0,
                                              .chain = seed % 11 == 0};
    struct ad_graph *graph;
    struct adaps_error err = {0};
    ck_assert_msg(ad_random_graph(seed, &options, &graph, &err) == ADAPS_OK, "%s", err.message);
    return graph;
}

static void check_totals(const struct ad_graph *graph, const struct ad_cluster *c,
                         const struct ad_schedule *s)
{
    int64_t bytes = 0, messages = 0, last = 0;
    for (int d = 0; d < s->ndevices; d++) {
        int64_t clock = 0;
        for (int i = 0; i < s->programs[d].nsteps; i++) {
            const struct ad_step *step = &s->programs[d].steps[i];
            ck_assert(step->start_ns >= 0 && step->end_ns >= step->start_ns);
            if (step->kind == AD_STEP_SEND) {
                int64_t n = graph->values[step->value].box.n * ad_region_elements(step->region);
                bytes += step->encoding == AD_ENCODING_F32   ? 4 * n
                         : step->encoding == AD_ENCODING_F16 ? 2 * n
                                                             : n / 64 * 96 + n % 64 * 2;
                messages++;
                continue;
            }
            ck_assert_int_ge(step->start_ns, clock);
            clock = step->end_ns;
        }
        ck_assert_int_le(s->busy_ns[d], clock);
        last = clock > last ? clock : last;
    }
    ck_assert_int_eq(bytes, s->bytes);
    ck_assert_int_eq(messages, s->messages);
    double fetch_ns = ad_cost_fetch_seconds(graph, &c->devices[c->source]) * 1e9;
    ck_assert_int_le(s->makespan_ns, last + llround(fetch_ns));
}

START_TEST(random_schedules)
{
    for (int k = 0; k < 6; k++) {
        struct ad_rng rng = {(uint64_t)_i * 100 + (uint64_t)k};
        int n = 1 + (int)ad_rng_below(&rng, 6);
        f.graph = random_graph((uint64_t)_i);
        random_cluster(&rng, &f.c, n);
        random_assignment(&rng, f.graph, n, &f.a);
        for (int i = 0; i < n * n; i++)
            f.a.encoding[i] = ad_rng_below(&rng, 2)   ? AD_ENCODING_F32
                              : ad_rng_below(&rng, 2) ? AD_ENCODING_F16
                                                      : AD_ENCODING_ZFP;
        build();
        check_totals(f.graph, &f.c, &f.s);
        int64_t makespan = f.s.makespan_ns;
        ck_assert_int_eq(ad_schedule_simulate(f.graph, &f.c, &f.s, NULL), ADAPS_OK);
        ck_assert_int_eq(makespan, f.s.makespan_ns);
        tear_down();
    }
}
END_TEST

/* --- the verifier --- */

/* The programs of clocks_of_a_chain: 6 steps on each of two devices. */
static void two_devices(void)
{
    set_up(chain(2, 3), 2, 1e9, (int32_t[]){0, 4, 8});
    build();
}

static struct ad_step *step_of(int device, int step)
{
    return &f.s.programs[device].steps[step];
}

static void swap(int device, int i, int k)
{
    struct ad_step old = *step_of(device, i);
    *step_of(device, i) = *step_of(device, k);
    *step_of(device, k) = old;
}

/* clang-format off */
static void mutate(int which)
{
    struct ad_program *p0 = &f.s.programs[0], *p1 = &f.s.programs[1];
    struct ad_step *send = step_of(0, 0), *compute = step_of(0, 1);
    switch (which) {
    case 0: send->region.h0 = 4; break;
    case 1: send->tag = 0; break;
    case 2: send->tag = 99; break;
    case 3: send->tag = step_of(0, 2)->tag; break;
    case 4: send->peer = 0; break;
    case 5: send->peer = 2; break;
    case 6: send->peer = -1; break;
    case 7: send->value = f.graph->nvalues; break;
    case 8: send->value = -1; break;
    case 9: send->region.h1 = 9; break;
    case 10: send->region = (struct ad_region){INT32_MIN, INT32_MAX, 0, 8, 0, 4}; break;
    case 11: send->region = ad_region_none(); break;
    case 12: p0->tasks[0].op = 2; break;
    case 13: p0->tasks[0].op = -1; break;
    case 14: p0->tasks[0].region.h1 = 100; break;
    case 15: p0->tasks[0].region.h1 = 0; break;
    case 16: compute->ntasks = 3; break;
    case 17: compute->ntasks = 0; break;
    case 18: compute->ntasks = INT32_MAX; break;
    case 19: compute->first_task = 1; break;
    case 20: compute->first_task = -1; break;
    case 21: p0->ntasks = 1; break;
    case 22: compute->kind = (enum ad_step_kind)99; break;
    case 23: swap(1, 0, 1); break;       /* computes before its input is there */
    case 24: swap(0, 3, 4); break;       /* computes before the halo */
    case 25: p1->nsteps = 5; break;         /* never sends its result */
    case 26: p1->nsteps = 5, p0->nsteps = 5; break;
    case 27: swap(0, 2, 3); swap(1, 2, 3); break; /* both wait before they send */
    case 28: swap(1, 0, 3); break;       /* receives in another order */
    case 29: p0->nsteps = -1; break;
    case 30: f.s.ndevices = 0; break;
    case 31: f.s.ndevices = 65; break;
    case 32: send->region.c1 = 3, step_of(1, 0)->region.c1 = 3; break;
    case 33: swap(0, 1, 2); break;       /* sends before it computed */
    case 34: step_of(1, 0)->peer = 1; break;
    case 35: step_of(1, 0)->value = f.graph->ops[0].output; break;
    case 36: p0->ntasks = 0; break;
    case 37: send->encoding = AD_ENCODING_U8; break;
    case 38: send->encoding = (enum ad_encoding)9; break;
    }
}
/* clang-format on */

static const char *const says[] = {
    "device 0, step 0 (SEND): tag 1 sends another region, value or encoding",
    "device 0, step 0 (SEND): tag 0; 1 to 4 are wanted",
    "device 0, step 0 (SEND): tag 99; 1 to 4 are wanted",
    "device 0, step 2 (SEND): tag 3 was used before",
    "device 0, step 0 (SEND): peer 0; another device",
    "device 0, step 0 (SEND): peer 2; another device",
    "device 0, step 0 (SEND): peer -1; another device",
    "device 0, step 0 (SEND): value ",
    "device 0, step 0 (SEND): value -1; a computed or fed one",
    "device 0, step 0 (SEND): 3:9 of ",
    "device 0, step 0 (SEND): -2147483648:2147483647 of ",
    "device 0, step 0 (SEND): none of ",
    "device 0, step 1 (COMPUTE): task 0: op 2; there are 2",
    "device 0, step 1 (COMPUTE): task 0: op -1; there are 2",
    "device 0, step 1 (COMPUTE): task 0: ",
    "may not be computed on none",
    "device 0, step 1 (COMPUTE): tasks 0 + 3, but task 0 of 2",
    "device 0, step 1 (COMPUTE): tasks 0 + 0",
    "device 0, step 1 (COMPUTE): tasks 0 + 2147483647",
    "device 0, step 1 (COMPUTE): tasks 1 + 1",
    "device 0, step 1 (COMPUTE): tasks -1 + 1",
    "device 0, step 4 (COMPUTE): tasks 1 + 1, but task 1 of 1",
    "device 0, step 1 (unknown kind): kind 99",
    "device 1, step 0 (COMPUTE): task 0: ",
    "device 0, step 3 (COMPUTE): task 1: ",
    "device 0, step 5 (RECV): no SEND has the tag 4",
    "device 0, the source: output ",
    "device 0, step 2 (RECV): waits for ever",
    "device 1, step 0 (RECV): tag 3 is received in another order",
    "device 0: -1 steps",
    "0 devices, source 0",
    "65 devices, source 0",
    "device 1, step 1 (COMPUTE): task 0: ",
    "device 0, step 1 (SEND): sends of ",
    "device 1, step 0 (RECV): peer 1; another device",
    "tag 1 sends another region, value or encoding",
    "device 0, step 1 (COMPUTE): tasks 0 + 1, but task 0 of 0",
    "cannot travel in encoding 1",
    "cannot travel in encoding 9",
};

START_TEST(faults_are_named)
{
    struct adaps_error err = {0};
    two_devices();
    mutate(_i);
    ck_assert_msg(ad_schedule_verify(f.graph, &f.s, 0, &err) == ADAPS_EINPUT, "fault %d passed",
                  _i);
    ck_assert_msg(strstr(err.message, says[_i]), "fault %d: \"%s\" does not say \"%s\"", _i,
                  err.message, says[_i]);
}
END_TEST

START_TEST(source_must_be_a_device)
{
    two_devices();
    ck_assert_int_eq(ad_schedule_verify(f.graph, &f.s, 2, NULL), ADAPS_EINPUT);
    ck_assert_int_eq(ad_schedule_verify(f.graph, &f.s, -1, NULL), ADAPS_EINPUT);
    ck_assert_int_eq(ad_schedule_verify(f.graph, &f.s, 1, NULL), ADAPS_EINPUT); /* has no input */
}
END_TEST

/* Random damage never crashes the verifier, and what it lets through can be simulated. */
START_TEST(random_damage)
{
    struct ad_rng rng = {(uint64_t)_i + 77};
    int passed = 0;
    for (int round = 0; round < 200; round++) {
        two_devices();
        for (int k = 1 + (int)ad_rng_below(&rng, 2); k > 0; k--) {
            struct ad_program *p = &f.s.programs[ad_rng_below(&rng, 2)];
            bool task = ad_rng_below(&rng, 4) == 0;
            uint32_t *words = task ? (uint32_t *)&p->tasks[ad_rng_below(&rng, (uint32_t)p->ntasks)]
                                   : (uint32_t *)&p->steps[ad_rng_below(&rng, (uint32_t)p->nsteps)];
            /* op, region; or kind .. tag: all of them words of 32 bits */
            uint32_t word = ad_rng_below(&rng, task ? 7 : 12);
            uint32_t value =
                ad_rng_below(&rng, 3) ? ad_rng_below(&rng, 10) - 1 : (uint32_t)ad_rng_next(&rng);
            memcpy(&words[word], &value, sizeof value);
        }
        struct adaps_error err = {0};
        enum adaps_status status = ad_schedule_verify(f.graph, &f.s, 0, &err);
        ck_assert(status == ADAPS_OK || status == ADAPS_EINPUT);
        if (status == ADAPS_OK) {
            passed++;
            ck_assert_int_eq(ad_schedule_simulate(f.graph, &f.c, &f.s, NULL), ADAPS_OK);
        } else {
            ck_assert_ptr_nonnull(strstr(err.message, "device"));
        }
        tear_down();
    }
    ck_assert_int_lt(passed, 200); /* some damage is no damage, not all */
}
END_TEST

START_TEST(no_memory)
{
    f.graph = random_graph(12);
    struct ad_rng rng = {5};
    random_cluster(&rng, &f.c, 3);
    random_assignment(&rng, f.graph, 3, &f.a);
    enum adaps_status status = ADAPS_EINTERNAL;
    int n = 0;
    while (status != ADAPS_OK && ++n < 2000) {
        struct adaps_error err = {0};
        ad_mem_fail_after(n);
        status = ad_schedule_build(f.graph, &f.c, &f.a, &f.s, &err);
        ad_mem_fail_after(0);
        ck_assert_msg(status == ADAPS_OK || strstr(err.message, "out of memory"), "%s",
                      err.message);
    }
    ck_assert_int_gt(n, 8);
    ck_assert_int_eq(status, ADAPS_OK);
    for (n = 1, status = ADAPS_EINTERNAL; status != ADAPS_OK && n < 2000; n++) {
        ad_mem_fail_after(n);
        status = ad_schedule_verify(f.graph, &f.s, f.c.source, NULL);
        ad_mem_fail_after(0);
        ck_assert(status == ADAPS_OK || status == ADAPS_EINTERNAL);
    }
    ck_assert_int_eq(status, ADAPS_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedule");
    TCase *c = tcase_create("schedule");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, NULL, tear_down);
    tcase_add_test(c, clocks_of_a_chain);
    tcase_add_test(c, messages_take_processors);
    tcase_add_test(c, ends_take_time);
    tcase_add_test(c, encodings_take_time);
    tcase_add_test(c, early_rows_leave_first);
    tcase_add_test(c, chunks_leave_one_by_one);
    tcase_add_test(c, additions_follow_convolutions);
    tcase_add_test(c, cores_go_first);
    tcase_add_test(c, ports_are_fifo);
    tcase_add_loop_test(c, switches_have_queues, 0, 2);
    tcase_add_test(c, unread_work_is_pruned);
    tcase_add_test(c, one_message_per_holder);
    tcase_add_test(c, gaps_nobody_reads);
    tcase_add_test(c, memory_of_a_chain);
    tcase_add_test(c, bad_assignments);
    tcase_add_loop_test(c, random_schedules, 0, sampled(250));
    tcase_add_loop_test(c, faults_are_named, 0, sizeof says / sizeof *says);
    tcase_add_test(c, source_must_be_a_device);
    tcase_add_loop_test(c, random_damage, 0, sampled(10));
    tcase_add_test(c, no_memory);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
