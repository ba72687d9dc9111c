/* TensorProto <-> host memory. ONNX raw data is little-endian. */
#include "onnx/model.h"
#include "base/protobuf.h"
#include "base/file.h"
#include "base/mem.h"
#include "onnx/skeleton.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_TENSOR_FILE ((size_t)2 << 30)

static const char *const type_names[] = {
    "undefined",      "float32",  "uint8",        "int8",           "uint16",
    "int16",          "int32",    "int64",        "string",         "bool",
    "float16",        "double",   "uint32",       "uint64",         "complex64",
    "complex128",     "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
    "float8e5m2fnuz", "uint4",    "int4",         "float4e2m1",     "float8e8m0",
};

const char *ad_onnx_type_name(int32_t type, char *buf, size_t size)
{
    if (type >= 0 && (size_t)type < sizeof type_names / sizeof *type_names)
        return type_names[type];
    snprintf(buf, size, "type %" PRId32, type);
    return buf;
}

size_t ad_onnx_type_bytes(int32_t type)
{
    switch (type) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__BOOL:
    case ONNX__TENSOR_PROTO__DATA_TYPE__UINT8:
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT8:
        return 1;
    case ONNX__TENSOR_PROTO__DATA_TYPE__UINT16:
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT16:
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16:
    case ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16:
        return 2;
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT:
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT32:
    case ONNX__TENSOR_PROTO__DATA_TYPE__UINT32:
        return 4;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT64:
    case ONNX__TENSOR_PROTO__DATA_TYPE__UINT64:
    case ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE:
        return 8;
    default:
        return 0;
    }
}

bool ad_onnx_type_is_float(int32_t type)
{
    return type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT ||
           type == ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE ||
           type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16 ||
           type == ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16;
}

static float bits_to_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static float half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1f, mantissa = half & 0x3ff;
    if (exponent == 31)
        return bits_to_float(sign | 0x7f800000 | mantissa << 13);
    if (exponent == 0) {
        float f = (float)mantissa * 0x1p-24f;
        return sign ? -f : f;
    }
    return bits_to_float(sign | (exponent + 112) << 23 | mantissa << 13);
}

/* The element at p as a little-endian number of `size` bytes. */
static uint64_t read_le(const uint8_t *p, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)p[i] << (8 * i);
    return value;
}

static float float_from_bits(int32_t type, uint64_t bits)
{
    double d;
    switch (type) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE:
        memcpy(&d, &bits, sizeof d);
        return (float)d;
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16:
        return half_to_float((uint16_t)bits);
    case ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16:
        return bits_to_float((uint32_t)(bits & 0xffff) << 16);
    default:
        return bits_to_float((uint32_t)bits);
    }
}

static int64_t int_from_bits(int32_t type, uint64_t bits)
{
    switch (type) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT8:
        return (int8_t)bits;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT16:
        return (int16_t)bits;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT32:
        return (int32_t)bits;
    case ONNX__TENSOR_PROTO__DATA_TYPE__BOOL:
        return (bits & 0xff) != 0;
    default:
        return (int64_t)bits;
    }
}

static void floats_from_raw(int32_t type, const uint8_t *p, size_t count, float *to)
{
    size_t size = ad_onnx_type_bytes(type);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT && count > 0) {
        memcpy(to, p, count * size);
        return;
    }
#endif
    for (size_t k = 0; k < count; k++)
        to[k] = float_from_bits(type, read_le(p + k * size, size));
}

static void ints_from_raw(int32_t type, const uint8_t *p, size_t count, int64_t *to)
{
    size_t size = ad_onnx_type_bytes(type);
    for (size_t k = 0; k < count; k++)
        to[k] = int_from_bits(type, read_le(p + k * size, size));
}

/* Elements [first, first + count) of raw_data that begin at `offset` of the file, into floats or
 * integers. */
static enum adaps_status read_raw(const struct ad_onnx_file *file, uint64_t offset, int32_t type,
                                  size_t first, size_t count, float *floats, int64_t *ints,
                                  struct adaps_error *err)
{
    uint8_t piece[8192];
    size_t size = ad_onnx_type_bytes(type);
    offset += first * size;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT)
        return ad_onnx_file_read(file, offset, floats, count * size, err);
