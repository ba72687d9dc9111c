/* Strategy `pipeline`: the chain whose stream is the quickest.
 *
 * Strategy `replicas`: whole inferences, dealt to the devices that have the memory for the network
 * in proportion to their speed, or to what the source's port lets them have.
 *
 * Strategy `auto` for streams. Its candidates for turns are
 * - layouts in which all devices share each inference, found by the search for one inference
 * (search/auto/), which begins with chains, too: with the interval as its objective and, where
 * there is a cap, for the soonest answer;
 * - each device by itself;
 * - the best chain on every number of devices of each class (search/published/chain.h), as often as
 *   there are devices for it;
 * - the layout of strategy dn2pciot.
 *
 * A linear programme mixes them, so that groups of devices work on inferences of their own. Where
 * the mixture takes more memory than there is, the turn with the least share on a device that lacks
 * some goes, until it fits. Answers come in order, so a slow turn holds up all that are in flight,
 * and a cap lets fewer in: mixtures of the quicker turns alone are tried, too, by how long a turn
 * may take. They compete with every one of the best single turns, with replicas alone, and, where
 * memory matters, with mixtures of turns on devices of their own (search/stream/pack.h) and with
 * the best chain of groups of devices (search/stream/groups.h). The clocks of the stream decide,
 * but replicas that are next to the best are taken (search/stream/judge.h).
 *
 * Under another objective, with a floor of the rate, it is the same: what has the best figure of
 * the streams that are quick enough. The soonest answer that the search for one inference finds is
 * taken if its stream is. */
#include "search/stream/stream.h"
#include "base/mem.h"
#include "search/auto/auto.h"
#include "search/eval.h"
#include "search/published/chain.h"
#include "search/published/published.h"
#include "search/stream/fit.h"
#include "search/stream/groups.h"
#include "search/stream/judge.h"
#include "search/stream/pack.h"
#include "search/stream/turns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_CHAINS 96    /* candidates */
#define MOST_WAYS 32      /* through groups of devices */
#define FINALISTS 3       /* single turns whose streams are simulated, */
#define MORE_FINALISTS 24 /* and where only memory or the clocks tell which is the best */
#define SOONER 0.95       /* times the latency of the best stream: the next one is to be there */
#define ROUNDS 3          /* of that */
#define MOST_LEVELS 12    /* of how long a turn may take, for mixtures */

/* What the candidates come from. */
struct pool {
    const struct ad_search_problem *problem;
    struct ad_context context;
    struct ad_eval eval;
    struct ad_layout layout;
    struct ad_turns turns;
    int64_t visited; /* by searches and as candidates */
    double space;
    struct adaps_error *err;
};

static enum adaps_status pool_init(struct pool *out, const struct ad_search_problem *problem,
                                   struct adaps_error *err)
{
    *out = (struct pool){.problem = problem, .turns = {.problem = problem, .err = err}, .err = err};
    enum adaps_status status = ad_context_init(&out->context, problem, err);
    if (status == ADAPS_OK)
        status = ad_eval_init(&out->eval, &out->context, err);
    if (status == ADAPS_OK)
        status =
            ad_layout_init(&out->layout, problem->graph->nops, problem->cluster->ndevices, err);
    return status;
}

static void pool_fini(struct pool *pool)
{
    ad_turns_fini(&pool->turns);
    ad_layout_fini(&pool->layout);
    ad_eval_fini(&pool->eval);
    ad_context_fini(&pool->context);
}

static enum adaps_status add_chain(struct pool *pool, const struct ad_chain *chain)
{
    ad_chain_layout(&pool->context, chain, &pool->layout);
    ad_eval_assign(&pool->eval, &pool->layout);
    return ad_turns_add(&pool->turns, &pool->eval.scratch);
}

/* Each device by itself. */
static enum adaps_status add_singles(struct pool *pool)
{
    enum adaps_status status = ADAPS_OK;
    for (int d = 0; d < pool->problem->cluster->ndevices && status == ADAPS_OK; d++) {
        struct ad_chain alone = {1, {d}, {pool->problem->graph->nops}};
        status = add_chain(pool, &alone);
    }
    return status;
}

/* The next numbers of devices of each class, at most those that there are; false after the last. */
static bool next_numbers(const int *most, int nclasses, int *numbers)
{
    for (int k = 0; k < nclasses; k++) {
        if (numbers[k] < most[k]) {
            numbers[k]++;
            return true;
        }
        numbers[k] = 0;
    }
    return false;
}

