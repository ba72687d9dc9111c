/* blocks: sub-blocks and cuts on known shapes, and their definitions on random graphs. */
#include "blocks/blocks.h"
#include "support/random_graph.h"
#include "support/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct ad_graph *finish(struct ad_builder *b)
{
    struct ad_graph *graph = NULL;
    struct adaps_error err = {0};
    enum adaps_status status = ad_build_finish(b, &graph, &err);
    ck_assert_msg(status == ADAPS_OK, "%s", err.message);
    return graph;
}

static int conv(struct ad_builder *b, int in)
{
    return ad_build_conv(b, in, ad_window_square(3, 1, 1, 1, 1), 1, 4);
}

static int add(struct ad_builder *b, int x, int y)
{
    return ad_build_binary(b, AD_OP_ADD, x, y);
}

/* `blocks` as "0 1|2 3", `cuts` as one character per op. */
static void check_graph(struct ad_builder *b, const char *blocks, const char *cuts)
{
    struct ad_graph *graph = finish(b);
    struct ad_blocks found;
    char text[256] = "", number[16];
    bool cut[32];
    ck_assert_int_eq(ad_blocks_find(graph, &found, NULL), ADAPS_OK);
    for (int i = 0; i < found.nblocks; i++) {
        for (int k = 0; k < found.blocks[i].nops; k++) {
            snprintf(number, sizeof number, "%s%d", k ? " " : i ? "|" : "", found.blocks[i].ops[k]);
            strcat(text, number);
        }
    }
    ck_assert_str_eq(text, blocks);
    ck_assert_int_eq((int)strlen(cuts), graph->nops);
    ad_blocks_cuts(graph, cut);
    for (int i = 0; i < graph->nops; i++)
        ck_assert_msg(cut[i] == (cuts[i] == 'x'), "%s: cut at op %d", cuts, i);
    ad_blocks_fini(&found);
    ck_assert_ptr_null(found.blocks);
    ad_graph_free(graph);
}

START_TEST(test_chain)
{
    struct ad_builder b;
    ad_build_init(&b, 1);
    int v = conv(&b, ad_build_input(&b, 1, 8, 8, 4));
    v = ad_build_pool(&b, AD_OP_MAXPOOL, v, ad_window_square(2, 2, 1, 0, 0));
    v = add(&b, v, ad_build_constant(&b, 4, (int64_t[]){1, 4, 1, 1})); /* a constant is no path */
    ad_build_output(&b, ad_build_fc(&b, v, 10));
    check_graph(&b, "0 1 2 3", "xxxx");
}
END_TEST

/* A stem, a residual block with an identity and one with a projection, a tail. */
START_TEST(test_residual)
{
    struct ad_builder b;
    ad_build_init(&b, 1);
    int x = conv(&b, ad_build_input(&b, 1, 8, 8, 4));   /* 0 */
    int y = conv(&b, conv(&b, x));                      /* 1 2 */
    x = add(&b, x, y);                                  /* 3 */
    y = conv(&b, conv(&b, x));                          /* 4 5 */
    x = add(&b, y, conv(&b, x));                        /* 6 7 */
    ad_build_output(&b, ad_build_gap(&b, conv(&b, x))); /* 8 9 */
    check_graph(&b, "0|1 2|3|4 5|6|7 8 9", "x--x---xxx");
}
END_TEST

/* Branches of different depth, in interleaved order, into a concat. */
START_TEST(test_inception)
{
    struct ad_builder b;
    ad_build_init(&b, 1);
    int x = conv(&b, ad_build_input(&b, 1, 8, 8, 4));                             /* 0 */
    int p = conv(&b, x), q = conv(&b, x);                                         /* 1 2 */
    int p2 = conv(&b, p);                                                         /* 3 */
    int r = ad_build_pool(&b, AD_OP_AVGPOOL, x, ad_window_square(3, 1, 1, 1, 1)); /* 4 */
    int p3 = conv(&b, p2), r2 = conv(&b, r);                                      /* 5 6 */
    x = ad_build_concat(&b, (int[]){p3, q, r2}, 3);                               /* 7 */
    ad_build_output(&b, ad_build_softmax(&b, conv(&b, x)));                       /* 8 9 */
    check_graph(&b, "0|1 3 5|2|4 6|7 8 9", "x------xxx");
}
END_TEST

/* After the first output there is no op that all paths go through. */
START_TEST(test_outputs)
{
    struct ad_builder b;
    ad_build_init(&b, 1);
    int x = conv(&b, conv(&b, ad_build_input(&b, 1, 8, 8, 4))); /* 0 1 */
    int y = conv(&b, x);                                        /* 2: an output, and goes on */
    ad_build_output(&b, y);
    ad_build_output(&b, y);                     /* listed twice is wanted once */
    ad_build_output(&b, conv(&b, conv(&b, y))); /* 3 4 */
    check_graph(&b, "0 1 2|3 4", "xxx--");
}
END_TEST

