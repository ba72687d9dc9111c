/* The head of the page: what the plan is, what it is predicted to take, and what each device has of
 * it. Numbers carry the keys of adaps show --json. */
#include "base/units.h"
#include "report/page/internal.h"
#include "report/stream.h"
#include "report/text.h"

#include <inttypes.h>

static void begin_fact(FILE *out, const char *name)
{
    fprintf(out, "<div><dt>%s</dt><dd>", name);
}

static void end_fact(FILE *out)
{
    fputs("</dd></div>\n", out);
}

static void put_ms(FILE *out, const char *key, int64_t ns)
{
    char text[32];
    ad_page_number(out, key, (double)ns / 1e6, ad_format_ns((double)ns, text, sizeof text));
}

static void put_count(FILE *out, const char *key, int64_t count)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, count);
    ad_page_number(out, key, (double)count, text);
}

static void put_bytes(FILE *out, const char *key, int64_t bytes)
{
    char text[32];
    ad_page_number(out, key, (double)bytes, ad_format_bytes((double)bytes, text, sizeof text));
}

/* Several inferences are in flight. */
static bool is_stream(const struct adaps_plan *plan)
{
    return plan->stream.interval_ns > 0 && (plan->stream.frames > 1 || plan->stream.nturns > 1);
}

static void stream_facts(const struct adaps_plan *plan, FILE *out)
{
    const struct ad_stream *stream = &plan->stream;
    double rate = 1e9 / (double)stream->interval_ns;
    char text[32];
    begin_fact(out, "predicted rate");
    snprintf(text, sizeof text, "%.4g", rate);
    ad_page_number(out, "throughput_per_s", rate, text);
    fputs(" answers a second, one every ", out);
    put_ms(out, "interval_ms", stream->interval_ns);
    end_fact(out);
    begin_fact(out, "in flight");
    put_count(out, "frames_in_flight", stream->frames);
    fputs(" inferences, each answered after ", out);
    put_ms(out, "stream_latency_ms", stream->latency_ns);
    end_fact(out);
}

static void single_fact(const struct adaps_plan *plan, FILE *out)
{
    begin_fact(out, "best single device");
    if (plan->single_device < 0) {
        fputs("none has the memory", out);
    } else {
        put_ms(out, "single_ms", plan->single_ns);
        fputs(" on <bdi>", out);
        ad_page_name(out, plan->cluster.devices[plan->single_device].name);
        fputs("</bdi>", out);
        if (plan->schedule.makespan_ns > 0)
            fprintf(out, ": %.2f times the plan's latency",
                    (double)plan->single_ns / (double)plan->schedule.makespan_ns);
    }
    end_fact(out);
}

static void moved_fact(const struct adaps_plan *plan, FILE *out)
{
    begin_fact(out, "moved per inference");
    put_bytes(out, "bytes", plan->schedule.bytes);
    fputs(" in ", out);
    put_count(out, "messages", plan->schedule.messages);
    fputs(" messages", out);
    end_fact(out);
}

static void devices_fact(const struct adaps_plan *plan, FILE *out)
{
    int used = 0;
    for (int d = 0; d < plan->cluster.ndevices; d++)
        for (int t = 0; t < plan->stream.nturns; t++)
            if (ad_plan_turn(plan, t)->programs[d].ntasks > 0) {
                used++;
                break;
            }
    begin_fact(out, "devices");
    fprintf(out, "%d of %d compute", used, plan->cluster.ndevices);
    end_fact(out);
}

static void put_facts(const struct adaps_plan *plan, const struct ad_energy_figures *energy,
                      FILE *out)
{
    char text[32];
    fputs("<dl class=\"facts\">\n", out);
    begin_fact(out, "strategy");
    ad_page_name(out, plan->strategy);
    fprintf(out, ", %s", is_stream(plan) ? "for a stream" : "one inference at a time");
    end_fact(out);
    begin_fact(out, is_stream(plan) ? "latency of one alone" : "predicted latency");
    put_ms(out, "predicted_ms", plan->schedule.makespan_ns);
    end_fact(out);
    if (is_stream(plan))
        stream_facts(plan, out);
    single_fact(plan, out);
    if (plan->lower_bound_ns > 0) {
        begin_fact(out, "lower bound");
        put_ms(out, "lower_bound_ms", plan->lower_bound_ns);
        fputs(": no plan answers sooner", out);
        end_fact(out);
    }
    if (plan->stream.nturns == 1)
        moved_fact(plan, out);
    if (energy->all_pj >= 0) {
        begin_fact(out, "energy");
        ad_page_number(out, "energy_j", (double)energy->all_pj / 1e12,
                       ad_format_pj((double)energy->all_pj, text, sizeof text));
        fputs(" per inference", out);
        end_fact(out);
    }
    devices_fact(plan, out);
    if (ad_plan_lossy(plan)) {
        begin_fact(out, "answer");
        fputs("rounded on the way, not that of one device alone", out);
        end_fact(out);
    }
    if (plan->note[0]) {
        begin_fact(out, "why");
        ad_text_xml(out, plan->note);
        end_fact(out);
    }
    fputs("</dl>\n", out);
}

