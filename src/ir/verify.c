/* The invariants of ir/graph.h, checked one by one. Nothing here trusts an index before testing it:
 * the graph may have come from a stranger's plan. */
#include "ir/weight.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_ELEMENTS INT32_MAX
#define MAX_WINDOW (1 << 20) /* kernel, stride, dilation, each pad, channels of an LRN */
#define MAX_BROADCAST_RANK 6
#define MAX_COUNT (1 << 24) /* ops, values, weights */
#define MAX_ENDS 1024       /* inputs, outputs */

struct check {
    const struct ad_graph *graph;
    const struct ad_op *op; /* the one being checked; NULL outside ops */
    struct adaps_error *err;
};

static enum adaps_status fail(const struct check *c, const char *fmt, ...) AD_PRINTF(2, 3);
static enum adaps_status fail(const struct check *c, const char *fmt, ...)
{
    char rule[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(rule, sizeof rule, fmt, ap);
    va_end(ap);
    if (c->op)
        return ad_error_set(c->err, ADAPS_EINPUT, "graph: op '%s' (%s): %s", c->op->name,
                            ad_op_kind_name(c->op->kind), rule);
    return ad_error_set(c->err, ADAPS_EINPUT, "graph: %s", rule);
}

static int64_t elements(const struct ad_value *v)
{
    return ad_box_elements(v->box);
}

/* The product of dims when each is in 1..MAX_ELEMENTS and so is the product, else -1. */
static int64_t product(int rank, const int64_t *dims)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 1 || dims[i] > MAX_ELEMENTS / n)
            return -1;
        n *= dims[i];
    }
    return n;
}

static enum adaps_status check_value(const struct check *c, int index)
{
    const struct ad_graph *g = c->graph;
    const struct ad_value *v = &g->values[index];
    if (!v->name)
        return fail(c, "value %d has no name", index);
    if (v->rank < 0 || v->rank > AD_MAX_RANK)
        return fail(c, "value '%s' has rank %d", v->name, v->rank);
    int64_t count = product(v->rank, v->dims);
    if (count < 0) {
        char dims[128];
        return fail(c, "value '%s': dims %s are not 1..2^31-1 elements", v->name,
                    ad_dims_format(v->rank, v->dims, dims, sizeof dims));
    }
    struct ad_box box = {1, 1, 1, count};
    if (v->format == AD_NHWC && v->rank == 4)
        box = (struct ad_box){v->dims[0], v->dims[2], v->dims[3], v->dims[1]};
    else if (v->format != AD_PLAIN)
        return fail(c, "value '%s': format %d with rank %d", v->name, (int)v->format, v->rank);
    else if (v->rank == 2)
        box = (struct ad_box){v->dims[0], 1, 1, v->dims[1]};
    if (memcmp(&box, &v->box, sizeof box) != 0)
        return fail(c, "value '%s': its box does not follow from its dims", v->name);
    if (v->producer < -1 || v->producer >= g->nops || v->constant < -1 ||
        v->constant >= g->nweights || (v->producer >= 0 && v->constant >= 0))
        return fail(c, "value '%s': producer %d, constant %d", v->name, v->producer, v->constant);
    if (v->producer >= 0 && g->ops[v->producer].output != index)
        return fail(c, "value '%s' is not the output of its producer", v->name);
    if (v->constant >= 0) {
        const struct ad_weight *w = &g->weights[v->constant];
        if (w->rows != 1 || w->row_elements != count)
            return fail(c,
                        "value '%s': constant of %" PRId64 "x%" PRId64 " elements, not 1x%" PRId64,
                        v->name, w->rows, w->row_elements, count);
    }
    return ADAPS_OK;
}

static enum adaps_status check_weight(const struct check *c, int index, bool with_data)
{
    const struct ad_weight *w = &c->graph->weights[index];
    if (!w->name)
        return fail(c, "weight %d has no name", index);
    if (w->rows < 1 || w->row_elements < 1 || w->rows > MAX_ELEMENTS / w->row_elements)
        return fail(c, "weight '%s': %" PRId64 "x%" PRId64 " elements are not 1..2^31-1", w->name,
                    w->rows, w->row_elements);
    if (with_data && !ad_weight_attached(w))
        return fail(c, "weight '%s' has no data", w->name);
    return ADAPS_OK;
}

