/* adaps top: what the agents do, live. */
#include "base/mem.h"
#include "cli/live_json.h"
#include "cli/run_options.h"
#include "cli/top_screen.h"
#include "cli/top_view.h"
#include "report/json.h"
#include "report/text.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_DEADLINE_S 5
#define DEFAULT_INTERVAL_S 1
#define UNLIMITED 200 /* columns of --once where nothing says how many there are */

struct top_options {
    const char *devices;
    struct ad_session_options session;
    double interval_s;
    bool once, json;
};

/* --- once --- */

static json_t *link_json(const struct ad_top_link *link)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "peer", ad_report_json_text(link->peer),
                     "sent_bytes_per_s", ad_report_json_number(link->sent), "received_bytes_per_s",
                     ad_report_json_number(link->received), "messages_per_s",
                     ad_report_json_number(link->messages));
}

static json_t *device_json(const struct ad_top_device *d)
{
    json_t *name = ad_report_json_text(d->device->name);
    json_t *address = ad_report_json_text(d->device->address), *links = json_array();
    if (d->state != AD_TOP_ANSWERS) {
        json_decref(links);
        return json_pack("{s:o, s:o, s:s, s:o}", "name", name, "address", address, "state",
                         "no answer", "error", ad_report_json_text(d->err.message));
    }
    for (int i = 0; i < d->nlinks; i++)
        links = ad_report_json_append(links, link_json(&d->links[i]));
    return json_pack("{s:o, s:o, s:s, s:f, s:o, s:o, s:o, s:o}", "name", name, "address", address,
                     "state", d->agent.busy ? "busy" : "idle", "load", d->agent.load1,
                     "temperature_c", ad_report_json_number(d->agent.temperature_c),
                     "inferences_per_s", ad_report_json_number(d->rate), "links", links, "live",
                     ad_cli_live_json(&d->agent));
}

static int print_json(const struct ad_cluster *cluster, const struct ad_top_device *devices)
{
    json_t *all = json_array();
    for (int i = 0; i < cluster->ndevices; i++)
        all = ad_report_json_append(all, device_json(&devices[i]));
    return ad_cli_print_json(&ad_command_top, json_pack("{s:o}", "agents", all));
}

static int print_lines(const struct ad_cluster *cluster, const struct ad_top_device *devices)
{
    struct ad_top_line *lines;
    struct adaps_error err;
    size_t width = ad_text_width(stdout);
    int count;
    const struct ad_top_view view = {
        .cluster = cluster, .devices = devices, .width = width > 0 ? (int)width : UNLIMITED};
    if (ad_top_view_make(&view, &lines, &count, &err) != ADAPS_OK)
        return ad_cli_fail(&ad_command_top, &err);
    for (int i = 0; i < count; i++) {
        size_t n = strlen(lines[i].text);
        while (n > 0 && lines[i].text[n - 1] == ' ')
            n--;
        printf("%.*s\n", (int)n, lines[i].text);
    }
    ad_free(lines);
    return ad_cli_close_stdout(&ad_command_top);
}

/* Two answers of each: rates are of what was done between them. */
static int print_once(const struct ad_cluster *cluster, struct ad_top_watch *watch, bool json)
{
    struct adaps_error err;
    size_t n = (size_t)cluster->ndevices;
    struct ad_top_device *devices = ad_calloc(n, sizeof *devices);
    if (!devices) {
        ad_error_memory(&err, "top", n * sizeof *devices);
        return ad_cli_fail(&ad_command_top, &err);
    }
    ad_top_watch_await(watch, 2);
    ad_top_watch_look(watch, devices);
    int code = json ? print_json(cluster, devices) : print_lines(cluster, devices);
    for (size_t i = 0; i < n; i++)
        if (devices[i].state != AD_TOP_ANSWERS && code == ADAPS_OK)
            code = ADAPS_EAGENT;
    ad_free(devices);
    return code;
}

/* --- the command --- */

static int show(const struct ad_cluster *cluster, const struct top_options *options)
{
    struct ad_top_watch *watch = NULL;
    struct adaps_error err;
    int code = ADAPS_OK, ended = 0;
    if (ad_top_watch_start(cluster, &options->session, options->interval_s, &watch, &err) !=
        ADAPS_OK)
        return ad_cli_fail(&ad_command_top, &err);
    if (options->once || options->json)
        code = print_once(cluster, watch, options->json);
    else if (ad_top_screen_run(cluster, watch, &ended, &err) != ADAPS_OK)
        code = ad_cli_fail(&ad_command_top, &err);
    if (ended) { /* as if it had not been caught */
        signal(ended, SIG_DFL);
        raise(ended);
    }
    if (ad_top_watch_busy(watch)) { /* nobody waits for one that does not answer */
        fflush(NULL);
        _exit(code);
    }
    ad_top_watch_stop(watch);
    return code;
}

static int run_top(int argc, char **argv)
{
    struct top_options options = {.session = {.deadline_s = DEFAULT_DEADLINE_S},
                                  .interval_s = DEFAULT_INTERVAL_S};
    struct ad_operands operands;
    int code = ad_options_parse(&ad_command_top, argc, argv, &options, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count > 0)
        return ad_cli_usage(&ad_command_top, "unexpected argument '%s'", operands.items[0]);

    struct ad_cli_config config = {0};
    struct ad_cluster cluster;
    struct adaps_error err = {0};
    if (!options.devices) {
        if (ad_cli_config_load(&config, &err) != ADAPS_OK)
            return ad_cli_fail(&ad_command_top, &err);
        options.devices = config.devices;
    }
    if (!options.devices) {
        code = ad_cli_usage(&ad_command_top,
                            "no devices file: give one with -d, or name one in adaps.conf");
    } else if (ad_cluster_load(options.devices, &cluster, &err) != ADAPS_OK) {
        code = ad_cli_fail(&ad_command_top, &err);
    } else {
        code = show(&cluster, &options);
        ad_cluster_fini(&cluster);
    }
    ad_cli_config_fini(&config);
    return code;
}

#define TOP struct top_options
static const struct ad_option options_table[] = {
    AD_OPT_TEXT('d', "devices", "FILE", TOP, devices,
                "the devices file (default: the one that adaps.conf names)"),
    AD_OPT_SECONDS("interval", "TIME", TOP, interval_s, 0.1, 3600, "1s",
                   "how often to ask (default: 1s)"),
    AD_OPT_FLAG(0, "once", TOP, once, "ask twice, print, and end"),
    AD_OPT_GROUP(ad_query_option_rows, TOP, session),
    AD_OPT_FLAG(0, "json", TOP, json, "the same as JSON"),
    AD_OPT_END,
};

const struct ad_command ad_command_top = {
    .name = "top",
    .arguments = "[OPTION...]",
    .summary = "Watch the agents: what they compute, rates, latencies, links.",
    .options = options_table,
    .run = run_top,
};
