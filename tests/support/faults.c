#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* unshare, prlimit */
#endif
#include "support/faults.h"
#include "base/clock.h"
#include "wire/endpoint.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nothing(struct ad_fault_bed *bed)
{
    (void)bed;
}

static void kill_agent(struct ad_fault_bed *bed)
{
    ad_testbed_kill(&bed->agents[bed->victim], 0);
}

static void freeze(struct ad_fault_bed *bed)
{
    kill(bed->agents[bed->victim].pid[0], SIGSTOP);
}

static void thaw(struct ad_fault_bed *bed)
{
    kill(bed->agents[bed->victim].pid[0], SIGCONT);
}

static int port_of(const char *address)
{
    struct ad_endpoint endpoint;
    ck_assert_int_eq(ad_endpoint_parse(address, &endpoint, NULL), ADAPS_OK);
    return endpoint.port;
}

static void shell(const char *what)
{
    char command[600];
    snprintf(command, sizeof command, "PATH=$PATH:/usr/sbin %s", what);
    ck_assert_msg(system(command) == 0, "%s", command);
}

static void nft(const char *rule)
{
    char command[520];
    snprintf(command, sizeof command, "nft %s", rule);
    shell(command);
}

/* Everything from and to the victim, but not between controller and proxy: its own port, and the
 * ports of data, which are all that is neither agents' nor proxies'. */
static void filter(struct ad_fault_bed *bed, const char *verdict)
{
    static const char *const ends[] = {"daddr", "dport", "saddr", "sport"};
    int other = 1 - bed->victim;
    char rule[500];
    nft("add table ip faults");
    nft("add chain ip faults in '{ type filter hook input priority 0; }'");
    nft("add rule ip faults in 'tcp flags & rst == rst accept'");
    for (int e = 0; e < 4; e += 2) {
        snprintf(rule, sizeof rule, "add rule ip faults in ip %s 127.0.0.%d tcp %s != %d %s",
                 ends[e], 2 + bed->victim, ends[e + 1],
                 port_of(slow_proxy_address(bed->proxies[bed->victim])), verdict);
        nft(rule);
        snprintf(rule, sizeof rule,
                 "add rule ip faults in ip %s 127.0.0.%d tcp %s != '{ %d, %d }' %s", ends[e],
                 2 + other, ends[e + 1], port_of(slow_proxy_address(bed->proxies[other])),
                 port_of(bed->agents[other].address[0]), verdict);
        nft(rule);
    }
}

static void cut(struct ad_fault_bed *bed)
{
    filter(bed, "reject with tcp reset");
}

static void hole(struct ad_fault_bed *bed)
{
    filter(bed, "drop");
}

static void heal(struct ad_fault_bed *bed)
{
    (void)bed;
    nft("delete table ip faults");
}

static void suspend(struct ad_fault_bed *bed)
{
    kill(bed->controller, SIGSTOP);
}

static void resume(struct ad_fault_bed *bed)
{
    struct timespec little = {.tv_nsec = 10000000};
    for (int64_t until = ad_clock_ns() + bed->suspended_ns; ad_clock_ns() < until;)
        nanosleep(&little, NULL);
    kill(bed->controller, SIGCONT);
}

/* All that goes over loopback: agents, proxies and controller. */
static void narrow(struct ad_fault_bed *bed)
{
    (void)bed;
    shell("tc qdisc add dev lo root tbf rate 100mbit burst 128kb latency 500ms");
}

static void widen(struct ad_fault_bed *bed)
{
    (void)bed;
    shell("tc qdisc del dev lo root");
}

static void read_slowly(struct ad_fault_bed *bed)
{
    slow_proxy_narrow(bed->proxies[bed->victim], 2e6);
}

static void read_again(struct ad_fault_bed *bed)
{
    slow_proxy_narrow(bed->proxies[bed->victim], 0);
}

static void truncate_message(struct ad_fault_bed *bed)
{
    slow_proxy_tamper(bed->proxies[bed->victim], SLOW_PROXY_TRUNCATE);
}

