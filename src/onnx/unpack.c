/* protobuf-c under a limit: a hostile file of a few megabytes must not make it allocate gigabytes
 * (an empty message of two bytes costs some hundred in memory). */
#include "onnx/model.h"
#include "base/mem.h"

#define BUDGET_FACTOR 3
#define BUDGET_BASE ((size_t)64 << 20)

struct budget {
    size_t left;
    bool exhausted; /* the file asked for more than its limit */
    bool failed;    /* the system had none */
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

size_t ad_onnx_parse_budget(size_t size)
{
    size_t budget;
    if (!ad_size_mul(size, BUDGET_FACTOR, &budget) || !ad_size_add(budget, BUDGET_BASE, &budget))
        return SIZE_MAX;
    return budget;
}

enum adaps_status ad_onnx_unpack(const ProtobufCMessageDescriptor *type, const void *data,
                                 size_t size, const char *path, const char *what,
                                 ProtobufCMessage **out, struct adaps_error *err)
{
    struct budget budget = {.left = ad_onnx_parse_budget(size)};
    ProtobufCAllocator allocator = {
        .alloc = budget_alloc, .free = budget_free, .allocator_data = &budget};
    *out = protobuf_c_message_unpack(type, &allocator, size, data);
    if (*out)
        return ADAPS_OK;
    if (budget.failed)
        return ad_error_memory(err, path, size);
    if (budget.exhausted)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: %s: its %zu bytes would take more than %zu bytes of memory", path,
                            what, size, ad_onnx_parse_budget(size));
    return ad_error_set(err, ADAPS_EINPUT, "%s: %s: malformed or truncated protobuf (%zu bytes)",
                        path, what, size);
}

void ad_onnx_unpack_free(ProtobufCMessage *message)
{
    static ProtobufCAllocator allocator = {.alloc = NULL, .free = budget_free};
    if (message)
        protobuf_c_message_free_unpacked(message, &allocator);
}