/* Network inputs are exactly the values that are neither computed nor constant; outputs exist. */
static enum adaps_status check_ends(const struct check *c)
{
    const struct ad_graph *g = c->graph;
    if (g->ninputs < 0 || g->ninputs > MAX_ENDS || (g->ninputs > 0 && !g->inputs))
        return fail(c, "%d inputs", g->ninputs);
    if (g->noutputs < 1 || g->noutputs > MAX_ENDS || !g->outputs)
        return fail(c, "%d outputs", g->noutputs);
    int fed = 0;
    for (int v = 0; v < g->nvalues; v++)
        fed += g->values[v].producer < 0 && g->values[v].constant < 0;
    if (fed != g->ninputs)
        return fail(c, "%d values have neither producer nor data, but there are %d inputs", fed,
                    g->ninputs);
    for (int i = 0; i < g->ninputs; i++) {
        int v = g->inputs[i];
        if (v < 0 || v >= g->nvalues || g->values[v].producer >= 0 || g->values[v].constant >= 0)
            return fail(c, "input %d is value %d, which is not fed", i, v);
        for (int k = 0; k < i; k++)
            if (g->inputs[k] == v)
                return fail(c, "value '%s' is an input twice", g->values[v].name);
    }
    for (int i = 0; i < g->noutputs; i++) {
        int v = g->outputs[i];
        if (v < 0 || v >= g->nvalues || g->values[v].producer < 0)
            return fail(c, "output %d is value %d, which no op computes", i, v);
    }
    return ADAPS_OK;
}

/* One axis of a window, in input elements. */
struct axis {
    const char *name;
    int64_t in, out, k, s, d, lo, hi, real_hi;
};

static enum adaps_status check_axis(const struct check *c, const struct axis *a)
{
    if (a->k < 1 || a->s < 1 || a->d < 1 || a->lo < 0 || a->hi < 0 || a->k > MAX_WINDOW ||
        a->s > MAX_WINDOW || a->d > MAX_WINDOW || a->lo > MAX_WINDOW || a->hi > MAX_WINDOW)
        return fail(c,
                    "%s: kernel %" PRId64 ", stride %" PRId64 ", dilation %" PRId64
                    ", pads %" PRId64 "+%" PRId64 " are out of range",
                    a->name, a->k, a->s, a->d, a->lo, a->hi);
    if (a->real_hi < 0 || a->real_hi > a->hi || (c->op->kind == AD_OP_CONV && a->real_hi != a->hi))
        return fail(c, "%s: declared padding %" PRId64 " of %" PRId64, a->name, a->real_hi, a->hi);
    int64_t span = a->d * (a->k - 1) + 1, room = a->in + a->lo + a->hi - span;
    if (room < 0)
        return fail(c, "%s: a window of %" PRId64 " does not fit into %" PRId64 " padded elements",
                    a->name, span, a->in + a->lo + a->hi);
    if (a->out != room / a->s + 1)
        return fail(c, "%s: the output is %" PRId64 ", the window gives %" PRId64, a->name, a->out,
                    room / a->s + 1);
    if (c->op->kind == AD_OP_CONV)
        return ADAPS_OK;
    /* pooling: no window may lie in the padding alone */
    if ((a->out - 1) * a->s >= a->in + a->lo)
        return fail(c, "%s: the last window lies wholly in the padding", a->name);
    for (int64_t start = -a->lo; start < 0 && start + a->lo <= (a->out - 1) * a->s; start += a->s) {
        int64_t tap = (-start + a->d - 1) / a->d;
        if (tap >= a->k || start + tap * a->d >= a->in)
            return fail(c, "%s: a window lies wholly in the padding", a->name);
    }
    return ADAPS_OK;
}

