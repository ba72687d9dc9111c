#include "report/predict.h"
#include "base/stats.h"
#include "base/units.h"
#include "report/json.h"
#include "report/messages.h"
#include "report/report.h"
#include "report/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Quantities: the latency and its ends, then of each device these, then its steps. */
enum { LATENCY, FEED, FETCH, DEVICES };
enum { BUSY, END, PER_DEVICE };

/* One number, predicted and measured. */
struct pair {
    double predicted, measured; /* ns; measured is NAN when it is not known */
};

struct device_pairs {
    struct pair busy, idle, end;
};

struct link_pairs {
    int from, to;
    int64_t bytes;
    int messages, timed;  /* timed: those whose transfer was measured */
    struct pair transfer; /* of these */
};

struct step_pair {
    int device, step;
    struct pair time;
};

struct findings {
    struct pair latency, feed, fetch; /* of these, inputs put in and outputs taken out */
    struct device_pairs devices[AD_MAX_DEVICES];
    struct link_pairs *links;
    size_t nlinks;
    struct step_pair
        *steps; /* COMPUTE, and SEND whose transfer was measured; largest error first */
    size_t nsteps;
};

enum adaps_status ad_predict_init(struct ad_predict *out, const struct adaps_plan *plan,
                                  size_t runs, struct adaps_error *err)
{
    size_t n = (size_t)plan->cluster.ndevices, count = DEVICES + PER_DEVICE * n, size;
    *out = (struct ad_predict){.plan = plan, .room = runs};
    out->first = ad_calloc(n, sizeof *out->first);
    for (size_t d = 0; out->first && d < n; d++) {
        out->first[d] = count;
        count += (size_t)plan->schedule.programs[d].nsteps;
    }
    if (out->first && ad_size_mul(count, runs, &size))
        out->values = ad_calloc(size, sizeof *out->values);
    if (out->values)
        return ADAPS_OK;
    ad_predict_fini(out);
    return ad_error_memory(err, "measurements", runs);
}

void ad_predict_fini(struct ad_predict *predict)
{
    ad_free(predict->values);
    ad_free(predict->first);
    *predict = (struct ad_predict){0};
}

static void set(struct ad_predict *p, size_t quantity, double ns)
{
    p->values[quantity * p->room + p->runs] = ns;
}

static void add_device(struct ad_predict *p, const struct ad_trace *trace, int d)
{
    const struct ad_device_trace *device = &trace->devices[d];
    const struct ad_program *program = &p->plan->schedule.programs[d];
    int64_t busy = 0, end = 0;
    for (int i = 0; i < device->nsteps; i++) {
        const struct ad_step_times *step = &device->steps[i];
        bool compute = program->steps[i].kind == AD_STEP_COMPUTE;
        set(p, p->first[d] + (size_t)i, compute ? (double)(step->end_ns - step->start_ns) : NAN);
        busy += compute ? step->end_ns - step->start_ns : 0;
        if (program->steps[i].kind != AD_STEP_SEND)
            end = step->end_ns;
    }
    set(p, (size_t)(DEVICES + PER_DEVICE * d + BUSY), (double)busy);
    set(p, (size_t)(DEVICES + PER_DEVICE * d + END), (double)end);
    if (device->uncertainty_ns > p->uncertainty_ns)
        p->uncertainty_ns = device->uncertainty_ns;
}

/* What the source does before its first step and after its last. */
static void add_ends(struct ad_predict *p, const struct ad_device_trace *source)
{
    bool steps = source->nsteps > 0;
    set(p, FEED, steps ? (double)(source->steps[0].start_ns - source->begin_ns) : NAN);
    set(p, FETCH,
        steps ? (double)(source->end_ns - source->steps[source->nsteps - 1].end_ns) : NAN);
}

