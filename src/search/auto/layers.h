/* Whole layers on one device after another, where memory may be short. */
#ifndef AD_SEARCH_AUTO_LAYERS_H
#define AD_SEARCH_AUTO_LAYERS_H

#include "search/eval.h"

/* As a search function (search/eval.h): nothing where all have memory enough. The ops of the graph,
 * in its order, go to the first two, three, ... devices of the context's order so that the weights
 * of each are in proportion to its memory. No shift of boundaries leads there from bands. */
AD_MUST_CHECK enum adaps_status ad_layers_search(struct ad_eval *eval, struct ad_best *best);

#endif
