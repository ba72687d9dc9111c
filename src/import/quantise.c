/* Operators on quantised values. Files write them as operators on floats between DequantizeLinear
 * and QuantizeLinear; here these become operators on bytes (ir/quantised.h) where there are kernels
 * for them. What stays on floats reads the dequantised value, as the file says. */
#include "import/internal.h"
#include "import/lower_internal.h"
#include "ir/quantised.h"

#include <math.h>
#include <string.h>

struct pass {
    struct ad_draft *draft;
    int *quantised; /* by value: the value that is its quantised form; -1: none */
    size_t nquantised;
    int *uses;                    /* by value: how many live ops read it, and outputs, */
    struct ad_draft_op **readers; /* and one of these ops */
    struct ad_draft_op **ops;
    size_t nops, capacity;
    struct adaps_error *err;
};

/* --- reading --- */

/* Type, scale and zero of a node that has one of each, constant; false: it has not. */
static enum adaps_status read_parameters(struct pass *p, const struct ad_draft_op *op,
                                         enum adaps_type type, struct ad_value *out, bool *is)
{
    const struct ad_draft_value *values = p->draft->values;
    const struct ad_onnx_tensor *scale, *zero;
    *out = (struct ad_value){.type = type};
    *is = false;
    for (int k = 1; k < op->ninputs; k++)
        if (!values[op->inputs[k]].constant || values[op->inputs[k]].elements != 1)
            return ADAPS_OK;
    enum adaps_status status = ad_draft_tensor(p->draft, op->inputs[1], &scale, p->err);
    if (status != ADAPS_OK || !scale->is_float)
        return status;
    out->scale = scale->f[0];
    if (op->ninputs > 2) {
        status = ad_draft_tensor(p->draft, op->inputs[2], &zero, p->err);
        if (status != ADAPS_OK || zero->is_float || zero->i[0] < INT8_MIN || zero->i[0] > UINT8_MAX)
            return status;
        out->zero = (int32_t)zero->i[0];
    }
    *is = ad_quantised_valid(out);
    return ADAPS_OK;
}

static bool is_whole(const struct ad_draft_op *op, enum ad_whole_kind kind)
{
    return op->kind == AD_D_WHOLE && op->whole.kind == kind && !op->dead;
}

static bool may_hold(const struct ad_draft_value *v)
{
    return !v->open && !v->constant && v->rank >= 1 && v->rank <= 4;
}

/* --- quantised forms --- */

/* A value of the same dims; its name is that of `like`. */
static enum adaps_status add_value(struct pass *p, int like, int *out)
{
    struct ad_draft_value v = p->draft->values[like];
    struct ad_node node = {.draft = p->draft, .name = v.name, .type = "QuantizeLinear"};
    return ad_draft_value(&node, v.name, v.rank, v.dims, out, p->err);
}

static struct ad_draft_op *add_op(struct pass *p, const struct ad_draft_op *from,
                                  enum ad_draft_kind kind, int input, int output)
{
    struct ad_draft_op *op = ad_arena_alloc(&p->draft->arena, 1, sizeof *op);
    int *inputs = ad_arena_alloc(&p->draft->arena, 1, sizeof *inputs);
    if (!op || !inputs || !ad_grow(&p->ops, p->nops, &p->capacity, sizeof(struct ad_draft_op *)))
        return NULL;
    inputs[0] = input;
    *op =
        (struct ad_draft_op){.kind = kind,
                             .node = from->node,
                             .name = from->name,
                             .type = kind == AD_D_QUANTIZE ? "QuantizeLinear" : "DequantizeLinear",
                             .ninputs = 1,
                             .inputs = inputs,
                             .output = output,
                             .groups = 1,
                             .clamp_min = -INFINITY,
                             .clamp_max = INFINITY,
                             .weight = -1};
    p->draft->values[output].producer = op;
    p->ops[p->nops++] = op;
    return op;
}

static enum adaps_status keep(struct pass *p, struct ad_draft_op *op)
{
    if (!ad_grow(&p->ops, p->nops, &p->capacity, sizeof(struct ad_draft_op *)))
        return ad_error_memory(p->err, "operators", sizeof *op);
    p->ops[p->nops++] = op;
    return ADAPS_OK;
}

