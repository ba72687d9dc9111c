/* adaps simulate: a plan on simulated clocks, also with other links than it was made for. */
#include "cli/cli.h"
#include "report/report.h"

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
        for (int t = 0; t < plan->stream.nturns && status == ADAPS_OK; t++)
            status =
                ad_schedule_simulate(plan->graph, &plan->cluster,
                                     t == 0 ? &plan->schedule : &plan->stream.others[t - 1], &err);
    }
    if (status == ADAPS_OK)
        status =
            ad_stream_simulate(plan->graph, &plan->cluster, &plan->schedule, &plan->stream, &err);
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
    struct simulate_options options = {.bandwidth = -1, .latency = -1};
    struct ad_cli_config config;
    struct adaps_error err = {0};
    struct ad_operands operands;
    int code = ad_options_parse(&ad_command_simulate, argc, argv, &options, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count > 1)
        return ad_cli_usage(&ad_command_simulate, "one PLAN expected, not %d", operands.count);
    if (ad_cli_config_load(&config, &err) != ADAPS_OK)
        return ad_cli_fail(&ad_command_simulate, &err);
    options.plan = operands.count ? operands.items[0] : config.plan;
    code = options.plan
               ? simulate(&options)
               : ad_cli_usage(&ad_command_simulate, "no plan: name one here or in adaps.conf");
    ad_cli_config_fini(&config);
    return code;
}

static const struct ad_option options_table[] = {
    AD_OPT_RATE("bw", struct simulate_options, bandwidth,
                "simulate with this bandwidth on every link (100mbit, 12.5MB/s)"),
    AD_OPT_TIME("latency", struct simulate_options, latency, "0.3ms",
                "simulate with this latency on every link (0.3ms)"),
    AD_OPT_FLAG(0, "json", struct simulate_options, json, "print JSON"),
    AD_OPT_END,
};

const struct ad_command ad_command_simulate = {
    .name = "simulate",
    .arguments = "[--bw RATE] [--latency TIME] [--json] [PLAN]",
    .summary =
        "Show a plan's predicted timeline: busy and idle devices, links, what takes longest.",
    .options = options_table,
    .run = run,
};
