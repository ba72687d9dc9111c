#include "support/reference.h"
#include "exec/engine/whole.h"
#include "ir/ends.h"
#include "ir/operators.h"
#include "ir/quantised.h"
#include "ir/weight.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
    const struct ad_graph *graph;
    float **data;    /* by value, in memory order; NULL until computed */
    float **weights; /* all of them */
};

static int64_t elements(const struct ad_value *v)
{
    return v->box.n * v->box.h * v->box.w * v->box.c;
}

static const struct ad_value *input_of(const struct run *r, const struct ad_op *op, int k)
{
    return &r->graph->values[op->inputs[k]];
}

static const float *data_of(const struct run *r, int v)
{
    int constant = r->graph->values[v].constant;
    return constant >= 0 ? r->weights[constant] : r->data[v];
}

static int64_t at(const struct ad_box *b, int64_t n, int64_t h, int64_t w, int64_t c)
{
    return ((n * b->h + h) * b->w + w) * b->c + c;
}

static double ramp(const struct ad_op *op, double v)
{
    return fmin(fmax((double)op->alpha * v + (double)op->beta, 0), 1);
}

static double function_of(const struct ad_op *op, double v)
{
    switch (op->function) {
    case AD_FN_LEAKY_RELU:
        return v < 0 ? (double)op->alpha * v : v;
    case AD_FN_SIGMOID:
        return 1 / (1 + exp(-v));
    case AD_FN_SILU:
        return v / (1 + exp(-v));
    case AD_FN_HARD_SIGMOID:
        return ramp(op, v);
    case AD_FN_HARD_SWISH:
        return v * ramp(op, v);
    case AD_FN_ELU:
        return (double)op->beta * (v < 0 ? (double)op->alpha * expm1(v) : v);
    case AD_FN_CELU:
        return v < 0 ? (double)op->alpha * expm1(v / (double)op->alpha) : v;
    case AD_FN_SOFTPLUS:
        return v > 0 ? v + log1p(exp(-v)) : log1p(exp(v));
    case AD_FN_SOFTSIGN:
        return v / (1 + fabs(v));
    case AD_FN_MISH:
        return v * tanh(log1p(exp(v)));
    case AD_FN_GELU:
        return v / 2 * (1 + erf(v / sqrt(2)));
    case AD_FN_GELU_TANH:
        return v / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (v + 0.044715 * pow(v, 3))));
    case AD_FN_TANH:
        return tanh(v);
    case AD_FN_ERF:
        return erf(v);
    case AD_FN_EXP:
        return exp(v);
    case AD_FN_LOG:
        return log(v);
    case AD_FN_SQRT:
        return sqrt(v);
    case AD_FN_ABS:
        return fabs(v);
    case AD_FN_NEG:
        return -v;
    case AD_FN_RECIPROCAL:
        return 1 / v;
    case AD_FN_THRESHOLDED_RELU:
        return v > (double)op->alpha ? v : 0;
    case AD_FN_FLOOR:
        return floor(v);
    case AD_FN_CEIL:
        return ceil(v);
    case AD_FN_NONE:
    case AD_FN_COUNT:
        break;
    }
    return v;
}

static float activated(const struct ad_op *op, double v)
{
    v = function_of(op, v);
    if (v < (double)op->clamp_min)
        v = (double)op->clamp_min;
    if (v > (double)op->clamp_max)
        v = (double)op->clamp_max;
    return (float)v;
}

/* --- one function per kind: in and out in memory order --- */

