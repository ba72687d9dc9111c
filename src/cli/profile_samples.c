/* The operators that every device is measured by, and graphs of single operators. */
#include "cli/profile_internal.h"
#include "ir/aliasing.h"
#include "ir/operators.h"
#include "ir/quantised.h"

#include <math.h>
#include <string.h>

/* Kernels, channels, strides and sizes of usual networks, chosen so that others lie between them.
 * Weights from a kilobyte to more than any L2 cache holds. In total about 2.5 billion
 * multiply-accumulates and 60 MB. */
const char *const ad_profile_samples[] = {
    "conv 3x3 56x56x64 -> 56x56x64",
    "conv 3x3 56x56x128 -> 56x56x128",
    "conv 3x3 28x28x128 -> 28x28x128",
    "conv 3x3 14x14x256 -> 14x14x256",
    "conv 3x3 7x7x512 -> 7x7x512",
    "conv 3x3 14x14x512 -> 14x14x512",
    "conv 3x3 112x112x16 -> 112x112x16",
    "conv 3x3 w2 28x28x128 -> 28x28x128",
    "conv 3x3 w2 14x14x256 -> 14x14x256",
    "conv 3x3/2 224x224x3 -> 112x112x32",
    "conv 3x3/2 56x56x64 -> 28x28x128",
    "conv 5x5 28x28x32 -> 28x28x64",
    "conv 1x7 17x17x128 -> 17x17x128",
    "conv 7x7/2 224x224x3 -> 112x112x64",
    "conv 11x11/4 224x224x3 -> 55x55x64",
    "conv 1x1 112x112x16 -> 112x112x96",
    "conv 1x1 56x56x64 -> 56x56x256",
    "conv 1x1 56x56x256 -> 56x56x64",
    "conv 1x1 56x56x144 -> 56x56x24",
    "conv 1x1 28x28x512 -> 28x28x128",
    "conv 1x1 14x14x256 -> 14x14x1024",
    "conv 1x1 14x14x1024 -> 14x14x256",
    "conv 1x1 7x7x160 -> 7x7x960",
    "conv 1x1 7x7x2048 -> 7x7x512",
    "conv 1x1/2 28x28x512 -> 14x14x1024",
    "conv 1x1 1x1x960 -> 1x1x240",
    "conv 3x3 q 56x56x64 -> 56x56x64",
    "conv 3x3 q 28x28x128 -> 28x28x128",
    "conv 3x3 q 7x7x512 -> 7x7x512",
    "conv 3x3/2 q 224x224x3 -> 112x112x32",
    "conv 1x1 q 56x56x64 -> 56x56x256",
    "conv 1x1 q 28x28x512 -> 28x28x128",
    "conv 1x1 q 14x14x1024 -> 14x14x256",
    "conv 1x1 q 7x7x160 -> 7x7x960",
    "conv 3x3 g32 56x56x128 -> 56x56x128",
    "conv 3x3 g32 14x14x512 -> 14x14x512",
    "conv 5x5 g2 27x27x96 -> 27x27x256",
    "conv 3x3 g32 112x112x32 -> 112x112x32",
    "conv 3x3/2 g96 112x112x96 -> 56x56x96",
    "conv 3x3 g144 56x56x144 -> 56x56x144",
    "conv 3x3 g384 14x14x384 -> 14x14x384",
    "conv 3x3 g960 7x7x960 -> 7x7x960",
    "conv 5x5 g240 14x14x240 -> 14x14x240",
    "conv 5x5/2 g240 28x28x240 -> 14x14x240",
    "conv 3x3 q g144 56x56x144 -> 56x56x144",
    "conv 3x3 q g960 7x7x960 -> 7x7x960",
    "conv 5x5 q g240 14x14x240 -> 14x14x240",
    "fc q 1x1x1280 -> 1x1x1000",
    "fc q 1x1x4096 -> 1x1x1024",
    "fc 1x1x256 -> 1x1x10",
    "fc 1x1x1280 -> 1x1x1000",
    "fc 1x1x2048 -> 1x1x1000",
    "fc 1x1x4096 -> 1x1x1024",
    "maxpool 2x2/2 112x112x64 -> 56x56x64",
    "maxpool 3x3/2 112x112x64 -> 56x56x64",
    "maxpool 3x3 28x28x256 -> 28x28x256",
    "maxpool 2x2/2 14x14x512 -> 7x7x512",
    "avgpool 3x3 35x35x192 -> 35x35x192",
    "gap 7x7x512 -> 1x1x512",
    "gap 14x14x96 -> 1x1x96",
    "add 56x56x256 -> 56x56x256",
    "add 14x14x1024 -> 14x14x1024",
    "add 7x7x160 -> 7x7x160",
    "add q 56x56x256 -> 56x56x256",
    "maxpool 3x3/2 q 112x112x64 -> 56x56x64",
    "mul *1 28x28x120 -> 28x28x120",
    "unary 112x112x64 -> 112x112x64",
    "unary 1x1x16 -> 1x1x16",
    "unary +LeakyRelu 28x28x256 -> 28x28x256",
    "unary +Sigmoid 28x28x64 -> 28x28x64",
    "unary +HardSwish 28x28x120 -> 28x28x120",
    "softmax 1x1x1000 -> 1x1x1000",
    "lrn *5 27x27x192 -> 27x27x192",
    "concat *2 28x28x256 -> 28x28x256",
    "concat *4 14x14x512 -> 14x14x512",
    "space-to-depth *2 26x26x64 -> 13x13x256",
    NULL,
};

