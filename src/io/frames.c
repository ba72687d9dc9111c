/* What all sources of frames have in common: opening by what the inputs are, cancelling, and the
 * thread that reads ahead and keeps the next frame, or only the newest. */
#include "base/clock.h"
#include "base/mem.h"
#include "io/frames_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* Between the thread that reads ahead and the one that takes. */
struct newest {
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t taken; /* the frame or the error was, or nobody wants more */
    int event_fd;         /* an eventfd; readable: there is something to take */
    struct ad_source_frame frame;
    bool has_frame, has_error, ended, closing;
    struct adaps_error error;
};

struct ad_frames {
    const struct ad_frames_kind *kind;
    void *source;
    struct ad_frames_shared shared;
    atomic_bool cancelled;
    atomic_uint_least64_t dropped;
    uint64_t sequence;        /* of the next frame that is read */
    bool ended;               /* there is nothing more to read */
    struct adaps_error error; /* why, when its status is not OK */
    struct newest newest;     /* with options.drop */
};

void ad_source_frame_fini(struct ad_source_frame *frame)
{
    ad_image_fini(&frame->image);
    ad_free(frame->name);
    memset(frame, 0, sizeof *frame);
}

enum adaps_status ad_source_frame_shape(struct ad_source_frame *frame, int width, int height,
                                        struct adaps_error *err)
{
    struct ad_image *image = &frame->image;
    if (image->pixels && image->width == width && image->height == height)
        return ADAPS_OK;
    ad_image_fini(image);
    size_t bytes = (size_t)width * (size_t)height * 3;
    image->pixels = ad_realloc(NULL, bytes, 1);
    if (!image->pixels)
        return ad_error_memory(err, "a frame", bytes);
    image->width = width;
    image->height = height;
    image->channels = 3;
    return ADAPS_OK;
}

enum adaps_status ad_source_frame_set_name(struct ad_source_frame *frame, const char *name,
                                           struct adaps_error *err)
{
    if (frame->name && strcmp(frame->name, name) == 0)
        return ADAPS_OK;
    ad_free(frame->name);
    frame->name = ad_strdup(name);
    return frame->name ? ADAPS_OK : ad_error_memory(err, name, strlen(name));
}

enum adaps_status ad_source_frame_load(struct ad_source_frame *frame, const char *path,
                                       struct adaps_error *err)
{
    static const struct ad_image_shape any = {.channels = 3};
    ad_image_fini(&frame->image);
    enum adaps_status status = ad_image_load(path, &any, &frame->image, err);
    frame->captured_ns = ad_clock_ns();
    return status == ADAPS_OK ? ad_source_frame_set_name(frame, path, err) : status;
}

void ad_frames_tell(const struct ad_frames_shared *shared, const char *fmt, ...)
{
    char message[sizeof((struct adaps_error *)NULL)->message];
    va_list args;
    if (!shared->options.tell)
        return;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    shared->options.tell(shared->options.tell_context, message);
}

bool ad_frames_wait(const struct ad_frames_shared *shared, int fd, int ms, bool *ready)
{
    struct pollfd items[] = {{.fd = shared->cancel_fd, .events = POLLIN},
                             {.fd = fd, .events = POLLIN}};
    *ready = false;
    if (poll(items, 2, ms) <= 0)
        return true;
    *ready = items[1].revents != 0;
    return items[0].revents == 0;
}

bool ad_frames_cancelled(const struct ad_frames_shared *shared)
{
    struct pollfd item = {.fd = shared->cancel_fd, .events = POLLIN};
    return poll(&item, 1, 0) > 0;
}

/* The next frame of the source, on the thread that reads. What has ended, or failed for good, is
 * asked no more. */
