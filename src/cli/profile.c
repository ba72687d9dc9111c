/* adaps profile: measures the devices and links of a cluster, and writes a devices file. */
#include "base/clock.h"
#include "base/stats.h"
#include "base/units.h"
#include "cli/devices.h"
#include "cli/dim_option.h"
#include "cli/profile_internal.h"
#include "cli/progress.h"
#include "cli/run_options.h"
#include "cost/board.h"
#include "base/machine.h"
#include "pipeline.h"
#include "report/json.h"
#include "report/text.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_MODELS 64
#define DEFAULT_BUDGET_S 40
#define FEW_PASSES 3 /* of a network: its first run is with cold caches */
#define LEAST_BUDGET_S 0.2
#define MOST_BUDGET_S 600
#define TURNS 8           /* of each device */
#define SAMPLES_SHARE 0.8 /* of the samples' time; the rest is for what is measured once */
#define SAMPLES_MOST_S 24 /* more time does not make the samples better, */
#define MODEL_MOST_S 12   /* nor the operators of a network, */
#define LINK_MOST_S 2     /* nor a pair of links, */
#define MESSAGES_MOST_S 8 /* nor what messages take of the processors */

/* --quick: all devices at the same time, then links. Together that is 20 s at most, but where
 * devices are so slow that timing every sample once takes longer. */
#define QUICK_BUDGET_S 6
#define QUICK_LINKS_S 6
#define QUICK_MESSAGES_S 2

struct profile {
    struct ad_waiting_line waiting;
    const char *devices_file;
    const char *output; /* NULL: stdout */
    struct ad_session_options session;
    bool json;
    const char *models[MAX_MODELS];
    int nmodels;
    struct ad_dim_bindings dims;
    double budget_s;
    bool ops, links; /* what is measured */
    bool at_once;    /* all devices at the same time */
    bool quick;
    bool linked[AD_MAX_DEVICES * AD_MAX_DEVICES]; /* [a * ndevices + b]: that link was measured */
    struct ad_cluster cluster;
    struct ad_graph *graphs[MAX_MODELS];
    struct ad_profile_device devices[AD_MAX_DEVICES];
    int64_t started_ns, links_ns; /* when measuring began, and that of links */
};

