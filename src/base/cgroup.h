/* The memory and the processors that control groups leave a process (both versions). */
#ifndef AD_BASE_CGROUP_H
#define AD_BASE_CGROUP_H

#include <stdint.h>

struct ad_cgroup_memory {
    uint64_t limit; /* bytes, of the tightest group; UINT64_MAX: none */
    uint64_t left;  /* what can still be taken, also at the expense of cached files; likewise */
};

/* groups: a file as /proc/self/cgroup; root: where the hierarchies are, as /sys/fs/cgroup. Groups
 * that cannot be seen from here count as without limit. */
struct ad_cgroup_memory ad_cgroup_memory(const char *groups, const char *root);

/* The processors whose time it may take, of the tightest group; 0: no limit. */
double ad_cgroup_cores(const char *groups, const char *root);

#endif
