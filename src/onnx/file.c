#include "onnx/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct ad_onnx_file {
    int references;
    int fd; /* -1: in memory */
    struct timespec changed;
    uint8_t *bytes; /* in memory */
    size_t size;
    char path[];
};

static enum adaps_status new_file(const char *path, struct ad_onnx_file **out,
                                  struct adaps_error *err)
{
    size_t length = strlen(path) + 1;
    struct ad_onnx_file *file = ad_calloc(1, sizeof *file + length);
    if (!file)
        return ad_error_memory(err, path, sizeof *file + length);
    memcpy(file->path, path, length);
    file->references = 1;
    file->fd = -1;
    *out = file;
    return ADAPS_OK;
}

/* Takes the descriptor (-1: errno says why not) over. */
static enum adaps_status take_descriptor(const char *path, int fd, struct ad_onnx_file **out,
                                         struct adaps_error *err)
{
    struct ad_onnx_file *file;
    struct stat st;
    int error = errno;
    enum adaps_status status = new_file(path, &file, err);
    if (status != ADAPS_OK) {
        if (fd >= 0)
            close(fd);
        return status;
    }
    file->fd = fd;
    if (fd >= 0 && fstat(fd, &st) != 0) {
        error = errno;
        fd = -1;
    }
    if (fd < 0)
        status = ad_error_set(err, ADAPS_EINPUT, "%s: %s", path, strerror(error));
    else if (!S_ISREG(st.st_mode))
        status = ad_error_set(err, ADAPS_EINPUT, "%s: not a regular file", path);
    else if ((uintmax_t)st.st_size > PTRDIFF_MAX)
        status = ad_error_set(err, ADAPS_EINPUT, "%s: too large to read", path);
    if (status != ADAPS_OK) {
        ad_onnx_file_unref(file);
        return status;
    }
    file->size = (size_t)st.st_size;
    file->changed = st.st_mtim;
    *out = file;
    return ADAPS_OK;
}

enum adaps_status ad_onnx_file_open(const char *path, struct ad_onnx_file **out,
                                    struct adaps_error *err)
{
    return take_descriptor(path, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), out, err);
}

/* The folder of a file; -1 with errno. */
static int open_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *folder = ad_strdup(path);
    if (!folder)
        return -1;
    folder[slash == path ? 1 : slash - path] = '\0';
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ad_free(folder);
    return fd;
}

/* Opens `path` below the folder, which is closed, part by part. */
static int open_below(int folder, char *path)
{
    char *rest, *part = strtok_r(path, "/", &rest);
    while (folder >= 0 && part) {
        char *next = strtok_r(NULL, "/", &rest);
        int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (next ? O_DIRECTORY : O_NONBLOCK);
        int fd = openat(folder, part, flags), error = errno;
        close(folder);
        errno = error;
        folder = fd;
        part = next;
    }
    return folder;
}

/* Whether it stays below the folder that it starts from. */
static bool stays_below(const char *path)
{
    if (!*path || *path == '/')
        return false;
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strcmp(part, "..") == 0 || strncmp(part, "../", 3) == 0)
            return false;
    }
    return true;
}

enum adaps_status ad_onnx_file_beside(const struct ad_onnx_file *model, const char *location,
                                      struct ad_onnx_file **out, struct adaps_error *err)
{
    if (!stays_below(location))
        return ad_error_set(err, ADAPS_EINPUT, "'%s' is not below the model's folder", location);
    if (model->fd < 0)
        return ad_error_set(err, ADAPS_EINPUT, "%s: the model is no file", location);
    char *path = ad_strdup(location);
    if (!path)
        return ad_error_memory(err, location, strlen(location));
    errno = 0;
    int fd = open_below(open_folder(model->path), path);
    enum adaps_status status =
        fd < 0 && errno == ELOOP
            ? ad_error_set(err, ADAPS_EINPUT, "%s: symbolic links are not followed", location)
            : take_descriptor(location, fd, out, err);
    ad_free(path);
    return status;
}

enum adaps_status ad_onnx_file_copy(const void *data, size_t size, const char *path,
                                    struct ad_onnx_file **out, struct adaps_error *err)
{
    struct ad_onnx_file *file;
    enum adaps_status status = new_file(path, &file, err);
    if (status != ADAPS_OK)
        return status;
    file->size = size;
    file->bytes = ad_realloc(NULL, size, 1);
    if (!file->bytes) {
        ad_onnx_file_unref(file);
        return ad_error_memory(err, path, size);
    }
    if (size > 0)
        memcpy(file->bytes, data, size);
    *out = file;
    return ADAPS_OK;
}

struct ad_onnx_file *ad_onnx_file_ref(struct ad_onnx_file *file)
{
    file->references++;
    return file;
}

void ad_onnx_file_unref(struct ad_onnx_file *file)
{
    if (!file || --file->references > 0)
        return;
    if (file->fd >= 0)
        close(file->fd);
    ad_free(file->bytes);
    ad_free(file);
}

size_t ad_onnx_file_size(const struct ad_onnx_file *file)
{
    return file->size;
}

const char *ad_onnx_file_path(const struct ad_onnx_file *file)
{
    return file->path;
}

static enum adaps_status changed(const struct ad_onnx_file *file, struct adaps_error *err)
{
    return ad_error_set(err, ADAPS_EINPUT, "%s: it has changed while it was read", file->path);
}

enum adaps_status ad_onnx_file_read(const struct ad_onnx_file *file, uint64_t offset, void *to,
                                    size_t size, struct adaps_error *err)
{
    uint8_t *next = to;
    if (offset > file->size || size > file->size - offset)
        return changed(file, err);
    if (file->fd < 0) {
        if (size > 0)
            memcpy(next, file->bytes + offset, size);
        return ADAPS_OK;
    }
    while (size > 0) {
        ssize_t n = pread(file->fd, next, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ad_error_set(err, ADAPS_EINPUT, "%s: %s", file->path, strerror(errno));
        if (n == 0)
            return changed(file, err);
        next += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return ADAPS_OK;
}

enum adaps_status ad_onnx_file_check(const struct ad_onnx_file *file, struct adaps_error *err)
{
    struct stat st;
    if (file->fd < 0)
        return ADAPS_OK;
    if (fstat(file->fd, &st) != 0)
        return ad_error_set(err, ADAPS_EINPUT, "%s: %s", file->path, strerror(errno));
    if ((uintmax_t)st.st_size != file->size || st.st_mtim.tv_sec != file->changed.tv_sec ||
        st.st_mtim.tv_nsec != file->changed.tv_nsec)
        return changed(file, err);
    return ADAPS_OK;
}
