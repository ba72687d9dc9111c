#include "wire/resolve.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* A question to the resolver, which can't be interrupted: its thread goes on after a wait that was
 * given up, and the last of the two frees this. */
struct question {
    atomic_int references;
    int done_fd;
    int failed; /* as of getaddrinfo() */
    char host[256];
    char address[INET_ADDRSTRLEN]; /* the answer */
};

static void unref(struct question *question)
{
    if (atomic_fetch_sub(&question->references, 1) != 1)
        return;
    close(question->done_fd);
    ad_free(question);
}

static void *ask(void *self)
{
    struct question *question = self;
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
    question->failed = getaddrinfo(question->host, NULL, &hints, &found);
    if (question->failed == 0)
        question->failed = getnameinfo(found->ai_addr, found->ai_addrlen, question->address,
                                       sizeof question->address, NULL, 0, NI_NUMERICHOST);
    if (found)
        freeaddrinfo(found);
    eventfd_write(question->done_fd, 1);
    unref(question);
    return NULL;
}

static enum adaps_status start(const char *host, struct question **out, struct adaps_error *err)
{
    pthread_t thread;
    struct question *question = ad_calloc(1, sizeof *question);
    if (!question)
        return ad_error_memory(err, "name", sizeof *question);
    atomic_init(&question->references, 2);
    snprintf(question->host, sizeof question->host, "%s", host);
    question->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int reason = question->done_fd < 0 ? errno : pthread_create(&thread, NULL, ask, question);
    if (reason != 0) {
        if (question->done_fd >= 0)
            close(question->done_fd);
        ad_free(question);
        return ad_error_set(err, ADAPS_EINTERNAL, "cannot start a thread: %s", strerror(reason));
    }
    pthread_detach(thread);
    *out = question;
    return ADAPS_OK;
}

static enum adaps_status await(const char *host, struct ad_deadline *deadline,
                               const atomic_int *cancel, char *address, size_t size,
                               struct adaps_error *err)
{
    struct question *question = NULL;
    enum adaps_status status = start(host, &question, err);
    if (status != ADAPS_OK)
        return status;
    struct pollfd done = {.fd = question->done_fd, .events = POLLIN};
    while (poll(&done, 1, ad_deadline_sleep_ms(deadline)) <= 0 &&
           ad_deadline_left(deadline, NULL) > 0 && !(cancel && *cancel))
        continue;
    if (!(done.revents & POLLIN))
        status = ad_error_set(err, ADAPS_EAGENT,
                              "no name server told the address of '%s' within the deadline", host);
    else if (question->failed)
        status = ad_error_set(err, ADAPS_EAGENT, "the address of '%s' is not known: %s", host,
                              gai_strerror(question->failed));
    else
        snprintf(address, size, "%s", question->address);
    unref(question);
    return status;
}

/* Whether a host is written as an address. */
static bool is_address(const char *host)
{
    struct in_addr four;
    return host[0] == '[' || inet_pton(AF_INET, host, &four) == 1;
}

enum adaps_status ad_endpoint_resolve(const char *text, struct ad_deadline *deadline,
                                      const atomic_int *cancel, char out[AD_ENDPOINT_BYTES],
                                      struct adaps_error *err)
{
    struct ad_endpoint endpoint;
    char address[INET_ADDRSTRLEN];
    const char *proxy = getenv("ADAPS_SOCKS_PROXY");
    enum adaps_status status = ad_endpoint_parse(text, &endpoint, err);
    if (status != ADAPS_OK)
        return status;
    if (is_address(endpoint.host) || (proxy && *proxy)) {
        snprintf(out, AD_ENDPOINT_BYTES, "%s", text);
        return ADAPS_OK;
    }
    status = await(endpoint.host, deadline, cancel, address, sizeof address, err);
    if (status == ADAPS_OK)
        ad_endpoint_format(address, endpoint.port, out);
    return status;
}
