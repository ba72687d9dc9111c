/* The graph of a plan file: sizes are checked here, everything else by ad_graph_verify(). */
#include "base/protobuf.h"
#include "ir/aliasing.h"
#include "ir/operators.h"
#include "plan/unpack.h"

#include <inttypes.h>
#include <string.h>

enum adaps_status ad_plan_unpack_digest(const ProtobufCBinaryData *from, struct ad_digest *to,
                                        const char *what, struct adaps_error *err)
{
    if (from->len != sizeof to->bytes)
        return ad_error_set(err, ADAPS_EINPUT, "the digest of %s has %zu bytes, not %zu", what,
                            from->len, sizeof to->bytes);
    memcpy(to->bytes, from->data, sizeof to->bytes);
    return ADAPS_OK;
}

static int *copy_indices(struct ad_arena *arena, const int32_t *from, size_t n)
{
    int *to = ad_arena_alloc(arena, n ? n : 1, sizeof *to);
    for (size_t i = 0; to && i < n; i++)
        to[i] = from[i];
    return to;
}

static struct ad_window window_of(const Adaps__Plan__Window *m)
{
    if (!m)
        return (struct ad_window){0};
    return (struct ad_window){.kh = m->kh,
                              .kw = m->kw,
                              .sh = m->sh,
                              .sw = m->sw,
                              .dh = m->dh,
                              .dw = m->dw,
                              .pt = m->pt,
                              .pl = m->pl,
                              .pb = m->pb,
                              .pr = m->pr,
                              .real_pb = m->real_pb,
                              .real_pr = m->real_pr};
}

/* All 0 without the message, which verification refuses. */
static struct ad_resampling resampling_of(const Adaps__Plan__Resampling *m)
{
    struct ad_resampling r = {0};
    if (!m)
        return r;
    r.method = (enum ad_method)m->method;
    r.edge = (enum ad_edge)m->edge;
    r.fill = m->fill;
    r.cubic = m->cubic;
    r.exclude_outside = m->exclude_outside;
    for (size_t i = 0; i < m->n_axes && i < 3; i++)
        r.axis[i] = (struct ad_positions){m->axes[i]->step, m->axes[i]->start, m->axes[i]->unit};
    return r;
}

/* An op without it has one of no kind, which is refused when the graph is verified. */
static enum adaps_status unpack_whole(struct ad_arena *arena, const Adaps__Plan__Whole *m,
                                      const char *name, struct ad_whole *out,
                                      struct adaps_error *err)
{
    out->kind = AD_WHOLE_COUNT;
    if (!m)
        return ADAPS_OK;
    if (m->n_ints > AD_WHOLE_MOST_INTS || m->n_floats > AD_WHOLE_MOST_FLOATS)
        return ad_error_set(err, ADAPS_EINPUT, "op '%s' has %zu integers and %zu floats", name,
                            m->n_ints, m->n_floats);
    int64_t *ints = ad_arena_alloc(arena, m->n_ints + 1, sizeof *ints);
    float *floats = ad_arena_alloc(arena, m->n_floats + 1, sizeof *floats);
    if (!ints || !floats)
        return ad_error_memory(err, "plan", m->n_ints * sizeof *ints);
    for (size_t i = 0; i < m->n_ints; i++)
        ints[i] = m->ints[i];
    for (size_t i = 0; i < m->n_floats; i++)
        floats[i] = m->floats[i];
    *out = (struct ad_whole){.kind = (enum ad_whole_kind)m->kind,
                             .to = (enum adaps_type)m->to,
                             .ints = ints,
                             .nints = (int)m->n_ints,
                             .floats = floats,
                             .nfloats = (int)m->n_floats};
    return ADAPS_OK;
}

