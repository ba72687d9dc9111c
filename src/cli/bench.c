/* adaps bench: the command line. */
#include "cli/metrics_option.h"
#include "cli/bench.h"
#include "cli/devices.h"
#include "cli/plan_options.h"
#include "cli/progress.h"
#include "cli/run_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_ROUNDS 10
#define DEFAULT_RUNS 5
#define REFINE_ROUNDS 5
#define REFINE_RUNS 50
#define MAX_STRATEGIES 32

struct command_line {
    struct ad_bench_options bench;
    struct ad_bench_choice choices[MAX_STRATEGIES];
    const char *reference;
    const char *local, *speed; /* of agents that bench starts */
    bool json, tsv;
    struct ad_cli_devices devices;
    struct ad_waiting_line waiting;
};

static bool known(const struct ad_bench_options *o, const char *name, int *index)
{
    for (*index = 0; *index < o->nstrategies; ++*index)
        if (strcmp(o->strategies[*index].name, name) == 0)
            return true;
    *index = -1;
    return false;
}

/* "single", "auto+late", "auto+lossy", "local". False: there is no such thing. */
static bool choose(const char *name, struct ad_bench_choice *out)
{
    char strategy[sizeof out->name];
    *out = (struct ad_bench_choice){.local = strcmp(name, "local") == 0};
    size_t length = strcspn(name, "+");
    out->late = strcmp(name + length, "+late") == 0;
    out->lossy = strcmp(name + length, "+lossy") == 0;
    if (strlen(name) >= sizeof out->name || (name[length] && !out->late && !out->lossy))
        return false;
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(strategy, sizeof strategy, "%.*s", (int)length, name);
    const struct ad_strategy *found = ad_strategy_find(out->local ? "single" : strategy);
    out->strategy = found ? found->name : NULL;
    return found != NULL;
}

/* "a,b,c" or "all". */
static int take_strategies(const struct ad_command *command, const char *text, void *bench)
{
    struct ad_bench_options *o = bench;
    o->nstrategies = 0;
    if (strcmp(text, "all") == 0) {
        for (const struct ad_strategy *s = ad_strategies; s->name && !s->small; s++)
            choose(s->name, &o->strategies[o->nstrategies++]);
        return ADAPS_OK;
    }
    for (const char *p = text; p;) {
        size_t length = strcspn(p, ",");
        char name[sizeof o->strategies->name];
        int index;
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
                 p);
        if (o->nstrategies == MAX_STRATEGIES || known(o, name, &index))
            return ad_cli_usage(command, "--strategy %s: %s is there twice", text, name);
        if (!choose(name, &o->strategies[o->nstrategies]))
            return ad_plan_usage_strategy(command, name);
        o->nstrategies++;
        p = p[length] ? p + length + 1 : NULL;
    }
    return ADAPS_OK;
}

static int take_reference(const struct ad_command *command, const char *name, void *reference)
{
    struct ad_bench_choice choice;
    *(const char **)reference = name;
    return choose(name, &choice) ? ADAPS_OK : ad_plan_usage_strategy(command, name);
}

/* Defaults, the strategies that others are compared with, and options that exclude each other.
 * ADAPS_OK, or ADAPS_EUSAGE after a message. */
static int check(struct command_line *line)
{
    struct ad_bench_options *o = &line->bench;
    if (o->nstrategies == 0 && o->predict)
        take_strategies(&ad_command_bench, ad_strategies[0].name, o);
    if (o->nstrategies == 0 && o->refine)
        take_strategies(&ad_command_bench, "collaborative", o);
    if (o->nstrategies == 0)
        take_strategies(&ad_command_bench, "all", o);
    if (o->predict && o->nstrategies > 1)
        return ad_cli_usage(&ad_command_bench, "--predict looks at one --strategy, not %d",
                            o->nstrategies);
    if (o->refine && (o->predict || line->tsv || line->reference || o->counters || o->when_pushed))
        return ad_cli_usage(&ad_command_bench, "--refine excludes --predict, --tsv, --reference, "
                                               "--counters and --when-pushed");
    if (o->refine && (o->nstrategies > 1 || o->strategies[0].local || o->strategies[0].late ||
                      o->strategies[0].lossy))
        return ad_cli_usage(&ad_command_bench, "--refine takes one --strategy, as it is");
    if (o->predict && o->strategies[0].local)
        return ad_cli_usage(&ad_command_bench, "--predict looks at agents: local has none");
    if (line->json && line->tsv)
        return ad_cli_usage(&ad_command_bench, "--json or --tsv, not both");
    if (line->speed && !line->local)
        return ad_cli_usage(&ad_command_bench, "--speed goes with --local-agents");
    known(o, "single", &o->single);
    if (line->reference && !known(o, line->reference, &o->reference))
        return ad_cli_usage(&ad_command_bench, "--reference %s: it is not among the strategies",
                            line->reference);
    if (!line->reference && !known(o, "edgeflow", &o->reference))
        o->reference = 0;
    if (o->rounds == 0 && (o->refine || !(o->seconds > 0)))
        o->rounds = o->refine ? REFINE_ROUNDS : DEFAULT_ROUNDS;
    if (o->runs == 0)
        o->runs = o->refine ? REFINE_RUNS : DEFAULT_RUNS;
    if (o->refine && o->runs < 2)
        return ad_cli_usage(&ad_command_bench, "--refine takes at least two --runs");
    return ADAPS_OK;
}

