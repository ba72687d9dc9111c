/* What sub-commands share: files, JSON, adaps.conf. */
#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"

#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_FILE "adaps.conf"

enum adaps_status ad_cli_write_file(const char *path, ad_cli_writer write, const void *self,
                                    struct adaps_error *err)
{
    char *text = NULL;
    size_t size = 0;
    if (strcmp(path, "-") == 0)
        return write(self, stdout, err);
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return ad_error_memory(err, path, 0);
    enum adaps_status status = write(self, memory, err);
    if (fclose(memory) != 0 && status == ADAPS_OK)
        status = ad_error_memory(err, path, size);
    if (status == ADAPS_OK)
        status = ad_file_replace(path, text, size, err);
    free(text);
    return status;
}

int ad_cli_print_json(const struct ad_command *command, json_t *root)
{
    struct adaps_error err;
    if (!root) {
        ad_error_memory(&err, "JSON", 0);
        return ad_cli_fail(command, &err);
    }
    json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(root);
    return ad_cli_close_stdout(command);
}

/* The stream that libinih reads and the user data of its handler, which is told no line numbers. */
struct config_reader {
    FILE *file;
    struct ad_cli_config *config;
    int line;
    char rule[300]; /* the first error; reading stops there */
    bool no_memory;
};

static int on_entry(void *user, const char *section, const char *key, const char *value)
{
    struct config_reader *reader = user;
    struct ad_cli_config *config = reader->config;
    char **field = strcmp(key, "model") == 0     ? &config->model
                   : strcmp(key, "devices") == 0 ? &config->devices
                   : strcmp(key, "plan") == 0    ? &config->plan
                                                 : NULL;
    if (reader->rule[0] || reader->no_memory)
        return 0;
    if (section[0])
        snprintf(reader->rule, sizeof reader->rule, "[%s]: there are no sections here", section);
    else if (!field)
        snprintf(reader->rule, sizeof reader->rule,
                 "unknown key '%s'; there are model, devices and plan", key);
    else if (*field)
        snprintf(reader->rule, sizeof reader->rule, "%s is already given", key);
    else if (!value[0])
        snprintf(reader->rule, sizeof reader->rule, "%s has no value", key);
    else if (!(*field = ad_strdup(value)))
        reader->no_memory = true;
    return !reader->rule[0] && !reader->no_memory;
}

/* libinih's reader: one line without leading spaces, which would make it a continuation. */
static char *next_line(char *buf, int size, void *stream)
{
    struct config_reader *reader = stream;
    if (reader->rule[0] || reader->no_memory || !fgets(buf, size, reader->file))
        return NULL;
    reader->line++;
    size_t n = strlen(buf), spaces = strspn(buf, " \t");
    if (n > 0 && buf[n - 1] != '\n' && !feof(reader->file)) {
        snprintf(reader->rule, sizeof reader->rule, "the line is longer than %d bytes", size - 2);
        return NULL;
    }
    memmove(buf, buf + spaces, n - spaces + 1);
    return buf;
}

enum adaps_status ad_cli_config_load(struct ad_cli_config *config, struct adaps_error *err)
{
    *config = (struct ad_cli_config){0};
    struct config_reader reader = {.config = config, .file = fopen(CONFIG_FILE, "re")};
    if (!reader.file && errno == ENOENT)
        return ADAPS_OK;
    if (!reader.file)
        return ad_error_set(err, ADAPS_EINPUT, "%s: %s", CONFIG_FILE, strerror(errno));
    int line = ini_parse_stream(next_line, &reader, on_entry, &reader);
    enum adaps_status status = ADAPS_OK;
    if (ferror(reader.file))
        status = ad_error_set(err, ADAPS_EINPUT, "%s: %s", CONFIG_FILE, strerror(errno));
    else if (reader.no_memory)
        status = ad_error_memory(err, CONFIG_FILE, 0);
    else if (reader.rule[0])
        status =
            ad_error_set(err, ADAPS_EINPUT, "%s:%d: %s", CONFIG_FILE, reader.line, reader.rule);
    else if (line != 0)
        status = ad_error_set(err, ADAPS_EINPUT, "%s:%d: not 'key = value'", CONFIG_FILE,
                              line > 0 ? line : reader.line);
    fclose(reader.file);
    if (status != ADAPS_OK)
        ad_cli_config_fini(config);
    return status;
}

void ad_cli_config_fini(struct ad_cli_config *config)
{
    ad_free(config->model);
    ad_free(config->devices);
    ad_free(config->plan);
    *config = (struct ad_cli_config){0};
}