/* The fields that ops of the kind have; what else is in the file means nothing. */
static void unpack_fields(const Adaps__Plan__Op *m, struct ad_op *op)
{
    uint32_t fields = (unsigned)op->kind < AD_OP_COUNT ? ad_operator_of(op->kind)->fields : 0;
    if (fields & (AD_FIELD_WINDOW | AD_FIELD_BLOCKS))
        op->window = window_of(m->window);
    if ((unsigned)op->kind < AD_OP_COUNT && ad_op_is_conv(op)) {
        op->winograd = m->winograd;
        op->partial = m->partial;
    }
    if (fields & AD_FIELD_COUNT_PAD)
        op->count_include_pad = m->count_include_pad;
    if (fields & AD_FIELD_LRN) {
        op->lrn_size = m->lrn_size;
        op->lrn_alpha = m->lrn_alpha;
        op->lrn_beta = m->lrn_beta;
        op->lrn_bias = m->lrn_bias;
    }
    if (fields & AD_FIELD_ROWS) {
        op->outer = m->outer;
        op->inner = m->inner;
    }
    if (fields & AD_FIELD_CHANNELS)
        op->inner = m->inner;
    if (fields & AD_FIELD_REDUCTION)
        op->reduction = (enum ad_reduction)m->reduction;
    if (fields & AD_FIELD_VIEW) {
        op->view_rank = (int)m->n_view_dims;
        for (size_t i = 0; i < m->n_view_dims; i++) {
            op->view_dims[i] = m->view_dims[i];
            op->perm[i] = m->perm[i];
        }
    }
    if (fields & AD_FIELD_BLOCK)
        op->block = m->block;
    if (fields & AD_FIELD_CHANNEL_MAJOR)
        op->channel_major = m->channel_major;
    if (fields & AD_FIELD_RESAMPLING)
        op->resampling = resampling_of(m->resampling);
}

static enum adaps_status unpack_op(struct ad_arena *arena, const Adaps__Plan__Op *m,
                                   struct ad_op *op, struct adaps_error *err)
{
    if (m->n_inputs > AD_PLAN_MAX_VALUES)
        return ad_error_set(err, ADAPS_EINPUT, "op '%s' has %zu inputs", m->name, m->n_inputs);
    if (m->n_view_dims > AD_MAX_RANK || m->n_perm != m->n_view_dims)
        return ad_error_set(err, ADAPS_EINPUT,
                            "op '%s': a permutation of %zu for %zu dims; at most %d", m->name,
                            m->n_perm, m->n_view_dims, AD_MAX_RANK);
    *op = (struct ad_op){
        .kind = (enum ad_op_kind)m->kind,
        .name = ad_arena_strdup(arena, m->name),
        .type = ad_arena_strdup(arena, m->type),
        .ninputs = (int)m->n_inputs,
        .inputs = copy_indices(arena, m->inputs, m->n_inputs),
        .output = m->output,
        .weight = m->weight,
        .bias = m->bias,
        .groups = m->groups,
        .function = (enum ad_function)m->function,
        .alpha = m->alpha,
        .beta = m->beta,
        .clamp_min = m->clamp_min,
        .clamp_max = m->clamp_max,
    };
    if (!op->name || !op->type || !op->inputs)
        return ad_error_memory(err, "plan", strlen(m->name));
    unpack_fields(m, op);
    if ((unsigned)op->kind < AD_OP_COUNT && ad_kind_has(op->kind, AD_FIELD_WHOLE))
        return unpack_whole(arena, m->whole, m->name, &op->whole, err);
    return ADAPS_OK;
}

static enum adaps_status unpack_value(struct ad_arena *arena, const Adaps__Plan__Value *m,
                                      struct ad_value *value, struct adaps_error *err)
{
    if (m->n_dims > AD_MAX_RANK || m->n_box != 4 || m->format > AD_PLAIN)
        return ad_error_set(err, ADAPS_EINPUT,
                            "value '%s': rank %zu, a box of %zu numbers, format %" PRIu32, m->name,
                            m->n_dims, m->n_box, m->format);
    *value = (struct ad_value){
        .name = ad_arena_strdup(arena, m->name),
        .rank = (int)m->n_dims,
        .format = (enum ad_format)m->format,
        .type = m->type == 0 ? ADAPS_FLOAT32 : (enum adaps_type)m->type,
        .open = m->open,
        .scale = m->scale,
        .zero = m->zero,
        .box = {m->box[0], m->box[1], m->box[2], m->box[3]},
        .producer = m->producer,
        .constant = m->constant,
    };
    if (!value->name)
        return ad_error_memory(err, "plan", strlen(m->name));
    for (size_t i = 0; i < m->n_dims; i++)
        value->dims[i] = m->dims[i];
    return ADAPS_OK;
}

static enum adaps_status unpack_metadata(const Adaps__Plan__Graph *m, struct ad_graph *graph,
                                         struct adaps_error *err)
{
    const char **pairs = ad_arena_alloc(&graph->arena, 2 * m->n_metadata + 1, sizeof *pairs);
    if (!pairs)
        return ad_error_memory(err, "plan", m->n_metadata);
    for (size_t i = 0; i < m->n_metadata; i++) {
        pairs[2 * i] = ad_arena_strdup(&graph->arena, m->metadata[i]->key);
        pairs[2 * i + 1] = ad_arena_strdup(&graph->arena, m->metadata[i]->value);
        if (!pairs[2 * i] || !pairs[2 * i + 1])
            return ad_error_memory(err, "plan", m->n_metadata);
    }
    graph->metadata = pairs;
    return ADAPS_OK;
}

