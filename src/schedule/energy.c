#include "schedule/energy.h"
#include "schedule/clocks.h"

static int64_t times(int64_t mw, int64_t ns)
{
    int64_t pj;
    return __builtin_mul_overflow(mw, ns, &pj) ? INT64_MAX : pj;
}

static bool in_use(const struct ad_loads *loads, int device)
{
    return loads->in_use >> device & 1;
}

/* What computing, sending and receiving take of a device. */
static int64_t work_pj(const struct ad_device *device, const struct ad_loads *loads, int d)
{
    const struct ad_power *power = &device->table.power;
    return ad_clocks_plus(times((int64_t)power->core_mw * device->threads, loads->computing[d]),
                          times(power->network_mw, loads->network[d]));
}

struct ad_energy ad_energy_of(const struct ad_cluster *cluster, const struct ad_loads *loads)
{
    struct ad_energy out = {.known = true};
    for (int d = 0; d < cluster->ndevices; d++) {
        const struct ad_device *device = &cluster->devices[d];
        if (!in_use(loads, d))
            continue;
        out.work_pj = ad_clocks_plus(out.work_pj, work_pj(device, loads, d));
        out.idle_mw += device->table.power.idle_mw;
        out.known = out.known && ad_power_known(&device->table.power);
    }
    return out;
}

int64_t ad_energy_pj(const struct ad_energy *energy, int64_t time_ns)
{
    return energy->known ? ad_clocks_plus(energy->work_pj, times(energy->idle_mw, time_ns)) : -1;
}

enum adaps_status ad_energy_figures(const struct ad_graph *graph, const struct ad_cluster *cluster,
                                    const struct ad_schedule *first, const struct ad_stream *stream,
                                    struct ad_energy_figures *out, struct adaps_error *err)
{
    struct ad_loads loads;
    bool alone = stream->frames <= 1 && stream->nturns <= 1;
    int64_t time_ns = alone ? first->makespan_ns : stream->interval_ns;
    *out = (struct ad_energy_figures){.all_pj = -1};
    enum adaps_status status = ad_stream_loads(graph, cluster, first, stream, &loads, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_energy energy = ad_energy_of(cluster, &loads);
    out->all_pj = ad_energy_pj(&energy, time_ns);
    for (int d = 0; d < cluster->ndevices; d++) {
        const struct ad_device *device = &cluster->devices[d];
        const struct ad_power *power = &device->table.power;
        if (in_use(&loads, d))
            out->device_pj[d] =
                ad_power_known(power)
                    ? ad_clocks_plus(work_pj(device, &loads, d), times(power->idle_mw, time_ns))
                    : -1;
    }
    return ADAPS_OK;
}

enum adaps_status ad_energy_alone(const struct ad_graph *graph, const struct ad_cluster *cluster,
                                  const struct ad_schedule *schedule, int64_t *pj,
                                  struct adaps_error *err)
{
    struct ad_loads loads;
    enum adaps_status status = ad_schedule_loads(graph, cluster, schedule, &loads, err);
    *pj = -1;
    if (status == ADAPS_OK) {
        struct ad_energy energy = ad_energy_of(cluster, &loads);
        *pj = ad_energy_pj(&energy, schedule->makespan_ns);
    }
    return status;
}
