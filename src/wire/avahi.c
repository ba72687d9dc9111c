#include "wire/avahi.h"

#ifdef HAVE_AVAHI
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#define LIBRARY "libavahi-client.so.3"

static struct ad_avahi library;
static char missing[200];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void look(void)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *why = dlerror();
        snprintf(missing, sizeof missing, "%s", why ? why : LIBRARY);
        return;
    }
#define FIND(name)                                                                                 \
    library.name = (__typeof__(library.name))dlsym(handle, #name);                                 \
    if (!library.name)                                                                             \
        snprintf(missing, sizeof missing, LIBRARY " has no function " #name);
    AD_AVAHI_FUNCTIONS(FIND)
#undef FIND
}

enum adaps_status ad_avahi_find(const struct ad_avahi **out, struct adaps_error *err)
{
    pthread_once(&once, look);
    if (missing[0])
        return ad_error_set(err, ADAPS_EAGENT,
                            "Avahi's library is not there (Debian: libavahi-client3): %s", missing);
    *out = &library;
    return ADAPS_OK;
}

#else

enum adaps_status ad_avahi_find(const struct ad_avahi **out, struct adaps_error *err)
{
    *out = NULL;
    return ad_error_set(err, ADAPS_EAGENT, "this adaps was built without Avahi");
}

#endif
