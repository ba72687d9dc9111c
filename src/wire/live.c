#include "wire/live.h"

#include <stdio.h>
#include <string.h>

const char *ad_live_error_name(enum ad_live_error error)
{
    static const char *const names[AD_LIVE_ERRORS] = {"input", "agent", "internal", "cancelled",
                                                      "given_up"};
    return names[error];
}

const char *ad_live_doing_name(enum ad_live_doing doing)
{
    static const char *const names[] = {"idle", "computing", "moving", "waiting"};
    return names[doing];
}

/* --- writing --- */

static void describe_link(struct ad_live_link_seen *seen, Adaps__Wire__LiveLink *out)
{
    adaps__wire__live_link__init(out);
    out->name = seen->name;
    out->bytes_sent = seen->bytes_sent;
    out->messages_sent = seen->messages_sent;
    out->bytes_received = seen->bytes_received;
    out->messages_received = seen->messages_received;
}

static void describe_plan(struct ad_live_seen *seen, Adaps__Wire__Live *out)
{
    out->plan = seen->plan;
    out->latency_ns = seen->latency_ns;
    out->interval_ns = seen->interval_ns;
    if (seen->plan[0])
        out->digest =
            (ProtobufCBinaryData){.len = sizeof seen->digest.bytes, .data = seen->digest.bytes};
}

void ad_live_describe(struct ad_live_seen *seen, struct ad_live_message *out)
{
    Adaps__Wire__Live *all = &out->all;
    adaps__wire__live__init(all);
    all->clock_ns = seen->now_ns;
    all->begun = seen->begun;
    all->done = seen->done;
    all->n_errors = AD_LIVE_ERRORS;
    all->errors = seen->errors;
    all->sessions = seen->sessions;
    all->compute_ns = seen->compute_ns;
    all->waiting_ns = seen->waiting_ns;
    all->busy = seen->busy;
    all->n_buckets = AD_DURATION_BUCKETS;
    all->buckets = seen->durations.buckets;
    all->sum_ns = seen->durations.sum_ns;
    all->recent = (uint32_t)seen->durations.recent;
    all->p50_ns = seen->durations.p50_ns;
    all->p95_ns = seen->durations.p95_ns;
    all->doing = (uint32_t)seen->doing;
    all->step = seen->step;
    all->steps = seen->steps;
    all->layer = seen->layer;
    all->session_ns = seen->session_ns;
    describe_plan(seen, all);
    describe_link(&seen->controller, &out->controller);
    all->controller = &out->controller;
    for (int i = 0; i < seen->nlinks; i++) {
        describe_link(&seen->links[i], &out->links[i]);
        out->list[i] = &out->links[i];
    }
    all->n_links = (size_t)seen->nlinks;
    all->links = out->list;
}

/* --- reading --- */

static int64_t at_least(int64_t least, int64_t value)
{
    return value > least ? value : least;
}

static void read_link(const Adaps__Wire__LiveLink *message, struct ad_live_link_seen *out)
{
    snprintf(out->name, sizeof out->name, "%s", message->name);
    out->bytes_sent = message->bytes_sent;
    out->messages_sent = message->messages_sent;
    out->bytes_received = message->bytes_received;
    out->messages_received = message->messages_received;
}

static void read_plan(const Adaps__Wire__Live *message, struct ad_live_seen *out)
{
    snprintf(out->plan, sizeof out->plan, "%s", message->plan);
    snprintf(out->layer, sizeof out->layer, "%s", message->layer);
    out->latency_ns = at_least(0, message->latency_ns);
    out->interval_ns = at_least(0, message->interval_ns);
    if (message->digest.len == sizeof out->digest.bytes)
        memcpy(out->digest.bytes, message->digest.data, sizeof out->digest.bytes);
    out->doing =
        message->doing <= AD_LIVE_WAITING ? (enum ad_live_doing)message->doing : AD_LIVE_IDLE;
    out->step = (int)at_least(0, message->step);
    out->steps = (int)at_least(0, message->steps);
}

static void read_durations(const Adaps__Wire__Live *message, struct ad_durations_seen *out)
{
    for (size_t i = 0; i < message->n_buckets && i < AD_DURATION_BUCKETS; i++) {
        out->buckets[i] = message->buckets[i];
        out->count += message->buckets[i];
    }
    out->sum_ns = at_least(0, message->sum_ns);
    out->recent = message->recent <= AD_DURATIONS_RECENT ? (int)message->recent : 0;
    out->p50_ns = at_least(0, message->p50_ns);
    out->p95_ns = at_least(0, message->p95_ns);
}

void ad_live_read(const Adaps__Wire__Live *message, struct ad_live_seen *out)
{
    memset(out, 0, sizeof *out);
    out->now_ns = message->clock_ns;
    out->begun = message->begun;
    out->done = message->done;
    for (size_t i = 0; i < message->n_errors && i < AD_LIVE_ERRORS; i++) {
        out->errors[i] = message->errors[i];
        out->failed += message->errors[i];
    }
    out->sessions = message->sessions;
    out->compute_ns = at_least(0, message->compute_ns);
    out->waiting_ns = at_least(0, message->waiting_ns);
    out->busy = message->busy > 0 && message->busy <= 1 ? message->busy : 0;
    out->session_ns = at_least(-1, message->session_ns);
    read_durations(message, &out->durations);
    read_plan(message, out);
    if (message->controller)
        read_link(message->controller, &out->controller);
    for (size_t i = 0; i < message->n_links && i < AD_LIVE_LINKS; i++)
        read_link(message->links[i], &out->links[out->nlinks++]);
}
