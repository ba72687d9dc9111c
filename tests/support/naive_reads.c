#include "support/naive_reads.h"

#include <math.h>

struct reader {
    const struct ad_graph *graph;
    const struct ad_op *op;
    ad_naive_visit *visit;
    void *self;
};

static const struct ad_value *in_value(const struct ad_graph *graph, const struct ad_op *op, int k)
{
    return &graph->values[op->inputs[k]];
}

static void read_all(const struct reader *r, int k)
{
    struct ad_box box = in_value(r->graph, r->op, k)->box;
    for (int h = 0; h < box.h; h++)
        for (int w = 0; w < box.w; w++)
            for (int c = 0; c < box.c; c++)
                r->visit(r->self, k, h, w, c);
}

static void read_everything(const struct reader *r)
{
    for (int k = 0; k < r->op->ninputs; k++)
        read_all(r, k);
}

static void read_taps(const struct reader *r, int oh, int ow, int oc)
{
    const struct ad_window *win = &r->op->window;
    struct ad_box in = in_value(r->graph, r->op, 0)->box;
    struct ad_box out = r->graph->values[r->op->output].box;
    for (int y = 0; y < win->kh; y++) {
        int h = oh * win->sh + y * win->dh - win->pt;
        for (int x = 0; x < win->kw; x++) {
            int w = ow * win->sw + x * win->dw - win->pl;
            if (h < 0 || h >= in.h || w < 0 || w >= in.w)
                continue;
            for (int c = 0; c < in.c; c++) {
                bool mine = c == oc;
                if (r->op->kind == AD_OP_CONV) /* the same group */
                    mine = c * r->op->groups / in.c == oc * r->op->groups / out.c;
                if (mine)
                    r->visit(r->self, 0, h, w, c);
            }
        }
    }
}

/* By Winograd's algorithm all that the outputs between two lines of the grid take. */
static void read_window(const struct reader *r, int oh, int ow, int oc)
{
    struct ad_box out = r->graph->values[r->op->output].box;
    const struct ad_window *win = &r->op->window;
    int m = r->op->winograd, high = m && win->kh == 3 ? m * win->dh : 1;
    int wide = m && win->kw == 3 ? m * win->dw : 1;
    for (int y = oh / high * high; y < out.h && y / high == oh / high; y++)
        for (int x = ow / wide * wide; x < out.w && x / wide == ow / wide; x++)
            read_taps(r, y, x, oc);
}

/* Features, N x C: the only plain values with parts. */
static bool features(const struct ad_value *v)
{
    return v->format == AD_PLAIN && v->rank == 2;
}

static bool parts(const struct ad_value *v)
{
    return v->format == AD_NHWC || features(v);
}

/* One element to one element of the same place. */
static bool in_place(const struct ad_value *a, const struct ad_value *b)
{
    return parts(a) && parts(b) && a->box.n == b->box.n && a->box.h == b->box.h &&
           a->box.w == b->box.w && a->box.c == b->box.c;
}

static bool has_parts(const struct ad_graph *graph, const struct ad_op *op)
{
    const struct ad_value *out = &graph->values[op->output], *in = in_value(graph, op, 0);
    switch (op->kind) {
    case AD_OP_ADD:
    case AD_OP_SUB:
    case AD_OP_MUL:
    case AD_OP_DIV:
    case AD_OP_MIN:
    case AD_OP_MAX:
    case AD_OP_POW:
    case AD_OP_PRELU:
        return out->format == AD_NHWC ||
               (features(out) && in_place(in, out) && in_place(in_value(graph, op, 1), out));
    case AD_OP_UNARY:
    case AD_OP_RESHAPE:
        return in_place(in, out);
    case AD_OP_CONCAT:
    case AD_OP_SOFTMAX:
    case AD_OP_REDUCE:
        return out->format == AD_NHWC;
    case AD_OP_PERMUTE: /* of channels only */
        return in->format == AD_NHWC && out->format == AD_NHWC && op->view_rank == 5 &&
               op->perm[3] == 4 && op->view_dims[0] == in->box.n && op->view_dims[1] == in->box.h &&
               op->view_dims[2] == in->box.w;
    case AD_OP_CONV:
    case AD_OP_MAXPOOL:
    case AD_OP_AVGPOOL:
    case AD_OP_GAP:
    case AD_OP_FC:
    case AD_OP_LRN:
    case AD_OP_SPACE_TO_DEPTH:
    case AD_OP_DEPTH_TO_SPACE:
    case AD_OP_RESAMPLE:
    case AD_OP_FOLD:
        return true;
    case AD_OP_MATMUL:
    case AD_OP_WHOLE:
    case AD_OP_COUNT:
        break;
    }
    return false;
}

