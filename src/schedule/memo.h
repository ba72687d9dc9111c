/* The last few answers to a question that is asked again and again. A search lowers thousands of
 * assignments that differ in a few ops, so most of what lowering asks about an op it has asked
 * before.
 *
 * An answer is found by its key: the numbers on which it depends. Answers have stamps, the same
 * only for equal answers: a stamp in the key of another answer stands for all that the first one
 * says. Who asks keeps the answers, by place. Internal to schedule/. */
#ifndef AD_SCHEDULE_MEMO_H
#define AD_SCHEDULE_MEMO_H

#include "base/error.h"
#include "base/mem.h"

#define AD_KEPT 4 /* answers to one question */

/* The places of answers, the one used last first. */
struct ad_recent {
    uint8_t place[AD_KEPT];
};

void ad_recent_init(struct ad_recent *out);
void ad_recent_use(struct ad_recent *r, int place);

/* Of the first `kept` places. */
static inline int ad_recent_oldest(const struct ad_recent *r, int kept)
{
    return r->place[kept - 1];
}

struct ad_memo {
    int nwords;              /* of a key */
    uint64_t *keys;          /* [place * nwords] */
    uint64_t stamp[AD_KEPT]; /* by place; 0: nothing there */
    struct ad_recent recent;
};

/* The keys are the arena's. False without memory. */
AD_MUST_CHECK bool ad_memo_init(struct ad_memo *out, struct ad_arena *arena, int nwords);

/* The place of the answer with this key, or -1. */
static inline int ad_memo_find(struct ad_memo *memo, const uint64_t *key)
{
    for (int i = 0; i < AD_KEPT; i++) {
        int place = memo->recent.place[i], n = 0;
        const uint64_t *kept = &memo->keys[place * memo->nwords];
        while (n < memo->nwords && kept[n] == key[n])
            n++;
        if (n < memo->nwords || memo->stamp[place] == 0)
            continue;
        if (i > 0)
            ad_recent_use(&memo->recent, place);
        return place;
    }
    return -1;
}

/* A place (of the first `kept`) for a new answer; what was there is forgotten. ad_memo_keep() once
 * the answer is complete. */
int ad_memo_place(struct ad_memo *memo, int kept);
void ad_memo_keep(struct ad_memo *memo, int place, const uint64_t *key, uint64_t stamp);

#endif