static enum adaps_status read_one(struct ad_frames *f, struct ad_source_frame *frame, bool *got,
                                  struct adaps_error *err)
{
    struct adaps_error why = {0};
    enum adaps_status status = f->error.status;
    *got = false;
    if (!f->ended) {
        frame->sequence = f->sequence;
        frame->captured_ns = ad_clock_ns();
        status = f->kind->next(f->source, frame, got, &why);
        if (status == ADAPS_OK && *got)
            f->sequence = frame->sequence + 1;
        if (status == ADAPS_OK && !*got)
            f->ended = true;
        if (status != ADAPS_OK && !f->kind->goes_on) {
            f->ended = true;
            f->error = why;
        }
    } else {
        why = f->error;
    }
    if (status != ADAPS_OK || !*got) {
        *got = false;
        ad_source_frame_fini(frame);
    }
    if (status != ADAPS_OK && err)
        *err = why;
    return status;
}

static void wake(int fd)
{
    uint64_t one = 1;
    ssize_t n = write(fd, &one, sizeof one); /* fails only when it is readable already */
    (void)n;
}

static void swap(struct ad_source_frame *a, struct ad_source_frame *b)
{
    struct ad_source_frame kept = *a;
    *a = *b;
    *b = kept;
}

/* Keeps what was read until somebody takes it or, when frames may be dropped, newer comes. False
 * when no more is wanted. */
static bool keep(struct ad_frames *f, struct ad_source_frame *frame, bool got,
                 const struct adaps_error *error)
{
    struct newest *n = &f->newest;
    pthread_mutex_lock(&n->lock);
    while (n->has_frame && !f->shared.options.drop && !n->closing)
        pthread_cond_wait(&n->taken, &n->lock);
    if (got) {
        if (n->has_frame)
            atomic_fetch_add(&f->dropped, 1);
        swap(&n->frame, frame);
        n->has_frame = true;
    } else if (error->status != ADAPS_OK) {
        n->error = *error;
        n->has_error = true;
    }
    n->ended = f->ended;
    wake(n->event_fd);
    while (n->has_error && !n->ended && !n->closing) /* an error is never dropped */
        pthread_cond_wait(&n->taken, &n->lock);
    bool more = !n->ended && !n->closing;
    pthread_mutex_unlock(&n->lock);
    return more;
}

static void *read_ahead(void *data)
{
    struct ad_frames *f = data;
    struct ad_source_frame frame = {0};
    bool more = true;
    while (more) {
        struct adaps_error error = {0};
        bool got;
        error.status = read_one(f, &frame, &got, &error);
        more = keep(f, &frame, got, &error);
    }
    ad_source_frame_fini(&frame);
    return NULL;
}

/* Takes what the thread has kept: the frame before the error. False: nothing is there yet. */
static bool take(struct ad_frames *f, struct ad_source_frame *frame, bool *got,
                 struct adaps_error *error)
{
    struct newest *n = &f->newest;
    uint64_t count;
    pthread_mutex_lock(&n->lock);
    ssize_t drained = read(n->event_fd, &count, sizeof count);
    (void)drained;
    bool there = n->has_frame || n->has_error || n->ended;
    if (n->has_frame) {
        swap(frame, &n->frame);
        n->has_frame = false;
        *got = true;
        pthread_cond_signal(&n->taken);
    } else if (n->has_error) {
        *error = n->error;
        n->has_error = n->ended; /* the last one is told again */
        pthread_cond_signal(&n->taken);
    }
    pthread_mutex_unlock(&n->lock);
    return there;
}

static enum adaps_status take_newest(struct ad_frames *f, struct ad_source_frame *frame, bool *got,
                                     struct adaps_error *err)
{
    struct adaps_error error = {0};
    while (!atomic_load(&f->cancelled) && !take(f, frame, got, &error)) {
        bool ready;
        if (!ad_frames_wait(&f->shared, f->newest.event_fd, -1, &ready))
            break;
    }
    if (error.status != ADAPS_OK && err)
        *err = error;
    return error.status;
}

enum adaps_status ad_frames_next(struct ad_frames *f, struct ad_source_frame *frame, bool *got,
                                 struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    *got = false;
    if (!atomic_load(&f->cancelled))
        status = f->newest.started ? take_newest(f, frame, got, err) : read_one(f, frame, got, err);
    if (atomic_load(&f->cancelled)) {
        status = ADAPS_OK;
        *got = false;
    }
    if (!*got)
        ad_source_frame_fini(frame);
    return status;
}

