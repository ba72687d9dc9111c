/* Another inference engine, which bench/head-to-head runs in turns with ours: a process that
 * computes when it is told to. competitor.c describes the protocol. */
#ifndef COMPETITOR_H
#define COMPETITOR_H

#include "base/error.h"

#include <stdint.h>
#include <sys/types.h>

struct run_time {
    double wall_s, cpu_s; /* of one inference; processor time of the whole process */
};

struct competitor {
    char name[32];
    pid_t pid;
    int to, from; /* pipes */
    char *answer; /* the file that it writes its answer to */
};

/* Starts `command` (sh -c) and waits until it is ready. In its environment: COMPETITOR_MODEL,
 * COMPETITOR_SHAPE (of the inputs, "1x3x224x224,1x5,scalar"), COMPETITOR_INPUT (a file: raw float32
 * in ONNX order, one input after the other as the model has them, without those that are
 * initializers), COMPETITOR_OUTPUT (the outputs, to be written likewise) and COMPETITOR_THREADS.
 * Inputs of other types hold numbers which these types have; symbolic dimensions follow from the
 * shapes. ADAPS_NO when it ends without being ready: *err
 * has its last line. */
AD_MUST_CHECK enum adaps_status competitor_start(struct competitor *competitor, const char *name,
                                                 const char *command, const char *folder,
                                                 struct adaps_error *err);

/* One inference. ADAPS_EAGENT: it ended, or its answer is no times. */
AD_MUST_CHECK enum adaps_status competitor_run(struct competitor *competitor, struct run_time *time,
                                               struct adaps_error *err);

/* Reads the answer of its first inference: count floats. */
AD_MUST_CHECK enum adaps_status competitor_answer(const struct competitor *competitor, float *data,
                                                  size_t count, struct adaps_error *err);
void competitor_end(struct competitor *competitor);

#endif
