#include "exec/agent/announce.h"
#include "base/machine.h"
#include "base/mem.h"
#include "wire/avahi.h"
#include "wire/keys.h"

#include <stdio.h>
#include <string.h>

#ifdef HAVE_AVAHI

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>

#define TRY_AGAIN_MS 10000 /* to reach D-Bus */

struct ad_announcement {
    const struct ad_avahi *avahi;
    const char *name; /* the agent's */
    char *service;    /* how it is announced: its name, or another while that is taken */
    struct ad_endpoint bound;
    char board[32];
    AvahiSimplePoll *poll;
    AvahiClient *client;
    AvahiEntryGroup *group;
    bool lost; /* the daemon is gone: connect again */
    bool said; /* what is wrong */
    pthread_t thread;
    pthread_mutex_t mutex;
    char key[AD_KEY_BYTES]; /* by the mutex */
    atomic_bool changed, ending;
};

static void say(struct ad_announcement *a, const char *why)
{
    if (!a->said)
        fprintf(stderr, "%s: not announced in the local network: %s\n", a->name, why);
    a->said = true;
}

/* The interface that has the address which the agent is bound to; any, when it is bound to all. */
static AvahiIfIndex interface_of(const struct ad_endpoint *bound)
{
    struct ifaddrs *all, *i;
    AvahiIfIndex index = AVAHI_IF_UNSPEC;
    char host[NI_MAXHOST];
    if (getifaddrs(&all) != 0)
        return index;
    for (i = all; i; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
            getnameinfo(i->ifa_addr, sizeof(struct sockaddr_in), host, sizeof host, NULL, 0,
                        NI_NUMERICHOST) != 0)
            continue;
        if (strcmp(host, bound->host) == 0)
            index = (AvahiIfIndex)if_nametoindex(i->ifa_name);
    }
    freeifaddrs(all);
    return index;
}

static AvahiStringList *make_txt(struct ad_announcement *a)
{
    const struct ad_avahi *avahi = a->avahi;
    char key[AD_KEY_BYTES];
    pthread_mutex_lock(&a->mutex);
    memcpy(key, a->key, sizeof key);
    pthread_mutex_unlock(&a->mutex);
    AvahiStringList *txt =
        avahi->avahi_string_list_add_pair(NULL, AD_SERVICE_VERSION, adaps_version());
    if (a->board[0])
        txt = avahi->avahi_string_list_add_pair(txt, AD_SERVICE_BOARD, a->board);
    if (key[0])
        txt = avahi->avahi_string_list_add_pair(txt, AD_SERVICE_KEY, key);
    return txt;
}

/* Another name, since that one is taken. */
static bool rename_service(struct ad_announcement *a)
{
    char *other = a->avahi->avahi_alternative_service_name(a->service);
    char *copy = other ? ad_strdup(other) : NULL;
    a->avahi->avahi_free(other);
    if (!copy)
        return false;
    ad_free(a->service);
    a->service = copy;
    return true;
}

/* Gives the group its one entry. */
static void fill_group(struct ad_announcement *a)
{
    const struct ad_avahi *avahi = a->avahi;
    AvahiStringList *txt = make_txt(a);
    bool six = a->bound.host[0] == '[';
    int code;
    avahi->avahi_entry_group_reset(a->group);
    do
        code = avahi->avahi_entry_group_add_service_strlst(
            a->group, interface_of(&a->bound), six ? AVAHI_PROTO_UNSPEC : AVAHI_PROTO_INET, 0,
            a->service, AD_SERVICE_TYPE, NULL, NULL, (uint16_t)a->bound.port, txt);
    while (code == AVAHI_ERR_COLLISION && rename_service(a));
    avahi->avahi_string_list_free(txt);
    if (code >= 0)
        code = avahi->avahi_entry_group_commit(a->group);
    if (code < 0)
        say(a, avahi->avahi_strerror(code));
}

/* The group may still be on its way to the struct when this is called first. */
static void on_group(AvahiEntryGroup *group, AvahiEntryGroupState state, void *self)
{
    struct ad_announcement *a = self;
    a->group = group;
    if (state == AVAHI_ENTRY_GROUP_COLLISION && rename_service(a))
        fill_group(a);
}

