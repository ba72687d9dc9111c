/* Node by node, in an order in which they can be computed: a node goes into the sub-model of its
 * key or, in parts, into those of its keys; what it reads and its sub-model does not have is
 * fetched: sliced where it is, sent, and put together where it is read. */
#include "split/split.h"
#include "search/layout.h"
#include "base/protobuf.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A part of a tensor in a sub-model. */
struct piece {
    int key;
    struct ad_part part;
    const char *name;
    bool sent; /* an output of the sub-model already */
    struct piece *next;
};

/* Where a tensor is. */
struct place {
    int axis;   /* along which it is divided; 0: it is whole */
    int nparts; /* 0: a constant, or an input of the network */
    int *keys;  /* by part */
    struct ad_stretch *at;
    struct piece *pieces;
};

struct splitter {
    struct ad_split *split;
    struct place *places; /* by tensor of the facts */
    const double *speeds;
    struct adaps_error *err;
};

static enum adaps_status no_memory(const struct splitter *s)
{
    return ad_error_memory(s->err, "split", 0);
}

static struct place *place_of(const struct splitter *s, const struct ad_tensor_facts *t)
{
    return &s->places[t - s->split->facts->tensors];
}

/* --- what sub-models consist of --- */

#define ADD(list, count, room, item)                                                               \
    (ad_grow(&(list), (count), &(room), sizeof *(list)) ? ((list)[(count)++] = (item), true)       \
                                                        : false)

static Onnx__NodeProto *new_node(const struct splitter *s, const char *type, const char *name,
                                 size_t ninputs)
{
    struct ad_arena *arena = &s->split->arena;
    Onnx__NodeProto *node = ad_arena_alloc(arena, 1, sizeof *node);
    if (!node)
        return NULL;
    onnx__node_proto__init(node);
    node->op_type = ad_protobuf_borrow(type);
    node->name = ad_protobuf_borrow(name);
    node->n_input = ninputs;
    node->input = ad_arena_alloc(arena, ninputs + 1, sizeof *node->input);
    node->n_output = 1;
    node->output = ad_arena_alloc(arena, 1, sizeof *node->output);
    if (!node->input || !node->output)
        return NULL;
    node->output[0] = ad_protobuf_borrow(name);
    return node;
}

static bool add_node(const struct splitter *s, int key, Onnx__NodeProto *node)
{
    struct ad_sub_model *m = &s->split->models[key];
    return ADD(m->nodes, m->nnodes, m->nodes_room, node);
}

static Onnx__AttributeProto *new_ints(const struct splitter *s, const char *name, size_t count,
                                      const int64_t *items)
{
    struct ad_arena *arena = &s->split->arena;
    Onnx__AttributeProto *a = ad_arena_alloc(arena, 1, sizeof *a);
    int64_t *copy = ad_arena_alloc(arena, count, sizeof *copy);
    if (!a || !copy)
        return NULL;
    onnx__attribute_proto__init(a);
    memcpy(copy, items, count * sizeof *copy);
    a->name = ad_protobuf_borrow(name);
    a->has_type = 1;
    a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
    a->n_ints = count;
    a->ints = copy;
    return a;
}

static Onnx__AttributeProto *new_int(const struct splitter *s, const char *name, int64_t value)
{
    Onnx__AttributeProto *a = ad_arena_alloc(&s->split->arena, 1, sizeof *a);
    if (!a)
        return NULL;
    onnx__attribute_proto__init(a);
    a->name = ad_protobuf_borrow(name);
    a->has_type = 1;
    a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    a->has_i = 1;
    a->i = value;
    return a;
}

static bool set_attributes(const struct splitter *s, Onnx__NodeProto *node, size_t count,
                           Onnx__AttributeProto *const *items)
{
    node->attribute = ad_arena_alloc(&s->split->arena, count + 1, sizeof *node->attribute);
    for (size_t i = 0; node->attribute && i < count; i++) {
        if (!items[i])
            return false;
        node->attribute[node->n_attribute++] = items[i];
    }
    return node->attribute != NULL;
}

