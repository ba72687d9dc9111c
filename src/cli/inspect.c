/* adaps inspect: what a model is, as adaps understands it. */
#include "cli/dim_option.h"
#include "cli/inspect_operators.h"
#include "pipeline.h"
#include "report/report.h"

struct inspect_options {
    struct ad_dim_bindings dims;
    bool json, dot; /* else a table */
    bool operators; /* no model: what is supported */
};

static int print_graph(const char *model, const struct inspect_options *options)
{
    struct adaps_error err = {0};
    struct ad_graph *graph = NULL;
    struct ad_blocks blocks = {0};
    struct ad_digest digest;
    char assumed[AD_ASSUMED] = "";
    const struct ad_import_options import = {.dims = &options->dims, .assumed = assumed};
    enum adaps_status status = ad_pipeline_front(model, &import, &graph, &blocks, &digest, &err);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_inspect, &err);
    ad_cli_assumed(&ad_command_inspect, assumed);
    status = options->json  ? ad_report_inspect_json(graph, &blocks, stdout, &err)
             : options->dot ? ad_report_inspect_dot(graph, &blocks, stdout, &err)
                            : ad_report_inspect(graph, &blocks, stdout, &err);
    ad_blocks_fini(&blocks);
    ad_graph_free(graph);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_inspect, &err);
    return ad_cli_close_stdout(&ad_command_inspect);
}

static int run(int argc, char **argv)
{
    struct inspect_options options = {0};
    struct ad_operands operands;
    struct ad_cli_config config;
    struct adaps_error err = {0};
    int code = ad_options_parse(&ad_command_inspect, argc, argv, &options, &operands);
    if (code != ADAPS_OK)
        return code;
    if (options.json && options.dot)
        return ad_cli_usage(&ad_command_inspect, "--json or --dot, not both");
    if (options.operators && (options.dot || options.dims.count || operands.count))
        return ad_cli_usage(&ad_command_inspect, "--operators goes with --json only");
    if (options.operators)
        return ad_cli_inspect_operators(&ad_command_inspect, options.json);
    if (operands.count > 1)
        return ad_cli_usage(&ad_command_inspect, "one MODEL expected, not %d", operands.count);
    if (ad_cli_config_load(&config, &err) != ADAPS_OK)
        return ad_cli_fail(&ad_command_inspect, &err);
    const char *model = operands.count ? operands.items[0] : config.model;
    code = model ? print_graph(model, &options)
                 : ad_cli_usage(&ad_command_inspect, "no model: name one here or in adaps.conf");
    ad_cli_config_fini(&config);
    return code;
}

static const struct ad_option options_table[] = {
    AD_OPT_DIM(struct inspect_options, dims),
    AD_OPT_FLAG(0, "json", struct inspect_options, json, "print JSON"),
    AD_OPT_FLAG(0, "dot", struct inspect_options, dot, "print a Graphviz graph"),
    AD_OPT_FLAG(0, "operators", struct inspect_options, operators,
                "print which ONNX operators are supported, and how"),
    AD_OPT_END,
};

const struct ad_command ad_command_inspect = {
    .name = "inspect",
    .arguments = "[--json | --dot] [--dim NAME=N] [MODEL.onnx] | --operators [--json]",
    .summary = "Show a model's operators, types, shapes, MACs, weights and sub-blocks.",
    .options = options_table,
    .run = run,
};
