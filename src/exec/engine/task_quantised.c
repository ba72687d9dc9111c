/* Tasks on quantised values (ir/quantised.h), by the kernels of bytes (exec/kernels/q8.h). */
#include "exec/engine/internal.h"
#include "ir/quantised.h"

#include <math.h>
#include <string.h>

static struct ad_q8_view bytes_of(const struct ad_view *v)
{
    return (struct ad_q8_view){(uint8_t *)v->data, v->n, v->h, v->w, v->c, v->sn, v->sh, v->sw};
}

/* What a value's bytes stand for. */
static struct ad_q8 meaning_of(const struct ad_value *v)
{
    return (struct ad_q8){.is_signed = v->type == ADAPS_INT8, .zero = v->zero, .scale = v->scale};
}

/* --- convolutions and dense layers --- */

static bool is_dense(const struct ad_op *op)
{
    return ad_kernel_of(op->kind)->work == AD_WORK_DENSE;
}

static struct ad_q8_shape shape_of(const struct ad_graph *graph, const struct ad_task *task)
{
    const struct ad_op *op = &graph->ops[task->op];
    struct ad_box in = graph->values[op->inputs[0]].box, out = graph->values[op->output].box;
    int64_t channels = task->region.c1 - task->region.c0;
    if (is_dense(op))
        return (struct ad_q8_shape){1, channels, 1, in.h * in.w * in.c};
    int64_t outputs = out.c / op->groups, groups = op->groups > 1 ? channels / outputs : 1;
    return (struct ad_q8_shape){groups, channels / groups, (int64_t)op->window.kh * op->window.kw,
                                in.c / op->groups};
}

/* Whether the kernels of depthwise convolutions compute it: an output for each input channel. */
static bool is_depthwise(const struct ad_graph *graph, const struct ad_op *op)
{
    return ad_op_is_depthwise(graph, op) && op->groups == graph->values[op->output].box.c &&
           ad_q8_depthwise_able(&op->window);
}

double ad_task_quantised_bytes(const struct ad_graph *graph, const struct ad_task *task)
{
    const struct ad_q8_shape shape = shape_of(graph, task);
    size_t bytes;
    return ad_q8_conv_packed(&shape, &bytes) ? (double)bytes : INFINITY;
}

/* What output channels have beside their weights, as the kernels take it. */
struct rows {
    uint8_t *zeros;
    int32_t *bias;
    float *multiplier;
};

static void rows_fini(struct rows *rows)
{
    ad_free(rows->zeros);
    ad_free(rows->bias);
    ad_free(rows->multiplier);
}

static enum adaps_status rows_init(struct rows *rows, const struct ad_graph *graph,
                                   const struct ad_op *op, const float *words, int64_t n,
                                   struct adaps_error *err)
{
    const struct ad_value *in = &graph->values[op->inputs[0]], *out = &graph->values[op->output];
    float scale = ad_value_is_quantised(out) ? out->scale : 1;
    *rows = (struct rows){ad_calloc((size_t)n, sizeof *rows->zeros),
                          ad_calloc((size_t)n, sizeof *rows->bias),
                          ad_calloc((size_t)n, sizeof *rows->multiplier)};
    if (!rows->zeros || !rows->bias || !rows->multiplier) {
        rows_fini(rows);
        return ad_error_memory(err, "weights", (size_t)n * sizeof *rows->bias);
    }
    for (int64_t i = 0; i < n; i++) {
        struct ad_quantised_row row;
        memcpy(&row, words + i * AD_QUANTISED_ROW_WORDS, sizeof row);
        rows->zeros[i] = (uint8_t)row.zero;
        rows->bias[i] = row.bias;
        rows->multiplier[i] = ad_q8_multiplier(in->scale, row.scale, scale);
    }
    return ADAPS_OK;
}

/* Some output channels as the kernels take them. */
static struct ad_q8_weights weights_of(const struct ad_graph *graph, const struct ad_op *op,
                                       const struct ad_q8_shape *shape, const float *kernel,
                                       const struct rows *rows)
{
    return (struct ad_q8_weights){.data = (const uint8_t *)kernel,
                                  .channel = graph->weights[op->weight].row_elements *
                                             (int64_t)sizeof *kernel,
                                  .tap = shape->depth,
                                  .input = 1,
                                  .is_signed = true,
                                  .zeros = rows->zeros,
                                  .zero_step = 1,
                                  .bias = rows->bias,
                                  .multiplier = rows->multiplier,
                                  .multiplier_step = 1};
}

