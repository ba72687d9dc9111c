/* adaps-agent: the daemon. Linked without the compiler and the controller. */
#include "base/mem.h"
#include "cli/agent_config.h"
#include "cli/agent_keys.h"
#include "cli/agent_options.h"
#include "cli/cli.h"
#include "cli/cpu_info.h"
#include "metrics/server.h"
#include "wire/endpoint.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define LISTEN "tcp://127.0.0.1:5570"

/* Options count before the file, the file before defaults. */
static void settle(struct ad_agent_options *options, const struct ad_agent_options *file)
{
    if (!options->listen)
        options->listen = file->listen ? file->listen : LISTEN;
    if (!options->name)
        options->name = file->name;
    if (!options->cache_dir)
        options->cache_dir = file->cache_dir;
    if (!options->cache_limit)
        options->cache_limit = file->cache_limit;
    if (!options->idle_timeout_s)
        options->idle_timeout_s = file->idle_timeout_s;
    if (!options->speed)
        options->speed = file->speed ? file->speed : 1;
    if (!options->threads)
        options->threads = file->threads;
    if (!options->announce)
        options->announce = file->announce;
    if (!options->key_file)
        options->key_file = file->key_file;
    if (!options->allow_file)
        options->allow_file = file->allow_file;
    if (!options->metrics)
        options->metrics = file->metrics;
}

/* --- metrics --- */

struct shown {
    const char *address;
    struct ad_metrics_server *server;
};

static enum adaps_status show(void *self, ad_metrics_write_fn *write, void *agent,
                              struct adaps_error *err)
{
    struct shown *shown = self;
    enum adaps_status status =
        ad_metrics_server_start(shown->address, write, agent, &shown->server, err);
    if (status == ADAPS_OK)
        fprintf(stderr, "adaps-agent: metrics at %s\n", ad_metrics_server_url(shown->server));
    return status;
}

static void hide(void *self)
{
    struct shown *shown = self;
    ad_metrics_server_stop(shown->server);
}

/* --- keys --- */

/* Whether a file is named and not there yet, or not even named. */
static bool lacks(const char *path)
{
    return !path || (access(path, F_OK) != 0 && errno == ENOENT);
}

/* A service listens to its own machine until somebody has made its keys. The note says what is
 * missing; it and the address are the caller's (ad_free). */
static enum adaps_status keep_to_loopback(struct ad_agent_options *options, char **address,
                                          char **note, struct adaps_error *err)
{
    const char *key = options->key_file, *allow = options->allow_file;
    bool no_key = lacks(key), no_allow = lacks(allow);
    struct ad_endpoint listen;
    char text[AD_ENDPOINT_BYTES];
    if (options->insecure || (!no_key && !no_allow))
        return ADAPS_OK;
    options->key_file = options->allow_file = NULL;
    enum adaps_status status = ad_endpoint_parse(options->listen, &listen, err);
    if (status != ADAPS_OK || ad_endpoint_is_loopback(&listen))
        return status;
    *address = ad_strdup(ad_endpoint_format("127.0.0.1", listen.port, text));
    *note = ad_asprintf("for this machine only, since %s%s%s%s%s; see adaps-agent(8)",
                        no_key && key ? key
                        : no_key      ? "a key"
                                      : "",
                        no_key && no_allow ? " and " : "",
                        no_allow && allow ? allow
                        : no_allow        ? "an allow list"
                                          : "",
                        no_key && no_allow ? " are" : " is", " missing");
    if (!*address || !*note)
        return ad_error_memory(err, "address", sizeof text);
    options->listen = *address;
    options->note = *note;
    return ADAPS_OK;
}

/* Serves controllers, or tells of its keys. */
static enum adaps_status serve(struct ad_agent_invocation *given, struct adaps_error *err)
{
    struct ad_agent_config config = {0};
    char *address = NULL, *note = NULL;
    enum adaps_status status = ADAPS_OK;
    if (given->config)
        status = ad_agent_config_read(given->config, &config, err);
    if (status != ADAPS_OK)
        return status;
    settle(&given->agent, &config.options);
    if (ad_agent_keys_wanted(given)) {
        status = ad_agent_keys_tell(given, err);
    } else {
        if (given->config)
            status = keep_to_loopback(&given->agent, &address, &note, err);
        struct shown shown = {.address = given->agent.metrics};
        const struct ad_agent_audience audience = {.show = show, .hide = hide, .self = &shown};
        if (shown.address)
            given->agent.audience = &audience;
        if (status == ADAPS_OK)
            status = ad_agent_run(&given->agent, err);
    }
    ad_free(address);
    ad_free(note);
    ad_agent_config_fini(&config);
    return status;
}

int main(int argc, char **argv)
{
    struct ad_command self = {
        .name = "agent",
        .arguments = "[OPTION...]",
        .summary = AD_AGENT_SUMMARY,
        .options = ad_agent_option_table,
        .program = argc > 0 && strcmp(argv[0], "adaps agent") == 0 ? NULL : "adaps-agent",
    };
    struct ad_agent_invocation given = {.agent.ready_fd = -1};
    struct ad_operands operands;
    struct adaps_error err;
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("adaps-agent %s\n", adaps_version());
        return ad_cli_close_stdout(&self);
    }
    int code = ad_options_parse(&self, argc, argv, &given, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count > 0)
        return ad_cli_usage(&self, "unexpected argument '%s'", operands.items[0]);
    if (given.cpu_info) {
        ad_cli_cpu_info(stdout);
        return ad_cli_close_stdout(&self);
    }
    if (serve(&given, &err) != ADAPS_OK)
        return ad_cli_fail(&self, &err);
    return ad_agent_keys_wanted(&given) ? ad_cli_close_stdout(&self) : ADAPS_OK;
}
