#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "base/machine.h"
#include "base/cgroup.h"

#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Opens a file for reading, below the root. */
static FILE *open_below(const char *root, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s", root, name);
    return fopen(path, "re");
}

static void look_load(const char *root, struct ad_machine *out)
{
    FILE *file = open_below(root, "/proc/loadavg");
    if (!file || fscanf(file, "%lf", &out->load1) != 1)
        out->load1 = 0;
    if (file)
        fclose(file);
}

static void look_memory(const char *root, struct ad_machine *out)
{
    char groups[PATH_MAX], hierarchies[PATH_MAX];
    snprintf(groups, sizeof groups, "%s/proc/self/cgroup", root);
    snprintf(hierarchies, sizeof hierarchies, "%s/sys/fs/cgroup", root);
    struct ad_cgroup_memory group = ad_cgroup_memory(groups, hierarchies);
    uint64_t swap = 0;
    FILE *file = open_below(root, "/proc/meminfo");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        uint64_t kib;
        if (sscanf(line, "MemTotal: %" SCNu64, &kib) == 1)
            out->memory_total = kib * 1024;
        else if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
            out->memory_available = kib * 1024;
        else if (sscanf(line, "SwapFree: %" SCNu64, &kib) == 1)
            swap = kib * 1024;
    }
    if (file)
        fclose(file);
    out->memory_most = out->memory_available + swap;
    out->memory_most = group.left < out->memory_most ? group.left : out->memory_most;
    out->memory_total = group.limit < out->memory_total ? group.limit : out->memory_total;
    out->memory_available = group.left < out->memory_available ? group.left : out->memory_available;
}

static void look_temperature(const char *root, struct ad_machine *out)
{
    glob_t zones;
    char pattern[PATH_MAX];
    out->temperature_c = NAN;
    if ((size_t)snprintf(pattern, sizeof pattern, "%s/sys/class/thermal/thermal_zone*/temp",
                         root) >= sizeof pattern ||
        glob(pattern, 0, NULL, &zones) != 0)
        return;
    for (size_t i = 0; i < zones.gl_pathc; i++) {
        FILE *file = fopen(zones.gl_pathv[i], "re");
        int milli;
        if (file && fscanf(file, "%d", &milli) == 1 && milli > -100000 && milli < 200000 &&
            !(out->temperature_c >= milli * 1e-3))
            out->temperature_c = milli * 1e-3;
        if (file)
            fclose(file);
    }
    globfree(&zones);
}

const char *ad_core_name(const struct ad_cpu_core *core)
{
    static const struct {
        unsigned part;
        const char *name;
    } arm[] = {{0xc07, "Cortex-A7"},  {0xd03, "Cortex-A53"},  {0xd05, "Cortex-A55"},
               {0xd07, "Cortex-A57"}, {0xd08, "Cortex-A72"},  {0xd09, "Cortex-A73"},
               {0xd0a, "Cortex-A75"}, {0xd0b, "Cortex-A76"},  {0xd0c, "Neoverse-N1"},
               {0xd0d, "Cortex-A77"}, {0xd40, "Neoverse-V1"}, {0xd41, "Cortex-A78"},
               {0xd4f, "Neoverse-V2"}};
    for (size_t i = 0; i < sizeof arm / sizeof *arm; i++)
        if (core->implementer == AD_CORE_ARM && core->part == arm[i].part)
            return arm[i].name;
    return NULL;
}

static void add_core(struct ad_cpu *cpu, const struct ad_cpu_core *core)
{
    for (int i = 0; i < cpu->ncores; i++)
        if (cpu->cores[i].implementer == core->implementer && cpu->cores[i].part == core->part)
            return;
    if (cpu->ncores < AD_CORE_KINDS)
        cpu->cores[cpu->ncores++] = *core;
}

