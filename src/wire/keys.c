#include "wire/keys.h"
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#define KEY_FILE_LIMIT 65536
#define ALLOW_FILE_LIMIT ((size_t)16 << 20)

bool ad_key_valid(const char *text)
{
    uint8_t binary[32];
    if (strlen(text) != AD_KEY_BYTES - 1)
        return false;
    for (const char *p = text; *p; p++)
        if (*p <= ' ' || *p >= 127)
            return false;
    return zmq_z85_decode(binary, text) != NULL;
}

/* Whether nobody but this user and root is in a group. ADAPS_NO: others are; ADAPS_EINTERNAL: it
 * cannot be found out now. */
static enum adaps_status check_group(gid_t gid)
{
    enum adaps_status status = ADAPS_OK;
    const struct passwd *user;
    errno = 0;
    const struct group *group = getgrgid(gid);
    if (!group)
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? ADAPS_EINTERNAL : ADAPS_NO;
    for (char **name = group->gr_mem; *name && status == ADAPS_OK; name++) {
        user = getpwnam(*name);
        if (!user || (user->pw_uid != geteuid() && user->pw_uid != 0))
            status = ADAPS_NO;
    }
    setpwent();
    while (status == ADAPS_OK && (user = getpwent()) != NULL)
        if (user->pw_gid == gid && user->pw_uid != geteuid() && user->pw_uid != 0)
            status = ADAPS_NO;
    endpwent();
    return status;
}

/* Whether nobody but this user and root can write: its group may when nobody else is in it, as sshd
 * of Debian has it. ADAPS_NO, ADAPS_EINTERNAL: as above. */
static enum adaps_status check_writers(const struct stat *st)
{
    if ((st->st_uid != geteuid() && st->st_uid != 0) || (st->st_mode & 0002) != 0)
        return ADAPS_NO;
    return (st->st_mode & 0020) != 0 ? check_group(st->st_gid) : ADAPS_OK;
}

static enum adaps_status foreign(const char *path, const struct stat *st, const char *what,
                                 struct adaps_error *err)
{
    return ad_error_set(
        err, ADAPS_EINPUT,
        "%s: it belongs to user %lu, who may use or change %s: it must belong to the "
        "user that runs adaps, or to root",
        path, (unsigned long)st->st_uid, what);
}

/* Whether nobody but this user and root can read or write a secret key; a group may read one of
 * root's. */
static enum adaps_status check_secret(const char *path, const struct stat *st,
                                      struct adaps_error *err)
{
    static const char what[] = "this secret key";
    mode_t others = st->st_uid == 0 && geteuid() != 0 ? 0037 : 0077;
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return foreign(path, st, what, err);
    if ((st->st_mode & others) != 0)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: others may use or change %s (mode %03o): chmod 600 %s", path, what,
                            (unsigned)(st->st_mode & 0777), path);
    return ADAPS_OK;
}

/* Whether nobody but this user and root can write an allow list. */
static enum adaps_status check_list(const char *path, const struct stat *st,
                                    struct adaps_error *err)
{
    static const char what[] = "this allow list";
    enum adaps_status status = check_writers(st);
    if (status == ADAPS_NO && st->st_uid != geteuid() && st->st_uid != 0)
        return foreign(path, st, what, err);
    if (status == ADAPS_NO)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: others may change %s (mode %03o): chmod go-w %s", path, what,
                            (unsigned)(st->st_mode & 0777), path);
    return status == ADAPS_OK ? ADAPS_OK
                              : ad_error_set(err, status, "%s: %s", path, strerror(errno));
}

