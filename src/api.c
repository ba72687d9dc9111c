/* The public interface (adaps.h) of plans: checks the caller's arguments, then calls the passes. */
#include "api_structs.h"
#include "base/file.h"
#include "base/units.h"
#include "pipeline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_THRESHOLD 0.15

static enum adaps_status check_options(const struct adaps_plan_options *options,
                                       struct adaps_error *err)
{
    if (!options->model && !options->model_data)
        return ad_error_set(err, ADAPS_EUSAGE, "a model is required");
    if (!isfinite(options->bandwidth) || options->bandwidth < 0)
        return ad_error_set(err, ADAPS_EUSAGE, "bandwidth %g: bytes per second above 0 are wanted",
                            options->bandwidth);
    if (options->has_latency && (!isfinite(options->latency) || options->latency < 0))
        return ad_error_set(err, ADAPS_EUSAGE, "latency %g: seconds, 0 or more, are wanted",
                            options->latency);
    if (!(options->threshold >= 0 && options->threshold <= 1))
        return ad_error_set(err, ADAPS_EUSAGE, "threshold %g is not within 0..1",
                            options->threshold);
    return ADAPS_OK;
}

static void tell(const struct adaps_plan_options *options, const struct adaps_plan *plan)
{
    char message[512], predicted[32];
    if (!options->log)
        return;
    snprintf(message, sizeof message, "%s: planned by strategy %s, predicted latency %s",
             options->model, plan->strategy,
             ad_format_ns((double)plan->schedule.makespan_ns, predicted, sizeof predicted));
    options->log(options->log_user, ADAPS_LOG_INFO, message);
}

enum adaps_status adaps_plan_compile(const struct adaps_plan_options *given,
                                     struct adaps_plan **out, struct adaps_error *err)
{
    struct adaps_plan_options options;
    if (!given || !out)
        return ad_error_set(err, ADAPS_EUSAGE, "options and a place for the plan are required");
    enum adaps_status status =
        ad_struct_read(&options, sizeof options, sizeof options, given, "adaps_plan_options", err);
    if (status == ADAPS_OK)
        status = check_options(&options, err);
    if (status != ADAPS_OK)
        return status;
    if (!options.model)
        options.model = "model";
    const struct ad_pipeline_options passes = {
        .model = options.model,
        .model_data = options.model_data,
        .model_size = options.model_size,
        .devices = options.devices,
        .strategy = options.strategy,
        .bandwidth = options.bandwidth > 0 ? options.bandwidth : -1,
        .latency = options.has_latency ? options.latency : -1,
        .threshold =
            options.has_threshold || options.threshold > 0 ? options.threshold : DEFAULT_THRESHOLD,
        .split_h = true,
        .split_w = true,
        .split_c = true,
        .gather_type3 = options.gather_type3,
        .conv_direct = options.conv_direct,
        .objective = AD_OBJECTIVE_LATENCY,
        .spares = options.spares,
        .progress = options.progress,
        .progress_self = options.progress_user,
    };
    status = ad_pipeline_compile(&passes, out, err);
    if (status == ADAPS_OK)
        tell(&options, *out);
    return status;
}

enum adaps_status adaps_plan_load(const char *path, struct adaps_plan **out,
                                  struct adaps_error *err)
{
    if (!path || !out)
        return ad_error_set(err, ADAPS_EUSAGE, "a path and a place for the plan are required");
    return ad_plan_load(path, out, err);
}

enum adaps_status adaps_plan_save(const struct adaps_plan *plan, const char *path,
                                  struct adaps_error *err)
{
    if (!plan || !path)
        return ad_error_set(err, ADAPS_EUSAGE, "a plan and a path are required");
    void *data;
    size_t size;
    enum adaps_status status = ad_plan_pack_file(plan, &data, &size, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_file_replace(path, data, size, err);
    ad_free(data);
    return status;
}

int adaps_plan_inputs(const struct adaps_plan *plan)
{
    return plan->graph->ninputs;
}

int adaps_plan_outputs(const struct adaps_plan *plan)
{
    return plan->graph->noutputs;
}

static enum adaps_status give_info(const struct ad_graph *graph, const int *values, int count,
                                   int index, const char *what, struct adaps_tensor_info *info,
                                   struct adaps_error *err)
{
    struct adaps_tensor_info own;
    if (!info)
        return ad_error_set(err, ADAPS_EUSAGE, "a place for the facts is required");
    if (index < 0 || index >= count)
        return ad_error_set(err, ADAPS_EUSAGE, "%s %d: the network has %d", what, index, count);
    ad_api_info(graph, values, index, &own);
    return ad_struct_write(info, &own, sizeof own, sizeof own, "adaps_tensor_info", err);
}

enum adaps_status adaps_plan_input(const struct adaps_plan *plan, int index,
                                   struct adaps_tensor_info *info, struct adaps_error *err)
{
    const struct ad_graph *graph = plan->graph;
    return give_info(graph, graph->inputs, graph->ninputs, index, "input", info, err);
}

enum adaps_status adaps_plan_output(const struct adaps_plan *plan, int index,
                                    struct adaps_tensor_info *info, struct adaps_error *err)
{
    const struct ad_graph *graph = plan->graph;
    return give_info(graph, graph->outputs, graph->noutputs, index, "output", info, err);
}

int64_t adaps_plan_predicted_ns(const struct adaps_plan *plan)
{
    return plan->schedule.makespan_ns;
}
