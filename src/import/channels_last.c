/* Values whose channels come last, N x H x W x C, as TensorFlow's exporters and layers that work on
 * the last dimension write them. An operator on Transpose(x), where x has its channels first, is
 * replaced by the operator on x and a Transpose after it. So a Transpose moves down until another
 * one undoes it, or until an operator needs the dims in this order; there it moves nothing, as maps
 * lie in memory with their channels last. In between are ordinary feature maps, which windows,
 * normalisations and fusions know and which can be split. */
#include "import/window.h"

#include <string.h>

const int32_t ad_channels_last[AD_MAX_RANK] = {0, 2, 3, 1};
const int32_t ad_channels_first[AD_MAX_RANK] = {0, 3, 1, 2};

/* Dims in another order: to[i] = from[perm[i]]. */
static void permute(const int64_t *from, const int32_t *perm, int64_t *to)
{
    for (int i = 0; i < 4; i++)
        to[i] = from[perm[i]];
}

static bool same_perm(const int32_t *a, const int32_t *b)
{
    return memcmp(a, b, 4 * sizeof *a) == 0;
}

/* The value with channels first of which v is the Transpose; -1 when there is none. A map of one
 * pixel or one channel has been reshaped. */
static int first_of(const struct ad_draft *d, int v)
{
    const struct ad_draft_op *op = d->values[v].producer;
    if (!op || d->values[v].rank != 4)
        return -1;
    if (op->kind == AD_D_TRANSPOSE)
        return same_perm(op->perm, ad_channels_last) ? op->inputs[0] : -1;
    if (op->kind != AD_D_RESHAPE)
        return -1;
    const struct ad_draft_value *in = &d->values[op->inputs[0]];
    int64_t dims[4];
    if (in->rank != 4 || (in->dims[1] != 1 && in->dims[2] * in->dims[3] != 1))
        return -1;
    permute(in->dims, ad_channels_last, dims);
    return memcmp(dims, d->values[v].dims, sizeof dims) == 0 ? op->inputs[0] : -1;
}

static bool all_but_channels_stay(const struct ad_draft_value *a, const struct ad_draft_value *b)
{
    return memcmp(a->dims, b->dims, 3 * sizeof *a->dims) == 0;
}

static bool is_binary(enum ad_draft_kind kind)
{
    return kind >= AD_D_ADD && kind <= AD_D_PRELU;
}

/* Along one dim elements stay in their places. */
static bool stays(const struct ad_draft_op *op, const struct ad_draft_value *in,
                  const struct ad_draft_value *out, int i)
{
    const struct ad_positions *p = &op->positions[i];
    return in->dims[i] == out->dims[i] && p->start == 0 && p->step == p->unit;
}

/* Whether the op does the same to values with channels first, under other axes. */
static bool can_turn(const struct ad_draft *d, const struct ad_draft_op *op)
{
    const struct ad_draft_value *in = &d->values[op->inputs[0]], *out = &d->values[op->output];
    if (out->rank != 4)
        return false;
    if (op->kind == AD_D_UNARY || is_binary(op->kind))
        return true;
    if (op->kind == AD_D_CONCAT || op->kind == AD_D_SOFTMAX)
        return op->axis == 3;
    if (op->kind == AD_D_REDUCE)
        return in->rank == 4 && op->inner == in->dims[3] && out->dims[3] == 1 &&
               all_but_channels_stay(in, out);
    if (op->kind == AD_D_RESAMPLE)
        return stays(op, in, out, 0) && (op->method < AD_METHOD_LINEAR || stays(op, in, out, 3));
    return false;
}

/* Whether the value can be had with channels first. */
static bool can_be_first(const struct ad_draft *d, int v)
{
    return d->values[v].rank == 4 || (d->values[v].constant && d->values[v].rank < 4);
}

