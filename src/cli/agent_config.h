/* The agent's file of settings, adaps-agent.conf(5). */
#ifndef AD_CLI_AGENT_CONFIG_H
#define AD_CLI_AGENT_CONFIG_H

#include "cost/ini_file.h"
#include "exec/agent/agent.h"

struct ad_agent_config {
    struct ad_ini ini;               /* owns the texts of the options */
    struct ad_agent_options options; /* zero where the file says nothing */
};

/* ADAPS_EINPUT "PATH:LINE: [agent] KEY = VALUE: RULE": no such key, a bad value, or what
 * ad_ini_read() refuses. On failure there is nothing to free. */
AD_MUST_CHECK enum adaps_status ad_agent_config_read(const char *path, struct ad_agent_config *out,
                                                     struct adaps_error *err);
void ad_agent_config_fini(struct ad_agent_config *config);

#endif
