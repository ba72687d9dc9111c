/* Reports: the numbers in them, and that they can be read whatever the names are. */
#include "support/plan_fixture.h"
#include "support/random_graph.h"
#include "report/page/page.h"
#include "report/report.h"
#include "report/simulation.h"
#include "report/text.h"
#include "support/run_suite.h"

#include <check.h>
#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum adaps_status (*report_fn)(const struct adaps_plan *plan, FILE *out,
                                       struct adaps_error *err);

/* What a report writes; the caller's (free). */
static char *text_of(const struct adaps_plan *plan, report_fn report)
{
    char *text = NULL;
    size_t size;
    struct adaps_error err = {0};
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    ck_assert_msg(report(plan, out, &err) == ADAPS_OK, "%s", err.message);
    fclose(out);
    ck_assert_uint_eq(strlen(text), size);
    return text;
}

static json_t *json_of(const struct adaps_plan *plan, report_fn report)
{
    char *text = text_of(plan, report);
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(root != NULL, "line %d: %s\n%s", error.line, error.text, text);
    free(text);
    return root;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    ck_assert_msg(json_is_number(value), "%s is no number", key);
    return json_number_value(value);
}

static const char *string(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    ck_assert_msg(json_is_string(value), "%s is no string", key);
    return json_string_value(value);
}

static void near(double a, double b)
{
    ck_assert_msg(fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)) + 1e-12, "%.17g is not %.17g", a, b);
}

/* Hostile names. */
#define NASTY "a<b>&\"c'\\\x1b[31m\x80\xc3(\xe2\x82\xac\n"
#define NASTY_CLEAN "a<b>&\"c'\\?[31m?\?(\xe2\x82\xac?"

static struct adaps_plan *nasty_plan(void)
{
    struct adaps_plan *plan = ad_fixture_banded(3);
    struct ad_graph *graph = plan->graph;
    graph->name = NASTY;
    for (int i = 0; i < graph->nops; i++)
        graph->ops[i].name = NASTY;
    for (int i = 0; i < graph->nvalues; i++)
        graph->values[i].name = NASTY;
    snprintf(plan->cluster.devices[1].name, sizeof plan->cluster.devices[1].name, "%s", NASTY);
    snprintf(plan->note, sizeof plan->note, "%s", NASTY);
    snprintf(plan->strategy, sizeof plan->strategy, "%s", NASTY);
    ad_free(plan->model_path);
    plan->model_path = ad_strdup("/models/" NASTY);
    return plan;
}

START_TEST(cleaning)
{
    char buf[64], small[4];
    ck_assert_str_eq(ad_text_clean(NASTY, buf, sizeof buf), NASTY_CLEAN);
    ck_assert_str_eq(ad_text_clean("\xed\xa0\x80", buf, sizeof buf), "???"); /* a surrogate */
    ck_assert_str_eq(ad_text_clean("\xc0\xaf", buf, sizeof buf), "??");      /* overlong */
    ck_assert_str_eq(ad_text_clean("\xc2\x9b", buf, sizeof buf), "??");      /* C1 control */
    ck_assert_str_eq(ad_text_clean("\xf0\x9f\x98\x80", buf, sizeof buf), "\xf0\x9f\x98\x80");
    ck_assert_str_eq(ad_text_clean("\xf4\x90\x80\x80", buf, sizeof buf), "????");   /* > 10ffff */
    ck_assert_str_eq(ad_text_clean("a\u202eb\u2069", buf, sizeof buf), "a???b???"); /* directions */
    ck_assert_str_eq(ad_text_clean("\u200a\u2070", buf, sizeof buf), "\u200a\u2070");
    ck_assert_str_eq(ad_text_clean("\xe2\x82", buf, sizeof buf), "??");           /* cut off */
    ck_assert_str_eq(ad_text_clean("ab\xe2\x82\xac", small, sizeof small), "ab"); /* no half euro */
    ck_assert_uint_eq(ad_text_length("a\xe2\x82\xac"), 2);
}
END_TEST

