/* The region rules by kind: what an output region reads (need), and what input regions let one
 * compute (yield). Kinds with much to say have files of their own. */
#include "fusion/region.h"
#include "fusion/rules.h"

/* --- rules of a few lines --- */

static bool is_nhwc(const struct ad_graph *graph, const struct ad_op *op)
{
    return ad_op_output(graph, op)->format == AD_NHWC;
}

static bool never(const struct ad_graph *graph, const struct ad_op *op)
{
    (void)graph, (void)op;
    return false;
}

/* N x C features become N x C x 1 x 1 and the other way round: nothing moves. */
static bool stays_in_place(const struct ad_graph *graph, const struct ad_op *op)
{
    const struct ad_value *in = ad_op_input(graph, op, 0);
    return ad_value_splits(in) && ad_same_box(in, ad_op_output(graph, op));
}

static struct ad_region first_present(const struct ad_graph *graph, const struct ad_op *op,
                                      const struct ad_region *have)
{
    return ad_region_present(graph, op, have, 0);
}

static struct ad_region whole_input(const struct ad_graph *graph, const struct ad_op *op, int k)
{
    return ad_region_whole(ad_op_input(graph, op, k));
}

static struct ad_region need_same(const struct ad_graph *graph, const struct ad_op *op, int k,
                                  struct ad_region out)
{
    (void)graph, (void)op, (void)k;
    return out;
}

static struct ad_region need_all(const struct ad_graph *graph, const struct ad_op *op, int k,
                                 struct ad_region out)
{
    (void)out;
    return whole_input(graph, op, k);
}

static struct ad_region yield_all(const struct ad_graph *graph, const struct ad_op *op,
                                  const struct ad_region *have)
{
    for (int k = 0; k < op->ninputs; k++)
        if (!ad_region_equal(ad_region_present(graph, op, have, k), whole_input(graph, op, k)))
            return ad_region_none();
    return ad_region_whole(ad_op_output(graph, op));
}

/* All pixels of the same channels. */
static struct ad_region need_pixels(const struct ad_graph *graph, const struct ad_op *op, int k,
                                    struct ad_region out)
{
    struct ad_region in = whole_input(graph, op, k);
    in.c0 = out.c0;
    in.c1 = out.c1;
    return in;
}

static struct ad_region yield_pixels(const struct ad_graph *graph, const struct ad_op *op,
                                     const struct ad_region *have)
{
    struct ad_region in = first_present(graph, op, have);
    struct ad_region out = ad_region_whole(ad_op_output(graph, op));
    out.c0 = in.c0;
    out.c1 = in.c1;
    return ad_region_pixels(in) == ad_region_pixels(whole_input(graph, op, 0)) ? out
                                                                               : ad_region_none();
}

/* All channels of the same pixels. */
static struct ad_region need_channels(const struct ad_graph *graph, const struct ad_op *op, int k,
                                      struct ad_region out)
{
    struct ad_region whole = whole_input(graph, op, k);
    out.c0 = whole.c0;
    out.c1 = whole.c1;
    return out;
}

static struct ad_region yield_channels(const struct ad_graph *graph, const struct ad_op *op,
                                       const struct ad_region *have)
{
    struct ad_region in = first_present(graph, op, have), whole = whole_input(graph, op, 0);
    if (ad_region_empty(in) || in.c0 != whole.c0 || in.c1 != whole.c1)
        return ad_region_none();
    in.c1 = (int32_t)ad_op_output(graph, op)->box.c;
    return in;
}

static struct ad_region allow_channels(const struct ad_graph *graph, const struct ad_op *op,
                                       struct ad_region out)
{
    out.c0 = 0;
    out.c1 = (int32_t)ad_op_output(graph, op)->box.c;
    return out;
}

/* ONNX LRN: output c sums the squares of floor((size-1)/2) channels before it up to
 * ceil((size-1)/2) after it. */
static struct ad_region need_lrn(const struct ad_graph *graph, const struct ad_op *op, int k,
                                 struct ad_region out)
{
    int64_t c0 = (int64_t)out.c0 - (op->lrn_size - 1) / 2;
    int64_t c1 = (int64_t)out.c1 + op->lrn_size / 2, channels = ad_op_input(graph, op, k)->box.c;
    out.c0 = (int32_t)(c0 < 0 ? 0 : c0);
    out.c1 = (int32_t)(c1 > channels ? channels : c1);
    return out;
}

