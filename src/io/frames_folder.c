/* Frames from the pictures of a folder: those that are there, by name, then those that appear. */
#include "base/deadline.h"
#include "base/mem.h"
#include "io/frames_internal.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* Files that wait to be read. A folder has more only when somebody writes faster than is read. */
#define WAITING_MOST 65536

struct watched_folder {
    const struct ad_frames_shared *shared;
    char *path;
    int fd;       /* inotify */
    char **names; /* those that wait, from `first` on, each owned */
    size_t first, count, capacity;
    bool gone;
};

static void free_folder(void *source)
{
    struct watched_folder *w = source;
    for (size_t i = w->first; i < w->count; i++)
        ad_free(w->names[i]);
    ad_free(w->names);
    ad_free(w->path);
    if (w->fd >= 0)
        close(w->fd);
    ad_free(w);
}

static bool waits(const struct watched_folder *w, const char *name)
{
    for (size_t i = w->first; i < w->count; i++)
        if (strcmp(w->names[i], name) == 0)
            return true;
    return false;
}

/* Puts a file behind those that wait; not one that is no picture. */
static enum adaps_status add(struct watched_folder *w, const char *name, struct adaps_error *err)
{
    if (!ad_image_is_name(name)) {
        ad_frames_tell(w->shared, "%s/%s: skipped: not a picture by its name", w->path, name);
        return ADAPS_OK;
    }
    if (w->first == w->count)
        w->first = w->count = 0;
    if (w->count - w->first >= WAITING_MOST) {
        ad_frames_tell(w->shared, "%s/%s: skipped: %d pictures wait already", w->path, name,
                       WAITING_MOST);
        return ADAPS_OK;
    }
    if (w->first > WAITING_MOST) {
        memmove(w->names, w->names + w->first, (w->count - w->first) * sizeof *w->names);
        w->count -= w->first;
        w->first = 0;
    }
    char *copy = ad_strdup(name);
    if (!copy || !ad_grow(&w->names, w->count, &w->capacity, sizeof *w->names)) {
        ad_free(copy);
        return ad_error_memory(err, w->path, strlen(name));
    }
    w->names[w->count++] = copy;
    return ADAPS_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What is there already. */
static enum adaps_status list(struct watched_folder *w, struct adaps_error *err)
{
    DIR *dir = opendir(w->path);
    enum adaps_status status = ADAPS_OK;
    if (!dir)
        return ad_error_set(err, ADAPS_EINPUT, "%s: %s", w->path, strerror(errno));
    const struct dirent *entry;
    while (status == ADAPS_OK && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = add(w, entry->d_name, err);
    closedir(dir);
    if (status == ADAPS_OK && w->count > 0)
        qsort(w->names, w->count, sizeof *w->names, by_name);
    return status;
}

static enum adaps_status notice(struct watched_folder *w, const struct inotify_event *event,
                                struct adaps_error *err)
{
    if (event->mask & IN_Q_OVERFLOW)
        ad_frames_tell(w->shared, "%s: files came faster than they were noticed: some are left out",
                       w->path);
    if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED))
        w->gone = true;
    bool whole = event->mask & (IN_CLOSE_WRITE | IN_MOVED_TO) && !(event->mask & IN_ISDIR);
    return whole && event->len > 0 && !waits(w, event->name) ? add(w, event->name, err) : ADAPS_OK;
}

/* Takes over what the kernel has noticed. A file that waits already is read once: it will be read
 * as it is then. */
static enum adaps_status look(struct watched_folder *w, struct adaps_error *err)
{
    _Alignas(struct inotify_event) char events[8 * (sizeof(struct inotify_event) + NAME_MAX + 1)];
    enum adaps_status status = ADAPS_OK;
    ssize_t n;
    while (status == ADAPS_OK && (n = read(w->fd, events, sizeof events)) > 0)
        for (char *p = events; status == ADAPS_OK && p < events + n;) {
            const struct inotify_event *event = (const void *)p;
            status = notice(w, event, err);
            p += sizeof *event + event->len;
        }
    return status;
}

static enum adaps_status open_folder(struct watched_folder *w, const char *path,
                                     struct adaps_error *err)
{
    w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    w->path = ad_strdup(path);
    if (!w->path)
        return ad_error_memory(err, path, strlen(path));
    for (size_t n = strlen(w->path); n > 1 && w->path[n - 1] == '/'; n--)
        w->path[n - 1] = '\0';
    if (w->fd < 0 || inotify_add_watch(w->fd, path,
                                       IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE_SELF |
                                           IN_MOVE_SELF | IN_ONLYDIR) < 0)
        return ad_error_set(err, ADAPS_EINPUT, "%s: cannot be watched: %s", path, strerror(errno));
    return list(w, err); /* after the watch has begun: nothing falls between */
}

enum adaps_status ad_frames_folder_open(const struct ad_frames_shared *shared, const char *path,
                                        void **out, struct adaps_error *err)
{
    struct watched_folder *w = ad_calloc(1, sizeof *w);
    if (!w)
        return ad_error_memory(err, path, sizeof *w);
    w->shared = shared;
    enum adaps_status status = open_folder(w, path, err);
    if (status != ADAPS_OK)
        free_folder(w);
    else
        *out = w;
    return status;
}

/* Waits until there are names, the folder is gone, or it is over (*more false). */
static enum adaps_status wait_for_names(struct watched_folder *w, struct ad_deadline *idle,
                                        bool *more, struct adaps_error *err)
{
    bool timed = w->shared->options.idle_s > 0, ready;
    enum adaps_status status = look(w, err);
    while (status == ADAPS_OK && w->first == w->count && !w->gone) {
        *more = ad_frames_wait(w->shared, w->fd, timed ? ad_deadline_sleep_ms(idle) : -1, &ready) &&
                (ready || !timed || ad_deadline_left(idle, NULL) > 0);
        if (!*more)
            return ADAPS_OK;
        status = look(w, err);
    }
    *more = true;
    return status;
}

/* Reads a file. One that is no picture, or is gone again, is skipped. */
static enum adaps_status read_file(struct watched_folder *w, const char *name,
                                   struct ad_source_frame *frame, bool *got,
                                   struct adaps_error *err)
{
    struct adaps_error why = {0};
    char *path = ad_asprintf("%s/%s", w->path, name);
    if (!path)
        return ad_error_memory(err, name, 0);
    enum adaps_status status = ad_source_frame_load(frame, path, &why);
    ad_free(path);
    if (status == ADAPS_EINPUT) {
        ad_frames_tell(w->shared, "skipped: %s", why.message);
        return ADAPS_OK;
    }
    if (status != ADAPS_OK && err)
        *err = why;
    *got = status == ADAPS_OK;
    return status;
}

static enum adaps_status next(void *source, struct ad_source_frame *frame, bool *got,
                              struct adaps_error *err)
{
    struct watched_folder *w = source;
    struct ad_deadline idle;
    enum adaps_status status = ADAPS_OK;
    ad_deadline_set(&idle, (int64_t)(w->shared->options.idle_s * 1e9));
    while (status == ADAPS_OK && !*got) {
        bool more;
        status = wait_for_names(w, &idle, &more, err);
        if (status != ADAPS_OK || !more || ad_frames_cancelled(w->shared))
            break;
        if (w->first == w->count)
            return ad_error_set(err, ADAPS_EINPUT, "%s: the folder is gone", w->path);
        char *name = w->names[w->first++];
        status = read_file(w, name, frame, got, err);
        ad_free(name);
    }
    return status;
}

const struct ad_frames_kind ad_frames_folder = {.next = next, .free = free_folder};