#endif
    for (size_t done = 0, n; done < count; done += n) {
        n = count - done < sizeof piece / size ? count - done : sizeof piece / size;
        enum adaps_status status =
            ad_onnx_file_read(file, offset + done * size, piece, n * size, err);
        if (status != ADAPS_OK)
            return status;
        if (floats)
            floats_from_raw(type, piece, n, floats + done);
        else
            ints_from_raw(type, piece, n, ints + done);
    }
    return ADAPS_OK;
}

/* How many elements the typed field of this element type holds. */
static size_t typed_count(const Onnx__TensorProto *proto)
{
    switch (proto->data_type) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT:
        return proto->n_float_data;
    case ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE:
        return proto->n_double_data;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT64:
        return proto->n_int64_data;
    case ONNX__TENSOR_PROTO__DATA_TYPE__UINT32:
    case ONNX__TENSOR_PROTO__DATA_TYPE__UINT64:
        return proto->n_uint64_data;
    default:
        return proto->n_int32_data;
    }
}

static void decode_typed(const Onnx__TensorProto *proto, struct ad_onnx_tensor *out)
{
    for (size_t k = 0; k < out->count; k++)
        switch (proto->data_type) {
        case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT:
            out->f[k] = proto->float_data[k];
            break;
        case ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE:
            out->f[k] = (float)proto->double_data[k];
            break;
        case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16:
        case ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16:
            out->f[k] = float_from_bits(proto->data_type, (uint32_t)proto->int32_data[k]);
            break;
        case ONNX__TENSOR_PROTO__DATA_TYPE__INT64:
            out->i[k] = proto->int64_data[k];
            break;
        case ONNX__TENSOR_PROTO__DATA_TYPE__UINT32:
        case ONNX__TENSOR_PROTO__DATA_TYPE__UINT64:
            out->i[k] = (int64_t)proto->uint64_data[k];
            break;
        case ONNX__TENSOR_PROTO__DATA_TYPE__BOOL:
            out->i[k] = proto->int32_data[k] != 0;
            break;
        default:
            out->i[k] = proto->int32_data[k];
        }
}

static enum adaps_status read_dims(const Onnx__TensorProto *proto, const char *what,
                                   struct ad_onnx_tensor *out, struct adaps_error *err)
{
    if (proto->n_dims > AD_MAX_RANK)
        return ad_error_set(err, ADAPS_EINPUT, "tensor '%s': rank %zu: at most %d is supported",
                            what, proto->n_dims, AD_MAX_RANK);
    out->rank = (int)proto->n_dims;
    out->count = 1;
    for (int i = 0; i < out->rank; i++) {
        int64_t dim = proto->dims[i];
        if (dim < 0 || dim > INT32_MAX || !ad_size_mul(out->count, (size_t)dim, &out->count))
            return ad_error_set(err, ADAPS_EINPUT,
                                "tensor '%s': dimension %d is %" PRId64 ": out of range", what, i,
                                dim);
        out->dims[i] = dim;
    }
    return ADAPS_OK;
}

static bool find_raw(const struct ad_onnx_model *model, const Onnx__TensorProto *proto,
                     struct ad_onnx_range *range)
{
    bool found = model && proto->has_stored && proto->stored < model->nstored;
    if (found)
        *range = model->stored[proto->stored];
    if (found && !range->file)
        range->file = model->file;
    return found;
}

