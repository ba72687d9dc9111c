/* Tasks that XNNPACK computes: convolutions, dense layers. One operator, with packing before and
 * unpacking after it where its operands are not evenly spaced. */
#include "exec/engine/internal.h"
#include "ir/quantised.h"
#include "ir/weight.h"

#include <math.h>
#include <string.h>

static enum ad_work_kind work_of(const struct ad_op *op)
{
    return ad_kernel_of(op->kind)->work;
}

static bool uses_xnn(const struct ad_graph *graph, const struct ad_op *op)
{
    return !ad_op_is_quantised(graph, op) &&
           ad_task_choice(graph, op).kernels == AD_KERNELS_XNNPACK;
}

/* --- operands --- */

/* Channels per group, and how many groups computing `out` takes. */
static int64_t group_inputs(const struct ad_graph *graph, const struct ad_op *op)
{
    return graph->values[op->inputs[0]].box.c / op->groups;
}

static int64_t groups_of(const struct ad_graph *graph, const struct ad_op *op, struct ad_region out)
{
    int64_t group_outputs = graph->values[op->output].box.c / op->groups;
    return op->groups == 1 ? 1 : (out.c1 - out.c0) / group_outputs;
}

/* Operands of an XNNPACK operator as pixels: rows of dense layers count as pixels. A convolution
 * that reads nothing but padding gets one pixel, in no buffer. */
static void xnn_operands(const struct ad_graph *graph, const struct ad_buffer *buffers,
                         const struct ad_task *task, struct ad_view *in, struct ad_view *out)
{
    const struct ad_op *op = &graph->ops[task->op];
    const struct ad_buffer *from = &buffers[op->inputs[0]], *to = &buffers[op->output];
    struct ad_region need = ad_need(graph, op, 0, task->region);
    *out = ad_buffer_view(to, task->region);
    if (work_of(op) == AD_WORK_DENSE) {
        int64_t columns = graph->weights[op->weight].row_elements;
        *in = ad_matrix_view(from->data, from->n, columns, columns);
        *out = ad_matrix_view(out->data, out->n, out->c, out->sn);
    } else if (ad_region_empty(need)) {
        int64_t c = groups_of(graph, op, task->region) * group_inputs(graph, op);
        *in = (struct ad_view){.n = out->n, .h = 1, .w = 1, .c = c, .sn = c, .sh = c, .sw = c};
    } else {
        *in = ad_buffer_view(from, need);
    }
}

/* Whether all pixels, in the order n, h, w, lie v->sw apart. */
static bool is_even(const struct ad_view *v)
{
    return (v->h == 1 || v->sh == v->w * v->sw) && (v->n == 1 || v->sn == v->h * v->w * v->sw);
}

/* Channels that the operator is made for: a narrow slice is widened by zero filters until XNNPACK
 * chooses the micro-kernel that it chooses for the whole. */
static int64_t operator_channels(const struct ad_graph *graph, const struct ad_op *op, int64_t c)
{
    int64_t least = graph->values[op->output].box.c;
    bool sliced = work_of(op) == AD_WORK_DENSE || (work_of(op) == AD_WORK_CONV && op->groups == 1);
    if (least > AD_XNN_MIN_CHANNELS)
        least = AD_XNN_MIN_CHANNELS;
    return sliced && c < least ? least : c;
}

static bool view_bytes(const struct ad_view *v, int64_t channels, size_t *bytes)
{
    return ad_size_mul((size_t)v->n, (size_t)v->h, bytes) &&
           ad_size_mul(*bytes, (size_t)v->w, bytes) &&
           ad_size_mul(*bytes, (size_t)channels, bytes) &&
           ad_size_mul(*bytes, sizeof(float), bytes);
}

static enum adaps_status too_much_scratch(const struct ad_op *op, struct adaps_error *err)
{
    return ad_error_set(err, ADAPS_EINTERNAL, "op '%s': scratch exceeds the address space",
                        op->name);
}