enum adaps_status ad_predict_add(struct ad_predict *p, const struct ad_trace *trace,
                                 struct adaps_error *err)
{
    struct ad_messages messages;
    const struct ad_device_trace *source = &trace->devices[p->plan->cluster.source];
    enum adaps_status status = ad_messages_init(&messages, p->plan, err);
    if (status == ADAPS_OK)
        status = ad_messages_measure(&messages, p->plan, trace, err);
    if (status == ADAPS_OK) {
        set(p, LATENCY, (double)(source->end_ns - source->begin_ns));
        add_ends(p, source);
        for (int d = 0; d < trace->ndevices; d++)
            add_device(p, trace, d);
        for (size_t i = 0; i < messages.count; i++) {
            const struct ad_message *m = &messages.items[i];
            if (m->timed)
                set(p, p->first[m->from] + (size_t)m->send_step, (double)(m->end_ns - m->start_ns));
        }
        p->runs++;
    }
    ad_messages_fini(&messages);
    return status;
}

/* --- what the runs say together --- */

/* The median of the runs in which it is known; NAN when there is none. Sorts them. */
static double measured(struct ad_predict *p, size_t quantity)
{
    double *values = &p->values[quantity * p->room];
    size_t known = 0;
    for (size_t i = 0; i < p->runs; i++)
        if (!isnan(values[i])) {
            double value = values[i];
            values[i] = values[known];
            values[known++] = value;
        }
    return ad_stats_median(values, known);
}

static void find_ends(struct ad_predict *p, struct findings *out)
{
    const struct ad_device *source = &p->plan->cluster.devices[p->plan->cluster.source];
    out->latency = (struct pair){(double)p->plan->schedule.makespan_ns, measured(p, LATENCY)};
    out->feed =
        (struct pair){ad_cost_feed_seconds(p->plan->graph, source) * 1e9, measured(p, FEED)};
    out->fetch =
        (struct pair){ad_cost_fetch_seconds(p->plan->graph, source) * 1e9, measured(p, FETCH)};
}

static void find_devices(struct ad_predict *p, struct findings *out)
{
    const struct ad_schedule *schedule = &p->plan->schedule;
    for (int d = 0; d < schedule->ndevices; d++) {
        struct device_pairs *device = &out->devices[d];
        const struct ad_program *program = &schedule->programs[d];
        size_t first = (size_t)(DEVICES + PER_DEVICE * d);
        device->busy = (struct pair){(double)schedule->busy_ns[d], measured(p, first + BUSY)};
        device->end.measured = measured(p, first + END);
        for (int i = 0; i < program->nsteps; i++)
            if (program->steps[i].kind != AD_STEP_SEND)
                device->end.predicted = (double)program->steps[i].end_ns;
        device->idle = (struct pair){out->latency.predicted - device->busy.predicted,
                                     out->latency.measured - device->busy.measured};
    }
}

static struct link_pairs *link_between(struct findings *out, int from, int to)
{
    size_t i = 0;
    while (i < out->nlinks && (out->links[i].from != from || out->links[i].to != to))
        i++;
    if (i == out->nlinks)
        out->links[out->nlinks++] = (struct link_pairs){.from = from, .to = to};
    return &out->links[i];
}

static void add_step(struct findings *out, int device, int step, struct pair time)
{
    out->steps[out->nsteps++] = (struct step_pair){device, step, time};
}

static void find_links(struct ad_predict *p, const struct ad_messages *messages,
                       struct findings *out)
{
    for (size_t i = 0; i < messages->count; i++) {
        const struct ad_message *m = &messages->items[i];
        struct link_pairs *link = link_between(out, m->from, m->to);
        struct pair time = {(double)(m->end_ns - m->start_ns),
                            measured(p, p->first[m->from] + (size_t)m->send_step)};
        link->messages++;
        link->bytes += m->bytes;
        if (isnan(time.measured))
            continue;
        link->timed++;
        link->transfer.predicted += time.predicted;
        link->transfer.measured += time.measured;
        add_step(out, m->from, m->send_step, time);
    }
}

static void find_steps(struct ad_predict *p, struct findings *out)
{
    for (int d = 0; d < p->plan->schedule.ndevices; d++) {
        const struct ad_program *program = &p->plan->schedule.programs[d];
        for (int i = 0; i < program->nsteps; i++) {
            const struct ad_step *step = &program->steps[i];
            if (step->kind == AD_STEP_COMPUTE)
                add_step(out, d, i,
                         (struct pair){(double)(step->end_ns - step->start_ns),
                                       measured(p, p->first[d] + (size_t)i)});
        }
    }
}

