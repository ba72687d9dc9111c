/* What the pictures show of each layer: where it stands in the network, and who computes it. */
#include "report/page/internal.h"

#include <stdlib.h>
#include <string.h>

#define STAGE_LEAST                                                                                \
    3 /* layers of another map size that begin a stage; fewer stay in the one before */

/* What is known of values while layers are numbered. Devices are bits. */
struct value_use {
    int last;           /* the last layer that reads it */
    uint64_t receivers; /* devices that receive some of it */
    uint64_t readers;   /* devices that have computed a layer which reads it */
    bool continued;     /* a layer after it is in its lane */
};

struct numbering {
    struct value_use *uses; /* by value */
    int *holder;            /* by lane, its last layer while somebody reads that; or -1 */
    int64_t *bytes;         /* [value * ndevices + device]: received */
};

static bool is_map(const struct ad_value *value)
{
    return value->box.h > 1 || value->box.w > 1;
}

static int compare_parts(const void *a, const void *b)
{
    const struct ad_page_part *x = a, *y = b;
    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->region.h0 != y->region.h0)
        return x->region.h0 < y->region.h0 ? -1 : 1;
    if (x->region.w0 != y->region.w0)
        return x->region.w0 < y->region.w0 ? -1 : 1;
    return (x->region.c0 > y->region.c0) - (x->region.c0 < y->region.c0);
}

/* Parts [first, end) are those of one device of one layer: as one, if they make up one box. Returns
 * how many are left. */
static size_t join_parts(struct ad_page_part *parts, size_t count)
{
    struct ad_region hull = ad_region_none();
    int64_t elements = 0;
    for (size_t i = 0; i < count; i++) {
        hull = ad_region_hull(hull, parts[i].region);
        elements += ad_region_elements(parts[i].region);
    }
    if (elements != ad_region_elements(hull))
        return count;
    parts[0].region = hull;
    return 1;
}

static void collect_parts(struct ad_page_layers *layers)
{
    size_t count = 0, kept = 0;
    for (int d = 0; d < layers->plan->cluster.ndevices; d++) {
        const struct ad_program *program = &layers->plan->schedule.programs[d];
        for (int i = 0; i < program->ntasks; i++)
            if (!ad_region_empty(program->tasks[i].region))
                layers->parts[count++] =
                    (struct ad_page_part){program->tasks[i].op, d, program->tasks[i].region};
    }
    qsort(layers->parts, count, sizeof *layers->parts, compare_parts);
    for (size_t i = 0, next; i < count; i = next) {
        struct ad_page_part *part = &layers->parts[i];
        for (next = i + 1; next < count && layers->parts[next].op == part->op &&
                           layers->parts[next].device == part->device;)
            next++;
        size_t left = join_parts(part, next - i);
        struct ad_page_layer *layer = &layers->items[part->op];
        if (layer->nparts == 0)
            layer->first_part = (int)kept;
        layer->nparts += (int)left;
        memmove(&layers->parts[kept], part, left * sizeof *part);
        kept += left;
    }
}

double ad_page_share(const struct ad_page_layers *layers, int op, int device)
{
    const struct ad_page_layer *layer = &layers->items[op];
    int64_t elements = 0;
    for (int i = layer->first_part; i < layer->first_part + layer->nparts; i++)
        if (layers->parts[i].device == device)
            elements += ad_region_elements(layers->parts[i].region);
    return (double)elements /
           (double)ad_region_elements(ad_region_whole(ad_page_value(layers, op)));
}

double ad_page_received(const struct ad_page_layers *layers, int op, int device)
{
    size_t at = (size_t)op * (size_t)layers->plan->cluster.ndevices + (size_t)device;
    return (double)layers->received[at] /
           (double)ad_region_elements(ad_region_whole(ad_page_value(layers, op)));
}

static void note_messages(struct ad_page_layers *layers, struct numbering *n)
{
    const struct ad_graph *graph = layers->plan->graph;
    for (size_t i = 0; i < layers->messages.count; i++) {
        const struct ad_message *m = &layers->messages.items[i];
        int producer = graph->values[m->value].producer;
        n->uses[m->value].receivers |= UINT64_C(1) << m->to;
        n->bytes[m->value * layers->plan->cluster.ndevices + m->to] += m->bytes;
        if (producer < 0)
            continue;
        layers->items[producer].messages++;
        layers->received[producer * layers->plan->cluster.ndevices + m->to] +=
            ad_region_elements(m->region);
    }
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            n->uses[graph->ops[i].inputs[k]].last = i;
}

/* The devices that compute a layer. */
static uint64_t devices_of(const struct ad_page_layers *layers, int op)
{
    const struct ad_page_layer *layer = &layers->items[op];
    uint64_t devices = 0;
    for (int i = layer->first_part; i < layer->first_part + layer->nparts; i++)
        devices |= UINT64_C(1) << layers->parts[i].device;
    return devices;
}

/* What devices have received of a value, which they have not read before. */
static int64_t take_bytes(const struct ad_page_layers *layers, struct numbering *n, int value,
                          uint64_t devices)
{
    struct value_use *use = &n->uses[value];
    int64_t bytes = 0;
    for (int d = 0; d < layers->plan->cluster.ndevices; d++)
        if (devices & ~use->readers & UINT64_C(1) << d)
            bytes += n->bytes[value * layers->plan->cluster.ndevices + d];
    use->readers |= devices;
    return bytes;
}

