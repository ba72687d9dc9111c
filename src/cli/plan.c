/* adaps plan: a model and a devices file in, a plan out. */
#include "base/units.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "pipeline.h"
#include "report/report.h"

#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#define DEFAULT_THRESHOLD 0.15
#define MAX_EVALUATIONS INT64_C(1000000000000)

enum {
    OPTION_BW = 256,
    OPTION_LATENCY,
    OPTION_THR,
    OPTION_STRATEGY,
    OPTION_OBJECTIVE,
    OPTION_CAP,
    OPTION_DIMS,
    OPTION_INPUT,
    OPTION_TIME,
    OPTION_EVALS,
    OPTION_SEED,
    OPTION_JSON
};

struct plan_options {
    struct ad_pipeline_options passes;
    const char *output;
    bool json;
    bool all; /* --strategy all */
};

static int usage_strategy(const char *name)
{
    char known[512] = "all";
    for (const struct ad_strategy *s = ad_strategies; s->name; s++) {
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, ", %s", s->name);
    }
    return ad_cli_usage(&ad_command_plan, "--strategy %s: there are %s", name, known);
}

static int take_objective(struct ad_pipeline_options *passes, const char *name)
{
    static const struct {
        const char *name;
        enum ad_objective objective;
    } known[] = {{"latency", AD_OBJECTIVE_LATENCY},
                 {"traffic", AD_OBJECTIVE_TRAFFIC},
                 {"memory", AD_OBJECTIVE_MEMORY}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0) {
            passes->objective = known[i].objective;
            return ADAPS_OK;
        }
    return ad_cli_usage(&ad_command_plan, "--objective %s: %s; there are latency, traffic, memory",
                        name,
                        strcmp(name, "throughput") == 0 ? "not available in this version"
                                                        : "unknown");
}

/* A time of 1 ns to 1e6 s. */
static int take_time(int64_t *ns, const char *option, const char *text, const char *like)
{
    double seconds;
    if (!ad_parse_time(text, &seconds) || seconds < 1e-9 || seconds > 1e6)
        return ad_cli_usage(&ad_command_plan, "--%s %s: a time above 0, such as %s, is wanted",
                            option, text, like);
    *ns = (int64_t)(seconds * 1e9);
    return ADAPS_OK;
}

static int take_evaluations(struct ad_pipeline_options *passes, const char *text)
{
    if (ad_parse_int(text, 1, MAX_EVALUATIONS, &passes->evaluations))
        return ADAPS_OK;
    return ad_cli_usage(&ad_command_plan,
                        "--evaluations %s: a number from 1 to %" PRId64 " is wanted", text,
                        MAX_EVALUATIONS);
}

static int take_seed(struct ad_pipeline_options *passes, const char *text)
{
    int64_t seed;
    if (!ad_parse_int(text, 0, INT64_MAX, &seed))
        return ad_cli_usage(&ad_command_plan, "--seed %s: a number from 0 to %" PRId64 " is wanted",
                            text, INT64_MAX);
    passes->seed = (uint64_t)seed;
    return ADAPS_OK;
}

/* "h,w,c", each at most once, in any order. */
static bool parse_dims(const char *text, struct ad_pipeline_options *passes)
{
    passes->split_h = passes->split_w = passes->split_c = false;
    for (;; text += 2) {
        bool *dim = *text == 'h'   ? &passes->split_h
                    : *text == 'w' ? &passes->split_w
                    : *text == 'c' ? &passes->split_c
                                   : NULL;
        if (!dim || *dim || (text[1] != ',' && text[1] != '\0'))
            return false;
        *dim = true;
        if (text[1] == '\0')
            return true;
    }
}

