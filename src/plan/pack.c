/* Plan -> bytes. The message tree lives in one arena and borrows the plan's strings. */
#include "ir/operators.h"
#include "plan/internal.h"
#include "base/protobuf.h"
#include "plan/spares.h"

#include <string.h>

/* n initialised messages of a type, as protobuf-c wants repeated fields. NULL without memory. */
static void *new_list(struct ad_arena *arena, const ProtobufCMessageDescriptor *type, size_t n)
{
    void **list = ad_arena_alloc(arena, n ? n : 1, sizeof *list);
    size_t size = (type->sizeof_message + 15) & ~(size_t)15;
    char *messages = ad_arena_alloc(arena, n ? n : 1, size);
    if (!list || !messages)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        list[i] = messages + i * size;
        protobuf_c_message_init(type, list[i]);
    }
    return list;
}

static void *new_message(struct ad_arena *arena, const ProtobufCMessageDescriptor *type)
{
    void *message = ad_arena_alloc(arena, 1, type->sizeof_message);
    if (message)
        protobuf_c_message_init(type, message);
    return message;
}

static ProtobufCBinaryData digest_bytes(const struct ad_digest *digest)
{
    return (ProtobufCBinaryData){sizeof digest->bytes, ad_protobuf_borrow(digest->bytes)};
}

static bool pack_region(struct ad_arena *arena, struct ad_region r, Adaps__Plan__Region **out)
{
    Adaps__Plan__Region *m = new_message(arena, &adaps__plan__region__descriptor);
    if (!m)
        return false;
    m->h0 = r.h0;
    m->h1 = r.h1;
    m->w0 = r.w0;
    m->w1 = r.w1;
    m->c0 = r.c0;
    m->c1 = r.c1;
    *out = m;
    return true;
}

static bool pack_window(struct ad_arena *arena, const struct ad_window *w,
                        Adaps__Plan__Window **out)
{
    Adaps__Plan__Window *m = new_message(arena, &adaps__plan__window__descriptor);
    if (!m)
        return false;
    m->kh = w->kh;
    m->kw = w->kw;
    m->sh = w->sh;
    m->sw = w->sw;
    m->dh = w->dh;
    m->dw = w->dw;
    m->pt = w->pt;
    m->pl = w->pl;
    m->pb = w->pb;
    m->pr = w->pr;
    m->real_pb = w->real_pb;
    m->real_pr = w->real_pr;
    *out = m;
    return true;
}

static bool pack_resampling(struct ad_arena *arena, const struct ad_resampling *r,
                            Adaps__Plan__Resampling **out)
{
    Adaps__Plan__Resampling *m = ad_arena_alloc(arena, 1, sizeof *m);
    Adaps__Plan__Positions *axes = ad_arena_alloc(arena, 3, sizeof *axes);
    Adaps__Plan__Positions **list = ad_arena_alloc(arena, 3, sizeof(Adaps__Plan__Positions *));
    if (!m || !axes || !list)
        return false;
    adaps__plan__resampling__init(m);
    m->method = (uint32_t)r->method;
    m->edge = (uint32_t)r->edge;
    m->fill = r->fill;
    m->cubic = r->cubic;
    m->exclude_outside = r->exclude_outside;
    m->n_axes = 3;
    m->axes = list;
    for (int i = 0; i < 3; i++) {
        adaps__plan__positions__init(&axes[i]);
        axes[i].step = r->axis[i].step;
        axes[i].start = r->axis[i].start;
        axes[i].unit = r->axis[i].unit;
        list[i] = &axes[i];
    }
    *out = m;
    return true;
}

static bool pack_whole(struct ad_arena *arena, const struct ad_whole *whole,
                       Adaps__Plan__Whole **out)
{
    Adaps__Plan__Whole *m = new_message(arena, &adaps__plan__whole__descriptor);
    if (!m)
        return false;
    m->kind = (uint32_t)whole->kind;
    m->to = (uint32_t)whole->to;
    m->n_ints = (size_t)whole->nints;
    m->ints = ad_protobuf_borrow(whole->ints);
    m->n_floats = (size_t)whole->nfloats;
    m->floats = ad_protobuf_borrow(whole->floats);
    *out = m;
    return true;
}

