/* Builder and generator are one file, of more than 800 lines, because they share what they know of
 * a graph under construction. */
#include "support/random_graph.h"
#include "support/quantised_graph.h"
#include "ir/aliasing.h"
#include "ir/operators.h"
#include "ir/partial.h"
#include "ir/quantised.h"
#include "ir/winograd.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- the builder --- */

void ad_build_init(struct ad_builder *b, uint64_t seed)
{
    *b = (struct ad_builder){.rng = {seed}};
    b->graph = ad_calloc(1, sizeof *b->graph);
    b->failed = !b->graph;
    if (b->failed)
        return;
    b->graph->name = ad_arena_strdup(&b->graph->arena, "random");
    b->graph->metadata = ad_arena_alloc(&b->graph->arena, 1, sizeof *b->graph->metadata);
    b->failed = !b->graph->name || !b->graph->metadata;
}

enum adaps_status ad_build_finish(struct ad_builder *b, struct ad_graph **out,
                                  struct adaps_error *err)
{
    enum adaps_status status =
        b->failed ? ad_error_memory(err, "random graph", 0) : ad_graph_verify(b->graph, true, err);
    if (status == ADAPS_OK)
        status = ad_alias_mark(b->graph, err);
    *out = status == ADAPS_OK ? b->graph : NULL;
    if (status != ADAPS_OK)
        ad_graph_free(b->graph);
    *b = (struct ad_builder){0};
    return status;
}

/* The array `items` of the graph with room for one more; the old one stays in the arena. */
static void *grown(struct ad_builder *b, void *items, int count, size_t *room, size_t size)
{
    if ((size_t)count < *room)
        return items;
    size_t wanted = *room ? 2 * *room : 16;
    void *fresh = ad_arena_alloc(&b->graph->arena, wanted, size);
    if (!fresh) {
        b->failed = true;
        return items;
    }
    if (count > 0)
        memcpy(fresh, items, (size_t)count * size);
    *room = wanted;
    return fresh;
}

static const char *numbered(struct ad_builder *b, const char *what, int number)
{
    char name[64];
    snprintf(name, sizeof name, "%s_%d", what, number);
    const char *copy = ad_arena_strdup(&b->graph->arena, name);
    b->failed |= !copy;
    return copy;
}

static int add_value(struct ad_builder *b, const char *what, enum ad_format format, int rank,
                     const int64_t *dims)
{
    struct ad_graph *g = b->graph;
    if (b->failed)
        return -1;
    g->values = grown(b, g->values, g->nvalues, &b->value_room, sizeof *g->values);
    const char *name = numbered(b, what, g->nvalues);
    if (b->failed)
        return -1;
    struct ad_value *v = &g->values[g->nvalues];
    *v = (struct ad_value){.name = name,
                           .rank = rank,
                           .format = format,
                           .type = ADAPS_FLOAT32,
                           .producer = -1,
                           .constant = -1};
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= v->dims[i] = dims[i];
    if (format == AD_NHWC)
        v->box = (struct ad_box){dims[0], dims[2], dims[3], dims[1]};
    else if (rank == 2)
        v->box = (struct ad_box){dims[0], 1, 1, dims[1]};
    else
        v->box = (struct ad_box){1, 1, 1, count};
    return g->nvalues++;
}

static int add_nhwc(struct ad_builder *b, const char *what, struct ad_box box)
{
    int64_t dims[4] = {box.n, box.c, box.h, box.w};
    return add_value(b, what, AD_NHWC, 4, dims);
}

