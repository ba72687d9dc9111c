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

/* What a command says on stderr while it waits in line (--wait). */
struct ad_waiting_line {
    const struct ad_command *command;
    int before; /* as it was told; 0: not yet */
};

/* The session will tell by this line, which must stay where it is. */
void ad_waiting_line_set(struct ad_waiting_line *line, const struct ad_command *command,
                         struct ad_session_options *session);

/* --deadline, --key and --wait, for a struct ad_session_options: of commands that use a session,
 * and (without --wait) of status. */
extern const struct ad_option ad_session_option_rows[], ad_query_option_rows[];

#endif