static bool something_kept(struct newest *n)
{
    pthread_mutex_lock(&n->lock);
    bool there = n->has_frame || n->has_error || n->ended;
    pthread_mutex_unlock(&n->lock);
    return there;
}

bool ad_frames_ready(struct ad_frames *f, int ms)
{
    struct newest *n = &f->newest;
    bool ready;
    if (!n->started || atomic_load(&f->cancelled) || something_kept(n))
        return true;
    if (!ad_frames_wait(&f->shared, n->event_fd, ms, &ready))
        return true; /* it was cancelled meanwhile */
    return something_kept(n);
}

void ad_frames_cancel(struct ad_frames *f)
{
    int kept = errno;
    atomic_store(&f->cancelled, true);
    wake(f->shared.cancel_fd);
    errno = kept;
}

uint64_t ad_frames_dropped(const struct ad_frames *f)
{
    return atomic_load(&f->dropped);
}

void ad_frames_close(struct ad_frames *f)
{
    if (!f)
        return;
    struct newest *n = &f->newest;
    if (n->started) {
        ad_frames_cancel(f);
        pthread_mutex_lock(&n->lock);
        n->closing = true;
        pthread_cond_signal(&n->taken);
        pthread_mutex_unlock(&n->lock);
        pthread_join(n->thread, NULL);
    }
    if (f->source)
        f->kind->free(f->source);
    ad_source_frame_fini(&n->frame);
    if (n->event_fd >= 0)
        close(n->event_fd);
    if (f->shared.cancel_fd >= 0)
        close(f->shared.cancel_fd);
    pthread_cond_destroy(&n->taken);
    pthread_mutex_destroy(&n->lock);
    ad_free(f);
}

static enum adaps_status start_reading(struct ad_frames *f, struct adaps_error *err)
{
    /* signals are for the threads of the program */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int failed = pthread_create(&f->newest.thread, NULL, read_ahead, f);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return ad_error_set(err, ADAPS_EINTERNAL, "no thread for reading frames: %s",
                            strerror(failed));
    f->newest.started = true;
    return ADAPS_OK;
}

enum adaps_status ad_frames_open_kind(const struct ad_frames_kind *kind, ad_frames_open_fn *open,
                                      void *context, const struct ad_frames_options *options,
                                      struct ad_frames **out, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    struct ad_frames *f = ad_calloc(1, sizeof *f);
    *out = NULL;
    if (!f)
        return ad_error_memory(err, "frames", sizeof *f);
    f->kind = kind;
    f->shared.options = *options;
    pthread_mutex_init(&f->newest.lock, NULL);
    pthread_cond_init(&f->newest.taken, NULL);
    f->newest.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    f->shared.cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (f->newest.event_fd < 0 || f->shared.cancel_fd < 0)
        status = ad_error_set(err, ADAPS_EINTERNAL, "eventfd: %s", strerror(errno));
    if (status == ADAPS_OK && options->raw)
        status = ad_raw_parse(options->raw, &f->shared.raw, err);
    f->shared.options.raw = NULL; /* it is the caller's */
    if (status == ADAPS_OK)
        status = open(&f->shared, context, &f->source, err);
    if (status == ADAPS_OK && (options->drop || options->ahead))
        status = start_reading(f, err);
    if (status == ADAPS_OK)
        *out = f;
    else
        ad_frames_close(f);
    return status;
}

/* What the openers below get. */
struct inputs {
    char *const *names;
    int n;
    int fd; /* of raw frames */
};

static enum adaps_status open_files(const struct ad_frames_shared *shared, void *context,
                                    void **out, struct adaps_error *err)
{
    const struct inputs *in = context;
    return ad_frames_files_open(shared, in->names, in->n, out, err);
}

