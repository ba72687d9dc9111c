/* What the fuzz targets share. A target is one function that takes any bytes as a file (or a
 * message) and must return 0: it aborts when something else happens than success or the error that
 * bad input deserves. fuzz/README.md says how to run them; tests/test_fuzz_replay.c runs them all.
 */
#ifndef AD_FUZZ_FUZZ_H
#define AD_FUZZ_FUZZ_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libFuzzer's. Each target declares its LLVMFuzzerTestOneInput(), which the replay renames. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

/* Inputs that were accepted so far, for the replay: seeds that no longer are test little. */
static unsigned long fuzz_accepted;

/* Aborts, so that libFuzzer and the replay see it, and says why. */
#define FUZZ_CHECK(condition, ...)                                                                 \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* A reader's answer: success, or `refusal` with a message. Anything else (a defect, no memory for a
 * small file) ends the run. */
static inline void fuzz_check_answer(enum adaps_status status, enum adaps_status refusal,
                                     const struct adaps_error *err)
{
    if (status == ADAPS_OK)
        return;
    FUZZ_CHECK(status == refusal, "status %d: %s", (int)status, err->message);
    FUZZ_CHECK(err->status == status, "the error says %d, the call %d", (int)err->status,
               (int)status);
    FUZZ_CHECK(err->message[0] && memchr(err->message, 0, sizeof err->message),
               "no message or no end of it");
}

#endif
