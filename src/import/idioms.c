/* What exporters write as several ops, found in a draft and replaced by the one op that it means:
 *
 * - clamp(x + c, 0, m) / m, and with a product by 1 / m: HardSigmoid
 * - x * HardSigmoid(x), x * clamp(x + c, 0, m) / m in either order: HardSwish
 * - x * Sigmoid(x): SiLU
 * - x * Tanh(Softplus(x)): Mish
 * - x * (Erf(x / sqrt(2)) + 1) / 2, the half at any of the factors: Gelu
 * - Reshape, Transpose, ..., Reshape: SpaceToDepth, DepthToSpace (pixel shuffle) or a shuffle of
 *   channels, when it moves the elements as that does
 * - x / (alpha * mean of x^2 over a window of channels + k)^beta, channels as a depth: LRN
 *
 * The last op of an idiom becomes the new one; the others stay for the ops that still read them.
 */
#include "import/internal.h"

#include <math.h>
#include <string.h>

struct search {
    struct ad_draft *draft;
    const int *uses;
    const struct ad_draft_op *last; /* the last op of what may be an idiom */
};

/* --- activations --- */

/* The op of this kind that makes v for one reader only, and may become one with the last. */
static const struct ad_draft_op *made_by(const struct search *s, int v, enum ad_draft_kind kind)
{
    const struct ad_draft_op *op = s->draft->values[v].producer;
    return op && op->kind == kind && s->uses[v] == 1 &&
                   ad_draft_joins(s->draft, op->node, s->last->node)
               ? op
               : NULL;
}

/* Whether v is a constant of one float. If it cannot be read, the op that needs it reports that. */
static bool is_scalar(const struct search *s, int v, double *number)
{
    const struct ad_onnx_tensor *t;
    struct adaps_error unused;
    if (!s->draft->values[v].constant || s->draft->values[v].elements != 1 ||
        ad_draft_tensor(s->draft, v, &t, &unused) != ADAPS_OK || !t->is_float)
        return false;
    *number = (double)t->f[0];
    return true;
}

static bool same_dims(const struct search *s, int a, int b)
{
    const struct ad_draft_value *p = &s->draft->values[a], *q = &s->draft->values[b];
    return p->rank == q->rank && memcmp(p->dims, q->dims, sizeof p->dims) == 0;
}

/* op is "x and a scalar", in either order when `commutes`. */
static bool with_scalar(const struct search *s, const struct ad_draft_op *op, bool commutes, int *x,
                        double *number)
{
    for (int k = 1; k >= (commutes ? 0 : 1); k--)
        if (is_scalar(s, op->inputs[k], number) && same_dims(s, op->inputs[1 - k], op->output)) {
            *x = op->inputs[1 - k];
            return true;
        }
    return false;
}

/* clamp(x + shift, 0, top), for one reader. */
struct ramp {
    int x;
    double shift, top;
};

static bool is_ramp(const struct search *s, int v, struct ramp *ramp)
{
    const struct ad_draft_op *clamp = made_by(s, v, AD_D_UNARY);
    if (!clamp || clamp->function != AD_FN_NONE || clamp->clamp_min != 0 ||
        !(clamp->clamp_max > 0) || !isfinite(clamp->clamp_max))
        return false;
    const struct ad_draft_op *sum = made_by(s, clamp->inputs[0], AD_D_ADD);
    ramp->top = (double)clamp->clamp_max;
    return sum && with_scalar(s, sum, true, &ramp->x, &ramp->shift);
}

static void become(struct ad_draft_op *op, enum ad_function function, int x, double alpha,
                   double beta)
{
    op->kind = AD_D_UNARY;
    op->type = ad_function_name(function);
    op->ninputs = 1;
    op->inputs[0] = x;
    op->function = function;
    op->alpha = (float)alpha + 0.0f;
    op->beta = (float)beta + 0.0f;
}

/* scale * ramp is a hard sigmoid when its top is 1, but for rounding. */
static bool becomes_one(const struct ramp *ramp, double scale)
{
    return fabs(ramp->top * scale - 1) < 1e-5 && isfinite((float)scale) &&
           isfinite((float)(scale * ramp->shift));
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-5;
}