static int add_weight(struct ad_builder *b, int64_t rows, int64_t row_elements, float scale)
{
    struct ad_graph *g = b->graph;
    size_t count = (size_t)(rows * row_elements);
    if (b->failed)
        return -1;
    g->weights = grown(b, g->weights, g->nweights, &b->weight_room, sizeof *g->weights);
    const char *name = numbered(b, "weight", g->nweights);
    float *data = ad_alloc_aligned(count * sizeof *data);
    if (b->failed || !data) {
        ad_free(data);
        b->failed = true;
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        data[i] = scale * ad_rng_float(&b->rng);
    g->weights[g->nweights] =
        (struct ad_weight){.name = name,
                           .rows = rows,
                           .row_elements = row_elements,
                           .data = data,
                           .digest = ad_digest_of(data, count * sizeof *data)};
    return g->nweights++;
}

/* An op without parameters; NULL after a failure. `output` becomes its product. */
static struct ad_op *add_op(struct ad_builder *b, enum ad_op_kind kind, const int *inputs, int n,
                            int output)
{
    struct ad_graph *g = b->graph;
    for (int i = 0; i < n; i++)
        b->failed |= inputs[i] < 0;
    if (b->failed)
        return NULL;
    g->ops = grown(b, g->ops, g->nops, &b->op_room, sizeof *g->ops);
    const char *name = numbered(b, ad_op_kind_name(kind), g->nops);
    int *copy = ad_arena_alloc(&g->arena, (size_t)n, sizeof *copy);
    b->failed |= !copy;
    if (b->failed)
        return NULL;
    memcpy(copy, inputs, (size_t)n * sizeof *copy);
    struct ad_op *op = &g->ops[g->nops];
    *op = (struct ad_op){.kind = kind,
                         .name = name,
                         .type = ad_op_kind_name(kind),
                         .ninputs = n,
                         .inputs = copy,
                         .output = output,
                         .weight = -1,
                         .bias = -1,
                         .groups = 1,
                         .clamp_min = -INFINITY,
                         .clamp_max = INFINITY};
    g->values[output].producer = g->nops++;
    return op;
}

static struct ad_box box_of(const struct ad_builder *b, int value)
{
    return b->failed || value < 0 ? (struct ad_box){1, 1, 1, 1} : b->graph->values[value].box;
}

static bool is_nhwc(const struct ad_builder *b, int value)
{
    return !b->failed && value >= 0 && b->graph->values[value].format == AD_NHWC;
}

/* A value of the dims and format of another. */
static int add_like(struct ad_builder *b, int value)
{
    if (b->failed || value < 0)
        return -1;
    struct ad_value v = b->graph->values[value];
    return add_value(b, "value", v.format, v.rank, v.dims);
}

int ad_build_input(struct ad_builder *b, int64_t n, int64_t h, int64_t w, int64_t c)
{
    int v = add_nhwc(b, "input", (struct ad_box){n, h, w, c});
    if (v < 0)
        return -1;
    int *inputs = ad_arena_alloc(&b->graph->arena, (size_t)b->graph->ninputs + 1, sizeof *inputs);
    b->failed |= !inputs;
    if (b->failed)
        return -1;
    if (b->graph->ninputs > 0)
        memcpy(inputs, b->graph->inputs, (size_t)b->graph->ninputs * sizeof *inputs);
    b->graph->inputs = inputs;
    inputs[b->graph->ninputs++] = v;
    return v;
}

int ad_build_constant(struct ad_builder *b, int rank, const int64_t *dims)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= dims[i];
    int v = add_value(b, "constant", rank == 4 ? AD_NHWC : AD_PLAIN, rank, dims);
    int weight = add_weight(b, 1, count, 1.0f);
    if (v >= 0 && weight >= 0)
        b->graph->values[v].constant = weight;
    return weight < 0 ? -1 : v;
}

int ad_build_divisor(struct ad_builder *b, int rank, const int64_t *dims)
{
    int v = ad_build_constant(b, rank, dims);
    if (v < 0)
        return -1;
    struct ad_weight *w = &b->graph->weights[b->graph->values[v].constant];
    for (int64_t i = 0; i < w->row_elements; i++)
        w->data[i] += copysignf(0.5f, w->data[i]);
    w->digest = ad_digest_of(w->data, (size_t)w->row_elements * sizeof *w->data);
    return v;
}

int ad_build_positive(struct ad_builder *b, int rank, const int64_t *dims)
{
    int v = ad_build_divisor(b, rank, dims);
    if (v < 0)
        return -1;
    struct ad_weight *w = &b->graph->weights[b->graph->values[v].constant];
    for (int64_t i = 0; i < w->row_elements; i++)
        w->data[i] = fabsf(w->data[i]);
    w->digest = ad_digest_of(w->data, (size_t)w->row_elements * sizeof *w->data);
    return v;
}

void ad_build_output(struct ad_builder *b, int value)
{
    struct ad_graph *g = b->graph;
    b->failed |= value < 0;
    if (b->failed)
        return;
    g->outputs = grown(b, g->outputs, g->noutputs, &b->output_room, sizeof *g->outputs);
    if (!b->failed)
        g->outputs[g->noutputs++] = value;
}

struct ad_window ad_window_square(int k, int s, int d, int p, int q)
{
    return (struct ad_window){k, k, s, s, d, d, p, p, q, q, q, q};
}

int64_t ad_window_output(int64_t in, int64_t k, int64_t s, int64_t d, int64_t pads)
{
    int64_t room = in + pads - d * (k - 1) - 1;
    return room < 0 ? 0 : room / s + 1;
}

static int add_windowed(struct ad_builder *b, enum ad_op_kind kind, int in, struct ad_window w,
                        int64_t c)
{
    struct ad_box box = box_of(b, in);
    box.h = ad_window_output(box.h, w.kh, w.sh, w.dh, (int64_t)w.pt + w.pb);
    box.w = ad_window_output(box.w, w.kw, w.sw, w.dw, (int64_t)w.pl + w.pr);
    box.c = c;
    int out = add_nhwc(b, "value", box);
    struct ad_op *op = add_op(b, kind, &in, 1, out);
    if (!op)
        return -1;
    op->window = w;
    return out;
}

int ad_build_conv(struct ad_builder *b, int in, struct ad_window w, int groups, int64_t c)
{
    int64_t row = w.kh * w.kw * (box_of(b, in).c / groups);
    int weight = add_weight(b, c, row, 1.7f / sqrtf((float)row));
    int bias = ad_rng_below(&b->rng, 4) ? add_weight(b, c, 1, 0.25f) : -1;
    int out = add_windowed(b, AD_OP_CONV, in, w, c);
    if (out < 0)
        return -1;
    struct ad_op *op = &b->graph->ops[b->graph->nops - 1];
    op->groups = groups;
    op->weight = weight;
    op->bias = bias;
    return out;
}