/* The quantised form of float value `x`, made by a new op, which stands for `value` of the file. */
static enum adaps_status add_form(struct pass *p, const struct ad_draft_op *from, int x, int value,
                                  const struct ad_value *as)
{
    int form;
    enum adaps_status status = add_value(p, value, &form);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_value *v = &p->draft->values[form];
    v->type = as->type;
    v->scale = as->scale;
    v->zero = as->zero;
    if ((size_t)value < p->nquantised)
        p->quantised[value] = form;
    return add_op(p, from, AD_D_QUANTIZE, x, form)
               ? ADAPS_OK
               : ad_error_memory(p->err, "operators", sizeof *from);
}

static bool is_alike(const struct ad_draft_value *form, const struct ad_value *as)
{
    return form->type == as->type && form->scale == as->scale && form->zero == as->zero;
}

/* A QuantizeLinear makes the quantised form. Who wants the bytes as they are in the file gets them
 * from that. */
static enum adaps_status make_form(struct pass *p, struct ad_draft_op *op,
                                   const struct ad_value *as)
{
    int floats;
    enum adaps_status status = add_form(p, op, op->inputs[0], op->output, as);
    int form = (int)p->draft->nvalues - 1;
    if (status == ADAPS_OK)
        status = add_value(p, op->inputs[0], &floats);
    if (status != ADAPS_OK)
        return status;
    op->inputs[0] = floats;
    if (!add_op(p, op, AD_D_DEQUANTIZE, form, floats))
        return ad_error_memory(p->err, "operators", sizeof *op);
    return keep(p, op);
}

/* A DequantizeLinear reads the quantised form. Of bytes that come from elsewhere, such as the
 * network's input, the form is made of what it makes. */
static enum adaps_status read_form(struct pass *p, struct ad_draft_op *op,
                                   const struct ad_value *as)
{
    int x = op->inputs[0], form = (size_t)x < p->nquantised ? p->quantised[x] : -1,
        out = op->output;
    if (form >= 0 && is_alike(&p->draft->values[form], as)) {
        op->dead = true;
        return add_op(p, op, AD_D_DEQUANTIZE, form, out)
                   ? ADAPS_OK
                   : ad_error_memory(p->err, "operators", sizeof *op);
    }
    int floats;
    enum adaps_status status = add_value(p, out, &floats);
    if (status != ADAPS_OK)
        return status;
    op->output = floats;
    p->draft->values[floats].producer = op;
    status = keep(p, op);
    if (status == ADAPS_OK)
        status = add_form(p, op, floats, floats, as);
    if (status != ADAPS_OK)
        return status;
    return add_op(p, op, AD_D_DEQUANTIZE, (int)p->draft->nvalues - 1, out)
               ? ADAPS_OK
               : ad_error_memory(p->err, "operators", sizeof *op);
}

/* All ops in a new list, with the quantised forms of what QuantizeLinear makes. */
static enum adaps_status add_forms(struct pass *p)
{
    struct ad_draft *d = p->draft;
    for (size_t i = 0; i < d->nops; i++) {
        struct ad_draft_op *op = d->ops[i];
        struct ad_value as;
        bool makes = is_whole(op, AD_WHOLE_QUANTIZE), reads = is_whole(op, AD_WHOLE_DEQUANTIZE);
        bool is = false;
        enum adaps_status status = ADAPS_OK;
        makes = makes && d->values[op->inputs[0]].type == ADAPS_FLOAT32;
        if ((makes || reads) && may_hold(&d->values[op->inputs[0]]))
            status = read_parameters(p, op, makes ? op->whole.to : d->values[op->inputs[0]].type,
                                     &as, &is);
        if (status == ADAPS_OK && is)
            status = reads ? read_form(p, op, &as) : make_form(p, op, &as);
        else if (status == ADAPS_OK)
            status = keep(p, op);
        if (status != ADAPS_OK)
            return status;
    }
    ad_free(d->ops);
    d->ops = p->ops;
    d->nops = p->nops;
    d->ops_capacity = p->capacity;
    p->ops = NULL;
    return ADAPS_OK;
}

/* --- operators on quantised values --- */

/* What operand k is dequantised from: a quantised value; a dequantised constant as it is; -1. */
static int form_of(const struct pass *p, const struct ad_draft_op *op, int k)
{
    const struct ad_draft_value *v = &p->draft->values[op->inputs[k]];
    if (v->constant)
        return v->constant->dequantised ? op->inputs[k] : -1;
    return v->producer && v->producer->kind == AD_D_DEQUANTIZE ? v->producer->inputs[0] : -1;
}

