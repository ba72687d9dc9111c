/* Cameras (Video4Linux, one plane): how frames_camera.c speaks with the kernel. */
#ifndef AD_IO_CAMERA_H
#define AD_IO_CAMERA_H

#include "io/frames_internal.h"

#include <sys/types.h>

/* The system calls, so that tests can be a camera. Each returns what the call returns, with errno.
 */
struct ad_camera_calls {
    int (*open)(void *context, const char *path);
    int (*ioctl)(void *context, int fd, unsigned long request, void *arg);
    void *(*map)(void *context, int fd, size_t length, off_t offset); /* MAP_FAILED: see errno */
    void (*unmap)(void *context, void *address, size_t length);
    void (*close)(void *context, int fd);
    void *context;
};

/* Opens a camera: YUYV if it has that, else RGB, else pictures in JPEG, in the size of the options
 * or the one that it is set to. `calls` must outlive the source. ADAPS_EINPUT names the device and
 * what it lacks. */
AD_MUST_CHECK enum adaps_status ad_camera_open(const struct ad_frames_shared *shared,
                                               const char *path,
                                               const struct ad_camera_calls *calls, void **out,
                                               struct adaps_error *err);

/* Decodes a picture of a motion JPEG stream into the frame. Many cameras leave the Huffman tables
 * out, which are then the standard's. ADAPS_EINPUT as ad_image_parse(). */
AD_MUST_CHECK enum adaps_status ad_mjpeg_load(const uint8_t *data, size_t size, const char *name,
                                              struct ad_source_frame *frame,
                                              struct adaps_error *err);

#endif
