/* Strategy `pipeline`, and its dynamic programme.
 *
 * pipeline, after AutoDiCE (X. Guo et al., 2023) and the balanced pipelines of R. Hadidi et al.
 * ("Toward Collaborative Inferencing of Deep Neural Networks on Internet-of-Things Devices", IEEE
 * IoT Journal 2020): the ops, in the graph's order, are parted into groups, each on a device of its
 * own, and several inferences are in flight. Modelled: the interval is the largest load of a stage,
 * which is its computing, or what it receives, or what it sends. The programme finds the parts that
 * make this smallest, on any of the devices and in any order of them:
 *
 *   best(i, left) = min over classes c in left and ends j > i of
 *                       max(load(c, i, j), best(j, left without one of c))
 *
 * where `left` counts the devices of each class that may still be used. Interpreted: what crosses a
 * cut are all values made before it and read after it, each once. */
#include "search/published/chain.h"
#include "base/mem.h"
#include "search/published/published.h"
#include "search/published/ranges.h"

#include <math.h>
#include <string.h>

#define MOST_BUDGETS 4096
#define MOST_POSITIONS 512 /* cuts that are considered */
#define MOST_TRIED 128     /* budgets whose chains strategy pipeline evaluates */

/* What the programme knows of a class of devices. */
struct class
{
    int first, count; /* one of its devices; how many */
    bool source;
    double *seconds;  /* [op + 1]: of all ops before */
    double bandwidth; /* of its port */
    double message_s, memory_bw;
    double memory; /* bytes; INFINITY: no limit */
};

struct choice {
    int class, next; /* -1: none; the position where the stage ends */
};

struct ad_chains {
    const struct ad_context *context;
    int buffers; /* of the largest value, that a stage has room for */
    int nclasses, class_of[AD_MAX_DEVICES];
    struct class classes[AD_MAX_DEVICES];
    int npositions, *position; /* where a stage may begin: ops, ascending; the last is nops */
    double *crossing;          /* [op]: bytes of values made before it and read from it on */
    double *weights, *largest; /* [op + 1]: bytes of all before; [op]: of its output */
    int budgets, stride[AD_MAX_DEVICES]; /* a budget is the sum of count x stride */
    double *best;                        /* [position * budgets + budget]: seconds */
    struct choice *choice;               /* likewise */
};

void ad_chains_free(struct ad_chains *c)
{
    if (!c)
        return;
    for (int k = 0; k < c->nclasses; k++)
        ad_free(c->classes[k].seconds);
    ad_free(c->position);
    ad_free(c->crossing);
    ad_free(c->weights);
    ad_free(c->largest);
    ad_free(c->best);
    ad_free(c->choice);
    ad_free(c);
}

int ad_chains_classes(const struct ad_chains *chains)
{
    return chains->nclasses;
}

int ad_chains_class(const struct ad_chains *chains, int device)
{
    return chains->class_of[device];
}

/* --- classes --- */

static double port(const struct ad_cluster *cluster, int device)
{
    double most = 0;
    for (int d = 0; d < cluster->ndevices; d++)
        if (d != device)
            most = fmax(most, cluster->links[device * cluster->ndevices + d].bandwidth);
    return most > 0 ? most : 1;
}

static bool same_class(const struct ad_cluster *cluster, int a, int b)
{
    const struct ad_device *x = &cluster->devices[a], *y = &cluster->devices[b];
    return a != cluster->source && b != cluster->source && ad_cost_same(x, y) &&
           x->memory == y->memory && port(cluster, a) == port(cluster, b);
}

static int count_budgets(const struct ad_chains *c)
{
    int64_t all = 1;
    for (int k = 0; k < c->nclasses; k++)
        all = all > MOST_BUDGETS ? all : all * (c->classes[k].count + 1);
    return all > MOST_BUDGETS ? MOST_BUDGETS + 1 : (int)all;
}

/* Makes two neighbours in speed one class, until there are few enough budgets. Its stages take what
 * they take the slower of the two. */
static void merge_classes(struct ad_chains *c)
{
    const double *speed = c->context->speed;
    int a = -1, b = -1;
    double least = INFINITY;
    for (int i = 0; i < c->nclasses; i++)
        for (int k = 0; k < c->nclasses; k++) {
            double x = speed[c->classes[i].first], y = speed[c->classes[k].first];
            if (i == k || c->classes[i].source || c->classes[k].source || x > y ||
                (x == y && i > k) || y - x >= least)
                continue;
            least = y - x;
            a = i;
            b = k;
        }
    c->classes[a].count += c->classes[b].count;
    for (int d = 0; d < c->context->problem->cluster->ndevices; d++) {
        c->class_of[d] = c->class_of[d] == b ? a : c->class_of[d];
        c->class_of[d] -= c->class_of[d] > b;
    }
    c->nclasses--;
    memmove(&c->classes[b], &c->classes[b + 1], (size_t)(c->nclasses - b) * sizeof c->classes[b]);
}

