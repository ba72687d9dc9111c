/* Draft -> graph. Feature maps (rank 4) are NHWC, everything else PLAIN; a value gets its other
 * format on demand, by PERMUTE or, where that moves nothing, RESHAPE. A product after Flatten reads
 * the feature map itself, with the columns of its weights rearranged instead. */
#include "import/lower_internal.h"
#include "ir/aliasing.h"

#include <stdio.h>
#include <string.h>

static int no_memory(struct ad_draft_lowering *l, const char *what)
{
    ad_error_memory(l->err, what, 0);
    return -1;
}

/* --- values --- */

int *ad_lower_indices(struct ad_draft_lowering *l, int64_t count)
{
    int *indices = ad_arena_alloc(&l->draft->arena, (size_t)count, sizeof *indices);
    if (!indices)
        no_memory(l, "operands");
    return indices;
}

int ad_lower_value(struct ad_draft_lowering *l, const char *name, const char *suffix, int rank,
                   const int64_t *dims, enum ad_format format)
{
    size_t size = strlen(name) + strlen(suffix) + 1;
    char *full = ad_arena_alloc(&l->graph->arena, size, 1);
    struct ad_value value = {
        .rank = rank, .format = format, .type = ADAPS_FLOAT32, .producer = -1, .constant = -1};
    if (rank > 0) /* before growing: dims may be those of another value */
        memcpy(value.dims, dims, (size_t)rank * sizeof *dims);
    if (rank == 5 && format == AD_NHWC) {
        const int64_t maps[] = {dims[0], dims[1] * dims[2], dims[3], dims[4]};
        memcpy(value.dims, maps, sizeof maps);
        value.dims[4] = 0;
        value.rank = 4;
    }
    value.box = ad_box_of(&value);
    if (!full || !ad_grow(&l->values, l->nvalues, &l->values_capacity, sizeof *l->values))
        return no_memory(l, "values");
    snprintf(full, size, "%s%s", name, suffix);
    value.name = full;
    l->values[l->nvalues] = value;
    return (int)l->nvalues++;
}

/* Gives value `to` the type of the draft's. */
static void take_type(struct ad_draft_lowering *l, int to, const struct ad_draft_value *from)
{
    struct ad_value *v = &l->values[to];
    v->type = from->type;
    v->open = from->open;
    v->scale = from->scale;
    v->zero = from->zero;
    v->box = ad_box_of(v);
}

/* A value for what the draft calls `v`, remembered as its form in this format. The draft's name is
 * kept by the value that the file means; others that stand for steps towards it get a number. */
int ad_lower_result(struct ad_draft_lowering *l, int v, enum ad_format format)
{
    const struct ad_draft_value *d = &l->draft->values[v];
    const struct ad_name *name = ad_names_find(&l->draft->names, d->name);
    char suffix[16] = "";
    bool named = !name || name->value == v || !d->producer;
    for (int i = 0; i < l->draft->noutputs; i++)
        named = named || l->draft->outputs[i] == v;
    if (!named)
        snprintf(suffix, sizeof suffix, ":%d", v);
    else if (d->rank == 5 && format == AD_NHWC)
        snprintf(suffix, sizeof suffix, ":dc");
    int out = ad_lower_value(l, d->name, suffix, d->rank, d->dims, format);
    if (out >= 0)
        take_type(l, out, d);
    l->lowered[v].in[format] = out;
    return out;
}

/* --- ops --- */

/* Whether an op of this kind only brings a value into the format that the current one reads. */
static bool is_conversion(const struct ad_draft_lowering *l, enum ad_op_kind kind)
{
    return (kind == AD_OP_RESHAPE || kind == AD_OP_PERMUTE) &&
           (!l->current ||
            (l->current->kind != AD_D_RESHAPE && l->current->kind != AD_D_TRANSPOSE));
}

