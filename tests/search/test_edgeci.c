/* Strategy edgeci: the auction and the programme against enumeration; ranges against the layouts
 * that they stand for. */
#include "base/mem.h"
#include "search/layout_regions.h"
#include "search/published/edgeci.h"
#include "search/published/ranges.h"
#include "support/run_suite.h"
#include "support/search_fixture.h"

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- the auction --- */

/* The last bidder to be done, if no other way to deal the lots is better, with these limits. */
static double least_of_all(const struct ad_bidder b[3])
{
    double least = INFINITY;
    for (int i = 0; i <= AD_LOTS && i <= b[0].most; i++)
        for (int k = 0; i + k <= AD_LOTS && k <= b[1].most; k++)
            if (AD_LOTS - i - k <= b[2].most)
                least = fmin(least, fmax(ad_bidder_seconds(&b[0], i),
                                         fmax(ad_bidder_seconds(&b[1], k),
                                              ad_bidder_seconds(&b[2], AD_LOTS - i - k))));
    return least;
}

START_TEST(auctions_are_the_best)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct ad_rng rng = {seed};
        struct ad_bidder b[3];
        int lots[3], sum = 0;
        double last = 0;
        for (int d = 0; d < 3; d++)
            b[d] = (struct ad_bidder){
                .lot_s = 1e-4 * (1 + ad_rng_below(&rng, 30)),
                .lot_bytes = 1000,
                .bandwidth = 1e5 * (1 + ad_rng_below(&rng, 100)),
                .delay_s = 1e-3 * ad_rng_below(&rng, 5),
                .most = d == 0 || ad_rng_below(&rng, 3) ? AD_LOTS : (int)ad_rng_below(&rng, 20)};
        ad_auction(b, 3, 0, lots);
        for (int d = 0; d < 3; d++) {
            ck_assert(lots[d] >= 0 && lots[d] <= b[d].most);
            sum += lots[d];
            last = fmax(last, ad_bidder_seconds(&b[d], lots[d]));
        }
        ck_assert_int_eq(sum, AD_LOTS);
        ck_assert_msg(last <= least_of_all(b) * (1 + 1e-12), "seed %" PRIu64 ": %g, not %g", seed,
                      last, least_of_all(b));
    }
}
END_TEST

START_TEST(nobody_has_the_memory)
{
    struct ad_bidder b[2] = {{.lot_s = 1, .bandwidth = 1, .most = 10},
                             {.lot_s = 2, .bandwidth = 1, .most = 20}};
    int lots[2];
    ad_auction(b, 2, 1, lots);
    ck_assert_int_eq(lots[0], 10);
    ck_assert_int_eq(lots[1], AD_LOTS - 10);
}
END_TEST

/* Speed, memory and bandwidth each decide what a device gets. */
START_TEST(bids)
{
    struct problem p;
    struct ad_context context;
    struct ad_edgeci e;
    int lots[4][3];
    for (int what = 0; what < 4; what++) {
        ad_fixture_small(&p, 3); /* speeds 2 : 1 : 1 */
        ad_cluster_override_links(&p.cluster, 1e12, 0);
        if (what == 1)
            p.cluster.devices[2].speed *= 2;
        if (what == 2)
            p.cluster.devices[2].memory = 100000; /* of two maps of 256 KiB and few weights */
        for (int d = 0; d < 2 && what == 3; d++) {
            p.cluster.links[d * 3 + 2].bandwidth = 1e5;
            p.cluster.links[2 * 3 + d].bandwidth = 1e5;
        }
        ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_edgeci_init(&e, &context, NULL), ADAPS_OK);
        memcpy(lots[what], e.lots, sizeof lots[what]);
        ad_edgeci_fini(&e);
        ad_context_fini(&context);
        ad_fixture_fini(&p);
    }
    ck_assert(lots[0][0] == 32 && lots[0][1] == 16 && lots[0][2] == 16);
    ck_assert_int_gt(lots[1][2], lots[0][2] + 5);
    ck_assert(lots[2][2] > 0 && lots[2][2] < lots[0][2] - 2);
    ck_assert_int_lt(lots[3][2], lots[0][2] - 2);
}
END_TEST

/* --- blocks --- */