void ad_build_winograd(struct ad_builder *b, uint64_t seed)
{
    struct ad_rng rng = {seed}; /* of its own: all else stays as it is */
    for (int i = 0; !b->failed && i < b->graph->nops; i++) {
        struct ad_op *op = &b->graph->ops[i];
        int m = 2 * (int)ad_rng_below(&rng, 3);
        const struct ad_box *out = &b->graph->values[op->output].box;
        if (ad_op_may_winograd(op, m, out->h, out->w))
            op->winograd = m;
    }
}

int ad_build_pool(struct ad_builder *b, enum ad_op_kind kind, int in, struct ad_window w)
{
    int out = add_windowed(b, kind, in, w, box_of(b, in).c);
    if (out >= 0 && kind == AD_OP_AVGPOOL)
        b->graph->ops[b->graph->nops - 1].count_include_pad = ad_rng_below(&b->rng, 2);
    return out;
}

int ad_build_gap(struct ad_builder *b, int in)
{
    struct ad_box box = box_of(b, in);
    int out = add_nhwc(b, "value", (struct ad_box){box.n, 1, 1, box.c});
    return add_op(b, AD_OP_GAP, &in, 1, out) ? out : -1;
}

int ad_build_fc(struct ad_builder *b, int in, int64_t features)
{
    struct ad_box box = box_of(b, in);
    int64_t dims[2] = {box.n, features}, row = box.h * box.w * box.c;
    int weight = add_weight(b, features, row, 1.7f / sqrtf((float)row));
    int bias = add_weight(b, features, 1, 0.25f);
    int out = add_value(b, "value", AD_PLAIN, 2, dims);
    struct ad_op *op = add_op(b, AD_OP_FC, &in, 1, out);
    if (!op)
        return -1;
    op->weight = weight;
    op->bias = bias;
    return out;
}

int ad_build_binary(struct ad_builder *b, enum ad_op_kind kind, int x, int y)
{
    if (b->failed || x < 0 || y < 0)
        return -1;
    struct ad_value v = b->graph->values[x], u = b->graph->values[y];
    if (u.rank > v.rank) { /* dims of the longer operand, stretched by the shorter one */
        struct ad_value swap = v;
        v = u;
        u = swap;
    }
    for (int i = 0; i < u.rank; i++)
        if (v.dims[v.rank - u.rank + i] == 1)
            v.dims[v.rank - u.rank + i] = u.dims[i];
    int inputs[2] = {x, y}, out = add_value(b, "value", v.format, v.rank, v.dims);
    return add_op(b, kind, inputs, 2, out) ? out : -1;
}

int ad_build_concat(struct ad_builder *b, const int *inputs, int n)
{
    struct ad_box box = box_of(b, inputs[0]);
    for (int i = 1; i < n; i++)
        box.c += box_of(b, inputs[i]).c;
    int64_t dims[2] = {box.n, box.c};
    int out = is_nhwc(b, inputs[0]) ? add_nhwc(b, "value", box)
                                    : add_value(b, "value", AD_PLAIN, 2, dims);
    struct ad_op *op = add_op(b, AD_OP_CONCAT, inputs, n, out);
    if (!op)
        return -1;
    op->outer = box.n;
    op->inner = box.c;
    return out;
}

int ad_build_clamp(struct ad_builder *b, int in, float lo, float hi)
{
    int out = add_like(b, in);
    struct ad_op *op = add_op(b, AD_OP_UNARY, &in, 1, out);
    if (!op)
        return -1;
    op->clamp_min = lo;
    op->clamp_max = hi;
    return out;
}

void ad_build_fuse(struct ad_builder *b, enum ad_function function)
{
    static const float parameters[AD_FN_COUNT][2] = {
        [AD_FN_LEAKY_RELU] = {0.1f, 0},
        [AD_FN_HARD_SIGMOID] = {0.2f, 0.5f},
        [AD_FN_HARD_SWISH] = {1.0f / 6, 0.5f},
        [AD_FN_ELU] = {1.2f, 0.9f},
        [AD_FN_CELU] = {1.5f, 0},
        [AD_FN_THRESHOLDED_RELU] = {0.3f, 0},
    };
    if (b->failed)
        return;
    struct ad_op *op = &b->graph->ops[b->graph->nops - 1];
    op->function = function;
    op->alpha = parameters[function][0];
    op->beta = parameters[function][1];
}

int ad_build_function(struct ad_builder *b, int in, enum ad_function function)
{
    int out = ad_build_clamp(b, in, -INFINITY, INFINITY);
    ad_build_fuse(b, function);
    return out;
}

int ad_build_space_to_depth(struct ad_builder *b, int in, int block, bool channel_major)
{
    struct ad_box box = box_of(b, in);
    box = (struct ad_box){box.n, box.h / block, box.w / block, box.c * block * block};
    int out = add_nhwc(b, "value", box);
    struct ad_op *op = add_op(b, AD_OP_SPACE_TO_DEPTH, &in, 1, out);
    if (!op)
        return -1;
    op->block = block;
    op->channel_major = channel_major;
    return out;
}

