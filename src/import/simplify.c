/* Rewrites of a draft that keep what its outputs are: batch normalisation, constant addends and
 * factors go into the convolution or product before them, activations into whatever produces their
 * input, and what no output needs is marked dead. Ops stay in topological order. */
#include "import/internal.h"

#include <stdio.h>
#include <string.h>

#define MAX_TYPE 64 /* characters of a fused operator's type after which it grows no more */

struct pass {
    struct ad_draft *draft;
    int *uses; /* by value: how many live ops read it, and outputs */
};

void ad_draft_count_uses(struct ad_draft *d, int *uses, struct ad_draft_op **readers)
{
    memset(uses, 0, d->nvalues * sizeof *uses);
    for (int i = 0; i < d->noutputs; i++)
        uses[d->outputs[i]]++;
    for (size_t i = d->nops; i-- > 0;) { /* backwards: users before makers */
        struct ad_draft_op *op = d->ops[i];
        op->dead = op->dead || uses[op->output] == 0;
        for (int k = 0; k < op->ninputs && !op->dead; k++) {
            uses[op->inputs[k]]++;
            if (readers)
                readers[op->inputs[k]] = op;
        }
    }
}

/* Whether it has a function or a clamp already. */
static bool activates(const struct ad_draft_op *op)
{
    return op->function != AD_FN_NONE || op->clamp_min != -INFINITY || op->clamp_max != INFINITY;
}

/* The op that makes `value`, if only `reader` reads it and may become one with it. */
static struct ad_draft_op *sole_producer(const struct pass *p, const struct ad_draft_op *reader,
                                         int value)
{
    struct ad_draft_op *op = p->uses[value] == 1 ? p->draft->values[value].producer : NULL;
    bool view = op && op->kind == AD_D_RESHAPE;
    return op && (view || ad_draft_joins(p->draft, reader->node, op->node)) ? op : NULL;
}

/* `op` disappears: `before` makes its output from now on. */
static void absorb(struct pass *p, struct ad_draft_op *before, struct ad_draft_op *op)
{
    op->dead = true;
    p->draft->values[before->output].producer = NULL;
    before->output = op->output;
    p->draft->values[op->output].producer = before;
}

/* Long chains are not spelled out: their text would grow with the square of their length. */
static bool join_types(struct pass *p, struct ad_draft_op *before, const char *type)
{
    if (strlen(before->type) > MAX_TYPE)
        return true;
    size_t size = strlen(before->type) + strlen(type) + 2;
    char *joined = ad_arena_alloc(&p->draft->arena, size, 1);
    if (!joined)
        return false;
    snprintf(joined, size, "%s+%s", before->type, type);
    before->type = joined;
    return true;
}

static double *filled(struct pass *p, int64_t count, double value)
{
    double *v = ad_arena_alloc(&p->draft->arena, (size_t)count, sizeof *v);
    for (int64_t i = 0; v && i < count; i++)
        v[i] = value;
    return v;
}

static void take_activation(struct ad_draft_op *to, const struct ad_draft_op *from)
{
    to->function = from->function;
    to->alpha = from->alpha;
    to->beta = from->beta;
    to->clamp_min = from->clamp_min;
    to->clamp_max = from->clamp_max;
}

static bool is_convolution(const struct ad_draft_op *op)
{
    return op->kind == AD_D_CONV || op->kind == AD_D_CONV_TRANSPOSE;
}

/* Whether batch and channels stay in their places. */
static bool keeps_channels(const struct pass *p, const struct ad_draft_op *reshape)
{
    const struct ad_draft_value *in = &p->draft->values[reshape->inputs[0]];
    const struct ad_draft_value *out = &p->draft->values[reshape->output];
    return in->rank >= 2 && out->rank >= 2 &&
           memcmp(in->dims, out->dims, 2 * sizeof *in->dims) == 0;
}

/* AFFINE after a convolution, a product or another AFFINE. */
static bool fold_affine(struct pass *p, struct ad_draft_op *op)
{
    struct ad_draft_op *before = sole_producer(p, op, op->inputs[0]), *between = NULL;
    if (before && before->kind == AD_D_RESHAPE && keeps_channels(p, before)) {
        between = before;
        before = sole_producer(p, op, between->inputs[0]);
    }
    if (!before || activates(before) || before->rows != op->rows ||
        (!is_convolution(before) && before->kind != AD_D_FC && before->kind != AD_D_AFFINE))
        return true;
    if (!before->scale && !(before->scale = filled(p, op->rows, 1)))
        return false;
    if (!before->bias && !(before->bias = filled(p, op->rows, 0)))
        return false;
    for (int64_t c = 0; c < op->rows; c++) {
        before->scale[c] *= op->scale[c];
        before->bias[c] = before->bias[c] * op->scale[c] + op->bias[c];
    }
    take_activation(before, op);
    absorb(p, between ? between : before, op);
    return true;
}

