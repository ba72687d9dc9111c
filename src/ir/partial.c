#include "ir/partial.h"
#include "ir/operators.h"
#include "ir/quantised.h"
#include "ir/weight.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- which ops --- */

/* Ops that read a weight, as weight or as bias. */
static int readers(const struct ad_graph *graph, int weight)
{
    int n = 0;
    for (int i = 0; i < graph->nops; i++)
        n += (graph->ops[i].weight == weight) + (graph->ops[i].bias == weight);
    return n;
}

static bool is_dense(const struct ad_op *op)
{
    return ad_op_is_dense(op) || (ad_op_is_conv(op) && op->groups == 1 && op->partial == 0);
}

int32_t ad_partial_shared(int ndevices)
{
    int32_t blocks = 2;
    while (blocks < 2 * ndevices && blocks < AD_PARTIAL_MOST)
        blocks *= 2;
    return blocks;
}

int32_t ad_partial_blocks(const struct ad_graph *graph, int i, int32_t most)
{
    const struct ad_op *op = &graph->ops[i];
    const struct ad_value *in = &graph->values[op->inputs[0]];
    int32_t blocks = 1;
    if (!is_dense(op) || (in->format == AD_PLAIN && in->rank != 2) ||
        readers(graph, op->weight) > 1 || (op->bias >= 0 && readers(graph, op->bias) > 1))
        return 1;
    most = most < AD_PARTIAL_MOST ? most : AD_PARTIAL_MOST;
    while (2 * blocks <= most && in->box.c % (2 * blocks) == 0 &&
           in->box.c / (2 * blocks) > 1) /* groups of one channel would be depthwise */
        blocks *= 2;
    return blocks;
}

bool ad_graph_is_partial(const struct ad_graph *graph)
{
    for (int i = 0; i < graph->nops; i++)
        if (graph->ops[i].partial > 1)
            return true;
    return false;
}

/* --- the graph --- */

/* What is added to a copy of the graph. */
struct growing {
    struct ad_graph *graph; /* ops and values have the room */
    bool failed;            /* no memory */
};

static int levels(int32_t blocks)
{
    return blocks > 1 ? 1 + levels(blocks / 2) : 0;
}

/* A new NHWC value of this box, of what value `like` is of. */
static int add_value(struct growing *g, const char *name, struct ad_box box, int like)
{
    const struct ad_value *l = &g->graph->values[like];
    g->graph->values[g->graph->nvalues] = (struct ad_value){.name = name,
                                                            .rank = 4,
                                                            .dims = {box.n, box.c, box.h, box.w},
                                                            .format = AD_NHWC,
                                                            .type = l->type,
                                                            .scale = l->scale,
                                                            .zero = l->zero,
                                                            .box = box,
                                                            .constant = -1};
    return g->graph->nvalues++;
}

/* What the products of value `in` and of weights are summed to. */
static int add_sums(struct growing *g, const char *name, struct ad_box box, int in)
{
    int sums = add_value(g, name, box, in);
    struct ad_value *v = &g->graph->values[sums];
    if (ad_value_is_quantised(v)) {
        v->type = ADAPS_INT32;
        v->zero = 0;
    }
    return sums;
}

/* "NAME what": of ops and values that the file does not have. */
static const char *name_of(struct growing *g, const char *name, const char *what)
{
    size_t size = strlen(name) + strlen(what) + 2;
    char *text = ad_arena_alloc(&g->graph->arena, size, 1);
    g->failed = g->failed || !text;
    if (text)
        snprintf(text, size, "%s %s", name, what);
    return text;
}