/* The fields that only some kinds have; what is not set is not in the file. */
static bool pack_fields(struct ad_arena *arena, const struct ad_op *op, Adaps__Plan__Op *m)
{
    uint32_t fields = ad_operator_of(op->kind)->fields;
    if (ad_op_is_conv(op)) {
        m->winograd = op->winograd;
        m->partial = op->partial;
    }
    if (fields & AD_FIELD_COUNT_PAD)
        m->count_include_pad = op->count_include_pad;
    if (fields & AD_FIELD_LRN) {
        m->lrn_size = op->lrn_size;
        m->lrn_alpha = op->lrn_alpha;
        m->lrn_beta = op->lrn_beta;
        m->lrn_bias = op->lrn_bias;
    }
    if (fields & AD_FIELD_ROWS) {
        m->outer = op->outer;
        m->inner = op->inner;
    }
    if (fields & AD_FIELD_CHANNELS)
        m->inner = op->inner;
    if (fields & AD_FIELD_REDUCTION)
        m->reduction = (uint32_t)op->reduction;
    if (fields & AD_FIELD_VIEW) {
        m->n_view_dims = m->n_perm = (size_t)op->view_rank;
        m->view_dims = ad_protobuf_borrow(op->view_dims);
        m->perm = ad_protobuf_borrow(op->perm);
    }
    if (fields & AD_FIELD_BLOCK)
        m->block = op->block;
    if (fields & AD_FIELD_CHANNEL_MAJOR)
        m->channel_major = op->channel_major;
    if (fields & AD_FIELD_RESAMPLING && !pack_resampling(arena, &op->resampling, &m->resampling))
        return false;
    if (fields & AD_FIELD_WHOLE && !pack_whole(arena, &op->whole, &m->whole))
        return false;
    return !(fields & (AD_FIELD_WINDOW | AD_FIELD_BLOCKS)) ||
           pack_window(arena, &op->window, &m->window);
}

static bool pack_op(struct ad_arena *arena, const struct ad_op *op, Adaps__Plan__Op *m)
{
    m->kind = (uint32_t)op->kind;
    m->name = ad_protobuf_borrow(op->name);
    m->type = ad_protobuf_borrow(op->type);
    m->n_inputs = (size_t)op->ninputs;
    m->inputs = op->inputs;
    m->output = op->output;
    m->weight = op->weight;
    m->bias = op->bias;
    m->groups = op->groups;
    m->function = (uint32_t)op->function;
    m->alpha = op->alpha;
    m->beta = op->beta;
    m->clamp_min = op->clamp_min;
    m->clamp_max = op->clamp_max;
    return pack_fields(arena, op, m);
}

static bool pack_value(struct ad_arena *arena, const struct ad_value *value, Adaps__Plan__Value *m)
{
    int64_t *box = ad_arena_alloc(arena, 4, sizeof *box);
    if (!box)
        return false;
    box[0] = value->box.n;
    box[1] = value->box.h;
    box[2] = value->box.w;
    box[3] = value->box.c;
    m->name = ad_protobuf_borrow(value->name);
    m->n_dims = (size_t)value->rank;
    m->dims = ad_protobuf_borrow(value->dims);
    m->format = (uint32_t)value->format;
    m->n_box = 4;
    m->box = box;
    m->type = value->type == ADAPS_FLOAT32 ? 0 : (uint32_t)value->type;
    m->open = value->open;
    m->scale = value->scale;
    m->zero = value->zero;
    m->producer = value->producer;
    m->constant = value->constant;
    return true;
}

static bool pack_metadata(struct ad_arena *arena, const char **pairs, Adaps__Plan__Graph *m)
{
    size_t n = 0;
    while (pairs && pairs[2 * n])
        n++;
    m->n_metadata = n;
    m->metadata = new_list(arena, &adaps__plan__graph__metadata_entry__descriptor, n);
    for (size_t i = 0; m->metadata && i < n; i++) {
        m->metadata[i]->key = ad_protobuf_borrow(pairs[2 * i]);
        m->metadata[i]->value = ad_protobuf_borrow(pairs[2 * i + 1]);
    }
    return m->metadata != NULL;
}

