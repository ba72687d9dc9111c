#include "search/published/work_ops.h"
#include "base/mem.h"
#include "fusion/region.h"

#include <stdlib.h>
#include <string.h>

#define BANDS 16           /* of an op, at most, */
#define MOST_VERTICES 4096 /* or fewer, so that there are about so many in all */
#define NO_LIMIT (INT64_MAX / 4)

/* The parts of a value that are vertices. */
struct pieces {
    int first, count;
    enum ad_dim dim;
};

struct edge {
    int from, to;
};

struct maker {
    struct ad_work_ops *out;
    const struct ad_graph *ir;
    struct pieces *pieces; /* by value; count 0: a constant */
    int most;              /* bands of an op */
    struct edge *edges;
    size_t nedges, capacity;
    int64_t *memory, *bytes, *shared;
    double *work;
    int *group;
    struct adaps_error *err;
};

static int64_t bytes_of(const struct ad_value *value, struct ad_region r)
{
    return value->box.n * ad_region_elements(r) * ad_value_unit(value);
}

/* Band k of `count` along a dimension. */
static struct ad_region band_of(const struct ad_value *value, enum ad_dim dim, int k, int count)
{
    int64_t extent = ad_dim_extent(value, dim);
    return ad_dim_slab(value, dim, (int32_t)(extent * k / count),
                       (int32_t)(extent * (k + 1) / count));
}

static struct ad_region piece(const struct maker *m, int value, int k)
{
    const struct pieces *p = &m->pieces[value];
    return band_of(&m->ir->values[value], p->dim, k, p->count);
}

/* --- which vertices there are --- */

static int64_t weight_bytes(const struct ad_graph *ir, const struct ad_op *op, int64_t rows)
{
    return op->weight < 0 ? 0
                          : rows * ir->weights[op->weight].row_elements * (int64_t)sizeof(float);
}

static enum ad_dim dim_of(const struct maker *m, int i)
{
    const struct ad_context *context = m->out->context;
    const struct ad_op *op = &m->ir->ops[i];
    const struct ad_value *value = &m->ir->values[op->output];
    int64_t weights = op->weight < 0 ? 0 : weight_bytes(m->ir, op, m->ir->weights[op->weight].rows);
    enum ad_dim bands = ad_context_bands(context, i);
    bool heavy = weights > bytes_of(value, ad_region_whole(value));
    if (context->can[i][AD_DIM_C] && (bands == AD_DIM_WHOLE || heavy))
        return AD_DIM_C;
    return bands;
}

static void lay_pieces(struct maker *m, int value, enum ad_dim dim, int *next)
{
    int32_t extent = ad_dim_extent(&m->ir->values[value], dim);
    m->pieces[value] = (struct pieces){*next, extent < m->most ? (int)extent : m->most, dim};
    *next += m->pieces[value].count;
}

static void list_vertices(struct maker *m)
{
    const struct ad_graph *ir = m->ir;
    int next = 0;
    m->most = MOST_VERTICES / (ir->nops + 1);
    m->most = m->most > BANDS ? BANDS : m->most > 1 ? m->most : 1;
    for (int i = 0; i < ir->nops; i++) {
        m->out->first[i] = next;
        m->out->dim[i] = dim_of(m, i);
        lay_pieces(m, ir->ops[i].output, m->out->dim[i], &next);
    }
    m->out->first[ir->nops] = next;
    for (int k = 0; k < ir->ninputs; k++)
        lay_pieces(m, ir->inputs[k], AD_DIM_H, &next);
    m->out->graph.nvertices = next + 1; /* what takes the outputs */
    m->out->graph.ngroups = ir->nops;
}

/* --- what they take --- */

