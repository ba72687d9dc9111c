/* If: the branch that a constant condition takes, in the node's place. Its names are known while it
 * is imported, as well as those around it. */
#include "import/internal.h"

#include <string.h>

static const Onnx__GraphProto *branch_of(const Onnx__NodeProto *proto, const char *name)
{
    const Onnx__AttributeProto *attr = ad_onnx_attribute(proto, name);
    return attr ? attr->g : NULL;
}

const Onnx__GraphProto *ad_if_branch(const Onnx__NodeProto *proto, bool taken)
{
    if (!proto->op_type || strcmp(proto->op_type, "If") != 0)
        return NULL;
    return branch_of(proto, taken ? "then_branch" : "else_branch");
}

/* Every name of the branch: constants have values, the others none yet. */
static enum adaps_status register_names(struct ad_node *node, const Onnx__GraphProto *g,
                                        struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    if (g->n_input > 0)
        return ad_node_fail(node, err, "its branch has inputs");
    for (size_t i = 0; i < g->n_initializer && status == ADAPS_OK; i++) {
        int value;
        if (!g->initializer[i]->name)
            return ad_node_fail(node, err, "a constant of its branch has no name");
        status = ad_draft_stored(node, g->initializer[i], &value, err);
        if (status == ADAPS_OK)
            status = ad_names_inner(node, g->initializer[i]->name, value,
                                    g->initializer[i]->data_type, err);
    }
    for (size_t i = 0; i < g->n_node && status == ADAPS_OK; i++)
        for (size_t k = 0; k < g->node[i]->n_output && status == ADAPS_OK; k++)
            if (*g->node[i]->output[k])
                status = ad_names_inner(node, g->node[i]->output[k], -1, 0, err);
    return status;
}

/* The nodes of the branch, which are in order. */
static enum adaps_status import_nodes(struct ad_node *node, const Onnx__GraphProto *g,
                                      struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (size_t i = 0; i < g->n_node && status == ADAPS_OK; i++) {
        const Onnx__NodeProto *proto = g->node[i];
        if (!proto->op_type || !*proto->op_type || (proto->domain && *proto->domain))
            return ad_node_fail(node, err,
                                "a node of its branch has no operator of the default "
                                "domain");
        for (size_t k = 0; k < proto->n_input; k++) {
            const struct ad_name *name = ad_names_find(&node->draft->names, proto->input[k]);
            if (*proto->input[k] && (!name || name->value < 0))
                return ad_node_fail(node, err, "'%s', which its branch reads, is not there",
                                    proto->input[k]);
        }
        status = ad_draft_node(node->draft, proto, (int)i, err);
    }
    return status;
}

enum adaps_status ad_import_if(struct ad_node *node, struct adaps_error *err)
{
    struct ad_draft *d = node->draft;
    const struct ad_onnx_tensor *t;
    enum adaps_status status = ad_node_arity(node, 1, 1, err);
    if (status == ADAPS_OK)
        status = ad_node_ints(node, 0, "condition", &t, err);
    if (status != ADAPS_OK)
        return status;
    const Onnx__GraphProto *g = t->count == 1 ? ad_if_branch(node->proto, t->i[0] != 0) : NULL;
    if (!g || g->n_output < node->proto->n_output)
        return ad_node_fail(node, err,
                            "a condition of %zu elements, or a branch without as many "
                            "outputs",
                            t->count);
    if (d->branches == AD_MAX_BRANCHES)
        return ad_node_fail(node, err, "more than %d branches within each other", AD_MAX_BRANCHES);
    d->branches++;
    status = register_names(node, g, err);
    if (status == ADAPS_OK)
        status = import_nodes(node, g, err);
    d->branches--;
    for (size_t k = 0; k < node->proto->n_output && status == ADAPS_OK; k++) {
        const char *key = g->output[k]->name;
        const struct ad_name *name = key ? ad_names_find(&d->names, key) : NULL;
        if (!name || name->value < 0)
            return ad_node_fail(node, err, "nothing computes output '%s' of its branch",
                                key ? key : "");
        ad_node_set_output(node, k, name->value);
        struct ad_name *outside = ad_names_find(&d->names, node->proto->output[k]);
        if (outside)
            outside->type = name->type;
    }
    return status;
}