static bool is_activated(enum ad_draft_kind kind)
{
    switch (kind) {
    case AD_D_CONV:
    case AD_D_CONV_TRANSPOSE:
    case AD_D_MAXPOOL:
    case AD_D_AVGPOOL:
    case AD_D_FC:
    case AD_D_ADD:
    case AD_D_SUB:
    case AD_D_MUL:
    case AD_D_DIV:
    case AD_D_MIN:
    case AD_D_MAX:
    case AD_D_POW:
    case AD_D_PRELU:
    case AD_D_UNARY:
    case AD_D_RESAMPLE:
    case AD_D_REDUCE:
    case AD_D_MATMUL:
    case AD_D_PAD:
    case AD_D_AFFINE:
        return true;
    default:
        return false;
    }
}

static float limit(float v, float lo, float hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* Whether elements only move. */
static bool moves(const struct ad_draft_op *op)
{
    return op->kind == AD_D_RESHAPE || op->kind == AD_D_TRANSPOSE;
}

/* UNARY after an op that can do it, however its elements move between them. A clamp narrows the
 * limits that are there; a function needs an op without an activation. */
static bool fuse_unary(struct pass *p, struct ad_draft_op *op)
{
    struct ad_draft_op *last = sole_producer(p, op, op->inputs[0]), *before = last;
    while (before && moves(before))
        before = sole_producer(p, op, before->inputs[0]);
    if (!before || !is_activated(before->kind))
        return true;
    if (op->function == AD_FN_NONE) {
        before->clamp_min = limit(before->clamp_min, op->clamp_min, op->clamp_max);
        before->clamp_max = limit(before->clamp_max, op->clamp_min, op->clamp_max);
    } else if (activates(before)) {
        return true;
    } else {
        take_activation(before, op);
    }
    if (strcmp(op->type, "Identity") != 0 && !join_types(p, before, op->type))
        return false;
    absorb(p, last, op);
    return true;
}

/* Whether `v` holds one number per row of `before` (or one for all): dims 1 but for the channel. */
static bool is_per_row(const struct ad_draft_value *v, const struct ad_draft_op *before,
                       const struct ad_draft_value *out)
{
    int channel = is_convolution(before) ? 1 : out->rank - 1;
    if (v->rank > out->rank || (v->elements != 1 && v->elements != before->rows))
        return false;
    for (int i = 0; i < v->rank; i++)
        if (v->dims[i] != 1 && i + out->rank - v->rank != channel)
            return false;
    return true;
}

/* ADD of a constant after a convolution without bias or a product, MUL by one after any. */
static enum adaps_status fold_constant(struct pass *p, struct ad_draft_op *op,
                                       struct adaps_error *err)
{
    struct ad_draft *d = p->draft;
    for (int k = 0; k < 2; k++) {
        struct ad_draft_op *before = sole_producer(p, op, op->inputs[k]);
        const struct ad_draft_value *c = &d->values[op->inputs[1 - k]];
        const struct ad_draft_value *out = &d->values[op->output];
        bool mul = op->kind == AD_D_MUL;
        bool fits =
            before && !activates(before) && c->constant &&
            ((is_convolution(before) && (mul || !before->bias)) || before->kind == AD_D_FC) &&
            memcmp(d->values[op->inputs[k]].dims, out->dims, sizeof out->dims) == 0 &&
            is_per_row(c, before, out);
        if (!fits)
            continue;
        const struct ad_onnx_tensor *t;
        enum adaps_status status = ad_draft_tensor(d, op->inputs[1 - k], &t, err);
        if (status != ADAPS_OK)
            return status;
        if ((!mul && !before->bias && !(before->bias = filled(p, before->rows, 0))) ||
            (mul && !before->scale && !(before->scale = filled(p, before->rows, 1))) ||
            !join_types(p, before, op->type))
            return ad_error_memory(err, "bias", (size_t)before->rows * sizeof(double));
        for (int64_t i = 0; i < before->rows; i++) {
            double number = (double)t->f[t->count == 1 ? 0 : i];
            if (!mul)
                before->bias[i] += number;
            else
                before->scale[i] *= number;
            if (mul && before->bias)
                before->bias[i] *= number;
        }
        take_activation(before, op);
        absorb(p, before, op);
        break;
    }
    return ADAPS_OK;
}

enum adaps_status ad_draft_simplify(struct ad_draft *draft, struct adaps_error *err)
{
    struct pass p = {.draft = draft, .uses = ad_calloc(draft->nvalues, sizeof *p.uses)};
    if (!p.uses)
        return ad_error_memory(err, "uses", draft->nvalues * sizeof *p.uses);
    enum adaps_status status = ADAPS_OK;
    ad_draft_count_uses(p.draft, p.uses, NULL);
    ad_draft_idioms(draft, p.uses);
    ad_draft_count_uses(p.draft, p.uses, NULL);
    /* Absorbing keeps the counts of what remains: the reader of op's output is now before's. */
    for (size_t i = 0; i < draft->nops && status == ADAPS_OK; i++) {
        struct ad_draft_op *op = draft->ops[i];
        bool done = true;
        if (op->dead)
            continue;
        if (op->kind == AD_D_AFFINE)
            done = fold_affine(&p, op);
        else if (op->kind == AD_D_UNARY)
            done = fuse_unary(&p, op);
        else if (op->kind == AD_D_ADD || op->kind == AD_D_MUL)
            status = fold_constant(&p, op, err);
        if (!done)
            status = ad_error_memory(err, "simplification", 0);
    }
    ad_draft_count_uses(p.draft, p.uses, NULL);
    ad_free(p.uses);
    return status;
}
