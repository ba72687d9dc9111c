#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2 */
#endif
#include "base/health.h"
#include "base/cgroup.h"
#include "base/clock.h"

#include <fcntl.h>
#include <glob.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM_NS ((int64_t)500 * 1000000) /* that vcgencmd may take */

/* The first line of a file, without its end, at most size - 1 bytes of it; false when there is no
 * such file, or nothing in it. */
static bool read_line(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    bool good = file && fgets(out, (int)size, file);
    if (file)
        fclose(file);
    if (!good)
        return false;
    out[strcspn(out, "\n")] = '\0';
    return *out != '\0';
}

static bool __attribute__((format(printf, 3, 4)))
read_below(char *out, size_t size, const char *fmt, ...)
{
    char path[PATH_MAX];
    va_list ap;
    va_start(ap, fmt);
    int length = vsnprintf(path, sizeof path, fmt, ap);
    va_end(ap);
    return length > 0 && (size_t)length < sizeof path && read_line(path, out, size);
}

/* --- power --- */

char *ad_throttle_words(uint32_t bits, char *buf, size_t size)
{
    static const char *const words[] = {"under-voltage", "frequency capped", "throttled",
                                        "soft temperature limit"};
    size_t used = 0;
    *buf = '\0';
    for (int i = 0; i < 4; i++)
        if (bits >> i & 1 && used < size)
            used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "", words[i]);
    return buf;
}

/* A number in hexadecimal, "50005" or "0x50005". */
static bool take_bits(const char *text, struct ad_health *out)
{
    char *end;
    unsigned long value = strtoul(text, &end, 16);
    if (end == text || *end != '\0' || value > UINT32_MAX)
        return false;
    out->throttled = (uint32_t)value & AD_THROTTLE_BITS;
    out->power_known = true;
    return true;
}

static bool look_firmware(const char *root, struct ad_health *out)
{
    static const char *const places[] = {"soc/soc:firmware", "soc*/*firmware", "*firmware"};
    char pattern[PATH_MAX], line[32];
    for (size_t i = 0; i < sizeof places / sizeof *places && !out->power_known; i++) {
        glob_t files;
        if ((size_t)snprintf(pattern, sizeof pattern, "%s/sys/devices/platform/%s/get_throttled",
                             root, places[i]) >= sizeof pattern ||
            glob(pattern, 0, NULL, &files) != 0)
            continue;
        for (size_t k = 0; k < files.gl_pathc && !out->power_known; k++)
            if (read_line(files.gl_pathv[k], line, sizeof line))
                take_bits(line, out);
        globfree(&files);
    }
    return out->power_known;
}

/* The hardware monitor tells of the voltage alone. */
static void look_voltage(const char *root, struct ad_health *out)
{
    char name[32], alarm[8];
    for (int i = 0; i < 32; i++) {
        if (!read_below(name, sizeof name, "%s/sys/class/hwmon/hwmon%d/name", root, i) ||
            strcmp(name, "rpi_volt") != 0 ||
            !read_below(alarm, sizeof alarm, "%s/sys/class/hwmon/hwmon%d/in0_lcrit_alarm", root, i))
            continue;
        out->power_known = true;
        if (strcmp(alarm, "1") == 0)
            out->throttled |= AD_UNDER_VOLTAGE | AD_UNDER_VOLTAGE << AD_SINCE_BOOT;
    }
}

/* Reads what a child says until it closes its end, or the time is over. */
static size_t read_child(int fd, char *out, size_t size)
{
    size_t used = 0;
    int64_t until = ad_clock_ns() + PROGRAM_NS;
    for (;;) {
        struct pollfd item = {.fd = fd, .events = POLLIN};
        int64_t left = until - ad_clock_ns();
        if (left <= 0 || used + 1 >= size || poll(&item, 1, (int)(left / 1000000) + 1) <= 0)
            break;
        ssize_t n = read(fd, out + used, size - 1 - used);
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    out[used] = '\0';
    return used;
}

/* vcgencmd as a child with an environment of its own and nothing of this process but the pipe. */
static void ask_firmware(const char *root, struct ad_health *out)
{
    char path[PATH_MAX], said[64], get[] = "get_throttled", *empty[] = {NULL};
    int ends[2];
    pid_t child;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none;
    if ((size_t)snprintf(path, sizeof path, "%s/usr/bin/vcgencmd", root) >= sizeof path ||
        access(path, X_OK) != 0 || pipe2(ends, O_CLOEXEC) != 0)
        return;
    char *argv[] = {path, get, NULL};
    sigemptyset(&none);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawn(&child, path, &actions, &attr, argv, empty);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    close(ends[1]);
    if (failed == 0) {
        read_child(ends[0], said, sizeof said);
        kill(child, SIGKILL); /* it has said all, or is late */
        waitpid(child, NULL, 0);
        said[strcspn(said, "\n")] = '\0';
        if (strncmp(said, "throttled=", 10) == 0)
            take_bits(said + 10, out);
    }
    close(ends[0]);
}

static void look_power(const char *root, struct ad_health *out)
{
    if (!look_firmware(root, out))
        ask_firmware(root, out);
    look_voltage(root, out);
}

/* --- processor --- */

/* How slow a governor may make a processor; higher is worse. */
static int governor_rank(const char *governor)
{
    static const char *const known[] = {"performance",  "schedutil", "ondemand",
                                        "conservative", "userspace", "powersave"};
    for (int i = 0; i < (int)(sizeof known / sizeof *known); i++)
        if (strcmp(governor, known[i]) == 0)
            return i;
    return 1;
}

static void look_governor(const char *root, struct ad_health *out)
{
    char governor[sizeof out->governor];
    for (int cpu = 0; cpu < 256; cpu++) {
        if (!read_below(governor, sizeof governor,
                        "%s/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", root, cpu))
            continue;
        if (*out->governor && governor_rank(governor) <= governor_rank(out->governor))
            continue;
        memcpy(out->governor, governor, sizeof governor);
        if (!read_below(out->driver, sizeof out->driver,
                        "%s/sys/devices/system/cpu/cpu%d/cpufreq/scaling_driver", root, cpu))
            *out->driver = '\0';
    }
}

static void look_quota(const char *root, struct ad_health *out)
{
    char groups[PATH_MAX], hierarchies[PATH_MAX];
    snprintf(groups, sizeof groups, "%s/proc/self/cgroup", root);
    snprintf(hierarchies, sizeof hierarchies, "%s/sys/fs/cgroup", root);
    out->quota_cores = ad_cgroup_cores(groups, hierarchies);
}

/* --- memory and network --- */

static void look_swap(const char *root, struct ad_health *out)
{
    char path[PATH_MAX], line[256];
    uint64_t total = 0, left = 0, pages, kib;
    bool have_total = false, have_left = false;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "SwapTotal: %" SCNu64, &kib) == 1)
            total = kib * 1024, have_total = true;
        else if (sscanf(line, "SwapFree: %" SCNu64, &kib) == 1)
            left = kib * 1024, have_left = true;
    }
    if (file)
        fclose(file);
    out->swap_known = have_total && have_left;
    out->swap_total = total;
    out->swap_used = left < total ? total - left : 0;
    snprintf(path, sizeof path, "%s/proc/vmstat", root);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "pswpin %" SCNu64, &pages) == 1 ||
            sscanf(line, "pswpout %" SCNu64, &pages) == 1)
            out->swapped += pages * (uint64_t)sysconf(_SC_PAGESIZE);
    if (file)
        fclose(file);
}