static char *table_text(size_t nameless, const char *columns)
{
    static const struct ad_column both[] = {{"name", false, true}, {"number", true, false}};
    char *text = NULL, name[200];
    size_t size;
    if (columns)
        setenv("COLUMNS", columns, 1);
    else
        unsetenv("COLUMNS");
    FILE *out = open_memstream(&text, &size);
    struct ad_table table;
    ad_table_init(&table, both, 2);
    memset(name, 'x', sizeof name);
    name[nameless] = '\0';
    ad_table_cell(&table, "%s", name);
    ad_table_cell(&table, "%d", 7);
    ad_table_cell(&table, "short");
    ad_table_cell(&table, "%d", 12345678);
    ck_assert_int_eq(ad_table_print(&table, out, NULL), ADAPS_OK);
    ad_table_fini(&table);
    fclose(out);
    return text;
}

START_TEST(tables)
{
    char *text = table_text(6, NULL);
    ck_assert_str_eq(text, "name      number\nxxxxxx         7\nshort   12345678\n");
    free(text);
    text = table_text(150, NULL); /* no limit */
    ck_assert_ptr_nonnull(strchr(text, '\n'));
    ck_assert_uint_eq(strcspn(text, "\n"), 150 + 2 + 8);
    free(text);
    text = table_text(150, "80");
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        ck_assert_uint_eq(strcspn(line, "\n"), 80);
    ck_assert_ptr_nonnull(strstr(text, "xxx...  "));
    free(text);
}
END_TEST