/* --- graphs --- */

#define MOST_OPERANDS 16

struct maker {
    struct ad_graph *graph;
    size_t values, weights; /* used */
    int conversions;        /* ops that make quantised values, which come first */
};

static int add_value(struct maker *m, int64_t n, int64_t h, int64_t w, int64_t c, bool plain,
                     bool bytes)
{
    struct ad_value *v = &m->graph->values[m->values];
    *v = (struct ad_value){
        .name = "x", .type = ADAPS_FLOAT32, .producer = -1, .constant = -1, .box = {n, h, w, c}};
    if (bytes) {
        v->type = ADAPS_UINT8;
        v->scale = 0.05f;
        v->zero = 128;
    }
    v->format = plain ? AD_PLAIN : AD_NHWC;
    v->rank = plain ? 2 : 4;
    int64_t nhwc[4] = {n, c, h, w}, flat[2] = {n, c};
    memcpy(v->dims, plain ? flat : nhwc, (size_t)v->rank * sizeof *flat);
    return (int)m->values++;
}

/* An input of the graph with this shape, an existing one or a new one. */
static int find_input(struct maker *m, int64_t n, int64_t h, int64_t w, int64_t c, bool plain)
{
    struct ad_box box = {n, h, w, c};
    for (int i = 0; i < m->graph->ninputs; i++) {
        const struct ad_value *v = &m->graph->values[m->graph->inputs[i]];
        if (memcmp(&v->box, &box, sizeof box) == 0 && (v->format == AD_PLAIN) == plain)
            return m->graph->inputs[i];
    }
    return m->graph->inputs[m->graph->ninputs++] = add_value(m, n, h, w, c, plain, false);
}

/* The kind that does nothing but its activation. */
static enum ad_op_kind plain_kind(void)
{
    int kind = 0;
    while (!ad_operators[kind].activation)
        kind++;
    return (enum ad_op_kind)kind;
}

static struct ad_op conversion(int *inputs, int from, int to)
{
    inputs[0] = from;
    return (struct ad_op){.kind = plain_kind(),
                          .name = "Convert",
                          .type = "Convert",
                          .ninputs = 1,
                          .inputs = inputs,
                          .output = to,
                          .weight = -1,
                          .bias = -1,
                          .groups = 1,
                          .clamp_min = -INFINITY,
                          .clamp_max = INFINITY};
}

