#include "exec/agent/worker.h"
#include "base/clock.h"
#include "base/machine.h"
#include "ir/picture.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A profile may take one part in so many of the free memory: other programs need some, too. */
#define PROFILE_SHARE 2

/* --- loading --- */

void ad_worker_unload(struct ad_worker *worker)
{
    ad_engine_free(worker->engine);
    for (int i = 0; i < worker->nmappings; i++)
        ad_cache_unmap(&worker->mappings[i]);
    ad_free(worker->mappings);
    ad_free(worker->inputs.data);
    ad_free(worker->outputs.data);
    adaps_plan_free(worker->plan);
    worker->engine = NULL;
    worker->mappings = NULL;
    worker->nmappings = 0;
    worker->plan = NULL;
    memset(&worker->inputs, 0, sizeof worker->inputs);
    memset(&worker->outputs, 0, sizeof worker->outputs);
}

/* ad_weight_source: a slice out of the cache, mapped while the engine is made. */
static enum adaps_status read_slice(const struct ad_weight_source *source,
                                    const struct ad_slice *slice, int64_t r0, int64_t r1, float *to,
                                    struct adaps_error *err)
{
    struct ad_worker *worker = source->self;
    const struct ad_slices *slices = &worker->plan->slices[worker->device];
    size_t row = (size_t)worker->plan->graph->weights[slice->weight].row_elements;
    for (int i = 0; i < slices->count; i++) {
        const struct ad_slice *s = &slices->items[i];
        if (s->weight != slice->weight || s->row0 != slice->row0 || s->row1 != slice->row1)
            continue;
        struct ad_mapping *mapping = &worker->mappings[i];
        if (mapping->fd < 0) {
            size_t rows = (size_t)(s->row1 - s->row0);
            enum adaps_status status =
                ad_cache_map(worker->cache, &s->digest, rows * row * sizeof(float), mapping, err);
            if (status != ADAPS_OK)
                return status;
        }
        memcpy(to, (const float *)mapping->data + (size_t)(r0 - s->row0) * row,
               (size_t)(r1 - r0) * row * sizeof *to);
        return ADAPS_OK;
    }
    return ad_error_set(err, ADAPS_EINTERNAL,
                        "rows %lld:%lld of weight %d are no slice of the plan",
                        (long long)slice->row0, (long long)slice->row1, slice->weight);
}

/* Room for the network's inputs or outputs, at the source. */
static enum adaps_status make_ends(const struct ad_worker *worker, const int *values, int n,
                                   struct ad_ends *out, struct adaps_error *err)
{
    if (worker->device != worker->plan->cluster.source)
        return ADAPS_OK;
    size_t bytes = (size_t)ad_values_elements(worker->plan->graph, values, n) * sizeof(float);
    out->data = ad_alloc_aligned(bytes);
    if (!out->data)
        return ad_error_memory(err, "network inputs or outputs", bytes);
    out->bytes = bytes;
    return ADAPS_OK;
}

/* As the agent's options say; else as the plan says, but one core is left to the communication. */
static int compute_threads(const struct ad_worker *worker, const struct adaps_plan *plan,
                           int device)
{
    struct ad_machine machine;
    if (worker->threads > 0)
        return worker->threads;
    ad_machine_look(&machine);
    int threads = plan->cluster.devices[device].threads;
    int most = ad_machine_most_threads(machine.cores);
    return threads < most ? threads : most;
}

