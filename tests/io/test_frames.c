/* Sources of frames: files, watched folders, pipes; cancelling. Other threads and files appear in
 * an order that is enforced, or that does not matter. */
#include "base/clock.h"
#include "base/mem.h"
#include "io/frames.h"
#include "support/run_suite.h"

#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each test has a folder of its own, and stands in it. */
static char folder[] = "test_frames.XXXXXX", outside[4096];

/* What sources have told, a line each. */
static char told[4096];

static void tell(void *context, const char *message)
{
    size_t n = strlen(told);
    ck_assert_ptr_eq(context, told);
    snprintf(told + n, sizeof told - n, "%s\n", message);
}

static void enter(void)
{
    ck_assert_ptr_nonnull(getcwd(outside, sizeof outside));
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    told[0] = '\0';
}

static void leave(void)
{
    char command[128];
    ck_assert_int_eq(chdir(outside), 0);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

/* A picture of one colour, made of a number. */
static void picture(const char *name, int width, int height, int number)
{
    size_t bytes = (size_t)width * (size_t)height * 3;
    struct ad_image image = {width, height, 3, malloc(bytes)};
    memset(image.pixels, number, bytes);
    ck_assert_int_eq(ad_image_save(name, &image, NULL), ADAPS_OK);
    free(image.pixels);
}

static void text(const char *name, const char *content)
{
    FILE *f = fopen(name, "w");
    ck_assert_ptr_nonnull(f);
    fputs(content, f);
    ck_assert_int_eq(fclose(f), 0);
}

static struct ad_frames *open_some(char *const *inputs, int n, struct ad_frames_options options)
{
    struct ad_frames *frames;
    struct adaps_error err = {0};
    options.tell = tell;
    options.tell_context = told;
    enum adaps_status status = ad_frames_open(inputs, n, &options, &frames, &err);
    ck_assert_msg(status == ADAPS_OK, "%s", err.message);
    return frames;
}

#define OPEN(options, ...)                                                                         \
    open_some((char *[]){__VA_ARGS__}, sizeof((char *[]){__VA_ARGS__}) / sizeof(char *), options)
static const struct ad_frames_options plain;

/* The next frame is this one. */
static void expect(struct ad_frames *frames, struct ad_source_frame *frame, const char *name,
                   uint64_t sequence, int width, int height, int number)
{
    struct adaps_error err = {0};
    bool got;
    int64_t before = ad_clock_ns();
    enum adaps_status status = ad_frames_next(frames, frame, &got, &err);
    ck_assert_msg(status == ADAPS_OK, "%s", err.message);
    ck_assert_msg(got, "%s does not come", name);
    ck_assert_str_eq(frame->name, name);
    ck_assert_uint_eq(frame->sequence, sequence);
    ck_assert_int_eq(frame->image.width, width);
    ck_assert_int_eq(frame->image.height, height);
    ck_assert_int_eq(frame->image.channels, 3);
    for (int i = 0; i < width * height * 3; i++)
        ck_assert_int_eq(frame->image.pixels[i], number);
    ck_assert_int_ge(frame->captured_ns, before);
    ck_assert_int_le(frame->captured_ns, ad_clock_ns());
}

static void expect_end(struct ad_frames *frames, struct ad_source_frame *frame)
{
    struct adaps_error err = {0};
    bool got = true;
    ck_assert_int_eq(ad_frames_next(frames, frame, &got, &err), ADAPS_OK);
    ck_assert(!got);
    ck_assert_ptr_null(frame->name);
    ck_assert_ptr_null(frame->image.pixels);
}

static void expect_error(struct ad_frames *frames, struct ad_source_frame *frame, const char *why)
{
    struct adaps_error err = {0};
    bool got = true;
    ck_assert_int_eq(ad_frames_next(frames, frame, &got, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, why) != NULL, "%s", err.message);
    ck_assert(!got);
    ck_assert_ptr_null(frame->name);
    ck_assert_ptr_null(frame->image.pixels);
}

START_TEST(test_files)
{
    struct ad_source_frame frame = {0};
    picture("b.png", 3, 2, 7);
    picture("a.ppm", 1, 5, 8);
    picture("c.bmp", 3, 2, 9);
    text("broken.png", "\x89PNG\r\n\x1a\nwhat follows is none");
    struct ad_frames *frames =
        OPEN(plain, "b.png", "a.ppm", "broken.png", "gone.png", "c.bmp", "b.png");
    expect(frames, &frame, "b.png", 0, 3, 2, 7);
    expect(frames, &frame, "a.ppm", 1, 1, 5, 8);
    expect_error(frames, &frame, "broken.png");
    expect_error(frames, &frame, "gone.png: No such file");
    expect(frames, &frame, "c.bmp", 2, 3, 2, 9);
    expect(frames, &frame, "b.png", 3, 3, 2, 7);
    expect_end(frames, &frame);
    expect_end(frames, &frame);
    ck_assert_uint_eq(ad_frames_dropped(frames), 0);
    ad_frames_close(frames);
    ck_assert_str_eq(told, "");
    ad_frames_close(NULL);
}
END_TEST

/* A picture of any size is read, but not of every size. */
START_TEST(test_large_picture)
{
    struct ad_source_frame frame = {0};
    text("large.ppm", "P6 32769 1 255\n");
    text("many.ppm", "P6 32768 2049 255\n");
    struct ad_frames *frames = OPEN(plain, "large.ppm", "many.ppm");
    expect_error(frames, &frame, "large.ppm: 32769 x 1 pixels are over the limit");
    expect_error(frames, &frame, "many.ppm: 32768 x 2049 pixels are over the limit");
    expect_end(frames, &frame);
    ad_frames_close(frames);
}
END_TEST

START_TEST(test_usage)
{
    static const struct {
        const char *inputs[3];
        const char *raw, *why;
        enum adaps_status status;
    } bad[] = {
        {{NULL}, NULL, "there is no input", ADAPS_EUSAGE},
        {{"-"}, NULL, "the standard input needs the size and format", ADAPS_EUSAGE},
        {{"a.png", "-"}, NULL, "the standard input needs", ADAPS_EUSAGE},
        {{".", "a.png"}, NULL, ".: a folder must be the only input", ADAPS_EUSAGE},
        {{"a.png", "/dev/null"}, NULL, "/dev/null: a camera must be the only", ADAPS_EUSAGE},
        {{"a.raw", "b.raw"}, "1x1:gray", "raw frames come from one input, not 2", ADAPS_EUSAGE},
        {{"a.raw"}, "100000x100000:gray", "the size is outside", ADAPS_EUSAGE},
        {{"a.raw"}, "", "WIDTHxHEIGHT:FORMAT", ADAPS_EUSAGE},
        {{"a.raw"}, "1x1:gray", "a.raw: No such file", ADAPS_EINPUT},
        {{"/dev/null"}, NULL, "/dev/null: not a camera (Video4Linux)", ADAPS_EINPUT},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ad_frames *frames = (void *)told;
        struct adaps_error err = {0};
        int n = 0;
        while (bad[i].inputs[n])
            n++;
        const struct ad_frames_options options = {.raw = bad[i].raw};
        enum adaps_status status =
            ad_frames_open((char *const *)bad[i].inputs, n, &options, &frames, &err);
        ck_assert_msg(status == bad[i].status, "%zu: %d: %s", i, status, err.message);
        ck_assert_msg(strstr(err.message, bad[i].why) != NULL, "%s", err.message);
        ck_assert_ptr_null(frames);
    }
    struct ad_frames *frames;
    struct adaps_error err = {0};
    ck_assert_int_eq(ad_frames_open_fd(0, "it", &plain, &frames, &err), ADAPS_EUSAGE);
    ck_assert_str_eq(err.message, "it: raw frames need a size and a format");
}
END_TEST

/* Writes to a pipe from a thread, some bytes at a time. */
struct writer {
    pthread_t thread;
    int fd;
    size_t bytes, at_a_time;
};

static void *write_bytes(void *data)
{
    struct writer *w = data;
    uint8_t block[256];
    for (size_t done = 0; done < w->bytes;) {
        size_t n = w->at_a_time < w->bytes - done ? w->at_a_time : w->bytes - done;
        for (size_t i = 0; i < n; i++)
            block[i] = (uint8_t)((done + i) / 12); /* a frame of 2 x 2 pixels has 12 */
        ck_assert_int_eq(write(w->fd, block, n), (ssize_t)n);
        done += n;
    }
    close(w->fd);
    return NULL;
}

static void start_writer(struct writer *w, int fd, size_t bytes, size_t at_a_time)
{
    *w = (struct writer){.fd = fd, .bytes = bytes, .at_a_time = at_a_time};
    ck_assert_int_eq(pthread_create(&w->thread, NULL, write_bytes, w), 0);
}

static struct ad_frames *open_pipe(int fd, bool drop)
{
    struct ad_frames *frames;
    const struct ad_frames_options options = {
        .raw = "2x2:rgb24", .drop = drop, .tell = tell, .tell_context = told};
    ck_assert_int_eq(ad_frames_open_fd(fd, "the pipe", &options, &frames, NULL), ADAPS_OK);
    return frames;
}

static const size_t at_a_time[] = {1, 5, 12, 13, 24, 200};

START_TEST(test_pipe)
{
    struct ad_source_frame frame = {0};
    struct writer writer;
    int fd[2];
    ck_assert_int_eq(pipe(fd), 0);
    struct ad_frames *frames = open_pipe(fd[0], false);
    start_writer(&writer, fd[1], 12 * 20, at_a_time[_i]);
    for (int i = 0; i < 20; i++)
        expect(frames, &frame, "the pipe", (uint64_t)i, 2, 2, i);
    expect_end(frames, &frame);
    expect_end(frames, &frame);
    pthread_join(writer.thread, NULL);
    ad_frames_close(frames);
    ck_assert_str_eq(told, "");
    ck_assert_int_eq(close(fd[0]), 0); /* still ours */
}
END_TEST

START_TEST(test_pipe_cut_short)
{
    struct ad_source_frame frame = {0};
    struct writer writer;
    int fd[2];
    ck_assert_int_eq(pipe(fd), 0);
    struct ad_frames *frames = open_pipe(fd[0], false);
    start_writer(&writer, fd[1], 12 + 7, at_a_time[_i]);
    expect(frames, &frame, "the pipe", 0, 2, 2, 0);
    expect_end(frames, &frame);
    expect_end(frames, &frame);
    pthread_join(writer.thread, NULL);
    ad_frames_close(frames);
    ck_assert_str_eq(told, "the pipe: the last frame is cut short: 7 of 12 bytes\n");
    close(fd[0]);
}
END_TEST

/* The same memory again, when the size is the same. */
START_TEST(test_memory_is_used_again)
{
    struct ad_source_frame frame = {0};
    struct writer writer;
    int fd[2];
    ck_assert_int_eq(pipe(fd), 0);
    struct ad_frames *frames = open_pipe(fd[0], false);
    start_writer(&writer, fd[1], 12 * 3, 12);
    expect(frames, &frame, "the pipe", 0, 2, 2, 0);
    const uint8_t *pixels = frame.image.pixels;
    const char *name = frame.name;
    ad_mem_fail_after(1);
    for (int i = 1; i < 3; i++)
        expect(frames, &frame, "the pipe", (uint64_t)i, 2, 2, i);
    ad_mem_fail_after(0);
    ck_assert_ptr_eq(frame.image.pixels, pixels);
    ck_assert_ptr_eq(frame.name, name);
    pthread_join(writer.thread, NULL);
    ad_frames_close(frames);
    ad_source_frame_fini(&frame);
    close(fd[0]);
}
END_TEST

START_TEST(test_standard_input)
{
    struct ad_source_frame frame = {0};
    struct writer writer;
    int fd[2];
    ck_assert_int_eq(pipe(fd), 0);
    ck_assert_int_eq(dup2(fd[0], STDIN_FILENO), STDIN_FILENO);
    const struct ad_frames_options options = {.raw = "2x2:bgr24"};
    struct ad_frames *frames = OPEN(options, "-");
    start_writer(&writer, fd[1], 24, 24);
    expect(frames, &frame, "standard input", 0, 2, 2, 0);
    expect(frames, &frame, "standard input", 1, 2, 2, 1);
    expect_end(frames, &frame);
    pthread_join(writer.thread, NULL);
    ad_frames_close(frames);
}
END_TEST

static void *open_and_write(void *data)
{
    int fd = open(data, O_WRONLY);
    ck_assert_int_ge(fd, 0);
    struct writer w = {.fd = fd, .bytes = 24, .at_a_time = 6};
    return write_bytes(&w);
}

/* A FIFO that nobody has opened for writing yet, and a file. */
START_TEST(test_fifo_and_file)
{
    static char fifo[] = "fifo";
    const struct ad_frames_options options = {.raw = "2x2:rgb24"};
    struct ad_source_frame frame = {0};
    pthread_t thread;
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    struct ad_frames *frames = OPEN(options, fifo);
    ck_assert_int_eq(pthread_create(&thread, NULL, open_and_write, fifo), 0);
    expect(frames, &frame, fifo, 0, 2, 2, 0);
    expect(frames, &frame, fifo, 1, 2, 2, 1);
    expect_end(frames, &frame);
    pthread_join(thread, NULL);
    ad_frames_close(frames);

    text("file", "aaaaaaaaaaaabbbbbbbbbbbbccc");
    frames = OPEN(options, "file");
    expect(frames, &frame, "file", 0, 2, 2, 'a');
    expect(frames, &frame, "file", 1, 2, 2, 'b');
    expect_end(frames, &frame);
    ad_frames_close(frames);
    ck_assert_str_eq(told, "file: the last frame is cut short: 3 of 12 bytes\n");
}
END_TEST

/* What cannot be read is an error, and stays one. */
START_TEST(test_read_error)
{
    struct ad_source_frame frame = {0};
    int fd = open(".", O_RDONLY);
    for (int drop = 0; drop < 2; drop++) {
        struct ad_frames *frames = open_pipe(fd, drop);
        expect_error(frames, &frame, "the pipe: Is a directory");
        expect_error(frames, &frame, "the pipe: Is a directory");
        ad_frames_close(frames);
    }
    close(fd);
}
END_TEST

START_TEST(test_folder)
{
    struct ad_source_frame frame = {0};
    picture("c.png", 1, 1, 3);
    picture("a.png", 1, 1, 1);
    text("b.png", "none");
    text("notes.txt", "none");
    ck_assert_int_eq(mkdir("d.png", 0700), 0);
    struct ad_frames *frames = OPEN(plain, "./");
    expect(frames, &frame, "./a.png", 0, 1, 1, 1);
    expect(frames, &frame, "./c.png", 1, 1, 1, 3);
    picture("b.png", 2, 1, 2); /* written elsewhere and moved, as ad_file_replace() does */
    text("later.txt", "none");
    text("later.png", "none");
    FILE *f = fopen("plain.pgm", "w"); /* written in place */
    fputs("P5 1 1 255\n\x05", f);
    fclose(f);
    expect(frames, &frame, "./b.png", 2, 2, 1, 2);
    expect(frames, &frame, "./plain.pgm", 3, 1, 1, 5);
    ad_frames_close(frames);
    ad_source_frame_fini(&frame);
    ck_assert_ptr_nonnull(strstr(told, "./notes.txt: skipped: not a picture by its name\n"));
    ck_assert_ptr_nonnull(strstr(told, "./later.txt: skipped: not a picture by its name\n"));
    ck_assert_ptr_nonnull(strstr(told, "skipped: ./b.png: not a picture that adaps reads"));
    ck_assert_ptr_nonnull(strstr(told, "skipped: ./later.png: not a picture that adaps reads"));
    ck_assert_ptr_nonnull(strstr(told, "skipped: ./d.png: not a regular file\n"));
}
END_TEST

static void *write_picture(void *data)
{
    picture(data, 1, 1, 77);
    return NULL;
}

/* A picture that comes when somebody waits for it, or shortly before. */
START_TEST(test_folder_waits)
{
    struct ad_source_frame frame = {0};
    struct ad_frames *frames = OPEN(plain, ".");
    for (int i = 0; i < 20; i++) {
        char name[32], path[40];
        pthread_t thread;
        snprintf(name, sizeof name, "%d.png", i);
        snprintf(path, sizeof path, "./%s", name);
        ck_assert_int_eq(pthread_create(&thread, NULL, write_picture, name), 0);
        expect(frames, &frame, path, (uint64_t)i, 1, 1, 77);
        pthread_join(thread, NULL);
    }
    ad_frames_close(frames);
    ad_source_frame_fini(&frame);
}
END_TEST

/* A picture is taken when it is whole, once for each time that it was written. */
START_TEST(test_folder_whole_files)
{
    struct ad_source_frame frame = {0};
    FILE *slow = fopen("a.ppm", "w");
    fputs("P6 1 1 255\n\x04", slow);
    fflush(slow);
    picture("b.png", 1, 1, 2);
    const struct ad_frames_options options = {.idle_s = 0.001};
    struct ad_frames *frames = OPEN(options, ".");
    expect(frames, &frame, "./b.png", 0, 1, 1, 2);
    ck_assert_ptr_nonnull(strstr(told, "skipped: ./a.ppm: a damaged picture: cut short\n"));
    fputs("\x04\x04", slow);
    fclose(slow);
    picture("c.png", 1, 1, 5);
    picture("c.png", 1, 1, 6);
    picture("c.png", 1, 1, 7);
    expect(frames, &frame, "./a.ppm", 1, 1, 1, 4);
    expect(frames, &frame, "./c.png", 2, 1, 1, 7);
    picture("c.png", 1, 1, 8);
    expect(frames, &frame, "./c.png", 3, 1, 1, 8);
    expect_end(frames, &frame);
    expect_end(frames, &frame);
    ad_frames_close(frames);
}
END_TEST

START_TEST(test_folder_gone)
{
    struct ad_source_frame frame = {0};
    ck_assert_int_eq(mkdir("in", 0700), 0);
    picture("in/a.png", 1, 1, 1);
    struct ad_frames *frames = OPEN(plain, "in/");
    ck_assert_int_eq(unlink("in/a.png"), 0);
    ck_assert_int_eq(rmdir("in"), 0);
    expect_error(frames, &frame, "in: the folder is gone");
    expect_error(frames, &frame, "in: the folder is gone");
    ad_frames_close(frames);
    ck_assert_str_eq(told, "skipped: in/a.png: No such file or directory\n");
}
END_TEST

static void *cancel(void *data)
{
    ad_frames_cancel(data);
    return NULL;
}

static struct ad_frames *to_cancel;
static void on_signal(int number)
{
    (void)number;
    ad_frames_cancel(to_cancel);
}

static void *send_signal(void *data)
{
    pthread_kill(*(pthread_t *)data, SIGUSR1);
    return NULL;
}

/* By another thread, by a signal handler, before and while somebody waits. */
START_TEST(test_cancel)
{
    pthread_t self = pthread_self(), thread;
    int fd[2];
    ck_assert_int_eq(pipe(fd), 0);
    signal(SIGUSR1, on_signal);
    for (int way = 0; way < 8; way++) {
        struct ad_source_frame frame = {0};
        bool drop = way & 1, of_pipe = way & 2, by_signal = way & 4;
        const struct ad_frames_options options = {.drop = drop};
        struct ad_frames *frames = of_pipe ? open_pipe(fd[0], drop) : OPEN(options, ".");
        to_cancel = frames;
        ck_assert_int_eq(pthread_create(&thread, NULL, by_signal ? send_signal : cancel,
                                        by_signal ? (void *)&self : frames),
                         0);
        expect_end(frames, &frame);
        expect_end(frames, &frame);
        pthread_join(thread, NULL);
        ad_frames_close(frames);
    }
    picture("a.png", 1, 1, 1);
    struct ad_source_frame frame = {0};
    struct ad_frames *frames = OPEN(plain, "a.png");
    ad_frames_cancel(frames);
    expect_end(frames, &frame);
    ad_frames_close(frames);
    ck_assert_str_eq(told, "");
}
END_TEST

/* Whatever the speed: the last frame comes, in order, and all are counted. */
START_TEST(test_latest_wins_pipe)
{
    struct ad_source_frame frame = {0};
    struct writer writer;
    int fd[2];
    uint64_t taken = 0, last = 0;
    bool got = true;
    ck_assert_int_eq(pipe(fd), 0);
    struct ad_frames *frames = open_pipe(fd[0], true);
    start_writer(&writer, fd[1], 12 * 200 + 5, at_a_time[_i]);
    while (got) {
        ck_assert_int_eq(ad_frames_next(frames, &frame, &got, NULL), ADAPS_OK);
        if (!got)
            break;
        ck_assert(taken == 0 || frame.sequence > last);
        ck_assert_int_eq(frame.image.pixels[11], (int)frame.sequence);
        last = frame.sequence;
        taken++;
    }
    ck_assert_uint_eq(last, 199);
    ck_assert_uint_eq(taken + ad_frames_dropped(frames), 200);
    pthread_join(writer.thread, NULL);
    ad_frames_close(frames);
    ck_assert_str_eq(told, "the pipe: the last frame is cut short: 5 of 12 bytes\n");
    close(fd[0]);
}
END_TEST

/* Closed while the thread waits for what never comes. */
START_TEST(test_close_while_reading)
{
    int fd[2];
    const struct ad_frames_options drop = {.drop = true};
    ck_assert_int_eq(pipe(fd), 0);
    ad_frames_close(open_pipe(fd[0], true));
    ad_frames_close(OPEN(drop, "."));
}
END_TEST

/* Reads a source to its end. */
static enum adaps_status read_all(char *input, const struct ad_frames_options *options, int *n)
{
    struct ad_frames *frames = NULL;
    struct ad_source_frame frame = {0};
    struct adaps_error err = {0};
    enum adaps_status status = ad_frames_open(&input, 1, options, &frames, &err);
    bool got = status == ADAPS_OK;
    for (*n = 0; status == ADAPS_OK && got; *n += got)
        status = ad_frames_next(frames, &frame, &got, &err);
    ck_assert(status == ADAPS_OK || err.message[0] != '\0');
    ad_source_frame_fini(&frame);
    ad_frames_close(frames);
    return status;
}

START_TEST(test_allocation_failures)
{
    static char *const inputs[] = {"pictures/a.ppm", "pictures", "file"};
    static const struct ad_frames_options options[] = {
        {.raw = NULL}, {.idle_s = 0.001}, {.raw = "2x2:rgb24"}};
    ck_assert_int_eq(mkdir("pictures", 0700), 0);
    picture("pictures/a.ppm", 1, 1, 1);
    picture("pictures/b.png", 2, 1, 1);
    text("file", "aaaaaaaaaaaabbbbbbbbbbbb");
    for (int i = 0; i < 3; i++) {
        enum adaps_status status = ADAPS_EINTERNAL;
        long n = 1;
        int frames = 0;
        for (; status != ADAPS_OK; n++) {
            ad_mem_fail_after(n);
            status = read_all(inputs[i], &options[i], &frames);
            ad_mem_fail_after(0);
            ck_assert_msg(status == ADAPS_OK || status == ADAPS_EINTERNAL, "%s, %ld: %d", inputs[i],
                          n, status);
        }
        ck_assert_int_gt(n, 5);
        ck_assert_int_eq(frames, i == 0 ? 1 : 2);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frames");
    TCase *tc = tcase_create("frames");
    const int ways = sizeof at_a_time / sizeof *at_a_time;
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, enter, leave);
    tcase_add_test(tc, test_files);
    tcase_add_test(tc, test_large_picture);
    tcase_add_test(tc, test_usage);
    tcase_add_loop_test(tc, test_pipe, 0, ways);
    tcase_add_loop_test(tc, test_pipe_cut_short, 0, ways);
    tcase_add_test(tc, test_memory_is_used_again);
    tcase_add_test(tc, test_standard_input);
    tcase_add_test(tc, test_fifo_and_file);
    tcase_add_test(tc, test_read_error);
    tcase_add_test(tc, test_folder);
    tcase_add_test(tc, test_folder_waits);
    tcase_add_test(tc, test_folder_whole_files);
    tcase_add_test(tc, test_folder_gone);
    tcase_add_test(tc, test_cancel);
    tcase_add_loop_test(tc, test_latest_wins_pipe, 0, ways);
    tcase_add_test(tc, test_close_while_reading);
    tcase_add_test(tc, test_allocation_failures);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
