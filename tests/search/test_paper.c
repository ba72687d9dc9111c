/* The paper's problem: windows, equations, search = DP = enumeration, certificates, Table 6; the
 * strategies adaps and exhaustive. */
#include "support/paper_oracle.h"
#include "support/run_suite.h"
#include "support/sanitized.h"
#include "support/search_fixture.h"
#include "search/context.h"
#include "search/paper/model.h"

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_LAYERS 32

/* A chain and its devices, with room of its own. */
struct instance {
    struct ad_paper_layer layers[MAX_LAYERS];
    double speed[AD_PAPER_DEVICES], bandwidth[AD_PAPER_DEVICES];
    struct ad_paper_interval first[AD_PAPER_DEVICES], last[AD_PAPER_DEVICES]; /* given */
    struct ad_paper_problem problem;
};

static void search_ok(const struct instance *in, struct ad_paper_result *r)
{
    struct adaps_error err = {0};
    ck_assert_msg(ad_paper_search(&in->problem, r, &err) == ADAPS_OK, "%s", err.message);
}

static void instance_init(struct instance *in, int nlayers, int ndevices, double threshold)
{
    memset(in, 0, sizeof *in);
    for (int d = 0; d < ndevices; d++)
        in->speed[d] = in->bandwidth[d] = 1;
    in->problem = (struct ad_paper_problem){.layers = in->layers,
                                            .nlayers = nlayers,
                                            .ndevices = ndevices,
                                            .speed = in->speed,
                                            .bandwidth = in->bandwidth,
                                            .threshold = threshold,
                                            .node_limit = 1000000,
                                            .iterations = 200};
}

static void one_layer(struct instance *in, int rows, int ndevices, double threshold)
{
    instance_init(in, 1, ndevices, threshold);
    in->layers[0] = (struct ad_paper_layer){rows, 3, 1, 1, 1000, 1, NULL};
}

static void model_ok(const struct instance *in, struct ad_paper_model *m)
{
    struct adaps_error err = {0};
    ck_assert_msg(ad_paper_model_init(m, &in->problem, &err) == ADAPS_OK, "%s", err.message);
}

/* Eqs 1 to 3 by hand: 224 rows on four equal devices: 56 to 56 + floor((221 - 56) * 0.05). */
START_TEST(windows)
{
    struct instance in;
    struct ad_paper_model m;
    one_layer(&in, 224, 4, 0.05);
    model_ok(&in, &m);
    const struct ad_paper_window *w = m.window;
    for (int d = 0; d < 4; d++) {
        ck_assert_int_eq(w[d].lo, 56);
        ck_assert_int_eq(w[d].hi, 64);
        ck_assert_int_eq(w[d].smax, 56 * d);
        ck_assert_int_eq(w[d].emin, 56 * (d + 1));
        ck_assert_int_eq(w[d].smin, d == 0 ? 0 : 56 * d - 8);
        ck_assert_int_eq(w[d].emax, d == 3 ? 224 : 56 * (d + 1) + 8);
    }
    /* 9 ends, (s, e) with at most 8 rows more: 45, 45, 9 starts */
    ck_assert_double_eq_tol(ad_paper_space(&m), log10(9.0 * 45 * 45 * 9), 1e-9);
    ad_paper_model_fini(&m);
    one_layer(&in, 10, 3, 0); /* 3, 3, 3 and one left over: no window, but a layout */
    model_ok(&in, &m);
    ck_assert_int_eq(m.window[2].emin, 10);
    ck_assert_int_eq(m.least[0], 4000);
    ck_assert_double_eq_tol(ad_paper_space(&m), 0, 1e-9);
    ad_paper_model_fini(&m);
    one_layer(&in, 5, 4, 1); /* one row each at least, whatever the speeds */
    in.speed[0] = 1000;
    model_ok(&in, &m);
    for (int d = 0; d < 4; d++)
        ck_assert_int_eq(m.window[d].emin - m.window[d].smax, d == 0 ? 2 : 1);
    ad_paper_model_fini(&m);
}
END_TEST

