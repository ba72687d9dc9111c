/* Plans that only exchange messages, to time links by the connections that inferences use. */
#include "plan/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SIDE 16      /* columns and channels: a row has 1 KiB */
#define WORK_TAPS 15 /* of a pooling */

_Static_assert(SIDE *SIDE * sizeof(float) == AD_LINK_PROBE_ROW_BYTES, "bytes of a row");

/* One input of so many rows, of which the source makes a mean, because something must be computed,
 * and all devices averages of 15 pixels of a row, which nobody reads: work. */
static struct ad_graph *mean_graph(int32_t rows)
{
    struct ad_graph *g = ad_calloc(1, sizeof *g);
    if (!g)
        return NULL;
    struct ad_arena *arena = &g->arena;
    g->name = "pings";
    g->ops = ad_arena_alloc(arena, 2, sizeof *g->ops);
    g->values = ad_arena_alloc(arena, 3, sizeof *g->values);
    g->weights = ad_arena_alloc(arena, 1, sizeof *g->weights);
    g->inputs = ad_arena_alloc(arena, 4, sizeof *g->inputs);
    if (!g->ops || !g->values || !g->weights || !g->inputs) {
        ad_graph_free(g);
        return NULL;
    }
    g->outputs = g->inputs + 1;
    g->ninputs = g->noutputs = 1;
    g->nops = 2;
    g->nvalues = 3;
    g->outputs[0] = 1;
    g->values[0] = (struct ad_value){.name = "x",
                                     .rank = 4,
                                     .dims = {1, SIDE, rows, SIDE},
                                     .type = ADAPS_FLOAT32,
                                     .box = {1, rows, SIDE, SIDE},
                                     .producer = -1,
                                     .constant = -1};
    g->values[1] = (struct ad_value){.name = "mean",
                                     .rank = 4,
                                     .dims = {1, SIDE, 1, 1},
                                     .type = ADAPS_FLOAT32,
                                     .box = {1, 1, 1, SIDE},
                                     .producer = 0,
                                     .constant = -1};
    g->ops[0] = (struct ad_op){.kind = AD_OP_GAP,
                               .name = "mean",
                               .type = "GlobalAveragePool",
                               .ninputs = 1,
                               .inputs = g->inputs + 2,
                               .output = 1,
                               .weight = -1,
                               .bias = -1,
                               .clamp_min = -INFINITY,
                               .clamp_max = INFINITY};
    g->values[2] = g->values[0];
    g->values[2].name = "work";
    g->values[2].producer = 1;
    g->ops[1] = g->ops[0];
    g->ops[1].kind = AD_OP_AVGPOOL;
    g->ops[1].name = "work";
    g->ops[1].type = "AveragePool";
    g->ops[1].inputs = g->inputs + 3;
    g->ops[1].output = 2;
    g->ops[1].window = (struct ad_window){.kh = 1,
                                          .kw = WORK_TAPS,
                                          .sh = 1,
                                          .sw = 1,
                                          .dh = 1,
                                          .dw = 1,
                                          .pl = WORK_TAPS / 2,
                                          .pr = WORK_TAPS / 2,
                                          .real_pr = WORK_TAPS / 2};
    return g;
}

/* One end of a message. */
static void add_end(struct ad_program *p, enum ad_step_kind kind, int peer, struct ad_region region,
                    int tag)
{
    p->steps[p->nsteps++] =
        (struct ad_step){.kind = kind, .peer = peer, .region = region, .tag = (uint32_t)tag};
}

/* A message of `region` and its place in both programs. */
static void add_message(struct ad_program *programs, int from, int to, struct ad_region region,
                        int tag)
{
    add_end(&programs[from], AD_STEP_SEND, to, region, tag);
    add_end(&programs[to], AD_STEP_RECV, from, region, tag);
}

/* A step of `count` tasks of op, each the same. */
static void add_work(struct ad_program *p, int op, struct ad_region region, int count)
{
    if (count > 0)
        p->steps[p->nsteps++] =
            (struct ad_step){.kind = AD_STEP_COMPUTE, .first_task = p->ntasks, .ntasks = count};
    for (int i = 0; i < count; i++)
        p->tasks[p->ntasks++] = (struct ad_task){op, region};
}