static void announce(struct ad_announcement *a, AvahiClient *client)
{
    if (!a->group)
        a->group = a->avahi->avahi_entry_group_new(client, on_group, a);
    if (a->group)
        fill_group(a);
}

static void on_client(AvahiClient *client, AvahiClientState state, void *self)
{
    struct ad_announcement *a = self;
    if (state == AVAHI_CLIENT_S_RUNNING)
        announce(a, client);
    else if (state == AVAHI_CLIENT_FAILURE)
        a->lost = true;
    else if (a->group && (state == AVAHI_CLIENT_S_COLLISION || state == AVAHI_CLIENT_S_REGISTERING))
        a->avahi->avahi_entry_group_reset(a->group); /* the host's name changes: wait for it */
}

static void disconnect(struct ad_announcement *a)
{
    if (a->client)
        a->avahi->avahi_client_free(a->client); /* with its group */
    a->client = NULL;
    a->group = NULL;
    a->lost = false;
}

/* A daemon that does not run yet is waited for; D-Bus must be there. */
static void connect_daemon(struct ad_announcement *a)
{
    int code = 0;
    a->client = a->avahi->avahi_client_new(a->avahi->avahi_simple_poll_get(a->poll),
                                           AVAHI_CLIENT_NO_FAIL, on_client, a, &code);
    if (!a->client)
        say(a, a->avahi->avahi_strerror(code));
}

static void *run(void *self)
{
    struct ad_announcement *a = self;
    while (!atomic_load(&a->ending)) {
        if (!a->client)
            connect_daemon(a);
        if (a->avahi->avahi_simple_poll_iterate(a->poll, a->client ? -1 : TRY_AGAIN_MS))
            a->lost = true;
        if (a->lost)
            disconnect(a);
        if (atomic_exchange(&a->changed, false) && a->group)
            fill_group(a);
    }
    disconnect(a);
    return NULL;
}

static void free_announcement(struct ad_announcement *a)
{
    if (a->poll)
        a->avahi->avahi_simple_poll_free(a->poll);
    pthread_mutex_destroy(&a->mutex);
    ad_free(a->service);
    ad_free(a);
}

struct ad_announcement *ad_announce_start(const char *name, const struct ad_endpoint *bound,
                                          const char *key)
{
    const struct ad_avahi *avahi;
    struct adaps_error missing; /* nobody asked for it */
    if (ad_endpoint_is_loopback(bound) || ad_avahi_find(&avahi, &missing) != ADAPS_OK)
        return NULL;
    struct ad_announcement *a = ad_calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->avahi = avahi;
    a->name = name;
    a->bound = *bound;
    snprintf(a->key, sizeof a->key, "%s", key);
    ad_machine_board(a->board, sizeof a->board);
    pthread_mutex_init(&a->mutex, NULL);
    a->service = ad_strdup(avahi->avahi_is_valid_service_name(name) ? name : "adaps agent");
    a->poll = avahi->avahi_simple_poll_new();
    if (!a->service || !a->poll || pthread_create(&a->thread, NULL, run, a) != 0) {
        free_announcement(a);
        return NULL;
    }
    return a;
}

void ad_announce_key(struct ad_announcement *a, const char *key)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->mutex);
    snprintf(a->key, sizeof a->key, "%s", key);
    pthread_mutex_unlock(&a->mutex);
    atomic_store(&a->changed, true);
    a->avahi->avahi_simple_poll_wakeup(a->poll);
}

void ad_announce_stop(struct ad_announcement *a)
{
    if (!a)
        return;
    atomic_store(&a->ending, true);
    a->avahi->avahi_simple_poll_wakeup(a->poll);
    pthread_join(a->thread, NULL);
    free_announcement(a);
}

#else

struct ad_announcement *ad_announce_start(const char *name, const struct ad_endpoint *bound,
                                          const char *key)
{
    (void)name, (void)bound, (void)key;
    return NULL;
}

void ad_announce_key(struct ad_announcement *a, const char *key)
{
    (void)a, (void)key;
}

void ad_announce_stop(struct ad_announcement *a)
{
    (void)a;
}

#endif
