/* Small ONNX models in memory, for tests of the loader and the importer. Failures of the builder
 * itself abort the test. */
#ifndef TESTS_MODEL_BUILDER_H
#define TESTS_MODEL_BUILDER_H

#include "base/mem.h"
#include "base/rng.h"
#include "onnx/model.h"

/* Up to 8 dims, terminated by -9. */
#define MB_DIMS(...) ((const int64_t[]){__VA_ARGS__, -9})
#define MB_SCALAR ((const int64_t[]){-9})

struct mb {
    struct ad_arena arena;
    Onnx__ModelProto *proto;
    struct ad_onnx_model model; /* borrows proto; path is "test.onnx" */
    struct ad_rng rng;
    Onnx__GraphProto *outer[8]; /* around the branch that is being built */
    int depth;
};

void mb_init(struct mb *mb, int64_t opset);
void mb_fini(struct mb *mb);

/* A float32 input; dim 0 is symbolic ("N"). */
Onnx__ValueInfoProto *mb_input(struct mb *mb, const char *name, const int64_t *dims);
void mb_output(struct mb *mb, const char *name);

/* inputs and outputs are lists with commas; an empty entry is an omitted input. */
Onnx__NodeProto *mb_node(struct mb *mb, const char *type, const char *inputs, const char *outputs);
void mb_int(struct mb *mb, Onnx__NodeProto *node, const char *name, int64_t value);
void mb_float(struct mb *mb, Onnx__NodeProto *node, const char *name, float value);
void mb_string(struct mb *mb, Onnx__NodeProto *node, const char *name, const char *value);
void mb_ints(struct mb *mb, Onnx__NodeProto *node, const char *name, const int64_t *list);
void mb_attr_tensor(struct mb *mb, Onnx__NodeProto *node, const char *name,
                    Onnx__TensorProto *tensor);

/* Nodes and initializers between these two belong to a branch of `node`, an attribute that is a
 * graph with this output. They nest. */
void mb_branch_begin(struct mb *mb);
void mb_branch_end(struct mb *mb, Onnx__NodeProto *node, const char *attribute, const char *output);

/* Tensors; data NULL gives random numbers in [-1, 1). Initializers are added to the graph. */
Onnx__TensorProto *mb_floats(struct mb *mb, const char *name, const int64_t *dims,
                             const float *data);
Onnx__TensorProto *mb_integers(struct mb *mb, const char *name, const int64_t *dims,
                               const int64_t *data);
Onnx__TensorProto *mb_weights(struct mb *mb, const char *name, const int64_t *dims,
                              const float *data);
/* An initializer of integers of another type: int32 or what takes a byte. */
Onnx__TensorProto *mb_typed(struct mb *mb, const char *name, const int64_t *dims, int32_t type,
                            const int64_t *data);
Onnx__TensorProto *mb_shape(struct mb *mb, const char *name, const int64_t *list);

/* The model as a file's bytes; the caller's (ad_free). */
uint8_t *mb_pack(const struct mb *mb, size_t *size);

#endif