/* Exactly as much data as the dims say, before anything of that size is allocated. */
static enum adaps_status check_data(const struct ad_onnx_model *model,
                                    const Onnx__TensorProto *proto, const char *what, size_t count,
                                    struct adaps_error *err)
{
    char buf[24];
    struct ad_onnx_range raw = {.size = proto->raw_data.len};
    if (ad_onnx_type_bytes(proto->data_type) == 0)
        return ad_error_set(err, ADAPS_EINPUT, "tensor '%s': element type %s is not supported",
                            what, ad_onnx_type_name(proto->data_type, buf, sizeof buf));
    bool found = find_raw(model, proto, &raw);
    if (!found && (proto->n_external_data > 0 ||
                   proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL))
        return ad_error_set(err, ADAPS_EINPUT,
                            "tensor '%s': its data is in another file (external data), and this "
                            "model is none",
                            what);
    if (found || proto->has_raw_data) {
        size_t bytes;
        if (!ad_size_mul(count, ad_onnx_type_bytes(proto->data_type), &bytes) || raw.size != bytes)
            return ad_error_set(
                err, ADAPS_EINPUT, "tensor '%s': %zu bytes of data for %zu elements of %s", what,
                raw.size, count, ad_onnx_type_name(proto->data_type, buf, sizeof buf));
    } else if (typed_count(proto) != count) {
        return ad_error_set(err, ADAPS_EINPUT, "tensor '%s': %zu values for %zu elements of %s",
                            what, typed_count(proto), count,
                            ad_onnx_type_name(proto->data_type, buf, sizeof buf));
    }
    return ADAPS_OK;
}

enum adaps_status ad_onnx_tensor_check(const struct ad_onnx_model *model,
                                       const Onnx__TensorProto *proto, const char *what,
                                       struct ad_onnx_tensor *out, struct adaps_error *err)
{
    memset(out, 0, sizeof *out);
    enum adaps_status status = read_dims(proto, what, out, err);
    if (status == ADAPS_OK)
        status = check_data(model, proto, what, out->count, err);
    out->is_float = ad_onnx_type_is_float(proto->data_type);
    return status;
}

enum adaps_status ad_onnx_tensor_decode(const struct ad_onnx_model *model,
                                        const Onnx__TensorProto *proto, const char *what,
                                        struct ad_onnx_tensor *out, struct adaps_error *err)
{
    size_t bytes;
    struct ad_onnx_range raw;
    enum adaps_status status = ad_onnx_tensor_check(model, proto, what, out, err);
    if (status != ADAPS_OK)
        return status;
    if (!ad_size_mul(out->count, out->is_float ? sizeof *out->f : sizeof *out->i, &bytes))
        return ad_error_memory(err, what, SIZE_MAX);
    void *data = ad_alloc_aligned(bytes);
    if (!data)
        return ad_error_memory(err, what, bytes);
    if (out->is_float)
        out->f = data;
    else
        out->i = data;
    if (find_raw(model, proto, &raw))
        status =
            read_raw(raw.file, raw.offset, proto->data_type, 0, out->count, out->f, out->i, err);
    else if (!proto->has_raw_data)
        decode_typed(proto, out);
    else if (out->is_float)
        floats_from_raw(proto->data_type, proto->raw_data.data, out->count, out->f);
    else
        ints_from_raw(proto->data_type, proto->raw_data.data, out->count, out->i);
    if (status != ADAPS_OK)
        ad_onnx_tensor_fini(out);
    return status;
}

/* Element k of the typed fields, as the bits that raw_data would have. */
static uint64_t typed_bits(const Onnx__TensorProto *proto, size_t k)
{
    uint32_t word;
    uint64_t bits;
    switch (proto->data_type) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT:
        memcpy(&word, &proto->float_data[k], sizeof word);
        return word;
    case ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE:
        memcpy(&bits, &proto->double_data[k], sizeof bits);
        return bits;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT64:
        return (uint64_t)proto->int64_data[k];
    case ONNX__TENSOR_PROTO__DATA_TYPE__UINT32:
    case ONNX__TENSOR_PROTO__DATA_TYPE__UINT64:
        return proto->uint64_data[k];
    default:
        return (uint64_t)(int64_t)proto->int32_data[k];
    }
}

