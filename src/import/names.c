/* Which node makes which name of an ONNX graph, and in which order the nodes can be imported. */
#include "import/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t hash_of(const char *key)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *key; key++)
        h = (h ^ (unsigned char)*key) * 0x100000001b3u;
    return h ^ h >> 29;
}

/* The slot of this key, or the empty one where it belongs. */
static struct ad_name *slot_of(const struct ad_names *names, const char *key)
{
    size_t i = (size_t)hash_of(key) & (names->capacity - 1);
    while (names->slots[i].key && strcmp(names->slots[i].key, key) != 0)
        i = (i + 1) & (names->capacity - 1);
    return &names->slots[i];
}

struct ad_name *ad_names_find(const struct ad_names *names, const char *key)
{
    if (names->capacity == 0)
        return NULL;
    struct ad_name *slot = slot_of(names, key);
    return slot->key ? slot : NULL;
}

/* A table for at most `count` names, never more than half full. */
static bool names_init(struct ad_draft *d, size_t count)
{
    size_t capacity = 16;
    while (capacity / 2 < count)
        if (!ad_size_mul(capacity, 2, &capacity))
            return false;
    d->names.slots = ad_arena_alloc(&d->arena, capacity, sizeof *d->names.slots);
    d->names.capacity = d->names.slots ? capacity : 0;
    return d->names.slots;
}

static const char *node_name(const Onnx__NodeProto *node)
{
    return node->name ? node->name : "";
}

static enum adaps_status add_name(struct ad_draft *d, struct ad_name name, struct adaps_error *err)
{
    struct ad_name *slot = slot_of(&d->names, name.key);
    if (!slot->key) {
        *slot = name;
        d->names.count++;
        return ADAPS_OK;
    }
    const char *path = d->model->path;
    if (name.node < 0)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: '%s' is defined twice among inputs and "
                            "initializers",
                            path, name.key);
    const Onnx__NodeProto *node = d->proto->node[name.node];
    if (slot->node < 0)
        return ad_error_set(
            err, ADAPS_EINPUT,
            "%s: node '%s' (%s): its output '%s' is already an input or initializer", path,
            node_name(node), node->op_type, name.key);
    const Onnx__NodeProto *other = d->proto->node[slot->node];
    return ad_error_set(
        err, ADAPS_EINPUT, "%s: node '%s' (%s): its output '%s' is already that of node '%s' (%s)",
        path, node_name(node), node->op_type, name.key, node_name(other), other->op_type);
}

enum adaps_status ad_names_inner(struct ad_node *node, const char *key, int value, int32_t type,
                                 struct adaps_error *err)
{
    struct ad_names *names = &node->draft->names;
    struct ad_name *slot = slot_of(names, key);
    if (slot->key && !slot->inner)
        return ad_node_fail(node, err, "'%s' is defined in its branch and outside of it", key);
    if (!slot->key && ++names->count > names->capacity / 2)
        return ad_error_set(err, ADAPS_EINTERNAL, "too many names");
    *slot = (struct ad_name){.key = key, .value = value, .node = -1, .type = type, .inner = true};
    return ADAPS_OK;
}

static enum adaps_status add_constant(struct ad_draft *d, const char *key, int rank,
                                      const int64_t *dims, int32_t type, struct ad_const constant,
                                      struct adaps_error *err)
{
    struct ad_node nowhere = {.draft = d};
    struct ad_name name = {.key = key, .node = -1, .type = type};
    struct ad_const *k = ad_arena_alloc(&d->arena, 1, sizeof *k);
    if (!k)
        return ad_error_memory(err, "constants", sizeof *k);
    *k = constant;
    k->next = d->constants;
    d->constants = k;
    enum adaps_status status = ad_draft_leaf(&nowhere, key, rank, dims, k, &name.value, err);
    return status == ADAPS_OK ? add_name(d, name, err) : status;
}

