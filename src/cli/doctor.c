/* adaps doctor: what is wrong with the devices and links of a cluster, and what to do about it. */
#include "cli/deployment.h"
#include "cli/doctor_internal.h"
#include "cli/run_options.h"

#define DEFAULT_DEADLINE_S 5

struct doctor_options {
    struct ad_run_options run; /* devices, session, json */
    const char *plan;          /* or a model; NULL: none */
    bool quick;
};

static int examine(const struct doctor_options *options, const struct ad_cluster *cluster,
                   const struct adaps_plan *plan)
{
    struct ad_examination examination;
    struct ad_diagnoses diagnoses;
    struct adaps_error err = {0};
    if (ad_examination_make(cluster, &options->run.session, plan, options->quick, &examination,
                            &err) != ADAPS_OK)
        return ad_cli_fail(&ad_command_doctor, &err);
    int code = ad_diagnoses_make(&examination, &diagnoses, &err) == ADAPS_OK
                   ? ADAPS_OK
                   : ad_cli_fail(&ad_command_doctor, &err);
    if (code == ADAPS_OK) {
        code = options->run.json ? ad_doctor_print_json(&diagnoses)
                                 : ad_doctor_print(&examination, &diagnoses);
        ad_diagnoses_free(&diagnoses);
    }
    ad_examination_free(&examination);
    return code;
}

/* The devices of the file, or those of the plan. */
static int examine_devices(const struct doctor_options *options, const struct adaps_plan *plan)
{
    struct ad_cluster cluster;
    struct adaps_error err = {0};
    if (!options->run.devices)
        return examine(options, &plan->cluster, plan);
    if (ad_cluster_load(options->run.devices, &cluster, &err) != ADAPS_OK)
        return ad_cli_fail(&ad_command_doctor, &err);
    int code = examine(options, &cluster, plan);
    ad_cluster_fini(&cluster);
    return code;
}

/* With a plan, or a model that becomes one. */
static int examine_for_plan(const struct doctor_options *options)
{
    const struct ad_dim_bindings dims = {0};
    struct ad_deployment deployment;
    struct adaps_error err = {0};
    char assumed[AD_ASSUMED] = "";
    if (ad_deployment_init_any(&deployment, options->plan, &options->run, &dims, assumed, &err) !=
        ADAPS_OK)
        return ad_cli_fail(&ad_command_doctor, &err);
    ad_cli_assumed(&ad_command_doctor, assumed);
    int code = examine_devices(options, deployment.plan);
    ad_deployment_fini(&deployment);
    return code;
}

static int run_doctor(int argc, char **argv)
{
    struct doctor_options options = {.run.session.deadline_s = DEFAULT_DEADLINE_S};
    struct ad_operands operands;
    int code = ad_options_parse(&ad_command_doctor, argc, argv, &options, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count > 1)
        return ad_cli_usage(&ad_command_doctor, "unexpected argument '%s'", operands.items[1]);
    options.plan = operands.count == 1 ? operands.items[0] : NULL;

    struct ad_cli_config config = {0};
    struct adaps_error err = {0};
    bool own_devices = options.plan && ad_deployment_is_plan(options.plan);
    if (!options.run.devices && !own_devices) {
        if (ad_cli_config_load(&config, &err) != ADAPS_OK)
            return ad_cli_fail(&ad_command_doctor, &err);
        options.run.devices = config.devices;
    }
    if (!options.run.devices && !own_devices)
        code = ad_cli_usage(&ad_command_doctor,
                            "no devices file: give one with -d, or name one in adaps.conf");
    else
        code = options.plan ? examine_for_plan(&options) : examine_devices(&options, NULL);
    ad_cli_config_fini(&config);
    return code;
}

static const struct ad_option options_table[] = {
    AD_OPT_TEXT('d', "devices", "FILE", struct doctor_options, run.devices,
                "the devices file (default: the one that adaps.conf names)"),
    AD_OPT_FLAG(0, "quick", struct doctor_options, quick,
                "only ask the agents, measure no links and no network"),
    AD_OPT_GROUP(ad_query_option_rows, struct doctor_options, run.session),
    AD_OPT_FLAG(0, "json", struct doctor_options, run.json, "print the result as JSON"),
    AD_OPT_END,
};

const struct ad_command ad_command_doctor = {
    .name = "doctor",
    .arguments = "[OPTION...] [PLAN | MODEL.onnx]",
    .summary = "Find what is wrong with the devices and links, and say what to do.",
    .options = options_table,
    .run = run_doctor,
};