static double conv_at(const struct run *r, const struct ad_op *op, const float *x, int64_t n,
                      int64_t oh, int64_t ow, int64_t o)
{
    const struct ad_box *in = &input_of(r, op, 0)->box;
    const struct ad_window *win = &op->window;
    int64_t outputs = r->graph->values[op->output].box.c, depth = in->c / op->groups;
    int64_t first = o / (outputs / op->groups) * depth;
    const float *weight = r->weights[op->weight] + o * win->kh * win->kw * depth;
    double sum = op->bias < 0 ? 0 : (double)r->weights[op->bias][o];
    for (int64_t kh = 0; kh < win->kh; kh++)
        for (int64_t kw = 0; kw < win->kw; kw++) {
            int64_t h = oh * win->sh - win->pt + kh * win->dh;
            int64_t w = ow * win->sw - win->pl + kw * win->dw;
            if (h < 0 || h >= in->h || w < 0 || w >= in->w)
                continue;
            for (int64_t c = 0; c < depth; c++)
                sum += (double)x[at(in, n, h, w, first + c)] *
                       (double)weight[(kh * win->kw + kw) * depth + c];
        }
    return sum;
}

static double pool_at(const struct run *r, const struct ad_op *op, const float *x, int64_t n,
                      int64_t oh, int64_t ow, int64_t c)
{
    const struct ad_box *in = &input_of(r, op, 0)->box;
    const struct ad_window *win = &op->window;
    double most = -INFINITY, sum = 0;
    int64_t inside = 0, declared = 0;
    for (int64_t kh = 0; kh < win->kh; kh++)
        for (int64_t kw = 0; kw < win->kw; kw++) {
            int64_t h = oh * win->sh - win->pt + kh * win->dh;
            int64_t w = ow * win->sw - win->pl + kw * win->dw;
            declared += h < in->h + win->real_pb && w < in->w + win->real_pr;
            if (h < 0 || h >= in->h || w < 0 || w >= in->w)
                continue;
            double v = (double)x[at(in, n, h, w, c)];
            most = v > most ? v : most;
            sum += v;
            inside++;
        }
    if (op->kind == AD_OP_MAXPOOL)
        return most;
    return sum / (double)(op->count_include_pad ? declared : inside);
}

static double gap_at(const struct run *r, const struct ad_op *op, const float *x, int64_t n,
                     int64_t h, int64_t w, int64_t c)
{
    const struct ad_box *in = &input_of(r, op, 0)->box;
    double sum = 0;
    for (h = 0; h < in->h; h++)
        for (w = 0; w < in->w; w++)
            sum += (double)x[at(in, n, h, w, c)];
    return sum / (double)(in->h * in->w);
}

static double fold_at(const struct run *r, const struct ad_op *op, const float *x, int64_t n,
                      int64_t h, int64_t w, int64_t c)
{
    const struct ad_box *in = &input_of(r, op, 0)->box;
    int64_t first = c / op->inner * 2 * op->inner + c % op->inner;
    return (double)x[at(in, n, h, w, first)] + (double)x[at(in, n, h, w, first + op->inner)];
}

static double lrn_at(const struct run *r, const struct ad_op *op, const float *x, int64_t n,
                     int64_t h, int64_t w, int64_t c)
{
    const struct ad_box *in = &input_of(r, op, 0)->box;
    int64_t lo = c - (op->lrn_size - 1) / 2, hi = c + op->lrn_size / 2; /* ceil((size-1)/2) after */
    double sum = 0;
    for (int64_t i = lo < 0 ? 0 : lo; i <= hi && i < in->c; i++)
        sum += (double)x[at(in, n, h, w, i)] * (double)x[at(in, n, h, w, i)];
    return (double)x[at(in, n, h, w, c)] /
           pow((double)op->lrn_bias + (double)op->lrn_alpha / (double)op->lrn_size * sum,
               (double)op->lrn_beta);
}

static double fc_at(const struct run *r, const struct ad_op *op, const float *x, int64_t n,
                    int64_t h, int64_t w, int64_t o)
{
    (void)h, (void)w;
    const float *weight = r->weights[op->weight];
    const struct ad_box *in = &input_of(r, op, 0)->box;
    int64_t columns = in->h * in->w * in->c;
    double sum = op->bias < 0 ? 0 : (double)r->weights[op->bias][o];
    for (int64_t i = 0; i < columns; i++)
        sum += (double)x[n * columns + i] * (double)weight[o * columns + i];
    return sum;
}

