/* The devices file that adaps profile writes: readable, each number with its origin. */
#include "cli/profile_internal.h"
#include "base/units.h"
#include "cost/board.h"

#include <math.h>
#include <string.h>

static const char *bandwidth_text(double bytes_per_s, char *buf, size_t size)
{
    snprintf(buf, size, "%.4gmbit", bytes_per_s * 8e-6);
    return buf;
}

static const char *time_text(double seconds, char *buf, size_t size)
{
    if (seconds >= 1e-3)
        snprintf(buf, size, "%.4gms", seconds * 1e3);
    else
        snprintf(buf, size, "%.4gus", seconds * 1e6);
    return buf;
}

static void write_conditions(const struct ad_profile_device *p, FILE *out)
{
    const struct ad_agent_status *s = &p->status;
    fprintf(out, "; %smeasured %s in %.0f s: %s, %d cores, %d thread%s, load %.2f",
            p->timed ? "" : "links ", p->when, p->seconds, s->cpu[0] ? s->cpu : "unknown processor",
            s->cores, p->threads, p->threads == 1 ? "" : "s", s->load1);
    if (isfinite(s->frequency_hz))
        fprintf(out, ", %.0f MHz", s->frequency_hz / 1e6);
    if (isfinite(s->temperature_c))
        fprintf(out, ", %.0f C", s->temperature_c);
    fprintf(out, ", %s\n", s->machine);
    if (s->speed < 1 && p->timed)
        fprintf(out, "; the agent emulates %.3g of this machine, measured %.3g: all rates are so\n",
                s->speed, p->speed);
    for (int i = 0; i < p->nmodels; i++) {
        const struct ad_timed_model *m = &p->models[i];
        fprintf(out, "; %.100s: %.4g ms in %d operators; %d passes, half of them within %.1f %%\n",
                m->name, m->pass_s * 1e3, m->ops, m->passes, m->spread * 100);
    }
    if (p->cold_bw > 0)
        fprintf(out, "; cold weights: %.3g GB/s\n", p->cold_bw / 1e9);
    if (p->slice_bytes > 0)
        fprintf(out,
                "; convolutions, in slices that fit half the L2 cache: full rate up to %.3g MiB of "
                "weights\n",
                p->slice_bytes / 1048576);
}

static void write_table(const struct ad_profile_device *p, FILE *out)
{
    const struct ad_cost_table *table = &p->table;
    const char *origin = p->timed ? "measured" : "as told";
    char text[40];
    for (int class = 0; class < AD_COST_CLASSES; class ++) {
        const char *key;
        double rate = ad_board_rate(table, (enum ad_cost_class) class, &key);
        if (p->samples[class] > 0)
            fprintf(out, "%-17s = %.5g ; measured, %d shapes; others within %.0f %%\n", key, rate,
                    p->samples[class], p->residual[class] * 100);
        else
            fprintf(out, "%s%-17s = %.5g ; %s\n", rate > 0 ? "" : "; ", key, rate,
                    p->timed ? "not measured" : origin);
    }
    fprintf(out, "constant          = %s ; %s\n", time_text(table->constant_s, text, sizeof text),
            origin);
    fprintf(out, "memory_bandwidth  = %.4gGB/s ; %s\n", table->memory_bw / 1e9,
            p->copy_bw > 0 ? "measured: copying messages" : origin);
    if (table->feed_rate > 0)
        fprintf(out, "feed              = %.5g ; %s\n", table->feed_rate / 1e6, origin);
    if (table->fetch_rate > 0)
        fprintf(out, "fetch             = %.5g ; %s\n", table->fetch_rate / 1e6, origin);
    if (table->message_s > 0)
        fprintf(out, "message           = %s ; %s\n",
                time_text(table->message_s, text, sizeof text),
                p->message_s > 0 ? "measured" : "as told");
    if (table->message_bw > 0)
        fprintf(out, "message_bandwidth = %.4gGB/s ; %s\n", table->message_bw / 1e9,
                p->byte_s > 0 ? "measured" : "as told");
    for (enum ad_encoding e = AD_ENCODING_F32; e < AD_ENCODINGS; e++) {
        if (table->encoding.encode[e] > 0)
            fprintf(out, "%s_encode        = %.4gGB/s ; %s\n", ad_encoding_name(e),
                    table->encoding.encode[e] / 1e9, origin);
        if (table->encoding.decode[e] > 0)
            fprintf(out, "%s_decode        = %.4gGB/s ; %s\n", ad_encoding_name(e),
                    table->encoding.decode[e] / 1e9, origin);
    }
    if (table->power.idle_mw > 0)
        fprintf(out, "idle_watts        = %g ; as told\n", table->power.idle_mw / 1e3);
    if (table->power.core_mw > 0)
        fprintf(out, "core_watts        = %g ; as told\n", table->power.core_mw / 1e3);
    if (table->power.network_mw > 0)
        fprintf(out, "network_watts     = %g ; as told\n", table->power.network_mw / 1e3);
    if (table->tile > 0)
        fprintf(out, "tile              = %d ; %s\n", table->tile, origin);
}

