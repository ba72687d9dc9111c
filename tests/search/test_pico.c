/* Strategy pico: pieces and stages against enumeration, groups of devices that share a stage, and
 * what it is for. */
#include "base/mem.h"
#include "search/published/pico.h"
#include "search/published/ranges.h"
#include "support/run_suite.h"
#include "support/search_fixture.h"

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- pieces --- */

static void context_of(struct problem *p, uint64_t seed, struct ad_context *context,
                       double *seconds)
{
    ad_fixture_random(p, seed);
    ck_assert_int_eq(ad_context_init(context, &p->problem, NULL), ADAPS_OK);
    for (int i = 0; i < p->graph->nops; i++)
        seconds[i] = ad_whole_op_seconds(p->graph, &p->cluster.devices[0], i);
}

/* By op: the level; false when levels [begin, end) and what comes after it do not make a chain. */
static void levels_of(const struct ad_pico_pieces *pieces, int *level)
{
    for (int l = 0; l < pieces->nlevels; l++)
        for (int k = l > 0 ? pieces->level_end[l - 1] : 0; k < pieces->level_end[l]; k++)
            level[pieces->order[k]] = l;
}

/* What two halves of levels [begin, end) compute twice. */
static int64_t redundant_ns(const struct ad_pico_pieces *pieces, struct ad_ranges *ranges,
                            int begin, int end)
{
    double whole = 0;
    ad_ranges_begin(ranges, pieces->level_end[end - 1]);
    while (ranges->begin > (begin > 0 ? pieces->level_end[begin - 1] : 0)) {
        ad_ranges_extend(ranges);
        whole += ranges->seconds[2 * pieces->order[ranges->begin]];
    }
    int64_t ns = llround(1e9 * (ranges->compute_s[0] + ranges->compute_s[1] - whole));
    return ns > 0 ? ns : 0;
}

/* Whether every op of levels [begin, end) that reads something reads it of these, or of the piece
 * [before, begin), by the graph itself. */
static bool reads_the_last(const struct ad_graph *graph, const int *level, int before, int begin,
                           int end)
{
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++) {
            int producer = graph->values[graph->ops[i].inputs[k]].producer;
            if (level[i] >= begin && level[i] < end && producer >= 0 && level[producer] < before)
                return false;
        }
    return true;
}

struct enumeration {
    const struct ad_graph *graph;
    const struct ad_pico_pieces *pieces;
    struct ad_ranges *ranges;
    int level[64];
    int64_t least;
    int most; /* pieces with the least */
};

/* Goes on with all pieces that begin where the last one, which began at `before`, ended. A piece is
 * longer than AD_PIECE_LEVELS only if a shorter one leaves a reader behind. */
static void enumerate(struct enumeration *e, int before, int begin, int64_t worst, int count)
{
    int n = e->pieces->nlevels;
    if (begin == n) {
        if (worst < e->least || (worst == e->least && count > e->most)) {
            e->least = worst;
            e->most = count;
        }
        return;
    }
    for (int end = begin + 1; end <= n; end++) {
        bool left_behind = !reads_the_last(e->graph, e->level, begin, end, n);
        bool short_one_does = false;
        for (int k = begin + 1; k < end; k++)
            short_one_does = short_one_does || reads_the_last(e->graph, e->level, begin, k, n);
        if (left_behind || (end - begin > AD_PIECE_LEVELS && short_one_does))
            continue;
        ck_assert(reads_the_last(e->graph, e->level, before, begin, end));
        int64_t ns = redundant_ns(e->pieces, e->ranges, begin, end);
        enumerate(e, begin, end, ns > worst ? ns : worst, count + 1);
    }
}

