/* Space-to-depth, both ways. An output channel is a number of three digits: block row, block column
 * and input channel, in the order that the op says. Output rows h0:h1 of block rows i0:i1 read the
 * input rows from h0 * block + i0 to (h1 - 1) * block + i1 - 1; columns likewise. */
#include "fusion/rules.h"

#include <string.h>

enum digit { BLOCK_ROW, BLOCK_COLUMN, CHANNEL };

struct digits {
    enum digit meaning[3]; /* the most significant first */
    int64_t radix[3];
};

static struct digits digits_of(const struct ad_graph *graph, const struct ad_op *op)
{
    int64_t block = op->block, channels = graph->values[op->inputs[0]].box.c;
    if (op->channel_major)
        return (struct digits){{CHANNEL, BLOCK_ROW, BLOCK_COLUMN}, {channels, block, block}};
    return (struct digits){{BLOCK_ROW, BLOCK_COLUMN, CHANNEL}, {block, block, channels}};
}

struct range {
    int64_t lo, hi;
};

/* The smallest and largest value of each digit among the numbers lo:hi, by meaning: once a higher
 * digit changes, the lower ones have run through all their values. */
static void digit_ranges(const struct digits *d, int64_t lo, int64_t hi, struct range range[3])
{
    bool changed = false;
    int64_t unit = d->radix[1] * d->radix[2], last = hi - 1;
    for (int k = 0; k < 3; k++) {
        int64_t first_digit = lo / unit, last_digit = last / unit;
        range[d->meaning[k]] =
            changed ? (struct range){0, d->radix[k]} : (struct range){first_digit, last_digit + 1};
        changed = changed || first_digit != last_digit;
        lo %= unit;
        last %= unit;
        if (k < 2)
            unit /= d->radix[k + 1];
    }
}

struct ad_region ad_need_space_to_depth(const struct ad_graph *graph, const struct ad_op *op, int k,
                                        struct ad_region out)
{
    (void)k;
    struct digits digits = digits_of(graph, op);
    struct range r[3];
    int32_t b = op->block;
    digit_ranges(&digits, out.c0, out.c1, r);
    return (struct ad_region){
        out.h0 * b + (int32_t)r[BLOCK_ROW].lo,
        (out.h1 - 1) * b + (int32_t)r[BLOCK_ROW].hi,
        out.w0 * b + (int32_t)r[BLOCK_COLUMN].lo,
        (out.w1 - 1) * b + (int32_t)r[BLOCK_COLUMN].hi,
        (int32_t)r[CHANNEL].lo,
        (int32_t)r[CHANNEL].hi,
    };
}

/* The outputs of one axis that read lo:hi only when the block's elements used are `used`. */
static void axis_yield(int32_t lo, int32_t hi, int32_t block, struct range used, int32_t *first,
                       int32_t *end)
{
    int64_t from = lo - used.lo, to = hi - used.hi; /* o * block is within from..to */
    *first = (int32_t)(from <= 0 ? 0 : (from + block - 1) / block);
    *end = to < 0 ? 0 : (int32_t)(to / block + 1);
}

/* Takes the outputs whose channels have their digits in these ranges, if they are more than the
 * best so far. The ranges make one interval of channels: single digits, one range, whole ones. */
static void consider(const struct ad_op *op, const struct digits *d, struct ad_region have,
                     const struct range r[3], struct ad_region *best)
{
    struct ad_region out;
    axis_yield(have.h0, have.h1, op->block, r[BLOCK_ROW], &out.h0, &out.h1);
    axis_yield(have.w0, have.w1, op->block, r[BLOCK_COLUMN], &out.w0, &out.w1);
    int64_t first = 0, last = 0;
    for (int k = 0; k < 3; k++) {
        first = first * d->radix[k] + r[d->meaning[k]].lo;
        last = last * d->radix[k] + r[d->meaning[k]].hi - 1;
    }
    out.c0 = (int32_t)first;
    out.c1 = (int32_t)(last + 1);
    if (ad_region_elements(out) > ad_region_elements(*best))
        *best = out;
}

/* An interval of channels that runs over a change of a digit reads all values of the lower ones, so
 * that it may as well begin and end with them: a range of one digit, with single ones before it and
 * whole ones after it, is all there is to try. */
struct ad_region ad_yield_space_to_depth(const struct ad_graph *graph, const struct ad_op *op,
                                         const struct ad_region *given)
{
    struct ad_region have = ad_region_present(graph, op, given, 0);
    struct digits d = digits_of(graph, op);
    struct ad_region best = ad_region_none();
    if (ad_region_empty(have))
        return best;
    int64_t b = op->block, channels = graph->values[op->inputs[0]].box.c;
    struct range present = {have.c0, have.c1}, one = {have.c0, have.c0 + 1}, whole = {0, b};
    if (op->channel_major)
        consider(op, &d, have, (struct range[]){whole, whole, present}, &best);
    struct range c = op->channel_major ? one : present;
    bool several = op->channel_major || have.c1 - have.c0 == channels; /* places in a block */
    for (int64_t i = 0; i < b; i++) {
        for (int64_t end = i + 1; end <= b && several; end++)
            consider(op, &d, have, (struct range[]){{i, end}, whole, c}, &best);
        for (int64_t j = 0; j < b; j++)
            for (int64_t end = j + 1; end <= (several ? b : j + 1); end++)
                consider(op, &d, have, (struct range[]){{i, i + 1}, {j, end}, c}, &best);
    }
    return best;
}

/* --- marks --- */

/* Digit `which` of an output channel. */
static int64_t digit_of(const struct digits *d, enum digit which, int64_t channel)
{
    int64_t rest = channel, digit = 0;
    for (int k = 2; k >= 0; k--) {
        digit = d->meaning[k] == which ? rest % d->radix[k] : digit;
        rest /= d->radix[k];
    }
    return digit;
}

/* The rows (columns) that the marked outputs and block rows (columns) stand for. */
static void mark_places(const uint8_t *out, const uint8_t *used, int32_t block, int64_t size,
                        uint8_t *in)
{
    for (int64_t i = 0; i < size; i++)
        in[i] = out[i / block] & used[i % block];
}

/* What is read is a product for those channels that are read at all places of a block which any of
 * them is read at. */
void ad_mark_space_to_depth(const struct ad_graph *graph, const struct ad_op *op,
                            const struct ad_marks *out, struct ad_marks *in)
{
    struct digits d = digits_of(graph, op);
    const struct ad_box *from = &ad_op_input(graph, op, 0)->box;
    const uint8_t *marks = out->along[AD_ALONG_C];
    int64_t channels = ad_op_output(graph, op)->box.c;
    uint8_t rows[AD_MAX_BLOCK] = {0}, columns[AD_MAX_BLOCK] = {0};
    for (int64_t k = 0; k < channels; k++) {
        rows[digit_of(&d, BLOCK_ROW, k)] |= marks[k];
        columns[digit_of(&d, BLOCK_COLUMN, k)] |= marks[k];
    }
    mark_places(out->along[AD_ALONG_H], rows, op->block, from->h, in->along[AD_ALONG_H]);
    mark_places(out->along[AD_ALONG_W], columns, op->block, from->w, in->along[AD_ALONG_W]);
    memset(in->along[AD_ALONG_C], 1, (size_t)from->c);
    for (int64_t k = 0; k < channels; k++)
        if (rows[digit_of(&d, BLOCK_ROW, k)] && columns[digit_of(&d, BLOCK_COLUMN, k)])
            in->along[AD_ALONG_C][digit_of(&d, CHANNEL, k)] &= marks[k];
}
