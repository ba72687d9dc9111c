/* A dynamic programme over where a stage ends, the devices left, and those that take the stage:
 *
 *   best(p, left) = min over groups g within left and ends q > p of
 *                       max(1 / sum over g of 1 / load(class, p, q), best(q, left without g))
 *
 * A group shares inferences in proportion to what its devices take of one; `left` and groups are
 * numbers of devices of each class. */
#include "search/stream/groups.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

#define MOST_WORK 1e8 /* ends that are looked at; of longer networks every second, third, ... */

/* A set of devices: numbers of each class, in a mixed radix. */
struct choice {
    int group, next; /* 0: none */
};

struct groups {
    const struct ad_chains *chains;
    int nclasses, nsets, stride[AD_MAX_DEVICES];
    int count, *position; /* of the chains' positions, ascending; [count] is the last */
    double *loads;        /* [class * positions + position]: of stages from the one at hand on */
    double *shared;       /* [end]: of the group at hand */
    double *best;         /* [begin * nsets + set] */
    struct choice *choice;
};

static int number(const struct groups *g, int set, int class)
{
    return set / g->stride[class] % (ad_chains_count(g->chains, class) + 1);
}

static bool within(const struct groups *g, int group, int set)
{
    for (int k = 0; k < g->nclasses; k++)
        if (number(g, group, k) > number(g, set, k))
            return false;
    return true;
}

/* Pairs of sets, one within the other. */
static double count_pairs(const struct groups *g)
{
    double pairs = 1;
    for (int k = 0; k < g->nclasses; k++) {
        int n = ad_chains_count(g->chains, k);
        pairs *= (n + 1) * (n + 2) / 2.0;
    }
    return pairs;
}

static bool groups_init(struct groups *g, const struct ad_chains *chains)
{
    int all = ad_chains_positions(chains), step = 1;
    *g = (struct groups){.chains = chains, .nclasses = ad_chains_classes(chains), .nsets = 1};
    for (int k = 0; k < g->nclasses; k++) {
        g->stride[k] = g->nsets;
        g->nsets *= ad_chains_count(chains, k) + 1;
    }
    while (step < all && count_pairs(g) * (all / step) * (all / step) / 2 > MOST_WORK)
        step++;
    size_t n = (size_t)(all / step) + 2;
    g->position = ad_calloc(n, sizeof *g->position);
    g->loads = ad_calloc((size_t)g->nclasses * (size_t)(all + 1), sizeof *g->loads);
    g->shared = ad_calloc(n, sizeof *g->shared);
    g->best = ad_calloc(n * (size_t)g->nsets, sizeof *g->best);
    g->choice = ad_calloc(n * (size_t)g->nsets, sizeof *g->choice);
    if (!g->position || !g->loads || !g->shared || !g->best || !g->choice)
        return false;
    for (int p = 0; p < all; p += step)
        g->position[g->count++] = p;
    g->position[g->count] = all;
    return true;
}

static void groups_fini(struct groups *g)
{
    ad_free(g->position);
    ad_free(g->loads);
    ad_free(g->shared);
    ad_free(g->best);
    ad_free(g->choice);
}

/* What a group takes of an inference, for every end of its stage. */
static void share(struct groups *g, int begin, int group)
{
    int all = ad_chains_positions(g->chains);
    for (int q = begin + 1; q <= g->count; q++) {
        double rate = 0;
        for (int k = 0; k < g->nclasses; k++) {
            double load = g->loads[k * (all + 1) + g->position[q]];
            int n = number(g, group, k);
            if (n > 0 && load == INFINITY)
                rate = -INFINITY;
            rate += n > 0 ? n / load : 0;
        }
        g->shared[q] = rate > 0 ? 1 / rate : INFINITY;
    }
}