/* in_bytes: a number of floats, unless these were too many already. */
static enum adaps_status scratch_floats(const struct ad_op *op, bool fits,
                                        struct ad_scratch *scratch, struct adaps_error *err)
{
    if (fits && ad_size_mul(scratch->in_bytes, sizeof(float), &scratch->in_bytes))
        return ADAPS_OK;
    return too_much_scratch(op, err);
}

static enum adaps_status winograd_scratch(const struct ad_graph *graph, const struct ad_task *task,
                                          int threads, struct ad_scratch *scratch,
                                          struct adaps_error *err)
{
    const struct ad_op *op = &graph->ops[task->op];
    const struct ad_region *r = &task->region;
    struct ad_winograd_shape shape = ad_winograd_shape_of(graph, op);
    shape.outputs = r->c1 - r->c0;
    bool fits = ad_winograd_scratch(&shape, graph->values[op->output].box.n, r->h1 - r->h0,
                                    r->w1 - r->w0, threads, &scratch->in_bytes);
    return scratch_floats(op, fits, scratch, err);
}

enum adaps_status ad_task_scratch(const struct ad_graph *graph, const struct ad_buffer *buffers,
                                  const struct ad_task *task, int threads,
                                  struct ad_scratch *scratch, struct adaps_error *err)
{
    const struct ad_op *op = &graph->ops[task->op];
    struct ad_view in, out;
    *scratch = (struct ad_scratch){0, 0, NULL, NULL};
    if (op->winograd != 0 && !ad_region_empty(task->region))
        return winograd_scratch(graph, task, threads, scratch, err);
    if (work_of(op) == AD_WORK_PRODUCT && ad_op_is_quantised(graph, op) &&
        !ad_region_empty(task->region)) {
        struct ad_q8_product product = ad_task_quantised_product(graph, buffers, task);
        return ad_q8_product_scratch(&product, &scratch->in_bytes) ? ADAPS_OK
                                                                   : too_much_scratch(op, err);
    }
    if (work_of(op) == AD_WORK_PRODUCT && !ad_region_empty(task->region)) {
        struct ad_product product = ad_task_product(graph, buffers, task);
        return scratch_floats(op, ad_product_scratch(&product, &scratch->in_bytes), scratch, err);
    }
    if (!uses_xnn(graph, op) || ad_region_empty(task->region))
        return ADAPS_OK;
    xnn_operands(graph, buffers, task, &in, &out);
    int64_t channels = operator_channels(graph, op, out.c);
    bool nothing = ad_region_empty(ad_need(graph, op, 0, task->region));
    bool fits = true;
    if (nothing || !is_even(&in))
        fits = view_bytes(&in, in.c, &scratch->in_bytes);
    if (fits && (channels != out.c || !is_even(&out)))
        fits = view_bytes(&out, channels, &scratch->out_bytes);
    return fits ? ADAPS_OK : too_much_scratch(op, err);
}

/* The dense copy of a view in scratch. */
static struct ad_view packed(const struct ad_view *v, float *data, int64_t channels)
{
    struct ad_view dense = *v;
    dense.data = data;
    dense.c = dense.sw = channels;
    dense.sh = dense.w * channels;
    dense.sn = dense.h * dense.sh;
    return dense;
}

/* --- XNNPACK operators --- */

/* Padding around the input as it is given to the operator. */
static struct ad_tile_pads operator_pads(const struct ad_graph *graph, const struct ad_op *op,
                                         struct ad_region out)
{
    struct ad_tile_pads pads = ad_tile_pads(graph, op, out);
    if (ad_region_empty(ad_need(graph, op, 0, out))) { /* one pixel of it is given as zeros */
        pads.top--;
        pads.left--;
    }
    return pads;
}

/* Whether the operators of an op's parts may share packed weights. Padding makes XNNPACK take
 * another kernel for 1x1 convolutions, which may pack otherwise: these pack their own. */
static bool may_share(const struct ad_op *op)
{
    const struct ad_window *w = &op->window;
    return w->kh * w->kw != 1 || !(w->pt || w->pl || w->pb || w->pr);
}

