#include "control/discover.h"
#include "base/clock.h"
#include "base/mem.h"
#include "wire/avahi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ad_found_agents_fini(struct ad_found_agents *found)
{
    ad_free(found->items);
    *found = (struct ad_found_agents){0};
}

#ifdef HAVE_AVAHI

#define LOOK_MS 100         /* between two looks at the clock */
#define RESOLVERS_MOST 1024 /* at a time; what is more was not sent by well-meaning agents */

struct discovery {
    const struct ad_avahi *avahi;
    AvahiSimplePoll *poll;
    AvahiClient *client;
    const char *wanted; /* a key, or NULL for all agents */
    bool lost;          /* the daemon is gone: connect again */
    bool satisfied;     /* the wanted key is there */
    bool no_memory;
    int resolvers;
    struct ad_found_agents found;
};

/* Text from the network, which goes into files and to terminals. */
static void copy_text(char *to, size_t size, const char *from, size_t length)
{
    size_t n = length < size - 1 ? length : size - 1;
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)from[i] < ' ' || from[i] == 0x7f ? '?' : from[i];
    to[n] = '\0';
}

static void copy_field(const struct discovery *d, AvahiStringList *txt, const char *key, char *to,
                       size_t size)
{
    char *name = NULL, *value = NULL;
    size_t length = 0;
    AvahiStringList *entry = d->avahi->avahi_string_list_find(txt, key);
    to[0] = '\0';
    if (entry && d->avahi->avahi_string_list_get_pair(entry, &name, &value, &length) == 0 && value)
        copy_text(to, size, value, length);
    d->avahi->avahi_free(name);
    d->avahi->avahi_free(value);
}

/* "tcp://ADDRESS:PORT". False: an address that others cannot use. */
static bool write_address(const struct discovery *d, const AvahiAddress *address, uint16_t port,
                          struct ad_found_agent *out)
{
    char text[AVAHI_ADDRESS_STR_MAX];
    d->avahi->avahi_address_snprint(text, sizeof text, address);
    bool six = address->proto == AVAHI_PROTO_INET6;
    const uint8_t *bytes = address->data.ipv6.address;
    if (port == 0 || (six && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80))
        return false;
    snprintf(out->address, sizeof out->address, six ? "tcp://[%s]:%u" : "tcp://%s:%u", text, port);
    return true;
}

static bool is_six(const struct ad_found_agent *agent)
{
    return strchr(agent->address, '[') != NULL;
}

/* The same agent, heard by another network or address. */
static bool is_again(const struct ad_found_agent *a, const struct ad_found_agent *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->host, b->host) == 0 &&
           strcmp(a->key, b->key) == 0;
}

static void add(struct discovery *d, const struct ad_found_agent *agent)
{
    struct ad_found_agents *found = &d->found;
    for (int i = 0; i < found->count; i++) {
        if (!is_again(&found->items[i], agent))
            continue;
        if (is_six(&found->items[i]) && !is_six(agent))
            found->items[i] = *agent;
        return;
    }
    if (found->count >= AD_DISCOVER_MOST)
        return;
    if (!found->items)
        found->items = ad_calloc(AD_DISCOVER_MOST, sizeof *found->items);
    if (found->items)
        found->items[found->count++] = *agent;
    else
        d->no_memory = true;
    if (d->wanted && strcmp(agent->key, d->wanted) == 0)
        d->satisfied = true;
}

static void on_resolved(AvahiServiceResolver *resolver, AvahiIfIndex interface,
                        AvahiProtocol protocol, AvahiResolverEvent event, const char *name,
                        const char *type, const char *domain, const char *host,
                        const AvahiAddress *address, uint16_t port, AvahiStringList *txt,
                        AvahiLookupResultFlags flags, void *self)
{
    struct discovery *d = self;
    struct ad_found_agent agent = {0};
    (void)interface, (void)protocol, (void)type, (void)domain, (void)flags;
    if (event == AVAHI_RESOLVER_FOUND && write_address(d, address, port, &agent)) {
        copy_text(agent.name, sizeof agent.name, name, strlen(name));
        copy_text(agent.host, sizeof agent.host, host, strlen(host));
        copy_field(d, txt, AD_SERVICE_BOARD, agent.board, sizeof agent.board);
        copy_field(d, txt, AD_SERVICE_VERSION, agent.version, sizeof agent.version);
        copy_field(d, txt, AD_SERVICE_KEY, agent.key, sizeof agent.key);
        if (!ad_key_valid(agent.key))
            agent.key[0] = '\0';
        if (!d->wanted || strcmp(agent.key, d->wanted) == 0)
            add(d, &agent);
    }
    d->resolvers--;
    d->avahi->avahi_service_resolver_free(resolver);
}

