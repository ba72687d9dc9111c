#include "exec/engine/actions.h"
#include "base/mem.h"
#include "exec/kernels/packed.h"

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

struct ad_activation ad_activation_of(const struct ad_op *op)
{
    return (struct ad_activation){.kind = ad_elementwise_kind_of(op->function),
                                  .function = op->function,
                                  .alpha = op->alpha,
                                  .beta = op->beta,
                                  .clamp_min = op->clamp_min,
                                  .clamp_max = op->clamp_max};
}

enum adaps_status ad_actions_activation(struct ad_actions *actions, const struct ad_op *op,
                                        const struct ad_view *to, const struct ad_view *from,
                                        struct adaps_error *err)
{
    struct ad_activation activation = ad_activation_of(op);
    struct ad_elementwise e = ad_elementwise_views(activation.kind, to, from, NULL);
    e.function = activation.function;
    e.alpha = activation.alpha;
    e.beta = activation.beta;
    e.clamp_min = activation.clamp_min;
    e.clamp_max = activation.clamp_max;
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
    case AD_ACTION_WINOGRAD:
        ad_winograd_run(&action->winograd, pool);
        break;
    case AD_ACTION_DEPTHWISE:
        ad_depthwise_run(&action->depthwise, pool);
        break;
    case AD_ACTION_PRODUCT:
        ad_product_run(&action->product, pool);
        break;
    case AD_ACTION_RESAMPLE:
        ad_resample_run(&action->resample, pool);
        break;
    case AD_ACTION_REDUCE:
        ad_reduce_run(&action->reduce, pool);
        break;
    case AD_ACTION_SOFTMAX:
        ad_softmax_run(&action->softmax, pool);
        break;
    case AD_ACTION_Q8_CONV:
        ad_q8_conv_run(&action->q8_conv, pool);
        break;
    case AD_ACTION_Q8_DEPTHWISE:
        ad_q8_depthwise_run(&action->q8_depthwise, pool);
        break;
    case AD_ACTION_Q8_PRODUCT:
        ad_q8_product_run(&action->q8_product, pool);
        break;
    case AD_ACTION_Q8_MAP:
        ad_q8_map_run(&action->q8_map, pool);
        break;
    case AD_ACTION_Q8_BINARY:
        ad_q8_binary_run(&action->q8_binary, pool);
        break;
    case AD_ACTION_Q8_SUM:
        ad_q8_sum_run(&action->q8_sum, pool);
        break;
    case AD_ACTION_Q8_POOLING:
        ad_q8_pooling_run(&action->q8_pooling, pool);
        break;
    case AD_ACTION_Q8_RESAMPLE:
        ad_q8_resample_run(&action->q8_resample, pool);
        break;
    case AD_ACTION_Q8_QUANTISE:
        ad_q8_quantise_run(&action->q8_floats, pool);
        break;
    case AD_ACTION_Q8_DEQUANTISE:
        ad_q8_dequantise_run(&action->q8_floats, pool);
        break;
    case AD_ACTION_WHOLE:
        return ad_whole_job_run(&action->whole, err);
    }
    return ADAPS_OK;
}

void ad_action_free(struct ad_action *action)
{
    if (action->kind == AD_ACTION_XNN)
        ad_xnn_free(action->xnn);
    else if (action->kind == AD_ACTION_CONV)
        ad_packed_free((void *)(uintptr_t)action->conv.packed);
    else if (action->kind == AD_ACTION_WINOGRAD)
        ad_packed_free((void *)(uintptr_t)action->winograd.packed);
    else if (action->kind == AD_ACTION_RESAMPLE)
        ad_resample_fini(&action->resample);
    else if (action->kind == AD_ACTION_WHOLE)
        ad_whole_job_fini(&action->whole);
    else if (action->kind == AD_ACTION_DEPTHWISE)
        ad_packed_free((void *)(uintptr_t)action->depthwise.packed);
    else if (action->kind == AD_ACTION_Q8_CONV)
        ad_packed_free((void *)(uintptr_t)action->q8_conv.packed);
    else if (action->kind == AD_ACTION_Q8_DEPTHWISE)
        ad_packed_free((void *)(uintptr_t)action->q8_depthwise.packed);
    else if (action->kind == AD_ACTION_Q8_MAP)
        ad_free((void *)(uintptr_t)action->q8_map.table);
    else if (action->kind == AD_ACTION_Q8_SUM)
        ad_free((void *)(uintptr_t)action->q8_sum.multiplier);
    else if (action->kind == AD_ACTION_Q8_RESAMPLE)
        ad_q8_resample_fini(&action->q8_resample);
}