/* The least sum of blocks of all ways to end them. */
static double least_sum(const struct ad_edgeci *e)
{
    double least = INFINITY;
    for (unsigned ends = 0; ends < 1u << (e->nplaces - 1); ends++) {
        double sum = 0;
        for (int end = 1, begin = 0; end <= e->nplaces; end++)
            if (end == e->nplaces || ends >> (end - 1) & 1) {
                sum += e->block_s[begin * (e->nplaces + 1) + end];
                begin = end;
            }
        least = fmin(least, sum);
    }
    return least;
}

START_TEST(blocks_are_the_best)
{
    int several = 0, fused = 0;
    for (uint64_t seed = (uint64_t)_i * 40; seed < (uint64_t)_i * 40 + 40; seed++) {
        struct problem p;
        struct ad_context context;
        struct ad_edgeci e;
        double sum = 0;
        int blocks = 0;
        ad_fixture_random(&p, seed + 3000);
        ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_edgeci_init(&e, &context, NULL), ADAPS_OK);
        ck_assert_int_eq(e.place[e.nplaces], p.graph->nops);
        for (int end = 1, begin = 0; end <= e.nplaces; end++)
            if (e.ends[end]) {
                sum += e.block_s[begin * (e.nplaces + 1) + end];
                begin = end;
                blocks++;
            }
        ck_assert_double_eq_tol(sum, e.total_s, 1e-9 * sum);
        if (e.nplaces <= 14) {
            ck_assert_msg(fabs(e.total_s - least_sum(&e)) <= 1e-9 * sum, "seed %" PRIu64, seed);
            several += blocks > 1;
            fused += blocks < e.nplaces;
        }
        ad_edgeci_fini(&e);
        ad_context_fini(&context);
        ad_fixture_fini(&p);
    }
    ck_assert_int_gt(several, 5);
    ck_assert_int_gt(fused, 5);
}
END_TEST

/* Slow links: fewer blocks, and what they save is computed twice. */
START_TEST(slow_links_fuse)
{
    struct problem p;
    struct ad_context context;
    struct ad_edgeci e;
    int blocks[2] = {0};
    for (int slow = 0; slow < 2; slow++) {
        ad_fixture_small(&p, 3);
        ad_cluster_override_links(&p.cluster, slow ? 5e6 : 1e12, 0);
        ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_edgeci_init(&e, &context, NULL), ADAPS_OK);
        for (int end = 1; end <= e.nplaces; end++)
            blocks[slow] += e.ends[end];
        ad_edgeci_fini(&e);
        ad_context_fini(&context);
        ad_fixture_fini(&p);
    }
    ck_assert_int_lt(blocks[1], blocks[0]);
}
END_TEST

/* --- ranges --- */

/* A layout with the lots as parts, pinned where blocks end; what its devices compute, and what they
 * fetch, in the model's terms. */
static void by_layout(const struct problem *p, const struct ad_context *context,
                      const struct ad_layout *layout, const double *seconds, double *compute_s,
                      double *fetched)
{
    int n = p->cluster.ndevices;
    struct ad_assignment a;
    bool exchange[64];
    ck_assert_int_eq(ad_assignment_init(&a, p->graph->nops, n, NULL), ADAPS_OK);
    ad_layout_regions(p->graph, context->problem->cluster->source, layout, exchange, &a);
    for (int d = 0; d < n; d++)
        compute_s[d] = fetched[d] = 0;
    for (int i = 0; i < p->graph->nops; i++)
        for (int d = 0; d < n; d++) {
            const struct ad_value *out = &p->graph->values[p->graph->ops[i].output];
            compute_s[d] += seconds[i * n + d] *
                            (double)ad_region_elements(*ad_assigned(&a, i, d)) /
                            (double)ad_region_elements(ad_region_whole(out));
        }
    for (int v = 0; v < p->graph->nvalues; v++)
        for (int d = 0; d < n; d++) {
            struct ad_region reads = ad_region_none(), has = ad_region_none();
            const struct ad_value *value = &p->graph->values[v];
            if (value->constant >= 0)
                continue;
            for (int i = 0; i < p->graph->nops; i++)
                for (int k = 0; k < p->graph->ops[i].ninputs; k++)
                    if (p->graph->ops[i].inputs[k] == v && !ad_region_empty(*ad_assigned(&a, i, d)))
                        reads = ad_region_hull(
                            reads, ad_need(p->graph, &p->graph->ops[i], k, *ad_assigned(&a, i, d)));
            if (value->producer >= 0)
                has = *ad_assigned(&a, value->producer, d);
            else if (d == p->cluster.source)
                has = ad_region_whole(value);
            fetched[d] +=
                4. * (double)(value->box.n * (ad_region_elements(reads) -
                                              ad_region_elements(ad_region_intersect(reads, has))));
        }
    ad_assignment_fini(&a);
}

