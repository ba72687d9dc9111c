#include "control/recovery.h"

/* Detection, as docs/faults.md has it: of an agent that ended, and of one that is silent. */
#define DETECT_LEAST_NS ((int64_t)500 * 1000 * 1000)
#define DETECT_MOST_NS ((int64_t)2000 * 1000 * 1000)

/* How long the bytes take on their ways from the source, where the controller is; its own take
 * none.
 */
static double push_seconds(const struct adaps_plan *plan, const uint64_t *bytes)
{
    const struct ad_cluster *cluster = &plan->cluster;
    double seconds = 0;
    for (int d = 0; d < cluster->ndevices; d++) {
        const struct ad_link *link = &cluster->links[cluster->source * cluster->ndevices + d];
        if (d != cluster->source && bytes[d] > 0)
            seconds += (double)bytes[d] / link->bandwidth + 2 * link->latency;
    }
    return seconds;
}

/* How long n inferences take by a plan. */
static int64_t run_ns(const struct adaps_plan *plan, int n)
{
    int64_t each =
        plan->stream.interval_ns > 0 ? plan->stream.interval_ns : plan->schedule.makespan_ns;
    return n > 0 ? plan->schedule.makespan_ns + (n - 1) * each : 0;
}

struct ad_recovery_time ad_recovery_predict(const struct adaps_plan *plan,
                                            const struct ad_recovery_work *work)
{
    struct ad_recovery_time time = {
        .push_ns = (int64_t)(push_seconds(plan, work->bytes) * 1e9),
        .repeat_ns = run_ns(plan, work->inferences),
    };
    int64_t rest = work->plan_ns + time.push_ns + time.open_ns + time.repeat_ns;
    time.least_ns = DETECT_LEAST_NS + rest;
    time.most_ns = DETECT_MOST_NS + rest;
    return time;
}

enum adaps_status ad_recovery_of_spare(const struct adaps_plan *plan, const struct ad_spare *spare,
                                       struct ad_recovery_time *out, struct adaps_error *err)
{
    uint64_t bytes[AD_MAX_DEVICES] = {0};
    void *data;
    size_t size;
    enum adaps_status status = ad_plan_pack(spare->plan, &data, &size, err);
    if (status != ADAPS_OK)
        return status;
    ad_free(data);
    for (int d = 0; d < spare->plan->cluster.ndevices; d++)
        if (ad_plan_works(spare->plan, d))
            bytes[d] = size;
    *out = ad_recovery_predict(
        spare->plan, &(struct ad_recovery_work){.bytes = bytes, .inferences = plan->stream.frames});
    return ADAPS_OK;
}