/* The counts are within the limits here. nweights is set last: ad_graph_free() walks the weights.
 */
static enum adaps_status fill_graph(const Adaps__Plan__Graph *m, struct ad_graph *graph,
                                    struct adaps_error *err)
{
    struct ad_arena *arena = &graph->arena;
    graph->name = ad_arena_strdup(arena, m->name);
    graph->ops = ad_arena_alloc(arena, m->n_ops + 1, sizeof *graph->ops);
    graph->values = ad_arena_alloc(arena, m->n_values + 1, sizeof *graph->values);
    graph->weights = ad_arena_alloc(arena, m->n_weights + 1, sizeof *graph->weights);
    graph->inputs = copy_indices(arena, m->inputs, m->n_inputs);
    graph->outputs = copy_indices(arena, m->outputs, m->n_outputs);
    if (!graph->name || !graph->ops || !graph->values || !graph->weights || !graph->inputs ||
        !graph->outputs)
        return ad_error_memory(err, "graph of the plan", m->n_ops * sizeof *graph->ops);
    graph->nops = (int)m->n_ops;
    graph->nvalues = (int)m->n_values;
    graph->nweights = (int)m->n_weights;
    graph->ninputs = (int)m->n_inputs;
    graph->noutputs = (int)m->n_outputs;
    enum adaps_status status = ADAPS_OK;
    for (size_t i = 0; i < m->n_ops && status == ADAPS_OK; i++)
        status = unpack_op(arena, m->ops[i], &graph->ops[i], err);
    for (size_t i = 0; i < m->n_values && status == ADAPS_OK; i++)
        status = unpack_value(arena, m->values[i], &graph->values[i], err);
    for (size_t i = 0; i < m->n_weights && status == ADAPS_OK; i++) {
        struct ad_weight *weight = &graph->weights[i];
        weight->rows = m->weights[i]->rows;
        weight->row_elements = m->weights[i]->row_elements;
        weight->name = ad_arena_strdup(arena, m->weights[i]->name);
        if (!weight->name)
            return ad_error_memory(err, "plan", m->n_weights);
        status = ad_plan_unpack_digest(&m->weights[i]->digest, &weight->digest, weight->name, err);
    }
    return status == ADAPS_OK ? unpack_metadata(m, graph, err) : status;
}

enum adaps_status ad_plan_unpack_graph(const Adaps__Plan__Graph *m, struct ad_graph **out,
                                       struct adaps_error *err)
{
    if (!m)
        return ad_error_set(err, ADAPS_EINPUT, "there is no graph");
    enum adaps_status status = ad_plan_check_graph_limits(m->n_ops, m->n_values, m->n_weights,
                                                          m->n_inputs, m->n_outputs, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_graph *graph = ad_calloc(1, sizeof *graph);
    if (!graph)
        return ad_error_memory(err, "graph of the plan", sizeof *graph);
    status = fill_graph(m, graph, err);
    if (status == ADAPS_OK)
        status = ad_graph_verify(graph, false, err);
    if (status == ADAPS_OK)
        status = ad_alias_mark(graph, err);
    if (status == ADAPS_OK)
        *out = graph;
    else
        ad_graph_free(graph);
    return status;
}

enum adaps_status ad_plan_unpack_graph_alone(const void *data, size_t size, struct ad_graph **out,
                                             struct adaps_error *err)
{
    ProtobufCMessage *message;
    size_t budget = ad_protobuf_budget(size, AD_PLAN_BUDGET_FACTOR, AD_PLAN_BUDGET_BASE);
    enum ad_protobuf_result result =
        ad_protobuf_unpack(&adaps__plan__graph__descriptor, data, size, budget, &message);
    if (result == AD_PROTOBUF_NO_MEMORY)
        return ad_error_memory(err, "graph", size);
    if (result != AD_PROTOBUF_OK)
        return ad_error_set(err, ADAPS_EINPUT, "the graph is malformed");
    enum adaps_status status = ad_plan_unpack_graph((const Adaps__Plan__Graph *)message, out, err);
    ad_protobuf_free(message);
    return status;
}
