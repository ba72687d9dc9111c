#include "exec/agent/worker.h"
#include "base/clock.h"
#include "base/machine.h"
#include "exec/agent/ceiling.h"
#include "exec/agent/profile_request.h"
#include "ir/picture.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A profile may take one part in so many of the free memory: other programs need some, too. */
#define PROFILE_SHARE 2

/* Between two looks at the ports of a session in which nothing is asked. */
#define LOOK_NS 100000000

/* --- loading --- */

/* The thread looks at them while it waits, whoever frees them. */
static void free_runs(struct ad_worker *worker)
{
    pthread_mutex_lock(&worker->mutex);
    struct ad_worker_run *runs = worker->runs;
    int n = worker->nruns;
    worker->runs = NULL;
    worker->nruns = 0;
    pthread_mutex_unlock(&worker->mutex);
    for (int i = 0; i < n; i++) {
        ad_free(runs[i].inputs.data);
        ad_free(runs[i].outputs.data);
        ad_timestamps_unref(runs[i].timestamps);
    }
    ad_free(runs);
    worker->input_bytes = 0;
}

static void free_engines(struct ad_worker *worker)
{
    for (int i = worker->nengines - 1; i >= 0; i--) /* the first has what the others share */
        ad_engine_free(worker->engines[i].engine);
    ad_free(worker->engines);
    worker->engines = NULL;
    worker->nengines = 0;
}

void ad_worker_unload(struct ad_worker *worker)
{
    ad_live_set_plan(worker->live, NULL);
    free_engines(worker);
    free_runs(worker);
    for (int i = 0; i < worker->nweights; i++)
        ad_cached_close(&worker->weights[i]);
    ad_free(worker->weights);
    adaps_plan_free(worker->plan);
    worker->weights = NULL;
    worker->nweights = 0;
    worker->plan = NULL;
}

/* ad_weight_source: a slice out of the cache, which stays locked as long as there is an engine of
 * it. */
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
        struct ad_cached *blob = &worker->weights[i];
        if (blob->fd < 0) {
            size_t rows = (size_t)(s->row1 - s->row0);
            enum adaps_status status =
                ad_cache_open(worker->cache, &s->digest, rows * row * sizeof(float), blob, err);
            if (status != ADAPS_OK)
                return status;
        }
        return ad_cached_read(blob, (size_t)(r0 - s->row0) * row * sizeof *to, to,
                              (size_t)(r1 - r0) * row * sizeof *to, err);
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

