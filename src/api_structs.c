#include "api_structs.h"
#include "base/convert.h"
#include "ir/ends.h"

#include <stdio.h>
#include <string.h>

/* Elements of a value; of an open one the most. */
static size_t elements(const struct ad_value *value)
{
    const struct ad_array array = ad_value_array(value);
    return (size_t)ad_array_elements(&array);
}

/* --- structs that may grow --- */

static enum adaps_status check_size(size_t theirs, size_t first, const char *name,
                                    struct adaps_error *err)
{
    if (theirs >= first)
        return ADAPS_OK;
    return ad_error_set(
        err, ADAPS_EUSAGE,
        "struct_size of struct %s is %zu, less than it ever was (%zu): it has to be "
        "set to sizeof the struct",
        name, theirs, first);
}

enum adaps_status ad_struct_read(void *to, size_t size, size_t first, const void *from,
                                 const char *name, struct adaps_error *err)
{
    size_t theirs;
    memcpy(&theirs, from, sizeof theirs);
    enum adaps_status status = check_size(theirs, first, name, err);
    if (status != ADAPS_OK)
        return status;
    const unsigned char *bytes = from;
    for (size_t i = size; i < theirs; i++)
        if (bytes[i] != 0)
            return ad_error_set(err, ADAPS_EUSAGE,
                                "struct %s has fields that adaps %s does not know", name,
                                ADAPS_VERSION);
    memset(to, 0, size);
    memcpy(to, from, theirs < size ? theirs : size);
    return ADAPS_OK;
}

enum adaps_status ad_struct_write(void *to, const void *from, size_t size, size_t first,
                                  const char *name, struct adaps_error *err)
{
    size_t theirs;
    memcpy(&theirs, to, sizeof theirs);
    enum adaps_status status = check_size(theirs, first, name, err);
    if (status != ADAPS_OK)
        return status;
    memset(to, 0, theirs);
    memcpy(to, from, theirs < size ? theirs : size);
    memcpy(to, &theirs, sizeof theirs);
    return ADAPS_OK;
}

enum adaps_status ad_api_tensor(const struct adaps_tensor *tensors, int i, struct adaps_tensor *out,
                                struct adaps_error *err)
{
    const char *at = (const char *)tensors + (size_t)i * tensors->struct_size;
    enum adaps_status status = ad_struct_read(out, sizeof *out, sizeof *out, tensors,
                                              "adaps_tensor", err); /* its size, at first */
    if (status == ADAPS_OK && i > 0)
        status = ad_struct_read(out, sizeof *out, sizeof *out, at, "adaps_tensor", err);
    if (status == ADAPS_OK && out->struct_size != tensors->struct_size)
        status = ad_error_set(err, ADAPS_EUSAGE, "tensors of an array have different struct_sizes");
    return status;
}

void ad_api_info(const struct ad_graph *graph, const int *values, int i,
                 struct adaps_tensor_info *out)
{
    const struct ad_value *value = &graph->values[values[i]];
    *out = (struct adaps_tensor_info){.struct_size = sizeof *out,
                                      .name = value->name,
                                      .type = value->type,
                                      .rank = value->rank,
                                      .open = value->open};
    memcpy(out->dims, value->dims, (size_t)value->rank * sizeof *value->dims);
}

/* --- which one --- */

/* The place in the network of tensor number `at` of a caller's array. */
static enum adaps_status find(const struct ad_graph *graph, const int *values, int count,
                              const struct adaps_tensor *tensor, int at, const char *what, int *out,
                              struct adaps_error *err)
{
    *out = at;
    if (!tensor->name && at < count)
        return ADAPS_OK;
    for (int i = 0; tensor->name && i < count; i++) {
        *out = i;
        if (strcmp(graph->values[values[i]].name, tensor->name) == 0)
            return ADAPS_OK;
    }
    if (tensor->name)
        return ad_error_set(err, ADAPS_EUSAGE, "the network has no %s '%s'", what, tensor->name);
    return ad_error_set(err, ADAPS_EUSAGE, "the network has %d %s%s, this is one more", count, what,
                        count == 1 ? "" : "s");
}

/* --- inputs --- */

