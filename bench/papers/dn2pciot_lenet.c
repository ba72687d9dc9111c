/* LeNet-5 as the paper's Figure 3 and Table 3 have it, and the systems of Table 4. */
#include "dn2pciot.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

#define KIB 1024
#define VALUE 8 /* bytes: Table 3 has 8 for a vertex of one input value */
#define TAPS 5  /* rows and columns of a kernel */

/* Table 4 rounds the links: 300 Mbit/s among all ordered pairs, for two devices a sixth of it. With
 * these the best rates of Table 7 are whole numbers of values on a link. */
#define SHARED_LINK 37.5e6
const struct system systems[SYSTEMS] = {
    {"STM32F469xx", 2, 388, 180e6, SHARED_LINK / 6, 507.265, 864.22},
    {"Atmel SAM G55G", 4, 176, 120e6, SHARED_LINK / 12, 338.177, 757.03},
    {"STM32L433", 11, 64, 80e6, SHARED_LINK / 110, 225.451, 162.65},
    {"STM32L151VB", 56, 16, 1.6e6, SHARED_LINK / 3080, 4.509, 21.14},
    {"STM32L151VB", 63, 16, 1.6e6, SHARED_LINK / 3906, 4.509, 17.65},
};

/* Table 3, by layer: shared parameters, then of a vertex of 1:1 and of 2:1 its memory and FLOP. */
static const struct {
    const char *name;
    bool map;
    int shared;
    struct {
        int side, values, memory, work;
    } of[2];
} table3[LAYERS] = {
    [INPUT] = {"input", true, 0, {{32, 1, 8, 0}, {16, 4, 32, 0}}},
    [C1] = {"C1", true, 1248, {{28, 6, 48, 306}, {14, 24, 192, 1224}}},
    [P1] = {"P1", true, 96, {{14, 6, 48, 36}, {7, 24, 192, 144}}},
    [C2] = {"C2", true, 12128, {{10, 16, 128, 765}, {5, 64, 512, 3060}}},
    [P2] = {"P2", true, 256, {{5, 16, 128, 96}, {5, 16, 128, 96}}},
    [FC1] = {"FC1", false, 0, {{120, 1, 3216, 51}, {30, 4, 12864, 204}}},
    [FC2] = {"FC2", false, 0, {{84, 1, 976, 240}, {21, 4, 3904, 960}}},
    [FC3] = {"FC3", false, 0, {{10, 1, 688, 168}, {2, 5, 3440, 840}}},
};

void dn_fail(const char *what, const struct adaps_error *err)
{
    fprintf(stderr, "bench/papers/dn2pciot: %s%s%s\n", what, *what ? ": " : "", err->message);
    exit(err->status);
}

void *dn_alloc(size_t count, size_t size)
{
    struct adaps_error err;
    void *p = ad_calloc(count, size);
    if (!p) {
        if (ad_error_memory(&err, "vertices", count * size) != ADAPS_OK)
            dn_fail("", &err);
    }
    return p;
}

/* Whether vertex `to` of a layer reads vertex `from` of the one before: both by lines. */
static bool reads(const struct lenet_layer *in, const struct lenet_layer *out, int layer, int from,
                  int to)
{
    if (!out->map)
        return true;
    for (int axis = 0; axis < 2; axis++) {
        int i = axis ? from % in->side : from / in->side;
        int o = axis ? to % out->side : to / out->side;
        bool pool = layer == P1 || layer == P2;
        int stride = pool ? 2 : 1, taps = pool ? 2 : TAPS;
        int lo = o * out->grain * stride, hi = ((o + 1) * out->grain - 1) * stride + taps;
        if (hi <= i * in->grain || lo >= (i + 1) * in->grain)
            return false;
    }
    return true;
}

