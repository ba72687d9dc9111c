/* Raw frames from a pipe, or from anything else that can be read. */
#include "base/clock.h"
#include "base/mem.h"
#include "io/frames_internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct frame_pipe {
    const struct ad_frames_shared *shared;
    int fd;
    bool owned;
    char *name;
    size_t bytes;  /* of a frame */
    uint8_t *data; /* a frame as it comes */
};

static void free_pipe(void *source)
{
    struct frame_pipe *pipe = source;
    if (pipe->owned)
        close(pipe->fd);
    ad_free(pipe->name);
    ad_free(pipe->data);
    ad_free(pipe);
}

enum adaps_status ad_frames_pipe_open(const struct ad_frames_shared *shared, int fd, bool owned,
                                      const char *name, void **out, struct adaps_error *err)
{
    struct frame_pipe *pipe = ad_calloc(1, sizeof *pipe);
    size_t bytes = ad_raw_bytes(&shared->raw);
    if (!pipe) {
        if (owned)
            close(fd);
        return ad_error_memory(err, name, sizeof *pipe);
    }
    *pipe = (struct frame_pipe){.shared = shared, .fd = fd, .owned = owned, .bytes = bytes};
    pipe->name = ad_strdup(name);
    pipe->data = ad_realloc(NULL, bytes, 1);
    if (!pipe->name || !pipe->data) {
        free_pipe(pipe);
        return ad_error_memory(err, name, bytes);
    }
    *out = pipe;
    return ADAPS_OK;
}

/* Reads a frame. *had: its bytes that came; less than all when the input or the source ended. */
static enum adaps_status fill(struct frame_pipe *pipe, size_t *had, struct adaps_error *err)
{
    *had = 0;
    while (*had < pipe->bytes) {
        bool ready;
        if (!ad_frames_wait(pipe->shared, pipe->fd, -1, &ready))
            break;
        ssize_t n = ready ? read(pipe->fd, pipe->data + *had, pipe->bytes - *had) : -1;
        if (n > 0)
            *had += (size_t)n;
        else if (n == 0)
            break;
        else if (ready && errno != EINTR && errno != EAGAIN)
            return ad_error_set(err, ADAPS_EINPUT, "%s: %s", pipe->name, strerror(errno));
    }
    return ADAPS_OK;
}

static enum adaps_status next(void *source, struct ad_source_frame *frame, bool *got,
                              struct adaps_error *err)
{
    struct frame_pipe *pipe = source;
    const struct ad_raw *raw = &pipe->shared->raw;
    size_t had;
    enum adaps_status status = fill(pipe, &had, err);
    if (status == ADAPS_OK && had > 0 && had < pipe->bytes && !ad_frames_cancelled(pipe->shared))
        ad_frames_tell(pipe->shared, "%s: the last frame is cut short: %zu of %zu bytes",
                       pipe->name, had, pipe->bytes);
    if (status != ADAPS_OK || had < pipe->bytes)
        return status;
    frame->captured_ns = ad_clock_ns();
    status = ad_source_frame_shape(frame, raw->width, raw->height, err);
    if (status == ADAPS_OK)
        status = ad_source_frame_set_name(frame, pipe->name, err);
    if (status != ADAPS_OK)
        return status;
    ad_raw_to_rgb(raw, pipe->data, 0, frame->image.pixels);
    *got = true;
    return ADAPS_OK;
}

const struct ad_frames_kind ad_frames_pipe = {.next = next, .free = free_pipe};
