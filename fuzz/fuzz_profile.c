/* PROFILE requests, as an agent takes them: the input is the graph in them (the parts to be timed
 * are numbers: tests/control/test_probe.c). Of a graph that is accepted every operator can be
 * timed, whole and in part, when that does not take too much memory (as no seed does). */
#include "fuzz.h"
#include "wire_mutate.h"
#include "exec/agent/profile.h"
#include "exec/agent/profile_request.h"
#include "fusion/region.h"
#include "plan/plan.pb-c.h"

#define PROFILE_MOST_OPS 64
#define PROFILE_MEMORY                                                                             \
    ((uint64_t)32 << 10) /* bytes that running may take: so no run takes long                      \
                          */

static void profile_part(int op, struct ad_region r, Adaps__Wire__Part *out)
{
    adaps__wire__part__init(out);
    out->op = op;
    out->h0 = r.h0, out->h1 = r.h1;
    out->w0 = r.w0, out->w1 = r.w1;
    out->c0 = r.c0, out->c1 = r.c1;
}

/* Every op's output, and its upper half. */
static size_t profile_parts(const struct ad_graph *graph, Adaps__Wire__Part *parts)
{
    size_t n = 0;
    for (int i = 0; i < graph->nops && i < PROFILE_MOST_OPS; i++) {
        struct ad_region r = ad_region_whole(&graph->values[graph->ops[i].output]);
        profile_part(i, r, &parts[n++]);
        r.h1 = r.h1 / 2 + r.h1 % 2;
        profile_part(i, ad_region_allow(graph, &graph->ops[i], r), &parts[n++]);
    }
    return n;
}

static bool profile_run(const struct adaps_plan *plan)
{
    struct adaps_error err = {0};
    struct ad_profile_times times;
    struct ad_profile_options options = {.threads = 1, .speed = 1, .memory = PROFILE_MEMORY};
    enum adaps_status status = ad_profile_run(plan, &options, &times, &err);
    fuzz_check_answer(status, ADAPS_EINPUT, &err);
    for (int i = 0; status == ADAPS_OK && i < plan->schedule.programs[0].ntasks; i++)
        FUZZ_CHECK(times.seconds[i] >= 0, "task %d: %g s", i, times.seconds[i]);
    ad_profile_times_fini(&times);
    return status == ADAPS_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct adaps_error err = {0};
    struct ad_graph *graph;
    Adaps__Wire__Profile request = ADAPS__WIRE__PROFILE__INIT;
    Adaps__Wire__Part parts[2 * PROFILE_MOST_OPS], *list[2 * PROFILE_MOST_OPS];
    enum adaps_status status = ad_plan_unpack_graph_alone(data, size, &graph, &err);
    fuzz_check_answer(status, ADAPS_EINPUT, &err);
    if (status != ADAPS_OK)
        return 0;
    request.n_parts = profile_parts(graph, parts);
    ad_graph_free(graph);
    for (size_t i = 0; i < request.n_parts; i++)
        list[i] = &parts[i];
    request.parts = list;
    request.graph.data = (uint8_t *)(uintptr_t)data;
    request.graph.len = size;
    request.threads = 1;
    struct ad_profile_request read = {0};
    status = ad_profile_request_read(&request, &read, &err);
    FUZZ_CHECK(status == ADAPS_OK, "%s", err.message);
    fuzz_accepted += profile_run(read.tasks);
    adaps_plan_free(read.tasks);
    return 0;
}

WIRE_MUTATOR(adaps__plan__graph__descriptor, 8)
