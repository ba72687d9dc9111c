/* What bench/papers/adaps has computed, and what is printed of it. */
#ifndef BENCH_PAPERS_ADAPS_H
#define BENCH_PAPERS_ADAPS_H

#include <stdbool.h>

enum { NETWORKS = 5, COUNTS = 2, RATES = 2, READINGS = 3, MODELS = 2 };
enum method { EDGEFLOW, BBGRAP, ADAPS, PROPORTIONAL, METHODS };
enum model { ADDITIVE, CLOCKS }; /* the paper's eqs 4 to 11; ours */
enum { ALEXNET, VGG16, MOBILENETV2, INCEPTIONV3, HARDCORENAS, ONE_PATH = INCEPTIONV3 };

/* A plan under both models. */
struct outcome {
    double bytes, latency_ns[MODELS];
};

/* The plans of one reading: by number of devices, network, rate and method. */
typedef struct outcome outcomes[COUNTS][NETWORKS][RATES][METHODS];

/* How the paper is read where it can be read in two ways. */
struct reading {
    const char *name;
    bool gather_type3, window_around; /* as in struct ad_search_problem */
};

extern const struct reading readings[READINGS];
extern const char *const networks[NETWORKS];
extern const char *const models[MODELS];
extern const int counts[COUNTS]; /* devices */
extern const double mbits[RATES];

/* Tables 4 and 5: bytes of BBGraP and ADaPS relative to EdgeFlow. */
extern const double published_bytes[COUNTS][NETWORKS][RATES][2];

/* Bytes and latency of `method` relative to `base`, geometric means over all rates and the networks
 * first .. end-1 (one network: first, first + 1), for counts[c] devices. */
double mean_bytes(const outcomes o, int c, int first, int end, enum method method,
                  enum method base);
double mean_latency(const outcomes o, enum model model, int c, int first, int end,
                    enum method method, enum method base);

void print_tables(const outcomes all[READINGS]);

/* In words: which of the paper's claims hold, under each reading and model. */
void print_claims(const outcomes all[READINGS]);

#endif