/* A missing first dimension of 1 is none. */
static bool lacks_batch(const struct ad_value *value, const struct adaps_tensor *tensor)
{
    return value->rank == tensor->rank + 1 && value->dims[0] == 1 &&
           memcmp(value->dims + 1, tensor->dims, (size_t)tensor->rank * sizeof *tensor->dims) == 0;
}

static enum adaps_status check_input(const struct ad_value *value,
                                     const struct adaps_tensor *tensor, struct adaps_error *err)
{
    char wanted[128];
    if (tensor->rank < 0 || tensor->rank > ADAPS_MAX_RANK)
        return ad_error_set(err, ADAPS_EINPUT, "input '%s' has rank %d: 0 to %d are possible",
                            value->name, tensor->rank, ADAPS_MAX_RANK);
    enum adaps_status status = lacks_batch(value, tensor)
                                   ? ADAPS_OK
                                   : ad_end_check_dims(value, tensor->rank, tensor->dims, err);
    if (status != ADAPS_OK)
        return status;
    size_t each = ad_type_bytes(tensor->type);
    if (each == 0)
        return ad_error_set(err, ADAPS_EINPUT, "input '%s': %d is no type of elements", value->name,
                            (int)tensor->type);
    size_t bytes = elements(value) * each;
    if (!tensor->data || tensor->bytes != bytes)
        return ad_error_set(err, ADAPS_EINPUT, "input '%s' has %zu bytes, %s %s takes %zu",
                            value->name, tensor->data ? tensor->bytes : 0,
                            ad_type_name(tensor->type),
                            ad_dims_format(value->rank, value->dims, wanted, sizeof wanted), bytes);
    return ADAPS_OK;
}

/* Elements of another type, or that must be copied. */
static enum adaps_status convert(const struct ad_value *value, const struct adaps_tensor *tensor,
                                 struct ad_tensor *out, struct adaps_error *err)
{
    enum adaps_status status =
        ad_tensor_init_typed(out, value->type, value->rank, value->dims, err);
    if (status != ADAPS_OK)
        return status;
    size_t good = ad_convert(tensor->type, tensor->data, value->type, out->data, out->count);
    if (good == out->count)
        return ADAPS_OK;
    ad_tensor_fini(out);
    return ad_error_set(
        err, ADAPS_EINPUT,
        "input '%s': element %zu of %s is not a value of %s, which the network takes", value->name,
        good, ad_type_name(tensor->type), ad_type_name(value->type));
}

static enum adaps_status take_input(const struct ad_graph *graph, int input,
                                    const struct adaps_tensor *tensor, bool copy,
                                    struct ad_api_inputs *out, struct adaps_error *err)
{
    const struct ad_value *value = &graph->values[graph->inputs[input]];
    struct ad_tensor *to = &out->tensors[input];
    if (to->data)
        return ad_error_set(err, ADAPS_EUSAGE, "input '%s' is there twice", value->name);
    enum adaps_status status = check_input(value, tensor, err);
    if (status != ADAPS_OK)
        return status;
    bool fits = tensor->type == value->type && tensor->type != ADAPS_BOOL &&
                (uintptr_t)tensor->data % ad_type_bytes(tensor->type) == 0;
    if (copy || !fits) {
        out->owned[input] = true;
        return convert(value, tensor, to, err);
    }
    to->type = value->type;
    to->rank = value->rank;
    memcpy(to->dims, value->dims, sizeof to->dims);
    to->count = elements(value);
    to->data = tensor->data;
    return ADAPS_OK;
}

enum adaps_status ad_api_inputs_take(const struct ad_graph *graph,
                                     const struct adaps_tensor *tensors, int n, bool copy,
                                     struct ad_api_inputs *out, struct adaps_error *err)
{
    size_t count = (size_t)graph->ninputs;
    if (n != graph->ninputs || (n > 0 && !tensors))
        return ad_error_set(err, ADAPS_EUSAGE, "%d inputs: the network has %d", n, graph->ninputs);
    out->count = n;
    out->tensors = ad_calloc(count + 1, sizeof *out->tensors);
    out->owned = ad_calloc(count + 1, sizeof *out->owned);
    enum adaps_status status = out->tensors && out->owned
                                   ? ADAPS_OK
                                   : ad_error_memory(err, "inputs", count * sizeof *out->tensors);
    for (int i = 0; i < n && status == ADAPS_OK; i++) {
        struct adaps_tensor tensor;
        int input = 0;
        status = ad_api_tensor(tensors, i, &tensor, err);
        if (status == ADAPS_OK)
            status = find(graph, graph->inputs, n, &tensor, i, "input", &input, err);
        if (status == ADAPS_OK)
            status = take_input(graph, input, &tensor, copy, out, err);
    }
    if (status != ADAPS_OK)
        ad_api_inputs_fini(out);
    return status;
}