static void set_layers(struct lenet *net, bool coarse)
{
    int first = 0;
    for (int l = 0; l < LAYERS; l++) {
        int side = table3[l].of[coarse].side;
        net->layers[l] =
            (struct lenet_layer){.name = table3[l].name,
                                 .side = side,
                                 .first = first,
                                 .count = table3[l].map ? side * side : side,
                                 .map = table3[l].map,
                                 .grain = table3[l].map ? table3[l].of[0].side / side : 1};
        first += net->layers[l].count;
        net->shared[l] = table3[l].shared;
    }
    net->graph.nvertices = first;
}

static void set_vertices(struct lenet *net, bool coarse)
{
    size_t n = (size_t)net->graph.nvertices;
    net->memory = dn_alloc(n, sizeof *net->memory);
    net->bytes = dn_alloc(n, sizeof *net->bytes);
    net->work = dn_alloc(n, sizeof *net->work);
    net->group = dn_alloc(n, sizeof *net->group);
    net->input = dn_alloc(n, sizeof *net->input);
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < net->layers[l].count; i++) {
            int v = net->layers[l].first + i;
            net->memory[v] = table3[l].of[coarse].memory;
            net->bytes[v] = (int64_t)table3[l].of[coarse].values * VALUE;
            net->work[v] = table3[l].of[coarse].work;
            net->group[v] = l;
            net->input[v] = l == INPUT;
        }
}

/* Twice: to count, then to write. */
static void set_edges(struct lenet *net)
{
    net->first = dn_alloc((size_t)net->graph.nvertices + 1, sizeof *net->first);
    for (int pass = 0; pass < 2; pass++) {
        int edges = 0;
        for (int l = 0; l < LAYERS; l++)
            for (int i = 0; i < net->layers[l].count; i++) {
                net->first[net->layers[l].first + i] = edges;
                for (int o = 0; l + 1 < LAYERS && o < net->layers[l + 1].count; o++) {
                    if (!reads(&net->layers[l], &net->layers[l + 1], l + 1, i, o))
                        continue;
                    if (pass)
                        net->readers[edges] = net->layers[l + 1].first + o;
                    edges++;
                }
            }
        net->first[net->graph.nvertices] = edges;
        if (!pass)
            net->readers = dn_alloc((size_t)edges, sizeof *net->readers);
    }
}

void lenet_init(struct lenet *out, bool coarse, const struct system *system)
{
    int n = system->devices;
    *out = (struct lenet){.graph = {.ngroups = LAYERS, .ndevices = n}};
    set_layers(out, coarse);
    set_vertices(out, coarse);
    set_edges(out);
    for (int d = 0; d < n; d++) {
        out->limit[d] = (int64_t)system->kib * KIB;
        out->rate[d] = system->flops;
    }
    for (int i = 0; i < n * n; i++)
        out->bandwidth[i] = system->bandwidth;
    struct ad_work_graph *g = &out->graph;
    g->memory = out->memory;
    g->bytes = out->bytes;
    g->work = out->work;
    g->group = out->group;
    g->first = out->first;
    g->readers = out->readers;
    g->shared = out->shared;
    g->limit = out->limit;
    g->rate = out->rate;
    g->bandwidth = out->bandwidth;
}

void lenet_fini(struct lenet *net)
{
    ad_free(net->memory);
    ad_free(net->bytes);
    ad_free(net->work);
    ad_free(net->group);
    ad_free(net->first);
    ad_free(net->readers);
    ad_free(net->input);
}

int64_t lenet_memory(const struct lenet *net)
{
    int64_t sum = 0;
    for (int v = 0; v < net->graph.nvertices; v++)
        sum += net->memory[v];
    for (int l = 0; l < LAYERS; l++)
        sum += net->shared[l];
    return sum;
}

double lenet_work(const struct lenet *net)
{
    double sum = 0;
    for (int v = 0; v < net->graph.nvertices; v++)
        sum += net->work[v];
    return sum;
}

double dn_rate(const struct lenet *net, const int *part)
{
    struct ad_work_cost cost;
    struct adaps_error err;
    if (ad_work_measure(&net->graph, part, &cost, &err) != ADAPS_OK)
        dn_fail("", &err);
    return cost.excess > 0 ? 0 : 1 / cost.seconds;
}
