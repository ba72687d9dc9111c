/* adaps show: a plan as a table, as JSON, as pictures. */
#include "cli/cli.h"
#include "report/report.h"

#include <getopt.h>

typedef enum adaps_status (*report_fn)(const struct adaps_plan *plan, FILE *out,
                                       struct adaps_error *err);

struct show_options {
    const char *plan;
    report_fn print;                /* to stdout; NULL when files were asked for only */
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
        status = write_report(plan, ad_report_html, options->html, &err);
    if (status == ADAPS_OK && options->print)
        status = options->print(plan, stdout, &err);
    adaps_plan_free(plan);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_show, &err);
    return ad_cli_close_stdout(&ad_command_show);
}

/* One option into options; false after a message. */
static bool take_option(struct show_options *options, int option)
{
    report_fn print = NULL;
    switch (option) {
    case 's' + 256:
        options->svg = optarg;
        return true;
    case 't' + 256:
        options->trace = optarg;
        return true;
    case 'h' + 256:
        options->html = optarg;
        return true;
    case 'j' + 256:
        print = ad_report_steps_json;
        break;
    case 'o' + 256:
        print = ad_report_plan_dot;
        break;
    default:
        return false;
    }
    if (options->print && options->print != print) {
        ad_cli_usage(&ad_command_show, "--json or --dot, not both");
        return false;
    }
    options->print = print;
    return true;
}

static int run(int argc, char **argv)
{
    static const struct option longs[] = {
        {"json", no_argument, NULL, 'j' + 256},       {"dot", no_argument, NULL, 'o' + 256},
        {"svg", required_argument, NULL, 's' + 256},  {"trace", required_argument, NULL, 't' + 256},
        {"html", required_argument, NULL, 'h' + 256}, {0}};
    struct show_options options = {0};
    struct ad_cli_config config;
    struct adaps_error err = {0};
    int option;
    while ((option = ad_cli_getopt(&ad_command_show, argc, argv, "", longs)) != -1)
        if (!take_option(&options, option))
            return ADAPS_EUSAGE;
    if (argc - optind > 1)
        return ad_cli_usage(&ad_command_show, "one PLAN expected, not %d", argc - optind);
    if (!options.print && !options.svg && !options.trace && !options.html)
        options.print = ad_report_steps;
    if (ad_cli_config_load(&config, &err) != ADAPS_OK)
        return ad_cli_fail(&ad_command_show, &err);
    options.plan = optind < argc ? argv[optind] : config.plan;
    int code = options.plan
                   ? show(&options)
                   : ad_cli_usage(&ad_command_show, "no plan: name one here or in adaps.conf");
    ad_cli_config_fini(&config);
    return code;
}

const struct ad_command ad_command_show = {
    .name = "show",
    .arguments = "[--json | --dot] [--svg FILE] [--trace FILE] [--html FILE] [PLAN]",
    .summary = "Show a plan: summary, and every device's steps with predicted times.",
    .details = "  --json               print JSON\n"
               "  --dot                print a Graphviz graph of the steps and messages\n"
               "  --svg FILE           write the predicted timeline as a picture\n"
               "  --trace FILE         write it as a Chrome trace (Perfetto)\n"
               "  --html FILE          write a page with the timeline and all steps\n"
               "A FILE of - is the standard output. With one of the last three alone, nothing else "
               "is printed.\n",
    .run = run,
};