/* "conv1:rows_0_56": the name of a part; a whole has that of the tensor. NULL without memory. */
static const char *name_part(const struct splitter *s, const struct ad_tensor_facts *t,
                             const struct ad_part *part)
{
    static const char *const words[AD_PART_AXES] = {"first", "channels", "rows"};
    struct ad_part whole = ad_part_whole(t);
    size_t used = strlen(t->name), size = used + 160;
    char *name = ad_arena_alloc(&s->split->arena, size, 1);
    if (!name)
        return NULL;
    memcpy(name, t->name, used + 1);
    for (int axis = 0; axis < AD_PART_AXES; axis++)
        if (part->along[axis].lo != whole.along[axis].lo ||
            part->along[axis].hi != whole.along[axis].hi)
            used += (size_t)snprintf(name + used, size - used, ":%s_%" PRId64 "_%" PRId64,
                                     words[axis], part->along[axis].lo, part->along[axis].hi);
    return name;
}

/* --- pieces of tensors --- */

static struct piece *find_piece(const struct splitter *s, const struct ad_tensor_facts *t, int key,
                                const struct ad_part *part)
{
    for (struct piece *p = place_of(s, t)->pieces; p; p = p->next)
        if (p->key == key && ad_part_same(&p->part, part))
            return p;
    return NULL;
}

/* A new one; NULL without memory. */
static struct piece *add_piece(const struct splitter *s, const struct ad_tensor_facts *t, int key,
                               const struct ad_part *part)
{
    struct place *place = place_of(s, t);
    struct piece *p = ad_arena_alloc(&s->split->arena, 1, sizeof *p);
    const char *name = name_part(s, t, part);
    if (!p || !name)
        return NULL;
    *p = (struct piece){.key = key, .part = *part, .name = name, .next = place->pieces};
    place->pieces = p;
    return p;
}

/* A constant of integers that a node needs; returns its name. */
static const char *add_ints(struct splitter *s, int key, const char *name, const char *suffix,
                            size_t count, const int64_t *items)
{
    struct ad_arena *arena = &s->split->arena;
    struct ad_sub_model *m = &s->split->models[key];
    size_t size = strlen(name) + strlen(suffix) + 1;
    char *full = ad_arena_alloc(arena, size, 1);
    struct ad_tensor_facts *facts = ad_arena_alloc(arena, 1, sizeof *facts);
    int64_t *copy = ad_arena_alloc(arena, count, sizeof *copy);
    if (!full || !facts || !copy)
        return NULL;
    snprintf(full, size, "%s%s", name, suffix);
    memcpy(copy, items, count * sizeof *copy);
    *facts = (struct ad_tensor_facts){.name = full,
                                      .type = ONNX__TENSOR_PROTO__DATA_TYPE__INT64,
                                      .constant = true,
                                      .rank = 1,
                                      .dims = {(int64_t)count},
                                      .folded = {.rank = 1, .count = count, .i = copy}};
    struct ad_split_tensor constant = {full, facts, ad_part_whole(facts)};
    return ADD(m->constants, m->nconstants, m->constants_room, constant) ? full : NULL;
}

/* A Slice of `from`, of which the sub-model has `had`. */
static bool add_slice(struct splitter *s, int key, const char *from, const struct ad_part *had,
                      const struct piece *to)
{
    int64_t starts[AD_PART_AXES], ends[AD_PART_AXES], axes[AD_PART_AXES];
    size_t n = 0;
    bool inputs = s->split->model->opset >= 10;
    for (int axis = 0; axis < AD_PART_AXES; axis++) {
        struct ad_stretch want = to->part.along[axis], have = had->along[axis];
        if (want.lo == have.lo && want.hi == have.hi)
            continue;
        axes[n] = axis;
        starts[n] = want.lo - have.lo;
        ends[n++] = want.hi - have.lo;
    }
    Onnx__NodeProto *node = new_node(s, "Slice", to->name, inputs ? 4 : 1);
    if (!node)
        return false;
    node->input[0] = ad_protobuf_borrow(from);
    if (inputs) {
        node->input[1] = ad_protobuf_borrow(add_ints(s, key, to->name, ":starts", n, starts));
        node->input[2] = ad_protobuf_borrow(add_ints(s, key, to->name, ":ends", n, ends));
        node->input[3] = ad_protobuf_borrow(add_ints(s, key, to->name, ":axes", n, axes));
        return node->input[1] && node->input[2] && node->input[3] && add_node(s, key, node);
    }
    Onnx__AttributeProto *const attributes[] = {new_ints(s, "axes", n, axes),
                                                new_ints(s, "starts", n, starts),
                                                new_ints(s, "ends", n, ends)};
    return set_attributes(s, node, 3, attributes) && add_node(s, key, node);
}