static enum adaps_status check_window(const struct check *c, const struct ad_value *in,
                                      const struct ad_value *out)
{
    const struct ad_window *w = &c->op->window;
    struct axis rows = {"height", in->box.h, out->box.h, w->kh,     w->sh,
                        w->dh,    w->pt,     w->pb,      w->real_pb};
    struct axis columns = {"width", in->box.w, out->box.w, w->kw,     w->sw,
                           w->dw,   w->pl,     w->pr,      w->real_pr};
    if (in->format != AD_NHWC || out->format != AD_NHWC)
        return fail(c, "operands are not NHWC");
    if (in->box.n != out->box.n)
        return fail(c, "batch %" PRId64 " becomes %" PRId64, in->box.n, out->box.n);
    if (c->op->kind != AD_OP_CONV && in->box.c != out->box.c)
        return fail(c, "%" PRId64 " channels become %" PRId64, in->box.c, out->box.c);
    if (c->op->kind == AD_OP_AVGPOOL && (w->dh != 1 || w->dw != 1))
        return fail(c, "average pooling with dilation");
    enum adaps_status status = check_axis(c, &rows);
    return status == ADAPS_OK ? check_axis(c, &columns) : status;
}

/* Weight of rows x row_elements and a bias of as many rows, when there is one. */
static enum adaps_status check_parameters(const struct check *c, int64_t rows, int64_t row_elements)
{
    const struct ad_graph *g = c->graph;
    const struct ad_op *op = c->op;
    if (op->weight < 0)
        return fail(c, "has no weight");
    const struct ad_weight *w = &g->weights[op->weight];
    if (w->rows != rows || w->row_elements != row_elements)
        return fail(c, "weight '%s' is %" PRId64 "x%" PRId64 ", expected %" PRId64 "x%" PRId64,
                    w->name, w->rows, w->row_elements, rows, row_elements);
    if (op->bias < 0)
        return ADAPS_OK;
    const struct ad_weight *b = &g->weights[op->bias];
    if (b->rows != rows || b->row_elements != 1)
        return fail(c, "bias '%s' is %" PRId64 "x%" PRId64 ", expected %" PRId64 "x1", b->name,
                    b->rows, b->row_elements, rows);
    return ADAPS_OK;
}

static enum adaps_status check_conv(const struct check *c, const struct ad_value *in,
                                    const struct ad_value *out)
{
    const struct ad_window *w = &c->op->window;
    int64_t groups = c->op->groups;
    enum adaps_status status = check_window(c, in, out);
    if (status != ADAPS_OK)
        return status;
    if (groups < 1 || in->box.c % groups != 0 || out->box.c % groups != 0)
        return fail(c, "%" PRId64 " groups do not divide %" PRId64 " and %" PRId64 " channels",
                    groups, in->box.c, out->box.c);
    int64_t taps = (int64_t)w->kh * w->kw, depth = in->box.c / groups;
    if (depth > MAX_ELEMENTS / taps)
        return fail(c, "a filter of %" PRId64 "x%" PRId64 " elements", taps, depth);
    return check_parameters(c, out->box.c, taps * depth);
}

static enum adaps_status check_fc(const struct check *c, const struct ad_value *in,
                                  const struct ad_value *out)
{
    if (out->format != AD_PLAIN || out->rank != 2 || in->box.n != out->box.n)
        return fail(c, "the output is not %" PRId64 " x features", in->box.n);
    return check_parameters(c, out->box.c, in->box.h * in->box.w * in->box.c);
}

/* Numpy broadcasting of `in` against the result's dims: bit i set where dim i is not stretched. */
static bool broadcasts(const struct ad_value *in, const struct ad_value *out, unsigned *full)
{
    *full = 0;
    if (in->rank > out->rank)
        return false;
    for (int i = 0; i < out->rank; i++) {
        int k = i - (out->rank - in->rank);
        int64_t dim = k < 0 ? 1 : in->dims[k];
        if (dim != 1 && dim != out->dims[i])
            return false;
        if (dim == out->dims[i])
            *full |= 1u << i;
    }
    return true;
}

