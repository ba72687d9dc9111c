#include "cli/live_json.h"
#include "report/json.h"

static json_t *link_json(const struct ad_live_link_seen *link)
{
    return json_pack("{s:o, s:I, s:I, s:I, s:I}", "peer", ad_report_json_text(link->name),
                     "bytes_sent", (json_int_t)link->bytes_sent, "messages_sent",
                     (json_int_t)link->messages_sent, "bytes_received",
                     (json_int_t)link->bytes_received, "messages_received",
                     (json_int_t)link->messages_received);
}

static json_t *ms_or_null(int64_t ns, bool known)
{
    return known ? json_real((double)ns / 1e6) : json_null();
}

static json_t *plan_json(const struct ad_live_seen *live)
{
    char digest[AD_DIGEST_HEX];
    if (!live->plan[0])
        return json_null();
    ad_digest_hex(&live->digest, digest);
    return json_pack("{s:o, s:s, s:o, s:o}", "model", ad_report_json_text(live->plan), "digest",
                     digest, "latency_ms", ms_or_null(live->latency_ns, live->latency_ns > 0),
                     "interval_ms", ms_or_null(live->interval_ns, live->interval_ns > 0));
}

/* How long inferences took at the source. */
static json_t *durations_json(const struct ad_durations_seen *d)
{
    json_t *buckets = json_array();
    for (int i = 0; i < AD_DURATION_BUCKETS; i++)
        buckets = ad_report_json_append(buckets, json_integer((json_int_t)d->buckets[i]));
    return json_pack("{s:I, s:f, s:i, s:o, s:o, s:o}", "count", (json_int_t)d->count, "sum_ms",
                     (double)d->sum_ns / 1e6, "recent", d->recent, "p50_ms",
                     ms_or_null(d->p50_ns, d->recent > 0), "p95_ms",
                     ms_or_null(d->p95_ns, d->recent > 0), "buckets", buckets);
}

json_t *ad_cli_live_json(const struct ad_agent_status *a)
{
    const struct ad_live_seen *live = &a->live;
    if (!a->tells)
        return json_null();
    json_t *errors = json_object(), *links = json_array();
    for (int i = 0; i < AD_LIVE_ERRORS; i++)
        json_object_set_new(errors, ad_live_error_name((enum ad_live_error)i),
                            json_integer((json_int_t)live->errors[i]));
    for (int i = 0; i < live->nlinks; i++)
        links = ad_report_json_append(links, link_json(&live->links[i]));
    return json_pack(
        "{s:I, s:I, s:I, s:o, s:I, s:o, s:f, s:f, s:f, s:s, s:i, s:i, s:o, s:o, s:o, "
        "s:o, s:o}",
        "begun", (json_int_t)live->begun, "done", (json_int_t)live->done, "failed",
        (json_int_t)live->failed, "errors", errors, "sessions", (json_int_t)live->sessions,
        "session_s", live->session_ns < 0 ? json_null() : json_real((double)live->session_ns / 1e9),
        "compute_s", (double)live->compute_ns / 1e9, "waiting_s", (double)live->waiting_ns / 1e9,
        "busy", live->busy, "doing", ad_live_doing_name(live->doing), "step", live->step, "steps",
        live->steps, "layer", live->layer[0] ? ad_report_json_text(live->layer) : json_null(),
        "plan", plan_json(live), "durations", durations_json(&live->durations), "controller",
        link_json(&live->controller), "links", links);
}
