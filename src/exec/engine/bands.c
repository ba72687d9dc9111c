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

/* What passes is computed again where pieces of one map meet: at most one in so many of it. */
#define AGAIN 8

/* Tasks first, first + 1, ... of a step, each of which reads what the one before it makes. */
struct row_chain {
    int first, count;
    int64_t bytes;          /* that pass between them */
    bool passes[MOST];      /* what the task makes */
    struct ad_region whole; /* of the last one */
    int32_t rows;           /* of a band; 0: not cut into bands */
};

/* A value and the tasks about it. It can pass when every task that makes it is followed by one that
 * reads it, and nobody else reads, sends or receives it. */
struct band_value {
    int uses;  /* tasks and messages that read it, messages that bring it, results */
    int makes; /* tasks that make it */
    bool able; /* it may pass, as far as known */
    bool passes;
    int passing;         /* times that it passes in the chains found */
    int64_t made, taken; /* elements of it that these make, and read */
};

struct band_finder {
    const struct ad_graph *graph;
    const struct ad_program *program;
    size_t cache;
    struct band_value *values;
    struct row_chain *chains; /* in the order of their tasks */
    size_t nchains, chain_room;
    struct ad_row_bands *out;
    size_t room;
};

static const struct ad_op *op_of(const struct band_finder *f, int t)
{
    return &f->graph->ops[f->program->tasks[t].op];
}

/* The value that task t makes. */
static struct band_value *made_by(const struct band_finder *f, int t)
{
    return &f->values[op_of(f, t)->output];
}

