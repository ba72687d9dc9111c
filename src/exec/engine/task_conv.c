/* Convolutions by our own kernels (exec/kernels/conv.h, exec/kernels/depthwise.h): views, and
 * weights, packed a part at a time. Dense layers of many rows are 1x1 convolutions of as many
 * pixels. */
#include "exec/engine/internal.h"

#include <math.h>

static bool is_dense(const struct ad_op *op)
{
    return ad_kernel_of(op->kind)->work == AD_WORK_DENSE;
}

static int64_t groups_of(const struct ad_op *op)
{
    return is_dense(op) ? 1 : op->groups;
}

/* Channels per group. */
static int64_t group_inputs(const struct ad_graph *graph, const struct ad_op *op)
{
    if (is_dense(op))
        return graph->weights[op->weight].row_elements;
    return graph->values[op->inputs[0]].box.c / op->groups;
}

static int64_t group_outputs(const struct ad_graph *graph, const struct ad_op *op)
{
    return graph->values[op->output].box.c / groups_of(op);
}

static struct ad_window window_of(const struct ad_op *op)
{
    const struct ad_window pixel = {.kh = 1, .kw = 1, .sh = 1, .sw = 1, .dh = 1, .dw = 1};
    return is_dense(op) ? pixel : op->window;
}

struct ad_choice ad_task_choice(const struct ad_graph *graph, const struct ad_op *op)
{
    enum ad_work_kind work = ad_kernel_of(op->kind)->work;
    if (work != AD_WORK_CONV && work != AD_WORK_DENSE)
        return ad_choose(ad_processor(), work, NULL);
    const struct ad_window w = window_of(op);
    struct ad_conv_shape shape = {.groups = groups_of(op),
                                  .inputs = group_inputs(graph, op),
                                  .outputs = group_outputs(graph, op),
                                  .taps = (int64_t)w.kh * w.kw,
                                  .columns = w.kw,
                                  .stride = w.sw,
                                  .dilation = w.dw,
                                  .winograd = op->winograd,
                                  .rows = graph->values[op->output].box.n};
    return ad_choose(ad_processor(), work, &shape);
}

/* The blocks of the groups that a task computes. */
static struct ad_conv_blocks blocks_of(const struct ad_graph *graph, const struct ad_task *task)
{
    const struct ad_op *op = &graph->ops[task->op];
    int64_t inputs = group_inputs(graph, op), outputs = group_outputs(graph, op);
    int64_t channels = task->region.c1 - task->region.c0, groups = 1;
    const struct ad_window w = window_of(op);
    if (groups_of(op) > 1)
        groups = channels / outputs;
    return ad_conv_blocks(groups, inputs, channels / groups, (int64_t)w.kh * w.kw);
}

/* Output channels, a multiple of a panel, whose weights of so many floats there is room for. */
static int64_t rows_at_a_time(const struct ad_build *build, int64_t floats)
{
    int64_t panel = ad_conv_panel();
    int64_t room = (int64_t)(build->rows->bytes / sizeof(float)) / (floats + 1);
    return room < panel ? panel : room / panel * panel;
}

/* Packs rows from r0 on, as many at a time as there is room for. */
static enum adaps_status pack(const struct ad_build *build, const struct ad_op *op, int64_t r0,
                              const struct ad_conv_blocks *b, float *packed,
                              struct adaps_error *err)
{
    int64_t step = rows_at_a_time(build, b->depth * b->taps);
    enum adaps_status status = ADAPS_OK;
    for (int64_t block = 0; block < b->blocks; block++, r0 += b->channels)
        for (int64_t first = 0; first < b->channels && status == ADAPS_OK; first += step) {
            int64_t n = b->channels - first < step ? b->channels - first : step;
            float *kernel = NULL, *bias = NULL;
            status = ad_task_weights(build, op, r0 + first, r0 + first + n, n, &kernel, &bias, err);
            if (status == ADAPS_OK)
                ad_conv_pack(packed, b, block, first, n, kernel, bias);
        }
    return status;
}

