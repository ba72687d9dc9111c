/* Sources of frames: picture files, a watched folder, raw frames from a pipe, a camera. All give
 * RGB pictures, one after the other. */
#ifndef AD_IO_FRAMES_H
#define AD_IO_FRAMES_H

#include "io/image.h"
#include "io/raw.h"

struct ad_source_frame {
    struct ad_image image; /* 3 channels: R, G, B; owned */
    char *name;            /* owned: the file's path, "standard input", "/dev/video0" */
    uint64_t sequence;     /* from 0, as the source counts; dropped and lost frames leave gaps */
    int64_t captured_ns;   /* ad_clock_ns() when it was whole: the file or the last byte read, or
                            * what the camera's driver says */
};

/* Zero-initialise, then set what you need. */
struct ad_frames_options {
    const char *raw; /* the input is raw frames of this size and format: "640x480:rgb24" (raw.h) */
    bool drop;       /* latest wins: a thread reads ahead and keeps only the newest frame */
    bool ahead;      /* a thread reads one frame ahead, for ad_frames_ready(); drop does, too */
    double idle_s;   /* a watched folder ends after so long without a new frame; 0: never */
    int width, height; /* what a camera is asked for, which may give another size; 0: its own */

    /* Gets what does not end the source, a line each, without a line end: files that are skipped, a
     * frame that is cut short. NULL: nobody is told. With `drop` another thread calls it. */
    void (*tell)(void *context, const char *message);
    void *tell_context;
};

struct ad_frames;

/* Opens what the inputs name:
 * - with options->raw, one input: a file, a FIFO or "-" for the standard input;
 * - one folder: the pictures that are in it, by name, then those that are written or moved into it;
 *   other files are skipped, broken ones with a message; it ends by `idle_s` or ad_frames_cancel();
 * - one character device: a camera (V4L2);
 * - else picture files, each once, in this order.
 * Inputs and options need not outlive the call, but for tell_context. ADAPS_EUSAGE: the options or
 * this mix of inputs; ADAPS_EINPUT names what cannot be opened and why. *out is the caller's. */
AD_MUST_CHECK enum adaps_status ad_frames_open(char *const *inputs, int ninputs,
                                               const struct ad_frames_options *options,
                                               struct ad_frames **out, struct adaps_error *err);

/* The same of raw frames from a descriptor, which stays the caller's and should be open until
 * ad_frames_close(). `name` is what frames and messages call it. */
AD_MUST_CHECK enum adaps_status ad_frames_open_fd(int fd, const char *name,
                                                  const struct ad_frames_options *options,
                                                  struct ad_frames **out, struct adaps_error *err);

/* The next frame; blocks until there is one. `frame` is zero-initialised or what an earlier call
 * filled, whose memory is used again. *got false with ADAPS_OK: the source has ended or was
 * cancelled, and *frame is empty. After an error *frame is empty, too: a list of files goes on
 * behind the file that the error names; the other sources give the same error again. */
AD_MUST_CHECK enum adaps_status ad_frames_next(struct ad_frames *frames,
                                               struct ad_source_frame *frame, bool *got,
                                               struct adaps_error *err);

/* Whether there is something to take, so that ad_frames_next() returns at once: waits for it up to
 * `ms`. Of sources that have no thread: always. */
bool ad_frames_ready(struct ad_frames *frames, int ms);
void ad_source_frame_fini(struct ad_source_frame *frame);

/* Ends the source: a blocked ad_frames_next() and all later ones return without a frame. May be
 * called from other threads and from signal handlers. */
void ad_frames_cancel(struct ad_frames *frames);

/* How many frames were dropped because newer ones came, as yet. */
uint64_t ad_frames_dropped(const struct ad_frames *frames);

/* Ends the reading thread, too, and frees. NULL is allowed. */
void ad_frames_close(struct ad_frames *frames);

#endif
