/* Tasks on all cores. */
#ifndef AD_BASE_PARALLEL_H
#define AD_BASE_PARALLEL_H

#include "base/error.h"

/* Calls task(data, 0) to task(data, count - 1), each once, on as many threads as this process may
 * use cores, this thread among them, and returns when all have returned. Tasks begin in this order;
 * where no thread can be made, there are fewer. */
void ad_parallel(int count, void (*task)(void *data, int index), void *data);

/* Whether so many more threads can be started now, by trying: for libraries that abort or hang when
 * they cannot start theirs. ADAPS_EAGENT says how many there can be. */
AD_MUST_CHECK enum adaps_status ad_parallel_possible(int threads, struct adaps_error *err);

#endif
