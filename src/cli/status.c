/* adaps status: the agents of a devices file, asked all at once. */
#include "base/units.h"
#include "cli/devices.h"
#include "cli/live_json.h"
#include "cli/run_options.h"
#include "report/json.h"
#include "report/text.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#define DEFAULT_DEADLINE_S 5

struct status_options {
    const char *devices;
    struct ad_session_options session;
    bool json;
};

struct question {
    const struct ad_device *device;
    const struct ad_session_options *options;
    struct ad_agent_status answer;
    struct adaps_error err;
    enum adaps_status status;
    pthread_t thread;
    bool asked; /* in a thread of its own */
};

static void *ask(void *self)
{
    struct question *q = self;
    if (!q->device->address[0])
        q->status = ad_error_set(&q->err, ADAPS_EAGENT, "the devices file has no address for it");
    else
        q->status = ad_agent_query(q->device, q->options, &q->answer, &q->err);
    return NULL;
}

static void ask_all(struct question *questions, int count)
{
    for (int i = 0; i < count; i++) {
        questions[i].asked = pthread_create(&questions[i].thread, NULL, ask, &questions[i]) == 0;
        if (!questions[i].asked)
            ask(&questions[i]);
    }
    for (int i = 0; i < count; i++)
        if (questions[i].asked)
            pthread_join(questions[i].thread, NULL);
}

static void fill_row(struct ad_table *table, const struct question *q)
{
    const struct ad_agent_status *a = &q->answer;
    char bytes[32], rtt[32];
    ad_table_cell(table, "%s", q->device->name);
    ad_table_cell(table, "%s", q->device->address);
    if (q->status != ADAPS_OK) {
        ad_table_cell(table, "no answer");
        for (int i = 0; i < 6; i++)
            ad_table_cell(table, "-");
        return;
    }
    ad_table_cell(table, "%s", a->busy ? "busy" : "idle");
    ad_table_cell(table, "%d", a->cores);
    ad_table_cell(table, "%g", a->speed);
    ad_table_cell(table, "%.2f", a->load1);
    if (isnan(a->temperature_c))
        ad_table_cell(table, "-");
    else
        ad_table_cell(table, "%.0f C", a->temperature_c);
    ad_table_cell(table, "%s in %d blobs, %d plans",
                  ad_format_bytes((double)a->cache_bytes, bytes, sizeof bytes), a->cached_blobs,
                  a->cached_plans);
    ad_table_cell(table, "%s", ad_format_ns((double)a->rtt_ns, rtt, sizeof rtt));
}

/* The instructions of the agent's convolutions; NULL when they are not known. */
static const char *conv_instructions(const struct question *q)
{
    const struct ad_kernel_row *conv = &q->answer.kernels.rows[0];
    return q->status == ADAPS_OK && q->answer.kernels.nrows > 0 && conv->instructions[0]
               ? conv->instructions
               : NULL;
}

/* A line for each kind of processor, since kinds may differ in bits. */
static void print_kernels(const struct question *questions, int count)
{
    for (int i = 0; i < count; i++) {
        const char *is = conv_instructions(&questions[i]), *other = NULL;
        for (int k = 0; k < i && is; k++)
            if ((other = conv_instructions(&questions[k])) && strcmp(other, is) == 0)
                is = NULL; /* told already */
        if (!is)
            continue;
        char clean[sizeof questions[i].answer.kernels.rows[0].instructions];
        printf("convolutions by %s:", ad_text_clean(is, clean, sizeof clean));
        for (int k = i; k < count; k++) {
            char name[sizeof questions[k].device->name];
            other = conv_instructions(&questions[k]);
            if (other && strcmp(other, is) == 0)
                printf(" %s", ad_text_clean(questions[k].device->name, name, sizeof name));
        }
        printf("\n");
    }
}

static int print_table(const struct question *questions, int count)
{
    static const struct ad_column columns[] = {
        {"device", false, true}, {"address", false, true}, {"state", false, false},
        {"cores", true, false},  {"speed", true, false},   {"load", true, false},
        {"temp", true, false},   {"cache", false, true},   {"rtt", true, false},
    };
    struct ad_table table;
    struct adaps_error err = {0};
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < count; i++)
        fill_row(&table, &questions[i]);
    enum adaps_status status = ad_table_print(&table, stdout, &err);
    ad_table_fini(&table);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_status, &err);
    print_kernels(questions, count);
    return ad_cli_close_stdout(&ad_command_status);
}

static json_t *kernels_json(const struct ad_kernel_facts *facts)
{
    if (facts->nrows == 0)
        return json_null();
    json_t *rows = json_array();
    for (int i = 0; i < facts->nrows; i++) {
        const struct ad_kernel_row *row = &facts->rows[i];
        rows = ad_report_json_append(
            rows, json_pack("{s:o, s:o, s:o, s:o, s:o}", "work", ad_report_json_text(row->work),
                            "kernels", ad_report_json_text(row->kernels), "instructions",
                            ad_report_json_text(row->instructions), "floats",
                            row->floats > 0 ? json_integer(row->floats) : json_null(), "why",
                            ad_report_json_text(row->why)));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "processor",
                     ad_report_json_text(facts->processor), "instructions",
                     ad_report_json_text(facts->instructions), "xnnpack",
                     ad_report_json_text(facts->xnnpack), "xnnpack_kernels",
                     ad_report_json_text(facts->xnnpack_kernels), "xnnpack_why",
                     ad_report_json_text(facts->xnnpack_why), "rows", rows);
}

