#include "cli/vision_run.h"
#include "base/clock.h"
#include "base/stats.h"
#include "report/json.h"
#include "report/text.h"
#include "vision/draw.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* --- opening --- */

static void tell(void *context, const char *message)
{
    const struct ad_command *command = context;
    char clean[512];
    fprintf(stderr, "adaps %s: %s\n", command->name, ad_text_clean(message, clean, sizeof clean));
}

/* What is written must be a picture by its name; known before the first one is read. */
static enum adaps_status open_names(struct ad_vision_run *run, struct adaps_error *err)
{
    const struct ad_vision_command *o = run->options;
    if (!o->output)
        return ADAPS_OK;
    bool many = o->raw || o->ninputs > 1 || !ad_image_is_name(o->inputs[0]);
    enum adaps_status status = ad_answer_names_init(&run->names, o->output, many ? 2 : 1, err);
    if (status != ADAPS_OK || run->names.folder)
        return status;
    return ad_image_is_name(o->output)
               ? ADAPS_OK
               : ad_error_set(err, ADAPS_EUSAGE,
                              "-o %s: a folder that exists, or a name that ends in .png, .jpg, "
                              ".bmp, .ppm or .pgm",
                              o->output);
}

static enum adaps_status open_source(struct ad_vision_run *run, struct adaps_error *err)
{
    const struct ad_vision_command *o = run->options;
    const struct ad_letterbox *input = &run->vision.input;
    const struct ad_frames_options source = {.raw = o->raw,
                                             .ahead = true,
                                             .drop = o->drop,
                                             .idle_s = o->idle_s,
                                             .width = input->width,
                                             .height = input->height,
                                             .tell = tell,
                                             .tell_context = (void *)run->command};
    return ad_frames_open(o->inputs, o->ninputs, &source, &run->frames, err);
}

static enum adaps_status init(struct ad_vision_run *run, enum ad_vision_task task,
                              struct adaps_error *err)
{
    const struct ad_vision_command *o = run->options;
    const struct ad_vision_options options = ad_vision_options_of(o, task);
    enum adaps_status status =
        ad_vision_network_init(&run->network, run->command, o->network, &o->place, err);
    if (status == ADAPS_OK)
        status = ad_vision_init(&run->vision, run->network.graph, &options, err);
    if (status == ADAPS_OK)
        status = ad_vision_decoding_of(o, &run->vision, &run->decoding, &run->classes, err);
    if (status == ADAPS_OK)
        status = open_names(run, err);
    if (status == ADAPS_OK)
        status = ad_vision_network_open(&run->network, err);
    return status == ADAPS_OK ? open_source(run, err) : status; /* last: a camera does not wait */
}

static void fini(struct ad_vision_run *run)
{
    ad_frames_close(run->frames);
    for (int i = 0; i < AD_FLIGHTS_MOST; i++)
        ad_source_frame_fini(&run->flights[i].frame);
    ad_free(run->classes);
    ad_vision_fini(&run->vision);
    ad_vision_network_fini(&run->network);
}

/* --- ending by a signal: what is in flight is still answered --- */

static struct ad_frames *volatile running;

static void stop(int signal)
{
    (void)signal;
    if (running)
        ad_frames_cancel(running);
}

