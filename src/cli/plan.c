/* adaps plan: a model and a devices file in, a plan out. */
#include "cli/plan_options.h"
#include "cli/progress.h"
#include "report/report.h"

#include <string.h>

struct plan_options {
    struct ad_pipeline_options passes;
    const char *output;
    bool json;
    bool all;                 /* --strategy all */
    char assumed[AD_ASSUMED]; /* which symbolic dimensions became 1 */
};

static int take_strategy(const struct ad_command *command, const char *name, void *strategy)
{
    *(const char **)strategy = name;
    return strcmp(name, "all") == 0 || ad_strategy_find(name)
               ? ADAPS_OK
               : ad_plan_usage_strategy(command, name);
}

/* The devices whose loss the others cannot make up for. */
static void name_lacking(const struct adaps_plan *plan)
{
    const struct ad_cluster *cluster = &plan->cluster;
    for (int d = 0; d < cluster->ndevices; d++)
        if (d != cluster->source && ad_plan_works(plan, d) && !ad_plan_spare_of(plan, d))
            fprintf(stderr,
                    "adaps plan: no spare for the loss of '%s': the others do not suffice\n",
                    cluster->devices[d].name);
}

static int compile(const struct plan_options *options)
{
    struct adaps_error err = {0};
    struct adaps_plan *plan = NULL;
    struct ad_progress progress;
    ad_progress_start(&progress, "planning");
    enum adaps_status status = ad_pipeline_compile(&options->passes, &plan, &err);
    ad_progress_stop(&progress);
    if (status == ADAPS_OK)
        ad_cli_assumed(&ad_command_plan, options->assumed);
    if (status == ADAPS_OK)
        status = options->json ? ad_report_plan_json(plan, stdout, &err)
                               : ad_report_plan(plan, stdout, &err);
    if (status == ADAPS_OK && options->output)
        status = adaps_plan_save(plan, options->output, &err);
    if (status == ADAPS_OK && options->passes.spares)
        name_lacking(plan);
    adaps_plan_free(plan);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_plan, &err);
    fflush(stdout);
    if (options->output)
        fprintf(stderr, "adaps plan: written to %s\n", options->output);
    else
        fprintf(stderr, "adaps plan: nothing written; -o FILE keeps the plan\n");
    return ad_cli_close_stdout(&ad_command_plan);
}

/* Compares all strategies. ADAPS_NO when none has a plan. */
static int compare(const struct plan_options *options)
{
    struct adaps_error err = {0};
    struct ad_pipeline_comparison comparison;
    struct ad_progress progress;
    ad_progress_start(&progress, "planning");
    enum adaps_status status = ad_pipeline_compare(&options->passes, &comparison, &err);
    ad_progress_stop(&progress);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_plan, &err);
    ad_cli_assumed(&ad_command_plan, options->assumed);
    status = options->json ? ad_report_compare_json(comparison.items, comparison.count,
                                                    &comparison.cluster, stdout, &err)
                           : ad_report_compare(comparison.items, comparison.count,
                                               &comparison.cluster, stdout, &err);
    int plans = 0;
    for (int i = 0; i < comparison.count; i++)
        plans += !comparison.items[i].error[0];
    ad_pipeline_comparison_fini(&comparison);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_plan, &err);
    int code = ad_cli_close_stdout(&ad_command_plan);
    return code == ADAPS_OK && plans == 0 ? ADAPS_NO : code;
}

static int run_with(struct plan_options *options, const struct ad_cli_config *config,
                    const char *model)
{
    options->passes.assumed = options->assumed;
    options->passes.model = model ? model : config->model;
    if (!options->passes.devices)
        options->passes.devices = config->devices;
    if (!options->passes.model)
        return ad_cli_usage(&ad_command_plan, "no model: name one here or in adaps.conf");
    if (!options->passes.devices && !options->passes.platform)
        return ad_cli_usage(&ad_command_plan, "no devices file: name one with -d or in adaps.conf");
    return options->all ? compare(options) : compile(options);
}

