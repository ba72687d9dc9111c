/* A line on stderr while something lasts longer than a second; only on a terminal. */
#ifndef AD_CLI_PROGRESS_H
#define AD_CLI_PROGRESS_H

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>

struct ad_progress {
    const char *what; /* "planning"; borrowed */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool running, done;
};

/* The line says this now, until it is cleared: for what tells of its steps itself. Control
 * characters are replaced. */
void AD_PRINTF(1, 2) ad_progress_say(const char *fmt, ...);
void ad_progress_clear(void);

/* Starts the line's own thread. Does nothing when stderr is no terminal. */
void ad_progress_start(struct ad_progress *progress, const char *what);

/* Ends the thread and clears the line. */
void ad_progress_stop(struct ad_progress *progress);

#endif
