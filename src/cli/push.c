/* adaps push: programs and weights to the agents, only what they lack. */
#include "base/units.h"
#include "cli/run_options.h"
#include "report/text.h"

#include <getopt.h>

struct totals {
    uint64_t needed, sent, plan;
};

static struct totals sum(const struct ad_target *target)
{
    struct totals t = {0};
    for (int d = 0; d < target->plan->cluster.ndevices; d++) {
        t.needed += target->reports[d].weight_bytes_needed;
        t.sent += target->reports[d].weight_bytes_sent;
        t.plan += target->reports[d].plan_bytes_sent;
    }
    return t;
}

static int print_table(const struct ad_target *target)
{
    static const struct ad_column columns[] = {
        {"device", false, true},
        {"weights needed", true, false},
        {"weights sent", true, false},
        {"blobs sent", true, false},
    };
    const struct ad_cluster *cluster = &target->plan->cluster;
    struct ad_table table;
    struct adaps_error err = {0};
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int d = 0; d < cluster->ndevices; d++) {
        const struct ad_push_report *r = &target->reports[d];
        char needed[32], sent[32];
        ad_table_cell(&table, "%s", cluster->devices[d].name);
        ad_table_cell(&table, "%s",
                      ad_format_bytes((double)r->weight_bytes_needed, needed, sizeof needed));
        ad_table_cell(&table, "%s",
                      ad_format_bytes((double)r->weight_bytes_sent, sent, sizeof sent));
        if (ad_target_works(target->plan, d))
            ad_table_cell(&table, "%d of %d", r->blobs_sent, r->blobs_needed);
        else
            ad_table_cell(&table, "no work");
    }
    enum adaps_status status = ad_table_print(&table, stdout, &err);
    ad_table_fini(&table);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_push, &err);
    printf("weights sent: %ju bytes\n", (uintmax_t)sum(target).sent);
    return ad_cli_close_stdout(&ad_command_push);
}

static int print_json(const struct ad_target *target)
{
    struct totals t = sum(target);
    json_t *devices = json_array();
    for (int d = 0; d < target->plan->cluster.ndevices; d++) {
        const struct ad_push_report *r = &target->reports[d];
        devices = ad_report_json_append(
            devices, json_pack("{s:o, s:I, s:I, s:i, s:i, s:I}", "name",
                               ad_report_json_text(target->plan->cluster.devices[d].name),
                               "weight_bytes_needed", (json_int_t)r->weight_bytes_needed,
                               "weight_bytes_sent", (json_int_t)r->weight_bytes_sent,
                               "blobs_needed", r->blobs_needed, "blobs_sent", r->blobs_sent,
                               "plan_bytes_sent", (json_int_t)r->plan_bytes_sent));
    }
    return ad_json_print(&ad_command_push,
                         json_pack("{s:I, s:I, s:I, s:o}", "weight_bytes_needed",
                                   (json_int_t)t.needed, "weight_bytes_sent", (json_int_t)t.sent,
                                   "plan_bytes_sent", (json_int_t)t.plan, "devices", devices));
}

static int run_push(int argc, char **argv)
{
    static const struct option longs[] = {AD_TARGET_LONGS, {0}};
    struct ad_target_options options = {0};
    int option;
    while ((option = ad_cli_getopt(&ad_command_push, argc, argv, AD_TARGET_SHORTS, longs)) != -1)
        if (ad_target_option(&ad_command_push, option, optarg, &options) != ADAPS_OK)
            return ADAPS_EUSAGE;
    if (argc - optind != 1)
        return ad_cli_usage(&ad_command_push, "one PLAN expected, not %d", argc - optind);

    struct ad_target target;
    struct adaps_error err = {0};
    enum adaps_status status = ad_target_init(&target, argv[optind], &options, &err);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_push, &err);
    int code;
    if (ad_target_push(&target, &err) != ADAPS_OK)
        code = ad_cli_fail(&ad_command_push, &err);
    else
        code = options.json ? print_json(&target) : print_table(&target);
    ad_target_fini(&target);
    return code;
}

const struct ad_command ad_command_push = {
    .name = "push",
    .arguments = "[OPTION...] PLAN",
    .summary = "Send programs and weights to the agents, only what they lack.",
    .details = AD_TARGET_HELP,
    .run = run_push,
};