/* A network input that comes in late is a path around all before it; reading a value twice counts
 * as two ways. */
START_TEST(test_inputs)
{
    struct ad_builder b;
    ad_build_init(&b, 1);
    int x = ad_build_input(&b, 1, 8, 8, 4), late = ad_build_input(&b, 1, 8, 8, 4);
    x = conv(&b, x);                          /* 0 */
    x = add(&b, conv(&b, x), late);           /* 1 2 */
    x = conv(&b, x);                          /* 3 */
    x = ad_build_binary(&b, AD_OP_MUL, x, x); /* 4 */
    ad_build_output(&b, conv(&b, x));         /* 5 */
    check_graph(&b, "0 1|2 3|4 5", "--xxxx");
}
END_TEST

/* What nobody reads ends its block and hides no cut. */
START_TEST(test_dead)
{
    struct ad_builder b;
    ad_build_init(&b, 1);
    int x = conv(&b, ad_build_input(&b, 1, 8, 8, 4)); /* 0 */
    conv(&b, x);                                      /* 1 */
    ad_build_output(&b, conv(&b, x));                 /* 2 */
    check_graph(&b, "0|1|2", "x-x");
}
END_TEST

START_TEST(test_types)
{
    static const int types[AD_OP_COUNT] = {
        [AD_OP_CONV] = 1,     [AD_OP_MAXPOOL] = 1,
        [AD_OP_AVGPOOL] = 1,  [AD_OP_GAP] = 3,
        [AD_OP_FC] = 3,       [AD_OP_ADD] = 2,
        [AD_OP_MUL] = 2,      [AD_OP_UNARY] = 2,
        [AD_OP_CONCAT] = 3,   [AD_OP_SOFTMAX] = 3,
        [AD_OP_LRN] = 2,      [AD_OP_PERMUTE] = 3,
        [AD_OP_RESHAPE] = 3,  [AD_OP_SUB] = 2,
        [AD_OP_DIV] = 2,      [AD_OP_SPACE_TO_DEPTH] = 1,
        [AD_OP_MIN] = 2,      [AD_OP_MAX] = 2,
        [AD_OP_POW] = 2,      [AD_OP_PRELU] = 2,
        [AD_OP_RESAMPLE] = 3, [AD_OP_DEPTH_TO_SPACE] = 3,
        [AD_OP_REDUCE] = 3,   [AD_OP_MATMUL] = 3,
        [AD_OP_FOLD] = 2,     [AD_OP_WHOLE] = 3,
    };
    for (int kind = 0; kind < AD_OP_COUNT; kind++)
        ck_assert_int_eq(ad_op_type(&(struct ad_op){.kind = (enum ad_op_kind)kind}), types[kind]);
}
END_TEST

/* --- the definitions, on random graphs --- */

static struct ad_graph *graph_of(int i)
{
    struct ad_random_graph_options options = {
        .ops = 3 + i % 25, .max_hw = 6, .max_c = 4, .chain = i % 4 == 0, .outputs = i % 3 == 0};
    struct ad_graph *graph = NULL;
    ck_assert_int_eq(ad_random_graph((uint64_t)i, &options, &graph, NULL), ADAPS_OK);
    return graph;
}

static bool reads(const struct ad_graph *graph, int op, int value)
{
    for (int k = 0; k < graph->ops[op].ninputs; k++)
        if (graph->ops[op].inputs[k] == value)
            return true;
    return false;
}

static int activations(const struct ad_graph *graph, int op)
{
    int n = 0;
    for (int k = 0; k < graph->ops[op].ninputs; k++)
        n += graph->values[graph->ops[op].inputs[k]].constant < 0;
    return n;
}

static bool is_output(const struct ad_graph *graph, int value)
{
    for (int i = 0; i < graph->noutputs; i++)
        if (graph->outputs[i] == value)
            return true;
    return false;
}

/* Inside a block, each op's output goes to the next op and nowhere else; between blocks, that is
 * never so. */
