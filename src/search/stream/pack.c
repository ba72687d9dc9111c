#include "search/stream/pack.h"

#include <math.h>
#include <string.h>

#define MOST_NODES 200000 /* of the tree of choices */

/* Device by device: which turn begins there, or none. A turn is chosen at its first device. */
struct packer {
    const struct ad_turns *turns;
    int ndevices, nodes;
    double most[AD_MAX_DEVICES]; /* that a device can add: its part of the rate of a turn */
    struct ad_pack now;
    struct ad_pack *packs; /* AD_PACKS */
    int npacks;
};

uint64_t ad_turn_devices(const struct ad_turn *turn)
{
    uint64_t devices = 0;
    for (int d = 0; d < turn->schedule.ndevices; d++)
        devices |= turn->schedule.programs[d].ntasks > 0 ? UINT64_C(1) << d : 0;
    return devices;
}

static double rate_of(const struct ad_turn *turn)
{
    return 1e9 / (double)ad_turn_interval(turn);
}

static void offer(struct packer *p)
{
    int at = p->npacks;
    while (at > 0 && p->packs[at - 1].rate < p->now.rate)
        at--;
    if (at == AD_PACKS || p->now.count == 0)
        return;
    int last = p->npacks < AD_PACKS ? p->npacks++ : AD_PACKS - 1;
    memmove(&p->packs[at + 1], &p->packs[at], (size_t)(last - at) * sizeof *p->packs);
    p->packs[at] = p->now;
}

/* What devices from d on that are free can add at most. */
static double hope(const struct packer *p, int d, uint64_t taken)
{
    double sum = 0;
    for (; d < p->ndevices; d++)
        sum += taken >> d & 1 ? 0 : p->most[d];
    return sum;
}

static void descend(struct packer *p, int d, uint64_t taken)
{
    if (d == p->ndevices) {
        offer(p);
        return;
    }
    if (++p->nodes > MOST_NODES)
        return;
    if (p->npacks == AD_PACKS && p->now.rate + hope(p, d, taken) <= p->packs[AD_PACKS - 1].rate)
        return;
    for (int t = 0; !(taken >> d & 1) && t < p->turns->count; t++) {
        uint64_t devices = ad_turn_devices(&p->turns->items[t]);
        bool begins = (devices & ((UINT64_C(1) << d) - 1)) == 0 && devices >> d & 1;
        if (!begins || devices & taken)
            continue;
        struct ad_pack before = p->now;
        p->now.turn[p->now.count++] = t;
        p->now.rate += rate_of(&p->turns->items[t]);
        descend(p, d + 1, taken | devices);
        p->now = before;
    }
    descend(p, d + 1, taken);
}

int ad_turns_pack(const struct ad_turns *turns, struct ad_pack *packs)
{
    struct packer p = {
        .turns = turns, .ndevices = turns->problem->cluster->ndevices, .packs = packs};
    for (int t = 0; t < turns->count; t++) {
        uint64_t devices = ad_turn_devices(&turns->items[t]);
        int count = __builtin_popcountll(devices);
        for (int d = 0; d < p.ndevices; d++)
            if (devices >> d & 1)
                p.most[d] = fmax(p.most[d], rate_of(&turns->items[t]) / count);
    }
    descend(&p, 0, 0);
    return p.npacks;
}