/* ADAPS_OK, or ADAPS_EUSAGE after a message. */
static int take_option(struct plan_options *options, int option)
{
    struct ad_pipeline_options *passes = &options->passes;
    switch (option) {
    case 'd':
        passes->devices = optarg;
        return ADAPS_OK;
    case 'o':
        options->output = optarg;
        return ADAPS_OK;
    case OPTION_BW:
        if (ad_parse_rate(optarg, &passes->bandwidth))
            return ADAPS_OK;
        return ad_cli_usage(&ad_command_plan, "--bw %s: a rate such as 100mbit is wanted", optarg);
    case OPTION_LATENCY:
        if (ad_parse_time(optarg, &passes->latency))
            return ADAPS_OK;
        return ad_cli_usage(&ad_command_plan, "--latency %s: a time such as 0.3ms is wanted",
                            optarg);
    case OPTION_THR:
        if (ad_parse_double(optarg, 0, 1, &passes->threshold))
            return ADAPS_OK;
        return ad_cli_usage(&ad_command_plan, "--thr %s: a number from 0 to 1 is wanted", optarg);
    case OPTION_STRATEGY:
        passes->strategy = optarg;
        options->all = strcmp(optarg, "all") == 0;
        return options->all || ad_strategy_find(optarg) ? ADAPS_OK : usage_strategy(optarg);
    case OPTION_OBJECTIVE:
        return take_objective(passes, optarg);
    case OPTION_CAP:
        return take_time(&passes->latency_cap_ns, "latency-cap", optarg, "20ms");
    case OPTION_TIME:
        return take_time(&passes->time_limit_ns, "time-limit", optarg, "2s");
    case OPTION_EVALS:
        return take_evaluations(passes, optarg);
    case OPTION_SEED:
        return take_seed(passes, optarg);
    case OPTION_DIMS:
        if (parse_dims(optarg, passes))
            return ADAPS_OK;
        return ad_cli_usage(&ad_command_plan, "--dims %s: some of h,w,c are wanted", optarg);
    case OPTION_INPUT:
        passes->input_f32 = strcmp(optarg, "f32") == 0;
        if (passes->input_f32 || strcmp(optarg, "u8") == 0)
            return ADAPS_OK;
        return ad_cli_usage(&ad_command_plan, "--input %s: u8 or f32 is wanted", optarg);
    case OPTION_JSON:
        options->json = true;
        return ADAPS_OK;
    default:
        return ADAPS_EUSAGE;
    }
}

static int compile(const struct plan_options *options)
{
    struct adaps_error err = {0};
    struct adaps_plan *plan = NULL;
    struct ad_progress progress;
    ad_progress_start(&progress, "planning");
    enum adaps_status status = ad_pipeline_compile(&options->passes, &plan, &err);
    ad_progress_stop(&progress);
    if (status == ADAPS_OK)
        status = options->json ? ad_report_plan_json(plan, stdout, &err)
                               : ad_report_plan(plan, stdout, &err);
    if (status == ADAPS_OK && options->output)
        status = adaps_plan_save(plan, options->output, &err);
    adaps_plan_free(plan);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_plan, &err);
    fflush(stdout);
    if (options->output)
        fprintf(stderr, "adaps plan: written to %s\n", options->output);
    else
        fprintf(stderr, "adaps plan: nothing written; -o FILE keeps the plan\n");
    return ad_cli_close_stdout(&ad_command_plan);
}

/* All strategies; "no" when none has a plan. */
static int compare(const struct plan_options *options)
{
    struct adaps_error err = {0};
    struct ad_pipeline_comparison comparison;
    struct ad_progress progress;
    ad_progress_start(&progress, "planning");
    enum adaps_status status = ad_pipeline_compare(&options->passes, &comparison, &err);
    ad_progress_stop(&progress);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_plan, &err);
    status = options->json ? ad_report_compare_json(comparison.items, comparison.count,
                                                    &comparison.cluster, stdout, &err)
                           : ad_report_compare(comparison.items, comparison.count,
                                               &comparison.cluster, stdout, &err);
    int plans = 0;
    for (int i = 0; i < comparison.count; i++)
        plans += !comparison.items[i].error[0];
    ad_pipeline_comparison_fini(&comparison);
    if (status != ADAPS_OK)
        return ad_cli_fail(&ad_command_plan, &err);
    int code = ad_cli_close_stdout(&ad_command_plan);
    return code == ADAPS_OK && plans == 0 ? ADAPS_NO : code;
}