/* The paper's examples 4.1 and 4.2, and eqs 8 to 10 by hand. */
START_TEST(equations)
{
    struct instance in;
    struct ad_paper_model m;
    one_layer(&in, 9, 3, 1);
    in.layers[0].work = 1;
    model_ok(&in, &m);
    struct ad_paper_interval even[] = {{0, 3}, {3, 6}, {6, 9}}, odd[] = {{0, 2}, {2, 3}, {3, 9}};
    struct ad_paper_interval over[] = {{0, 4}, {2, 7}, {6, 9}};
    ck_assert_int_eq(ad_paper_layer_cost(&m, 0, even), 3);
    ck_assert_int_eq(ad_paper_layer_cost(&m, 0, odd), 6);
    ck_assert_int_eq(ad_paper_layer_cost(&m, 0, over), 5 + 2 * (2 + 1));
    ad_paper_model_fini(&m);

    instance_init(&in, 2, 3, 1);
    in.layers[0] = (struct ad_paper_layer){9, 1, 1, 0, 1, 1, NULL};
    in.layers[1] = in.layers[0];
    in.bandwidth[1] = 0.25; /* 4 ticks per row */
    model_ok(&in, &m);
    ck_assert_int_eq(ad_paper_fetch(&m, 0, 1, (struct ad_paper_interval){3, 6},
                                    (struct ad_paper_interval){2, 3}),
                     4 * 1); /* example 4.2: one row at the start, none at the end */
    ck_assert_int_eq(ad_paper_fetch(&m, 0, 1, (struct ad_paper_interval){3, 6},
                                    (struct ad_paper_interval){4, 6}),
                     0);
    ck_assert_int_eq(ad_paper_fetch(&m, 0, 1, (struct ad_paper_interval){3, 6},
                                    (struct ad_paper_interval){1, 9}),
                     4 * 5);
    ck_assert_int_eq(ad_paper_fetch(&m, 0, 1, (struct ad_paper_interval){3, 6},
                                    (struct ad_paper_interval){7, 9}),
                     4 * 2); /* disjoint: all of it, once */
    ad_paper_model_fini(&m);
    in.layers[1] = (struct ad_paper_layer){5, 3, 2, 1, 1, 1, NULL}; /* 3x3, stride 2, pad 1 */
    model_ok(&in, &m);
    ck_assert_int_eq(ad_paper_need_start(&m, 1, 0), 0);
    ck_assert_int_eq(ad_paper_need_start(&m, 1, 2), 3);
    ck_assert_int_eq(ad_paper_need_end(&m, 1, 2), 4);
    ck_assert_int_eq(ad_paper_need_end(&m, 1, 5), 9);
    ad_paper_model_fini(&m);
}
END_TEST

/* The first layer lies as it does: in bands of any sizes, some of none. */
static void give_first(struct instance *in, struct ad_rng *r)
{
    struct ad_paper_layer *l = &in->layers[0];
    for (int d = 0, at = 0; d < in->problem.ndevices; d++) {
        int rest = l->out_size - at, last = d + 1 == in->problem.ndevices;
        int size = last ? rest : (int)ad_rng_below(r, (uint32_t)rest + 1);
        in->first[d] = (struct ad_paper_interval){at, at + size};
        at += size;
    }
    l->given = in->first;
    l->work = 0;
}

/* The last layer is whole on one device, and reads all rows. */
static void give_last(struct instance *in, int device)
{
    int n = in->problem.nlayers, rows = in->layers[n - 2].out_size;
    in->layers[n - 1] = (struct ad_paper_layer){1, rows, rows, 0, 0, 0, in->last};
    for (int d = 0; d < in->problem.ndevices; d++)
        in->last[d] = (struct ad_paper_interval){d > device, d >= device};
}