/* What this task's operator may share of the part before it. */
static struct ad_packed *shared_weights(const struct ad_build *build, const struct ad_task *task,
                                        int64_t r0, int64_t r1)
{
    if (!may_share(&build->plan->graph->ops[task->op]))
        return NULL;
    return ad_shared_weights_of(build->shared, task->op, r0, r1, NULL);
}

/* So many of a task's output channels in a row, whose weights are rows [r0, r1): fewer where the
 * channels are widened. */
struct part {
    int64_t r0, r1, channels;
};

static enum adaps_status make_weighted(const struct ad_build *build, const struct ad_task *task,
                                       const struct part *part, const struct ad_xnn_io *io,
                                       const struct ad_view *in, struct ad_xnn_op **xnn,
                                       struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    float *kernel = NULL, *bias = NULL;
    struct ad_packed *packed = shared_weights(build, task, part->r0, part->r1);
    enum adaps_status status =
        ad_task_weights(build, op, part->r0, part->r1, part->channels, &kernel, &bias, err);
    if (status == ADAPS_OK && work_of(op) == AD_WORK_DENSE) {
        struct ad_xnn_fc fc = {*io,    (size_t)in->w, (size_t)in->c, (size_t)part->channels,
                               kernel, bias,          packed};
        status = ad_xnn_fc_new(&fc, xnn, build->weight_bytes, err);
    } else if (status == ADAPS_OK) {
        size_t groups = (size_t)groups_of(graph, op, task->region);
        struct ad_xnn_conv conv = {
            .io = *io,
            .batch = (size_t)in->n,
            .in_h = (size_t)in->h,
            .in_w = (size_t)in->w,
            .window = op->window,
            .pads = operator_pads(graph, op, task->region),
            .groups = groups,
            .group_in = (size_t)group_inputs(graph, op),
            .group_out = (size_t)part->channels / groups,
            .kernel = kernel,
            .bias = bias,
            .packed = packed,
        };
        status = ad_xnn_conv_new(&conv, xnn, build->weight_bytes, err);
    }
    return status;
}

/* Channels of each part of a task, but for the last. Large dense layers have as many parts as it
 * takes for their weights, which are in memory twice while they are packed, not to count;
 * convolutions whose weights overflow the cache, as XNNPACK reads all of them for every few pixels.
 * Every part is wide enough for the kernel that the whole has, so the bits are the same. */
#define PART_CHANNELS 64
_Static_assert(PART_CHANNELS % AD_XNN_MIN_CHANNELS == 0, "parts are multiples of what packs well");
static int64_t part_channels(const struct ad_graph *graph, const struct ad_op *op,
                             size_t slice_bytes, int64_t channels)
{
    int64_t unit = work_of(op) == AD_WORK_DENSE ? PART_CHANNELS : AD_XNN_MIN_CHANNELS, rows;
    if (work_of(op) == AD_WORK_DENSE)
        rows = ad_weight_rows_at_a_time(&graph->weights[op->weight]);
    else if (op->groups == 1)
        rows = (int64_t)(slice_bytes / sizeof(float)) / graph->weights[op->weight].row_elements;
    else
        return channels;
    rows = rows < unit ? unit : rows / unit * unit;
    return rows < channels ? rows : channels;
}