static void read_elementwise(const struct reader *r, int h, int w, int c)
{
    for (int k = 0; k < r->op->ninputs; k++) {
        struct ad_box in = in_value(r->graph, r->op, k)->box;
        r->visit(r->self, k, in.h == 1 ? 0 : h, in.w == 1 ? 0 : w, in.c == 1 ? 0 : c);
    }
}

static void read_concat(const struct reader *r, int h, int w, int c)
{
    for (int k = 0; k < r->op->ninputs; k++) {
        int size = (int)in_value(r->graph, r->op, k)->box.c;
        if (c >= 0 && c < size)
            r->visit(r->self, k, h, w, c);
        c -= size;
    }
}

static void read_block(const struct reader *r, int h, int w, int k)
{
    int b = r->op->block, channels = (int)in_value(r->graph, r->op, 0)->box.c;
    for (int i = 0; i < b; i++)
        for (int j = 0; j < b; j++)
            for (int c = 0; c < channels; c++)
                if (k == (r->op->channel_major ? (c * b + i) * b + j : (i * b + j) * channels + c))
                    r->visit(r->self, 0, h * b + i, w * b + j, c);
}

static void read_spread(const struct reader *r, int h, int w, int c)
{
    const struct ad_window *b = &r->op->window;
    int outputs = (int)r->graph->values[r->op->output].box.c, y = h + b->pt, x = w + b->pl;
    int i = y % b->sh, j = x % b->sw;
    int k = r->op->channel_major ? (c * b->sh + i) * b->sw + j : (i * b->sw + j) * outputs + c;
    r->visit(r->self, 0, y / b->sh, x / b->sw, k);
}

/* Which inputs output o of an axis takes, in floating point; returns how many. */
static int resampled(const struct ad_resampling *r, const struct ad_positions *p, int64_t size,
                     int64_t o, int at[4])
{
    double x = (double)(p->step * o + p->start) / (double)p->unit, low = floor(x);
    bool same = p->step == p->unit && p->start == 0;
    int n = 1;
    double first = low;
    if (r->method == AD_METHOD_CEIL)
        first = ceil(x);
    else if (r->method == AD_METHOD_ROUND_DOWN)
        first = ceil(x - 0.5);
    else if (r->method == AD_METHOD_ROUND_UP)
        first = floor(x + 0.5);
    else if (r->method == AD_METHOD_LINEAR && x > low)
        n = 2;
    else if (r->method == AD_METHOD_CUBIC && !same) {
        first = low - 1;
        n = 4;
    }
    for (int k = 0; k < n; k++) {
        int i = (int)first + k, last = (int)size - 1;
        if ((i < 0 || i > last) && r->edge == AD_EDGE_FILL)
            return 0;
        if (r->edge == AD_EDGE_REFLECT)
            i = i < 0 ? -i : i > last ? 2 * last - i : i;
        at[k] = i < 0 ? 0 : i > last ? last : i;
    }
    return n;
}

static void read_resampled(const struct reader *r, int h, int w, int c)
{
    const struct ad_resampling *how = &r->op->resampling;
    struct ad_box in = in_value(r->graph, r->op, 0)->box;
    int y[4], x[4], z[4], ny = resampled(how, &how->axis[0], in.h, h, y);
    int nx = resampled(how, &how->axis[1], in.w, w, x);
    int nz = resampled(how, &how->axis[2], in.c, c, z);
    for (int i = 0; i < ny; i++)
        for (int j = 0; j < nx; j++)
            for (int k = 0; k < nz; k++)
                r->visit(r->self, 0, y[i], x[j], z[k]);
}

