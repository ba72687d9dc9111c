#include "exec/agent/errands.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void append(struct ad_errand **first, struct ad_errand **last, struct ad_errand *errand)
{
    errand->next = NULL;
    if (*first)
        (*last)->next = errand;
    else
        *first = errand;
    *last = errand;
}

static struct ad_errand *take_first(struct ad_errand **first)
{
    struct ad_errand *errand = *first;
    if (errand)
        *first = errand->next;
    return errand;
}

static void *run(void *self)
{
    struct ad_errands *errands = self;
    pthread_mutex_lock(&errands->mutex);
    for (;;) {
        while (!errands->quit && !errands->first)
            pthread_cond_wait(&errands->posted, &errands->mutex);
        if (errands->quit)
            break;
        struct ad_errand *errand = take_first(&errands->first);
        pthread_mutex_unlock(&errands->mutex);
        errands->perform(errands->self, errand);
        pthread_mutex_lock(&errands->mutex);
        append(&errands->done_first, &errands->done_last, errand);
        eventfd_write(errands->done_fd, 1);
    }
    pthread_mutex_unlock(&errands->mutex);
    return NULL;
}

enum adaps_status ad_errands_start(struct ad_errands *errands, struct adaps_error *err)
{
    errands->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int reason = errands->done_fd < 0 ? errno : 0;
    pthread_mutex_init(&errands->mutex, NULL);
    pthread_cond_init(&errands->posted, NULL);
    if (reason == 0)
        reason = pthread_create(&errands->thread, NULL, run, errands);
    if (reason == 0)
        return ADAPS_OK;
    if (errands->done_fd >= 0)
        close(errands->done_fd);
    pthread_cond_destroy(&errands->posted);
    pthread_mutex_destroy(&errands->mutex);
    return ad_error_set(err, ADAPS_EINTERNAL, "cannot start the thread of the disk: %s",
                        strerror(reason));
}

static void free_all(struct ad_errand *first)
{
    for (struct ad_errand *errand; (errand = take_first(&first));)
        ad_errand_free(errand);
}

void ad_errands_stop(struct ad_errands *errands)
{
    pthread_mutex_lock(&errands->mutex);
    errands->quit = true;
    pthread_cond_signal(&errands->posted);
    pthread_mutex_unlock(&errands->mutex);
    pthread_join(errands->thread, NULL);
    free_all(errands->first);
    free_all(errands->done_first);
    pthread_cond_destroy(&errands->posted);
    pthread_mutex_destroy(&errands->mutex);
    close(errands->done_fd);
}

struct ad_errand *ad_errand_new(struct ad_wire_message *message)
{
    struct ad_errand *errand = ad_calloc(1, sizeof *errand);
    if (!errand)
        return NULL;
    ad_wire_message_init(&errand->message);
    errand->message.frame = message->frame;
    errand->message.fd = message->fd;
    zmq_msg_move(&errand->message.route, &message->route);
    zmq_msg_move(&errand->message.body, &message->body);
    zmq_msg_move(&errand->message.raw, &message->raw);
    return errand;
}

void ad_errand_free(struct ad_errand *errand)
{
    ad_wire_message_fini(&errand->message);
    ad_free(errand->indices);
    ad_free(errand->health);
    ad_free(errand);
}

void ad_errands_post(struct ad_errands *errands, struct ad_errand *errand)
{
    errands->pending++;
    pthread_mutex_lock(&errands->mutex);
    append(&errands->first, &errands->last, errand);
    pthread_cond_signal(&errands->posted);
    pthread_mutex_unlock(&errands->mutex);
}

struct ad_errand *ad_errands_take(struct ad_errands *errands)
{
    eventfd_t count;
    pthread_mutex_lock(&errands->mutex);
    struct ad_errand *errand = take_first(&errands->done_first);
    if (!errand)
        eventfd_read(errands->done_fd, &count);
    pthread_mutex_unlock(&errands->mutex);
    errands->pending -= errand != NULL;
    return errand;
}