/* Its quantised form: made by an op of the first ones, an existing one or a new one. */
static int find_bytes(struct maker *m, int64_t n, int64_t h, int64_t w, int64_t c, bool plain)
{
    int input = find_input(m, n, h, w, c, plain);
    for (int i = 0; i < m->conversions; i++)
        if (m->graph->ops[i].inputs[0] == input)
            return m->graph->ops[i].output;
    struct ad_op *op = &m->graph->ops[m->conversions];
    *op = conversion(op->inputs, input, add_value(m, n, h, w, c, plain, true));
    m->graph->values[op->output].producer = m->conversions++;
    return op->output;
}

/* What the graph computes is floats. */
static void add_end(struct maker *m)
{
    struct ad_graph *graph = m->graph;
    struct ad_op *op = &graph->ops[graph->nops];
    const struct ad_value last = graph->values[op[-1].output];
    if (!ad_value_is_quantised(&last))
        return;
    *op = conversion(op->inputs, op[-1].output,
                     add_value(m, last.box.n, last.box.h, last.box.w, last.box.c,
                               last.format == AD_PLAIN, false));
    graph->values[op->output].producer = graph->nops++;
}

static int find_operand(struct maker *m, const struct ad_shape *s, int64_t h, int64_t w, int64_t c,
                        bool plain)
{
    return s->quantised ? find_bytes(m, s->n, h, w, c, plain) : find_input(m, s->n, h, w, c, plain);
}

static int add_weight(struct maker *m, int64_t rows, int64_t elements)
{
    m->graph->weights[m->weights] =
        (struct ad_weight){.name = "w", .rows = rows, .row_elements = elements};
    return (int)m->weights++;
}

/* Padding that gives `out` from `in`, where odd with more after than before. */
static void pad(int32_t in, int32_t out, int32_t kernel, int32_t stride, int32_t dilation,
                int32_t *before, int32_t *after)
{
    int32_t all = (out - 1) * stride + dilation * (kernel - 1) + 1 - in;
    *before = all > 0 ? all / 2 : 0;
    *after = all > 0 ? all - *before : 0;
}

static struct ad_window window_of(const struct ad_shape *s)
{
    struct ad_window w = {
        .kh = s->kh, .kw = s->kw, .sh = s->sh, .sw = s->sw, .dh = s->dh, .dw = s->dw};
    if (!s->kh)
        return w;
    pad(s->ih, s->oh, s->kh, s->sh, s->dh, &w.pt, &w.pb);
    pad(s->iw, s->ow, s->kw, s->sw, s->dw, &w.pl, &w.pr);
    w.real_pb = w.pb;
    w.real_pr = w.pr;
    return w;
}

static void add_operands(struct maker *m, const struct ad_shape *s, struct ad_op *op, bool plain)
{
    op->ninputs = 1;
    if (ad_operator_of(s->kind)->inputs == AD_VARIADIC) {
        op->ninputs = s->detail;
        for (int k = 0; k < op->ninputs; k++)
            op->inputs[k] = find_operand(m, s, s->oh, s->ow, s->oc / s->detail, false);
        return;
    }
    op->inputs[0] = find_operand(m, s, s->ih, s->iw, s->ic, plain);
    if (!ad_op_is_binary(op))
        return;
    op->ninputs = 2;
    op->inputs[1] = s->detail ? find_operand(m, s, 1, 1, s->ic, false) : op->inputs[0];
}

/* Whether its operands are rows, not maps. */
static bool is_plain(const struct ad_shape *s)
{
    const struct ad_operator *row = ad_operator_of(s->kind);
    bool rows = row->fields == AD_FIELD_ROWS && row->inputs == 1;
    return (row->fields & AD_FIELD_WEIGHT && !s->kh) || (rows && s->ih * s->iw == 1);
}