void ad_naive_reads(const struct ad_graph *graph, const struct ad_op *op, int h, int w, int c,
                    ad_naive_visit *visit, void *self)
{
    struct reader r = {graph, op, visit, self};
    struct ad_box in = in_value(graph, op, 0)->box;
    if (!has_parts(graph, op)) {
        read_everything(&r);
        return;
    }
    switch (op->kind) {
    case AD_OP_CONV:
    case AD_OP_MAXPOOL:
    case AD_OP_AVGPOOL:
        read_window(&r, h, w, c);
        break;
    case AD_OP_GAP:
        for (int y = 0; y < in.h; y++)
            for (int x = 0; x < in.w; x++)
                visit(self, 0, y, x, c);
        break;
    case AD_OP_SOFTMAX:
    case AD_OP_REDUCE:
        for (int i = 0; i < in.c; i++)
            visit(self, 0, h, w, i);
        break;
    case AD_OP_LRN: /* size - 1 neighbours, the odd one after it */
        for (int i = 0; i < in.c; i++)
            if (2 * (c - i) <= op->lrn_size - 1 && 2 * (i - c) <= op->lrn_size)
                visit(self, 0, h, w, i);
        break;
    case AD_OP_FOLD: /* the same place of two blocks that follow each other */
        for (int i = 0; i < in.c; i++)
            if (i / (int)op->inner / 2 == c / (int)op->inner &&
                i % (int)op->inner == c % (int)op->inner)
                visit(self, 0, h, w, i);
        break;
    case AD_OP_ADD:
    case AD_OP_SUB:
    case AD_OP_MUL:
    case AD_OP_DIV:
    case AD_OP_MIN:
    case AD_OP_MAX:
    case AD_OP_POW:
    case AD_OP_PRELU:
        read_elementwise(&r, h, w, c);
        break;
    case AD_OP_CONCAT:
        read_concat(&r, h, w, c);
        break;
    case AD_OP_UNARY:
    case AD_OP_RESHAPE:
        visit(self, 0, h, w, c);
        break;
    case AD_OP_SPACE_TO_DEPTH:
        read_block(&r, h, w, c);
        break;
    case AD_OP_DEPTH_TO_SPACE:
        read_spread(&r, h, w, c);
        break;
    case AD_OP_PERMUTE:
        for (int i = 0; i < in.c; i++)
            visit(self, 0, h, w, i);
        break;
    case AD_OP_RESAMPLE:
        read_resampled(&r, h, w, c);
        break;
    case AD_OP_FC:
    case AD_OP_MATMUL:
    case AD_OP_WHOLE:
    case AD_OP_COUNT:
        read_everything(&r);
    }
}

/* Whether outputs lo..hi of one axis read anything. */
static bool axis_reads(int lo, int hi, int k, int s, int d, int pad, int64_t size)
{
    for (int o = lo; o < hi; o++)
        for (int j = 0; j < k; j++)
            if (o * s + j * d >= pad && o * s + j * d < pad + size)
                return true;
    return false;
}

/* Whether outputs lo..hi of one axis take anything, or none of all does. */
static bool resampling_reads(const struct ad_op *op, const struct ad_positions *p, int64_t size,
                             int lo, int hi, int outputs)
{
    int at[4];
    bool any = false;
    for (int o = 0; o < outputs; o++) {
        bool takes = resampled(&op->resampling, p, size, o, at) > 0;
        if (takes && o >= lo && o < hi)
            return true;
        any |= takes;
    }
    return !any;
}

bool ad_naive_allowed(const struct ad_graph *graph, const struct ad_op *op, int h0, int h1, int w0,
                      int w1, int c0, int c1)
{
    struct ad_box out = graph->values[op->output].box, in = in_value(graph, op, 0)->box;
    const struct ad_window *n = &op->window;
    if (h0 < 0 || w0 < 0 || c0 < 0 || h1 > out.h || w1 > out.w || c1 > out.c)
        return false;
    bool all_c = c0 == 0 && c1 == out.c, all = all_c && (h1 - h0) * (w1 - w0) == out.h * out.w;
    if (!has_parts(graph, op))
        return all;
    if (op->kind == AD_OP_SOFTMAX || op->kind == AD_OP_PERMUTE)
        return all_c;
    if (op->kind == AD_OP_CONV && op->groups > 1) {
        int64_t filters = out.c / op->groups;
        if (c0 % filters != 0 || c1 % filters != 0)
            return false;
    }
    if (op->kind == AD_OP_RESAMPLE) {
        const struct ad_positions *p = op->resampling.axis;
        return resampling_reads(op, &p[0], in.h, h0, h1, (int)out.h) &&
               resampling_reads(op, &p[1], in.w, w0, w1, (int)out.w) &&
               resampling_reads(op, &p[2], in.c, c0, c1, (int)out.c);
    }
    if (op->kind != AD_OP_CONV && op->kind != AD_OP_MAXPOOL && op->kind != AD_OP_AVGPOOL)
        return true;
    if (op->kind == AD_OP_CONV && (h1 - h0) * (w1 - w0) < 2 && out.h * out.w > 1)
        return false;
    if (op->winograd) { /* what is computed with it counts */
        int high = n->kh == 3 ? op->winograd * n->dh : 1;
        int wide = n->kw == 3 ? op->winograd * n->dw : 1;
        for (h0 -= h0 % high; h1 % high && h1 < out.h;)
            h1++;
        for (w0 -= w0 % wide; w1 % wide && w1 < out.w;)
            w1++;
    }
    if (!axis_reads(h0, h1, n->kh, n->sh, n->dh, n->pt, in.h) &&
        axis_reads(0, (int)out.h, n->kh, n->sh, n->dh, n->pt, in.h))
        return false;
    return axis_reads(w0, w1, n->kw, n->sw, n->dw, n->pl, in.w) ||
           !axis_reads(0, (int)out.w, n->kw, n->sw, n->dw, n->pl, in.w);
}
