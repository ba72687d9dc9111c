/* Measured shapes: their text, their times, what is interpolated from them, and the files that hold
 * them. */
#include "base/file.h"
#include "cost/cost.h"
#include "support/random_graph.h"
#include "support/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[256];
static struct adaps_error err;

static enum adaps_status load(const char *text, struct ad_cluster *cluster)
{
    ck_assert_int_eq(ad_file_replace(path, text, strlen(text), &err), ADAPS_OK);
    return ad_cluster_load(path, cluster, &err);
}

static void name_file(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.100s/adaps-shapes-%d.conf", base ? base : ".", (int)getpid());
}

static void remove_file(void)
{
    remove(path);
}

/* One 3x3 convolution 8x8x16 -> 8x8x32 and others after it. */
static struct ad_graph *build(void)
{
    struct ad_builder b;
    struct ad_graph *graph;
    int64_t features[2] = {1, 2048}, pixel[4] = {1, 32, 1, 1};
    ad_build_init(&b, 3);
    int x = ad_build_input(&b, 1, 8, 8, 16);
    int conv = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 32);
    int other = ad_build_conv(&b, conv, ad_window_square(3, 1, 1, 1, 1), 1, 32);
    ad_build_fuse(&b, AD_FN_LEAKY_RELU);
    int deep = ad_build_conv(&b, other, ad_window_square(3, 2, 1, 1, 1), 32, 32);
    int pool = ad_build_pool(&b, AD_OP_MAXPOOL, deep, ad_window_square(2, 1, 1, 1, 1));
    int list[2] = {ad_build_binary(&b, AD_OP_MUL, other, ad_build_constant(&b, 4, pixel)), conv};
    int both = ad_build_concat(&b, list, 2);
    int flat = ad_build_reshape(&b, other, 2, features, true);
    ad_build_output(&b, ad_build_softmax(&b, ad_build_fc(&b, flat, 64)));
    ad_build_output(&b, ad_build_gap(&b, pool));
    ad_build_output(&b, ad_build_lrn(&b, both, 5));
    ad_build_output(&b, ad_build_space_to_depth(&b, other, 2, false));
    ck_assert_msg(ad_build_finish(&b, &graph, &err) == ADAPS_OK, "%s", err.message);
    for (int i = 0; i < graph->nops; i++)
        graph->ops[i].aliased = 0; /* a concatenation that copies, as a table may have it */
    return graph;
}

START_TEST(every_shape_has_a_text)
{
    struct ad_graph *graph = build();
    for (int i = 0; i < graph->nops; i++) {
        struct ad_shape shape = ad_shape_of(graph, &graph->ops[i]), again;
        char text[AD_SHAPE_TEXT], twice[AD_SHAPE_TEXT];
        ad_shape_format(&shape, text, sizeof text);
        ck_assert_msg(ad_shape_parse(text, &again), "%s", text);
        ck_assert_msg(memcmp(&shape, &again, sizeof shape) == 0, "%s", text);
        ck_assert_str_eq(ad_shape_format(&again, twice, sizeof twice), text);
        const struct ad_value *in = &graph->values[graph->ops[i].inputs[0]],
                              *out = &graph->values[graph->ops[i].output];
        struct ad_work work =
            ad_cost_work(graph, &graph->ops[i], out->box.n * out->box.h * out->box.w * out->box.c,
                         in->box.n * in->box.h * in->box.w * in->box.c,
                         graph->ops[i].weight >= 0 ? graph->weights[graph->ops[i].weight].rows : 0);
        ck_assert_msg(ad_shape_units(&shape) == work.units, "%s", text);
    }
    struct ad_shape s = ad_shape_of(graph, &graph->ops[0]);
    char text[AD_SHAPE_TEXT];
    ck_assert_str_eq(ad_shape_format(&s, text, sizeof text), "conv 3x3 8x8x16 -> 8x8x32");
    ad_graph_free(graph);
}
END_TEST

static const char *const bad_shapes[] = {
    "",
    "conv",
    "conv 3x3 8x8x16 8x8x32",
    "conv 3 8x8x16 -> 8x8x32",
    "conv 8x8x16 -> 8x8x32",
    "conv 3x3 8x8x16 -> 8x8",
    "conv 3x3 8x8x0 -> 8x8x32",
    "conv 3x3 8x8x16 -> 8x8x99999999999",
    "conv 3x3/0 8x8x16 -> 8x8x32",
    "conv 3x3 3x3 8x8x16 -> 8x8x32",
    "conv 3x3 +Tangent 8x8x16 -> 8x8x32",
    "conv 3x3 g 8x8x16 -> 8x8x32",
    "conv 3x3 8x8x16 -> 8x8x32 more",
    "add 3x3 8x8x16 -> 8x8x16",
    "add g2 8x8x16 -> 8x8x16",
    "warp 8x8x16 -> 8x8x16",
};

