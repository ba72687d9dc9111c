#include "adapt_plan.h"
#include "spare_plan.h"

#include <string.h>

/* What a devices file may say. */
#define SPEED_LEAST 1e-6
#define SPEED_MOST 1000.0

static double within(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

/* --- what is now --- */

/* The link a -> b as a factor of the first plan's. */
static double share_of(const struct ad_cluster *now, const struct ad_cluster *first, int a, int b)
{
    int i = a * first->ndevices + b;
    return now->links[i].bandwidth / first->links[i].bandwidth;
}

static void set_share(struct ad_cluster *now, const struct ad_cluster *first, int a, int b,
                      double share)
{
    int i = a * first->ndevices + b;
    now->links[i].bandwidth = first->links[i].bandwidth * share;
    now->links[i].latency = first->links[i].latency / share;
}

/* By device what the best link of its port has, out of it and into it; 0: none was measured. */
struct ports {
    double up[AD_MAX_DEVICES], down[AD_MAX_DEVICES];
};

static double max(double a, double b)
{
    return a > b ? a : b;
}

/* The links that were measured. */
static struct ports measure_links(struct ad_cluster *now, const struct ad_cluster *first,
                                  const struct ad_plan_in_use *in_use, const struct ad_drift *drift)
{
    const struct ad_cluster *used = &in_use->plan->cluster;
    int n = first->ndevices;
    struct ports ports = {.up = {0}};
    for (int from = 0; from < used->ndevices; from++)
        for (int to = 0; to < used->ndevices; to++) {
            int a = in_use->device_of[from], b = in_use->device_of[to];
            int subject = ad_adapt_link(n, a, b);
            if (from == to || drift->subjects[subject].count == 0)
                continue;
            double planned = used->links[from * used->ndevices + to].bandwidth /
                             first->links[a * n + b].bandwidth;
            double share = within(planned / ad_drift_ratio(drift, subject), 1e-6, 1e6);
            set_share(now, first, a, b, share);
            ports.up[a] = max(ports.up[a], share);
            ports.down[b] = max(ports.down[b], share);
        }
    return ports;
}

/* Those that were not. */
static void guess_links(struct ad_cluster *now, const struct ad_cluster *first,
                        const struct ports *ports, const struct ad_drift *drift)
{
    int n = first->ndevices;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            double up = ports->up[a] > 0 ? ports->up[a] : ports->down[a];
            double down = ports->down[b] > 0 ? ports->down[b] : ports->up[b];
            if (a == b || drift->subjects[ad_adapt_link(n, a, b)].count > 0 || up + down == 0)
                continue;
            up = up > 0 ? up : share_of(now, first, a, b);
            down = down > 0 ? down : share_of(now, first, a, b);
            set_share(now, first, a, b, up < down ? up : down);
        }
}

/* One medium has one rate: the best that some link has shown. */
static void share_medium(struct ad_cluster *now, const struct ad_cluster *first,
                         const struct ports *ports)
{
    double best = 0;
    for (int d = 0; d < first->ndevices; d++)
        best = max(best, ports->up[d]);
    for (int a = 0; best > 0 && a < first->ndevices; a++)
        for (int b = 0; b < first->ndevices; b++)
            if (a != b)
                set_share(now, first, a, b, best);
}

void ad_adapt_measure(struct ad_cluster *now, const struct ad_cluster *first,
                      const struct ad_plan_in_use *in_use, const struct ad_drift *drift)
{
    const struct ad_cluster *used = &in_use->plan->cluster;
    for (int d = 0; d < used->ndevices; d++) {
        int device = in_use->device_of[d];
        if (drift->subjects[device].count > 0)
            now->devices[device].speed = within(
                used->devices[d].speed / ad_drift_ratio(drift, device), SPEED_LEAST, SPEED_MOST);
    }
    struct ports ports = measure_links(now, first, in_use, drift);
    if (first->shared_medium)
        share_medium(now, first, &ports);
    else
        guess_links(now, first, &ports, drift);
}

/* --- another plan --- */

int64_t ad_adapt_each_ns(const struct adaps_plan *plan)
{
    return plan->stream.frames > 1 && plan->stream.interval_ns > 0 ? plan->stream.interval_ns
                                                                   : plan->schedule.makespan_ns;
}