/* On a terminal, which round it is. */
static void show_progress(void *self, const char *what, size_t round)
{
    const struct ad_bench_options *o = self;
    if (round == 0)
        ad_progress_say("%s", what);
    else if (o->rounds)
        ad_progress_say("%s %zu of %jd", what, round, (intmax_t)o->rounds);
    else
        ad_progress_say("%s %zu", what, round);
}

static enum adaps_status print(const struct command_line *line, struct ad_bench *bench,
                               struct adaps_error *err)
{
    struct ad_bench_entry *first = &bench->entries[0];
    if (line->bench.predict)
        return (line->json  ? ad_report_predict_json
                : line->tsv ? ad_report_predict_tsv
                            : ad_report_predict)(&first->predict, stdout, err);
    return (line->json  ? ad_bench_print_json
            : line->tsv ? ad_bench_print_tsv
                        : ad_bench_print)(bench, stdout, err);
}

static int fail(const struct command_line *line, struct adaps_error *err)
{
    ad_cli_devices_blame(&line->devices, err);
    return ad_cli_fail(&ad_command_bench, err);
}

static int bench(const struct command_line *line)
{
    struct adaps_error err = {0};
    struct ad_bench bench = {.progress = show_progress, .progress_self = (void *)&line->bench};
    uint64_t differ = 0;
    enum adaps_status status = ad_bench_run(&bench, &line->bench, &err);
    ad_progress_clear();
    if (status == ADAPS_OK)
        status = print(line, &bench, &err);
    for (int i = 0; status == ADAPS_OK && i < line->bench.nstrategies; i++)
        if (!bench.entries[i].plan || !ad_plan_lossy(bench.entries[i].plan))
            differ += bench.entries[i].differ;
    if (differ)
        fprintf(stderr,
                "adaps bench: %ju elements differ from the single-device answer; first: %s\n",
                (uintmax_t)differ, bench.first_difference);
    ad_bench_fini(&bench);
    if (status != ADAPS_OK)
        return fail(line, &err);
    int code = ad_cli_close_stdout(&ad_command_bench);
    return code == ADAPS_OK && differ ? ADAPS_NO : code;
}

static int refine(const struct command_line *line)
{
    struct ad_refinement refinement;
    struct adaps_error err = {0};
    enum adaps_status status = ad_bench_refine(&refinement, &line->bench, &err);
    if (status == ADAPS_OK)
        status = (line->json ? ad_bench_refine_print_json : ad_bench_refine_print)(&refinement,
                                                                                   stdout, &err);
    ad_bench_refine_fini(&refinement);
    return status == ADAPS_OK ? ad_cli_close_stdout(&ad_command_bench) : fail(line, &err);
}

/* Set in the environment of the bench that runs within adaps local, with agents of its own. */
#define WITHIN "ADAPS_BENCH_WITHIN_LOCAL"

/* The same command again, within adaps local. */
static int start_local(const struct command_line *line, int argc, char **argv)
{
    const char *const head[] = {"adaps", "local", line->local, line->speed ? "--speed" : NULL,
                                line->speed};
    struct adaps_error err;
    const char **words = ad_calloc((size_t)argc + 10, sizeof *words);
    size_t n = 0;
    if (!words) {
        ad_error_memory(&err, "command line", (size_t)argc * sizeof *words);
        return ad_cli_fail(&ad_command_bench, &err);
    }
    for (size_t i = 0; i < sizeof head / sizeof *head && head[i]; i++)
        words[n++] = head[i];
    words[n++] = "--";
    words[n++] = "/proc/self/exe";
    for (int i = 0; i < argc; i++)
        words[n++] = argv[i];
    if (setenv(WITHIN, "1", 1) == 0)
        execv("/proc/self/exe", (char **)words);
    ad_error_set(&err, ADAPS_EINTERNAL, "cannot start adaps local: %s", strerror(errno));
    ad_free(words);
    return ad_cli_fail(&ad_command_bench, &err);
}

static int run_with(struct command_line *line, const struct ad_cli_config *config,
                    const char *model)
{
    struct ad_pipeline_options *passes = &line->bench.passes;
    passes->model = model ? model : config->model;
    passes->devices = line->devices.path;
    ad_waiting_line_set(&line->waiting, &ad_command_bench, &line->bench.session);
    if (!passes->model)
        return ad_cli_usage(&ad_command_bench, "no model: name one here or in adaps.conf");
    if (!passes->devices)
        return ad_cli_usage(&ad_command_bench, AD_DEVICES_WANTED);
    return line->bench.refine ? refine(line) : bench(line);
}

