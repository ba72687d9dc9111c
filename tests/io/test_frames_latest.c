/* The thread that reads ahead, step by step: the mode in which the latest frame wins, with a slow
 * consumer; errors; what is there. */
#include "base/clock.h"
#include "io/frames_internal.h"
#include "support/run_suite.h"

#include <check.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A source whose every step the test allows, and which tells when it is asked for the next frame:
 * then what it gave before is kept. */
struct stepped {
    const struct ad_frames_shared *shared;
    int allowed, asked; /* eventfds that count */
    const char *script; /* f: a frame, e: an error, then the end */
    int step;
};

static enum adaps_status stepped_next(void *source, struct ad_source_frame *frame, bool *got,
                                      struct adaps_error *err)
{
    struct stepped *s = source;
    uint64_t one = 1;
    bool ready = false;
    ck_assert_int_eq(write(s->asked, &one, sizeof one), sizeof one);
    while (!ready)
        if (!ad_frames_wait(s->shared, s->allowed, -1, &ready))
            return ADAPS_OK;
    ck_assert_int_eq(read(s->allowed, &one, sizeof one), sizeof one);
    char what = s->script[s->step];
    s->step += what != '\0';
    if (what == 'e')
        return ad_error_set(err, ADAPS_EINPUT, "step %d", s->step - 1);
    if (what == '\0')
        return ADAPS_OK;
    *got = true;
    enum adaps_status status = ad_source_frame_shape(frame, 1, 1, err);
    memset(frame->image.pixels, s->step - 1, 3);
    frame->captured_ns = ad_clock_ns();
    return status == ADAPS_OK ? ad_source_frame_set_name(frame, "step", err) : status;
}

static void stepped_free(void *source)
{
    (void)source;
}

static const struct ad_frames_kind stepped_kind = {stepped_next, stepped_free, true};

static enum adaps_status stepped_open(const struct ad_frames_shared *shared, void *context,
                                      void **out, struct adaps_error *err)
{
    struct stepped *s = context;
    (void)err;
    s->shared = shared;
    s->allowed = eventfd(0, EFD_SEMAPHORE);
    s->asked = eventfd(0, EFD_SEMAPHORE);
    *out = s;
    return ADAPS_OK;
}

static struct ad_frames *open_stepped(struct stepped *s, const char *script, bool drop)
{
    struct ad_frames *frames;
    const struct ad_frames_options options = {.drop = drop, .ahead = !drop};
    *s = (struct stepped){.script = script};
    ck_assert_int_eq(ad_frames_open_kind(&stepped_kind, stepped_open, s, &options, &frames, NULL),
                     ADAPS_OK);
    return frames;
}

static void close_stepped(struct stepped *s, struct ad_frames *frames)
{
    ad_frames_close(frames);
    close(s->allowed);
    close(s->asked);
}

static void allow(struct stepped *s)
{
    uint64_t one = 1;
    ck_assert_int_eq(write(s->allowed, &one, sizeof one), sizeof one);
}

/* Until the source is asked for the next frame. */
static void wait_asked(struct stepped *s)
{
    uint64_t one;
    ck_assert_int_eq(read(s->asked, &one, sizeof one), sizeof one);
}

static void let(struct stepped *s)
{
    wait_asked(s);
    allow(s);
}

static void take_step(struct ad_frames *frames, struct ad_source_frame *frame, int sequence,
                      int step)
{
    bool got;
    ck_assert_int_eq(ad_frames_next(frames, frame, &got, NULL), ADAPS_OK);
    ck_assert(got);
    ck_assert_uint_eq(frame->sequence, (uint64_t)sequence);
    ck_assert_int_eq(frame->image.pixels[0], step);
}

static void take_error(struct ad_frames *frames, struct ad_source_frame *frame, const char *why)
{
    struct adaps_error err = {0};
    bool got = true;
    ck_assert_int_eq(ad_frames_next(frames, frame, &got, &err), ADAPS_EINPUT);
    ck_assert_str_eq(err.message, why);
    ck_assert(!got);
    ck_assert_ptr_null(frame->name);
    ck_assert_ptr_null(frame->image.pixels);
}

