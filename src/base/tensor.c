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

enum adaps_status ad_tensor_init(struct ad_tensor *tensor, int rank, const int64_t *dims,
                                 struct adaps_error *err)
{
    memset(tensor, 0, sizeof *tensor);
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
    if (!ad_size_mul(count, sizeof(float), &bytes) || bytes > PTRDIFF_MAX)
        return ad_error_set(err, ADAPS_EINPUT, "tensor of %zu elements is too large", count);
    tensor->data = ad_alloc_aligned(bytes);
    if (!tensor->data)
        return ad_error_memory(err, "tensor", bytes);
    memset(tensor->data, 0, bytes);
    tensor->rank = rank;
    tensor->count = count;
    return ADAPS_OK;
}

void ad_tensor_fini(struct ad_tensor *tensor)
{
    ad_free(tensor->data);
    memset(tensor, 0, sizeof *tensor);
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

double ad_tensor_range(const float *data, size_t n)
{
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        least = fmin(least, (double)data[i]);
        most = fmax(most, (double)data[i]);
    }
    return most > least ? most - least : 0;
}

double ad_tensor_error(double max_abs_diff, double range)
{
    if (max_abs_diff == 0)
        return 0;
    return range > 0 ? max_abs_diff / range : INFINITY;
}
