#include "cli/options.h"
#include "base/units.h"
#include "cli/cli.h"

#include <assert.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 64
#define FIRST_ROW 0x100 /* getopt's value for the first row; letters are below */
#define HELP_COLUMN 23

/* A command's table without groups. */
struct rows {
    struct row {
        const struct ad_option *option;
        size_t offset;
    } items[MAX_ROWS];
    int count;
};

static const struct ad_option help_option = {
    .kind = AD_OPTION_HELP, .letter = 'h', .name = "help", .help = "print this and exit"};

static void add_row(struct rows *rows, const struct ad_option *option, size_t offset)
{
    assert(rows->count < MAX_ROWS);
    rows->items[rows->count++] = (struct row){option, offset + option->offset};
}

static void add_table(struct rows *rows, const struct ad_option *table, size_t offset)
{
    for (const struct ad_option *o = table; o->kind != AD_OPTION_END; o++) {
        if (o->kind == AD_OPTION_GROUP)
            add_table(rows, o->group, offset + o->offset);
        else
            add_row(rows, o, offset);
    }
}

static void find_rows(struct rows *rows, const struct ad_command *command)
{
    rows->count = 0;
    add_table(rows, command->options, 0);
    add_row(rows, &help_option, 0);
}

/* --- parsing --- */

/* What would have been a good value. */
static void say_wanted(const struct ad_option *o, char *wanted, size_t size)
{
    switch (o->kind) {
    case AD_OPTION_INT:
    case AD_OPTION_INT64:
        snprintf(wanted, size, "a number from %jd to %jd", (intmax_t)o->range.least,
                 (intmax_t)o->range.most);
        break;
    case AD_OPTION_REAL:
        snprintf(wanted, size, "a number from %g to %g", o->range.from, o->range.to);
        break;
    case AD_OPTION_RATE:
        snprintf(wanted, size, "a rate of at least 8bit, such as %s,", o->example);
        break;
    case AD_OPTION_SIZE:
        snprintf(wanted, size, "a size such as %s", o->example);
        break;
    case AD_OPTION_TIME:
        snprintf(wanted, size, "a time such as %s", o->example);
        break;
    default: /* AD_OPTION_SECONDS, AD_OPTION_NS */
        if (o->range.from > 0)
            snprintf(wanted, size, "a time from %gs to %gs", o->range.from, o->range.to);
        else
            snprintf(wanted, size, "a time above 0, such as %s,", o->example);
        break;
    }
}

static int refuse_value(const struct ad_command *command, const struct ad_option *o,
                        const char *text)
{
    char wanted[100];
    say_wanted(o, wanted, sizeof wanted);
    return ad_cli_usage(command, "--%s %s: %s is wanted", o->name, text, wanted);
}

static bool take_int(const struct ad_option *o, const char *text, int *variable)
{
    int64_t value;
    if (!ad_parse_int(text, o->range.least, o->range.most, &value))
        return false;
    *variable = (int)value;
    return true;
}

static bool take_seconds(const struct ad_option *o, const char *text, double *variable)
{
    double value;
    if (!text) { /* it may lack one */
        *variable = o->range.to;
        return true;
    }
    if (!ad_parse_time(text, &value) &&
        (o->kind != AD_OPTION_SECONDS || !ad_parse_double(text, 0, o->range.to, &value)))
        return false;
    if (value <= 0 || value < o->range.from || value > o->range.to)
        return false;
    *variable = value;
    return true;
}

static bool take_ns(const struct ad_option *o, const char *text, int64_t *variable)
{
    double seconds;
    if (!take_seconds(o, text, &seconds) || seconds < 1e-9)
        return false;
    *variable = (int64_t)(seconds * 1e9);
    return true;
}

static bool take_size(const char *text, uint64_t *variable)
{
    uint64_t size;
    if (!ad_parse_size(text, &size) || size == 0)
        return false;
    *variable = size;
    return true;
}

/* The value of an option without take(); false: it is a bad one. */
static bool take_value(const struct ad_option *o, const char *text, void *variable)
{
    switch (o->kind) {
    case AD_OPTION_FLAG:
    case AD_OPTION_UNSET:
        *(bool *)variable = o->kind == AD_OPTION_FLAG;
        return true;
    case AD_OPTION_TEXT:
        *(const char **)variable = text;
        return true;
    case AD_OPTION_INT:
        return take_int(o, text, variable);
    case AD_OPTION_INT64:
        return ad_parse_int(text, o->range.least, o->range.most, variable);
    case AD_OPTION_REAL:
        return ad_parse_double(text, o->range.from, o->range.to, variable);
    case AD_OPTION_RATE:
        return ad_parse_rate(text, variable);
    case AD_OPTION_TIME:
        return ad_parse_time(text, variable);
    case AD_OPTION_SECONDS:
        return take_seconds(o, text, variable);
    case AD_OPTION_NS:
        return take_ns(o, text, variable);
    case AD_OPTION_SIZE:
        return take_size(text, variable);
    case AD_OPTION_END:
    case AD_OPTION_HELP:
    case AD_OPTION_CALL:
    case AD_OPTION_GROUP:
        break;
    }
    return false;
}

