/* The agent's door: its control socket, whom it lets in, its keys. */
#include "base/clock.h"
#include "exec/agent/internal.h"
#include "wire/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEEP_ALIVE_S 2
#define LOOK_NS ((int64_t)2000000000) /* between two looks at the keys' files */
#define EVENTS_AT_ONCE 10000          /* of the monitor, so that messages get their turn */

/* --- opening --- */

/* ZeroMQ cannot stop accepting: without a descriptor it would try again and again. So one is kept
 * for this case: with it the next connection is accepted, and the oldest stranger's ends.
 * (Unbinding would end all connections, those of admitted controllers, too.) */
static void use_spare(struct ad_agent *agent)
{
    if (agent->spare_fd >= 0)
        close(agent->spare_fd);
    agent->spare_fd = -1;
}

static void keep_spare(struct ad_agent *agent)
{
    if (agent->spare_fd < 0)
        agent->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static enum adaps_status bind_door(struct ad_agent *agent, const char *endpoint,
                                   struct adaps_error *err)
{
    enum adaps_status status =
        ad_socket_serve(agent->router.socket, &agent->keys, AD_ZAP_CONTROL, err);
    if (status == ADAPS_OK)
        status = ad_socket_bind(agent->router.socket, endpoint, agent->endpoint, err);
    return status;
}

static enum adaps_status read_keys(struct ad_agent *agent, struct adaps_error *err)
{
    const struct ad_agent_options *options = agent->options;
    enum adaps_status status = ADAPS_OK;
    if (options->key_file) {
        ad_keys_guard(&agent->keys);
        ad_keys_guard(&agent->next_keys);
        agent->keys_state = ad_file_state(options->key_file);
        status = ad_keys_load(options->key_file, &agent->keys, err);
    }
    if (status == ADAPS_OK)
        status = ad_guard_new(agent->name, options->allow_file, &agent->guard, err);
    if (status == ADAPS_OK && options->key_file)
        status = ad_zap_start(agent->context, agent->guard, &agent->zap, err);
    return status;
}

enum adaps_status ad_agent_open_door(struct ad_agent *agent, const struct ad_endpoint *listen,
                                     struct adaps_error *err)
{
    char text[AD_ENDPOINT_BYTES];
    enum adaps_status status = read_keys(agent, err);
    ad_visitors_init(&agent->visitors, agent->guard);
    keep_spare(agent);
    if (status == ADAPS_OK)
        status = ad_socket_new(agent->context, ZMQ_ROUTER, AD_CONTROL_PART_BYTES,
                               &agent->router.socket, err);
    if (status == ADAPS_OK)
        status = ad_socket_answers(agent->router.socket, err);
    if (status == ADAPS_OK)
        status = ad_socket_keep_alive(agent->router.socket, KEEP_ALIVE_S, err);
    if (status == ADAPS_OK)
        status = ad_socket_monitor(agent->context, agent->router.socket, &agent->monitor, err);
    if (status == ADAPS_OK)
        status = bind_door(agent, ad_endpoint_format(listen->host, listen->port, text), err);
    return status;
}

void ad_agent_close_door(struct ad_agent *agent)
{
    ad_socket_close_monitored(agent->router.socket, agent->monitor, 100);
    ad_zap_stop(agent->zap);
    ad_guard_free(agent->guard);
    ad_keys_forget(&agent->keys);
    ad_keys_forget(&agent->next_keys);
    if (agent->spare_fd >= 0)
        close(agent->spare_fd);
}

/* --- who comes and goes --- */

void ad_agent_take_events(struct ad_agent *agent)
{
    uint16_t event;
    uint32_t value;
    for (int i = 0; i < EVENTS_AT_ONCE && ad_monitor_next(agent->monitor, &event, &value); i++) {
        ad_visitors_event(&agent->visitors, event, value);
        if (event == ZMQ_EVENT_ACCEPT_FAILED && (value == EMFILE || value == ENFILE))
            use_spare(agent);
        else if (event == ZMQ_EVENT_ACCEPTED && agent->spare_fd < 0)
            ad_visitors_drop_stranger(&agent->visitors, "no descriptors are left");
        if (event == ZMQ_EVENT_DISCONNECTED) {
            keep_spare(agent);
            ad_agent_lose(agent, (int)value);
        }
    }
}

enum adaps_status ad_agent_admit(struct ad_agent *agent, const struct ad_wire_message *message,
                                 struct adaps_error *err)
{
    static const char why[] = "the key is not on the allow list any more";
    if (ad_guard_admits(agent->guard, message->user)) {
        ad_visitors_know(&agent->visitors, message->fd);
        return ADAPS_OK;
    }
    ad_guard_refused(agent->guard, ad_visitors_address(&agent->visitors, message->fd),
                     message->user, why);
    return ad_error_set(err, ADAPS_EAGENT, "%s", why);
}

/* --- keys that change --- */

/* New keys begin with a session that begins: those under way were agreed on with the old ones. An
 * address is in use for a moment after it was given up. */
static void use_next_keys(struct ad_agent *agent)
{
    char endpoint[sizeof agent->endpoint];
    struct adaps_error err;
    bool wanted = agent->next_keys.present || agent->door_shut;
    if (!wanted || agent->session.open || !ad_worker_idle(&agent->worker))
        return;
    if (agent->next_keys.present)
        agent->keys = agent->next_keys;
    sodium_memzero(&agent->next_keys, sizeof agent->next_keys);
    snprintf(endpoint, sizeof endpoint, "%s", agent->endpoint);
    ad_visitors_drop_all(&agent->visitors);
    if (!agent->door_shut)
        zmq_unbind(agent->router.socket, endpoint);
    agent->door_shut = bind_door(agent, endpoint, &err) != ADAPS_OK;
    if (agent->door_shut) {
        fprintf(stderr, "%s: with new keys: %s; this is tried again\n", agent->name, err.message);
        snprintf(agent->endpoint, sizeof agent->endpoint, "%s", endpoint);
        return;
    }
    ad_announce_key(agent->announcement, agent->keys.public);
    fprintf(stderr, "%s: %s was read again: the public key is now %s\n", agent->name,
            agent->options->key_file, agent->keys.public);
}

static void look_at_key_file(struct ad_agent *agent)
{
    struct ad_keys keys = {0};
    struct adaps_error err;
    struct ad_file_state state = ad_file_state(agent->options->key_file);
    if (ad_file_same(&state, &agent->keys_state))
        return;
    agent->keys_state = state;
    if (ad_keys_load(agent->options->key_file, &keys, &err) != ADAPS_OK)
        fprintf(stderr, "%s: %s; the keys stay as they were\n", agent->name, err.message);
    else if (strcmp(keys.secret, agent->keys.secret) != 0)
        agent->next_keys = keys;
    else
        sodium_memzero(&agent->next_keys, sizeof agent->next_keys);
    sodium_memzero(&keys, sizeof keys);
}

void ad_agent_look_at_keys(struct ad_agent *agent)
{
    if (!agent->options->key_file)
        return;
    agent->look_ns = ad_clock_ns() + LOOK_NS;
    ad_guard_count(agent->guard); /* reads the allow list if it has changed */
    if (agent->session.open && !ad_guard_admits(agent->guard, agent->session.user))
        ad_agent_end_session(agent, "its controller's key is not on the allow list any more");
    look_at_key_file(agent);
    use_next_keys(agent);
}

int64_t ad_agent_watch_keys(struct ad_agent *agent, int64_t now)
{
    if (!agent->options->key_file)
        return INT64_MAX;
    if (now >= agent->look_ns)
        ad_agent_look_at_keys(agent);
    return agent->look_ns;
}