START_TEST(pieces_are_the_best)
{
    int enumerated = 0, long_ones = 0;
    for (uint64_t seed = (uint64_t)_i * 40; seed < (uint64_t)_i * 40 + 40; seed++) {
        struct problem p;
        struct ad_context context;
        struct ad_pico_pieces pieces;
        struct ad_ranges ranges;
        double seconds[64];
        context_of(&p, seed + 900, &context, seconds);
        ck_assert_int_eq(ad_pico_pieces_find(&context, seconds, &pieces, NULL), ADAPS_OK);
        ck_assert_int_eq(
            ad_ranges_init(&ranges, &context, pieces.order, (double[]){1, 1}, 2, 0, NULL),
            ADAPS_OK);
        for (int i = 0; i < p.graph->nops; i++)
            ranges.seconds[2 * i] = ranges.seconds[2 * i + 1] = seconds[i];
        ck_assert_int_eq(pieces.end[pieces.count - 1], pieces.nlevels);
        if (pieces.nlevels <= 12) {
            struct enumeration e = {
                .graph = p.graph, .pieces = &pieces, .ranges = &ranges, .least = INT64_MAX};
            levels_of(&pieces, e.level);
            enumerate(&e, 0, 0, 0, 0);
            ck_assert_msg(e.least == pieces.redundant_ns, "seed %" PRIu64 ": %" PRId64 ", %" PRId64,
                          seed, e.least, pieces.redundant_ns);
            ck_assert_int_eq(e.most, pieces.count);
            enumerated++;
            long_ones += pieces.count < pieces.nlevels;
        }
        ad_ranges_fini(&ranges);
        ad_pico_pieces_fini(&pieces);
        ad_context_fini(&context);
        ad_fixture_fini(&p);
    }
    ck_assert_int_gt(enumerated, 10);
    ck_assert_int_gt(long_ones, 0);
}
END_TEST

/* A chain has a piece for each op; a way around three convolutions keeps them together with the
 * addition at the end, but for the first, which may belong to the piece before. */
START_TEST(ways_around_stay_together)
{
    struct problem p;
    struct ad_context context;
    struct ad_pico_pieces pieces;
    struct ad_builder b;
    double seconds[8];
    ad_build_init(&b, 4);
    int x = ad_build_input(&b, 1, 32, 32, 8), around;
    around = x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 8);
    for (int i = 0; i < 3; i++)
        x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 8);
    x = ad_build_binary(&b, AD_OP_ADD, x, around);
    x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 8);
    ad_build_output(&b, ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 8));
    ck_assert_int_eq(ad_build_finish(&b, &p.graph, NULL), ADAPS_OK);
    ad_fixture_devices(&p.cluster, 2);
    ad_fixture_fill(&p);
    ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
    for (int i = 0; i < 7; i++)
        seconds[i] = 1;
    ck_assert_int_eq(ad_pico_pieces_find(&context, seconds, &pieces, NULL), ADAPS_OK);
    ck_assert_int_eq(pieces.nlevels, 7);
    ck_assert_int_gt(pieces.redundant_ns, 0);
    /* {0, 1}, {2, 3, 4}, {5}, {6}, or {0, 1, 2}, {3, 4}, ... */
    ck_assert_int_eq(pieces.count, 4);
    ck_assert_int_eq(pieces.end[1], 5);
    ck_assert_int_eq(pieces.end[2], 6);
    ad_pico_pieces_fini(&pieces);
    ad_context_fini(&context);
    ad_fixture_fini(&p);
}
END_TEST

/* --- stages --- */

#define PIECES 6

/* The best of all pipelines that go on from `begin` with `left` devices. */
static void all_pipelines(const struct ad_pico *p, int begin, int left, double period, double sum,
                          double best[2])
{
    if (begin == p->npieces && (period < best[0] || (period == best[0] && sum < best[1]))) {
        best[0] = period;
        best[1] = sum;
    }
    for (int end = begin + 1; end <= p->npieces; end++)
        for (int size = 0; size < p->nsizes && p->sizes[size] <= left; size++) {
            double s = *ad_pico_stage_at(p, begin, end, size);
            all_pipelines(p, end, left - p->sizes[size], fmax(period, s), sum + s, best);
        }
}

