/* The bytes of a model, in a file or in memory: what is too large to be held is read from here when
 * it is needed. Counted references, because graphs made from a model may outlive it; counting is
 * not thread-safe, reading is. */
#ifndef AD_ONNX_FILE_H
#define AD_ONNX_FILE_H

#include "base/error.h"

struct ad_onnx_file;

/* Opens a regular file. *out is the caller's (ad_onnx_file_unref). ADAPS_EINPUT names the path. */
AD_MUST_CHECK enum adaps_status ad_onnx_file_open(const char *path, struct ad_onnx_file **out,
                                                  struct adaps_error *err);

/* Opens a regular file by its path from the folder of `model`: neither absolute nor through "..",
 * and without following symbolic links. ADAPS_EINPUT names the path; also for a model in memory. */
AD_MUST_CHECK enum adaps_status ad_onnx_file_beside(const struct ad_onnx_file *model,
                                                    const char *location, struct ad_onnx_file **out,
                                                    struct adaps_error *err);

/* The same for bytes in memory, which are copied; `path` is what messages call them. */
AD_MUST_CHECK enum adaps_status ad_onnx_file_copy(const void *data, size_t size, const char *path,
                                                  struct ad_onnx_file **out,
                                                  struct adaps_error *err);

struct ad_onnx_file *ad_onnx_file_ref(struct ad_onnx_file *file);
void ad_onnx_file_unref(struct ad_onnx_file *file); /* NULL is fine */

size_t ad_onnx_file_size(const struct ad_onnx_file *file);
const char *ad_onnx_file_path(const struct ad_onnx_file *file);

/* Copies bytes [offset, offset + size) of the file to `to`. ADAPS_EINPUT, naming the path: they
 * cannot be read, or the file has become shorter. */
AD_MUST_CHECK enum adaps_status ad_onnx_file_read(const struct ad_onnx_file *file, uint64_t offset,
                                                  void *to, size_t size, struct adaps_error *err);

/* ADAPS_EINPUT when the file has been written to since it was opened. */
AD_MUST_CHECK enum adaps_status ad_onnx_file_check(const struct ad_onnx_file *file,
                                                   struct adaps_error *err);

#endif
