/* Methods that others have published, and the best single device: searches over layouts. */
#ifndef AD_SEARCH_PUBLISHED_PUBLISHED_H
#define AD_SEARCH_PUBLISHED_PUBLISHED_H

#include "search/eval.h"

ad_search_fn ad_single_search, ad_edgeflow_search, ad_bbgrap_search, ad_modnn_search,
    ad_coedge_search, ad_deepslicing_search, ad_deepthings_search;

#endif
