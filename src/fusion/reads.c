/* What sets of output positions read, axis by axis. */
#include "fusion/reads.h"
#include "fusion/resample.h"
#include "fusion/rules.h"

#include <string.h>

struct ad_reads ad_op_reads(const struct ad_graph *graph, const struct ad_op *op, int k)
{
    const struct ad_region_rule *rule = ad_region_rule(op->kind);
    const struct ad_box *in = &ad_op_input(graph, op, k)->box, *out = &ad_op_output(graph, op)->box;
    struct ad_reads reads;
    for (int axis = 0; axis < AD_ALONG; axis++) {
        enum ad_reading reading = rule->reads[axis];
        if (reading != AD_READS_ANY && !ad_op_splits(graph, op))
            reading = AD_READS_ALL;
        else if (reading == AD_READS_OWN && ad_box_along(in, axis) != ad_box_along(out, axis))
            reading = AD_READS_SINGLE;
        else if (reading == AD_READS_GROUP && op->groups == 1)
            reading = AD_READS_ALL;
        reads.along[axis] = reading;
    }
    return reads;
}

int64_t ad_marks_count(const uint8_t *marks, int64_t size)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < size; i++)
        sum += marks[i];
    return sum;
}

int64_t ad_marks_elements(const struct ad_marks *marks, const struct ad_box *box)
{
    int64_t product = 1;
    for (int axis = 0; axis < AD_ALONG; axis++)
        product *= ad_marks_count(marks->along[axis], ad_box_along(box, axis));
    return product;
}

/* --- marking --- */

/* One axis of an op: its sizes, what is marked of the output, and what is to be of the input. */
struct line {
    int axis;
    int64_t size, outputs;
    const uint8_t *out;
    uint8_t *in;
};

static void mark_window(const struct ad_axis *a, const struct line *l)
{
    for (int64_t o = 0; o < l->outputs; o++) {
        int64_t lo = o, hi = o + 1;
        ad_axis_widen(a, &lo, &hi);
        for (int64_t k = lo; l->out[o] && k < hi; k++)
            for (int64_t j = 0; j < a->taps; j++) {
                int64_t at = k * a->stride - a->pad + j * a->dilation;
                if (at >= 0 && at < l->size)
                    l->in[at] = 1;
            }
    }
}

static void mark_samples(const struct ad_resampling *how, const struct line *l)
{
    for (int64_t o = 0; o < l->outputs; o++) {
        int64_t lo = o, hi = o + 1;
        if (l->out[o] && ad_resample_need(how, l->axis, l->size, &lo, &hi))
            memset(l->in + lo, 1, (size_t)(hi - lo));
    }
}

/* By the rule for regions, one channel after the other. All of them read all, together. */
static void mark_channels(const struct ad_graph *graph, const struct ad_op *op, int k,
                          const struct line *l)
{
    if (ad_marks_count(l->out, l->outputs) == l->outputs) {
        memset(l->in, 1, (size_t)l->size);
        return;
    }
    for (int32_t c = 0; c < l->outputs; c++) {
        struct ad_region one = ad_region_whole(ad_op_output(graph, op));
        one.c0 = c;
        one.c1 = c + 1;
        if (!l->out[c])
            continue;
        struct ad_region in = ad_need(graph, op, k, one);
        memset(l->in + in.c0, 1, (size_t)(in.c1 - in.c0));
    }
}

/* The pairs of a fold. */
static void mark_pairs(int64_t inner, const struct line *l)
{
    for (int64_t o = 0; o < l->outputs; o++) {
        int64_t first = o + o / inner * inner;
        if (l->out[o])
            l->in[first] = l->in[first + inner] = 1;
    }
}

static void mark_line(const struct ad_graph *graph, const struct ad_op *op, int k,
                      enum ad_reading reading, const struct line *l)
{
    struct ad_axis window;
    memset(l->in, 0, (size_t)l->size);
    switch (reading) {
    case AD_READS_OWN:
        memcpy(l->in, l->out, (size_t)l->size);
        break;
    case AD_READS_ALL:
    case AD_READS_SINGLE:
        if (memchr(l->out, 1, (size_t)l->outputs))
            memset(l->in, 1, (size_t)l->size);
        break;
    case AD_READS_WINDOW:
        window = ad_op_axis(graph, op, l->axis);
        mark_window(&window, l);
        break;
    case AD_READS_SAMPLE:
        mark_samples(&op->resampling, l);
        break;
    case AD_READS_FOLD:
        mark_pairs(op->inner, l);
        break;
    case AD_READS_NEAR:
    case AD_READS_GROUP:
    case AD_READS_STRETCH:
        mark_channels(graph, op, k, l);
        break;
    case AD_READS_ANY:
    case AD_READS_BLOCK:
        break;
    }
}

void ad_reads_mark(const struct ad_graph *graph, const struct ad_op *op, int k,
                   const struct ad_reads *reads, const struct ad_marks *out, struct ad_marks *in)
{
    const struct ad_region_rule *rule = ad_region_rule(op->kind);
    const struct ad_box *from = &ad_op_input(graph, op, k)->box;
    const struct ad_box *to = &ad_op_output(graph, op)->box;
    bool known = ad_reads_known(reads);
    if (known && reads->along[AD_ALONG_H] == AD_READS_BLOCK) {
        rule->mark(graph, op, out, in);
        return;
    }
    for (int axis = 0; axis < AD_ALONG; axis++) {
        struct line line = {.axis = axis,
                            .size = ad_box_along(from, axis),
                            .outputs = ad_box_along(to, axis),
                            .out = out->along[axis],
                            .in = in->along[axis]};
        mark_line(graph, op, k, known ? reads->along[axis] : AD_READS_ANY, &line);
    }
}