/* Every line of the tables fits. */
START_TEST(reports_fit_the_terminal)
{
    static const report_fn reports[] = {ad_report_plan, ad_report_steps, ad_report_simulation};
    struct adaps_plan *plan = _i % 2 ? nasty_plan() : ad_fixture_banded(4);
    setenv("COLUMNS", "80", 1);
    char *text = text_of(plan, reports[_i / 2]);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (strncmp(line, "  ", 2) != 0) /* the head's lines are texts, not tables */
            ck_assert_msg(ad_text_length(line) <= 80, "%zu: %s", ad_text_length(line), line);
    free(text);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(summary_says_all)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    plan->schedule.makespan_ns = 83800000;
    plan->single_ns = 92500000;
    plan->single_device = 1;
    plan->schedule.bytes = 527000;
    plan->schedule.messages = 6;
    plan->schedule.busy_ns[0] = 83600000;
    plan->schedule.memory[1] = 3500000;
    plan->cluster.devices[1].memory = 2000000000;
    plan->visited = 81;
    plan->space_log10 = 27.54;
    plan->search_s = 1.5;
    snprintf(plan->note, sizeof plan->note, "left out: dev7 (with it 107 ms)");
    char *text = text_of(plan, ad_report_plan);
    static const char *const wanted[] = {
        "net.onnx on 2 of 2 devices",
        "edgeflow",
        "83.8 ms",
        "92.5 ms on dev1 alone",
        "1.10 times",
        "527 kB in 6 messages",
        "10^27.5 layouts, 81 visited, 1.50 s, threshold 0.15",
        "left out: dev7 (with it 107 ms)",
        "83.6 ms",
        "3.50 MB",
        "2.00 GB",
        "dev0 *",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        ck_assert_msg(strstr(text, wanted[i]) != NULL, "'%s' is not in\n%s", wanted[i], text);
    free(text);
    plan->single_device = -1;
    text = text_of(plan, ad_report_plan);
    ck_assert_ptr_nonnull(strstr(text, "no device has the memory"));
    free(text);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(plan_json)
{
    struct adaps_plan *plan = ad_fixture_plan((uint64_t)_i);
    json_t *root = json_of(plan, ad_report_plan_json);
    ck_assert_str_eq(string(root, "strategy"), plan->strategy);
    near(number(root, "predicted_ms") * 1e6, (double)plan->schedule.makespan_ns);
    near(number(root, "single_ms") * 1e6, (double)plan->single_ns);
    ck_assert_str_eq(string(root, "single_device"),
                     plan->cluster.devices[plan->single_device].name);
    near(number(root, "bytes"), (double)plan->schedule.bytes);
    near(number(root, "messages"), (double)plan->schedule.messages);
    near(number(root, "visited"), (double)plan->visited);
    near(number(root, "search_s"), plan->search_s);
    const json_t *devices = json_object_get(root, "devices");
    ck_assert_uint_eq(json_array_size(devices), (size_t)plan->cluster.ndevices);
    double sent = 0, received = 0, messages = 0, shares = 0;
    for (size_t d = 0; d < json_array_size(devices); d++) {
        const json_t *device = json_array_get(devices, d);
        ck_assert_str_eq(string(device, "name"), plan->cluster.devices[d].name);
        near(number(device, "busy_ms") * 1e6, (double)plan->schedule.busy_ns[d]);
        near(number(device, "memory_bytes"), (double)plan->schedule.memory[d]);
        near(json_number_value(json_array_get(json_object_get(root, "memory_bytes"), d)),
             (double)plan->schedule.memory[d]);
        sent += number(device, "sent_bytes");
        received += number(device, "received_bytes");
        messages += number(device, "sent");
        shares += number(device, "share");
    }
    near(sent, (double)plan->schedule.bytes);
    near(received, sent);
    near(messages, (double)plan->schedule.messages);
    const json_t *links = json_object_get(root, "links");
    for (size_t i = 0; i < json_array_size(links); i++) {
        sent -= number(json_array_get(links, i), "bytes");
        messages -= number(json_array_get(links, i), "messages");
    }
    near(sent, 0);
    near(messages, 0);
    if (strcmp(plan->strategy, "single") == 0)
        ck_assert(shares > 0 && shares < 1 + 1e-9); /* what nobody reads is not computed */
    const json_t *layouts = json_object_get(root, "layouts");
    ck_assert_uint_eq(json_array_size(layouts), (size_t)plan->graph->nops);
    for (size_t i = 0; i < json_array_size(layouts); i++) {
        const json_t *layout = json_array_get(layouts, i);
        ck_assert_str_eq(string(layout, "op"), plan->graph->ops[i].name);
        ck_assert_uint_eq(json_array_size(json_object_get(layout, "regions")),
                          (size_t)plan->cluster.ndevices);
    }
    json_decref(root);
    adaps_plan_free(plan);
}
END_TEST

/* Two devices, the way back of binary16. */
START_TEST(encodings_are_told)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    char *text = text_of(plan, ad_report_steps);
    ck_assert(!strstr(text, "f16") && !strstr(text, "rounded"));
    free(text);
    for (int d = 0; d < 2; d++)
        for (int i = 0; i < plan->schedule.programs[d].nsteps; i++) {
            struct ad_step *step = &plan->schedule.programs[d].steps[i];
            if (step->kind == (d == 0 ? AD_STEP_RECV : AD_STEP_SEND))
                step->encoding = AD_ENCODING_F16;
        }
    text = text_of(plan, ad_report_steps);
    ck_assert_ptr_nonnull(strstr(text, "rounded on the way"));
    ck_assert_ptr_nonnull(strstr(text, "f32"));
    const char *link = strstr(text, "  as ");
    ck_assert_ptr_nonnull(link);
    ck_assert_ptr_nonnull(strstr(link, "f16"));
    ck_assert_ptr_nonnull(strstr(link, "B f16")); /* a step */
    free(text);
    json_t *root = json_of(plan, ad_report_plan_json);
    ck_assert(json_is_true(json_object_get(root, "lossy")));
    const json_t *links = json_object_get(root, "links");
    ck_assert_uint_eq(json_array_size(links), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *l = json_array_get(links, i);
        ck_assert_str_eq(string(l, "from"), i ? "dev1" : "dev0");
        ck_assert_str_eq(string(l, "to"), i ? "dev0" : "dev1");
        ck_assert_str_eq(string(l, "encoding"), i ? "f16" : "f32");
    }
    json_decref(root);
    adaps_plan_free(plan);
}
END_TEST

/* The regions of bands, one below the other, cover the rows. */
START_TEST(layouts_are_the_tasks)
{
    struct adaps_plan *plan = ad_fixture_banded(3);
    json_t *root = json_of(plan, ad_report_plan_json);
    const json_t *layout = json_array_get(json_object_get(root, "layouts"), 3), *regions;
    regions = json_object_get(layout, "regions");
    json_int_t row = 0;
    for (size_t d = 0; d < 3; d++) {
        const json_t *region = json_array_get(regions, d);
        ck_assert_uint_eq(json_array_size(region), 6);
        ck_assert_int_eq(json_integer_value(json_array_get(region, 0)), row);
        row = json_integer_value(json_array_get(region, 1));
        ck_assert_int_eq(json_integer_value(json_array_get(region, 5)), 8);
    }
    ck_assert_int_eq(row, 32);
    json_decref(root);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(steps_json)
{
    struct adaps_plan *plan = ad_fixture_plan((uint64_t)_i);
    json_t *root = json_of(plan, ad_report_steps_json);
    const json_t *programs = json_object_get(root, "programs");
    double bytes = 0;
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        const struct ad_program *program = &plan->schedule.programs[d];
        const json_t *steps = json_object_get(json_array_get(programs, (size_t)d), "steps");
        ck_assert_uint_eq(json_array_size(steps), (size_t)program->nsteps);
        for (int i = 0; i < program->nsteps; i++) {
            static const char *const kinds[] = {"compute", "send", "recv"};
            const struct ad_step *step = &program->steps[i];
            const json_t *json = json_array_get(steps, (size_t)i);
            ck_assert_str_eq(string(json, "kind"), kinds[step->kind]);
            near(number(json, "start_ms") * 1e6, (double)step->start_ns);
            near(number(json, "end_ms") * 1e6, (double)step->end_ns);
            if (step->kind == AD_STEP_COMPUTE)
                ck_assert_uint_eq(json_array_size(json_object_get(json, "tasks")),
                                  (size_t)step->ntasks);
            else
                near(number(json, "tag"), step->tag);
            if (step->kind == AD_STEP_SEND)
                bytes += number(json, "bytes");
        }
    }
    near(bytes, (double)plan->schedule.bytes);
    json_decref(root);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(trace)
{
    struct adaps_plan *plan = ad_fixture_plan((uint64_t)_i);
    json_t *root = json_of(plan, ad_report_trace);
    const json_t *events = json_object_get(root, "traceEvents"), *event;
    double busy[AD_MAX_DEVICES] = {0};
    size_t index, up = 0, down = 0, names = 0;
    json_array_foreach(events, index, event)
    {
        const char *phase = string(event, "ph");
        int pid = (int)number(event, "pid");
        if (strcmp(phase, "M") == 0) {
            if (strcmp(string(event, "name"), "process_name") == 0) {
                ck_assert_str_eq(string(json_object_get(event, "args"), "name"),
                                 plan->cluster.devices[pid].name);
                names++;
            }
            continue;
        }
        ck_assert_str_eq(phase, "X");
        ck_assert(number(event, "ts") >= 0 && number(event, "dur") >= 0);
        ck_assert(number(event, "ts") + number(event, "dur") <=
                      (double)plan->schedule.makespan_ns / 1e3 + 1e-6 ||
                  number(event, "tid") > 0);
        if (strcmp(string(event, "cat"), "compute") == 0)
            busy[pid] += number(event, "dur");
        up += number(event, "tid") == 1;
        down += number(event, "tid") == 2;
    }
    ck_assert_uint_eq(names, (size_t)plan->cluster.ndevices);
    ck_assert_uint_eq(up, (size_t)plan->schedule.messages);
    ck_assert_uint_eq(down, up);
    for (int d = 0; d < plan->cluster.ndevices; d++)
        ck_assert(fabs(busy[d] * 1e3 - (double)plan->schedule.busy_ns[d]) < 1);
    json_decref(root);
    adaps_plan_free(plan);
}
END_TEST

/* Tags nest and close, attributes are quoted, entities are known: enough to catch an unescaped
 * name. */
static void check_markup(const char *text)
{
    const char *stack[64];
    size_t lengths[64], depth = 0, tags = 0;
    for (const char *p = text; *p; p++) {
        ck_assert_msg((unsigned char)*p >= 0x20 || *p == '\n', "control character %d", *p);
        if (*p == '&') {
            size_t n = strcspn(p, ";");
            ck_assert_msg(n < 8, "entity at %.20s", p);
        }
        if (*p != '<')
            continue;
        if (p[1] == '!') {
            p += strcspn(p, ">");
            continue;
        }
        bool closing = p[1] == '/';
        const char *name = p + 1 + closing;
        size_t length = 0;
        while (isalnum((unsigned char)name[length]))
            length++;
        ck_assert_msg(length > 0, "no tag at %.20s", p);
        bool quoted = false;
        for (p = name + length; *p && (quoted || *p != '>'); p++) {
            quoted ^= *p == '"';
            ck_assert_msg(*p != '<', "a tag within a tag: %.20s", p);
        }
        ck_assert(*p == '>');
        tags++;
        if (closing) {
            ck_assert_msg(depth > 0 && lengths[depth - 1] == length &&
                              memcmp(stack[depth - 1], name, length) == 0,
                          "closed too early: %.20s", name);
            depth--;
        } else if (p[-1] != '/') {
            ck_assert_uint_lt(depth, 64);
            stack[depth] = name;
            lengths[depth++] = length;
        }
    }
    ck_assert_uint_eq(depth, 0);
    ck_assert_uint_gt(tags, 10);
}

/* Empties the elements of this name, which are not markup. */
static void empty_elements(char *text, const char *begin, const char *end)
{
    char *to = text;
    for (const char *from = text; *from;) {
        const char *inside = strncmp(from, begin, strlen(begin)) == 0 ? strchr(from, '>') : NULL;
        const char *next = inside ? strstr(inside, end) : from + 1;
        size_t keep = inside ? (size_t)(inside - from) + 1 : 1;
        ck_assert_ptr_nonnull(next);
        memmove(to, from, keep);
        to += keep;
        from = next;
    }
    *to = '\0';
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *p = strstr(text, word); p; p = strstr(p + 1, word))
        n++;
    return n;
}

START_TEST(pictures)
{
    struct adaps_plan *plan = _i == 0 ? nasty_plan() : ad_fixture_plan((uint64_t)_i);
    char *svg = text_of(plan, ad_report_svg), *html = text_of(plan, ad_page_print);
    empty_elements(html, "<script", "</script>");
    empty_elements(html, "<style", "</style>");
    check_markup(svg);
    check_markup(html);
    size_t computes = 0, steps = 0;
    for (int d = 0; d < plan->cluster.ndevices; d++)
        for (int i = 0; i < plan->schedule.programs[d].nsteps; i++, steps++) {
            const struct ad_step *step = &plan->schedule.programs[d].steps[i];
            computes += step->kind == AD_STEP_COMPUTE && step->end_ns > step->start_ns;
        } /* concatenations in place take no time */
    ck_assert_uint_eq(count(svg, "<rect class=\"compute\""), computes + 1); /* and the legend's */
    ck_assert_uint_eq(count(svg, "<rect class=\"send\""), (size_t)plan->schedule.messages + 1);
    ck_assert_uint_eq(count(svg, "<rect class=\"recv\""), (size_t)plan->schedule.messages + 1);
    ck_assert_ptr_nonnull(strstr(html, "<svg"));
    ck_assert_uint_eq(count(html, "<tr><td>"), steps);
    /* self-contained: the empty icon is the only address */
    ck_assert_uint_eq(count(html, "http:") + count(html, "https:"), 0);
    ck_assert_ptr_null(strstr(html, " src="));
    ck_assert_uint_eq(count(html, "href="), 1);
    free(svg);
    free(html);
    adaps_plan_free(plan);
}
END_TEST

/* Quotes and braces pair up. */
static void check_dot(const char *text)
{
    int depth = 0;
    bool quoted = false;
    for (const char *p = text; *p; p++) {
        if (quoted && *p == '\\')
            p++;
        else if (*p == '"')
            quoted = !quoted;
        else if (!quoted)
            depth += (*p == '{') - (*p == '}');
        ck_assert_int_ge(depth, 0);
    }
    ck_assert_int_eq(depth, 0);
    ck_assert(!quoted);
}

START_TEST(graphs)
{
    struct adaps_plan *plan = _i == 0 ? nasty_plan() : ad_fixture_plan((uint64_t)_i);
    char *text = text_of(plan, ad_report_plan_dot);
    check_dot(text);
    ck_assert_uint_eq(count(text, "constraint=false"), (size_t)plan->schedule.messages);
    free(text);

    struct ad_blocks blocks;
    size_t size;
    ck_assert_int_eq(ad_blocks_find(plan->graph, &blocks, NULL), ADAPS_OK);
    FILE *out = open_memstream(&text, &size);
    ck_assert_int_eq(ad_report_inspect_dot(plan->graph, &blocks, out, NULL), ADAPS_OK);
    fclose(out);
    check_dot(text);
    ck_assert_uint_eq(count(text, "subgraph cluster_"), (size_t)blocks.nblocks);
    free(text);
    ad_blocks_fini(&blocks);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(inspect)
{
    struct ad_graph *graph = ad_fixture_graph((uint64_t)_i);
    struct ad_blocks blocks;
    char *text;
    size_t size;
    ck_assert_int_eq(ad_blocks_find(graph, &blocks, NULL), ADAPS_OK);
    FILE *out = open_memstream(&text, &size);
    ck_assert_int_eq(ad_report_inspect_json(graph, &blocks, out, NULL), ADAPS_OK);
    fclose(out);
    json_t *root = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(root);
    free(text);
    const json_t *ops = json_object_get(root, "ops"), *op;
    size_t index;
    double macs = 0;
    ck_assert_uint_eq(json_array_size(ops), (size_t)graph->nops);
    json_array_foreach(ops, index, op)
    {
        const struct ad_op *own = &graph->ops[index];
        ck_assert_str_eq(string(op, "name"), own->name);
        ck_assert_int_eq((int)number(op, "type"), ad_op_type(own));
        ck_assert_int_eq((int)number(op, "block"), blocks.block_of[index]);
        ck_assert_uint_eq(json_array_size(json_object_get(op, "dims")),
                          (size_t)graph->values[own->output].rank);
        macs += number(op, "macs");
    }
    near(number(root, "macs"), macs);
    json_decref(root);

    out = open_memstream(&text, &size);
    ck_assert_int_eq(ad_report_inspect(graph, &blocks, out, NULL), ADAPS_OK);
    fclose(out);
    for (int i = 0; i < graph->nops; i++)
        ck_assert_ptr_nonnull(strstr(text, graph->ops[i].name));
    free(text);
    ad_blocks_fini(&blocks);
    ad_graph_free(graph);
}
END_TEST

/* The critical path's steps follow each other, end with the result, and explain the latency. */
START_TEST(critical_path)
{
    struct adaps_plan *plan = ad_fixture_plan((uint64_t)_i);
    struct ad_simulation s;
    ck_assert_int_eq(ad_simulation_init(&s, plan, NULL), ADAPS_OK);
    int64_t last = 0, bytes = 0, messages = 0;
    for (size_t i = 0; i < s.npath; i++) {
        ck_assert_int_ge(s.path[i].start_ns, last);
        last = s.path[i].end_ns;
    }
    ck_assert_int_le(last, plan->schedule.makespan_ns);
    ck_assert_int_le(s.compute_ns + s.transfer_ns, plan->schedule.makespan_ns);
    if (plan->schedule.messages == 0) /* one device: it computes all the time */
        ck_assert_int_eq(s.compute_ns, plan->schedule.makespan_ns);
    ck_assert_int_gt(s.compute_ns, 0);
    for (size_t i = 0; i < s.nlinks; i++) {
        ck_assert_int_ne(s.links[i].from, s.links[i].to);
        bytes += s.links[i].bytes;
        messages += s.links[i].messages;
    }
    ck_assert_int_eq(bytes, plan->schedule.bytes);
    ck_assert_int_eq(messages, plan->schedule.messages);
    ad_simulation_fini(&s);

    json_t *root = json_of(plan, ad_report_simulation_json);
    near(number(root, "predicted_ms") * 1e6, (double)plan->schedule.makespan_ns);
    const json_t *devices = json_object_get(root, "devices"), *device;
    size_t d;
    json_array_foreach(devices, d, device)
        near(number(device, "busy_ms") * 1e6, (double)plan->schedule.busy_ns[d]);
    ck_assert_uint_eq(d, (size_t)plan->cluster.ndevices);
    json_decref(root);
    adaps_plan_free(plan);
}
END_TEST

/* Everything sent to a second device that does all the work: transfer, compute, transfer. */
START_TEST(critical_path_of_an_offload)
{
    struct ad_builder b;
    struct ad_cluster cluster;
    struct ad_graph *graph;
    ad_build_init(&b, 5);
    int x = ad_build_input(&b, 1, 8, 8, 4);
    for (int i = 0; i < 3; i++)
        x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, 4);
    ad_build_output(&b, x);
    ck_assert_int_eq(ad_build_finish(&b, &graph, NULL), ADAPS_OK);
    ad_fixture_cluster(&cluster, 2);
    cluster.devices[0].speed = 0.001;
    struct adaps_plan *plan = ad_fixture_make(graph, &cluster, "single");
    ck_assert_int_eq(plan->single_device, 1);
    struct ad_simulation s;
    ck_assert_int_eq(ad_simulation_init(&s, plan, NULL), ADAPS_OK);
    ck_assert_uint_eq(s.npath, 3);
    ck_assert_int_eq(s.path[0].device, 0);
    ck_assert_int_eq(s.path[1].device, 1);
    ck_assert_int_eq(s.path[2].device, 1);
    ck_assert_int_eq(s.path[1].start_ns, s.path[0].end_ns + 10000); /* the latency */
    ck_assert_int_eq(s.compute_ns, plan->schedule.busy_ns[1]);
    ck_assert_int_eq(s.transfer_ns, 2 * 10240); /* 1024 bytes each way at 100 MB/s */
    char text[128];
    ck_assert_str_eq(ad_report_step(plan, 0, 0, text, sizeof text), "SEND input_0 all to dev1");
    ad_simulation_fini(&s);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(step_lines)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    char text[256], tiny[8];
    bool send = false, receive = false, compute = false;
    for (int i = 0; i < plan->schedule.programs[1].nsteps; i++) {
        ad_report_step(plan, 1, i, text, sizeof text);
        send = send || (strncmp(text, "SEND ", 5) == 0 && strstr(text, " rows ") &&
                        strstr(text, " to dev0"));
        receive = receive || (strncmp(text, "RECV ", 5) == 0 && strstr(text, " from dev0"));
        compute = compute || (strncmp(text, "COMPUTE ", 8) == 0 && strstr(text, " rows "));
        ad_report_step(plan, 1, i, tiny, sizeof tiny);
        ck_assert_uint_lt(strlen(tiny), sizeof tiny);
    }
    ck_assert(send && receive && compute);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(writing_fails)
{
    static const report_fn reports[] = {
        ad_report_plan,       ad_report_plan_json,
        ad_report_steps,      ad_report_steps_json,
        ad_report_plan_dot,   ad_report_svg,
        ad_report_trace,      ad_page_print,
        ad_report_simulation, ad_report_simulation_json,
    };
    struct adaps_plan *plan = ad_fixture_banded(2);
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        FILE *full = fopen("/dev/full", "w");
        struct adaps_error err = {0};
        ck_assert_ptr_nonnull(full);
        ck_assert_int_eq(reports[i](plan, full, &err), ADAPS_EINTERNAL);
        ck_assert(err.message[0]);
        fclose(full);
    }
    adaps_plan_free(plan);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report");
    TCase *c = tcase_create("report");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, cleaning);
    tcase_add_test(c, tables);
    tcase_add_loop_test(c, reports_fit_the_terminal, 0, 6);
    tcase_add_test(c, summary_says_all);
    tcase_add_loop_test(c, plan_json, 0, 32);
    tcase_add_test(c, encodings_are_told);
    tcase_add_test(c, layouts_are_the_tasks);
    tcase_add_loop_test(c, steps_json, 0, 16);
    tcase_add_loop_test(c, trace, 0, 16);
    tcase_add_loop_test(c, pictures, 0, 16);
    tcase_add_loop_test(c, graphs, 0, 16);
    tcase_add_loop_test(c, inspect, 0, 16);
    tcase_add_loop_test(c, critical_path, 0, 32);
    tcase_add_test(c, critical_path_of_an_offload);
    tcase_add_test(c, step_lines);
    tcase_add_test(c, writing_fails);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
