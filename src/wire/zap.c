#include "wire/zap.h"
#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

struct ad_zap {
    void *socket;
    int stop_fd;
    struct ad_guard *guard;
    pthread_t thread;
};

/* The parts of a request that matter; RFC 27: version, id, domain, address, identity, mechanism,
 * credentials. */
enum {
    PART_VERSION,
    PART_ID,
    PART_DOMAIN,
    PART_ADDRESS,
    PART_IDENTITY,
    PART_MECHANISM,
    PART_KEY,
    PARTS
};

struct request {
    char text[PARTS][256];
    int size[PARTS];
    int parts;
};

static bool receive(void *socket, struct request *request)
{
    memset(request, 0, sizeof *request);
    int more = 1;
    while (more) {
        char spare[256];
        bool wanted = request->parts < PARTS;
        char *to = wanted ? request->text[request->parts] : spare;
        int n = zmq_recv(socket, to, sizeof spare - 1, 0);
        if (n < 0)
            return false;
        if (wanted)
            request->size[request->parts] = n < 255 ? n : 255;
        request->parts++;
        size_t size = sizeof more;
        if (zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size) != 0)
            return false;
    }
    return true;
}

/* Why a request is refused; NULL: it is not. */
static const char *judge(const struct ad_zap *zap, const struct request *request,
                         char key[AD_KEY_BYTES])
{
    key[0] = '\0';
    if (request->parts != PARTS || strcmp(request->text[PART_MECHANISM], "CURVE") != 0 ||
        request->size[PART_KEY] != 32 ||
        !zmq_z85_encode(key, (const uint8_t *)request->text[PART_KEY], 32))
        return "it shows no key";
    if (strcmp(request->text[PART_DOMAIN], AD_ZAP_CONTROL) == 0)
        return ad_guard_admits(zap->guard, key) ? NULL : "the key is not on the allow list";
    return strcmp(request->text[PART_DOMAIN], key) == 0 ? NULL
                                                        : "it is not the agent of the session";
}

static void answer(void *socket, const struct request *request, bool yes, const char *key)
{
    const char *parts[] = {
        "1.0", NULL, yes ? "200" : "400", yes ? "OK" : "key not allowed", yes ? key : "", ""};
    for (int i = 0; i < 6; i++) {
        const char *part = i == 1 ? request->text[PART_ID] : parts[i];
        size_t size = i == 1 ? (size_t)request->size[PART_ID] : strlen(parts[i]);
        if (zmq_send(socket, part, size, i < 5 ? ZMQ_SNDMORE : 0) < 0)
            return;
    }
}

static void decide(struct ad_zap *zap, const struct request *request)
{
    char key[AD_KEY_BYTES];
    const char *why = judge(zap, request, key);
    if (why)
        ad_guard_refused(zap->guard, request->text[PART_ADDRESS], *key ? key : NULL, why);
    answer(zap->socket, request, !why, key);
}

static void *serve(void *arg)
{
    struct ad_zap *zap = arg;
    zmq_pollitem_t items[2] = {{.socket = zap->socket, .events = ZMQ_POLLIN},
                               {.fd = zap->stop_fd, .events = ZMQ_POLLIN}};
    for (;;) {
        if (zmq_poll(items, 2, -1) < 0 && errno != EINTR)
            return NULL;
        if (items[1].revents)
            return NULL;
        struct request request;
        if (items[0].revents && receive(zap->socket, &request))
            decide(zap, &request);
    }
}

enum adaps_status ad_zap_start(void *context, struct ad_guard *guard, struct ad_zap **out,
                               struct adaps_error *err)
{
    struct ad_zap *zap = ad_calloc(1, sizeof *zap);
    if (!zap)
        return ad_error_memory(err, "key handler", sizeof *zap);
    enum adaps_status status = ADAPS_OK;
    zap->guard = guard;
    zap->stop_fd = eventfd(0, EFD_CLOEXEC);
    zap->socket = zmq_socket(context, ZMQ_REP);
    if (zap->stop_fd < 0 || !zap->socket || zmq_bind(zap->socket, "inproc://zeromq.zap.01") != 0)
        status = ad_error_set(err, ADAPS_EINTERNAL, "key handler: %s", zmq_strerror(errno));
    else if ((errno = pthread_create(&zap->thread, NULL, serve, zap)) != 0)
        status = ad_error_set(err, ADAPS_EINTERNAL, "key handler: %s", strerror(errno));
    if (status != ADAPS_OK) {
        if (zap->socket)
            zmq_close(zap->socket);
        if (zap->stop_fd >= 0)
            close(zap->stop_fd);
        ad_free(zap);
        return status;
    }
    *out = zap;
    return ADAPS_OK;
}

void ad_zap_stop(struct ad_zap *zap)
{
    if (!zap)
        return;
    eventfd_write(zap->stop_fd, 1);
    pthread_join(zap->thread, NULL);
    zmq_close(zap->socket);
    close(zap->stop_fd);
    ad_free(zap);
}