/* The second signal ends the program at once. */
static void catch_signals(struct ad_frames *frames)
{
    const int signals[] = {SIGINT, SIGTERM};
    struct sigaction action = {.sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    action.sa_handler = frames ? stop : SIG_DFL;
    sigemptyset(&action.sa_mask);
    running = frames;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
}

/* --- times --- */

static double latency_quantile(struct ad_vision_run *run, double p)
{
    double sorted[AD_VISION_LATENCIES];
    size_t n = run->done < AD_VISION_LATENCIES ? (size_t)run->done : AD_VISION_LATENCIES;
    if (n == 0)
        return 0;
    memcpy(sorted, run->latencies, n * sizeof *sorted);
    ad_stats_sort(sorted, n);
    size_t i = (size_t)(p * (double)n);
    return sorted[i < n ? i : n - 1];
}

static double rate(const struct ad_vision_run *run)
{
    int64_t ns = run->end_ns - run->begin_ns;
    return ns > 0 ? (double)run->done * 1e9 / (double)ns : 0;
}

/* Once a second, on a terminal that the answers do not go to. */
static void show_progress(struct ad_vision_run *run)
{
    if (!isatty(STDERR_FILENO) || isatty(STDOUT_FILENO) || run->end_ns - run->shown_ns < 1000000000)
        return;
    run->shown_ns = run->end_ns;
    fprintf(stderr, "\r%llu pictures, %.1f a second, latency %.1f ms, %llu dropped\033[K",
            (unsigned long long)run->done, rate(run),
            run->latencies[(run->done - 1) % AD_VISION_LATENCIES],
            (unsigned long long)ad_frames_dropped(run->frames));
    fflush(stderr);
}

static void print_times(struct ad_vision_run *run)
{
    if (run->done == 0)
        return;
    if (run->shown_ns)
        fputs("\r\033[K", stderr);
    fprintf(stderr, "adaps %s: %llu picture%s in %.2f s, %.1f a second", run->command->name,
            (unsigned long long)run->done, run->done == 1 ? "" : "s",
            (double)(run->end_ns - run->begin_ns) / 1e9, rate(run));
    fprintf(stderr, "; latency %.1f ms median, %.1f ms at 95 %%", latency_quantile(run, 0.5),
            latency_quantile(run, 0.95));
    if (run->options->drop)
        fprintf(stderr, "; %llu dropped", (unsigned long long)ad_frames_dropped(run->frames));
    fputc('\n', stderr);
}

/* --- pictures --- */

struct ad_canvas ad_vision_canvas(struct ad_vision_picture *picture)
{
    const struct ad_image *image = &picture->frame.image;
    return (struct ad_canvas){image->pixels, image->width, image->height};
}

bool ad_vision_draws(const struct ad_vision_run *run)
{
    return run->options->output != NULL;
}

char *ad_vision_class(const struct ad_vision_run *run, int class, char *buf, size_t size)
{
    char number[16];
    return ad_text_clean(ad_labels_name(&run->vision.labels, class, number, sizeof number), buf,
                         size);
}

/* A file is called what it is; of a stream each frame has its number, too. */
static void name_picture(struct ad_vision_picture *picture)
{
    char name[200];
    ad_text_clean(picture->frame.name, name, sizeof name);
    if (ad_image_is_name(picture->frame.name))
        snprintf(picture->name, sizeof picture->name, "%s", name);
    else
        snprintf(picture->name, sizeof picture->name, "%s %llu", name,
                 (unsigned long long)picture->frame.sequence);
}

/* Takes the next picture and sends it. *ended: there is none. */
static enum adaps_status begin(struct ad_vision_run *run, bool *ended, struct adaps_error *err)
{
    struct ad_vision_picture *picture =
        &run->flights[(run->first + run->nflights) % AD_FLIGHTS_MOST];
    const struct ad_image *image = &picture->frame.image;
    const struct ad_letterbox *input = &run->vision.input;
    struct ad_tensor tensor = {0};
    bool got;
    enum adaps_status status = ad_frames_next(run->frames, &picture->frame, &got, err);
    *ended = status == ADAPS_OK && !got;
    if (status != ADAPS_OK || !got)
        return status;
    name_picture(picture);
    picture->placement = ad_letterbox_place(input, image->width, image->height);
    status = ad_letterbox_fill(input, image->pixels, image->width, image->height, &tensor, err);
    run->begun_ns = ad_clock_ns();
    if (run->begin_ns == 0)
        run->begin_ns = picture->frame.captured_ns;
    if (status == ADAPS_OK)
        status = ad_vision_network_begin(&run->network, &tensor, err);
    ad_tensor_fini(&tensor);
    if (status == ADAPS_OK)
        run->nflights++;
    return status;
}

static enum adaps_status write_picture(struct ad_vision_run *run,
                                       const struct ad_vision_picture *picture,
                                       struct adaps_error *err)
{
    char *name = ad_answer_picture_name(&run->names, picture->frame.sequence, picture->frame.name);
    if (!name)
        return ad_error_memory(err, "file name", 0);
    enum adaps_status status = ad_image_save(name, &picture->frame.image, err);
    ad_free(name);
    return status;
}

/* {"image", "width", "height", "latency_ms"}, to which the command adds. */
static json_t *picture_json(const struct ad_vision_picture *picture, double latency_ms)
{
    return json_pack("{s:o, s:i, s:i, s:o}", "image", ad_report_json_text(picture->name), "width",
                     picture->placement.width, "height", picture->placement.height, "latency_ms",
                     ad_report_json_number(latency_ms));
}

/* Shows the answer to the oldest picture in flight: it is there. */
static enum adaps_status deliver(struct ad_vision_run *run, struct ad_vision_picture *picture,
                                 struct adaps_error *err)
{
    bool prints_json = run->options->place.shared.json;
    double latency_ms = (double)(run->end_ns - picture->frame.captured_ns) / 1e6;
    json_t *json = prints_json ? picture_json(picture, latency_ms) : NULL;
    if (prints_json && !json)
        return ad_error_memory(err, "JSON", 0);
    run->latencies[run->done++ % AD_VISION_LATENCIES] = latency_ms;
    enum adaps_status status = run->show(run, picture, json, err);
    if (status == ADAPS_OK && json) {
        if (json_dumpf(json, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9)) != 0)
            status = ad_error_memory(err, "JSON", 0);
        putchar('\n');
    }
    json_decref(json);
    fflush(stdout); /* a stream's reader wants each answer when it is there */
    if (status == ADAPS_OK && ad_vision_draws(run))
        status = write_picture(run, picture, err);
    show_progress(run);
    return status;
}

