/* adaps show: a plan as a table, as JSON, as pictures. */
#include "cli/cli.h"
#include "report/page/page.h"
#include "report/report.h"

typedef enum adaps_status (*report_fn)(const struct adaps_plan *plan, FILE *out,
                                       struct adaps_error *err);

struct show_options {
    const char *plan;
    bool json, dot;                 /* print that instead of tables */
    const char *svg, *trace, *html; /* files, "-" = stdout; NULL = none */
};

struct report {
    const struct adaps_plan *plan;
    report_fn print;
};

static enum adaps_status print_report(const void *self, FILE *out, struct adaps_error *err)
{
    const struct report *report = self;
    return report->print(report->plan, out, err);
}

static enum adaps_status write_report(const struct adaps_plan *plan, report_fn print,
                                      const char *path, struct adaps_error *err)
{
    const struct report report = {plan, print};
    return path ? ad_cli_write_file(path, print_report, &report, err) : ADAPS_OK;
}

static int show(const struct show_options *options)
{
    struct adaps_error err = {0};
    struct adaps_plan *plan = NULL;
    enum adaps_status status = adaps_plan_load(options->plan, &plan, &err);
    if (status == ADAPS_OK)
        status = write_report(plan, ad_report_svg, options->svg, &err);
    if (status == ADAPS_OK)
        status = write_report(plan, ad_report_trace, options->trace, &err);
    if (status == ADAPS_OK)
        status = write_report(plan, ad_page_print, options->html, &err);
    bool files = options->svg || options->trace || options->html;
    if (status == ADAPS_OK && options->json)
        status = ad_report_steps_json(plan, stdout, &err);
    else if (status == ADAPS_OK && options->dot)
        status = ad_report_plan_dot(plan, stdout, &err);
    else if (status == ADAPS_OK && !files)
        status = ad_report_steps(plan, stdout, &err);
    adaps_plan_free(plan);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_show, &err);
    return ad_cli_close_stdout(&ad_command_show);
}

static int run(int argc, char **argv)
{
    struct show_options options = {0};
    struct ad_cli_config config;
    struct adaps_error err = {0};
    struct ad_operands operands;
    int code = ad_options_parse(&ad_command_show, argc, argv, &options, &operands);
    if (code != ADAPS_OK)
        return code;
    if (options.json && options.dot)
        return ad_cli_usage(&ad_command_show, "--json or --dot, not both");
    if (operands.count > 1)
        return ad_cli_usage(&ad_command_show, "one PLAN expected, not %d", operands.count);
    if (ad_cli_config_load(&config, &err) != ADAPS_OK)
        return ad_cli_fail(&ad_command_show, &err);
    options.plan = operands.count ? operands.items[0] : config.plan;
    code = options.plan ? show(&options)
                        : ad_cli_usage(&ad_command_show, "no plan: name one here or in adaps.conf");
    ad_cli_config_fini(&config);
    return code;
}

#define SHOW struct show_options
static const struct ad_option options_table[] = {
    AD_OPT_FLAG(0, "json", SHOW, json, "print JSON"),
    AD_OPT_FLAG(0, "dot", SHOW, dot, "print a Graphviz graph of the steps and messages"),
    AD_OPT_TEXT(0, "svg", "FILE", SHOW, svg, "write the predicted timeline as a picture"),
    AD_OPT_TEXT(0, "trace", "FILE", SHOW, trace, "write it as a Chrome trace (Perfetto)"),
    AD_OPT_TEXT(0, "html", "FILE", SHOW, html, "write a page with the partition, the timeline and all steps"),
    AD_OPT_END,
};

const struct ad_command ad_command_show = {
    .name = "show",
    .arguments = "[--json | --dot] [--svg FILE] [--trace FILE] [--html FILE] [PLAN]",
    .summary = "Show a plan: summary, and every device's steps with predicted times.",
    .options = options_table,
    .notes = "A FILE of - is the standard output. With one of the last three alone, nothing else "
             "is printed.\n",
    .run = run,
};
