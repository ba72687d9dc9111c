/* The public interface (adaps.h) of sessions and results. */
#include "session_api.h"
#include "api_structs.h"
#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MOST 64 /* as of a device */
#define HORIZON 10000   /* inferences */

/* --- opening --- */

static enum adaps_status read_options(const struct adaps_session_options *given,
                                      struct adaps_session_options *out, struct adaps_error *err)
{
    *out = (struct adaps_session_options){.struct_size = sizeof *out};
    if (!given)
        return ADAPS_OK;
    enum adaps_status status =
        ad_struct_read(out, sizeof *out, offsetof(struct adaps_session_options, adapt), given,
                       "adaps_session_options", err);
    if (status != ADAPS_OK)
        return status;
    if (!isfinite(out->deadline) || out->deadline < 0)
        return ad_error_set(err, ADAPS_EUSAGE, "deadline %g: seconds, 0 or more, are wanted",
                            out->deadline);
    if (out->horizon < 0 || (out->horizon > 0 && !out->adapt))
        return ad_error_set(err, ADAPS_EUSAGE,
                            "horizon %" PRId64 ": inferences, of a session that adapts",
                            out->horizon);
    if (!(out->wait >= 0)) /* for ever is possible, no number is not */
        return ad_error_set(err, ADAPS_EUSAGE, "wait %g: seconds, 0 or more, are wanted",
                            out->wait);
    if (out->threads < 0 || out->threads > THREADS_MOST)
        return ad_error_set(err, ADAPS_EUSAGE, "threads %d: 0 to %d are possible", out->threads,
                            THREADS_MOST);
    return ADAPS_OK;
}

/* Whether it is for one device that has no agent: then for this process. */
static bool is_alone(const struct adaps_plan *plan)
{
    return plan->cluster.ndevices == 1 && plan->cluster.devices[0].address[0] == '\0';
}

/* Takes over `own`, on success only. */
static enum adaps_status open_session(const struct adaps_plan *plan, struct adaps_plan *own,
                                      const struct adaps_session_options *options,
                                      struct adaps_session **out, struct adaps_error *err)
{
    bool local = options->local || is_alone(plan);
    const struct ad_place_options place = {
        .model = options->model,
        .local = local,
        .failover = options->failover && !local,
        .adapt = options->adapt && !local,
        .horizon = options->horizon > 0 ? options->horizon : HORIZON,
        .adaptation = options->adaptation,
        .adaptation_self = options->adaptation_user,
        .threads = options->threads,
        .session = {.deadline_s = options->deadline,
                    .key_file = options->key_file,
                    .progress = options->progress,
                    .progress_self = options->progress_user,
                    .wait_s = options->wait},
        .log = options->log,
        .log_self = options->log_user,
    };
    struct adaps_session *session = ad_calloc(1, sizeof *session);
    if (!session)
        return ad_error_memory(err, "session", sizeof *session);
    session->plan = plan;
    enum adaps_status status = ad_place_open(plan, &place, &session->place, err);
    if (status != ADAPS_OK) {
        ad_free(session);
        return status;
    }
    pthread_mutex_init(&session->lock, NULL);
    session->own = own;
    *out = session;
    return ADAPS_OK;
}

enum adaps_status adaps_session_open(const struct adaps_plan *plan,
                                     const struct adaps_session_options *given,
                                     struct adaps_session **out, struct adaps_error *err)
{
    struct adaps_session_options options;
    if (!plan || !out)
        return ad_error_set(err, ADAPS_EUSAGE, "a plan and a place for the session are required");
    enum adaps_status status = read_options(given, &options, err);
    if (status == ADAPS_OK && (options.devices || options.strategy))
        status = ad_error_set(err, ADAPS_EUSAGE,
                              "devices and strategy are for adaps_session_open_file() only");
    return status == ADAPS_OK ? open_session(plan, NULL, &options, out, err) : status;
}