static int run(int argc, char **argv)
{
    struct command_line line = {.bench = {.passes = ad_plan_defaults()}};
    struct ad_cli_config config;
    struct adaps_error err = {0};
    char **words = ad_calloc((size_t)argc + 1, sizeof *words); /* parsing changes their order */
    struct ad_operands operands;
    if (!words) {
        ad_error_memory(&err, "command line", (size_t)argc * sizeof *words);
        return ad_cli_fail(&ad_command_bench, &err);
    }
    memcpy(words, argv, (size_t)argc * sizeof *words);
    line.bench.strategies = line.choices;
    int code = ad_options_parse(&ad_command_bench, argc, argv, &line, &operands);
    if (code == ADAPS_OK)
        code = check(&line);
    if (code == ADAPS_OK && operands.count > 1)
        code = ad_cli_usage(&ad_command_bench, "one MODEL expected, not %d", operands.count);
    if (code == ADAPS_OK && line.local && line.bench.passes.devices)
        code = ad_cli_usage(&ad_command_bench, "--local-agents and --devices exclude each other");
    if (code == ADAPS_OK && line.local && !getenv(WITHIN))
        code = start_local(&line, argc, words);
    else if (code == ADAPS_OK && ad_cli_config_load(&config, &err) != ADAPS_OK)
        code = ad_cli_fail(&ad_command_bench, &err);
    else if (code == ADAPS_OK) {
        if (ad_cli_devices_find(line.bench.passes.devices, &line.devices, &err) == ADAPS_OK)
            code = run_with(&line, &config, operands.count ? operands.items[0] : NULL);
        else
            code = ad_cli_fail(&ad_command_bench, &err);
        ad_cli_devices_fini(&line.devices);
        ad_cli_config_fini(&config);
    }
    ad_free(words);
    return code;
}

#define BENCH struct command_line
static const struct ad_option options_table[] = {
    AD_OPT_TEXT('d', "devices", "FILE", BENCH, bench.passes.devices,
                "the devices and their agents (default: $ADAPS_DEVICES, those of\n"
                "adaps.conf, or the paired ones)"),
    AD_OPT_CALL("strategy", "A,B,...", BENCH, bench, take_strategies,
                "strategies to compare (default: all but exhaustive); A+late computes\n"
                "and sends nothing ahead, A+lossy may round messages, local is\n"
                "one device without agents"),
    AD_OPT_CALL("reference", "NAME", BENCH, reference, take_reference,
                "ratios are relative to this one (default: edgeflow)"),
    AD_OPT_INT64("rounds", "N", BENCH, bench.rounds, 1, AD_BENCH_MOST_ROUNDS,
                 "how often each has its turn (default: 10)"),
    AD_OPT_SECONDS("seconds", "S", BENCH, bench.seconds, 0, AD_MOST_SECONDS, "60s",
                   "no round begins later than this; without --rounds, 1000 at most"),
    AD_OPT_INT64("runs", "N", BENCH, bench.runs, 1, AD_BENCH_MOST_RUNS,
                 "inferences of a turn that count, after one that does not\n"
                 "(default: 5)"),
    AD_OPT_TEXT(0, "counters", "COMMAND", BENCH, bench.counters,
                "prints lines NAME UP DOWN: the bytes that links have carried"),
    AD_OPT_TEXT(0, "when-pushed", "COMMAND", BENCH, bench.when_pushed,
                "run before anything is measured: to slow links down, say"),
    AD_OPT_FLAG(0, "predict", BENCH, bench.predict,
                "one strategy (default: auto), traced: predicted, measured and\n"
                "error of each device and link, and the step that errs most"),
    AD_OPT_FLAG(0, "refine", BENCH, bench.refine,
                "one strategy (default: collaborative), as a stream: correct the\n"
                "devices' speeds by what is measured and plan again (default: at\n"
                "most 5 rounds of 50 inferences)"),
    AD_OPT_FLAG(0, "wall", BENCH, bench.wall,
                "times from sending the input to having the answer, not the agents'"),
    AD_OPT_TEXT(0, "local-agents", "N", BENCH, local,
                "start agents on this machine for it (adaps-local(1))"),
    AD_OPT_TEXT(0, "speed", "F,F,...", BENCH, speed, "their fractions of full speed"),
    AD_OPT_INT64("threads", "N", BENCH, bench.threads, 1, 64,
                 "compute threads of the single-device answer"),
    AD_OPT_GROUP(ad_plan_option_rows, BENCH, bench.passes),
    AD_OPT_GROUP(ad_session_option_rows, BENCH, bench.session),
    AD_OPT_GROUP(ad_metrics_option_rows, BENCH, bench.session),
    AD_OPT_FLAG(0, "json", BENCH, json, "print JSON"),
    AD_OPT_FLAG(0, "tsv", BENCH, tsv, "print a table of tabs"),
    AD_OPT_END,
};

const struct ad_command ad_command_bench = {
    .name = "bench",
    .arguments = "[OPTIONS] [-d DEVICES] [MODEL.onnx]",
    .summary = "Measure strategies side by side on the same agents; hold predictions against it.",
    .options = options_table,
    .notes =
        "Every answer is compared with the single-device answer: exit status 1 when one differs "
        "that\nno plan rounds.\n",
    .run = run,
};
