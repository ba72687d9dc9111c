/* Cameras, with a made-up driver: what is agreed on, what is refused and in which words, frames,
 * and that everything is given back. Nothing here touches a device. */
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "io/camera.h"
#include "support/run_suite.h"

#include <check.h>
#include <errno.h>
#include <linux/videodev2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define CAPTURES (V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING)

/* A frame that the driver gives. */
struct made_frame {
    const uint8_t *data;
    uint32_t size, sequence, flags;
    int64_t us; /* its time */
};

/* A driver. Zero is a camera of 4 x 2 pixels that has YUYV only. */
struct driver {
    uint32_t formats[3];                        /* what it can give; none: YUYV */
    uint32_t capabilities, device_capabilities; /* 0: CAPTURES */
    uint32_t width, height;                     /* that it gives, whatever is asked for */
    uint32_t bytesperline, field, nbuffers, length;
    unsigned long failing; /* this request fails, with this reason */
    int reason;
    int interrupted;    /* so many requests are interrupted by a signal first */
    uint32_t bad_index; /* added to the index of filled buffers */
    struct made_frame frames[8];
    int nframes;
    /* what has happened */
    uint32_t asked_width, asked_height;
    int fd, opened, mapped, queued, given;
    bool streaming;
    uint8_t *memory[32];
    uint32_t free_buffers[32];
};

static int driver_open(void *context, const char *path)
{
    struct driver *d = context;
    ck_assert_str_eq(path, "/dev/video7");
    if (d->failing == 1) {
        errno = d->reason;
        return -1;
    }
    d->fd = eventfd((unsigned)d->nframes, EFD_SEMAPHORE);
    d->opened++;
    return d->fd;
}

static int set_format(struct driver *d, struct v4l2_pix_format *pix)
{
    static const uint32_t yuyv[] = {V4L2_PIX_FMT_YUYV, 0, 0};
    const uint32_t *has = d->formats[0] ? d->formats : yuyv;
    uint32_t found = has[0];
    for (int i = 0; i < 3; i++)
        if (has[i] == pix->pixelformat)
            found = has[i];
    d->asked_width = pix->width;
    d->asked_height = pix->height;
    pix->pixelformat = found; /* as drivers do: something that they have */
    pix->width = d->width ? d->width : 4;
    pix->height = d->height ? d->height : 2;
    pix->bytesperline = d->bytesperline;
    pix->field = d->field ? d->field : V4L2_FIELD_NONE;
    return 0;
}

static int fill(struct driver *d, struct v4l2_buffer *b)
{
    uint64_t one;
    ck_assert(d->streaming);
    ck_assert_int_eq(read(d->fd, &one, sizeof one), sizeof one);
    ck_assert_int_gt(d->queued, 0);
    const struct made_frame *f = &d->frames[d->given++];
    uint32_t index = d->free_buffers[0];
    memmove(d->free_buffers, d->free_buffers + 1, sizeof d->free_buffers - 4);
    d->queued--;
    memcpy(d->memory[index], f->data, f->size);
    b->index = index + d->bad_index;
    b->bytesused = f->size;
    b->sequence = f->sequence;
    b->flags = f->flags;
    b->timestamp.tv_sec = f->us / 1000000;
    b->timestamp.tv_usec = f->us % 1000000;
    return 0;
}