static void change_message(struct ad_fault_bed *bed)
{
    slow_proxy_tamper(bed->proxies[bed->victim], SLOW_PROXY_GARBAGE);
}

static void duplicate(struct ad_fault_bed *bed)
{
    slow_proxy_tamper(bed->proxies[bed->victim], SLOW_PROXY_DUPLICATE);
}

static void reorder(struct ad_fault_bed *bed)
{
    slow_proxy_tamper(bed->proxies[bed->victim], SLOW_PROXY_REORDER);
}

static void replay(struct ad_fault_bed *bed)
{
    slow_proxy_tamper(bed->proxies[bed->victim], SLOW_PROXY_REPLAY);
}

static void be_faithful(struct ad_fault_bed *bed)
{
    slow_proxy_tamper(bed->proxies[bed->victim], SLOW_PROXY_FAITHFUL);
}

static void take_descriptors(struct ad_fault_bed *bed)
{
    char path[60];
    struct rlimit limit = {0};
    pid_t pid = bed->agents[bed->victim].pid[0];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        limit.rlim_cur += entry->d_name[0] != '.';
    closedir(dir);
    ck_assert_int_eq(prlimit(pid, RLIMIT_NOFILE, NULL, &bed->files), 0);
    limit.rlim_max = bed->files.rlim_max;
    ck_assert_int_eq(prlimit(pid, RLIMIT_NOFILE, &limit, NULL), 0);
}

static void give_descriptors(struct ad_fault_bed *bed)
{
    ck_assert_int_eq(prlimit(bed->agents[bed->victim].pid[0], RLIMIT_NOFILE, &bed->files, NULL), 0);
}

static const char *filler(const struct ad_fault_bed *bed)
{
    return ad_testbed_path(&bed->agents[bed->victim], "cache0/filler");
}

static void fill_disk(struct ad_fault_bed *bed)
{
    static const char block[4096];
    int fd = open(filler(bed), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    while (write(fd, block, sizeof block) > 0)
        continue;
    ck_assert_int_eq(errno, ENOSPC);
    close(fd);
}

static void empty_disk(struct ad_fault_bed *bed)
{
    ck_assert_int_eq(unlink(filler(bed)), 0);
}

/* Into a file of the victim's control group. */
static void write_group(const struct ad_fault_bed *bed, const char *file, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", bed->group, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_msg(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "%s to %s: %s",
                  text, path, strerror(errno));
    close(fd);
}

static void enter_group(const struct ad_fault_bed *bed)
{
    char pid[20];
    snprintf(pid, sizeof pid, "%d", (int)bed->agents[bed->victim].pid[0]);
    write_group(bed, "cgroup.procs", pid);
}

static void take_threads(struct ad_fault_bed *bed)
{
    enter_group(bed);
    write_group(bed, "pids.max", "1");
}

static void give_threads(struct ad_fault_bed *bed)
{
    write_group(bed, "pids.max", "max");
}

static const char *memory_file(const struct ad_fault_bed *bed)
{
    char path[300];
    snprintf(path, sizeof path, "%s/memory.max", bed->group);
    return access(path, F_OK) == 0 ? "memory.max" : "memory.limit_in_bytes";
}

/* The kernel may kill the agent. */
static void take_memory(struct ad_fault_bed *bed)
{
    enter_group(bed);
    write_group(bed, memory_file(bed), "2M");
}

static void give_memory(struct ad_fault_bed *bed)
{
    struct ad_testbed *agents = &bed->agents[bed->victim];
    int status;
    if (waitpid(agents->pid[0], &status, WNOHANG) == agents->pid[0]) {
        ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "wait status %d", status);
        agents->pid[0] = 0;
    } else {
        write_group(bed, memory_file(bed), "1G");
    }
}

