/* ONNX messages under a limit of memory (base/protobuf.h). */
#include "onnx/model.h"
#include "base/protobuf.h"

enum adaps_status ad_onnx_unpack(const ProtobufCMessageDescriptor *type, const void *data,
                                 size_t size, size_t file_size, const char *path, const char *what,
                                 ProtobufCMessage **out, struct adaps_error *err)
{
    size_t budget = ad_protobuf_budget(file_size, AD_ONNX_FACTOR, AD_ONNX_MEMORY) - size;
    switch (ad_protobuf_unpack(type, data, size, budget, out)) {
    case AD_PROTOBUF_OK:
        return ADAPS_OK;
    case AD_PROTOBUF_NO_MEMORY:
        return ad_error_memory(err, path, size);
    case AD_PROTOBUF_TOO_LARGE:
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: %s: its %zu bytes would take more than %zu bytes of memory", path,
                            what, size, budget);
    case AD_PROTOBUF_MALFORMED:
        break;
    }
    return ad_error_set(err, ADAPS_EINPUT, "%s: %s: malformed or truncated protobuf (%zu bytes)",
                        path, what, file_size);
}
