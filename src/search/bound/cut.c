/* The smallest cut of a graph, by Dinic's algorithm. */
#include "search/bound/cut.h"

#include <string.h>

bool ad_cut_init(struct ad_cut_net *out, int nnodes)
{
    size_t n = (size_t)nnodes;
    *out = (struct ad_cut_net){.nnodes = nnodes};
    out->first = ad_calloc(n, sizeof *out->first);
    out->next = ad_calloc(n, sizeof *out->next);
    out->level = ad_calloc(n, sizeof *out->level);
    out->queue = ad_calloc(n, sizeof *out->queue);
    if (!out->first || !out->next || !out->level || !out->queue)
        return false;
    memset(out->first, -1, n * sizeof *out->first);
    return true;
}

void ad_cut_fini(struct ad_cut_net *net)
{
    ad_free(net->arcs);
    ad_free(net->first);
    ad_free(net->next);
    ad_free(net->level);
    ad_free(net->queue);
    *net = (struct ad_cut_net){0};
}

bool ad_cut_arc(struct ad_cut_net *net, int from, int to, double capacity)
{
    for (int back = 0; back < 2; back++) {
        int node = back ? to : from;
        if (!ad_grow(&net->arcs, net->narcs, &net->room, sizeof *net->arcs))
            return false;
        net->arcs[net->narcs] =
            (struct ad_cut_arc){back ? from : to, net->first[node], back ? 0 : capacity, 0};
        net->first[node] = (int)net->narcs++;
    }
    return true;
}

/* Sets levels: how many arcs with room a node is from AD_CUT_HERE, -1 when it cannot be reached.
 * Whether AD_CUT_AWAY can be. */
static bool find_levels(struct ad_cut_net *net)
{
    int head = 0, tail = 0;
    memset(net->level, -1, (size_t)net->nnodes * sizeof *net->level);
    net->level[AD_CUT_HERE] = 0;
    net->queue[tail++] = AD_CUT_HERE;
    while (head < tail) {
        int at = net->queue[head++];
        for (int i = net->first[at]; i >= 0; i = net->arcs[i].next) {
            const struct ad_cut_arc *arc = &net->arcs[i];
            if (arc->room > 0 && net->level[arc->to] < 0) {
                net->level[arc->to] = net->level[at] + 1;
                net->queue[tail++] = arc->to;
            }
        }
    }
    return net->level[AD_CUT_AWAY] >= 0;
}

/* Sends along a path of these arcs as much as they let through. Returns the index of the first arc
 * that is full then. */
static int send(struct ad_cut_net *net, const int *path, int length, double *sum)
{
    int full = 0;
    for (int i = 1; i < length; i++)
        if (net->arcs[path[i]].room < net->arcs[path[full]].room)
            full = i;
    double amount = net->arcs[path[full]].room;
    for (int i = 0; i < length; i++) {
        net->arcs[path[i]].room -= amount;
        net->arcs[path[i] ^ 1].room += amount;
    }
    *sum += amount;
    return full;
}

/* Sends along paths that go up one level with each arc until there is none with room. Returns how
 * much. */
static double block(struct ad_cut_net *net)
{
    int *path = net->queue, length = 0, at = AD_CUT_HERE;
    double sum = 0;
    memcpy(net->next, net->first, (size_t)net->nnodes * sizeof *net->next);
    for (;;) {
        int *i = &net->next[at];
        while (*i >= 0 &&
               !(net->arcs[*i].room > 0 && net->level[net->arcs[*i].to] == net->level[at] + 1))
            *i = net->arcs[*i].next;
        if (*i >= 0) {
            path[length++] = *i;
            at = net->arcs[*i].to;
        } else if (length > 0) {
            at = net->arcs[path[--length] ^ 1].to;
            net->next[at] = net->arcs[net->next[at]].next;
        } else {
            return sum;
        }
        if (at == AD_CUT_AWAY) {
            length = send(net, path, length, &sum);
            at = net->arcs[path[length] ^ 1].to;
        }
    }
}

double ad_cut_smallest(struct ad_cut_net *net)
{
    double sum = 0;
    for (size_t i = 0; i < net->narcs; i++)
        net->arcs[i].room = net->arcs[i].capacity;
    while (find_levels(net))
        sum += block(net);
    return sum;
}