static void random_instance(struct instance *in, uint64_t seed)
{
    struct ad_rng r = {seed};
    int ndevices = 2 + (int)ad_rng_below(&r, 3), nlayers = 1 + (int)ad_rng_below(&r, 3);
    int rows = ndevices + (int)ad_rng_below(&r, 12);
    instance_init(in, nlayers, ndevices, ad_rng_below(&r, 11) * 0.1);
    for (int i = 0; i < nlayers; i++) {
        struct ad_paper_layer *l = &in->layers[i];
        *l = (struct ad_paper_layer){rows,
                                     1 + 2 * (int)ad_rng_below(&r, 3),
                                     1,
                                     0,
                                     ad_rng_below(&r, 40),
                                     ad_rng_below(&r, 60),
                                     NULL};
        l->pad = l->kernel / 2;
        if (i > 0 && ad_rng_below(&r, 3) == 0 && rows / 2 >= ndevices) {
            l->out_size = rows = rows / 2;
            l->stride = 2;
            l->kernel = 2 + (int)ad_rng_below(&r, 2);
            l->pad = (int)ad_rng_below(&r, 2);
        }
    }
    for (int d = 0; d < ndevices; d++) {
        in->speed[d] = 1 + ad_rng_below(&r, 4);
        in->bandwidth[d] = 1 + ad_rng_below(&r, 4);
    }
    if (nlayers > 1 && ad_rng_below(&r, 2))
        give_first(in, &r);
    if (nlayers > 1 && ad_rng_below(&r, 2))
        give_last(in, (int)ad_rng_below(&r, (uint32_t)ndevices));
}

/* The cuts of a result are in the window and have the score that it says. */
static void check_result(const struct instance *in, const struct ad_paper_result *r)
{
    struct ad_paper_model m;
    model_ok(in, &m);
    ck_assert_int_eq(ad_paper_score(&m, r->cuts), r->score);
    for (int l = 0; l < m.nlayers; l++)
        for (int d = 0; d < m.ndevices; d++) {
            const struct ad_paper_window *w = &m.window[ad_paper_at(&m, l, d)];
            struct ad_paper_interval c = r->cuts[ad_paper_at(&m, l, d)];
            ck_assert(c.s >= w->smin && c.s <= w->smax && c.e >= w->emin && c.e <= w->emax);
            ck_assert(c.e - c.s <= w->hi && c.e - c.s >= w->lo);
            if (d > 0)
                ck_assert_int_le(c.s, r->cuts[ad_paper_at(&m, l, d) - 1].e);
        }
    ck_assert(r->bound <= (double)r->score && r->gap >= 0);
    ad_paper_model_fini(&m);
}

/* Enumeration = DP = tree alone = relaxation and tree; the relaxation alone is a lower bound.
 * 40 slices of 15 instances. */
START_TEST(all_agree)
{
    int done = 0;
    for (uint64_t seed = (uint64_t)_i * 1000; done < 15; seed++) {
        struct instance in;
        struct ad_paper_result all, dp, r;
        struct ad_paper_model m;
        struct adaps_error err = {0};
        random_instance(&in, seed);
        model_ok(&in, &m);
        double space = ad_paper_space(&m);
        ad_paper_model_fini(&m);
        if (space > 4.7)
            continue;
        done++;
        ck_assert_msg(ad_paper_exhaustive(&in.problem, &all, &err) == ADAPS_OK, "%s", err.message);
        ck_assert_msg(ad_paper_dp(&in.problem, &dp, &err) == ADAPS_OK, "%s", err.message);
        ck_assert_int_eq(all.visited, llround(pow(10, space)));
        ck_assert_int_eq(all.score, dp.score);
        check_result(&in, &all);
        check_result(&in, &dp);
        static const struct {
            int64_t nodes;
            int iterations;
        } modes[] = {{1000000, 0}, {1000000, 200}, {1000000, 1}, {0, 60}};
        for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) {
            in.problem.node_limit = modes[k].nodes;
            in.problem.iterations = modes[k].iterations;
            search_ok(&in, &r);
            check_result(&in, &r);
            ck_assert_msg(r.bound <= (double)all.score,
                          "seed %" PRIu64 ": bound %g, least %" PRId64, seed, r.bound, all.score);
            if (modes[k].nodes > 0)
                ck_assert_msg(r.proven && r.score == all.score,
                              "seed %" PRIu64 " mode %zu: %" PRId64 ", not %" PRId64, seed, k,
                              r.score, all.score);
            ad_paper_result_fini(&r);
        }
        ad_paper_result_fini(&all);
        ad_paper_result_fini(&dp);
    }
}
END_TEST