static int run(int argc, char **argv)
{
    struct plan_options options = {.passes = ad_plan_defaults()};
    struct ad_cli_config config;
    struct adaps_error err = {0};
    struct ad_operands operands;
    int code = ad_options_parse(&ad_command_plan, argc, argv, &options, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count > 1)
        return ad_cli_usage(&ad_command_plan, "one MODEL expected, not %d", operands.count);
    const struct ad_pipeline_options *passes = &options.passes;
    if ((passes->layout != NULL) + (passes->mapping != NULL) + (passes->strategy != NULL) > 1)
        return ad_cli_usage(&ad_command_plan,
                            "of --layout, --mapping and --strategy one at most is wanted");
    if (passes->platform && !passes->mapping)
        return ad_cli_usage(&ad_command_plan, "--platform belongs to --mapping");
    if (passes->from && (!passes->strategy || strcmp(passes->strategy, "dn2pciot") != 0))
        return ad_cli_usage(&ad_command_plan, "--from belongs to --strategy dn2pciot");
    options.all = options.passes.strategy && strcmp(options.passes.strategy, "all") == 0;
    if (options.all && options.output)
        return ad_cli_usage(&ad_command_plan,
                            "--strategy all writes no plan: -o wants one strategy");
    if (options.all && options.passes.spares)
        return ad_cli_usage(&ad_command_plan, "--strategy all has no --spares");
    if (ad_cli_config_load(&config, &err) != ADAPS_OK)
        return ad_cli_fail(&ad_command_plan, &err);
    code = run_with(&options, &config, operands.count ? operands.items[0] : NULL);
    ad_cli_config_fini(&config);
    return code;
}

static const struct ad_option options_table[] = {
    AD_OPT_TEXT('d', "devices", "FILE", struct plan_options, passes.devices,
                "the devices and their links (default: from adaps.conf)"),
    AD_OPT_TEXT('o', "output", "PLAN", struct plan_options, output, "write the plan here"),
    AD_OPT_CALL("strategy", "NAME", struct plan_options, passes.strategy, take_strategy,
                "auto (default), single, edgeflow, adaps, bbgrap,\n"
                "modnn, coedge, deepslicing, deepthings, exhaustive;\n"
                "for streams: pipeline, defer, dn2pciot, replicas;\n"
                "all: compare them (but exhaustive)"),
    AD_OPT_TEXT(0, "from", "PLAN", struct plan_options, passes.from,
                "where strategy dn2pciot starts, instead of several starts"),
    AD_OPT_TEXT(0, "layout", "FILE", struct plan_options, passes.layout,
                "follow this layout instead of a search: what --json printed, or\n"
                "one of your own (see the manual)"),
    AD_OPT_TEXT(0, "mapping", "FILE", struct plan_options, passes.mapping,
                "follow this mapping of layers to devices (AutoDiCE's JSON)\n"
                "instead of a search"),
    AD_OPT_TEXT(0, "platform", "FILE", struct plan_options, passes.platform,
                "AutoDiCE's list of hosts: devices that the devices file lacks"),
    AD_OPT_GROUP(ad_plan_option_rows, struct plan_options, passes),
    AD_OPT_FLAG(0, "spares", struct plan_options, passes.spares,
                "also plan for the loss of each agent but the source's, for\n"
                "'adaps run --failover'"),
    AD_OPT_FLAG(0, "json", struct plan_options, json, "print JSON"),
    AD_OPT_END,
};

const struct ad_command ad_command_plan = {
    .name = "plan",
    .arguments = "[OPTIONS] [-d DEVICES] [-o PLAN] [MODEL.onnx]",
    .summary = "Choose which device computes what, and predict how long it takes.",
    .options = options_table,
    .notes = "Model and devices file are taken from adaps.conf of this folder when they are not "
             "given.\n",
    .run = run,
};
