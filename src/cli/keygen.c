/* adaps keygen: a key pair for an agent or a controller. */
#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "wire/keys.h"

#include <getopt.h>
#include <string.h>

static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                      {"force", no_argument, NULL, 'f'},
                                      {NULL, 0, NULL, 0}};

static enum adaps_status make_folder(const char *path, struct adaps_error *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return ADAPS_OK;
    char *folder = ad_strndup(path, (size_t)(slash - path));
    if (!folder)
        return ad_error_memory(err, "path", strlen(path));
    enum adaps_status status = ad_file_mkdirs(folder, err);
    ad_free(folder);
    return status;
}

/* Keys into `path`, or into the default place, whose folder is made when it is missing. */
static enum adaps_status create(const char *path, bool force, struct ad_keys *keys,
                                struct adaps_error *err)
{
    if (path)
        return ad_keys_create(path, force, keys, err);
    char *usual = ad_keys_default_path();
    if (!usual)
        return ad_error_set(err, ADAPS_EUSAGE, "no place for the key: give -o FILE, or set HOME");
    enum adaps_status status = make_folder(usual, err);
    if (status == ADAPS_OK)
        status = ad_keys_create(usual, force, keys, err);
    if (status == ADAPS_OK)
        fprintf(stderr, "adaps keygen: keys written to %s\n", usual);
    ad_free(usual);
    return status;
}

static int run(int argc, char **argv)
{
    const struct ad_command *self = &ad_command_keygen;
    const char *path = NULL;
    bool force = false;
    struct ad_keys keys;
    struct adaps_error err;
    int option;
    while ((option = ad_cli_getopt(self, argc, argv, "o:f", longs)) != -1) {
        switch (option) {
        case 'o':
            path = optarg;
            break;
        case 'f':
            force = true;
            break;
        default:
            return ADAPS_EUSAGE;
        }
    }
    if (optind < argc)
        return ad_cli_usage(self, "unexpected argument '%s'", argv[optind]);
    if (create(path, force, &keys, &err) != ADAPS_OK)
        return ad_cli_fail(self, &err);
    printf("%s\n", keys.public);
    return ad_cli_close_stdout(self);
}

const struct ad_command ad_command_keygen = {
    .name = "keygen",
    .arguments = "[-o FILE] [-f]",
    .summary = "Make a CURVE key pair and print its public key.",
    .details =
        "  -o, --output FILE  where to write the pair; default: $XDG_CONFIG_HOME/adaps/key,\n"
        "                     which controllers use by themselves\n"
        "  -f, --force        replace keys that are there already\n",
    .run = run,
};
