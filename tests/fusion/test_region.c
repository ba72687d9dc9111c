/* fusion/region: boxes and sets against bitmaps; need, yield, allow, pads against naive_reads. */
#include "support/fused.h"
#include "support/naive_reads.h"
#include "support/random_graph.h"
#include "support/random_operator.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

#define SIDE 6 /* of the bitmaps of the algebra tests */
#define CASES 3000

#define EACH_CASE(graph, op, i) AD_EACH_OPERATOR(graph, op, i, CASES)

static int below(struct ad_rng *rng, int64_t n)
{
    return (int)ad_rng_below(rng, (uint32_t)n);
}

/* A random interval of [0, n), empty now and then. */
static void random_interval(struct ad_rng *rng, int64_t n, int32_t *lo, int32_t *hi)
{
    int32_t a = below(rng, n + 1), b = below(rng, n + 1);
    *lo = a < b ? a : b;
    *hi = a < b ? b : a;
    if (*lo == *hi && below(rng, 3)) {
        *lo = 0;
        *hi = (int32_t)n;
    }
}

static struct ad_region random_box(struct ad_rng *rng, struct ad_region in)
{
    struct ad_region r;
    random_interval(rng, in.h1, &r.h0, &r.h1);
    random_interval(rng, in.w1, &r.w0, &r.w1);
    random_interval(rng, in.c1, &r.c0, &r.c1);
    return r;
}

static bool inside(struct ad_region r, int h, int w, int c)
{
    return h >= r.h0 && h < r.h1 && w >= r.w0 && w < r.w1 && c >= r.c0 && c < r.c1;
}

static const struct ad_region cube = {0, SIDE, 0, SIDE, 0, SIDE};

#define EACH(h, w, c)                                                                              \
    for (int h = 0; h < SIDE; h++)                                                                 \
        for (int w = 0; w < SIDE; w++)                                                             \
            for (int c = 0; c < SIDE; c++)

START_TEST(test_boxes)
{
    struct ad_rng rng = {11};
    for (int round = 0; round < 2000; round++) {
        struct ad_region a = random_box(&rng, cube), b = random_box(&rng, cube);
        struct ad_region both = ad_region_intersect(a, b), hull = ad_region_hull(a, b);
        struct ad_region bound = {SIDE, 0, SIDE, 0, SIDE, 0};
        bool within = true, same = true, right = true; /* asserting each element would be slow */
        int count = 0, in_either = 0;
        EACH(h, w, c)
        {
            bool in_a = inside(a, h, w, c), in_b = inside(b, h, w, c);
            count += in_a;
            in_either += in_a || in_b;
            within &= in_a || !in_b;
            same &= in_a == in_b;
            right &= inside(both, h, w, c) == (in_a && in_b);
            if (in_a || in_b) {
                bound.h0 = h < bound.h0 ? h : bound.h0;
                bound.h1 = h >= bound.h1 ? h + 1 : bound.h1;
                bound.w0 = w < bound.w0 ? w : bound.w0;
                bound.w1 = w >= bound.w1 ? w + 1 : bound.w1;
                bound.c0 = c < bound.c0 ? c : bound.c0;
                bound.c1 = c >= bound.c1 ? c + 1 : bound.c1;
            }
        }
        ck_assert(right);
        ck_assert_int_eq(ad_region_elements(a), count);
        ck_assert_int_eq(ad_region_pixels(a) * (count ? a.c1 - a.c0 : 1), count);
        ck_assert_int_eq(ad_region_contains(a, b), within);
        ck_assert_int_eq(ad_region_equal(a, b), same);
        ck_assert(ad_region_equal(hull, in_either ? bound : ad_region_none()));
        ck_assert_int_eq(ad_region_empty(a), count == 0);
    }
    struct ad_region huge = {INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX};
    ck_assert_int_eq(ad_region_elements(huge), INT64_MAX);
}
END_TEST

static bool sorted(struct ad_region a, struct ad_region b)
{
    if (a.h0 != b.h0)
        return a.h0 < b.h0;
    return a.w0 != b.w0 ? a.w0 < b.w0 : a.c0 < b.c0;
}

