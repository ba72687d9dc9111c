/* What commands say of themselves and of errors. */
#include "cli/cli.h"
#include "report/text.h"

#include <errno.h>
#include <string.h>

#define PROGRAM_BYTES 32

/* What the command is called on the command line. Returns buf. */
static const char *program(const struct ad_command *command, char buf[PROGRAM_BYTES])
{
    snprintf(buf, PROGRAM_BYTES, "%s%s", command->program ? "" : "adaps ",
             command->program ? command->program : command->name);
    return buf;
}

void ad_cli_help(const struct ad_command *command, FILE *out)
{
    char name[PROGRAM_BYTES];
    fprintf(out, "Usage: %s %s\n%s\n\n", program(command, name), command->arguments,
            command->summary);
    ad_options_help(command, out);
    fprintf(out, "%s\nThe manual: man adaps-%s\n", command->notes ? command->notes : "",
            command->name);
}

int ad_cli_close_stdout(const struct ad_command *command)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return ADAPS_OK;
    int reason = errno;
    char name[PROGRAM_BYTES];
    fprintf(stderr, "%s: cannot write to standard output: %s\n", program(command, name),
            strerror(reason));
    return ADAPS_EINTERNAL;
}

int ad_cli_fail(const struct ad_command *command, const struct adaps_error *err)
{
    char clean[sizeof err->message], name[PROGRAM_BYTES];
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", program(command, name),
            err->message[0] ? ad_text_clean(err->message, clean, sizeof clean)
                            : "failed without a message");
    return err->status == ADAPS_OK ? ADAPS_EINTERNAL : (int)err->status;
}

void ad_cli_assumed(const struct ad_command *command, const char *assumed)
{
    char clean[256], name[PROGRAM_BYTES];
    if (*assumed)
        fprintf(stderr, "%s: %s became 1: --dim NAME=N gives another size\n",
                program(command, name), ad_text_clean(assumed, clean, sizeof clean));
}

int ad_cli_usage(const struct ad_command *command, const char *fmt, ...)
{
    va_list ap;
    char name[PROGRAM_BYTES];
    fprintf(stderr, "%s: ", program(command, name));
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\nTry '%s --help'.\n", name);
    return ADAPS_EUSAGE;
}
