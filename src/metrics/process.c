#include "metrics/process.h"
#include "base/clock.h"
#include "adaps.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static double start_s; /* since 1970; 0: not known */

/* /proc/PID/stat: the 22nd field, in ticks since the machine's start. The name before it may have
 * spaces and brackets. */
static void find_start(void)
{
    char text[1024];
    unsigned long long ticks;
    FILE *file = fopen("/proc/self/stat", "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[n] = '\0';
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (!at || sscanf(at, "%llu", &ticks) != 1)
        return;
    double age_s = (double)ad_clock_read_ns(CLOCK_BOOTTIME) / 1e9 -
                   (double)ticks / (double)sysconf(_SC_CLK_TCK);
    start_s = (double)ad_clock_read_ns(CLOCK_REALTIME) / 1e9 - age_s;
}

static double resident_bytes(void)
{
    unsigned long long size, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%llu %llu", &size, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

void ad_exposition_process(struct ad_exposition *out, const char *machine, const char *name)
{
    const char *const labels[] = {
        "version", adaps_version(), "machine", machine, name ? "name" : NULL, name, NULL};
    pthread_once(&once, find_start);
    ad_exposition_family(out, "adaps_build", AD_METRIC_INFO, "What runs here.");
    ad_exposition_number(out, labels, 1);
    if (start_s > 0)
        ad_exposition_single(out, "process_start_time_seconds", AD_METRIC_GAUGE,
                             "When the process began, seconds since 1970.", start_s);
    ad_exposition_single(out, "process_cpu_seconds", AD_METRIC_COUNTER,
                         "Processor time of the process.",
                         (double)ad_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
    ad_exposition_single(out, "process_resident_memory_bytes", AD_METRIC_GAUGE,
                         "Memory of the process.", resident_bytes());
}