START_TEST(test_subtract)
{
    struct ad_rng rng = {12};
    for (int round = 0; round < 3000; round++) {
        struct ad_region a = random_box(&rng, cube), b = random_box(&rng, cube), pieces[6];
        int n = ad_region_subtract(a, b, pieces);
        ck_assert_int_le(n, 6);
        for (int i = 0; i < n; i++) {
            ck_assert(!ad_region_empty(pieces[i]));
            ck_assert(i == 0 || sorted(pieces[i - 1], pieces[i]));
        }
        bool right = true;
        EACH(h, w, c)
        {
            int times = 0;
            for (int i = 0; i < n; i++)
                times += inside(pieces[i], h, w, c);
            right &= times == (inside(a, h, w, c) && !inside(b, h, w, c));
        }
        ck_assert(right);
    }
    /* rows first: two whole bands and what is left of the middle one */
    struct ad_region pieces[6], hole = {2, 4, 1, 5, 0, SIDE};
    ck_assert_int_eq(ad_region_subtract(cube, hole, pieces), 4);
    ck_assert(ad_region_equal(pieces[0], (struct ad_region){0, 2, 0, SIDE, 0, SIDE}));
    ck_assert(ad_region_equal(pieces[3], (struct ad_region){4, 6, 0, SIDE, 0, SIDE}));
}
END_TEST

START_TEST(test_format)
{
    char buf[64];
    struct ad_region whole = {0, 112, 0, 28, 0, 64};
    ck_assert_str_eq(ad_region_format((struct ad_region){56, 112, 0, 28, 0, 64}, whole, buf, 64),
                     "56:112");
    ck_assert_str_eq(ad_region_format((struct ad_region){56, 112, 0, 14, 0, 64}, whole, buf, 64),
                     "56:112,0:14");
    ck_assert_str_eq(ad_region_format((struct ad_region){0, 112, 0, 28, 0, 32}, whole, buf, 64),
                     "0:112,0:28,0:32");
    ck_assert_str_eq(ad_region_format((struct ad_region){5, 5, 0, 28, 0, 64}, whole, buf, 64),
                     "none");
    ck_assert_str_eq(ad_region_format(whole, whole, buf, 4), "0:1");
}
END_TEST

static void check_set(const struct ad_region_set *set, bool model[SIDE][SIDE][SIDE])
{
    struct ad_region hull = ad_region_none();
    bool right = true;
    for (size_t i = 0; i < set->count; i++)
        ck_assert(!ad_region_empty(set->boxes[i]));
    EACH(h, w, c)
    {
        int times = 0;
        for (size_t i = 0; i < set->count; i++)
            times += inside(set->boxes[i], h, w, c);
        right &= times == model[h][w][c];
        if (model[h][w][c])
            hull = ad_region_hull(hull, (struct ad_region){h, h + 1, w, w + 1, c, c + 1});
    }
    ck_assert(right);
    ck_assert(ad_region_equal(ad_region_set_hull(set), hull));
}

START_TEST(test_sets)
{
    struct ad_rng rng = {13};
    for (int round = 0; round < 60; round++) {
        struct ad_region_set set = {0};
        bool model[SIDE][SIDE][SIDE] = {{{false}}};
        for (int step = 0; step < 30; step++) {
            struct ad_region r = random_box(&rng, cube), asked = random_box(&rng, cube);
            if (below(&rng, 3)) /* boxes that differ in one dimension may join */
                r.h0 = 1, r.h1 = 4;
            if (below(&rng, 3))
                r.c0 = 2, r.c1 = 5;
            bool add = below(&rng, 2);
            size_t before = set.count;
            bool starve = below(&rng, 4) == 0, done;
            ad_mem_fail_after(starve ? 1 : 0);
            done = add ? ad_region_set_add(&set, r) : ad_region_set_remove(&set, r);
            ad_mem_fail_after(0);
            ck_assert(done || starve);
            ck_assert(done || set.count == before);
            bool covered = true;
            EACH(h, w, c)
            {
                if (done && inside(r, h, w, c))
                    model[h][w][c] = add;
                covered &= model[h][w][c] || !inside(asked, h, w, c);
            }
            check_set(&set, model);
            ck_assert_int_eq(ad_region_set_covers(&set, asked), covered);
        }
        ad_region_set_fini(&set);
        ck_assert_int_eq(set.count, 0);
    }
}
END_TEST

