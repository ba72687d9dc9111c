/* The terminal of adaps top. */
#ifndef AD_CLI_TOP_SCREEN_H
#define AD_CLI_TOP_SCREEN_H

#include "cli/top_watch.h"

/* Shows what the watch knows until somebody types q, or a signal that ends programs comes; the
 * terminal is as before then. *signal: which one, or 0. ADAPS_EUSAGE: no terminal that can do this.
 */
AD_MUST_CHECK enum adaps_status ad_top_screen_run(const struct ad_cluster *cluster,
                                                  struct ad_top_watch *watch, int *signal,
                                                  struct adaps_error *err);

#endif