/* v is Erf(x / sqrt(2)) + 1, for one reader. */
static bool is_gelu_gate(const struct search *s, int v, int *x)
{
    double number;
    const struct ad_draft_op *sum = made_by(s, v, AD_D_ADD);
    if (!sum || !with_scalar(s, sum, true, &v, &number) || !near(number, 1))
        return false;
    const struct ad_draft_op *error = made_by(s, v, AD_D_UNARY);
    if (!error || error->function != AD_FN_ERF)
        return false;
    v = error->inputs[0];
    const struct ad_draft_op *scaled = made_by(s, v, AD_D_DIV);
    if (scaled)
        return with_scalar(s, scaled, false, x, &number) && near(number, sqrt(2));
    scaled = made_by(s, v, AD_D_MUL);
    return scaled && with_scalar(s, scaled, true, x, &number) && near(number, sqrt(0.5));
}

/* v is half of *whole, for one reader. */
static bool is_half(const struct search *s, int v, int *whole)
{
    double number;
    const struct ad_draft_op *product = made_by(s, v, AD_D_MUL);
    return product && with_scalar(s, product, true, whole, &number) && near(number, 0.5);
}

/* Half a product of x and its gate, which is one of the two. */
static bool match_half(const struct search *s, struct ad_draft_op *op, const int *factors)
{
    int x;
    for (int k = 0; k < 2; k++)
        if (is_gelu_gate(s, factors[k], &x) && x == factors[1 - k]) {
            become(op, AD_FN_GELU, x, 0, 0);
            return true;
        }
    return false;
}

/* A ramp, or x times its ramp, scaled; or half a product. */
static bool match_scaled(const struct search *s, struct ad_draft_op *op)
{
    int v;
    double scale;
    struct ramp ramp;
    if (!with_scalar(s, op, op->kind == AD_D_MUL, &v, &scale))
        return false;
    if (op->kind == AD_D_DIV)
        scale = 1 / scale;
    if (is_ramp(s, v, &ramp)) {
        if (becomes_one(&ramp, scale))
            become(op, AD_FN_HARD_SIGMOID, ramp.x, scale, scale * ramp.shift);
        return true;
    }
    const struct ad_draft_op *product = made_by(s, v, AD_D_MUL);
    if (product && near(scale, 0.5) && match_half(s, op, product->inputs))
        return true;
    for (int k = 0; k < 2 && product; k++)
        if (is_ramp(s, product->inputs[k], &ramp) && ramp.x == product->inputs[1 - k] &&
            becomes_one(&ramp, scale)) {
            become(op, AD_FN_HARD_SWISH, ramp.x, scale, scale * ramp.shift);
            break;
        }
    return true;
}

/* x times a function of it. */
static void match_gated(const struct search *s, struct ad_draft_op *op)
{
    for (int k = 0; k < 2; k++) {
        int factors[2] = {op->inputs[0], op->inputs[1]};
        if (is_half(s, op->inputs[k], &factors[k]) && match_half(s, op, factors))
            return;
        const struct ad_draft_op *gate = made_by(s, op->inputs[k], AD_D_UNARY);
        const struct ad_draft_op *inner =
            gate && gate->function == AD_FN_TANH ? made_by(s, gate->inputs[0], AD_D_UNARY) : NULL;
        if (inner && inner->function == AD_FN_SOFTPLUS && inner->inputs[0] == op->inputs[1 - k]) {
            become(op, AD_FN_MISH, inner->inputs[0], 0, 0);
            return;
        }
        if (!gate || gate->inputs[0] != op->inputs[1 - k])
            continue;
        if (gate->function == AD_FN_SIGMOID)
            become(op, AD_FN_SILU, gate->inputs[0], 0, 0);
        else if (gate->function == AD_FN_HARD_SIGMOID)
            become(op, AD_FN_HARD_SWISH, gate->inputs[0], (double)gate->alpha, (double)gate->beta);
        else
            continue;
        return;
    }
}