static enum adaps_status check_plain_broadcast(const struct check *c, const struct ad_value *a,
                                               const struct ad_value *b, const struct ad_value *out)
{
    unsigned full[2];
    if (!broadcasts(a, out, &full[0]) || !broadcasts(b, out, &full[1]))
        return fail(c, "operands '%s' and '%s' do not broadcast to the result", a->name, b->name);
    int merged = 0, last = -1;
    for (int i = 0; i < out->rank; i++) {
        int pattern = (int)((full[0] >> i & 1) | (full[1] >> i & 1) << 1);
        if (out->dims[i] == 1)
            continue;
        if (pattern == 0)
            return fail(c, "dimension %d of the result is in neither operand", i);
        merged += pattern != last;
        last = pattern;
    }
    if (merged > MAX_BROADCAST_RANK)
        return fail(c, "broadcasting over %d groups of dimensions: at most %d are supported",
                    merged, MAX_BROADCAST_RANK);
    return ADAPS_OK;
}

static bool fits(int64_t dim, int64_t other, int64_t out)
{
    return (dim == out || dim == 1) && (dim == out || other == out);
}

static enum adaps_status check_elementwise(const struct check *c, const struct ad_value *a,
                                           const struct ad_value *b, const struct ad_value *out)
{
    if (a->format != b->format || a->format != out->format)
        return fail(c, "operands and result are not of one format");
    if (out->format == AD_PLAIN)
        return check_plain_broadcast(c, a, b, out);
    const struct ad_box *p = &a->box, *q = &b->box, *r = &out->box;
    if (!fits(p->n, q->n, r->n) || !fits(q->n, p->n, r->n) || !fits(p->h, q->h, r->h) ||
        !fits(q->h, p->h, r->h) || !fits(p->w, q->w, r->w) || !fits(q->w, p->w, r->w) ||
        !fits(p->c, q->c, r->c) || !fits(q->c, p->c, r->c))
        return fail(c, "operands '%s' and '%s' do not broadcast to the result", a->name, b->name);
    return ADAPS_OK;
}

static enum adaps_status check_concat(const struct check *c, const struct ad_value *out)
{
    const struct ad_op *op = c->op;
    int64_t sum = 0, rows = op->outer;
    if (out->format == AD_PLAIN &&
        (rows < 1 || op->inner < 1 || elements(out) % rows || elements(out) / rows != op->inner))
        return fail(c, "%" PRId64 " rows of %" PRId64 " are not the result's %" PRId64 " elements",
                    rows, op->inner, elements(out));
    for (int i = 0; i < op->ninputs; i++) {
        const struct ad_value *in = &c->graph->values[op->inputs[i]];
        if (in->format != out->format)
            return fail(c, "operand '%s' has another format", in->name);
        if (out->format == AD_PLAIN && elements(in) % rows != 0)
            return fail(c, "operand '%s' does not have %" PRId64 " rows", in->name, rows);
        if (out->format == AD_NHWC &&
            (in->box.n != out->box.n || in->box.h != out->box.h || in->box.w != out->box.w))
            return fail(c, "operand '%s' has another height, width or batch", in->name);
        sum += out->format == AD_PLAIN ? elements(in) / rows : in->box.c;
    }
    int64_t wanted = out->format == AD_PLAIN ? op->inner : out->box.c;
    if (sum != wanted)
        return fail(c, "operands of %" PRId64 " channels together, the result has %" PRId64, sum,
                    wanted);
    return ADAPS_OK;
}

static enum adaps_status check_softmax(const struct check *c, const struct ad_value *in,
                                       const struct ad_value *out)
{
    const struct ad_op *op = c->op;
    if (!ad_same_shape(in, out))
        return fail(c, "input and output differ in shape");
    if (out->format == AD_PLAIN && (op->outer < 1 || op->inner < 1 || elements(out) % op->outer ||
                                    elements(out) / op->outer != op->inner))
        return fail(c, "%" PRId64 " rows of %" PRId64 " are not %" PRId64 " elements", op->outer,
                    op->inner, elements(out));
    return ADAPS_OK;
}

