/* What one task does, as a list of actions. XNNPACK computes dense layers, global average pooling,
 * softmax and the convolutions that are not ours (task_xnn.c, task_conv.c). Everything else is
 * ours: XNNPACK's other operators want dense operands, and choose kernels by the shape of the tile,
 * which must not change a bit. */
#include "exec/engine/internal.h"
#include "exec/kernels/l2.h"
#include "fusion/rules.h"

#include <math.h>
#include <string.h>

/* --- actions --- */

enum adaps_status ad_actions_add(struct ad_actions *actions, struct ad_action action,
                                 struct adaps_error *err)
{
    if (!ad_grow(&actions->items, actions->count, &actions->room, sizeof *actions->items))
        return ad_error_memory(err, "program", actions->count * sizeof *actions->items);
    actions->items[actions->count++] = action;
    return ADAPS_OK;
}

static enum adaps_status append_elementwise(struct ad_actions *actions, struct ad_elementwise e,
                                            struct adaps_error *err)
{
    return ad_actions_add(actions,
                          (struct ad_action){.kind = AD_ACTION_ELEMENTWISE, .elementwise = e}, err);
}

enum adaps_status ad_actions_copy(struct ad_actions *actions, const struct ad_view *to,
                                  const struct ad_view *from, struct adaps_error *err)
{
    return append_elementwise(actions, ad_elementwise_views(AD_ELEMENTWISE_COPY, to, from, NULL),
                              err);
}

/* Whether the op's function is a pass of its own behind what computes the op. */
static bool function_follows(const struct ad_op *op)
{
    return op->function != AD_FN_NONE && op->kind != AD_OP_UNARY;
}

static enum ad_elementwise_kind function_kind(enum ad_function function)
{
    static const enum ad_elementwise_kind kinds[] = {
        [AD_FN_NONE] = AD_ELEMENTWISE_CLAMP,
        [AD_FN_LEAKY_RELU] = AD_ELEMENTWISE_LEAKY_RELU,
        [AD_FN_SIGMOID] = AD_ELEMENTWISE_SIGMOID,
        [AD_FN_SILU] = AD_ELEMENTWISE_SILU,
        [AD_FN_HARD_SIGMOID] = AD_ELEMENTWISE_HARD_SIGMOID,
        [AD_FN_HARD_SWISH] = AD_ELEMENTWISE_HARD_SWISH,
    };
    return function < sizeof kinds / sizeof *kinds ? kinds[function] : AD_ELEMENTWISE_FUNCTION;
}

/* The op's function and clamp; `to` and `from` may be one. */
static enum adaps_status append_activation(struct ad_actions *actions, const struct ad_op *op,
                                           const struct ad_view *to, const struct ad_view *from,
                                           struct adaps_error *err)
{
    struct ad_elementwise e = ad_elementwise_views(function_kind(op->function), to, from, NULL);
    e.function = op->function;
    e.alpha = op->alpha;
    e.beta = op->beta;
    e.clamp_min = op->clamp_min;
    e.clamp_max = op->clamp_max;
    return append_elementwise(actions, e, err);
}

enum adaps_status ad_action_run(const struct ad_action *action, struct pthreadpool *pool,
                                struct adaps_error *err)
{
    switch (action->kind) {
    case AD_ACTION_XNN:
        return ad_xnn_run(action->xnn, pool, err);
    case AD_ACTION_ELEMENTWISE:
        ad_elementwise_run(&action->elementwise, pool);
        break;
    case AD_ACTION_POOLING:
        ad_pooling_run(&action->pooling, pool);
        break;
    case AD_ACTION_LRN:
        ad_lrn_run(&action->lrn, pool);
        break;
    case AD_ACTION_CONV:
        ad_conv_run(&action->conv, pool);
        break;
    case AD_ACTION_DEPTHWISE:
        ad_depthwise_run(&action->depthwise, pool);
        break;
    case AD_ACTION_RESAMPLE:
        ad_resample_run(&action->resample, pool);
        break;
    case AD_ACTION_REDUCE:
        ad_reduce_run(&action->reduce, pool);
        break;
    }
    return ADAPS_OK;
}