static void AD_PRINTF(2, 3) progress(const struct profile *p, const char *fmt, ...)
{
    char text[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ad_progress_say("%4.0f s  %s", (double)(ad_clock_ns() - p->started_ns) * 1e-9, text);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static enum adaps_status load_models(struct profile *p, struct adaps_error *err)
{
    bool used[AD_MAX_DIM_BINDINGS] = {false}; /* by any of them */
    const struct ad_import_options import = {.dims = &p->dims, .dims_used = used};
    for (int i = 0; i < p->nmodels; i++) {
        struct ad_blocks blocks;
        struct ad_digest digest;
        progress(p, "reading %s", base_name(p->models[i]));
        enum adaps_status status =
            ad_pipeline_front(p->models[i], &import, &p->graphs[i], &blocks, &digest, err);
        if (status != ADAPS_OK)
            return status;
        ad_blocks_fini(&blocks);
        ad_graph_drop_weights(p->graphs[i]);
    }
    for (size_t i = 0; i < p->dims.count; i++)
        if (!used[i])
            return ad_error_set(err, ADAPS_EUSAGE, "no --model has a symbolic dimension '%.*s'",
                                (int)p->dims.items[i].length, p->dims.items[i].name);
    return ADAPS_OK;
}

static void note_time(char *buf, size_t size)
{
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(buf, size, "%Y-%m-%d %H:%M UTC", &utc);
}

/* One turn: all operators once; in the first turn also what is measured only once. */
static enum adaps_status measure_ops(struct profile *p, int d, int turns, struct ad_probe *probe,
                                     struct adaps_error *err)
{
    struct ad_profile_device *out = &p->devices[d];
    const char *name = p->cluster.devices[d].name;
    bool first = out->count == 0;
    double budget_s = p->budget_s / turns;
    double samples_s = fmin((double)SAMPLES_MOST_S / turns, p->nmodels ? budget_s * 0.3 : budget_s);
    int64_t begin = ad_clock_ns();
    progress(p, "%s: operators of every class", name);
    enum adaps_status status = ad_profile_classes(probe, samples_s * SAMPLES_SHARE, out, err);
    if (status == ADAPS_OK && first)
        status = ad_profile_caches(probe, samples_s * turns * (1 - SAMPLES_SHARE), out, err);
    for (int i = 0; i < p->nmodels && status == ADAPS_OK; i++) {
        struct ad_timed_model model = {.name = base_name(p->models[i])};
        progress(p, "%s: operators of %s", name, model.name);
        double left = budget_s - (double)(ad_clock_ns() - begin) * 1e-9;
        double model_s = fmax(left / (p->nmodels - i), budget_s / p->nmodels / 10);
        status = ad_profile_model(probe, p->graphs[i], fmin(model_s, (double)MODEL_MOST_S / turns),
                                  out, &model, err);
        if (first || model.pass_s < out->models[i].pass_s)
            out->models[i] = model;
    }
    out->nmodels = p->nmodels;
    ad_profile_end_turn(out);
    return status;
}

static enum adaps_status begin_device(struct profile *p, int d, struct adaps_error *err)
{
    struct ad_profile_device *out = &p->devices[d];
    out->speed = 1;
    out->timed = p->ops;
    out->threads = p->cluster.devices[d].threads;
    out->table = p->cluster.devices[d].table;
    out->models = ad_calloc((size_t)p->nmodels + 1, sizeof *out->models);
    if (!out->models)
        return ad_error_memory(err, "profile", (size_t)p->nmodels * sizeof *out->models);
    note_time(out->when, sizeof out->when);
    if (!p->ops)
        out->made = out->table.shapes ? ad_shapes_ref(out->table.shapes) : NULL;
    return ADAPS_OK;
}

static enum adaps_status measure_device(struct profile *p, int d, int turns,
                                        struct adaps_error *err)
{
    struct ad_profile_device *out = &p->devices[d];
    struct ad_probe *probe;
    int64_t begin = ad_clock_ns();
    enum adaps_status status =
        ad_probe_open(&p->cluster.devices[d], &p->session, &probe, &out->status, err);
    if (status != ADAPS_OK)
        return status;
    int most = ad_machine_most_threads(out->status.cores);
    if (out->status.threads > 0) /* by its own --threads */
        out->threads = out->status.threads;
    else if (out->threads > most) /* which is the most that it takes */
        out->threads = most;
    if (p->ops)
        status = measure_ops(p, d, turns, probe, err);
    ad_probe_close(probe);
    out->turn_s = (double)(ad_clock_ns() - begin) * 1e-9;
    out->seconds += out->turn_s;
    return status;
}

/* One device of several that are measured at the same time. */
struct measuring {
    struct profile *profile;
    int device;
    pthread_t thread;
    bool started;
    enum adaps_status status;
    struct adaps_error err;
};

static void *measure_beside_others(void *self)
{
    struct measuring *m = self;
    m->status = measure_device(m->profile, m->device, 1, &m->err);
    return NULL;
}

/* A machine's speed changes by the second, with its heat and with the load of its host. So each
 * device is measured in several turns, between those of the others. A turn that would exceed a
 * device's budget is left out. */
static enum adaps_status measure_in_turn(struct profile *p, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    int turns = p->ops ? TURNS : 1;
    for (int turn = 0; turn < turns; turn++)
        for (int d = 0; d < p->cluster.ndevices && status == ADAPS_OK; d++)
            if (p->devices[d].seconds + p->devices[d].turn_s <= p->budget_s * 1.1)
                status = measure_device(p, d, turns, err);
    return status;
}

static enum adaps_status measure_at_once(struct profile *p, struct adaps_error *err)
{
    size_t n = (size_t)p->cluster.ndevices;
    struct measuring *all = ad_calloc(n, sizeof *all);
    enum adaps_status status = all ? ADAPS_OK : ad_error_memory(err, "profile", n * sizeof *all);
    for (size_t d = 0; d < n && status == ADAPS_OK; d++) {
        all[d] = (struct measuring){.profile = p, .device = (int)d};
        all[d].started = pthread_create(&all[d].thread, NULL, measure_beside_others, &all[d]) == 0;
        if (!all[d].started)
            status = ad_error_set(err, ADAPS_EINTERNAL, "cannot start a thread");
    }
    for (size_t d = 0; all && d < n && all[d].started; d++) {
        pthread_join(all[d].thread, NULL);
        if (status == ADAPS_OK && all[d].status != ADAPS_OK) {
            status = all[d].status;
            *err = all[d].err;
        }
    }
    ad_free(all);
    return status;
}

/* How long the pairs of devices may take of which `left` are not measured yet; 0: no time is left
 * for them. */
static double link_budget(const struct profile *p, int left)
{
    int n = p->cluster.ndevices;
    if (!p->quick)
        return fmin(LINK_MOST_S, p->budget_s / (4 * n));
    double left_s = QUICK_LINKS_S - (double)(ad_clock_ns() - p->links_ns) * 1e-9;
    return left_s > 0 ? fmin(LINK_MOST_S, left_s / (2 * left)) : 0;
}

static enum adaps_status measure_pairs(struct profile *p, struct adaps_error *err)
{
    const struct ad_device *devices = p->cluster.devices;
    int n = p->cluster.ndevices, left = n * (n - 1) / 2;
    enum adaps_status status = ADAPS_OK;
    for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n && status == ADAPS_OK; b++, left--) {
            struct ad_link_times times;
            double budget_s = link_budget(p, left);
            if (budget_s <= 0) /* these links stay as the devices file has them */
                return ADAPS_OK;
            progress(p, "messages between %s and %s", devices[a].name, devices[b].name);
            status = ad_probe_links(&devices[a], &devices[b], &p->session, budget_s, &times, err);
            if (status != ADAPS_OK)
                break;
            p->linked[a * n + b] = p->linked[b * n + a] = true;
            p->cluster.links[a * n + b] = times.there;
            p->cluster.links[b * n + a] = times.back;
            p->devices[a].copy_bw = fmax(p->devices[a].copy_bw, times.copy[0]);
            p->devices[b].copy_bw = fmax(p->devices[b].copy_bw, times.copy[1]);
        }
    return status;
}

/* Measures each pair of devices in turn, then all of them exchanging messages at once. A device
 * copies messages at the best rate that any of its pairs showed. */
static enum adaps_status measure_links(struct profile *p, struct adaps_error *err)
{
    struct ad_message_times messages[AD_MAX_DEVICES];
    const struct ad_device *devices = p->cluster.devices;
    int n = p->cluster.ndevices;
    double messages_s = p->quick ? QUICK_MESSAGES_S : fmin(MESSAGES_MOST_S, p->budget_s / 2);
    if (n < 2)
        return ADAPS_OK;
    p->links_ns = ad_clock_ns();
    enum adaps_status status = measure_pairs(p, err);
    progress(p, "what messages take of the processors");
    if (status == ADAPS_OK)
        status = ad_probe_messages(&p->cluster, &p->session, messages_s, messages, err);
    for (int d = 0; d < n && status == ADAPS_OK; d++) {
        struct ad_profile_device *m = &p->devices[d];
        if (m->copy_bw > 0)
            m->table.memory_bw = fmin(m->table.memory_bw, m->copy_bw);
        m->message_s = messages[d].message_s;
        m->byte_s = messages[d].byte_s;
        double speed = p->ops ? 1 : devices[d].speed; /* the table is for full speed */
        m->table.message_s = m->message_s * speed;
        m->table.message_bw = m->byte_s > 1e-15 ? 1 / (m->byte_s * speed) : 0;
    }
    return status;
}

static enum adaps_status measure(struct profile *p, struct adaps_error *err)
{
    enum adaps_status status = load_models(p, err);
    for (int d = 0; d < p->cluster.ndevices && status == ADAPS_OK; d++)
        status = begin_device(p, d, err);
    if (status == ADAPS_OK)
        status = p->at_once ? measure_at_once(p, err) : measure_in_turn(p, err);
    for (int d = 0; d < p->cluster.ndevices && p->ops && status == ADAPS_OK; d++)
        status = ad_profile_table(&p->devices[d], err);
    if (p->links && status == ADAPS_OK)
        status = measure_links(p, err);
    ad_progress_clear();
    return status;
}

static enum adaps_status print_file(const void *self, FILE *out, struct adaps_error *err)
{
    const struct profile *p = self;
    return ad_profile_write(&p->cluster, p->devices, p->linked, out, err);
}

/* Says where networks were run so seldom that cold caches may be most of what was measured. */
static void warn_of_few_passes(const struct profile *p)
{
    bool more_helps = p->budget_s < SAMPLES_MOST_S + MODEL_MOST_S * p->nmodels;
    for (int d = 0; d < p->cluster.ndevices && more_helps; d++)
        for (int i = 0; i < p->devices[d].nmodels; i++) {
            const struct ad_timed_model *m = &p->devices[d].models[i];
            if (m->passes < FEW_PASSES)
                fprintf(
                    stderr,
                    "adaps %s: warning: %s: %s was run %d time%s in the time given, and may seem "
                    "slower than it is; a longer --budget is more exact\n",
                    ad_command_profile.name, p->cluster.devices[d].name, m->name, m->passes,
                    m->passes == 1 ? "" : "s");
        }
}

static int finish(struct profile *p, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    warn_of_few_passes(p);
    if (p->output || !p->json)
        status = ad_cli_write_file(p->output ? p->output : "-", print_file, p, err);
    if (status == ADAPS_OK && p->json)
        return ad_profile_print_json(&p->cluster, p->devices, p->linked);
    if (status == ADAPS_OK && p->output)
        status = ad_profile_print(&p->cluster, p->devices, err);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_profile, err);
    return ad_cli_close_stdout(&ad_command_profile);
}