static void try_group(struct groups *g, int begin, int group)
{
    size_t n = (size_t)g->nsets;
    share(g, begin, group);
    for (int set = group; set < g->nsets; set++) {
        size_t at = (size_t)begin * n + (size_t)set;
        if (!within(g, group, set))
            continue;
        for (int q = begin + 1; q <= g->count; q++) {
            double rest = g->best[(size_t)q * n + (size_t)(set - group)];
            double all = fmax(g->shared[q], rest);
            if (all < g->best[at]) {
                g->best[at] = all;
                g->choice[at] = (struct choice){group, q};
            }
        }
    }
}

static void solve(struct groups *g)
{
    int all = ad_chains_positions(g->chains);
    for (int set = 0; set < g->nsets * g->count; set++)
        g->best[set] = INFINITY;
    for (int begin = g->count - 1; begin >= 0; begin--) {
        for (int k = 0; k < g->nclasses; k++)
            ad_chains_loads(g->chains, k, g->position[begin], &g->loads[k * (all + 1)]);
        for (int group = 1; group < g->nsets; group++)
            try_group(g, begin, group);
    }
}

/* --- chains --- */

/* A stage, and the devices that take turns in it. */
struct stage {
    int end, count, device[AD_MAX_DEVICES];
};

/* The stages of the best chain of groups; how many. 0: there is none. */
static int follow(const struct groups *g, int ndevices, struct stage *stages)
{
    bool taken[AD_MAX_DEVICES] = {false};
    int n = 0, set = g->nsets - 1;
    for (int at = 0; at < g->count; n++) {
        struct choice choice = g->choice[(size_t)at * (size_t)g->nsets + (size_t)set];
        if (choice.group == 0)
            return 0;
        int left[AD_MAX_DEVICES];
        for (int k = 0; k < g->nclasses; k++)
            left[k] = number(g, choice.group, k);
        stages[n] = (struct stage){.end = ad_chains_position(g->chains, g->position[choice.next])};
        for (int d = 0; d < ndevices; d++) {
            int k = ad_chains_class(g->chains, d);
            if (taken[d] || left[k] == 0)
                continue;
            left[k]--;
            taken[d] = true;
            stages[n].device[stages[n].count++] = d;
        }
        set -= choice.group;
        at = choice.next;
    }
    return n;
}

/* Way `nth` through the stages: digits of a mixed radix. */
static struct ad_chain way(const struct stage *stages, int nstages, int nth)
{
    struct ad_chain chain = {.nstages = nstages};
    for (int s = 0; s < nstages; s++) {
        chain.device[s] = stages[s].device[nth % stages[s].count];
        chain.end[s] = stages[s].end;
        nth /= stages[s].count;
    }
    return chain;
}

/* Where there are more ways than room, the devices of each stage take turns together. */
static struct ad_chain together(const struct stage *stages, int nstages, int nth)
{
    struct ad_chain chain = {.nstages = nstages};
    for (int s = 0; s < nstages; s++) {
        chain.device[s] = stages[s].device[nth % stages[s].count];
        chain.end[s] = stages[s].end;
    }
    return chain;
}

enum adaps_status ad_groups_chains(const struct ad_context *context, const struct ad_chains *chains,
                                   int room, struct ad_chain *out, int *count,
                                   struct adaps_error *err)
{
    int ndevices = context->problem->cluster->ndevices, ways = 1;
    struct groups g;
    struct stage *stages = ad_calloc(AD_MAX_DEVICES, sizeof *stages);
    bool ready = groups_init(&g, chains) && stages;
    *count = 0;
    if (ready) {
        solve(&g);
        int nstages = follow(&g, ndevices, stages);
        for (int s = 0; s < nstages && ways <= room; s++)
            ways *= stages[s].count;
        for (; nstages > 0 && *count < (ways <= room ? ways : room); ++*count)
            out[*count] =
                ways <= room ? way(stages, nstages, *count) : together(stages, nstages, *count);
    }
    groups_fini(&g);
    ad_free(stages);
    return ready ? ADAPS_OK : ad_error_memory(err, "groups of devices", 0);
}