void ad_action_free(struct ad_action *action)
{
    if (action->kind == AD_ACTION_XNN)
        ad_xnn_free(action->xnn);
    else if (action->kind == AD_ACTION_CONV)
        ad_packed_free((void *)(uintptr_t)action->conv.packed);
    else if (action->kind == AD_ACTION_RESAMPLE)
        ad_resample_fini(&action->resample);
    else if (action->kind == AD_ACTION_DEPTHWISE)
        ad_packed_free((void *)(uintptr_t)action->depthwise.packed);
}

/* --- weights --- */

static const struct ad_slice *slice_of(const struct ad_build *build, int weight, int64_t r0,
                                       int64_t r1)
{
    const struct ad_slices *slices = &build->plan->slices[build->device];
    for (int i = 0; i < slices->count; i++) {
        const struct ad_slice *s = &slices->items[i];
        if (s->weight == weight && s->row0 <= r0 && s->row1 >= r1)
            return s;
    }
    return NULL;
}

enum adaps_status ad_task_weight(const struct ad_build *build, int weight, int64_t r0, int64_t r1,
                                 int64_t rows, float *to, struct adaps_error *err)
{
    const struct ad_weight *w = &build->plan->graph->weights[weight];
    const struct ad_slice *slice = slice_of(build, weight, r0, r1);
    if (!slice)
        return ad_error_set(err, ADAPS_EINTERNAL,
                            "the plan has no slice with rows %lld:%lld of '%s'", (long long)r0,
                            (long long)r1, w->name);
    memset(to + (r1 - r0) * w->row_elements, 0,
           (size_t)((rows - (r1 - r0)) * w->row_elements) * sizeof *to);
    return build->weights->read(build->weights, slice, r0, r1, to, err);
}

enum adaps_status ad_task_weights(const struct ad_build *build, const struct ad_op *op, int64_t r0,
                                  int64_t r1, int64_t channels, float **kernel, float **bias,
                                  struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    struct ad_rows *rows = build->rows;
    size_t row = (size_t)graph->weights[op->weight].row_elements;
    size_t count = (size_t)channels * row, bytes;
    bytes = (count + (size_t)channels) * sizeof **kernel;
    if (bytes > rows->bytes) {
        ad_free(rows->data);
        *rows = (struct ad_rows){ad_alloc_aligned(bytes), bytes};
        if (!rows->data) {
            rows->bytes = 0;
            return ad_error_memory(err, "weights", bytes);
        }
    }
    *kernel = rows->data;
    *bias = op->bias >= 0 ? rows->data + count : NULL;
    enum adaps_status status = ad_task_weight(build, op->weight, r0, r1, channels, *kernel, err);
    if (status == ADAPS_OK && *bias)
        status = ad_task_weight(build, op->bias, r0, r1, channels, *bias, err);
    return status;
}

/* Whether the weights of both are packed alike. */
static bool packs_alike(const struct ad_op *a, const struct ad_op *b)
{
    const struct ad_window *v = &a->window, *w = &b->window;
    return a->kind == b->kind && a->weight == b->weight && a->bias == b->bias &&
           a->groups == b->groups && memcmp(v, w, sizeof *v) == 0;
}

struct ad_shared_weights *ad_shared_weights_new(const struct ad_graph *graph)
{
    struct ad_shared_weights *table = ad_calloc((size_t)graph->nops, sizeof *table);
    int *firsts = ad_calloc((size_t)graph->nweights, sizeof *firsts); /* op + 1 by weight */
    for (int i = 0; table && firsts && i < graph->nops; i++) {
        int weight = graph->ops[i].weight;
        int *first = weight < 0 ? NULL : &firsts[weight];
        table[i].first = i;
        if (first && *first == 0)
            *first = i + 1;
        if (first && packs_alike(&graph->ops[i], &graph->ops[*first - 1]))
            table[i].first = *first - 1;
    }
    if (!firsts && table) {
        ad_free(table);
        table = NULL;
    }
    ad_free(firsts);
    return table;
}