static double same_at(const struct run *r, const struct ad_op *op, const float *x, int64_t n,
                      int64_t h, int64_t w, int64_t c)
{
    return (double)x[at(&r->graph->values[op->output].box, n, h, w, c)];
}

static double add(double p, double q)
{
    return p + q;
}

static double sub(double p, double q)
{
    return p - q;
}

static double mul(double p, double q)
{
    return p * q;
}

static double quotient(double p, double q)
{
    return p / q;
}

static double prelu(double p, double q)
{
    return p < 0 ? p * q : p;
}

/* How a kind is computed: as a whole, or one element of an NHWC (or n x c) result from input 0, or
 * one element from one of each operand. */
struct interpreter {
    void (*whole)(const struct run *r, const struct ad_op *op, float *y);
    double (*at)(const struct run *r, const struct ad_op *op, const float *x, int64_t n, int64_t h,
                 int64_t w, int64_t c);
    double (*of_two)(double p, double q);
};
static const struct interpreter *interpreter_of(enum ad_op_kind kind);

static void run_by_element(const struct run *r, const struct ad_op *op, float *y)
{
    const struct ad_box *b = &r->graph->values[op->output].box;
    const struct interpreter *kind = interpreter_of(op->kind);
    const float *x = data_of(r, op->inputs[0]);
    for (int64_t n = 0; n < b->n; n++)
        for (int64_t h = 0; h < b->h; h++)
            for (int64_t w = 0; w < b->w; w++)
                for (int64_t c = 0; c < b->c; c++)
                    y[at(b, n, h, w, c)] = activated(op, kind->at(r, op, x, n, h, w, c));
}

/* The element of operand k at the result's multi-index (in dims, ONNX order for PLAIN). */
static int64_t operand_index(const struct ad_value *v, const struct ad_value *out,
                             const int64_t *index)
{
    if (out->format == AD_NHWC) /* index: n, h, w, c */
        return at(&v->box, v->box.n == 1 ? 0 : index[0], v->box.h == 1 ? 0 : index[1],
                  v->box.w == 1 ? 0 : index[2], v->box.c == 1 ? 0 : index[3]);
    int64_t offset = 0;
    for (int i = 0; i < v->rank; i++)
        offset = offset * v->dims[i] + (v->dims[i] == 1 ? 0 : index[i + out->rank - v->rank]);
    return offset;
}

static void run_elementwise(const struct run *r, const struct ad_op *op, float *y)
{
    const struct ad_value *out = &r->graph->values[op->output];
    const float *a = data_of(r, op->inputs[0]), *b = data_of(r, op->inputs[1]);
    int64_t nhwc[4] = {out->box.n, out->box.h, out->box.w, out->box.c};
    const int64_t *dims = out->format == AD_NHWC ? nhwc : out->dims;
    for (int64_t k = 0; k < elements(out); k++) {
        int64_t index[AD_MAX_RANK] = {0}, rest = k;
        for (int i = out->rank - 1; i >= 0; i--) {
            index[i] = rest % dims[i];
            rest /= dims[i];
        }
        double p = (double)a[operand_index(input_of(r, op, 0), out, index)];
        double q = (double)b[operand_index(input_of(r, op, 1), out, index)];
        y[k] = activated(op, interpreter_of(op->kind)->of_two(p, q));
    }
}

static void run_concat(const struct run *r, const struct ad_op *op, float *y)
{
    const struct ad_value *out = &r->graph->values[op->output];
    bool nhwc = out->format == AD_NHWC;
    int64_t rows = nhwc ? out->box.n * out->box.h * out->box.w : op->outer;
    int64_t width = elements(out) / rows, place = 0;
    for (int k = 0; k < op->ninputs; k++) {
        int64_t part = elements(input_of(r, op, k)) / rows;
        for (int64_t row = 0; row < rows; row++)
            for (int64_t i = 0; i < part; i++)
                y[row * width + place + i] = data_of(r, op->inputs[k])[row * part + i];
        place += part;
    }
}