/* The devices of copy `copy`: so many of each class, from where the copy before ended, again from
 * the first after the last. */
static void choose_devices(const struct pool *pool, const struct ad_chains *chains,
                           const int *numbers, int copy, bool *use)
{
    int seen[AD_MAX_DEVICES] = {0};
    for (int d = 0; d < pool->problem->cluster->ndevices; d++) {
        int k = ad_chains_class(chains, d), count = ad_chains_count(chains, k);
        int from = copy * numbers[k] % count, place = seen[k]++;
        use[d] = (place - from + count) % count < numbers[k];
    }
}

/* The best chain on so many devices of each class: as often as any class has other devices for it.
 */
static enum adaps_status add_copies(struct pool *pool, const struct ad_chains *chains,
                                    const int *numbers, int *left)
{
    int copies = 1;
    enum adaps_status status = ADAPS_OK;
    for (int k = 0; k < ad_chains_classes(chains); k++)
        if (numbers[k] > 0 && ad_chains_count(chains, k) / numbers[k] > copies)
            copies = ad_chains_count(chains, k) / numbers[k];
    for (int copy = 0; copy < copies && status == ADAPS_OK; copy++) {
        bool use[AD_MAX_DEVICES];
        struct ad_chain chain;
        choose_devices(pool, chains, numbers, copy, use);
        if (!ad_chains_best(chains, use, &chain) || chain.nstages < 2 || --*left < 0)
            return ADAPS_OK;
        status = add_chain(pool, &chain);
    }
    return status;
}

static enum adaps_status add_chains(struct pool *pool, int buffers)
{
    struct ad_chains *chains;
    int numbers[AD_MAX_DEVICES] = {0}, most[AD_MAX_DEVICES] = {0}, left = MOST_CHAINS;
    enum adaps_status status = ad_chains_new(&pool->context, buffers, &chains, pool->err);
    if (status != ADAPS_OK)
        return status;
    for (int k = 0; k < ad_chains_classes(chains); k++)
        most[k] = ad_chains_count(chains, k);
    while (status == ADAPS_OK && left > 0 && next_numbers(most, ad_chains_classes(chains), numbers))
        status = add_copies(pool, chains, numbers, &left);
    ad_chains_free(chains);
    return status;
}

/* --- streams of candidates --- */

/* *best becomes the better one; the other is freed. */
static enum adaps_status keep_better(struct pool *pool, struct ad_search_result *best,
                                     struct ad_search_result *other)
{
    struct ad_stream_verdict now, fresh;
    bool better = best->stream.nturns == 0;
    enum adaps_status status = ad_stream_judge(pool->problem, other, &fresh, pool->err);
    if (status == ADAPS_OK && !better) {
        status = ad_stream_judge(pool->problem, best, &now, pool->err);
        better = status == ADAPS_OK && ad_stream_verdict_better(fresh, now);
    }
    struct ad_search_result worse = better ? *best : *other;
    if (better)
        *best = *other;
    ad_search_result_fini(&worse);
    return status;
}

/* The stream of the turns with a share, if it fits; it competes with *best. *lacking: the devices
 * without the memory for it, as bits. */
static enum adaps_status try_stream(struct pool *pool, struct ad_search_result *best,
                                    uint64_t *lacking)
{
    const struct ad_cluster *cluster = pool->problem->cluster;
    struct ad_search_result result = {.bound = NAN, .gap = NAN};
    enum adaps_status status = ad_turns_stream(&pool->turns, &result);
    *lacking = 0;
    for (int d = 0; status == ADAPS_NO && d < cluster->ndevices; d++)
        *lacking |= ad_memory_excess(&cluster->devices[d], result.schedule.memory[d]) > 0
                        ? UINT64_C(1) << d
                        : 0;
    if (status == ADAPS_OK)
        return keep_better(pool, best, &result);
    ad_search_result_fini(&result);
    return status == ADAPS_NO ? ADAPS_OK : status;
}

/* The turn with the least share of those on these devices; -1: none. */
static int least_share(const struct ad_turns *turns, uint64_t devices)
{
    int least = -1;
    for (int t = 0; t < turns->count; t++)
        if (turns->items[t].share > 0 && ad_turn_devices(&turns->items[t]) & devices &&
            (least < 0 || turns->items[t].share < turns->items[least].share))
            least = t;
    return least;
}