static bool pack_graph(struct ad_arena *arena, const struct ad_graph *graph,
                       Adaps__Plan__Graph **out)
{
    Adaps__Plan__Graph *m = new_message(arena, &adaps__plan__graph__descriptor);
    if (!m)
        return false;
    m->name = ad_protobuf_borrow(graph->name ? graph->name : "");
    m->n_ops = (size_t)graph->nops;
    m->ops = new_list(arena, &adaps__plan__op__descriptor, m->n_ops);
    m->n_values = (size_t)graph->nvalues;
    m->values = new_list(arena, &adaps__plan__value__descriptor, m->n_values);
    m->n_weights = (size_t)graph->nweights;
    m->weights = new_list(arena, &adaps__plan__weight__descriptor, m->n_weights);
    if (!m->ops || !m->values || !m->weights)
        return false;
    for (int i = 0; i < graph->nops; i++)
        if (!pack_op(arena, &graph->ops[i], m->ops[i]))
            return false;
    for (int i = 0; i < graph->nvalues; i++)
        if (!pack_value(arena, &graph->values[i], m->values[i]))
            return false;
    for (int i = 0; i < graph->nweights; i++) {
        m->weights[i]->name = ad_protobuf_borrow(graph->weights[i].name);
        m->weights[i]->rows = graph->weights[i].rows;
        m->weights[i]->row_elements = graph->weights[i].row_elements;
        m->weights[i]->digest = digest_bytes(&graph->weights[i].digest);
    }
    m->n_inputs = (size_t)graph->ninputs;
    m->inputs = graph->inputs;
    m->n_outputs = (size_t)graph->noutputs;
    m->outputs = graph->outputs;
    *out = m;
    return pack_metadata(arena, graph->metadata, m);
}

static bool pack_shapes(struct ad_arena *arena, const struct ad_shapes *shapes,
                        Adaps__Plan__CostTable *m)
{
    m->n_shapes = ad_shapes_count(shapes);
    m->shapes = new_list(arena, &adaps__plan__shape__descriptor, m->n_shapes);
    for (size_t i = 0; m->shapes && i < m->n_shapes; i++) {
        const struct ad_shape_time *time = ad_shapes_item(shapes, i);
        size_t n = (size_t)time->npoints;
        Adaps__Plan__Shape *to = m->shapes[i];
        char text[AD_SHAPE_TEXT];
        to->what = ad_arena_strdup(arena, ad_shape_format(&time->shape, text, sizeof text));
        to->rows = ad_arena_alloc(arena, n, sizeof *to->rows);
        to->seconds = ad_arena_alloc(arena, n, sizeof *to->seconds);
        if (!to->what || !to->rows || !to->seconds)
            return false;
        to->n_rows = to->n_seconds = n;
        for (size_t k = 0; k < n; k++) {
            to->rows[k] = time->points[k].rows;
            to->seconds[k] = time->points[k].seconds;
        }
    }
    return m->shapes != NULL;
}

static bool pack_encodings(struct ad_arena *arena, const struct ad_encoding_rates *rates,
                           Adaps__Plan__CostTable *m)
{
    m->encodings = new_list(arena, &adaps__plan__encoding_rate__descriptor, AD_ENCODINGS);
    for (uint32_t e = 0; m->encodings && e < AD_ENCODINGS; e++)
        if (rates->encode[e] > 0 || rates->decode[e] > 0) {
            Adaps__Plan__EncodingRate *rate = m->encodings[m->n_encodings++];
            rate->encoding = e;
            rate->encode = rates->encode[e];
            rate->decode = rates->decode[e];
        }
    return m->encodings != NULL;
}

static bool pack_device(struct ad_arena *arena, const struct ad_device *device,
                        Adaps__Plan__Device *m)
{
    m->name = ad_protobuf_borrow(device->name);
    m->board = ad_protobuf_borrow(device->board);
    m->address = ad_protobuf_borrow(device->address);
    m->key = ad_protobuf_borrow(device->key);
    m->speed = device->speed;
    m->memory = device->memory;
    m->threads = device->threads;
    m->table = new_message(arena, &adaps__plan__cost_table__descriptor);
    if (!m->table)
        return false;
    m->table->n_rate = AD_COST_CLASSES;
    m->table->rate = ad_protobuf_borrow(device->table.rate);
    m->table->constant_s = device->table.constant_s;
    m->table->memory_bw = device->table.memory_bw;
    m->table->message_s = device->table.message_s;
    m->table->message_bw = device->table.message_bw;
    m->table->feed_rate = device->table.feed_rate;
    m->table->fetch_rate = device->table.fetch_rate;
    m->table->source = ad_protobuf_borrow(device->table.source);
    m->table->tile = device->table.tile;
    m->table->idle_mw = device->table.power.idle_mw;
    m->table->core_mw = device->table.power.core_mw;
    m->table->network_mw = device->table.power.network_mw;
    return pack_encodings(arena, &device->table.encoding, m->table) &&
           pack_shapes(arena, device->table.shapes, m->table);
}

