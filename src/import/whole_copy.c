/* Values under another name, of any type: outputs of the network that no op of their own makes. */
#include "import/whole_form.h"

static enum adaps_status emit(struct ad_node *node, enum ad_whole_kind kind, enum adaps_type to,
                              const int *inputs, int ninputs, int *out, struct adaps_error *err)
{
    const struct ad_form form = {
        .node = node, .kind = kind, .to = to, .inputs = inputs, .ninputs = ninputs, .err = err};
    return ad_form_emit(&form, out);
}

enum adaps_status ad_draft_copy(struct ad_node *node, int value, int *out, struct adaps_error *err)
{
    return emit(node, AD_WHOLE_CAST, node->draft->values[value].type, &value, 1, out, err);
}

/* Ops read something that is computed: whether the number of its elements equals itself chooses
 * between twice the constant. */
enum adaps_status ad_draft_copy_constant(struct ad_node *node, int value, int beside, int *out,
                                         struct adaps_error *err)
{
    int sizes[2], chosen[3] = {-1, value, value};
    enum adaps_status status = emit(node, AD_WHOLE_SIZE, 0, &beside, 1, &sizes[0], err);
    sizes[1] = sizes[0];
    if (status == ADAPS_OK)
        status = emit(node, AD_WHOLE_EQUAL, 0, sizes, 2, &chosen[0], err);
    return status == ADAPS_OK ? emit(node, AD_WHOLE_WHERE, 0, chosen, 3, out, err) : status;
}
