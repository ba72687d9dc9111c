#include "support/dp_oracle.h"
#include "fusion/region.h"
#include "search/context.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLOCK0, CLOCK1, LINK0, LINK1, CLOCKS }; /* LINKd: messages that device d sends */

#define NEVER (INT64_MIN / 4)
#define MAX_MESSAGES 8

/* max(clock[k] + w[k]) for the clocks at the beginning of a stretch. */
struct form {
    int64_t w[CLOCKS];
};

/* A pair of regions, one for each device. */
struct pair {
    struct ad_region r[2];
};

struct state {
    struct pair laid, pruned;
    bool exchange; /* the op before it cannot be derived */
    struct form *delays;
    size_t count, room;
};

struct states {
    struct state *items;
    size_t count, room;
};

/* What device d sends of one op's output, in order. */
struct messages {
    struct ad_region box[2][MAX_MESSAGES];
    int count[2];
};

struct oracle {
    const struct ad_search_problem *problem;
    struct ad_context context;
    struct ad_dp_answer *out;
};

/* --- the clocks --- */

static int64_t nanoseconds(double seconds)
{
    return llround(seconds * 1e9);
}

static struct form after(struct form f, int64_t ns)
{
    for (int k = 0; k < CLOCKS; k++)
        f.w[k] = f.w[k] <= NEVER ? NEVER : f.w[k] + ns;
    return f;
}

static struct form latest(struct form a, struct form b)
{
    for (int k = 0; k < CLOCKS; k++)
        a.w[k] = a.w[k] > b.w[k] ? a.w[k] : b.w[k];
    return a;
}

/* Where the four clocks stand, and the latest message for each device. */
struct clocks {
    struct form at[CLOCKS], arrived[2];
};

static void clocks_init(struct clocks *c)
{
    for (int k = 0; k < CLOCKS; k++) {
        for (int i = 0; i < CLOCKS; i++)
            c->at[i].w[k] = i == k ? 0 : NEVER;
        c->arrived[0].w[k] = c->arrived[1].w[k] = NEVER;
    }
}

static void compute(const struct oracle *o, struct clocks *c, int d, int op, struct ad_region r)
{
    const struct ad_graph *graph = o->problem->graph;
    const struct ad_op *p = &graph->ops[op];
    int64_t in = 0, r0, r1;
    for (int k = 0; k < p->ninputs; k++)
        in += graph->values[p->inputs[k]].box.n * ad_region_elements(ad_need(graph, p, k, r));
    ad_weight_slice(graph, p, r, &r0, &r1);
    r = ad_region_computed(graph, p, r);
    struct ad_work work =
        ad_cost_work(graph, p, graph->values[p->output].box.n * ad_region_elements(r), in, r1 - r0);
    int64_t ns = nanoseconds(ad_cost_seconds(&o->problem->cluster->devices[d], &work));
    c->at[CLOCK0 + d] = after(c->at[CLOCK0 + d], ns);
}

/* The sender copies, the message waits for the wire, and arrives a latency after its end. */
static void transmit(const struct oracle *o, struct clocks *c, int d, int value, struct ad_region r,
                     bool u8)
{
    const struct ad_cluster *cluster = o->problem->cluster;
    const struct ad_value *v = &o->problem->graph->values[value];
    const struct ad_device *sender = &cluster->devices[d];
    const struct ad_link *link = &cluster->links[d * 2 + (1 - d)];
    double bytes = 4.0 * (double)v->box.n * (double)ad_region_elements(r);
    struct form *mine = &c->at[CLOCK0 + d], *wire = &c->at[LINK0 + d];
    *mine = after(*mine, nanoseconds(bytes / (sender->table.memory_bw * sender->speed)));
    *wire = after(latest(*mine, *wire), nanoseconds((u8 ? bytes / 4 : bytes) / link->bandwidth));
    c->arrived[1 - d] = latest(c->arrived[1 - d], after(*wire, nanoseconds(link->latency)));
}

static void receive(struct clocks *c)
{
    for (int d = 0; d < 2; d++)
        c->at[CLOCK0 + d] = latest(c->at[CLOCK0 + d], c->arrived[d]);
}

/* The delays before the stretch, from those after it. */
static struct form before(const struct clocks *c, const struct form *delays)
{
    struct form sum;
    for (int k = 0; k < CLOCKS; k++)
        sum.w[k] = NEVER;
    for (int i = 0; i < CLOCKS; i++)
        if (delays->w[i] > NEVER)
            sum = latest(sum, after(c->at[i], delays->w[i]));
    return sum;
}

