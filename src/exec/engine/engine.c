/* The engine: creation, steps, inputs and outputs. */
#include "exec/engine/bands.h"
#include "exec/engine/internal.h"
#include "exec/kernels/encode.h"
#include "exec/kernels/picture.h"

#include "base/clock.h"
#include "ir/weight.h"

#include <string.h>

/* The actions of one task. */
struct job {
    size_t first, end;
};

struct ad_engine {
    const struct adaps_plan *plan;
    struct ad_row_bands bands;
    const struct ad_program *program; /* bands.program */
    struct ad_engine *beside;         /* NULL: pool and shared are this engine's */
    struct pthreadpool *pool;
    struct ad_shared_weights *shared;
    size_t slice_bytes;
    const atomic_int *cancel;
    atomic_int *op; /* nullable: what is being computed, for others to see */
    struct ad_throttle throttle,
        *pace;                  /* pace: of the thread that computes; &throttle, or beside's */
    struct ad_buffer *buffers;  /* by value */
    struct ad_scratch *scratch; /* by task */
    struct job *jobs;           /* by task */
    bool *fused;                /* by task: computed with the next one */
    struct ad_actions actions;
    struct ad_span_list *spans;    /* by step; none for COMPUTE */
    struct ad_encode_room room;    /* for messages that are not of float32; empty: there are none */
    struct ad_picture pictures[2]; /* ad_picture_of_inputs() */
    int64_t *times;                /* start and end, by step */
    int waiting;                   /* the RECV that was tried in vain; -1: none */
    float *arena;
    size_t arena_bytes, weight_bytes;
};

/* --- creation --- */

static enum adaps_status allocate_tables(struct ad_engine *e, struct adaps_error *err)
{
    size_t nvalues = (size_t)e->plan->graph->nvalues;
    size_t nsteps = (size_t)e->program->nsteps, ntasks = (size_t)e->program->ntasks;
    e->buffers = ad_calloc(nvalues, sizeof *e->buffers);
    e->scratch = ad_calloc(ntasks, sizeof *e->scratch);
    e->jobs = ad_calloc(ntasks, sizeof *e->jobs);
    e->fused = ad_calloc(ntasks, sizeof *e->fused);
    e->spans = ad_calloc(nsteps, sizeof *e->spans);
    e->times = ad_calloc(2 * nsteps, sizeof *e->times);
    if (e->buffers && e->scratch && e->jobs && e->fused && e->spans && e->times)
        return ADAPS_OK;
    return ad_error_memory(err, "program",
                           nvalues * sizeof *e->buffers + ntasks * sizeof *e->scratch +
                               nsteps * sizeof *e->spans);
}

/* Constant operands are copied to buffers of their own. */
static enum adaps_status bind_constants(struct ad_engine *e, const struct ad_build *build,
                                        struct adaps_error *err)
{
    const struct ad_graph *graph = e->plan->graph;
    for (int t = 0; t < e->program->ntasks; t++) {
        const struct ad_op *op = &graph->ops[e->program->tasks[t].op];
        for (int k = 0; k < op->ninputs; k++) {
            const struct ad_value *value = &graph->values[op->inputs[k]];
            struct ad_buffer *buffer = &e->buffers[op->inputs[k]];
            if (value->constant < 0 || buffer->data)
                continue;
            size_t bytes =
                (size_t)graph->weights[value->constant].row_elements * sizeof *buffer->data;
            buffer->box = buffer->lies = ad_region_whole(value);
            buffer->data = ad_alloc_aligned(bytes);
            if (!buffer->data)
                return ad_error_memory(err, "constant", bytes);
            enum adaps_status status =
                ad_task_weight(build, value->constant, 0, 1, 1, buffer->data, err);
            if (status != ADAPS_OK)
                return status;
            e->weight_bytes += bytes;
        }
    }
    return ADAPS_OK;
}