START_TEST(test_sets_join)
{
    struct ad_region_set set = {0};
    for (int i = 0; i < SIDE; i += 2) /* every other row, then the rows between */
        ck_assert(ad_region_set_add(&set, (struct ad_region){i, i + 1, 0, SIDE, 0, SIDE}));
    ck_assert_int_eq(set.count, 3);
    for (int i = 1; i < SIDE; i += 2)
        ck_assert(ad_region_set_add(&set, (struct ad_region){i, i + 1, 0, SIDE, 0, SIDE}));
    ck_assert_int_eq(set.count, 1);
    ck_assert(ad_region_equal(set.boxes[0], cube));
    ad_mem_fail_after(1);
    ck_assert(!ad_region_set_add(&(struct ad_region_set){0}, cube));
    ad_mem_fail_after(0);
    ad_region_set_fini(&set);
}
END_TEST

/* --- operators --- */

static struct ad_region whole_of(const struct ad_graph *graph, int value)
{
    return ad_region_whole(&graph->values[value]);
}

/* What reading marks: the bounding box of each input. */
struct marks {
    struct ad_region box[4];
};

static void mark(void *self, int k, int h, int w, int c)
{
    struct ad_region *box = &((struct marks *)self)->box[k];
    *box = ad_region_hull(*box, (struct ad_region){h, h + 1, w, w + 1, c, c + 1});
}

static struct marks marks_of(const struct ad_graph *graph, const struct ad_op *op,
                             struct ad_region out)
{
    struct marks marks = {0};
    for (int h = out.h0; h < out.h1; h++)
        for (int w = out.w0; w < out.w1; w++)
            for (int c = out.c0; c < out.c1; c++)
                ad_naive_reads(graph, op, h, w, c, mark, &marks);
    return marks;
}

static void assert_region(struct ad_region got, struct ad_region wanted, const char *what, int i,
                          const struct ad_op *op)
{
    struct ad_region unlike = {0};
    char a[80], b[80];
    ck_assert_msg(ad_region_equal(got, wanted), "case %d, %s: %s is %s, should be %s", i, op->name,
                  what, ad_region_format(got, unlike, a, sizeof a),
                  ad_region_format(wanted, unlike, b, sizeof b));
}

START_TEST(test_need)
{
    EACH_CASE(graph, op, i)
    {
        struct ad_rng rng = {(uint64_t)i};
        struct ad_region whole = whole_of(graph, op->output);
        for (int round = 0; round < 6; round++) {
            struct ad_region out = round == 0 ? whole : random_box(&rng, whole);
            struct ad_region part = ad_region_intersect(out, random_box(&rng, whole));
            struct marks marks = marks_of(graph, op, out);
            for (int k = 0; k < op->ninputs; k++) {
                struct ad_region need = ad_need(graph, op, k, out);
                assert_region(need, marks.box[k], "need", i, op);
                ck_assert(ad_region_contains(need, ad_need(graph, op, k, part)));
            }
        }
        struct ad_region beyond = {-3, whole.h1 + 5, -1, whole.w1 + 1, -7, INT32_MAX};
        assert_region(ad_need(graph, op, 0, beyond), ad_need(graph, op, 0, whole),
                      "need of more than there is", i, op);
    }
}
END_TEST

/* Whether all that is read lies in `have`. */
struct presence {
    const struct ad_region *have;
    bool all;
};

static void look(void *self, int k, int h, int w, int c)
{
    struct presence *p = self;
    p->all &= inside(p->have[k], h, w, c);
}

#define ROOM 32 /* more than any dimension of the outputs here */

/* ok[h][w][c] as sums over everything before h, w, c. */
static int sums[ROOM + 1][ROOM + 1][ROOM + 1];