static struct ad_region rows_of_both(int32_t rows)
{
    return (struct ad_region){0, rows, 0, SIDE, 0, SIDE};
}

/* What is computed per exchange, so many times. */
static void add_exchange_work(struct ad_program *p, const struct ad_exchange *exchange, int times)
{
    for (int i = 0; i < exchange->steps * times; i++)
        add_work(p, 1, rows_of_both(exchange->rows), exchange->work);
}

/* Programs with room for so many steps and tasks each. */
static enum adaps_status make_programs(struct ad_schedule *s, int ndevices, size_t steps,
                                       size_t tasks, struct adaps_error *err)
{
    size_t n = (size_t)ndevices;
    s->ndevices = ndevices;
    s->programs = ad_arena_alloc(&s->arena, n, sizeof *s->programs);
    s->busy_ns = ad_arena_alloc(&s->arena, n, sizeof *s->busy_ns);
    s->memory = ad_arena_alloc(&s->arena, n, sizeof *s->memory);
    struct ad_task *task = ad_arena_alloc(&s->arena, n * tasks, sizeof *task);
    struct ad_step *list = ad_arena_alloc(&s->arena, n * steps, sizeof *list);
    if (!s->programs || !s->busy_ns || !s->memory || !task || !list)
        return ad_error_memory(err, "pings", n * (steps * sizeof *list + tasks * sizeof *task));
    for (size_t d = 0; d < n; d++)
        s->programs[d] = (struct ad_program){.steps = list + d * steps, .tasks = task + d * tasks};
    return ADAPS_OK;
}

static enum adaps_status fill_round_trips(struct ad_schedule *s, const struct ad_round_trips *trips,
                                          struct adaps_error *err)
{
    enum adaps_status status = make_programs(s, 2, 2 * (size_t)trips->count + 1, 1, err);
    if (status != ADAPS_OK)
        return status;
    for (int i = 0; i < trips->count; i++) {
        int tag = 2 * i + 1;
        add_message(s->programs, 0, 1, rows_of_both(trips->rows_there), tag);
        add_message(s->programs, 1, 0, rows_of_both(trips->rows_back), tag + 1);
    }
    add_work(&s->programs[0], 0, (struct ad_region){0, 1, 0, 1, 0, SIDE}, 1);
    s->messages = 2 * trips->count;
    s->bytes =
        (int64_t)trips->count * (trips->rows_there + trips->rows_back) * AD_LINK_PROBE_ROW_BYTES;
    return ADAPS_OK;
}

/* First the rows go from device to device, so that all have them. */
static enum adaps_status fill_exchanges(struct ad_schedule *s, int n,
                                        const struct ad_exchange *exchange, struct adaps_error *err)
{
    size_t count = (size_t)exchange->count, burst = (size_t)exchange->burst,
           steps = (size_t)exchange->steps;
    struct ad_region region = rows_of_both(exchange->rows);
    enum adaps_status status = make_programs(s, n, (2 * burst + steps) * count + 3,
                                             count * steps * (size_t)exchange->work + 1, err);
    if (status != ADAPS_OK)
        return status;
    for (int d = 0; d + 1 < n; d++)
        add_message(s->programs, d, d + 1, region, d + 1);
    for (int i = 0; i < exchange->count; i++) {
        for (int d = 0; d < n; d++) {
            struct ad_program *p = &s->programs[d];
            for (int b = 0; b < exchange->burst; b++)
                add_end(p, AD_STEP_SEND, (d + 1 + b % (n - 1)) % n, region,
                        n * (i * exchange->burst + b + 1) + d);
            if (exchange->meanwhile)
                add_exchange_work(p, exchange, 1);
        }
        for (int d = 0; d < n; d++) {
            struct ad_program *p = &s->programs[d];
            for (int b = 0; b < exchange->burst; b++) {
                int from = (d + n - 1 - b % (n - 1)) % n;
                add_end(p, AD_STEP_RECV, from, region, n * (i * exchange->burst + b + 1) + from);
            }
            if (i == 0 && !exchange->meanwhile)
                add_exchange_work(p, exchange, exchange->count);
        }
    }
    add_work(&s->programs[0], 0, (struct ad_region){0, 1, 0, 1, 0, SIDE}, 1);
    s->messages = n - 1 + (int64_t)n * exchange->count * exchange->burst;
    s->bytes = s->messages * exchange->rows * AD_LINK_PROBE_ROW_BYTES;
    return ADAPS_OK;
}

