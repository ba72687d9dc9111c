/* The command line of the agent, which adaps-agent reads and adaps lists. */
#ifndef AD_CLI_AGENT_OPTIONS_H
#define AD_CLI_AGENT_OPTIONS_H

#include "cli/options.h"
#include "exec/agent/agent.h"

/* Lines for the allow list (wire/allow_edit.h), as the command line has them. */
#define AD_AGENT_LINES 256
struct ad_agent_lines {
    const char *items[AD_AGENT_LINES];
    size_t count;
};

/* Zero where the command line or the file says nothing. */
struct ad_agent_invocation {
    struct ad_agent_options agent; /* all but note */
    const char *config;            /* a file with settings */
    bool cpu_info;                 /* tell, and do nothing else */
    bool public_key;               /* the same of these three (cli/agent_keys.h) */
    struct ad_agent_lines admit, expel;
};

/* What an agent's file may say, too: the options' names are the keys. Variables are in a struct
 * ad_agent_options. */
extern const struct ad_option ad_agent_settings[];

/* All options; variables are in a struct ad_agent_invocation. */
extern const struct ad_option ad_agent_option_table[];

#define AD_AGENT_SUMMARY "The daemon on a device: computes its share of networks."

#endif