/* Whether to take another picture now: there is room, and it is there or nothing else is to be
 * done. When the agents can take one more before the oldest is answered, it is worth a while to
 * wait for it. */
static bool takes_more(const struct ad_vision_run *run)
{
    bool fresh = run->options->drop;
    const struct ad_stream *stream = &run->network.deployment.plan->stream;
    if (run->nflights == 0)
        return true;
    if (run->nflights >= ad_vision_network_flights(&run->network, fresh))
        return false;
    int64_t wait_ns = run->nflights < stream->frames && !run->network.local
                          ? run->begun_ns + stream->interval_ns - ad_clock_ns()
                          : 0;
    return ad_frames_ready(run->frames, wait_ns > 0 ? (int)(wait_ns / 1000000) : 0);
}

/* Goes through all pictures. When one cannot be read, those before it are still answered. */
static enum adaps_status run_all(struct ad_vision_run *run, struct adaps_error *err)
{
    struct adaps_error why = {0};
    enum adaps_status status = ADAPS_OK, begun = ADAPS_OK;
    bool ended = false;
    while (status == ADAPS_OK) {
        while (begun == ADAPS_OK && !ended && takes_more(run))
            begun = begin(run, &ended, &why);
        if (run->nflights == 0)
            break;
        struct ad_vision_picture *oldest = &run->flights[run->first];
        status = ad_vision_network_finish(&run->network, err);
        run->end_ns = ad_clock_ns();
        run->first = (run->first + 1) % AD_FLIGHTS_MOST;
        run->nflights--;
        if (status == ADAPS_OK)
            status = deliver(run, oldest, err);
    }
    if (status == ADAPS_OK && begun != ADAPS_OK) {
        *err = why;
        status = begun;
    }
    return status;
}

int ad_vision_run(const struct ad_command *command, const struct ad_vision_command *options,
                  enum ad_vision_task task, ad_vision_show_fn *show)
{
    struct adaps_error err = {0};
    struct ad_vision_run *run = ad_calloc(1, sizeof *run);
    if (!run) {
        (void)ad_error_memory(&err, command->name, sizeof *run);
        return ad_cli_fail(command, &err);
    }
    run->command = command;
    run->options = options;
    run->show = show;
    enum adaps_status status = init(run, task, &err);
    if (status == ADAPS_OK) {
        catch_signals(run->frames);
        status = run_all(run, &err);
        catch_signals(NULL);
        print_times(run);
    }
    int code = status == ADAPS_EUSAGE ? ad_cli_usage(command, "%s", err.message)
               : status != ADAPS_OK   ? ad_cli_fail(command, &err)
                                      : ad_cli_close_stdout(command);
    fini(run);
    ad_free(run);
    return code;
}