/* --- normalisation over neighbouring channels --- */

/* Whether v is the squares of x as a depth, N x 1 x C x H x W, with zeros around it for a window of
 * `size` channels in the middle. */
static bool is_padded_square(const struct search *s, int v, int64_t size, int x)
{
    const struct ad_draft_value *in = &s->draft->values[x];
    const struct ad_draft_op *pad = made_by(s, v, AD_D_RESAMPLE);
    if (!pad || pad->edge != AD_EDGE_FILL || pad->fill != 0 || pad->method != AD_METHOD_FLOOR)
        return false;
    const int64_t want[] = {in->dims[0], 1, in->dims[1] + size - 1, in->dims[2], in->dims[3]};
    for (int i = 0; i < 5; i++) {
        const struct ad_positions *p = &pad->positions[i];
        if (p->step != 1 || p->unit != 1 || p->start != (i == 2 ? -(size - 1) / 2 : 0) ||
            s->draft->values[v].dims[i] != want[i])
            return false;
    }
    const struct ad_draft_op *reshape = made_by(s, pad->inputs[0], AD_D_RESHAPE);
    const struct ad_draft_op *square = reshape ? made_by(s, reshape->inputs[0], AD_D_MUL) : NULL;
    return square && s->draft->values[pad->inputs[0]].rank == 5 && square->inputs[0] == x &&
           square->inputs[1] == x;
}

/* v is (k + alpha * mean)^beta; *mean is of rank 4, for one reader. */
static bool is_lrn_divisor(const struct search *s, int v, struct ad_draft_op *lrn, int *mean)
{
    double alpha, beta, k;
    const struct ad_draft_op *power = made_by(s, v, AD_D_POW);
    if (!power || !with_scalar(s, power, false, &v, &beta))
        return false;
    const struct ad_draft_op *sum = made_by(s, v, AD_D_ADD);
    if (!sum || !with_scalar(s, sum, true, &v, &k))
        return false;
    const struct ad_draft_op *product = made_by(s, v, AD_D_MUL);
    if (!product || !with_scalar(s, product, true, mean, &alpha))
        return false;
    lrn->lrn_alpha = (float)alpha;
    lrn->lrn_beta = (float)beta;
    lrn->lrn_bias = (float)k;
    return isfinite(alpha) && isfinite(beta) && isfinite(k);
}

static void match_lrn(const struct search *s, struct ad_draft_op *op)
{
    int mean, x = op->inputs[0];
    struct ad_draft_op lrn = *op;
    if (s->draft->values[x].rank != 4 || !same_dims(s, x, op->output) ||
        !is_lrn_divisor(s, op->inputs[1], &lrn, &mean))
        return;
    const struct ad_draft_op *reshape = made_by(s, mean, AD_D_RESHAPE);
    const struct ad_draft_op *pool = reshape ? made_by(s, reshape->inputs[0], AD_D_AVGPOOL) : NULL;
    if (!pool || !same_dims(s, mean, x))
        return;
    const struct ad_depth *d = &pool->depth;
    const struct ad_window *w = &pool->window;
    if (d->k < 1 || d->k % 2 == 0 || d->s != 1 || d->front || d->back || w->kh != 1 || w->kw != 1 ||
        w->sh != 1 || w->sw != 1 || w->pt + w->pb + w->pl + w->pr != 0 ||
        !is_padded_square(s, pool->inputs[0], d->k, x))
        return;
    lrn.kind = AD_D_LRN;
    lrn.type = "LRN";
    lrn.ninputs = 1;
    lrn.lrn_size = d->k;
    *op = lrn;
}

/* --- blocks of pixels, groups of channels --- */

/* Which element of the source stands where: in order, `size` elements that are `stride` apart in
 * the source, each followed by all of the next factor. */
#define MAX_FACTORS 24
struct factor {
    int64_t size, stride;
};
struct order {
    struct factor factors[MAX_FACTORS];
    int count;
};

