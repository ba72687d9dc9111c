/* What tasks are made of: calls of kernels with all their arguments, in a list. */
#ifndef AD_EXEC_ENGINE_ACTIONS_H
#define AD_EXEC_ENGINE_ACTIONS_H

#include "exec/engine/whole.h"
#include "exec/kernels/conv.h"
#include "exec/kernels/depthwise.h"
#include "exec/kernels/kernels.h"
#include "exec/kernels/product.h"
#include "exec/kernels/q8_conv.h"
#include "exec/kernels/q8_depthwise.h"
#include "exec/kernels/q8_product.h"
#include "exec/kernels/q8_resample.h"
#include "exec/kernels/q8_rows.h"
#include "exec/kernels/reduce.h"
#include "exec/kernels/resample.h"
#include "exec/kernels/softmax.h"
#include "exec/kernels/winograd.h"
#include "exec/kernels/xnn.h"

enum ad_action_kind {
    AD_ACTION_XNN,
    AD_ACTION_ELEMENTWISE,
    AD_ACTION_POOLING,
    AD_ACTION_LRN,
    AD_ACTION_CONV,
    AD_ACTION_WINOGRAD,
    AD_ACTION_DEPTHWISE,
    AD_ACTION_PRODUCT,
    AD_ACTION_RESAMPLE,
    AD_ACTION_REDUCE,
    AD_ACTION_SOFTMAX,
    AD_ACTION_WHOLE,
    AD_ACTION_Q8_CONV,
    AD_ACTION_Q8_DEPTHWISE,
    AD_ACTION_Q8_PRODUCT,
    AD_ACTION_Q8_MAP,
    AD_ACTION_Q8_BINARY,
    AD_ACTION_Q8_SUM,
    AD_ACTION_Q8_POOLING,
    AD_ACTION_Q8_RESAMPLE,
    AD_ACTION_Q8_QUANTISE,
    AD_ACTION_Q8_DEQUANTISE
};

struct ad_action {
    enum ad_action_kind kind;
    union {
        struct ad_xnn_op *xnn;
        struct ad_elementwise elementwise;
        struct ad_pooling pooling;
        struct ad_lrn lrn;
        struct ad_conv conv;         /* owns a part of its packed weights (exec/kernels/packed.h) */
        struct ad_winograd winograd; /* likewise */
        struct ad_depthwise depthwise; /* likewise */
        struct ad_product product;
        struct ad_resample resample;
        struct ad_reduce reduce;
        struct ad_softmax softmax;
        struct ad_whole_job whole;           /* owns its lists */
        struct ad_q8_conv q8_conv;           /* owns a part of its packed weights */
        struct ad_q8_depthwise q8_depthwise; /* likewise */
        struct ad_q8_product q8_product;
        struct ad_q8_map q8_map; /* owns its table */
        struct ad_q8_binary q8_binary;
        struct ad_q8_sum q8_sum; /* owns its multipliers */
        struct ad_q8_pooling q8_pooling;
        struct ad_q8_resample q8_resample;
        struct ad_q8_floats q8_floats; /* either way */
    };
};

/* What the actions of a program are made from. */
struct ad_actions {
    struct ad_action *items;
    size_t count, room;
};

AD_MUST_CHECK enum adaps_status ad_actions_add(struct ad_actions *actions, struct ad_action action,
                                               struct adaps_error *err);

AD_MUST_CHECK enum adaps_status ad_actions_elementwise(struct ad_actions *actions,
                                                       struct ad_elementwise e,
                                                       struct adaps_error *err);

/* The op's function and clamp. */
struct ad_activation ad_activation_of(const struct ad_op *op);

/* That, of `from`; `to` and `from` may be one. */
AD_MUST_CHECK enum adaps_status
ad_actions_activation(struct ad_actions *actions, const struct ad_op *op, const struct ad_view *to,
                      const struct ad_view *from, struct adaps_error *err);

/* Adds a copy between views of one shape; dimensions of 1 of `from` are repeated. */
AD_MUST_CHECK enum adaps_status ad_actions_copy(struct ad_actions *actions,
                                                const struct ad_view *to,
                                                const struct ad_view *from,
                                                struct adaps_error *err);

AD_MUST_CHECK enum adaps_status ad_action_run(const struct ad_action *action,
                                              struct pthreadpool *pool, struct adaps_error *err);

void ad_action_free(struct ad_action *action);

#endif