static enum adaps_status check_reach(const struct ad_q8_shape *shape,
                                     const struct ad_q8_weights *weights, int64_t n,
                                     const struct ad_q8 *in, struct adaps_error *err)
{
    for (int64_t i = 0; i < n; i++)
        if (ad_q8_conv_reach(shape, weights, i, in) > INT32_MAX)
            return ad_error_set(err, ADAPS_EINPUT, "its sums may exceed an int32");
    return ADAPS_OK;
}

/* Packs output channels [first, first + n) of a group; those of the weight begin with r0. */
static enum adaps_status pack_rows(const struct ad_build *build, const struct ad_op *op,
                                   const struct ad_q8_shape *shape, int64_t group, int64_t first,
                                   int64_t n, int64_t r0, void *packed, struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_q8 in = meaning_of(&graph->values[op->inputs[0]]);
    struct rows rows;
    float *kernel = NULL, *words = NULL;
    enum adaps_status status = ad_task_weights(build, op, r0, r0 + n, n, &kernel, &words, err);
    if (status == ADAPS_OK)
        status = rows_init(&rows, graph, op, words, n, err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_q8_weights weights = weights_of(graph, op, shape, kernel, &rows);
    status = check_reach(shape, &weights, n, &in, err);
    if (status == ADAPS_OK)
        ad_q8_conv_pack(packed, shape, group, first, n, &weights, &in);
    rows_fini(&rows);
    return status;
}

/* Packs rows from r0 on, as many at a time as there is room for. */
static enum adaps_status pack(const struct ad_build *build, const struct ad_op *op,
                              const struct ad_q8_shape *shape, int64_t r0, void *packed,
                              struct adaps_error *err)
{
    const struct ad_weight *w = &build->plan->graph->weights[op->weight];
    int64_t words = w->row_elements + AD_QUANTISED_ROW_WORDS;
    int64_t step = (int64_t)(build->rows->bytes / sizeof(float)) / words;
    enum adaps_status status = ADAPS_OK;
    step = step < 1 ? 1 : step;
    for (int64_t group = 0; group < shape->groups; group++, r0 += shape->outputs)
        for (int64_t first = 0; first < shape->outputs && status == ADAPS_OK; first += step) {
            int64_t n = shape->outputs - first < step ? shape->outputs - first : step;
            status = pack_rows(build, op, shape, group, first, n, r0 + first, packed, err);
        }
    return status;
}

/* Where an op's sums go, and what becomes of them. */
static struct ad_q8_out out_of(const struct ad_value *value, const struct ad_op *op,
                               const struct ad_view *v)
{
    struct ad_q8_out out = {.result = AD_Q8_FLOATS,
                            .data = v->data,
                            .n = v->n,
                            .h = v->h,
                            .w = v->w,
                            .c = v->c,
                            .sn = v->sn,
                            .sh = v->sh,
                            .sw = v->sw,
                            .clamp_min = -INFINITY,
                            .clamp_max = INFINITY};
    if (ad_value_is_sums(value)) {
        out.result = AD_Q8_SUMS;
    } else if (ad_value_is_quantised(value)) {
        out.result = AD_Q8_BYTES;
        out.zero = value->zero;
        ad_quantised_limits(value, op->clamp_min, op->clamp_max, &out.lo, &out.hi);
    } else if (!ad_function_follows(op->kind, op->function)) {
        out.clamp_min = op->clamp_min;
        out.clamp_max = op->clamp_max;
    }
    return out;
}

/* Whether some weights' zero point is not 0, which takes longer. */
static enum adaps_status find_asymmetric(const struct ad_build *build, const struct ad_op *op,
                                         int64_t r0, int64_t r1, bool *out, struct adaps_error *err)
{
    size_t n = (size_t)(r1 - r0);
    struct ad_quantised_row *rows = ad_calloc(n, sizeof *rows);
    if (!rows)
        return ad_error_memory(err, "weights", n * sizeof *rows);
    enum adaps_status status = ad_task_weight(build, op->bias, r0, r1, r1 - r0, (float *)rows, err);
    *out = false;
    for (size_t i = 0; i < n && status == ADAPS_OK; i++)
        *out = *out || rows[i].zero != 0;
    ad_free(rows);
    return status;
}

static enum adaps_status build_dense(const struct ad_build *build, const struct ad_task *task,
                                     struct ad_q8_conv *conv, int64_t r0, int64_t r1,
                                     struct adaps_error *err)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    void *packed = NULL;
    bool fresh;
    size_t bytes;
    conv->slice = ad_q8_conv_slice(&conv->shape, build->slice_bytes);
    if (!ad_q8_conv_packed(&conv->shape, &bytes))
        return ad_error_set(err, ADAPS_EINPUT, "sums of more than %d products", AD_Q8_DEPTH);
    enum adaps_status status =
        ad_task_take_packed(build, task->op, r0, r1, bytes, &packed, &fresh, err);
    if (status != ADAPS_OK)
        return status;
    if (fresh)
        status = pack(build, op, &conv->shape, r0, packed, err);
    conv->packed = packed;
    struct ad_action action = {.kind = AD_ACTION_Q8_CONV, .q8_conv = *conv};
    return ad_task_end_packed(build, &action, status, err);
}

