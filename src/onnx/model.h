/* ONNX files: reading, checking what protobuf cannot, typed access to tensors and attributes. */
#ifndef AD_ONNX_MODEL_H
#define AD_ONNX_MODEL_H

#include "base/digest.h"
#include "base/tensor.h"
#include "onnx/file.h"
#include "onnx/onnx.pb-c.h"

struct ad_onnx_range;

struct ad_onnx_external {
    char *location; /* as the model calls it; owned */
    struct ad_onnx_file *file;
};

/* The opsets of the default domain that are read. */
#define AD_ONNX_MIN_OPSET 1
#define AD_ONNX_MAX_OPSET 24

/* A parsed file. Owns everything it hands out. Tensors of more than a few kilobytes of raw_data are
 * not in memory: proto has their place in the file (TensorProto.stored), which stays open. */
struct ad_onnx_model {
    const char *path;
    Onnx__ModelProto *proto; /* never NULL; graph present */
    struct ad_onnx_file *file;
    struct ad_onnx_range *stored; /* by TensorProto.stored: the raw_data in the file */
    size_t nstored;
    struct ad_onnx_external *externals; /* files of external data that are open */
    size_t nexternals, externals_room;
    struct ad_digest digest; /* of the model file's bytes */
    int64_t opset;           /* of the default domain ("" or "ai.onnx") */
    size_t memory_factor;    /* AD_ONNX_FACTOR or AD_ONNX_FACTOR_BYTES */
    size_t memory_left;      /* of AD_ONNX_MEMORY, for who makes something of it; 0: no limit */
};

/* What a file of unknown origin may take before it is known to be a network: so many times its size
 * (that of its external data included) and this. With the process itself it is 64 MiB. Where
 * DequantizeLinear makes floats of its bytes it may be more times. */
#define AD_ONNX_MEMORY ((size_t)44 << 20)
#define AD_ONNX_FACTOR 2
#define AD_ONNX_FACTOR_BYTES 10

/* The error of a file that would take more. */
enum adaps_status ad_onnx_too_large(const char *path, size_t factor, struct adaps_error *err);

/* Reads and parses. Checks: graph present, an opset import of the default domain in 1..24,
 * IR 3..12, no node of another domain; every node has op_type and an output, and each of its
 * attributes a name of its own and one value, of the type that it states. Nodes without a name get
 * one. ADAPS_EINPUT names path and reason. It takes at most AD_ONNX_FACTOR times the file and
 * AD_ONNX_MEMORY. */
AD_MUST_CHECK enum adaps_status ad_onnx_load(const char *path, struct ad_onnx_model **out,
                                             struct adaps_error *err);

/* The same for a file already in memory; `path` is what messages call it. The bytes are copied. */
AD_MUST_CHECK enum adaps_status ad_onnx_parse(const void *data, size_t size, const char *path,
                                              struct ad_onnx_model **out, struct adaps_error *err);
void ad_onnx_free(struct ad_onnx_model *model); /* NULL is fine */

/* A constant in host memory: float types are held as float32 (from float16 and double converted),
 * integer and bool types as int64. */
struct ad_onnx_tensor {
    int rank;
    int64_t dims[AD_MAX_RANK];
    size_t count;
    bool is_float;
    float *f;   /* count floats when is_float */
    int64_t *i; /* count integers otherwise */
};

/* Checks rank, element type, dims and that exactly the right number of bytes is there (raw_data or
 * typed fields, or external data that has been found), and fills all of *out but the data. `what`
 * names the tensor in messages. model may be NULL for a proto of no model. */
AD_MUST_CHECK enum adaps_status ad_onnx_tensor_check(const struct ad_onnx_model *model,
                                                     const Onnx__TensorProto *proto,
                                                     const char *what, struct ad_onnx_tensor *out,
                                                     struct adaps_error *err);

/* The same, and the data. */
AD_MUST_CHECK enum adaps_status ad_onnx_tensor_decode(const struct ad_onnx_model *model,
                                                      const Onnx__TensorProto *proto,
                                                      const char *what, struct ad_onnx_tensor *out,
                                                      struct adaps_error *err);
