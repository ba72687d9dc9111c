/* How long messages take beside the plan: as planned, scaled, on one link alone, and what is not
 * judged. Times of devices are made up of the plan's own clocks. */
#include "base/mem.h"
#include "control/link_watch.h"
#include "support/plan_fixture.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

#define OFFSET 4000000000.0 /* of a device's clock to that of the one before it */

/* An inference of a plan, with all its times times `scale`; messages of one link also arrive later
 * by `later` times what they take. */
struct made_up {
    const struct adaps_plan *plan;
    struct ad_moves moves[AD_MAX_DEVICES];
    struct ad_clock clocks[AD_MAX_DEVICES];
    double *ratios;
};

static double latency_ns(const struct adaps_plan *plan, int from, int to)
{
    return 1e9 * plan->cluster.links[from * plan->cluster.ndevices + to].latency;
}

static const struct ad_step *sent_as(const struct adaps_plan *plan, int from, uint32_t tag)
{
    const struct ad_program *program = &plan->schedule.programs[from];
    for (int i = 0; i < program->nsteps; i++)
        if (program->steps[i].kind == AD_STEP_SEND && program->steps[i].tag == tag)
            return &program->steps[i];
    ck_abort_msg("message %u is not sent", tag);
}

static void make_up(struct made_up *m, const struct adaps_plan *plan, double scale, int from,
                    int to, double later)
{
    size_t n = (size_t)plan->cluster.ndevices;
    *m = (struct made_up){.plan = plan, .ratios = ad_calloc(n * n, sizeof *m->ratios)};
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        const struct ad_program *program = &plan->schedule.programs[d];
        struct ad_moves *moves = &m->moves[d];
        double before = 0;
        moves->ns = ad_calloc((size_t)program->nsteps, sizeof *moves->ns);
        moves->begin_ns = 1000000 + (int64_t)OFFSET * d;
        m->clocks[d] = (struct ad_clock){OFFSET * d, 0};
        for (int i = 0; i < program->nsteps; i++) {
            const struct ad_step *step = &program->steps[i];
            double ns = (double)step->start_ns;
            if (step->kind == AD_STEP_COMPUTE)
                continue;
            if (step->kind == AD_STEP_RECV) {
                const struct ad_step *sent = sent_as(plan, step->peer, step->tag);
                ns = (double)sent->end_ns + latency_ns(plan, step->peer, d);
                if (step->peer == from && d == to) { /* one after the other */
                    double took = (1 + later) * (ns - (double)sent->start_ns);
                    ns = before = fmax((double)sent->start_ns, before) + took;
                }
                if (ns <= (double)step->start_ns)
                    ns = 0; /* it was there before */
            }
            moves->ns[moves->count++] = llround(ns * scale);
        }
        ck_assert_uint_eq(moves->count, ad_moves_count(program));
    }
}

static void measure(struct made_up *m)
{
    struct ad_link_watch *watch;
    if (m->plan->stream.frames > 1) /* a random one */
        return;
    ck_assert_int_eq(ad_link_watch_new(m->plan, &watch, NULL), ADAPS_OK);
    ad_link_watch_measure(watch, m->moves, m->clocks, m->ratios);
    ad_link_watch_free(watch);
}

static void forget(struct made_up *m)
{
    for (int d = 0; d < m->plan->cluster.ndevices; d++)
        ad_free(m->moves[d].ns);
    ad_free(m->ratios);
}

/* How many links have this ratio. */
static int count(const struct made_up *m, double ratio)
{
    int n = m->plan->cluster.ndevices, found = 0;
    for (int i = 0; i < n * n; i++)
        found += fabs(m->ratios[i] - ratio) < 0.02;
    return found;
}

/* Plans of random networks, and chains of convolutions in bands. */
static struct adaps_plan *plan_of(int i)
{
    return i < 3 ? ad_fixture_banded(i + 2) : ad_fixture_plan((uint64_t)i);
}

START_TEST(as_planned)
{
    int known = 0;
    for (int i = 0; i < 40; i++) {
        struct adaps_plan *plan = plan_of(i);
        struct made_up m;
        int n = plan->cluster.ndevices;
        make_up(&m, plan, 1, -1, -1, 0);
        measure(&m);
        ck_assert_msg(count(&m, 1) + count(&m, 0) == n * n, "plan %d", i);
        known += count(&m, 1);
        forget(&m);
        adaps_plan_free(plan);
    }
    ck_assert_int_gt(known, 20);
}
END_TEST