/* Begins a cell; the title is shown beside it where the screen is too narrow for a table. */
static void begin_cell(FILE *out, const char *title)
{
    fprintf(out, "<td data-th=\"%s\">", title);
}

/* "devices.2.busy_ms" */
static const char *key_of(char key[64], int device, const char *name)
{
    snprintf(key, 64, "devices.%d.%s", device, name);
    return key;
}

static void put_busy(const struct adaps_plan *plan, int d, FILE *out)
{
    int64_t of = is_stream(plan) ? plan->stream.interval_ns : plan->schedule.makespan_ns;
    char key[64];
    begin_cell(out, "busy");
    put_ms(out, key_of(key, d, "busy_ms"), plan->schedule.busy_ns[d]);
    if (of > 0)
        fprintf(out, " <small>%.0f %%</small>",
                100 * (double)plan->schedule.busy_ns[d] / (double)of);
    fputs("</td>", out);
}

static void put_memory(const struct adaps_plan *plan, int d, FILE *out)
{
    char key[64];
    begin_cell(out, "memory");
    put_bytes(out, key_of(key, d, "memory_bytes"), plan->schedule.memory[d]);
    if (plan->cluster.devices[d].memory > 0) {
        fputs(" <small>of ", out);
        put_bytes(out, key_of(key, d, "memory_limit_bytes"),
                  (int64_t)plan->cluster.devices[d].memory);
        fputs("</small>", out);
    }
    fputs("</td>", out);
}

/* What a device does in an inference. Of several turns there is no such number. */
static void put_work(const struct adaps_plan *plan, const struct ad_device_figures *own, int d,
                     FILE *out)
{
    char key[64], text[32];
    begin_cell(out, "MACs");
    snprintf(text, sizeof text, "%.1f %%", own->share * 100);
    ad_page_number(out, key_of(key, d, "share"), own->share, text);
    fputs("</td>", out);
    put_busy(plan, d, out);
    begin_cell(out, "sends");
    put_bytes(out, key_of(key, d, "sent_bytes"), own->sent_bytes);
    fputs("</td>", out);
    begin_cell(out, "receives");
    put_bytes(out, key_of(key, d, "received_bytes"), own->received_bytes);
    fputs("</td>", out);
}

static void put_device(const struct adaps_plan *plan, const struct ad_figures *figures,
                       const struct ad_energy_figures *energy, int d, FILE *out)
{
    const struct ad_device *device = &plan->cluster.devices[d];
    char key[64], text[32];
    fprintf(out, "<tr data-d=\"%d\"><th scope=\"row\">", d);
    ad_page_badge(out, d);
    fputs("<bdi>", out);
    ad_page_name(out, device->name);
    fprintf(out, "</bdi>%s</th>", d == plan->cluster.source ? " *" : "");
    begin_cell(out, "board");
    ad_page_name(out, device->board[0] ? device->board : "-");
    fputs("</td>", out);
    begin_cell(out, "speed");
    snprintf(text, sizeof text, "%.4g", device->speed);
    ad_page_number(out, key_of(key, d, "speed"), device->speed, text);
    fputs(" <small>&times;", out);
    put_count(out, key_of(key, d, "threads"), device->threads);
    fputs("</small></td>", out);
    put_memory(plan, d, out);
    if (plan->stream.nturns == 1)
        put_work(plan, &figures->devices[d], d, out);
    if (energy->all_pj >= 0) {
        begin_cell(out, "energy");
        ad_page_number(out, key_of(key, d, "energy_j"), (double)energy->device_pj[d] / 1e12,
                       ad_format_pj((double)energy->device_pj[d], text, sizeof text));
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

static void put_devices(const struct adaps_plan *plan, const struct ad_figures *figures,
                        const struct ad_energy_figures *energy, FILE *out)
{
    double shares = 0;
    fprintf(out,
            "<table class=\"devices\"><thead><tr><th>device</th><th>board</th><th>speed "
            "&times;threads</th><th>memory</th>%s%s</tr></thead><tbody>\n",
            plan->stream.nturns == 1 ? "<th>MACs</th><th>busy</th><th>sends</th><th>receives</th>"
                                     : "",
            energy->all_pj >= 0 ? "<th>energy</th>" : "");
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        put_device(plan, figures, energy, d, out);
        shares += figures->devices[d].share;
    }
    fputs("</tbody></table>\n<p class=\"note\">* the source: the input starts and the result ends "
          "there.",
          out);
    if (plan->stream.nturns == 1 && shares > 1.0005)
        fprintf(out, " Recomputed halos add %.1f %% to the network's MACs.", (shares - 1) * 100);
    fputs("</p>\n", out);
}

enum adaps_status ad_page_summary(const struct adaps_plan *plan, FILE *out, struct adaps_error *err)
{
    struct ad_figures figures;
    struct ad_energy_figures energy;
    enum adaps_status status = ad_plan_energy(plan, &energy, err);
    if (status == ADAPS_OK)
        status = ad_figures_init(&figures, plan, err);
    if (status != ADAPS_OK)
        return status;
    put_facts(plan, &energy, out);
    put_devices(plan, &figures, &energy, out);
    ad_figures_fini(&figures);
    return ADAPS_OK;
}