static void sum_computable(const struct ad_graph *graph, const struct ad_op *op,
                           const struct ad_region *have)
{
    struct ad_region out = whole_of(graph, op->output);
    ck_assert(out.h1 <= ROOM && out.w1 <= ROOM && out.c1 <= ROOM);
    for (int h = 0; h < out.h1; h++)
        for (int w = 0; w < out.w1; w++)
            for (int c = 0; c < out.c1; c++) {
                struct presence p = {have, true};
                ad_naive_reads(graph, op, h, w, c, look, &p);
                sums[h + 1][w + 1][c + 1] = p.all + sums[h][w + 1][c + 1] + sums[h + 1][w][c + 1] +
                                            sums[h + 1][w + 1][c] - sums[h][w][c + 1] -
                                            sums[h][w + 1][c] - sums[h + 1][w][c] + sums[h][w][c];
            }
}

static int computable_in(struct ad_region r)
{
    return sums[r.h1][r.w1][r.c1] - sums[r.h0][r.w1][r.c1] - sums[r.h1][r.w0][r.c1] -
           sums[r.h1][r.w1][r.c0] + sums[r.h0][r.w0][r.c1] + sums[r.h0][r.w1][r.c0] +
           sums[r.h1][r.w0][r.c0] - sums[r.h0][r.w0][r.c0];
}

#define EACH_BOX(r, whole)                                                                         \
    for (struct ad_region r = {0, 1, 0, 1, 0, 1}; r.h0 < (whole).h1; r.h0++)                       \
        for (r.h1 = r.h0 + 1; r.h1 <= (whole).h1; r.h1++)                                          \
            for (r.w0 = 0; r.w0 < (whole).w1; r.w0++)                                              \
                for (r.w1 = r.w0 + 1; r.w1 <= (whole).w1; r.w1++)                                  \
                    for (r.c0 = 0; r.c0 < (whole).c1; r.c0++)                                      \
                        for (r.c1 = r.c0 + 1; r.c1 <= (whole).c1; r.c1++)

static int64_t largest_computable(struct ad_region whole)
{
    int64_t best = 0;
    EACH_BOX(r, whole)
    {
        int64_t size = (int64_t)(r.h1 - r.h0) * (r.w1 - r.w0) * (r.c1 - r.c0);
        if (size > best && computable_in(r) == size)
            best = size;
    }
    return best;
}

/* A region of an input that may be there: any box, or most of it, or all; of values without parts
 * all or nothing. */
static struct ad_region random_present(struct ad_rng *rng, const struct ad_value *value)
{
    struct ad_region whole = ad_region_whole(value), r = random_box(rng, whole);
    int style = below(rng, 4);
    if (value->constant >= 0)
        return whole;
    if (value->format == AD_PLAIN && value->rank != 2)
        return style ? whole : ad_region_none();
    if (style < 2)
        r.c0 = whole.c0, r.c1 = whole.c1;
    if (style == 1)
        r.w0 = whole.w0, r.w1 = whole.w1;
    if (style == 0 && below(rng, 2))
        r = whole;
    return r;
}

START_TEST(test_yield)
{
    int nonempty = 0;
    EACH_CASE(graph, op, i)
    {
        struct ad_rng rng = {(uint64_t)i};
        struct ad_region whole = whole_of(graph, op->output), have[4], given[4], less[4];
        for (int round = 0; round < 3 && whole.c1 <= ROOM; round++) {
            for (int k = 0; k < op->ninputs; k++) {
                const struct ad_value *in = &graph->values[op->inputs[k]];
                have[k] = given[k] = random_present(&rng, in);
                less[k] = ad_region_intersect(have[k], random_present(&rng, in));
                if (in->constant >= 0)
                    given[k] = ad_region_none(); /* must make no difference */
            }
            struct ad_region out = ad_yield(graph, op, given);
            sum_computable(graph, op, have);
            int64_t best = largest_computable(whole);
            ck_assert_msg(ad_region_elements(out) == best, "case %d, %s: %d instead of %d", i,
                          op->name, (int)ad_region_elements(out), (int)best);
            ck_assert(ad_region_contains(whole, out));
            ck_assert(ad_region_empty(out) || computable_in(out) == best);
            for (int k = 0; k < op->ninputs; k++)
                ck_assert(ad_region_contains(have[k], ad_need(graph, op, k, out)));
            ck_assert_int_le(ad_region_elements(ad_yield(graph, op, less)), best);
            nonempty += best > 0;
        }
    }
    ck_assert_int_gt(nonempty, CASES / 2);
}
END_TEST