static void count_uses(struct band_finder *f)
{
    struct band_value *values = f->values;
    for (int i = 0; i < f->graph->noutputs; i++)
        values[f->graph->outputs[i]].uses++;
    for (int i = 0; i < f->program->nsteps; i++)
        if (f->program->steps[i].kind != AD_STEP_COMPUTE)
            values[f->program->steps[i].value].uses++;
    for (int t = 0; t < f->program->ntasks; t++) {
        made_by(f, t)->makes++;
        for (int k = 0; k < op_of(f, t)->ninputs; k++)
            values[op_of(f, t)->inputs[k]].uses++;
    }
    for (int v = 0; v < f->graph->nvalues; v++)
        values[v].able = values[v].makes > 0 && values[v].makes == values[v].uses;
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

/* XNNPACK's convolutions take no single pixels (fusion/rules.c). */
static bool is_wide(const struct ad_task *task)
{
    return task->region.w1 - task->region.w0 > 1;
}

/* Of what task t makes, what the next one reads. */
static struct ad_region taken_by_next(const struct band_finder *f, int t)
{
    return ad_need(f->graph, op_of(f, t + 1), 0, f->program->tasks[t + 1].region);
}

/* Whether what task t makes can pass to the next one. Rows that the next one reads and others have
 * made before are made once more. */
static bool feeds_next(const struct band_finder *f, int t)
{
    const struct ad_task *task = &f->program->tasks[t];
    int value = op_of(f, t)->output;
    struct ad_region columns = taken_by_next(f, t);
    columns.h0 = task->region.h0;
    columns.h1 = task->region.h1;
    return op_of(f, t + 1)->inputs[0] == value && made_by(f, t)->able && is_wide(task) &&
           is_wide(task + 1) && ad_region_contains(task->region, columns);
}

/* The addition of a residual after task t. */
static bool is_sum(const struct band_finder *f, int t)
{
    const struct ad_task *task = &f->program->tasks[t];
    const struct ad_op *sum = op_of(f, t + 1);
    int value = op_of(f, t)->output;
    return ad_operator_of(sum->kind)->residual && sum->ninputs == 2 && made_by(f, t)->able &&
           (sum->inputs[0] == value) != (sum->inputs[1] == value) &&
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

/* All chains, as far as values are able to pass. */
static bool find_chains(struct band_finder *f)
{
    f->nchains = 0;
    for (int i = 0; i < f->program->nsteps; i++) {
        const struct ad_step *step = &f->program->steps[i];
        if (step->kind != AD_STEP_COMPUTE)
            continue;
        for (int t = step->first_task, end = t + step->ntasks; t < end;) {
            struct row_chain chain;
            bool found = find_chain(f, t, end, &chain);
            if (found && !ad_grow(&f->chains, f->nchains, &f->chain_room, sizeof *f->chains))
                return false;
            if (found)
                f->chains[f->nchains++] = chain;
            t += found ? chain.count : 1;
        }
    }
    return true;
}

static void count_passing(struct band_finder *f)
{
    for (int i = 0; i < f->graph->nvalues; i++) {
        struct band_value *v = &f->values[i];
        v->passing = 0;
        v->made = v->taken = 0;
    }
    for (size_t i = 0; i < f->nchains; i++)
        for (int k = 0; k < f->chains[i].count; k++) {
            int t = f->chains[i].first + k;
            struct band_value *v = made_by(f, t);
            if (!f->chains[i].passes[k])
                continue;
            v->passing++;
            v->made += ad_region_elements(f->program->tasks[t].region);
            v->taken += ad_region_elements(taken_by_next(f, t));
        }
}

/* Drops values of which not all that is made passes, and those of which too much would be made
 * again; whether there were some. */
static bool drop_values(struct band_finder *f)
{
    bool some = false;
    count_passing(f);
    for (int i = 0; i < f->graph->nvalues; i++) {
        struct band_value *v = &f->values[i];
        if (v->passing > 0 && (v->passing != v->makes || v->taken - v->made > v->made / AGAIN)) {
            v->able = false;
            some = true;
        }
    }
    return some;
}

/* --- bands --- */

/* Rows of a band of the last task; 0: the chain stays whole. */
static int32_t band_rows(const struct band_finder *f, const struct row_chain *c)
{
    int32_t rows = c->whole.h1 - c->whole.h0, least = 1;
    for (int k = 1; k < c->count; k++) {
        const struct ad_window *w = &op_of(f, c->first + k)->window;
        int32_t again = (w->kh - 1) * w->dh + 1 - w->sh;
        if (is_depthwise(f, op_of(f, c->first + k)) && again > 0)
            least = (REPEAT * again + w->sh - 1) / w->sh;
    }
    if ((double)c->bytes <= LEAST * (double)f->cache)
        return 0;
    double bands = (double)c->bytes * SHARE / (double)f->cache;
    int32_t wanted = (int32_t)(rows / bands);
    wanted = wanted > least ? wanted : least;
    return 2 * (int64_t)wanted <= rows ? wanted : 0;
}

/* What passes in one chain passes in all: those that need no bands get one. */
static void settle_bands(struct band_finder *f)
{
    for (size_t i = 0; i < f->nchains; i++)
        f->chains[i].rows = band_rows(f, &f->chains[i]);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < f->nchains; i++) {
            struct row_chain *c = &f->chains[i];
            for (int k = 0; k < c->count; k++)
                if (c->rows == 0 && c->passes[k] && made_by(f, c->first + k)->passes)
                    c->rows = c->whole.h1 - c->whole.h0;
            for (int k = 0; k < c->count && c->rows > 0; k++) {
                struct band_value *v = made_by(f, c->first + k);
                more = more || (c->passes[k] && !v->passes);
                v->passes = v->passes || c->passes[k];
            }
        }
    }
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
static bool add_bands(struct band_finder *f, const struct row_chain *c)
{
    int last = c->count - 1;
    int32_t rows = c->rows;
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

/* next: the first chain that is not added yet. */
static bool add_step(struct band_finder *f, const struct ad_step *step, size_t *next)
{
    struct ad_program *p = &f->out->program;
    struct ad_step *to = &p->steps[p->nsteps++];
    *to = *step;
    if (step->kind != AD_STEP_COMPUTE)
        return true;
    to->first_task = p->ntasks;
    for (int t = step->first_task, end = t + step->ntasks; t < end;) {
        const struct row_chain *chain = *next < f->nchains ? &f->chains[*next] : NULL;
        bool begins = chain && chain->first == t, bands = begins && chain->rows > 0;
        if (bands ? !add_bands(f, chain)
                  : !add_task(f, f->program->tasks[t].op, f->program->tasks[t].region))
            return false;
        *next += begins;
        t += bands ? chain->count : 1;
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
                            .values = ad_calloc(nvalues, sizeof *f.values),
                            .out = out};
    size_t next = 0;
    bool ok = out->program.steps && out->passing && f.values;
    if (ok)
        count_uses(&f);
    do
        ok = ok && find_chains(&f);
    while (ok && drop_values(&f));
    if (ok)
        settle_bands(&f);
    for (int v = 0; ok && v < graph->nvalues; v++)
        out->passing[v] = f.values[v].passes;
    for (int i = 0; ok && i < program->nsteps; i++)
        ok = add_step(&f, &program->steps[i], &next);
    ad_free(f.values);
    ad_free(f.chains);
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
