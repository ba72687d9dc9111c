#include "exec/agent/notify.h"
#include "base/units.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A path, or with '@' in front the name of an abstract socket. False: neither. */
static bool parse_address(const char *text, struct sockaddr_un *address, socklen_t *size)
{
    size_t length = strlen(text);
    if ((text[0] != '/' && text[0] != '@') || length < 2 || length >= sizeof address->sun_path)
        return false;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path, text, length);
    if (text[0] == '@')
        address->sun_path[0] = '\0';
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    return true;
}

/* Half of what the manager allows, if it watches this process. */
static int64_t watchdog_interval_ns(void)
{
    const char *pid = getenv("WATCHDOG_PID"), *usec = getenv("WATCHDOG_USEC");
    int64_t number;
    if (pid && (!ad_parse_int(pid, 1, INT32_MAX, &number) || number != getpid()))
        return 0;
    if (!usec || !ad_parse_int(usec, 1, INT64_MAX / 1000, &number))
        return 0;
    return number * 1000 / 2;
}

enum adaps_status ad_notify_init(struct ad_notify *notify, struct adaps_error *err)
{
    const char *text = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address;
    socklen_t size;
    *notify = (struct ad_notify){.fd = -1};
    if (!text || !*text)
        return ADAPS_OK;
    if (!parse_address(text, &address, &size))
        return ad_error_set(err, ADAPS_EAGENT,
                            "NOTIFY_SOCKET=%s: neither the path nor the name of a socket", text);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, size) != 0) {
        ad_error_set(err, ADAPS_EAGENT, "NOTIFY_SOCKET=%s: %s", text, strerror(errno));
        if (fd >= 0)
            close(fd);
        return ADAPS_EAGENT;
    }
    notify->fd = fd;
    notify->interval_ns = watchdog_interval_ns();
    return ADAPS_OK;
}

void ad_notify_fini(struct ad_notify *notify)
{
    if (notify->fd >= 0)
        close(notify->fd);
    notify->fd = -1;
}

void ad_notify_say(const struct ad_notify *notify, const char *fmt, ...)
{
    char text[1200];
    va_list ap;
    if (notify->fd < 0)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    while (send(notify->fd, text, strlen(text), MSG_NOSIGNAL) < 0 && errno == EINTR)
        continue;
}

int64_t ad_notify_alive(struct ad_notify *notify, int64_t now)
{
    if (notify->fd < 0 || notify->interval_ns == 0)
        return INT64_MAX;
    if (now >= notify->next_ns) {
        ad_notify_say(notify, "WATCHDOG=1");
        notify->next_ns = now + notify->interval_ns;
    }
    return notify->next_ns;
}
