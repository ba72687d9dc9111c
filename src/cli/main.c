/* adaps: one program, one table of sub-commands. */
#include "cli/cli.h"
#include "cli/completion.h"

#include <string.h>

static const struct ad_command *const commands[] = {
    &ad_command_inspect,  &ad_command_plan,  &ad_command_show,     &ad_command_simulate,
    &ad_command_agent,    &ad_command_push,  &ad_command_run,      &ad_command_verify,
    &ad_command_profile,  &ad_command_bench, &ad_command_status,   &ad_command_local,
    &ad_command_keygen,   &ad_command_split, &ad_command_detect,   &ad_command_classify,
    &ad_command_segment,  &ad_command_serve, &ad_command_discover, &ad_command_doctor,
    &ad_command_quantize, &ad_command_pair,  &ad_command_unpair,   &ad_command_top,
};
#define NCOMMANDS (sizeof commands / sizeof *commands)

static void print_help(FILE *out)
{
    fputs("Usage: adaps COMMAND [ARGUMENTS]\n"
          "One convolutional network, several small computers, the same bits.\n\n",
          out);
    for (size_t i = 0; i < NCOMMANDS; i++)
        fprintf(out, "  %-9s  %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n'adaps COMMAND --help' says more; so does man adaps.\n"
          "Exit codes: 0 done, 1 the answer is no, 2 usage, 3 bad input, 4 an agent or the network "
          "failed,\n5 internal error.\n",
          out);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to insert, delete or replace to make b of a (Levenshtein); b has at most 15. */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(b), row[16];
    for (size_t k = 0; k <= n; k++)
        row[k] = k;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t k = 1; k <= n; k++) {
            size_t replaced = diagonal + (a[i] != b[k - 1]);
            diagonal = row[k];
            row[k] = least(replaced, least(row[k], row[k - 1]) + 1);
        }
    }
    return row[n];
}

static int refuse_command(const char *name)
{
    size_t best = 3; /* a typing error has fewer letters wrong */
    const char *meant = NULL;
    for (size_t i = 0; i < NCOMMANDS; i++) {
        size_t d = distance(name, commands[i]->name);
        if (strncmp(commands[i]->name, name, strlen(name)) == 0 && name[0])
            d = 0;
        if (d < best) {
            best = d;
            meant = commands[i]->name;
        }
    }
    fprintf(stderr, "adaps: unknown command '%s'", name);
    if (meant)
        fprintf(stderr, "; did you mean '%s'?", meant);
    fputs("\nTry 'adaps --help'.\n", stderr);
    return ADAPS_EUSAGE;
}

static const struct ad_command *find_command(const char *name)
{
    for (size_t i = 0; i < NCOMMANDS; i++)
        if (strcmp(name, commands[i]->name) == 0)
            return commands[i];
    return NULL;
}

static int close_stdout(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return ADAPS_OK;
    fputs("adaps: cannot write to standard output\n", stderr);
    return ADAPS_EINTERNAL;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return ADAPS_EUSAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return close_stdout();
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("adaps %s\n", adaps_version());
        return close_stdout();
    }
    bool options = strcmp(argv[1], "--list-options") == 0 && argc == 3;
    bool operands = strcmp(argv[1], "--list-operands") == 0 && argc == 3;
    const char *name = options || operands ? argv[2] : argv[1];
    const struct ad_command *command = find_command(name);
    if (!command)
        return refuse_command(name);
    if (!options && !operands)
        return command->run(argc - 1, argv + 1);
    if (options)
        ad_options_list(command, ad_completion_value, stdout);
    else
        ad_completion_operands(command, stdout);
    return close_stdout();
}
