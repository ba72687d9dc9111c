/* Messages between devices, as routing finds them. Internal to schedule/. */
#ifndef AD_SCHEDULE_TRANSFERS_H
#define AD_SCHEDULE_TRANSFERS_H

#include "schedule/context.h"

struct ad_transfer {
    int value;
    int slot;   /* of its SEND: 2p + 1 after producer p (-1: network inputs), 2i before op i */
    int before; /* the op whose task at `to` wants it first; nops for network outputs */
    int from, to;
    int chunk, chunks; /* of an input or a band that is sent in several messages: which of how
                          many; 0, 1 of what goes in one */
    struct ad_region region;
    enum ad_encoding encoding;
    int64_t bytes;                    /* on the wire */
    int64_t copy_ns;                  /* of the sender, with encoding */
    int64_t wire_ns;                  /* on the wire */
    int64_t decode_ns;                /* of the receiver */
    int64_t sending_ns, receiving_ns; /* of the processors while it travels */

    /* While programs are made (emit.h). */
    int previous; /* the message before this one between the same two devices, -1 for none */
    bool sent, received;
};

struct ad_transfers {
    struct ad_transfer *list;
    size_t count, room;
};

/* One more; the caller fills it. NULL without memory. */
struct ad_transfer *ad_transfers_add(struct ad_transfers *t);
AD_MUST_CHECK bool ad_transfers_append(struct ad_transfers *to, const struct ad_transfers *from);
void ad_transfers_fini(struct ad_transfers *t);

/* Puts them into the order of the tags and of every device's SENDs: by slot, then by who waits
 * first. */
void ad_transfers_sort(struct ad_transfers *t);

/* Fills their encoding, bytes and times. */
void ad_transfers_time(const struct ad_lowering_context *c, struct ad_transfers *t);

/* Whether they are the same messages: what is read of them, not when. */
bool ad_transfers_same(const struct ad_transfers *a, const struct ad_transfers *b);

#endif