static bool append(struct order *order, struct factor f)
{
    struct factor *last = order->count > 0 ? &order->factors[order->count - 1] : NULL;
    if (f.size == 1)
        return true;
    if (last && last->stride == f.size * f.stride) {
        *last = (struct factor){last->size * f.size, f.stride};
        return true;
    }
    if (order->count == MAX_FACTORS)
        return false;
    order->factors[order->count++] = f;
    return true;
}

static bool same_order(const struct order *a, const struct order *b)
{
    return a->count == b->count &&
           memcmp(a->factors, b->factors, (size_t)a->count * sizeof *a->factors) == 0;
}

/* The factors of each dim, in groups; false when a dim's end is within a factor that it does not
 * divide. */
static bool split_by_dims(const struct order *order, const struct ad_draft_value *v,
                          struct order groups[AD_MAX_RANK])
{
    int next = 0;
    struct factor rest = {1, 0};
    for (int i = 0; i < v->rank; i++) {
        int64_t left = v->dims[i];
        groups[i].count = 0;
        while (left > 1) {
            if (rest.size == 1)
                rest = order->factors[next++];
            int64_t take = rest.size < left ? rest.size : left;
            if (rest.size % take != 0 || left % take != 0)
                return false;
            rest.size /= take;
            if (!append(&groups[i], (struct factor){take, rest.stride * rest.size}))
                return false;
            left /= take;
        }
    }
    return true;
}

static bool transpose(struct order *order, const struct ad_draft_value *in, const int32_t *perm)
{
    struct order groups[AD_MAX_RANK], out = {.count = 0};
    if (!split_by_dims(order, in, groups))
        return false;
    for (int i = 0; i < in->rank; i++)
        for (int k = 0; k < groups[perm[i]].count; k++)
            if (!append(&out, groups[perm[i]].factors[k]))
                return false;
    *order = out;
    return true;
}

/* The order of a space-to-depth of `in`. */
static struct order wanted_order(const struct ad_draft_value *in, int64_t b, bool channel_major)
{
    const int64_t *d = in->dims, area = d[2] * d[3];
    struct factor n = {d[0], d[1] * area}, c = {d[1], area};
    struct factor row = {b, d[3]}, column = {b, 1};
    struct factor h = {d[2] / b, b * d[3]}, w = {d[3] / b, b};
    const struct factor block_first[] = {n, row, column, c, h, w};
    const struct factor channel_first[] = {n, c, row, column, h, w};
    struct order order = {.count = 0};
    for (int i = 0; i < 6; i++)
        (void)append(&order, channel_major ? channel_first[i] : block_first[i]); /* has room */
    return order;
}

/* Of a depth-to-space. */
static struct order spread_order(const struct ad_draft_value *in, int64_t b, bool channel_major)
{
    const int64_t *d = in->dims, area = d[2] * d[3], channels = d[1] / (b * b);
    int64_t place = channel_major ? area : channels * area;
    struct factor n = {d[0], d[1] * area}, c = {channels, channel_major ? b * b * area : area};
    struct factor h = {d[2], d[3]}, i = {b, b * place}, w = {d[3], 1}, j = {b, place};
    const struct factor factors[] = {n, c, h, i, w, j};
    struct order order = {.count = 0};
    for (int k = 0; k < 6; k++)
        (void)append(&order, factors[k]); /* has room */
    return order;
}

/* Of a shuffle of channels in so many groups. */
static struct order shuffled_order(const struct ad_draft_value *in, int64_t groups)
{
    const int64_t *d = in->dims, area = d[2] * d[3], depth = d[1] / groups;
    const struct factor factors[] = {
        {d[0], d[1] * area}, {depth, area}, {groups, depth * area}, {area, 1}};
    struct order order = {.count = 0};
    for (int k = 0; k < 4; k++)
        (void)append(&order, factors[k]); /* has room */
    return order;
}

#define MAX_CHAIN 16

struct chain {
    struct ad_draft_op *ops[MAX_CHAIN]; /* reshapes and transposes, the last one first */
    int count;
};

