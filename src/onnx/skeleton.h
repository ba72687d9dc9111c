/* A model without the large raw_data of its tensors, which stay in the file: protobuf-c, which
 * wants the whole message in memory and copies every byte of it, gets kilobytes instead of the
 * weights. */
#ifndef AD_ONNX_SKELETON_H
#define AD_ONNX_SKELETON_H

#include "base/digest.h"
#include "onnx/file.h"

/* raw_data of more bytes than this stay in the file. */
#define AD_ONNX_STORED_BYTES 4096

struct ad_onnx_range {
    uint64_t offset;
    size_t size;
    struct ad_onnx_file *file; /* borrowed; NULL: the model's own */
};

struct ad_onnx_skeleton {
    uint8_t *bytes; /* a ModelProto; never longer than the file */
    size_t size;
    struct ad_onnx_range *ranges; /* TensorProto.stored is the index of the tensor's */
    size_t nranges;
    struct ad_digest digest; /* of the whole file */
};

/* Reads the file once, from its beginning to its end. Initializers and tensors of attributes lose
 * raw_data of more than AD_ONNX_STORED_BYTES; of several the last is the one that counts, as for
 * protobuf. Everything else is there as it was, but for fields of the number of `stored`. The
 * nesting is bounded (protobuf-c recurses); what is inside of other messages is not looked at.
 * ADAPS_EINPUT: malformed or truncated, nested too deep, an attribute with a second tensor after
 * one whose data stay in the file. On success the caller's (ad_onnx_skeleton_fini). */
AD_MUST_CHECK enum adaps_status ad_onnx_skeleton_read(const struct ad_onnx_file *file,
                                                      struct ad_onnx_skeleton *out,
                                                      struct adaps_error *err);
void ad_onnx_skeleton_fini(struct ad_onnx_skeleton *skeleton);

#endif