/* Conv and pool layers of VGG16 and of a chain like YOLOv2's (416, 1x1 between), while there are as
 * many rows as devices. The fast half of the devices comes first, or fast and slow ones take turns.
 * A tick is a nanosecond; speed in GMAC/s, bandwidth in bytes/ns. */
static void network(struct instance *in, bool yolo, bool halves, int ndevices, double mbit,
                    double threshold)
{
    static const int vgg[] = {64, 64,  0,   128, 128, 0,   256, 256, 256,
                              0,  512, 512, 512, 0,   512, 512, 512, 0};
    static const int yolov2[] = {32,   0,    64,   0,    128,  -64,  128,  0,    256,
                                 -128, 256,  0,    512,  -256, 512,  -256, 512,  0,
                                 1024, -512, 1024, -512, 1024, 1024, 1024, 1024, -425};
    const int *table = yolo ? yolov2 : vgg;
    int count = yolo ? (int)(sizeof yolov2 / sizeof *yolov2) : (int)(sizeof vgg / sizeof *vgg);
    int rows = yolo ? 416 : 224, channels = 3;
    instance_init(in, 0, ndevices, threshold);
    for (int i = 0; i < count; i++) { /* 0: pool; negative: 1x1 */
        int out = table[i] == 0 ? channels : abs(table[i]), k = table[i] < 0 ? 1 : 3;
        rows = table[i] == 0 ? rows / 2 : rows;
        if (rows < ndevices)
            break;
        struct ad_paper_layer *l = &in->layers[in->problem.nlayers++];
        *l = (struct ad_paper_layer){
            rows, k, 1, k / 2, (double)rows * k * k * channels * out, 4.0 * rows * out, NULL};
        if (table[i] == 0)
            *l = (struct ad_paper_layer){rows, 2, 2, 0, 0.5 * rows * out, 4.0 * rows * out, NULL};
        channels = out;
    }
    for (int d = 0; d < ndevices; d++) {
        in->speed[d] = (halves ? d >= ndevices / 2 : d % 2) ? 10 : 35;
        in->bandwidth[d] = mbit * 1e6 / 8 * 1e-9;
    }
}

/* A gap of at most 0.5 % within a second, without the tree. */
START_TEST(certificates)
{
    static const double mbits[] = {10, 100, 1000}, thresholds[] = {0.05, 0.10, 0.15, 0.30};
    bool yolo = _i % 2, halves = _i / 2 % 2;
    int ndevices = 2 << (_i / 4);
    for (size_t b = 0; b < 3; b++)
        for (size_t t = 0; t < 4; t++) {
            struct instance in;
            struct ad_paper_result r;
            network(&in, yolo, halves, ndevices, mbits[b], thresholds[t]);
            in.problem.node_limit = 0;
            clock_t start = clock();
            search_ok(&in, &r);
            double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
            check_result(&in, &r);
            ck_assert_msg(r.gap <= 0.005, "%s, %d devices, %g mbit, %g: gap %.3f %%",
                          yolo ? "YOLOv2" : "VGG16", ndevices, mbits[b], thresholds[t],
                          r.gap * 100);
            printf("%s %2d devices %4g mbit thr %.2f: 10^%.1f layouts, score %.3f ms, gap %.4f %%, "
                   "%.3f s\n",
                   _i % 2 ? "YOLOv2" : "VGG16 ", ndevices, mbits[b], thresholds[t], r.space_log10,
                   (double)r.score * 1e-6, r.gap * 100, seconds);
            ad_paper_result_fini(&r);
        }
}
END_TEST