static int driver_ioctl(void *context, int fd, unsigned long request, void *arg)
{
    struct driver *d = context;
    struct v4l2_capability *abilities = arg;
    struct v4l2_requestbuffers *r = arg;
    struct v4l2_buffer *b = arg;
    ck_assert_int_eq(fd, d->fd);
    if (d->interrupted > 0) {
        d->interrupted--;
        errno = EINTR;
        return -1;
    }
    if (d->failing == request) {
        errno = d->reason;
        return -1;
    }
    switch (request) {
    case VIDIOC_QUERYCAP:
        abilities->capabilities = d->capabilities ? d->capabilities : CAPTURES;
        abilities->device_caps = d->device_capabilities;
        return 0;
    case VIDIOC_G_FMT:
        ((struct v4l2_format *)arg)->fmt.pix.width = 640;
        ((struct v4l2_format *)arg)->fmt.pix.height = 480;
        return 0;
    case VIDIOC_S_FMT:
        return set_format(d, &((struct v4l2_format *)arg)->fmt.pix);
    case VIDIOC_REQBUFS:
        ck_assert_uint_eq(r->memory, V4L2_MEMORY_MMAP);
        if (d->nbuffers)
            r->count = d->nbuffers;
        return 0;
    case VIDIOC_QUERYBUF:
        b->length = d->length ? d->length : 4096;
        b->m.offset = b->index * 4096;
        return 0;
    case VIDIOC_QBUF:
        ck_assert_ptr_nonnull(d->memory[b->index]);
        d->free_buffers[d->queued++] = b->index;
        return 0;
    case VIDIOC_STREAMON:
        d->streaming = true;
        return 0;
    case VIDIOC_STREAMOFF:
        d->streaming = false;
        return 0;
    case VIDIOC_DQBUF:
        return fill(d, b);
    }
    ck_abort_msg("request %lx", request);
}

static void *driver_map(void *context, int fd, size_t length, off_t offset)
{
    struct driver *d = context;
    ck_assert_int_eq(fd, d->fd);
    if (d->failing == 2) {
        errno = d->reason;
        return MAP_FAILED;
    }
    d->mapped++;
    return d->memory[offset / 4096] = malloc(length);
}

static void driver_unmap(void *context, void *address, size_t length)
{
    struct driver *d = context;
    (void)length;
    ck_assert(!d->streaming);
    d->mapped--;
    free(address);
}

static void driver_close(void *context, int fd)
{
    struct driver *d = context;
    ck_assert_int_eq(fd, d->fd);
    ck_assert_int_eq(d->mapped, 0);
    d->opened--;
    close(fd);
}

static enum adaps_status open_driver(const struct ad_frames_shared *shared, void *context,
                                     void **out, struct adaps_error *err)
{
    return ad_camera_open(shared, "/dev/video7", context, out, err);
}

static char told[1024];
static void tell(void *context, const char *message)
{
    strncat(context, message, sizeof told - strlen(told) - 1);
    strncat(context, "\n", sizeof told - strlen(told) - 1);
}

static struct ad_camera_calls calls_of(struct driver *d)
{
    return (struct ad_camera_calls){driver_open,  driver_ioctl, driver_map,
                                    driver_unmap, driver_close, d};
}

static enum adaps_status try(struct ad_camera_calls *calls, struct ad_frames_options options,
                             struct ad_frames **out, struct adaps_error *err)
{
    options.tell = tell;
    options.tell_context = told;
    told[0] = '\0';
    return ad_frames_open_kind(&ad_frames_camera, open_driver, calls, &options, out, err);
}

/* Opens it, or says why not; then everything has been given back. */
static void expect_refused(struct driver *d, const char *why)
{
    struct ad_camera_calls calls = calls_of(d);
    struct ad_frames *frames;
    struct adaps_error err = {0};
    ck_assert_msg(try(&calls, (struct ad_frames_options){0}, &frames, &err) == ADAPS_EINPUT,
                  "not refused: %s", why);
    ck_assert_str_eq(err.message, why);
    ck_assert_int_eq(d->opened, 0);
    ck_assert_int_eq(d->mapped, 0);
    ck_assert(!d->streaming);
}