/* An op whose parameters are those of the draft's (NULL: none), computing value `output`. */
struct ad_op *ad_lower_op(struct ad_draft_lowering *l, const struct ad_draft_op *from,
                          enum ad_op_kind kind, const char *name, const char *type, int ninputs,
                          const int *inputs, int output)
{
    struct ad_arena *arena = &l->graph->arena;
    int *copy = ad_arena_alloc(arena, (size_t)ninputs, sizeof *copy);
    struct ad_op op = {.kind = kind,
                       .name = ad_arena_strdup(arena, name),
                       .type = ad_arena_strdup(arena, type),
                       .ninputs = ninputs,
                       .inputs = copy,
                       .output = output,
                       .weight = -1,
                       .bias = -1,
                       .groups = 1,
                       .clamp_min = -INFINITY,
                       .clamp_max = INFINITY};
    if (!copy || !op.name || !op.type ||
        !ad_grow(&l->ops, l->nops, &l->ops_capacity, sizeof *l->ops)) {
        no_memory(l, "operators");
        return NULL;
    }
    memcpy(copy, inputs, (size_t)ninputs * sizeof *copy);
    if (!is_conversion(l, kind)) {
        op.nodes = l->nodes;
        op.nnodes = l->nnodes;
    }
    if (from) {
        op.window = from->window;
        op.groups = from->groups;
        op.count_include_pad = from->count_include_pad;
        op.function = from->function;
        op.alpha = from->alpha;
        op.beta = from->beta;
        op.block = from->block;
        op.channel_major = from->channel_major;
        op.clamp_min = from->clamp_min;
        op.clamp_max = from->clamp_max;
        op.lrn_size = from->lrn_size;
        op.lrn_alpha = from->lrn_alpha;
        op.lrn_beta = from->lrn_beta;
        op.lrn_bias = from->lrn_bias;
    }
    l->values[output].producer = (int)l->nops;
    l->ops[l->nops] = op;
    return &l->ops[l->nops++];
}

/* The same elements in the same order under other dims: one RESHAPE, however many there were. */
int ad_lower_reshape(struct ad_draft_lowering *l, int from, int to)
{
    int producer = l->values[from].producer;
    if (producer >= 0 && l->ops[producer].kind == AD_OP_RESHAPE)
        from = l->ops[producer].inputs[0];
    const char *name = l->values[to].name;
    return ad_lower_op(l, NULL, AD_OP_RESHAPE, name, "Reshape", 1, &from, to) ? to : -1;
}

static const int32_t in_order[AD_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};

void ad_lower_quantise_as(struct ad_draft_lowering *l, int to, int from)
{
    if (!ad_value_is_quantised(&l->values[from]))
        return;
    l->values[to].type = l->values[from].type;
    l->values[to].scale = l->values[from].scale;
    l->values[to].zero = l->values[from].zero;
    l->values[to].box = ad_box_of(&l->values[to]);
}

/* Value `from`, of these dims of rank 4 or 5 in the draft, in the other format. A result of rank 5
 * has its name only as it is in the file. */
static int convert(struct ad_draft_lowering *l, const char *name, int from, int rank,
                   const int64_t *dims, enum ad_format format)
{
    const char *suffix = format == AD_NHWC ? ":nhwc" : rank == 5 ? "" : ":nchw";
    int to = ad_lower_value(l, name, suffix, rank, dims, format);
    if (to >= 0)
        ad_lower_quantise_as(l, to, from);
    return to < 0 ? -1 : ad_lower_permute(l, "Layout", from, rank, dims, in_order, to);
}

static int add_constant_value(struct ad_draft_lowering *l, int v, int rank, enum ad_format format)
{
    const struct ad_draft_value *d = &l->draft->values[v];
    int64_t dims[AD_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i] = i < rank - d->rank ? 1 : d->dims[i - (rank - d->rank)];
    int weight = ad_lower_constant(l, v, rank, format);
    int out = weight < 0 ? -1 : ad_lower_value(l, d->name, "", rank, dims, format);
    if (out >= 0) {
        take_type(l, out, d);
        l->values[out].constant = weight;
    }
    return out;
}

/* Draft value v in this format, converted once. */
int ad_lower_get(struct ad_draft_lowering *l, int v, enum ad_format format)
{
    struct ad_lowered *lowered = &l->lowered[v];
    if (lowered->in[format] >= 0)
        return lowered->in[format];
    const struct ad_draft_value *d = &l->draft->values[v];
    int from = lowered->in[format == AD_NHWC ? AD_PLAIN : AD_NHWC];
    if (d->constant)
        return lowered->in[format] = add_constant_value(l, v, d->rank, format);
    const char *name = d->rank == 5 ? d->name : l->values[from].name;
    return lowered->in[format] = convert(l, name, from, d->rank, d->dims, format);
}

static enum ad_format format_of(const struct ad_draft_lowering *l, int v)
{
    return l->lowered[v].in[AD_NHWC] >= 0 ? AD_NHWC : AD_PLAIN;
}