static void run_softmax(const struct run *r, const struct ad_op *op, float *y)
{
    const struct ad_value *out = &r->graph->values[op->output];
    const float *x = data_of(r, op->inputs[0]);
    int64_t width = out->format == AD_NHWC ? out->box.c : op->inner;
    for (int64_t row = 0; row < elements(out) / width; row++, x += width, y += width) {
        double most = -INFINITY, sum = 0;
        for (int64_t i = 0; i < width; i++)
            most = (double)x[i] > most ? (double)x[i] : most;
        for (int64_t i = 0; i < width; i++)
            sum += exp((double)x[i] - most);
        for (int64_t i = 0; i < width; i++)
            y[i] = (float)(exp((double)x[i] - most) / sum);
    }
}

static void run_reduce(const struct run *r, const struct ad_op *op, float *y)
{
    const struct ad_value *in = input_of(r, op, 0);
    const float *x = data_of(r, op->inputs[0]);
    int64_t width = in->format == AD_NHWC ? in->box.c : op->inner;
    for (int64_t row = 0; row < elements(in) / width; row++, x += width) {
        double sum = 0, product = 1, most = -INFINITY, least = INFINITY;
        for (int64_t i = 0; i < width; i++) {
            sum += (double)x[i];
            product *= (double)x[i];
            most = fmax(most, (double)x[i]);
            least = fmin(least, (double)x[i]);
        }
        y[row] = activated(op, op->reduction == AD_REDUCE_SUM    ? sum
                               : op->reduction == AD_REDUCE_MEAN ? sum / (double)width
                               : op->reduction == AD_REDUCE_MAX  ? most
                               : op->reduction == AD_REDUCE_MIN  ? least
                                                                 : product);
    }
}

static void run_matmul(const struct run *r, const struct ad_op *op, float *y)
{
    const struct ad_value *out = &r->graph->values[op->output];
    const float *a = data_of(r, op->inputs[0]), *b = data_of(r, op->inputs[1]);
    int64_t rows = out->dims[out->rank - 2], columns = out->dims[out->rank - 1], k = op->inner;
    int64_t count = elements(out) / rows / columns;
    int64_t next_a = elements(input_of(r, op, 0)) / (rows * k) < count ? 0 : rows * k;
    int64_t next_b = elements(input_of(r, op, 1)) / (columns * k) < count ? 0 : columns * k;
    for (int64_t i = 0; i < elements(out); i++) {
        int64_t c = i % columns, row = i / columns % rows, matrix = i / columns / rows;
        double sum = 0;
        for (int64_t j = 0; j < k; j++)
            sum += (double)a[matrix * next_a + row * k + j] *
                   (double)b[matrix * next_b + j * columns + c];
        y[i] = activated(op, sum);
    }
}

static void run_permute(const struct run *r, const struct ad_op *op, float *y)
{
    const float *x = data_of(r, op->inputs[0]);
    int64_t count = elements(&r->graph->values[op->output]);
    for (int64_t k = 0; k < count; k++) {
        int64_t index[AD_MAX_RANK], rest = k, from = 0;
        for (int i = op->view_rank - 1; i >= 0; i--) {
            index[op->perm[i]] = rest % op->view_dims[op->perm[i]];
            rest /= op->view_dims[op->perm[i]];
        }
        for (int i = 0; i < op->view_rank; i++)
            from = from * op->view_dims[i] + index[i];
        y[k] = x[from];
    }
}

static void run_space_to_depth(const struct run *r, const struct ad_op *op, float *y)
{
    const struct ad_box *in = &input_of(r, op, 0)->box, *out = &r->graph->values[op->output].box;
    const float *x = data_of(r, op->inputs[0]);
    int64_t b = op->block;
    for (int64_t n = 0; n < in->n; n++)
        for (int64_t h = 0; h < in->h; h++)
            for (int64_t w = 0; w < in->w; w++)
                for (int64_t c = 0; c < in->c; c++) {
                    int64_t place = h % b * b + w % b;
                    int64_t k = op->channel_major ? c * b * b + place : place * in->c + c;
                    y[at(out, n, h / b, w / b, k)] = x[at(in, n, h, w, c)];
                }
}

