/* How the engine computes each kind of op: the table, and the actions of the kinds that are ours,
 * not XNNPACK's. */
#include "exec/engine/internal.h"
#include "ir/quantised.h"

#include <math.h>
#include <string.h>

/* Pooling over `window`s, of all of an op's kinds. */
static enum adaps_status add_pooling(const struct ad_build *build, const struct ad_task *task,
                                     bool average, const struct ad_window *window,
                                     struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    struct ad_region need = ad_need(graph, op, 0, task->region);
    struct ad_box whole = graph->values[op->inputs[0]].box;
    bool follows = ad_function_follows(op->kind, op->function);
    struct ad_pooling p = {
        .average = average,
        .count_include_pad = op->count_include_pad,
        .window = *window,
        .in = ad_task_input(build, task, 0),
        .out = ad_task_output(build, task),
        .in_h0 = need.h0,
        .in_w0 = need.w0,
        .h0 = task->region.h0,
        .w0 = task->region.w0,
        .size_h = whole.h,
        .size_w = whole.w,
        .clamp_min = follows ? -INFINITY : op->clamp_min,
        .clamp_max = follows ? INFINITY : op->clamp_max,
    };
    return ad_actions_add(build->actions,
                          (struct ad_action){.kind = AD_ACTION_POOLING, .pooling = p}, err);
}

static enum adaps_status build_pooling(const struct ad_build *build, const struct ad_task *task,
                                       struct adaps_error *err)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    return add_pooling(build, task, ad_kind_has(op->kind, AD_FIELD_COUNT_PAD), &op->window, err);
}

/* One window, as large as the input. */
static enum adaps_status build_global_average(const struct ad_build *build,
                                              const struct ad_task *task, struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    struct ad_box whole = graph->values[graph->ops[task->op].inputs[0]].box;
    struct ad_window window = {.kh = whole.h, .kw = whole.w, .sh = 1, .sw = 1, .dh = 1, .dw = 1};
    return add_pooling(build, task, true, &window, err);
}

static enum adaps_status build_lrn(const struct ad_build *build, const struct ad_task *task,
                                   struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    struct ad_lrn l = {
        .in = ad_task_input(build, task, 0),
        .out = ad_task_output(build, task),
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
                            .out = ad_task_output(build, task),
                            .in_h0 = need.h0,
                            .in_w0 = need.w0,
                            .in_c0 = need.c0,
                            .h0 = out.h0,
                            .w0 = out.w0,
                            .c0 = out.c0,
                            .size = {size.h, size.w, size.c}};
    if (!ad_region_empty(need)) /* else all is fill, and nothing is read */
        r.in = ad_task_input(build, task, 0);
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
        r.in = ad_task_input(build, task, 0);
        r.out = ad_task_output(build, task);
    } else { /* whole, hence dense */
        r.in = ad_matrix_view(build->buffers[op->inputs[0]].data, op->outer, op->inner, op->inner);
        r.out = ad_matrix_view(build->buffers[op->output].data, op->outer, 1, 1);
    }
    return ad_actions_add(build->actions, (struct ad_action){.kind = AD_ACTION_REDUCE, .reduce = r},
                          err);
}

static enum adaps_status build_softmax(const struct ad_build *build, const struct ad_task *task,
                                       struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    struct ad_softmax s;
    if (graph->values[op->output].format == AD_NHWC) {
        s.in = ad_task_input(build, task, 0);
        s.out = ad_task_output(build, task);
    } else { /* whole, hence dense */
        s.in = ad_matrix_view(build->buffers[op->inputs[0]].data, op->outer, op->inner, op->inner);
        s.out = ad_matrix_view(build->buffers[op->output].data, op->outer, op->inner, op->inner);
    }
    return ad_actions_add(build->actions,
                          (struct ad_action){.kind = AD_ACTION_SOFTMAX, .softmax = s}, err);
}