static int take_model(const struct ad_command *command, const char *file, void *profile)
{
    struct profile *p = profile;
    if (p->nmodels == MAX_MODELS)
        return ad_cli_usage(command, "more than %d models", MAX_MODELS);
    p->models[p->nmodels++] = file;
    return ADAPS_OK;
}

static void be_quick(struct profile *p)
{
    p->quick = p->at_once = p->ops = p->links = true;
    p->budget_s = QUICK_BUDGET_S;
}

static void profile_fini(struct profile *p)
{
    for (int d = 0; d < p->cluster.ndevices; d++)
        ad_profile_device_fini(&p->devices[d]);
    for (int i = 0; i < p->nmodels; i++)
        ad_graph_free(p->graphs[i]);
    ad_cluster_fini(&p->cluster);
}

static int profile_cluster(struct profile *p)
{
    struct adaps_error err = {0};
    struct ad_cli_devices devices;
    enum adaps_status status = ad_cli_devices_load(p->devices_file, &p->cluster, &devices, &err);
    if (status == ADAPS_EUSAGE)
        return ad_cli_usage(&ad_command_profile, "%s", err.message);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_profile, &err);
    p->devices_file = devices.path;
    p->started_ns = ad_clock_ns();
    ad_waiting_line_set(&p->waiting, &ad_command_profile, &p->session);
    int code =
        measure(p, &err) == ADAPS_OK ? finish(p, &err) : ad_cli_fail(&ad_command_profile, &err);
    profile_fini(p);
    ad_cli_devices_fini(&devices);
    return code;
}

