#include "serve/server.h"
#include "base/clock.h"
#include "base/mem.h"
#include "wire/socket.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#define REQUESTS_WAITING 2 /* of a connection; a client of Frigate waits for its answer */
#define LINGER_MS 1000     /* for the last answer to leave */
#define RETRY_S 1          /* between attempts to open the session again */
#define REPEATED_NS ((int64_t)10000000000)

/* Opens the session again, beside the thread that serves. */
struct opener {
    pthread_t thread;
    bool running; /* until it is joined */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopping;
    int done_fd; /* an eventfd; readable: the session is open */
};

/* What was told last, so that a client that is wrong all the time does not fill the log. */
struct teller {
    pthread_mutex_t lock;
    char last[sizeof((struct adaps_error *)NULL)->message];
    int64_t when_ns;
    uint64_t repeated;
};

struct ad_server {
    struct ad_server_options options;
    char endpoint[AD_ENDPOINT_BYTES];
    void *context, *socket;
    const char *file; /* of the socket, to be removed at the end; NULL: none */
    struct ad_tensor input;
    bool is_open;       /* the session; only the thread that serves looks at it */
    char why_not[1024]; /* it is not */
    struct opener opener;
    struct teller teller;
    struct ad_server_counts counts;
};

static void tell(struct ad_server *s, const char *message)
{
    struct teller *t = &s->teller;
    if (!s->options.tell)
        return;
    pthread_mutex_lock(&t->lock);
    int64_t now = ad_clock_ns();
    bool again = strcmp(t->last, message) == 0;
    if (again && now - t->when_ns < REPEATED_NS) {
        t->repeated++;
    } else {
        char more[64];
        snprintf(more, sizeof more, "the last message %llu times more",
                 (unsigned long long)t->repeated);
        if (t->repeated > 0)
            s->options.tell(s->options.tell_context, more);
        s->options.tell(s->options.tell_context, message);
        snprintf(t->last, sizeof t->last, "%s", message);
        t->when_ns = now;
        t->repeated = 0;
    }
    pthread_mutex_unlock(&t->lock);
}

#define IPC "ipc://"
#define TCP "tcp://"

static bool is_file(const char *endpoint)
{
    return strncmp(endpoint, IPC, strlen(IPC)) == 0;
}

/* There are no keys in Frigate's protocol: other machines must not reach it. */
enum adaps_status ad_server_check(const char *endpoint, struct adaps_error *err)
{
    const size_t most = sizeof((struct sockaddr_un *)NULL)->sun_path - 1;
    struct ad_endpoint parsed;
    if (is_file(endpoint) && endpoint[strlen(IPC)] != '/')
        return ad_error_set(err, ADAPS_EUSAGE, "'%s': ipc:// and the whole path of a file expected",
                            endpoint);
    if (is_file(endpoint) && strlen(endpoint + strlen(IPC)) > most)
        return ad_error_set(err, ADAPS_EUSAGE, "'%s': the path has more than %zu bytes", endpoint,
                            most);
    if (is_file(endpoint))
        return ADAPS_OK;
    if (strncmp(endpoint, TCP, strlen(TCP)) != 0)
        return ad_error_set(err, ADAPS_EUSAGE,
                            "'%s' is not an address for Frigate: it must be tcp://127.0.0.1:PORT "
                            "or ipc:///FILE",
                            endpoint);
    enum adaps_status status = ad_endpoint_parse(endpoint, &parsed, err);
    if (status == ADAPS_OK && !ad_endpoint_is_loopback(&parsed))
        status = ad_error_set(err, ADAPS_EUSAGE,
                              "'%s': other machines could connect, and Frigate has no keys; listen "
                              "on tcp://127.0.0.1:PORT or ipc:///FILE",
                              endpoint);
    return status;
}

/* A socket's file that is left over is replaced; anything else is not ours to remove. */
static enum adaps_status check_file(const char *endpoint, struct adaps_error *err)
{
    const char *path = endpoint + strlen(IPC);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat st;
    if (lstat(path, &st) != 0)
        return ADAPS_OK; /* binding says what is wrong, if it is */
    if (!S_ISSOCK(st.st_mode))
        return ad_error_set(err, ADAPS_EAGENT, "cannot listen on %s: the file is not a socket",
                            endpoint);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool taken =
        fd >= 0 && (connect(fd, (const void *)&address, sizeof address) == 0 || errno == EAGAIN);
    if (fd >= 0)
        close(fd);
    return taken ? ad_error_set(err, ADAPS_EAGENT, "cannot listen on %s: somebody does already",
                                endpoint)
                 : ADAPS_OK;
}

