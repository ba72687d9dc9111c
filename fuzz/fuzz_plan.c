/* Plan files. The input is the protobuf message behind the head (plan_head.h). A plan that is
 * accepted must survive being packed and read again, unchanged. */
#include "fuzz.h"
#include "plan_head.h"
#include "wire_mutate.h"
#include "plan/plan.h"
#include "plan/plan.pb-c.h"

static void pack_twice(const struct adaps_plan *plan)
{
    struct adaps_error err = {0};
    struct adaps_plan *again = NULL;
    void *first = NULL, *second = NULL;
    size_t first_size, second_size;
    FUZZ_CHECK(ad_plan_pack_file(plan, &first, &first_size, &err) == ADAPS_OK, "%s", err.message);
    FUZZ_CHECK(ad_plan_unpack(first, first_size, "packed", &again, &err) == ADAPS_OK, "%s",
               err.message);
    FUZZ_CHECK(ad_plan_pack_file(again, &second, &second_size, &err) == ADAPS_OK, "%s",
               err.message);
    FUZZ_CHECK(first_size == second_size && memcmp(first, second, first_size) == 0,
               "packed again it differs (%zu and %zu bytes)", first_size, second_size);
    adaps_plan_free(again);
    ad_free(first);
    ad_free(second);
}

/* What a controller does with a plan from a file: the reference plan, and the clocks once more. */
static void use_plan(struct adaps_plan *plan)
{
    struct adaps_error err = {0};
    struct adaps_plan *single = NULL;
    enum adaps_status status = ad_plan_single(plan, &single, &err);
    FUZZ_CHECK(status == ADAPS_OK, "%s", err.message);
    adaps_plan_free(single);
    status = ad_schedule_simulate(plan->graph, &plan->cluster, &plan->schedule, &err);
    FUZZ_CHECK(status == ADAPS_OK, "%s", err.message);
    for (int i = 0; i < plan->nspares; i++) {
        struct adaps_plan *spare = plan->spares[i].plan;
        struct ad_slices all;
        status = ad_schedule_simulate(spare->graph, &spare->cluster, &spare->schedule, &err);
        FUZZ_CHECK(status == ADAPS_OK, "%s", err.message);
        status = ad_plan_all_slices(plan, plan->cluster.source, &all, &err);
        FUZZ_CHECK(status == ADAPS_OK, "%s", err.message);
        ad_free(all.items);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct adaps_error err = {0};
    struct adaps_plan *plan = NULL;
    size_t total;
    uint8_t *bytes = plan_with_head(data, size, &total);
    enum adaps_status status = ad_plan_unpack(bytes, total, "fuzz.plan", &plan, &err);
    ad_free(bytes);
    fuzz_check_answer(status, ADAPS_EINPUT, &err);
    if (status == ADAPS_OK) {
        pack_twice(plan);
        use_plan(plan);
        adaps_plan_free(plan);
        fuzz_accepted++;
    }
    return 0;
}

WIRE_MUTATOR(adaps__plan__plan__descriptor, 8)