static void check_blocks(const struct ad_graph *graph, const struct ad_blocks *found)
{
    int seen = 0, before = -1;
    for (int i = 0; i < found->nblocks; i++) {
        const struct ad_block *block = &found->blocks[i];
        ck_assert_int_gt(block->nops, 0);
        ck_assert_int_gt(block->ops[0], before);
        before = block->ops[0];
        for (int k = 0; k < block->nops; k++, seen++) {
            int op = block->ops[k], value = graph->ops[op].output;
            ck_assert_int_eq(found->block_of[op], i);
            if (k + 1 == block->nops)
                continue;
            ck_assert_int_gt(block->ops[k + 1], op);
            ck_assert_int_eq(activations(graph, block->ops[k + 1]), 1);
            ck_assert(!is_output(graph, value));
            for (int other = 0; other < graph->nops; other++)
                ck_assert_int_eq(reads(graph, other, value), other == block->ops[k + 1]);
        }
        for (int next = 0; next < graph->nops; next++) /* as long as can be */
            if (reads(graph, next, graph->ops[block->ops[block->nops - 1]].output))
                ck_assert(activations(graph, next) > 1 ||
                          ad_value_uses(graph, graph->ops[block->ops[block->nops - 1]].output) > 1);
    }
    ck_assert_int_eq(seen, graph->nops);
}

START_TEST(test_random_blocks)
{
    int largest = 0;
    for (int i = 0; i < 400; i++) {
        struct ad_graph *graph = graph_of(i);
        struct ad_blocks found;
        ck_assert_int_eq(ad_blocks_find(graph, &found, NULL), ADAPS_OK);
        check_blocks(graph, &found);
        largest = found.nblocks > largest ? found.nblocks : largest;
        if (i % 12 == 0) /* a chain: split only where it has an output */
            ck_assert_int_le(found.nblocks, graph->noutputs);
        else if (i % 4 == 0)
            ck_assert_int_eq(found.nblocks, 1);
        ad_blocks_fini(&found);
        ad_graph_free(graph);
    }
    ck_assert_int_gt(largest, 8);
}
END_TEST

/* Whether an output can be reached from an input without going through `op`. */
static bool way_around(const struct ad_graph *graph, int op)
{
    bool reached[1024] = {false}, around = false;
    ck_assert_int_le(graph->nvalues, 1024);
    for (int i = 0; i < graph->ninputs; i++)
        reached[graph->inputs[i]] = true;
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; i != op && k < graph->ops[i].ninputs; k++)
            reached[graph->ops[i].output] |= reached[graph->ops[i].inputs[k]];
    for (int i = 0; i < graph->noutputs; i++)
        around |= reached[graph->outputs[i]];
    return around;
}

START_TEST(test_random_cuts)
{
    int cuts = 0, others = 0;
    for (int i = 0; i < 400; i++) {
        struct ad_graph *graph = graph_of(i);
        bool *cut = ad_calloc((size_t)graph->nops, sizeof *cut);
        ad_blocks_cuts(graph, cut);
        for (int op = 0; op < graph->nops; op++) {
            ck_assert_msg(cut[op] == !way_around(graph, op), "graph %d, op %d", i, op);
            cuts += cut[op];
            others += !cut[op];
        }
        ad_free(cut);
        ad_graph_free(graph);
    }
    ck_assert(cuts > 500 && others > 500);
}
END_TEST

START_TEST(test_uses)
{
    for (int i = 0; i < 50; i++) {
        struct ad_graph *graph = graph_of(i);
        for (int v = 0; v < graph->nvalues; v++) {
            int uses = is_output(graph, v);
            for (int op = 0; op < graph->nops; op++)
                for (int k = 0; k < graph->ops[op].ninputs; k++)
                    uses += graph->ops[op].inputs[k] == v;
            ck_assert_int_eq(ad_value_uses(graph, v), uses);
        }
        ad_graph_free(graph);
    }
}
END_TEST

START_TEST(test_memory)
{
    struct ad_graph *graph = graph_of(7);
    struct adaps_error err;
    enum adaps_status status = ADAPS_EINTERNAL;
    for (long n = 1; status != ADAPS_OK; n++) {
        struct ad_blocks found;
        ad_mem_fail_after(n);
        status = ad_blocks_find(graph, &found, &err);
        ad_mem_fail_after(0);
        ck_assert_int_eq(status, found.nblocks ? ADAPS_OK : ADAPS_EINTERNAL);
        ad_blocks_fini(&found);
        ck_assert(status == ADAPS_OK || strstr(err.message, "out of memory"));
    }
    ad_graph_free(graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("blocks");
    TCase *tests = tcase_create("blocks");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_chain);
    tcase_add_test(tests, test_residual);
    tcase_add_test(tests, test_inception);
    tcase_add_test(tests, test_outputs);
    tcase_add_test(tests, test_inputs);
    tcase_add_test(tests, test_dead);
    tcase_add_test(tests, test_types);
    tcase_add_test(tests, test_random_blocks);
    tcase_add_test(tests, test_random_cuts);
    tcase_add_test(tests, test_uses);
    tcase_add_test(tests, test_memory);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