/* What blocks that end anywhere take to compute is what the layout with the same pins does; of one
 * block also what is fetched. */
START_TEST(ranges_are_layouts)
{
    int compared = 0;
    for (uint64_t seed = (uint64_t)_i * 40; seed < (uint64_t)_i * 40 + 40; seed++) {
        struct problem p;
        struct ad_context context;
        struct ad_layout layout;
        struct ad_ranges ranges;
        struct ad_rng rng = {seed};
        int order[64];
        ad_fixture_random(&p, seed + 4000);
        int n = p.cluster.ndevices, nops = p.graph->nops, source = p.cluster.source;
        double weight[AD_MAX_DEVICES], compute_s[AD_MAX_DEVICES], fetched[AD_MAX_DEVICES];
        double sum_s[AD_MAX_DEVICES] = {0};
        for (int d = 0; d < n; d++)
            weight[d] = 1 + ad_rng_below(&rng, 4);
        for (int i = 0; i < nops; i++)
            order[i] = i;
        ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_layout_init(&layout, nops, n, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_ranges_init(&ranges, &context, order, weight, n, source, NULL),
                         ADAPS_OK);
        ranges.feed_at = source;
        for (int i = 0; i < nops * n; i++)
            ranges.seconds[i] = 1e-3 * (1 + ad_rng_below(&rng, 9));
        for (int i = nops - 1; i >= 0;) { /* block after block, from the last */
            bool last = true;
            ad_ranges_begin(&ranges, i + 1);
            do {
                layout.ops[i] = (struct ad_op_layout){
                    .dim = ad_context_bands(&context, i), .pinned = last, .at = source};
                ad_cuts_proportional(weight, n, ad_layout_cuts(&layout, i));
                ad_ranges_extend(&ranges);
                last = false;
            } while (--i >= 0 && (!context.cut[i] || ad_rng_below(&rng, 2)));
            for (int d = 0; d < n; d++)
                sum_s[d] += ranges.compute_s[d];
        }
        by_layout(&p, &context, &layout, ranges.seconds, compute_s, fetched);
        for (int d = 0; d < n; d++)
            ck_assert_msg(fabs(compute_s[d] - sum_s[d]) <= 1e-9 * (compute_s[d] + 1),
                          "seed %" PRIu64 ", device %d: %g s, not %g", seed, d, sum_s[d],
                          compute_s[d]);
        /* one block: everything is fetched within it, or an input */
        ad_ranges_begin(&ranges, nops);
        for (int i = nops - 1; i >= 0; i--) {
            ad_ranges_extend(&ranges);
            layout.ops[i].pinned = false;
        }
        by_layout(&p, &context, &layout, ranges.seconds, compute_s, fetched);
        for (int d = 0; d < n; d++) {
            double all = ranges.exchanged[d] + ranges.lacks[d];
            ck_assert_msg(all == fetched[d], "seed %" PRIu64 ", device %d: %g bytes, not %g", seed,
                          d, all, fetched[d]);
            compared += all > 0;
        }
        ad_ranges_fini(&ranges);
        ad_layout_fini(&layout);
        ad_context_fini(&context);
        ad_fixture_fini(&p);
    }
    ck_assert_int_gt(compared, 10);
}
END_TEST

/* --- the strategy --- */