void ad_onnx_tensor_fini(struct ad_onnx_tensor *tensor);

/* The numbers of a tensor of a float type that are still in the file. */
struct ad_onnx_stored {
    struct ad_onnx_file *file;
    uint64_t offset;
    size_t count;
    int32_t type;
};

/* Whether a tensor that has been checked is such a one. out->file is borrowed from the model. */
bool ad_onnx_tensor_stored(const struct ad_onnx_model *model, const Onnx__TensorProto *proto,
                           struct ad_onnx_stored *out);

/* Elements [first, first + count) as float32. ADAPS_EINPUT as ad_onnx_file_read(). */
AD_MUST_CHECK enum adaps_status ad_onnx_stored_read(const struct ad_onnx_stored *stored,
                                                    size_t first, size_t count, float *to,
                                                    struct adaps_error *err);

/* The bytes of a tensor that has been checked, as raw_data holds them (little-endian), wherever and
 * however the file has them. *out is the caller's (ad_free). ADAPS_EINPUT as ad_onnx_file_read().
 */
AD_MUST_CHECK enum adaps_status ad_onnx_tensor_bytes(const struct ad_onnx_model *model,
                                                     const Onnx__TensorProto *proto, uint8_t **out,
                                                     size_t *size, struct adaps_error *err);
/* Bytes of one element in raw_data; 0 for types that are not read. */
size_t ad_onnx_type_bytes(int32_t type);

/* Reads one serialised TensorProto (.pb file). */
AD_MUST_CHECK enum adaps_status ad_onnx_tensor_load(const char *path, struct ad_onnx_tensor *out,
                                                    struct adaps_error *err);

/* Writes a TensorProto file named `name` inside. */
AD_MUST_CHECK enum adaps_status ad_onnx_tensor_save(const char *path, const char *name,
                                                    const struct ad_tensor *tensor,
                                                    struct adaps_error *err);

/* "float32", "int64", "type 99": names of TensorProto.DataType, for messages. buf is used only for
 * numbers without a name. */
const char *ad_onnx_type_name(int32_t type, char *buf, size_t size);

/* float32, float64, float16, bfloat16: all are decoded to float32. */
bool ad_onnx_type_is_float(int32_t type);

/* Parses size bytes, in memory, of a file of file_size bytes. With these bytes protobuf may take
 * AD_ONNX_FACTOR times the file and AD_ONNX_MEMORY. `what` ("not an ONNX model") and `path` make
 * the message of an error. Release with ad_protobuf_free(). */
AD_MUST_CHECK enum adaps_status ad_onnx_unpack(const ProtobufCMessageDescriptor *type,
                                               const void *data, size_t size, size_t file_size,
                                               const char *path, const char *what,
                                               ProtobufCMessage **out, struct adaps_error *err);

/* Attribute access: NULL when absent; type mismatch is ADAPS_EINPUT naming node and attribute. */
const Onnx__AttributeProto *ad_onnx_attribute(const Onnx__NodeProto *node, const char *name);
AD_MUST_CHECK enum adaps_status ad_onnx_attr_int(const Onnx__NodeProto *node, const char *name,
                                                 int64_t fallback, int64_t *out,
                                                 struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_onnx_attr_float(const Onnx__NodeProto *node, const char *name,
                                                   float fallback, float *out,
                                                   struct adaps_error *err);
/* *items is borrowed; *count 0 when absent. */
AD_MUST_CHECK enum adaps_status ad_onnx_attr_ints(const Onnx__NodeProto *node, const char *name,
                                                  const int64_t **items, size_t *count,
                                                  struct adaps_error *err);
/* Copies the bytes, NUL-terminated, into buf; too long for buf is ADAPS_EINPUT. */
AD_MUST_CHECK enum adaps_status ad_onnx_attr_string(const Onnx__NodeProto *node, const char *name,
                                                    const char *fallback, char *buf, size_t size,
                                                    struct adaps_error *err);

#endif
