/* Bytes -> plan. The bytes may come from anybody: nothing is used before it has been checked, and
 * memory is bounded by the file's size. */
#include "plan/unpack.h"
#include "base/file.h"
#include "base/protobuf.h"
#include "ir/operators.h"
#include "plan/spares.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Into a field of fixed size; a longer text is refused, not cut. */
static enum adaps_status copy_field(const char *from, char *to, size_t size, const char *what,
                                    struct adaps_error *err)
{
    size_t n = strlen(from);
    if (n >= size)
        return ad_error_set(err, ADAPS_EINPUT, "%s has %zu bytes: at most %zu", what, n, size - 1);
    memcpy(to, from, n + 1);
    return ADAPS_OK;
}

static struct ad_region region_of(const Adaps__Plan__Region *m)
{
    if (!m)
        return (struct ad_region){0};
    return (struct ad_region){m->h0, m->h1, m->w0, m->w1, m->c0, m->c1};
}

/* Finite and above zero. */
static bool positive(double x)
{
    return isfinite(x) && x > 0;
}

static enum adaps_status unpack_encodings(const Adaps__Plan__CostTable *m,
                                          struct ad_encoding_rates *rates, struct adaps_error *err)
{
    for (size_t i = 0; i < m->n_encodings; i++) {
        const Adaps__Plan__EncodingRate *r = m->encodings[i];
        bool good = r->encoding < AD_ENCODINGS && (r->encode == 0 || positive(r->encode)) &&
                    (r->decode == 0 || positive(r->decode)) && r->encode + r->decode > 0;
        if (!good || (i > 0 && r->encoding <= m->encodings[i - 1]->encoding))
            return ad_error_set(err, ADAPS_EINPUT, "encoding %" PRIu32 " at %g and %g bytes/s",
                                r->encoding, r->encode, r->decode);
        rates->encode[r->encoding] = r->encode;
        rates->decode[r->encoding] = r->decode;
    }
    return ADAPS_OK;
}

/* In thousandths of a watt; 0 is not known. */
static bool is_power(int32_t mw)
{
    return mw >= 0 && mw <= 10000000;
}

static enum adaps_status unpack_table(const Adaps__Plan__CostTable *m, struct ad_cost_table *table,
                                      struct adaps_error *err)
{
    if (!m || m->n_rate != AD_COST_CLASSES)
        return ad_error_set(err, ADAPS_EINPUT, "a cost table of %zu rates, not %d",
                            m ? m->n_rate : 0, AD_COST_CLASSES);
    for (size_t i = 0; i < m->n_rate; i++) {
        if (!positive(m->rate[i]) &&
            !((size_t)ad_cost_stand_in((enum ad_cost_class)i) != i && m->rate[i] == 0))
            return ad_error_set(err, ADAPS_EINPUT, "rate %zu is %g", i, m->rate[i]);
        table->rate[i] = m->rate[i];
    }
    if (!(isfinite(m->constant_s) && m->constant_s >= 0) || !positive(m->memory_bw))
        return ad_error_set(err, ADAPS_EINPUT, "constant %g s, memory bandwidth %g", m->constant_s,
                            m->memory_bw);
    if (!(isfinite(m->message_s) && m->message_s >= 0 && isfinite(m->message_bw) &&
          m->message_bw >= 0))
        return ad_error_set(err, ADAPS_EINPUT, "messages of %g s and %g bytes/s", m->message_s,
                            m->message_bw);
    if (!(isfinite(m->feed_rate) && m->feed_rate >= 0 && isfinite(m->fetch_rate) &&
          m->fetch_rate >= 0))
        return ad_error_set(err, ADAPS_EINPUT, "inputs of %g and outputs of %g elements/s",
                            m->feed_rate, m->fetch_rate);
    if (m->tile < 0 || m->tile > 64)
        return ad_error_set(err, ADAPS_EINPUT, "a tile of %" PRId32 " pixels", m->tile);
    if (!is_power(m->idle_mw) || !is_power(m->core_mw) || !is_power(m->network_mw))
        return ad_error_set(err, ADAPS_EINPUT,
                            "a power of %" PRId32 ", %" PRId32 " and %" PRId32 " mW", m->idle_mw,
                            m->core_mw, m->network_mw);
    table->power = (struct ad_power){m->idle_mw, m->core_mw, m->network_mw};
    table->tile = m->tile;
    table->constant_s = m->constant_s;
    table->memory_bw = m->memory_bw;
    table->message_s = m->message_s;
    table->message_bw = m->message_bw;
    table->feed_rate = m->feed_rate;
    table->fetch_rate = m->fetch_rate;
    enum adaps_status status = unpack_encodings(m, &table->encoding, err);
    if (status != ADAPS_OK)
        return status;
    return copy_field(m->source, table->source, sizeof table->source, "the table's source", err);
}

