/* Pointer chasing: every thread follows a chain of lines through memory of its own. As soon as the
 * lines do not fit the cache, a line takes longer. */
#include "exec/kernels/l2.h"
#include "base/machine.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <pthread.h>

#define LINE 64
#define LEAST ((size_t)64 << 10) /* taken to fit, and to be larger than the first level */
#define MOST ((size_t)4 << 20)   /* where the machine does not say how large it is */
#define SMALL ((size_t)256 << 10)
#define STEPS 8192
#define TRIES 5
#define SLOWER 1.75 /* a line from the next level takes at least three times as long */
#define MOST_THREADS 64
#define SHARE 8 /* no thread has less: several cores may share the cache */

/* The first word of a line is the number of the next. */
struct line {
    uint32_t next;
    char rest[LINE - sizeof(uint32_t)];
};

struct chase {
    struct line *lines[MOST_THREADS];
    size_t count;
    double seconds[MOST_THREADS]; /* by line, the best of all tries */
};

/* One cycle through all lines, in random order. */
static void link_lines(struct line *lines, size_t count)
{
    struct ad_rng rng = {count};
    for (size_t i = 0; i < count; i++)
        lines[i].next = (uint32_t)i;
    for (size_t i = count - 1; i > 0; i--) { /* Sattolo's shuffle */
        size_t k = ad_rng_below(&rng, (uint32_t)i);
        uint32_t other = lines[k].next;
        lines[k].next = lines[i].next;
        lines[i].next = other;
    }
}

static void chase_lines(void *self, size_t thread)
{
    struct chase *c = self;
    const struct line *lines = c->lines[thread];
    uint32_t at = 0;
    for (size_t i = 0; i < c->count; i++) /* into the cache */
        at = lines[at].next;
    for (int try = 0; try < TRIES; try++) {
        int64_t begin = ad_clock_ns();
        for (int i = 0; i < STEPS; i++)
            at = lines[at].next;
        double took = (double)(ad_clock_ns() - begin) * 1e-9 / STEPS;
        /* the loop's result is used, so that the compiler keeps the loop */
        c->seconds[thread] = at < c->count ? fmin(c->seconds[thread], took) : 0;
    }
}

/* Seconds by line, of the slowest thread. */
static double time_lines(struct chase *c, struct pthreadpool *pool, int threads, size_t bytes)
{
    double worst = 0;
    c->count = bytes / LINE;
    for (int i = 0; i < threads; i++) {
        link_lines(c->lines[i], c->count);
        c->seconds[i] = INFINITY;
    }
    ad_pool_run(pool, chase_lines, c, (size_t)threads);
    for (int i = 0; i < threads; i++)
        worst = fmax(worst, c->seconds[i]);
    return worst;
}

/* 2, 3, 4, 6, 8, 12, ... times something. */
static size_t larger(size_t bytes)
{
    return (bytes & (bytes - 1)) == 0 ? bytes / 2 * 3 : bytes / 3 * 4;
}

/* The last of growing sizes whose lines come about as fast as those of the least. */
static size_t measure(struct pthreadpool *pool, int threads, size_t most)
{
    struct chase c = {.count = 0};
    size_t fits = 0;
    bool there = true;
    for (int i = 0; i < threads; i++) {
        c.lines[i] = ad_alloc_aligned(most);
        there = there && c.lines[i];
    }
    if (there) {
        double fast = time_lines(&c, pool, threads, LEAST);
        fits = LEAST;
        for (size_t bytes; (bytes = larger(fits)) <= most; fits = bytes)
            if (time_lines(&c, pool, threads, bytes) > SLOWER * fast)
                break;
    }
    for (int i = 0; i < threads; i++)
        ad_free(c.lines[i]);
    return fits;
}

size_t ad_l2_bytes(struct pthreadpool *pool)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static size_t known[MOST_THREADS + 1];
    int threads = ad_pool_threads(pool);
    size_t said = ad_machine_l2_bytes(), most = said > LEAST ? said : MOST, bytes;
    if (threads > MOST_THREADS)
        return SMALL;
    pthread_mutex_lock(&lock);
    if (known[threads] == 0) {
        bytes = measure(pool, threads, most);
        if (bytes == 0) /* no memory */
            bytes = said > 0 ? said : SMALL;
        else if (bytes < most / SHARE && said > 0) /* other programs disturbed the measurement */
            bytes = most / SHARE;
        known[threads] = bytes;
    }
    bytes = known[threads];
    pthread_mutex_unlock(&lock);
    return bytes;
}
