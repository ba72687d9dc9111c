/* What one task does, as a list of actions. XNNPACK computes dense layers, global average pooling,
 * softmax and the convolutions that are not ours (task_xnn.c, task_conv.c). Everything else is
 * ours: XNNPACK's other operators want dense operands, and choose kernels by the shape of the tile,
 * which must not change a bit. */
#include "exec/engine/internal.h"
#include "exec/kernels/l2.h"

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

enum adaps_status ad_actions_elementwise(struct ad_actions *actions, struct ad_elementwise e,
                                         struct adaps_error *err)
{
    return ad_actions_add(actions,
                          (struct ad_action){.kind = AD_ACTION_ELEMENTWISE, .elementwise = e}, err);
}

enum adaps_status ad_actions_copy(struct ad_actions *actions, const struct ad_view *to,
                                  const struct ad_view *from, struct adaps_error *err)
{
    return ad_actions_elementwise(actions,
                                  ad_elementwise_views(AD_ELEMENTWISE_COPY, to, from, NULL), err);
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

enum adaps_status ad_actions_activation(struct ad_actions *actions, const struct ad_op *op,
                                        const struct ad_view *to, const struct ad_view *from,
                                        struct adaps_error *err)
{
    struct ad_elementwise e = ad_elementwise_views(function_kind(op->function), to, from, NULL);
    e.function = op->function;
    e.alpha = op->alpha;
    e.beta = op->beta;
    e.clamp_min = op->clamp_min;
    e.clamp_max = op->clamp_max;
    return ad_actions_elementwise(actions, e, err);
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

/* --- one task --- */

struct ad_view ad_task_input(const struct ad_build *build, const struct ad_task *task, int k)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    return ad_buffer_view(&build->buffers[op->inputs[k]],
                          ad_need(build->plan->graph, op, k, task->region));
}

struct ad_view ad_task_output(const struct ad_build *build, const struct ad_task *task)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    return ad_buffer_view(&build->buffers[op->output], task->region);
}

/* *clamped: whether these actions clamp already. */
static enum adaps_status build_kind(const struct ad_build *build, const struct ad_task *task,
                                    const struct ad_scratch *scratch, bool *clamped,
                                    struct adaps_error *err)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    const struct ad_kernel *kernel = ad_kernel_of(op->kind);
    bool ours = ad_task_is_ours(build->plan->graph, op);
    bool depthwise = ad_task_is_depthwise(build->plan->graph, op);
    *clamped = kernel->clamps;
    if (kernel->build)
        return kernel->build(build, task, err);
    *clamped = kernel->clamps && !ad_function_follows(op->kind, op->function);
    if (ours || depthwise) {
        static const struct ad_view nothing;
        struct ad_view out = ad_task_output(build, task);
        float lo = *clamped ? op->clamp_min : -INFINITY, hi = *clamped ? op->clamp_max : INFINITY;
        return ours ? ad_task_build_conv(build, task, &out, &nothing, lo, hi, err)
                    : ad_task_build_depthwise(build, task, lo, hi, err);
    }
    *clamped = *clamped && op->clamp_min < op->clamp_max; /* XNNPACK takes no empty range */
    return ad_task_build_xnn(build, task, scratch, *clamped, err);
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
    if (status == ADAPS_OK &&
        (ad_function_follows(op->kind, op->function) || (limits && !clamped))) {
        struct ad_view out = ad_task_output(build, task);
        status = ad_actions_activation(build->actions, op, &out, &out, err);
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
    bool follows = ad_function_follows(op->kind, op->function);
    int other = op->inputs[0] == graph->ops[conv->op].output ? 1 : 0;
    struct ad_view out = ad_task_output(build, add), operand = ad_task_input(build, add, other);
    enum adaps_status status =
        ad_task_build_conv(build, conv, &out, &operand, follows ? -INFINITY : op->clamp_min,
                           follows ? INFINITY : op->clamp_max, err);
    if (status == ADAPS_OK && follows)
        status = ad_actions_activation(build->actions, op, &out, &out, err);
    if (status != ADAPS_OK)
        ad_error_prefix(err, "op '%s' (%s): ", op->name, op->type);
    return status;
}
