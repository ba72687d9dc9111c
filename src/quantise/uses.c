/* Who makes and who reads a tensor of a model that is edited. */
#include "quantise/quantise.h"

#include <string.h>

bool ad_quantise_is_output(const struct ad_edit *edit, const char *tensor)
{
    for (size_t i = 0; i < edit->before.n_output; i++)
        if (strcmp(edit->before.output[i]->name, tensor) == 0)
            return true;
    return false;
}

Onnx__NodeProto *ad_quantise_sole_reader(const struct ad_edit *edit, const char *tensor)
{
    Onnx__NodeProto *reader = NULL;
    if (ad_quantise_is_output(edit, tensor))
        return NULL;
    for (size_t i = 0; i < edit->nnodes; i++)
        for (size_t k = 0; k < edit->nodes[i]->n_input; k++) {
            if (strcmp(edit->nodes[i]->input[k], tensor) != 0)
                continue;
            if (reader)
                return NULL;
            reader = edit->nodes[i];
        }
    return reader;
}

Onnx__NodeProto *ad_quantise_maker(const struct ad_edit *edit, const char *tensor)
{
    for (size_t i = 0; i < edit->nnodes; i++)
        for (size_t k = 0; k < edit->nodes[i]->n_output; k++)
            if (strcmp(edit->nodes[i]->output[k], tensor) == 0)
                return edit->nodes[i];
    return NULL;
}
