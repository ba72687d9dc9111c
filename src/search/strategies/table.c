/* The table of strategies. */
#include "search/auto/auto.h"
#include "search/exact/exhaustive.h"
#include "search/paper/adaps.h"
#include "search/published/collaborative.h"
#include "search/published/deeperthings.h"
#include "search/published/halp.h"
#include "search/published/published.h"
#include "search/strategies/search.h"
#include "search/stream/stream.h"

#include <string.h>

const struct ad_strategy ad_strategies[] = {
    {.name = "auto",
     .summary = "the best plan found: all others, then local improvement",
     .plan = ad_auto_plan,
     .plan_stream = ad_throughput_plan},
    {.name = "single",
     .summary = "everything on the one device that answers soonest",
     .search = ad_single_search},
    {.name = "edgeflow",
     .summary = "bands by a linear programme per layer, rows exchanged at every layer",
     .search = ad_edgeflow_search},
    {.name = "adaps",
     .summary = "the paper's search: its score (eqs 1-12) in its window, with a certificate",
     .plan = ad_adaps_plan},
    {.name = "bbgrap",
     .summary = "equal bands, rows exchanged at every layer",
     .search = ad_bbgrap_search},
    {.name = "modnn",
     .summary = "bands by speed along the longer edge, exchanged through the source",
     .search = ad_modnn_search},
    {.name = "coedge",
     .summary = "bands by speed without the slowest, exchanged through the source",
     .search = ad_coedge_search},
    {.name = "deepslicing",
     .summary = "columns by speed, exchanged after groups of layers",
     .search = ad_deepslicing_search},
    {.name = "deepthings",
     .summary = "the early layers as a grid of fused tiles, the rest on the source",
     .search = ad_deepthings_search},
    {.name = "deeperthings",
     .summary =
         "the early layers as fused tiles, the weights of the rest by output and input channels",
     .plan = ad_deeperthings_plan},
    {.name = "aofl",
     .summary =
         "groups of fused layers on the best number of devices, exchanged through the source",
     .search = ad_aofl_search},
    {.name = "dpfp",
     .summary = "blocks of fused layers, bands by speed exchanged directly after each",
     .search = ad_dpfp_search},
    {.name = "flexpie",
     .summary = "each layer by rows, columns, channels or a grid, exchanged or fused",
     .search = ad_flexpie_search},
    {.name = "edgeci",
     .summary = "rows dealt in an auction, blocks of layers fused by a dynamic programme",
     .search = ad_edgeci_search},
    {.name = "halp",
     .summary = "rows by speed, the source's between its helpers', which exchange with it alone",
     .plan = ad_halp_plan},
    {.name = "pipeline",
     .summary = "a chain of devices, the layers parted so that the slowest is quickest",
     .search = ad_pipeline_search,
     .plan_stream = ad_pipeline_plan,
     .stream = true},
    {.name = "defer",
     .summary = "a chain of all devices, equal numbers of layers on each",
     .search = ad_defer_search,
     .stream = true},
    {.name = "dn2pciot",
     .summary = "bands of layers moved and swapped between devices of little memory",
     .search = ad_dn2pciot_search,
     .stream = true,
     .traffic = true},
    {.name = "collaborative",
     .summary = "a balanced chain of devices, long layers divided among several",
     .plan = ad_collaborative_plan,
     .stream = true},
    {.name = "pico",
     .summary = "a chain of groups of devices, each divides the rows of its fused layers",
     .search = ad_pico_search,
     .stream = true},
    {.name = "replicas",
     .summary = "whole inferences, dealt to the devices by speed",
     .plan = ad_replicas_plan,
     .stream = true},
    {.name = "exhaustive",
     .summary = "every layout of a small instance; refuses larger ones",
     .search = ad_exhaustive_search,
     .small = true},
    {.name = NULL},
};

const struct ad_strategy *ad_strategy_find(const char *name)
{
    for (const struct ad_strategy *s = ad_strategies; s->name; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}