double ad_task_bytes(const struct ad_graph *graph, const struct ad_task *task, size_t slice_bytes,
                     struct ad_shared_weights *shared)
{
    const struct ad_op *op = &graph->ops[task->op];
    const struct ad_window *w = &op->window;
    double taps = (double)w->kh * w->kw, bytes = 0;
    int64_t r0, r1;
    ad_weight_slice(graph, op, task->region, &r0, &r1);
    if (op->weight < 0 || r0 >= r1)
        return 0;
    if (work_of(op) == AD_WORK_CONV && taps > 1 && uses_xnn(graph, op)) {
        int64_t step = part_channels(graph, op, slice_bytes, r1 - r0);
        bytes += taps * (double)ad_region_pixels(task->region) * sizeof(void *) *
                 ceil((double)(r1 - r0) / (double)step);
    }
    bool found = false;
    if (may_share(op))
        ad_shared_weights_of(shared, task->op, r0, r1, &found);
    if (found)
        return bytes;
    if (ad_op_is_quantised(graph, op))
        return bytes + ad_task_quantised_bytes(graph, task);
    double rows = (double)operator_channels(graph, op, r1 - r0) + 1; /* and bias */
    if (op->winograd != 0) {
        struct ad_winograd_shape shape = ad_winograd_shape_of(graph, op);
        rows *= ad_winograd_growth(&shape);
    }
    return bytes + rows * (double)graph->weights[op->weight].row_elements * sizeof(float);
}

/* Made operators are added to the actions. */
static enum adaps_status add_operator(const struct ad_build *build, struct ad_xnn_op *xnn,
                                      struct adaps_error *err)
{
    enum adaps_status status =
        ad_actions_add(build->actions, (struct ad_action){.kind = AD_ACTION_XNN, .xnn = xnn}, err);
    if (status != ADAPS_OK)
        ad_xnn_free(xnn);
    return status;
}

static enum adaps_status make_parts(const struct ad_build *build, const struct ad_task *task,
                                    const struct ad_xnn_io *io, const struct ad_view *in,
                                    int64_t channels, struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    int64_t r0, r1, n;
    int64_t step = part_channels(graph, op, build->slice_bytes, channels);
    enum adaps_status status = ADAPS_OK;
    ad_weight_slice(graph, op, task->region, &r0, &r1);
    for (int64_t first = 0; first < channels && status == ADAPS_OK; first += n) {
        n = channels - first;
        if (n >= step + AD_XNN_MIN_CHANNELS) /* else what is left is too narrow for its own */
            n = step;
        struct part part = {r0 + first, r0 + first + n, n};
        if (part.r1 > r1) /* widened by zero filters */
            part.r1 = r1;
        struct ad_xnn_io its = *io;
        struct ad_xnn_op *xnn = NULL;
        its.out += first;
        status = make_weighted(build, task, &part, &its, in, &xnn, err);
        if (status == ADAPS_OK)
            status = add_operator(build, xnn, err);
    }
    return status;
}

static enum adaps_status make_operators(const struct ad_build *build, const struct ad_task *task,
                                        const struct ad_view *in, const struct ad_view *out,
                                        bool clamp, struct adaps_error *err)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    struct ad_xnn_io io = {
        .in = in->data,
        .out = out->data,
        .in_stride = (size_t)in->sw,
        .out_stride = (size_t)out->sw,
        .clamp_min = clamp ? op->clamp_min : -INFINITY,
        .clamp_max = clamp ? op->clamp_max : INFINITY,
        .pool = build->pool,
    };
    return make_parts(build, task, &io, in, out->c, err);
}

enum adaps_status ad_task_build_xnn(const struct ad_build *build, const struct ad_task *task,
                                    const struct ad_scratch *scratch, bool clamp,
                                    struct adaps_error *err)
{
    static float zero;
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    struct ad_view in, out;
    xnn_operands(graph, build->buffers, task, &in, &out);
    struct ad_view from = in, to = out;
    enum adaps_status status = ADAPS_OK;
    if (scratch->in) {
        from = packed(&in, scratch->in, in.c);
        if (!in.data)
            in = (struct ad_view){.data = &zero, .n = 1, .h = 1, .w = 1, .c = 1};
        status = ad_actions_copy(build->actions, &from, &in, err);
    }
    if (scratch->out)
        to = packed(&out, scratch->out, operator_channels(graph, op, out.c));
    if (status == ADAPS_OK)
        status = make_operators(build, task, &from, &to, clamp, err);
    if (status == ADAPS_OK && scratch->out) {
        to.c = out.c;
        status = ad_actions_copy(build->actions, &out, &to, err);
    }
    return status;
}