struct ad_packed *ad_shared_weights_of(struct ad_shared_weights *table, int op, int64_t r0,
                                       int64_t r1, bool *found)
{
    struct ad_shared_weights *shared = &table[table[op].first];
    size_t i = 0;
    while (i < shared->count && (shared->items[i].r0 != r0 || shared->items[i].r1 != r1))
        i++;
    if (found)
        *found = i < shared->count;
    if (i == shared->count) {
        if (!ad_grow(&shared->items, shared->count, &shared->room, sizeof *shared->items))
            return NULL;
        shared->items[shared->count++] = (struct ad_packed_rows){.r0 = r0, .r1 = r1};
    }
    return &shared->items[i].packed;
}

void ad_shared_weights_free(struct ad_shared_weights *table, int nops)
{
    for (int i = 0; table && i < nops; i++)
        ad_free(table[i].items);
    ad_free(table);
}

size_t ad_task_slice_bytes(struct pthreadpool *pool)
{
    return ad_l2_bytes(pool) / 2;
}

/* --- our kernels --- */

static struct ad_view input_view(const struct ad_build *build, const struct ad_task *task, int k)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    return ad_buffer_view(&build->buffers[op->inputs[k]],
                          ad_need(build->plan->graph, op, k, task->region));
}

static struct ad_view output_view(const struct ad_build *build, const struct ad_task *task)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    return ad_buffer_view(&build->buffers[op->output], task->region);
}

static enum adaps_status build_pooling(const struct ad_build *build, const struct ad_task *task,
                                       struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    struct ad_region need = ad_need(graph, op, 0, task->region);
    struct ad_box whole = graph->values[op->inputs[0]].box;
    struct ad_pooling p = {
        .average = op->kind == AD_OP_AVGPOOL,
        .count_include_pad = op->count_include_pad,
        .window = op->window,
        .in = input_view(build, task, 0),
        .out = output_view(build, task),
        .in_h0 = need.h0,
        .in_w0 = need.w0,
        .h0 = task->region.h0,
        .w0 = task->region.w0,
        .size_h = whole.h,
        .size_w = whole.w,
        .clamp_min = function_follows(op) ? -INFINITY : op->clamp_min,
        .clamp_max = function_follows(op) ? INFINITY : op->clamp_max,
    };
    return ad_actions_add(build->actions,
                          (struct ad_action){.kind = AD_ACTION_POOLING, .pooling = p}, err);
}

static enum adaps_status build_lrn(const struct ad_build *build, const struct ad_task *task,
                                   struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    struct ad_lrn l = {
        .in = input_view(build, task, 0),
        .out = output_view(build, task),
        .in_c0 = ad_need(graph, op, 0, task->region).c0,
        .c0 = task->region.c0,
        .channels = graph->values[op->output].box.c,
        .size = op->lrn_size,
        .alpha = op->lrn_alpha,
        .beta = op->lrn_beta,
        .bias = op->lrn_bias,
    };
    return ad_actions_add(build->actions, (struct ad_action){.kind = AD_ACTION_LRN, .lrn = l}, err);
}

static enum adaps_status build_resample(const struct ad_build *build, const struct ad_task *task,
                                        struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    struct ad_region need = ad_need(graph, op, 0, task->region), out = task->region;
    struct ad_box size = graph->values[op->inputs[0]].box;
    struct ad_resample r = {.how = op->resampling,
                            .out = output_view(build, task),
                            .in_h0 = need.h0,
                            .in_w0 = need.w0,
                            .in_c0 = need.c0,
                            .h0 = out.h0,
                            .w0 = out.w0,
                            .c0 = out.c0,
                            .size = {size.h, size.w, size.c}};
    if (!ad_region_empty(need)) /* else all is fill, and nothing is read */
        r.in = input_view(build, task, 0);
    enum adaps_status status = ad_resample_init(&r, err);
    if (status == ADAPS_OK)
        status = ad_actions_add(build->actions,
                                (struct ad_action){.kind = AD_ACTION_RESAMPLE, .resample = r}, err);
    if (status != ADAPS_OK)
        ad_resample_fini(&r);
    return status;
}