static void classify(struct ad_chains *c)
{
    const struct ad_cluster *cluster = c->context->problem->cluster;
    for (int d = 0; d < cluster->ndevices; d++) {
        int k = 0;
        while (k < c->nclasses && !same_class(cluster, c->classes[k].first, d))
            k++;
        c->class_of[d] = k;
        if (k == c->nclasses)
            c->classes[c->nclasses++] = (struct class){.first = d};
        c->classes[k].count++;
        c->classes[k].source = d == cluster->source;
    }
    while (count_budgets(c) > MOST_BUDGETS)
        merge_classes(c);
    c->budgets = 1;
    for (int k = 0; k < c->nclasses; k++) {
        c->stride[k] = c->budgets;
        c->budgets *= c->classes[k].count + 1;
    }
}

/* --- costs --- */

static double value_bytes(const struct ad_graph *graph, int value)
{
    return (double)ad_value_bytes(&graph->values[value]);
}

static bool survey_class(struct ad_chains *c, struct class *class)
{
    const struct ad_search_problem *p = c->context->problem;
    const struct ad_device *device = &p->cluster->devices[class->first];
    class->seconds = ad_calloc((size_t)p->graph->nops + 1, sizeof *class->seconds);
    for (int i = 0; class->seconds && i < p->graph->nops; i++)
        class->seconds[i + 1] = class->seconds[i] + ad_whole_op_seconds(p->graph, device, i);
    class->bandwidth = port(p->cluster, class->first);
    class->message_s = device->table.message_s / device->speed;
    class->memory_bw = device->table.memory_bw * device->speed;
    class->memory = device->memory > 0 ? (double)device->memory : INFINITY;
    return class->seconds != NULL;
}

/* Values made before an op and read from it on. */
static bool survey_values(struct ad_chains *c)
{
    const struct ad_graph *graph = c->context->problem->graph;
    size_t nops = (size_t)graph->nops, nvalues = (size_t)graph->nvalues;
    int *made = ad_calloc(nvalues, sizeof *made), *read = ad_calloc(nvalues, sizeof *read);
    c->crossing = ad_calloc(nops + 1, sizeof *c->crossing);
    c->weights = ad_calloc(nops + 1, sizeof *c->weights);
    c->largest = ad_calloc(nops + 1, sizeof *c->largest);
    bool room = made && read && c->crossing && c->weights && c->largest;
    for (int i = 0; room && i < graph->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        made[op->output] = i + 1;
        for (int k = 0; k < op->ninputs; k++)
            read[op->inputs[k]] = i + 1;
        double bytes = op->weight < 0
                           ? 0
                           : (double)graph->weights[op->weight].rows *
                                 (double)graph->weights[op->weight].row_elements * sizeof(float);
        c->weights[i + 1] = c->weights[i] + bytes;
        c->largest[i] = value_bytes(graph, op->output);
    }
    for (int v = 0; room && v < graph->nvalues; v++) {
        bool ends = false;
        for (int i = 0; i < graph->noutputs; i++)
            ends = ends || graph->outputs[i] == v;
        int last = ends ? graph->nops + 1 : read[v];
        for (int i = made[v]; graph->values[v].constant < 0 && i < last && i <= graph->nops; i++)
            c->crossing[i] += i > 0 || !c->context->u8 ? value_bytes(graph, v)
                                                       : value_bytes(graph, v) / sizeof(float);
    }
    ad_free(made);
    ad_free(read);
    return room;
}

/* Where stages may begin: everywhere, or of a long network where least crosses. */
static bool choose_positions(struct ad_chains *c)
{
    int nops = c->context->problem->graph->nops;
    int step = nops / MOST_POSITIONS + 1;
    c->position = ad_calloc((size_t)nops / (size_t)step + 2, sizeof *c->position);
    for (int i = 0; c->position && i < nops; i += step) {
        int at = i;
        for (int k = i; k < i + step && k < nops && i > 0; k++)
            at = c->crossing[k] < c->crossing[at] ? k : at;
        c->position[c->npositions++] = at;
    }
    if (c->position)
        c->position[c->npositions] = nops;
    return c->position != NULL;
}