/* An operand of an NHWC elementwise op: of rank 4 at least by leading dims of 1. */
static int get_nhwc_operand(struct ad_draft_lowering *l, int v)
{
    const struct ad_draft_value *d = &l->draft->values[v];
    if (d->rank == 4)
        return ad_lower_get(l, v, AD_NHWC);
    if (d->constant)
        return add_constant_value(l, v, 4, AD_NHWC);
    int64_t dims[4] = {1, 1, 1, 1};
    memcpy(dims + 4 - d->rank, d->dims, (size_t)d->rank * sizeof *dims);
    int from = ad_lower_get(l, v, AD_PLAIN);
    int wide = from < 0 ? -1 : ad_lower_value(l, d->name, ":4d", 4, dims, AD_PLAIN);
    if (wide >= 0)
        ad_lower_quantise_as(l, wide, from);
    if (wide < 0 || ad_lower_reshape(l, from, wide) < 0)
        return -1;
    return convert(l, l->values[wide].name, wide, 4, dims, AD_NHWC);
}

/* --- operators --- */

/* One input in, one output out, both in `format`. */
struct ad_op *ad_lower_simple(struct ad_draft_lowering *l, const struct ad_draft_op *op,
                              enum ad_op_kind kind, enum ad_format format)
{
    int in = ad_lower_get(l, op->inputs[0], format);
    int out = in < 0 ? -1 : ad_lower_result(l, op->output, format);
    return out < 0 ? NULL : ad_lower_op(l, op, kind, op->name, op->type, 1, &in, out);
}

/* The mean of every row, for a mean over the whole map: devices that have some of the rows
 * send one number per row and channel instead of the rows, and the order of summation does not
 * depend on which device has which rows. -1 without memory. */
static int add_row_means(struct ad_draft_lowering *l, const struct ad_draft_op *op, int in)
{
    const struct ad_value *v = &l->values[in];
    const struct ad_box box = v->box;
    const int64_t dims[] = {box.n, box.c, box.h, 1};
    int out = ad_lower_value(l, l->draft->values[op->output].name, ":rows", 4, dims, AD_NHWC);
    struct ad_op *rows =
        out < 0 ? NULL
                : ad_lower_op(l, NULL, AD_OP_AVGPOOL, l->values[out].name, op->type, 1, &in, out);
    if (rows)
        rows->window =
            (struct ad_window){.kh = 1, .kw = (int32_t)box.w, .sh = 1, .sw = 1, .dh = 1, .dw = 1};
    return rows ? out : -1;
}

bool ad_lower_gap(struct ad_draft_lowering *l, const struct ad_draft_op *op, int in, int out)
{
    bool rows = in >= 0 && !ad_value_is_quantised(&l->values[in]);
    if (rows && l->values[in].box.h > 1 && l->values[in].box.w > 1)
        in = add_row_means(l, op, in);
    if (in >= 0 && out < 0)
        out = ad_lower_result(l, op->output, AD_NHWC);
    struct ad_op *gap =
        in < 0 || out < 0 ? NULL : ad_lower_op(l, op, AD_OP_GAP, op->name, op->type, 1, &in, out);
    if (gap)
        gap->window = (struct ad_window){0};
    return gap;
}

static bool lower_gap(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    int in = ad_lower_get(l, op->inputs[0], AD_NHWC);
    return in >= 0 && ad_lower_gap(l, op, in, -1);
}

struct ad_draft_op ad_lower_bare(const struct ad_draft_op *op)
{
    struct ad_draft_op bare = *op;
    bare.function = AD_FN_NONE;
    bare.clamp_min = -INFINITY;
    bare.clamp_max = INFINITY;
    return bare;
}

/* Whether one window covers the map exactly: some exporters write the global mean this way. */
static bool is_global(const struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    const struct ad_window *w = &op->window;
    const int64_t *in = l->draft->values[op->inputs[0]].dims;
    return w->kh == in[2] && w->kw == in[3] && w->pt == 0 && w->pl == 0 && w->pb == 0 && w->pr == 0;
}

static bool lower_conv(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    struct ad_op *conv = ad_lower_simple(l, op, AD_OP_CONV, AD_NHWC);
    if (!conv)
        return false;
    conv->weight = ad_lower_filters(l, op);
    if (conv->weight < 0)
        return false;
    if (ad_lower_is_quantised(l, op))
        return (conv->bias = ad_lower_quantised_rows(l, op, 1, true)) >= 0;
    if (op->bias)
        conv->bias = ad_lower_rows(l, op->name, ":bias", op->rows, op->bias, 0);
    return !op->bias || conv->bias >= 0;
}