static enum adaps_status build_depthwise(const struct ad_build *build, const struct ad_task *task,
                                         const struct ad_q8_conv *conv, int64_t r0, int64_t r1,
                                         struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    const struct ad_q8 in = meaning_of(&graph->values[op->inputs[0]]);
    struct ad_q8_depthwise d = {.in = conv->in,
                                .in_signed = conv->in_signed,
                                .in_zero = conv->in_zero,
                                .out = conv->out,
                                .window = conv->window,
                                .top = conv->top,
                                .left = conv->left,
                                .asymmetric = conv->asymmetric};
    void *packed = NULL;
    bool fresh;
    size_t bytes;
    struct rows rows;
    float *kernel = NULL, *words = NULL;
    d.in.c = d.out.c;
    if (!ad_q8_depthwise_packed(&d, &bytes))
        bytes = SIZE_MAX; /* which is refused */
    enum adaps_status status =
        ad_task_take_packed(build, task->op, r0, r1, bytes, &packed, &fresh, err);
    if (status != ADAPS_OK)
        return status;
    if (fresh)
        status = ad_task_weights(build, op, r0, r1, r1 - r0, &kernel, &words, err);
    if (fresh && status == ADAPS_OK &&
        (status = rows_init(&rows, graph, op, words, r1 - r0, err)) == ADAPS_OK) {
        const struct ad_q8_weights weights = weights_of(graph, op, &conv->shape, kernel, &rows);
        status = check_reach(&conv->shape, &weights, r1 - r0, &in, err);
        if (status == ADAPS_OK)
            ad_q8_depthwise_pack(packed, &d, &weights);
        rows_fini(&rows);
    }
    d.packed = packed;
    struct ad_action action = {.kind = AD_ACTION_Q8_DEPTHWISE, .q8_depthwise = d};
    return ad_task_end_packed(build, &action, status, err);
}

static enum adaps_status build_conv(const struct ad_build *build, const struct ad_task *task,
                                    struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    const struct ad_value *in = &graph->values[op->inputs[0]];
    const struct ad_window pixel = {.kh = 1, .kw = 1, .sh = 1, .sw = 1, .dh = 1, .dw = 1};
    struct ad_region need = ad_need(graph, op, 0, task->region);
    struct ad_view out = ad_task_output(build, task), from = {.h = 0};
    struct ad_tile_pads pads = {0, 0, 0, 0};
    if (is_dense(op)) { /* rows as pixels */
        const struct ad_buffer *whole = &build->buffers[op->inputs[0]];
        int64_t columns = in->box.h * in->box.w * in->box.c;
        from = ad_matrix_view(whole->data, whole->n, columns, columns);
        out = ad_matrix_view(out.data, out.n, out.c, out.sn);
    } else {
        pads = ad_tile_pads(graph, op, task->region);
        if (!ad_region_empty(need))
            from = ad_buffer_view(&build->buffers[op->inputs[0]], need);
    }
    struct ad_q8_conv conv = {
        .in = bytes_of(&from),
        .in_signed = in->type == ADAPS_INT8,
        .in_zero = in->zero,
        .out = out_of(&graph->values[op->output], op, &out),
        .window = is_dense(op) ? pixel : op->window,
        .top = pads.top,
        .left = pads.left,
        .shape = shape_of(graph, task),
    };
    int64_t r0, r1;
    ad_weight_slice(graph, op, task->region, &r0, &r1);
    enum adaps_status status = find_asymmetric(build, op, r0, r1, &conv.asymmetric, err);
    if (status != ADAPS_OK)
        return status;
    return is_depthwise(graph, op) ? build_depthwise(build, task, &conv, r0, r1, err)
                                   : build_dense(build, task, &conv, r0, r1, err);
}