static enum adaps_status add_initializers(struct ad_draft *d, struct adaps_error *err)
{
    for (size_t i = 0; i < d->proto->n_initializer; i++) {
        const Onnx__TensorProto *t = d->proto->initializer[i];
        if (!t->name || !*t->name)
            return ad_error_set(err, ADAPS_EINPUT, "%s: initializer %zu has no name",
                                d->model->path, i);
        int rank = t->n_dims > AD_MAX_RANK ? AD_MAX_RANK + 1 : (int)t->n_dims;
        enum adaps_status status = add_constant(d, t->name, rank, t->dims, t->data_type,
                                                (struct ad_const){.proto = t}, err);
        if (status != ADAPS_OK)
            return status;
    }
    return ADAPS_OK;
}

/* Appends "'name'" to a list unless it is in it; what does not fit is left out. */
static void list_name(char *list, size_t size, const char *name)
{
    char quoted[128];
    size_t n = strlen(list);
    snprintf(quoted, sizeof quoted, "'%s'", name);
    if (!strstr(list, quoted) && n + strlen(quoted) + 3 < size)
        snprintf(list + n, size - n, "%s%s", n ? ", " : "", quoted);
}

/* The size of dimension `axis`, which has none in the file. */
static int64_t symbolic_size(struct ad_draft *d, const Onnx__ValueInfoProto *info, int axis,
                             const struct ad_import_options *options)
{
    const Onnx__TensorShapeProto__Dimension *dim = info->type->tensor_type->shape->dim[axis];
    bool named = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
                 dim->dim_param && *dim->dim_param;
    char made[128];
    snprintf(made, sizeof made, "%s:%d", info->name, axis);
    const char *name = named ? dim->dim_param : made;
    list_name(d->symbols, sizeof d->symbols, name);
    const struct ad_dim_bindings *dims = options ? options->dims : NULL;
    for (size_t i = 0; dims && i < dims->count; i++)
        if (strlen(name) == dims->items[i].length &&
            memcmp(name, dims->items[i].name, dims->items[i].length) == 0) {
            d->dims_used[i] = true;
            return dims->items[i].size;
        }
    const struct ad_graph *like = options ? options->like : NULL;
    for (int i = 0; like && i < like->ninputs; i++) {
        const struct ad_value *v = &like->values[like->inputs[i]];
        if (strcmp(v->name, info->name) == 0 && axis < v->rank)
            return v->dims[axis];
    }
    if (axis > 0)
        list_name(d->assumed, sizeof d->assumed, name);
    return 1;
}

static bool is_integer(int32_t type)
{
    return type == ONNX__TENSOR_PROTO__DATA_TYPE__UINT8 ||
           type == ONNX__TENSOR_PROTO__DATA_TYPE__INT8 ||
           type == ONNX__TENSOR_PROTO__DATA_TYPE__UINT16 ||
           type == ONNX__TENSOR_PROTO__DATA_TYPE__INT16 ||
           type == ONNX__TENSOR_PROTO__DATA_TYPE__INT32 ||
           type == ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
}

/* The dims of a network input: one that is symbolic, missing or not positive has the size that it
 * is bound to. */
static enum adaps_status input_dims(struct ad_draft *d, const Onnx__ValueInfoProto *info,
                                    const struct ad_import_options *options, int *rank,
                                    int64_t *dims, struct adaps_error *err)
{
    const char *path = d->model->path;
    const Onnx__TypeProto *type = info->type;
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !type->tensor_type)
        return ad_error_set(err, ADAPS_EINPUT, "%s: input '%s' is not a tensor", path, info->name);
    const Onnx__TypeProto__Tensor *tensor = type->tensor_type;
    char buf[24];
    if (!ad_onnx_type_is_float(tensor->elem_type) && !is_integer(tensor->elem_type) &&
        tensor->elem_type != ONNX__TENSOR_PROTO__DATA_TYPE__BOOL)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: input '%s' is of type %s: only floats, integers and booleans are "
                            "supported",
                            path, info->name,
                            ad_onnx_type_name(tensor->elem_type, buf, sizeof buf));
    if (!tensor->shape)
        return ad_error_set(err, ADAPS_EINPUT, "%s: input '%s' has no shape", path, info->name);
    if (tensor->shape->n_dim > AD_MAX_RANK)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: input '%s' has rank %zu: at most %d is supported", path,
                            info->name, tensor->shape->n_dim, AD_MAX_RANK);
    *rank = (int)tensor->shape->n_dim;
    for (int i = 0; i < *rank; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[i];
        bool known = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
                     dim->dim_value > 0;
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
            dim->dim_value < -1) /* 0 and -1 are ways to say that it is unknown */
            return ad_error_set(err, ADAPS_EINPUT, "%s: input '%s': dimension %d = %" PRId64, path,
                                info->name, i, dim->dim_value);
        dims[i] = known ? dim->dim_value : symbolic_size(d, info, i, options);
    }
    return ADAPS_OK;
}

