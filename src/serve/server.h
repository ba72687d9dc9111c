/* A server of Frigate's detector: a ROUTER socket, one inference at a time, whatever is asked. */
#ifndef AD_SERVE_SERVER_H
#define AD_SERVE_SERVER_H

#include "serve/frigate.h"
#include "wire/endpoint.h"

/* Where inferences are done. */
struct ad_serve_place {
    /* Opens the session; may take as long as the deadline. Called by a thread of the server after a
     * failure. */
    enum adaps_status (*open)(void *context, struct adaps_error *err);
    /* One inference of an open session: what was found in the input, best first, in pixels of it.
     * The input may be taken over. A failure of ADAPS_EAGENT closes the session. */
    enum adaps_status (*detect)(void *context, struct ad_tensor *input, struct ad_detections *found,
                                struct adaps_error *err);
    void (*close)(void *context);
    void *context;
};

struct ad_server_options {
    const char *endpoint;      /* tcp:// on this machine only, or ipc:// */
    struct ad_letterbox input; /* of the network */
    const char *model; /* the file's name without folders, to be compared; NULL: not known */
    struct ad_serve_place place; /* its session is open */

    int stop_fd; /* readable: the server ends; it is not read */

    /* Gets what there is to say, a line each: refused requests, lost agents. From several threads,
     * one at a time. */
    void (*tell)(void *context, const char *message);
    void *tell_context;
};

/* What was served. */
struct ad_server_counts {
    uint64_t answered, refused,
        failed; /* pictures; requests; pictures that no answer was found for */
};

struct ad_server;

/* Whether an address is of this machine only, tcp:// on loopback or ipc:// and a whole path.
 * ADAPS_EUSAGE: it is not. */
AD_MUST_CHECK enum adaps_status ad_server_check(const char *endpoint, struct adaps_error *err);

/* Binds. ADAPS_EUSAGE as ad_server_check(); ADAPS_EAGENT: it cannot be bound. All is borrowed. */
AD_MUST_CHECK enum adaps_status ad_server_new(const struct ad_server_options *options,
                                              struct ad_server **out, struct adaps_error *err);

/* The address that it listens on: "*" has become a port. */
const char *ad_server_endpoint(const struct ad_server *server);

/* Serves until it shall end. Bad requests and lost agents do not end it. ADAPS_EINTERNAL:
 * the socket fails. */
AD_MUST_CHECK enum adaps_status ad_server_run(struct ad_server *server, struct adaps_error *err);

struct ad_server_counts ad_server_counts(const struct ad_server *server);

/* Leaves the session as it is, open or not. NULL is allowed. */
void ad_server_free(struct ad_server *server);

#endif
