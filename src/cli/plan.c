/* adaps plan: a model and a devices file in, a plan out. */
#include "cli/devices.h"
#include "cli/plan_options.h"
#include "cli/progress.h"
#include "report/report.h"

#include <string.h>

struct plan_options {
    struct ad_pipeline_options passes;
    const char *output;
    struct ad_pareto_objectives pareto; /* --pareto; count 0: none */
    const char *svg;                    /* of the front; NULL: none */
    bool json;
    bool all; /* --strategy all */
    struct ad_cli_devices devices;
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

static int fail(const struct plan_options *options, struct adaps_error *err)
{
    ad_cli_devices_blame(&options->devices, err);
    return ad_cli_fail(&ad_command_plan, err);
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
        return fail(options, &err);
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
        return fail(options, &err);
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
        return fail(options, &err);
    int code = ad_cli_close_stdout(&ad_command_plan);
    return code == ADAPS_OK && plans == 0 ? ADAPS_NO : code;
}

/* "net-3.plan" for number 3 of "net.plan". NULL without memory. */
static char *numbered(const char *path, int number)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    if (!dot || dot == name)
        return ad_asprintf("%s-%d", path, number);
    return ad_asprintf("%.*s-%d%s", (int)(dot - path), path, number, dot);
}

struct front_files {
    char *names[AD_PARETO_PLANS]; /* of the plans; NULL: none */
};

static enum adaps_status name_files(const struct plan_options *options, int count,
                                    struct front_files *out, struct adaps_error *err)
{
    *out = (struct front_files){{NULL}};
    for (int i = 0; i < count && options->output; i++) {
        out->names[i] = numbered(options->output, i + 1);
        if (!out->names[i])
            return ad_error_memory(err, options->output, strlen(options->output));
    }
    return ADAPS_OK;
}

/* Writes each plan of the front that has a name. */
static enum adaps_status save_front(const struct plan_options *options,
                                    struct ad_pipeline_pareto *pareto,
                                    const struct front_files *files, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; i < pareto->front.count && files->names[i] && status == ADAPS_OK; i++) {
        struct adaps_plan *plan = NULL;
        status = ad_pipeline_pareto_plan(&options->passes, pareto, i, &plan, err);
        if (status == ADAPS_OK)
            status = adaps_plan_save(plan, files->names[i], err);
        adaps_plan_free(plan);
    }
    return status;
}

static enum adaps_status print_svg(const void *front, FILE *out, struct adaps_error *err)
{
    return ad_report_pareto_svg(front, out, err);
}

static enum adaps_status report_front(const struct plan_options *options,
                                      const struct ad_pipeline_pareto *pareto,
                                      const struct front_files *files, struct adaps_error *err)
{
    const struct ad_pareto *front = &pareto->front;
    enum adaps_status status =
        options->svg ? ad_cli_write_file(options->svg, print_svg, front, err) : ADAPS_OK;
    if (status != ADAPS_OK)
        return status;
    return options->json ? ad_report_pareto_json(front, &pareto->cluster, files->names, stdout, err)
                         : ad_report_pareto(front, &pareto->cluster, stdout, err);
}

/* The Pareto front. */
static int find_front(const struct plan_options *options)
{
    struct adaps_error err = {0};
    struct ad_pipeline_pareto pareto;
    struct front_files files = {{NULL}};
    struct ad_progress progress;
    ad_progress_start(&progress, "planning");
    enum adaps_status status =
        ad_pipeline_pareto(&options->passes, &options->pareto, &pareto, &err);
    ad_progress_stop(&progress);
    if (status != ADAPS_OK)
        return fail(options, &err);
    ad_cli_assumed(&ad_command_plan, options->assumed);
    int count = pareto.front.count;
    status = name_files(options, count, &files, &err);
    if (status == ADAPS_OK)
        status = report_front(options, &pareto, &files, &err);
    if (status == ADAPS_OK)
        status = save_front(options, &pareto, &files, &err);
    ad_pipeline_pareto_fini(&pareto);
    if (status == ADAPS_OK) {
        fflush(stdout);
        if (options->output)
            fprintf(stderr, "adaps plan: written to %s%s%s\n", files.names[0],
                    count > 1 ? " to " : "", count > 1 ? files.names[count - 1] : "");
        else
            fprintf(stderr, "adaps plan: nothing written; -o FILE keeps the plans\n");
    }
    for (int i = 0; i < AD_PARETO_PLANS; i++)
        ad_free(files.names[i]);
    return status == ADAPS_OK ? ad_cli_close_stdout(&ad_command_plan) : fail(options, &err);
}