/* What the largest slice takes; larger ones are packed in parts, but for convolutions. */
static enum adaps_status take_rows(const struct ad_engine *e, int device, struct ad_rows *rows,
                                   struct adaps_error *err)
{
    const struct ad_slices *slices = &e->plan->slices[device];
    for (int i = 0; i < slices->count; i++) {
        uint64_t bytes = ad_slice_bytes(e->plan, &slices->items[i]);
        bytes = bytes < AD_WEIGHT_BYTES ? bytes : AD_WEIGHT_BYTES;
        rows->bytes = bytes > rows->bytes ? (size_t)bytes : rows->bytes;
    }
    rows->data = ad_alloc_aligned(rows->bytes);
    return rows->data ? ADAPS_OK : ad_error_memory(err, "weights", rows->bytes);
}

static enum adaps_status build_tasks(struct ad_engine *e, const struct ad_build *build,
                                     struct adaps_error *err)
{
    for (int t = 0; t < e->program->ntasks; t++) {
        const struct ad_task *task = &e->program->tasks[t];
        enum adaps_status status = ADAPS_OK;
        e->jobs[t].first = e->actions.count;
        if (t > 0 && e->fused[t - 1])
            status = ad_task_build_residual(build, task - 1, task, &e->scratch[t], err);
        else if (!e->fused[t])
            status = ad_task_build(build, task, &e->scratch[t], err);
        e->jobs[t].end = e->actions.count;
        if (status != ADAPS_OK)
            return status;
    }
    return ADAPS_OK;
}

/* Every convolution knows whose weights are next. */
static void look_ahead(struct ad_engine *e)
{
    const struct ad_conv *next = NULL;
    for (size_t i = e->actions.count; i-- > 0;) {
        struct ad_action *action = &e->actions.items[i];
        if (action->kind != AD_ACTION_CONV)
            continue;
        if (next && next->packed != action->conv.packed)
            ad_conv_look_ahead(&action->conv, next);
        next = &action->conv;
    }
}

static enum adaps_status build_spans(struct ad_engine *e, struct adaps_error *err)
{
    for (int i = 0; i < e->program->nsteps; i++) {
        const struct ad_step *step = &e->program->steps[i];
        if (step->kind == AD_STEP_COMPUTE)
            continue;
        enum adaps_status status =
            ad_buffer_spans(&e->buffers[step->value], step->region, &e->spans[i], err);
        if (status != ADAPS_OK)
            return status;
    }
    return ADAPS_OK;
}

/* Room for messages that are not of float32, and the levels of pictures. */
static enum adaps_status prepare_encodings(struct ad_engine *e, struct adaps_error *err)
{
    size_t largest = 0;
    unsigned encodings = 0;
    ad_picture_of_inputs(e->plan->graph, e->pictures);
    for (int i = 0; i < e->program->nsteps; i++) {
        const struct ad_step *step = &e->program->steps[i];
        if (step->kind == AD_STEP_COMPUTE || step->encoding == AD_ENCODING_F32)
            continue;
        size_t bytes = ad_spans_bytes(&e->spans[i]);
        largest = bytes > largest ? bytes : largest;
        encodings |= AD_ENCODING_BIT(step->encoding);
    }
    return largest > 0 ? ad_encode_room_init(&e->room, encodings, largest, err) : ADAPS_OK;
}

static enum adaps_status build(struct ad_engine *e, const struct ad_engine_options *options,
                               const struct ad_weight_source *weights, struct adaps_error *err)
{
    const struct ad_graph *graph = e->plan->graph;
    struct ad_rows rows = {NULL, 0};
    struct ad_build b = {.plan = e->plan,
                         .program = e->program,
                         .device = options->device,
                         .weights = weights,
                         .buffers = e->buffers,
                         .pool = e->pool,
                         .weight_bytes = &e->weight_bytes,
                         .actions = &e->actions,
                         .shared = e->shared,
                         .rows = &rows,
                         .slice_bytes = e->slice_bytes,
                         .threads = ad_pool_threads(e->pool),
                         .scratch = e->scratch};
    int nticks;
    bool source = options->device == e->plan->cluster.source;
    enum adaps_status status = ad_residuals_find(graph, e->program, e->fused, err);
    if (status == ADAPS_OK)
        status = ad_buffers_find(graph, e->program, source && options->part != AD_ENGINE_TAIL,
                                 source && options->part != AD_ENGINE_HEAD, e->fused,
                                 e->bands.passing, e->buffers, &nticks, err);
    for (int t = 0; t < e->program->ntasks && status == ADAPS_OK; t++) {
        bool sum = t > 0 && e->fused[t - 1]; /* the scratch of a fused convolution is its sum's */
        const struct ad_task *task = &e->program->tasks[sum ? t - 1 : t];
        if (!e->fused[t])
            status = ad_task_scratch(graph, e->buffers, task, b.threads, &e->scratch[t], err);
    }
    if (status == ADAPS_OK)
        status = ad_buffers_place(graph, e->program, e->buffers, e->scratch, &e->arena,
                                  &e->arena_bytes, err);
    if (status == ADAPS_OK)
        status = bind_constants(e, &b, err);
    if (status == ADAPS_OK)
        status = take_rows(e, options->device, &rows, err);
    if (status == ADAPS_OK)
        status = build_tasks(e, &b, err);
    ad_free(rows.data);
    look_ahead(e);
    if (status == ADAPS_OK)
        status = build_spans(e, err);
    return status == ADAPS_OK ? prepare_encodings(e, err) : status;
}

