#include "schedule/memo.h"

#include <string.h>

void ad_recent_init(struct ad_recent *out)
{
    for (int i = 0; i < AD_KEPT; i++)
        out->place[i] = (uint8_t)i;
}

void ad_recent_use(struct ad_recent *r, int place)
{
    uint8_t carry = (uint8_t)place;
    for (int i = 0; i < AD_KEPT; i++) {
        uint8_t old = r->place[i];
        r->place[i] = carry;
        if (old == place)
            return;
        carry = old;
    }
}

bool ad_memo_init(struct ad_memo *out, struct ad_arena *arena, int nwords)
{
    *out = (struct ad_memo){.nwords = nwords};
    ad_recent_init(&out->recent);
    out->keys = ad_arena_alloc(arena, AD_KEPT * (size_t)nwords, sizeof *out->keys);
    return out->keys != NULL;
}

int ad_memo_place(struct ad_memo *memo, int kept)
{
    int place = ad_recent_oldest(&memo->recent, kept);
    ad_recent_use(&memo->recent, place);
    memo->stamp[place] = 0;
    return place;
}

void ad_memo_keep(struct ad_memo *memo, int place, const uint64_t *key, uint64_t stamp)
{
    size_t nwords = (size_t)memo->nwords;
    memcpy(&memo->keys[(size_t)place * nwords], key, nwords * sizeof *key);
    memo->stamp[place] = stamp;
}