enum adaps_status ad_task_take_packed(const struct ad_build *build, int op, int64_t r0, int64_t r1,
                                      size_t bytes, void **out, bool *fresh,
                                      struct adaps_error *err)
{
    ad_packed_begin(ad_shared_weights_of(build->shared, op, r0, r1, NULL));
    *out = ad_packed_alloc(bytes, fresh);
    if (*fresh)
        *build->weight_bytes += bytes;
    if (*out)
        return ADAPS_OK;
    ad_packed_end(false);
    return ad_error_memory(err, "packed weights", bytes);
}

/* The same of so many floats. */
static enum adaps_status take_packed(const struct ad_build *build, int op, int64_t r0, int64_t r1,
                                     size_t floats, float **out, bool *fresh,
                                     struct adaps_error *err)
{
    size_t bytes;
    void *packed = NULL;
    if (!ad_size_mul(floats, sizeof **out, &bytes))
        return ad_error_set(err, ADAPS_EINTERNAL, "the weights exceed the address space");
    enum adaps_status status = ad_task_take_packed(build, op, r0, r1, bytes, &packed, fresh, err);
    *out = packed;
    return status;
}

enum adaps_status ad_task_end_packed(const struct ad_build *build, struct ad_action *action,
                                     enum adaps_status status, struct adaps_error *err)
{
    ad_packed_end(status == ADAPS_OK);
    if (status == ADAPS_OK)
        status = ad_actions_add(build->actions, *action, err);
    if (status != ADAPS_OK)
        ad_action_free(action);
    return status;
}

/* The rows of a dense layer as pixels. */
static struct ad_view row_pixels(const struct ad_view *v)
{
    return ad_matrix_view(v->data, v->n, v->c, v->sn);
}

static void dense_views(const struct ad_build *build, const struct ad_op *op, struct ad_conv *conv)
{
    const struct ad_buffer *from = &build->buffers[op->inputs[0]]; /* whole */
    int64_t columns = conv->blocks.depth;
    conv->in = ad_matrix_view(from->data, from->n, columns, columns);
    conv->out = row_pixels(&conv->out);
    conv->add = row_pixels(&conv->add);
}

enum adaps_status ad_task_build_conv(const struct ad_build *build, const struct ad_task *task,
                                     const struct ad_view *out, const struct ad_view *add,
                                     const struct ad_op *last, struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    bool follows = ad_function_follows(last->kind, last->function);
    struct ad_region need = ad_need(graph, op, 0, task->region);
    struct ad_tile_pads pads = {0, 0, 0, 0};
    if (!is_dense(op))
        pads = ad_tile_pads(graph, op, task->region);
    struct ad_conv conv = {
        .out = *out,
        .add = *add,
        .window = window_of(op),
        .top = pads.top,
        .left = pads.left,
        .padded = op->window.pt || op->window.pl || op->window.pb || op->window.pr,
        .blocks = blocks_of(graph, task),
        .clamp_min = follows ? -INFINITY : last->clamp_min,
        .clamp_max = follows ? INFINITY : last->clamp_max,
    };
    if (follows)
        conv.then = ad_activation_of(last);
    conv.slice =
        ad_conv_slice(&conv.blocks, build->slice_bytes / 2); /* and what is fetched ahead */
    if (is_dense(op))
        dense_views(build, op, &conv);
    else if (!ad_region_empty(need))
        conv.in = ad_buffer_view(&build->buffers[op->inputs[0]], need);
    float *packed = NULL;
    bool fresh;
    int64_t r0, r1;
    size_t floats;
    ad_weight_slice(graph, op, task->region, &r0, &r1);
    if (!ad_conv_packed(&conv.blocks, &floats))
        floats = SIZE_MAX; /* which is refused */
    enum adaps_status status = take_packed(build, task->op, r0, r1, floats, &packed, &fresh, err);
    if (status != ADAPS_OK)
        return status;
    if (fresh)
        status = pack(build, op, r0, &conv.blocks, packed, err);
    conv.packed = packed;
    struct ad_action action = {.kind = AD_ACTION_CONV, .conv = conv};
    return ad_task_end_packed(build, &action, status, err);
}

/* --- Winograd --- */