START_TEST(bad_shape)
{
    struct ad_shape shape;
    ck_assert_msg(!ad_shape_parse(bad_shapes[_i], &shape), "%s", bad_shapes[_i]);
}
END_TEST

START_TEST(points)
{
    static const char *const bad[] = {
        "", "8", "8:", "0:1us", "8:1us,", "1:1us 2:2us 3:3us 4:4us 5:5us 6:6us 7:7us 8:8us 9:9us"};
    static const char *const invalid[] = {"8:1us 8:2us", "8:1us 4:2us", "8:0us", "8:2000s",
                                          "17:1us"};
    struct ad_shape_time t;
    char text[200];
    ck_assert(ad_shape_parse("conv 1x1 n2 8x8x16 -> 8x8x16", &t.shape));
    ck_assert(ad_shape_parse_points("14:160us  16:1.5ms", &t));
    ck_assert(ad_shape_time_valid(&t));
    ck_assert_int_eq(t.npoints, 2);
    ck_assert_int_eq(t.points[1].rows, 16);
    ck_assert_double_eq_tol(t.points[1].seconds, 1.5e-3, 1e-12);
    ck_assert_str_eq(ad_shape_format_points(&t, text, sizeof text), "14:160us 16:1.5ms");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!ad_shape_parse_points(bad[i], &t), "%s", bad[i]);
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        ck_assert_msg(ad_shape_parse_points(invalid[i], &t), "%s", invalid[i]);
        ck_assert_msg(!ad_shape_time_valid(&t), "%s", invalid[i]);
    }
    t.npoints = 0;
    ck_assert(!ad_shape_time_valid(&t));
}
END_TEST

/* A device of x86 rates with a constant of 2us, and what the first op takes of it. */
static double first_op(const struct ad_cluster *c, const struct ad_graph *graph, int rows,
                       int channels)
{
    struct ad_work work =
        ad_cost_work(graph, &graph->ops[0], 8 * rows * channels, 16 * 8 * rows, channels);
    return ad_cost_seconds(&c->devices[0], &work) * 1e6;
}

START_TEST(exact_times)
{
    struct ad_cluster c;
    struct ad_graph *graph = build();
    ck_assert_msg(load("[a]\nconstant = 2us\n[shapes a]\n"
                       "conv 3x3 8x8x16 -> 8x8x32 = 2:30us 4:52us 8:82us\n",
                       &c) == ADAPS_OK,
                  "%s", err.message);
    ck_assert_double_eq_tol(first_op(&c, graph, 8, 32), 82, 1e-9);
    ck_assert_double_eq_tol(first_op(&c, graph, 4, 32), 52, 1e-9);
    ck_assert_double_eq_tol(first_op(&c, graph, 6, 32), 67, 1e-9); /* between points */
    ck_assert_double_eq_tol(first_op(&c, graph, 1, 32), 19, 1e-9); /* in front of them */
    ck_assert_double_eq_tol(first_op(&c, graph, 8, 16), 42, 1e-9); /* half of the channels */
    ck_assert_double_eq_tol(first_op(&c, graph, 8, 4), 42, 1e-9);  /* widened to 16 */
    c.devices[0].speed = 0.5;
    ck_assert_double_eq_tol(first_op(&c, graph, 8, 32), 162, 1e-9); /* but for the constant */
    c.devices[0].speed = 1;
    c.devices[0].table.tile = 16; /* two rows */
    ck_assert_double_eq_tol(first_op(&c, graph, 1, 32), 30, 1e-9);
    ck_assert_double_eq_tol(first_op(&c, graph, 3, 32), 52, 1e-9);
    ck_assert_double_eq_tol(first_op(&c, graph, 5, 32), 67, 1e-9);
    ad_cluster_fini(&c);
    ad_graph_free(graph);
}
END_TEST

