/* adaps push: programs and weights to the agents, only what they lack. */
#include "base/units.h"
#include "cli/deployment.h"
#include "report/json.h"
#include "report/text.h"

struct totals {
    uint64_t needed, sent, plan;
};

static struct totals sum(const struct ad_deployment *deployment)
{
    struct totals t = {0};
    for (int d = 0; d < deployment->plan->cluster.ndevices; d++) {
        t.needed += deployment->reports[d].weight_bytes_needed;
        t.sent += deployment->reports[d].weight_bytes_sent;
        t.plan += deployment->reports[d].plan_bytes_sent;
    }
    return t;
}

static int print_table(const struct ad_deployment *deployment)
{
    static const struct ad_column columns[] = {
        {"device", false, true},
        {"weights needed", true, false},
        {"weights sent", true, false},
        {"blobs sent", true, false},
    };
    const struct ad_cluster *cluster = &deployment->plan->cluster;
    struct ad_table table;
    struct adaps_error err = {0};
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int d = 0; d < cluster->ndevices; d++) {
        const struct ad_push_report *r = &deployment->reports[d];
        char needed[32], sent[32];
        ad_table_cell(&table, "%s", cluster->devices[d].name);
        ad_table_cell(&table, "%s",
                      ad_format_bytes((double)r->weight_bytes_needed, needed, sizeof needed));
        ad_table_cell(&table, "%s",
                      ad_format_bytes((double)r->weight_bytes_sent, sent, sizeof sent));
        if (ad_deployment_works(deployment->plan, d))
            ad_table_cell(&table, "%d of %d", r->blobs_sent, r->blobs_needed);
        else
            ad_table_cell(&table, "no work");
    }
    enum adaps_status status = ad_table_print(&table, stdout, &err);
    ad_table_fini(&table);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_push, &err);
    printf("weights sent: %ju bytes\n", (uintmax_t)sum(deployment).sent);
    return ad_cli_close_stdout(&ad_command_push);
}

static int print_json(const struct ad_deployment *deployment)
{
    struct totals t = sum(deployment);
    json_t *devices = json_array();
    for (int d = 0; d < deployment->plan->cluster.ndevices; d++) {
        const struct ad_push_report *r = &deployment->reports[d];
        devices = ad_report_json_append(
            devices, json_pack("{s:o, s:I, s:I, s:i, s:i, s:I}", "name",
                               ad_report_json_text(deployment->plan->cluster.devices[d].name),
                               "weight_bytes_needed", (json_int_t)r->weight_bytes_needed,
                               "weight_bytes_sent", (json_int_t)r->weight_bytes_sent,
                               "blobs_needed", r->blobs_needed, "blobs_sent", r->blobs_sent,
                               "plan_bytes_sent", (json_int_t)r->plan_bytes_sent));
    }
    return ad_cli_print_json(
        &ad_command_push, json_pack("{s:I, s:I, s:I, s:o}", "weight_bytes_needed",
                                    (json_int_t)t.needed, "weight_bytes_sent", (json_int_t)t.sent,
                                    "plan_bytes_sent", (json_int_t)t.plan, "devices", devices));
}

static int run_push(int argc, char **argv)
{
    struct ad_run_options options = {0};
    struct ad_operands operands;
    int code = ad_options_parse(&ad_command_push, argc, argv, &options, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count != 1)
        return ad_cli_usage(&ad_command_push, "one PLAN or MODEL expected, not %d", operands.count);

    struct ad_deployment deployment;
    struct adaps_error err = {0};
    enum adaps_status status = ad_deployment_init(&deployment, &ad_command_push, operands.items[0],
                                                  &options, AD_PLACE_AGENTS, &err);
    if (status == ADAPS_EUSAGE)
        return ad_cli_usage(&ad_command_push, "%s", err.message);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_push, &err);
    if (ad_deployment_push(&deployment, &err) != ADAPS_OK)
        code = ad_cli_fail(&ad_command_push, &err);
    else
        code = options.json ? print_json(&deployment) : print_table(&deployment);
    ad_deployment_fini(&deployment);
    return code;
}

const struct ad_command ad_command_push = {
    .name = "push",
    .arguments = "[OPTION...] PLAN|MODEL",
    .summary = "Send programs and weights to the agents, only what they lack.",
    .options = ad_run_option_rows,
    .run = run_push,
};
