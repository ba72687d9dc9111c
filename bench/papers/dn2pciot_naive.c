/* The approaches that DN2PCIoT is compared with: whole layers, algorithm 3, and vertices dealt
 * evenly (sections 4.4 to 4.6). */
#include "dn2pciot.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* --- whole layers: the best of all ways --- */

static void lay_layers(const struct lenet *net, const int *device, int *part)
{
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < net->layers[l].count; i++)
            part[net->layers[l].first + i] = device[l];
}

static int64_t layer_bytes(const struct lenet *net, int l)
{
    return net->layers[l].count * net->memory[net->layers[l].first] + net->shared[l];
}

/* Layers go to the devices that earlier ones are on, or to the next one: all devices are alike. */
static void try_layers(const struct lenet *net, int l, int used, int *device, int *part,
                       int *best_device, double *best)
{
    if (l == LAYERS) {
        lay_layers(net, device, part);
        double rate = dn_rate(net, part);
        if (rate > *best) {
            *best = rate;
            memcpy(best_device, device, LAYERS * sizeof *device);
        }
        return;
    }
    for (int d = 0; d <= used && d < net->graph.ndevices; d++) {
        device[l] = d;
        try_layers(net, l + 1, d == used ? used + 1 : used, device, part, best_device, best);
    }
}

bool dn_per_layers(const struct lenet *net, int *part)
{
    int device[LAYERS], best_device[LAYERS] = {0};
    double best = 0;
    for (int l = 0; l < LAYERS; l++)
        if (layer_bytes(net, l) > net->limit[0])
            return false;
    try_layers(net, 0, 0, device, part, best_device, &best);
    lay_layers(net, best_device, part);
    return best > 0;
}

/* --- what fits, device after device --- */

struct room {
    const struct lenet *net;
    int64_t left[AD_WORK_DEVICES];
    bool has[LAYERS][AD_WORK_DEVICES];
};

static void room_init(struct room *r, const struct lenet *net)
{
    *r = (struct room){.net = net};
    memcpy(r->left, net->limit, sizeof r->left);
}

/* Puts a vertex of a layer on a device if there is room. */
static bool put(struct room *r, int l, int v, int d, int *part)
{
    int64_t need = r->net->memory[v] + (r->has[l][d] ? 0 : r->net->shared[l]);
    if (need > r->left[d])
        return false;
    r->left[d] -= need;
    r->has[l][d] = true;
    part[v] = d;
    return true;
}

/* Algorithm 3: layers in order, what is left of one on the next device with room. */
bool dn_greedy(const struct lenet *net, int *part)
{
    struct room r;
    room_init(&r, net);
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0, d = 0; i < net->layers[l].count;) {
            if (d == net->graph.ndevices)
                return false;
            if (put(&r, l, net->layers[l].first + i, d, part))
                i++;
            else
                d++;
        }
    return true;
}

/* --- dealt evenly --- */

/* The device of a place of a map that is cut into about as many rows of rectangles as columns. */
static int tile_of(const struct lenet_layer *layer, int i, int devices)
{
    int lines = (int)lround(sqrt(devices));
    int row = i / layer->side, column = i % layer->side;
    int line = row * lines / layer->side;
    int begin = line * devices / lines, end = (line + 1) * devices / lines;
    return begin + column * (end - begin) / layer->side;
}

static void deal(const struct lenet *net, bool locked, int *part)
{
    int n = net->graph.ndevices;
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < net->layers[l].count; i++) {
            const struct lenet_layer *layer = &net->layers[l];
            int d = layer->map ? tile_of(layer, i, n) : i * n / layer->count;
            part[layer->first + i] = l == INPUT && locked ? 0 : d;
        }
}

static void by_memory(const struct lenet *net, int *order)
{
    for (int l = 0; l < LAYERS; l++) {
        int k = l;
        for (; k > 0 && layer_bytes(net, l) > layer_bytes(net, order[k - 1]); k--)
            order[k] = order[k - 1];
        order[k] = l;
    }
}

/* The layers that need most memory first, each on devices of its own as long as there are, as many
 * vertices on one as fit. */
static bool pack(const struct lenet *net, bool locked, int *part)
{
    struct room r;
    int order[LAYERS], next = 0, n = net->graph.ndevices;
    room_init(&r, net);
    by_memory(net, order);
    for (int i = 0; locked && i < net->layers[INPUT].count; i++)
        if (!put(&r, INPUT, net->layers[INPUT].first + i, 0, part))
            return false;
    for (int k = 0; k < LAYERS; k++) {
        const struct lenet_layer *layer = &net->layers[order[k]];
        int d = next < n ? next : 0, tried = 0;
        for (int i = 0; i < layer->count && !(locked && order[k] == INPUT);) {
            if (tried == n)
                return false;
            if (put(&r, order[k], layer->first + i, d, part)) {
                i++;
                tried = 0;
                next = d + 1 > next ? d + 1 : next;
            } else {
                d = (d + 1) % n;
                tried++;
            }
        }
    }
    return true;
}

bool dn_irgreedy(const struct lenet *net, bool locked, int *part)
{
    deal(net, locked, part);
    return dn_rate(net, part) > 0 || pack(net, locked, part);
}
