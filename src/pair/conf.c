#include "pair/conf.h"
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define FILE_LIMIT (1 << 20) /* as of cost/ini_file.h */
#define HEAD                                                                                       \
    "; Made by adaps pair, which keeps what is written here by hand. See adaps-devices(5).\n"

/* One process at a time. The lock is the folder's, since the file is replaced. */
static enum adaps_status lock_folder(struct ad_conf *conf, struct adaps_error *err)
{
    char *folder = ad_strdup(conf->path);
    if (!folder)
        return ad_error_memory(err, conf->path, strlen(conf->path));
    *strrchr(folder, '/') = '\0';
    enum adaps_status status = ad_file_mkdirs(folder, err);
    if (status == ADAPS_OK) {
        conf->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (conf->lock < 0)
            status = ad_error_set(err, ADAPS_EINPUT, "%s: %s", folder, strerror(errno));
        else if (flock(conf->lock, LOCK_EX | LOCK_NB) != 0)
            status =
                ad_error_set(err, ADAPS_EINPUT, "%s: another adaps pair is at work", conf->path);
    }
    ad_free(folder);
    return status;
}

enum adaps_status ad_conf_open(struct ad_conf *conf, const char *path, struct adaps_error *err)
{
    void *data = NULL;
    size_t size = 0;
    *conf = (struct ad_conf){.lock = -1, .path = ad_strdup(path)};
    if (!conf->path)
        return ad_error_memory(err, "path", strlen(path));
    enum adaps_status status = lock_folder(conf, err);
    if (status == ADAPS_OK && (access(conf->path, F_OK) == 0 || errno != ENOENT))
        status = ad_cluster_load(conf->path, &conf->cluster, err);
    if (status == ADAPS_OK && conf->cluster.ndevices > 0)
        status = ad_file_read(conf->path, FILE_LIMIT, &data, &size, err);
    if (status != ADAPS_OK)
        return status;
    conf->before = data ? data : ad_strdup("");
    ad_ini_edit_init(&conf->edit, size > 0 ? conf->before : HEAD);
    return conf->before ? ADAPS_OK : ad_error_memory(err, conf->path, size);
}

void ad_conf_fini(struct ad_conf *conf)
{
    ad_ini_edit_fini(&conf->edit);
    ad_cluster_fini(&conf->cluster);
    if (conf->lock >= 0)
        close(conf->lock);
    ad_free(conf->before);
    ad_free(conf->path);
    *conf = (struct ad_conf){.lock = -1};
}

static bool is_device(const char *section)
{
    return strcmp(section, "link") != 0 && strncmp(section, "link ", 5) != 0 &&
           strncmp(section, "shapes ", 7) != 0;
}

static bool has_devices(const struct ad_conf *conf)
{
    struct ad_ini_line line;
    for (size_t at = 0; ad_ini_edit_next(&conf->edit, &at, &line);)
        if (is_device(line.section) && line.key[0])
            return true;
    return false;
}

enum adaps_status ad_conf_save(struct ad_conf *conf, bool *changed, struct adaps_error *err)
{
    char *text = NULL;
    enum adaps_status status = ad_ini_edit_text(&conf->edit, &text, err);
    bool other = status == ADAPS_OK && strcmp(text, conf->before) != 0;
    if (changed)
        *changed = other;
    if (other && !has_devices(conf)) {
        if (unlink(conf->path) != 0 && errno != ENOENT)
            status = ad_error_set(err, ADAPS_EINPUT, "%s: cannot remove: %s", conf->path,
                                  strerror(errno));
    } else if (other) {
        char *real = realpath(conf->path, NULL); /* a link to it stays a link */
        status = ad_file_replace(real ? real : conf->path, text, strlen(text), err);
        free(real);
    }
    if (status == ADAPS_OK) {
        ad_free(conf->before);
        conf->before = text;
        text = NULL;
    }
    ad_free(text);
    return status;
}

