/* Metrics over HTTP: GET and HEAD of /metrics, in a thread of its own. Only for programs: the
 * library has no part of it. */
#ifndef AD_METRICS_SERVER_H
#define AD_METRICS_SERVER_H

#include "base/error.h"
#include "metrics/exposition.h"

struct ad_metrics_server;

/* Serves at an address (metrics/address.h) what write(self, out) writes, which is called in the
 * server's thread. ADAPS_EUSAGE: no such address; ADAPS_EAGENT: it cannot be bound; or the program
 * was built without libmicrohttpd. */
AD_MUST_CHECK enum adaps_status ad_metrics_server_start(const char *address,
                                                        ad_metrics_write_fn *write, void *self,
                                                        struct ad_metrics_server **out,
                                                        struct adaps_error *err);

/* "http://127.0.0.1:9570/metrics". */
const char *ad_metrics_server_url(const struct ad_metrics_server *server);

/* Waits for what is being answered. NULL is fine. */
void ad_metrics_server_stop(struct ad_metrics_server *server);

#endif
