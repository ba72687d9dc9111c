#include "cli/completion.h"
#include "cli/cli.h"
#include "search/strategies/search.h"
#include "vision/preset.h"

#include <ctype.h>
#include <string.h>

static void put_strategies(FILE *out)
{
    for (const struct ad_strategy *s = ad_strategies; s->name; s++)
        fprintf(out, "%s ", s->name);
    fputs("all", out);
}

static void put_objectives(FILE *out)
{
    for (int i = 0; i < AD_OBJECTIVES; i++)
        fprintf(out, "%s%s", i ? " " : "", ad_objective_name((enum ad_objective)i));
}

/* A list with commas as one with blanks. */
static void put_presets(FILE *out)
{
    char list[1024];
    for (const char *c = ad_preset_list(list, sizeof list); *c; c++)
        if (*c != ',')
            fputc(*c, out);
}

/* Options whose value's name says too little. */
static const struct {
    const char *name;
    const char *offer;
    void (*put)(FILE *out); /* else this */
} values[] = {
    {"boxes", "xyxy yxyx centre", NULL},
    {"config", "*.conf", NULL},
    {"devices", "*.conf", NULL},
    {"fit", "letterbox corner stretch crop centre", NULL},
    {"html", "*.html", NULL},
    {"layout", "*.json", NULL},
    {"mapping", "*.json", NULL},
    {"model", "*.onnx", NULL},
    {"objective", NULL, put_objectives},
    {"pareto", NULL, put_objectives},
    {"preset", NULL, put_presets},
    {"reference", NULL, put_strategies},
    {"strategy", NULL, put_strategies},
    {"svg", "*.svg", NULL},
    {"trace", "*.json", NULL},
};

/* Words of usage lines and names of values: files of some kind. */
static const struct {
    const char *word, *offer;
} kinds[] = {
    {"PLAN", "*.plan"}, {"MODEL", "*.onnx"}, {"INPUT", "*"}, {"PICTURE", "*"},
    {"FILE", "*"},      {"FILE|DIR", "*"},   {"DIR", "/"},
};

static const char *kind_of(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].word) == length && strncmp(kinds[i].word, word, length) == 0)
            return kinds[i].offer;
    return NULL;
}

void ad_completion_value(const struct ad_option *option, FILE *out)
{
    const char *value = option->value ? option->value : "";
    for (size_t i = 0; *value && i < sizeof values / sizeof *values; i++)
        if (strcmp(values[i].name, option->name) == 0) {
            if (values[i].put)
                values[i].put(out);
            else
                fputs(values[i].offer, out);
            return;
        }
    const char *kind = kind_of(value, strlen(value));
    if (kind || !strchr(value, '|'))
        fputs(kind ? kind : "-", out);
    else
        for (const char *c = value; *c; c++)
            fputc(*c == '|' ? ' ' : *c, out);
}

void ad_completion_operands(const struct ad_command *command, FILE *out)
{
    bool any = false, option = false; /* the word before was one */
    const char *at = command->arguments;
    while (*at) {
        size_t length = strcspn(at, " []|.");
        const char *kind = option ? NULL : kind_of(at, length);
        if (kind)
            fprintf(out, "%s%s", any ? " " : "", kind);
        any |= kind != NULL;
        if (length > 0)
            option = *at == '-' && isalpha((unsigned char)at[length - 1]);
        at += length;
        option &= *at != ']' && *at != '|';
        at += *at != '\0';
    }
    fputs(any ? "\n" : "-\n", out);
}
