/* The end of lowering: what the outputs need becomes the graph, numbered anew. */
#include "import/lower_internal.h"

/* Marks what the outputs need; inputs stay in any case. */
static void mark_live(const struct ad_draft_lowering *l, const int *outputs, bool *ops,
                      bool *values, bool *weights)
{
    for (int i = 0; i < l->draft->noutputs; i++)
        values[outputs[i]] = true;
    for (int i = 0; i < l->draft->ninputs; i++)
        values[i] = true; /* they are the first values, in this order */
    for (size_t i = l->nops; i-- > 0;) {
        const struct ad_op *op = &l->ops[i];
        ops[i] = values[op->output];
        for (int k = 0; k < op->ninputs && ops[i]; k++)
            values[op->inputs[k]] = true;
        if (ops[i] && op->weight >= 0)
            weights[op->weight] = true;
        if (ops[i] && op->bias >= 0)
            weights[op->bias] = true;
    }
    for (size_t i = 0; i < l->nvalues; i++)
        if (values[i] && l->values[i].constant >= 0)
            weights[l->values[i].constant] = true;
}

/* New numbers for what is live, in order; -1 for the rest. Returns how many there are. */
static int number(const bool *live, size_t count, int *numbers)
{
    int next = 0;
    for (size_t i = 0; i < count; i++)
        numbers[i] = live[i] ? next++ : -1;
    return next;
}

struct renumbering {
    bool *live[3]; /* ops, values, weights */
    int *number[3];
};

static bool copy_live(struct ad_draft_lowering *l, const struct renumbering *r, const int *outputs)
{
    struct ad_graph *g = l->graph;
    const int *op_of = r->number[0], *value_of = r->number[1], *weight_of = r->number[2];
    g->nops = number(r->live[0], l->nops, r->number[0]);
    g->nvalues = number(r->live[1], l->nvalues, r->number[1]);
    int nweights = number(r->live[2], l->nweights, r->number[2]);
    g->ninputs = l->draft->ninputs;
    g->noutputs = l->draft->noutputs;
    g->ops = ad_arena_alloc(&g->arena, (size_t)g->nops, sizeof *g->ops);
    g->values = ad_arena_alloc(&g->arena, (size_t)g->nvalues, sizeof *g->values);
    g->weights = ad_arena_alloc(&g->arena, (size_t)nweights, sizeof *g->weights);
    g->inputs = ad_arena_alloc(&g->arena, (size_t)g->ninputs, sizeof *g->inputs);
    g->outputs = ad_arena_alloc(&g->arena, (size_t)g->noutputs, sizeof *g->outputs);
    if (!g->ops || !g->values || !g->weights || !g->inputs || !g->outputs)
        return false;
    for (size_t i = 0; i < l->nops; i++) {
        if (!r->live[0][i])
            continue;
        struct ad_op op = l->ops[i];
        for (int k = 0; k < op.ninputs; k++)
            op.inputs[k] = value_of[op.inputs[k]];
        op.output = value_of[op.output];
        op.weight = op.weight < 0 ? -1 : weight_of[op.weight];
        op.bias = op.bias < 0 ? -1 : weight_of[op.bias];
        g->ops[op_of[i]] = op;
    }
    for (size_t i = 0; i < l->nvalues; i++) {
        if (!r->live[1][i])
            continue;
        struct ad_value v = l->values[i];
        v.producer = v.producer < 0 ? -1 : op_of[v.producer];
        v.constant = v.constant < 0 ? -1 : weight_of[v.constant];
        g->values[value_of[i]] = v;
    }
    for (size_t i = 0; i < l->nweights; i++) { /* from here on the graph owns the numbers */
        if (!r->live[2][i])
            continue;
        struct ad_weight *w = &g->weights[g->nweights++];
        *w = l->weights[i];
        l->weights[i].data = NULL;
        l->weights[i].recipe = NULL;
    }
    for (int i = 0; i < g->ninputs; i++)
        g->inputs[i] = value_of[i];
    for (int i = 0; i < g->noutputs; i++)
        g->outputs[i] = value_of[outputs[i]];
    return true;
}

static bool copy_metadata(struct ad_draft_lowering *l)
{
    const Onnx__ModelProto *proto = l->draft->model->proto;
    struct ad_graph *g = l->graph;
    const char *name = l->draft->proto->name;
    g->name = ad_arena_strdup(&g->arena, name ? name : "");
    g->metadata = ad_arena_alloc(&g->arena, 2 * proto->n_metadata_props + 1, sizeof *g->metadata);
    if (!g->name || !g->metadata)
        return false;
    for (size_t i = 0; i < proto->n_metadata_props; i++) {
        const Onnx__StringStringEntryProto *entry = proto->metadata_props[i];
        g->metadata[2 * i] = ad_arena_strdup(&g->arena, entry->key ? entry->key : "");
        g->metadata[2 * i + 1] = ad_arena_strdup(&g->arena, entry->value ? entry->value : "");
        if (!g->metadata[2 * i] || !g->metadata[2 * i + 1])
            return false;
    }
    return true;
}

static bool digest_weights(struct ad_draft_lowering *l)
{
    for (int i = 0; i < l->graph->nweights; i++) {
        struct ad_weight *w = &l->graph->weights[i];
        if (ad_weight_digest(w, 0, w->rows, &w->digest, l->err) != ADAPS_OK)
            return false;
    }
    return true;
}

bool ad_lower_finish(struct ad_draft_lowering *l)
{
    struct ad_draft *d = l->draft;
    size_t counts[3] = {l->nops, l->nvalues, l->nweights};
    struct renumbering r;
    int *outputs = ad_arena_alloc(&d->arena, (size_t)d->noutputs, sizeof *outputs);
    bool ok = outputs != NULL;
    for (int i = 0; i < 3; i++) {
        r.live[i] = ad_arena_alloc(&d->arena, counts[i] + 1, sizeof *r.live[i]);
        r.number[i] = ad_arena_alloc(&d->arena, counts[i] + 1, sizeof *r.number[i]);
        ok = ok && r.live[i] && r.number[i];
    }
    for (int i = 0; ok && i < d->noutputs; i++) {
        const int *in = l->lowered[d->outputs[i]].in;
        bool map = in[AD_NHWC] >= 0 && d->values[d->outputs[i]].rank != 5;
        outputs[i] = in[map ? AD_NHWC : AD_PLAIN];
    }
    if (ok)
        mark_live(l, outputs, r.live[0], r.live[1], r.live[2]);
    ok = ok && copy_live(l, &r, outputs) && copy_metadata(l);
    if (!ok)
        ad_error_memory(l->err, "graph", 0);
    return ok && digest_weights(l);
}
