#include "exec/kernels/packed.h"
#include "base/mem.h"

#include <pthread.h>

/* Smaller blocks may be XNNPACK's own structures, and are not worth it. */
#define LEAST_BYTES 4096

/* A block with several users, or one that may get more. */
struct shared {
    struct shared *next;
    void *block;
    size_t users;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shared *blocks;

static _Thread_local struct ad_packed *current;
static _Thread_local struct ad_packed largest; /* of what the current creation took */

void ad_packed_begin(struct ad_packed *packed)
{
    current = packed;
    largest = (struct ad_packed){0};
}

void ad_packed_end(bool made)
{
    struct ad_packed *packed = current;
    current = NULL;
    if (!made || !packed || packed->block || !largest.block)
        return;
    struct shared *s = ad_calloc(1, sizeof *s);
    if (!s)
        return; /* without memory the others pack their own */
    s->block = largest.block;
    s->users = 1;
    pthread_mutex_lock(&lock);
    s->next = blocks;
    blocks = s;
    pthread_mutex_unlock(&lock);
    *packed = largest;
}

/* Adds a user; false when the block is not shared. */
static bool share(void *block)
{
    struct shared *s;
    pthread_mutex_lock(&lock);
    for (s = blocks; s && s->block != block; s = s->next)
        continue;
    if (s)
        s->users++;
    pthread_mutex_unlock(&lock);
    return s != NULL;
}

void *ad_packed_alloc(size_t size, bool *fresh)
{
    bool again = current && current->block && size == current->size && share(current->block);
    void *p = again ? current->block : ad_alloc_aligned(size);
    if (fresh)
        *fresh = !again && p;
    if (!again && p && current && !current->block && size >= LEAST_BYTES && size > largest.size)
        largest = (struct ad_packed){p, size};
    return p;
}

void ad_packed_free(void *p)
{
    struct shared **link = &blocks, *last = NULL;
    bool others = false;
    pthread_mutex_lock(&lock);
    while (*link && (*link)->block != p)
        link = &(*link)->next;
    if (*link && --(*link)->users > 0) {
        others = true;
    } else if (*link) {
        last = *link;
        *link = last->next;
    }
    pthread_mutex_unlock(&lock);
    ad_free(last);
    if (!others)
        ad_free(p);
}
