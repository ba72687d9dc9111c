/* Frames from a camera: Video4Linux, with buffers that the kernel and this process share. */
#include "base/clock.h"
#include "base/mem.h"
#include "io/camera.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUFFERS 4 /* asked for; the camera fills one while another is read */
#define BUFFERS_LEAST 2
#define BUFFERS_MOST 32

struct shared_buffer {
    uint8_t *data;
    size_t length;
};

struct camera {
    const struct ad_frames_shared *shared;
    const struct ad_camera_calls *calls;
    char *path;
    int fd;
    uint32_t pixels;      /* V4L2_PIX_FMT_... */
    struct ad_raw raw;    /* its format is of no meaning for JPEG */
    size_t stride, least; /* bytes of a row, and of a whole frame; 0 for JPEG */
    struct shared_buffer buffers[BUFFERS_MOST];
    unsigned nbuffers;
    bool streaming;
    uint64_t begin; /* the sequence number of the first frame, by the driver's count */
    bool begun;
};

/* The formats that can be read, the best first. */
static const struct {
    uint32_t pixels;
    enum ad_raw_format format;
} formats[] = {
    {V4L2_PIX_FMT_YUYV, AD_RAW_YUYV422},
    {V4L2_PIX_FMT_RGB24, AD_RAW_RGB24},
    {V4L2_PIX_FMT_MJPEG, AD_RAW_COUNT},
};

/* Retried when a signal comes between. */
static int control(struct camera *c, unsigned long request, void *arg)
{
    int result;
    do
        result = c->calls->ioctl(c->calls->context, c->fd, request, arg);
    while (result < 0 && errno == EINTR);
    return result;
}

static void free_camera(void *source)
{
    struct camera *c = source;
    enum v4l2_buf_type type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    if (c->streaming)
        control(c, VIDIOC_STREAMOFF, &type);
    for (unsigned i = 0; i < c->nbuffers; i++)
        c->calls->unmap(c->calls->context, c->buffers[i].data, c->buffers[i].length);
    if (c->fd >= 0)
        c->calls->close(c->calls->context, c->fd);
    ad_free(c->path);
    ad_free(c);
}

static enum adaps_status fail(const struct camera *c, const char *what, struct adaps_error *err)
{
    return ad_error_set(err, ADAPS_EINPUT, "%s: %s: %s", c->path, what, strerror(errno));
}

static enum adaps_status check_abilities(struct camera *c, struct adaps_error *err)
{
    struct v4l2_capability has = {0};
    if (control(c, VIDIOC_QUERYCAP, &has) < 0)
        return ad_error_set(err, ADAPS_EINPUT, "%s: not a camera (Video4Linux): %s", c->path,
                            strerror(errno));
    uint32_t can = has.capabilities & V4L2_CAP_DEVICE_CAPS ? has.device_caps : has.capabilities;
    if (!(can & V4L2_CAP_VIDEO_CAPTURE) && can & V4L2_CAP_VIDEO_CAPTURE_MPLANE)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: gives frames in several planes only, which adaps does not read; "
                            "let rpicam-vid or ffmpeg write raw frames into a pipe (--raw)",
                            c->path);
    if (!(can & V4L2_CAP_VIDEO_CAPTURE))
        return ad_error_set(err, ADAPS_EINPUT, "%s: does not capture video", c->path);
    if (!(can & V4L2_CAP_STREAMING))
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: cannot stream into buffers (V4L2_CAP_STREAMING)", c->path);
    return ADAPS_OK;
}

/* Whether what the driver has set can be read; fills in the camera's frame. */
static enum adaps_status take_format(struct camera *c, enum ad_raw_format format,
                                     const struct v4l2_pix_format *set, struct adaps_error *err)
{
    if (set->width < 1 || set->height < 1 || set->width > AD_IMAGE_MAX_SIDE ||
        set->height > AD_IMAGE_MAX_SIDE || (int64_t)set->width * set->height > AD_IMAGE_MAX_PIXELS)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: frames of %u x %u pixels are outside of what adaps takes", c->path,
                            set->width, set->height);
    if (set->field == V4L2_FIELD_ALTERNATE || set->field == V4L2_FIELD_TOP ||
        set->field == V4L2_FIELD_BOTTOM)
        return ad_error_set(err, ADAPS_EINPUT, "%s: gives half frames (fields) only", c->path);
    c->pixels = set->pixelformat;
    c->raw = (struct ad_raw){(int)set->width, (int)set->height, format};
    c->stride = c->least = 0;
    if (format == AD_RAW_COUNT)
        return ADAPS_OK;
    size_t row = ad_raw_row_bytes(&c->raw);
    c->stride = set->bytesperline ? set->bytesperline : row;
    if (c->stride < row || c->stride > (size_t)16 * AD_IMAGE_MAX_SIDE)
        return ad_error_set(err, ADAPS_EINPUT, "%s: rows of %zu bytes where %zu are needed",
                            c->path, c->stride, row);
    c->least = c->stride * ((size_t)set->height - 1) + row;
    return ADAPS_OK;
}