/* A plan's own devices as they are now. */
static void use_measured(struct ad_cluster *cluster, const struct ad_cluster *now,
                         const int *device_of)
{
    int n = cluster->ndevices;
    for (int d = 0; d < n; d++) {
        cluster->devices[d].speed = now->devices[device_of[d]].speed;
        for (int e = 0; e < n; e++)
            if (d != e)
                cluster->links[d * n + e] = now->links[device_of[d] * now->ndevices + device_of[e]];
    }
}

/* What the plan in use takes now: that of a copy, since plans are not changed. */
static enum adaps_status clock_old(const struct ad_adapt_task *task, int64_t *ns,
                                   struct adaps_error *err)
{
    void *data = NULL;
    size_t size;
    struct adaps_plan *copy = NULL;
    enum adaps_status status = ad_plan_pack(task->in_use.plan, &data, &size, err);
    if (status == ADAPS_OK)
        status = ad_plan_unpack(data, size, "the plan in use", &copy, err);
    ad_free(data);
    if (status != ADAPS_OK)
        return status;
    use_measured(&copy->cluster, task->now, task->in_use.device_of);
    for (int t = 0; t < copy->stream.nturns && status == ADAPS_OK; t++)
        status = ad_schedule_simulate(copy->graph, &copy->cluster,
                                      t == 0 ? &copy->schedule : &copy->stream.others[t - 1], err);
    if (status == ADAPS_OK)
        status =
            ad_stream_simulate(copy->graph, &copy->cluster, &copy->schedule, &copy->stream, err);
    *ns = ad_adapt_each_ns(copy);
    adaps_plan_free(copy);
    return status;
}

/* Whether a device has a slice by a plan. */
static bool has(const struct adaps_plan *plan, int device, const struct ad_digest *digest)
{
    const struct ad_slices *slices = &plan->slices[device];
    for (int i = 0; i < slices->count; i++)
        if (ad_digest_equal(&slices->items[i].digest, digest))
            return true;
    return false;
}

/* What a device of the new plan must be sent. */
static uint64_t lacking(const struct ad_adapt_task *task, const struct ad_adapt_choice *choice,
                        int device)
{
    const struct ad_plan_in_use *old = &task->in_use;
    const struct ad_slices *slices = &choice->plan->slices[device];
    int before = -1, of_first = choice->device_of[device];
    uint64_t bytes = 0;
    for (int d = 0; d < old->plan->cluster.ndevices; d++)
        if (old->device_of[d] == of_first)
            before = d;
    for (int i = 0; i < slices->count; i++) {
        const struct ad_digest *digest = &slices->items[i].digest;
        if (!has(task->first, of_first, digest) && !(before >= 0 && has(old->plan, before, digest)))
            bytes += ad_slice_bytes(choice->plan, &slices->items[i]);
    }
    return bytes;
}

/* From the source, where the controller is as a rule; what the source itself lacks takes no time.
 */
static int64_t push_ns(const struct ad_adapt_task *task, const struct ad_adapt_choice *choice)
{
    const struct ad_cluster *cluster = &choice->plan->cluster;
    double seconds = 0;
    for (int d = 0; d < cluster->ndevices; d++) {
        const struct ad_link *link = &cluster->links[cluster->source * cluster->ndevices + d];
        if (d != cluster->source)
            seconds += (double)lacking(task, choice, d) / link->bandwidth + 2 * link->latency;
    }
    return seconds < 1e9 ? (int64_t)(seconds * 1e9) : INT64_MAX / 4;
}

enum adaps_status ad_adapt_choose(const struct ad_adapt_task *task, struct ad_adapt_choice *out,
                                  struct adaps_error *err)
{
    *out = (struct ad_adapt_choice){.plan = NULL};
    enum adaps_status status = clock_old(task, &out->old_ns, err);
    if (status == ADAPS_OK)
        status = ad_spare_plan(task->first, task->now, ad_model_weights_graph(task->weights),
                               task->out, &ad_spare_hurry, &out->plan, out->device_of, err);
    if (status != ADAPS_OK)
        return status;
    out->new_ns = ad_adapt_each_ns(out->plan);
    out->push_ns = push_ns(task, out);
    return ADAPS_OK;
}