/* devices: n of them, of which only who they are counts. links: as in a cluster. */
static enum adaps_status fill_cluster(struct ad_cluster *c, const struct ad_device *devices, int n,
                                      const struct ad_link *links, struct adaps_error *err)
{
    enum adaps_status status = ad_cluster_init(c, n, err);
    if (status != ADAPS_OK)
        return status;
    memcpy(c->links, links, (size_t)n * (size_t)n * sizeof *links);
    for (int d = 0; d < n; d++) {
        c->devices[d] = devices[d];
        c->devices[d].table = (struct ad_cost_table){.memory_bw = 1, .source = "pings"};
        for (int class = 0; class < AD_COST_CLASSES; class ++)
            c->devices[d].table.rate[class] = 1;
        c->devices[d].source = d == 0;
    }
    return ADAPS_OK;
}

/* Completes a plan whose schedule is filled if `status` is good. Takes the plan over. */
static enum adaps_status finish(struct adaps_plan *plan, int32_t rows, enum adaps_status status,
                                struct adaps_plan **out, struct adaps_error *err)
{
    plan->graph = mean_graph(rows);
    plan->model_path = ad_strdup("pings");
    if (status == ADAPS_OK && (!plan->graph || !plan->model_path))
        status = ad_error_memory(err, "pings", sizeof *plan);
    snprintf(plan->strategy, sizeof plan->strategy, "pings");
    if (status == ADAPS_OK)
        status = ad_plan_seal(plan, err);
    if (status == ADAPS_OK)
        *out = plan;
    else
        adaps_plan_free(plan);
    return status;
}

enum adaps_status ad_plan_of_round_trips(const struct ad_device *a, const struct ad_device *b,
                                         const struct ad_link *link,
                                         const struct ad_round_trips *trips,
                                         struct adaps_plan **out, struct adaps_error *err)
{
    if (trips->count < 1 || trips->rows_back < 1 || trips->rows_there < trips->rows_back)
        return ad_error_set(err, ADAPS_EINTERNAL, "%d pings of %d and %d rows", trips->count,
                            trips->rows_there, trips->rows_back);
    struct adaps_plan *plan = ad_plan_alloc(2);
    if (!plan)
        return ad_error_memory(err, "plan", sizeof *plan);
    const struct ad_device both[] = {*a, *b};
    const struct ad_link links[] = {*link, *link, *link, *link}; /* two of which are unused */
    enum adaps_status status = fill_cluster(&plan->cluster, both, 2, links, err);
    if (status == ADAPS_OK)
        status = fill_round_trips(&plan->schedule, trips, err);
    return finish(plan, trips->rows_there, status, out, err);
}

enum adaps_status ad_plan_of_exchanges(const struct ad_cluster *cluster,
                                       const struct ad_exchange *exchange, struct adaps_plan **out,
                                       struct adaps_error *err)
{
    int n = cluster->ndevices;
    if (n < 2 || exchange->count < 1 || exchange->rows < 1 || exchange->burst < 1 ||
        exchange->steps < 0 || exchange->work < 0 ||
        (int64_t)exchange->steps * exchange->work > AD_PLAN_MAX_TASKS / exchange->count)
        return ad_error_set(err, ADAPS_EINTERNAL,
                            "%d exchanges of %d rows, %d times %d tasks, %d devices",
                            exchange->count, exchange->rows, exchange->steps, exchange->work, n);
    struct adaps_plan *plan = ad_plan_alloc(n);
    if (!plan)
        return ad_error_memory(err, "plan", sizeof *plan);
    enum adaps_status status =
        fill_cluster(&plan->cluster, cluster->devices, n, cluster->links, err);
    if (status == ADAPS_OK)
        status = fill_exchanges(&plan->schedule, n, exchange, err);
    return finish(plan, exchange->rows, status, out, err);
}