START_TEST(test_yield_of_need)
{
    EACH_CASE(graph, op, i)
    {
        struct ad_rng rng = {(uint64_t)i};
        struct ad_region whole = whole_of(graph, op->output), have[4];
        struct ad_region out = random_box(&rng, whole);
        for (int k = 0; k < op->ninputs; k++)
            have[k] = ad_need(graph, op, k, out);
        ck_assert_int_ge(ad_region_elements(ad_yield(graph, op, have)), ad_region_elements(out));
    }
}
END_TEST

START_TEST(test_allow)
{
    int grew = 0;
    EACH_CASE(graph, op, i)
    {
        struct ad_rng rng = {(uint64_t)i};
        struct ad_region whole = whole_of(graph, op->output);
        for (int round = 0; round < 2 && whole.c1 <= ROOM; round++) {
            struct ad_region out = random_box(&rng, whole);
            if (below(&rng, 2)) { /* one pixel */
                out.h1 = out.h0 + (out.h0 < whole.h1);
                out.w1 = out.w0 + (out.w0 < whole.w1);
            }
            struct ad_region grown = ad_region_allow(graph, op, out);
            int64_t best = INT64_MAX;
            bool agrees = true;
            ck_assert(ad_region_contains(grown, out));
            ck_assert(ad_region_allowed(graph, op, grown));
            ck_assert_int_eq(ad_region_empty(grown), ad_region_empty(out));
            if (ad_region_empty(out))
                continue;
            EACH_BOX(r, whole)
            {
                bool allowed = ad_naive_allowed(graph, op, r.h0, r.h1, r.w0, r.w1, r.c0, r.c1);
                agrees &= ad_region_allowed(graph, op, r) == allowed;
                int64_t size = (int64_t)(r.h1 - r.h0) * (r.w1 - r.w0) * (r.c1 - r.c0);
                if (allowed && size < best && ad_region_contains(r, out))
                    best = size;
            }
            ck_assert_msg(agrees, "case %d, %s: ad_region_allowed", i, op->name);
            ck_assert_int_eq(ad_region_elements(grown), best);
            grew += !ad_region_equal(grown, out);
        }
        struct ad_region beyond = whole;
        beyond.h1++;
        ck_assert(!ad_region_allowed(graph, op, beyond));
        beyond = whole;
        beyond.c0--;
        ck_assert(!ad_region_allowed(graph, op, beyond));
        ck_assert(ad_region_allowed(graph, op, whole));
        ck_assert(ad_region_allowed(graph, op, ad_region_none()));
    }
    ck_assert_int_gt(grew, CASES / 10);
}
END_TEST

/* Walks the windows of outputs o0..o1 over `before` padding, the inputs i0..i1, `after` padding
 * and compares each tap's place with the definition's. */
static void check_pads(int o0, int o1, int i0, int i1, int before, int after, int k, int s, int d,
                       int pad, int size)
{
    ck_assert_int_ge(before, 0);
    ck_assert_int_ge(after, 0);
    ck_assert_int_eq(before + i1 - i0 + after, (o1 - 1 - o0) * s + (k - 1) * d + 1);
    for (int o = o0; o < o1; o++)
        for (int j = 0; j < k; j++) {
            int wanted = o * s + j * d - pad, at = (o - o0) * s + j * d - before + i0;
            bool real = wanted >= 0 && wanted < size;
            ck_assert_int_eq(real, at >= i0 && at < i1);
            if (real)
                ck_assert_int_eq(at, wanted);
        }
}