static enum adaps_status pack_winograd(const struct ad_build *build, const struct ad_op *op,
                                       int64_t r0, const struct ad_winograd_shape *shape,
                                       float *packed, struct adaps_error *err)
{
    int64_t step = rows_at_a_time(build, shape->inputs * shape->kh * shape->kw);
    enum adaps_status status = ADAPS_OK;
    for (int64_t first = 0; first < shape->outputs && status == ADAPS_OK; first += step) {
        int64_t n = shape->outputs - first < step ? shape->outputs - first : step;
        float *kernel = NULL, *bias = NULL;
        status = ad_task_weights(build, op, r0 + first, r0 + first + n, n, &kernel, &bias, err);
        if (status == ADAPS_OK)
            ad_winograd_pack(packed, shape, first, n, kernel, bias);
    }
    return status;
}

enum adaps_status ad_task_build_winograd(const struct ad_build *build, const struct ad_task *task,
                                         const struct ad_view *out, const struct ad_view *add,
                                         const struct ad_op *last, const struct ad_scratch *scratch,
                                         struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    bool follows = ad_function_follows(last->kind, last->function);
    struct ad_region need = ad_need(graph, op, 0, task->region);
    struct ad_region computed = ad_region_computed(graph, op, task->region);
    struct ad_tile_pads pads = ad_tile_pads(graph, op, task->region);
    struct ad_winograd w = {
        .shape = ad_winograd_shape_of(graph, op),
        .in = ad_buffer_view(&build->buffers[op->inputs[0]], need),
        .out = *out,
        .add = *add,
        .top = pads.top,
        .left = pads.left,
        .above = task->region.h0 - computed.h0,
        .before = task->region.w0 - computed.w0,
        .scratch = scratch->in,
        .threads = build->threads,
        .clamp_min = follows ? -INFINITY : last->clamp_min,
        .clamp_max = follows ? INFINITY : last->clamp_max,
    };
    float *packed = NULL;
    bool fresh;
    int64_t r0, r1;
    size_t floats;
    if (follows)
        w.then = ad_activation_of(last);
    ad_weight_slice(graph, op, task->region, &r0, &r1);
    w.shape.outputs = r1 - r0;
    if (!ad_winograd_packed(&w.shape, &floats))
        floats = SIZE_MAX; /* which is refused */
    enum adaps_status status = take_packed(build, task->op, r0, r1, floats, &packed, &fresh, err);
    if (status != ADAPS_OK)
        return status;
    if (fresh)
        status = pack_winograd(build, op, r0, &w.shape, packed, err);
    w.packed = packed;
    struct ad_action action = {.kind = AD_ACTION_WINOGRAD, .winograd = w};
    return ad_task_end_packed(build, &action, status, err);
}

/* --- depthwise --- */

enum adaps_status ad_task_build_depthwise(const struct ad_build *build, const struct ad_task *task,
                                          struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    bool follows = ad_function_follows(op->kind, op->function);
    struct ad_region need = ad_need(graph, op, 0, task->region);
    struct ad_tile_pads pads = ad_tile_pads(graph, op, task->region);
    struct ad_depthwise d = {
        .out = ad_buffer_view(&build->buffers[op->output], task->region),
        .window = op->window,
        .top = pads.top,
        .left = pads.left,
        .multiplier = group_outputs(graph, op),
        .tiled = ad_task_choice(graph, op).kernels == AD_KERNELS_TILED,
        .clamp_min = follows ? -INFINITY : op->clamp_min,
        .clamp_max = follows ? INFINITY : op->clamp_max,
    };
    if (follows)
        d.then = ad_activation_of(op);
    if (!ad_region_empty(need))
        d.in = ad_buffer_view(&build->buffers[op->inputs[0]], need);
    d.in.c = d.out.c / d.multiplier;
    float *packed = NULL, *kernel, *bias;
    bool fresh;
    int64_t r0, r1;
    size_t floats;
    ad_weight_slice(graph, op, task->region, &r0, &r1);
    if (!ad_depthwise_packed(&d, d.in.c, &floats))
        floats = SIZE_MAX;
    enum adaps_status status = take_packed(build, task->op, r0, r1, floats, &packed, &fresh, err);
    if (status != ADAPS_OK)
        return status;
    if (fresh)
        status = ad_task_weights(build, op, r0, r1, r1 - r0, &kernel, &bias, err);
    if (fresh && status == ADAPS_OK)
        ad_depthwise_pack(&d, d.in.c, packed, kernel, bias);
    d.packed = packed;
    struct ad_action action = {.kind = AD_ACTION_DEPTHWISE, .depthwise = d};
    return ad_task_end_packed(build, &action, status, err);
}