static bool lower_matmul(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    const struct ad_draft_value *result = &l->draft->values[op->output];
    int in[2] = {ad_lower_get(l, op->inputs[0], AD_PLAIN), -1};
    if (in[0] >= 0)
        in[1] = ad_lower_get(l, op->inputs[1], AD_PLAIN);
    int out = in[1] < 0 ? -1 : ad_lower_result(l, op->output, AD_PLAIN);
    struct ad_op *made =
        out < 0 ? NULL : ad_lower_op(l, op, AD_OP_MATMUL, op->name, op->type, 2, in, out);
    if (!made)
        return false;
    made->window = (struct ad_window){0};
    made->inner = op->inner;
    made->outer =
        result->elements / (result->dims[result->rank - 2] * result->dims[result->rank - 1]);
    return true;
}

/* An op that runs whole, on values in the file's order. */
static bool add_whole(struct ad_draft_lowering *l, const struct ad_draft_op *op,
                      const struct ad_whole *whole)
{
    struct ad_arena *arena = &l->graph->arena;
    int *inputs = ad_lower_indices(l, op->ninputs);
    int64_t *ints = ad_arena_alloc(arena, (size_t)whole->nints + 1, sizeof *ints);
    float *floats = ad_arena_alloc(arena, (size_t)whole->nfloats + 1, sizeof *floats);
    if (!inputs || !ints || !floats)
        return no_memory(l, "operators") >= 0;
    for (int k = 0; k < op->ninputs; k++)
        if ((inputs[k] = ad_lower_get(l, op->inputs[k], AD_PLAIN)) < 0)
            return false;
    int out = ad_lower_result(l, op->output, AD_PLAIN);
    struct ad_op *made =
        out < 0 ? NULL
                : ad_lower_op(l, NULL, AD_OP_WHOLE, op->name, op->type, op->ninputs, inputs, out);
    if (!made)
        return false;
    memcpy(ints, whole->ints, (size_t)whole->nints * sizeof *ints);
    memcpy(floats, whole->floats, (size_t)whole->nfloats * sizeof *floats);
    made->whole = *whole;
    made->whole.ints = ints;
    made->whole.floats = floats;
    return true;
}

static bool lower_unary(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    const float floats[] = {op->alpha, op->beta, op->clamp_min, op->clamp_max};
    const int64_t function = (int64_t)op->function;
    const struct ad_whole whole = {
        .kind = AD_WHOLE_FUNCTION, .ints = &function, .nints = 1, .floats = floats, .nfloats = 4};
    if (l->draft->values[op->inputs[0]].open)
        return add_whole(l, op, &whole);
    return ad_lower_simple(l, op, AD_OP_UNARY, format_of(l, op->inputs[0]));
}

/* Numbers by channel for every depth. NULL without memory. */
static double *repeated(struct ad_draft_lowering *l, double *numbers, int64_t rows, int64_t depth)
{
    double *all = ad_arena_alloc(&l->draft->arena, (size_t)(rows * depth), sizeof *all);
    for (int64_t i = 0; all && i < rows * depth; i++)
        all[i] = numbers[i % rows];
    return all;
}

/* A per-channel affine map as a depthwise convolution of one tap. */
static bool lower_as_depthwise(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    const struct ad_draft_value *d = &l->draft->values[op->inputs[0]];
    int64_t rows = d->dims[1], depth = d->rank == 5 ? d->dims[2] : 1;
    l->draft->fold_left -= d->rank == 5 ? rows * depth : 0;
    double *scale = repeated(l, op->scale, rows, depth);
    double *bias = op->bias ? repeated(l, op->bias, rows, depth) : NULL;
    struct ad_op *conv = ad_lower_simple(l, op, AD_OP_CONV, AD_NHWC);
    if (!conv || !scale || (op->bias && !bias))
        return conv ? no_memory(l, op->name) >= 0 : false;
    conv->window = (struct ad_window){.kh = 1, .kw = 1, .sh = 1, .sw = 1, .dh = 1, .dw = 1};
    conv->groups = (int32_t)(rows * depth);
    conv->weight = ad_lower_rows(l, op->name, ":scale", rows * depth, scale, 1);
    if (conv->weight >= 0 && bias)
        conv->bias = ad_lower_rows(l, op->name, ":bias", rows * depth, bias, 0);
    return conv->weight >= 0 && (!bias || conv->bias >= 0);
}

