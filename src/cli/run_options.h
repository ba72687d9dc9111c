/* Options about agents, which several commands have. */
#ifndef AD_CLI_RUN_OPTIONS_H
#define AD_CLI_RUN_OPTIONS_H

#include "cli/cli.h"
#include "control/session.h"

#define AD_MOST_SECONDS 1e9 /* of a time to wait */

/* Of push, run and verify. */
struct ad_run_options {
    const char *devices; /* file whose addresses and keys count instead of the plan's, or NULL */
    const char *model;   /* file, or NULL */
    struct ad_session_options session;
    bool json;
};
extern const struct ad_option ad_run_option_rows[];

/* --deadline and --key, for a struct ad_session_options: of commands that use a session, and of
 * status. */
extern const struct ad_option ad_session_option_rows[], ad_query_option_rows[];

#endif
