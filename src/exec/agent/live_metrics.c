/* An agent's metrics. The names are in adaps-agent(8). */
#include "base/health.h"
#include "base/machine.h"
#include "exec/agent/live.h"
#include "metrics/process.h"

#include <math.h>

#define S(ns) ((double)(ns) / 1e9)

static void write_inferences(const struct ad_live_seen *live, struct ad_exposition *out)
{
    ad_exposition_single(out, "adaps_inferences_begun", AD_METRIC_COUNTER,
                         "Inferences that this device began its part of.", (double)live->begun);
    ad_exposition_single(out, "adaps_inferences", AD_METRIC_COUNTER,
                         "Inferences that this device did its part of.", (double)live->done);
    ad_exposition_family(out, "adaps_inference_errors", AD_METRIC_COUNTER,
                         "Inferences that failed, by kind of error.");
    for (int i = 0; i < AD_LIVE_ERRORS; i++) {
        const char *const labels[] = {"kind", ad_live_error_name((enum ad_live_error)i), NULL};
        ad_exposition_number(out, labels, (double)live->errors[i]);
    }
    ad_exposition_family(out, "adaps_inference_duration_seconds", AD_METRIC_HISTOGRAM,
                         "From inputs to outputs, of inferences of which this device is the "
                         "source.");
    ad_exposition_durations(out, &live->durations);
}

static void write_device(const struct ad_live_seen *live, const struct ad_machine *machine,
                         const struct ad_health *health, struct ad_exposition *out)
{
    ad_exposition_single(out, "adaps_device_compute_seconds", AD_METRIC_COUNTER,
                         "Time spent computing.", S(live->compute_ns));
    ad_exposition_single(out, "adaps_device_waiting_seconds", AD_METRIC_COUNTER,
                         "Time spent waiting for messages with an inference under way.",
                         S(live->waiting_ns));
    ad_exposition_single(out, "adaps_device_busy_ratio", AD_METRIC_GAUGE,
                         "Share of the latest ten seconds that was spent computing.", live->busy);
    ad_exposition_single(out, "adaps_device_load", AD_METRIC_GAUGE,
                         "Average over a minute of the processes that want to run.",
                         machine->load1);
    if (!isnan(machine->temperature_c))
        ad_exposition_single(out, "adaps_device_temperature_celsius", AD_METRIC_GAUGE,
                             "Temperature of the hottest part.", machine->temperature_c);
    if (!isnan(machine->frequency_hz))
        ad_exposition_single(out, "adaps_device_frequency_hertz", AD_METRIC_GAUGE,
                             "Clock of the first core.", machine->frequency_hz);
    if (health->power_known)
        ad_exposition_single(out, "adaps_device_throttled", AD_METRIC_GAUGE,
                             "Whether the board slows itself down, because of heat or voltage.",
                             (health->throttled & AD_THROTTLED) != 0);
    ad_exposition_family(out, "adaps_memory_bytes", AD_METRIC_GAUGE,
                         "Memory of the machine, or what control groups leave of it.");
    const char *const all[] = {"kind", "total", NULL}, *const free[] = {"kind", "available", NULL};
    ad_exposition_number(out, all, (double)machine->memory_total);
    ad_exposition_number(out, free, (double)machine->memory_available);
    ad_exposition_single(out, "adaps_cache_bytes", AD_METRIC_GAUGE,
                         "Weights and plans on the disk.", (double)live->cache_bytes);
}

static void write_plan(const struct ad_live_seen *live, struct ad_exposition *out)
{
    char digest[AD_DIGEST_HEX];
    ad_exposition_single(out, "adaps_sessions", AD_METRIC_COUNTER,
                         "Sessions that controllers opened, measurements included.",
                         (double)live->sessions);
    ad_exposition_single(out, "adaps_session_open", AD_METRIC_GAUGE, "Whether there is a session.",
                         live->session_ns >= 0);
    if (!live->plan[0])
        return;
    ad_digest_hex(&live->digest, digest);
    const char *const labels[] = {"model", live->plan, "digest", digest, NULL};
    ad_exposition_family(out, "adaps_plan", AD_METRIC_INFO, "The plan that is loaded.");
    ad_exposition_number(out, labels, 1);
    if (live->latency_ns > 0)
        ad_exposition_single(out, "adaps_predicted_latency_seconds", AD_METRIC_GAUGE,
                             "What the plan says an inference takes.", S(live->latency_ns));
    if (live->interval_ns > 0)
        ad_exposition_single(out, "adaps_predicted_interval_seconds", AD_METRIC_GAUGE,
                             "What the plan says lies between two answers of a stream.",
                             S(live->interval_ns));
}

enum link_number { SENT_BYTES, RECEIVED_BYTES, SENT_MESSAGES, RECEIVED_MESSAGES };

static double link_number(const struct ad_live_link_seen *link, enum link_number which)
{
    switch (which) {
    case SENT_BYTES:
        return (double)link->bytes_sent;
    case RECEIVED_BYTES:
        return (double)link->bytes_received;
    case SENT_MESSAGES:
        return (double)link->messages_sent;
    case RECEIVED_MESSAGES:
        break;
    }
    return (double)link->messages_received;
}

static void write_links(const struct ad_live_seen *live, struct ad_exposition *out)
{
    static const struct {
        const char *name, *help, *controller_name, *controller_help;
    } families[] = {
        {"adaps_link_transmit_bytes", "Payload sent to peers.", "adaps_controller_transmit_bytes",
         "Payload sent to controllers."},
        {"adaps_link_receive_bytes", "Payload received from peers.",
         "adaps_controller_receive_bytes", "Payload received from controllers."},
        {"adaps_link_transmit_messages", "Messages sent to peers.",
         "adaps_controller_transmit_messages", "Messages sent to controllers."},
        {"adaps_link_receive_messages", "Messages received from peers.",
         "adaps_controller_receive_messages", "Messages received from controllers."},
    };
    for (int f = 0; f < 4; f++) {
        enum link_number which = (enum link_number)f;
        ad_exposition_family(out, families[f].name, AD_METRIC_COUNTER, families[f].help);
        for (int i = 0; i < live->nlinks; i++) {
            const char *const labels[] = {"peer", live->links[i].name, NULL};
            ad_exposition_number(out, labels, link_number(&live->links[i], which));
        }
        ad_exposition_single(out, families[f].controller_name, AD_METRIC_COUNTER,
                             families[f].controller_help, link_number(&live->controller, which));
    }
}

void ad_live_write(struct ad_live *live, const char *name, const char *root,
                   struct ad_exposition *out)
{
    struct ad_machine machine;
    struct ad_health health;
    struct ad_live_seen seen;
    ad_machine_look_below(root, &machine);
    ad_health_look(root, &health);
    ad_live_look(live, &seen);
    ad_exposition_process(out, machine.kind, name);
    write_inferences(&seen, out);
    write_device(&seen, &machine, &health, out);
    write_plan(&seen, out);
    write_links(&seen, out);
}
