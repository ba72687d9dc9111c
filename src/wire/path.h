/* What the kernel knows of a TCP connection and the way to its other end. The other side's kernel
 * answers while its process is stopped, so this tells a lost way from a process that does not
 * read. */
#ifndef AD_WIRE_PATH_H
#define AD_WIRE_PATH_H

#include <stdbool.h>
#include <stdint.h>

/* Whether nothing came back on this connection for so long, though something was due: with
 * keep-alive probes (ad_socket_keep_alive()) something always is. False for what is no TCP
 * connection. */
bool ad_path_lost(int fd, int64_t ns);

/* How many bytes the other side has acknowledged; false for what is no TCP connection. */
bool ad_path_acknowledged(int fd, uint64_t *bytes);

#endif