/* Never more than all has changed, never the other way, and as much on most links. */
START_TEST(all_scaled)
{
    static const double scales[] = {2, 0.5};
    for (int k = 0; k < 2; k++) {
        int whole = 0, known = 0;
        double lo = fmin(scales[k], 1) - 0.01, hi = fmax(scales[k], 1) + 0.01;
        for (int i = 0; i < 40; i++) {
            struct adaps_plan *plan = plan_of(i);
            struct made_up m;
            int n = plan->cluster.ndevices;
            make_up(&m, plan, scales[k], -1, -1, 0);
            measure(&m);
            for (int l = 0; l < n * n; l++)
                ck_assert_msg(m.ratios[l] == 0 || (m.ratios[l] > lo && m.ratios[l] < hi),
                              "plan %d: %g", i, m.ratios[l]);
            whole += count(&m, scales[k]);
            known += n * n - count(&m, 0);
            forget(&m);
            adaps_plan_free(plan);
        }
        ck_assert_msg(whole * 2 > known, "scale %g: %d of %d", scales[k], whole, known);
    }
}
END_TEST

/* Of plans with several links that are judged, one of these at a time. */
START_TEST(one_link)
{
    int checked = 0;
    for (int i = 0; i < 40; i++) {
        struct adaps_plan *plan = plan_of(i);
        struct made_up before, m;
        int n = plan->cluster.ndevices;
        make_up(&before, plan, 1, -1, -1, 0);
        measure(&before);
        for (int l = 0; l < n * n && count(&before, 1) > 1; l++) {
            if (before.ratios[l] == 0)
                continue;
            make_up(&m, plan, 1, l / n, l % n, 1.5);
            measure(&m);
            ck_assert_msg(m.ratios[l] > 1.2 && m.ratios[l] < 2.52, "plan %d: %g", i, m.ratios[l]);
            ck_assert_int_ge(count(&m, 1), count(&before, 1) - 1);
            forget(&m);
            checked++;
        }
        forget(&before);
        adaps_plan_free(plan);
    }
    ck_assert_int_gt(checked, 20);
}
END_TEST

/* Without times, with clocks that are not known, or by a plan for the throughput. */
START_TEST(not_judged)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    struct ad_link_watch *watch;
    struct adaps_error err;
    struct made_up m;
    make_up(&m, plan, 3, -1, -1, 0);
    measure(&m);
    ck_assert_int_lt(count(&m, 0), 4);
    m.clocks[1].uncertainty_ns = 1e9;
    measure(&m);
    ck_assert_int_eq(count(&m, 0), 4);
    m.clocks[1].uncertainty_ns = 0;
    m.moves[1].count = 0; /* an older agent */
    measure(&m);
    ck_assert_int_eq(count(&m, 0), 4);
    forget(&m);
    plan->stream.frames = 2;
    ck_assert_int_eq(ad_link_watch_new(plan, &watch, &err), ADAPS_NO);
    plan->stream.frames = 1;
    adaps_plan_free(plan);
}
END_TEST

/* What strangers say: any numbers. */
START_TEST(strange_numbers)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    struct made_up m;
    make_up(&m, plan, 1, -1, -1, 0);
    m.moves[0].begin_ns = INT64_MIN;
    m.moves[1].begin_ns = INT64_MAX;
    for (size_t i = 0; i < m.moves[0].count; i++)
        m.moves[0].ns[i] = i % 2 ? INT64_MAX : INT64_MIN;
    measure(&m);
    for (int i = 0; i < 4; i++)
        ck_assert(m.ratios[i] >= 0 && isfinite(m.ratios[i]));
    forget(&m);
    adaps_plan_free(plan);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link_watch");
    TCase *tcase = tcase_create("link_watch");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, as_planned);
    tcase_add_test(tcase, all_scaled);
    tcase_add_test(tcase, one_link);
    tcase_add_test(tcase, not_judged);
    tcase_add_test(tcase, strange_numbers);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