/* The QUANTIZE that alone reads what an op makes; NULL: there is none. */
static struct ad_draft_op *sole_quantize(const struct pass *p, const struct ad_draft_op *op)
{
    struct ad_draft_op *reader = p->uses[op->output] == 1 ? p->readers[op->output] : NULL;
    return reader && !reader->dead && reader->kind == AD_D_QUANTIZE &&
                   ad_draft_joins(p->draft, reader->node, op->node)
               ? reader
               : NULL;
}

/* A mean over rows and columns that leaves them out is reshaped before it is quantised: these two
 * change places, in the list of ops as well. */
static void quantise_before_reshape(struct pass *p, const struct ad_draft_op *op)
{
    struct ad_draft_value *values = p->draft->values;
    struct ad_draft_op *reshape = p->uses[op->output] == 1 ? p->readers[op->output] : NULL;
    if (!reshape || reshape->kind != AD_D_RESHAPE || reshape->dead ||
        !ad_draft_joins(p->draft, reshape->node, op->node))
        return;
    struct ad_draft_op *quantize = sole_quantize(p, reshape);
    if (!quantize || values[op->output].rank > 4)
        return;
    int between = reshape->output, out = quantize->output;
    struct ad_draft_value *v = &values[between];
    v->rank = values[op->output].rank;
    memcpy(v->dims, values[op->output].dims, sizeof v->dims);
    v->type = values[out].type;
    v->scale = values[out].scale;
    v->zero = values[out].zero;
    struct ad_draft_op second = *reshape;
    *reshape = *quantize;
    *quantize = second;
    reshape->inputs[0] = op->output;
    reshape->output = between;
    quantize->inputs[0] = between;
    quantize->output = out;
    values[between].producer = reshape;
    values[out].producer = quantize;
}

/* Whether a constant has one scale and zero point, of a type that values may have. */
static bool is_one(const struct ad_draft_value *v)
{
    const struct ad_dequantised *from = v->constant->dequantised;
    const struct ad_value as = {.type = from->type,
                                .scale = from->scale[0],
                                .zero = from->zero[0] < INT8_MIN || from->zero[0] > UINT8_MAX
                                            ? INT32_MIN
                                            : (int32_t)from->zero[0]};
    return from->count == 1 && ad_quantised_valid(&as);
}

/* A constant operand as a quantised value. */
static enum adaps_status constant_form(struct pass *p, int value, int *out)
{
    struct ad_draft *d = p->draft;
    const struct ad_dequantised *from = d->values[value].constant->dequantised;
    enum adaps_status status = add_value(p, value, out);
    if (status != ADAPS_OK)
        return status;
    struct ad_draft_value *v = &d->values[*out];
    v->constant = d->values[from->x].constant;
    v->type = from->type;
    v->scale = from->scale[0];
    v->zero = (int32_t)from->zero[0];
    return ADAPS_OK;
}

/* Whether the weights of a convolution or product are bytes that the kernels take, and its bias
 * whole numbers of what they add. */
static bool takes_weights(const struct pass *p, const struct ad_draft_op *op, int form)
{
    const struct ad_draft_value *in = &p->draft->values[form];
    const struct ad_draft_value *w = &p->draft->values[op->weight];
    const struct ad_dequantised *from = w->constant ? w->constant->dequantised : NULL;
    if (!from || op->scale || op->depth.k > 0 || in->rank > 4 || in->rank < 2)
        return false;
    const struct ad_draft_value *x = &p->draft->values[from->x];
    bool blocks = op->kind == AD_D_CONV_TRANSPOSE;
    int channel = blocks ? 1 : op->weight_transposed ? x->rank - 1 : 0;
    int64_t scales = blocks ? op->rows / op->groups : op->rows;
    bool same = w->rank == x->rank && memcmp(w->dims, x->dims, sizeof x->dims) == 0;
    if ((from->type != ADAPS_INT8 && from->type != ADAPS_UINT8) ||
        (from->count > 1 && (!same || from->axis != channel || from->count != scales)))
        return false;
    for (int64_t i = 0; i < op->rows; i++) {
        int64_t k = i % from->count;
        int32_t bias;
        if (!isnormal(from->scale[k]) || from->scale[k] < 0 ||
            !ad_lower_whole_bias(op->bias ? op->bias[i] : 0, in->scale, from->scale[k], &bias))
            return false;
    }
    return true;
}

/* How a kind of op may compute with quantised values. */
enum taking {
    TAKES_NOT,
    TAKES_WEIGHTED, /* a quantised input and weights */
    TAKES_PRODUCT,  /* all operands quantised, each with its scale; the result, if it can be */
    TAKES_EACH,     /* all operands and the result quantised, each with its scale */
    TAKES_SAME,     /* likewise, the result as the input */
};