int ad_build_depth_to_space(struct ad_builder *b, int in, int bh, int bw, bool channel_major,
                            bool cut)
{
    struct ad_box box = box_of(b, in);
    struct ad_window w = {.sh = bh, .sw = bw};
    int64_t h = box.h * bh, v = box.w * bw;
    if (cut) {
        w.pt = (int32_t)ad_rng_below(&b->rng, (uint32_t)h);
        w.pl = (int32_t)ad_rng_below(&b->rng, (uint32_t)v);
        h -= w.pt + ad_rng_below(&b->rng, (uint32_t)(h - w.pt));
        v -= w.pl + ad_rng_below(&b->rng, (uint32_t)(v - w.pl));
    }
    int out = add_nhwc(b, "value", (struct ad_box){box.n, h, v, box.c / (bh * bw)});
    struct ad_op *op = add_op(b, AD_OP_DEPTH_TO_SPACE, &in, 1, out);
    if (!op)
        return -1;
    op->window = w;
    op->channel_major = channel_major;
    return out;
}

int ad_build_reduce(struct ad_builder *b, int in, enum ad_reduction how)
{
    struct ad_box box = box_of(b, in);
    int out = add_nhwc(b, "value", (struct ad_box){box.n, box.h, box.w, 1});
    struct ad_op *op = add_op(b, AD_OP_REDUCE, &in, 1, out);
    if (!op)
        return -1;
    op->reduction = how;
    return out;
}

int ad_build_fold(struct ad_builder *b, int in, int inner)
{
    struct ad_box box = box_of(b, in);
    int out = add_nhwc(b, "value", (struct ad_box){box.n, box.h, box.w, box.c / 2});
    struct ad_op *op = add_op(b, AD_OP_FOLD, &in, 1, out);
    if (!op)
        return -1;
    op->inner = inner;
    return out;
}

int ad_build_shuffle(struct ad_builder *b, int in, int groups)
{
    struct ad_box box = box_of(b, in);
    int out = add_like(b, in);
    struct ad_op *op = add_op(b, AD_OP_PERMUTE, &in, 1, out);
    if (!op)
        return -1;
    op->view_rank = 5;
    memcpy(op->view_dims, (int64_t[]){box.n, box.h, box.w, groups, box.c / groups},
           5 * sizeof *op->view_dims);
    memcpy(op->perm, (int32_t[]){0, 1, 2, 4, 3}, 5 * sizeof *op->perm);
    return out;
}

int ad_build_resample(struct ad_builder *b, int in, const struct ad_resampling *how, int64_t h,
                      int64_t w, int64_t c)
{
    int out = add_nhwc(b, "value", (struct ad_box){box_of(b, in).n, h, w, c});
    struct ad_op *op = add_op(b, AD_OP_RESAMPLE, &in, 1, out);
    if (!op)
        return -1;
    op->resampling = *how;
    return out;
}

int ad_build_softmax(struct ad_builder *b, int in)
{
    int out = add_like(b, in);
    struct ad_op *op = add_op(b, AD_OP_SOFTMAX, &in, 1, out);
    if (!op)
        return -1;
    const struct ad_value *v = &b->graph->values[in];
    op->inner = v->rank > 0 ? v->dims[v->rank - 1] : 1;
    op->outer = v->box.n * v->box.h * v->box.w * v->box.c / op->inner;
    return out;
}

int ad_build_lrn(struct ad_builder *b, int in, int size)
{
    int out = add_like(b, in);
    struct ad_op *op = add_op(b, AD_OP_LRN, &in, 1, out);
    if (!op)
        return -1;
    op->lrn_size = size;
    op->lrn_alpha = 0.01f;
    op->lrn_beta = 0.75f;
    op->lrn_bias = 1.0f;
    return out;
}

int ad_build_reshape(struct ad_builder *b, int in, int rank, const int64_t *dims, bool plain)
{
    int out = add_value(b, "value", plain ? AD_PLAIN : AD_NHWC, rank, dims);
    return add_op(b, AD_OP_RESHAPE, &in, 1, out) ? out : -1;
}

int ad_build_matmul(struct ad_builder *b, int left, int right)
{
    int inputs[2] = {left, right};
    if (b->failed)
        return -1;
    struct ad_value x = b->graph->values[left], y = b->graph->values[right];
    int64_t depth = x.dims[x.rank - 1], count = 1;
    for (int i = 0; i < x.rank - 1; i++)
        count *= i < x.rank - 2 ? x.dims[i] : 1;
    x.dims[x.rank - 1] = y.dims[y.rank - 1];
    int out = add_value(b, "value", AD_PLAIN, x.rank, x.dims);
    struct ad_op *op = add_op(b, AD_OP_MATMUL, inputs, 2, out);
    if (!op)
        return -1;
    op->outer = count;
    op->inner = depth;
    return out;
}

int ad_build_whole_transpose(struct ad_builder *b, int in)
{
    if (b->failed)
        return -1;
    const int64_t *from = b->graph->values[in].dims;
    int out = add_value(b, "value", AD_PLAIN, 3, (int64_t[]){from[2], from[0], from[1]});
    struct ad_op *op = add_op(b, AD_OP_WHOLE, &in, 1, out);
    int64_t *perm = ad_arena_alloc(&b->graph->arena, 3, sizeof *perm);
    if (!op || !perm)
        return -1;
    memcpy(perm, (int64_t[]){2, 0, 1}, 3 * sizeof *perm);
    op->whole = (struct ad_whole){.kind = AD_WHOLE_TRANSPOSE, .ints = perm, .nints = 3};
    return out;
}