static enum adaps_status negotiate(struct camera *c, struct adaps_error *err)
{
    const struct ad_frames_options *o = &c->shared->options;
    struct v4l2_format now = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
    if (control(c, VIDIOC_G_FMT, &now) < 0)
        return fail(c, "has no format of frames", err);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct v4l2_format want = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
        want.fmt.pix.width = o->width > 0 ? (uint32_t)o->width : now.fmt.pix.width;
        want.fmt.pix.height = o->height > 0 ? (uint32_t)o->height : now.fmt.pix.height;
        want.fmt.pix.pixelformat = formats[i].pixels;
        want.fmt.pix.field = V4L2_FIELD_ANY;
        int result = control(c, VIDIOC_S_FMT, &want);
        if (result < 0 && errno != EINVAL)
            return fail(c, "its format cannot be set", err);
        if (result == 0 && want.fmt.pix.pixelformat == formats[i].pixels)
            return take_format(c, formats[i].format, &want.fmt.pix, err);
    }
    return ad_error_set(err, ADAPS_EINPUT, "%s: gives none of YUYV, RGB24 and motion JPEG",
                        c->path);
}

static enum adaps_status queue(struct camera *c, unsigned index, struct adaps_error *err)
{
    struct v4l2_buffer b = {
        .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP, .index = index};
    return control(c, VIDIOC_QBUF, &b) < 0 ? fail(c, "takes no buffer", err) : ADAPS_OK;
}

static enum adaps_status map_buffers(struct camera *c, struct adaps_error *err)
{
    struct v4l2_requestbuffers request = {
        .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP, .count = BUFFERS};
    if (control(c, VIDIOC_REQBUFS, &request) < 0)
        return fail(c, "has no buffers that can be shared", err);
    if (request.count < BUFFERS_LEAST || request.count > BUFFERS_MOST)
        return ad_error_set(err, ADAPS_EINPUT, "%s: has %u buffers where %d to %d are needed",
                            c->path, request.count, BUFFERS_LEAST, BUFFERS_MOST);
    for (unsigned i = 0; i < request.count; i++) {
        struct v4l2_buffer b = {
            .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP, .index = i};
        if (control(c, VIDIOC_QUERYBUF, &b) < 0)
            return fail(c, "does not tell of its buffers", err);
        if (b.length < c->least || b.length == 0)
            return ad_error_set(err, ADAPS_EINPUT,
                                "%s: has buffers of %u bytes where %zu are needed", c->path,
                                b.length, c->least);
        void *data = c->calls->map(c->calls->context, c->fd, b.length, (off_t)b.m.offset);
        if (data == MAP_FAILED)
            return fail(c, "its buffers cannot be mapped", err);
        c->buffers[c->nbuffers++] = (struct shared_buffer){data, b.length};
    }
    return ADAPS_OK;
}

static enum adaps_status start(struct camera *c, struct adaps_error *err)
{
    enum v4l2_buf_type type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    enum adaps_status status = ADAPS_OK;
    for (unsigned i = 0; status == ADAPS_OK && i < c->nbuffers; i++)
        status = queue(c, i, err);
    if (status == ADAPS_OK && control(c, VIDIOC_STREAMON, &type) < 0)
        status = fail(c, "cannot begin to stream", err);
    c->streaming = status == ADAPS_OK;
    return status;
}

enum adaps_status ad_camera_open(const struct ad_frames_shared *shared, const char *path,
                                 const struct ad_camera_calls *calls, void **out,
                                 struct adaps_error *err)
{
    struct camera *c = ad_calloc(1, sizeof *c);
    if (!c)
        return ad_error_memory(err, path, sizeof *c);
    c->shared = shared;
    c->calls = calls;
    c->fd = -1;
    enum adaps_status status = ADAPS_OK;
    if (!(c->path = ad_strdup(path)))
        status = ad_error_memory(err, path, strlen(path));
    if (status == ADAPS_OK && (c->fd = calls->open(calls->context, path)) < 0)
        status = ad_error_set(err, ADAPS_EINPUT, "%s: %s", path, strerror(errno));
    if (status == ADAPS_OK)
        status = check_abilities(c, err);
    if (status == ADAPS_OK)
        status = negotiate(c, err);
    if (status == ADAPS_OK)
        status = map_buffers(c, err);
    if (status == ADAPS_OK)
        status = start(c, err);
    if (status == ADAPS_OK)
        *out = c;
    else
        free_camera(c);
    return status;
}