static bool add_concat(struct splitter *s, int key, int axis, size_t count, const char *const *from,
                       const struct piece *to)
{
    Onnx__NodeProto *node = new_node(s, "Concat", to->name, count);
    Onnx__AttributeProto *const attributes[] = {new_int(s, "axis", axis)};
    if (!node || !set_attributes(s, node, 1, attributes))
        return false;
    for (size_t i = 0; i < count; i++)
        node->input[i] = ad_protobuf_borrow(from[i]);
    return add_node(s, key, node);
}

/* The piece becomes an output of its sub-model. */
static bool publish(struct splitter *s, const struct ad_tensor_facts *t, struct piece *piece)
{
    struct ad_sub_model *m = &s->split->models[piece->key];
    struct ad_split_tensor output = {piece->name, t, piece->part};
    if (piece->sent)
        return true;
    piece->sent = true;
    return ADD(m->outputs, m->noutputs, m->outputs_room, output);
}

/* --- fetching --- */

/* Part of the tensor's part i, sliced in the sub-model that has it. NULL without memory. */
static struct piece *slice_there(struct splitter *s, const struct ad_tensor_facts *t, int i,
                                 const struct ad_part *want)
{
    const struct place *place = place_of(s, t);
    int key = place->keys[i];
    struct piece *found = find_piece(s, t, key, want);
    if (found)
        return found;
    struct ad_part had = ad_part_whole(t);
    if (place->axis)
        had.along[place->axis] = place->at[i];
    const struct piece *source = find_piece(s, t, key, &had);
    struct piece *made = add_piece(s, t, key, want);
    return made && add_slice(s, key, source->name, &had, made) ? made : NULL;
}

/* The same, as a piece of another sub-model, to which it is sent. */
static struct piece *bring(struct splitter *s, const struct ad_tensor_facts *t, int i,
                           const struct ad_part *want, int to)
{
    struct ad_split *split = s->split;
    struct piece *found = find_piece(s, t, to, want);
    struct piece *there = found ? NULL : slice_there(s, t, i, want);
    if (found || !there || there->key == to)
        return found ? found : there;
    struct piece *here = add_piece(s, t, to, want);
    struct ad_sub_model *m = &split->models[to];
    if (!here || !publish(s, t, there))
        return NULL;
    struct ad_split_tensor input = {here->name, t, here->part};
    struct ad_split_message message = {here->name, there->key, to};
    return ADD(m->inputs, m->ninputs, m->inputs_room, input) &&
                   ADD(split->messages, split->nmessages, split->messages_room, message)
               ? here
               : NULL;
}

/* A part of an input of the network. */
static struct piece *feed(struct splitter *s, const struct ad_tensor_facts *t,
                          const struct ad_part *want, int key)
{
    struct ad_part whole = ad_part_whole(t);
    struct piece *all = find_piece(s, t, key, &whole);
    struct ad_sub_model *m = &s->split->models[key];
    if (!all) {
        struct ad_split_tensor input = {t->name, t, whole};
        all = add_piece(s, t, key, &whole);
        if (!all || !ADD(m->inputs, m->ninputs, m->inputs_room, input))
            return NULL;
    }
    if (ad_part_same(want, &whole))
        return all;
    struct piece *part = add_piece(s, t, key, want);
    return part && add_slice(s, key, all->name, &whole, part) ? part : NULL;
}

