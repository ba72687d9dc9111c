/* The rows of the table of faults (tests/faults/table): what can go wrong with one of two agents,
 * each reached through a proxy. Failures end the test through Check. */
#ifndef TESTS_FAULTS_H
#define TESTS_FAULTS_H

#include "support/agents_fixture.h"
#include "support/slow_proxy.h"

#include <sys/resource.h>

struct ad_fault_bed {
    struct ad_testbed agents[2]; /* one each */
    struct slow_proxy *proxies[2];
    int victim;
    pid_t controller;
    int64_t suspended_ns; /* how long a controller is stopped */
    struct rlimit files;  /* of the victim, before */
    char group[200];      /* the victim's control group, or "" */
};

/* What a fault takes that not every machine has. */
enum ad_fault_need {
    AD_NEEDS_NOTHING,
    AD_NEEDS_NETWORK,
    AD_NEEDS_MOUNTS,
    AD_NEEDS_PIDS,
    AD_NEEDS_MEMORY
};

struct ad_fault {
    const char *name;
    enum ad_fault_need need;
    bool kills;
    void (*begin)(struct ad_fault_bed *bed);
    void (*wait)(
        struct ad_fault_bed *bed); /* while it lasts, before the controller ends; or NULL */
    void (*end)(struct ad_fault_bed *bed);
};

#define AD_FAULTS 16
extern const struct ad_fault ad_faults[AD_FAULTS];

/* Whether a fault can be made here, in words why not; NULL: it can. This process gets a network of
 * its own, and mounts if they are needed. */
const char *ad_fault_lacks(const struct ad_fault *fault);

/* Before an agent starts: a small disk of its own for its cache. */
void ad_fault_mount(const struct ad_testbed *agents);

/* A new control group for pids or memory; false where none can be made. */
bool ad_fault_group(enum ad_fault_need need, char *path, size_t size);

#endif