START_TEST(stages_are_the_best)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct ad_rng rng = {seed};
        double table[(PIECES + 1) * (PIECES + 1) * 5], best[2] = {INFINITY, INFINITY}, sum = 0;
        struct ad_pico p = {
            .npieces = PIECES, .ndevices = 1 + (int)ad_rng_below(&rng, 5), .stage_s = table};
        for (int n = 1; n <= p.ndevices; n++)
            p.sizes[p.nsizes++] = n;
        for (int begin = 0; begin < PIECES; begin++)
            for (int end = begin + 1; end <= PIECES; end++)
                for (int size = 0; size < p.nsizes; size++) /* few values, so that some are equal */
                    *ad_pico_stage_at(&p, begin, end, size) =
                        (end - begin) * (1 + ad_rng_below(&rng, 8)) / (1.0 + size);
        ck_assert_int_eq(ad_pico_solve(&p, NULL), ADAPS_OK);
        all_pipelines(&p, 0, p.ndevices, 0, 0, best);
        ck_assert_msg(p.period_s == best[0], "seed %" PRIu64, seed);
        int at = 0, devices = 0;
        double longest = 0;
        for (int k = 0; k < p.nstages; k++) {
            ck_assert_int_eq(p.stages[k].begin, at);
            at = p.stages[k].end;
            devices += p.stages[k].devices;
            double s = *ad_pico_stage_at(&p, p.stages[k].begin, at, p.stages[k].devices - 1);
            longest = fmax(longest, s);
            sum += s;
        }
        ck_assert_int_eq(at, PIECES);
        ck_assert_int_le(devices, p.ndevices);
        ck_assert(longest == best[0]);
        ck_assert_double_eq_tol(sum, best[1], 1e-9);
    }
}
END_TEST

/* --- the strategy --- */

/* The devices that compute of an op, as bits. */
static unsigned sharing(const struct ad_search_result *r, int op)
{
    unsigned all = 0;
    for (int d = 0; d < r->assignment.ndevices; d++)
        if (!ad_region_empty(
                r->assignment.region[(size_t)op * (size_t)r->assignment.ndevices + (size_t)d]))
            all |= 1u << d;
    return all;
}

/* n convolutions; the third has a window of 9 and takes far longer than all others together. */
static void long_layer(struct problem *p, int ndevices)
{
    struct ad_builder b;
    struct adaps_error err = {0};
    ad_build_init(&b, 5);
    int x = ad_build_input(&b, 1, 48, 48, 4);
    for (int i = 0; i < 5; i++)
        x = i == 2 ? ad_build_conv(&b, x, ad_window_square(9, 1, 1, 4, 4), 1, 32)
                   : ad_build_conv(&b, x, ad_window_square(1, 1, 1, 0, 0), 1, 32);
    ad_build_output(&b, x);
    ck_assert_msg(ad_build_finish(&b, &p->graph, &err) == ADAPS_OK, "%s", err.message);
    ad_fixture_devices(&p->cluster, ndevices);
    for (int d = 0; d < ndevices; d++)
        p->cluster.devices[d].speed = 0.01;
    ad_fixture_fill(p);
    ad_cluster_override_links(&p->cluster, 1e9, 1e-6);
    p->problem.objective = AD_OBJECTIVE_THROUGHPUT;
}

/* A layer that outweighs the others gets more devices than one: a chain of devices cannot do that.
 * Stages follow each other, each on devices of its own. */
