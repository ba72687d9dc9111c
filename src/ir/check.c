/* The rules of each kind's own fields and operands, which the operator table points to. */
#include "ir/check.h"
#include "ir/operators.h"
#include "ir/quantised.h"
#include "ir/winograd.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MAX_WINDOW (1 << 20) /* kernel, stride, dilation, each pad, channels of an LRN */
#define MAX_BROADCAST_RANK 6

static int64_t elements(const struct ad_value *v)
{
    return ad_box_elements(v->box);
}

static const struct ad_value *input_of(const struct ad_check *c, int k)
{
    return &c->graph->values[c->op->inputs[k]];
}

static const struct ad_value *output_of(const struct ad_check *c)
{
    return &c->graph->values[c->op->output];
}

/* One axis of a window, in input elements. */
struct axis {
    const char *name;
    int64_t in, out, k, s, d, lo, hi, real_hi;
};

static enum adaps_status check_axis(const struct ad_check *c, const struct axis *a)
{
    if (a->k < 1 || a->s < 1 || a->d < 1 || a->lo < 0 || a->hi < 0 || a->k > MAX_WINDOW ||
        a->s > MAX_WINDOW || a->d > MAX_WINDOW || a->lo > MAX_WINDOW || a->hi > MAX_WINDOW)
        return ad_check_fail(c,
                             "%s: kernel %" PRId64 ", stride %" PRId64 ", dilation %" PRId64
                             ", pads %" PRId64 "+%" PRId64 " are out of range",
                             a->name, a->k, a->s, a->d, a->lo, a->hi);
    if (a->real_hi < 0 || a->real_hi > a->hi || (ad_op_is_conv(c->op) && a->real_hi != a->hi))
        return ad_check_fail(c, "%s: declared padding %" PRId64 " of %" PRId64, a->name, a->real_hi,
                             a->hi);
    int64_t span = a->d * (a->k - 1) + 1, room = a->in + a->lo + a->hi - span;
    if (room < 0)
        return ad_check_fail(
            c, "%s: a window of %" PRId64 " does not fit into %" PRId64 " padded elements", a->name,
            span, a->in + a->lo + a->hi);
    if (a->out != room / a->s + 1)
        return ad_check_fail(c, "%s: the output is %" PRId64 ", the window gives %" PRId64, a->name,
                             a->out, room / a->s + 1);
    if (ad_op_is_conv(c->op))
        return ADAPS_OK;
    /* pooling: no window may lie in the padding alone */
    if ((a->out - 1) * a->s >= a->in + a->lo)
        return ad_check_fail(c, "%s: the last window lies wholly in the padding", a->name);
    for (int64_t start = -a->lo; start < 0 && start + a->lo <= (a->out - 1) * a->s; start += a->s) {
        int64_t tap = (-start + a->d - 1) / a->d;
        if (tap >= a->k || start + tap * a->d >= a->in)
            return ad_check_fail(c, "%s: a window lies wholly in the padding", a->name);
    }
    return ADAPS_OK;
}

static enum adaps_status check_window(const struct ad_check *c)
{
    const struct ad_value *in = input_of(c, 0), *out = output_of(c);
    const struct ad_window *w = &c->op->window;
    struct axis rows = {"height", in->box.h, out->box.h, w->kh,     w->sh,
                        w->dh,    w->pt,     w->pb,      w->real_pb};
    struct axis columns = {"width", in->box.w, out->box.w, w->kw,     w->sw,
                           w->dw,   w->pl,     w->pr,      w->real_pr};
    if (in->format != AD_NHWC || out->format != AD_NHWC)
        return ad_check_fail(c, "operands are not NHWC");
    if (in->box.n != out->box.n)
        return ad_check_fail(c, "batch %" PRId64 " becomes %" PRId64, in->box.n, out->box.n);
    if (!ad_op_is_conv(c->op) && in->box.c != out->box.c)
        return ad_check_fail(c, "%" PRId64 " channels become %" PRId64, in->box.c, out->box.c);
    if (ad_kind_has(c->op->kind, AD_FIELD_COUNT_PAD) && (w->dh != 1 || w->dw != 1))
        return ad_check_fail(c, "average pooling with dilation");
    enum adaps_status status = check_axis(c, &rows);
    return status == ADAPS_OK ? check_axis(c, &columns) : status;
}