START_TEST(test_refused)
{
    static const struct {
        struct driver driver;
        const char *why;
    } bad[] = {
        {{.failing = 1, .reason = EACCES}, "/dev/video7: Permission denied"},
        {{.failing = VIDIOC_QUERYCAP, .reason = ENOTTY},
         "/dev/video7: not a camera (Video4Linux): Inappropriate ioctl for device"},
        {{.capabilities = V4L2_CAP_VIDEO_OUTPUT | V4L2_CAP_STREAMING},
         "/dev/video7: does not capture video"},
        {{.capabilities = CAPTURES | V4L2_CAP_DEVICE_CAPS,
          .device_capabilities = V4L2_CAP_META_CAPTURE | V4L2_CAP_STREAMING},
         "/dev/video7: does not capture video"},
        {{.capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_READWRITE},
         "/dev/video7: cannot stream into buffers (V4L2_CAP_STREAMING)"},
        {{.capabilities = V4L2_CAP_VIDEO_CAPTURE_MPLANE | V4L2_CAP_STREAMING},
         "/dev/video7: gives frames in several planes only, which adaps does not read; let "
         "rpicam-vid or ffmpeg write raw frames into a pipe (--raw)"},
        {{.failing = VIDIOC_G_FMT, .reason = EINVAL},
         "/dev/video7: has no format of frames: Invalid argument"},
        {{.failing = VIDIOC_S_FMT, .reason = EBUSY},
         "/dev/video7: its format cannot be set: Device or resource busy"},
        {{.failing = VIDIOC_S_FMT, .reason = EINVAL},
         "/dev/video7: gives none of YUYV, RGB24 and motion JPEG"},
        {{.formats = {V4L2_PIX_FMT_H264}},
         "/dev/video7: gives none of YUYV, RGB24 and motion JPEG"},
        {{.width = 100000, .height = 100000},
         "/dev/video7: frames of 100000 x 100000 pixels are outside of what adaps takes"},
        {{.field = V4L2_FIELD_ALTERNATE}, "/dev/video7: gives half frames (fields) only"},
        {{.bytesperline = 7}, "/dev/video7: rows of 7 bytes where 8 are needed"},
        {{.bytesperline = 0xffffffff}, "/dev/video7: rows of 4294967295 bytes where 8 are needed"},
        {{.failing = VIDIOC_REQBUFS, .reason = EINVAL},
         "/dev/video7: has no buffers that can be shared: Invalid argument"},
        {{.nbuffers = 1}, "/dev/video7: has 1 buffers where 2 to 32 are needed"},
        {{.nbuffers = 33}, "/dev/video7: has 33 buffers where 2 to 32 are needed"},
        {{.failing = VIDIOC_QUERYBUF, .reason = EINVAL},
         "/dev/video7: does not tell of its buffers: Invalid argument"},
        {{.length = 15}, "/dev/video7: has buffers of 15 bytes where 16 are needed"},
        {{.failing = 2, .reason = ENOMEM},
         "/dev/video7: its buffers cannot be mapped: Cannot allocate memory"},
        {{.failing = VIDIOC_QBUF, .reason = EIO},
         "/dev/video7: takes no buffer: Input/output error"},
        {{.failing = VIDIOC_STREAMON, .reason = ENOSPC},
         "/dev/video7: cannot begin to stream: No space left on device"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct driver d = bad[i].driver;
        expect_refused(&d, bad[i].why);
    }
}
END_TEST

static struct ad_frames *open_camera(struct ad_camera_calls *calls,
                                     struct ad_frames_options options)
{
    struct ad_frames *frames;
    struct adaps_error err = {0};
    ck_assert_msg(try(calls, options, &frames, &err) == ADAPS_OK, "%s", err.message);
    return frames;
}

static void next(struct ad_frames *frames, struct ad_source_frame *frame)
{
    struct adaps_error err = {0};
    bool got;
    ck_assert_msg(ad_frames_next(frames, frame, &got, &err) == ADAPS_OK, "%s", err.message);
    ck_assert(got);
    ck_assert_str_eq(frame->name, "/dev/video7");
}

static void close_camera(struct driver *d, struct ad_frames *frames)
{
    ad_frames_close(frames);
    ck_assert_int_eq(d->opened, 0);
    ck_assert_int_eq(d->mapped, 0);
    ck_assert(!d->streaming);
}

/* 4 x 2 pixels of YUYV with rows of 10 bytes, and the same as RGB. */
static const uint8_t yuyv[] = {16,  128, 235, 128, 81, 90,  145, 240, 9, 9, /**/
                               100, 30,  50,  200, 41, 240, 210, 110};

/* Sequence numbers and times are the driver's; damaged frames are left out; more frames than
 * buffers come. */
START_TEST(test_yuyv)
{
    struct driver d = {.bytesperline = 10, .interrupted = 3, .nframes = 8};
    const struct ad_raw raw = {4, 2, AD_RAW_YUYV422};
    uint8_t wanted[24];
    ad_raw_to_rgb(&raw, yuyv, 10, wanted);
    for (int i = 0; i < 8; i++)
        d.frames[i] = (struct made_frame){.data = yuyv,
                                          .size = sizeof yuyv,
                                          .sequence = 0xfffffffe + (uint32_t)i,
                                          .flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC,
                                          .us = 5000000 + i};
    d.frames[2].size--;                                           /* cut short */
    d.frames[3].flags |= V4L2_BUF_FLAG_ERROR;                     /* damaged */
    d.frames[6].sequence = d.frames[7].sequence = 0xfffffffe + 9; /* lost; counted twice */
    struct ad_camera_calls calls = calls_of(&d);
    struct ad_frames *frames = open_camera(&calls, (struct ad_frames_options){0});
    ck_assert_uint_eq(d.asked_width, 640);
    ck_assert_uint_eq(d.asked_height, 480);
    static const struct {
        uint64_t sequence;
        int us;
    } come[] = {{0, 0}, {1, 1}, {4, 4}, {5, 5}, {9, 6}, {10, 7}};
    struct ad_source_frame frame = {0};
    for (size_t i = 0; i < sizeof come / sizeof *come; i++) {
        next(frames, &frame);
        ck_assert_int_eq(frame.image.width, 4);
        ck_assert_int_eq(frame.image.height, 2);
        ck_assert_mem_eq(frame.image.pixels, wanted, sizeof wanted);
        ck_assert_uint_eq(frame.sequence, come[i].sequence);
        ck_assert_int_eq(frame.captured_ns, 5000000000 + come[i].us * 1000);
    }
    ck_assert_str_eq(told, "/dev/video7: a damaged frame is left out\n"
                           "/dev/video7: a damaged frame is left out\n");
    ck_assert_int_eq(d.queued, 4); /* all are back */
    ad_frames_cancel(frames);
    bool got;
    ck_assert_int_eq(ad_frames_next(frames, &frame, &got, NULL), ADAPS_OK);
    ck_assert(!got);
    close_camera(&d, frames);
}
END_TEST

/* The size that is asked for, RGB, and a driver whose times are of another clock. */
START_TEST(test_rgb)
{
    static const uint8_t rgb[24] = {1, 2, 3, 4, 5, 6, 250, 251, 252, 253, 254, 255};
    struct driver d = {.formats = {V4L2_PIX_FMT_RGB24}, .nframes = 1};
    d.frames[0] = (struct made_frame){.data = rgb, .size = sizeof rgb, .us = 77};
    struct ad_camera_calls calls = calls_of(&d);
    struct ad_frames *frames =
        open_camera(&calls, (struct ad_frames_options){.width = 320, .height = 200});
    struct ad_source_frame frame = {0};
    int64_t before = ad_clock_ns();
    next(frames, &frame);
    ck_assert_uint_eq(d.asked_width, 320);
    ck_assert_uint_eq(d.asked_height, 200);
    ck_assert_mem_eq(frame.image.pixels, rgb, sizeof rgb);
    ck_assert_int_ge(frame.captured_ns, before);
    ck_assert_int_le(frame.captured_ns, ad_clock_ns());
    ad_source_frame_fini(&frame);
    close_camera(&d, frames);
}
END_TEST

/* What a camera has decides, by our preference: YUYV, then RGB, then JPEG. */
START_TEST(test_preference)
{
    struct driver d = {.formats = {V4L2_PIX_FMT_MJPEG, V4L2_PIX_FMT_RGB24, V4L2_PIX_FMT_YUYV},
                       .bytesperline = 10,
                       .nframes = 1};
    d.frames[0] = (struct made_frame){.data = yuyv, .size = sizeof yuyv};
    struct ad_camera_calls calls = calls_of(&d);
    struct ad_frames *frames = open_camera(&calls, (struct ad_frames_options){0});
    struct ad_source_frame frame = {0};
    next(frames, &frame);
    ck_assert_int_eq(frame.image.pixels[0], 0); /* Y 16 */
    ck_assert_int_eq(frame.image.pixels[3], 255);
    ad_source_frame_fini(&frame);
    close_camera(&d, frames);
}
END_TEST

/* A JPEG file of 24 x 16 pixels. */
static uint8_t *make_jpeg(size_t *size)
{
    char name[] = "test_camera.XXXXXX.jpg";
    uint8_t pixels[24 * 16 * 3];
    void *data;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * i / 7 + i);
    const struct ad_image image = {24, 16, 3, pixels};
    int fd = mkstemps(name, 4);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(ad_image_save(name, &image, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_file_read(name, 1 << 20, &data, size, NULL), ADAPS_OK);
    unlink(name);
    return data;
}

/* Leaves the segments with Huffman tables out; how many there were. */
static int drop_tables(uint8_t *data, size_t *size)
{
    int dropped = 0;
    for (size_t i = 2; data[i + 1] != 0xda;) {
        size_t length = 2 + ((size_t)data[i + 2] << 8 | data[i + 3]);
        ck_assert_uint_eq(data[i], 0xff);
        if (data[i + 1] == 0xc4) {
            memmove(data + i, data + i + length, *size - i - length);
            *size -= length;
            dropped++;
        } else {
            i += length;
        }
    }
    return dropped;
}

/* With tables and without: the file's are those of the standard. Broken ones are left out. */
START_TEST(test_jpeg)
{
    static const struct ad_image_shape shape = {24, 16, 3, false};
    size_t size, bare_size;
    uint8_t *jpeg = make_jpeg(&size), *bare = malloc(size);
    struct ad_image wanted;
    ck_assert_int_eq(ad_image_parse(jpeg, size, "it", &shape, &wanted, NULL), ADAPS_OK);
    bare_size = size;
    memcpy(bare, jpeg, size);
    ck_assert_int_gt(drop_tables(bare, &bare_size), 0);
    struct driver d = {.formats = {V4L2_PIX_FMT_MJPEG}, .nframes = 4, .width = 24, .height = 16};
    d.frames[0] = (struct made_frame){.data = jpeg, .size = (uint32_t)size};
    d.frames[1] = (struct made_frame){.data = bare, .size = 100, .sequence = 1};
    d.frames[2] = (struct made_frame){.data = bare, .size = 0, .sequence = 2};
    d.frames[3] = (struct made_frame){.data = bare, .size = (uint32_t)bare_size, .sequence = 3};
    struct ad_camera_calls calls = calls_of(&d);
    struct ad_frames *frames = open_camera(&calls, (struct ad_frames_options){0});
    struct ad_source_frame frame = {0};
    for (uint64_t i = 0; i < 2; i++) {
        next(frames, &frame);
        ck_assert_uint_eq(frame.sequence, i * 3);
        ck_assert_int_eq(frame.image.width, 24);
        ck_assert_int_eq(frame.image.height, 16);
        ck_assert_mem_eq(frame.image.pixels, wanted.pixels, 24 * 16 * 3);
    }
    ck_assert_ptr_nonnull(strstr(told, "a damaged frame is left out: /dev/video7: not a picture"));
    ck_assert_ptr_nonnull(strstr(told, "/dev/video7: a damaged frame is left out\n"));
    ad_source_frame_fini(&frame);
    close_camera(&d, frames);
    ad_image_fini(&wanted);
    ad_free(jpeg);
    free(bare);
}
END_TEST

/* Any beginning of a picture without tables, in memory that ends where it does. */
START_TEST(test_jpeg_cut)
{
    size_t size;
    uint8_t *jpeg = make_jpeg(&size);
    struct ad_source_frame frame = {0};
    drop_tables(jpeg, &size);
    for (size_t n = 0; n < size; n++) {
        uint8_t *part = malloc(n + 1);
        struct adaps_error err = {0};
        memcpy(part + 1, jpeg, n);
        enum adaps_status status = ad_mjpeg_load(part + 1, n, "it", &frame, &err);
        ck_assert(status == ADAPS_OK || status == ADAPS_EINPUT);
        ck_assert(status == ADAPS_OK || strncmp(err.message, "it: ", 4) == 0);
        free(part);
    }
    ad_source_frame_fini(&frame);
    ad_free(jpeg);
}
END_TEST

/* A camera that is pulled out, or whose driver is broken, while it streams. */
START_TEST(test_gone)
{
    static const struct {
        unsigned long failing;
        uint32_t bad_index;
        const char *why;
    } bad[] = {
        {VIDIOC_DQBUF, 0, "/dev/video7: gives no more frames: No such device"},
        {VIDIOC_QBUF, 0, "/dev/video7: takes no buffer: No such device"},
        {0, 4, "/dev/video7: filled a buffer that it does not have"},
        {0, 0xffffffff, "/dev/video7: filled a buffer that it does not have"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct driver d = {.bytesperline = 10, .nframes = 1};
        d.frames[0] = (struct made_frame){.data = yuyv, .size = sizeof yuyv};
        struct ad_camera_calls calls = calls_of(&d);
        struct ad_frames *frames = open_camera(&calls, (struct ad_frames_options){0});
        d.failing = bad[i].failing;
        d.reason = ENODEV;
        d.bad_index = bad[i].bad_index;
        for (int again = 0; again < 2; again++) {
            struct ad_source_frame frame = {0};
            struct adaps_error err = {0};
            bool got;
            ck_assert_int_eq(ad_frames_next(frames, &frame, &got, &err), ADAPS_EINPUT);
            ck_assert_str_eq(err.message, bad[i].why);
            ck_assert(!got);
            ck_assert_ptr_null(frame.image.pixels);
        }
        d.failing = 0;
        close_camera(&d, frames);
    }
}
END_TEST

START_TEST(test_allocation_failures)
{
    size_t size;
    uint8_t *jpeg = make_jpeg(&size);
    drop_tables(jpeg, &size);
    enum adaps_status status = ADAPS_EINTERNAL;
    long n = 1;
    for (; status != ADAPS_OK; n++) {
        struct driver d = {
            .formats = {V4L2_PIX_FMT_MJPEG}, .nframes = 1, .width = 24, .height = 16};
        d.frames[0] = (struct made_frame){.data = jpeg, .size = (uint32_t)size};
        struct ad_camera_calls calls = calls_of(&d);
        struct ad_frames *frames = NULL;
        struct ad_source_frame frame = {0};
        struct adaps_error err = {0};
        bool got = false;
        ad_mem_fail_after(n);
        status = try(&calls, (struct ad_frames_options){0}, &frames, &err);
        if (status == ADAPS_OK)
            status = ad_frames_next(frames, &frame, &got, &err);
        ad_mem_fail_after(0);
        ck_assert_msg(status == ADAPS_OK || status == ADAPS_EINTERNAL, "%ld: %s", n, err.message);
        ck_assert_int_eq(got, status == ADAPS_OK);
        ad_source_frame_fini(&frame);
        close_camera(&d, frames);
    }
    ck_assert_int_gt(n, 5);
    ad_free(jpeg);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("camera");
    TCase *tc = tcase_create("camera");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_refused);
    tcase_add_test(tc, test_yuyv);
    tcase_add_test(tc, test_rgb);
    tcase_add_test(tc, test_preference);
    tcase_add_test(tc, test_jpeg);
    tcase_add_test(tc, test_jpeg_cut);
    tcase_add_test(tc, test_gone);
    tcase_add_test(tc, test_allocation_failures);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