static enum adaps_status unpack_shape(const Adaps__Plan__Shape *m, struct ad_shapes *shapes,
                                      struct adaps_error *err)
{
    struct ad_shape_time time = {.npoints = 0};
    bool good = m->n_rows == m->n_seconds && m->n_rows <= AD_SHAPE_POINTS &&
                ad_shape_parse(m->what, &time.shape);
    for (size_t i = 0; good && i < m->n_rows; i++)
        time.points[time.npoints++] = (struct ad_shape_point){m->rows[i], m->seconds[i]};
    good = good && ad_shape_time_valid(&time);
    if (!good)
        return ad_error_set(err, ADAPS_EINPUT, "the measured shape '%.200s' is none", m->what);
    return ad_shapes_add(shapes, &time, err);
}

static enum adaps_status unpack_shapes(const Adaps__Plan__CostTable *m, struct ad_cluster *cluster,
                                       int d, struct adaps_error *err)
{
    if (m->n_shapes == 0)
        return ADAPS_OK;
    struct ad_shapes *shapes = ad_shapes_new();
    enum adaps_status status =
        shapes ? ADAPS_OK : ad_error_memory(err, "shapes", m->n_shapes * sizeof *m);
    for (size_t i = 0; i < m->n_shapes && status == ADAPS_OK; i++)
        status = unpack_shape(m->shapes[i], shapes, err);
    if (status == ADAPS_OK)
        status = ad_shapes_finish(shapes, err);
    if (status == ADAPS_OK)
        ad_cluster_take_shapes(cluster, d, shapes);
    else
        ad_shapes_unref(shapes);
    return status;
}

static enum adaps_status unpack_device(const Adaps__Plan__Device *m, struct ad_device *device,
                                       struct adaps_error *err)
{
    enum adaps_status status = copy_field(m->name, device->name, sizeof device->name, "name", err);
    if (status == ADAPS_OK)
        status = copy_field(m->board, device->board, sizeof device->board, "board", err);
    if (status == ADAPS_OK)
        status = copy_field(m->address, device->address, sizeof device->address, "address", err);
    if (status == ADAPS_OK)
        status = copy_field(m->key, device->key, sizeof device->key, "key", err);
    if (status != ADAPS_OK)
        return status;
    if (!device->name[0])
        return ad_error_set(err, ADAPS_EINPUT, "it has no name");
    if (device->key[0] && strlen(device->key) != sizeof device->key - 1)
        return ad_error_set(err, ADAPS_EINPUT, "a key of %zu characters, not %zu",
                            strlen(device->key), sizeof device->key - 1);
    if (!positive(m->speed) || m->speed > 1000)
        return ad_error_set(err, ADAPS_EINPUT, "speed %g is not within (0, 1000]", m->speed);
    if (m->threads < 1 || m->threads > 64)
        return ad_error_set(err, ADAPS_EINPUT, "%" PRId32 " threads are not within 1..64",
                            m->threads);
    device->speed = m->speed;
    device->memory = m->memory;
    device->threads = m->threads;
    return unpack_table(m->table, &device->table, err);
}

static enum adaps_status unpack_links(const Adaps__Plan__Cluster *m, struct ad_cluster *cluster,
                                      struct adaps_error *err)
{
    for (size_t i = 0; i < m->n_links; i++) {
        const Adaps__Plan__Link *link = m->links[i];
        cluster->links[i] = (struct ad_link){link->bandwidth, link->latency};
        if (i % (m->n_devices + 1) == 0)
            cluster->links[i] = (struct ad_link){0, 0}; /* the unused diagonal */
        else if (!positive(link->bandwidth) || !isfinite(link->latency) || link->latency < 0)
            return ad_error_set(err, ADAPS_EINPUT, "link %s to %s: bandwidth %g B/s, latency %g s",
                                cluster->devices[i / m->n_devices].name,
                                cluster->devices[i % m->n_devices].name, link->bandwidth,
                                link->latency);
    }
    return ADAPS_OK;
}

