#include "cli/vision_network.h"
#include "base/machine.h"
#include "base/units.h"
#include "model_weights.h"

#include <string.h>

#define SPARE_IN_FLIGHT 2 /* beyond those of the plan: on the way to the source and back */

enum adaps_status ad_vision_network_init(struct ad_vision_network *network,
                                         const struct ad_command *command, const char *path,
                                         const struct ad_vision_place *place,
                                         struct adaps_error *err)
{
    memset(network, 0, sizeof *network);
    network->place = place;
    enum adaps_status status =
        ad_deployment_init(&network->deployment, command, path, &place->shared,
                           place->local      ? AD_PLACE_HERE
                           : place->failover ? AD_PLACE_AGENTS
                                             : AD_PLACE_ANY,
                           err);
    if (status != ADAPS_OK)
        return status;
    const struct adaps_plan *plan = network->deployment.plan;
    network->graph = plan->graph;
    network->local = network->deployment.here;
    network->outputs = ad_calloc((size_t)plan->graph->noutputs, sizeof *network->outputs);
    if (!network->outputs)
        return ad_error_memory(err, "answers", (size_t)plan->graph->noutputs);
    return place->failover ? ad_failover_check(plan, "failover", err) : ADAPS_OK;
}

static void clear_outputs(struct ad_vision_network *network)
{
    for (int i = 0; network->outputs && i < network->graph->noutputs; i++)
        ad_tensor_fini(&network->outputs[i]);
}

void ad_vision_network_fini(struct ad_vision_network *network)
{
    ad_failover_close(network->agents);
    ad_local_run_free(network->local_run);
    ad_tensor_fini(&network->input);
    clear_outputs(network);
    ad_free(network->outputs);
    ad_deployment_fini(&network->deployment);
}

int ad_vision_network_flights(const struct ad_vision_network *network, bool fresh)
{
    int frames = network->agents ? ad_failover_frames(network->agents)
                                 : network->deployment.plan->stream.frames;
    if (network->local)
        return 1;
    if (network->place->in_flight > 0)
        return network->place->in_flight;
    return fresh ? frames : frames + SPARE_IN_FLIGHT;
}

enum adaps_status ad_vision_network_open(struct ad_vision_network *network, struct adaps_error *err)
{
    const struct ad_vision_place *place = network->place;
    const struct ad_failover_options options = {.enabled = place->failover,
                                                .model = network->deployment.model,
                                                .session = &network->deployment.session};
    if (network->local)
        return ad_model_local_run(network->deployment.plan, network->deployment.model,
                                  place->threads, &network->local_run, err);
    enum adaps_status status = ad_deployment_push(&network->deployment, err);
    if (status == ADAPS_OK)
        status = ad_failover_open(network->deployment.plan, &options, &network->agents, err);
    return status;
}

void ad_vision_network_close(struct ad_vision_network *network)
{
    ad_failover_close(network->agents);
    network->agents = NULL;
    network->told = 0;
}

enum adaps_status ad_vision_network_begin(struct ad_vision_network *network,
                                          struct ad_tensor *input, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    ad_tensor_fini(&network->input);
    network->input = *input;
    *input = (struct ad_tensor){0};
    if (network->local)
        return ADAPS_OK;
    status = ad_failover_begin(network->agents, &network->input, err);
    ad_tensor_fini(&network->input);
    return status;
}

/* Which agents were lost, a line each time. */
static void tell_recoveries(struct ad_vision_network *network)
{
    int count;
    const struct ad_recovery *recoveries = ad_failover_recoveries(network->agents, &count);
    const struct ad_cluster *cluster = &network->deployment.plan->cluster;
    for (; network->told < count && recoveries[network->told].done; network->told++) {
        const struct ad_recovery *one = &recoveries[network->told];
        char took[32];
        fprintf(stderr, "lost:");
        for (int d = 0; d < cluster->ndevices; d++)
            if (one->lost[d])
                fprintf(stderr, " %s", cluster->devices[d].name);
        fprintf(stderr, "; went on after %s\n",
                ad_format_ns((double)one->total_ns, took, sizeof took));
    }
}

enum adaps_status ad_vision_network_finish(struct ad_vision_network *network,
                                           struct adaps_error *err)
{
    struct ad_run_stats stats = {0};
    clear_outputs(network);
    if (network->local)
        return ad_local_run_infer(network->local_run, &network->input, network->outputs, err);
    enum adaps_status status = ad_failover_finish(network->agents, network->outputs, &stats, err);
    tell_recoveries(network);
    return status;
}
