/* adaps agent: the daemon on a device. */
#include "cli/cli.h"
#include "exec/agent/agent.h"

#define AGENT struct ad_agent_options
static const struct ad_option options_table[] = {
    AD_OPT_TEXT('l', "listen", "ENDPOINT", AGENT, listen,
                "where controllers connect; default tcp://127.0.0.1:5570;\n"
                "port * picks a free one"),
    AD_OPT_TEXT('n', "name", "NAME", AGENT, name, "what it calls itself; default: the host's name"),
    AD_OPT_REAL("speed", "F", AGENT, speed, 1e-4, 1,
                "emulate a device F times as fast as this one, 0.0001 to 1"),
    AD_OPT_INT("threads", "N", AGENT, threads, 1, 64,
               "compute threads; default: what the plan says"),
    AD_OPT_TEXT(0, "cache", "DIR", AGENT, cache_dir,
                "weights and plans; default: $XDG_CACHE_HOME/adaps"),
    AD_OPT_SIZE("cache-limit", AGENT, cache_limit, "4GiB",
                "forget the least recently used beyond this; default 8GiB"),
    AD_OPT_TEXT(0, "key", "FILE", AGENT, key_file,
                "this device's keys (adaps keygen); with --allow"),
    AD_OPT_TEXT(0, "allow", "FILE", AGENT, allow_file,
                "public keys of the controllers that may connect, one a line"),
    AD_OPT_FLAG(0, "insecure", AGENT, insecure,
                "listen without keys where other machines can connect"),
    AD_OPT_INT("ready-fd", "N", AGENT, ready_fd, 0, 1 << 20,
               "write the address that it listens on to this descriptor"),
    AD_OPT_END,
};

static int run(int argc, char **argv)
{
    const struct ad_command *self = &ad_command_agent;
    struct ad_agent_options options = {
        .listen = "tcp://127.0.0.1:5570", .speed = 1, .ready_fd = -1};
    struct adaps_error err;
    struct ad_operands operands;
    int code = ad_options_parse(self, argc, argv, &options, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count > 0)
        return ad_cli_usage(self, "unexpected argument '%s'", operands.items[0]);
    if (ad_agent_run(&options, &err) != ADAPS_OK)
        return ad_cli_fail(self, &err);
    return ADAPS_OK;
}

const struct ad_command ad_command_agent = {
    .name = "agent",
    .arguments = "[OPTION...]",
    .summary = "The daemon on a device: computes its share of networks.",
    .options = options_table,
    .run = run,
};
