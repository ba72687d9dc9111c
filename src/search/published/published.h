/* Methods that others have published, and the best single device: searches over layouts. */
#ifndef AD_SEARCH_PUBLISHED_PUBLISHED_H
#define AD_SEARCH_PUBLISHED_PUBLISHED_H

#include "search/eval.h"

ad_search_fn ad_single_search, ad_edgeflow_search, ad_bbgrap_search, ad_modnn_search,
    ad_coedge_search, ad_deepslicing_search, ad_deepthings_search, ad_pipeline_search,
    ad_defer_search, ad_aofl_search, ad_dpfp_search, ad_flexpie_search, ad_edgeci_search,
    ad_pico_search, ad_dn2pciot_search;

/* Ops `first` to `end` as one fused range: tiles in proportion to the devices' weights, in a grid
 * where all have the same. Nothing when `end` is before `first`. */
void ad_fused_tiles_lay(const struct ad_context *context, const double *weight, int first, int end,
                        struct ad_layout *layout);

/* A layout that needs no search. */
struct ad_bands {
    enum ad_dim (*dim_of)(const struct ad_context *context, int op); /* along which each is cut */
    const double *weight; /* of the devices: the sizes of their bands */
    int whole_on;         /* the device of ops that are not cut */
    bool hub;             /* everything is exchanged through that device */
};

/* Tries that layout, the only one of its search. */
AD_MUST_CHECK enum adaps_status ad_bands_try(struct ad_eval *eval, const struct ad_bands *bands,
                                             struct ad_best *best);

#endif