static json_t *answer_json(const struct question *q)
{
    const struct ad_agent_status *a = &q->answer;
    if (q->status != ADAPS_OK)
        return json_pack("{s:o, s:o, s:s, s:o}", "name", ad_report_json_text(q->device->name),
                         "address", ad_report_json_text(q->device->address), "state", "no answer",
                         "error", ad_report_json_text(q->err.message));
    return json_pack(
        "{s:o, s:o, s:s, s:o, s:o, s:o, s:i, s:i, s:f, s:f, s:o, s:I, s:I, s:I, s:i, s:i, s:I, "
        "s:f, "
        "s:f, s:o, s:o}",
        "name", ad_report_json_text(q->device->name), "address",
        ad_report_json_text(q->device->address), "state", a->busy ? "busy" : "idle", "agent",
        ad_report_json_text(a->name), "version", ad_report_json_text(a->version), "machine",
        ad_report_json_text(a->machine), "cores", a->cores, "threads", a->threads, "speed",
        a->speed, "load", a->load1, "temperature_c", ad_report_json_number(a->temperature_c),
        "memory_total_bytes", (json_int_t)a->memory_total, "memory_available_bytes",
        (json_int_t)a->memory_available, "cache_bytes", (json_int_t)a->cache_bytes, "cached_blobs",
        a->cached_blobs, "cached_plans", a->cached_plans, "inferences", (json_int_t)a->inferences,
        "uptime_s", (double)a->uptime_ns / 1e9, "rtt_ms", (double)a->rtt_ns / 1e6, "kernels",
        kernels_json(&a->kernels), "live", ad_cli_live_json(a));
}

static int print_json(const struct question *questions, int count)
{
    json_t *agents = json_array();
    for (int i = 0; i < count; i++)
        agents = ad_report_json_append(agents, answer_json(&questions[i]));
    return ad_cli_print_json(&ad_command_status, json_pack("{s:o}", "agents", agents));
}

static int ask_cluster(const struct ad_cluster *cluster, const struct status_options *options)
{
    struct adaps_error err = {0};
    struct question *questions = ad_calloc((size_t)cluster->ndevices, sizeof *questions);
    if (!questions) {
        ad_error_memory(&err, "status", (size_t)cluster->ndevices * sizeof *questions);
        return ad_cli_fail(&ad_command_status, &err);
    }
    for (int i = 0; i < cluster->ndevices; i++)
        questions[i] =
            (struct question){.device = &cluster->devices[i], .options = &options->session};
    ask_all(questions, cluster->ndevices);
    int code = options->json ? print_json(questions, cluster->ndevices)
                             : print_table(questions, cluster->ndevices);
    for (int i = 0; i < cluster->ndevices; i++) {
        if (questions[i].status == ADAPS_OK)
            continue;
        struct adaps_error *e = &questions[i].err;
        if (!strstr(e->message, cluster->devices[i].name))
            ad_error_prefix(e, "%s: ", cluster->devices[i].name);
        int failed = ad_cli_fail(&ad_command_status, e);
        code = code == ADAPS_OK ? failed : code;
    }
    ad_free(questions);
    return code;
}

static int run_status(int argc, char **argv)
{
    struct status_options options = {.session = {.deadline_s = DEFAULT_DEADLINE_S}};
    struct ad_operands operands;
    int code = ad_options_parse(&ad_command_status, argc, argv, &options, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count > 0)
        return ad_cli_usage(&ad_command_status, "unexpected argument '%s'", operands.items[0]);

    struct ad_cli_devices devices;
    struct ad_cluster cluster;
    struct adaps_error err = {0};
    enum adaps_status status = ad_cli_devices_load(options.devices, &cluster, &devices, &err);
    if (status == ADAPS_EUSAGE)
        return ad_cli_usage(&ad_command_status, "%s", err.message);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_status, &err);
    code = ask_cluster(&cluster, &options);
    ad_cluster_fini(&cluster);
    ad_cli_devices_fini(&devices);
    return code;
}

static const struct ad_option options_table[] = {
    AD_OPT_TEXT('d', "devices", "FILE", struct status_options, devices, AD_DEVICES_HELP),
    AD_OPT_GROUP(ad_query_option_rows, struct status_options, session),
    AD_OPT_FLAG(0, "json", struct status_options, json, "print the result as JSON"),
    AD_OPT_END,
};

const struct ad_command ad_command_status = {
    .name = "status",
    .arguments = "[OPTION...]",
    .summary = "Show the agents: what they hold, load, temperature, round trip.",
    .options = options_table,
    .run = run_status,
};
