/* The page of adaps show --html: what it shows of layers, held against the steps by definition; and
 * what happens without memory. What a browser sees is tests/cli/test_page.sh. */
#include "report/page/internal.h"
#include "support/plan_fixture.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *p = strstr(text, word); p; p = strstr(p + 1, word))
        n++;
    return n;
}

/* The page; the caller's (free). */
static char *page_of(const struct adaps_plan *plan)
{
    char *text = NULL;
    size_t size;
    struct adaps_error err = {0};
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    ck_assert_msg(ad_page_print(plan, out, &err) == ADAPS_OK, "%s", err.message);
    fclose(out);
    return text;
}

/* Elements that a device's tasks of an op have in all. */
static double computed(const struct adaps_plan *plan, int op, int device)
{
    const struct ad_program *program = &plan->schedule.programs[device];
    double elements = 0;
    for (int i = 0; i < program->ntasks; i++)
        if (program->tasks[i].op == op)
            elements += (double)ad_region_elements(program->tasks[i].region);
    return elements;
}

/* Parts are what tasks compute: each task lies in a part of its device, and parts have the tasks'
 * elements. */
static void check_parts(const struct ad_page_layers *layers)
{
    const struct adaps_plan *plan = layers->plan;
    for (int i = 0; i < plan->graph->nops; i++) {
        const struct ad_page_layer *layer = &layers->items[i];
        double all = (double)ad_region_elements(ad_region_whole(ad_page_value(layers, i)));
        for (int d = 0; d < plan->cluster.ndevices; d++)
            ck_assert(fabs(ad_page_share(layers, i, d) - computed(plan, i, d) / all) < 1e-9);
        for (int k = 0; k < layer->nparts; k++)
            ck_assert_int_eq(layers->parts[layer->first_part + k].op, i);
    }
    for (int d = 0; d < plan->cluster.ndevices; d++)
        for (int t = 0; t < plan->schedule.programs[d].ntasks; t++) {
            const struct ad_task *task = &plan->schedule.programs[d].tasks[t];
            const struct ad_page_layer *layer = &layers->items[task->op];
            bool found = false;
            for (int k = 0; k < layer->nparts; k++) {
                const struct ad_page_part *part = &layers->parts[layer->first_part + k];
                found =
                    found || (part->device == d && ad_region_contains(part->region, task->region));
            }
            ck_assert(found || ad_region_empty(task->region));
        }
}

/* Within a range nobody reads what it received for that layer: a device has read the value before,
 * or has received nothing of it. All that is received is counted once. */
static void check_ranges(const struct ad_page_layers *layers)
{
    const struct adaps_plan *plan = layers->plan;
    const struct ad_graph *graph = plan->graph;
    int64_t bytes = layers->gathered_bytes;
    for (int i = 0; i < graph->nops; i++)
        bytes += layers->items[i].gets_bytes;
    ck_assert_int_eq(bytes, plan->schedule.bytes);
    ck_assert_int_eq(layers->items[0].range, 0);
    for (size_t m = 0; m < layers->messages.count; m++) {
        const struct ad_message *message = &layers->messages.items[m];
        for (int i = 0; i < graph->nops; i++) {
            bool reads = false;
            for (int k = 0; k < graph->ops[i].ninputs; k++)
                reads = reads || graph->ops[i].inputs[k] == message->value;
            if (!reads || computed(plan, i, message->to) == 0)
                continue;
            ck_assert(i == 0 || layers->items[i].range == layers->items[i - 1].range + 1);
            break; /* later layers of the device have it already */
        }
    }
}

/* A layer that somebody reads later has its lane for itself until then, unless a layer that reads
 * it goes on there. Stages are counted in order. */
static void check_lanes(const struct ad_page_layers *layers)
{
    const struct ad_graph *graph = layers->plan->graph;
    for (int i = 0; i < graph->nops; i++) {
        int next = i + 1;
        while (next < graph->nops && layers->items[next].lane != layers->items[i].lane)
            next++;
        ck_assert_int_lt(layers->items[i].lane, layers->nlanes);
        ck_assert(i == 0 || layers->items[i].stage == layers->items[i - 1].stage ||
                  layers->items[i].stage == layers->items[i - 1].stage + 1);
        bool goes_on = false, later = false;
        for (int j = i + 1; j < graph->nops; j++)
            for (int k = 0; k < graph->ops[j].ninputs; k++) {
                bool reads = graph->ops[j].inputs[k] == graph->ops[i].output;
                goes_on = goes_on || (reads && j == next);
                later = later || (reads && j > next);
            }
        ck_assert(goes_on || !later);
    }
}