/* The cluster is freed with the plan, whatever happens here. */
static enum adaps_status unpack_cluster(const Adaps__Plan__Cluster *m, struct ad_cluster *cluster,
                                        struct adaps_error *err)
{
    size_t n = (size_t)cluster->ndevices;
    if (m->n_links != n * n)
        return ad_error_set(err, ADAPS_EINPUT, "%zu links between %zu devices, not %zu", m->n_links,
                            n, n * n);
    if (m->source < 0 || (size_t)m->source >= n)
        return ad_error_set(err, ADAPS_EINPUT, "the source is device %" PRId32 " of %zu", m->source,
                            n);
    for (size_t i = 0; i < n; i++) {
        enum adaps_status status = unpack_device(m->devices[i], &cluster->devices[i], err);
        if (status == ADAPS_OK)
            status = unpack_shapes(m->devices[i]->table, cluster, (int)i, err);
        if (status != ADAPS_OK) {
            ad_error_prefix(err, "device %zu: ", i);
            return status;
        }
        for (size_t k = 0; k < i; k++)
            if (strcmp(cluster->devices[k].name, cluster->devices[i].name) == 0)
                return ad_error_set(err, ADAPS_EINPUT, "two devices are called '%s'",
                                    cluster->devices[i].name);
        cluster->devices[i].source = (int)i == m->source;
    }
    cluster->source = m->source;
    cluster->shared_medium = m->shared_medium;
    return unpack_links(m, cluster, err);
}

static enum adaps_status unpack_step(const Adaps__Plan__Step *m, struct ad_program *program,
                                     struct ad_step *step, struct adaps_error *err)
{
    *step = (struct ad_step){
        .kind = (enum ad_step_kind)m->kind, .start_ns = m->start_ns, .end_ns = m->end_ns};
    if (m->start_ns < 0 || m->end_ns < m->start_ns)
        return ad_error_set(err, ADAPS_EINPUT, "from %" PRId64 " to %" PRId64 " ns", m->start_ns,
                            m->end_ns);
    if (m->kind == ADAPS__PLAN__STEP__KIND__COMPUTE) {
        if (m->n_tasks == 0)
            return ad_error_set(err, ADAPS_EINPUT, "computes nothing");
        step->first_task = program->ntasks;
        step->ntasks = (int)m->n_tasks;
        for (size_t i = 0; i < m->n_tasks; i++)
            program->tasks[program->ntasks++] =
                (struct ad_task){m->tasks[i]->op, region_of(m->tasks[i]->region)};
        return ADAPS_OK;
    }
    if (m->kind != ADAPS__PLAN__STEP__KIND__SEND && m->kind != ADAPS__PLAN__STEP__KIND__RECV)
        return ad_error_set(err, ADAPS_EINPUT, "unknown kind %d", (int)m->kind);
    if (m->n_tasks > 0)
        return ad_error_set(err, ADAPS_EINPUT, "a message with %zu tasks", m->n_tasks);
    step->value = m->value;
    step->peer = m->peer;
    step->tag = m->tag;
    step->encoding = (enum ad_encoding)m->encoding;
    step->region = region_of(m->region);
    return ADAPS_OK;
}

static enum adaps_status unpack_program(const Adaps__Plan__Program *m, struct ad_arena *arena,
                                        struct ad_program *program, struct adaps_error *err)
{
    size_t tasks = 0;
    for (size_t i = 0; i < m->n_steps; i++)
        tasks += m->steps[i]->n_tasks;
    if (m->n_steps > AD_PLAN_MAX_STEPS || tasks > AD_PLAN_MAX_TASKS)
        return ad_error_set(err, ADAPS_EINPUT, "%zu steps with %zu tasks: at most %d and %d",
                            m->n_steps, tasks, AD_PLAN_MAX_STEPS, AD_PLAN_MAX_TASKS);
    if (m->buffered > AD_STREAM_FRAMES)
        return ad_error_set(err, ADAPS_EINPUT, "buffers for %" PRIu32 " inferences: at most %d",
                            m->buffered, AD_STREAM_FRAMES);
    program->buffered = (int)m->buffered;
    program->steps = ad_arena_alloc(arena, m->n_steps + 1, sizeof *program->steps);
    program->tasks = ad_arena_alloc(arena, tasks + 1, sizeof *program->tasks);
    if (!program->steps || !program->tasks)
        return ad_error_memory(err, "program of the plan", m->n_steps * sizeof *program->steps);
    for (size_t i = 0; i < m->n_steps; i++) {
        enum adaps_status status = unpack_step(m->steps[i], program, &program->steps[i], err);
        if (status != ADAPS_OK) {
            ad_error_prefix(err, "step %zu: ", i);
            return status;
        }
        program->nsteps++;
    }
    return ADAPS_OK;
}