bool ad_option_take_text(const struct ad_option *option, const char *text, void *variables,
                         char *wanted, size_t size)
{
    if (take_value(option, text, (char *)variables + option->offset))
        return true;
    say_wanted(option, wanted, size);
    return false;
}

static int take_row(const struct ad_command *command, const struct row *row, const char *text,
                    void *variables)
{
    const struct ad_option *o = row->option;
    void *variable = (char *)variables + row->offset;
    if (o->kind == AD_OPTION_HELP) {
        ad_cli_help(command, stdout);
        exit(ad_cli_close_stdout(command));
    }
    if (o->kind == AD_OPTION_CALL)
        return o->take(command, text, variable);
    return take_value(o, text, variable) ? ADAPS_OK : refuse_value(command, o, text);
}

/* Says what is wrong with the option that getopt_long() has just refused. */
static int refuse_option(const struct ad_command *command, int result, char **argv)
{
    const char *word = argv[optind - 1];
    if (result == ':')
        return ad_cli_usage(command, "option '%s' needs a value", word);
    if (optopt >= FIRST_ROW)
        return ad_cli_usage(command, "option '%s' takes no value", word);
    if (optopt)
        return ad_cli_usage(command, "unknown option '-%c'", optopt);
    return ad_cli_usage(command, "unknown or ambiguous option '%s'", word);
}

/* The rows as getopt_long() wants them. */
static void make_getopt(const struct rows *rows, struct option longs[MAX_ROWS + 1],
                        char letters[2 * MAX_ROWS + 2])
{
    *letters++ = ':';
    for (int i = 0; i < rows->count; i++) {
        const struct ad_option *o = rows->items[i].option;
        longs[i] = (struct option){o->name,
                                   o->optional ? optional_argument
                                   : o->value  ? required_argument
                                               : no_argument,
                                   NULL, FIRST_ROW + i};
        if (o->letter)
            *letters++ = o->letter;
        if (o->letter && o->value)
            *letters++ = ':';
    }
    longs[rows->count] = (struct option){0};
    *letters = '\0';
}

static const struct row *find_row(const struct rows *rows, int result)
{
    for (int i = 0; i < rows->count; i++)
        if (result == FIRST_ROW + i || result == rows->items[i].option->letter)
            return &rows->items[i];
    return NULL;
}

int ad_options_parse(const struct ad_command *command, int argc, char **argv, void *variables,
                     struct ad_operands *operands)
{
    struct rows rows;
    struct option longs[MAX_ROWS + 1];
    char letters[2 * MAX_ROWS + 2];
    int result, code = ADAPS_OK;
    find_rows(&rows, command);
    make_getopt(&rows, longs, letters);
    opterr = 0;
    while (code == ADAPS_OK && (result = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        const struct row *row = find_row(&rows, result);
        code =
            row ? take_row(command, row, optarg, variables) : refuse_option(command, result, argv);
    }
    *operands = (struct ad_operands){argv + optind, argc - optind};
    return code;
}

/* --- printing --- */

/* "-o, --output FILE" */
static void put_names(const struct ad_option *o, char *out, size_t size)
{
    char letter[8] = "";
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(out, size, "%s--%s%s%s%s", letter, o->name,
             o->optional ? "[="
             : o->value  ? " "
                         : "",
             o->value ? o->value : "", o->optional ? "]" : "");
}

void ad_options_help(const struct ad_command *command, FILE *out)
{
    struct rows rows;
    find_rows(&rows, command);
    for (int i = 0; i < rows.count; i++) {
        const struct ad_option *o = rows.items[i].option;
        char names[80];
        put_names(o, names, sizeof names);
        fprintf(out, "  %-*s  ", HELP_COLUMN - 4, names);
        for (const char *line = o->help; line;) {
            size_t length = strcspn(line, "\n");
            fprintf(out, "%.*s\n", (int)length, line);
            line = line[length] ? line + length + 1 : NULL;
            if (line)
                fprintf(out, "%*s", HELP_COLUMN, "");
        }
    }
}

void ad_options_list(const struct ad_command *command, ad_option_offer *offer, FILE *out)
{
    struct rows rows;
    find_rows(&rows, command);
    for (int i = 0; i < rows.count; i++) {
        const struct ad_option *o = rows.items[i].option;
        fprintf(out, "%s\t%c\t%s\t", o->name, o->letter ? o->letter : '-',
                o->value && !o->optional ? o->value : "-");
        for (const char *c = o->help; *c; c++)
            fputc(*c == '\n' ? ' ' : *c, out);
        fputc('\t', out);
        offer(o, out);
        fputc('\n', out);
    }
}
