#include "search/published/work_state.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

#define BIT(d) (UINT64_C(1) << (d))

/* --- making one --- */

static enum adaps_status allocate(struct ad_work_state *s, struct adaps_error *err)
{
    const struct ad_work_graph *g = s->graph;
    size_t n = (size_t)g->nvertices, devices = (size_t)g->ndevices;
    s->part = ad_calloc(n, sizeof *s->part);
    s->source_first = ad_calloc(n + 1, sizeof *s->source_first);
    s->sources = ad_calloc((size_t)g->first[g->nvertices] + 1, sizeof *s->sources);
    s->at = ad_calloc(n * devices, sizeof *s->at);
    s->mask = ad_calloc(n, sizeof *s->mask);
    s->members = ad_calloc((size_t)g->ngroups * devices + 1, sizeof *s->members);
    s->link = ad_calloc(devices * devices, sizeof *s->link);
    s->of_byte = ad_calloc(devices * devices, sizeof *s->of_byte);
    if (!s->part || !s->source_first || !s->sources || !s->at || !s->mask || !s->members ||
        !s->link || !s->of_byte)
        return ad_error_memory(err, "work graph", n * devices * sizeof *s->at);
    return ADAPS_OK;
}

static void turn_edges(struct ad_work_state *s)
{
    const struct ad_work_graph *g = s->graph;
    int *first = s->source_first;
    for (int i = 0; i < g->first[g->nvertices]; i++)
        first[g->readers[i]]++;
    for (int v = 0; v < g->nvertices; v++)
        first[v + 1] += first[v]; /* now the end of v's */
    for (int v = g->nvertices - 1; v >= 0; v--)
        for (int i = g->first[v + 1] - 1; i >= g->first[v]; i--)
            s->sources[--first[g->readers[i]]] = v;
}

static void count(struct ad_work_state *s)
{
    const struct ad_work_graph *g = s->graph;
    int n = g->ndevices;
    for (int v = 0; v < g->nvertices; v++) {
        int d = s->part[v];
        s->load[d] += g->work[v];
        s->used[d] += g->memory[v];
        if (g->group[v] >= 0 && s->members[g->group[v] * n + d]++ == 0)
            s->used[d] += g->shared[g->group[v]];
        for (int i = g->first[v]; i < g->first[v + 1]; i++) {
            int to = s->part[g->readers[i]];
            s->mask[v] |= BIT(to);
            if (s->at[v * n + to]++ > 0 || to == d)
                continue;
            s->link[d * n + to] += g->bytes[v];
            s->link[to * n + d] += g->bytes[v];
        }
    }
}

enum adaps_status ad_work_state_init(struct ad_work_state *out, const struct ad_work_graph *graph,
                                     enum ad_work_objective objective, const int *part,
                                     struct adaps_error *err)
{
    *out = (struct ad_work_state){.graph = graph, .objective = objective, .unit = 1};
    enum adaps_status status = allocate(out, err);
    if (status != ADAPS_OK)
        return status;
    memcpy(out->part, part, (size_t)graph->nvertices * sizeof *part);
    turn_edges(out);
    count(out);
    ad_work_state_scale(out, 0);
    return ADAPS_OK;
}

void ad_work_state_fini(struct ad_work_state *state)
{
    ad_free(state->part);
    ad_free(state->source_first);
    ad_free(state->sources);
    ad_free(state->at);
    ad_free(state->mask);
    ad_free(state->members);
    ad_free(state->link);
    ad_free(state->of_byte);
    *state = (struct ad_work_state){.graph = NULL};
}

/* --- the sum --- */

static double power(const struct ad_work_state *s, double x)
{
    for (int i = 0; i < s->squarings; i++)
        x *= x;
    return x;
}

static double link_term(const struct ad_work_state *s, int a, int b, int64_t bytes)
{
    if (s->objective == AD_WORK_BYTES)
        return (double)bytes;
    return power(s, (double)bytes * s->of_byte[a * s->graph->ndevices + b]);
}

static double device_term(const struct ad_work_state *s, int d, double load)
{
    return s->objective == AD_WORK_BYTES ? 0 : power(s, load * s->of_work[d]);
}

double ad_work_state_sum(const struct ad_work_state *s)
{
    int n = s->graph->ndevices;
    double sum = 0;
    for (int d = 0; d < n; d++) {
        sum += device_term(s, d, s->load[d]);
        for (int q = 0; q < d; q++)
            sum += link_term(s, d, q, s->link[d * n + q]);
    }
    return sum;
}

double ad_work_state_longest(const struct ad_work_state *s)
{
    int n = s->graph->ndevices;
    double longest = 0, bytes = 0;
    for (int d = 0; d < n; d++) {
        longest = fmax(longest, s->load[d] / s->graph->rate[d]);
        for (int q = 0; q < d; q++) {
            double x = (double)s->link[d * n + q];
            bytes += x;
            longest = fmax(longest, x / s->graph->bandwidth[d * n + q]);
        }
    }
    return s->objective == AD_WORK_BYTES ? bytes : longest;
}

void ad_work_state_scale(struct ad_work_state *s, int squarings)
{
    double longest = ad_work_state_longest(s);
    s->squarings = squarings;
    s->unit = longest > 0 && s->objective == AD_WORK_RATE ? longest : 1;
    for (int d = 0; d < s->graph->ndevices; d++)
        s->of_work[d] = 1 / s->graph->rate[d] / s->unit;
    for (int i = 0; i < s->graph->ndevices * s->graph->ndevices; i++)
        s->of_byte[i] = 1 / s->graph->bandwidth[i] / s->unit;
}

/* --- memory --- */

