/* adaps simulate: the clocks of a plan, also for links other than those it was made for. */
#include "base/units.h"
#include "cli/cli.h"
#include "report/report.h"

#include <getopt.h>

struct simulate_options {
    const char *plan;
    double bandwidth, latency; /* < 0: the plan's */
    bool json;
};

static int simulate(const struct simulate_options *options)
{
    struct adaps_error err = {0};
    struct adaps_plan *plan = NULL;
    enum adaps_status status = adaps_plan_load(options->plan, &plan, &err);
    if (status == ADAPS_OK) {
        ad_cluster_override_links(&plan->cluster, options->bandwidth, options->latency);
        status = ad_schedule_simulate(plan->graph, &plan->cluster, &plan->schedule, &err);
    }
    if (status == ADAPS_OK)
        status = options->json ? ad_report_simulation_json(plan, stdout, &err)
                               : ad_report_simulation(plan, stdout, &err);
    adaps_plan_free(plan);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_simulate, &err);
    return ad_cli_close_stdout(&ad_command_simulate);
}

static int run(int argc, char **argv)
{
    static const struct option longs[] = {{"bw", required_argument, NULL, 'b' + 256},
                                          {"latency", required_argument, NULL, 'l' + 256},
                                          {"json", no_argument, NULL, 'j' + 256},
                                          {0}};
    struct simulate_options options = {.bandwidth = -1, .latency = -1};
    struct ad_cli_config config;
    struct adaps_error err = {0};
    int option;
    while ((option = ad_cli_getopt(&ad_command_simulate, argc, argv, "", longs)) != -1) {
        if (option == '?')
            return ADAPS_EUSAGE;
        if (option == 'j' + 256)
            options.json = true;
        else if (option == 'b' + 256 && !ad_parse_rate(optarg, &options.bandwidth))
            return ad_cli_usage(&ad_command_simulate, "--bw %s: a rate such as 100mbit is wanted",
                                optarg);
        else if (option == 'l' + 256 && !ad_parse_time(optarg, &options.latency))
            return ad_cli_usage(&ad_command_simulate,
                                "--latency %s: a time such as 0.3ms is wanted", optarg);
    }
    if (argc - optind > 1)
        return ad_cli_usage(&ad_command_simulate, "one PLAN expected, not %d", argc - optind);
    if (ad_cli_config_load(&config, &err) != ADAPS_OK)
        return ad_cli_fail(&ad_command_simulate, &err);
    options.plan = optind < argc ? argv[optind] : config.plan;
    int code = options.plan
                   ? simulate(&options)
                   : ad_cli_usage(&ad_command_simulate, "no plan: name one here or in adaps.conf");
    ad_cli_config_fini(&config);
    return code;
}

const struct ad_command ad_command_simulate = {
    .name = "simulate",
    .arguments = "[--bw RATE] [--latency TIME] [--json] [PLAN]",
    .summary =
        "Show a plan's predicted timeline: busy and idle devices, links, what takes longest.",
    .details =
        "  --bw RATE            simulate with this bandwidth on every link (100mbit, 12.5MB/s)\n"
        "  --latency TIME       simulate with this latency on every link (0.3ms)\n"
        "  --json               print JSON\n",
    .run = run,
};