static void write_device(const struct ad_device *device, const struct ad_profile_device *p,
                         FILE *out)
{
    fprintf(out, "\n[%s]\n", device->name);
    write_conditions(p, out);
    if (device->address[0])
        fprintf(out, "address = %s\n", device->address);
    if (device->key[0])
        fprintf(out, "key     = %s\n", device->key);
    if (device->ssh[0])
        fprintf(out, "ssh     = %s\n", device->ssh);
    if (device->memory)
        fprintf(out, "memory  = %llu\n", (unsigned long long)device->memory);
    fprintf(out, "threads = %d\n", p->threads);
    if (device->source)
        fprintf(out, "source  = yes\n");
    if (!p->timed && device->speed != 1)
        fprintf(out, "speed   = %.9g\n", device->speed);
    write_table(p, out);
}

static void write_shapes(const struct ad_device *device, const struct ad_profile_device *p,
                         FILE *out)
{
    fprintf(out, "\n[shapes %s]\n", device->name);
    for (size_t i = 0; i < ad_shapes_count(p->made); i++) {
        const struct ad_shape_time *t = ad_shapes_item(p->made, i);
        char shape[AD_SHAPE_TEXT], points[200];
        fprintf(out, "%-44s = %s\n", ad_shape_format(&t->shape, shape, sizeof shape),
                ad_shape_format_points(t, points, sizeof points));
    }
}

static void write_link(const char *title, const struct ad_link *there, const struct ad_link *back,
                       const char *origin, FILE *out)
{
    char text[40];
    fprintf(out, "\n%s\n", title);
    fprintf(out, "bandwidth      = %s ; %s\n", bandwidth_text(there->bandwidth, text, sizeof text),
            origin);
    fprintf(out, "latency        = %s ; %s\n", time_text(there->latency, text, sizeof text),
            origin);
    if (!back)
        return;
    fprintf(out, "bandwidth_back = %s ; %s\n", bandwidth_text(back->bandwidth, text, sizeof text),
            origin);
    fprintf(out, "latency_back   = %s ; %s\n", time_text(back->latency, text, sizeof text), origin);
}

static bool same_link(const struct ad_link *a, const struct ad_link *b)
{
    return a->bandwidth == b->bandwidth && a->latency == b->latency;
}

static void write_links(const struct ad_cluster *c, const bool *linked, FILE *out)
{
    if (c->shared_medium)
        fprintf(out, "\n[link]\nmedium = shared\n");
    for (int a = 0; a < c->ndevices; a++)
        for (int b = a + 1; b < c->ndevices; b++) {
            const struct ad_link *there = &c->links[a * c->ndevices + b];
            const struct ad_link *back = &c->links[b * c->ndevices + a];
            const char *origin = linked[a * c->ndevices + b] ? "measured" : "as told, not measured";
            char title[160];
            snprintf(title, sizeof title, "[link %s %s]", c->devices[a].name, c->devices[b].name);
            write_link(title, there, same_link(there, back) ? NULL : back, origin, out);
        }
}

enum adaps_status ad_profile_write(const struct ad_cluster *cluster,
                                   const struct ad_profile_device *devices, const bool *linked,
                                   FILE *out, struct adaps_error *err)
{
    fprintf(out, "; Written by adaps profile %s, %s. See adaps-devices(5).\n", adaps_version(),
            devices[0].when);
    write_links(cluster, linked, out);
    for (int d = 0; d < cluster->ndevices; d++)
        write_device(&cluster->devices[d], &devices[d], out);
    for (int d = 0; d < cluster->ndevices; d++)
        write_shapes(&cluster->devices[d], &devices[d], out);
    if (fflush(out) != 0 || ferror(out))
        return ad_error_set(err, ADAPS_EINTERNAL, "cannot write the devices file");
    return ADAPS_OK;
}