enum adaps_status ad_onnx_tensor_bytes(const struct ad_onnx_model *model,
                                       const Onnx__TensorProto *proto, uint8_t **out, size_t *size,
                                       struct adaps_error *err)
{
    struct ad_onnx_range raw;
    size_t width = ad_onnx_type_bytes(proto->data_type), count = typed_count(proto);
    bool found = find_raw(model, proto, &raw);
    *size = found ? raw.size : proto->has_raw_data ? proto->raw_data.len : count * width;
    *out = ad_calloc(*size, 1);
    if (!*out)
        return ad_error_memory(err, "tensor", *size);
    if (found) {
        enum adaps_status status = ad_onnx_file_read(raw.file, raw.offset, *out, *size, err);
        if (status != ADAPS_OK)
            ad_free(*out);
        return status;
    }
    if (proto->has_raw_data && *size > 0)
        memcpy(*out, proto->raw_data.data, *size);
    for (size_t k = 0; k < count && !proto->has_raw_data; k++)
        for (size_t b = 0; b < width; b++)
            (*out)[k * width + b] = (uint8_t)(typed_bits(proto, k) >> 8 * b);
    return ADAPS_OK;
}

bool ad_onnx_tensor_stored(const struct ad_onnx_model *model, const Onnx__TensorProto *proto,
                           struct ad_onnx_stored *out)
{
    struct ad_onnx_range raw;
    if (!ad_onnx_type_is_float(proto->data_type) || !find_raw(model, proto, &raw))
        return false;
    *out = (struct ad_onnx_stored){.file = raw.file,
                                   .offset = raw.offset,
                                   .count = raw.size / ad_onnx_type_bytes(proto->data_type),
                                   .type = proto->data_type};
    return true;
}

enum adaps_status ad_onnx_stored_read(const struct ad_onnx_stored *stored, size_t first,
                                      size_t count, float *to, struct adaps_error *err)
{
    return read_raw(stored->file, stored->offset, stored->type, first, count, to, NULL, err);
}

void ad_onnx_tensor_fini(struct ad_onnx_tensor *tensor)
{
    ad_free(tensor->f);
    ad_free(tensor->i);
    memset(tensor, 0, sizeof *tensor);
}

enum adaps_status ad_onnx_tensor_load(const char *path, struct ad_onnx_tensor *out,
                                      struct adaps_error *err)
{
    memset(out, 0, sizeof *out);
    void *data = NULL;
    size_t size;
    ProtobufCMessage *message = NULL;
    enum adaps_status status = ad_file_read(path, MAX_TENSOR_FILE, &data, &size, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_onnx_unpack(&onnx__tensor_proto__descriptor, data, size, size, path,
                            "not an ONNX tensor", &message, err);
    if (status == ADAPS_OK) {
        const Onnx__TensorProto *proto = (const Onnx__TensorProto *)message;
        status = ad_onnx_tensor_decode(NULL, proto, proto->name ? proto->name : "", out, err);
        if (status == ADAPS_EINPUT)
            ad_error_prefix(err, "%s: ", path);
    }
    ad_protobuf_free(message);
    ad_free(data);
    return status;
}

enum adaps_status ad_onnx_tensor_save(const char *path, const char *name,
                                      const struct ad_tensor *tensor, struct adaps_error *err)
{
    Onnx__TensorProto proto = ONNX__TENSOR_PROTO__INIT;
    int64_t dims[AD_MAX_RANK];
    memcpy(dims, tensor->dims, sizeof dims);
    proto.n_dims = (size_t)tensor->rank;
    proto.dims = dims;
    proto.has_data_type = 1;
    proto.data_type = (int32_t)tensor->type;
    proto.name = ad_protobuf_borrow(name);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    proto.has_raw_data = 1;
    proto.raw_data.len = tensor->count * ad_type_bytes(tensor->type);
    proto.raw_data.data = (uint8_t *)tensor->data;
#else
    if (tensor->type != ADAPS_FLOAT32)
        return ad_error_set(err, ADAPS_EINPUT, "%s: %s is not written on this machine", path,
                            ad_type_name(tensor->type));
    proto.n_float_data = tensor->count;
    proto.float_data = tensor->data;
#endif
    size_t size = onnx__tensor_proto__get_packed_size(&proto);
    uint8_t *bytes = ad_calloc(size, 1);
    if (!bytes)
        return ad_error_memory(err, path, size);
    onnx__tensor_proto__pack(&proto, bytes);
    enum adaps_status status = ad_file_replace(path, bytes, size, err);
    ad_free(bytes);
    return status;
}