/* The picture of a filled buffer. *whole false: it is damaged, which was told. */
static enum adaps_status convert(struct camera *c, const struct v4l2_buffer *b,
                                 struct ad_source_frame *frame, bool *whole,
                                 struct adaps_error *err)
{
    const struct shared_buffer *buffer = &c->buffers[b->index];
    size_t used = b->bytesused < buffer->length ? b->bytesused : buffer->length;
    struct adaps_error why = {0};
    enum adaps_status status;
    *whole = false;
    if (b->flags & V4L2_BUF_FLAG_ERROR || used < c->least || used == 0) {
        ad_frames_tell(c->shared, "%s: a damaged frame is left out", c->path);
        return ADAPS_OK;
    }
    if (c->pixels == V4L2_PIX_FMT_MJPEG) {
        status = ad_mjpeg_load(buffer->data, used, c->path, frame, &why);
        if (status == ADAPS_EINPUT) {
            ad_frames_tell(c->shared, "a damaged frame is left out: %s", why.message);
            return ADAPS_OK;
        }
    } else {
        status = ad_source_frame_shape(frame, c->raw.width, c->raw.height, &why);
        if (status == ADAPS_OK)
            ad_raw_to_rgb(&c->raw, buffer->data, c->stride, frame->image.pixels);
    }
    if (status == ADAPS_OK)
        status = ad_source_frame_set_name(frame, c->path, &why);
    if (status != ADAPS_OK && err)
        *err = why;
    *whole = status == ADAPS_OK;
    return status;
}

/* The driver counts the frames that it had to leave out, too, from any number, with 32 bits. */
static void stamp(struct camera *c, const struct v4l2_buffer *b, struct ad_source_frame *frame)
{
    if (!c->begun)
        c->begin = b->sequence;
    c->begun = true;
    uint64_t counted = (uint32_t)(b->sequence - (uint32_t)c->begin);
    if (counted > frame->sequence)
        frame->sequence = counted;
    if ((b->flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) == V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC)
        frame->captured_ns =
            (int64_t)b->timestamp.tv_sec * 1000000000 + (int64_t)b->timestamp.tv_usec * 1000;
    else
        frame->captured_ns = ad_clock_ns();
}

static enum adaps_status next(void *source, struct ad_source_frame *frame, bool *got,
                              struct adaps_error *err)
{
    struct camera *c = source;
    enum adaps_status status = ADAPS_OK;
    while (status == ADAPS_OK && !*got) {
        struct v4l2_buffer b = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
        bool ready;
        if (!ad_frames_wait(c->shared, c->fd, -1, &ready))
            break;
        if (!ready)
            continue;
        if (control(c, VIDIOC_DQBUF, &b) < 0) {
            if (errno != EAGAIN)
                status = fail(c, "gives no more frames", err);
            continue;
        }
        if (b.index >= c->nbuffers)
            return ad_error_set(err, ADAPS_EINPUT, "%s: filled a buffer that it does not have",
                                c->path);
        status = convert(c, &b, frame, got, err);
        stamp(c, &b, frame);
        if (status == ADAPS_OK)
            status = queue(c, b.index, err);
    }
    return status;
}

const struct ad_frames_kind ad_frames_camera = {.next = next, .free = free_camera};

static int real_open(void *context, const char *path)
{
    (void)context;
    return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
}

static int real_ioctl(void *context, int fd, unsigned long request, void *arg)
{
    (void)context;
    return ioctl(fd, request, arg);
}

static void *real_map(void *context, int fd, size_t length, off_t offset)
{
    (void)context;
    return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
}

static void real_unmap(void *context, void *address, size_t length)
{
    (void)context;
    munmap(address, length);
}

static void real_close(void *context, int fd)
{
    (void)context;
    close(fd);
}

enum adaps_status ad_frames_camera_open(const struct ad_frames_shared *shared, const char *path,
                                        void **out, struct adaps_error *err)
{
    static const struct ad_camera_calls calls = {real_open,  real_ioctl, real_map,
                                                 real_unmap, real_close, NULL};
    return ad_camera_open(shared, path, &calls, out, err);
}
