#include "wire/socket.h"
#include "wire/endpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define CURVE_BYTES 256 /* more than what encryption adds to a part */

/* Messages of one connection that wait. */
#define ANSWERS_MOST 256
#define REQUESTS_MOST 64

/* A link may delay 600 ms each way: connecting takes two of these, the handshake with keys six. */
#define CONNECT_MS 3000
#define HANDSHAKE_MS 5000
#define KEEP_ALIVE_PROBES 8

static enum adaps_status failed(struct adaps_error *err, const char *what)
{
    return ad_error_set(err, ADAPS_EINTERNAL, "ZeroMQ: %s: %s", what, zmq_strerror(errno));
}

static bool set_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

enum adaps_status ad_socket_new(void *context, int type, size_t max_bytes, void **out,
                                struct adaps_error *err)
{
    void *socket = zmq_socket(context, type);
    if (!socket)
        return failed(err, "new socket");
    int64_t limit = (int64_t)(max_bytes + CURVE_BYTES);
    if (!set_int(socket, ZMQ_SNDHWM, 0) || !set_int(socket, ZMQ_RCVHWM, 0) ||
        !set_int(socket, ZMQ_LINGER, 0) || !set_int(socket, ZMQ_CONNECT_TIMEOUT, CONNECT_MS) ||
        !set_int(socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS) ||
        !set_int(socket, ZMQ_RECONNECT_IVL, 50) ||
        zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &limit, sizeof limit) != 0) {
        enum adaps_status status = failed(err, "socket options");
        zmq_close(socket);
        return status;
    }
    *out = socket;
    return ADAPS_OK;
}

void ad_socket_close(void *socket, int linger_ms)
{
    if (!socket)
        return;
    set_int(socket, ZMQ_LINGER, linger_ms);
    zmq_close(socket);
}

enum adaps_status ad_socket_give_up(void *socket, int ms, struct adaps_error *err)
{
    return set_int(socket, ZMQ_TCP_MAXRT, ms) ? ADAPS_OK : failed(err, "TCP_MAXRT");
}

enum adaps_status ad_socket_keep_alive(void *socket, int interval_s, struct adaps_error *err)
{
    if (!set_int(socket, ZMQ_TCP_KEEPALIVE, 1) ||
        !set_int(socket, ZMQ_TCP_KEEPALIVE_IDLE, interval_s) ||
        !set_int(socket, ZMQ_TCP_KEEPALIVE_INTVL, interval_s) ||
        !set_int(socket, ZMQ_TCP_KEEPALIVE_CNT, KEEP_ALIVE_PROBES))
        return failed(err, "keep-alive");
    return ADAPS_OK;
}

enum adaps_status ad_socket_queue(void *socket, int messages, struct adaps_error *err)
{
    return set_int(socket, ZMQ_RCVHWM, messages) ? ADAPS_OK : failed(err, "RCVHWM");
}

enum adaps_status ad_socket_answers(void *socket, struct adaps_error *err)
{
    return set_int(socket, ZMQ_ROUTER_MANDATORY, 1) && set_int(socket, ZMQ_SNDHWM, ANSWERS_MOST) &&
                   set_int(socket, ZMQ_RCVHWM, REQUESTS_MOST)
               ? ADAPS_OK
               : failed(err, "options of a socket that answers");
}

enum adaps_status ad_socket_refuse_old(void *socket, struct adaps_error *err)
{
    static const char domain[] = "any"; /* there is one: libzmq lets old protocols in where there is
                                           none */
    return zmq_setsockopt(socket, ZMQ_ZAP_DOMAIN, domain, sizeof domain - 1) == 0
               ? ADAPS_OK
               : failed(err, "refusing old protocols");
}

enum adaps_status ad_socket_serve(void *socket, const struct ad_keys *keys, const char *domain,
                                  struct adaps_error *err)
{
    if (!keys->present)
        return ADAPS_OK;
    if (!set_int(socket, ZMQ_CURVE_SERVER, 1) ||
        zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, keys->secret, AD_KEY_BYTES) != 0 ||
        zmq_setsockopt(socket, ZMQ_ZAP_DOMAIN, domain, strlen(domain)) != 0)
        return failed(err, "CURVE server keys");
    return ADAPS_OK;
}