enum adaps_status ad_profile_quick(const char *devices_file,
                                   const struct ad_session_options *session, FILE *out,
                                   struct adaps_error *err)
{
    struct profile *p = ad_calloc(1, sizeof *p);
    if (!p)
        return ad_error_memory(err, "profile", sizeof *p);
    be_quick(p);
    p->session = *session;
    enum adaps_status status = ad_cluster_load(devices_file, &p->cluster, err);
    if (status == ADAPS_OK) {
        p->started_ns = ad_clock_ns();
        status = measure(p, err);
        if (status == ADAPS_OK)
            status = print_file(p, out, err);
        profile_fini(p);
    }
    ad_free(p);
    return status;
}

static int run_profile(int argc, char **argv)
{
    struct adaps_error err = {0};
    struct profile *p = ad_calloc(1, sizeof *p);
    struct ad_operands operands;
    if (!p) {
        ad_error_memory(&err, "profile", sizeof *p);
        return ad_cli_fail(&ad_command_profile, &err);
    }
    p->ops = p->links = true;
    int code = ad_options_parse(&ad_command_profile, argc, argv, p, &operands);
    if (p->output && strcmp(p->output, "-") == 0)
        p->output = NULL;
    if (code == ADAPS_OK && operands.count > 0)
        code = ad_cli_usage(&ad_command_profile, "unexpected argument '%s'", operands.items[0]);
    if (code == ADAPS_OK && !p->ops && (!p->links || p->nmodels > 0))
        code = ad_cli_usage(&ad_command_profile, "--links-only and %s: choose one",
                            p->links ? "--model" : "--no-links");
    if (code == ADAPS_OK && p->quick && (p->budget_s > 0 || p->nmodels > 0 || !p->ops || !p->links))
        code = ad_cli_usage(&ad_command_profile, "--quick goes without --budget, --model, "
                                                 "--no-links and --links-only");
    if (p->quick)
        be_quick(p);
    else if (p->budget_s <= 0)
        p->budget_s = DEFAULT_BUDGET_S;
    if (code == ADAPS_OK)
        code = profile_cluster(p);
    ad_free(p);
    return code;
}