static enum adaps_status bind_file(struct ad_server *s, const char *endpoint,
                                   struct adaps_error *err)
{
    enum adaps_status status = check_file(endpoint, err);
    if (status != ADAPS_OK)
        return status;
    snprintf(s->endpoint, sizeof s->endpoint, "%s", endpoint);
    if (zmq_bind(s->socket, endpoint) != 0)
        return ad_error_set(err, ADAPS_EAGENT, "cannot listen on %s: %s", endpoint,
                            zmq_strerror(errno));
    s->file = s->endpoint + strlen(IPC);
    return ADAPS_OK;
}

static enum adaps_status bind_it(struct ad_server *s, struct adaps_error *err)
{
    const char *endpoint = s->options.endpoint;
    enum adaps_status status = ad_server_check(endpoint, err);
    if (status != ADAPS_OK)
        return status;
    return is_file(endpoint) ? bind_file(s, endpoint, err)
                             : ad_socket_bind(s->socket, endpoint, s->endpoint, err);
}

static enum adaps_status init_socket(struct ad_server *s, struct adaps_error *err)
{
    s->context = zmq_ctx_new();
    if (!s->context)
        return ad_error_set(err, ADAPS_EINTERNAL, "ZeroMQ: %s", zmq_strerror(errno));
    enum adaps_status status = ad_socket_new(
        s->context, ZMQ_ROUTER, ad_frigate_most_bytes(&s->options.input), &s->socket, err);
    if (status == ADAPS_OK)
        status = ad_socket_answers(s->socket, err);
    if (status == ADAPS_OK)
        status = ad_socket_refuse_old(s->socket, err);
    if (status == ADAPS_OK)
        status = ad_socket_queue(s->socket, REQUESTS_WAITING, err);
    return status == ADAPS_OK ? bind_it(s, err) : status;
}

enum adaps_status ad_server_new(const struct ad_server_options *options, struct ad_server **out,
                                struct adaps_error *err)
{
    struct ad_server *s = ad_calloc(1, sizeof *s);
    if (!s)
        return ad_error_memory(err, "server", sizeof *s);
    s->options = *options;
    s->is_open = true;
    pthread_mutex_init(&s->opener.lock, NULL);
    pthread_mutex_init(&s->teller.lock, NULL);
    pthread_cond_init(&s->opener.wake, NULL);
    s->opener.done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    enum adaps_status status =
        s->opener.done_fd < 0 ? ad_error_set(err, ADAPS_EINTERNAL, "eventfd: %s", strerror(errno))
                              : init_socket(s, err);
    if (status != ADAPS_OK) {
        ad_server_free(s);
        return status;
    }
    *out = s;
    return ADAPS_OK;
}

const char *ad_server_endpoint(const struct ad_server *s)
{
    return s->endpoint;
}

struct ad_server_counts ad_server_counts(const struct ad_server *s)
{
    return s->counts;
}

/* Tries until the session is open or the server ends. */
static void *open_again(void *data)
{
    struct ad_server *s = data;
    struct opener *o = &s->opener;
    bool open = false, stopping = false;
    while (!open && !stopping) {
        struct adaps_error why = {0};
        struct timespec until;
        open = s->options.place.open(s->options.place.context, &why) == ADAPS_OK;
        if (!open)
            tell(s, why.message);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += RETRY_S;
        pthread_mutex_lock(&o->lock);
        int late = 0;
        while (!open && !o->stopping && !late)
            late = pthread_cond_timedwait(&o->wake, &o->lock, &until);
        stopping = o->stopping;
        pthread_mutex_unlock(&o->lock);
    }
    uint64_t one = 1;
    ssize_t n = write(o->done_fd, &one, sizeof one);
    (void)n;
    return NULL;
}

