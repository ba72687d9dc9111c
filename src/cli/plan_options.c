#include "cli/plan_options.h"
#include "cli/dim_option.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_THRESHOLD 0.15
#define LEAST_RATE 1e-6 /* answers a second */
#define MOST_RATE 1e6
#define MAX_TIME_S 1e6
#define MAX_EFFORT INT64_C(1000000)
#define MAX_EVALUATIONS INT64_C(1000000000000)

struct ad_pipeline_options ad_plan_defaults(void)
{
    return (struct ad_pipeline_options){.bandwidth = -1,
                                        .latency = -1,
                                        .threshold = DEFAULT_THRESHOLD,
                                        .split_h = true,
                                        .split_w = true,
                                        .split_c = true,
                                        .objective = AD_OBJECTIVE_LATENCY};
}

int ad_plan_usage_strategy(const struct ad_command *command, const char *name)
{
    char known[512] = "all";
    for (const struct ad_strategy *s = ad_strategies; s->name; s++) {
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, ", %s", s->name);
    }
    return ad_cli_usage(command, "--strategy %s: there are %s", name, known);
}

/* In the order in which they are told. */
static const enum ad_objective objectives[] = {AD_OBJECTIVE_LATENCY, AD_OBJECTIVE_THROUGHPUT,
                                               AD_OBJECTIVE_TRAFFIC, AD_OBJECTIVE_MEMORY,
                                               AD_OBJECTIVE_ENERGY};
#define OBJECTIVES "latency, throughput, traffic, memory, energy"

/* The objective of so many letters; false: there is none. */
static bool find_objective(const char *name, size_t length, enum ad_objective *out)
{
    for (size_t i = 0; i < sizeof objectives / sizeof *objectives; i++) {
        const char *known = ad_objective_name(objectives[i]);
        if (strlen(known) == length && strncmp(name, known, length) == 0) {
            *out = objectives[i];
            return true;
        }
    }
    return false;
}

static int take_objective(const struct ad_command *command, const char *name, void *objective)
{
    if (find_objective(name, strlen(name), objective))
        return ADAPS_OK;
    return ad_cli_usage(command, "--objective %s: there are " OBJECTIVES, name);
}

int ad_plan_take_pareto(const struct ad_command *command, const char *text, void *pareto)
{
    struct ad_pareto_objectives *out = pareto;
    bool seen[AD_OBJECTIVES] = {false};
    out->count = 0;
    for (const char *name = text;; name += strcspn(name, ",") + 1) {
        enum ad_objective objective;
        if (!find_objective(name, strcspn(name, ","), &objective) || seen[objective])
            return ad_cli_usage(command,
                                "--pareto %s: two or more of " OBJECTIVES
                                " are wanted, with commas between them, each once",
                                text);
        seen[objective] = true;
        out->list[out->count++] = objective;
        if (!strchr(name, ','))
            break;
    }
    return out->count > 1 ? ADAPS_OK
                          : ad_cli_usage(command, "--pareto %s: two objectives at least", text);
}

