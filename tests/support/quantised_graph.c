#include "support/quantised_graph.h"
#include "ir/aliasing.h"
#include "ir/operators.h"
#include "ir/quantised.h"
#include "ir/weight.h"

#include <math.h>
#include <string.h>

struct quantiser {
    const struct ad_graph *from;
    struct ad_graph *to;
    int *floats, *bytes; /* by value of `from`: its form in `to`; -1: none yet */
    struct ad_rng rng;
    bool failed;
};

static int below(struct quantiser *q, uint32_t n)
{
    return (int)ad_rng_below(&q->rng, n);
}

static int add_value(struct quantiser *q, const struct ad_value *like)
{
    struct ad_value *v = &q->to->values[q->to->nvalues];
    *v = *like;
    v->name = ad_arena_strdup(&q->to->arena, like->name);
    v->producer = v->constant = -1;
    q->failed = q->failed || !v->name;
    return q->to->nvalues++;
}

static struct ad_value quantised_like(struct quantiser *q, const struct ad_value *like)
{
    static const float scales[] = {0.0213f, 0.0471f, 0.0997f}; /* few ties */
    struct ad_value v = *like;
    v.type = below(q, 2) ? ADAPS_INT8 : ADAPS_UINT8;
    v.scale = scales[below(q, 3)];
    v.zero = below(q, 256) - (v.type == ADAPS_INT8 ? 128 : 0);
    v.box = ad_box_of(&v);
    return v;
}

static int add_weight(struct quantiser *q, const char *name, int64_t rows, int64_t words,
                      const void *data)
{
    struct ad_weight *w = &q->to->weights[q->to->nweights];
    size_t bytes = (size_t)(rows * words) * sizeof *w->data;
    *w = (struct ad_weight){.name = ad_arena_strdup(&q->to->arena, name),
                            .rows = rows,
                            .row_elements = words,
                            .data = ad_alloc_aligned(bytes)};
    q->failed = q->failed || !w->name || !w->data;
    if (w->data) {
        memcpy(w->data, data, bytes);
        w->digest = ad_digest_of(w->data, bytes);
    }
    return q->to->nweights++;
}

static void *copied(struct quantiser *q, const void *from, int n, size_t size)
{
    void *to = ad_arena_alloc(&q->to->arena, (size_t)n + 1, size);
    if (to && n > 0)
        memcpy(to, from, (size_t)n * size);
    return to;
}

static struct ad_op *add_op(struct quantiser *q, const struct ad_op *like, int ninputs, int output)
{
    struct ad_op *op = &q->to->ops[q->to->nops];
    *op = *like;
    op->name = ad_arena_strdup(&q->to->arena, like->name);
    op->type = ad_arena_strdup(&q->to->arena, like->type);
    op->inputs = ad_arena_alloc(&q->to->arena, (size_t)ninputs, sizeof *op->inputs);
    op->ninputs = ninputs;
    op->output = output;
    op->whole.ints = copied(q, like->whole.ints, like->whole.nints, sizeof *like->whole.ints);
    op->whole.floats =
        copied(q, like->whole.floats, like->whole.nfloats, sizeof *like->whole.floats);
    q->failed =
        q->failed || !op->name || !op->type || !op->inputs || !op->whole.ints || !op->whole.floats;
    q->to->values[output].producer = q->to->nops++;
    return op;
}

/* Between floats and bytes. */
static int convert(struct quantiser *q, int from, const struct ad_value *to)
{
    const struct ad_op unary = {.kind = AD_OP_UNARY,
                                .name = to->name,
                                .type = "Convert",
                                .weight = -1,
                                .bias = -1,
                                .groups = 1,
                                .clamp_min = -INFINITY,
                                .clamp_max = INFINITY};
    int out = add_value(q, to);
    struct ad_op *op = add_op(q, &unary, 1, out);
    if (op->inputs)
        op->inputs[0] = from;
    return out;
}

static int constant_floats(struct quantiser *q, int v)
{
    const struct ad_weight *w = &q->from->weights[q->from->values[v].constant];
    int out = add_value(q, &q->from->values[v]);
    q->to->values[out].constant = add_weight(q, w->name, 1, w->row_elements, w->data);
    return out;
}

