#include "base/cgroup.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define UNLIMITED ((uint64_t)1 << 62) /* version 1 writes a number beyond this */

/* Names of version 1 and 2. */
struct names {
    const char *limit, *used, *inactive, *active; /* the last two in memory.stat: cached files */
    const char *cpu;                              /* NULL: two files */
};
static const struct names one = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                 "total_inactive_file", "total_active_file", NULL};
static const struct names two = {"memory.max", "memory.current", "inactive_file", "active_file",
                                 "cpu.max"};

static FILE *open_in(const char *folder, const char *name)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, "re");
}

/* False: no such file, or no number in it ("max"). */
static bool read_number(const char *folder, const char *name, uint64_t *out)
{
    FILE *file = open_in(folder, name);
    bool good = file && fscanf(file, "%" SCNu64, out) == 1;
    if (file)
        fclose(file);
    return good;
}

static uint64_t cached_bytes(const char *folder, const struct names *names)
{
    FILE *file = open_in(folder, "memory.stat");
    char name[64];
    uint64_t bytes, sum = 0;
    while (file && fscanf(file, "%63s %" SCNu64, name, &bytes) == 2)
        if (strcmp(name, names->inactive) == 0 || strcmp(name, names->active) == 0)
            sum += bytes;
    if (file)
        fclose(file);
    return sum;
}

static void look_memory(const char *folder, const struct names *names, void *self)
{
    struct ad_cgroup_memory *out = self;
    uint64_t limit, used;
    if (!read_number(folder, names->limit, &limit) || limit >= UNLIMITED ||
        !read_number(folder, names->used, &used))
        return;
    uint64_t cached = cached_bytes(folder, names);
    used = used > cached ? used - cached : 0;
    uint64_t left = used < limit ? limit - used : 0;
    out->limit = limit < out->limit ? limit : out->limit;
    out->left = left < out->left ? left : out->left;
}

/* "QUOTA PERIOD" or "max PERIOD" in one file, or two files. */
static void look_cores(const char *folder, const struct names *names, void *self)
{
    double *out = self;
    uint64_t quota = 0, period = 0;
    if (names->cpu) {
        FILE *file = open_in(folder, names->cpu);
        if (file && fscanf(file, "%" SCNu64 " %" SCNu64, &quota, &period) != 2)
            quota = 0;
        if (file)
            fclose(file);
    } else if (!read_number(folder, "cpu.cfs_quota_us", &quota) || quota >= UNLIMITED || /* -1 */
               !read_number(folder, "cpu.cfs_period_us", &period)) {
        return;
    }
    if (quota == 0 || period == 0)
        return;
    double cores = (double)quota / (double)period;
    *out = *out > 0 && *out < cores ? *out : cores;
}

/* What is looked at in each group. */
typedef void look_fn(const char *folder, const struct names *names, void *self);

/* The group and all above it. */
static void look_up(const char *root, const char *hierarchy, const char *group,
                    const struct names *names, look_fn *look, void *self)
{
    char folder[PATH_MAX];
    size_t top = (size_t)snprintf(folder, sizeof folder, "%s%s", root, hierarchy);
    if (top >= sizeof folder ||
        (size_t)snprintf(folder + top, sizeof folder - top, "%s", group) >= sizeof folder - top)
        return;
    for (;;) {
        look(folder, names, self);
        char *slash = strrchr(folder + top, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

/* Whether a list such as "cpu,memory" has this controller in it. */
static bool has_controller(const char *controllers, const char *wanted)
{
    char list[256], *save;
    snprintf(list, sizeof list, "%s", controllers);
    for (char *one_of = strtok_r(list, ",", &save); one_of; one_of = strtok_r(NULL, ",", &save))
        if (strcmp(one_of, wanted) == 0)
            return true;
    return false;
}

/* All groups that the process is in. controller, hierarchy: of version 1. */
static void look_at_groups(const char *groups, const char *root, const char *controller,
                           const char *hierarchy, look_fn *look, void *self)
{
    FILE *file = fopen(groups, "re");
    char line[PATH_MAX + 256];
    while (file && fgets(line, sizeof line, file)) { /* NUMBER:CONTROLLERS:GROUP */
        char *controllers = strchr(line, ':'),
             *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        controllers++;
        group[strcspn(group, "\n")] = '\0';
        if (*controllers == '\0') {
            look_up(root, "", group, &two, look, self);
            look_up(root, "/unified", group, &two, look, self);
        } else if (has_controller(controllers, controller)) {
            look_up(root, hierarchy, group, &one, look, self);
        }
    }
    if (file)
        fclose(file);
}

struct ad_cgroup_memory ad_cgroup_memory(const char *groups, const char *root)
{
    struct ad_cgroup_memory out = {UINT64_MAX, UINT64_MAX};
    look_at_groups(groups, root, "memory", "/memory", look_memory, &out);
    return out;
}

double ad_cgroup_cores(const char *groups, const char *root)
{
    double out = 0;
    look_at_groups(groups, root, "cpu", "/cpu", look_cores, &out);
    return out;
}
