/* The options that decide on a plan: of plan and bench. --strategy is each command's own. */
#ifndef AD_CLI_PLAN_OPTIONS_H
#define AD_CLI_PLAN_OPTIONS_H

#include "cli/dim_option.h"
#include "pipeline.h"

enum {
    AD_PLAN_OPTION_BW = 1024,
    AD_PLAN_OPTION_LATENCY,
    AD_PLAN_OPTION_THR,
    AD_PLAN_OPTION_OBJECTIVE,
    AD_PLAN_OPTION_CAP,
    AD_PLAN_OPTION_DIMS,
    AD_PLAN_OPTION_INPUT,
    AD_PLAN_OPTION_LOSSY,
    AD_PLAN_OPTION_COMPRESS,
    AD_PLAN_OPTION_LATE,
    AD_PLAN_OPTION_TIME,
    AD_PLAN_OPTION_EVALS,
    AD_PLAN_OPTION_EFFORT,
    AD_PLAN_OPTION_SEED
};

/* getopt's letters and long options; ad_plan_option() takes them. */
#define AD_PLAN_SHORTS "d:"
#define AD_PLAN_LONGS                                                                              \
    {"devices", required_argument, NULL, 'd'}, {"bw", required_argument, NULL, AD_PLAN_OPTION_BW}, \
        {"latency", required_argument, NULL, AD_PLAN_OPTION_LATENCY},                              \
        {"thr", required_argument, NULL, AD_PLAN_OPTION_THR},                                      \
        {"objective", required_argument, NULL, AD_PLAN_OPTION_OBJECTIVE},                          \
        {"latency-cap", required_argument, NULL, AD_PLAN_OPTION_CAP},                              \
        {"dims", required_argument, NULL, AD_PLAN_OPTION_DIMS},                                    \
        {"dim", required_argument, NULL, AD_OPTION_DIM},                                           \
        {"input", required_argument, NULL, AD_PLAN_OPTION_INPUT},                                  \
        {"lossy", no_argument, NULL, AD_PLAN_OPTION_LOSSY},                                        \
        {"compress", no_argument, NULL, AD_PLAN_OPTION_COMPRESS},                                  \
        {"late", no_argument, NULL, AD_PLAN_OPTION_LATE},                                          \
        {"time-limit", required_argument, NULL, AD_PLAN_OPTION_TIME},                              \
        {"evaluations", required_argument, NULL, AD_PLAN_OPTION_EVALS},                            \
        {"effort", required_argument, NULL, AD_PLAN_OPTION_EFFORT},                                \
    {                                                                                              \
        "seed", required_argument, NULL, AD_PLAN_OPTION_SEED                                       \
    }
#define AD_PLAN_HELP                                                                               \
    AD_DIM_HELP                                                                                    \
    "  --bw RATE            bandwidth of every link, instead of the file's (100mbit, 12.5MB/s)\n"  \
    "  --latency TIME       latency of every link, instead of the file's (0.3ms)\n"                \
    "  --thr F              search window, 0 to 1 (default: 0.15)\n"                               \
    "  --objective NAME     what to make small: latency (default), traffic, memory\n"              \
    "  --latency-cap TIME   the answer may take this long at most (traffic: by default as long\n"  \
    "                       as the best single device takes)\n"                                    \
    "  --dims h,w,c         dimensions that may be split: height, width, channels\n"               \
    "  --input u8|f32       how pictures go to other devices: as the bytes that they are\n"        \
    "                       (default) or as floats\n"                                              \
    "  --lossy              links may round what they carry (f16, zfp) where that is\n"            \
    "                       sooner: other bits than those of one device\n"                         \
    "  --compress           links may compress what they carry (lz4, the same bits)\n"             \
    "  --late               compute and send nothing ahead, to see what that gains\n"              \
    "  --time-limit TIME    how long auto improves its plan: plans may differ between runs\n"      \
    "  --effort N           so many times the layouts that auto tries by default\n"                \
    "  --evaluations N      layouts that auto's improvement tries, and exhaustive's limit\n"       \
    "  --seed N             of random choices in the search (default: 0)\n"

/* The defaults. */
struct ad_pipeline_options ad_plan_options(void);

/* ADAPS_OK when `option` is one of these and its argument is good, ADAPS_EUSAGE after a message. */
int ad_plan_option(const struct ad_command *command, int option, const char *argument,
                   struct ad_pipeline_options *passes);

/* "NAME: there are auto, single, ..." after a wrong --strategy. ADAPS_EUSAGE. */
int ad_plan_usage_strategy(const struct ad_command *command, const char *name);

#endif
