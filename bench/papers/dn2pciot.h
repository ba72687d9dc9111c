/* bench/papers/dn2pciot: LeNet as work graphs, the paper's systems, and its approaches. */
#ifndef BENCH_PAPERS_DN2PCIOT_H
#define BENCH_PAPERS_DN2PCIOT_H

#include "search/published/work_graph.h"

enum { INPUT, C1, P1, C2, P2, FC1, FC2, FC3, LAYERS };

/* A layer's vertices: lines of `side` in a map, one line of them where it is dense. */
struct lenet_layer {
    const char *name;
    int side, first, count; /* count: side * side in a map */
    bool map;
    int grain; /* of a map: rows and columns of values that a vertex holds */
};

/* LeNet with one (1:1) or more (2:1) neurons of a place in a vertex, and the devices. */
struct lenet {
    struct ad_work_graph graph;
    struct lenet_layer layers[LAYERS];
    int64_t *memory, *bytes;
    double *work;
    int *group, *first, *readers;
    int64_t shared[LAYERS], limit[AD_WORK_DEVICES];
    double rate[AD_WORK_DEVICES], bandwidth[AD_WORK_DEVICES * AD_WORK_DEVICES];
    bool *input; /* by vertex: whether it is one of the input layer */
};

/* One of the five systems. */
struct system {
    const char *model;
    int devices, kib;
    double flops, bandwidth; /* a second, of a device; bytes a second, of a link */
    double single, best;     /* Table 7: inferences a second */
};

enum { SYSTEMS = 5 };
extern const struct system systems[SYSTEMS];

/* Ends the program. */
void dn_fail(const char *what, const struct adaps_error *err) __attribute__((noreturn));
void *dn_alloc(size_t count, size_t size);

/* coarse: 2:1. Free with lenet_fini(). */
void lenet_init(struct lenet *out, bool coarse, const struct system *system);
void lenet_fini(struct lenet *net);

/* Bytes of the whole network, each layer's parameters once. */
int64_t lenet_memory(const struct lenet *net);
double lenet_work(const struct lenet *net);

/* The rate of a partitioning in inferences a second; 0: it needs more memory than there is. */
double dn_rate(const struct lenet *net, const int *part);

/* The approaches. Each fills part; false: there is no valid one. locked: the input is on one
 * device. */
bool dn_per_layers(const struct lenet *net, int *part);
bool dn_greedy(const struct lenet *net, int *part);
bool dn_irgreedy(const struct lenet *net, bool locked, int *part);

/* The best of many runs of gpmetis. *ran: whether there is the program. */
bool dn_metis(const struct lenet *net, bool locked, int *part, bool *ran);

#endif