static enum adaps_status build(struct ad_worker *worker, struct adaps_error *err)
{
    const struct ad_job *job = &worker->job;
    void *data;
    size_t size;
    enum adaps_status status = ad_cache_plan(worker->cache, &job->plan, &data, &size, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_plan_unpack(data, size, "the plan", &worker->plan, err);
    ad_free(data);
    if (status != ADAPS_OK)
        return status;
    if (job->device < 0 || job->device >= worker->plan->cluster.ndevices)
        return ad_error_set(err, ADAPS_EINPUT, "the plan has %d devices, not one of number %d",
                            worker->plan->cluster.ndevices, job->device);
    worker->device = job->device;
    const struct ad_graph *graph = worker->plan->graph;
    worker->pictures = ad_picture_all(graph);
    int nslices = worker->plan->slices[job->device].count;
    worker->mappings = ad_calloc((size_t)nslices, sizeof *worker->mappings);
    if (!worker->mappings)
        return ad_error_memory(err, "weights", (size_t)nslices * sizeof *worker->mappings);
    worker->nmappings = nslices;
    for (int i = 0; i < nslices; i++)
        worker->mappings[i].fd = -1;
    status = make_ends(worker, graph->inputs, graph->ninputs, &worker->inputs, err);
    if (status == ADAPS_OK)
        status = make_ends(worker, graph->outputs, graph->noutputs, &worker->outputs, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_engine_options options = {.device = job->device,
                                        .threads =
                                            compute_threads(worker, worker->plan, job->device),
                                        .cancel = &worker->cancel,
                                        .speed = worker->speed};
    struct ad_weight_source source = {.read = read_slice, .self = worker};
    status = ad_engine_new(worker->plan, &options, &source, &worker->engine, err);
    for (int i = 0; i < nslices; i++)
        ad_cache_unmap_locked(&worker->mappings[i]);
    return status;
}

static enum adaps_status load(struct ad_worker *worker, struct adaps_error *err)
{
    const struct ad_job *job = &worker->job;
    enum adaps_status status = ADAPS_OK;
    if (!worker->engine || worker->device != job->device ||
        !ad_digest_equal(&worker->loaded, &job->plan)) {
        ad_worker_unload(worker); /* before building: two engines may not fit into memory */
        status = build(worker, err);
        if (status != ADAPS_OK) {
            ad_worker_unload(worker);
            return status;
        }
        worker->loaded = job->plan;
    }
    ad_peer_links_close(&worker->links);
    worker->links = (struct ad_peer_links){.context = worker->context,
                                           .plan = worker->plan,
                                           .device = worker->device,
                                           .session = job->session,
                                           .cancel = &worker->cancel,
                                           .wake_fd = worker->wake_fd};
    status = ad_peer_links_open(&worker->links, worker->host, worker->keys, job->peers, job->npeers,
                                err);
    if (status != ADAPS_OK)
        ad_peer_links_close(&worker->links);
    return status;
}

/* --- running --- */

static void feed(struct ad_worker *worker)
{
    const struct ad_graph *graph = worker->plan->graph;
    const float *data = worker->inputs.data;
    int64_t offset = 0;
    for (int i = 0; i < graph->ninputs && data; i++) {
        if (worker->job.pictures)
            ad_engine_feed_bytes(worker->engine, i, (const uint8_t *)data + offset);
        else
            ad_engine_feed(worker->engine, i, data + offset);
        offset += ad_box_elements(graph->values[graph->inputs[i]].box);
    }
}

static void fetch(struct ad_worker *worker)
{
    const struct ad_graph *graph = worker->plan->graph;
    float *to = worker->outputs.data;
    for (int i = 0; i < graph->noutputs && to; i++) {
        ad_engine_fetch(worker->engine, i, to);
        to += ad_box_elements(graph->values[graph->outputs[i]].box);
    }
}

static enum adaps_status run(struct ad_worker *worker, struct adaps_error *err)
{
    const struct ad_program *program = &worker->plan->schedule.programs[worker->device];
    struct ad_job_result *result = &worker->result;
    struct ad_peer_links *links = &worker->links;
    struct ad_transport transport = ad_peer_links_transport(links);
    int64_t begin = ad_clock_ns(), first = 0, last = 0;
    links->inference = worker->job.inference;
    links->deadline_ns = worker->job.deadline_ns;
    enum adaps_status status = ad_peer_links_begin(links, worker->job.trace, err);
    if (status != ADAPS_OK)
        return status;
    feed(worker);
    for (int i = 0; i < program->nsteps; i++) {
        atomic_store_explicit(&worker->step, i, memory_order_relaxed);
        links->step = (uint32_t)i;
        status = ad_engine_step(worker->engine, i, &transport, err);
        if (status != ADAPS_OK) {
            result->step = i;
            return status;
        }
        int64_t start_ns, end_ns;
        ad_engine_times(worker->engine, i, &start_ns, &end_ns);
        first = i == 0 ? start_ns : first;
        last = end_ns;
        if (program->steps[i].kind == AD_STEP_COMPUTE)
            result->compute_ns += end_ns - start_ns;
        else if (program->steps[i].kind == AD_STEP_RECV)
            result->wait_ns += end_ns - start_ns;
    }
    fetch(worker);
    result->begin_ns = begin;
    result->latency_ns = ad_clock_ns() - begin;
    result->total_ns = last - first;
    result->bytes_sent = links->bytes_sent;
    result->messages_sent = links->messages_sent;
    return ADAPS_OK;
}

void ad_worker_times(const struct ad_worker *worker, int step, int64_t *start_ns, int64_t *mark_ns,
                     int64_t *end_ns, int64_t *left_ns)
{
    enum ad_step_kind kind = worker->plan->schedule.programs[worker->device].steps[step].kind;
    ad_engine_times(worker->engine, step, start_ns, end_ns);
    const struct ad_timestamps *timestamps = worker->links.timestamps;
    *mark_ns = kind == AD_STEP_COMPUTE ? *end_ns : ad_timestamps_get(timestamps, step);
    *left_ns = kind == AD_STEP_SEND ? ad_timestamps_left(timestamps, step) : 0;
    if (kind == AD_STEP_RECV && !ad_timestamps_waited(timestamps, step))
        *start_ns = *mark_ns; /* it may have come while the step was about to look */
}

static enum adaps_status profile(struct ad_worker *worker, struct adaps_error *err)
{
    struct ad_machine machine;
    ad_worker_unload(worker); /* before building: two engines may not fit into memory */
    ad_machine_look(&machine);
    struct ad_profile_options options = {.threads = compute_threads(worker, worker->job.tasks, 0),
                                         .speed = worker->speed,
                                         .budget_ns = worker->job.budget_ns,
                                         .memory = machine.memory_available / PROFILE_SHARE,
                                         .cancel = &worker->cancel};
    return ad_profile_run(worker->job.tasks, &options, &worker->result.times, err);
}

static void work(struct ad_worker *worker)
{
    const struct ad_job *job = &worker->job;
    struct ad_job_result *result = &worker->result;
    memset(result, 0, sizeof *result);
    switch (job->kind) {
    case AD_JOB_LOAD:
        result->status = load(worker, &result->err);
        break;
    case AD_JOB_JOIN:
        worker->links.deadline_ns = job->deadline_ns;
        result->status =
            ad_peer_links_join(&worker->links, worker->keys, job->peers, job->npeers, &result->err);
        break;
    case AD_JOB_RUN:
        result->status = run(worker, &result->err);
        break;
    case AD_JOB_PROFILE:
        result->status = profile(worker, &result->err);
        break;
    default:
        ad_peer_links_close(&worker->links);
        break;
    }
}

static void *work_on(void *self)
{
    struct ad_worker *worker = self;
    ad_priority_set(&worker->priority);
    for (enum ad_job_kind kind = AD_JOB_NONE; kind != AD_JOB_QUIT;) {
        pthread_mutex_lock(&worker->mutex);
        while (!worker->has_job)
            pthread_cond_wait(&worker->posted, &worker->mutex);
        worker->has_job = false;
        pthread_mutex_unlock(&worker->mutex);
        kind = worker->job.kind;
        work(worker);
        if (kind == AD_JOB_QUIT)
            ad_worker_unload(worker);
        pthread_mutex_lock(&worker->mutex);
        worker->done = true;
        pthread_mutex_unlock(&worker->mutex);
        eventfd_write(worker->done_fd, 1);
    }
    return NULL;
}

/* --- the control thread's side --- */

enum adaps_status ad_worker_start(struct ad_worker *worker, struct adaps_error *err)
{
    worker->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    worker->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int reason = worker->done_fd < 0 || worker->wake_fd < 0 ? errno : 0;
    pthread_mutex_init(&worker->mutex, NULL);
    pthread_cond_init(&worker->posted, NULL);
    if (reason == 0)
        reason = pthread_create(&worker->thread, NULL, work_on, worker);
    if (reason == 0)
        return ADAPS_OK;
    if (worker->done_fd >= 0)
        close(worker->done_fd);
    if (worker->wake_fd >= 0)
        close(worker->wake_fd);
    return ad_error_set(err, ADAPS_EINTERNAL, "cannot start the compute thread: %s",
                        strerror(reason));
}

void ad_worker_post(struct ad_worker *worker)
{
    eventfd_t count;
    worker->busy = true;
    worker->cancel = 0; /* the worker is idle: nobody else looks */
    eventfd_read(worker->wake_fd, &count);
    atomic_store(&worker->step, 0);
    pthread_mutex_lock(&worker->mutex);
    worker->has_job = true;
    worker->done = false;
    pthread_cond_signal(&worker->posted);
    pthread_mutex_unlock(&worker->mutex);
}

void ad_worker_cancel(struct ad_worker *worker)
{
    if (!worker->busy)
        return;
    worker->cancel = 1;
    eventfd_write(worker->wake_fd, 1);
}

bool ad_worker_finish(struct ad_worker *worker)
{
    eventfd_t count;
    if (!worker->busy || eventfd_read(worker->done_fd, &count) != 0)
        return false;
    pthread_mutex_lock(&worker->mutex);
    worker->busy = !worker->done;
    pthread_mutex_unlock(&worker->mutex);
    return !worker->busy;
}

void ad_worker_stop(struct ad_worker *worker)
{
    struct pollfd done = {.fd = worker->done_fd, .events = POLLIN};
    ad_worker_cancel(worker);
    while (worker->busy && !ad_worker_finish(worker))
        poll(&done, 1, -1);
    ad_profile_times_fini(&worker->result.times);
    worker->job.kind = AD_JOB_QUIT;
    ad_worker_post(worker);
    pthread_join(worker->thread, NULL);
    pthread_cond_destroy(&worker->posted);
    pthread_mutex_destroy(&worker->mutex);
    close(worker->done_fd);
    close(worker->wake_fd);
}