/* More rows never take less, and no band less than its share: of measurements in disorder, too. */
START_TEST(bands_cost_their_share)
{
    struct ad_cluster c;
    struct ad_graph *graph = build();
    ck_assert_int_eq(load("[a]\ntile = 6\n[shapes a]\n"
                          "conv 3x3 8x8x16 -> 8x8x32 = 1:40us 2:10us 4:70us 8:82us\n"
                          "conv 1x1 4x4x16 -> 4x4x16 = 1:4us 4:9us\n"
                          "conv 5x5 16x16x8 -> 16x16x64 = 1:40us 16:900us\n"
                          "fc 1x1x512 -> 1x1x100 = 1:90us\n"
                          "maxpool 3x3/2 16x16x8 -> 8x8x8 = 1:2us 8:9us\n"
                          "unary +Sigmoid 16x16x8 -> 16x16x8 = 16:9us\n"
                          "reshape 1x1x512 -> 16x4x8 = 16:5us\n",
                          &c),
                     ADAPS_OK);
    for (int i = 0; i < graph->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        const struct ad_box *out = &graph->values[op->output].box;
        int64_t weights = op->weight >= 0 ? graph->weights[op->weight].rows : 0;
        double last = 0, all = 0;
        for (int64_t rows = 1; rows <= out->h; rows++) {
            struct ad_work w =
                ad_cost_work(graph, op, rows * out->w * out->c, rows * out->w * 4, weights);
            double seconds = ad_cost_seconds(&c.devices[0], &w);
            ck_assert_msg(seconds > 0 && seconds >= last * (1 - 1e-12), "%s", op->name);
            last = all = seconds;
        }
        for (int64_t rows = 1; rows <= out->h; rows++) {
            struct ad_work w =
                ad_cost_work(graph, op, rows * out->w * out->c, rows * out->w * 4, weights);
            ck_assert_msg(ad_cost_seconds(&c.devices[0], &w) >=
                              all * (double)rows / (double)out->h * (1 - 1e-12),
                          "%s", op->name);
        }
    }
    ad_cluster_fini(&c);
    ad_graph_free(graph);
}
END_TEST

START_TEST(interpolation)
{
    struct ad_cluster c;
    struct ad_graph *graph = build();
    struct ad_work work = ad_cost_work(graph, &graph->ops[0], 2048, 1024, 32);
    double by_rate;
    ck_assert_int_eq(load("[a]\n", &c), ADAPS_OK);
    by_rate = ad_cost_seconds(&c.devices[0], &work);
    ad_cluster_fini(&c);
    /* Of another class: the rates of the table count on. */
    ck_assert_int_eq(load("[a]\n[shapes a]\nfc 1x1x512 -> 1x1x100 = 1:90us\n", &c), ADAPS_OK);
    ck_assert_double_eq(ad_cost_seconds(&c.devices[0], &work), by_rate);
    ad_cluster_fini(&c);
    /* Of this class, alone: at its pace. 8x8x16 -> 8x8x32 has twice the work. */
    ck_assert_int_eq(load("[a]\nconstant = 2us\n[shapes a]\n"
                          "conv 3x3 8x8x16 -> 8x8x16 = 8:102us\n",
                          &c),
                     ADAPS_OK);
    ck_assert_double_eq_tol(ad_cost_seconds(&c.devices[0], &work), 202e-6, 1e-12);
    ad_cluster_fini(&c);
    /* The similar one counts more. */
    ck_assert_int_eq(load("[a]\nconstant = 2us\n[shapes a]\n"
                          "conv 3x3 8x8x16 -> 8x8x16 = 8:102us\n"
                          "conv 1x1 64x64x512 -> 64x64x512 = 64:1s\n",
                          &c),
                     ADAPS_OK);
    ck_assert_double_eq_tol(ad_cost_seconds(&c.devices[0], &work), 202e-6, 4e-6);
    ad_cluster_fini(&c);
    /* A function that follows is added where the very shape was not measured. */
    struct ad_work second = ad_cost_work(graph, &graph->ops[1], 2048, 2048, 32);
    ck_assert_int_eq(load("[a]\nconstant = 0us\nelementwise = 1\n[shapes a]\n"
                          "conv 3x3 8x8x32 -> 8x8x32 = 8:100us\n",
                          &c),
                     ADAPS_OK);
    ck_assert_double_eq_tol(ad_cost_seconds(&c.devices[0], &second), 100e-6 + 2048e-6, 1e-9);
    ad_cluster_fini(&c);
    ck_assert_int_eq(load("[a]\nconstant = 0us\nelementwise = 1\n[shapes a]\n"
                          "conv 3x3 +LeakyRelu 8x8x32 -> 8x8x32 = 8:100us\n",
                          &c),
                     ADAPS_OK);
    ck_assert_double_eq_tol(ad_cost_seconds(&c.devices[0], &second), 100e-6, 1e-12);
    ad_cluster_fini(&c);
    ad_graph_free(graph);
}
END_TEST

