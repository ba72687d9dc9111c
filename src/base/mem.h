/* Memory: checked sizes, one allocation gate (so tests can make each allocation fail in turn), and
 * arenas for objects that live and die together (one per compilation, one per session). */
#ifndef AD_BASE_MEM_H
#define AD_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out = a * b or a + b; false on overflow (then *out is undefined). */
static inline bool ad_size_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool ad_size_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/* count * size zeroed bytes; NULL when there are none or the product overflows. A zero size gives a
 * unique pointer. Free with ad_free(). */
void *ad_calloc(size_t count, size_t size);

/* As realloc for count * size; on failure NULL and the old block stays. New bytes are undefined. */
void *ad_realloc(void *p, size_t count, size_t size);
char *ad_strdup(const char *s);
char *ad_strndup(const char *s, size_t n);
char *ad_asprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* 64-byte aligned, uninitialised, for tensors. Free with ad_free(). */
void *ad_alloc_aligned(size_t size);
void ad_free(void *p);

/* Makes room for one more element in a growing array: capacity doubles. *items is reallocated;
 * false on failure, with the array unchanged. */
bool ad_grow(void *items_ptr, size_t count, size_t *capacity, size_t item_size);

/* Test hook: the nth allocation from now fails (1 = the next), and so do all later ones until the
 * hook is cleared with 0. Not thread-safe; used by tests only. */
void ad_mem_fail_after(long n);

/* Bounds what this thread allocates: until ad_mem_limit_end(), an allocation fails when the
 * thread's blocks would grow by more than `bytes` in all. Freeing gives bytes back. One limit at a
 * time. */
void ad_mem_limit(size_t bytes);

/* Whether the limit made an allocation fail. *taken (may be NULL): the bytes of the blocks
 * allocated under the limit and not freed. */
bool ad_mem_limit_end(size_t *taken);

struct ad_arena_chunk;

/* Zero-initialised is empty and usable. */
struct ad_arena {
    struct ad_arena_chunk *head;
};

/* Zeroed memory with the lifetime of the arena; NULL when there is none or count*size overflows. */
void *ad_arena_alloc(struct ad_arena *arena, size_t count, size_t size);
char *ad_arena_strdup(struct ad_arena *arena, const char *s);
void ad_arena_fini(struct ad_arena *arena);

#endif