static void on_browsed(AvahiServiceBrowser *browser, AvahiIfIndex interface, AvahiProtocol protocol,
                       AvahiBrowserEvent event, const char *name, const char *type,
                       const char *domain, AvahiLookupResultFlags flags, void *self)
{
    struct discovery *d = self;
    (void)browser, (void)flags;
    if (event == AVAHI_BROWSER_FAILURE)
        d->lost = true;
    if (event != AVAHI_BROWSER_NEW || d->resolvers >= RESOLVERS_MOST)
        return;
    if (d->avahi->avahi_service_resolver_new(d->client, interface, protocol, name, type, domain,
                                             AVAHI_PROTO_UNSPEC, 0, on_resolved, d))
        d->resolvers++;
}

/* Avahi calls this from within avahi_client_new(), too. */
static void on_client(AvahiClient *client, AvahiClientState state, void *self)
{
    struct discovery *d = self;
    (void)client;
    if (state == AVAHI_CLIENT_FAILURE)
        d->lost = true;
}

static enum adaps_status explain(const struct discovery *d, int code, struct adaps_error *err)
{
    return ad_error_set(err, ADAPS_EAGENT,
                        "Avahi's daemon does not answer (Debian: avahi-daemon): %s",
                        d->avahi->avahi_strerror(code));
}

static void disconnect(struct discovery *d)
{
    if (d->client)
        d->avahi->avahi_client_free(d->client); /* with its browser and resolvers */
    d->client = NULL;
    d->resolvers = 0;
}

static enum adaps_status connect_daemon(struct discovery *d, struct adaps_error *err)
{
    int code = 0;
    d->lost = false;
    d->client = d->avahi->avahi_client_new(d->avahi->avahi_simple_poll_get(d->poll), 0, on_client,
                                           d, &code);
    if (!d->client)
        return explain(d, code, err);
    if (!d->avahi->avahi_service_browser_new(d->client, AVAHI_IF_UNSPEC, AVAHI_PROTO_UNSPEC,
                                             AD_SERVICE_TYPE, NULL, 0, on_browsed, d)) {
        explain(d, d->avahi->avahi_client_errno(d->client), err);
        disconnect(d);
        return ADAPS_EAGENT;
    }
    return ADAPS_OK;
}

/* Listens until the time is over or the wanted agent is there. A daemon that was there and goes is
 * connected to again; what was heard stays. */
static enum adaps_status listen(struct discovery *d, double seconds, struct adaps_error *err)
{
    int64_t end = ad_clock_ns() + (int64_t)(seconds * 1e9), now;
    enum adaps_status status = connect_daemon(d, err);
    struct adaps_error gone;
    while (status == ADAPS_OK && !d->satisfied && !d->no_memory && (now = ad_clock_ns()) < end) {
        int64_t left_ms = (end - now) / 1000000 + 1;
        if (d->avahi->avahi_simple_poll_iterate(d->poll,
                                                left_ms < LOOK_MS ? (int)left_ms : LOOK_MS))
            d->lost = true;
        if (d->lost)
            disconnect(d);
        if (!d->client)
            d->lost = connect_daemon(d, &gone) != ADAPS_OK;
    }
    disconnect(d);
    return d->no_memory ? ad_error_memory(err, "discovery", 0) : status;
}

static int by_name(const void *a, const void *b)
{
    const struct ad_found_agent *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->address, y->address);
}

static enum adaps_status discover(const char *key, double seconds, struct ad_found_agents *out,
                                  struct adaps_error *err)
{
    struct discovery d = {.wanted = key};
    *out = (struct ad_found_agents){0};
    enum adaps_status status = ad_avahi_find(&d.avahi, err);
    if (status != ADAPS_OK)
        return status;
    d.poll = d.avahi->avahi_simple_poll_new();
    if (!d.poll)
        return ad_error_memory(err, "discovery", 0);
    status = listen(&d, seconds, err);
    d.avahi->avahi_simple_poll_free(d.poll);
    if (d.found.count > 0)
        qsort(d.found.items, (size_t)d.found.count, sizeof *d.found.items, by_name);
    if (status == ADAPS_OK)
        *out = d.found;
    else
        ad_found_agents_fini(&d.found);
    return status;
}

#else

static enum adaps_status discover(const char *key, double seconds, struct ad_found_agents *out,
                                  struct adaps_error *err)
{
    const struct ad_avahi *avahi;
    (void)key, (void)seconds;
    *out = (struct ad_found_agents){0};
    return ad_avahi_find(&avahi, err);
}

#endif

enum adaps_status ad_discover(double seconds, struct ad_found_agents *out, struct adaps_error *err)
{
    return discover(NULL, seconds, out, err);
}

enum adaps_status ad_discover_by_key(const char *key, double seconds, struct ad_found_agent *out,
                                     struct adaps_error *err)
{
    struct ad_found_agents found;
    enum adaps_status status = discover(key, seconds, &found, err);
    if (status != ADAPS_OK)
        return status;
    if (found.count > 0)
        *out = found.items[0];
    else
        status =
            ad_error_set(err, ADAPS_NO, "no agent in this network says that it has key %s", key);
    ad_found_agents_fini(&found);
    return status;
}
