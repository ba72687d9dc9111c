/* adaps agent: becomes the daemon, a program of its own. */
#include "base/file.h"
#include "base/mem.h"
#include "cli/agent_options.h"
#include "cli/cli.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define DAEMON "adaps-agent"

enum adaps_status ad_cli_exec_agent(char *const argv[], struct adaps_error *err)
{
    char *self = ad_file_program();
    char *beside = self ? ad_file_relative_to(self, DAEMON) : NULL;
    enum adaps_status status;
    if (beside && beside[0] == '/' && access(beside, F_OK) == 0)
        execv(beside, argv);
    else
        execvp(DAEMON, argv);
    if (errno == ENOENT)
        status =
            ad_error_set(err, ADAPS_EAGENT,
                         "the program " DAEMON " is neither beside %s nor in the PATH (Debian: "
                         "package " DAEMON ")",
                         self && *self ? self : "adaps");
    else
        status = ad_error_set(err, ADAPS_EAGENT, "cannot start " DAEMON ": %s", strerror(errno));
    ad_free(beside);
    ad_free(self);
    return status;
}

static int run(int argc, char **argv)
{
    char self[] = "adaps agent"; /* the daemon's messages begin with it */
    struct adaps_error err;
    (void)argc;
    argv[0] = self;
    ad_cli_exec_agent(argv, &err);
    return ad_cli_fail(&ad_command_agent, &err);
}

const struct ad_command ad_command_agent = {
    .name = "agent",
    .arguments = "[OPTION...]",
    .summary = AD_AGENT_SUMMARY,
    .options = ad_agent_option_table,
    .run = run,
};