/* --- Pareto sets --- */

static bool as_good(const struct form *a, const struct form *b)
{
    for (int k = 0; k < CLOCKS; k++)
        if (a->w[k] > b->w[k])
            return false;
    return true;
}

static void keep(struct state *s, struct form delays)
{
    size_t left = 0;
    for (size_t i = 0; i < s->count; i++)
        if (as_good(&s->delays[i], &delays))
            return;
    for (size_t i = 0; i < s->count; i++)
        if (!as_good(&delays, &s->delays[i]))
            s->delays[left++] = s->delays[i];
    s->count = left;
    ck_assert(ad_grow(&s->delays, s->count, &s->room, sizeof *s->delays));
    s->delays[s->count++] = delays;
}

static bool same_pair(const struct pair *a, const struct pair *b)
{
    return ad_region_equal(a->r[0], b->r[0]) && ad_region_equal(a->r[1], b->r[1]);
}

static struct state *find_state(struct states *all, const struct state *like)
{
    for (size_t i = 0; i < all->count; i++) {
        struct state *s = &all->items[i];
        if (s->exchange == like->exchange && same_pair(&s->laid, &like->laid) &&
            same_pair(&s->pruned, &like->pruned))
            return s;
    }
    ck_assert(ad_grow(&all->items, all->count, &all->room, sizeof *all->items));
    all->items[all->count] =
        (struct state){.laid = like->laid, .pruned = like->pruned, .exchange = like->exchange};
    return &all->items[all->count++];
}

static void states_fini(struct oracle *o, struct states *all)
{
    o->out->states += (int)all->count;
    for (size_t i = 0; i < all->count; i++) {
        o->out->vectors += (int)all->items[i].count;
        ad_free(all->items[i].delays);
    }
    ad_free(all->items);
    *all = (struct states){0};
}

/* --- regions --- */

static bool constant(const struct ad_graph *graph, int value)
{
    return graph->values[value].constant >= 0;
}

/* What each device reads of the input of op `i`, given the regions of op i. */
static struct pair needs(const struct ad_graph *graph, int i, const struct pair *regions)
{
    struct pair need = {{ad_region_none(), ad_region_none()}};
    for (int d = 0; d < 2; d++)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            if (!constant(graph, graph->ops[i].inputs[k]))
                need.r[d] =
                    ad_region_hull(need.r[d], ad_need(graph, &graph->ops[i], k, regions->r[d]));
    return need;
}

