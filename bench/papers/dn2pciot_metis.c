/* METIS (section 4.7): gpmetis with memory and computing as the weights of vertices and bytes as
 * those of edges, without shared parameters, which it cannot express. Runs differ in what is made
 * small, in the imbalance that is allowed of each weight, and in the seed; the quickest valid
 * partitioning is the result. With a locked input its vertices are not in the graph; they come to
 * the device with which the result is best. */
#include "dn2pciot.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define SEEDS 2
static const char *const ways[][2] = {{"-ptype=kway", "-objtype=cut"},
                                      {"-ptype=kway", "-objtype=vol"},
                                      {"-ptype=rb", "-objtype=cut"}};
/* Of memory and of computing. */
static const char *const imbalances[] = {"-ubvec=1.01 1.01", "-ubvec=1.05 1.05", "-ubvec=1.02 1.3",
                                         "-ubvec=1.1 1.2",   "-ubvec=1.2 1.1",   "-ubvec=1.02 2.0",
                                         "-ubvec=1.3 1.3"};
#define WAYS (sizeof ways / sizeof *ways)
#define IMBALANCES (sizeof imbalances / sizeof *imbalances)

static void fail_on(const char *path)
{
    struct adaps_error err;
    if (ad_error_set(&err, ADAPS_EINPUT, "%s: %s", path, strerror(errno)) != ADAPS_OK)
        dn_fail("", &err);
}

/* Vertices from `begin` on, both ends of every edge. */
static void write_graph(const struct lenet *net, int begin, const char *path)
{
    const struct ad_work_graph *g = &net->graph;
    int n = g->nvertices - begin, edges = 0, *of = dn_alloc((size_t)g->nvertices + 1, sizeof *of);
    for (int v = begin; v < g->nvertices; v++)
        edges += g->first[v + 1] - g->first[v];
    int *source = dn_alloc((size_t)edges + 1, sizeof *source);
    for (int pass = 0; pass < 2; pass++) { /* of: where a vertex's sources end, then begin */
        for (int v = g->nvertices - 1; v >= begin; v--)
            for (int i = g->first[v + 1] - 1; i >= g->first[v]; i--) {
                if (pass)
                    source[--of[g->readers[i]]] = v;
                else
                    of[g->readers[i]]++;
            }
        for (int v = begin; !pass && v < g->nvertices; v++)
            of[v + 1] += of[v];
    }
    FILE *file = fopen(path, "w");
    if (!file)
        fail_on(path);
    fprintf(file, "%d %d 011 2\n", n, edges);
    for (int v = begin; v < g->nvertices; v++) {
        fprintf(file, "%lld %.0f", (long long)g->memory[v], g->work[v]);
        for (int i = g->first[v]; i < g->first[v + 1]; i++)
            fprintf(file, " %d %lld", g->readers[i] - begin + 1, (long long)g->bytes[v]);
        for (int i = of[v]; i < (v + 1 < g->nvertices ? of[v + 1] : edges); i++)
            fprintf(file, " %d %lld", source[i] - begin + 1, (long long)g->bytes[source[i]]);
        fprintf(file, "\n");
    }
    if (fclose(file) != 0)
        fail_on(path);
    ad_free(of);
    ad_free(source);
}

/* False: there is no such program. */
static bool run_metis(char *const *arguments)
{
    posix_spawn_file_actions_t quiet;
    pid_t child;
    int code = 0;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&child, arguments[0], &quiet, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&quiet);
    if (failed)
        return false;
    while (waitpid(child, &code, 0) < 0 && errno == EINTR)
        continue;
    return !(WIFEXITED(code) && WEXITSTATUS(code) == 127);
}

/* Its answer; false: there is none. */
static bool read_parts(const struct lenet *net, int begin, const char *path, int *part)
{
    FILE *file = fopen(path, "r");
    bool all = file != NULL;
    for (int v = begin; all && v < net->graph.nvertices; v++)
        all = fscanf(file, "%d", &part[v]) == 1 && part[v] >= 0 && part[v] < net->graph.ndevices;
    if (file)
        fclose(file);
    remove(path);
    return all;
}

/* Keeps the partitioning if it is valid and quicker; with a locked input on the best device. */
static void offer(const struct lenet *net, int begin, int *part, int *best, double *best_rate)
{
    for (int d = 0; d < (begin > 0 ? net->graph.ndevices : 1); d++) {
        for (int v = 0; v < begin; v++)
            part[v] = d;
        double rate = dn_rate(net, part);
        if (rate <= *best_rate)
            continue;
        *best_rate = rate;
        memcpy(best, part, (size_t)net->graph.nvertices * sizeof *best);
    }
}

bool dn_metis(const struct lenet *net, bool locked, int *part, bool *ran)
{
    char folder[] = "/tmp/dn2pciot-XXXXXX", graph[64], parts[96], count[16], seed[32];
    int begin = locked ? net->layers[INPUT].count : 0;
    int *trial = dn_alloc((size_t)net->graph.nvertices, sizeof *trial);
    double best = 0;
    if (!mkdtemp(folder))
        fail_on(folder);
    snprintf(graph, sizeof graph, "%s/graph", folder);
    snprintf(count, sizeof count, "%d", net->graph.ndevices);
    snprintf(parts, sizeof parts, "%s.part.%s", graph, count);
    write_graph(net, begin, graph);
    *ran = true;
    for (size_t w = 0; w < WAYS; w++)
        for (size_t i = 0; i < IMBALANCES; i++)
            for (int k = 0; k < SEEDS && *ran; k++) {
                snprintf(seed, sizeof seed, "-seed=%d", k);
                char *arguments[] = {(char *)"gpmetis",
                                     (char *)ways[w][0],
                                     (char *)ways[w][1],
                                     (char *)imbalances[i],
                                     seed,
                                     graph,
                                     count,
                                     NULL};
                *ran = run_metis(arguments);
                if (*ran && read_parts(net, begin, parts, trial))
                    offer(net, begin, trial, part, &best);
            }
    remove(graph);
    rmdir(folder);
    ad_free(trial);
    return best > 0;
}
