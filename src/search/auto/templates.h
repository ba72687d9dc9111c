/* Templates, the first step of strategy auto (templates.c). */
#ifndef AD_SEARCH_AUTO_TEMPLATES_H
#define AD_SEARCH_AUTO_TEMPLATES_H

#include "search/auto/elite.h"

/* As a search function (search/eval.h). The end of every descent is offered to the pool. */
AD_MUST_CHECK enum adaps_status
ad_templates_search(struct ad_eval *eval, struct ad_elite_pool *pool, struct ad_best *best);

#endif