const struct ad_fault ad_faults[AD_FAULTS] = {
    {"kill", AD_NEEDS_NOTHING, true, kill_agent, NULL, nothing},
    {"freeze", AD_NEEDS_NOTHING, false, freeze, NULL, thaw},
    {"cut", AD_NEEDS_NETWORK, false, cut, NULL, heal},
    {"hole", AD_NEEDS_NETWORK, false, hole, NULL, heal},
    {"suspend", AD_NEEDS_NOTHING, false, suspend, resume, nothing},
    {"narrow", AD_NEEDS_NETWORK, false, narrow, NULL, widen},
    {"slow-reader", AD_NEEDS_NOTHING, false, read_slowly, NULL, read_again},
    {"truncate", AD_NEEDS_NOTHING, false, truncate_message, NULL, be_faithful},
    {"garbage", AD_NEEDS_NOTHING, false, change_message, NULL, be_faithful},
    {"duplicate", AD_NEEDS_NOTHING, false, duplicate, NULL, be_faithful},
    {"reorder", AD_NEEDS_NOTHING, false, reorder, NULL, be_faithful},
    {"replay", AD_NEEDS_NOTHING, false, replay, NULL, be_faithful},
    {"descriptors", AD_NEEDS_NOTHING, false, take_descriptors, NULL, give_descriptors},
    {"disk", AD_NEEDS_MOUNTS, false, fill_disk, NULL, empty_disk},
    {"threads", AD_NEEDS_PIDS, false, take_threads, NULL, give_threads},
    {"memory", AD_NEEDS_MEMORY, false, take_memory, NULL, give_memory},
};

void ad_fault_mount(const struct ad_testbed *agents)
{
    const char *path = ad_testbed_path(agents, "cache0");
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(mount("none", path, "tmpfs", 0, "size=8m,mode=0700"), 0);
}

bool ad_fault_group(enum ad_fault_need need, char *path, size_t size)
{
    const char *controller = need == AD_NEEDS_PIDS ? "pids" : "memory", *root = "/sys/fs/cgroup";
    const char *files[] = {need == AD_NEEDS_PIDS ? "pids.max" : "memory.max",
                           "memory.limit_in_bytes"};
    char file[300];
    for (int version = 1; version <= 2; version++) {
        snprintf(path, size, "%s/%s%sadaps-faults-%d", root, version == 1 ? controller : "",
                 version == 1 ? "/" : "", (int)getpid());
        if (mkdir(path, 0700) != 0)
            continue;
        for (int i = 0; i < 2; i++) {
            snprintf(file, sizeof file, "%s/%s", path, files[i]);
            if (access(file, W_OK) == 0)
                return true;
        }
        rmdir(path);
    }
    path[0] = '\0';
    return false;
}

/* A network of its own, where rules harm nobody. */
static bool have_network(void)
{
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    if (unshare(CLONE_NEWNET) != 0)
        return false;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0;
    close(fd);
    return up && system("PATH=$PATH:/usr/sbin nft list ruleset >/dev/null 2>&1 && "
                        "PATH=$PATH:/usr/sbin tc qdisc show dev lo >/dev/null 2>&1") == 0;
}

/* Mounts of its own. */
static bool have_mounts(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", "/mnt", "tmpfs", 0, "size=1m") == 0 && umount("/mnt") == 0;
}

static bool have_group(enum ad_fault_need need)
{
    char path[200];
    return ad_fault_group(need, path, sizeof path) && rmdir(path) == 0;
}

const char *ad_fault_lacks(const struct ad_fault *fault)
{
    bool network = have_network(); /* all have one, so that addresses are their own */
    switch (fault->need) {
    case AD_NEEDS_NETWORK:
        return network ? NULL : "no network of its own, no nft or no tc";
    case AD_NEEDS_MOUNTS:
        return have_mounts() ? NULL : "no mounts of its own";
    case AD_NEEDS_PIDS:
        return have_group(fault->need) ? NULL : "no control group for pids";
    case AD_NEEDS_MEMORY:
        return have_group(fault->need) ? NULL : "no control group for memory";
    case AD_NEEDS_NOTHING:
        break;
    }
    return NULL;
}
