/* A plan and the agents that it is pushed to: what push, run, verify, detect and the like work on.
 * Their first operand is a plan, or a model, which is planned here. */
#ifndef AD_CLI_DEPLOYMENT_H
#define AD_CLI_DEPLOYMENT_H

#include "cli/run_options.h"

/* Where a command wants its network to run. */
enum ad_deployment_place {
    AD_PLACE_ANY,    /* on the agents of the plan or the devices file; a model without in this
                        process */
    AD_PLACE_HERE,   /* in this process */
    AD_PLACE_AGENTS, /* on agents */
};

struct ad_deployment {
    struct adaps_plan *plan;
    bool here;         /* it is to run in this process */
    const char *model; /* file that has the weights; NULL: where the plan says */
    struct ad_session_options session;
    struct ad_waiting_line waiting;
    struct ad_push_report *reports; /* of the latest push, by device */
    int64_t started_ns;             /* of the push */
    bool progress_shown;
};

/* Whether the file begins as a plan does. A file that cannot be read is none: whoever reads it
 * next says why. */
bool ad_deployment_is_plan(const char *path);

/* What the file is, its content says.
 *
 * A plan's devices get the addresses and keys that a devices file has for the same names, if one
 * was named by -d or the environment; otherwise those that were paired and have the name and the
 * key of a device get the address that the user's cluster.conf has by now, which is said on stderr.
 * A model is planned for the devices file (cli/devices.h), or for this process, which is said on
 * stderr, too; a plan for devices is kept (cli/plan_cache.h).
 *
 * ADAPS_EINPUT: neither plan nor model, or a device has work but is not in the file; ADAPS_EUSAGE:
 * there is no devices file for a model, but AD_PLACE_AGENTS is wanted. */
AD_MUST_CHECK enum adaps_status
ad_deployment_init(struct ad_deployment *deployment, const struct ad_command *command,
                   const char *path, const struct ad_run_options *options,
                   enum ad_deployment_place place, struct adaps_error *err);

/* Sends the agents what they lack; the model is read only when weights are missing. */
AD_MUST_CHECK enum adaps_status ad_deployment_push(struct ad_deployment *deployment,
                                                   struct adaps_error *err);
void ad_deployment_fini(struct ad_deployment *deployment);

/* Whether the plan has a program for a device. */
static inline bool ad_deployment_works(const struct adaps_plan *plan, int device)
{
    return ad_plan_works(plan, device);
}

#endif
