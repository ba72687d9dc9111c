/* What one task does, as a list of actions. XNNPACK computes dense layers and the
 * convolutions that are not ours (task_xnn.c, task_conv.c). Everything else is ours: XNNPACK's
 * other operators want dense operands, and choose kernels by the shape of the tile, which must not
 * change a bit. */
#include "exec/engine/internal.h"
#include "exec/kernels/l2.h"
#include "ir/quantised.h"

#include <math.h>
#include <string.h>

size_t ad_task_slice_bytes(struct pthreadpool *pool)
{
    return ad_l2_bytes(pool) / 2;
}

bool ad_task_adds(const struct ad_graph *graph, const struct ad_op *op)
{
    enum ad_kernels kernels = ad_task_choice(graph, op).kernels;
    if (ad_kernel_of(op->kind)->build)
        return false;
    return kernels == AD_KERNELS_CONV || kernels == AD_KERNELS_WINOGRAD;
}

static enum adaps_status build_conv(const struct ad_build *build, const struct ad_task *task,
                                    const struct ad_view *out, const struct ad_view *add,
                                    const struct ad_op *last, const struct ad_scratch *scratch,
                                    struct adaps_error *err)
{
    if (build->plan->graph->ops[task->op].winograd != 0)
        return ad_task_build_winograd(build, task, out, add, last, scratch, err);
    return ad_task_build_conv(build, task, out, add, last, err);
}

/* *finished: whether these actions apply the op's function and limits already. */
static enum adaps_status build_kind(const struct ad_build *build, const struct ad_task *task,
                                    const struct ad_scratch *scratch, bool *finished,
                                    struct adaps_error *err)
{
    static const struct ad_view nothing;
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    const struct ad_kernel *kernel = ad_kernel_of(op->kind);
    enum ad_kernels kernels = ad_task_choice(build->plan->graph, op).kernels;
    struct ad_view out = ad_task_output(build, task);
    *finished = kernel->clamps && !ad_function_follows(op->kind, op->function);
    if (ad_op_is_quantised(build->plan->graph, op)) {
        *finished = *finished || ad_value_is_quantised(&build->plan->graph->values[op->output]);
        return ad_task_build_quantised(build, task, err);
    }
    if (kernel->build)
        return kernel->build(build, task, err);
    if (ad_task_adds(build->plan->graph, op)) {
        *finished = true;
        return build_conv(build, task, &out, &nothing, op, scratch, err);
    }
    if (kernels != AD_KERNELS_XNNPACK) {
        *finished = true;
        return ad_task_build_depthwise(build, task, err);
    }
    *finished = *finished && op->clamp_min < op->clamp_max; /* XNNPACK takes no empty range */
    return ad_task_build_xnn(build, task, scratch, *finished, err);
}

enum adaps_status ad_task_build(const struct ad_build *build, const struct ad_task *task,
                                const struct ad_scratch *scratch, struct adaps_error *err)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    bool finished;
    if (ad_region_empty(task->region))
        return ADAPS_OK;
    enum adaps_status status = build_kind(build, task, scratch, &finished, err);
    bool limits = op->clamp_min != -INFINITY || op->clamp_max != INFINITY;
    if (status == ADAPS_OK && !finished &&
        (ad_function_follows(op->kind, op->function) || limits)) {
        struct ad_view out = ad_task_output(build, task);
        status = ad_actions_activation(build->actions, op, &out, &out, err);
    }
    if (status != ADAPS_OK)
        ad_error_prefix(err, "op '%s' (%s): ", op->name, op->type);
    return status;
}

enum adaps_status ad_task_build_residual(const struct ad_build *build, const struct ad_task *conv,
                                         const struct ad_task *add,
                                         const struct ad_scratch *scratch, struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[add->op];
    int other = op->inputs[0] == graph->ops[conv->op].output ? 1 : 0;
    struct ad_view out = ad_task_output(build, add), operand = ad_task_input(build, add, other);
    enum adaps_status status = build_conv(build, conv, &out, &operand, op, scratch, err);
    if (status != ADAPS_OK)
        ad_error_prefix(err, "op '%s' (%s): ", op->name, op->type);
    return status;
}
