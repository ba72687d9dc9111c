#include "cli/deployment.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "cli/devices.h"
#include "cli/plan_cache.h"
#include "cli/plan_options.h"
#include "cli/progress.h"
#include "io/file_kind.h"
#include "model_weights.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The agents of another devices file for the plan's devices, by name. */
static enum adaps_status replace_addresses(struct adaps_plan **plan,
                                           const struct ad_cli_devices *devices,
                                           struct adaps_error *err)
{
    struct ad_cluster cluster;
    enum adaps_status status = ad_cluster_load(devices->path, &cluster, err);
    if (status == ADAPS_OK) {
        status = ad_plan_readdress(*plan, &cluster, plan, err);
        if (status != ADAPS_OK)
            ad_error_prefix(err, "%s: ", devices->path);
        ad_cluster_fini(&cluster);
    }
    return status == ADAPS_OK ? status : ad_cli_devices_blame(devices, err);
}

/* Takes the paired devices' addresses for those of the plan, which must have names and keys of
 * theirs. Returns how many are others. */
static int take_addresses(const struct ad_command *command, const struct ad_cluster *paired,
                          struct ad_cluster *to)
{
    int moved = 0;
    for (int d = 0; d < to->ndevices; d++) {
        struct ad_device *device = &to->devices[d];
        int found = ad_cluster_find(paired, device->name);
        const struct ad_device *now = found < 0 ? NULL : &paired->devices[found];
        if (!now || !device->key[0] || strcmp(now->key, device->key) != 0 || !now->address[0] ||
            strcmp(now->address, device->address) == 0)
            continue;
        fprintf(stderr, "adaps %s: %s is at %s by now\n", command->name, device->name,
                now->address);
        memcpy(device->address, now->address, sizeof device->address);
        moved++;
    }
    return moved;
}