static enum adaps_status build_reduce(const struct ad_build *build, const struct ad_task *task,
                                      struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    struct ad_reduce r = {.how = op->reduction};
    if (graph->values[op->output].format == AD_NHWC) {
        r.in = input_view(build, task, 0);
        r.out = output_view(build, task);
    } else { /* whole, hence dense */
        r.in = ad_matrix_view(build->buffers[op->inputs[0]].data, op->outer, op->inner, op->inner);
        r.out = ad_matrix_view(build->buffers[op->output].data, op->outer, 1, 1);
    }
    return ad_actions_add(build->actions, (struct ad_action){.kind = AD_ACTION_REDUCE, .reduce = r},
                          err);
}

/* Strides of an operand of ONNX dims, dense, broadcast from the right to the result's rank. */
static void broadcast_strides(const struct ad_value *v, int rank, int64_t *stride)
{
    int64_t step = 1;
    for (int i = v->rank - 1; i >= 0; i--) {
        stride[i + rank - v->rank] = v->dims[i] == 1 ? 0 : step;
        step *= v->dims[i];
    }
}

static enum ad_elementwise_kind binary_kind(const struct ad_op *op)
{
    switch (op->kind) {
    case AD_OP_ADD:
        return AD_ELEMENTWISE_ADD;
    case AD_OP_SUB:
        return AD_ELEMENTWISE_SUB;
    case AD_OP_MUL:
        return AD_ELEMENTWISE_MUL;
    case AD_OP_MIN:
        return AD_ELEMENTWISE_MIN;
    case AD_OP_MAX:
        return AD_ELEMENTWISE_MAX;
    case AD_OP_POW:
        return AD_ELEMENTWISE_POW;
    case AD_OP_PRELU:
        return AD_ELEMENTWISE_PRELU;
    default:
        return AD_ELEMENTWISE_DIV;
    }
}

static enum adaps_status build_binary(const struct ad_build *build, const struct ad_task *task,
                                      struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    const struct ad_value *out = &graph->values[op->output];
    const struct ad_value *a = &graph->values[op->inputs[0]], *b = &graph->values[op->inputs[1]];
    enum ad_elementwise_kind kind = binary_kind(op);
    struct ad_elementwise e;
    if (out->format == AD_NHWC || (ad_same_box(a, out) && ad_same_box(b, out))) {
        struct ad_view to = output_view(build, task);
        struct ad_view x = input_view(build, task, 0), y = input_view(build, task, 1);
        e = ad_elementwise_views(kind, &to, &x, &y);
    } else { /* numpy broadcasting of whole dense values */
        e = (struct ad_elementwise){.kind = kind,
                                    .rank = out->rank,
                                    .clamp_min = -INFINITY,
                                    .clamp_max = INFINITY,
                                    .out = build->buffers[op->output].data,
                                    .a = build->buffers[op->inputs[0]].data,
                                    .b = build->buffers[op->inputs[1]].data};
        memcpy(e.count, out->dims, sizeof e.count);
        broadcast_strides(out, out->rank, e.stride[0]);
        broadcast_strides(a, out->rank, e.stride[1]);
        broadcast_strides(b, out->rank, e.stride[2]);
        ad_elementwise_simplify(&e);
    }
    if (!function_follows(op)) {
        e.clamp_min = op->clamp_min;
        e.clamp_max = op->clamp_max;
    }
    return append_elementwise(build->actions, e, err);
}