/* Whether no stream with so long an interval can be better than the best so far. */
static bool hopeless(const struct pool *pool, const struct ad_search_result *best,
                     double interval_ns)
{
    return pool->problem->objective == AD_OBJECTIVE_THROUGHPUT && best->stream.nturns > 0 &&
           interval_ns >= (double)best->stream.interval_ns;
}

/* Mixes the turns in use, without more and more of them until there is the memory. */
static enum adaps_status try_mixture(struct pool *pool, bool *use, struct ad_search_result *best)
{
    struct ad_turns *turns = &pool->turns;
    for (int left = turns->count; left > 0; left--) {
        double interval_ns;
        uint64_t lacking;
        enum adaps_status status = ad_turns_mix(turns, use, &interval_ns);
        if (status != ADAPS_OK || least_share(turns, UINT64_MAX) < 0 ||
            hopeless(pool, best, interval_ns))
            return status;
        status = try_stream(pool, best, &lacking);
        if (status != ADAPS_OK || !lacking)
            return status;
        int least = least_share(turns, lacking);
        use[least >= 0 ? least : least_share(turns, UINT64_MAX)] = false;
    }
    return ADAPS_OK;
}

/* The longest that a turn may take, of so many levels from the shortest to the longest of turns
 * [first, end): all, if there are no more. 0 without memory. */
static int find_levels(const struct ad_turns *turns, int first, int end,
                       int64_t levels[MOST_LEVELS])
{
    int64_t *all = ad_calloc((size_t)(end - first) + 1, sizeof *all);
    int count = 0;
    for (int t = first; all && t < end; t++) {
        int64_t ns = turns->items[t].schedule.makespan_ns;
        int at = count;
        while (at > 0 && all[at - 1] > ns)
            at--;
        if (at > 0 && all[at - 1] == ns)
            continue;
        memmove(&all[at + 1], &all[at], (size_t)(count - at) * sizeof *all);
        all[at] = ns;
        count++;
    }
    int n = count < MOST_LEVELS ? count : MOST_LEVELS;
    for (int i = 0; i < n; i++)
        levels[i] = all[(int64_t)(i + 1) * count / n - 1];
    ad_free(all);
    return n;
}

/* Mixes those of turns [first, end) that take no longer than each level. */
static enum adaps_status try_levels(struct pool *pool, int first, int end,
                                    struct ad_search_result *best)
{
    int64_t levels[MOST_LEVELS];
    bool *use = ad_calloc((size_t)pool->turns.count + 1, sizeof *use);
    if (!use)
        return ad_error_memory(pool->err, "turns", (size_t)pool->turns.count);
    int count = find_levels(&pool->turns, first, end, levels);
    enum adaps_status status = count > 0 || end == first
                                   ? ADAPS_OK
                                   : ad_error_memory(pool->err, "turns", (size_t)(end - first));
    for (int i = count; i-- > 0 && status == ADAPS_OK;) {
        for (int t = 0; t < pool->turns.count; t++)
            use[t] =
                t >= first && t < end && pool->turns.items[t].schedule.makespan_ns <= levels[i];
        status = try_mixture(pool, use, best);
    }
    ad_free(use);
    return status;
}

/* Mixes turns on devices of their own. */
static enum adaps_status try_packs(struct pool *pool, struct ad_search_result *best)
{
    struct ad_pack packs[AD_PACKS];
    int npacks = ad_turns_pack(&pool->turns, packs);
    bool *use = ad_calloc((size_t)pool->turns.count + 1, sizeof *use);
    enum adaps_status status =
        use ? ADAPS_OK : ad_error_memory(pool->err, "turns", (size_t)pool->turns.count);
    for (int i = 0; i < npacks && status == ADAPS_OK; i++) {
        memset(use, 0, (size_t)pool->turns.count * sizeof *use);
        for (int k = 0; k < packs[i].count; k++)
            use[packs[i].turn[k]] = true;
        status = try_mixture(pool, use, best);
    }
    ad_free(use);
    return status;
}

