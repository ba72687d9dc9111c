#include "ir/ends.h"

#include <string.h>

enum adaps_status ad_end_dims(const struct ad_value *value, const float *words, int64_t *dims,
                              struct adaps_error *err)
{
    size_t bytes = (size_t)value->rank * sizeof *dims;
    if (bytes > 0)
        memcpy(dims, value->open ? (const void *)(words + ad_value_dims_word(value)) : value->dims,
               bytes);
    for (int i = 0; i < value->rank; i++)
        if (dims[i] < 0 || dims[i] > value->dims[i]) {
            char have[128], most[128];
            return ad_error_set(err, ADAPS_EINPUT, "'%s' has the dims %s, of at most %s",
                                value->name, ad_dims_format(value->rank, dims, have, sizeof have),
                                ad_dims_format(value->rank, value->dims, most, sizeof most));
        }
    return ADAPS_OK;
}

enum adaps_status ad_end_check_dims(const struct ad_value *value, int rank, const int64_t *dims,
                                    struct adaps_error *err)
{
    char got[128], wanted[128];
    if (rank == value->rank &&
        (rank == 0 || memcmp(dims, value->dims, (size_t)rank * sizeof *dims) == 0))
        return ADAPS_OK;
    return ad_error_set(err, ADAPS_EINPUT, "input '%s' has shape %s, the network takes %s",
                        value->name, ad_dims_format(rank, dims, got, sizeof got),
                        ad_dims_format(value->rank, value->dims, wanted, sizeof wanted));
}

enum adaps_status ad_ends_check_inputs(const struct ad_graph *graph, const struct ad_tensor *inputs,
                                       struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; i < graph->ninputs && status == ADAPS_OK; i++) {
        const struct ad_value *value = &graph->values[graph->inputs[i]];
        if (inputs[i].type != value->type)
            return ad_error_set(err, ADAPS_EINPUT, "input '%s' is of type %s, the network takes %s",
                                value->name, ad_type_name(inputs[i].type),
                                ad_type_name(value->type));
        status = ad_end_check_dims(value, inputs[i].rank, inputs[i].dims, err);
    }
    return status;
}

void ad_end_put(const struct ad_value *value, const struct ad_tensor *tensor, float *words)
{
    size_t bytes = tensor->count * ad_type_bytes(tensor->type);
    memcpy(words, tensor->data, bytes);
    memset((uint8_t *)words + bytes, 0, ad_end_words(value) * sizeof *words - bytes);
}

enum adaps_status ad_end_take(const struct ad_value *value, const float *words,
                              struct ad_tensor *out, struct adaps_error *err)
{
    int64_t dims[AD_MAX_RANK];
    enum adaps_status status = ad_end_dims(value, words, dims, err);
    if (status == ADAPS_OK)
        status = ad_tensor_init_typed(out, value->type, value->rank, dims, err);
    if (status == ADAPS_OK)
        memcpy(out->data, words, out->count * ad_type_bytes(out->type));
    return status;
}
