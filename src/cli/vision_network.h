/* The network of detect, classify and segment: a plan on its agents, or in this process. */
#ifndef AD_CLI_VISION_NETWORK_H
#define AD_CLI_VISION_NETWORK_H

#include "cli/deployment.h"
#include "exec/engine/local_run.h"
#include "failover.h"

struct ad_vision_place {
    struct ad_run_options shared;
    bool local, failover;
    int threads, in_flight; /* 0: as many as there are; as the plan has it */
};

struct ad_vision_network {
    const struct ad_vision_place *place;
    struct ad_deployment deployment;
    const struct ad_graph *graph;
    bool local; /* in this process */
    struct ad_local_run *local_run;
    struct ad_failover *agents;
    struct ad_tensor input;    /* of the inference in flight, when it is local */
    struct ad_tensor *outputs; /* of the latest answer */
    int told;                  /* recoveries that were printed */
};

/* A model without devices file runs here. Does not touch the agents. */
AD_MUST_CHECK enum adaps_status ad_vision_network_init(struct ad_vision_network *network,
                                                       const struct ad_command *command,
                                                       const char *path,
                                                       const struct ad_vision_place *place,
                                                       struct adaps_error *err);
void ad_vision_network_fini(struct ad_vision_network *network);

/* How many inferences may be in flight; with `fresh` no more than the agents work on. */
int ad_vision_network_flights(const struct ad_vision_network *network, bool fresh);

/* Pushes the plan to the agents and opens a session, or makes the engine. */
AD_MUST_CHECK enum adaps_status ad_vision_network_open(struct ad_vision_network *network,
                                                       struct adaps_error *err);

/* Ends the session of the agents, after a failure; it can be opened again. */
void ad_vision_network_close(struct ad_vision_network *network);

/* As ad_session_begin() and ad_session_finish(). input is taken over, also on failure. Answers are
 * in network->outputs. */
AD_MUST_CHECK enum adaps_status ad_vision_network_begin(struct ad_vision_network *network,
                                                        struct ad_tensor *input,
                                                        struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_vision_network_finish(struct ad_vision_network *network,
                                                         struct adaps_error *err);

#endif
