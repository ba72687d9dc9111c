/* The options of a sub-command, as in Git's parse-options: one static table says their names, their
 * help, and where in a struct their values go. Parsing, --help, completion by shells and the test
 * of the manual pages read it.
 *
 *     static const struct ad_option options[] = {
 *         AD_OPT_RATE(0, "bw", struct simulate_options, bandwidth, "simulate with this bandwidth"),
 *         AD_OPT_FLAG(0, "json", struct simulate_options, json, "print JSON"),
 *         AD_OPT_END,
 *     };
 *
 * A variable of another type than the macro is made for does not compile. Help may have several
 * lines, separated by \n. Texts are borrowed from argv. */
#ifndef AD_CLI_OPTIONS_H
#define AD_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ad_command;

/* Takes an option's value (NULL: it has none) into its variable. ADAPS_OK, or ADAPS_EUSAGE after a
 * message. */
typedef int (*ad_option_take)(const struct ad_command *command, const char *value, void *variable);

enum ad_option_kind {
    AD_OPTION_END,
    AD_OPTION_HELP,    /* every command has it, without a row in its table */
    AD_OPTION_FLAG,    /* bool that becomes true */
    AD_OPTION_UNSET,   /* bool that becomes false */
    AD_OPTION_TEXT,    /* const char * */
    AD_OPTION_INT,     /* int, range.least to range.most */
    AD_OPTION_INT64,   /* the same */
    AD_OPTION_REAL,    /* double, range.from to range.to */
    AD_OPTION_RATE,    /* double, bytes per second */
    AD_OPTION_TIME,    /* double, seconds, 0 or more */
    AD_OPTION_SECONDS, /* double, above 0, range.from to range.to; may lack the unit */
    AD_OPTION_NS,      /* int64_t, above 0, range.from to range.to seconds */
    AD_OPTION_SIZE,    /* uint64_t, bytes, above 0 */
    AD_OPTION_CALL,    /* whatever take() makes of it */
    AD_OPTION_GROUP,   /* the rows of another table, whose variables are in a struct inside */
};

struct ad_option {
    enum ad_option_kind kind;
    char letter; /* 0: none */
    const char *name;
    const char *value; /* what --help calls the value; NULL: a flag */
    const char *help;
    size_t offset; /* of the variable, in the struct that ad_options_parse() fills */
    struct {
        int64_t least, most;
        double from, to;
    } range;
    bool optional;       /* SECONDS: the value comes after '=', or not at all: the most */
    const char *example; /* for the message about a bad value */
    ad_option_take take;
    const struct ad_option *group;
};

/* offsetof(), which compiles only when the member has one of the types. */
#define AD_OPT_AT(type, member, ...)                                                               \
    (offsetof(type, member) + 0 * _Generic(((type *)0)->member, __VA_ARGS__))

#define AD_OPT_FLAG(letter_, name_, type, member, help_)                                           \
    {                                                                                              \
        .kind = AD_OPTION_FLAG, .letter = letter_, .name = name_, .help = help_,                   \
        .offset = AD_OPT_AT(type, member, bool : 1)                                                \
    }
#define AD_OPT_UNSET(letter_, name_, type, member, help_)                                          \
    {                                                                                              \
        .kind = AD_OPTION_UNSET, .letter = letter_, .name = name_, .help = help_,                  \
        .offset = AD_OPT_AT(type, member, bool : 1)                                                \
    }
#define AD_OPT_TEXT(letter_, name_, value_, type, member, help_)                                   \
    {                                                                                              \
        .kind = AD_OPTION_TEXT, .letter = letter_, .name = name_, .value = value_, .help = help_,  \
        .offset = AD_OPT_AT(type, member, const char * : 1)                                        \
    }
#define AD_OPT_INT(name_, value_, type, member, least_, most_, help_)                              \
    {                                                                                              \
        .kind = AD_OPTION_INT, .name = name_, .value = value_, .help = help_,                      \
        .range = {.least = least_, .most = most_}, .offset = AD_OPT_AT(type, member, int : 1)      \
    }
#define AD_OPT_INT64(name_, value_, type, member, least_, most_, help_)                            \
    {                                                                                              \
        .kind = AD_OPTION_INT64, .name = name_, .value = value_, .help = help_,                    \
        .range = {.least = least_, .most = most_},                                                 \
        .offset = AD_OPT_AT(type, member, int64_t : 1, uint64_t : 1)                               \
    }
