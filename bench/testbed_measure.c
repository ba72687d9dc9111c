#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
/* What the testbed is checked with: the rate of a stream, the time of a message, the share of the
 * processor and its pace. All hosts of a testbed have the same clock, so one-way times can be
 * measured. */
#include "bench/testbed_helper.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/units.h"
#include "exec/engine/throttle.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUFFER 65536
#define STREAM INT64_MIN /* instead of a length: bytes until the end */
#define WARM_NS 50000000 /* of a stream, not counted */
#define STALL_S 20       /* a peer that is silent for so long is gone */
#define PATIENCE_NS 3000000000
#define PIECE_NS 100000000 /* the share of the processor is the median of pieces of this time */
#define PIECES 600
#define PACE_NS 200000000

/* --- both ends --- */

static bool read_all(int fd, void *data, size_t size)
{
    for (char *p = data; size > 0;) {
        ssize_t n = read(fd, p, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

static bool write_all(int fd, const void *data, size_t size)
{
    for (const char *p = data; size > 0;) {
        ssize_t n = send(fd, p, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

static void set_options(int fd)
{
    const int yes = 1;
    const struct timeval stall = {.tv_sec = STALL_S};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &stall, sizeof stall);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &stall, sizeof stall);
}

/* --- the answering end --- */

/* Bytes per second after the warm-up, as they come in. */
static double receive_stream(int fd)
{
    static char buffer[BUFFER];
    int64_t first = 0, start = 0, last = 0;
    double bytes = 0;
    ssize_t n;
    while ((n = read(fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0)
            continue;
        int64_t now = ad_clock_ns();
        first = first ? first : now;
        if (start)
            bytes += (double)n;
        else if (now - first >= WARM_NS)
            start = now;
        last = now;
    }
    return last > start && start ? bytes * 1e9 / (double)(last - start) : 0;
}

static void serve_connection(int fd)
{
    static char buffer[BUFFER];
    int64_t length;
    set_options(fd);
    while (read_all(fd, &length, sizeof length)) {
        if (length == STREAM) {
            double rate = receive_stream(fd);
            write_all(fd, &rate, sizeof rate);
            return;
        }
        while (length > 0) {
            size_t part = length < BUFFER ? (size_t)length : BUFFER;
            if (!read_all(fd, buffer, part))
                return;
            length -= (int64_t)part;
        }
        int64_t now = ad_clock_ns();
        if (!write_all(fd, &now, sizeof now))
            return;
    }
}

int testbed_answer(int argc, char **argv)
{
    struct sockaddr_in address;
    if (argc != 1 || !testbed_parse_address(argv[0], &address))
        return testbed_fail(ADAPS_EUSAGE, "answer HOST:PORT");
    int listener = testbed_listen(&address);
    if (listener < 0)
        return ADAPS_EAGENT;
    signal(SIGCHLD, SIG_IGN); /* children need not be waited for */
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0 && errno == EINTR)
            continue;
        if (fd < 0)
            return testbed_fail(ADAPS_EAGENT, "accept");
        pid_t child = fork();
        if (child == 0) {
            close(listener);
            serve_connection(fd);
            _exit(0);
        }
        close(fd);
    }
}

/* --- the asking end --- */

/* Through the proxy of ADAPS_SOCKS_PROXY, as adaps's own connections go. */
static bool ask_proxy(int fd, const struct sockaddr_in *to)
{
    unsigned char greeting[3] = {5, 1, 0}, answer[10], request[10] = {5, 1, 0, 1};
    memcpy(request + 4, &to->sin_addr, 4);
    memcpy(request + 8, &to->sin_port, 2);
    return write_all(fd, greeting, 3) && read_all(fd, answer, 2) && answer[1] == 0 &&
           write_all(fd, request, 10) && read_all(fd, answer, 10) && answer[1] == 0;
}

static int try_connect(const struct sockaddr_in *address, const struct sockaddr_in *proxy)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct sockaddr_in *to = proxy ? proxy : address;
    if (fd >= 0)
        set_options(fd);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)to, sizeof *to) == 0 &&
        (!proxy || ask_proxy(fd, address)))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Tries again for a while: the other end may have been started just now. */
static int connect_to(const char *text)
{
    struct sockaddr_in address, proxy;
    const char *through = getenv("ADAPS_SOCKS_PROXY");
    bool relayed = through && *through;
    if (!testbed_parse_address(text, &address) ||
        (relayed && !testbed_parse_address(through, &proxy))) {
        errno = 0;
        testbed_fail(ADAPS_EUSAGE, "'%s' is no HOST:PORT", text);
        return -1;
    }
    const struct timespec pause = {.tv_nsec = 20000000};
    int64_t end = ad_clock_ns() + PATIENCE_NS;
    int fd;
    while ((fd = try_connect(&address, relayed ? &proxy : NULL)) < 0 && ad_clock_ns() < end)
        nanosleep(&pause, NULL);
    if (fd < 0)
        testbed_fail(ADAPS_EAGENT, "cannot connect to %s", text);
    return fd;
}