/* A paired device that has another address since it was planned for is found there. */
static enum adaps_status refresh_addresses(const struct ad_command *command,
                                           struct adaps_plan **plan, struct adaps_error *err)
{
    struct ad_cluster paired, addressed;
    struct ad_cli_devices user;
    enum adaps_status status = ad_cli_devices_find_user(&user, err);
    if (status != ADAPS_OK || !user.path)
        return status;
    status = ad_cluster_load(user.path, &paired, err);
    if (status != ADAPS_OK) {
        ad_cli_devices_blame(&user, err);
        goto out;
    }
    status = ad_cluster_copy(&(*plan)->cluster, &addressed, err);
    if (status == ADAPS_OK) {
        if (take_addresses(command, &paired, &addressed) > 0)
            status = ad_plan_readdress(*plan, &addressed, plan, err);
        ad_cluster_fini(&addressed);
    }
    ad_cluster_fini(&paired);
out:
    ad_cli_devices_fini(&user);
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

static enum adaps_status load_plan(struct ad_deployment *deployment,
                                   const struct ad_command *command, const char *path,
                                   const struct ad_run_options *options, struct adaps_error *err)
{
    struct ad_cli_devices devices = {0};
    enum adaps_status status = adaps_plan_load(path, &deployment->plan, err);
    deployment->model = options->model;
    if (status != ADAPS_OK || deployment->here)
        return status;
    status = ad_cli_devices_find(options->devices, &devices, err);
    if (status == ADAPS_OK)
        status = ad_cli_devices_given(&devices)
                     ? replace_addresses(&deployment->plan, &devices, err)
                     : refresh_addresses(command, &deployment->plan, err);
    ad_cli_devices_fini(&devices);
    return status;
}

static enum adaps_status compile(const struct ad_command *command,
                                 struct ad_pipeline_options *passes, struct adaps_plan **out,
                                 struct adaps_error *err)
{
    char assumed[AD_ASSUMED] = "";
    struct ad_progress progress;
    passes->assumed = assumed;
    ad_progress_start(&progress, "planning");
    enum adaps_status status = ad_pipeline_compile(passes, out, err);
    ad_progress_stop(&progress);
    passes->assumed = NULL;
    if (status == ADAPS_OK)
        ad_cli_assumed(command, assumed);
    return status;
}

static void tell_planned(const struct ad_command *command, const struct adaps_plan *plan,
                         const struct ad_cli_devices *devices, int64_t took_ns)
{
    char predicted[32], took[32];
    int working = 0;
    for (int d = 0; d < plan->cluster.ndevices; d++)
        working += ad_plan_works(plan, d);
    fprintf(stderr, "adaps %s: planned for the devices of %s: %d of %d work, predicted %s (%s)\n",
            command->name, devices->path, working, plan->cluster.ndevices,
            ad_format_ns((double)plan->schedule.makespan_ns, predicted, sizeof predicted),
            took_ns < 0 ? "by an earlier run" : ad_format_ns((double)took_ns, took, sizeof took));
}

/* Plans for the devices of the file, unless that was done before. */
static enum adaps_status plan_for(struct ad_deployment *deployment,
                                  const struct ad_command *command,
                                  struct ad_pipeline_options *passes,
                                  const struct ad_cli_devices *devices, bool no_cache,
                                  struct adaps_error *err)
{
    struct ad_plan_cache cache = {NULL};
    struct ad_cluster cluster;
    struct adaps_error lost;
    int64_t begin_ns = ad_clock_ns(), took_ns = -1;
    enum adaps_status status = ad_cluster_load(devices->path, &cluster, err);
    if (status != ADAPS_OK)
        return ad_cli_devices_blame(devices, err);
    if (!no_cache)
        status = ad_plan_cache_find(&cache, passes, &cluster, &deployment->plan, err);
    if (status == ADAPS_OK && !deployment->plan) {
        passes->devices = devices->path;
        status = compile(command, passes, &deployment->plan, err);
        took_ns = ad_clock_ns() - begin_ns;
        if (status == ADAPS_OK && ad_plan_cache_keep(&cache, deployment->plan, &lost) != ADAPS_OK)
            fprintf(stderr, "adaps %s: the plan is not kept: %s\n", command->name, lost.message);
    }
    if (status == ADAPS_OK)
        tell_planned(command, deployment->plan, devices, took_ns);
    ad_plan_cache_fini(&cache);
    ad_cluster_fini(&cluster);
    return status;
}

/* There are no devices for the model, if it is one. */
static enum adaps_status refuse_model(const char *path, struct adaps_error *err)
{
    struct ad_onnx_model *model = NULL;
    enum adaps_status status = ad_onnx_load(path, &model, err);
    ad_onnx_free(model);
    return status == ADAPS_OK ? ad_error_set(err, ADAPS_EUSAGE, AD_DEVICES_WANTED) : status;
}

static enum adaps_status plan_model(struct ad_deployment *deployment,
                                    const struct ad_command *command, const char *path,
                                    const struct ad_run_options *options,
                                    enum ad_deployment_place place, struct adaps_error *err)
{
    struct ad_cli_devices devices = {0};
    struct ad_pipeline_options passes = ad_plan_defaults();
    enum adaps_status status = ADAPS_OK;
    passes.model = path;
    passes.dims = options->dims;
    deployment->model = options->model ? options->model : path;
    if (place != AD_PLACE_HERE)
        status = ad_cli_devices_find(options->devices, &devices, err);
    if (status == ADAPS_OK && place == AD_PLACE_AGENTS && !devices.path)
        status = refuse_model(path, err);
    if (status == ADAPS_OK && devices.path) {
        status = plan_for(deployment, command, &passes, &devices, options->no_cache, err);
    } else if (status == ADAPS_OK) {
        deployment->here = true;
        passes.strategy = "single";
        status = compile(command, &passes, &deployment->plan, err);
        if (status == ADAPS_OK && place != AD_PLACE_HERE)
            fprintf(stderr, "adaps %s: no devices file: on this machine alone\n", command->name);
    }
    ad_cli_devices_fini(&devices);
    return status;
}

bool ad_deployment_is_plan(const char *path)
{
    char head[sizeof AD_PLAN_MAGIC - 1];
    FILE *file = fopen(path, "rb");
    bool is = file && fread(head, 1, sizeof head, file) == sizeof head &&
              memcmp(head, AD_PLAN_MAGIC, sizeof head) == 0;
    if (file)
        fclose(file);
    return is;
}

enum adaps_status ad_deployment_init(struct ad_deployment *deployment,
                                     const struct ad_command *command, const char *path,
                                     const struct ad_run_options *options,
                                     enum ad_deployment_place place, struct adaps_error *err)
{
    memset(deployment, 0, sizeof *deployment);
    deployment->here = place == AD_PLACE_HERE;
    deployment->session = options->session;
    deployment->session.progress = show_progress;
    deployment->session.progress_self = deployment;
    ad_waiting_line_set(&deployment->waiting, command, &deployment->session);
    enum ad_file_kind kind = ad_file_kind(path);
    enum adaps_status status;
    if (ad_deployment_is_plan(path))
        status = load_plan(deployment, command, path, options, err);
    else if (kind != AD_FILE_OTHER)
        status = ad_error_set(err, ADAPS_EINPUT, "%s: %s, where a plan or a model is wanted", path,
                              kind == AD_FILE_NPY ? "a numpy array" : "a picture");
    else
        status = plan_model(deployment, command, path, options, place, err);
    if (status == ADAPS_OK) {
        size_t ndevices = (size_t)deployment->plan->cluster.ndevices;
        deployment->reports = ad_calloc(ndevices, sizeof *deployment->reports);
        if (!deployment->reports)
            status = ad_error_memory(err, "push reports", ndevices * sizeof *deployment->reports);
    }
    if (status != ADAPS_OK)
        ad_deployment_fini(deployment);
    return status;
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