static const struct ad_onnx_tensor *binding_of(const struct ad_import_options *options,
                                               const char *input)
{
    for (size_t i = 0; options && i < options->nbindings; i++)
        if (strcmp(options->bindings[i].input, input) == 0)
            return options->bindings[i].tensor;
    return NULL;
}

/* An initializer that is listed as an input, too (all of IR 3 are): what the input says of its type
 * and dims must be so. */
static enum adaps_status check_default(const struct ad_draft *d, const Onnx__ValueInfoProto *info,
                                       const Onnx__TensorProto *t, struct adaps_error *err)
{
    const Onnx__TypeProto__Tensor *tensor =
        info->type && info->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
            ? info->type->tensor_type
            : NULL;
    const Onnx__TensorShapeProto *shape = tensor ? tensor->shape : NULL;
    char a[24], b[24];
    if (tensor && tensor->elem_type != 0 && tensor->elem_type != t->data_type)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: the initializer '%s' is of type %s, the input of this name of %s",
                            d->model->path, t->name, ad_onnx_type_name(t->data_type, a, sizeof a),
                            ad_onnx_type_name(tensor->elem_type, b, sizeof b));
    if (shape && shape->n_dim != t->n_dims)
        return ad_error_set(
            err, ADAPS_EINPUT,
            "%s: the initializer '%s' is of rank %zu, the input of this name of %zu",
            d->model->path, t->name, t->n_dims, shape->n_dim);
    for (size_t i = 0; shape && i < shape->n_dim; i++)
        if (shape->dim[i]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
            shape->dim[i]->dim_value > 0 && shape->dim[i]->dim_value != t->dims[i])
            return ad_error_set(err, ADAPS_EINPUT,
                                "%s: the initializer '%s' has dimension %zu = %" PRId64
                                ", the input of this name %" PRId64,
                                d->model->path, t->name, i, t->dims[i], shape->dim[i]->dim_value);
    return ADAPS_OK;
}

/* Whether a graph's nodes, or the branches of its Ifs, do more with a value than making floats of
 * it and asking for its shape. */
static bool needs_integers(const Onnx__GraphProto *g, const char *key, int depth)
{
    for (size_t i = 0; i < g->n_output; i++)
        if (g->output[i]->name && strcmp(g->output[i]->name, key) == 0)
            return true;
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnx__NodeProto *node = g->node[i];
        int64_t to = 0;
        bool casts = strcmp(node->op_type, "Cast") == 0 &&
                     ad_onnx_attr_int(node, "to", 0, &to, NULL) == ADAPS_OK && to > 0 &&
                     to <= INT32_MAX && ad_onnx_type_is_float((int32_t)to);
        bool asks = strcmp(node->op_type, "Shape") == 0 || strcmp(node->op_type, "Size") == 0;
        for (size_t k = 0; k < node->n_input && !casts && !asks; k++)
            if (strcmp(node->input[k], key) == 0)
                return true;
        for (int taken = 0; taken < 2 && depth > 0; taken++) {
            const Onnx__GraphProto *branch = ad_if_branch(node, taken);
            if (branch && needs_integers(branch, key, depth - 1))
                return true;
        }
    }
    return false;
}

/* A network input of integers or booleans. Where they only become floats they are floats from the
 * beginning: such an input, a picture nearly always, can be split. */
