/* adaps inspect: what a model is, as adaps understands it. */
#include "cli/dim_option.h"
#include "pipeline.h"
#include "report/report.h"

#include <getopt.h>

enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_DOT };

static int print_graph(const char *model, const struct ad_dim_bindings *dims, enum format format)
{
    struct adaps_error err = {0};
    struct ad_graph *graph = NULL;
    struct ad_blocks blocks = {0};
    struct ad_digest digest;
    char assumed[AD_ASSUMED] = "";
    const struct ad_import_options import = {.dims = dims, .assumed = assumed};
    enum adaps_status status = ad_pipeline_front(model, &import, &graph, &blocks, &digest, &err);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_inspect, &err);
    ad_cli_assumed(&ad_command_inspect, assumed);
    status = format == FORMAT_JSON  ? ad_report_inspect_json(graph, &blocks, stdout, &err)
             : format == FORMAT_DOT ? ad_report_inspect_dot(graph, &blocks, stdout, &err)
                                    : ad_report_inspect(graph, &blocks, stdout, &err);
    ad_blocks_fini(&blocks);
    ad_graph_free(graph);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_inspect, &err);
    return ad_cli_close_stdout(&ad_command_inspect);
}

static int run(int argc, char **argv)
{
    static const struct option longs[] = {{"json", no_argument, NULL, 'j' + 256},
                                          {"dot", no_argument, NULL, 'o' + 256},
                                          {"dim", required_argument, NULL, AD_OPTION_DIM},
                                          {0}};
    struct ad_dim_bindings dims = {.count = 0};
    enum format format = FORMAT_TABLE;
    struct ad_cli_config config;
    struct adaps_error err = {0};
    int option;
    while ((option = ad_cli_getopt(&ad_command_inspect, argc, argv, "", longs)) != -1) {
        if (option == '?')
            return ADAPS_EUSAGE;
        if (option == AD_OPTION_DIM) {
            if (ad_cli_dim(&ad_command_inspect, optarg, &dims) != ADAPS_OK)
                return ADAPS_EUSAGE;
            continue;
        }
        enum format wanted = option == 'j' + 256 ? FORMAT_JSON : FORMAT_DOT;
        if (format != FORMAT_TABLE && format != wanted)
            return ad_cli_usage(&ad_command_inspect, "--json or --dot, not both");
        format = wanted;
    }
    if (argc - optind > 1)
        return ad_cli_usage(&ad_command_inspect, "one MODEL expected, not %d", argc - optind);
    if (ad_cli_config_load(&config, &err) != ADAPS_OK)
        return ad_cli_fail(&ad_command_inspect, &err);
    const char *model = optind < argc ? argv[optind] : config.model;
    int code = model
                   ? print_graph(model, &dims, format)
                   : ad_cli_usage(&ad_command_inspect, "no model: name one here or in adaps.conf");
    ad_cli_config_fini(&config);
    return code;
}

const struct ad_command ad_command_inspect = {
    .name = "inspect",
    .arguments = "[--json | --dot] [--dim NAME=N] [MODEL.onnx]",
    .summary = "Show a model's operators, types, shapes, MACs, weights and sub-blocks.",
    .details = AD_DIM_HELP "  --json               print JSON\n"
                           "  --dot                print a Graphviz graph\n",
    .run = run,
};