/* A constant value of dims 1 x rows x 1 ... for a PLAIN operand. */
static int row_operand(struct ad_draft_lowering *l, const char *name, const char *suffix, int rank,
                       int64_t rows, const double *numbers)
{
    int64_t dims[AD_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i] = i == 1 ? rows : 1;
    int weight = ad_lower_rows(l, name, suffix, rows, numbers, 0);
    if (weight < 0)
        return -1;
    l->weights[weight].row_elements = rows; /* an operand is one row */
    l->weights[weight].rows = 1;
    int v = ad_lower_value(l, name, suffix, rank, dims, AD_PLAIN);
    if (v >= 0)
        l->values[v].constant = weight;
    return v;
}

static bool lower_affine(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    const struct ad_draft_value *d = &l->draft->values[op->output];
    if (d->rank == 4 || (d->rank == 5 && op->rows * d->dims[2] <= l->draft->fold_left))
        return lower_as_depthwise(l, op);
    int x[2] = {ad_lower_get(l, op->inputs[0], AD_PLAIN), -1}, y[2];
    if (x[0] >= 0)
        x[1] = row_operand(l, op->name, ":scale", d->rank, op->rows, op->scale);
    y[0] = x[1] < 0 ? -1 : ad_lower_value(l, d->name, ":scaled", d->rank, d->dims, AD_PLAIN);
    y[1] = y[0] < 0 ? -1 : row_operand(l, op->name, ":bias", d->rank, op->rows, op->bias);
    int out = y[1] < 0 ? -1 : ad_lower_result(l, op->output, AD_PLAIN);
    return out >= 0 && ad_lower_op(l, NULL, AD_OP_MUL, op->name, op->type, 2, x, y[0]) &&
           ad_lower_op(l, op, AD_OP_ADD, op->name, op->type, 2, y, out);
}

static bool lower_fc(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    const struct ad_draft_value *values = l->draft->values;
    int v = op->inputs[0], in = -1;
    int64_t c = values[v].dims[1], depth = 1, hw = 1;
    const struct ad_draft_op *before = values[v].producer;
    const struct ad_draft_value *map =
        before && before->kind == AD_D_RESHAPE ? &values[before->inputs[0]] : NULL;
    bool flat = map && map->dims[0] == values[v].dims[0] &&
                format_of(l, before->inputs[0]) == AD_NHWC &&
                (map->rank == 4 || !op->weight_transposed || map->dims[2] == 1);
    if (flat) { /* Flatten of a feature map */
        in = ad_lower_get(l, before->inputs[0], AD_NHWC);
        c = map->dims[1];
        depth = map->rank == 5 ? map->dims[2] : 1;
        hw = map->dims[map->rank - 2] * map->dims[map->rank - 1];
    } else {
        in = ad_lower_get(l, v, AD_PLAIN);
    }
    int out = in < 0 ? -1 : ad_lower_result(l, op->output, AD_PLAIN);
    struct ad_op *fc =
        out < 0 ? NULL : ad_lower_op(l, op, AD_OP_FC, op->name, op->type, 1, &in, out);
    if (!fc)
        return false;
    fc->weight = ad_lower_matrix(l, op, c, depth, hw);
    if (fc->weight >= 0 && ad_lower_is_quantised(l, op))
        return (fc->bias = ad_lower_quantised_rows(l, op, 1, true)) >= 0;
    if (fc->weight >= 0 && op->bias)
        fc->bias = ad_lower_rows(l, op->name, ":bias", op->rows, op->bias, 0);
    return fc->weight >= 0 && (!op->bias || fc->bias >= 0);
}

static enum ad_op_kind binary_kind(enum ad_draft_kind kind)
{
    switch (kind) {
    case AD_D_ADD:
        return AD_OP_ADD;
    case AD_D_SUB:
        return AD_OP_SUB;
    case AD_D_MUL:
        return AD_OP_MUL;
    case AD_D_MIN:
        return AD_OP_MIN;
    case AD_D_MAX:
        return AD_OP_MAX;
    case AD_D_POW:
        return AD_OP_POW;
    case AD_D_PRELU:
        return AD_OP_PRELU;
    default:
        return AD_OP_DIV;
    }
}

