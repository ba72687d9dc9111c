/* adaps doctor: what is wrong with the devices and links of a cluster, and what to do about it. */
#include "cli/deployment.h"
#include "cli/devices.h"
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

/* No devices file is a mistake of whoever calls. */
static int refuse(enum adaps_status status, const struct adaps_error *err)
{
    return status == ADAPS_EUSAGE ? ad_cli_usage(&ad_command_doctor, "%s", err->message)
                                  : ad_cli_fail(&ad_command_doctor, err);
}

/* The devices of the file that is found. */
static int examine_file(const struct doctor_options *options, const struct adaps_plan *plan)
{
    struct ad_cli_devices devices;
    struct ad_cluster cluster;
    struct adaps_error err = {0};
    enum adaps_status status = ad_cli_devices_load(options->run.devices, &cluster, &devices, &err);
    if (status != ADAPS_OK)
        return refuse(status, &err);
    int code = examine(options, &cluster, plan);
    ad_cluster_fini(&cluster);
    ad_cli_devices_fini(&devices);
    return code;
}

/* A plan has devices, which count unless others are given. */
static int examine_for_plan(const struct doctor_options *options)
{
    struct ad_cli_devices devices;
    struct ad_deployment deployment;
    struct adaps_error err = {0};
    enum adaps_status status = ad_cli_devices_find(options->run.devices, &devices, &err);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_doctor, &err);
    bool own = ad_deployment_is_plan(options->plan) && !ad_cli_devices_given(&devices);
    ad_cli_devices_fini(&devices);
    status = ad_deployment_init(&deployment, &ad_command_doctor, options->plan, &options->run,
                                AD_PLACE_AGENTS, &err);
    if (status != ADAPS_OK)
        return refuse(status, &err);
    int code = own ? examine(options, &deployment.plan->cluster, deployment.plan)
                   : examine_file(options, deployment.plan);
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
    return options.plan ? examine_for_plan(&options) : examine_file(&options, NULL);
}

static const struct ad_option options_table[] = {
    AD_OPT_TEXT('d', "devices", "FILE", struct doctor_options, run.devices, AD_DEVICES_HELP),
    AD_OPT_FLAG(0, "quick", struct doctor_options, quick,
                "only ask the agents, measure no links and no network"),
    AD_OPT_GROUP(ad_query_option_rows, struct doctor_options, run.session),
    AD_OPT_FLAG(0, "json", struct doctor_options, run.json, "print the result as JSON"),
    AD_OPT_END,
};

const struct ad_command ad_command_doctor = {
    .name = "doctor",
    .arguments = "[OPTION...] [PLAN|MODEL]",
    .summary = "Find what is wrong with the devices and links, and say what to do.",
    .options = options_table,
    .run = run_doctor,
};