/* Room for as many inferences as the plan has in flight. */
static enum adaps_status make_runs(struct ad_worker *worker, struct adaps_error *err)
{
    const struct ad_graph *graph = worker->plan->graph;
    size_t n = (size_t)worker->plan->stream.frames;
    enum adaps_status status = ADAPS_OK;
    worker->runs = ad_calloc(n, sizeof *worker->runs);
    if (!worker->runs)
        return ad_error_memory(err, "inferences", n * sizeof *worker->runs);
    worker->nruns = (int)n;
    for (size_t i = 0; i < n && status == ADAPS_OK; i++) {
        struct ad_worker_run *run = &worker->runs[i];
        status = make_ends(worker, graph->inputs, graph->ninputs, &run->inputs, err);
        if (status == ADAPS_OK)
            status = make_ends(worker, graph->outputs, graph->noutputs, &run->outputs, err);
    }
    worker->input_bytes = worker->runs[0].inputs.bytes;
    return status;
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

/* So many engines of one part of a turn's program, whose tail begins with step `rest`. */
static enum adaps_status add_engines(struct ad_worker *worker, struct ad_engine_options *options,
                                     int rest, int n, struct adaps_error *err)
{
    struct ad_weight_source source = {.read = read_slice, .self = worker};
    for (int i = 0; i < n; i++) {
        struct ad_worker_engine *engine = &worker->engines[worker->nengines++];
        engine->turn = options->turn;
        engine->part = options->part;
        engine->rest = rest;
        enum adaps_status status =
            ad_engine_new(worker->plan, options, &source, &engine->engine, err);
        if (status != ADAPS_OK)
            return status;
        options->beside = worker->engines[0].engine;
    }
    return ADAPS_OK;
}

/* Engines of every turn in which there is work, for as many inferences as there are buffers. */
static enum adaps_status make_engines(struct ad_worker *worker, struct adaps_error *err)
{
    const struct adaps_plan *plan = worker->plan;
    int device = worker->device;
    struct ad_engine_options options = {.device = device,
                                        .threads = compute_threads(worker, plan, device),
                                        .cancel = &worker->cancel,
                                        .op = &worker->live->op,
                                        .speed = ad_speeds_at(&worker->speeds, worker->begun)};
    size_t room = 2 * (size_t)plan->stream.nturns * (size_t)plan->stream.frames;
    enum adaps_status status = ADAPS_OK;
    worker->engines = ad_calloc(room, sizeof *worker->engines);
    if (!worker->engines)
        return ad_error_memory(err, "engines", room * sizeof *worker->engines);
    for (int t = 0; t < plan->stream.nturns && status == ADAPS_OK; t++) {
        int steps = ad_plan_turn(plan, t)->programs[device].nsteps;
        int rest = ad_stream_tail(plan->graph, &plan->stream, &plan->schedule, t, device,
                                  device == plan->cluster.source);
        if (steps == 0)
            continue;
        options.turn = t;
        options.part = rest < steps ? AD_ENGINE_HEAD : AD_ENGINE_WHOLE;
        status = add_engines(worker, &options, rest,
                             ad_stream_buffered(&plan->stream, &plan->schedule, t, device), err);
        options.part = AD_ENGINE_TAIL;
        if (rest < steps && status == ADAPS_OK)
            status = add_engines(worker, &options, rest, ad_stream_most(&plan->stream, t), err);
    }
    return status;
}

/* Whether a session of the plan fits, before it takes anything. */
static enum adaps_status check_memory(const struct ad_worker *worker, const struct adaps_plan *plan,
                                      int device, struct adaps_error *err)
{
    struct ad_machine machine;
    malloc_trim(0); /* what the plan before it had */
    ad_machine_look(&machine);
    return ad_ceiling_check(plan, device, compute_threads(worker, plan, device),
                            machine.memory_most, err);
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
    status = check_memory(worker, worker->plan, job->device, err);
    if (status != ADAPS_OK)
        return status;
    worker->device = job->device;
    worker->pictures = ad_picture_all(worker->plan->graph);
    int nslices = worker->plan->slices[job->device].count;
    worker->weights = ad_calloc((size_t)nslices, sizeof *worker->weights);
    if (!worker->weights)
        return ad_error_memory(err, "weights", (size_t)nslices * sizeof *worker->weights);
    worker->nweights = nslices;
    for (int i = 0; i < nslices; i++)
        worker->weights[i].fd = -1;
    status = make_runs(worker, err);
    if (status == ADAPS_OK)
        status = make_engines(worker, err);
    return status;
}

static enum adaps_status load(struct ad_worker *worker, struct adaps_error *err)
{
    const struct ad_job *job = &worker->job;
    enum adaps_status status = ADAPS_OK;
    if (!worker->plan || worker->device != job->device ||
        !ad_digest_equal(&worker->loaded, &job->plan)) {
        ad_worker_unload(worker); /* before building: two engines may not fit into memory */
        status = build(worker, err);
        if (status != ADAPS_OK) {
            ad_worker_unload(worker);
            return status;
        }
        worker->loaded = job->plan;
        ad_live_set_plan(worker->live, worker->plan);
    }
    ad_peer_links_close(&worker->links);
    worker->links = (struct ad_peer_links){.context = worker->context,
                                           .guard = worker->guard,
                                           .live = worker->live,
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

/* --- inferences --- */

static void feed(struct ad_worker *worker, struct ad_worker_run *run)
{
    const struct ad_graph *graph = worker->plan->graph;
    const float *data = run->inputs.data;
    int64_t offset = 0;
    for (int i = 0; i < graph->ninputs && data; i++) {
        if (run->pictures)
            ad_engine_feed_bytes(run->head->engine, i, (const uint8_t *)data + offset);
        else
            ad_engine_feed(run->head->engine, i, data + offset);
        offset += ad_box_elements(graph->values[graph->inputs[i]].box);
    }
}

static void fetch(struct ad_worker *worker, struct ad_worker_run *run)
{
    const struct ad_graph *graph = worker->plan->graph;
    const struct ad_worker_engine *last = run->tail ? run->tail : run->head;
    float *to = run->outputs.data;
    for (int i = 0; i < graph->noutputs && to; i++) {
        ad_engine_fetch(last->engine, i, to);
        to += ad_box_elements(graph->values[graph->outputs[i]].box);
    }
}

/* Gives an inference an engine, if one is free. */
static bool take_engine(struct ad_worker *worker, const struct ad_worker_run *run, bool tail,
                        struct ad_worker_engine **out)
{
    int turn = ad_stream_deal(&worker->plan->stream, run->inference - 1);
    for (int i = 0; i < worker->nengines; i++) {
        struct ad_worker_engine *engine = &worker->engines[i];
        if (engine->busy || engine->turn != turn || (engine->part == AD_ENGINE_TAIL) != tail)
            continue;
        engine->busy = true;
        *out = engine;
        return true;
    }
    return false;
}

/* Before its next step, an inference has the engine of that. False: its buffers are not free yet.
 */
static bool has_engine(struct ad_worker *worker, struct ad_worker_run *run)
{
    if (run->program->nsteps == 0)
        return true;
    if (!run->head) {
        if (!take_engine(worker, run, false, &run->head))
            return false;
        run->rest = run->head->rest;
        ad_engine_set_speed(run->head->engine, ad_speeds_at(&worker->speeds, run->number));
    }
    if (run->next < run->rest || run->rest == run->program->nsteps || run->tail)
        return true;
    if (!take_engine(worker, run, true, &run->tail))
        return false;
    run->head->busy = false;
    return true;
}

/* The engine of a step that has been or is executed, and its number there. */
static struct ad_engine *engine_of(const struct ad_worker_run *run, int step, int *number)
{
    bool tail = step >= run->rest;
    *number = tail ? step - run->rest : step;
    return tail ? run->tail->engine : run->head->engine;
}

static void activate(struct ad_worker *worker, struct ad_worker_run *run)
{
    const struct adaps_plan *plan = worker->plan;
    int turn = ad_stream_deal(&plan->stream, run->inference - 1);
    memset(&run->result, 0, sizeof run->result);
    run->active = true;
    run->begun = run->waiting = false;
    run->program = &ad_plan_turn(plan, turn)->programs[worker->device];
    run->head = run->tail = NULL;
    run->next = 0;
    run->first_ns = run->last_ns = 0;
    run->result.begin_ns = ad_clock_ns();
    ad_timestamps_unref(run->timestamps);
    bool noted = run->trace || run->times;
    run->timestamps = noted ? ad_timestamps_new(run->program->nsteps) : NULL;
    if (noted && !run->timestamps)
        run->result.status = ad_error_memory(&run->result.err, "trace",
                                             (size_t)run->program->nsteps * sizeof(int64_t));
    run->number = worker->begun++;
    ad_live_begin(worker->live);
}

/* What the control thread has posted becomes active. */
static void take_posted(struct ad_worker *worker)
{
    pthread_mutex_lock(&worker->mutex);
    for (int i = 0; i < worker->nruns; i++) {
        struct ad_worker_run *run = &worker->runs[i];
        if (run->posted && !run->active)
            activate(worker, run);
        run->posted = false;
    }
    pthread_mutex_unlock(&worker->mutex);
}

/* The active inference after this one in the order of their numbers (NULL: the oldest), or NULL. */
static struct ad_worker_run *next_run(struct ad_worker *worker, const struct ad_worker_run *after)
{
    struct ad_worker_run *next = NULL;
    for (int i = 0; i < worker->nruns; i++) {
        struct ad_worker_run *run = &worker->runs[i];
        if (run->active && (!after || (int32_t)(run->inference - after->inference) > 0) &&
            (!next || (int32_t)(run->inference - next->inference) < 0))
            next = run;
    }
    return next;
}

static enum ad_live_error error_kind(const struct ad_worker *worker, enum adaps_status status)
{
    if (status == ADAPS_NO)
        return AD_LIVE_GIVEN_UP;
    if (worker->cancel)
        return AD_LIVE_CANCELLED;
    if (status == ADAPS_EINPUT || status == ADAPS_EUSAGE)
        return AD_LIVE_INPUT;
    return status == ADAPS_EINTERNAL ? AD_LIVE_INTERNAL : AD_LIVE_AGENT;
}

static void count_end(struct ad_worker *worker, const struct ad_worker_run *run)
{
    bool source = worker->device == worker->plan->cluster.source;
    if (run->result.status == ADAPS_OK)
        ad_live_done(worker->live, source ? run->result.latency_ns : -1);
    else
        ad_live_failed(worker->live, error_kind(worker, run->result.status));
}

static void end_run(struct ad_worker *worker, struct ad_worker_run *run)
{
    run->active = false;
    if (run->head && !run->tail) /* else another inference may have it */
        run->head->busy = false;
    if (run->tail)
        run->tail->busy = false;
    run->result.latency_ns = ad_clock_ns() - run->result.begin_ns;
    run->result.total_ns = run->last_ns - run->first_ns;
    count_end(worker, run);
    pthread_mutex_lock(&worker->mutex);
    run->done = true;
    pthread_mutex_unlock(&worker->mutex);
    eventfd_write(worker->done_fd, 1);
}

static void count_step(struct ad_worker *worker, struct ad_worker_run *run, int step)
{
    int64_t start_ns, end_ns;
    int number;
    const struct ad_engine *engine = engine_of(run, step, &number);
    ad_engine_times(engine, number, &start_ns, &end_ns);
    run->first_ns = step == 0 ? start_ns : run->first_ns;
    run->last_ns = end_ns;
    if (run->program->steps[step].kind == AD_STEP_COMPUTE) {
        run->result.compute_ns += end_ns - start_ns;
        ad_live_computed(worker->live, start_ns, end_ns);
    } else if (run->program->steps[step].kind == AD_STEP_RECV) {
        run->result.wait_ns += end_ns - start_ns;
    }
}

/* Executes the next step. ADAPS_NO: its message is not there. */
static enum adaps_status advance(struct ad_worker *worker, struct ad_worker_run *run)
{
    struct ad_peer_links *links = &worker->links;
    struct ad_transport transport = ad_peer_links_transport(links);
    uint64_t bytes = links->bytes_sent, messages = links->messages_sent;
    int step = run->next, number;
    if (!has_engine(worker, run))
        return ADAPS_NO;
    if (!run->begun && run->head)
        feed(worker, run);
    run->begun = true;
    if (step == run->program->nsteps) {
        if (run->head)
            fetch(worker, run);
        end_run(worker, run);
        return ADAPS_OK;
    }
    links->inference = run->inference;
    links->step = (uint32_t)step;
    ad_live_step(worker->live,
                 run->program->steps[step].kind == AD_STEP_COMPUTE ? AD_LIVE_COMPUTING
                                                                   : AD_LIVE_MOVING,
                 step, run->program->nsteps);
    links->deadline_ns = run->deadline_ns;
    links->timestamps = run->timestamps;
    links->waited = run->waiting;
    struct ad_engine *engine = engine_of(run, step, &number);
    enum adaps_status status = ad_engine_step(engine, number, &transport, &run->result.err);
    run->waiting = status == ADAPS_NO;
    if (status != ADAPS_OK)
        return status;
    run->result.bytes_sent += links->bytes_sent - bytes;
    run->result.messages_sent += links->messages_sent - messages;
    count_step(worker, run, step);
    run->next++;
    atomic_store_explicit(&run->step, run->next, memory_order_relaxed);
    return ADAPS_OK;
}

/* The others end with the one that failed, with ADAPS_NO. */
static void fail_runs(struct ad_worker *worker, struct ad_worker_run *failed,
                      enum adaps_status status)
{
    struct ad_worker_run *run;
    failed->result.status = status;
    end_run(worker, failed);
    while ((run = next_run(worker, NULL))) {
        run->result.status = ADAPS_NO;
        end_run(worker, run);
    }
}

/* Sleeps until an inference may go on, or there is another. */
static void wait_for_messages(struct ad_worker *worker)
{
    struct ad_peer_links *links = &worker->links;
    bool wanted[AD_MAX_DEVICES] = {false};
    links->deadline_ns = INT64_MAX;
    for (struct ad_worker_run *run = next_run(worker, NULL); run; run = next_run(worker, run)) {
        if (run->begun)
            wanted[run->program->steps[run->next].peer] = true;
        if (run->deadline_ns < links->deadline_ns)
            links->deadline_ns = run->deadline_ns;
    }
    int64_t start_ns = ad_clock_ns();
    ad_live_wait(worker->live);
    ad_peer_links_wait(links, wanted);
    ad_live_waited(worker->live, ad_clock_ns() - start_ns);
}

/* Until all inferences are done: always the next step of the oldest that can go on. */
static void run_all(struct ad_worker *worker)
{
    for (;;) {
        take_posted(worker);
        struct ad_worker_run *run = next_run(worker, NULL);
        if (!run) {
            ad_live_rest(worker->live);
            return;
        }
        worker->links.oldest = run->inference;
        enum adaps_status status = ADAPS_NO;
        while (run && status == ADAPS_NO) {
            status = run->result.status != ADAPS_OK ? run->result.status : advance(worker, run);
            if (status == ADAPS_NO)
                run = next_run(worker, run);
        }
        if (!run)
            wait_for_messages(worker);
        else if (status != ADAPS_OK)
            fail_runs(worker, run, status);
    }
}

void ad_worker_times(const struct ad_worker_run *run, int step, int64_t *start_ns, int64_t *mark_ns,
                     int64_t *end_ns, int64_t *left_ns)
{
    enum ad_step_kind kind = run->program->steps[step].kind;
    int number;
    const struct ad_engine *engine = engine_of(run, step, &number);
    ad_engine_times(engine, number, start_ns, end_ns);
    const struct ad_timestamps *timestamps = run->timestamps;
    *mark_ns = kind == AD_STEP_COMPUTE ? *end_ns : ad_timestamps_get(timestamps, step);
    *left_ns = kind == AD_STEP_SEND ? ad_timestamps_left(timestamps, step) : 0;
    if (kind == AD_STEP_RECV && !ad_timestamps_waited(timestamps, step))
        *start_ns = *mark_ns; /* it may have come while the step was about to look */
}

int64_t ad_worker_moved(const struct ad_worker_run *run, int step)
{
    const struct ad_timestamps *timestamps = run->timestamps;
    bool waited =
        run->program->steps[step].kind == AD_STEP_SEND || ad_timestamps_waited(timestamps, step);
    int64_t ns = ad_timestamps_get(timestamps, step) - run->result.begin_ns;
    return waited && ns > 0 ? ns : 0;
}

static enum adaps_status time_tasks(struct ad_worker *worker,
                                    const struct ad_profile_request *request,
                                    struct adaps_error *err)
{
    struct ad_machine machine;
    ad_worker_unload(worker); /* before building: two engines may not fit into memory */
    ad_machine_look(&machine);
    struct ad_profile_options options = {.threads = compute_threads(worker, request->tasks, 0),
                                         .speed = ad_speeds_at(&worker->speeds, worker->begun),
                                         .budget_ns = request->budget_ns,
                                         .memory = machine.memory_available / PROFILE_SHARE,
                                         .cancel = &worker->cancel};
    worker->result.ntasks = request->tasks->schedule.programs[0].ntasks;
    return ad_profile_run(request->tasks, &options, &worker->result.times, err);
}

static enum adaps_status profile(struct ad_worker *worker, struct adaps_error *err)
{
    struct ad_profile_request request = {0};
    enum adaps_status status = ad_profile_request_read(worker->job.request, &request, err);
    ad_protobuf_free(&worker->job.request->base);
    worker->job.request = NULL;
    if (status == ADAPS_OK)
        status = time_tasks(worker, &request, err);
    adaps_plan_free(request.tasks);
    return status;
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
    case AD_JOB_PROFILE:
        result->status = profile(worker, &result->err);
        break;
    default:
        ad_peer_links_close(&worker->links);
        break;
    }
}

/* Whether there is an inference to begin. Under the mutex. */
static bool any_posted(const struct ad_worker *worker)
{
    for (int i = 0; i < worker->nruns; i++)
        if (worker->runs[i].posted)
            return true;
    return false;
}

/* Waits for something to do, under the mutex; while there is a session, only for a while, so as to
 * look at who comes by its ports. */
static void rest(struct ad_worker *worker)
{
    struct timespec until;
    if (worker->links.count == 0) {
        pthread_cond_wait(&worker->posted, &worker->mutex);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (pthread_cond_clockwait(&worker->posted, &worker->mutex, CLOCK_MONOTONIC, &until) == 0)
        return;
    pthread_mutex_unlock(&worker->mutex);
    ad_peer_links_look(&worker->links);
    pthread_mutex_lock(&worker->mutex);
}

static void *work_on(void *self)
{
    struct ad_worker *worker = self;
    ad_priority_set(&worker->priority);
    for (enum ad_job_kind kind = AD_JOB_NONE; kind != AD_JOB_QUIT;) {
        pthread_mutex_lock(&worker->mutex);
        while (!worker->has_job && !any_posted(worker))
            rest(worker);
        bool job = worker->has_job;
        worker->has_job = false;
        pthread_mutex_unlock(&worker->mutex);
        if (!job) {
            run_all(worker);
            continue;
        }
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
    pthread_mutex_lock(&worker->mutex);
    worker->has_job = true;
    worker->done = false;
    pthread_cond_signal(&worker->posted);
    pthread_mutex_unlock(&worker->mutex);
}

struct ad_worker_run *ad_worker_free_run(struct ad_worker *worker)
{
    for (int i = 0; i < worker->nruns; i++)
        if (!worker->runs[i].taken)
            return &worker->runs[i];
    return NULL;
}

void ad_worker_post_run(struct ad_worker *worker, struct ad_worker_run *run)
{
    eventfd_t count;
    if (ad_worker_idle(worker)) {
        worker->cancel = 0;
        eventfd_read(worker->wake_fd, &count);
    }
    worker->running++;
    run->taken = true;
    atomic_store(&run->step, 0);
    pthread_mutex_lock(&worker->mutex);
    run->posted = true;
    run->done = false;
    pthread_cond_signal(&worker->posted);
    pthread_mutex_unlock(&worker->mutex);
    eventfd_write(worker->wake_fd, 1);
}

void ad_worker_cancel(struct ad_worker *worker)
{
    if (ad_worker_idle(worker))
        return;
    worker->cancel = 1;
    eventfd_write(worker->wake_fd, 1);
}

bool ad_worker_finish(struct ad_worker *worker)
{
    eventfd_t count;
    eventfd_read(worker->done_fd, &count);
    if (!worker->busy)
        return false;
    pthread_mutex_lock(&worker->mutex);
    worker->busy = !worker->done;
    pthread_mutex_unlock(&worker->mutex);
    return !worker->busy;
}

struct ad_worker_run *ad_worker_take_run(struct ad_worker *worker)
{
    struct ad_worker_run *oldest = NULL;
    if (worker->running == 0)
        return NULL;
    pthread_mutex_lock(&worker->mutex);
    for (int i = 0; i < worker->nruns; i++) {
        struct ad_worker_run *run = &worker->runs[i];
        if (run->taken && run->done &&
            (!oldest || (int32_t)(run->inference - oldest->inference) < 0))
            oldest = run;
    }
    pthread_mutex_unlock(&worker->mutex);
    if (oldest) {
        oldest->taken = false;
        worker->running--;
    }
    return oldest;
}

void ad_worker_stop(struct ad_worker *worker)
{
    struct pollfd done = {.fd = worker->done_fd, .events = POLLIN};
    ad_worker_cancel(worker);
    while (!ad_worker_idle(worker)) {
        poll(&done, 1, -1);
        ad_worker_finish(worker);
        while (ad_worker_take_run(worker))
            continue;
    }
    ad_profile_times_fini(&worker->result.times);
    worker->job.kind = AD_JOB_QUIT;
    ad_worker_post(worker);
    pthread_join(worker->thread, NULL);
    pthread_cond_destroy(&worker->posted);
    pthread_mutex_destroy(&worker->mutex);
    close(worker->done_fd);
    close(worker->wake_fd);
}
