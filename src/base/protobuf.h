/* protobuf-c under a limit: a hostile message of a few megabytes must not make it allocate
 * gigabytes (an empty message of two bytes costs some hundred in memory). Allocates through
 * base/mem.h. */
#ifndef AD_BASE_PROTOBUF_H
#define AD_BASE_PROTOBUF_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

enum ad_protobuf_result {
    AD_PROTOBUF_OK,
    AD_PROTOBUF_MALFORMED, /* or truncated */
    AD_PROTOBUF_TOO_LARGE, /* it would take more than the budget */
    AD_PROTOBUF_NO_MEMORY  /* the system had none */
};

/* Parses size bytes (data may be NULL when size is 0), with at most `budget` bytes of memory. *out
 * is to be released with ad_protobuf_free(); NULL unless AD_PROTOBUF_OK. */
enum ad_protobuf_result ad_protobuf_unpack(const ProtobufCMessageDescriptor *type, const void *data,
                                           size_t size, size_t budget, ProtobufCMessage **out);
void ad_protobuf_free(ProtobufCMessage *message); /* NULL is fine */

/* For the fields of a message that is only packed: protobuf-c has no const there, though packing
 * only reads. The one place where const is dropped for it. */
static inline void *ad_protobuf_borrow(const void *data)
{
    return (void *)(uintptr_t)data;
}

/* size * factor + base, at most SIZE_MAX. */
size_t ad_protobuf_budget(size_t size, size_t factor, size_t base);

#endif
