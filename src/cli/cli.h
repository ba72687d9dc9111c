/* The command line: one file per sub-command, listed in the table of main.c. */
#ifndef AD_CLI_CLI_H
#define AD_CLI_CLI_H

#include "base/error.h"
#include "cli/options.h"

#include <jansson.h>
#include <stdio.h>

/* A sub-command: parses argv[1..], does its work, returns an exit code (enum adaps_status). Results
 * go to stdout, everything else to stderr. */
struct ad_command {
    const char *name;
    const char *program;             /* what it is called; NULL: "adaps NAME" */
    const char *arguments;           /* of the usage line, after the name */
    const char *summary;             /* one line */
    const struct ad_option *options; /* table */
    const char *notes;               /* the last lines of --help, or NULL */
    int (*run)(int argc, char **argv);
};

extern const struct ad_command ad_command_inspect, ad_command_plan, ad_command_show,
    ad_command_simulate, ad_command_agent, ad_command_push, ad_command_run, ad_command_verify,
    ad_command_profile, ad_command_bench, ad_command_status, ad_command_local, ad_command_keygen,
    ad_command_split, ad_command_detect, ad_command_classify, ad_command_segment, ad_command_serve,
    ad_command_discover, ad_command_doctor, ad_command_quantize, ad_command_pair, ad_command_unpair,
    ad_command_top;

/* The text of --help. */
void ad_cli_help(const struct ad_command *command, FILE *out);

/* "adaps NAME: message" (or the program's name) on stderr, without control characters (messages
 * quote files that are not trusted); returns the status as exit code. */
int ad_cli_fail(const struct ad_command *command, const struct adaps_error *err);

/* Says on stderr which symbolic dimensions were assumed (ad_import_options); nothing for "". */
void ad_cli_assumed(const struct ad_command *command, const char *assumed);

/* "adaps NAME: message" on stderr, and where to read more. Returns ADAPS_EUSAGE. */
int ad_cli_usage(const struct ad_command *command, const char *fmt, ...) AD_PRINTF(2, 3);

/* adaps.conf of the current folder: keys model, devices, plan under no section; paths are relative
 * to the file's folder. Strings are NULL when the key or the file is absent; fini frees. An
 * unreadable or malformed file is ADAPS_EINPUT. */
struct ad_cli_config {
    char *model, *devices, *plan;
};
AD_MUST_CHECK enum adaps_status ad_cli_config_load(struct ad_cli_config *config,
                                                   struct adaps_error *err);
void ad_cli_config_fini(struct ad_cli_config *config);

/* Writes a file by `write`, through memory, so that a failure leaves no half-written file. "-" is
 * stdout, written at once. ADAPS_EINPUT names the file. */
typedef enum adaps_status (*ad_cli_writer)(const void *self, FILE *out, struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_cli_write_file(const char *path, ad_cli_writer write,
                                                  const void *self, struct adaps_error *err);

/* Becomes the daemon, the program adaps-agent beside this one or in the PATH. argv[0] is what it
 * calls itself in messages. Returns only when that fails: ADAPS_EAGENT. */
enum adaps_status ad_cli_exec_agent(char *const argv[], struct adaps_error *err);

/* Finishes stdout: flushes and checks. Returns ADAPS_OK or reports "cannot write" and
 * ADAPS_EINTERNAL; use as the last act of every command that printed a result. */
int ad_cli_close_stdout(const struct ad_command *command);

/* Prints root and a newline, drops the reference. NULL (no memory) is ADAPS_EINTERNAL. Returns the
 * exit code, having finished stdout. */
int ad_cli_print_json(const struct ad_command *command, json_t *root);

#endif
