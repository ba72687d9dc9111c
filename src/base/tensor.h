/* A dense tensor in host memory, ONNX (row-major, e.g. NCHW) order. */
#ifndef AD_BASE_TENSOR_H
#define AD_BASE_TENSOR_H

#include "base/error.h"

#define AD_MAX_RANK 8

/* Bytes of an element; 0 for numbers that are no type. "float32", "int64", ...; "?" likewise. */
size_t ad_type_bytes(enum adaps_type type);
const char *ad_type_name(enum adaps_type type);

struct ad_tensor {
    enum adaps_type type;
    int rank;                  /* 0..AD_MAX_RANK; rank 0 is a scalar (one element) */
    int64_t dims[AD_MAX_RANK]; /* each >= 0 */
    size_t count;              /* product of dims */
    float *data;               /* owned; 64-byte aligned; of other types by ad_tensor_number() */
};

/* Checks rank and dims (each 0..INT32_MAX, product * 4 within SIZE_MAX) and allocates data, zeroed:
 * of float32, or of any type. ADAPS_EINPUT when a dim is out of range. */
AD_MUST_CHECK enum adaps_status ad_tensor_init(struct ad_tensor *tensor, int rank,
                                               const int64_t *dims, struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_tensor_init_typed(struct ad_tensor *tensor, enum adaps_type type,
                                                     int rank, const int64_t *dims,
                                                     struct adaps_error *err);
void ad_tensor_fini(struct ad_tensor *tensor);

/* Element i as a number, of any type: of int64 the nearest double. And the other way round: the
 * number must be one of the type's. */
double ad_tensor_number(const struct ad_tensor *tensor, size_t i);
void ad_tensor_set(struct ad_tensor *tensor, size_t i, double number);

/* "1x3x224x224" ("scalar" for rank 0) into buf; returns buf. */
char *ad_dims_format(int rank, const int64_t *dims, char *buf, size_t size);

/* Comparison of two arrays of n floats by their bits. A NaN against a different bit pattern counts
 * as differing and makes max_abs_diff infinite. */
struct ad_difference {
    size_t elements;
    size_t differ;       /* elements whose bits differ */
    double max_abs_diff; /* over all elements */
    size_t first;        /* index of the first that differs (0 when none) */
};
struct ad_difference ad_tensor_compare(const float *a, const float *b, size_t n);

/* The same of two tensors of any type. Where types or dims differ, all elements do, one at least.
 */
struct ad_difference ad_tensor_difference(const struct ad_tensor *a, const struct ad_tensor *b);

/* The largest element minus the smallest, of any type, without NaNs; 0 for no elements. */
double ad_tensor_span(const struct ad_tensor *tensor);

/* The largest difference as a fraction of the range: 0 for no difference, INFINITY for one in a
 * range of 0. */
double ad_tensor_error(double max_abs_diff, double range);

/* Adds the squares of what is wanted, and of what `have`, of as many elements, differs by. */
void ad_tensor_add_squares(const struct ad_tensor *want, const struct ad_tensor *have,
                           double *signal, double *noise);

/* Their ratio in decibels; INFINITY without noise. */
double ad_decibels(double signal, double noise);

/* The index of the largest of `count` elements from `from` on: the first of equal ones. NaNs are
 * less than all others. */
size_t ad_tensor_largest(const struct ad_tensor *tensor, size_t from, size_t count);

#endif