enum adaps_status ad_socket_trust(void *socket, const struct ad_keys *keys, const char *server_key,
                                  struct adaps_error *err)
{
    if (zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server_key, AD_KEY_BYTES) != 0 ||
        zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, keys->public, AD_KEY_BYTES) != 0 ||
        zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, keys->secret, AD_KEY_BYTES) != 0)
        return failed(err, "CURVE keys");
    return ADAPS_OK;
}

enum adaps_status ad_socket_bind(void *socket, const char *endpoint, char *bound,
                                 struct adaps_error *err)
{
    struct ad_endpoint parsed;
    enum adaps_status status = ad_endpoint_parse(endpoint, &parsed, err);
    if (status != ADAPS_OK)
        return status;
    /* With IPv6 on, IPv4 endpoints would be reported in their mapped form. */
    if (!set_int(socket, ZMQ_IPV6, strchr(endpoint, '[') != NULL))
        return failed(err, "IPv6");
    if (zmq_bind(socket, endpoint) != 0)
        return ad_error_set(err, ADAPS_EAGENT, "cannot listen on %s: %s", endpoint,
                            zmq_strerror(errno));
    size_t size = AD_ENDPOINT_BYTES;
    if (zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, bound, &size) != 0)
        return failed(err, "bound endpoint");
    return ADAPS_OK;
}

enum adaps_status ad_socket_connect(void *socket, const char *endpoint, struct adaps_error *err)
{
    struct ad_endpoint parsed;
    enum adaps_status status = ad_endpoint_parse(endpoint, &parsed, err);
    if (status != ADAPS_OK)
        return status;
    if (!set_int(socket, ZMQ_IPV6, strchr(endpoint, '[') != NULL))
        return failed(err, "IPv6");
    const char *proxy = getenv("ADAPS_SOCKS_PROXY");
    if (proxy && *proxy && zmq_setsockopt(socket, ZMQ_SOCKS_PROXY, proxy, strlen(proxy)) != 0)
        return failed(err, "SOCKS proxy");
    if (zmq_connect(socket, endpoint) != 0)
        return ad_error_set(err, ADAPS_EAGENT, "cannot connect to %s: %s", endpoint,
                            zmq_strerror(errno));
    return ADAPS_OK;
}

enum adaps_status ad_socket_monitor(void *context, void *socket, void **out,
                                    struct adaps_error *err)
{
    static atomic_uint_fast64_t serial;
    char name[64];
    snprintf(name, sizeof name, "inproc://monitor-%" PRIu64,
             (uint64_t)atomic_fetch_add(&serial, 1));
    int events = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_ACCEPT_FAILED | ZMQ_EVENT_DISCONNECTED |
                 ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                 ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
    if (zmq_socket_monitor(socket, name, events) != 0)
        return failed(err, "socket monitor");
    void *monitor = zmq_socket(context, ZMQ_PAIR);
    if (!monitor || !set_int(monitor, ZMQ_LINGER, 0) || zmq_connect(monitor, name) != 0) {
        enum adaps_status status = failed(err, "socket monitor");
        if (monitor)
            zmq_close(monitor);
        return status;
    }
    *out = monitor;
    return ADAPS_OK;
}

void ad_socket_close_monitored(void *socket, void *monitor, int linger_ms)
{
    if (socket && monitor)
        zmq_socket_monitor(socket, NULL, 0);
    ad_socket_close(socket, linger_ms);
    ad_socket_close(monitor, 0);
}

bool ad_monitor_next(void *monitor, uint16_t *event, uint32_t *value)
{
    uint8_t bytes[6];
    if (zmq_recv(monitor, bytes, sizeof bytes, ZMQ_DONTWAIT) != (int)sizeof bytes)
        return false;
    memcpy(event, bytes, 2);
    memcpy(value, bytes + 2, 4);
    ad_socket_skip(monitor);
    return true;
}

void ad_socket_skip(void *socket)
{
    int more = 0;
    size_t size = sizeof more;
    while (zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size) == 0 && more) {
        char nothing;
        if (zmq_recv(socket, &nothing, 0, 0) < 0)
            return;
    }
}
