/* The public interface (adaps.h) of plans: checks the caller's arguments, then calls the passes. */
#include "base/file.h"
#include "pipeline.h"

#include <math.h>
#include <string.h>

#define DEFAULT_THRESHOLD 0.15

static enum adaps_status check_options(const struct adaps_plan_options *options,
                                       struct adaps_error *err)
{
    if (!options || !options->model || !options->devices)
        return ad_error_set(err, ADAPS_EUSAGE, "a model and a devices file are required");
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

enum adaps_status adaps_plan_compile(const struct adaps_plan_options *options,
                                     struct adaps_plan **out, struct adaps_error *err)
{
    enum adaps_status status = check_options(options, err);
    if (status != ADAPS_OK)
        return status;
    if (!out)
        return ad_error_set(err, ADAPS_EUSAGE, "no place for the plan");
    const struct ad_pipeline_options passes = {
        .model = options->model,
        .devices = options->devices,
        .strategy = options->strategy,
        .bandwidth = options->bandwidth > 0 ? options->bandwidth : -1,
        .latency = options->has_latency ? options->latency : -1,
        .threshold = options->has_threshold || options->threshold > 0 ? options->threshold
                                                                      : DEFAULT_THRESHOLD,
        .split_h = true,
        .split_w = true,
        .split_c = true,
        .gather_type3 = options->gather_type3,
        .conv_direct = options->conv_direct,
        .objective = AD_OBJECTIVE_LATENCY,
        .spares = options->spares,
    };
    return ad_pipeline_compile(&passes, out, err);
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

static size_t value_elements(const struct adaps_plan *plan, int value)
{
    return (size_t)ad_box_elements(plan->graph->values[value].box);
}

size_t adaps_plan_input_elements(const struct adaps_plan *plan)
{
    return plan->graph->ninputs > 0 ? value_elements(plan, plan->graph->inputs[0]) : 0;
}

size_t adaps_plan_output_elements(const struct adaps_plan *plan)
{
    return value_elements(plan, plan->graph->outputs[0]);
}

int64_t adaps_plan_predicted_ns(const struct adaps_plan *plan)
{
    return plan->schedule.makespan_ns;
}
