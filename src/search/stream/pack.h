/* Sets of turns on devices of their own, which share no memory either. */
#ifndef AD_SEARCH_STREAM_PACK_H
#define AD_SEARCH_STREAM_PACK_H

#include "search/stream/turns.h"

#define AD_PACKS 6 /* that are found, at most */

struct ad_pack {
    double rate; /* the sum of what its turns give, per second */
    int count, turn[AD_MAX_DEVICES];
};

/* The devices that compute in a turn, as bits. */
uint64_t ad_turn_devices(const struct ad_turn *turn);

/* The sets of the largest rates, the best first; how many. The rates are those of the turns by
 * themselves, whatever memory leaves of them. */
int ad_turns_pack(const struct ad_turns *turns, struct ad_pack *packs);

#endif