/* What --pareto does not go with. */
static int check_front(const struct plan_options *options)
{
    const struct ad_pipeline_options *passes = &options->passes;
    const char *other = passes->strategy                            ? "--strategy"
                        : passes->layout                            ? "--layout"
                        : passes->mapping                           ? "--mapping"
                        : passes->spares                            ? "--spares"
                        : passes->objective != AD_OBJECTIVE_LATENCY ? "--objective"
                        : passes->interval_cap_ns > 0               ? "--rate-floor"
                                                                    : NULL;
    if (options->pareto.count > 0 && other)
        return ad_cli_usage(&ad_command_plan, "--pareto does not go with %s", other);
    if (options->pareto.count == 0 && options->svg)
        return ad_cli_usage(&ad_command_plan,
                            "--svg belongs to --pareto; 'adaps show --svg' draws a plan");
    return ADAPS_OK;
}

static int run_with(struct plan_options *options, const struct ad_cli_config *config,
                    const char *model)
{
    options->passes.assumed = options->assumed;
    options->passes.model = model ? model : config->model;
    options->passes.devices = options->devices.path;
    if (!options->passes.model)
        return ad_cli_usage(&ad_command_plan, "no model: name one here or in adaps.conf");
    if (!options->passes.devices && !options->passes.platform)
        return ad_cli_usage(&ad_command_plan, AD_DEVICES_WANTED);
    if (options->pareto.count > 0)
        return find_front(options);
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
    code = check_front(&options);
    if (code != ADAPS_OK)
        return code;
    if (ad_cli_config_load(&config, &err) != ADAPS_OK)
        return ad_cli_fail(&ad_command_plan, &err);
    if (ad_cli_devices_find(options.passes.devices, &options.devices, &err) == ADAPS_OK)
        code = run_with(&options, &config, operands.count ? operands.items[0] : NULL);
    else
        code = ad_cli_fail(&ad_command_plan, &err);
    ad_cli_devices_fini(&options.devices);
    ad_cli_config_fini(&config);
    return code;
}

static const struct ad_option options_table[] = {
    AD_OPT_TEXT('d', "devices", "FILE", struct plan_options, passes.devices,
                "the devices and their links (default: $ADAPS_DEVICES, those of\n"
                "adaps.conf, or the paired ones)"),
    AD_OPT_TEXT('o', "output", "PLAN", struct plan_options, output, "write the plan here"),
    AD_OPT_CALL("strategy", "NAME", struct plan_options, passes.strategy, take_strategy,
                "auto (default), single, edgeflow, adaps, bbgrap,\n"
                "modnn, coedge, deepslicing, deepthings, deeperthings,\n"
                "aofl, dpfp, flexpie, edgeci, halp, exhaustive;\n"
                "for streams: pipeline, defer, dn2pciot,\n"
                "collaborative, pico, replicas;\n"
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
    AD_OPT_CALL("pareto", "LIST", struct plan_options, pareto, ad_plan_take_pareto,
                "plans none of which is beaten by another in all of these\n"
                "objectives, as in latency,energy; -o net.plan keeps them as\n"
                "net-1.plan, net-2.plan ..."),
    AD_OPT_TEXT(0, "svg", "FILE", struct plan_options, svg, "with --pareto: a picture of them"),
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
    .notes = "Without MODEL it is the one that adaps.conf of this folder names.\n",
    .run = run,
};
