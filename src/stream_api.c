/* The public interface (adaps.h) of streams. A thread of the stream's own has the session: it
 * begins what was submitted and finishes it in the same order. Whoever submits wakes it from its
 * wait for an answer, so that the next inference begins while that one is under way. */
#include "api_structs.h"
#include "base/clock.h"
#include "session_api.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define IN_FLIGHT 3
#define MOST_SECONDS 1e9

_Static_assert(ADAPS_MOST_IN_FLIGHT <= AD_FLIGHTS_MOST, "a place takes as many as are allowed");

/* Submitted and not answered. */
struct submission {
    struct ad_api_inputs inputs; /* copies */
    struct adaps_result *result; /* what it will be answered with */
    int64_t since_ns;
    bool failed; /* could not begin; why is in the result */
};

struct adaps_stream {
    struct adaps_session *session;
    struct adaps_stream_options options;
    pthread_t thread;
    int fd;                   /* an eventfd that counts the answers that nobody took */
    pthread_mutex_t lock;     /* of all that follows */
    pthread_cond_t submitted; /* or closing: for the stream's thread */
    pthread_cond_t answered;  /* for those that submit or wait */
    struct submission ring[ADAPS_MOST_IN_FLIGHT];
    int first, count; /* in flight */
    int begun;        /* the first so many of them */
    bool delivering;  /* the callback has a result */
    bool closing;
    struct adaps_result *head, *tail; /* answers that nobody took */
};

static struct submission *submission_at(struct adaps_stream *stream, int i)
{
    return &stream->ring[(stream->first + i) % ADAPS_MOST_IN_FLIGHT];
}

/* --- the stream's thread; what it calls has the lock --- */

static void deliver(struct adaps_stream *stream, struct adaps_result *result)
{
    pthread_cond_broadcast(&stream->answered);
    if (!stream->options.callback) {
        *(stream->head ? &stream->tail->next : &stream->head) = result;
        stream->tail = result;
        (void)!eventfd_write(stream->fd, 1); /* its counter is never full */
        return;
    }
    stream->delivering = true;
    pthread_mutex_unlock(&stream->lock);
    stream->options.callback(stream->options.callback_user, result);
    pthread_mutex_lock(&stream->lock);
    stream->delivering = false;
    pthread_cond_broadcast(&stream->answered);
}

/* The oldest is answered: its result has its outputs, or the reason. */
static void answer(struct adaps_stream *stream)
{
    struct submission *oldest = submission_at(stream, 0);
    struct adaps_result *result = oldest->result;
    result->latency_ns = ad_clock_ns() - oldest->since_ns;
    ad_api_inputs_fini(&oldest->inputs);
    stream->first = (stream->first + 1) % ADAPS_MOST_IN_FLIGHT;
    stream->count--;
    if (stream->begun > 0)
        stream->begun--;
    deliver(stream, result);
}

/* All that are in flight now; callbacks may submit more. */
static void fail_all(struct adaps_stream *stream, const struct adaps_error *why)
{
    for (int left = stream->count; left > 0; left--) {
        struct submission *oldest = submission_at(stream, 0);
        if (!oldest->failed)
            oldest->result->err = *why;
        answer(stream);
    }
}

static void begin_next(struct adaps_stream *stream)
{
    struct adaps_error err = {0};
    struct submission *next = submission_at(stream, stream->begun);
    pthread_mutex_unlock(&stream->lock);
    enum adaps_status status = ad_place_begin(stream->session->place, next->inputs.tensors, &err);
    pthread_mutex_lock(&stream->lock);
    if (status == ADAPS_EAGENT || status == ADAPS_ECANCELLED) {
        fail_all(stream, &err);
        return;
    }
    next->failed = status != ADAPS_OK;
    next->result->err = err;
    stream->begun++;
}

static void finish_oldest(struct adaps_stream *stream)
{
    struct ad_place *place = stream->session->place;
    struct adaps_error err = {0};
    struct submission *oldest = submission_at(stream, 0);
    if (oldest->failed) {
        answer(stream);
        return;
    }
    pthread_mutex_unlock(&stream->lock);
    enum adaps_status status = ad_place_finish(place, oldest->result->outputs, &err);
    pthread_mutex_lock(&stream->lock);
    if (status == ADAPS_NO)
        return;
    if (status != ADAPS_OK && ad_place_fails_as_one(place, status)) {
        fail_all(stream, &err);
        return;
    }
    if (status != ADAPS_OK)
        oldest->result->err = err;
    answer(stream);
}

