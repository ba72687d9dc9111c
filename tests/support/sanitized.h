/* What bounds of time and memory have to know. SANITIZED: 1 under a sanitizer that takes memory and
 * address space of its own, else 0. */
#ifndef TESTS_SANITIZED_H
#define TESTS_SANITIZED_H

#include <stdbool.h>
#include <stdlib.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Whether an emulator executes this process (tests/arm64/check.sh says so): it is slow, its memory
 * is mostly the emulator's, and limits of its address space do not hold. */
static inline bool is_emulated(void)
{
    return getenv("EMULATED") != NULL;
}

/* Sanitizers and emulators are there for the code, not for the figures, and are slow: so many of n
 * random instances are enough for them. */
static inline int sampled(int n)
{
    return SANITIZED || is_emulated() ? (n + 5) / 6 : n;
}

#endif