int64_t ad_work_state_need(const struct ad_work_state *s, int v, int device)
{
    const struct ad_work_graph *g = s->graph;
    int group = g->group[v];
    bool new = group >= 0 && s->members[group * g->ndevices + device] == 0;
    return g->memory[v] + (new ? g->shared[group] : 0);
}

int64_t ad_work_state_freed(const struct ad_work_state *s, int v)
{
    const struct ad_work_graph *g = s->graph;
    int group = g->group[v];
    bool last = group >= 0 && s->members[group * g->ndevices + s->part[v]] == 1;
    return g->memory[v] + (last ? g->shared[group] : 0);
}

/* --- moves --- */

void ad_work_state_leave(const struct ad_work_state *s, int v, struct ad_work_leaving *out)
{
    const struct ad_work_graph *g = s->graph;
    int n = g->ndevices, from = s->part[v];
    out->v = v;
    out->from = from;
    out->changed = s->mask[v] & ~BIT(from);
    for (uint64_t rest = out->changed; rest; rest &= rest - 1)
        out->change[__builtin_ctzll(rest)] = -g->bytes[v];
    for (int i = s->source_first[v]; i < s->source_first[v + 1]; i++) {
        int u = s->sources[i], d = s->part[u];
        if (d == from || s->at[u * n + from] != 1)
            continue;
        out->change[d] = (out->changed >> d & 1 ? out->change[d] : 0) - g->bytes[u];
        out->changed |= BIT(d);
    }
    out->sum =
        device_term(s, from, s->load[from] - g->work[v]) - device_term(s, from, s->load[from]);
    for (uint64_t rest = out->changed; rest; rest &= rest - 1) {
        int d = __builtin_ctzll(rest);
        int64_t bytes = s->link[from * n + d];
        out->sum += link_term(s, from, d, bytes + out->change[d]) - link_term(s, from, d, bytes);
    }
}

/* What the links of device `to` gain when the vertex comes; returns which. */
static uint64_t arriving(const struct ad_work_state *s, int v, int to, int64_t *change)
{
    const struct ad_work_graph *g = s->graph;
    uint64_t changed = s->mask[v] & ~BIT(to);
    for (uint64_t rest = changed; rest; rest &= rest - 1)
        change[__builtin_ctzll(rest)] = g->bytes[v];
    for (int i = s->source_first[v]; i < s->source_first[v + 1]; i++) {
        int u = s->sources[i], d = s->part[u];
        if (d == to || (s->mask[u] >> to & 1))
            continue;
        change[d] = (changed >> d & 1 ? change[d] : 0) + g->bytes[u];
        changed |= BIT(d);
    }
    return changed;
}

double ad_work_state_gain(const struct ad_work_state *s, const struct ad_work_leaving *leaving,
                          int to)
{
    int n = s->graph->ndevices, v = leaving->v, from = leaving->from;
    int64_t change[AD_WORK_DEVICES], between = s->link[from * n + to];
    double sum = leaving->sum;
    if (to == from)
        return 0;
    uint64_t changed = arriving(s, v, to, change);
    int64_t lost = leaving->changed >> to & 1 ? leaving->change[to] : 0;
    int64_t won = changed >> from & 1 ? change[from] : 0;
    if (lost != 0) /* the link between the two loses and wins */
        sum -= link_term(s, from, to, between + lost) - link_term(s, from, to, between);
    if (lost + won != 0)
        sum += link_term(s, from, to, between + lost + won) - link_term(s, from, to, between);
    for (uint64_t rest = changed & ~BIT(from); rest; rest &= rest - 1) {
        int d = __builtin_ctzll(rest);
        int64_t bytes = s->link[to * n + d];
        sum += link_term(s, to, d, bytes + change[d]) - link_term(s, to, d, bytes);
    }
    return sum + device_term(s, to, s->load[to] + s->graph->work[v]) -
           device_term(s, to, s->load[to]);
}

uint64_t ad_work_state_near(const struct ad_work_state *s, int v)
{
    uint64_t near = s->mask[v];
    for (int i = s->source_first[v]; i < s->source_first[v + 1]; i++)
        near |= s->mask[s->sources[i]] | BIT(s->part[s->sources[i]]);
    return near;
}

static void add(struct ad_work_state *s, int a, int b, int64_t bytes)
{
    int n = s->graph->ndevices;
    if (a == b)
        return;
    s->link[a * n + b] += bytes;
    s->link[b * n + a] += bytes;
}

void ad_work_state_move(struct ad_work_state *s, int v, int to)
{
    const struct ad_work_graph *g = s->graph;
    int n = g->ndevices, from = s->part[v], group = g->group[v];
    if (from == to)
        return;
    s->used[from] -= ad_work_state_freed(s, v);
    s->used[to] += ad_work_state_need(s, v, to);
    if (group >= 0) {
        s->members[group * n + from]--;
        s->members[group * n + to]++;
    }
    s->load[from] -= g->work[v];
    s->load[to] += g->work[v];
    for (uint64_t rest = s->mask[v]; rest; rest &= rest - 1) {
        int d = __builtin_ctzll(rest);
        add(s, from, d, -g->bytes[v]);
        add(s, to, d, g->bytes[v]);
    }
    for (int i = s->source_first[v]; i < s->source_first[v + 1]; i++) {
        int u = s->sources[i], d = s->part[u];
        if (--s->at[u * n + from] == 0) {
            s->mask[u] &= ~BIT(from);
            add(s, d, from, -g->bytes[u]);
        }
        if (s->at[u * n + to]++ == 0) {
            s->mask[u] |= BIT(to);
            add(s, d, to, g->bytes[u]);
        }
    }
    s->part[v] = to;
}