/* Mixes the ways through groups of devices, which become candidates. */
static enum adaps_status try_groups(struct pool *pool, int buffers, struct ad_search_result *best)
{
    struct ad_chain *ways = ad_calloc(MOST_WAYS, sizeof *ways);
    struct ad_chains *chains = NULL;
    int count = 0, before = pool->turns.count;
    enum adaps_status status = ways ? ad_chains_new(&pool->context, buffers, &chains, pool->err)
                                    : ad_error_memory(pool->err, "groups of devices", 0);
    if (status == ADAPS_OK)
        status = ad_groups_chains(&pool->context, chains, MOST_WAYS, ways, &count, pool->err);
    for (int i = 0; i < count && status == ADAPS_OK; i++)
        status = add_chain(pool, &ways[i]);
    bool *use = ad_calloc((size_t)pool->turns.count + 1, sizeof *use);
    if (status == ADAPS_OK && !use)
        status = ad_error_memory(pool->err, "turns", (size_t)pool->turns.count);
    for (int t = before; use && t < pool->turns.count; t++)
        use[t] = true;
    if (status == ADAPS_OK && pool->turns.count > before)
        status = try_mixture(pool, use, best);
    ad_free(use);
    ad_chains_free(chains);
    ad_free(ways);
    return status;
}

/* The turns with the shortest intervals by themselves. */
static enum adaps_status try_singles(struct pool *pool, int finalists,
                                     struct ad_search_result *best)
{
    struct ad_turns *turns = &pool->turns;
    int64_t before = -1;
    int last = -1;
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; i < finalists && status == ADAPS_OK; i++) {
        int next = -1;
        int64_t least = INT64_MAX;
        for (int t = 0; t < turns->count; t++) {
            int64_t load = ad_turn_interval(&turns->items[t]);
            bool after = load > before || (load == before && t > last);
            if (after && load < least) {
                least = load;
                next = t;
            }
            turns->items[t].share = 0;
        }
        if (next < 0)
            break;
        uint64_t lacking;
        turns->items[next].share = 1;
        status = try_stream(pool, best, &lacking);
        before = least;
        last = next;
    }
    return status;
}

/* Each of the turns from `first` on by itself. */
static enum adaps_status try_turns_from(struct pool *pool, int first, struct ad_search_result *best)
{
    enum adaps_status status = ADAPS_OK;
    for (int turn = first; turn < pool->turns.count && status == ADAPS_OK; turn++) {
        uint64_t lacking;
        for (int t = 0; t < pool->turns.count; t++)
            pool->turns.items[t].share = t == turn;
        status = try_stream(pool, best, &lacking);
    }
    return status;
}

/* The layout of strategy dn2pciot becomes a candidate, and is tried by itself. */
static enum adaps_status try_partition(struct pool *pool, struct ad_search_result *best)
{
    struct ad_search_result found = {.bound = NAN, .gap = NAN};
    struct adaps_error why = {0};
    int before = pool->turns.count;
    enum adaps_status status =
        ad_search_layouts(pool->problem, "dn2pciot", ad_dn2pciot_search, &found, &why);
    if (status == ADAPS_OK)
        status = ad_turns_add(&pool->turns, &found.assignment);
    else if (status != ADAPS_NO)
        ad_error_set(pool->err, status, "%s", why.message);
    ad_search_result_fini(&found);
    if (status != ADAPS_OK)
        return status == ADAPS_NO ? ADAPS_OK : status;
    return try_turns_from(pool, before, best);
}

/* Chains that leave room for so many of their largest values. */
static const int rooms[] = {2, AD_CHAIN_BUFFERS, 8, 16, 32};
#define ROOMS (sizeof rooms / sizeof *rooms)

/* Chains that leave room for more or fewer inferences in flight, groups of devices, and turns on
 * devices of their own. */
static enum adaps_status try_within_memory(struct pool *pool, struct ad_search_result *best)
{
    enum adaps_status status = ADAPS_OK;
    for (size_t i = 0; i < ROOMS && status == ADAPS_OK; i++) {
        if (rooms[i] != AD_CHAIN_BUFFERS)
            status = add_chains(pool, rooms[i]);
        if (status == ADAPS_OK)
            status = try_groups(pool, rooms[i], best);
    }
    if (status == ADAPS_OK)
        status = try_packs(pool, best);
    return status == ADAPS_OK ? try_singles(pool, MORE_FINALISTS, best) : status;
}

/* --- strategies --- */

/* Says what a stream lacks: the reason that an inference by itself cannot be, if there is one. */
static enum adaps_status refuse(const struct pool *pool, const char *strategy, ad_search_fn *search)
{
    struct ad_search_result alone = {.bound = NAN, .gap = NAN};
    enum adaps_status status =
        ad_search_layouts(pool->problem, strategy, search, &alone, pool->err);
    ad_search_result_fini(&alone);
    if (status != ADAPS_OK)
        return status;
    return ad_error_set(pool->err, ADAPS_NO,
                        "no stream of strategy %s keeps to the latency and the memory", strategy);
}