/* Whether nobody but this user and root can put another file in its place. */
static enum adaps_status check_folders(const char *path, struct adaps_error *err)
{
    char *folder = realpath(path, NULL);
    enum adaps_status status = ADAPS_OK;
    if (!folder)
        return ad_error_set(err, ADAPS_EINPUT, "%s: %s", path, strerror(errno));
    for (char *slash; status == ADAPS_OK && (slash = strrchr(folder, '/')) != NULL;) {
        struct stat st;
        *slash = '\0';
        const char *name = *folder ? folder : "/";
        if (stat(name, &st) != 0)
            status = ad_error_set(err, ADAPS_EINPUT, "%s: %s", name, strerror(errno));
        else if ((st.st_mode & S_ISVTX) == 0 || (st.st_uid != geteuid() && st.st_uid != 0))
            status = check_writers(&st);
        if (status == ADAPS_NO)
            status =
                ad_error_set(err, ADAPS_EINPUT,
                             "%s: others may put another file in its place: the folder %s must "
                             "belong to the user that runs adaps, or to root, and chmod go-w",
                             path, name);
        else if (status == ADAPS_EINTERNAL)
            ad_error_set(err, status, "%s: %s", name, strerror(errno));
    }
    free(folder);
    return status;
}

typedef enum adaps_status check_fn(const char *path, const struct stat *st,
                                   struct adaps_error *err);

