#include "cli/metrics_option.h"
#include "cli/cli.h"
#include "control/counts.h"
#include "control/session.h"
#include "metrics/server.h"

#include <stdlib.h>

/* Of the process. The server's thread reads what the sessions count. */
static struct ad_session_counts counts;
static struct ad_metrics_server *server;

static void stop(void)
{
    ad_metrics_server_stop(server);
    server = NULL;
}

static int take(const struct ad_command *command, const char *value, void *variable)
{
    struct adaps_error err;
    struct ad_session_counts **counted = variable;
    stop(); /* the last one counts */
    if (ad_metrics_server_start(value, ad_counts_write, &counts, &server, &err) != ADAPS_OK)
        return ad_cli_fail(command, &err);
    if (!*counted)
        atexit(stop);
    *counted = &counts;
    fprintf(stderr, "adaps %s: metrics at %s\n", command->name, ad_metrics_server_url(server));
    return ADAPS_OK;
}

const struct ad_option ad_metrics_option_rows[] = {
    AD_OPT_CALL("metrics", "ADDRESS", struct ad_session_options, counts, take,
                "serve metrics for Prometheus here, such as 127.0.0.1:9571"),
    AD_OPT_END,
};