/* Threads, their pace and the table of packed weights: its own, or those of the engine beside it.
 */
static enum adaps_status take_common(struct ad_engine *e, const struct ad_engine_options *options,
                                     struct adaps_error *err)
{
    const struct adaps_plan *plan = e->plan;
    if (e->beside) {
        e->pool = e->beside->pool;
        e->pace = e->beside->pace;
        e->shared = e->beside->shared;
        e->slice_bytes = e->beside->slice_bytes;
        return ADAPS_OK;
    }
    int threads =
        options->threads > 0 ? options->threads : plan->cluster.devices[options->device].threads;
    e->shared = ad_shared_weights_new(plan->graph);
    if (!e->shared)
        return ad_error_memory(err, "engine", (size_t)plan->graph->nops * sizeof *e->shared);
    enum adaps_status status = ad_pool_new(threads, &e->pool, err);
    e->throttle = (struct ad_throttle){
        .fraction = options->speed, .wall = threads > 1, .cancel = options->cancel};
    e->pace = &e->throttle;
    if (status == ADAPS_OK)
        e->slice_bytes =
            options->slice_bytes > 0 ? options->slice_bytes : ad_task_slice_bytes(e->pool);
    return status;
}

static struct ad_program part_of(const struct adaps_plan *plan,
                                 const struct ad_engine_options *options)
{
    const struct ad_program *program =
        &ad_plan_turn(plan, options->turn)->programs[options->device];
    if (options->part == AD_ENGINE_WHOLE)
        return *program;
    int tail = ad_program_tail(plan->graph, program, options->device == plan->cluster.source);
    return options->part == AD_ENGINE_HEAD ? ad_program_head(program, tail)
                                           : ad_program_rest(program, tail);
}

enum adaps_status ad_engine_new(const struct adaps_plan *plan,
                                const struct ad_engine_options *options,
                                const struct ad_weight_source *weights, struct ad_engine **out,
                                struct adaps_error *err)
{
    int device = options->device;
    *out = NULL;
    if (device < 0 || device >= plan->cluster.ndevices)
        return ad_error_set(err, ADAPS_EUSAGE, "device %d of %d", device, plan->cluster.ndevices);
    if (options->turn < 0 || options->turn >= plan->stream.nturns)
        return ad_error_set(err, ADAPS_EUSAGE, "turn %d of %d", options->turn, plan->stream.nturns);
    struct ad_engine *e = ad_calloc(1, sizeof *e);
    if (!e)
        return ad_error_memory(err, "engine", sizeof *e);
    e->plan = plan;
    const struct ad_program part = part_of(plan, options);
    e->program = &e->bands.program;
    e->beside = options->beside;
    e->waiting = -1;
    e->cancel = options->cancel;
    e->op = options->op;
    enum adaps_status status = ad_xnn_init(err);
    if (status == ADAPS_OK)
        status = take_common(e, options, err);
    if (status == ADAPS_OK)
        status = ad_row_bands_find(plan->graph, &part,
                                   2 * e->slice_bytes * (size_t)ad_pool_threads(e->pool), &e->bands,
                                   err);
    if (status == ADAPS_OK)
        status = allocate_tables(e, err);
    if (status == ADAPS_OK)
        status = build(e, options, weights, err);
    if (status == ADAPS_OK) {
        *out = e;
        return ADAPS_OK;
    }
    ad_error_prefix(err, "device %s: ", plan->cluster.devices[device].name);
    ad_engine_free(e);
    return status;
}

