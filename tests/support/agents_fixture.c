#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* nftw */
#endif
#include "support/agents_fixture.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "exec/engine/local_run.h"
#include "ir/picture.h"
#include "support/plan_fixture.h"
#include "support/random_graph.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void ad_testbed_init(struct ad_testbed *testbed)
{
    const char *tmp = getenv("TMPDIR");
    memset(testbed, 0, sizeof *testbed);
    snprintf(testbed->dir, sizeof testbed->dir, "%s/adaps-testbed-XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(testbed->dir));
}

const char *ad_testbed_path(const struct ad_testbed *testbed, const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", testbed->dir, name);
    return path;
}

static _Noreturn void be_agent(const struct ad_testbed *testbed, int i, int ready_fd, pid_t parent,
                               const struct ad_agent_options *given)
{
    char name[32], cache[300], log[300];
    struct adaps_error err = {0};
    struct ad_agent_options options =
        given ? *given : (struct ad_agent_options){.speed = 1, .threads = 1};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    snprintf(name, sizeof name, "agent%d", i);
    snprintf(cache, sizeof cache, "%s/cache%d", testbed->dir, i);
    snprintf(log, sizeof log, "%s/log%d", testbed->dir, i);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd >= 0 && dup2(fd, STDERR_FILENO) < 0)
        _exit(1);
    if (testbed->speed_after[i])
        options.speed_after = testbed->speed_after[i];
    if (!options.listen)
        options.listen = "tcp://127.0.0.1:*";
    options.name = name;
    options.cache_dir = cache;
    options.ready_fd = ready_fd;
    enum adaps_status status = ad_agent_run(&options, &err);
    if (status != ADAPS_OK)
        fprintf(stderr, "%s\n", err.message);
    exit(status);
}