int ad_build_permute(struct ad_builder *b, int in)
{
    struct ad_box box = box_of(b, in);
    int64_t dims[3] = {box.n, box.c, box.h * box.w};
    int out = add_value(b, "value", AD_PLAIN, 3, dims);
    struct ad_op *op = add_op(b, AD_OP_PERMUTE, &in, 1, out);
    if (!op)
        return -1;
    op->view_rank = 3;
    memcpy(op->view_dims, (int64_t[]){box.n, box.h * box.w, box.c}, 3 * sizeof *op->view_dims);
    memcpy(op->perm, (int32_t[]){0, 2, 1}, 3 * sizeof *op->perm);
    return out;
}

/* --- random graphs --- */

static int below(struct ad_rng *rng, int64_t n)
{
    return (int)ad_rng_below(rng, (uint32_t)n);
}

/* Every so many of a part of the elements. */
static int64_t random_slice(struct ad_rng *rng, struct ad_positions *p, int64_t size, bool wild)
{
    int64_t lo = below(rng, size), count = 1 + below(rng, size - lo);
    *p = (struct ad_positions){1 + below(rng, 4) / 3, lo, 1};
    count = (count + p->step - 1) / p->step;
    if (wild && below(rng, 4) == 0) /* the same backwards */
        *p = (struct ad_positions){-p->step, lo + (count - 1) * p->step, 1};
    else if (wild && below(rng, 8) == 0)
        p->step = 0;
    return count;
}

static int64_t random_padding(struct ad_rng *rng, struct ad_positions *p, int64_t size, int most)
{
    int before = below(rng, most + 1), after = below(rng, most + 1);
    *p = (struct ad_positions){1, -before, 1};
    return size + before + after;
}

/* Half-pixel positions, or those of aligned corners. */
static int64_t random_scale(struct ad_rng *rng, struct ad_positions *p, int64_t size)
{
    int64_t out = 1 + below(rng, size < 8 ? 2 * size : size);
    *p = (struct ad_positions){2 * size, size - out, 2 * out};
    if (out > 1 && below(rng, 3) == 0)
        *p = (struct ad_positions){size - 1, 0, out - 1};
    return out;
}

int ad_build_random_resample(struct ad_builder *b, int in, bool wild)
{
    struct ad_box box = box_of(b, in);
    int64_t size[3] = {box.h, box.w, box.c};
    struct ad_rng *rng = &b->rng;
    int style = below(rng, 4);
    struct ad_resampling r = {.edge = (enum ad_edge)below(rng, AD_EDGE_COUNT), .fill = 0.5f};
    if (style == 3) {
        r.method = (enum ad_method)below(rng, AD_METHOD_COUNT);
        r.edge = AD_EDGE_REPEAT;
        r.cubic = -0.75f;
        r.exclude_outside = below(rng, 2);
    }
    for (int i = 0; i < 3; i++) {
        bool deep = i == 2 && (style == 3 || below(rng, 2));
        int most = r.edge == AD_EDGE_REFLECT && size[i] < 3 ? (int)size[i] - 1 : 2;
        if (deep)
            r.axis[i] = (struct ad_positions){1, 0, 1};
        else if (style == 0)
            size[i] = random_slice(rng, &r.axis[i], size[i], wild);
        else if (style == 3)
            size[i] = random_scale(rng, &r.axis[i], size[i]);
        else
            size[i] = random_padding(rng, &r.axis[i], size[i], i == 2 && !wild ? 0 : most);
        if (wild && !deep && style == 1 && r.edge == AD_EDGE_FILL && below(rng, 6) == 0)
            r.axis[i].start -= 4; /* there may be nothing but fill */
    }
    return ad_build_resample(b, in, &r, size[0], size[1], size[2]);
}

struct axis {
    int32_t k, s, d, p, q, real_q;
};

/* Whether every window of a pool reads an element. */
static bool reads_input(const struct axis *a, int64_t in)
{
    int64_t outputs = ad_window_output(in, a->k, a->s, a->d, (int64_t)a->p + a->q);
    for (int64_t o = 0; o < outputs; o++) {
        bool reads = false;
        for (int64_t j = 0; j < a->k; j++) {
            int64_t at = o * a->s - a->p + j * a->d;
            reads |= at >= 0 && at < in;
        }
        if (!reads)
            return false;
    }
    return true;
}

