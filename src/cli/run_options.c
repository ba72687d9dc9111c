#include "cli/run_options.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "pipeline.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

bool ad_target_parse_deadline(const char *text, double *seconds)
{
    bool known = ad_parse_double(text, 0, 1e9, seconds) || ad_parse_time(text, seconds);
    return known && *seconds > 0 && *seconds <= 1e9;
}

int ad_target_option(const struct ad_command *command, int option, const char *argument,
                     struct ad_target_options *options)
{
    switch (option) {
    case 'd':
        options->devices = argument;
        return ADAPS_OK;
    case 'm' + 256:
        options->model = argument;
        return ADAPS_OK;
    case 'k' + 256:
        options->key = argument;
        return ADAPS_OK;
    case 'j' + 256:
        options->json = true;
        return ADAPS_OK;
    case 't' + 256:
        if (ad_target_parse_deadline(argument, &options->deadline_s))
            return ADAPS_OK;
        return ad_cli_usage(command, "--deadline '%s': a time above 0 expected, like 10s or 500ms",
                            argument);
    default: /* getopt has said what is wrong */
        return ADAPS_EUSAGE;
    }
}

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
        if (found < 0 && ad_target_works(plan, d)) {
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

/* One line on a terminal, from the second second on. */
static void show_progress(void *self, const char *what, uint64_t done, uint64_t total)
{
    struct ad_target *target = self;
    if (!isatty(STDERR_FILENO) || ad_clock_ns() - target->started_ns < 1000000000)
        return;
    char a[32], b[32];
    double part = total ? (double)done / (double)total : 1;
    int filled = (int)(part * 30);
    fprintf(stderr, "\r%-8s [%.*s%*s] %3.0f %%  %s of %s\033[K", what, filled,
            "##############################", 30 - filled, "", part * 100,
            ad_format_bytes((double)done, a, sizeof a),
            ad_format_bytes((double)total, b, sizeof b));
    fflush(stderr);
    target->progress_shown = true;
}

static enum adaps_status attach(void *self, struct adaps_plan *plan, struct adaps_error *err)
{
    const struct ad_target *target = self;
    return ad_pipeline_weights(plan, target->model, err);
}

enum adaps_status ad_target_init(struct ad_target *target, const char *plan_path,
                                 const struct ad_target_options *options, struct adaps_error *err)
{
    memset(target, 0, sizeof *target);
    enum adaps_status status = adaps_plan_load(plan_path, &target->plan, err);
    if (status == ADAPS_OK && options->devices)
        status = replace_addresses(target->plan, options->devices, err);
    if (status != ADAPS_OK) {
        ad_target_fini(target);
        return status;
    }
    size_t ndevices = (size_t)target->plan->cluster.ndevices;
    target->reports = ad_calloc(ndevices, sizeof *target->reports);
    if (!target->reports) {
        ad_target_fini(target);
        return ad_error_memory(err, "push reports", ndevices * sizeof *target->reports);
    }
    target->model = options->model;
    target->session = (struct ad_session_options){.deadline_s = options->deadline_s,
                                                  .key_file = options->key,
                                                  .progress = show_progress,
                                                  .progress_self = target};
    return ADAPS_OK;
}

enum adaps_status ad_target_push(struct ad_target *target, struct adaps_error *err)
{
    struct ad_weight_loader loader = {attach, target};
    target->started_ns = ad_clock_ns();
    enum adaps_status status =
        ad_push(target->plan, &target->session, &loader, target->reports, err);
    if (target->progress_shown)
        fputs("\r\033[K", stderr);
    target->progress_shown = false;
    return status;
}

void ad_target_fini(struct ad_target *target)
{
    adaps_plan_free(target->plan);
    ad_free(target->reports);
    memset(target, 0, sizeof *target);
}

json_t *ad_json_real(double value)
{
    return json_real(isfinite(value) ? value : value < 0 ? -DBL_MAX : DBL_MAX);
}

int ad_json_print(const struct ad_command *command, json_t *root)
{
    struct adaps_error err;
    if (!root) {
        ad_error_memory(&err, "JSON", 0);
        return ad_cli_fail(command, &err);
    }
    json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(root);
    return ad_cli_close_stdout(command);
}