/* A part of a tensor that is divided, put together. */
static struct piece *gather(struct splitter *s, const struct ad_tensor_facts *t,
                            const struct ad_part *want, int key)
{
    const struct place *place = place_of(s, t);
    int axis = place->axis;
    const char **names = ad_arena_alloc(&s->split->arena, (size_t)place->nparts, sizeof *names);
    struct piece *last = NULL;
    size_t count = 0;
    for (int i = 0; names && i < place->nparts; i++) {
        struct ad_part part = *want;
        struct ad_stretch *along = &part.along[axis];
        along->lo = along->lo > place->at[i].lo ? along->lo : place->at[i].lo;
        along->hi = along->hi < place->at[i].hi ? along->hi : place->at[i].hi;
        if (along->lo >= along->hi)
            continue;
        last = bring(s, t, i, &part, key);
        if (!last)
            return NULL;
        names[count++] = last->name;
    }
    if (count == 1)
        return last;
    struct piece *all = names ? add_piece(s, t, key, want) : NULL;
    return all && add_concat(s, key, axis, count, names, all) ? all : NULL;
}

/* A constant, or a part of one, written with the sub-model. */
static const char *hold(struct splitter *s, const struct ad_tensor_facts *t,
                        const struct ad_part *want, int key)
{
    struct ad_sub_model *m = &s->split->models[key];
    const struct piece *found = find_piece(s, t, key, want);
    struct piece *made = found ? NULL : add_piece(s, t, key, want);
    if (found || !made)
        return found ? found->name : NULL;
    struct ad_split_tensor constant = {made->name, t, *want};
    return ADD(m->constants, m->nconstants, m->constants_room, constant) ? made->name : NULL;
}

/* The name under which sub-model `key` has this part of a tensor, from now on. NULL without memory.
 */
static const char *fetch(struct splitter *s, const struct ad_tensor_facts *t,
                         const struct ad_part *want, int key)
{
    const struct place *place = place_of(s, t);
    const struct piece *found;
    if (t->constant)
        return hold(s, t, want, key);
    found = find_piece(s, t, key, want);
    if (!found)
        found = place->nparts == 0 ? feed(s, t, want, key)
                : place->axis == 0 ? bring(s, t, 0, want, key)
                                   : gather(s, t, want, key);
    return found ? found->name : NULL;
}

/* --- nodes --- */

static enum adaps_status node_fail(const struct splitter *s, const Onnx__NodeProto *node,
                                   const char *why)
{
    return ad_error_set(s->err, ADAPS_EINPUT, "%s: node '%s' (%s): %s", s->split->model->path,
                        node->name, node->op_type, why);
}

/* Attributes of a part: those of the node, but its padding is in pads. */
static bool set_window(struct splitter *s, const Onnx__NodeProto *from,
                       const struct ad_node_part *part, Onnx__NodeProto *to)
{
    Onnx__AttributeProto **kept =
        ad_arena_alloc(&s->split->arena, from->n_attribute + 1, sizeof *kept);
    size_t count = 0;
    if (!kept)
        return false;
    for (size_t i = 0; i < from->n_attribute; i++) {
        const char *name = from->attribute[i]->name;
        if (strcmp(name, "pads") != 0 && strcmp(name, "auto_pad") != 0 &&
            strcmp(name, "ceil_mode") != 0)
            kept[count++] = from->attribute[i];
    }
    kept[count++] = new_ints(s, "pads", 4, part->pads);
    return set_attributes(s, to, count, kept);
}

/* The node, or the part of it that makes `out`, in a sub-model. part: what that reads; NULL: the
 * whole. */
static enum adaps_status emit(struct splitter *s, const Onnx__NodeProto *from,
                              const struct ad_node_part *part, int key, const char *out)
{
    const struct ad_import_facts *facts = s->split->facts;
    Onnx__NodeProto *node = new_node(s, from->op_type, out ? out : from->name, from->n_input);
    if (!node)
        return no_memory(s);
    for (size_t k = 0; k < from->n_input; k++) {
        const struct ad_tensor_facts *t =
            *from->input[k] ? ad_import_tensor(facts, from->input[k]) : NULL;
        struct ad_part whole = t ? ad_part_whole(t) : (struct ad_part){{{0, 0}}};
        const char *name = t ? fetch(s, t, part ? &part->reads[k] : &whole, key) : "";
        if (!name)
            return no_memory(s);
        node->input[k] = ad_protobuf_borrow(name);
    }
    if (!out) { /* all outputs under their own names */
        node->n_output = from->n_output;
        node->output = from->output;
    }
    bool room = part && part->window ? set_window(s, from, part, node)
                                     : set_attributes(s, node, from->n_attribute, from->attribute);
    return room && add_node(s, key, node) ? ADAPS_OK : no_memory(s);
}