static const struct {
    const char *text, *says;
} wrong[] = {
    {"[a]\n[shapes b]\n", ":2: [shapes b]: there is no device b"},
    {"[shapes a]\nconv = 1\n[a]\n", ":2: [shapes a] conv = 1: the shape of an operator"},
    {"[a]\n[shapes a]\nadd 8x8x8 -> 8x8x8 = soon\n",
     ":3: [shapes a] add 8x8x8 -> 8x8x8 = soon: 1 to"},
    {"[a]\n[shapes a]\nadd 8x8x8 -> 8x8x8 = 9:1us\n", ":3: "},
    {"[a]\n[shapes a]\nadd 8x8x8 -> 8x8x8 = 8:1us\nadd 8x8x8 -> 8x8x8 = 8:1us\n",
     "already given in line 3"},
    {"[a]\ntile = 0\n", ":2: [a] tile = 0: an integer from 1 to 64"},
};

START_TEST(refusals)
{
    struct ad_cluster c;
    ck_assert_int_eq(load(wrong[_i].text, &c), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, wrong[_i].says), "%s", err.message);
    ck_assert_ptr_nonnull(strstr(err.message, path));
}
END_TEST

/* The search asks devices that take the same time for anything to be symmetric. */
START_TEST(same_devices)
{
    static const struct {
        const char *b;
        bool same;
    } cases[] = {
        {"add 8x8x8 -> 8x8x8 = 8:7us\nadd 4x8x8 -> 4x8x8 = 4:4us\n", true},
        {"add 8x8x8 -> 8x8x8 = 8:7us\nadd 4x8x8 -> 4x8x8 = 4:3us\n", false},
        {"add 8x8x8 -> 8x8x8 = 8:7us\nadd 4x8x8 -> 4x8x8 = 2:4us\n", false},
        {"add 8x8x8 -> 8x8x8 = 8:7us\nmul 4x8x8 -> 4x8x8 = 4:4us\n", false},
        {"add 8x8x8 -> 8x8x8 = 8:7us\nadd 4x8x8 -> 4x8x8 = 2:4us 4:4us\n", false},
        {"add 8x8x8 -> 8x8x8 = 8:7us\n", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ad_cluster c;
        char text[400];
        snprintf(text, sizeof text, "[a]\n[b]\n[shapes a]\n%s[shapes b]\n%s", cases[0].b,
                 cases[i].b);
        ck_assert_msg(load(text, &c) == ADAPS_OK, "%s", err.message);
        ck_assert_msg(ad_cost_same(&c.devices[0], &c.devices[1]) == cases[i].same, "case %zu", i);
        ad_cluster_fini(&c);
    }
}
END_TEST

START_TEST(copies_share)
{
    struct ad_cluster c, copy, alone;
    const char *text = "[a]\n[b]\n[shapes b]\nadd 8x8x8 -> 8x8x8 = 8:7us\n"
                       "add 4x8x8 -> 4x8x8 = 4:4us\n";
    ck_assert_int_eq(load(text, &c), ADAPS_OK);
    ck_assert_ptr_null(c.devices[0].table.shapes);
    ck_assert(!ad_cost_same(&c.devices[0], &c.devices[1]));
    ck_assert(ad_cost_same(&c.devices[1], &c.devices[1]));
    ck_assert_int_eq(ad_shapes_count(c.devices[1].table.shapes), 2);
    ck_assert_int_eq(ad_cluster_copy(&c, &copy, &err), ADAPS_OK);
    ad_cluster_fini(&c);
    ck_assert_int_eq(ad_cluster_init(&alone, 1, &err), ADAPS_OK);
    ad_cluster_set_device(&alone, 0, &copy.devices[1]);
    ad_cluster_fini(&copy);
    ck_assert_int_eq(ad_shapes_count(alone.devices[0].table.shapes), 2);
    ck_assert_int_eq(ad_shapes_item(alone.devices[0].table.shapes, 1)->points[0].rows, 4);
    ad_cluster_fini(&alone);
    enum adaps_status status = ADAPS_EINTERNAL;
    int n = 0;
    while (status != ADAPS_OK && ++n < 1000) {
        ad_mem_fail_after(n);
        status = ad_cluster_load(path, &c, &err);
        ad_mem_fail_after(0);
    }
    ck_assert_int_gt(n, 10);
    ad_cluster_fini(&c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shapes");
    TCase *c = tcase_create("measured shapes");
    tcase_add_checked_fixture(c, name_file, remove_file);
    tcase_add_test(c, every_shape_has_a_text);
    tcase_add_loop_test(c, bad_shape, 0, sizeof bad_shapes / sizeof *bad_shapes);
    tcase_add_test(c, points);
    tcase_add_test(c, exact_times);
    tcase_add_test(c, bands_cost_their_share);
    tcase_add_test(c, interpolation);
    tcase_add_loop_test(c, refusals, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(c, same_devices);
    tcase_add_test(c, copies_share);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
