/* exec/engine/bands: layers band by band of rows have the bits of whole layers, in less memory. */
#include "exec/engine/bands.h"
#include "exec/engine/engine.h"
#include "exec/kernels/choice.h"
#include "fusion/region.h"
#include "support/plan_fixture.h"
#include "support/random_graph.h"
#include "support/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static int pick(struct ad_rng *rng, int lo, int hi)
{
    return lo + (int)ad_rng_below(rng, (uint32_t)(hi - lo + 1));
}

static int pixelwise(struct ad_builder *b, int x, int channels)
{
    return ad_build_conv(b, x, ad_window_square(1, 1, 1, 0, 0), 1, channels);
}

/* A block of a mobile network: maybe 1x1, depthwise, maybe 1x1, maybe a residual; functions. */
static int random_block(struct ad_builder *b, struct ad_rng *rng, int x)
{
    const struct ad_value *in = &b->graph->values[x];
    int c = (int)in->box.c, k = 3 + 2 * pick(rng, 0, 2), s = pick(rng, 1, 2), d = pick(rng, 1, 2);
    int from = x;
    if (in->box.h < 2 * k || in->box.w < 2 * k)
        k = s = d = 1;
    if (pick(rng, 0, 2)) {
        x = pixelwise(b, x, pick(rng, 1, 12));
        ad_build_fuse(b, pick(rng, 0, 1) ? AD_FN_SILU : AD_FN_NONE);
    }
    int groups = (int)b->graph->values[x].box.c;
    struct ad_window window = ad_window_square(k, s, d, d * (k - 1) / 2, d * (k - 1) / 2);
    x = ad_build_conv(b, x, window, groups, groups * pick(rng, 1, 2));
    if (pick(rng, 0, 1))
        x = ad_build_clamp(b, x, 0, 6);
    if (pick(rng, 0, 3)) {
        x = pixelwise(b, x, s == 1 ? c : pick(rng, 1, 12));
        if (s == 1)
            x = ad_build_binary(b, AD_OP_ADD, pick(rng, 0, 1) ? x : from,
                                b->graph->nops % 2 ? from : x);
    }
    return x;
}

static struct ad_graph *random_blocks(uint64_t seed)
{
    struct ad_rng rng = {seed};
    struct ad_builder b;
    struct ad_graph *graph;
    struct adaps_error err = {0};
    ad_build_init(&b, seed);
    int x = ad_build_input(&b, pick(&rng, 1, 2), pick(&rng, 12, 48), pick(&rng, 1, 20),
                           pick(&rng, 1, 12));
    for (int i = 0; i < 3; i++)
        x = random_block(&b, &rng, x);
    ad_build_output(&b, x);
    ck_assert_msg(ad_build_finish(&b, &graph, &err) == ADAPS_OK, "seed %ju: %s", (uintmax_t)seed,
                  err.message);
    return graph;
}

static struct adaps_plan *plan_of(struct ad_graph *graph, int ndevices, const char *strategy)
{
    struct ad_cluster cluster;
    ad_fixture_cluster(&cluster, ndevices);
    return ad_fixture_make(graph, &cluster, strategy);
}

/* The tasks of a plan for one device, cut as the boundaries of bands are: first, of every op, the
 * rows that some rows of the answer take, then the rest. */
static struct ad_program cut_program(const struct adaps_plan *plan, uint64_t seed)
{
    const struct ad_graph *graph = plan->graph;
    const struct ad_program *whole = &plan->schedule.programs[0];
    struct ad_rng rng = {seed};
    struct ad_region *first = calloc((size_t)graph->nops, sizeof *first);
    struct ad_program cut = {.nsteps = 1,
                             .steps = ad_calloc(1, sizeof *cut.steps),
                             .tasks = ad_calloc(2 * (size_t)graph->nops, sizeof *cut.tasks)};
    ck_assert(first && cut.steps && cut.tasks && whole->nsteps == 1);
    for (int i = graph->nops - 1; i >= 0; i--) {
        int value = graph->ops[i].output;
        first[i] = ad_region_whole(&graph->values[value]);
        first[i].h1 = i == graph->nops - 1 ? pick(&rng, 1, first[i].h1) : 0;
        for (int r = i + 1; r < graph->nops; r++)
            for (int k = 0; k < graph->ops[r].ninputs; k++) {
                struct ad_region need = ad_need(graph, &graph->ops[r], k, first[r]);
                if (graph->ops[r].inputs[k] == value && need.h1 > first[i].h1)
                    first[i].h1 = need.h1;
            }
    }
    for (int part = 0; part < 2; part++)
        for (int t = 0; t < whole->ntasks; t++) {
            int i = whole->tasks[t].op;
            struct ad_region all = ad_region_whole(&graph->values[graph->ops[i].output]),
                             r = first[i];
            if (part == 1) {
                r.h0 = r.h1;
                r.h1 = all.h1;
            }
            if (!ad_region_empty(r))
                cut.tasks[cut.ntasks++] = (struct ad_task){i, r};
        }
    cut.steps[0] = whole->steps[0];
    cut.steps[0].first_task = 0;
    cut.steps[0].ntasks = cut.ntasks;
    free(first);
    return cut;
}

