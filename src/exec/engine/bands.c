#include "exec/engine/bands.h"
#include "exec/engine/internal.h"
#include "ir/quantised.h"

#include <string.h>

/* Tasks of a chain: 1x1, depthwise, 1x1, the addition after it. */
#define MOST 4

/* What passes is to be more than so many caches: the rest gains less than bands cost. */
#define LEAST 2

/* What passes in a band is to be so small a part of the cache: weights and ends are there, too. */
#define SHARE 2

/* A band has so many times the rows that it computes again of the layer before. */
#define REPEAT 4

/* Tasks first, first + 1, ... of a step, each of which reads what the one before it makes. */
struct row_chain {
    int first, count;
    int64_t bytes;          /* that pass between them */
    bool passes[MOST];      /* what the task makes */
    struct ad_region whole; /* of the last one */
};

struct band_finder {
    const struct ad_graph *graph;
    const struct ad_program *program;
    size_t cache;
    int *uses;  /* by value: tasks and messages that read it, messages that bring it, results */
    int *makes; /* by value: tasks that make it */
    struct ad_row_bands *out;
    size_t room;
};

static const struct ad_op *op_of(const struct band_finder *f, int t)
{
    return &f->graph->ops[f->program->tasks[t].op];
}

static void count_uses(struct band_finder *f)
{
    for (int i = 0; i < f->graph->noutputs; i++)
        f->uses[f->graph->outputs[i]]++;
    for (int i = 0; i < f->program->nsteps; i++)
        if (f->program->steps[i].kind != AD_STEP_COMPUTE)
            f->uses[f->program->steps[i].value]++;
    for (int t = 0; t < f->program->ntasks; t++) {
        f->makes[op_of(f, t)->output]++;
        for (int k = 0; k < op_of(f, t)->ninputs; k++)
            f->uses[op_of(f, t)->inputs[k]]++;
    }
}

/* --- chains --- */

static bool is_pixelwise(const struct band_finder *f, const struct ad_op *op)
{
    const struct ad_window *w = &op->window;
    return ad_op_is_conv(op) && !ad_op_is_quantised(f->graph, op) && op->groups == 1 &&
           op->winograd == 0 && w->kh == 1 && w->kw == 1 && w->sh == 1 && w->sw == 1;
}

static bool is_depthwise(const struct band_finder *f, const struct ad_op *op)
{
    return ad_op_is_depthwise(f->graph, op) && !ad_op_is_quantised(f->graph, op);
}

/* Whether what task t makes is there for the next one only, which reads it all. */
static bool feeds_next(const struct band_finder *f, int t)
{
    const struct ad_task *task = &f->program->tasks[t], *next = task + 1;
    int value = op_of(f, t)->output;
    return op_of(f, t + 1)->inputs[0] == value && f->uses[value] == 1 && f->makes[value] == 1 &&
           ad_region_contains(task->region, ad_need(f->graph, op_of(f, t + 1), 0, next->region));
}

/* The addition of a residual after task t. */
static bool is_sum(const struct band_finder *f, int t)
{
    const struct ad_task *task = &f->program->tasks[t];
    const struct ad_op *sum = op_of(f, t + 1);
    int value = op_of(f, t)->output;
    return ad_operator_of(sum->kind)->residual && sum->ninputs == 2 && f->uses[value] == 1 &&
           f->makes[value] == 1 && (sum->inputs[0] == value) != (sum->inputs[1] == value) &&
           ad_region_equal(task->region, task[1].region);
}

/* What the chain's last task makes passes to the next one, which is of the chain, too. */
static void pass(const struct band_finder *f, struct row_chain *c)
{
    int t = c->first + c->count - 1;
    c->passes[c->count - 1] = true;
    c->bytes += f->graph->values[op_of(f, t)->output].box.n *
                ad_region_elements(f->program->tasks[t].region) * (int64_t)sizeof(float);
    c->count++;
}

/* The chain that begins with task t, of those before `end`; false: none does. */
static bool find_chain(struct band_finder *f, int t, int end, struct row_chain *c)
{
    *c = (struct row_chain){.first = t, .count = 1};
    if (is_pixelwise(f, op_of(f, t))) {
        if (t + 1 == end || !is_depthwise(f, op_of(f, t + 1)) || !feeds_next(f, t))
            return false;
        pass(f, c);
    } else if (!is_depthwise(f, op_of(f, t))) {
        return false;
    }
    int last = t + c->count - 1;
    if (last + 1 < end && is_pixelwise(f, op_of(f, last + 1)) && feeds_next(f, last)) {
        pass(f, c);
        last++;
        if (last + 1 < end && is_sum(f, last))
            c->count++;
    }
    c->whole = f->program->tasks[t + c->count - 1].region;
    return c->bytes > 0;
}

/* --- bands --- */

