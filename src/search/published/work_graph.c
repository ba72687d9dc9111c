#include "search/published/work_graph.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

/* --- the cost, by definition --- */

enum adaps_status ad_work_memory(const struct ad_work_graph *graph, const int *part,
                                 int64_t *memory, struct adaps_error *err)
{
    size_t n = (size_t)graph->ngroups * (size_t)graph->ndevices + 1;
    bool *has = ad_calloc(n, sizeof *has);
    if (!has)
        return ad_error_memory(err, "groups of vertices", n);
    for (int d = 0; d < graph->ndevices; d++)
        memory[d] = 0;
    for (int v = 0; v < graph->nvertices; v++) {
        memory[part[v]] += graph->memory[v];
        if (graph->group[v] < 0)
            continue;
        bool *one = &has[graph->group[v] * graph->ndevices + part[v]];
        memory[part[v]] += *one ? 0 : graph->shared[graph->group[v]];
        *one = true;
    }
    ad_free(has);
    return ADAPS_OK;
}

/* links: [from * ndevices + to], zeroed. */
static void count_links(const struct ad_work_graph *graph, const int *part, int64_t *links)
{
    for (int v = 0; v < graph->nvertices; v++) {
        uint64_t sent = UINT64_C(1) << part[v];
        for (int i = graph->first[v]; i < graph->first[v + 1]; i++) {
            int to = part[graph->readers[i]];
            if (!(sent >> to & 1))
                links[part[v] * graph->ndevices + to] += graph->bytes[v];
            sent |= UINT64_C(1) << to;
        }
    }
}

static void add_times(const struct ad_work_graph *graph, const int64_t *links, const double *load,
                      struct ad_work_cost *out)
{
    int n = graph->ndevices;
    for (int d = 0; d < n; d++) {
        out->seconds = fmax(out->seconds, load[d] / graph->rate[d]);
        for (int q = 0; q < d; q++) {
            int64_t bytes = links[d * n + q] + links[q * n + d];
            out->bytes += bytes;
            out->seconds = fmax(out->seconds, (double)bytes / graph->bandwidth[d * n + q]);
        }
    }
}

enum adaps_status ad_work_measure(const struct ad_work_graph *graph, const int *part,
                                  struct ad_work_cost *out, struct adaps_error *err)
{
    size_t n = (size_t)graph->ndevices;
    int64_t *links = ad_calloc(n * n, sizeof *links);
    int64_t memory[AD_WORK_DEVICES];
    double load[AD_WORK_DEVICES] = {0};
    *out = (struct ad_work_cost){.excess = 0};
    enum adaps_status status = links ? ad_work_memory(graph, part, memory, err)
                                     : ad_error_memory(err, "links", n * n * sizeof *links);
    if (status == ADAPS_OK) {
        for (int d = 0; d < graph->ndevices; d++)
            out->excess += memory[d] > graph->limit[d] ? memory[d] - graph->limit[d] : 0;
        for (int v = 0; v < graph->nvertices; v++)
            load[part[v]] += graph->work[v];
        count_links(graph, part, links);
        add_times(graph, links, load, out);
    }
    ad_free(links);
    return status;
}

/* --- random partitionings --- */

#define ATTEMPTS 64

struct filling {
    const struct ad_work_graph *graph;
    struct ad_rng rng;
    int *part, *order;
    uint64_t *has; /* by group: the devices that have it */
    int64_t room[AD_WORK_DEVICES];
};

static int64_t need(const struct filling *f, int v, int d)
{
    int g = f->graph->group[v];
    bool new = g >= 0 && !(f->has[g] >> d & 1);
    return f->graph->memory[v] + (new ? f->graph->shared[g] : 0);
}

static void put(struct filling *f, int v, int d)
{
    f->room[d] -= need(f, v, d);
    if (f->graph->group[v] >= 0)
        f->has[f->graph->group[v]] |= UINT64_C(1) << d;
    f->part[v] = d;
}

/* A device with room for the vertex, at random; with `sticky` one that has the vertex's group, if
 * there is one. -1: none. */
