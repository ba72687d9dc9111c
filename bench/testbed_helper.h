/* The helper programs of bench/testbed: what a shell script cannot do. Each takes the rest of the
 * command line and returns an exit code; messages go to stderr and begin with "testbed: ". */
#ifndef BENCH_TESTBED_HELPER_H
#define BENCH_TESTBED_HELPER_H

#include "base/error.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* TCP over Ethernet without jumbo frames: what a full packet carries, what it takes on the wire
 * (with preamble, check sum and gap), and what an interface counts of it. */
#define TESTBED_PAYLOAD 1448
#define TESTBED_WIRE_HEAD 90
#define TESTBED_COUNTED_HEAD 66

/* serve FD CONTROL STARTER SERVICE,SERVICE,... COMMAND...: starts services and the command, ends
 * all that is left of them (testbed_serve.c). */
int testbed_serve(int argc, char **argv);
/* tell CONTROL WORD...: one request to serve or relay; prints the answer. */
int testbed_tell(int argc, char **argv);
/* relay CONTROL switch|shared LATENCY PORT NAME=ADDRESS=RATE...: the switch in user space
 * (testbed_relay.c). */
int testbed_relay(int argc, char **argv);
/* answer HOST:PORT, stream HOST:PORT SECONDS QUEUE, message HOST:PORT BYTES COUNT, work F SECONDS:
 * what the testbed is checked with; pace: what bench/compare watches (testbed_measure.c). */
int testbed_answer(int argc, char **argv);
int testbed_stream(int argc, char **argv);
int testbed_message(int argc, char **argv);
int testbed_work(int argc, char **argv);
int testbed_pace(int argc, char **argv);

/* "testbed: ..." with the reason that errno gives, if it gives one; returns the code. */
int testbed_fail(int code, const char *format, ...) AD_PRINTF(2, 3);
/* "1.2.3.4:80". */
bool testbed_parse_address(const char *text, struct sockaddr_in *out);
/* Listens at a path, or at an address; -1 after a message. */
int testbed_listen_path(const char *path);
int testbed_listen(const struct sockaddr_in *address);
#define TESTBED_READY_FD 3
/* Tells serve, through the descriptor that it gives its services, that this one is ready. */
void testbed_ready(void);
/* Reads one request from a fresh connection, as words; false: there was none. */
#define TESTBED_WORDS 8
bool testbed_take_request(int fd, char *buffer, int size, char *words[TESTBED_WORDS], int *count);
void testbed_answer_request(int fd, const char *format, ...) AD_PRINTF(2, 3);

#endif