static void add_op(struct maker *m, const struct ad_shape *s, int index)
{
    struct ad_op *op = &m->graph->ops[index];
    const struct ad_operator *row = ad_operator_of(s->kind);
    bool weighted = row->fields & AD_FIELD_WEIGHT, plain = is_plain(s);
    *op = (struct ad_op){.kind = s->kind,
                         .name = row->name,
                         .type = row->name,
                         .inputs = op->inputs,
                         .weight = -1,
                         .bias = -1,
                         .window = window_of(s),
                         .winograd = s->winograd,
                         .groups = s->groups,
                         .function = (enum ad_function)s->function,
                         .alpha = 0.1f,
                         .beta = 0.5f,
                         .clamp_min = -INFINITY,
                         .clamp_max = INFINITY,
                         .lrn_size = s->detail,
                         .lrn_alpha = 1e-4f,
                         .lrn_beta = 0.75f,
                         .lrn_bias = 1,
                         .outer = s->n,
                         .inner = s->oc,
                         .block = s->detail};
    add_operands(m, s, op, plain);
    op->output = add_value(m, s->n, s->oh, s->ow, s->oc, plain, s->quantised != 0);
    m->graph->values[op->output].producer = index;
    if (!weighted)
        return;
    struct ad_shape direct = *s;
    direct.winograd = 0;
    double units = ad_shape_units(&direct) / ((double)s->n * s->oh * s->ow * s->oc);
    op->weight =
        add_weight(m, s->oc, s->quantised ? ad_quantised_words((int64_t)units) : (int64_t)units);
    op->bias = add_weight(m, s->oc, s->quantised ? AD_QUANTISED_ROW_WORDS : 1);
    op->clamp_min = 0; /* a ReLU, as most have */
}

/* Ops that make what a quantised op reads. */
static void add_conversions(struct maker *m, const struct ad_shape *s)
{
    int inputs[MOST_OPERANDS];
    struct ad_op op = {.kind = s->kind, .inputs = inputs};
    add_operands(m, s, &op, is_plain(s));
}

enum adaps_status ad_profile_graph(const char *const *shapes, int count, struct ad_graph **out,
                                   struct adaps_error *err)
{
    struct ad_graph *graph = ad_calloc(1, sizeof *graph);
    struct maker m = {.graph = graph};
    size_t n = 3 * (size_t)count; /* an op, and what quantises its operands */
    if (!graph)
        return ad_error_memory(err, "samples", sizeof *graph);
    struct ad_arena *arena = &graph->arena;
    graph->name = "samples";
    graph->ops = ad_arena_alloc(arena, n, sizeof *graph->ops);
    graph->values = ad_arena_alloc(arena, 4 * n, sizeof *graph->values);
    graph->weights = ad_arena_alloc(arena, 2 * n, sizeof *graph->weights);
    graph->inputs = ad_arena_alloc(arena, 2 * n, sizeof *graph->inputs);
    graph->outputs = ad_arena_alloc(arena, 1, sizeof *graph->outputs);
    int *operands = ad_arena_alloc(arena, MOST_OPERANDS * n, sizeof *operands);
    enum adaps_status status = ADAPS_OK;
    if (!graph->ops || !graph->values || !graph->weights || !graph->inputs || !graph->outputs ||
        !operands)
        status = ad_error_memory(err, "samples", n * sizeof *graph->values);
    for (size_t i = 0; i < n && status == ADAPS_OK; i++)
        graph->ops[i].inputs = operands + i * MOST_OPERANDS;
    for (int turn = 0; turn < 2; turn++) /* what makes quantised values comes first */
        for (int i = 0; i < count && status == ADAPS_OK; i++) {
            struct ad_shape shape;
            if (!ad_shape_parse(shapes[i], &shape) || shape.detail > MOST_OPERANDS)
                status =
                    ad_error_set(err, ADAPS_EINTERNAL, "the sample '%s' is no shape", shapes[i]);
            else if (turn > 0)
                add_op(&m, &shape, m.conversions + i);
            else if (shape.quantised)
                add_conversions(&m, &shape);
        }
    if (status == ADAPS_OK) {
        graph->nops = m.conversions + count;
        add_end(&m);
        graph->nvalues = (int)m.values;
        graph->nweights = (int)m.weights;
        graph->noutputs = 1;
        graph->outputs[0] = graph->ops[graph->nops - 1].output;
        status = ad_graph_verify(graph, false, err);
    }
    if (status == ADAPS_OK)
        status = ad_alias_mark(graph, err);
    if (status == ADAPS_OK)
        *out = graph;
    else
        ad_graph_free(graph);
    return status;
}