/* How the chain orders the elements of value `in`, from which it starts. */
static bool order_of(const struct search *s, const struct chain *chain,
                     const struct ad_draft_value *in, struct order *order)
{
    *order = (struct order){.factors = {{in->elements, 1}}, .count = 1};
    for (int i = chain->count - 1; i >= 0; i--) {
        const struct ad_draft_op *op = chain->ops[i];
        if (op->kind == AD_D_TRANSPOSE &&
            !transpose(order, &s->draft->values[op->inputs[0]], op->perm))
            return false;
    }
    return true;
}

static bool become_move(struct ad_draft_op *op, enum ad_draft_kind kind, const char *type,
                        int source, int64_t block, bool channel_major)
{
    op->kind = kind;
    op->type = type;
    op->inputs[0] = source;
    op->block = (int32_t)block;
    op->channel_major = channel_major;
    return true;
}

/* Groups, if the order is that of a shuffle; else 0. */
static int64_t shuffled_groups(const struct ad_draft_value *in, const struct order *order)
{
    for (int64_t groups = 2; groups <= in->dims[1] / 2 && groups <= INT32_MAX; groups++) {
        if (in->dims[1] % groups != 0)
            continue;
        struct order wanted = shuffled_order(in, groups);
        if (same_order(order, &wanted))
            return groups;
    }
    return 0;
}

/* Whether the chain does to its source what one operator does; then op becomes that. */
static bool match_chain(const struct search *s, const struct chain *chain, struct ad_draft_op *op)
{
    int source = chain->ops[chain->count - 1]->inputs[0];
    const struct ad_draft_value *in = &s->draft->values[source];
    const struct ad_draft_value *out = &s->draft->values[op->output];
    struct order order;
    if (in->rank != 4 || in->dims[0] != out->dims[0])
        return false;
    bool folds = in->dims[2] >= out->dims[2];
    int64_t b = folds ? in->dims[2] / out->dims[2] : out->dims[2] / in->dims[2];
    const int64_t *large = folds ? in->dims : out->dims, *small = folds ? out->dims : in->dims;
    if (b > AD_MAX_BLOCK || large[2] != b * small[2] || large[3] != b * small[3] ||
        !order_of(s, chain, in, &order))
        return false; /* elements are as many: so channels fit */
    if (b == 1) {
        int64_t groups = shuffled_groups(in, &order);
        return groups > 0 && become_move(op, AD_D_SHUFFLE, "ChannelShuffle", source, groups, false);
    }
    for (int major = 0; major < 2; major++) {
        struct order wanted = folds ? wanted_order(in, b, major) : spread_order(in, b, major);
        if (same_order(&order, &wanted))
            return become_move(op, folds ? AD_D_SPACE_TO_DEPTH : AD_D_DEPTH_TO_SPACE,
                               folds ? "SpaceToDepth" : "DepthToSpace", source, b, major);
    }
    return false;
}

static void match_moves(const struct search *s, struct ad_draft_op *op)
{
    struct chain chain = {.count = 0};
    if (s->draft->values[op->output].rank != 4)
        return;
    for (struct ad_draft_op *at = op; at && chain.count < MAX_CHAIN;
         at = s->draft->values[at->inputs[0]].producer) {
        if ((at->kind != AD_D_RESHAPE && at->kind != AD_D_TRANSPOSE) ||
            (at != op && !ad_draft_joins(s->draft, at->node, op->node)))
            break;
        chain.ops[chain.count++] = at;
        if (chain.count > 1 && match_chain(s, &chain, op))
            break;
    }
}

void ad_draft_idioms(struct ad_draft *draft, const int *uses)
{
    struct search s = {.draft = draft, .uses = uses};
    for (size_t i = 0; i < draft->nops; i++) { /* inner idioms first */
        struct ad_draft_op *op = draft->ops[i];
        if (op->dead)
            continue;
        s.last = op;
        if (op->kind == AD_D_RESHAPE)
            match_moves(&s, op);
        else if ((op->kind == AD_D_MUL || op->kind == AD_D_DIV) && !match_scaled(&s, op))
            (op->kind == AD_D_MUL ? match_gated : match_lrn)(&s, op);
    }
}
