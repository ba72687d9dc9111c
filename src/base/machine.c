#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "base/machine.h"

#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void look_memory(struct ad_machine *out)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        uint64_t kib;
        if (sscanf(line, "MemTotal: %" SCNu64, &kib) == 1)
            out->memory_total = kib * 1024;
        else if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
            out->memory_available = kib * 1024;
    }
    if (file)
        fclose(file);
}

static void look_temperature(struct ad_machine *out)
{
    glob_t zones;
    out->temperature_c = NAN;
    if (glob("/sys/class/thermal/thermal_zone*/temp", 0, NULL, &zones) != 0)
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

/* x86 gives a name; ARM a part number, of which the usual ones are known. */
static void look_cpu(struct ad_machine *out)
{
    static const struct {
        unsigned part;
        const char *name;
    } arm[] = {{0xd03, "Cortex-A53"}, {0xd05, "Cortex-A55"},  {0xd08, "Cortex-A72"},
               {0xd0b, "Cortex-A76"}, {0xd40, "Neoverse-V1"}, {0xd41, "Cortex-A78"}};
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256];
    unsigned part;
    while (file && !out->cpu[0] && fgets(line, sizeof line, file)) {
        if (sscanf(line, "model name : %63[^\n]", out->cpu) == 1 ||
            sscanf(line, "CPU part : %x", &part) != 1)
            continue;
        snprintf(out->cpu, sizeof out->cpu, "ARM part 0x%x", part);
        for (size_t i = 0; i < sizeof arm / sizeof *arm; i++)
            if (arm[i].part == part)
                snprintf(out->cpu, sizeof out->cpu, "%s", arm[i].name);
    }
    if (file)
        fclose(file);
    out->frequency_hz = NAN;
    double khz;
    file = fopen("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "re");
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

void ad_machine_look(struct ad_machine *out)
{
    struct utsname name;
    cpu_set_t set;
    memset(out, 0, sizeof *out);
    if (uname(&name) == 0)
        snprintf(out->kind, sizeof out->kind, "%.20s %.16s %.20s", name.machine, name.sysname,
                 name.release);
    out->cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    if (getloadavg(&out->load1, 1) != 1)
        out->load1 = 0;
    look_memory(out);
    look_cpu(out);
    look_temperature(out);
}