static void take_end(struct ad_frames *frames, struct ad_source_frame *frame)
{
    bool got = true;
    ck_assert_int_eq(ad_frames_next(frames, frame, &got, NULL), ADAPS_OK);
    ck_assert(!got);
    ck_assert_ptr_null(frame->image.pixels);
}

START_TEST(test_latest_wins)
{
    struct stepped s;
    struct ad_source_frame frame = {0};
    struct ad_frames *frames = open_stepped(&s, "ffffff", true);
    for (int i = 0; i < 3; i++)
        let(&s);
    wait_asked(&s); /* so the third frame is kept */
    ck_assert_uint_eq(ad_frames_dropped(frames), 2);
    take_step(frames, &frame, 2, 2);
    allow(&s); /* the fourth, while somebody waits for it */
    take_step(frames, &frame, 3, 3);
    let(&s);
    wait_asked(&s);
    ck_assert_uint_eq(ad_frames_dropped(frames), 2);
    allow(&s);
    let(&s); /* after the sixth, the end */
    take_step(frames, &frame, 5, 5);
    ck_assert_uint_eq(ad_frames_dropped(frames), 3);
    take_end(frames, &frame);
    close_stepped(&s, frames);
}
END_TEST

/* An error waits until it is taken; a frame that came before it comes before it. */
START_TEST(test_latest_wins_errors)
{
    struct stepped s;
    struct ad_source_frame frame = {0};
    struct ad_frames *frames = open_stepped(&s, "feff", true);
    let(&s);
    wait_asked(&s); /* the frame is kept */
    allow(&s);
    take_step(frames, &frame, 0, 0);
    take_error(frames, &frame, "step 1");
    let(&s);
    let(&s);
    wait_asked(&s);
    ck_assert_uint_eq(ad_frames_dropped(frames), 1);
    take_step(frames, &frame, 2, 3);
    ad_source_frame_fini(&frame);
    close_stepped(&s, frames);

    frames = open_stepped(&s, "ee", true); /* closed with an error that nobody takes */
    let(&s);
    close_stepped(&s, frames);
}
END_TEST

/* One frame is read ahead, and waits to be taken. */
START_TEST(test_ahead)
{
    struct stepped s;
    struct ad_source_frame frame = {0};
    struct ad_frames *frames = open_stepped(&s, "fffef", false);
    let(&s);
    let(&s); /* the second waits until the first is taken */
    take_step(frames, &frame, 0, 0);
    take_step(frames, &frame, 1, 1);
    let(&s);
    let(&s);
    take_step(frames, &frame, 2, 2);
    take_error(frames, &frame, "step 3");
    let(&s);
    let(&s);
    take_step(frames, &frame, 3, 4);
    ck_assert(ad_frames_ready(frames, 60000)); /* for the end */
    take_end(frames, &frame);
    take_end(frames, &frame);
    ck_assert_uint_eq(ad_frames_dropped(frames), 0);
    close_stepped(&s, frames);

    frames = open_stepped(&s, "ff", false); /* closed while the second waits */
    let(&s);
    let(&s);
    close_stepped(&s, frames);
}
END_TEST

START_TEST(test_ready)
{
    struct stepped s;
    struct ad_source_frame frame = {0};
    struct ad_frames *frames = open_stepped(&s, "fe", true);
    wait_asked(&s);
    ck_assert(!ad_frames_ready(frames, 0));
    allow(&s);
    ck_assert(ad_frames_ready(frames, 60000));
    take_step(frames, &frame, 0, 0);
    ck_assert(!ad_frames_ready(frames, 0));
    let(&s);
    ck_assert(ad_frames_ready(frames, 60000));
    take_error(frames, &frame, "step 1");
    close_stepped(&s, frames);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frames_latest");
    TCase *tc = tcase_create("frames_latest");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_latest_wins);
    tcase_add_test(tc, test_latest_wins_errors);
    tcase_add_test(tc, test_ahead);
    tcase_add_test(tc, test_ready);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