static enum adaps_status type_input(struct ad_draft *d, const struct ad_name *name,
                                    struct adaps_error *err)
{
    char buf[24];
    if (name->type != ONNX__TENSOR_PROTO__DATA_TYPE__BOOL &&
        !needs_integers(d->proto, name->key, AD_MAX_BRANCHES))
        return ADAPS_OK;
    if (ad_type_bytes((enum adaps_type)name->type) == 0)
        return ad_error_set(
            err, ADAPS_EINPUT,
            "%s: input '%s' is of type %s, which is only supported where Casts make "
            "floats of it",
            d->model->path, name->key, ad_onnx_type_name(name->type, buf, sizeof buf));
    d->values[name->value].type = (enum adaps_type)name->type;
    return ADAPS_OK;
}

/* What the file says of an input; 0: nothing. */
static int32_t elem_type(const Onnx__ValueInfoProto *info)
{
    const Onnx__TypeProto *type = info->type;
    bool tensor = type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    return tensor && type->tensor_type ? type->tensor_type->elem_type : 0;
}

static enum adaps_status add_input(struct ad_draft *d, const Onnx__ValueInfoProto *info,
                                   const struct ad_import_options *options, struct adaps_error *err)
{
    if (!info->name || !*info->name)
        return ad_error_set(err, ADAPS_EINPUT, "%s: an input has no name", d->model->path);
    const struct ad_onnx_tensor *bound = binding_of(options, info->name);
    struct ad_name *known = ad_names_find(&d->names, info->name);
    if (known && d->values[known->value].constant && d->values[known->value].constant->proto)
        return check_default(d, info, d->values[known->value].constant->proto, err);
    if (bound)
        return add_constant(d, info->name, bound->rank, bound->dims, elem_type(info),
                            (struct ad_const){.given = bound}, err);
    int rank = 0;
    int64_t dims[AD_MAX_RANK] = {0};
    struct ad_node nowhere = {.draft = d};
    struct ad_name name = {.key = info->name, .node = -1};
    enum adaps_status status = input_dims(d, info, options, &rank, dims, err);
    if (status == ADAPS_OK)
        name.type = info->type->tensor_type->elem_type;
    if (status == ADAPS_OK)
        status = ad_draft_leaf(&nowhere, info->name, rank, dims, NULL, &name.value, err);
    if (status == ADAPS_OK && !ad_onnx_type_is_float(name.type))
        status = type_input(d, &name, err);
    if (status == ADAPS_OK)
        status = add_name(d, name, err);
    if (status == ADAPS_OK)
        d->inputs[d->ninputs++] = name.value;
    return status;
}

static enum adaps_status check_bindings(const struct ad_draft *d,
                                        const struct ad_import_options *options,
                                        struct adaps_error *err)
{
    for (size_t i = 0; options && i < options->nbindings; i++) {
        const struct ad_name *name = ad_names_find(&d->names, options->bindings[i].input);
        if (!name || name->node >= 0 || !d->values[name->value].constant ||
            !d->values[name->value].constant->given)
            return ad_error_set(err, ADAPS_EINPUT, "%s: there is no input '%s' to bind",
                                d->model->path, options->bindings[i].input);
    }
    return ADAPS_OK;
}

/* Every name that a size was given for is a dimension of the model. */
static enum adaps_status check_dims(const struct ad_draft *d,
                                    const struct ad_import_options *options,
                                    struct adaps_error *err)
{
    const struct ad_dim_bindings *dims = options ? options->dims : NULL;
    for (size_t i = 0; dims && i < dims->count; i++) {
        if (options->dims_used) {
            options->dims_used[i] = options->dims_used[i] || d->dims_used[i];
            continue;
        }
        if (!d->dims_used[i])
            return ad_error_set(err, ADAPS_EUSAGE,
                                "%s: no input has a symbolic dimension '%.*s': there %s%s",
                                d->model->path, (int)dims->items[i].length, dims->items[i].name,
                                *d->symbols ? "are " : "is none", *d->symbols ? d->symbols : "");
    }
    return ADAPS_OK;
}

/* Names that the branches of an If may add, those of Ifs within them too. */
static size_t count_inner(const Onnx__NodeProto *node, int depth)
{
    size_t count = 0;
    for (int taken = 0; taken < 2 && depth > 0; taken++) {
        const Onnx__GraphProto *g = ad_if_branch(node, taken);
        count += g ? g->n_initializer : 0;
        for (size_t i = 0; g && i < g->n_node; i++)
            count += g->node[i]->n_output + count_inner(g->node[i], depth - 1);
    }
    return count;
}

