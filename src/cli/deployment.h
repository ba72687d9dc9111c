/* A plan and the agents that it is pushed to: what push, run and verify work on. */
#ifndef AD_CLI_DEPLOYMENT_H
#define AD_CLI_DEPLOYMENT_H

#include "cli/run_options.h"
#include "import/import.h"

struct ad_deployment {
    struct adaps_plan *plan;
    const char *model; /* file that has the weights; NULL: where the plan says */
    struct ad_session_options session;
    struct ad_push_report *reports; /* of the latest push, by device */
    int64_t started_ns;             /* of the push */
    bool progress_shown;
};

/* Loads the plan and, with options->devices, gives the plan's devices the addresses and keys that
 * the file has for the same names. ADAPS_EINPUT names a device that has work but is not in the
 * file. */
AD_MUST_CHECK enum adaps_status ad_deployment_init(struct ad_deployment *deployment,
                                                   const char *plan_path,
                                                   const struct ad_run_options *options,
                                                   struct adaps_error *err);

/* The same of a plan or of a model, by the file's first bytes. A model is planned for
 * options->devices, or for this machine alone when there are none. `assumed`, of AD_ASSUMED bytes,
 * gets the symbolic dimensions that became 1 (ad_import_options). */
AD_MUST_CHECK enum adaps_status ad_deployment_init_any(struct ad_deployment *deployment,
                                                       const char *path,
                                                       const struct ad_run_options *options,
                                                       const struct ad_dim_bindings *dims,
                                                       char *assumed, struct adaps_error *err);

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
