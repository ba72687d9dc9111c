#include "cli/deployment.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "cli/plan_options.h"
#include "cli/progress.h"
#include "model_weights.h"

#include <stdio.h>
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

/* Makes the rest for deployment->plan; drops that on failure. */
static enum adaps_status complete(struct ad_deployment *deployment,
                                  const struct ad_run_options *options, struct adaps_error *err)
{
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
    return complete(deployment, options, err);
}

/* Whether the file begins as a plan does. A file that cannot be read is none: whoever reads it
 * next says why. */
static bool is_plan(const char *path)
{
    char head[sizeof AD_PLAN_MAGIC - 1];
    FILE *file = fopen(path, "rb");
    bool is = file && fread(head, 1, sizeof head, file) == sizeof head &&
              memcmp(head, AD_PLAN_MAGIC, sizeof head) == 0;
    if (file)
        fclose(file);
    return is;
}

enum adaps_status ad_deployment_init_any(struct ad_deployment *deployment, const char *path,
                                         const struct ad_run_options *options,
                                         const struct ad_dim_bindings *dims, char *assumed,
                                         struct adaps_error *err)
{
    if (is_plan(path))
        return ad_deployment_init(deployment, path, options, err);
    struct ad_pipeline_options passes = ad_plan_defaults();
    struct ad_progress progress;
    memset(deployment, 0, sizeof *deployment);
    passes.model = path;
    passes.dims = *dims;
    passes.assumed = assumed;
    passes.devices = options->devices;
    passes.strategy = options->devices ? NULL : "single";
    ad_progress_start(&progress, "planning");
    enum adaps_status status = ad_pipeline_compile(&passes, &deployment->plan, err);
    ad_progress_stop(&progress);
    return status == ADAPS_OK ? complete(deployment, options, err) : status;
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