static struct ad_region yield_lrn(const struct ad_graph *graph, const struct ad_op *op,
                                  const struct ad_region *given)
{
    struct ad_region have = first_present(graph, op, given), whole = whole_input(graph, op, 0);
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

/* What output channel c of a fold reads first; the other one comes `inner` after it. Ascending. */
static int64_t folded(const struct ad_op *op, int64_t c)
{
    return c + c / op->inner * op->inner;
}

static struct ad_region need_fold(const struct ad_graph *graph, const struct ad_op *op, int k,
                                  struct ad_region out)
{
    (void)graph, (void)k;
    out.c0 = (int32_t)folded(op, out.c0);
    out.c1 = (int32_t)(folded(op, out.c1 - 1) + op->inner + 1);
    return out;
}

static struct ad_region yield_fold(const struct ad_graph *graph, const struct ad_op *op,
                                   const struct ad_region *given)
{
    struct ad_region have = first_present(graph, op, given);
    int32_t channels = (int32_t)ad_op_output(graph, op)->box.c, c0 = 0, c1 = channels;
    while (c0 < channels && folded(op, c0) < have.c0)
        c0++;
    while (c1 > c0 && folded(op, c1 - 1) + op->inner >= have.c1)
        c1--;
    if (ad_region_empty(have) || c0 >= c1)
        return ad_region_none();
    have.c0 = c0;
    have.c1 = c1;
    return have;
}

/* --- the table --- */

#define WINDOW(channels)                                                                           \
    {                                                                                              \
        .need = ad_need_window, .yield = ad_yield_window, .allow = ad_allow_window,                \
        .reads = {AD_READS_WINDOW, AD_READS_WINDOW, channels},                                     \
    }
#define BINARY                                                                                     \
    {                                                                                              \
        .splits = ad_splits_broadcast, .need = ad_need_broadcast, .yield = ad_yield_broadcast,     \
        .reads = {AD_READS_OWN, AD_READS_OWN, AD_READS_OWN},                                       \
    }

static const struct ad_region_rule rules[AD_OP_COUNT + 1] = {
    [AD_OP_CONV] = WINDOW(AD_READS_GROUP),
    [AD_OP_MAXPOOL] = WINDOW(AD_READS_OWN),
    [AD_OP_AVGPOOL] = WINDOW(AD_READS_OWN),
    [AD_OP_GAP] = {.need = need_pixels,
                   .yield = yield_pixels,
                   .reads = {AD_READS_ALL, AD_READS_ALL, AD_READS_OWN}},
    [AD_OP_FC] = {.need = need_all,
                  .yield = yield_all,
                  .reads = {AD_READS_ALL, AD_READS_ALL, AD_READS_ALL}},
    [AD_OP_ADD] = BINARY,
    [AD_OP_SUB] = BINARY,
    [AD_OP_MUL] = BINARY,
    [AD_OP_DIV] = BINARY,
    [AD_OP_MIN] = BINARY,
    [AD_OP_MAX] = BINARY,
    [AD_OP_POW] = BINARY,
    [AD_OP_PRELU] = BINARY,
    [AD_OP_UNARY] = {.splits = stays_in_place,
                     .need = need_same,
                     .yield = first_present,
                     .reads = {AD_READS_OWN, AD_READS_OWN, AD_READS_OWN}},
    [AD_OP_RESHAPE] = {.splits = stays_in_place,
                       .need = need_same,
                       .yield = first_present,
                       .reads = {AD_READS_OWN, AD_READS_OWN, AD_READS_OWN}},
    [AD_OP_CONCAT] = {.splits = is_nhwc,
                      .need = ad_need_concat,
                      .yield = ad_yield_concat,
                      .reads = {AD_READS_OWN, AD_READS_OWN, AD_READS_STRETCH}},
    [AD_OP_SOFTMAX] = {.splits = is_nhwc,
                       .need = need_channels,
                       .yield = yield_channels,
                       .allow = allow_channels,
                       .reads = {AD_READS_OWN, AD_READS_OWN, AD_READS_ALL}},
    [AD_OP_REDUCE] = {.splits = is_nhwc,
                      .need = need_channels,
                      .yield = yield_channels,
                      .reads = {AD_READS_OWN, AD_READS_OWN, AD_READS_ALL}},
    [AD_OP_MATMUL] = {.splits = never,
                      .need = need_all,
                      .yield = yield_all,
                      .reads = {AD_READS_ALL, AD_READS_ALL, AD_READS_ALL}},
    [AD_OP_WHOLE] = {.splits = never,
                     .need = need_all,
                     .yield = yield_all,
                     .reads = {AD_READS_ALL, AD_READS_ALL, AD_READS_ALL}},
    [AD_OP_PERMUTE] = {.splits = ad_op_shuffles_channels,
                       .need = need_channels,
                       .yield = yield_channels,
                       .allow = allow_channels,
                       .reads = {AD_READS_OWN, AD_READS_OWN, AD_READS_ALL}},
    [AD_OP_LRN] = {.need = need_lrn,
                   .yield = yield_lrn,
                   .reads = {AD_READS_OWN, AD_READS_OWN, AD_READS_NEAR}},
    [AD_OP_FOLD] = {.need = need_fold,
                    .yield = yield_fold,
                    .reads = {AD_READS_OWN, AD_READS_OWN, AD_READS_FOLD}},
    [AD_OP_RESAMPLE] = {.need = ad_need_resample,
                        .yield = ad_yield_resample,
                        .allow = ad_allow_resample,
                        .reads = {AD_READS_SAMPLE, AD_READS_SAMPLE, AD_READS_SAMPLE}},
    [AD_OP_SPACE_TO_DEPTH] = {.need = ad_need_space_to_depth,
                              .yield = ad_yield_space_to_depth,
                              .reads = {AD_READS_BLOCK, AD_READS_BLOCK, AD_READS_BLOCK},
                              .mark = ad_mark_space_to_depth},
    [AD_OP_DEPTH_TO_SPACE] = {.need = ad_need_depth_to_space,
                              .yield = ad_yield_depth_to_space,
                              .reads = {AD_READS_BLOCK, AD_READS_BLOCK, AD_READS_BLOCK},
                              .mark = ad_mark_depth_to_space},
};

const struct ad_region_rule *ad_region_rule(enum ad_op_kind kind)
{
    return &rules[(unsigned)kind < AD_OP_COUNT ? kind : AD_OP_COUNT];
}

/* --- what others ask --- */

static inline bool splits(const struct ad_graph *graph, const struct ad_op *op,
                          const struct ad_region_rule *rule)
{
    return rule->need && ad_value_splits(ad_op_output(graph, op)) &&
           (!rule->splits || rule->splits(graph, op));
}

bool ad_op_splits(const struct ad_graph *graph, const struct ad_op *op)
{
    return splits(graph, op, ad_region_rule(op->kind));
}

struct ad_region ad_region_present(const struct ad_graph *graph, const struct ad_op *op,
                                   const struct ad_region *have, int k)
{
    struct ad_region whole = whole_input(graph, op, k);
    return ad_op_input(graph, op, k)->constant >= 0 ? whole : ad_region_intersect(have[k], whole);
}

struct ad_region ad_need(const struct ad_graph *graph, const struct ad_op *op, int k,
                         struct ad_region out)
{
    const struct ad_region_rule *rule = ad_region_rule(op->kind);
    out = ad_region_intersect(out, ad_region_whole(ad_op_output(graph, op)));
    if (ad_region_empty(out))
        return ad_region_none();
    return splits(graph, op, rule) ? rule->need(graph, op, k, out) : whole_input(graph, op, k);
}

struct ad_region ad_yield(const struct ad_graph *graph, const struct ad_op *op,
                          const struct ad_region *have)
{
    const struct ad_region_rule *rule = ad_region_rule(op->kind);
    return splits(graph, op, rule) ? rule->yield(graph, op, have) : yield_all(graph, op, have);
}

struct ad_region ad_region_allow(const struct ad_graph *graph, const struct ad_op *op,
                                 struct ad_region out)
{
    const struct ad_region_rule *rule = ad_region_rule(op->kind);
    struct ad_region whole = ad_region_whole(ad_op_output(graph, op));
    out = ad_region_intersect(out, whole);
    if (ad_region_empty(out))
        return ad_region_none();
    if (!splits(graph, op, rule))
        return whole;
    return rule->allow ? rule->allow(graph, op, out) : out;
}

bool ad_region_allowed(const struct ad_graph *graph, const struct ad_op *op, struct ad_region out)
{
    return ad_region_equal(ad_region_allow(graph, op, out), out);
}

void ad_weight_slice(const struct ad_graph *graph, const struct ad_op *op, struct ad_region out,
                     int64_t *r0, int64_t *r1)
{
    out = ad_region_intersect(out, ad_region_whole(ad_op_output(graph, op)));
    bool sliced = op->weight >= 0 && !ad_region_empty(out);
    *r0 = sliced ? out.c0 : 0;
    *r1 = sliced ? out.c1 : 0;
}
