/* What the pictures show of each layer: where it stands in the network, and who computes it. */
#include "report/page/internal.h"

#define STAGE_LEAST                                                                                \
    3 /* layers of another map size that begin a stage; fewer stay in the one before */

/* What is known of values while layers are numbered. */
struct value_use {
    int last;       /* the last layer that reads it */
    bool moved;     /* some message has a part of it */
    bool seen;      /* a layer has read it */
    bool continued; /* a layer after it is in its lane */
};

static bool is_map(const struct ad_value *value)
{
    return value->box.h > 1 || value->box.w > 1;
}

static void collect_regions(struct ad_page_layers *layers)
{
    int n = layers->plan->cluster.ndevices;
    for (int d = 0; d < n; d++) {
        const struct ad_program *program = &layers->plan->schedule.programs[d];
        for (int i = 0; i < program->ntasks; i++) {
            struct ad_region *r =
                &layers->regions[(size_t)program->tasks[i].op * (size_t)n + (size_t)d];
            *r = ad_region_hull(*r, program->tasks[i].region);
        }
    }
}

static void note_splits(struct ad_page_layers *layers, int op)
{
    struct ad_page_layer *layer = &layers->items[op];
    struct ad_region whole = ad_region_whole(ad_page_value(layers, op));
    for (int d = 0; d < layers->plan->cluster.ndevices; d++) {
        struct ad_region r = ad_page_region(layers, op, d);
        if (ad_region_empty(r))
            continue;
        layer->computing++;
        layer->split[AD_ALONG_H] |= r.h0 > whole.h0 || r.h1 < whole.h1;
        layer->split[AD_ALONG_W] |= r.w0 > whole.w0 || r.w1 < whole.w1;
        layer->split[AD_ALONG_C] |= r.c0 > whole.c0 || r.c1 < whole.c1;
    }
}

static void note_messages(struct ad_page_layers *layers, struct value_use *uses)
{
    const struct ad_graph *graph = layers->plan->graph;
    for (size_t i = 0; i < layers->messages.count; i++) {
        const struct ad_message *m = &layers->messages.items[i];
        int producer = graph->values[m->value].producer;
        uses[m->value].moved = true;
        if (producer >= 0) {
            layers->items[producer].messages++;
            layers->items[producer].bytes += m->bytes;
        }
    }
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            uses[graph->ops[i].inputs[k]].last = i;
}

/* A new range begins where a layer reads what was exchanged. */
static void find_range(struct ad_page_layers *layers, int op, struct value_use *uses,
                       const int64_t *bytes)
{
    const struct ad_graph *graph = layers->plan->graph;
    struct ad_page_layer *layer = &layers->items[op];
    bool begins = op == 0;
    for (int k = 0; k < graph->ops[op].ninputs; k++) {
        int value = graph->ops[op].inputs[k];
        if (graph->values[value].constant >= 0)
            continue;
        layer->operands++;
        layer->follows = op > 0 && graph->values[value].producer == op - 1;
        begins = begins || uses[value].moved;
        if (!uses[value].seen)
            layer->gets_bytes += bytes[value];
        uses[value].seen = true;
    }
    layer->follows = layer->follows && layer->operands == 1;
    layers->nranges += begins;
    layer->range = layers->nranges - 1;
}

/* A layer goes on in the lane of its first operand, if no other layer did before it, or takes the
 * first free one. A lane is free once nobody reads its last layer any more. holder: by lane, its
 * last layer, or -1. */
static void find_lane(struct ad_page_layers *layers, int op, struct value_use *uses, int *holder)
{
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

/* holder: room for a lane per op, and one more. bytes: of messages, by value. */
static void number_layers(struct ad_page_layers *layers, struct value_use *uses, int *holder,
                          int64_t *bytes)
{
    const struct ad_graph *graph = layers->plan->graph;
    note_messages(layers, uses);
    for (size_t i = 0; i < layers->messages.count; i++)
        bytes[layers->messages.items[i].value] += layers->messages.items[i].bytes;
    for (int i = 0; i <= graph->nops; i++)
        holder[i] = -1;
    collect_regions(layers);
    for (int i = 0; i < graph->nops; i++) {
        note_splits(layers, i);
        find_range(layers, i, uses, bytes);
        find_lane(layers, i, uses, holder);
    }
    find_stages(layers);
}

enum adaps_status ad_page_layers_init(struct ad_page_layers *out, const struct adaps_plan *view,
                                      struct adaps_error *err)
{
    size_t nops = (size_t)view->graph->nops, n = (size_t)view->cluster.ndevices;
    size_t nvalues = (size_t)view->graph->nvalues;
    *out = (struct ad_page_layers){.plan = view,
                                   .items = ad_calloc(nops, sizeof *out->items),
                                   .regions = ad_calloc(nops * n, sizeof *out->regions)};
    struct value_use *uses = ad_calloc(nvalues, sizeof *uses);
    int *holder = ad_calloc(nops + 1, sizeof *holder);
    int64_t *bytes = ad_calloc(nvalues, sizeof *bytes);
    enum adaps_status status = ADAPS_OK;
    if (!out->items || !out->regions || !uses || !holder || !bytes)
        status = ad_error_memory(err, "layers of a page", nops * n * sizeof *out->regions);
    if (status == ADAPS_OK)
        status = ad_messages_init(&out->messages, view, err);
    if (status == ADAPS_OK)
        number_layers(out, uses, holder, bytes);
    else
        ad_page_layers_fini(out);
    ad_free(uses);
    ad_free(holder);
    ad_free(bytes);
    return status;
}

void ad_page_layers_fini(struct ad_page_layers *layers)
{
    ad_messages_fini(&layers->messages);
    ad_free(layers->items);
    ad_free(layers->regions);
    *layers = (struct ad_page_layers){0};
}
