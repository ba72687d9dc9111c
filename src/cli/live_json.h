/* What an agent does and has done, as JSON (adaps-json(5), "live"). */
#ifndef AD_CLI_LIVE_JSON_H
#define AD_CLI_LIVE_JSON_H

#include "control/session.h"

#include <jansson.h>

/* null of an agent that does not say; NULL without memory. */
json_t *ad_cli_live_json(const struct ad_agent_status *agent);

#endif
