/* ZeroMQ sockets as adaps uses them, and their monitors. Loss of a connection is seen by the
 * monitor (a killed process: at once) and by unanswered pings (control/remote.h). */
#ifndef AD_WIRE_SOCKET_H
#define AD_WIRE_SOCKET_H

#include "wire/keys.h"

/* Largest part of a control message. ZeroMQ makes room for a part when a peer announces it, also
 * before the peer has shown its key, so this is small. */
#define AD_CONTROL_PART_BYTES ((size_t)4 << 20)

/* Largest control message: plans, inputs and outputs of a network. */
#define AD_CONTROL_MAX_BYTES ((size_t)512 << 20)

/* A socket that buffers without limit of count and refuses parts of more than max_bytes (before
 * encryption). ADAPS_EINTERNAL. Close with ad_socket_close(). */
AD_MUST_CHECK enum adaps_status ad_socket_new(void *context, int type, size_t max_bytes, void **out,
                                              struct adaps_error *err);

/* Waits at most linger_ms for what is not yet sent (in the background). NULL is fine. */
void ad_socket_close(void *socket, int linger_ms);

/* Ends connections on which nothing that was sent is taken for so long: because the way is lost, or
 * the other process does not read. */
AD_MUST_CHECK enum adaps_status ad_socket_give_up(void *socket, int ms, struct adaps_error *err);

/* Has the kernel ask the other side's whenever a connection was idle for so long. A process that is
 * stopped keeps its connection, a machine that is gone does not. */
AD_MUST_CHECK enum adaps_status ad_socket_keep_alive(void *socket, int interval_s,
                                                     struct adaps_error *err);

/* A socket without keys, in a context without a ZAP handler, refuses peers of ZMTP 1 and 2, as
 * those with keys do: what such a peer says first can end the process within libzmq. Before it is
 * bound. */
AD_MUST_CHECK enum adaps_status ad_socket_refuse_old(void *socket, struct adaps_error *err);

/* How many messages that have come may wait to be read; then the sender must wait. */
AD_MUST_CHECK enum adaps_status ad_socket_queue(void *socket, int messages,
                                                struct adaps_error *err);

/* Makes a ROUTER fail to send when the receiver is not connected any more, or does not read its
 * answers; and lets requests wait in the network when they come faster than they are served. */
AD_MUST_CHECK enum adaps_status ad_socket_answers(void *socket, struct adaps_error *err);

/* CURVE, before bind or connect. domain is what the ZAP handler (zap.h) decides by. */
AD_MUST_CHECK enum adaps_status ad_socket_serve(void *socket, const struct ad_keys *keys,
                                                const char *domain, struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_socket_trust(void *socket, const struct ad_keys *keys,
                                                const char *server_key, struct adaps_error *err);

/* Binds; bound (AD_ENDPOINT_BYTES) gets what it became. ADAPS_EUSAGE: not tcp://HOST:PORT
 * (endpoint.h); ADAPS_EAGENT names endpoint and reason. */
AD_MUST_CHECK enum adaps_status ad_socket_bind(void *socket, const char *endpoint, char *bound,
                                               struct adaps_error *err);

/* Starts connecting, through the SOCKS5 proxy (HOST:PORT) of ADAPS_SOCKS_PROXY if there is one: for
 * bench/testbed. (libzmq 4.3.4 aborts when a proxy refuses a connection.) ADAPS_EUSAGE: not
 * tcp://HOST:PORT (endpoint.h); ADAPS_EAGENT when the endpoint is impossible. */
AD_MUST_CHECK enum adaps_status ad_socket_connect(void *socket, const char *endpoint,
                                                  struct adaps_error *err);

/* A socket that receives this one's events; close it after the watched one. */
AD_MUST_CHECK enum adaps_status ad_socket_monitor(void *context, void *socket, void **out,
                                                  struct adaps_error *err);

/* Ends the watching and closes both, the watched socket with that linger. The order matters: an I/O
 * thread that reports to a monitor which nobody holds any more would block for ever. Both may be
 * NULL. */
void ad_socket_close_monitored(void *socket, void *monitor, int linger_ms);

/* The next event without waiting; false when there is none. */
bool ad_monitor_next(void *monitor, uint16_t *event, uint32_t *value);

/* Receives and forgets the remaining parts of the message of which a part was just read. */
void ad_socket_skip(void *socket);

#endif