/* --- partial sums --- */

/* What the sums of output channels [r0, r1) are multiplied by; the caller's. */
static enum adaps_status make_multipliers(const struct ad_build *build, const struct ad_op *op,
                                          int64_t r0, int64_t r1, float **out,
                                          struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    size_t n = (size_t)(r1 - r0);
    float *words = ad_calloc(n, AD_QUANTISED_ROW_WORDS * sizeof *words);
    struct rows rows;
    if (!words)
        return ad_error_memory(err, "weights", n * AD_QUANTISED_ROW_WORDS * sizeof *words);
    enum adaps_status status = ad_task_weight(build, op->weight, r0, r1, r1 - r0, words, err);
    if (status == ADAPS_OK)
        status = rows_init(&rows, graph, op, words, r1 - r0, err);
    ad_free(words);
    if (status != ADAPS_OK)
        return status;
    *out = rows.multiplier;
    rows.multiplier = NULL;
    rows_fini(&rows);
    return ADAPS_OK;
}

enum adaps_status ad_task_add_sums(const struct ad_build *build, const struct ad_op *op,
                                   const struct ad_view *sum, const struct ad_view *a,
                                   const struct ad_view *b, int64_t first, struct adaps_error *err)
{
    const struct ad_value *value = &build->plan->graph->values[op->output];
    const struct ad_value *in = &build->plan->graph->values[op->inputs[0]];
    float *multiplier = NULL;
    enum adaps_status status = ADAPS_OK;
    if (op->weight >= 0)
        status = make_multipliers(build, op, first, first + sum->c, &multiplier, err);
    if (status != ADAPS_OK)
        return status;
    const struct ad_q8_sum s = {.a = out_of(in, op, a),
                                .b = out_of(in, op, b),
                                .out = out_of(value, op, sum),
                                .multiplier = multiplier};
    status = ad_actions_add(build->actions,
                            (struct ad_action){.kind = AD_ACTION_Q8_SUM, .q8_sum = s}, err);
    if (status != ADAPS_OK)
        ad_free(multiplier);
    return status;
}

/* --- products of two computed matrices --- */

struct ad_q8_product ad_task_quantised_product(const struct ad_graph *graph,
                                               const struct ad_buffer *buffers,
                                               const struct ad_task *task)
{
    const struct ad_product p = ad_task_product(graph, buffers, task);
    const struct ad_op *op = &graph->ops[task->op];
    const struct ad_value *a = &graph->values[op->inputs[0]], *b = &graph->values[op->inputs[1]];
    const struct ad_value *out = &graph->values[op->output];
    const struct ad_view to = {.data = p.out};
    return (struct ad_q8_product){
        .a = (const uint8_t *)p.a,
        .b = (const uint8_t *)p.b,
        .a_is = meaning_of(a),
        .b_is = meaning_of(b),
        .out = out_of(out, op, &to),
        .count = p.count,
        .rows = p.rows,
        .depth = p.depth,
        .columns = p.columns,
        .one_a = p.one_a,
        .one_b = p.one_b,
        .multiplier =
            ad_q8_multiplier(a->scale, b->scale, ad_value_is_quantised(out) ? out->scale : 1)};
}

static enum adaps_status build_product(const struct ad_build *build, const struct ad_task *task,
                                       struct adaps_error *err)
{
    struct ad_action action = {.kind = AD_ACTION_Q8_PRODUCT};
    action.q8_product = ad_task_quantised_product(build->plan->graph, build->buffers, task);
    action.q8_product.slice_bytes = build->slice_bytes;
    action.q8_product.scratch = build->scratch[task - build->program->tasks].in;
    return ad_actions_add(build->actions, action, err);
}

/* --- elements --- */

static struct ad_activation identity(void)
{
    return (struct ad_activation){
        .kind = AD_ELEMENTWISE_COPY, .clamp_min = -INFINITY, .clamp_max = INFINITY};
}

/* Every byte becomes another one. */
static enum adaps_status add_map(const struct ad_build *build, const struct ad_view *to,
                                 const struct ad_view *from, const struct ad_q8 *out,
                                 const struct ad_q8 *in, const struct ad_activation *function,
                                 struct adaps_error *err)
{
    uint8_t *table = ad_calloc(256, 1);
    struct ad_q8_map map = {.in = bytes_of(from), .out = bytes_of(to), .table = table};
    if (!table)
        return ad_error_memory(err, "table", 256);
    ad_q8_table_make(table, in, out, function);
    enum adaps_status status = ad_actions_add(
        build->actions, (struct ad_action){.kind = AD_ACTION_Q8_MAP, .q8_map = map}, err);
    if (status != ADAPS_OK)
        ad_free(table);
    return status;
}