#define AD_OPT_REAL(name_, value_, type, member, from_, to_, help_)                                \
    {                                                                                              \
        .kind = AD_OPTION_REAL, .name = name_, .value = value_, .help = help_,                     \
        .range = {.from = from_, .to = to_}, .offset = AD_OPT_AT(type, member, double : 1)         \
    }
#define AD_OPT_RATE(name_, type, member, help_)                                                    \
    {                                                                                              \
        .kind = AD_OPTION_RATE, .name = name_, .value = "RATE", .help = help_,                     \
        .example = "100mbit", .offset = AD_OPT_AT(type, member, double : 1)                        \
    }
#define AD_OPT_TIME(name_, type, member, example_, help_)                                          \
    {                                                                                              \
        .kind = AD_OPTION_TIME, .name = name_, .value = "TIME", .help = help_,                     \
        .example = example_, .offset = AD_OPT_AT(type, member, double : 1)                         \
    }
#define AD_OPT_SECONDS(name_, value_, type, member, from_, to_, example_, help_)                   \
    {                                                                                              \
        .kind = AD_OPTION_SECONDS, .name = name_, .value = value_, .help = help_,                  \
        .range = {.from = from_, .to = to_}, .example = example_,                                  \
        .offset = AD_OPT_AT(type, member, double : 1)                                              \
    }
/* "--name" or "--name=TIME". */
#define AD_OPT_OPTIONAL_SECONDS(name_, type, member, to_, example_, help_)                         \
    {                                                                                              \
        .kind = AD_OPTION_SECONDS, .name = name_, .value = "TIME", .optional = true,               \
        .help = help_, .range = {.to = to_}, .example = example_,                                  \
        .offset = AD_OPT_AT(type, member, double : 1)                                              \
    }
#define AD_OPT_NS(name_, type, member, to_, example_, help_)                                       \
    {                                                                                              \
        .kind = AD_OPTION_NS, .name = name_, .value = "TIME", .help = help_, .range = {.to = to_}, \
        .example = example_, .offset = AD_OPT_AT(type, member, int64_t : 1)                        \
    }
#define AD_OPT_SIZE(name_, type, member, example_, help_)                                          \
    {                                                                                              \
        .kind = AD_OPTION_SIZE, .name = name_, .value = "SIZE", .help = help_,                     \
        .example = example_, .offset = AD_OPT_AT(type, member, uint64_t : 1)                       \
    }
/* take_() gets a pointer to the member. */
#define AD_OPT_CALL(name_, value_, type, member, take_, help_)                                     \
    {                                                                                              \
        .kind = AD_OPTION_CALL, .name = name_, .value = value_, .help = help_, .take = take_,      \
        .offset = offsetof(type, member)                                                           \
    }
/* take_() gets a pointer to the whole struct. */
#define AD_OPT_CALL_STRUCT(name_, value_, take_, help_)                                            \
    {                                                                                              \
        .kind = AD_OPTION_CALL, .name = name_, .value = value_, .help = help_, .take = take_       \
    }
/* The options of the table `rows`, for the member, a struct. */
#define AD_OPT_GROUP(rows, type, member)                                                           \
    {                                                                                              \
        .kind = AD_OPTION_GROUP, .group = rows, .offset = offsetof(type, member)                   \
    }
#define AD_OPT_END                                                                                 \
    {                                                                                              \
        .kind = AD_OPTION_END                                                                      \
    }

/* What is left on the command line beside options, in argv, which is reordered. */
struct ad_operands {
    char **items;
    int count;
};

/* Reads argv[1..] by the command's table, in its order, into the struct `variables`. Long names may
 * be shortened, options and operands mixed; "--" ends the options. ADAPS_OK, or ADAPS_EUSAGE after
 * a message. With --help it prints the help and ends the program. */
int ad_options_parse(const struct ad_command *command, int argc, char **argv, void *variables,
                     struct ad_operands *operands);

/* Takes a text, as if it stood after the option, into the struct `variables`. Not for rows of the
 * kinds CALL and GROUP. False: it is a bad value; `wanted` then says what would be a good one. */
bool ad_option_take_text(const struct ad_option *option, const char *text, void *variables,
                         char *wanted, size_t size);

/* The lines of --help about the options. */
void ad_options_help(const struct ad_command *command, FILE *out);

/* For programs: a line for each option, with tabs between its long name, its letter, its value's
 * name ("-" where there is none), its help, and what `offer` prints. */
typedef void ad_option_offer(const struct ad_option *option, FILE *out);
void ad_options_list(const struct ad_command *command, ad_option_offer *offer, FILE *out);

#endif