static int run_with(struct plan_options *options, const struct ad_cli_config *config,
                    const char *model)
{
    options->passes.model = model ? model : config->model;
    if (!options->passes.devices)
        options->passes.devices = config->devices;
    if (!options->passes.model)
        return ad_cli_usage(&ad_command_plan, "no model: name one here or in adaps.conf");
    if (!options->passes.devices)
        return ad_cli_usage(&ad_command_plan, "no devices file: name one with -d or in adaps.conf");
    return options->all ? compare(options) : compile(options);
}

static int run(int argc, char **argv)
{
    static const struct option longs[] = {{"bw", required_argument, NULL, OPTION_BW},
                                          {"latency", required_argument, NULL, OPTION_LATENCY},
                                          {"thr", required_argument, NULL, OPTION_THR},
                                          {"devices", required_argument, NULL, 'd'},
                                          {"strategy", required_argument, NULL, OPTION_STRATEGY},
                                          {"objective", required_argument, NULL, OPTION_OBJECTIVE},
                                          {"latency-cap", required_argument, NULL, OPTION_CAP},
                                          {"dims", required_argument, NULL, OPTION_DIMS},
                                          {"input", required_argument, NULL, OPTION_INPUT},
                                          {"time-limit", required_argument, NULL, OPTION_TIME},
                                          {"evaluations", required_argument, NULL, OPTION_EVALS},
                                          {"seed", required_argument, NULL, OPTION_SEED},
                                          {"output", required_argument, NULL, 'o'},
                                          {"json", no_argument, NULL, OPTION_JSON},
                                          {0}};
    struct plan_options options = {
        .passes = {.bandwidth = -1,
                   .latency = -1,
                   .threshold = DEFAULT_THRESHOLD,
                   .split_h = true,
                   .split_w = true,
                   .split_c = true,
                   .objective = AD_OBJECTIVE_LATENCY},
    };
    struct ad_cli_config config;
    struct adaps_error err = {0};
    int option;
    while ((option = ad_cli_getopt(&ad_command_plan, argc, argv, "d:o:", longs)) != -1)
        if (take_option(&options, option) != ADAPS_OK)
            return ADAPS_EUSAGE;
    if (argc - optind > 1)
        return ad_cli_usage(&ad_command_plan, "one MODEL expected, not %d", argc - optind);
    if (options.all && options.output)
        return ad_cli_usage(&ad_command_plan,
                            "--strategy all writes no plan: -o wants one strategy");
    if (ad_cli_config_load(&config, &err) != ADAPS_OK)
        return ad_cli_fail(&ad_command_plan, &err);
    int code = run_with(&options, &config, optind < argc ? argv[optind] : NULL);
    ad_cli_config_fini(&config);
    return code;
}

const struct ad_command ad_command_plan = {
    .name = "plan",
    .arguments = "[OPTIONS] [-d DEVICES] [-o PLAN] [MODEL.onnx]",
    .summary = "Choose which device computes what, and predict how long it takes.",
    .details = "  -d, --devices FILE   the devices and their links (default: from adaps.conf)\n"
               "  -o, --output PLAN    write the plan here\n"
               "  --bw RATE            bandwidth of every link, instead of the file's (100mbit, "
               "12.5MB/s)\n"
               "  --latency TIME       latency of every link, instead of the file's (0.3ms)\n"
               "  --thr F              search window, 0 to 1 (default: 0.15)\n"
               "  --strategy NAME      auto (default), single, edgeflow, adaps, bbgrap,\n"
               "                       modnn, coedge, deepslicing, deepthings, exhaustive;\n"
               "                       all: compare them (but exhaustive)\n"
               "  --objective NAME     what to make small: latency (default), traffic, memory\n"
               "  --latency-cap TIME   the answer may take this long at most (traffic: by default "
               "as long\n"
               "                       as the best single device takes)\n"
               "  --dims h,w,c         dimensions that may be split: height, width, channels\n"
               "  --input u8|f32       how pictures go to other devices: as the bytes that they are\n"
               "                       (default) or as floats\n"
               "  --time-limit TIME    auto's improvement ends then (2s): plans may differ between "
               "runs\n"
               "  --evaluations N      layouts that auto's improvement tries, and exhaustive's "
               "limit\n"
               "  --seed N             of random choices in the search (default: 0)\n"
               "  --json               print JSON\n"
               "Model and devices file are taken from adaps.conf of this folder when they are not "
               "given.\n",
    .run = run,
};
