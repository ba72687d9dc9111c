#include "base/mem.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNK_BYTES 65536
#define HUGE_PAGE ((size_t)2 << 20) /* of x86 and arm64 with small pages of 4 KiB */

static long fail_countdown; /* 0 = off; 1 = fail now and from now on */

void ad_mem_fail_after(long n)
{
    fail_countdown = n;
}

static bool must_fail(void)
{
    if (fail_countdown == 0)
        return false;
    if (fail_countdown > 1) {
        fail_countdown--;
        return false;
    }
    return true;
}

/* --- a limit --- */

#define BLOCK_HEAD 8 /* of the allocator, for each block */

static _Thread_local struct {
    bool on, hit;
    size_t limit, taken;
} limit;

void ad_mem_limit(size_t bytes)
{
    limit.on = true;
    limit.hit = false;
    limit.limit = bytes;
    limit.taken = 0;
}

bool ad_mem_limit_end(size_t *taken)
{
    limit.on = false;
    if (taken)
        *taken = limit.taken;
    return limit.hit;
}

static size_t room_of(void *p)
{
    return p ? malloc_usable_size(p) + BLOCK_HEAD : 0;
}

/* Whether n more bytes are within the limit. */
static bool within_limit(size_t n)
{
    if (!limit.on || n <= limit.limit - limit.taken)
        return true;
    limit.hit = true;
    return false;
}

static void give_back(size_t room)
{
    limit.taken -= room < limit.taken ? room : limit.taken;
}

static void *take(void *p)
{
    if (p && limit.on) {
        limit.taken += room_of(p);
        if (limit.taken > limit.limit) /* by what the allocator added */
            limit.taken = limit.limit;
    }
    return p;
}

/* --- the gate --- */

void *ad_calloc(size_t count, size_t size)
{
    size_t n;
    if (!ad_size_mul(count, size, &n) || must_fail() || !within_limit(n))
        return NULL;
    return take(calloc(1, n ? n : 1));
}

void *ad_realloc(void *p, size_t count, size_t size)
{
    size_t n;
    if (!ad_size_mul(count, size, &n) || must_fail())
        return NULL;
    size_t before = limit.on ? room_of(p) : 0;
    if (n > before && !within_limit(n - before))
        return NULL;
    void *moved = realloc(p, n ? n : 1);
    if (moved)
        give_back(before);
    return take(moved);
}

char *ad_strndup(const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *copy = ad_calloc(len + 1, 1);
    if (copy)
        memcpy(copy, s, len);
    return copy;
}

char *ad_strdup(const char *s)
{
    return ad_strndup(s, strlen(s));
}

char *ad_asprintf(const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *s = n < 0 ? NULL : ad_calloc((size_t)n + 1, 1);
    if (s)
        vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    return s;
}

/* Large blocks are read from one end to the other, again and again, which is faster with large
 * pages. Only pages that lie in the block are asked for, so it takes no more memory. */
static void want_huge_pages(char *p, size_t size)
{
#ifdef MADV_HUGEPAGE
    size_t skip = -(uintptr_t)p & (HUGE_PAGE - 1);
    if (size >= skip + HUGE_PAGE) {
        int before = errno; /* it is advice: whether it is followed does not matter */
        madvise(p + skip, (size - skip) & ~(size_t)(HUGE_PAGE - 1), MADV_HUGEPAGE);
        errno = before;
    }
#else
    (void)p, (void)size;
#endif
}

void *ad_alloc_aligned(size_t size)
{
    size_t rounded;
    if (must_fail() || !ad_size_add(size, 63, &rounded))
        return NULL;
    rounded &= ~(size_t)63;
    if (!within_limit(rounded))
        return NULL;
    char *p = aligned_alloc(64, rounded ? rounded : 64);
    if (p)
        want_huge_pages(p, rounded);
    return take(p);
}

void ad_free(void *p)
{
    if (limit.on)
        give_back(room_of(p));
    free(p);
}

bool ad_grow(void *items_ptr, size_t count, size_t *capacity, size_t item_size)
{
    if (count < *capacity)
        return true;
    size_t wanted = *capacity ? *capacity : 8;
    while (wanted <= count)
        if (!ad_size_mul(wanted, 2, &wanted))
            return false;
    void *old, *grown;
    memcpy(&old, items_ptr, sizeof old);
    grown = ad_realloc(old, wanted, item_size);
    if (!grown)
        return false;
    memcpy(items_ptr, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}

struct ad_arena_chunk {
    struct ad_arena_chunk *next;
    size_t used, size;
    _Alignas(16) unsigned char data[];
};

void *ad_arena_alloc(struct ad_arena *arena, size_t count, size_t size)
{
    size_t n, total;
    if (!ad_size_mul(count, size, &n) || !ad_size_add(n, 15, &n))
        return NULL;
    n &= ~(size_t)15;
    struct ad_arena_chunk *chunk = arena->head;
    if (!chunk || chunk->size - chunk->used < n) {
        size_t room = n > CHUNK_BYTES / 4 ? n : CHUNK_BYTES;
        if (!ad_size_add(room, sizeof *chunk, &total))
            return NULL;
        struct ad_arena_chunk *fresh = ad_calloc(1, total);
        if (!fresh)
            return NULL;
        fresh->size = room;
        if (chunk && room == n) { /* a large block must not hide the room left in the head */
            fresh->next = chunk->next;
            chunk->next = fresh;
        } else {
            fresh->next = chunk;
            arena->head = fresh;
        }
        chunk = fresh;
    }
    void *p = chunk->data + chunk->used;
    chunk->used += n;
    return p;
}

char *ad_arena_strdup(struct ad_arena *arena, const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = ad_arena_alloc(arena, n, 1);
    if (copy)
        memcpy(copy, s, n);
    return copy;
}

void ad_arena_fini(struct ad_arena *arena)
{
    for (struct ad_arena_chunk *chunk = arena->head, *next; chunk; chunk = next) {
        next = chunk->next;
        ad_free(chunk);
    }
    arena->head = NULL;
}