/* A bare op of one input. */
static struct ad_op *add_op(struct growing *g, enum ad_op_kind kind, const char *name, int in,
                            int out)
{
    int *inputs = ad_arena_alloc(&g->graph->arena, 1, sizeof *inputs);
    struct ad_op *op = &g->graph->ops[g->graph->nops];
    g->failed = g->failed || !inputs;
    if (inputs)
        inputs[0] = in;
    *op = (struct ad_op){.kind = kind,
                         .name = name,
                         .type = ad_operator_of(kind)->name,
                         .ninputs = 1,
                         .inputs = inputs,
                         .output = out,
                         .weight = -1,
                         .bias = -1,
                         .groups = 1,
                         .clamp_min = -INFINITY,
                         .clamp_max = INFINITY};
    g->graph->values[out].producer = g->graph->nops++;
    return op;
}

/* Features as a map of one pixel. */
static int as_map(struct growing *g, const struct ad_op *op)
{
    int in = op->inputs[0];
    struct ad_box box = g->graph->values[in].box;
    if (g->graph->values[in].format == AD_NHWC)
        return in;
    const char *name = name_of(g, op->name, "map");
    int map = add_value(g, name, box, in);
    add_op(g, AD_OP_RESHAPE, name, in, map);
    return map;
}

/* Input channels of a block. */
static int64_t part_of(const struct ad_graph *graph, const struct ad_op *conv)
{
    return graph->values[conv->inputs[0]].box.c / conv->groups;
}

/* The convolution of a group for each block; returns what it computes. */
static int add_groups(struct growing *g, const struct ad_op *op, int32_t blocks)
{
    int in = as_map(g, op);
    struct ad_box from = g->graph->values[in].box, box = g->graph->values[op->output].box;
    box.c *= blocks;
    if (ad_op_is_dense(op))
        box.h = box.w = 1;
    int sums = add_sums(g, name_of(g, op->name, "partial sums"), box, in);
    struct ad_op *conv = add_op(g, AD_OP_CONV, op->name, in, sums);
    conv->type = op->type;
    conv->groups = conv->partial = blocks;
    conv->weight = op->weight;
    conv->bias = op->bias;
    conv->window = op->window;
    if (ad_op_is_dense(op))
        conv->window = (struct ad_window){
            .kh = (int32_t)from.h, .kw = (int32_t)from.w, .sh = 1, .sw = 1, .dh = 1, .dw = 1};
    struct ad_weight *weight = &g->graph->weights[op->weight];
    int64_t row = part_of(g->graph, conv) * conv->window.kh * conv->window.kw;
    weight->rows *= blocks;
    weight->row_elements =
        ad_value_is_quantised(&g->graph->values[in]) ? ad_quantised_words(row) : row;
    weight->digest = (struct ad_digest){{0}};
    if (op->bias >= 0) {
        g->graph->weights[op->bias].rows *= blocks;
        g->graph->weights[op->bias].digest = (struct ad_digest){{0}};
    }
    return sums;
}

/* The tree of sums, down to the op's own output. The last one of quantised sums makes what the op
 * makes of them. */
static void add_tree(struct growing *g, const struct ad_op *op, int32_t blocks, int sums)
{
    bool dense = ad_op_is_dense(op), quantised = ad_value_is_quantised(&g->graph->values[sums]);
    struct ad_box box = g->graph->values[sums].box;
    int64_t inner = box.c / blocks;
    struct ad_op *fold = NULL;
    for (; blocks > 1; blocks /= 2) {
        char what[32];
        box.c /= 2;
        snprintf(what, sizeof what, "sums of %d", blocks / 2);
        bool last = blocks == 2 && !dense;
        const char *name = name_of(g, op->name, blocks == 2 ? "sum" : what);
        int out = last          ? op->output
                  : blocks == 2 ? add_value(g, name, box, op->output)
                                : add_value(g, name, box, sums);
        fold = add_op(g, AD_OP_FOLD, name, sums, out);
        fold->inner = inner;
        sums = out;
    }
    fold->weight = quantised ? op->bias : -1;
    fold->function = op->function;
    fold->alpha = op->alpha;
    fold->beta = op->beta;
    fold->clamp_min = op->clamp_min;
    fold->clamp_max = op->clamp_max;
    if (dense)
        add_op(g, AD_OP_RESHAPE, name_of(g, op->name, "features"), sums, op->output);
}

