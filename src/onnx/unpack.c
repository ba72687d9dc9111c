/* ONNX messages under a limit of memory (base/protobuf.h). */
#include "onnx/model.h"
#include "base/protobuf.h"

#define BUDGET_FACTOR 3
#define BUDGET_BASE ((size_t)64 << 20)

size_t ad_onnx_parse_budget(size_t size)
{
    return ad_protobuf_budget(size, BUDGET_FACTOR, BUDGET_BASE);
}

enum adaps_status ad_onnx_unpack(const ProtobufCMessageDescriptor *type, const void *data,
                                 size_t size, const char *path, const char *what,
                                 ProtobufCMessage **out, struct adaps_error *err)
{
    size_t budget = ad_onnx_parse_budget(size);
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
                        path, what, size);
}
