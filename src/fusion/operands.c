/* Operators with several operands: broadcasting and concatenation. */
#include "fusion/rules.h"

bool ad_splits_broadcast(const struct ad_graph *graph, const struct ad_op *op)
{
    const struct ad_value *out = ad_op_output(graph, op);
    if (out->format == AD_NHWC)
        return true;
    for (int k = 0; k < op->ninputs; k++) {
        const struct ad_value *in = ad_op_input(graph, op, k);
        if (in->rank != 2 || !ad_same_box(in, out))
            return false;
    }
    return out->rank == 2;
}

/* A dimension of 1 is read again for every element along it. */
struct ad_region ad_need_broadcast(const struct ad_graph *graph, const struct ad_op *op, int k,
                                   struct ad_region out)
{
    const struct ad_box *in = &ad_op_input(graph, op, k)->box, *to = &ad_op_output(graph, op)->box;
    if (in->h != to->h)
        out.h0 = 0, out.h1 = 1;
    if (in->w != to->w)
        out.w0 = 0, out.w1 = 1;
    if (in->c != to->c)
        out.c0 = 0, out.c1 = 1;
    return out;
}

static struct ad_region yield_of_operand(const struct ad_value *out_value,
                                         const struct ad_value *in, struct ad_region have)
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

struct ad_region ad_yield_broadcast(const struct ad_graph *graph, const struct ad_op *op,
                                    const struct ad_region *have)
{
    struct ad_region out = ad_region_whole(ad_op_output(graph, op));
    for (int k = 0; k < op->ninputs; k++)
        out = ad_region_intersect(out, yield_of_operand(ad_op_output(graph, op),
                                                        ad_op_input(graph, op, k),
                                                        ad_region_present(graph, op, have, k)));
    return out;
}

struct ad_region ad_need_concat(const struct ad_graph *graph, const struct ad_op *op, int k,
                                struct ad_region out)
{
    int64_t offset = 0, size = ad_op_input(graph, op, k)->box.c;
    for (int i = 0; i < k; i++)
        offset += ad_op_input(graph, op, i)->box.c;
    int64_t c0 = out.c0 - offset, c1 = out.c1 - offset;
    out.c0 = (int32_t)(c0 < 0 ? 0 : c0 > size ? size : c0);
    out.c1 = (int32_t)(c1 < 0 ? 0 : c1 > size ? size : c1);
    return ad_region_empty(out) ? ad_region_none() : out;
}

/* The best of all runs of operands: inside a run, every operand but the first reaches down to
 * channel 0, every one but the last up to its end. */
struct ad_region ad_yield_concat(const struct ad_graph *graph, const struct ad_op *op,
                                 const struct ad_region *have)
{
    struct ad_region best = ad_region_none();
    int64_t offset = 0;
    for (int i = 0; i < op->ninputs; offset += ad_op_input(graph, op, i)->box.c, i++) {
        struct ad_region run = ad_region_present(graph, op, have, i);
        int64_t end = ad_op_input(graph, op, i)->box.c;
        int64_t run_end = offset + run.c1;
        bool more = run.c1 == end;
        if (ad_region_empty(run))
            continue;
        run.c0 += (int32_t)offset;
        run.c1 = (int32_t)run_end;
        best = ad_region_larger(best, run);
        for (int k = i + 1; more && k < op->ninputs; k++) {
            struct ad_region next = ad_region_present(graph, op, have, k);
            if (ad_region_empty(next) || next.c0 != 0)
                break;
            more = next.c1 == ad_op_input(graph, op, k)->box.c;
            run_end += next.c1;
            next.c0 = run.c0;
            next.c1 = run.c1 = (int32_t)run_end;
            run = ad_region_intersect(run, next);
            if (ad_region_empty(run))
                break;
            best = ad_region_larger(best, run);
        }
    }
    return best;
}