enum adaps_status ad_check_pool(const struct ad_check *c)
{
    return check_window(c);
}

/* Weight of rows x row_elements and a bias of as many rows, when there is one; of quantised
 * operators bytes, and what ir/quantised.h says. */
static enum adaps_status check_parameters(const struct ad_check *c, int64_t rows,
                                          int64_t row_elements)
{
    const struct ad_graph *g = c->graph;
    const struct ad_op *op = c->op;
    if (op->weight < 0)
        return ad_check_fail(c, "has no weight");
    const struct ad_weight *w = &g->weights[op->weight];
    bool quantised = ad_value_is_quantised(input_of(c, 0));
    int64_t words = quantised ? AD_QUANTISED_ROW_WORDS : 1;
    row_elements = quantised ? ad_quantised_words(row_elements) : row_elements;
    if (w->rows != rows || w->row_elements != row_elements)
        return ad_check_fail(
            c, "weight '%s' is %" PRId64 "x%" PRId64 ", expected %" PRId64 "x%" PRId64, w->name,
            w->rows, w->row_elements, rows, row_elements);
    if (op->bias < 0)
        return quantised ? ad_check_fail(c, "quantised, and has no bias") : ADAPS_OK;
    const struct ad_weight *b = &g->weights[op->bias];
    if (b->rows != rows || b->row_elements != words)
        return ad_check_fail(c,
                             "bias '%s' is %" PRId64 "x%" PRId64 ", expected %" PRId64 "x%" PRId64,
                             b->name, b->rows, b->row_elements, rows, words);
    return ADAPS_OK;
}

enum adaps_status ad_check_conv(const struct ad_check *c)
{
    const struct ad_value *in = input_of(c, 0), *out = output_of(c);
    const struct ad_window *w = &c->op->window;
    int64_t groups = c->op->groups;
    enum adaps_status status = check_window(c);
    if (status != ADAPS_OK)
        return status;
    if (groups < 1 || in->box.c % groups != 0 || out->box.c % groups != 0)
        return ad_check_fail(
            c, "%" PRId64 " groups do not divide %" PRId64 " and %" PRId64 " channels", groups,
            in->box.c, out->box.c);
    if (c->op->partial != 0 && c->op->partial != groups)
        return ad_check_fail(c, "%d blocks of channels in %" PRId64 " groups", (int)c->op->partial,
                             groups);
    if (c->op->winograd != 0 && !ad_op_may_winograd(c->op, c->op->winograd, out->box.h, out->box.w))
        return ad_check_fail(c, "F(%d x %d, 3 x 3) does not compute such a convolution",
                             (int)c->op->winograd, (int)c->op->winograd);
    int64_t taps = (int64_t)w->kh * w->kw, depth = in->box.c / groups;
    if (depth > AD_CHECK_MAX_ELEMENTS / taps)
        return ad_check_fail(c, "a filter of %" PRId64 "x%" PRId64 " elements", taps, depth);
    return check_parameters(c, out->box.c, taps * depth);
}