static void measure(struct maker *m, int i, int k)
{
    const struct ad_graph *ir = m->ir;
    const struct ad_context *context = m->out->context;
    const struct ad_op *op = &ir->ops[i];
    const struct ad_device *device = &context->problem->cluster->devices[context->fastest];
    struct ad_region r = piece(m, op->output, k);
    int64_t r0, r1, in = 0, images = ir->values[op->output].box.n;
    int v = m->out->first[i] + k;
    for (int j = 0; j < op->ninputs; j++)
        in += ir->values[op->inputs[j]].box.n * ad_region_elements(ad_need(ir, op, j, r));
    ad_weight_slice(ir, op, r, &r0, &r1);
    struct ad_work work = ad_cost_work(ir, op, images * ad_region_elements(r), in, r1 - r0);
    m->work[v] = ad_cost_seconds(device, &work);
    m->bytes[v] = m->memory[v] = bytes_of(&ir->values[op->output], r);
    m->group[v] = i;
    if (m->out->dim[i] == AD_DIM_C)
        m->memory[v] += weight_bytes(ir, op, r1 - r0);
    else
        m->shared[i] = weight_bytes(ir, op, r1 - r0);
    m->out->op[v] = i;
}

static void measure_all(struct maker *m)
{
    const struct ad_graph *ir = m->ir;
    int last = m->out->graph.nvertices - 1;
    for (int v = 0; v <= last; v++) {
        m->group[v] = m->out->op[v] = -1;
        m->out->fixed[v] = v >= m->out->first[ir->nops];
    }
    for (int i = 0; i < ir->nops; i++)
        for (int k = 0; k < m->pieces[ir->ops[i].output].count; k++)
            measure(m, i, k);
    for (int j = 0; j < ir->ninputs; j++)
        for (int k = 0; k < m->pieces[ir->inputs[j]].count; k++) {
            int v = m->pieces[ir->inputs[j]].first + k;
            m->bytes[v] = m->memory[v] =
                bytes_of(&ir->values[ir->inputs[j]], piece(m, ir->inputs[j], k));
        }
}

/* --- who reads what --- */

static bool add_edge(struct maker *m, int from, int to)
{
    if (m->nedges == m->capacity && !ad_grow(&m->edges, m->nedges, &m->capacity, sizeof *m->edges))
        return false;
    m->edges[m->nedges++] = (struct edge){from, to};
    return true;
}

/* From all pieces of a value that meet the region. */
static bool add_readers(struct maker *m, int value, struct ad_region need, int to)
{
    for (int k = 0; k < m->pieces[value].count; k++)
        if (!ad_region_empty(ad_region_intersect(piece(m, value, k), need)) &&
            !add_edge(m, m->pieces[value].first + k, to))
            return false;
    return true;
}

static bool list_edges(struct maker *m)
{
    const struct ad_graph *ir = m->ir;
    for (int i = 0; i < ir->nops; i++) {
        const struct ad_op *op = &ir->ops[i];
        for (int k = 0; k < m->pieces[op->output].count; k++)
            for (int j = 0; j < op->ninputs; j++)
                if (!add_readers(m, op->inputs[j], ad_need(ir, op, j, piece(m, op->output, k)),
                                 m->out->first[i] + k))
                    return false;
    }
    for (int j = 0; j < ir->noutputs; j++)
        if (!add_readers(m, ir->outputs[j], ad_region_whole(&ir->values[ir->outputs[j]]),
                         m->out->graph.nvertices - 1))
            return false;
    return true;
}

static int by_ends(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return x->from != y->from ? x->from - y->from : x->to - y->to;
}

static enum adaps_status set_edges(struct maker *m)
{
    struct ad_work_graph *g = &m->out->graph;
    if (!list_edges(m))
        return ad_error_memory(m->err, "edges", m->nedges * sizeof *m->edges);
    if (m->nedges > 0)
        qsort(m->edges, m->nedges, sizeof *m->edges, by_ends);
    int *first = ad_arena_alloc(&m->out->arena, (size_t)g->nvertices + 1, sizeof *first);
    int *readers = ad_arena_alloc(&m->out->arena, m->nedges + 1, sizeof *readers);
    int count = 0, v = 0;
    if (!first || !readers)
        return ad_error_memory(m->err, "edges", m->nedges * sizeof *readers);
    for (size_t e = 0; e < m->nedges; e++) {
        if (e > 0 && by_ends(&m->edges[e - 1], &m->edges[e]) == 0)
            continue;
        while (v < m->edges[e].from)
            first[++v] = count;
        readers[count++] = m->edges[e].to;
    }
    while (v < g->nvertices)
        first[++v] = count;
    g->first = first;
    g->readers = readers;
    return ADAPS_OK;
}