/* The session is lost: requests get nothing until there is another. */
static void lose(struct ad_server *s, const struct adaps_error *why)
{
    snprintf(s->why_not, sizeof s->why_not, "%s", why->message);
    s->options.place.close(s->options.place.context);
    s->is_open = false;
    int failed = pthread_create(&s->opener.thread, NULL, open_again, s);
    s->opener.running = failed == 0;
    if (failed)
        tell(s, "no thread to open the session again"); /* the next request tries */
}

static void join(struct ad_server *s)
{
    if (s->opener.running)
        pthread_join(s->opener.thread, NULL);
    s->opener.running = false;
}

/* The opener is done. */
static void take_session(struct ad_server *s)
{
    uint64_t count;
    if (read(s->opener.done_fd, &count, sizeof count) != (ssize_t)sizeof count)
        return;
    join(s);
    s->is_open = true;
    tell(s, "the session is open again");
}

void ad_server_free(struct ad_server *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->opener.lock);
    s->opener.stopping = true;
    pthread_cond_signal(&s->opener.wake);
    pthread_mutex_unlock(&s->opener.lock);
    join(s);
    ad_socket_close(s->socket, LINGER_MS);
    if (s->context)
        zmq_ctx_term(s->context);
    if (s->file)
        unlink(s->file);
    if (s->opener.done_fd >= 0)
        close(s->opener.done_fd);
    pthread_cond_destroy(&s->opener.wake);
    pthread_mutex_destroy(&s->opener.lock);
    pthread_mutex_destroy(&s->teller.lock);
    ad_tensor_fini(&s->input);
    ad_free(s);
}

/* A message that has come: who sent it, an empty part, the header, perhaps a tensor. */
#define PARTS_MOST 4
struct incoming {
    zmq_msg_t parts[PARTS_MOST];
    int n;
    bool more; /* there were more, which were dropped */
};

static void forget(struct incoming *in)
{
    for (int i = 0; i < in->n; i++)
        zmq_msg_close(&in->parts[i]);
    in->n = 0;
}

/* False: there is none, or it could not be read. */
static bool receive(struct ad_server *s, struct incoming *in)
{
    bool more = true;
    *in = (struct incoming){.n = 0};
    while (more && in->n < PARTS_MOST) {
        zmq_msg_t *part = &in->parts[in->n];
        zmq_msg_init(part);
        if (zmq_msg_recv(part, s->socket, in->n == 0 ? ZMQ_DONTWAIT : 0) < 0) {
            zmq_msg_close(part);
            forget(in);
            return false;
        }
        in->n++;
        more = zmq_msg_more(part);
    }
    in->more = more;
    if (more)
        ad_socket_skip(s->socket);
    return true;
}

/* Nobody waits for who has gone: then the answer is forgotten. */
static bool send_part(struct ad_server *s, const void *data, size_t size, bool more)
{
    return zmq_send(s->socket, data, size, ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) >= 0;
}

static void send_answer(struct ad_server *s, struct incoming *in, const char *header,
                        const float (*rows)[AD_FRIGATE_FIELDS])
{
    zmq_msg_t *who = &in->parts[0];
    const char *text = header ? header : "{}"; /* no memory: still an answer */
    if (send_part(s, zmq_msg_data(who), zmq_msg_size(who), true) && send_part(s, "", 0, true) &&
        send_part(s, text, strlen(text), rows != NULL) && rows)
        send_part(s, rows, sizeof(float) * AD_FRIGATE_ROWS * AD_FRIGATE_FIELDS, false);
}

/* Rows of zeros, and why. */
static void send_nothing(struct ad_server *s, struct incoming *in, const char *why)
{
    static const float zeros[AD_FRIGATE_ROWS][AD_FRIGATE_FIELDS];
    char *header = ad_frigate_header(why);
    if (!header) /* no memory for the reason */
        header = ad_frigate_header(NULL);
    send_answer(s, in, header, zeros);
    free(header);
}