enum adaps_status ad_draft_register(struct ad_draft *d, const struct ad_import_options *options,
                                    struct adaps_error *err)
{
    const Onnx__GraphProto *g = d->proto;
    size_t count = g->n_initializer + g->n_input;
    if (g->n_node > INT32_MAX || g->n_input > INT32_MAX)
        return ad_error_set(err, ADAPS_EINPUT, "%s: too many nodes or inputs", d->model->path);
    for (size_t i = 0; i < g->n_node; i++)
        count += g->node[i]->n_output + count_inner(g->node[i], AD_MAX_BRANCHES);
    d->inputs = ad_arena_alloc(&d->arena, g->n_input + 1, sizeof *d->inputs);
    if (!names_init(d, count) || !d->inputs)
        return ad_error_memory(err, "names", count * sizeof *d->names.slots);
    enum adaps_status status = add_initializers(d, err);
    for (size_t i = 0; i < g->n_input && status == ADAPS_OK; i++)
        status = add_input(d, g->input[i], options, err);
    if (status == ADAPS_OK)
        status = check_bindings(d, options, err);
    if (status == ADAPS_OK)
        status = check_dims(d, options, err);
    for (size_t i = 0; i < g->n_node && status == ADAPS_OK; i++)
        for (size_t k = 0; k < g->node[i]->n_output && status == ADAPS_OK; k++) {
            struct ad_name name = {
                .key = g->node[i]->output[k], .value = -1, .node = (int)i, .output = (int)k};
            if (*name.key)
                status = add_name(d, name, err);
        }
    return status;
}

/* --- order --- */

enum mark { UNSEEN, NEEDED, OPEN, DONE };

struct frame {
    int node;
    size_t next; /* the next input to look at */
};

/* What the branches of an If read of the values around it: the nodes that make these. */
struct captures {
    int *makers;
    size_t count, room;
};

struct ordering {
    const struct ad_draft *draft;
    struct captures *captures; /* by node */
    unsigned char *marks;      /* enum mark by node */
    struct frame *stack;       /* never deeper than there are nodes */
    int *order;
    size_t count;
};

static enum adaps_status maker_of(const struct ad_draft *d, int node, const char *input, int *maker,
                                  struct adaps_error *err)
{
    *maker = -1;
    if (!*input)
        return ADAPS_OK;
    const struct ad_name *name = ad_names_find(&d->names, input);
    if (!name)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: node '%s' (%s): its input '%s' is defined nowhere", d->model->path,
                            node_name(d->proto->node[node]), d->proto->node[node]->op_type, input);
    *maker = name->node;
    return ADAPS_OK;
}

static bool capture(struct captures *c, const struct ad_draft *d, const char *key)
{
    const struct ad_name *name = key ? ad_names_find(&d->names, key) : NULL;
    if (!name || name->node < 0)
        return true;
    if (!ad_grow(&c->makers, c->count, &c->room, sizeof *c->makers))
        return false;
    c->makers[c->count++] = name->node;
    return true;
}

static bool find_captures(struct captures *c, const struct ad_draft *d, const Onnx__NodeProto *node,
                          int depth)
{
    bool ok = true;
    for (int taken = 0; taken < 2 && depth > 0; taken++) {
        const Onnx__GraphProto *g = ad_if_branch(node, taken);
        for (size_t i = 0; g && i < g->n_output; i++)
            ok = ok && capture(c, d, g->output[i]->name);
        for (size_t i = 0; g && i < g->n_node; i++) {
            for (size_t k = 0; k < g->node[i]->n_input; k++)
                ok = ok && capture(c, d, g->node[i]->input[k]);
            ok = ok && find_captures(c, d, g->node[i], depth - 1);
        }
    }
    return ok;
}

/* The inputs of a node, followed by what it captures. */
static size_t count_reads(const struct ordering *o, int node)
{
    return o->draft->proto->node[node]->n_input + o->captures[node].count;
}