static void *serve(void *self)
{
    struct adaps_stream *stream = self;
    pthread_mutex_lock(&stream->lock);
    while (!stream->closing || stream->count > 0) {
        if (stream->count == 0) {
            pthread_cond_wait(&stream->submitted, &stream->lock);
        } else if (stream->begun < stream->count && !stream->closing) {
            begin_next(stream);
        } else if (stream->begun > 0) {
            finish_oldest(stream);
        } else {
            struct adaps_error why;
            ad_error_set(&why, ADAPS_ECANCELLED, "the stream was closed");
            fail_all(stream, &why);
        }
    }
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

/* --- opening and closing --- */

static enum adaps_status read_options(const struct adaps_stream_options *given,
                                      struct adaps_stream_options *out, struct adaps_error *err)
{
    *out = (struct adaps_stream_options){.struct_size = sizeof *out};
    enum adaps_status status =
        given ? ad_struct_read(out, sizeof *out, sizeof *out, given, "adaps_stream_options", err)
              : ADAPS_OK;
    if (status != ADAPS_OK)
        return status;
    if (out->in_flight < 0 || out->in_flight > ADAPS_MOST_IN_FLIGHT)
        return ad_error_set(err, ADAPS_EUSAGE, "%d in flight: 1 to %d are possible", out->in_flight,
                            ADAPS_MOST_IN_FLIGHT);
    if (out->in_flight == 0)
        out->in_flight = IN_FLIGHT;
    return ADAPS_OK;
}

/* Whether the session was free. */
static bool take_session(struct adaps_session *session)
{
    pthread_mutex_lock(&session->lock);
    bool free = !session->streams;
    session->streams = true;
    pthread_mutex_unlock(&session->lock);
    return free;
}

static void leave_session(struct adaps_session *session)
{
    pthread_mutex_lock(&session->lock);
    session->streams = false;
    pthread_mutex_unlock(&session->lock);
}

/* Signals are for the caller's threads. */
static int start_thread(struct adaps_stream *stream)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&stream->thread, NULL, serve, stream);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void init_locks(struct adaps_stream *stream)
{
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->submitted, NULL);
    pthread_cond_init(&stream->answered, &clock);
    pthread_condattr_destroy(&clock);
}

static void free_stream(struct adaps_stream *stream)
{
    while (stream->head) {
        struct adaps_result *next = stream->head->next;
        adaps_result_free(stream->head);
        stream->head = next;
    }
    if (stream->fd >= 0)
        close(stream->fd);
    pthread_cond_destroy(&stream->answered);
    pthread_cond_destroy(&stream->submitted);
    pthread_mutex_destroy(&stream->lock);
    leave_session(stream->session);
    ad_free(stream);
}

enum adaps_status adaps_stream_open(struct adaps_session *session,
                                    const struct adaps_stream_options *given,
                                    struct adaps_stream **out, struct adaps_error *err)
{
    struct adaps_stream_options options;
    if (!session || !out)
        return ad_error_set(err, ADAPS_EUSAGE, "a session and a place for the stream are required");
    enum adaps_status status = read_options(given, &options, err);
    if (status != ADAPS_OK)
        return status;
    struct adaps_stream *stream = ad_calloc(1, sizeof *stream);
    if (!stream)
        return ad_error_memory(err, "stream", sizeof *stream);
    if (!take_session(session)) {
        ad_free(stream);
        return ad_error_set(err, ADAPS_EUSAGE, "the session has a stream: close it first");
    }
    stream->session = session;
    stream->options = options;
    init_locks(stream);
    stream->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    int error = stream->fd < 0 ? errno : start_thread(stream);
    if (error != 0) {
        free_stream(stream);
        return ad_error_set(err, ADAPS_EINTERNAL, "a stream cannot be opened: %s", strerror(error));
    }
    *out = stream;
    return ADAPS_OK;
}