/* --- shares --- */

/* Marked outputs of those that are made of operand k. */
static int64_t stretch_count(const struct ad_graph *graph, const struct ad_op *op, int k,
                             const uint8_t *out)
{
    for (int i = 0; i < k; i++)
        out += ad_op_input(graph, op, i)->box.c;
    return ad_marks_count(out, ad_op_input(graph, op, k)->box.c);
}

int64_t ad_reads_least(const struct ad_graph *graph, const struct ad_op *op, int k,
                       const struct ad_reads *reads, const struct ad_marks *out)
{
    const struct ad_box *in = &ad_op_input(graph, op, k)->box, *to = &ad_op_output(graph, op)->box;
    int64_t product = in->n;
    if (in->n != to->n && !ad_reads_whole(reads))
        return 0;
    for (int axis = 0; axis < AD_ALONG; axis++)
        switch (reads->along[axis]) {
        case AD_READS_ALL:
            product *= ad_box_along(in, axis);
            break;
        case AD_READS_OWN:
        case AD_READS_NEAR:
        case AD_READS_BLOCK:
            product *= ad_marks_count(out->along[axis], ad_box_along(to, axis));
            break;
        case AD_READS_FOLD:
            product *= 2 * ad_marks_count(out->along[axis], ad_box_along(to, axis));
            break;
        case AD_READS_STRETCH:
            product *= stretch_count(graph, op, k, out->along[axis]);
            break;
        case AD_READS_ANY:
        case AD_READS_SINGLE: /* every part may read the same */
        case AD_READS_WINDOW: /* a part at the edge may read little */
        case AD_READS_SAMPLE:
        case AD_READS_GROUP:
            return 0;
        }
    return product;
}

/* Whether any share of the marked outputs reads at least that share of the marked inputs along an
 * axis. What windows read are intervals, so by Hall's theorem it does if every run of outputs does:
 * at each end of a run, the worst start is known. */
static bool window_keeps_share(const struct ad_axis *a, const uint8_t *out, const uint8_t *in)
{
    int64_t outputs = ad_marks_count(out, a->outputs), inputs = ad_marks_count(in, a->size);
    int64_t index = 0, lo = 0, hi = 0, before_lo = 0, before_hi = 0, worst = INT64_MIN;
    if (a->dilation > 1 && a->taps > 1) /* not intervals; a tap at the output's place is enough */
        return a->stride == 1 && a->size == a->outputs && a->pad % a->dilation == 0 &&
               a->pad / a->dilation < a->taps && memcmp(in, out, (size_t)a->size) == 0;
    for (int64_t o = 0; o < a->outputs; o++) {
        int64_t first = o, last = o + 1;
        if (!out[o])
            continue;
        ad_axis_widen(a, &first, &last);
        int64_t start = first * a->stride - a->pad, end = (last - 1) * a->stride - a->pad + a->taps;
        for (; lo < start && lo < a->size; lo++)
            before_lo += in[lo];
        for (; hi < end && hi < a->size; hi++)
            before_hi += in[hi];
        int64_t from = before_lo * outputs - index * inputs;
        worst = from > worst ? from : worst;
        index++;
        if (before_hi * outputs - index * inputs < worst)
            return false;
    }
    return true;
}

static bool line_keeps_share(const struct ad_graph *graph, const struct ad_op *op, int k,
                             enum ad_reading reading, int axis, const struct ad_marks *out,
                             const struct ad_marks *in)
{
    const struct ad_box *to = &ad_op_output(graph, op)->box;
    int64_t outputs = ad_box_along(to, axis);
    struct ad_axis window;
    switch (reading) {
    case AD_READS_OWN:
    case AD_READS_ALL:
    case AD_READS_SINGLE:
    case AD_READS_FOLD:
        return true;
    case AD_READS_NEAR:
    case AD_READS_GROUP:
    case AD_READS_STRETCH: /* of the outputs that are made of this operand */
        return ad_marks_count(out->along[axis], outputs) == outputs;
    case AD_READS_WINDOW:
        window = ad_op_axis(graph, op, axis);
        return window_keeps_share(&window, out->along[axis], in->along[axis]);
    case AD_READS_BLOCK:
        return ad_marks_elements(out, to) == ad_marks_elements(in, &ad_op_input(graph, op, k)->box);
    case AD_READS_ANY:
    case AD_READS_SAMPLE:
        return false;
    }
    return false;
}

bool ad_reads_keep_share(const struct ad_graph *graph, const struct ad_op *op, int k,
                         const struct ad_reads *reads, const struct ad_marks *out,
                         const struct ad_marks *in)
{
    for (int axis = 0; axis < AD_ALONG; axis++)
        if (!line_keeps_share(graph, op, k, reads->along[axis], axis, out, in))
            return false;
    return true;
}