enum adaps_status ad_replicas_plan(const struct ad_search_problem *problem,
                                   struct ad_search_result *result, struct adaps_error *err)
{
    struct pool pool;
    enum adaps_status status = pool_init(&pool, problem, err);
    if (status == ADAPS_OK)
        status = add_singles(&pool);
    if (status == ADAPS_OK)
        status = try_levels(&pool, 0, pool.turns.count, result);
    if (status == ADAPS_OK && result->stream.nturns == 0)
        status = refuse(&pool, "replicas", ad_single_search);
    result->visited = pool.turns.count;
    result->space_log10 = log10(1 + pool.turns.count);
    result->u8 = ad_search_u8(problem);
    pool_fini(&pool);
    return status;
}

enum adaps_status ad_pipeline_plan(const struct ad_search_problem *problem,
                                   struct ad_search_result *result, struct adaps_error *err)
{
    struct pool pool;
    enum adaps_status status = pool_init(&pool, problem, err);
    if (status == ADAPS_OK)
        status = add_singles(&pool);
    for (size_t i = 0; i < ROOMS && status == ADAPS_OK; i++)
        if (rooms[i] == AD_CHAIN_BUFFERS || pool.context.streams_matter)
            status = add_chains(&pool, rooms[i]);
    if (status == ADAPS_OK)
        status = try_singles(&pool, MORE_FINALISTS, result);
    if (status == ADAPS_OK && result->stream.nturns == 0)
        status = refuse(&pool, "pipeline", ad_pipeline_search);
    ad_stream_fini(&result->stream); /* messages may still get other encodings */
    result->visited = pool.turns.count;
    result->space_log10 = log10(1 + pool.turns.count);
    result->u8 = ad_search_u8(problem);
    pool_fini(&pool);
    return status;
}

/* The layout in which all share each inference becomes a candidate: the answer to `asked`. ADAPS_NO
 * into *why: there is none. What has sums in blocks is of another graph, and is none. */
static enum adaps_status add_shared(struct pool *pool, const struct ad_search_problem *asked,
                                    struct adaps_error *why)
{
    struct ad_search_result shared = {.bound = NAN, .gap = NAN};
    enum adaps_status status = ad_auto_plan(asked, &shared, why);
    if (status == ADAPS_OK && !shared.graph)
        status = ad_turns_add(&pool->turns, &shared.assignment);
    else if (status != ADAPS_OK && status != ADAPS_NO)
        ad_error_set(pool->err, status, "%s", why->message);
    pool->visited += shared.visited;
    pool->space = fmax(pool->space, shared.space_log10);
    ad_search_result_fini(&shared);
    return status == ADAPS_NO ? ADAPS_OK : status;
}

/* The soonest answer becomes a candidate, and is tried by itself. */
static enum adaps_status try_soonest(struct pool *pool, struct ad_search_result *best)
{
    struct ad_search_problem soonest = ad_search_part(pool->problem, 3);
    struct adaps_error why = {0};
    int before = pool->turns.count;
    soonest.objective = AD_OBJECTIVE_LATENCY;
    soonest.interval_cap_ns = 0;
    enum adaps_status status = add_shared(pool, &soonest, &why);
    return status == ADAPS_OK ? try_turns_from(pool, before, best) : status;
}

/* Whether the best stream is the soonest answer, and quick enough. */
static bool is_soonest(const struct pool *pool, const struct ad_search_result *best)
{
    const struct ad_search_problem *p = pool->problem;
    return p->objective == AD_OBJECTIVE_LATENCY && best->stream.nturns > 0 &&
           best->stream.frames == 1 && best->stream.interval_ns <= p->interval_cap_ns;
}

/* The layout of the quickest stream, with this cap of the latency (0: none) and one of so many
 * parts of the time. */
static enum adaps_status add_quickest(struct pool *pool, int64_t latency_cap_ns, int parts)
{
    struct ad_search_problem quickest = ad_search_part(pool->problem, parts);
    struct adaps_error ignored = {0};
    quickest.objective = AD_OBJECTIVE_THROUGHPUT;
    quickest.interval_cap_ns = 0;
    quickest.latency_cap_ns = latency_cap_ns;
    return add_shared(pool, &quickest, &ignored);
}

