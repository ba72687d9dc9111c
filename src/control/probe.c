#include "control/probe.h"
#include "control/session_internal.h"
#include "control/turn.h"

#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <string.h>

/* No time is longer, by far: a devices file takes times up to 1000 s. */
#define LONGEST_S 1000.0
#define FASTEST_BW 1e15 /* bytes/s */

struct ad_probe {
    void *context;
    struct ad_remote remote;
    int64_t deadline_ns;
    struct ad_session_options options; /* how to wait */
};

enum adaps_status ad_probe_open(const struct ad_device *device,
                                const struct ad_session_options *options, struct ad_probe **out,
                                struct ad_agent_status *status, struct adaps_error *err)
{
    struct ad_keys keys;
    struct ad_deadline deadline;
    Adaps__Wire__Welcome *welcome = NULL;
    enum adaps_status result = ad_keys_find(options->key_file, &keys, err);
    if (result == ADAPS_OK && sodium_init() < 0)
        result = ad_error_set(err, ADAPS_EINTERNAL, "libsodium does not start");
    if (result != ADAPS_OK)
        return result;
    struct ad_probe *probe = ad_calloc(1, sizeof *probe);
    result = probe ? ad_remote_context(&probe->context, err)
                   : ad_error_memory(err, "probe", sizeof *probe);
    if (result != ADAPS_OK) {
        ad_keys_forget(&keys);
        ad_free(probe);
        return result;
    }
    probe->deadline_ns = ad_deadline_ns(options->deadline_s);
    probe->options = *options;
    ad_deadline_set(&deadline, probe->deadline_ns);
    const struct ad_remote_options wanted = {.context = probe->context, .keys = &keys};
    result = ad_remote_init(&probe->remote, 0, device, &wanted, &deadline, err);
    if (result == ADAPS_OK)
        result = ad_remote_greet(&probe->remote, device, &wanted, &deadline, &welcome, err);
    ad_keys_forget(&keys); /* the sockets have them */
    if (result != ADAPS_OK) {
        ad_probe_close(probe);
        return result;
    }
    memset(status, 0, sizeof *status);
    ad_remote_status(welcome, status);
    ad_protobuf_free(&welcome->base);
    *out = probe;
    return ADAPS_OK;
}

void ad_probe_close(struct ad_probe *probe)
{
    if (!probe)
        return;
    ad_remote_fini(&probe->remote);
    zmq_ctx_term(probe->context);
    ad_free(probe);
}

static enum adaps_status send_profile(struct ad_probe *probe, const struct ad_graph *graph,
                                      const struct ad_task *tasks, int ntasks, int threads,
                                      double budget_s, struct adaps_error *err)
{
    Adaps__Wire__Profile m = ADAPS__WIRE__PROFILE__INIT;
    size_t n = (size_t)ntasks;
    Adaps__Wire__Part *parts = ad_calloc(n, sizeof *parts);
    m.parts = ad_calloc(n, sizeof *m.parts);
    void *bytes = NULL;
    size_t size = 0;
    enum adaps_status status = parts && m.parts
                                   ? ad_plan_pack_graph(graph, &bytes, &size, err)
                                   : ad_error_memory(err, "profile", n * sizeof *parts);
    for (size_t i = 0; i < n && status == ADAPS_OK; i++) {
        const struct ad_region *r = &tasks[i].region;
        adaps__wire__part__init(&parts[i]);
        parts[i].op = tasks[i].op;
        parts[i].h0 = r->h0, parts[i].h1 = r->h1;
        parts[i].w0 = r->w0, parts[i].w1 = r->w1;
        parts[i].c0 = r->c0, parts[i].c1 = r->c1;
        m.parts[i] = &parts[i];
    }
    if (status == ADAPS_OK) {
        m.n_parts = n;
        m.graph.data = bytes;
        m.graph.len = size;
        m.budget_ms = (uint32_t)(budget_s * 1e3);
        m.threads = (uint32_t)threads;
        m.wait = probe->options.wait_s > 0;
        do
            randombytes_buf(&probe->remote.session, sizeof probe->remote.session);
        while (probe->remote.session == 0);
        status = ad_remote_send(&probe->remote, AD_FRAME_PROFILE, 0, &m.base, NULL, 0, err);
    }
    ad_free(bytes);
    ad_free(parts);
    ad_free(m.parts);
    return status;
}