/* The programs of a turn, by device, and what is predicted of it. */
static enum adaps_status unpack_turn(Adaps__Plan__Program *const *programs, size_t n,
                                     const struct adaps_plan *plan, struct ad_schedule *schedule,
                                     struct adaps_error *err)
{
    if (n != (size_t)plan->cluster.ndevices)
        return ad_error_set(err, ADAPS_EINPUT, "%zu programs for %d devices", n,
                            plan->cluster.ndevices);
    if (schedule->makespan_ns < 0 || schedule->bytes < 0 || schedule->messages < 0)
        return ad_error_set(err, ADAPS_EINPUT,
                            "predicted %" PRId64 " ns, %" PRId64 " bytes, %" PRId64 " messages",
                            schedule->makespan_ns, schedule->bytes, schedule->messages);
    schedule->programs = ad_arena_alloc(&schedule->arena, n, sizeof *schedule->programs);
    schedule->busy_ns = ad_arena_alloc(&schedule->arena, n, sizeof *schedule->busy_ns);
    schedule->memory = ad_arena_alloc(&schedule->arena, n, sizeof *schedule->memory);
    if (!schedule->programs || !schedule->busy_ns || !schedule->memory)
        return ad_error_memory(err, "plan", n * sizeof *schedule->programs);
    schedule->ndevices = (int)n;
    for (size_t d = 0; d < n; d++) {
        enum adaps_status status =
            unpack_program(programs[d], &schedule->arena, &schedule->programs[d], err);
        if (status == ADAPS_OK && (programs[d]->busy_ns < 0 || programs[d]->memory < 0))
            status =
                ad_error_set(err, ADAPS_EINPUT, "busy for %" PRId64 " ns with %" PRId64 " bytes",
                             programs[d]->busy_ns, programs[d]->memory);
        if (status != ADAPS_OK) {
            ad_error_prefix(err, "program of '%s': ", plan->cluster.devices[d].name);
            return status;
        }
        schedule->busy_ns[d] = programs[d]->busy_ns;
        schedule->memory[d] = programs[d]->memory;
    }
    return ADAPS_OK;
}

static enum adaps_status unpack_schedule(const Adaps__Plan__Plan *m, struct adaps_plan *plan,
                                         struct adaps_error *err)
{
    struct ad_schedule *schedule = &plan->schedule;
    schedule->makespan_ns = m->predicted_ns;
    schedule->bytes = m->bytes;
    schedule->messages = m->messages;
    enum adaps_status status = unpack_turn(m->programs, m->n_programs, plan, schedule, err);
    return status == ADAPS_OK ? ad_schedule_verify(plan->graph, schedule, plan->cluster.source, err)
                              : status;
}