static void run_depth_to_space(const struct run *r, const struct ad_op *op, float *y)
{
    const struct ad_box *in = &input_of(r, op, 0)->box, *out = &r->graph->values[op->output].box;
    const struct ad_window *b = &op->window;
    const float *x = data_of(r, op->inputs[0]);
    for (int64_t n = 0; n < out->n; n++)
        for (int64_t h = 0; h < out->h; h++)
            for (int64_t w = 0; w < out->w; w++)
                for (int64_t c = 0; c < out->c; c++) {
                    int64_t place = (h + b->pt) % b->sh * b->sw + (w + b->pl) % b->sw;
                    int64_t k = op->channel_major ? c * b->sh * b->sw + place : place * out->c + c;
                    float v = x[at(in, n, (h + b->pt) / b->sh, (w + b->pl) / b->sw, k)];
                    y[at(out, n, h, w, c)] = activated(op, (double)v);
                }
}

/* The numbers that are mixed into position x of one axis: indices and weights; returns how many. */
static int mixture(const struct ad_resampling *r, const struct ad_positions *p, int64_t size,
                   int64_t o, int64_t at[4], double weight[4])
{
    double x = (double)(p->step * o + p->start) / (double)p->unit, low = floor(x), sum = 0;
    bool lone = r->method < AD_METHOD_LINEAR;
    double nearest = r->method == AD_METHOD_CEIL         ? ceil(x)
                     : r->method == AD_METHOD_ROUND_DOWN ? ceil(x - 0.5)
                     : r->method == AD_METHOD_ROUND_UP   ? floor(x + 0.5)
                                                         : low;
    for (int k = 0; k < (lone ? 1 : 4); k++) {
        double i = lone ? nearest : low - 1 + k, d = fabs(x - i), a = (double)r->cubic;
        bool outside = i < 0 || i > (double)(size - 1);
        if (lone)
            weight[k] = 1;
        else if (r->method == AD_METHOD_LINEAR)
            weight[k] = fmax(0, 1 - d);
        else
            weight[k] = d <= 1 ? (a + 2) * d * d * d - (a + 3) * d * d + 1
                               : a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a;
        if (outside && r->edge == AD_EDGE_FILL)
            return 0;
        if (outside && r->method == AD_METHOD_CUBIC && r->exclude_outside)
            weight[k] = 0;
        sum += weight[k];
        if (outside && r->edge == AD_EDGE_REFLECT)
            i = i < 0 ? -i : 2 * (double)(size - 1) - i;
        at[k] = (int64_t)fmin(fmax(i, 0), (double)(size - 1));
    }
    for (int k = 0; k < 4 && !lone; k++)
        weight[k] /= sum;
    return lone ? 1 : 4;
}

static void run_resample(const struct run *r, const struct ad_op *op, float *y)
{
    const struct ad_box *in = &input_of(r, op, 0)->box, *out = &r->graph->values[op->output].box;
    const struct ad_resampling *how = &op->resampling;
    const float *x = data_of(r, op->inputs[0]);
    int64_t ah[4], aw[4], ac[4];
    double wh[4], ww[4], wc[4];
    for (int64_t i = 0; i < out->n * out->h * out->w * out->c; i++) {
        int64_t c = i % out->c, w = i / out->c % out->w, h = i / out->c / out->w % out->h;
        int nh = mixture(how, &how->axis[0], in->h, h, ah, wh);
        int nw = mixture(how, &how->axis[1], in->w, w, aw, ww);
        int nc = mixture(how, &how->axis[2], in->c, c, ac, wc);
        double sum = 0;
        for (int j = 0; j < nh; j++)
            for (int k = 0; k < nw; k++)
                for (int l = 0; l < nc; l++)
                    sum += wh[j] * ww[k] * wc[l] *
                           (double)x[at(in, i / out->c / out->w / out->h, ah[j], aw[k], ac[l])];
        y[i] = activated(op, nh > 0 && nw > 0 && nc > 0 ? sum : (double)how->fill);
    }
}

