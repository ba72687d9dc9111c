/* The network that bench/head-to-head measures: its plan for one device, its inputs and answers.
 * What fails here ends the program with a message and the exit status of adaps. */
#ifndef BENCH_NETWORK_H
#define BENCH_NETWORK_H

#include "exec/engine/engine.h"
#include "import/import.h"

struct network {
    const char *path;
    char *name;                  /* in tables; owned */
    struct ad_dim_bindings dims; /* sizes of symbolic dimensions */
    uint64_t seed;               /* of the inputs */
    int threads;
    bool conv_direct;                   /* no Winograd */
    struct adaps_plan *plan;            /* a step per layer */
    struct ad_tensor *inputs, *outputs; /* in the order of the file */
    size_t answer_count;                /* elements of all outputs */
};

_Noreturn void network_fail(const struct adaps_error *err);

/* Zeroed; the caller's (ad_free). */
void *network_room(size_t count, size_t size);

/* path, dims, seed and threads are given: fills the rest. name NULL: that of the file without its
 * ending. Inputs are random numbers that their type in the file holds exactly, those of integer
 * types from 0 to 127. Says on stderr which symbolic dimensions became 1. */
void network_load(struct network *network, const char *name);
void network_fini(struct network *network);

/* "NAME=N" to dims; false when it is none, contradicts another one, or is one too many. The text is
 * borrowed. */
bool network_take_dim(struct ad_dim_bindings *dims, const char *text);

/* An engine for the plan as it is now, of so many threads; the caller's (ad_engine_free). */
struct ad_engine *network_engine(const struct network *network, int threads);
void network_feed(const struct network *network, struct ad_engine *engine);
void network_step(struct ad_engine *engine, int step);
void network_fetch(struct network *network, struct ad_engine *engine);

/* Writes the inputs to a file in the folder, and sets what competitors find in their environment
 * (competitor.h). */
void network_tell(const struct network *network, const char *folder);

/* The largest difference between the answer and that of another engine, answer_count elements, each
 * output relative to its largest element; NaN where only one of them is NaN. Names outputs that are
 * off by more than `tolerance` on stderr. */
double network_difference(const struct network *network, const char *engine, const float *answer,
                          double tolerance);

#endif
