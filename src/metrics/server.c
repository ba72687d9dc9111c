#include "metrics/server.h"

#ifdef HAVE_MICROHTTPD
#include "base/mem.h"
#include "metrics/address.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What strangers may take. A scrape needs one connection and little of its memory. */
#define CONNECTIONS 16
#define CONNECTION_BYTES ((size_t)16 << 10)
#define TIMEOUT_S 10

#define PAGE "adaps: see /metrics\n"

struct ad_metrics_server {
    struct MHD_Daemon *daemon;
    ad_metrics_write_fn *write;
    void *self;
    char url[120];
};

/* --- answers --- */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status,
                              struct MHD_Response *response, const char *name, const char *value)
{
    if (!response)
        return MHD_NO;
    enum MHD_Result done = MHD_YES;
    if (name)
        done = MHD_add_response_header(response, name, value);
    if (done == MHD_YES)
        done = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return done;
}

static enum MHD_Result say(struct MHD_Connection *connection, unsigned status, const char *text)
{
    return answer(
        connection, status,
        MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT),
        status == MHD_HTTP_METHOD_NOT_ALLOWED ? MHD_HTTP_HEADER_ALLOW
                                              : MHD_HTTP_HEADER_CONTENT_TYPE,
        status == MHD_HTTP_METHOD_NOT_ALLOWED ? "GET, HEAD" : "text/plain");
}

static enum MHD_Result say_metrics(struct ad_metrics_server *server,
                                   struct MHD_Connection *connection)
{
    const char *accept =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    struct ad_exposition out = {.open_metrics = ad_exposition_wants_open_metrics(accept)};
    server->write(server->self, &out);
    enum MHD_Result done = MHD_NO; /* without memory: the connection is closed */
    if (ad_exposition_end(&out))
        done = answer(connection, MHD_HTTP_OK,
                      MHD_create_response_from_buffer(out.size, out.text, MHD_RESPMEM_MUST_COPY),
                      MHD_HTTP_HEADER_CONTENT_TYPE, ad_exposition_type(out.open_metrics));
    ad_free(out.text);
    return done;
}

/* Called when the head is there, then for each piece of a body, then at the end. */
static enum MHD_Result handle(void *self, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **state)
{
    static int seen;
    (void)version, (void)data;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return *state ? MHD_NO
                      : say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only\n");
    if (!*state) {
        *state = &seen;
        return MHD_YES;
    }
    if (*size > 0) { /* nobody wants it */
        *size = 0;
        return MHD_YES;
    }
    if (strcmp(url, "/metrics") == 0)
        return say_metrics(self, connection);
    return strcmp(url, "/") == 0 ? say(connection, MHD_HTTP_OK, PAGE)
                                 : say(connection, MHD_HTTP_NOT_FOUND, PAGE);
}

/* --- life --- */

static void note_url(struct ad_metrics_server *server, int fd)
{
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    char host[64], port[12];
    if (getsockname(fd, (struct sockaddr *)&bound, &size) != 0 ||
        getnameinfo((struct sockaddr *)&bound, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return;
    bool six = strchr(host, ':') != NULL;
    snprintf(server->url, sizeof server->url, "http://%s%s%s:%s/metrics", six ? "[" : "", host,
             six ? "]" : "", port);
}

static enum adaps_status listen_at(const char *text, int *fd, struct adaps_error *err)
{
    struct ad_metrics_address address;
    int on = 1;
    enum adaps_status status = ad_metrics_address_parse(text, &address, err);
    if (status != ADAPS_OK)
        return status;
    *fd = socket(address.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd >= 0 && setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(*fd, (struct sockaddr *)&address.address, address.size) == 0 &&
        listen(*fd, CONNECTIONS) == 0)
        return ADAPS_OK;
    status =
        ad_error_set(err, ADAPS_EAGENT, "cannot serve metrics at %s: %s", text, strerror(errno));
    if (*fd >= 0)
        close(*fd);
    return status;
}

/* Its thread gets no signals: these are the program's. */
static struct MHD_Daemon *start(struct ad_metrics_server *server, int fd)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, handle, server,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)TIMEOUT_S, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

enum adaps_status ad_metrics_server_start(const char *address, ad_metrics_write_fn *write,
                                          void *self, struct ad_metrics_server **out,
                                          struct adaps_error *err)
{
    int fd;
    enum adaps_status status = listen_at(address, &fd, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_metrics_server *server = ad_calloc(1, sizeof *server);
    if (!server) {
        close(fd);
        return ad_error_memory(err, "metrics", sizeof *server);
    }
    server->write = write;
    server->self = self;
    note_url(server, fd);
    server->daemon = start(server, fd);
    if (!server->daemon) {
        close(fd);
        ad_free(server);
        return ad_error_set(err, ADAPS_EINTERNAL, "cannot serve metrics at %s: %s", address,
                            strerror(errno));
    }
    *out = server;
    return ADAPS_OK;
}

const char *ad_metrics_server_url(const struct ad_metrics_server *server)
{
    return server->url;
}

void ad_metrics_server_stop(struct ad_metrics_server *server)
{
    if (!server)
        return;
    MHD_stop_daemon(server->daemon);
    ad_free(server);
}

#else

enum adaps_status ad_metrics_server_start(const char *address, ad_metrics_write_fn *write,
                                          void *self, struct ad_metrics_server **out,
                                          struct adaps_error *err)
{
    (void)write, (void)self, (void)out;
    return ad_error_set(err, ADAPS_EUSAGE,
                        "--metrics %s: this program was built without libmicrohttpd", address);
}

const char *ad_metrics_server_url(const struct ad_metrics_server *server)
{
    (void)server;
    return "";
}

void ad_metrics_server_stop(struct ad_metrics_server *server)
{
    (void)server;
}
#endif