static enum adaps_status unpack_stream(const Adaps__Plan__Plan *m, struct adaps_plan *plan,
                                       struct adaps_error *err)
{
    struct ad_stream *stream = &plan->stream;
    if (m->frames > AD_STREAM_FRAMES || m->n_turns >= AD_STREAM_DEALS ||
        m->n_deal > AD_STREAM_DEALS || m->interval_ns < 0 || m->stream_latency_ns < 0)
        return ad_error_set(err, ADAPS_EINPUT,
                            "a stream of %" PRIu32 " inferences in flight, %zu turns, a deal of "
                            "%zu, %" PRId64 " ns apart, %" PRId64 " ns each",
                            m->frames, m->n_turns + 1, m->n_deal, m->interval_ns,
                            m->stream_latency_ns);
    stream->frames = (int)m->frames;
    stream->interval_ns = m->interval_ns;
    stream->latency_ns = m->stream_latency_ns;
    stream->others = ad_calloc(m->n_turns, sizeof *stream->others);
    stream->deal = ad_calloc(m->n_deal, sizeof *stream->deal);
    if (!stream->others || !stream->deal)
        return ad_error_memory(err, "stream", m->n_turns * sizeof *stream->others);
    for (size_t t = 0; t < m->n_turns; t++) {
        const Adaps__Plan__Turn *turn = m->turns[t];
        struct ad_schedule *schedule = &stream->others[stream->nturns - 1];
        stream->nturns++;
        schedule->makespan_ns = turn->predicted_ns;
        schedule->bytes = turn->bytes;
        schedule->messages = turn->messages;
        enum adaps_status status =
            unpack_turn(turn->programs, turn->n_programs, plan, schedule, err);
        if (status != ADAPS_OK)
            return ad_error_prefix(err, "turn %zu: ", t + 1);
    }
    for (size_t i = 0; i < m->n_deal; i++)
        stream->deal[stream->ndeal++] = m->deal[i] < AD_STREAM_DEALS ? (int)m->deal[i] : -1;
    return ad_stream_verify(plan->graph, stream, plan->cluster.ndevices, plan->cluster.source, err);
}

/* The file's slices must be exactly those that follow from the tasks; only digests are news. */
static enum adaps_status unpack_slices(const Adaps__Plan__Program *m, struct adaps_plan *plan,
                                       int device, struct adaps_error *err)
{
    const struct ad_graph *graph = plan->graph;
    struct ad_slices *out = &plan->slices[device];
    enum adaps_status status =
        ad_slices_find(graph, &plan->schedule, &plan->stream, device, out, err);
    if (status != ADAPS_OK)
        return status;
    if (m->n_slices != (size_t)out->count)
        return ad_error_set(err, ADAPS_EINPUT, "%zu weight slices, its tasks take %d", m->n_slices,
                            out->count);
    for (int i = 0; i < out->count; i++) {
        const Adaps__Plan__Slice *given = m->slices[i];
        struct ad_slice *slice = &out->items[i];
        const struct ad_weight *weight = &graph->weights[slice->weight];
        if (given->weight != slice->weight || given->row0 != slice->row0 ||
            given->row1 != slice->row1)
            return ad_error_set(err, ADAPS_EINPUT,
                                "weight slice %d is rows %" PRId64 ":%" PRId64 " of weight %" PRId32
                                ", its tasks take rows %" PRId64 ":%" PRId64 " of '%s'",
                                i, given->row0, given->row1, given->weight, slice->row0,
                                slice->row1, weight->name);
        status = ad_plan_unpack_digest(&given->digest, &slice->digest, weight->name, err);
        if (status != ADAPS_OK)
            return status;
        if (slice->row0 == 0 && slice->row1 == weight->rows &&
            !ad_digest_equal(&slice->digest, &weight->digest))
            return ad_error_set(err, ADAPS_EINPUT, "two digests for the whole of weight '%s'",
                                weight->name);
    }
    return ADAPS_OK;
}

static enum adaps_status unpack_facts(const Adaps__Plan__Plan *m, struct adaps_plan *plan,
                                      struct adaps_error *err)
{
    if (!isfinite(m->threshold) || !isfinite(m->space_log10) || m->visited < 0 ||
        m->single_ns < 0 || m->single_device < -1 || m->single_device >= plan->cluster.ndevices ||
        m->lower_bound_ns < 0)
        return ad_error_set(err, ADAPS_EINPUT,
                            "threshold %g, space 10^%g, %" PRId64 " visited, device %" PRId32
                            " alone in %" PRId64 " ns, lower bound %" PRId64 " ns",
                            m->threshold, m->space_log10, m->visited, m->single_device,
                            m->single_ns, m->lower_bound_ns);
    plan->threshold = m->threshold;
    plan->gather_type3 = m->gather_type3;
    plan->space_log10 = m->space_log10;
    plan->search_s = NAN;
    plan->visited = m->visited;
    plan->single_ns = m->single_ns;
    plan->lower_bound_ns = m->lower_bound_ns;
    plan->single_device = m->single_device;
    plan->model_path = ad_strdup(m->model_path);
    if (!plan->model_path)
        return ad_error_memory(err, "plan", strlen(m->model_path) + 1);
    enum adaps_status status =
        ad_plan_unpack_digest(&m->model_digest, &plan->model_digest, "the model", err);
    if (status == ADAPS_OK)
        status = copy_field(m->strategy, plan->strategy, sizeof plan->strategy, "strategy", err);
    if (status == ADAPS_OK)
        status = copy_field(m->note, plan->note, sizeof plan->note, "note", err);
    return status;
}