enum adaps_status ad_check_fc(const struct ad_check *c)
{
    const struct ad_value *in = input_of(c, 0), *out = output_of(c);
    if (out->format != AD_PLAIN || out->rank != 2 || in->box.n != out->box.n)
        return ad_check_fail(c, "the output is not %" PRId64 " x features", in->box.n);
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

static enum adaps_status check_plain_broadcast(const struct ad_check *c, const struct ad_value *a,
                                               const struct ad_value *b, const struct ad_value *out)
{
    unsigned full[2];
    if (!broadcasts(a, out, &full[0]) || !broadcasts(b, out, &full[1]))
        return ad_check_fail(c, "operands '%s' and '%s' do not broadcast to the result", a->name,
                             b->name);
    int merged = 0, last = -1;
    for (int i = 0; i < out->rank; i++) {
        int pattern = (int)((full[0] >> i & 1) | (full[1] >> i & 1) << 1);
        if (out->dims[i] == 1)
            continue;
        if (pattern == 0)
            return ad_check_fail(c, "dimension %d of the result is in neither operand", i);
        merged += pattern != last;
        last = pattern;
    }
    if (merged > MAX_BROADCAST_RANK)
        return ad_check_fail(c,
                             "broadcasting over %d groups of dimensions: at most %d are supported",
                             merged, MAX_BROADCAST_RANK);
    return ADAPS_OK;
}

static bool fits(int64_t dim, int64_t other, int64_t out)
{
    return (dim == out || dim == 1) && (dim == out || other == out);
}

enum adaps_status ad_check_binary(const struct ad_check *c)
{
    const struct ad_value *a = input_of(c, 0), *b = input_of(c, 1), *out = output_of(c);
    if (a->format != b->format || a->format != out->format)
        return ad_check_fail(c, "operands and result are not of one format");
    if (out->format == AD_PLAIN)
        return check_plain_broadcast(c, a, b, out);
    const struct ad_box *p = &a->box, *q = &b->box, *r = &out->box;
    if (!fits(p->n, q->n, r->n) || !fits(q->n, p->n, r->n) || !fits(p->h, q->h, r->h) ||
        !fits(q->h, p->h, r->h) || !fits(p->w, q->w, r->w) || !fits(q->w, p->w, r->w) ||
        !fits(p->c, q->c, r->c) || !fits(q->c, p->c, r->c))
        return ad_check_fail(c, "operands '%s' and '%s' do not broadcast to the result", a->name,
                             b->name);
    return ADAPS_OK;
}

enum adaps_status ad_check_concat(const struct ad_check *c)
{
    const struct ad_value *out = output_of(c);
    const struct ad_op *op = c->op;
    int64_t sum = 0, rows = op->outer;
    if (out->format == AD_PLAIN &&
        (rows < 1 || op->inner < 1 || elements(out) % rows || elements(out) / rows != op->inner))
        return ad_check_fail(
            c, "%" PRId64 " rows of %" PRId64 " are not the result's %" PRId64 " elements", rows,
            op->inner, elements(out));
    for (int i = 0; i < op->ninputs; i++) {
        const struct ad_value *in = &c->graph->values[op->inputs[i]];
        if (in->format != out->format)
            return ad_check_fail(c, "operand '%s' has another format", in->name);
        if (out->format == AD_PLAIN && elements(in) % rows != 0)
            return ad_check_fail(c, "operand '%s' does not have %" PRId64 " rows", in->name, rows);
        if (out->format == AD_NHWC &&
            (in->box.n != out->box.n || in->box.h != out->box.h || in->box.w != out->box.w))
            return ad_check_fail(c, "operand '%s' has another height, width or batch", in->name);
        sum += out->format == AD_PLAIN ? elements(in) / rows : in->box.c;
    }
    int64_t wanted = out->format == AD_PLAIN ? op->inner : out->box.c;
    if (sum != wanted)
        return ad_check_fail(
            c, "operands of %" PRId64 " channels together, the result has %" PRId64, sum, wanted);
    return ADAPS_OK;
}

enum adaps_status ad_check_softmax(const struct ad_check *c)
{
    const struct ad_value *in = input_of(c, 0), *out = output_of(c);
    const struct ad_op *op = c->op;
    if (!ad_same_shape(in, out))
        return ad_check_fail(c, "input and output differ in shape");
    if (out->format == AD_PLAIN && (op->outer < 1 || op->inner < 1 || elements(out) % op->outer ||
                                    elements(out) / op->outer != op->inner))
        return ad_check_fail(c, "%" PRId64 " rows of %" PRId64 " are not %" PRId64 " elements",
                             op->outer, op->inner, elements(out));
    return ADAPS_OK;
}

enum adaps_status ad_check_reduce(const struct ad_check *c)
{
    const struct ad_value *in = input_of(c, 0), *out = output_of(c);
    const struct ad_op *op = c->op;
    if ((unsigned)op->reduction >= AD_REDUCE_COUNT || in->format != out->format)
        return ad_check_fail(c, "reduction %d, or operands of two formats", (int)op->reduction);
    if (out->format == AD_NHWC && (in->box.n != out->box.n || in->box.h != out->box.h ||
                                   in->box.w != out->box.w || out->box.c != 1))
        return ad_check_fail(c, "the output is not one channel of the input's pixels");
    if (out->format == AD_PLAIN &&
        (op->outer < 1 || op->inner < 1 || elements(out) != op->outer || elements(in) % op->outer ||
         elements(in) / op->outer != op->inner))
        return ad_check_fail(c, "%" PRId64 " rows of %" PRId64 " are not what is reduced",
                             op->outer, op->inner);
    return ADAPS_OK;
}

/* Whether an operand is `count` matrices of so many rows and columns, or one of them. */
static bool is_matrices(const struct ad_value *v, int64_t count, int64_t rows, int64_t columns)
{
    return v->format == AD_PLAIN && columns <= elements(v) / rows &&
           (elements(v) == rows * columns ||
            (elements(v) % count == 0 && elements(v) / count == rows * columns));
}

enum adaps_status ad_check_matmul(const struct ad_check *c)
{
    const struct ad_value *out = output_of(c);
    int64_t count = c->op->outer, depth = c->op->inner;
    if (out->format != AD_PLAIN || out->rank < 2 || count < 1 || depth < 1)
        return ad_check_fail(c, "%" PRId64 " products of %" PRId64 " to a value of rank %d", count,
                             depth, out->rank);
    int64_t rows = out->dims[out->rank - 2], columns = out->dims[out->rank - 1];
    if (elements(out) / (rows * columns) != count ||
        !is_matrices(input_of(c, 0), count, rows, depth) ||
        !is_matrices(input_of(c, 1), count, depth, columns))
        return ad_check_fail(c,
                             "the operands are not %" PRId64 " pairs of matrices of %" PRId64
                             "x%" PRId64 " and %" PRId64 "x%" PRId64,
                             count, rows, depth, depth, columns);
    if (ad_value_is_quantised(input_of(c, 0)) && depth > AD_QUANTISED_PRODUCTS)
        return ad_check_fail(c, "sums of %" PRId64 " products of bytes: at most %d always fit",
                             depth, AD_QUANTISED_PRODUCTS);
    return ADAPS_OK;
}

enum adaps_status ad_check_lrn(const struct ad_check *c)
{
    const struct ad_value *in = input_of(c, 0), *out = output_of(c);
    const struct ad_op *op = c->op;
    if (in->format != AD_NHWC || !ad_same_shape(in, out))
        return ad_check_fail(c, "input and output are not NHWC of one shape");
    if (op->lrn_size < 1 || op->lrn_size > MAX_WINDOW || !isfinite(op->lrn_alpha) ||
        !isfinite(op->lrn_beta) || !isfinite(op->lrn_bias))
        return ad_check_fail(c, "size %d, alpha %g, beta %g, bias %g", (int)op->lrn_size,
                             (double)op->lrn_alpha, (double)op->lrn_beta, (double)op->lrn_bias);
    return ADAPS_OK;
}

enum adaps_status ad_check_fold(const struct ad_check *c)
{
    const struct ad_value *in = input_of(c, 0), *out = output_of(c);
    int64_t inner = c->op->inner;
    if (in->format != AD_NHWC || out->format != AD_NHWC || in->box.n != out->box.n ||
        in->box.h != out->box.h || in->box.w != out->box.w || in->box.c != 2 * out->box.c)
        return ad_check_fail(c, "the output is not half of the input's channels");
    if (inner < 1 || out->box.c % inner != 0)
        return ad_check_fail(c, "blocks of %" PRId64 " in %" PRId64 " channels", inner, out->box.c);
    if (c->op->weight < 0)
        return ADAPS_OK;
    const struct ad_weight *rows = &c->graph->weights[c->op->weight];
    if (!ad_value_is_sums(in) || out->box.c != inner || rows->rows < inner ||
        rows->row_elements != AD_QUANTISED_ROW_WORDS)
        return ad_check_fail(c, "weight '%s' of %" PRId64 "x%" PRId64 " for %" PRId64 " channels",
                             rows->name, rows->rows, rows->row_elements, inner);
    return ADAPS_OK;
}

enum adaps_status ad_check_permute(const struct ad_check *c)
{
    const struct ad_value *in = input_of(c, 0), *out = output_of(c);
    const struct ad_op *op = c->op;
    if (op->view_rank < 1 || op->view_rank > AD_MAX_RANK)
        return ad_check_fail(c, "a view of rank %d", op->view_rank);
    if (ad_check_product(op->view_rank, op->view_dims) != elements(in) ||
        elements(in) != elements(out))
        return ad_check_fail(c, "view, input and output differ in elements");
    unsigned seen = 0;
    for (int i = 0; i < op->view_rank; i++) {
        if (op->perm[i] < 0 || op->perm[i] >= op->view_rank || (seen >> op->perm[i] & 1))
            return ad_check_fail(c, "the permutation is none");
        seen |= 1u << op->perm[i];
    }
    return ADAPS_OK;
}

enum adaps_status ad_check_space_to_depth(const struct ad_check *c)
{
    const struct ad_value *in = input_of(c, 0), *out = output_of(c);
    const struct ad_op *op = c->op;
    int64_t b = op->block;
    if (in->format != AD_NHWC || out->format != AD_NHWC)
        return ad_check_fail(c, "operands are not NHWC");
    if (b < 1 || b > AD_MAX_BLOCK)
        return ad_check_fail(c, "a block of %" PRId64 ": 1 to %d are supported", b, AD_MAX_BLOCK);
    if (in->box.n != out->box.n || in->box.h != out->box.h * b || in->box.w != out->box.w * b ||
        in->box.c * b * b != out->box.c)
        return ad_check_fail(c, "blocks of %" PRId64 "x%" PRId64 " do not give the output's shape",
                             b, b);
    return ADAPS_OK;
}

enum adaps_status ad_check_depth_to_space(const struct ad_check *c)
{
    const struct ad_value *in = input_of(c, 0), *out = output_of(c);
    const struct ad_window *w = &c->op->window;
    if (in->format != AD_NHWC || out->format != AD_NHWC || in->box.n != out->box.n)
        return ad_check_fail(c, "operands are not NHWC of one batch");
    if (w->sh < 1 || w->sw < 1 || w->sh > AD_MAX_BLOCK || w->sw > AD_MAX_BLOCK || w->pt < 0 ||
        w->pl < 0 || in->box.c != out->box.c * w->sh * w->sw)
        return ad_check_fail(c, "blocks of %dx%d cropped by %d, %d do not fit %" PRId64 " channels",
                             (int)w->sh, (int)w->sw, (int)w->pt, (int)w->pl, in->box.c);
    if (out->box.h + w->pt > in->box.h * w->sh || out->box.w + w->pl > in->box.w * w->sw)
        return ad_check_fail(c, "the output has more pixels than there are");
    return ADAPS_OK;
}

/* Positions of `out` outputs among `in` inputs: all that is computed of them stays below 2^63. */
static enum adaps_status check_positions(const struct ad_check *c, const struct ad_positions *p,
                                         int64_t in, int64_t out)
{
    const struct ad_resampling *r = &c->op->resampling;
    const int64_t most = INT64_MAX / 8;
    int64_t last;
    if (p->unit < 1 || p->unit > most || p->start < -most || p->start > most ||
        __builtin_mul_overflow(p->step, out - 1, &last) || last < -most || last > most)
        return ad_check_fail(c,
                             "positions (%" PRId64 " i + %" PRId64 ") / %" PRId64 " of %" PRId64
                             " outputs are out of range",
                             p->step, p->start, p->unit, out);
    last += p->start;
    int64_t low = last < p->start ? last : p->start, high = last < p->start ? p->start : last;
    if (r->edge == AD_EDGE_REFLECT && (p->unit != 1 || low < -(in - 1) || high > 2 * (in - 1)))
        return ad_check_fail(
            c, "positions %" PRId64 " to %" PRId64 " of %" PRId64 " elements, reflected", low, high,
            in);
    return ADAPS_OK;
}

enum adaps_status ad_check_resample(const struct ad_check *c)
{
    const struct ad_value *in = input_of(c, 0), *out = output_of(c);
    const struct ad_resampling *r = &c->op->resampling;
    if (in->format != AD_NHWC || out->format != AD_NHWC || in->box.n != out->box.n)
        return ad_check_fail(c, "operands are not NHWC of one batch");
    if ((unsigned)r->method >= AD_METHOD_COUNT || (unsigned)r->edge >= AD_EDGE_COUNT ||
        isnan(r->cubic) || isinf(r->cubic))
        return ad_check_fail(c, "method %d, edge %d, coefficient %g", (int)r->method, (int)r->edge,
                             (double)r->cubic);
    const struct ad_positions *k = &r->axis[2];
    if (r->method >= AD_METHOD_LINEAR && (r->edge != AD_EDGE_REPEAT || k->step != 1 ||
                                          k->start != 0 || k->unit != 1 || in->box.c != out->box.c))
        return ad_check_fail(c, "interpolation of channels, or beyond edges that are not repeated");
    enum adaps_status status = check_positions(c, &r->axis[0], in->box.h, out->box.h);
    if (status == ADAPS_OK)
        status = check_positions(c, &r->axis[1], in->box.w, out->box.w);
    return status == ADAPS_OK ? check_positions(c, k, in->box.c, out->box.c) : status;
}

enum adaps_status ad_check_gap(const struct ad_check *c)
{
    const struct ad_value *in = input_of(c, 0), *out = output_of(c);
    if (in->format != AD_NHWC || out->format != AD_NHWC || out->box.h != 1 || out->box.w != 1 ||
        in->box.n != out->box.n || in->box.c != out->box.c)
        return ad_check_fail(c, "the output is not one pixel of the input's channels");
    return ADAPS_OK;
}

enum adaps_status ad_check_unary(const struct ad_check *c)
{
    return ad_same_shape(input_of(c, 0), output_of(c))
               ? ADAPS_OK
               : ad_check_fail(c, "input and output differ in shape");
}

enum adaps_status ad_check_reshape(const struct ad_check *c)
{
    int64_t in = elements(input_of(c, 0)), out = elements(output_of(c));
    return in == out ? ADAPS_OK : ad_check_fail(c, "%" PRId64 " elements become %" PRId64, in, out);
}

/* The result is of the type and the dims that the operator's rule gives. */
enum adaps_status ad_check_whole(const struct ad_check *c)
{
    const struct ad_op *op = c->op;
    const struct ad_value *out = output_of(c);
    if (op->ninputs > AD_WHOLE_MOST_INPUTS || out->format != AD_PLAIN || !ad_op_is_bare(op))
        return ad_check_fail(c, "%d inputs, an output of format %d, or an activation", op->ninputs,
                             (int)out->format);
    struct ad_array *inputs = ad_calloc((size_t)op->ninputs, sizeof *inputs), result;
    if (!inputs)
        return ad_error_memory(c->err, "operands", (size_t)op->ninputs * sizeof *inputs);
    enum adaps_status status = ADAPS_OK;
    for (int k = 0; k < op->ninputs && status == ADAPS_OK; k++) {
        inputs[k] = ad_value_array(input_of(c, k));
        if (input_of(c, k)->format != AD_PLAIN)
            status = ad_check_fail(c, "input %d is a map", k);
    }
    struct adaps_error why;
    if (status == ADAPS_OK && ad_whole_infer(&op->whole, inputs, op->ninputs, &result, &why) != 0)
        status = ad_check_fail(c, "%s: %s", ad_whole_name(op->whole.kind), why.message);
    ad_free(inputs);
    if (status != ADAPS_OK)
        return status;
    bool same = result.type == out->type && result.rank == out->rank && result.open == out->open &&
                (out->rank == 0 || memcmp(result.dims, out->dims, (size_t)out->rank * 8) == 0);
    char want[128], have[128];
    return same ? ADAPS_OK
                : ad_check_fail(c, "%s: its output is %s %s%s, the operator makes %s %s%s",
                                ad_whole_name(op->whole.kind), ad_type_name(out->type),
                                ad_dims_format(out->rank, out->dims, have, sizeof have),
                                out->open ? ", open" : "", ad_type_name(result.type),
                                ad_dims_format(result.rank, result.dims, want, sizeof want),
                                result.open ? ", open" : "");
}