/* Looks for things in a picture. */
static enum adaps_status detect(struct ad_server *s, struct incoming *in, struct adaps_error *err)
{
    const struct ad_serve_place *place = &s->options.place;
    struct ad_detections found = {0};
    enum adaps_status status = place->detect(place->context, &s->input, &found, err);
    if (status == ADAPS_OK) {
        float rows[AD_FRIGATE_ROWS][AD_FRIGATE_FIELDS];
        char *header = ad_frigate_header(NULL);
        ad_frigate_rows(&found, &s->options.input, rows);
        send_answer(s, in, header, rows);
        free(header);
        s->counts.answered++;
    }
    ad_detections_fini(&found);
    return status;
}

/* Answers a picture whatever happens. */
static void answer_picture(struct ad_server *s, struct incoming *in)
{
    struct adaps_error why = {0};
    enum adaps_status status = ADAPS_EAGENT;
    if (s->is_open)
        status = detect(s, in, &why);
    else
        snprintf(why.message, sizeof why.message, "%s", s->why_not);
    if (status == ADAPS_OK)
        return;
    s->counts.failed++;
    tell(s, why.message);
    send_nothing(s, in, why.message);
    if (status == ADAPS_EAGENT && !s->opener.running)
        lose(s, &why);
}

static void answer_model(struct ad_server *s, struct incoming *in,
                         const struct ad_frigate_request *request)
{
    char message[400];
    char *answer = ad_frigate_model_answer(request);
    if (request->kind == AD_FRIGATE_MODEL_DATA)
        tell(s, "a model that Frigate sends is not taken");
    else if (s->options.model && strcmp(s->options.model, request->model) != 0) {
        snprintf(message, sizeof message,
                 "Frigate asks for the model %s; what answers is %s: make sure that they are the "
                 "same",
                 request->model, s->options.model);
        tell(s, message);
    }
    send_answer(s, in, answer, NULL);
    free(answer);
}

/* Reads a request; for a picture, its tensor, too. */
static enum adaps_status understand(struct ad_server *s, struct incoming *in,
                                    struct ad_frigate_request *request, struct adaps_error *err)
{
    if (in->more || in->n < 3)
        return ad_error_set(err, ADAPS_EINPUT, "the request has %s parts",
                            in->more ? "too many" : "too few");
    zmq_msg_t *header = &in->parts[2], *data = in->n > 3 ? &in->parts[3] : NULL;
    enum adaps_status status =
        ad_frigate_parse(zmq_msg_data(header), zmq_msg_size(header), request, err);
    if (status != ADAPS_OK || request->kind != AD_FRIGATE_TENSOR)
        return status;
    if (!data)
        return ad_error_set(err, ADAPS_EINPUT, "the request has no tensor");
    return ad_frigate_fill(request, zmq_msg_data(data), zmq_msg_size(data), &s->options.input,
                           &s->input, err);
}

static void answer(struct ad_server *s, struct incoming *in)
{
    struct ad_frigate_request request;
    struct adaps_error why = {0};
    if (in->n < 2 || zmq_msg_size(&in->parts[1]) != 0) { /* no REQ socket: no way to answer it */
        s->counts.refused++;
        tell(s, "a request is refused: it is not of a REQ socket");
        return;
    }
    enum adaps_status status = understand(s, in, &request, &why);
    if (status != ADAPS_OK) {
        ad_error_prefix(&why, "a request is refused: ");
        s->counts.refused++;
        tell(s, why.message);
        send_nothing(s, in, why.message);
    } else if (request.kind == AD_FRIGATE_TENSOR) {
        answer_picture(s, in);
    } else {
        answer_model(s, in, &request);
    }
}

enum adaps_status ad_server_run(struct ad_server *s, struct adaps_error *err)
{
    const struct ad_server_options *o = &s->options;
    for (;;) {
        zmq_pollitem_t items[] = {{.socket = s->socket, .events = ZMQ_POLLIN},
                                  {.fd = o->stop_fd, .events = ZMQ_POLLIN},
                                  {.fd = s->opener.done_fd, .events = ZMQ_POLLIN}};
        struct incoming in;
        if (zmq_poll(items, 3, -1) < 0 && errno != EINTR)
            return ad_error_set(err, ADAPS_EINTERNAL, "ZeroMQ: %s", zmq_strerror(errno));
        if (items[1].revents)
            return ADAPS_OK;
        if (items[2].revents)
            take_session(s);
        if (items[0].revents && receive(s, &in)) {
            answer(s, &in);
            forget(&in);
        }
    }
}