/* --- the devices --- */

static enum adaps_status set_devices(struct maker *m)
{
    const struct ad_context *context = m->out->context;
    const struct ad_cluster *cluster = context->problem->cluster;
    struct ad_work_graph *g = &m->out->graph;
    int n = g->ndevices = cluster->ndevices;
    double *rate = ad_arena_alloc(&m->out->arena, (size_t)n, sizeof *rate);
    double *bandwidth = ad_arena_alloc(&m->out->arena, (size_t)n * (size_t)n, sizeof *bandwidth);
    int64_t *limit = ad_arena_alloc(&m->out->arena, (size_t)n, sizeof *limit);
    if (!rate || !bandwidth || !limit)
        return ad_error_memory(m->err, "devices", (size_t)n * (size_t)n * sizeof *bandwidth);
    for (int d = 0; d < n; d++) {
        uint64_t memory = cluster->devices[d].memory;
        rate[d] = context->speed[d] / context->speed[context->fastest];
        limit[d] = memory > 0 && memory < NO_LIMIT ? (int64_t)memory : NO_LIMIT;
        for (int q = 0; q < n; q++) { /* the slower way of the two */
            double there = cluster->links[d * n + q].bandwidth;
            double back = cluster->links[q * n + d].bandwidth;
            bandwidth[d * n + q] = d == q ? 1 : there < back ? there : back;
        }
    }
    g->rate = rate;
    g->bandwidth = bandwidth;
    g->limit = m->out->limit = limit;
    return ADAPS_OK;
}

/* --- the whole --- */

static enum adaps_status allocate(struct maker *m)
{
    struct ad_arena *arena = &m->out->arena;
    size_t nops = (size_t)m->ir->nops, most = (nops + (size_t)m->ir->ninputs) * BANDS + 1;
    m->out->first = ad_arena_alloc(arena, nops + 1, sizeof *m->out->first);
    m->out->dim = ad_arena_alloc(arena, nops + 1, sizeof *m->out->dim);
    m->out->op = ad_arena_alloc(arena, most, sizeof *m->out->op);
    m->out->fixed = ad_arena_alloc(arena, most, sizeof *m->out->fixed);
    m->memory = ad_arena_alloc(arena, most, sizeof *m->memory);
    m->bytes = ad_arena_alloc(arena, most, sizeof *m->bytes);
    m->work = ad_arena_alloc(arena, most, sizeof *m->work);
    m->group = ad_arena_alloc(arena, most, sizeof *m->group);
    m->shared = ad_arena_alloc(arena, nops + 1, sizeof *m->shared);
    m->pieces = ad_calloc((size_t)m->ir->nvalues + 1, sizeof *m->pieces);
    if (!m->out->first || !m->out->dim || !m->out->op || !m->out->fixed || !m->memory ||
        !m->bytes || !m->work || !m->group || !m->shared || !m->pieces)
        return ad_error_memory(m->err, "vertices", most * sizeof *m->memory);
    return ADAPS_OK;
}

enum adaps_status ad_work_ops_init(struct ad_work_ops *out, const struct ad_context *context,
                                   struct adaps_error *err)
{
    struct maker m = {.out = out, .ir = context->problem->graph, .err = err};
    *out = (struct ad_work_ops){.context = context};
    enum adaps_status status = allocate(&m);
    if (status == ADAPS_OK) {
        list_vertices(&m);
        measure_all(&m);
        out->graph.memory = m.memory;
        out->graph.bytes = m.bytes;
        out->graph.work = m.work;
        out->graph.group = m.group;
        out->graph.shared = m.shared;
        status = set_edges(&m);
    }
    if (status == ADAPS_OK)
        status = set_devices(&m);
    ad_free(m.pieces);
    ad_free(m.edges);
    return status;
}