static int constant_bytes(struct quantiser *q, int v)
{
    const struct ad_weight *w = &q->from->weights[q->from->values[v].constant];
    const struct ad_value as = quantised_like(q, &q->from->values[v]);
    int64_t words = ad_quantised_words(w->row_elements);
    float *data = ad_calloc((size_t)words, sizeof *data);
    int out = add_value(q, &as);
    q->failed = q->failed || !data;
    for (int64_t i = 0; data && i < w->row_elements; i++)
        ((uint8_t *)data)[i] = (uint8_t)ad_quantised_byte(&as, w->data[i]);
    if (data)
        q->to->values[out].constant = add_weight(q, w->name, 1, words, data);
    ad_free(data);
    return out;
}

static int floats_of(struct quantiser *q, int v)
{
    if (q->floats[v] < 0 && q->from->values[v].constant >= 0)
        q->floats[v] = constant_floats(q, v);
    else if (q->floats[v] < 0)
        q->floats[v] = convert(q, q->bytes[v], &q->from->values[v]);
    return q->floats[v];
}

static int bytes_of(struct quantiser *q, int v)
{
    if (q->bytes[v] < 0 && q->from->values[v].constant >= 0) {
        q->bytes[v] = constant_bytes(q, v);
    } else if (q->bytes[v] < 0) {
        const struct ad_value as = quantised_like(q, &q->from->values[v]);
        q->bytes[v] = convert(q, q->floats[v], &as);
    }
    return q->bytes[v];
}

/* --- weights --- */

static int byte_weights(struct quantiser *q, const struct ad_op *op, float *scale, int32_t *zero)
{
    const struct ad_weight *w = &q->from->weights[op->weight];
    int64_t words = ad_quantised_words(w->row_elements);
    float *data = ad_calloc((size_t)(w->rows * words), sizeof *data);
    bool centred = below(q, 4) != 0;
    q->failed = q->failed || !data;
    for (int64_t r = 0; data && r < w->rows; r++) {
        const float *row = w->data + r * w->row_elements;
        int8_t *to = (int8_t *)(data + r * words);
        float most = 1e-3f;
        for (int64_t i = 0; i < w->row_elements; i++)
            most = fmaxf(most, fabsf(row[i]));
        scale[r] = most / 100;
        zero[r] = centred ? 0 : below(q, 55) - 27;
        for (int64_t i = 0; i < w->row_elements; i++)
            to[i] = (int8_t)(nearbyintf(row[i] / scale[r]) + (float)zero[r]);
    }
    int out = data ? add_weight(q, w->name, w->rows, words, data) : -1;
    ad_free(data);
    return out;
}

static void add_parameters(struct quantiser *q, const struct ad_op *from, struct ad_op *op)
{
    const struct ad_weight *w = &q->from->weights[from->weight];
    size_t rows = (size_t)w->rows;
    float *scale = ad_calloc(rows, sizeof *scale);
    int32_t *zero = ad_calloc(rows, sizeof *zero);
    struct ad_quantised_row *data = ad_calloc(rows, sizeof *data);
    q->failed = q->failed || !scale || !zero || !data;
    if (!q->failed) {
        float in = q->to->values[op->inputs[0]].scale;
        op->weight = byte_weights(q, from, scale, zero);
        for (size_t r = 0; r < rows; r++) {
            float bias = from->bias >= 0 ? q->from->weights[from->bias].data[r] : 0;
            data[r] = (struct ad_quantised_row){(int32_t)nearbyintf(bias / (in * scale[r])),
                                                scale[r], zero[r]};
        }
        op->bias = add_weight(q, "rows", w->rows, AD_QUANTISED_ROW_WORDS, data);
    }
    ad_free(scale);
    ad_free(zero);
    ad_free(data);
}

/* The same weights. */
static void keep_parameters(struct quantiser *q, const struct ad_op *from, struct ad_op *op)
{
    const int old[] = {from->weight, from->bias};
    int *const new[] = {&op->weight, &op->bias};
    for (int k = 0; k < 2; k++) {
        const struct ad_weight *w = old[k] >= 0 ? &q->from->weights[old[k]] : NULL;
        *new[k] = w ? add_weight(q, w->name, w->rows, w->row_elements, w->data) : -1;
    }
}

/* --- ops --- */

static bool may_quantise(struct quantiser *q, const struct ad_op *op)
{
    enum ad_quantised_rule rule = ad_operator_of(op->kind)->quantised;
    return rule != AD_QUANTISED_NEVER && rule != AD_QUANTISED_FOLDED && !op->partial &&
           below(q, 8) > 0 && (op->function == AD_FN_NONE || rule == AD_QUANTISED_EITHER);
}