/* Layouts in which all share each inference: under the objective and for the quickest stream; with
 * the cap of the latency, without it, and with shorter ones, since an inference takes longer within
 * a stream. *why: that the problem itself has none. */
static enum adaps_status add_all_shared(struct pool *pool, struct adaps_error *why)
{
    static const double shorter[] = {0.75, 0.9}; /* times the cap */
    const struct ad_search_problem *p = pool->problem;
    bool other = p->objective != AD_OBJECTIVE_THROUGHPUT;
    int64_t cap = p->latency_cap_ns;
    enum adaps_status status = ADAPS_OK;
    if (cap > 0 || other)
        status = add_quickest(pool, 0, 5);
    for (int i = 0; i < 2 && status == ADAPS_OK && cap > 0; i++)
        status = add_quickest(pool, (int64_t)(shorter[i] * (double)cap), 4 - i);
    if (status == ADAPS_OK && cap > 0 && other)
        status = add_quickest(pool, cap, 2);
    return status == ADAPS_OK ? add_shared(pool, p, why) : status;
}

/* Under the latency: searches for a stream that is quick enough and sooner than the best so far. */
static enum adaps_status try_sooner(struct pool *pool, struct ad_search_result *best)
{
    const struct ad_search_problem *p = pool->problem;
    int64_t latency = INT64_MAX;
    enum adaps_status status = ADAPS_OK;
    for (int i = 0;
         i < ROUNDS && status == ADAPS_OK && best->stream.nturns > 0 &&
         best->stream.interval_ns <= p->interval_cap_ns && best->stream.latency_ns < latency;
         i++) {
        latency = best->stream.latency_ns;
        status = add_quickest(pool, (int64_t)(SOONER * (double)latency), ROUNDS - i);
        if (status == ADAPS_OK)
            status = try_levels(pool, 0, pool->turns.count, best);
        if (status == ADAPS_OK)
            status = try_singles(pool, FINALISTS, best);
    }
    return status;
}

/* All candidates, and streams of them. */
static enum adaps_status try_all(struct pool *pool, struct ad_search_result *best,
                                 struct adaps_error *why)
{
    int first = pool->turns.count;
    enum adaps_status status = add_singles(pool);
    int nsingles = pool->turns.count;
    if (status == ADAPS_OK)
        status = add_chains(pool, AD_CHAIN_BUFFERS);
    int shared = pool->turns.count;
    if (status == ADAPS_OK)
        status = add_all_shared(pool, why);
    if (status == ADAPS_OK)
        status = try_turns_from(pool, shared, best);
    if (status == ADAPS_OK)
        status = try_partition(pool, best);
    pool->visited += pool->turns.count;
    if (status == ADAPS_OK)
        status = try_singles(pool, FINALISTS, best);
    if (status == ADAPS_OK)
        status = try_levels(pool, first, nsingles, best);
    if (status == ADAPS_OK)
        status = try_levels(pool, 0, pool->turns.count, best);
    if (status == ADAPS_OK && pool->context.streams_matter)
        status = try_within_memory(pool, best);
    return status == ADAPS_OK && pool->problem->objective == AD_OBJECTIVE_LATENCY
               ? try_sooner(pool, best)
               : status;
}

enum adaps_status ad_throughput_plan(const struct ad_search_problem *problem,
                                     struct ad_search_result *result, struct adaps_error *err)
{
    struct pool pool;
    struct adaps_error why = {0};
    bool capped = problem->latency_cap_ns > 0 || problem->objective == AD_OBJECTIVE_LATENCY;
    enum adaps_status status = pool_init(&pool, problem, err);
    if (status == ADAPS_OK && capped)
        status = try_soonest(&pool, result);
    if (status == ADAPS_OK && !is_soonest(&pool, result))
        status = try_all(&pool, result, &why);
    if (status == ADAPS_OK && result->stream.nturns == 0)
        status = ad_error_set(
            err, ADAPS_NO, "%s",
            why.status == ADAPS_NO ? why.message : "no stream keeps to the latency and the memory");
    snprintf(result->note, sizeof result->note, "%s made small: %d of %d turns",
             problem->objective == AD_OBJECTIVE_THROUGHPUT ? "interval"
                                                           : ad_objective_name(problem->objective),
             result->stream.nturns, pool.turns.count);
    result->visited = pool.visited;
    result->space_log10 = pool.space;
    result->u8 = ad_search_u8(problem);
    pool_fini(&pool);
    return status;
}