START_TEST(layers_are_the_steps)
{
    struct adaps_plan *plan = _i == 0 ? ad_fixture_banded(3) : ad_fixture_plan((uint64_t)_i + 500);
    struct ad_page_layers layers;
    ck_assert_int_eq(ad_page_layers_init(&layers, plan, NULL), ADAPS_OK);
    check_parts(&layers);
    check_ranges(&layers);
    check_lanes(&layers);
    char *text = page_of(plan);
    size_t nops = (size_t)plan->graph->nops, parts = 0, bars = 2 * layers.messages.count;
    for (size_t i = 0; i < nops; i++)
        parts += (size_t)layers.items[i].nparts;
    for (int d = 0; d < plan->cluster.ndevices; d++)
        for (int i = 0; i < plan->schedule.programs[d].nsteps; i++) {
            const struct ad_step *step = &plan->schedule.programs[d].steps[i];
            bars += step->kind == AD_STEP_COMPUTE && step->end_ns > step->start_ns;
        }
    size_t all = nops * (size_t)plan->stream.nturns;
    bool stream = plan->stream.nturns > 1 || plan->stream.frames > 1;
    ck_assert_uint_eq(count(text, "<svg class=\"map\""), all);
    ck_assert_uint_eq(count(text, "<div class=\"layer\""), all);
    ck_assert_uint_eq(count(text, "<rect class=\"frame\""), all);
    ck_assert_uint_eq(count(text, "class=\"steady\""), stream);
    if (!stream) { /* and the legend's */
        ck_assert_uint_eq(count(text, "<rect class=\"part c"), parts + 3);
        ck_assert_uint_eq(count(text, "<rect class=\"bar c"), bars);
    }
    free(text);
    ad_page_layers_fini(&layers);
    adaps_plan_free(plan);
}
END_TEST

/* What a task takes is part of its step. */
START_TEST(tasks_make_up_steps)
{
    struct adaps_plan *plan = ad_fixture_plan((uint64_t)_i + 900);
    for (int d = 0; d < plan->cluster.ndevices; d++)
        for (int i = 0; i < plan->schedule.programs[d].nsteps; i++) {
            const struct ad_program *program = &plan->schedule.programs[d];
            const struct ad_step *step = &program->steps[i];
            int64_t ns = 0;
            for (int t = 0; step->kind == AD_STEP_COMPUTE && t < step->ntasks; t++)
                ns += ad_schedule_task_ns(plan->graph, &plan->cluster, d,
                                          &program->tasks[step->first_task + t]);
            ck_assert(step->kind != AD_STEP_COMPUTE || ns == step->end_ns - step->start_ns);
        }
    adaps_plan_free(plan);
}
END_TEST

START_TEST(letters)
{
    char text[8];
    ck_assert_str_eq(ad_page_letter(0, text), "A");
    ck_assert_str_eq(ad_page_letter(25, text), "Z");
    ck_assert_str_eq(ad_page_letter(26, text), "A2");
    ck_assert_str_eq(ad_page_letter(63, text), "L3");
}
END_TEST

START_TEST(no_memory)
{
    struct adaps_plan *plan = _i == 0 ? ad_fixture_banded(2) : ad_fixture_plan(521);
    struct adaps_error err = {0};
    enum adaps_status status = ADAPS_EINTERNAL;
    for (int n = 1; status != ADAPS_OK; n++) {
        FILE *out = fopen("/dev/null", "w");
        ck_assert_ptr_nonnull(out);
        ad_mem_fail_after(n);
        status = ad_page_print(plan, out, &err);
        ad_mem_fail_after(0);
        fclose(out);
        ck_assert(status == ADAPS_OK || (status == ADAPS_EINTERNAL && err.message[0]));
        ck_assert_int_lt(n, 10000);
    }
    adaps_plan_free(plan);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("page");
    TCase *c = tcase_create("page");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, layers_are_the_steps, 0, 24);
    tcase_add_loop_test(c, tasks_make_up_steps, 0, 8);
    tcase_add_test(c, letters);
    tcase_add_loop_test(c, no_memory, 0, 2);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