void ad_work_ops_fini(struct ad_work_ops *ops)
{
    ad_arena_fini(&ops->arena);
    *ops = (struct ad_work_ops){.context = NULL};
}

/* --- partitionings --- */

bool ad_work_ops_allows(const void *data, const int *part, int v, int to)
{
    const struct ad_work_ops *ops = data;
    int op = ops->op[v];
    return op < 0 || ((v == ops->first[op] || part[v - 1] <= to) &&
                      (v + 1 == ops->first[op + 1] || to <= part[v + 1]));
}

void ad_work_ops_sort(const struct ad_work_ops *ops, int *part)
{
    int source = ops->context->problem->cluster->source;
    for (int v = 0; v < ops->graph.nvertices; v++) {
        int d = ops->fixed[v] ? source : part[v], k = v;
        for (; !ops->fixed[v] && k > ops->first[ops->op[v]] && part[k - 1] > d; k--)
            part[k] = part[k - 1];
        part[k] = d;
    }
}

static struct ad_region band(const struct ad_work_ops *ops, int v)
{
    const struct ad_graph *ir = ops->context->problem->graph;
    int op = ops->op[v], k = v - ops->first[op], count = ops->first[op + 1] - ops->first[op];
    return band_of(&ir->values[ir->ops[op].output], ops->dim[op], k, count);
}

void ad_work_ops_of(const struct ad_work_ops *ops, const struct ad_assignment *assignment,
                    int *part)
{
    int n = ops->graph.ndevices;
    for (int v = 0; v < ops->graph.nvertices; v++) {
        int64_t most = 0;
        part[v] = ops->context->problem->cluster->source;
        if (ops->fixed[v])
            continue;
        struct ad_region whole = band(ops, v);
        for (int d = 0; d < n; d++) {
            struct ad_region r = assignment->region[(size_t)ops->op[v] * (size_t)n + (size_t)d];
            int64_t here = ad_region_elements(ad_region_intersect(whole, r));
            if (here > most) {
                most = here;
                part[v] = d;
            }
        }
    }
    ad_work_ops_sort(ops, part);
}

/* Where device d's bands of an op begin. */
static int begin_of(const struct ad_work_ops *ops, const int *part, int op, int d)
{
    int v = ops->first[op];
    while (v < ops->first[op + 1] && part[v] < d)
        v++;
    return v - ops->first[op];
}

void ad_work_ops_layout(const struct ad_work_ops *ops, const int *part, struct ad_layout *layout)
{
    const struct ad_graph *ir = ops->context->problem->graph;
    int n = ops->graph.ndevices;
    layout->u8 = ops->context->u8;
    layout->encoding = ops->context->encoding;
    for (int i = 0; i < ir->nops; i++) {
        int first = ops->first[i], last = ops->first[i + 1] - 1, count = last + 1 - first;
        int32_t extent = ad_dim_extent(&ir->values[ir->ops[i].output], ops->dim[i]);
        bool whole = part[first] == part[last];
        layout->ops[i] = (struct ad_op_layout){
            .dim = whole ? AD_DIM_WHOLE : ops->dim[i], .pinned = true, .at = part[first]};
        int *cuts = ad_layout_cuts(layout, i);
        for (int d = 0; d <= n; d++) {
            int64_t row = (int64_t)extent * begin_of(ops, part, i, d) / count;
            cuts[d] = whole ? (d ? AD_CUT_UNITS : 0) : ad_row_cut((int32_t)row, extent);
        }
        cuts[0] = 0;
        cuts[n] = AD_CUT_UNITS;
    }
}
