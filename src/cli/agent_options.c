#include "cli/agent_options.h"
#include "cli/cli.h"
#include "wire/allow_edit.h"

static int take_line(const struct ad_command *command, const char *value, void *variable)
{
    struct ad_agent_lines *lines = variable;
    if (lines->count == AD_AGENT_LINES)
        return ad_cli_usage(command, "more than %d keys", AD_AGENT_LINES);
    if (!ad_allow_line_valid(value))
        return ad_cli_usage(command,
                            "'%.60s': a public key is wanted, 40 characters of Z85, and a comment "
                            "after a blank",
                            value);
    lines->items[lines->count++] = value;
    return ADAPS_OK;
}

#define AGENT struct ad_agent_options
const struct ad_option ad_agent_settings[] = {
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
    AD_OPT_SECONDS("idle-timeout", "TIME", AGENT, idle_timeout_s, 0, 1e9, "60s",
                   "a session that does nothing for so long ends when another\n"
                   "is asked for; default 60s"),
    AD_OPT_TEXT(0, "announce", "yes|no", AGENT, announce,
                "tell the local network that it is here, for adaps discover;\n"
                "default yes, where others can connect"),
    AD_OPT_TEXT(0, "key", "FILE", AGENT, key_file,
                "this device's keys (adaps keygen); with --allow"),
    AD_OPT_TEXT(0, "allow", "FILE", AGENT, allow_file,
                "public keys of the controllers that may connect, one a line"),
    AD_OPT_TEXT(0, "metrics", "ADDRESS", AGENT, metrics,
                "serve metrics for Prometheus here, such as 127.0.0.1:9570"),
    AD_OPT_END,
};

#define INVOCATION struct ad_agent_invocation
const struct ad_option ad_agent_option_table[] = {
    AD_OPT_GROUP(ad_agent_settings, INVOCATION, agent),
    AD_OPT_TEXT(0, "config", "FILE", INVOCATION, config,
                "settings, for what the options do not say; without keys it\n"
                "then listens to this machine only"),
    AD_OPT_TEXT(0, "speed-after", "N:F,...", INVOCATION, agent.speed_after,
                "emulate this speed once N inferences were begun, for tests"),
    AD_OPT_FLAG(0, "insecure", INVOCATION, agent.insecure,
                "listen without keys where other machines can connect"),
    AD_OPT_INT("ready-fd", "N", INVOCATION, agent.ready_fd, 0, 1 << 20,
               "write the address that it listens on to this descriptor"),
    AD_OPT_TEXT(0, "sysroot", "DIR", INVOCATION, agent.sysroot,
                "say of this machine what the files below this folder say,\n"
                "instead of /sys and /proc, for tests"),
    AD_OPT_FLAG(0, "cpu-info", INVOCATION, cpu_info,
                "print which kernels this processor gets, and why; listen to nobody"),
    AD_OPT_FLAG(0, "public-key", INVOCATION, public_key,
                "print the public key of --key, made if there is none; listen to\nnobody"),
    AD_OPT_CALL("admit", "KEY", INVOCATION, admit, take_line,
                "add a public key, and a comment, to the file of --allow; then\nlike --public-key"),
    AD_OPT_CALL("expel", "KEY", INVOCATION, expel, take_line,
                "remove it from there; then like --public-key"),
    AD_OPT_END,
};