void ad_api_inputs_fini(struct ad_api_inputs *inputs)
{
    for (int i = 0; inputs->owned && inputs->tensors && i < inputs->count; i++)
        if (inputs->owned[i])
            ad_tensor_fini(&inputs->tensors[i]);
    ad_free(inputs->tensors);
    ad_free(inputs->owned);
    *inputs = (struct ad_api_inputs){0};
}

/* --- outputs --- */

enum adaps_status ad_api_outputs_check(const struct ad_graph *graph,
                                       const struct adaps_tensor *tensors, int n, int *wanted,
                                       struct adaps_error *err)
{
    if (n < 0 || n > graph->noutputs || (n > 0 && !tensors))
        return ad_error_set(err, ADAPS_EUSAGE, "%d outputs: the network has %d", n,
                            graph->noutputs);
    for (int i = 0; i < n; i++) {
        struct adaps_tensor tensor;
        enum adaps_status status = ad_api_tensor(tensors, i, &tensor, err);
        if (status == ADAPS_OK)
            status =
                find(graph, graph->outputs, graph->noutputs, &tensor, i, "output", &wanted[i], err);
        if (status != ADAPS_OK)
            return status;
        const struct ad_value *value = &graph->values[graph->outputs[wanted[i]]];
        if (!tensor.data)
            return ad_error_set(err, ADAPS_EUSAGE, "output '%s' has no memory", value->name);
        if (tensor.type != 0 && tensor.type != value->type)
            return ad_error_set(err, ADAPS_EUSAGE, "output '%s' is of %s, not of %s", value->name,
                                ad_type_name(value->type), ad_type_name(tensor.type));
        size_t bytes = elements(value) * ad_type_bytes(value->type);
        if (!value->open && tensor.bytes < bytes)
            return ad_error_set(err, ADAPS_EINPUT, "output '%s' has room for %zu bytes of %zu",
                                value->name, tensor.bytes, bytes);
    }
    return ADAPS_OK;
}

void ad_api_output(const struct adaps_tensor_info *info, const struct ad_tensor *answer,
                   struct adaps_tensor *out)
{
    *out = (struct adaps_tensor){.struct_size = sizeof *out,
                                 .name = info->name,
                                 .type = info->type,
                                 .rank = answer->rank,
                                 .data = answer->data,
                                 .bytes = answer->count * ad_type_bytes(info->type)};
    memcpy(out->dims, answer->dims, (size_t)answer->rank * sizeof *answer->dims);
}

enum adaps_status ad_api_outputs_give(const struct ad_graph *graph, const struct ad_tensor *outputs,
                                      const int *wanted, struct adaps_tensor *tensors, int n,
                                      struct adaps_error *err)
{
    for (int i = 0; i < n; i++) {
        struct adaps_tensor_info info;
        struct adaps_tensor room, answer;
        void *at = (char *)tensors + (size_t)i * tensors->struct_size;
        enum adaps_status status = ad_api_tensor(tensors, i, &room, err);
        if (status != ADAPS_OK)
            return status;
        ad_api_info(graph, graph->outputs, wanted[i], &info);
        ad_api_output(&info, &outputs[wanted[i]], &answer);
        if (answer.bytes > room.bytes)
            return ad_error_set(err, ADAPS_EINPUT, "output '%s' has room for %zu bytes of %zu",
                                answer.name, room.bytes, answer.bytes);
        memcpy(room.data, answer.data, answer.bytes);
        answer.name = room.name;
        answer.data = room.data;
        status = ad_struct_write(at, &answer, sizeof answer, sizeof answer, "adaps_tensor", err);
        if (status != ADAPS_OK)
            return status;
    }
    return ADAPS_OK;
}
