#include "cli/deployment.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "model_weights.h"

#include <string.h>
#include <unistd.h>

/* The agents of another devices file for the plan's devices, by name. */
static enum adaps_status replace_addresses(struct adaps_plan **plan, const char *path,
                                           struct adaps_error *err)
{
    struct ad_cluster cluster;
    enum adaps_status status = ad_cluster_load(path, &cluster, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_plan_readdress(*plan, &cluster, plan, err);
    if (status != ADAPS_OK)
        ad_error_prefix(err, "%s: ", path);
    ad_cluster_fini(&cluster);
    return status;
}

/* One line on a terminal, after the first second. */
static void show_progress(void *self, const char *what, uint64_t done, uint64_t total)
{
    struct ad_deployment *deployment = self;
    if (!isatty(STDERR_FILENO) || ad_clock_ns() - deployment->started_ns < 1000000000)
        return;
    char a[32], b[32];
    double share = total ? (double)done / (double)total : 1;
    int filled = (int)(share * 30);
    fprintf(stderr, "\r%-8s [%.*s%*s] %3.0f %%  %s of %s\033[K", what, filled,
            "##############################", 30 - filled, "", share * 100,
            ad_format_bytes((double)done, a, sizeof a),
            ad_format_bytes((double)total, b, sizeof b));
    fflush(stderr);
    deployment->progress_shown = true;
}

enum adaps_status ad_deployment_init(struct ad_deployment *deployment, const char *plan_path,
                                     const struct ad_run_options *options, struct adaps_error *err)
{
    memset(deployment, 0, sizeof *deployment);
    enum adaps_status status = adaps_plan_load(plan_path, &deployment->plan, err);
    if (status == ADAPS_OK && options->devices)
        status = replace_addresses(&deployment->plan, options->devices, err);
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
    struct ad_model_weights weights;
    ad_model_weights_init(&weights, deployment->plan, deployment->model);
    const struct ad_weight_source source = ad_model_weights_source(&weights);
    deployment->started_ns = ad_clock_ns();
    enum adaps_status status =
        ad_push(deployment->plan, &deployment->session, &source, deployment->reports, err);
    ad_model_weights_fini(&weights);
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