static int compare_links(const void *a, const void *b)
{
    const struct link_pairs *x = a, *y = b;
    return x->from != y->from ? x->from - y->from : x->to - y->to;
}

static int compare_errors(const void *a, const void *b)
{
    const struct step_pair *x = a, *y = b;
    double p = fabs(x->time.measured - x->time.predicted);
    double q = fabs(y->time.measured - y->time.predicted);
    if (p != q)
        return p < q ? 1 : -1;
    return x->device != y->device ? x->device - y->device : x->step - y->step;
}

static void forget(struct findings *out)
{
    ad_free(out->links);
    ad_free(out->steps);
}

static enum adaps_status find(struct ad_predict *p, struct findings *out, struct adaps_error *err)
{
    struct ad_messages messages;
    size_t n = (size_t)p->plan->cluster.ndevices, steps = 0;
    *out = (struct findings){0};
    enum adaps_status status = ad_messages_init(&messages, p->plan, err);
    if (status == ADAPS_OK)
        ad_messages_arrive(&messages, p->plan);
    for (size_t d = 0; d < n; d++)
        steps += (size_t)p->plan->schedule.programs[d].nsteps;
    out->links = ad_calloc(n * n, sizeof *out->links);
    out->steps = ad_calloc(steps, sizeof *out->steps);
    if (status == ADAPS_OK && !(out->links && out->steps))
        status = ad_error_memory(err, "findings", steps);
    if (status == ADAPS_OK) {
        find_ends(p, out);
        find_devices(p, out);
        find_links(p, &messages, out);
        find_steps(p, out);
        qsort(out->links, out->nlinks, sizeof *out->links, compare_links);
        qsort(out->steps, out->nsteps, sizeof *out->steps, compare_errors);
    } else {
        forget(out);
    }
    ad_messages_fini(&messages);
    return status;
}

/* Of the prediction, in percent of what was measured. */
static double error_percent(struct pair pair)
{
    return 100 * (pair.predicted - pair.measured) / pair.measured;
}

/* --- tables --- */

static void pair_cells(struct ad_table *table, struct pair pair)
{
    char text[32];
    ad_table_cell(table, "%s", ad_format_ns(pair.predicted, text, sizeof text));
    if (isnan(pair.measured)) {
        ad_table_cell(table, "-");
        ad_table_cell(table, "-");
        return;
    }
    ad_table_cell(table, "%s", ad_format_ns(pair.measured, text, sizeof text));
    if (pair.measured > 0)
        ad_table_cell(table, "%+.1f", error_percent(pair));
    else
        ad_table_cell(table, "-");
}

static enum adaps_status print_devices(const struct ad_predict *p, const struct findings *f,
                                       FILE *out, struct adaps_error *err)
{
    static const struct ad_column columns[] = {
        {"device", false, true},  {"busy predicted", true, false}, {"measured", true, false},
        {"error %", true, false}, {"idle predicted", true, false}, {"measured", true, false},
        {"error %", true, false}, {"end predicted", true, false},  {"measured", true, false},
        {"error %", true, false},
    };
    struct ad_table table;
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int d = 0; d < p->plan->cluster.ndevices; d++) {
        if (p->plan->schedule.programs[d].nsteps == 0)
            continue;
        ad_table_cell(&table, "%s", p->plan->cluster.devices[d].name);
        pair_cells(&table, f->devices[d].busy);
        pair_cells(&table, f->devices[d].idle);
        pair_cells(&table, f->devices[d].end);
    }
    enum adaps_status status = ad_table_print(&table, out, err);
    ad_table_fini(&table);
    return status;
}

static enum adaps_status print_links(const struct ad_predict *p, const struct findings *f,
                                     FILE *out, struct adaps_error *err)
{
    static const struct ad_column columns[] = {
        {"from", false, true},     {"to", false, true},     {"bytes", true, false},
        {"messages", true, false}, {"timed", true, false},  {"transfer predicted", true, false},
        {"measured", true, false}, {"error %", true, false}};
    struct ad_table table;
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < f->nlinks; i++) {
        const struct link_pairs *link = &f->links[i];
        struct pair time = link->transfer;
        char text[32];
        time.measured = link->timed ? time.measured : NAN;
        ad_table_cell(&table, "%s", p->plan->cluster.devices[link->from].name);
        ad_table_cell(&table, "%s", p->plan->cluster.devices[link->to].name);
        ad_table_cell(&table, "%s", ad_format_bytes((double)link->bytes, text, sizeof text));
        ad_table_cell(&table, "%d", link->messages);
        ad_table_cell(&table, "%d", link->timed);
        pair_cells(&table, time);
    }
    enum adaps_status status = ad_table_print(&table, out, err);
    ad_table_fini(&table);
    return status;
}

