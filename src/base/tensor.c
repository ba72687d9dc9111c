#include "base/tensor.h"
#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} types[] = {
    [ADAPS_FLOAT32] = {"float32", 4}, [ADAPS_UINT8] = {"uint8", 1}, [ADAPS_INT8] = {"int8", 1},
    [ADAPS_INT32] = {"int32", 4},     [ADAPS_INT64] = {"int64", 8}, [ADAPS_BOOL] = {"bool", 1},
};

static bool is_type(enum adaps_type type)
{
    return (unsigned)type < sizeof types / sizeof *types && types[type].name;
}

size_t ad_type_bytes(enum adaps_type type)
{
    return is_type(type) ? types[type].bytes : 0;
}

const char *ad_type_name(enum adaps_type type)
{
    return is_type(type) ? types[type].name : "?";
}

enum adaps_status ad_tensor_init_typed(struct ad_tensor *tensor, enum adaps_type type, int rank,
                                       const int64_t *dims, struct adaps_error *err)
{
    memset(tensor, 0, sizeof *tensor);
    if (!is_type(type))
        return ad_error_set(err, ADAPS_EINPUT, "tensor of type %d", (int)type);
    if (rank < 0 || rank > AD_MAX_RANK)
        return ad_error_set(err, ADAPS_EINPUT, "tensor of rank %d: at most %d is supported", rank,
                            AD_MAX_RANK);
    size_t count = 1, bytes;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0 || dims[i] > INT32_MAX || !ad_size_mul(count, (size_t)dims[i], &count))
            return ad_error_set(err, ADAPS_EINPUT,
                                "tensor dimension %d is %" PRId64 ": out of range", i, dims[i]);
        tensor->dims[i] = dims[i];
    }
    if (!ad_size_mul(count, ad_type_bytes(type), &bytes) || bytes > PTRDIFF_MAX)
        return ad_error_set(err, ADAPS_EINPUT, "tensor of %zu elements is too large", count);
    tensor->data = ad_alloc_aligned(bytes);
    if (!tensor->data)
        return ad_error_memory(err, "tensor", bytes);
    memset(tensor->data, 0, bytes);
    tensor->type = type;
    tensor->rank = rank;
    tensor->count = count;
    return ADAPS_OK;
}

enum adaps_status ad_tensor_init(struct ad_tensor *tensor, int rank, const int64_t *dims,
                                 struct adaps_error *err)
{
    return ad_tensor_init_typed(tensor, ADAPS_FLOAT32, rank, dims, err);
}

void ad_tensor_fini(struct ad_tensor *tensor)
{
    ad_free(tensor->data);
    memset(tensor, 0, sizeof *tensor);
}

double ad_tensor_number(const struct ad_tensor *tensor, size_t i)
{
    const void *data = tensor->data;
    switch (tensor->type) {
    case ADAPS_FLOAT32:
        return (double)tensor->data[i];
    case ADAPS_UINT8:
    case ADAPS_BOOL:
        return ((const uint8_t *)data)[i];
    case ADAPS_INT8:
        return ((const int8_t *)data)[i];
    case ADAPS_INT32:
        return ((const int32_t *)data)[i];
    case ADAPS_INT64:
        return (double)((const int64_t *)data)[i];
    }
    return 0;
}

void ad_tensor_set(struct ad_tensor *tensor, size_t i, double number)
{
    void *data = tensor->data;
    switch (tensor->type) {
    case ADAPS_FLOAT32:
        tensor->data[i] = (float)number;
        break;
    case ADAPS_UINT8:
    case ADAPS_BOOL:
        ((uint8_t *)data)[i] = (uint8_t)number;
        break;
    case ADAPS_INT8:
        ((int8_t *)data)[i] = (int8_t)number;
        break;
    case ADAPS_INT32:
        ((int32_t *)data)[i] = (int32_t)number;
        break;
    case ADAPS_INT64:
        ((int64_t *)data)[i] = (int64_t)number;
        break;
    }
}

char *ad_dims_format(int rank, const int64_t *dims, char *buf, size_t size)
{
    size_t used = 0;
    if (rank == 0)
        snprintf(buf, size, "scalar");
    for (int i = 0; i < rank && used < size; i++) {
        int n = snprintf(buf + used, size - used, "%s%" PRId64, i ? "x" : "", dims[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    return buf;
}

struct ad_difference ad_tensor_compare(const float *a, const float *b, size_t n)
{
    struct ad_difference d = {.elements = n};
    for (size_t i = 0; i < n; i++) {
        if (memcmp(&a[i], &b[i], sizeof(float)) == 0)
            continue;
        if (d.differ++ == 0)
            d.first = i;
        double delta = fabs((double)a[i] - (double)b[i]);
        if (isnan(delta))
            delta = INFINITY;
        if (delta > d.max_abs_diff)
            d.max_abs_diff = delta;
    }
    return d;
}

static bool same_shape(const struct ad_tensor *a, const struct ad_tensor *b)
{
    return a->type == b->type && a->rank == b->rank &&
           memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

struct ad_difference ad_tensor_difference(const struct ad_tensor *a, const struct ad_tensor *b)
{
    size_t size = ad_type_bytes(a->type);
    struct ad_difference d = {.elements = a->count > 0 ? a->count : 1};
    if (!same_shape(a, b)) {
        d.differ = d.elements;
        d.max_abs_diff = INFINITY;
        return d;
    }
    if (a->type == ADAPS_FLOAT32)
        return ad_tensor_compare(a->data, b->data, a->count);
    d.elements = a->count;
    for (size_t i = 0; i < a->count; i++) {
        if (memcmp((const uint8_t *)a->data + i * size, (const uint8_t *)b->data + i * size,
                   size) == 0)
            continue;
        if (d.differ++ == 0)
            d.first = i;
        d.max_abs_diff =
            fmax(d.max_abs_diff, fabs(ad_tensor_number(a, i) - ad_tensor_number(b, i)));
    }
    return d;
}

double ad_tensor_span(const struct ad_tensor *tensor)
{
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < tensor->count; i++) {
        double number = ad_tensor_number(tensor, i);
        least = fmin(least, number);
        most = fmax(most, number);
    }
    return most > least ? most - least : 0;
}

double ad_tensor_error(double max_abs_diff, double range)
{
    if (max_abs_diff == 0)
        return 0;
    return range > 0 ? max_abs_diff / range : INFINITY;
}

void ad_tensor_add_squares(const struct ad_tensor *want, const struct ad_tensor *have,
                           double *signal, double *noise)
{
    for (size_t i = 0; i < want->count && i < have->count; i++) {
        double w = ad_tensor_number(want, i), d = w - ad_tensor_number(have, i);
        *signal += w * w;
        *noise += d * d;
    }
}

double ad_decibels(double signal, double noise)
{
    return noise > 0 ? 10 * log10(signal / noise) : INFINITY;
}

size_t ad_tensor_largest(const struct ad_tensor *tensor, size_t from, size_t count)
{
    size_t best = from;
    for (size_t i = from; i < from + count; i++) {
        double number = ad_tensor_number(tensor, i), most = ad_tensor_number(tensor, best);
        if (number > most || isnan(most))
            best = i;
    }
    return best - from;
}
