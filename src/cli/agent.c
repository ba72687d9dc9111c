/* adaps agent: the daemon on a device. */
#include "base/units.h"
#include "cli/cli.h"
#include "exec/agent/agent.h"

#include <getopt.h>

enum {
    OPT_SPEED = 256,
    OPT_THREADS,
    OPT_CACHE,
    OPT_LIMIT,
    OPT_KEY,
    OPT_ALLOW,
    OPT_INSECURE,
    OPT_READY
};

static const struct option longs[] = {{"listen", required_argument, NULL, 'l'},
                                      {"name", required_argument, NULL, 'n'},
                                      {"speed", required_argument, NULL, OPT_SPEED},
                                      {"threads", required_argument, NULL, OPT_THREADS},
                                      {"cache", required_argument, NULL, OPT_CACHE},
                                      {"cache-limit", required_argument, NULL, OPT_LIMIT},
                                      {"key", required_argument, NULL, OPT_KEY},
                                      {"allow", required_argument, NULL, OPT_ALLOW},
                                      {"insecure", no_argument, NULL, OPT_INSECURE},
                                      {"ready-fd", required_argument, NULL, OPT_READY},
                                      {NULL, 0, NULL, 0}};

static int run(int argc, char **argv)
{
    const struct ad_command *self = &ad_command_agent;
    struct ad_agent_options options = {
        .listen = "tcp://127.0.0.1:5570", .speed = 1, .ready_fd = -1};
    struct adaps_error err;
    int64_t number;
    int option;
    while ((option = ad_cli_getopt(self, argc, argv, "l:n:", longs)) != -1) {
        switch (option) {
        case 'l':
            options.listen = optarg;
            break;
        case 'n':
            options.name = optarg;
            break;
        case OPT_SPEED:
            if (!ad_parse_double(optarg, 1e-4, 1, &options.speed))
                return ad_cli_usage(self, "--speed %s: must be 0.0001 to 1", optarg);
            break;
        case OPT_THREADS:
            if (!ad_parse_int(optarg, 1, 64, &number))
                return ad_cli_usage(self, "--threads %s: must be 1 to 64", optarg);
            options.threads = (int)number;
            break;
        case OPT_CACHE:
            options.cache_dir = optarg;
            break;
        case OPT_LIMIT:
            if (!ad_parse_size(optarg, &options.cache_limit) || options.cache_limit == 0)
                return ad_cli_usage(self, "--cache-limit %s: must be a size like 4GiB", optarg);
            break;
        case OPT_KEY:
            options.key_file = optarg;
            break;
        case OPT_ALLOW:
            options.allow_file = optarg;
            break;
        case OPT_INSECURE:
            options.insecure = true;
            break;
        case OPT_READY:
            if (!ad_parse_int(optarg, 0, 1 << 20, &number))
                return ad_cli_usage(self, "--ready-fd %s: must be a file descriptor", optarg);
            options.ready_fd = (int)number;
            break;
        default:
            return ADAPS_EUSAGE;
        }
    }
    if (optind < argc)
        return ad_cli_usage(self, "unexpected argument '%s'", argv[optind]);
    if (ad_agent_run(&options, &err) != ADAPS_OK)
        return ad_cli_fail(self, &err);
    return ADAPS_OK;
}

const struct ad_command ad_command_agent = {
    .name = "agent",
    .arguments = "[OPTION...]",
    .summary = "The daemon on a device: computes its share of networks.",
    .details =
        "  -l, --listen ENDPOINT   where controllers connect; default tcp://127.0.0.1:5570;\n"
        "                          port * picks a free one\n"
        "  -n, --name NAME         what it calls itself; default: the host's name\n"
        "      --speed F           emulate a device F times as fast as this one, 0.0001 to 1\n"
        "      --threads N         compute threads; default: what the plan says\n"
        "      --cache DIR         weights and plans; default: $XDG_CACHE_HOME/adaps\n"
        "      --cache-limit SIZE  forget the least recently used beyond this; default 8GiB\n"
        "      --key FILE          this device's keys (adaps keygen); with --allow\n"
        "      --allow FILE        public keys of the controllers that may connect, one a line\n"
        "      --insecure          listen without keys where other machines can connect\n"
        "      --ready-fd N        write the address that it listens on to this descriptor\n",
    .run = run,
};