static bool lower_elementwise(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    enum ad_format format = AD_PLAIN;
    int in[2];
    int rank = l->draft->values[op->output].rank;
    for (int k = 0; k < 2; k++)
        if (format_of(l, op->inputs[k]) == AD_NHWC && (rank == 4 || rank == 5))
            format = AD_NHWC;
    for (int k = 0; k < 2 && rank == 5; k++)
        if (!ad_lower_fits_depth(l, op->inputs[k], op->output))
            format = AD_PLAIN;
    for (int k = 0; k < 2; k++) {
        in[k] = format == AD_PLAIN ? ad_lower_get(l, op->inputs[k], AD_PLAIN)
                : rank == 5        ? ad_lower_operand_depth(l, op->inputs[k], op->output)
                                   : get_nhwc_operand(l, op->inputs[k]);
        if (in[k] < 0)
            return false;
    }
    int out = ad_lower_result(l, op->output, format);
    return out >= 0 && ad_lower_op(l, op, binary_kind(op->kind), op->name, op->type, 2, in, out);
}

static bool lower_concat(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    const struct ad_draft_value *d = &l->draft->values[op->output];
    bool channels = (d->rank == 4 && op->axis == 1) || (d->rank == 5 && op->axis == 2);
    enum ad_format format = channels ? AD_NHWC : AD_PLAIN;
    int *in = ad_lower_indices(l, op->ninputs);
    if (!in)
        return false;
    for (int k = 0; k < op->ninputs; k++)
        if ((in[k] = ad_lower_get(l, op->inputs[k], format)) < 0)
            return false;
    int out = ad_lower_result(l, op->output, format);
    struct ad_op *concat =
        out < 0 ? NULL : ad_lower_op(l, op, AD_OP_CONCAT, op->name, op->type, op->ninputs, in, out);
    if (concat && format == AD_PLAIN) {
        concat->outer = 1;
        for (int i = 0; i < op->axis; i++)
            concat->outer *= d->dims[i];
        concat->inner = d->elements / concat->outer;
    }
    return concat;
}

static bool lower_softmax(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    const struct ad_draft_value *d = &l->draft->values[op->output];
    bool over_channels =
        d->rank == 4 && op->axis == 1 && (!op->flatten || d->dims[2] * d->dims[3] == 1);
    struct ad_op *softmax =
        ad_lower_simple(l, op, AD_OP_SOFTMAX, over_channels ? AD_NHWC : AD_PLAIN);
    if (softmax && !over_channels) {
        softmax->outer = 1;
        for (int i = 0; i < op->axis; i++)
            softmax->outer *= d->dims[i];
        softmax->inner = d->elements / softmax->outer;
    }
    return softmax;
}

/* Prefers a pair of formats between which nothing moves, then NHWC for feature maps. */
static bool lower_transpose(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    const struct ad_draft_value *d = &l->draft->values[op->inputs[0]];
    enum ad_format from = format_of(l, op->inputs[0]), to = d->rank == 4 ? AD_NHWC : AD_PLAIN;
    if (ad_lower_stays(d->rank, d->dims, op->perm, from, AD_PLAIN))
        to = AD_PLAIN;
    int in = ad_lower_get(l, op->inputs[0], from);
    int out = in < 0 ? -1 : ad_lower_result(l, op->output, to);
    return out >= 0 && ad_lower_permute(l, op->type, in, d->rank, d->dims, op->perm, out) >= 0;
}

/* Whether a map of one depth gets or loses this dimension. */
static bool is_same_map(const struct ad_draft_value *a, const struct ad_draft_value *b)
{
    const struct ad_draft_value *deep = a->rank == 5 ? a : b, *flat = a->rank == 5 ? b : a;
    return deep->rank == 5 && flat->rank == 4 && deep->dims[2] == 1 &&
           memcmp(deep->dims, flat->dims, 2 * sizeof *flat->dims) == 0 &&
           memcmp(deep->dims + 3, flat->dims + 2, 2 * sizeof *flat->dims) == 0;
}