enum adaps_status ad_task_move(const struct ad_build *build, int to_value, const struct ad_view *to,
                               int from_value, const struct ad_view *from, struct adaps_error *err)
{
    const struct ad_value *out = &build->plan->graph->values[to_value];
    const struct ad_value *in = &build->plan->graph->values[from_value];
    if (!ad_value_is_quantised(out) || ad_quantised_alike(in, out))
        return from->data == to->data ? ADAPS_OK : ad_actions_copy(build->actions, to, from, err);
    const struct ad_q8 to_is = meaning_of(out), from_is = meaning_of(in);
    const struct ad_activation function = identity();
    return add_map(build, to, from, &to_is, &from_is, &function, err);
}

/* An op's limits on what it has made. */
static enum adaps_status add_limits(const struct ad_build *build, const struct ad_task *task,
                                    struct adaps_error *err)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    const struct ad_q8 is = meaning_of(&build->plan->graph->values[op->output]);
    const struct ad_activation limits = ad_activation_of(op);
    struct ad_view out = ad_task_output(build, task);
    return ad_op_is_bare(op) ? ADAPS_OK : add_map(build, &out, &out, &is, &is, &limits, err);
}

static enum adaps_status build_unary(const struct ad_build *build, const struct ad_task *task,
                                     struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    const struct ad_value *in = &graph->values[op->inputs[0]], *out = &graph->values[op->output];
    struct ad_view from = ad_task_input(build, task, 0), to = ad_task_output(build, task);
    const struct ad_activation function = ad_op_is_bare(op) ? identity() : ad_activation_of(op);
    const struct ad_q8 in_is = meaning_of(in), out_is = meaning_of(out);
    if (ad_value_is_quantised(in) && ad_value_is_quantised(out))
        return add_map(build, &to, &from, &out_is, &in_is, &function, err);
    struct ad_action action = {.kind = AD_ACTION_Q8_QUANTISE};
    if (ad_value_is_quantised(in)) {
        action.kind = AD_ACTION_Q8_DEQUANTISE;
        action.q8_floats =
            (struct ad_q8_floats){.floats = to, .bytes = bytes_of(&from), .is = in_is};
    } else {
        action.q8_floats =
            (struct ad_q8_floats){.floats = from, .bytes = bytes_of(&to), .is = out_is};
    }
    enum adaps_status status = ad_actions_add(build->actions, action, err);
    if (status == ADAPS_OK && ad_value_is_quantised(in) && !ad_op_is_bare(op))
        status = ad_actions_activation(build->actions, op, &to, &to, err);
    return status;
}

/* A whole dense value of at most four dims, broadcast from the right. */
static struct ad_q8_view plain_view(const struct ad_build *build, int value)
{
    const struct ad_value *v = &build->plan->graph->values[value];
    int64_t dims[4] = {1, 1, 1, 1};
    memcpy(dims + 4 - v->rank, v->dims, (size_t)v->rank * sizeof *dims);
    return (struct ad_q8_view){.data = (uint8_t *)build->buffers[value].data,
                               .n = dims[0],
                               .h = dims[1],
                               .w = dims[2],
                               .c = dims[3],
                               .sn = dims[1] * dims[2] * dims[3],
                               .sh = dims[2] * dims[3],
                               .sw = dims[3]};
}

static enum adaps_status build_binary(const struct ad_build *build, const struct ad_task *task,
                                      struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    const struct ad_value *out = &graph->values[op->output];
    const struct ad_value *a = &graph->values[op->inputs[0]], *b = &graph->values[op->inputs[1]];
    struct ad_q8_binary e = {.multiply = ad_kernel_of(op->kind)->binary == AD_ELEMENTWISE_MUL,
                             .a_is = meaning_of(a),
                             .b_is = meaning_of(b),
                             .out_is = meaning_of(out)};
    if (out->format == AD_NHWC || (ad_same_box(a, out) && ad_same_box(b, out))) {
        struct ad_view x = ad_task_input(build, task, 0), y = ad_task_input(build, task, 1);
        struct ad_view to = ad_task_output(build, task);
        e.a = bytes_of(&x);
        e.b = bytes_of(&y);
        e.out = bytes_of(&to);
    } else {
        e.a = plain_view(build, op->inputs[0]);
        e.b = plain_view(build, op->inputs[1]);
        e.out = plain_view(build, op->output);
    }
    ad_quantised_limits(out, op->clamp_min, op->clamp_max, &e.lo, &e.hi);
    return ad_actions_add(build->actions,
                          (struct ad_action){.kind = AD_ACTION_Q8_BINARY, .q8_binary = e}, err);
}