/* Seconds that ops [i, j) on a device of a class take of it and of its port in an inference. */
static double load(const struct ad_chains *c, const struct class *class, int i, int j)
{
    int nops = c->context->problem->graph->nops;
    double in = i == 0 && class->source ? 0 : c->crossing[i];
    double out = j == nops && class->source ? 0 : c->crossing[j];
    double up = out, down = in, messages = (in > 0) + (out > 0);
    if (class->source && i > 0)
        up += c->crossing[0]; /* the network's input leaves it */
    if (class->source && j < nops)
        down += c->crossing[nops]; /* and the result comes back */
    double compute = class->seconds[j] - class->seconds[i] + messages * class->message_s +
                     (up + down) / class->memory_bw;
    return fmax(compute, fmax(up, down) / class->bandwidth);
}

int ad_chains_positions(const struct ad_chains *c)
{
    return c->npositions;
}

int ad_chains_position(const struct ad_chains *c, int position)
{
    return c->position[position];
}

int ad_chains_count(const struct ad_chains *c, int class)
{
    return c->classes[class].count;
}

void ad_chains_loads(const struct ad_chains *c, int class, int p, double *loads)
{
    const struct class *of = &c->classes[class];
    int i = c->position[p], op = i;
    double largest = 0;
    for (int q = p + 1; q <= c->npositions; q++) {
        int j = c->position[q];
        for (; op < j; op++)
            largest = fmax(largest, c->largest[op]);
        bool fits = c->weights[j] - c->weights[i] + c->buffers * largest <= of->memory;
        loads[q] = fits ? load(c, of, i, j) : INFINITY;
    }
}

double ad_chains_seconds(const struct ad_chains *c, int class, int i, int j)
{
    return c->classes[class].seconds[j] - c->classes[class].seconds[i];
}

double ad_chains_crossing(const struct ad_chains *c, int i)
{
    return c->crossing[i];
}

double ad_chains_bandwidth(const struct ad_chains *c, int class)
{
    return c->classes[class].bandwidth;
}

double ad_chains_memory(const struct ad_chains *c, int class)
{
    return c->classes[class].memory;
}

/* --- the programme --- */

/* The best stage from position p on, with a budget that has some of class k, into best and choice.
 * loads: ad_chains_loads(). Longer stages compute longer, and have no more room. */
static void try_class(struct ad_chains *c, int p, int budget, int k, const double *loads)
{
    const double *seconds = c->classes[k].seconds;
    size_t at = (size_t)p * (size_t)c->budgets + (size_t)budget;
    for (int q = p + 1; q <= c->npositions; q++) {
        if (seconds[c->position[q]] - seconds[c->position[p]] >= c->best[at] ||
            loads[q] == INFINITY)
            return;
        double rest = c->best[(size_t)q * (size_t)c->budgets + (size_t)(budget - c->stride[k])];
        double all = fmax(rest, loads[q]);
        if (all < c->best[at]) {
            c->best[at] = all;
            c->choice[at] = (struct choice){k, q};
        }
    }
}

/* loads: [class * (npositions + 1) + position], scratch. */
static void solve(struct ad_chains *c, double *loads)
{
    size_t n = (size_t)c->budgets, width = (size_t)c->npositions + 1;
    for (int p = c->npositions; p >= 0; p--) {
        for (int k = 0; k < c->nclasses; k++)
            ad_chains_loads(c, k, p, &loads[(size_t)k * width]);
        for (int budget = 0; budget < c->budgets; budget++) {
            size_t at = (size_t)p * n + (size_t)budget;
            c->best[at] = p == c->npositions ? 0 : INFINITY;
            c->choice[at] = (struct choice){-1, 0};
            for (int k = 0; p < c->npositions && k < c->nclasses; k++)
                if (budget / c->stride[k] % (c->classes[k].count + 1) > 0)
                    try_class(c, p, budget, k, &loads[(size_t)k * width]);
        }
    }
}

enum adaps_status ad_chains_new(const struct ad_context *context, int buffers,
                                struct ad_chains **out, struct adaps_error *err)
{
    struct ad_chains *c = ad_calloc(1, sizeof *c);
    *out = NULL;
    if (!c)
        return ad_error_memory(err, "chains", sizeof *c);
    c->context = context;
    c->buffers = buffers;
    classify(c);
    bool room = survey_values(c) && choose_positions(c);
    for (int k = 0; room && k < c->nclasses; k++)
        room = survey_class(c, &c->classes[k]);
    size_t states = ((size_t)c->npositions + 1) * (size_t)c->budgets;
    c->best = room ? ad_calloc(states, sizeof *c->best) : NULL;
    c->choice = room ? ad_calloc(states, sizeof *c->choice) : NULL;
    double *loads = ad_calloc((size_t)c->nclasses * ((size_t)c->npositions + 1), sizeof *loads);
    if (!c->best || !c->choice || !loads) {
        ad_free(loads);
        ad_chains_free(c);
        return ad_error_memory(err, "chains", states * sizeof *c->best);
    }
    solve(c, loads);
    ad_free(loads);
    *out = c;
    return ADAPS_OK;
}

