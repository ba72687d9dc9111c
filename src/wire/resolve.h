/* Host names to addresses, within a deadline. ZeroMQ would ask the name servers in the thread that
 * moves all its messages, and could not be ended before they answer. */
#ifndef AD_WIRE_RESOLVE_H
#define AD_WIRE_RESOLVE_H

#include "base/deadline.h"
#include "wire/endpoint.h"

#include <stdatomic.h>

/* The endpoint with an address in place of a name; what has an address, and every endpoint when a
 * proxy is to be asked (ad_socket_connect()), stays as it is. Blocks until the deadline at most,
 * or until *cancel (nullable) is not zero. ADAPS_EAGENT names the host. */
AD_MUST_CHECK enum adaps_status ad_endpoint_resolve(const char *text, struct ad_deadline *deadline,
                                                    const atomic_int *cancel,
                                                    char out[AD_ENDPOINT_BYTES],
                                                    struct adaps_error *err);

#endif
