/* stream MODEL DEVICES N: N inferences on the agents of a devices file, several in flight, and how
 * many a second that were. Ctrl-C ends it: a signal handler may not call the library, so a thread
 * waits for the signal.
 *
 *   cc -o stream stream.c $(pkg-config --cflags --libs adaps) -lpthread */
#include <adaps.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static sigset_t signals;
static atomic_bool stopped; /* cancelling does nothing while nothing is in flight */

static void *cancel_on_signal(void *session)
{
    int got;
    sigwait(&signals, &got);
    stopped = true;
    adaps_session_cancel(session);
    return NULL;
}

static void log_message(void *user, enum adaps_log_level level, const char *message)
{
    (void)user;
    fprintf(stderr, "stream: %s%s\n", level == ADAPS_LOG_WARNING ? "warning: " : "", message);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The network's only input. */
static enum adaps_status make_input(const struct adaps_plan *plan, struct adaps_tensor *input,
                                    struct adaps_error *err)
{
    struct adaps_tensor_info info = {.struct_size = sizeof info};
    enum adaps_status status = adaps_plan_input(plan, 0, &info, err);
    *input = (struct adaps_tensor){
        .struct_size = sizeof *input, .type = ADAPS_UINT8, .rank = info.rank, .bytes = 1};
    for (int i = 0; i < info.rank; i++) {
        input->dims[i] = info.dims[i];
        input->bytes *= (size_t)info.dims[i];
    }
    input->data = calloc(input->bytes, 1);
    return status;
}

/* Takes the oldest result. */
static enum adaps_status take(struct adaps_stream *stream, struct adaps_error *err)
{
    struct adaps_result *result = NULL;
    enum adaps_status status = adaps_stream_wait(stream, -1, &result, err);
    if (status == ADAPS_OK)
        status = adaps_result_status(result, err);
    adaps_result_free(result);
    return status;
}

static enum adaps_status run(struct adaps_session *session, long count, struct adaps_error *err)
{
    struct adaps_stream *stream = NULL;
    struct adaps_tensor input;
    enum adaps_status status = make_input(adaps_session_plan(session), &input, err);
    if (status == ADAPS_OK)
        status = adaps_stream_open(session, NULL, &stream, err);
    double begin = now();
    long submitted = 0, taken = 0;
    while (status == ADAPS_OK && taken < count && !stopped) {
        if (submitted < count && submitted - taken < 3)
            status = adaps_stream_submit(stream, &input, 1, (uint64_t)submitted++, err);
        else if ((status = take(stream, err)) == ADAPS_OK)
            taken++;
    }
    printf("%ld answers, %.1f a second\n", taken, (double)taken / (now() - begin));
    adaps_stream_close(stream);
    free(input.data);
    if (status == ADAPS_OK && stopped) {
        snprintf(err->message, sizeof err->message, "the inference was cancelled");
        status = ADAPS_ECANCELLED;
    }
    return status;
}

int main(int argc, char **argv)
{
    struct adaps_session_options options = {.struct_size = sizeof options, .log = log_message};
    struct adaps_session *session = NULL;
    struct adaps_error err;
    pthread_t thread;
    if (argc != 4) {
        fputs("usage: stream MODEL DEVICES N\n", stderr);
        return ADAPS_EUSAGE;
    }
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    options.devices = argv[2];
    enum adaps_status status = adaps_session_open_file(argv[1], &options, &session, &err);
    if (status == ADAPS_OK && pthread_create(&thread, NULL, cancel_on_signal, session) == 0) {
        status = run(session, atol(argv[3]), &err);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    if (status != ADAPS_OK)
        fprintf(stderr, "stream: %s\n", err.message);
    adaps_session_close(session);
    return (int)status;
}
