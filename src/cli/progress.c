#include "cli/progress.h"
#include "base/clock.h"
#include "report/text.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define FIRST_NS 1000000000
#define AGAIN_NS 200000000

void ad_progress_say(const char *fmt, ...)
{
    char text[200], clean[200];
    va_list ap;
    if (!isatty(STDERR_FILENO))
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\r%s\033[K", ad_text_clean(text, clean, sizeof clean));
}

void ad_progress_clear(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

static void *show(void *self)
{
    struct ad_progress *p = self;
    int64_t start = ad_clock_ns(), next = start + FIRST_NS;
    bool shown = false;
    pthread_mutex_lock(&p->lock);
    while (!p->done) {
        struct timespec until = {next / 1000000000, next % 1000000000};
        if (pthread_cond_timedwait(&p->changed, &p->lock, &until) != ETIMEDOUT || p->done)
            continue;
        fprintf(stderr, "\r%s ... %.1f s", p->what, (double)(ad_clock_ns() - start) / 1e9);
        shown = true;
        next += AGAIN_NS;
    }
    pthread_mutex_unlock(&p->lock);
    if (shown)
        fputs("\r\033[K", stderr);
    return NULL;
}

void ad_progress_start(struct ad_progress *progress, const char *what)
{
    pthread_condattr_t clock;
    *progress = (struct ad_progress){.what = what};
    if (!isatty(STDERR_FILENO))
        return;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&progress->lock, NULL);
    pthread_cond_init(&progress->changed, &clock);
    pthread_condattr_destroy(&clock);
    progress->running = pthread_create(&progress->thread, NULL, show, progress) == 0;
}

void ad_progress_stop(struct ad_progress *progress)
{
    if (!progress->running)
        return;
    pthread_mutex_lock(&progress->lock);
    progress->done = true;
    pthread_cond_signal(&progress->changed);
    pthread_mutex_unlock(&progress->lock);
    pthread_join(progress->thread, NULL);
    pthread_cond_destroy(&progress->changed);
    pthread_mutex_destroy(&progress->lock);
    progress->running = false;
}