static struct axis random_axis(struct ad_rng *rng, enum ad_op_kind kind, int64_t in, bool wild)
{
    static const int32_t kernels[] = {1, 2, 3, 3, 3, 4, 5, 7};
    for (int tries = 0; tries < 20; tries++) {
        struct axis a = {.k = kernels[below(rng, 8)], .s = 1, .d = 1};
        a.s += below(rng, 6) / 3;
        if (kind != AD_OP_CONV && a.k == 1 && (kind == AD_OP_AVGPOOL || below(rng, 2)) && !wild)
            a.k = 2;
        if (below(rng, 8) == 0)
            a.s = 1 + below(rng, 4); /* may step over inputs */
        if (kind != AD_OP_AVGPOOL && below(rng, 4) == 0)
            a.d = 2 + below(rng, wild ? 3 : 1);
        int32_t span = (a.k - 1) * a.d + 1, most = wild ? span + 2 : (span + 1) / 2;
        if (below(rng, 3))
            a.p = a.q = span / 2;
        else
            a.p = below(rng, most + 1), a.q = below(rng, most + 1);
        if (kind != AD_OP_CONV && a.p >= a.k)
            a.p = a.k - 1;
        if (kind != AD_OP_CONV && a.q >= a.k)
            a.q = a.k - 1;
        a.real_q = a.q;
        int64_t left = (in + a.p + a.q - span) % a.s, outputs = (in + a.p + a.q - span) / a.s + 1;
        if (in + a.p + a.q < span)
            continue;
        if (kind != AD_OP_CONV && left > 0 && outputs * a.s < in + a.p && below(rng, 2))
            a.q += (int32_t)(a.s - left); /* ceil_mode */
        if (kind == AD_OP_CONV || reads_input(&a, in))
            return a;
    }
    return (struct axis){in > 1 && !wild ? 2 : 1, 1, 1, 0, 0, 0};
}

struct ad_window ad_random_window(struct ad_rng *rng, enum ad_op_kind kind, int64_t in_h,
                                  int64_t in_w, bool wild)
{
    struct axis y = random_axis(rng, kind, in_h, wild), x = random_axis(rng, kind, in_w, wild);
    return (struct ad_window){y.k, x.k, y.s, x.s, y.d, x.d, y.p, x.p, y.q, x.q, y.real_q, x.real_q};
}

/* Stride 1 and the size of the input, the padding split at random. */
static struct ad_window same_window(struct ad_rng *rng)
{
    struct ad_window w = ad_window_square(1, 1, 1, 0, 0);
    w.kh += below(rng, 5);
    w.kw += below(rng, 5);
    w.dh += below(rng, 5) / 4;
    int32_t high = (w.kh - 1) * w.dh, wide = (w.kw - 1) * w.dw;
    bool even = below(rng, 3) > 0;
    w.pt = even ? high / 2 : below(rng, high + 1);
    w.pl = even ? wide / 2 : below(rng, wide + 1);
    w.pb = w.real_pb = high - w.pt;
    w.pr = w.real_pr = wide - w.pl;
    return w;
}

static void random_activation(struct ad_builder *b)
{
    static const float bounds[][2] = {
        {-INFINITY, INFINITY}, {0, INFINITY}, {0, INFINITY}, {0, 6}, {-0.5f, 0.75f}};
    int pick = below(&b->rng, 5);
    if (b->failed)
        return;
    b->graph->ops[b->graph->nops - 1].clamp_min = bounds[pick][0];
    b->graph->ops[b->graph->nops - 1].clamp_max = bounds[pick][1];
    if (below(&b->rng, 4) == 0)
        ad_build_fuse(b, (enum ad_function)below(&b->rng, AD_FN_ELU));
}

static enum ad_op_kind random_binary_kind(struct ad_builder *b)
{
    static const enum ad_op_kind kinds[] = {AD_OP_ADD, AD_OP_MUL, AD_OP_ADD, AD_OP_SUB,
                                            AD_OP_MIN, AD_OP_MAX, AD_OP_ADD, AD_OP_PRELU};
    return kinds[below(&b->rng, 8)];
}

/* Dense, grouped or depthwise; out_c <= 0: any number of channels up to max_c. */
static int random_conv(struct ad_builder *b, int in, struct ad_window w, int64_t out_c, int max_c)
{
    int64_t c = box_of(b, in).c, groups = 1;
    int style = below(&b->rng, 4);
    if (style == 0)
        groups = c;
    else if (style == 1)
        for (groups = 1 + below(&b->rng, c); c % groups; groups--)
            continue;
    if (out_c > 0 ? out_c % groups != 0 : groups > max_c)
        groups = 1;
    if (out_c <= 0)
        out_c = groups * (1 + below(&b->rng, max_c / groups));
    int out = ad_build_conv(b, in, w, (int)groups, out_c);
    random_activation(b);
    return out;
}

static int residual(struct ad_builder *b, int in, int max_c)
{
    int branch = random_conv(b, in, same_window(&b->rng), 0, max_c);
    branch = random_conv(b, branch, same_window(&b->rng), box_of(b, in).c, max_c);
    enum ad_op_kind kind = random_binary_kind(b);
    int out = below(&b->rng, 2) ? ad_build_binary(b, kind, branch, in)
                                : ad_build_binary(b, kind, in, branch);
    random_activation(b);
    return out;
}

static int inception(struct ad_builder *b, int in, int max_c)
{
    int inputs[3], n = 2 + below(&b->rng, 2), part = max_c / n > 0 ? max_c / n : 1;
    for (int i = 0; i < n; i++) {
        inputs[i] = in;
        for (int depth = below(&b->rng, 3) + (i == 0); depth > 0; depth--)
            inputs[i] = random_conv(b, inputs[i], same_window(&b->rng), 0, part);
    }
    return ad_build_concat(b, inputs, n);
}