/* Table 6: the nodes published, for the tree alone. */
START_TEST(table6)
{
    static const int published[4][4] = {{26, 48, 70, 92},
                                        {389, 1355, 2600, 4622},
                                        {966, 3417, 7344, 12747},
                                        {2501, 5174, 16528, 43121}};
    struct instance in;
    struct ad_paper_result r, dp;
    struct adaps_error err = {0};
    one_layer(&in, 224, 2 << (_i / 4), 0.05 * (1 + _i % 4));
    in.problem.iterations = 0;
    search_ok(&in, &r);
    check_result(&in, &r);
    ck_assert(r.proven);
    ck_assert_int_eq(r.score, 224000 / in.problem.ndevices); /* no overlap, all alike */
    ck_assert_int_le(r.visited, published[_i / 4][_i % 4]);
    if (r.space_log10 < 6) {
        ck_assert_msg(ad_paper_dp(&in.problem, &dp, &err) == ADAPS_OK, "%s", err.message);
        ck_assert_int_eq(dp.score, r.score);
        ad_paper_result_fini(&dp);
    }
    ad_paper_result_fini(&r);
}
END_TEST

/* Nodes of ten cases. A change of the search shows here: say so in the commit. */
START_TEST(pinned_node_counts)
{
    static const struct {
        bool yolo, one;
        int devices, layers, iterations;
        double mbit, threshold;
        int64_t visited;
    } cases[] = {
        {false, true, 3, 1, 0, 0, 0.10, 10},       {false, true, 8, 1, 0, 0, 0.20, 30},
        {false, true, 16, 1, 0, 0, 0.20, 62},      {false, false, 2, 3, 0, 100, 0.05, 69},
        {false, false, 2, 5, 0, 10, 0.05, 497},    {true, false, 2, 4, 0, 1000, 0.05, 126},
        {false, false, 4, 18, 200, 100, 0.15, 22}, {true, false, 8, 27, 200, 10, 0.05, 30033},
        {false, false, 3, 18, 1, 10, 0.05, 30009}, {true, false, 16, 12, 200, 1000, 0.15, 22},
    };
    struct instance in;
    struct ad_paper_result r;
    if (cases[_i].one) {
        one_layer(&in, 225, cases[_i].devices, cases[_i].threshold);
        for (int d = 0; d < cases[_i].devices; d++)
            in.speed[d] = 1 + d % 3;
    } else {
        network(&in, cases[_i].yolo, false, cases[_i].devices, cases[_i].mbit, cases[_i].threshold);
        in.problem.nlayers = cases[_i].layers;
    }
    in.problem.iterations = cases[_i].iterations;
    in.problem.node_limit = 30000;
    search_ok(&in, &r);
    ck_assert_msg(r.visited == cases[_i].visited, "case %d: %" PRId64 " nodes, not %" PRId64, _i,
                  r.visited, cases[_i].visited);
    ad_paper_result_fini(&r);
}
END_TEST

static void refused(const struct instance *in, const char *what)
{
    struct ad_paper_result r;
    struct adaps_error err = {0};
    ck_assert_int_eq(ad_paper_search(&in->problem, &r, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, what), "%s", err.message);
}

START_TEST(bad_problems)
{
    struct instance in;
    struct ad_paper_result r;
    struct adaps_error err = {0};
    one_layer(&in, 3, 4, 0.1);
    refused(&in, "layer 0: 3 rows");
    one_layer(&in, 8, 4, 1.5);
    refused(&in, "threshold 1.5");
    one_layer(&in, 8, 4, 0.1);
    in.speed[2] = 0;
    refused(&in, "device 2");
    one_layer(&in, 8, 4, 0.1);
    in.layers[0].stride = 0;
    refused(&in, "stride 0");
    one_layer(&in, 8, 4, 0.1);
    in.layers[0].work = 1e300;
    refused(&in, "2^53");
    one_layer(&in, 8, 4, 1);
    in.problem.iterations = 0;
    in.problem.node_limit = 3;
    refused(&in, "too few");
    one_layer(&in, 224, 8, 0.3);
    ck_assert_int_eq(ad_paper_dp(&in.problem, &r, &err), ADAPS_NO);
    ck_assert_msg(strstr(err.message, "layouts; 10^7"), "%s", err.message);
}
END_TEST

