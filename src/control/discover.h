/* Which agents there are in the local network: they announce themselves by DNS-SD (wire/avahi.h).
 * Anybody in the network can say anything there, so what is found is a hint where to look; who is
 * there is shown by the key when a connection is made. Blocks; one thread at a time. */
#ifndef AD_CONTROL_DISCOVER_H
#define AD_CONTROL_DISCOVER_H

#include "wire/endpoint.h"
#include "wire/keys.h"

#define AD_DISCOVER_MOST 256 /* agents; more are not listed */
#define AD_DISCOVER_S 2.0    /* long enough for a network that is awake */

/* An agent, as the network has it: bounded, without control characters. */
struct ad_found_agent {
    char name[64];
    char host[256];              /* "board-a.local" */
    char address[128];           /* "tcp://192.168.1.11:5570" */
    char board[64], version[32]; /* "" when it does not say */
    char key[AD_KEY_BYTES];      /* public, "" when it says none or no valid one */
};

struct ad_found_agents {
    struct ad_found_agent *items; /* by name, then address */
    int count;
};

/* Listens for so many seconds. An agent that is heard by several networks or addresses is listed
 * once, with an IPv4 address if it has one; agents that are one key's but not one name's are
 * listed each. IPv6 addresses that only count on one link are left out. ADAPS_EAGENT: Avahi's
 * library or daemon is not there. */
AD_MUST_CHECK enum adaps_status ad_discover(double seconds, struct ad_found_agents *out,
                                            struct adaps_error *err);
void ad_found_agents_fini(struct ad_found_agents *found);

/* Looks for the agent with this public key until it is found, at most so many seconds. ADAPS_NO:
 * it is not in this network; ADAPS_EAGENT as above. */
AD_MUST_CHECK enum adaps_status ad_discover_by_key(const char *key, double seconds,
                                                   struct ad_found_agent *out,
                                                   struct adaps_error *err);

#endif
