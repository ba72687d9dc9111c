/* What the kinds of sources have in common (frames.c), and how each is opened. */
#ifndef AD_IO_FRAMES_INTERNAL_H
#define AD_IO_FRAMES_INTERNAL_H

#include "io/frames.h"

#include <poll.h>
#include <stdint.h>

/* What a source shares with its ad_frames. It lives as long as the source. */
struct ad_frames_shared {
    int cancel_fd; /* an eventfd; readable: the source shall end */
    struct ad_frames_options options;
    struct ad_raw raw; /* of options.raw, when that is set */
};

/* A kind of source. */
struct ad_frames_kind {
    /* As ad_frames_next(), of one thread. The frame comes with a sequence number, which the source
     * may replace by a larger one, and with the time of the call. */
    enum adaps_status (*next)(void *source, struct ad_source_frame *frame, bool *got,
                              struct adaps_error *err);
    void (*free)(void *source);
    bool goes_on; /* after an error there may be more frames */
};

/* Each opens a source of its kind. */
extern const struct ad_frames_kind ad_frames_files, ad_frames_folder, ad_frames_pipe,
    ad_frames_camera;
AD_MUST_CHECK enum adaps_status ad_frames_files_open(const struct ad_frames_shared *shared,
                                                     char *const *paths, int npaths, void **out,
                                                     struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_frames_folder_open(const struct ad_frames_shared *shared,
                                                      const char *path, void **out,
                                                      struct adaps_error *err);
/* With `owned` the descriptor is closed at the end. */
AD_MUST_CHECK enum adaps_status ad_frames_pipe_open(const struct ad_frames_shared *shared, int fd,
                                                    bool owned, const char *name, void **out,
                                                    struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_frames_camera_open(const struct ad_frames_shared *shared,
                                                      const char *path, void **out,
                                                      struct adaps_error *err);

/* A source of the caller's: `open` makes it, and gets the shared part. */
typedef enum adaps_status ad_frames_open_fn(const struct ad_frames_shared *shared, void *context,
                                            void **out, struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_frames_open_kind(const struct ad_frames_kind *kind,
                                                    ad_frames_open_fn *open, void *context,
                                                    const struct ad_frames_options *options,
                                                    struct ad_frames **out,
                                                    struct adaps_error *err);

/* Waits until fd can be read, `ms` are over (-1: for ever) or the source shall end. *ready: fd can
 * be read; false also when a signal came. False when the source shall end. */
AD_MUST_CHECK bool ad_frames_wait(const struct ad_frames_shared *shared, int fd, int ms,
                                  bool *ready);

/* Whether the source shall end. */
bool ad_frames_cancelled(const struct ad_frames_shared *shared);

void ad_frames_tell(const struct ad_frames_shared *shared, const char *fmt, ...) AD_PRINTF(2, 3);

/* Gives a frame room for width x height pixels, which stay as they were when it has it already. */
AD_MUST_CHECK enum adaps_status ad_source_frame_shape(struct ad_source_frame *frame, int width,
                                                      int height, struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_source_frame_set_name(struct ad_source_frame *frame,
                                                         const char *name, struct adaps_error *err);

/* Reads a picture of any size into the frame, as RGB. */
AD_MUST_CHECK enum adaps_status ad_source_frame_load(struct ad_source_frame *frame,
                                                     const char *path, struct adaps_error *err);

#endif
