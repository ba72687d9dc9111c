/* Inputs and outputs of `run` and `verify`: pictures (.png .jpg .jpeg .bmp .ppm .pgm), .npy, ONNX
 * TensorProto .pb. What a file that is read is, its content says (io/file_kind.h); what one that is
 * written becomes, its name's ending. */
#ifndef AD_IO_TENSOR_IO_H
#define AD_IO_TENSOR_IO_H

#include "base/tensor.h"
#include "ir/graph.h"

/* Loads `path` as the network's input `input` (index): shape must equal the value's dims (a missing
 * leading batch dimension of 1 is allowed). Pictures: pixels/255, then (x - mean)/std per channel
 * with `adaps.mean` and `adaps.std` of the model's metadata, 1 or 3 channels as the input has; the
 * picture must have the input's height and width (or is resized when `resize`). ADAPS_EINPUT names
 * the file, what it has and what is expected. */
AD_MUST_CHECK enum adaps_status ad_tensor_io_load(const struct ad_graph *graph, int input,
                                                  const char *path, bool resize,
                                                  struct ad_tensor *out, struct adaps_error *err);

/* Saves by ending. Pictures need a 1 x 1|3 x H x W output; values are clipped to [0,1]. */
AD_MUST_CHECK enum adaps_status ad_tensor_io_save(const struct ad_graph *graph, int output,
                                                  const char *path, const struct ad_tensor *tensor,
                                                  struct adaps_error *err);

/* Whether the name's ending is one of a picture or an array (.npy, .pb). */
bool ad_tensor_io_is_name(const char *path);

/* Whether ad_tensor_io_save() would take this name for this output, judged by the ending and the
 * shape alone: to be asked before the work is done. */
AD_MUST_CHECK enum adaps_status ad_tensor_io_check_save(const struct ad_graph *graph, int output,
                                                        const char *path, struct adaps_error *err);

/* A seeded input for when none is given (adaps verify): a picture of random bytes where the input
 * may be one, numbers in [0,1) elsewhere; any bytes and booleans, integers of 0 to 9. */
AD_MUST_CHECK enum adaps_status ad_tensor_io_random(const struct ad_graph *graph, int input,
                                                    uint64_t seed, struct ad_tensor *out,
                                                    struct adaps_error *err);

#endif