START_TEST(long_layers_are_shared)
{
    struct problem p;
    struct ad_search_result r, chain;
    unsigned before = 0, last = 0;
    long_layer(&p, 4);
    ad_fixture_run(&p, "pico", &r);
    ad_fixture_run(&p, "pipeline", &chain);
    ck_assert_int_ge(__builtin_popcount(sharing(&r, 2)), 2);
    ck_assert_int_gt(r.stream.frames, 1);
    ck_assert_msg((double)r.stream.interval_ns < 0.7 * (double)chain.stream.interval_ns,
                  "%" PRId64 " and %" PRId64, r.stream.interval_ns, chain.stream.interval_ns);
    for (int i = 0; i < p.graph->nops; i++) {
        unsigned now = sharing(&r, i);
        if (now == last)
            continue;
        ck_assert_uint_eq(now & (before | last), 0);
        before |= last;
        last = now;
    }
    ad_search_result_fini(&chain);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* Within a stage rows are divided by speed, and nothing is exchanged. */
START_TEST(parts_by_speed)
{
    struct problem p;
    struct ad_search_result r;
    long_layer(&p, 3);
    p.cluster.devices[1].speed = 0.03;
    p.cluster.devices[2].speed = 0.02;
    ad_fixture_run(&p, "pico", &r);
    unsigned all = sharing(&r, 2);
    ck_assert_int_ge(__builtin_popcount(all), 2);
    ck_assert(all >> 1 & 1); /* the fastest is where most is to do */
    double rows = 0, speed = 0;
    for (int d = 0; d < 3; d++)
        speed += all >> d & 1 ? p.cluster.devices[d].speed : 0;
    for (int d = 0; d < 3; d++)
        if (all >> d & 1) {
            struct ad_region mine = *ad_assigned(&r.assignment, 4, d);
            if (sharing(&r, 4) != all)
                mine = *ad_assigned(&r.assignment, 2, d);
            rows += mine.h1 - mine.h0;
            ck_assert_double_eq_tol(mine.h1 - mine.h0, 48 * p.cluster.devices[d].speed / speed,
                                    1.01);
        }
    ck_assert_double_eq_tol(rows, 48, 0.01);
    ad_search_result_fini(&r);
    ad_fixture_fini(&p);
}
END_TEST

/* Devices that share an op are of one group. group: [device]. */
static void find_groups(const struct problem *p, const struct ad_search_result *r, int *group)
{
    for (int d = 0; d < p->cluster.ndevices; d++)
        group[d] = d;
    for (int i = 0; i < p->graph->nops; i++) {
        unsigned all = sharing(r, i);
        int first = __builtin_ctz(all);
        for (int d = 0; d < p->cluster.ndevices; d++)
            for (int k = 0, old = group[d]; (all >> d & 1) && k < p->cluster.ndevices; k++)
                group[k] = group[k] == old ? group[first] : group[k];
    }
}

/* On random graphs: level after level, an inference goes from group to group and never back. What
 * is wanted of the latency makes no difference. */
START_TEST(stages_follow_each_other)
{
    int several = 0;
    for (uint64_t seed = (uint64_t)_i * 25; seed < (uint64_t)_i * 25 + 25; seed++) {
        struct problem p;
        struct ad_search_result r, soon;
        struct ad_context context;
        struct ad_pico_pieces pieces;
        double seconds[64] = {0};
        int group[AD_MAX_DEVICES], now = -1;
        unsigned left = 0;
        ad_fixture_random(&p, seed + 2000);
        ad_fixture_run(&p, "pico", &soon);
        p.problem.objective = AD_OBJECTIVE_THROUGHPUT;
        ad_fixture_run(&p, "pico", &r);
        ck_assert_msg(ad_assignment_same(&r.assignment, &soon.assignment), "seed %" PRIu64, seed);
        find_groups(&p, &r, group);
        ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_pico_pieces_find(&context, seconds, &pieces, NULL), ADAPS_OK);
        for (int k = 0; k < p.graph->nops; k++) {
            int here = group[__builtin_ctz(sharing(&r, pieces.order[k]))];
            ck_assert_msg(here == now || !(left >> here & 1), "seed %" PRIu64 ", op %d", seed,
                          pieces.order[k]);
            if (here != now && now >= 0) {
                left |= 1u << now;
                several++;
            }
            now = here;
        }
        ad_pico_pieces_fini(&pieces);
        ad_context_fini(&context);
        ad_search_result_fini(&soon);
        ad_search_result_fini(&r);
        ad_fixture_fini(&p);
    }
    ck_assert_int_gt(several, 0);
}
END_TEST

START_TEST(without_memory)
{
    struct problem p;
    long_layer(&p, 3);
    ad_fixture_without_memory(&p, "pico");
    ad_fixture_fini(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pico");
    TCase *c = tcase_create("pico");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, pieces_are_the_best, 0, 4);
    tcase_add_test(c, ways_around_stay_together);
    tcase_add_test(c, stages_are_the_best);
    tcase_add_test(c, long_layers_are_shared);
    tcase_add_test(c, parts_by_speed);
    tcase_add_loop_test(c, stages_follow_each_other, 0, 4);
    tcase_add_test(c, without_memory);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