/* Rows of a band of the last task; 0: the chain stays whole. */
static int32_t band_rows(const struct band_finder *f, const struct row_chain *c)
{
    int32_t rows = c->whole.h1 - c->whole.h0, least = 1;
    for (int k = 0; k < c->count; k++) {
        const struct ad_region *r = &f->program->tasks[c->first + k].region;
        const struct ad_window *w = &op_of(f, c->first + k)->window;
        if (r->w1 - r->w0 < 2) /* XNNPACK's convolutions: no single pixels (fusion/rules.c) */
            return 0;
        int32_t again = (w->kh - 1) * w->dh + 1 - w->sh;
        if (k > 0 && is_depthwise(f, op_of(f, c->first + k)) && again > 0)
            least = (REPEAT * again + w->sh - 1) / w->sh;
    }
    if ((double)c->bytes <= LEAST * (double)f->cache)
        return 0;
    double bands = (double)c->bytes * SHARE / (double)f->cache;
    int32_t wanted = (int32_t)(rows / bands);
    wanted = wanted > least ? wanted : least;
    return 2 * (int64_t)wanted <= rows ? wanted : 0;
}

static bool add_task(struct band_finder *f, int op, struct ad_region region)
{
    struct ad_program *p = &f->out->program;
    if (p->ntasks == INT32_MAX ||
        !ad_grow(&p->tasks, (size_t)p->ntasks, &f->room, sizeof *p->tasks))
        return false;
    p->tasks[p->ntasks++] = (struct ad_task){op, region};
    return true;
}

/* Of what the task before task t makes, the rows that t reads for a region; all columns. */
static struct ad_region read_rows(const struct band_finder *f, int t, struct ad_region region)
{
    struct ad_region need = ad_need(f->graph, op_of(f, t), 0, region);
    struct ad_region rows = f->program->tasks[t - 1].region;
    rows.h0 = need.h0;
    rows.h1 = need.h1;
    return ad_region_empty(need) ? need : rows;
}

/* All bands, each with the tasks of the chain. */
static bool add_bands(struct band_finder *f, const struct row_chain *c, int32_t rows)
{
    int last = c->count - 1;
    for (int k = 0; k < c->count; k++)
        f->out->passing[op_of(f, c->first + k)->output] |= c->passes[k];
    for (int32_t h = c->whole.h0; h < c->whole.h1; h += rows) {
        struct ad_region regions[MOST];
        regions[last] = c->whole;
        regions[last].h0 = h;
        regions[last].h1 = c->whole.h1 - h < rows ? c->whole.h1 : h + rows;
        for (int k = last; k > 0; k--)
            regions[k - 1] = c->passes[k - 1] ? read_rows(f, c->first + k, regions[k])
                                              : regions[k]; /* of the addition */
        for (int k = 0; k < c->count; k++)
            if (!add_task(f, f->program->tasks[c->first + k].op, regions[k]))
                return false;
    }
    return true;
}

static bool add_step(struct band_finder *f, const struct ad_step *step)
{
    struct ad_program *p = &f->out->program;
    struct ad_step *to = &p->steps[p->nsteps++];
    *to = *step;
    if (step->kind != AD_STEP_COMPUTE)
        return true;
    to->first_task = p->ntasks;
    for (int t = step->first_task, end = t + step->ntasks; t < end;) {
        struct row_chain chain;
        int32_t rows = find_chain(f, t, end, &chain) ? band_rows(f, &chain) : 0;
        if (rows > 0 ? !add_bands(f, &chain, rows)
                     : !add_task(f, f->program->tasks[t].op, f->program->tasks[t].region))
            return false;
        t += rows > 0 ? chain.count : 1;
    }
    to->ntasks = p->ntasks - to->first_task;
    return true;
}

enum adaps_status ad_row_bands_find(const struct ad_graph *graph, const struct ad_program *program,
                                    size_t cache, struct ad_row_bands *out, struct adaps_error *err)
{
    size_t nvalues = (size_t)graph->nvalues, nsteps = (size_t)program->nsteps;
    *out = (struct ad_row_bands){.program.steps = ad_calloc(nsteps, sizeof *out->program.steps),
                                 .passing = ad_calloc(nvalues, sizeof *out->passing)};
    struct band_finder f = {.graph = graph,
                            .program = program,
                            .cache = cache,
                            .uses = ad_calloc(nvalues, sizeof *f.uses),
                            .makes = ad_calloc(nvalues, sizeof *f.makes),
                            .out = out};
    bool ok = out->program.steps && out->passing && f.uses && f.makes;
    if (ok)
        count_uses(&f);
    for (int i = 0; ok && i < program->nsteps; i++)
        ok = add_step(&f, &program->steps[i]);
    ad_free(f.uses);
    ad_free(f.makes);
    if (ok)
        return ADAPS_OK;
    ad_row_bands_fini(out);
    return ad_error_memory(err, "program", nsteps * sizeof *out->program.steps);
}

void ad_row_bands_fini(struct ad_row_bands *bands)
{
    ad_free(bands->program.steps);
    ad_free(bands->program.tasks);
    ad_free(bands->passing);
    *bands = (struct ad_row_bands){0};
}