/* QUEUE: about so many bytes are under way. Prints the rate of the data in bits per second. */
int testbed_stream(int argc, char **argv)
{
    static char buffer[BUFFER];
    double seconds, rate = 0;
    int64_t queue;
    const int64_t head = STREAM;
    if (argc != 3 || !ad_parse_double(argv[1], 0.01, 60, &seconds) ||
        !ad_parse_int(argv[2], 0, 1 << 30, &queue))
        return testbed_fail(ADAPS_EUSAGE, "stream HOST:PORT SECONDS QUEUE");
    int fd = connect_to(argv[0]);
    if (fd < 0)
        return ADAPS_EAGENT;
    const int size = (int)queue;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    bool good = write_all(fd, &head, sizeof head);
    int64_t end = ad_clock_ns() + WARM_NS + (int64_t)(seconds * 1e9);
    while (good && ad_clock_ns() < end)
        good = write_all(fd, buffer, 4096);
    good = good && shutdown(fd, SHUT_WR) == 0 && read_all(fd, &rate, sizeof rate) && rate > 0;
    if (!good)
        testbed_fail(ADAPS_EAGENT, "%s: the stream broke", argv[0]);
    else
        printf("%.0f\n", rate * 8);
    close(fd);
    return good ? ADAPS_OK : ADAPS_EAGENT;
}

/* Prints the median time one way and there and back (the answer has 8 bytes), in milliseconds. */
int testbed_message(int argc, char **argv)
{
    double one_way[1000], both[1000];
    int64_t bytes, count;
    if (argc != 3 || !ad_parse_int(argv[1], 1, 100000000, &bytes) ||
        !ad_parse_int(argv[2], 1, 1000, &count))
        return testbed_fail(ADAPS_EUSAGE, "message HOST:PORT BYTES COUNT");
    char *data = ad_calloc(1, sizeof bytes + (size_t)bytes);
    int fd = data ? connect_to(argv[0]) : -1;
    bool good = fd >= 0;
    if (good)
        memcpy(data, &bytes, sizeof bytes);
    for (int64_t i = -1; i < count && good; i++) { /* the first warms up */
        int64_t arrived, start = ad_clock_ns();
        good = write_all(fd, data, sizeof bytes + (size_t)bytes) &&
               read_all(fd, &arrived, sizeof arrived);
        if (good && i >= 0) {
            one_way[i] = (double)(arrived - start) / 1e6;
            both[i] = (double)(ad_clock_ns() - start) / 1e6;
        }
    }
    if (good)
        printf("%.4f %.4f\n", ad_stats_median(one_way, (size_t)count),
               ad_stats_median(both, (size_t)count));
    else if (fd >= 0)
        testbed_fail(ADAPS_EAGENT, "%s: no answer", argv[0]);
    if (fd >= 0)
        close(fd);
    ad_free(data);
    return good ? ADAPS_OK : ADAPS_EAGENT;
}

/* --- the processor --- */

typedef float lanes __attribute__((vector_size(16)));

/* About half a millisecond of multiply-adds in registers, enough to keep a core full: the time
 * depends on who shares the core, but not on the caches. Returns the processor time that it took.
 */
static int64_t task(volatile float *sink)
{
    const lanes factor = {0.999f, 0.999f, 0.999f, 0.999f};
    lanes sum[12] = {{0}};
    int64_t start = ad_clock_thread_ns();
    for (int i = 0; i < 60000; i++)
        for (int k = 0; k < 12; k++)
            sum[k] = sum[k] * factor + factor;
    for (int k = 0; k < 12; k++)
        *sink = sum[k][0];
    return ad_clock_thread_ns() - start;
}

/* Steps of 1 to 30 tasks, as the engine runs them, under the throttle of the agents. Prints the
 * processor time that the tasks had of each second: median, least and greatest over pieces of the
 * time. (The cost of the pauses themselves is not work of the emulated device.) */
int testbed_work(int argc, char **argv)
{
    double shares[PIECES];
    static const int lengths[] = {1, 3, 30, 7, 2, 15, 5, 10};
    volatile float sink;
    double fraction, seconds;
    if (argc != 2 || !ad_parse_double(argv[0], 1e-4, 1, &fraction) ||
        !ad_parse_double(argv[1], 0.2, 60, &seconds))
        return testbed_fail(ADAPS_EUSAGE, "work F SECONDS");
    struct ad_throttle throttle = {.fraction = fraction};
    int64_t start = ad_clock_ns(), end = start + (int64_t)(seconds * 1e9), work = 0;
    int n = 0;
    for (unsigned step = 0; n == 0 || (start < end && n < PIECES); step++) {
        ad_throttle_begin(&throttle);
        for (int t = 0; t < lengths[step % 8]; t++) {
            work += task(&sink);
            ad_throttle_pause(&throttle);
        }
        ad_throttle_end(&throttle);
        int64_t now = ad_clock_ns();
        if (now - start < PIECE_NS)
            continue;
        shares[n++] = (double)work / (double)(now - start);
        start = now;
        work = 0;
    }
    ad_throttle_fini(&throttle);
    double middle = ad_stats_median(shares, (size_t)n); /* which sorts them */
    printf("%.4f %.4f %.4f\n", middle, shares[0], shares[n - 1]);
    return ADAPS_OK;
}

/* Until it is killed, five times a second: a line "PROCESSOR MICROSECONDS" for each processor that
 * it may use, the time of one task there. The first task on a processor that has slept does not
 * count. */
int testbed_pace(int argc, char **argv)
{
    const struct timespec pause = {.tv_nsec = PACE_NS};
    volatile float sink;
    cpu_set_t all, one;
    (void)argv;
    if (argc != 0)
        return testbed_fail(ADAPS_EUSAGE, "pace");
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return testbed_fail(ADAPS_EINTERNAL, "processors");
    for (;; nanosleep(&pause, NULL))
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            if (!CPU_ISSET(cpu, &all) || sched_setaffinity(0, sizeof one, &one) != 0)
                continue;
            task(&sink);
            printf("%d %.1f\n", cpu, (double)task(&sink) / 1e3);
            if (fflush(stdout) != 0)
                return testbed_fail(ADAPS_EINTERNAL, "pace");
        }
}
