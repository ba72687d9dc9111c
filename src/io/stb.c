/* The one place where stb's codecs are compiled, without warnings: the code is not part of adaps.
 */
#include "base/mem.h"
#include "io/image.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#ifdef __ARM_NEON
#include <arm_neon.h>
#endif

/* The PNG writer does not expect an allocation to fail. Its memory comes from an arena, and a
 * failure jumps back to ad_stb_write_png(), which drops the arena. */
struct writer_memory {
    struct ad_arena arena;
    jmp_buf out_of_memory;
};
static _Thread_local struct writer_memory *writer;

static void *writer_alloc(const void *old, size_t old_size, size_t size)
{
    void *p = ad_arena_alloc(&writer->arena, size, 1);
    if (!p)
        longjmp(writer->out_of_memory, 1);
    if (old)
        memcpy(p, old, old_size < size ? old_size : size);
    return p;
}

/* Whether the decoders have been refused memory: not all of them say so. */
static _Thread_local bool starved;

static void *decoder_realloc(void *old, size_t size)
{
    void *p = ad_realloc(old, size, 1);
    starved = starved || !p;
    return p;
}

#define STBIW_MALLOC(size) writer_alloc(NULL, 0, (size))
#define STBIW_REALLOC_SIZED(p, old_size, size) writer_alloc((p), (old_size), (size))
#define STBIW_REALLOC(p, size) error_every_caller_knows_the_old_size
#define STBIW_FREE(p) ((void)(p))
#define STBI_MALLOC(size) decoder_realloc(NULL, (size))
#define STBI_REALLOC(p, size) decoder_realloc((p), (size))
#define STBI_FREE(p) ad_free(p)
#define STBIR_MALLOC(size, context) ((void)(context), ad_realloc(NULL, (size), 1))
#define STBIR_FREE(p, context) ((void)(context), ad_free(p))

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wattributes"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#pragma GCC diagnostic ignored "-Wshadow"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

/* stb shifts signed numbers left, lets products of a damaged JPEG's coefficients overflow, and
 * copies and adds nothing to null pointers. UBSan reports these; all of them are given a meaning
 * here (wrapv) or have no effect. Every other check stays on. */
#define STB_NO_SANITIZE                                                                            \
    no_sanitize("shift", "signed-integer-overflow", "pointer-overflow", "nonnull-attribute")
#ifdef __clang__
#pragma clang attribute push(__attribute__((STB_NO_SANITIZE)), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC optimize("wrapv")
#define static static __attribute__((STB_NO_SANITIZE))
#endif
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include "io/stb.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#undef static
#pragma GCC pop_options
#endif

#pragma GCC diagnostic pop

bool ad_stb_starved(void)
{
    bool was = starved;
    starved = false;
    return was;
}

bool ad_stb_write_png(stbi_write_func *sink, void *context, int width, int height, int channels,
                      const void *pixels)
{
    struct writer_memory memory = {0};
    volatile int done = 0;
    writer = &memory;
    if (setjmp(memory.out_of_memory) == 0)
        done = stbi_write_png_to_func(sink, context, width, height, channels, pixels,
                                      width * channels);
    writer = NULL;
    ad_arena_fini(&memory.arena);
    return done != 0;
}
