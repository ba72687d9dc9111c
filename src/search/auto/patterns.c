#include "search/auto/patterns.h"
#include "cost/cost.h"
#include "fusion/rules.h"

bool ad_pattern_pins(const struct ad_patterns *p, enum ad_pattern pattern, int op)
{
    bool window = ad_op_has_window(&p->context->problem->graph->ops[op]);
    switch (pattern) {
    case AD_PIN_ALL:
        return true;
    case AD_PIN_CUTS:
        return p->context->cut[op];
    case AD_PIN_WINDOWS:
        return window;
    case AD_PIN_SECOND:
        return window && p->windows[op] % 2 == 0;
    case AD_PIN_FOURTH:
        return window && p->windows[op] % 4 == 0;
    case AD_PIN_EIGHTH:
        return window && p->windows[op] % 8 == 0;
    case AD_PIN_READ:
        return p->read[op];
    case AD_PIN_THIN:
        return p->thinnest[op];
    case AD_PIN_THIN2:
        return p->thinnest[op] && p->thin[op] % 2 == 0;
    case AD_PIN_THIN4:
        return p->thinnest[op] && p->thin[op] % 4 == 0;
    default:
        return false;
    }
}

int ad_pattern_side(const struct ad_patterns *p, enum ad_stagger stagger, int op)
{
    const struct ad_op *what = &p->context->problem->graph->ops[op];
    bool wide = ad_op_is_conv(what) && ad_op_has_halo(what);
    switch (stagger) {
    case AD_STAGGER_SEGMENTS:
        return p->context->segment[op] % 2 ? -1 : 1;
    case AD_STAGGER_WINDOWS:
        return wide ? -1 : 1;
    case AD_STAGGER_REST:
        return wide ? 1 : -1;
    default:
        return 0;
    }
}

static void find_thin(struct ad_patterns *p)
{
    const struct ad_graph *graph = p->context->problem->graph;
    int windows = 0, thin = 0, thinnest = -1;
    int64_t least = INT64_MAX;
    for (int i = 0; i < graph->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        const struct ad_box *box = &graph->values[op->output].box;
        p->windows[i] = windows += ad_op_has_window(op);
        for (int k = 0; k < op->ninputs && ad_op_has_halo(op); k++)
            if (graph->values[op->inputs[k]].producer >= 0)
                p->read[graph->values[op->inputs[k]].producer] = true;
        if (ad_op_has_halo(op) && thinnest >= 0)
            p->thinnest[thinnest] = true;
        if (ad_op_has_halo(op) || box->w * box->c <= least) {
            thinnest = i;
            least = box->w * box->c;
        }
    }
    for (int i = 0; i < graph->nops; i++)
        p->thin[i] = thin += p->thinnest[i];
}

static int64_t height(const struct ad_graph *graph, int op)
{
    return graph->values[graph->ops[op].output].box.h;
}

/* By op: how many ops that make a map higher are on the way to it. A detector's heads and a
 * decoder's layers want other shares than the layers of the same height before them. */
static void count_enlargements(struct ad_patterns *p)
{
    const struct ad_graph *graph = p->context->problem->graph;
    for (int i = 0; i < graph->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        int64_t highest = 0;
        p->enlargements[i] = 0;
        for (int k = 0; k < op->ninputs; k++) {
            const struct ad_value *input = &graph->values[op->inputs[k]];
            int before = input->producer >= 0 ? p->enlargements[input->producer] : 0;
            highest = input->box.h > highest ? input->box.h : highest;
            if (before > p->enlargements[i])
                p->enlargements[i] = before;
        }
        /* what is spread from a single row is a gate or a mean, no map */
        p->enlargements[i] += highest > 1 && height(graph, i) > highest;
    }
}

/* Parts of about as much work, of the ops of a height. */
static int parts_of(const struct ad_patterns *p, double work)
{
    return 3 * work > 2 * p->all_work ? 3 : 3 * work > p->all_work ? 2 : 1;
}

