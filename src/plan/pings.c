/* Plans that only exchange messages, to time links by the connections that inferences use. */
#include "plan/internal.h"

#include <math.h>
#include <stdio.h>

#define SIDE 16      /* columns and channels: a row has 1 KiB */
#define WORK_TAPS 15 /* of a pooling */

_Static_assert(SIDE *SIDE * sizeof(float) == AD_PING_ROW_BYTES, "bytes of a row");

/* One input of so many rows, of which the source makes a mean, because something must be computed,
 * and both devices averages of 15 pixels of a row, which nobody reads: work. */
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
                                     .box = {1, rows, SIDE, SIDE},
                                     .producer = -1,
                                     .constant = -1};
    g->values[1] = (struct ad_value){.name = "mean",
                                     .rank = 4,
                                     .dims = {1, SIDE, 1, 1},
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

static void add_message(struct ad_program *from, struct ad_program *to, int sender,
                        struct ad_region region, uint32_t tag)
{
    from->steps[from->nsteps++] =
        (struct ad_step){.kind = AD_STEP_SEND, .peer = 1 - sender, .region = region, .tag = tag};
    to->steps[to->nsteps++] =
        (struct ad_step){.kind = AD_STEP_RECV, .peer = sender, .region = region, .tag = tag};
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

static enum adaps_status fill_programs(struct ad_schedule *s, const struct ad_ping *ping,
                                       struct adaps_error *err)
{
    size_t steps = 3 * (size_t)ping->count + 1;
    size_t tasks = (size_t)ping->count * (size_t)ping->work + 1;
    s->ndevices = 2;
    s->programs = ad_arena_alloc(&s->arena, 2, sizeof *s->programs);
    s->busy_ns = ad_arena_alloc(&s->arena, 2, sizeof *s->busy_ns);
    s->memory = ad_arena_alloc(&s->arena, 2, sizeof *s->memory);
    struct ad_task *task = ad_arena_alloc(&s->arena, 2 * tasks, sizeof *task);
    struct ad_step *list = ad_arena_alloc(&s->arena, 2 * steps, sizeof *list);
    if (!s->programs || !s->busy_ns || !s->memory || !task || !list)
        return ad_error_memory(err, "pings", 2 * steps * sizeof *list + 2 * tasks * sizeof *task);
    struct ad_program *a = &s->programs[0], *b = &s->programs[1];
    struct ad_region there = {0, ping->rows_there, 0, SIDE, 0, SIDE};
    struct ad_region back = {0, ping->rows_back, 0, SIDE, 0, SIDE};
    *a = (struct ad_program){.steps = list, .tasks = task};
    *b = (struct ad_program){.steps = list + steps, .tasks = task + tasks};
    for (int i = 0; i < ping->count; i++) {
        int work = ping->meanwhile ? ping->work : i == 0 ? ping->work * ping->count : 0;
        uint32_t tag = (uint32_t)(2 * i + 1);
        add_message(a, b, 0, there, tag);
        add_work(a, 1, back, ping->meanwhile ? work : 0);
        add_message(b, a, 1, back, tag + 1);
        add_work(b, 1, back, work);
        add_work(a, 1, back, ping->meanwhile ? 0 : work);
    }
    add_work(a, 0, (struct ad_region){0, 1, 0, 1, 0, SIDE}, 1);
    s->messages = 2 * ping->count;
    s->bytes = (int64_t)ping->count * (ping->rows_there + ping->rows_back) * AD_PING_ROW_BYTES;
    return ADAPS_OK;
}

static enum adaps_status fill_cluster(struct ad_cluster *c, const struct ad_device *a,
                                      const struct ad_device *b, const struct ad_link *link,
                                      struct adaps_error *err)
{
    enum adaps_status status = ad_cluster_init(c, 2, err);
    if (status != ADAPS_OK)
        return status;
    c->devices[0] = *a;
    c->devices[1] = *b;
    for (int d = 0; d < 2; d++) {
        c->devices[d].table = (struct ad_cost_table){.memory_bw = 1, .source = "pings"};
        for (int class = 0; class < AD_COST_CLASSES; class ++)
            c->devices[d].table.rate[class] = 1;
        c->devices[d].source = d == 0;
    }
    c->links[1] = c->links[2] = *link;
    return ADAPS_OK;
}

enum adaps_status ad_plan_of_pings(const struct ad_device *a, const struct ad_device *b,
                                   const struct ad_link *link, const struct ad_ping *ping,
                                   struct adaps_plan **out, struct adaps_error *err)
{
    if (ping->count < 1 || ping->rows_back < 1 || ping->rows_there < ping->rows_back ||
        ping->work < 0 || ping->work > AD_PLAN_MAX_TASKS / ping->count)
        return ad_error_set(err, ADAPS_EINTERNAL, "%d pings of %d and %d rows, %d tasks",
                            ping->count, ping->rows_there, ping->rows_back, ping->work);
    struct adaps_plan *plan = ad_plan_alloc(2);
    if (!plan)
        return ad_error_memory(err, "plan", sizeof *plan);
    enum adaps_status status = fill_cluster(&plan->cluster, a, b, link, err);
    if (status == ADAPS_OK)
        status = fill_programs(&plan->schedule, ping, err);
    plan->graph = mean_graph(ping->rows_there);
    plan->model_path = ad_strdup("pings");
    if (status == ADAPS_OK && (!plan->graph || !plan->model_path))
        status = ad_error_memory(err, "pings", sizeof *plan);
    if (status == ADAPS_OK)
        status = ad_plan_describe(plan, "pings", 0, err);
    if (status == ADAPS_OK)
        *out = plan;
    else
        adaps_plan_free(plan);
    return status;
}