/* A constant as rank 4 with channels first. */
static enum adaps_status turn_constant(struct ad_node *node, int *v, struct adaps_error *err)
{
    const struct ad_draft_value in = node->draft->values[*v];
    int64_t dims[4] = {1, 1, 1, 1}, turned[4];
    memcpy(dims + 4 - in.rank, in.dims, (size_t)in.rank * sizeof *dims);
    permute(dims, ad_channels_first, turned);
    if (dims[1] * dims[2] == 1 || dims[3] == 1)
        return ad_draft_reshape(node, *v, 4, turned, v, err);
    enum adaps_status status = ad_draft_reshape(node, *v, 4, dims, v, err);
    return status == ADAPS_OK ? ad_fold_transpose(node, *v, ad_channels_first, v, err) : status;
}

/* Moves the last op that was added to place `at`. */
static void move_last(struct ad_draft *d, size_t at)
{
    struct ad_draft_op *last = d->ops[d->nops - 1];
    memmove(&d->ops[at + 1], &d->ops[at], (d->nops - 1 - at) * sizeof(struct ad_draft_op *));
    d->ops[at] = last;
}

/* The op's inputs with channels first; what has to be transposed for that is, before the op. */
static enum adaps_status turn_inputs(struct ad_node *node, struct ad_draft_op *op, size_t *at,
                                     struct adaps_error *err)
{
    struct ad_draft *d = node->draft;
    enum adaps_status status = ADAPS_OK;
    for (int k = 0; k < op->ninputs && status == ADAPS_OK; k++) {
        int first = first_of(d, op->inputs[k]);
        size_t count = d->nops;
        if (d->values[op->inputs[k]].constant)
            status = turn_constant(node, &op->inputs[k], err);
        else if (first >= 0)
            op->inputs[k] = first;
        else
            status =
                ad_draft_transpose(node, op->inputs[k], ad_channels_first, &op->inputs[k], err);
        if (status == ADAPS_OK && d->nops > count)
            move_last(d, (*at)++);
    }
    return status;
}

/* Zeros around the pixels are what windows may take over. */
static void turn_padding(struct ad_draft_op *op, const struct ad_draft_value *in,
                         const struct ad_draft_value *out)
{
    const struct ad_positions *h = &op->positions[2], *w = &op->positions[3];
    int64_t below = out->dims[2] - in->dims[2] + h->start;
    int64_t right = out->dims[3] - in->dims[3] + w->start;
    if (op->edge != AD_EDGE_FILL || op->fill != 0 || op->method != AD_METHOD_FLOOR ||
        !stays(op, in, out, 1) || h->step != 1 || h->unit != 1 || w->step != 1 || w->unit != 1 ||
        h->start > 0 || w->start > 0 || below < 0 || right < 0 || h->start < -AD_MAX_WINDOW ||
        w->start < -AD_MAX_WINDOW || below > AD_MAX_WINDOW || right > AD_MAX_WINDOW)
        return;
    op->kind = AD_D_PAD;
    op->window =
        ad_window_pad((int32_t)-h->start, (int32_t)-w->start, (int32_t)below, (int32_t)right);
}

static void turn_parameters(const struct ad_draft *d, struct ad_draft_op *op)
{
    const struct ad_positions p[4] = {op->positions[0], op->positions[3], op->positions[1],
                                      op->positions[2]};
    if (op->kind == AD_D_CONCAT || op->kind == AD_D_SOFTMAX)
        op->axis = 1;
    op->flatten = false;
    if (op->kind == AD_D_REDUCE)
        op->inner = 0;
    if (op->kind == AD_D_RESAMPLE) {
        memcpy(op->positions, p, sizeof p);
        turn_padding(op, &d->values[op->inputs[0]], &d->values[op->output]);
    }
}

/* Op *at, if one of its inputs is a Transpose, and a Transpose of its result; *at is the last of
 * these then. */