static enum adaps_status build_concat(const struct ad_build *build, const struct ad_task *task,
                                      struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    bool plain = graph->values[op->output].format == AD_PLAIN;
    const struct ad_buffer *out = &build->buffers[op->output];
    enum adaps_status status = ADAPS_OK;
    int64_t offset = 0;
    for (int k = 0; k < op->ninputs && status == ADAPS_OK; k++) {
        struct ad_region need = ad_need(graph, op, k, task->region), part = task->region;
        struct ad_box box = graph->values[op->inputs[k]].box;
        int64_t size = plain ? ad_box_elements(box) / op->outer : box.c;
        struct ad_view from, to;
        if (plain) {
            from = ad_matrix_view(build->buffers[op->inputs[k]].data, op->outer, size, size);
            to = ad_matrix_view(out->data + offset, op->outer, size, op->inner);
        } else if (!ad_region_empty(need)) {
            part.c0 = (int32_t)(need.c0 + offset);
            part.c1 = (int32_t)(need.c1 + offset);
            from = ad_buffer_view(&build->buffers[op->inputs[k]], need);
            to = ad_buffer_view(out, part);
        }
        if (!ad_region_empty(need) && from.data != to.data) /* else it lies there */
            status = ad_actions_copy(build->actions, &to, &from, err);
        offset += size;
    }
    return status;
}

static enum adaps_status build_reshape(const struct ad_build *build, const struct ad_task *task,
                                       struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    const struct ad_value *in = &graph->values[op->inputs[0]], *out = &graph->values[op->output];
    struct ad_view from = input_view(build, task, 0), to = output_view(build, task);
    if (!ad_same_box(in, out)) { /* both whole, hence dense */
        int64_t n = ad_box_elements(out->box);
        from = ad_matrix_view(from.data, 1, n, n);
        to = ad_matrix_view(to.data, 1, n, n);
    }
    return ad_actions_copy(build->actions, &to, &from, err);
}

/* Channels within their pixels, of a part of the pixels. */
static enum adaps_status build_shuffle(const struct ad_build *build, const struct ad_task *task,
                                       struct adaps_error *err)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    struct ad_view in = input_view(build, task, 0), out = output_view(build, task);
    struct ad_elementwise e =
        ad_elementwise_permute(out.data, in.data, op->view_rank, op->view_dims, op->perm, false);
    const int64_t count[] = {out.n, out.h, out.w};
    const int64_t strides[2][3] = {{out.sn, out.sh, out.sw}, {in.sn, in.sh, in.sw}};
    memcpy(e.count, count, sizeof count);
    for (int k = 0; k < 2; k++)
        memcpy(e.stride[k], strides[k], sizeof strides[k]);
    ad_elementwise_simplify(&e);
    return append_elementwise(build->actions, e, err);
}

static enum adaps_status build_permute(const struct ad_build *build, const struct ad_op *op,
                                       struct adaps_error *err)
{
    return append_elementwise(build->actions,
                              ad_elementwise_permute(build->buffers[op->output].data,
                                                     build->buffers[op->inputs[0]].data,
                                                     op->view_rank, op->view_dims, op->perm, true),
                              err);
}

/* The channels of the input that stand at row i and column j of a block: first and end of them, for
 * the output's channels c0:c1, and the output channel of channel 0. `step` is between two. */
static void block_channels(const struct ad_op *op, int64_t channels, int64_t place,
                           struct ad_region out, int64_t step, int64_t *first, int64_t *end,
                           int64_t *zero)
{
    *zero = op->channel_major ? place : place * channels;
    int64_t lo = out.c0 - *zero, hi = out.c1 - *zero;
    *first = lo <= 0 ? 0 : (lo + step - 1) / step;
    *end = hi <= 0 ? 0 : (hi + step - 1) / step;
    if (*end > channels)
        *end = channels;
}