static enum adaps_status read_maker(const struct ordering *o, int node, size_t k, int *maker,
                                    struct adaps_error *err)
{
    const Onnx__NodeProto *proto = o->draft->proto->node[node];
    if (k < proto->n_input)
        return maker_of(o->draft, node, proto->input[k], maker, err);
    *maker = o->captures[node].makers[k - proto->n_input];
    return ADAPS_OK;
}

/* Marks what the outputs need. */
static enum adaps_status mark_needed(struct ordering *o, struct adaps_error *err)
{
    const struct ad_draft *d = o->draft;
    size_t top = 0;
    for (size_t i = 0; i < d->proto->n_output; i++) {
        const char *key = d->proto->output[i]->name;
        const struct ad_name *name = key ? ad_names_find(&d->names, key) : NULL;
        if (!name)
            return ad_error_set(err, ADAPS_EINPUT, "%s: nothing computes the output '%s'",
                                d->model->path, key ? key : "");
        if (name->node >= 0 && o->marks[name->node] == UNSEEN) {
            o->marks[name->node] = NEEDED;
            o->stack[top++].node = name->node;
        }
    }
    while (top > 0) {
        int node = o->stack[--top].node;
        for (size_t k = 0; k < count_reads(o, node); k++) {
            int maker;
            enum adaps_status status = read_maker(o, node, k, &maker, err);
            if (status != ADAPS_OK)
                return status;
            if (maker >= 0 && o->marks[maker] == UNSEEN) {
                o->marks[maker] = NEEDED;
                o->stack[top++].node = maker;
            }
        }
    }
    return ADAPS_OK;
}

/* Depth-first from one node: what it needs, then itself. */
static enum adaps_status visit(struct ordering *o, int root, struct adaps_error *err)
{
    const struct ad_draft *d = o->draft;
    size_t top = 0;
    o->stack[top++] = (struct frame){root, 0};
    o->marks[root] = OPEN;
    while (top > 0) {
        struct frame *f = &o->stack[top - 1];
        const Onnx__NodeProto *proto = d->proto->node[f->node];
        if (f->next == count_reads(o, f->node)) {
            o->marks[f->node] = DONE;
            o->order[o->count++] = f->node;
            top--;
            continue;
        }
        int maker;
        enum adaps_status status = read_maker(o, f->node, f->next++, &maker, err);
        if (status != ADAPS_OK)
            return status;
        if (maker < 0 || o->marks[maker] == DONE)
            continue;
        if (o->marks[maker] == OPEN)
            return ad_error_set(
                err, ADAPS_EINPUT, "%s: node '%s' (%s): it is part of a cycle, through '%s'",
                d->model->path, node_name(proto), proto->op_type,
                f->next <= proto->n_input ? proto->input[f->next - 1] : "its branches");
        o->marks[maker] = OPEN;
        o->stack[top++] = (struct frame){maker, 0};
    }
    return ADAPS_OK;
}

enum adaps_status ad_draft_order(const struct ad_draft *d, int **order, size_t *count,
                                 struct adaps_error *err)
{
    size_t n = d->proto->n_node;
    struct ordering o = {.draft = d,
                         .captures = ad_calloc(n, sizeof *o.captures),
                         .marks = ad_calloc(n, 1),
                         .stack = ad_calloc(n, sizeof *o.stack),
                         .order = ad_calloc(n, sizeof *o.order)};
    enum adaps_status status;
    bool room = o.captures && o.marks && o.stack && o.order;
    for (size_t i = 0; i < n && room; i++)
        room = find_captures(&o.captures[i], d, d->proto->node[i], AD_MAX_BRANCHES);
    if (!room)
        status = ad_error_memory(err, "order of nodes", n * sizeof *o.stack);
    else
        status = mark_needed(&o, err);
    for (size_t i = 0; i < n && status == ADAPS_OK; i++)
        if (o.marks[i] == NEEDED)
            status = visit(&o, (int)i, err);
    for (size_t i = 0; o.captures && i < n; i++)
        ad_free(o.captures[i].makers);
    ad_free(o.captures);
    ad_free(o.marks);
    ad_free(o.stack);
    if (status != ADAPS_OK) {
        ad_free(o.order);
        o.order = NULL;
    }
    *order = o.order;
    *count = o.count;
    return status;
}