START_TEST(test_pads)
{
    EACH_CASE(graph, op, i)
    {
        struct ad_rng rng = {(uint64_t)i};
        struct ad_box box = graph->values[op->inputs[0]].box;
        struct ad_region whole = whole_of(graph, op->output);
        const struct ad_window *n = &op->window;
        if (i % 2 == 0)
            continue;
        for (int round = 0; round < 8; round++) {
            struct ad_region out = round ? random_box(&rng, whole) : whole;
            struct ad_region in = ad_need(graph, op, 0, out);
            struct ad_tile_pads pads = ad_tile_pads(graph, op, out);
            if (ad_region_empty(out)) {
                ck_assert(!pads.top && !pads.left && !pads.bottom && !pads.right);
            } else if (ad_region_empty(in)) {
                ck_assert_int_eq(pads.top, (out.h1 - 1 - out.h0) * n->sh + (n->kh - 1) * n->dh + 1);
                ck_assert_int_eq(pads.left,
                                 (out.w1 - 1 - out.w0) * n->sw + (n->kw - 1) * n->dw + 1);
                ck_assert(!pads.bottom && !pads.right);
            } else {
                check_pads(out.h0, out.h1, in.h0, in.h1, pads.top, pads.bottom, n->kh, n->sh, n->dh,
                           n->pt, (int)box.h);
                check_pads(out.w0, out.w1, in.w0, in.w1, pads.left, pads.right, n->kw, n->sw, n->dw,
                           n->pl, (int)box.w);
            }
        }
    }
}
END_TEST

START_TEST(test_weights)
{
    EACH_CASE(graph, op, i)
    {
        struct ad_rng rng = {(uint64_t)i};
        struct ad_region out = random_box(&rng, whole_of(graph, op->output));
        int64_t r0 = -1, r1 = -1;
        ad_weight_slice(graph, op, out, &r0, &r1);
        bool sliced = op->weight >= 0 && !ad_region_empty(out);
        ck_assert_int_eq(r0, sliced ? out.c0 : 0);
        ck_assert_int_eq(r1, sliced ? out.c1 : 0);
        if (sliced)
            ck_assert_int_le(r1, graph->weights[op->weight].rows);
    }
}
END_TEST

/* A few by hand, so that a mistake shared with the naive model would show. */
START_TEST(test_known)
{
    struct ad_builder b;
    struct ad_graph *graph;
    ad_build_init(&b, 1);
    int x = ad_build_input(&b, 1, 8, 8, 4);
    ad_build_output(&b, ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 6));
    ad_build_output(&b, ad_build_conv(&b, x, ad_window_square(3, 2, 1, 0, 1), 2, 6));
    ad_build_output(&b, ad_build_conv(&b, x, ad_window_square(2, 1, 3, 2, 2), 4, 8));
    ad_build_output(&b, ad_build_pool(&b, AD_OP_MAXPOOL, x, ad_window_square(1, 3, 1, 0, 0)));
    ad_build_output(&b, ad_build_lrn(&b, x, 2));
    ck_assert_int_eq(ad_build_finish(&b, &graph, NULL), ADAPS_OK);
    const struct ad_op *op = graph->ops;
    struct ad_region out = {2, 4, 0, 8, 1, 2};
    ck_assert(
        ad_region_equal(ad_need(graph, &op[0], 0, out), (struct ad_region){1, 5, 0, 8, 0, 4}));
    out = (struct ad_region){1, 3, 3, 4, 0, 3}; /* rows 2..6, columns 6..8, first group */
    ck_assert(
        ad_region_equal(ad_need(graph, &op[1], 0, out), (struct ad_region){2, 7, 6, 8, 0, 2}));
    out = (struct ad_region){0, 1, 0, 2, 2, 4}; /* -2 and 1; -2..-1 and 1..2; channel 1 */
    ck_assert(
        ad_region_equal(ad_need(graph, &op[2], 0, out), (struct ad_region){1, 2, 1, 3, 1, 2}));
    struct ad_tile_pads pads = ad_tile_pads(graph, &op[2], out);
    ck_assert(pads.top == 3 && pads.bottom == 0 && pads.left == 3 && pads.right == 0);
    out = (struct ad_region){0, 2, 2, 3, 0, 4};
    ck_assert(
        ad_region_equal(ad_need(graph, &op[3], 0, out), (struct ad_region){0, 4, 6, 7, 0, 4}));
    out = (struct ad_region){0, 1, 0, 1, 1, 2}; /* size 2: itself and the next */
    ck_assert(
        ad_region_equal(ad_need(graph, &op[4], 0, out), (struct ad_region){0, 1, 0, 1, 1, 3}));
    struct ad_region have = {0, 5, 0, 8, 0, 4};
    ck_assert(
        ad_region_equal(ad_yield(graph, &op[0], &have), (struct ad_region){0, 4, 0, 8, 0, 6}));
    have.c1 = 3; /* the second group is not whole */
    ck_assert(
        ad_region_equal(ad_yield(graph, &op[1], &have), (struct ad_region){0, 2, 0, 4, 0, 3}));
    ad_graph_free(graph);
}
END_TEST