/* Says that a tensor is, whole or in parts, in the sub-models of these keys. */
static enum adaps_status settle(struct splitter *s, const struct ad_tensor_facts *t, int axis,
                                int nparts, const int *keys, const struct ad_stretch *at)
{
    struct place *place = place_of(s, t);
    struct ad_arena *arena = &s->split->arena;
    place->axis = axis;
    place->nparts = nparts;
    place->keys = ad_arena_alloc(arena, (size_t)nparts, sizeof *place->keys);
    place->at = ad_arena_alloc(arena, (size_t)nparts, sizeof *place->at);
    if (!place->keys || !place->at)
        return no_memory(s);
    for (int i = 0; i < nparts; i++) {
        struct ad_part part = ad_part_whole(t);
        if (axis)
            part.along[axis] = at[i];
        place->keys[i] = keys[i];
        place->at[i] = axis ? at[i] : (struct ad_stretch){0, 1};
        if (!add_piece(s, t, keys[i], &part))
            return no_memory(s);
    }
    return ADAPS_OK;
}

static enum adaps_status emit_whole(struct splitter *s, const Onnx__NodeProto *node, int key)
{
    enum adaps_status status = emit(s, node, NULL, key, NULL);
    for (size_t k = 0; k < node->n_output && status == ADAPS_OK; k++) {
        const struct ad_tensor_facts *t =
            *node->output[k] ? ad_import_tensor(s->split->facts, node->output[k]) : NULL;
        if (t)
            status = settle(s, t, 0, 1, &key, NULL);
    }
    return status;
}

/* The parts of the keys, in their order, of so many rows or channels. Returns how many have some.
 */
static int divide(const struct splitter *s, uint64_t keys, int64_t size, int *key,
                  struct ad_stretch *at)
{
    double weight[AD_MAX_KEYS] = {0};
    int cuts[AD_MAX_KEYS + 1], nkeys = s->split->mapping->nkeys, count = 0;
    for (int k = 0; k < nkeys; k++)
        weight[k] = keys >> k & 1 ? s->speeds[k] : 0;
    ad_cuts_proportional(weight, nkeys, cuts);
    for (int k = 0; k < nkeys; k++) {
        struct ad_stretch span = {ad_cut_row(cuts[k], (int32_t)size),
                                  ad_cut_row(cuts[k + 1], (int32_t)size)};
        if (span.lo >= span.hi)
            continue;
        key[count] = k;
        at[count++] = span;
    }
    return count;
}

static enum adaps_status emit_parts(struct splitter *s, const Onnx__NodeProto *node, int axis,
                                    uint64_t keys)
{
    const struct ad_import_facts *facts = s->split->facts;
    const struct ad_tensor_facts *out = ad_import_tensor(facts, node->output[0]);
    int key[AD_MAX_KEYS];
    struct ad_stretch at[AD_MAX_KEYS];
    struct ad_node_part part = {
        .reads = ad_arena_alloc(&s->split->arena, node->n_input, sizeof *part.reads)};
    int count = divide(s, keys, out->dims[axis], key, at);
    enum adaps_status status = part.reads ? ADAPS_OK : no_memory(s);
    for (int i = 0; i < count && status == ADAPS_OK; i++) {
        struct ad_part made = ad_part_whole(out);
        made.along[axis] = at[i];
        const char *name = name_part(s, out, &made);
        ad_split_part(node, facts, axis, at[i].lo, at[i].hi, &part);
        status = name ? emit(s, node, &part, key[i], name) : no_memory(s);
    }
    return status == ADAPS_OK ? settle(s, out, count > 1 ? axis : 0, count, key, at) : status;
}

static int fastest_of(const struct splitter *s, uint64_t keys)
{
    int best = -1;
    for (int k = 0; k < s->split->mapping->nkeys; k++)
        if (keys >> k & 1 && (best < 0 || s->speeds[k] > s->speeds[best]))
            best = k;
    return best;
}