static enum taking taking_of(const struct ad_draft_op *op)
{
    switch (op->kind) {
    case AD_D_CONV:
    case AD_D_CONV_TRANSPOSE:
    case AD_D_FC:
        return TAKES_WEIGHTED;
    case AD_D_MATMUL:
        return op->inner <= AD_QUANTISED_PRODUCTS ? TAKES_PRODUCT : TAKES_NOT;
    case AD_D_ADD:
    case AD_D_MUL:
    case AD_D_AVGPOOL:
    case AD_D_GAP:
    case AD_D_CONCAT:
    case AD_D_UNARY:
        return TAKES_EACH;
    case AD_D_MAXPOOL:
    case AD_D_TRANSPOSE:
    case AD_D_RESHAPE:
    case AD_D_SPACE_TO_DEPTH:
    case AD_D_DEPTH_TO_SPACE:
    case AD_D_SHUFFLE:
    case AD_D_PAD:
        return TAKES_SAME;
    case AD_D_RESAMPLE:
        return op->method < AD_METHOD_LINEAR ? TAKES_SAME : TAKES_EACH;
    default:
        return TAKES_NOT;
    }
}

/* Whether numbers are mixed dim by dim: between two steps they are floats. */
static bool mixes_in_steps(const struct pass *p, const struct ad_draft_op *op)
{
    const struct ad_draft_value *in = &p->draft->values[op->inputs[0]];
    const struct ad_draft_value *out = &p->draft->values[op->output];
    bool steps = in->rank != 4;
    if (op->kind != AD_D_RESAMPLE || op->method < AD_METHOD_LINEAR)
        return false;
    for (int i = 0; i < 2 && !steps; i++)
        steps = in->dims[i] != out->dims[i] || op->positions[i].start != 0 ||
                op->positions[i].step != op->positions[i].unit;
    return steps;
}

static bool has_rank_4(const struct pass *p, const struct ad_draft_op *op)
{
    const struct ad_draft_value *values = p->draft->values;
    return values[op->output].rank <= 4 && values[op->inputs[0]].rank <= 4;
}

/* `quantize` disappears: op makes what it made. */
static void absorb(struct pass *p, struct ad_draft_op *op, struct ad_draft_op *quantize)
{
    quantize->dead = true;
    p->draft->values[op->output].producer = NULL;
    op->output = quantize->output;
    p->draft->values[op->output].producer = op;
}

static enum adaps_status turn_operands(struct pass *p, struct ad_draft_op *op)
{
    enum adaps_status status = ADAPS_OK;
    for (int k = 0; k < op->ninputs && status == ADAPS_OK; k++) {
        int form = form_of(p, op, k);
        if (p->draft->values[op->inputs[k]].constant)
            status = constant_form(p, op->inputs[k], &form);
        op->inputs[k] = form;
    }
    return status;
}

/* What moves keeps its scale; a result of another one is made of it by a QUANTIZE, which is there.
 */
static enum adaps_status turn_same(struct pass *p, struct ad_draft_op *op,
                                   struct ad_draft_op *quantize)
{
    struct ad_draft_value *values = p->draft->values;
    const struct ad_draft_value *in = &values[form_of(p, op, 0)];
    const struct ad_value as = {.type = in->type, .scale = in->scale, .zero = in->zero};
    op->inputs[0] = form_of(p, op, 0);
    if (is_alike(&values[quantize->output], &as)) {
        absorb(p, op, quantize);
        return ADAPS_OK;
    }
    values[op->output].type = as.type;
    values[op->output].scale = as.scale;
    values[op->output].zero = as.zero;
    return ADAPS_OK;
}

/* What reorders the first operand for this op alone, of what was dequantised, such as the rows that
 * a product is of; NULL: nothing does. */
static struct ad_draft_op *mover_of(const struct pass *p, const struct ad_draft_op *op)
{
    struct ad_draft_op *mover = p->draft->values[op->inputs[0]].producer;
    bool moves =
        mover && !mover->dead && (mover->kind == AD_D_RESHAPE || mover->kind == AD_D_TRANSPOSE);
    return moves && p->uses[mover->output] == 1 && has_rank_4(p, mover) &&
                   ad_draft_joins(p->draft, mover->node, op->node)
               ? mover
               : NULL;
}

/* It reorders the bytes. */
static int turn_mover(struct pass *p, struct ad_draft_op *mover, int form)
{
    const struct ad_draft_value *in = &p->draft->values[form];
    struct ad_draft_value *out = &p->draft->values[mover->output];
    mover->inputs[0] = form;
    out->type = in->type;
    out->scale = in->scale;
    out->zero = in->zero;
    return mover->output;
}