/* Squeeze and excite: the gate is one pixel of all channels. */
static int gate(struct ad_builder *b, int in, int max_c)
{
    struct ad_window one = ad_window_square(1, 1, 1, 0, 0);
    int64_t c = box_of(b, in).c;
    int v = ad_build_conv(b, ad_build_gap(b, in), one, 1, 1 + below(&b->rng, max_c));
    random_activation(b);
    v = ad_build_conv(b, v, one, 1, c);
    v = below(&b->rng, 2) ? ad_build_clamp(b, v, 0, 1)
                          : ad_build_function(b, v, AD_FN_SIGMOID + below(&b->rng, 3));
    return ad_build_binary(b, AD_OP_MUL, in, v);
}

static int with_constant(struct ad_builder *b, int in)
{
    struct ad_box box = box_of(b, in);
    int64_t dims[4] = {1, 1, 1, 1};
    dims[1] = below(&b->rng, 3) ? box.c : 1;
    dims[2] = below(&b->rng, 4) ? 1 : box.h;
    dims[3] = below(&b->rng, 4) ? 1 : box.w;
    if (below(&b->rng, 4) == 0)
        return ad_build_binary(b, AD_OP_DIV, in, ad_build_divisor(b, 4, dims));
    if (below(&b->rng, 6) == 0) /* of absolute values, to positive powers */
        return ad_build_binary(b, AD_OP_POW, ad_build_function(b, in, AD_FN_ABS),
                               ad_build_positive(b, 4, dims));
    enum ad_op_kind kind = random_binary_kind(b);
    int constant = ad_build_constant(b, 4, dims);
    int out = below(&b->rng, 2) ? ad_build_binary(b, kind, in, constant)
                                : ad_build_binary(b, kind, constant, in);
    random_activation(b);
    return out;
}

static int random_pool(struct ad_builder *b, int in, bool wild)
{
    enum ad_op_kind kind = below(&b->rng, 2) ? AD_OP_MAXPOOL : AD_OP_AVGPOOL;
    struct ad_box box = box_of(b, in);
    int64_t area = box.h * box.w;
    if (area == 1 && !wild)
        return ad_build_lrn(b, in, 3);
    int out = ad_build_pool(b, kind, in, ad_random_window(&b->rng, kind, box.h, box.w, wild));
    random_activation(b);
    return out;
}

/* Blocks of 2 or 3 where they fit and the channels do not become too many. */
static int space_to_depth(struct ad_builder *b, int in, int max_c)
{
    struct ad_box box = box_of(b, in);
    int block = 2 + below(&b->rng, 2);
    bool major = below(&b->rng, 2);
    if (box.h % block != 0 || box.w % block != 0 || box.c * block * block > 4 * max_c)
        return ad_build_function(b, in, (enum ad_function)below(&b->rng, AD_FN_ELU));
    return ad_build_space_to_depth(b, in, block, major);
}

/* Blocks where they fit and the map does not become too large; else a fold or a shuffle of
 * channels.
 */
static int depth_to_space(struct ad_builder *b, int in, bool wild)
{
    struct ad_box box = box_of(b, in);
    int bh = 1 + below(&b->rng, 3), bw = 1 + below(&b->rng, 3);
    bool major = below(&b->rng, 2);
    if (box.c % (bh * bw) == 0 && box.h * box.w < 100)
        return ad_build_depth_to_space(b, in, bh, bw, major, wild);
    if (box.c % 4 == 0)
        return ad_build_fold(b, in, (int)box.c / (major ? 2 : 4));
    return ad_build_shuffle(b, in, box.c % 2 == 0 ? 2 : (int)box.c);
}

/* Less the mean (or something else) of each pixel's channels. */
static int centred(struct ad_builder *b, int in)
{
    int mean = ad_build_reduce(b, in, (enum ad_reduction)below(&b->rng, AD_REDUCE_COUNT));
    return ad_build_binary(b, AD_OP_SUB, in, ad_build_clamp(b, mean, -2, 2));
}

static int random_step(struct ad_builder *b, int in, const struct ad_random_graph_options *o)
{
    struct ad_box box = box_of(b, in);
    int pick = below(&b->rng, 28);
    if (o->chain && pick < 7)
        pick += 7;
    if (pick < 3)
        return residual(b, in, o->max_c);
    if (pick < 6)
        return inception(b, in, o->max_c);
    if (pick < 7)
        return o->spatial ? residual(b, in, o->max_c) : gate(b, in, o->max_c);
    if (pick < 13)
        return random_conv(b, in, ad_random_window(&b->rng, AD_OP_CONV, box.h, box.w, o->wild), 0,
                           o->max_c);
    if (pick < 16)
        return random_pool(b, in, o->wild);
    if (pick < 17)
        return with_constant(b, in);
    if (pick < 18)
        return ad_build_lrn(b, in, 1 + below(&b->rng, 6));
    if (pick < 19 && !o->spatial)
        return ad_build_softmax(b, in);
    if (pick < 21)
        return space_to_depth(b, in, o->max_c);
    if (pick < 22)
        return ad_build_clamp(b, in, below(&b->rng, 2) ? 0 : -0.5f, 2);
    if (pick < 23)
        return ad_build_function(b, in, AD_FN_ELU + below(&b->rng, AD_FN_EXP - AD_FN_ELU));
    if (pick < 26)
        return ad_build_random_resample(b, in, o->wild);
    if (pick < 27 || o->spatial || o->chain)
        return depth_to_space(b, in, o->wild);
    return centred(b, in);
}

