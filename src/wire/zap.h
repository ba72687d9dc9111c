/* Decides which CURVE keys may connect to the sockets of a context (ZeroMQ RFC 27), in a thread of
 * its own. By the socket's domain: AD_ZAP_CONTROL admits the keys of the allow list, any other
 * domain is a public key and admits this one. The key is the user of every message that comes by
 * the connection (wire.h). Refusals are logged. */
#ifndef AD_WIRE_ZAP_H
#define AD_WIRE_ZAP_H

#include "wire/guard.h"

#define AD_ZAP_CONTROL "control"

struct ad_zap;

/* Before any socket with CURVE is bound; guard must outlive it. */
AD_MUST_CHECK enum adaps_status ad_zap_start(void *context, struct ad_guard *guard,
                                             struct ad_zap **out, struct adaps_error *err);
void ad_zap_stop(struct ad_zap *zap); /* NULL is fine; before the context ends */

#endif
