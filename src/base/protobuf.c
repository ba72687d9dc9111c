#include "base/protobuf.h"
#include "base/mem.h"

struct budget {
    size_t left;
    bool exhausted, failed;
};

static void *budget_alloc(void *data, size_t size)
{
    struct budget *budget = data;
    if (size > budget->left) {
        budget->exhausted = true;
        return NULL;
    }
    void *p = ad_realloc(NULL, 1, size);
    if (p)
        budget->left -= size;
    else
        budget->failed = true;
    return p;
}

static void budget_free(void *data, void *p)
{
    (void)data;
    ad_free(p);
}

enum ad_protobuf_result ad_protobuf_unpack(const ProtobufCMessageDescriptor *type, const void *data,
                                           size_t size, size_t budget, ProtobufCMessage **out)
{
    static const uint8_t none[1];
    struct budget b = {.left = budget};
    ProtobufCAllocator allocator = {
        .alloc = budget_alloc, .free = budget_free, .allocator_data = &b};
    *out = protobuf_c_message_unpack(type, &allocator, size, size ? data : none);
    if (*out)
        return AD_PROTOBUF_OK;
    if (b.failed)
        return AD_PROTOBUF_NO_MEMORY;
    return b.exhausted ? AD_PROTOBUF_TOO_LARGE : AD_PROTOBUF_MALFORMED;
}

void ad_protobuf_free(ProtobufCMessage *message)
{
    static ProtobufCAllocator allocator = {.alloc = NULL, .free = budget_free};
    if (message)
        protobuf_c_message_free_unpacked(message, &allocator);
}

size_t ad_protobuf_budget(size_t size, size_t factor, size_t base)
{
    size_t budget;
    if (!ad_size_mul(size, factor, &budget) || !ad_size_add(budget, base, &budget))
        return SIZE_MAX;
    return budget;
}
