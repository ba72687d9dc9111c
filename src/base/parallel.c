#include "base/parallel.h"
#include "base/machine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define MOST_THREADS 64

struct work {
    void (*task)(void *data, int index);
    void *data;
    int count;
    atomic_int next;
};

static void *take_tasks(void *arg)
{
    struct work *work = arg;
    for (int i; (i = atomic_fetch_add(&work->next, 1)) < work->count;)
        work->task(work->data, i);
    return NULL;
}

void ad_parallel(int count, void (*task)(void *data, int index), void *data)
{
    struct work work = {.task = task, .data = data, .count = count};
    pthread_t threads[MOST_THREADS];
    int cores = ad_machine_cores(), most = count < cores ? count : cores, started = 0;
    while (started + 1 < most && started < MOST_THREADS &&
           pthread_create(&threads[started], NULL, take_tasks, &work) == 0)
        started++;
    take_tasks(&work);
    while (started > 0)
        pthread_join(threads[--started], NULL);
}

static void *wait_for_mutex(void *arg)
{
    pthread_mutex_t *mutex = arg;
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return NULL;
}

enum adaps_status ad_parallel_possible(int threads, struct adaps_error *err)
{
    pthread_t started[MOST_THREADS];
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    int most = threads < MOST_THREADS ? threads : MOST_THREADS, n = 0, reason = 0;
    pthread_mutex_lock(&mutex); /* all are there at the same time */
    while (n < most && (reason = pthread_create(&started[n], NULL, wait_for_mutex, &mutex)) == 0)
        n++;
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < n; i++)
        pthread_join(started[i], NULL);
    if (n == most)
        return ADAPS_OK;
    return ad_error_set(
        err, ADAPS_EAGENT,
        "it may start %d of the %d threads that it needs (%s): a limit on processes, as of ulimit "
        "-u or of the pids cgroup",
        n, threads, strerror(reason));
}
