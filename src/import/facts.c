/* What an import tells of the file's nodes and tensors, for those who name layers (mappings, the
 * splitting of a model): what each node is for the graph, which nodes an op came from, the dims of
 * every tensor. Nothing of it is kept unless it is asked for. */
#include "import/internal.h"

#include <stdlib.h>
#include <string.h>

/* --- nodes --- */

enum adaps_status ad_facts_init(const struct ad_draft *draft, struct ad_import_facts *facts,
                                struct adaps_error *err)
{
    *facts = (struct ad_import_facts){.nnodes = draft->proto->n_node};
    facts->roles = ad_calloc(facts->nnodes, sizeof *facts->roles);
    return facts->roles ? ADAPS_OK
                        : ad_error_memory(err, "nodes", facts->nnodes * sizeof *facts->roles);
}

void ad_import_facts_fini(struct ad_import_facts *facts)
{
    for (size_t i = 0; i < facts->ntensors; i++)
        ad_onnx_tensor_fini(&facts->tensors[i].folded);
    ad_free(facts->roles);
    ad_free(facts->order);
    ad_free(facts->tensors);
    *facts = (struct ad_import_facts){0};
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool *ad_facts_standing(const struct ad_draft *draft, const char *const *standing, size_t count)
{
    size_t nnodes = draft->proto->n_node;
    const char **names = ad_calloc(count, sizeof *names);
    bool *stands = ad_calloc(nnodes, sizeof *stands);
    if (!names || !stands) {
        ad_free(names);
        ad_free(stands);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        names[i] = standing[i];
    if (count > 0)
        qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0; i < nnodes && count > 0; i++) {
        const char *name = draft->proto->node[i]->name;
        stands[i] = name && bsearch(&name, names, count, sizeof *names, by_text) != NULL;
    }
    ad_free(names);
    return stands;
}

enum ad_node_role ad_facts_role(const struct ad_draft *draft, const Onnx__NodeProto *proto,
                                size_t first)
{
    bool constant = true, view = true;
    for (size_t k = 0; k < proto->n_output; k++) {
        const struct ad_name *name =
            *proto->output[k] ? ad_names_find(&draft->names, proto->output[k]) : NULL;
        if (name && name->value >= 0)
            constant = constant && draft->values[name->value].constant;
    }
    for (size_t i = first; i < draft->nops; i++)
        view =
            view && (draft->ops[i]->kind == AD_D_RESHAPE || draft->ops[i]->kind == AD_D_TRANSPOSE);
    return constant ? AD_NODE_NOTHING : view ? AD_NODE_VIEW : AD_NODE_COMPUTES;
}

/* --- tensors --- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct ad_tensor_facts *)a)->name,
                  ((const struct ad_tensor_facts *)b)->name);
}

const struct ad_tensor_facts *ad_import_tensor(const struct ad_import_facts *facts,
                                               const char *name)
{
    const struct ad_tensor_facts key = {.name = name};
    return facts->ntensors == 0
               ? NULL
               : bsearch(&key, facts->tensors, facts->ntensors, sizeof *facts->tensors, by_name);
}

static void add_tensor(const struct ad_draft *draft, const char *key, struct ad_import_facts *facts)
{
    const struct ad_name *name = *key ? ad_names_find(&draft->names, key) : NULL;
    if (!name || name->value < 0)
        return;
    const struct ad_draft_value *v = &draft->values[name->value];
    struct ad_tensor_facts *t = &facts->tensors[facts->ntensors++];
    *t = (struct ad_tensor_facts){
        .name = key, .type = name->type, .constant = v->constant, .rank = v->rank};
    memcpy(t->dims, v->dims, sizeof t->dims);
}

/* A copy of the numbers of a constant that a node makes. */
static enum adaps_status copy_folded(struct ad_draft *draft, struct ad_tensor_facts *t,
                                     struct adaps_error *err)
{
    const struct ad_name *name = ad_names_find(&draft->names, t->name);
    const struct ad_onnx_tensor *from;
    if (!t->constant || name->node < 0 || t->folded.f || t->folded.i)
        return ADAPS_OK;
    enum adaps_status status = ad_draft_tensor(draft, name->value, &from, err);
    if (status != ADAPS_OK)
        return status;
    size_t bytes = from->count * (from->is_float ? sizeof *from->f : sizeof *from->i);
    void *data = ad_alloc_aligned(bytes);
    if (!data)
        return ad_error_memory(err, t->name, bytes);
    if (bytes > 0)
        memcpy(data, from->is_float ? (const void *)from->f : (const void *)from->i, bytes);
    t->folded = *from;
    t->folded.f = from->is_float ? data : NULL;
    t->folded.i = from->is_float ? NULL : data;
    return ADAPS_OK;
}

/* Those of constants that nodes make and other nodes read, or that are outputs. */
static enum adaps_status copy_constants(struct ad_draft *draft, struct ad_import_facts *facts,
                                        struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (size_t i = 0; i < facts->norder; i++) {
        const Onnx__NodeProto *proto = draft->proto->node[facts->order[i]];
        bool reads = facts->roles[facts->order[i]] != AD_NODE_NOTHING;
        for (size_t k = 0; k < proto->n_input && reads && status == ADAPS_OK; k++) {
            const struct ad_tensor_facts *t =
                *proto->input[k] ? ad_import_tensor(facts, proto->input[k]) : NULL;
            if (t)
                status = copy_folded(draft, &facts->tensors[t - facts->tensors], err);
        }
    }
    for (size_t i = 0; i < draft->proto->n_output && status == ADAPS_OK; i++) {
        const struct ad_tensor_facts *t = ad_import_tensor(facts, draft->proto->output[i]->name);
        if (t)
            status = copy_folded(draft, &facts->tensors[t - facts->tensors], err);
    }
    return status;
}

enum adaps_status ad_facts_tensors(struct ad_draft *draft, const int *order, size_t count,
                                   struct ad_import_facts *facts, struct adaps_error *err)
{
    size_t room = draft->proto->n_output, kept = 0;
    for (size_t i = 0; i < count; i++)
        room += draft->proto->node[order[i]]->n_input + draft->proto->node[order[i]]->n_output;
    facts->tensors = ad_calloc(room, sizeof *facts->tensors);
    facts->order = ad_calloc(count, sizeof *facts->order);
    if (!facts->tensors || !facts->order)
        return ad_error_memory(err, "tensors", room * sizeof *facts->tensors);
    facts->norder = count;
    for (size_t i = 0; i < count; i++) {
        const Onnx__NodeProto *proto = draft->proto->node[order[i]];
        facts->order[i] = order[i];
        for (size_t k = 0; k < proto->n_input; k++)
            add_tensor(draft, proto->input[k], facts);
        for (size_t k = 0; k < proto->n_output; k++)
            add_tensor(draft, proto->output[k], facts);
    }
    for (size_t i = 0; i < draft->proto->n_output; i++)
        add_tensor(draft, draft->proto->output[i]->name, facts);
    if (facts->ntensors > 0)
        qsort(facts->tensors, facts->ntensors, sizeof *facts->tensors, by_name);
    for (size_t i = 0; i < facts->ntensors; i++)
        if (kept == 0 || strcmp(facts->tensors[kept - 1].name, facts->tensors[i].name) != 0)
            facts->tensors[kept++] = facts->tensors[i];
    facts->ntensors = kept;
    return copy_constants(draft, facts, err);
}

/* --- which nodes an op came from --- */

/* An op came from the node whose import made it, and from all on the way from the values that other
 * ops make (or that are fed) to the one that it makes. */
struct ad_origins {
    const struct ad_draft *draft;
    bool *made;       /* by draft value: an op of the simplified draft makes it */
    int *first;       /* by draft value: a node that makes a name of it, or -1 */
    int *next;        /* by node: another one that makes a name of the same value, or -1 */
    int *seen, *list; /* by node: the last search that found it; what it found */
    int search;
};

enum adaps_status ad_origins_new(struct ad_draft *draft, struct ad_origins **out,
                                 struct adaps_error *err)
{
    size_t nnodes = draft->proto->n_node;
    struct ad_origins *o = ad_calloc(1, sizeof *o);
    if (!o)
        return ad_error_memory(err, "nodes", sizeof *o);
    *o = (struct ad_origins){.draft = draft,
                             .made = ad_calloc(draft->nvalues, sizeof *o->made),
                             .first = ad_calloc(draft->nvalues, sizeof *o->first),
                             .next = ad_calloc(nnodes, sizeof *o->next),
                             .seen = ad_calloc(nnodes, sizeof *o->seen),
                             .list = ad_calloc(nnodes + 1, sizeof *o->list)};
    if (!o->made || !o->first || !o->next || !o->seen || !o->list) {
        ad_origins_free(o);
        return ad_error_memory(err, "nodes", nnodes * sizeof *o->list);
    }
    for (size_t v = 0; v < draft->nvalues; v++)
        o->first[v] = -1;
    for (size_t i = 0; i < draft->nops; i++)
        o->made[draft->ops[i]->output] |= !draft->ops[i]->dead;
    for (size_t i = 0; i < nnodes; i++) {
        const Onnx__NodeProto *proto = draft->proto->node[i];
        const struct ad_name *name = proto->n_output > 0 && *proto->output[0]
                                         ? ad_names_find(&draft->names, proto->output[0])
                                         : NULL;
        o->next[i] = -1;
        if (!name || name->value < 0)
            continue;
        o->next[i] = o->first[name->value];
        o->first[name->value] = (int)i;
    }
    *out = o;
    return ADAPS_OK;
}

void ad_origins_free(struct ad_origins *origins)
{
    if (!origins)
        return;
    ad_free(origins->made);
    ad_free(origins->first);
    ad_free(origins->next);
    ad_free(origins->seen);
    ad_free(origins->list);
    ad_free(origins);
}

static void find(struct ad_origins *o, int node, int *count)
{
    if (node < 0 || o->seen[node] == o->search)
        return;
    o->seen[node] = o->search;
    o->list[(*count)++] = node;
}

bool ad_origins_of(struct ad_origins *o, const struct ad_draft_op *op, struct ad_arena *arena,
                   const int **nodes, int *count)
{
    const struct ad_draft *d = o->draft;
    o->search++;
    *count = 0;
    find(o, op->node, count);
    for (int i = o->first[op->output]; i >= 0; i = o->next[i])
        find(o, i, count);
    for (int at = 0; at < *count; at++) {
        const Onnx__NodeProto *proto = d->proto->node[o->list[at]];
        for (size_t k = 0; k < proto->n_input; k++) {
            const struct ad_name *name =
                *proto->input[k] ? ad_names_find(&d->names, proto->input[k]) : NULL;
            if (name && name->value >= 0 && !d->values[name->value].constant &&
                !o->made[name->value])
                find(o, name->node, count);
        }
    }
    int *copy = ad_arena_alloc(arena, (size_t)*count, sizeof *copy);
    if (copy)
        memcpy(copy, o->list, (size_t)*count * sizeof *copy);
    *nodes = copy;
    return copy != NULL;
}
