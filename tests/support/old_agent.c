/* old_agent [version TEXT] [protocol N] [clock SECONDS] [stranger TEXT]: something that answers as
 * an agent of that version of the package, or of the protocol, or whose clock of the day is so far
 * ahead. It prints the address that it listens on, and ends with its standard input. Without
 * `clock` it says nothing of its health, as old agents. A stranger is another program, which says
 * the text to everybody. */
#include "base/clock.h"
#include "wire/wire.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *version = "0.0.1";
static int protocol = AD_FRAME_VERSION;
static bool has_clock;
static int64_t ahead_ns;

static void send_part(void *socket, const void *data, size_t size, bool more)
{
    if (zmq_send(socket, data, size, more ? ZMQ_SNDMORE : 0) < 0)
        exit(1);
}

/* As ad_wire_message_send(), with any version in the head. */
static void answer(void *socket, struct ad_wire_message *to, int type, const ProtobufCMessage *body)
{
    uint8_t head[AD_FRAME_BYTES], bytes[4096];
    size_t size = protobuf_c_message_get_packed_size(body);
    if (size > sizeof bytes)
        exit(1);
    protobuf_c_message_pack(body, bytes);
    struct ad_frame frame = to->frame;
    frame.type = (uint16_t)type;
    frame.length = size;
    frame.checksum = ad_frame_checksum(0, bytes, size);
    ad_frame_encode(&frame, head);
    head[4] = (uint8_t)protocol;
    head[5] = (uint8_t)(protocol >> 8);
    send_part(socket, zmq_msg_data(&to->route), zmq_msg_size(&to->route), true);
    send_part(socket, head, sizeof head, true);
    send_part(socket, bytes, size, false);
}

static void welcome(void *socket, struct ad_wire_message *to)
{
    Adaps__Wire__Welcome m = ADAPS__WIRE__WELCOME__INIT;
    Adaps__Wire__Health health = ADAPS__WIRE__HEALTH__INIT;
    char name[] = "old", kept[64];
    snprintf(kept, sizeof kept, "%s", version);
    m.name = name;
    m.version = kept;
    m.cores = 4;
    m.speed = 1;
    m.temperature_c = 40;
    m.memory_total = m.memory_available = UINT64_C(1) << 30;
    if (has_clock) {
        health.wall_ns = ad_clock_read_ns(CLOCK_REALTIME) + ahead_ns;
        health.cache_limit = UINT64_C(1) << 30;
        m.health = &health;
    }
    answer(socket, to, AD_FRAME_WELCOME, &m.base);
}

static void serve(void *socket, struct ad_wire_message *message)
{
    Adaps__Wire__Where where = ADAPS__WIRE__WHERE__INIT;
    if (message->frame.type == AD_FRAME_HELLO)
        welcome(socket, message);
    else if (message->frame.type == AD_FRAME_PING)
        answer(socket, message, AD_FRAME_PONG, &where.base);
}

/* Whether standard input has ended. */
static bool ended(void)
{
    char byte;
    return read(STDIN_FILENO, &byte, 1) <= 0;
}

static int be_stranger(const char *text)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 8) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0)
        return 1;
    printf("tcp://127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        struct pollfd items[] = {{.fd = listener, .events = POLLIN},
                                 {.fd = STDIN_FILENO, .events = POLLIN}};
        poll(items, 2, -1);
        if (items[1].revents && ended())
            return 0;
        if (!items[0].revents)
            continue;
        int fd = accept(listener, NULL, NULL);
        if (fd >= 0 && send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
            return 1;
        close(fd);
    }
}

int main(int argc, char **argv)
{
    char endpoint[300];
    size_t size = sizeof endpoint;
    struct ad_wire_message message;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "version") == 0) {
            version = argv[i + 1];
        } else if (strcmp(argv[i], "protocol") == 0) {
            protocol = atoi(argv[i + 1]);
        } else if (strcmp(argv[i], "clock") == 0) {
            has_clock = true;
            ahead_ns = atoll(argv[i + 1]) * 1000000000;
        } else if (strcmp(argv[i], "stranger") == 0) {
            return be_stranger(argv[i + 1]);
        } else {
            return 2;
        }
    }
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_ROUTER);
    if (zmq_bind(socket, "tcp://127.0.0.1:*") != 0 ||
        zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &size) != 0)
        return 1;
    printf("%s\n", endpoint);
    fflush(stdout);
    ad_wire_message_init(&message);
    for (bool over = false; !over;) {
        zmq_pollitem_t items[] = {{.socket = socket, .events = ZMQ_POLLIN},
                                  {.fd = STDIN_FILENO, .events = ZMQ_POLLIN}};
        zmq_poll(items, 2, -1);
        over = items[1].revents && ended();
        while (ad_wire_message_recv(socket, true, &message, NULL) == ADAPS_OK)
            serve(socket, &message);
    }
    ad_wire_message_fini(&message);
    zmq_close(socket);
    zmq_ctx_term(context);
    return 0;
}