void ad_conf_drop(struct ad_conf *conf, const char *name)
{
    size_t n = strlen(name);
    struct ad_ini_line line;
    for (size_t at = 0; ad_ini_edit_next(&conf->edit, &at, &line);) {
        const char *rest = strncmp(line.section, "link ", 5) == 0 ? line.section + 5 : "";
        const char *second = strchr(rest, ' ');
        bool first_is = strncmp(rest, name, n) == 0 && rest[n] == ' ';
        if (!first_is && !(second && strcmp(second + 1, name) == 0))
            continue;
        ad_ini_edit_drop(&conf->edit, line.section);
        at = 0;
    }
    snprintf(line.section, sizeof line.section, "shapes %s", name);
    ad_ini_edit_drop(&conf->edit, line.section);
    ad_ini_edit_drop(&conf->edit, name);
}

/* --- what was measured --- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Whether a line's comment says that measuring wrote it. */
static bool is_measured(const char *comment)
{
    return begins(comment, "measured") || begins(comment, "not measured") ||
           begins(comment, "as told");
}

/* Whether the pair's section is there the other way round: then it was written by hand. */
static bool is_reversed(const struct ad_conf *conf, const char *section)
{
    char a[64], b[64], other[140];
    if (sscanf(section, "link %63s %63s", a, b) != 2)
        return false;
    snprintf(other, sizeof other, "link %s %s", b, a);
    return ad_ini_edit_has(&conf->edit, other);
}

/* Lines that measuring wrote before and not this time. */
static void drop_old(struct ad_conf *conf, const struct ad_ini_edit *measured)
{
    struct ad_ini_line line;
    char value[200];
    for (size_t at = 0; ad_ini_edit_next(&conf->edit, &at, &line);) {
        bool shapes = begins(line.section, "shapes ");
        if (!line.key[0] || !ad_ini_edit_has(measured, line.section) ||
            (!shapes && !is_measured(line.comment)) ||
            ad_ini_edit_get(measured, line.section, line.key, value, sizeof value))
            continue;
        ad_ini_edit_unset(&conf->edit, line.section, line.key);
        at--;
    }
}

static void take_line(struct ad_conf *conf, const struct ad_ini_line *line)
{
    struct ad_ini_edit *edit = &conf->edit;
    char old[200];
    bool shapes = begins(line->section, "shapes ");
    if (is_device(line->section) && begins(line->comment, "; measured ") && !line->key[0])
        ad_ini_edit_note(edit, line->section, "; measured ", line->comment);
    if (!line->key[0] || is_reversed(conf, line->section))
        return;
    if (!shapes && ad_ini_edit_comment(edit, line->section, line->key, old, sizeof old) &&
        !is_measured(old))
        return; /* by hand */
    ad_ini_edit_set(edit, line->section, line->key, line->value,
                    line->comment[0] ? line->comment : NULL);
}

void ad_conf_take_measured(struct ad_conf *conf, const char *text)
{
    struct ad_ini_edit measured;
    struct ad_ini_line line;
    ad_ini_edit_init(&measured, text);
    conf->edit.failed = conf->edit.failed || measured.failed;
    for (size_t at = 0; ad_ini_edit_next(&measured, &at, &line);)
        take_line(conf, &line);
    drop_old(conf, &measured);
    for (size_t at = 0; ad_ini_edit_next(&measured, &at, &line);)
        if (is_device(line.section)) /* rates are those at its speed */
            ad_ini_edit_unset(&conf->edit, line.section, "speed");
    ad_ini_edit_fini(&measured);
}

bool ad_conf_is_measured(const struct ad_conf *conf, const struct ad_cluster *cluster)
{
    char text[200];
    for (int a = 0; a < cluster->ndevices; a++) {
        const char *name = cluster->devices[a].name;
        if (!ad_ini_edit_get(&conf->edit, name, "conv", text, sizeof text))
            return false;
        for (int b = a + 1; b < cluster->ndevices; b++) {
            snprintf(text, sizeof text, "link %s %s", name, cluster->devices[b].name);
            if (!ad_ini_edit_has(&conf->edit, text) && !is_reversed(conf, text))
                return false;
        }
    }
    return true;
}