/* --- windows --- */

static enum adaps_status build_pooling(const struct ad_build *build, const struct ad_task *task,
                                       struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    const struct ad_value *in = &graph->values[op->inputs[0]], *out = &graph->values[op->output];
    struct ad_region need = ad_need(graph, op, 0, task->region);
    struct ad_view from = ad_task_input(build, task, 0), to = ad_task_output(build, task);
    bool whole = !ad_op_has_window(op);
    const struct ad_window all = {
        .kh = (int32_t)in->box.h, .kw = (int32_t)in->box.w, .sh = 1, .sw = 1, .dh = 1, .dw = 1};
    struct ad_q8_pooling p = {.average = whole || ad_kind_has(op->kind, AD_FIELD_COUNT_PAD),
                              .count_include_pad = op->count_include_pad,
                              .window = whole ? all : op->window,
                              .in = bytes_of(&from),
                              .in_is = meaning_of(in),
                              .out_is = meaning_of(out),
                              .out = out_of(out, op, &to),
                              .in_h0 = need.h0,
                              .in_w0 = need.w0,
                              .h0 = task->region.h0,
                              .w0 = task->region.w0,
                              .size_h = in->box.h,
                              .size_w = in->box.w};
    return ad_actions_add(build->actions,
                          (struct ad_action){.kind = AD_ACTION_Q8_POOLING, .q8_pooling = p}, err);
}

static enum adaps_status build_resample(const struct ad_build *build, const struct ad_task *task,
                                        struct adaps_error *err)
{
    const struct ad_graph *graph = build->plan->graph;
    const struct ad_op *op = &graph->ops[task->op];
    const struct ad_value *in = &graph->values[op->inputs[0]], *all = &graph->values[op->output];
    struct ad_region need = ad_need(graph, op, 0, task->region), out = task->region;
    struct ad_view to = ad_task_output(build, task), from;
    struct ad_q8_resample r = {.how = op->resampling,
                               .out = bytes_of(&to),
                               .in_is = meaning_of(in),
                               .out_is = meaning_of(all),
                               .in_h0 = need.h0,
                               .in_w0 = need.w0,
                               .in_c0 = need.c0,
                               .h0 = out.h0,
                               .w0 = out.w0,
                               .c0 = out.c0,
                               .size = {in->box.h, in->box.w, in->box.c},
                               .outputs = {all->box.h, all->box.w}};
    if (!ad_region_empty(need)) { /* else all is fill, and nothing is read */
        from = ad_task_input(build, task, 0);
        r.in = bytes_of(&from);
    }
    enum adaps_status status = ad_q8_resample_init(&r, err);
    if (status == ADAPS_OK)
        status = ad_actions_add(build->actions,
                                (struct ad_action){.kind = AD_ACTION_Q8_RESAMPLE, .q8_resample = r},
                                err);
    if (status != ADAPS_OK)
        ad_q8_resample_fini(&r);
    return status == ADAPS_OK ? add_limits(build, task, err) : status;
}

enum adaps_status ad_task_build_quantised(const struct ad_build *build, const struct ad_task *task,
                                          struct adaps_error *err)
{
    const struct ad_op *op = &build->plan->graph->ops[task->op];
    const struct ad_kernel *kernel = ad_kernel_of(op->kind);
    enum adaps_status status;
    if (ad_operator_of(op->kind)->elementwise)
        return build_binary(build, task, err);
    if (ad_operator_of(op->kind)->activation)
        return build_unary(build, task, err);
    if (ad_operator_of(op->kind)->quantised == AD_QUANTISED_FOLDED)
        return kernel->build(build, task, err);
    switch (kernel->work) {
    case AD_WORK_CONV:
    case AD_WORK_DENSE:
        return build_conv(build, task, err);
    case AD_WORK_PRODUCT:
        return build_product(build, task, err);
    case AD_WORK_POOL:
        return build_pooling(build, task, err);
    case AD_WORK_RESAMPLE:
        return build_resample(build, task, err);
    default: /* copies */
        status = kernel->build(build, task, err);
        return status == ADAPS_OK ? add_limits(build, task, err) : status;
    }
}
