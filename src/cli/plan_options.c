#include "cli/plan_options.h"
#include "base/units.h"

#include <getopt.h>
#include <string.h>

#define DEFAULT_THRESHOLD 0.15
#define MAX_EFFORT INT64_C(1000000)
#define MAX_EVALUATIONS INT64_C(1000000000000)

struct ad_pipeline_options ad_plan_options(void)
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

static int take_objective(const struct ad_command *command, struct ad_pipeline_options *passes,
                          const char *name)
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
    return ad_cli_usage(command, "--objective %s: %s; there are latency, traffic, memory", name,
                        strcmp(name, "throughput") == 0 ? "not available in this version"
                                                        : "unknown");
}

/* A time of 1 ns to 1e6 s. */
static int take_time(const struct ad_command *command, int64_t *ns, const char *option,
                     const char *text, const char *like)
{
    double seconds;
    if (!ad_parse_time(text, &seconds) || seconds < 1e-9 || seconds > 1e6)
        return ad_cli_usage(command, "--%s %s: a time above 0, such as %s, is wanted", option, text,
                            like);
    *ns = (int64_t)(seconds * 1e9);
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

int ad_plan_option(const struct ad_command *command, int option, const char *argument,
                   struct ad_pipeline_options *passes)
{
    int64_t seed = 0;
    int code;
    switch (option) {
    case 'd':
        passes->devices = argument;
        return ADAPS_OK;
    case AD_OPTION_DIM:
        return ad_cli_dim(command, argument, &passes->dims);
    case AD_PLAN_OPTION_BW:
        if (ad_parse_rate(argument, &passes->bandwidth))
            return ADAPS_OK;
        return ad_cli_usage(command, "--bw %s: a rate such as 100mbit is wanted", argument);
    case AD_PLAN_OPTION_LATENCY:
        if (ad_parse_time(argument, &passes->latency))
            return ADAPS_OK;
        return ad_cli_usage(command, "--latency %s: a time such as 0.3ms is wanted", argument);
    case AD_PLAN_OPTION_THR:
        if (ad_parse_double(argument, 0, 1, &passes->threshold))
            return ADAPS_OK;
        return ad_cli_usage(command, "--thr %s: a number from 0 to 1 is wanted", argument);
    case AD_PLAN_OPTION_OBJECTIVE:
        return take_objective(command, passes, argument);
    case AD_PLAN_OPTION_CAP:
        return take_time(command, &passes->latency_cap_ns, "latency-cap", argument, "20ms");
    case AD_PLAN_OPTION_TIME:
        return take_time(command, &passes->time_limit_ns, "time-limit", argument, "2s");
    case AD_PLAN_OPTION_EVALS:
        return ad_cli_number(command, "evaluations", argument, 1, MAX_EVALUATIONS,
                             &passes->evaluations);
    case AD_PLAN_OPTION_EFFORT:
        return ad_cli_number(command, "effort", argument, 1, MAX_EFFORT, &passes->effort);
    case AD_PLAN_OPTION_SEED:
        code = ad_cli_number(command, "seed", argument, 0, INT64_MAX, &seed);
        passes->seed = (uint64_t)seed;
        return code;
    case AD_PLAN_OPTION_DIMS:
        if (parse_dims(argument, passes))
            return ADAPS_OK;
        return ad_cli_usage(command, "--dims %s: some of h,w,c are wanted", argument);
    case AD_PLAN_OPTION_LATE:
        passes->late = true;
        return ADAPS_OK;
    case AD_PLAN_OPTION_LOSSY:
        passes->encodings |= AD_ENCODINGS_LOSSY;
        return ADAPS_OK;
    case AD_PLAN_OPTION_COMPRESS:
        passes->encodings |= AD_ENCODING_BIT(AD_ENCODING_LZ4);
        return ADAPS_OK;
    case AD_PLAN_OPTION_INPUT:
        passes->input_f32 = strcmp(argument, "f32") == 0;
        if (passes->input_f32 || strcmp(argument, "u8") == 0)
            return ADAPS_OK;
        return ad_cli_usage(command, "--input %s: u8 or f32 is wanted", argument);
    default: /* getopt has said what is wrong */
        return ADAPS_EUSAGE;
    }
}