static bool pack_cluster(struct ad_arena *arena, const struct ad_cluster *cluster,
                         Adaps__Plan__Cluster **out)
{
    Adaps__Plan__Cluster *m = new_message(arena, &adaps__plan__cluster__descriptor);
    if (!m)
        return false;
    m->n_devices = (size_t)cluster->ndevices;
    m->devices = new_list(arena, &adaps__plan__device__descriptor, m->n_devices);
    m->n_links = m->n_devices * m->n_devices;
    m->links = new_list(arena, &adaps__plan__link__descriptor, m->n_links);
    m->source = cluster->source;
    m->shared_medium = cluster->shared_medium;
    if (!m->devices || !m->links)
        return false;
    for (size_t i = 0; i < m->n_devices; i++)
        if (!pack_device(arena, &cluster->devices[i], m->devices[i]))
            return false;
    for (size_t i = 0; i < m->n_links; i++) {
        if (i % (m->n_devices + 1) == 0)
            continue; /* the unused diagonal is left empty */
        m->links[i]->bandwidth = cluster->links[i].bandwidth;
        m->links[i]->latency = cluster->links[i].latency;
    }
    *out = m;
    return true;
}

static bool pack_step(struct ad_arena *arena, const struct ad_program *program,
                      const struct ad_step *step, Adaps__Plan__Step *m)
{
    m->kind = (Adaps__Plan__Step__Kind)step->kind;
    m->start_ns = step->start_ns;
    m->end_ns = step->end_ns;
    if (step->kind != AD_STEP_COMPUTE) {
        m->value = step->value;
        m->peer = step->peer;
        m->tag = step->tag;
        m->encoding = (Adaps__Plan__Step__Encoding)step->encoding;
        return pack_region(arena, step->region, &m->region);
    }
    m->n_tasks = (size_t)step->ntasks;
    m->tasks = new_list(arena, &adaps__plan__task__descriptor, m->n_tasks);
    for (int i = 0; m->tasks && i < step->ntasks; i++) {
        const struct ad_task *task = &program->tasks[step->first_task + i];
        m->tasks[i]->op = task->op;
        if (!pack_region(arena, task->region, &m->tasks[i]->region))
            return false;
    }
    return m->tasks != NULL;
}

/* slices: NULL: none. */
static bool pack_program(struct ad_arena *arena, const struct ad_schedule *schedule, int device,
                         const struct ad_slices *slices, Adaps__Plan__Program *m)
{
    const struct ad_program *program = &schedule->programs[device];
    m->busy_ns = schedule->busy_ns[device];
    m->memory = schedule->memory[device];
    m->buffered = (uint32_t)program->buffered;
    m->n_steps = (size_t)program->nsteps;
    m->steps = new_list(arena, &adaps__plan__step__descriptor, m->n_steps);
    m->n_slices = slices ? (size_t)slices->count : 0;
    m->slices = new_list(arena, &adaps__plan__slice__descriptor, m->n_slices);
    if (!m->steps || !m->slices)
        return false;
    for (int i = 0; i < program->nsteps; i++)
        if (!pack_step(arena, program, &program->steps[i], m->steps[i]))
            return false;
    for (int i = 0; slices && i < slices->count; i++) {
        m->slices[i]->weight = slices->items[i].weight;
        m->slices[i]->row0 = slices->items[i].row0;
        m->slices[i]->row1 = slices->items[i].row1;
        m->slices[i]->digest = digest_bytes(&slices->items[i].digest);
    }
    return true;
}

static bool pack_stream(struct ad_arena *arena, const struct adaps_plan *plan, Adaps__Plan__Plan *m)
{
    const struct ad_stream *stream = &plan->stream;
    m->frames = (uint32_t)stream->frames;
    m->interval_ns = stream->interval_ns;
    m->stream_latency_ns = stream->latency_ns;
    m->n_turns = (size_t)stream->nturns - 1;
    m->turns = new_list(arena, &adaps__plan__turn__descriptor, m->n_turns);
    m->n_deal = (size_t)stream->ndeal;
    m->deal = ad_arena_alloc(arena, m->n_deal, sizeof *m->deal);
    if (!m->turns || !m->deal)
        return false;
    for (size_t i = 0; i < m->n_deal; i++)
        m->deal[i] = (uint32_t)stream->deal[i];
    for (size_t t = 0; t < m->n_turns; t++) {
        const struct ad_schedule *schedule = &stream->others[t];
        Adaps__Plan__Turn *turn = m->turns[t];
        turn->predicted_ns = schedule->makespan_ns;
        turn->bytes = schedule->bytes;
        turn->messages = schedule->messages;
        turn->n_programs = (size_t)schedule->ndevices;
        turn->programs = new_list(arena, &adaps__plan__program__descriptor, turn->n_programs);
        for (int d = 0; turn->programs && d < schedule->ndevices; d++)
            if (!pack_program(arena, schedule, d, NULL, turn->programs[d]))
                return false;
        if (!turn->programs)
            return false;
    }
    return true;
}