void adaps_stream_close(struct adaps_stream *stream)
{
    if (!stream)
        return;
    pthread_mutex_lock(&stream->lock);
    stream->closing = true;
    if (stream->count > 0)
        ad_place_cancel(stream->session->place);
    pthread_cond_signal(&stream->submitted);
    pthread_mutex_unlock(&stream->lock);
    pthread_join(stream->thread, NULL);
    free_stream(stream);
}

/* --- submitting --- */

/* Until there is room. ADAPS_NO: there is none, and the caller does not want to wait. */
static enum adaps_status await_room(struct adaps_stream *stream, struct adaps_error *err)
{
    int most = stream->options.in_flight;
    while (stream->count >= most) {
        if (stream->options.refuse)
            return ad_error_set(err, ADAPS_NO, "%d inferences are in flight", most);
        pthread_cond_wait(&stream->answered, &stream->lock);
    }
    return ADAPS_OK;
}

/* With the lock, and room. */
static void push(struct adaps_stream *stream, const struct submission *submission)
{
    struct ad_place *place = stream->session->place;
    if (stream->count == 0)
        ad_place_reset(place); /* an earlier cancelling was not meant for it */
    *submission_at(stream, stream->count++) = *submission;
    pthread_cond_signal(&stream->submitted);
    if (stream->begun > 0)
        ad_place_wake(place);
}

enum adaps_status adaps_stream_submit(struct adaps_stream *stream,
                                      const struct adaps_tensor *inputs, int ninputs, uint64_t tag,
                                      struct adaps_error *err)
{
    if (!stream)
        return ad_error_set(err, ADAPS_EUSAGE, "a stream is required");
    const struct ad_graph *graph = stream->session->plan->graph;
    struct submission submission = {.since_ns = ad_clock_ns()};
    enum adaps_status status =
        ad_api_inputs_take(graph, inputs, ninputs, true, &submission.inputs, err);
    if (status != ADAPS_OK)
        return status;
    submission.result = ad_result_new(graph, tag);
    if (submission.result) {
        pthread_mutex_lock(&stream->lock);
        status = await_room(stream, err);
        if (status == ADAPS_OK)
            push(stream, &submission);
        pthread_mutex_unlock(&stream->lock);
    } else {
        status = ad_error_memory(err, "result", sizeof *submission.result);
    }
    if (status != ADAPS_OK) {
        ad_api_inputs_fini(&submission.inputs);
        adaps_result_free(submission.result);
    }
    return status;
}

/* --- results --- */

/* With the lock: sleeps until something is answered. False: the time is over, or, when there is no
 * limit, nothing is in flight any more. */
static bool await_answer(struct adaps_stream *stream, double timeout, int64_t until_ns)
{
    if (timeout < 0) {
        if (stream->count == 0 && !stream->delivering)
            return false;
        pthread_cond_wait(&stream->answered, &stream->lock);
        return true;
    }
    const struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
    return timeout > 0 &&
           pthread_cond_timedwait(&stream->answered, &stream->lock, &until) != ETIMEDOUT;
}

enum adaps_status adaps_stream_wait(struct adaps_stream *stream, double timeout,
                                    struct adaps_result **out, struct adaps_error *err)
{
    if (!stream || !out || isnan(timeout))
        return ad_error_set(err, ADAPS_EUSAGE,
                            "a stream, a timeout and a place for the result are required");
    double seconds = fmin(fmax(timeout, 0), MOST_SECONDS);
    int64_t until_ns = ad_clock_ns() + (int64_t)(seconds * 1e9);
    eventfd_t one;
    pthread_mutex_lock(&stream->lock);
    bool more = true;
    while (!stream->head && more)
        more = await_answer(stream, timeout, until_ns);
    struct adaps_result *result = stream->head;
    if (result) {
        stream->head = result->next;
        result->next = NULL;
        (void)!eventfd_read(stream->fd, &one);
    }
    pthread_mutex_unlock(&stream->lock);
    if (!result)
        return ad_error_set(err, ADAPS_NO, "there is no result");
    *out = result;
    return ADAPS_OK;
}

int adaps_stream_fd(const struct adaps_stream *stream)
{
    return stream->fd;
}
