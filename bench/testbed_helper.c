/* The helper of bench/testbed: one program, whose first argument says what it does. */
#include "bench/testbed_helper.h"
#include "base/units.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

int testbed_fail(int code, const char *format, ...)
{
    int reason = errno;
    va_list list;
    va_start(list, format);
    fprintf(stderr, "testbed: ");
    vfprintf(stderr, format, list);
    va_end(list);
    if (reason && code != ADAPS_EUSAGE)
        fprintf(stderr, ": %s", strerror(reason));
    fputc('\n', stderr);
    return code;
}

bool testbed_parse_address(const char *text, struct sockaddr_in *out)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    int64_t port;
    if (!colon || (size_t)(colon - text) >= sizeof host ||
        !ad_parse_int(colon + 1, 1, 65535, &port))
        return false;
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    *out = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    return inet_pton(AF_INET, host, &out->sin_addr) == 1;
}

int testbed_listen(const struct sockaddr_in *address)
{
    const int yes = 1;
    char host[INET_ADDRSTRLEN];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)address, sizeof *address) == 0 &&
        listen(fd, 64) == 0)
        return fd;
    testbed_fail(ADAPS_EAGENT, "cannot listen at %s:%d",
                 inet_ntop(AF_INET, &address->sin_addr, host, sizeof host),
                 ntohs(address->sin_port));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* --- the control socket: a connection per request, a line each way --- */

static bool make_path(const char *path, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(out->sun_path, sizeof out->sun_path, "%s", path);
    errno = ENAMETOOLONG;
    return n > 0 && (size_t)n < sizeof out->sun_path;
}

int testbed_listen_path(const char *path)
{
    struct sockaddr_un address;
    bool good = make_path(path, &address);
    int fd = good ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        listen(fd, 16) == 0)
        return fd;
    testbed_fail(ADAPS_EINTERNAL, "%s", path);
    if (fd >= 0)
        close(fd);
    return -1;
}

bool testbed_take_request(int fd, char *buffer, int size, char *words[TESTBED_WORDS], int *count)
{
    const struct timeval soon = {.tv_sec = 1}; /* a request follows at once */
    int used = 0;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
    while (used < size - 1 && !memchr(buffer, '\n', (size_t)used)) {
        ssize_t n = read(fd, buffer + used, (size_t)(size - 1 - used));
        if (n <= 0)
            return false;
        used += (int)n;
    }
    buffer[used] = '\0';
    char *rest = NULL;
    *count = 0;
    for (char *w = strtok_r(buffer, " \n", &rest); w && *count < TESTBED_WORDS;
         w = strtok_r(NULL, " \n", &rest))
        words[(*count)++] = w;
    return *count > 0;
}

void testbed_answer_request(int fd, const char *format, ...)
{
    char text[4096];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    n = n < (int)sizeof text ? n : (int)sizeof text - 1;
    if (send(fd, text, (size_t)n, MSG_NOSIGNAL) != n)
        errno = 0; /* the client has gone */
}

/* The answer begins with "ok", or says what went wrong. */
int testbed_tell(int argc, char **argv)
{
    struct sockaddr_un address;
    char text[4096];
    size_t used = 0;
    if (argc < 2)
        return testbed_fail(ADAPS_EUSAGE, "tell CONTROL WORD...");
    for (int i = 1; i < argc && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%c", argv[i],
                                 i + 1 < argc ? ' ' : '\n');
    if (used >= sizeof text)
        return testbed_fail(ADAPS_EUSAGE, "too long a request");
    bool good = make_path(argv[0], &address);
    int fd = good ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        send(fd, text, used, MSG_NOSIGNAL) != (ssize_t)used)
        return testbed_fail(ADAPS_EAGENT, "%s", argv[0]);
    used = 0;
    for (ssize_t n;
         used < sizeof text - 1 && (n = read(fd, text + used, sizeof text - 1 - used)) > 0;)
        used += (size_t)n;
    text[used] = '\0';
    close(fd);
    errno = 0;
    if (strncmp(text, "ok", 2) != 0)
        return testbed_fail(ADAPS_EAGENT, "%s", used ? text : "no answer");
    printf("%s", text + 2 + (text[2] != '\0')); /* what follows the blank or the end of the line */
    return ADAPS_OK;
}

void testbed_ready(void)
{
    if (write(TESTBED_READY_FD, "ready\n", 6) == 6)
        close(TESTBED_READY_FD);
    errno = 0;
}

/* bits RATE: in bits per second; seconds TIME; fraction F: checked. */
static int print_number(int argc, char **argv)
{
    double number;
    if (argc == 2 && strcmp(argv[0], "bits") == 0 && ad_parse_rate(argv[1], &number))
        printf("%.0f\n", number * 8);
    else if (argc == 2 && strcmp(argv[0], "seconds") == 0 && ad_parse_time(argv[1], &number))
        printf("%.9g\n", number);
    else if (argc == 2 && strcmp(argv[0], "fraction") == 0 &&
             ad_parse_double(argv[1], 0.001, 1, &number))
        printf("%.9g\n", number);
    else
        return ADAPS_EUSAGE;
    return ADAPS_OK;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *word;
        int (*run)(int argc, char **argv);
    } programs[] = {{"serve", testbed_serve},   {"tell", testbed_tell},
                    {"relay", testbed_relay},   {"answer", testbed_answer},
                    {"stream", testbed_stream}, {"message", testbed_message},
                    {"work", testbed_work},     {"pace", testbed_pace}};
    for (size_t i = 0; argc > 1 && i < sizeof programs / sizeof *programs; i++)
        if (strcmp(argv[1], programs[i].word) == 0) {
            errno = 0;
            return programs[i].run(argc - 2, argv + 2);
        }
    if (argc == 3)
        return print_number(argc - 1, argv + 1);
    fprintf(stderr, "bench/testbed-helper is the helper of bench/testbed\n");
    return ADAPS_EUSAGE;
}