/* All that a spare has, too: what its devices do, and what is predicted of it. */
static bool pack_work(struct ad_arena *arena, const struct adaps_plan *plan, Adaps__Plan__Plan *m)
{
    m->strategy = ad_protobuf_borrow(plan->strategy);
    m->predicted_ns = plan->schedule.makespan_ns;
    m->single_ns = plan->single_ns;
    m->single_device = plan->single_device;
    m->bytes = plan->schedule.bytes;
    m->messages = plan->schedule.messages;
    m->visited = plan->visited;
    m->space_log10 = plan->space_log10;
    m->note = ad_protobuf_borrow(plan->note);
    m->lower_bound_ns = plan->lower_bound_ns;
    m->n_programs = (size_t)plan->cluster.ndevices;
    m->programs = new_list(arena, &adaps__plan__program__descriptor, m->n_programs);
    if (!m->programs)
        return false;
    for (int d = 0; d < plan->cluster.ndevices; d++)
        if (!pack_program(arena, &plan->schedule, d, &plan->slices[d], m->programs[d]))
            return false;
    return pack_stream(arena, plan, m);
}

static bool pack_plan(struct ad_arena *arena, const struct adaps_plan *plan, Adaps__Plan__Plan *m)
{
    m->model_path = plan->model_path;
    m->model_digest = digest_bytes(&plan->model_digest);
    m->threshold = plan->threshold;
    m->gather_type3 = plan->gather_type3;
    return pack_work(arena, plan, m) && pack_graph(arena, plan->graph, &m->graph) &&
           pack_cluster(arena, &plan->cluster, &m->cluster);
}

static bool pack_spares(struct ad_arena *arena, const struct adaps_plan *plan, Adaps__Plan__Plan *m)
{
    m->n_spares = (size_t)plan->nspares;
    m->spares = new_list(arena, &adaps__plan__spare__descriptor, m->n_spares);
    for (size_t i = 0; m->spares && i < m->n_spares; i++) {
        Adaps__Plan__Plan work = ADAPS__PLAN__PLAN__INIT;
        if (!pack_work(arena, plan->spares[i].plan, &work))
            return false;
        m->spares[i]->lost = plan->spares[i].lost;
        ad_plan_spare_from_work(&work, m->spares[i]);
    }
    return m->spares != NULL;
}

enum adaps_status ad_plan_check_graph_limits(size_t ops, size_t values, size_t weights,
                                             size_t inputs, size_t outputs, struct adaps_error *err)
{
    const struct {
        const char *what;
        size_t count, limit;
    } limits[] = {
        {"ops", ops, AD_PLAN_MAX_OPS},
        {"values", values, AD_PLAN_MAX_VALUES},
        {"weights", weights, AD_PLAN_MAX_WEIGHTS},
        {"inputs", inputs, AD_PLAN_MAX_ENDS},
        {"outputs", outputs, AD_PLAN_MAX_ENDS},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].count > limits[i].limit)
            return ad_error_set(err, ADAPS_EINPUT, "the graph has %zu %s: a plan holds at most %zu",
                                limits[i].count, limits[i].what, limits[i].limit);
    return ADAPS_OK;
}

static enum adaps_status check_limits(const struct adaps_plan *plan, struct adaps_error *err)
{
    const struct ad_graph *g = plan->graph;
    size_t steps = 0, tasks = 0;
    for (int t = 0; t < plan->stream.nturns; t++)
        for (int d = 0; d < plan->cluster.ndevices; d++) {
            const struct ad_program *program = &ad_plan_turn(plan, t)->programs[d];
            steps += (size_t)program->nsteps;
            tasks += (size_t)program->ntasks;
        }
    if (steps > AD_PLAN_MAX_STEPS || tasks > AD_PLAN_MAX_TASKS)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%zu steps with %zu tasks: a plan holds at most %d and %d", steps,
                            tasks, AD_PLAN_MAX_STEPS, AD_PLAN_MAX_TASKS);
    return ad_plan_check_graph_limits((size_t)g->nops, (size_t)g->nvalues, (size_t)g->nweights,
                                      (size_t)g->ninputs, (size_t)g->noutputs, err);
}

