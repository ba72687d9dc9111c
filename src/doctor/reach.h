/* Whether something answers where the devices file says, and what: by the first bytes that ZeroMQ
 * says on every connection, before anything is encrypted. */
#ifndef AD_DOCTOR_REACH_H
#define AD_DOCTOR_REACH_H

#include "base/error.h"

enum ad_reached {
    AD_REACHED_UNKNOWN,    /* not tried, or connections go through a proxy */
    AD_REACHED,            /* something that speaks as agents do */
    AD_REACHED_NO_ADDRESS, /* the devices file has none, or one that cannot be */
    AD_REACHED_NO_NAME,    /* its name has no address */
    AD_REACHED_NOBODY,     /* the machine says that nobody listens there */
    AD_REACHED_NO_WAY,     /* no answer at all, or no way there */
    AD_REACHED_SILENT,     /* somebody took the connection and said nothing */
    AD_REACHED_STRANGER    /* somebody answered who is no agent */
};

struct ad_contact {
    enum ad_reached reached;
    bool keys;        /* AD_REACHED: it wants keys */
    char reason[200]; /* what the system says of it, or what the stranger said; "" */
};

/* Waits for deadline_s at most. `address`: a ZeroMQ endpoint. */
void ad_reach_try(const char *address, double deadline_s, struct ad_contact *out);

/* What the beginning of a greeting says. False: it is none of an agent. size: at least 33 bytes
 * count. */
bool ad_reach_greeting(const unsigned char *bytes, size_t size, bool *keys);

#endif