/* Layers within a block exchange nothing, those at its end do not overlap. */
START_TEST(blocks_are_fused)
{
    struct problem p;
    struct ad_context context;
    struct ad_edgeci e;
    struct ad_search_result r;
    int within = 0;
    ad_fixture_small(&p, 3);
    ad_cluster_override_links(&p.cluster, 5e6, 1e-4);
    ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_edgeci_init(&e, &context, NULL), ADAPS_OK);
    ad_fixture_run(&p, "edgeci", &r);
    for (int i = 0; i < 4; i++) { /* the fourth is followed by whole layers */
        int64_t rows = 0;
        bool end = false;
        for (int k = 1; k <= e.nplaces; k++)
            end = end || (e.ends[k] && e.place[k] == i + 1);
        for (int d = 0; d < 3; d++) {
            struct ad_region mine = *ad_assigned(&r.assignment, i, d);
            rows += ad_region_empty(mine) ? 0 : mine.h1 - mine.h0;
            for (int s = 0; s < r.schedule.programs[d].nsteps && !end; s++) {
                const struct ad_step *step = &r.schedule.programs[d].steps[s];
                ck_assert(step->kind == AD_STEP_COMPUTE ||
                          p.graph->values[step->value].producer != i);
            }
        }
        int32_t size = (int32_t)p.graph->values[p.graph->ops[i].output].box.h;
        ck_assert(end ? rows == size : rows > size);
        within += !end;
    }
    ck_assert_int_gt(within, 0);
    ad_search_result_fini(&r);
    ad_edgeci_fini(&e);
    ad_context_fini(&context);
    ad_fixture_fini(&p);
}
END_TEST

/* On random graphs, with branches: what is read after its block is computed in the lots' bands. */
START_TEST(what_is_read_later_is_pinned)
{
    int across = 0;
    for (uint64_t seed = (uint64_t)_i * 25; seed < (uint64_t)_i * 25 + 25; seed++) {
        struct problem p;
        struct ad_context context;
        struct ad_edgeci e;
        struct ad_layout layout;
        struct ad_search_result r;
        struct ad_region bands[AD_MAX_DEVICES];
        double weight[AD_MAX_DEVICES];
        int block[64] = {0};
        ad_fixture_random(&p, seed + 5000);
        int nops = p.graph->nops, n = p.cluster.ndevices;
        ck_assert_int_eq(ad_context_init(&context, &p.problem, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_edgeci_init(&e, &context, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_layout_init(&layout, nops, n, NULL), ADAPS_OK);
        ad_fixture_run(&p, "edgeci", &r);
        for (int end = 1; end <= e.nplaces; end++)
            for (int i = e.place[end]; i < nops && e.ends[end]; i++)
                block[i]++;
        for (int d = 0; d < n; d++)
            weight[d] = e.lots[d];
        for (int i = 0; i < nops; i++)
            for (int k = 0; k < p.graph->ops[i].ninputs; k++) {
                int producer = p.graph->values[p.graph->ops[i].inputs[k]].producer;
                if (producer < 0 || block[producer] == block[i])
                    continue;
                layout.ops[producer] =
                    (struct ad_op_layout){.dim = ad_context_bands(&context, producer),
                                          .pinned = true,
                                          .at = p.cluster.source};
                ad_cuts_proportional(weight, n, ad_layout_cuts(&layout, producer));
                ad_layout_op_regions(p.graph, &layout, producer, false, bands);
                for (int d = 0; d < n; d++)
                    ck_assert_msg(
                        ad_region_equal(bands[d], *ad_assigned(&r.assignment, producer, d)),
                        "seed %" PRIu64 ", op %d, device %d", seed, producer, d);
                across += block[i] > block[producer] + 1;
            }
        ad_search_result_fini(&r);
        ad_layout_fini(&layout);
        ad_edgeci_fini(&e);
        ad_context_fini(&context);
        ad_fixture_fini(&p);
    }
    ck_assert_int_gt(across, 0);
}
END_TEST

START_TEST(without_memory)
{
    struct problem p;
    ad_fixture_small(&p, 3);
    ad_fixture_without_memory(&p, "edgeci");
    ad_fixture_fini(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("edgeci");
    TCase *c = tcase_create("edgeci");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, auctions_are_the_best);
    tcase_add_test(c, nobody_has_the_memory);
    tcase_add_test(c, bids);
    tcase_add_loop_test(c, blocks_are_the_best, 0, 4);
    tcase_add_test(c, slow_links_fuse);
    tcase_add_loop_test(c, ranges_are_layouts, 0, 4);
    tcase_add_test(c, blocks_are_fused);
    tcase_add_loop_test(c, what_is_read_later_is_pinned, 0, 4);
    tcase_add_test(c, without_memory);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