/* A RESHAPE of what a PERMUTE makes for it alone: the PERMUTE makes the result. */
static int reshape_permuted(struct ad_draft_lowering *l, int from, int to)
{
    int producer = l->values[from].producer;
    if (producer < 0 || l->ops[producer].kind != AD_OP_PERMUTE ||
        l->values[from].format != AD_PLAIN)
        return ad_lower_reshape(l, from, to);
    const struct ad_op before = l->ops[producer];
    struct ad_op *op =
        ad_lower_op(l, NULL, AD_OP_PERMUTE, l->values[to].name, before.type, 1, before.inputs, to);
    if (!op)
        return -1;
    op->view_rank = before.view_rank;
    memcpy(op->view_dims, before.view_dims, sizeof op->view_dims);
    memcpy(op->perm, before.perm, sizeof op->perm);
    return to;
}

static bool lower_reshape(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    const struct ad_draft_value *values = l->draft->values;
    bool maps = format_of(l, op->inputs[0]) == AD_NHWC &&
                is_same_map(&values[op->inputs[0]], &values[op->output]);
    enum ad_format format = maps ? AD_NHWC : AD_PLAIN;
    int in = ad_lower_get(l, op->inputs[0], format);
    int out = in < 0 ? -1 : ad_lower_result(l, op->output, format);
    if (out >= 0 && l->uses[op->inputs[0]] == 1)
        return reshape_permuted(l, in, out) >= 0;
    return out >= 0 && ad_lower_reshape(l, in, out) >= 0;
}

static bool lower_op(struct ad_draft_lowering *l, const struct ad_draft_op *op)
{
    switch (op->kind) {
    case AD_D_CONV:
        return op->depth.k ? ad_lower_conv_depth(l, op) : lower_conv(l, op);
    case AD_D_CONV_TRANSPOSE:
        return ad_lower_conv_transpose(l, op);
    case AD_D_DEPTH_TO_SPACE:
        return ad_lower_depth_to_space(l, op);
    case AD_D_SHUFFLE:
        return ad_lower_shuffle(l, op);
    case AD_D_MAXPOOL:
        return op->depth.k ? ad_lower_maxpool_depth(l, op)
                           : ad_lower_simple(l, op, AD_OP_MAXPOOL, AD_NHWC) != NULL;
    case AD_D_AVGPOOL:
        if (op->depth.k)
            return ad_lower_means_depth(l, op);
        return is_global(l, op) ? lower_gap(l, op)
                                : ad_lower_simple(l, op, AD_OP_AVGPOOL, AD_NHWC) != NULL;
    case AD_D_GAP:
        return l->draft->values[op->inputs[0]].rank == 5 ? ad_lower_means_depth(l, op)
                                                         : lower_gap(l, op);
    case AD_D_FC:
        return lower_fc(l, op);
    case AD_D_ADD:
    case AD_D_SUB:
    case AD_D_MUL:
    case AD_D_DIV:
    case AD_D_MIN:
    case AD_D_MAX:
    case AD_D_POW:
    case AD_D_PRELU:
        return lower_elementwise(l, op);
    case AD_D_UNARY:
        return lower_unary(l, op);
    case AD_D_WHOLE:
        return add_whole(l, op, &op->whole);
    case AD_D_CONCAT:
        return lower_concat(l, op);
    case AD_D_SOFTMAX:
        return lower_softmax(l, op);
    case AD_D_LRN:
        return l->draft->values[op->output].rank == 5
                   ? ad_lower_lrn_depth(l, op)
                   : ad_lower_simple(l, op, AD_OP_LRN, AD_NHWC) != NULL;
    case AD_D_TRANSPOSE:
        return lower_transpose(l, op);
    case AD_D_RESHAPE:
        return lower_reshape(l, op);
    case AD_D_SPACE_TO_DEPTH:
        return ad_lower_simple(l, op, AD_OP_SPACE_TO_DEPTH, AD_NHWC);
    case AD_D_REDUCE:
        return ad_lower_reduce(l, op);
    case AD_D_MATMUL:
        return lower_matmul(l, op);
    case AD_D_RESAMPLE:
        return ad_lower_resample(l, op);
    case AD_D_PAD:
        return ad_lower_pad(l, op);
    case AD_D_QUANTIZE:
    case AD_D_DEQUANTIZE:
        return ad_lower_simple(l, op, AD_OP_UNARY, format_of(l, op->inputs[0]));
    case AD_D_AFFINE:
        return lower_affine(l, op);
    }
    return false;
}

/* The network's inputs, as the graph's first values: maps, except where every reader transposes
 * them to channels first. */