/* What a network ends with. */
static int random_tail(struct ad_builder *b, int in, const struct ad_random_graph_options *o)
{
    struct ad_box box = box_of(b, in);
    int64_t features[2] = {box.n, box.c}, images[4] = {box.n, box.c, 1, 1};
    int v;
    switch (below(&b->rng, 6)) {
    case 0: /* GAP, Flatten, FC, Softmax */
        v = ad_build_reshape(b, ad_build_gap(b, in), 2, features, true);
        return ad_build_softmax(b, ad_build_fc(b, v, 1 + below(&b->rng, 2 * o->max_c)));
    case 1: /* FC, FC on all pixels */
        v = ad_build_fc(b, in, 1 + below(&b->rng, 2 * o->max_c));
        random_activation(b);
        return ad_build_fc(b, v, 1 + below(&b->rng, o->max_c));
    case 2: /* Flatten in ONNX order */
        v = ad_build_permute(b, in);
        features[1] = box.c * box.h * box.w;
        return ad_build_fc(b, ad_build_reshape(b, v, 2, features, true), 3);
    case 3: /* features there and back */
        v = ad_build_reshape(b, ad_build_gap(b, in), 2, features, true);
        v = ad_build_clamp(b, v, -0.75f, 0.75f);
        return ad_build_reshape(b, v, 4, images, false);
    case 4:
        v = ad_build_gap(b, in);
        random_activation(b);
        return v;
    default: /* ends in pixels, or in products of them */
        if (o->chain || below(&b->rng, 2))
            return in;
        v = ad_build_permute(b, in);
        v = ad_build_matmul(
            b, v, ad_build_reshape(b, in, 3, (int64_t[]){box.n, box.h * box.w, box.c}, true));
        return box.c % 2 ? ad_build_whole_transpose(b, v) : v;
    }
}

enum adaps_status ad_random_graph_in_blocks(struct ad_graph *graph, int most, bool quantised,
                                            struct ad_graph **out, struct adaps_error *err)
{
    struct ad_graph *copy = NULL;
    int32_t *blocks = ad_calloc((size_t)graph->nops, sizeof *blocks);
    enum adaps_status status = blocks ? ADAPS_OK : ad_error_memory(err, "blocks", 0);
    for (int i = 0; i < graph->nops && status == ADAPS_OK; i++)
        blocks[i] = quantised && !ad_op_is_quantised(graph, &graph->ops[i])
                        ? 1
                        : ad_partial_blocks(graph, i, most);
    if (status == ADAPS_OK)
        status = ad_graph_partial(graph, blocks, &copy, err);
    if (status == ADAPS_OK)
        status = ad_partial_replace(&graph, copy, err);
    if (status == ADAPS_OK)
        status = ad_graph_verify(graph, true, err);
    ad_free(blocks);
    if (status == ADAPS_OK)
        *out = graph;
    else
        ad_graph_free(graph);
    return status;
}

enum adaps_status ad_random_graph(uint64_t seed, const struct ad_random_graph_options *options,
                                  struct ad_graph **out, struct adaps_error *err)
{
    struct ad_random_graph_options o = options ? *options : (struct ad_random_graph_options){0};
    o.ops = o.ops > 0 ? o.ops : 12;
    o.max_hw = o.max_hw >= 4 ? o.max_hw : 24;
    o.max_c = o.max_c > 0 ? o.max_c : 12;
    o.batch = o.batch > 0 ? o.batch : 1;
    struct ad_builder b;
    ad_build_init(&b, seed);
    int h = 4 + below(&b.rng, o.max_hw - 3), w = 4 + below(&b.rng, o.max_hw - 3);
    int v = ad_build_input(&b, o.batch, h, w, 1 + below(&b.rng, o.max_c));
    while (!b.failed && b.graph->nops < o.ops) {
        v = random_step(&b, v, &o);
        if (o.outputs && below(&b.rng, 5) == 0 && !b.failed && b.graph->nops < o.ops)
            ad_build_output(&b, v);
    }
    if (!o.spatial)
        v = random_tail(&b, v, &o);
    bool listed = false;
    for (int i = 0; !b.failed && i < b.graph->noutputs; i++)
        listed |= b.graph->outputs[i] == v;
    if (!listed)
        ad_build_output(&b, v);
    ad_build_winograd(&b, seed);
    struct ad_graph *graph = NULL;
    enum adaps_status status = ad_build_finish(&b, &graph, err);
    if (status == ADAPS_OK && o.quantised) {
        struct ad_graph *quantised = NULL;
        status = ad_random_graph_quantised(graph, seed, &quantised, err);
        graph = quantised;
    }
    if (status == ADAPS_OK && o.partial > 1)
        return ad_random_graph_in_blocks(graph, o.partial, o.quantised, out, err);
    if (status == ADAPS_OK)
        *out = graph;
    return status;
}