/* A run of concat operands ends at the first gap in c. */
START_TEST(test_concat_gap)
{
    struct ad_builder b;
    struct ad_graph *graph;
    int v[3];
    ad_build_init(&b, 1);
    for (int i = 0; i < 3; i++)
        v[i] = ad_build_input(&b, 1, 4, 4, 3);
    ad_build_output(&b, ad_build_concat(&b, v, 3));
    ck_assert_int_eq(ad_build_finish(&b, &graph, NULL), ADAPS_OK);
    const struct ad_op *op = graph->ops;
    struct ad_region have[3] = {{0, 4, 0, 4, 1, 3}, {0, 4, 0, 4, 0, 2}, {0, 4, 0, 4, 0, 3}};
    ck_assert(ad_region_equal(ad_yield(graph, op, have), (struct ad_region){0, 4, 0, 4, 1, 5}));
    have[1].c1 = 3;
    ck_assert(ad_region_equal(ad_yield(graph, op, have), (struct ad_region){0, 4, 0, 4, 1, 9}));
    have[1].h1 = 1; /* eight channels of a row are less than three of four rows */
    ck_assert(ad_region_equal(ad_yield(graph, op, have), (struct ad_region){0, 4, 0, 4, 6, 9}));
    ck_assert(ad_region_empty(ad_need(graph, op, 0, (struct ad_region){0, 4, 0, 4, 3, 9})));
    ck_assert(ad_region_equal(ad_need(graph, op, 1, (struct ad_region){1, 2, 0, 4, 2, 5}),
                              (struct ad_region){1, 2, 0, 4, 0, 2}));
    ad_graph_free(graph);
}
END_TEST

/* Kernel 1 with padding 2 on both sides: the outer outputs are bias alone. */
START_TEST(test_padding_only)
{
    struct ad_builder b;
    struct ad_graph *graph;
    ad_build_init(&b, 1);
    int x = ad_build_input(&b, 1, 3, 4, 2);
    ad_build_output(&b, ad_build_conv(&b, x, ad_window_square(1, 1, 1, 2, 2), 1, 3));
    ck_assert_int_eq(ad_build_finish(&b, &graph, NULL), ADAPS_OK);
    const struct ad_op *op = graph->ops;
    struct ad_region top = {0, 2, 0, 8, 0, 3}, nothing = ad_region_none();
    ck_assert(ad_region_empty(ad_need(graph, op, 0, top)));
    ck_assert(ad_region_equal(ad_yield(graph, op, &nothing), top));
    ck_assert(!ad_region_allowed(graph, op, top));
    ck_assert(
        ad_region_equal(ad_region_allow(graph, op, top), (struct ad_region){0, 3, 0, 8, 0, 3}));
    ad_graph_free(graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("region");
    TCase *algebra = tcase_create("algebra"), *operators = tcase_create("operators");
    tcase_add_test(algebra, test_boxes);
    tcase_add_test(algebra, test_subtract);
    tcase_add_test(algebra, test_format);
    tcase_add_test(algebra, test_sets);
    tcase_add_test(algebra, test_sets_join);
    tcase_set_timeout(operators, 120);
    tcase_add_test(operators, test_need);
    tcase_add_test(operators, test_yield);
    tcase_add_test(operators, test_yield_of_need);
    tcase_add_test(operators, test_allow);
    tcase_add_test(operators, test_pads);
    tcase_add_test(operators, test_weights);
    tcase_add_test(operators, test_known);
    tcase_add_test(operators, test_concat_gap);
    tcase_add_test(operators, test_padding_only);
    suite_add_tcase(suite, algebra);
    suite_add_tcase(suite, operators);
    return run_suite(suite);
}