/* A copy for each place in a block. */
static enum adaps_status build_space_to_depth(const struct ad_build *build,
                                              const struct ad_task *task, struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    const struct ad_buffer *from = &build->buffers[op->inputs[0]];
    struct ad_region out = task->region;
    int64_t channels = graph->values[op->inputs[0]].box.c, b = op->block;
    int64_t step = op->channel_major ? b * b : 1;
    struct ad_view to = output_view(build, task);
    enum adaps_status status = ADAPS_OK;
    for (int64_t place = 0; place < b * b && status == ADAPS_OK; place++) {
        int64_t first, end, zero;
        block_channels(op, channels, place, out, step, &first, &end, &zero);
        if (first >= end)
            continue;
        struct ad_region corner = {(int32_t)(out.h0 * b + place / b),
                                   0,
                                   (int32_t)(out.w0 * b + place % b),
                                   0,
                                   (int32_t)first,
                                   (int32_t)end};
        corner.h1 = corner.h0 + 1;
        corner.w1 = corner.w0 + 1;
        struct ad_view in = ad_buffer_view(from, corner);
        struct ad_elementwise e = {
            .kind = AD_ELEMENTWISE_COPY,
            .rank = 4,
            .count = {to.n, to.h, to.w, end - first},
            .stride = {{to.sn, to.sh, to.sw, step}, {in.sn, b * in.sh, b * in.sw, 1}},
            .out = to.data + zero + first * step - out.c0,
            .a = in.data};
        ad_elementwise_simplify(&e);
        status = append_elementwise(build->actions, e, err);
    }
    return status;
}

/* Outputs of [lo, hi) that are place `i` of their block: the first, and how many there are. */
static int64_t at_place(int64_t lo, int64_t hi, int64_t block, int64_t crop, int64_t i,
                        int64_t *first)
{
    *first = lo + ((i - lo - crop) % block + block) % block;
    return *first < hi ? (hi - 1 - *first) / block + 1 : 0;
}

/* A copy for each place in a block. */
static enum adaps_status build_depth_to_space(const struct ad_build *build,
                                              const struct ad_task *task, struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    const struct ad_window *w = &op->window;
    struct ad_region r = task->region, need = ad_need(graph, op, 0, r);
    int64_t channels = graph->values[op->output].box.c, all = (int64_t)w->sh * w->sw;
    struct ad_view to = output_view(build, task), from = input_view(build, task, 0);
    enum adaps_status status = ADAPS_OK;
    for (int64_t place = 0; place < all && status == ADAPS_OK; place++) {
        int64_t y, x, rows = at_place(r.h0, r.h1, w->sh, w->pt, place / w->sw, &y);
        int64_t columns = at_place(r.w0, r.w1, w->sw, w->pl, place % w->sw, &x);
        if (rows == 0 || columns == 0)
            continue;
        int64_t c = op->channel_major ? r.c0 * all + place : place * channels + r.c0;
        struct ad_elementwise e = {
            .kind = AD_ELEMENTWISE_COPY,
            .rank = 4,
            .count = {to.n, rows, columns, to.c},
            .stride = {{to.sn, w->sh * to.sh, w->sw * to.sw, 1},
                       {from.sn, from.sh, from.sw, op->channel_major ? all : 1}},
            .out = to.data + (y - r.h0) * to.sh + (x - r.w0) * to.sw,
            .a = from.data + ((y + w->pt) / w->sh - need.h0) * from.sh +
                 ((x + w->pl) / w->sw - need.w0) * from.sw + (c - need.c0)};
        ad_elementwise_simplify(&e);
        status = append_elementwise(build->actions, e, err);
    }
    return status;
}

/* --- one task --- */

