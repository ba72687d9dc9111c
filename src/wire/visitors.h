/* The connections of a listening socket, by what its monitor tells. A stranger is one that has sent
 * no message yet: with keys, one whose key is not known to be good. Of strangers there are few at a
 * time, so that they cannot use up descriptors and memory; ZMQ_HANDSHAKE_IVL bounds how long they
 * stay. */
#ifndef AD_WIRE_VISITORS_H
#define AD_WIRE_VISITORS_H

#include "wire/guard.h"

/* At a time; less where a process may have few descriptors. */
#define AD_VISITORS_MOST 256
#define AD_STRANGERS_MOST 64
#define AD_STRANGERS_OF_ONE_ADDRESS 16

struct ad_visitor {
    int fd;
    int64_t number; /* the order in which they came */
    bool known;
    bool dropped; /* it ends; its descriptor is still in use */
    char address[64];
};

struct ad_visitors {
    struct ad_guard *guard; /* told of those who are dropped */
    int64_t came;
    int count;
    int most, strangers_most, of_one_address;
    uint16_t failure; /* of the handshake of the connection that ends next; 0: none */
    struct ad_visitor items[2 * AD_VISITORS_MOST]; /* those that were dropped, too */
};

void ad_visitors_init(struct ad_visitors *visitors, struct ad_guard *guard);

/* Takes an event of the monitor. Drops the oldest stranger when there are too many. */
void ad_visitors_event(struct ad_visitors *visitors, uint16_t event, uint32_t value);

/* A message came by this connection. */
void ad_visitors_know(struct ad_visitors *visitors, int fd);

/* Ends the connection of the stranger that came first, because `why`. Later an event tells that it
 * is gone. */
void ad_visitors_drop_stranger(struct ad_visitors *visitors, const char *why);

/* Ends all connections. */
void ad_visitors_drop_all(struct ad_visitors *visitors);

/* Where a connection comes from, "?" when that is not known. */
const char *ad_visitors_address(const struct ad_visitors *visitors, int fd);

#endif
