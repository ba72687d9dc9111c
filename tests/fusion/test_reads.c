/* fusion/reads: marks and shares against naive_reads, and what is known of a kind without rules. */
#include "fusion/reads.h"
#include "fusion/rules.h"
#include "support/naive_reads.h"
#include "support/random_graph.h"
#include "support/random_operator.h"
#include "support/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define CASES 3000
#define ROOM 64 /* more than any dimension here */

static int below(struct ad_rng *rng, int64_t n)
{
    return (int)ad_rng_below(rng, (uint32_t)n);
}

struct table {
    uint8_t bytes[AD_ALONG][ROOM];
};

static struct ad_marks marks_in(struct table *t)
{
    return (struct ad_marks){{t->bytes[0], t->bytes[1], t->bytes[2]}};
}

/* Marks all, or a random part, or every second position along each axis. */
static void random_marks(struct ad_rng *rng, const struct ad_box *box, struct table *t)
{
    bool all = below(rng, 3) == 0;
    for (int axis = 0; axis < AD_ALONG; axis++) {
        int style = all ? 0 : below(rng, 4);
        for (int64_t i = 0; i < ad_box_along(box, axis); i++)
            t->bytes[axis][i] = style == 0 || (style == 1 ? i % 2 == 0 : below(rng, 2));
    }
}

static bool marked(const struct table *t, int h, int w, int c)
{
    return t->bytes[0][h] && t->bytes[1][w] && t->bytes[2][c];
}

#define EACH_ELEMENT(box, h, w, c)                                                                 \
    for (int h = 0; h < (box).h; h++)                                                              \
        for (int w = 0; w < (box).w; w++)                                                          \
            for (int c = 0; c < (box).c; c++)

/* The elements of one input that were read. */
struct reading {
    int k;
    bool any;
    uint8_t read[ROOM][ROOM][ROOM];
};

static struct reading seen;

static void see(void *self, int k, int h, int w, int c)
{
    struct reading *r = self;
    if (k == r->k) {
        r->read[h][w][c] = 1;
        r->any = true;
    }
}

static void forget(int k)
{
    memset(&seen, 0, sizeof seen);
    seen.k = k;
}

static int64_t seen_count(const struct ad_box *box)
{
    int64_t sum = 0;
    EACH_ELEMENT(*box, h, w, c)
    sum += seen.read[h][w][c];
    return sum;
}

static bool fits(const struct ad_graph *graph, const struct ad_op *op)
{
    for (int v = 0; v < graph->nvalues; v++)
        for (int axis = 0; axis < AD_ALONG; axis++)
            if (ad_box_along(&graph->values[v].box, axis) > ROOM)
                return false;
    return op->ninputs > 0;
}

/* What is marked is read; and the other way round, but where blocks are not full. */
START_TEST(test_marks)
{
    int compared = 0, partly = 0;
    AD_EACH_OPERATOR(graph, op, i, CASES)
    {
        struct ad_rng rng = {(uint64_t)i};
        const struct ad_box *to = &graph->values[op->output].box;
        for (int round = 0; round < 3 && fits(graph, op); round++) {
            struct table out, in;
            struct ad_marks from_out = marks_in(&out), into = marks_in(&in);
            int k = below(&rng, op->ninputs);
            const struct ad_box *from = &graph->values[op->inputs[k]].box;
            struct ad_reads reads = ad_op_reads(graph, op, k);
            random_marks(&rng, to, &out);
            ad_reads_mark(graph, op, k, &reads, &from_out, &into);
            forget(k);
            EACH_ELEMENT(*to, h, w, c)
            if (marked(&out, h, w, c))
                ad_naive_reads(graph, op, h, w, c, see, &seen);
            bool within = true;
            EACH_ELEMENT(*from, h, w, c)
            within &= !marked(&in, h, w, c) || seen.read[h][w][c];
            ck_assert_msg(within, "case %d, %s: marks what is not read", i, op->name);
            int64_t all = seen_count(from), mine = ad_marks_elements(&into, from);
            bool block = reads.along[0] == AD_READS_BLOCK;
            ck_assert_msg(mine == all || block, "case %d, %s: marks %d, reads %d", i, op->name,
                          (int)mine, (int)all);
            if (block && op->kind == AD_OP_SPACE_TO_DEPTH &&
                ad_marks_elements(&from_out, to) == ad_box_elements(*to) / to->n)
                ck_assert_int_eq(mine, all);
            compared += mine > 0;
            partly += mine > 0 && mine < ad_box_elements(*from) / from->n;
        }
    }
    ck_assert_int_gt(compared, CASES);
    ck_assert_int_gt(partly, CASES / 4);
}
END_TEST

