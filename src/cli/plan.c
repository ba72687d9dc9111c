/* adaps plan: a model and a devices file in, a plan out. */
#include "cli/plan_options.h"
#include "cli/progress.h"
#include "report/report.h"

#include <getopt.h>
#include <string.h>

enum { OPTION_STRATEGY = 512, OPTION_JSON };

struct plan_options {
    struct ad_pipeline_options passes;
    const char *output;
    bool json;
    bool all;                 /* --strategy all */
    char assumed[AD_ASSUMED]; /* which symbolic dimensions became 1 */
};

/* ADAPS_OK, or ADAPS_EUSAGE after a message. */
static int take_option(struct plan_options *options, int option)
{
    switch (option) {
    case 'o':
        options->output = optarg;
        return ADAPS_OK;
    case OPTION_STRATEGY:
        options->passes.strategy = optarg;
        options->all = strcmp(optarg, "all") == 0;
        return options->all || ad_strategy_find(optarg)
                   ? ADAPS_OK
                   : ad_plan_usage_strategy(&ad_command_plan, optarg);
    case OPTION_JSON:
        options->json = true;
        return ADAPS_OK;
    default:
        return ad_plan_option(&ad_command_plan, option, optarg, &options->passes);
    }
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

/* All strategies; "no" when none has a plan. */
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
    if (!options->passes.devices)
        return ad_cli_usage(&ad_command_plan, "no devices file: name one with -d or in adaps.conf");
    return options->all ? compare(options) : compile(options);
}

static int run(int argc, char **argv)
{
    static const struct option longs[] = {AD_PLAN_LONGS,
                                          {"strategy", required_argument, NULL, OPTION_STRATEGY},
                                          {"output", required_argument, NULL, 'o'},
                                          {"json", no_argument, NULL, OPTION_JSON},
                                          {0}};
    struct plan_options options = {.passes = ad_plan_options()};
    struct ad_cli_config config;
    struct adaps_error err = {0};
    int option;
    while ((option = ad_cli_getopt(&ad_command_plan, argc, argv, AD_PLAN_SHORTS "o:", longs)) != -1)
        if (take_option(&options, option) != ADAPS_OK)
            return ADAPS_EUSAGE;
    if (argc - optind > 1)
        return ad_cli_usage(&ad_command_plan, "one MODEL expected, not %d", argc - optind);
    if (options.all && options.output)
        return ad_cli_usage(&ad_command_plan,
                            "--strategy all writes no plan: -o wants one strategy");
    if (ad_cli_config_load(&config, &err) != ADAPS_OK)
        return ad_cli_fail(&ad_command_plan, &err);
    int code = run_with(&options, &config, optind < argc ? argv[optind] : NULL);
    ad_cli_config_fini(&config);
    return code;
}

const struct ad_command ad_command_plan = {
    .name = "plan",
    .arguments = "[OPTIONS] [-d DEVICES] [-o PLAN] [MODEL.onnx]",
    .summary = "Choose which device computes what, and predict how long it takes.",
    .details = "  -d, --devices FILE   the devices and their links (default: from adaps.conf)\n"
               "  -o, --output PLAN    write the plan here\n"
               "  --strategy NAME      auto (default), single, edgeflow, adaps, bbgrap,\n"
               "                       modnn, coedge, deepslicing, deepthings, exhaustive;\n"
               "                       all: compare them (but exhaustive)\n" AD_PLAN_HELP
               "  --json               print JSON\n"
               "Model and devices file are taken from adaps.conf of this folder when they are not "
               "given.\n",
    .run = run,
};