static bool lower_inputs(struct ad_draft_lowering *l)
{
    struct ad_draft *d = l->draft;
    bool *first = ad_arena_alloc(&d->arena, d->nvalues, sizeof *first);
    bool *others = ad_arena_alloc(&d->arena, d->nvalues, sizeof *others);
    if (!first || !others)
        return no_memory(l, "inputs") >= 0;
    for (size_t i = 0; i < d->nops; i++) {
        const struct ad_draft_op *op = d->ops[i];
        bool takes =
            op->kind == AD_D_TRANSPOSE && memcmp(op->perm, ad_channels_first, sizeof op->perm) == 0;
        for (int k = 0; k < op->ninputs && !op->dead; k++)
            (takes ? first : others)[op->inputs[k]] = true;
    }
    for (int i = 0; i < d->ninputs; i++) {
        int v = d->inputs[i];
        bool map = d->values[v].rank == 4 && d->values[v].type == ADAPS_FLOAT32 &&
                   (others[v] || !first[v]);
        if (ad_lower_result(l, v, map ? AD_NHWC : AD_PLAIN) < 0)
            return false;
    }
    return true;
}

static void count_uses(struct ad_draft_lowering *l)
{
    const struct ad_draft *d = l->draft;
    for (int i = 0; i < d->noutputs; i++)
        l->uses[d->outputs[i]]++;
    for (size_t i = 0; i < d->nops; i++)
        for (int k = 0; k < d->ops[i]->ninputs && !d->ops[i]->dead; k++)
            l->uses[d->ops[i]->inputs[k]]++;
}

/* All ops; with the nodes that they came from, if `origins` tells them. */
static bool lower_ops(struct ad_draft_lowering *l, struct ad_origins *origins)
{
    bool ok = true;
    for (size_t i = 0; ok && i < l->draft->nops; i++) {
        l->current = l->draft->ops[i];
        if (l->current->dead)
            continue;
        if (origins && !ad_origins_of(origins, l->current, &l->graph->arena, &l->nodes, &l->nnodes))
            return no_memory(l, "nodes") >= 0;
        ok = lower_op(l, l->current);
    }
    l->current = NULL;
    l->nodes = NULL;
    l->nnodes = 0;
    return ok;
}

enum adaps_status ad_draft_lower(struct ad_draft *draft, bool origins, struct ad_graph **out,
                                 struct adaps_error *err)
{
    struct adaps_error local = {.status = ADAPS_EINTERNAL};
    struct ad_draft_lowering l = {.draft = draft, .err = &local};
    struct ad_origins *from = NULL;
    enum adaps_status status = origins ? ad_origins_new(draft, &from, err) : ADAPS_OK;
    if (status != ADAPS_OK)
        return status;
    l.graph = ad_calloc(1, sizeof *l.graph);
    l.lowered = ad_calloc(draft->nvalues, sizeof *l.lowered);
    l.uses = ad_calloc(draft->nvalues, sizeof *l.uses);
    bool ok = l.graph && l.lowered && l.uses;
    if (!ok)
        no_memory(&l, "graph");
    for (size_t v = 0; ok && v < draft->nvalues; v++)
        l.lowered[v] = (struct ad_lowered){{-1, -1}};
    if (ok)
        count_uses(&l);
    ok = ok && lower_inputs(&l);
    ok = ok && lower_ops(&l, from);
    ad_origins_free(from);
    for (int i = 0; ok && i < draft->noutputs;
         i++) /* the caller knows nothing of depths as channels */
        if (draft->values[draft->outputs[i]].rank == 5)
            ok = ad_lower_get(&l, draft->outputs[i], AD_PLAIN) >= 0;
    ok = ok && ad_lower_finish(&l);
    if (!ok)
        status = ad_error_set(err, local.status, "%s", local.message);
    if (ok) {
        status = ad_graph_verify(l.graph, true, err);
        if (status == ADAPS_OK)
            status = ad_alias_mark(l.graph, err);
        if (status != ADAPS_OK)
            ad_error_prefix(err, "%s: ", draft->model->path);
    }
    for (size_t i = 0; i < l.nweights; i++) {
        ad_free(l.weights[i].data);
        ad_recipe_free(l.weights[i].recipe);
    }
    ad_free(l.weights);
    ad_free(l.ops);
    ad_free(l.values);
    ad_free(l.lowered);
    ad_free(l.uses);
    if (status == ADAPS_OK)
        *out = l.graph;
    else
        ad_graph_free(l.graph);
    return status;
}