enum adaps_status ad_plan_pack_graph(const struct ad_graph *graph, void **data, size_t *size,
                                     struct adaps_error *err)
{
    struct ad_arena arena = {0};
    Adaps__Plan__Graph *message;
    enum adaps_status status = ad_plan_check_graph_limits(
        (size_t)graph->nops, (size_t)graph->nvalues, (size_t)graph->nweights,
        (size_t)graph->ninputs, (size_t)graph->noutputs, err);
    if (status != ADAPS_OK)
        return status;
    *data = NULL;
    if (pack_graph(&arena, graph, &message)) {
        *size = protobuf_c_message_get_packed_size(&message->base);
        *data = ad_calloc(*size, 1);
        if (*data)
            protobuf_c_message_pack(&message->base, *data);
    }
    ad_arena_fini(&arena);
    return *data ? ADAPS_OK : ad_error_memory(err, "graph", (size_t)graph->nops);
}

/* Head and message into one block. */
static enum adaps_status write_out(const Adaps__Plan__Plan *message, void **data, size_t *size,
                                   struct adaps_error *err)
{
    size_t body = protobuf_c_message_get_packed_size(&message->base);
    size_t total = AD_PLAN_HEAD_BYTES + body;
    if (total > AD_PLAN_MAX_BYTES)
        return ad_error_set(err, ADAPS_EINPUT, "the plan takes %zu bytes: at most %zu", total,
                            AD_PLAN_MAX_BYTES);
    uint8_t *out = ad_calloc(total, 1);
    if (!out)
        return ad_error_memory(err, "plan file", total);
    protobuf_c_message_pack(&message->base, out + AD_PLAN_HEAD_BYTES);
    struct ad_digest digest = ad_digest_of(out + AD_PLAN_HEAD_BYTES, body);
    memcpy(out, AD_PLAN_MAGIC, 8);
    out[8] = AD_PLAN_VERSION; /* little-endian; the other three bytes are 0 */
    memcpy(out + 12, digest.bytes, sizeof digest.bytes);
    *data = out;
    *size = total;
    return ADAPS_OK;
}

/* The bytes of a message from where its model_path, the first field, ends. */
static size_t path_end(const uint8_t *message, size_t size)
{
    size_t length = 0, at = 1;
    if (size == 0 || message[0] != 0x0a) /* field 1, of bytes */
        return 0;
    for (int shift = 0; at < size && shift < 35; shift += 7) {
        uint8_t byte = message[at++];
        length |= (size_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return length <= size - at ? at + length : 0;
    }
    return 0;
}

struct ad_digest ad_plan_digest(const void *data, size_t size)
{
    const uint8_t *message = (const uint8_t *)data + AD_PLAN_HEAD_BYTES;
    struct ad_digester digester;
    if (size < AD_PLAN_HEAD_BYTES)
        return ad_digest_of(data, size);
    size_t body = size - AD_PLAN_HEAD_BYTES, skip = path_end(message, body);
    ad_digester_init(&digester);
    ad_digester_add(&digester, data, AD_PLAN_HEAD_BYTES - AD_DIGEST_BYTES);
    ad_digester_add(&digester, message + skip, body - skip);
    return ad_digester_end(&digester);
}

static enum adaps_status pack(const struct adaps_plan *plan, bool with_spares, void **data,
                              size_t *size, struct adaps_error *err)
{
    enum adaps_status status = check_limits(plan, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_arena arena = {0};
    Adaps__Plan__Plan message = ADAPS__PLAN__PLAN__INIT;
    if (pack_plan(&arena, plan, &message) && (!with_spares || pack_spares(&arena, plan, &message)))
        status = write_out(&message, data, size, err);
    else
        status = ad_error_memory(err, "plan message", sizeof message);
    ad_arena_fini(&arena);
    return status;
}

enum adaps_status ad_plan_pack(const struct adaps_plan *plan, void **data, size_t *size,
                               struct adaps_error *err)
{
    return pack(plan, false, data, size, err);
}

enum adaps_status ad_plan_pack_file(const struct adaps_plan *plan, void **data, size_t *size,
                                    struct adaps_error *err)
{
    return pack(plan, true, data, size, err);
}