static void quantise_op(struct quantiser *q, const struct ad_op *from)
{
    enum ad_quantised_rule rule = ad_operator_of(from->kind)->quantised;
    bool bytes = may_quantise(q, from);
    int inputs[16], out = from->output;
    for (int k = 0; k < from->ninputs; k++)
        inputs[k] = bytes ? bytes_of(q, from->inputs[k]) : floats_of(q, from->inputs[k]);
    struct ad_value as = q->from->values[out];
    bool floats = !bytes || (rule == AD_QUANTISED_SUMMED && below(q, 5) == 0);
    float other = bytes ? q->to->values[inputs[0]].scale : 0;
    for (const struct ad_value plain = as; !floats && (as.scale == 0 || as.scale == other);)
        as = quantised_like(q, &plain); /* of another scale: averages of one have many ties */
    if (!floats && rule == AD_QUANTISED_SAME) {
        const struct ad_value *in = &q->to->values[inputs[0]];
        as.type = in->type;
        as.scale = in->scale;
        as.zero = in->zero;
    }
    int made = add_value(q, &as);
    (floats ? q->floats : q->bytes)[out] = made;
    struct ad_op *op = add_op(q, from, from->ninputs, made);
    for (int k = 0; k < from->ninputs && op->inputs; k++)
        op->inputs[k] = inputs[k];
    if (bytes)
        op->winograd = 0;
    if (bytes && from->weight >= 0)
        add_parameters(q, from, op);
    else
        keep_parameters(q, from, op);
}

static bool make_room(struct quantiser *q)
{
    const struct ad_graph *from = q->from;
    struct ad_graph *to = q->to;
    size_t nops = (size_t)from->nops, nvalues = (size_t)from->nvalues, operands = 0;
    for (int i = 0; i < from->nops; i++)
        operands += (size_t)from->ops[i].ninputs;
    to->name = ad_arena_strdup(&to->arena, from->name);
    to->ops = ad_arena_alloc(&to->arena, nops + operands + nvalues, sizeof *to->ops);
    to->values = ad_arena_alloc(&to->arena, 3 * nvalues + operands, sizeof *to->values);
    to->weights =
        ad_arena_alloc(&to->arena, 2 * nops + 2 * nvalues + operands, sizeof *to->weights);
    to->inputs = ad_arena_alloc(&to->arena, (size_t)from->ninputs, sizeof *to->inputs);
    to->outputs = ad_arena_alloc(&to->arena, (size_t)from->noutputs, sizeof *to->outputs);
    return to->name && to->ops && to->values && to->weights && to->inputs && to->outputs;
}

static void quantise(struct quantiser *q)
{
    const struct ad_graph *from = q->from;
    struct ad_graph *to = q->to;
    for (int v = 0; v < from->nvalues; v++)
        q->floats[v] = q->bytes[v] = -1;
    for (int i = 0; i < from->ninputs; i++)
        to->inputs[to->ninputs++] = q->floats[from->inputs[i]] =
            add_value(q, &from->values[from->inputs[i]]);
    for (int i = 0; i < from->nops && !q->failed; i++)
        quantise_op(q, &from->ops[i]);
    for (int i = 0; i < from->noutputs && !q->failed; i++)
        to->outputs[to->noutputs++] = floats_of(q, from->outputs[i]);
}

enum adaps_status ad_random_graph_quantised(struct ad_graph *graph, uint64_t seed,
                                            struct ad_graph **out, struct adaps_error *err)
{
    size_t nvalues = (size_t)graph->nvalues;
    struct quantiser q = {.from = graph,
                          .to = ad_calloc(1, sizeof *q.to),
                          .floats = ad_calloc(nvalues, sizeof *q.floats),
                          .bytes = ad_calloc(nvalues, sizeof *q.bytes),
                          .rng = {seed + 1}};
    q.failed = !q.to || !q.floats || !q.bytes || !make_room(&q);
    if (!q.failed)
        quantise(&q);
    enum adaps_status status =
        q.failed ? ad_error_memory(err, "graph", nvalues) : ad_graph_verify(q.to, true, err);
    if (status == ADAPS_OK)
        status = ad_alias_mark(q.to, err);
    ad_free(q.floats);
    ad_free(q.bytes);
    ad_graph_free(graph);
    if (status == ADAPS_OK)
        *out = q.to;
    else
        ad_graph_free(q.to);
    return status;
}