bool ad_chains_best(const struct ad_chains *c, const bool *use, struct ad_chain *out)
{
    int budget = 0, n = c->context->problem->cluster->ndevices;
    bool taken[AD_MAX_DEVICES] = {false};
    *out = (struct ad_chain){.nstages = 0};
    for (int d = 0; d < n; d++)
        budget += use[d] ? c->stride[c->class_of[d]] : 0;
    for (int p = 0; p < c->npositions;) {
        struct choice choice = c->choice[(size_t)p * (size_t)c->budgets + (size_t)budget];
        int d = 0;
        if (choice.class < 0)
            return false;
        while (!use[d] || taken[d] || c->class_of[d] != choice.class)
            d++;
        taken[d] = true;
        out->device[out->nstages] = d;
        out->end[out->nstages++] = c->position[choice.next];
        budget -= c->stride[choice.class];
        p = choice.next;
    }
    return true;
}

void ad_chain_layout(const struct ad_context *context, const struct ad_chain *chain,
                     struct ad_layout *layout)
{
    layout->u8 = context->u8;
    layout->encoding = context->encoding;
    for (int k = 0, i = 0; k < chain->nstages; k++)
        for (; i < chain->end[k]; i++)
            layout->ops[i] =
                (struct ad_op_layout){.dim = AD_DIM_WHOLE, .pinned = true, .at = chain->device[k]};
}

/* --- strategies --- */

/* Which devices a budget stands for: the first ones of each class. */
static void devices_of(const struct ad_chains *c, int budget, bool *use)
{
    int left[AD_MAX_DEVICES];
    for (int k = 0; k < c->nclasses; k++)
        left[k] = budget / c->stride[k] % (c->classes[k].count + 1);
    for (int d = 0; d < c->context->problem->cluster->ndevices; d++)
        use[d] = left[c->class_of[d]]-- > 0;
}

static enum adaps_status try_chain(struct ad_eval *eval, const struct ad_chain *chain,
                                   struct ad_layout *layout, struct ad_best *best)
{
    ad_chain_layout(eval->context, chain, layout);
    return ad_eval_try(eval, layout, best, NULL);
}

/* All devices, then fewer of them: the programme does not know what many values that cross a stage
 * cost. */
static enum adaps_status try_chains(struct ad_eval *eval, const struct ad_chains *chains,
                                    struct ad_layout *layout, struct ad_best *best, int *tried)
{
    enum adaps_status status = ADAPS_OK;
    for (int b = chains->budgets - 1; b > 0 && status == ADAPS_OK; b--) {
        bool use[AD_MAX_DEVICES];
        struct ad_chain chain;
        devices_of(chains, b, use);
        if (*tried >= MOST_TRIED || (best->valid && ad_eval_late(eval)))
            break;
        if (!ad_chains_best(chains, use, &chain))
            continue;
        status = try_chain(eval, &chain, layout, best);
        ++*tried;
    }
    return status;
}

/* Where memory matters, also with room for more values, and for fewer. */
enum adaps_status ad_pipeline_search(struct ad_eval *eval, struct ad_best *best)
{
    static const int buffers[] = {AD_CHAIN_BUFFERS, 2 * AD_CHAIN_BUFFERS, AD_CHAIN_BUFFERS / 2};
    const struct ad_search_problem *p = eval->context->problem;
    struct ad_layout layout;
    int all = 0, ways = eval->context->memory_matters ? 3 : 1;
    enum adaps_status status =
        ad_layout_init(&layout, p->graph->nops, p->cluster->ndevices, eval->err);
    for (int i = 0; i < ways && status == ADAPS_OK; i++) {
        struct ad_chains *chains;
        int tried = 0;
        status = ad_chains_new(eval->context, buffers[i], &chains, eval->err);
        if (status == ADAPS_OK)
            status = try_chains(eval, chains, &layout, best, &tried);
        ad_chains_free(chains);
        all += tried;
    }
    if (status == ADAPS_OK && all == 0) /* a name for what lacks memory */
        status = ad_single_search(eval, best);
    eval->space_log10 = log10(all + 1);
    ad_layout_fini(&layout);
    return status;
}
