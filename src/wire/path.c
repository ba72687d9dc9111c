#include "wire/path.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

/* Probes of a closed window that went unanswered: then the way is lost, too. Between those that are
 * answered, a minute may pass. */
#define PROBES 3

static bool look(int fd, struct tcp_info *info)
{
    socklen_t size = sizeof *info;
    memset(info, 0, sizeof *info);
    return fd >= 0 && getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &size) == 0 &&
           size > offsetof(struct tcp_info, tcpi_bytes_acked);
}

bool ad_path_lost(int fd, int64_t ns)
{
    struct tcp_info info;
    if (!look(fd, &info))
        return false;
    bool window_closed = info.tcpi_unacked == 0 && info.tcpi_notsent_bytes > 0;
    if (window_closed)
        return info.tcpi_probes >= PROBES;
    return (int64_t)info.tcpi_last_ack_recv * 1000000 > ns;
}

bool ad_path_acknowledged(int fd, uint64_t *bytes)
{
    struct tcp_info info;
    if (!look(fd, &info))
        return false;
    *bytes = info.tcpi_bytes_acked;
    return true;
}