void ad_engine_set_speed(struct ad_engine *e, double speed)
{
    e->pace->fraction = speed;
}

void ad_engine_free(struct ad_engine *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->actions.count; i++)
        ad_action_free(&e->actions.items[i]);
    for (int i = 0; e->spans && i < e->program->nsteps; i++)
        ad_free(e->spans[i].spans);
    for (int v = 0; e->buffers && v < e->plan->graph->nvalues; v++)
        if (e->plan->graph->values[v].constant >= 0)
            ad_free(e->buffers[v].data);
    ad_throttle_fini(&e->throttle);
    if (!e->beside) {
        ad_shared_weights_free(e->shared, e->plan->graph->nops);
        ad_pool_free(e->pool);
    }
    ad_free(e->actions.items);
    ad_free(e->arena);
    ad_free(e->buffers);
    ad_free(e->scratch);
    ad_free(e->jobs);
    ad_free(e->fused);
    ad_free(e->spans);
    ad_encode_room_fini(&e->room);
    ad_free(e->times);
    ad_row_bands_fini(&e->bands);
    ad_free(e);
}

size_t ad_engine_arena_bytes(const struct ad_engine *e)
{
    return e->arena_bytes;
}

size_t ad_engine_weight_bytes(const struct ad_engine *e)
{
    return e->weight_bytes;
}

void ad_engine_times(const struct ad_engine *e, int i, int64_t *start_ns, int64_t *end_ns)
{
    *start_ns = e->times[2 * i];
    *end_ns = e->times[2 * i + 1];
}

/* --- inputs and outputs --- */

/* The whole of a value that is fed or read, and whether its memory order is not the file's. */
static struct ad_view whole_view(const struct ad_engine *e, int value)
{
    return ad_buffer_view(&e->buffers[value], ad_region_whole(&e->plan->graph->values[value]));
}

static size_t whole_bytes(const struct ad_view *v)
{
    return (size_t)(v->n * v->h * v->w * v->c) * sizeof(float);
}

void ad_engine_feed(struct ad_engine *e, int input, const float *data)
{
    int value = e->plan->graph->inputs[input];
    struct ad_view v = whole_view(e, value);
    if (e->plan->graph->values[value].format == AD_PLAIN) {
        memcpy(v.data, data, whole_bytes(&v));
        return;
    }
    struct ad_elementwise copy = ad_elementwise_from_nchw(&v, data);
    ad_throttle_begin(e->pace);
    ad_elementwise_run(&copy, e->pool);
    ad_throttle_end(e->pace);
}

void ad_engine_feed_bytes(struct ad_engine *e, int input, const uint8_t *bytes)
{
    struct ad_view v = whole_view(e, e->plan->graph->inputs[input]);
    ad_throttle_begin(e->pace);
    ad_pixels_spread(&e->pictures[v.c > 1], bytes, &v);
    ad_throttle_end(e->pace);
}

void ad_engine_fetch(struct ad_engine *e, int output, float *data)
{
    int value = e->plan->graph->outputs[output];
    struct ad_view v = whole_view(e, value);
    if (e->plan->graph->values[value].format == AD_PLAIN) {
        memcpy(data, v.data, whole_bytes(&v));
        return;
    }
    struct ad_elementwise copy = ad_elementwise_to_nchw(data, &v);
    ad_throttle_begin(e->pace);
    ad_elementwise_run(&copy, e->pool);
    ad_throttle_end(e->pace);
}

/* --- steps --- */

static enum adaps_status cancelled(const struct ad_engine *e, struct adaps_error *err)
{
    if (!e->cancel || !*e->cancel)
        return ADAPS_OK;
    return ad_error_set(err, ADAPS_EAGENT, "cancelled");
}

static void say_op(const struct ad_engine *e, int op)
{
    if (e->op)
        atomic_store_explicit(e->op, op, memory_order_relaxed);
}