/* Everything of a plan that has its graph and its cluster. */
static enum adaps_status unpack_work(const Adaps__Plan__Plan *m, struct adaps_plan *plan,
                                     struct adaps_error *err)
{
    enum adaps_status status = unpack_schedule(m, plan, err);
    if (status == ADAPS_OK)
        status = unpack_stream(m, plan, err);
    for (int d = 0; d < plan->cluster.ndevices && status == ADAPS_OK; d++) {
        status = unpack_slices(m->programs[d], plan, d, err);
        if (status != ADAPS_OK)
            ad_error_prefix(err, "program of '%s': ", plan->cluster.devices[d].name);
    }
    return status == ADAPS_OK ? unpack_facts(m, plan, err) : status;
}

/* The graph is lent to the spare, which must be freed without it. */
static enum adaps_status fill_spare(const Adaps__Plan__Plan *m, const struct adaps_plan *plan,
                                    int lost, struct adaps_plan *spare, struct adaps_error *err)
{
    int device_of[AD_MAX_DEVICES];
    bool out[AD_MAX_DEVICES] = {false};
    out[lost] = true;
    spare->graph = plan->graph;
    enum adaps_status status =
        ad_cluster_without(&plan->cluster, out, &spare->cluster, device_of, err);
    if (status == ADAPS_OK)
        status = unpack_work(m, spare, err);
    if (status == ADAPS_OK && ad_plan_lossy(spare))
        status = ad_error_set(err, ADAPS_EINPUT, "its messages are rounded");
    return status == ADAPS_OK ? ad_plan_seal(spare, err) : status;
}

static enum adaps_status unpack_spare(const Adaps__Plan__Plan *m, size_t i, struct adaps_plan *plan,
                                      struct adaps_error *err)
{
    int lost = m->spares[i]->lost;
    const struct ad_cluster *cluster = &plan->cluster;
    if (lost < 0 || lost >= cluster->ndevices || lost == cluster->source ||
        (i > 0 && lost <= m->spares[i - 1]->lost))
        return ad_error_set(err, ADAPS_EINPUT, "spare %zu is for the loss of device %d", i, lost);
    const Adaps__Plan__Plan work = ad_plan_spare_to_work(m, m->spares[i]);
    struct ad_spare spare = {lost, ad_plan_alloc(cluster->ndevices - 1)};
    if (!spare.plan)
        return ad_error_memory(err, "plan", sizeof *spare.plan);
    enum adaps_status status = fill_spare(&work, plan, lost, spare.plan, err);
    if (status == ADAPS_OK)
        status = ad_plan_add_spare(plan, lost, spare.plan, err);
    if (status == ADAPS_OK)
        return ADAPS_OK;
    ad_spare_free(&spare);
    return ad_error_prefix(err, "spare for the loss of '%s': ", cluster->devices[lost].name);
}

static enum adaps_status fill_plan(const Adaps__Plan__Plan *m, struct adaps_plan *plan,
                                   struct adaps_error *err)
{
    enum adaps_status status = ad_plan_unpack_graph(m->graph, &plan->graph, err);
    if (status == ADAPS_OK)
        status = unpack_cluster(m->cluster, &plan->cluster, err);
    if (status == ADAPS_OK)
        status = unpack_work(m, plan, err);
    for (size_t i = 0; i < m->n_spares && status == ADAPS_OK; i++)
        status = unpack_spare(m, i, plan, err);
    return status;
}

