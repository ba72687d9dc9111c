#include "control/found.h"
#include "base/clock.h"
#include "control/discover.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define MOST 64                             /* agents of a cluster */
#define FRESH_NS ((int64_t)10 * 1000000000) /* for so long the network is not searched again */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char key[AD_KEY_BYTES], address[AD_FOUND_BYTES];
} found[MOST];
static int count;
static int64_t searched_ns; /* 0: never */

static bool known(const char *key, char address[AD_FOUND_BYTES])
{
    for (int i = 0; i < count; i++)
        if (strcmp(found[i].key, key) == 0) {
            snprintf(address, AD_FOUND_BYTES, "%s", found[i].address);
            return true;
        }
    return false;
}

bool ad_found_before(const char *key, char address[AD_FOUND_BYTES])
{
    pthread_mutex_lock(&mutex);
    bool is_known = known(key, address);
    pthread_mutex_unlock(&mutex);
    return is_known;
}

/* Where an agent was found last counts. */
static void remember(const struct ad_found_agent *agent)
{
    int i = 0;
    if (!agent->key[0])
        return;
    while (i < count && strcmp(found[i].key, agent->key) != 0)
        i++;
    if (i == MOST)
        return;
    if (i == count)
        count++;
    snprintf(found[i].key, sizeof found[i].key, "%s", agent->key);
    snprintf(found[i].address, sizeof found[i].address, "%s", agent->address);
}

bool ad_found_look(const char *key, char address[AD_FOUND_BYTES])
{
    struct ad_found_agents agents;
    struct adaps_error err;
    pthread_mutex_lock(&mutex);
    if (searched_ns == 0 || ad_clock_ns() - searched_ns > FRESH_NS) {
        if (ad_discover(AD_DISCOVER_S, &agents, &err) == ADAPS_OK) {
            for (int i = 0; i < agents.count; i++)
                remember(&agents.items[i]);
            ad_found_agents_fini(&agents);
        }
        searched_ns = ad_clock_ns();
    }
    bool is_known = known(key, address);
    pthread_mutex_unlock(&mutex);
    return is_known;
}