static enum adaps_status split_node(struct splitter *s, int index)
{
    struct ad_split *split = s->split;
    const Onnx__NodeProto *node = split->model->proto->graph->node[index];
    uint64_t keys = split->mapping->keys_of[index];
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g)
            return node_fail(s, node, "a sub-model cannot have nodes with branches");
    if (__builtin_popcountll(keys) == 1)
        return emit_whole(s, node, __builtin_ctzll(keys));
    int axis = ad_split_axis(split->model, node, split->facts);
    if (axis)
        return emit_parts(s, node, axis, keys);
    if (!ADD(split->undivided, split->nundivided, split->undivided_room, node->name))
        return no_memory(s);
    return emit_whole(s, node, fastest_of(s, keys));
}

/* The key of the node that makes a constant; of what the file has as numbers the first. */
static int key_of_constant(const struct splitter *s, const struct ad_tensor_facts *t)
{
    const Onnx__GraphProto *graph = s->split->model->proto->graph;
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            if (strcmp(graph->node[i]->output[k], t->name) == 0 && s->split->mapping->keys_of[i])
                return __builtin_ctzll(s->split->mapping->keys_of[i]);
    return 0;
}

/* The network's outputs are whole somewhere: the divided ones at the first key that has some. */
static enum adaps_status gather_outputs(struct splitter *s)
{
    const Onnx__GraphProto *graph = s->split->model->proto->graph;
    for (size_t i = 0; i < graph->n_output; i++) {
        const struct ad_tensor_facts *t = ad_import_tensor(s->split->facts, graph->output[i]->name);
        if (!t || (place_of(s, t)->nparts == 0 && !t->constant))
            continue; /* an input, passed on */
        struct ad_part whole = ad_part_whole(t);
        int key = t->constant ? key_of_constant(s, t) : place_of(s, t)->keys[0];
        if (!fetch(s, t, &whole, key) || !publish(s, t, find_piece(s, t, key, &whole)))
            return no_memory(s);
    }
    return ADAPS_OK;
}

/* Parts get names that no tensor of the model may have. */
static enum adaps_status check_names(const struct splitter *s)
{
    for (size_t i = 0; i < s->split->facts->ntensors; i++) {
        const char *name = s->split->facts->tensors[i].name;
        if (strstr(name, ":rows_") || strstr(name, ":channels_") || strstr(name, ":first_"))
            return ad_error_set(s->err, ADAPS_EINPUT,
                                "%s: a tensor is called '%s', as parts of tensors are here",
                                s->split->model->path, name);
    }
    return ADAPS_OK;
}

enum adaps_status ad_split_model(const struct ad_onnx_model *model,
                                 const struct ad_import_facts *facts,
                                 const struct ad_layer_mapping *mapping, const double *speeds,
                                 struct ad_split *out, struct adaps_error *err)
{
    struct splitter s = {.split = out, .speeds = speeds, .err = err};
    *out = (struct ad_split){.model = model, .facts = facts, .mapping = mapping};
    out->models = ad_calloc((size_t)mapping->nkeys, sizeof *out->models);
    s.places = ad_calloc(facts->ntensors, sizeof *s.places);
    enum adaps_status status = out->models && s.places ? check_names(&s) : no_memory(&s);
    for (size_t i = 0; i < facts->norder && status == ADAPS_OK; i++)
        if (facts->roles[facts->order[i]] != AD_NODE_NOTHING)
            status = split_node(&s, facts->order[i]);
    if (status == ADAPS_OK)
        status = gather_outputs(&s);
    ad_free(s.places);
    if (status != ADAPS_OK)
        ad_split_fini(out);
    return status;
}

void ad_split_fini(struct ad_split *split)
{
    for (int k = 0; split->models && k < split->mapping->nkeys; k++) {
        ad_free(split->models[k].nodes);
        ad_free(split->models[k].inputs);
        ad_free(split->models[k].outputs);
        ad_free(split->models[k].constants);
    }
    ad_free(split->models);
    ad_free(split->messages);
    ad_free(split->undivided);
    ad_arena_fini(&split->arena);
    *split = (struct ad_split){0};
}