START_TEST(no_memory)
{
    struct instance in;
    network(&in, false, false, 3, 10, 0.1);
    in.problem.nlayers = 4;
    in.problem.node_limit = 500;
    in.problem.iterations = 21;
    enum adaps_status status = ADAPS_EINTERNAL;
    int n = 1;
    for (; status != ADAPS_OK && n < 20000; n++) {
        struct ad_paper_result r;
        struct adaps_error err = {0};
        ad_mem_fail_after(n);
        status = ad_paper_search(&in.problem, &r, &err);
        ad_mem_fail_after(0);
        ck_assert_msg(status == ADAPS_OK || status == ADAPS_EINTERNAL, "%s", err.message);
        if (status == ADAPS_OK)
            ad_paper_result_fini(&r);
    }
    ck_assert_int_gt(n, 10);
    ck_assert_int_eq(status, ADAPS_OK);
}
END_TEST

/* 60x40 through convolutions, to features. Rows are cheap to exchange (few columns). */
static void small_net(struct problem *p, int ndevices, int h, int w)
{
    struct ad_builder b;
    struct adaps_error err = {0};
    ad_build_init(&b, 9);
    int x = ad_build_input(&b, 1, h, w, 3);
    for (int i = 0; i < 3; i++)
        x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 16);
    x = ad_build_fc(&b, ad_build_gap(&b, x), 10);
    ad_build_output(&b, x);
    ck_assert_msg(ad_build_finish(&b, &p->graph, &err) == ADAPS_OK, "%s", err.message);
    ad_fixture_devices(&p->cluster, ndevices);
    ad_fixture_fill(p);
}

/* Intervals along the better dimension, overlaps where the link is slow, type 3 on the fastest. */
START_TEST(strategy_adaps)
{
    struct problem p;
    struct ad_search_result r;
    small_net(&p, 3, _i ? 40 : 60, _i ? 60 : 40);
    p.cluster.devices[2].speed = 2;
    ad_cluster_override_links(&p.cluster, 1e6, 0);
    ad_fixture_run(&p, "adaps", &r);
    for (int i = 0; i < 3; i++) {
        int end = 0;
        for (int d = 0; d < 3; d++) {
            struct ad_region g = *ad_assigned(&r.assignment, i, d);
            ck_assert_int_eq(_i ? g.h0 : g.w0, 0);
            ck_assert_int_eq(_i ? g.h1 : g.w1, 40);
            ck_assert_int_le(_i ? g.w0 : g.h0, end);
            end = _i ? g.w1 : g.h1;
        }
        ck_assert_int_eq(end, 60);
        struct ad_region a = *ad_assigned(&r.assignment, i, 0),
                         b = *ad_assigned(&r.assignment, i, 1);
        bool overlaps = _i ? a.w1 > b.w0 : a.h1 > b.h0;
        ck_assert(overlaps == (i < 2)); /* nobody reads beyond the last one's rows */
    }
    for (int i = 3; i < p.graph->nops; i++)
        for (int d = 0; d < 3; d++)
            ck_assert_int_eq(ad_region_empty(*ad_assigned(&r.assignment, i, d)), d != 2);
    ck_assert(r.bound > 0 && r.gap >= 0 && r.gap <= 0.005);
    ck_assert_msg(strstr(r.note, "no layout of the window has less than"), "%s", r.note);
    ad_search_result_fini(&r);
    p.problem.split_h = p.problem.split_w = false; /* nothing may be split */
    ad_fixture_run(&p, "adaps", &r);
    ck_assert_int_eq(r.schedule.programs[0].ntasks + r.schedule.programs[1].ntasks, 0);
    ad_search_result_fini(&r);
    ad_fixture_run(&p, "single", &r);
    ck_assert(isnan(r.bound) && isnan(r.gap));
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("adaps");
    TCase *c = tcase_create("adaps");
    tcase_set_timeout(c, 240);
    tcase_add_test(c, windows);
    tcase_add_test(c, equations);
    tcase_add_loop_test(c, all_agree, 0, sampled(40));
    tcase_add_loop_test(c, certificates, 0, sampled(16));
    tcase_add_loop_test(c, table6, 0, sampled(16));
    tcase_add_loop_test(c, pinned_node_counts, 0, 10);
    tcase_add_test(c, bad_problems);
    tcase_add_test(c, no_memory);
    tcase_add_loop_test(c, strategy_adaps, 0, 2);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