/* *clamped: whether these actions clamp already. */
static enum adaps_status build_kind(const struct ad_build *build, const struct ad_task *task,
                                    const struct ad_scratch *scratch, bool *clamped,
                                    struct adaps_error *err)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    struct ad_view in, out;
    *clamped = false;
    bool ours = ad_task_is_ours(build->plan->graph, op);
    bool depthwise = ad_task_is_depthwise(build->plan->graph, op);
    if (ours || depthwise) {
        static const struct ad_view nothing;
        *clamped = !function_follows(op);
        out = output_view(build, task);
        float lo = *clamped ? op->clamp_min : -INFINITY, hi = *clamped ? op->clamp_max : INFINITY;
        return ours ? ad_task_build_conv(build, task, &out, &nothing, lo, hi, err)
                    : ad_task_build_depthwise(build, task, lo, hi, err);
    }
    switch (op->kind) {
    case AD_OP_CONV:
    case AD_OP_FC:
    case AD_OP_GAP:
        /* XNNPACK takes no empty range */
        *clamped = !function_follows(op) && op->clamp_min < op->clamp_max;
        return ad_task_build_xnn(build, task, scratch, *clamped, err);
    case AD_OP_SOFTMAX:
        return ad_task_build_xnn(build, task, scratch, false, err);
    case AD_OP_MAXPOOL:
    case AD_OP_AVGPOOL:
        *clamped = true;
        return build_pooling(build, task, err);
    case AD_OP_ADD:
    case AD_OP_SUB:
    case AD_OP_MUL:
    case AD_OP_DIV:
    case AD_OP_MIN:
    case AD_OP_MAX:
    case AD_OP_POW:
    case AD_OP_PRELU:
        *clamped = true;
        return build_binary(build, task, err);
    case AD_OP_UNARY:
        *clamped = true;
        in = input_view(build, task, 0);
        out = output_view(build, task);
        return append_activation(build->actions, op, &out, &in, err);
    case AD_OP_CONCAT:
        return build_concat(build, task, err);
    case AD_OP_LRN:
        return build_lrn(build, task, err);
    case AD_OP_PERMUTE:
        return ad_op_shuffles_channels(build->plan->graph, op) ? build_shuffle(build, task, err)
                                                               : build_permute(build, op, err);
    case AD_OP_RESHAPE:
        return build_reshape(build, task, err);
    case AD_OP_SPACE_TO_DEPTH:
        return build_space_to_depth(build, task, err);
    case AD_OP_RESAMPLE:
        return build_resample(build, task, err);
    case AD_OP_REDUCE:
        return build_reduce(build, task, err);
    case AD_OP_DEPTH_TO_SPACE:
        return build_depth_to_space(build, task, err);
    case AD_OP_COUNT:
        break;
    }
    return ad_error_set(err, ADAPS_EINTERNAL, "no kernel for kind %d", (int)op->kind);
}

enum adaps_status ad_task_build(const struct ad_build *build, const struct ad_task *task,
                                const struct ad_scratch *scratch, struct adaps_error *err)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    bool clamped;
    if (ad_region_empty(task->region))
        return ADAPS_OK;
    enum adaps_status status = build_kind(build, task, scratch, &clamped, err);
    bool limits = op->clamp_min != -INFINITY || op->clamp_max != INFINITY;
    if (status == ADAPS_OK && (function_follows(op) || (limits && !clamped))) {
        struct ad_view out = output_view(build, task);
        status = append_activation(build->actions, op, &out, &out, err);
    }
    if (status != ADAPS_OK)
        ad_error_prefix(err, "op '%s' (%s): ", op->name, op->type);
    return status;
}

enum adaps_status ad_task_build_residual(const struct ad_build *build, const struct ad_task *conv,
                                         const struct ad_task *add, struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[add->op];
    bool follows = function_follows(op);
    int other = op->inputs[0] == graph->ops[conv->op].output ? 1 : 0;
    struct ad_view out = output_view(build, add), operand = input_view(build, add, other);
    enum adaps_status status =
        ad_task_build_conv(build, conv, &out, &operand, follows ? -INFINITY : op->clamp_min,
                           follows ? INFINITY : op->clamp_max, err);
    if (status == ADAPS_OK && follows)
        status = append_activation(build->actions, op, &out, &out, err);
    if (status != ADAPS_OK)
        ad_error_prefix(err, "op '%s' (%s): ", op->name, op->type);
    return status;
}