static void free_program(struct ad_program *program)
{
    ad_free(program->steps);
    ad_free(program->tasks);
}

/* --- the program --- */

/* Tasks in order: what passes is read as the task before it has made it; of everything else each
 * element that the plan's program computes is computed once. */
static void check_tasks(const struct ad_graph *graph, const struct ad_program *program,
                        const struct ad_row_bands *bands)
{
    int64_t *elements = calloc((size_t)graph->nops, sizeof *elements);
    ck_assert_ptr_nonnull(elements);
    for (int t = 0; t < program->ntasks; t++)
        elements[program->tasks[t].op] += ad_region_elements(program->tasks[t].region);
    for (int t = 0; t < bands->program.ntasks; t++) {
        const struct ad_task *task = &bands->program.tasks[t];
        const struct ad_op *op = &graph->ops[task->op];
        for (int k = 0; k < op->ninputs; k++) {
            if (!bands->passing[op->inputs[k]])
                continue;
            ck_assert_int_eq(k, 0);
            ck_assert_int_gt(t, 0);
            ck_assert_int_eq(graph->ops[task[-1].op].output, op->inputs[0]);
            struct ad_region need = ad_need(graph, op, 0, task->region), made = task[-1].region;
            ck_assert(ad_region_contains(made, need));
            ck_assert(ad_region_empty(need) || (made.h0 == need.h0 && made.h1 == need.h1));
        }
        if (!bands->passing[op->output])
            elements[task->op] -= ad_region_elements(task->region);
    }
    for (int i = 0; i < graph->nops; i++)
        ck_assert(bands->passing[graph->ops[i].output] || elements[i] == 0);
    free(elements);
}

static void check_steps(const struct ad_program *program, const struct ad_row_bands *bands)
{
    int next = 0;
    ck_assert_int_eq(bands->program.nsteps, program->nsteps);
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *a = &program->steps[i], *b = &bands->program.steps[i];
        ck_assert_int_eq(a->kind, b->kind);
        if (a->kind != AD_STEP_COMPUTE) {
            ck_assert(!bands->passing[a->value]);
            continue;
        }
        ck_assert_int_eq(b->first_task, next);
        ck_assert_int_ge(b->ntasks, a->ntasks);
        next += b->ntasks;
    }
    ck_assert_int_eq(bands->program.ntasks, next);
}

START_TEST(programs)
{
    static const char *const strategies[] = {"single", "edgeflow", "deepthings", "pipeline"};
    int more = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct adaps_plan *plan =
            plan_of(random_blocks(seed), _i == 0 ? 1 : 1 + (int)(seed % 3), strategies[_i]);
        for (int d = 0; d < plan->schedule.ndevices; d++) {
            const struct ad_program *program = &plan->schedule.programs[d];
            struct ad_row_bands bands;
            ck_assert_int_eq(ad_row_bands_find(plan->graph, program, 64, &bands, NULL), ADAPS_OK);
            check_steps(program, &bands);
            check_tasks(plan->graph, program, &bands);
            more += bands.program.ntasks > program->ntasks;
            ad_row_bands_fini(&bands);
        }
        adaps_plan_free(plan);
    }
    ck_assert_int_gt(more, 10);
}
END_TEST

/* Where a map is made in two parts, both pass, each with the rows of the other that it reads. */
START_TEST(parts)
{
    int both = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct adaps_plan *plan = plan_of(random_blocks(seed), 1, "single");
        struct ad_program cut = cut_program(plan, seed);
        struct ad_row_bands bands;
        ck_assert_int_eq(ad_row_bands_find(plan->graph, &cut, 64, &bands, NULL), ADAPS_OK);
        check_steps(&cut, &bands);
        check_tasks(plan->graph, &cut, &bands);
        for (int t = 1; t < cut.ntasks; t++)
            for (int k = 0; k < t; k++)
                both += cut.tasks[k].op == cut.tasks[t].op &&
                        bands.passing[plan->graph->ops[cut.tasks[t].op].output];
        ad_row_bands_fini(&bands);
        free_program(&cut);
        adaps_plan_free(plan);
    }
    ck_assert_int_gt(both, 10);
}
END_TEST

