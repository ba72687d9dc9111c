/* adaps-agent --public-key, --admit, --expel: the agent's keys, for whoever sets it up. */
#ifndef AD_CLI_AGENT_KEYS_H
#define AD_CLI_AGENT_KEYS_H

#include "cli/agent_options.h"

/* Whether the command line asks for it. */
bool ad_agent_keys_wanted(const struct ad_agent_invocation *given);

/* Makes the pair where there is none, changes the allow list, prints the public key on stdout.
 * ADAPS_EUSAGE: the files are not named; ADAPS_EINPUT: a file is not as it should be. */
AD_MUST_CHECK enum adaps_status ad_agent_keys_tell(const struct ad_agent_invocation *given,
                                                   struct adaps_error *err);

#endif