static enum adaps_status turn(struct ad_node *node, size_t *at, struct adaps_error *err)
{
    struct ad_draft *d = node->draft;
    struct ad_draft_op *op = d->ops[*at], *back;
    bool wanted = false, possible = can_turn(d, op);
    for (int k = 0; k < op->ninputs && possible; k++) {
        wanted = wanted || first_of(d, op->inputs[k]) >= 0;
        possible = can_be_first(d, op->inputs[k]);
    }
    if (!wanted || !possible)
        return ADAPS_OK;
    int64_t dims[4];
    int result = op->output, turned;
    permute(d->values[result].dims, ad_channels_first, dims);
    enum adaps_status status = turn_inputs(node, op, at, err);
    if (status == ADAPS_OK)
        status = ad_draft_value(node, d->values[result].name, 4, dims, &turned, err);
    if (status != ADAPS_OK)
        return status;
    op->output = turned;
    d->values[turned].producer = op;
    turn_parameters(d, op);
    status = ad_draft_op(node, AD_D_TRANSPOSE, 1, &turned, 4, d->values[result].dims, &back, err);
    if (status != ADAPS_OK)
        return status;
    back->output = result; /* instead of the value that came with it, which has no reader */
    back->type = "Transpose";
    memcpy(back->perm, ad_channels_last, sizeof back->perm);
    d->values[result].producer = back;
    move_last(d, ++*at);
    return ADAPS_OK;
}

enum adaps_status ad_node_turn(struct ad_node *node, size_t first, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (size_t i = first; i < node->draft->nops && status == ADAPS_OK; i++) {
        status = ad_node_merge(node, &i, err);
        if (status == ADAPS_OK)
            status = turn(node, &i, err);
    }
    return status;
}

/* A Transpose to channels first, anywhere. */
static bool transposes(const Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_node; i++) {
        const int64_t *items;
        size_t count;
        const Onnx__NodeProto *node = graph->node[i];
        if (strcmp(node->op_type, "Transpose") != 0 ||
            ad_onnx_attr_ints(node, "perm", &items, &count, NULL) != ADAPS_OK || count != 4)
            continue;
        if (items[0] == 0 && items[1] == 3 && items[2] == 1 && items[3] == 2)
            return true;
    }
    return false;
}

/* An op of its own, whatever made its input. */
static enum adaps_status raw_transpose(struct ad_node *node, int *value, const int32_t *perm,
                                       struct adaps_error *err)
{
    int64_t dims[4];
    struct ad_draft_op *op;
    permute(node->draft->values[*value].dims, perm, dims);
    enum adaps_status status = ad_draft_op(node, AD_D_TRANSPOSE, 1, value, 4, dims, &op, err);
    if (status != ADAPS_OK)
        return status;
    memcpy(op->perm, perm, sizeof op->perm);
    *value = op->output;
    return ADAPS_OK;
}

enum adaps_status ad_draft_turn_inputs(struct ad_draft *d, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    bool any = transposes(d->proto);
    for (int i = 0; i < d->ninputs && any && status == ADAPS_OK; i++) {
        const struct ad_draft_value in = d->values[d->inputs[i]];
        if (in.rank != 4 || in.type != ADAPS_FLOAT32 || in.dims[3] > 4 || in.dims[1] <= 4)
            continue;
        char *output = ad_arena_alloc(&d->arena, strlen(in.name) + sizeof ":last", 1);
        if (!output)
            return ad_error_memory(err, "names", 0);
        strcat(strcpy(output, in.name), ":last");
        Onnx__NodeProto proto = ONNX__NODE_PROTO__INIT;
        proto.n_output = 1;
        proto.output = &output;
        struct ad_node node = {.draft = d, .proto = &proto, .name = in.name, .type = "Transpose"};
        int value = d->inputs[i];
        status = raw_transpose(&node, &value, ad_channels_first, err);
        if (status == ADAPS_OK)
            status = raw_transpose(&node, &value, ad_channels_last, err);
        if (status == ADAPS_OK)
            ad_names_find(&d->names, in.name)->value = value;
    }
    return status;
}
