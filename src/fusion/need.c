/* What an output region reads (need), and what an input region lets one compute (yield). */
#include "fusion/rules.h"

static const struct ad_value *input_value(const struct ad_graph *graph, const struct ad_op *op,
                                          int k)
{
    return &graph->values[op->inputs[k]];
}

static const struct ad_value *output_value(const struct ad_graph *graph, const struct ad_op *op)
{
    return &graph->values[op->output];
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static bool elementwise_splits(const struct ad_graph *graph, const struct ad_op *op)
{
    const struct ad_value *out = output_value(graph, op);
    if (out->format == AD_NHWC)
        return true;
    for (int k = 0; k < op->ninputs; k++) {
        const struct ad_value *in = input_value(graph, op, k);
        if (in->rank != 2 || !ad_same_box(in, out))
            return false;
    }
    return out->rank == 2;
}

bool ad_op_splits(const struct ad_graph *graph, const struct ad_op *op)
{
    const struct ad_value *out = output_value(graph, op);
    if (!ad_value_splits(out))
        return false;
    switch (op->kind) {
    case AD_OP_CONV:
    case AD_OP_MAXPOOL:
    case AD_OP_AVGPOOL:
    case AD_OP_GAP:
    case AD_OP_FC:
    case AD_OP_LRN:
    case AD_OP_SPACE_TO_DEPTH:
    case AD_OP_RESAMPLE:
    case AD_OP_DEPTH_TO_SPACE:
        return true;
    case AD_OP_ADD:
    case AD_OP_SUB:
    case AD_OP_MUL:
    case AD_OP_DIV:
    case AD_OP_MIN:
    case AD_OP_MAX:
    case AD_OP_POW:
    case AD_OP_PRELU:
        return elementwise_splits(graph, op);
    case AD_OP_CONCAT:
    case AD_OP_SOFTMAX:
    case AD_OP_REDUCE:
        return out->format == AD_NHWC;
    case AD_OP_UNARY:
    case AD_OP_RESHAPE: /* N x C features as N x C x 1 x 1 and back: nothing moves */
        return ad_value_splits(input_value(graph, op, 0)) &&
               ad_same_box(input_value(graph, op, 0), out);
    case AD_OP_PERMUTE:
        return ad_op_shuffles_channels(graph, op);
    case AD_OP_COUNT:
        return false;
    }
    return false;
}

/* The first input that output o reads, -1 when it reads padding only. A window that starts before
 * the input reads next the first of its taps that is inside: with dilation that need not be 0. */
static int64_t first_read(const struct ad_axis *a, int64_t o)
{
    int64_t at = o * a->stride - a->pad;
    if (at < 0) {
        int64_t j = ceil_div(-at, a->dilation);
        if (j >= a->taps)
            return -1;
        at += j * a->dilation;
    }
    return at < a->size ? at : -1;
}

/* The last input that output o reads, -1 when it reads padding only. */
static int64_t last_read(const struct ad_axis *a, int64_t o)
{
    int64_t start = o * a->stride - a->pad;
    int64_t at = start + (a->taps - 1) * a->dilation;
    if (at >= a->size)
        at -= ceil_div(at - (a->size - 1), a->dilation) * a->dilation;
    return at >= start && at >= 0 ? at : -1;
}

bool ad_axis_need_any(const struct ad_axis *a, int64_t *lo, int64_t *hi)
{
    int64_t extent = (a->taps - 1) * a->dilation;
    int64_t first = -1, last = -1;
    /* From the first window that reaches the input to the first that starts in it. */
    int64_t o = ceil_div(a->pad - extent, a->stride);
    for (o = o > *lo ? o : *lo; o < *hi && first != 0; o++) {
        int64_t at = first_read(a, o);
        if (at >= 0 && (first < 0 || at < first))
            first = at;
        if (o * a->stride >= a->pad)
            break;
    }
    /* From the last window that starts before the end to the last that ends before it. */
    o = floor_div(a->size - 1 + a->pad, a->stride);
    for (o = o < *hi - 1 ? o : *hi - 1; o >= *lo && last != a->size - 1; o--) {
        int64_t at = last_read(a, o);
        if (at > last)
            last = at;
        if (o * a->stride - a->pad + extent < a->size)
            break;
    }
    if (first < 0)
        return false;
    *lo = first;
    *hi = last + 1;
    return true;
}

static struct ad_region need_window(const struct ad_graph *graph, const struct ad_op *op,
                                    struct ad_region out)
{
    struct ad_axis rows = ad_axis_h(graph, op), columns = ad_axis_w(graph, op);
    int64_t h0 = out.h0, h1 = out.h1, w0 = out.w0, w1 = out.w1;
    if (!ad_axis_need(&rows, &h0, &h1) || !ad_axis_need(&columns, &w0, &w1))
        return ad_region_none();
    struct ad_region in = {(int32_t)h0, (int32_t)h1, (int32_t)w0, (int32_t)w1, out.c0, out.c1};
    if (op->kind == AD_OP_CONV) {
        int64_t per_group_in = input_value(graph, op, 0)->box.c / op->groups;
        int64_t per_group_out = output_value(graph, op)->box.c / op->groups;
        in.c0 = (int32_t)(out.c0 / per_group_out * per_group_in);
        in.c1 = (int32_t)(ceil_div(out.c1, per_group_out) * per_group_in);
    }
    return in;
}

/* A dimension of 1 is read again for every element along it. */
static struct ad_region need_broadcast(const struct ad_value *out_value, const struct ad_value *in,
                                       struct ad_region out)
{
    if (in->box.h != out_value->box.h)
        out.h0 = 0, out.h1 = 1;
    if (in->box.w != out_value->box.w)
        out.w0 = 0, out.w1 = 1;
    if (in->box.c != out_value->box.c)
        out.c0 = 0, out.c1 = 1;
    return out;
}

static struct ad_region need_concat(const struct ad_graph *graph, const struct ad_op *op, int k,
                                    struct ad_region out)
{
    int64_t offset = 0, size = input_value(graph, op, k)->box.c;
    for (int i = 0; i < k; i++)
        offset += input_value(graph, op, i)->box.c;
    int64_t c0 = out.c0 - offset, c1 = out.c1 - offset;
    out.c0 = (int32_t)(c0 < 0 ? 0 : c0 > size ? size : c0);
    out.c1 = (int32_t)(c1 < 0 ? 0 : c1 > size ? size : c1);
    return ad_region_empty(out) ? ad_region_none() : out;
}

/* ONNX LRN: output c sums the squares of floor((size-1)/2) channels before it up to
 * ceil((size-1)/2) behind it. */
static struct ad_region need_lrn(const struct ad_op *op, struct ad_region whole,
                                 struct ad_region out)
{
    int64_t c0 = (int64_t)out.c0 - (op->lrn_size - 1) / 2;
    int64_t c1 = (int64_t)out.c1 + op->lrn_size / 2;
    out.c0 = (int32_t)(c0 < 0 ? 0 : c0);
    out.c1 = (int32_t)(c1 > whole.c1 ? whole.c1 : c1);
    return out;
}

struct ad_region ad_need(const struct ad_graph *graph, const struct ad_op *op, int k,
                         struct ad_region out)
{
    const struct ad_value *in = input_value(graph, op, k);
    struct ad_region whole = ad_region_whole(in);
    out = ad_region_intersect(out, ad_region_whole(output_value(graph, op)));
    if (ad_region_empty(out))
        return ad_region_none();
    if (!ad_op_splits(graph, op))
        return whole;
    switch (op->kind) {
    case AD_OP_CONV:
    case AD_OP_MAXPOOL:
    case AD_OP_AVGPOOL:
        return need_window(graph, op, out);
    case AD_OP_GAP:
        whole.c0 = out.c0;
        whole.c1 = out.c1;
        return whole;
    case AD_OP_ADD:
    case AD_OP_SUB:
    case AD_OP_MUL:
    case AD_OP_DIV:
    case AD_OP_MIN:
    case AD_OP_MAX:
    case AD_OP_POW:
    case AD_OP_PRELU:
        return need_broadcast(output_value(graph, op), in, out);
    case AD_OP_CONCAT:
        return need_concat(graph, op, k, out);
    case AD_OP_SOFTMAX:
    case AD_OP_REDUCE:
    case AD_OP_PERMUTE:
        out.c0 = whole.c0;
        out.c1 = whole.c1;
        return out;
    case AD_OP_LRN:
        return need_lrn(op, whole, out);
    case AD_OP_SPACE_TO_DEPTH:
        return ad_need_space_to_depth(graph, op, out);
    case AD_OP_RESAMPLE:
        return ad_need_resample(graph, op, out);
    case AD_OP_DEPTH_TO_SPACE:
        return ad_need_depth_to_space(graph, op, out);
    case AD_OP_UNARY:
    case AD_OP_RESHAPE:
        return out;
    case AD_OP_FC:
    case AD_OP_COUNT:
        break;
    }
    return whole;
}

struct run {
    int32_t lo, hi;
};

/* axis_yield() where all outputs read some input, without dilation. */
static struct run plain_yield(const struct ad_axis *a, int64_t lo, int64_t hi)
{
    int64_t first = lo > 0 ? ceil_div(lo + a->pad, a->stride) : 0;
    int64_t end = hi < a->size ? floor_div(hi + a->pad - a->taps, a->stride) + 1 : a->outputs;
    end = end < a->outputs ? end : a->outputs;
    return first < end ? (struct run){(int32_t)first, (int32_t)end} : (struct run){0, 0};
}

/* The longest run of outputs whose inputs all lie in [lo, hi), the first of several. With lo = hi
 * these are the outputs that read padding only. */
static struct run axis_yield(const struct ad_axis *a, int64_t lo, int64_t hi)
{
    struct run best = {0, 0};
    int64_t start = 0;
    if (a->outputs > 0 && ad_axis_plain(a, 0) && ad_axis_plain(a, a->outputs - 1))
        return plain_yield(a, lo, hi);
    for (int64_t o = 0; o < a->outputs; o++) {
        int64_t first = first_read(a, o);
        if (first >= 0 && (first < lo || last_read(a, o) >= hi))
            start = o + 1;
        else if (o + 1 - start > best.hi - best.lo)
            best = (struct run){(int32_t)start, (int32_t)(o + 1)};
    }
    return best;
}

static struct ad_region larger(struct ad_region a, struct ad_region b)
{
    return ad_region_elements(b) > ad_region_elements(a) ? b : a;
}

/* A box of outputs is computable when its rows and columns (and groups) are all present, or when
 * all its rows, or all its columns, read padding only. */
static struct ad_region yield_window(const struct ad_graph *graph, const struct ad_op *op,
                                     struct ad_region have)
{
    struct ad_axis rows = ad_axis_h(graph, op), columns = ad_axis_w(graph, op);
    struct ad_region whole = ad_region_whole(output_value(graph, op));
    struct ad_region best = ad_region_none();
    if (!ad_region_empty(have)) {
        struct run h = axis_yield(&rows, have.h0, have.h1);
        struct run w = axis_yield(&columns, have.w0, have.w1);
        best = (struct ad_region){h.lo, h.hi, w.lo, w.hi, have.c0, have.c1};
    }
    if (op->kind == AD_OP_CONV && !ad_region_empty(best)) {
        int64_t per_group_in = input_value(graph, op, 0)->box.c / op->groups;
        int64_t per_group_out = output_value(graph, op)->box.c / op->groups;
        best.c0 = (int32_t)(ceil_div(have.c0, per_group_in) * per_group_out);
        best.c1 = (int32_t)(have.c1 / per_group_in * per_group_out);
    }
    struct ad_region blank_rows = whole, blank_columns = whole;
    struct run h = axis_yield(&rows, 0, 0), w = axis_yield(&columns, 0, 0);
    blank_rows.h0 = h.lo, blank_rows.h1 = h.hi;
    blank_columns.w0 = w.lo, blank_columns.w1 = w.hi;
    return larger(larger(larger(ad_region_none(), best), blank_rows), blank_columns);
}

static struct ad_region yield_broadcast(const struct ad_value *out_value, const struct ad_value *in,
                                        struct ad_region have)
{
    struct ad_region out = ad_region_whole(out_value);
    if (ad_region_empty(have))
        return ad_region_none();
    if (in->box.h == out_value->box.h)
        out.h0 = have.h0, out.h1 = have.h1;
    if (in->box.w == out_value->box.w)
        out.w0 = have.w0, out.w1 = have.w1;
    if (in->box.c == out_value->box.c)
        out.c0 = have.c0, out.c1 = have.c1;
    return out;
}

static struct ad_region present(const struct ad_graph *graph, const struct ad_op *op,
                                const struct ad_region *have, int k)
{
    const struct ad_value *in = input_value(graph, op, k);
    struct ad_region whole = ad_region_whole(in);
    return in->constant >= 0 ? whole : ad_region_intersect(have[k], whole);
}

/* The best of all runs of operands: inside a run, every operand but the first reaches down to
 * channel 0, every one but the last up to its end. */
static struct ad_region yield_concat(const struct ad_graph *graph, const struct ad_op *op,
                                     const struct ad_region *have)
{
    struct ad_region best = ad_region_none();
    int64_t offset = 0;
    for (int i = 0; i < op->ninputs; offset += input_value(graph, op, i)->box.c, i++) {
        struct ad_region run = present(graph, op, have, i);
        int64_t end = input_value(graph, op, i)->box.c;
        int64_t run_end = offset + run.c1;
        bool more = run.c1 == end;
        if (ad_region_empty(run))
            continue;
        run.c0 += (int32_t)offset;
        run.c1 = (int32_t)run_end;
        best = larger(best, run);
        for (int k = i + 1; more && k < op->ninputs; k++) {
            struct ad_region next = present(graph, op, have, k);
            if (ad_region_empty(next) || next.c0 != 0)
                break;
            more = next.c1 == input_value(graph, op, k)->box.c;
            run_end += next.c1;
            next.c0 = run.c0;
            next.c1 = run.c1 = (int32_t)run_end;
            run = ad_region_intersect(run, next);
            if (ad_region_empty(run))
                break;
            best = larger(best, run);
        }
    }
    return best;
}

static struct ad_region yield_lrn(const struct ad_op *op, struct ad_region whole,
                                  struct ad_region have)
{
    int64_t c0 = (int64_t)have.c0 + (op->lrn_size - 1) / 2;
    int64_t c1 = (int64_t)have.c1 - op->lrn_size / 2;
    if (ad_region_empty(have))
        return ad_region_none();
    if (have.c0 == whole.c0)
        c0 = have.c0;
    if (have.c1 == whole.c1)
        c1 = have.c1;
    if (c0 >= c1)
        return ad_region_none();
    have.c0 = (int32_t)c0;
    have.c1 = (int32_t)c1;
    return have;
}

/* Of operators that read everything. */
static struct ad_region yield_all(const struct ad_graph *graph, const struct ad_op *op,
                                  const struct ad_region *have)
{
    for (int k = 0; k < op->ninputs; k++)
        if (!ad_region_equal(present(graph, op, have, k),
                             ad_region_whole(input_value(graph, op, k))))
            return ad_region_none();
    return ad_region_whole(output_value(graph, op));
}

struct ad_region ad_yield(const struct ad_graph *graph, const struct ad_op *op,
                          const struct ad_region *have)
{
    if (!ad_op_splits(graph, op))
        return yield_all(graph, op, have);
    struct ad_region first = present(graph, op, have, 0);
    struct ad_region whole = ad_region_whole(input_value(graph, op, 0));
    struct ad_region out = ad_region_whole(output_value(graph, op));
    switch (op->kind) {
    case AD_OP_CONV:
    case AD_OP_MAXPOOL:
    case AD_OP_AVGPOOL:
        return yield_window(graph, op, first);
    case AD_OP_GAP:
        out.c0 = first.c0;
        out.c1 = first.c1;
        return ad_region_pixels(first) == ad_region_pixels(whole) ? out : ad_region_none();
    case AD_OP_ADD:
    case AD_OP_SUB:
    case AD_OP_MUL:
    case AD_OP_DIV:
    case AD_OP_MIN:
    case AD_OP_MAX:
    case AD_OP_POW:
    case AD_OP_PRELU:
        for (int k = 0; k < op->ninputs; k++)
            out = ad_region_intersect(out, yield_broadcast(output_value(graph, op),
                                                           input_value(graph, op, k),
                                                           present(graph, op, have, k)));
        return out;
    case AD_OP_CONCAT:
        return yield_concat(graph, op, have);
    case AD_OP_REDUCE:
        if (first.c0 != whole.c0 || first.c1 != whole.c1)
            return ad_region_none();
        first.c0 = 0;
        first.c1 = 1;
        return ad_region_empty(first) ? ad_region_none() : first;
    case AD_OP_SOFTMAX:
    case AD_OP_PERMUTE:
        return first.c0 == whole.c0 && first.c1 == whole.c1 ? first : ad_region_none();
    case AD_OP_LRN:
        return yield_lrn(op, whole, first);
    case AD_OP_SPACE_TO_DEPTH:
        return ad_yield_space_to_depth(graph, op, first);
    case AD_OP_RESAMPLE:
        return ad_yield_resample(graph, op, first);
    case AD_OP_DEPTH_TO_SPACE:
        return ad_yield_depth_to_space(graph, op, first);
    case AD_OP_UNARY:
    case AD_OP_RESHAPE:
        return first;
    case AD_OP_FC:
    case AD_OP_COUNT:
        break;
    }
    return yield_all(graph, op, have);
}
