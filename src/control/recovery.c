#include "control/recovery.h"

/* Detection, as docs/faults.md has it: of an agent that ended, and of one that is silent. */
#define DETECT_LEAST_NS ((int64_t)500 * 1000 * 1000)
#define DETECT_MOST_NS ((int64_t)2000 * 1000 * 1000)

/* The old session's end, where an agent does not answer. */
#define LEAVE_NS ((int64_t)100 * 1000 * 1000)

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

/* Reading a weight, checking its digest and packing it into new memory takes as long as copying it
 * so often: of an x86 with ResNet-50. */
#define COPIES 50

#define OPEN_WAYS                                                                                  \
    8 /* to an agent or back: HELLO, OPEN, CONNECT and what answers them, and peers                \
       */

int64_t ad_recovery_open_ns(const struct adaps_plan *plan)
{
    const struct ad_cluster *cluster = &plan->cluster;
    double slowest = 0;
    for (int d = 0; d < cluster->ndevices; d++) {
        const struct ad_device *device = &cluster->devices[d];
        uint64_t bytes = 0;
        if (!ad_plan_works(plan, d))
            continue;
        for (int i = 0; i < plan->slices[d].count; i++)
            bytes += ad_slice_bytes(plan, &plan->slices[d].items[i]);
        double seconds = COPIES * (double)bytes / (device->table.memory_bw * device->speed);
        if (d != cluster->source)
            seconds += OPEN_WAYS * cluster->links[cluster->source * cluster->ndevices + d].latency;
        slowest = seconds > slowest ? seconds : slowest;
    }
    return (int64_t)(slowest * 1e9);
}

/* How long n inferences take by a plan. */
static int64_t run_ns(const struct adaps_plan *plan, int n)
{
    int64_t each =
        plan->stream.interval_ns > 0 ? plan->stream.interval_ns : plan->schedule.makespan_ns;
    return n > 0 ? plan->schedule.makespan_ns + (n - 1) * each : 0;
}

static int64_t longer(int64_t ns, double factor)
{
    return factor > 1 ? (int64_t)((double)ns * factor) : ns;
}

struct ad_recovery_time ad_recovery_predict(const struct adaps_plan *plan,
                                            const struct ad_recovery_work *work)
{
    struct ad_recovery_time time = {
        .push_ns = (int64_t)(push_seconds(plan, work->bytes) * 1e9),
        .open_ns = ad_recovery_open_ns(plan),
        .repeat_ns = run_ns(plan, work->inferences),
    };
    int64_t before = work->plan_ns + time.push_ns;
    time.least_ns = DETECT_LEAST_NS + before + time.open_ns + time.repeat_ns;
    time.most_ns = DETECT_MOST_NS + LEAVE_NS + before + longer(time.open_ns, work->open_factor) +
                   longer(time.repeat_ns, work->run_factor);
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
