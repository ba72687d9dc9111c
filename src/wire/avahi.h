/* Avahi's client library, by which programs speak to the daemon that does DNS-SD in the local
 * network. It is looked for when it is first needed: whoever runs without it loses nothing but
 * discovery. A build without its headers never finds it. */
#ifndef AD_WIRE_AVAHI_H
#define AD_WIRE_AVAHI_H

#include "base/error.h"

#define AD_SERVICE_TYPE "_adaps._tcp"

/* What an agent's TXT record says. */
#define AD_SERVICE_BOARD "board"
#define AD_SERVICE_VERSION "version"
#define AD_SERVICE_KEY "key" /* public, in Z85 */

#ifdef HAVE_AVAHI
#include <avahi-client/client.h>
#include <avahi-client/lookup.h>
#include <avahi-client/publish.h>
#include <avahi-common/alternative.h>
#include <avahi-common/domain.h>
#include <avahi-common/error.h>
#include <avahi-common/malloc.h>
#include <avahi-common/simple-watch.h>

/* The functions in use; each is a member of struct ad_avahi by its own name. */
#define AD_AVAHI_FUNCTIONS(use)                                                                    \
    use(avahi_client_new) use(avahi_client_free) use(avahi_client_errno)                           \
        use(avahi_client_get_state) use(avahi_strerror) use(avahi_free) use(avahi_simple_poll_new) \
            use(avahi_simple_poll_free) use(avahi_simple_poll_get) use(avahi_simple_poll_iterate)  \
                use(avahi_simple_poll_wakeup) use(avahi_service_browser_new)                       \
                    use(avahi_service_resolver_new) use(avahi_service_resolver_free)               \
                        use(avahi_string_list_find) use(avahi_string_list_get_pair)                \
                            use(avahi_string_list_add_pair) use(avahi_string_list_free)            \
                                use(avahi_address_snprint) use(avahi_entry_group_new)              \
                                    use(avahi_entry_group_reset) use(avahi_entry_group_commit)     \
                                        use(avahi_entry_group_add_service_strlst)                  \
                                            use(avahi_alternative_service_name)                    \
                                                use(avahi_is_valid_service_name)

#define AD_AVAHI_MEMBER(name) __typeof__(&name) name;
struct ad_avahi {
    AD_AVAHI_FUNCTIONS(AD_AVAHI_MEMBER)
};
#undef AD_AVAHI_MEMBER
#else
struct ad_avahi;
#endif

/* ADAPS_EAGENT says that it is not there, or that this build is without. Any thread. */
AD_MUST_CHECK enum adaps_status ad_avahi_find(const struct ad_avahi **out, struct adaps_error *err);

#endif
