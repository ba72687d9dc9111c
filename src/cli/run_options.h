/* Options about agents, which several commands have. */
#ifndef AD_CLI_RUN_OPTIONS_H
#define AD_CLI_RUN_OPTIONS_H

#include "cli/cli.h"
#include "control/session.h"
#include "import/import.h"

#define AD_MOST_SECONDS 1e9 /* of a time to wait */

/* Of push, run, verify, detect and the like. */
struct ad_run_options {
    const char *devices;         /* file, or NULL (cli/devices.h) */
    const char *model;           /* file that has the weights, or NULL */
    struct ad_dim_bindings dims; /* of a model that is planned */
    bool no_cache;               /* plan it again */
    struct ad_session_options session;
    bool json;
};
extern const struct ad_option ad_run_option_rows[];

/* The same without --json. */
extern const struct ad_option ad_deployment_option_rows[];

/* --deadline and --key, for a struct ad_session_options: of commands that use a session, and of
 * status. */
extern const struct ad_option ad_session_option_rows[], ad_query_option_rows[];

#endif