static void print_worst(const struct ad_predict *p, const struct step_pair *worst, FILE *out)
{
    char name[64], step[512], a[32], b[32];
    fprintf(out, "\nthe step that errs most: agent '%s' step %d %s: predicted %s, measured %s\n",
            ad_text_clean(p->plan->cluster.devices[worst->device].name, name, sizeof name),
            worst->step, ad_report_step(p->plan, worst->device, worst->step, step, sizeof step),
            ad_format_ns(worst->time.predicted, a, sizeof a),
            ad_format_ns(worst->time.measured, b, sizeof b));
}

static void print_end(const char *what, struct pair pair, FILE *out)
{
    char a[32], b[32];
    if (!isnan(pair.measured))
        fprintf(out, "%s: predicted %s, measured %s\n", what,
                ad_format_ns(pair.predicted, a, sizeof a),
                ad_format_ns(pair.measured, b, sizeof b));
}

enum adaps_status ad_report_predict(struct ad_predict *p, FILE *out, struct adaps_error *err)
{
    struct findings f;
    char a[32], b[32];
    enum adaps_status status = find(p, &f, err);
    if (status != ADAPS_OK)
        return status;
    fprintf(out, "strategy %s, median of %zu inferences\nlatency: predicted %s, measured %s",
            p->plan->strategy, p->runs, ad_format_ns(f.latency.predicted, a, sizeof a),
            ad_format_ns(f.latency.measured, b, sizeof b));
    if (f.latency.measured > 0)
        fprintf(out, ", error %+.1f %%", error_percent(f.latency));
    fputc('\n', out);
    print_end("inputs put in", f.feed, out);
    print_end("outputs taken out", f.fetch, out);
    fputc('\n', out);
    status = print_devices(p, &f, out, err);
    if (status == ADAPS_OK && f.nlinks > 0) {
        fputc('\n', out);
        status = print_links(p, &f, out, err);
        fprintf(out,
                "transfers: of messages that were waited for (timed); clocks agree within %s\n",
                ad_format_ns((double)p->uncertainty_ns, a, sizeof a));
    }
    if (status == ADAPS_OK && f.nsteps > 0)
        print_worst(p, &f.steps[0], out);
    forget(&f);
    return status == ADAPS_OK ? ad_text_finish(out, err) : status;
}

/* --- for programs --- */

static json_t *pair_json(struct pair pair)
{
    return json_pack("{so so so}", "predicted_ms", ad_report_json_number(pair.predicted / 1e6),
                     "measured_ms", ad_report_json_number(pair.measured / 1e6), "error_percent",
                     ad_report_json_number(error_percent(pair)));
}

static json_t *name_json(const struct ad_predict *p, int device)
{
    return ad_report_json_text(p->plan->cluster.devices[device].name);
}

static json_t *devices_json(const struct ad_predict *p, const struct findings *f)
{
    json_t *list = json_array();
    for (int d = 0; d < p->plan->cluster.ndevices; d++)
        if (p->plan->schedule.programs[d].nsteps > 0)
            list = ad_report_json_append(list, json_pack("{so so so so}", "name", name_json(p, d),
                                                         "busy", pair_json(f->devices[d].busy),
                                                         "idle", pair_json(f->devices[d].idle),
                                                         "end", pair_json(f->devices[d].end)));
    return list;
}

static json_t *links_json(const struct ad_predict *p, const struct findings *f)
{
    json_t *list = json_array();
    for (size_t i = 0; i < f->nlinks; i++) {
        const struct link_pairs *link = &f->links[i];
        struct pair time = link->transfer;
        time.measured = link->timed ? time.measured : NAN;
        list = ad_report_json_append(
            list, json_pack("{so so sI si si so}", "from", name_json(p, link->from), "to",
                            name_json(p, link->to), "bytes", (json_int_t)link->bytes, "messages",
                            link->messages, "timed", link->timed, "transfer", pair_json(time)));
    }
    return list;
}