static int by_region(const void *pa, const void *pb)
{
    const struct ad_region *a = pa, *b = pb;
    int32_t x[3] = {a->h0, a->w0, a->c0}, y[3] = {b->h0, b->w0, b->c0};
    for (int i = 0; i < 3; i++) /* disjoint boxes of one sender differ in one of these */
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* What each device has to send so that both have what they need. */
static void exchange(const struct pair *have, const struct pair *need, struct messages *m)
{
    memset(m, 0, sizeof *m);
    for (int to = 0; to < 2; to++) {
        struct ad_region rest[6];
        int from = 1 - to;
        int n =
            ad_region_empty(need->r[to]) ? 0 : ad_region_subtract(need->r[to], have->r[to], rest);
        for (int i = 0; i < n; i++) {
            ck_assert(ad_region_contains(have->r[from], rest[i]));
            m->box[from][m->count[from]++] = rest[i];
        }
        qsort(m->box[from], (size_t)m->count[from], sizeof *m->box[from], by_region);
    }
}

/* The regions without what is never read. */
static struct pair prune(const struct ad_graph *graph, int op, const struct pair *laid,
                         const struct pair *need, const struct messages *m)
{
    struct pair left = *laid;
    for (int d = 0; d < 2; d++) {
        struct ad_region want = ad_region_intersect(laid->r[d], need->r[d]);
        for (int i = 0; i < m->count[d]; i++)
            want = ad_region_hull(want, ad_region_intersect(laid->r[d], m->box[d][i]));
        want = ad_region_allow(graph, &graph->ops[op], want);
        if (!ad_region_empty(laid->r[d]) && ad_region_contains(laid->r[d], want))
            left.r[d] = want;
    }
    return left;
}

/* --- one op --- */

/* First the parts that are sent, each before its message, as long as they are at most half of all.
 * Then the rest, or everything again if the rest cannot be computed separately. Returns how many
 * messages left. */
static int compute_early(const struct oracle *o, struct clocks *c, int d, int op,
                         struct ad_region whole, const struct messages *m)
{
    const struct ad_graph *graph = o->problem->graph;
    const struct ad_op *p = &graph->ops[op];
    struct ad_region_set rest = {0};
    int sent = 0;
    ck_assert(ad_region_set_add(&rest, whole));
    for (; sent < m->count[d]; sent++) {
        struct ad_region part = ad_region_allow(graph, p, m->box[d][sent]);
        size_t left = rest.count;
        bool fresh = false;
        if (2 * ad_region_elements(part) > ad_region_elements(whole) ||
            !ad_region_contains(whole, part))
            break;
        while (left-- > 0)
            fresh = fresh || !ad_region_empty(ad_region_intersect(rest.boxes[left], part));
        if (fresh)
            compute(o, c, d, op, part);
        ck_assert(ad_region_set_remove(&rest, part));
        transmit(o, c, d, p->output, m->box[d][sent], false);
    }
    bool apart = rest.count <= (size_t)(1 + 5 * sent);
    for (size_t i = 0; i < rest.count && apart; i++)
        apart = ad_region_contains(whole, ad_region_allow(graph, p, rest.boxes[i]));
    for (size_t i = 0; i < rest.count && apart; i++)
        compute(o, c, d, op, ad_region_allow(graph, p, rest.boxes[i]));
    if (!apart)
        compute(o, c, d, op, whole);
    ad_region_set_fini(&rest);
    return sent;
}

/* From before op `op` to before the next one: its tasks, its messages, their arrival. */
static void run_op(const struct oracle *o, struct clocks *c, int op, const struct pair *regions,
                   const struct messages *m, bool early)
{
    clocks_init(c);
    for (int d = 0; d < 2; d++) {
        int sent = 0;
        if (!ad_region_empty(regions->r[d]) && early)
            sent = compute_early(o, c, d, op, regions->r[d], m);
        else if (!ad_region_empty(regions->r[d]))
            compute(o, c, d, op, regions->r[d]);
        for (; sent < m->count[d]; sent++)
            transmit(o, c, d, o->problem->graph->ops[op].output, m->box[d][sent], false);
    }
    receive(c);
}

/* Op `op` on `laid`, before a later state that needs `need`: into *all. */
static void extend(struct oracle *o, int op, const struct pair *laid, bool wants_exchange,
                   const struct pair *need, const struct state *later, struct states *all)
{
    struct messages m;
    exchange(laid, need, &m);
    struct state like = {.laid = *laid,
                         .pruned = prune(o->problem->graph, op, laid, need, &m),
                         .exchange = wants_exchange};
    struct state *s = find_state(all, &like);
    for (int early = 0; early < 2; early++) {
        struct clocks c;
        run_op(o, &c, op, &like.pruned, &m, early);
        for (size_t i = 0; i < later->count; i++)
            keep(s, before(&c, &later->delays[i]));
    }
}

static struct ad_region band(const struct ad_value *value, enum ad_dim dim, int32_t lo, int32_t hi)
{
    struct ad_region r = ad_region_whole(value);
    if (dim == AD_DIM_H)
        r.h0 = lo, r.h1 = hi;
    else if (dim == AD_DIM_W)
        r.w0 = lo, r.w1 = hi;
    else
        r.c0 = lo, r.c1 = hi;
    return ad_region_empty(r) ? ad_region_none() : r;
}

/* All regions that op `op` may have before one state. */
static void extend_all(struct oracle *o, int op, const struct pair *need, const struct state *later,
                       struct states *all)
{
    const struct ad_graph *graph = o->problem->graph;
    const struct ad_op *p = &graph->ops[op];
    const struct ad_value *value = &graph->values[p->output];
    bool split = false;
    for (int at = 0; at < 2; at++) {
        struct pair whole = {{ad_region_none(), ad_region_none()}};
        whole.r[at] = ad_region_whole(value);
        extend(o, op, &whole, true, need, later, all);
    }
    for (enum ad_dim dim = AD_DIM_H; dim <= AD_DIM_C; dim++) {
        int32_t size = ad_dim_extent(value, dim);
        for (int32_t cut = 0; cut <= size && o->context.can[op][dim]; cut++) {
            struct pair laid = {{ad_region_allow(graph, p, band(value, dim, 0, cut)),
                                 ad_region_allow(graph, p, band(value, dim, cut, size))}};
            extend(o, op, &laid, dim == AD_DIM_C, need, later, all);
        }
        split = split || o->context.can[op][dim];
    }
    if (o->context.can[op][AD_DIM_H] && o->problem->split_w) { /* a grid of one by two */
        int32_t w = value->box.w;
        struct pair laid = {{ad_region_allow(graph, p, band(value, AD_DIM_W, 0, w / 2)),
                             ad_region_allow(graph, p, band(value, AD_DIM_W, w / 2, w))}};
        extend(o, op, &laid, false, need, later, all);
    }
    struct pair laid = *need;
    if (op + 1 < graph->nops)
        laid = needs(graph, op + 1, &later->laid);
    for (int d = 0; d < 2; d++)
        laid.r[d] = ad_region_allow(graph, p, laid.r[d]);
    if (o->context.can[op][AD_DIM_EACH])
        extend(o, op, &laid, true, need, later, all);
    if (split && !later->exchange) { /* derived */
        bool spatial = o->context.can[op][AD_DIM_H] || o->context.can[op][AD_DIM_W];
        extend(o, op, &laid, !spatial, need, later, all);
    }
}

/* --- the chain --- */

static bool is_chain(const struct ad_graph *graph)
{
    int last = graph->ninputs == 1 ? graph->inputs[0] : -1;
    for (int i = 0; i < graph->nops; i++) {
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            if (!constant(graph, graph->ops[i].inputs[k]) && graph->ops[i].inputs[k] != last)
                return false;
        last = graph->ops[i].output;
    }
    return graph->nops > 0 && graph->noutputs == 1 && graph->outputs[0] == last;
}

/* The network's input goes out first, as floats or bytes; all clocks begin at 0. */
static void finish(struct oracle *o, const struct states *first, bool u8)
{
    const struct ad_graph *graph = o->problem->graph;
    const struct ad_value *input = &graph->values[graph->inputs[0]];
    struct pair have = {{ad_region_none(), ad_region_none()}};
    have.r[o->problem->cluster->source] = ad_region_whole(input);
    for (size_t i = 0; i < first->count; i++) {
        const struct state *s = &first->items[i];
        struct pair need = needs(graph, 0, &s->pruned);
        struct messages m;
        struct clocks c;
        exchange(&have, &need, &m);
        clocks_init(&c);
        for (int d = 0; d < 2; d++)
            for (int k = 0; k < m.count[d]; k++)
                transmit(o, &c, d, graph->inputs[0], m.box[d][k], u8);
        receive(&c);
        for (size_t k = 0; k < s->count; k++) {
            struct form total = before(&c, &s->delays[k]);
            int64_t ns = 0;
            for (int j = 0; j < CLOCKS; j++)
                ns = total.w[j] > ns ? total.w[j] : ns;
            if (ns < o->out->makespan_ns)
                o->out->makespan_ns = ns;
        }
    }
}

bool ad_dp_oracle(const struct ad_search_problem *problem, struct ad_dp_answer *out)
{
    const struct ad_graph *graph = problem->graph;
    int source = problem->cluster->source;
    struct oracle o = {.problem = problem, .out = out};
    if (problem->cluster->ndevices != 2 || problem->cluster->shared_medium || !is_chain(graph))
        return false;
    *out = (struct ad_dp_answer){0};
    ck_assert_int_eq(ad_context_init(&o.context, problem, NULL), ADAPS_OK);
    struct form end; /* the answer is there when the source's clock says so */
    for (int k = 0; k < CLOCKS; k++)
        end.w[k] = k == CLOCK0 + source ? 0 : NEVER;
    struct state output = {.exchange = true, .delays = &end, .count = 1};
    struct states later = {.items = &output, .count = 1};
    for (int i = graph->nops - 1; i >= 0; i--) {
        struct states all = {0};
        for (size_t k = 0; k < later.count; k++) {
            const struct state *s = &later.items[k];
            struct pair need = {{ad_region_none(), ad_region_none()}};
            if (i + 1 < graph->nops)
                need = needs(graph, i + 1, &s->pruned);
            else
                need.r[source] = ad_region_whole(&graph->values[graph->ops[i].output]);
            extend_all(&o, i, &need, s, &all);
        }
        if (i + 1 < graph->nops)
            states_fini(&o, &later);
        later = all;
    }
    out->makespan_ns = INT64_MAX;
    finish(&o, &later, false);
    if (ad_search_u8(problem) && ad_picture_fit(graph, graph->inputs[0]))
        finish(&o, &later, true);
    states_fini(&o, &later);
    ad_context_fini(&o.context);
    return true;
}