static enum adaps_status open_folder(const struct ad_frames_shared *shared, void *context,
                                     void **out, struct adaps_error *err)
{
    const struct inputs *in = context;
    return ad_frames_folder_open(shared, in->names[0], out, err);
}

static enum adaps_status open_camera(const struct ad_frames_shared *shared, void *context,
                                     void **out, struct adaps_error *err)
{
    const struct inputs *in = context;
    return ad_frames_camera_open(shared, in->names[0], out, err);
}

static enum adaps_status open_descriptor(const struct ad_frames_shared *shared, void *context,
                                         void **out, struct adaps_error *err)
{
    const struct inputs *in = context;
    return ad_frames_pipe_open(shared, in->fd, false, in->names[0], out, err);
}

static enum adaps_status open_raw_file(const struct ad_frames_shared *shared, void *context,
                                       void **out, struct adaps_error *err)
{
    const struct inputs *in = context;
    const char *name = in->names[0];
    if (strcmp(name, "-") == 0)
        return ad_frames_pipe_open(shared, STDIN_FILENO, false, "standard input", out, err);
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO's writer may come later */
    if (fd < 0)
        return ad_error_set(err, ADAPS_EINPUT, "%s: %s", name, strerror(errno));
    return ad_frames_pipe_open(shared, fd, true, name, out, err);
}

enum adaps_status ad_frames_open_fd(int fd, const char *name,
                                    const struct ad_frames_options *options, struct ad_frames **out,
                                    struct adaps_error *err)
{
    char *names[] = {(char *)name};
    struct inputs in = {names, 1, fd};
    *out = NULL;
    if (!options->raw)
        return ad_error_set(err, ADAPS_EUSAGE, "%s: raw frames need a size and a format", name);
    return ad_frames_open_kind(&ad_frames_pipe, open_descriptor, &in, options, out, err);
}

/* Which kind of source the inputs name, and how it is opened. */
struct way {
    const struct ad_frames_kind *kind;
    ad_frames_open_fn *open;
};

static enum adaps_status find_way(char *const *inputs, int ninputs,
                                  const struct ad_frames_options *options, struct way *out,
                                  struct adaps_error *err)
{
    *out = (struct way){&ad_frames_files, open_files};
    if (ninputs < 1)
        return ad_error_set(err, ADAPS_EUSAGE, "there is no input");
    if (options->raw && ninputs > 1)
        return ad_error_set(err, ADAPS_EUSAGE, "raw frames come from one input, not %d", ninputs);
    if (options->raw) {
        *out = (struct way){&ad_frames_pipe, open_raw_file};
        return ADAPS_OK;
    }
    for (int i = 0; i < ninputs; i++) {
        struct stat st;
        if (strcmp(inputs[i], "-") == 0)
            return ad_error_set(err, ADAPS_EUSAGE,
                                "the standard input needs the size and format of raw frames "
                                "(--raw)");
        if (stat(inputs[i], &st) != 0 || !(S_ISDIR(st.st_mode) || S_ISCHR(st.st_mode)))
            continue; /* a file that is not there is the matter of its frame */
        if (ninputs > 1)
            return ad_error_set(err, ADAPS_EUSAGE, "%s: a %s must be the only input", inputs[i],
                                S_ISDIR(st.st_mode) ? "folder" : "camera");
        *out = S_ISDIR(st.st_mode) ? (struct way){&ad_frames_folder, open_folder}
                                   : (struct way){&ad_frames_camera, open_camera};
    }
    return ADAPS_OK;
}

enum adaps_status ad_frames_open(char *const *inputs, int ninputs,
                                 const struct ad_frames_options *options, struct ad_frames **out,
                                 struct adaps_error *err)
{
    struct inputs in = {inputs, ninputs, -1};
    struct way way;
    *out = NULL;
    enum adaps_status status = find_way(inputs, ninputs, options, &way, err);
    return status == ADAPS_OK ? ad_frames_open_kind(way.kind, way.open, &in, options, out, err)
                              : status;
}
