/* NumPy's .npy files as tensors. */
#ifndef AD_IO_NPY_H
#define AD_IO_NPY_H

#include "base/tensor.h"

/* Reads format versions 1, 2 and 3: little-endian f2 f4 f8, signed and unsigned integers of 1 to 8
 * bytes and bool, in C order, all converted to `type`: to float32 by rounding, to others exactly
 * (an element that is none of the type is ADAPS_EINPUT). *out is initialised here, the caller's to
 * finish. `path` is what messages call the bytes. ADAPS_EINPUT says what the file is instead:
 * Fortran order, big-endian, structured, cut short, too long. Nothing is allocated before the
 * number of bytes that the header promises has been seen. */
AD_MUST_CHECK enum adaps_status ad_npy_parse(const void *data, size_t size, const char *path,
                                             enum adaps_type type, struct ad_tensor *out,
                                             struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_npy_load(const char *path, enum adaps_type type,
                                            struct ad_tensor *out, struct adaps_error *err);

/* Writes version 1.0, the tensor's type, C order; replaces the file atomically. */
AD_MUST_CHECK enum adaps_status ad_npy_save(const char *path, const struct ad_tensor *tensor,
                                            struct adaps_error *err);

#endif
