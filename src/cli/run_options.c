#include "cli/run_options.h"
#include "cli/dim_option.h"
#include "report/text.h"

#define SESSION struct ad_session_options
#define DEADLINE(help)                                                                             \
    AD_OPT_SECONDS("deadline", "TIME", SESSION, deadline_s, 0, AD_MOST_SECONDS, "10s", help)
#define KEY                                                                                        \
    AD_OPT_TEXT(0, "key", "FILE", SESSION, key_file, "this side's key pair (adaps-keygen(1))")

const struct ad_option ad_session_option_rows[] = {
    DEADLINE("give up on an answer after this long (default: 30s)"),
    KEY,
    AD_OPT_OPTIONAL_SECONDS("wait", SESSION, wait_s, AD_MOST_SECONDS, "30s",
                            "wait in line while agents serve other controllers, so long at\n"
                            "most"),
    AD_OPT_END,
};

const struct ad_option ad_query_option_rows[] = {
    DEADLINE("how long to wait for an agent (default: 5s)"),
    KEY,
    AD_OPT_END,
};

const struct ad_option ad_deployment_option_rows[] = {
    AD_OPT_TEXT('d', "devices", "FILE", struct ad_run_options, devices,
                "the devices: of a plan, take their addresses and keys here; plan a\n"
                "model for them (default: $ADAPS_DEVICES, for a model also those of\n"
                "adaps.conf, or the paired ones)"),
    AD_OPT_TEXT(0, "model", "FILE", struct ad_run_options, model,
                "read the weights here (default: where the plan says)"),
    AD_OPT_DIM(struct ad_run_options, dims),
    AD_OPT_FLAG(0, "no-cache", struct ad_run_options, no_cache,
                "plan a model even if that was done before, and keep nothing"),
    AD_OPT_GROUP(ad_session_option_rows, struct ad_run_options, session),
    AD_OPT_END,
};

const struct ad_option ad_run_option_rows[] = {
    {.kind = AD_OPTION_GROUP, .group = ad_deployment_option_rows},
    AD_OPT_FLAG(0, "json", struct ad_run_options, json, "print the result as JSON"),
    AD_OPT_END,
};

/* Once, and again when the place in line is another. */
static void tell_waiting(void *self, const char *what, int before, double waited_s)
{
    struct ad_waiting_line *line = self;
    char clean[1024];
    (void)waited_s;
    if (line->before != before)
        fprintf(stderr, "adaps %s: waiting: %s\n", line->command->name,
                ad_text_clean(what, clean, sizeof clean));
    line->before = before;
}

void ad_waiting_line_set(struct ad_waiting_line *line, const struct ad_command *command,
                         struct ad_session_options *session)
{
    *line = (struct ad_waiting_line){.command = command};
    session->waiting = tell_waiting;
    session->waiting_self = line;
}
