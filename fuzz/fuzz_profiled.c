/* Answers to PROFILE: the times that an agent claims for three tasks. What is accepted is finite
 * and not below zero. */
#include "body.h"
#include "wire_mutate.h"
#include "control/session_internal.h"

#include <math.h>

#define PROFILED_TASKS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct adaps_error err = {0};
    struct ad_probe_times times;
    double seconds[PROFILED_TASKS];
    ProtobufCMessage *body =
        body_read(AD_FRAME_PROFILED, &adaps__wire__profiled__descriptor, data, size);
    if (!body)
        return 0;
    enum adaps_status status =
        ad_probe_take((const Adaps__Wire__Profiled *)body, PROFILED_TASKS, seconds, &times, &err);
    ad_protobuf_free(body);
    fuzz_check_answer(status, ADAPS_EAGENT, &err);
    if (status != ADAPS_OK)
        return 0;
    const double all[] = {seconds[0],   seconds[1],   seconds[2],    times.pass_s,
                          times.feed_s, times.spread, times.fetch_s, times.speed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        FUZZ_CHECK(isfinite(all[i]) && all[i] >= 0, "number %zu: %g", i, all[i]);
    FUZZ_CHECK(times.passes >= 1 && times.speed > 0 && times.speed <= 1, "%d passes, speed %g",
               times.passes, times.speed);
    fuzz_accepted++;
    return 0;
}

WIRE_MUTATOR(adaps__wire__profiled__descriptor, 8)
