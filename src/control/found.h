/* Where agents are that are not, or no longer, at the address of the devices file: found by their
 * public keys through DNS-SD (control/discover.h). Whoever is there still has to show the key. */
#ifndef AD_CONTROL_FOUND_H
#define AD_CONTROL_FOUND_H

#include <stdbool.h>

#define AD_FOUND_BYTES 128

/* The address at which this process has found the agent with that key; false: none. Any thread. */
bool ad_found_before(const char *key, char address[AD_FOUND_BYTES]);

/* Looks for it, for two seconds, unless the network was searched just now. False: it is not found,
 * or there is no Avahi. Any thread; one at a time looks. */
bool ad_found_look(const char *key, char address[AD_FOUND_BYTES]);

#endif