#define PROFILE struct profile
static const struct ad_option options_table[] = {
    AD_OPT_TEXT('d', "devices", "FILE", PROFILE, devices_file, AD_DEVICES_HELP),
    AD_OPT_TEXT('o', "output", "FILE", PROFILE, output,
                "write the measured devices file here (default: print it)"),
    AD_OPT_CALL_STRUCT("model", "FILE", take_model,
                       "time the operators of this network, too; may be repeated"),
    AD_OPT_DIM(PROFILE, dims),
    AD_OPT_SECONDS("budget", "TIME", PROFILE, budget_s, LEAST_BUDGET_S, MOST_BUDGET_S, NULL,
                   "measure each device for this long at most (default: 40s)"),
    AD_OPT_UNSET(0, "no-links", PROFILE, links, "leave the links as the devices file has them"),
    AD_OPT_UNSET(0, "links-only", PROFILE, ops, "leave everything else as the devices file has it"),
    AD_OPT_FLAG(0, "at-once", PROFILE, at_once, "measure all devices at the same time"),
    AD_OPT_FLAG(0, "quick", PROFILE, quick,
                "measure less: all devices at the same time, in 20 s at most"),
    AD_OPT_GROUP(ad_session_option_rows, PROFILE, session),
    AD_OPT_FLAG(0, "json", PROFILE, json, "print what was measured as JSON"),
    AD_OPT_END,
};

const struct ad_command ad_command_profile = {
    .name = "profile",
    .arguments = "[OPTION...]",
    .summary = "Measure agents and links, and write a devices file with what they do.",
    .options = options_table,
    .run = run_profile,
};