/* Whether seconds can be what an agent has measured. */
static bool plausible(double seconds)
{
    return seconds >= 0 && seconds <= LONGEST_S; /* no NaN either */
}

/* Rates of the encodings that both know. */
static enum adaps_status take_rates(const double *from, size_t n, double *to,
                                    struct adaps_error *err)
{
    for (size_t i = 0; i < n && i < AD_ENCODINGS; i++) {
        if (!(from[i] >= 0 && from[i] <= FASTEST_BW))
            return ad_error_set(err, ADAPS_EAGENT, "it answered that it encodes %g bytes/s",
                                from[i]);
        to[i] = from[i];
    }
    return ADAPS_OK;
}

enum adaps_status ad_probe_take(const Adaps__Wire__Profiled *m, int ntasks, double *seconds,
                                struct ad_probe_times *out, struct adaps_error *err)
{
    if (m->n_seconds != (size_t)ntasks)
        return ad_error_set(err, ADAPS_EAGENT, "it answered %zu times for %d tasks", m->n_seconds,
                            ntasks);
    for (size_t i = 0; i < m->n_seconds; i++) {
        if (!plausible(m->seconds[i]))
            return ad_error_set(err, ADAPS_EAGENT, "it answered that task %zu takes %g s", i,
                                m->seconds[i]);
        seconds[i] = m->seconds[i];
    }
    if (m->passes < 1 || m->passes > INT32_MAX || !(m->speed > 0 && m->speed <= 1) ||
        !plausible(m->pass_s) || !plausible(m->feed_s) || !plausible(m->fetch_s) ||
        !plausible(m->spread))
        return ad_error_set(err, ADAPS_EAGENT,
                            "it answered with times that are none: %" PRIu32
                            " passes of %g s (+ %g), speed %g, inputs %g s, outputs %g s",
                            m->passes, m->pass_s, m->spread, m->speed, m->feed_s, m->fetch_s);
    *out = (struct ad_probe_times){.passes = (int)m->passes,
                                   .pass_s = m->pass_s,
                                   .spread = m->spread,
                                   .speed = m->speed,
                                   .feed_s = m->feed_s,
                                   .fetch_s = m->fetch_s,
                                   .bytes = m->bytes};
    enum adaps_status status = take_rates(m->encode, m->n_encode, out->encoding.encode, err);
    return status == ADAPS_OK ? take_rates(m->decode, m->n_decode, out->encoding.decode, err)
                              : status;
}

static enum adaps_status take_times(struct ad_probe *probe, int ntasks, double *seconds,
                                    struct ad_probe_times *out, struct adaps_error *err)
{
    ProtobufCMessage *body;
    enum adaps_status status = ad_wire_message_body(&probe->remote.message,
                                                    &adaps__wire__profiled__descriptor, &body, err);
    if (status == ADAPS_OK) {
        status = ad_probe_take((const Adaps__Wire__Profiled *)body, ntasks, seconds, out, err);
        ad_protobuf_free(body);
    }
    return status == ADAPS_OK ? status : ad_remote_blame(&probe->remote, err);
}

enum adaps_status ad_probe_run(struct ad_probe *probe, const struct ad_graph *graph,
                               const struct ad_task *tasks, int ntasks, int threads,
                               double budget_s, double *seconds, struct ad_probe_times *out,
                               struct adaps_error *err)
{
    struct ad_turn_wait turn = {.options = &probe->options};
    struct ad_deadline deadline;
    struct adaps_error why;
    enum adaps_status status;
    budget_s = fmin(fmax(budget_s, 0), AD_PROFILE_MAX_S);
    do {
        ad_deadline_set(&deadline, (int64_t)(budget_s * 1e9) + probe->deadline_ns);
        status = send_profile(probe, graph, tasks, ntasks, threads, budget_s, &why);
        if (status == ADAPS_OK)
            status =
                ad_remote_await(&probe->remote, AD_FRAME_PROFILED, &deadline, AD_WAIT_ANSWER, &why);
        if (status == ADAPS_OK)
            return take_times(probe, ntasks, seconds, out, err);
        status = ad_turn_wait(&turn, &probe->remote, &probe->remote, 1, &why);
    } while (status == ADAPS_OK);
    if (err)
        *err = why;
    return status;
}