void ad_testbed_start(struct ad_testbed *testbed, int n, const struct ad_agent_options *options)
{
    testbed->n = n;
    fflush(NULL);
    for (int i = 0; i < n; i++) {
        int ends[2];
        pid_t parent = getpid();
        ck_assert_int_eq(pipe(ends), 0);
        testbed->pid[i] = fork();
        ck_assert_int_ge(testbed->pid[i], 0);
        if (testbed->pid[i] == 0) {
            close(ends[0]);
            be_agent(testbed, i, ends[1], parent, options);
        }
        close(ends[1]);
        FILE *ready = fdopen(ends[0], "r");
        ck_assert_ptr_nonnull(ready);
        ck_assert_msg(fgets(testbed->address[i], sizeof testbed->address[i], ready),
                      "agent %d does not start", i);
        testbed->address[i][strcspn(testbed->address[i], "\n")] = '\0';
        fclose(ready);
    }
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

void ad_testbed_fini(struct ad_testbed *testbed)
{
    for (int i = 0; i < testbed->n; i++)
        if (testbed->pid[i] > 0)
            kill(testbed->pid[i], SIGTERM);
    for (int i = 0; i < testbed->n; i++) {
        int status = 0;
        if (testbed->pid[i] <= 0)
            continue;
        ck_assert_int_eq(waitpid(testbed->pid[i], &status, 0), testbed->pid[i]);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                      "agent %d ended with wait status %d, see %s/log%d", i, status, testbed->dir,
                      i);
    }
    ck_assert_int_eq(nftw(testbed->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void ad_testbed_kill(struct ad_testbed *testbed, int agent)
{
    kill(testbed->pid[agent], SIGKILL);
    waitpid(testbed->pid[agent], NULL, 0);
    testbed->pid[agent] = 0;
}

void ad_testbed_address(const struct ad_testbed *testbed, struct adaps_plan **plan)
{
    struct ad_cluster cluster;
    struct adaps_error err = {0};
    ck_assert_int_eq(ad_cluster_copy(&(*plan)->cluster, &cluster, NULL), ADAPS_OK);
    ck_assert_int_le(cluster.ndevices, testbed->n);
    for (int d = 0; d < cluster.ndevices; d++)
        snprintf(cluster.devices[d].address, sizeof cluster.devices[d].address, "%s",
                 testbed->address[d]);
    ck_assert_msg(ad_plan_readdress(*plan, &cluster, plan, &err) == ADAPS_OK, "%s", err.message);
    ad_cluster_fini(&cluster);
}

int64_t ad_testbed_cpu_ns(const struct ad_testbed *testbed, int agent)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(testbed->pid[agent], &clock) != 0 || clock_gettime(clock, &t) != 0)
        return -1;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void ad_testbed_await_work(const struct ad_testbed *testbed, int agent, int64_t before,
                           int64_t more)
{
    struct timespec little = {.tv_nsec = 500000};
    for (int64_t now; (now = ad_testbed_cpu_ns(testbed, agent)) >= 0 && now - before < more;)
        nanosleep(&little, NULL); /* polls; any length would do */
}

uint64_t ad_testbed_push(const struct adaps_plan *plan)
{
    struct ad_push_report reports[AD_MAX_DEVICES];
    struct ad_session_options options = {.deadline_s = 60};
    struct adaps_error err = {0};
    uint64_t sent = 0;
    const struct ad_weight_source weights = ad_weights_of_graph(plan->graph);
    enum adaps_status status = ad_push(plan, &options, &weights, reports, &err);
    ck_assert_msg(status == ADAPS_OK, "push: %s", err.message);
    for (int d = 0; d < plan->cluster.ndevices; d++)
        sent += reports[d].weight_bytes_sent;
    return sent;
}

struct ad_tensor *ad_testbed_inputs(const struct adaps_plan *plan, uint64_t seed)
{
    const struct ad_graph *graph = plan->graph;
    struct ad_rng rng = {seed};
    struct ad_tensor *tensors = ad_calloc((size_t)graph->ninputs, sizeof *tensors);
    ck_assert_ptr_nonnull(tensors);
    for (int i = 0; i < graph->ninputs; i++) {
        const struct ad_value *value = &graph->values[graph->inputs[i]];
        ck_assert_int_eq(ad_tensor_init(&tensors[i], value->rank, value->dims, NULL), ADAPS_OK);
        struct ad_picture levels;
        int channels = (int)value->box.c;
        bool picture = seed % 2 == 0 && ad_picture_fit(graph, graph->inputs[i]) &&
                       ad_picture_init(&levels, graph, channels, NULL) == ADAPS_OK;
        size_t plane = (size_t)(value->box.h * value->box.w);
        for (size_t k = 0; k < tensors[i].count; k++)
            tensors[i].data[k] =
                picture ? levels.level[k / plane % (size_t)channels][ad_rng_below(&rng, 256)]
                        : ad_rng_float(&rng);
    }
    return tensors;
}

struct ad_tensor *ad_testbed_reference(const struct adaps_plan *plan,
                                       const struct ad_tensor *inputs)
{
    struct ad_local_run *run = NULL;
    struct adaps_error err = {0};
    const struct ad_graph *graph = plan->graph;
    const struct ad_weight_source weights = ad_weights_of_graph(graph);
    struct ad_tensor *outputs = ad_calloc((size_t)graph->noutputs, sizeof *outputs);
    ck_assert_ptr_nonnull(outputs);
    enum adaps_status status = ad_local_run_single(plan, 1, &weights, &run, &err);
    if (status == ADAPS_OK)
        status = ad_local_run_infer(run, inputs, outputs, &err);
    ck_assert_msg(status == ADAPS_OK, "%s", err.message);
    ad_local_run_free(run);
    return outputs;
}

void ad_testbed_tensors_free(struct ad_tensor *tensors, int n)
{
    for (int i = 0; i < n; i++)
        ad_tensor_fini(&tensors[i]);
    ad_free(tensors);
}

void ad_testbed_check_outputs(const struct adaps_plan *plan, uint64_t seed,
                              struct ad_tensor *outputs)
{
    const struct ad_graph *graph = plan->graph;
    struct ad_tensor *inputs = ad_testbed_inputs(plan, seed);
    struct ad_tensor *expected = ad_testbed_reference(plan, inputs);
    for (int i = 0; i < graph->noutputs; i++) {
        ck_assert_uint_eq(outputs[i].count, expected[i].count);
        struct ad_difference diff =
            ad_tensor_compare(outputs[i].data, expected[i].data, expected[i].count);
        ck_assert_msg(diff.differ == 0, "seed %ju: %zu of %zu elements differ", (uintmax_t)seed,
                      diff.differ, diff.elements);
    }
    ad_testbed_tensors_free(expected, graph->noutputs);
    ad_testbed_tensors_free(inputs, graph->ninputs);
    ad_testbed_tensors_free(outputs, graph->noutputs);
}

void ad_testbed_check_run(struct ad_session *session, const struct adaps_plan *plan, uint64_t seed)
{
    const struct ad_graph *graph = plan->graph;
    struct adaps_error err = {0};
    struct ad_tensor *inputs = ad_testbed_inputs(plan, seed);
    struct ad_tensor *outputs = ad_calloc((size_t)graph->noutputs, sizeof *outputs);
    enum adaps_status status = ad_session_run(session, inputs, outputs, NULL, &err);
    ck_assert_msg(status == ADAPS_OK, "run: %s", err.message);
    ad_testbed_tensors_free(inputs, graph->ninputs);
    ad_testbed_check_outputs(plan, seed, outputs);
}

/* The graph and devices of a heavy plan. */
static struct ad_graph *heavy_graph(int n, int layers, int size, int channels,
                                    struct ad_cluster *cluster)
{
    struct ad_builder b;
    struct ad_graph *graph;
    struct adaps_error err = {0};
    ad_build_init(&b, 11);
    int x = ad_build_input(&b, 1, size, size, channels);
    for (int i = 0; i < layers; i++)
        x = ad_build_conv(&b, x, ad_window_square(3, 1, 1, 1, 1), 1, channels);
    ad_build_output(&b, x);
    ck_assert_msg(ad_build_finish(&b, &graph, &err) == ADAPS_OK, "%s", err.message);
    ad_fixture_cluster(cluster, n);
    for (int d = 0; d < n; d++) {
        cluster->devices[d].speed = 1;
        cluster->devices[d].threads = 1;
    }
    return graph;
}

struct adaps_plan *ad_testbed_heavy_plan(int n, int layers, int size, int channels)
{
    struct ad_cluster cluster;
    struct ad_graph *graph = heavy_graph(n, layers, size, channels, &cluster);
    return ad_fixture_make(graph, &cluster, "edgeflow");
}

struct adaps_plan *ad_testbed_heavy_stream(int n, int layers, int size, int channels,
                                           const char *strategy)
{
    struct ad_cluster cluster;
    struct ad_graph *graph = heavy_graph(n, layers, size, channels, &cluster);
    return ad_fixture_make_stream(graph, &cluster, strategy);
}
