/* --metrics, of commands that run inferences. */
#ifndef AD_CLI_METRICS_OPTION_H
#define AD_CLI_METRICS_OPTION_H

#include "cli/options.h"

/* For a struct ad_session_options: its sessions are counted, and from then on a server shows it
 * until the process ends. */
extern const struct ad_option ad_metrics_option_rows[];

#endif
