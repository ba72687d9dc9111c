/* The helper of bench/single: the tile engine against other engines, in turns. */
#ifndef RACE_H
#define RACE_H

#include "base/error.h"

#include <stdint.h>
#include <sys/types.h>

struct race_time {
    double wall_s, cpu_s; /* of one inference; processor time of the whole process */
};

/* Another engine: a process that computes when it is told to (race_rival.c has the protocol). */
struct race_rival {
    char name[32];
    pid_t pid;
    int to, from; /* pipes */
    char *answer; /* the file that it writes its answer to */
};

/* Starts `command` (sh -c) and waits until it is ready. In its environment: RACE_MODEL,
 * RACE_SHAPE ("1x3x224x224"), RACE_INPUT (raw float32, ONNX order), RACE_OUTPUT (to be written
 * likewise) and RACE_THREADS. ADAPS_NO when it ends without being ready: *err has its last line. */
AD_MUST_CHECK enum adaps_status race_rival_start(struct race_rival *rival, const char *name,
                                                 const char *command, const char *folder,
                                                 struct adaps_error *err);

/* One inference. ADAPS_EAGENT: it ended, or said something else than times. */
AD_MUST_CHECK enum adaps_status race_rival_run(struct race_rival *rival, struct race_time *time,
                                               struct adaps_error *err);

/* Reads the answer of its first inference: count floats. */
AD_MUST_CHECK enum adaps_status race_rival_answer(const struct race_rival *rival, float *data,
                                                  size_t count, struct adaps_error *err);
void race_rival_end(struct race_rival *rival);

/* Processor time of this process, ns. */
int64_t race_cpu_ns(void);

/* What one thread of this processor can do: multiply-adds from registers, as flop/s (2 per
 * multiply-add), and bytes/s read from memory that no cache of its own holds. */
double race_peak_flops(void);
double race_peak_bytes(void);

#endif