/* Two lines that begin with "Tcp:", the first has titles. */
static void look_segments(const char *root, struct ad_health *out)
{
    char path[PATH_MAX], titles[1024] = "", line[1024];
    snprintf(path, sizeof path, "%s/proc/net/snmp", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "Tcp:", 4) != 0)
            continue;
        if (!*titles) {
            memcpy(titles, line, sizeof titles);
            continue;
        }
        char *in_titles, *in_line;
        const char *title = strtok_r(titles, " \n", &in_titles);
        const char *value = strtok_r(line, " \n", &in_line);
        for (; title && value;
             title = strtok_r(NULL, " \n", &in_titles), value = strtok_r(NULL, " \n", &in_line)) {
            if (strcmp(title, "OutSegs") == 0) {
                out->segments = strtoull(value, NULL, 10);
                out->segments_known = true;
            } else if (strcmp(title, "RetransSegs") == 0) {
                out->repeated = strtoull(value, NULL, 10);
            }
        }
        break;
    }
    if (file)
        fclose(file);
}

void ad_health_look(const char *root, struct ad_health *out)
{
    memset(out, 0, sizeof *out);
    look_power(root, out);
    look_governor(root, out);
    look_quota(root, out);
    look_swap(root, out);
    look_segments(root, out);
    if (!read_below(out->model, sizeof out->model, "%s/proc/device-tree/model", root) &&
        !read_below(out->model, sizeof out->model, "%s/sys/class/dmi/id/product_name", root))
        *out->model = '\0';
}

void ad_interface_read(const char *root, const char *name, struct ad_interface *out)
{
    char path[PATH_MAX], text[32];
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", name);
    if (!*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return;
    snprintf(path, sizeof path, "%s/sys/class/net/%s/wireless", root, name);
    out->wireless = access(path, F_OK) == 0;
    if (read_below(text, sizeof text, "%s/sys/class/net/%s/speed", root, name)) {
        long mbit = strtol(text, NULL, 10); /* -1: no cable, or not known */
        out->mbit = mbit > 0 && mbit < 10000000 ? (int)mbit : 0;
    }
    if (read_below(text, sizeof text, "%s/sys/class/net/%s/duplex", root, name))
        out->half_duplex = strcmp(text, "half") == 0;
    if (read_below(text, sizeof text, "%s/sys/class/net/%s/mtu", root, name)) {
        long mtu = strtol(text, NULL, 10);
        out->mtu = mtu > 0 && mtu < 10000000 ? (int)mtu : 0;
    }
}

/* The address alone: an IPv4 address may be written as one of IPv6. */
static bool same_address(const struct sockaddr *a, const struct sockaddr_storage *b)
{
    const struct sockaddr_in *a4 = (const struct sockaddr_in *)a,
                             *b4 = (const struct sockaddr_in *)b;
    const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a,
                              *b6 = (const struct sockaddr_in6 *)b;
    if (a->sa_family == AF_INET && b->ss_family == AF_INET)
        return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
    if (a->sa_family == AF_INET && b->ss_family == AF_INET6)
        return IN6_IS_ADDR_V4MAPPED(&b6->sin6_addr) &&
               memcmp(&a4->sin_addr, &b6->sin6_addr.s6_addr[12], 4) == 0;
    if (a->sa_family == AF_INET6 && b->ss_family == AF_INET6)
        return memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof a6->sin6_addr) == 0;
    return false;
}

/* All addresses 127.x.y.z are the loopback interface's, which has one of them only. */
static bool is_loopback(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET &&
           ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
}

void ad_interface_look(const char *root, int fd, struct ad_interface *out)
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    struct ifaddrs *all;
    memset(out, 0, sizeof *out);
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        return;
    if (is_loopback(&address)) {
        ad_interface_read(root, "lo", out);
        return;
    }
    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
        if (!one->ifa_addr || !same_address(one->ifa_addr, &address))
            continue;
        ad_interface_read(root, one->ifa_name, out);
        break;
    }
    freeifaddrs(all);
}