static enum adaps_status check_reduce(const struct check *c, const struct ad_value *in,
                                      const struct ad_value *out)
{
    const struct ad_op *op = c->op;
    if ((unsigned)op->reduction >= AD_REDUCE_COUNT || in->format != out->format)
        return fail(c, "reduction %d, or operands of two formats", (int)op->reduction);
    if (out->format == AD_NHWC && (in->box.n != out->box.n || in->box.h != out->box.h ||
                                   in->box.w != out->box.w || out->box.c != 1))
        return fail(c, "the output is not one channel of the input's pixels");
    if (out->format == AD_PLAIN &&
        (op->outer < 1 || op->inner < 1 || elements(out) != op->outer || elements(in) % op->outer ||
         elements(in) / op->outer != op->inner))
        return fail(c, "%" PRId64 " rows of %" PRId64 " are not what is reduced", op->outer,
                    op->inner);
    return ADAPS_OK;
}

static enum adaps_status check_lrn(const struct check *c, const struct ad_value *in,
                                   const struct ad_value *out)
{
    const struct ad_op *op = c->op;
    if (in->format != AD_NHWC || !ad_same_shape(in, out))
        return fail(c, "input and output are not NHWC of one shape");
    if (op->lrn_size < 1 || op->lrn_size > MAX_WINDOW || !isfinite(op->lrn_alpha) ||
        !isfinite(op->lrn_beta) || !isfinite(op->lrn_bias))
        return fail(c, "size %d, alpha %g, beta %g, bias %g", (int)op->lrn_size,
                    (double)op->lrn_alpha, (double)op->lrn_beta, (double)op->lrn_bias);
    return ADAPS_OK;
}

static enum adaps_status check_permute(const struct check *c, const struct ad_value *in,
                                       const struct ad_value *out)
{
    const struct ad_op *op = c->op;
    if (op->view_rank < 1 || op->view_rank > AD_MAX_RANK)
        return fail(c, "a view of rank %d", op->view_rank);
    if (product(op->view_rank, op->view_dims) != elements(in) || elements(in) != elements(out))
        return fail(c, "view, input and output differ in elements");
    unsigned seen = 0;
    for (int i = 0; i < op->view_rank; i++) {
        if (op->perm[i] < 0 || op->perm[i] >= op->view_rank || (seen >> op->perm[i] & 1))
            return fail(c, "the permutation is none");
        seen |= 1u << op->perm[i];
    }
    return ADAPS_OK;
}

static enum adaps_status check_space_to_depth(const struct check *c, const struct ad_value *in,
                                              const struct ad_value *out)
{
    const struct ad_op *op = c->op;
    int64_t b = op->block;
    if (in->format != AD_NHWC || out->format != AD_NHWC)
        return fail(c, "operands are not NHWC");
    if (b < 1 || b > AD_MAX_BLOCK)
        return fail(c, "a block of %" PRId64 ": 1 to %d are supported", b, AD_MAX_BLOCK);
    if (in->box.n != out->box.n || in->box.h != out->box.h * b || in->box.w != out->box.w * b ||
        in->box.c * b * b != out->box.c)
        return fail(c, "blocks of %" PRId64 "x%" PRId64 " do not give the output's shape", b, b);
    return ADAPS_OK;
}

static enum adaps_status check_depth_to_space(const struct check *c, const struct ad_value *in,
                                              const struct ad_value *out)
{
    const struct ad_window *w = &c->op->window;
    if (in->format != AD_NHWC || out->format != AD_NHWC || in->box.n != out->box.n)
        return fail(c, "operands are not NHWC of one batch");
    if (w->sh < 1 || w->sw < 1 || w->sh > AD_MAX_BLOCK || w->sw > AD_MAX_BLOCK || w->pt < 0 ||
        w->pl < 0 || in->box.c != out->box.c * w->sh * w->sw)
        return fail(c, "blocks of %dx%d cropped by %d, %d do not fit %" PRId64 " channels",
                    (int)w->sh, (int)w->sw, (int)w->pt, (int)w->pl, in->box.c);
    if (out->box.h + w->pt > in->box.h * w->sh || out->box.w + w->pl > in->box.w * w->sw)
        return fail(c, "the output has more pixels than there are");
    return ADAPS_OK;
}