static void run_reshape(const struct run *r, const struct ad_op *op, float *y)
{
    memcpy(y, data_of(r, op->inputs[0]),
           (size_t)elements(&r->graph->values[op->output]) * sizeof *y);
}

/* By the same kernels as the engine: ONNX' own test data and the kernels' tests are what they are
 * held against. */
static void run_whole(const struct run *r, const struct ad_op *op, float *y)
{
    struct ad_whole_job call;
    struct adaps_error err;
    enum adaps_status status = ad_whole_job_init(&call, op, &err);
    if (status == ADAPS_OK) {
        for (int k = 0; k < op->ninputs; k++)
            call.inputs[k] = (struct ad_whole_operand){
                &r->graph->values[op->inputs[k]], (float *)(uintptr_t)data_of(r, op->inputs[k])};
        call.output = (struct ad_whole_operand){&r->graph->values[op->output], y};
        status = ad_whole_job_run(&call, &err);
        ad_whole_job_fini(&call);
    }
    if (status != ADAPS_OK) {
        fprintf(stderr, "reference: %s\n", err.message);
        abort();
    }
}

static const struct interpreter interpreters[AD_OP_COUNT] = {
    [AD_OP_CONV] = {.at = conv_at},
    [AD_OP_MAXPOOL] = {.at = pool_at},
    [AD_OP_AVGPOOL] = {.at = pool_at},
    [AD_OP_GAP] = {.at = gap_at},
    [AD_OP_FC] = {.at = fc_at},
    [AD_OP_LRN] = {.at = lrn_at},
    [AD_OP_UNARY] = {.at = same_at},
    [AD_OP_FOLD] = {.at = fold_at},
    [AD_OP_ADD] = {.of_two = add},
    [AD_OP_SUB] = {.of_two = sub},
    [AD_OP_MUL] = {.of_two = mul},
    [AD_OP_DIV] = {.of_two = quotient},
    [AD_OP_MIN] = {.of_two = fmin},
    [AD_OP_MAX] = {.of_two = fmax},
    [AD_OP_POW] = {.of_two = pow},
    [AD_OP_PRELU] = {.of_two = prelu},
    [AD_OP_CONCAT] = {.whole = run_concat},
    [AD_OP_SOFTMAX] = {.whole = run_softmax},
    [AD_OP_PERMUTE] = {.whole = run_permute},
    [AD_OP_RESHAPE] = {.whole = run_reshape},
    [AD_OP_SPACE_TO_DEPTH] = {.whole = run_space_to_depth},
    [AD_OP_DEPTH_TO_SPACE] = {.whole = run_depth_to_space},
    [AD_OP_RESAMPLE] = {.whole = run_resample},
    [AD_OP_REDUCE] = {.whole = run_reduce},
    [AD_OP_MATMUL] = {.whole = run_matmul},
    [AD_OP_WHOLE] = {.whole = run_whole},
};

static const struct interpreter *interpreter_of(enum ad_op_kind kind)
{
    return &interpreters[kind];
}

bool ad_reference_has(enum ad_op_kind kind)
{
    const struct interpreter *i = interpreter_of(kind);
    return (i->whole != NULL) + (i->at != NULL) + (i->of_two != NULL) == 1;
}

/* Quantised values are kept as what their bytes stand for. */
static void round_to_bytes(const struct ad_value *v, float *y)
{
    bool bytes = ad_value_is_quantised(v) && !ad_value_is_sums(v);
    for (int64_t i = 0; bytes && i < elements(v); i++)
        y[i] = (float)(ad_quantised_byte(v, y[i]) - v->zero) * v->scale;
}