/* Ops and values that come for an op of so many blocks, at most. */
static int most_added(int32_t blocks)
{
    return blocks > 1 ? levels(blocks) + 2 : 0;
}

enum adaps_status ad_graph_partial(const struct ad_graph *graph, const int32_t *blocks,
                                   struct ad_graph **out, struct adaps_error *err)
{
    struct growing g = {0};
    struct ad_graph *copy = NULL;
    int more = 0;
    for (int i = 0; i < graph->nops; i++)
        more += most_added(blocks[i]);
    enum adaps_status status = ad_graph_copy(graph, &copy, err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_op *ops = copy->ops;
    int nops = copy->nops;
    size_t values = (size_t)(copy->nvalues + more);
    struct ad_value *grown = ad_arena_alloc(&copy->arena, values, sizeof *grown);
    copy->ops = ad_arena_alloc(&copy->arena, (size_t)(nops + more), sizeof *copy->ops);
    g.graph = copy;
    copy->nops = 0;
    if (!grown || !copy->ops) {
        ad_graph_free(copy);
        return ad_error_memory(err, "graph", values * sizeof *grown);
    }
    memcpy(grown, copy->values, (size_t)copy->nvalues * sizeof *grown);
    copy->values = grown;
    for (int i = 0; i < nops && !g.failed; i++) {
        if (blocks[i] > 1) {
            add_tree(&g, &ops[i], blocks[i], add_groups(&g, &ops[i], blocks[i]));
            continue;
        }
        copy->values[ops[i].output].producer = copy->nops;
        copy->ops[copy->nops++] = ops[i];
    }
    if (g.failed) {
        ad_graph_free(copy);
        return ad_error_memory(err, "graph", values * sizeof *grown);
    }
    *out = copy;
    return ADAPS_OK;
}

enum adaps_status ad_graph_partial_like(const struct ad_graph *graph, const struct ad_graph *like,
                                        struct ad_graph **out, struct adaps_error *err)
{
    size_t n = (size_t)graph->nops;
    int32_t *blocks = ad_calloc(n, sizeof *blocks);
    enum adaps_status status =
        blocks ? ADAPS_OK : ad_error_memory(err, "blocks", n * sizeof *blocks);
    for (int i = 0; i < like->nops && status == ADAPS_OK; i++) {
        const struct ad_op *op = &like->ops[i];
        int k = 0;
        if (op->partial <= 1)
            continue;
        while (k < graph->nops && graph->ops[k].weight != op->weight)
            k++;
        if (k == graph->nops || ad_partial_blocks(graph, k, op->partial) != op->partial)
            status =
                ad_error_set(err, ADAPS_EINPUT, "the model has no op '%s' to be added in %d blocks",
                             op->name, (int)op->partial);
        else
            blocks[k] = op->partial;
    }
    if (status == ADAPS_OK)
        status = ad_graph_partial(graph, blocks, out, err);
    ad_free(blocks);
    return status;
}

/* --- the weights' numbers --- */

/* Numbers in memory in another order: those of each part of the input channels together. Of
 * quantised operators they are bytes, up to a whole word. */
static enum adaps_status attach_data(const struct ad_weight *from, struct ad_weight *to,
                                     const struct ad_graph *graph, const struct ad_op *conv,
                                     struct adaps_error *err)
{
    size_t words = (size_t)to->row_elements, bytes = (size_t)to->rows * words * sizeof *to->data;
    size_t taps = (size_t)conv->window.kh * (size_t)conv->window.kw;
    size_t part = (size_t)part_of(graph, conv) *
                  (ad_value_is_quantised(&graph->values[conv->output]) ? 1 : sizeof *to->data);
    size_t blocks = (size_t)conv->partial, rows = (size_t)from->rows;
    enum adaps_status status = ADAPS_OK;
    float *numbers = ad_alloc_aligned((size_t)from->row_elements * sizeof *numbers);
    to->data = ad_alloc_aligned(bytes);
    if (!numbers || !to->data)
        status = ad_error_memory(err, to->name, bytes);
    else
        memset(to->data, 0, bytes);
    for (size_t o = 0; o < rows && status == ADAPS_OK; o++) {
        status = ad_weight_read(from, (int64_t)o, (int64_t)o + 1, numbers, err);
        for (size_t b = 0; b < blocks && status == ADAPS_OK; b++)
            for (size_t t = 0; t < taps; t++)
                memcpy((char *)(to->data + (b * rows + o) * words) + t * part,
                       (const char *)numbers + (t * blocks + b) * part, part);
    }
    ad_free(numbers);
    return status;
}

/* The numbers of a weight whose rows are those of the blocks of input channels, one block after the
 * other. */
static enum adaps_status attach_weight(const struct ad_weight *from, struct ad_weight *to,
                                       const struct ad_graph *graph, const struct ad_op *conv,
                                       struct adaps_error *err)
{
    if (!from->recipe || from->recipe->middle > 1) /* channels of several slices of a volume */
        return attach_data(from, to, graph, conv, err);
    to->recipe = ad_recipe_copy(from->recipe);
    if (!to->recipe)
        return ad_error_memory(err, to->name, sizeof *to->recipe);
    to->recipe->blocks = conv->partial;
    to->recipe->rows = to->rows;
    to->recipe->inner /= conv->partial;
    return ADAPS_OK;
}

/* The bias begins the first block, the others begin at zero; what else quantised operators have
 * there is that of each block. */
static enum adaps_status attach_bias(const struct ad_weight *from, struct ad_weight *to,
                                     bool quantised, struct adaps_error *err)
{
    size_t row = (size_t)to->row_elements * sizeof *to->data, bytes = (size_t)to->rows * row;
    to->data = ad_alloc_aligned(bytes);
    if (!to->data)
        return ad_error_memory(err, to->name, bytes);
    memset(to->data, 0, bytes);
    enum adaps_status status = ad_weight_read(from, 0, from->rows, to->data, err);
    for (int64_t i = from->rows; quantised && status == ADAPS_OK && i < to->rows; i++) {
        struct ad_quantised_row one;
        memcpy(&one, to->data + i % from->rows * to->row_elements, sizeof one);
        one.bias = 0;
        memcpy(to->data + i * to->row_elements, &one, sizeof one);
    }
    return status;
}

static enum adaps_status attach(struct ad_graph *from, struct ad_graph *to, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; i < to->nops && status == ADAPS_OK; i++) {
        const struct ad_op *op = &to->ops[i];
        struct ad_weight *weight = op->partial > 1 ? &to->weights[op->weight] : NULL;
        struct ad_weight *bias = weight && op->bias >= 0 ? &to->weights[op->bias] : NULL;
        if (weight)
            status = attach_weight(&from->weights[op->weight], weight, to, op, err);
        if (weight && status == ADAPS_OK)
            status = ad_weight_digest(weight, 0, weight->rows, &weight->digest, err);
        if (bias && status == ADAPS_OK)
            status = attach_bias(&from->weights[op->bias], bias, ad_op_is_quantised(to, op), err);
        if (bias && status == ADAPS_OK)
            status = ad_weight_digest(bias, 0, bias->rows, &bias->digest, err);
    }
    for (int i = 0; i < to->nweights && status == ADAPS_OK; i++)
        if (!ad_weight_attached(&to->weights[i]))
            ad_weight_move(&from->weights[i], &to->weights[i]);
    return status;
}

enum adaps_status ad_partial_replace(struct ad_graph **graph, struct ad_graph *partial,
                                     struct adaps_error *err)
{
    enum adaps_status status = attach(*graph, partial, err);
    ad_graph_free(*graph);
    *graph = partial;
    return status;
}