/* Of any set of marked outputs: what is read is at least its share, as promised. */
START_TEST(test_shares)
{
    int kept = 0, counted = 0;
    AD_EACH_OPERATOR(graph, op, i, CASES)
    {
        struct ad_rng rng = {(uint64_t)i};
        const struct ad_box *to = &graph->values[op->output].box;
        struct table out, in;
        struct ad_marks from_out = marks_in(&out), into = marks_in(&in);
        int64_t least = 0, read = 0, chosen = 0;
        if (!fits(graph, op))
            continue;
        random_marks(&rng, to, &out);
        int64_t outputs = ad_marks_elements(&from_out, to);
        int percent = 1 + below(&rng, 99);
        for (int k = 0; k < op->ninputs; k++) {
            const struct ad_box *from = &graph->values[op->inputs[k]].box;
            struct ad_reads reads = ad_op_reads(graph, op, k);
            struct ad_rng again = {(uint64_t)i ^ 0x5e7};
            int64_t own = 0, all = 0;
            ad_reads_mark(graph, op, k, &reads, &from_out, &into);
            least += ad_reads_least(graph, op, k, &reads, &from_out);
            forget(k);
            chosen = 0;
            EACH_ELEMENT(*to, h, w, c)
            {
                bool choose = below(&again, 100) < percent && marked(&out, h, w, c);
                struct reading *r = &seen;
                chosen += choose;
                if (choose) {
                    r->any = false;
                    ad_naive_reads(graph, op, h, w, c, see, r);
                    own += r->any;
                }
            }
            int64_t count = seen_count(from), inputs = ad_marks_elements(&into, from);
            read += from->n * count;
            all = reads.along[AD_ALONG_C] == AD_READS_STRETCH ? outputs / to->c * from->c : outputs;
            if (ad_reads_keep_share(graph, op, k, &reads, &from_out, &into)) {
                ck_assert_msg(count * all >= own * inputs, "case %d, %s: %d of %d read %d of %d", i,
                              op->name, (int)own, (int)all, (int)count, (int)inputs);
                kept += own > 0;
            }
        }
        ck_assert_msg(read * outputs >= least * chosen, "case %d, %s: %d of %d read %d of %d", i,
                      op->name, (int)chosen, (int)outputs, (int)read, (int)least);
        counted += least > 0;
    }
    ck_assert_int_gt(kept, CASES / 3);
    ck_assert_int_gt(counted, CASES / 4);
}
END_TEST

/* How far a reading reaches, in the words of the operator table. */
static bool agrees(enum ad_reading reading, enum ad_reach reach, bool grows)
{
    switch (reading) {
    case AD_READS_OWN:
    case AD_READS_SINGLE:
        return reach == AD_REACH_SAME;
    case AD_READS_NEAR:
    case AD_READS_WINDOW:
        return reach == AD_REACH_NEAR;
    case AD_READS_ALL:
    case AD_READS_GROUP:
        return reach == (grows ? AD_REACH_WHOLE : AD_REACH_ALL);
    case AD_READS_SAMPLE:
    case AD_READS_STRETCH:
    case AD_READS_FOLD:
    case AD_READS_BLOCK:
        return reach == AD_REACH_OTHER;
    case AD_READS_ANY:
        break;
    }
    return false;
}

/* Every kind has rules, which say how it reads, as the operator table does. */
START_TEST(test_all_kinds)
{
    for (int kind = 0; kind < AD_OP_COUNT; kind++) {
        const struct ad_region_rule *rule = ad_region_rule((enum ad_op_kind)kind);
        const struct ad_operator *row = ad_operator_of((enum ad_op_kind)kind);
        const enum ad_reach reach[AD_ALONG] = {row->h, row->w, row->c};
        ck_assert_msg(rule->need && rule->yield, "%s", row->name);
        for (int axis = 0; axis < AD_ALONG; axis++) {
            bool grows = reach[axis] == AD_REACH_WHOLE && rule->allow;
            ck_assert_msg(agrees(rule->reads[axis], reach[axis], grows), "%s, axis %d", row->name,
                          axis);
            ck_assert_int_eq(rule->reads[axis] == AD_READS_BLOCK, rule->mark != NULL);
        }
    }
}
END_TEST

/* A kind without rules is computed whole, and nothing is promised. */
START_TEST(test_unknown_kind)
{
    AD_EACH_OPERATOR(graph, op, i, CASES / 10)
    {
        struct ad_op unknown = *op;
        struct table out, in;
        struct ad_marks from_out = marks_in(&out), into = marks_in(&in);
        unknown.kind = AD_OP_COUNT;
        if (!fits(graph, op))
            continue;
        memset(&out, 1, sizeof out);
        ck_assert(!ad_op_splits(graph, &unknown));
        for (int k = 0; k < op->ninputs; k++) {
            struct ad_reads reads = ad_op_reads(graph, &unknown, k);
            ck_assert(!ad_reads_known(&reads));
            ck_assert(!ad_reads_whole(&reads));
            ad_reads_mark(graph, &unknown, k, &reads, &from_out, &into);
            ck_assert_int_eq(ad_marks_elements(&into, &graph->values[op->inputs[k]].box), 0);
            ck_assert_int_eq(ad_reads_least(graph, &unknown, k, &reads, &from_out), 0);
            ck_assert(!ad_reads_keep_share(graph, &unknown, k, &reads, &from_out, &into));
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reads");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_test(all, test_marks);
    tcase_add_test(all, test_shares);
    tcase_add_test(all, test_all_kinds);
    tcase_add_test(all, test_unknown_kind);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
