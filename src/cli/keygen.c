/* adaps keygen: a key pair for an agent or a controller. */
#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "wire/keys.h"

#include <string.h>

struct keygen_options {
    const char *path; /* NULL: the default place */
    bool force;
};

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
    struct keygen_options options = {0};
    struct ad_operands operands;
    struct ad_keys keys;
    struct adaps_error err;
    int code = ad_options_parse(self, argc, argv, &options, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count > 0)
        return ad_cli_usage(self, "unexpected argument '%s'", operands.items[0]);
    if (create(options.path, options.force, &keys, &err) != ADAPS_OK)
        return ad_cli_fail(self, &err);
    printf("%s\n", keys.public);
    ad_keys_forget(&keys);
    return ad_cli_close_stdout(self);
}

static const struct ad_option options_table[] = {
    AD_OPT_TEXT('o', "output", "FILE", struct keygen_options, path,
                "where to write the pair; default: $XDG_CONFIG_HOME/adaps/key,\n"
                "which controllers use by themselves"),
    AD_OPT_FLAG('f', "force", struct keygen_options, force, "replace keys that are there already"),
    AD_OPT_END,
};

const struct ad_command ad_command_keygen = {
    .name = "keygen",
    .arguments = "[-o FILE] [-f]",
    .summary = "Make a CURVE key pair and print its public key.",
    .options = options_table,
    .run = run,
};
