/* An ONNX model that is changed in memory: nodes, constants and outputs come and go. The file's own
 * numbers stay where they are until the model is written. */
#ifndef AD_QUANTISE_EDIT_H
#define AD_QUANTISE_EDIT_H

#include "base/mem.h"
#include "onnx/model.h"

struct ad_edit {
    struct ad_arena arena;       /* of what is added */
    struct ad_onnx_model *model; /* borrowed; ad_edit_fini() leaves it as it was */
    Onnx__GraphProto before;     /* the file's lists */
    Onnx__NodeProto **nodes;
    Onnx__TensorProto **constants;
    Onnx__ValueInfoProto **outputs;
    size_t nnodes, nconstants, noutputs;
    size_t nodes_room, constants_room, outputs_room;
};

/* Begins with the model's nodes, constants and outputs. */
AD_MUST_CHECK enum adaps_status ad_edit_init(struct ad_edit *edit, struct ad_onnx_model *model,
                                             struct adaps_error *err);
void ad_edit_fini(struct ad_edit *edit);

/* The model is what the lists say from now on, until they change. */
void ad_edit_apply(struct ad_edit *edit);

/* Forgets nodes, constants and outputs from these numbers on. */
void ad_edit_cut(struct ad_edit *edit, size_t nnodes, size_t nconstants, size_t noutputs);

/* A constant by name; NULL: there is none. What Constant nodes make is one. */
const Onnx__TensorProto *ad_edit_constant(const struct ad_edit *edit, const char *name);

/* Its numbers, all floats; the caller's (ad_onnx_tensor_fini). ADAPS_EINPUT: it has no floats, or
 * they cannot be read. */
AD_MUST_CHECK enum adaps_status ad_edit_floats(const struct ad_edit *edit,
                                               const Onnx__TensorProto *constant,
                                               struct ad_onnx_tensor *out, struct adaps_error *err);

/* "A" + "B" in the arena; NULL without memory. */
char *ad_edit_name(struct ad_edit *edit, const char *a, const char *b);

/* A new constant of `count` elements of this type, which takes no more memory than a copy of
 * `data` (in this machine's order). rank 0: one number. */
AD_MUST_CHECK enum adaps_status ad_edit_add_constant(struct ad_edit *edit, const char *name,
                                                     int32_t type, int rank, const int64_t *dims,
                                                     const void *data, size_t count,
                                                     struct adaps_error *err);

/* A new node with one output. axis >= 0: attribute `axis`. */
AD_MUST_CHECK enum adaps_status ad_edit_add_node(struct ad_edit *edit, const char *type,
                                                 const char *name, const char *const *inputs,
                                                 size_t ninputs, const char *output, int64_t axis,
                                                 struct adaps_error *err);

/* A copy of a node, at the end, whose inputs and outputs may be changed. */
AD_MUST_CHECK enum adaps_status ad_edit_copy_node(struct ad_edit *edit, const Onnx__NodeProto *node,
                                                  Onnx__NodeProto **out, struct adaps_error *err);

/* A new output of the model, of floats. */
AD_MUST_CHECK enum adaps_status ad_edit_add_output(struct ad_edit *edit, const char *name,
                                                   struct adaps_error *err);

/* The model, as the lists say, as a file. */
AD_MUST_CHECK enum adaps_status ad_edit_write(struct ad_edit *edit, const char *path,
                                              struct adaps_error *err);

#endif