static enum adaps_status compute(struct ad_engine *e, int i, struct adaps_error *err)
{
    const struct ad_step *step = &e->program->steps[i];
    enum adaps_status status = ADAPS_OK;
    ad_throttle_begin(e->pace);
    for (int t = step->first_task; t < step->first_task + step->ntasks; t++) {
        status = cancelled(e, err);
        say_op(e, e->program->tasks[t].op);
        for (size_t a = e->jobs[t].first; a < e->jobs[t].end && status == ADAPS_OK; a++)
            status = ad_action_run(&e->actions.items[a], e->pool, err);
        if (status != ADAPS_OK)
            return status;
        ad_throttle_pause(e->pace);
    }
    ad_throttle_end(e->pace);
    say_op(e, -1);
    return cancelled(e, err);
}

static const struct ad_picture *picture_of(const struct ad_engine *e, const struct ad_step *step)
{
    return &e->pictures[e->plan->graph->values[step->value].box.c > 1];
}

/* In its encoding; what should be a picture and is none, does not shrink, or is too large for zfp,
 * as what it is. */
static enum adaps_status send(struct ad_engine *e, int i, const struct ad_transport *transport,
                              struct adaps_error *err)
{
    const struct ad_step *step = &e->program->steps[i];
    struct ad_span span = {.base = e->room.bytes, .runs = 1};
    struct ad_span_list bytes = {.spans = &span, .count = 1};
    if (ad_encode_knows(step->encoding)) {
        span.run_bytes = ad_encode(step->encoding, &e->spans[i], &e->room);
    } else if (step->encoding == AD_ENCODING_U8) {
        struct ad_view view = ad_buffer_view(&e->buffers[step->value], step->region);
        if (ad_pixels_encode(picture_of(e, step), &view, step->region.c0, e->room.bytes))
            span.run_bytes = (size_t)ad_step_bytes(e->plan->graph, step);
    }
    return transport->send(transport->self, step, span.run_bytes > 0 ? &bytes : &e->spans[i], err);
}

/* A message comes in its encoding, as it is, or as the sender chose of both (cost/encoding.h). */
static enum adaps_status receive(struct ad_engine *e, int i, const struct ad_transport *transport,
                                 struct adaps_error *err)
{
    const struct ad_step *step = &e->program->steps[i];
    size_t size = (size_t)ad_step_bytes(e->plan->graph, step);
    struct ad_span span = {.base = e->room.bytes, .runs = 1, .run_bytes = size};
    struct ad_span_list forms[2];
    int nforms = 0, form = 0;
    if (step->encoding != AD_ENCODING_F16)
        forms[nforms++] = e->spans[i];
    if (step->encoding != AD_ENCODING_F32)
        forms[nforms++] =
            (struct ad_span_list){&span, 1, step->encoding == AD_ENCODING_LZ4 ? &size : NULL};
    enum adaps_status status = transport->recv(transport->self, step, forms, nforms, &form, err);
    if (status != ADAPS_OK || forms[form].spans != &span)
        return status;
    if (ad_encode_knows(step->encoding)) {
        status = ad_decode(step->encoding, &e->room, size, &e->spans[i], err);
        return status == ADAPS_OK
                   ? status
                   : ad_error_prefix(err,
                                     "from device %s: ", e->plan->cluster.devices[step->peer].name);
    }
    struct ad_view view = ad_buffer_view(&e->buffers[step->value], step->region);
    ad_pixels_decode(picture_of(e, step), e->room.bytes, &view, step->region.c0);
    return ADAPS_OK;
}

enum adaps_status ad_engine_step(struct ad_engine *e, int i, const struct ad_transport *transport,
                                 struct adaps_error *err)
{
    const struct ad_step *step = &e->program->steps[i];
    enum adaps_status status = cancelled(e, err);
    if (status != ADAPS_OK)
        return status;
    if (e->waiting != i)
        e->times[2 * i] = ad_clock_ns();
    if (step->kind == AD_STEP_COMPUTE)
        status = compute(e, i, err);
    else if (step->kind == AD_STEP_SEND)
        status = send(e, i, transport, err);
    else
        status = receive(e, i, transport, err);
    e->times[2 * i + 1] = ad_clock_ns();
    e->waiting = status == ADAPS_NO ? i : -1;
    return status;
}