struct ad_product ad_task_product(const struct ad_graph *graph, const struct ad_buffer *buffers,
                                  const struct ad_task *task)
{
    const struct ad_op *op = &graph->ops[task->op];
    const struct ad_value *out = &graph->values[op->output];
    const struct ad_value *a = &graph->values[op->inputs[0]], *b = &graph->values[op->inputs[1]];
    struct ad_product p = {.a = buffers[op->inputs[0]].data,
                           .b = buffers[op->inputs[1]].data,
                           .out = buffers[op->output].data,
                           .count = op->outer,
                           .rows = out->dims[out->rank - 2],
                           .depth = op->inner,
                           .columns = out->dims[out->rank - 1]};
    p.one_a = ad_box_elements(a->box) == p.rows * p.depth;
    p.one_b = ad_box_elements(b->box) == p.depth * p.columns;
    return p;
}

static enum adaps_status build_matmul(const struct ad_build *build, const struct ad_task *task,
                                      struct adaps_error *err)
{
    struct ad_action action = {.kind = AD_ACTION_PRODUCT};
    action.product = ad_task_product(build->plan->graph, build->buffers, task);
    action.product.scratch = build->scratch[task - build->program->tasks].in;
    return ad_actions_add(build->actions, action, err);
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

static enum adaps_status build_binary(const struct ad_build *build, const struct ad_task *task,
                                      struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    const struct ad_value *out = &graph->values[op->output];
    const struct ad_value *a = &graph->values[op->inputs[0]], *b = &graph->values[op->inputs[1]];
    enum ad_elementwise_kind kind = ad_kernel_of(op->kind)->binary;
    struct ad_elementwise e;
    if (out->format == AD_NHWC || (ad_same_box(a, out) && ad_same_box(b, out))) {
        struct ad_view to = ad_task_output(build, task);
        struct ad_view x = ad_task_input(build, task, 0), y = ad_task_input(build, task, 1);
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
    if (!ad_function_follows(op->kind, op->function)) {
        e.clamp_min = op->clamp_min;
        e.clamp_max = op->clamp_max;
    }
    return ad_actions_elementwise(build->actions, e, err);
}

/* An addition for each block of channels. */
static enum adaps_status build_fold(const struct ad_build *build, const struct ad_task *task,
                                    struct adaps_error *err)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    const struct ad_buffer *from = &build->buffers[op->inputs[0]];
    const struct ad_buffer *to = &build->buffers[op->output];
    bool quantised = ad_op_is_quantised(build->plan->graph, op);
    enum adaps_status status = ADAPS_OK;
    for (int64_t c = task->region.c0; c < task->region.c1 && status == ADAPS_OK;) {
        int64_t block = c / op->inner, end = (block + 1) * op->inner;
        struct ad_region out = task->region, a = out, b = out;
        out.c0 = (int32_t)c;
        out.c1 = end < out.c1 ? (int32_t)end : out.c1;
        a.c0 = (int32_t)(out.c0 + block * op->inner);
        a.c1 = (int32_t)(out.c1 + block * op->inner);
        b.c0 = (int32_t)(a.c0 + op->inner);
        b.c1 = (int32_t)(a.c1 + op->inner);
        struct ad_view sum = ad_buffer_view(to, out), x = ad_buffer_view(from, a),
                       y = ad_buffer_view(from, b);
        c = out.c1;
        if (quantised) {
            status = ad_task_add_sums(build, op, &sum, &x, &y, out.c0, err);
            continue;
        }
        struct ad_elementwise e = ad_elementwise_views(AD_ELEMENTWISE_ADD, &sum, &x, &y);
        if (!ad_function_follows(op->kind, op->function)) {
            e.clamp_min = op->clamp_min;
            e.clamp_max = op->clamp_max;
        }
        status = ad_actions_elementwise(build->actions, e, err);
    }
    return status;
}

static enum adaps_status build_unary(const struct ad_build *build, const struct ad_task *task,
                                     struct adaps_error *err)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    struct ad_view in = ad_task_input(build, task, 0), out = ad_task_output(build, task);
    return ad_actions_activation(build->actions, op, &out, &in, err);
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
            bool bytes = out->unit == 1;
            from = ad_matrix_view(build->buffers[op->inputs[k]].data, op->outer, size, size);
            to =
                ad_matrix_view(ad_element_at(out->data, bytes, offset), op->outer, size, op->inner);
            from.bytes = to.bytes = bytes;
        } else if (!ad_region_empty(need)) {
            part.c0 = (int32_t)(need.c0 + offset);
            part.c1 = (int32_t)(need.c1 + offset);
            from = ad_buffer_view(&build->buffers[op->inputs[k]], need);
            to = ad_buffer_view(out, part);
        }
        if (!ad_region_empty(need)) /* unless it lies there */
            status = ad_task_move(build, op->output, &to, op->inputs[k], &from, err);
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
    struct ad_view from = ad_task_input(build, task, 0), to = ad_task_output(build, task);
    if (!ad_same_box(in, out)) { /* both whole, hence dense */
        int64_t n = ad_box_elements(out->box);
        bool bytes = to.bytes;
        from = ad_matrix_view(from.data, 1, n, n);
        to = ad_matrix_view(to.data, 1, n, n);
        from.bytes = to.bytes = bytes;
    }
    return ad_actions_copy(build->actions, &to, &from, err);
}