/* Answers a second as the time between two. */
static int take_rate_floor(const struct ad_command *command, const char *text, void *interval_ns)
{
    char *end;
    double rate = strtod(text, &end);
    if (end == text || *end != '\0' || !(rate >= LEAST_RATE && rate <= MOST_RATE))
        return ad_cli_usage(command, "--rate-floor %s: a number of answers a second, %g to %g",
                            text, LEAST_RATE, MOST_RATE);
    *(int64_t *)interval_ns = (int64_t)(1e9 / rate);
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

static int take_dims(const struct ad_command *command, const char *text, void *passes)
{
    if (parse_dims(text, passes))
        return ADAPS_OK;
    return ad_cli_usage(command, "--dims %s: some of h,w,c are wanted", text);
}

static int take_input(const struct ad_command *command, const char *text, void *input_f32)
{
    *(bool *)input_f32 = strcmp(text, "f32") == 0;
    if (*(bool *)input_f32 || strcmp(text, "u8") == 0)
        return ADAPS_OK;
    return ad_cli_usage(command, "--input %s: u8 or f32 is wanted", text);
}

static int take_lossy(const struct ad_command *command, const char *text, void *encodings)
{
    (void)command;
    (void)text;
    *(unsigned *)encodings |= AD_ENCODINGS_LOSSY;
    return ADAPS_OK;
}

static int take_compress(const struct ad_command *command, const char *text, void *encodings)
{
    (void)command;
    (void)text;
    *(unsigned *)encodings |= AD_ENCODING_BIT(AD_ENCODING_LZ4);
    return ADAPS_OK;
}

static int take_type3(const struct ad_command *command, const char *text, void *gather_type3)
{
    *(bool *)gather_type3 = strcmp(text, "gather") == 0;
    if (*(bool *)gather_type3 || strcmp(text, "split") == 0)
        return ADAPS_OK;
    return ad_cli_usage(command, "--type3 %s: split or gather is wanted", text);
}

static int take_conv(const struct ad_command *command, const char *text, void *conv_direct)
{
    *(bool *)conv_direct = strcmp(text, "direct") == 0;
    if (*(bool *)conv_direct || strcmp(text, "auto") == 0)
        return ADAPS_OK;
    return ad_cli_usage(command, "--conv %s: auto or direct is wanted", text);
}

#define PASSES struct ad_pipeline_options
const struct ad_option ad_plan_option_rows[] = {
    AD_OPT_DIM(PASSES, dims),
    AD_OPT_RATE("bw", PASSES, bandwidth,
                "bandwidth of every link, instead of the file's (100mbit, 12.5MB/s)"),
    AD_OPT_TIME("latency", PASSES, latency, "0.3ms",
                "latency of every link, instead of the file's (0.3ms)"),
    AD_OPT_REAL("thr", "F", PASSES, threshold, 0, 1, "search window, 0 to 1 (default: 0.15)"),
    AD_OPT_CALL("type3", "split|gather", PASSES, gather_type3, take_type3,
                "edgeflow, bbgrap and adaps: layers that mix dimensions are split where\n"
                "rows stay rows (default), or run whole on one device"),
    AD_OPT_CALL("conv", "auto|direct", PASSES, conv_direct, take_conv,
                "convolutions by Winograd's algorithm where that is sooner\n"
                "(default), or none"),
    AD_OPT_CALL("objective", "NAME", PASSES, objective, take_objective,
                "what matters: latency (default), throughput, traffic, memory, energy"),
    AD_OPT_NS("latency-cap", PASSES, latency_cap_ns, MAX_TIME_S, "20ms",
              "the answer may take this long at most (traffic: by default as long\n"
              "as the best single device takes)"),
    AD_OPT_CALL("rate-floor", "N", PASSES, interval_cap_ns, take_rate_floor,
                "a stream must give at least N answers a second"),
    AD_OPT_CALL_STRUCT("dims", "h,w,c", take_dims,
                       "dimensions that may be split: height, width, channels"),
    AD_OPT_CALL("input", "u8|f32", PASSES, input_f32, take_input,
                "how pictures go to other devices: as the bytes that they are\n"
                "(default) or as floats"),
    AD_OPT_CALL("lossy", NULL, PASSES, encodings, take_lossy,
                "links may round what they carry (f16, zfp) where that is\n"
                "sooner: other bits than those of one device"),
    AD_OPT_CALL("compress", NULL, PASSES, encodings, take_compress,
                "links may compress what they carry (lz4, the same bits)"),
    AD_OPT_FLAG(0, "late", PASSES, late, "compute and send nothing ahead, to see what that gains"),
    AD_OPT_NS("time-limit", PASSES, time_limit_ns, MAX_TIME_S, "2s",
              "how long auto improves its plan: plans may differ between runs"),
    AD_OPT_INT64("effort", "N", PASSES, effort, 1, MAX_EFFORT,
                 "so many times the layouts that auto tries by default"),
    AD_OPT_INT64("evaluations", "N", PASSES, evaluations, 1, MAX_EVALUATIONS,
                 "layouts that auto's improvement tries, and exhaustive's limit"),
    AD_OPT_INT64("seed", "N", PASSES, seed, 0, INT64_MAX,
                 "of random choices in the search (default: 0)"),
    AD_OPT_END,
};
