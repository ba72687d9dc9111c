#include "base/parallel.h"
#include "base/machine.h"

#include <pthread.h>
#include <stdatomic.h>

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