static json_t *steps_json(const struct ad_predict *p, const struct findings *f)
{
    json_t *list = json_array();
    for (size_t i = 0; i < f->nsteps; i++) {
        const struct step_pair *step = &f->steps[i];
        char text[512];
        list = ad_report_json_append(
            list,
            json_pack("{so si ss so}", "device", name_json(p, step->device), "step", step->step,
                      "what", ad_report_step(p->plan, step->device, step->step, text, sizeof text),
                      "time", pair_json(step->time)));
    }
    return list;
}

enum adaps_status ad_report_predict_json(struct ad_predict *p, FILE *out, struct adaps_error *err)
{
    struct findings f;
    enum adaps_status status = find(p, &f, err);
    if (status != ADAPS_OK)
        return status;
    json_t *root = json_pack("{so sI so so so so so so so}", "strategy",
                             ad_report_json_text(p->plan->strategy), "inferences",
                             (json_int_t)p->runs, "latency", pair_json(f.latency), "feed",
                             pair_json(f.feed), "fetch", pair_json(f.fetch), "clock_uncertainty_ms",
                             ad_report_json_ms(p->uncertainty_ns), "devices", devices_json(p, &f),
                             "links", links_json(p, &f), "steps", steps_json(p, &f));
    forget(&f);
    return ad_report_json_print(root, out, err);
}

static void tsv_line(FILE *out, const char *kind, const char *name, const char *step,
                     struct pair pair)
{
    fprintf(out, "%s\t%s\t%s\t%.6f\t", kind, name, step, pair.predicted / 1e6);
    if (isnan(pair.measured))
        fputs("-\t-\n", out);
    else if (pair.measured == 0) /* there is no percentage of nothing */
        fputs("0.000000\t-\n", out);
    else
        fprintf(out, "%.6f\t%.2f\n", pair.measured / 1e6, error_percent(pair));
}

enum adaps_status ad_report_predict_tsv(struct ad_predict *p, FILE *out, struct adaps_error *err)
{
    struct findings f;
    enum adaps_status status = find(p, &f, err);
    if (status != ADAPS_OK)
        return status;
    fputs("kind\tname\tstep\tpredicted_ms\tmeasured_ms\terror_percent\n", out);
    tsv_line(out, "latency", p->plan->strategy, "-", f.latency);
    tsv_line(out, "feed", "-", "-", f.feed);
    tsv_line(out, "fetch", "-", "-", f.fetch);
    for (int d = 0; d < p->plan->cluster.ndevices; d++) {
        char name[64];
        if (p->plan->schedule.programs[d].nsteps == 0)
            continue;
        ad_text_clean(p->plan->cluster.devices[d].name, name, sizeof name);
        tsv_line(out, "busy", name, "-", f.devices[d].busy);
        tsv_line(out, "idle", name, "-", f.devices[d].idle);
        tsv_line(out, "end", name, "-", f.devices[d].end);
    }
    for (size_t i = 0; i < f.nlinks; i++) {
        char from[64], name[144];
        struct pair time = f.links[i].transfer;
        time.measured = f.links[i].timed ? time.measured : NAN;
        snprintf(name, sizeof name, "%s>",
                 ad_text_clean(p->plan->cluster.devices[f.links[i].from].name, from, sizeof from));
        ad_text_clean(p->plan->cluster.devices[f.links[i].to].name, from, sizeof from);
        snprintf(name + strlen(name), sizeof name - strlen(name), "%s", from);
        tsv_line(out, "transfer", name, "-", time);
    }
    for (size_t i = 0; i < f.nsteps; i++) {
        char name[64], text[512];
        ad_text_clean(p->plan->cluster.devices[f.steps[i].device].name, name, sizeof name);
        ad_report_step(p->plan, f.steps[i].device, f.steps[i].step, text, sizeof text);
        tsv_line(out, "step", name, text, f.steps[i].time);
    }
    forget(&f);
    return ad_text_finish(out, err);
}