/* Magic, version, digest. */
static enum adaps_status check_head(const uint8_t *data, size_t size, struct adaps_error *err)
{
    if (size < AD_PLAN_HEAD_BYTES || memcmp(data, AD_PLAN_MAGIC, 8) != 0)
        return ad_error_set(err, ADAPS_EINPUT, "not an adaps plan");
    uint32_t version = (uint32_t)data[8] | (uint32_t)data[9] << 8 | (uint32_t)data[10] << 16 |
                       (uint32_t)data[11] << 24;
    if (version != AD_PLAN_VERSION)
        return ad_error_set(err, ADAPS_EINPUT,
                            "plan format %" PRIu32 ", this adaps reads format %d", version,
                            AD_PLAN_VERSION);
    if (size > AD_PLAN_MAX_BYTES)
        return ad_error_set(err, ADAPS_EINPUT, "a plan of %zu bytes: at most %zu", size,
                            AD_PLAN_MAX_BYTES);
    struct ad_digest digest = ad_digest_of(data + AD_PLAN_HEAD_BYTES, size - AD_PLAN_HEAD_BYTES);
    if (memcmp(digest.bytes, data + 12, sizeof digest.bytes) != 0)
        return ad_error_set(err, ADAPS_EINPUT,
                            "damaged or truncated plan: the digest does not match (%zu bytes)",
                            size);
    return ADAPS_OK;
}

static enum adaps_status parse_message(const uint8_t *data, size_t size, Adaps__Plan__Plan **out,
                                       struct adaps_error *err)
{
    ProtobufCMessage *message;
    size_t budget = ad_protobuf_budget(size, AD_PLAN_BUDGET_FACTOR, AD_PLAN_BUDGET_BASE);
    enum ad_protobuf_result result =
        ad_protobuf_unpack(&adaps__plan__plan__descriptor, data, size, budget, &message);
    *out = (Adaps__Plan__Plan *)message;
    if (result == AD_PROTOBUF_OK)
        return ADAPS_OK;
    if (result == AD_PROTOBUF_NO_MEMORY)
        return ad_error_memory(err, "plan message", size);
    if (result == AD_PROTOBUF_TOO_LARGE)
        return ad_error_set(err, ADAPS_EINPUT,
                            "the plan's %zu bytes would take more than %zu bytes of memory", size,
                            budget);
    return ad_error_set(err, ADAPS_EINPUT, "malformed plan message (%zu bytes)", size);
}

static enum adaps_status unpack_message(const Adaps__Plan__Plan *m, struct adaps_plan **out,
                                        struct adaps_error *err)
{
    size_t n = m->cluster ? m->cluster->n_devices : 0;
    if (n < 1 || n > AD_MAX_DEVICES)
        return ad_error_set(err, ADAPS_EINPUT, "%zu devices: 1..%d are possible", n,
                            AD_MAX_DEVICES);
    struct adaps_plan *plan = ad_plan_alloc((int)n);
    if (!plan)
        return ad_error_memory(err, "plan", sizeof *plan);
    enum adaps_status status = ad_cluster_init(&plan->cluster, (int)n, err);
    if (status == ADAPS_OK)
        status = fill_plan(m, plan, err);
    if (status == ADAPS_OK)
        *out = plan;
    else
        adaps_plan_free(plan);
    return status;
}

enum adaps_status ad_plan_unpack(const void *data, size_t size, const char *what,
                                 struct adaps_plan **out, struct adaps_error *err)
{
    Adaps__Plan__Plan *message = NULL;
    enum adaps_status status = check_head(data, size, err);
    if (status == ADAPS_OK)
        status = parse_message((const uint8_t *)data + AD_PLAN_HEAD_BYTES,
                               size - AD_PLAN_HEAD_BYTES, &message, err);
    if (status == ADAPS_OK)
        status = unpack_message(message, out, err);
    if (status == ADAPS_OK && (*out)->nspares > 0) {
        status = ad_plan_seal(*out, err);
        if (status != ADAPS_OK) {
            adaps_plan_free(*out);
            *out = NULL;
        }
    } else if (status == ADAPS_OK) {
        (*out)->digest = ad_plan_digest(data, size);
    }
    if (status != ADAPS_OK)
        ad_error_prefix(err, "%s: ", what);
    ad_protobuf_free((ProtobufCMessage *)message);
    return status;
}

enum adaps_status ad_plan_load(const char *path, struct adaps_plan **out, struct adaps_error *err)
{
    void *data;
    size_t size;
    struct adaps_plan *plan = NULL;
    enum adaps_status status = ad_file_read(path, AD_PLAN_MAX_BYTES, &data, &size, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_plan_unpack(data, size, path, &plan, err);
    ad_free(data);
    if (status != ADAPS_OK)
        return status;
    plan->plan_path = ad_strdup(path);
    if (!plan->plan_path) {
        adaps_plan_free(plan);
        return ad_error_memory(err, path, strlen(path) + 1);
    }
    *out = plan;
    return ADAPS_OK;
}