/* Channels within their pixels, of a part of the pixels. */
static enum adaps_status build_shuffle(const struct ad_build *build, const struct ad_task *task,
                                       struct adaps_error *err)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    struct ad_view in = ad_task_input(build, task, 0), out = ad_task_output(build, task);
    struct ad_elementwise e =
        ad_elementwise_permute(out.data, in.data, op->view_rank, op->view_dims, op->perm, false);
    const int64_t count[] = {out.n, out.h, out.w};
    const int64_t strides[2][3] = {{out.sn, out.sh, out.sw}, {in.sn, in.sh, in.sw}};
    memcpy(e.count, count, sizeof count);
    for (int k = 0; k < 2; k++)
        memcpy(e.stride[k], strides[k], sizeof strides[k]);
    e.bytes = out.bytes;
    ad_elementwise_simplify(&e);
    return ad_actions_elementwise(build->actions, e, err);
}

static enum adaps_status build_permute(const struct ad_build *build, const struct ad_task *task,
                                       struct adaps_error *err)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    if (ad_op_shuffles_channels(build->plan->graph, op))
        return build_shuffle(build, task, err);
    struct ad_elementwise e =
        ad_elementwise_permute(build->buffers[op->output].data, build->buffers[op->inputs[0]].data,
                               op->view_rank, op->view_dims, op->perm, true);
    e.bytes = build->buffers[op->output].unit == 1;
    return ad_actions_elementwise(build->actions, e, err);
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
    struct ad_view to = ad_task_output(build, task);
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
            .out = ad_view_at(&to, zero + first * step - out.c0),
            .a = in.data,
            .bytes = to.bytes};
        ad_elementwise_simplify(&e);
        status = ad_actions_elementwise(build->actions, e, err);
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

/* Whole blocks whose places are neighbours in the input, two in a row: one nest of loops, of which
 * the inner ones copy pairs of channels to two pixels. */
static bool is_pairs(const struct ad_op *op, struct ad_region r, const struct ad_view *to)
{
    const struct ad_window *w = &op->window;
    return op->channel_major && w->sw == 2 && to->c >= 4 && w->pt == 0 && w->pl == 0 &&
           r.h0 % w->sh == 0 && r.h1 % w->sh == 0 && r.w0 % 2 == 0 && r.w1 % 2 == 0;
}

static enum adaps_status add_pairs(const struct ad_build *build, const struct ad_op *op,
                                   const struct ad_view *to, const struct ad_view *from,
                                   int64_t first_channel, struct adaps_error *err)
{
    int64_t sh = op->window.sh;
    struct ad_elementwise e = {.kind = AD_ELEMENTWISE_COPY,
                               .rank = 6,
                               .count = {to->n, to->h / sh, to->w / 2, sh, 2, to->c},
                               .stride = {{to->sn, sh * to->sh, 2 * to->sw, to->sh, to->sw, 1},
                                          {from->sn, from->sh, from->sw, 2, 1, 2 * sh}},
                               .out = to->data,
                               .a = ad_view_at(from, first_channel),
                               .bytes = to->bytes};
    ad_elementwise_simplify(&e);
    return ad_actions_elementwise(build->actions, e, err);
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
    struct ad_view to = ad_task_output(build, task), from = ad_task_input(build, task, 0);
    enum adaps_status status = ADAPS_OK;
    if (is_pairs(op, r, &to))
        return add_pairs(build, op, &to, &from, r.c0 * all - need.c0, err);
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
            .out = ad_view_at(&to, (y - r.h0) * to.sh + (x - r.w0) * to.sw),
            .a = ad_view_at(&from, ((y + w->pt) / w->sh - need.h0) * from.sh +
                                       ((x + w->pl) / w->sw - need.w0) * from.sw + (c - need.c0)),
            .bytes = to.bytes};
        ad_elementwise_simplify(&e);
        status = ad_actions_elementwise(build->actions, e, err);
    }
    return status;
}

