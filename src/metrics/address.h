/* Where metrics are served: "HOST:PORT", and "HOST:PORT,public" where other machines can connect:
 * whoever reaches them may read them, there is no key. */
#ifndef AD_METRICS_ADDRESS_H
#define AD_METRICS_ADDRESS_H

#include "base/error.h"

#include <sys/socket.h>

struct ad_metrics_address {
    struct sockaddr_storage address;
    socklen_t size;
};

/* HOST: an IPv4 address, an IPv6 address in brackets, or localhost; PORT as in an endpoint. out may
 * be NULL. ADAPS_EUSAGE: no such address, or one that others can reach without ",public". */
AD_MUST_CHECK enum adaps_status
ad_metrics_address_parse(const char *text, struct ad_metrics_address *out, struct adaps_error *err);

#endif