/* Reads a file that nobody else has access to. */
static enum adaps_status read_own(const char *path, size_t limit, check_fn *check, void **data,
                                  size_t *size, struct adaps_error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return ad_error_set(err, ADAPS_EINTERNAL, "%s: %s", path, strerror(errno));
    if (fd < 0 || fstat(fd, &st) != 0) {
        ad_error_set(err, ADAPS_EINPUT, "%s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return ADAPS_EINPUT;
    }
    enum adaps_status status = check(path, &st, err);
    if (status == ADAPS_OK)
        status = ad_file_read_open(fd, path, limit, data, size, err);
    close(fd);
    return status;
}

/* The value of a "name = value" line, cut at blanks; false when the line is another one. */
static bool parse_line(const char *line, const char *name, char out[AD_KEY_BYTES])
{
    size_t n = strlen(name);
    line += strspn(line, " \t");
    if (strncmp(line, name, n) != 0)
        return false;
    line += n + strspn(line + n, " \t");
    if (*line != '=')
        return false;
    line++;
    line += strspn(line, " \t");
    snprintf(out, AD_KEY_BYTES, "%.*s", (int)strcspn(line, " \t\r\n"), line);
    return true;
}

enum adaps_status ad_keys_load(const char *path, struct ad_keys *out, struct adaps_error *err)
{
    void *data = NULL;
    size_t size;
    struct ad_keys keys = {.present = true};
    char derived[AD_KEY_BYTES];
    enum adaps_status status = read_own(path, KEY_FILE_LIMIT, check_secret, &data, &size, err);
    if (status != ADAPS_OK)
        return status;
    for (char *save, *line = strtok_r(data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (!parse_line(line, "public", keys.public))
            parse_line(line, "secret", keys.secret);
    if (!ad_key_valid(keys.public) || !ad_key_valid(keys.secret)) {
        status =
            ad_error_set(err, ADAPS_EINPUT,
                         "%s: no key pair: it must have the lines 'public = KEY' and 'secret = "
                         "KEY' (adaps keygen writes one)",
                         path);
        goto out;
    }
    if (zmq_curve_public(derived, keys.secret) != 0 || strcmp(derived, keys.public) != 0) {
        status = ad_error_set(err, ADAPS_EINPUT, "%s: public and secret key do not belong together",
                              path);
        goto out;
    }
    *out = keys;
out:
    sodium_memzero(data, size);
    ad_free(data);
    sodium_memzero(&keys, sizeof keys);
    return status;
}

char *ad_keys_default_path(void)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && *config)
        return ad_asprintf("%s/adaps/key", config);
    return home && *home ? ad_asprintf("%s/.config/adaps/key", home) : NULL;
}

enum adaps_status ad_keys_find(const char *path, struct ad_keys *out, struct adaps_error *err)
{
    memset(out, 0, sizeof *out);
    if (path)
        return ad_keys_load(path, out, err);
    char *usual = ad_keys_default_path();
    enum adaps_status status = ADAPS_OK;
    if (usual && access(usual, F_OK) == 0)
        status = ad_keys_load(usual, out, err);
    ad_free(usual);
    return status;
}

static enum adaps_status write_new(const char *path, const char *text, size_t length, bool replace,
                                   struct adaps_error *err)
{
    if (replace && unlink(path) != 0 && errno != ENOENT)
        return ad_error_set(err, ADAPS_EINPUT, "%s: cannot replace: %s", path, strerror(errno));
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: is there already; other devices may know this key (--force makes "
                            "a new one)",
                            path);
    if (fd < 0)
        return ad_error_set(err, ADAPS_EINPUT, "%s: cannot write: %s", path, strerror(errno));
    bool written = write(fd, text, length) == (ssize_t)length && fsync(fd) == 0;
    int reason = errno;
    if (close(fd) != 0 || !written) {
        unlink(path);
        return ad_error_set(err, ADAPS_EINPUT, "%s: cannot write: %s", path, strerror(reason));
    }
    return ADAPS_OK;
}

enum adaps_status ad_keys_create(const char *path, bool replace, struct ad_keys *out,
                                 struct adaps_error *err)
{
    struct ad_keys keys = {.present = true};
    char text[256];
    if (zmq_curve_keypair(keys.public, keys.secret) != 0)
        return ad_error_set(err, ADAPS_EINTERNAL, "ZeroMQ: new key pair: %s", zmq_strerror(errno));
    int length =
        snprintf(text, sizeof text, "public = %s\nsecret = %s\n", keys.public, keys.secret);
    enum adaps_status status = write_new(path, text, (size_t)length, replace, err);
    if (status == ADAPS_OK)
        *out = keys;
    sodium_memzero(text, sizeof text);
    sodium_memzero(&keys, sizeof keys);
    return status;
}

void ad_keys_guard(struct ad_keys *keys)
{
    /* 1 stops dumps into programs, too (core(5)); 0 does not. */
    const struct rlimit none = {.rlim_cur = 1, .rlim_max = 1};
    sodium_mlock(keys, sizeof *keys);
    setrlimit(RLIMIT_CORE, &none);
}

void ad_keys_forget(struct ad_keys *keys)
{
    sodium_munlock(keys, sizeof *keys); /* overwrites, too */
    sodium_memzero(keys, sizeof *keys);
}

enum adaps_status ad_allow_load(const char *path, struct ad_allow *out, struct adaps_error *err)
{
    void *data = NULL;
    size_t size;
    struct ad_allow allow = {0};
    enum adaps_status status = check_folders(path, err);
    if (status == ADAPS_OK)
        status = read_own(path, ALLOW_FILE_LIMIT, check_list, &data, &size, err);
    if (status != ADAPS_OK)
        return status;
    int number = 1;
    for (char *line = data, *end; *line; line = *end ? end + 1 : end, number++) {
        end = line + strcspn(line, "\n");
        const char *word = line + strspn(line, " \t\r");
        char key[AD_KEY_BYTES + 1];
        snprintf(key, sizeof key, "%.*s", (int)strcspn(word, " \t\r\n"), word);
        if (*key == '\0' || (*key == '#' && !ad_key_valid(key)))
            continue;
        if (!ad_key_valid(key)) {
            status =
                ad_error_set(err, ADAPS_EINPUT,
                             "%s: line %d: not a public key (40 characters of Z85)", path, number);
            goto out;
        }
        if (!ad_grow(&allow.keys, allow.count, &allow.capacity, sizeof *allow.keys)) {
            status = ad_error_memory(err, path, (allow.count + 1) * sizeof *allow.keys);
            goto out;
        }
        memcpy(allow.keys[allow.count++], key, AD_KEY_BYTES);
    }
    *out = allow;
    memset(&allow, 0, sizeof allow);
out:
    ad_allow_fini(&allow);
    ad_free(data);
    return status;
}

bool ad_allow_has(const struct ad_allow *allow, const char *key)
{
    for (size_t i = 0; i < allow->count; i++)
        if (strcmp(allow->keys[i], key) == 0)
            return true;
    return false;
}

void ad_allow_fini(struct ad_allow *allow)
{
    ad_free(allow->keys);
    memset(allow, 0, sizeof *allow);
}