/* --- the engine --- */

/* One inference by an engine with so many bytes of cache for weights; returns its arena. */
static size_t infer(const struct adaps_plan *plan, size_t slice_bytes, int threads,
                    const struct ad_tensor *in, float *out)
{
    static const struct ad_transport none;
    struct ad_weight_source weights = ad_weights_of_graph(plan->graph);
    const struct ad_engine_options options = {.threads = threads, .slice_bytes = slice_bytes};
    struct ad_engine *engine;
    struct adaps_error err = {0};
    ck_assert_msg(ad_engine_new(plan, &options, &weights, &engine, &err) == ADAPS_OK, "%s",
                  err.message);
    for (int turn = 0; turn < 2; turn++) { /* the second finds what the first has left */
        ad_engine_feed(engine, 0, in->data);
        for (int i = 0; i < plan->schedule.programs[0].nsteps; i++)
            ck_assert_int_eq(ad_engine_step(engine, i, &none, &err), ADAPS_OK);
        ad_engine_fetch(engine, 0, out);
    }
    size_t bytes = ad_engine_arena_bytes(engine);
    ad_engine_free(engine);
    return bytes;
}

static struct ad_tensor random_input(const struct ad_graph *graph, uint64_t seed)
{
    const struct ad_value *v = &graph->values[graph->inputs[0]];
    struct ad_rng rng = {seed};
    struct ad_tensor x;
    ck_assert_int_eq(ad_tensor_init(&x, v->rank, v->dims, NULL), ADAPS_OK);
    for (size_t i = 0; i < x.count; i++)
        x.data[i] = ad_rng_float(&rng);
    return x;
}

#define WHOLE ((size_t)1 << 30)

/* Our convolutions and XNNPACK's. */
START_TEST(same_bits)
{
    ad_processor_limit_lanes(_i ? 0 : 16);
    for (uint64_t seed = 100; seed < 160; seed++) {
        struct adaps_plan *plan = plan_of(random_blocks(seed), 1, "single");
        struct ad_tensor x = random_input(plan->graph, seed);
        size_t count = (size_t)ad_values_elements(plan->graph, plan->graph->outputs, 1);
        float *whole = calloc(count, sizeof *whole), *bands = calloc(count, sizeof *bands);
        infer(plan, WHOLE, 1, &x, whole);
        struct ad_program *program = &plan->schedule.programs[0], uncut = *program;
        struct ad_program cut = cut_program(plan, seed);
        *program = seed % 3 > 0 ? cut : uncut;
        infer(plan, 64, 1 + (int)(seed % 2), &x, bands);
        *program = uncut;
        free_program(&cut);
        ck_assert_msg(memcmp(whole, bands, count * sizeof *whole) == 0, "seed %ju",
                      (uintmax_t)seed);
        free(whole);
        free(bands);
        ad_tensor_fini(&x);
        adaps_plan_free(plan);
    }
    ad_processor_limit_lanes(16);
}
END_TEST

/* 4 channels become 32, of which no whole map is there: 16 rows of 64 at a time, and what the
 * depthwise convolution makes of them. */
START_TEST(less_memory)
{
    enum { ROWS = 64, COLUMNS = 8, FEW = 4, MANY = 32 };
    struct ad_builder b;
    struct ad_graph *graph;
    ad_build_init(&b, 1);
    int x = pixelwise(&b, ad_build_input(&b, 1, ROWS, COLUMNS, FEW), MANY);
    x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), MANY, MANY);
    ad_build_output(&b, pixelwise(&b, x, FEW));
    ck_assert_int_eq(ad_build_finish(&b, &graph, NULL), ADAPS_OK);
    struct adaps_plan *plan = plan_of(graph, 1, "single");
    struct ad_tensor in = random_input(graph, 1);
    float out[ROWS * COLUMNS * FEW];
    size_t row = COLUMNS * MANY * sizeof(float), ends = 2 * sizeof out;
    size_t whole = infer(plan, 2 * ROWS * row / 4 + 1, 1, &in, out); /* just not more than twice */
    ck_assert_uint_ge(whole, 2 * ROWS * row);
    size_t bands = infer(plan, 16 * row, 1, &in, out); /* 8 rows of both, at least 4 times 2 */
    ck_assert_uint_lt(bands, (10 + 8) * row + ends + 4096);
    ad_tensor_fini(&in);
    adaps_plan_free(plan);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bands");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, programs, 0, 4);
    tcase_add_test(tc, parts);
    tcase_add_loop_test(tc, same_bits, 0, 2);
    tcase_add_test(tc, less_memory);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
