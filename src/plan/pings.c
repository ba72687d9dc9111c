/* Plans that only exchange messages, to time links by the connections that inferences use. */
#include "plan/internal.h"

#include <math.h>
#include <stdio.h>

#define SIDE 16 /* columns and channels: a row has 1 KiB */

_Static_assert(SIDE *SIDE * sizeof(float) == AD_PING_ROW_BYTES, "bytes of a row");

/* One input of so many rows, of which the source makes a mean, because something must be computed.
 */
static struct ad_graph *mean_graph(int32_t rows)
{
    struct ad_graph *g = ad_calloc(1, sizeof *g);
    if (!g)
        return NULL;
    struct ad_arena *arena = &g->arena;
    g->name = "pings";
    g->ops = ad_arena_alloc(arena, 1, sizeof *g->ops);
    g->values = ad_arena_alloc(arena, 2, sizeof *g->values);
    g->weights = ad_arena_alloc(arena, 1, sizeof *g->weights);
    g->inputs = ad_arena_alloc(arena, 3, sizeof *g->inputs);
    if (!g->ops || !g->values || !g->weights || !g->inputs) {
        ad_graph_free(g);
        return NULL;
    }
    g->outputs = g->inputs + 1;
    g->nops = g->ninputs = g->noutputs = 1;
    g->nvalues = 2;
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

static enum adaps_status fill_programs(struct ad_schedule *s, const struct ad_ping *ping,
                                       struct adaps_error *err)
{
    size_t steps = 2 * (size_t)ping->count + 1;
    s->ndevices = 2;
    s->programs = ad_arena_alloc(&s->arena, 2, sizeof *s->programs);
    s->busy_ns = ad_arena_alloc(&s->arena, 2, sizeof *s->busy_ns);
    s->memory = ad_arena_alloc(&s->arena, 2, sizeof *s->memory);
    struct ad_task *task = ad_arena_alloc(&s->arena, 1, sizeof *task);
    struct ad_step *list = ad_arena_alloc(&s->arena, 2 * steps, sizeof *list);
    if (!s->programs || !s->busy_ns || !s->memory || !task || !list)
        return ad_error_memory(err, "pings", 2 * steps * sizeof *list);
    struct ad_program *a = &s->programs[0], *b = &s->programs[1];
    struct ad_region there = {0, ping->rows_there, 0, SIDE, 0, SIDE};
    struct ad_region back = {0, ping->rows_back, 0, SIDE, 0, SIDE};
    *a = (struct ad_program){.steps = list, .tasks = task, .ntasks = 1};
    *b = (struct ad_program){.steps = list + steps};
    for (int i = 0; i < ping->count; i++) {
        add_message(a, b, 0, there, (uint32_t)(2 * i + 1));
        add_message(b, a, 1, back, (uint32_t)(2 * i + 2));
    }
    *task = (struct ad_task){0, {0, 1, 0, 1, 0, SIDE}};
    a->steps[a->nsteps++] = (struct ad_step){.kind = AD_STEP_COMPUTE, .ntasks = 1};
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
    if (ping->count < 1 || ping->rows_back < 1 || ping->rows_there < ping->rows_back)
        return ad_error_set(err, ADAPS_EINTERNAL, "%d pings of %d and %d rows", ping->count,
                            ping->rows_there, ping->rows_back);
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
