/* The options that decide on a plan: of plan and bench. --devices and --strategy are each command's
 * own. */
#ifndef AD_CLI_PLAN_OPTIONS_H
#define AD_CLI_PLAN_OPTIONS_H

#include "cli/cli.h"
#include "pipeline.h"

/* For a struct ad_pipeline_options. */
extern const struct ad_option ad_plan_option_rows[];

/* The defaults. */
struct ad_pipeline_options ad_plan_defaults(void);

/* "NAME: there are auto, single, ..." after a wrong --strategy. ADAPS_EUSAGE. */
int ad_plan_usage_strategy(const struct ad_command *command, const char *name);

/* The value of --pareto, "latency,energy", into a struct ad_pareto_objectives. */
int ad_plan_take_pareto(const struct ad_command *command, const char *text, void *pareto);

#endif