/* x86 gives a name, ARM numbers for each core. */
void ad_machine_cpu(struct ad_cpu *out)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256];
    struct ad_cpu_core core = {AD_CORE_ARM, 0};
    memset(out, 0, sizeof *out);
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "CPU implementer : %x", &core.implementer) == 1)
            continue;
        if (sscanf(line, "CPU part : %x", &core.part) == 1)
            add_core(out, &core);
        else if (!out->name[0])
            sscanf(line, "model name : %63[^\n]", out->name);
    }
    if (file)
        fclose(file);
    if (out->ncores == 0)
        return;
    const char *name = ad_core_name(&out->cores[0]);
    if (name)
        snprintf(out->name, sizeof out->name, "%s", name);
    else
        snprintf(out->name, sizeof out->name, "ARM part 0x%x", out->cores[0].part);
}

const char *ad_machine_board_named(const char *model, const char *cpu, const char *architecture)
{
    static const struct {
        const char *begin, *board; /* the longer beginnings first */
    } boards[] = {
        {"Raspberry Pi Compute Module 5", "pi-cm5"},
        {"Raspberry Pi Compute Module 4", "pi4"},
        {"Raspberry Pi Compute Module 3", "pi3"},
        {"Raspberry Pi Zero 2", "pi-zero-2"},
        {"Raspberry Pi 5", "pi5"},
        {"Raspberry Pi 4", "pi4"},
        {"Raspberry Pi 3", "pi3"},
    };
    for (size_t i = 0; i < sizeof boards / sizeof *boards; i++)
        if (strncmp(model, boards[i].begin, strlen(boards[i].begin)) == 0)
            return boards[i].board;
    if (strcmp(architecture, "x86_64") != 0)
        return "";
    return strstr(cpu, "N100") ? "n100" : "x86";
}

void ad_machine_board(char *out, size_t size)
{
    char model[128] = "";
    struct ad_cpu cpu;
    struct utsname name;
    FILE *file = fopen("/proc/device-tree/model", "re");
    if (file && !fgets(model, sizeof model, file))
        model[0] = '\0';
    if (file)
        fclose(file);
    ad_machine_cpu(&cpu);
    snprintf(out, size, "%s",
             ad_machine_board_named(model, cpu.name, uname(&name) == 0 ? name.machine : ""));
}

static void look_cpu(const char *root, struct ad_machine *out)
{
    struct ad_cpu cpu;
    ad_machine_cpu(&cpu);
    memcpy(out->cpu, cpu.name, sizeof out->cpu);
    out->frequency_hz = NAN;
    double khz;
    FILE *file = open_below(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
    if (file && fscanf(file, "%lf", &khz) == 1 && khz > 0 && khz < 1e8)
        out->frequency_hz = khz * 1e3;
    if (file)
        fclose(file);
}

/* "512K" or "2M" */
static size_t cache_size(const char *path)
{
    FILE *file = fopen(path, "re");
    unsigned long size = 0;
    char unit = ' ';
    int n = file ? fscanf(file, "%lu%c", &size, &unit) : 0;
    if (file)
        fclose(file);
    if (n < 1 || size > 1 << 20)
        return 0;
    return size << (n == 2 && unit == 'M' ? 20 : n == 2 && unit == 'K' ? 10 : 0);
}

size_t ad_machine_l2_bytes(void)
{
    size_t bytes = 0;
    for (int i = 0; i < 8 && bytes == 0; i++) {
        char path[96];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (cache_size(path) != 2) /* a number, too */
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        bytes = cache_size(path);
    }
    if (bytes == 0 && sysconf(_SC_LEVEL2_CACHE_SIZE) > 0)
        bytes = (size_t)sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes;
}

int ad_machine_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

void ad_machine_look(struct ad_machine *out)
{
    ad_machine_look_below("", out);
}

void ad_machine_look_below(const char *root, struct ad_machine *out)
{
    struct utsname name;
    memset(out, 0, sizeof *out);
    if (uname(&name) == 0)
        snprintf(out->kind, sizeof out->kind, "%.20s %.16s %.20s", name.machine, name.sysname,
                 name.release);
    out->cores = ad_machine_cores();
    look_load(root, out);
    look_memory(root, out);
    look_cpu(root, out);
    look_temperature(root, out);
}