/* By its first bytes. */
static enum adaps_status is_plan_file(const char *path, bool *out, struct adaps_error *err)
{
    char magic[sizeof AD_PLAN_MAGIC - 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return ad_error_set(err, ADAPS_EINPUT, "%s: %s", path, strerror(errno));
    *out = read(fd, magic, sizeof magic) == (ssize_t)sizeof magic &&
           memcmp(magic, AD_PLAN_MAGIC, sizeof magic) == 0;
    close(fd);
    return ADAPS_OK;
}

static enum adaps_status load_plan(const char *path, const struct adaps_session_options *options,
                                   struct adaps_plan **out, struct adaps_error *err)
{
    struct ad_cluster cluster;
    struct adaps_plan *plan;
    if (options->strategy)
        return ad_error_set(err, ADAPS_EUSAGE, "%s is a plan: it has its strategy", path);
    enum adaps_status status = ad_plan_load(path, &plan, err);
    if (status == ADAPS_OK && options->devices) {
        status = ad_cluster_load(options->devices, &cluster, err);
        if (status == ADAPS_OK) {
            status = ad_plan_readdress(plan, &cluster, &plan, err);
            ad_cluster_fini(&cluster);
        }
        if (status != ADAPS_OK)
            adaps_plan_free(plan);
    }
    if (status == ADAPS_OK)
        *out = plan;
    return status;
}

enum adaps_status adaps_session_open_file(const char *path,
                                          const struct adaps_session_options *given,
                                          struct adaps_session **out, struct adaps_error *err)
{
    struct adaps_session_options options;
    struct adaps_plan *plan = NULL;
    bool is_plan = false;
    if (!path || !out)
        return ad_error_set(err, ADAPS_EUSAGE, "a path and a place for the session are required");
    enum adaps_status status = read_options(given, &options, err);
    if (status == ADAPS_OK)
        status = is_plan_file(path, &is_plan, err);
    if (status != ADAPS_OK)
        return status;
    if (is_plan)
        status = load_plan(path, &options, &plan, err);
    else
        status = adaps_plan_compile(
            &(struct adaps_plan_options){.struct_size = sizeof(struct adaps_plan_options),
                                         .model = path,
                                         .devices = options.devices,
                                         .strategy = options.strategy,
                                         .spares = options.failover && options.devices,
                                         .progress = options.progress,
                                         .progress_user = options.progress_user,
                                         .log = options.log,
                                         .log_user = options.log_user},
            &plan, err);
    if (status != ADAPS_OK)
        return status;
    status = open_session(plan, plan, &options, out, err);
    if (status != ADAPS_OK)
        adaps_plan_free(plan);
    return status;
}

const struct adaps_plan *adaps_session_plan(const struct adaps_session *session)
{
    return session->plan;
}

void adaps_session_close(struct adaps_session *session)
{
    if (!session)
        return;
    ad_place_close(session->place);
    adaps_plan_free(session->own);
    pthread_mutex_destroy(&session->lock);
    ad_free(session);
}

/* --- inferences --- */

/* One on the place, which is this thread's. outputs: as from ad_place_finish(). */
static enum adaps_status infer_now(struct adaps_session *session, const struct ad_tensor *inputs,
                                   struct ad_tensor *outputs, struct adaps_error *err)
{
    ad_place_reset(session->place);
    enum adaps_status status = ad_place_begin(session->place, inputs, err);
    if (status != ADAPS_OK)
        return status;
    do
        status = ad_place_finish(session->place, outputs, err);
    while (status == ADAPS_NO);
    return status;
}

static enum adaps_status infer(struct adaps_session *session, const struct adaps_tensor *inputs,
                               int ninputs, struct ad_tensor *outputs, struct adaps_error *err)
{
    struct ad_api_inputs taken;
    enum adaps_status status =
        ad_api_inputs_take(session->plan->graph, inputs, ninputs, false, &taken, err);
    if (status != ADAPS_OK)
        return status;
    pthread_mutex_lock(&session->lock);
    status = session->streams
                 ? ad_error_set(err, ADAPS_EUSAGE, "a stream is open: it has the session")
                 : infer_now(session, taken.tensors, outputs, err);
    pthread_mutex_unlock(&session->lock);
    ad_api_inputs_fini(&taken);
    return status;
}

enum adaps_status adaps_session_infer(struct adaps_session *session,
                                      const struct adaps_tensor *inputs, int ninputs,
                                      struct adaps_result **out, struct adaps_error *err)
{
    if (!session || !out)
        return ad_error_set(err, ADAPS_EUSAGE, "a session and a place for the result are required");
    int64_t start = ad_clock_ns();
    struct adaps_result *result = ad_result_new(session->plan->graph, 0);
    if (!result)
        return ad_error_memory(err, "result", sizeof *result);
    enum adaps_status status = infer(session, inputs, ninputs, result->outputs, err);
    if (status != ADAPS_OK) {
        adaps_result_free(result);
        return status;
    }
    result->latency_ns = ad_clock_ns() - start;
    *out = result;
    return ADAPS_OK;
}

enum adaps_status adaps_session_run(struct adaps_session *session,
                                    const struct adaps_tensor *inputs, int ninputs,
                                    struct adaps_tensor *outputs, int noutputs,
                                    struct adaps_error *err)
{
    if (!session)
        return ad_error_set(err, ADAPS_EUSAGE, "a session is required");
    const struct ad_graph *graph = session->plan->graph;
    struct adaps_result *result = NULL;
    int *wanted = ad_calloc((size_t)graph->noutputs + 1, sizeof *wanted);
    if (!wanted)
        return ad_error_memory(err, "outputs", (size_t)graph->noutputs * sizeof *wanted);
    enum adaps_status status = ad_api_outputs_check(graph, outputs, noutputs, wanted, err);
    if (status == ADAPS_OK)
        status = adaps_session_infer(session, inputs, ninputs, &result, err);
    if (status == ADAPS_OK)
        status = ad_api_outputs_give(graph, result->outputs, wanted, outputs, noutputs, err);
    adaps_result_free(result);
    ad_free(wanted);
    return status;
}

void adaps_session_cancel(struct adaps_session *session)
{
    if (session)
        ad_place_cancel(session->place);
}

int adaps_session_recoveries(const struct adaps_session *session)
{
    return ad_place_recoveries(session->place);
}

/* --- results --- */

struct adaps_result *ad_result_new(const struct ad_graph *graph, uint64_t tag)
{
    size_t n = (size_t)graph->noutputs;
    struct adaps_result *result = ad_calloc(1, sizeof *result);
    if (!result)
        return NULL;
    result->tag = tag;
    result->infos = ad_arena_alloc(&result->arena, n, sizeof *result->infos);
    result->outputs = ad_arena_alloc(&result->arena, n, sizeof *result->outputs);
    bool good = result->infos && result->outputs;
    for (int i = 0; i < graph->noutputs && good; i++) {
        ad_api_info(graph, graph->outputs, i, &result->infos[i]);
        result->infos[i].name = ad_arena_strdup(&result->arena, result->infos[i].name);
        good = result->infos[i].name != NULL;
    }
    result->noutputs = good ? graph->noutputs : 0;
    if (good)
        return result;
    adaps_result_free(result);
    return NULL;
}

enum adaps_status adaps_result_status(const struct adaps_result *result, struct adaps_error *err)
{
    if (err)
        *err = result->err;
    return result->err.status;
}

int adaps_result_outputs(const struct adaps_result *result)
{
    return result->err.status == ADAPS_OK ? result->noutputs : 0;
}

enum adaps_status adaps_result_output(const struct adaps_result *result, int index,
                                      struct adaps_tensor *out, struct adaps_error *err)
{
    struct adaps_tensor own;
    int count = adaps_result_outputs(result);
    if (!out)
        return ad_error_set(err, ADAPS_EUSAGE, "a place for the output is required");
    if (index < 0 || index >= count)
        return ad_error_set(err, ADAPS_EUSAGE, "output %d: the result has %d", index, count);
    ad_api_output(&result->infos[index], &result->outputs[index], &own);
    return ad_struct_write(out, &own, sizeof own, sizeof own, "adaps_tensor", err);
}

uint64_t adaps_result_tag(const struct adaps_result *result)
{
    return result->tag;
}

int64_t adaps_result_latency_ns(const struct adaps_result *result)
{
    return result->latency_ns;
}

void adaps_result_free(struct adaps_result *result)
{
    if (!result)
        return;
    for (int i = 0; i < result->noutputs; i++)
        ad_tensor_fini(&result->outputs[i]);
    ad_arena_fini(&result->arena);
    ad_free(result);
}
