#include "schedule/internal.h"
#include "schedule/stream.h"
#include "schedule/aliasing.h"
#include "ir/winograd.h"

#include <string.h>

/* When a buffer is alive, counted in events: every RECV, SEND and task of a program is one. */
struct life {
    struct ad_region hull; /* of what was written */
    int64_t first, last;
    bool touched;
};

/* Of a weight: what a device's tasks take of it, and by how much larger it is transformed. */
struct slice {
    int64_t r0, r1;
    double times;
};

struct sweep {
    const struct ad_graph *graph;
    struct life *lives;   /* by value; cleared again between devices */
    struct slice *slices; /* by weight; likewise */
    int64_t *change;      /* by event: bytes that come to life minus those that died before */
    int64_t *scratch;     /* by event: bytes that its task takes beside values */
    int threads;
    struct ad_program_aliases places;
    int64_t event;
};

static void write_value(struct sweep *s, int value, struct ad_region region)
{
    struct life *life = &s->lives[value];
    if (!life->touched)
        life->first = s->event;
    life->touched = true;
    life->hull = ad_region_hull(life->hull, region);
    life->last = s->event;
}

static void read_value(struct sweep *s, int value)
{
    if (s->lives[value].touched)
        s->lives[value].last = s->event;
}

static void use_rows(struct sweep *s, int weight, int64_t r0, int64_t r1)
{
    struct slice *slice = &s->slices[weight];
    bool fresh = slice->r0 == slice->r1;
    if (r0 >= r1)
        return;
    slice->r0 = fresh || r0 < slice->r0 ? r0 : slice->r0;
    slice->r1 = fresh || r1 > slice->r1 ? r1 : slice->r1;
}

/* Its transformed weights and what it has between its passes. */
static void run_winograd(struct sweep *s, const struct ad_task *task, int64_t outputs)
{
    const struct ad_op *op = &s->graph->ops[task->op];
    const struct ad_region *r = &task->region;
    struct ad_winograd_shape shape = ad_winograd_shape_of(s->graph, op);
    struct slice *slice = &s->slices[op->weight];
    double times = ad_winograd_growth(&shape);
    size_t floats;
    slice->times = times > slice->times ? times : slice->times;
    shape.outputs = outputs;
    if (ad_winograd_scratch(&shape, s->graph->values[op->output].box.n, r->h1 - r->h0,
                            r->w1 - r->w0, s->threads, &floats))
        s->scratch[s->event] = (int64_t)(floats * sizeof(float));
}

static void run_task(struct sweep *s, const struct ad_task *task)
{
    const struct ad_op *op = &s->graph->ops[task->op];
    int64_t r0, r1;
    for (int k = 0; k < op->ninputs; k++) {
        int constant = s->graph->values[op->inputs[k]].constant;
        if (constant >= 0)
            use_rows(s, constant, 0, s->graph->weights[constant].rows);
        else
            read_value(s, op->inputs[k]);
    }
    write_value(s, op->output, task->region);
    ad_weight_slice(s->graph, op, task->region, &r0, &r1);
    if (op->weight >= 0)
        use_rows(s, op->weight, r0, r1);
    if (op->winograd != 0)
        run_winograd(s, task, r1 - r0);
    if (op->bias >= 0)
        use_rows(s, op->bias, r0, r1);
}

/* A value that lies in another one makes that larger, and live longer. */
static void join_lives(struct sweep *s, const struct ad_program *program)
{
    for (int v = 0; v < s->graph->nvalues; v++)
        s->places.here[v] = s->lives[v].touched;
    ad_program_aliases_find(&s->places, s->graph, program);
    for (int v = 0; v < s->graph->nvalues; v++) {
        const struct ad_alias *at = &s->places.at[v];
        struct life *life = &s->lives[v];
        if (at->root < 0 || !life->touched)
            continue;
        struct life *root = &s->lives[at->root];
        life->hull.c0 += (int32_t)at->shift;
        life->hull.c1 += (int32_t)at->shift;
        root->hull = ad_region_hull(root->hull, life->hull);
        root->first = life->first < root->first ? life->first : root->first;
        root->last = life->last > root->last ? life->last : root->last;
        life->touched = false;
    }
}

/* The peak of live buffers in a program, which begins with the network's inputs and ends with its
 * outputs if so; what it takes of weights is added to s->slices. */