static void run_op(const struct run *r, const struct ad_op *op, float *y)
{
    const struct interpreter *i = interpreter_of(op->kind);
    if (i->whole)
        i->whole(r, op, y);
    else if (i->at)
        run_by_element(r, op, y);
    else
        run_elementwise(r, op, y);
}

/* Between ONNX order and memory order. */
static void reorder(const struct ad_value *v, const float *from, float *to, bool to_memory)
{
    if (v->format == AD_PLAIN) {
        memcpy(to, from, (size_t)elements(v) * sizeof *to);
        return;
    }
    int64_t k = 0;
    for (int64_t n = 0; n < v->box.n; n++)
        for (int64_t c = 0; c < v->box.c; c++)
            for (int64_t h = 0; h < v->box.h; h++)
                for (int64_t w = 0; w < v->box.w; w++, k++)
                    to[to_memory ? at(&v->box, n, h, w, c) : k] =
                        from[to_memory ? k : at(&v->box, n, h, w, c)];
}

static enum adaps_status allocate(struct run *r, int v, struct adaps_error *err)
{
    size_t bytes = (size_t)elements(&r->graph->values[v]) * sizeof(float);
    r->data[v] = ad_alloc_aligned(bytes);
    return r->data[v] ? ADAPS_OK : ad_error_memory(err, r->graph->values[v].name, bytes);
}

static enum adaps_status take_inputs(struct run *r, const struct ad_tensor *inputs,
                                     struct adaps_error *err)
{
    for (int i = 0; i < r->graph->ninputs; i++) {
        const struct ad_value *v = &r->graph->values[r->graph->inputs[i]];
        bool fits = inputs[i].rank == v->rank && inputs[i].type == v->type;
        for (int k = 0; fits && k < v->rank; k++)
            fits = inputs[i].dims[k] == v->dims[k];
        if (!fits)
            return ad_error_set(err, ADAPS_EINPUT, "input '%s' has other dims", v->name);
        enum adaps_status status = allocate(r, r->graph->inputs[i], err);
        if (status != ADAPS_OK)
            return status;
        if (v->format == AD_PLAIN)
            ad_end_put(v, &inputs[i], r->data[r->graph->inputs[i]]);
        else
            reorder(v, inputs[i].data, r->data[r->graph->inputs[i]], true);
    }
    return ADAPS_OK;
}

/* n numbers in the place of a weight's words. NULL without memory, with the error filled. */
static float *replace(struct run *r, int weight, int64_t n, float **words, struct adaps_error *err)
{
    float *numbers = ad_alloc_aligned((size_t)n * sizeof *numbers);
    if (!numbers)
        ad_error_memory(err, r->graph->weights[weight].name, (size_t)n * sizeof *numbers);
    *words = r->weights[weight];
    if (numbers)
        r->weights[weight] = numbers;
    return numbers;
}

/* What a quantised constant stands for. */
static enum adaps_status read_bytes(struct run *r, const struct ad_value *v,
                                    struct adaps_error *err)
{
    float *words, *numbers = replace(r, v->constant, elements(v), &words, err);
    if (!numbers)
        return ADAPS_EINTERNAL;
    const uint8_t *bytes = (const uint8_t *)words;
    for (int64_t i = 0; i < elements(v); i++)
        numbers[i] =
            (float)((v->type == ADAPS_INT8 ? (int8_t)bytes[i] : bytes[i]) - v->zero) * v->scale;
    ad_free(words);
    return ADAPS_OK;
}

