#include "search/given/mapping_layout.h"
#include "search/layout_regions.h"

#include <stdio.h>
#include <string.h>

double ad_mapping_key_speed(const struct ad_layer_mapping *m, int key, enum ad_cost_class class,
                            const struct ad_cluster *cluster)
{
    const struct ad_mapping_key *k = &m->keys[key];
    int d = ad_cluster_find(cluster, k->device);
    const struct ad_device *device = &cluster->devices[d];
    return ad_cost_speed(device, class) * k->ncores / device->threads;
}

/* "edge01_arm0, edge02_arm0" */
static const char *list_keys(const struct ad_layer_mapping *m, uint64_t keys, char *buf,
                             size_t size)
{
    size_t used = 0;
    buf[0] = '\0';
    for (int k = 0; k < m->nkeys && used < size; k++)
        if (keys >> k & 1)
            used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
                                     m->keys[k].name);
    return buf;
}

enum adaps_status ad_mapping_op_keys(const struct ad_layer_mapping *m,
                                     const struct ad_onnx_model *model,
                                     const struct ad_import_facts *facts, const struct ad_op *op,
                                     uint64_t *keys, struct adaps_error *err)
{
    int first = -1;
    *keys = op->nnodes > 0 ? m->keys_of[op->nodes[0]] : 0;
    for (int i = 0; i < op->nnodes; i++) {
        int node = op->nodes[i];
        if (facts->roles[node] != AD_NODE_COMPUTES)
            continue;
        if (first >= 0 && m->keys_of[node] != m->keys_of[first]) {
            char a[160], b[160];
            return ad_error_set(
                err, ADAPS_EINPUT,
                "%s: the layers '%s' (%s) and '%s' (%s) are computed as one operator, %s, and "
                "cannot be parted",
                m->path, model->proto->graph->node[first]->name,
                list_keys(m, m->keys_of[first], a, sizeof a), model->proto->graph->node[node]->name,
                list_keys(m, m->keys_of[node], b, sizeof b), op->type);
        }
        first = node;
        *keys = m->keys_of[node];
    }
    return ADAPS_OK;
}

/* What devices of these keys do of a layer, by device. Returns how many there are. */
static int weights_of(const struct ad_layer_mapping *m, uint64_t keys, enum ad_cost_class class,
                      const struct ad_cluster *cluster, double *weight, int *fastest)
{
    int count = 0;
    memset(weight, 0, (size_t)cluster->ndevices * sizeof *weight);
    for (int k = 0; k < m->nkeys; k++)
        if (keys >> k & 1)
            weight[ad_cluster_find(cluster, m->keys[k].device)] +=
                ad_mapping_key_speed(m, k, class, cluster);
    *fastest = 0;
    for (int d = 0; d < cluster->ndevices; d++) {
        count += weight[d] > 0;
        if (weight[d] > weight[*fastest])
            *fastest = d;
    }
    return count;
}

static void lay_out(const struct ad_layer_mapping *m, uint64_t keys, enum ad_cost_class class,
                    const struct ad_graph *graph, const struct ad_cluster *cluster, int i,
                    struct ad_layout *layout)
{
    double weight[AD_MAX_DEVICES];
    int fastest;
    const struct ad_op *op = &graph->ops[i];
    int count = weights_of(m, keys, class, cluster, weight, &fastest);
    bool one_row = ad_dim_extent(&graph->values[op->output], AD_DIM_H) == 1;
    enum ad_dim dim = ad_dim_splits(graph, op, AD_DIM_H)              ? AD_DIM_H
                      : one_row && ad_dim_splits(graph, op, AD_DIM_C) ? AD_DIM_C
                                                                      : AD_DIM_WHOLE;
    if (count == 0) /* a change of format: by all who read it */
        layout->ops[i] = (struct ad_op_layout){.dim = AD_DIM_EACH};
    else if (count == 1 || dim == AD_DIM_WHOLE)
        layout->ops[i] = (struct ad_op_layout){.dim = AD_DIM_WHOLE, .pinned = true, .at = fastest};
    else {
        layout->ops[i] = (struct ad_op_layout){.dim = dim, .pinned = true};
        ad_cuts_proportional(weight, cluster->ndevices, ad_layout_cuts(layout, i));
    }
}

/* The ways in which devices may take and send their work. */
struct way {
    enum ad_order order;
    bool early;
    int input_chunks, band_chunks;
};
static const struct way ways[] = {
    {AD_ORDER_GRAPH, false, 1, 1}, {AD_ORDER_READY, false, 1, 1}, {AD_ORDER_READY, false, 3, 1},
    {AD_ORDER_PIECES, true, 1, 1}, {AD_ORDER_PIECES, true, 3, 3}, {AD_ORDER_EDGES, true, 3, 3},
    {AD_ORDER_CORES, true, 1, 1},  {AD_ORDER_CORES, true, 3, 3},
};
#define NWAYS ((int)(sizeof ways / sizeof *ways))

static enum adaps_status assign_ways(const struct ad_graph *graph, const struct ad_cluster *cluster,
                                     struct ad_layout *layout, struct ad_assignment *to, int *count,
                                     struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    bool *exchange = ad_calloc((size_t)graph->nops, sizeof *exchange);
    if (!exchange)
        return ad_error_memory(err, "mapping", (size_t)graph->nops);
    for (int w = 0; w < NWAYS && status == ADAPS_OK; w++) {
        layout->order = ways[w].order;
        layout->input_chunks = ways[w].input_chunks;
        layout->band_chunks = ways[w].band_chunks;
        for (int i = 0; i < graph->nops; i++)
            layout->ops[i].early = ways[w].early;
        status = ad_assignment_init(&to[w], graph->nops, cluster->ndevices, err);
        if (status == ADAPS_OK) {
            ad_layout_regions(graph, cluster->source, layout, exchange, &to[w]);
            (*count)++;
        }
    }
    ad_free(exchange);
    return status;
}

enum adaps_status ad_mapping_assign(const struct ad_layer_mapping *m,
                                    const struct ad_onnx_model *model,
                                    const struct ad_import_facts *facts,
                                    const struct ad_graph *graph, const struct ad_cluster *cluster,
                                    bool u8, struct ad_assignment **out, int *count,
                                    struct adaps_error *err)
{
    struct ad_layout layout;
    *count = 0;
    *out = NULL;
    enum adaps_status status = ad_layout_init(&layout, graph->nops, cluster->ndevices, err);
    if (status != ADAPS_OK)
        return status;
    layout.u8 = u8;
    enum ad_cost_class class = ad_cost_main_class(graph);
    for (int i = 0; i < graph->nops && status == ADAPS_OK; i++) {
        uint64_t keys;
        status = ad_mapping_op_keys(m, model, facts, &graph->ops[i], &keys, err);
        if (status == ADAPS_OK)
            lay_out(m, keys, class, graph, cluster, i, &layout);
    }
    if (status == ADAPS_OK && !(*out = ad_calloc(NWAYS, sizeof **out)))
        status = ad_error_memory(err, "mapping", NWAYS * sizeof **out);
    if (status == ADAPS_OK)
        status = assign_ways(graph, cluster, &layout, *out, count, err);
    ad_layout_fini(&layout);
    if (status != ADAPS_OK) {
        ad_mapping_assignments_free(*out, *count);
        *out = NULL;
        *count = 0;
    }
    return status;
}

void ad_mapping_assignments_free(struct ad_assignment *assignments, int count)
{
    for (int i = 0; i < count; i++)
        ad_assignment_fini(&assignments[i]);
    ad_free(assignments);
}