/* Positions of `out` outputs among `in` inputs: all that is computed of them stays below 2^63. */
static enum adaps_status check_positions(const struct check *c, const struct ad_positions *p,
                                         int64_t in, int64_t out)
{
    const struct ad_resampling *r = &c->op->resampling;
    const int64_t most = INT64_MAX / 8;
    int64_t last;
    if (p->unit < 1 || p->unit > most || p->start < -most || p->start > most ||
        __builtin_mul_overflow(p->step, out - 1, &last) || last < -most || last > most)
        return fail(c,
                    "positions (%" PRId64 " i + %" PRId64 ") / %" PRId64 " of %" PRId64
                    " outputs are out of range",
                    p->step, p->start, p->unit, out);
    last += p->start;
    int64_t low = last < p->start ? last : p->start, high = last < p->start ? p->start : last;
    if (r->edge == AD_EDGE_REFLECT && (p->unit != 1 || low < -(in - 1) || high > 2 * (in - 1)))
        return fail(c, "positions %" PRId64 " to %" PRId64 " of %" PRId64 " elements, reflected",
                    low, high, in);
    return ADAPS_OK;
}

static enum adaps_status check_resample(const struct check *c, const struct ad_value *in,
                                        const struct ad_value *out)
{
    const struct ad_resampling *r = &c->op->resampling;
    if (in->format != AD_NHWC || out->format != AD_NHWC || in->box.n != out->box.n)
        return fail(c, "operands are not NHWC of one batch");
    if ((unsigned)r->method >= AD_METHOD_COUNT || (unsigned)r->edge >= AD_EDGE_COUNT ||
        isnan(r->cubic) || isinf(r->cubic))
        return fail(c, "method %d, edge %d, coefficient %g", (int)r->method, (int)r->edge,
                    (double)r->cubic);
    const struct ad_positions *k = &r->axis[2];
    if (r->method >= AD_METHOD_LINEAR && (r->edge != AD_EDGE_REPEAT || k->step != 1 ||
                                          k->start != 0 || k->unit != 1 || in->box.c != out->box.c))
        return fail(c, "interpolation of channels, or beyond edges that are not repeated");
    enum adaps_status status = check_positions(c, &r->axis[0], in->box.h, out->box.h);
    if (status == ADAPS_OK)
        status = check_positions(c, &r->axis[1], in->box.w, out->box.w);
    return status == ADAPS_OK ? check_positions(c, k, in->box.c, out->box.c) : status;
}

static enum adaps_status check_activation(const struct check *c)
{
    const struct ad_op *op = c->op;
    if (isnan(op->clamp_min) || isnan(op->clamp_max) || op->clamp_min > op->clamp_max)
        return fail(c, "clamp to %g..%g", (double)op->clamp_min, (double)op->clamp_max);
    if ((unsigned)op->function >= AD_FN_COUNT || !isfinite(op->alpha) || !isfinite(op->beta))
        return fail(c, "function %d, alpha %g, beta %g", (int)op->function, (double)op->alpha,
                    (double)op->beta);
    return ADAPS_OK;
}

static enum adaps_status check_gap(const struct check *c, const struct ad_value *in,
                                   const struct ad_value *out)
{
    if (in->format != AD_NHWC || out->format != AD_NHWC || out->box.h != 1 || out->box.w != 1 ||
        in->box.n != out->box.n || in->box.c != out->box.c)
        return fail(c, "the output is not one pixel of the input's channels");
    return ADAPS_OK;
}