static bool same_maps(const struct ad_patterns *p, int a, int b)
{
    const struct ad_graph *graph = p->context->problem->graph;
    return height(graph, a) == height(graph, b) && p->enlargements[a] == p->enlargements[b];
}

/* The ops whose maps are as op first's, from that on, which have so much work. Parts begin where
 * all paths meet. */
static void add_maps(struct ad_patterns *p, int first, double work)
{
    const struct ad_graph *graph = p->context->problem->graph;
    int parts = parts_of(p, work), part = 0, segment = -1;
    double done = 0;
    if (p->ngroups + parts > AD_MAX_GROUPS)
        parts = 1;
    for (int i = first; i < graph->nops; i++) {
        if (!same_maps(p, i, first))
            continue;
        part += p->context->segment[i] != segment && part + 1 < parts &&
                done * parts > work * (part + 1);
        segment = p->context->segment[i];
        p->group[i] = p->ngroups + part;
        done += p->work[i];
    }
    p->ngroups += part + 1;
}

/* Maps with most of the work are several groups; the last ones may have to share one. */
static void find_groups(struct ad_patterns *p)
{
    const struct ad_graph *graph = p->context->problem->graph;
    for (int i = 0; i < graph->nops; i++)
        p->group[i] = -1;
    for (int i = 0; i < graph->nops; i++) {
        double work = 0;
        if (p->group[i] >= 0)
            continue;
        if (p->ngroups == AD_MAX_GROUPS) {
            p->group[i] = AD_MAX_GROUPS - 1;
            continue;
        }
        for (int k = i; k < graph->nops; k++)
            work += same_maps(p, k, i) ? p->work[k] : 0;
        add_maps(p, i, work);
    }
}

/* How far each group is after each op; in a group without work, all ops are its end. */
static void find_done(struct ad_patterns *p)
{
    const struct ad_graph *graph = p->context->problem->graph;
    double all[AD_MAX_GROUPS] = {0}, done[AD_MAX_GROUPS] = {0};
    for (int i = 0; i < graph->nops; i++)
        all[p->group[i]] += p->work[i];
    for (int i = 0; i < graph->nops; i++) {
        int g = p->group[i];
        done[g] += p->work[i];
        p->done[i] = all[g] > 0 ? done[g] / all[g] : 1;
    }
}

enum adaps_status ad_patterns_init(struct ad_patterns *out, const struct ad_context *context,
                                   struct adaps_error *err)
{
    const struct ad_graph *graph = context->problem->graph;
    size_t n = (size_t)graph->nops + 1;
    *out = (struct ad_patterns){.context = context};
    out->windows = ad_calloc(n, sizeof *out->windows);
    out->thin = ad_calloc(n, sizeof *out->thin);
    out->read = ad_calloc(n, sizeof *out->read);
    out->thinnest = ad_calloc(n, sizeof *out->thinnest);
    out->work = ad_calloc(n, sizeof *out->work);
    out->group = ad_calloc(n, sizeof *out->group);
    out->enlargements = ad_calloc(n, sizeof *out->enlargements);
    out->done = ad_calloc(n, sizeof *out->done);
    if (!out->windows || !out->thin || !out->read || !out->thinnest || !out->work || !out->group ||
        !out->enlargements || !out->done)
        return ad_error_memory(err, "search", n);
    for (int i = 0; i < graph->nops; i++)
        out->all_work += out->work[i] = (double)ad_cost_macs(graph, &graph->ops[i]);
    find_thin(out);
    count_enlargements(out);
    find_groups(out);
    find_done(out);
    return ADAPS_OK;
}

void ad_patterns_fini(struct ad_patterns *patterns)
{
    ad_free(patterns->windows);
    ad_free(patterns->thin);
    ad_free(patterns->read);
    ad_free(patterns->thinnest);
    ad_free(patterns->work);
    ad_free(patterns->group);
    ad_free(patterns->enlargements);
    ad_free(patterns->done);
    *patterns = (struct ad_patterns){0};
}
