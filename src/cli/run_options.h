/* What push, run and verify have in common: a plan, the agents it runs on, pushing with a progress
 * line, and JSON on stdout. */
#ifndef AD_CLI_RUN_OPTIONS_H
#define AD_CLI_RUN_OPTIONS_H

#include "cli/cli.h"
#include "control/session.h"
#include "report/json.h"

/* What the options say; strings are borrowed from argv. */
struct ad_target_options {
    const char *devices, *model, *key;
    double deadline_s; /* 0 = the default */
    bool json;
};

/* getopt's letters and long options for the above; ad_target_option() takes them. */
#define AD_TARGET_SHORTS "d:"
#define AD_TARGET_LONGS                                                                            \
    {"devices", required_argument, NULL, 'd'}, {"model", required_argument, NULL, 'm' + 256},      \
        {"key", required_argument, NULL, 'k' + 256},                                               \
        {"deadline", required_argument, NULL, 't' + 256},                                          \
    {                                                                                              \
        "json", no_argument, NULL, 'j' + 256                                                       \
    }
#define AD_TARGET_HELP                                                                             \
    "  -d, --devices FILE   take the agents' addresses and keys from this devices file\n"          \
    "  --model FILE         read the weights here (default: where the plan says)\n"                \
    "  --deadline TIME      give up on an answer after this long (default: 30s)\n"                 \
    "  --key FILE           this side's key pair (adaps-keygen(1))\n"                              \
    "  --json               print the result as JSON\n"

/* ADAPS_OK when `option` is one of these and its argument is good, ADAPS_EUSAGE after a message. */
int ad_target_option(const struct ad_command *command, int option, const char *argument,
                     struct ad_target_options *options);

/* A time above zero; a number without a unit means seconds. */
bool ad_target_parse_deadline(const char *text, double *seconds);

struct ad_target {
    struct adaps_plan *plan;
    const char *model;
    struct ad_session_options session;
    struct ad_push_report *reports; /* of the latest push, by device */
    int64_t started_ns;             /* of the push */
    bool progress_shown;
};

/* Loads the plan and, with options->devices, gives the plan's devices the addresses and keys that
 * the file has for the same names. ADAPS_EINPUT names a device that has work but is not in the
 * file. */
AD_MUST_CHECK enum adaps_status ad_target_init(struct ad_target *target, const char *plan_path,
                                               const struct ad_target_options *options,
                                               struct adaps_error *err);

/* Sends the agents what they lack; the model is read only when weights are missing. */
AD_MUST_CHECK enum adaps_status ad_target_push(struct ad_target *target, struct adaps_error *err);
void ad_target_fini(struct ad_target *target);

/* Whether a device has a program. */
static inline bool ad_target_works(const struct adaps_plan *plan, int device)
{
    return plan->schedule.programs[device].nsteps > 0;
}

/* A JSON number; infinities and NaN, which JSON lacks, become the largest finite number. */
json_t *ad_json_real(double value);

/* Prints root and a newline, drops the reference. NULL (no memory) is ADAPS_EINTERNAL. Returns the
 * exit code, having finished stdout. */
int ad_json_print(const struct ad_command *command, json_t *root);

#endif
