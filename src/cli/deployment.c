#include "cli/deployment.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "pipeline.h"

#include <string.h>
#include <unistd.h>

/* The agents of another devices file for the plan's devices, by name. */
static enum adaps_status replace_addresses(struct adaps_plan *plan, const char *path,
                                           struct adaps_error *err)
{
    struct ad_cluster other;
    enum adaps_status status = ad_cluster_load(path, &other, err);
    if (status != ADAPS_OK)
        return status;
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        struct ad_device *device = &plan->cluster.devices[d];
        int found = ad_cluster_find(&other, device->name);
        if (found < 0 && ad_deployment_works(plan, d)) {
            status = ad_error_set(err, ADAPS_EINPUT,
                                  "%s: there is no device '%s', which the plan gives work to", path,
                                  device->name);
            break;
        }
        if (found < 0)
            continue;
        memcpy(device->address, other.devices[found].address, sizeof device->address);
        memcpy(device->key, other.devices[found].key, sizeof device->key);
    }
    ad_cluster_fini(&other);
    if (status != ADAPS_OK)
        return status;
    /* The addresses are part of what the plan's digest covers. */
    char strategy[sizeof plan->strategy];
    memcpy(strategy, plan->strategy, sizeof strategy);
    return ad_plan_describe(plan, strategy, plan->threshold, err);
}

/* One line on a terminal, after the first second. */
static void show_progress(void *self, const char *what, uint64_t done, uint64_t total)
{
    struct ad_deployment *deployment = self;
    if (!isatty(STDERR_FILENO) || ad_clock_ns() - deployment->started_ns < 1000000000)
        return;
    char a[32], b[32];
    double part = total ? (double)done / (double)total : 1;
    int filled = (int)(part * 30);
    fprintf(stderr, "\r%-8s [%.*s%*s] %3.0f %%  %s of %s\033[K", what, filled,
            "##############################", 30 - filled, "", part * 100,
            ad_format_bytes((double)done, a, sizeof a),
            ad_format_bytes((double)total, b, sizeof b));
    fflush(stderr);
    deployment->progress_shown = true;
}

static enum adaps_status attach(void *self, struct adaps_plan *plan, struct adaps_error *err)
{
    const struct ad_deployment *deployment = self;
    return ad_pipeline_weights(plan, deployment->model, err);
}

enum adaps_status ad_deployment_init(struct ad_deployment *deployment, const char *plan_path,
                                     const struct ad_run_options *options, struct adaps_error *err)
{
    memset(deployment, 0, sizeof *deployment);
    enum adaps_status status = adaps_plan_load(plan_path, &deployment->plan, err);
    if (status == ADAPS_OK && options->devices)
        status = replace_addresses(deployment->plan, options->devices, err);
    if (status != ADAPS_OK) {
        ad_deployment_fini(deployment);
        return status;
    }
    size_t ndevices = (size_t)deployment->plan->cluster.ndevices;
    deployment->reports = ad_calloc(ndevices, sizeof *deployment->reports);
    if (!deployment->reports) {
        ad_deployment_fini(deployment);
        return ad_error_memory(err, "push reports", ndevices * sizeof *deployment->reports);
    }
    deployment->model = options->model;
    deployment->session = options->session;
    deployment->session.progress = show_progress;
    deployment->session.progress_self = deployment;
    return ADAPS_OK;
}

enum adaps_status ad_deployment_push(struct ad_deployment *deployment, struct adaps_error *err)
{
    struct ad_weight_loader loader = {attach, deployment};
    deployment->started_ns = ad_clock_ns();
    enum adaps_status status =
        ad_push(deployment->plan, &deployment->session, &loader, deployment->reports, err);
    if (deployment->progress_shown)
        fputs("\r\033[K", stderr);
    deployment->progress_shown = false;
    return status;
}

void ad_deployment_fini(struct ad_deployment *deployment)
{
    adaps_plan_free(deployment->plan);
    ad_free(deployment->reports);
    memset(deployment, 0, sizeof *deployment);
}