static enum adaps_status check_kind(const struct check *c)
{
    const struct ad_value *values = c->graph->values, *out = &values[c->op->output];
    const struct ad_value *in = &values[c->op->inputs[0]];
    switch (c->op->kind) {
    case AD_OP_CONV:
        return check_conv(c, in, out);
    case AD_OP_MAXPOOL:
    case AD_OP_AVGPOOL:
        return check_window(c, in, out);
    case AD_OP_GAP:
        return check_gap(c, in, out);
    case AD_OP_FC:
        return check_fc(c, in, out);
    case AD_OP_ADD:
    case AD_OP_SUB:
    case AD_OP_MUL:
    case AD_OP_DIV:
    case AD_OP_MIN:
    case AD_OP_MAX:
    case AD_OP_POW:
    case AD_OP_PRELU:
        return check_elementwise(c, in, &values[c->op->inputs[1]], out);
    case AD_OP_UNARY:
        return ad_same_shape(in, out) ? ADAPS_OK : fail(c, "input and output differ in shape");
    case AD_OP_CONCAT:
        return check_concat(c, out);
    case AD_OP_SOFTMAX:
        return check_softmax(c, in, out);
    case AD_OP_LRN:
        return check_lrn(c, in, out);
    case AD_OP_PERMUTE:
        return check_permute(c, in, out);
    case AD_OP_RESHAPE:
        return elements(in) == elements(out)
                   ? ADAPS_OK
                   : fail(c, "%" PRId64 " elements become %" PRId64, elements(in), elements(out));
    case AD_OP_SPACE_TO_DEPTH:
        return check_space_to_depth(c, in, out);
    case AD_OP_RESAMPLE:
        return check_resample(c, in, out);
    case AD_OP_DEPTH_TO_SPACE:
        return check_depth_to_space(c, in, out);
    case AD_OP_REDUCE:
        return check_reduce(c, in, out);
    case AD_OP_COUNT:
        break;
    }
    return fail(c, "unknown kind %d", (int)c->op->kind);
}

static enum adaps_status check_op(struct check *c, int index)
{
    const struct ad_graph *g = c->graph;
    const struct ad_op *op = &g->ops[index];
    if (!op->name || !op->type || (unsigned)op->kind >= AD_OP_COUNT)
        return fail(c, "op %d has no name, no type or the unknown kind %d", index, (int)op->kind);
    c->op = op;
    bool elementwise = ad_op_is_binary(op);
    bool concat = op->kind == AD_OP_CONCAT;
    if (op->ninputs < 1 || !op->inputs || (!concat && op->ninputs != (elementwise ? 2 : 1)))
        return fail(c, "%d inputs", op->ninputs);
    int computed = 0;
    for (int i = 0; i < op->ninputs; i++) {
        int v = op->inputs[i];
        if (v < 0 || v >= g->nvalues)
            return fail(c, "input %d is value %d of %d", i, v, g->nvalues);
        if (g->values[v].producer >= index)
            return fail(c, "reads '%s' before it is computed", g->values[v].name);
        if (g->values[v].constant >= 0 && !elementwise && !concat)
            return fail(c, "reads the constant '%s'", g->values[v].name);
        computed += g->values[v].constant < 0;
    }
    if (computed == 0)
        return fail(c, "reads only constants");
    if (op->output < 0 || op->output >= g->nvalues || g->values[op->output].producer != index)
        return fail(c, "its output, value %d, has another producer", op->output);
    bool weighted = op->kind == AD_OP_CONV || op->kind == AD_OP_FC;
    if (op->weight < -1 || op->weight >= g->nweights || op->bias < -1 || op->bias >= g->nweights ||
        (!weighted && (op->weight != -1 || op->bias != -1)))
        return fail(c, "weight %d, bias %d", op->weight, op->bias);
    enum adaps_status status = check_activation(c);
    if (status == ADAPS_OK)
        status = check_kind(c);
    c->op = NULL;
    return status;
}

enum adaps_status ad_graph_verify(const struct ad_graph *graph, bool with_data,
                                  struct adaps_error *err)
{
    struct check c = {.graph = graph, .err = err};
    enum adaps_status status = ADAPS_OK;
    if (graph->nops < 1 || graph->nops > MAX_COUNT || !graph->ops || graph->nvalues < 1 ||
        graph->nvalues > MAX_COUNT || !graph->values || graph->nweights < 0 ||
        graph->nweights > MAX_COUNT || (graph->nweights > 0 && !graph->weights))
        return fail(&c, "%d ops, %d values, %d weights", graph->nops, graph->nvalues,
                    graph->nweights);
    for (int i = 0; i < graph->nweights && status == ADAPS_OK; i++)
        status = check_weight(&c, i, with_data);
    for (int i = 0; i < graph->nvalues && status == ADAPS_OK; i++)
        status = check_value(&c, i);
    if (status == ADAPS_OK)
        status = check_ends(&c);
    for (int i = 0; i < graph->nops && status == ADAPS_OK; i++)
        status = check_op(&c, i);
    return status;
}