static enum adaps_status build_whole(const struct ad_build *build, const struct ad_task *task,
                                     struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    struct ad_action action = {.kind = AD_ACTION_WHOLE};
    enum adaps_status status = ad_whole_job_init(&action.whole, op, err);
    if (status != ADAPS_OK)
        return status;
    for (int k = 0; k < op->ninputs; k++)
        action.whole.inputs[k] = (struct ad_whole_operand){&graph->values[op->inputs[k]],
                                                           build->buffers[op->inputs[k]].data};
    action.whole.output =
        (struct ad_whole_operand){&graph->values[op->output], build->buffers[op->output].data};
    status = ad_actions_add(build->actions, action, err);
    if (status != ADAPS_OK)
        ad_whole_job_fini(&action.whole);
    return status;
}

/* --- the table --- */

#define BINARY(kind_)                                                                              \
    {                                                                                              \
        .build = build_binary, .work = AD_WORK_ARITHMETIC, .clamps = true, .binary = kind_         \
    }

static const struct ad_kernel kernels[AD_OP_COUNT] = {
    [AD_OP_CONV] = {.work = AD_WORK_CONV, .clamps = true},
    [AD_OP_FC] = {.work = AD_WORK_DENSE, .clamps = true},
    [AD_OP_GAP] = {.build = build_global_average, .work = AD_WORK_POOL, .clamps = true},
    [AD_OP_SOFTMAX] = {.build = build_softmax, .work = AD_WORK_SOFTMAX},
    [AD_OP_MAXPOOL] = {.build = build_pooling, .work = AD_WORK_POOL, .clamps = true},
    [AD_OP_AVGPOOL] = {.build = build_pooling, .work = AD_WORK_POOL, .clamps = true},
    [AD_OP_ADD] = BINARY(AD_ELEMENTWISE_ADD),
    [AD_OP_SUB] = BINARY(AD_ELEMENTWISE_SUB),
    [AD_OP_MUL] = BINARY(AD_ELEMENTWISE_MUL),
    [AD_OP_DIV] = BINARY(AD_ELEMENTWISE_DIV),
    [AD_OP_MIN] = BINARY(AD_ELEMENTWISE_MIN),
    [AD_OP_MAX] = BINARY(AD_ELEMENTWISE_MAX),
    [AD_OP_POW] = BINARY(AD_ELEMENTWISE_POW),
    [AD_OP_PRELU] = BINARY(AD_ELEMENTWISE_PRELU),
    [AD_OP_UNARY] = {.build = build_unary, .work = AD_WORK_FUNCTION, .clamps = true},
    [AD_OP_CONCAT] = {.build = build_concat, .work = AD_WORK_COPY},
    [AD_OP_LRN] = {.build = build_lrn, .work = AD_WORK_LRN},
    [AD_OP_PERMUTE] = {.build = build_permute, .work = AD_WORK_COPY},
    [AD_OP_RESHAPE] = {.build = build_reshape, .work = AD_WORK_COPY},
    [AD_OP_SPACE_TO_DEPTH] = {.build = build_space_to_depth, .work = AD_WORK_COPY},
    [AD_OP_DEPTH_TO_SPACE] = {.build = build_depth_to_space, .work = AD_WORK_COPY},
    [AD_OP_RESAMPLE] = {.build = build_resample, .work = AD_WORK_RESAMPLE},
    [AD_OP_REDUCE] = {.build = build_reduce, .work = AD_WORK_REDUCE},
    [AD_OP_WHOLE] = {.build = build_whole, .work = AD_WORK_ARITHMETIC},
    [AD_OP_MATMUL] = {.build = build_matmul, .work = AD_WORK_PRODUCT},
    [AD_OP_FOLD] = {.build = build_fold, .work = AD_WORK_ARITHMETIC, .clamps = true},
};

const struct ad_kernel *ad_kernel_of(enum ad_op_kind kind)
{
    return &kernels[kind];
}
