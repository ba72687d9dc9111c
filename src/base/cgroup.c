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
};
static const struct names one = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                 "total_inactive_file", "total_active_file"};
static const struct names two = {"memory.max", "memory.current", "inactive_file", "active_file"};

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

static void look_at(const char *folder, const struct names *names, struct ad_cgroup_memory *out)
{
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

/* The group and all above it. */
static void look_up(const char *root, const char *hierarchy, const char *group,
                    const struct names *names, struct ad_cgroup_memory *out)
{
    char folder[PATH_MAX];
    size_t top = (size_t)snprintf(folder, sizeof folder, "%s%s", root, hierarchy);
    if (top >= sizeof folder ||
        (size_t)snprintf(folder + top, sizeof folder - top, "%s", group) >= sizeof folder - top)
        return;
    for (;;) {
        look_at(folder, names, out);
        char *slash = strrchr(folder + top, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

/* Whether a list such as "cpu,memory" has memory in it. */
static bool has_memory(const char *controllers)
{
    char list[256], *save;
    snprintf(list, sizeof list, "%s", controllers);
    for (char *one_of = strtok_r(list, ",", &save); one_of; one_of = strtok_r(NULL, ",", &save))
        if (strcmp(one_of, "memory") == 0)
            return true;
    return false;
}

struct ad_cgroup_memory ad_cgroup_memory(const char *groups, const char *root)
{
    struct ad_cgroup_memory out = {UINT64_MAX, UINT64_MAX};
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
            look_up(root, "", group, &two, &out);
            look_up(root, "/unified", group, &two, &out);
        } else if (has_memory(controllers)) {
            look_up(root, "/memory", group, &one, &out);
        }
    }
    if (file)
        fclose(file);
    return out;
}