/* What the weights and bias of an op stand for. */
static enum adaps_status read_byte_weights(struct run *r, const struct ad_op *op,
                                           struct adaps_error *err)
{
    const struct ad_value *in = input_of(r, op, 0);
    const struct ad_weight *w = &r->graph->weights[op->weight];
    int64_t row = ad_op_is_conv(op)
                      ? (int64_t)op->window.kh * op->window.kw * (in->box.c / op->groups)
                      : in->box.h * in->box.w * in->box.c;
    float *words, *rows, *bias = NULL;
    float *numbers = replace(r, op->weight, w->rows * row, &words, err);
    if (numbers)
        bias = replace(r, op->bias, w->rows, &rows, err);
    if (!bias)
        return ADAPS_EINTERNAL;
    for (int64_t o = 0; o < w->rows; o++) {
        struct ad_quantised_row q;
        memcpy(&q, rows + o * AD_QUANTISED_ROW_WORDS, sizeof q);
        const int8_t *bytes = (const int8_t *)(words + o * w->row_elements);
        bias[o] = (float)q.bias * in->scale * q.scale;
        for (int64_t i = 0; i < row; i++)
            numbers[o * row + i] = (float)(bytes[i] - q.zero) * q.scale;
    }
    ad_free(words);
    ad_free(rows);
    return ADAPS_OK;
}

static enum adaps_status read_weights(struct run *r, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; i < r->graph->nweights && status == ADAPS_OK; i++) {
        const struct ad_weight *w = &r->graph->weights[i];
        size_t bytes = (size_t)(w->rows * w->row_elements) * sizeof **r->weights;
        r->weights[i] = ad_alloc_aligned(bytes);
        if (!r->weights[i])
            return ad_error_memory(err, w->name, bytes);
        status = ad_weight_read(w, 0, w->rows, r->weights[i], err);
    }
    for (int i = 0; i < r->graph->nvalues && status == ADAPS_OK; i++)
        if (r->graph->values[i].constant >= 0 && ad_value_is_quantised(&r->graph->values[i]))
            status = read_bytes(r, &r->graph->values[i], err);
    for (int i = 0; i < r->graph->nops && status == ADAPS_OK; i++)
        if (ad_kind_has(r->graph->ops[i].kind, AD_FIELD_WEIGHT) &&
            ad_value_is_quantised(input_of(r, &r->graph->ops[i], 0)))
            status = read_byte_weights(r, &r->graph->ops[i], err);
    return status;
}

enum adaps_status ad_reference_run(const struct ad_graph *graph, const struct ad_tensor *inputs,
                                   struct ad_tensor *outputs, struct adaps_error *err)
{
    struct run r = {.graph = graph,
                    .data = ad_calloc((size_t)graph->nvalues, sizeof *r.data),
                    .weights = ad_calloc((size_t)graph->nweights, sizeof *r.weights)};
    if (!r.data || !r.weights) {
        ad_free(r.data);
        ad_free(r.weights);
        return ad_error_memory(err, "values", (size_t)graph->nvalues * sizeof *r.data);
    }
    int done = 0;
    enum adaps_status status = read_weights(&r, err);
    if (status == ADAPS_OK)
        status = take_inputs(&r, inputs, err);
    for (int i = 0; i < graph->nops && status == ADAPS_OK; i++) {
        status = allocate(&r, graph->ops[i].output, err);
        if (status == ADAPS_OK) {
            run_op(&r, &graph->ops[i], r.data[graph->ops[i].output]);
            round_to_bytes(&graph->values[graph->ops[i].output], r.data[graph->ops[i].output]);
        }
    }
    while (done < graph->noutputs && status == ADAPS_OK) {
        const struct ad_value *v = &graph->values[graph->outputs[done]];
        if (v->format == AD_PLAIN)
            status = ad_end_take(v, r.data[graph->outputs[done]], &outputs[done], err);
        else
            status = ad_tensor_init(&outputs[done], v->rank, v->dims, err);
        if (status == ADAPS_OK && v->format != AD_PLAIN)
            reorder(v, r.data[graph->outputs[done]], outputs[done].data, false);
        done += status == ADAPS_OK;
    }
    for (int i = 0; status != ADAPS_OK && i < done; i++)
        ad_tensor_fini(&outputs[i]);
    for (int i = 0; i < graph->nvalues; i++)
        ad_free(r.data[i]);
    for (int i = 0; i < graph->nweights; i++)
        ad_free(r.weights[i]);
    ad_free(r.data);
    ad_free(r.weights);
    return status;
}