static enum adaps_status turn_weighted(struct pass *p, struct ad_draft_op *op)
{
    int form = form_of(p, op, 0);
    struct ad_draft_op *mover = form < 0 ? mover_of(p, op) : NULL;
    struct ad_draft_op *quantize = sole_quantize(p, op);
    form = mover ? form_of(p, mover, 0) : form;
    if (form < 0 || !takes_weights(p, op, form))
        return ADAPS_OK;
    op->inputs[0] = mover ? turn_mover(p, mover, form) : form;
    if (quantize && op->function == AD_FN_NONE)
        absorb(p, op, quantize);
    return ADAPS_OK;
}

static enum adaps_status turn_op(struct pass *p, struct ad_draft_op *op)
{
    enum taking taking = taking_of(op);
    if (op->dead || taking == TAKES_NOT || !has_rank_4(p, op) || mixes_in_steps(p, op))
        return ADAPS_OK;
    if (taking == TAKES_WEIGHTED)
        return turn_weighted(p, op);
    if (op->kind == AD_D_GAP)
        quantise_before_reshape(p, op);
    struct ad_draft_op *quantize = sole_quantize(p, op);
    bool all = (quantize || taking == TAKES_PRODUCT) &&
               (op->function == AD_FN_NONE || op->kind == AD_D_UNARY);
    for (int k = 0; k < op->ninputs && all; k++) {
        const struct ad_draft_value *v = &p->draft->values[op->inputs[k]];
        all = form_of(p, op, k) >= 0 && (!v->constant || is_one(v));
    }
    if (!all)
        return ADAPS_OK;
    if (taking == TAKES_SAME)
        return turn_same(p, op, quantize);
    enum adaps_status status = turn_operands(p, op);
    if (status == ADAPS_OK && quantize)
        absorb(p, op, quantize);
    return status;
}

/* A QUANTIZE of what was dequantised reads the bytes themselves. */
static void shorten(struct pass *p, struct ad_draft_op *op)
{
    if (op->dead || op->kind != AD_D_QUANTIZE)
        return;
    int form = form_of(p, op, 0);
    if (form >= 0)
        op->inputs[0] = form;
}

/* Room for all values, those included that constant operands become. */
static enum adaps_status make_uses(struct pass *p)
{
    size_t most = p->draft->nvalues;
    for (size_t i = 0; i < p->draft->nops; i++)
        most += (size_t)p->draft->ops[i]->ninputs;
    p->uses = ad_calloc(most, sizeof *p->uses);
    p->readers = ad_calloc(most, sizeof(struct ad_draft_op *));
    return p->uses && p->readers ? ADAPS_OK
                                 : ad_error_memory(p->err, "uses", most * sizeof *p->uses);
}

enum adaps_status ad_draft_quantise(struct ad_draft *draft, struct adaps_error *err)
{
    bool any = false;
    for (size_t i = 0; i < draft->nops && !any; i++)
        any = is_whole(draft->ops[i], AD_WHOLE_QUANTIZE) ||
              is_whole(draft->ops[i], AD_WHOLE_DEQUANTIZE);
    if (!any)
        return ADAPS_OK;
    struct pass p = {.draft = draft,
                     .nquantised = draft->nvalues,
                     .quantised = ad_calloc(draft->nvalues, sizeof *p.quantised),
                     .err = err};
    enum adaps_status status =
        p.quantised ? ADAPS_OK
                    : ad_error_memory(err, "values", draft->nvalues * sizeof *p.quantised);
    for (size_t i = 0; i < p.nquantised && status == ADAPS_OK; i++)
        p.quantised[i] = -1;
    if (status == ADAPS_OK)
        status = add_forms(&p);
    if (status == ADAPS_OK)
        status = make_uses(&p);
    if (status == ADAPS_OK)
        ad_draft_count_uses(p.draft, p.uses, p.readers);
    for (size_t i = 0; i < draft->nops && status == ADAPS_OK; i++)
        status = turn_op(&p, draft->ops[i]);
    for (size_t i = 0; i < draft->nops && status == ADAPS_OK; i++)
        shorten(&p, draft->ops[i]);
    if (status == ADAPS_OK)
        ad_draft_count_uses(p.draft, p.uses, p.readers);
    ad_free(p.ops);
    ad_free(p.uses);
    ad_free(p.readers);
    ad_free(p.quantised);
    return status;
}