static int64_t buffer_bytes(struct sweep *s, const struct ad_program *program, bool inputs,
                            bool outputs)
{
    const struct ad_graph *graph = s->graph;
    s->event = 0;
    memset(s->scratch, 0,
           ((size_t)program->nsteps + (size_t)program->ntasks + 2) * sizeof *s->scratch);
    for (int i = 0; inputs && i < graph->ninputs; i++)
        write_value(s, graph->inputs[i], ad_region_whole(&graph->values[graph->inputs[i]]));
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        for (int t = 0; step->kind == AD_STEP_COMPUTE && t < step->ntasks; t++, s->event++)
            run_task(s, &program->tasks[step->first_task + t]);
        if (step->kind == AD_STEP_RECV)
            write_value(s, step->value, step->region);
        else if (step->kind == AD_STEP_SEND)
            read_value(s, step->value);
        s->event += step->kind != AD_STEP_COMPUTE;
    }
    for (int i = 0; outputs && i < graph->noutputs; i++)
        read_value(s, graph->outputs[i]);
    join_lives(s, program);
    memset(s->change, 0, ((size_t)s->event + 2) * sizeof *s->change);
    for (int v = 0; v < graph->nvalues; v++) {
        struct life *life = &s->lives[v];
        if (life->touched) {
            int64_t bytes = ad_region_bytes(graph, v, life->hull);
            s->change[life->first] += bytes;
            s->change[life->last + 1] -= bytes;
        }
    }
    int64_t peak = 0, alive = 0;
    for (int64_t e = 0; e <= s->event; e++) {
        alive += s->change[e];
        peak = alive + s->scratch[e] > peak ? alive + s->scratch[e] : peak;
    }
    memset(s->lives, 0, (size_t)graph->nvalues * sizeof *s->lives);
    return peak;
}

/* Bytes of the weights noted in s->slices, which are forgotten. */
static int64_t weight_bytes(struct sweep *s)
{
    const struct ad_graph *graph = s->graph;
    int64_t total = 0;
    for (int w = 0; w < graph->nweights; w++) {
        int64_t bytes = (s->slices[w].r1 - s->slices[w].r0) * graph->weights[w].row_elements *
                        (int64_t)sizeof(float);
        total += s->slices[w].times > 0 ? (int64_t)((double)bytes * s->slices[w].times) : bytes;
    }
    memset(s->slices, 0, (size_t)graph->nweights * sizeof *s->slices);
    return total;
}

/* The messages of an inference that has no buffers yet. */
static int64_t message_bytes(const struct ad_graph *graph, const struct ad_program *program)
{
    int64_t bytes = 0;
    for (int i = 0; i < program->nsteps; i++)
        if (program->steps[i].kind == AD_STEP_RECV)
            bytes += ad_region_bytes(graph, program->steps[i].value, program->steps[i].region);
    return bytes;
}

/* What a device holds of the inferences of a turn, beside weights. */
static int64_t turn_bytes(struct sweep *s, const struct ad_schedule *first,
                          const struct ad_stream *stream, int turn, int device, bool source)
{
    const struct ad_program *p = &ad_stream_turn(stream, first, turn)->programs[device];
    int most = ad_stream_most(stream, turn);
    int buffered = ad_stream_buffered(stream, first, turn, device);
    if (buffered == most)
        return most * buffer_bytes(s, p, source, source);
    int tail = ad_stream_tail(s->graph, stream, first, turn, device, source);
    bool split = tail < p->nsteps;
    struct ad_program head = ad_program_head(p, tail), rest = ad_program_rest(p, tail);
    return buffered * buffer_bytes(s, &head, source, source && !split) +
           (most - buffered) * message_bytes(s->graph, &head) +
           (split ? most * buffer_bytes(s, &rest, false, source) : 0);
}

enum adaps_status ad_stream_memory(const struct ad_graph *graph, const struct ad_cluster *cluster,
                                   const struct ad_schedule *first, const struct ad_stream *stream,
                                   int64_t *memory, int64_t *weights, struct adaps_error *err)
{
    size_t events = 0, nvalues = (size_t)graph->nvalues, nweights = (size_t)graph->nweights;
    for (int t = 0; t < stream->nturns; t++)
        for (int d = 0; d < first->ndevices; d++) {
            const struct ad_program *p = &ad_stream_turn(stream, first, t)->programs[d];
            size_t n = (size_t)p->nsteps + (size_t)p->ntasks;
            events = n > events ? n : events;
        }
    struct sweep s = {
        .graph = graph,
        .lives = ad_calloc(nvalues, sizeof *s.lives),
        .slices = ad_calloc(nweights, sizeof *s.slices),
        .change = ad_calloc(events + 2, sizeof *s.change),
        .scratch = ad_calloc(events + 2, sizeof *s.scratch),
    };
    bool room = s.lives && s.slices && s.change && s.scratch &&
                ad_program_aliases_init(&s.places, graph, err) == ADAPS_OK;
    for (int d = 0; room && d < first->ndevices; d++) {
        s.threads = cluster->devices[d].threads;
        memory[d] = 0;
        for (int t = 0; t < stream->nturns; t++)
            memory[d] += turn_bytes(&s, first, stream, t, d, d == cluster->source);
        int64_t bytes = weight_bytes(&s);
        memory[d] += bytes;
        if (weights)
            weights[d] = bytes;
    }
    ad_free(s.lives);
    ad_free(s.slices);
    ad_free(s.change);
    ad_free(s.scratch);
    ad_program_aliases_fini(&s.places);
    return room ? ADAPS_OK : ad_error_memory(err, "memory of a schedule", events);
}

enum adaps_status ad_schedule_memory(const struct ad_graph *graph, const struct ad_cluster *cluster,
                                     struct ad_schedule *schedule, struct adaps_error *err)
{
    return ad_stream_memory(graph, cluster, schedule, &AD_STREAM_ONE, schedule->memory, NULL, err);
}