/* A new range begins where some device reads what it has received for this. */
static void find_range(struct ad_page_layers *layers, int op, struct numbering *n)
{
    const struct ad_graph *graph = layers->plan->graph;
    struct ad_page_layer *layer = &layers->items[op];
    uint64_t devices = devices_of(layers, op);
    bool begins = op == 0;
    for (int k = 0; k < graph->ops[op].ninputs; k++) {
        int value = graph->ops[op].inputs[k];
        if (graph->values[value].constant >= 0)
            continue;
        layer->operands++;
        layer->follows = op > 0 && graph->values[value].producer == op - 1;
        begins = begins || (n->uses[value].receivers & devices & ~n->uses[value].readers);
        layer->gets_bytes += take_bytes(layers, n, value, devices);
    }
    layer->follows = layer->follows && layer->operands == 1;
    layers->nranges += begins;
    layer->range = layers->nranges - 1;
}

/* A layer goes on in the lane of its first operand, if no other layer did before it, or takes the
 * first free one. A lane is free once nobody reads its last layer any more. */
static void find_lane(struct ad_page_layers *layers, int op, struct numbering *n)
{
    struct value_use *uses = n->uses;
    int *holder = n->holder;
    const struct ad_graph *graph = layers->plan->graph;
    const struct ad_op *o = &graph->ops[op];
    int lane = -1;
    for (int k = 0; k < o->ninputs && lane < 0; k++) {
        int producer = graph->values[o->inputs[k]].producer;
        if (producer < 0 || uses[o->inputs[k]].continued)
            continue;
        lane = layers->items[producer].lane;
        uses[o->inputs[k]].continued = true;
    }
    for (int k = 0; k < o->ninputs; k++) {
        int producer = graph->values[o->inputs[k]].producer;
        if (producer >= 0 && uses[o->inputs[k]].last <= op &&
            holder[layers->items[producer].lane] == producer)
            holder[layers->items[producer].lane] = -1;
    }
    if (lane < 0)
        for (lane = 0; holder[lane] >= 0;)
            lane++;
    holder[lane] = uses[o->output].last > op ? op : -1;
    layers->items[op].lane = lane;
    if (lane >= layers->nlanes)
        layers->nlanes = lane + 1;
}

static bool same_size(const struct ad_page_layers *layers, int a, int b)
{
    const struct ad_box *x = &ad_page_value(layers, a)->box, *y = &ad_page_value(layers, b)->box;
    return x->h == y->h && x->w == y->w;
}

/* A stage begins where the size of maps changes for a while. first: its first layer. */
static bool begins_stage(const struct ad_page_layers *layers, int op, int first)
{
    int nops = layers->plan->graph->nops;
    if (same_size(layers, op, first))
        return false;
    for (int i = op + 1; i < nops && i < op + STAGE_LEAST; i++)
        if (!same_size(layers, op, i))
            return false;
    return true;
}

static void find_stages(struct ad_page_layers *layers)
{
    int first = 0;
    for (int i = 0; i < layers->plan->graph->nops; i++) {
        const struct ad_value *value = ad_page_value(layers, i);
        if (begins_stage(layers, i, first)) {
            layers->nstages++;
            first = i;
        }
        layers->items[i].stage = layers->nstages;
        if (is_map(value) && value->box.h > layers->largest)
            layers->largest = value->box.h;
        if (is_map(value) && value->box.w > layers->largest)
            layers->largest = value->box.w;
    }
    layers->nstages++;
}

static void number_layers(struct ad_page_layers *layers, struct numbering *n)
{
    const struct ad_graph *graph = layers->plan->graph;
    note_messages(layers, n);
    for (int i = 0; i <= graph->nops; i++)
        n->holder[i] = -1;
    collect_parts(layers);
    for (int i = 0; i < graph->nops; i++) {
        find_range(layers, i, n);
        find_lane(layers, i, n);
    }
    find_stages(layers);
    for (int v = 0; v < graph->nvalues; v++)
        layers->gathered_bytes += take_bytes(layers, n, v, UINT64_MAX);
}

enum adaps_status ad_page_layers_init(struct ad_page_layers *out, const struct adaps_plan *view,
                                      struct adaps_error *err)
{
    size_t nops = (size_t)view->graph->nops, nvalues = (size_t)view->graph->nvalues, ntasks = 1;
    size_t nbytes = (nvalues + nops) * (size_t)view->cluster.ndevices;
    for (int d = 0; d < view->cluster.ndevices; d++)
        ntasks += (size_t)view->schedule.programs[d].ntasks;
    *out = (struct ad_page_layers){.plan = view,
                                   .items = ad_calloc(nops, sizeof *out->items),
                                   .parts = ad_calloc(ntasks, sizeof *out->parts),
                                   .received = ad_calloc(nbytes, sizeof *out->received)};
    struct numbering n = {.uses = ad_calloc(nvalues, sizeof *n.uses),
                          .holder = ad_calloc(nops + 1, sizeof *n.holder),
                          .bytes = ad_calloc(nbytes, sizeof *n.bytes)};
    enum adaps_status status = ADAPS_OK;
    if (!out->items || !out->parts || !out->received || !n.uses || !n.holder || !n.bytes)
        status = ad_error_memory(err, "layers of a page", ntasks * sizeof *out->parts);
    if (status == ADAPS_OK)
        status = ad_messages_init(&out->messages, view, err);
    if (status == ADAPS_OK)
        number_layers(out, &n);
    else
        ad_page_layers_fini(out);
    ad_free(n.uses);
    ad_free(n.holder);
    ad_free(n.bytes);
    return status;
}

void ad_page_layers_fini(struct ad_page_layers *layers)
{
    ad_messages_fini(&layers->messages);
    ad_free(layers->items);
    ad_free(layers->parts);
    ad_free(layers->received);
    *layers = (struct ad_page_layers){0};
}