static int device_for(struct filling *f, int v, bool sticky)
{
    int g = f->graph->group[v], fits = 0, holds = 0, all[AD_WORK_DEVICES], having[AD_WORK_DEVICES];
    for (int d = 0; d < f->graph->ndevices; d++) {
        if (need(f, v, d) > f->room[d])
            continue;
        all[fits++] = d;
        if (g >= 0 && (f->has[g] >> d & 1))
            having[holds++] = d;
    }
    if (sticky && holds > 0)
        return having[ad_rng_below(&f->rng, (uint32_t)holds)];
    return fits > 0 ? all[ad_rng_below(&f->rng, (uint32_t)fits)] : -1;
}

static int roomiest(const struct filling *f)
{
    int best = 0;
    for (int d = 1; d < f->graph->ndevices; d++)
        if (f->room[d] > f->room[best])
            best = d;
    return best;
}

/* What needs most at once, with its group's, comes first: it would find no room later. */
static int64_t size_of(const struct ad_work_graph *graph, int v)
{
    return graph->memory[v] + (graph->group[v] >= 0 ? graph->shared[graph->group[v]] : 0);
}

static void sift(const struct filling *f, int root, int end)
{
    for (int child; (child = 2 * root + 1) < end; root = child) {
        if (child + 1 < end &&
            size_of(f->graph, f->order[child + 1]) < size_of(f->graph, f->order[child]))
            child++;
        if (size_of(f->graph, f->order[root]) <= size_of(f->graph, f->order[child]))
            return;
        int v = f->order[root];
        f->order[root] = f->order[child];
        f->order[child] = v;
    }
}

/* A random order, then by falling size. */
static void put_in_order(struct filling *f)
{
    int n = f->graph->nvertices;
    for (int i = 0; i < n; i++) {
        int j = (int)ad_rng_below(&f->rng, (uint32_t)i + 1);
        f->order[i] = f->order[j];
        f->order[j] = i;
    }
    for (int i = n / 2 - 1; i >= 0; i--)
        sift(f, i, n);
    for (int end = n - 1; end > 0; end--) {
        int v = f->order[0];
        f->order[0] = f->order[end];
        f->order[end] = v;
        sift(f, 0, end);
    }
}

/* In later attempts more and more vertices go where their group's shared bytes are. */
static bool fill(struct filling *f, const bool *fixed, int attempt)
{
    const struct ad_work_graph *graph = f->graph;
    bool fits = true;
    memset(f->has, 0, (size_t)graph->ngroups * sizeof *f->has);
    for (int d = 0; d < graph->ndevices; d++)
        f->room[d] = graph->limit[d];
    for (int v = 0; fixed && v < graph->nvertices; v++)
        if (fixed[v])
            put(f, v, f->part[v]);
    put_in_order(f);
    for (int i = 0; i < graph->nvertices; i++) {
        int v = f->order[i];
        if (fixed && fixed[v])
            continue;
        bool sticky = (int)ad_rng_below(&f->rng, ATTEMPTS) < attempt;
        int d = device_for(f, v, sticky);
        fits = fits && d >= 0;
        put(f, v, d >= 0 ? d : roomiest(f));
    }
    return fits;
}

enum adaps_status ad_work_random(const struct ad_work_graph *graph, const bool *fixed,
                                 uint64_t seed, int *part, struct adaps_error *err)
{
    struct filling f = {.graph = graph, .rng = {seed}, .part = part};
    size_t n = (size_t)graph->nvertices;
    bool fits = false;
    f.order = ad_calloc(n, sizeof *f.order);
    f.has = ad_calloc((size_t)graph->ngroups + 1, sizeof *f.has);
    enum adaps_status status =
        f.order && f.has ? ADAPS_OK : ad_error_memory(err, "vertices", n * sizeof *f.order);
    for (int attempt = 0; status == ADAPS_OK && !fits && attempt <= ATTEMPTS; attempt++)
        fits = fill(&f, fixed, attempt);
    ad_free(f.order);
    ad_free(f.has);
    if (status == ADAPS_OK && !fits)
        return ad_error_set(err, ADAPS_NO, "no random partitioning fits the devices' memory");
    return status;
}
